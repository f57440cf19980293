/* bytes.cl - histograms of elements of 8 bits, by groups of many items: each group counts the 256 values in COPIES
 * tables in local memory. Bins are found at the end, once for each value.
 *
 *   row v     | copy 0 of the count of value v | copy 1 | ...       neighbouring items use different copies, and banks
 */
#include "histogram/bins.clh"
#include "histogram/fold.clh"

#ifndef GROUP
#define GROUP 512 /* items of a group */
#endif
#define VALUES 256
#define COPIES 32 /* local memory has so many banks, and so many items run in step, at most, on most GPUs */
#define AHEAD 2   /* vectors of 16 bytes that are loaded together */
#define OWN ((VALUES + GROUP - 1) / GROUP) /* values of which an item adds up the copies */
#define INLINED static inline __attribute__((always_inline)) /* the fault shared_local_array */

/* `own` is the item's copy in row 0. */
INLINED void count_byte(local uint *own, const uint value) { atomic_inc(own + value * COPIES); }

INLINED void count_vector(local uint *own, const uint4 bytes)
{
#pragma unroll
    for (uint shift = 0; shift < 32; shift += 8) {
        const uint4 value = bytes >> shift & 0xff;
        count_byte(own, value.s0);
        count_byte(own, value.s1);
        count_byte(own, value.s2);
        count_byte(own, value.s3);
    }
}

/* Neighbouring items begin at different copies. Volatile: the fault read_again. */
INLINED uint add_copies(volatile local const uint *counters, const uint value)
{
    uint sum = 0;
    for (uint i = 0; i < COPIES; ++i) sum += counters[value * COPIES + (i + value) % COPIES];
    return sum;
}

/* Each group stores a table. `counters` has VALUES * COPIES. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
histogram_bytes(global const T *input, const ulong offset, const ulong count, BINS_PARAMETERS, global uint *workspace,
                local uint *counters, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const bins b = THE_BINS;
    const uint size = table_size(b), id = (uint)ndr_local_id(it, 0);
    const ulong items = ndr_global_range(it, 0);
    global const uchar *const x = (global const uchar *)(input + offset);
    const ulong before = min(count, (16 - (ulong)x % 16) % 16); /* elements before the first whole vector */
    const ulong vectors = (count - before) / 16, after = before + 16 * vectors;
    global const uint4 *const v = (global const uint4 *)(x + before);
    local uint *const own = counters + id % COPIES;
    for (uint i = id; i < VALUES * COPIES; i += GROUP) counters[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong i = ndr_global_id(it, 0);
    for (; i + (AHEAD - 1) * items < vectors; i += AHEAD * items) {
        uint4 ahead[AHEAD];
#pragma unroll
        for (uint k = 0; k < AHEAD; ++k) ahead[k] = v[i + k * items];
#pragma unroll
        for (uint k = 0; k < AHEAD; ++k) count_vector(own, ahead[k]);
    }
    for (; i < vectors; i += items) count_vector(own, v[i]);
    if (ndr_group_id(g, 0) == 0) {
        for (ulong k = id; k < before; k += GROUP) count_byte(own, x[k]);
        for (ulong k = after + id; k < count; k += GROUP) count_byte(own, x[k]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* The table takes the place of the counters. */
    uint counts[OWN];
    for (uint k = 0; k < OWN; ++k) counts[k] = add_copies(counters, (id + k * GROUP) % VALUES);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = id; k < size; k += GROUP) counters[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < OWN; ++k) {
        const uint value = id + k * GROUP;
        if (value < VALUES) atomic_add(counters + entry_of(b, 0, (T)(uchar)value), counts[k]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    global W *const out = tables_of(workspace) + ndr_group_id(g, 0) * (ulong)size;
    for (uint k = id; k < size; k += GROUP) out[k] = counters[k];
}
