/* atomic_groups.cl - reduces with groups of many items, combining in the order in which groups arrive.
 *
 * Launch reduce_begin with one item, then reduce_atomic, then reduce_end with one item. The output is written last,
 * so a launch that the driver refuses leaves it unchanged. Floats are added in the order of arrival: the last bits
 * of a sum may differ from run to run. */
#include "ndr/atomic.clh"
#include "ndr/group.clh"
#include "reduce/share.clh"

#define ATOMIC_SUM ndr_atomic_fetch_add
#define ATOMIC_MIN ndr_atomic_fetch_min
#define ATOMIC_MAX ndr_atomic_fetch_max
#define ATOMIC_COMBINE JOIN(ATOMIC_, OP_NAME)

/* The result for no elements; otherwise the neutral element, which any element replaces, NaN included. */
kernel void reduce_begin(ulong count, global T *cell, ulong cell_offset, NDR_RANGE(1))
{
    cell[cell_offset] = count > 0 ? NDR_NEUTRAL(T, OP) : NDR_IDENTITY(T, OP);
}

kernel void reduce_atomic(global const T *input, ulong offset, ulong count, global T *result,
                          ulong result_offset, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);

    const T share = reduce_share(it, input + offset, count);
    const T sum = ndr_reduce_over_group(g, share, OP);
    if (ndr_leader(g) && count > 0) ATOMIC_COMBINE(&result[result_offset], sum);
}

kernel void reduce_end(global const T *cell, ulong cell_offset, global T *result, ulong result_offset, NDR_RANGE(1))
{
    result[result_offset] = cell[cell_offset];
}
