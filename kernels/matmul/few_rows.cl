/* few_rows.cl - C = alpha * A * B + beta * C on GPUs for few rows, row-major: B is read once, in its order.
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements.
 *
 * A group computes a strip of C, WIDTH vectors wide. It goes along k in chunks, of which each of its slices takes STEPS
 * steps. At the end the sums of the slices are added in a fixed order. */
#include "matmul/few_rows.clh"
#include "ndr/nd_item.clh"

#ifndef A_RUN
#define A_RUN 1 /* elements of A in one load: those of 16 bytes if all such vectors are aligned */
#endif

#if A_RUN == 1
typedef T a_run;
#else
typedef JOIN(T, A_RUN) a_run;
#endif

/* Add neighbours of a row of A times this item's part of as many rows of B. */
static inline b_run add_products(b_run sum, a_run x, const b_run *y)
{
#if A_RUN == 1
    return fma((b_run)(x), y[0], sum);
#else
    sum = fma((b_run)(x.s1), y[1], fma((b_run)(x.s0), y[0], sum));
#if A_RUN == 4
    sum = fma((b_run)(x.s3), y[3], fma((b_run)(x.s2), y[2], sum));
#endif
    return sum;
#endif
}

/* Add STEPS columns of A times this item's part of as many rows of B. All loads of B come first. */
static inline void add_steps(b_run sum[ROWS], global const T *const a[ROWS], global const T *b, ulong b_pitch)
{
    b_run y[STEPS];
    a_run x[STEPS / A_RUN][ROWS];
#pragma unroll
    for (uint s = 0; s < STEPS; ++s) y[s] = *(global const b_run *)(b + s * b_pitch);
#pragma unroll
    for (uint s = 0; s < STEPS / A_RUN; ++s)
#pragma unroll
        for (uint r = 0; r < ROWS; ++r) x[s][r] = ((global const a_run *)a[r])[s];
#pragma unroll
    for (uint s = 0; s < STEPS / A_RUN; ++s)
#pragma unroll
        for (uint r = 0; r < ROWS; ++r) sum[r] = add_products(sum[r], x[s][r], y + s * A_RUN);
}

/* Over (products, strips of WIDTH * B_RUN columns) groups. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gemm_few_rows(ulong count, ulong m, ulong n, ulong k, T alpha, global const T *restrict a, ulong a_offset,
              ulong a_pitch, ulong a_stride, global const T *restrict b, ulong b_offset, ulong b_pitch, ulong b_stride,
              T beta, global T *restrict c, ulong c_offset, ulong c_pitch, ulong c_stride, NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    local b_run scratch[ROWS * GROUP / 2];
    const uint item = (uint)ndr_local_id(it, 1), first = item / WIDTH * STEPS;
    const ulong product = ndr_group_id(it, 0), col = (ndr_group_id(it, 1) * WIDTH + item % WIDTH) * B_RUN;
    (void)count; /* the range has a group for each product */
    b += b_offset + product * b_stride + first * b_pitch + min(col, n - B_RUN);
    c += c_offset + product * c_stride;
    global const T *a_rows[ROWS];
    b_run sum[ROWS];
#pragma unroll
    for (uint r = 0; r < ROWS; ++r) {
        a_rows[r] = a + a_offset + product * a_stride + min((ulong)r, m - 1) * a_pitch + first;
        sum[r] = (b_run)(0);
    }

    ulong p = first;
    for (; p + STEPS <= k; p += CHUNK) {
        add_steps(sum, a_rows, b, b_pitch);
#pragma unroll
        for (uint r = 0; r < ROWS; ++r) a_rows[r] += CHUNK;
        b += CHUNK * b_pitch;
    }
    for (uint s = 0; p + s < k; ++s) /* fewer than STEPS */
#pragma unroll
        for (uint r = 0; r < ROWS; ++r)
            sum[r] = fma((b_run)(a_rows[r][s]), *(global const b_run *)(b + s * b_pitch), sum[r]);

    add_slices(sum, scratch, item);
    if (item >= WIDTH || col >= n) return;
#pragma unroll
    for (uint r = 0; r < ROWS; ++r) {
        T part[B_RUN];
        unpack(part, sum[r]);
#pragma unroll
        for (uint j = 0; j < B_RUN; ++j) {
            global T *const out = c + r * c_pitch + col + j;
            if (r < m) *out = alpha * part[j] + (beta == (T)0 ? (T)0 : beta * *out);
        }
    }
}
