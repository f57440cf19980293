/* chunks.cl - reductions of expressions on CPUs, by groups of one item.
 *
 * The lanes lie along the reduced dimension, and are combined in the end; or along a kept one, and have a result each. In
 * both cases their loop reads neighbouring elements, if the inputs have any, and becomes vector instructions: not for
 * elements of the caller's type, nor for an expression that calls a function.
 *
 * Results in parts are combined by the last group, with IN_ONE_LAUNCH; otherwise by a second launch. */
#ifndef ALONG_REDUCED
#define ALONG_REDUCED 1
#endif
#ifndef IS_NARROW
#define IS_NARROW 0
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
#define ALIGNED __attribute__((aligned(64)))
/* Loops of constant length have as many vectors as that has, and so no loop: their lanes are kept in registers. */
#define VECTOR_LOOP _Pragma("clang loop unroll(disable) vectorize_width(16) interleave_count(1)")
#define PAIR_LOOP _Pragma("clang loop unroll(disable) vectorize_width(16) interleave_count(2)")
#if (ALONG_REDUCED || IS_NARROW) && LANES == 128
#define LANE_LOOP _Pragma("clang loop unroll(disable) vectorize_width(16) interleave_count(8)")
#elif LANES >= 64
#define LANE_LOOP _Pragma("clang loop unroll(disable) vectorize_width(16) interleave_count(4)")
#elif LANES == 32
#define LANE_LOOP PAIR_LOOP
#else
#define LANE_LOOP VECTOR_LOOP
#endif
#pragma clang diagnostic ignored "-Wpass-failed"
#include "once.clh"
#include "map_reduce/values.clh"
#include "ndr/detail/fetch.h"
#if IN_ONE_LAUNCH
#include "reduce/last_group.clh"
#endif

/* Prefetch `bytes` behind p; addresses past the end are harmless. */
static inline void ndr_fetch(global const char *p, const uint bytes)
{
#if FETCH_AHEAD
    for (uint byte = 0; byte < bytes; byte += NDR_PREFETCH_EVERY_) NDR_PREFETCH_(p + NDR_PREFETCH_BYTES_ + byte, 0, 2);
#endif
    (void)p, (void)bytes;
}

/* ---- steps ---- */

#define A(k) to->v##k[l]
#define B(k) e##k
#define TAKE(j)                                                                                                        \
    {                                                                                                                  \
        const ulong r1 = first + (j) * STEP;                                                                           \
        EACH(EVALUATE) EACH(INTO)                                                                                      \
    }
/* A neutral element instead, so that a vector takes elements of some lanes only. */
#define CHOOSE_NEUTRAL(k) ndr_t##k e##k = NEUTRAL_##k;
#define REPLACE(k) e##k = ndr_value_##k(INPUT_VALUES, k0, k1 + l * LANE_KEPT, r0, r1 + l * LANE_REDUCED);
#define TAKE_IF(j, condition)                                                                                          \
    {                                                                                                                  \
        const ulong r1 = first + (j) * STEP;                                                                           \
        EACH(CHOOSE_NEUTRAL)                                                                                           \
        if (condition) { EACH(REPLACE) }                                                                               \
        EACH(INTO)                                                                                                     \
    }
#define EACH_OF_8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

/* take_together() combines TOGETHER steps into n lanes from k0, k1 on, and take_rest() up to REST elements before `stop`,
 * less than those. */
#if ALONG_REDUCED
#define TOGETHER 1
#define REST (LANES < 16 ? LANES : 16)
static inline void take_together(lanes *to, const uint n, INPUT, const ulong k0, const ulong k1, const ulong r0,
                                 const ulong first)
{
    LANE_LOOP for (uint l = 0; l < LANES; ++l) { TAKE(0) }
    (void)n;
}
static inline void take_rest(lanes *to, const uint n, INPUT, const ulong k0, const ulong k1, const ulong r0,
                             const ulong first, const ulong stop)
{
    const uint left = (uint)min(stop - first, (ulong)REST);
    VECTOR_LOOP for (uint l = 0; l < REST; ++l) { TAKE_IF(0, l < left) }
    (void)n;
}

