/* event.c - a piece of enqueued work: wait for it, query its state and times. */
#include "device/command.h"
#include "device/context.h"
#include "device/event.h"
#include "device/queue.h"
#include "device/trace.h"
#include "device/wait.h"

#include <stdlib.h>
#include <string.h>

ndr_status ndr_event_new(ndr_context *context, ndr_queue *queue, ndr_event **event)
{
    ndr_event *made = ndr_handle_new(NDR_HANDLE_EVENT, sizeof *made, context->checker != NULL);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for an event");
    atomic_init(&made->references, 1);
    made->context = ndr_context_keep(context);
    made->queue = queue ? ndr_queue_keep(queue) : NULL;
    *event = made;
    return NDR_OK;
}

cl_event ndr_event_first(const ndr_event *event) { return event->pieces[0]; }
cl_event ndr_event_end(const ndr_event *event) { return event->pieces[event->piece_count - 1]; }

/* With the lock held: the queue may keep `event` and read its state. The other pieces stay: the fault
 * unheld_failure_aborts. */
static void put_first(ndr_event *event, cl_event first)
{
    if (event->is_joined) {
        ndr_cl.clReleaseEvent(event->pieces[0]);
    } else {
        memmove(event->pieces + 1, event->pieces, event->piece_count * sizeof event->pieces[0]);
        ++event->piece_count;
    }
    event->pieces[0] = first;
    event->is_joined = true;
}

ndr_event *ndr_event_join(ndr_event *first, ndr_event *last)
{
    if (!first || !last) return first ? first : last;
    ndr_mutex_lock(&last->context->order_lock);
    if (ndr_cl.clRetainEvent(first->pieces[0]) == CL_SUCCESS) put_first(last, first->pieces[0]);
    ndr_mutex_unlock(&last->context->order_lock);
    ndr_event_destroy(first);
    return last;
}

/* A command that waits for nothing does not fail by another's failure. */
static bool has_failed_behind(const ndr_event *event)
{
    if (!event->waits || event->piece_count == 0) return false;
    return event->is_settled ? event->cause != NULL : ndr_event_code(event) < CL_COMPLETE;
}

void ndr_event_free(ndr_event *event)
{
    const bool is_kept = ndr_avoids(event->context, NDR_QUIRK_FAILED_EVENT_USED) && has_failed_behind(event);
    for (unsigned i = 0; i < event->piece_count; ++i) {
        if (is_kept) ndr_failed_keep(event->context, event->pieces[i]);
        else ndr_cl.clReleaseEvent(event->pieces[i]);
    }
    if (event->queue) ndr_queue_release(event->queue);
    ndr_cause_free(event->cause);
    free(event->waits);
    ndr_context_release(event->context);
    ndr_handle_free(event);
}

/* What waits for a user's event that nobody can end any more would wait for ever. */
void ndr_event_destroy(ndr_event *event)
{
    if (!ndr_handle_retire(NDR_HANDLE_EVENT, event, __func__)) return;
    if (event->is_users && ndr_event_code(event) > CL_COMPLETE)
        NDR_IGNORE(ndr_command_end_event(__func__, event,
                                         ndr_cause_new(NDR_BAD_ARGUMENT, 0,
                                                       "an event of ndr_event_create() was destroyed before it had "
                                                       "ended; call ndr_event_complete() first")));
    ndr_event_release(event);
}

/* ---- user events ---- */

static ndr_status create_gate(ndr_event *event)
{
    cl_int error;
    atomic_store(&event->context->has_user_events, true);
    event->pieces[0] = ndr_cl.clCreateUserEvent(event->context->cl, &error);
    NDR_TRY_CL_AS("clCreateUserEvent", error);
    event->piece_count = 1;
    event->is_users = true;
    return NDR_OK;
}

ndr_status ndr_event_create(ndr_context *context, ndr_event **event)
{
    NDR_REQUIRE_SET(context, event);
    ndr_event *made = NULL;
    NDR_TRY(ndr_event_new(context, NULL, &made));
    const ndr_status status = create_gate(made);
    if (status == NDR_OK) *event = made;
    else ndr_event_release(made);
    return status;
}

ndr_status ndr_event_complete(ndr_event *event)
{
    NDR_REQUIRE_SET(event);
    return ndr_command_end_event(__func__, event, NULL);
}

ndr_status ndr_event_fail(ndr_event *event, ndr_status status, const char *why)
{
    NDR_REQUIRE_SET(event, why);
    NDR_REQUIRE(status != NDR_OK,
                "ndr_event_fail: status is NDR_OK; call ndr_event_complete() for work that succeeded");
    return ndr_command_end_event(__func__, event, ndr_cause_new(status, 0, why));
}

