/* failed_events.c - what drivers do wrong when a user's event fails, in plain OpenCL.
 *
 *   fail_ends_twice        A command waits for a kernel of another queue and for a user's event, which fails while the
 *                           kernel ends. PoCL 3.1 and 7.0 end the command twice: they crash or hang.
 *   failed_event_used      Several commands wait for a user's event, which fails, and for each other. Another thread
 *                           releases their events as soon as they have failed. PoCL 3.1 accesses them afterwards.
 *   failed_order_lost      In an in-order queue the second of two commands fails before the first has run. What is then
 *                           enqueued must wait for the first. On PoCL 3.1 and 7.0 it does not.
 *   two_events_fail        A command waits for two events, which both fail. Intel's runtime crashes.
 *   fail_while_enqueued    A user's event fails while another thread enqueues a command that waits for it. On PoCL 3.1
 *                           and 7.0 the command never ends, or the process crashes.
 *   unheld_failure_aborts  A command fails whose event nobody has, and another command is behind it. PoCL 3.1 aborts.
 *   failure_without_cause  A command waits for failed work. On Intel's runtime it ends as complete.
 *   callback_not_called    The callback of an event whose command fails must be called with the failure. */
#include "raw.h"

enum { COMMANDS = 8, POLLS = 200000, MOMENT_MS = 2000 };

static const char text[] = "kernel void work(global uint *x, uint turns)\n"
                           "{\n"
                           "    uint y = x[0];\n"
                           "    for (uint i = 0; i < turns; ++i) y = y * y + i;\n"
                           "    x[0] = y;\n"
                           "}\n";

static cl_command_queue queue, other;
static cl_kernel kernel;

static void open_all(void)
{
    const cl_mem memory = new_buffer(4);
    queue = new_queue(0);
    other = new_queue(0);
    kernel = new_kernel(text, "work");
    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
}

static cl_event launch(cl_command_queue on, cl_uint turns, cl_uint count, const cl_event *waits)
{
    const size_t one = 1;
    cl_event done;
    MUST(clSetKernelArg(kernel, 1, sizeof turns, &turns));
    MUST(clEnqueueNDRangeKernel(on, kernel, 1, NULL, &one, &one, count, count ? waits : NULL, &done));
    MUST(clFlush(on));
    return done;
}

/* No event is released. */
static void fail_while_a_kernel_ends(unsigned round)
{
    volatile unsigned pause = round % 4 * (round % 97);
    cl_event waits[2] = { launch(queue, 20000, 0, NULL), new_event() };
    const cl_event behind = launch(other, 1, 2, waits);
    while (!has_ended(waits[0])) {}
    while (pause > 0) --pause;
    MUST(clSetUserEventStatus(waits[1], CL_OUT_OF_RESOURCES));
    (void)clWaitForEvents(1, &waits[0]);
    (void)clWaitForEvents(1, &behind);
}

static _Atomic(cl_event) released[COMMANDS];

static void *release(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < ROUNDS * COMMANDS; ++i) {
        cl_event event;
        while (!(event = atomic_exchange(&released[i % COMMANDS], NULL))) sched_yield();
        while (!has_ended(event)) sched_yield();
        MUST(clReleaseEvent(event));
    }
    return NULL;
}

static void fail_while_events_are_released(void)
{
    cl_event last = new_event();
    const cl_event gate = last;
    for (unsigned i = 0; i < COMMANDS; ++i) {
        last = launch(i % 2 ? queue : other, 1, 1, &last);
        while (atomic_load(&released[i])) sched_yield();
        atomic_store(&released[i], last);
    }
    MUST(clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES));
}

static int ends(void)
{
    open_all();
    for (unsigned i = 0; i < ROUNDS; ++i) fail_while_a_kernel_ends(i);
    return RIGHT;
}

static int releases(void)
{
    pthread_t thread;
    open_all();
    if (pthread_create(&thread, NULL, release, NULL)) return NOT_TRIED;
    for (unsigned i = 0; i < ROUNDS; ++i) fail_while_events_are_released();
    pthread_join(thread, NULL);
    return RIGHT;
}

