/* top_k_select.c - selections of the k first elements of each row, by rounds of digits: kernels/top_k/select.clh; and the values
 * of what was selected. */
#include "ops/sort/top_k.h"

#include <stdio.h>

/* ---- rounds ---- */

enum { CHUNKS, TILES };

/* How groups share the keys. Where the fault loops_end_early would end their loops, rows have more groups. */
typedef struct shares {
    size_t group, per_row, groups, least; /* items; groups of a row, and of all; elements of a group */
} shares;

static shares shares_for(const ndr_op_case *of)
{
    enum { MIN_CHUNK = 1 << 13, PER_UNIT = 4 };
    enum { PREFERRED_GROUP = 256, OWN = 8, PREFERRED_GROUPS = 1024, TURNS_OF_TILE = 32 };
    const ndr_top_k_request *r = of->request;
    const size_t turns = ndr_quirk_turns(of->caps->quirks);
    const ndr_device_info *device = &of->caps->info;
    const bool is_chunk = of->variant->form == CHUNKS;
    shares s = { .group = is_chunk ? 1 : PREFERRED_GROUP, .least = MIN_CHUNK };
    while (s.group > ndr_max_size(1, ndr_min_size(device->max_group_size, device->max_local_size[2]))) s.group /= 2;
    if (!is_chunk) s.least = s.group * OWN;
    const size_t longest = is_chunk ? SIZE_MAX : ndr_min_size(turns / TURNS_OF_TILE, SIZE_MAX / s.least) * s.least;
    const size_t wanted = is_chunk ? (size_t)device->compute_units * PER_UNIT : PREFERRED_GROUPS;
    s.per_row = ndr_clamp_size(ndr_ceil_div(wanted, ndr_max_size(r->rows, 1)), 1,
                               ndr_max_size(ndr_ceil_div(r->length, s.least), 1));
    s.per_row = ndr_max_size(s.per_row, ndr_ceil_div(r->length, longest));
    s.groups = s.per_row * ndr_max_size(r->rows, 1);
    return s;
}

static unsigned rounds_of(const ndr_top_k_request *r) { return (r->order.bits + NDR_SORT_BITS - 1) / NDR_SORT_BITS; }

/* In the workspace: ulongs from one on, then indexes of lists from one on, then their keys. With one round there are no
 * lists. */
typedef struct layout {
    size_t counts, states, unstored, capacity, indexes, keys, end_bytes;
} layout;

static bool has_wide_indexes(const ndr_top_k_request *r) { return r->length > UINT32_MAX; }

static layout layout_for(const ndr_top_k_request *r, const shares *s)
{
    const size_t key_bytes = ndr_dtype_size(r->order.dtype);
    const size_t index_bytes = has_wide_indexes(r) ? sizeof(cl_ulong) : sizeof(cl_uint);
    layout l = { .counts = NDR_WORKSPACE_HEAD_BYTES / sizeof(cl_ulong) };
    l.states = l.counts + (s->groups + 1) * NDR_SORT_DIGITS;
    l.unstored = l.states + 2 * r->rows * NDR_TOP_K_STATE;
    l.capacity = rounds_of(r) > 1 ? r->length / NDR_TOP_K_FEWER : 0;
    const size_t listed = r->rows * (l.capacity + l.capacity / NDR_TOP_K_FEWER);
    l.indexes = (l.unstored + s->groups) * sizeof(cl_ulong) / index_bytes;
    l.keys = ndr_ceil_div((l.indexes + listed) * index_bytes, key_bytes);
    l.end_bytes = (l.keys + listed) * key_bytes;
    return l;
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_top_k_request *r = of->request;
    const shares s = shares_for(of);
    char more[64];
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(s.groups * s.group, s.group),
                           .local_bytes = s.group > 1 ? (s.group + 3) * sizeof(cl_ulong) : 0,
                           .workspace_bytes = layout_for(r, &s).end_bytes };
    snprintf(more, sizeof more, " -DGROUP=%zu -DINDEX=%s", s.group, has_wide_indexes(r) ? "ulong" : "uint");
    ndr_top_k_print_options(r, more, plan->options);
}

