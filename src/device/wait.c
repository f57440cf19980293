/* wait.c - how the host waits for the device.
 *
 * A driver that runs kernels on threads of its own lays the one that waits for them to sleep. To wake it takes
 * longer than many a kernel runs: some 20 us, on a virtual machine 50. So there the host looks for a while whether
 * the work is done, each time giving its core to whoever wants it, and only then lets the driver wait. Work that
 * turns out to be long is slept for at once; now and then it is looked at again, in case it has become shorter.
 * Looking all the time would not do: the core that the host keeps busy is one that the driver's threads are not
 * spread to.
 *
 * Drivers that let the waiting thread run kernels as well are left alone, and so are devices with cores of their own. */
#include "device/device.h"

enum { SPIN_NS = 200000, MAX_SKIPS = 1023 };

/* Work that has failed has ended, and so has what the driver cannot tell: it says why where it is waited for. */
static bool has_ended(cl_event event)
{
    cl_int state = CL_COMPLETE;
    const cl_int error = ndr_cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return error != CL_SUCCESS || state <= CL_COMPLETE;
}

static bool ends_while_spinning(cl_event event)
{
    const int64_t end = ndr_clock_ns() + SPIN_NS;
    do {
        if (has_ended(event)) return true;
        ndr_thread_yield();
    } while (ndr_clock_ns() < end);
    return false;
}

/* Of several threads that count at a time one may be lost, which costs a look. */
void ndr_spin_on_event(ndr_context *context, cl_event event)
{
    ndr_spin_backoff *p = &context->spin_backoff;
    if (!context->caps.wait_sleeps) return;
    const unsigned left = atomic_load(&p->left);
    if (left > 0) {
        atomic_store(&p->left, left - 1);
        return;
    }
    const unsigned more_skips = 2 * atomic_load(&p->skips) + 1;
    const unsigned skips = ends_while_spinning(event) ? 0 : more_skips < MAX_SKIPS ? more_skips : MAX_SKIPS;
    atomic_store(&p->skips, skips);
    atomic_store(&p->left, skips);
}

/* ---- what a queue is waited for by ---- */

/* Events take the driver time. After more launches than this the wait is long, too. */
enum { MAX_TRACKED_LAUNCHES = 4 };

bool ndr_queue_wants_last_event(ndr_queue *queue)
{
    if (!queue->context->caps.wait_sleeps || atomic_load(&queue->launches) > MAX_TRACKED_LAUNCHES) return false;
    return atomic_fetch_add(&queue->launches, 1) < MAX_TRACKED_LAUNCHES;
}

void ndr_queue_set_last_event(ndr_queue *queue, cl_event event)
{
    if (event && ndr_cl.clRetainEvent(event) != CL_SUCCESS) event = NULL;
    const cl_event before = atomic_exchange(&queue->last, event);
    if (before) ndr_cl.clReleaseEvent(before);
}

void ndr_queue_spin(ndr_queue *queue)
{
    const bool is_few = atomic_exchange(&queue->launches, 0) <= MAX_TRACKED_LAUNCHES;
    const cl_event last = atomic_exchange(&queue->last, NULL);
    if (!last) return;
    if (is_few) ndr_spin_on_event(queue->context, last);
    ndr_cl.clReleaseEvent(last);
}
