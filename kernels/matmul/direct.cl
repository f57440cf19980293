/* direct.cl - C = alpha * A * B + beta * C on CPUs, reading the matrices in place: one launch, for those that fit
 * the cache. */
#include "ndr/nd_item.clh"

/* Defaults, so that the file compiles alone; the library sets others. */
#ifndef T
#define T float /* of an element */
#define LANES 16 /* elements of a vector register */
#endif
#include "matmul/blocks.clh"

#define ROWS_AHEAD 8 /* of B, to prefetch */
#define EDGE_ROWS 16 /* of B, copied at a time */

DEFINE_MULTIPLY(multiply_global, VECTORS, global, global, FETCH_ROW)
DEFINE_MULTIPLY(multiply_global2, 2, global, global, FETCH_ROW)
DEFINE_MULTIPLY(multiply_global1, 1, global, global, FETCH_ROW)
DEFINE_MULTIPLY(multiply_edge, 1, global, private, FETCH_NOTHING)

/* The same for fewer columns than a vector has, which are all of B: from copies of its rows, filled up with zeros. */
NDR_INLINE_ void multiply_narrow(V sum[MR][VECTORS], global const T *a, const ulong a_row[MR], global const T *b,
                                   ulong b_pitch, uint cols, ulong k)
{
    T edge[EDGE_ROWS * LANES];
    for (uint q = 0; q < EDGE_ROWS * LANES; ++q) edge[q] = (T)0;
    for (ulong p = 0; p < k; p += EDGE_ROWS) {
        const uint depth = (uint)min((ulong)EDGE_ROWS, k - p);
        for (uint q = 0; q < depth; ++q)
            for (uint j = 0; j < cols; ++j) edge[q * LANES + j] = b[(p + q) * b_pitch + j];
        multiply_edge(sum, a + p, a_row, 1, edge, LANES, 0, depth, b, 0);
    }
}

#define MULTIPLY(multiply, vectors)                                                       \
    (clear_block(sum, vectors),                                                           \
     multiply(sum, a, a_row, 1, b, b_pitch, to->cols - LANES, k, b, ROWS_AHEAD * b_pitch), \
     store_block(to, sum, vectors, to->cols - LANES))

/* Prefetch MR rows of a matrix, of which the last may be past the end. */
NDR_INLINE_ void fetch_rows(global const T *rows, ulong pitch, ulong cols)
{
#if FETCH_AHEAD
    for (ulong p = 0; p < cols; p += 64 / sizeof(T))
#pragma unroll
        for (uint r = 0; r < MR; ++r) FETCH(rows + r * pitch + p, 0, 2);
#endif
    (void)rows, (void)pitch, (void)cols;
}

/* C = alpha * A * B + beta * C for one block. `a` is its first row, of `rows_left` of A; `b` its first column. */
NDR_INLINE_ void multiply_block(const target *to, global const T *a, ulong a_pitch, ulong rows_left, global const T *b,
                                ulong b_pitch, ulong k)
{
    V sum[MR][VECTORS];
    ulong a_row[MR];
#pragma unroll
    for (uint r = 0; r < MR; ++r) a_row[r] = min((ulong)r, rows_left - 1) * a_pitch;
    if (to->cols > 2 * LANES) {
        MULTIPLY(multiply_global, VECTORS);
    } else if (to->cols > LANES) {
        MULTIPLY(multiply_global2, 2);
    } else if (to->cols == LANES) {
        MULTIPLY(multiply_global1, 1);
    } else {
        clear_block(sum, 1);
        multiply_narrow(sum, a, a_row, b, b_pitch, to->cols, k);
        store_block(to, sum, 1, 0);
    }
}

/* What an item takes of `count` in dimension d: all items the same share, but the last ones. */
#define SHARE(count, d) (((count) + ndr_group_range(it, d) - 1) / ndr_group_range(it, d))

/* Over (products, rows of blocks, columns of blocks) groups, of which there may be fewer than that. The columns of C
 * are divided evenly among as many blocks as it takes: the first `narrow` blocks have one vector less. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_direct(ulong count, ulong m, ulong n, ulong k, T alpha, global const T *a, ulong a_offset, ulong a_pitch,
            ulong a_stride, global const T *b, ulong b_offset, ulong b_pitch, ulong b_stride, T beta, global T *c,
            ulong c_offset, ulong c_pitch, ulong c_stride, NDR_ND_RANGE(3))
{
    const ndr_nd_item it = NDR_ND_ITEM(3);
    const ulong vectors = (n + LANES - 1) / LANES, blocks = (vectors + VECTORS - 1) / VECTORS;
    const ulong most = (vectors + blocks - 1) / blocks, narrow = most * blocks - vectors;
    const ulong products = SHARE(count, 0), rows = SHARE((m + MR - 1) / MR, 1) * MR, cols = SHARE(blocks, 2);
    const ulong first = ndr_group_id(it, 0) * products, last = min(count, first + products);
    const ulong top = ndr_group_id(it, 1) * rows, bottom = min(m, top + rows);
    const ulong left = ndr_group_id(it, 2) * cols, right = min(blocks, left + cols);
    const bool is_batch = count > 1 && rows >= m; /* what is used next is in the next product */
    a += a_offset;
    b += b_offset;
    for (ulong i = first; i < last; ++i)
        for (ulong row = top; row < bottom; row += MR) {
            if (is_batch) fetch_rows(a + (i + 1) * a_stride + row * a_pitch, a_pitch, k);
            if (is_batch && row < k) fetch_rows(b + (i + 1) * b_stride + row * b_pitch, b_pitch, n);
            for (ulong j = left; j < right; ++j) {
                const ulong col = (j * most - min(j, narrow)) * LANES;
                const ulong end = min(n, ((j + 1) * most - min(j + 1, narrow)) * LANES);
                const target to = { c + c_offset + i * c_stride + row * c_pitch + col, c_pitch,
                                    (uint)min((ulong)MR, m - row), (uint)(end - col), alpha, beta };
                multiply_block(&to, a + i * a_stride + row * a_pitch, a_pitch, m - row, b + i * b_stride + col,
                               b_pitch, k);
            }
        }
}
