/* split.cl - C = alpha * A * B + beta * C in float, row-major, by a GPU's matrix units, at the accuracy of float or of
 * TF32.
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements.
 *
 * gemm_split_parts() stores the parts of elements in the workspace as shared/split.h says: padded with zeros, B
 * transposed, in the order in which gemm_split() copies them to local memory. There are two forms:
 *
 *   PARTS 3: an element is the sum of three bfloat16 parts, h + i + l. gemm_split() adds six of the nine products of
 *            parts: l*h, h*l, i*i, i*h, h*i and h*h. It takes any elements: for some it multiplies A and B themselves,
 *            slowly.
 *   PARTS 1: an element times a power of two, which its line has for each stretch, is rounded to a half, h. gemm_split()
 *            adds h*h, whose error is that of elements of 11 bits, but computes C only if the elements prove that the
 *            errors are small enough. Otherwise it does nothing, and the kernels of the form with three parts, enqueued
 *            after it, compute C.
 *
 * docs/numerics.md shows that the results are within the bounds of ndr_matmul(). The matrix units cut bits off when
 * they add, so they add one stretch from zero, and plain additions, which round, add those sums.
 *
 * Marks in the workspace tell what gemm_split_parts() found among the elements.
 *
 * Instructions marked LATER are not in the language of the OpenCL compiler's target. It passes them on as comments, and
 * src/program/ptx.c removes the mark. */
#include "matmul/ptx.clh"
#include "shared/split.h"
#include "ndr/detail/workspace.h"

/* Defaults, with which the file compiles by itself. */
#ifndef TILE_N
#define TILE_N 128 /* columns of C of a group: 64 or 128 */
#define STAGES 4
#define PARTS 3 /* or 1 */
#endif

#define TILE_M NDR_SPLIT_ROWS
#define DEPTH NDR_SPLIT_DEPTH
#define CHUNK NDR_SPLIT_CHUNK
#define SLABS NDR_SPLIT_SLABS(PARTS)
#define STEPS (SLABS * DEPTH) /* of a stretch */
#define LINE_BYTES NDR_SPLIT_LINE_BYTES(PARTS)
#define A_BYTES (TILE_M * LINE_BYTES) /* of a stretch */
#define B_BYTES (TILE_N * LINE_BYTES)

/* ---- marks ---- */

/* Whether a form with halves was tried on this product, and the elements prove that its errors are small. */
static inline bool halves_suffice(global const uint *marks, uint number)
{
    const bool was_tried = marks[NDR_HALVES_TRIED] == number, is_beyond = marks[NDR_HALVES_BEYOND] == number;
    const bool is_coarse = marks[NDR_HALVES_COARSE] == number, is_sparse = marks[NDR_HALVES_SPARSE] == number;
    return was_tried && !is_beyond && !(is_coarse && is_sparse);
}

/* Many items may set a mark; few of them write it. */
static inline void set_mark(global uint *mark, uint number)
{
    if (*mark != number) *mark = number;
}

/* ---- parts ---- */

#define VALUES (8 * SLABS) /* of an item: 8 of each slab of a line */

#if PARTS == 3

/* The bits of a bfloat16: x rounded to nearest, ties to even. */
static inline uint round_to_part(float x, float *rounded)
{
    const uint bits = as_uint(x), whole = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    *rounded = as_float(whole);
    return whole >> 16;
}

static inline void set_marks(global uint *marks, uint number, const float *x, bool is_a)
{
    uint greatest = 0, least = 0xffffffff; /* of the magnitudes; of those less 1, where 0 is the greatest */
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) {
        const uint magnitude = as_uint(x[i]) & 0x7fffffff;
        greatest = max(greatest, magnitude);
        least = min(least, magnitude - 1);
    }
    if (greatest >= 0x7f7f8000) marks[NDR_SPLIT_BEYOND] = number;
    if (greatest >= as_uint(0x1p8f)) set_mark(marks + (is_a ? NDR_SPLIT_A_LARGE : NDR_SPLIT_B_LARGE), number);
    if (least < as_uint(0x1p-110f) - 1) set_mark(marks + (is_a ? NDR_SPLIT_A_TINY : NDR_SPLIT_B_TINY), number);
}

#else

