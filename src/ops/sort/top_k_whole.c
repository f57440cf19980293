/* top_k_whole.c - the k first keys of each row in one or two launches: on CPUs, if each core reads a part of the input once, and
 * on GPUs, if rows fit into local memory. */
#include "ops/sort/top_k.h"

#include <stdio.h>

/* As arguments: what kernels/top_k/store.clh stores. */
#define STORE_ARGS(r)                                                                                             \
    ndr_operand_arg(&(r)->values), (r)->values.offset, ndr_top_k_value_words(r), ndr_operand_arg(&(r)->top_keys), \
        (r)->top_keys.offset, ndr_operand_arg(&(r)->top_values), (r)->top_values.offset,                          \
        ndr_operand_arg(&(r)->top_indexes), (r)->top_indexes.offset

/* ---- chunks ---- */

/* How groups share the keys: parts of `size` keys of each row. What a part keeps are candidates. */
typedef struct shares {
    size_t parts, size, groups, capacity, candidates; /* capacity: elements that a group gathers; candidates: of a row */
} shares;

/* The parts of each row on CPUs, when the input is read once. The first of a part's elements are all gathered, so a part
 * is long: a few for each core if they can be, else one. */
static size_t parts_of(const ndr_caps *caps, const ndr_top_k_request *r)
{
    enum { MIN_PART = 1 << 14, LONG = 1 << 12, SHORT = 1 << 4, PER_UNIT = 4 };
    const size_t units = ndr_max_size(caps->info.compute_units, 1), rows = ndr_max_size(r->rows, 1);
    const size_t few = ndr_min_size(ndr_ceil_div(units * PER_UNIT, rows), r->length / ndr_max_size(MIN_PART, r->k * LONG));
    const size_t one = ndr_min_size(ndr_ceil_div(units, rows), r->length / ndr_max_size(MIN_PART, r->k * SHORT));
    return ndr_max_size(ndr_max_size(few, one), 1);
}

static shares shares_for(const ndr_caps *caps, const ndr_top_k_request *r)
{
    enum { PER_UNIT = 4, BLOCK = 16, MIN_GATHERED = 256 };
    const size_t length = ndr_max_size(r->length, 1);
    shares s = { .size = ndr_ceil_div(length, parts_of(caps, r)) };
    s.parts = ndr_ceil_div(length, s.size);
    s.candidates = (s.parts - 1) * r->k + ndr_min_size(r->k, length - (s.parts - 1) * s.size);
    s.groups = ndr_clamp_size((size_t)caps->info.compute_units * PER_UNIT, 1,
                              ndr_max_size(r->rows, 1) * s.parts);
    s.capacity = ndr_min_size(ndr_max_size(2 * r->k, MIN_GATHERED), ndr_max_size(s.size, s.candidates)) + BLOCK;
    return s;
}

/* In the workspace: keys from an element on, indexes from one on; first what groups gather, then candidates. */
typedef struct layout {
    size_t keys, key_candidates, indexes, index_candidates, end_bytes;
} layout;

static layout layout_for(const ndr_top_k_request *r, const shares *s)
{
    const size_t key_bytes = ndr_dtype_size(r->order.dtype), gathered = 2 * s->groups * s->capacity;
    const size_t candidates = s->parts > 1 ? r->rows * s->candidates : 0;
    layout l = { .indexes = NDR_WORKSPACE_HEAD_BYTES / sizeof(cl_ulong) };
    l.index_candidates = l.indexes + gathered;
    l.keys = (l.index_candidates + candidates) * sizeof(cl_ulong) / key_bytes;
    l.key_candidates = l.keys + gathered;
    l.end_bytes = (l.key_candidates + candidates) * key_bytes;
    return l;
}

static void plan_chunks(const ndr_op_case *of, ndr_op_plan *plan)
{
    const shares s = shares_for(of->caps, of->request);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(s.groups, 1),
                           .workspace_bytes = layout_for(of->request, &s).end_bytes };
    ndr_top_k_print_options(of->request, "", plan->options);
}

/* Select among the keys of `from`, rows of `length` in `parts` parts; their indexes are those of `from`, or their places. */
static ndr_status launch_pass(ndr_op_job *job, const ndr_top_k_request *from, size_t parts, const ndr_top_k_request *to,
                              size_t to_length, bool is_last)
{
    const ndr_top_k_request *r = job->of.request;
    const shares s = shares_for(job->of.caps, r);
    const layout l = layout_for(r, &s);
    const ndr_nd_range range = ndr_nd_range_1d(ndr_min_size(s.groups, r->rows * parts), 1);
    return ndr_op_launch(job, job->kernel, range, ndr_operand_arg(&from->keys), from->keys.offset,
                         ndr_operand_arg(&from->top_indexes), from->top_indexes.offset, r->rows, from->length, parts,
                         parts > 1 ? s.size : from->length, r->k, ndr_sort_flip_arg(&r->order), r->order.bits,
                         ndr_sort_passes(&r->order), s.capacity, ndr_op_workspace_arg(job), l.keys,
                         ndr_op_workspace_arg(job), l.indexes, (unsigned)is_last, to_length, STORE_ARGS(to));
}

