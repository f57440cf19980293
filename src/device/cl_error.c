/* cl_error.c - OpenCL's error codes: their names and the statuses they map to. */
#include "device/device.h"

#include <string.h>

const char *ndr_cl_error_name(cl_int error)
{
    static const struct {
        cl_int code;
        const char *name;
    } table[] = {
        { -1, "CL_DEVICE_NOT_FOUND" },
        { -2, "CL_DEVICE_NOT_AVAILABLE" },
        { -3, "CL_COMPILER_NOT_AVAILABLE" },
        { -4, "CL_MEM_OBJECT_ALLOCATION_FAILURE" },
        { -5, "CL_OUT_OF_RESOURCES" },
        { -6, "CL_OUT_OF_HOST_MEMORY" },
        { -7, "CL_PROFILING_INFO_NOT_AVAILABLE" },
        { -8, "CL_MEM_COPY_OVERLAP" },
        { -11, "CL_BUILD_PROGRAM_FAILURE" },
        { -12, "CL_MAP_FAILURE" },
        { -13, "CL_MISALIGNED_SUB_BUFFER_OFFSET" },
        { -14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST" },
        { -15, "CL_COMPILE_PROGRAM_FAILURE" },
        { -16, "CL_LINKER_NOT_AVAILABLE" },
        { -17, "CL_LINK_PROGRAM_FAILURE" },
        { -19, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE" },
        { -30, "CL_INVALID_VALUE" },
        { -31, "CL_INVALID_DEVICE_TYPE" },
        { -32, "CL_INVALID_PLATFORM" },
        { -33, "CL_INVALID_DEVICE" },
        { -34, "CL_INVALID_CONTEXT" },
        { -35, "CL_INVALID_QUEUE_PROPERTIES" },
        { -36, "CL_INVALID_COMMAND_QUEUE" },
        { -37, "CL_INVALID_HOST_PTR" },
        { -38, "CL_INVALID_MEM_OBJECT" },
        { -42, "CL_INVALID_BINARY" },
        { -43, "CL_INVALID_BUILD_OPTIONS" },
        { -44, "CL_INVALID_PROGRAM" },
        { -45, "CL_INVALID_PROGRAM_EXECUTABLE" },
        { -46, "CL_INVALID_KERNEL_NAME" },
        { -47, "CL_INVALID_KERNEL_DEFINITION" },
        { -48, "CL_INVALID_KERNEL" },
        { -49, "CL_INVALID_ARG_INDEX" },
        { -50, "CL_INVALID_ARG_VALUE" },
        { -51, "CL_INVALID_ARG_SIZE" },
        { -52, "CL_INVALID_KERNEL_ARGS" },
        { -53, "CL_INVALID_WORK_DIMENSION" },
        { -54, "CL_INVALID_WORK_GROUP_SIZE" },
        { -55, "CL_INVALID_WORK_ITEM_SIZE" },
        { -56, "CL_INVALID_GLOBAL_OFFSET" },
        { -57, "CL_INVALID_EVENT_WAIT_LIST" },
        { -58, "CL_INVALID_EVENT" },
        { -59, "CL_INVALID_OPERATION" },
        { -61, "CL_INVALID_BUFFER_SIZE" },
        { -63, "CL_INVALID_GLOBAL_WORK_SIZE" },
        { -66, "CL_INVALID_COMPILER_OPTIONS" },
        { -67, "CL_INVALID_LINKER_OPTIONS" },
        { -1001, "CL_PLATFORM_NOT_FOUND_KHR" },
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i)
        if (table[i].code == error) return table[i].name;
    return "an unknown code";
}

static ndr_status status_of(cl_int error)
{
    switch (error) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return NDR_OUT_OF_DEVICE_MEMORY;
    case CL_OUT_OF_HOST_MEMORY: return NDR_OUT_OF_HOST_MEMORY;
    default: return NDR_DRIVER_ERROR;
    }
}

ndr_status ndr_fail_cl(cl_int error, const char *call)
{
    const bool is_query = strncmp(call, "clGet", 5) == 0;
    const char *hint = error == CL_OUT_OF_RESOURCES && !is_query
                           ? "; drivers also report this when a kernel accessed memory outside its buffers"
                           : "";
    return ndr_fail_with_code(status_of(error), error, "%.*s gave %s (%d)%s", (int)strcspn(call, "("), call,
                              ndr_cl_error_name(error), (int)error, hint);
}
