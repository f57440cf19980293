/* submit.c - enqueues all commands. No other file calls clEnqueue*(). */
#include "device/device.h"

/* A wait list as two arguments. */
#define LIST(waits) ((waits) ? (waits)->count : 0), ((waits) ? (waits)->events : NULL)

ndr_status ndr_submit_kernel(cl_command_queue queue, cl_kernel kernel, unsigned dims, const size_t *offset,
                             const size_t *global, const size_t *local, const ndr_wait_list *waits, cl_event *done)
{
    NDR_TRY_CL(clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, LIST(waits), done));
    return NDR_OK;
}

ndr_status ndr_submit_marker(cl_command_queue queue, const ndr_wait_list *waits, cl_event *done)
{
    NDR_TRY_CL(clEnqueueMarkerWithWaitList(queue, LIST(waits), done));
    ndr_log(NDR_LOG_DEBUG, "command", "marker");
    return NDR_OK;
}

ndr_status ndr_submit_read(cl_command_queue queue, cl_mem from, bool blocks, size_t offset_bytes, size_t size_bytes,
                           void *host, const ndr_wait_list *waits, cl_event *done)
{
    NDR_TRY_CL(clEnqueueReadBuffer(queue, from, blocks, offset_bytes, size_bytes, host, LIST(waits), done));
    ndr_log(NDR_LOG_DEBUG, "command", "read of %zu bytes from byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_write(cl_command_queue queue, cl_mem to, bool blocks, size_t offset_bytes, size_t size_bytes,
                            const void *host, const ndr_wait_list *waits, cl_event *done)
{
    NDR_TRY_CL(clEnqueueWriteBuffer(queue, to, blocks, offset_bytes, size_bytes, host, LIST(waits), done));
    ndr_log(NDR_LOG_DEBUG, "command", "write of %zu bytes to byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_copy(cl_command_queue queue, cl_mem from, size_t from_offset_bytes, cl_mem to,
                           size_t to_offset_bytes, size_t size_bytes, const ndr_wait_list *waits, cl_event *done)
{
    NDR_TRY_CL(clEnqueueCopyBuffer(queue, from, to, from_offset_bytes, to_offset_bytes, size_bytes, LIST(waits), done));
    ndr_log(NDR_LOG_DEBUG, "command", "copy of %zu bytes from byte %zu to byte %zu", size_bytes, from_offset_bytes,
            to_offset_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_fill(cl_command_queue queue, cl_mem to, const void *pattern, size_t pattern_bytes,
                           size_t offset_bytes, size_t size_bytes, const ndr_wait_list *waits, cl_event *done)
{
    NDR_TRY_CL(clEnqueueFillBuffer(queue, to, pattern, pattern_bytes, offset_bytes, size_bytes, LIST(waits), done));
    ndr_log(NDR_LOG_DEBUG, "command", "fill of %zu bytes from byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_map(cl_command_queue queue, cl_mem buffer, cl_map_flags flags, size_t offset_bytes,
                          size_t size_bytes, void **host, const ndr_wait_list *waits, cl_event *done)
{
    cl_int error;
    void *mapped =
        ndr_cl.clEnqueueMapBuffer(queue, buffer, CL_FALSE, flags, offset_bytes, size_bytes, LIST(waits), done, &error);
    NDR_TRY_CL_AS("clEnqueueMapBuffer", error);
    *host = mapped;
    ndr_log(NDR_LOG_DEBUG, "command", "map of %zu bytes from byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_unmap(cl_command_queue queue, cl_mem buffer, void *host, const ndr_wait_list *waits,
                            cl_event *done)
{
    NDR_TRY_CL(clEnqueueUnmapMemObject(queue, buffer, host, LIST(waits), done));
    ndr_log(NDR_LOG_DEBUG, "command", "unmap");
    return NDR_OK;
}

void ndr_submit_last_unmap(cl_command_queue queue, cl_mem buffer, void *host)
{
    (void)ndr_cl.clEnqueueUnmapMemObject(queue, buffer, host, 0, NULL, NULL);
}
