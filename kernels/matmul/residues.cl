/* residues.cl - C = alpha * A * B + beta * C in double, row-major, by products of bytes: Ozaki's scheme II (Ozaki, Uchino
 * and Imamura, 2025, arXiv 2504.08009).
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements.
 *
 * Rows of A and columns of B, the lines, are multiplied by powers of two and rounded to integers, so that the sums of
 * their products are less than half of the product P of some moduli. Modulo each of these a product of bytes gives the
 * sums' residues, and those give the sums (the Chinese remainder theorem). In order:
 *
 *   gemm_residues_sums     sums of magnitudes and squares of parts of lines
 *   gemm_residues_factors  the lines' powers of two, and their spread, from 0 for equal magnitudes to 1
 *   gemm_residues          residues of A and B, if the spreads prove that the errors of rounding are small enough
 *   (another row)          residues of C
 *   gemm_residues_join     C
 *
 * If they do not prove that, all but the first three launches end at once, and a last one multiplies A and B themselves. The
 * results are within the bounds of ndr_matmul(): docs/appendix/proofs.md. */
#include "matmul/residues.clh"
#include "ndr/detail/workspace.h"

#define ITEMS NDR_RESIDUES_ITEMS
#define GROUP_OF_ITEMS __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
#define LANES 32 /* neighbouring items, which read neighbouring elements */
#define SLICES (ITEMS / LANES)
#define STEPS NDR_RESIDUES_STEPS
#define LINES NDR_RESIDUES_LINES
#define BINS NDR_RESIDUES_BINS

/* The lines of a matrix, with the distances of their elements. */
typedef struct lines {
    global const double *x;
    ulong count, pitch, step_pitch;
} lines;

#define MATRICES                                                                                              \
    ulong m, ulong n, ulong k, global const double *restrict a, ulong a_offset, ulong a_pitch, ulong a_steps, \
        global const double *restrict b, ulong b_offset, ulong b_pitch, ulong b_steps

NDR_INLINE_ lines lines_of(global const double *x, ulong count, ulong pitch, ulong step_pitch)
{
    const lines all = { x, count, pitch, step_pitch };
    return all;
}

#define LINES_OF_A lines_of(a + a_offset, m, a_pitch, a_steps)
#define LINES_OF_B lines_of(b + b_offset, n, b_pitch, b_steps)

/* Elements outside are zeros. Without a branch, so that an item's loads are issued together. */
NDR_INLINE_ double element_at(const lines *all, ulong line, ulong step, ulong k)
{
    const double x = all->x[min(line, all->count - 1) * all->pitch + min(step, k - 1) * all->step_pitch];
    return line < all->count && step < k ? x : 0;
}

/* What a group works on: `height` lines, `width` steps. */
typedef struct place {
    bool is_a;
    ulong line, step;
} place;

NDR_INLINE_ place find_place(ulong m, ulong k, uint height, uint width)
{
    const uint group = (uint)get_group_id(0), across = (uint)((k + width - 1) / width), block = group / across;
    const uint blocks_of_a = (uint)((m + height - 1) / height);
    const bool is_a = block < blocks_of_a;
    const place at = { is_a, (ulong)(is_a ? block : block - blocks_of_a) * height, group % across * width };
    return at;
}

NDR_INLINE_ global uchar *behind_head(global uint *workspace, ulong offset)
{
    return (global uchar *)(workspace + NDR_WORKSPACE_HEAD) + offset;
}

/* ---- norms ---- */

#define PARTS_PITCH (LANES + 1)

/* Sums of magnitudes and of squares. Where steps are neighbours, an item has every 32nd step of some lines. */
NDR_INLINE_ void add_along(local double2 *parts, const lines *all, const place *at, ulong k)
{
    enum { SOME = NDR_RESIDUES_SUM_LINES / SLICES };
    const uint lane = get_local_id(0) % LANES, first = get_local_id(0) / LANES * SOME;
    double2 sums[SOME] = { 0 };
#pragma unroll
    for (uint i = 0; i < NDR_RESIDUES_CHUNK / LANES; ++i)
#pragma unroll
        for (uint j = 0; j < SOME; ++j) {
            const double x = element_at(all, at->line + first + j, at->step + lane + i * LANES, k);
            sums[j] += (double2)(fabs(x), x * x);
        }
#pragma unroll
    for (uint j = 0; j < SOME; ++j) parts[(first + j) * PARTS_PITCH + lane] = sums[j];
}

