/* order.c - what a command waits for, and why work failed.
 *
 * A driver that fails a command fails those that wait for it, too, but not with the code of the first: PoCL 3.1 gives
 * them -1, a wait for them -14, and clFinish() success. So an event keeps the events that its command waits for until
 * the command has ended, and a queue keeps the events of commands that wait for others, and of all behind them. Such a
 * queue asks for the event of each command: PoCL 3.1 aborts if a command fails whose event nobody holds.
 *
 * The states of events are read when the next command is enqueued and when the host waits. Callbacks of drivers would
 * report them earlier, but PoCL 3.1 and Mesa 22.3 hold the event's lock while they call, and Mesa 22.3 does not call
 * for failed work.
 *
 * One lock of the context guards all of it. Commands without a wait list, in queues without such events, do not take
 * it. */
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- references ---- */

ndr_event *ndr_event_keep(ndr_event *event)
{
    atomic_fetch_add_explicit(&event->references, 1, memory_order_relaxed);
    return event;
}

static bool drop(ndr_event *event)
{
    return atomic_fetch_sub_explicit(&event->references, 1, memory_order_acq_rel) == 1;
}

/* A chain of events may be long: no recursion. */
void ndr_event_release(ndr_event *event)
{
    ndr_event *gone = NULL;
    if (event && drop(event)) event->next = NULL, gone = event;
    while (gone) {
        ndr_event *const now = gone;
        gone = now->next;
        for (size_t i = 0; i < now->wait_count; ++i)
            if (drop(now->waits[i])) now->waits[i]->next = gone, gone = now->waits[i];
        ndr_event_free(now);
    }
}

/* ---- causes, with the context's lock held ---- */

static const ndr_cause lost = { NDR_DRIVER_ERROR, 0, "the work was enqueued, but failed; no memory for the reason" };

void ndr_cause_free(const ndr_cause *cause)
{
    if (cause != &lost) free((void *)(uintptr_t)cause);
}

const ndr_cause *ndr_cause_new(ndr_status status, int32_t code, const char *sentence)
{
    ndr_cause *made = malloc(sizeof *made);
    if (!made) return &lost;
    made->status = status;
    made->code = code;
    snprintf(made->sentence, sizeof made->sentence, "%s", sentence);
    return made;
}

/* The failure that no other caused. */
static const ndr_cause *new_first_cause(const ndr_event *event, cl_int code)
{
    char sentence[sizeof lost.sentence];
    snprintf(sentence, sizeof sentence, "%s%s%s was enqueued, but failed: %s (%d)",
             event->kernel ? "kernel \"" : "the work", event->kernel ? event->kernel : "", event->kernel ? "\"" : "",
             ndr_cl_error_name(code), (int)code);
    return ndr_cause_new(NDR_DRIVER_ERROR, code, sentence);
}

/* Among the first `count` of those that it waits for. */
static const ndr_event *find_failed(const ndr_event *event, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (event->waits[i]->cause) return event->waits[i];
    return NULL;
}

static const ndr_cause *new_cause(ndr_event *event, cl_int code)
{
    const ndr_event *before = find_failed(event, event->wait_count);
    event->inherits = before != NULL;
    return before ? ndr_cause_new(before->cause->status, before->cause->code, before->cause->sentence)
                  : new_first_cause(event, code);
}

/* For work that has ended, and after those before it. Intel's runtime reports what waits for failed work, and does not
 * run, as complete. */
static void settle_one(ndr_event *event)
{
    const cl_int code = ndr_event_code(event);
    const bool has_failed = code < CL_COMPLETE || find_failed(event, event->wait_count - event->waits_in_order);
    if (has_failed && !event->cause) event->cause = new_cause(event, code);
    event->is_settled = true;
}

static ndr_event *find_unsettled(const ndr_event *event)
{
    for (size_t i = 0; i < event->wait_count; ++i)
        if (!event->waits[i]->is_settled && ndr_event_code(event->waits[i]) <= CL_COMPLETE) return event->waits[i];
    return NULL;
}

