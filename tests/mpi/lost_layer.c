/* lost_layer.c - an OpenCL layer in which the device of one rank is lost: from the 40th transfer on, each fails. Loaded
 * through OPENCL_LAYERS. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct _cl_icd_dispatch ours; /* an entry left NULL falls through */
static const struct _cl_icd_dispatch *below;
static atomic_int transfers;

static int is_lost(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    return rank && strcmp(rank, "1") == 0 && atomic_fetch_add(&transfers, 1) >= 40;
}

static cl_int CL_API_CALL read(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                               void *to, cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    if (is_lost()) return CL_OUT_OF_RESOURCES;
    return below->clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, wait_count, wait, event);
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
    ours.clEnqueueReadBuffer = read;
    *entries_out = sizeof ours / sizeof(void *);
    *layer = &ours;
    return CL_SUCCESS;
}
