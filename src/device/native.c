/* native.c - conversions between libndr's objects and OpenCL's (include/ndr/ndr_cl.h). */
#include "device/buffer.h"
#include "device/caps.h"
#include "device/catalog.h"
#include "device/check.h"
#include "device/context.h"
#include "device/event.h"
#include "device/part.h"
#include "device/queue.h"
#include "device/transfer.h"

#include "ndr/ndr_cl.h"

/* ---- from libndr to OpenCL ---- */

cl_context ndr_context_cl(const ndr_context *context) { return NDR_IS_LIVE(context) ? context->cl : NULL; }
cl_device_id ndr_context_cl_device(const ndr_context *context) { return NDR_IS_LIVE(context) ? context->device : NULL; }
cl_command_queue ndr_queue_cl(const ndr_queue *queue) { return NDR_IS_LIVE(queue) ? queue->cl : NULL; }
cl_event ndr_event_cl(const ndr_event *event) { return NDR_IS_LIVE(event) ? ndr_event_end(event) : NULL; }

cl_mem ndr_buffer_cl(const ndr_buffer *buffer)
{
    if (!NDR_IS_LIVE(buffer)) return NULL;
    ndr_check_exclude(buffer->whole, NDR_UNCHECKED_EXPOSED);
    return buffer->cl;
}

/* ---- from OpenCL to libndr ---- */

static bool is_listed(const cl_device_id *listed, size_t count, cl_device_id device)
{
    for (size_t i = 0; i < count; ++i)
        if (listed[i] == device) return true;
    return false;
}

/* Of a context that was made for parts of a device, PoCL lists the whole one. So whether it takes queues tells. */
static ndr_status check_part(cl_context cl, const cl_device_id *listed, size_t count, cl_device_id device,
                             bool *is_there)
{
    cl_device_id whole = device;
    cl_int error = CL_INVALID_DEVICE;
    while (whole && !is_listed(listed, count, whole)) NDR_TRY(ndr_part_parent(whole, &whole));
    const cl_command_queue queue = whole ? ndr_cl.clCreateCommandQueue(cl, device, 0, &error) : NULL;
    *is_there = error == CL_SUCCESS;
    if (error == CL_INVALID_DEVICE) return NDR_OK;
    NDR_TRY_CL_AS("clCreateCommandQueue", error);
    NDR_TRY_CL(clReleaseCommandQueue(queue));
    return NDR_OK;
}

static ndr_status check_device(cl_context cl, cl_device_id device)
{
    cl_device_id listed[64];
    size_t bytes = 0;
    NDR_TRY_CL(clGetContextInfo(cl, CL_CONTEXT_DEVICES, sizeof listed, listed, &bytes));
    const size_t count = bytes / sizeof listed[0];
    bool is_there = is_listed(listed, count, device);
    if (!is_there) NDR_TRY(check_part(cl, listed, count, device, &is_there));
    NDR_REQUIRE(is_there,
                "ndr_context_from_cl: the device does not belong to the OpenCL context; pass one of its devices");
    return NDR_OK;
}

ndr_status ndr_context_from_cl(cl_context cl, cl_device_id device, ndr_context **context)
{
    NDR_REQUIRE_SET(cl, device, context);
    NDR_TRY(ndr_cl_open());
    NDR_TRY(check_device(cl, device));
    ndr_catalog_entry entry = { .device = device };
    NDR_TRY_CL(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof entry.platform, &entry.platform, NULL));
    NDR_TRY(ndr_caps_query(entry.platform, device, &entry.caps));
    return ndr_context_open(&entry, cl, NDR_CHECK_DEFAULT, context);
}

ndr_status ndr_queue_from_cl(ndr_context *context, cl_command_queue cl, ndr_queue **queue)
{
    NDR_REQUIRE_SET(context, cl, queue);
    cl_context owner = NULL;
    cl_device_id device = NULL;
    cl_command_queue_properties properties = 0;
    NDR_TRY_CL(clGetCommandQueueInfo(cl, CL_QUEUE_CONTEXT, sizeof owner, &owner, NULL));
    NDR_TRY_CL(clGetCommandQueueInfo(cl, CL_QUEUE_DEVICE, sizeof device, &device, NULL));
    NDR_TRY_CL(clGetCommandQueueInfo(cl, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    NDR_REQUIRE(owner == context->cl && device == context->device,
                "ndr_queue_from_cl: the command queue belongs to another OpenCL context or device");
    NDR_TRY_CL(clRetainCommandQueue(cl));
    const ndr_status status = ndr_queue_wrap(context, cl, properties, queue);
    if (status != NDR_OK) ndr_cl.clReleaseCommandQueue(cl);
    return status;
}

ndr_status ndr_buffer_from_cl(ndr_context *context, cl_mem cl, ndr_buffer **buffer)
{
    NDR_REQUIRE_SET(context, cl, buffer);
    cl_context owner = NULL;
    cl_mem_object_type type = 0;
    cl_mem parent = NULL; /* of a sub-buffer */
    cl_mem_flags flags = 0;
    size_t size_bytes = 0, offset_bytes = 0;
    NDR_TRY_CL(clGetMemObjectInfo(cl, CL_MEM_CONTEXT, sizeof owner, &owner, NULL));
    NDR_TRY_CL(clGetMemObjectInfo(cl, CL_MEM_TYPE, sizeof type, &type, NULL));
    NDR_TRY_CL(clGetMemObjectInfo(cl, CL_MEM_SIZE, sizeof size_bytes, &size_bytes, NULL));
    NDR_REQUIRE(owner == context->cl, "ndr_buffer_from_cl: the memory object belongs to another OpenCL context; create "
                                      "it in that of ndr_context_cl()");
    NDR_REQUIRE(type == CL_MEM_OBJECT_BUFFER, "ndr_buffer_from_cl: the memory object is an image, not a buffer");
    NDR_TRY_CL(clGetMemObjectInfo(cl, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL));
    NDR_TRY_CL(clGetMemObjectInfo(cl, CL_MEM_OFFSET, sizeof offset_bytes, &offset_bytes, NULL));
    NDR_TRY_CL(clGetMemObjectInfo(cl, CL_MEM_FLAGS, sizeof flags, &flags, NULL));
    NDR_TRY_CL(clRetainMemObject(cl));
    const ndr_status status = ndr_buffer_wrap(context, cl, parent ? parent : cl, offset_bytes, size_bytes, buffer);
    if (status != NDR_OK) {
        ndr_cl.clReleaseMemObject(cl);
        return status;
    }
    (*buffer)->kernel_access = ndr_kernel_access_of(flags);
    (*buffer)->host_access = ndr_host_access_of(flags);
    ndr_check_exclude(*buffer, NDR_UNCHECKED_FOREIGN);
    return NDR_OK;
}
