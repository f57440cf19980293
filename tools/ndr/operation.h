/* operation.h - what `ndr bench` and `ndr tune` share: words of the command line, and how an implementation is named. */
#ifndef NDR_OPERATION_H
#define NDR_OPERATION_H

#include "command.h"

/* A choice among words, such as types. */
typedef struct choice {
    const char *name;
    int value;
} choice;

/* These end with an element without a name. */
extern const choice words_of_products[], words_of_ops[], words_of_methods[], words_of_accuracies[];

/* The value of a word; ends the program with USAGE and a sentence that names `option` if the list has no such word. */
int read_word(const struct argp_state *state, const char *option, const char *text, const choice *words);

/* Reads `count` sizes with "x" between them, each from 1 to `most`; ends the program with USAGE if they are wrong. */
void read_shape(const struct argp_state *state, const char *text, size_t count, uint64_t most, size_t *sizes);

/* Adds "implementation" and "reasons" from the text of ndr_reduce_explain() or ndr_matmul_explain(), which it cuts. */
void add_explanation(json_t *to, char *text);

#endif
