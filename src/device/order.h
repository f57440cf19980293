/* order.h - in which queue a command goes, what it waits for, and why it failed. */
#ifndef NDR_DEVICE_ORDER_H
#define NDR_DEVICE_ORDER_H

#include "device/opencl.h"

/* Where a command goes and what it waits for. */
typedef struct ndr_order {
    ndr_queue *queue;
    ndr_event *const *events; /* `count` of them; NULLs are left out */
    size_t count;
    ndr_event *also; /* one more; NULL: none */
    bool is_fence;   /* of a mark or barrier: without events it waits for all before it */
    bool is_barrier; /* later commands wait for it */
} ndr_order;

/* What a public function got as its queue: a queue, or what ndr_after() made of one. */
static inline ndr_order ndr_order_of(ndr_queue *passed)
{
    const ndr_queue_after *after = (const ndr_queue_after *)(const void *)passed;
    if (!passed || after->seal != NDR_AFTER_SEAL) return (ndr_order){ .queue = passed };
    return (ndr_order){ .queue = after->queue, .events = after->events, .count = after->count };
}

/* Refuse a queue that is NULL or not live. */
ndr_status ndr_order_check_queue(const char *call, const ndr_order *order);

/* Why work failed; a constant. */
typedef struct ndr_cause {
    ndr_status status;
    int32_t code; /* OpenCL's, or 0 */
    char sentence[512];
} ndr_cause;

const ndr_cause *ndr_cause_new(ndr_status status, int32_t code, const char *sentence);
void ndr_cause_free(const ndr_cause *cause);

/* Take or return a reference to an event. */
ndr_event *ndr_event_keep(ndr_event *event);
void ndr_event_release(ndr_event *event); /* NULL is fine */

/* Refuse events that are not live or belong to another context. Flushes the queues of those whose work has not ended. */
ndr_status ndr_order_check(const ndr_order *order);

/* Whether a command must wait for events, or its own event must be kept. With the queue's lock held. */
bool ndr_order_waits(const ndr_order *order);

/* Make what the command must wait for the wait list of `made`. Refuses an event whose work has failed. Both with the
 * queue's lock held, of which the second is called once the command is enqueued: it keeps the event until its work has
 * ended. `*gone` gets events for ndr_events_release(), after the lock. */
ndr_status ndr_order_add_waits(const ndr_order *order, ndr_event *made);
void ndr_queue_track(ndr_queue *queue, ndr_event *made, ndr_event **gone);
void ndr_events_release(ndr_event *gone);

/* The driver refused to enqueue `made`, and the sentence says so. If what it waits for has failed: that instead. */
ndr_status ndr_order_explain(const ndr_event *made, ndr_status status);

/* Of a user's event: refuse the end of one that has ended or that is not a user's. `cause` is there before the driver
 * ends it. The second takes it back if the driver refuses. */
ndr_status ndr_event_begin_end(const char *call, ndr_event *event, const ndr_cause *cause);
void ndr_event_take_back_end(ndr_event *event);

/* Of a user's event that is to fail: work that has not ended, or that the driver has not left, that no user's event holds
 * back, and that commands behind this event also wait for. With a reference; NULL: there is none. */
ndr_event *ndr_event_find_under_way(const ndr_event *failing);

/* Fail with the first cause if the work has failed; NDR_OK also if it has not ended. */
ndr_status ndr_event_check(ndr_event *event);

/* The same for the events that the queue keeps; the first failure is reported once. */
ndr_status ndr_queue_take_failure(ndr_queue *queue);

/* An event that the queue keeps and whose work has not ended, with a reference; NULL: there is none. */
ndr_event *ndr_queue_find_unfinished(ndr_queue *queue);

/* A new queue: its context lists it. */
void ndr_queue_list(ndr_queue *queue);

/* The queue is destroyed: it is listed until it keeps no events. The context is destroyed: its destroyed queues return
 * their references. */
void ndr_queue_forget_events(ndr_queue *queue);
void ndr_context_forget_events(ndr_context *context);

/* Keep an OpenCL event of a failed command, whose reference this takes over. */
void ndr_failed_keep(ndr_context *context, cl_event event);

/* Release the oldest of those if they are more than this many. Not while the driver fails commands. */
extern unsigned ndr_max_failed_events;
void ndr_failed_trim(ndr_context *context);

/* Whether the driver has released the event of work that has ended. Until then it may access the commands behind. */
bool ndr_event_is_left(const ndr_event *event);

/* Release what is left of destroyed queues; `only_complete`: that whose work ended with success; otherwise also all of
 * ndr_failed_keep(). */
void ndr_orphans_release(ndr_context *context, bool only_complete);

#endif
