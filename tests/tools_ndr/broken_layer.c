/* broken_layer.c - an OpenCL layer that crashes or hangs where a program is created, or changes what is read:
 * BROKEN_LAYER_DOES is "crash", "hang" or "wrong". With BROKEN_LAYER_KERNEL it does so where that kernel is launched
 * instead, and "wrong" leaves the launch out. If NDR_DISABLE is BROKEN_LAYER_UNLESS, nothing is broken. With
 * BROKEN_LAYER_ONCE, a file that it makes, it does so once. */
#include "tools/layer.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static bool does(const char *what)
{
    const char *chosen = getenv("BROKEN_LAYER_DOES");
    const char *const disabled = getenv("NDR_DISABLE"), *const unless = getenv("BROKEN_LAYER_UNLESS");
    const char *const once = getenv("BROKEN_LAYER_ONCE");
    if (disabled && unless && strcmp(disabled, unless) == 0) return false;
    if (!chosen || strcmp(chosen, what) != 0) return false;
    return !once || open(once, O_CREAT | O_EXCL, 0600) >= 0;
}

/* Whether faults belong to the launch of a kernel, and to that of this one; `kernel` may be NULL. */
static bool is_of(cl_kernel kernel)
{
    char name[200] = "";
    const char *const chosen = getenv("BROKEN_LAYER_KERNEL");
    if (!chosen || !kernel) return !chosen && !kernel;
    below->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    return strcmp(name, chosen) == 0;
}

static cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char **texts,
                                             const size_t *lengths, cl_int *error)
{
    if (is_of(NULL) && does("crash")) abort();
    while (is_of(NULL) && does("hang")) pause();
    return below->clCreateProgramWithSource(context, count, texts, lengths, error);
}

static cl_int CL_API_CALL read_bytes(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                     size_t size, void *to, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    const cl_int error = below->clEnqueueReadBuffer(queue, buffer, CL_TRUE, offset, size, to, wait_count, wait, event);
    (void)blocking;
    if (error == CL_SUCCESS && is_of(NULL) && does("wrong") && size >= 29) ((char *)to)[28] ^= 1; /* the 7th float */
    return error;
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
                                 const size_t *global, const size_t *local, cl_uint wait_count, const cl_event *wait,
                                 cl_event *event)
{
    if (is_of(kernel) && does("crash")) abort();
    while (is_of(kernel) && does("hang")) pause();
    if (is_of(kernel) && does("wrong")) return below->clEnqueueMarkerWithWaitList(queue, wait_count, wait, event);
    return below->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, wait_count, wait, event);
}

static void replace(void)
{
    ours.clCreateProgramWithSource = create_program;
    ours.clEnqueueReadBuffer = read_bytes;
    ours.clEnqueueNDRangeKernel = launch;
}
