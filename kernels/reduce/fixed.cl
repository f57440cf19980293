/* fixed.cl - reduces floats in an order that their number alone determines: the same bits on every device.
 *
 *   input    | block 0 | block 1 | ...                  4096 elements each; the last has those that are left
 *   a block  | strip 0 | strip 1 | strip 2 | strip 3 |  16 rows of 64 elements each: a column is combined from the
 *                                                       first row on, then the strips of a column from the first on
 *   columns  0 and 32, 1 and 33 ..., then 0 and 16, 1 and 17 ..., until one is left
 *
 * The results of blocks are the input of another launch, until one is left. Elements that are missing in the last block
 * change nothing. On CPUs an item has a block; elsewhere a group does, and its items have LANES columns of a strip each.
 *
 * Nothing is contracted. Minima and maxima are of ranks, integers in the order of the floats.
 */
#include "join.clh"
#include "ndr/nd_item.clh"
#include "ndr/detail/fetch.h"

#pragma OPENCL FP_CONTRACT OFF

/* Defaults, so that the file compiles alone; the library sets others. */
#ifndef REAL
#define REAL float /* of an element */
#endif
#ifndef OP_NAME
#define OP_NAME SUM
#endif
#ifndef IS_DOT
#define IS_DOT 0
#endif
#ifndef GROUP
#define GROUP 64 /* items of a group; 1: on CPUs */
#endif
#ifndef FLUSHES
#define FLUSHES 0 /* 1: the device takes subnormal floats for 0 */
#endif
#ifndef FETCH_AHEAD
#define FETCH_AHEAD 0 /* 1 on CPUs */
#endif

#define STRIPS 4
#define ROWS 16
#define COLUMNS 64
#define STRIP (ROWS * COLUMNS)
#define BLOCK (STRIPS * STRIP)
#define VECTORS (COLUMNS / LANES)
#define SCRATCH (GROUP == 1 ? 1 : STRIPS * COLUMNS) /* elements of local memory */
#if GROUP == 64
#define LANES 4
#else
#define LANES 16 /* GROUP is 16, or 1 */
#endif

/* ---- what is combined ---- */

#define WORD_float uint
#define WORD_double ulong
#define RANK_float int
#define RANK_double long
#define WORD JOIN(WORD_, REAL)
#define RANK JOIN(RANK_, REAL)
#define INFINITE_float 0x7f800000u
#define INFINITE_double 0x7ff0000000000000UL
#define INFINITE JOIN(INFINITE_, REAL)
#define NEITHER (INFINITE | (INFINITE & -INFINITE) >> 1) /* a quiet NaN */
#define SIGN_BIT ((WORD)1 << (8 * sizeof(WORD) - 1))

/* T is what is combined, PAD an element that changes nothing, NEUTRAL the same as a T. */
#define ONE_float 0x3f800000u
#define ONE_double 0x3ff0000000000000UL
#define IS_RANKED_SUM 0
#define IS_RANKED_PRODUCT 0
#define IS_RANKED_MIN 1
#define IS_RANKED_MAX 1
#define PAD_SUM 0
#define PAD_PRODUCT JOIN(ONE_, REAL)
#define PAD_MIN NEITHER
#define PAD_MAX NEITHER
#define NEUTRAL_SUM 0
#define NEUTRAL_PRODUCT JOIN(ONE_, REAL)
#define NEUTRAL_MIN (SIGN_BIT - 1)
#define NEUTRAL_MAX SIGN_BIT
#define COMBINE_SUM(a, b) ((a) + (b))
#define COMBINE_PRODUCT(a, b) ((a) * (b))
#define COMBINE_MIN(a, b) min(a, b)
#define COMBINE_MAX(a, b) max(a, b)
#define OF_OP2(name, op) name##op /* like JOIN(), which a macro that it makes may contain */
#define OF_OP1(name, op) OF_OP2(name, op)
#define OF_OP(name) OF_OP1(name, OP_NAME)
#define NEUTRAL ((WORD)OF_OP(NEUTRAL_))

#if OF_OP(IS_RANKED_)
#define T RANK
#else
#define T REAL
#endif
#define V JOIN(T, LANES)
#define W JOIN(WORD, LANES)
#define R JOIN(RANK, LANES)
#define AS(type, x) JOIN(as_, type)(x)

#if FLUSHES