/* Whether the work has ended. Then the event has the cause if it failed. No recursion: the chain may be long. */
static bool settle(ndr_event *event)
{
    if (event->is_settled) return true;
    if (ndr_event_code(event) > CL_COMPLETE) return false;
    event->parent = NULL;
    while (event) {
        ndr_event *const before = find_unsettled(event);
        if (before) before->parent = event;
        else settle_one(event);
        event = before ? before : event->parent;
    }
    return true;
}

static ndr_status fail_with(const ndr_event *event)
{
    const ndr_cause *cause = event->cause;
    return ndr_fail_with_code(cause->status, cause->code, "%s%s",
                              event->inherits ? "the work was enqueued, but failed because work before it did: " : "",
                              cause->sentence);
}

ndr_status ndr_event_check(ndr_event *event)
{
    ndr_mutex_lock(&event->context->order_lock);
    const ndr_status status = settle(event) && event->cause ? fail_with(event) : NDR_OK;
    ndr_mutex_unlock(&event->context->order_lock);
    return status;
}

static ndr_status check_users(const char *call, const ndr_event *event)
{
    NDR_REQUIRE(event->is_users,
                "%s: the event belongs to enqueued work, which ends by itself; pass an event of ndr_event_create()",
                call);
    NDR_REQUIRE(ndr_event_code(event) > CL_COMPLETE, "%s: the event has already ended; end it only once", call);
    return NDR_OK;
}

/* With the lock held. The cause is there before the driver fails what waits. */
static ndr_status set_end(const char *call, ndr_event *event, const ndr_cause *cause)
{
    NDR_TRY(check_users(call, event));
    event->cause = cause;
    const cl_int error = ndr_cl.clSetUserEventStatus(
        event->first, cause ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_COMPLETE);
    if (error != CL_SUCCESS) event->cause = NULL;
    NDR_TRY_CL_AS("clSetUserEventStatus", error);
    return NDR_OK;
}

/* PoCL 3.1 never ends a command if an event of its wait list fails while it is enqueued. Who waits for this event may
 * destroy it before the driver's call returns, hence the reference. */
ndr_status ndr_event_set_end(const char *call, ndr_event *event, const ndr_cause *cause)
{
    ndr_event_keep(event);
    if (cause) ndr_mutex_lock(&event->context->fail_lock);
    ndr_mutex_lock(&event->context->order_lock);
    const ndr_status status = set_end(call, event, cause);
    ndr_mutex_unlock(&event->context->order_lock);
    if (cause) ndr_mutex_unlock(&event->context->fail_lock);
    ndr_event_release(event);
    if (status != NDR_OK) ndr_cause_free(cause);
    return status;
}

/* ---- the wait list of a command ---- */

ndr_status ndr_order_check_queue(const char *call, const ndr_order *order)
{
    const ndr_queue *queue = order->queue;
    NDR_REQUIRE_SET_IN(call, queue);
    return NDR_OK;
}

static ndr_status check_event(const ndr_order *order, size_t index)
{
    char name[40];
    const ndr_event *event = order->events[index];
    if (!event) return NDR_OK;
    snprintf(name, sizeof name, "event %zu", index);
    NDR_REQUIRE_LIVE(NDR_HANDLE_EVENT, event, "ndr_after", name);
    NDR_REQUIRE(event->context == order->queue->context,
                "ndr_after: event %zu and the queue belong to different contexts; wait for it with ndr_event_wait() "
                "instead",
                index);
    return ndr_event_flush(event, order->queue->cl);
}

static bool is_listed(const ndr_event *made, cl_event end)
{
    for (size_t i = 0; i < made->list_count; ++i)
        if (made->list[i] == end) return true;
    return false;
}

