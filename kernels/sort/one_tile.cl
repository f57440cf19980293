/* one_tile.cl - sorts few elements: one group, in local memory. The output may be the input. */
#include "sort/tiles.clh"

/* Launch one group. */
kernel void sort_one_tile(global const KEY *in, ulong in_offset, global const WORD *values_in, ulong values_in_offset,
                          global KEY *out, ulong out_offset, global WORD *values_out, ulong values_out_offset,
                          ulong words, uint count, KEY flip, uint shift, uint bits, NDR_ND_RANGE(1))
{
    local KEY keys[TILE];
    local ushort places[TILE], step_counts[STEP_COUNTS];
    local ulong scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const uint id = ndr_local_id(it, 0);
    load_tile(id, in + in_offset, count, keys, places);
    sort_tile(id, keys, places, step_counts, scratch, count, flip, shift, bits, 0, 0);
    store_whole_tile(id, keys, places, count, out + out_offset, values_out + values_out_offset * WORDS,
                     values_in + values_in_offset * WORDS, words);
}
