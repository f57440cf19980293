/* order.c - what a command waits for, and why work failed.
 *
 * A driver that fails a command fails those that wait for it, too, but most not with the code of the first, and Intel's
 * runtime with none: the fault failure_without_cause. So an event keeps the events that its command waits for until the
 * command has ended, and a queue keeps the events of commands that wait for others, and of all behind them. Such a
 * queue asks for the event of each command: the fault unheld_failure_aborts.
 *
 * The states of events are read when the next command is enqueued and when the host waits, because of the faults
 * callback_not_called and callback_locked.
 *
 * One lock of the context guards all of it. Commands without a wait list, in queues without such events, do not take
 * it. */
#include "device/context.h"
#include "device/event.h"
#include "device/order.h"
#include "device/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const char because[] = "the work was enqueued, but failed because work before it did: ";

/* A chain of host tasks passes on the sentence of the first failure, not one that grows. */
static const char *first_of(const char *sentence)
{
    while (strncmp(sentence, because, strlen(because)) == 0) sentence += strlen(because);
    return sentence;
}

const ndr_cause *ndr_cause_new(ndr_status status, int32_t code, const char *sentence)
{
    ndr_cause *made = malloc(sizeof *made);
    if (!made) return &lost;
    made->status = status;
    made->code = code;
    snprintf(made->sentence, sizeof made->sentence, "%s", first_of(sentence));
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

static bool settle(ndr_event *event);

/* A driver may run a queue out of order in order, as NVIDIA's does. Then work behind failed work fails, although it does
 * not wait for it. Those before it are settled first to last, so the recursion is not deep. */
static const ndr_event *find_failed_in_queue(const ndr_event *event)
{
    if (!event->queue || event->queue->failed) return event->queue ? event->queue->failed : NULL;
    for (ndr_event *before = event->queue->tracked; before && before != event; before = before->next)
        if (settle(before) && before->cause) return before;
    return NULL;
}

static const ndr_cause *new_cause(ndr_event *event, cl_int code)
{
    const ndr_event *before = find_failed(event, event->wait_count);
    if (!before && code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) before = find_failed_in_queue(event);
    event->inherits = before != NULL;
    return before ? ndr_cause_new(before->cause->status, before->cause->code, before->cause->sentence)
                  : new_first_cause(event, code);
}

/* For work that has ended, and after those before it. What waits for failed work may be reported as complete. */
static void settle_one(ndr_event *event)
{
    const cl_int code = ndr_event_code(event);
    const bool has_failed = code < CL_COMPLETE || find_failed(event, event->wait_count - event->waits_in_order);
    if (has_failed && !event->cause) event->cause = new_cause(event, code);
    event->is_settled = true;
}

/* The next one, of those that it waits for, that has ended. */
static ndr_event *find_unsettled(ndr_event *event)
{
    while (event->searched < event->wait_count) {
        ndr_event *const before = event->waits[event->searched++];
        if (!before->is_settled && ndr_event_code(before) <= CL_COMPLETE) return before;
    }
    return NULL;
}

static void begin_search(ndr_event *event, ndr_event *parent)
{
    event->parent = parent;
    event->searched = 0;
}

/* Whether the work has ended. Then the event has the cause if it failed. No recursion: the chain may be long. */
static bool settle(ndr_event *event)
{
    if (event->is_settled) return true;
    if (ndr_event_code(event) > CL_COMPLETE) return false;
    begin_search(event, NULL);
    while (event) {
        ndr_event *const before = find_unsettled(event);
        if (before) begin_search(before, event);
        else settle_one(event);
        event = before ? before : event->parent;
    }
    return true;
}

static ndr_status fail_with(const ndr_event *event)
{
    const ndr_cause *cause = event->cause;
    return ndr_fail_with_code(cause->status, cause->code, "%s%s",
                              event->inherits ? because : "", cause->sentence);
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
    NDR_REQUIRE(!event->is_ending, "%s: the event has already ended; end it only once", call);
    return NDR_OK;
}

ndr_status ndr_event_begin_end(const char *call, ndr_event *event, const ndr_cause *cause)
{
    ndr_mutex_lock(&event->context->order_lock);
    const ndr_status status = check_users(call, event);
    if (status == NDR_OK) event->is_ending = true, event->cause = cause;
    ndr_mutex_unlock(&event->context->order_lock);
    return status;
}

void ndr_event_take_back_end(ndr_event *event)
{
    ndr_mutex_lock(&event->context->order_lock);
    const ndr_cause *const cause = event->cause;
    event->is_ending = false;
    event->cause = NULL;
    ndr_mutex_unlock(&event->context->order_lock);
    ndr_cause_free(cause);
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
                "ndr_after: event %zu and the queue belong to different contexts; wait for it with ndr_event_wait(), or in "
                "a function of ndr_host_task() on that queue",
                index);
    return NDR_OK;
}

