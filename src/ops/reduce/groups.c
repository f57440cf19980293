/* groups.c - shared by the reductions with groups of many items, which divide the input into tiles. */
#include "ops/reduce/reduce.h"

#include <stdio.h>

void ndr_reduce_plan_groups(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    const ndr_reduce_request *r = request;
    const size_t bytes = ndr_dtype_size(r->dtype);
    const ndr_reduce_groups groups = ndr_reduce_groups_for(caps, r);
    char sizes[64];
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(groups.count * groups.size, groups.size),
                           .local_bytes = 2 * groups.size * bytes + sizeof(cl_uint) };
    snprintf(sizes, sizeof sizes, "-DGROUP=%zu -DLANES=%zu", groups.size, NDR_TILE_VECTOR_BYTES / bytes);
    ndr_reduce_print_options(r, sizes, plan->options);
    if (groups.count > 1) plan->workspace_bytes = ndr_reduce_partials_bytes(r, groups.count);
}

ndr_status ndr_reduce_launch_groups(ndr_op_job *job, ndr_kernel *kernel, unsigned *slot)
{
    const ndr_reduce_request *r = job->request;
    NDR_TRY(ndr_reduce_take_slot(job, slot));
    return ndr_op_launch(job, kernel, job->plan.range, ndr_operand_arg(&r->input), r->input.offset, r->input.cols,
                         ndr_op_workspace_arg(job), *slot, r->output.buffer, r->output.offset);
}

ndr_status ndr_reduce_run_groups(ndr_op_job *job)
{
    ndr_kernel *kernel;
    unsigned slot;
    NDR_TRY(ndr_op_get_main_kernel(job, &kernel));
    return ndr_reduce_launch_groups(job, kernel, &slot);
}
