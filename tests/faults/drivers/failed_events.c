/* failed_events.c - what drivers do wrong when a user's event fails, in plain OpenCL.
 *
 *   failed_events ends      A command waits for a kernel of another queue and for a user's event, which fails while the
 *                           kernel ends. PoCL 3.1 and 7.0 end the command twice: they crash or hang.
 *   failed_events releases  Several commands wait for a user's event, which fails, and for each other. Another thread
 *                           releases their events as soon as they have failed. PoCL 3.1 accesses them afterwards.
 *   failed_events order     In an in-order queue the second of two commands fails before the first has run. What is then
 *                           enqueued must wait for the first. On PoCL 3.1 and 7.0 it does not.
 *
 * Prints "right" and returns 0 if the driver does it right, and 1 for wrong order. A second argument sets the rounds. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMANDS = 8, POLLS = 200000 };

static const char text[] = "kernel void work(global uint *x, uint turns)\n"
                           "{\n"
                           "    uint y = x[0];\n"
                           "    for (uint i = 0; i < turns; ++i) y = y * y + i;\n"
                           "    x[0] = y;\n"
                           "}\n";

static cl_context context;
static cl_command_queue queue, other;
static cl_kernel kernel;
static cl_mem memory;

static void must(cl_int error, const char *call)
{
    if (error == CL_SUCCESS) return;
    fprintf(stderr, "%s: %d\n", call, (int)error);
    exit(2);
}

#define MUST(call) must((call), #call)

static void open_all(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int error;
    const char *source = text;
    MUST(clGetPlatformIDs(1, &platform, NULL));
    MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    must(error, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &error);
    must(error, "clCreateCommandQueue");
    other = clCreateCommandQueue(context, device, 0, &error);
    must(error, "clCreateCommandQueue");
    const cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    must(error, "clCreateProgramWithSource");
    MUST(clBuildProgram(program, 1, &device, "", NULL, NULL));
    kernel = clCreateKernel(program, "work", &error);
    must(error, "clCreateKernel");
    memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 4, NULL, &error);
    must(error, "clCreateBuffer");
    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
}

static cl_event new_event(void)
{
    cl_int error;
    const cl_event made = clCreateUserEvent(context, &error);
    must(error, "clCreateUserEvent");
    return made;
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

static cl_int status_of(cl_event event)
{
    cl_int status;
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    return status;
}

static int has_ended(cl_event event) { return status_of(event) <= CL_COMPLETE; }

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

static void *release(void *rounds)
{
    for (unsigned i = 0; i < *(unsigned *)rounds * COMMANDS; ++i) {
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

static int check_order(void)
{
    const cl_event first_gate = new_event(), second_gate = new_event();
    const cl_event first = launch(queue, 1, 1, &first_gate), second = launch(queue, 1, 1, &second_gate);
    MUST(clSetUserEventStatus(second_gate, CL_OUT_OF_RESOURCES));
    const cl_event third = launch(queue, 1, 0, NULL);
    for (unsigned i = 0; i < POLLS && !has_ended(third); ++i) sched_yield();
    const int is_right = status_of(third) != CL_COMPLETE || has_ended(first);
    if (!is_right)
        printf("wrong: the third command has run, the first has not (the second has status %d)\n",
               (int)status_of(second));
    MUST(clSetUserEventStatus(first_gate, CL_COMPLETE));
    (void)clWaitForEvents(1, &first);
    return is_right ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 2000;
    int wrong = 0;
    open_all();
    if (strcmp(what, "ends") == 0) {
        for (unsigned i = 0; i < rounds; ++i) fail_while_a_kernel_ends(i);
    } else if (strcmp(what, "releases") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, release, &rounds)) return 2;
        for (unsigned i = 0; i < rounds; ++i) fail_while_events_are_released();
        pthread_join(thread, NULL);
    } else if (strcmp(what, "order") == 0) {
        wrong = check_order();
    } else {
        fprintf(stderr, "failed_events ends|releases|order [ROUNDS]\n");
        return 2;
    }
    if (!wrong) printf("right\n");
    return wrong;
}
