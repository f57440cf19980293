/* event.h - enqueued work, and users' events. */
#ifndef NDR_DEVICE_EVENT_H
#define NDR_DEVICE_EVENT_H

#include <stdatomic.h>

#include "device/opencl.h"
#include "device/order.h"

/* Of a launch: one dimension is split into two, three into eight. */
enum { NDR_MAX_PIECES = 8 };

struct ndr_event {
    uint64_t seal;
    atomic_uint references; /* one for the caller, one for each queue that keeps it and each event that waits for it */
    ndr_context *context;
    ndr_queue *queue;                    /* of its command, with a reference; NULL: a user's event */
    cl_event pieces[NDR_MAX_PIECES + 1]; /* in the order of the commands, with a reference to each */
    unsigned piece_count;
    const char *kernel;  /* its name, for sentences; NULL: another command */
    bool is_joined;      /* its first piece belongs to work before its own */
    bool is_barrier;     /* later commands wait for it */
    bool waits_for_all;  /* out of order: for all events before it in the queue's list */
    bool is_users;       /* made by ndr_event_create() */
    atomic_bool is_left; /* the driver has released it, or was given the time to */
    /* Guarded by the context's order_lock: */
    ndr_event *next;   /* of those that its queue keeps, or that are to be released */
    ndr_event *parent; /* during the search for causes: the one that waits for this one */
    ndr_event **waits; /* what its command waits for; none once its queue no longer keeps it */
    size_t wait_count;
    size_t waits_in_order;  /* so many of the last are commands before it in the queue that it did not name */
    size_t searched;        /* during the search: how many of `waits` were looked at */
    bool is_held_back;      /* during the search for work under way: a user's event that has not ended is before it */
    bool is_behind;         /* and so is the one that is to fail */
    size_t gone_count;      /* for ndr_events_release(): how many of `waits` have references still */
    bool is_ending;         /* a user's event: it ends, or has ended */
    bool is_settled;        /* it is known to have ended */
    bool is_noted;          /* its queue has recorded the failure */
    bool inherits;          /* `cause` is that of an earlier command */
    const ndr_cause *cause; /* why it failed; NULL: it did not, as far as is known */
    /* Used only while its command is enqueued, with the queue's lock held: */
    cl_event *list;
    cl_uint list_count;
};

/* An event without pieces; of a command in that queue, or NULL for a user's event. */
ndr_status ndr_event_new(ndr_context *context, ndr_queue *queue, ndr_event **event);

/* Free an event without references. */
void ndr_event_free(ndr_event *event);

/* Wait until all of them have ended, for at most `timeout_ns`, without asking how. */
ndr_status ndr_events_poll(const char *call, ndr_event *const *events, size_t count, uint64_t timeout_ns);

/* The OpenCL events that begin first and end last. */
cl_event ndr_event_first(const ndr_event *event);
cl_event ndr_event_end(const ndr_event *event);

/* OpenCL's state of an event; `unknown` if the query fails. */
cl_int ndr_cl_event_code(cl_event event, cl_int unknown);

/* When a command began and ended on the device's clock; false if the driver does not know. */
bool ndr_cl_event_times(cl_event event, cl_ulong *started, cl_ulong *ended);

/* Flush the queue of work that has not ended, or it may never start. */
ndr_status ndr_event_flush(const ndr_event *event);

/* OpenCL's state of the work: negative if it failed, CL_COMPLETE if it ended, more if not, or if that is unknown. */
cl_int ndr_event_code(const ndr_event *event);

/* Wait for work on memory that the caller may reuse afterwards. If the wait fails, finish the queue. If that fails,
 * too, the sentence says so. */
ndr_status ndr_event_wait_and_destroy(ndr_event *event, ndr_queue *queue);

/* The same for a blocking call that failed with `status`. Returns `status`. */
ndr_status ndr_queue_end(ndr_queue *queue, ndr_status status);

/* Join two events, the second of which follows the first: from the start of `first` to the end of `last`. Takes over
 * both; one of them may be NULL. */
ndr_event *ndr_event_join(ndr_event *first, ndr_event *last);

#endif
