/* atomic_chunks.c - the atomic method on CPUs in one launch: the last group to finish stores the combined value. */
#include "ops/reduce/reduce.h"

enum { MAX_CHUNKS = 1 << 11 /* the groups combine into one cell, in one long row */ };

static const char *cannot(const void *request) { return ndr_reduce_method_mismatch(request, NDR_REDUCE_ATOMIC); }

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    *plan = (ndr_op_plan){ .file = "reduce/atomic_chunks.cl", .kernel = "reduce_chunks_atomic" };
    ndr_reduce_plan_chunks(caps, request, MAX_CHUNKS, 0, plan);
}

static ndr_status run(ndr_op_job *job) { return ndr_reduce_run_chunks(job, MAX_CHUNKS); }

const ndr_op_row ndr_reduce_atomic_chunks = {
    .name = "atomic_chunks",
    .needs = NDR_NEEDS_DEVICE_ORDER,
    .cannot = cannot,
    .unsuited = ndr_op_lacks_vectors,
    .plan = plan,
    .run = run,
};