/* The bits of a half: x rounded to nearest, ties to even. */
static inline uint round_to_part(float x, float *rounded)
{
    ushort bits;
    vstore_half_rte(x, 0, (half *)&bits);
    *rounded = vload_half(0, (const half *)&bits);
    return bits;
}

static inline uint find_greatest(const float *x)
{
    uint greatest = 0;
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) greatest = max(greatest, as_uint(x[i]) & 0x7fffffff);
    return greatest;
}

/* The exponent of a line's factor, as the bits of a float have it: the greatest magnitude times 2^(268 - exponent) is at
 * least 2^14 and below 2^15. 1 is the factor of zeros, and of elements that halves do not take. */
static inline uint find_exponent(uint greatest)
{
    const bool is_beyond = greatest < as_uint(0x1p-49f) || greatest >= as_uint(0x1p60f);
    return is_beyond ? 127 + 14 : greatest >> 23;
}

/* Multiply by the line's factor, and count: 1 for a large element, 256 for a small one. */
static inline uint scale(float *x, uint exponent)
{
    const float factor = as_float((268 - exponent) << 23);
    uint count = 0;
#pragma unroll
    for (uint i = 0; i < VALUES; ++i) {
        const bool is_zero = x[i] == 0;
        x[i] *= factor;
        if (fabs(x[i]) >= NDR_HALVES_LARGE) count += 1;
        else if (!is_zero && !(fabs(x[i]) >= NDR_HALVES_FINE(PARTS))) count += 256;
    }
    return count;
}

/* Of a line's stretch, whose count is that of all its elements. */
static inline void set_marks(global uint *marks, uint number, uint greatest, uint count, uint steps)
{
    const bool is_beyond = greatest != 0 && find_exponent(greatest) != greatest >> 23;
    if (is_beyond) set_mark(marks + NDR_HALVES_BEYOND, number);
    if (count >= 256) set_mark(marks + NDR_HALVES_COARSE, number);
    if (greatest != 0 && 4 * (count % 256) < 3 * steps) set_mark(marks + NDR_HALVES_SPARSE, number);
}

#endif

/* Store the parts of the elements of a line, `quarter` of each slab, in the block's stretch at `to`. */
static inline void store_parts(global uchar *to, uint lines, uint line, uint quarter, const float *x)
{
    to += line * (DEPTH * 2) + (quarter ^ (line / 2 % 4)) * 16;
#pragma unroll
    for (uint slab = 0; slab < SLABS; ++slab) {
        uint parts[PARTS][8];
#pragma unroll
        for (uint i = 0; i < 8; ++i) {
            float rest = x[8 * slab + i], rounded;
#pragma unroll
            for (uint p = 0; p < PARTS; ++p) {
                parts[p][i] = round_to_part(rest, &rounded);
                rest -= rounded;
            }
        }
#pragma unroll
        for (uint p = 0; p < PARTS; ++p)
            *(global uint4 *)(to + (slab * PARTS + p) * lines * (DEPTH * 2)) =
                (uint4)(parts[p][0] | parts[p][1] << 16, parts[p][2] | parts[p][3] << 16,
                        parts[p][4] | parts[p][5] << 16, parts[p][6] | parts[p][7] << 16);
    }
}

/* What a group splits: a chunk of lines of one stretch. */
typedef struct chunk {
    ulong line, step; /* the first ones */
    ulong lines;      /* of the whole matrix */
    ulong end;        /* of the steps */
} chunk;

/* Copy a chunk of rows of A to local memory. */
static inline void copy_rows(local float *to, const chunk *at, global const float *a, ulong pitch)
{
#pragma unroll
    for (uint i = 0; i < STEPS / 4; ++i) {
        const uint element = get_local_id(0) + i * (4 * CHUNK), row = element / STEPS, col = element % STEPS;
        const bool is_inside = at->line + row < at->lines && at->step + col < at->end;
        to[row * (STEPS + 1) + col] = is_inside ? a[(at->line + row) * pitch + at->step + col] : 0;
    }
}

/* Copy a chunk of columns of B to local memory, as rows. */
static inline void copy_cols(local float *to, const chunk *at, global const float *b, ulong pitch)
{
#pragma unroll
    for (uint i = 0; i < STEPS / 4; ++i) {
        const uint element = get_local_id(0) + i * (4 * CHUNK), row = element / CHUNK, col = element % CHUNK;
        const bool is_inside = at->line + col < at->lines && at->step + row < at->end;
        to[col * (STEPS + 1) + row] = is_inside ? b[(at->step + row) * pitch + at->line + col] : 0;
    }
}