static ndr_status run_round(ndr_op_job *job, unsigned round)
{
    const ndr_top_k_request *r = job->of.request;
    const shares s = shares_for(&job->of);
    const layout l = layout_for(r, &s);
    const unsigned rounds = rounds_of(r), shift = r->order.bits - (round + 1) * NDR_SORT_BITS;
    const ndr_arg work = ndr_op_workspace_arg(job);
#define ARGS                                                                                                          \
    job->plan.range, ndr_operand_arg(&r->keys), r->keys.offset, r->length, r->k, ndr_sort_flip_arg(&r->order), shift, \
        (unsigned)NDR_SORT_BITS, (unsigned)(round == 0), (unsigned)(round + 1 == rounds), s.per_row, s.least, work,   \
        l.counts, l.states, l.unstored, work, l.keys, work, l.indexes, l.capacity, round % 2
    NDR_TRY(ndr_op_launch(job, job->others[0], ARGS));
    if (job->of.variant->form == TILES)
        NDR_TRY(ndr_sort_add_counts(job, job->others[1], s.group, s.groups, l.counts));
    return ndr_op_launch(job, job->kernel, ARGS, ndr_operand_arg(&r->top_keys), r->top_keys.offset,
                         ndr_operand_arg(&r->top_indexes), r->top_indexes.offset);
#undef ARGS
}

static ndr_status launch(ndr_op_job *job)
{
    const unsigned rounds = rounds_of(job->of.request);
    for (unsigned round = 0; round < rounds; ++round) NDR_TRY(run_round(job, round));
    return NDR_OK;
}

static NDR_OP_VARIANT(top_k, select_chunks, "top_k_select_chunks", 0, .others = { "top_k_count_chunks" },
                      .form = CHUNKS, .unsuited = ndr_op_lacks_vectors, .plan = plan, .launch = launch);
static NDR_OP_VARIANT(top_k, select_tiles, "top_k_select_tiles", 0,
                      .others = { "top_k_count_tiles", "top_k_add_counts" }, .form = TILES, .plan = plan,
                      .launch = launch);

static const ndr_op_variant *const variants[] = { &ndr_top_k_select_chunks, &ndr_top_k_select_tiles };

static ndr_op_work work_of(const void *request)
{
    const ndr_top_k_request *r = request;
    return (ndr_op_work){ (uint64_t)r->keys.cols * r->keys.element_bytes
                              + (uint64_t)r->top_keys.cols * (r->keys.element_bytes + sizeof(uint64_t)),
                          0 };
}

const ndr_operation ndr_top_k_select_operation = { "top_k", variants, NDR_COUNT_OF(variants), NULL, work_of };

/* ---- values ---- */

static void plan_values(const ndr_op_case *of, ndr_op_plan *plan)
{
    enum { PREFERRED_GROUP = 64 };
    const ndr_top_k_request *r = of->request;
    const size_t limit = ndr_max_size(1, ndr_min_size(of->caps->info.max_group_size, of->caps->info.max_local_size[2]));
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(ndr_max_size(r->rows * r->k, 1), ndr_min_size(limit, PREFERRED_GROUP)) };
    plan->range.edge = NDR_EDGE_ROUND_UP;
    snprintf(plan->options, sizeof plan->options, "-DVALUE=%s", ndr_sort_word_name(r->value_bytes));
}

static ndr_status launch_values(ndr_op_job *job)
{
    const ndr_top_k_request *r = job->of.request;
    NDR_TRY(ndr_sort_check_words(job, "ndr_top_k", r->value_bytes, 1));
    return ndr_op_launch(job, job->kernel, job->plan.range, ndr_operand_arg(&r->values), r->values.offset,
                         ndr_top_k_value_words(r), ndr_operand_arg(&r->top_values), r->top_values.offset,
                         ndr_operand_arg(&r->top_indexes), r->top_indexes.offset, r->length, r->k, r->rows * r->k);
}

static NDR_OP_VARIANT(top_k, values, "top_k_values", 0, .plan = plan_values, .launch = launch_values);
static const ndr_op_variant *const value_variants[] = { &ndr_top_k_values };

static ndr_op_work work_of_values(const void *request)
{
    const ndr_top_k_request *r = request;
    return (ndr_op_work){ (uint64_t)r->top_values.cols * (2 * r->value_bytes + sizeof(uint64_t)), 0 };
}

const ndr_operation ndr_top_k_values_operation = { "top_k", value_variants, NDR_COUNT_OF(value_variants), NULL,
                                                   work_of_values };
