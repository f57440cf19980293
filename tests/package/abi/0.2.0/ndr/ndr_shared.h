/** @file ndr_shared.h
 * Shared allocations: memory whose addresses are the same on the host and on the device, so that data in it may contain
 * pointers: lists, trees, graphs.
 *
 * The rules of ndr.h hold. Not every device has such memory, and libndr does not imitate it: ndr_shared_get_info() says
 * which kinds there are. docs/memory.md compares them with buffers. In a launch,
 *
 *     ndr_launch(queue, kernel, range, nodes, ndr_shared_at(nodes, head), n, ndr_reaches(texts));
 *
 * `nodes`, an ndr_shared *, is the address of its first byte; ndr_shared_at() is an address inside it. The parameters
 * are global or constant pointers. ndr_reaches(allocation) comes after the last argument and is not one itself: it
 * declares that the kernel reads or writes the allocation through pointers that lie in memory or in a struct. An
 * allocation that is an argument needs no declaration. Accesses to any other one without a declaration are undefined.
 * Such a launch costs more; where it is repeated, prepare it with ndr_prepare().
 *
 * The struct of a list or a tree is declared twice, with `struct node *next` on the host and `global struct node *next`
 * in the kernel. Compilers refuse pointers in a struct that is passed by value: give it a ulong (uint64_t on the host),
 * which the kernel casts to a pointer. */
#ifndef NDR_NDR_SHARED_H
#define NDR_NDR_SHARED_H

#include "ndr/ndr.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A kind of shared memory. */
typedef enum ndr_shared_kind {
    NDR_SHARED_ANY = 0,     /**< The first of FINE, MIGRATED and COARSE that the device has. A program that maps before
                                 the host's accesses works with each. */
    NDR_SHARED_COARSE = 1,  /**< OpenCL 2.0's coarse-grained memory: the host may access it only while it is mapped. */
    NDR_SHARED_FINE = 2,    /**< OpenCL 2.0's fine-grained memory: the host may access it at any time. */
    NDR_SHARED_HOST = 3,    /**< cl_intel_unified_shared_memory: in the host's memory. */
    NDR_SHARED_DEVICE = 4,  /**< The same extension: in the device's memory, which the host cannot access. */
    NDR_SHARED_MIGRATED = 5 /**< The same extension: moves to where it is used. */
} ndr_shared_kind;

/** What a device can do with a kind of shared memory. */
typedef struct ndr_shared_info {
    ndr_shared_kind kind;   /**< The kind that was asked for; for ANY the one that it stands for, or ANY if the device
                                 has none. */
    bool is_available;      /**< The device has it; otherwise all below are false. */
    bool is_host_accessible;   /**< The host may read and write it; not DEVICE. */
    bool needs_map;         /**< The host may do so only between ndr_shared_map() and ndr_shared_unmap(). */
    bool is_concurrent;     /**< While a kernel uses some bytes of it, the host may access others. */
    bool has_atomics;       /**< While a kernel uses it, atomics of both work on the same bytes. */
    NDR_MAY_GROW
} ndr_shared_info;

/** Describe a kind of shared memory on the context's device. A kind that the device lacks is not an error. */
NDR_SIZED ndr_status ndr_shared_get_info(const ndr_context *context, ndr_shared_kind kind, ndr_shared_info *info);

/** Make a shared allocation. Its contents are undefined; 0 bytes are allowed. NDR_UNSUPPORTED if the device lacks the
 * kind; NDR_LIMIT_EXCEEDED if it is larger than max_buffer_bytes. */
NDR_MUST_CHECK ndr_status ndr_shared_create(ndr_context *context, ndr_shared_kind kind, size_t size_bytes,
                                            ndr_shared **shared);

/** Destroy a shared allocation. This waits for all work in each queue on which it was used; it keeps these queues until
 * then. If such work waits for an event of ndr_event_create(), complete the event first, or this call waits forever.
 * Prepared launches keep the memory: then destroying the last of them waits. A mapping ends. */
