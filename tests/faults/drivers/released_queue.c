/* released_queue.c - an out-of-order queue is released when all of its work has ended, in plain OpenCL with one thread.
 *
 *   released_queue [ROUNDS [finish]]
 *
 * Intel's CPU runtime (2026.2) hangs: the last command's object releases the queue's list of commands inside a task of
 * that list, and the list waits for its tasks. With clFinish() before each release ("finish") it does not. Prints
 * "right" and returns 0 if the driver does it right. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>

enum { COMMANDS = 8 };

static const char text[] = "kernel void add_one(global int *x) { x[get_global_id(0)] += 1; }\n";

static cl_context context;
static cl_device_id device;
static cl_kernel kernel;

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
    cl_int error;
    const char *source = text;
    MUST(clGetPlatformIDs(1, &platform, NULL));
    MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    must(error, "clCreateContext");
    const cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    must(error, "clCreateProgramWithSource");
    MUST(clBuildProgram(program, 1, &device, "", NULL, NULL));
    kernel = clCreateKernel(program, "add_one", &error);
    must(error, "clCreateKernel");
    const cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 4000, NULL, &error);
    must(error, "clCreateBuffer");
    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
}

static void wait_by_polling(cl_event event)
{
    cl_int status = CL_QUEUED;
    while (status > CL_COMPLETE)
        MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
}

/* In turn, so that sometimes the driver's thread runs the commands, and sometimes this one. */
static void wait_for(cl_event *events, int round)
{
    if (round % 2) MUST(clWaitForEvents(COMMANDS, events));
    else
        for (int i = 0; i < COMMANDS; ++i) wait_by_polling(events[i]);
}

static void use_a_queue(int round, int has_to_finish)
{
    const size_t items = 100;
    cl_event done[COMMANDS];
    cl_int error;
    const cl_command_queue queue =
        clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
    must(error, "clCreateCommandQueue");
    for (int i = 0; i < COMMANDS; ++i)
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, i > 0 && round % 3 == 0,
                                    i > 0 && round % 3 == 0 ? &done[i - 1] : NULL, &done[i]));
    MUST(clFlush(queue));
    wait_for(done, round);
    for (int i = 0; i < COMMANDS; ++i) MUST(clReleaseEvent(done[i]));
    if (has_to_finish) MUST(clFinish(queue));
    MUST(clReleaseCommandQueue(queue));
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 10000;
    open_all();
    for (int i = 0; i < rounds; ++i) use_a_queue(i, argc > 2);
    printf("right\n");
    return 0;
}
