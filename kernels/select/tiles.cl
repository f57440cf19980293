/* tiles.cl - selects elements with groups of many items, for GPUs: the first pass counts the flags of each group's
 * tiles, the second one copies from there on, tile by tile. No group waits for another. */
#ifndef T
#define T ulong /* of a count */
#endif
#include "scan/parts.clh"

/* Defaults, so that a file compiles alone; the library sets others. */
#ifndef E
#define E uint /* of an element: an unsigned integer of its size */
#endif

#define OWN 16 /* elements of an item in a tile */
#define TILE (GROUP * OWN)

static inline global ulong *counts_in(global uint *workspace)
{
    return (global ulong *)(workspace + NDR_WORKSPACE_HEAD);
}

/* How many of the item's flags in the tile that begins at `begin` are not 0. */
static inline ulong count_own(global const uchar *f, const ulong begin, const ulong end)
{
    ulong sum = 0;
    for (ulong i = begin; i < min(begin + OWN, end); ++i) sum += f[i] != 0;
    return sum;
}

kernel void select_count_tiles(global const uchar *flags, ulong flags_offset, ulong count, ulong tiles,
                               global uint *workspace, NDR_ND_RANGE(1))
{
    local part scratch[2 * GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const uint id = ndr_local_id(g, 0);
    const ulong first = ndr_group_id(g, 0) * tiles * TILE, end = min(count, first + tiles * TILE);
    ulong own = 0;
    part all;
    for (ulong begin = first; begin < end; begin += TILE)
        own += count_own(flags + flags_offset, begin + id * OWN, end);
    (void)scan_parts(id, scratch, part_of(own, false), &all);
    if (ndr_leader(g)) counts_in(workspace)[ndr_group_id(g, 0)] = all.value;
}

/* `workspace` NULL: there is one group. The last group stores the number of all selected elements. */
kernel void select_tiles(global const E *input, ulong offset, global const uchar *flags, ulong flags_offset,
                         ulong count, ulong tiles, global uint *workspace, global E *output, ulong output_offset,
                         global ulong *selected, ulong selected_offset, NDR_ND_RANGE(1))
{
    local part scratch[2 * GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const uint id = ndr_local_id(g, 0);
    const ulong group = ndr_group_id(g, 0), first = group * tiles * TILE, end = min(count, first + tiles * TILE);
    global const uchar *const f = flags + flags_offset;
    ulong lower_groups = 0;
    part all;
    for (ulong i = id; i < group; i += GROUP) lower_groups += counts_in(workspace)[i];
    (void)scan_parts(id, scratch, part_of(lower_groups, false), &all);
    ulong before = all.value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (ulong begin = first; begin < end; begin += TILE) {
        const ulong own = begin + id * OWN;
        const part lower = scan_parts(id, scratch, part_of(count_own(f, own, end), false), &all);
        ulong to = before + lower.value;
        for (ulong i = own; i < min(own + OWN, end); ++i)
            if (f[i] != 0) output[output_offset + to++] = input[offset + i];
        before += all.value;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (ndr_leader(g) && group == ndr_group_range(g, 0) - 1) selected[selected_offset] = before;
}
