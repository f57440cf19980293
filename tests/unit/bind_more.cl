/* bind_more.cl - has a kernel of the same name as bind.cl, with another parameter. */
#include <ndr/item.clh>

kernel void sum(global int *x, int y, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    x[ndr_global_id(it, 0)] += y;
}
