/* sliding_window_matmul.cl - result = x * y, a block of the result for each group.
 *
 *                     cols
 *                  +--+--+--+         A group of side x side items owns one block of the result. It slides a
 *          inner   |  |yy|  |         window along x's rows (xx) and another down y's columns (yy), both kept
 *                  +--+--+--+         in local memory, so that each element is read from global memory once
 *        inner                        for the whole group instead of once for each item.
 *      +--+--+--+  +--+--+--+
 * rows |xx|  |  |  |  |rr|  |         Where a window reaches past an edge it holds zeros. The guards are around
 *      +--+--+--+  +--+--+--+         the loads and the store; every item meets every barrier.
 */
#include "ndr/local.clh"
#include "ndr/nd_item.clh"

kernel void sliding_window_matmul(global const float *x, global const float *y, local float *x_window,
                                  local float *y_window, global float *result, ulong rows, ulong inner, ulong cols,
                                  NDR_ND_RANGE(2))
{
    const ndr_nd_item it = NDR_ND_ITEM(2);
    const ndr_group g = ndr_get_group(it);
    const size_t row = ndr_global_id(it, 0), col = ndr_global_id(it, 1);
    const size_t i = ndr_local_id(it, 0), j = ndr_local_id(it, 1), side = ndr_local_range(it, 0);

    float sum = 0;
    for (size_t start = 0; start < inner; start += side) {
        const bool x_is_there = row < rows && start + j < inner, y_is_there = start + i < inner && col < cols;
        x_window[ndr_at(side, i, j)] = x_is_there ? x[ndr_at(inner, row, start + j)] : 0.0f;
        y_window[ndr_at(side, i, j)] = y_is_there ? y[ndr_at(cols, start + i, col)] : 0.0f;
        ndr_group_barrier(g, NDR_FENCE_LOCAL);

        for (size_t k = 0; k < side; ++k) sum += x_window[ndr_at(side, i, k)] * y_window[ndr_at(side, k, j)];
        ndr_group_barrier(g, NDR_FENCE_LOCAL); /* the next window overwrites what others may still read */
    }
    if (row < rows && col < cols) result[ndr_at(cols, row, col)] = sum;
}