static int order(void)
{
    open_all();
    const cl_event first_gate = new_event(), second_gate = new_event();
    const cl_event first = launch(queue, 1, 1, &first_gate);
    (void)launch(queue, 1, 1, &second_gate);
    MUST(clSetUserEventStatus(second_gate, CL_OUT_OF_RESOURCES));
    const cl_event third = launch(queue, 1, 0, NULL);
    for (unsigned i = 0; i < POLLS && !has_ended(third); ++i) sched_yield();
    const bool is_wrong = status_of(third) == CL_COMPLETE && !has_ended(first);
    MUST(clSetUserEventStatus(first_gate, CL_COMPLETE));
    (void)clWaitForEvents(1, &first);
    return is_wrong ? WRONG : RIGHT;
}

static int two(void)
{
    open_all();
    for (unsigned i = 0; i < ROUNDS; ++i) {
        const cl_event gates[] = { new_event(), new_event() };
        const cl_event behind = launch(queue, 1, 2, gates);
        MUST(clSetUserEventStatus(gates[0], CL_OUT_OF_RESOURCES));
        MUST(clSetUserEventStatus(gates[1], CL_OUT_OF_RESOURCES));
        (void)clWaitForEvents(1, &behind);
    }
    return RIGHT;
}

static _Atomic(cl_event) to_fail;

static void *fail(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < ROUNDS; ++i) {
        cl_event gate;
        volatile unsigned pause = i % 500;
        while (!(gate = atomic_exchange(&to_fail, NULL))) sched_yield();
        while (pause > 0) --pause;
        MUST(clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES));
    }
    return NULL;
}

/* A driver may refuse the command. */
static bool ends_if_it_fails_meanwhile(void)
{
    const size_t one = 1;
    const cl_event gate = new_event();
    cl_event done;
    atomic_store(&to_fail, gate);
    if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 1, &gate, &done) != CL_SUCCESS) return true;
    MUST(clFlush(queue));
    return ends_within(done, MOMENT_MS);
}

static int enqueued(void)
{
    pthread_t thread;
    open_all();
    MUST(clSetKernelArg(kernel, 1, sizeof(cl_uint), &(const cl_uint){ 1 }));
    if (pthread_create(&thread, NULL, fail, NULL)) return NOT_TRIED;
    for (unsigned i = 0; i < ROUNDS; ++i)
        if (!ends_if_it_fails_meanwhile()) return WRONG;
    pthread_join(thread, NULL);
    return RIGHT;
}

static int unheld(void)
{
    open_all();
    const cl_event gate = new_event();
    MUST(clReleaseEvent(launch(queue, 1, 1, &gate)));
    MUST(clReleaseEvent(launch(queue, 1, 0, NULL)));
    MUST(clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES));
    (void)clFinish(queue);
    return RIGHT;
}

static int behind(void)
{
    open_all();
    const cl_event gate = new_event(), first = launch(queue, 1, 1, &gate), second = launch(other, 1, 1, &first);
    MUST(clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES));
    (void)clWaitForEvents(1, &second);
    return status_of(first) < CL_COMPLETE && status_of(second) < CL_COMPLETE ? RIGHT : WRONG;
}

static atomic_int told = CL_QUEUED; /* what the callback is told */

static void CL_CALLBACK tell(cl_event event, cl_int status, void *user)
{
    (void)event, (void)user;
    atomic_store(&told, status);
}

static int callback(void)
{
    open_all();
    const cl_event gate = new_event(), first = launch(queue, 1, 1, &gate);
    MUST(clSetEventCallback(first, CL_COMPLETE, tell, NULL));
    MUST(clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES));
    for (int i = 0; i < MOMENT_MS && atomic_load(&told) == CL_QUEUED; ++i)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    return atomic_load(&told) < CL_COMPLETE ? RIGHT : WRONG;
}

const fault failed_events_faults[] = {
    { "fail_ends_twice", ends, NULL },
    { "failed_event_used", releases, NULL },
    { "failed_order_lost", order, NULL },
    { "two_events_fail", two, NULL },
    { "fail_while_enqueued", enqueued, NULL },
    { "unheld_failure_aborts", unheld, NULL },
    { "failure_without_cause", behind, NULL },
    { "callback_not_called", callback, NULL },
    { NULL, NULL, NULL },
};