/* ---- state ---- */

static ndr_status read_state(cl_event cl, cl_int *state)
{
    NDR_TRY_CL(clGetEventInfo(cl, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state, state, NULL));
    return NDR_OK;
}

cl_int ndr_cl_event_code(cl_event cl, cl_int unknown)
{
    cl_int state = unknown;
    const cl_int error = ndr_cl.clGetEventInfo(cl, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return error == CL_SUCCESS ? state : unknown;
}

bool ndr_cl_event_times(cl_event cl, cl_ulong *started, cl_ulong *ended)
{
    return ndr_cl.clGetEventProfilingInfo(cl, CL_PROFILING_COMMAND_START, sizeof *started, started, NULL) == CL_SUCCESS
           && ndr_cl.clGetEventProfilingInfo(cl, CL_PROFILING_COMMAND_END, sizeof *ended, ended, NULL) == CL_SUCCESS;
}

cl_int ndr_event_code(const ndr_event *event)
{
    const cl_int end = ndr_cl_event_code(ndr_event_end(event), CL_QUEUED);
    if (event->piece_count == 1 || end < 0) return end;
    const cl_int first = ndr_cl_event_code(ndr_event_first(event), CL_QUEUED);
    return first < 0 ? first : end;
}

static bool has_ended(void *event) { return ndr_event_code(event) <= CL_COMPLETE; }

static ndr_status wait_in_driver(const ndr_event *event, cl_int *error)
{
    const cl_event events[] = { ndr_event_first(event), ndr_event_end(event) };
    if (ndr_wait_enter(event->context)) {
        *error = ndr_cl.clWaitForEvents(event->piece_count > 1 ? 2 : 1, events);
        ndr_wait_leave(event->context);
        return NDR_OK;
    }
    NDR_TRY(ndr_event_flush(event));
    (void)ndr_wait_until(has_ended, (void *)(uintptr_t)event, NDR_FOREVER);
    return NDR_OK;
}

/* The status of the work is more specific than the error of the wait, and some drivers report a failure only there. */
static ndr_status wait_on_event(ndr_event *event)
{
    const int64_t start_ns = ndr_trace_now();
    cl_int error = CL_SUCCESS;
    const int64_t spin_ns = event->queue ? event->queue->spin_ns : 0;
    if (spin_ns > 0) (void)ndr_cl.clFlush(event->queue->cl);
    ndr_spin_on_event(event->context, spin_ns, ndr_event_end(event));
    NDR_TRY(wait_in_driver(event, &error));
    ndr_trace_wait(event->context, NULL, start_ns, "wait");
    if (error == CL_SUCCESS || error == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) NDR_TRY(ndr_event_check(event));
    NDR_TRY_CL_AS("clWaitForEvents", error);
    return NDR_OK;
}

static ndr_status fail_still_running(ndr_status status)
{
    return ndr_fail_with_code(
        status, ndr_last_cl_error(),
        "%s; the work may still be running: its memory must stay until ndr_queue_finish() succeeds", ndr_last_error());
}

ndr_status ndr_event_wait(ndr_event *event)
{
    NDR_REQUIRE_SET(event);
    const ndr_status status = wait_on_event(event);
    return status == NDR_OK || ndr_event_code(event) <= CL_COMPLETE ? status : fail_still_running(status);
}

/* ---- several events, and limits ---- */

typedef struct event_set {
    ndr_event *const *events;
    size_t count;
    size_t at; /* of those before it, all have ended; or the first that has ended */
} event_set;

static bool is_over(const ndr_event *event) { return !event || ndr_event_code(event) <= CL_COMPLETE; }

static bool are_all_over(void *set_)
{
    event_set *set = set_;
    while (set->at < set->count && is_over(set->events[set->at])) ++set->at;
    return set->at == set->count;
}

static bool is_any_over(void *set_)
{
    event_set *set = set_;
    for (set->at = 0; set->at < set->count; ++set->at)
        if (is_over(set->events[set->at])) return true;
    return false;
}

ndr_status ndr_event_flush(const ndr_event *event)
{
    if (is_over(event) || !event->queue) return NDR_OK;
    NDR_TRY_CL(clFlush(event->queue->cl));
    return NDR_OK;
}

static ndr_status check_events(const char *call, ndr_event *const *events, size_t count)
{
    NDR_REQUIRE(events || count == 0, "%s: events is NULL, but count is %zu; pass an array of that length", call,
                count);
    for (size_t i = 0; i < count; ++i) {
        if (events[i]) NDR_REQUIRE_LIVE(NDR_HANDLE_EVENT, events[i], call, "one of the events");
        NDR_TRY(ndr_event_flush(events[i]));
    }
    return NDR_OK;
}

static ndr_status fail_with_timeout(const char *call, uint64_t timeout_ns)
{
    return ndr_fail(NDR_TIMEOUT, "%s: the work has not ended within %llu ns; it continues: wait again, or look for a "
                    "kernel that does not end, or an event of ndr_event_create() that nobody ends",
                    call, (unsigned long long)timeout_ns);
}

ndr_status ndr_events_poll(const char *call, ndr_event *const *events, size_t count, uint64_t timeout_ns)
{
    NDR_TRY(check_events(call, events, count));
    event_set set = { events, count, 0 };
    const int64_t start_ns = ndr_trace_now();
    const bool are_over = ndr_wait_until(are_all_over, &set, timeout_ns);
    if (count > 0 && events[0]) ndr_trace_wait(events[0]->context, NULL, start_ns, "wait with a limit");
    return are_over ? NDR_OK : fail_with_timeout(call, timeout_ns);
}

static ndr_status wait_all(const char *call, ndr_event *const *events, size_t count, uint64_t timeout_ns)
{
    NDR_TRY(ndr_events_poll(call, events, count, timeout_ns));
    for (size_t i = 0; i < count; ++i)
        if (events[i]) NDR_TRY(ndr_event_wait(events[i])); /* which reports how the work ended */
    return NDR_OK;
}

ndr_status ndr_event_wait_all(ndr_event *const *events, size_t count, uint64_t timeout_ns)
{
    return wait_all(__func__, events, count, timeout_ns);
}

ndr_status ndr_event_wait_within(ndr_event *event, uint64_t timeout_ns)
{
    NDR_REQUIRE_SET(event);
    return timeout_ns == NDR_FOREVER ? ndr_event_wait(event) : wait_all(__func__, &event, 1, timeout_ns);
}

ndr_status ndr_event_wait_any(ndr_event *const *events, size_t count, uint64_t timeout_ns, size_t *index)
{
    NDR_REQUIRE_SET(index);
    NDR_REQUIRE(count > 0, "ndr_event_wait_any: count is 0; pass at least one event");
    NDR_TRY(check_events(__func__, events, count));
    event_set set = { events, count, 0 };
    if (!ndr_wait_until(is_any_over, &set, timeout_ns)) return fail_with_timeout(__func__, timeout_ns);
    *index = set.at;
    return events[set.at] ? ndr_event_wait(events[set.at]) : NDR_OK;
}

ndr_status ndr_event_wait_and_destroy(ndr_event *event, ndr_queue *queue)
{
    const ndr_status status = wait_on_event(event);
    const bool has_ended = status == NDR_OK || is_over(event);
    ndr_event_destroy(event);
    return has_ended ? status : ndr_queue_end(queue, status);
}

ndr_status ndr_queue_end(ndr_queue *queue, ndr_status status)
{
    const char *call;
    const bool has_ended = ndr_wait_for_shared_queue(queue->context, queue->cl, &call) == CL_SUCCESS;
    return has_ended ? status : fail_still_running(status);
}

ndr_status ndr_event_get_state(ndr_event *event, ndr_event_state *state)
{
    NDR_REQUIRE_SET(event, state);
    cl_int first = 0, last = 0;
    NDR_TRY(read_state(ndr_event_first(event), &first));
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
    NDR_REQUIRE(!event->is_users, "%s: an event of ndr_event_create() has no times; pass the event of a command", call);
    NDR_REQUIRE(event->queue && event->queue->is_profiling,
                "%s: the queue keeps no times; create it with ndr_queue_desc.is_profiling", call);
    NDR_TRY(ndr_event_wait(event));
    static const cl_profiling_info stages[] = { CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                                CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END };
    cl_ulong read[4] = { 0 };
    for (size_t i = 0; i < 4; ++i) {
        const cl_event piece = i < 3 ? ndr_event_first(event) : ndr_event_end(event);
        NDR_TRY_CL(clGetEventProfilingInfo(piece, stages[i], sizeof read[i], &read[i], NULL));
    }
    *times = (ndr_event_times){ read[0], read[1], read[2], read[3] };
    return NDR_OK;
}

ndr_status ndr_event_get_times(ndr_event *event, ndr_event_times *times)
{
    NDR_REQUIRE_SET(event, times);
    return read_times(event, __func__, times);
}

ndr_status ndr_event_elapsed_ns(ndr_event *event, uint64_t *elapsed_ns)
{
    NDR_REQUIRE_SET(event, elapsed_ns);
    ndr_event_times times;
    NDR_TRY(read_times(event, __func__, &times));
    *elapsed_ns = times.ended_ns > times.started_ns ? times.ended_ns - times.started_ns : 0;
    return NDR_OK;
}
