/* tiles.cl - scans with groups of many items, for GPUs, in two passes over shares of the input.
 *
 *   pass 1    | share 0 | share 1 | share 2 |     a partial of each group's share: its elements combined
 *   pass 2    | share 0 | share 1 | share 2 |     combines the partials before the share, and scans it from there
 *   a share   | tile | tile | tile | ...          one after the other; a tile goes through local memory, so that memory
 *                                                 is read by neighbouring items, and each item scans neighbours
 *
 * No group waits for another. Which elements are combined, and in which order, depends on `count` and on the size of
 * the groups alone. Items of a backward scan are ranked from the end. Launch it in groups of GROUP items, 256 at most.
 */
#include "scan/parts.clh"
#include "shared/tiles.h"

/* A default, so that the file compiles alone; the library sets others. */
#ifndef LANES
#define LANES 4 /* elements of NDR_TILE_VECTOR_BYTES */
#endif
#include "vectors.clh"

#define VECTORS NDR_TILE_VECTORS
#define TILE (GROUP * VECTORS * LANES) /* elements of a tile */
#define OWN (VECTORS * LANES) /* elements of an item in a tile */

/* Parts so far, in rows of 64, so that rounding errors stay small. */
typedef struct row_of_parts {
    part total, row;
    uint count;
} row_of_parts;

static inline row_of_parts row_from(const part total)
{
    row_of_parts r;
    r.total = total;
    r.row = part_of(NEUTRAL, false);
    r.count = 0;
    return r;
}

static inline void add_part(row_of_parts *r, const part next)
{
    r->row = join_parts(r->row, next);
    if (++r->count % 64 > 0) return;
    r->total = join_parts(r->total, r->row);
    r->row = part_of(NEUTRAL, false);
}

/* ---- tiles ---- */

/* Bring the elements from place `begin` on; those past the end become neutral. */
INLINED void load_tile(const uint id, local T *tile, global const T *x, const ulong begin, const ulong count)
{
#pragma unroll
    for (uint i = 0; i < VECTORS; ++i) {
        const uint at = (i * GROUP + id) * LANES;
        if (begin + at + LANES <= count) {
            JOIN(vstore, LANES)(JOIN(vload, LANES)(0, x + begin + at), 0, tile + at);
        } else {
            for (uint j = at; j < at + LANES; ++j) tile[j] = begin + j < count ? x[begin + j] : NEUTRAL;
        }
    }
}

INLINED void store_tile(const uint id, local const T *tile, global T *y, const ulong begin, const ulong count)
{
#pragma unroll
    for (uint i = 0; i < VECTORS; ++i) {
        const uint at = (i * GROUP + id) * LANES;
        if (begin + at + LANES <= count) {
            JOIN(vstore, LANES)(JOIN(vload, LANES)(0, tile + at), 0, y + begin + at);
        } else {
            for (uint j = at; j < at + LANES && begin + j < count; ++j) y[begin + j] = tile[j];
        }
    }
}

/* Bit k: the scan starts anew at element first + k. */
static inline ulong find_cuts(const segments s, const ulong first)
{
    ulong cuts = 0;
#if SEGMENTS == 2
    ulong left = s.length - (first + IS_BACKWARD) % s.length; /* to the next cut */
    if (left == s.length) left = 0;
    for (uint k = 0; k < OWN; ++k, --left) {
        if (left > 0) continue;
        cuts |= (ulong)1 << k;
        left = s.length;
    }
#elif SEGMENTS == 1
    for (uint k = 0; k < OWN && first + k < s.count; ++k)
        if (is_cut(s, first + k + IS_BACKWARD)) cuts |= (ulong)1 << k;
#endif
    const ulong start = IS_BACKWARD ? s.count - 1 : 0;
    if (start >= first && start - first < OWN) cuts |= (ulong)1 << (start - first);
    return cuts;
}

#define IN_ORDER(k) (IS_BACKWARD ? OWN - 1 - (k) : (k))

static inline part reduce_own(local const T *own, const ulong cuts, const start from)
{
    part sum = part_of(NEUTRAL, false);
    for (uint k = 0; k < OWN; ++k) {
        const uint e = IN_ORDER(k);
        const part next = part_of(own[e], false);
        if (SEGMENTS && cuts >> e & 1) sum = part_of(from.carry, true);
        sum = join_parts(sum, next);
    }
    return sum;
}

static inline void scan_own(local T *own, const ulong cuts, const start from, T carry)
{
    for (uint k = 0; k < OWN; ++k) {
        const uint e = IN_ORDER(k);
        const bool is_cut = cuts >> e & 1;
        const T before = is_cut ? from.carry : carry, x = own[e];
        carry = COMBINE(before, x);
        own[e] = !IS_EXCLUSIVE ? carry : is_cut ? from.of_none : before;
    }
}

/* ---- shares ---- */

/* The tiles of a group. Shares are numbered from the start in both directions. */
typedef struct share {
    ulong first, count;
} share;

static inline share share_of(const ndr_group g, const ulong tiles, const ulong count)
{
    const ulong all = (count + TILE - 1) / TILE;
    share s;
    s.first = min(all, ndr_group_id(g, 0) * tiles);
    s.count = min(all - s.first, tiles);
    return s;
}

/* Tile n of the share, in the direction of the scan: its first element. */
static inline ulong tile_begin(const share s, const ulong n)
{
    return (IS_BACKWARD ? s.first + s.count - 1 - n : s.first + n) * TILE;
}

