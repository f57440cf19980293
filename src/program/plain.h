/* plain.h - what a text shows of its macros and types without its compiler. Everything here is pure. */
#ifndef NDR_PLAIN_H
#define NDR_PLAIN_H

#include "program/code.h"
#include "program/types.h"

/* A text that is read, with the options that define macros of it. */
typedef struct ndr_plain {
    const ndr_code *code;
    const char *options; /* "" for none */
    bool *failed;        /* set if there is no memory to read a part of it */
} ndr_plain;

/* Append the text up to `end` with each macro that has one definition replaced by it. Others stay as they are. */
void ndr_plain_expand(const ndr_plain *plain, const char *at, const char *end, ndr_text *out);

/* The value of an integer expression of 32 bits, whose macros are replaced first; false: it is none. */
bool ndr_plain_evaluate(const ndr_plain *plain, const char *at, const char *end, int64_t *value);

/* The number or vector that a type name stands for, also as a typedef. 0 lanes: neither, or not certain. */
ndr_builtin ndr_plain_type(const ndr_plain *plain, const char *type_name);

/* Whether a type name is a struct or a union, also as a typedef. */
bool ndr_plain_is_struct(const ndr_plain *plain, const char *type_name);

/* The header of the host and the kernel, a file whose name ends in ".h", that declares a type; NULL if none does. Its
 * name ends with a newline. */
const char *ndr_plain_header(const ndr_plain *plain, const char *type_name);

/* Call `visit` for each constant that the text and the options show: name, its length, a suffix, and the value. */
typedef void ndr_constant_visit(void *visitor, const char *name, size_t length, const char *suffix, int64_t value);
void ndr_plain_list_constants(const ndr_plain *plain, ndr_constant_visit *visit, void *visitor);

/* The position behind the parenthesis, bracket or brace that closes the one at `at`; NULL if none before `end` does. */
const char *ndr_plain_skip_pair(const char *at, const char *end);

#endif
