/* layer.c - an OpenCL layer around two faults of Oclgrind 21.10, either of which would have kernels reported for reading
 * what is initialised. Loaded through OPENCL_LAYERS.
 *
 * What clEnqueueFillBuffer writes it takes for uninitialised; what clEnqueueWriteBuffer writes it believes. So buffers are
 * filled by writing them.
 *
 * A new buffer gets the number of one that is gone. If that was smaller, what kernels write past its end is taken for
 * uninitialised. So the last reference to a buffer is kept, and no number comes again. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <stdlib.h>
#include <string.h>

static struct _cl_icd_dispatch ours; /* an entry left NULL falls through */
static const struct _cl_icd_dispatch *below;

static cl_int CL_API_CALL fill(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
                               size_t offset, size_t size, cl_uint wait_count, const cl_event *wait,
                               cl_event *event)
{
    char *bytes = pattern && pattern_size && size && size % pattern_size == 0 ? malloc(size) : NULL;
    if (!bytes) /* refused below in the driver's own words */
        return below->clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size, wait_count, wait,
                                          event);
    for (size_t i = 0; i < size; i += pattern_size) memcpy(bytes + i, pattern, pattern_size);
    const cl_int error = below->clEnqueueWriteBuffer(queue, buffer, CL_TRUE, offset, size, bytes, wait_count,
                                                     wait, event);
    free(bytes);
    return error;
}

static cl_int CL_API_CALL release(cl_mem memory)
{
    cl_uint references = 0;
    (void)below->clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL);
    return references == 1 ? CL_SUCCESS : below->clReleaseMemObject(memory);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *size_out)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (name != CL_LAYER_API_VERSION || (value && size < sizeof version)) return CL_INVALID_VALUE;
    if (value) memcpy(value, &version, sizeof version);
    if (size_out) *size_out = sizeof version;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const struct _cl_icd_dispatch *target,
                                            cl_uint *entries_out, const struct _cl_icd_dispatch **layer)
{
    if (entries < sizeof ours / sizeof(void *)) return CL_INVALID_VALUE;
    below = target;
    ours.clEnqueueFillBuffer = fill;
    ours.clReleaseMemObject = release;
    *entries_out = sizeof ours / sizeof(void *);
    *layer = &ours;
    return CL_SUCCESS;
}
