/* blocked.cl - C = alpha * A * B + beta * C on GPUs, row-major: a block of C in the registers of each item.
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements.
 *
 *                  TILE_N                A group computes one TILE_M x TILE_N tile of C. It goes along k in steps of
 *               +----------+             TILE_K. While the items multiply one step from local memory, they load the
 *        TILE_K |  b_tile  |             next one to registers, and store it to the other half of local memory.
 *               +----------+
 *    TILE_K     +----------+             An item computes ITEM_M x ITEM_N elements, as squares of LANES x LANES spread
 *   +------+    |          |             over the tile: neighbours read neighbouring vectors of local memory.
 *   |a_tile|    |  C tile  | TILE_M      a_tile is transposed.
 *   +------+    +----------+             The group has SLICES slices. Each takes a part of every step along k. Their
 *                                        sums are added at the end, in the order of the slices.
 *
 * If C is smaller than a tile, rows and columns past the last are computed from the last one and not stored. If k is no
 * multiple of TILE_K, the first step is the short one, padded with zeros: the others need no checks. */
#include "join.clh"
#include "ndr/item.clh"
#include "ndr/nd_item.clh"
#include "ndr/detail/workspace.h"

/* Defaults, with which the file compiles by itself. */
#ifndef T
#define T float /* of an element */
#define LANES 4 /* elements of 16 bytes */
#define TILE_M 64
#define TILE_N 64
#define TILE_K 8
#define ITEM_M 4
#define ITEM_N 4
#define SLICES 1
#define A_RUN 1   /* elements of A along k in one load: LANES if all such vectors are aligned */
#define B_RUN 1   /* the same of B along n */
#define CLAMP_M 1 /* 0 if C has at least TILE_M rows */
#define CLAMP_N 1 /* 0 if C has at least TILE_N columns */
#endif

#define V JOIN(T, LANES)
#define ITEMS_M (TILE_M / ITEM_M)
#define ITEMS_N (TILE_N / ITEM_N)
#define SLICE (ITEMS_M * ITEMS_N) /* items of a slice */
#define GROUP (SLICE * SLICES)
#define SIDE_N (ITEMS_N < 8 ? ITEMS_N : 8) /* items side by side along n among 32 neighbours */
#define SIDE_M (32 / SIDE_N)
#define A_SIDE (A_RUN > 1 ? 2 : 4) /* items side by side along k that load A */
#define A_LOADS (TILE_M * TILE_K / A_RUN / GROUP)
#define B_LOADS (TILE_N * TILE_K / B_RUN / GROUP)
#define BAND_ROWS 8 /* rows of tiles computed together: the cache keeps what they share */

/* The place of an item's loads of A and B in the tiles. */
#define A_ROW(i) ((item + (i) * GROUP) / A_SIDE % TILE_M)
#define A_COL(i) (((item + (i) * GROUP) % A_SIDE + (item + (i) * GROUP) / (A_SIDE * TILE_M) * A_SIDE) * A_RUN)
#define B_ROW(i) ((item + (i) * GROUP) / (TILE_N / B_RUN))
#define B_COL(i) ((item + (i) * GROUP) % (TILE_N / B_RUN) * B_RUN)

/* The addresses of an item's loads of A and B at one step. */
#define A_AT(i) \
    ((global const a_run *)(a_from + ((CLAMP_M ? min(A_ROW(i), rows - 1) : A_ROW(i)) * (uint)a_pitch + A_COL(i))))
#define B_AT(i) \
    ((global const b_run *)(b_from + (B_ROW(i) * (uint)b_pitch + (CLAMP_N ? min(B_COL(i), cols - B_RUN) : B_COL(i)))))

/* Copy the elements of a vector. */
static inline void unpack(T *to, V x)
{
    to[0] = x.s0;
    to[1] = x.s1;
#if LANES == 4
    to[2] = x.s2;
    to[3] = x.s3;
#endif
}

#if A_RUN == 1
typedef T a_run;
#else
typedef V a_run;
#endif
#if B_RUN == 1
typedef T b_run;
#else
typedef V b_run;
#endif

static inline void store_a(local T *tile, uint item, const a_run *x)
{
#pragma unroll
    for (uint i = 0; i < A_LOADS; ++i) {
        local T *const to = tile + A_COL(i) * TILE_M + A_ROW(i);
#if A_RUN == 1
        to[0] = x[i];
#else
        T part[LANES];
        unpack(part, x[i]);
#pragma unroll
        for (uint j = 0; j < LANES; ++j) to[j * TILE_M] = part[j];
#endif
    }
}

static inline void store_b(local T *tile, uint item, const b_run *x)
{
#pragma unroll
    for (uint i = 0; i < B_LOADS; ++i) *(local b_run *)(tile + B_ROW(i) * TILE_N + B_COL(i)) = x[i];
}

