/* turns.c - NDR_CHECK: launches take turns, so that a changed guard zone has one launch to blame.
 *
 * A launch may wait for other launches: for those of a host task before it, or of a thread that ends an event of
 * ndr_event_create(). So it waits for what is before it, then takes its turn, and then only waits for itself. Another
 * thread may enqueue such a host task in between. Then the launch does not start, and lets the others go first. The
 * sentence about a zone names two launches if both may have run since the zones were last read. */
#include "device/event.h"
#include "device/queue.h"
#include "device/task.h"
#include "device/turns.h"
#include "device/wait.h"

#include <stdio.h>
#include <stdlib.h>

/* A launch that is not waited for in its turn. It has OpenCL's events: one of libndr's would keep the context. */
typedef struct ndr_overlap {
    struct ndr_overlap *next;
    uint64_t number;
    char kernel[80];
    cl_event first, last;
    bool has_ended; /* before the present turn */
} overlap;

/* ---- launches beside those with a turn ---- */

static bool has_started(const overlap *o) { return ndr_cl_event_code(o->first, CL_QUEUED) <= CL_RUNNING; }

static void free_overlap(overlap *gone)
{
    ndr_cl.clReleaseEvent(gone->first);
    ndr_cl.clReleaseEvent(gone->last);
    free(gone);
}

/* NULL: there is no memory for it, or the driver refuses. */
static overlap *new_overlap(const ndr_event *event, uint64_t number, const char *kernel)
{
    overlap *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->number = number;
    made->first = ndr_event_first(event);
    made->last = ndr_event_end(event);
    snprintf(made->kernel, sizeof made->kernel, "%s", kernel);
    if (ndr_cl.clRetainEvent(made->first) == CL_SUCCESS) {
        if (ndr_cl.clRetainEvent(made->last) == CL_SUCCESS) return made;
        ndr_cl.clReleaseEvent(made->first);
    }
    free(made);
    return NULL;
}

void ndr_turns_add_overlap(ndr_turns *turns, const ndr_event *event, uint64_t number, const char *kernel)
{
    overlap *made = new_overlap(event, number, kernel);
    if (!made) return;
    ndr_mutex_lock(&turns->lock);
    made->next = turns->overlaps;
    turns->overlaps = made;
    ndr_mutex_unlock(&turns->lock);
}

/* With the lock held. */
static void mark_ended(ndr_turns *turns)
{
    for (overlap *o = turns->overlaps; o; o = o->next)
        o->has_ended = ndr_cl_event_code(o->last, CL_QUEUED) <= CL_COMPLETE;
}

/* With the lock held. */
static void forget_ended(ndr_turns *turns)
{
    for (overlap **link = &turns->overlaps; *link;) {
        overlap *const o = *link;
        if (o->has_ended) {
            *link = o->next;
            free_overlap(o);
        } else link = &o->next;
    }
}

ndr_overlap_text ndr_turns_take_overlap(ndr_turns *turns, uint64_t number)
{
    ndr_overlap_text out = { "" };
    ndr_mutex_lock(&turns->lock);
    for (const overlap *o = turns->overlaps; o && !out.chars[0]; o = o->next)
        if (o->number != number && has_started(o))
            snprintf(out.chars, sizeof out.chars,
                     "; launch %llu, of kernel \"%s\", may have written there instead: a host task made it, or held it "
                     "back",
                     (unsigned long long)o->number, o->kernel);
    forget_ended(turns);
    ndr_mutex_unlock(&turns->lock);
    return out;
}

/* ---- turns ---- */

void ndr_turns_init(ndr_turns *turns)
{
    ndr_mutex_init(&turns->lock, NDR_LOCK_TURNS);
    ndr_condition_init(&turns->passed);
}

void ndr_turns_destroy(ndr_turns *turns)
{
    for (overlap *o = turns->overlaps, *next; o; o = next) next = o->next, free_overlap(o);
    ndr_condition_destroy(&turns->passed);
    ndr_mutex_destroy(&turns->lock);
}

