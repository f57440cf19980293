/* atomic_groups_one_launch.c - the atomic method by groups of many items in one launch: the last group to finish
 * stores the combined value. */
#include "ops/reduce/reduce.h"

const ndr_op_row ndr_reduce_atomic_groups_one_launch = {
    .name = "atomic_groups_one_launch",
    .file = "reduce/atomic_groups_one_launch.cl",
    .kernel = "reduce_groups_atomic",
    .needs = NDR_NEEDS_DEVICE_ORDER,
    .cannot = ndr_reduce_is_no_atomic,
    .plan = ndr_reduce_plan_groups,
    .run = ndr_reduce_run_groups,
};
