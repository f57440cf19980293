/* chunk_sizes.c - how a reduction divides its elements into chunks and groups. */
#include "ops/reduce/reduce.h"

static size_t clamp(size_t value, size_t lowest, size_t highest)
{
    return ndr_max_size(lowest, ndr_min_size(value, highest));
}

/* A chunk is long enough to amortise a group (about 5 ns) and a partial. It is short enough to limit the rounding
 * error of its sum and to occupy all cores. In between there are about 128 chunks. */
ndr_reduce_chunks ndr_reduce_chunks_for(size_t elements, size_t max_chunks)
{
    enum { MIN_CHUNK = 1 << 14, MAX_CHUNK = 1 << 18, PREFERRED_COUNT = 128 };
    const size_t share = clamp(ndr_ceil_div(elements, PREFERRED_COUNT), MIN_CHUNK, MAX_CHUNK);
    const size_t chunk = ndr_max_size(share, ndr_ceil_div(elements, max_chunks));
    return (ndr_reduce_chunks){ chunk, ndr_max_size(ndr_ceil_div(elements, chunk), 1) };
}

/* Enough groups for the largest device, but not more than there is work for. */
ndr_reduce_groups ndr_reduce_groups_for(const ndr_caps *caps, size_t elements)
{
    enum { PREFERRED_GROUP = 256, ELEMENTS_PER_ITEM = 8, MAX_GROUPS = 512 };
    const size_t limit = ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]);
    const size_t size = ndr_min_size(PREFERRED_GROUP, limit);
    const size_t wanted = ndr_ceil_div(elements ? elements : 1, size * ELEMENTS_PER_ITEM);
    return (ndr_reduce_groups){ size, ndr_min_size(wanted, MAX_GROUPS) };
}
