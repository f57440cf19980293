/* split.c - the product of f32 by a GPU's matrix units for bfloat16: three parts of each element. */
#include "ops/matmul/matmul.h"

static const char *cannot(const void *request)
{
    enum { MIN_DEPTH = 64 };
    const ndr_matmul_request *r = request;
    if (r->dtype != NDR_DTYPE_F32) return "the elements are not f32";
    if (r->depth < MIN_DEPTH) return "its error is shown to be within the bound only from a depth of 64 on";
    return ndr_matmul_is_too_wide(r);
}

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    ndr_matmul_plan_split(caps, request, 3, plan);
}

static const char *unsuited(const ndr_caps *caps, const void *request)
{
    enum { MIN_WORK = 1 << 28, SHARE = 8 };
    const ndr_matmul_request *r = request;
    ndr_op_plan planned;
    plan(caps, r, &planned);
    const size_t bytes = planned.workspace_bytes;
    if (bytes > caps->info.max_buffer_bytes || bytes > caps->info.global_memory_bytes / SHARE)
        return "the parts of a and b need more than an eighth of the device's memory";
    const size_t tiles = ndr_ceil_div(r->c.rows, NDR_SPLIT_ROWS) * ndr_ceil_div(r->c.cols, 64);
    const bool pays = tiles >= caps->info.compute_units / 2 && ndr_matmul_work(r) >= MIN_WORK;
    return pays ? NULL : "c or the depth is too small to pay for splitting a and b";
}

static ndr_status launch(ndr_op_job *job, const ndr_matmul_request *part, ndr_kernel *const *kernels)
{
    return ndr_matmul_launch_split(job, part, 3, kernels);
}

static ndr_status run(ndr_op_job *job) { return ndr_matmul_run_split(job, "gemm_split_parts", launch); }

const ndr_op_row ndr_matmul_split = { .name = "split",
                                      .file = "matmul/split.cl",
                                      .kernel = "gemm_split",
                                      .needs = NDR_NEEDS_BF16_MMA,
                                      .cannot = cannot,
                                      .unsuited = unsuited,
                                      .plan = plan,
                                      .run = run,
                                      .prove = ndr_matmul_prove };
