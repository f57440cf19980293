/* launches.c - counts kernel launches. The clEnqueueNDRangeKernel() of this shared library takes the place of the ICD
 * loader's, for libndr (through NDR_OPENCL) and for all other libraries, and calls it. It adds a few nanoseconds. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef cl_int enqueue(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint,
                       const cl_event *, cl_event *);

size_t launches_so_far(void);

static atomic_size_t launches;

static enqueue *find_next(void)
{
    void *found = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    if (!found) {
        fprintf(stderr, "bench: the ICD loader has no clEnqueueNDRangeKernel\n");
        exit(2);
    }
    enqueue *next;
    memcpy(&next, &found, sizeof next); /* ISO C has no cast from an object pointer to a function pointer */
    return next;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                                       const size_t *offset, const size_t *global, const size_t *local,
                                                       cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    static enqueue *_Atomic next;
    enqueue *call = atomic_load_explicit(&next, memory_order_relaxed);
    if (!call) atomic_store(&next, call = find_next());
    atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
    return call(queue, kernel, dims, offset, global, local, wait_count, wait, event);
}

size_t launches_so_far(void) { return atomic_load(&launches); }
