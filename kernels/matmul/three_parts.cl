/* three_parts.cl - C = alpha * A * B + beta * C in float, row-major, by a GPU's matrix units for bfloat16: by three
 * parts of each element (three_parts.clh).
 *
 *   A is m x k, B is k x n, C is m x n; offsets and pitches are in elements.
 *
 * Tiles may be computed in parts of k: their sums go to the workspace, and gemm_three_parts_add() adds them, always in
 * the same order. */

/* Defaults, with which the file compiles by itself. */
#ifndef TILE_N
#define TILE_N 64 /* rows of a tile: 64 or 128 */
#endif
#include "matmul/three_parts.clh"
#include "ndr/detail/workspace.h"

#ifdef NDR_PTX

#define PARAMETERS                                                                                                   \
    ulong m, ulong n, ulong k, float alpha, global const float *restrict a, ulong a_offset, ulong a_pitch,           \
        global const float *restrict b, ulong b_offset, ulong b_pitch, float beta, global float *restrict c,         \
        ulong c_offset, ulong c_pitch, uint units, uint parts, uint part_slabs, global uint *restrict workspace
#define SHARES NDR_THREE_PARTS_SHARES
#define SUMS_OF_PARTS ((global float2 *)(workspace + NDR_WORKSPACE_HEAD))

/* Over groups that take the units of work in turn, at most one for each compute unit. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void gemm_three_parts(PARAMETERS)
{
    local uchar stages[THREE_PARTS_BYTES + 1024] __attribute__((aligned(1024)));
    local ulong barriers[2 * A_STAGES];
    local uint marks[2 * TILE_MARKS];
    local uchar *const at_1024 = stages + (1024 - PTX_ADDRESS(stages) % 1024) % 1024;
    const product p = PRODUCT;
    const work w = { units, parts, part_slabs };
    multiply_in_three_parts(&p, &w, at_1024, barriers, marks, SUMS_OF_PARTS);
}

/* Over the tiles in parts: for each a group for a pair of sums of each item. Each of SHARES items adds a share of the
 * parts: one after the other all parts would take as long as the products. */
kernel __attribute__((reqd_work_group_size(SHARES * 32 * WARPS, 1, 1))) void gemm_three_parts_add(PARAMETERS)
{
    local float2 of_shares[SHARES * 32 * WARPS];
    const product p = PRODUCT;
    const uint item = get_local_id(0) % (32 * WARPS), share = get_local_id(0) / (32 * WARPS);
    const uint pair = get_group_id(0) % PAIRS_OF_ITEM, tile = get_group_id(0) / PAIRS_OF_ITEM;
    global const float2 *const from =
        SUMS_OF_PARTS + ((ulong)tile * parts * PAIRS_OF_ITEM + pair) * (32 * WARPS) + item;
    float2 all = 0;
#pragma unroll 8
    for (uint i = share; i < parts; i += SHARES) all += from[(ulong)i * (PAIRS_OF_ITEM * 32 * WARPS)];
    of_shares[get_local_id(0)] = all;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (share > 0) return;
#pragma unroll
    for (uint i = 1; i < SHARES; ++i) all += of_shares[i * (32 * WARPS) + item];
    const work w = { units, parts, part_slabs };
    const unit u = find_unit(&p, &w, tile * parts);
    const product of_rows = rows_of(&p, &u);
    store_two(&of_rows, row_of_item() + PAIR_ROW(pair), u.col + item / 128 * COLS + col_of_item(), all.x, all.y);
}

#endif