/* 8 steps of a row of A, which begins at a multiple of 16 bytes. */
static inline void load_row(float *x, const chunk *at, ulong row, ulong step, global const float *a, ulong pitch)
{
    a += row * pitch + step;
    if (row < at->lines && step + 8 <= at->end) {
        const float4 lo = *(global const float4 *)a, hi = *(global const float4 *)(a + 4);
        x[0] = lo.x, x[1] = lo.y, x[2] = lo.z, x[3] = lo.w;
        x[4] = hi.x, x[5] = hi.y, x[6] = hi.z, x[7] = hi.w;
        return;
    }
#pragma unroll
    for (uint i = 0; i < 8; ++i) x[i] = row < at->lines && step + i < at->end ? a[i] : 0;
}

/* The first step of a stretch, or k after the last one. With halves no stretch is short: the last one has 32 to 39
 * steps if the depth leaves less, at the cost of the one before. */
static inline ulong find_step(uint stretch, uint stretches, ulong k)
{
    const ulong step = (ulong)STEPS * stretch;
    if (stretch == stretches) return k;
    return PARTS < 3 ? min(step, (k - 32) & ~7ul) : step;
}

/* What gemm_split_parts() shares in a group. */
typedef struct shared_by_lines {
    float copy[CHUNK * (STEPS + 1)];
#if PARTS < 3
    uint greatest[4 * CHUNK], counts[4 * CHUNK];
#endif
} shared_by_lines;

/* Split one chunk: those of A come first, then those of B. 4 items split a line. */
static inline void split_chunk(uint index, ulong m, ulong n, ulong k, global const float *a, ulong a_pitch,
                               bool is_aligned, global const float *b, ulong b_pitch, global uint *workspace,
                               uint number, local shared_by_lines *shared)
{
    const uint stretches = (uint)((k + STEPS - 1) / STEPS), blocks_m = (uint)((m + TILE_M - 1) / TILE_M);
    const uint a_chunks = blocks_m * (TILE_M / CHUNK) * stretches, b_index = index - a_chunks;
    const uint b_chunks = (uint)((n + TILE_N - 1) / TILE_N) * (TILE_N / CHUNK);
    const bool is_a = index < a_chunks, is_direct = is_a && is_aligned;
    const uint stretch = is_a ? index % stretches : b_index / b_chunks;
    const ulong first = (ulong)CHUNK * (is_a ? index / stretches : b_index % b_chunks);
    const chunk at = { first, find_step(stretch, stretches, k), is_a ? m : n, find_step(stretch + 1, stretches, k) };
    const uint item = get_local_id(0), quarter = item % 4;
    const uint lines = is_a ? TILE_M : TILE_N, line = (uint)at.line + item / 4, block = line / lines;
    global uint *const marks = workspace + NDR_MARKS;
    global uchar *const all = (global uchar *)(workspace + NDR_WORKSPACE_HEAD);
    global uchar *const to = (is_a ? all : all + (ulong)blocks_m * stretches * A_BYTES)
                             + ((ulong)block * stretches + stretch) * lines * LINE_BYTES;
    float x[VALUES];

    if (!is_a) copy_cols(shared->copy, &at, b, b_pitch);
    else if (!is_direct) copy_rows(shared->copy, &at, a, a_pitch);
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint slab = 0; slab < SLABS; ++slab) {
        const uint step = slab * DEPTH + quarter * 8;
        if (is_direct) {
            load_row(x + 8 * slab, &at, line, at.step + step, a, a_pitch);
        } else {
#pragma unroll
            for (uint i = 0; i < 8; ++i) x[8 * slab + i] = shared->copy[item / 4 * (STEPS + 1) + step + i];
        }
    }
#if PARTS == 3
    set_marks(marks, number, x, is_a);
#else
    shared->greatest[item] = find_greatest(x);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint4 g = vload4(item / 4, shared->greatest);
    const uint greatest = max(max(g.x, g.y), max(g.z, g.w)), exponent = find_exponent(greatest);
    shared->counts[item] = scale(x, exponent);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint4 count = vload4(item / 4, shared->counts);
    if (quarter == 0) {
        set_marks(marks, number, greatest, count.x + count.y + count.z + count.w, (uint)(at.end - at.step));
        ((global float *)(to + PARTS * SLABS * lines * (DEPTH * 2)))[line % lines] = as_float((exponent - 14) << 23);
    }
