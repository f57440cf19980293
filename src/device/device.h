/* device.h - first floor: OpenCL's objects, wrapped one to one, and what a device can do. */
#ifndef NDR_DEVICE_H
#define NDR_DEVICE_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue: the only one that 1.2 devices have */
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdatomic.h>

#include "base/base.h"

/* OpenCL's first dimension is the contiguous one, ours is the last. The one place on the host that turns them round,
 * either way. */
static inline void ndr_reverse_dims(unsigned dims, const size_t *from, size_t *to)
{
    for (unsigned d = 0; d < dims; ++d) to[d] = from[dims - 1 - d];
}

/* ---- opencl.c ---- */

/* The functions of OpenCL that libndr calls: REQUIRED ones are OpenCL 1.2's, OPTIONAL ones are newer, and NULL where the
 * loader lacks them. */
#define NDR_CL_FUNCTIONS(REQUIRED, OPTIONAL) \
    REQUIRED(clGetPlatformIDs)               \
    REQUIRED(clGetPlatformInfo)              \
    REQUIRED(clGetDeviceIDs)                 \
    REQUIRED(clGetDeviceInfo)                \
    REQUIRED(clCreateContext)                \
    REQUIRED(clRetainContext)                \
    REQUIRED(clReleaseContext)               \
    REQUIRED(clGetContextInfo)               \
    REQUIRED(clCreateCommandQueue)           \
    REQUIRED(clRetainCommandQueue)           \
    REQUIRED(clReleaseCommandQueue)          \
    REQUIRED(clGetCommandQueueInfo)          \
    REQUIRED(clFlush)                        \
    REQUIRED(clFinish)                       \
    REQUIRED(clCreateBuffer)                 \
    REQUIRED(clCreateSubBuffer)              \
    REQUIRED(clRetainMemObject)              \
    REQUIRED(clReleaseMemObject)             \
    REQUIRED(clGetMemObjectInfo)             \
    REQUIRED(clCreateProgramWithSource)      \
    REQUIRED(clReleaseProgram)               \
    REQUIRED(clBuildProgram)                 \
    REQUIRED(clGetProgramInfo)               \
    REQUIRED(clGetProgramBuildInfo)          \
    REQUIRED(clCreateKernel)                 \
    REQUIRED(clRetainKernel)                 \
    REQUIRED(clReleaseKernel)                \
    REQUIRED(clSetKernelArg)                 \
    REQUIRED(clGetKernelInfo)                \
    REQUIRED(clGetKernelArgInfo)             \
    REQUIRED(clGetKernelWorkGroupInfo)       \
    REQUIRED(clRetainEvent)                  \
    REQUIRED(clReleaseEvent)                 \
    REQUIRED(clWaitForEvents)                \
    REQUIRED(clGetEventInfo)                 \
    REQUIRED(clGetEventProfilingInfo)        \
    REQUIRED(clEnqueueNDRangeKernel)         \
    REQUIRED(clEnqueueMarkerWithWaitList)    \
    REQUIRED(clEnqueueReadBuffer)            \
    REQUIRED(clEnqueueWriteBuffer)           \
    REQUIRED(clEnqueueCopyBuffer)            \
    REQUIRED(clEnqueueFillBuffer)            \
    REQUIRED(clEnqueueMapBuffer)             \
    REQUIRED(clEnqueueUnmapMemObject)        \
    OPTIONAL(clGetKernelSubGroupInfo)

/* Typed by their declarations: the headers name the types of functions differently from version to version. */
#define NDR_CL_MEMBER(function) __typeof__(function) *function;
typedef struct ndr_cl_functions {
    NDR_CL_FUNCTIONS(NDR_CL_MEMBER, NDR_CL_MEMBER)
} ndr_cl_functions;

/* All of libndr calls OpenCL through this table: ndr_cl.clFlush(cl). Set once ndr_cl_open() has succeeded, which is
 * before there is any handle. */
