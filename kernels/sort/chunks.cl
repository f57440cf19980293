/* chunks.cl - sorts on CPUs. A pass is two launches: one counts the digits of each chunk, one moves the elements. */
#include "sort/chunks.clh"

/* Launch a group of one item for each chunk. Stores NDR_SORT_DIGITS counts for each. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
sort_count_chunks(global const KEY *in, ulong in_offset, ulong count, ulong chunk, KEY flip, uint shift, uint bits,
                  global ulong *counts, ulong counts_offset, NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const ulong c = ndr_group_id(g, 0), begin = c * chunk;
    ulong own[NDR_SORT_DIGITS];
    count_digits(in + in_offset + begin, min(chunk, count - begin), digit_at(flip, shift, bits), own);
    counts += counts_offset + c * NDR_SORT_DIGITS;
    for (uint d = 0; d < NDR_SORT_DIGITS; ++d) counts[d] = own[d];
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
sort_chunks(global const KEY *in, ulong in_offset, global const WORD *values_in, ulong values_in_offset,
            global KEY *out, ulong out_offset, global WORD *values_out, ulong values_out_offset, ulong words,
            ulong count, ulong chunk, KEY flip, uint shift, uint bits, global const ulong *counts, ulong counts_offset,
            NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const ulong c = ndr_group_id(g, 0), begin = c * chunk;
    ulong next[NDR_SORT_DIGITS], counted;
    const bool is_copy = find_places_of(counts + counts_offset, ndr_group_range(g, 0), c, next, &counted);
    scatter(in + in_offset + begin, values_in + (values_in_offset + begin) * WORDS, out + out_offset,
            values_out + values_out_offset * WORDS, words, min(chunk, count - begin), digit_at(flip, shift, bits), next, is_copy);
}
