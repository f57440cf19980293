/* verbose_layer.c - an OpenCL layer over any driver that takes -cl-nv-verbose as NVIDIA's does: the log then tells the
 * registers of kernels, in the words of ptxas. Loaded through OPENCL_LAYERS. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <stdbool.h>
#include <string.h>

static struct _cl_icd_dispatch ours; /* an entry left NULL falls through */
static const struct _cl_icd_dispatch *below;
static bool is_verbose; /* of the last build */

static const char said[] = "\nptxas info    : 0 bytes gmem\n"
                           "ptxas info    : Compiling entry function 'groups' for 'sm_90'\n"
                           "ptxas info    : Function properties for groups\n"
                           "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                           "ptxas info    : Used 10 registers, 384 bytes cmem[0]\n"
                           "ptxas info    : Compiling entry function 'plain' for 'sm_90'\n"
                           "ptxas info    : Compiling entry function 'count_all' for 'sm_90'\n"
                           "ptxas info    : Used 31 registers, 384 bytes cmem[0]\n"
                           "ptxas info    : Compiling entry function 'count' for 'sm_90'\n"
                           "ptxas info    : Used 255 registers, 384 bytes cmem[0]\n";

static cl_int give(const char *text, size_t size, void *value, size_t *size_out)
{
    if (value && size < strlen(text) + 1) return CL_INVALID_VALUE;
    if (value) memcpy(value, text, strlen(text) + 1);
    if (size_out) *size_out = strlen(text) + 1;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL describe(cl_platform_id platform, cl_platform_info name, size_t size, void *value,
                                   size_t *size_out)
{
    if (name == CL_PLATFORM_NAME) return give("NVIDIA CUDA", size, value, size_out);
    return below->clGetPlatformInfo(platform, name, size, value, size_out);
}

static cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                                void(CL_CALLBACK *done)(cl_program, void *), void *of)
{
    static const char verbose[] = "-cl-nv-verbose";
    char others[4096] = "";
    const char *const at = options ? strstr(options, verbose) : NULL;
    is_verbose = at != NULL;
    if (!at || strlen(options) >= sizeof others)
        return below->clBuildProgram(program, count, devices, options, done, of);
    memcpy(others, options, (size_t)(at - options));
    strcat(others, at + strlen(verbose));
    return below->clBuildProgram(program, count, devices, others, done, of);
}

static cl_int CL_API_CALL describe_build(cl_program program, cl_device_id device, cl_program_build_info name,
                                         size_t size, void *value, size_t *size_out)
{
    if (name == CL_PROGRAM_BUILD_LOG && is_verbose) return give(said, size, value, size_out);
    return below->clGetProgramBuildInfo(program, device, name, size, value, size_out);
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
    ours.clGetPlatformInfo = describe;
    ours.clBuildProgram = build;
    ours.clGetProgramBuildInfo = describe_build;
    *entries_out = sizeof ours / sizeof(void *);
    *layer = &ours;
    return CL_SUCCESS;
}