/* With the lock held. Some drivers never run what waits for work that has failed. Work that has ended need not be
 * waited for, but out of order it stays in the list: a marker or barrier without a list would wait for all work. An
 * event that is named twice is listed once: Intel's runtime crashes if two events of a list fail. */
static ndr_status add_wait(const ndr_order *order, ndr_event *made, ndr_event *event, size_t index)
{
    if (!event || is_listed(made, ndr_event_end(event))) return NDR_OK;
    const bool has_ended = settle(event);
    if (!has_ended) made->waits[made->wait_count++] = ndr_event_keep(event);
    if (!has_ended || order->queue->is_out_of_order) made->list[made->list_count++] = ndr_event_end(event);
    if (!has_ended || !event->cause) return NDR_OK;
    NDR_IGNORE(fail_with(event));
    return ndr_fail_with_code(event->cause->status, event->cause->code,
                              "event %zu that the command waits for has failed, and nothing was enqueued: %s", index,
                              ndr_last_error());
}

/* With the lock held. In order, a command also waits for the one before it, which OpenCL ensures. */
static ndr_status add_waits(ndr_event *made, const ndr_order *order)
{
    for (size_t i = 0; i < order->count; ++i) NDR_TRY(add_wait(order, made, order->events[i], i));
    NDR_TRY(add_wait(order, made, order->also, order->count));
    ndr_queue *const queue = order->queue;
    made->waits_for_all = queue->is_out_of_order && (queue->has_barrier || (order->is_fence && made->list_count == 0));
    made->is_barrier = queue->is_out_of_order && order->is_barrier;
    ndr_event *before = queue->is_out_of_order ? NULL : queue->last_tracked;
    if (!before || settle(before)) return NDR_OK;
    made->waits[made->wait_count++] = ndr_event_keep(before);
    made->waits_in_order = 1;
    return NDR_OK;
}

ndr_status ndr_order_add_waits(const ndr_order *order, ndr_event *made)
{
    NDR_REQUIRE(!order->is_nested,
                "ndr_after: the queue comes from another ndr_after(); pass all events to one ndr_after()");
    NDR_REQUIRE(order->events || order->count == 0,
                "ndr_after_all: events is NULL, but count is %zu; pass an array of that length", order->count);
    for (size_t i = 0; i < order->count; ++i) NDR_TRY(check_event(order, i));
    const size_t most = order->count + 2;
    made->waits = calloc(most, sizeof *made->waits + sizeof *made->list);
    if (!made->waits) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a wait list");
    made->list = (cl_event *)(made->waits + most);
    ndr_mutex_lock(&made->context->fail_lock);
    ndr_mutex_lock(&made->context->order_lock);
    const ndr_status status = add_waits(made, order);
    ndr_mutex_unlock(&made->context->order_lock);
    made->is_tracked = status == NDR_OK;
    if (!made->is_tracked) ndr_mutex_unlock(&made->context->fail_lock);
    return status;
}

void ndr_event_abandon(ndr_event *made)
{
    if (made && made->is_tracked) ndr_mutex_unlock(&made->context->fail_lock);
    ndr_event_release(made);
}

/* ---- the events that a queue keeps, with the lock held ---- */

/* For an event that is settled: keep the first that failed, for ndr_queue_finish(). */
static void note_failure(ndr_queue *queue, ndr_event *event)
{
    if (!event->cause || event->is_noted) return;
    event->is_noted = true;
    if (!queue->failed) queue->failed = ndr_event_keep(event);
}

/* Whether all that it waits for has ended, too. A command may fail before that, and PoCL 3.1 still accesses its event
 * when the others end. Out of order, what waits for a barrier, or as one for all work, also stays in the list until all
 * before it are gone. */
static bool can_go(const ndr_event *event, bool is_oldest)
{
    if (event->waits_for_all && !is_oldest) return false;
    for (size_t i = 0; i < event->wait_count; ++i)
        if (!event->waits[i]->is_settled && ndr_event_code(event->waits[i]) > CL_COMPLETE) return false;
    return true;
}

