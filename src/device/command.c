/* command.c - enqueues all work, and lets users' events end.
 *
 * Each command goes through run_locked(). Under its queue's lock it reads what the command must wait for, calls the
 * driver by forms that do not block, and records the event; so no other command of the queue comes between. A call that
 * blocks waits for its event afterwards, or waits in the driver, both without a lock.
 *
 * A second lock, of the context, keeps commands with a wait list and failures of users' events apart: the fault
 * fail_while_enqueued in quirks.c. Only this file takes the two locks, the queue's before the context's, and each
 * function that takes a lock also returns it. */
#include "device/command.h"
#include "device/context.h"
#include "device/event.h"
#include "device/queue.h"
#include "device/trace.h"
#include "device/wait.h"

/* ---- turns: the fault enqueue_races ---- */

static ndr_mutex turn = NDR_MUTEX_INITIALIZER(NDR_LOCK_ENQUEUE);

static ndr_status enqueue_in_turn(const ndr_context *context, ndr_submission *s, ndr_enqueue *enqueue, const void *what)
{
    if (!ndr_context_takes_turns(context)) return enqueue(s, what);
    ndr_mutex_lock(&turn);
    const ndr_status status = enqueue(s, what);
    ndr_mutex_unlock(&turn);
    return status;
}

/* ---- commands ---- */

static void release_pieces(const cl_event *pieces, size_t count)
{
    for (size_t i = 0; i < count; ++i) ndr_cl.clReleaseEvent(pieces[i]);
}

/* An event that is made has those of all pieces: the fault unheld_failure_aborts. Out of order, each piece waits for
 * the one before it, so that the last one ends last: a marker behind all of them would let them run at the same time,
 * but then several events of its list may fail, the fault two_events_fail. */
static ndr_status enqueue(const ndr_command *c, ndr_event *made)
{
    ndr_queue *const queue = c->order->queue;
    const bool is_kept = c->kernel && ndr_queue_wants_last_event(queue);
    cl_event own[NDR_MAX_PIECES], *const pieces = made ? made->pieces : own;
    ndr_submission s = { .queue = queue->cl,
                         .waits = made ? (ndr_wait_list){ made->list_count, made->list } : (ndr_wait_list){ 0, NULL },
                         .done = made || is_kept ? pieces : NULL,
                         .is_chain = made && queue->is_out_of_order };
    const ndr_status status = enqueue_in_turn(queue->context, &s, c->enqueue, c->what);
    const size_t count = s.done ? (size_t)(s.done - pieces) : 0;
    if (is_kept && status == NDR_OK && count > 0) ndr_queue_set_last_event(queue, pieces[count - 1]);
    if (!made) release_pieces(own, count);
    else made->piece_count = (unsigned)count, made->kernel = c->kernel;
    return status;
}

/* With the context's lock, too. If the driver refused a later piece, the earlier ones still run. */
static ndr_status enqueue_behind(const ndr_command *c, ndr_event *made, ndr_event **gone)
{
    NDR_TRY(ndr_order_add_waits(c->order, made));
    const ndr_status status = enqueue(c, made);
    if (made->piece_count > 0) ndr_queue_track(c->order->queue, made, gone);
    return status == NDR_OK ? NDR_OK : ndr_order_explain(made, status);
}

/* For the fault fail_ends_twice: a command also waits for earlier work of its queue. Nobody holds events of that work,
 * so a marker in front of the first command that may fail tells when it has ended. Out of order all events are held
 * once there are users' events. */
static ndr_status mark_earlier_work(ndr_queue *queue, ndr_event **gone)
{
    ndr_event *mark;
    const ndr_order order = { .queue = queue };
    NDR_TRY(ndr_event_new(queue->context, queue, &mark));
    const ndr_status status = enqueue_behind(&(ndr_command){ &order, ndr_submit, &ndr_marker, NULL }, mark, gone);
    ndr_event_release(mark);
    return status;
}

