/* tuning.c - every size the bundled kernels run with, and why. */
#include "ops/ops.h"

ndr_reduce_tuning ndr_tune_reduce(const ndr_device_info *device, size_t count)
{
    enum { FAVOURITE_GROUP = 256, ITEM_TAKES = 8, MOST_GROUPS = 512 };
    const size_t limit = ndr_min_size(device->max_group_size, device->max_local_size[2]);
    const size_t group_size = ndr_min_size(FAVOURITE_GROUP, limit);
    const size_t wanted = ndr_ceil_div(count ? count : 1, group_size * ITEM_TAKES);
    return (ndr_reduce_tuning){ .group_size = group_size, .group_count = ndr_min_size(wanted, MOST_GROUPS) };
}

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
