/* tiles.cl - selects elements with groups of many items, for GPUs: the first pass counts the selected elements of each
 * group's tiles, the second one copies from there on, tile by tile. No group waits for another. */
#include "select/select.clh"
#include "sums.clh"

/* A default, so that the file compiles alone; the library sets others. */
#ifndef GROUP
#define GROUP 256 /* items of a group */
#endif

#define OWN 16 /* elements of an item in a tile */
#define TILE (GROUP * OWN)

/* How many elements from `begin` on are selected, of those that an item has in a tile. */
static inline ulong count_own(PARAMETERS, const ulong begin, const ulong end)
{
    ulong sum = 0;
    for (ulong i = begin; i < min(begin + OWN, end); ++i) sum += IS_SELECTED(i);
    return sum;
}

kernel void select_count_tiles(PARAMETERS, NDR_ND_RANGE(1))
{
    local ulong scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const uint id = ndr_local_id(g, 0);
    const ulong first = ndr_group_id(g, 0) * size * TILE, end = min(count, first + size * TILE);
    ulong own = 0, all = 0;
    for (ulong begin = first; begin < end; begin += TILE) own += count_own(ARGUMENTS, begin + id * OWN, end);
    (void)sum_before(id, scratch, GROUP, own, &all);
    if (ndr_leader(g)) counts_in(workspace)[ndr_group_id(g, 0)] = all;
}

kernel void select_tiles(PARAMETERS, NDR_ND_RANGE(1))
{
    local ulong scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const uint id = ndr_local_id(g, 0);
    const ulong group = ndr_group_id(g, 0), groups = ndr_group_range(g, 0);
    const ulong first = group * size * TILE, end = min(count, first + size * TILE);
    global E *const y = output + output_offset;
    ulong lower = 0, higher = 0, before = 0, number = 0;
    for (ulong i = id; i < group; i += GROUP) lower += counts_in(workspace)[i];
    for (ulong i = group + id; workspace && i < groups; i += GROUP) higher += counts_in(workspace)[i];
    for (ulong i = id * OWN; !workspace && i < count; i += TILE) higher += count_own(ARGUMENTS, i, count);
    (void)sum_before(id, scratch, GROUP, lower, &before);
    (void)sum_before(id, scratch, GROUP, lower + higher, &number);
    for (ulong begin = first; begin < end; begin += TILE) {
        const ulong own = begin + id * OWN;
        ulong to = sum_before(id, scratch, GROUP, count_own(ARGUMENTS, own, end), &before);
        for (ulong i = own; i < min(own + OWN, end); ++i) {
            const bool is_selected = IS_SELECTED(i);
            if (is_selected || KEEPS_OTHERS) y[is_selected ? to : number + i - to] = input[offset + i];
            if (BY_RUNS && is_selected && starts) starts[starts_offset + to] = i;
            to += is_selected;
        }
    }
    if (ndr_leader(g) && group == 0) store_number(ARGUMENTS, number);
}
