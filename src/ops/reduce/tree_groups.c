/* tree_groups.c - the tree by groups of many items on devices that do not order memory between groups: a second launch
 * combines the partials. */
#include "ops/reduce/reduce.h"

/* One launch that stores one element for each of its groups. */
static ndr_status fold(ndr_op_job *job, ndr_kernel *kernel, const ndr_operand *input, const ndr_operand *output,
                       size_t groups)
{
    const size_t group_size = job->plan.range.local.size[0];
    return ndr_op_launch(job, kernel, ndr_nd_range_1d(groups * group_size, group_size), ndr_operand_arg(input),
                         input->offset, input->cols, output->buffer, output->offset);
}

static ndr_status run(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->request;
    ndr_kernel *kernel;
    NDR_TRY(ndr_op_get_main_kernel(job, &kernel));
    const size_t groups = job->plan.range.global.size[0] / job->plan.range.local.size[0];
    if (groups == 1) return fold(job, kernel, &r->input, &r->output, 1);
    NDR_TRY(ndr_op_borrow(job));
    const ndr_operand partials =
        ndr_reduce_operand("partials", ndr_workspace_buffer(job->workspace),
                           NDR_WORKSPACE_HEAD_BYTES / r->input.element_bytes, groups, r->dtype);
    NDR_TRY(fold(job, kernel, &r->input, &partials, groups));
    return fold(job, kernel, &partials, &r->output, 1);
}

const ndr_op_row ndr_reduce_tree_groups = {
    .name = "tree_groups",
    .file = "reduce/tree_groups.cl",
    .kernel = "reduce_tree",
    .cannot = ndr_reduce_is_no_tree,
    .plan = ndr_reduce_plan_groups,
    .run = run,
};
