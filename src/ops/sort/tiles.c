/* tiles.c - the sorts on GPUs: groups of many items, which sort a tile each in local memory. */
#include "ops/sort/sort.h"

#include <stdio.h>

typedef struct sizes {
    size_t group, per_item, tiles;
} sizes;

/* Of a group: keys with `ushorts` for each, counts of a step, and what a pass needs besides. Counts are ushorts, too, of
 * which rusticl gives each 4 bytes. */
size_t ndr_sort_tile_bytes(const ndr_sort_request *request, size_t group, size_t per_item, size_t ushorts)
{
    enum { MOST_OF_USHORT = 4 };
    return group * per_item * (ndr_dtype_size(request->dtype) + ushorts * MOST_OF_USHORT)
           + group * NDR_SORT_STEP_DIGITS * MOST_OF_USHORT + (NDR_SORT_DIGITS + group) * sizeof(cl_ulong);
}

/* With their places. */
static size_t local_bytes(const ndr_sort_request *request, size_t group, size_t per_item)
{
    return ndr_sort_tile_bytes(request, group, per_item, 1);
}

/* More local memory would leave fewer groups on a compute unit. */
static size_t usable_bytes(const ndr_caps *caps)
{
    enum { MAX_BYTES = 48 << 10 };
    return ndr_min_size(caps->info.local_memory_bytes, MAX_BYTES);
}

/* Groups as the device takes them; as many keys for each item as local memory holds. */
ndr_sort_tile ndr_sort_tile_for(const ndr_caps *caps, const ndr_sort_request *request, size_t group, size_t ushorts)
{
    enum { MAX_PER_ITEM = 15 };
    const size_t limit = ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]);
    const size_t most = usable_bytes(caps);
    ndr_sort_tile t = { .group = group, .per_item = MAX_PER_ITEM };
    while (t.group > limit || (t.group > 1 && ndr_sort_tile_bytes(request, t.group, 1, ushorts) > most)) t.group /= 2;
    while (t.per_item > 1 && ndr_sort_tile_bytes(request, t.group, t.per_item, ushorts) > most) t.per_item -= 2;
    t.local_bytes = ndr_sort_tile_bytes(request, t.group, t.per_item, ushorts);
    return t;
}

static sizes sizes_for(const ndr_caps *caps, const ndr_sort_request *request)
{
    enum { PREFERRED_GROUP = 256 };
    const ndr_sort_tile t = ndr_sort_tile_for(caps, request, PREFERRED_GROUP, 1);
    return (sizes){ t.group, t.per_item, ndr_max_size(ndr_ceil_div(request->count, t.group * t.per_item), 1) };
}

static void make_plan(const ndr_sort_request *request, sizes s, ndr_op_plan *plan)
{
    char more[64];
    snprintf(more, sizeof more, "-DGROUP=%zu -DPER_ITEM=%zu", s.group, s.per_item);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(s.tiles * s.group, s.group),
                           .local_bytes = local_bytes(request, s.group, s.per_item) };
    ndr_sort_print_options(request, more, plan->options);
}

/* ---- where loops end early ---- */

/* Items go through the counts `group` at a time, each time with the loop of sum_before(). */
static size_t most_tiles(const ndr_caps *caps, size_t group)
{
    const size_t turns = ndr_quirk_turns(caps->quirks);
    size_t doublings = 1;
    while ((size_t)1 << doublings < group) ++doublings;
    return ndr_min_size(turns / (doublings + 2), SIZE_MAX / group) * group;
}

ndr_status ndr_sort_add_counts(ndr_op_job *job, ndr_kernel *kernel, size_t group, size_t tiles, size_t counts)
{
    const ndr_nd_range range = ndr_nd_range_1d(NDR_SORT_DIGITS * group, group);
    const size_t most = most_tiles(job->of.caps, group);
    for (size_t first = 0, here; first < tiles; first += here) {
        here = ndr_min_size(tiles - first, most);
        NDR_TRY(ndr_op_launch(job, kernel, range, tiles, first, first + here, ndr_op_workspace_arg(job), counts));
    }
    return NDR_OK;
}

ndr_status ndr_sort_check_words(const ndr_op_job *job, const char *call, size_t value_bytes, size_t turns)
{
    const size_t word = ndr_sort_word_bytes(ndr_max_size(value_bytes, 1));
    const size_t most = ndr_quirk_turns(job->of.caps->quirks) / turns;
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, value_bytes / word <= most,
                   "%s: value_bytes is %zu, but the driver of device \"%s\" ends loops early (the fault "
                   "loops_end_early); use at most %zu, or sort indexes in place of the values",
                   call, value_bytes, job->of.caps->info.name, most * word);
    return NDR_OK;
}

/* ---- many tiles ---- */

