/* chunks.c - shared by the reductions in chunks: groups of one item, which take one chunk after the other. */
#include "ops/reduce/reduce.h"

/* One for each compute unit, because more take longer to launch. At least two, because one group has no workspace. */
static size_t count_groups(const ndr_caps *caps, size_t chunks)
{
    return ndr_min_size(chunks, ndr_max_size(caps->info.compute_units, 2));
}

void ndr_reduce_plan_chunks(const ndr_caps *caps, const void *request, ndr_op_plan *plan)
{
    const size_t chunks = ndr_reduce_chunks_for(request).count;
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(count_groups(caps, chunks), 1) };
    ndr_reduce_print_options(request, caps->info.type == NDR_DEVICE_TYPE_CPU ? "-DFETCH_AHEAD=1" : "", plan->options);
    if (chunks > 1) plan->workspace_bytes = ndr_reduce_partials_bytes(request, chunks);
}

ndr_status ndr_reduce_launch_chunks(ndr_op_job *job, ndr_kernel *kernel, unsigned *slot)
{
    const ndr_reduce_request *r = job->request;
    NDR_TRY(ndr_reduce_take_slot(job, slot));
    return ndr_op_launch(job, kernel, job->plan.range, ndr_operand_arg(&r->input), r->input.offset, r->input.cols,
                         ndr_reduce_chunks_for(r).elements, ndr_op_workspace_arg(job), *slot, r->output.buffer,
                         r->output.offset);
}

ndr_status ndr_reduce_run_chunks(ndr_op_job *job)
{
    ndr_kernel *kernel;
    unsigned slot;
    NDR_TRY(ndr_op_get_main_kernel(job, &kernel));
    return ndr_reduce_launch_chunks(job, kernel, &slot);
}
