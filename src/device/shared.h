/* shared.h - memory with one address for host and device. */
#ifndef NDR_DEVICE_SHARED_H
#define NDR_DEVICE_SHARED_H

#include <stdatomic.h>

#include "device/map.h"
#include "device/user.h"
#include "ndr/ndr_shared.h"

struct ndr_shared {
    uint64_t seal;
    atomic_uint references; /* one for the caller, and one for each prepared launch */
    ndr_context *context;
    ndr_shared_kind kind;
    unsigned char *base, *start; /* what OpenCL allocated, and behind a guard zone the first byte */
    size_t size_bytes;
    ndr_shared_copier copy;
    __typeof__(clSetKernelArgSVMPointer) *set_arg;
    cl_int(CL_API_CALL *free)(cl_context, void *); /* NULL: clSVMFree() */
    ndr_mappings mappings;                         /* at most one */
    ndr_users users;
    struct ndr_zones *zones;                       /* NULL: none */
};

void ndr_shared_keep(ndr_shared *shared);
void ndr_shared_release(ndr_shared *shared);

/* As ndr_buffer_is_free(). */
bool ndr_shared_is_free(const ndr_shared *shared, bool device_writes);

/* Call it before a command on this queue that uses the allocation: ndr_shared_destroy() then waits for the queue. */
ndr_status ndr_shared_add_user(ndr_shared *shared, const ndr_queue *queue);

/* Declare allocations, and buffers with addresses, to a kernel that reaches them without an argument. */
ndr_status ndr_shared_declare(cl_kernel kernel, const ndr_arg *reached, size_t count);

#endif
