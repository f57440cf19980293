/* tree_chunks.cl - reduces on CPUs in one launch; every run gives the same bits.
 *
 * Groups store a partial of each chunk. The last group to arrive combines them in the order of their chunks. */
#include "reduce/last_group.clh"
#include "reduce/chunks.clh"

/* The partials are behind the workspace's head. With one group there is no workspace. */
ONCE void reduce_in_turns(INPUT, ulong count, ulong chunk, global uint *workspace, uint slot, global STORED *output,
                          ulong output_offset, ulong group, ulong groups)
{
    global uint *const mine = open_slot_in(group, workspace, slot);
    global T *const results = (global T *)(workspace + NDR_WORKSPACE_HEAD);
    if (store_only_chunk(output + output_offset, INPUT_VALUES, count, chunk, mine)) return;
    reduce_chunks_to(results, INPUT_VALUES, count, chunk, mine, groups);
    if (!is_last_of(groups, mine)) return;
    const T all = reduce_partials(results, count_chunks(count, chunk));
    STORE(all, output_offset, output);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
reduce_chunks(INPUT, ulong count, ulong chunk, global uint *workspace, uint slot, global STORED *output,
              ulong output_offset, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    reduce_in_turns(INPUT_VALUES, count, chunk, workspace, slot, output, output_offset, ndr_group_id(g, 0),
                    ndr_group_range(g, 0));
}