/* Of each tile, and of all. */
static size_t counts_for(const ndr_caps *caps, const ndr_sort_request *request)
{
    return (sizes_for(caps, request).tiles + 1) * NDR_SORT_DIGITS;
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    make_plan(of->request, sizes_for(of->caps, of->request), plan);
    plan->workspace_bytes = ndr_sort_workspace_bytes(of->request, counts_for(of->caps, of->request));
}

static ndr_status run_pass(ndr_op_job *job, const ndr_sort_pass *pass)
{
    const ndr_sort_request *r = job->of.request;
    const sizes s = sizes_for(job->of.caps, r);
    const size_t counts = NDR_SORT_COUNTS_OFFSET;
    NDR_TRY(ndr_op_launch(job, job->others[0], job->plan.range, ndr_operand_arg(&pass->from.keys),
                          pass->from.keys.offset, r->count, ndr_sort_flip_arg(r), pass->shift, pass->bits,
                          ndr_op_workspace_arg(job), counts));
    NDR_TRY(ndr_sort_add_counts(job, job->others[1], s.group, s.tiles, counts));
    return ndr_op_launch(job, job->kernel, job->plan.range, NDR_SORT_ARGS(pass->from), NDR_SORT_ARGS(pass->to),
                         ndr_sort_words_arg(r), r->count, ndr_sort_flip_arg(r), pass->shift, pass->bits,
                         ndr_op_workspace_arg(job), counts);
}

static ndr_status launch(ndr_op_job *job)
{
    const ndr_sort_request *r = job->of.request;
    NDR_TRY(ndr_sort_check_words(job, "ndr_sort", r->value_bytes, sizes_for(job->of.caps, r).per_item));
    return ndr_sort_run_passes(job, counts_for(job->of.caps, job->of.request), run_pass);
}

NDR_OP_VARIANT(sort, tiles, "sort_tiles", 0, .others = { "sort_count_tiles", "sort_add_counts" }, .plan = plan,
               .launch = launch);

/* ---- one tile ---- */

/* cannot() reads no caps, so that the tiles have fixed sizes. */
enum { ONE_TILE = 1 << 10, SMALL_TILE = 1 << 9, SMALL_GROUP = 64 };

static sizes one_tile_for(const ndr_caps *caps, const ndr_sort_request *request)
{
    sizes s = sizes_for(caps, request);
    const bool is_small = request->count <= SMALL_TILE && s.group > SMALL_GROUP;
    if (is_small) s.group = SMALL_GROUP;
    s.per_item = (is_small ? SMALL_TILE : ONE_TILE) / s.group;
    s.tiles = 1;
    return s;
}

static const char *cannot(const ndr_op_case *of)
{
    const ndr_sort_request *r = of->request;
    return r->count <= ONE_TILE ? NULL : "one tile cannot hold all keys";
}

/* A kernel's largest group is known only after it is built, so this is of the smallest group. */
static bool has_long_values(const ndr_op_case *of)
{
    enum { LEAST_GROUP = 32 };
    const ndr_sort_request *r = of->request;
    const size_t turns = r->value_bytes * NDR_SORT_WHOLE_TURNS(ONE_TILE / LEAST_GROUP);
    return r->value_bytes && turns / ndr_sort_word_bytes(r->value_bytes) > ndr_quirk_turns(of->caps->quirks);
}

static const char *unsuited(const ndr_op_case *of)
{
    const sizes s = one_tile_for(of->caps, of->request);
    if (s.group < SMALL_GROUP) return "its groups have too few items";
    if (has_long_values(of)) return "its loops over the words of values would end early (the fault loops_end_early)";
    return local_bytes(of->request, s.group, s.per_item) <= of->caps->info.local_memory_bytes
               ? NULL
               : "the device has too little local memory";
}

static void plan_one(const ndr_op_case *of, ndr_op_plan *plan)
{
    make_plan(of->request, one_tile_for(of->caps, of->request), plan);
}

static ndr_status launch_one(ndr_op_job *job)
{
    const ndr_sort_request *r = job->of.request;
    const size_t per_item = one_tile_for(job->of.caps, r).per_item;
    NDR_TRY(ndr_sort_check_words(job, "ndr_sort", r->value_bytes, NDR_SORT_WHOLE_TURNS(per_item)));
    return ndr_op_launch(job, job->kernel, job->plan.range, NDR_SORT_ARGS(r->input), NDR_SORT_ARGS(r->output),
                         ndr_sort_words_arg(r), r->count, ndr_sort_flip_arg(r), r->begin_bit, r->bits);
}

NDR_OP_VARIANT(sort, one_tile, "sort_one_tile", 0, .cannot = cannot, .unsuited = unsuited, .plan = plan_one,
               .launch = launch_one);
