/* bytes.cl - histograms of elements of 8 bits, by groups of many items and without atomics: each item counts the 256
 * values in counters of its own, of 8 bits. Bins are found at the end, once for each value.
 *
 *   row r     | item 0: values 4 r to 4 r + 3 | item 1: the same | ...       neighbouring items use different banks
 *
 * Before a counter can wrap, each item adds up a row. */
#include "histogram/bins.clh"
#include "histogram/fold.clh"

#define VALUES 256
#define ROWS (VALUES / 4)
#define GROUP ROWS  /* items of a group: each adds up a row */
#define AHEAD 5     /* vectors of 16 bytes that are loaded together */
#define STEPS 3     /* of AHEAD vectors, after which a counter has 240 at most */
#define INLINED static inline __attribute__((always_inline)) /* the fault shared_local_array */

/* `own` is the item's part of row 0. */
INLINED void count_bytes(local uchar *own, const uint bytes)
{
#pragma unroll
    for (uint shift = 0; shift < 32; shift += 8) {
        const uint x = bytes >> shift & 0xff;
        own[x / 4 * (4 * GROUP) + x % 4] += 1;
    }
}

INLINED void count_vector(local uchar *own, const uint4 bytes)
{
    count_bytes(own, bytes.s0);
    count_bytes(own, bytes.s1);
    count_bytes(own, bytes.s2);
    count_bytes(own, bytes.s3);
}

/* Add the counters of row `id` to the counts of its values, and zero them. Items begin at different columns, which are
 * in different banks. Two sums of 16 bits fit a uint. Volatile: the fault read_again. */
INLINED void add_row(const uint id, volatile local uint *counters, uint *counts)
{
    uint even = 0, odd = 0;
#pragma unroll 8
    for (uint i = 0; i < GROUP; ++i) {
        volatile local uint *const word = counters + id * GROUP + (i + id) % GROUP;
        const uint four = *word;
        even += four & 0x00ff00ff;
        odd += four >> 8 & 0x00ff00ff;
        *word = 0;
    }
    counts[0] += even & 0xffff;
    counts[1] += odd & 0xffff;
    counts[2] += even >> 16;
    counts[3] += odd >> 16;
}

/* Launch groups of GROUP items. Each stores a table. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
histogram_bytes(global const T *input, const ulong offset, const ulong count, BINS_PARAMETERS, global uint *workspace,
                NDR_ND_RANGE(1))
{
    local uint counters[ROWS * GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const bins b = THE_BINS;
    const uint size = table_size(b), id = (uint)ndr_local_id(it, 0);
    const ulong items = ndr_global_range(it, 0);
    global const uchar *const x = (global const uchar *)(input + offset);
    const ulong before = min(count, (16 - (ulong)x % 16) % 16); /* elements before the first whole vector */
    const ulong vectors = (count - before) / 16;
    global const uint4 *const v = (global const uint4 *)(x + before);
    local uchar *const own = (local uchar *)(counters + id);
    uint counts[4] = { 0, 0, 0, 0 };
    for (uint i = id; i < ROWS * GROUP; i += GROUP) counters[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (ulong first = 0; first < vectors; first += items * (AHEAD * STEPS)) {
        for (uint step = 0; step < STEPS; ++step) {
            const ulong i = first + step * AHEAD * items + ndr_global_id(it, 0);
            if (i + (AHEAD - 1) * items < vectors) {
                uint4 ahead[AHEAD];
#pragma unroll
                for (uint k = 0; k < AHEAD; ++k) ahead[k] = v[i + k * items];
#pragma unroll
                for (uint k = 0; k < AHEAD; ++k) count_vector(own, ahead[k]);
            } else {
                for (ulong k = i; k < vectors; k += items) count_vector(own, v[k]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        add_row(id, counters, counts);
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    /* The counters are zeros: the table takes their place. */
    for (uint i = 0; i < 4; ++i) atomic_add(counters + entry_of(b, 0, (T)(uchar)(4 * id + i)), counts[i]);
    const ulong after = before + 16 * vectors;
    if (ndr_group_id(g, 0) == 0) {
        for (ulong i = id; i < before; i += GROUP) atomic_inc(counters + entry_of(b, 0, input[offset + i]));
        for (ulong i = after + id; i < count; i += GROUP) atomic_inc(counters + entry_of(b, 0, input[offset + i]));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    global W *const out = tables_of(workspace) + ndr_group_id(g, 0) * (ulong)size;
    for (uint i = id; i < size; i += GROUP) out[i] = counters[i];
}
