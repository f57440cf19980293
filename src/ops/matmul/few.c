/* few.c - the product on GPUs for few rows or columns: the larger matrix is read once, in its order. A product of few
 * columns is that of the transposes, which has few rows. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

enum { FEW = 8 /* rows or columns, at most */, ITEMS = 512, NARROW = 8, WIDE = 16 /* vectors of a strip */ };

typedef struct sizes {
    unsigned rows, a_run, b_run, steps, width, spread, slices, teams, cols; /* as in kernels/matmul/few.cl */
    bool has_local_a;
    size_t items, groups; /* of a product */
    size_t local_bytes;
} sizes;

static bool has_few_rows(const ndr_matmul_request *r) { return r->c.rows <= FEW; }

/* The power of two from `count` on. */
static unsigned round_up(size_t count)
{
    unsigned rounded = 1;
    while (rounded < count && rounded < FEW) rounded *= 2;
    return rounded;
}

/* The product as one of few rows. If it has few columns, c is stored by columns then. */
static ndr_matmul_request with_few_rows(const ndr_matmul_request *r)
{
    ndr_matmul_request out = *r;
    if (has_few_rows(r)) return out;
    out.a = r->b, out.offsets[0] = r->offsets[1], out.transposes_a = !r->transposes_b;
    out.b = r->a, out.offsets[1] = r->offsets[0], out.transposes_b = !r->transposes_a;
    out.c.rows = r->c.cols, out.c.cols = r->c.rows;
    return out;
}

/* The elements of a load of a (side 0) or b (1): at most so many, in at most 16 bytes, that rows begin and end at
 * multiples of them. */
static unsigned run_of(const ndr_matmul_request *r, unsigned side, unsigned most)
{
    const ndr_operand *matrix = side ? &r->b : &r->a, *offsets = &r->offsets[side];
    const size_t ends = matrix->offset | matrix->pitch | matrix->cols | matrix->stride;
    unsigned run = 16 / (unsigned)ndr_dtype_size(r->dtype);
    while (run > most || ends % run) run /= 2;
    return offsets->buffer ? 1 : run;
}

/* ---- strips ---- */

static size_t count_strips(const ndr_matmul_request *r, const sizes *s)
{
    return ndr_ceil_div(r->c.cols, (size_t)s->width * s->spread * s->b_run);
}

/* Each group reads all of a, so more rows want wider strips, even one for each unit. */
static unsigned width_for(const ndr_caps *caps, const ndr_matmul_request *r, sizes s)
{
    enum { MANY_ROWS = 5 };
    const size_t units = caps->info.compute_units;
    s.width = WIDE;
    const size_t enough = r->c.rows < MANY_ROWS ? units + units / 2 : units - units / 16;
    return count_strips(r, &s) * ndr_matmul_first_count(r) >= enough ? WIDE : NARROW;
}

/* Loads in flight: more of few bytes, and for many rows, which multiply meanwhile, along a depth for all slices. */
static unsigned steps_for(const ndr_matmul_request *r, const sizes *s)
{
    enum { MIN_DEPTH = 1024 };
    const bool is_deep = r->depth >= MIN_DEPTH;
    if (ndr_dtype_size(r->dtype) < sizeof(float)) return s->rows > 2 && is_deep ? 16 : 8;
    return s->b_run == 2 || (s->b_run == 4 && s->rows > 4 && is_deep) ? 8 : 4;
}

/* Every item reads each element of a for its rows. If these are many and elements large, that takes longer than b, and
 * a comes through local memory: one load has a step of all rows. Strips of single elements are narrow: one for each
 * unit is enough. */
static bool wants_local_a(const ndr_caps *caps, const ndr_matmul_request *r, const sizes *s)
{
    enum { MIN_ROWS = 5 };
    const size_t units = caps->info.compute_units, enough = s->b_run == 1 ? units - units / 16 : units + units / 2;
    const bool is_usual = !ndr_matmul_exceeds(r, 0), is_large = r->dtype == NDR_DTYPE_F64 && r->c.rows >= MIN_ROWS;
    return is_usual && is_large && !r->c.further && count_strips(r, s) >= enough;
}

static sizes sizes_for_strips(const ndr_caps *caps, const ndr_matmul_request *r)
{
    enum { MOST = 4 };
    const size_t bytes = ndr_matmul_result_bytes(r);
    sizes s = { .rows = round_up(r->c.rows), .a_run = 1, .b_run = run_of(r, 1, MOST), .items = ITEMS };
    s.width = s.b_run == 1 ? 16 : 32, s.spread = s.b_run == 1 ? 2 : 1, s.steps = s.b_run == 1 ? 8 : 16;
    s.has_local_a = wants_local_a(caps, r, &s);
    if (!s.has_local_a) {
        if (!r->transposes_a) s.a_run = run_of(r, 0, MOST);
        s.spread = 1;
        s.steps = steps_for(r, &s);
        s.width = width_for(caps, r, s);
    }
    s.slices = ITEMS / s.width;
    s.groups = count_strips(r, &s);
    const size_t chunks = s.has_local_a ? (size_t)2 * s.slices * s.steps : 0, sums = ITEMS / 2 * s.b_run * s.spread;
    s.local_bytes = s.rows * ndr_max_size(chunks, sums) * bytes;
    return s;
}

