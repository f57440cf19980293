/* verbose_layer.c - an OpenCL layer over any driver that takes -cl-nv-verbose as NVIDIA's does: the log then tells the
 * registers of kernels, in the words of ptxas. */
#include "tools/layer.h"

#include <stdbool.h>

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

static void replace(void)
{
    ours.clGetPlatformInfo = describe;
    ours.clBuildProgram = build;
    ours.clGetProgramBuildInfo = describe_build;
}
