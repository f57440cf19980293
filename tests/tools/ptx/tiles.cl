/* tiles.cl - a product by ndr/matrix.clh, which only compilers read: tests/tools/ptx/run. */
#include "ndr/matrix.clh"

enum { TILES = NDR_MATRIX_TILES, AHEAD = TILES - 2 };

NDR_MATRIX_KERNEL kernel void tiles(global const NDR_MATRIX_IN_ *a, global const NDR_MATRIX_IN_ *b,
                                    global NDR_MATRIX_T_ *c, ulong b_row, ulong b_col, ulong m, ulong n, ulong k,
                                    NDR_ND_RANGE(2))
{
    ndr_matrix_a of_a[TILES];
    ndr_matrix_b of_b[TILES];
    ndr_matrix sum;
    const ndr_nd_item it = NDR_ND_ITEM(2);
    const ndr_group g = ndr_get_group(it);
    const ulong row = ndr_group_id(g, 0) * NDR_MATRIX_ROWS, col = ndr_group_id(g, 1) * NDR_MATRIX_COLS;
    const uint steps = (uint)((k + NDR_MATRIX_DEPTH - 1) / NDR_MATRIX_DEPTH);

    ndr_matrix_fill(g, &sum, 0);
    for (uint s = 0; s < steps + AHEAD; ++s) {
        const ulong at = (ulong)s * NDR_MATRIX_DEPTH;
        if (s < steps) {
            ndr_matrix_load(g, &of_a[s % TILES], a + row * k + at, k, m - row, k - at);
            ndr_matrix_load(g, &of_b[s % TILES], b + at * b_row + col * b_col, b_row, b_col, k - at, n - col);
        }
        ndr_matrix_wait(g, AHEAD);
        if (s >= AHEAD) ndr_matrix_mad(g, &sum, &of_a[(s - AHEAD) % TILES], &of_b[(s - AHEAD) % TILES]);
    }
    NDR_MATRIX_APPLY(g, sum, x, i, j) x = x > 0 ? x : (NDR_MATRIX_T_)(i + j);
    ndr_matrix_store(g, &sum, c + row * n + col, n, m - row, n - col);
}
