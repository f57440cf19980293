/* queues.c - what drivers do wrong in queues, in plain OpenCL.
 *
 *   mark_waits_for_all    Out of order, a marker with a wait list waits for other commands, too. A fill does not.
 *   mark_misses_work      Out of order, a marker without a list does not wait for earlier commands.
 *   wait_runs_commands    Threads wait for kernels of one out-of-order queue. Intel's runtime hangs.
 *   enqueue_races         A thread calls clFinish() for an out-of-order queue in which another enqueues. Intel's runtime
 *                         crashes.
 *   released_queue_hangs  An out-of-order queue is released when its work has ended. Intel's runtime hangs.
 *   finish_locks          A thread calls clFinish(); another must see that an event of the queue has ended before it ends
 *                         what the first one waits for.
 *   many_markers_starve   Markers and user events are made in turn, behind a user event. On NVIDIA's driver it takes
 *                         minutes.
 *   callback_locked       The callback of an event queries the event's state. On Mesa it hangs. */
#include "raw.h"

enum { MOMENT_MS = 200, THREADS = 64 };

static const char text[] = "kernel void work(global uint *x) { atomic_inc(x); }\n";

static cl_command_queue queue;

static void open_queue(cl_command_queue_properties properties)
{
    cl_command_queue_properties known = 0;
    MUST(clGetDeviceInfo(device, CL_DEVICE_QUEUE_PROPERTIES, sizeof known, &known, NULL));
    if (properties & ~known) _exit(NOT_TRIED_EXIT);
    queue = new_queue(properties);
}

static cl_event fill(cl_mem memory, size_t at, cl_event before)
{
    cl_event done;
    MUST(clEnqueueFillBuffer(queue, memory, "", 1, at, 1, before != NULL, before ? &before : NULL, &done));
    return done;
}

/* Wrong only if a fill in the marker's place has ended. */
static int mark(void)
{
    cl_event mark;
    open_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    const cl_mem memory = new_buffer(4);
    const cl_event gate = new_event(), open = new_event();
    MUST(clSetUserEventStatus(open, CL_COMPLETE));
    const cl_event held = fill(memory, 0, gate);
    MUST(clEnqueueMarkerWithWaitList(queue, 1, &open, &mark));
    const cl_event free = fill(memory, 1, open);
    MUST(clFlush(queue));
    const bool is_wrong = ends_within(free, MOMENT_MS) && !ends_within(mark, MOMENT_MS);
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clWaitForEvents(1, &held));
    return is_wrong ? WRONG : RIGHT;
}

static int mark_all(void)
{
    cl_event mark;
    open_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    const cl_mem memory = new_buffer(4);
    const cl_event gate = new_event(), held = fill(memory, 0, gate);
    MUST(clEnqueueMarkerWithWaitList(queue, 0, NULL, &mark));
    MUST(clFlush(queue));
    const bool is_wrong = ends_within(mark, MOMENT_MS) && !has_ended(held);
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clWaitForEvents(1, &held));
    return is_wrong ? WRONG : RIGHT;
}

/* ---- threads ---- */

typedef enum doing { WAITING, FINISHING } doing;

typedef struct actor {
    pthread_t thread;
    doing what;
    unsigned rounds;
} actor;

static size_t items = 1; /* of each launch */

static void launch(cl_kernel kernel, cl_event *done)
{
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, done));
}

static void act_once(doing what, cl_kernel kernel)
{
    cl_event done;
    if (what == FINISHING) MUST(clFinish(queue));
    if (what == FINISHING) return;
    launch(kernel, &done);
    MUST(clFlush(queue));
    MUST(clWaitForEvents(1, &done));
    MUST(clReleaseEvent(done));
}

static void *act(void *actor_)
{
    const actor *a = actor_;
    const cl_mem memory = new_buffer(4);
    const cl_kernel kernel = new_kernel(text, "work");
    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    for (unsigned i = 0; i < a->rounds; ++i) act_once(a->what, kernel);
    return NULL;
}

