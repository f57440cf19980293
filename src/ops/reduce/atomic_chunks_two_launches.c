/* atomic_chunks_two_launches.c - the atomic on CPUs that do not order memory between groups: a second launch takes
 * what the chunks of the first met in. */
#include "ops/reduce/reduce.h"

typedef struct sizes {
    size_t chunk, chunks; /* elements of one; how many of them */
} sizes;

static sizes sizes_for(const ndr_reduce_request *request)
{
    enum { MOST_CHUNKS = 1 << 11 /* they meet in one atomic, in one long row */ };
    const size_t chunk = ndr_reduce_chunk_elements(request->input.cols, MOST_CHUNKS);
    return (sizes){ chunk, ndr_reduce_chunks(request->input.cols, chunk) };
}

static const char *cannot(const void *request) { return ndr_reduce_asks_for_another(request, NDR_REDUCE_ATOMIC); }

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    const sizes s = sizes_for(request);
    *plan = (ndr_op_plan){ .file = "reduce/atomic_chunks_two_launches.cl",
                           .kernel = "reduce_chunks_to_cell",
                           .range = ndr_nd_range_1d(s.chunks, 1) };
    ndr_reduce_print_options(request, caps->info.type == NDR_DEVICE_TYPE_CPU, plan->options);
    if (s.chunks > 1) plan->workspace_bytes = NDR_WORKSPACE_HEAD_BYTES;
}

static ndr_status run(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->request;
    ndr_kernel *each, *take;
    ndr_arg workspace = ndr_null; /* one chunk needs none */
    unsigned slot = 0;
    NDR_TRY(ndr_op_get_main_kernel(job, &each));
    NDR_TRY(ndr_op_get_kernel(job, "reduce_take_cell", &take));
    if (job->plan.workspace_bytes) {
        NDR_TRY(ndr_op_borrow(job));
        workspace = ndr_arg_of(ndr_workspace_buffer(job->workspace));
        slot = ndr_workspace_take_slot(job->workspace);
    }
    NDR_TRY(ndr_op_launch(job, each, job->plan.range, ndr_operand_arg(&r->input), r->input.offset, r->input.cols,
                          sizes_for(r).chunk, workspace, slot, r->output.buffer, r->output.offset));
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
