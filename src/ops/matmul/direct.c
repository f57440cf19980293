/* direct.c - the product on CPUs, reading the matrices in place: for those that fit the caches. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

/* Items for (products, rows of blocks, columns of blocks). */
typedef struct shares {
    size_t products, rows, cols;
} shares;

/* Blocks of an item: about as many bytes of c as in the largest block, because each group costs the driver some time. */
static unsigned blocks_for(const ndr_matmul_request *request)
{
    enum { BYTES = 8 * 3 * 64 };
    const ndr_matmul_block block = ndr_matmul_choose_block(request);
    return (unsigned)(BYTES / (block.rows * block.vectors * request->core.vector_bytes));
}

/* Of a batch: items take rows of blocks or whole products, enough of them that the cost of a group is small beside
 * it, but each core gets at least GROUPS_PER_UNIT groups. */
static shares share_batch(const ndr_caps *caps, const ndr_matmul_request *r)
{
    enum { MULTIPLICATIONS = 1 << 16, GROUPS_PER_UNIT = 8 };
    const size_t block_rows = ndr_matmul_choose_block(r).rows, rows = ndr_ceil_div(r->c.rows, block_rows);
    const double row = (double)block_rows * (double)r->c.cols * (double)(r->depth + 1);
    const size_t most = row < MULTIPLICATIONS ? (size_t)(MULTIPLICATIONS / row) : 1, count = ndr_matmul_first_count(r);
    if (most < rows) return (shares){ count, ndr_ceil_div(rows, most), 1 };
    const size_t enough = ndr_min_size(count, (size_t)GROUPS_PER_UNIT * caps->info.compute_units);
    return (shares){ ndr_max_size(enough, ndr_ceil_div(count, most / rows)), 1, 1 };
}

static shares share(const ndr_caps *caps, const ndr_matmul_request *r)
{
    const size_t count = ndr_matmul_first_count(r), cols = ndr_ceil_div(r->c.cols, ndr_matmul_block_cols(r));
    if (count > caps->info.compute_units) return share_batch(caps, r);
    return (shares){ count, ndr_ceil_div(r->c.rows, ndr_matmul_choose_block(r).rows),
                     ndr_ceil_div(cols, blocks_for(r)) };
}

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    const shares s = share(caps, request);
    *plan = (ndr_op_plan){ .file = "matmul/direct.cl",
                           .kernel = "gemm_direct",
                           .range = ndr_nd_range_3d(s.products, s.rows, s.cols, 1, 1, 1) };
    snprintf(plan->options, sizeof plan->options, "%s", ndr_matmul_print_block(caps, request).chars);
}

const ndr_op_row ndr_matmul_direct = {
    .name = "direct", .unsuited = ndr_op_lacks_vectors, .plan = plan, .run = ndr_matmul_run_kernel
};
