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
    (void)words;
    load_tile(id, in + in_offset, count, keys, places);
    sort_tile(id, keys, places, step_counts, scratch, count, flip, shift, bits);
    for (uint i = id; i < count; i += GROUP) out[out_offset + i] = keys[i];
    values_in += values_in_offset * WORDS;
    values_out += values_out_offset * WORDS;
    /* Word by word: all items read theirs before any writes. Volatile: the fault read_again. */
    volatile global const WORD *const from = values_in;
    for (ulong w = 0; w < WORDS; ++w) {
        WORD word[PER_ITEM];
        for (uint k = 0; k < PER_ITEM; ++k)
            if (k * GROUP + id < count) word[k] = from[places[k * GROUP + id] * WORDS + w];
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (uint k = 0; k < PER_ITEM; ++k)
            if (k * GROUP + id < count) values_out[(k * GROUP + id) * WORDS + w] = word[k];
    }
}