/* The second pass has the results of the first one as its rows. */
static ndr_status launch_chunks(ndr_op_job *job)
{
    const ndr_top_k_request *r = job->of.request;
    const shares s = shares_for(job->of.caps, r);
    const layout l = layout_for(r, &s);
    ndr_top_k_request input = *r, candidates = *r;
    input.top_indexes.cols = candidates.values.cols = candidates.top_values.cols = candidates.value_bytes = 0;
    if (s.parts == 1) return launch_pass(job, &input, 1, r, r->length, true);
    candidates.top_keys.buffer = candidates.top_indexes.buffer = ndr_workspace_buffer(job->workspace);
    candidates.top_keys.cols = candidates.top_indexes.cols = r->rows * s.candidates;
    candidates.top_keys.offset = l.key_candidates;
    candidates.top_indexes.offset = l.index_candidates;
    candidates.keys = candidates.top_keys;
    candidates.length = s.candidates;
    NDR_TRY(launch_pass(job, &input, s.parts, &candidates, s.candidates, false));
    return launch_pass(job, &candidates, 1, r, r->length, true);
}

static NDR_OP_VARIANT(top_k, chunks, "top_k_chunks", 0, .unsuited = ndr_op_lacks_vectors, .plan = plan_chunks,
                      .launch = launch_chunks);

/* ---- tile ---- */

/* cannot() reads no caps, so that the tiles have fixed sizes. */
enum { TILE = 1 << 10, SMALL_TILE = 1 << 9, SMALL_GROUP = 64 };

typedef struct tile {
    size_t group, per_item, rows, local_bytes;
} tile;

static tile tile_for(const ndr_caps *caps, const ndr_top_k_request *r)
{
    enum { PREFERRED_GROUP = 256, USHORTS = 2 };
    const size_t limit = ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]);
    const bool is_small = r->rows * r->length <= SMALL_TILE;
    tile t = { .group = is_small ? SMALL_GROUP : PREFERRED_GROUP };
    while (t.group > limit && t.group > 1) t.group /= 2;
    t.per_item = (is_small ? SMALL_TILE : TILE) / t.group;
    t.rows = t.group * t.per_item / ndr_max_size(r->length, 1);
    t.local_bytes = ndr_sort_tile_bytes(&r->order, t.group, t.per_item, USHORTS);
    return t;
}

static const char *cannot_in_tile(const ndr_op_case *of)
{
    const ndr_top_k_request *r = of->request;
    return r->length <= TILE ? NULL : "a tile cannot hold a row";
}

static const char *unsuited_to_tile(const ndr_op_case *of)
{
    const tile t = tile_for(of->caps, of->request);
    if (t.group < SMALL_GROUP) return "its groups have too few items";
    return t.local_bytes <= of->caps->info.local_memory_bytes ? NULL : "the device has too little local memory";
}

static void plan_tile(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_top_k_request *r = of->request;
    const tile t = tile_for(of->caps, r);
    char more[64];
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(ndr_max_size(ndr_ceil_div(r->rows, t.rows), 1) * t.group, t.group),
                           .local_bytes = t.local_bytes };
    snprintf(more, sizeof more, " -DGROUP=%zu -DPER_ITEM=%zu", t.group, t.per_item);
    ndr_top_k_print_options(r, more, plan->options);
}

static ndr_status launch_tile(ndr_op_job *job)
{
    const ndr_top_k_request *r = job->of.request;
    const tile t = tile_for(job->of.caps, r);
    unsigned owner_bits = 0;
    NDR_TRY(ndr_sort_check_words(job, "ndr_top_k", r->value_bytes, t.per_item));
    while (t.rows > 1 && (size_t)1 << owner_bits < t.group * t.per_item) ++owner_bits;
    return ndr_op_launch(job, job->kernel, job->plan.range, ndr_operand_arg(&r->keys), r->keys.offset, r->rows,
                         (unsigned)r->length, (unsigned)t.rows, r->k, ndr_sort_flip_arg(&r->order), r->order.bits,
                         owner_bits, STORE_ARGS(r));
}

static NDR_OP_VARIANT(top_k, tile, "top_k_tile", 0, .cannot = cannot_in_tile, .unsuited = unsuited_to_tile,
                      .plan = plan_tile, .launch = launch_tile);

/* ---- the list ---- */

static const ndr_op_variant *const variants[] = { &ndr_top_k_chunks, &ndr_top_k_tile };

/* Each key is read once, and k elements of each row are stored. */
static ndr_op_work work_of(const void *request)
{
    const ndr_top_k_request *r = request;
    const uint64_t stored = (uint64_t)r->rows * r->k;
    return (ndr_op_work){ (uint64_t)r->keys.cols * r->keys.element_bytes + r->top_keys.cols * r->keys.element_bytes
                              + 2 * stored * r->value_bytes + r->top_indexes.cols * sizeof(uint64_t),
                          0 };
}

const ndr_operation ndr_top_k_operation = { "top_k", variants, NDR_COUNT_OF(variants), NULL, work_of };

/* The second launch on CPUs reads the candidates by one core for each row. */
bool ndr_top_k_is_whole(const ndr_caps *caps, const ndr_top_k_request *r)
{
    enum { PER_CANDIDATE = 64 };
    const size_t parts = parts_of(caps, r);
    if (!ndr_has_vectors(caps)) return r->length <= TILE;
    return r->rows >= caps->info.compute_units || r->length <= TILE || r->k * parts <= r->length / PER_CANDIDATE;
}
