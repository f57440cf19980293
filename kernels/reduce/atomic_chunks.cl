/* atomic_chunks.cl - reduces on CPUs in one launch, combining in the order in which groups arrive.
 *
 * Floats are added in that order: the last bits of a sum may differ from run to run. */
#include "reduce/last_group.clh"
#include "reduce/cell.clh"
#include "reduce/chunks.clh"

/* With one group there is no workspace. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
reduce_chunks_atomic(INPUT, ulong count, ulong chunk, global uint *workspace, uint slot,
                     global T *output, ulong output_offset, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    global uint *const mine = open_slot(g, workspace, slot);
    const T own = reduce_own_chunks(INPUT_VALUES, count, chunk, mine, ndr_group_range(g, 0));
    if (store_if_only(g, own, count, output + output_offset)) return;
    combine_into(cell_of(mine), own);
    if (is_last_group(g, mine)) output[output_offset] = take_combined(cell_of(mine));
}
