/* groups.cl - histograms by groups of many items: each group counts in a table in local memory. */
#include "histogram/bins.clh"
#include "histogram/fold.clh"
#include "ndr/atomic.clh"

#ifndef LANES
#define LANES 4 /* neighbouring elements that an item takes */
#endif

/* Group g of n takes the elements of its items, then those n groups on, and stores its table. */
kernel void histogram_groups(global const T *input, const ulong offset, const ulong count, BINS_PARAMETERS,
                             global const W *weights, const ulong weights_offset, global uint *workspace,
                             local W *table, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const bins b = THE_BINS;
    const uint size = table_size(b), id = (uint)ndr_local_id(it, 0), items = (uint)ndr_local_range(it, 0);
    const ulong stride = ndr_global_range(it, 0) * (ulong)LANES;
    global W *const out = tables_of(workspace) + ndr_group_id(g, 0) * (ulong)size;
    global const T *const x = input + offset;
    global const W *const w = weights + weights_offset;
    for (uint i = id; i < size; i += items) table[i] = 0;
    ndr_group_barrier(g, NDR_FENCE_LOCAL);
    for (ulong i = ndr_global_id(it, 0) * (ulong)LANES; i < count; i += stride)
#pragma unroll
        for (uint j = 0; j < LANES; ++j)
            if (i + j < count)
                (void)ndr_atomic_fetch_add(table + entry_of(b, (uint)((i + j) % CHANNELS), x[i + j]), weight_of(w, i + j));
    ndr_group_barrier(g, NDR_FENCE_LOCAL);
    for (uint i = id; i < size; i += items) out[i] = table[i];
}
