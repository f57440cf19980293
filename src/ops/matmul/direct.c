/* direct.c - the product on CPUs, reading the matrices in place: for those that fit the caches. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

/* Blocks of products, or items for them. */
typedef struct shares {
    size_t products, rows, cols;
} shares;

/* An item takes blocks of a row, rows of blocks, or whole products: so much that the time of a group itself does not
 * count, but leaving GROUPS_PER_UNIT groups for each compute unit, because they do not end at the same time. In a batch
 * it takes a whole product even if that is more, because then it prefetches the next one. */
static shares share(const ndr_caps *caps, const ndr_matmul_request *r)
{
    enum { MULTIPLICATIONS = 1 << 18, GROUPS_PER_UNIT = 8 };
    const ndr_matmul_block block = ndr_matmul_choose_block(r);
    const shares all = { ndr_matmul_first_count(r), ndr_ceil_div(r->c.rows, block.rows),
                         ndr_ceil_div(r->c.cols, ndr_matmul_block_cols(r)) };
    const double row = (double)block.rows * (double)r->c.cols * (double)ndr_max_size(r->depth, 1);
    const double product = row * (double)all.rows, whole = product * (double)all.products;
    const double even = whole / (GROUPS_PER_UNIT * (double)caps->info.compute_units);
    const double enough = r->c.further && product > MULTIPLICATIONS ? product : MULTIPLICATIONS;
    const double item = even < enough ? even : enough;
    if (item >= product) return (shares){ ndr_ceil_div(all.products, (size_t)(item / product)), 1, 1 };
    if (item >= row) return (shares){ all.products, ndr_ceil_div(all.rows, (size_t)(item / row)), 1 };
    const size_t blocks = (size_t)(item / row * (double)all.cols);
    return (shares){ all.products, all.rows, ndr_ceil_div(all.cols, ndr_max_size(blocks, 1)) };
}

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = request;
    const shares s = share(caps, r);
    const bool is_batch = r->c.further && s.rows == 1 && s.cols == 1;
    *plan = (ndr_op_plan){ .range = ndr_nd_range_3d(s.products, s.rows, s.cols, 1, 1, 1) };
    snprintf(plan->options, sizeof plan->options, "%s -DBATCH=%d -DCLAMP_M=%d", ndr_matmul_print_block(caps, r).chars,
             is_batch, r->c.rows < ndr_matmul_choose_block(r).rows);
}

const ndr_op_row ndr_matmul_direct = { .name = "direct",
                                       .file = "matmul/direct.cl",
                                       .kernel = "gemm_direct",
                                       .unsuited = ndr_op_lacks_vectors,
                                       .plan = plan,
                                       .run = ndr_matmul_run_kernel };
