/* segment_chunks.cl - sorts segments on CPUs. Short ones are sorted by one item each. Long ones take passes of two launches,
 * as in chunks.cl, in which each piece is a chunk. */
#include "sort/chunks.clh"
#include "sort/segments.clh"

/* ---- short segments ---- */

/* Launch a group of one item for each window of HALF(size) keys. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
sort_short_segments(global const KEY *in, ulong in_offset, global const WORD *values_in, ulong values_in_offset,
                    global KEY *out, ulong out_offset, global WORD *values_out, ulong values_out_offset, ulong words,
                    SEGMENT_PARAMETERS, KEY flip, uint begin_bit, uint bits, uint passes, global KEY *temp,
                    ulong temp_offset, global WORD *values_temp, ulong values_temp_offset, ulong size, NDR_ND_RANGE(1))
{
    const ulong window = ndr_group_id(ndr_get_group(NDR_ND_ITEM(1)), 0);
    const ulong last = count_before(SEGMENT_ARGUMENTS, (window + 1) * HALF(size));
    for (ulong s = count_before(SEGMENT_ARGUMENTS, window * HALF(size)); s < last; ++s) {
        const ulong begin = begin_of(SEGMENT_ARGUMENTS, s), here = end_of(SEGMENT_ARGUMENTS, s) - begin;
        global const KEY *const from = in + in_offset + begin;
        global KEY *const to = out + out_offset + begin;
        global const WORD *const values_from = values_in + (values_in_offset + begin) * WORDS;
        global WORD *const values_to = values_out + (values_out_offset + begin) * WORDS;
        if (here > HALF(size)) continue;
        if (here <= SORT_FEW) sort_few(from, values_from, to, values_to, words, (uint)here, flip, begin_bit, bits);
        else
            sort_chunk(from, values_from, to, values_to, temp + temp_offset + begin,
                       values_temp + (values_temp_offset + begin) * WORDS, words, here, flip, begin_bit, bits, passes);
    }
}

/* ---- long segments ---- */

/* Launch a group of one item for each piece. Stores NDR_SORT_DIGITS counts for each. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
sort_count_pieces(global const KEY *in, ulong in_offset, SEGMENT_PARAMETERS, ulong size, KEY flip, uint shift, uint bits,
                  global ulong *counts, ulong counts_offset, NDR_ND_RANGE(1))
{
    const ulong piece = ndr_group_id(ndr_get_group(NDR_ND_ITEM(1)), 0);
    ulong own[NDR_SORT_DIGITS], first, begin, keys, from, to;
    const ulong here = find_piece(SEGMENT_ARGUMENTS, size, piece, &first, &begin, &keys, &from, &to);
    count_digits(in + in_offset + first, here, digit_at(flip, shift, bits), own);
    counts += counts_offset + piece * NDR_SORT_DIGITS;
    for (uint d = 0; d < NDR_SORT_DIGITS; ++d) counts[d] = own[d];
}

/* With offsets that are not in order, the counts may be those of other segments: then nothing is stored. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
sort_pieces(global const KEY *in, ulong in_offset, global const WORD *values_in, ulong values_in_offset,
            global KEY *out, ulong out_offset, global WORD *values_out, ulong values_out_offset, ulong words,
            SEGMENT_PARAMETERS, ulong size, KEY flip, uint shift, uint bits, global const ulong *counts,
            ulong counts_offset, NDR_ND_RANGE(1))
{
    const ulong piece = ndr_group_id(ndr_get_group(NDR_ND_ITEM(1)), 0);
    ulong next[NDR_SORT_DIGITS], first, begin, keys, from, to, counted = 0;
    const ulong here = find_piece(SEGMENT_ARGUMENTS, size, piece, &first, &begin, &keys, &from, &to);
    if (here == 0) return;
    counts += counts_offset + from * NDR_SORT_DIGITS;
    const bool is_copy = find_places_of(counts, to - from, piece - from, next, &counted);
    if (counted > keys) return;
    scatter(in + in_offset + first, values_in + (values_in_offset + first) * WORDS, out + out_offset + begin,
            values_out + (values_out_offset + begin) * WORDS, words, here, digit_at(flip, shift, bits), next, is_copy);
}
