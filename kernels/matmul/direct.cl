/* direct.cl - C = alpha * A * B + beta * C on CPUs, reading the matrices in place: one launch, for those that fit
 * the cache. */
#include "ndr/nd_item.clh"

/* Defaults, so that the file compiles alone; the library sets others. */
#ifndef T
#define T float /* of an element */
#define LANES 16 /* elements of a vector register */
#endif
#include "matmul/blocks.clh"

DEFINE_MULTIPLY(multiply_global, VECTORS, global, global, FETCH_ROW)
DEFINE_MULTIPLY(multiply_global2, 2, global, global, FETCH_ROW)
DEFINE_MULTIPLY(multiply_global1, 1, global, global, FETCH_ROW)
DEFINE_MULTIPLY(multiply_edge, VECTORS, global, private, FETCH_NOTHING)
DEFINE_MULTIPLY(multiply_edge1, 1, global, private, FETCH_NOTHING)

/* C = alpha * A * B + beta * C for one block. `a` is its first row, of `rows_left` of A; `b` its first column. */
static inline void multiply_block(const target *to, global const T *a, ulong a_pitch, ulong rows_left, global const T *b,
                                  ulong b_pitch, ulong k)
{
    ulong a_row[MR];
#pragma unroll
    for (uint r = 0; r < MR; ++r) a_row[r] = min((ulong)r, rows_left - 1) * a_pitch;

    V sum[MR][VECTORS];
    if (to->cols == NR) {
        multiply_global(sum, a, a_row, 1, b, b_pitch, k, b, 0);
    } else if (to->cols == 2 * LANES) {
        multiply_global2(sum, a, a_row, 1, b, b_pitch, k, b, 0);
    } else if (to->cols == LANES) {
        multiply_global1(sum, a, a_row, 1, b, b_pitch, k, b, 0);
    } else {
        /* A copy of the edge of B, 16 rows at a time, padded with zeros. */
        T edge[16 * NR];
        for (uint q = 0; q < 16 * NR; ++q) edge[q] = (T)0;
        V total[MR][VECTORS];
#pragma unroll
        for (uint r = 0; r < MR; ++r)
#pragma unroll
            for (uint v = 0; v < VECTORS; ++v) total[r][v] = (V)(0);
        for (ulong p = 0; p < k; p += 16) {
            const uint depth = (uint)min((ulong)16, k - p);
            for (uint q = 0; q < depth; ++q)
                for (uint j = 0; j < to->cols; ++j) edge[q * NR + j] = b[(p + q) * b_pitch + j];
            if (to->cols < LANES) multiply_edge1(sum, a + p, a_row, 1, edge, NR, depth, b, 0);
            else multiply_edge(sum, a + p, a_row, 1, edge, NR, depth, b, 0);
#pragma unroll
            for (uint r = 0; r < MR; ++r)
#pragma unroll
                for (uint v = 0; v < VECTORS; ++v) total[r][v] += sum[r][v];
        }
#pragma unroll
        for (uint r = 0; r < MR; ++r)
#pragma unroll
            for (uint v = 0; v < VECTORS; ++v) sum[r][v] = total[r][v];
    }
    store_block(to, sum);
}

/* What an item takes of `count` in dimension d: all items the same share, but the last ones. */
#define SHARE(count, d) (((count) + ndr_group_range(it, d) - 1) / ndr_group_range(it, d))

/* Over (products, rows of blocks, columns of blocks) groups, of which there may be fewer than that. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_direct(ulong count, ulong m, ulong n, ulong k, T alpha, global const T *a, ulong a_offset, ulong a_pitch,
            ulong a_stride, global const T *b, ulong b_offset, ulong b_pitch, ulong b_stride, T beta, global T *c,
            ulong c_offset, ulong c_pitch, ulong c_stride, NDR_ND_RANGE(3))
{
    const ndr_nd_item it = NDR_ND_ITEM(3);
    const ulong products = SHARE(count, 0), rows = SHARE((m + MR - 1) / MR, 1) * MR;
    const ulong cols = SHARE((n + NR - 1) / NR, 2) * NR;
    const ulong first = ndr_group_id(it, 0) * products, top = ndr_group_id(it, 1) * rows;
    const ulong left = ndr_group_id(it, 2) * cols;
    const ulong last = min(count, first + products), bottom = min(m, top + rows), right = min(n, left + cols);
    for (ulong i = first; i < last; ++i)
        for (ulong col = left; col < right; col += NR)
            for (ulong row = top; row < bottom; row += MR) {
                const target to = { c + c_offset + i * c_stride + row * c_pitch + col, c_pitch,
                                    (uint)min((ulong)MR, m - row), (uint)min((ulong)NR, n - col), alpha, beta };
                multiply_block(&to, a + a_offset + i * a_stride + row * a_pitch, a_pitch, m - row,
                               b + b_offset + i * b_stride + col, b_pitch, k);
            }
}
