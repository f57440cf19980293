/* tiles.cl - sorts on GPUs. A pass is three launches, so that no group waits for another:
 *
 *   sort_count_tiles   counts the digits of each tile      counts | digit 0: one for each tile | digit 1 ... |
 *   sort_add_counts    adds up the counts of each digit    totals | one for each digit |
 *   sort_tiles         sorts each tile by the digit, and moves it to its places, digit by digit
 *
 * The totals are behind the counts. */
#include "sort/tiles.clh"

#define DIGITS NDR_SORT_DIGITS

/* Launch a group of any size for each tile. */
kernel void sort_count_tiles(global const KEY *in, ulong in_offset, ulong count, KEY flip, uint shift, uint bits,
                             global ulong *counts, ulong counts_offset, NDR_ND_RANGE(1))
{
    local uint histogram[DIGITS];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ulong tile = ndr_group_id(it, 0), first = tile * TILE;
    count_tile(ndr_local_id(it, 0), histogram, in + in_offset + first, (uint)min((ulong)TILE, count - first),
               digit_at(flip, shift, bits), counts + counts_offset + tile, ndr_group_range(it, 0));
}

/* Launch a group for each digit: turns the counts of the tiles first to end - 1 into the sums of those before. */
kernel void sort_add_counts(ulong tiles, ulong first, ulong end, global ulong *counts, ulong counts_offset,
                            NDR_ND_RANGE(1))
{
    local ulong scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    add_counts(ndr_local_id(it, 0), ndr_group_id(it, 0), scratch, counts + counts_offset, tiles, first, end);
}

/* bases[d] = the place in the output of the first key of the tile with digit d. */
static inline __attribute__((always_inline)) void find_bases(const uint id, local ulong *bases, local ulong *scratch,
                                                             global const ulong *counts, ulong tiles, ulong tile)
{
    global const ulong *const totals = counts + DIGITS * tiles;
    ulong smaller = 0;
    uint first = 0;
    do {
        const uint d = first + id;
        const ulong before = sum_before(id, scratch, min(GROUP, DIGITS), d < DIGITS ? totals[d] : 0, &smaller);
        if (d < DIGITS) bases[d] = before + counts[d * tiles + tile];
        first += GROUP;
    } while (first < DIGITS);
    barrier(CLK_LOCAL_MEM_FENCE);
}

kernel void sort_tiles(global const KEY *in, ulong in_offset, global const WORD *values_in, ulong values_in_offset,
                       global KEY *out, ulong out_offset, global WORD *values_out, ulong values_out_offset, ulong words,
                       ulong count, KEY flip, uint shift, uint bits, global const ulong *counts, ulong counts_offset,
                       NDR_ND_RANGE(1))
{
    local KEY keys[TILE];
    local ushort places[TILE], step_counts[STEP_COUNTS];
    local ulong bases[DIGITS], scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const uint id = ndr_local_id(it, 0);
    const ulong tile = ndr_group_id(it, 0), first = tile * TILE;
    const digit d = digit_at(flip, shift, bits);
    const uint here = (uint)min((ulong)TILE, count - first);
    load_tile(id, in + in_offset + first, here, keys, places);
    sort_tile(id, keys, places, step_counts, scratch, here, flip, shift, bits, 0, 0);
    find_bases(id, bases, scratch, counts + counts_offset, ndr_group_range(it, 0), tile);
    store_tile(id, keys, places, bases, here, d, out + out_offset, values_out + values_out_offset * WORDS,
               values_in + (values_in_offset + first) * WORDS, words);
}
