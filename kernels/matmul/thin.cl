/* thin.cl - C = alpha * A * B + beta * C on CPUs, for few rows: a strip of C stays in the first cache while the rows
 * of B are read once. A is m x k, or transposed, B is k x n; offsets and pitches are in elements. */
#include "ndr/nd_item.clh"
#include "once.clh"

/* Defaults, so that the file compiles alone; the library sets others. */
#ifndef T
#define T float /* of an element */
#define LANES 16 /* elements of a vector register */
#endif
#include "shared/blocks.h"
#include "matmul/bring.clh"

#ifndef THIN_ROWS
#define THIN_ROWS NDR_STRIP_ROWS /* rows of C in an item: the library sets the power of two that fits m */
#endif
/* Columns of C in an item: THIN_ROWS * STRIP elements fit the first cache. */
#define STRIP (NDR_STRIP_BYTES / (uint)sizeof(T))
#define THIN_DEPTH 4 /* rows of B that are read together */

/* acc += A[.., p .. p + depth) * B[p .. p + depth, columns of the strip]. */
static inline void thin_steps(T acc[THIN_ROWS][STRIP], const T x[THIN_ROWS][THIN_DEPTH], global const IN_T *b,
                              ulong b_pitch, uint vectors)
{
    for (uint v = 0; v < vectors; ++v) {
        V y[THIN_DEPTH];
#pragma unroll
        for (uint q = 0; q < THIN_DEPTH; ++q) y[q] = LOAD_V(b + q * b_pitch + v * LANES);
#pragma unroll
        for (uint r = 0; r < THIN_ROWS; ++r) {
            V sum = AT(private, v, acc[r]);
#pragma unroll
            for (uint q = 0; q < THIN_DEPTH; ++q) sum = MULTIPLY_ADD((V)(x[r][q]), y[q], sum);
            AT(private, v, acc[r]) = sum;
        }
    }
}

#define PRODUCTS                                                                                                   \
    ulong m, ulong n, ulong k, R alpha, global const IN_T *a, ulong a_offset, ulong a_pitch, ulong a_stride,       \
        global const IN_T *b, ulong b_offset, ulong b_pitch, ulong b_stride, R beta, global OUT_T *c,              \
        ulong c_offset, ulong c_pitch, ulong c_stride OFFSET_PARAMETERS EPILOGUE_PARAMETERS
#define THE_PRODUCTS                                                                                               \
    m, n, k, alpha, a, a_offset, a_pitch, a_stride, b, b_offset, b_pitch, b_stride, beta, c, c_offset, c_pitch,    \
        c_stride OFFSET_ARGUMENTS EPILOGUE_ARGUMENTS

/* The strip of C that begins at column `col`. m <= THIN_ROWS. */
ONCE void multiply_strip(PRODUCTS, ulong product, ulong col)
{
    const uint cols = (uint)min((ulong)STRIP, n - col);
    const uint vectors = cols / LANES; /* whole vectors; the other columns are computed one by one */
    T acc[THIN_ROWS][STRIP];
    for (uint r = 0; r < THIN_ROWS; ++r)
        for (uint j = 0; j < STRIP; ++j) acc[r][j] = (T)0;
    a += a_offset + A_OF(product);
    b += b_offset + B_OF(product) + col;
    c += c_offset + C_OF(product);

    ulong p = 0;
    for (; p + THIN_DEPTH <= k; p += THIN_DEPTH) {
        T x[THIN_ROWS][THIN_DEPTH];
        for (uint r = 0; r < THIN_ROWS; ++r)
#pragma unroll
            for (uint q = 0; q < THIN_DEPTH; ++q)
                x[r][q] = LOAD_IN(a, A_ROW(min((ulong)r, m - 1), a_pitch) + A_COL(p + q, a_pitch));
        thin_steps(acc, x, b + p * b_pitch, b_pitch, vectors);
        for (uint j = vectors * LANES; j < cols; ++j)
            for (uint r = 0; r < THIN_ROWS; ++r)
                for (uint q = 0; q < THIN_DEPTH; ++q)
                    acc[r][j] = MULTIPLY_ADD(x[r][q], LOAD_IN(b, (p + q) * b_pitch + j), acc[r][j]);
    }
    for (; p < k; ++p)
        for (uint r = 0; r < THIN_ROWS; ++r) {
            const T x = LOAD_IN(a, A_ROW(min((ulong)r, m - 1), a_pitch) + A_COL(p, a_pitch));
            for (uint j = 0; j < cols; ++j) acc[r][j] = MULTIPLY_ADD(x, LOAD_IN(b, p * b_pitch + j), acc[r][j]);
        }
    for (uint r = 0; r < m; ++r)
        for (uint j = 0; j < cols; ++j) {
            if (!IS_IN_PART(r, col + j)) continue;
            store_result(RESULT(acc[r][j]), alpha, beta, c, r * c_pitch + col + j, product, r,
                         col + j EPILOGUE_ARGUMENTS);
        }
}

/* Over (products, strips of C) groups. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_thin(ulong count, PRODUCTS CONDITION_PARAMETERS, NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    (void)count; /* the range has a group for each product */
    multiply_strip(THE_PRODUCTS, ndr_group_id(it, 0), ndr_group_id(it, 1) * STRIP);
}
