/* child.h - children in which drivers run. */
#ifndef NDR_CHILD_H
#define NDR_CHILD_H

#include <jansson.h>

/* Runs in a child, because a driver may crash or hang there. */
typedef json_t *child_work(const void *input);

/* Runs `work` in a child, for at most `seconds`, the option --timeout, from one set_stage() to the next, and returns its
 * result, which the caller releases. NULL: the child gave none, and `why` says so: "it crashed while it listed the
 * devices: Segmentation fault". JSON's null: the child ended with the exit code NOT_TRIED_EXIT. */
json_t *run_in_child(child_work *work, const void *input, double seconds, char why[300]);

/* In a child: what it does now, in the words that follow "while it". */
void set_stage(const char *stage);

#endif
