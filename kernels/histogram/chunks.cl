/* chunks.cl - histograms on CPUs: a group of one item counts one chunk of the elements in tables of its own.
 *
 * An element adds to another table than its neighbours, since an addition to the same bin waits for the one before.
 * With IN_ONE_LAUNCH the last group adds up the tables; otherwise a second launch does. */
#ifndef IN_ONE_LAUNCH
#define IN_ONE_LAUNCH 0
#endif
#ifndef TABLES
#define TABLES 4 /* of a chunk */
#endif
#include "histogram/bins.clh"
#include "once.clh"
#if IN_ONE_LAUNCH
#include "reduce/last_group.clh"
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

/* As histogram_fold(), all bins. No sum wraps: a launch counts fewer than 2^32 elements. */
ONCE void fold_tables(global W *tables, const uint count, const uint bin_count, global OUT *output, const uint adds)
{
    const uint size = CHANNELS * (bin_count + 1);
    for (uint i = 1; i < count; ++i)
        for (uint k = 0; k < size; ++k) tables[k] += tables[i * size + k];
    for (uint channel = 0; channel < CHANNELS; ++channel)
        for (uint bin = 0; bin < bin_count; ++bin) {
            global OUT *const out = output + channel * bin_count + bin;
            const OUT sum = tables[channel * (bin_count + 1) + bin];
            *out = adds ? *out + sum : sum;
        }
}

/* `chunk` is a multiple of STEP. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
histogram_chunks(global const T *input, const ulong offset, const ulong count, const ulong chunk, BINS_PARAMETERS,
                 global const W *weights, const ulong weights_offset, global uint *workspace, const uint slot,
                 global OUT *output, const ulong output_offset, const uint adds, NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const bins b = THE_BINS;
    const ulong group = ndr_group_id(g, 0), begin = group * chunk;
#if IN_ONE_LAUNCH
    global uint *const mine = open_slot(g, workspace, slot);
#endif
    count_chunk(input + offset, begin, min(count, begin + chunk), BINS_ARGUMENTS, weights + weights_offset,
                tables_of(workspace) + group * TABLES * table_size(b));
#if IN_ONE_LAUNCH
    if (!is_last_group(g, mine)) return;
    fold_tables(tables_of(workspace), (uint)ndr_group_range(g, 0) * TABLES, bin_count, output + output_offset, adds);
#endif
    (void)slot, (void)output, (void)output_offset, (void)adds;
}
