/* pipeline.cl - work for one block: each element goes through many steps of a random number generator. */
#include <ndr/item.clh>

kernel void advance(global uint *x, uint steps, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    uint y = x[ndr_global_id(it, 0)];
    for (uint s = 0; s < steps; ++s) y = y * 1664525u + 1013904223u;
    x[ndr_global_id(it, 0)] = y;
}