#endif
    store_parts(to, lines, line & (lines - 1), quarter, x);
}

/* Over the chunks, one group each. */
kernel __attribute__((reqd_work_group_size(4 * CHUNK, 1, 1))) void
gemm_split_parts(ulong m, ulong n, ulong k, global const float *restrict a, ulong a_offset, ulong a_pitch,
                 global const float *restrict b, ulong b_offset, ulong b_pitch, global uint *restrict workspace,
                 uint number)
{
    local shared_by_lines shared;
    if (PARTS < 3 && get_global_id(0) == 0) workspace[NDR_MARKS + NDR_HALVES_TRIED] = number;
    split_chunk(get_group_id(0), m, n, k, a + a_offset, a_pitch, (a_offset | a_pitch) % 4 == 0, b + b_offset, b_pitch,
                workspace, number, &shared);
}

#if PARTS == 3

/* The same if halves did not suffice. There may be more chunks than groups, which take them in turn. */
kernel __attribute__((reqd_work_group_size(4 * CHUNK, 1, 1))) void
gemm_split_parts_again(ulong m, ulong n, ulong k, global const float *restrict a, ulong a_offset, ulong a_pitch,
                       global const float *restrict b, ulong b_offset, ulong b_pitch, global uint *restrict workspace,
                       uint number, uint chunks)
{
    local shared_by_lines shared;
    const uint end = halves_suffice(workspace + NDR_MARKS, number) ? 0 : chunks;
    for (uint i = get_group_id(0); i < end; i += get_num_groups(0)) {
        split_chunk(i, m, n, k, a + a_offset, a_pitch, (a_offset | a_pitch) % 4 == 0, b + b_offset, b_pitch, workspace,
                    number, &shared);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#endif

#ifdef NDR_PTX

#define T float
#define T2 float2
#include "matmul/pairs.clh"

#define LATER "//@ "
#define WARPS 8           /* warps that multiply: two teams of 4, 64 rows each */
#define SUMS (TILE_N / 2) /* of an item */
#define STAGE_BYTES (A_BYTES + B_BYTES)
#define STAGE_PITCH ((STAGE_BYTES + 1023) / 1024 * 1024)
#if PARTS < 3
#define PART_TYPES "f16.f16"
#define GROUP (32 * (WARPS + 4)) /* and one that copies, with three whose registers the first 8 take over */
#else
#define PART_TYPES "bf16.bf16"
#define GROUP (32 * (WARPS + 1)) /* and one that copies */
#endif
#define BAND_ROWS 12 /* rows of tiles computed together: the cache keeps what they share */

/* ---- PTX ---- */

/* Announce `bytes` that copies will bring. */
static inline void barrier_expect(uint at, uint bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}

static inline void copy_bytes(uint to, global const uchar *from, uint bytes, uint barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

#define NAMES_32                                                                                                     \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29," \
    "%30,%31"
#define NAMES_64                                                                                                     \
    NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56," \
             "%57,%58,%59,%60,%61,%62,%63"
#define REGISTERS_8(x, i)                                                                                             \
    "+f"((x)[i]), "+f"((x)[(i) + 1]), "+f"((x)[(i) + 2]), "+f"((x)[(i) + 3]), "+f"((x)[(i) + 4]), "+f"((x)[(i) + 5]), \
        "+f"((x)[(i) + 6]), "+f"((x)[(i) + 7])
#define REGISTERS_32(x, i) \
    REGISTERS_8(x, i), REGISTERS_8(x, (i) + 8), REGISTERS_8(x, (i) + 16), REGISTERS_8(x, (i) + 24)

/* sum = (adds ? sum : 0) + 64 rows * TILE_N columns over 16 steps, without waiting. A matrix is described by 64 bits:
 * its address / 16, and MATRIX. */
#define MATRIX (1ul << 16 | 32ul << 32 | 2ul << 62) /* 512 bytes for 8 lines; quarters exchanged over 64 bytes */
#if TILE_N == 64
#define MULTIPLY(sum, a, b, adds)                                                                                     \
    asm volatile(LATER "{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." PART_TYPES \
                       " {" NAMES_32 "}, %32, %33, p, 1, 1, 0, 0;}"                                                   \
                 : REGISTERS_32(sum, 0)                                                                               \
                 : "l"(a), "l"(b), "r"(adds)                                                                          \
                 : "memory")
#else
#define MULTIPLY(sum, a, b, adds)                                                                                      \
    asm volatile(LATER "{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32." PART_TYPES \
                       " {" NAMES_64 "}, %64, %65, p, 1, 1, 0, 0;}"                                                    \
                 : REGISTERS_32(sum, 0), REGISTERS_32(sum, 32)                                                         \
                 : "l"(a), "l"(b), "r"(adds)                                                                           \
                 : "memory")
#endif

/* The 32 steps of one product of parts of a slab. Part p of slab s has the number p + PARTS * s. */
#define MULTIPLY_PARTS(sum, a, p, b, q, adds)                                         \
    do {                                                                              \
        MULTIPLY(sum, (a) + (p) * (TILE_M * 4), (b) + (q) * (TILE_N * 4), adds);      \
        MULTIPLY(sum, (a) + (p) * (TILE_M * 4) + 2, (b) + (q) * (TILE_N * 4) + 2, 1); \
    } while (0)

/* ---- tiles ---- */

typedef struct tile {
    uint row, col; /* in tiles */
} tile;

static inline tile find_tile(uint index, uint tiles_m, uint tiles_n)
{
    const uint band = index / (BAND_ROWS * tiles_n) * BAND_ROWS, within = index % (BAND_ROWS * tiles_n);
    const uint rows = min(tiles_m - band, (uint)BAND_ROWS);
    const tile found = { band + within % rows, within / rows };
    return found;
}

static inline void store(global float *c, float sum, float alpha, float beta)
{
    *c = alpha * sum + (beta == 0 ? 0 : beta * *c); /* 0: C is not read, it may hold NaN */
}

/* One row of C: an item has pairs of columns, 8 apart, of which `cols` columns exist. All loads come first. */
static inline void store_row(global float *c, const float *sum, uint cols, bool is_aligned, float alpha, float beta)
{
    float2 pairs[SUMS / 4];
#pragma unroll
    for (uint j = 0; j < SUMS / 4; ++j) pairs[j] = alpha * (float2)(sum[4 * j], sum[4 * j + 1]);
    if (beta != 0) { /* 0: C is not read, it may hold NaN */
        float2 old[SUMS / 4];
#pragma unroll
        for (uint j = 0; j < SUMS / 4; ++j) old[j] = load_pair(c + 8 * j, cols - min(cols, 8 * j), is_aligned);
#pragma unroll
        for (uint j = 0; j < SUMS / 4; ++j) pairs[j] += beta * old[j];
    }
#pragma unroll
    for (uint j = 0; j < SUMS / 4; ++j) store_pair(c + 8 * j, pairs[j], cols - min(cols, 8 * j), is_aligned);
}

#if PARTS == 3

/* One tile of C by a loop in float: 8 x 8 or 8 x 4 elements an item. */
static inline void multiply_plainly(ulong row0, ulong col0, ulong m, ulong n, ulong k, float alpha,
                                    global const float *a, ulong a_pitch, global const float *b, ulong b_pitch,
                                    float beta, global float *c, ulong c_pitch)
{
    enum { COLS = TILE_N / 16 };
    const uint item = get_local_id(0);
    const ulong row = row0 + item / 16 * 8, col = col0 + item % 16;
    float sum[8][COLS], x[8], y[COLS];
#pragma unroll
    for (uint i = 0; i < 8; ++i)
#pragma unroll
        for (uint j = 0; j < COLS; ++j) sum[i][j] = 0;
    for (ulong p = 0; p < k; ++p) {
#pragma unroll
        for (uint i = 0; i < 8; ++i) x[i] = a[min(row + i, m - 1) * a_pitch + p];
#pragma unroll
        for (uint j = 0; j < COLS; ++j) y[j] = b[p * b_pitch + min(col + 16 * j, n - 1)];
#pragma unroll
        for (uint i = 0; i < 8; ++i)
#pragma unroll
            for (uint j = 0; j < COLS; ++j) sum[i][j] = fma(x[i], y[j], sum[i][j]);
    }
#pragma unroll
    for (uint i = 0; i < 8; ++i)
#pragma unroll
        for (uint j = 0; j < COLS; ++j)
            if (row + i < m && col + 16 * j < n) store(c + (row + i) * c_pitch + col + 16 * j, sum[i][j], alpha, beta);
}

/* Whether three parts of A and B give products within the bound. */
static inline bool parts_suffice(global const uint *marks, uint number)
{
    bool is_set[NDR_SPLIT_MARKS];
#pragma unroll
    for (uint i = 0; i < NDR_SPLIT_MARKS; ++i) is_set[i] = marks[i] == number;
    return !is_set[NDR_SPLIT_BEYOND] && !(is_set[NDR_SPLIT_A_TINY] && is_set[NDR_SPLIT_B_LARGE])
           && !(is_set[NDR_SPLIT_B_TINY] && is_set[NDR_SPLIT_A_LARGE]);
}

#else

/* The factors of an item's sums, from those of its rows and columns: multiplied while the matrix units work. */
static inline void load_factors(float *factors, uint rows_at, uint cols_at)
{
    float x, y;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(rows_at) : "memory");
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(y) : "r"(rows_at + 32) : "memory");
#pragma unroll
    for (uint j = 0; j < SUMS; j += 4)
        asm volatile("{.reg .f32 u, v; ld.shared.v2.f32 {u, v}, [%4]; mul.f32 %0, %5, u; mul.f32 %1, %5, v; "
                     "mul.f32 %2, %6, u; mul.f32 %3, %6, v;}"
                     : "=f"(factors[j]), "=f"(factors[j + 1]), "=f"(factors[j + 2]), "=f"(factors[j + 3])
                     : "r"(cols_at + 8 * j), "f"(x), "f"(y)
                     : "memory");
}

#endif

/* Over groups that take the tiles in turn, at most one for each compute unit. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gemm_split(ulong m, ulong n, ulong k, float alpha, global const float *restrict a, ulong a_offset, ulong a_pitch,
           global const float *restrict b, ulong b_offset, ulong b_pitch, float beta, global float *restrict c,
           ulong c_offset, ulong c_pitch, global uint *restrict workspace, uint number)
{
    local uchar stages[STAGES * STAGE_PITCH + 1024] __attribute__((aligned(1024)));
    local ulong barriers[2 * STAGES];
    const uint memory = (PTX_ADDRESS(stages) + 1023) & ~1023u;
    const uint full = PTX_ADDRESS(barriers), empty = full + 8 * STAGES;
    const uint item = get_local_id(0), lane = item % 32, warp = item / 32;
    const uint tiles_m = (uint)((m + TILE_M - 1) / TILE_M), tiles_n = (uint)((n + TILE_N - 1) / TILE_N);
    const uint tiles = tiles_m * tiles_n, stretches = (uint)((k + STEPS - 1) / STEPS);
    uint stage = 0, phase = 0;

    c += c_offset;
#if PARTS < 3
    if (!halves_suffice(workspace + NDR_MARKS, number)) return;
#else
    if (halves_suffice(workspace + NDR_MARKS, number)) return;
    if (!parts_suffice(workspace + NDR_MARKS, number)) {
        if (warp < WARPS)
            for (uint i = get_group_id(0); i < tiles; i += get_num_groups(0)) {
                const tile t = find_tile(i, tiles_m, tiles_n);
                multiply_plainly((ulong)t.row * TILE_M, (ulong)t.col * TILE_N, m, n, k, alpha, a + a_offset, a_pitch,
                                 b + b_offset, b_pitch, beta, c, c_pitch);
            }
        return;
    }
#endif

    if (item == 0) {
        for (uint i = 0; i < STAGES; ++i) {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, WARPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    if (warp >= WARPS) { /* copies */
        global const uchar *const parts = (global const uchar *)(workspace + NDR_WORKSPACE_HEAD);
#if PARTS < 3
        asm volatile(LATER "setmaxnreg.dec.sync.aligned.u32 24;" ::: "memory");
#endif
        if (item > 32 * WARPS) return;
        for (uint i = get_group_id(0); i < tiles; i += get_num_groups(0)) {
            const tile t = find_tile(i, tiles_m, tiles_n);
            global const uchar *a_from = parts + (ulong)t.row * stretches * A_BYTES;
            global const uchar *b_from =
                parts + (ulong)tiles_m * stretches * A_BYTES + (ulong)t.col * stretches * B_BYTES;
            for (uint s = 0; s < stretches; ++s) {
                const uint to = memory + stage * STAGE_PITCH, barrier = full + 8 * stage;
                barrier_wait(empty + 8 * stage, phase ^ 1);
                barrier_expect(barrier, STAGE_BYTES);
                copy_bytes(to, a_from, A_BYTES, barrier);
                copy_bytes(to + A_BYTES, b_from, B_BYTES, barrier);
                a_from += A_BYTES;
                b_from += B_BYTES;
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1;
                }
            }
        }
        return;
    }

