/* transfer.h - what transfers of buffers, images and shared allocations have in common: checks, and the way into a queue. */
#ifndef NDR_DEVICE_TRANSFER_H
#define NDR_DEVICE_TRANSFER_H

#include "device/order.h"
#include "device/submit.h"

/* Refuse memory of another context than the queue. `what` is "buffer", for sentences. */
ndr_status ndr_check_home(const char *call, const char *what, const ndr_queue *queue, const ndr_context *home);

/* Refuse bytes that memory of `whole` bytes does not have. */
ndr_status ndr_check_span(const char *call, const char *what, size_t whole, size_t offset_bytes, size_t size_bytes);

/* Refuse what the host access of a buffer or an image excludes. */
ndr_status ndr_check_host_access(const char *call, const char *what, ndr_access access, bool reads, bool writes);

/* Refuse `host` NULL for that many bytes. */
ndr_status ndr_check_host(const char *call, const void *host, size_t size_bytes);

/* The accesses that the flags of a foreign memory object allow. */
ndr_access ndr_kernel_access_of(cl_mem_flags flags);
ndr_access ndr_host_access_of(cl_mem_flags flags);

/* Enqueue a checked transfer; a mark if it has nothing to do. If it reads or writes the host's memory and `event` is
 * NULL, wait until it has ended. */
ndr_status ndr_transfer_run(const ndr_order *order, const ndr_transfer *transfer, bool uses_host, ndr_event **event);

#endif
