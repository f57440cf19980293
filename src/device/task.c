/* task.c - functions of the host that run when work has ended: tasks between commands, and callbacks of events.
 *
 * Each has a thread of its own, which waits for an event, runs the function and ends. So a function may wait, enqueue
 * and block without holding up another; a driver's own callbacks may not. */
#include "device/command.h"
#include "device/order.h"
#include "device/queue.h"
#include "device/task.h"

#include <stdlib.h>

typedef enum progress { STARTED, ENQUEUED, GIVEN_UP } progress;

typedef struct task {
    ndr_mutex lock; /* guards the next two */
    ndr_condition has_moved;
    progress progress;
    ndr_event *before; /* that it waits for; a reference */
    ndr_event *end;    /* a user's event, for the commands behind a task; NULL: a callback */
    ndr_host_function *function;
    ndr_event_callback *callback;
    void *user;
    const ndr_queue *queue; /* of a task; only compared */
} task;

_Thread_local const ndr_queue *ndr_task_queue;

/* If the task was given up, its end is a user's event that has not ended: see ndr_event_destroy(). */
static void free_task(task *t)
{
    ndr_event_release(t->before);
    ndr_event_destroy(t->end);
    ndr_condition_destroy(&t->has_moved);
    ndr_mutex_destroy(&t->lock);
    free(t);
}

/* The work before a task failed, or the task did. */
static void end_task(task *t, ndr_status status)
{
    const ndr_cause *cause = status == NDR_OK ? NULL : ndr_cause_new(status, ndr_last_cl_error(), ndr_last_error());
    NDR_IGNORE(ndr_command_end_event("ndr_host_task", t->end, cause));
}

static ndr_status run_task(const task *t)
{
    NDR_TRY(ndr_event_wait(t->before));
    ndr_task_queue = t->queue;
    const ndr_status status = t->function(t->user);
    if (status == NDR_OK) return NDR_OK;
    return ndr_fail(status, "a function of ndr_host_task() failed: %s",
                    ndr_has_error() ? ndr_last_error() : ndr_status_name(status));
}

static void run_callback(const task *t)
{
    const ndr_status status = ndr_event_wait(t->before);
    t->callback(status, status == NDR_OK ? "" : ndr_last_error(), t->user);
}

/* Whether it is enqueued; otherwise it was given up. */
static bool wait_until_enqueued(task *t)
{
    ndr_mutex_lock(&t->lock);
    while (t->progress == STARTED) ndr_condition_wait(&t->has_moved, &t->lock);
    const bool is_enqueued = t->progress == ENQUEUED;
    ndr_mutex_unlock(&t->lock);
    return is_enqueued;
}

static void *run(void *task_)
{
    task *t = task_;
    const bool is_enqueued = wait_until_enqueued(t);
    if (is_enqueued && t->end) end_task(t, run_task(t));
    if (is_enqueued && !t->end) run_callback(t);
    free_task(t);
    return NULL;
}

/* Start the thread, which waits for hand_over(). It is started first, so that nothing is enqueued if that fails. */
static ndr_status start(task *t)
{
    ndr_thread thread;
    if (ndr_thread_start(&thread, run, t)) {
        ndr_thread_detach(thread);
        return NDR_OK;
    }
    free_task(t);
    return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "the system cannot start another thread");
}

/* From now on the thread owns the task, which is enqueued or, with a failure, given up. */
static ndr_status hand_over(task *t, ndr_status status)
{
    ndr_mutex_lock(&t->lock);
    t->progress = status == NDR_OK ? ENQUEUED : GIVEN_UP;
    ndr_condition_wake_all(&t->has_moved);
    ndr_mutex_unlock(&t->lock);
    return status;
}

static ndr_status new_task(task **made)
{
    *made = calloc(1, sizeof **made);
    if (!*made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a task");
    ndr_mutex_init(&(*made)->lock, NDR_LOCK_TASK);
    ndr_condition_init(&(*made)->has_moved);
    return NDR_OK;
}

/* ---- callbacks ---- */

ndr_status ndr_event_set_callback(ndr_event *event, ndr_event_callback *callback, void *user)
{
    task *t;
    NDR_REQUIRE_SET(event);
    NDR_REQUIRE(callback, "ndr_event_set_callback: callback is NULL; pass the function to call");
    NDR_TRY(new_task(&t));
    t->before = ndr_event_keep(event);
    t->callback = callback;
    t->user = user;
    NDR_TRY(start(t));
    return hand_over(t, NDR_OK);
}

/* ---- tasks ---- */

/* What comes later in the queue waits for the task's end by a marker, or out of order by the marker's event. */
static ndr_status enqueue(const ndr_order *order, task *t, ndr_event **event)
{
    NDR_TRY(ndr_queue_mark_in(order, &t->before));
    return ndr_queue_mark_in(&(ndr_order){ .queue = order->queue, .also = t->end }, event);
}

ndr_status ndr_host_task(ndr_queue *queue, ndr_host_function *function, void *user, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    task *t;
    NDR_TRY(ndr_order_check_queue(__func__, &order));
    NDR_REQUIRE(function, "ndr_host_task: function is NULL; pass the function to run, and its argument as user");
    NDR_TRY(new_task(&t));
    t->function = function;
    t->queue = order.queue;
    t->user = user;
    const ndr_status status = ndr_event_create(order.queue->context, &t->end);
    if (status != NDR_OK) free_task(t);
    NDR_TRY(status);
    NDR_TRY(start(t));
    return hand_over(t, enqueue(&order, t, event));
}
