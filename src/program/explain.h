/* explain.h - what a compiler's log says. Everything here is pure. */
#ifndef NDR_EXPLAIN_H
#define NDR_EXPLAIN_H

#include "program/code.h"

/* Append one sentence about the cause of the errors in the log of a text, if it is known. `options` are those of the
 * compiler. */
void ndr_explain_log(const ndr_source *source, const char *options, const char *log, ndr_text *out);

/* Whether [line, end) has an identifier, or several words. After one that ends with an underscore or a
 * colon, digits may follow. */
bool ndr_explain_has(const char *line, const char *end, const char *name);

/* language.c: append the cause of the error in [line, end), and return whether there is one: a word of another language;
 * a rule of OpenCL C; a header of the host among those that were not found (`absent`). */
bool ndr_explain_word(const char *line, const char *end, ndr_text *out);
bool ndr_explain_rule(const char *line, const char *end, ndr_text *out);
bool ndr_explain_host_header(const char *absent, const char *line, const char *end, ndr_text *out);

/* Append the log. Where a message names a line of the whole text, as compilers do that ignore #line, it gets the name and
 * the line of the #line before it. */
void ndr_explain_places(const char *text, const char *log, ndr_text *out);

/* Whether the log has an error in the file called `title`, or one that shows its source line. */
bool ndr_explain_has_error(const char *log, const char *title);

/* Whether the log has any error. */
bool ndr_explain_has_errors(const char *log);

/* Append the log's first errors with their notes, without warnings. The last line counts the omitted lines. */
void ndr_explain_shorten(const char *log, ndr_text *out);

/* Whether the program's own text uses names that newer versions of OpenCL C reserve. */
bool ndr_explain_uses_later_words(const ndr_code *code);

#endif
