/* tiled.c - the product by groups of many items: one group for each tile of c, through local memory. It takes every
 * product. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

typedef struct sizes {
    unsigned tile_m, tile_n, tile_k, item_m, item_n;
} sizes;

/* Largest first. The last one fits any device that OpenCL 1.2 allows (32 KiB of local memory, groups of one). */
static const sizes all_sizes[] = {
    { 64, 64, 16, 4, 4 },
    { 32, 32, 16, 4, 4 },
    { 8, 8, 8, 8, 8 },
};

static size_t group_rows(const sizes *s) { return s->tile_m / s->item_m; }
static size_t group_cols(const sizes *s) { return s->tile_n / s->item_n; }
static size_t tile_bytes(const sizes *s, size_t element_bytes)
{
    return (size_t)s->tile_k * (s->tile_m + s->tile_n) * element_bytes;
}

static bool fits(const sizes *s, const ndr_device_info *device, size_t element_bytes)
{
    const size_t rows = group_rows(s), cols = group_cols(s);
    return tile_bytes(s, element_bytes) <= device->local_memory_bytes && rows * cols <= device->max_group_size
           && cols <= device->max_local_size[2] && rows <= device->max_local_size[1];
}

static const sizes *sizes_for(const ndr_caps *caps, size_t element_bytes)
{
    const sizes *s = all_sizes, *last = all_sizes + NDR_COUNT_OF(all_sizes) - 1;
    while (s < last && !fits(s, &caps->info, element_bytes)) ++s;
    return s;
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = of->request;
    const size_t element_bytes = ndr_matmul_result_bytes(r);
    const sizes *s = sizes_for(of->caps, element_bytes);
    const size_t rows = group_rows(s), cols = group_cols(s);
    *plan =
        (ndr_op_plan){ .range = ndr_nd_range_3d(ndr_matmul_first_count(r), ndr_ceil_div(r->c.rows, s->tile_m) * rows,
                                                ndr_ceil_div(r->c.cols, s->tile_n) * cols, 1, rows, cols),
                       .local_bytes = tile_bytes(s, element_bytes) };
    snprintf(plan->options, sizeof plan->options,
             "-DT=%s -DTILE_M=%u -DTILE_N=%u -DTILE_K=%u -DITEM_M=%u -DITEM_N=%u%s", ndr_matmul_result_type(r),
             s->tile_m, s->tile_n, s->tile_k, s->item_m, s->item_n, ndr_matmul_print_elements(r).chars);
}

NDR_OP_VARIANT(matmul, tiled, "gemm_tiled", 0, .write = ndr_matmul_write, .plan = plan,
               .launch = ndr_matmul_launch_kernel);
