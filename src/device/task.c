/* task.c - functions of the host that run when work has ended: tasks between commands of one queue or of several at the
 * same time, and callbacks of events.
 *
 * Each has a thread of its own, which waits for an event, runs the function and ends. So a function may wait, enqueue
 * and block without holding up another; a driver's own callbacks may not. */
#include "device/command.h"
#include "device/order.h"
#include "device/queue.h"
#include "device/task.h"

#include <stdlib.h>

typedef enum progress { STARTED, ENQUEUED, GIVEN_UP } progress;

/* In one queue. */
typedef struct side {
    ndr_event *before; /* that the function waits for; a reference */
    ndr_event *end;    /* a user's event, for the commands behind; NULL: of a callback */
} side;

typedef struct task {
    ndr_mutex lock; /* guards the next two */
    ndr_condition has_moved;
    progress progress;
    side sides[NDR_TASK_QUEUES];
    size_t count; /* of `sides` */
    ndr_task_work work;
    ndr_event_callback *callback; /* instead of the work's function */
} task;

_Thread_local const ndr_queue *ndr_task_queue;

static void free_task(task *t)
{
    for (size_t i = 0; i < t->count; ++i) {
        ndr_event_release(t->sides[i].before);
        ndr_event_destroy(t->sides[i].end);
    }
    if (t->work.release) t->work.release(t->work.user);
    ndr_condition_destroy(&t->has_moved);
    ndr_mutex_destroy(&t->lock);
    free(t);
}

/* If it was given up in a later queue, what is behind it in an earlier one goes on. */
static void end_task(task *t, ndr_status status)
{
    for (size_t i = 0; i < t->count; ++i)
        if (t->sides[i].end)
            NDR_IGNORE(ndr_command_end_event(
                "ndr_host_task", t->sides[i].end,
                status == NDR_OK ? NULL : ndr_cause_new(status, ndr_last_cl_error(), ndr_last_error())));
}

static ndr_status run_task(const task *t)
{
    for (size_t i = 0; i < t->count; ++i) NDR_TRY(ndr_event_wait(t->sides[i].before));
    ndr_task_queue = t->work.queue;
    const ndr_status status = t->work.function(t->work.user);
    if (status == NDR_OK || !t->work.queue) return status;
    return ndr_fail(status, "a function of ndr_host_task() failed: %s",
                    ndr_has_error() ? ndr_last_error() : ndr_status_name(status));
}

static void run_callback(const task *t)
{
    const ndr_status status = ndr_event_wait(t->sides[0].before);
    t->callback(status, status == NDR_OK ? "" : ndr_last_error(), t->work.user);
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
    if (t->callback && is_enqueued) run_callback(t);
    if (!t->callback) end_task(t, is_enqueued ? run_task(t) : NDR_OK);
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

static ndr_status new_task(size_t count, task **made)
{
    *made = calloc(1, sizeof **made);
    if (*made) (*made)->count = count;
    else return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a task");
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
    NDR_TRY(new_task(1, &t));
    t->sides[0].before = ndr_event_keep(event);
    t->callback = callback;
    t->work.user = user;
    NDR_TRY(start(t));
    return hand_over(t, NDR_OK);
}

/* ---- tasks ---- */

/* What comes later in the queue waits for the task's end by a marker, or out of order by the marker's event. */
static ndr_status enqueue(const ndr_order *order, side *s, ndr_event **event)
{
    NDR_TRY(ndr_queue_mark_in(order, &s->before));
    return ndr_queue_mark_in(&(ndr_order){ .queue = order->queue, .also = s->end }, event);
}

static ndr_status enqueue_all(const ndr_order *orders, task *t, ndr_event **event)
{
    for (size_t i = 0; i < t->count; ++i) NDR_TRY(enqueue(&orders[i], &t->sides[i], i + 1 < t->count ? NULL : event));
    return NDR_OK;
}

static ndr_status create_ends(const ndr_order *orders, task *t)
{
    for (size_t i = 0; i < t->count; ++i) NDR_TRY(ndr_event_create(orders[i].queue->context, &t->sides[i].end));
    return NDR_OK;
}

ndr_status ndr_task_enqueue(const ndr_order *orders, size_t count, const ndr_task_work *work, ndr_event **event)
{
    task *t;
    const ndr_status made = new_task(count, &t);
    if (made != NDR_OK && work->release) work->release(work->user);
    NDR_TRY(made);
    t->work = *work;
    const ndr_status status = create_ends(orders, t);
    if (status != NDR_OK) free_task(t);
    NDR_TRY(status);
    NDR_TRY(start(t));
    return hand_over(t, enqueue_all(orders, t, event));
}

ndr_status ndr_host_task(ndr_queue *queue, ndr_host_function *function, void *user, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    NDR_TRY(ndr_order_check_queue(__func__, &order));
    NDR_REQUIRE(function, "ndr_host_task: function is NULL; pass the function to run, and its argument as user");
    return ndr_task_enqueue(&order, 1, &(ndr_task_work){ function, user, NULL, order.queue }, event);
}
