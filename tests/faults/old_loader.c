/* old_loader.c - an OpenCL library that has some of OpenCL 1.2's functions and not the others, for test_opencl,
 * test_errors and test_unload. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformIDs(cl_uint capacity, cl_platform_id *platforms, cl_uint *count)
{
    (void)capacity, (void)platforms, (void)count;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t capacity,
                                                  void *value, size_t *needed)
{
    (void)platform, (void)what, (void)capacity, (void)value, (void)needed;
    return CL_SUCCESS;
}
