/* chunks.c - the reductions on CPUs: groups of one item, which take one chunk of the input after the other. */
#include "ops/reduce/reduce.h"

/* A chunk is long enough to amortise a group (about 5 ns) and a partial. It is short enough to limit the rounding
 * error of its sum and to occupy all cores. In between there are about 128 chunks. */
ndr_reduce_chunks ndr_reduce_chunks_for(const ndr_reduce_request *request)
{
    enum { MIN_CHUNK = 1 << 14, MAX_CHUNK = 1 << 18, PREFERRED_COUNT = 128 };
    enum { MAX_PARTIALS = 1 << 16 /* half a MiB at most */ };
    const size_t elements = request->input.cols, max_chunks = ndr_reduce_most(request, MAX_PARTIALS);
    const size_t share = ndr_clamp_size(ndr_ceil_div(elements, PREFERRED_COUNT), MIN_CHUNK, MAX_CHUNK);
    const size_t chunk = ndr_max_size(share, ndr_ceil_div(elements, max_chunks));
    return (ndr_reduce_chunks){ chunk, ndr_max_size(ndr_ceil_div(elements, chunk), 1) };
}

/* One group for each compute unit, because more take longer to launch; a group on a slow core takes fewer chunks. At
 * least two if there are several chunks, because one group has no workspace. */
static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const size_t chunks = ndr_reduce_chunks_for(of->request).count;
    const size_t groups = ndr_min_size(chunks, ndr_max_size(of->caps->info.compute_units, 2));
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(groups, 1),
                           .workspace_bytes = chunks > 1 ? ndr_reduce_partials_bytes(of->request, chunks) : 0 };
    ndr_reduce_print_options(of->request, of->caps->info.type == NDR_DEVICE_TYPE_CPU ? "-DFETCH_AHEAD=1" : "",
                             plan->options);
}

static ndr_status launch(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->of.request;
    const ndr_reduce_chunks chunks = ndr_reduce_chunks_for(r);
    const unsigned slot = ndr_op_take_slot(job);
    NDR_TRY(ndr_reduce_launch(job, r->input.cols, chunks.elements, ndr_op_workspace_arg(job), slot, r->output.buffer,
                              r->output.offset));
    if (r->method == NDR_REDUCE_ATOMIC || !job->others[0]) return ndr_reduce_take_cell(job, slot);
    return ndr_op_launch(job, job->others[0], ndr_range_1d(1), ndr_op_workspace_arg(job), slot, chunks.count,
                         r->output.buffer, r->output.offset);
}

/* In one launch: the last group to finish combines the partials of all groups, or stores the combined value. Where
 * memory is not ordered between groups a second launch does that. */
#define IN_CHUNKS(variant, method, main, other, need)                                                      \
    NDR_REDUCE_VARIANT(variant, method, main, other, need, .unsuited = ndr_op_lacks_vectors, .plan = plan, \
                       .launch = launch)
IN_CHUNKS(tree_chunks, NDR_REDUCE_TREE, "reduce_chunks", NULL, NDR_NEEDS_DEVICE_ORDER);
IN_CHUNKS(atomic_chunks, NDR_REDUCE_ATOMIC, "reduce_chunks_atomic", NULL, NDR_NEEDS_DEVICE_ORDER);
IN_CHUNKS(tree_chunks_two_launches, NDR_REDUCE_TREE, "reduce_each_chunk", "reduce_all_partials", 0);
IN_CHUNKS(atomic_chunks_two_launches, NDR_REDUCE_ATOMIC, "reduce_chunks_to_cell", "reduce_take_cell", 0);
