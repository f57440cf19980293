/* residues.cl - C = alpha * A * B + beta * C in double, row-major, by products of bytes: Ozaki's scheme II (Ozaki,
 * Uchino and Imamura, 2025, arXiv 2504.08009).
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements.
 *
 * Rows of A and columns of B, the lines, are multiplied by powers of two and rounded to integers, so that the sums of
 * their products are less than half of the product P of some moduli. Modulo each of these a product of bytes gives the
 * sums' residues, and those give the sums (the Chinese remainder theorem). In order:
 *
 *   gemm_residues_sums     sums of magnitudes and squares of parts of lines
 *   gemm_residues_factors  the lines' powers of two, and the greatest spreads, from 0 for equal magnitudes to 1
 *   gemm_residues_decide   whether the spreads prove that the errors of rounding are small enough; if so, the others do
 *   gemm_residues_find     residues of A and B
 *   (another row)          residues of C
 *   gemm_residues_join     C
 *
 * If not, the last three end at once, and another row multiplies A and B themselves. The results are within the bounds
 * of ndr_matmul(): docs/appendix/proofs.md. */
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
    uint count;
    ulong pitch, step_pitch;
} lines;

#define MATRICES                                                                                           \
    uint m, uint n, uint k, global const double *restrict a, ulong a_offset, ulong a_pitch, ulong a_steps, \
        global const double *restrict b, ulong b_offset, ulong b_pitch, ulong b_steps

NDR_INLINE_ lines lines_of(global const double *x, uint count, ulong pitch, ulong step_pitch)
{
    const lines all = { x, count, pitch, step_pitch };
    return all;
}

#define LINES_OF_A lines_of(a + a_offset, m, a_pitch, a_steps)
#define LINES_OF_B lines_of(b + b_offset, n, b_pitch, b_steps)

/* Elements outside are zeros. Without a branch, so that an item's loads are issued together. */
NDR_INLINE_ double element_at(const lines *all, uint line, uint step, uint k)
{
    const double x = all->x[min(line, all->count - 1) * all->pitch + min(step, k - 1) * all->step_pitch];
    return line < all->count && step < k ? x : 0;
}

/* What a group works on: the first line and step. */
typedef struct place {
    bool is_a;
    uint line, step;
} place;

NDR_INLINE_ place find_place(uint m, uint k, uint height, uint width)
{
    const uint group = (uint)get_group_id(0), across = (k + width - 1) / width, block = group / across;
    const uint blocks_of_a = (m + height - 1) / height;
    const bool is_a = block < blocks_of_a;
    const place at = { is_a, (is_a ? block : block - blocks_of_a) * height, group % across * width };
    return at;
}

NDR_INLINE_ global uchar *behind_head(global uint *workspace, ulong offset)
{
    return (global uchar *)(workspace + NDR_WORKSPACE_HEAD) + offset;
}

/* ---- norms ---- */

#define PARTS_PITCH (LANES + 1)

typedef struct sums {
    double magnitudes, squares;
} sums;

NDR_INLINE_ void add_element(sums *to, double x)
{
    to->magnitudes += fabs(x);
    to->squares += x * x;
}

NDR_INLINE_ void put_sums(local sums *to, const sums *from)
{
    to->magnitudes = from->magnitudes;
    to->squares = from->squares;
}

/* Where steps are neighbours, an item has every 32nd step of some lines. */
NDR_INLINE_ void add_along(local sums *parts, const lines *all, const place *at, uint k)
{
    enum { SOME = NDR_RESIDUES_SUM_LINES / SLICES };
    const uint lane = get_local_id(0) % LANES, first = get_local_id(0) / LANES * SOME;
    sums own[SOME];
#pragma unroll
    for (uint j = 0; j < SOME; ++j) own[j].magnitudes = own[j].squares = 0;
#pragma unroll
    for (uint i = 0; i < NDR_RESIDUES_CHUNK / LANES; ++i)
#pragma unroll
        for (uint j = 0; j < SOME; ++j)
            add_element(&own[j], element_at(all, at->line + first + j, at->step + lane + i * LANES, k));
#pragma unroll
    for (uint j = 0; j < SOME; ++j) put_sums(parts + (first + j) * PARTS_PITCH + lane, &own[j]);
}

/* Where lines are neighbours, every 8th step of a line. */
NDR_INLINE_ void add_across(local sums *parts, const lines *all, const place *at, uint k)
{
    const uint lane = get_local_id(0) % LANES, slice = get_local_id(0) / LANES;
    sums own = { 0, 0 };
#pragma unroll
    for (uint i = 0; i < NDR_RESIDUES_CHUNK / SLICES; ++i)
        add_element(&own, element_at(all, at->line + lane, at->step + slice + i * SLICES, k));
    put_sums(parts + lane * PARTS_PITCH + slice, &own);
}

