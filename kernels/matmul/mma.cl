/* mma.cl - C = alpha * A * B + beta * C in double, row-major, by a GPU's matrix units: inline PTX, mma of 16 x 8 x 16.
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements.
 *
 * A group computes one TILE_M x TILE_N tile of C, a warp WARP_M x WARP_N of it. The group goes along k in steps of
 * TILE_K. The items copy the steps to local memory without waiting for them, AHEAD steps ahead, into STAGES stages in
 * turn. What lies past the end of A or B becomes zeros. Each stage has two barriers: `full` waits for all copies to it,
 * `empty` for all warps that read it. So no warp waits for another one's products.
 */
#include "matmul/bands.clh"
#include "matmul/condition.clh"
#include "ptx.clh"

/* Defaults, with which the file compiles by itself. */
#ifndef TILE_M
#define TILE_M 128
#define TILE_N 128
#define TILE_K 16
#define WARP_M 64 /* a multiple of 32 */
#define WARP_N 32 /* a multiple of 8 */
#define STAGES 4
#define AHEAD 2 /* STAGES if k has no more steps, otherwise fewer */
#define A_RUN 1 /* elements of A in one copy: 2 if all such pairs are aligned */
#define B_RUN 1 /* the same of B */
#endif

#ifdef NDR_PTX

#define T double
#define T2 double2
#define PAIRS (WARP_N / 8)
#include "matmul/pairs.clh"

#define WARPS_M (TILE_M / WARP_M)
#define WARPS (WARPS_M * (TILE_N / WARP_N))
#define GROUP (32 * WARPS)
#define BAND_ROWS 8 /* rows of tiles computed together: the cache keeps what they share */

/* Elements between rows in local memory: 32 bytes more than a multiple of 128, so that loads have no bank conflicts. */
#define A_PITCH (TILE_K + 4)
#define B_PITCH (TILE_N + 4)
#define A_BYTES (8 * TILE_M * A_PITCH)
#define STAGE_BYTES (A_BYTES + 8 * TILE_K * B_PITCH)

#define BLOCKS_M (WARP_M / 16) /* blocks of 16 x 8 in a warp's part of C */
#define BLOCKS_N (WARP_N / 8)
#define BLOCKS_K (TILE_K / 16)

/* ---- local memory ---- */

/* Copy `run` elements, of which `count` exist; the others become zeros. */
static inline void copy_run(uint to, global const double *from, uint run, uint count)
{
    if (run == 2)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(8 * count) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(8 * count) : "memory");
}

/* This item's share of copying height x width elements, of which rows x cols exist. */
static inline void copy_tile(uint to, uint to_pitch, uint height, uint width, uint run, global const double *from,
                             uint pitch, uint rows, uint cols)
{
    const uint item = get_local_id(0);
#pragma unroll
    for (uint i = 0; i < height * width / run / GROUP; ++i) {
        const uint piece = item + i * GROUP, row = piece / (width / run), col = piece % (width / run) * run;
        const uint count = row < rows ? min(run, cols - min(cols, col)) : 0;
        copy_run(to + 8 * (row * to_pitch + col), from + (row * pitch + col), run, count);
    }
}

/* The barrier `full` of a stage ends its phase after these copies of all items. */
static inline void arrive_after_copies(uint barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

static inline void load(double *x, uint from)
{
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(*x) : "r"(from) : "memory");
}

/* An item's part of 16 rows and 16 steps of A: 2 rows, 8 apart, of 4 steps, 4 apart. */
static inline void load_a(double x[8], uint from)
{
#pragma unroll
    for (uint i = 0; i < 8; ++i) load(&x[i], from + 8 * (i % 2 * 8 * A_PITCH + i / 2 * 4));
}

/* An item's part of 16 steps and 8 columns of B: a column of 4 steps, 4 apart. */
static inline void load_b(double y[4], uint from)
{
#pragma unroll
    for (uint i = 0; i < 4; ++i) load(&y[i], from + 8 * (i * 4 * B_PITCH));
}

/* ---- products ---- */

/* Add 16 rows times 8 columns. */
static inline void multiply(double sum[4], const double a[8], const double b[4])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                 : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
                   "d"(b[1]), "d"(b[2]), "d"(b[3]));
}

/* Over (products, tiles) groups. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gemm_mma(ulong count, ulong m, ulong n, ulong k, double alpha, global const double *restrict a, ulong a_offset,
         ulong a_pitch, ulong a_stride, global const double *restrict b, ulong b_offset, ulong b_pitch, ulong b_stride,
         double beta, global double *restrict c, ulong c_offset, ulong c_pitch, ulong c_stride CONDITION_PARAMETERS)
{
    local double stages[STAGES * STAGE_BYTES / 8] __attribute__((aligned(128)));
    local ulong barriers[2 * STAGES];
    if (!IS_NEEDED) return;
    const uint memory = PTX_ADDRESS(stages), full = PTX_ADDRESS(barriers), empty = full + 8 * STAGES;
    const uint item = get_local_id(0), lane = item % 32, warp = item / 32, eighth = lane / 4, quarter = lane % 4;
    const uint warp_row = warp % WARPS_M * WARP_M, warp_col = warp / WARPS_M * WARP_N;

    const uint tiles_m = (uint)((m + TILE_M - 1) / TILE_M), tiles_n = (uint)((n + TILE_N - 1) / TILE_N);
    const uint2 tile = find_in_bands(get_group_id(0), tiles_m, tiles_n, BAND_ROWS);
    const ulong row0 = (ulong)tile.x * TILE_M, col0 = (ulong)tile.y * TILE_N;
    const uint rows = (uint)min((ulong)TILE_M, m - row0), cols = (uint)min((ulong)TILE_N, n - col0);

    const ulong product = get_group_id(1);
    (void)count; /* the range has a group for each product */
    a += a_offset + product * a_stride + row0 * a_pitch;
    b += b_offset + product * b_stride + col0;
    ulong left = k; /* steps that are not copied yet */
    const bool is_whole = rows == TILE_M && cols == TILE_N;
