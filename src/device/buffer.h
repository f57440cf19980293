/* buffer.h - device memory. */
#ifndef NDR_DEVICE_BUFFER_H
#define NDR_DEVICE_BUFFER_H

#include <stdatomic.h>

#include "device/map.h"
#include "device/user.h"

/* cl_ext_buffer_device_address, which is newer than many headers. */
enum {
    NDR_MEM_DEVICE_PRIVATE_ADDRESS = 0x5000,
    NDR_MEM_DEVICE_ADDRESS = 0x5001,
    NDR_KERNEL_EXEC_INFO_DEVICE_PTRS = 0x5002
};

/* One of OpenCL's sub-buffers, for a view. */
typedef struct ndr_sub_buffer {
    struct ndr_sub_buffer *older;
    cl_mem cl;
    cl_buffer_region region;
    bool is_used; /* by a view */
} ndr_sub_buffer;

/* How many that no view uses a buffer keeps. Tests lower it. */
extern size_t ndr_max_unused_sub_buffers;

struct ndr_buffer {
    uint64_t seal;
    ndr_context *context;
    cl_mem cl;
    size_t size_bytes;
    uint64_t identity;    /* unique in the process, unlike `cl`; from 1 */
    cl_mem memory;        /* OpenCL's buffer that has the bytes: `cl`, or what `cl` is a sub-buffer of */
    size_t memory_offset; /* of the first byte, in `memory` */
    uint64_t address;     /* of the first byte, on the device; 0: it has no lasting one */
    ndr_access kernel_access, host_access;
    ndr_buffer *whole; /* of a view: the buffer that it views, with a reference to it; otherwise the buffer itself */
    ndr_sub_buffer *sub_buffer; /* of a view: whose `cl` it has */
    atomic_uint references;     /* one for the caller, and one for each view and each prepared launch */

    /* Only of a whole buffer, for its views, too. */
    ndr_mappings mappings;
    ndr_sub_buffer *sub_buffers; /* the newest first */
    ndr_users users;             /* that reached it by its address */
    struct ndr_zones *zones;     /* guard zones; NULL: none */
};

/* Create a buffer for `cl`, whose bytes are in `memory` from `memory_offset` on. If it succeeds, it takes over the
 * reference of `cl`. */
ndr_status ndr_buffer_wrap(ndr_context *context, cl_mem cl, cl_mem memory, size_t memory_offset, size_t size_bytes,
                           ndr_buffer **buffer);

/* OpenCL's buffer; `has_address`: with a lasting address. A failure has no sentence about the memory. */
ndr_status ndr_buffer_allocate(const ndr_context *context, cl_mem_flags flags, size_t size_bytes, void *host,
                               bool has_address, cl_mem *made);

/* Call it before a command on this queue that uses the buffer by its address: the buffer's end then waits for the
 * queue. */
ndr_status ndr_buffer_add_user(ndr_buffer *buffer, const ndr_queue *queue);

/* Take or return one reference; ndr_buffer_destroy() returns the caller's. */
ndr_buffer *ndr_buffer_keep(ndr_buffer *buffer);
void ndr_buffer_release(ndr_buffer *buffer);

/* ndr_buffer_map() of checked bytes. */
ndr_status ndr_buffer_map_bytes(const char *call, const ndr_order *order, ndr_bytes bytes, ndr_map_access access,
                                void **host);

/* False while a mapping of the host conflicts with use by the device: any mapping if the device writes, one for
 * writing if it reads. */
bool ndr_buffer_is_free(const ndr_buffer *buffer, bool device_writes);

/* For sentences that begin with "CALL, NAME: ". Refuse a buffer that is NULL, of another context than the queue, or
 * mapped so that the device must not use it. */
ndr_status ndr_buffer_check_use(const char *call, const char *name, const ndr_queue *queue, const ndr_buffer *buffer,
                                bool device_writes);

/* Add to a failure of an allocation how much was requested and how much there is. Returns `status`. */
ndr_status ndr_fail_memory(const ndr_context *context, ndr_status status, size_t size_bytes) __attribute__((cold));

/* Refuse a queue or buffer that is NULL, of two contexts, or bytes that the buffer does not have; and, in the second, a
 * buffer that is mapped so that the device must not use it. */
ndr_status ndr_buffer_check_bytes(const char *call, const ndr_queue *queue, const ndr_buffer *buffer,
                                  size_t offset_bytes, size_t size_bytes);
ndr_status ndr_buffer_check_unmapped(const char *call, const ndr_buffer *buffer, bool device_writes);

/* Refuse a copy between bytes of one memory that overlap. */
ndr_status ndr_buffer_check_apart(const char *call, ndr_bytes from, ndr_bytes to);

/* A transfer between contexts of at most so many bytes is a read and a write; the pieces of others have at most that many
 * bytes. Tests lower both. */
extern size_t ndr_max_small_bytes, ndr_max_piece_bytes;

/* A fill that ends behind so many patterns, counted from the start of the buffer, goes another way. Tests lower it. */
extern size_t ndr_max_fill_patterns;

/* A transfer of checked bytes from or to `host`; a copy. */
ndr_transfer ndr_buffer_transferring(ndr_work work, const ndr_bytes *bytes, void *host);
ndr_transfer ndr_buffer_copying(const ndr_bytes *from, const ndr_bytes *to);

/* Whether both contain the same byte of memory, of one buffer or of two views. */
bool ndr_bytes_overlap(ndr_bytes a, ndr_bytes b);

#endif
