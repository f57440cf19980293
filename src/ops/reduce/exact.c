/* exact.c - sums and dot products of floats that are rounded once. */
#include "ops/reduce/reduce.h"

#include <stdio.h>

#include "shared/exact.h"

/* What an item reads between two looks at exponents. */
typedef struct sizes {
    size_t group, lanes, rows;
} sizes;

static size_t cells_of(const ndr_reduce_request *r)
{
    return (size_t)NDR_EXACT_CELLS(r->dtype == NDR_DTYPE_F64, ndr_reduce_is_dot(r));
}

static size_t blocks_of(const ndr_reduce_request *r, const sizes *s)
{
    return ndr_max_size(ndr_ceil_div(r->input.cols, s->group * s->lanes * s->rows), 1);
}

static void plan_sizes(const ndr_op_case *of, const sizes *s, ndr_op_plan *plan)
{
    enum { MAX_GROUPS = 512, MAX_GROUPS_ON_CPUS = 128 };
    const ndr_reduce_request *r = of->request;
    const size_t cells = cells_of(r);
    const size_t groups = ndr_min_size(blocks_of(r, s), s->group == 1 ? MAX_GROUPS_ON_CPUS : MAX_GROUPS);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(groups * s->group, s->group),
                           .local_bytes = ndr_max_size(cells + s->group + 1, NDR_EXACT_MAX_CELLS) * sizeof(cl_long),
                           .workspace_bytes = NDR_WORKSPACE_HEAD_BYTES + groups * cells * sizeof(cl_long) };
    snprintf(plan->options, sizeof plan->options, "-DWORD=%s -DGROUP=%zu -DLANES=%zu -DROWS=%zu%s%s",
             r->dtype == NDR_DTYPE_F32 ? "uint" : "ulong", s->group, s->lanes, s->rows,
             ndr_reduce_is_dot(r) ? " -DIS_DOT=1" : "",
             s->group == 1 && of->caps->info.type == NDR_DEVICE_TYPE_CPU ? " -DFETCH_AHEAD=1" : "");
}

static const sizes chunk_sizes = { 1, 16, 64 };

static sizes group_sizes(const ndr_caps *caps)
{
    const size_t limit = ndr_min_size(caps->info.max_group_size, caps->info.max_local_size[2]);
    sizes s = { 256, 4, 16 };
    while (s.group > limit && s.group > 2) s.group /= 2;
    return limit < 2 ? chunk_sizes : s;
}

static void plan_chunks(const ndr_op_case *of, ndr_op_plan *plan) { plan_sizes(of, &chunk_sizes, plan); }

static void plan_groups(const ndr_op_case *of, ndr_op_plan *plan)
{
    const sizes s = group_sizes(of->caps);
    plan_sizes(of, &s, plan);
}

static ndr_status launch(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->of.request;
    const size_t group = job->plan.range.local.size[0], groups = job->plan.range.global.size[0] / group;
    const sizes s = group == 1 ? chunk_sizes : group_sizes(job->of.caps);
    const size_t rounding_items = ndr_min_size(256, job->others[0]->info.max_group_size);
    NDR_TRY(ndr_op_launch(job, job->kernel, job->plan.range, NDR_NUMERICS_INPUT(r, blocks_of(r, &s)),
                          ndr_op_workspace_arg(job)));
    return ndr_op_launch(job, job->others[0], ndr_nd_range_1d(rounding_items, rounding_items), ndr_op_workspace_arg(job),
                         groups, r->output.buffer, r->output.offset);
}

#define EXACT(variant, ...)                                                                               \
    const ndr_op_variant ndr_reduce_##variant = {                                                         \
        .name = #variant, .file = "reduce/exact.cl", .kernel = "reduce_exact", .others = { "round_exact" }, \
        .form = NDR_NUMERICS_EXACT, .cannot = ndr_numerics_cannot, .launch = launch, __VA_ARGS__          \
    }
EXACT(exact_chunks, .unsuited = ndr_op_lacks_vectors, .plan = plan_chunks);
EXACT(exact_groups, .plan = plan_groups);
