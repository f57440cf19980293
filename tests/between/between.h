/* between.h - stands between libndr and the driver: refuses a call that the test has chosen, and counts what is made.
 *
 * A test program that is linked with between.c has every OpenCL call of libndr pass through it on its way to the ICD
 * loader, and every allocation of libndr on its way to the C library. */
#ifndef NDR_TESTS_BETWEEN_H
#define NDR_TESTS_BETWEEN_H

#include "support.h"

#include "device/device.h"

/* Every call of libndr that can fail, but for releases. */
#define CALLS_OF_LIBNDR(X)                           \
    X(GET_PLATFORMS, clGetPlatformIDs)               \
    X(GET_PLATFORM_INFO, clGetPlatformInfo)          \
    X(GET_DEVICES, clGetDeviceIDs)                   \
    X(GET_DEVICE_INFO, clGetDeviceInfo)              \
    X(CREATE_CONTEXT, clCreateContext)               \
    X(RETAIN_CONTEXT, clRetainContext)               \
    X(GET_CONTEXT_INFO, clGetContextInfo)            \
    X(CREATE_QUEUE, clCreateCommandQueue)            \
    X(RETAIN_QUEUE, clRetainCommandQueue)            \
    X(GET_QUEUE_INFO, clGetCommandQueueInfo)         \
    X(CREATE_BUFFER, clCreateBuffer)                 \
    X(CREATE_SUB_BUFFER, clCreateSubBuffer)          \
    X(RETAIN_MEM, clRetainMemObject)                 \
    X(GET_MEM_INFO, clGetMemObjectInfo)              \
    X(CREATE_PROGRAM, clCreateProgramWithSource)     \
    X(BUILD, clBuildProgram)                         \
    X(GET_PROGRAM_INFO, clGetProgramInfo)            \
    X(GET_BUILD_INFO, clGetProgramBuildInfo)         \
    X(CREATE_KERNEL, clCreateKernel)                 \
    X(RETAIN_KERNEL, clRetainKernel)                 \
    X(GET_KERNEL_INFO, clGetKernelInfo)              \
    X(GET_ARG_INFO, clGetKernelArgInfo)              \
    X(GET_GROUP_INFO, clGetKernelWorkGroupInfo)      \
    X(GET_SUB_GROUP_INFO, clGetKernelSubGroupInfo)   \
    X(SET_ARG, clSetKernelArg)                       \
    X(ENQUEUE, clEnqueueNDRangeKernel)               \
    X(MARK, clEnqueueMarkerWithWaitList)             \
    X(WRITE, clEnqueueWriteBuffer)                   \
    X(READ, clEnqueueReadBuffer)                     \
    X(FILL, clEnqueueFillBuffer)                     \
    X(COPY, clEnqueueCopyBuffer)                     \
    X(MAP, clEnqueueMapBuffer)                       \
    X(UNMAP, clEnqueueUnmapMemObject)                \
    X(FLUSH, clFlush)                                \
    X(FINISH, clFinish)                              \
    X(WAIT, clWaitForEvents)                         \
    X(RETAIN_EVENT, clRetainEvent)                   \
    X(GET_EVENT_INFO, clGetEventInfo)                \
    X(GET_PROFILING_INFO, clGetEventProfilingInfo)

#define AS_ENUMERATOR(kind, name) kind,
typedef enum call {
    NO_CALL,
    CALLS_OF_LIBNDR(AS_ENUMERATOR)
    ALLOCATE, /* malloc(), calloc(), realloc(): refused with NULL, whatever the code */
    CALLS
} call;

/* "clFinish"; "malloc" for all three. */
extern const char *const call_names[CALLS];

/* Refuse one call, the one after `passing` others of its kind, with the code. */
void refuse(call kind, size_t passing, cl_int code);

/* As refuse(), of a transfer: it is enqueued all the same, and not waited for. */
void refuse_afterwards(call kind, size_t passing, cl_int code);

/* Beside the one call, refuse all of this kind with its code. Of several kinds, too. */
void refuse_also(call kind);

/* The end of it: whether there was such a call. */
bool refuse_none(void);

/* How many calls of each kind there were since the test last cleared them. */
extern size_t calls[CALLS];

/* What is alive of what passed through: made and counted, less released; mappings less unmappings. */
typedef struct alive {
    long contexts, queues, buffers, programs, kernels, events, mappings, blocks;
} alive;
extern alive now;

/* Set: each platform is listed twice, so that there are others than the one refused. */
extern bool platforms_twice;

/* Of all launches. */
extern size_t items_enqueued;

/* How images are described from now on: the driver's answers where both are 0. */
extern cl_kernel_arg_address_qualifier image_space;
extern cl_kernel_arg_access_qualifier image_access;

/* What kernels that are built from now on say is the largest group that they take; 0 leaves it to the driver. */
extern size_t largest_group;

#endif