#if SEGMENTS
/* The share's part, in which a cut counts the initial value. */
INLINED part reduce_share(const ndr_group g, local T *tile, local part *scratch, global const T *x, const segments s,
                          const start from, const share mine)
{
    const uint id = ndr_local_id(g, 0), rank = IS_BACKWARD ? GROUP - 1 - id : id;
    row_of_parts sum = row_from(part_of(NEUTRAL, false));
    for (ulong n = 0; n < mine.count; ++n) {
        const ulong begin = tile_begin(mine, n);
        part all;
        load_tile(id, tile, x, begin, s.count);
        barrier(CLK_LOCAL_MEM_FENCE);
        const part own = reduce_own(tile + id * OWN, find_cuts(s, begin + id * OWN), from);
        (void)scan_parts(rank, scratch, own, &all);
        barrier(CLK_LOCAL_MEM_FENCE);
        add_part(&sum, all);
    }
    return join_parts(sum.total, sum.row);
}
#else
/* Each item combines a vector of each row of GROUP vectors. A tile is loaded as a whole before it is used. */
INLINED part reduce_share(const ndr_group g, local part *scratch, global const T *x, const ulong count,
                          const share mine)
{
    const uint id = ndr_local_id(g, 0);
    const ulong end = min((mine.first + mine.count) * TILE, count), whole = end - end % TILE;
    V total = (V)(NEUTRAL);
    for (ulong begin = mine.first * TILE; begin < whole;) {
        const ulong row_end = min(whole, begin + (ulong)64 * TILE);
        V row = (V)(NEUTRAL);
        for (; begin < row_end; begin += TILE) {
            V v[VECTORS];
#pragma unroll
            for (uint i = 0; i < VECTORS; ++i) v[i] = JOIN(vload, LANES)(i * GROUP + id, x + begin);
#pragma unroll
            for (uint width = VECTORS / 2; width > 0; width /= 2)
#pragma unroll
                for (uint i = 0; i < width; ++i) v[i] = COMBINE(v[i], v[i + width]);
            row = COMBINE(row, v[0]);
        }
        total = COMBINE(total, row);
    }
    T lane[LANES]; /* the fault vector_part_uninitialised */
    JOIN(vstore, LANES)(total, 0, lane);
    T value = NEUTRAL;
    for (uint i = 0; i < LANES; ++i) value = COMBINE(value, lane[i]);
    for (ulong i = whole + id; i < end; i += GROUP) value = COMBINE(value, x[i]);
    part all;
    (void)scan_parts(id, scratch, part_of(value, false), &all);
    return all;
}
#endif

kernel void scan_reduce_tiles(global const T *input, ulong offset, ulong count, ulong tiles, global const uchar *flags,
                              ulong flags_offset, ulong length, uint has_initial, ulong initial,
                              global uint *workspace, NDR_ND_RANGE(1))
{
    local part scratch[2 * GROUP];
#if SEGMENTS
    local T tile[TILE];
#endif
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const share mine = share_of(g, tiles, count);
    global T *const partials = partials_in(workspace);
#if SEGMENTS
    const segments s = segments_of(flags, flags_offset, length, count);
    const part sum = reduce_share(g, tile, scratch, input + offset, s, start_of(has_initial, initial), mine);
    if (ndr_leader(g)) ((global uchar *)(partials + ndr_group_range(g, 0)))[ndr_group_id(g, 0)] = is_closed(sum);
#else
    const part sum = reduce_share(g, scratch, input + offset, count, mine);
    (void)flags, (void)flags_offset, (void)length, (void)has_initial, (void)initial;
#endif
    if (ndr_leader(g)) partials[ndr_group_id(g, 0)] = sum.value;
}

/* The partials before this group's as one part. Each item joins a few neighbours. */
INLINED part join_before(const ndr_group g, local part *scratch, global uint *workspace, const uint rank)
{
    const ulong groups = ndr_group_range(g, 0), group = ndr_group_id(g, 0);
    const ulong before = IS_BACKWARD ? groups - 1 - group : group, few = (before + GROUP - 1) / GROUP;
    global const T *const partials = partials_in(workspace);
    part own = part_of(NEUTRAL, false), all;
    for (ulong n = rank * few; n < min(before, (rank + 1) * few); ++n) {
        const ulong i = IS_BACKWARD ? groups - 1 - n : n;
        own = join_parts(own, part_of(partials[i], SEGMENTS && ((global const uchar *)(partials + groups))[i]));
    }
    (void)scan_parts(rank, scratch, own, &all);
    barrier(CLK_LOCAL_MEM_FENCE);
    return all;
}

/* `workspace` NULL: there is one group. */
kernel void scan_tiles(global const T *input, ulong offset, ulong count, ulong tiles, global const uchar *flags,
                       ulong flags_offset, ulong length, uint has_initial, ulong initial, global uint *workspace,
                       global T *output, ulong output_offset, NDR_ND_RANGE(1))
{
    local T tile[TILE];
    local part scratch[2 * GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const uint id = ndr_local_id(g, 0), rank = IS_BACKWARD ? GROUP - 1 - id : id;
    const segments s = segments_of(flags, flags_offset, length, count);
    const start from = start_of(has_initial, initial);
    const share mine = share_of(g, tiles, count);
    const part first = join_before(g, scratch, workspace, rank);
    row_of_parts before = row_from(join_parts(part_of(from.carry, false), first));
    for (ulong n = 0; n < mine.count; ++n) {
        const ulong begin = tile_begin(mine, n);
        part all;
        load_tile(id, tile, input + offset, begin, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        const ulong cuts = find_cuts(s, begin + id * OWN);
        const part own = reduce_own(tile + id * OWN, cuts, from);
        const part lower = scan_parts(rank, scratch, own, &all);
        const part so_far = join_parts(before.total, before.row), carry = join_parts(so_far, lower);
        scan_own(tile + id * OWN, cuts, from, carry.value);
        barrier(CLK_LOCAL_MEM_FENCE);
        store_tile(id, tile, output + output_offset, begin, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        add_part(&before, all);
    }
}
