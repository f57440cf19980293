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
    ndr_transfer unmap; /* ends it */
    void *host;         /* what the caller got */
    ndr_bytes bytes;    /* the mapped bytes of a buffer or view */
    ndr_map_access access;
    cl_command_queue queue; /* retained: an object destroyed while it is mapped is unmapped on it */
} ndr_mapping;

/* The mappings of a buffer and its views, of an image or of a shared allocation. Those of an image over a buffer are the
 * buffer's. */
typedef struct ndr_mappings {
    ndr_mutex lock;          /* held while a mapping or unmapping is enqueued; guards the next three */
    ndr_mapping *unfinished; /* those whose thread waits for them */
    ndr_mapping *postponed;  /* ended by the caller, to be unmapped after unfinished ones at the same address */
    uint64_t unmapped;       /* unmappings so far */
    ndr_mutex list_lock;     /* guards `first`, which is changed with both, and the owner's `sub_buffers` */
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

/* What to map. */
typedef struct ndr_mapping_request {
    const char *call; /* for sentences */
    ndr_mappings *mappings;
    const ndr_transfer *map; /* without flags and `mapped`; NDR_WORK_MARKER if the host may access the memory anyway */
    ndr_bytes bytes; /* as in ndr_mapping; none: of an image, or of shared memory, which has one mapping at a time */
    ndr_map_access access;
    void *host; /* what the caller gets; NULL: the address that the driver gives */
} ndr_mapping_request;

/* What to unmap. */
typedef struct ndr_unmap_request {
    const char *call, *what; /* for sentences: "buffer" */
    ndr_mappings *mappings;
    cl_mem cl;
    void *host;
    struct ndr_zones *zones; /* to be checked afterwards; NULL: none */
} ndr_unmap_request;

/* Refuse an access that is not valid. */
ndr_status ndr_map_check(const char *call, ndr_map_access access);

/* Map and wait for it; unmap what is mapped at `host`; unmap all mappings of `cl`, which shared memory does not have. */
ndr_status ndr_mapping_begin(const ndr_order *order, const ndr_mapping_request *request, void **host);
ndr_status ndr_unmap(const ndr_order *order, const ndr_unmap_request *request, ndr_event **event);
void ndr_unmap_all(const ndr_context *context, ndr_mappings *mappings, cl_mem cl);

#endif
