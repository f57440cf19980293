/* dealing.c - how a reduction's elements are dealt out, and why so. */
#include "ops/reduce/reduce.h"

static size_t clamp(size_t value, size_t lowest, size_t highest)
{
    return ndr_max_size(lowest, ndr_min_size(value, highest));
}

/* Long enough to be worth a group (some 5 ns) and a partial, short enough to keep a sum's rows short and to spread
 * over any number of cores; about 128 chunks in between. */
ndr_reduce_chunks ndr_reduce_deal_chunks(size_t elements, size_t most_chunks)
{
    enum { SHORTEST = 1 << 14, LONGEST = 1 << 18, FAVOURITE_COUNT = 128 };
    const size_t share = clamp(ndr_ceil_div(elements, FAVOURITE_COUNT), SHORTEST, LONGEST);
    const size_t chunk = ndr_max_size(share, ndr_ceil_div(elements, most_chunks));
    return (ndr_reduce_chunks){ chunk, ndr_max_size(ndr_ceil_div(elements, chunk), 1) };
}

/* Enough groups for the largest device, no more than there is work for. */
ndr_reduce_groups ndr_reduce_deal_groups(const ndr_caps *caps, size_t elements)
{
    enum { FAVOURITE_GROUP = 256, ITEM_TAKES = 8, MOST_GROUPS = 512 };
    const size_t limit = ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]);
    const size_t size = ndr_min_size(FAVOURITE_GROUP, limit);
    const size_t wanted = ndr_ceil_div(elements ? elements : 1, size * ITEM_TAKES);
    return (ndr_reduce_groups){ size, ndr_min_size(wanted, MOST_GROUPS) };
}
