/* chunks.cl - selects elements on CPUs, with groups of one item: the first pass counts the selected elements of each
 * chunk, the second one copies from there on. Each group takes neighbouring chunks. */
#include "once.clh"
#include "select/select.clh"

#define T uchar /* of a flag */
#define LANES 16
#include "vectors.clh"

/* How many of f[0..n) are not 0. A lane counts up to 127. */
static inline ulong count_flags(global const uchar *f, const ulong n)
{
    ulong sum = 0, i = 0;
    while (i + LANES <= n) {
        const ulong end = min(n / LANES * LANES, i + 127 * LANES);
        char16 row = (char16)(0);
        int lane[LANES];
        for (; i < end; i += LANES) row -= AT(global const, 0, f + i) != (V)(0);
        vstore16(convert_int16(row), 0, lane);
        for (uint j = 0; j < LANES; ++j) sum += (ulong)lane[j];
    }
    for (; i < n; ++i) sum += f[i] != 0;
    return sum;
}

ONCE ulong count_chunk(PARAMETERS, const ulong begin, const ulong end)
{
    if (!BY_RUNS) return count_flags(flags + flags_offset + begin, end - begin);
    ulong sum = begin == 0 && end > 0;
    for (ulong i = max(begin, (ulong)1); i < end; ++i) sum += input[offset + i] != input[offset + i - 1];
    return sum;
}

static inline ulong share_begin(const ulong group, const ulong groups, const ulong chunks)
{
    return chunks / groups * group + min(group, chunks % groups);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void select_count_chunks(PARAMETERS, NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const ulong groups = ndr_group_range(g, 0), chunks = (count + size - 1) / size;
    const ulong end = share_begin(ndr_group_id(g, 0) + 1, groups, chunks);
    for (ulong i = share_begin(ndr_group_id(g, 0), groups, chunks); i < end; ++i)
        counts_in(workspace)[i] = count_chunk(ARGUMENTS, i * size, min(i * size + size, count));
}

/* `own` elements are selected and stored from `to` on, the others from `others` on. Every element is stored where the next
 * selected one belongs, until all are: there is nothing to predict. */
ONCE void copy_chunk(PARAMETERS, const ulong begin, const ulong end, const ulong own, const ulong to,
                              const ulong others)
{
    global E *const y = output + output_offset;
    ulong n = 0;
    for (ulong i = begin; KEEPS_OTHERS ? i < end : n < own; ++i) {
        const bool is_selected = IS_SELECTED(i);
        y[KEEPS_OTHERS && !is_selected ? others + (i - begin - n) : to + n] = input[offset + i];
        if (BY_RUNS && starts && (is_selected || !KEEPS_OTHERS)) starts[starts_offset + to + n] = i;
        n += is_selected;
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void select_chunks(PARAMETERS, NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const ulong groups = ndr_group_range(g, 0), group = ndr_group_id(g, 0), chunks = (count + size - 1) / size;
    const ulong first = share_begin(group, groups, chunks), end = share_begin(group + 1, groups, chunks);
    ulong before = 0, number = workspace ? 0 : count_chunk(ARGUMENTS, 0, count);
    for (ulong n = 0; workspace && n < chunks; ++n) {
        before += n < first ? counts_in(workspace)[n] : 0;
        number += counts_in(workspace)[n];
    }
    for (ulong n = first; n < end; ++n) {
        const ulong begin = n * size, own = workspace ? counts_in(workspace)[n] : number;
        copy_chunk(ARGUMENTS, begin, min(begin + size, count), own, before, number + begin - before);
        before += own;
    }
    if (group == 0) store_number(ARGUMENTS, number);
}
