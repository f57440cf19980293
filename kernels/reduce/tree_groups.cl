/* tree_groups.cl - reduces with groups of many items, in a fixed order.
 *
 * Each group stores one partial; a second launch, of one group, combines them. For devices that do not order memory
 * between groups. Every run gives the same bits. */
#include "reduce/slot.clh"
#include "reduce/tiles.clh"

/* The partials follow the workspace's head. With one group, stores the result in `output`, and there is no workspace. */
kernel void reduce_tree(INPUT, ulong count, global uint *workspace, global STORED *output, ulong output_offset,
                        NDR_ND_RANGE(1))
{
    local T scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const T own = reduce_own_tiles(g, scratch, INPUT_VALUES, count);
    if (!ndr_leader(g) || store_if_only(g, own, count, output + output_offset)) return;
    ((global T *)(workspace + NDR_WORKSPACE_HEAD))[ndr_group_id(g, 0)] = own;
}

kernel void reduce_group_partials(global const uint *workspace, ulong groups, global STORED *output, ulong output_offset,
                                  NDR_ND_RANGE(1))
{
    local T scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const T share = share_of_partials(g, (global const T *)(workspace + NDR_WORKSPACE_HEAD), groups);
    const T all = reduce_shares(ndr_local_id(g, 0), scratch, share);
    if (ndr_leader(g)) STORE(all, output_offset, output);
}