/* Where lines are neighbours, every 8th step of a line. */
NDR_INLINE_ void add_across(local double2 *parts, const lines *all, const place *at, ulong k)
{
    const uint lane = get_local_id(0) % LANES, slice = get_local_id(0) / LANES;
    double2 sum = 0;
#pragma unroll 16
    for (uint i = 0; i < NDR_RESIDUES_CHUNK / SLICES; ++i) {
        const double x = element_at(all, at->line + lane, at->step + slice + i * SLICES, k);
        sum += (double2)(fabs(x), x * x);
    }
    parts[lane * PARTS_PITCH + slice] = sum;
}

/* Over blocks of lines and chunks of their steps, a group each: those of A first. */
kernel GROUP_OF_ITEMS void gemm_residues_sums(MATRICES, global uint *restrict workspace, ulong sums_at)
{
    local double2 parts[NDR_RESIDUES_SUM_LINES * PARTS_PITCH];
    const place at = find_place(m, k, NDR_RESIDUES_SUM_LINES, NDR_RESIDUES_CHUNK);
    const lines all = at.is_a ? LINES_OF_A : LINES_OF_B;
    const bool is_along = all.step_pitch == 1;
    const uint count = is_along ? LANES : SLICES;
    if (is_along) add_along(parts, &all, &at, k);
    else add_across(parts, &all, &at, k);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint line = get_local_id(0);
    if (line >= NDR_RESIDUES_SUM_LINES || at.line + line >= all.count) return;
    double2 sum = 0;
    for (uint i = 0; i < count; ++i) sum += parts[line * PARTS_PITCH + i];
    ((global double2 *)behind_head(workspace, sums_at))[at.step / NDR_RESIDUES_CHUNK * (m + n) + (at.is_a ? 0 : m)
                                                        + at.line + line] = sum;
}

/* The largest power of two that makes the norm at most the root of NDR_RESIDUES_MOST. */
NDR_INLINE_ double find_factor(double squares)
{
    const int exponent = (int)(as_ulong(NDR_RESIDUES_MOST / squares) >> 52) - 1023;
    return as_double((ulong)((exponent >> 1) + 1023) << 52);
}

/* Of a power of two. */
NDR_INLINE_ double invert(double factor) { return as_double(0x7fe0000000000000ul - as_ulong(factor)); }

/* The least i / 255 that the spread is not above: the square of the sine of the line's angle to equal magnitudes. */
NDR_INLINE_ uint find_bin(double magnitudes, double squares, ulong k)
{
    const double spread = 1 - magnitudes * magnitudes / (squares * (double)k) + 0x1p-20;
    return (uint)min(ceil(max(spread, 0.0) * (BINS - 1)), (double)(BINS - 1));
}

/* Over the lines, those of A first. */
kernel GROUP_OF_ITEMS void gemm_residues_factors(ulong m, ulong n, ulong k, global uint *restrict workspace,
                                                 ulong sums_at, ulong factors_at, global uint *restrict words,
                                                 uint number)
{
    const ulong line = get_global_id(0), chunks = (k + NDR_RESIDUES_CHUNK - 1) / NDR_RESIDUES_CHUNK;
    global const double2 *const sums = (global const double2 *)behind_head(workspace, sums_at);
    double2 sum = 0;
    if (line >= m + n) return;
#pragma unroll 8
    for (ulong i = 0; i < chunks; ++i) sum += sums[i * (m + n) + line];
    const bool is_zero = sum.x == 0, is_taken = sum.y >= 0x1p-800 && sum.y <= 0x1p800; /* not NaN */
    const uint bin = is_zero ? 0 : is_taken ? find_bin(sum.x, sum.y, k) : BINS - 1;
    global uint *const word = words + (line < m ? 0 : BINS) + bin;
    ((global double *)behind_head(workspace, factors_at))[line] = is_taken ? find_factor(sum.y) : 1;
    if (*word != number) *word = number;
}

/* ---- residues ---- */

/* The least cosine of the angle between a line of A and one of B, by magnitudes, that keeps the error within the bound,
 * and a bit more. */
NDR_INLINE_ float least_cosine(ulong k)
{
    return (float)(2.0001 * 0x1p52 / sqrt((double)k * NDR_RESIDUES_MOST)) + 1e-5f;
}

/* Whether the greatest spreads of A and B prove the bound: no two lines' angle is above the sum of their angles to equal
 * magnitudes. The whole group calls it. */
