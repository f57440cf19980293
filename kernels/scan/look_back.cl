/* look_back.cl - scans with groups of many items in one pass and one launch, for GPUs whose groups go on while others
 * wait for them (Merrill and Garland, 2016: single-pass scan by decoupled look-back).
 *
 *   tiles    | 0 | 1 | ... | BLOCK - 1 | BLOCK | ...       in the direction of the scan; a group has one
 *   blocks   | 0                       | 1     ...         of BLOCK tiles; a row has BLOCK blocks
 *   parts    of each tile and each block its own; of each row that of it and all before
 *
 * A group publishes the part of its tile. Then its items wait for the parts of the blocks before in the row and of the
 * tiles before in the block, and combine them in their order, behind the part of the row before: one item for each
 * part, or one warp for each level. The last group of a block publishes the block's part, that of a row the row's. So
 * what is combined, and in which order, depends on `count` and GROUP alone, and not on when the groups run.
 *
 * A group takes the next tile when it begins. So it waits only for groups that have begun, which must go on meanwhile.
 *
 * A part is published in words of 64 bits, with the launch's number in the upper half: what an earlier launch has left
 * there has another one. The words are read and written whole, so that no fence is needed. */
#include "reduce/slot.clh"
#include "ndr/atomic.clh"
#include "scan/tile.clh"

/* 1, with NDR_PTX: a whole tile is copied at once by the copy engine of compute capability 9.0. */
#ifndef COPIES_TILES
#define COPIES_TILES 0
#endif
#ifndef NDR_PTX
#undef COPIES_TILES
#define COPIES_TILES 0
#endif
#include "ptx.clh"

#define BLOCK (GROUP / 2)
#define WORDS (1 + (LANES == 2) + (SEGMENTS != 0)) /* of a part */

/* ---- words ---- */

#ifdef NDR_PTX
static inline ulong get_word(global ulong *word)
{
    ulong x;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(word) : "memory");
    return x;
}

static inline void set_word(global ulong *word, const ulong x)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(x) : "memory");
}
#else
static inline ulong get_word(global ulong *word) { return ndr_atomic_load(word); }
static inline void set_word(global ulong *word, const ulong x) { ndr_atomic_store(word, x); }
#endif

INLINED void publish(global ulong *words, const ulong at, const uint number, const T value, const bool has_cut)
{
    global ulong *const part = words + at * WORDS;
    const ulong upper = (ulong)number << 32;
    const bits x = TO_BITS(value);
    set_word(part, upper | (uint)x);
#if LANES == 2
    set_word(part + 1, upper | (uint)(x >> 32));
#endif
#if SEGMENTS
    set_word(part + WORDS - 1, upper | has_cut);
#endif
    (void)has_cut;
}

/* ---- looking back ---- */

#if BY_WARPS && GROUP >= LEVELS * WARP

static inline bool is_any_of_warp(const bool x)
{
    uint is_any;
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.any.pred p, p, -1; selp.u32 %0, 1, 0, p;}"
                 : "=r"(is_any)
                 : "r"((uint)x)
                 : "memory");
    return is_any;
}

/* Whether the part has come. */
INLINED bool get_published(global ulong *words, const ulong at, const uint number, bits *x)
{
    const ulong word = get_word(words + at * WORDS);
    bool has_come = (uint)(word >> 32) == number;
    *x = (uint)word;
#if LANES == 2
    const ulong upper = get_word(words + at * WORDS + 1);
    has_come = has_come && (uint)(upper >> 32) == number;
    *x |= upper << 32;
#endif
    return has_come;
}

/* One warp: combine parts first to first + count - 1; the last lane has the result. It waits for WARP parts at a time:
 * to wait for all of them at once would read two to three times as many words, and slow down the copies of others. */
INLINED T combine_published(const uint lane, global ulong *words, const ulong first, const uint count,
                            const uint number)
{
    T value = NEUTRAL;
    for (uint i = 0; i < count; i += WARP) {
        const bool has_one = i + lane < count;
        bool is_missing = has_one;
        bits x = 0;
        do {
            if (is_missing) is_missing = !get_published(words, first + i + lane, number, &x);
        } while (is_any_of_warp(is_missing));
        const T both = COMBINE(value, OF_BITS(x));
        if (has_one) value = both;
    }
    return scan_warp(lane, value);
}

