/* segments.c - sorts of segments: those of few keys in one launch, the others by passes, over pieces of segments.
 * kernels/sort/segments.clh describes how groups share them. */
#include "ops/sort/sort.h"

#include <stdio.h>

/* ---- both ---- */

/* How groups share `count` keys: pieces of `size` keys, and windows of half as many. */
typedef struct shares {
    size_t size, half, windows, pieces;
    bool has_short, has_long; /* perhaps */
} shares;

static shares shares_for(const ndr_sort_request *r, size_t size)
{
    shares s = { .size = size, .half = ndr_max_size(size / 2, 1) };
    const size_t rest = r->length ? r->count % r->length : 0;
    s.windows = ndr_max_size(ndr_ceil_div(r->count, s.half), 1);
    s.pieces = r->count / s.half;
    s.has_short = r->length <= s.half || (rest > 0 && rest <= s.half);
    s.has_long = r->count > s.half && (!r->length || r->length > s.half);
    return s;
}

/* As arguments. */
#define SEGMENTS(r) \
    ndr_operand_arg(&(r)->offsets), (r)->offsets.offset, (uint64_t)(r)->segments, (uint64_t)(r)->length, (r)->count

static void print_options(const ndr_sort_request *r, const char *more, char options[NDR_OPTIONS_SIZE])
{
    char all[64];
    snprintf(all, sizeof all, "-DBY_OFFSETS=%d%s", r->length == 0, more);
    ndr_sort_print_options(r, all, options);
}

/* ---- chunks ---- */

static shares chunks_for(const ndr_op_case *of)
{
    const ndr_sort_request *r = of->request;
    return shares_for(r, ndr_sort_chunk_for(of->caps, r->count));
}

static size_t chunk_counts(const shares *s) { return s->has_long ? s->pieces * NDR_SORT_DIGITS : 0; }

static void plan_chunks(const ndr_op_case *of, ndr_op_plan *plan)
{
    const shares s = chunks_for(of);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(s.windows, 1),
                           .workspace_bytes = ndr_sort_workspace_bytes(of->request, chunk_counts(&s)) };
    print_options(of->request, "", plan->options);
}

static ndr_status run_chunk_pass(ndr_op_job *job, const ndr_sort_pass *pass)
{
    const ndr_sort_request *r = job->of.request;
    const shares s = chunks_for(&job->of);
    const ndr_nd_range range = ndr_nd_range_1d(s.pieces, 1);
    const size_t counts = NDR_SORT_COUNTS_OFFSET;
    NDR_TRY(ndr_op_launch(job, job->others[0], range, ndr_operand_arg(&pass->from.keys), pass->from.keys.offset,
                          SEGMENTS(r), s.size, ndr_sort_flip_arg(r), pass->shift, pass->bits, ndr_op_workspace_arg(job),
                          counts));
    return ndr_op_launch(job, job->others[1], range, NDR_SORT_ARGS(pass->from), NDR_SORT_ARGS(pass->to),
                         ndr_sort_words_arg(r), SEGMENTS(r), s.size, ndr_sort_flip_arg(r), pass->shift, pass->bits,
                         ndr_op_workspace_arg(job), counts);
}

static ndr_status launch_chunks(ndr_op_job *job)
{
    const ndr_sort_request *r = job->of.request;
    const shares s = chunks_for(&job->of);
    const ndr_sort_elements temp = ndr_sort_temp(job, chunk_counts(&s));
    if (s.has_short)
        NDR_TRY(ndr_op_launch(job, job->kernel, job->plan.range, NDR_SORT_ARGS(r->input), NDR_SORT_ARGS(r->output),
                              ndr_sort_words_arg(r), SEGMENTS(r), ndr_sort_flip_arg(r), r->begin_bit, r->bits,
                              ndr_sort_passes(r), NDR_SORT_ARGS(temp), s.size));
    return s.has_long ? ndr_sort_run_passes(job, chunk_counts(&s), run_chunk_pass) : NDR_OK;
}

static NDR_OP_VARIANT(sort, segment_chunks, "sort_short_segments", 0, .others = { "sort_count_pieces", "sort_pieces" },
                      .unsuited = ndr_op_lacks_vectors, .plan = plan_chunks, .launch = launch_chunks);

