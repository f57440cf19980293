/* wait.h - waits for work in the driver, or polls. */
#ifndef NDR_DEVICE_WAIT_H
#define NDR_DEVICE_WAIT_H

#include <stdatomic.h>

#include "device/opencl.h"

/* How many waits skip spinning, as a result of earlier waits. */
typedef struct ndr_spin_backoff {
    atomic_uint skips; /* waits to skip after the next unsuccessful spin */
    atomic_uint left;  /* waits still to skip */
} ndr_spin_backoff;

/* Before a blocking wait: poll `event` as `spin_ns` of its queue says. Returns when it has ended or the time is over;
 * the caller then calls the driver's wait, which also reports how the work ended. */
void ndr_spin_on_event(ndr_context *context, int64_t spin_ns, cl_event event);

/* Whether the caller may wait in the driver; then ndr_wait_leave() follows. Otherwise it must poll. */
bool ndr_wait_enter(const ndr_context *context);
void ndr_wait_leave(const ndr_context *context);

/* Of the process: whether it has an out-of-order queue of a driver with the fault wait_runs_commands or enqueue_races,
 * and how many threads wait in such drivers. */
extern atomic_bool ndr_waits_in_turn;
extern atomic_uint ndr_waiters;

/* Whether the driver has one of these two faults; and whether threads must enqueue in turn now. */
bool ndr_context_has_turns(const ndr_context *context);
bool ndr_context_takes_turns(const ndr_context *context);

/* Wait in the driver, or poll, until an OpenCL event whose queue is flushed has ended, with success or not. */
cl_int ndr_wait_for_event(const ndr_context *context, cl_event event);

/* clFinish(); where threads take turns, a wait for a marker instead. `call` gets the name of OpenCL's function whose code
 * is returned. */
cl_int ndr_wait_for_queue(const ndr_context *context, cl_command_queue queue, const char **call);

/* The same for a queue that other threads may use; see also the fault finish_locks. */
cl_int ndr_wait_for_shared_queue(const ndr_context *context, cl_command_queue queue, const char **call);

/* Poll at growing intervals until `is_over` says so, or for `timeout_ns`. Returns whether it did. */
bool ndr_wait_until(bool (*is_over)(void *what), void *what, uint64_t timeout_ns);

/* Whether the next launch should pass its event to ndr_queue_set_last_event(). */
bool ndr_queue_wants_last_event(ndr_queue *queue);

/* Keep a reference to `event` for ndr_queue_spin(). NULL: release the previous one. */
void ndr_queue_set_last_event(ndr_queue *queue, cl_event event);

/* Before the queue is finished: ndr_spin_on_event() for its last launch. Returns that launch's event, if the queue kept
 * it; the caller releases it. */
cl_event ndr_queue_spin(ndr_queue *queue);

#endif
