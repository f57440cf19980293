/* direct.cl - C = alpha * A * B + beta * C on CPUs, reading the matrices in place: one launch, for those that fit
 * the cache. */
#include "ndr/nd_item.clh"

/* Defaults, so that the file compiles alone; the library sets others. */
#ifndef T
#define T float /* of an element */
#define LANES 16 /* elements of a vector register */
#endif
#include "matmul/blocks.clh"

#ifndef BATCH
#define BATCH 0 /* 1: items take whole products, many in turn */
#endif
#ifndef FETCH_C
#define FETCH_C 0 /* 1: in a batch, the next product's C is prefetched, too */
#endif
#ifndef EVEN
#define EVEN 0 /* 1: C consists of whole blocks: no code for edges */
#endif
#ifndef CLAMP_M
#define CLAMP_M 1 /* 0 if C has at least MR rows: clamped rows need more registers than there are */
#endif
#define ROWS_AHEAD 8 /* of B, to prefetch */
#define EDGE_ROWS 16 /* of B, copied at a time */
#if BATCH && FETCH_C
#define FETCH_DIRECT FETCH_ALL
#elif BATCH
#define FETCH_DIRECT FETCH_BOTH
#else
#define FETCH_DIRECT FETCH_ROW
#endif

DEFINE_MULTIPLY(multiply_global, VECTORS, global, global, FETCH_DIRECT)
DEFINE_MULTIPLY(multiply_global2, 2, global, global, FETCH_DIRECT)
DEFINE_MULTIPLY(multiply_global1, 1, global, global, FETCH_DIRECT)
DEFINE_MULTIPLY(multiply_edge, 1, global, private, FETCH_NOTHING)

/* The same for fewer columns than a vector has, which are all of B: from copies of its rows, filled up with zeros. */
NDR_INLINE_ void multiply_narrow(V sum[MR][VECTORS], global const T *a, const ulong a_row[MR], global const T *b,
                                   ulong b_pitch, uint cols, ulong k, ahead next)
{
    T edge[EDGE_ROWS * LANES];
    for (uint q = 0; q < EDGE_ROWS * LANES; ++q) edge[q] = (T)0;
    for (ulong p = 0; p < k; p += EDGE_ROWS) {
        const uint depth = (uint)min((ulong)EDGE_ROWS, k - p);
        for (uint q = 0; q < depth; ++q)
            for (uint j = 0; j < cols; ++j) edge[q * LANES + j] = b[(p + q) * b_pitch + j];
        multiply_edge(sum, a + p, a_row, 1, edge, LANES, 0, depth, next);
    }
}

#define MULTIPLY(multiply, vectors)                                                       \
    (clear_block(sum, vectors),                                                           \
     multiply(sum, a, a_row, 1, b, b_pitch, to->cols - LANES, k, next),                   \
     store_block(to, sum, vectors, to->cols - LANES))

/* C = alpha * A * B + beta * C for one block. `a` is its first row of A, `b` its first column of B. */
NDR_INLINE_ void multiply_block(const target *to, global const T *a, ulong a_pitch, global const T *b, ulong b_pitch,
                                ulong k, ahead next)
{
    V sum[MR][VECTORS];
    ulong a_row[MR];
#pragma unroll
    for (uint r = 0; r < MR; ++r) a_row[r] = (CLAMP_M ? min(r, to->rows - 1) : r) * a_pitch;
    if (VECTORS > 2 && to->cols > 2 * LANES) {
        MULTIPLY(multiply_global, VECTORS);
    } else if (VECTORS > 1 && to->cols > LANES) {
        MULTIPLY(multiply_global2, 2);
    } else if (to->cols == LANES) {
        MULTIPLY(multiply_global1, 1);
    } else {
        clear_block(sum, 1);
        multiply_narrow(sum, a, a_row, b, b_pitch, to->cols, k, next);
        store_block(to, sum, 1, 0);
    }
}

/* What an item takes of `count` in dimension d: all items the same share, but the last ones. */
#define SHARE(count, d) (((count) + ndr_group_range(it, d) - 1) / ndr_group_range(it, d))

/* How far apart the prefetches of `steps` steps lie that reach all of these elements. */
NDR_INLINE_ ulong share_of(ulong elements, ulong steps)
{
    return steps ? (elements + steps - 1) / steps : 0;
}

/* Over (products, rows of blocks, columns of blocks) groups, of which there may be fewer than that. The columns of C
 * are divided evenly among as many blocks as it takes: the first `narrow` blocks have one vector less. In a batch the
 * next product's matrices are prefetched in equal shares over the steps of this one, because a core waits for few lines
 * of memory at a time. If C has MR rows, the last block ends with C, and does not store the rows that the block before
 * it stores. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_direct(ulong count, ulong m, ulong n, ulong k, T alpha, global const T *a, ulong a_offset, ulong a_pitch,
            ulong a_stride, global const T *b, ulong b_offset, ulong b_pitch, ulong b_stride, T beta, global T *c,
            ulong c_offset, ulong c_pitch, ulong c_stride, NDR_ND_RANGE(3))
{
    const ndr_nd_item it = NDR_ND_ITEM(3);
    const ulong vectors = (n + LANES - 1) / LANES, blocks = (vectors + VECTORS - 1) / VECTORS;
    const ulong most = EVEN ? VECTORS : (vectors + blocks - 1) / blocks, narrow = EVEN ? 0 : most * blocks - vectors;
    const ulong products = SHARE(count, 0), rows = SHARE((m + MR - 1) / MR, 1) * MR, cols = SHARE(blocks, 2);
    const ulong first = ndr_group_id(it, 0) * products, last = min(count, first + products);
    const ulong top = ndr_group_id(it, 1) * rows, bottom = min(m, top + rows);
    const ulong left = ndr_group_id(it, 2) * cols, right = min(blocks, left + cols);
    const ulong steps = (m + MR - 1) / MR * blocks * k; /* of a product */
    ahead next = { .b_share = BATCH ? share_of(k * b_pitch, steps) : ROWS_AHEAD * b_pitch };
    next.a_share = BATCH ? share_of(m * a_pitch, steps) : 0;
    next.c_share = FETCH_C ? share_of(m * c_pitch, steps) : 0;
    a += a_offset;
    b += b_offset;
    c += c_offset;
    for (ulong i = first; i < last; ++i) {
        next.a = a + (i + 1) * a_stride;
        next.b = b + (i + 1) * b_stride;
        next.c = c + (i + 1) * c_stride;
        for (ulong place = top; place < bottom; place += MR) {
            const ulong row = CLAMP_M || EVEN ? place : min(place, m - MR);
            for (ulong j = left; j < right; ++j) {
                const ulong col = (j * most - min(j, narrow)) * LANES;
                const ulong end = min(n, ((j + 1) * most - min(j + 1, narrow)) * LANES);
                const target to = { c + i * c_stride + row * c_pitch + col,
                                    c_pitch,
                                    (uint)(place - row),
                                    EVEN ? MR : (uint)min((ulong)MR, m - row),
                                    EVEN ? NR : (uint)(end - col),
                                    alpha,
                                    beta };
                multiply_block(&to, a + i * a_stride + row * a_pitch, a_pitch, b + i * b_stride + col, b_pitch, k,
                               next);
                next.a += k * next.a_share;
                next.b += k * next.b_share;
                next.c += k * next.c_share;
            }
        }
    }
}
