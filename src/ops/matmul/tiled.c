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
    { 16, 16, 16, 4, 4 },
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

/* ---- launches ---- */

/* Iterations of an item for a step of TILE_K along the depth: it has a loop of loads for each of the two tiles, and one
 * over the depth of the tiles, in which the loops over its elements are unrolled. A loop of n counts n + 1. */
static size_t turns_of_step(const sizes *s)
{
    const size_t items = group_rows(s) * group_cols(s), tile_k = s->tile_k;
    const size_t loads = ndr_ceil_div(s->tile_m * tile_k, items) + ndr_ceil_div(s->tile_n * tile_k, items);
    return loads + 2 + tile_k + 1 + 1;
}

/* Of one launch: the fault loops_end_early ends deeper ones. */
static size_t deepest(const ndr_caps *caps, const ndr_matmul_request *r)
{
    const sizes *s = sizes_for(caps, ndr_matmul_result_bytes(r));
    const size_t steps = ndr_quirk_turns(caps->quirks) / turns_of_step(s);
    return ndr_min_size(steps, SIZE_MAX / s->tile_k) * s->tile_k;
}

/* Sums of parts of the depth are added up in c, which must hold them as they are. */
static bool keeps_sums(const ndr_matmul_request *r)
{
    return !r->epilogue && ndr_dtype_size(ndr_matmul_output(r)) == ndr_matmul_result_bytes(r);
}

static ndr_status launch_depths(ndr_op_job *job, const ndr_matmul_request *r)
{
    const size_t most = deepest(job->of.caps, r);
    ndr_matmul_request part = *r;
    size_t left = r->depth;
    do {
        part.depth = ndr_min_size(left, most);
        NDR_TRY(ndr_matmul_launch_in_place(job, &part, NULL, 0));
        left -= part.depth;
        part.beta = 1;
        part.a.offset += part.depth * (r->transposes_a ? r->a.pitch : 1);
        part.b.offset += part.depth * (r->transposes_b ? 1 : r->b.pitch);
    } while (left > 0);
    return NDR_OK;
}

static ndr_status launch(ndr_op_job *job)
{
    const ndr_matmul_request *r = job->of.request;
    const size_t most = deepest(job->of.caps, r);
    if (r->depth > most && !keeps_sums(r))
        return ndr_fail(NDR_LIMIT_EXCEEDED,
                        "ndr_matmul: the depth is %zu, but the driver of device \"%s\" ends loops early (the fault "
                        "loops_end_early); use at most %zu, or results of 32 bits or more without an epilogue",
                        r->depth, job->of.caps->info.name, most);
    return ndr_matmul_launch_parts(job, ndr_matmul_first_count(r), launch_depths);
}

NDR_OP_VARIANT(matmul, tiled, "gemm_tiled", 0, .write = ndr_matmul_write, .plan = plan, .launch = launch);