extern ndr_cl_functions ndr_cl;

/* Open the ICD loader and fill the table, unless that is done already. NDR_NO_DRIVER: there is none that can be used. */
ndr_status ndr_cl_open(void);

/* ---- cl_error.c ---- */

/* "CL_INVALID_WORK_GROUP_SIZE", or "an unknown code". */
const char *ndr_cl_error_name(cl_int error);

/* Fail with the status that fits `error`, naming it and the call it came from. `call` may go on with the
 * call's arguments; they are not printed. */
ndr_status ndr_fail_cl(cl_int error, const char *call) __attribute__((cold));

/* Call a function of OpenCL, NDR_TRY_CL(clFlush(cl)), and stop here if it failed. */
#define NDR_TRY_CL(call) NDR_TRY_CL_AS(#call, ndr_cl.call)

/* The same for a code already at hand, or a call with another name. */
#define NDR_TRY_CL_AS(call_name, error)                                          \
    do {                                                                         \
        const cl_int try_error_ = (error);                                       \
        if (try_error_ != CL_SUCCESS) return ndr_fail_cl(try_error_, call_name); \
    } while (0)

/* ---- submit.c ---- */

/* Events that a command waits for; all zeros: none. */
typedef struct ndr_wait_list {
    cl_uint count;
    const cl_event *events;
} ndr_wait_list;

/* Give a command to a queue. `waits` NULL: it waits for no event. `done`: where not NULL it gets the command's event, which
 * the caller releases. Sizes and offsets of a kernel are in OpenCL's order. A failure names OpenCL's function; outputs are
 * as they were. */
ndr_status ndr_submit_kernel(cl_command_queue queue, cl_kernel kernel, unsigned dims, const size_t *offset,
                             const size_t *global, const size_t *local, const ndr_wait_list *waits, cl_event *done);
ndr_status ndr_submit_marker(cl_command_queue queue, const ndr_wait_list *waits, cl_event *done);
ndr_status ndr_submit_read(cl_command_queue queue, cl_mem from, bool blocks, size_t offset_bytes, size_t size_bytes,
                           void *host, const ndr_wait_list *waits, cl_event *done);
ndr_status ndr_submit_write(cl_command_queue queue, cl_mem to, bool blocks, size_t offset_bytes, size_t size_bytes,
                            const void *host, const ndr_wait_list *waits, cl_event *done);
ndr_status ndr_submit_copy(cl_command_queue queue, cl_mem from, size_t from_offset_bytes, cl_mem to,
                           size_t to_offset_bytes, size_t size_bytes, const ndr_wait_list *waits, cl_event *done);
ndr_status ndr_submit_fill(cl_command_queue queue, cl_mem to, const void *pattern, size_t pattern_bytes,
                           size_t offset_bytes, size_t size_bytes, const ndr_wait_list *waits, cl_event *done);
ndr_status ndr_submit_map(cl_command_queue queue, cl_mem buffer, cl_map_flags flags, size_t offset_bytes,
                          size_t size_bytes, void **host, const ndr_wait_list *waits, cl_event *done);
ndr_status ndr_submit_unmap(cl_command_queue queue, cl_mem buffer, void *host, const ndr_wait_list *waits, cl_event *done);

/* Unmap what is given up: a failure leaves no sentence. */
void ndr_submit_last_unmap(cl_command_queue queue, cl_mem buffer, void *host);

/* ---- caps.c ---- */

/* What a device can do, asked once. Plain data: floors above decide from it, and tests make some up. */
typedef struct ndr_caps {
    ndr_device_info info;
    unsigned c_version; /* OpenCL C to build with where the user names none: 120 or 300 */
    size_t align_bytes; /* of sub-buffers and of host memory used in place */
    bool orders_device; /* acquire and release between groups: the device states OpenCL 3.0's acq_rel at device scope */
    bool wait_sleeps; /* kernels run on the host's cores, but not on the thread that waits for them: that one sleeps */
    unsigned disabled; /* bits of ndr_disable: what NDR_DISABLE takes away, for kernels to be told */
} ndr_caps;

