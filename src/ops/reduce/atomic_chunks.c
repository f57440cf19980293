/* atomic_chunks.c - the atomic method on CPUs in one launch: the last group to finish stores the combined value. */
#include "ops/reduce/reduce.h"

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    *plan = (ndr_op_plan){ .file = "reduce/atomic_chunks.cl", .kernel = "reduce_chunks_atomic" };
    ndr_reduce_plan_chunks(caps, request, plan);
}

const ndr_op_row ndr_reduce_atomic_chunks = {
    .name = "atomic_chunks",
    .needs = NDR_NEEDS_DEVICE_ORDER,
    .cannot = ndr_reduce_is_no_atomic,
    .unsuited = ndr_op_lacks_vectors,
    .plan = plan,
    .run = ndr_reduce_run_chunks,
};
