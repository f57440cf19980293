/* chunks.cl - reductions of expressions on CPUs, by groups of one item.
 *
 * The lanes lie along the reduced dimension, and are combined in the end; or along a kept one, and have a result each. In
 * both cases their loop reads neighbouring elements, if the inputs have any, and becomes vector instructions: not for
 * elements of the caller's type, nor for an expression that calls a function. */
#ifndef ALONG_REDUCED
#define ALONG_REDUCED 1
#endif
#if ALONG_REDUCED
#define LANE_KEPT 0
#define LANE_REDUCED 1
#define STEP LANES /* reduced indexes of a step */
#else
#define LANE_KEPT 1
#define LANE_REDUCED 0
#define STEP 1
#endif
/* Interleaved as far as the loop is long: a shorter one would run without vectors. */
#if LANES >= 128 || (LANES == 64 && ALONG_REDUCED)
#define LANE_LOOP _Pragma("clang loop unroll(disable) vectorize_width(16) interleave_count(4)")
#elif LANES == 32 && ALONG_REDUCED
#define LANE_LOOP _Pragma("clang loop unroll(disable) vectorize_width(16) interleave_count(2)")
#else
#define LANE_LOOP _Pragma("clang loop unroll(disable) vectorize_width(16) interleave_count(1)")
#endif
#pragma clang diagnostic ignored "-Wpass-failed"
#include "map_reduce/values.clh"
#include "ndr/detail/fetch.h"

/* Prefetch `bytes` at NDR_PREFETCH_BYTES_ behind p; addresses past the end are harmless. */
static inline void ndr_fetch(global const char *p, const uint bytes)
{
#if FETCH_AHEAD
    for (uint byte = 0; byte < bytes; byte += NDR_PREFETCH_EVERY_) NDR_PREFETCH_(p + NDR_PREFETCH_BYTES_ + byte, 0, 2);
#endif
    (void)p, (void)bytes;
}

/* Combine the reduced indexes first to stop of a row, for n lanes from k0, k1 on. Along the reduced dimension what is
 * left of the last step goes into `rest`: all lanes have constant numbers, so they are kept in registers. */
static inline void reduce_row(sums *s, lanes *rest, const uint n, INPUT, const ulong k0, const ulong k1, const ulong r0,
                              const ulong first, const ulong stop)
{
    ulong r1 = first;
    while (stop - r1 >= STEP) {
        const ulong steps = min((stop - r1) / STEP, (ulong)(ROW - s->steps)), until = r1 + steps * STEP;
        for (; r1 < until; r1 += STEP) {
#if ALONG_REDUCED
            FETCH_INPUTS(k0, k1, r0, r1);
#endif
            take(&s->row, n, INPUT_VALUES, k0, k1, r0, r1);
        }
        s->steps += (uint)steps;
        if (s->steps == ROW) end_row(s, n);
    }
#if LANES > 16
    for (; ALONG_REDUCED && stop - r1 >= 16; r1 += 16) take(rest, 16, INPUT_VALUES, k0, k1, r0, r1);
#endif
    for (; r1 < stop; ++r1) take(rest, 1, INPUT_VALUES, k0, k1, r0, r1);
}

static inline void reduce_extent(INPUT, const ulong k0, const ulong k1, const uint n, const extent *e, const ulong row,
                                 lanes *total)
{
    sums s;
    lanes rest;
    open_sums(&s, n);
    if (ALONG_REDUCED) clear(&rest, LANES);
    for (ulong r = e->begin; r < e->end;) {
        const ulong r0 = r / row, first = r - r0 * row, stop = min(row, first + (e->end - r));
        reduce_row(&s, &rest, n, INPUT_VALUES, k0, k1, r0, first, stop);
        r += stop - first;
    }
    close_sums(&s, n);
    if (ALONG_REDUCED) add(&s.total, &rest, LANES);
    *total = s.total;
}

/* Lanes of `total` have a part of n results, from index k of all that are kept on. */
static inline void put_lanes(INPUT, SIZES, const lanes *total, const uint n, const ulong k, const ulong part,
                             const bool is_empty)
{
    const ulong k0 = k / inner, k1 = k - k0 * inner;
    global ndr_r *const partials = partials_in(workspace) + part * kept + k;
    if (parts > 1) {
        for (uint l = 0; l < n; ++l) {
            ndr_r r;
            get_lane(total, l, &r);
            partials[l] = r;
        }
        return;
    }
    LANE_LOOP for (uint l = 0; l < n; ++l) {
        ndr_r r;
        get_lane(total, l, &r);
        put(INPUT_VALUES, k0, k1 + l, is_empty, &r);
    }
    (void)count, (void)row, (void)span, (void)offsets, (void)offsets_at;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void map_reduce_chunks(INPUT, SIZES, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ulong group = ndr_group_id(ndr_get_group(it), 0), block = group / parts, part = group - block * parts;
    lanes total;
#if ALONG_REDUCED
    for (ulong k = block * span; k < min(kept, block * span + span); ++k) {
        extent e;
        find_extent(&e, SIZES_VALUES, k, part, STEP);
        const ulong k0 = k / inner;
        reduce_extent(INPUT_VALUES, k0, k - k0 * inner, LANES, &e, row, &total);
        fold(&total);
        put_lanes(INPUT_VALUES, SIZES_VALUES, &total, 1, k, part, e.is_empty);
    }
#else
    const ulong blocks = (inner + LANES - 1) / LANES, k0 = block / blocks, k1 = (block - k0 * blocks) * LANES;
    const uint n = (uint)min((ulong)LANES, inner - k1);
    extent e;
    find_extent(&e, SIZES_VALUES, 0, part, STEP);
    reduce_extent(INPUT_VALUES, k0, k1, n, &e, row, &total);
    put_lanes(INPUT_VALUES, SIZES_VALUES, &total, n, k0 * inner + k1, part, e.is_empty);
#endif
}

/* Combine the parts, with a lane for each result. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void map_reduce_chunk_parts(INPUT, SIZES, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ulong k = ndr_group_id(ndr_get_group(it), 0) * LANES;
    const uint n = (uint)min((ulong)LANES, kept - k);
    global const ndr_r *const partials = partials_in(workspace) + k;
    sums s;
    open_sums(&s, n);
    for (ulong part = 0; part < parts; ++part) {
#define A(k) s.row.v##k[l]
#define B(k) MEMBER_##k(partials[part * kept + l])
        LANE_LOOP for (uint l = 0; l < n; ++l) { EACH(INTO) }
#undef A
#undef B
        if (++s.steps == ROW) end_row(&s, n);
    }
    close_sums(&s, n);
    for (uint l = 0; l < n; ++l) {
        ndr_r r;
        extent e;
        get_lane(&s.total, l, &r);
        find_extent(&e, SIZES_VALUES, k + l, 0, 1);
        put(INPUT_VALUES, (k + l) / inner, (k + l) % inner, e.is_empty, &r);
    }
}
