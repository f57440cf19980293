/* merge.cl - merges and merge sorts by a comparison, on CPUs and GPUs: each item makes `per` neighbouring elements of the
 * result, and finds by bisection where they begin in both inputs (a merge path). No item waits for another.
 *
 * The text in front of this file defines the element T, and IS_LESS(a, b), which is false of equal elements. */
#include "ndr/nd_item.clh"
#include "shared/merge.h"

/* Defaults, so that the file compiles alone. */
#ifndef T
#define T float
#define IS_LESS(a, b) ((a) < (b))
#endif
#ifndef SEGMENTS
#define SEGMENTS 0 /* 1: they begin at `offsets`; 2: all have `length` elements */
#endif

/* How many of the first `at` merged elements are of x[0..m). Of equal elements those of x come before those of y. */
static inline ulong find_split(global const T *x, const ulong m, global const T *y, const ulong n, const ulong at)
{
    ulong low = (ulong)max((long)(at - n), 0L), high = min(at, m);
    while (low < high) {
        const ulong middle = low + (high - low) / 2;
        if (IS_LESS(y[at - middle - 1], x[middle])) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* Merge x[0..m) and y[0..n), of which out[at..end) is stored. */
static inline void merge_part(global const T *x, const ulong m, global const T *y, const ulong n, ulong at,
                              const ulong end, global T *out)
{
    ulong i = find_split(x, m, y, n, at), j = at - i;
    for (; at < end && i < m && j < n; ++at) {
        const T a = x[i], b = y[j];
        const bool is_second = IS_LESS(b, a);
        out[at] = is_second ? b : a;
        j += is_second;
        i += !is_second;
    }
    for (; at < end && i < m; ++at) out[at] = x[i++];
    for (; at < end; ++at) out[at] = y[j++];
}

kernel void merge_arrays(global const T *first, ulong first_offset, ulong first_count, global const T *second,
                         ulong second_offset, ulong second_count, global T *output, ulong output_offset, ulong per,
                         NDR_ND_RANGE(1))
{
    const ulong count = first_count + second_count, begin = min(count, ndr_global_id(NDR_ND_ITEM(1), 0) * per);
    merge_part(first + first_offset, first_count, second + second_offset, second_count, begin, min(count, begin + per),
               output + output_offset);
}

/* ---- sorts ---- */

#define PARAMETERS                                                                                                  \
    global const T *input, ulong offset, global T *output, ulong output_offset, ulong count, ulong per,             \
        global const ulong *offsets, ulong offsets_offset, ulong segments, ulong length
#define ARGUMENTS input, offset, output, output_offset, count, per, offsets, offsets_offset, segments, length

/* The segment with element `at`: its first element and, in *end, the one behind it. Offsets in a wrong order give other
 * segments, each with `at` and none past the end. */
static inline ulong find_segment(PARAMETERS, const ulong at, ulong *end)
{
    ulong low = 0, high = segments;
    *end = count;
    if (SEGMENTS == 0) return 0;
    if (SEGMENTS == 2) {
        *end = min(count, at / length * length + length);
        return at / length * length;
    }
    while (low < high) {
        const ulong middle = low + (high - low) / 2;
        if (offsets[offsets_offset + middle] <= at) low = middle + 1;
        else high = middle;
    }
    if (low < segments) *end = min(count, offsets[offsets_offset + low]);
    return low > 0 ? min(at, offsets[offsets_offset + low - 1]) : 0;
}

/* Sort each run of NDR_MERGE_RUN elements. An item takes those that begin in its share. The output may be the input. */
kernel void sort_runs(PARAMETERS, NDR_ND_RANGE(1))
{
    ulong begin = min(count, ndr_global_id(NDR_ND_ITEM(1), 0) * per), end_of_segment = 0;
    const ulong end = min(count, begin + per);
    while (begin < end) {
        const ulong first = find_segment(ARGUMENTS, begin, &end_of_segment);
        const ulong runs = (begin - first + NDR_MERGE_RUN - 1) / NDR_MERGE_RUN;
        begin = min(end_of_segment, first + runs * NDR_MERGE_RUN);
        for (; begin < min(end, end_of_segment); begin += NDR_MERGE_RUN) {
            const uint here = (uint)min((ulong)NDR_MERGE_RUN, end_of_segment - begin);
            T run[NDR_MERGE_RUN];
            for (uint k = 0; k < here; ++k) {
                const T own = input[offset + begin + k];
                uint to = k;
                for (; to > 0 && IS_LESS(own, run[to - 1]); --to) run[to] = run[to - 1];
                run[to] = own;
            }
            for (uint k = 0; k < here; ++k) output[output_offset + begin + k] = run[k];
        }
        begin = min(begin, end_of_segment);
    }
}

/* Merge each run of `width` elements with the next one of its segment. */
kernel void merge_runs(PARAMETERS, ulong width, NDR_ND_RANGE(1))
{
    ulong begin = min(count, ndr_global_id(NDR_ND_ITEM(1), 0) * per), end_of_segment = 0;
    const ulong end = min(count, begin + per);
    global const T *const x = input + offset;
    while (begin < end) {
        const ulong segment = find_segment(ARGUMENTS, begin, &end_of_segment);
        const ulong first = begin - (begin - segment) % (2 * width);
        const ulong middle = min(end_of_segment, first + width), last = min(end_of_segment, first + 2 * width);
        merge_part(x + first, middle - first, x + middle, last - middle, begin - first, min(end, last) - first,
                   output + output_offset + first);
        begin = min(end, last);
    }
}
