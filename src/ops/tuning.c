/* tuning.c - every size the bundled kernels run with, and why. */
#include "ops/ops.h"

/* Whether an item can make use of vector registers by itself, as on CPUs. Where a register holds several items, a kernel
 * written for one takes compilers minutes (llvmpipe). */
static bool has_vectors(const ndr_device_info *device)
{
    return device->type == NDR_DEVICE_TYPE_CPU && device->native_f32_width > 1;
}

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
 * spread over any number of cores; about 128 of them in between. */
static ndr_reduce_tuning tune_chunks(const ndr_device_info *device, ndr_reduce_method method, size_t count)
{
    enum { SHORTEST = 1 << 14, LONGEST = 1 << 18, FAVOURITE_COUNT = 128, MOST_ATOMICS = 2048 };
    /* As many partials as fit the scratch; fewer where they meet in one atomic, in one long row. */
    const size_t most = method == NDR_REDUCE_ATOMIC ? MOST_ATOMICS : NDR_SCRATCH_BYTES / sizeof(cl_ulong);
    const size_t share = clamp(ndr_ceil_div(count, FAVOURITE_COUNT), SHORTEST, LONGEST);
    const size_t chunk = ndr_max_size(share, ndr_ceil_div(count, most));
    return (ndr_reduce_tuning){ .variant = NDR_REDUCE_CHUNKS,
                                .group_size = 1,
                                .group_count = ndr_max_size(ndr_ceil_div(count, chunk), 1),
                                .chunk = chunk,
                                .fetches_ahead = device->type == NDR_DEVICE_TYPE_CPU };
}

ndr_reduce_tuning ndr_tune_reduce(const ndr_device_info *device, ndr_reduce_variant forced, ndr_reduce_method method,
                                  size_t count)
{
    const ndr_reduce_variant chosen = has_vectors(device) ? NDR_REDUCE_CHUNKS : NDR_REDUCE_GROUPS;
    return (forced ? forced : chosen) == NDR_REDUCE_CHUNKS ? tune_chunks(device, method, count)
                                                           : tune_groups(device, count);
}

/* ---- matrices ---- */

/* Largest first; the last one fits any device OpenCL 1.2 allows (32 KiB of local memory, groups of one). */
static const ndr_gemm_tuning gemm_tunings[] = {
    { .tile_m = 64, .tile_n = 64, .tile_k = 16, .item_m = 4, .item_n = 4 },
    { .tile_m = 32, .tile_n = 32, .tile_k = 16, .item_m = 4, .item_n = 4 },
    { .tile_m = 8, .tile_n = 8, .tile_k = 8, .item_m = 8, .item_n = 8 },
};

static bool tiles_fit(const ndr_gemm_tuning *t, const ndr_device_info *device, size_t element_bytes)
{
    const size_t tiles = (size_t)t->tile_k * (t->tile_m + t->tile_n) * element_bytes;
    const size_t rows = t->tile_m / t->item_m, cols = t->tile_n / t->item_n;
    return tiles <= device->local_memory_bytes && rows * cols <= device->max_group_size
           && cols <= device->max_local_size[2] && rows <= device->max_local_size[1];
}

static ndr_gemm_tuning tune_tiles(const ndr_device_info *device, size_t element_bytes)
{
    const size_t last = sizeof gemm_tunings / sizeof gemm_tunings[0] - 1;
    size_t i = 0;
    while (i < last && !tiles_fit(&gemm_tunings[i], device, element_bytes)) ++i;
    ndr_gemm_tuning tuning = gemm_tunings[i];
    tuning.variant = NDR_GEMM_TILED;
    return tuning;
}

/* Matrices that stay in the caches are read where they are; of larger ones the copy pays for itself, unless there are
 * too few rows to use it often. */
static ndr_gemm_variant choose_for_cpu(size_t element_bytes, size_t m, size_t n, size_t k)
{
    enum { THIN_FROM_BYTES = 1 << 18, PACKED_FROM_BYTES = 1 << 20 };
    size_t elements;
    const size_t b_bytes =
        ndr_mul_fits(n, k, &elements) && elements < SIZE_MAX / element_bytes ? elements * element_bytes : SIZE_MAX;
    if (m <= NDR_GEMM_MR && b_bytes >= THIN_FROM_BYTES) return NDR_GEMM_THIN;
    return k > 0 && m > 4 * NDR_GEMM_MR && b_bytes > PACKED_FROM_BYTES ? NDR_GEMM_PACKED : NDR_GEMM_DIRECT;
}

static size_t power_of_two_from(size_t value)
{
    size_t power = 1;
    while (power < value) power *= 2;
    return power;
}

static ndr_gemm_tuning tune_for_cpu(const ndr_device_info *device, ndr_gemm_variant variant, size_t element_bytes,
                                    size_t m)
{
    enum { REGISTER_BYTES = 64, DEPTH = 640, BLOCK_ROWS = 128 };
    ndr_gemm_tuning tuning = { .variant = variant,
                               .lanes = (unsigned)(REGISTER_BYTES / element_bytes),
                               .vectors = 3,
                               .depth = DEPTH,
                               .thin_rows = (unsigned)power_of_two_from(ndr_min_size(m, NDR_GEMM_MR)),
                               .workers = 2 * (size_t)device->compute_units,
                               .fetches_ahead = device->type == NDR_DEVICE_TYPE_CPU };
    /* Blocks fit local memory, and there is one for each worker at least. */
    size_t rows = BLOCK_ROWS;
    while (rows > NDR_GEMM_MR
           && (rows * DEPTH * element_bytes > device->local_memory_bytes || m / rows < device->compute_units))
        rows /= 2;
    while (tuning.depth > 8 && (size_t)tuning.depth * rows * element_bytes > device->local_memory_bytes)
        tuning.depth = tuning.depth / 16 * 8; /* stays a multiple of 8 */
    tuning.block_rows = rows;
    return tuning;
}

ndr_gemm_tuning ndr_tune_gemm(const ndr_device_info *device, ndr_gemm_variant forced, size_t element_bytes, size_t m,
                              size_t n, size_t k)
{
    ndr_gemm_variant variant = forced;
    if (variant == NDR_GEMM_CHOOSE)
        variant = has_vectors(device) ? choose_for_cpu(element_bytes, m, n, k) : NDR_GEMM_TILED;
    if ((variant == NDR_GEMM_THIN && m > NDR_GEMM_MR) || (variant == NDR_GEMM_PACKED && k == 0))
        variant = NDR_GEMM_DIRECT;
    return variant == NDR_GEMM_TILED ? tune_tiles(device, element_bytes)
                                     : tune_for_cpu(device, variant, element_bytes, m);
}
