/* few_rows_local.c - as few.c, with a in local memory: items read each element of a for their rows at once. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

enum { ITEMS = 512 };

typedef struct sizes {
    unsigned b_run, width, spread, steps; /* as in kernels/matmul/few_rows_local.cl */
} sizes;

static sizes sizes_for(const ndr_matmul_request *r)
{
    const unsigned b_run = ndr_matmul_run_of(r, &r->b);
    return b_run == 1 ? (sizes){ b_run, 16, 2, 8 } : (sizes){ b_run, 32, 1, 16 };
}

static size_t count_strips(const ndr_matmul_request *r)
{
    const sizes s = sizes_for(r);
    return ndr_ceil_div(r->c.cols, (size_t)s.width * s.spread * s.b_run);
}

/* Fewer rows, and elements of f32, need less of a at once. Strips of single elements are narrow: one for each unit is
 * enough. */
static const char *unsuited(const ndr_op_case *of)
{
    enum { MIN_ROWS = 5 };
    const ndr_matmul_request *r = of->request;
    const size_t units = of->caps->info.compute_units;
    if (of->caps->info.type != NDR_DEVICE_TYPE_GPU) return "the device is no GPU";
    if (r->dtype != NDR_DTYPE_F64 || r->c.rows < MIN_ROWS || r->c.further)
        return "this is not one product of 5 to 8 rows of f64";
    const size_t enough = sizes_for(r).b_run == 1 ? units - units / 16 : units + units / 2;
    return count_strips(r) >= enough ? NULL : "c has too few columns";
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = of->request;
    const sizes s = sizes_for(r);
    const size_t bytes = ndr_dtype_size(r->dtype), slices = ITEMS / s.width;
    const unsigned rows = ndr_matmul_round_few(r->c.rows);
    const size_t columns = ndr_max_size(2 * slices * s.steps, ITEMS / 2 * (size_t)s.b_run * s.spread);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_2d(ndr_matmul_first_count(r), count_strips(r) * ITEMS, 1, ITEMS),
                           .local_bytes = columns * rows * bytes };
    snprintf(plan->options, sizeof plan->options,
             "-DT=%s -DB_RUN=%u -DROWS=%u -DSTEPS=%u -DWIDTH=%u -DSLICES=%zu -DSPREAD=%u",
             ndr_dtype_describe(r->dtype)->cl_name, s.b_run, rows, s.steps, s.width, slices, s.spread);
}

static const char *cannot(const ndr_op_case *of)
{
    const ndr_matmul_request *r = of->request;
    const char *const unusual = ndr_matmul_is_unusual(of);
    if (unusual) return unusual;
    return r->c.rows <= NDR_FEW ? NULL : "c has more than 8 rows";
}

NDR_OP_VARIANT(matmul, few_rows_local, "gemm_few_rows", NDR_NEEDS_LARGE_GROUPS, .cannot = cannot,
               .unsuited = unsuited, .plan = plan, .launch = ndr_matmul_launch_kernel);
