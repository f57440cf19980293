/* raw.h - what the programs of this folder share. They use OpenCL without libndr, and the first device of the first
 * driver.
 *
 * Each prints "right" and returns 0 if the driver does it right; 1: it is wrong; 2: it cannot be tried there. A crash or
 * a hang also means that it is wrong. */
#ifndef RAW_H
#define RAW_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RIGHT, WRONG, NOT_TRIED };

static cl_context context;
static cl_device_id device;

static inline void must(cl_int error, const char *call)
{
    if (error == CL_SUCCESS) return;
    fprintf(stderr, "%s: %d\n", call, (int)error);
    exit(NOT_TRIED);
}

#define MUST(call) must((call), #call)

static inline void open_device(void)
{
    cl_platform_id platform;
    cl_int error;
    MUST(clGetPlatformIDs(1, &platform, NULL));
    MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    must(error, "clCreateContext");
}

static inline cl_command_queue new_queue(cl_command_queue_properties properties)
{
    cl_int error;
    const cl_command_queue made = clCreateCommandQueue(context, device, properties, &error);
    must(error, "clCreateCommandQueue");
    return made;
}

static inline cl_mem new_buffer(size_t bytes)
{
    cl_int error;
    const cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    must(error, "clCreateBuffer");
    return made;
}

static inline cl_program new_program(const char *text)
{
    cl_int error;
    const cl_program made = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    must(error, "clCreateProgramWithSource");
    return made;
}

static inline bool builds(cl_program program, const char *options)
{
    return clBuildProgram(program, 1, &device, options, NULL, NULL) == CL_SUCCESS;
}

static inline cl_kernel kernel_of(cl_program program, const char *name)
{
    cl_int error;
    const cl_kernel made = clCreateKernel(program, name, &error);
    must(error, "clCreateKernel");
    return made;
}

static inline cl_kernel new_kernel(const char *text, const char *name)
{
    const cl_program program = new_program(text);
    MUST(clBuildProgram(program, 1, &device, "", NULL, NULL));
    return kernel_of(program, name);
}

/* Launch it in groups of `local` items. Its first argument is a buffer of `count` zeros, which is read to `out`. */
static inline cl_int run_kernel(cl_kernel kernel, size_t global, size_t local, cl_int *out, size_t count)
{
    const size_t bytes = count * sizeof *out;
    const cl_command_queue queue = new_queue(0);
    const cl_mem memory = new_buffer(bytes);
    memset(out, 0, bytes);
    MUST(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, bytes, out, 0, NULL, NULL));
    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    const cl_int error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    return error == CL_SUCCESS ? clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, bytes, out, 0, NULL, NULL) : error;
}

/* A user's event. A simulator's clFlush() does not return before the work behind it has run. */
static inline cl_event new_event(void)
{
    cl_int error;
    cl_platform_id platform;
    char name[64] = "";
    MUST(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    (void)clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    if (strcmp(name, "Oclgrind") == 0) exit(NOT_TRIED);
    const cl_event made = clCreateUserEvent(context, &error);
    must(error, "clCreateUserEvent");
    return made;
}

static inline cl_int status_of(cl_event event)
{
    cl_int status;
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    return status;
}

static inline bool has_ended(cl_event event) { return status_of(event) <= CL_COMPLETE; }

/* Poll for that long. */
static inline bool ends_within(cl_event event, int milliseconds)
{
    for (int i = 0; i < milliseconds && !has_ended(event); ++i)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    return has_ended(event);
}

typedef struct raw_case {
    const char *name;
    int (*run)(unsigned rounds);
} raw_case;

/* PROGRAM CASE [ROUNDS] */
static inline int run_case(const raw_case *cases, size_t count, int argc, char **argv)
{
    const unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 2000;
    for (size_t i = 0; argc > 1 && i < count; ++i) {
        if (strcmp(argv[1], cases[i].name) != 0) continue;
        open_device();
        const int result = cases[i].run(rounds);
        printf("%s\n", result == RIGHT ? "right" : result == WRONG ? "wrong" : "not tried");
        return result;
    }
    for (size_t i = 0; i < count; ++i) fprintf(stderr, "%s %s [ROUNDS]\n", argv[0], cases[i].name);
    return NOT_TRIED;
}

#endif
