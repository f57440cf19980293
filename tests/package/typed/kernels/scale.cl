#include "half.clh"
#include "weights.h"
#include <ndr/item.clh>

/* x[i] ← x[i] · factor / PARTS + shift */
kernel void scale(global float *x, const struct weights w, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    const size_t i = ndr_global_id(it, 0);
    x[i] = x[i] * w.factor / PARTS + w.shift;
}
