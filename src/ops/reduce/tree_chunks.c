/* tree_chunks.c - the tree on CPUs in one launch: the last group to finish combines the partials of all groups. */
#include "ops/reduce/reduce.h"

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    *plan = (ndr_op_plan){ .file = "reduce/tree_chunks.cl", .kernel = "reduce_chunks" };
    ndr_reduce_plan_chunks(caps, request, plan);
}

const ndr_op_row ndr_reduce_tree_chunks = {
    .name = "tree_chunks",
    .needs = NDR_NEEDS_DEVICE_ORDER,
    .cannot = ndr_reduce_is_no_tree,
    .unsuited = ndr_op_lacks_vectors,
    .plan = plan,
    .run = ndr_reduce_run_chunks,
};
