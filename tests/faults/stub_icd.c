/* stub_icd.c - an OpenCL driver with platforms and no devices, for the loader to find.
 *
 * NDR_STUB_PLATFORMS is the number of platforms, 1 if unset. NDR_STUB_ERROR is the error of clGetDeviceIDs,
 * CL_DEVICE_NOT_FOUND if unset. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 };

/* The loader finds the driver's functions through each object's first member. */
struct _cl_platform_id {
    const cl_icd_dispatch *dispatch;
};

static cl_icd_dispatch functions;
static struct _cl_platform_id platforms[MOST];

static int number(const char *variable, int otherwise)
{
    const char *set = getenv(variable);
    return set ? atoi(set) : otherwise;
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint capacity,
                                         cl_device_id *devices, cl_uint *count)
{
    (void)platform, (void)type, (void)capacity, (void)devices;
    const int error = number("NDR_STUB_ERROR", CL_DEVICE_NOT_FOUND);
    if (count && error == CL_SUCCESS) *count = 0;
    return error;
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info what, size_t capacity,
                                            void *value, size_t *needed)
{
    (void)platform;
    const char *text = what == CL_PLATFORM_EXTENSIONS       ? "cl_khr_icd"
                       : what == CL_PLATFORM_ICD_SUFFIX_KHR ? "NDRSTUB"
                       : what == CL_PLATFORM_VERSION        ? "OpenCL 1.2 stub"
                       : what == CL_PLATFORM_PROFILE        ? "FULL_PROFILE"
                                                            : "stub without devices";
    const size_t bytes = strlen(text) + 1;
    if (needed) *needed = bytes;
    if (value && capacity < bytes) return CL_INVALID_VALUE;
    if (value) memcpy(value, text, bytes);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_platform_ids(cl_uint capacity, cl_platform_id *found, cl_uint *count)
{
    const int wanted = number("NDR_STUB_PLATFORMS", 1);
    const cl_uint offered = (cl_uint)(wanted < MOST ? wanted : MOST);
    functions.clGetPlatformInfo = get_platform_info;
    functions.clGetDeviceIDs = get_device_ids;
    for (cl_uint i = 0; i < offered; ++i) platforms[i].dispatch = &functions;
    if (count) *count = offered;
    for (cl_uint i = 0; found && i < capacity && i < offered; ++i) found[i] = &platforms[i];
    return CL_SUCCESS;
}

/* The functions that the loader looks up by name. Inside, the stub uses its own names, because a call of one of these
 * names would call the loader. */
CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t capacity,
                                                  void *value, size_t *needed)
{
    return get_platform_info(platform, what, capacity, value, needed);
}

CL_API_ENTRY cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint capacity, cl_platform_id *found, cl_uint *count)
{
    return get_platform_ids(capacity, found, count);
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0) return (void *)get_platform_ids;
    return strcmp(name, "clGetPlatformInfo") == 0 ? (void *)get_platform_info : NULL;
}
