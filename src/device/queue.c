/* queue.c - queues. */
#include "device/command.h"
#include "device/context.h"
#include "device/event.h"
#include "device/queue.h"
#include "device/trace.h"
#include "device/wait.h"

#include <stdlib.h>

/* PoCL 3.1's markers in an out-of-order queue wait for all work before them, even with a list, and fail with it. So a
 * mark with a list is another command there. */
static ndr_status make_no_op_memory(const ndr_context *context, cl_mem *memory)
{
    cl_int error;
    cl_mem made = ndr_cl.clCreateBuffer(context->cl, CL_MEM_READ_WRITE, NDR_NO_OP_BYTES, NULL, &error);
    NDR_TRY_CL_AS("clCreateBuffer", error);
    *memory = made;
    return NDR_OK;
}

static void free_no_op_memory(cl_mem memory)
{
    if (memory) ndr_cl.clReleaseMemObject(memory);
}

static ndr_status new_queue(ndr_context *context, cl_command_queue cl, ndr_queue **queue)
{
    NDR_TRY(ndr_trace_add_queue(context, cl));
    ndr_queue *made = ndr_handle_new(NDR_HANDLE_QUEUE, sizeof *made, context->checker != NULL);
    if (!made) {
        ndr_trace_remove_queue(context, cl);
        return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a queue");
    }
    atomic_init(&made->references, 1);
    ndr_mutex_init(&made->lock, NDR_LOCK_QUEUE);
    made->cl = cl;
    made->context = ndr_context_keep(context);
    *queue = made;
    return NDR_OK;
}

ndr_status ndr_queue_wrap(ndr_context *context, cl_command_queue cl, cl_command_queue_properties properties,
                          ndr_queue **queue)
{
    const bool is_out_of_order = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    cl_mem memory = NULL;
    if (is_out_of_order) NDR_TRY(make_no_op_memory(context, &memory));
    const ndr_status status = new_queue(context, cl, queue);
    if (status != NDR_OK) {
        free_no_op_memory(memory);
        return status;
    }
    (*queue)->is_profiling = properties & CL_QUEUE_PROFILING_ENABLE;
    (*queue)->is_out_of_order = is_out_of_order;
    if (is_out_of_order && context->caps.wait_helps) atomic_store(&ndr_waits_in_turn, true);
    (*queue)->no_op_memory = memory;
    ndr_queue_list(*queue);
    return NDR_OK;
}

static ndr_status create_queue(ndr_context *context, cl_command_queue_properties properties, ndr_queue **queue)
{
    cl_int error;
    const cl_command_queue_properties traced = context->traced ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_command_queue cl = ndr_cl.clCreateCommandQueue(context->cl, context->device, properties | traced, &error);
    NDR_TRY_CL_AS("clCreateCommandQueue", error);
    const ndr_status status = ndr_queue_wrap(context, cl, properties, queue);
    if (status != NDR_OK) ndr_cl.clReleaseCommandQueue(cl);
    return status;
}

static ndr_status check_out_of_order(const ndr_context *context)
{
    cl_command_queue_properties known = 0;
    NDR_TRY_CL(clGetDeviceInfo(context->device, CL_DEVICE_QUEUE_PROPERTIES, sizeof known, &known, NULL));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, known & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                   "ndr_queue_create: device \"%s\" has no out-of-order queues; use several in-order queues and "
                   "ndr_after()",
                   context->caps.info.name);
    return NDR_OK;
}

ndr_status ndr_queue_create(ndr_context *context, const ndr_queue_desc *desc, ndr_queue **queue)
{
    NDR_REQUIRE_SET(context, queue);
    const ndr_queue_desc wanted = desc ? *desc : (ndr_queue_desc){ 0 };
    if (wanted.is_out_of_order) NDR_TRY(check_out_of_order(context));
    NDR_TRY(create_queue(context, (wanted.is_profiling ? CL_QUEUE_PROFILING_ENABLE : 0)
                                      | (wanted.is_out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0),
                         queue));
    (*queue)->spin_ns = wanted.spin_ns;
    return NDR_OK;
}

ndr_queue *ndr_queue_keep(ndr_queue *queue)
{
    atomic_fetch_add_explicit(&queue->references, 1, memory_order_relaxed);
    return queue;
}

void ndr_queue_release(ndr_queue *queue)
{
    if (atomic_fetch_sub_explicit(&queue->references, 1, memory_order_acq_rel) > 1) return;
    ndr_cl.clReleaseCommandQueue(queue->cl);
    free_no_op_memory(queue->no_op_memory);
    ndr_mutex_destroy(&queue->lock);
    ndr_context_release(queue->context);
    ndr_handle_free(queue);
}

/* Events of its commands keep the queue, and who waits for one of them does not flush a queue that was destroyed. */
void ndr_queue_destroy(ndr_queue *queue)
{
    if (!ndr_handle_retire(NDR_HANDLE_QUEUE, queue, __func__)) return;
    ndr_queue_set_last_event(queue, NULL);
    ndr_queue_forget_events(queue);
    ndr_attachments_free(&queue->attachments);
    ndr_trace_remove_queue(queue->context, queue->cl);
    if (atomic_load(&queue->references) > 1) (void)ndr_cl.clFlush(queue->cl);
    ndr_queue_release(queue);
}

/* ---- waiting ---- */

ndr_status ndr_queue_flush(ndr_queue *queue)
{
    NDR_REQUIRE_SET(queue);
    NDR_TRY_CL(clFlush(queue->cl));
    return NDR_OK;
}