/* Read an item's operands of one step: ITEM_M elements of a column of A, ITEM_N of a row of B. */
static inline void read_step(T *x, T *y, local const T *a, local const T *b)
{
#pragma unroll
    for (uint i = 0; i < ITEM_M / LANES; ++i) unpack(x + i * LANES, *(local const V *)(a + i * (ITEMS_M * LANES)));
#pragma unroll
    for (uint j = 0; j < ITEM_N / LANES; ++j) unpack(y + j * LANES, *(local const V *)(b + j * (ITEMS_N * LANES)));
}

static inline void multiply_step(T sum[ITEM_M][ITEM_N], const T *x, const T *y)
{
#pragma unroll
    for (uint i = 0; i < ITEM_M; ++i)
#pragma unroll
        for (uint j = 0; j < ITEM_N; ++j) sum[i][j] = fma(x[i], y[j], sum[i][j]);
}

/* The steps of one slice; a and b point to the item's first operands. */
static inline void multiply_tiles(T sum[ITEM_M][ITEM_N], local const T *a, local const T *b)
{
    T x[2][ITEM_M], y[2][ITEM_N]; /* of this step and of the next one */
    read_step(x[0], y[0], a, b);
#pragma unroll
    for (uint p = 0; p < TILE_K / SLICES; ++p) {
        const uint now = p & 1, next = (p + 1) & 1;
        if (p + 1 < TILE_K / SLICES) read_step(x[next], y[next], a + (p + 1) * TILE_M, b + (p + 1) * TILE_N);
        multiply_step(sum, x[now], y[now]);
    }
}

/* Add the sums of all slices to those of the first, one slice at a time. */
static inline void add_slices(T sum[ITEM_M][ITEM_N], local T *scratch, uint slice, uint place)
{
    for (uint z = 1; z < SLICES; ++z) {
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint e = 0; e < ITEM_M * ITEM_N; ++e)
            if (slice == z) scratch[e * SLICE + place] = sum[e / ITEM_N][e % ITEM_N];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint e = 0; e < ITEM_M * ITEM_N; ++e)
            if (slice == 0) sum[e / ITEM_N][e % ITEM_N] += scratch[e * SLICE + place];
    }
}

#if LANES == 4
#define PACK(x) ((V)((x)[0], (x)[1], (x)[2], (x)[3]))
#else
#define PACK(x) ((V)((x)[0], (x)[1]))
#endif

/* Store LANES elements of a row of C, of which this tile stores [begin, end). */
static inline void store_run(global T *c, const T *sum, uint begin, uint end, bool is_aligned, T alpha, T beta)
{
    if (is_aligned && begin == 0 && end >= LANES) {
        V x = alpha * PACK(sum);
        if (beta != (T)0) x += beta * *(global const V *)c; /* 0: C is not read, it may hold NaN */
        *(global V *)c = x;
        return;
    }
#pragma unroll
    for (uint j = 0; j < LANES; ++j)
        if (j >= begin && j < end) c[j] = alpha * sum[j] + (beta == (T)0 ? (T)0 : beta * c[j]);
}

/* Over products * tiles groups; over parts * tiles groups if k is divided: then there is one product. Each part takes
 * `depth` steps along k, and each group stores its sums to the workspace. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gemm_blocked(ulong m, ulong n, ulong k, T alpha, global const T *restrict a, ulong a_offset, ulong a_pitch,
             ulong a_stride, global const T *restrict b, ulong b_offset, ulong b_pitch, ulong b_stride, T beta,
             global T *restrict c, ulong c_offset, ulong c_pitch, ulong c_stride, ulong depth,
             global uint *restrict workspace, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    local T tiles[2 * TILE_K * (TILE_M + TILE_N)] __attribute__((aligned(16)));
    local T *const a_tiles = tiles, *const b_tiles = tiles + 2 * TILE_K * TILE_M;

    const uint tiles_m = (uint)((m + TILE_M - 1) / TILE_M), tiles_n = (uint)((n + TILE_N - 1) / TILE_N);
    const uint index = (uint)(ndr_group_id(it, 0) / (tiles_m * tiles_n));
    const uint part = depth < k ? index : 0; /* of k */
    const ulong product = depth < k ? 0 : index;
    a_offset += product * a_stride;
    b_offset += product * b_stride;
    c_offset += product * c_stride;
    const uint group = (uint)(ndr_group_id(it, 0) % (tiles_m * tiles_n));
    const uint band = group / (BAND_ROWS * tiles_n) * BAND_ROWS;
    const uint within = group % (BAND_ROWS * tiles_n), band_rows = min(tiles_m - band, (uint)BAND_ROWS);
    ulong row0 = (ulong)(band + within % band_rows) * TILE_M, col0 = (ulong)(within / band_rows) * TILE_N;
    /* The last tile ends where C ends. It stores only what no other tile stores. */
    const uint rows = (uint)min((ulong)TILE_M, m - row0), cols = (uint)min((ulong)TILE_N, n - col0);
    const uint above = CLAMP_M ? 0 : TILE_M - rows, before = CLAMP_N ? 0 : TILE_N - cols;
    row0 -= above;
    col0 -= before;

    const uint item = (uint)ndr_local_id(it, 0), slice = item / SLICE, place = item % SLICE;
    const uint side = place % 32, block = place / 32;
    const uint x = block % (ITEMS_N / SIDE_N) * SIDE_N + side % SIDE_N;
    const uint y = block / (ITEMS_N / SIDE_N) * SIDE_M + side / SIDE_N;

    T sum[ITEM_M][ITEM_N];
