/* atomic_chunks_two_launches.cl - reduces on CPUs, combining in the order in which groups arrive.
 *
 * For devices that do not order memory between groups: a second launch reads the cell into which the groups of the
 * first one combined. Floats are added in the order of arrival: the last bits of a sum may differ from run to run. */
#include "reduce/chunks.clh"
#include "reduce/take_cell.clh"

/* With one group, stores the result in `output`, and there is no workspace; otherwise in the cell of the slot. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
reduce_chunks_to_cell(INPUT, ulong count, ulong chunk, global uint *workspace, uint slot,
                      global T *output, ulong output_offset, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    global uint *const mine = open_slot(g, workspace, slot);
    const T own = reduce_own_chunks(INPUT_VALUES, count, chunk, mine, ndr_group_range(g, 0));
    if (store_if_only(g, own, count, output + output_offset)) return;
    combine_into(cell_of(mine), own);
}
