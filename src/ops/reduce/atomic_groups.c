/* atomic_groups.c - the atomic method by groups of many items on devices that do not order memory between groups: a
 * second launch stores the combined value. */
#include "ops/reduce/reduce.h"

static const char *cannot(const void *request) { return ndr_reduce_method_mismatch(request, NDR_REDUCE_ATOMIC); }

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    *plan = (ndr_op_plan){ .file = "reduce/atomic_groups.cl", .kernel = "reduce_atomic" };
    ndr_reduce_plan_groups(caps, request, plan);
}

static ndr_status run(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->request;
    ndr_kernel *each, *take;
    ndr_arg workspace;
    unsigned slot;
    NDR_TRY(ndr_op_get_main_kernel(job, &each));
    NDR_TRY(ndr_op_get_kernel(job, "reduce_take_cell", &take));
    NDR_TRY(ndr_reduce_launch_groups(job, each, &workspace, &slot));
    if (!job->workspace) return NDR_OK;
    return ndr_op_launch(job, take, ndr_range_1d(1), workspace, slot, r->output.buffer, r->output.offset);
}

const ndr_op_row ndr_reduce_atomic_groups = { .name = "atomic_groups", .cannot = cannot, .plan = plan, .run = run };
