/* reduction.c - launches of kernels with reducers.
 *
 * The range is divided into chunks, whose values go to the queue's workspace. The last group to finish combines them in
 * their order; where the device does not order memory between groups, a second launch of the kernel does, by one group.
 * If there is one chunk, its group stores the result. The chunks depend only on the range, the kind of device and the
 * largest group, so every launch on a device gives the same bits. */
#include "device/buffer.h"
#include "device/context.h"
#include "device/map.h"
#include "device/queue.h"
#include "launch/reduction.h"

#include <string.h>

enum { MAX_CHUNKS = 1 << 12, MAX_REDUCERS = 8 };

const size_t ndr_reduction_work_bytes = NDR_WORKSPACE_HEAD_BYTES + MAX_REDUCERS * MAX_CHUNKS * sizeof(cl_ulong);

/* ---- dividing the range ---- */

static size_t count_indexes(const ndr_range_plan *plan)
{
    size_t count = 1;
    for (unsigned d = 0; d < plan->dims; ++d) count *= plan->global_range[d];
    return count;
}

/* On CPUs, whose groups have one item: chunks are long enough to amortise a group, and enough for all cores. */
static size_t chunk_for_vectors(size_t count)
{
    enum { MIN_CHUNK = 1 << 14, MAX_CHUNK = 1 << 18, PREFERRED_COUNT = 128 };
    const size_t share = ndr_min_size(ndr_ceil_div(count, PREFERRED_COUNT), MAX_CHUNK);
    return ndr_max_size(ndr_max_size(share, MIN_CHUNK), ndr_ceil_div(count, MAX_CHUNKS));
}

/* Elsewhere: tiles in which each item has one index for each of its lanes. As many as there may be where the fault
 * loops_end_early ends long loops. */
static size_t chunk_for_groups(const ndr_caps *caps, size_t count, size_t group)
{
    enum { PREFERRED_COUNT = 1 << 10 };
    const size_t most = ndr_quirk_is_on(caps->quirks, NDR_QUIRK_LOOPS_END_EARLY) ? MAX_CHUNKS : PREFERRED_COUNT;
    const size_t tile = NDR_REDUCER_LANES_ * group, tiles = ndr_ceil_div(count, tile);
    return tile * ndr_max_size(ndr_ceil_div(tiles, most), 1);
}

static size_t group_for(const ndr_kernel *kernel, size_t count)
{
    const ndr_device_info *device = &kernel->context->caps.info;
    const size_t limit = ndr_min_size(kernel->info.max_group_size, device->max_local_size[2]);
    size_t group = NDR_REDUCER_GROUP_;
    if (ndr_has_vectors(&kernel->context->caps)) return 1;
    while (group > 1 && (group > limit || group / 2 * NDR_REDUCER_LANES_ >= count)) group /= 2;
    return group;
}

/* On CPUs one for each compute unit, because more take longer to launch; they take the chunks in turn. */
static size_t count_groups(const ndr_kernel *kernel, size_t chunks)
{
    const ndr_caps *caps = &kernel->context->caps;
    return ndr_has_vectors(caps) ? ndr_min_size(chunks, caps->info.compute_units) : chunks;
}

static ndr_cl_piece make_piece(const ndr_reduction_record *record, size_t groups, size_t group)
{
    return (ndr_cl_piece){ .global = { groups * group, 1, 1 }, .local = { group, 1, 1 }, .record = *record };
}

/* Where the device orders memory between groups, the last group combines the chunks. ndr/reduction.clh decides. */
static bool is_one_launch(const ndr_kernel *kernel)
{
    return strcmp(kernel->params[kernel->arg_count - 2].name, "ndr_work_in_order_") == 0;
}

