/* thin.c - the product on CPUs for few rows: a strip of c stays in the first cache, and b is read once. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

/* Of the strip: the power of two that fits m. */
static unsigned rows_for(const ndr_matmul_request *request)
{
    unsigned rows = 1;
    while (rows < request->c.rows && rows < NDR_STRIP_ROWS) rows *= 2;
    return rows;
}

static const char *cannot(const ndr_op_case *of)
{
    const ndr_matmul_request *r = of->request;
    if (r->transposes_b) return "b is transposed";
    if (r->depth > ndr_matmul_exact_depth(r)) return "sums of so many integers do not fit a float";
    return r->c.rows <= NDR_STRIP_ROWS ? NULL : "c has more rows than a strip";
}

static const char *unsuited(const ndr_op_case *of)
{
    enum { FROM_BYTES = 1 << 18 };
    const char *reason = ndr_op_lacks_vectors(of);
    return reason || ndr_matmul_b_bytes(of->request) >= FROM_BYTES ? reason
                                                                   : "b is small enough to be read several times";
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = of->request;
    const size_t cols = NDR_STRIP_BYTES / ndr_matmul_result_bytes(r);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_2d(ndr_matmul_first_count(r), ndr_ceil_div(r->c.cols, cols), 1, 1) };
    snprintf(plan->options, sizeof plan->options, "%s -DTHIN_ROWS=%u",
             ndr_matmul_print_block(of->caps, r, ndr_matmul_choose_block(r)).chars, rows_for(r));
}

NDR_OP_VARIANT(matmul, thin, "gemm_thin", 0, .cannot = cannot, .unsuited = unsuited, .write = ndr_matmul_write,
               .plan = plan, .launch = ndr_matmul_launch_kernel);