/* Queues of events whose work has not ended: once each, if the events of a queue follow one another. */
static ndr_status flush_queues(const ndr_order *order)
{
    const ndr_queue *flushed = NULL;
    for (size_t i = 0; i < order->count; ++i) {
        const ndr_event *event = order->events[i];
        if (!event || !event->queue || event->queue == order->queue || event->queue == flushed) continue;
        if (ndr_event_code(event) <= CL_COMPLETE) continue;
        flushed = event->queue;
        NDR_TRY_CL(clFlush(flushed->cl));
    }
    return NDR_OK;
}

/* With the lock held. Some drivers never run what waits for work that has failed. Work that has ended need not be
 * waited for, but out of order it stays in the list: a marker or barrier without a list would wait for all work. */
static ndr_status add_wait(const ndr_order *order, ndr_event *made, ndr_event *event, size_t index)
{
    if (!event) return NDR_OK;
    const bool has_ended = settle(event);
    if (!has_ended) made->waits[made->wait_count++] = ndr_event_keep(event);
    if (!has_ended || order->queue->is_out_of_order) made->list[made->list_count++] = ndr_event_end(event);
    if (!has_ended || !event->cause) return NDR_OK;
    NDR_IGNORE(fail_with(event));
    return ndr_fail_with_code(event->cause->status, event->cause->code,
                              "event %zu that the command waits for has failed, and nothing was enqueued: %s", index,
                              ndr_last_error());
}

static int compare_events(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)*(const cl_event *)a, y = (uintptr_t)*(const cl_event *)b;
    return (x > y) - (x < y);
}

/* A driver may refuse a command because an event of its list has failed since it was looked at. */
ndr_status ndr_order_explain(const ndr_event *made, ndr_status status)
{
    if (ndr_last_cl_error() != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST || made->piece_count > 0) return status;
    ndr_mutex_lock(&made->context->order_lock);
    for (size_t i = 0; i < made->wait_count; ++i) (void)settle(made->waits[i]);
    const ndr_event *const failed = find_failed(made, made->wait_count);
    if (failed) NDR_IGNORE(fail_with(failed));
    ndr_mutex_unlock(&made->context->order_lock);
    return failed ? ndr_fail_with_code(failed->cause->status, failed->cause->code,
                                       "work that the command waits for has failed, and nothing was enqueued: %s",
                                       ndr_last_error())
                  : status;
}

/* An event that is named twice is listed once: the fault two_events_fail. */
static void list_each_once(ndr_event *made)
{
    cl_uint kept = 0;
    if (made->list_count < 2) return;
    qsort(made->list, made->list_count, sizeof *made->list, compare_events);
    for (cl_uint i = 0; i < made->list_count; ++i)
        if (i == 0 || made->list[i] != made->list[kept - 1]) made->list[kept++] = made->list[i];
    made->list_count = kept;
}

/* The latest event of the queue, or the latest barrier, that has not ended. `*is_last`: none comes after. */
static ndr_event *find_latest(const ndr_queue *queue, bool of_barriers, bool *is_last)
{
    ndr_event *latest = NULL;
    *is_last = true;
    for (ndr_event *event = queue->tracked; event; event = event->next) {
        if (of_barriers && !event->is_barrier) continue;
        *is_last = !settle(event);
        if (*is_last) latest = event;
    }
    return latest;
}

