/* lines.c - where the lines of an array are, and the implementations of ndr_array_scan(). Few lines are divided into parts,
 * which depend on sizes alone: so do the bits of sums. */
#include "ops/scan/lines.h"

#include <stdio.h>

/* ---- where lines are ---- */

static uint64_t distance(int64_t stride) { return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride; }

static uint64_t farther(int64_t a, int64_t b) { return distance(a) > distance(b) ? distance(a) : distance(b); }

/* The other dimensions, the one with the nearest neighbours last. */
typedef struct kept {
    size_t size;
    int64_t from, to;
} kept;

static unsigned list_kept(const ndr_array *input, const ndr_array *output, unsigned axis, kept dims[2])
{
    unsigned count = 0;
    for (unsigned d = 0; d < input->shape.dims; ++d)
        if (d != axis && input->shape.size[d] != 1)
            dims[count++] = (kept){ input->shape.size[d], input->stride[d], output->stride[d] };
    if (count == 2 && farther(dims[0].from, dims[0].to) < farther(dims[1].from, dims[1].to)) {
        const kept inner = dims[0];
        dims[0] = dims[1];
        dims[1] = inner;
    }
    return count;
}

/* Two dimensions are one if both arrays step through them alike. */
static bool are_one(const kept *outer, const kept *inner)
{
    const bool fits = inner->size <= INT32_MAX && farther(inner->from, inner->to) <= INT32_MAX;
    return fits && outer->from == inner->from * (int64_t)inner->size && outer->to == inner->to * (int64_t)inner->size;
}

/* A backward scan begins at the last element. */
static ndr_line_steps steps_of(const ndr_array *array, unsigned axis, bool is_backward)
{
    const int64_t step = array->stride[axis];
    const size_t count = array->shape.size[axis];
    ndr_line_steps s = { .first = array->offset, .step = step };
    if (!is_backward || count == 0) return s;
    s.step = -step;
    s.first = (size_t)((int64_t)array->offset + (int64_t)(count - 1) * step);
    return s;
}

void ndr_lines_lay_out(const ndr_array *input, const ndr_array *output, unsigned axis, ndr_line_request *r)
{
    kept dims[2] = { { 1, 0, 0 }, { 1, 0, 0 } };
    unsigned count = list_kept(input, output, axis, dims);
    if (count == 2 && are_one(&dims[0], &dims[1])) {
        dims[0] = (kept){ dims[0].size * dims[1].size, dims[1].from, dims[1].to };
        count = 1;
    }
    const kept none = { 1, 0, 0 }, inner = count > 0 ? dims[count - 1] : none, outer = count > 1 ? dims[0] : none;
    r->input = input;
    r->output = output;
    r->count = input->shape.size[axis];
    r->inner = inner.size;
    r->lines = inner.size * outer.size;
    r->from = steps_of(input, axis, r->scan.is_backward);
    r->to = steps_of(output, axis, r->scan.is_backward);
    r->from.inner = inner.from, r->from.outer = outer.from;
    r->to.inner = inner.to, r->to.outer = outer.to;
    r->is_along = r->lines == 1 || (r->count > 1 && farther(r->from.step, r->to.step) < farther(inner.from, inner.to));
    r->is_unit = r->is_along ? distance(r->from.step) == 1 && r->from.step == r->to.step : inner.from == 1 && inner.to == 1;
}

bool ndr_lines_are_packed(const ndr_line_request *r)
{
    const bool steps = r->is_along && r->is_unit && r->from.step == (r->scan.is_backward ? -1 : 1);
    const bool follow = r->from.inner == (int64_t)r->count && r->to.inner == (int64_t)r->count;
    return steps && (r->lines == 1 || (r->lines == r->inner && follow));
}

/* ---- how groups share them ---- */

typedef struct shares {
    size_t span, blocks, parts, size; /* lines of a block; elements of a part */
    size_t group, items;              /* of a block; of a line */
} shares;

/* At least `enough` groups, if parts have at least `least` elements, and `longest` at most. One part needs no second
 * launch. */
static void divide(const ndr_line_request *r, size_t enough, size_t least, size_t longest, shares *s)
{
    const size_t wanted = s->blocks < enough ? ndr_ceil_div(4 * enough, ndr_max_size(s->blocks, 1)) : 1;
    s->parts = ndr_clamp_size(ndr_max_size(r->count, 1) / ndr_max_size(least, 1), 1, wanted);
    s->parts = ndr_max_size(s->parts, ndr_ceil_div(r->count, longest));
    s->size = ndr_max_size(ndr_ceil_div(r->count, s->parts), 1);
    s->parts = ndr_max_size(ndr_ceil_div(r->count, s->size), 1);
}

/* A block of lines that are scanned together is a few lines of a cache wide; of few lines it has all, and parts. Of lines
 * that are scanned one by one, it has enough elements to amortise its start. */
static shares divide_in_chunks(const ndr_line_request *r)
{
    enum { MOST = 1024, FEW = 64, BLOCKS = 8, ENOUGH = 1 << 14, LEAST = 1 << 15 };
    shares s = { .group = 1, .items = 1 };
    const size_t inner = ndr_max_size(r->inner, 1), eighth = ndr_ceil_div(inner, BLOCKS * FEW) * FEW;
    if (r->is_along && r->is_unit) s.span = ndr_max_size(ENOUGH / ndr_max_size(r->count, 1), 1);
    else s.span = r->lines < BLOCKS * FEW ? MOST : ndr_min_size(eighth, MOST);
    s.span = ndr_min_size(s.span, inner);
    s.blocks = r->lines / inner * ndr_ceil_div(inner, s.span);
    divide(r, BLOCKS, LEAST / s.span, SIZE_MAX, &s);
    return s;
}

