/* lines.h - the lines of a text, as a compiler reads them. */
#ifndef NDR_LINES_H
#define NDR_LINES_H

#include "base/base.h"

/* In place: replace \r and \r\n by \n. The functions below expect such a text. */
void ndr_line_clean(char *text);

/* One logical line: up to a newline that neither a backslash nor a comment continues. */
typedef struct ndr_line {
    const char *next; /* the line after it */
    size_t newlines;
    bool is_code;       /* neither blank nor a directive */
    bool is_open;       /* ends in a comment without an end */
    ndr_text directive; /* "#if X", without comments and continuations; empty for other lines */
    ndr_text *code;     /* NULL, or appended with the code: a comment as a blank, a string as "" */
} ndr_line;

/* Read the line at `text` into `line`. `directive.failed` means that there was no memory. */
void ndr_line_read(const char *text, ndr_line *line);

/* The text behind a directive's `word`, or NULL if it is another directive. */
const char *ndr_line_is(const ndr_line *line, const char *word);

#endif