/* The first one finishes, or does as the others. */
static int act_in_threads(doing first, doing others, size_t count, unsigned rounds)
{
    actor actors[THREADS];
    open_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    for (size_t i = 0; i < count; ++i) {
        actors[i] = (actor){ .what = i ? others : first, .rounds = rounds };
        if (pthread_create(&actors[i].thread, NULL, act, &actors[i])) return NOT_TRIED;
    }
    for (size_t i = 0; i < count; ++i) pthread_join(actors[i].thread, NULL);
    MUST(clFinish(queue));
    return RIGHT;
}

static int waits(void)
{
    items = 1000;
    return act_in_threads(WAITING, WAITING, THREADS, ROUNDS / 16);
}

static int finish(void) { return act_in_threads(FINISHING, WAITING, 4, 50 * ROUNDS); }

/* ---- queues that are released ---- */

enum { COMMANDS = 8 };

static void wait_by_polling(cl_event event)
{
    while (!has_ended(event)) {}
}

/* In turn, so that sometimes the driver's thread runs the commands, and sometimes this one. */
static void use_a_queue(unsigned round, cl_kernel kernel)
{
    cl_event done[COMMANDS];
    open_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    for (int i = 0; i < COMMANDS; ++i) launch(kernel, &done[i]);
    MUST(clFlush(queue));
    if (round % 2) MUST(clWaitForEvents(COMMANDS, done));
    for (int i = 0; i < COMMANDS; ++i) {
        wait_by_polling(done[i]);
        MUST(clReleaseEvent(done[i]));
    }
    MUST(clReleaseCommandQueue(queue));
}

static int released(void)
{
    const cl_mem memory = new_buffer(4);
    const cl_kernel kernel = new_kernel(text, "work");
    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    for (unsigned i = 0; i < 5 * ROUNDS; ++i) use_a_queue(i, kernel);
    return RIGHT;
}

/* ---- a lock in clFinish() ---- */

static cl_event ended_first, held_back;

static void *wait_and_open(void *gate_)
{
    const cl_event gate = gate_;
    nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL); /* the other thread is in clFinish() */
    MUST(clWaitForEvents(1, &ended_first));
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    return NULL;
}

static int finish_locks(void)
{
    pthread_t thread;
    open_queue(0);
    const cl_mem memory = new_buffer(4);
    const cl_event gate = new_event();
    ended_first = fill(memory, 0, NULL);
    held_back = fill(memory, 1, gate);
    if (pthread_create(&thread, NULL, wait_and_open, gate)) return NOT_TRIED;
    MUST(clFinish(queue));
    pthread_join(thread, NULL);
    return RIGHT;
}

static int many(void)
{
    enum { PAIRS = 16000 };
    static cl_event users[PAIRS], markers[PAIRS];
    const cl_event gate = new_event();
    const cl_kernel kernel = new_kernel(text, "work");
    const cl_mem memory = new_buffer(4);
    const size_t one = 1;
    open_queue(0);
    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 1, &gate, NULL));
    for (int i = 0; i < PAIRS; ++i) {
        users[i] = new_event();
        MUST(clEnqueueMarkerWithWaitList(queue, 0, NULL, &markers[i]));
    }
    for (int i = 0; i < PAIRS; ++i) MUST(clSetUserEventStatus(users[i], CL_COMPLETE));
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clFinish(queue));
    return RIGHT;
}

/* ---- a lock in callbacks ---- */

static atomic_bool has_queried;

static void CL_CALLBACK query(cl_event event, cl_int status, void *user)
{
    (void)status, (void)user;
    (void)status_of(event);
    atomic_store(&has_queried, true);
}

static int callback(void)
{
    open_queue(0);
    const cl_event gate = new_event(), done = fill(new_buffer(4), 0, gate);
    MUST(clSetEventCallback(done, CL_COMPLETE, query, NULL));
    MUST(clFlush(queue));
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    for (int i = 0; i < 10 * MOMENT_MS && !atomic_load(&has_queried); ++i)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    return atomic_load(&has_queried) ? RIGHT : WRONG;
}

const fault queues_faults[] = {
    { "mark_waits_for_all", mark, NULL },
    { "mark_misses_work", mark_all, NULL },
    { "wait_runs_commands", waits, NULL },
    { "enqueue_races", finish, NULL },
    { "released_queue_hangs", released, NULL },
    { "finish_locks", finish_locks, NULL },
    { "many_markers_starve", many, NULL },
    { "callback_locked", callback, NULL },
    { NULL, NULL, NULL },
};
