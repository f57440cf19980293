/* packed.c - the product on CPUs for large matrices: copies b to panels, then multiplies blocks of rows of a with
 * them. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

typedef struct sizes {
    size_t depth, block_rows, workers; /* of a block of a: columns, rows; groups that process the blocks */
    size_t panels;
    size_t kept; /* elements behind the panels, of results between passes along the depth */
} sizes;

/* Whether c itself holds the results between passes, as STORES_SUMS in kernels/matmul/blocks.clh. */
static bool stores_sums(const ndr_matmul_request *r)
{
    const ndr_dtype output = ndr_matmul_output(r);
    return output == (r->dtype == NDR_DTYPE_F64 ? NDR_DTYPE_F64 : NDR_DTYPE_F32) && !ndr_matmul_is_integer(r)
           && !r->part && !r->epilogue;
}

/* The rows that are multiplied at a time fit 7/8 of the first cache. A block of a fits 3/4 of the second one, and local
 * memory, and there is at least one for each compute unit. */
static sizes sizes_for(const ndr_caps *caps, const ndr_matmul_request *request)
{
    enum { MAX_DEPTH = 640, MAX_BLOCK_ROWS = 128 };
    const size_t bytes = ndr_matmul_result_bytes(request), m = request->c.rows, units = caps->info.compute_units;
    const size_t room = ndr_min_size(caps->info.local_memory_bytes, request->core.second_cache_bytes / 4 * 3);
    const ndr_matmul_block block = ndr_matmul_choose_block(request);
    const size_t fitting = request->core.first_cache_bytes / 8 * 7 / (block.rows * bytes);
    const size_t deepest = ndr_min_size(MAX_DEPTH, ndr_matmul_exact_depth(request));
    sizes s = { .depth = ndr_min_size(deepest, fitting) / 8 * 8, /* a multiple of 8 */
                .block_rows = MAX_BLOCK_ROWS,
                .workers = 2 * units,
                .panels = ndr_ceil_div(request->c.cols, ndr_matmul_block_cols(block)) };
    while (s.block_rows > block.rows && (s.block_rows * s.depth * bytes > room || m / s.block_rows < units))
        s.block_rows /= 2;
    while (s.depth > 8 && s.depth * s.block_rows * bytes > room) s.depth = s.depth / 16 * 8;
    if (request->depth > s.depth && !stores_sums(request))
        s.kept = s.workers * s.block_rows * s.panels * ndr_matmul_block_cols(block);
    return s;
}

/* The head, the panels and what is kept; SIZE_MAX if that overflows. */
static size_t workspace_bytes(const sizes *s, const ndr_matmul_request *request)
{
    size_t bytes;
    const size_t cols = s->panels * ndr_matmul_block_cols(ndr_matmul_choose_block(request));
    const bool fits = ndr_mul_fits(cols, request->depth, &bytes) && ndr_add_fits(bytes, s->kept, &bytes)
                      && ndr_mul_fits(bytes, ndr_matmul_result_bytes(request), &bytes)
                      && ndr_add_fits(bytes, NDR_WORKSPACE_HEAD_BYTES, &bytes);
    return fits ? bytes : SIZE_MAX;
}

static const char *cannot(const ndr_op_case *of)
{
    return ((const ndr_matmul_request *)of->request)->depth ? NULL : "there are no columns of a to multiply";
}

extern const ndr_op_variant ndr_matmul_direct;

/* Copying pays off only if b exceeds half of a core's second cache, and with enough rows for each core to reuse the
 * copy. */
static const char *unsuited(const ndr_op_case *of)
{
    enum { ABOVE_ROWS = 32, ABOVE_ROWS_EACH = 16 };
    const ndr_matmul_request *r = of->request;
    const char *reason = ndr_op_lacks_vectors(of);
    if (reason || ndr_op_cannot(&ndr_matmul_direct, r) || ndr_op_unsuited(&ndr_matmul_direct, of->caps, r))
        return reason;
    const size_t above_rows = ndr_max_size(ABOVE_ROWS, (size_t)ABOVE_ROWS_EACH * of->caps->info.compute_units);
    if (r->c.rows <= above_rows) return "c has too few rows for a copy of b";
    return ndr_matmul_b_bytes(r) > r->core.second_cache_bytes / 2 ? NULL : "b stays in the caches without a copy";
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = of->request;
    const sizes s = sizes_for(of->caps, r);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(s.workers, 1),
                           .local_bytes = s.block_rows * s.depth * ndr_matmul_result_bytes(r),
                           .workspace_bytes = workspace_bytes(&s, r) };
    snprintf(plan->options, sizeof plan->options, "%s -DDEPTH=%zu",
             ndr_matmul_print_block(of->caps, r, ndr_matmul_choose_block(r)).chars, s.depth);
}

/* One product: the workspace has room for one copy of b. */
static ndr_status launch_product(ndr_op_job *job, const ndr_matmul_request *r)
{
    const sizes s = sizes_for(job->of.caps, r);
    const size_t rows = r->transposes_b ? NDR_PACK_LENGTH : NDR_PACK_ROWS;
    const size_t panels = r->transposes_b ? 1 : NDR_PACK_PANELS;
    const size_t kept_at = s.panels * ndr_matmul_block_cols(ndr_matmul_choose_block(r)) * r->depth;
    const ndr_arg workspace = ndr_op_workspace_arg(job);
    const ndr_arg block = ndr_arg_local_(NDR_DTYPE_NONE, ndr_matmul_result_bytes(r), 1, s.block_rows * s.depth, 1, 1);
    const ndr_nd_range parts = ndr_nd_range_2d(ndr_ceil_div(r->depth, rows), ndr_ceil_div(s.panels, panels), 1, 1);
    const ndr_arg pack[] = { ndr_arg_of(r->c.cols),   ndr_arg_of(r->depth),   ndr_arg_of(r->b.buffer),
                             ndr_arg_of(r->b.offset), ndr_arg_of(r->b.pitch), workspace };
    const ndr_arg multiply[] = { ndr_arg_of(r->c.rows),
                                 ndr_arg_of(r->c.cols),
                                 ndr_arg_of(r->depth),
                                 ndr_matmul_scalar(r, r->alpha),
                                 ndr_arg_of(r->a.buffer),
                                 ndr_arg_of(r->a.offset),
                                 ndr_arg_of(r->a.pitch),
                                 workspace,
                                 ndr_matmul_scalar(r, r->beta),
                                 ndr_arg_of(r->c.buffer),
                                 ndr_arg_of(r->c.offset),
                                 ndr_arg_of(r->c.pitch),
                                 ndr_arg_of(s.block_rows),
                                 ndr_arg_of(kept_at),
                                 block };
    ndr_matmul_request of_b = *r; /* an epilogue is not for copies */
    of_b.epilogue = NULL;
    NDR_TRY(ndr_matmul_launch_with(job, job->others[0], &parts, &of_b, pack, NDR_COUNT_OF(pack)));
    return ndr_matmul_launch_with(job, job->kernel, &job->plan.range, r, multiply, NDR_COUNT_OF(multiply));
}

static ndr_status launch(ndr_op_job *job) { return ndr_matmul_launch_parts(job, 1, launch_product); }

NDR_OP_VARIANT(matmul, packed, "gemm_packed", 0, .others = { "gemm_pack_b" }, .cannot = cannot, .unsuited = unsuited,
               .write = ndr_matmul_write, .plan = plan, .launch = launch);
