/* mma.c - the product of f64 by a GPU's matrix units: a group for each tile of c, through local memory. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

typedef struct tile {
    unsigned m, n, k, warp_m, warp_n, stages; /* as in kernels/matmul/mma.cl */
    unsigned groups;                          /* that a unit computes at once */
    unsigned cost;                            /* of an element of c, in percent of the first tile's */
} tile;

/* Costs as measured for large products on an H100. */
static const tile tiles[] = {
    { 128, 128, 16, 64, 32, 4, 1, 100 }, { 128, 64, 32, 32, 32, 4, 1, 103 }, { 96, 96, 16, 32, 24, 4, 1, 106 },
    { 64, 64, 16, 32, 16, 4, 2, 106 },   { 64, 32, 32, 32, 16, 4, 2, 134 },  { 32, 32, 64, 32, 8, 3, 2, 179 },
};
/* Memory limits products of a short depth. Several groups of a unit take turns. */
static const tile short_tiles[] = { { 64, 64, 16, 32, 16, 4, 0, 0 },
                                    { 32, 32, 32, 32, 8, 3, 0, 0 },
                                    { 32, 16, 16, 32, 8, 4, 0, 0 } };
enum { TILES = NDR_COUNT_OF(tiles), SHORT_TILES = NDR_COUNT_OF(short_tiles), SHORT_DEPTH = 96 };

static size_t group_items(const tile *t) { return (size_t)32 * (t->m / t->warp_m) * (t->n / t->warp_n); }

static size_t count_tiles(const tile *t, const ndr_matmul_request *r)
{
    return ndr_ceil_div(r->c.rows, t->m) * ndr_ceil_div(r->c.cols, t->n);
}

static size_t count_all_tiles(const tile *t, const ndr_matmul_request *r)
{
    return count_tiles(t, r) * ndr_matmul_first_count(r);
}

/* The units compute tiles in rounds. The last one is shorter for a unit that computes one tile instead of two. */
static double estimate(const tile *t, const ndr_caps *caps, const ndr_matmul_request *r)
{
    const double alone = 0.8;
    const size_t units = ndr_max_size(1, caps->info.compute_units), round = t->groups * units;
    const size_t count = count_all_tiles(t, r), last = count % round;
    const double rest = last == 0 ? 0 : t->groups > 1 && last <= units ? alone : 1;
    return ((double)(count / round) + rest) * t->groups * t->m * t->n * t->cost;
}

/* The largest tile of which c fills a half and that gives work to all units. */
static const tile *choose_short_tile(const ndr_caps *caps, const ndr_matmul_request *r)
{
    const tile *t = short_tiles, *last = short_tiles + SHORT_TILES - 1;
    while (t < last
           && ((2 * r->c.rows <= t->m && 2 * r->c.cols <= t->n) || count_all_tiles(t, r) < caps->info.compute_units))
        ++t;
    return t;
}

static const tile *choose_tile(const ndr_caps *caps, const ndr_matmul_request *r)
{
    if (r->depth <= SHORT_DEPTH) return choose_short_tile(caps, r);
    const tile *best = tiles;
    for (const tile *t = tiles + 1; t < tiles + TILES; ++t)
        if (estimate(t, caps, r) < estimate(best, caps, r)) best = t;
    return best;
}

static const char *cannot(const ndr_op_case *of)
{
    const ndr_matmul_request *r = of->request;
    const char *const unusual = ndr_matmul_is_unusual(of);
    if (unusual) return unusual;
    return r->dtype == NDR_DTYPE_F64 ? ndr_matmul_is_too_wide(r) : "the elements are not f64";
}

/* `blocked` divides the depth among the units if there are few tiles. */
static const char *unsuited(const ndr_op_case *of)
{
    enum { SHORT = 1024 };
    const ndr_matmul_request *r = of->request;
    const size_t count = count_all_tiles(&tiles[TILES - 1], r), units = of->caps->info.compute_units;
    const bool fills = count >= units / 2 || (count >= units / 8 && r->depth <= SHORT);
    return fills ? NULL : "c has too few tiles";
}

/* Elements of 16 bytes if all rows begin at a multiple of that, otherwise 1. */
static unsigned run_of(const ndr_operand *matrix)
{
    const bool is_aligned = matrix->offset % 2 == 0 && matrix->pitch % 2 == 0 && matrix->stride % 2 == 0;
    return is_aligned ? 2 : 1;
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = of->request;
    const tile *t = choose_tile(of->caps, r);
    const size_t items = group_items(t);
    const size_t stage_bytes = sizeof(double) * ((size_t)t->m * (t->k + 4) + (size_t)t->k * (t->n + 4));
    const unsigned steps = (unsigned)ndr_min_size(ndr_max_size(1, ndr_ceil_div(r->depth, t->k)), t->stages + 1);
    const unsigned stages = steps < t->stages ? steps : t->stages, ahead = steps <= stages ? stages : stages - 2;
    *plan = (ndr_op_plan){ .range = ndr_nd_range_2d(ndr_matmul_first_count(r), count_tiles(t, r) * items, 1, items),
                           .local_bytes = stages * (stage_bytes + 2 * sizeof(uint64_t)) };
    snprintf(plan->options, sizeof plan->options,
             "-DTILE_M=%u -DTILE_N=%u -DTILE_K=%u -DWARP_M=%u -DWARP_N=%u -DSTAGES=%u -DAHEAD=%u -DA_RUN=%u -DB_RUN=%u",
             t->m, t->n, t->k, t->warp_m, t->warp_n, stages, ahead, run_of(&r->a), run_of(&r->b));
}

NDR_OP_VARIANT(matmul, mma, "gemm_mma", NDR_NEEDS_F64_MMA, .cannot = cannot, .unsuited = unsuited,
               .write = ndr_matmul_write, .plan = plan, .launch = ndr_matmul_launch_kernel,
               .prove = ndr_matmul_prove, .proves_later = true);
