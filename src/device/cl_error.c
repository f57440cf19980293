/* cl_error.c - OpenCL's error codes: their names and the statuses they map to. */
#include "device/opencl.h"

#include <string.h>

#define CODE(name) { name, #name }

const char *ndr_cl_error_name(cl_int error)
{
    static const struct {
        cl_int code;
        const char *name;
    } table[] = {
        CODE(CL_DEVICE_NOT_FOUND), CODE(CL_DEVICE_NOT_AVAILABLE), CODE(CL_COMPILER_NOT_AVAILABLE),
        CODE(CL_MEM_OBJECT_ALLOCATION_FAILURE), CODE(CL_OUT_OF_RESOURCES), CODE(CL_OUT_OF_HOST_MEMORY),
        CODE(CL_PROFILING_INFO_NOT_AVAILABLE), CODE(CL_MEM_COPY_OVERLAP), CODE(CL_BUILD_PROGRAM_FAILURE),
        CODE(CL_MAP_FAILURE), CODE(CL_MISALIGNED_SUB_BUFFER_OFFSET),
        CODE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST), CODE(CL_COMPILE_PROGRAM_FAILURE),
        CODE(CL_LINKER_NOT_AVAILABLE), CODE(CL_LINK_PROGRAM_FAILURE), CODE(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
        CODE(CL_DEVICE_PARTITION_FAILED), CODE(CL_INVALID_DEVICE_PARTITION_COUNT),
        CODE(CL_INVALID_VALUE), CODE(CL_INVALID_DEVICE_TYPE), CODE(CL_INVALID_PLATFORM),
        CODE(CL_INVALID_DEVICE), CODE(CL_INVALID_CONTEXT), CODE(CL_INVALID_QUEUE_PROPERTIES),
        CODE(CL_INVALID_COMMAND_QUEUE), CODE(CL_INVALID_HOST_PTR), CODE(CL_INVALID_MEM_OBJECT),
        CODE(CL_INVALID_BINARY), CODE(CL_INVALID_BUILD_OPTIONS), CODE(CL_INVALID_PROGRAM),
        CODE(CL_INVALID_PROGRAM_EXECUTABLE), CODE(CL_INVALID_KERNEL_NAME), CODE(CL_INVALID_KERNEL_DEFINITION),
        CODE(CL_INVALID_KERNEL), CODE(CL_INVALID_ARG_INDEX), CODE(CL_INVALID_ARG_VALUE),
        CODE(CL_INVALID_ARG_SIZE), CODE(CL_INVALID_KERNEL_ARGS), CODE(CL_INVALID_WORK_DIMENSION),
        CODE(CL_INVALID_WORK_GROUP_SIZE), CODE(CL_INVALID_WORK_ITEM_SIZE), CODE(CL_INVALID_GLOBAL_OFFSET),
        CODE(CL_INVALID_EVENT_WAIT_LIST), CODE(CL_INVALID_EVENT), CODE(CL_INVALID_OPERATION),
        CODE(CL_INVALID_BUFFER_SIZE), CODE(CL_INVALID_GLOBAL_WORK_SIZE), CODE(CL_INVALID_COMPILER_OPTIONS),
        CODE(CL_INVALID_LINKER_OPTIONS), CODE(CL_PLATFORM_NOT_FOUND_KHR)
    };
    for (size_t i = 0; i < NDR_COUNT_OF(table); ++i)
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
