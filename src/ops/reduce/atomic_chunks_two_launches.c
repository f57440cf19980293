/* atomic_chunks_two_launches.c - the atomic method on CPUs that do not order memory between groups: a second launch
 * stores the combined value. */
#include "ops/reduce/reduce.h"

enum { MAX_CHUNKS = 1 << 11 /* the groups combine into one cell, in one long row */ };

static const char *cannot(const void *request) { return ndr_reduce_method_mismatch(request, NDR_REDUCE_ATOMIC); }

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    *plan = (ndr_op_plan){ .file = "reduce/atomic_chunks_two_launches.cl", .kernel = "reduce_chunks_to_cell" };
    ndr_reduce_plan_chunks(caps, request, MAX_CHUNKS, 0, plan);
}

static ndr_status run(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->request;
    ndr_kernel *each, *take;
    ndr_arg workspace;
    unsigned slot;
    NDR_TRY(ndr_op_get_main_kernel(job, &each));
    NDR_TRY(ndr_op_get_kernel(job, "reduce_take_cell", &take));
    NDR_TRY(ndr_reduce_launch_chunks(job, each, MAX_CHUNKS, &workspace, &slot));
    if (!job->workspace) return NDR_OK;
    return ndr_op_launch(job, take, ndr_range_1d(1), workspace, slot, r->output.buffer, r->output.offset);
}

const ndr_op_row ndr_reduce_atomic_chunks_two_launches = {
    .name = "atomic_chunks_two_launches",
    .cannot = cannot,
    .unsuited = ndr_op_lacks_vectors,
    .plan = plan,
    .run = run,
};
