/* one_chunk.cl - sorts few elements on CPUs: all passes in one launch, by one group of one item. */
#include "sort/chunks.clh"

/* The passes write to `out` and `temp` in turn, the last one to `out`. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
sort_one_chunk(global const KEY *in, ulong in_offset, global const WORD *values_in, ulong values_in_offset,
               global KEY *out, ulong out_offset, global WORD *values_out, ulong values_out_offset, ulong words,
               ulong count, KEY flip, uint begin_bit, uint bits, uint passes, global KEY *temp, ulong temp_offset,
               global WORD *values_temp, ulong values_temp_offset, NDR_ND_RANGE(1))
{
    in += in_offset;
    out += out_offset;
    temp += temp_offset;
    values_in += values_in_offset * WORDS;
    values_out += values_out_offset * WORDS;
    values_temp += values_temp_offset * WORDS;
    for (uint p = 0; p < passes; ++p) {
        const uint shift = begin_bit + NDR_SORT_SHIFT(bits, passes, p);
        const digit d = digit_at(flip, shift, begin_bit + NDR_SORT_SHIFT(bits, passes, p + 1) - shift);
        const bool is_to_out = (passes - p) % 2 == 1;
        ulong total[NDR_SORT_DIGITS], next[NDR_SORT_DIGITS];
        count_digits(in, count, d, total);
        for (uint i = 0; i < NDR_SORT_DIGITS; ++i) next[i] = 0;
        const bool is_copy = find_places(total, next);
        scatter(in, values_in, is_to_out ? out : temp, is_to_out ? values_out : values_temp, words, count, d, next,
                is_copy);
        in = is_to_out ? out : temp;
        values_in = is_to_out ? values_out : values_temp;
    }
}
