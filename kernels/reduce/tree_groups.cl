/* tree_groups.cl - reduces with groups of many items, in a fixed order.
 *
 * Launch it twice: over the input, which stores one partial for each group, then as a single group over the partials.
 * For devices that do not order memory between groups. Every run gives the same bits. */
#include "reduce/tiles.clh"

kernel void reduce_tree(global const T *input, ulong offset, ulong count, global T *partials,
                        ulong partials_offset, NDR_ND_RANGE(1))
{
    local T scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const T own = reduce_own_tiles(g, scratch, input + offset, count);
    if (ndr_leader(g)) partials[partials_offset + ndr_group_id(g, 0)] = count > 0 ? own : NDR_IDENTITY(T, OP);
}
