/* packed.c - the product on CPUs for large matrices: copies b to panels, then multiplies blocks of rows of a with
 * them. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

typedef struct sizes {
    size_t depth, block_rows, workers; /* of a block of a: columns, rows; groups that process the blocks */
    size_t panels;
} sizes;

/* The rows that are multiplied at a time fit 7/8 of the first cache. A block of a fits 3/4 of the second one, and local
 * memory, and there is at least one for each compute unit. */
static sizes sizes_for(const ndr_caps *caps, const ndr_matmul_request *request)
{
    enum { MAX_DEPTH = 640, MAX_BLOCK_ROWS = 128 };
    const size_t bytes = ndr_dtype_size(request->dtype), m = request->c.rows, units = caps->info.compute_units;
    const size_t room = ndr_min_size(caps->info.local_memory_bytes, request->core.second_cache_bytes / 4 * 3);
    const ndr_matmul_block block = ndr_matmul_choose_block(request);
    const size_t fitting = request->core.first_cache_bytes / 8 * 7 / (block.rows * bytes);
    sizes s = { .depth = ndr_min_size(MAX_DEPTH, fitting) / 8 * 8, /* a multiple of 8 */
                .block_rows = MAX_BLOCK_ROWS,
                .workers = 2 * units,
                .panels = ndr_ceil_div(request->c.cols, ndr_matmul_block_cols(block)) };
    while (s.block_rows > block.rows && (s.block_rows * s.depth * bytes > room || m / s.block_rows < units))
        s.block_rows /= 2;
    while (s.depth > 8 && s.depth * s.block_rows * bytes > room) s.depth = s.depth / 16 * 8;
    return s;
}

/* The head and the panels; SIZE_MAX if that overflows. */
static size_t workspace_bytes(const sizes *s, const ndr_matmul_request *request)
{
    size_t bytes;
    const size_t cols = s->panels * ndr_matmul_block_cols(ndr_matmul_choose_block(request));
    const bool fits = ndr_mul_fits(cols, request->b.rows, &bytes)
                      && ndr_mul_fits(bytes, request->b.element_bytes, &bytes)
                      && ndr_add_fits(bytes, NDR_WORKSPACE_HEAD_BYTES, &bytes);
    return fits ? bytes : SIZE_MAX;
}

static const char *cannot(const void *request)
{
    return ((const ndr_matmul_request *)request)->depth ? NULL : "there are no columns of a to multiply";
}

/* Copying pays off only if b exceeds half of a core's second cache, and with enough rows for each core to reuse the
 * copy. */
static const char *unsuited(const ndr_caps *caps, const void *request)
{
    enum { ABOVE_ROWS = 32, ABOVE_ROWS_EACH = 16 };
    const ndr_matmul_request *r = request;
    const char *reason = ndr_op_lacks_vectors(caps, r);
    if (reason) return reason;
    const size_t above_rows = ndr_max_size(ABOVE_ROWS, (size_t)ABOVE_ROWS_EACH * caps->info.compute_units);
    if (r->c.rows <= above_rows) return "c has too few rows for a copy of b";
    return ndr_matmul_b_bytes(r) > r->core.second_cache_bytes / 2 ? NULL : "b stays in the caches without a copy";
}

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = request;
    const sizes s = sizes_for(caps, r);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(s.workers, 1),
                           .local_bytes = s.block_rows * s.depth * ndr_dtype_size(r->dtype),
                           .workspace_bytes = workspace_bytes(&s, r) };
    snprintf(plan->options, sizeof plan->options, "%s -DDEPTH=%zu",
             ndr_matmul_print_block(caps, r, ndr_matmul_choose_block(r)).chars, s.depth);
}

static ndr_status pack(ndr_op_job *job, const ndr_matmul_request *r, ndr_kernel *kernel, const sizes *s)
{
    const ndr_operand *b = &r->b;
    return ndr_op_launch(
        job, kernel,
        ndr_nd_range_2d(ndr_ceil_div(b->rows, NDR_PACK_ROWS), ndr_ceil_div(s->panels, NDR_PACK_PANELS), 1, 1), b->cols,
        b->rows, b->buffer, b->offset, b->pitch, ndr_workspace_buffer(job->workspace));
}

static ndr_status multiply(ndr_op_job *job, const ndr_matmul_request *r, ndr_kernel *kernel, const sizes *s)
{
    const ndr_arg block = ndr_arg_local_(r->dtype, r->c.element_bytes, 1, s->block_rows * s->depth, 1, 1);
    return ndr_op_launch(job, kernel, job->plan.range, r->c.rows, r->c.cols, r->depth, ndr_matmul_scalar(r, r->alpha),
                         r->a.buffer, r->a.offset, r->a.pitch, ndr_workspace_buffer(job->workspace),
                         ndr_matmul_scalar(r, r->beta), r->c.buffer, r->c.offset, r->c.pitch, s->block_rows, block);
}

/* One product: the workspace has room for one copy of b. */
static ndr_status launch(ndr_op_job *job, const ndr_matmul_request *r, ndr_kernel *const *kernels)
{
    const sizes s = sizes_for(job->caps, r);
    NDR_TRY(pack(job, r, kernels[0], &s));
    return multiply(job, r, kernels[1], &s);
}

static ndr_status run(ndr_op_job *job)
{
    const ndr_matmul_request *r = job->request;
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, job->plan.workspace_bytes < SIZE_MAX,
                   "ndr_matmul: b is %zu x %zu: too large to copy", r->b.rows, r->b.cols);
    ndr_kernel *kernels[2];
    NDR_TRY(ndr_op_get_kernel(job, "gemm_pack_b", &kernels[0]));
    NDR_TRY(ndr_op_get_main_kernel(job, &kernels[1]));
    NDR_TRY(ndr_op_borrow(job));
    return ndr_matmul_run_parts(job, 1, launch, kernels);
}

const ndr_op_row ndr_matmul_packed = { .name = "packed",
                                       .file = "matmul/packed.cl",
                                       .kernel = "gemm_packed",
                                       .cannot = cannot,
                                       .unsuited = unsuited,
                                       .plan = plan,
                                       .run = run };