NDR_INLINE_ bool is_proved(global const uint *words, uint number, ulong k, local uint *greatest)
{
    const uint item = get_local_id(0);
    if (item < 2) greatest[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < 2 * BINS; i += ITEMS)
        if (words[i] == number) atomic_max(&greatest[i / BINS], i % BINS);
    barrier(CLK_LOCAL_MEM_FENCE);
    const float x = (float)greatest[0] / (BINS - 1), y = (float)greatest[1] / (BINS - 1);
    return max(greatest[0], greatest[1]) < BINS - 1 && sqrt((1 - x) * (1 - y)) - sqrt(x * y) >= least_cosine(k);
}

#define BLOCK_PITCH (LINES + 1)

/* An item's elements as integers below 2^63: VALUES of two lines, SLICES apart, four steps each, LANES apart. */
#define VALUES (LINES * STEPS / ITEMS)
NDR_INLINE_ void load_along(ulong *y, const lines *all, const place *at, ulong k, global const double *factors)
{
    const uint lane = get_local_id(0) % LANES, slice = get_local_id(0) / LANES;
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) {
        const ulong line = at->line + slice + i / 4 * SLICES, step = at->step + lane + i % 4 * LANES;
        y[i] = as_ulong(convert_long_rte(element_at(all, line, step, k) * factors[min(line, all->count - 1)]));
    }
}

/* The same where lines are neighbours, through local memory. The whole group calls it, and again without a barrier. */
NDR_INLINE_ void load_across(ulong *y, const lines *all, const place *at, ulong k, global const double *factors,
                             local ulong *block)
{
    const uint lane = get_local_id(0) % LANES, slice = get_local_id(0) / LANES;
    const uint of_line = get_local_id(0) % LINES, first = get_local_id(0) / LINES;
    const ulong line = at->line + of_line;
    const double factor = factors[min(line, all->count - 1)];
    double x[VALUES];
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) x[i] = element_at(all, line, at->step + first + i * (ITEMS / LINES), k);
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < VALUES; ++i)
        block[(first + i * (ITEMS / LINES)) * BLOCK_PITCH + of_line] = as_ulong(convert_long_rte(x[i] * factor));
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) y[i] = block[(lane + i % 4 * LANES) * BLOCK_PITCH + slice + i / 4 * SLICES];
}

/* The low byte is a residue of a number to which 2^63 was added. */
#define RESIDUE(p, low, high)                                                                                         \
    reduce_word(add_bytes(low, RESIDUES_WEIGHTS(p, 0), add_bytes(high, RESIDUES_WEIGHTS(p, 4), RESIDUES_START(p, 63))), \
                1.0f / (p), p)

/* Four of them, of a line. */
#define PUT(p, high_part, middle_part, low_part)                                                              \
    _Pragma("unroll") for (uint i = 0; i < VALUES; i += 4) if (i < count)                                      \
        *(global uint *)(to + i / 4 * SLICES * pitch) =                                                        \
            as_uint((uchar4)((uchar)RESIDUE(p, low[i], high[i]), (uchar)RESIDUE(p, low[i + 1], high[i + 1]),   \
                             (uchar)RESIDUE(p, low[i + 2], high[i + 2]), (uchar)RESIDUE(p, low[i + 3], high[i + 3]))); \
    to += plane;

/* Store the residues of the first `count` values for all moduli. */
NDR_INLINE_ void put_residues(global uchar *to, ulong pitch, ulong plane, const ulong *y, uint count)
{
    uint low[VALUES], high[VALUES];
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) {
        low[i] = (uint)y[i];
        high[i] = (uint)(y[i] >> 32) ^ 0x80000000u;
    }
    NDR_RESIDUES_EACH(PUT)
}

/* Over blocks of lines and steps, a group each: those of A first. `a_at` and `b_at` are the planes', `padded` bytes are a
 * line of these. */
