/* progress.c - whether groups that have begun go on while others wait for them. */
#include "device/context.h"
#include "device/queue.h"
#include "launch/launch.h"
#include "ops/progress.h"

unsigned ndr_progress_looks = 1 << 22;

enum { TAKEN, GAVE_UP, ENDED, MARKS }; /* as in kernels/probe/progress.cl */

/* More groups than any device runs at a time. */
static ndr_nd_range range_for(const ndr_kernel *kernel, const ndr_device_info *device)
{
    enum { ITEMS = 64, GROUPS_OF_A_UNIT = 64 };
    const size_t items = ndr_clamp_size(kernel->info.max_group_size, 1, ITEMS);
    return ndr_nd_range_1d(items * GROUPS_OF_A_UNIT * ndr_max_size(device->compute_units, 1), items);
}

static ndr_status run(ndr_queue *queue, ndr_kernel *kernel, ndr_buffer *buffer, bool *goes_on)
{
    static const cl_uint zero = 0;
    const ndr_nd_range range = range_for(kernel, &queue->context->caps.info);
    cl_uint marks[MARKS];
    NDR_TRY(ndr_buffer_fill(queue, buffer, 0, sizeof marks, &zero, sizeof zero, NULL));
    NDR_TRY(ndr_launch(queue, kernel, range, buffer, (cl_uint)ndr_progress_looks));
    NDR_TRY(ndr_buffer_read(queue, buffer, 0, sizeof marks, marks, NULL));
    *goes_on = marks[GAVE_UP] == 0 && marks[ENDED] == range.global.size[0] / range.local.size[0];
    return NDR_OK;
}

ndr_status ndr_progress_prove(ndr_queue *queue, bool *goes_on)
{
    const ndr_kernel_desc desc = { .name = "probe_progress", .bundled = "probe/progress.cl" };
    ndr_kernel *kernel;
    ndr_buffer *buffer;
    NDR_TRY(ndr_kernel_get(queue->context, &desc, &kernel));
    NDR_TRY(ndr_buffer_create(queue->context, MARKS * sizeof(cl_uint), &buffer));
    const ndr_status status = run(queue, kernel, buffer, goes_on);
    ndr_buffer_destroy(buffer);
    return status;
}