#if PARTS < 3
    asm volatile(LATER "setmaxnreg.inc.sync.aligned.u32 240;" ::: "memory");
#endif
    /* Two teams of 4 warps take turns: one adds its sums while the other multiplies. */
    const uint team = warp / 4;
    const bool is_aligned = (c_offset | c_pitch) % 2 == 0;
    float sum[SUMS], part[SUMS];
#pragma unroll
    for (uint i = 0; i < SUMS; ++i) part[i] = 0;
    if (team == 1) asm volatile("bar.arrive 1, 256;" ::: "memory"); /* the first one begins */
    for (uint i = get_group_id(0); i < tiles; i += get_num_groups(0)) {
#pragma unroll
        for (uint j = 0; j < SUMS; ++j) sum[j] = 0;
        for (uint s = 0; s < stretches; ++s) {
            asm volatile("bar.sync %0, 256;" ::"r"(1 + team) : "memory"); /* this team's turn */
            barrier_wait(full + 8 * stage, phase);
            const uint at = memory + stage * STAGE_PITCH;
            const ulong a_at = MATRIX | (at + team * (64 * DEPTH * 2)) >> 4, b_at = MATRIX | (at + A_BYTES) >> 4;
            asm volatile(LATER "wgmma.fence.sync.aligned;" ::: "memory");
#if PARTS == 1
            MULTIPLY_PARTS(part, a_at, 0, b_at, 0, 0);
            MULTIPLY_PARTS(part, a_at, 1, b_at, 1, 1);
            MULTIPLY_PARTS(part, a_at, 2, b_at, 2, 1);
#else
            MULTIPLY_PARTS(part, a_at, 2, b_at, 0, 0); /* the smallest first */
            MULTIPLY_PARTS(part, a_at, 0, b_at, 2, 1);
            MULTIPLY_PARTS(part, a_at, 1, b_at, 1, 1);
            MULTIPLY_PARTS(part, a_at, 1, b_at, 0, 1);
            MULTIPLY_PARTS(part, a_at, 0, b_at, 1, 1);
            MULTIPLY_PARTS(part, a_at, 0, b_at, 0, 1);
#endif
            asm volatile(LATER "wgmma.commit_group.sync.aligned;" ::: "memory");
            asm volatile("bar.arrive %0, 256;" ::"r"(2 - team) : "memory"); /* the other team's turn */
#if PARTS < 3
            float factors[SUMS];
            load_factors(factors, at + PARTS * SLABS * TILE_M * (DEPTH * 2) + (warp * 16 + lane / 4) * 4,
                         at + A_BYTES + PARTS * SLABS * TILE_N * (DEPTH * 2) + lane % 4 * 8);
#endif
            asm volatile(LATER "wgmma.wait_group.sync.aligned 0;" ::: "memory");
            join_warp();
            if (lane == 0) barrier_arrive(empty + 8 * stage);
#pragma unroll
#if PARTS < 3
            for (uint j = 0; j < SUMS; ++j) sum[j] = fma(part[j], factors[j], sum[j]);
#else
            for (uint j = 0; j < SUMS; ++j) sum[j] += part[j];
#endif
            if (++stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
        const tile t = find_tile(i, tiles_m, tiles_n);
        const ulong row = (ulong)t.row * TILE_M + warp * 16 + lane / 4, col = (ulong)t.col * TILE_N + lane % 4 * 2;
        const uint cols = (uint)(min(n, col + TILE_N) - min(n, col));
#pragma unroll
        for (uint h = 0; h < 2; ++h)
            if (row + 8 * h < m)
                store_row(c + (row + 8 * h) * c_pitch + col, sum + 2 * h, cols, is_aligned, alpha, beta);
    }
}

#endif
