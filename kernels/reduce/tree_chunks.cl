/* tree_chunks.cl - reduces on CPUs in one launch; every run gives the same bits.
 *
 * Each group stores one partial. The last group to arrive combines them in the order of their chunks. */
#include "reduce/last_group.clh"
#include "reduce/chunks.clh"

/* The partials are behind the workspace's head. With one group there is no workspace. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
reduce_chunks(global const T *input, ulong offset, ulong count, ulong chunk, global uint *workspace, uint slot,
              global T *output, ulong output_offset, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const T own = reduce_own_chunk(g, input + offset, count, chunk);
    if (store_if_only(g, own, count, output + output_offset)) return;
    global T *const partials = (global T *)(workspace + NDR_WORKSPACE_HEAD);
    partials[ndr_group_id(g, 0)] = own;
    if (is_last_group(g, open_slot(g, workspace, slot)))
        output[output_offset] = reduce_partials(partials, ndr_group_range(g, 0));
}
