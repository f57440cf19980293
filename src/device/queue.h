/* queue.h - a queue of commands. */
#ifndef NDR_DEVICE_QUEUE_H
#define NDR_DEVICE_QUEUE_H

#include <stdatomic.h>

#include "device/attachment.h"
#include "device/order.h"
#include "device/submit.h"

enum { NDR_NO_OP_BYTES = 1024 }; /* far more than commands without work run at the same time */

struct ndr_queue {
    uint64_t seal;
    atomic_uint references; /* one for the caller, and one for each event of its commands */
    ndr_context *context;
    ndr_mutex lock; /* of command.c: held while a command is enqueued */
    cl_command_queue cl;
    bool is_profiling;
    int64_t spin_ns;        /* as in ndr_queue_desc */
    bool is_out_of_order;   /* commands wait only for their wait list */
    cl_mem no_op_memory;    /* NDR_NO_OP_BYTES, which commands without work fill; NULL: none are needed */
    atomic_uint no_ops;     /* commands that have filled one of them */
    _Atomic(cl_event) last; /* event of the last launch, for few launches since the last finish; NULL: none */
    atomic_uint launches;   /* launches since the last finish; stops counting when they are not few */
    /* Guarded by the context's order_lock: */
    ndr_queue *next;                   /* of the context's */
    bool is_destroyed;                 /* by the caller */
    bool has_barrier;                  /* one is in the list below */
    ndr_event *tracked, *last_tracked; /* events that order.c keeps until their work has ended: a list, its end */
    atomic_uint tracked_count;   /* of the list; grows with `lock` held, too, and is then read without order_lock */
    unsigned sweep_at;           /* the count at which it is searched for work that has ended */
    ndr_event *failed;           /* the first of them that failed since the last finish; NULL: none */
    ndr_attachments attachments; /* freed before `cl` */
};

/* Create a queue for `cl`. If it succeeds, it takes over the reference of `cl`. */
ndr_status ndr_queue_wrap(ndr_context *context, cl_command_queue cl, cl_command_queue_properties properties,
                          ndr_queue **queue);

/* Take or return one reference; ndr_queue_destroy() returns the caller's. */
ndr_queue *ndr_queue_keep(ndr_queue *queue);
void ndr_queue_release(ndr_queue *queue);

/* Enqueue a command that does nothing, in a queue that has memory for it. */
ndr_status ndr_queue_submit_no_op(ndr_submission *s, ndr_queue *queue);

/* ndr_queue_mark() in that order. */
ndr_status ndr_queue_mark_in(const ndr_order *order, ndr_event **event);

#endif