#pragma unroll
    for (uint i = 0; i < ITEM_M; ++i)
#pragma unroll
        for (uint j = 0; j < ITEM_N; ++j) sum[i][j] = (T)0;

    const ulong k0 = part * depth;
    if (k > k0) {
        const ulong steps = min(depth, k - k0);
        global const T *a_from = a + a_offset + row0 * a_pitch + k0;
        global const T *b_from = b + b_offset + k0 * b_pitch + col0;
        const uint first = (uint)((steps - 1) % TILE_K) + 1;
        a_run a_next[A_LOADS];
        b_run b_next[B_LOADS];
#pragma unroll
        for (uint i = 0; i < A_LOADS; ++i) a_next[i] = A_COL(i) < first ? *A_AT(i) : (a_run)(0);
#pragma unroll
        for (uint i = 0; i < B_LOADS; ++i) b_next[i] = B_ROW(i) < first ? *B_AT(i) : (b_run)(0);
        a_from += first;
        b_from += first * b_pitch;
        store_a(a_tiles, item, a_next);
        store_b(b_tiles, item, b_next);
        barrier(CLK_LOCAL_MEM_FENCE);

        local const T *const a_mine = a_tiles + slice * (TILE_K / SLICES * TILE_M) + y * LANES;
        local const T *const b_mine = b_tiles + slice * (TILE_K / SLICES * TILE_N) + x * LANES;
        uint now = 0;
        for (ulong left = steps - first;; left -= TILE_K) {
            const bool more = left > 0;
            if (more) {
#pragma unroll
                for (uint i = 0; i < A_LOADS; ++i) a_next[i] = *A_AT(i);
#pragma unroll
                for (uint i = 0; i < B_LOADS; ++i) b_next[i] = *B_AT(i);
                a_from += TILE_K;
                b_from += TILE_K * b_pitch;
            }
            multiply_tiles(sum, a_mine + now * (TILE_K * TILE_M), b_mine + now * (TILE_K * TILE_N));
            if (!more) break;
            now ^= 1;
            store_a(a_tiles + now * (TILE_K * TILE_M), item, a_next);
            store_b(b_tiles + now * (TILE_K * TILE_N), item, b_next);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
#if SLICES > 1
    add_slices(sum, tiles, slice, place);
    if (slice > 0) return;
#endif
    if (depth < k) {
        c = (global T *)(workspace + NDR_WORKSPACE_HEAD);
        c_offset = part * (m * n);
        c_pitch = n;
        alpha = (T)1;
        beta = (T)0;
    }
    const bool is_aligned = (c_offset | c_pitch | before) % LANES == 0;
    c += c_offset + row0 * c_pitch + col0;
#if A_RUN > 1 && B_RUN > 1 /* otherwise the registers that this takes cost more than it gains */
    if (is_aligned && rows == TILE_M && cols == TILE_N && alpha == (T)1 && beta == (T)0) {
#pragma unroll
        for (uint i = 0; i < ITEM_M; ++i) {
            global T *const out = c + (i / LANES * (ITEMS_M * LANES) + y * LANES + i % LANES) * c_pitch + x * LANES;
#pragma unroll
            for (uint j = 0; j < ITEM_N; j += LANES) *(global V *)(out + j * ITEMS_N) = PACK(&sum[i][j]);
        }
        return;
    }
#endif
#pragma unroll
    for (uint i = 0; i < ITEM_M; ++i) {
        const uint row = i / LANES * (ITEMS_M * LANES) + y * LANES + i % LANES;
        if (row < above || row >= above + rows) continue;
#pragma unroll
        for (uint j = 0; j < ITEM_N; j += LANES) {
            const uint col = j * ITEMS_N + x * LANES;
            const uint begin = before - min(before, col), end = before + cols - min(before + cols, col);
            store_run(c + row * c_pitch + col, &sum[i][j], begin, end, is_aligned, alpha, beta);
        }
    }
}

/* Over the elements of C: C = alpha * (the sums of all parts, added in their order) + beta * C. */
kernel void gemm_blocked_add(T alpha, T beta, global T *restrict c, ulong c_offset, ulong c_pitch,
                             ulong parts, global const uint *restrict workspace, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const ulong m = ndr_global_range(it, 0), n = ndr_global_range(it, 1);
    const ulong row = ndr_global_id(it, 0), col = ndr_global_id(it, 1);
    global const T *const sums = (global const T *)(workspace + NDR_WORKSPACE_HEAD) + row * n + col;
    T sum = sums[0];
    for (ulong part = 1; part < parts; ++part) sum += sums[part * m * n];
    global T *const out = c + c_offset + row * c_pitch + col;
    *out = alpha * sum + (beta == (T)0 ? (T)0 : beta * *out);
}
