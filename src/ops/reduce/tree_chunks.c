/* tree_chunks.c - the tree on CPUs in one launch: the last group to finish combines the partials of all groups. */
#include "ops/reduce/reduce.h"

const ndr_op_row ndr_reduce_tree_chunks = {
    .name = "tree_chunks",
    .file = "reduce/tree_chunks.cl",
    .kernel = "reduce_chunks",
    .needs = NDR_NEEDS_DEVICE_ORDER,
    .cannot = ndr_reduce_is_no_tree,
    .unsuited = ndr_op_lacks_vectors,
    .plan = ndr_reduce_plan_chunks,
    .run = ndr_reduce_run_chunks,
};
