/* task.h - functions of the host between commands. */
#ifndef NDR_DEVICE_TASK_H
#define NDR_DEVICE_TASK_H

#include "device/order.h"

/* The queue of the host task that this thread runs, to compare with; NULL: it runs none. */
extern _Thread_local const ndr_queue *ndr_task_queue;

enum { NDR_TASK_QUEUES = 2 /* at most */ };

/* What a task does. */
typedef struct ndr_task_work {
    ndr_host_function *function;
    void *user;
    void (*release)(void *user); /* called once it is not needed any more, also if the task is refused; NULL: nothing */
    const ndr_queue *queue;      /* of the caller's function; NULL: it is libndr's own */
} ndr_task_work;

/* Enqueue a task as a command of several queues, which may be of different contexts: it runs when the work before it in
 * each of them has ended, and the work behind it in each waits for it. `event` is that of the last queue. */
ndr_status ndr_task_enqueue(const ndr_order *orders, size_t count, const ndr_task_work *work, ndr_event **event);

#endif
