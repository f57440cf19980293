/* dealing.c - how a reduction's elements are dealt out, and why so. */
#include "ops/reduce/reduce.h"

static size_t clamp(size_t value, size_t lowest, size_t highest)
{
    return ndr_max_size(lowest, ndr_min_size(value, highest));
}

/* Long enough to be worth a group (some 5 ns) and a partial, short enough to keep a sum's rows short and to spread
 * over any number of cores; about 128 chunks in between. */
size_t ndr_reduce_chunk_elements(size_t count, size_t most_chunks)
{
    enum { SHORTEST = 1 << 14, LONGEST = 1 << 18, FAVOURITE_COUNT = 128 };
    const size_t share = clamp(ndr_ceil_div(count, FAVOURITE_COUNT), SHORTEST, LONGEST);
    return ndr_max_size(share, ndr_ceil_div(count, most_chunks));
}

size_t ndr_reduce_chunks(size_t count, size_t chunk) { return ndr_max_size(ndr_ceil_div(count, chunk), 1); }

size_t ndr_reduce_group_size(const ndr_caps *caps)
{
    enum { FAVOURITE_GROUP = 256 };
    return ndr_min_size(FAVOURITE_GROUP, ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]));
}

/* Enough groups for the largest device, no more than there is work for. */
size_t ndr_reduce_groups(size_t count, size_t group_size)
{
    enum { ITEM_TAKES = 8, MOST_GROUPS = 512 };
    return ndr_min_size(ndr_ceil_div(count ? count : 1, group_size * ITEM_TAKES), MOST_GROUPS);
}
