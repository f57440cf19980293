/* parts.c - what `split`, `halves` and `rounded` share: a first kernel stores parts of the elements of a and b in the
 * workspace, and a second one multiplies them. */
#include "ops/matmul/matmul.h"

#include <stdio.h>

enum { ITEMS = 4 * NDR_SPLIT_CHUNK }; /* of a group of the first kernel */

typedef struct sizes {
    unsigned tile_n, stages, items; /* of a group of the second kernel: kernels/matmul/wgmma.clh */
    size_t tiles_m, tiles_n, stretches;
} sizes;

extern const ndr_op_row ndr_matmul_blocked;

/* The units compute tiles in rounds. One of 64 columns takes 0.55 to 0.69 of the time of one of 128. */
static sizes sizes_for(const ndr_caps *caps, const ndr_matmul_request *r, unsigned parts)
{
    const size_t units = ndr_max_size(1, caps->info.compute_units), tiles_m = ndr_ceil_div(r->c.rows, NDR_SPLIT_ROWS);
    const size_t wide = tiles_m * ndr_ceil_div(r->c.cols, 128), narrow = tiles_m * ndr_ceil_div(r->c.cols, 64);
    const size_t percent = parts == 3 ? 55 : 60;
    const bool is_narrow = percent * ndr_ceil_div(narrow, units) < 100 * ndr_ceil_div(wide, units);
    const unsigned wide_stages = parts == 2 ? 3 : 4, narrow_stages = parts == 2 ? 4 : 6;
    return (sizes){ .tile_n = is_narrow ? 64 : 128,
                    .stages = is_narrow ? narrow_stages : wide_stages,
                    .items = parts == 3 ? 288 : 384,
                    .tiles_m = tiles_m,
                    .tiles_n = ndr_ceil_div(r->c.cols, is_narrow ? 64 : 128),
                    .stretches = ndr_ceil_div(r->depth, NDR_SPLIT_DEPTH * NDR_SPLIT_SLABS(parts)) };
}

/* Lines of a and b, with padding. */
static size_t count_lines(const sizes *s) { return s->tiles_m * NDR_SPLIT_ROWS + s->tiles_n * s->tile_n; }

static ndr_nd_range multiply_range(const ndr_caps *caps, const sizes *s)
{
    const size_t groups = ndr_min_size(s->tiles_m * s->tiles_n, ndr_max_size(1, caps->info.compute_units));
    return ndr_nd_range_1d(groups * s->items, s->items);
}

/* Of a group that multiplies halves. If they do not suffice it multiplies in three parts:
 * kernels/matmul/three_parts.clh. */
static size_t halves_bytes(const sizes *s, size_t stages_bytes)
{
    enum { STAGES = 4, FETCHES = 4, SLAB = 32, MARKS = 10 };
    const size_t stage = (size_t)3 * SLAB * s->tile_n * 2;
    const size_t fetched = SLAB * (NDR_SPLIT_ROWS + (size_t)s->tile_n) * sizeof(float);
    const size_t barriers = 2 * ndr_max_size(s->stages, STAGES) * sizeof(uint64_t);
    return ndr_max_size(stages_bytes, STAGES * stage + FETCHES * fetched) + 1024 + barriers + MARKS * sizeof(uint32_t);
}

void ndr_matmul_plan_split(const ndr_caps *caps, const ndr_matmul_request *request, unsigned parts, ndr_op_plan *plan)
{
    const sizes s = sizes_for(caps, request, parts);
    const size_t line_bytes = NDR_SPLIT_LINE_BYTES(parts), lines = NDR_SPLIT_ROWS + (size_t)s.tile_n;
    const size_t stages_bytes = s.stages * ndr_ceil_div(line_bytes * lines, 1024) * 1024;
    *plan = (ndr_op_plan){ .range = multiply_range(caps, &s),
                           .local_bytes = parts < 3 ? halves_bytes(&s, stages_bytes)
                                                    : stages_bytes + 1024 + 2 * s.stages * sizeof(uint64_t),
                           .workspace_bytes = NDR_WORKSPACE_HEAD_BYTES + s.stretches * line_bytes * count_lines(&s) };
    snprintf(plan->options, sizeof plan->options, "%s-DTILE_N=%u -DSTAGES=%u -DNDR_PTX_TARGET=sm_90a",
             parts == 1 ? "-DPARTS=1 " : "", s.tile_n, s.stages);
}

double ndr_matmul_work(const ndr_matmul_request *request)
{
    return (double)request->c.rows * (double)request->c.cols * (double)request->depth;
}

/* ---- launches ---- */

ndr_status ndr_matmul_launch_split(ndr_op_job *job, const ndr_matmul_request *r, unsigned parts,
                                   ndr_kernel *const *kernels)
{
    const sizes s = sizes_for(job->caps, r, parts);
    const size_t chunks = count_lines(&s) / NDR_SPLIT_CHUNK * s.stretches;
    const unsigned number = ndr_workspace_take_number(job->workspace);
    ndr_buffer *workspace = ndr_workspace_buffer(job->workspace);
    NDR_TRY(ndr_op_launch(job, kernels[0], ndr_nd_range_1d(chunks * ITEMS, ITEMS), r->c.rows, r->c.cols, r->depth,
                          ndr_operand_arg(&r->a), r->a.offset, r->a.pitch, ndr_operand_arg(&r->b), r->b.offset,
                          r->b.pitch, workspace, number));
    return ndr_op_launch(job, kernels[1], multiply_range(job->caps, &s), r->c.rows, r->c.cols, r->depth,
                         ndr_matmul_scalar(r, r->alpha), ndr_operand_arg(&r->a), r->a.offset, r->a.pitch,
                         ndr_operand_arg(&r->b), r->b.offset, r->b.pitch, ndr_matmul_scalar(r, r->beta), r->c.buffer,
                         r->c.offset, r->c.pitch, workspace, number);
}

/* The row that needs no memory takes all that cannot() does not refuse. */
ndr_status ndr_matmul_run_split(ndr_op_job *job, const char *first, ndr_matmul_launch *launch)
{
    ndr_kernel *kernels[2];
    NDR_TRY(ndr_op_get_kernel(job, first, &kernels[0]));
    NDR_TRY(ndr_op_get_kernel(job, job->row->kernel, &kernels[1]));
    if (ndr_op_borrow(job) == NDR_OK) return ndr_matmul_run_parts(job, 1, launch, kernels);
    ndr_log(NDR_LOG_INFO, "op.row", "matmul: blocked instead of %s: %s", job->row->name, ndr_last_error());
    return ndr_op_run_row(&ndr_matmul_blocked, job->order, job->request, job->keeps_events ? &job->event : NULL);
}
