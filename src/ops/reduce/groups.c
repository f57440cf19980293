/* groups.c - the reductions by groups of many items, which divide the input into tiles. */
#include "ops/reduce/reduce.h"

#include <stdio.h>

/* Elements of a vector. */
static size_t count_lanes(const ndr_reduce_request *request)
{
    return NDR_TILE_VECTOR_BYTES / ndr_reduce_element_bytes(request);
}

/* One wave of groups keeps the memory of the largest GPUs busy. All groups take about the same number of tiles. Where
 * those are many, there are more waves: a group that is slower than others then delays the end less. */
ndr_reduce_groups ndr_reduce_groups_for(const ndr_caps *caps, const ndr_reduce_request *request)
{
    enum { PREFERRED_GROUP = 256, ITEMS_OF_A_WAVE = 792 * PREFERRED_GROUP, MAX_PARTIALS = 1 << 12 };
    const size_t limit = ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]);
    size_t size = PREFERRED_GROUP;
    while (size > limit) size /= 2;
    const size_t tile = size * NDR_TILE_VECTORS * count_lanes(request);
    const size_t tiles = ndr_max_size(ndr_ceil_div(request->input.cols, tile), 1);
    const size_t most = ndr_reduce_most(request, MAX_PARTIALS), wave = ndr_min_size(ITEMS_OF_A_WAVE / size, most);
    const size_t waves = ndr_clamp_size(ndr_ceil_div(tiles, wave * NDR_TILE_ROW), 1, most / wave);
    return (ndr_reduce_groups){ size, ndr_ceil_div(tiles, ndr_ceil_div(tiles, wave * waves)) };
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_reduce_request *r = of->request;
    const size_t bytes = ndr_reduce_element_bytes(r);
    const ndr_reduce_groups groups = ndr_reduce_groups_for(of->caps, r);
    char sizes[64];
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(groups.count * groups.size, groups.size),
                           .local_bytes = 2 * groups.size * bytes + sizeof(cl_uint),
                           .workspace_bytes = groups.count > 1 ? ndr_reduce_partials_bytes(r, groups.count) : 0 };
    snprintf(sizes, sizeof sizes, "-DGROUP=%zu -DLANES=%zu", groups.size, count_lanes(r));
    ndr_reduce_print_options(r, sizes, plan->options);
}

static ndr_status launch(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->of.request;
    const unsigned slot = ndr_op_take_slot(job);
    NDR_TRY(ndr_reduce_launch(job, r->input.cols, ndr_op_workspace_arg(job), slot, r->output.buffer, r->output.offset));
    return ndr_reduce_take_cell(job, slot);
}

/* With one group, tree_groups needs only one launch too, and stores no partials. */
static const char *unsuited(const ndr_op_case *of)
{
    return ndr_reduce_groups_for(of->caps, of->request).count > 1 ? NULL : "one group combines all elements";
}

static void plan_one_launch(const ndr_op_case *of, ndr_op_plan *out)
{
    plan(of, out);
    out->workspace_bytes = ndr_reduce_partials_bytes(of->request, ndr_reduce_groups_for(of->caps, of->request).count);
}

/* As in chunks.c. */
NDR_REDUCE_VARIANT(tree_groups_one_launch, NDR_REDUCE_TREE, "reduce_groups", NULL, NDR_NEEDS_DEVICE_ORDER,
                   .unsuited = unsuited, .plan = plan_one_launch, .launch = launch);
NDR_REDUCE_VARIANT(atomic_groups_one_launch, NDR_REDUCE_ATOMIC, "reduce_groups_atomic", NULL, NDR_NEEDS_DEVICE_ORDER,
                   .plan = plan, .launch = launch);
NDR_REDUCE_VARIANT(atomic_groups, NDR_REDUCE_ATOMIC, "reduce_atomic", "reduce_take_cell", 0, .plan = plan,
                   .launch = launch);

/* ---- the tree in two launches: each stores one element for each of its groups ---- */

static ndr_status launch_twice(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->of.request;
    const ndr_reduce_groups groups = ndr_reduce_groups_for(job->of.caps, r);
    NDR_TRY(ndr_reduce_launch(job, r->input.cols, ndr_op_workspace_arg(job), r->output.buffer, r->output.offset));
    if (groups.count == 1) return NDR_OK;
    return ndr_op_launch(job, job->others[0], ndr_nd_range_1d(groups.size, groups.size), ndr_op_workspace_arg(job),
                         groups.count, r->output.buffer, r->output.offset);
}

NDR_REDUCE_VARIANT(tree_groups, NDR_REDUCE_TREE, "reduce_tree", "reduce_group_partials", 0, .plan = plan,
                   .launch = launch_twice);
