/* traces.h - a traced context, and what its trace says. */
#ifndef NDR_TESTS_TRACES_H
#define NDR_TESTS_TRACES_H

#include "support.h"

extern ndr_context *traced;
extern ndr_queue *line;                  /* of it */
extern char table[8192];                 /* of the latest trace */
extern const ndr_context_desc unchecked; /* NDR_CHECK enqueues commands of its own */

/* Start a trace with a table, which goes to `table`, and a file unless `file` is NULL; the second makes `traced` and
 * `line`, too. The trace ends when they are destroyed, by the third. */
void start_trace(const char *file);
void open_traced(const char *file);
void close_traced(void);
void keep_table(const char *text, void *user); /* the callback; `user` is &traced */

/* A slice of a file; texts are "" and numbers 0 where it has none. */
typedef struct slice {
    char name[64], category[16], in[64], result[64];
    char global[32], local[32]; /* "2,3" */
    unsigned long group, row, bytes, flops, command;
    double start_us, time_us;
} slice;

enum { MAX_SLICES = 5000 };
extern slice slices[MAX_SLICES]; /* the first ones of the file */
extern size_t slice_count, row_names;

/* Read a file, to which `closing` is added first. It must be JSON. */
void read_slices(const char *path, const char *closing);

/* Slices of that category, and of that name unless it is NULL. */
size_t count_slices(const char *category, const char *name);

/* The first slice of that category and name; the test fails if there is none. */
const slice *find_slice(const char *category, const char *name);

/* The row of that name in `table`; it must have that count. */
const char *check_row(const char *name, unsigned long count);

#endif
