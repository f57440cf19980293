/* wait.c - spinning before a blocking wait, and waits with a limit.
 *
 * Some CPU drivers run kernels on their own threads and put the waiting thread to sleep. Waking it takes about 20 us,
 * on a virtual machine 50 us, which is longer than many kernels run. For such devices the host polls the event for a
 * short time, yields its core between polls, and then calls the driver's blocking wait. After a wait that was too long
 * for spinning, the next waits skip it; the number of skipped waits doubles each time. Spinning continuously would take
 * a core from the driver's threads. By default, devices with their own cores, and drivers that let the waiting thread
 * run kernels, do not use this.
 *
 * A queue whose ndr_queue_desc.spin_ns is not 0 spins that long before each wait, or never. */
#include "device/command.h"
#include "device/context.h"
#include "device/event.h"
#include "device/queue.h"
#include "device/wait.h"

enum { SPIN_NS = 200000, MAX_SKIPS = 1023 };

/* Failed work has ended. If the query fails, the blocking wait reports why. */
static bool has_ended(cl_event event) { return ndr_cl_event_code(event, CL_COMPLETE) <= CL_COMPLETE; }

static bool ends_while_spinning(cl_event event, int64_t spin_ns)
{
    const int64_t start = ndr_clock_ns();
    do {
        if (has_ended(event)) return true;
        ndr_thread_yield();
    } while (ndr_clock_ns() - start < spin_ns);
    return false;
}

/* Threads that update the counters at the same time may lose an update, which costs one spin at most. */
static void spin_with_backoff(ndr_context *context, cl_event event)
{
    ndr_spin_backoff *p = &context->spin_backoff;
    if (!context->caps.wait_sleeps) return;
    const unsigned left = atomic_load(&p->left);
    if (left > 0) {
        atomic_store(&p->left, left - 1);
        return;
    }
    const unsigned doubled = 2 * atomic_load(&p->skips) + 1;
    const unsigned skips = ends_while_spinning(event, SPIN_NS) ? 0 : doubled < MAX_SKIPS ? doubled : MAX_SKIPS;
    atomic_store(&p->skips, skips);
    atomic_store(&p->left, skips);
}

void ndr_spin_on_event(ndr_context *context, int64_t spin_ns, cl_event event)
{
    if (spin_ns == 0) spin_with_backoff(context, event);
    if (spin_ns > 0) (void)ends_while_spinning(event, spin_ns);
}

/* ---- one at a time: the fault wait_runs_commands ----
 *
 * A thread that has waited since before the first out-of-order queue counts: it may run commands of that queue. */
atomic_bool ndr_waits_in_turn;
atomic_uint ndr_waiters;

bool ndr_context_has_turns(const ndr_context *context)
{
    return ndr_avoids(context, NDR_QUIRK_WAIT_RUNS_COMMANDS) || ndr_avoids(context, NDR_QUIRK_ENQUEUE_RACES);
}

bool ndr_context_takes_turns(const ndr_context *context)
{
    return atomic_load_explicit(&ndr_waits_in_turn, memory_order_relaxed)
           && ndr_avoids(context, NDR_QUIRK_ENQUEUE_RACES);
}

static bool waits_in_turn(const ndr_context *context)
{
    return ndr_avoids(context, NDR_QUIRK_WAIT_RUNS_COMMANDS);
}

bool ndr_wait_enter(const ndr_context *context)
{
    if (!waits_in_turn(context)) return true;
    const bool is_first = atomic_fetch_add(&ndr_waiters, 1) == 0;
    if (is_first || !atomic_load(&ndr_waits_in_turn)) return true;
    ndr_wait_leave(context);
    return false;
}

void ndr_wait_leave(const ndr_context *context)
{
    if (waits_in_turn(context)) atomic_fetch_sub(&ndr_waiters, 1);
}

static bool is_event_over(void *event) { return has_ended(event); }

