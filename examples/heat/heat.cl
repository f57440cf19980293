/* heat.cl - heat spreads over a plate with a wall that conducts nothing. */
#include "../common/colour.clh"
#include <ndr/item.clh>
#include <ndr/local.clh>

/* What flows from a neighbour in one step: nothing past the edge of the plate or through the wall. */
float flow(global const float *heat, global const float *conducts, int rows, int cols, int row, int col, int y, int x)
{
    if (y < 0 || y >= rows || x < 0 || x >= cols) return 0;
    const int here = row * cols + col, there = y * cols + x;
    return 0.2f * min(conducts[here], conducts[there]) * (heat[there] - heat[here]);
}

kernel void advance(global const float *from, global float *to, global const float *conducts, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const int rows = (int)ndr_global_range(it, 0), cols = (int)ndr_global_range(it, 1);
    const int row = (int)ndr_global_id(it, 0), col = (int)ndr_global_id(it, 1);
    to[row * cols + col] = from[row * cols + col] + flow(from, conducts, rows, cols, row, col, row - 1, col)
                           + flow(from, conducts, rows, cols, row, col, row + 1, col)
                           + flow(from, conducts, rows, cols, row, col, row, col - 1)
                           + flow(from, conducts, rows, cols, row, col, row, col + 1);
}

kernel void paint(global const float *heat, global const float *conducts, global uchar *rgb, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    const size_t i = ndr_global_id(it, 0);
    put_pixel(rgb, i, conducts[i] > 0 ? heat_colour(0.08f + 0.92f * sqrt(heat[i])) : (float3)(0.35f, 0.4f, 0.45f));
}
