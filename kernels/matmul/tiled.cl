/* tiled.cl - C = alpha * A * B + beta * C, row-major, through local-memory tiles: every product on every device.
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements. elements.clh has their types and forms.
 *
 *                 TILE_N                 A group owns one TILE_M x TILE_N tile of C and moves
 *              +---------+               a window of TILE_K along the columns of A and the rows
 *       TILE_K | b_tile  |               of B. Each item owns ITEM_M x ITEM_N of the tile, spaced
 *              +---------+               a group's width apart so that neighbouring items touch
 *   TILE_K     +---------+               neighbouring columns.
 *   +------+   |         |
 *   |a_tile|   | C tile  | TILE_M        src/ops/matmul/tiled.c chooses the sizes and launches
 *   +------+   +---------+               groups of (TILE_M/ITEM_M, TILE_N/ITEM_N) items.
 *
 * Outside of A and B the tiles hold zeros, so that partial tiles need no special case.
 */
#include "ndr/local.clh"
#include "ndr/nd_item.clh"

/* Defaults, so that the file compiles alone; the library sets others. */
#ifndef T
#define T float /* of an element */
#define TILE_M 32
#define TILE_N 32
#define TILE_K 16
#define ITEM_M 4
#define ITEM_N 4
#endif
#include "matmul/elements.clh"

#define GROUP_M (TILE_M / ITEM_M) /* items of a group along the rows of C */
#define GROUP_N (TILE_N / ITEM_N) /* items of a group along the columns of C */

/* Copy the rows x cols rectangle at (row, col) of a height x width matrix to `tile`, contiguously. All items of the
 * group call it; a barrier must come before the first read. `transposed`: the matrix is stored by columns. */
static inline void load_tile(ndr_group g, local T *tile, uint rows, uint cols, global const IN_T *matrix, ulong pitch,
                             int transposed, ulong row, ulong col, ulong height, ulong width)
{
    for (uint i = (uint)ndr_local_linear_id(g); i < rows * cols; i += (uint)ndr_local_linear_range(g)) {
        const uint y = transposed ? i % rows : i / cols, x = transposed ? i / rows : i % cols;
        const ulong r = row + y, c = col + x, at = transposed ? c * pitch + r : r * pitch + c;
        tile[y * cols + x] = r < height && c < width ? LOAD_IN(matrix, at) : (T)0;
    }
}

/* Over (products, rows of tiles, columns of tiles) groups. */
kernel void gemm_tiled(ulong count, ulong m, ulong n, ulong k, T alpha, global const IN_T *a, ulong a_offset,
                       ulong a_pitch, ulong a_stride, global const IN_T *b, ulong b_offset, ulong b_pitch,
                       ulong b_stride, T beta, global OUT_T *c, ulong c_offset, ulong c_pitch,
                       ulong c_stride MORE_PARAMETERS, NDR_ND_RANGE(3))
{
    const ndr_nd_item it = NDR_ND_ITEM(3);
    if (!IS_NEEDED) return;
    (void)count; /* the range has a group for each product */
    const ndr_group g = ndr_get_group(it);
    local T a_tile[TILE_M * TILE_K];
    local T b_tile[TILE_K * TILE_N];
    T acc[ITEM_M][ITEM_N] = { { 0 } };

    const size_t y = ndr_local_id(it, 1), x = ndr_local_id(it, 2);
    const size_t row0 = ndr_group_id(it, 1) * TILE_M, col0 = ndr_group_id(it, 2) * TILE_N;
    const size_t product = ndr_group_id(it, 0);
    if (!IS_PARTLY_IN(row0, col0, TILE_M, TILE_N)) k = 0; /* for the whole group, which stores nothing */
    a += a_offset + A_OF(product);
    b += b_offset + B_OF(product);
    c += c_offset + C_OF(product);

    for (ulong depth = 0; depth < k; depth += TILE_K) {
        load_tile(g, a_tile, TILE_M, TILE_K, a, a_pitch, TRANSPOSES_A, row0, depth, m, k);
        load_tile(g, b_tile, TILE_K, TILE_N, b, b_pitch, TRANSPOSES_B, depth, col0, k, n);
        ndr_group_barrier(g, NDR_FENCE_LOCAL);

        for (uint p = 0; p < TILE_K; ++p)
#pragma unroll
            for (uint i = 0; i < ITEM_M; ++i)
#pragma unroll
                for (uint j = 0; j < ITEM_N; ++j)
                    acc[i][j] += a_tile[ndr_at(TILE_K, y + i * GROUP_M, p)] * b_tile[ndr_at(TILE_N, p, x + j * GROUP_N)];
        ndr_group_barrier(g, NDR_FENCE_LOCAL); /* the next load overwrites elements that other items may still read */
    }

    for (uint i = 0; i < ITEM_M; ++i)
        for (uint j = 0; j < ITEM_N; ++j) {
            const size_t row = row0 + y + i * GROUP_M, col = col0 + x + j * GROUP_N;
            if (row >= m || col >= n) continue;
            if (!IS_IN_PART(row, col)) continue;
            store_result(acc[i][j], alpha, beta, c, ndr_at((size_t)c_pitch, row, col), product, row,
                         col EPILOGUE_ARGUMENTS);
        }
}
