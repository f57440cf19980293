/* short_rows.cl - reductions of expressions along short rows of neighbouring elements, by groups of many items.
 *
 * A group has `span` rows of `row` elements. Neighbouring items evaluate neighbouring elements, an item always those of
 * the same columns, and leave the values in local memory, where a row has an odd number of places: so items that read
 * different rows use different banks. Then ITEMS items combine each row. */
#ifndef GROUP
#define GROUP 256
#endif
#ifndef ITEMS
#define ITEMS 1 /* of a result: GROUP or a divisor of it */
#endif
#ifndef LENGTH
#define LENGTH 32 /* elements of a row for each of its items, at most */
#endif
#define LANES 1
#include "map_reduce/shares.clh"

#define STAGED (GROUP * (LENGTH + 1))
#define AHEAD 8 /* elements that an item loads before it uses the first one */

static inline __attribute__((always_inline)) void stage(local ndr_r *staged, const lanes *value, const uint at)
{
#define STAGE(k) MEMBER_##k(staged[at]) = value->v##k[0];
    EACH(STAGE)
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
map_reduce_short_rows(INPUT, SIZES, NDR_ND_RANGE(1))
{
    local ndr_r staged[STAGED], shares[GROUP];
    const ndr_nd_item it = NDR_ND_ITEM(1);
    const ndr_group g = ndr_get_group(it);
    const uint id = ndr_local_id(g, 0), item = id % ITEMS, own_row = id / ITEMS;
    const uint length = (uint)row, stride = length | 1, rows = max(GROUP / length, 1u);
    const uint first_row = id / length, first_column = id - first_row * length;
    const ulong first = ndr_group_id(g, 0) * span;
    const uint here = (uint)min(span, kept - first);
    for (uint c = first_column; c < length && id < rows * length; c += GROUP) {
        for (uint r = first_row; r < here; r += AHEAD * rows) {
            lanes ahead[AHEAD];
            /* Where there are no more rows, the last one again: loads behind a condition begin late. */
#pragma unroll
            for (uint j = 0; j < AHEAD; ++j)
                evaluate(&ahead[j], 1, INPUT_VALUES, 0, first + min(r + j * rows, here - 1), 0, c);
#pragma unroll
            for (uint j = 0; j < AHEAD; ++j)
                if (r + j * rows < here) stage(staged, &ahead[j], (r + j * rows) * stride + c);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    lanes total;
    clear(&total, 1);
    const local ndr_r *const own = staged + own_row * stride;
    for (uint c = item; own_row < here && c < length; c += ITEMS) {
#define A(k) total.v##k[0]
#define B(k) MEMBER_##k(own[c])
        EACH(INTO)
#undef A
#undef B
    }
    fold_shares(shares + own_row * ITEMS, item, ITEMS, &total);
    if (item == 0 && own_row < here) {
        ndr_r r = shares[own_row * ITEMS];
        put(INPUT_VALUES, 0, first + own_row, false, &r);
    }
    (void)inner, (void)count, (void)parts, (void)offsets, (void)offsets_at, (void)workspace;
}
