/* small.cl - C = alpha * A * B + beta * C of many small matrices of float, half or bfloat16, row-major, by a GPU's
 * matrix units: inline PTX, mma of 16 x 8 x 16.
 *
 *   A is m x k, B is k x n, C is m x n; offsets, pitches and strides are in elements. elements.clh has their types and
 *   forms.
 *
 * A group computes one TILE_M x TILE_N tile of C. Rows may begin anywhere: words come by cp.async as they lie in
 * memory, DEPTH steps of A and B at a time, while the steps before them are multiplied. From there elements go to other
 * local memory, with lines of an odd number of 16 bytes, so that the units meet no bank twice. A warp multiplies 32 rows
 * by half of the columns. The sums go through local memory to C, so that neighbours store neighbours.
 *
 * An element of float is the sum of three bfloat16 parts, of which six of nine products are added over 16 steps from
 * zero; plain additions, which round, add those sums (docs/appendix/proofs.md). A tile with elements that the parts
 * cannot hold is computed by a plain loop. */

/* Defaults, with which the file compiles by itself. */
#ifndef TILE_M
#define T float
#define IN f16
#define OUT f16
#define TILE_M 128 /* a multiple of 32 */
#define TILE_N 144 /* a multiple of 16 */
#define DEPTH 80   /* a multiple of 16 */
#endif
#include "matmul/bands.clh"
#include "matmul/bfloat_parts.clh"
#include "matmul/elements.clh"

#ifdef NDR_PTX

#include "ndr/detail/squares.h"

/* ---- sizes ---- */

#if JOIN(KIND_, IN) == KIND_f32
#define PARTS 3
#else
#define PARTS 1
#endif
#define WARPS_M (TILE_M / 32)
#define WARPS (2 * WARPS_M)
#define GROUP (32 * WARPS)
#define WARP_COLS (TILE_N / 2)
#define BLOCKS_N (WARP_COLS / 8) /* blocks of 8 columns of a warp */

/* A and B in local memory: lines as they lie. */
#if TRANSPOSES_A
#define A_LINES DEPTH
#define A_LENGTH TILE_M
#else
#define A_LINES TILE_M
#define A_LENGTH DEPTH
#endif
#if TRANSPOSES_B
#define B_LINES TILE_N
#define B_LENGTH DEPTH
#else
#define B_LINES DEPTH
#define B_LENGTH TILE_N
#endif
#define A_PITCH (2 * A_LENGTH + 16) /* bytes; lengths are multiples of 16 */
#define B_PITCH (2 * B_LENGTH + 16)
#define A_PART (A_LINES * A_PITCH)
#define B_PART (B_LINES * B_PITCH)
#define SUM_PITCH (TILE_N + 8) /* floats */

/* The words of lines as they come: of halves one more, since lines may begin within a word. */
#if PARTS == 3
#define OF_WORD 1 /* elements */
#define WORDS(length) (length)
typedef float element;
#else
#define OF_WORD 2
#define WORDS(length) ((length) / 2 + 1)
typedef ushort element;
#endif
#define OPERANDS (PARTS * (A_PART + B_PART))
#define WORD_BYTES (4 * (A_LINES * WORDS(A_LENGTH) + B_LINES * WORDS(B_LENGTH)))
#define SUM_BYTES (TILE_M / 2 * SUM_PITCH * 4) /* of half of the rows */
#define LOCAL_BYTES (OPERANDS + WORD_BYTES > SUM_BYTES ? OPERANDS + WORD_BYTES : SUM_BYTES)

/* ---- elements ---- */

/* Steps of a matrix: `exist` lines of `count` elements, from an address on. */
typedef struct lines {
    global const element *from;
    ulong pitch;
    uint exist, count;
} lines;

/* Whether a line begins within a word. */
static inline uint is_within(const lines *of, uint line)
{
    return OF_WORD == 1 ? 0 : ((uint)(uintptr_t)of->from / 2 + line * (uint)of->pitch) & 1;
}

