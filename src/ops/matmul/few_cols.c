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

static const char *cannot(const ndr_op_case *of)
{
    const ndr_matmul_request *r = of->request;
    const char *const unusual = ndr_matmul_is_unusual(of);
    if (unusual) return unusual;
    return r->c.cols <= NDR_FEW ? NULL : "c has more than 8 columns";
}

static const char *unsuited(const ndr_op_case *of)
{
    if (of->caps->info.type != NDR_DEVICE_TYPE_GPU) return "the device is no GPU";
    return 5 * count_groups(of->request) >= of->caps->info.compute_units ? NULL : "c has too few rows";
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = of->request;
    const size_t products = ndr_matmul_first_count(r), bytes = ndr_dtype_size(r->dtype);
    const unsigned run = ndr_matmul_run_of(r, &r->a), cols = ndr_matmul_round_few(r->c.cols);
    const size_t tile_bytes = cols * (size_t)16 * (SIDE * SLICES * STEPS + 1);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_2d(products, count_groups(r) / products * ITEMS, 1, ITEMS),
                           .local_bytes = ndr_max_size(tile_bytes, ROWS * ITEMS * bytes) };
    snprintf(plan->options, sizeof plan->options,
             "-DT=%s -DRUN=%u -DCOLS=%u -DROWS=%d -DSTEPS=%u -DTEAMS=%d -DSLICES=%d",
             ndr_dtype_describe(r->dtype)->cl_name, run, cols, ROWS, STEPS * 16 / (unsigned)bytes / run, TEAMS, SLICES);
}

NDR_OP_VARIANT(matmul, few_cols, "gemm_few_cols", NDR_NEEDS_LARGE_GROUPS, .cannot = cannot, .unsuited = unsuited,
               .plan = plan, .launch = ndr_matmul_launch_kernel);