#elif IS_NARROW
#define TOGETHER 1
#define REST 1
static inline void take_together(lanes *to, const uint n, INPUT, const ulong k0, const ulong k1, const ulong r0,
                                 const ulong first)
{
    LANE_LOOP for (uint l = 0; l < LANES; ++l) { TAKE_IF(0, l < n) }
}
#define take_rest(...) /* there is none */

#else
#define TOGETHER 8 /* so lanes in memory are loaded and stored once for 8 elements */
#define REST 1
#define TAKE_IF_IN(j) TAKE_IF(j, l < n)
static inline void take_together(lanes *to, const uint n, INPUT, const ulong k0, const ulong k1, const ulong r0,
                                 const ulong first)
{
    const uint whole = n & ~15u;
    VECTOR_LOOP for (uint l = 0; l < whole; ++l) { EACH_OF_8(TAKE) }
    if (whole == n) return;
    VECTOR_LOOP for (uint i = 0; i < 16; ++i)
    {
        const uint l = whole + i;
        EACH_OF_8(TAKE_IF_IN)
    }
}
static inline void take_rest(lanes *to, const uint n, INPUT, const ulong k0, const ulong k1, const ulong r0,
                             const ulong first, const ulong stop)
{
    LANE_LOOP for (uint l = 0; l < n; ++l) { TAKE(0) }
    (void)stop;
}
#endif
#undef A
#undef B

static inline void count_steps(sums *s, const uint n, const uint steps)
{
    s->steps += steps;
    if (s->steps > ROW - TOGETHER) end_row(s, n);
}

/* Combine the reduced indexes r1 to stop of a row, for n lanes from k0, k1 on. */
static inline void reduce_row(sums *s, const uint n, INPUT, const ulong k0, const ulong k1, const ulong r0, ulong r1,
                              const ulong stop)
{
    while (stop - r1 >= TOGETHER * STEP) {
        const uint turns = min((stop - r1) / (TOGETHER * STEP), (ulong)((ROW - s->steps) / TOGETHER));
        for (const ulong until = r1 + turns * (TOGETHER * STEP); r1 < until; r1 += TOGETHER * STEP) {
#if ALONG_REDUCED || IS_NARROW
            FETCH_INPUTS(k0, k1, r0, r1);
#endif
            take_together(&s->row, n, INPUT_VALUES, k0, k1, r0, r1);
        }
        count_steps(s, n, turns * TOGETHER);
    }
    for (; r1 < stop; r1 += REST) {
        take_rest(&s->row, n, INPUT_VALUES, k0, k1, r0, r1, stop);
        count_steps(s, n, 1);
    }
}

/* Into s->total. */
static inline void reduce_extent(sums *s, INPUT, const ulong k0, const ulong k1, const uint n, const extent *e,
                                 const ulong row)
{
    open_sums(s, ALONG_REDUCED || IS_NARROW ? LANES : (n + 15) & ~15u); /* vectors also take lanes behind the n-th */
    for (ulong r = e->begin; r < e->end;) {
        const ulong r0 = r < row ? 0 : r / row, first = r - r0 * row, stop = min(row, first + (e->end - r));
        reduce_row(s, n, INPUT_VALUES, k0, k1, r0, first, stop);
        r += stop - first;
    }
    close_sums(s, n);
}