void ndr_turn_take(ndr_turns *turns)
{
    atomic_fetch_add(&turns->waiting, 1);
    ndr_mutex_lock(&turns->lock);
    while (turns->is_taken) ndr_condition_wait(&turns->passed, &turns->lock);
    turns->is_taken = true;
    mark_ended(turns);
    ndr_mutex_unlock(&turns->lock);
    atomic_fetch_sub(&turns->waiting, 1);
}

void ndr_turn_pass(ndr_turns *turns)
{
    ndr_mutex_lock(&turns->lock);
    turns->is_taken = false;
    ndr_condition_wake_all(&turns->passed);
    ndr_mutex_unlock(&turns->lock);
}

uint64_t ndr_turns_count(ndr_turns *turns) { return atomic_fetch_add(&turns->launches, 1) + 1; }

/* ---- waiting ---- */

int64_t ndr_long_wait_ns = INT64_C(10000000000);

typedef struct waiting {
    const ndr_event *event;
    const ndr_turns *turns; /* whose turn the caller has; NULL: none */
    const char *kernel;
    int64_t start_ns;
    bool is_logged;
} waiting;

static void log_long_wait(const waiting *w)
{
    const double seconds = (double)ndr_long_wait_ns * 1e-9;
    if (w->turns)
        ndr_log(NDR_LOG_WARN, "check.waiting",
                "NDR_CHECK has waited %g s for the launch of kernel \"%s\" to end, and goes on waiting; look for a "
                "loop in it that does not end",
                seconds, w->kernel);
    else
        ndr_log(NDR_LOG_WARN, "check.waiting",
                "NDR_CHECK has waited %g s to launch kernel \"%s\", until the work before it has ended, and goes on "
                "waiting; look for an event of ndr_event_create() that nobody ends, or that this thread ends later",
                seconds, w->kernel);
}

/* A launch that does not start for so long waits for something. */
static bool lets_others_go_first(const waiting *w, cl_int code, int64_t passed_ns)
{
    enum { PATIENCE_NS = 100000000 };
    return w->turns && code > CL_RUNNING && passed_ns > PATIENCE_NS && atomic_load(&w->turns->waiting) > 0;
}

static bool is_over(void *waiting_)
{
    waiting *const w = waiting_;
    const cl_int code = ndr_event_code(w->event);
    if (code <= CL_COMPLETE) return true;
    const int64_t passed_ns = ndr_clock_ns() - w->start_ns;
    if (passed_ns > ndr_long_wait_ns && !w->is_logged) {
        w->is_logged = true;
        log_long_wait(w);
    }
    return lets_others_go_first(w, code, passed_ns);
}

/* No wait in the driver: it has no limit. */
static ndr_status wait_for(waiting *w)
{
    NDR_TRY(ndr_event_flush(w->event));
    w->start_ns = ndr_clock_ns();
    (void)ndr_wait_until(is_over, w, NDR_FOREVER);
    return NDR_OK;
}

static bool names_events(const ndr_order *order)
{
    for (size_t i = 0; i < order->count; ++i)
        if (order->events && order->events[i]) return true;
    return order->also;
}

bool ndr_waits_for_own_task(const ndr_order *order)
{
    return order->queue == ndr_task_queue && (!order->queue->is_out_of_order || names_events(order));
}

/* Out of order, a mark without events would wait for all. */
ndr_status ndr_turns_wait_before(const ndr_order *order, const char *kernel)
{
    ndr_event *mark = NULL;
    if (ndr_waits_for_own_task(order) || (order->queue->is_out_of_order && !names_events(order))) return NDR_OK;
    NDR_TRY(ndr_queue_mark_in(order, &mark));
    const ndr_status status = wait_for(&(waiting){ .event = mark, .kernel = kernel });
    ndr_event_destroy(mark);
    return status;
}

ndr_status ndr_turn_wait(ndr_turns *turns, const ndr_event *event, uint64_t number, const char *kernel)
{
    NDR_TRY(wait_for(&(waiting){ .event = event, .turns = turns, .kernel = kernel }));
    if (ndr_event_code(event) <= CL_COMPLETE) return NDR_OK;
    ndr_turns_add_overlap(turns, event, number, kernel);
    ndr_turn_pass(turns);
    const ndr_status status = wait_for(&(waiting){ .event = event, .kernel = kernel });
    ndr_turn_take(turns);
    return status;
}
