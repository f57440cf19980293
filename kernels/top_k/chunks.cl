/* chunks.cl - the k first keys of each row on CPUs: reads the input once. A group of one item takes parts of rows one after
 * the other, and gathers the elements that come before the k-th of those so far. When it has twice as many it sorts them
 * and keeps k. If rows have several parts, a second launch selects among what the parts kept, which are lists in the order
 * of the parts: so equal keys are in the order of the row.
 *
 * Values of the sort are indexes: WORD is ulong, and WORDS 1. */
#ifndef WORDS
#define WORD ulong
#define WORDS 1
#endif
#include "sort/chunks.clh"
#include "top_k/store.clh"

#define BLOCK 64 /* keys that are compared together */
#define PART 16  /* of a block, that are then compared together */

/* Whether any of in[0..count) comes before the limit; `count` is a constant. */
static inline __attribute__((always_inline)) bool has_smaller(global const KEY *in, const uint count, const KEY flip,
                                                              const KEY limit)
{
    KEY any = 0;
    for (uint i = 0; i < count; ++i) any |= rank_of(in[i], flip) < limit;
    return any != 0;
}

/* What is gathered: two memories, of which the first is sorted into itself, by way of the second. */
typedef struct gathered {
    global KEY *keys, *keys_temp;
    global ulong *indexes, *indexes_temp;
    ulong count;
    KEY limit; /* the rank of the k-th, once there are so many */
    bool is_full;
} gathered;

/* Sort, and keep k. */
static inline void keep_first(gathered *g, const ulong k, const KEY flip, const uint bits, const uint passes)
{
    if (g->count <= SORT_FEW) sort_few(g->keys, g->indexes, g->keys, g->indexes, 1, (uint)g->count, flip, 0, bits);
    else
        sort_chunk(g->keys, g->indexes, g->keys, g->indexes, g->keys_temp, g->indexes_temp, 1, g->count, flip, 0, bits,
                   passes);
    g->count = min(g->count, k);
    g->is_full = g->count == k;
    if (g->is_full) g->limit = rank_of(g->keys[k - 1], flip);
}

/* Insert an element into at most k that are sorted; the last one is lost if there is no room. */
static inline void insert(gathered *g, const ulong k, const KEY key, const KEY rank, const ulong index, const KEY flip)
{
    ulong to = min(g->count, k - 1);
    for (; to > 0 && rank < rank_of(g->keys[to - 1], flip); --to) {
        g->keys[to] = g->keys[to - 1];
        g->indexes[to] = g->indexes[to - 1];
    }
    g->keys[to] = key;
    g->indexes[to] = index;
    g->count = min(g->count + 1, k);
    g->is_full = g->count == k;
    if (g->is_full) g->limit = rank_of(g->keys[k - 1], flip);
}

/* Select among in[0..count), whose first one has the index `first`, or which have `indexes`. */
ONCE void gather_first(gathered *g, const ulong capacity, global const KEY *in, global const ulong *indexes,
                                const ulong first, const ulong count, const ulong k, const KEY flip, const uint bits,
                                const uint passes)
{
    g->count = 0;
    g->is_full = false;
    for (ulong i = 0; i < count;) {
        while (g->is_full && i + BLOCK <= count && !has_smaller(in + i, BLOCK, flip, g->limit)) i += BLOCK;
        while (g->is_full && i + PART <= count && !has_smaller(in + i, PART, flip, g->limit)) i += PART;
        for (const ulong end = min(count, i + PART); i < end; ++i) {
            const KEY key = in[i], rank = rank_of(key, flip);
            const ulong index = indexes ? indexes[i] : first + i;
            if (g->is_full && rank >= g->limit) continue;
            if (k <= SORT_FEW) {
                insert(g, k, key, rank, index, flip);
            } else {
                g->keys[g->count] = key;
                g->indexes[g->count++] = index;
            }
        }
        if (k > SORT_FEW && g->count + PART > capacity) keep_first(g, k, flip, bits, passes);
    }
    if (k > SORT_FEW) keep_first(g, k, flip, bits, passes);
}

/* Launch groups of one item over `rows` rows of `length` elements in `parts` parts of `size`. `keys` are of all rows;
 * their indexes are `indexes`, or, without these, their places. Behind temp_offset the workspace has keys, two times
 * `capacity` for each group, and from temp_indexes_offset on as many indexes. is_last: there is one part of each row, and
 * the result is stored; the rows of values have row_length elements. Otherwise top_keys and top_indexes get the k first of
 * each part, without gaps, those of a row from row * row_length on. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
top_k_chunks(global const KEY *keys, ulong keys_offset, global const ulong *indexes, ulong indexes_offset, ulong rows,
             ulong length, ulong parts, ulong size, ulong k, KEY flip, uint bits, uint passes, ulong capacity,
             global KEY *temp, ulong temp_offset, global ulong *temp_indexes, ulong temp_indexes_offset, uint is_last,
             ulong row_length, STORE_PARAMETERS, NDR_ND_RANGE(1))
{
    const ndr_group own = ndr_get_group(NDR_ND_ITEM(1));
    const ulong group = ndr_group_id(own, 0), groups = ndr_group_range(own, 0), tasks = rows * parts;
    gathered g;
    g.keys = temp + temp_offset + 2 * group * capacity;
    g.keys_temp = g.keys + capacity;
    g.indexes = temp_indexes + temp_indexes_offset + 2 * group * capacity;
    g.indexes_temp = g.indexes + capacity;
    for (ulong task = tasks / groups * group + min(group, tasks % groups), end = task + tasks / groups + (group < tasks % groups);
         task < end; ++task) {
        const ulong row = task / parts, first = task % parts * size, from = row * length + first;
        gather_first(&g, capacity, keys + keys_offset + from, indexes ? indexes + indexes_offset + from : 0, first,
                     min(size, length - first), k, flip, bits, passes);
        const ulong to = is_last ? row * k : row * row_length + task % parts * k;
        for (ulong i = 0; i < g.count; ++i)
            store_top(STORE_ARGUMENTS, to + i, g.keys[i], row * row_length, g.indexes[i]);
    }
}