typedef enum ndr_disable {
    NDR_DISABLE_FP64 = 1u << 0,
    NDR_DISABLE_INT64_ATOMICS = 1u << 1,
    NDR_DISABLE_SUB_GROUPS = 1u << 2,
    NDR_DISABLE_FLOAT_ATOMICS = 1u << 3, /* sums by the device itself; compare-exchange takes their place */
    NDR_DISABLE_MEMORY_ORDER = 1u << 4,  /* what goes past OpenCL 1.2's fences */
    NDR_DISABLE_PTX = 1u << 5,           /* inline, and so warps as sub-groups */
} ndr_disable;

ndr_status ndr_caps_query(cl_platform_id platform, cl_device_id device, ndr_caps *caps);

/* Pure: the bits for "fp64,sub_groups"; NULL or "" is none, an unknown word is refused. */
ndr_status ndr_caps_parse_disable(const char *words, unsigned *disabled);

/* ---- catalog.c ---- */

typedef struct ndr_catalog_entry {
    cl_platform_id platform;
    cl_device_id device;
    ndr_caps caps;
} ndr_catalog_entry;

/* The devices of all drivers. Where a driver or a device cannot be asked the others are listed all the same. */
typedef struct ndr_catalog {
    ndr_catalog_entry *entries;
    size_t count;
    ndr_text skipped; /* who is not listed and why, for the sentence where nothing else will do; empty: nobody */
    int32_t cl_error;  /* of the first of them */
} ndr_catalog;

ndr_status ndr_catalog_read(ndr_catalog *catalog);
void ndr_catalog_free(ndr_catalog *catalog);

/* Pure: which of `count` >= 1 devices the words mean; NULL or "" means the default. `source` says whose
 * words they are, for the sentence. */
ndr_status ndr_catalog_choose(const char *words, const char *source, const ndr_device_info *devices, size_t count,
                              size_t *chosen);

/* ---- attachment.c ---- */

typedef struct ndr_attachment ndr_attachment;

/* A kind of attachment; a constant, told from others by its address. */
typedef struct ndr_attachment_kind {
    const char *name;                     /* for the sentence where there is no memory: "a kernel store" */
    size_t size_bytes;                    /* of the struct, whose first member is an ndr_attachment */
    void (*open)(ndr_attachment *made);   /* completes zeroed memory; NULL: zeros are complete */
    void (*close)(ndr_attachment *gone);  /* releases what it holds; NULL: it holds nothing */
} ndr_attachment_kind;

/* What a floor above keeps with a context or a queue: the first member of a struct of its own. */
struct ndr_attachment {
    ndr_attachment *next;
    const ndr_attachment_kind *kind;
};

/* Those of one object, at most one of each kind. Zero: none. */
typedef _Atomic(ndr_attachment *) ndr_attachments;

/* The attachment of that kind, made where there is none. Any number of threads may ask at the same time: each gets the
 * same one. One that was made in vain is closed again at once, so open() must do nothing that others would notice. */
ndr_status ndr_attachment_get(ndr_attachments *list, const ndr_attachment_kind *kind, ndr_attachment **attachment);

/* Close and free all, the newest first; nobody uses them any more. */
void ndr_attachments_free(ndr_attachments *list);

/* ---- wait.c ---- */

/* What a context has learnt about looking at work before sleeping until it is done. */
typedef struct ndr_spin_backoff {
    atomic_uint skips; /* waits to be left out after the next one that looks in vain */
    atomic_uint left;  /* of those */
} ndr_spin_backoff;

/* Where a waiting thread would sleep: look for a while whether `event` is there already. Returns once it is, or else
 * soon; whoever called asks the driver then, who also knows how the work ended. */
void ndr_spin_on_event(ndr_context *context, cl_event event);

