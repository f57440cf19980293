#include <ndr/nd_item.clh>
kernel void add_one(global int *x, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    x[ndr_global_id(it, 0)] += 1;
}
kernel void copy_ints(global int *to, global const int *from, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    to[ndr_global_id(it, 0)] = from[ndr_global_id(it, 0)];
}
kernel void spin(global int *x, int turns, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const size_t i = ndr_global_id(it, 0);
    uint y = (uint)x[i];
    for (int t = 0; t < turns; ++t) y = y * 1664525u + 1013904223u;
    x[i] += y == 0xfffffff0u ? 2 : 1;
}
