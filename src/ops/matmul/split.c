/* split.c - the product of f32 by a GPU's matrix units: a and b are split into parts first, three of bfloat16
 * (`split`) or one of half (`rounded`). */
#include "ops/matmul/matmul.h"

#include <stdio.h>

typedef struct sizes {
    unsigned parts, tile_n, stages; /* as in kernels/matmul/split.cl */
    size_t tiles_m, tiles_n, stretches;
} sizes;

extern const ndr_op_row ndr_matmul_blocked;

/* The units compute tiles in rounds. One of 64 columns takes 0.55 to 0.69 of the time of one of 128. */
static sizes sizes_for(const ndr_caps *caps, const ndr_matmul_request *r, unsigned parts)
{
    const size_t units = ndr_max_size(1, caps->info.compute_units), tiles_m = ndr_ceil_div(r->c.rows, NDR_SPLIT_ROWS);
    const size_t wide = tiles_m * ndr_ceil_div(r->c.cols, 128), narrow = tiles_m * ndr_ceil_div(r->c.cols, 64);
    const size_t percent = parts == 1 ? 60 : 55;
    const bool is_narrow = percent * ndr_ceil_div(narrow, units) < 100 * ndr_ceil_div(wide, units);
    return (sizes){ .parts = parts,
                    .tile_n = is_narrow ? 64 : 128,
                    .stages = is_narrow ? 6 : 4,
                    .tiles_m = tiles_m,
                    .tiles_n = ndr_ceil_div(r->c.cols, is_narrow ? 64 : 128),
                    .stretches = ndr_ceil_div(r->depth, NDR_SPLIT_DEPTH * NDR_SPLIT_SLABS(parts)) };
}

/* Lines of a and b, with padding. */
static size_t count_lines(const sizes *s) { return s->tiles_m * NDR_SPLIT_ROWS + s->tiles_n * s->tile_n; }

/* Groups of the first kernel. */
static size_t count_chunks(const sizes *s) { return count_lines(s) / NDR_SPLIT_CHUNK * s->stretches; }

static size_t workspace_bytes(const sizes *s)
{
    return NDR_WORKSPACE_HEAD_BYTES + s->stretches * NDR_SPLIT_LINE_BYTES(s->parts) * count_lines(s);
}

static const char *cannot(const void *request)
{
    enum { MIN_DEPTH = 64 };
    const ndr_matmul_request *r = request;
    if (r->dtype != NDR_DTYPE_F32) return "the elements are not f32";
    if (r->depth < MIN_DEPTH) return "its error is shown to be within the bound only from a depth of 64 on";
    return ndr_matmul_is_too_wide(r);
}

static const char *cannot_by_halves(const void *request)
{
    enum { MIN_DEPTH = 128 };
    const ndr_matmul_request *r = request;
    return r->depth >= MIN_DEPTH ? cannot(r) : "its error is shown to be within the bound only from a depth of 128 on";
}

static const char *cannot_by_one_half(const void *request)
{
    const ndr_matmul_request *r = request;
    return r->accuracy == NDR_ACCURACY_TF32 ? cannot_by_halves(r)
                                            : "it rounds elements, and no lower accuracy is asked";
}

static double work_of(const ndr_matmul_request *r) { return (double)r->c.rows * (double)r->c.cols * (double)r->depth; }

/* The parts need most room where there are three of them. */
static const char *unsuited(const ndr_caps *caps, const void *request)
{
    enum { MIN_WORK = 1 << 28, SHARE = 8 };
    const ndr_matmul_request *r = request;
    const sizes s = sizes_for(caps, r, 3);
    const size_t bytes = workspace_bytes(&s);
    if (bytes > caps->info.max_buffer_bytes || bytes > caps->info.global_memory_bytes / SHARE)
        return "the parts of a and b need more than an eighth of the device's memory";
    const size_t tiles = ndr_ceil_div(r->c.rows, NDR_SPLIT_ROWS) * ndr_ceil_div(r->c.cols, 64);
    const bool pays = tiles >= caps->info.compute_units / 2 && work_of(r) >= MIN_WORK;
    return pays ? NULL : "c or the depth is too small to pay for splitting a and b";
}

static const char *unsuited_to_one_half(const ndr_caps *caps, const void *request)
{
    static const double min_work = 1.1e9;
    if (work_of(request) < min_work) return "c or the depth is too small to pay for four launches";
    return unsuited(caps, request);
}

static ndr_nd_range multiply_range(const ndr_caps *caps, const sizes *s)
{
    const size_t items = s->parts < 3 ? 384 : 288;
    const size_t groups = ndr_min_size(s->tiles_m * s->tiles_n, ndr_max_size(1, caps->info.compute_units));
    return ndr_nd_range_1d(groups * items, items);
}

static void plan_parts(const ndr_caps *caps, const void *request, unsigned parts, ndr_op_plan *plan)
{
    const sizes s = sizes_for(caps, request, parts), most = sizes_for(caps, request, 3);
    const size_t stage_bytes = (size_t)NDR_SPLIT_LINE_BYTES(parts) * (NDR_SPLIT_ROWS + s.tile_n);
    *plan =
        (ndr_op_plan){ .range = multiply_range(caps, &s),
                       .local_bytes = s.stages * (ndr_ceil_div(stage_bytes, 1024) * 1024 + 2 * sizeof(uint64_t)) + 1024,
                       .workspace_bytes = ndr_max_size(workspace_bytes(&s), workspace_bytes(&most)) };
    snprintf(plan->options, sizeof plan->options, "-DPARTS=%u -DTILE_N=%u -DSTAGES=%u -DNDR_PTX_TARGET=sm_90a", parts,
             s.tile_n, s.stages);
}

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan) { plan_parts(caps, request, 3, plan); }

