/* halves.c - the product of f32 by a GPU's matrix units for half: two parts of each element (`halves`), or one
 * (`rounded`), which a first kernel makes and checks. */
#include "ops/matmul/matmul.h"

extern const ndr_op_row ndr_matmul_split;

static const char *cannot(const void *request)
{
    enum { MIN_DEPTH = 128 };
    const ndr_matmul_request *r = request;
    if (r->depth < MIN_DEPTH) return "its error is shown to be within the bound only from a depth of 128 on";
    return ndr_matmul_split.cannot(request);
}

static const char *cannot_round(const void *request)
{
    const ndr_matmul_request *r = request;
    return r->accuracy == NDR_ACCURACY_TF32 ? cannot(r) : "it rounds elements, and no lower accuracy is asked";
}

/* `split`, whose parts need more memory, tells whether c is large enough. */
static const char *unsuited(const ndr_caps *caps, const void *request)
{
    static const double min_work = 7e8;
    if (ndr_matmul_work(request) < min_work) return "c or the depth is too small to pay for splitting a and b";
    return ndr_matmul_split.unsuited(caps, request);
}

static const char *unsuited_to_rounding(const ndr_caps *caps, const void *request)
{
    static const double min_work = 1.1e9;
    if (ndr_matmul_work(request) < min_work) return "c or the depth is too small to pay for rounding a and b";
    return ndr_matmul_split.unsuited(caps, request);
}

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    ndr_matmul_plan_split(caps, request, 2, plan);
}

static void plan_rounding(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    ndr_matmul_plan_split(caps, request, 1, plan);
}

static ndr_status launch(ndr_op_job *job, const ndr_matmul_request *part, ndr_kernel *const *kernels)
{
    return ndr_matmul_launch_split(job, part, 2, kernels);
}

static ndr_status launch_rounding(ndr_op_job *job, const ndr_matmul_request *part, ndr_kernel *const *kernels)
{
    return ndr_matmul_launch_split(job, part, 1, kernels);
}

static ndr_status run(ndr_op_job *job) { return ndr_matmul_run_split(job, "gemm_halves_parts", launch); }

static ndr_status run_rounding(ndr_op_job *job)
{
    return ndr_matmul_run_split(job, "gemm_halves_parts", launch_rounding);
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

const ndr_op_row ndr_matmul_rounded = { .name = "rounded",
                                        .file = "matmul/halves.cl",
                                        .kernel = "gemm_halves",
                                        .needs = NDR_NEEDS_ROUNDED_MMA,
                                        .cannot = cannot_round,
                                        .unsuited = unsuited_to_rounding,
                                        .plan = plan_rounding,
                                        .run = run_rounding,
                                        .prove = ndr_matmul_prove };
