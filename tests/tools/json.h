/* json.h - checks JSON text against RFC 8259, and reads fields of a flat record. */
#ifndef NDR_TESTS_JSON_H
#define NDR_TESTS_JSON_H

#include "support.h"

/* The text must be one JSON value. If it is not, the place is printed and the test fails. */
void json_check(const char *text, size_t length);

/* A field of the record at `record`, to the end of the line: the number or the text's characters after `"key":`, up to `size`
 * - 1 of them. False: it has none. Only for records without escapes in that field. */
bool json_field(const char *record, const char *key, char *value, size_t size);

#endif