NDR_API void ndr_shared_destroy(ndr_shared *shared);

/** The address of its first byte, for the host and the device; NULL for NULL. It has the largest alignment of OpenCL's
 * types, 128 bytes. Whether the host may use it depends on the kind. */
NDR_API void *ndr_shared_pointer(const ndr_shared *shared);

/** Its size in bytes; 0 for NULL. */
NDR_API size_t ndr_shared_size(const ndr_shared *shared);

/** Copy host memory into a shared allocation. With `event` NULL, returns when the bytes have arrived; otherwise do not
 * change `host` until the event has completed. */
NDR_MUST_CHECK ndr_status ndr_shared_write(ndr_queue *queue, ndr_shared *shared, size_t offset_bytes,
                                           size_t size_bytes, const void *host, ndr_event **event);

/** Copy a shared allocation into host memory. With `event` NULL, returns when the bytes have arrived; otherwise `host`
 * holds them once the event has completed. */
NDR_MUST_CHECK ndr_status ndr_shared_read(ndr_queue *queue, ndr_shared *shared, size_t offset_bytes, size_t size_bytes,
                                          void *host, ndr_event **event);

/** Copy between shared allocations of one context; within one the two spans must not overlap. */
NDR_MUST_CHECK ndr_status ndr_shared_copy(ndr_queue *queue, ndr_shared *from, size_t from_offset_bytes, ndr_shared *to,
                                          size_t to_offset_bytes, size_t size_bytes, ndr_event **event);

/** Move a span to the device before a kernel uses it. Only a hint: a device that has no such call does nothing. */
NDR_MUST_CHECK ndr_status ndr_shared_prefetch(ndr_queue *queue, ndr_shared *shared, size_t offset_bytes,
                                              size_t size_bytes, ndr_event **event);

/** Let the host access a span, after all work before it; returns when it may. `host` (may be NULL) gets
 * the address of the span's first byte. Memory of the kind COARSE must be mapped before each use by the host, the first
 * one included: otherwise the host reads old bytes, or crashes. Mapping copies nothing if the device shares the host's
 * memory. For the other kinds it only waits. Until ndr_shared_unmap() a command that would use any byte of the
 * allocation is refused, unless both only read. There is one mapping at a time. A span of 0 bytes is refused, and so is
 * memory of the kind DEVICE. */
NDR_MUST_CHECK ndr_status ndr_shared_map(ndr_queue *queue, ndr_shared *shared, ndr_map_access access,
                                         size_t offset_bytes, size_t size_bytes, void **host);

/** Unmap the span at `host`. Does not wait; later work in the queue sees what the host wrote. */
NDR_MUST_CHECK ndr_status ndr_shared_unmap(ndr_queue *queue, ndr_shared *shared, void *host, ndr_event **event);

/* As in ndr_sized.h. */
NDR_MUST_CHECK ndr_status ndr_shared_get_info_sized(const ndr_context *context, ndr_shared_kind kind,
                                                    ndr_shared_info *info, size_t info_bytes);

#ifndef NDR_BUILDING

static inline ndr_status ndr_shared_get_info(const ndr_context *context_, ndr_shared_kind kind_, ndr_shared_info *info_)
{
    return ndr_shared_get_info_sized(context_, kind_, info_, sizeof *info_);
}

#endif

#ifdef __cplusplus
}
#endif

/* The commands, which take a queue or ndr_after(). */
#ifndef NDR_BUILDING
#define ndr_shared_map(queue, ...) ndr_shared_map(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_shared_unmap(queue, ...) ndr_shared_unmap(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_shared_prefetch(queue, ...) ndr_shared_prefetch(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_shared_write(queue, ...) ndr_shared_write(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_shared_read(queue, ...) ndr_shared_read(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_shared_copy(queue, ...) ndr_shared_copy(NDR_QUEUE_(queue), __VA_ARGS__)
#endif

#endif
