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
    char wrong[400];   /* the first wrong result; "" if there is none */
    char skipped[400]; /* why the part does not apply to this device; "" if it does */
} trial;

/* Something that is tested in a process of its own. */
typedef struct part {
    const char *name;
    ndr_status (*run)(trial *t, const struct part *p);
    const char *words;     /* of NDR_DISABLE that may avoid its faults, with blanks between */
    const json_t *indexes; /* of the requests to run; NULL: it is not a part of an operation */
    const char *skipped;   /* why it is not run; NULL: it is */
} part;

/* selftest_kernels.c and selftest_transfers.c */
ndr_status test_range(trial *t, const part *p);
ndr_status test_groups(trial *t, const part *p);
ndr_status test_atomics(trial *t, const part *p);
ndr_status test_long_atomics(trial *t, const part *p);
ndr_status test_group_functions(trial *t, const part *p);
ndr_status test_reducers(trial *t, const part *p);
ndr_status test_transfers(trial *t, const part *p);

/* selftest_operations.c: which implementation runs each request of a fixed list, as {"rows": {NAME: [INDEX, ...]},
 * "others": {NAME: REASON}}, the latter for those that run none. NAME is like "matmul tiled". */
ndr_status list_implementations(trial *t, json_t **list);

/* Runs the requests of a part and compares their results with those of plain C. */
ndr_status test_requests(trial *t, const part *p);

#endif
