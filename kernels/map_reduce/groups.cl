/* groups.cl - reductions of expressions by groups of many items, in a fixed order.
 *
 * ITEMS items of a group combine a result, or a part of it, together; the group has GROUP / ITEMS results. Neighbouring
 * items lie along the dimension in which the inputs have neighbouring elements, if they have any. An item loads LANES
 * elements before it uses the first one. */
#ifndef ALONG_REDUCED
#define ALONG_REDUCED 1
#endif
#ifndef GROUP
#define GROUP 256
#endif
#ifndef ITEMS
#define ITEMS 256 /* of a result: GROUP or a divisor of it */
#endif
#define LANE_KEPT 0
#define LANE_REDUCED ITEMS
#define LANE_LOOP
#include "map_reduce/values.clh"

#define COLUMNS (GROUP / ITEMS)
#define PER_STEP (LANES * ITEMS)

/* What an item has of the elements of a result. */
static inline void reduce_share(INPUT, const ulong k0, const ulong k1, const extent *e, const ulong row,
                                const uint item, lanes *total)
{
    sums s;
    lanes rest;
    open_sums(&s, LANES);
    clear(&rest, LANES);
    ulong r = e->begin + item, r0 = r / row, r1 = r - r0 * row;
    while (r < e->end) {
        const bool is_whole = e->end - r > PER_STEP - ITEMS && row - r1 > PER_STEP - ITEMS;
        if (is_whole) take(&s.row, LANES, INPUT_VALUES, k0, k1, r0, r1);
        else take(&rest, 1, INPUT_VALUES, k0, k1, r0, r1);
        const ulong taken = is_whole ? PER_STEP : ITEMS;
        r += taken, r1 += taken;
        if (r1 >= row) {
            const ulong rows = r1 / row;
            r0 += rows, r1 -= rows * row;
        }
        if (++s.steps == ROW) {
            end_row(&s, LANES);
            add(&s.longer, &rest, 1);
            clear(&rest, 1);
        }
    }
    close_sums(&s, LANES);
    add(&s.total, &rest, 1);
    *total = s.total;
}

/* What an item has of the parts of a result. */
static inline void reduce_parts(global const ndr_r *partials, const ulong kept, const ulong parts, const uint item,
                                lanes *total)
{
    sums s;
    open_sums(&s, LANES);
    for (ulong part = item; part < parts; part += ITEMS) {
#define A(k) s.row.v##k[0]
#define B(k) MEMBER_##k(partials[part * kept])
        EACH(INTO)
#undef A
#undef B
        if (++s.steps == ROW) end_row(&s, 1);
    }
    close_sums(&s, LANES);
    *total = s.total;
}

/* Elements id, id + step ... below `count` of a result's shares as one. Always inlined: the fault shared_local_array. */
static inline __attribute__((always_inline)) void fold_every(local ndr_r *shares, const uint id, const uint step,
                                                             const uint count)
{
#define A(k) MEMBER_##k(shares[id])
#define B(k) MEMBER_##k(shares[i])
    for (uint i = id + step; i < count; i += step) { EACH(INTO) }
#undef A
#undef B
}

/* Combine the shares of a result's items; the first one gets the result. No barrier is in a loop. */
#define EIGHTH(items) ((items) > 8 ? (items) / 8 : 1)
static inline __attribute__((always_inline)) void fold_shares(local ndr_r *shares, const uint item, const lanes *total)
{
    const uint left = EIGHTH(ITEMS), last = EIGHTH(left);
#define GIVE(k) MEMBER_##k(shares[item]) = total->v##k[0];
    EACH(GIVE)
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < left) fold_every(shares, item, left, ITEMS);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < last) fold_every(shares, item, last, left);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) fold_every(shares, 0, 1, last);
}

static inline __attribute__((always_inline)) void reduce_group(INPUT, SIZES, const ndr_nd_item it, local ndr_r *scratch,
                                                               const bool of_parts)
{
    const ndr_group g = ndr_get_group(it);
    const ulong group = ndr_group_id(g, 0), of_each = of_parts ? 1 : parts, block = group / of_each;
    const uint id = ndr_local_id(g, 0), item = ALONG_REDUCED ? id % ITEMS : id / COLUMNS;
    const uint column = ALONG_REDUCED ? id / ITEMS : id % COLUMNS;
    const ulong k = block * COLUMNS + column, k0 = k / inner, part = group - block * of_each;
    const bool is_in = k < kept;
    lanes total;
    extent e = { 0, 0, true };
    if (is_in) find_extent(&e, SIZES_VALUES, k, part, 1);
    clear(&total, LANES);
    if (is_in && of_parts) reduce_parts(partials_in(workspace) + k, kept, parts, item, &total);
    else if (is_in) reduce_share(INPUT_VALUES, k0, k - k0 * inner, &e, row, item, &total);
    fold(&total);
    fold_shares(scratch + column * ITEMS, item, &total);
    if (is_in && item == 0) {
        ndr_r r = scratch[column * ITEMS];
        if (!of_parts && parts > 1) partials_in(workspace)[part * kept + k] = r;
        else put(INPUT_VALUES, k0, k - k0 * inner, e.is_empty, &r);
    }
}

kernel void map_reduce_groups(INPUT, SIZES, NDR_ND_RANGE(1))
{
    local ndr_r scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    reduce_group(INPUT_VALUES, SIZES_VALUES, it, scratch, false);
}

kernel void map_reduce_group_parts(INPUT, SIZES, NDR_ND_RANGE(1))
{
    local ndr_r scratch[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    reduce_group(INPUT_VALUES, SIZES_VALUES, it, scratch, true);
}