/* A float that may be subnormal, times 2^64; and back. */
static inline float scale_up(const float x)
{
    const uint size = as_uint(x) & 0x7fffffff;
    const float small = (float)size * 0x1p-85f;
    return size < 0x00800000 ? (as_int(x) < 0 ? -small : small) : x * 0x1p64f;
}

static inline float scale_down(const float x)
{
    const uint sign = as_uint(x) & 0x80000000;
    return fabs(x) < 0x1p-62f ? as_float(sign | (uint)(fabs(x) * 0x1p85f)) : x * 0x1p-64f;
}

/* a + b with subnormal numbers, by a device that flushes them. If a or b is at least 2^-60, they do not matter. */
static inline float combine(const float a, const float b)
{
    const uint size = max(as_uint(a) & 0x7fffffff, as_uint(b) & 0x7fffffff);
    return size >= 0x21800000 ? a + b : scale_down(scale_up(a) + scale_up(b));
}

static inline V combine_vectors(const V a, const V b)
{
    float x[LANES], y[LANES];
    JOIN(vstore, LANES)(a, 0, x);
    JOIN(vstore, LANES)(b, 0, y);
    for (uint k = 0; k < LANES; ++k) x[k] = combine(x[k], y[k]);
    return JOIN(vload, LANES)(0, x);
}

#else
#define combine(a, b) OF_OP(COMBINE_)(a, b)
#define combine_vectors(a, b) OF_OP(COMBINE_)(a, b)
#endif

/* ---- elements ---- */

/* `second` has factors of a dot product's first launch; otherwise it is NULL. */
#define INPUT global const WORD *first, global const WORD *second, const ulong count
#define INPUT_VALUES first, second, count

/* What elements are combined as; those of a later launch are combined already. */
static inline V value_of(const W x, const W y, const bool is_later)
{
#if OF_OP(IS_RANKED_)
    const R rank = AS(R, x) ^ AS(R, AS(W, AS(R, x) >> (8 * sizeof(WORD) - 1)) & (SIGN_BIT - 1));
    const R is_nan = AS(R, (x & (SIGN_BIT - 1)) > (WORD)INFINITE);
    return is_later ? AS(R, x) : (rank & ~is_nan) | ((RANK)NEUTRAL & is_nan);
#elif IS_DOT
    if (!is_later) return AS(V, x) * AS(V, y);
#endif
    return AS(V, x);
}

typedef struct __attribute__((packed)) anywhere {
    W v;
} anywhere;

static inline W load_whole(global const WORD *x)
{
#if GROUP == 1
    return ((global const anywhere *)x)->v;
#else
    return (size_t)x % sizeof(W) == 0 ? *(global const W *)x : JOIN(vload, LANES)(0, x);
#endif
}

static inline W load(global const WORD *x, const ulong i, const ulong count, const bool is_later)
{
    if (i + LANES <= count) return load_whole(x + i);
    WORD lane[LANES];
    for (uint k = 0; k < LANES; ++k) lane[k] = i + k < count ? x[i + k] : is_later ? NEUTRAL : (WORD)OF_OP(PAD_);
    return JOIN(vload, LANES)(0, lane);
}

static inline V value_at(INPUT, const ulong i, const bool is_later)
{
    const W x = load(first, i, count, is_later);
#if IS_DOT
    return value_of(x, is_later ? x : load(second, i, count, is_later), is_later);
#else
    return value_of(x, x, is_later);
#endif
}

static inline void fetch_ahead(global const WORD *x)
{
#if FETCH_AHEAD
    global const char *const far = (global const char *)x + NDR_FETCH_BYTES_;
    for (uint byte = 0; byte < COLUMNS * sizeof(WORD); byte += NDR_FETCH_EVERY_) NDR_FETCH_(far + byte, 0, 2);
#endif
    (void)x;
}

/* ---- a block ---- */

#if GROUP == 1

static inline T fold_columns(V *v)
{
    T lane[LANES];
#pragma unroll
    for (uint width = VECTORS / 2; width > 0; width /= 2)
#pragma unroll
        for (uint j = 0; j < width; ++j) v[j] = combine_vectors(v[j], v[j + width]);
    JOIN(vstore, LANES)(v[0], 0, lane); /* through an array: the fault vector_part_uninitialised */
#pragma unroll
    for (uint width = LANES / 2; width > 0; width /= 2)
#pragma unroll
        for (uint j = 0; j < width; ++j) lane[j] = combine(lane[j], lane[j + width]);
    return lane[0];
}