static bool fails_twice(const ndr_context *context)
{
    return ndr_avoids(context, NDR_QUIRK_FAIL_ENDS_TWICE);
}

static bool needs_mark(const ndr_order *order)
{
    const ndr_queue *const queue = order->queue;
    return (order->count > 0 || order->also) && !queue->is_out_of_order && atomic_load(&queue->tracked_count) == 0
           && atomic_load(&queue->context->has_user_events) && fails_twice(queue->context);
}

static ndr_status run_behind(const ndr_command *c, ndr_event *made, ndr_event **gone)
{
    ndr_queue *const queue = c->order->queue;
    ndr_mutex_lock(&queue->context->fail_lock);
    ndr_status status = needs_mark(c->order) ? mark_earlier_work(queue, gone) : NDR_OK;
    if (status == NDR_OK) status = enqueue_behind(c, made, gone);
    ndr_mutex_unlock(&queue->context->fail_lock);
    return status;
}

/* With the queue's lock. */
static ndr_status run_locked(const ndr_command *c, bool is_wanted, ndr_event **made, ndr_event **gone)
{
    ndr_queue *const queue = c->order->queue;
    const bool waits = ndr_order_waits(c->order);
    if (!waits && !is_wanted) return enqueue(c, NULL);
    NDR_TRY(ndr_event_new(queue->context, queue, made));
    return waits ? run_behind(c, *made, gone) : enqueue(c, *made);
}

ndr_status ndr_command_run_checked(const ndr_command *c, ndr_event **event)
{
    ndr_queue *const queue = c->order->queue;
    ndr_event *made = NULL, *gone = NULL;
    ndr_mutex_lock(&queue->lock);
    const ndr_status status = run_locked(c, event != NULL, &made, &gone);
    ndr_mutex_unlock(&queue->lock);
    ndr_events_release(gone);
    if (status == NDR_OK && event) *event = made;
    else ndr_event_release(made);
    return status;
}

ndr_status ndr_command_run(const ndr_command *c, ndr_event **event)
{
    NDR_TRY(ndr_order_check(c->order));
    return ndr_command_run_checked(c, event);
}

/* ---- commands that are waited for ---- */

static ndr_status run_checked_and_wait(const ndr_command *c)
{
    ndr_event *done;
    NDR_TRY(ndr_command_run_checked(c, &done));
    return ndr_event_wait_and_destroy(done, c->order->queue);
}

ndr_status ndr_command_run_and_wait(const ndr_command *c)
{
    NDR_TRY(ndr_order_check(c->order));
    return run_checked_and_wait(c);
}

/* A driver that moves data from memory of the device's own reads a few bytes faster by the form that blocks: in 10 us on
 * an H100, not 18. No lock is held meanwhile. If another thread creates the context's first user's event now and
 * enqueues behind it, the call waits for that, too. A write that blocks may return before the bytes have arrived. */
static bool may_block(const ndr_order *order)
{
    const ndr_queue *const queue = order->queue;
    const ndr_context *const context = queue->context;
    return !context->caps.info.shares_host_memory && !ndr_context_has_turns(context) && !queue->is_out_of_order
           && queue->spin_ns == 0 && !ndr_order_waits(order) && !atomic_load(&context->has_user_events)
           && !ndr_is_traced();
}

ndr_status ndr_command_read_and_wait(const ndr_command *c)
{
    NDR_TRY(ndr_order_check(c->order));
    if (!may_block(c->order)) return run_checked_and_wait(c);
    return c->enqueue(&(ndr_submission){ .queue = c->order->queue->cl, .may_block = true }, c->what);
}

/* ---- alone ---- */

ndr_status ndr_command_run_alone(const ndr_context *context, cl_command_queue queue, const ndr_transfer *transfer,
                                 cl_event *done)
{
    return enqueue_in_turn(context, &(ndr_submission){ .queue = queue, .done = done }, ndr_submit, transfer);
}

