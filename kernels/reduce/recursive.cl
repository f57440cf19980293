/* recursive.cl - the textbook reduction: a small tree in local memory, one element for each item.
 *
 * Launch it over the input, then over the partials, until one group is left. `tile` holds one element for each item of
 * a group.
 *
 *     x0 x1 x2 x3 x4        the upper part is combined with the lower, which is rounded up,
 *     y0 y1 x2              so that any group size works, not only powers of two
 *     z0 y1
 *     w0 */
#include "reduce/share.clh"

#ifndef ELEMENT
#define ELEMENT(i) input[offset + (i)]
#endif

kernel void reduce_recursive(INPUT, ulong count, global T *partials,
                             ulong partials_offset, local T *tile, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const size_t id = ndr_local_id(it, 0), element = ndr_global_id(it, 0);

    /* Items past the end contribute the neutral element. */
    tile[id] = element < count ? ELEMENT(element) : NEUTRAL;
    for (size_t size = ndr_local_range(it, 0); size > 1;) {
        ndr_group_barrier(g, NDR_FENCE_LOCAL);
        const size_t lower = (size + 1) / 2;
        if (id + lower < size) tile[id] = COMBINE_ELEMENTS(tile[id], tile[id + lower]);
        size = lower;
    }
    if (id == 0) partials[partials_offset + ndr_group_id(g, 0)] = count > 0 ? tile[0] : IDENTITY;
}
