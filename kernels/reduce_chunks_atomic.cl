/* reduce_chunks_atomic.cl - many elements to one on CPUs, in whatever order groups arrive.
 *
 * A file of its own: its atomics are those of T, which a device need not have. */
#include "ndr/atomic.clh"
#include "reduce_chunks.clh"

/* Each group meets the others in one atomic; kernels/reduce_atomic.cl has written its start value. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
reduce_chunks_atomic(global const T *input, ulong offset, ulong count, ulong chunk, global T *result,
                     ulong result_offset, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const T own = reduce_own_chunk(ndr_get_group(it), input + offset, count, chunk);
    if (count > 0) ATOMIC_COMBINE(&result[result_offset], own);
}
