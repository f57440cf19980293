/* split.c - the product of f32 by a GPU's matrix units: a and b are split into bfloat16 parts first. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

typedef struct sizes {
    unsigned tile_n, stages; /* as in kernels/matmul/split.cl */
    size_t tiles_m, tiles_n, slabs;
} sizes;

extern const ndr_op_row ndr_matmul_blocked;

/* The units compute tiles in rounds. One of 64 columns takes 0.55 of the time of one of 128. */
static sizes sizes_for(const ndr_caps *caps, const ndr_matmul_request *r)
{
    const size_t units = ndr_max_size(1, caps->info.compute_units), tiles_m = ndr_ceil_div(r->c.rows, NDR_SPLIT_ROWS);
    const size_t wide = tiles_m * ndr_ceil_div(r->c.cols, 128), narrow = tiles_m * ndr_ceil_div(r->c.cols, 64);
    const bool is_narrow = 55 * ndr_ceil_div(narrow, units) < 100 * ndr_ceil_div(wide, units);
    return (sizes){ .tile_n = is_narrow ? 64 : 128,
                    .stages = is_narrow ? 6 : 4,
                    .tiles_m = tiles_m,
                    .tiles_n = ndr_ceil_div(r->c.cols, is_narrow ? 64 : 128),
                    .slabs = ndr_ceil_div(r->depth, NDR_SPLIT_DEPTH) };
}

/* Lines of a and b, with padding. */
static size_t count_lines(const sizes *s) { return s->tiles_m * NDR_SPLIT_ROWS + s->tiles_n * s->tile_n; }

static size_t workspace_bytes(const sizes *s)
{
    return NDR_WORKSPACE_HEAD_BYTES + s->slabs * NDR_SPLIT_LINE_BYTES * count_lines(s);
}

static const char *cannot(const void *request)
{
    enum { MIN_DEPTH = 64 };
    const ndr_matmul_request *r = request;
    if (r->dtype != NDR_DTYPE_F32) return "the elements are not f32";
    return r->depth >= MIN_DEPTH ? NULL : "its error is shown to be within the bound only from a depth of 64 on";
}

static const char *unsuited(const ndr_caps *caps, const void *request)
{
    enum { MIN_WORK = 1 << 28, SHARE = 8 };
    const ndr_matmul_request *r = request;
    const sizes s = sizes_for(caps, r);
    const size_t bytes = workspace_bytes(&s);
    if (bytes > caps->info.max_buffer_bytes || bytes > caps->info.global_memory_bytes / SHARE)
        return "the parts of a and b need more than an eighth of the device's memory";
    const size_t tiles = ndr_ceil_div(r->c.rows, NDR_SPLIT_ROWS) * ndr_ceil_div(r->c.cols, 64);
    const double work = (double)r->c.rows * (double)r->c.cols * (double)r->depth;
    const bool pays = tiles >= caps->info.compute_units / 2 && work >= MIN_WORK;
    return pays ? NULL : "c or the depth is too small to pay for splitting a and b";
}

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    enum { ITEMS = 288 };
    const sizes s = sizes_for(caps, request);
    const size_t groups = ndr_min_size(s.tiles_m * s.tiles_n, ndr_max_size(1, caps->info.compute_units));
    const size_t stage_bytes = (size_t)NDR_SPLIT_LINE_BYTES * (NDR_SPLIT_ROWS + s.tile_n);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(groups * ITEMS, ITEMS),
                           .local_bytes = s.stages * (stage_bytes + 2 * sizeof(uint64_t)) + 1024,
                           .workspace_bytes = workspace_bytes(&s) };
    snprintf(plan->options, sizeof plan->options, "-DTILE_N=%u -DSTAGES=%u -DNDR_PTX_TARGET=sm_90a", s.tile_n,
             s.stages);
}

static ndr_status split(ndr_op_job *job, const ndr_matmul_request *r, ndr_kernel *kernel, unsigned number)
{
    enum { ITEMS = 4 * NDR_SPLIT_CHUNK };
    const sizes s = sizes_for(job->caps, r);
    const size_t groups = count_lines(&s) / NDR_SPLIT_CHUNK * s.slabs;
    return ndr_op_launch(job, kernel, ndr_nd_range_1d(groups * ITEMS, ITEMS), r->c.rows, r->c.cols, r->depth,
                         ndr_operand_arg(&r->a), r->a.offset, r->a.pitch, ndr_operand_arg(&r->b), r->b.offset,
                         r->b.pitch, ndr_workspace_buffer(job->workspace), number);
}

static ndr_status multiply(ndr_op_job *job, const ndr_matmul_request *r, ndr_kernel *kernel, unsigned number)
{
    return ndr_op_launch(job, kernel, job->plan.range, r->c.rows, r->c.cols, r->depth, ndr_matmul_scalar(r, r->alpha),
                         ndr_operand_arg(&r->a), r->a.offset, r->a.pitch, ndr_operand_arg(&r->b), r->b.offset,
                         r->b.pitch, ndr_matmul_scalar(r, r->beta), r->c.buffer, r->c.offset, r->c.pitch,
                         ndr_workspace_buffer(job->workspace), number);
}

/* One product: the workspace has room for its parts. */
static ndr_status launch(ndr_op_job *job, const ndr_matmul_request *r, ndr_kernel *const *kernels)
{
    const unsigned number = ndr_workspace_take_number(job->workspace);
    NDR_TRY(split(job, r, kernels[0], number));
    return multiply(job, r, kernels[1], number);
}

/* Without memory for the parts, the row that needs none multiplies. */
static ndr_status run(ndr_op_job *job)
{
    ndr_kernel *kernels[2];
    NDR_TRY(ndr_op_get_kernel(job, "gemm_split_parts", &kernels[0]));
    NDR_TRY(ndr_op_get_kernel(job, job->row->kernel, &kernels[1]));
    if (ndr_op_borrow(job) == NDR_OK) return ndr_matmul_run_parts(job, 1, launch, kernels);
    ndr_log(NDR_LOG_INFO, "op.row", "matmul: blocked instead of split: %s", ndr_last_error());
    return ndr_op_run_row(&ndr_matmul_blocked, job->order, job->request, job->keeps_events ? &job->event : NULL);
}

const ndr_op_row ndr_matmul_split = { .name = "split",
                                      .file = "matmul/split.cl",
                                      .kernel = "gemm_split",
                                      .needs = NDR_NEEDS_BF16_MMA,
                                      .cannot = cannot,
                                      .unsuited = unsuited,
                                      .plan = plan,
                                      .run = run,
                                      .prove = ndr_matmul_prove };
