/* explain.h - what a compiler's log says. Everything here is pure. */
#ifndef NDR_EXPLAIN_H
#define NDR_EXPLAIN_H

#include "program/code.h"

/* Append one sentence about the cause of the errors in the log of a text, if it is known. `options` are those of the
 * compiler. */
void ndr_explain_log(const ndr_source *source, const char *options, const char *log, ndr_text *out);

/* Whether the log has an error in the file called `title`, or one that shows its source line. */
bool ndr_explain_has_error(const char *log, const char *title);

/* Whether the log has any error. */
bool ndr_explain_has_errors(const char *log);

/* Append the log's first errors with their notes, without warnings. The last line counts the omitted lines. */
void ndr_explain_shorten(const char *log, ndr_text *out);

/* Whether the program's own text uses names that newer versions of OpenCL C reserve. */
bool ndr_explain_uses_later_words(const ndr_code *code);

#endif
