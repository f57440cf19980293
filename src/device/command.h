/* command.h - the one way by which commands get into a queue. */
#ifndef NDR_DEVICE_COMMAND_H
#define NDR_DEVICE_COMMAND_H

#include "device/order.h"
#include "device/submit.h"

/* Enqueues what `what` describes by functions of submit.c, at most NDR_MAX_PIECES commands. It must not wait. */
typedef ndr_status ndr_enqueue(ndr_submission *s, const void *what);

/* Work to enqueue. */
typedef struct ndr_command {
    const ndr_order *order; /* of a live queue */
    ndr_enqueue *enqueue;
    const void *what;
    const char *kernel; /* of a launch: its kernel's name, for sentences; NULL: another command */
} ndr_command;

/* Enqueue a command behind what its order names, and create its event if `event` is set. If it fails after some of its
 * pieces were enqueued, those run. */
ndr_status ndr_command_run(const ndr_command *command, ndr_event **event);

/* The same after ndr_order_check(), which may call the driver: for callers with a lock. */
ndr_status ndr_command_run_checked(const ndr_command *command, ndr_event **event);

/* Enqueue it, and wait until it has ended. The host's memory that it uses is the caller's again, unless the sentence says
 * otherwise. */
ndr_status ndr_command_run_and_wait(const ndr_command *command);

/* The same for reads of buffers: the driver's function may wait. */
ndr_status ndr_command_read_and_wait(const ndr_command *command);

/* Enqueue one command behind no event, in a queue that libndr alone uses or when an object ends. */
ndr_status ndr_command_run_alone(const ndr_context *context, cl_command_queue queue, const ndr_transfer *transfer,
                                 cl_event *done);

/* ndr_submit_quietly() in such a queue. */
cl_int ndr_command_run_quietly(const ndr_context *context, cl_command_queue queue, const ndr_transfer *transfer,
                               cl_event *done, const char **call);

/* End a user's event. `cause` NULL: its work is done; otherwise why it failed, which the event takes over. */
ndr_status ndr_command_end_event(const char *call, ndr_event *event, const ndr_cause *cause);

#endif
