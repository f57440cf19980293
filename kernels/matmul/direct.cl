/* direct.cl - C = alpha * A * B + beta * C on CPUs in one launch, for products that fit the cache. A and B are read in
 * place as far as their elements are T, and those of B beside each other along its rows; otherwise as copies in local
 * memory, of one ribbon of A and one panel of B at a time. */
#include "ndr/nd_item.clh"
#include "once.clh"

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
#define COPIES_A CONVERTS_IN
#define COPIES_B (CONVERTS_IN || TRANSPOSES_B)
#if BATCH && FETCH_C
#define FETCH_DIRECT FETCH_ALL
#elif BATCH
#define FETCH_DIRECT FETCH_BOTH
#elif COPIES_B
#define FETCH_DIRECT FETCH_NOTHING
#else
#define FETCH_DIRECT FETCH_ROW
#endif

/* A call for each group costs small products of a batch 1 to 5 % of their time. In a function there is a register less
 * for addresses, which costs narrow products 9 %. */
#if BATCH || VECTORS == 1
#define SHARED_CODE NDR_INLINE_
#else
#define SHARED_CODE ONCE
#endif

#if COPIES_A
#define A_SPACE local
#else
#define A_SPACE global
#endif
#if COPIES_B
#define B_SPACE local
#define COPY_PARAMETERS , local T *ribbon, local T *panel
#define COPY_ARGUMENTS , ribbon, panel
DEFINE_TURN(local)
DEFINE_LINE_UP(local)
#else
#define B_SPACE global
#define COPY_PARAMETERS
#define COPY_ARGUMENTS
#endif
DEFINE_MULTIPLY(multiply_all, VECTORS, A_SPACE, B_SPACE, FETCH_DIRECT)
#if VECTORS > 1
DEFINE_MULTIPLY(multiply_fewer, (VECTORS - 1), A_SPACE, B_SPACE, FETCH_DIRECT)
#endif

#define MULTIPLY(multiply, vectors, last)                                                 \
    (clear_block(sum, vectors),                                                           \
     multiply(sum, a, a_row, a_step, b, b_pitch, last, k, next),                          \
     take_results(result, sum, vectors),                                                  \
     STORE_BLOCK(to, result, vectors, last))

#if VECTORS == 1 && !COPIES_B
DEFINE_MULTIPLY(multiply_edge, 1, global, private, FETCH_NOTHING)

/* The same for fewer columns than a vector has, which are all of B: from copies of its rows, filled up with zeros. */
NDR_INLINE_ void multiply_narrow(V sum[MR][VECTORS], global const T *a, const ulong a_row[MR], ulong a_step,
                                 global const T *b, ulong b_pitch, uint cols, ulong k, ahead next)
{
    T edge[EDGE_ROWS * LANES];
    for (uint q = 0; q < EDGE_ROWS * LANES; ++q) edge[q] = (T)0;
    for (ulong p = 0; p < k; p += EDGE_ROWS) {
        const uint depth = (uint)min((ulong)EDGE_ROWS, k - p);
        for (uint q = 0; q < depth; ++q)
            for (uint j = 0; j < cols; ++j) edge[q * LANES + j] = b[(p + q) * b_pitch + j];
        multiply_edge(sum, a + p * a_step, a_row, a_step, edge, LANES, 0, depth, next);
    }
}
#endif

/* C = alpha * A * B + beta * C for one block, which has VECTORS vectors of columns or one less: the library sets VECTORS
 * to 1 if C has no more columns than a vector. A copied panel of B is filled up with zeros; otherwise the last vector
 * ends with the block. */
#if COPIES_B
#define LAST(vectors) (((vectors) - 1) * LANES)
#else
#define LAST(vectors) (to->cols - LANES)
#endif
NDR_INLINE_ void multiply_block(const target *to, A_SPACE const T *a, const ulong a_row[MR], ulong a_step,
                                B_SPACE const T *b, ulong b_pitch, ulong k, ahead next EPILOGUE_PARAMETERS)
{
    V sum[MR][VECTORS];
    VR result[MR][VECTORS];
#if VECTORS > 1
    if (to->cols <= (VECTORS - 1) * LANES) {
        MULTIPLY(multiply_fewer, VECTORS - 1, LAST(VECTORS - 1));
        return;
    }
#elif !COPIES_B
    if (to->cols < LANES) {
        clear_block(sum, 1);
        multiply_narrow(sum, a, a_row, a_step, b, b_pitch, to->cols, k, next);
        take_results(result, sum, 1);
        STORE_BLOCK(to, result, 1, 0);
        return;
    }
#endif
    MULTIPLY(multiply_all, VECTORS, LAST(VECTORS));
}

/* How far apart the prefetches of `steps` steps lie that reach all of these elements. */
NDR_INLINE_ ulong share_of(ulong elements, ulong steps)
{
    return steps ? (elements + steps - 1) / steps : 0;
}

/* Blocks follow each other along the rows of C; or along its columns, to use a copied panel of B for all of them. */
#define OVER_ROWS for (ulong place = top; place < bottom; place += MR)
#define OVER_COLS for (ulong j = left; j < right; ++j)
#if COPIES_B
#define OVER_BLOCKS OVER_COLS OVER_ROWS
#else
#define OVER_BLOCKS OVER_ROWS OVER_COLS
#endif

#define INPUTS                                                                                                     \
    global const IN_T *a, ulong a_offset, ulong a_pitch, ulong a_stride, global const IN_T *b, ulong b_offset,     \
        ulong b_pitch, ulong b_stride
