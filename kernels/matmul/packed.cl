/* packed.cl - C = alpha * A * B + beta * C on CPUs, for large matrices, in two launches.
 *
 * gemm_pack_b   copies B to panels: k rows of NR columns, contiguous, so that the inner loop reads memory in order.
 * gemm_packed   multiplies. It copies A block by block to local memory, in the order of use. While it uses one panel,
 *               it prefetches the next.
 *
 * The panels are in the queue's workspace, behind its head, and behind them the results of each group's block between
 * passes along k. The own counter there distributes the work. */
#include "ndr/nd_item.clh"
#include "once.clh"

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

DEFINE_TURN(local)
DEFINE_TURN(global)
DEFINE_LINE_UP(local)
DEFINE_LINE_UP(global)
DEFINE_MULTIPLY(multiply_packed, VECTORS, local, global, FETCH_PANEL)
DEFINE_MULTIPLY(multiply_packed2, 2, local, global, FETCH_PANEL)
DEFINE_MULTIPLY(multiply_packed1, 1, local, global, FETCH_PANEL)
#define MULTIPLY_PACKED(multiply, vectors)                                                                   \
    (clear_block(sum, vectors),                                                                              \
     multiply(sum, ribbon, a_row, MR, panel, NR, ((vectors) - 1) * LANES, depth, next),                      \
     take_results(result, sum, vectors),                                                                     \
     pass_on(&to, result, vectors, kept, is_first, is_last EPILOGUE_ARGUMENTS))

/* Add the block to those of the passes before. Results are kept in the workspace until the last pass, unless C can hold
 * them. */
NDR_INLINE_ void pass_on(target *to, VR result[MR][VECTORS], uint vectors, global R *kept, bool is_first,
                         bool is_last EPILOGUE_PARAMETERS)
{
#if STORES_SUMS
    if (!is_first) ++to->by;
    STORE_BLOCK(to, result, vectors, (vectors - 1) * LANES);
    (void)kept, (void)is_last;
#else
#pragma unroll
    for (uint r = 0; r < MR; ++r)
#pragma unroll
        for (uint v = 0; v < VECTORS; ++v) {
            if (v >= vectors) continue;
            global R *const at = kept + r * NR + v * LANES;
            if (!is_first) result[r][v] += AT_R(global const, at);
            if (!is_last) AT_R(global, at) = result[r][v];
        }
    if (is_last) STORE_BLOCK(to, result, vectors, (vectors - 1) * LANES);
#endif
}

/* Copy B to panels of NR columns, padded with zeros: panel j, row p begins at (j * k + p) * NR. Over (blocks of
 * PACK_ROWS rows, blocks of PACK_PANELS panels) groups: few rows, or few panels, as B is stored. */
#if TRANSPOSES_B
#define PACK_ROWS NDR_PACK_LENGTH
#define PACK_PANELS 1
#else
#define PACK_ROWS NDR_PACK_ROWS
#define PACK_PANELS NDR_PACK_PANELS
#endif
#define PACKING                                                                                                    \
    ulong n, ulong k, global const IN_T *b, ulong b_offset, ulong b_pitch, global uint *workspace OFFSET_PARAMETERS