/* Publish the part of tile n, and combine those before it. All items of the group call this. */
INLINED T look_back(const uint rank, local parts *all, global ulong *words, const uint number, const ulong tiles,
                    const ulong n, const T own, const bool has_own_cut)
{
    const ulong block = n / BLOCK, row = block / BLOCK;
    const uint in_block = (uint)(n % BLOCK), in_row = (uint)(block % BLOCK), lane = rank % WARP, level = rank / WARP;
    global ulong *const blocks = words + tiles * WORDS, *const rows = blocks + tiles / BLOCK * WORDS;
    const bool is_last_of_block = in_block == BLOCK - 1, is_last_of_row = is_last_of_block && in_row == BLOCK - 1;
    if (rank == 0) publish(words, n, number, own, has_own_cut);
    if (level < LEVELS) {
        global ulong *const of_level = level == 0 ? words : level == 1 ? blocks : rows;
        const ulong end = level == 0 ? n : level == 1 ? block : row;
        const uint count = level == 0 ? in_block : level == 1 ? in_row : row > 0;
        const T part = combine_published(lane, of_level, end - count, count, number), both = COMBINE(part, own);
        if (lane == WARP - 1) all->of_level[level] = part;
        if (rank == WARP - 1 && is_last_of_block) publish(blocks, block, number, both, false);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* In sums over many rows each row is one more addition: docs/appendix/proofs.md. */
    const T longer = all->of_level[2], before = COMBINE(all->of_level[1], all->of_level[0]);
    const T of_row = COMBINE(before, own), with_row = COMBINE(longer, of_row);
    if (rank == 0 && is_last_of_row) publish(rows, row, number, with_row, false);
    return COMBINE(longer, before);
}

#else

INLINED uint wait_for_word(global ulong *word, const uint number)
{
    ulong x;
    do x = get_word(word);
    while ((uint)(x >> 32) != number);
    return (uint)x;
}

INLINED void wait_for(global ulong *words, const ulong at, const uint number, T *value, bool *has_cut)
{
    global ulong *const part = words + at * WORDS;
    bits x = wait_for_word(part, number);
#if LANES == 2
    x |= (bits)wait_for_word(part + 1, number) << 32;
#endif
    *value = OF_BITS(x);
#if SEGMENTS
    *has_cut = wait_for_word(part + WORDS - 1, number);
#endif
}

/* Make one part of two, of which `next` follows. */
INLINED void append(T *part, bool *has_cut, const T next, const bool has_next_cut)
{
    const T both = COMBINE(*part, next);
    *part = has_next_cut ? next : both;
    *has_cut |= has_next_cut;
}

/* Publish the part of tile n, and combine those before it. All items of the group call this. */
INLINED T look_back(const uint rank, local parts *all, global ulong *words, const uint number, const ulong tiles,
                    const ulong n, const T own, const bool has_own_cut)
{
    const ulong block = n / BLOCK, row = block / BLOCK;
    const uint in_block = (uint)(n % BLOCK), in_row = (uint)(block % BLOCK);
    global ulong *const blocks = words + tiles * WORDS, *const rows = blocks + tiles / BLOCK * WORDS;
    const bool is_last_of_block = in_block == BLOCK - 1, is_last_of_row = is_last_of_block && in_row == BLOCK - 1;
    T part = NEUTRAL, both, before, longer = NEUTRAL;
    bool has_cut = false, has_both_cut, has_any_cut, has_longer_cut = false;
    if (rank == 0) publish(words, n, number, own, has_own_cut);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (rank >= BLOCK && rank - BLOCK < in_block)
        wait_for(words, n - in_block + rank - BLOCK, number, &part, &has_cut);
    if (is_last_of_block) {
        T lower = part;
        bool has_lower_cut = has_cut;
        scan_parts(rank, all, &lower, &has_lower_cut, &both, &has_both_cut);
        append(&both, &has_both_cut, own, has_own_cut);
        if (rank == 0) publish(blocks, block, number, both, has_both_cut);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (rank < in_row) wait_for(blocks, block - in_row + rank, number, &part, &has_cut);
    scan_parts(rank, all, &part, &has_cut, &before, &has_any_cut);

    /* In sums over many rows each row is one more addition: docs/appendix/proofs.md. */
    if (row > 0) wait_for(rows, row - 1, number, &longer, &has_longer_cut);
    if (rank == 0 && is_last_of_row) {
        T of_row = before;
        bool has_row_cut = has_any_cut;
        append(&of_row, &has_row_cut, own, has_own_cut);
        both = longer, has_both_cut = has_longer_cut;
        append(&both, &has_both_cut, of_row, has_row_cut);
        publish(rows, row, number, both, has_both_cut);
    }
    append(&longer, &has_longer_cut, before, has_any_cut);
    return longer;
}

#endif

/* ---- copies of whole tiles ---- */

#if COPIES_TILES

/* Groups begin in about the order of their numbers. So while a group waits for its turn, the tile with its number comes
 * to the cache: this group takes it, or one that began at about the same time. */
INLINED void fetch_tile(const uint id, const scan *s, const ulong begin)
{
    if (id == 0 && is_of_vectors(s, s->x, begin))
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(s->x + begin), "r"((uint)(TILE * sizeof(T)))
                     : "memory");
}

INLINED void bring_tile(const uint id, local T *tile, local ulong *has_come, const scan *s, const ulong begin)
{
    if (!is_of_vectors(s, s->x, begin)) {
        load_tile(id, tile, s, begin);
        return;
    }
    if (id == 0) {
        barrier_init(PTX_ADDRESS(has_come), 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(PTX_ADDRESS(has_come)),
                     "r"((uint)(TILE * sizeof(T)))
                     : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         PTX_ADDRESS(tile)),
                     "l"(s->x + begin), "r"((uint)(TILE * sizeof(T))), "r"(PTX_ADDRESS(has_come))
                     : "memory");
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    barrier_wait(PTX_ADDRESS(has_come), 0);
}

/* Local memory must stay until the copy has read it. */
INLINED void send_tile(const uint id, local const T *tile, const scan *s, const ulong begin)
{
    if (!is_of_vectors(s, s->y, begin)) {
        store_tile(id, tile, s, begin);
        return;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(s->y + begin),
                     "r"(PTX_ADDRESS(tile)), "r"((uint)(TILE * sizeof(T)))
                     : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}

#else
#define fetch_tile(id, s, begin)
#define bring_tile(id, tile, has_come, s, begin) load_tile(id, tile, s, begin)
#define send_tile store_tile
#endif

#define PLACE_OF_TILE(n, tiles) ((IS_BACKWARD ? (tiles)-1 - (n) : (n)) * TILE)

/* `workspace` NULL: there is one tile. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
scan_look_back(PARAMETERS, uint slot, global ulong *words, uint number, NDR_ND_RANGE(1))
{
    local T tile[TILE] OF_TILE;
    local parts all;
    local uint taken[1];
#if COPIES_TILES
    local ulong has_come[1];
#endif
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const scan s = SCAN_OF_PARAMETERS;
    const uint id = ndr_local_id(g, 0), rank = RANK(id);
    const ulong tiles = ndr_group_range(g, 0);
    local T *const own = tile + id * OWN;
    fetch_tile(id, &s, PLACE_OF_TILE(ndr_group_id(g, 0), tiles));
    if (id == 0) taken[0] = workspace ? next_turn(g, open_slot(g, workspace, slot)) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong n = ((volatile local uint *)taken)[0], begin = PLACE_OF_TILE(n, tiles);
    bring_tile(id, tile, has_come, &s, begin);

    const ulong cuts = find_cuts(&s, begin + id * OWN);
    T lower = reduce_own(own, cuts), value, before = NEUTRAL;
    bool has_lower_cut = cuts != 0, has_cut;
    scan_parts(rank, &all, &lower, &has_lower_cut, &value, &has_cut);
    if (workspace) before = look_back(rank, &all, words, number, tiles, n, value, has_cut);
    const T first = COMBINE(s.initial, before), carry = has_lower_cut ? s.initial : first;
    scan_own(own, cuts, &s, begin + id * OWN, COMBINE(carry, lower));
    send_tile(id, tile, &s, begin);
}
