/* tree_chunks_two_launches.cl - reduces on CPUs; gives the same bits as tree_chunks.cl.
 *
 * For devices that do not order memory between groups: a second launch combines the partials of the first one. */
#include "reduce/chunks.clh"

/* Stores the result of each chunk behind the workspace's head; with one group, stores it in `output`, and there is no
 * workspace. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
reduce_each_chunk(INPUT, ulong count, ulong chunk, global uint *workspace, uint slot, global STORED *output,
                  ulong output_offset, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    global uint *const mine = open_slot(g, workspace, slot);
    if (store_only_chunk(output + output_offset, INPUT_VALUES, count, chunk, mine)) return;
    reduce_chunks_to((global T *)(workspace + NDR_WORKSPACE_HEAD), INPUT_VALUES, count, chunk, mine,
                     ndr_group_range(g, 0));
}

kernel void reduce_all_partials(global uint *workspace, uint slot, ulong chunks, global STORED *output,
                                ulong output_offset, NDR_RANGE(1))
{
    slot_at(workspace, slot)[NDR_SLOT_TAKEN] = 0;
    const T all = reduce_partials((global const T *)(workspace + NDR_WORKSPACE_HEAD), chunks);
    STORE(all, output_offset, output);
}
