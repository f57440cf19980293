/* event.c - one piece of enqueued work, seen from outside: wait, state, times. */
#include "device/device.h"

#include <stdlib.h>

ndr_status ndr_event_prepare(ndr_queue *queue, ndr_event **wanted, ndr_event **made)
{
    *made = NULL;
    if (!wanted) return NDR_OK;
    ndr_event *event = calloc(1, sizeof *event);
    if (!event) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for an event");
    event->context = ndr_context_keep(queue->context);
    event->profiling = queue->profiling;
    *made = event;
    return NDR_OK;
}

static void release(cl_event event)
{
    if (event) clReleaseEvent(event);
}

void ndr_event_hand_out(ndr_event *made, cl_event first, cl_event last, ndr_event **wanted)
{
    if (!made) {
        release(first);
        release(last);
        return;
    }
    made->first = first;
    made->last = last ? last : first;
    if (!last) clRetainEvent(first);
    *wanted = made;
}

ndr_status ndr_event_join(ndr_status status, ndr_event *first, ndr_event *last, ndr_event **wanted)
{
    if (status == NDR_OK && wanted) {
        const cl_event start = last->first;
        last->first = first->first;
        first->first = start;
        *wanted = last;
    }
    ndr_event_destroy(first);
    return status;
}

void ndr_event_destroy(ndr_event *event)
{
    if (!event) return;
    release(event->first);
    release(event->last);
    ndr_context_destroy(event->context);
    free(event);
}

static ndr_status read_state(cl_event cl, cl_int *state)
{
    NDR_TRY_CL(clGetEventInfo(cl, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state, state, NULL));
    return NDR_OK;
}

/* How the work ended; some drivers say so only when asked, and not where they wait. */
static ndr_status check_end(const ndr_event *event)
{
    cl_int first = 0, last = 0;
    NDR_TRY(read_state(event->first, &first));
    NDR_TRY(read_state(event->last, &last));
    if (first >= 0 && last >= 0) return NDR_OK;
    const cl_int code = first < 0 ? first : last;
    return ndr_fail_with_code(NDR_DRIVER_ERROR, code, "the work was accepted, but ended badly: %s (%d)",
                              ndr_cl_error_name(code), (int)code);
}

ndr_status ndr_event_wait(ndr_event *event)
{
    NDR_REQUIRE_SET(event);
    const cl_event both[] = { event->first, event->last };
    ndr_watch(event->context, event->last);
    const cl_int error = clWaitForEvents(2, both);
    if (error != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) NDR_TRY_CL_AS("clWaitForEvents", error);
    return check_end(event);
}

ndr_status ndr_event_get_state(ndr_event *event, ndr_event_state *state)
{
    NDR_REQUIRE_SET(event);
    NDR_REQUIRE_SET(state);
    cl_int first = 0, last = 0;
    NDR_TRY(read_state(event->first, &first));
    NDR_TRY(read_state(event->last, &last));
    if (first < 0 || last < 0) *state = NDR_EVENT_FAILED;
    else if (last == CL_COMPLETE) *state = NDR_EVENT_COMPLETE;
    else if (first == CL_RUNNING || first == CL_COMPLETE) *state = NDR_EVENT_RUNNING;
    else *state = first == CL_SUBMITTED ? NDR_EVENT_SUBMITTED : NDR_EVENT_QUEUED;
    return NDR_OK;
}

ndr_status ndr_event_elapsed_ns(ndr_event *event, uint64_t *elapsed_ns)
{
    NDR_REQUIRE_SET(event);
    NDR_REQUIRE_SET(elapsed_ns);
    NDR_REQUIRE(event->profiling,
                "ndr_event_elapsed_ns: the queue keeps no times; create it with ndr_queue_desc.profiling");
    NDR_TRY(ndr_event_wait(event));
    cl_ulong start = 0, end = 0;
    NDR_TRY_CL(clGetEventProfilingInfo(event->first, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
    NDR_TRY_CL(clGetEventProfilingInfo(event->last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
    *elapsed_ns = end > start ? end - start : 0;
    return NDR_OK;
}
