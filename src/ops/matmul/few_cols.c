/* few_cols.c - the product on GPUs for few columns: each group computes some rows of c and reads those of a once. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

/* As in kernels/matmul/few_cols.cl. */
enum { SIDE = 8, ROWS = 4, TEAMS = 4, SLICES = 4, STEPS = 4 /* of 16 bytes */ };
enum { ITEMS = SIDE * TEAMS * SLICES, GROUP_ROWS = ROWS * TEAMS };

static size_t count_groups(const ndr_matmul_request *r)
{
    return ndr_ceil_div(r->c.rows, GROUP_ROWS) * ndr_matmul_first_count(r);
}

static const char *cannot(const void *request)
{
    const ndr_matmul_request *r = request;
    return r->c.cols <= NDR_FEW ? NULL : "c has more than 8 columns";
}

static const char *unsuited(const ndr_caps *caps, const void *request)
{
    if (caps->info.type != NDR_DEVICE_TYPE_GPU) return "the device is no GPU";
    return 5 * count_groups(request) >= caps->info.compute_units ? NULL : "c has too few rows";
}

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    (void)caps;
    const ndr_matmul_request *r = request;
    const size_t products = ndr_matmul_first_count(r), bytes = ndr_dtype_size(r->dtype);
    const unsigned run = ndr_matmul_run_of(r, &r->a), cols = ndr_matmul_round_few(r->c.cols);
    const size_t tile_bytes = cols * (size_t)16 * (SIDE * SLICES * STEPS + 1);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_2d(products, count_groups(r) / products * ITEMS, 1, ITEMS),
                           .local_bytes = ndr_max_size(tile_bytes, ROWS * ITEMS * bytes) };
    snprintf(plan->options, sizeof plan->options,
             "-DT=%s -DRUN=%u -DCOLS=%u -DROWS=%d -DSTEPS=%u -DTEAMS=%d -DSLICES=%d",
             ndr_dtype_describe(r->dtype)->cl_name, run, cols, ROWS, STEPS * 16 / (unsigned)bytes / run, TEAMS, SLICES);
}

const ndr_op_row ndr_matmul_few_cols = { .name = "few_cols",
                                         .file = "matmul/few_cols.cl",
                                         .kernel = "gemm_few_cols",
                                         .needs = NDR_NEEDS_LARGE_GROUPS,
                                         .cannot = cannot,
                                         .unsuited = unsuited,
                                         .plan = plan,
                                         .run = ndr_matmul_run_kernel };
