/* one_chunk.cl - sorts few elements on CPUs: all passes in one launch, by one group of one item. */
#include "sort/chunks.clh"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
sort_one_chunk(global const KEY *in, ulong in_offset, global const WORD *values_in, ulong values_in_offset,
               global KEY *out, ulong out_offset, global WORD *values_out, ulong values_out_offset, ulong words,
               ulong count, KEY flip, uint begin_bit, uint bits, uint passes, global KEY *temp, ulong temp_offset,
               global WORD *values_temp, ulong values_temp_offset, NDR_ND_RANGE(1))
{
    (void)ndr_get_group(NDR_ND_ITEM(1)); /* docs/appendix/drivers.md: code that runs twice */
    sort_chunk(in + in_offset, values_in + values_in_offset * WORDS, out + out_offset,
               values_out + values_out_offset * WORDS, temp + temp_offset, values_temp + values_temp_offset * WORDS,
               words, count, flip, begin_bit, bits, passes);
}