/* Over blocks of lines and chunks of their steps, a group each: those of A first. */
kernel GROUP_OF_ITEMS void gemm_residues_sums(MATRICES, global uint *restrict workspace, ulong sums_at)
{
    local sums parts[NDR_RESIDUES_SUM_LINES * PARTS_PITCH];
    const place at = find_place(m, k, NDR_RESIDUES_SUM_LINES, NDR_RESIDUES_CHUNK);
    const lines all = at.is_a ? LINES_OF_A : LINES_OF_B;
    const bool is_along = all.step_pitch == 1;
    if (is_along) add_along(parts, &all, &at, k);
    else add_across(parts, &all, &at, k);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint line = get_local_id(0), count = is_along ? LANES : SLICES;
    if (line >= NDR_RESIDUES_SUM_LINES || at.line + line >= all.count) return;
    double magnitudes = 0, squares = 0;
    for (uint i = 0; i < count; ++i) {
        magnitudes += parts[line * PARTS_PITCH + i].magnitudes;
        squares += parts[line * PARTS_PITCH + i].squares;
    }
    global sums *const to = (global sums *)behind_head(workspace, sums_at)
                            + (ulong)(at.step / NDR_RESIDUES_CHUNK) * (m + n) + (at.is_a ? 0 : m) + at.line + line;
    to->magnitudes = magnitudes;
    to->squares = squares;
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
NDR_INLINE_ uint find_bin(double magnitudes, double squares, uint k)
{
    const double spread = 1 - magnitudes * magnitudes / (squares * k) + 0x1p-20;
    return (uint)min(ceil(max(spread, 0.0) * (BINS - 1)), (double)(BINS - 1));
}

/* Over the lines, those of A first. */
kernel GROUP_OF_ITEMS void gemm_residues_factors(uint m, uint n, uint k, global uint *restrict workspace, ulong sums_at,
                                                 ulong factors_at, global uint *restrict words, uint number)
{
    local uint greatest[2]; /* bins of lines of A and B, and 1 */
    const uint item = get_local_id(0), line = (uint)get_global_id(0);
    const uint chunks = (k + NDR_RESIDUES_CHUNK - 1) / NDR_RESIDUES_CHUNK;
    global const sums *const parts = (global const sums *)behind_head(workspace, sums_at) + line;
    if (item < 2) greatest[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (line < m + n) {
        double magnitudes = 0, squares = 0;
#pragma unroll 16
        for (uint i = 0; i < chunks; ++i) {
            magnitudes += parts[(ulong)i * (m + n)].magnitudes;
            squares += parts[(ulong)i * (m + n)].squares;
        }
        const bool is_zero = magnitudes == 0, is_taken = squares >= 0x1p-800 && squares <= 0x1p800; /* not NaN */
        const uint bin = is_zero ? 0 : is_taken ? find_bin(magnitudes, squares, k) : BINS - 1;
        ((global double *)behind_head(workspace, factors_at))[line] = is_taken ? find_factor(squares) : 1;
        atomic_max(&greatest[line < m ? 0 : 1], bin + 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 2 && greatest[item] > 0) atomic_xchg(words + item * BINS + greatest[item] - 1, number);
}

/* The least cosine of the angle between a line of A and one of B, by magnitudes, that keeps the error within the bound,
 * and a bit more. */
NDR_INLINE_ float least_cosine(uint k) { return (float)(2.0001 * 0x1p52 / sqrt(k * NDR_RESIDUES_MOST)) + 1e-5f; }

/* By one group: no two lines' angle is above the sum of the greatest angles of lines of A and of B to equal
 * magnitudes. */
kernel GROUP_OF_ITEMS void gemm_residues_decide(uint k, global uint *words, uint number)
{
    local uint greatest[2];
    const uint item = get_local_id(0);
    if (item < 2) greatest[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < 2 * BINS; i += ITEMS)
        if (words[i] == number) atomic_max(&greatest[i / BINS], i % BINS);
    barrier(CLK_LOCAL_MEM_FENCE);
    const float x = (float)greatest[0] / (BINS - 1), y = (float)greatest[1] / (BINS - 1);
    const bool is_taken = max(greatest[0], greatest[1]) < BINS - 1;
    if (item == 0 && is_taken && sqrt((1 - x) * (1 - y)) - sqrt(x * y) >= least_cosine(k))
        words[NDR_RESIDUES_PROVED] = number;
}

/* ---- residues ---- */

#define BLOCK_PITCH (LINES + 1)

/* An item's elements as integers below 2^63: VALUES of two lines, SLICES apart, four steps each, LANES apart. */
#define VALUES (LINES * STEPS / ITEMS)
NDR_INLINE_ void load_along(ulong *y, const lines *all, const place *at, uint k, global const double *factors)
{
    const uint lane = get_local_id(0) % LANES, slice = get_local_id(0) / LANES;
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) {
        const uint line = at->line + slice + i / 4 * SLICES;
        const double x = element_at(all, line, at->step + lane + i % 4 * LANES, k);
        y[i] = as_ulong(convert_long_rte(x * factors[min(line, all->count - 1)]));
    }
}

/* The same where lines are neighbours, through local memory. The whole group calls it. */
NDR_INLINE_ void load_across(ulong *y, const lines *all, const place *at, uint k, global const double *factors,
                             local ulong *block)
{
    const uint lane = get_local_id(0) % LANES, slice = get_local_id(0) / LANES;
    const uint of_line = get_local_id(0) % LINES, first = get_local_id(0) / LINES, line = at->line + of_line;
    const double factor = factors[min(line, all->count - 1)];
    double x[VALUES];
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) x[i] = element_at(all, line, at->step + first + i * (ITEMS / LINES), k);
#pragma unroll
    for (uint i = 0; i < VALUES; ++i)
        block[(first + i * (ITEMS / LINES)) * BLOCK_PITCH + of_line] = as_ulong(convert_long_rte(x[i] * factor));
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) y[i] = block[(lane + i % 4 * LANES) * BLOCK_PITCH + slice + i / 4 * SLICES];
}