/* ---- columns along k ---- */

/* Fewer slices along a short depth. Few rows need more groups instead of more columns for each; three or four rows of
 * narrow elements more of these at a time. */
static sizes sizes_for_columns(const ndr_matmul_request *r)
{
    enum { SIDE = 8, MOST = 16 };
    const unsigned bytes = (unsigned)ndr_matmul_result_bytes(r), rows = round_up(r->c.rows);
    const unsigned step_bytes = rows == 4 && ndr_dtype_size(r->dtype) == 2 ? 128 : 64; /* of results in a chunk */
    sizes s = { .rows = rows,
                .a_run = 1,
                .b_run = run_of(r, 1, MOST),
                .slices = 4,
                .spread = 1,
                .teams = 4,
                .cols = rows <= 2 ? 2 : 4 };
    while (s.slices > 1 && SIDE * s.slices / 2 * (step_bytes / bytes) >= r->depth) s.slices /= 2, s.teams *= 2;
    s.steps = step_bytes / bytes / s.b_run;
    s.items = (size_t)SIDE * s.teams * s.slices;
    s.groups = ndr_ceil_div(r->c.cols, (size_t)s.teams * s.cols);
    const size_t all = SIDE * s.slices, chunk_bytes = rows * (all * step_bytes + 16);
    const size_t sums = ndr_max_size(rows * s.teams * (all + all / rows), s.cols * s.items);
    s.local_bytes = ndr_max_size(chunk_bytes, sums * bytes);
    return s;
}

static sizes sizes_for(const ndr_caps *caps, const ndr_matmul_request *r)
{
    return r->transposes_b ? sizes_for_columns(r) : sizes_for_strips(caps, r);
}

/* ---- the variant ---- */

static const char *cannot(const ndr_op_case *of)
{
    const ndr_matmul_request *r = of->request;
    if (r->part) return "only a triangle of c is wanted";
    return r->c.rows <= FEW || r->c.cols <= FEW ? NULL : "c has more than 8 rows and columns";
}

/* Matrix units multiply bytes along k faster, if there are some rows. */
extern const ndr_op_variant ndr_matmul_units;
static bool leaves_to_units(const ndr_op_case *of, const ndr_matmul_request *r)
{
    enum { MOST_ROWS = 2 };
    const ndr_op_variant *units = &ndr_matmul_units;
    return ndr_matmul_is_integer(r) && r->transposes_b && r->c.rows > MOST_ROWS
           && !ndr_op_find_unmet(units, of->caps, 0) && !ndr_op_cannot(units, of->request)
           && !ndr_op_unsuited(units, of->caps, of->request);
}

static const char *unsuited(const ndr_op_case *of)
{
    const ndr_matmul_request r = with_few_rows(of->request);
    if (of->caps->info.type != NDR_DEVICE_TYPE_GPU) return "the device is no GPU";
    if (leaves_to_units(of, &r)) return "matrix units multiply bytes faster";
    const sizes s = sizes_for(of->caps, &r);
    return 5 * s.groups * ndr_matmul_first_count(&r) >= of->caps->info.compute_units ? NULL : "c is too small";
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request r = with_few_rows(of->request);
    const sizes s = sizes_for(of->caps, &r);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_2d(ndr_matmul_first_count(&r), s.groups * s.items, 1, s.items),
                           .local_bytes = s.local_bytes };
    snprintf(plan->options, sizeof plan->options,
             "-DT=%s -DROWS=%u -DA_RUN=%u -DB_RUN=%u -DSTEPS=%u -DSLICES=%u -DWIDTH=%u -DSPREAD=%u -DLOCAL_A=%d "
             "-DTEAMS=%u -DCOLS=%u -DTURNS_C=%d%s",
             ndr_matmul_result_type(&r), s.rows, s.a_run, s.b_run, s.steps, s.slices, s.width, s.spread, s.has_local_a,
             s.teams, s.cols, !has_few_rows(of->request), ndr_matmul_print_elements(&r).chars);
}

static ndr_status launch_part(ndr_op_job *job, const ndr_matmul_request *part)
{
    const ndr_matmul_request r = with_few_rows(part);
    return ndr_matmul_launch_in_place(job, &r, NULL, 0);
}

static ndr_status launch(ndr_op_job *job)
{
    return ndr_matmul_launch_parts(job, ndr_matmul_first_count(job->of.request), launch_part);
}

NDR_OP_VARIANT(matmul, few, "gemm_few", NDR_NEEDS_LARGE_GROUPS, .cannot = cannot, .unsuited = unsuited,
               .write = ndr_matmul_write, .plan = plan, .launch = launch);
