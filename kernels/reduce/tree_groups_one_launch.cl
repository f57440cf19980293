/* tree_groups_one_launch.cl - reduces with groups of many items in one launch; every run gives the same bits.
 *
 * Each group stores one partial. The last group to arrive combines them. */
#include "reduce/last_group.clh"
#include "reduce/tiles.clh"

/* The partials follow the workspace's head. All groups call all barriers: the fault return_before_barrier. */
kernel void reduce_groups(INPUT, ulong count, global uint *workspace, uint slot, global STORED *output,
                          ulong output_offset, NDR_ND_RANGE(1))
{
    local T scratch[GROUP];
    local uint is_last[1]; /* an array: clang reports a variable as uninitialised */
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    global T *const partials = (global T *)(workspace + NDR_WORKSPACE_HEAD);
    const T own = reduce_own_tiles(g, scratch, INPUT_VALUES, count);
    if (ndr_leader(g)) {
        partials[ndr_group_id(g, 0)] = own;
        is_last[0] = is_last_group(g, open_slot(g, workspace, slot));
    }
    ndr_group_barrier(g);

    const T share = share_of_partials(g, partials, is_last[0] ? ndr_group_range(g, 0) : 0);
    T all = reduce_shares(ndr_local_id(g, 0), scratch, share);
    if (count == 0) all = IDENTITY;
    if (ndr_leader(g) && is_last[0]) STORE(all, output_offset, output);
}
