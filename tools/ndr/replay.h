/* replay.h - a saved launch, a run of it, and the smallest range of it that still fails: the parts of `ndr replay`. */
#ifndef NDR_REPLAY_H
#define NDR_REPLAY_H

#include "command.h"

/* ---- replay_load.c ---- */

/* A buffer of the launch. */
typedef struct saved_buffer {
    size_t size_bytes;
    unsigned char *before, *after; /* its bytes; NULL: not saved */
    const char *missing;           /* why `before` is not saved; NULL: it is, or there is nothing to save */
    bool is_written;               /* the kernel may write to it */
    const char *name, *type;       /* of the first argument with it: "out", "float*" */
} saved_buffer;

/* An argument; `arg` lacks the object. */
typedef struct saved_arg {
    ndr_arg arg;
    size_t buffer, offset_bytes, size_bytes; /* of a buffer and a reducer */
    void *bytes;                             /* of a struct and a vector */
} saved_arg;

typedef struct saved_launch {
    char *folder;
    json_t *root;       /* launch.json, which has the strings below */
    const char *status; /* how it ended: "NDR_OK", "not ended" */
    bool is_checked;    /* with NDR_CHECK */
    bool is_shrunk;     /* the saved results are those of a larger range */
    const char *kernel, *title, *options, *form;
    size_t sub_group_size;
    char **texts; /* of the program, the first is of `text_bytes`; NULL: it is one of the library's */
    size_t text_count, text_bytes;
    ndr_nd_range range;
    saved_buffer *buffers;
    saved_arg *args;
    size_t buffer_count, arg_count;
} saved_launch;

/* Read the folder of a launch: DONE, or FAILED or USAGE with a message. Free it in every case. */
int load_launch(const char *folder, saved_launch *launch);
void free_launch(saved_launch *launch);

/* A range as launch.json has it. */
json_t *describe_range(const ndr_nd_range *range);

/* ---- replay_run.c ---- */

typedef struct run_options {
    const char *device; /* NULL: NDR_DEVICE chooses */
    bool is_checked;
    bool has_times;
    size_t repeats;
    double tolerance;   /* relative, of floating-point elements */
    unsigned timeout_s; /* 0: none */
} run_options;

/* Run the launch in a child process and describe what it did. "outcome" is the name of a status, "different", "crash"
 * or "timeout"; "sentence" says more; the rest is as docs/replay.md says. */
json_t *run_launch(const saved_launch *launch, const run_options *options);

/* ---- replay_compare.c ---- */

/* Compare what a buffer has now with what was saved: the number of elements that differ, and the first ones. NULL if
 * all are equal. */
json_t *compare_buffer(const saved_launch *launch, size_t buffer, const unsigned char *now, double tolerance);

/* ---- replay_shrink.c ---- */

/* Find the smallest range that ends as `first` did, the result of a run, and save that launch beside its folder. Adds
 * "range", "tries" and "folder" to `result`. DONE, or FAILED with a message. */
int shrink_launch(saved_launch *launch, const run_options *options, json_t *first, json_t *result);

#endif