/* The low byte is a residue of a number to which 2^63 was added. */
#define WORD(p, low, high) \
    add_bytes(low, RESIDUES_WEIGHTS(p, 0), add_bytes(high, RESIDUES_WEIGHTS(p, 4), RESIDUES_START(p, 63)))
#define RESIDUE(p, low, high) (uchar)reduce_word(WORD(p, low, high), 1.0f / (p), p)

/* Those of the item's values, four steps of a line at a time. */
#define PUT(p, high_part, middle_part, low_part)                                                           \
    _Pragma("unroll") for (uint i = 0; i < VALUES; i += 4) *(global uint *)(to + i / 4 * SLICES * pitch) = \
        as_uint((uchar4)(RESIDUE(p, low[i], high[i]), RESIDUE(p, low[i + 1], high[i + 1]),                 \
                         RESIDUE(p, low[i + 2], high[i + 2]), RESIDUE(p, low[i + 3], high[i + 3])));       \
    to += plane;

/* For all moduli. */
NDR_INLINE_ void put_residues(global uchar *to, ulong pitch, ulong plane, const ulong *y)
{
    uint low[VALUES], high[VALUES];
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) {
        low[i] = (uint)y[i];
        high[i] = (uint)(y[i] >> 32) ^ 0x80000000u;
    }
    NDR_RESIDUES_EACH(PUT)
}

/* Over blocks of lines and steps, a group each: those of A first. `a_at` and `b_at` are the planes', `padded` bytes are
 * a line of these. */
kernel GROUP_OF_ITEMS void gemm_residues_find(MATRICES, global uint *restrict workspace, ulong a_at, ulong b_at,
                                              ulong padded, ulong factors_at, global const uint *restrict words,
                                              uint number)
{
    local ulong block[STEPS * BLOCK_PITCH];
    if (words[NDR_RESIDUES_PROVED] != number) return;
    const place at = find_place(m, k, LINES, STEPS);
    const lines all = at.is_a ? LINES_OF_A : LINES_OF_B;
    global const double *const factors = (global const double *)behind_head(workspace, factors_at) + (at.is_a ? 0 : m);
    const uint lane = get_local_id(0) % LANES, slice = get_local_id(0) / LANES;
    ulong y[VALUES];
    if (all.step_pitch == 1) load_along(y, &all, &at, k, factors);
    else load_across(y, &all, &at, k, factors, block);
    const ulong plane = (all.count + LINES - 1) / LINES * LINES * padded;
    global uchar *const to = behind_head(workspace, at.is_a ? a_at : b_at) + (at.line + slice) * padded;
    put_residues(to + at.step + 4 * lane, padded, plane, y);
}

/* ---- sums ---- */

/* Byte `byte` of a word of residues to each of which 128 was added, as a double: 2^12 more. */
#ifdef NDR_PTX
#define AS_DOUBLE(word, byte)                                                                                     \
    ({                                                                                                            \
        uint bits_;                                                                                               \
        asm("prmt.b32 %0, %1, 0x40b00000, %2;" : "=r"(bits_) : "r"(word), "n"(0x7604 | (byte) << 4));             \
        as_double((ulong)bits_ << 32);                                                                            \
    })
#else
#define AS_DOUBLE(word, byte) as_double((ulong)(0x40b00000u | ((word) >> 8 * (byte) & 255) << 8) << 32)
#endif

/* Sums of residues times the parts of weights; exact. */
typedef struct weighted {
    double high, middle, low;
} weighted;

