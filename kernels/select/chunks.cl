/* chunks.cl - selects elements on CPUs, with groups of one item: the first pass counts the flags of each chunk, the
 * second one copies from there on. Each group takes neighbouring chunks. */
#include "ndr/detail/workspace.h"
#include "ndr/nd_item.clh"

/* Defaults, so that a file compiles alone; the library sets others. */
#ifndef E
#define E uint /* of an element: an unsigned integer of its size */
#endif

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

static inline global ulong *counts_in(global uint *workspace)
{
    return (global ulong *)(workspace + NDR_WORKSPACE_HEAD);
}

static inline ulong share_begin(const ulong group, const ulong groups, const ulong chunks)
{
    return chunks / groups * group + min(group, chunks % groups);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
select_count_chunks(global const uchar *flags, ulong flags_offset, ulong count, ulong chunk, global uint *workspace,
                    NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const ulong groups = ndr_group_range(g, 0), chunks = (count + chunk - 1) / chunk;
    const ulong end = share_begin(ndr_group_id(g, 0) + 1, groups, chunks);
    for (ulong i = share_begin(ndr_group_id(g, 0), groups, chunks); i < end; ++i)
        counts_in(workspace)[i] = count_flags(flags + flags_offset + i * chunk, min(chunk, count - i * chunk));
}

/* Every element is stored where the next selected one belongs, until all are: there is nothing to predict. */
static inline void copy_selected(global const E *x, global const uchar *f, global E *y, const ulong selected)
{
    ulong to = 0;
    for (ulong i = 0; to < selected; ++i) {
        y[to] = x[i];
        to += f[i] != 0;
    }
}

/* `workspace` NULL: there is one chunk. The last group stores the number of all selected elements. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
select_chunks(global const E *input, ulong offset, global const uchar *flags, ulong flags_offset, ulong count,
              ulong chunk, global uint *workspace, global E *output, ulong output_offset, global ulong *selected,
              ulong selected_offset, NDR_ND_RANGE(1))
{
    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));
    const ulong groups = ndr_group_range(g, 0), group = ndr_group_id(g, 0), chunks = (count + chunk - 1) / chunk;
    const ulong first = share_begin(group, groups, chunks), end = share_begin(group + 1, groups, chunks);
    ulong before = 0;
    for (ulong i = 0; i < end; ++i) {
        const ulong begin = i * chunk;
        global const uchar *const f = flags + flags_offset + begin;
        const ulong own = workspace ? counts_in(workspace)[i] : count_flags(f, count);
        if (i >= first) copy_selected(input + offset + begin, f, output + output_offset + before, own);
        before += own;
    }
    if (group == groups - 1) selected[selected_offset] = before;
}
