/* atomic_groups.cl - reduces with groups of many items, combining in the order in which groups arrive.
 *
 * For devices that do not order memory between groups: a second launch reads the cell into which the groups of the
 * first one combined. Floats are added in the order of arrival: the last bits of a sum may differ from run to run. */
#include "reduce/take_cell.clh"
#include "reduce/tiles.clh"

/* With one group, stores the result in `output`, and there is no workspace; otherwise in the cell of the slot. */
kernel void reduce_atomic(INPUT, ulong count, global uint *workspace, uint slot,
                          global T *output, ulong output_offset, NDR_ND_RANGE(1))
{
    local T scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const T own = reduce_own_tiles(g, scratch, INPUT_VALUES, count);
    if (!ndr_leader(g)) return;
    if (store_if_only(g, own, count, output + output_offset)) return;
    combine_into(cell_of(open_slot(g, workspace, slot)), own);
}
