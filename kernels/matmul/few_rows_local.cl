/* few_rows_local.cl - C = alpha * A * B + beta * C on GPUs for few rows: as few.cl, with A in local memory.
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements.
 *
 * A group computes a strip of C, WIDTH * SPREAD vectors wide. It goes along k in chunks, of which each of its slices
 * takes STEPS steps. While the items multiply one chunk of A from local memory, they load the next one. At the end the
 * sums of the slices are added in a fixed order. */
#include "join.clh"
#include "ndr/nd_item.clh"

/* Defaults, with which the file compiles by itself. */
#ifndef T
#define T float   /* of an element */
#define B_RUN 1   /* elements of B in one load: those of 16 bytes if all such vectors are aligned */
#define ROWS 8    /* at least m */
#define STEPS 4   /* of a slice in a chunk */
#define WIDTH 8
#define SLICES 32 /* a power of two */
#endif
#ifndef SPREAD
#define SPREAD 1  /* vectors of an item in a row of B, WIDTH vectors apart */
#endif

#define GROUP (WIDTH * SLICES)
#define CHUNK (SLICES * STEPS)
#define SUMS (ROWS * SPREAD) /* of an item */

#if B_RUN == 1
typedef T b_run;
#else
typedef JOIN(T, B_RUN) b_run;
#endif
#include "matmul/slices.clh"

/* Copy the elements of a vector. */
static inline void unpack(T to[B_RUN], b_run x)
{
#if B_RUN == 1
    to[0] = x;
#else
    JOIN(vstore, B_RUN)(x, 0, to);
#endif
}

#define SCRATCH_COLUMNS (GROUP / 2 * B_RUN * SPREAD) /* for half of the sums */
#define TILE_COLUMNS (2 * CHUNK > SCRATCH_COLUMNS ? 2 * CHUNK : SCRATCH_COLUMNS)
#define A_LOADS ((CHUNK * ROWS + GROUP - 1) / GROUP)

#if ROWS == 1
typedef T column;
#else
typedef JOIN(T, ROWS) column;
#endif

/* An item's elements of a chunk of A: of one row. Those of steps that do not exist are zeros. */
static inline void load_a(T x[A_LOADS], uint item, global const T *a, ulong steps)
{
#pragma unroll
    for (uint i = 0; i < A_LOADS; ++i) {
        const uint step = (item + i * GROUP) / ROWS;
        x[i] = step < steps ? a[step] : (T)0;
    }
}

static inline void store_a(local T *tile, uint item, const T x[A_LOADS])
{
#pragma unroll
    for (uint i = 0; i < A_LOADS; ++i)
        if (item + i * GROUP < CHUNK * ROWS) tile[item + i * GROUP] = x[i];
}

/* Add STEPS columns of A times this item's part of as many rows of B. */
static inline void add_steps(b_run sum[ROWS][SPREAD], b_run y[STEPS][SPREAD], local const column *a)
{
#pragma unroll
    for (uint s = 0; s < STEPS; ++s) {
        T x[ROWS];
#if ROWS == 1
        x[0] = a[s];
#else
        JOIN(vstore, ROWS)(a[s], 0, x);
#endif
#pragma unroll
        for (uint r = 0; r < ROWS; ++r)
#pragma unroll
            for (uint q = 0; q < SPREAD; ++q) sum[r][q] = fma((b_run)(x[r]), y[s][q], sum[r][q]);
    }
}

/* Over (products, strips of WIDTH * SPREAD * B_RUN columns) groups. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gemm_few_rows(ulong count, ulong m, ulong n, ulong k, T alpha, global const T *restrict a, ulong a_offset,
              ulong a_pitch, ulong a_stride, global const T *restrict b, ulong b_offset, ulong b_pitch, ulong b_stride,
              T beta, global T *restrict c, ulong c_offset, ulong c_pitch, ulong c_stride, NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    local column tiles[TILE_COLUMNS] __attribute__((aligned(64)));
    const uint item = (uint)ndr_local_id(it, 1), first = item / WIDTH * STEPS;
    const ulong product = ndr_group_id(it, 0), col = (ndr_group_id(it, 1) * (WIDTH * SPREAD) + item % WIDTH) * B_RUN;
    (void)count; /* the range has a group for each product */
    a += a_offset + product * a_stride + min((ulong)(item % ROWS), m - 1) * a_pitch;
    b += b_offset + product * b_stride + first * b_pitch;
    c += c_offset + product * c_stride;
    ulong at[SPREAD];
    b_run sum[ROWS][SPREAD];
#pragma unroll
    for (uint q = 0; q < SPREAD; ++q) {
        at[q] = min(col + q * (WIDTH * B_RUN), n - B_RUN);
#pragma unroll
        for (uint r = 0; r < ROWS; ++r) sum[r][q] = (b_run)(0);
    }

    T x[A_LOADS];
    load_a(x, item, a, k);
    store_a((local T *)tiles, item, x);
    uint now = 0;
    ulong left = k;
    for (; left >= CHUNK; left -= CHUNK) {
        b_run y[STEPS][SPREAD];
#pragma unroll
        for (uint s = 0; s < STEPS; ++s)
#pragma unroll
            for (uint q = 0; q < SPREAD; ++q) y[s][q] = *(global const b_run *)(b + s * b_pitch + at[q]);
        a += CHUNK;
        b += CHUNK * b_pitch;
        load_a(x, item, a, left - CHUNK);
        barrier(CLK_LOCAL_MEM_FENCE);
        add_steps(sum, y, tiles + now * CHUNK + first);
        now ^= 1;
        store_a((local T *)(tiles + now * CHUNK), item, x);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (left > 0) {
        b_run y[STEPS][SPREAD];
#pragma unroll
        for (uint s = 0; s < STEPS; ++s)
#pragma unroll
            for (uint q = 0; q < SPREAD; ++q)
                y[s][q] = first + s < left ? *(global const b_run *)(b + s * b_pitch + at[q]) : (b_run)(0);
        add_steps(sum, y, tiles + now * CHUNK + first);
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    add_slices((private b_run *)sum, (local b_run *)tiles, item);
    if (item >= WIDTH) return;
#pragma unroll
    for (uint q = 0; q < SPREAD; ++q) {
        const ulong first_col = col + q * (WIDTH * B_RUN);
        if (first_col >= n) continue;
#pragma unroll
        for (uint r = 0; r < ROWS; ++r) {
            T part[B_RUN];
            unpack(part, sum[r][q]);
#pragma unroll
            for (uint j = 0; j < B_RUN; ++j) {
                global T *const out = c + r * c_pitch + first_col + j;
                if (r < m) *out = alpha * part[j] + (beta == (T)0 ? (T)0 : beta * *out);
            }
        }
    }
}
