/* tree_chunks_two_launches.c - the tree on CPUs that do not order memory between groups: a second launch combines
 * the partials. */
#include "ops/reduce/reduce.h"

static ndr_status run(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->request;
    ndr_kernel *each, *all;
    unsigned slot;
    NDR_TRY(ndr_op_get_main_kernel(job, &each));
    NDR_TRY(ndr_op_get_kernel(job, "reduce_all_partials", &all));
    NDR_TRY(ndr_reduce_launch_chunks(job, each, &slot));
    if (!job->workspace) return NDR_OK;
    return ndr_op_launch(job, all, ndr_range_1d(1), ndr_workspace_buffer(job->workspace), slot,
                         ndr_reduce_chunks_for(r).count, r->output.buffer, r->output.offset);
}

const ndr_op_row ndr_reduce_tree_chunks_two_launches = {
    .name = "tree_chunks_two_launches",
    .file = "reduce/tree_chunks_two_launches.cl",
    .kernel = "reduce_each_chunk",
    .cannot = ndr_reduce_is_no_tree,
    .unsuited = ndr_op_lacks_vectors,
    .plan = ndr_reduce_plan_chunks,
    .run = run,
};
