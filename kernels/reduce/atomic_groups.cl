/* atomic_groups.cl - reduces with groups of many items, combining in the order in which groups arrive.
 *
 * For devices that do not order memory between groups: a second launch reads the cell into which the groups of the
 * first one combined. Floats are added in the order of arrival: the last bits of a sum may differ from run to run. */
#include "reduce/cell.clh"
#include "reduce/tiles.clh"

/* With one group, stores the result in `output`, and there is no workspace; otherwise in the cell of the slot. */
kernel void reduce_atomic(global const T *input, ulong offset, ulong count, global uint *workspace, uint slot,
                          global T *output, ulong output_offset, NDR_ND_RANGE(1))
{
    local T scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const T own = reduce_own_tiles(g, scratch, input + offset, count);
    if (!ndr_leader(g)) return;
    if (ndr_group_range(g, 0) == 1) {
        output[output_offset] = count > 0 ? own : NDR_IDENTITY(T, OP);
        return;
    }
    if (ndr_group_id(g, 0) == 0) clear_next_slot(workspace, slot);
    combine_into(cell_of(slot_at(workspace, slot)), own);
}

kernel void reduce_take_cell(global uint *workspace, uint slot, global T *output, ulong output_offset, NDR_RANGE(1))
{
    output[output_offset] = take_combined(cell_of(slot_at(workspace, slot)));
}