#define THE_PACKING n, k, b, b_offset, b_pitch, workspace OFFSET_ARGUMENTS
ONCE void pack_panels(PACKING, ulong first, ulong last, ulong col0, ulong col1)
{
    const ulong b_stride = 0; /* of one product */
    b += b_offset + B_OF(0);
    for (ulong col = col0; col < col1; col += NR) {
        global T *const panel = (global T *)(workspace + NDR_WORKSPACE_HEAD) + col * k + first * NR;
        BRING_PANEL(global, panel, b + B_ROW(first, b_pitch) + B_COL(col, b_pitch), b_pitch,
                    (uint)min((ulong)NR, n - col), (uint)(last - first));
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void gemm_pack_b(PACKING, NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    const ulong first = ndr_group_id(it, 0) * PACK_ROWS, last = min(k, first + PACK_ROWS);
    const ulong col0 = ndr_group_id(it, 1) * PACK_PANELS * NR, col1 = min(n, col0 + PACK_PANELS * NR);
    if (ndr_global_linear_id(it) == 0) workspace[NDR_OWN_COUNTER] = 0;
    pack_panels(THE_PACKING, first, last, col0, col1);
}

/* Copy the ribbons of `rows` rows of A to `block`. If it is stored by columns, AT_ONCE of them: what lies beside each
 * other is read at once. */
NDR_INLINE_ void bring_block(local T *block, global const IN_T *a, ulong a_pitch, uint rows, uint depth)
{
    uint i = 0;
#if TRANSPOSES_A && MR % 8 == 0
#define AT_ONCE 4
    for (; i + AT_ONCE * MR <= rows; i += AT_ONCE * MR)
        for (uint p = 0; p < depth; ++p)
#pragma unroll
            for (uint q = 0; q < AT_ONCE * MR / 8; ++q)
                AT8(local, 0, block + (i + q * 8 / MR * MR) * depth + p * MR + q * 8 % MR) =
                    LOAD_8(a + p * a_pitch + i + q * 8);
#endif
    for (; i < rows; i += MR)
        BRING_RIBBON(local, block + i * depth, a + A_ROW(i, a_pitch), a_pitch, min((uint)MR, rows - i), depth);
}

#define A_PARAMETERS global const IN_T *a, ulong a_offset, ulong a_pitch, global uint *workspace
#define C_PARAMETERS                                                                                               \
    global OUT_T *c, ulong c_offset, ulong c_pitch, ulong block_rows, ulong kept_at,                               \
        local T *block OFFSET_PARAMETERS EPILOGUE_PARAMETERS
#define A_AND_C                                                                                                    \
    a, a_offset, a_pitch, workspace, c, c_offset, c_pitch, block_rows, kept_at,                                    \
        block OFFSET_ARGUMENTS EPILOGUE_ARGUMENTS

/* A few groups share the work: each takes the next `block_rows` rows of C. `block` holds block_rows * DEPTH elements;
 * `kept_at` is where the results of group 0 are kept, in elements behind the workspace's head. by[0] scales what is
 * stored; by[1] is that of passes after the first one if C holds what is kept. */
ONCE void multiply_blocks(ulong m, ulong n, ulong k, const scaling *by, A_PARAMETERS, C_PARAMETERS, ulong group)
{
    const ulong a_stride = 0, c_stride = 0; /* of one product */
    global const T *const panels = (global const T *)(workspace + NDR_WORKSPACE_HEAD);
    const ulong wide = (n + NR - 1) / NR * NR; /* kept of a row */
    global R *const all_kept = (global R *)(workspace + NDR_WORKSPACE_HEAD) + kept_at + group * block_rows * wide;
    ulong a_row[MR];
#pragma unroll
    for (uint r = 0; r < MR; ++r) a_row[r] = r;
    a += a_offset + A_OF(0);
    c += c_offset + C_OF(0);
    const ulong passes = (k + DEPTH - 1) / DEPTH;
    const ulong step = ((k + passes - 1) / passes + 7) / 8 * 8; /* equal, as each pass reads and writes all of C */
    const ulong share = (NR * MR + block_rows - 1) / block_rows * sizeof(T); /* of the next panel, for each step */
    for (;;) {
        const ulong row0 = (ulong)atomic_inc((volatile global uint *)workspace + NDR_OWN_COUNTER) * block_rows;
        if (row0 >= m) return;
        const ulong rows = min(block_rows, m - row0);
        for (ulong p = 0; p < k; p += step) {
            const uint depth = (uint)min(step, k - p);
            const bool is_first = p == 0, is_last = p + step >= k;
            bring_block(block, a + A_ROW(row0, a_pitch) + A_COL(p, a_pitch), a_pitch, (uint)rows, depth);
            for (ulong col = 0; col < n; col += NR) {
                global const T *const panel = panels + (col / NR * k + p) * NR;
                ahead next = { .b_share = share };
                next.b = (global const char *)(col + NR < n ? panel + k * NR : panels + (p + depth) * NR);
                for (ulong i = 0; i < rows; i += MR) {
                    target to = { c + (row0 + i) * c_pitch + col,
                                        c_pitch,
                                        0,
                                        (uint)min((ulong)MR, rows - i),
                                        (uint)min((ulong)NR, n - col),
                                        by,
                                        0,
                                        row0 + i,
                                        col };
                    if (!IS_PARTLY_IN(to.row, col, to.rows, to.cols)) continue;
                    if (STORES_SUMS || is_last) fetch_ahead(&to);
                    local const T *const ribbon = block + i * depth;
                    global R *const kept = all_kept + i * wide + col * MR;
#if !STORES_SUMS
                    for (uint q = 0; !is_first && q < MR * VECTORS; ++q) FETCH(kept + q * LANES, 1, 3);
#endif
                    V sum[MR][VECTORS];
                    VR result[MR][VECTORS];
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

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_packed(ulong m, ulong n, ulong k, R alpha, A_PARAMETERS, R beta, C_PARAMETERS CONDITION_PARAMETERS,
            NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const scaling by[2] = { { alpha, beta }, { alpha, (R)1 } };
    multiply_blocks(m, n, k, by, A_AND_C, ndr_group_id(it, 0));
}
