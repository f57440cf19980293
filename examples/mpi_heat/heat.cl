/* heat.cl - some rows of a plate with a wall that conducts nothing. There is a row more before and behind them. */
#include "../common/colour.clh"
#include <ndr/item.clh>

static float flow(global const float *heat, global const float *conducts, const size_t here, const size_t there)
{
    return 0.2f * min(conducts[here], conducts[there]) * (heat[there] - heat[here]);
}

/* Rows of an item. A GPU is faster with several: what an item reads for one row it needs for the next one, too. */
#ifndef ROWS
#define ROWS 1
#endif

/* Over (rows / ROWS rounded up, columns): `rows` rows from `first` on. What flows into a row from below flows out of
 * the next one. What lies before the first row and behind the last one of all conducts nothing. */
kernel void advance(global const float *restrict from, global float *restrict to,
                    global const float *restrict conducts, ulong first, ulong rows, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const size_t cols = ndr_global_range(it, 1), col = ndr_global_id(it, 1), row = ndr_global_id(it, 0) * ROWS;
    size_t here = (first + row) * cols + col;
    float above = flow(from, conducts, here, here - cols);
    for (size_t r = 0; r < ROWS; ++r, here += cols) {
        if (r > 0 && row + r >= rows) break;
        const float below = flow(from, conducts, here, here + cols);
        float sum = from[here] + above + below;
        if (col > 0) sum += flow(from, conducts, here, here - 1);
        if (col + 1 < cols) sum += flow(from, conducts, here, here + 1);
        to[here] = sum;
        above = -below;
    }
}

kernel void paint(global const float *heat, global const float *conducts, ulong first, global uchar *rgb, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    const size_t i = ndr_global_id(it, 0), at = first + i;
    put_pixel(rgb, i, conducts[at] > 0 ? heat_colour(0.08f + 0.92f * sqrt(heat[at])) : (float3)(0.35f, 0.4f, 0.45f));
}
