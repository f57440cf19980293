/* halves.c - the product of f32 by a GPU's matrix units for half: a first kernel stores parts of the elements of a and b
 * in the workspace (shared/split.h), and checks them; a second one multiplies the parts. A variant's form is how many
 * parts an element has: 2 (`halves`), or 1 (`rounded`). */
#include "ops/matmul/matmul.h"

#include "shared/three_parts.h"

#include <stdio.h>

/* Of a group of the first kernel, and of the second one. */
enum { SPLIT_ITEMS = 4 * NDR_SPLIT_CHUNK, ITEMS = 384 };

/* By the number of parts. */
static const struct {
    double least_work;           /* multiplications that pay for the parts */
    unsigned stages, min_stages; /* of narrow tiles, of wide ones */
} kinds[] = { [1] = { 1.1e9, 6, 4 }, [2] = { 1 << 28, 4, 3 } };

typedef struct sizes {
    unsigned tile_n, stages; /* of a group of the second kernel: kernels/matmul/parts.clh */
    size_t tiles_m, tiles_n, stretches;
} sizes;

/* The units compute tiles in rounds. One of 64 columns takes 0.56 to 0.69 of the time of one of 128. */
static sizes sizes_for(const ndr_caps *caps, const ndr_matmul_request *r, unsigned parts)
{
    enum { PERCENT = 60 };
    const size_t units = ndr_max_size(1, caps->info.compute_units), tiles_m = ndr_ceil_div(r->c.rows, NDR_SPLIT_ROWS);
    const size_t wide = tiles_m * ndr_ceil_div(r->c.cols, 128), narrow = tiles_m * ndr_ceil_div(r->c.cols, 64);
    const bool is_narrow = PERCENT * ndr_ceil_div(narrow, units) < 100 * ndr_ceil_div(wide, units);
    return (sizes){ .tile_n = is_narrow ? 64 : 128,
                    .stages = is_narrow ? kinds[parts].stages : kinds[parts].min_stages,
                    .tiles_m = tiles_m,
                    .tiles_n = ndr_ceil_div(r->c.cols, is_narrow ? 64 : 128),
                    .stretches = ndr_ceil_div(r->depth, NDR_SPLIT_STEPS(parts, r->depth)) };
}

/* Lines of a and b, with padding. */
static size_t count_lines(const sizes *s) { return s->tiles_m * NDR_SPLIT_ROWS + s->tiles_n * s->tile_n; }

static size_t workspace_bytes(const sizes *s, unsigned parts)
{
    return NDR_WORKSPACE_HEAD_BYTES + s->stretches * NDR_SPLIT_LINE_BYTES(parts) * count_lines(s);
}

/* Of a group of the second kernel. If halves do not suffice it multiplies in three parts:
 * kernels/matmul/three_parts.clh. */
static size_t local_bytes(const sizes *s, unsigned parts)
{
    const size_t stage_bytes = NDR_SPLIT_LINE_BYTES(parts) * (NDR_SPLIT_ROWS + (size_t)s->tile_n);
    const size_t stages_bytes = s->stages * ndr_ceil_div(stage_bytes, 1024) * 1024;
    const size_t three_parts_bytes = s->tile_n * (size_t)NDR_THREE_PARTS_ROW_BYTES(s->tile_n);
    return ndr_max_size(stages_bytes, three_parts_bytes) + 1024 + NDR_THREE_PARTS_OTHER_BYTES;
}

/* ---- choosing ---- */

static const char *cannot(const ndr_op_case *of)
{
    const ndr_matmul_request *r = of->request;
    const unsigned parts = of->variant->form;
    const char *const unusual = ndr_matmul_is_unusual(of);
    if (unusual) return unusual;
    if (r->dtype != NDR_DTYPE_F32) return "the elements are not f32";
    if (parts == 1 && r->accuracy != NDR_ACCURACY_TF32) return "it rounds elements, and no lower accuracy is asked";
    if (parts == 1 && r->depth < 128) return "its error is shown to be within the bound only from a depth of 128 on";
    if (r->depth < 64) return "its error is shown to be within the bound only from a depth of 64 on";
    return ndr_matmul_is_too_wide(r);
}

