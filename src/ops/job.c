/* job.c - runs one request: its kernels, its workspace and its launches in order. */
#include "device/context.h"
#include "device/queue.h"
#include "device/turns.h"
#include "ops/ops.h"

/* ---- kernels ---- */

ndr_status ndr_op_get_kernel(const ndr_op_job *job, const char *name, ndr_kernel **kernel)
{
    const ndr_kernel_desc desc = { .name = name, .bundled = job->row->file, .options = job->plan.options };
    return ndr_kernel_get(job->context, &desc, kernel);
}

static void plan_for_groups_of(ndr_op_job *job, size_t items)
{
    if (job->caps != &job->smaller) job->smaller = *job->caps;
    job->smaller.info.max_group_size = items;
    job->caps = &job->smaller;
    job->row->plan(job->caps, job->request, &job->plan);
}

/* Ends, because each plan has smaller groups than the one before. */
ndr_status ndr_op_get_main_kernel(ndr_op_job *job, ndr_kernel **kernel)
{
    for (;;) {
        NDR_TRY(ndr_op_get_kernel(job, job->row->kernel, kernel));
        const size_t limit = ndr_max_size(1, (*kernel)->info.max_group_size);
        const ndr_range *local = &job->plan.range.local;
        if (ndr_sizes_product(local->dims, local->size) <= limit) return NDR_OK;
        plan_for_groups_of(job, limit);
    }
}

/* ---- workspace ---- */

ndr_status ndr_op_borrow(ndr_op_job *job)
{
    if (job->context->checker) NDR_TRY(ndr_turns_wait_before(job->order, job->row->kernel)); /* without the workspace */
    return ndr_workspace_borrow(job->queue, job->plan.workspace_bytes, &job->workspace);
}

ndr_arg ndr_op_workspace_arg(const ndr_op_job *job)
{
    return job->workspace ? ndr_arg_of(ndr_workspace_buffer(job->workspace)) : ndr_null;
}

/* ---- launches ---- */

/* The first launch waits for what the caller named. Out of order it also waits for the previous user of the workspace,
 * and each other launch for the one before. */
static ndr_order next_order(const ndr_op_job *job)
{
    ndr_order order = job->launches == 0 ? *job->order : (ndr_order){ .queue = job->queue };
    if (!job->queue->is_out_of_order) return order;
    order.also = job->event ? job->event : job->workspace ? ndr_workspace_busy_until(job->workspace) : NULL;
    return order;
}

ndr_status ndr_op_launch_v(ndr_op_job *job, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                           size_t arg_count)
{
    const ndr_order order = next_order(job);
    ndr_event *done = NULL;
    const ndr_launch_request request = { &order, kernel, range, args, arg_count, NULL, NULL };
    NDR_TRY(ndr_launch_in(&request, job->keeps_events ? &done : NULL));
    ++job->launches;
    job->event = ndr_event_join(job->event, done);
    return NDR_OK;
}
