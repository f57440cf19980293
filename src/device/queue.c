/* queue.c - an in-order line of work. */
#include "device/device.h"

#include <stdlib.h>

ndr_status ndr_queue_create(ndr_context *context, const ndr_queue_desc *desc, ndr_queue **queue)
{
    NDR_REQUIRE_SET(context);
    NDR_REQUIRE_SET(queue);
    const bool profiling = desc && desc->profiling;
    ndr_queue *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a queue");
    cl_int error;
    made->cl = clCreateCommandQueue(context->cl, context->device, profiling ? CL_QUEUE_PROFILING_ENABLE : 0, &error);
    if (error != CL_SUCCESS) {
        free(made);
        return ndr_fail_cl(error, "clCreateCommandQueue");
    }
    made->context = ndr_context_keep(context);
    made->profiling = profiling;
    *queue = made;
    return NDR_OK;
}

void ndr_queue_destroy(ndr_queue *queue)
{
    if (!queue) return;
    clReleaseCommandQueue(queue->cl);
    ndr_context_destroy(queue->context);
    free(queue);
}

ndr_status ndr_queue_flush(ndr_queue *queue)
{
    NDR_REQUIRE_SET(queue);
    NDR_TRY_CL(clFlush(queue->cl));
    return NDR_OK;
}

ndr_status ndr_queue_finish(ndr_queue *queue)
{
    NDR_REQUIRE_SET(queue);
    NDR_TRY_CL(clFinish(queue->cl));
    return NDR_OK;
}

ndr_status ndr_queue_mark(ndr_queue *queue, ndr_event **event)
{
    if (!event) return NDR_OK;
    ndr_event *made;
    NDR_TRY(ndr_event_prepare(queue, event, &made));
    cl_event mark;
    const cl_int error = clEnqueueMarkerWithWaitList(queue->cl, 0, NULL, &mark);
    if (error != CL_SUCCESS) {
        ndr_event_destroy(made);
        return ndr_fail_cl(error, "clEnqueueMarkerWithWaitList");
    }
    ndr_event_hand_out(made, mark, NULL, event);
    return NDR_OK;
}
