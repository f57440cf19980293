/* selftest.h - what the files of `ndr selftest` share. */
#ifndef NDR_SELFTEST_H
#define NDR_SELFTEST_H

#include "child.h"
#include "command.h"

/* Where a part runs, and what it found. The child that runs the part ends soon: a part that fails may leave objects. */
typedef struct trial {
    ndr_context *context;
    ndr_queue *queue;
    ndr_device_info device;
    size_t most_items; /* that a group of the present kernel may have */
    char wrong[400];   /* the first wrong result; "" if there is none */
    char skipped[400]; /* why the part does not apply to this device; "" if it does */
} trial;

/* Something that is tested in a process of its own. */
typedef struct part {
    const char *name;
    ndr_status (*run)(trial *t, const struct part *p);
    const char *words; /* of NDR_DISABLE that may avoid its faults, with blanks between */
} part;

/* selftest_kernels.c and selftest_transfers.c */
ndr_status test_range(trial *t, const part *p);
ndr_status test_groups(trial *t, const part *p);
ndr_status test_atomics(trial *t, const part *p);
ndr_status test_long_atomics(trial *t, const part *p);
ndr_status test_group_functions(trial *t, const part *p);
ndr_status test_reducers(trial *t, const part *p);
ndr_status test_transfers(trial *t, const part *p);

/* ---- selftest_operations.c ---- */

/* Gets an implementation, "scan tiles", or what else failed. `fault` NULL: it passed. */
typedef void row_reporter(void *user, const char *name, const char *fault, const char *fix);

/* Of a failure that does not repeat. */
extern const char fix_of_chance[];

typedef struct tested_rows {
    const char *device; /* as of ndr_context_create() */
    double seconds;     /* for a child */
    row_reporter *report;
    void *user;
} tested_rows;

/* Tests the implementations of operations that the device takes: all in one child, and after a crash or hang each in a
 * child of its own. One that crashes or hangs there, too, is refused in the store. */
void test_operations(const tested_rows *t);

#endif
