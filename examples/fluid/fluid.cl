/* fluid.cl - a fluid that cannot be compressed, on a square whose edges are joined, so that it has no walls. */
#include "../common/colour.clh"
#include <ndr/item.clh>
#include <ndr/local.clh>

/* The pixel (row, col), past an edge that on the other side. */
size_t at(int size, int row, int col)
{
    return ndr_at(size, (row + size) % size, (col + size) % size);
}

/* The value between the four pixels around (y, x). */
#define BETWEEN(field, size, y, x)                                                                          \
    mix(mix(field[at(size, (int)floor(y), (int)floor(x))], field[at(size, (int)floor(y), (int)floor(x) + 1)], \
            (x) - floor(x)),                                                                                \
        mix(field[at(size, (int)floor(y) + 1, (int)floor(x))],                                              \
            field[at(size, (int)floor(y) + 1, (int)floor(x) + 1)], (x) - floor(x)),                         \
        (y) - floor(y))

/* Where each pixel's fluid comes from, speed and dye arrive with it. speed.x is along columns, in pixels a step. */
kernel void advect(global const float2 *speed, global const float *dye, global float2 *next_speed,
                   global float *next_dye, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const int size = (int)ndr_global_range(it, 0), row = (int)ndr_global_id(it, 0), col = (int)ndr_global_id(it, 1);
    const size_t i = at(size, row, col);
    const float x = clamp(col - speed[i].x, -0.5f * size, 1.5f * size);
    const float y = clamp(row - speed[i].y, -0.5f * size, 1.5f * size);
    next_speed[i] = BETWEEN(speed, size, y, x);
    next_dye[i] = BETWEEN(dye, size, y, x);
}

/* How much more flows out of each pixel than in. */
kernel void diverge(global const float2 *speed, global float *out, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const int size = (int)ndr_global_range(it, 0), row = (int)ndr_global_id(it, 0), col = (int)ndr_global_id(it, 1);
    out[at(size, row, col)] = 0.5f * (speed[at(size, row, col + 1)].x - speed[at(size, row, col - 1)].x
                                      + speed[at(size, row + 1, col)].y - speed[at(size, row - 1, col)].y);
}

/* One step towards the pressure that stops it. */
kernel void relax(global const float *pressure, global const float *divergence, global float *next, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const int size = (int)ndr_global_range(it, 0), row = (int)ndr_global_id(it, 0), col = (int)ndr_global_id(it, 1);
    const size_t i = at(size, row, col);
    next[i] = 0.25f * (pressure[at(size, row, col - 1)] + pressure[at(size, row, col + 1)]
                       + pressure[at(size, row - 1, col)] + pressure[at(size, row + 1, col)] - divergence[i]);
}

kernel void push(global const float *pressure, global float2 *speed, NDR_RANGE(2))
{
    const ndr_item it = NDR_ITEM(2);
    const int size = (int)ndr_global_range(it, 0), row = (int)ndr_global_id(it, 0), col = (int)ndr_global_id(it, 1);
    speed[at(size, row, col)] -= 0.5f * (float2)(pressure[at(size, row, col + 1)] - pressure[at(size, row, col - 1)],
                                                 pressure[at(size, row + 1, col)] - pressure[at(size, row - 1, col)]);
}

kernel void paint(global const float *dye, global uchar *rgb, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    put_pixel(rgb, ndr_global_id(it, 0), heat_colour(0.05f + 0.9f * clamp(dye[ndr_global_id(it, 0)], 0.0f, 1.0f)));
}
