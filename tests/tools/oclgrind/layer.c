/* layer.c - an OpenCL layer that avoids three faults of Oclgrind 21.10. Each fault would report kernels for reading
 * initialised memory as uninitialised. Loaded through OPENCL_LAYERS.
 *
 * Oclgrind treats what clEnqueueFillBuffer writes as uninitialised, but not what clEnqueueWriteBuffer writes. So the
 * layer fills buffers by writing them, and writing always waits.
 *
 * If clEnqueueWriteBuffer writes a part of a buffer, Oclgrind treats the rest as uninitialised. So the layer writes the
 * whole buffer, of a sub-buffer the one it is a part of: its contents, with the part replaced. This hides uninitialised
 * bytes in buffers written in part.
 *
 * A new buffer gets the number of a released one. If that one was smaller, Oclgrind treats what kernels write past its
 * end as uninitialised. So the layer keeps every buffer, and no number is used twice. */
#include "tools/layer.h"

#include <stdbool.h>
#include <stdlib.h>

/* The contents of a buffer, and where the bytes to write begin in them; of a sub-buffer those of its parent. */
typedef struct {
    cl_mem buffer;
    size_t size, offset;
    char *bytes; /* NULL if the layer must pass the call on for the driver to refuse it */
} contents;

static contents contents_of(cl_command_queue queue, cl_mem buffer, size_t offset, size_t size)
{
    contents all = { .buffer = buffer, .offset = offset };
    cl_mem parent = NULL;
    size_t own, origin = 0;
    if (below->clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof own, &own, NULL) != CL_SUCCESS) return all;
    if (size == 0 || offset > own || size > own - offset) return all;
    (void)below->clGetMemObjectInfo(buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL);
    (void)below->clGetMemObjectInfo(buffer, CL_MEM_OFFSET, sizeof origin, &origin, NULL);
    if (parent) all.buffer = parent, all.offset += origin;
    if (below->clGetMemObjectInfo(all.buffer, CL_MEM_SIZE, sizeof all.size, &all.size, NULL) != CL_SUCCESS) return all;
    all.bytes = malloc(all.size);
    if (all.bytes && below->clEnqueueReadBuffer(queue, all.buffer, CL_TRUE, 0, all.size, all.bytes, 0, NULL, NULL)) {
        free(all.bytes);
        all.bytes = NULL;
    }
    return all;
}

static cl_int CL_API_CALL write(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                                const void *from, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    if (wait_count) (void)below->clWaitForEvents(wait_count, wait);
    const contents all = from ? contents_of(queue, buffer, offset, size) : (contents){ .bytes = NULL };
    if (!all.bytes)
        return below->clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from, wait_count, wait, event);
    memcpy(all.bytes + all.offset, from, size);
    const cl_int error =
        below->clEnqueueWriteBuffer(queue, all.buffer, CL_TRUE, 0, all.size, all.bytes, wait_count, wait, event);
    free(all.bytes);
    return error;
}

static cl_int CL_API_CALL fill(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
                               size_t offset, size_t size, cl_uint wait_count, const cl_event *wait,
                               cl_event *event)
{
    const bool is_meant = pattern && pattern_size && pattern_size <= 128 && (pattern_size & (pattern_size - 1)) == 0;
    char *bytes = is_meant && size && size % pattern_size == 0 && offset % pattern_size == 0 ? malloc(size) : NULL;
    if (!bytes)
        return below->clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size, wait_count, wait,
                                          event);
    for (size_t i = 0; i < size; i += pattern_size) memcpy(bytes + i, pattern, pattern_size);
    const cl_int error = write(queue, buffer, CL_TRUE, offset, size, bytes, wait_count, wait, event);
    free(bytes);
    return error;
}

static cl_mem CL_API_CALL create(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error)
{
    const cl_mem buffer = below->clCreateBuffer(context, flags, size, host, error);
    if (buffer) (void)below->clRetainMemObject(buffer);
    return buffer;
}

/* Hide the layer's own reference. */
static cl_int CL_API_CALL tell(cl_mem memory, cl_mem_info what, size_t capacity, void *value, size_t *needed)
{
    const cl_int error = below->clGetMemObjectInfo(memory, what, capacity, value, needed);
    if (error == CL_SUCCESS && what == CL_MEM_REFERENCE_COUNT && value) --*(cl_uint *)value;
    return error;
}

static void replace(void)
{
    ours.clEnqueueFillBuffer = fill;
    ours.clEnqueueWriteBuffer = write;
    ours.clCreateBuffer = create;
    ours.clGetMemObjectInfo = tell;
}