/* Copy the words of all lines, without waiting: 16 items for a line. What does not exist becomes zeros. */
INLINE void fetch(uint to, uint all, uint length, const lines *of)
{
    const uint first = get_local_id(0) % 16;
#pragma unroll 2
    for (uint line = get_local_id(0) / 16; line < all; line += GROUP / 16) {
        const uint within = is_within(of, line);
        const int end = line < of->exist ? (int)(of->count + within) : 0;
        global const element *const from = of->from + min(line, of->exist - 1) * of->pitch - within;
#pragma unroll
        for (uint word = 0; word < WORDS(length); word += 16) {
            const int left = clamp(end - (int)((word + first) * OF_WORD), 0, OF_WORD);
            if (word + 16 <= WORDS(length) || word + first < WORDS(length))
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                                 to + 4 * (line * WORDS(length) + word + first)),
                             "l"(from + (word + first) * OF_WORD), "r"(left * (4 / OF_WORD))
                             : "memory");
        }
    }
}

static inline void wait_for_copies(void) { asm volatile("cp.async.wait_all;" ::: "memory"); }

/* The 32 bits that begin so many bits after those of the first word. */
static inline uint shift_words(uint x, uint y, uint bits)
{
    uint out;
    asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(out) : "r"(x), "r"(y), "r"(bits));
    return out;
}

/* The elements of all lines from their words, 4 at a time. */
INLINE void arrange(uint to, uint words, uint all, uint length, const lines *of, local uint *marks, bool is_a)
{
    range seen = { 0, 0xffffffff };
#pragma unroll 2
    for (uint i = get_local_id(0); i < all * length / 4; i += GROUP) {
        const uint line = i / (length / 4), quarter = i % (length / 4);
        const uint from = words + 4 * line * WORDS(length) + 16 / OF_WORD * quarter;
        const uint at = to + line * (2 * length + 16) + 8 * quarter;
#if PARTS == 3
        const float4 x = *PTX_POINTER(const float4, from);
        uint2 parts[3];
        note_one(&seen, x.x), note_one(&seen, x.y), note_one(&seen, x.z), note_one(&seen, x.w);
        split_pair(x.x, x.y, (uint *)&parts[0], (uint *)&parts[1], (uint *)&parts[2]);
        split_pair(x.z, x.w, (uint *)&parts[0] + 1, (uint *)&parts[1] + 1, (uint *)&parts[2] + 1);
#pragma unroll
        for (uint p = 0; p < 3; ++p) *PTX_POINTER(uint2, at + p * (all * (2 * length + 16))) = parts[p];
#else
        const uint bits = 16 * is_within(of, line);
        local const uint *const x = PTX_POINTER(const uint, from);
        *PTX_POINTER(uint2, at) = (uint2)(shift_words(x[0], x[1], bits), shift_words(x[1], x[2], bits));
#endif
    }
    if (PARTS == 3) mark_range(&seen, marks, 1, is_a);
    (void)of;
}

/* ---- products ---- */

/* 16 rows of A over 16 steps: 8 rows, the next 8 rows, then both for the next 8 steps. 16 columns of B over 16 steps: 8
 * steps, the next 8 steps, then both for the next 8 columns. */
INLINE void load_a(uint *x, uint at, uint row, uint step)
{
    const uint lane = get_local_id(0) % 32;
#if TRANSPOSES_A
    ndr_matrix_turned_squares_(x, at + (step + lane % 8 + lane / 16 * 8) * A_PITCH + (row + lane / 8 % 2 * 8) * 2);
#else
    ndr_matrix_squares_(x, at + (row + lane % 16) * A_PITCH + (step + lane / 16 * 8) * 2);
#endif
}

INLINE void load_b(uint *x, uint at, uint step, uint col)
{
    const uint lane = get_local_id(0) % 32;
#if TRANSPOSES_B
    ndr_matrix_squares_(x, at + (col + lane % 8 + lane / 16 * 8) * B_PITCH + (step + lane / 8 % 2 * 8) * 2);
#else
    ndr_matrix_turned_squares_(x, at + (step + lane % 16) * B_PITCH + (col + lane / 16 * 8) * 2);
#endif
}

#define MMA_f16 "f16.f16"
#define MMA_bf16 "bf16.bf16"
#define MMA_f32 "bf16.bf16"