#define COPY(to, height, depth, width)                                              \
    copy_tile(to, A_PITCH, TILE_M, TILE_K, A_RUN, a, (uint)a_pitch, height, depth); \
    copy_tile((to) + A_BYTES, B_PITCH, TILE_K, TILE_N, B_RUN, b, (uint)b_pitch, depth, width)
#define COPY_STEP(stage)                                                                      \
    do {                                                                                      \
        const uint to = memory + (stage)*STAGE_BYTES, steps = (uint)min(left, (ulong)TILE_K); \
        if (is_whole && steps == TILE_K) {                                                    \
            COPY(to, TILE_M, TILE_K, TILE_N); /* constants: nothing is compared */            \
        } else {                                                                              \
            COPY(to, rows, steps, cols);                                                      \
        }                                                                                     \
        arrive_after_copies(full + 8 * (stage));                                              \
        a += TILE_K;                                                                          \
        b += TILE_K * b_pitch;                                                                \
        left -= steps;                                                                        \
    } while (0)

    double sum[BLOCKS_M][BLOCKS_N][4], x[2][8], y[BLOCKS_N][4];
#pragma unroll
    for (uint i = 0; i < BLOCKS_M; ++i)
#pragma unroll
        for (uint j = 0; j < BLOCKS_N; ++j) sum[i][j][0] = sum[i][j][1] = sum[i][j][2] = sum[i][j][3] = 0;

    if (item == 0)
        for (uint i = 0; i < STAGES; ++i) {
            barrier_init(full + 8 * i, GROUP);
            barrier_init(empty + 8 * i, WARPS);
        }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < AHEAD; ++i)
        if (left > 0) COPY_STEP(i);

    const uint tiles_k = (uint)((k + TILE_K - 1) / TILE_K);
    const uint a_from = memory + 8 * ((warp_row + eighth) * A_PITCH + quarter);
    const uint b_from = memory + A_BYTES + 8 * (quarter * B_PITCH + warp_col + eighth);
    uint now = 0, full_phase = 0, next = AHEAD, empty_phase = 1;
    if (tiles_k > 0) {
        barrier_wait(full, 0);
        load_a(x[0], a_from);
#pragma unroll
        for (uint j = 0; j < BLOCKS_N; ++j) load_b(y[j], b_from + 64 * j);
    }
    for (uint t = 0; t < tiles_k; ++t) {
        const uint after = now + 1 == STAGES ? 0 : now + 1;
        uint stage = now * STAGE_BYTES; /* of the next loads */
#pragma unroll
        for (uint p = 0; p < BLOCKS_K; ++p)
#pragma unroll
            for (uint i = 0; i < BLOCKS_M; ++i) {
                const bool is_last = i + 1 == BLOCKS_M;
                /* The next A is loaded while this one multiplies. B's registers are loaded again after their last use,
                 * at the end from the next stage. */
                if (!is_last) load_a(x[(i + 1) % 2], a_from + stage + 8 * ((i + 1) * 16 * A_PITCH + p * 16));
                else if (p + 1 < BLOCKS_K) load_a(x[0], a_from + stage + 8 * ((p + 1) * 16));
                if (p == 0 && i == 0) {
                    if (left > 0) {
                        if (t >= STAGES - AHEAD) barrier_wait(empty + 8 * next, empty_phase);
                        COPY_STEP(next);
                    }
                    if (++next == STAGES) {
                        next = 0;
                        empty_phase ^= 1;
                    }
                }
                if (is_last && p + 1 == BLOCKS_K) {
                    join_warp();
                    if (lane == 0) barrier_arrive(empty + 8 * now);
                    if (after == 0) full_phase ^= 1;
                    if (t + 1 < tiles_k) barrier_wait(full + 8 * after, full_phase);
                    stage = after * STAGE_BYTES;
                    load_a(x[0], a_from + stage);
                }
#pragma unroll
                for (uint j = 0; j < BLOCKS_N; ++j) {
                    multiply(sum[i][j], x[i % 2], y[j]);
                    if (is_last) load_b(y[j], b_from + stage + 8 * ((p + 1) % BLOCKS_K * 16 * B_PITCH + 8 * j));
                }
            }
        now = after;
    }

    c_offset += product * c_stride;
    const bool is_aligned = (c_offset | c_pitch) % 2 == 0;
    c += c_offset + row0 * c_pitch + col0;
    const uint col = warp_col + 2 * quarter, part_cols = cols - min(cols, col);
#pragma unroll
    for (uint i = 0; i < BLOCKS_M; ++i)
#pragma unroll
        for (uint h = 0; h < 2; ++h) {
            const uint row = warp_row + 16 * i + 8 * h + eighth;
            if (row < rows) store_row(c + row * c_pitch + col, sum[i][0] + 2 * h, part_cols, is_aligned, alpha, beta);
        }
}

#endif
