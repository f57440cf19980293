/* three_parts.c - the product of f32 by a GPU's matrix units for bfloat16, by three parts of each element, which are not
 * stored: for few rows, for which b is read once, and where `halves` cannot or does not pay. */
#include "ops/matmul/matmul.h"

#include "shared/three_parts.h"

#include <stdio.h>

enum { TILE_COLS = 128, SLAB = 32, GROUP_ITEMS = 384, ITEMS = 256 /* that multiply */ };

/* Tiles have these rows. Times as measured on an H200, in ns, of one slab with all units at work. */
typedef struct tile {
    unsigned rows, slab_ns;
} tile;

static const tile forms[] = { { 64, 1120 }, { 128, 1650 } };

typedef struct sizes {
    tile tile;
    size_t tiles, parts, part_slabs; /* parts of the depth of each tile */
    double ns;
} sizes;

static size_t sums_bytes(const sizes *s) { return s->tiles * s->parts * s->tile.rows * TILE_COLS * sizeof(float); }

/* The units compute parts in rounds. If a tile has several, their sums are stored, and read by another launch. */
static double time_of(const sizes *s, size_t units)
{
    enum { UNIT_NS = 1500, ADD_NS = 5000, BYTES_PER_NS = 3000 };
    const double rounds = (double)ndr_ceil_div(s->tiles * s->parts, units);
    const double add_ns = s->parts == 1 ? 0 : ADD_NS + 2 * (double)sums_bytes(s) / BYTES_PER_NS;
    return rounds * ((double)s->part_slabs * s->tile.slab_ns + UNIT_NS) + add_ns;
}

/* A stage of a has two slabs, so parts begin at every other one. */
static sizes divide(const tile *t, size_t units, const ndr_matmul_request *r, size_t parts)
{
    const size_t slabs = ndr_ceil_div(r->depth, SLAB);
    sizes s = { .tile = *t, .tiles = ndr_ceil_div(r->c.rows, t->rows) * ndr_ceil_div(r->c.cols, TILE_COLS) };
    s.part_slabs = ndr_ceil_div(ndr_ceil_div(slabs, parts), 2) * 2;
    s.parts = ndr_ceil_div(slabs, s.part_slabs);
    s.ns = time_of(&s, units);
    return s;
}

/* The fastest number of parts, of those that fill a number of rounds. */
static sizes sizes_for(const ndr_caps *caps, const ndr_matmul_request *r)
{
    enum { MOST_ROUNDS = 8 };
    const size_t units = ndr_max_size(1, caps->info.compute_units);
    const tile *t = r->c.rows <= forms[0].rows ? &forms[0] : &forms[1];
    sizes best = divide(t, units, r, 1);
    for (size_t rounds = 1; rounds <= MOST_ROUNDS; ++rounds) {
        const sizes s = divide(t, units, r, ndr_max_size(1, rounds * units / best.tiles));
        if (s.ns < best.ns) best = s;
    }
    return best;
}

static size_t workspace_bytes(const sizes *s) { return s->parts == 1 ? 0 : NDR_WORKSPACE_HEAD_BYTES + sums_bytes(s); }

/* ---- choosing ---- */

static const char *cannot(const ndr_op_case *of)
{
    const ndr_matmul_request *r = of->request;
    const char *const unusual = ndr_matmul_is_unusual(of);
    if (unusual) return unusual;
    if (r->dtype != NDR_DTYPE_F32) return "the elements are not f32";
    if (r->depth < 64) return "its error is shown to be within the bound only from a depth of 64 on";
    return ndr_matmul_is_too_wide(r);
}

static const char *unsuited(const ndr_op_case *of)
{
    enum { LEAST_ROWS = 24, LEAST_WORK = 1 << 28 };
    const ndr_matmul_request *r = of->request;
    if (r->c.rows < LEAST_ROWS) return "c has fewer than 24 rows";
    const double work = (double)r->c.rows * (double)r->c.cols * (double)r->depth;
    return work < LEAST_WORK ? "the product is too small for matrix units" : NULL;
}

/* ---- launching ---- */

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const sizes s = sizes_for(of->caps, of->request);
    const size_t groups = ndr_min_size(s.tiles * s.parts, ndr_max_size(1, of->caps->info.compute_units));
    const size_t bytes = (size_t)s.tile.rows * (size_t)NDR_THREE_PARTS_ROW_BYTES(s.tile.rows);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(groups * GROUP_ITEMS, GROUP_ITEMS),
                           .local_bytes = bytes + 1024 + NDR_THREE_PARTS_OTHER_BYTES,
                           .workspace_bytes = workspace_bytes(&s) };
    snprintf(plan->options, sizeof plan->options, "-DTILE_N=%u -DNDR_PTX_TARGET=sm_90a", s.tile.rows);
}

static ndr_status launch_product(ndr_op_job *job, const ndr_matmul_request *r)
{
    const sizes s = sizes_for(job->of.caps, r);
    ndr_arg args[NDR_MATMUL_MATRICES + 4];
    size_t used = ndr_matmul_list_matrices(r, false, args);
    args[used++] = ndr_arg_of((uint32_t)(s.tiles * s.parts));
    args[used++] = ndr_arg_of((uint32_t)s.parts);
    args[used++] = ndr_arg_of((uint32_t)s.part_slabs);
    args[used++] = ndr_op_workspace_arg(job);
    NDR_TRY(ndr_op_launch_v(job, job->kernel, &job->plan.range, args, used));
    if (s.parts == 1) return NDR_OK;
    const size_t items = (size_t)NDR_THREE_PARTS_SHARES * ITEMS;
    const size_t pairs = s.tile.rows / 4; /* of an item that multiplies */
    const ndr_nd_range range = ndr_nd_range_1d(s.tiles * pairs * items, items);
    return ndr_op_launch_v(job, job->others[0], &range, args, used);
}

/* One product at a time: the workspace has room for the sums of one. */
static ndr_status launch(ndr_op_job *job) { return ndr_matmul_launch_parts(job, 1, launch_product); }

/* `blocked` needs no memory, and takes all that cannot() does not refuse. */
extern const ndr_op_variant ndr_matmul_blocked;
NDR_OP_VARIANT(matmul, three_parts, "gemm_three_parts", NDR_NEEDS_BF16_MMA, .others = { "gemm_three_parts_add" },
               .cannot = cannot, .unsuited = unsuited, .plan = plan, .launch = launch, .prove = ndr_matmul_prove,
               .proves_later = true, .instead = &ndr_matmul_blocked);
