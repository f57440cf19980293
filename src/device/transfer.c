/* transfer.c - what transfers of buffers, images and shared allocations have in common: checks, and the way into a queue. */
#include "device/command.h"
#include "device/queue.h"
#include "device/transfer.h"

/* ---- checks ---- */

ndr_status ndr_check_home(const char *call, const char *what, const ndr_queue *queue, const ndr_context *home)
{
    NDR_REQUIRE(queue->context == home, "%s: queue and %s belong to different contexts%s; create both in one", call,
                what, ndr_handle_or_destroyed());
    return NDR_OK;
}

ndr_status ndr_check_span(const char *call, const char *what, size_t whole, size_t offset_bytes, size_t size_bytes)
{
    NDR_REQUIRE_AS(NDR_OUT_OF_BOUNDS, offset_bytes <= whole && size_bytes <= whole - offset_bytes,
                   "%s: %zu bytes from byte %zu reach past the end of a %s of %zu bytes; at most %zu fit there", call,
                   size_bytes, offset_bytes, what, whole, whole - ndr_min_size(offset_bytes, whole));
    return NDR_OK;
}

ndr_status ndr_check_host_access(const char *call, const char *what, ndr_access access, bool reads, bool writes)
{
    const bool may_read = access == NDR_ACCESS_READ_WRITE || access == NDR_ACCESS_READ;
    const bool may_write = access == NDR_ACCESS_READ_WRITE || access == NDR_ACCESS_WRITE;
    NDR_REQUIRE((may_read || !reads) && (may_write || !writes),
                "%s: the %s was created %s host access, so the host cannot %s it; change ndr_%s_desc.host", call, what,
                may_read    ? "with read-only"
                : may_write ? "with write-only"
                            : "without",
                reads && !may_read ? "read" : "write", what);
    return NDR_OK;
}

ndr_status ndr_check_host(const char *call, const void *host, size_t size_bytes)
{
    NDR_REQUIRE(host || size_bytes == 0, "%s: host is NULL, but size_bytes is %zu; pass memory of that size", call,
                size_bytes);
    return NDR_OK;
}

ndr_access ndr_kernel_access_of(cl_mem_flags flags)
{
    return flags & CL_MEM_READ_ONLY    ? NDR_ACCESS_READ
           : flags & CL_MEM_WRITE_ONLY ? NDR_ACCESS_WRITE
                                       : NDR_ACCESS_READ_WRITE;
}

ndr_access ndr_host_access_of(cl_mem_flags flags)
{
    return flags & CL_MEM_HOST_NO_ACCESS    ? NDR_ACCESS_NONE
           : flags & CL_MEM_HOST_READ_ONLY  ? NDR_ACCESS_READ
           : flags & CL_MEM_HOST_WRITE_ONLY ? NDR_ACCESS_WRITE
                                            : NDR_ACCESS_READ_WRITE;
}

/* ---- the way into a queue ---- */

ndr_status ndr_transfer_run(const ndr_order *order, const ndr_transfer *transfer, bool uses_host, ndr_event **event)
{
    if (ndr_transfer_count(transfer) == 0) return ndr_queue_mark_in(order, event);
    const ndr_command command = { order, ndr_submit, transfer, NULL };
    if (!uses_host || event) return ndr_command_run(&command, event);
    return (transfer->work == NDR_WORK_READ ? ndr_command_read_and_wait : ndr_command_run_and_wait)(&command);
}
