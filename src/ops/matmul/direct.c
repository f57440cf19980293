/* direct.c - the product on CPUs, reading the matrices in place: for those that fit the caches. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = request;
    *plan = (ndr_op_plan){ .file = "matmul/direct.cl",
                           .kernel = "gemm_direct",
                           .range = ndr_nd_range_2d(ndr_ceil_div(r->c.rows, ndr_matmul_choose_block(r).rows),
                                                    ndr_ceil_div(r->c.cols, ndr_matmul_block_cols(r)), 1, 1) };
    snprintf(plan->options, sizeof plan->options, "%s", ndr_matmul_print_block(caps, r).chars);
}

const ndr_op_row ndr_matmul_direct = {
    .name = "direct", .unsuited = ndr_op_lacks_vectors, .plan = plan, .run = ndr_matmul_run_kernel
};