/* How the last launch ended. `last` is its event, or NULL. */
static cl_int take_code(cl_event last)
{
    if (!last) return CL_COMPLETE;
    const cl_int code = ndr_cl_event_code(last, CL_QUEUED);
    ndr_cl.clReleaseEvent(last);
    return code;
}

/* In Mesa 22.3 clFinish() holds a lock that other threads need to wait for an event of the queue. One of them may have
 * to end an event that the queue's work waits for, as that of a host task. */
static ndr_status wait_for_mark(ndr_queue *queue)
{
    ndr_event *mark;
    NDR_TRY(ndr_queue_mark_in(&(ndr_order){ .queue = queue }, &mark));
    return ndr_event_wait_and_destroy(mark, queue);
}

/* A mark behind failed work may fail before work ahead of that has ended. If an event is found twice, the driver cannot
 * wait for it. */
static void wait_for_kept(ndr_queue *queue)
{
    ndr_event *before = NULL, *event;
    while ((event = ndr_queue_find_unfinished(queue)) && event != before) {
        (void)ndr_cl.clFlush(queue->cl);
        (void)ndr_wait_for_event(queue->context, ndr_event_end(event));
        ndr_event_release(before);
        before = event;
    }
    ndr_event_release(before);
    ndr_event_release(event);
}

/* Oclgrind's marks do not wait for all work of an out-of-order queue; clFinish() does. */
static ndr_status wait_for_all(ndr_queue *queue)
{
    const bool has_user_events = atomic_load(&queue->context->has_user_events);
    const ndr_status status = has_user_events ? wait_for_mark(queue) : NDR_OK;
    if (status != NDR_OK) wait_for_kept(queue);
    if (has_user_events && !queue->is_out_of_order) return status;
    const char *call;
    const cl_int error = ndr_wait_for_queue(queue->context, queue->cl, &call);
    NDR_TRY(status);
    NDR_TRY_CL_AS(call, error);
    return NDR_OK;
}

ndr_status ndr_queue_finish(ndr_queue *queue)
{
    NDR_REQUIRE_SET(queue);
    const int64_t start_ns = ndr_trace_now();
    const cl_event last = ndr_queue_spin(queue);
    const ndr_status status = wait_for_all(queue);
    ndr_trace_wait(queue->context, queue->cl, start_ns, "finish");
    const cl_int code = take_code(last); /* some drivers finish with success although work has failed */
    NDR_TRY(ndr_queue_take_failure(queue)); /* before the others: it reports the first cause */
    if (code < CL_COMPLETE)
        return ndr_fail_with_code(NDR_DRIVER_ERROR, code, "the last launch was enqueued, but failed: %s (%d)",
                                  ndr_cl_error_name(code), (int)code);
    return status;
}

ndr_status ndr_queue_finish_timed(ndr_queue *queue, uint64_t *time_ns)
{
    NDR_REQUIRE_SET(queue);
    NDR_REQUIRE_SET(time_ns);
    NDR_TRY(ndr_queue_finish(queue));
    *time_ns = (uint64_t)ndr_clock_ns();
    return NDR_OK;
}

/* Drivers need some time to end the mark of an empty queue. A program that polls with a limit of 0 would not see it. */
ndr_status ndr_queue_finish_within(ndr_queue *queue, uint64_t timeout_ns)
{
    enum { MARK_NS = 200000 };
    ndr_event *mark;
    NDR_REQUIRE_SET(queue);
    NDR_TRY(ndr_queue_mark(queue, &mark));
    const ndr_status status = ndr_events_poll(__func__, &mark, 1, timeout_ns < MARK_NS ? MARK_NS : timeout_ns);
    ndr_event_destroy(mark);
    return status == NDR_OK ? ndr_queue_finish(queue) : status;
}

/* ---- commands without work ---- */

/* Each fills another byte, because two may run at the same time. */
ndr_status ndr_queue_submit_no_op(ndr_submission *s, ndr_queue *queue)
{
    const size_t at = atomic_fetch_add(&queue->no_ops, 1) % NDR_NO_OP_BYTES;
    return ndr_submit(s,
                      &(ndr_transfer){ .work = NDR_WORK_NO_OP, .to = { .cl = queue->no_op_memory, .origin = { at } } });
}

static ndr_status submit_mark(ndr_submission *s, const void *queue_)
{
    ndr_queue *const queue = (ndr_queue *)(uintptr_t)queue_;
    return queue->no_op_memory && s->waits.count > 0 ? ndr_queue_submit_no_op(s, queue) : ndr_submit(s, &ndr_marker);
}

ndr_status ndr_queue_mark_in(const ndr_order *order, ndr_event **event)
{
    if (!event && order->count == 0 && !order->also) return NDR_OK;
    ndr_order fence = *order;
    fence.is_fence = true;
    return ndr_command_run(&(ndr_command){ &fence, submit_mark, fence.queue, NULL }, event);
}

ndr_status ndr_queue_mark(ndr_queue *queue, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    NDR_TRY(ndr_order_check_queue(__func__, &order));
    return ndr_queue_mark_in(&order, event);
}

ndr_status ndr_queue_barrier(ndr_queue *queue, ndr_event **event)
{
    static const ndr_transfer barrier = { .work = NDR_WORK_BARRIER };
    ndr_order order = ndr_order_of(queue);
    NDR_TRY(ndr_order_check_queue(__func__, &order));
    order.is_fence = order.is_barrier = true;
    return ndr_command_run(&(ndr_command){ &order, ndr_submit, &barrier, NULL }, event);
}
