/* atomic_groups_one_launch.cl - reduces with groups of many items in one launch, combining in the order in which
 * groups arrive.
 *
 * Floats are added in that order: the last bits of a sum may differ from run to run. */
#include "reduce/last_group.clh"
#include "reduce/cell.clh"
#include "reduce/tiles.clh"

/* With one group there is no workspace. */
kernel void reduce_groups_atomic(INPUT, ulong count, global uint *workspace, uint slot,
                                 global T *output, ulong output_offset, NDR_ND_RANGE(1))
{
    local T scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const T own = reduce_own_tiles(g, scratch, INPUT_VALUES, count);
    if (!ndr_leader(g)) return;
    if (store_if_only(g, own, count, output + output_offset)) return;
    global uint *const mine = open_slot(g, workspace, slot);
    combine_into(cell_of(mine), own);
    if (is_last_group(g, mine)) output[output_offset] = take_combined(cell_of(mine));
}
