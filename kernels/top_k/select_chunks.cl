/* select_chunks.cl - selections on CPUs: a round is two launches of groups of one item. */
#include "top_k/select.clh"
#include "sort/chunks.clh"

/* Launch a group for each share. Stores NDR_SORT_DIGITS counts for each. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
top_k_count_chunks(SELECT_PARAMETERS, uint turn, NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const ulong group = ndr_group_id(g, 0);
    const digit d = digit_at(flip, shift, bits);
    ulong own[NDR_SORT_DIGITS];
    selection s;
    read_selection(&s, SELECT_ARGUMENTS, group, ndr_group_range(g, 0), turn);
    if (is_first) {
        count_digits(s.from + s.begin, s.end - s.begin, d, own);
    } else {
        for (uint i = 0; i < NDR_SORT_DIGITS; ++i) own[i] = 0;
        for (ulong i = s.begin; i < s.end; ++i) {
            const KEY rank = rank_of(s.from[i], flip);
            own[(uint)(rank >> shift) & d.mask] += has_prefix(&s, rank, d, bits, false);
        }
    }
    for (uint i = 0; i < NDR_SORT_DIGITS; ++i) work[counts + group * NDR_SORT_DIGITS + i] = own[i];
}

/* Find the digit of the row's k-th key, and how many keys of smaller digits, and of this one, are in earlier shares. */
static inline void find_digit(const selection *s, global const ulong *counts, const ulong shares, finding *f,
                              ulong *earlier_smaller, ulong *earlier_same)
{
    ulong total[NDR_SORT_DIGITS], earlier[NDR_SORT_DIGITS];
    for (uint d = 0; d < NDR_SORT_DIGITS; ++d) total[d] = earlier[d] = 0;
    counts += s->row * shares * NDR_SORT_DIGITS;
    for (ulong share = 0; share < shares; ++share, counts += NDR_SORT_DIGITS)
        for (uint d = 0; d < NDR_SORT_DIGITS; ++d) {
            earlier[d] += share < s->share ? counts[d] : 0;
            total[d] += counts[d];
        }
    f->threshold = f->smaller = *earlier_smaller = 0;
    while (f->smaller + total[f->threshold] < s->left) {
        *earlier_smaller += earlier[f->threshold];
        f->smaller += total[f->threshold++];
    }
    f->same = total[f->threshold];
    *earlier_same = earlier[f->threshold];
}

/* Launch a group for each share. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
top_k_select_chunks(SELECT_PARAMETERS, uint turn, global KEY *top_keys, ulong top_keys_offset, global ulong *top_indexes,
                    ulong top_indexes_offset, NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const ulong group = ndr_group_id(g, 0);
    ulong earlier_smaller, earlier_same;
    selection s;
    finding f;
    read_selection(&s, SELECT_ARGUMENTS, group, ndr_group_range(g, 0), turn);
    find_digit(&s, work + counts, shares, &f, &earlier_smaller, &earlier_same);
    f.stores = is_to_store(&s, f.same, is_last);
    const ulong earlier = (is_first ? 0 : work[unstored + group]) + earlier_smaller;
    const KEY last = (KEY)(s.prefix << bits | f.threshold);
    ulong top = s.row * k + s.stored + earlier;
    ulong same = is_last ? s.row * k + k - (s.left - f.smaller) + earlier_same
                         : list_at(s.rows, s.row, capacity, s.source == 1 ? 1 : 0) + earlier_same;
    for (ulong i = f.stores ? s.begin : s.end; i < s.end; ++i) {
        const KEY key = s.from[i], high = (KEY)(rank_of(key, flip) >> shift);
        if (high > last) continue;
        const ulong index = s.source ? (ulong)s.indexes[i] : i;
        if (high < last || (is_last && same < s.row * k + k)) {
            const ulong to = high < last ? top++ : same++;
            top_keys[top_keys_offset + to] = key;
            if (top_indexes) top_indexes[top_indexes_offset + to] = index;
        } else if (!is_last) {
            list_keys[list_keys_offset + same] = key;
            list_indexes[list_indexes_offset + same++] = (INDEX)index;
        }
    }
    work[unstored + group] = f.stores ? 0 : earlier;
    if (s.share == 0) write_selection(&s, SELECT_ARGUMENTS, &f, turn);
}
