/* tiles.cl - scans with groups of many items, for GPUs, in two passes over shares of the input.
 *
 *   pass 1    | share 0 | share 1 | share 2 |     the value of each group's share
 *   pass 2    | share 0 | share 1 | share 2 |     combines the values before the share, and scans it from there
 *   a share   | tile | tile | tile | ...          one after the other; a tile goes through local memory, so that memory
 *                                                 is read by neighbouring items, and each item scans neighbours
 *
 * No group waits for another. Which elements are combined, and in which order, depends on `count` and on the size of
 * the groups alone. Items of a backward scan are ranked from the end. Launch it in groups of GROUP items, a power of two,
 * 256 at most.
 *
 * No function takes or returns a struct: some compilers copy it wrongly, or cannot inline the function.
 */
#include "reduce/tiles.clh"
#include "scan/tile.clh"

/* ---- shares, numbered from the start in both directions ---- */

/* Go through the tiles of the group's share, in the direction of the scan, from `before` on; `stores`: and scan them.
 * Returns whether a cut is in them. */
INLINED bool go_through(const ndr_group g, local T *tile, local parts *all, const scan *s, tally *before,
                        const bool stores)
{
    const uint id = ndr_local_id(g, 0), rank = RANK(id);
    const ulong tiles = (s->count + TILE - 1) / TILE, first = min(tiles, ndr_group_id(g, 0) * s->size);
    const ulong end = min(tiles, first + s->size);
    local T *const own = tile + id * OWN;
    bool has_any_cut = false;
    for (ulong n = 0; n < end - first; ++n) {
        const ulong begin = (IS_BACKWARD ? end - 1 - n : first + n) * TILE;
        load_tile(id, tile, s, begin);
        const ulong cuts = find_cuts(s, begin + id * OWN);
        T lower = reduce_own(own, cuts), value;
        bool has_lower_cut = SEGMENTS && cuts != 0, has_cut;
        scan_parts(rank, all, &lower, &has_lower_cut, &value, &has_cut);
        if (stores) {
            const T carry = has_lower_cut ? s->initial : tally_value(before);
            scan_own(own, cuts, s, begin + id * OWN, COMBINE(carry, lower));
            store_tile(id, tile, s, begin);
        }
        add_part(before, value, has_cut, stores ? s->initial : NEUTRAL);
        has_any_cut |= has_cut;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return has_any_cut;
}

/* The first pass: the value of the group's share. */
kernel void scan_reduce_tiles(PARAMETERS, NDR_ND_RANGE(1))
{
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const scan s = SCAN_OF_PARAMETERS;
    global T *const value = values_in(workspace) + ndr_group_id(g, 0);
#if SEGMENTS
    local T tile[TILE] OF_TILE;
    local parts all;
    tally sum;
    begin_tally(&sum, NEUTRAL);
    const bool has_cut = go_through(g, tile, &all, &s, &sum, false);
    if (ndr_leader(g)) cuts_in(workspace, ndr_group_range(g, 0))[ndr_group_id(g, 0)] = has_cut;
    if (ndr_leader(g)) *value = tally_value(&sum);
#else
    /* As the tiles of a reduction. */
    local T scratch[GROUP];
    const uint id = ndr_local_id(g, 0);
    const ulong whole = count / TILE, first = ndr_group_id(g, 0) * size, end = min(first + size, whole);
    global const T *const x = s.x + id * LANES;
    const bool is_aligned = (size_t)s.x % sizeof(V) == 0;
    T own = fold_lanes(is_aligned ? reduce_tiles(first, 1, end, x, true) : reduce_tiles(first, 1, end, x, false));
    if (end < first + size) {
        const T rest = reduce_rest(id, s.x + whole * TILE, (uint)(count % TILE));
        own = COMBINE(own, rest);
    }
    const T all = reduce_shares(id, scratch, own);
    if (ndr_leader(g)) *value = all;
#endif
}

/* The values before this group's share as one. Each item combines a few neighbours. */
INLINED T reduce_before(const ndr_group g, local parts *all, global uint *workspace)
{
    const uint rank = RANK(ndr_local_id(g, 0));
    const ulong groups = ndr_group_range(g, 0), group = ndr_group_id(g, 0);
    const ulong before = IS_BACKWARD ? groups - 1 - group : group, few = (before + GROUP - 1) / GROUP;
    T value = NEUTRAL, all_values;
    bool has_cut = false, has_any_cut;
    for (ulong n = rank * few; n < min(before, (rank + 1) * few); ++n) {
        const ulong i = IS_BACKWARD ? groups - 1 - n : n;
        const bool is_cut_here = SEGMENTS && cuts_in(workspace, groups)[i];
        if (is_cut_here) value = NEUTRAL;
        value = COMBINE(value, values_in(workspace)[i]);
        has_cut |= is_cut_here;
    }
    scan_parts(rank, all, &value, &has_cut, &all_values, &has_any_cut);
    barrier(CLK_LOCAL_MEM_FENCE);
    return all_values;
}

/* The second pass. `workspace` NULL: there is one group, and no first pass. */
kernel void scan_tiles(PARAMETERS, NDR_ND_RANGE(1))
{
    local T tile[TILE] OF_TILE;
    local parts all;
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const scan s = SCAN_OF_PARAMETERS;
    const T first = reduce_before(g, &all, workspace);
    tally before;
    begin_tally(&before, COMBINE(s.initial, first));
    (void)go_through(g, tile, &all, &s, &before, true);
}
