/* chunks.cl - histograms on CPUs: a group of one item counts one chunk of the elements in tables of its own.
 *
 * An element adds to another table than its neighbours, since an addition to the same bin waits for the one before. */
#include "histogram/bins.clh"
#include "once.clh"

#ifndef TABLES
#define TABLES 4 /* of a chunk */
#endif
#define STEP (16 * CHANNELS) /* elements whose bins are found together, by vector instructions */

/* Count x[begin] to x[end]. */
ONCE void count_chunk(global const T *x, const ulong begin, const ulong end, BINS_PARAMETERS, global const W *w,
                      global W *tables)
{
    const bins b = THE_BINS;
    const uint size = table_size(b);
    for (uint i = 0; i < TABLES * size; ++i) tables[i] = 0;
    ulong i = begin;
    for (; i + STEP <= end; i += STEP) {
#if BINS == OF_ALL
#define ENTRY(j) entry_of(b, (j) % CHANNELS, x[i + (j)])
#else
#define ENTRY(j) entries[j]
        uint entries[STEP];
        for (uint j = 0; j < STEP; ++j) entries[j] = entry_of(b, j % CHANNELS, x[i + j]);
#endif
#pragma unroll
        for (uint j = 0; j < STEP; ++j) tables[j / CHANNELS % TABLES * size + ENTRY(j)] += weight_of(w, i + j);
    }
    for (uint j = 0; i < end; ++i, ++j) tables[entry_of(b, j % CHANNELS, x[i])] += weight_of(w, i);
}

/* `chunk` is a multiple of STEP. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
histogram_chunks(global const T *input, const ulong offset, const ulong count, const ulong chunk, BINS_PARAMETERS,
                 global const W *weights, const ulong weights_offset, global uint *workspace, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const bins b = THE_BINS;
    const ulong group = ndr_group_id(ndr_get_group(it), 0), begin = group * chunk;
    count_chunk(input + offset, begin, min(count, begin + chunk), BINS_ARGUMENTS, weights + weights_offset,
                tables_of(workspace) + group * TABLES * table_size(b));
}
