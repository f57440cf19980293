/* tree_chunks_two_launches.cl - reduces on CPUs; gives the same bits as tree_chunks.cl.
 *
 * For devices that do not order memory between groups: a second launch combines the partials of the first one. */
#include "reduce/chunks.clh"

/* Stores a partial for each group; with one group that is the result. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
reduce_each_chunk(global const T *input, ulong offset, ulong count, ulong chunk, global T *partials,
                  ulong partials_offset, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const T own = reduce_own_chunk(g, input + offset, count, chunk);
    partials[partials_offset + ndr_group_id(g, 0)] = count > 0 ? own : NDR_IDENTITY(T, OP);
}

kernel void reduce_all_partials(global const T *partials, ulong partials_offset, ulong count, global T *output,
                                ulong output_offset, NDR_RANGE(1))
{
    output[output_offset] = reduce_partials(partials + partials_offset, count);
}
