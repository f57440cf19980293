/* vector_add.cl - c = a + b, once for each form of kernel. */
#include "ndr/nd_item.clh"

/* Over a range: one item for each element; the library chooses the groups. */
kernel void add(global const float *a, global const float *b, global float *c, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    const size_t i = ndr_global_id(it, 0);
    c[i] = a[i] + b[i];
}

/* Over an nd_range: the host chooses the size of the groups. */
kernel void add_in_groups(global const float *a, global const float *b, global float *c, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const size_t i = ndr_global_id(it, 0);
    c[i] = a[i] + b[i];
}
