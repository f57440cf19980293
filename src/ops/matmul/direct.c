/* direct.c - the product on CPUs in one launch, for those that fit the caches: a and b are read in place, or copied
 * block by block to local memory. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

/* Blocks of products, or items for them. */
typedef struct shares {
    size_t products, rows, cols;
} shares;

/* ---- copies ---- */

static bool copies_a(const ndr_matmul_request *r) { return r->dtype != NDR_DTYPE_F32 && r->dtype != NDR_DTYPE_F64; }
static bool copies_b(const ndr_matmul_request *r) { return copies_a(r) || r->transposes_b; }

/* Elements of a ribbon of a and of a panel of b: at least one, because there is no empty local memory. */
static size_t ribbon_elements(const ndr_matmul_request *r, ndr_matmul_block block)
{
    return copies_a(r) ? ndr_max_size(r->depth, 1) * block.rows : 1;
}
static size_t panel_elements(const ndr_matmul_request *r, ndr_matmul_block block)
{
    return ndr_max_size(r->depth, 1) * ndr_matmul_block_cols(block);
}
static size_t copied_bytes(const ndr_matmul_request *r, ndr_matmul_block block)
{
    return copies_b(r) ? (ribbon_elements(r, block) + panel_elements(r, block)) * ndr_matmul_result_bytes(r) : 0;
}

/* A narrower block, if local memory has no room for the copies. */
static ndr_matmul_block fit_copies(const ndr_caps *caps, const ndr_matmul_request *r, ndr_matmul_block block)
{
    const size_t room = caps->info.local_memory_bytes;
    while (block.vectors > 1 && copied_bytes(r, block) > room) --block.vectors;
    while (block.lanes > 2 && copied_bytes(r, block) > room) block.lanes /= 2;
    while (block.rows > 1 && copied_bytes(r, block) > room) block.rows /= 2;
    return block;
}

static const char *cannot(const ndr_op_case *of)
{
    enum { MAX_COPIED_DEPTH = 512 };
    const ndr_matmul_request *r = of->request;
    if (r->depth > ndr_matmul_exact_depth(r)) return "sums of so many integers do not fit a float";
    return copies_b(r) && r->depth > MAX_COPIED_DEPTH ? "copies of so deep panels of b do not fit local memory" : NULL;
}

/* ---- blocks ---- */

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

/* For small products of a batch: as many vectors as the columns need, and the number of rows with which the fewest are
 * computed. Blocks use two thirds of the registers of the largest one and have 7/8 of its rows, unless one has all. */
static ndr_matmul_block fit_rows(const ndr_matmul_request *r, ndr_matmul_block largest)
{
    const size_t vectors = ndr_ceil_div(r->c.cols, largest.lanes);
    const unsigned registers = largest.rows * largest.vectors;
    ndr_matmul_block block = largest;
    block.vectors = (unsigned)ndr_ceil_div(vectors, ndr_ceil_div(vectors, largest.vectors));
    const unsigned most = registers / block.vectors;
    block.rows = (unsigned)ndr_min_size(most, r->c.rows);
    size_t fewest = ndr_ceil_div(r->c.rows, block.rows) * block.rows;
    for (unsigned rows = most; 3 * rows * block.vectors >= 2 * registers && 8 * rows >= 7 * largest.rows; --rows) {
        const size_t computed = ndr_ceil_div(r->c.rows, rows) * rows;
        if (computed > fewest) continue;
        fewest = computed;
        block.rows = rows;
    }
    return block;
}

/* Whose rows of a lie in the first cache, however many of them a block has. */
static bool is_small_batch(const ndr_matmul_request *r)
{
    size_t bytes;
    return r->c.further && !copies_b(r) && r->c.rows && r->c.cols && ndr_mul_fits(r->c.rows, r->depth, &bytes)
           && bytes <= r->core.first_cache_bytes / ndr_matmul_result_bytes(r);
}

/* Vectors are not wider than c, if they can be that narrow. In a batch, a block that divides the products evenly: items
 * then need no code for edges. It is narrower than the largest one if need be, and has more rows if there are registers
 * for them; it must use two thirds of the largest one's. */
