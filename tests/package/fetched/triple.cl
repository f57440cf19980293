#include <ndr/item.clh>

kernel void triple(global int *x, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    x[ndr_global_id(it, 0)] *= 3;
}
