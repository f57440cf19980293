/* few_rows.c - the product on GPUs for few rows: each group computes a strip of c and reads that strip of b once. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

enum { ITEMS = 512, WIDE = 16, NARROW = 8 /* vectors of a strip */ };

static size_t count_strips(const ndr_matmul_request *r, unsigned width)
{
    return ndr_ceil_div(r->c.cols, (size_t)width * ndr_matmul_run_of(r, &r->b)) * ndr_matmul_first_count(r);
}

/* Each group reads all of A, so more rows want wider strips, even one for each unit. */
static unsigned width_for(const ndr_caps *caps, const ndr_matmul_request *r)
{
    enum { MANY_ROWS = 5 };
    const size_t units = caps->info.compute_units, strips = count_strips(r, WIDE);
    const size_t enough = r->c.rows < MANY_ROWS ? units + units / 2 : units - units / 16;
    return strips >= enough ? WIDE : NARROW;
}

/* Wide vectors of few elements need more loads at once. */
static unsigned steps_for(unsigned b_run) { return b_run == 2 ? 8 : 4; }

static const char *unsuited(const ndr_op_case *of)
{
    if (of->caps->info.type != NDR_DEVICE_TYPE_GPU) return "the device is no GPU";
    return 5 * count_strips(of->request, NARROW) >= of->caps->info.compute_units ? NULL : "c has too few columns";
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = of->request;
    const unsigned rows = ndr_matmul_round_few(r->c.rows), width = width_for(of->caps, r);
    const unsigned a_run = ndr_matmul_run_of(r, &r->a), b_run = ndr_matmul_run_of(r, &r->b);
    const size_t products = ndr_matmul_first_count(r), strips = count_strips(r, width) / products;
    *plan = (ndr_op_plan){ .range = ndr_nd_range_2d(products, strips * ITEMS, 1, ITEMS),
                           .local_bytes = rows * (ITEMS / 2) * b_run * ndr_dtype_size(r->dtype) };
    snprintf(plan->options, sizeof plan->options,
             "-DT=%s -DA_RUN=%u -DB_RUN=%u -DROWS=%u -DSTEPS=%u -DWIDTH=%u -DSLICES=%u",
             ndr_dtype_describe(r->dtype)->cl_name, a_run, b_run, rows, steps_for(b_run), width, ITEMS / width);
}

NDR_OP_VARIANT(matmul, few_rows, "gemm_few_rows", NDR_NEEDS_LARGE_GROUPS, .cannot = ndr_matmul_has_many_rows,
               .unsuited = unsuited, .plan = plan, .launch = ndr_matmul_launch_kernel);
