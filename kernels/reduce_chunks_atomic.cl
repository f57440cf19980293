/* reduce_chunks_atomic.cl - many elements to one on CPUs, in one launch, in whatever order groups arrive.
 *
 * Floats are added in that order: a sum may differ in its last bits from run to run. A file of its own: its atomics are
 * those of T, which a device need not have. */
#include "reduce_chunks.clh"

/* src/ops/reduce.c says otherwise; with this the file compiles by itself. */
#ifndef WORD
#define WORD uint /* as wide as T */
#endif

#define TO_WORD(x) JOIN(as_, WORD)(x)
#define TO_T(word) JOIN(as_, T)(word)

#define CELL_COUNTER 2 /* where the cell lies among the counters: a place that suits a ulong */

/* The groups meet in a cell that is 0 before and after, as all counters are. So it holds the bits of a T with those of
 * the neutral element changed: 0 is the neutral element. */
static inline void meet(global WORD *cell, T own)
{
    const WORD neutral = TO_WORD(NDR_NEUTRAL(T, OP));
    WORD seen = ndr_atomic_load(cell);
    while (!ndr_atomic_compare_exchange(cell, &seen, TO_WORD(ndr_combine(TO_T(seen ^ neutral), own, OP)) ^ neutral)) {
    }
}

static inline T take_met(global WORD *cell)
{
    return TO_T(ndr_atomic_exchange(cell, (WORD)0) ^ TO_WORD(NDR_NEUTRAL(T, OP)));
}

/* As reduce_chunks. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
reduce_chunks_atomic(global const T *input, ulong offset, ulong count, ulong chunk, global uint *counters, global T *output,
                     ulong output_offset, NDR_ND_RANGE(1))
{
    global WORD *const cell = (global WORD *)(counters + CELL_COUNTER);
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const T own = reduce_own_chunk(g, input + offset, count, chunk);
    if (ndr_group_range(g, 0) == 1) {
        output[output_offset] = count > 0 ? own : NDR_IDENTITY(T, OP);
        return;
    }
    meet(cell, own);
    if (arrives_last(g, counters)) output[output_offset] = take_met(cell);
}
