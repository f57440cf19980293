/* atomic_chunks.c - the atomic method on CPUs in one launch: the last group to finish stores the combined value. */
#include "ops/reduce/reduce.h"

const ndr_op_row ndr_reduce_atomic_chunks = {
    .name = "atomic_chunks",
    .file = "reduce/atomic_chunks.cl",
    .kernel = "reduce_chunks_atomic",
    .needs = NDR_NEEDS_DEVICE_ORDER,
    .cannot = ndr_reduce_is_no_atomic,
    .unsuited = ndr_op_lacks_vectors,
    .plan = ndr_reduce_plan_chunks,
    .run = ndr_reduce_run_chunks,
};
