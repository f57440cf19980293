/* one_sweep.cl - sorts on GPUs whose groups go on while others wait for them: one pass over the elements a digit, by
 * decoupled look-back (Adinets and Merrill, 2022: Onesweep).
 *
 *   sort_clear       zeroes the counts of all passes      counts | pass 0: one for each digit | pass 1 ...
 *   sort_count_all   counts the digits of all passes; its last group turns each count into the sum of those before
 *   sort_add_all     does the latter where a device does not order memory between groups
 *   sort_sweep       one pass: sorts each tile by the digit, and moves it to its places
 *
 * A group of sort_sweep takes the next tile when it begins, counts its digits and publishes the counts. For each digit
 * an item adds up the counts of the tiles before, back to one that has published the sum up to itself, and publishes
 * that. So a group waits only for groups that have begun, which must go on meanwhile. What the tiles of all passes
 * publish is behind the counts of the passes.
 *
 * In a tile each warp has its own keys, of which an item has every 32nd. The items of a warp whose keys have the same
 * digit find each other by votes on each of its bits.
 */
#include "reduce/slot.clh"
#include "ndr/atomic.clh"
#include "sort/keys.clh"
#include "warps.clh"
#if NDR_ORDERS_DEVICE_
#include "reduce/last_group.clh"
#endif

/* Defaults, so that the file compiles alone; the library sets others. */
#ifndef PER_ITEM
#define PER_ITEM 4 /* keys */
#endif
#ifndef BEGIN_BIT
#define BEGIN_BIT 0 /* of the bits of a rank that are sorted by */
#define BITS 32
#define PASSES 4
#endif
#ifndef IS_LARGE
#define IS_LARGE 0 /* 1: there may be 2^30 keys and more */
#endif
#ifndef HAS_ROOM
#define HAS_ROOM 0 /* 1: the values of a tile have local memory beside its keys */
#endif

#if IS_LARGE
typedef ulong sum;
#else
typedef uint sum;
#endif

#define DIGITS NDR_SORT_DIGITS
#define TILE (GROUP * PER_ITEM)

static inline global sum *counts_in(global uint *workspace) { return (global sum *)(workspace + NDR_WORKSPACE_HEAD); }

/* ---- the counts of all passes ---- */

/* Launch an item for each count. */
kernel void sort_clear(global uint *workspace, NDR_RANGE(1))
{
    const ndr_item it = NDR_ITEM(1);
    counts_in(workspace)[ndr_global_id(it, 0)] = 0;
}

INLINED void count_key(const KEY key, const KEY flip, local uint *histograms)
{
    const KEY rank = rank_of(key, flip) >> BEGIN_BIT;
#pragma unroll
    for (uint p = 0; p < PASSES; ++p) {
        const uint first = NDR_SORT_SHIFT(BITS, PASSES, p), bits = NDR_SORT_SHIFT(BITS, PASSES, p + 1) - first;
        atomic_inc(histograms + p * DIGITS + ((uint)(rank >> first) & ((1u << bits) - 1)));
    }
}

#define KEYS_uchar 16
#define KEYS_ushort 8
#define KEYS_uint 4
#define KEYS_ulong 2
#define KEYS JOIN(KEYS_, KEY) /* of a vector of 16 bytes */
#define V JOIN(KEY, KEYS)

INLINED void count_vector(const V v, const KEY flip, local uint *histograms)
{
    KEY key[KEYS];
    JOIN(vstore, KEYS)(v, 0, key);
#pragma unroll
    for (uint i = 0; i < KEYS; ++i) count_key(key[i], flip, histograms);
}

