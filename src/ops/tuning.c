/* tuning.c - every size the bundled kernels run with, and why. */
#include "ops/ops.h"

/* ---- reductions ---- */

static size_t clamp(size_t value, size_t lowest, size_t highest)
{
    return ndr_max_size(lowest, ndr_min_size(value, highest));
}

/* Groups of many items: enough of them for the largest device, no more than there is work for. */
static ndr_reduce_tuning tune_groups(const ndr_device_info *device, size_t count)
{
    enum { FAVOURITE_GROUP = 256, ITEM_TAKES = 8, MOST_GROUPS = 512 };
    const size_t limit = ndr_min_size(device->max_group_size, device->max_local_size[2]);
    const size_t group_size = ndr_min_size(FAVOURITE_GROUP, limit);
    const size_t wanted = ndr_ceil_div(count ? count : 1, group_size * ITEM_TAKES);
    return (ndr_reduce_tuning){ .variant = NDR_REDUCE_GROUPS,
                                .group_size = group_size,
                                .group_count = ndr_min_size(wanted, MOST_GROUPS) };
}

/* Chunks: long enough to be worth a group (some 5 ns) and a partial, short enough to keep a sum's rows short and to
 * spread over any number of cores; about 64 of them in between. */
static ndr_reduce_tuning tune_chunks(size_t count)
{
    enum { SHORTEST = 1 << 14, LONGEST = 1 << 18, FAVOURITE_COUNT = 64 };
    const size_t most = NDR_SCRATCH_BYTES / sizeof(cl_ulong); /* partials that fit */
    const size_t share = clamp(ndr_ceil_div(count, FAVOURITE_COUNT), SHORTEST, LONGEST);
    const size_t chunk = ndr_max_size(share, ndr_ceil_div(count, most));
    return (ndr_reduce_tuning){ .variant = NDR_REDUCE_CHUNKS,
                                .group_size = 1,
                                .group_count = ndr_max_size(ndr_ceil_div(count, chunk), 1),
                                .chunk = chunk };
}

ndr_reduce_tuning ndr_tune_reduce(const ndr_device_info *device, ndr_reduce_variant forced, size_t count)
{
    const ndr_reduce_variant chosen =
        device->type == NDR_DEVICE_TYPE_CPU ? NDR_REDUCE_CHUNKS : NDR_REDUCE_GROUPS;
    return (forced ? forced : chosen) == NDR_REDUCE_CHUNKS ? tune_chunks(count) : tune_groups(device, count);
}

/* ---- matrices ---- */

/* Largest first; the last one fits any device OpenCL 1.2 allows (32 KiB of local memory, groups of one). */
static const ndr_gemm_tuning gemm_tunings[] = {
    { .tile_m = 64, .tile_n = 64, .tile_k = 16, .item_m = 4, .item_n = 4 },
    { .tile_m = 32, .tile_n = 32, .tile_k = 16, .item_m = 4, .item_n = 4 },
    { .tile_m = 8, .tile_n = 8, .tile_k = 8, .item_m = 8, .item_n = 8 },
};

static bool fits(const ndr_gemm_tuning *t, const ndr_device_info *device, size_t element_bytes)
{
    const size_t tiles = (size_t)t->tile_k * (t->tile_m + t->tile_n) * element_bytes;
    const size_t rows = t->tile_m / t->item_m, cols = t->tile_n / t->item_n;
    return tiles <= device->local_memory_bytes && rows * cols <= device->max_group_size
           && cols <= device->max_local_size[2] && rows <= device->max_local_size[1];
}

ndr_gemm_tuning ndr_tune_gemm(const ndr_device_info *device, size_t element_bytes)
{
    const size_t last = sizeof gemm_tunings / sizeof gemm_tunings[0] - 1;
    size_t i = 0;
    while (i < last && !fits(&gemm_tunings[i], device, element_bytes)) ++i;
    return gemm_tunings[i];
}
