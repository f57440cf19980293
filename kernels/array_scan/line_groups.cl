/* line_groups.cl - scans of lines with groups of many items. ITEMS of them scan a line together:
 *
 *   ITEMS 1   an item goes through a line; neighbouring items have neighbouring lines
 *   more      tile by tile: OWN elements of each item, which go through local memory, so that memory is read by
 *             neighbouring items, and each item scans neighbours
 *
 * No group waits for another. */
#include "reduce/tiles.clh"
#include "scan/scan.clh"
#include "array_scan/lines.clh"

/* A default, so that the file compiles alone; the library sets others. */
#ifndef ITEMS
#define ITEMS 1 /* of a line: a power of two, GROUP at most */
#endif

#define PER_GROUP (GROUP / ITEMS) /* lines */
#define OWN 8
#define INLINED static inline __attribute__((always_inline)) /* the fault shared_local_array */

/* The value of each item's elements, and of the items of its line before it, in their order; all calls them. Two parts of
 * `scratch` take turns. Volatile: the fault read_again. */
INLINED T scan_items(const uint id, local T *scratch, const T own, T *all)
{
    const uint rank = id % ITEMS;
    volatile local T *const read = scratch;
    uint from = 0;
    T value = own;
    scratch[id] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint distance = 1; distance < ITEMS; distance *= 2) {
        if (rank >= distance) {
            const T other = read[from + id - distance];
            value = COMBINE_ELEMENTS(other, value);
        }
        from = GROUP - from;
        scratch[from + id] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    *all = read[from + id - rank + ITEMS - 1];
    const T before = rank > 0 ? read[from + id - 1] : NEUTRAL;
    barrier(CLK_LOCAL_MEM_FENCE);
    return before;
}

/* Launch groups over the parts of all lines, PER_GROUP lines each, those of the first part first. */
kernel void scan_reduce_line_groups(LINE_PARAMETERS, NDR_ND_RANGE(1))
{
    local T scratch[2 * GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const uint id = ndr_local_id(it, 0);
    const ulong group = ndr_group_id(it, 0), blocks = (lines + PER_GROUP - 1) / PER_GROUP;
    const ulong own_line = group % blocks * PER_GROUP + id / ITEMS, line = min(lines - 1, own_line), part = group / blocks;
    const ulong begin = min(count, part * size), end = own_line < lines ? min(count, begin + size) : 0;
    global const T *const x = input_line(LINE_ARGUMENTS, line);
    tally own;
    T all;
    begin_tally(&own, NEUTRAL);
    for (ulong k = begin + id % ITEMS; k < end; k += ITEMS) add_part(&own, x[(long)k * input_step], false, NEUTRAL);
    (void)scan_items(id, scratch, tally_value(&own), &all);
    if (id % ITEMS == 0 && own_line < lines) *value_of(LINE_ARGUMENTS, line, part) = all;
}

kernel void scan_line_groups(LINE_PARAMETERS, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const uint id = ndr_local_id(it, 0);
    const ulong group = ndr_group_id(it, 0), blocks = (lines + PER_GROUP - 1) / PER_GROUP;
    const ulong own_line = group % blocks * PER_GROUP + id / ITEMS, line = min(lines - 1, own_line), part = group / blocks;
    const ulong begin = min(count, part * size), end = min(count, begin + size);
    global const T *const x = input_line(LINE_ARGUMENTS, line);
    global T *const y = output_line(LINE_ARGUMENTS, line);
    tally before;
    begin_tally(&before, value_before(LINE_ARGUMENTS, line, part));
#if ITEMS == 1
    for (ulong k = begin; k < end && own_line < lines; ++k) {
        const T own = x[(long)k * input_step], value = tally_value(&before);
        add_part(&before, own, false, NEUTRAL);
        y[(long)k * output_step] = !IS_EXCLUSIVE ? tally_value(&before) : k == 0 ? OF_NONE : value;
    }
#else
    local T tile[GROUP * OWN], scratch[2 * GROUP];
    local T *const elements = tile + id / ITEMS * ITEMS * OWN, *const own = elements + id % ITEMS * OWN;
    for (ulong first = begin; first < end; first += ITEMS * OWN) {
        for (uint i = id % ITEMS; i < ITEMS * OWN; i += ITEMS)
            elements[i] = first + i < end && own_line < lines ? x[(long)(first + i) * input_step] : NEUTRAL;
        barrier(CLK_LOCAL_MEM_FENCE);
        T value = NEUTRAL, all;
        for (uint i = 0; i < OWN; ++i) {
            const T element = own[i];
            value = COMBINE_ELEMENTS(value, element);
        }
        const T lower = scan_items(id, scratch, value, &all), carry = tally_value(&before);
        value = COMBINE_ELEMENTS(carry, lower);
        for (uint i = 0; i < OWN; ++i) {
            const T element = own[i], earlier = value;
            value = COMBINE_ELEMENTS(earlier, element);
            own[i] = IS_EXCLUSIVE ? earlier : value;
        }
        add_part(&before, all, false, NEUTRAL);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = id % ITEMS; i < ITEMS * OWN && own_line < lines; i += ITEMS)
            if (first + i < end)
                y[(long)(first + i) * output_step] = IS_EXCLUSIVE && first + i == 0 ? OF_NONE : elements[i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
}