static void add_wait_in_queue(ndr_event *made, ndr_event *before, bool has_to_name)
{
    made->waits[made->wait_count++] = ndr_event_keep(before);
    ++made->waits_in_order;
    if (has_to_name) made->list[made->list_count++] = ndr_event_end(before);
}

/* In order, a command also waits for the one before it, and in both kinds of queues for the latest barrier. If what is
 * before has failed, earlier work may not have ended, and has to be named: the fault failed_order_lost. */
static void add_waits_in_queue(const ndr_queue *queue, ndr_event *made)
{
    const bool names = ndr_avoids(queue->context, NDR_QUIRK_FAILED_ORDER_LOST);
    bool is_last = true;
    ndr_event *before = queue->is_out_of_order ? NULL : queue->last_tracked;
    if (before && settle(before)) before = find_latest(queue, false, &is_last);
    if (before) add_wait_in_queue(made, before, names && !is_last);
    if (!queue->has_barrier) return;
    ndr_event *const barrier = find_latest(queue, true, &is_last);
    if (barrier && barrier != before) add_wait_in_queue(made, barrier, names && queue->is_out_of_order && !is_last);
}

/* Out of order, a mark or barrier without a list waits for all that has not ended. */
static void add_waits_for_all(const ndr_queue *queue, ndr_event *made)
{
    for (ndr_event *event = queue->tracked; event; event = event->next) {
        if (settle(event)) continue;
        made->waits[made->wait_count++] = ndr_event_keep(event);
        ++made->waits_in_order;
    }
}

/* With the lock held. */
static ndr_status add_waits(ndr_event *made, const ndr_order *order)
{
    for (size_t i = 0; i < order->count; ++i) NDR_TRY(add_wait(order, made, order->events[i], i));
    NDR_TRY(add_wait(order, made, order->also, order->count));
    ndr_queue *const queue = order->queue;
    made->waits_for_all = queue->is_out_of_order && order->is_fence && made->list_count == 0;
    made->is_barrier = order->is_barrier;
    if (made->waits_for_all) add_waits_for_all(queue, made);
    else add_waits_in_queue(queue, made);
    return NDR_OK;
}

ndr_status ndr_order_check(const ndr_order *order)
{
    NDR_REQUIRE(order->events || order->count == 0,
                "ndr_after_all: events is NULL, but count is %zu; pass an array of that length", order->count);
    for (size_t i = 0; i < order->count; ++i) NDR_TRY(check_event(order, i));
    return flush_queues(order);
}

bool ndr_order_waits(const ndr_order *order)
{
    const ndr_queue *const queue = order->queue;
    if (order->count > 0 || order->also) return true;
    if (queue->is_out_of_order && (order->is_fence || atomic_load(&queue->context->has_user_events))) return true;
    return atomic_load_explicit(&queue->tracked_count, memory_order_relaxed) > 0;
}

/* Others may only make the queue's list shorter. */
ndr_status ndr_order_add_waits(const ndr_order *order, ndr_event *made)
{
    const bool may_wait_for_all = order->is_fence && order->queue->is_out_of_order;
    const size_t listed = order->count + 3;
    const size_t most = listed + (may_wait_for_all ? atomic_load(&order->queue->tracked_count) : 0);
    made->waits = calloc(1, most * sizeof *made->waits + listed * sizeof *made->list);
    if (!made->waits) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a wait list");
    made->list = (cl_event *)(made->waits + most);
    ndr_mutex_lock(&made->context->order_lock);
    const ndr_status status = add_waits(made, order);
    ndr_mutex_unlock(&made->context->order_lock);
    if (status == NDR_OK) list_each_once(made);
    return status;
}

/* ---- the events that a queue keeps, with the lock held ---- */