/* Turn the counts into the sums of those before in the same pass. */
INLINED void add_counts(const uint id, volatile global sum *counts, local uint *scratch)
{
    enum { LOW = 24 }; /* bits, of which 256 sums fit 32 bits */
    for (uint p = 0; p < PASSES; ++p, counts += DIGITS) {
        const sum own = id < DIGITS ? counts[id] : 0;
#if IS_LARGE
        sum lower = sum_lower(id, (uint)own & ((1u << LOW) - 1), scratch);
        barrier(CLK_LOCAL_MEM_FENCE);
        lower += (sum)sum_lower(id, (uint)(own >> LOW), scratch) << LOW;
#else
        const sum lower = sum_lower(id, own, scratch);
#endif
        if (id < DIGITS) counts[id] = lower;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* Launch groups of GROUP items, 256 at least. Also zeroes `published` words behind the counts. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sort_count_all(global const KEY *in, ulong in_offset, ulong count, KEY flip, ulong published, global uint *workspace,
               uint slot, NDR_ND_RANGE(1))
{
    local uint histograms[PASSES * DIGITS], scratch[SCRATCH];
    local uint is_last[1]; /* an array: clang reports a variable as uninitialised */
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const uint id = ndr_local_id(g, 0);
    const ulong items = ndr_global_range(it, 0), item = ndr_global_id(it, 0);
    global sum *const counts = counts_in(workspace), *const of_tiles = counts + PASSES * DIGITS;
    global const KEY *const keys = in + in_offset;
    global const V *const vectors = (global const V *)keys;
    const ulong whole = (size_t)keys % sizeof(V) == 0 ? count / KEYS : 0;
    for (uint i = id; i < PASSES * DIGITS; i += GROUP) histograms[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong i = item;
    for (; i + 3 * items < whole; i += 4 * items) {
        const V v0 = vectors[i], v1 = vectors[i + items], v2 = vectors[i + 2 * items], v3 = vectors[i + 3 * items];
        count_vector(v0, flip, histograms);
        count_vector(v1, flip, histograms);
        count_vector(v2, flip, histograms);
        count_vector(v3, flip, histograms);
    }
    for (; i < whole; i += items) count_vector(vectors[i], flip, histograms);
    for (i = whole * KEYS + item; i < count; i += items) count_key(keys[i], flip, histograms);
    for (i = item; i < published; i += items) of_tiles[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint d = id; d < PASSES * DIGITS; d += GROUP)
        if (histograms[d] > 0) (void)ndr_atomic_fetch_add(counts + d, (sum)histograms[d]);
    global uint *const own_slot = id == 0 ? open_slot(g, workspace, slot) : 0;
#if NDR_ORDERS_DEVICE_
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (id == 0) is_last[0] = is_last_group(g, own_slot);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (is_last[0]) add_counts(id, counts, scratch);
#endif
    (void)is_last, (void)scratch, (void)own_slot;
}

/* Launch one group. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void sort_add_all(global uint *workspace, NDR_ND_RANGE(1))
{
    local uint scratch[SCRATCH];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    add_counts(ndr_local_id(it, 0), counts_in(workspace), scratch);
}

/* ---- what tiles publish: the count of a digit, or with SUMMED the sum of all tiles up to this one ---- */

#define KIND(kind) ((sum)(kind) << (8 * sizeof(sum) - 2))
#define COUNTED KIND(1)
#define SUMMED KIND(2)
#define SIZE(word) ((word) & (KIND(1) - 1))

INLINED sum get_word(global sum *word)
{
#ifdef NDR_PTX
    sum x;
#if IS_LARGE
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(word) : "memory");
#else
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(word) : "memory");
#endif
    return x;
#else
    return ndr_atomic_load(word);
#endif
}

INLINED void set_word(global sum *word, const sum x)
{
#ifdef NDR_PTX
#if IS_LARGE
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(x) : "memory");
#else
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(x) : "memory");
#endif
#else
    ndr_atomic_store(word, x);
#endif
}

/* The sum of the counts of the tiles before, of the item's digit; `words` are those of the pass. Some words are read
 * together, since most have been written long before. */
INLINED sum look_back(const uint id, global sum *words, const uint tile, const uint own)
{
    enum { AHEAD = 4 };
    global sum *const mine = words + (ulong)tile * DIGITS + id;
    global sum *at = mine;
    sum before = 0;
    for (uint left = tile; left > 0;) {
        sum word[AHEAD];
        uint read = 0;
        bool is_summed = false, goes_on = true;
#pragma unroll
        for (uint j = 0; j < AHEAD; ++j) word[j] = j < left ? get_word(at - (j + 1) * DIGITS) : SUMMED;
#pragma unroll
        for (uint j = 0; j < AHEAD; ++j) {
            goes_on &= !is_summed & (word[j] != 0);
            if (!goes_on) continue;
            before += SIZE(word[j]);
            is_summed = word[j] >= SUMMED;
            ++read;
        }
        left = is_summed ? 0 : left - read;
        at -= read * DIGITS;
    }
    set_word(mine, SUMMED | (before + own));
    return before;
}

