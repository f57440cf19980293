/* direct.c - the product on CPUs, reading the matrices in place: for those that fit the caches. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

/* Blocks of an item: about as many bytes of c as in the largest block, because each group costs the driver some time. */
static unsigned blocks_for(const ndr_matmul_request *request)
{
    enum { BYTES = 8 * 3 * 64 };
    const ndr_matmul_block block = ndr_matmul_choose_block(request);
    return (unsigned)(BYTES / (block.rows * block.vectors * request->core.vector_bytes));
}

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = request;
    const unsigned blocks = blocks_for(r);
    const size_t cols = blocks * ndr_matmul_block_cols(r);
    *plan = (ndr_op_plan){ .file = "matmul/direct.cl",
                           .kernel = "gemm_direct",
                           .range = ndr_nd_range_2d(ndr_ceil_div(r->c.rows, ndr_matmul_choose_block(r).rows),
                                                    ndr_ceil_div(r->c.cols, cols), 1, 1) };
    snprintf(plan->options, sizeof plan->options, "%s -DBLOCKS=%u", ndr_matmul_print_block(caps, r).chars, blocks);
}

const ndr_op_row ndr_matmul_direct = {
    .name = "direct", .unsuited = ndr_op_lacks_vectors, .plan = plan, .run = ndr_matmul_run_kernel
};