/* For an event that is settled: keep the first that failed, for ndr_queue_finish(). */
static void note_failure(ndr_queue *queue, ndr_event *event)
{
    if (!event->cause || event->is_noted) return;
    event->is_noted = true;
    if (!queue->failed) queue->failed = ndr_event_keep(event);
}

static bool is_in_queue(const ndr_event *event, size_t wait)
{
    return wait >= event->wait_count - event->waits_in_order;
}

/* Whether all that it waits for has ended, too, in its queue also before what has failed early. A command may fail
 * before that, and the driver may still access its event: the fault failed_event_used. Out of order, what waits for all
 * work also stays in the list until all before it are gone. */
static bool can_go(const ndr_event *event, bool is_oldest)
{
    if (event->waits_for_all && !is_oldest) return false;
    for (size_t i = 0; i < event->wait_count; ++i) {
        const ndr_event *const before = event->waits[i];
        if (is_in_queue(event, i) && before->wait_count > 0) return false;
        if (!before->is_settled && ndr_event_code(before) > CL_COMPLETE) return false;
    }
    return true;
}

/* Its references, and the queue's, are returned by ndr_events_release(), which may call the driver. */
static void let_go(ndr_event *event, ndr_event **gone)
{
    event->gone_count = event->wait_count;
    event->wait_count = event->waits_in_order = 0;
    event->is_held_back = event->is_behind = false;
    event->next = *gone;
    *gone = event;
}

void ndr_events_release(ndr_event *gone)
{
    for (ndr_event *event = gone, *next; event; event = next) {
        next = event->next;
        for (size_t i = 0; i < event->gone_count; ++i) ndr_event_release(event->waits[i]);
        ndr_event_release(event);
    }
}

