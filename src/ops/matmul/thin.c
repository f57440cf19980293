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

/* Whether one block of `direct` has all rows, and reads long runs of b: it keeps its sums in registers. For fewer rows it
 * multiplies rows that do not exist. Other types it would copy. */
static bool fills_block(const ndr_matmul_request *r)
{
    enum { MANY_ROWS = 5, RUN_BYTES = 192 };
    const ndr_matmul_block block = ndr_matmul_choose_block(r);
    const bool is_usual = r->dtype == NDR_DTYPE_F32 || r->dtype == NDR_DTYPE_F64;
    return is_usual && r->c.rows >= MANY_ROWS && r->c.rows <= block.rows
           && ndr_matmul_block_cols(block) * ndr_matmul_result_bytes(r) >= RUN_BYTES;
}

static const char *unsuited(const ndr_op_case *of)
{
    enum { FROM_BYTES = 1 << 18 };
    const char *reason = ndr_op_lacks_vectors(of);
    if (!reason && fills_block(of->request)) return "a block in registers has all rows of c";
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
