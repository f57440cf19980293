/* direct.c - the product on CPUs, reading the matrices in place: for those that fit the caches. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

/* Blocks of products, or items for them. */
typedef struct shares {
    size_t products, rows, cols;
} shares;

static bool is_even(const ndr_matmul_request *r, ndr_matmul_block block)
{
    return r->c.rows % block.rows == 0 && r->c.cols % ndr_matmul_block_cols(block) == 0;
}

/* If c has one vector of columns, a block has rows for as many sums as a core adds at a time: two instructions in a
 * cycle, each of which takes four. */
static ndr_matmul_block fill_cycles(const ndr_matmul_request *r, ndr_matmul_block block)
{
    enum { SUMS = 8 };
    if (r->c.cols > block.lanes) return block;
    block.vectors = 1;
    while (block.rows < SUMS && 2 * block.rows <= r->c.rows) block.rows *= 2;
    return block;
}

/* Vectors are not wider than c, if they can be that narrow. In a batch, a block that divides the products evenly: items
 * then need no code for edges. It is narrower than the largest one if need be, and has more rows if there are registers
 * for them; it must use two thirds of the largest one's. */
static ndr_matmul_block choose_block(const ndr_matmul_request *r)
{
    enum { NARROWEST_BYTES = 16 };
    ndr_matmul_block largest = ndr_matmul_choose_block(r);
    while (r->c.cols < largest.lanes && largest.lanes * r->c.element_bytes > NARROWEST_BYTES) largest.lanes /= 2;
    const unsigned registers = largest.rows * largest.vectors;
    ndr_matmul_block even = largest;
    while (r->c.cols / even.lanes % even.vectors) --even.vectors;
    while (2 * even.rows * even.vectors <= registers && r->c.rows % (2 * even.rows) == 0) even.rows *= 2;
    const bool is_large = 3 * even.rows * even.vectors >= 2 * registers;
    return r->c.further && is_large && is_even(r, even) ? even : fill_cycles(r, largest);
}

/* An item takes blocks of a row, rows of blocks, or whole products: so much that the time of a group itself does not
 * count, but leaving GROUPS_PER_UNIT groups for each compute unit, because they do not end at the same time;
 * FEWEST_PER_UNIT if those have less than FEW multiplications, because many units wait for each other when they take
 * groups. In a batch an item takes a whole product even if that is more, because then it prefetches the next one. */
static shares share(const ndr_caps *caps, const ndr_matmul_request *r, ndr_matmul_block block)
{
    enum { MULTIPLICATIONS = 1 << 18, GROUPS_PER_UNIT = 8, FEW = 1 << 17, FEWEST_PER_UNIT = 2 };
    const shares all = { ndr_matmul_first_count(r), ndr_ceil_div(r->c.rows, block.rows),
                         ndr_ceil_div(r->c.cols, ndr_matmul_block_cols(block)) };
    const double row = (double)block.rows * (double)r->c.cols * (double)ndr_max_size(r->depth, 1);
    const double product = row * (double)all.rows, whole = product * (double)all.products;
    const double unit = whole / (double)caps->info.compute_units;
    const double few = unit / FEWEST_PER_UNIT < FEW ? unit / FEWEST_PER_UNIT : FEW;
    const double even = unit / GROUPS_PER_UNIT > few ? unit / GROUPS_PER_UNIT : few;
    const double enough = r->c.further && product > MULTIPLICATIONS ? product : MULTIPLICATIONS;
    const double item = even < enough ? even : enough;
    if (item >= product) return (shares){ ndr_ceil_div(all.products, (size_t)(item / product)), 1, 1 };
    if (item >= row) return (shares){ all.products, ndr_ceil_div(all.rows, (size_t)(item / row)), 1 };
    const size_t blocks = (size_t)(item / row * (double)all.cols);
    return (shares){ all.products, all.rows, ndr_ceil_div(all.cols, ndr_max_size(blocks, 1)) };
}

/* A small c does not pay for its prefetches. */
static bool fetches_c(const ndr_matmul_request *r)
{
    enum { LEAST_BYTES = 8192 };
    return r->c.rows * r->c.cols * r->c.element_bytes >= LEAST_BYTES;
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = of->request;
    const ndr_matmul_block block = choose_block(r);
    const shares s = share(of->caps, r, block);
    const bool is_batch = r->c.further && s.rows == 1 && s.cols == 1;
    *plan = (ndr_op_plan){ .range = ndr_nd_range_3d(s.products, s.rows, s.cols, 1, 1, 1) };
    snprintf(plan->options, sizeof plan->options, "%s -DBATCH=%d -DFETCH_C=%d -DEVEN=%d -DCLAMP_M=%d",
             ndr_matmul_print_block(of->caps, r, block).chars, is_batch, is_batch && fetches_c(r),
             r->c.further && is_even(r, block), r->c.rows < block.rows);
}

NDR_OP_VARIANT(matmul, direct, "gemm_direct", 0, .cannot = ndr_matmul_is_unusual, .unsuited = ndr_op_lacks_vectors,
               .plan = plan, .launch = ndr_matmul_launch_kernel);