#define TOO_MUCH (0x1p12 + 128)
#define START_HIGH(p, high, middle, low) -(high) * TOO_MUCH
#define START_MIDDLE(p, high, middle, low) -(middle) * TOO_MUCH
#define START_LOW(p, high, middle, low) -(low) * TOO_MUCH
#define ADD_WEIGHTED(p, high_part, middle_part, low_part)                      \
    _Pragma("unroll") for (uint j = 0; j < PAIRS_OF_ITEM; ++j)                 \
    {                                                                          \
        const double first = AS_DOUBLE(*word, 0), second = AS_DOUBLE(*word, 1); \
        sum[2 * j].high = fma(first, high_part, sum[2 * j].high);              \
        sum[2 * j].middle = fma(first, middle_part, sum[2 * j].middle);        \
        sum[2 * j].low = fma(first, low_part, sum[2 * j].low);                 \
        sum[2 * j + 1].high = fma(second, high_part, sum[2 * j + 1].high);     \
        sum[2 * j + 1].middle = fma(second, middle_part, sum[2 * j + 1].middle); \
        sum[2 * j + 1].low = fma(second, low_part, sum[2 * j + 1].low);        \
        ++word;                                                                \
    }

#define PAIRS_OF_ITEM NDR_RESIDUES_ROWS

/* For pairs of elements, from words for each modulus and pair. */
NDR_INLINE_ void add_weighted(weighted *sum, const uint *word)
{
#pragma unroll
    for (uint j = 0; j < 2 * PAIRS_OF_ITEM; ++j) {
        sum[j].high = NDR_RESIDUES_EACH(START_HIGH);
        sum[j].middle = NDR_RESIDUES_EACH(START_MIDDLE);
        sum[j].low = NDR_RESIDUES_EACH(START_LOW);
    }
    NDR_RESIDUES_EACH(ADD_WEIGHTED)
}

/* The number from -P / 2 to P / 2, rounded: its parts are exact. */
NDR_INLINE_ double round_sum(weighted sum)
{
    const double times = rint(sum.high * (1 / NDR_RESIDUES_P_1));
    const double high = fma(-times, NDR_RESIDUES_P_1, sum.high), middle = fma(-times, NDR_RESIDUES_P_2, sum.middle);
    const double low = fma(-times, NDR_RESIDUES_P_3, sum.low);
    const double rounded = high + middle, rest = rounded - high; /* and what the addition loses, by Knuth's two-sum */
    return rounded + (((high - (rounded - rest)) + (middle - rest)) + low);
}

#define T double
#define T2 double2
#define PAIRS 1
#include "matmul/pairs.clh"

/* Over pairs of columns of NDR_RESIDUES_ROWS rows of C, one for each item. `c_at` is that of the planes, `padded` bytes
 * are a row of these. */
kernel GROUP_OF_ITEMS void gemm_residues_join(uint m, uint n, double alpha, double beta, global double *restrict c,
                                              ulong c_offset, ulong c_pitch, global uint *restrict workspace,
                                              ulong c_at, ulong padded, ulong factors_at,
                                              global const uint *restrict words, uint number)
{
    if (words[NDR_RESIDUES_PROVED] != number) return;
    const uint item = (uint)get_global_id(0), across = (n + 1) / 2, col = item % across * 2;
    const uint row = item / across * NDR_RESIDUES_ROWS;
    if (row >= m) return;
    global const double *const factors = (global const double *)behind_head(workspace, factors_at);
    global const uchar *from = behind_head(workspace, c_at) + row * padded + col;
    uint words_of[NDR_RESIDUES * PAIRS_OF_ITEM];
#pragma unroll
    for (uint i = 0; i < NDR_RESIDUES; ++i, from += m * padded)
#pragma unroll
        for (uint j = 0; j < PAIRS_OF_ITEM; ++j)
            words_of[i * PAIRS_OF_ITEM + j] =
                *(global const ushort *)(from + min(j, m - 1 - row) * padded) ^ 0x8080u;
    weighted sums[2 * PAIRS_OF_ITEM];
    add_weighted(sums, words_of);
    const double of_col = invert(factors[m + col]), of_next = invert(factors[m + min(col + 1, n - 1)]);
    c += c_offset + row * c_pitch + col;
#pragma unroll
    for (uint j = 0; j < PAIRS_OF_ITEM; ++j) {
        if (row + j >= m) break;
        const double of_row = invert(factors[row + j]);
        const double sum[] = { round_sum(sums[2 * j]) * of_row * of_col,
                               round_sum(sums[2 * j + 1]) * of_row * of_next };
        store_row(c + j * c_pitch, sum, n - col, (c_offset | c_pitch) % 2 == 0, alpha, beta);
    }
}
