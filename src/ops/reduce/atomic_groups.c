/* atomic_groups.c - the atomic method by groups of many items: each group combines its value into one cell, which is
 * then copied to the output. */
#include "ops/reduce/reduce.h"

static const char *cannot(const void *request) { return ndr_reduce_method_mismatch(request, NDR_REDUCE_ATOMIC); }

static void plan(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    const ndr_reduce_request *r = request;
    const ndr_reduce_groups groups = ndr_reduce_groups_for(caps, r->input.cols);
    *plan = (ndr_op_plan){ .file = "reduce/atomic_groups.cl",
                           .kernel = "reduce_atomic",
                           .range = ndr_nd_range_1d(groups.count * groups.size, groups.size),
                           .workspace_bytes = ndr_reduce_workspace_bytes(r, 1) };
    ndr_reduce_print_options(r, false, plan->options);
}

static ndr_status run(ndr_op_job *job)
{
    const ndr_reduce_request *r = job->request;
    ndr_kernel *begin, *rest, *end;
    NDR_TRY(ndr_op_get_kernel(job, "reduce_begin", &begin));
    NDR_TRY(ndr_op_get_main_kernel(job, &rest));
    NDR_TRY(ndr_op_get_kernel(job, "reduce_end", &end));
    NDR_TRY(ndr_op_borrow(job));
    ndr_buffer *workspace = ndr_workspace_buffer(job->workspace);
    const size_t cell = NDR_WORKSPACE_HEAD_BYTES / r->input.element_bytes;
    NDR_TRY(ndr_op_launch(job, begin, ndr_range_1d(1), r->input.cols, workspace, cell));
    NDR_TRY(ndr_op_launch(job, rest, job->plan.range, ndr_operand_arg(&r->input), r->input.offset, r->input.cols,
                          workspace, cell));
    return ndr_op_launch(job, end, ndr_range_1d(1), workspace, cell, r->output.buffer, r->output.offset);
}

const ndr_op_row ndr_reduce_atomic_groups = { .name = "atomic_groups", .cannot = cannot, .plan = plan, .run = run };
