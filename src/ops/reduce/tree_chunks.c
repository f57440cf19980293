/* tree_chunks.c - the tree on CPUs in one launch: the last chunk to be done combines what all of them left. */
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
    *plan = (ndr_op_plan){ .file = "reduce/tree_chunks.cl",
                           .kernel = "reduce_chunks",
                           .range = ndr_nd_range_1d(s.chunks, 1) };
    ndr_reduce_print_options(request, caps->info.type == NDR_DEVICE_TYPE_CPU, plan->options);
    if (s.chunks > 1) plan->workspace_bytes = ndr_reduce_workspace_bytes(request, s.chunks);
}

static ndr_status run(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->request;
    ndr_kernel *kernel;
    ndr_arg workspace = ndr_null; /* one chunk needs none */
    unsigned slot = 0;
    NDR_TRY(ndr_op_get_main_kernel(job, &kernel));
    if (job->plan.workspace_bytes) {
        NDR_TRY(ndr_op_borrow(job));
        workspace = ndr_arg_of(ndr_workspace_buffer(job->workspace));
        slot = ndr_workspace_take_slot(job->workspace);
    }
    return ndr_op_launch(job, kernel, job->plan.range, ndr_operand_arg(&r->input), r->input.offset, r->input.cols,
                         sizes_for(r).chunk, workspace, slot, r->output.buffer, r->output.offset);
}

const ndr_op_row ndr_reduce_tree_chunks = {
    .name = "tree_chunks",
    .needs = NDR_NEEDS_DEVICE_ORDER,
    .cannot = cannot,
    .unsuited = ndr_op_lacks_vectors,
    .plan = plan,
    .run = run,
};
