/* raw.h - what the reproducers of this folder share. They use OpenCL without libndr. */
#ifndef NDR_FAULTS_RAW_H
#define NDR_FAULTS_RAW_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "faults.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- OpenCL's functions ---- */

/* A function of the OpenCL library, which the command does not link. If there is none, the process ends as not tried. */
void *find_raw(const char *name);

#define RAW(name)                    \
    (((union {                       \
         void *found;                \
         __typeof__(&name) function; \
     }){ find_raw(#name) })          \
         .function)
#define clBuildProgram RAW(clBuildProgram)
#define clCreateBuffer RAW(clCreateBuffer)
#define clCreateCommandQueue RAW(clCreateCommandQueue)
#define clCreateContext RAW(clCreateContext)
#define clCreateImage RAW(clCreateImage)
#define clCreateKernel RAW(clCreateKernel)
#define clCreateProgramWithSource RAW(clCreateProgramWithSource)
#define clCreateSubBuffer RAW(clCreateSubBuffer)
#define clCreateUserEvent RAW(clCreateUserEvent)
#define clEnqueueFillBuffer RAW(clEnqueueFillBuffer)
#define clEnqueueMapBuffer RAW(clEnqueueMapBuffer)
#define clEnqueueMarkerWithWaitList RAW(clEnqueueMarkerWithWaitList)
#define clEnqueueMigrateMemObjects RAW(clEnqueueMigrateMemObjects)
#define clEnqueueNDRangeKernel RAW(clEnqueueNDRangeKernel)
#define clEnqueueReadBuffer RAW(clEnqueueReadBuffer)
#define clEnqueueReadBufferRect RAW(clEnqueueReadBufferRect)
#define clEnqueueReadImage RAW(clEnqueueReadImage)
#define clEnqueueUnmapMemObject RAW(clEnqueueUnmapMemObject)
#define clEnqueueWriteBuffer RAW(clEnqueueWriteBuffer)
#define clFinish RAW(clFinish)
#define clFlush RAW(clFlush)
#define clGetDeviceIDs RAW(clGetDeviceIDs)
#define clGetDeviceInfo RAW(clGetDeviceInfo)
#define clGetEventInfo RAW(clGetEventInfo)
#define clGetExtensionFunctionAddressForPlatform RAW(clGetExtensionFunctionAddressForPlatform)
#define clGetKernelWorkGroupInfo RAW(clGetKernelWorkGroupInfo)
#define clGetPlatformIDs RAW(clGetPlatformIDs)
#define clGetPlatformInfo RAW(clGetPlatformInfo)
#define clGetProgramBuildInfo RAW(clGetProgramBuildInfo)
#define clGetProgramInfo RAW(clGetProgramInfo)
#define clReleaseCommandQueue RAW(clReleaseCommandQueue)
#define clReleaseEvent RAW(clReleaseEvent)
#define clReleaseKernel RAW(clReleaseKernel)
#define clReleaseMemObject RAW(clReleaseMemObject)
#define clSVMAlloc RAW(clSVMAlloc)
#define clSetEventCallback RAW(clSetEventCallback)
#define clSetKernelArg RAW(clSetKernelArg)
#define clSetKernelArgSVMPointer RAW(clSetKernelArgSVMPointer)
#define clSetKernelExecInfo RAW(clSetKernelExecInfo)
#define clSetUserEventStatus RAW(clSetUserEventStatus)
#define clWaitForEvents RAW(clWaitForEvents)

/* ---- what all use ---- */

enum { ROUNDS = 2000 }; /* of what does not fail each time */

/* Those of run_fault(). */
extern cl_device_id device;
extern cl_context context;

static inline void must(cl_int error, const char *call)
{
    if (error == CL_SUCCESS) return;
    fprintf(stderr, "%s: %d\n", call, (int)error);
    _exit(NOT_TRIED_EXIT);
}

#define MUST(call) must((call), #call)

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
    if (strcmp(name, "Oclgrind") == 0) _exit(NOT_TRIED_EXIT);
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

#endif
