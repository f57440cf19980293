/* select_tiles.cl - selections on GPUs: a round is three launches. No group waits for another. */
#include "top_k/select.clh"
#include "sort/tiles.clh"

#define DIGITS NDR_SORT_DIGITS
#define OWN 8 /* elements of an item in a tile */
#define INLINED static inline __attribute__((always_inline)) /* the fault shared_local_array */

/* Launch a group for each share. Stores its count of digit i in counts[i * groups + group]. */
kernel void top_k_count_tiles(SELECT_PARAMETERS, uint turn, NDR_ND_RANGE(1))
{
    local uint histogram[DIGITS];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const uint id = ndr_local_id(it, 0);
    const ulong group = ndr_group_id(it, 0), groups = ndr_group_range(it, 0);
    const digit d = digit_at(flip, shift, bits);
    selection s;
    read_selection(&s, SELECT_ARGUMENTS, group, groups, turn);
    for (uint i = id; i < DIGITS; i += GROUP) histogram[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (ulong i = s.begin + id; i < s.end; i += GROUP) {
        const KEY rank = rank_of(s.from[i], flip);
        if (has_prefix(&s, rank, d, bits, is_first)) atomic_inc(histogram + ((uint)(rank >> shift) & d.mask));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = id; i < DIGITS; i += GROUP) work[counts + i * groups + group] = histogram[i];
}

/* As sort_add_counts(), of groups. */
kernel void top_k_add_counts(ulong groups, ulong first, ulong end, global ulong *work, ulong counts, NDR_ND_RANGE(1))
{
    local ulong scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    add_counts(ndr_local_id(it, 0), ndr_group_id(it, 0), scratch, work + counts, groups, first, end);
}

/* Find the digit of the row's k-th key. `found`: threshold, smaller and same of finding. */
INLINED void find_digit(const uint id, local ulong *found, local ulong *scratch, const selection *s,
                        global const ulong *counts, const ulong groups, const ulong shares)
{
    ulong sum = 0;
    for (uint first = 0; first < DIGITS; first += GROUP) {
        const uint d = min(first + id, (uint)DIGITS - 1);
        const bool is_digit = first + id < DIGITS;
        const ulong own = !is_digit ? 0
                                    : sum_to(counts, groups, d, (s->row + 1) * shares)
                                          - sum_to(counts, groups, d, s->row * shares);
        const ulong before = sum_before(id, scratch, min(GROUP, DIGITS), own, &sum);
        if (before >= s->left || s->left > before + own) continue;
        found[0] = d;
        found[1] = before;
        found[2] = own;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* How many keys of smaller digits than `threshold` are in earlier shares of the row. */
INLINED ulong sum_smaller(const uint id, local ulong *scratch, const selection *s, global const ulong *counts,
                          const ulong groups, const ulong shares, const ulong threshold)
{
    ulong own = 0, sum = 0;
    for (ulong d = id; d < threshold; d += GROUP)
        own += counts[d * groups + s->row * shares + s->share] - counts[d * groups + s->row * shares];
    (void)sum_before(id, scratch, GROUP, own, &sum);
    return sum;
}

/* Launch a group for each share. */
kernel void top_k_select_tiles(SELECT_PARAMETERS, uint turn, global KEY *top_keys, ulong top_keys_offset,
                               global ulong *top_indexes, ulong top_indexes_offset, NDR_ND_RANGE(1))
{
    local ulong scratch[GROUP], found[3];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const uint id = ndr_local_id(it, 0);
    const ulong group = ndr_group_id(it, 0), groups = ndr_group_range(it, 0);
    global const ulong *const sums = work + counts;
    volatile local ulong *const told = found; /* the fault read_again */
    selection s;
    finding f;
    read_selection(&s, SELECT_ARGUMENTS, group, groups, turn);
    find_digit(id, found, scratch, &s, sums, groups, shares);
    f.threshold = told[0];
    f.smaller = told[1];
    f.same = told[2];
    f.stores = is_to_store(&s, f.same, is_last);
    const ulong earlier_rounds = is_first ? 0 : work[unstored + group];
    const ulong earlier = earlier_rounds + sum_smaller(id, scratch, &s, sums, groups, shares, f.threshold);
    const ulong earlier_same = sums[f.threshold * groups + group] - sums[f.threshold * groups + s.row * shares];

    /* Places of what is wanted and of what is the same, the latter in the high half, relative to those of the share. */
    const ulong top = s.row * k + s.stored + earlier, next = s.source == 1 ? 1 : 0;
    const ulong same = is_last ? s.row * k + k - (s.left - f.smaller) + earlier_same
                               : list_at(s.rows, s.row, capacity, next) + earlier_same;
    const KEY last = (KEY)(s.prefix << bits | f.threshold);
    const ulong end = f.stores ? s.end : s.begin;
    ulong sum = 0;
    for (ulong tile = s.begin; tile < end; tile += GROUP * OWN) {
        const ulong begin = min(end, tile + id * OWN);
        const uint here = (uint)min((ulong)OWN, end - begin);
        ulong own = 0;
        for (uint i = 0; i < here; ++i) {
            const KEY high = (KEY)(rank_of(s.from[begin + i], flip) >> shift);
            own += high < last ? 1 : high == last ? 1UL << 32 : 0;
        }
        ulong before = sum_before(id, scratch, GROUP, own, &sum);
        for (uint i = 0; i < here; ++i) {
            const KEY key = s.from[begin + i], high = (KEY)(rank_of(key, flip) >> shift);
            const ulong index = s.source ? (ulong)s.indexes[begin + i] : begin + i;
            const ulong to_top = top + (before & 0xffffffff), to_same = same + (before >> 32);
            if (high > last) continue;
            before += high < last ? 1 : 1UL << 32;
            if (high < last || (is_last && to_same < s.row * k + k)) {
                const ulong to = high < last ? to_top : to_same;
                top_keys[top_keys_offset + to] = key;
                if (top_indexes) top_indexes[top_indexes_offset + to] = index;
            } else if (!is_last) {
                list_keys[list_keys_offset + to_same] = key;
                list_indexes[list_indexes_offset + to_same] = (INDEX)index;
            }
        }
    }
    barrier(CLK_GLOBAL_MEM_FENCE); /* all have read what the first one overwrites */
    if (id > 0) return;
    work[unstored + group] = f.stores ? 0 : earlier;
    if (s.share == 0) write_selection(&s, SELECT_ARGUMENTS, &f, turn);
}