static void sweep(ndr_queue *queue, ndr_event **gone)
{
    unsigned left = 0;
    ndr_event *last = NULL, **link = &queue->tracked;
    while (*link) {
        ndr_event *const event = *link;
        const bool is_over = settle(event);
        if (is_over && !queue->is_destroyed) note_failure(queue, event);
        if (is_over && can_go(event, left == 0)) {
            *link = event->next;
            let_go(event, gone);
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
void ndr_queue_track(ndr_queue *queue, ndr_event *event, ndr_event **gone)
{
    enum { FEWEST = 16 };
    ndr_mutex_lock(&queue->context->order_lock);
    event->next = NULL;
    *(queue->last_tracked ? &queue->last_tracked->next : &queue->tracked) = ndr_event_keep(event);
    queue->last_tracked = event;
    if (event->is_barrier) queue->has_barrier = true;
    if (atomic_fetch_add(&queue->tracked_count, 1) >= queue->sweep_at) {
        sweep(queue, gone);
        queue->sweep_at = FEWEST + 2 * atomic_load(&queue->tracked_count);
    }
    ndr_mutex_unlock(&queue->context->order_lock);
}

ndr_event *ndr_queue_find_unfinished(ndr_queue *queue)
{
    ndr_mutex_lock(&queue->context->order_lock);
    ndr_event *event = queue->tracked;
    while (event && settle(event)) event = event->next;
    if (event) ndr_event_keep(event);
    ndr_mutex_unlock(&queue->context->order_lock);
    return event;
}

/* With the lock held. */
static ndr_event *take_failed(ndr_queue *queue)
{
    ndr_event *const failed = queue->failed;
    queue->failed = NULL;
    return failed;
}

ndr_status ndr_queue_take_failure(ndr_queue *queue)
{
    ndr_event *gone = NULL;
    ndr_mutex_lock(&queue->context->order_lock);
    sweep(queue, &gone);
    ndr_event *const failed = take_failed(queue);
    const ndr_status status = failed ? fail_with(failed) : NDR_OK;
    ndr_mutex_unlock(&queue->context->order_lock);
    ndr_events_release(gone);
    ndr_event_release(failed);
    return status;
}

/* ---- work under way, with the lock held ---- */

static bool is_unfinished(const ndr_event *event) { return !event->is_settled && ndr_event_code(event) > CL_COMPLETE; }

/* Of the events before one. */
typedef struct held_back {
    bool is_held_back, is_behind;
} held_back;

static void add_held_back(held_back *sum, const ndr_event *event, const ndr_event *failing)
{
    if (!is_unfinished(event)) return;
    sum->is_held_back = sum->is_held_back || event->is_users || event->is_held_back;
    sum->is_behind = sum->is_behind || event == failing || event->is_behind;
}

/* Work that failed early does not end what it waited for in its queue. Some drivers let what is behind wait for that. */
static void add_held_back_before(held_back *sum, const ndr_event *event)
{
    if (is_unfinished(event)) return;
    sum->is_held_back = sum->is_held_back || event->is_held_back;
    sum->is_behind = sum->is_behind || event->is_behind;
}

/* Of work that has ended only what comes before it in its queue, in order. */
static size_t find_first_wait(const ndr_queue *queue, const ndr_event *event)
{
    if (is_unfinished(event)) return 0;
    return event->wait_count - (queue->is_out_of_order ? 0 : event->waits_in_order);
}

/* Go through a queue's events once. Returns whether one of them was found to be held back or behind. */
static bool spread_in_queue(const ndr_queue *queue, const ndr_event *failing)
{
    bool has_changed = false;
    for (ndr_event *event = queue->tracked; event; event = event->next) {
        held_back own = { false, false };
        for (size_t i = find_first_wait(queue, event); i < event->wait_count; ++i) {
            add_held_back(&own, event->waits[i], failing);
            if (is_in_queue(event, i)) add_held_back_before(&own, event->waits[i]);
        }
        has_changed = has_changed || own.is_held_back != event->is_held_back || own.is_behind != event->is_behind;
        event->is_held_back = own.is_held_back;
        event->is_behind = own.is_behind;
    }
    return has_changed;
}

static bool spread(const ndr_context *context, const ndr_event *failing)
{
    bool has_changed = false;
    for (const ndr_queue *queue = context->queues; queue; queue = queue->next)
        has_changed = spread_in_queue(queue, failing) || has_changed;
    return has_changed;
}

/* A driver may set the state of ended work before it looks at the commands that wait for it. It drops its reference
 * after. */
bool ndr_event_is_left(const ndr_event *event)
{
    cl_uint references = 0;
    const cl_event end = ndr_event_end(event);
    const cl_uint own = atomic_load(&event->queue->last) == end ? 2 : 1;
    const cl_int error =
        ndr_cl.clGetEventInfo(end, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, NULL);
    return error != CL_SUCCESS || references <= own;
}

static bool is_under_way(const ndr_event *event)
{
    if (event->is_users || event->is_held_back || atomic_load(&event->is_left)) return false;
    const cl_int code = ndr_event_code(event);
    return code > CL_COMPLETE || (code == CL_COMPLETE && !ndr_event_is_left(event));
}

/* Among what the event waits for. */
static ndr_event *find_before(const ndr_event *event)
{
    for (size_t i = 0; i < event->wait_count; ++i)
        if (is_under_way(event->waits[i])) return event->waits[i];
    return NULL;
}

static ndr_event *find_under_way(const ndr_context *context)
{
    ndr_event *found = NULL;
    for (const ndr_queue *queue = context->queues; queue && !found; queue = queue->next)
        for (const ndr_event *event = queue->tracked; event && !found; event = event->next)
            if (event->is_behind && is_unfinished(event)) found = find_before(event);
    return found;
}

ndr_event *ndr_event_find_under_way(const ndr_event *failing)
{
    ndr_context *const context = failing->context;
    ndr_mutex_lock(&context->order_lock);
    while (spread(context, failing)) {}
    ndr_event *const found = find_under_way(context);
    if (found) ndr_event_keep(found);
    ndr_mutex_unlock(&context->order_lock);
    return found;
}

/* ---- destroyed queues ----
 *
 * An event whose work has not ended, or has failed before all that it waited for had ended, must be kept until then:
 * see above. So a destroyed queue stays in its context's list until it keeps no events. The events keep the context, so
 * that they are let go when that is destroyed. The context then keeps what OpenCL has of them, because it lasts as long
 * as any event that a caller can still end. */

typedef struct ndr_orphan {
    struct ndr_orphan *next;
    cl_event event;
} ndr_orphan;

static void adopt(ndr_context *context, cl_event event)
{
    ndr_orphan *made = malloc(sizeof *made);
    if (!made) return;
    *made = (ndr_orphan){ context->orphans, event };
    if (ndr_cl.clRetainEvent(event) == CL_SUCCESS) context->orphans = made;
    else free(made);
}

/* ---- events of failed commands, of which the context keeps the latest: the fault failed_event_used ---- */

void ndr_failed_keep(ndr_context *context, cl_event event)
{
    ndr_orphan *made = malloc(sizeof *made);
    if (!made) return; /* the event is never released */
    *made = (ndr_orphan){ NULL, event };
    ndr_mutex_lock(&context->order_lock);
    *(context->last_failed ? &context->last_failed->next : &context->failed) = made;
    context->last_failed = made;
    ++context->failed_count;
    ndr_mutex_unlock(&context->order_lock);
}

static void release_failed(ndr_context *context, unsigned most)
{
    for (ndr_orphan *oldest; context->failed_count > most; --context->failed_count) {
        oldest = context->failed;
        context->failed = oldest->next;
        if (!context->failed) context->last_failed = NULL;
        ndr_cl.clReleaseEvent(oldest->event);
        free(oldest);
    }
}

unsigned ndr_max_failed_events = 1024;

void ndr_failed_trim(ndr_context *context)
{
    ndr_mutex_lock(&context->order_lock);
    release_failed(context, ndr_max_failed_events);
    ndr_mutex_unlock(&context->order_lock);
}

void ndr_orphans_release(ndr_context *context, bool only_complete)
{
    if (!only_complete) release_failed(context, 0);
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

/* Searches for work under way do not find these events any more. So they count as behind each event that is to fail,
 * but are not waited for: what holds them back may be that event. */
static void let_all_go(ndr_queue *queue, ndr_event **gone)
{
    for (ndr_event *event = queue->tracked, *next; event; event = next) {
        next = event->next;
        event->is_held_back = event->is_behind = true;
        for (unsigned i = 0; i < event->piece_count; ++i) adopt(queue->context, event->pieces[i]);
        event->next = *gone;
        *gone = event;
    }
    queue->tracked = queue->last_tracked = NULL;
}

/* With the lock held: of destroyed queues. */
static void sweep_destroyed(ndr_context *context, ndr_event **gone)
{
    for (ndr_queue **link = &context->queues, *queue; (queue = *link);) {
        if (queue->is_destroyed) sweep(queue, gone);
        if (queue->is_destroyed && context->is_destroyed) let_all_go(queue, gone);
        if (queue->is_destroyed && !queue->tracked) *link = queue->next;
        else link = &queue->next;
    }
}

void ndr_queue_list(ndr_queue *queue)
{
    ndr_event *gone = NULL;
    ndr_context *const context = queue->context;
    ndr_mutex_lock(&context->order_lock);
    sweep_destroyed(context, &gone);
    queue->next = context->queues;
    context->queues = queue;
    ndr_mutex_unlock(&context->order_lock);
    ndr_events_release(gone);
}

void ndr_queue_forget_events(ndr_queue *queue)
{
    ndr_event *gone = NULL;
    ndr_mutex_lock(&queue->context->order_lock);
    queue->is_destroyed = true;
    ndr_event *const failed = take_failed(queue);
    ndr_orphans_release(queue->context, true);
    sweep_destroyed(queue->context, &gone);
    ndr_mutex_unlock(&queue->context->order_lock);
    ndr_events_release(gone);
    ndr_event_release(failed);
}

void ndr_context_forget_events(ndr_context *context)
{
    ndr_event *gone = NULL;
    ndr_mutex_lock(&context->order_lock);
    context->is_destroyed = true;
    sweep_destroyed(context, &gone);
    ndr_mutex_unlock(&context->order_lock);
    ndr_events_release(gone);
}
