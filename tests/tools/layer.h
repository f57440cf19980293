/* layer.h - an OpenCL layer, in one file: it defines replace(), which sets the functions of `ours` that it replaces. Those
 * may call `below`. Loaded through OPENCL_LAYERS. */
#ifndef NDR_TESTS_LAYER_H
#define NDR_TESTS_LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <string.h>

static struct _cl_icd_dispatch ours; /* an entry left NULL falls through */
static const struct _cl_icd_dispatch *below;

static void replace(void);

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
    replace();
    *entries_out = sizeof ours / sizeof(void *);
    *layer = &ours;
    return CL_SUCCESS;
}

#endif
