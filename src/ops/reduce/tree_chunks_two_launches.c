/* tree_chunks_two_launches.c - the tree on CPUs that do not order memory between groups: a second launch combines
 * what the chunks of the first left. */
#include "ops/reduce/reduce.h"

typedef struct sizes {
    size_t chunk, chunks; /* elements of one; how many of them */
} sizes;

static sizes sizes_for(const ndr_reduce_request *request)
{
    enum { MOST_CHUNKS = 1 << 16 /* a partial of each: half a MiB at most */ };
    const size_t chunk = ndr_reduce_chunk_elements(request->input.cols, MOST_CHUNKS);
    return (sizes){ chunk, ndr_reduce_chunks(request->input.cols, chunk) };
}

static const char *cannot(const void *request) { return ndr_reduce_asks_for_another(request, NDR_REDUCE_TREE); }

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    const sizes s = sizes_for(request);
    *plan = (ndr_op_plan){ .file = "reduce/tree_chunks_two_launches.cl",
                           .kernel = "reduce_each_chunk",
                           .range = ndr_nd_range_1d(s.chunks, 1) };
    ndr_reduce_print_options(request, caps->info.type == NDR_DEVICE_TYPE_CPU, plan->options);
    if (s.chunks > 1) plan->workspace_bytes = ndr_reduce_workspace_bytes(request, s.chunks);
}

static ndr_status run(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->request;
    const sizes s = sizes_for(r);
    ndr_kernel *each, *all;
    NDR_TRY(ndr_op_get_main_kernel(job, &each));
    NDR_TRY(ndr_op_get_kernel(job, "reduce_all_partials", &all));
    if (s.chunks == 1)
        return ndr_op_launch(job, each, job->plan.range, ndr_operand_arg(&r->input), r->input.offset, r->input.cols,
                             s.chunk, r->output.buffer, r->output.offset);
    NDR_TRY(ndr_op_borrow(job));
    ndr_buffer *workspace = ndr_workspace_buffer(job->workspace);
    const size_t first = NDR_WORKSPACE_HEAD_BYTES / r->input.element_bytes;
    NDR_TRY(ndr_op_launch(job, each, job->plan.range, ndr_operand_arg(&r->input), r->input.offset, r->input.cols,
                          s.chunk, workspace, first));
    return ndr_op_launch(job, all, ndr_range_1d(1), workspace, first, s.chunks, r->output.buffer, r->output.offset);
}

const ndr_op_row ndr_reduce_tree_chunks_two_launches = {
    .name = "tree_chunks_two_launches",
    .cannot = cannot,
    .unsuited = ndr_op_lacks_vectors,
    .plan = plan,
    .run = run,
};