/* sum += 16 rows of A times 8 columns of B, over 16 steps. */
INLINE void multiply(float *sum, const uint *a, const uint *b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32." JOIN(MMA_, IN) ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Add the products of 32 rows and `cols` blocks of 8 columns over 16 steps. Each instruction waits for the one before it
 * with the same sums, so those of several blocks take turns. */
INLINE void add_blocks(float sum[2][BLOCKS_N][4], uint first, uint cols, uint a[2][PARTS][4], uint b[PARTS][4])
{
#if PARTS == 3
    const uint of_a[6] = { 2, 0, 1, 1, 0, 0 }, of_b[6] = { 0, 2, 1, 0, 1, 0 }; /* the smallest products first */
    float part[2][2][4];
#pragma unroll
    for (uint e = 0; e < 16; ++e) part[e / 8][e / 4 % 2][e % 4] = 0;
#pragma unroll
    for (uint q = 0; q < 6; ++q)
#pragma unroll
        for (uint i = 0; i < 2; ++i)
#pragma unroll
            for (uint j = 0; j < 2; ++j)
                if (j < cols) multiply(part[i][j], a[i][of_a[q]], b[of_b[q]] + 2 * j);
#pragma unroll
    for (uint i = 0; i < 2; ++i)
#pragma unroll
        for (uint j = 0; j < 2; ++j)
#pragma unroll
            for (uint e = 0; e < 4; ++e)
                if (j < cols) sum[i][first + j][e] += part[i][j][e];
#else
#pragma unroll
    for (uint i = 0; i < 2; ++i)
#pragma unroll
        for (uint j = 0; j < 2; ++j)
            if (j < cols) multiply(sum[i][first + j], a[i][0], b[0] + 2 * j);
#endif
}

/* The steps in local memory. A warp has rows `row` and `col` onwards. */
INLINE void add_steps(float sum[2][BLOCKS_N][4], uint a_at, uint b_at, uint row, uint col, uint steps)
{
    for (uint step = 0; step < steps; step += 16) {
        uint a[2][PARTS][4];
#pragma unroll
        for (uint p = 0; p < PARTS; ++p)
#pragma unroll
            for (uint i = 0; i < 2; ++i) load_a(a[i][p], a_at + p * A_PART, row + 16 * i, step);
#pragma unroll
        for (uint j = 0; j < BLOCKS_N; j += 2) {
            uint b[PARTS][4];
#pragma unroll
            for (uint p = 0; p < PARTS; ++p) load_b(b[p], b_at + p * B_PART, step, col + 8 * j);
            add_blocks(sum, j, j + 1 < BLOCKS_N ? 2 : 1, a, b);
        }
    }
}

/* ---- C ---- */

#define PUT_f32(to, x) *(to) = (x)
#define PUT_f16(to, x) *(global ushort *)(to) = (ushort)round_halves(x, 0)
#define PUT_bf16(to, x) *(to) = (ushort)round_bfloats(x, 0)

/* store_result() of elements.clh, with the units' own conversions. */
INLINE void put_result(float sum, float alpha, float beta, global OUT_T *to, ulong product, ulong row,
                       ulong col EPILOGUE_PARAMETERS)
{
    float r = alpha * sum;
    if (beta != 0) r += beta * LOAD_OUT(to, 0);
    JOIN(PUT_, OUT)(to, EPILOGUE(r, product, row, col));
    (void)product, (void)row, (void)col;
}

/* ---- the kernel ---- */

#if PARTS == 3
/* A sum by a loop in float. */
INLINE float add_plainly(global const float *a, ulong a_step, global const float *b, ulong b_step,
                         ulong k)
{
    float sum = 0;
#pragma unroll 1
    for (ulong step = 0; step < k; ++step) sum = fma(a[step * a_step], b[step * b_step], sum);
    return sum;
}
#endif

/* Over (products, tiles) groups. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gemm_small(ulong count, ulong m, ulong n, ulong k, float alpha, global const IN_T *a, ulong a_offset, ulong a_pitch,
           ulong a_stride, global const IN_T *b, ulong b_offset, ulong b_pitch, ulong b_stride, float beta,
           global OUT_T *c, ulong c_offset, ulong c_pitch, ulong c_stride MORE_PARAMETERS)
{
    local uchar memory[LOCAL_BYTES] __attribute__((aligned(16)));
    local uint marks[TILE_MARKS];
    const uint item = get_local_id(0), lane = item % 32, warp = item / 32;
    const ulong product = get_group_id(1);
    const uint tiles_m = (uint)((m + TILE_M - 1) / TILE_M);
    const ulong row0 = get_group_id(0) % tiles_m * TILE_M, col0 = get_group_id(0) / tiles_m * TILE_N;
    const uint rows = (uint)min((ulong)TILE_M, m - row0), cols = (uint)min((ulong)TILE_N, n - col0);
    const uint a_at = PTX_ADDRESS(memory), b_at = a_at + PARTS * A_PART;
    const uint a_words = b_at + PARTS * B_PART, b_words = a_words + 4 * A_LINES * WORDS(A_LENGTH);
    const uint warp_row = warp % WARPS_M * 32, warp_col = warp / WARPS_M * WARP_COLS;
    const ulong a_step = TRANSPOSES_A ? a_pitch : 1, a_row = TRANSPOSES_A ? 1 : a_pitch;
    const ulong b_step = TRANSPOSES_B ? 1 : b_pitch, b_col = TRANSPOSES_B ? b_pitch : 1;
    lines of_a = { (global const element *)a + a_offset + A_OF(product) + row0 * a_row, a_pitch, rows, rows };
    lines of_b = { (global const element *)b + b_offset + B_OF(product) + col0 * b_col, b_pitch, cols, cols };
    float sum[2][BLOCKS_N][4];
    (void)count; /* the range has a group for each product */
    if (!IS_PARTLY_IN(row0, col0, rows, cols)) return;

    if (item < TILE_MARKS) marks[item] = 0;
#pragma unroll
    for (uint i = 0; i < 2; ++i)
#pragma unroll
        for (uint j = 0; j < BLOCKS_N; ++j)
#pragma unroll
            for (uint e = 0; e < 4; ++e) sum[i][j][e] = 0;

#define FETCH(step)                                                                                   \
    do {                                                                                              \
        const uint steps_ = (uint)min((ulong)DEPTH, k - (step));                                      \
        *(TRANSPOSES_A ? &of_a.exist : &of_a.count) = *(TRANSPOSES_B ? &of_b.count : &of_b.exist) = steps_; \
        fetch(a_words, A_LINES, A_LENGTH, &of_a);                                                     \
        fetch(b_words, B_LINES, B_LENGTH, &of_b);                                                     \
    } while (0)
    if (k > 0) FETCH(0);
    for (ulong step = 0; step < k; step += DEPTH) {
        wait_for_copies();
        barrier(CLK_LOCAL_MEM_FENCE);
        arrange(a_at, a_words, A_LINES, A_LENGTH, &of_a, marks, true);
        arrange(b_at, b_words, B_LINES, B_LENGTH, &of_b, marks, false);
        barrier(CLK_LOCAL_MEM_FENCE);
        of_a.from += DEPTH * a_step;
        of_b.from += DEPTH * b_step;
        if (step + DEPTH < k) FETCH(step + DEPTH);
        add_steps(sum, a_at, b_at, warp_row, warp_col, (uint)min((ulong)DEPTH, k - step));
    }
    local float *const sums = (local float *)memory;
    c += c_offset + C_OF(product) + row0 * c_pitch + col0;
#pragma unroll
    for (uint i = 0; i < 2; ++i) { /* 16 of 32 rows */
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint j = 0; j < BLOCKS_N; ++j) {
            const uint row = warp_row / 2 + lane / 4, col = warp_col + 8 * j + lane % 4 * 2;
            *(local float2 *)(sums + row * SUM_PITCH + col) = (float2)(sum[i][j][0], sum[i][j][1]);
            *(local float2 *)(sums + (row + 8) * SUM_PITCH + col) = (float2)(sum[i][j][2], sum[i][j][3]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const bool suffices = PARTS < 3 || parts_suffice(marks, 1);
        for (uint line = warp; line < TILE_M / 2; line += WARPS) {
            const uint row = line / 16 * 32 + 16 * i + line % 16;
            if (row >= rows) break;
            global OUT_T *const to = c + row * c_pitch;
            local float *const from = sums + line * SUM_PITCH;
            float x[(TILE_N + 31) / 32];
#if PARTS == 3
            for (uint col = lane; col < cols && !suffices; col += 32)
                from[col] = add_plainly(a + a_offset + A_OF(product) + (row0 + row) * a_row, a_step,
                                        b + b_offset + B_OF(product) + (col0 + col) * b_col, b_step, k);
#endif
#pragma unroll
            for (uint col = 0; col < TILE_N; col += 32) x[col / 32] = from[min(col + lane, TILE_N - 1u)];
#pragma unroll
            for (uint col = 0; col < TILE_N; col += 32)
                if (col + lane < cols && IS_IN_PART(row0 + row, col0 + col + lane))
                    put_result(x[col / 32], alpha, beta, to + col + lane, product, row0 + row,
                               col0 + col + lane EPILOGUE_ARGUMENTS);
        }
        (void)suffices;
    }
}

#endif
