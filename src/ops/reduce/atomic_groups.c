/* atomic_groups.c - the atomic method by groups of many items on devices that do not order memory between groups: a
 * second launch stores the combined value. */
#include "ops/reduce/reduce.h"

static ndr_status run(ndr_op_job *job) { return ndr_reduce_run_and_take(job, ndr_reduce_launch_groups); }

const ndr_op_row ndr_reduce_atomic_groups = {
    .name = "atomic_groups",
    .file = "reduce/atomic_groups.cl",
    .kernel = "reduce_atomic",
    .cannot = ndr_reduce_is_no_atomic,
    .plan = ndr_reduce_plan_groups,
    .run = run,
};
