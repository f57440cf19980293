/* groups.cl - reductions of expressions by groups of many items, in a fixed order.
 *
 * ITEMS items of a group combine a result, or a part of it, together; the group has GROUP / ITEMS results. Neighbouring
 * items lie along the dimension in which the inputs have neighbouring elements, if they have any. An item loads LANES
 * elements before it uses the first one. Groups of PART_GROUP combine the parts, PART_ITEMS for a result. */
#ifndef ALONG_REDUCED
#define ALONG_REDUCED 1
#endif
#ifndef GROUP
#define GROUP 256
#endif
#ifndef ITEMS
#define ITEMS 256 /* of a result: GROUP or a divisor of it */
#endif
#ifndef PART_GROUP
#define PART_GROUP 256
#endif
#ifndef PART_ITEMS
#define PART_ITEMS 1 /* PART_GROUP or a divisor of it */
#endif
#define LANE_KEPT 0
#define LANE_REDUCED ITEMS
#define LANE_LOOP
#include "map_reduce/shares.clh"

#define COLUMNS (GROUP / ITEMS)

/* What an item has of the elements of a result. */
static inline void reduce_share(INPUT, const ulong k0, const ulong k1, const extent *e, const ulong row,
                                const uint item, lanes *total)
{
    sums s;
    open_sums(&s, 1);
    ulong r = e->begin + item, r0 = r / row, r1 = r - r0 * row;
    while (r < e->end) {
        const ulong left = min(e->end - r, row - r1);
        const uint some = (uint)min((left + ITEMS - 1) / ITEMS, (ulong)LANES);
        lanes step;
        if (some == LANES) evaluate(&step, LANES, INPUT_VALUES, k0, k1, r0, r1);
        else evaluate_some(&step, some, INPUT_VALUES, k0, k1, r0, r1);
        fold(&step);
        add(&s.row, &step, 1);
        r += some * ITEMS, r1 += some * ITEMS;
        if (r1 >= row) {
            const ulong rows = r1 / row;
            r0 += rows, r1 -= rows * row;
        }
        if (++s.steps == ROW) end_row(&s, 1);
    }
    close_sums(&s, 1);
    *total = s.total;
}

static inline __attribute__((always_inline)) void put_result(INPUT, SIZES, const ulong k, const bool is_empty,
                                                             local const ndr_r *share)
{
    const ulong k0 = k / inner;
    ndr_r r = *share;
    put(INPUT_VALUES, k0, k - k0 * inner, is_empty, &r);
    (void)kept, (void)count, (void)row, (void)parts, (void)span, (void)offsets, (void)offsets_at, (void)workspace;
}

kernel void map_reduce_groups(INPUT, SIZES, NDR_ND_RANGE(1))
{
    local ndr_r shares[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const ulong group = ndr_group_id(g, 0), block = group / parts, part = group - block * parts;
    const uint id = ndr_local_id(g, 0), item = ALONG_REDUCED ? id % ITEMS : id / COLUMNS;
    const uint column = ALONG_REDUCED ? id / ITEMS : id % COLUMNS;
    const ulong k = block * COLUMNS + column, k0 = k / inner;
    local ndr_r *const own = shares + column * ITEMS;
    extent e = { 0, 0, true };
    lanes total;
    clear(&total, 1);
    if (k < kept) {
        find_extent(&e, SIZES_VALUES, k, part, 1);
        reduce_share(INPUT_VALUES, k0, k - k0 * inner, &e, row, item, &total);
    }
    fold_shares(own, item, ITEMS, &total);
    if (k < kept && item == 0) {
        if (parts > 1) partials_in(workspace)[part * kept + k] = *own;
        else put_result(INPUT_VALUES, SIZES_VALUES, k, e.is_empty, own);
    }
}

/* Neighbouring items have neighbouring results. */
kernel void map_reduce_group_parts(INPUT, SIZES, NDR_ND_RANGE(1))
{
    enum { RESULTS = PART_GROUP / PART_ITEMS };
    local ndr_r shares[PART_GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const uint id = ndr_local_id(g, 0), item = id / RESULTS, column = id % RESULTS;
    const ulong k = ndr_group_id(g, 0) * RESULTS + column;
    local ndr_r *const own = shares + column * PART_ITEMS;
    lanes total;
    clear(&total, 1);
    if (k < kept) {
        sums s;
        sum_parts(&s, partials_in(workspace) + k, kept, parts, item, PART_ITEMS);
        total = s.total;
    }
    fold_shares(own, item, PART_ITEMS, &total);
    if (k < kept && item == 0) {
        extent e;
        find_extent(&e, SIZES_VALUES, k, 0, 1);
        put_result(INPUT_VALUES, SIZES_VALUES, k, e.is_empty, own);
    }
}
