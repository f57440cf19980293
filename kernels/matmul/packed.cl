/* packed.cl - C = alpha * A * B + beta * C on CPUs, for large matrices, in two launches.
 *
 * gemm_pack_b   copies B to panels: k rows of NR columns, contiguous, so that the inner loop reads memory in order.
 * gemm_packed   multiplies. It copies A block by block to local memory, in the order of use. While it uses one panel,
 *               it prefetches the next.
 *
 * The panels are in the queue's workspace, behind its head. The own counter there distributes the work. */
#include "ndr/atomic.clh"
#include "ndr/nd_item.clh"

/* Defaults, so that the file compiles alone; the library sets others. */
#ifndef T
#define T float /* of an element */
#define LANES 16 /* elements of a vector register */
#endif
#include "matmul/blocks.clh"
#include "ndr/detail/workspace.h"

#ifndef DEPTH
#define DEPTH 640 /* largest number of columns of a packed block of A, a multiple of 8: MR * DEPTH elements fit the
                   * first cache, and the block fits the second */
#endif

/* Like AT in vectors.clh, for 8 elements, independent of the register size. */
#define T8 JOIN(T, 8)
typedef struct __attribute__((packed)) anywhere8 {
    T8 v;
} anywhere8;
#define AT8(space, i, p) (((space anywhere8 *)(p))[i].v)

DEFINE_MULTIPLY(multiply_packed, VECTORS, local, global, FETCH_PANEL)
DEFINE_MULTIPLY(multiply_packed2, 2, local, global, FETCH_PANEL)
DEFINE_MULTIPLY(multiply_packed1, 1, local, global, FETCH_PANEL)
#define MULTIPLY_PACKED(multiply, vectors)                                                                   \
    (clear_block(sum, vectors),                                                                              \
     multiply(sum, ribbon, a_row, MR, panel, NR, ((vectors) - 1) * LANES, depth, next),                      \
     store_block(&to, sum, vectors, ((vectors) - 1) * LANES))

/* Copy B to panels of NR columns, padded with zeros: panel j, row p begins at (j * k + p) * NR. Over (blocks of
 * NDR_PACK_ROWS rows, blocks of NDR_PACK_PANELS panels) groups. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_pack_b(ulong n, ulong k, global const T *b, ulong b_offset, ulong b_pitch, global uint *workspace,
            NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    const ulong first = ndr_group_id(it, 0) * NDR_PACK_ROWS, last = min(k, first + NDR_PACK_ROWS);
    const ulong col0 = ndr_group_id(it, 1) * NDR_PACK_PANELS * NR, col1 = min(n, col0 + NDR_PACK_PANELS * NR);
    if (ndr_global_linear_id(it) == 0) workspace[NDR_OWN_COUNTER] = 0;
    b += b_offset;
    for (ulong col = col0; col < col1; col += NR) {
        global T *const panel = (global T *)(workspace + NDR_WORKSPACE_HEAD) + col * k;
        if (col + NR <= n) {
            for (ulong p = first; p < last; ++p)
#pragma unroll
                for (uint v = 0; v < VECTORS; ++v)
                    AT(global, v, panel + p * NR) = AT(global const, v, b + p * b_pitch + col);
        } else {
            for (ulong p = first; p < last; ++p)
                for (uint j = 0; j < NR; ++j) panel[p * NR + j] = col + j < n ? b[p * b_pitch + col + j] : (T)0;
        }
    }
}

/* Transpose 8 rows of 8 elements: interleave the upper half of the rows with the lower half, three times. */
static inline void transpose_8x8(global const T *from, ulong pitch, local T *to)
{
    T8 x[8], y[8];
#pragma unroll
    for (uint r = 0; r < 8; ++r) x[r] = AT8(global const, 0, from + r * pitch);
#pragma unroll
    for (uint times = 0; times < 3; ++times) {
#pragma unroll
        for (uint r = 0; r < 4; ++r) {
            const T8 u = x[r], l = x[r + 4];
            y[2 * r] = (T8)(u.s0, l.s0, u.s1, l.s1, u.s2, l.s2, u.s3, l.s3);
            y[2 * r + 1] = (T8)(u.s4, l.s4, u.s5, l.s5, u.s6, l.s6, u.s7, l.s7);
        }
#pragma unroll
        for (uint r = 0; r < 8; ++r) x[r] = y[r];
    }
#pragma unroll
    for (uint r = 0; r < 8; ++r) AT8(local, r, to) = x[r];
}