#define OUTPUT                                                                                                     \
    global OUT_T *c, ulong c_offset, ulong c_pitch,                                                                \
        ulong c_stride COPY_PARAMETERS OFFSET_PARAMETERS EPILOGUE_PARAMETERS
#define IN_AND_OUT                                                                                                 \
    a, a_offset, a_pitch, a_stride, b, b_offset, b_pitch, b_stride, c, c_offset, c_pitch,                          \
        c_stride COPY_ARGUMENTS OFFSET_ARGUMENTS EPILOGUE_ARGUMENTS

/* Products `first` to `last`: rows `top` to `bottom` of C, and its columns of blocks `left` to `right`. The columns of C
 * are divided evenly among as many blocks as it takes: the first `narrow` blocks have one vector less. In a batch the
 * next product's matrices are prefetched in equal shares over the steps of this one, because a core waits for few lines
 * of memory at a time. If C has MR rows, the last block ends with C, and does not store the rows that the block before
 * it stores. */
SHARED_CODE void multiply_share(ulong m, ulong n, ulong k, const scaling *by, INPUTS, OUTPUT, ulong first,
                                ulong last, ulong top, ulong bottom, ulong left, ulong right)
{
    const ulong vectors = (n + LANES - 1) / LANES, blocks = (vectors + VECTORS - 1) / VECTORS;
    const ulong most = EVEN ? VECTORS : (vectors + blocks - 1) / blocks, narrow = EVEN ? 0 : most * blocks - vectors;
    const ulong steps = (m + MR - 1) / MR * blocks * k; /* of a product */
    ahead next = { .rows = ROWS_AHEAD * b_pitch };
    next.a_share = share_of((TRANSPOSES_A ? k : m) * a_pitch * sizeof(IN_T), steps);
    next.b_share = share_of((TRANSPOSES_B ? n : k) * b_pitch * sizeof(IN_T), steps);
    next.c_share = share_of(m * c_pitch * sizeof(OUT_T), steps);
    a += a_offset;
    b += b_offset;
    c += c_offset;
    for (ulong i = first; i < last; ++i) {
        global const IN_T *const a_now = a + A_OF(i), *const b_now = b + B_OF(i);
        global OUT_T *const c_now = c + C_OF(i);
        next.a = (global const char *)(a + (i + 1) * a_stride);
        next.b = (global const char *)(b + (i + 1) * b_stride);
        next.c = (global const char *)(c + (i + 1) * c_stride);
        OVER_BLOCKS {
            const ulong row = CLAMP_M || EVEN ? place : min(place, m - MR);
            const ulong col = (j * most - min(j, narrow)) * LANES;
            const ulong end = min(n, ((j + 1) * most - min(j + 1, narrow)) * LANES);
            const target to = { c_now + row * c_pitch + col,
                                c_pitch,
                                (uint)(place - row),
                                EVEN ? MR : (uint)min((ulong)MR, m - row),
                                EVEN ? NR : (uint)(end - col),
                                by,
                                i,
                                row,
                                col };
            ulong a_row[MR];
#if COPIES_B
            if (place == top) BRING_PANEL(local, panel, b_now + B_COL(col, b_pitch), b_pitch, to.cols, (uint)k);
#endif
            if (!IS_PARTLY_IN(row, col, to.rows, to.cols)) continue;
#if COPIES_A
            BRING_RIBBON(local, ribbon, a_now + A_ROW(row, a_pitch), a_pitch, to.rows, (uint)k);
#pragma unroll
            for (uint r = 0; r < MR; ++r) a_row[r] = r;
            multiply_block(&to, ribbon, a_row, MR, panel, NR, k, next EPILOGUE_ARGUMENTS);
#else
#pragma unroll
            for (uint r = 0; r < MR; ++r) a_row[r] = A_ROW(CLAMP_M ? min(r, to.rows - 1) : r, a_pitch);
#if COPIES_B
            multiply_block(&to, a_now + A_ROW(row, a_pitch), a_row, A_COL(1, a_pitch), panel, NR, k,
                           next EPILOGUE_ARGUMENTS);
#else
            multiply_block(&to, a_now + A_ROW(row, a_pitch), a_row, A_COL(1, a_pitch), b_now + col, b_pitch, k,
                           next EPILOGUE_ARGUMENTS);
#endif
#endif
            next.a += k * next.a_share;
            next.b += k * next.b_share;
            next.c += k * next.c_share;
        }
    }
}

/* What an item takes of `count` in dimension d: all items the same share, but the last ones. */
#define SHARE(count, d) (((count) + ndr_group_range(it, d) - 1) / ndr_group_range(it, d))

/* Over (products, rows of blocks, columns of blocks) groups, of which there may be fewer than that. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_direct(ulong count, ulong m, ulong n, ulong k, R alpha, INPUTS, R beta, OUTPUT CONDITION_PARAMETERS,
            NDR_ND_RANGE(3))
{
    const ndr_nd_item it = NDR_ND_ITEM(3);
    const ulong blocks = ((n + LANES - 1) / LANES + VECTORS - 1) / VECTORS; /* of a row */
    const ulong products = SHARE(count, 0), rows = SHARE((m + MR - 1) / MR, 1) * MR, cols = SHARE(blocks, 2);
    const ulong first = ndr_group_id(it, 0) * products, last = min(count, first + products);
    const ulong top = ndr_group_id(it, 1) * rows, bottom = min(m, top + rows);
    const ulong left = ndr_group_id(it, 2) * cols, right = min(blocks, left + cols);
    const scaling by = { alpha, beta };
    multiply_share(m, n, k, &by, IN_AND_OUT, first, last, top, bottom, left, right);
}