/* ---- one pass ---- */

/* Values of one word stay with their keys in registers. Others are copied from where they were. */
#define KEEPS_VALUES (WORDS_ARE_ONE && SMALL_WORD)
#define IS_1_0 0
#define IS_1_1 1
#define IS_1_words 0
#define WORDS_ARE_ONE JOIN(IS_1_, WORDS)
#define IS_SMALL_uchar 1
#define IS_SMALL_ushort 1
#define IS_SMALL_uint 1
#define IS_SMALL_ulong 1
#define IS_SMALL_uint4 0
#define SMALL_WORD JOIN(IS_SMALL_, WORD)

#if KEEPS_VALUES
#define VALUE_BYTES sizeof(WORD)
#elif HAS_NO_VALUES
#define VALUE_BYTES 0
#else
#define VALUE_BYTES sizeof(ushort)
#endif

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define COUNTS_BYTES (WARPS * DIGITS * sizeof(uint))
#define KEYS_BYTES (TILE * sizeof(KEY))
#define VALUES_BYTES (TILE * VALUE_BYTES)
#if HAS_ROOM
#define ROOM LARGER(COUNTS_BYTES, KEYS_BYTES + VALUES_BYTES)
#define VALUES_AT KEYS_BYTES
#else
#define ROOM LARGER(COUNTS_BYTES, LARGER(KEYS_BYTES, VALUES_BYTES))
#define VALUES_AT 0
#endif

/* Key i of an item is at place first_of(id) + i * WARP of the tile. */
INLINED uint first_of(const uint id) { return id / WARP * (WARP * PER_ITEM) + id % WARP; }

/* The digit of a key. Missing keys are behind all others: keys of integers are made for that. */
INLINED uint digit_here(const KEY key, const digit d, const bool is_in)
{
    return IS_FLOAT && !is_in ? d.mask : digit_of(key, d);
}
#define IS_IN(i) (!IS_FLOAT || here == TILE || first_of(id) + (i) * WARP < here)

/* The place of each of the warp's keys among those of its digit in the warp. `own` gets the warp's counts. */
INLINED void rank_keys(const uint id, const KEY *key, const uint here, const digit d, volatile local uint *own,
                       local uint *scratch, uint *place)
{
    const uint lane = id % WARP, lower_lanes = (1u << lane) - 1;
    for (uint i = 0; i < DIGITS / WARP; ++i) own[i * WARP + lane] = 0;
    join_warp();
#pragma unroll
    for (uint i = 0; i < PER_ITEM; ++i) {
        const uint x = digit_here(key[i], d, IS_IN(i));
        uint alike = ~0u;
#pragma unroll
        for (uint bit = 0; bit < NDR_SORT_BITS; ++bit) alike &= find_alike(id, x, 1u << bit, scratch);
        const uint earlier = own[x], lower = popcount(alike & lower_lanes);
        join_warp();
        if (lower == 0) own[x] = earlier + popcount(alike);
        join_warp();
        place[i] = (earlier + lower) & 0xffff; /* changes nothing, but NVIDIA's compiler adds now, not later */
    }
}

/* Turn the counts of a digit into those of the warps before. Returns the count of all. */
INLINED uint add_warps(const uint id, local uint *counts)
{
    volatile local uint *const of_digit = counts + id;
    uint sum_of_warps = 0;
#pragma unroll
    for (uint w = 0; w < WARPS; ++w) {
        const uint own = of_digit[w * DIGITS];
        of_digit[w * DIGITS] = sum_of_warps;
        sum_of_warps += own;
    }
    return sum_of_warps;
}

/* Then into the first places of the warps' keys. */
INLINED void add_start(const uint id, local uint *counts, const uint start)
{
    volatile local uint *const of_digit = counts + id;
#pragma unroll
    for (uint w = 0; w < WARPS; ++w) of_digit[w * DIGITS] += start;
}

/* Element i of an item in memory; `none` if it is missing. Two loops, because loads behind a condition begin late. */
#define LOAD_ALL(to, from, none)                                                                    \
    if (here == TILE) {                                                                             \
        _Pragma("unroll") for (uint i = 0; i < PER_ITEM; ++i)                                       \
            (to)[i] = ((from) + first_of(id))[i * WARP];                                            \
    } else {                                                                                        \
        _Pragma("unroll") for (uint i = 0; i < PER_ITEM; ++i)                                       \
            (to)[i] = first_of(id) + i * WARP < here ? ((from) + first_of(id))[i * WARP] : (none);  \
    }