cl_int ndr_command_run_quietly(const ndr_context *context, cl_command_queue queue, const ndr_transfer *transfer,
                               cl_event *done, const char **call)
{
    if (!ndr_context_takes_turns(context)) return ndr_submit_quietly(queue, transfer, done, call);
    ndr_mutex_lock(&turn);
    const cl_int error = ndr_submit_quietly(queue, transfer, done, call);
    ndr_mutex_unlock(&turn);
    return error;
}

/* ---- the end of a user's event: the fault fail_ends_twice ----
 *
 * Ends of users' events exclude each other, and an event fails once the work has ended that is under way and that the
 * commands behind it wait for, too. Until then a thread waits. Work has ended once the driver has released its event:
 * its state changes earlier. */

static cl_int set_status(const ndr_event *event, bool has_failed)
{
    return ndr_cl.clSetUserEventStatus(event->pieces[0],
                                       has_failed ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_COMPLETE);
}

/* What must end first, with a reference; or NULL, and the driver was called. */
static ndr_event *try_to_end(const ndr_event *event, bool has_failed, cl_int *error)
{
    ndr_mutex_lock(&event->context->fail_lock);
    ndr_event *const before = has_failed && fails_twice(event->context) ? ndr_event_find_under_way(event) : NULL;
    if (!before) ndr_failed_trim(event->context);
    if (!before) *error = set_status(event, has_failed);
    ndr_mutex_unlock(&event->context->fail_lock);
    return before;
}

static bool is_left(void *event) { return ndr_event_is_left(event); }

/* The program, a trace or the driver itself may hold references as long as they like, hence the limit: longer than the
 * scheduler leaves a thread of the driver waiting on a busy machine. */
static void wait_and_release(ndr_event *before)
{
    enum { PAUSE_NS = 1000000 }; /* if the driver cannot wait */
    enum { LIMIT_NS = 20000000 };
    NDR_IGNORE(ndr_event_flush(before));
    if (ndr_wait_for_event(before->context, ndr_event_end(before)) != CL_SUCCESS) ndr_thread_sleep_ns(PAUSE_NS);
    (void)ndr_wait_until(is_left, before, LIMIT_NS);
    if (ndr_event_code(before) <= CL_COMPLETE) atomic_store(&before->is_left, true);
    ndr_event_release(before);
}

static void *fail_later(void *event_)
{
    ndr_event *const event = event_;
    cl_int error = CL_SUCCESS;
    for (ndr_event *before; (before = try_to_end(event, true, &error));) wait_and_release(before);
    if (error != CL_SUCCESS) ndr_event_take_back_end(event);
    ndr_event_release(event);
    return NULL;
}

static cl_int end_event(ndr_event *event, bool has_failed)
{
    cl_int error = CL_SUCCESS;
    ndr_thread thread;
    ndr_event *before;
    while ((before = try_to_end(event, has_failed, &error)) && ndr_event_code(before) <= CL_COMPLETE)
        wait_and_release(before);
    if (!before) return error;
    ndr_event_release(before);
    if (ndr_thread_start(&thread, fail_later, ndr_event_keep(event))) ndr_thread_detach(thread);
    else fail_later(event);
    return CL_SUCCESS;
}

/* Who waits for this event may destroy it before the driver's call returns, hence the reference. */
ndr_status ndr_command_end_event(const char *call, ndr_event *event, const ndr_cause *cause)
{
    const ndr_status status = ndr_event_begin_end(call, event, cause);
    if (status != NDR_OK) ndr_cause_free(cause);
    NDR_TRY(status);
    ndr_event_keep(event);
    const cl_int error = end_event(event, cause != NULL);
    if (error != CL_SUCCESS) ndr_event_take_back_end(event);
    ndr_event_release(event);
    NDR_TRY_CL_AS("clSetUserEventStatus", error);
    return NDR_OK;
}
