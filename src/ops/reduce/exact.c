/* exact.c - sums and dot products of floats that are rounded once. */
#include "ops/reduce/reduce.h"

#include <stdio.h>

#include "shared/exact.h"

/* Items that each have so many elements of a block. */
static size_t blocks_of(const ndr_reduce_request *r, size_t group, bool is_chunks)
{
    const size_t elements = is_chunks ? NDR_EXACT_ELEMENTS_ON_CPUS : NDR_EXACT_ELEMENTS;
    return ndr_max_size(ndr_ceil_div(r->input.cols, group * elements), 1);
}

static void plan_groups_of(const ndr_op_case *of, size_t group, bool is_chunks, ndr_op_plan *plan)
{
    enum { MAX_GROUPS = 512, MAX_CHUNKS = 128, HALVES = 6 /* of an item, at most */ };
    const ndr_reduce_request *r = of->request;
    const bool is_64 = r->dtype == NDR_DTYPE_F64, is_dot = ndr_reduce_is_dot(r);
    const size_t cells = (size_t)NDR_EXACT_CELLS(is_64, is_dot), words = (size_t)NDR_EXACT_WORDS(is_64, is_dot);
    const size_t groups = ndr_min_size(blocks_of(r, group, is_chunks), is_chunks ? MAX_CHUNKS : MAX_GROUPS);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(groups * group, group),
                           .local_bytes = (cells + ndr_max_size(group * HALVES, cells) + 2) * sizeof(cl_long),
                           .workspace_bytes = NDR_WORKSPACE_HEAD_BYTES
                                              + (of->caps->orders_device ? 0 : groups * words * sizeof(cl_uint)) };
    snprintf(plan->options, sizeof plan->options, "-DWORD=%s -DGROUP=%zu%s%s%s", is_64 ? "ulong" : "uint", group,
             is_dot ? " -DIS_DOT=1" : "",
             is_chunks && of->caps->info.type == NDR_DEVICE_TYPE_CPU ? " -DFETCH_AHEAD=1" : "",
             is_chunks ? "" : ndr_op_registers(of->caps));
}

static void plan_chunks(const ndr_op_case *of, ndr_op_plan *plan) { plan_groups_of(of, 1, true, plan); }

static void plan_groups(const ndr_op_case *of, ndr_op_plan *plan)
{
    enum { PREFERRED_GROUP = 256 };
    const size_t limit = ndr_min_size(of->caps->info.max_group_size, of->caps->info.max_local_size[2]);
    size_t group = PREFERRED_GROUP;
    while (group > limit && group > 1) group /= 2;
    plan_groups_of(of, group, false, plan);
}

/* One group rounds the sum of the groups' long numbers: the last one, or that of a second launch. */
static ndr_status launch(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->of.request;
    const size_t group = job->plan.range.local.size[0], groups = job->plan.range.global.size[0] / group;
    const bool is_chunks = job->of.variant->unsuited != NULL;
    NDR_TRY(ndr_op_launch(job, job->kernel, job->plan.range, NDR_NUMERICS_INPUT(r, blocks_of(r, group, is_chunks)),
                          ndr_op_workspace_arg(job), ndr_op_take_slot(job), r->output.buffer, r->output.offset));
    if (job->of.caps->orders_device) return NDR_OK;
    enum { ROUNDING = 256 };
    const size_t limit = ndr_min_size(job->others[0]->info.max_group_size, job->of.caps->info.max_group_size);
    const size_t rounding = ndr_min_size(ROUNDING, limit);
    return ndr_op_launch(job, job->others[0], ndr_nd_range_1d(rounding, rounding), ndr_op_workspace_arg(job), groups,
                         r->output.buffer, r->output.offset);
}

#define EXACT(variant, ...)                                                                                     \
    NDR_OP_VARIANT(reduce, variant, "reduce_exact", 0, .others = { "round_exact" }, .form = NDR_NUMERICS_EXACT, \
                   .cannot = ndr_numerics_cannot, .launch = launch, __VA_ARGS__)
EXACT(exact_chunks, .unsuited = ndr_op_lacks_vectors, .plan = plan_chunks);
EXACT(exact_groups, .plan = plan_groups);