/* What crosses a barrier: through a volatile pointer because of the fault read_again, which NVIDIA's compiler lacks. */
#ifdef NDR_PTX
#define CROSSING
#else
#define CROSSING volatile
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sort_sweep(global const KEY *in, ulong in_offset, global const WORD *values_in, ulong values_in_offset, global KEY *out,
           ulong out_offset, global WORD *values_out, ulong values_out_offset, ulong words, ulong count, KEY flip,
           uint shift, uint bits, uint pass, global uint *workspace, uint slot, NDR_ND_RANGE(1))
{
    local uchar room[ROOM] __attribute__((aligned(16)));
    local sum bases[DIGITS];
    local uint scratch[SCRATCH], taken[1];
    local uint *const counts = (local uint *)room;
    CROSSING local KEY *const keys = (local KEY *)room;
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const uint id = ndr_local_id(g, 0);
    const ulong tiles = ndr_group_range(g, 0);
    if (id == 0) taken[0] = next_turn(g, open_slot(g, workspace, slot));
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint tile = ((volatile local uint *)taken)[0];
    const ulong first = (ulong)tile * TILE;
    const uint here = (uint)min((ulong)TILE, count - first);
    const digit d = digit_at(flip, shift, bits);
    global sum *const sums = counts_in(workspace) + pass * DIGITS;
    global sum *const published = counts_in(workspace) + (PASSES + pass * tiles) * DIGITS;

    KEY key[PER_ITEM];
    uint place[PER_ITEM];
    in += in_offset + first;
    values_in += (values_in_offset + first) * WORDS;
    LOAD_ALL(key, in, (KEY)~flip)
    rank_keys(id, key, here, d, counts + id / WARP * DIGITS, scratch, place);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint own = 0;
    if (id < DIGITS) {
        own = add_warps(id, counts);
        if (tile > 0) set_word(published + (ulong)tile * DIGITS + id, COUNTED | own);
    }
    const uint start = sum_lower(id, own, scratch);
    if (id < DIGITS) add_start(id, counts, start);
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < PER_ITEM; ++i)
        place[i] += ((volatile local uint *)counts)[id / WARP * DIGITS + digit_here(key[i], d, IS_IN(i))];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < PER_ITEM; ++i) keys[place[i]] = key[i];
#if KEEPS_VALUES
    CROSSING local WORD *const values = (local WORD *)(room + VALUES_AT);
    WORD value[PER_ITEM];
    LOAD_ALL(value, values_in, 0)
#if HAS_ROOM
#pragma unroll
    for (uint i = 0; i < PER_ITEM; ++i) values[place[i]] = value[i];
#endif
#endif
    /* From the place in the tile to the place in the output. */
    if (id < DIGITS) bases[id] = sums[id] + look_back(id, published, tile, own) - start;
    barrier(CLK_LOCAL_MEM_FENCE);

    out += out_offset;
    values_out += values_out_offset * WORDS;
    uint moved[PER_ITEM]; /* the digit of a key */
#pragma unroll
    for (uint i = 0; i < PER_ITEM; ++i) {
        const uint at = i * GROUP + id;
        const KEY k = keys[at];
        moved[i] = digit_of(k, d);
        if (at < here) {
            const sum to = bases[moved[i]] + at;
            out[to] = k;
#if KEEPS_VALUES && HAS_ROOM
            values_out[to] = values[at];
#endif
        }
    }
#if KEEPS_VALUES && !HAS_ROOM
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < PER_ITEM; ++i) values[place[i]] = value[i];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < PER_ITEM; ++i) {
        const uint at = i * GROUP + id;
        if (at < here) values_out[bases[moved[i]] + at] = values[at];
    }
#elif !KEEPS_VALUES && !HAS_NO_VALUES
    volatile local ushort *const places = (local ushort *)(room + VALUES_AT);
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < PER_ITEM; ++i) places[place[i]] = (ushort)(first_of(id) + i * WARP);
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < PER_ITEM; ++i) {
        const uint at = i * GROUP + id;
        if (at < here) move_value(values_out, bases[moved[i]] + at, values_in, places[at], words);
    }
#endif
    (void)words, (void)values_in, (void)values_out;
}