/* Whether the next launch should leave its event with ndr_queue_set_last_event(). */
bool ndr_queue_wants_last_event(ndr_queue *queue);

/* Share `event` for ndr_queue_spin(), if the driver counts it. NULL: forget the one from before. */
void ndr_queue_set_last_event(ndr_queue *queue, cl_event event);

/* ndr_spin_on_event() for all that was launched, before the queue is finished. */
void ndr_queue_spin(ndr_queue *queue);

/* ---- context.c ---- */

typedef struct ndr_checker ndr_checker;

struct ndr_context {
    uint64_t seal;          /* as every handle's first member: handle.c's */
    atomic_uint references; /* one for the caller, one for each queue, buffer and event */
    cl_device_id device;
    cl_context cl;
    ndr_caps caps;
    ndr_spin_backoff spin_backoff;
    ndr_checker *checker; /* NULL: unchecked */
    ndr_attachments attachments; /* freed before `cl` */
};

/* Take or return one reference; ndr_context_destroy() returns the caller's. */
ndr_context *ndr_context_keep(ndr_context *context);
void ndr_context_release(ndr_context *context);

/* Open a listed device; `cl` is an OpenCL context to share, or NULL to make one. */
ndr_status ndr_context_open(const ndr_catalog_entry *entry, cl_context cl, ndr_check_mode check, ndr_context **context);

/* ---- queue.c ---- */

struct ndr_queue {
    uint64_t seal;
    ndr_context *context;
    cl_command_queue cl;
    bool profiling;
    bool is_out_of_order;           /* work waits for what its wait list names, and for nothing else */
    _Atomic(cl_event) last;         /* launch, while they are few since the queue was finished; NULL: none */
    atomic_uint launches;           /* since then; stops where they are no longer few */
    ndr_attachments attachments;    /* freed before `cl` */
};

/* Put a queue round `cl`, whose reference it takes over if it succeeds. */
ndr_status ndr_queue_wrap(ndr_context *context, cl_command_queue cl, bool profiling, ndr_queue **queue);

/* A queue that does not keep the order of its work; NDR_UNSUPPORTED where the device has none. The public API has no such
 * queue yet: operations are tested on it. */
ndr_status ndr_queue_create_out_of_order(ndr_context *context, ndr_queue **queue);

/* ---- event.c ---- */

struct ndr_event {
    uint64_t seal;
    ndr_context *context;
    cl_event first, last; /* `last` NULL: the work is one piece; each counted where set */
    bool profiling;
};

/* An event still to be filled in, made before the work is enqueued so that nothing can fail after it.
 * `wanted` NULL: no event is made, and `*made` is NULL. */
ndr_status ndr_event_prepare(ndr_queue *queue, ndr_event **wanted, ndr_event **made);

/* The work is enqueued: hand the event out, if one was made. Takes over `first` and `last`. */
void ndr_event_return(ndr_event *made, cl_event first, cl_event last, ndr_event **wanted);

/* The end of submitting one command: where `status` is NDR_OK the event is handed out, otherwise destroyed. Passes
 * `status` on. */
ndr_status ndr_event_return_or_destroy(ndr_status status, ndr_event *made, cl_event done, ndr_event **wanted);

/* The one that completes last. */
cl_event ndr_event_end(const ndr_event *event);

/* Wait, for work on memory that is the caller's again afterwards, however that ends: where the wait itself fails, the
 * queue is finished; where that fails, too, the sentence says so. */
ndr_status ndr_event_wait_and_destroy(ndr_event *event, ndr_queue *queue);

/* The same for a call that should have waited and failed with `status`, which it passes on. */
ndr_status ndr_queue_end(ndr_queue *queue, ndr_status status);

/* Two pieces of work, the second of which follows the first, as one: from the start of `first` to the end of `last`. Takes
 * over both; one of them may be NULL. */
