/* reduce_chunks.cl - many elements to one on CPUs, in one launch and with the same bits each time.
 *
 * Each group leaves one partial; the last to arrive combines them in the order of their chunks. */
#include "reduce_chunks.clh"

#define SCRATCH_COUNTERS 64 /* as src/device/device.h has it */

/* Combine what the groups left, in their order, in rows of 64 as above. */
static inline T reduce_partials(global const T *partials, ulong count)
{
    T total = NDR_NEUTRAL(T, OP);
    for (ulong i = 0; i < count;) {
        const ulong longer_end = min(count, i + 64 * 64);
        T longer = NDR_NEUTRAL(T, OP);
        while (i < longer_end) {
            const ulong end = min(longer_end, i + 64);
            T row = NDR_NEUTRAL(T, OP);
            for (; i < end; ++i) row = ndr_combine(row, partials[i], OP);
            longer = ndr_combine(longer, row, OP);
        }
        total = ndr_combine(total, longer, OP);
    }
    return total;
}

/* `scratch` begins with SCRATCH_COUNTERS counters, 0 before and after, and has room for an element of each group behind
 * them. It is not touched where there is one group only. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
reduce_chunks(global const T *input, ulong offset, ulong count, ulong chunk, global uint *scratch, global T *output,
              ulong output_offset, NDR_ND_RANGE(1))
{
    global T *const partials = (global T *)(scratch + SCRATCH_COUNTERS);
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const T own = reduce_own_chunk(g, input + offset, count, chunk);
    if (ndr_group_range(g, 0) == 1) {
        output[output_offset] = count > 0 ? own : NDR_IDENTITY(T, OP);
        return;
    }
    partials[ndr_group_id(g, 0)] = own;
    if (arrives_last(g, scratch)) output[output_offset] = reduce_partials(partials, ndr_group_range(g, 0));
}