static const char *unsuited(const ndr_op_case *of)
{
    enum { SHARE = 8, FEW_ROWS = 128 };
    const ndr_matmul_request *r = of->request;
    if (r->c.rows <= FEW_ROWS) return "c has one row of tiles, for which parts of b are not stored";
    const sizes s = sizes_for(of->caps, r, of->variant->form);
    const size_t bytes = workspace_bytes(&s, of->variant->form), tiles = s.tiles_m * ndr_ceil_div(r->c.cols, 64);
    if (bytes > of->caps->info.max_buffer_bytes || bytes > of->caps->info.global_memory_bytes / SHARE)
        return "the parts of a and b need more than an eighth of the device's memory";
    const double work = (double)r->c.rows * (double)r->c.cols * (double)r->depth;
    const bool pays = tiles >= of->caps->info.compute_units / 2 && work >= kinds[of->variant->form].least_work;
    return pays ? NULL : "c or the depth is too small to pay for the parts of a and b";
}

/* ---- launching ---- */

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const unsigned parts = of->variant->form;
    const sizes s = sizes_for(of->caps, of->request, parts);
    const size_t groups = ndr_min_size(s.tiles_m * s.tiles_n, ndr_max_size(1, of->caps->info.compute_units));
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(groups * ITEMS, ITEMS),
                           .local_bytes = local_bytes(&s, parts),
                           .workspace_bytes = workspace_bytes(&s, parts) };
    snprintf(plan->options, sizeof plan->options, "-DPARTS=%u -DTILE_N=%u -DSTAGES=%u -DNDR_PTX_TARGET=sm_90a", parts,
             s.tile_n, s.stages);
}

static ndr_status launch_product(ndr_op_job *job, const ndr_matmul_request *r)
{
    const sizes s = sizes_for(job->of.caps, r, job->of.variant->form);
    const size_t chunks = count_lines(&s) / NDR_SPLIT_CHUNK * s.stretches;
    const unsigned number = ndr_workspace_take_number(job->workspace);
    ndr_buffer *workspace = ndr_workspace_buffer(job->workspace);
    NDR_TRY(ndr_op_launch(job, job->others[0], ndr_nd_range_1d(chunks * SPLIT_ITEMS, SPLIT_ITEMS), r->c.rows, r->c.cols,
                          r->depth, ndr_operand_arg(&r->a), r->a.offset, r->a.pitch, ndr_operand_arg(&r->b),
                          r->b.offset, r->b.pitch, workspace, number));
    return ndr_op_launch(job, job->kernel, job->plan.range, r->c.rows, r->c.cols, r->depth,
                         ndr_matmul_scalar(r, r->alpha), ndr_operand_arg(&r->a), r->a.offset, r->a.pitch,
                         ndr_operand_arg(&r->b), r->b.offset, r->b.pitch, ndr_matmul_scalar(r, r->beta), r->c.buffer,
                         r->c.offset, r->c.pitch, workspace, number);
}

/* One product at a time: the workspace has room for its parts. */
static ndr_status launch(ndr_op_job *job) { return ndr_matmul_launch_parts(job, 1, launch_product); }

/* `blocked` needs no memory, and takes all that cannot() does not refuse. */
extern const ndr_op_variant ndr_matmul_blocked;
#define IN_PARTS(parts)                                                                                      \
    .kernel = "gemm_halves", .others = { "gemm_halves_parts" }, .file = "matmul/halves.cl", .form = (parts), \
    .cannot = cannot, .unsuited = unsuited, .plan = plan, .launch = launch, .prove = ndr_matmul_prove,       \
    .proves_later = true, .instead = &ndr_matmul_blocked

const ndr_op_variant ndr_matmul_halves = { .name = "halves", .needs = NDR_NEEDS_F16_MMA, IN_PARTS(2) };
const ndr_op_variant ndr_matmul_rounded = { .name = "rounded", .needs = NDR_NEEDS_ROUNDED_MMA, IN_PARTS(1) };
