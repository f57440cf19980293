/* event.c - a piece of enqueued work: wait for it, query its state and times. */
#include "device/device.h"

#include <stdlib.h>

ndr_status ndr_event_prepare(ndr_queue *queue, ndr_event **wanted, ndr_event **made)
{
    *made = NULL;
    if (!wanted) return NDR_OK;
    ndr_event *event = ndr_handle_new(NDR_HANDLE_EVENT, sizeof *event, queue->context->checker != NULL);
    if (!event) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for an event");
    event->context = ndr_context_keep(queue->context);
    event->profiling = queue->profiling;
    event->spin_ns = queue->spin_ns;
    if (queue->spin_ns > 0 && ndr_cl.clRetainCommandQueue(queue->cl) == CL_SUCCESS) event->to_flush = queue->cl;
    *made = event;
    return NDR_OK;
}

static void release_event(cl_event event)
{
    if (event) ndr_cl.clReleaseEvent(event);
}

void ndr_event_return(ndr_event *made, cl_event first, cl_event last, ndr_event **wanted)
{
    if (!made) {
        release_event(first);
        release_event(last);
        return;
    }
    made->first = first;
    made->last = last;
    *wanted = made;
}

ndr_status ndr_event_return_or_destroy(ndr_status status, ndr_event *made, cl_event done, ndr_event **wanted)
{
    if (status == NDR_OK) ndr_event_return(made, done, NULL, wanted);
    else ndr_event_destroy(made);
    return status;
}

cl_event ndr_event_end(const ndr_event *event) { return event->last ? event->last : event->first; }

ndr_event *ndr_event_join(ndr_event *first, ndr_event *last)
{
    if (!first || !last) return first ? first : last;
    if (last->last) release_event(last->first);
    else last->last = last->first;
    last->first = first->first;
    first->first = NULL;
    ndr_event_destroy(first);
    return last;
}

void ndr_event_destroy(ndr_event *event)
{
    if (!ndr_handle_retire(NDR_HANDLE_EVENT, event, __func__)) return;
    release_event(event->first);
    release_event(event->last);
    if (event->to_flush) ndr_cl.clReleaseCommandQueue(event->to_flush);
    ndr_context_release(event->context);
    ndr_handle_free(event);
}

static ndr_status read_state(cl_event cl, cl_int *state)
{
    NDR_TRY_CL(clGetEventInfo(cl, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state, state, NULL));
    return NDR_OK;
}

/* Some drivers report a failure here, but not in clWaitForEvents(). */
static ndr_status check_end(const ndr_event *event)
{
    cl_int first = 0, last = 0;
    NDR_TRY(read_state(event->first, &first));
    NDR_TRY(read_state(ndr_event_end(event), &last));
    if (first >= 0 && last >= 0) return NDR_OK;
    const cl_int code = first < 0 ? first : last;
    return ndr_fail_with_code(NDR_DRIVER_ERROR, code, "the work was enqueued, but failed: %s (%d)",
                              ndr_cl_error_name(code), (int)code);
}

/* The status of the work is more specific than the error of the wait. */
static ndr_status wait_on_event(const ndr_event *event)
{
    const cl_event events[] = { event->first, ndr_event_end(event) };
    const int64_t start_ns = ndr_trace_now();
    if (event->to_flush) (void)ndr_cl.clFlush(event->to_flush);
    ndr_spin_on_event(event->context, event->spin_ns, events[1]);
    const cl_int error = ndr_cl.clWaitForEvents(2, events);
    ndr_trace_wait(event->context, NULL, start_ns, "wait");
    if (error == CL_SUCCESS || error == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) NDR_TRY(check_end(event));
    NDR_TRY_CL_AS("clWaitForEvents", error);
    return NDR_OK;
}

/* Whether the work has ended, successfully or not. False if that is unknown. */
static bool has_ended(const ndr_event *event)
{
    cl_int state = CL_QUEUED;
    return ndr_cl.clGetEventInfo(ndr_event_end(event), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL)
               == CL_SUCCESS
           && state <= CL_COMPLETE;
}

static ndr_status fail_still_running(ndr_status status)
{
    return ndr_fail_with_code(status, ndr_last_cl_error(),
                              "%s; the work may still be running: its memory must stay until ndr_queue_finish() succeeds",
                              ndr_last_error());
}

ndr_status ndr_event_wait(ndr_event *event)
{
    NDR_REQUIRE_SET(event);
    const ndr_status status = wait_on_event(event);
    return status == NDR_OK || has_ended(event) ? status : fail_still_running(status);
}

ndr_status ndr_event_wait_and_destroy(ndr_event *event, ndr_queue *queue)
{
    const ndr_status status = wait_on_event(event);
    const bool is_over = status == NDR_OK || has_ended(event);
    ndr_event_destroy(event);
    return is_over ? status : ndr_queue_end(queue, status);
}

ndr_status ndr_queue_end(ndr_queue *queue, ndr_status status)
{
    return ndr_cl.clFinish(queue->cl) == CL_SUCCESS ? status : fail_still_running(status);
}

ndr_status ndr_event_get_state(ndr_event *event, ndr_event_state *state)
{
    NDR_REQUIRE_SET(event);
    NDR_REQUIRE_SET(state);
    cl_int first = 0, last = 0;
    NDR_TRY(read_state(event->first, &first));
    NDR_TRY(read_state(ndr_event_end(event), &last));
    if (first < 0 || last < 0) *state = NDR_EVENT_FAILED;
    else if (last == CL_COMPLETE) *state = NDR_EVENT_COMPLETE;
    else if (first == CL_RUNNING || first == CL_COMPLETE) *state = NDR_EVENT_RUNNING;
    else *state = first == CL_SUBMITTED ? NDR_EVENT_SUBMITTED : NDR_EVENT_QUEUED;
    return NDR_OK;
}

/* Pieces run in order: the first one starts first, the last one ends last. */
static ndr_status read_times(ndr_event *event, const char *call, ndr_event_times *times)
{
    NDR_REQUIRE(event->profiling, "%s: the queue keeps no times; create it with ndr_queue_desc.profiling", call);
    NDR_TRY(ndr_event_wait(event));
    static const cl_profiling_info stages[] = { CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                                CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END };
    cl_ulong read[4] = { 0 };
    for (size_t i = 0; i < 4; ++i) {
        const cl_event piece = i < 3 ? event->first : ndr_event_end(event);
        NDR_TRY_CL(clGetEventProfilingInfo(piece, stages[i], sizeof read[i], &read[i], NULL));
    }
    *times = (ndr_event_times){ read[0], read[1], read[2], read[3] };
    return NDR_OK;
}

ndr_status ndr_event_get_times(ndr_event *event, ndr_event_times *times)
{
    NDR_REQUIRE_SET(event);
    NDR_REQUIRE_SET(times);
    return read_times(event, __func__, times);
}

ndr_status ndr_event_elapsed_ns(ndr_event *event, uint64_t *elapsed_ns)
{
    NDR_REQUIRE_SET(event);
    NDR_REQUIRE_SET(elapsed_ns);
    ndr_event_times times;
    NDR_TRY(read_times(event, __func__, &times));
    *elapsed_ns = times.ended_ns > times.started_ns ? times.ended_ns - times.started_ns : 0;
    return NDR_OK;
}
