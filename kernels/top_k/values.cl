/* values.cl - stores the values of a selection, by the indexes of its elements. */
#include "ndr/nd_item.clh"

/* A default, so that the file compiles alone; the library sets others. */
#ifndef VALUE
#define VALUE uint /* of which values consist */
#endif

/* Launch an item for each of `count` elements, k of each row of `length`. */
kernel void top_k_values(global const VALUE *values, ulong values_offset, ulong words, global VALUE *top_values,
                         ulong top_values_offset, global const ulong *indexes, ulong indexes_offset, ulong length,
                         ulong k, ulong count, NDR_ND_RANGE(1))
{
    const ulong i = ndr_global_id(NDR_ND_ITEM(1), 0);
    if (i >= count) return;
    const ulong from = values_offset + i / k * length + indexes[indexes_offset + i];
    for (ulong w = 0; w < words; ++w) top_values[(top_values_offset + i) * words + w] = values[from * words + w];
}
