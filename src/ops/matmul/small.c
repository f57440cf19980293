/* small.c - the product of many small matrices of f32, f16 or bf16 by a GPU's matrix units, whose rows may begin
 * anywhere: kernels/matmul/small.cl. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

enum { MOST_ROWS = 128, MOST_COLS = 144, MOST_DEPTH = 80, MOST_DEPTH_F32 = 32 };

/* Of a group: rows and columns of its tile of c, steps of a and b in local memory, and items. */
typedef struct sizes {
    size_t rows, cols, depth, items;
    size_t tiles, local_bytes, groups; /* tiles of a product; groups that a unit computes at once */
} sizes;

/* Of an element. */
static size_t parts_of(const ndr_matmul_request *r) { return r->dtype == NDR_DTYPE_F32 ? 3 : 1; }

/* Equal pieces of `all`, each a multiple of `step` up to `most`. */
static size_t divide(size_t all, size_t most, size_t step)
{
    const size_t pieces = ndr_max_size(1, ndr_ceil_div(all, most));
    return ndr_max_size(1, ndr_ceil_div(ndr_ceil_div(all, pieces), step)) * step;
}

/* Of lines x length elements in local memory: as parts, and as the words of memory. */
static size_t bytes_of(size_t lines, size_t length, const ndr_matmul_request *r)
{
    const size_t words = r->dtype == NDR_DTYPE_F32 ? length : length / 2 + 1;
    return lines * (parts_of(r) * (2 * length + 16) + 4 * words);
}

static size_t local_bytes(const sizes *s, const ndr_matmul_request *r)
{
    const bool ta = r->transposes_a, tb = r->transposes_b;
    const size_t a = bytes_of(ta ? s->depth : s->rows, ta ? s->rows : s->depth, r);
    const size_t b = bytes_of(tb ? s->cols : s->depth, tb ? s->depth : s->cols, r);
    return ndr_max_size(a + b, s->rows / 2 * (s->cols + 8) * sizeof(float));
}

static sizes sizes_for(const ndr_matmul_request *r)
{
    enum { UNIT_BYTES = 227 << 10, GROUP_BYTES = 1 << 10, UNIT_ITEMS = 512 };
    sizes s = { .rows = divide(r->c.rows, MOST_ROWS, 32),
                .cols = divide(r->c.cols, MOST_COLS, 16),
                .depth = divide(r->depth, parts_of(r) == 3 ? MOST_DEPTH_F32 : MOST_DEPTH, 16) };
    s.items = s.rows / 32 * 64;
    s.tiles = ndr_ceil_div(r->c.rows, s.rows) * ndr_ceil_div(r->c.cols, s.cols);
    s.local_bytes = local_bytes(&s, r);
    s.groups = ndr_max_size(1, ndr_min_size(UNIT_BYTES / (s.local_bytes + GROUP_BYTES), UNIT_ITEMS / s.items));
    return s;
}

static bool has_type(ndr_dtype dtype)
{
    return dtype == NDR_DTYPE_F32 || dtype == NDR_DTYPE_F16 || dtype == NDR_DTYPE_BF16;
}

static const char *cannot(const ndr_op_case *of)
{
    enum { MOST = 300 };
    const ndr_matmul_request *r = of->request;
    const char *const unusual = ndr_matmul_exceeds(r, NDR_MATMUL_ALL);
    if (unusual) return unusual;
    if (!has_type(r->dtype)) return "the elements of a and b are not f32, f16 or bf16";
    if (r->dtype == NDR_DTYPE_F32 && r->depth < 32)
        return "its error is shown to be within the bound only from a depth of 32 on";
    return r->c.rows > MOST || r->c.cols > MOST ? "c has more than 300 rows or columns" : NULL;
}

static bool is_aligned(const ndr_operand *m)
{
    enum { BYTES = 16 };
    return (m->offset | m->pitch | m->stride) * m->element_bytes % BYTES == 0;
}

/* `blocked` takes longer where its loads are of single elements, or c is larger than a tile here. */
static const char *unsuited_f32(const ndr_matmul_request *r, const sizes *s)
{
    enum { LEAST_DEPTH = 96, LEAST_ELEMENTS = 4000, LEAST_ROWS = 33 };
    const bool is_odd = ndr_matmul_run_of(r, &r->a) == 1 || ndr_matmul_run_of(r, &r->b) == 1;
    if (!is_odd && s->tiles == 1) return "rows are aligned, and c is small";
    const bool pays = r->depth >= LEAST_DEPTH && r->c.rows * r->c.cols >= LEAST_ELEMENTS && r->c.rows >= LEAST_ROWS;
    return pays ? NULL : "the products are too small to pay for the parts of a and b";
}

/* `units` reads aligned matrices where they are, and divides the depth if there are few tiles. */
static const char *unsuited(const ndr_op_case *of)
{
    enum { MOST_DEPTH_OF_FEW = 320, MOST_DEPTH_OF_MANY = 1024 };
    const ndr_matmul_request *r = of->request;
    const sizes s = sizes_for(r);
    const bool are_many = 2 * s.tiles * ndr_matmul_first_count(r) >= of->caps->info.compute_units;
    if (r->depth > (are_many ? MOST_DEPTH_OF_MANY : MOST_DEPTH_OF_FEW)) return "the depth is too large";
    if (r->dtype == NDR_DTYPE_F32) return are_many ? unsuited_f32(r, &s) : "there are too few products";
    return is_aligned(&r->a) && is_aligned(&r->b) ? "rows are aligned" : NULL;
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_matmul_request *r = of->request;
    const sizes s = sizes_for(r);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_2d(ndr_matmul_first_count(r), s.tiles * s.items, 1, s.items),
                           .local_bytes = s.local_bytes };
    snprintf(plan->options, sizeof plan->options,
             "-DT=float -DTILE_M=%zu -DTILE_N=%zu -DDEPTH=%zu -DNDR_PTX_GROUPS=%zu%s", s.rows, s.cols, s.depth,
             s.groups, ndr_matmul_print_elements(r).chars);
}

NDR_OP_VARIANT(matmul, small, "gemm_small", NDR_NEEDS_SMALL_MMA, .cannot = cannot, .unsuited = unsuited,
               .write = ndr_matmul_write, .plan = plan, .launch = ndr_matmul_launch_kernel, .prove = ndr_matmul_prove,
               .proves_later = true);