static void plan_one_half(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    plan_parts(caps, request, 1, plan);
}

/* ---- launches ---- */

typedef ndr_kernel *const *form; /* the two kernels of a number of parts */

static ndr_status multiply(ndr_op_job *job, const ndr_matmul_request *r, const sizes *s, form kernels, unsigned number)
{
    return ndr_op_launch(job, kernels[1], multiply_range(job->caps, s), r->c.rows, r->c.cols, r->depth,
                         ndr_matmul_scalar(r, r->alpha), ndr_operand_arg(&r->a), r->a.offset, r->a.pitch,
                         ndr_operand_arg(&r->b), r->b.offset, r->b.pitch, ndr_matmul_scalar(r, r->beta), r->c.buffer,
                         r->c.offset, r->c.pitch, ndr_workspace_buffer(job->workspace), number);
}

#define SPLIT_ITEMS (4 * NDR_SPLIT_CHUNK)
#define SPLIT_ARGS(r)                                                                            \
    (r)->c.rows, (r)->c.cols, (r)->depth, ndr_operand_arg(&(r)->a), (r)->a.offset, (r)->a.pitch, \
        ndr_operand_arg(&(r)->b), (r)->b.offset, (r)->b.pitch, ndr_workspace_buffer(job->workspace), number

static ndr_status launch_parts(ndr_op_job *job, const ndr_matmul_request *r, unsigned parts, form kernels,
                               unsigned number)
{
    const sizes s = sizes_for(job->caps, r, parts);
    const ndr_nd_range range = ndr_nd_range_1d(count_chunks(&s) * SPLIT_ITEMS, SPLIT_ITEMS);
    NDR_TRY(ndr_op_launch(job, kernels[0], range, SPLIT_ARGS(r)));
    return multiply(job, r, &s, kernels, number);
}

/* These kernels do nothing if halves sufficed. The fewer groups, the less time does that take. */
static ndr_status launch_again(ndr_op_job *job, const ndr_matmul_request *r, form kernels, unsigned number)
{
    enum { GROUPS = 8 }; /* of a unit */
    const sizes s = sizes_for(job->caps, r, 3);
    const size_t chunks = count_chunks(&s), most = GROUPS * ndr_max_size(1, job->caps->info.compute_units);
    const ndr_nd_range range = ndr_nd_range_1d(ndr_min_size(chunks, most) * SPLIT_ITEMS, SPLIT_ITEMS);
    NDR_TRY(ndr_op_launch(job, kernels[0], range, SPLIT_ARGS(r), (unsigned)chunks));
    return multiply(job, r, &s, kernels, number);
}

/* One product: the workspace has room for its parts. */
static ndr_status launch(ndr_op_job *job, const ndr_matmul_request *r, form kernels)
{
    return launch_parts(job, r, 3, kernels, ndr_workspace_take_number(job->workspace));
}

static ndr_status launch_one_half(ndr_op_job *job, const ndr_matmul_request *r, form kernels)
{
    const unsigned number = ndr_workspace_take_number(job->workspace);
    NDR_TRY(launch_parts(job, r, 1, kernels, number));
    return launch_again(job, r, kernels + 2, number);
}

static ndr_status get_form(ndr_op_job *job, unsigned parts, const char *first, ndr_kernel **kernels)
{
    plan_parts(job->caps, job->request, parts, &job->plan);
    NDR_TRY(ndr_op_get_kernel(job, first, &kernels[0]));
    return ndr_op_get_kernel(job, job->row->kernel, &kernels[1]);
}

/* Without memory for the parts, the row that needs none multiplies: cannot() refuses what that cannot take. */
static ndr_status run_parts(ndr_op_job *job, ndr_matmul_launch *launch_one, form kernels)
{
    if (ndr_op_borrow(job) == NDR_OK) return ndr_matmul_run_parts(job, 1, launch_one, kernels);
    ndr_log(NDR_LOG_INFO, "op.row", "matmul: blocked instead of %s: %s", job->row->name, ndr_last_error());
    return ndr_op_run_row(&ndr_matmul_blocked, job->order, job->request, job->keeps_events ? &job->event : NULL);
}

static ndr_status run(ndr_op_job *job)
{
    ndr_kernel *kernels[2];
    NDR_TRY(get_form(job, 3, "gemm_split_parts", kernels));
    return run_parts(job, launch, kernels);
}

static ndr_status run_one_half(ndr_op_job *job)
{
    ndr_kernel *kernels[4];
    NDR_TRY(get_form(job, 3, "gemm_split_parts_again", kernels + 2));
    NDR_TRY(get_form(job, 1, "gemm_split_parts", kernels));
    return run_parts(job, launch_one_half, kernels);
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

const ndr_op_row ndr_matmul_rounded = { .name = "rounded",
                                        .file = "matmul/split.cl",
                                        .kernel = "gemm_split",
                                        .needs = NDR_NEEDS_ROUNDED_MMA,
                                        .cannot = cannot_by_one_half,
                                        .unsuited = unsuited_to_one_half,
                                        .plan = plan_one_half,
                                        .run = run_one_half,
                                        .prove = ndr_matmul_prove };
