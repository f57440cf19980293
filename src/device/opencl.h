/* opencl.h - the functions of OpenCL, its errors and its order of dimensions. */
#ifndef NDR_DEVICE_OPENCL_H
#define NDR_DEVICE_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue, clCreateSampler: all that 1.2 devices have */
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "base/base.h"

/* OpenCL's first dimension is the contiguous one, libndr's is the last. Reverses the order in either direction; the
 * only function on the host that does. */
static inline void ndr_reverse_dims(unsigned dims, const size_t *from, size_t *to)
{
    for (unsigned d = 0; d < dims; ++d) to[d] = from[dims - 1 - d];
}

/* The functions of OpenCL that libndr calls. REQUIRED ones are in OpenCL 1.2. OPTIONAL ones are newer and NULL if
 * the loader lacks them. */
#define NDR_CL_FUNCTIONS(REQUIRED, OPTIONAL) \
    REQUIRED(clGetPlatformIDs)               \
    REQUIRED(clGetPlatformInfo)              \
    REQUIRED(clGetDeviceIDs)                 \
    REQUIRED(clGetDeviceInfo)                \
    REQUIRED(clCreateSubDevices)             \
    REQUIRED(clCreateContext)                \
    REQUIRED(clRetainContext)                \
    REQUIRED(clReleaseContext)               \
    REQUIRED(clGetContextInfo)               \
    REQUIRED(clCreateCommandQueue)           \
    REQUIRED(clRetainCommandQueue)           \
    REQUIRED(clReleaseCommandQueue)          \
    REQUIRED(clGetCommandQueueInfo)          \
    REQUIRED(clFlush)                        \
    REQUIRED(clFinish)                       \
    REQUIRED(clCreateBuffer)                 \
    REQUIRED(clCreateSubBuffer)              \
    REQUIRED(clRetainMemObject)              \
    REQUIRED(clReleaseMemObject)             \
    REQUIRED(clGetMemObjectInfo)             \
    REQUIRED(clGetImageInfo)                 \
    REQUIRED(clCreateProgramWithSource)      \
    REQUIRED(clCreateProgramWithBinary)      \
    REQUIRED(clReleaseProgram)               \
    REQUIRED(clBuildProgram)                 \
    REQUIRED(clCompileProgram)               \
    REQUIRED(clLinkProgram)                  \
    REQUIRED(clGetProgramInfo)               \
    REQUIRED(clGetProgramBuildInfo)          \
    REQUIRED(clCreateKernel)                 \
    REQUIRED(clRetainKernel)                 \
    REQUIRED(clReleaseKernel)                \
    REQUIRED(clSetKernelArg)                 \
    REQUIRED(clGetKernelInfo)                \
    REQUIRED(clGetKernelArgInfo)             \
    REQUIRED(clGetKernelWorkGroupInfo)       \
    REQUIRED(clRetainEvent)                  \
    REQUIRED(clReleaseEvent)                 \
    REQUIRED(clWaitForEvents)                \
    REQUIRED(clGetEventInfo)                 \
    REQUIRED(clGetEventProfilingInfo)        \
    REQUIRED(clCreateUserEvent)              \
    REQUIRED(clSetUserEventStatus)           \
    REQUIRED(clEnqueueNDRangeKernel)         \
    REQUIRED(clEnqueueMarkerWithWaitList)    \
    REQUIRED(clEnqueueBarrierWithWaitList)   \
    REQUIRED(clEnqueueReadBuffer)            \
    REQUIRED(clEnqueueWriteBuffer)           \
    REQUIRED(clEnqueueCopyBuffer)            \
    REQUIRED(clEnqueueFillBuffer)            \
    REQUIRED(clEnqueueReadBufferRect)        \
    REQUIRED(clEnqueueWriteBufferRect)       \
    REQUIRED(clEnqueueCopyBufferRect)        \
    REQUIRED(clCreateImage)                  \
    REQUIRED(clGetSupportedImageFormats)     \
    REQUIRED(clEnqueueReadImage)             \
    REQUIRED(clEnqueueWriteImage)            \
    REQUIRED(clEnqueueFillImage)             \
    REQUIRED(clEnqueueCopyImage)             \
    REQUIRED(clCreateSampler)                \
    REQUIRED(clRetainSampler)                \
    REQUIRED(clReleaseSampler)               \
    REQUIRED(clGetSamplerInfo)               \
    REQUIRED(clEnqueueMapBuffer)             \
    REQUIRED(clEnqueueMapImage)              \
    REQUIRED(clEnqueueUnmapMemObject)        \
    OPTIONAL(clGetKernelSubGroupInfo)        \
    OPTIONAL(clGetDeviceAndHostTimer)        \
    OPTIONAL(clCreateProgramWithIL)          \
    OPTIONAL(clCreateBufferWithProperties)   \
    OPTIONAL(clSVMAlloc)                     \
    OPTIONAL(clSVMFree)                      \
    OPTIONAL(clSetKernelArgSVMPointer)       \
    OPTIONAL(clSetKernelExecInfo)            \
    OPTIONAL(clEnqueueSVMMap)                \
    OPTIONAL(clEnqueueSVMUnmap)              \
    OPTIONAL(clEnqueueSVMMemcpy)             \
    OPTIONAL(clEnqueueSVMMigrateMem)         \
    OPTIONAL(clGetExtensionFunctionAddressForPlatform)