kernel GROUP_OF_ITEMS void gemm_residues(MATRICES, global uint *restrict workspace, ulong a_at, ulong b_at, ulong padded,
                                         ulong factors_at, global uint *restrict words, uint number)
{
    local ulong block[STEPS * BLOCK_PITCH];
    local uint greatest[2];
    if (!is_proved(words, number, k, greatest)) return;
    if (get_global_id(0) == 0) words[NDR_RESIDUES_PROVED] = number;
    place at = find_place(m, k, LINES, NDR_RESIDUES_STRETCH);
    const lines all = at.is_a ? LINES_OF_A : LINES_OF_B;
    global const double *const factors = (global const double *)behind_head(workspace, factors_at) + (at.is_a ? 0 : m);
    const ulong line = at.line + get_local_id(0) / LANES, left = all.count - min(all.count, line);
    const ulong end = min(padded, at.step + NDR_RESIDUES_STRETCH);
#pragma unroll 1
    for (; at.step < end; at.step += STEPS) {
        ulong y[VALUES];
        if (all.step_pitch == 1) load_along(y, &all, &at, k, factors);
        else load_across(y, &all, &at, k, factors, block);
        global uchar *const to = behind_head(workspace, at.is_a ? a_at : b_at) + line * padded + at.step
                                 + get_local_id(0) % LANES * 4;
        put_residues(to, padded, all.count * padded, y, left == 0 ? 0 : left <= SLICES ? 4 : VALUES);
    }
}

/* ---- sums ---- */

/* A residue as a double between 2^12 and 2^13: 2^12 + 128 more than it is. */
NDR_INLINE_ double shift_residue(uchar residue)
{
    return as_double((ulong)(0x40b00000u | (uint)(residue ^ 0x80) << 8) << 32);
}

/* The sum whose residues these are, rounded: its parts are exact. */
#define TOO_MUCH (0x1p12 + 128)
#define START_HIGH(p, high, middle, low) -(high) * TOO_MUCH
#define START_MIDDLE(p, high, middle, low) -(middle) * TOO_MUCH
#define START_LOW(p, high, middle, low) -(low) * TOO_MUCH
#define ADD_WEIGHTED(p, high_part, middle_part, low_part)       \
    {                                                           \
        const double residue = shift_residue(*residues++);      \
        high = fma(residue, high_part, high);                   \
        middle = fma(residue, middle_part, middle);             \
        low = fma(residue, low_part, low);                      \
    }
NDR_INLINE_ double join_residues(const uchar *residues)
{
    double high = NDR_RESIDUES_EACH(START_HIGH), middle = NDR_RESIDUES_EACH(START_MIDDLE),
           low = NDR_RESIDUES_EACH(START_LOW);
    NDR_RESIDUES_EACH(ADD_WEIGHTED)
    const double times = rint(high * (1 / NDR_RESIDUES_P_1));
    high = fma(-times, NDR_RESIDUES_P_1, high);
    middle = fma(-times, NDR_RESIDUES_P_2, middle);
    low = fma(-times, NDR_RESIDUES_P_3, low);
    const double sum = high + middle, rounded = sum - high; /* and what the addition loses, by Knuth's two-sum */
    return sum + (((high - (sum - rounded)) + (middle - rounded)) + low);
}

#define T double
#define T2 double2
#define PAIRS 1
#include "matmul/pairs.clh"

/* Over pairs of columns of NDR_RESIDUES_ROWS rows of C, one for each item. `c_at` is that of the planes, `padded` bytes
 * are a row of these. */
kernel GROUP_OF_ITEMS void gemm_residues_join(ulong m, ulong n, double alpha, double beta, global double *restrict c,
                                              ulong c_offset, ulong c_pitch, global uint *restrict workspace, ulong c_at,
                                              ulong padded, ulong factors_at, global const uint *restrict words,
                                              uint number)
{
    if (words[NDR_RESIDUES_PROVED] != number) return;
    const uint item = (uint)get_global_id(0), across = (uint)((n + 1) / 2), col = item % across * 2;
    global const double *const factors = (global const double *)behind_head(workspace, factors_at);
    global const uchar *const from = behind_head(workspace, c_at) + col;
    const double of_col = invert(factors[m + col]), of_next = invert(factors[m + min((ulong)col + 1, n - 1)]);
    ulong row = (ulong)(item / across) * NDR_RESIDUES_ROWS;
    const ulong end = min(m, row + NDR_RESIDUES_ROWS);
    for (; row < end; ++row) {
        uchar first[NDR_RESIDUES], second[NDR_RESIDUES];
#pragma unroll
        for (uint i = 0; i < NDR_RESIDUES; ++i) {
            const uchar2 pair = *(global const uchar2 *)(from + (i * m + row) * padded);
            first[i] = pair.x;
            second[i] = pair.y;
        }
        const double of_row = invert(factors[row]);
        const double sum[] = { join_residues(first) * of_row * of_col, join_residues(second) * of_row * of_next };
        store_row(c + c_offset + row * c_pitch + col, sum, (uint)n - col, (c_offset | c_pitch) % 2 == 0, alpha, beta);
    }
}