static void let_go(ndr_event *event)
{
    for (size_t i = 0; i < event->wait_count; ++i) ndr_event_release(event->waits[i]);
    event->wait_count = event->waits_in_order = 0;
    ndr_event_release(event);
}

static void sweep(ndr_queue *queue)
{
    unsigned left = 0;
    ndr_event *last = NULL, **link = &queue->tracked;
    while (*link) {
        ndr_event *const event = *link;
        const bool is_over = settle(event);
        if (is_over) note_failure(queue, event);
        if (is_over && can_go(event, left == 0)) {
            *link = event->next;
            let_go(event);
            continue;
        }
        last = event;
        link = &event->next;
        ++left;
    }
    queue->last_tracked = last;
    if (left == 0) queue->has_barrier = false;
    atomic_store(&queue->tracked_count, left);
}

/* The list is swept when it has doubled, so that each event costs a constant time. */
void ndr_queue_track(ndr_queue *queue, ndr_event *event)
{
    enum { FEWEST = 16 };
    ndr_mutex_lock(&queue->context->order_lock);
    event->next = NULL;
    *(queue->last_tracked ? &queue->last_tracked->next : &queue->tracked) = ndr_event_keep(event);
    queue->last_tracked = event;
    if (event->is_barrier) queue->has_barrier = true;
    if (atomic_fetch_add(&queue->tracked_count, 1) >= queue->sweep_at) {
        sweep(queue);
        queue->sweep_at = FEWEST + 2 * atomic_load(&queue->tracked_count);
    }
    ndr_mutex_unlock(&queue->context->order_lock);
    ndr_mutex_unlock(&queue->context->fail_lock);
}

ndr_status ndr_queue_take_failure(ndr_queue *queue)
{
    ndr_status status = NDR_OK;
    ndr_mutex_lock(&queue->context->order_lock);
    sweep(queue);
    if (queue->failed) status = fail_with(queue->failed);
    ndr_event_release(queue->failed);
    queue->failed = NULL;
    ndr_mutex_unlock(&queue->context->order_lock);
    return status;
}

/* ---- what is left of destroyed queues ----
 *
 * An event whose work has not ended, or has failed before all that it waited for had ended, must be kept until then:
 * see above. The context keeps it, because the context lasts as long as any event that a caller can still end. */

struct ndr_orphan {
    ndr_orphan *next;
    cl_event event;
};

static void adopt(ndr_context *context, cl_event event)
{
    ndr_orphan *made = event ? malloc(sizeof *made) : NULL;
    if (!made) return;
    *made = (ndr_orphan){ context->orphans, event };
    if (ndr_cl.clRetainEvent(event) == CL_SUCCESS) context->orphans = made;
    else free(made);
}

void ndr_orphans_release(ndr_context *context, bool only_complete)
{
    for (ndr_orphan **link = &context->orphans; *link;) {
        ndr_orphan *const orphan = *link;
        if (only_complete && ndr_cl_event_code(orphan->event, CL_QUEUED) != CL_COMPLETE) {
            link = &orphan->next;
            continue;
        }
        *link = orphan->next;
        ndr_cl.clReleaseEvent(orphan->event);
        free(orphan);
    }
}

void ndr_queue_forget_events(ndr_queue *queue)
{
    ndr_mutex_lock(&queue->context->order_lock);
    sweep(queue);
    ndr_orphans_release(queue->context, true);
    for (ndr_event *event = queue->tracked, *next; event; event = next) {
        next = event->next;
        adopt(queue->context, event->first);
        adopt(queue->context, event->last);
        for (size_t i = 0; i < NDR_MAX_PIECES - 2; ++i) adopt(queue->context, event->inner[i]);
        ndr_event_release(event);
    }
    ndr_event_release(queue->failed);
    ndr_mutex_unlock(&queue->context->order_lock);
}