void ndr_reduction_divide(ndr_planned *planned, const ndr_nd_range *range)
{
    const ndr_kernel *kernel = planned->kernel;
    ndr_range_plan *plan = &planned->plan;
    ndr_reduction_record record = { .of.dims = plan->dims };
    for (unsigned d = 0; d < plan->dims; ++d) {
        plan->global_range[d] = range->global.size[d];
        record.of.global_range[d] = range->global.size[d];
        record.of.offset[d] = range->offset[d];
    }
    const size_t count = count_indexes(plan), group = group_for(kernel, count);
    record.count = count;
    record.chunk = group == 1 ? chunk_for_vectors(count) : chunk_for_groups(&kernel->context->caps, count, group);
    record.chunks = ndr_max_size(ndr_ceil_div(count, (size_t)record.chunk), 1);
    planned->pieces[0] = make_piece(&record, count_groups(kernel, (size_t)record.chunks), group);
    record.combines = 1;
    planned->pieces[1] = make_piece(&record, 1, group);
    plan->piece_count = record.chunks > 1 && !is_one_launch(kernel) ? 2 : 1;
}

/* ---- arguments ---- */

static size_t first_reducer(const ndr_kernel *kernel) { return kernel->info.arg_count - kernel->reducer_count; }

static ndr_bytes destination_of(const ndr_kernel *kernel, const ndr_arg *arg, size_t index)
{
    const size_t bytes = kernel->params[index].size_bytes;
    return (ndr_bytes){ arg->as.reducer.buffer, arg->as.reducer.element * bytes, bytes };
}

/* `arg` takes the place of args[index]. */
ndr_status ndr_reduction_check_one(const ndr_kernel *kernel, const ndr_arg *args, size_t index, const ndr_arg *arg)
{
    const ndr_bytes mine = destination_of(kernel, arg, index);
    for (size_t i = first_reducer(kernel); i < kernel->info.arg_count; ++i)
        NDR_REQUIRE_AS(NDR_BAD_KERNEL_ARGUMENT,
                       i == index || args[i].kind != NDR_ARG_REDUCER
                           || !ndr_bytes_overlap(mine, destination_of(kernel, &args[i], i)),
                       "kernel \"%s\": the reducers \"%s\" and \"%s\" go to the same element, %zu; give each its own "
                       "element",
                       kernel->name, kernel->params[ndr_min_size(i, index)].name,
                       kernel->params[ndr_max_size(i, index)].name, arg->as.reducer.element);
    return NDR_OK;
}

ndr_status ndr_reduction_check(const ndr_kernel *kernel, const ndr_arg *args)
{
    for (size_t i = first_reducer(kernel); i < kernel->info.arg_count; ++i)
        NDR_TRY(ndr_reduction_check_one(kernel, args, i, &args[i]));
    return NDR_OK;
}

/* The hidden parameters are behind the visible ones: a record of each reducer, the workspace, the record. */
static ndr_status bind_hidden(const ndr_planned *planned, cl_kernel cl, const ndr_arg *args, const ndr_buffer *work,
                              unsigned slot)
{
    const ndr_kernel *kernel = planned->kernel;
    const size_t first = first_reducer(kernel);
    for (unsigned i = 0; i < kernel->reducer_count; ++i) {
        const ndr_reducer_record to = { .initial = planned->bound[first + i].copy.u64,
                                        .element = args[first + i].as.reducer.element,
                                        .partials = NDR_WORKSPACE_HEAD_BYTES / sizeof(cl_ulong) + i * MAX_CHUNKS,
                                        .slot = slot };
        NDR_TRY_CL(clSetKernelArg(cl, kernel->info.arg_count + i, sizeof to, &to));
    }
    NDR_TRY_CL(clSetKernelArg(cl, kernel->arg_count - 2, sizeof work->cl, &work->cl));
    return NDR_OK;
}

ndr_status ndr_reduction_bind(const ndr_planned *planned, ndr_workspace *workspace, const ndr_arg *args)
{
    const ndr_buffer *const work = ndr_workspace_buffer(workspace);
    const unsigned slot = planned->pieces[0].record.chunks > 1 ? ndr_workspace_take_slot(workspace) : 0;
    if (!planned->clones[0]) return bind_hidden(planned, ndr_launch_kernel_of(planned->kernel), args, work, slot);
    for (unsigned i = 0; i < planned->plan.piece_count; ++i)
        NDR_TRY(bind_hidden(planned, planned->clones[i], args, work, slot));
    return NDR_OK;
}