/* Items of a line have about eight elements or more. One that goes through a part also goes through the values of the
 * parts before it, of at most as many where the fault loops_end_early ends both. */
static shares divide_in_groups(const ndr_caps *caps, const ndr_line_request *r)
{
    enum { PREFERRED_GROUP = 256, SMALL_GROUP = 64, OWN = 8, GROUPS = 256, TILES = 4, LONG = 256 };
    enum { TURNS_OF_TILE = 48 /* iterations of an item, at most */ };
    const size_t limit = ndr_max_size(1, ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]));
    const size_t bytes = (OWN + 2) * ndr_dtype_size(r->scan.dtype);
    shares s = { .group = r->is_along || r->lines >= PREFERRED_GROUP ? PREFERRED_GROUP : SMALL_GROUP, .items = 1 };
    while (s.group > limit || (s.group > 1 && s.group * bytes > caps->info.local_memory_bytes)) s.group /= 2;
    while (r->is_along && s.items < s.group && s.items * 2 * OWN <= r->count) s.items *= 2;
    s.span = s.group / s.items;
    s.blocks = ndr_ceil_div(r->lines, s.span);
    const size_t half = ndr_quirk_turns(caps->quirks) / 2, tile = s.items * OWN;
    if (s.items == 1) divide(r, GROUPS, LONG, half, &s);
    else divide(r, GROUPS, tile * TILES, ndr_min_size(half / TURNS_OF_TILE, SIZE_MAX / tile) * tile, &s);
    return s;
}

/* ---- both ---- */

enum { CHUNKS, GROUPS };

static shares shares_for(const ndr_op_case *of)
{
    return of->variant->form == CHUNKS ? divide_in_chunks(of->request) : divide_in_groups(of->caps, of->request);
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_line_request *r = of->request;
    const shares s = shares_for(of);
    const size_t bytes = ndr_dtype_size(r->scan.dtype);
    char more[64];
    ndr_scan_request scan = r->scan; /* of kernels that go through memory */
    scan.is_backward = r->is_along && r->is_unit && r->from.step < 0;
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(ndr_max_size(s.blocks, 1) * s.parts * s.group, s.group),
                           .local_bytes = s.items > 1 ? s.group * 10 * bytes : 0,
                           .workspace_bytes = s.parts > 1 ? NDR_WORKSPACE_HEAD_BYTES + s.parts * r->lines * bytes : 0 };
    if (of->variant->form == CHUNKS)
        snprintf(more, sizeof more, "-DALONG=%d -DIS_UNIT=%d%s", r->is_along && r->is_unit, r->is_unit,
                 of->caps->info.type == NDR_DEVICE_TYPE_CPU ? " -DFETCH_AHEAD=1" : "");
    else snprintf(more, sizeof more, "-DGROUP=%zu -DITEMS=%zu", s.group, s.items);
    ndr_scan_print_options(&scan, more, plan->options);
}

static ndr_status launch_pass(ndr_op_job *job, ndr_kernel *kernel)
{
    const ndr_line_request *r = job->of.request;
    const shares s = shares_for(&job->of);
    const size_t values = NDR_WORKSPACE_HEAD_BYTES / ndr_dtype_size(r->scan.dtype);
    const ndr_arg args[] = { ndr_array_arg(r->input),
                             ndr_arg_of(r->from.first),
                             ndr_arg_of(r->from.step),
                             ndr_arg_of(r->from.outer),
                             ndr_arg_of(r->from.inner),
                             ndr_array_arg(r->output),
                             ndr_arg_of(r->to.first),
                             ndr_arg_of(r->to.step),
                             ndr_arg_of(r->to.outer),
                             ndr_arg_of(r->to.inner),
                             ndr_arg_of(r->count),
                             ndr_arg_of(r->lines),
                             ndr_arg_of(r->inner),
                             ndr_arg_of(s.parts),
                             ndr_arg_of(s.size),
                             ndr_arg_of((unsigned)r->scan.has_initial),
                             r->scan.initial,
                             ndr_op_workspace_arg(job),
                             ndr_arg_of(values),
                             ndr_arg_of(s.span) };
    const size_t unused = job->of.variant->form == GROUPS; /* span */
    return ndr_op_launch_v(job, kernel, &job->plan.range, args, NDR_COUNT_OF(args) - unused);
}

static ndr_status launch(ndr_op_job *job)
{
    if (job->others[0]) NDR_TRY(launch_pass(job, job->others[0]));
    return launch_pass(job, job->kernel);
}

static NDR_OP_VARIANT(array_scan, line_chunks, "scan_line_chunks", 0, .others = { "scan_reduce_line_chunks" }, .form = CHUNKS,
                      .unsuited = ndr_op_lacks_vectors, .plan = plan, .launch = launch);
static NDR_OP_VARIANT(array_scan, line_groups, "scan_line_groups", 0, .others = { "scan_reduce_line_groups" }, .form = GROUPS,
                      .plan = plan, .launch = launch);

/* ---- the list ---- */

static const ndr_op_variant *const variants[] = { &ndr_array_scan_line_chunks, &ndr_array_scan_line_groups };

static ndr_op_work work_of(const void *request)
{
    const ndr_line_request *r = request;
    const uint64_t elements = (uint64_t)r->count * r->lines;
    return (ndr_op_work){ 2 * elements * ndr_dtype_size(r->scan.dtype),
                          ndr_dtype_describe(r->scan.dtype)->is_float ? elements : 0 };
}

/* Never tuned: another variant would change the bits of sums. */
const ndr_operation ndr_array_scan_operation = { "array_scan", variants, NDR_COUNT_OF(variants), NULL, work_of };
