/* map.h - mappings of buffers and images by the host. */
#ifndef NDR_DEVICE_MAP_H
#define NDR_DEVICE_MAP_H

#include <stdatomic.h>

#include "device/submit.h"
#include "device/order.h"

/* Bytes of a buffer. */
typedef struct ndr_bytes {
    const ndr_buffer *buffer;
    size_t offset_bytes, size_bytes;
} ndr_bytes;

typedef struct ndr_mapping {
    struct ndr_mapping *next;
    cl_mem cl;       /* what is mapped: a buffer, a view or an image */
    ndr_bytes bytes; /* the mapped bytes of a buffer or view */
    void *host;
    ndr_map_access access;
    cl_command_queue queue; /* retained: an object destroyed while it is mapped is unmapped on it */
} ndr_mapping;

/* The mappings of a buffer and its views, or of an image. Those of an image over a buffer are the buffer's. */
typedef struct ndr_mappings {
    ndr_mutex lock;          /* held while a mapping or unmapping is enqueued; guards the next three */
    ndr_mapping *unfinished; /* those whose thread waits for them */
    ndr_mapping *postponed;  /* ended by the caller, to be unmapped after unfinished ones at the same address */
    uint64_t unmapped;       /* unmappings so far */
    ndr_mutex list_lock;     /* guards `first`, held with `lock` to change it, and a buffer's `sub_buffers` */
    ndr_mapping *first;      /* the complete ones */
    atomic_uint count, count_for_writing; /* read without a lock */
} ndr_mappings;

/* Initialise zeroed memory. */
void ndr_mappings_init(ndr_mappings *mappings);
void ndr_mappings_destroy(ndr_mappings *mappings);

/* False while one of them conflicts with use by the device: any if the device writes, one for writing if it reads. */
static inline bool ndr_mappings_allow(const ndr_mappings *mappings, bool device_writes)
{
    return atomic_load(device_writes ? &mappings->count : &mappings->count_for_writing) == 0;
}

/* What to map. `submit` enqueues the mapping, and sets `host`. */
typedef struct ndr_map_request {
    ndr_mappings *mappings;
    cl_mem cl;
    ndr_bytes bytes; /* as in ndr_mapping */
    ndr_map_access access;
    ndr_status (*submit)(ndr_submission *s, const struct ndr_map_request *request, void **host);
    void *more; /* for `submit` */
} ndr_map_request;

/* Refuse an access that is not valid; OpenCL's flags for one that is. */
ndr_status ndr_map_check(const char *call, ndr_map_access access);
cl_map_flags ndr_map_flags(ndr_map_access access);

/* Map and wait for it; unmap what is mapped at `host`; unmap all mappings of `cl`. */
ndr_status ndr_map(const ndr_order *order, const ndr_map_request *request, void **host);
ndr_status ndr_unmap(const ndr_order *order, const char *what, ndr_mappings *mappings, cl_mem cl, void *host,
                     ndr_event **event);
void ndr_unmap_all(const ndr_context *context, ndr_mappings *mappings, cl_mem cl);

#endif