static inline T fold_block(INPUT, ulong i, const bool is_later, local T *scratch)
{
    V total[VECTORS];
    for (uint j = 0; j < VECTORS; ++j) total[j] = AS(V, (W)NEUTRAL);
    for (uint strip = 0; strip < STRIPS; ++strip) {
        V row[VECTORS];
#pragma unroll
        for (uint j = 0; j < VECTORS; ++j) row[j] = AS(V, (W)NEUTRAL);
        for (uint r = 0; r < ROWS; ++r, i += COLUMNS) {
            fetch_ahead(first + i);
            if (IS_DOT && !is_later) fetch_ahead(second + i);
#pragma unroll
            for (uint j = 0; j < VECTORS; ++j) {
                const V x = value_at(INPUT_VALUES, i + j * LANES, is_later);
                row[j] = combine_vectors(row[j], x);
            }
        }
#pragma unroll
        for (uint j = 0; j < VECTORS; ++j) total[j] = combine_vectors(total[j], row[j]);
    }
    return fold_columns(total);
}

#else

/* The first item gets the result. Always inlined: the fault shared_local_array. */
static inline __attribute__((always_inline)) T fold_block(INPUT, const ulong i, const bool is_later, local T *scratch)
{
    const uint id = get_local_id(0), strip = id / (COLUMNS / LANES), column = id % (COLUMNS / LANES) * LANES;
    V row = AS(V, (W)NEUTRAL);
#pragma unroll
    for (uint r = 0; r < ROWS; ++r) {
        const V x = value_at(INPUT_VALUES, i + strip * STRIP + r * COLUMNS + column, is_later);
        row = combine_vectors(row, x);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    JOIN(vstore, LANES)(row, 0, scratch + strip * COLUMNS + column);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint c = id; c < COLUMNS; c += GROUP) {
        T total = AS(T, NEUTRAL);
        for (uint s = 0; s < STRIPS; ++s) total = combine(total, scratch[s * COLUMNS + c]);
        scratch[c] = total;
    }
    for (uint width = COLUMNS / 2; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint c = id; c < width; c += GROUP) scratch[c] = combine(scratch[c], scratch[c + width]);
    }
    return scratch[0];
}

#endif

/* The bits that are stored of the combined elements. */
static inline WORD finish(const T x, const bool is_empty)
{
    const WORD bits = AS(WORD, x);
#if OF_OP(IS_RANKED_)
    if (bits == NEUTRAL) return !is_empty ? NEITHER : NEUTRAL == SIGN_BIT ? INFINITE | SIGN_BIT : INFINITE;
    return bits & SIGN_BIT ? bits ^ (SIGN_BIT - 1) : bits;
#else
    return (bits & (SIGN_BIT - 1)) > INFINITE ? NEITHER : bits;
#endif
}

/* Store the result of each block of this group: one for each block, or, if there is one block, the final one. */
static inline __attribute__((always_inline)) void fold_blocks(INPUT, const ulong blocks, const bool is_later,
                                                              local T *scratch, global WORD *results)
{
    const ulong g = get_group_id(0), each = blocks / get_num_groups(0), more = blocks % get_num_groups(0);
    const ulong begin = g * each + min(g, more), end = begin + each + (g < more);
    for (ulong b = begin; b < end; ++b) {
        const T x = fold_block(INPUT_VALUES, b * BLOCK, is_later, scratch);
        if (get_local_id(0) == 0) results[b] = blocks == 1 ? finish(x, count == 0) : AS(WORD, x);
    }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_fixed(global const WORD *input, ulong offset, global const WORD *factors, ulong factors_offset, ulong count,
             ulong blocks, global WORD *results, ulong results_offset, NDR_ND_RANGE(1))
{
    local T scratch[SCRATCH];
    fold_blocks(input + offset, factors + factors_offset, count, blocks, false, scratch, results + results_offset);
}

/* The later launches, of what the one before stored. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_fixed_results(global const WORD *input, ulong offset, ulong count, ulong blocks, global WORD *results,
                     ulong results_offset, NDR_ND_RANGE(1))
{
    local T scratch[SCRATCH];
    fold_blocks(input + offset, input, count, blocks, true, scratch, results + results_offset);
}
