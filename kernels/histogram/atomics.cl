/* atomics.cl - histograms with more bins than local memory holds: all items count in one table. */
#include "histogram/bins.clh"
#include "ndr/atomic.clh"

kernel void histogram_clear(global uint *workspace, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    tables_of(workspace)[ndr_global_id(it, 0)] = 0;
}

kernel void histogram_atomics(global const T *input, const ulong offset, const ulong count, BINS_PARAMETERS,
                              global const W *weights, const ulong weights_offset, global uint *workspace, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    const bins b = THE_BINS;
    global W *const table = tables_of(workspace);
    for (ulong i = ndr_global_id(it, 0); i < count; i += ndr_global_range(it, 0))
        (void)ndr_atomic_fetch_add(table + entry_of(b, (uint)(i % CHANNELS), input[offset + i]),
                                   weight_of(weights + weights_offset, i));
}
