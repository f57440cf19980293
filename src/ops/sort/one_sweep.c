/* one_sweep.c - the sort on GPUs whose groups go on while others wait for them: one launch a digit. */
#include "ops/sort/sort.h"

#include <stdio.h>

typedef struct sizes {
    size_t group, per_item, tiles;
    size_t sum_bytes; /* of a sum of counts */
    bool has_room;    /* values have local memory beside the keys */
    bool is_patched;  /* two groups of a multiprocessor share its registers */
} sizes;

/* ---- local memory ---- */

/* Of a value in local memory: the value itself, or its place. As in kernels/sort/one_sweep.cl. */
static size_t value_bytes(const ndr_sort_request *r)
{
    const bool is_kept = r->value_bytes == 1 || r->value_bytes == 2 || r->value_bytes == 4 || r->value_bytes == 8;
    return is_kept ? r->value_bytes : r->value_bytes ? sizeof(cl_ushort) : 0;
}

static size_t local_bytes(const ndr_sort_request *r, const sizes *s)
{
    enum { WARP = 32, OTHERS = 128 };
    const size_t counts = s->group / WARP * NDR_SORT_DIGITS * sizeof(cl_uint), tile = s->group * s->per_item;
    const size_t keys = tile * ndr_dtype_size(r->dtype), values = tile * value_bytes(r);
    const size_t elements = s->has_room ? keys + values : ndr_max_size(keys, values);
    return ndr_max_size(counts, elements) + NDR_SORT_DIGITS * s->sum_bytes + OTHERS;
}

/* ---- sizes ---- */

size_t ndr_sort_large_count = (size_t)1 << 30;

/* As many keys as registers and local memory hold. With changed PTX a group has more local memory than OpenCL reports,
 * on compute capability 8.0 and later. */
static sizes sizes_for(const ndr_caps *caps, const ndr_sort_request *r)
{
    enum { PTX_LOCAL_BYTES = 64 << 10, PTX_CAPABILITY = 800 };
    const size_t key = ndr_dtype_size(r->dtype), value = value_bytes(r), words = (key + value + 3) / 4;
    sizes s = { .group = 512,
                .per_item = value ? 15 : 22,
                .sum_bytes = r->count >= ndr_sort_large_count ? sizeof(cl_ulong) : sizeof(cl_uint),
                .is_patched = caps->compute_capability >= PTX_CAPABILITY };
    s.has_room = s.is_patched && value > 0 && words <= 2;
    if (caps->info.warp_size != 32) s.per_item = 4;
    while (s.group > NDR_SORT_DIGITS && s.group > caps->info.max_group_size) s.group = NDR_SORT_DIGITS;
    if (words > 2) s.per_item = s.per_item * 2 / words;
    const size_t most = s.has_room ? PTX_LOCAL_BYTES : caps->info.local_memory_bytes;
    while (s.per_item > 1 && local_bytes(r, &s) > most) --s.per_item;
    s.tiles = ndr_max_size(ndr_ceil_div(r->count, s.group * s.per_item), 1);
    return s;
}

/* The words before the elements in the workspace, in counts of 8 bytes. */
static size_t counts_for(const ndr_sort_request *r, const sizes *s)
{
    const size_t all = (s->tiles + 1) * ndr_sort_passes(r) * NDR_SORT_DIGITS * s->sum_bytes;
    return ndr_ceil_div(all, sizeof(cl_ulong));
}

/* As in ndr_sort_flip_arg(). */
static bool is_flipped(const ndr_sort_request *r)
{
    const ndr_dtype_info *type = ndr_dtype_describe(r->dtype);
    return r->is_descending || (type->is_signed && !type->is_float);
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_sort_request *r = of->request;
    const sizes s = sizes_for(of->caps, r);
    char more[160];
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(s.tiles * s.group, s.group),
                           .local_bytes = local_bytes(r, &s),
                           .workspace_bytes = ndr_sort_workspace_bytes(r, counts_for(r, &s)) };
    snprintf(more, sizeof more, "-DGROUP=%zu -DPER_ITEM=%zu -DBEGIN_BIT=%u -DBITS=%u -DPASSES=%u%s%s%s%s", s.group,
             s.per_item, r->begin_bit, r->bits, ndr_sort_passes(r), is_flipped(r) ? "" : " -DIS_FLIPPED=0",
             s.sum_bytes == sizeof(cl_ulong) ? " -DIS_LARGE=1" : "", s.has_room ? " -DHAS_ROOM=1" : "",
             s.is_patched ? " -DNDR_PTX_GROUPS=2" : "");
    ndr_sort_print_options(r, more, plan->options);
}

/* ---- launching ---- */

static ndr_status run_pass(ndr_op_job *job, const ndr_sort_pass *pass)
{
    const ndr_sort_request *r = job->of.request;
    return ndr_op_launch(job, job->kernel, job->plan.range, NDR_SORT_ARGS(pass->from), NDR_SORT_ARGS(pass->to),
                         ndr_sort_words_arg(r), r->count, ndr_sort_flip_arg(r), pass->shift, pass->bits, pass->number,
                         ndr_op_workspace_arg(job), ndr_op_take_slot(job));
}

/* A few waves of groups, which count many keys each. */
static ndr_nd_range counting_range(const ndr_op_job *job, size_t group)
{
    enum { GROUPS_OF_A_UNIT = 4, KEYS_OF_AN_ITEM = 16 };
    const ndr_sort_request *r = job->of.request;
    const size_t most = GROUPS_OF_A_UNIT * ndr_max_size(job->of.caps->info.compute_units, 1);
    return ndr_nd_range_1d(group * ndr_clamp_size(r->count / (group * KEYS_OF_AN_ITEM), 1, most), group);
}

static ndr_status launch(ndr_op_job *job)
{
    const ndr_sort_request *r = job->of.request;
    const sizes s = sizes_for(job->of.caps, r);
    const size_t counts = (size_t)ndr_sort_passes(r) * NDR_SORT_DIGITS;
    NDR_TRY(ndr_op_launch(job, job->others[0], ndr_range_1d(counts), ndr_op_workspace_arg(job)));
    NDR_TRY(ndr_op_launch(job, job->others[1], counting_range(job, s.group), ndr_operand_arg(&r->input.keys),
                          r->input.keys.offset, r->count, ndr_sort_flip_arg(r), counts * s.tiles,
                          ndr_op_workspace_arg(job), ndr_op_take_slot(job)));
    if (!job->of.caps->orders_device)
        NDR_TRY(ndr_op_launch(job, job->others[2], ndr_nd_range_1d(s.group, s.group), ndr_op_workspace_arg(job)));
    return ndr_sort_run_passes(job, counts_for(r, &s), run_pass);
}

extern const ndr_op_variant ndr_sort_tiles;
NDR_OP_VARIANT(sort, one_sweep, "sort_sweep", NDR_NEEDS_VOTES,
               .others = { "sort_clear", "sort_count_all", "sort_add_all" }, .plan = plan, .launch = launch,
               .prove = ndr_sort_prove, .instead = &ndr_sort_tiles);