/* Typed by their declarations, because the names of function types differ between versions of the headers. */
#define NDR_CL_MEMBER(function) __typeof__(function) *function;
typedef struct ndr_cl_functions {
    NDR_CL_FUNCTIONS(NDR_CL_MEMBER, NDR_CL_MEMBER)
} ndr_cl_functions;

/* All calls of OpenCL go through this table: ndr_cl.clFlush(cl). It is set once ndr_cl_open() has succeeded, before
 * there is any handle. */
extern ndr_cl_functions ndr_cl;

/* Open the ICD loader and fill the table, unless that is done already. NDR_NO_DRIVER: no usable loader. */
ndr_status ndr_cl_open(void);

/* ---- errors ---- */

/* "CL_INVALID_WORK_GROUP_SIZE", or "an unknown code". */
const char *ndr_cl_error_name(cl_int error);

/* Fail with the status for `error`; the sentence names it and the call. `call` may include the call's arguments;
 * they are not printed. */
ndr_status ndr_fail_cl(cl_int error, const char *call) __attribute__((cold));

/* Call a function of OpenCL, NDR_TRY_CL(clFlush(cl)), and return if it failed. */
#define NDR_TRY_CL(call) NDR_TRY_CL_AS(#call, ndr_cl.call)

/* The same for an error code that is already known. */
#define NDR_TRY_CL_AS(call_name, error)                                          \
    do {                                                                         \
        const cl_int try_error_ = (error);                                       \
        if (try_error_ != CL_SUCCESS) return ndr_fail_cl(try_error_, call_name); \
    } while (0)

/* In a function that returns a status: set `*text` to the result of a clGet...Info function; free() it. The length
 * is queried first, because memory that is too short gets no text at all. */
#define NDR_READ_TEXT(text, get, ...)                                                             \
    do {                                                                                          \
        size_t bytes_ = 0;                                                                        \
        NDR_TRY_CL_AS(#get, ndr_cl.get(__VA_ARGS__, 0, NULL, &bytes_));                           \
        char *read_ = calloc(bytes_ + 1, 1);                                                      \
        if (!read_) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for what " #get " tells"); \
        const cl_int error_ = ndr_cl.get(__VA_ARGS__, bytes_, read_, NULL);                       \
        if (error_ == CL_SUCCESS) *(text) = read_;                                                \
        else free(read_);                                                                         \
        NDR_TRY_CL_AS(#get, error_);                                                              \
    } while (0)

#endif
