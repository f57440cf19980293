/* chunk_sizes.c - how a reduction divides its elements into chunks and groups. */
#include "ops/reduce/reduce.h"

/* Of the atomic method: they combine into one cell, one after the other. */
enum { MAX_ATOMICS = 1 << 11 };

static size_t clamp(size_t value, size_t lowest, size_t highest)
{
    return ndr_max_size(lowest, ndr_min_size(value, highest));
}

/* A chunk is long enough to amortise a group (about 5 ns) and a partial. It is short enough to limit the rounding
 * error of its sum and to occupy all cores. In between there are about 128 chunks. */
ndr_reduce_chunks ndr_reduce_chunks_for(const ndr_reduce_request *request)
{
    enum { MIN_CHUNK = 1 << 14, MAX_CHUNK = 1 << 18, PREFERRED_COUNT = 128 };
    enum { MAX_PARTIALS = 1 << 16 /* half a MiB at most */ };
    const size_t elements = request->input.cols;
    const size_t max_chunks = request->method == NDR_REDUCE_ATOMIC ? MAX_ATOMICS : MAX_PARTIALS;
    const size_t share = clamp(ndr_ceil_div(elements, PREFERRED_COUNT), MIN_CHUNK, MAX_CHUNK);
    const size_t chunk = ndr_max_size(share, ndr_ceil_div(elements, max_chunks));
    return (ndr_reduce_chunks){ chunk, ndr_max_size(ndr_ceil_div(elements, chunk), 1) };
}

/* One wave of groups keeps the memory of the largest GPUs busy. All groups take about the same number of tiles. Where
 * those are many, there are more waves: a group that is slower than others then delays the end less. */
ndr_reduce_groups ndr_reduce_groups_for(const ndr_caps *caps, const ndr_reduce_request *request)
{
    enum { PREFERRED_GROUP = 256, ITEMS_OF_A_WAVE = 792 * PREFERRED_GROUP };
    enum { MAX_PARTIALS = 1 << 12 };
    const size_t limit = ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]);
    size_t size = PREFERRED_GROUP;
    while (size > limit) size /= 2;
    const size_t tile = size * NDR_TILE_VECTORS * (NDR_TILE_VECTOR_BYTES / ndr_dtype_size(request->dtype));
    const size_t tiles = ndr_max_size(ndr_ceil_div(request->input.cols, tile), 1);
    const size_t most = request->method == NDR_REDUCE_ATOMIC ? MAX_ATOMICS : MAX_PARTIALS;
    const size_t wave = ndr_min_size(ITEMS_OF_A_WAVE / size, most);
    const size_t waves = clamp(ndr_ceil_div(tiles, wave * NDR_TILE_ROW), 1, most / wave);
    const size_t tiles_each = ndr_ceil_div(tiles, wave * waves);
    return (ndr_reduce_groups){ size, ndr_ceil_div(tiles, tiles_each) };
}