/* Lanes of `total` have a part of n results, from index k of all that are kept on. */
static inline void put_lanes(INPUT, SIZES, const lanes *total, const uint n, const ulong k, const ulong part,
                             const bool is_empty)
{
    const ulong k0 = k < inner ? 0 : k / inner, k1 = k - k0 * inner;
    global ndr_r *const partials = partials_in(workspace) + part * kept + k;
    if (parts > 1) {
        for (uint l = 0; l < n; ++l) {
            ndr_r r;
            get_lane(total, l, &r);
            partials[l] = r;
        }
        return;
    }
    LANE_LOOP for (uint l = 0; l < n; ++l)
    {
        ndr_r r;
        get_lane(total, l, &r);
        put(INPUT_VALUES, k0, k1 + l, is_empty, &r);
    }
    (void)count, (void)row, (void)span, (void)offsets, (void)offsets_at;
}

/* Combine the parts of n results, from index k on. */
static inline void combine_parts(INPUT, SIZES, const ulong k, const uint n)
{
    sums s;
    open_sums(&s, n);
    for (ulong part = 0; part < parts; ++part) {
        global const ndr_r *const from = partials_in(workspace) + part * kept + k;
        lanes *const to = &s.row;
#define A(k) to->v##k[l]
#define B(k) MEMBER_##k(from[l])
        LANE_LOOP for (uint l = 0; l < n; ++l) { EACH(INTO) }
#undef A
#undef B
        if (++s.steps == ROW) end_row(&s, n);
    }
    close_sums(&s, n);
    for (ulong l = 0; l < n; ++l) {
        const ulong k0 = k + l < inner ? 0 : (k + l) / inner;
        ndr_r r;
        extent e;
        get_lane(&s.total, l, &r);
        find_extent(&e, SIZES_VALUES, k + l, 0, 1);
        put(INPUT_VALUES, k0, k + l - k0 * inner, e.is_empty, &r);
    }
}

/* ---- kernels ---- */

ONCE void reduce_group(INPUT, SIZES, const uint slot, const ulong group, const ulong groups)
{
    const ulong block = group / parts, part = group - block * parts;
    sums s;
#if IN_ONE_LAUNCH
    global uint *const mine = open_slot_in(group, workspace, slot);
#endif
#if ALONG_REDUCED
    for (ulong k = block * span; k < min(kept, block * span + span); ++k) {
        extent e;
        find_extent(&e, SIZES_VALUES, k, part, STEP);
        const ulong k0 = k < inner ? 0 : k / inner;
        reduce_extent(&s, INPUT_VALUES, k0, k - k0 * inner, LANES, &e, row);
        fold(&s.total);
        put_lanes(INPUT_VALUES, SIZES_VALUES, &s.total, 1, k, part, e.is_empty);
    }
#else
    const ulong blocks = (inner + LANES - 1) / LANES, k0 = block / blocks, k1 = (block - k0 * blocks) * LANES;
    const uint n = (uint)min((ulong)LANES, inner - k1);
    extent e;
    find_extent(&e, SIZES_VALUES, 0, part, STEP);
    reduce_extent(&s, INPUT_VALUES, k0, k1, n, &e, row);
    put_lanes(INPUT_VALUES, SIZES_VALUES, &s.total, n, k0 * inner + k1, part, e.is_empty);
#endif
#if IN_ONE_LAUNCH
    if (parts == 1 || !is_last_of(groups, mine)) return;
    for (ulong k = 0; k < kept; k += LANES)
        combine_parts(INPUT_VALUES, SIZES_VALUES, k, (uint)min((ulong)LANES, kept - k));
#endif
    (void)slot, (void)groups;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void map_reduce_chunks(INPUT, SIZES, const uint slot,
                                                                             NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    reduce_group(INPUT_VALUES, SIZES_VALUES, slot, ndr_group_id(g, 0), ndr_group_range(g, 0));
}

#if !IN_ONE_LAUNCH
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void map_reduce_chunk_parts(INPUT, SIZES, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ulong k = ndr_group_id(ndr_get_group(it), 0) * LANES;
    combine_parts(INPUT_VALUES, SIZES_VALUES, k, (uint)min((ulong)LANES, kept - k));
}
#endif