ndr_event *ndr_event_join(ndr_event *first, ndr_event *last);

/* ---- buffer.c ---- */

typedef struct ndr_mapping {
    struct ndr_mapping *next;
    void *host;
    ndr_map_access access;
    cl_command_queue queue; /* counted: a buffer that goes while it is mapped is unmapped there */
} ndr_mapping;

typedef struct ndr_zones ndr_zones;

struct ndr_buffer {
    uint64_t seal;
    ndr_context *context;
    cl_mem cl;
    size_t size_bytes;
    uint64_t identity;    /* which no other buffer of the process has had, unlike `cl`; from 1 */
    ndr_mutex lock; /* guards `mappings`, and held while the driver maps and unmaps */
    ndr_mapping *mappings;
    atomic_uint mapped, mapped_for_writing; /* how many of `mappings`; read without the lock */
    ndr_zones *zones;                       /* guard zones; NULL: none */
};

/* Put a buffer round `cl`, whose reference it takes over if it succeeds. */
ndr_status ndr_buffer_wrap(ndr_context *context, cl_mem cl, size_t size_bytes, ndr_buffer **buffer);

/* False while the host has the buffer mapped in a way that the device must not meet. */
bool ndr_buffer_is_free(const ndr_buffer *buffer, bool device_writes);

/* ---- check.c ---- */

/* Pure: what NDR_CHECK says; NULL or "" is off, an unknown word is refused. */
ndr_status ndr_check_parse(const char *words, bool *is_on);

ndr_status ndr_checker_create(ndr_checker **checker);
void ndr_checker_destroy(ndr_checker *checker); /* NULL is fine */

/* Whether a buffer of that size gets guard zones in this context. */
bool ndr_zones_fit(const ndr_context *context, size_t size_bytes);

/* Make such a buffer, a copy of `host`, or new where `host` is NULL; and let go of what it has beside its `cl`. */
ndr_status ndr_zones_make_buffer(ndr_context *context, size_t size_bytes, const void *host, ndr_buffer **buffer);
void ndr_zones_release(ndr_buffer *buffer);

/* Why a buffer of a checked context is not checked. */
typedef enum ndr_unchecked {
    NDR_UNCHECKED_OVER,
    NDR_UNCHECKED_FOREIGN,
    NDR_UNCHECKED_EXPOSED, /* from now on: work that libndr does not know of may change its zones */
    NDR_UNCHECKED_TOO_LARGE,
    NDR_UNCHECKED_COUNT,
} ndr_unchecked;

/* Put a buffer on the list of what is unchecked; nothing in an unchecked context. */
void ndr_check_exclude(const ndr_buffer *buffer, ndr_unchecked reason);

/* Between these two there is no other checked launch in the context. */
void ndr_check_begin(ndr_context *context);
void ndr_check_end(ndr_context *context);

/* In between, after a launch: wait for it and look at all zones. `*launch` is its number, from 1; `*hurt` one of the
 * buffers whose zones were changed, or NULL. The zones are whole again. */
ndr_status ndr_check_inspect(ndr_queue *queue, uint64_t *launch, const ndr_buffer **damaged);

/* What that found about a buffer; the number counts the context's buffers as they were made, from 1. */
bool ndr_zones_are_damaged(const ndr_buffer *buffer);
uint64_t ndr_zones_number(const ndr_buffer *buffer);

/* "wrote past the end of its buffer (4000 bytes, 1000 elements): the first changed byte is byte 4000 (of element 1000),
 * ...", with `whose` "its buffer"; `element_bytes` 0: elements are not known. */
typedef struct ndr_damage_text {
    char chars[384];
} ndr_damage_text;
ndr_damage_text ndr_zones_print(const ndr_buffer *buffer, const char *whose, size_t element_bytes);

/* After the host has unmapped a buffer: has it kept inside? */
ndr_status ndr_check_unmapped(ndr_queue *queue, const ndr_buffer *buffer);

#endif