/* ---- tiles ---- */

/* With places and owners. Few keys take a small group. */
static ndr_sort_tile tile_for(const ndr_op_case *of)
{
    enum { PREFERRED_GROUP = 256, SMALL_GROUP = 64, FEW = 480 };
    const ndr_sort_request *r = of->request;
    return ndr_sort_tile_for(of->caps, r, r->count > FEW ? PREFERRED_GROUP : SMALL_GROUP, 2);
}

static shares tiles_for(const ndr_op_case *of)
{
    const ndr_sort_tile t = tile_for(of);
    return shares_for(of->request, t.group * t.per_item);
}

/* Of each piece, and of all. */
static size_t tile_counts(const shares *s) { return (s->pieces + 1) * NDR_SORT_DIGITS; }

static void plan_tiles(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_sort_tile t = tile_for(of);
    const shares s = tiles_for(of);
    char more[48];
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(s.windows * t.group, t.group),
                           .local_bytes = t.local_bytes,
                           .workspace_bytes =
                               s.has_long ? ndr_sort_workspace_bytes(of->request, tile_counts(&s)) : 0 };
    snprintf(more, sizeof more, " -DGROUP=%zu -DPER_ITEM=%zu", t.group, t.per_item);
    print_options(of->request, more, plan->options);
}

static ndr_status run_tile_pass(ndr_op_job *job, const ndr_sort_pass *pass)
{
    const ndr_sort_request *r = job->of.request;
    const size_t group = tile_for(&job->of).group, pieces = tiles_for(&job->of).pieces, counts = NDR_SORT_COUNTS_OFFSET;
    const ndr_nd_range range = ndr_nd_range_1d(pieces * group, group);
    NDR_TRY(ndr_op_launch(job, job->others[0], range, ndr_operand_arg(&pass->from.keys), pass->from.keys.offset,
                          SEGMENTS(r), ndr_sort_flip_arg(r), pass->shift, pass->bits, ndr_op_workspace_arg(job), counts));
    NDR_TRY(ndr_sort_add_counts(job, job->others[1], group, pieces, counts));
    return ndr_op_launch(job, job->others[2], range, NDR_SORT_ARGS(pass->from), NDR_SORT_ARGS(pass->to),
                         ndr_sort_words_arg(r), SEGMENTS(r), ndr_sort_flip_arg(r), pass->shift, pass->bits,
                         ndr_op_workspace_arg(job), counts);
}

/* The owner of a key is a place in the tile, before the half. None if each tile has one segment. */
static unsigned owner_bits(const ndr_sort_request *r, const shares *s)
{
    unsigned bits = 0;
    if (r->length >= s->half) return 0;
    while ((size_t)1 << bits < s->half) ++bits;
    return bits;
}

static ndr_status launch_tiles(ndr_op_job *job)
{
    const ndr_sort_request *r = job->of.request;
    const shares s = tiles_for(&job->of);
    const size_t per_item = tile_for(&job->of).per_item;
    NDR_TRY(ndr_sort_check_words(job, "ndr_sort", r->value_bytes, NDR_SORT_WHOLE_TURNS(per_item)));
    if (s.has_short)
        NDR_TRY(ndr_op_launch(job, job->kernel, job->plan.range, NDR_SORT_ARGS(r->input), NDR_SORT_ARGS(r->output),
                              ndr_sort_words_arg(r), SEGMENTS(r), ndr_sort_flip_arg(r), r->begin_bit, r->bits,
                              owner_bits(r, &s)));
    return s.has_long ? ndr_sort_run_passes(job, tile_counts(&s), run_tile_pass) : NDR_OK;
}

static NDR_OP_VARIANT(sort, segment_tiles, "sort_short_segments", 0,
                      .others = { "sort_count_pieces", "sort_add_piece_counts", "sort_pieces" }, .plan = plan_tiles,
                      .launch = launch_tiles);

/* ---- the list ---- */

static const ndr_op_variant *const variants[] = { &ndr_sort_segment_chunks, &ndr_sort_segment_tiles };

const ndr_operation ndr_sort_segments_operation = { "sort", variants, NDR_COUNT_OF(variants), NULL, ndr_sort_work_of };
