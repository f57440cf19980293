/* queue.c - queues. */
#include "device/device.h"

#include <stdlib.h>

ndr_status ndr_queue_wrap(ndr_context *context, cl_command_queue cl, bool profiling, ndr_queue **queue)
{
    NDR_TRY(ndr_trace_add_queue(context, cl));
    ndr_queue *made = ndr_handle_new(NDR_HANDLE_QUEUE, sizeof *made, context->checker != NULL);
    if (!made) {
        ndr_trace_remove_queue(context, cl);
        return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a queue");
    }
    made->cl = cl;
    made->context = ndr_context_keep(context);
    made->profiling = profiling;
    *queue = made;
    return NDR_OK;
}

static ndr_status create_queue(ndr_context *context, cl_command_queue_properties properties, ndr_queue **queue)
{
    cl_int error;
    const cl_command_queue_properties traced = context->traced ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_command_queue cl = ndr_cl.clCreateCommandQueue(context->cl, context->device, properties | traced, &error);
    NDR_TRY_CL_AS("clCreateCommandQueue", error);
    const ndr_status status = ndr_queue_wrap(context, cl, properties & CL_QUEUE_PROFILING_ENABLE, queue);
    if (status != NDR_OK) ndr_cl.clReleaseCommandQueue(cl);
    return status;
}

ndr_status ndr_queue_create(ndr_context *context, const ndr_queue_desc *desc, ndr_queue **queue)
{
    NDR_REQUIRE_SET(context);
    NDR_REQUIRE_SET(queue);
    const ndr_queue_desc wanted = desc ? *desc : (ndr_queue_desc){ 0 };
    NDR_TRY(create_queue(context, wanted.profiling ? CL_QUEUE_PROFILING_ENABLE : 0, queue));
    (*queue)->spin_ns = wanted.spin_ns;
    return NDR_OK;
}

ndr_status ndr_queue_create_out_of_order(ndr_context *context, ndr_queue **queue)
{
    cl_command_queue_properties known = 0;
    NDR_TRY_CL(clGetDeviceInfo(context->device, CL_DEVICE_QUEUE_PROPERTIES, sizeof known, &known, NULL));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, known & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                   "device \"%s\" has no out-of-order queues", context->caps.info.name);
    NDR_TRY(create_queue(context, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, queue));
    (*queue)->is_out_of_order = true;
    return NDR_OK;
}

void ndr_queue_destroy(ndr_queue *queue)
{
    if (!ndr_handle_retire(NDR_HANDLE_QUEUE, queue, __func__)) return;
    ndr_queue_set_last_event(queue, NULL);
    ndr_attachments_free(&queue->attachments);
    ndr_trace_remove_queue(queue->context, queue->cl);
    ndr_cl.clReleaseCommandQueue(queue->cl);
    ndr_context_release(queue->context);
    ndr_handle_free(queue);
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
    const int64_t start_ns = ndr_trace_now();
    ndr_queue_spin(queue);
    NDR_TRY_CL(clFinish(queue->cl));
    ndr_trace_wait(queue->context, queue->cl, start_ns, "finish");
    return NDR_OK;
}

ndr_status ndr_queue_get_time(ndr_queue *queue, uint64_t *time_ns)
{
    NDR_REQUIRE_SET(queue);
    NDR_REQUIRE_SET(time_ns);
    NDR_TRY(ndr_queue_finish(queue));
    *time_ns = (uint64_t)ndr_clock_ns();
    return NDR_OK;
}

ndr_status ndr_queue_mark_after(ndr_queue *queue, const ndr_wait_list *waits, ndr_event **event)
{
    if (!event && !waits) return NDR_OK;
    ndr_event *made;
    NDR_TRY(ndr_event_prepare(queue, event, &made));
    cl_event mark = NULL;
    const ndr_status status = ndr_submit_marker(queue->cl, waits, made ? &mark : NULL);
    return ndr_event_return_or_destroy(status, made, mark, event);
}

ndr_status ndr_queue_mark(ndr_queue *queue, ndr_event **event)
{
    NDR_REQUIRE_SET(queue);
    return ndr_queue_mark_after(queue, NULL, event);
}
