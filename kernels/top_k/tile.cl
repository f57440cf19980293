/* tile.cl - the k first keys of short rows on GPUs: a group sorts a tile of whole rows in local memory, and stores the first
 * ones of each. */
#include "sort/tiles.clh"
#include "top_k/store.clh"

/* Launch a group for each `per` rows, which fit into a tile. The owner of a key is the first place of its row, which takes
 * owner_bits bits. */
kernel void top_k_tile(global const KEY *keys, ulong keys_offset, ulong rows, uint length, uint per, ulong k, KEY flip,
                       uint bits, uint owner_bits, STORE_PARAMETERS, NDR_ND_RANGE(1))
{
    local KEY tile[TILE];
    local ushort places[TILE], owners[TILE], step_counts[STEP_COUNTS];
    local ulong scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const uint id = ndr_local_id(it, 0);
    const ulong row = ndr_group_id(it, 0) * per;
    const uint here = (uint)min((ulong)per, rows - row) * length;
    for (uint i = id; i < here; i += GROUP) owners[i] = (ushort)(i / length * length);
    load_tile(id, keys + keys_offset + row * length, here, tile, places);
    sort_tile(id, tile, places, step_counts, scratch, here, flip, 0, bits, owners, owner_bits);
    for (uint i = id; i < here; i += GROUP) {
        const uint place = places[i], owner = owners[place];
        const ulong own_row = row + owner / length;
        if (i - owner < k)
            store_top(STORE_ARGUMENTS, own_row * k + i - owner, tile[i], own_row * length, place - owner);
    }
}
