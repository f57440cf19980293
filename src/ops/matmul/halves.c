/* halves.c - the product of f32 by a GPU's matrix units for half: two parts of each element, which a first kernel makes and
 * checks. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

enum { TILE_M = 128, GROUP = 384 }; /* as in kernels/matmul/wgmma.clh */

typedef struct sizes {
    unsigned tile_n, stages; /* as in kernels/matmul/halves.cl */
    size_t tiles_m, tiles_n, stretches;
} sizes;

extern const ndr_op_row ndr_matmul_split, ndr_matmul_blocked;

/* The units compute tiles in rounds. One of 64 columns takes 0.56 to 0.6 of the time of one of 128. */
static sizes sizes_for(const ndr_caps *caps, const ndr_matmul_request *r)
{
    const size_t units = ndr_max_size(1, caps->info.compute_units), tiles_m = ndr_ceil_div(r->c.rows, TILE_M);
    const size_t wide = tiles_m * ndr_ceil_div(r->c.cols, 128), narrow = tiles_m * ndr_ceil_div(r->c.cols, 64);
    const unsigned cols = 60 * ndr_ceil_div(narrow, units) < 100 * ndr_ceil_div(wide, units) ? 64 : 128;
    return (sizes){ .tile_n = cols,
                    .stages = cols == 64 ? 4 : 3,
                    .tiles_m = tiles_m,
                    .tiles_n = ndr_ceil_div(r->c.cols, cols),
                    .stretches = ndr_ceil_div(r->depth, NDR_SPLIT_SLABS(2) * NDR_SPLIT_DEPTH) };
}

/* Lines of a and b, with padding. */
static size_t count_lines(const sizes *s) { return s->tiles_m * TILE_M + s->tiles_n * s->tile_n; }

static size_t workspace_bytes(const sizes *s)
{
    return NDR_WORKSPACE_HEAD_BYTES + s->stretches * NDR_SPLIT_LINE_BYTES(2) * count_lines(s);
}

static const char *cannot(const void *request)
{
    enum { MIN_DEPTH = 128 };
    const ndr_matmul_request *r = request;
    if (r->depth < MIN_DEPTH) return "its error is shown to be within the bound only from a depth of 128 on";
    return ndr_matmul_split.cannot(request);
}

/* `split`, whose parts need more memory, tells whether c is large enough. */
static const char *unsuited(const ndr_caps *caps, const void *request)
{
    static const double min_work = 7e8;
    const ndr_matmul_request *r = request;
    if ((double)r->c.rows * (double)r->c.cols * (double)r->depth < min_work)
        return "c or the depth is too small to pay for splitting a and b";
    return ndr_matmul_split.unsuited(caps, request);
}

static ndr_nd_range multiply_range(const ndr_caps *caps, const sizes *s)
{
    const size_t groups = ndr_min_size(s->tiles_m * s->tiles_n, ndr_max_size(1, caps->info.compute_units));
    return ndr_nd_range_1d(groups * GROUP, GROUP);
}

/* Of a group that multiplies in three parts: kernels/matmul/three_parts.clh. */
static size_t three_parts_bytes(const sizes *s)
{
    enum { STAGES = 4, FETCHES = 4, SLAB = 32, MARKS = 10 };
    const size_t stage = (size_t)3 * SLAB * s->tile_n * 2,
                 fetched = SLAB * (TILE_M + (size_t)s->tile_n) * sizeof(float);
    return STAGES * (stage + 2 * sizeof(uint64_t)) + FETCHES * fetched + MARKS * sizeof(uint32_t) + 1024;
}

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    const sizes s = sizes_for(caps, request);
    const size_t stage_bytes = (size_t)NDR_SPLIT_LINE_BYTES(2) * (TILE_M + s.tile_n);
    const size_t bytes = s.stages * (ndr_ceil_div(stage_bytes, 1024) * 1024 + 2 * sizeof(uint64_t)) + 1024;
    *plan = (ndr_op_plan){ .range = multiply_range(caps, &s),
                           .local_bytes = ndr_max_size(bytes, three_parts_bytes(&s)),
                           .workspace_bytes = workspace_bytes(&s) };
    snprintf(plan->options, sizeof plan->options, "-DTILE_N=%u -DSTAGES=%u -DNDR_PTX_TARGET=sm_90a", s.tile_n,
             s.stages);
}

/* ---- launches ---- */

/* One product: the workspace has room for its parts. */
static ndr_status launch(ndr_op_job *job, const ndr_matmul_request *r, ndr_kernel *const *kernels)
{
    enum { ITEMS = 4 * NDR_SPLIT_CHUNK };
    const sizes s = sizes_for(job->caps, r);
    const size_t chunks = count_lines(&s) / NDR_SPLIT_CHUNK * s.stretches;
    const unsigned number = ndr_workspace_take_number(job->workspace);
    ndr_buffer *workspace = ndr_workspace_buffer(job->workspace);
    NDR_TRY(ndr_op_launch(job, kernels[0], ndr_nd_range_1d(chunks * ITEMS, ITEMS), r->c.rows, r->c.cols, r->depth,
                          ndr_operand_arg(&r->a), r->a.offset, r->a.pitch, ndr_operand_arg(&r->b), r->b.offset,
                          r->b.pitch, workspace, number));
    return ndr_op_launch(job, kernels[1], multiply_range(job->caps, &s), r->c.rows, r->c.cols, r->depth,
                         ndr_matmul_scalar(r, r->alpha), ndr_operand_arg(&r->a), r->a.offset, r->a.pitch,
                         ndr_operand_arg(&r->b), r->b.offset, r->b.pitch, ndr_matmul_scalar(r, r->beta), r->c.buffer,
                         r->c.offset, r->c.pitch, workspace, number);
}

/* Without memory for the parts, the row that needs none multiplies: cannot() refuses what that cannot take. */
static ndr_status run(ndr_op_job *job)
{
    ndr_kernel *kernels[2];
    NDR_TRY(ndr_op_get_kernel(job, "gemm_halves_parts", &kernels[0]));
    NDR_TRY(ndr_op_get_kernel(job, job->row->kernel, &kernels[1]));
    if (ndr_op_borrow(job) == NDR_OK) return ndr_matmul_run_parts(job, 1, launch, kernels);
    ndr_log(NDR_LOG_INFO, "op.row", "matmul: blocked instead of %s: %s", job->row->name, ndr_last_error());
    return ndr_op_run_row(&ndr_matmul_blocked, job->order, job->request, job->keeps_events ? &job->event : NULL);
}

const ndr_op_row ndr_matmul_halves = { .name = "halves",
                                       .file = "matmul/halves.cl",
                                       .kernel = "gemm_halves",
                                       .needs = NDR_NEEDS_F16_MMA,
                                       .cannot = cannot,
                                       .unsuited = unsuited,
                                       .plan = plan,
                                       .run = run,
                                       .prove = ndr_matmul_prove };
