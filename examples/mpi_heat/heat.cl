/* heat.cl - some rows of a plate with a wall that conducts nothing. There is a row more before and behind them. */
#include "../common/colour.clh"
#include <ndr/item.clh>

static float flow(global const float *heat, global const float *conducts, const size_t here, const size_t there)
{
    return 0.2f * min(conducts[here], conducts[there]) * (heat[there] - heat[here]);
}

/* Over (rows, columns), from `first` on. What lies before the first row and behind the last one of all conducts
 * nothing. */
kernel void advance(global const float *from, global float *to, global const float *conducts, ulong first, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const size_t cols = ndr_global_range(it, 1), col = ndr_global_id(it, 1);
    const size_t here = (first + ndr_global_id(it, 0)) * cols + col;
    float sum = from[here] + flow(from, conducts, here, here - cols) + flow(from, conducts, here, here + cols);
    if (col > 0) sum += flow(from, conducts, here, here - 1);
    if (col + 1 < cols) sum += flow(from, conducts, here, here + 1);
    to[here] = sum;
}

kernel void paint(global const float *heat, global const float *conducts, ulong first, global uchar *rgb, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    const size_t i = ndr_global_id(it, 0), at = first + i;
    put_pixel(rgb, i, conducts[at] > 0 ? heat_colour(0.08f + 0.92f * sqrt(heat[at])) : (float3)(0.35f, 0.4f, 0.45f));
}
