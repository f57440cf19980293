/* reduce_chunks.cl - many elements to one on devices whose groups are threads with vector registers: CPUs.
 *
 *   input      |        chunk 0         |        chunk 1         |   chunk 2   |      one group of one item each
 *   in a chunk |  stream a  |  stream b  |t|                                          read side by side; t: the tail
 *   in a stream 4 accumulators of 16 lanes each, in rows of at most 64 vectors
 *
 * Nothing waits for anything, so a CPU driver compiles each group to one plain loop. Each group leaves one partial;
 * the last to arrive combines them in the order of their chunks. Chunks and rows depend on `count` alone: the same
 * bits on every run, for any number of threads.
 *
 * src/ops/reduce.c launches either kernel once, with ceil(count / chunk) groups of one item. Besides what reduce.clh
 * says the file is built with -DOP_NAME=SUM, MIN or MAX.
 */
#include "ndr/atomic.clh"
#include "reduce.clh"

#ifndef OP_NAME
#define OP_NAME SUM
#endif

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define T16 JOIN(T, 16)

#define SCRATCH_COUNTERS 64 /* as src/device/device.h has it */
#define LANES 16
#define ACCUMULATORS 4 /* of each stream */
#define STEP (LANES * ACCUMULATORS)
#define ROW 64 /* vectors that an accumulator takes in before its sum goes to a longer row */

/* Two vectors, or two elements, to one. A comparison with NaN is false, which leaves NaN out of minima and maxima;
 * reduce_chunk() sees to it that nothing but NaN gives NaN. */
#define COMBINE_SUM(a, b) ((a) + (b))
#define COMBINE_MIN(a, b) ((b) < (a) ? (b) : (a))
#define COMBINE_MAX(a, b) ((a) < (b) ? (b) : (a))
#define COMBINE(a, b) JOIN(COMBINE_, OP_NAME)(a, b)

/* By way of an array: Oclgrind takes parts of a vector (v.lo) for uninitialised. */
static inline T fold_lanes(T16 v)
{
    T lane[LANES];
    vstore16(v, 0, lane);
#pragma unroll
    for (uint width = LANES / 2; width > 0; width /= 2)
#pragma unroll
        for (uint j = 0; j < width; ++j) lane[j] = COMBINE(lane[j], lane[j + width]);
    return lane[0];
}

/* Whether x[0..n) holds nothing but NaN, which no comparison with any value is true of. */
static inline bool is_all_nan(global const T *x, ulong n, T value)
{
    for (ulong i = 0; i < n; ++i)
        if (x[i] <= value || x[i] >= value) return false;
    return true;
}

/* Combine x[0..n), n > 0. */
static inline T reduce_chunk(global const T *x, ulong n)
{
    const T identity = NDR_IDENTITY(T, OP);
    const ulong stream = n / 2 / STEP * STEP; /* elements of a stream */
    T16 total[2 * ACCUMULATORS];
#pragma unroll
    for (uint j = 0; j < 2 * ACCUMULATORS; ++j) total[j] = (T16)(identity);

    for (ulong i = 0; i < stream;) {
        const ulong end = min(stream, i + ROW * STEP);
        T16 row[2 * ACCUMULATORS];
#pragma unroll
        for (uint j = 0; j < 2 * ACCUMULATORS; ++j) row[j] = (T16)(identity);
        for (; i < end; i += STEP) {
#pragma unroll
            for (uint j = 0; j < ACCUMULATORS; ++j) {
                const T16 a = vload16(j, x + i), b = vload16(j, x + stream + i);
                row[j] = COMBINE(row[j], a);
                row[ACCUMULATORS + j] = COMBINE(row[ACCUMULATORS + j], b);
            }
        }
#pragma unroll
        for (uint j = 0; j < 2 * ACCUMULATORS; ++j) total[j] = COMBINE(total[j], row[j]);
    }

    /* Fewer than 2 * STEP are left. */
    ulong i = 2 * stream;
    for (; i + LANES <= n; i += LANES) {
        const T16 a = vload16(0, x + i);
        total[0] = COMBINE(total[0], a);
    }
    T tail = identity;
    for (; i < n; ++i) tail = COMBINE(tail, x[i]);

#pragma unroll
    for (uint width = ACCUMULATORS; width > 0; width /= 2)
#pragma unroll
        for (uint j = 0; j < width; ++j) total[j] = COMBINE(total[j], total[j + width]);
    const T lanes = fold_lanes(total[0]);
    const T result = COMBINE(lanes, tail);
    return result == identity && is_all_nan(x, n, identity) ? NDR_NEUTRAL(T, OP) : result;
}

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

/* This group's chunk of the input. */
static inline T reduce_own_chunk(ndr_group g, global const T *input, ulong count, ulong chunk)
{
    const ulong begin = ndr_group_id(g, 0) * chunk;
    return begin < count ? reduce_chunk(input + begin, min(chunk, count - begin)) : NDR_NEUTRAL(T, OP);
}

/* `scratch` begins with SCRATCH_COUNTERS counters, 0 before and after, and has room for an element of each group behind
 * them. It is not touched where there is one group only. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
reduce_chunks(global const T *input, ulong offset, ulong count, ulong chunk, global uint *scratch, global T *output,
              ulong output_offset, NDR_ND_RANGE(1))
{
    global uint *const arrived = scratch;
    global T *const partials = (global T *)(scratch + SCRATCH_COUNTERS);
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const ulong groups = ndr_group_range(g, 0);
    const T own = reduce_own_chunk(g, input + offset, count, chunk);
    if (groups == 1) {
        output[output_offset] = count > 0 ? own : NDR_IDENTITY(T, OP);
        return;
    }
    partials[ndr_group_id(g, 0)] = own;
    mem_fence(CLK_GLOBAL_MEM_FENCE); /* the partial before the news of it */
    if (ndr_atomic_fetch_add(arrived, 1u) + 1 < groups) return;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    output[output_offset] = reduce_partials(partials, groups);
    ndr_atomic_store(arrived, 0u);
}

/* The same where each group meets the others in one atomic; kernels/reduce_atomic.cl has written its start value. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
reduce_chunks_atomic(global const T *input, ulong offset, ulong count, ulong chunk, global T *result,
                     ulong result_offset, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const T own = reduce_own_chunk(ndr_get_group(it), input + offset, count, chunk);
    if (count > 0) ATOMIC_COMBINE(&result[result_offset], own);
}
