/* tree_groups.cl - reduces with groups of many items, in a fixed order.
 *
 * Launch it twice: over the input, which stores one partial for each group, then as a single group over the partials.
 *
 *     items      0 1 2 3 | 4 5 6 7          each takes every 8th element, starting at its own id
 *     input      x x x x x x x x  x x x x x x x x  x x ...
 *     groups     sum     | sum              ndr_reduce_over_group
 *
 * The order of combining depends only on `count` and the two sizes: every run gives the same bits.
 */
#include "ndr/group.clh"
#include "reduce/share.clh"

kernel void reduce_tree(global const T *input, ulong offset, ulong count, global T *partials,
                        ulong partials_offset, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);

    const T share = reduce_share(it, input + offset, count);
    const T sum = ndr_reduce_over_group(g, share, OP);
    if (ndr_leader(g))
        partials[partials_offset + ndr_group_id(g, 0)] = count > 0 ? sum : NDR_IDENTITY(T, OP);
}
