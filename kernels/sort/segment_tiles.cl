/* segment_tiles.cl - sorts segments on GPUs. Short ones are sorted in local memory, by one launch. Long ones take passes of
 * three launches, as in tiles.cl, in which each piece is a tile:
 *
 *   counts   | digit 0: one for each piece | digit 1 ... |     added up over all pieces, and the difference between two
 *                                                              pieces of a segment is the number of keys between them */
#include "sort/tiles.clh"
#include "sort/segments.clh"

#define DIGITS NDR_SORT_DIGITS

/* ---- short segments ---- */

/* The keys of short segments that begin in a window follow each other: how many, and *first. */
static inline uint find_short(SEGMENT_PARAMETERS, const ulong window, ulong *first)
{
    const ulong window_keys = HALF((ulong)TILE);
    const ulong from = count_before(SEGMENT_ARGUMENTS, window * window_keys);
    const ulong to = count_before(SEGMENT_ARGUMENTS, window * window_keys + window_keys);
    *first = begin_of(SEGMENT_ARGUMENTS, from);
    if (to <= from) return 0;
    const ulong last = begin_of(SEGMENT_ARGUMENTS, to - 1), end = end_of(SEGMENT_ARGUMENTS, to - 1);
    const ulong end_of_short = end - last > window_keys ? last : end; /* only the last one leaves the window */
    return end_of_short > *first ? (uint)min((ulong)TILE, end_of_short - *first) : 0;
}

/* Launch a group for each window. The owner of a key is the place of its segment's first key in the tile, which takes
 * owner_bits bits. The output may be the input. */
kernel void sort_short_segments(global const KEY *in, ulong in_offset, global const WORD *values_in,
                                ulong values_in_offset, global KEY *out, ulong out_offset, global WORD *values_out,
                                ulong values_out_offset, ulong words, SEGMENT_PARAMETERS, KEY flip, uint shift,
                                uint bits, uint owner_bits, NDR_ND_RANGE(1))
{
    local KEY keys[TILE];
    local ushort places[TILE], owners[TILE], step_counts[STEP_COUNTS];
    local ulong scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const uint id = ndr_local_id(it, 0);
    ulong first, end;
    const uint here = find_short(SEGMENT_ARGUMENTS, ndr_group_id(it, 0), &first);
    for (uint i = id; i < here; i += GROUP)
        owners[i] = (ushort)(find_segment(SEGMENT_ARGUMENTS, first + i, &end) - first);
    load_tile(id, in + in_offset + first, here, keys, places);
    sort_tile(id, keys, places, step_counts, scratch, here, flip, shift, here > 0 ? bits : 0, owners,
              here > 0 ? owner_bits : 0);
    store_whole_tile(id, keys, places, here, out + out_offset + first, values_out + (values_out_offset + first) * WORDS,
                     values_in + (values_in_offset + first) * WORDS, words);
}

/* ---- long segments ---- */

/* Launch a group for each piece. */
kernel void sort_count_pieces(global const KEY *in, ulong in_offset, SEGMENT_PARAMETERS, KEY flip, uint shift, uint bits,
                              global ulong *counts, ulong counts_offset, NDR_ND_RANGE(1))
{
    local uint histogram[DIGITS];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ulong piece = ndr_group_id(it, 0);
    ulong first, begin, keys, from, to;
    const uint here = (uint)find_piece(SEGMENT_ARGUMENTS, TILE, piece, &first, &begin, &keys, &from, &to);
    count_tile(ndr_local_id(it, 0), histogram, in + in_offset + first, here, digit_at(flip, shift, bits),
               counts + counts_offset + piece, ndr_group_range(it, 0));
}

/* As sort_add_counts(), of pieces. */
kernel void sort_add_piece_counts(ulong pieces, ulong first, ulong end, global ulong *counts, ulong counts_offset,
                                  NDR_ND_RANGE(1))
{
    local ulong scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    add_counts(ndr_local_id(it, 0), ndr_group_id(it, 0), scratch, counts + counts_offset, pieces, first, end);
}

/* bases[d] = the place in the segment of the first key of the piece with digit d. Returns the keys of the segment. */
static inline __attribute__((always_inline)) ulong find_bases(const uint id, local ulong *bases, local ulong *scratch,
                                                              global const ulong *counts, const ulong pieces,
                                                              const ulong piece, const ulong from, const ulong to)
{
    ulong smaller = 0;
    uint first = 0;
    do {
        const uint d = min(first + id, (uint)DIGITS - 1);
        const bool is_digit = first + id < DIGITS;
        const ulong before = sum_to(counts, pieces, d, from);
        const ulong own = is_digit ? sum_to(counts, pieces, d, to) - before : 0;
        const ulong sum = sum_before(id, scratch, min(GROUP, DIGITS), own, &smaller);
        if (is_digit) bases[d] = sum + sum_to(counts, pieces, d, piece) - before;
        first += GROUP;
    } while (first < DIGITS);
    barrier(CLK_LOCAL_MEM_FENCE);
    return smaller;
}

/* Launch a group for each piece. With offsets that are not in order, the counts may be those of other segments: then
 * nothing is stored. */
kernel void sort_pieces(global const KEY *in, ulong in_offset, global const WORD *values_in, ulong values_in_offset,
                        global KEY *out, ulong out_offset, global WORD *values_out, ulong values_out_offset,
                        ulong words, SEGMENT_PARAMETERS, KEY flip, uint shift, uint bits, global const ulong *counts,
                        ulong counts_offset, NDR_ND_RANGE(1))
{
    local KEY keys[TILE];
    local ushort places[TILE], step_counts[STEP_COUNTS];
    local ulong bases[DIGITS], scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const uint id = ndr_local_id(it, 0);
    const digit d = digit_at(flip, shift, bits);
    const ulong piece = ndr_group_id(it, 0);
    ulong first, begin, all, from, to;
    const uint here = (uint)find_piece(SEGMENT_ARGUMENTS, TILE, piece, &first, &begin, &all, &from, &to);
    load_tile(id, in + in_offset + first, here, keys, places);
    sort_tile(id, keys, places, step_counts, scratch, here, flip, shift, here > 0 ? bits : 0, 0, 0);
    const ulong counted =
        find_bases(id, bases, scratch, counts + counts_offset, ndr_group_range(it, 0), piece, from, to);
    store_tile(id, keys, places, bases, counted <= all ? here : 0, d, out + out_offset + begin,
               values_out + (values_out_offset + begin) * WORDS, values_in + (values_in_offset + first) * WORDS, words);
}