static ndr_matmul_block choose_block(const ndr_caps *caps, const ndr_matmul_request *r)
{
    enum { NARROWEST_BYTES = 16 };
    ndr_matmul_block largest = ndr_matmul_choose_block(r);
    while (r->c.cols < largest.lanes && largest.lanes * ndr_matmul_result_bytes(r) > NARROWEST_BYTES)
        largest.lanes /= 2;
    const unsigned registers = largest.rows * largest.vectors;
    ndr_matmul_block even = largest;
    while (r->c.cols / even.lanes % even.vectors) --even.vectors;
    while (2 * even.rows * even.vectors <= registers && r->c.rows % (2 * even.rows) == 0) even.rows *= 2;
    const bool is_large = 3 * even.rows * even.vectors >= 2 * registers;
    if (r->c.further && is_large && is_even(r, even)) return fit_copies(caps, r, even);
    return is_small_batch(r) ? fit_rows(r, largest) : fit_copies(caps, r, fill_cycles(r, largest));
}

/* ---- items ---- */

/* An item takes blocks of a row, rows of blocks, or whole products: so much that the time of a group itself does not
 * count, but leaving GROUPS_PER_UNIT groups for each compute unit, because they do not end at the same time;
 * FEWEST_PER_UNIT if those have less than FEW multiplications, because many units wait for each other when they take
 * groups. In a batch an item takes a whole product even if that is more, because then it prefetches the next one. Those
 * who copy panels of b take columns of blocks, so that few copy the same one. */
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
    if (copies_b(r)) {
        const size_t items = FEWEST_PER_UNIT * (size_t)caps->info.compute_units;
        return (shares){ all.products, ndr_min_size(all.rows, ndr_ceil_div(items, all.cols)), all.cols };
    }
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

/* ---- the variant ---- */

/* A single product of converted elements would convert a ribbon of a for each panel of b. */
static const char *unsuited(const ndr_op_case *of)
{
    enum { SMALL = 1 << 18 };
    const ndr_matmul_request *r = of->request;
    const char *const lacks = ndr_op_lacks_vectors(of);
    if (lacks) return lacks;
    const double work = (double)r->c.rows * (double)r->c.cols * (double)r->depth;
    return copies_a(r) && !r->c.further && work > SMALL ? "its elements are converted once by another variant" : NULL;
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = of->request;
    const ndr_matmul_block block = choose_block(of->caps, r);
    const shares s = share(of->caps, r, block);
    const bool is_batch = r->c.further && s.rows == 1 && s.cols == 1;
    *plan = (ndr_op_plan){ .range = ndr_nd_range_3d(s.products, s.rows, s.cols, 1, 1, 1),
                           .local_bytes = copied_bytes(r, block) };
    snprintf(plan->options, sizeof plan->options, "%s -DBATCH=%d -DFETCH_C=%d -DEVEN=%d -DCLAMP_M=%d",
             ndr_matmul_print_block(of->caps, r, block).chars, is_batch, is_batch && fetches_c(r),
             r->c.further && is_even(r, block), r->c.rows < block.rows);
}

static ndr_status launch_part(ndr_op_job *job, const ndr_matmul_request *part)
{
    const ndr_matmul_request *r = job->of.request;
    const ndr_matmul_block block = choose_block(job->of.caps, r);
    const size_t bytes = ndr_matmul_result_bytes(r);
    const ndr_arg copies[] = { ndr_arg_local_(NDR_DTYPE_NONE, bytes, 1, ribbon_elements(r, block), 1, 1),
                               ndr_arg_local_(NDR_DTYPE_NONE, bytes, 1, panel_elements(r, block), 1, 1) };
    return ndr_matmul_launch_in_place(job, part, copies, copies_b(r) ? NDR_COUNT_OF(copies) : 0);
}

static ndr_status launch(ndr_op_job *job)
{
    return ndr_matmul_launch_parts(job, ndr_matmul_first_count(job->of.request), launch_part);
}

NDR_OP_VARIANT(matmul, direct, "gemm_direct", 0, .cannot = cannot, .unsuited = unsuited, .write = ndr_matmul_write,
               .plan = plan, .launch = launch);
