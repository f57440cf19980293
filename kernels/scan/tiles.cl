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
#include "scan/scan.clh"

#define OWN (VECTORS * LANES) /* elements of an item in a tile */

/* This is always inlined: the fault shared_local_array. */
#define INLINED static inline __attribute__((always_inline))

/* ---- parts of items ---- */

/* Two parts for each item. */
typedef struct parts {
    T value[2 * GROUP];
#if SEGMENTS
    uint has_cut[2 * GROUP];
#endif
} parts;

INLINED void set_part(local parts *all, const uint i, const T value, const bool has_cut)
{
    all->value[i] = value;
#if SEGMENTS
    all->has_cut[i] = has_cut;
#endif
    (void)has_cut;
}

/* Through a volatile pointer: the fault read_again. */
INLINED T get_part(local parts *all, const uint i, bool *has_cut)
{
    *has_cut = false;
#if SEGMENTS
    *has_cut = ((volatile local parts *)all)->has_cut[i];
#endif
    return ((volatile local parts *)all)->value[i];
}

INLINED void scan_step(const uint rank, const uint distance, local parts *all, const uint from, T *value, bool *has_cut)
{
    if (rank >= distance) {
        bool is_other_cut;
        const T other = get_part(all, from + rank - distance, &is_other_cut);
        if (!*has_cut) *value = COMBINE(other, *value);
        *has_cut |= is_other_cut;
    }
    set_part(all, GROUP - from + rank, *value, *has_cut);
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Give each item the parts of the items with a lower rank as one; the last part of `all` is then that of all items. No
 * loop, because of the fault barrier_in_loop. The caller has a barrier before it uses `all` again. */
INLINED void scan_parts(const uint rank, local parts *all, T *value, bool *has_cut)
{
    set_part(all, rank, *value, *has_cut);
    barrier(CLK_LOCAL_MEM_FENCE);
    scan_step(rank, 1, all, 0, value, has_cut);
    scan_step(rank, 2, all, GROUP, value, has_cut);
    scan_step(rank, 4, all, 0, value, has_cut);
    scan_step(rank, 8, all, GROUP, value, has_cut);
    scan_step(rank, 16, all, 0, value, has_cut);
    scan_step(rank, 32, all, GROUP, value, has_cut);
    scan_step(rank, 64, all, 0, value, has_cut);
    scan_step(rank, 128, all, GROUP, value, has_cut);
    *value = NEUTRAL;
    *has_cut = false;
    if (rank > 0) *value = get_part(all, rank - 1, has_cut);
}

/* ---- tiles ---- */

/* Bring the elements from place `begin` on; those past the end become neutral. */
INLINED void load_tile(const uint id, local T *tile, const scan *s, const ulong begin)
{
#pragma unroll
    for (uint i = 0; i < VECTORS; ++i) {
        const uint at = (i * GROUP + id) * LANES;
        if (begin + at + LANES <= s->count) {
            JOIN(vstore, LANES)(JOIN(vload, LANES)(0, s->x + begin + at), 0, tile + at);
        } else {
            for (uint j = at; j < at + LANES; ++j) tile[j] = begin + j < s->count ? s->x[begin + j] : NEUTRAL;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

INLINED void store_tile(const uint id, local const T *tile, const scan *s, const ulong begin)
{
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < VECTORS; ++i) {
        const uint at = (i * GROUP + id) * LANES;
        if (begin + at + LANES <= s->count) {
            JOIN(vstore, LANES)(JOIN(vload, LANES)(0, tile + at), 0, s->y + begin + at);
        } else {
            for (uint j = at; j < at + LANES && begin + j < s->count; ++j) s->y[begin + j] = tile[j];
        }
    }
}

/* Bit k: the scan starts anew at element first + k. */
static inline ulong find_cuts(const scan *s, const ulong first)
{
    ulong cuts = 0;
#if SEGMENTS == 2
    ulong left = s->length - (first + IS_BACKWARD) % s->length; /* to the next cut */
    if (left == s->length) left = 0;
    for (uint k = 0; k < OWN; ++k, --left) {
        if (left > 0) continue;
        cuts |= (ulong)1 << k;
        left = s->length;
    }
#elif SEGMENTS == 1
    for (uint k = 0; k < OWN && first + k < s->count; ++k)
        if (is_cut(s, first + k + IS_BACKWARD)) cuts |= (ulong)1 << k;
#endif
    const ulong start = IS_BACKWARD ? s->count - 1 : 0;
    if (start >= first && start - first < OWN) cuts |= (ulong)1 << (start - first);
    return cuts;
}

#define IN_ORDER(k) (IS_BACKWARD ? OWN - 1 - (k) : (k))

static inline T reduce_own(local const T *own, const ulong cuts)
{
    T value = NEUTRAL;
    for (uint k = 0; k < OWN; ++k) {
        const uint e = IN_ORDER(k);
        const T x = own[e];
        if (SEGMENTS && cuts >> e & 1) value = NEUTRAL;
        value = COMBINE(value, x);
    }
    return value;
}

static inline void scan_own(local T *own, const ulong cuts, const scan *s, T carry)
{
    for (uint k = 0; k < OWN; ++k) {
        const uint e = IN_ORDER(k);
        const bool is_start = cuts >> e & 1;
        const T before = is_start ? s->initial : carry, x = own[e];
        carry = COMBINE(before, x);
        own[e] = !IS_EXCLUSIVE ? carry : is_start ? s->of_none : before;
    }
}

/* ---- shares, numbered from the start in both directions ---- */

/* Go through the tiles of the group's share, in the direction of the scan, from `before` on; `stores`: and scan them.
 * Returns whether a cut is in them. */
INLINED bool go_through(const ndr_group g, local T *tile, local parts *all, const scan *s, tally *before,
                        const bool stores)
{
    const uint id = ndr_local_id(g, 0), rank = IS_BACKWARD ? GROUP - 1 - id : id;
    const ulong tiles = (s->count + TILE - 1) / TILE, first = min(tiles, ndr_group_id(g, 0) * s->size);
    const ulong end = min(tiles, first + s->size);
    local T *const own = tile + id * OWN;
    bool has_any_cut = false;
    for (ulong n = 0; n < end - first; ++n) {
        const ulong begin = (IS_BACKWARD ? end - 1 - n : first + n) * TILE;
        load_tile(id, tile, s, begin);
        const ulong cuts = find_cuts(s, begin + id * OWN);
        T lower = reduce_own(own, cuts);
        bool has_cut = SEGMENTS && cuts != 0;
        scan_parts(rank, all, &lower, &has_cut);
        if (stores) {
            const T carry = has_cut ? s->initial : tally_value(before);
            scan_own(own, cuts, s, COMBINE(carry, lower));
            store_tile(id, tile, s, begin);
        }
        const T value = get_part(all, GROUP - 1, &has_cut);
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
    local T tile[TILE];
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
    T own = fold_lanes(reduce_tiles(first, 1, end, s.x + id * LANES, false));
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
    const uint id = ndr_local_id(g, 0);
    const ulong groups = ndr_group_range(g, 0), group = ndr_group_id(g, 0);
    const ulong before = IS_BACKWARD ? groups - 1 - group : group, few = (before + GROUP - 1) / GROUP;
    T value = NEUTRAL;
    bool has_cut = false;
    for (ulong n = id * few; n < min(before, (id + 1) * few); ++n) {
        const ulong i = IS_BACKWARD ? groups - 1 - n : n;
        const bool is_cut_here = SEGMENTS && cuts_in(workspace, groups)[i];
        if (is_cut_here) value = NEUTRAL;
        value = COMBINE(value, values_in(workspace)[i]);
        has_cut |= is_cut_here;
    }
    scan_parts(id, all, &value, &has_cut);
    value = get_part(all, GROUP - 1, &has_cut);
    barrier(CLK_LOCAL_MEM_FENCE);
    return value;
}

/* The second pass. `workspace` NULL: there is one group, and no first pass. */
kernel void scan_tiles(PARAMETERS, NDR_ND_RANGE(1))
{
    local T tile[TILE];
    local parts all;
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const scan s = SCAN_OF_PARAMETERS;
    const T first = reduce_before(g, &all, workspace);
    tally before;
    begin_tally(&before, COMBINE(s.initial, first));
    (void)go_through(g, tile, &all, &s, &before, true);
}