/* Copy rows [row, row + rows) of A, columns [p, p + depth), to `block`: as strips of MR rows, each stored column by
 * column. Missing rows are filled with zeros. */
static inline void pack_a(local T *block, global const T *a, ulong a_pitch, ulong rows, uint depth)
{
    for (ulong i = 0; i < rows; i += MR, block += MR * depth) {
        global const T *const source = a + i * a_pitch;
        const uint there = (uint)min((ulong)MR, rows - i);
        uint p = 0;
        if (there == MR) {
            for (; MR == 8 && p + 8 <= depth; p += 8) transpose_8x8(source + p, a_pitch, block + p * MR);
            for (; p < depth; ++p)
#pragma unroll
                for (uint r = 0; r < MR; ++r) block[p * MR + r] = source[r * a_pitch + p];
        } else {
            for (; p < depth; ++p)
                for (uint r = 0; r < MR; ++r) block[p * MR + r] = r < there ? source[r * a_pitch + p] : (T)0;
        }
    }
}

/* A few groups share the work: each takes the next `block_rows` rows of C. `block` holds block_rows * DEPTH
 * elements. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_packed(ulong m, ulong n, ulong k, T alpha, global const T *a, ulong a_offset, ulong a_pitch,
            global uint *workspace, T beta, global T *c, ulong c_offset, ulong c_pitch, ulong block_rows,
            local T *block, NDR_ND_RANGE(1))
{
    global const T *const panels = (global const T *)(workspace + NDR_WORKSPACE_HEAD);
    ulong a_row[MR];
#pragma unroll
    for (uint r = 0; r < MR; ++r) a_row[r] = r;
    a += a_offset;
    c += c_offset;
    const ulong passes = (k + DEPTH - 1) / DEPTH;
    const ulong step = ((k + passes - 1) / passes + 7) / 8 * 8; /* equal, as each pass reads and writes all of C */
    const ulong share = (NR * MR + block_rows - 1) / block_rows; /* of the next panel, to prefetch in each step */
    for (;;) {
        const ulong row0 = ndr_atomic_fetch_add(workspace + NDR_OWN_COUNTER, 1u) * block_rows;
        if (row0 >= m) return;
        const ulong rows = min(block_rows, m - row0);
        for (ulong p = 0; p < k; p += step) {
            const uint depth = (uint)min(step, k - p);
            const T now_beta = p == 0 ? beta : (T)1;
            pack_a(block, a + row0 * a_pitch + p, a_pitch, rows, depth);
            for (ulong col = 0; col < n; col += NR) {
                global const T *const panel = panels + (col / NR * k + p) * NR;
                ahead next = { .b = col + NR < n ? panel + k * NR : panels + (p + depth) * NR, .b_share = share };
                for (ulong i = 0; i < rows; i += MR) {
                    const target to = { c + (row0 + i) * c_pitch + col, c_pitch, 0, (uint)min((ulong)MR, rows - i),
                                        (uint)min((ulong)NR, n - col), alpha, now_beta };
                    fetch_ahead(&to);
                    local const T *const ribbon = block + i * depth;
                    V sum[MR][VECTORS];
                    if (to.cols > 2 * LANES)
                        MULTIPLY_PACKED(multiply_packed, VECTORS);
                    else if (to.cols > LANES)
                        MULTIPLY_PACKED(multiply_packed2, 2);
                    else
                        MULTIPLY_PACKED(multiply_packed1, 1);
                    next.b += depth * share;
                }
            }
        }
    }
}