cl_int ndr_wait_for_event(const ndr_context *context, cl_event event)
{
    if (!ndr_wait_enter(context)) {
        (void)ndr_wait_until(is_event_over, event, NDR_FOREVER);
        return CL_SUCCESS;
    }
    const cl_int error = ndr_cl.clWaitForEvents(1, &event);
    ndr_wait_leave(context);
    return ndr_cl_event_code(event, CL_COMPLETE) < CL_COMPLETE ? CL_SUCCESS : error; /* failed work has ended */
}

static cl_int wait_for_marker(const ndr_context *context, cl_command_queue queue, const char **call)
{
    cl_event mark;
    cl_int error = ndr_command_run_quietly(context, queue, &ndr_marker, &mark, call);
    if (error != CL_SUCCESS) return error;
    *call = "clFlush"; /* without it, polling in ndr_wait_for_event() may never end */
    error = ndr_cl.clFlush(queue);
    if (error == CL_SUCCESS) *call = "clWaitForEvents", error = ndr_wait_for_event(context, mark);
    ndr_cl.clReleaseEvent(mark);
    return error;
}

cl_int ndr_wait_for_queue(const ndr_context *context, cl_command_queue queue, const char **call)
{
    if (ndr_context_takes_turns(context) || !ndr_wait_enter(context)) return wait_for_marker(context, queue, call);
    *call = "clFinish";
    const cl_int error = ndr_cl.clFinish(queue);
    ndr_wait_leave(context);
    return error;
}

cl_int ndr_wait_for_shared_queue(const ndr_context *context, cl_command_queue queue, const char **call)
{
    const bool marks = atomic_load(&context->has_user_events) && ndr_avoids(context, NDR_QUIRK_FINISH_LOCKS);
    return (marks ? wait_for_marker : ndr_wait_for_queue)(context, queue, call);
}

/* ---- waiting with a limit ---- */

/* Polls like a short spin at first. Then each sleep is an eighth of the time so far, so that the wait ends at most that
 * much later than the work. */
bool ndr_wait_until(bool (*is_over)(void *what), void *what, uint64_t timeout_ns)
{
    enum { LONGEST_SLEEP_NS = 1000000 };
    const int64_t start = ndr_clock_ns();
    for (;;) {
        if (is_over(what)) return true;
        const uint64_t passed = (uint64_t)(ndr_clock_ns() - start);
        if (passed >= timeout_ns) return false;
        const uint64_t left = timeout_ns - passed, rest = passed / 8 < LONGEST_SLEEP_NS ? passed / 8 : LONGEST_SLEEP_NS;
        if (passed < SPIN_NS) ndr_thread_yield();
        else ndr_thread_sleep_ns((int64_t)(rest < left ? rest : left));
    }
}

/* ---- the last event of a queue ---- */

/* Creating an event costs driver time. After more launches than this the wait is long anyway. With spin_ns every launch
 * is tracked. */
enum { MAX_TRACKED_LAUNCHES = 4 };

bool ndr_queue_wants_last_event(ndr_queue *queue)
{
    if (queue->spin_ns != 0) return queue->spin_ns > 0;
    if (!queue->context->caps.wait_sleeps || atomic_load(&queue->launches) > MAX_TRACKED_LAUNCHES) return false;
    return atomic_fetch_add(&queue->launches, 1) < MAX_TRACKED_LAUNCHES;
}

void ndr_queue_set_last_event(ndr_queue *queue, cl_event event)
{
    if (event && ndr_cl.clRetainEvent(event) != CL_SUCCESS) event = NULL;
    const cl_event before = atomic_exchange(&queue->last, event);
    if (before) ndr_cl.clReleaseEvent(before);
}

cl_event ndr_queue_spin(ndr_queue *queue)
{
    const bool is_few = atomic_exchange(&queue->launches, 0) <= MAX_TRACKED_LAUNCHES;
    const cl_event last = atomic_exchange(&queue->last, NULL);
    if (!last) return NULL;
    if (queue->spin_ns > 0) (void)ndr_cl.clFlush(queue->cl);
    if (is_few) ndr_spin_on_event(queue->context, queue->spin_ns, last);
    return last;
}
