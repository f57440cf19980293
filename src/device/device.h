/* device.h - the second floor: OpenCL's objects, wrapped one to one, and device properties. */
#ifndef NDR_DEVICE_H
#define NDR_DEVICE_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue, clCreateSampler: all that 1.2 devices have */
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdatomic.h>

#include "base/base.h"
#include "ndr/ndr_shared.h"

/* OpenCL's first dimension is the contiguous one, libndr's is the last. Reverses the order in either direction; the
 * only function on the host that does. */
static inline void ndr_reverse_dims(unsigned dims, const size_t *from, size_t *to)
{
    for (unsigned d = 0; d < dims; ++d) to[d] = from[dims - 1 - d];
}

/* ---- opencl.c ---- */

/* The functions of OpenCL that libndr calls. REQUIRED ones are in OpenCL 1.2. OPTIONAL ones are newer and NULL if
 * the loader lacks them. */
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
    REQUIRED(clGetImageInfo)                 \
    REQUIRED(clCreateProgramWithSource)      \
    REQUIRED(clCreateProgramWithBinary)      \
    REQUIRED(clReleaseProgram)               \
    REQUIRED(clBuildProgram)                 \
    REQUIRED(clCompileProgram)               \
    REQUIRED(clLinkProgram)                  \
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
    REQUIRED(clCreateUserEvent)              \
    REQUIRED(clSetUserEventStatus)           \
    REQUIRED(clEnqueueNDRangeKernel)         \
    REQUIRED(clEnqueueMarkerWithWaitList)    \
    REQUIRED(clEnqueueBarrierWithWaitList)   \
    REQUIRED(clEnqueueReadBuffer)            \
    REQUIRED(clEnqueueWriteBuffer)           \
    REQUIRED(clEnqueueCopyBuffer)            \
    REQUIRED(clEnqueueFillBuffer)            \
    REQUIRED(clEnqueueReadBufferRect)        \
    REQUIRED(clEnqueueWriteBufferRect)       \
    REQUIRED(clEnqueueCopyBufferRect)        \
    REQUIRED(clCreateImage)                  \
    REQUIRED(clGetSupportedImageFormats)     \
    REQUIRED(clEnqueueReadImage)             \
    REQUIRED(clEnqueueWriteImage)            \
    REQUIRED(clEnqueueFillImage)             \
    REQUIRED(clEnqueueCopyImage)             \
    REQUIRED(clCreateSampler)                \
    REQUIRED(clRetainSampler)                \
    REQUIRED(clReleaseSampler)               \
    REQUIRED(clGetSamplerInfo)               \
    REQUIRED(clEnqueueMapBuffer)             \
    REQUIRED(clEnqueueMapImage)              \
    REQUIRED(clEnqueueUnmapMemObject)        \
    OPTIONAL(clGetKernelSubGroupInfo)        \
    OPTIONAL(clGetDeviceAndHostTimer)        \
    OPTIONAL(clCreateProgramWithIL)          \
    OPTIONAL(clCreateBufferWithProperties)   \
    OPTIONAL(clSVMAlloc)                     \
    OPTIONAL(clSVMFree)                      \
    OPTIONAL(clSetKernelArgSVMPointer)       \
    OPTIONAL(clSetKernelExecInfo)            \
    OPTIONAL(clEnqueueSVMMap)                \
    OPTIONAL(clEnqueueSVMUnmap)              \
    OPTIONAL(clEnqueueSVMMemcpy)             \
    OPTIONAL(clEnqueueSVMMigrateMem)         \
    OPTIONAL(clGetExtensionFunctionAddressForPlatform)

/* Typed by their declarations, because the names of function types differ between versions of the headers. */
#define NDR_CL_MEMBER(function) __typeof__(function) *function;
typedef struct ndr_cl_functions {
    NDR_CL_FUNCTIONS(NDR_CL_MEMBER, NDR_CL_MEMBER)
} ndr_cl_functions;

/* All calls of OpenCL go through this table: ndr_cl.clFlush(cl). It is set once ndr_cl_open() has succeeded, before
 * there is any handle. */
extern ndr_cl_functions ndr_cl;

/* Open the ICD loader and fill the table, unless that is done already. NDR_NO_DRIVER: no usable loader. */
ndr_status ndr_cl_open(void);

/* ---- cl_error.c ---- */

/* "CL_INVALID_WORK_GROUP_SIZE", or "an unknown code". */
const char *ndr_cl_error_name(cl_int error);

/* Fail with the status for `error`; the sentence names it and the call. `call` may include the call's arguments;
 * they are not printed. */
ndr_status ndr_fail_cl(cl_int error, const char *call) __attribute__((cold));

/* Call a function of OpenCL, NDR_TRY_CL(clFlush(cl)), and return if it failed. */
#define NDR_TRY_CL(call) NDR_TRY_CL_AS(#call, ndr_cl.call)

/* The same for an error code that is already known. */
#define NDR_TRY_CL_AS(call_name, error)                                          \
    do {                                                                         \
        const cl_int try_error_ = (error);                                       \
        if (try_error_ != CL_SUCCESS) return ndr_fail_cl(try_error_, call_name); \
    } while (0)

/* In a function that returns a status: set `*text` to the result of a clGet...Info function; free() it. The length
 * is queried first, because memory that is too short gets no text at all. */
#define NDR_READ_TEXT(text, get, ...)                                                             \
    do {                                                                                          \
        size_t bytes_ = 0;                                                                        \
        NDR_TRY_CL_AS(#get, ndr_cl.get(__VA_ARGS__, 0, NULL, &bytes_));                           \
        char *read_ = calloc(bytes_ + 1, 1);                                                      \
        if (!read_) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for what " #get " tells"); \
        const cl_int error_ = ndr_cl.get(__VA_ARGS__, bytes_, read_, NULL);                       \
        if (error_ == CL_SUCCESS) *(text) = read_;                                                \
        else free(read_);                                                                         \
        NDR_TRY_CL_AS(#get, error_);                                                              \
    } while (0)

/* ---- submit.c ---- */

/* Events that a command waits for; a count of 0: none. */
typedef struct ndr_wait_list {
    cl_uint count;
    const cl_event *events;
} ndr_wait_list;

/* Where the next command goes and what it waits for. Each command that is enqueued moves it on to the next one. */
typedef struct ndr_submission {
    cl_command_queue queue;
    ndr_wait_list waits;
    cl_event *done; /* gets the command's event, which the caller releases; NULL: no command needs one */
    bool is_chain;  /* each command waits for the event of the one before it */
} ndr_submission;

/* Enqueue a command by the form of OpenCL's function that does not block. Sizes and offsets of a kernel are in OpenCL's
 * order; its name is for traces. The host's memory must stay until the command has ended. A failure names OpenCL's
 * function and leaves the outputs and `s` unchanged. */
ndr_status ndr_submit_kernel(ndr_submission *s, cl_kernel kernel, const char *name, unsigned dims, const size_t *offset,
                             const size_t *global, const size_t *local);
ndr_status ndr_submit_marker(ndr_submission *s);
ndr_status ndr_submit_barrier(ndr_submission *s);
ndr_status ndr_submit_read(ndr_submission *s, cl_mem from, size_t offset_bytes, size_t size_bytes, void *host);
ndr_status ndr_submit_write(ndr_submission *s, cl_mem to, size_t offset_bytes, size_t size_bytes, const void *host);
ndr_status ndr_submit_copy(ndr_submission *s, cl_mem from, size_t from_offset_bytes, cl_mem to, size_t to_offset_bytes,
                           size_t size_bytes);
ndr_status ndr_submit_fill(ndr_submission *s, cl_mem to, const void *pattern, size_t pattern_bytes, size_t offset_bytes,
                           size_t size_bytes);
ndr_status ndr_submit_map(ndr_submission *s, cl_mem buffer, cl_map_flags flags, size_t offset_bytes, size_t size_bytes,
                          void **host);
ndr_status ndr_submit_unmap(ndr_submission *s, cl_mem buffer, void *host);

/* A command without work: it fills byte `at` of memory that nobody reads. */
ndr_status ndr_submit_no_op(ndr_submission *s, cl_mem memory, size_t at);

/* One side of a rectangle in OpenCL's order: columns in bytes, rows, planes. The host's memory has no `cl`, and starts
 * at the origin. */
typedef struct ndr_cl_rect_side {
    cl_mem cl;
    size_t origin[3], pitch[2]; /* a plane's pitch of 0 is that of the rectangle */
} ndr_cl_rect_side;

ndr_status ndr_submit_read_rect(ndr_submission *s, const ndr_cl_rect_side *from, const ndr_cl_rect_side *to,
                                const size_t extent[3], void *host);
ndr_status ndr_submit_write_rect(ndr_submission *s, const ndr_cl_rect_side *to, const ndr_cl_rect_side *from,
                                 const size_t extent[3], const void *host);
ndr_status ndr_submit_copy_rect(ndr_submission *s, const ndr_cl_rect_side *from, const ndr_cl_rect_side *to,
                                const size_t extent[3]);

/* A part of an image: origin and extent in elements, in OpenCL's order. */
typedef struct ndr_cl_part {
    cl_mem cl;
    size_t element_bytes; /* for traces */
    size_t origin[3], extent[3];
} ndr_cl_part;

/* Pitches of the host's memory; 0: dense. Copies go to `to_origin` of `to`. */
ndr_status ndr_submit_read_image(ndr_submission *s, const ndr_cl_part *part, size_t row_pitch, size_t slice_pitch,
                                 void *host);
ndr_status ndr_submit_write_image(ndr_submission *s, const ndr_cl_part *part, size_t row_pitch, size_t slice_pitch,
                                  void *host);
ndr_status ndr_submit_fill_image(ndr_submission *s, const ndr_cl_part *part, const void *value);
ndr_status ndr_submit_copy_image(ndr_submission *s, const ndr_cl_part *part, cl_mem to, const size_t to_origin[3]);
ndr_status ndr_submit_map_image(ndr_submission *s, const ndr_cl_part *part, cl_map_flags flags, void **host,
                                size_t *row_pitch, size_t *slice_pitch);

/* Of OpenCL 2.0's shared memory. */
ndr_status ndr_submit_shared_map(ndr_submission *s, void *start, cl_map_flags flags, size_t size_bytes);
ndr_status ndr_submit_shared_unmap(ndr_submission *s, void *start);
ndr_status ndr_submit_shared_migrate(ndr_submission *s, const void *start, size_t size_bytes);

/* Whether the loader has OpenCL 2.0's commands for shared memory, and 2.1's that migrates it. */
bool ndr_submit_knows_shared(void);
bool ndr_submit_knows_migration(void);

/* Copies between addresses of shared memory, of any kind, and the host's. `copy` is the extension's function of the
 * name below; NULL: OpenCL 2.0's. */
typedef cl_int(CL_API_CALL *ndr_shared_copier)(cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint,
                                               const cl_event *, cl_event *);
extern const char ndr_shared_copier_name[];
ndr_status ndr_submit_shared_copy(ndr_submission *s, ndr_shared_copier copy, void *to, const void *from,
                                  size_t size_bytes);

/* For commands whose failure does not replace ndr_last_error(): they return the code of OpenCL's function, whose name
 * `call` gets. */
cl_int ndr_submit_last_marker(cl_command_queue queue, cl_event *done, const char **call);
cl_int ndr_submit_last_unmap(cl_command_queue queue, cl_mem buffer, void *host);

/* ---- command.c ---- */

typedef struct ndr_order ndr_order;
typedef struct ndr_cause ndr_cause;

/* Enqueues what `what` describes by functions of submit.c, at most NDR_MAX_PIECES commands. It must not wait. */
typedef ndr_status ndr_enqueue(ndr_submission *s, const void *what);

/* Work to enqueue. */
typedef struct ndr_command {
    const ndr_order *order; /* of a live queue */
    ndr_enqueue *enqueue;
    const void *what;
    const char *kernel; /* of a launch: its kernel's name, for sentences; NULL: another command */
} ndr_command;

/* Enqueue a command behind what its order names, and create its event if `event` is set. If it fails after some of its
 * pieces were enqueued, those run. */
ndr_status ndr_command_run(const ndr_command *command, ndr_event **event);

/* The same after ndr_order_check(), which may call the driver: for callers with a lock. */
ndr_status ndr_command_run_checked(const ndr_command *command, ndr_event **event);

/* Enqueue it, and wait until it has ended. The host's memory that it uses is the caller's again, unless the sentence says
 * otherwise. */
ndr_status ndr_command_run_and_wait(const ndr_command *command);

/* Enqueue one command behind no event, in a queue that libndr alone uses or when an object ends. */
ndr_status ndr_command_run_alone(const ndr_context *context, cl_command_queue queue, ndr_enqueue *enqueue,
                                 const void *what, cl_event *done);

/* ndr_submit_last_marker() and ndr_submit_last_unmap() of such a queue. */
cl_int ndr_command_last_marker(const ndr_context *context, cl_command_queue queue, cl_event *done, const char **call);
void ndr_command_last_unmap(const ndr_context *context, cl_command_queue queue, cl_mem buffer, void *host);

/* End a user's event. `cause` NULL: its work is done; otherwise why it failed, which the event takes over. */
ndr_status ndr_command_end_event(const char *call, ndr_event *event, const ndr_cause *cause);

/* ---- caps.c ---- */

/* A device's properties, queried once. Plain data: higher floors decide from it, and tests construct their own. */
typedef struct ndr_caps {
    ndr_device_info info;
    unsigned cl_version; /* of OpenCL: 210 for 2.1 */
    unsigned c_version;  /* version of OpenCL C if the user's options name none: 120 or 300 */
    bool orders_device;  /* acquire and release between groups: OpenCL 3.0's acq_rel at device scope, or the PTX that
                         * a device with warps should accept; a kernel that needs it proves it when it builds */
    bool wait_sleeps;    /* a waiting thread sleeps while the driver's threads run kernels on the host's cores */
    bool wait_helps;     /* a waiting thread runs commands, also those of other threads */
    unsigned registers;  /* of 32 bits that a group can have; 0 if the device does not report it */
    unsigned disabled;   /* bits of ndr_disable, from NDR_DISABLE; kernels get them as macros */
} ndr_caps;

typedef enum ndr_disable {
    NDR_DISABLE_FP64 = 1u << 0,
    NDR_DISABLE_INT64_ATOMICS = 1u << 1,
    NDR_DISABLE_SUB_GROUPS = 1u << 2,
    NDR_DISABLE_FLOAT_ATOMICS = 1u << 3, /* native float addition; compare-exchange replaces it */
    NDR_DISABLE_MEMORY_ORDER = 1u << 4,  /* memory order beyond OpenCL 1.2's fences */
    NDR_DISABLE_PTX = 1u << 5,           /* inline PTX, and with it warps as sub-groups */
} ndr_disable;

ndr_status ndr_caps_query(cl_platform_id platform, cl_device_id device, ndr_caps *caps);

/* Pure: the bits for "fp64,sub_groups"; NULL or "" is none. An unknown word is refused. */
ndr_status ndr_caps_parse_disable(const char *words, unsigned *disabled);

/* ---- catalog.c ---- */

typedef struct ndr_catalog_entry {
    cl_platform_id platform;
    cl_device_id device;
    ndr_caps caps;
} ndr_catalog_entry;

/* The devices of all drivers. Drivers and devices that fail a query are skipped. */
typedef struct ndr_catalog {
    ndr_catalog_entry *entries;
    size_t count;
    ndr_text skipped; /* what is skipped and why, for sentences */
    int32_t cl_error; /* of the first skipped one */
} ndr_catalog;

ndr_status ndr_catalog_read(ndr_catalog *catalog);
void ndr_catalog_free(ndr_catalog *catalog);

/* Pure: choose one of `count` >= 1 devices by `words`; NULL or "" means the default. Sentences quote `source` as the
 * origin of the words. */
ndr_status ndr_catalog_choose(const char *words, const char *source, const ndr_device_info *devices, size_t count,
                              size_t *chosen);

/* ---- drivers.c ---- */

/* The sentence says what to install or to mend: a driver, a library that an .icd file names, a folder that drivers
 * cannot write to. `error` is the loader's. */
ndr_status ndr_fail_without_driver(cl_int error);
ndr_status ndr_fail_without_device(unsigned drivers, const ndr_catalog *catalog);

/* Drivers that compile on the host keep files in a folder. Why this process cannot make one there: 0, or an errno; then
 * the folder, and the variable that it comes from. */
int ndr_drivers_check_folder(ndr_text *folder, const char **variable);

/* ---- attachment.c ---- */

typedef struct ndr_attachment ndr_attachment;

/* A kind of attachment; a constant, identified by its address. */
typedef struct ndr_attachment_kind {
    const char *name;                    /* for out-of-memory sentences: "a kernel store" */
    size_t size_bytes;                   /* of the struct, whose first member is an ndr_attachment */
    ndr_lock_kind lock;                  /* of its lock */
    void (*open)(ndr_attachment *made);  /* initialises the other members; NULL: zeros are enough */
    void (*close)(ndr_attachment *gone); /* releases its resources; NULL: it has none */
} ndr_attachment_kind;

/* Data that a higher floor keeps with a context or a queue: the first member of its struct. */
struct ndr_attachment {
    ndr_attachment *next;
    const ndr_attachment_kind *kind;
    ndr_mutex lock; /* for the higher floor */
};

/* The attachments of one object, at most one of each kind. Zero: none. */
typedef _Atomic(ndr_attachment *) ndr_attachments;

/* Get the attachment of that kind; create it if there is none. Thread-safe: all threads get the same one. An
 * attachment that lost the race is closed at once, so open() must have no visible side effects. */
ndr_status ndr_attachment_get(ndr_attachments *list, const ndr_attachment_kind *kind, ndr_attachment **attachment);

/* Close and free all, the newest first. They must not be in use. */
void ndr_attachments_free(ndr_attachments *list);

/* ---- wait.c ---- */

/* How many waits skip spinning, as a result of earlier waits. */
typedef struct ndr_spin_backoff {
    atomic_uint skips; /* waits to skip after the next unsuccessful spin */
    atomic_uint left;  /* waits still to skip */
} ndr_spin_backoff;

/* Before a blocking wait: poll `event` as `spin_ns` of its queue says. Returns when it has ended or the time is over;
 * the caller then calls the driver's wait, which also reports how the work ended. */
void ndr_spin_on_event(ndr_context *context, int64_t spin_ns, cl_event event);

/* Whether the caller may wait in the driver; then ndr_wait_leave() follows. Otherwise it must poll. */
bool ndr_wait_enter(const ndr_context *context);
void ndr_wait_leave(const ndr_context *context);

/* Of the process: whether one thread at a time waits in a driver that runs commands meanwhile, and how many wait there.
 * Then one thread at a time enqueues, too, in all drivers, and must not block in that call. */
extern atomic_bool ndr_waits_in_turn;
extern atomic_uint ndr_waiters;

/* Wait in the driver, or poll, until an OpenCL event whose queue is flushed has ended, with success or not. */
cl_int ndr_wait_for_event(const ndr_context *context, cl_event event);

/* clFinish(); where threads take turns, a wait for a marker instead. `call` gets the name of OpenCL's function whose code
 * is returned. */
cl_int ndr_wait_for_queue(const ndr_context *context, cl_command_queue queue, const char **call);

/* The same for a queue that other threads may use: once there are users' events, it waits for a marker. In Mesa 22.3
 * clFinish() holds a lock that another thread may need to end an event. */
cl_int ndr_wait_for_shared_queue(const ndr_context *context, cl_command_queue queue, const char **call);

/* Poll at growing intervals until `is_over` says so, or for `timeout_ns`. Returns whether it did. */
bool ndr_wait_until(bool (*is_over)(void *what), void *what, uint64_t timeout_ns);

/* Whether some waits of this queue spin, so that blocking calls should wait for an event instead. */
bool ndr_queue_spins(const ndr_queue *queue);

/* Whether the next launch should pass its event to ndr_queue_set_last_event(). */
bool ndr_queue_wants_last_event(ndr_queue *queue);

/* Keep a reference to `event` for ndr_queue_spin(). NULL: release the previous one. */
void ndr_queue_set_last_event(ndr_queue *queue, cl_event event);

/* Before the queue is finished: ndr_spin_on_event() for its last launch. Returns that launch's event, if the queue kept
 * it; the caller releases it. */
cl_event ndr_queue_spin(ndr_queue *queue);

/* ---- clock.c ---- */

/* The host's ndr_clock_ns() when a device's clock shows `t` is t + offset_ns, with an error of at most error_ns. */
typedef struct ndr_clock_map {
    bool is_known; /* false: all zeros */
    int64_t offset_ns, error_ns;
} ndr_clock_map;

/* Compare the clocks: by the device's timer, or by a few markers in a queue made for them, which it waits for. */
ndr_clock_map ndr_clock_map_read(ndr_context *context);

/* ---- trace.c ---- */

typedef struct ndr_traced_context ndr_traced_context;

extern atomic_bool ndr_trace_is_on;
static inline bool ndr_is_traced(void)
{
    return __builtin_expect(atomic_load_explicit(&ndr_trace_is_on, memory_order_relaxed), false);
}

/* How many commands of a queue are kept until they have ended; a power of two. Tests lower it. */
extern size_t ndr_trace_max_pending;

/* The time if a trace runs, for ndr_trace_call() and ndr_trace_wait(), which do nothing otherwise. */
static inline int64_t ndr_trace_now(void) { return ndr_is_traced() ? ndr_clock_ns() : 0; }

/* Pure: parse NDR_TRACE; NULL or "" is no trace. `file` points into `words`. */
ndr_status ndr_trace_parse(const char *words, ndr_trace_desc *desc);

/* A new context: if no trace runs, start the one that `words` ask for. If one runs, trace the context: its queues keep
 * times, and removing it waits for its work. Removing the last one ends the trace. */
ndr_status ndr_trace_add_context(ndr_context *context, const char *words);
void ndr_trace_remove_context(ndr_context *context);

/* A queue of a context; they do nothing if that is not traced. */
ndr_status ndr_trace_add_queue(const ndr_context *context, cl_command_queue cl);
void ndr_trace_remove_queue(const ndr_context *context, cl_command_queue cl);

/* A command that was enqueued. */
typedef struct ndr_traced_command {
    const char *category, *name; /* "kernel" and its name, or "transfer" and its kind */
    size_t bytes;
    unsigned dims; /* of a kernel; 0: another command */
    const size_t *global;
    int64_t start_ns; /* of the call */
} ndr_traced_command;

/* Record it if the queue is traced. Takes over a reference to `event`, which may be NULL. */
void ndr_trace_command(cl_command_queue cl, const ndr_traced_command *command, cl_event event);

/* In a traced context, record a call of this thread that ends now, with `key` and `value`; `key` NULL: without. */
void ndr_trace_call(const ndr_context *context, int64_t start_ns, const char *category, const char *name,
                    const char *key, const char *value);

/* The same for a wait. `cl` NULL: not for a whole queue. */
void ndr_trace_wait(ndr_context *context, cl_command_queue cl, int64_t start_ns, const char *name);

/* ---- context.c ---- */

typedef struct ndr_checker ndr_checker;
typedef struct ndr_orphan ndr_orphan;

struct ndr_context {
    uint64_t seal;          /* first member of every handle; used by handle.c */
    atomic_uint references; /* one for the caller, and one for each queue, buffer and event */
    cl_device_id device;
    cl_context cl;
    ndr_caps caps;
    ndr_spin_backoff spin_backoff;
    ndr_checker *checker;       /* NULL: unchecked */
    ndr_traced_context *traced; /* NULL: not traced */
    ndr_mutex order_lock;       /* guards what order.c keeps of events and queues */
    ndr_queue *queues;          /* with order_lock */
    ndr_orphan *orphans;        /* events of destroyed queues, with order_lock */
    ndr_orphan *failed, *last_failed; /* events of failed commands, oldest first, with order_lock */
    unsigned failed_count;            /* of these */
    ndr_mutex fail_lock;        /* of command.c: while a command with a wait list is enqueued, or a user's event fails */
    ndr_disk disk;
    ndr_text cache_key;
    atomic_size_t cache_hits, cache_misses; /* of programs */
    atomic_bool has_user_events;            /* some were made: a command may wait for what another thread does */
    ndr_attachments attachments;            /* freed before `cl` */
};

/* Take or return one reference; ndr_context_destroy() returns the caller's. */
ndr_context *ndr_context_keep(ndr_context *context);
void ndr_context_release(ndr_context *context);

/* Open a listed device. `cl` is an OpenCL context to share, or NULL to create one. */
ndr_status ndr_context_open(const ndr_catalog_entry *entry, cl_context cl, ndr_check_mode check, ndr_context **context);

/* ---- cache.c ---- */

/* For a context whose device is known: open and close the store on disk. */
void ndr_cache_open(ndr_context *context, cl_platform_id platform);
void ndr_cache_close(ndr_context *context);

/* ndr_disk_get() and ndr_disk_put() for an answer that depends on the device, its driver and the machine. */
bool ndr_cache_get(ndr_context *context, const char *question, ndr_text *value);
bool ndr_cache_put(ndr_context *context, const char *question, const void *value, size_t value_bytes);

/* ---- order.c ---- */

/* Where a command goes and what it waits for. */
struct ndr_order {
    ndr_queue *queue;
    ndr_event *const *events; /* `count` of them; NULLs are left out */
    size_t count;
    ndr_event *also; /* one more; NULL: none */
    bool is_nested;  /* ndr_after() of ndr_after(), which is refused */
    bool is_fence;   /* of a mark or barrier: without events it waits for all before it */
    bool is_barrier; /* later commands wait for it */
};

/* What a public function got as its queue: a queue, or what ndr_after() made of one. */
static inline ndr_order ndr_order_of(ndr_queue *passed)
{
    const ndr_after_ *after = (const ndr_after_ *)(const void *)passed;
    if (!passed || after->seal != NDR_AFTER_SEAL_) return (ndr_order){ .queue = passed };
    const ndr_order inner = ndr_order_of(after->queue);
    return (ndr_order){ .queue = inner.queue,
                        .events = after->events,
                        .count = after->count,
                        .is_nested = inner.queue != after->queue };
}

/* Refuse a queue that is NULL or not live. */
ndr_status ndr_order_check_queue(const char *call, const ndr_order *order);

/* Why work failed; a constant. */
struct ndr_cause {
    ndr_status status;
    int32_t code; /* OpenCL's, or 0 */
    char sentence[512];
};

const ndr_cause *ndr_cause_new(ndr_status status, int32_t code, const char *sentence);
void ndr_cause_free(const ndr_cause *cause);

/* Take or return a reference to an event. */
ndr_event *ndr_event_keep(ndr_event *event);
void ndr_event_release(ndr_event *event); /* NULL is fine */

/* Refuse events that are not live or belong to another context. Flushes the queues of those whose work has not ended. */
ndr_status ndr_order_check(const ndr_order *order);

/* Whether a command must wait for events, or its own event must be kept. With the queue's lock held. */
bool ndr_order_waits(const ndr_order *order);

/* Make what the command must wait for the wait list of `made`. Refuses an event whose work has failed. Both with the
 * queue's lock held, of which the second is called once the command is enqueued: it keeps the event until its work has
 * ended. `*gone` gets events for ndr_events_release(), after the lock. */
ndr_status ndr_order_add_waits(const ndr_order *order, ndr_event *made);
void ndr_queue_track(ndr_queue *queue, ndr_event *made, ndr_event **gone);
void ndr_events_release(ndr_event *gone);

/* Of a user's event: refuse the end of one that has ended or that is not a user's. `cause` is there before the driver
 * ends it. The second takes it back if the driver refuses. */
ndr_status ndr_event_begin_end(const char *call, ndr_event *event, const ndr_cause *cause);
void ndr_event_take_back_end(ndr_event *event);

/* Of a user's event that is to fail: work that has not ended, or that the driver has not left, that no user's event holds
 * back, and that commands behind this event also wait for. With a reference; NULL: there is none. */
ndr_event *ndr_event_find_under_way(const ndr_event *failing);

/* Fail with the first cause if the work has failed; NDR_OK also if it has not ended. */
ndr_status ndr_event_check(ndr_event *event);

/* The same for the events that the queue keeps; the first failure is reported once. */
ndr_status ndr_queue_take_failure(ndr_queue *queue);

/* An event that the queue keeps and whose work has not ended, with a reference; NULL: there is none. */
ndr_event *ndr_queue_find_unfinished(ndr_queue *queue);

/* A new queue: its context lists it. */
void ndr_queue_list(ndr_queue *queue);

/* The queue is destroyed: return its references, and list it no longer. */
void ndr_queue_forget_events(ndr_queue *queue);

/* Keep an OpenCL event of a failed command, whose reference this takes over. */
void ndr_failed_keep(ndr_context *context, cl_event event);

/* Release the oldest of those if they are more than this many. Not while the driver fails commands. */
extern unsigned ndr_max_failed_events;
void ndr_failed_trim(ndr_context *context);

/* Whether the driver has released the event of work that has ended. Until then it may access the commands behind. */
bool ndr_event_is_left(const ndr_event *event);

/* Release what is left of destroyed queues; `only_complete`: that whose work ended with success; otherwise also all of
 * ndr_failed_keep(). */
void ndr_orphans_release(ndr_context *context, bool only_complete);

/* ---- queue.c ---- */

enum { NDR_NO_OP_BYTES = 1024 }; /* far more than commands without work run at the same time */

struct ndr_queue {
    uint64_t seal;
    atomic_uint references; /* one for the caller, and one for each event of its commands */
    ndr_context *context;
    ndr_mutex lock; /* of command.c: held while a command is enqueued */
    cl_command_queue cl;
    bool profiling;
    int64_t spin_ns;        /* as in ndr_queue_desc */
    bool is_out_of_order;   /* commands wait only for their wait list */
    cl_mem no_op_memory;    /* out of order: NDR_NO_OP_BYTES, which commands without work fill; NULL otherwise */
    atomic_uint no_ops;     /* commands that have filled one of them */
    _Atomic(cl_event) last; /* event of the last launch, for few launches since the last finish; NULL: none */
    atomic_uint launches;   /* launches since the last finish; stops counting when they are not few */
    /* Guarded by the context's order_lock: */
    ndr_queue *next;                   /* of the context's */
    bool has_barrier;                  /* one is in the list below */
    ndr_event *tracked, *last_tracked; /* events that order.c keeps until their work has ended: a list, its end */
    atomic_uint tracked_count;         /* of the list; grows with `lock` held, too, and is then read without order_lock */
    unsigned sweep_at;                 /* the count at which it is searched for work that has ended */
    ndr_event *failed;                 /* the first of them that failed since the last finish; NULL: none */
    ndr_attachments attachments;       /* freed before `cl` */
};

/* Create a queue for `cl`. If it succeeds, it takes over the reference of `cl`. */
ndr_status ndr_queue_wrap(ndr_context *context, cl_command_queue cl, cl_command_queue_properties properties,
                          ndr_queue **queue);

/* Take or return one reference; ndr_queue_destroy() returns the caller's. */
ndr_queue *ndr_queue_keep(ndr_queue *queue);
void ndr_queue_release(ndr_queue *queue);

/* Enqueue a command that does nothing, in a queue that has memory for it. */
ndr_status ndr_queue_submit_no_op(ndr_submission *s, ndr_queue *queue);

/* ndr_queue_mark() in that order. */
ndr_status ndr_queue_mark_in(const ndr_order *order, ndr_event **event);

/* ---- event.c ---- */

/* Of a launch: one dimension is split into two, three into eight. */
enum { NDR_MAX_PIECES = 8 };

struct ndr_event {
    uint64_t seal;
    atomic_uint references; /* one for the caller, one for each queue that keeps it and each event that waits for it */
    ndr_context *context;
    ndr_queue *queue;                      /* of its command, with a reference; NULL: a user's event */
    cl_event pieces[NDR_MAX_PIECES + 1];   /* in the order of the commands, with a reference to each */
    unsigned piece_count;
    const char *kernel; /* its name, for sentences; NULL: another command */
    bool is_joined;     /* its first piece belongs to work before its own */
    bool is_barrier;    /* later commands wait for it */
    bool waits_for_all; /* out of order: for all events before it in the queue's list */
    bool is_users;      /* made by ndr_event_create() */
    atomic_bool is_left; /* the driver has released it, or was given the time to */
    /* Guarded by the context's order_lock: */
    ndr_event *next;   /* of those that its queue keeps, or that are to be released */
    ndr_event *parent; /* during the search for causes: the one that waits for this one */
    ndr_event **waits; /* what its command waits for; none once its queue no longer keeps it */
    size_t wait_count;
    size_t waits_in_order;  /* so many of the last are commands before it in the queue that it did not name */
    size_t searched;        /* during the search: how many of `waits` were looked at */
    bool is_held_back;      /* during the search for work under way: a user's event that has not ended is before it */
    bool is_behind;         /* and so is the one that is to fail */
    size_t gone_count;      /* for ndr_events_release(): how many of `waits` have references still */
    bool is_ending;         /* a user's event: it ends, or has ended */
    bool is_settled;        /* it is known to have ended */
    bool is_noted;          /* its queue has recorded the failure */
    bool inherits;          /* `cause` is that of an earlier command */
    const ndr_cause *cause; /* why it failed; NULL: it did not, as far as is known */
    /* Used only while its command is enqueued, with the queue's lock held: */
    cl_event *list;
    cl_uint list_count;
};

/* An event without pieces; of a command in that queue, or NULL for a user's event. */
ndr_status ndr_event_new(ndr_context *context, ndr_queue *queue, ndr_event **event);

/* Free an event without references. */
void ndr_event_free(ndr_event *event);

/* Wait until all of them have ended, for at most `timeout_ns`, without asking how. */
ndr_status ndr_events_poll(const char *call, ndr_event *const *events, size_t count, uint64_t timeout_ns);

/* The OpenCL events that begin first and end last. */
cl_event ndr_event_first(const ndr_event *event);
cl_event ndr_event_end(const ndr_event *event);

/* OpenCL's state of an event; `unknown` if the query fails. */
cl_int ndr_cl_event_code(cl_event event, cl_int unknown);

/* When a command began and ended on the device's clock; false if the driver does not know. */
bool ndr_cl_event_times(cl_event event, cl_ulong *started, cl_ulong *ended);

/* Flush the queue of work that has not ended, or it may never start. */
ndr_status ndr_event_flush(const ndr_event *event);

/* OpenCL's state of the work: negative if it failed, CL_COMPLETE if it ended, more if not, or if that is unknown. */
cl_int ndr_event_code(const ndr_event *event);

/* Wait for work on memory that the caller may reuse afterwards. If the wait fails, finish the queue. If that fails,
 * too, the sentence says so. */
ndr_status ndr_event_wait_and_destroy(ndr_event *event, ndr_queue *queue);

/* The same for a blocking call that failed with `status`. Returns `status`. */
ndr_status ndr_queue_end(ndr_queue *queue, ndr_status status);

/* Join two events, the second of which follows the first: from the start of `first` to the end of `last`. Takes over
 * both; one of them may be NULL. */
ndr_event *ndr_event_join(ndr_event *first, ndr_event *last);

/* ---- map.c ---- */

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

/* ---- buffer.c ---- */

/* cl_ext_buffer_device_address, which is newer than many headers. */
enum {
    NDR_MEM_DEVICE_PRIVATE_ADDRESS = 0x5000,
    NDR_MEM_DEVICE_ADDRESS = 0x5001,
    NDR_KERNEL_EXEC_INFO_DEVICE_PTRS = 0x5002
};

/* A queue on which memory was used that OpenCL frees at once; retained. */
typedef struct ndr_user {
    struct ndr_user *next;
    cl_command_queue queue;
} ndr_user;

/* One of OpenCL's sub-buffers, for a view. */
typedef struct ndr_sub_buffer {
    struct ndr_sub_buffer *older;
    cl_mem cl;
    cl_buffer_region region;
    bool is_used; /* by a view */
} ndr_sub_buffer;

/* How many that no view uses a buffer keeps. Tests lower it. */
extern size_t ndr_max_unused_sub_buffers;

typedef struct ndr_zones ndr_zones;

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
    ndr_user *users;             /* that reached it by its address; guarded as `sub_buffers` */
    ndr_zones *zones;            /* guard zones; NULL: none */
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
ndr_status ndr_buffer_map_bytes(const ndr_order *order, ndr_bytes bytes, ndr_map_access access, void **host);

/* False while a mapping of the host conflicts with use by the device: any mapping if the device writes, one for
 * writing if it reads. */
bool ndr_buffer_is_free(const ndr_buffer *buffer, bool device_writes);

/* For sentences that begin with "CALL, NAME: ". Refuse a buffer that is NULL, of another context than the queue, or
 * mapped so that the device must not use it. */
ndr_status ndr_buffer_check_use(const char *call, const char *name, const ndr_queue *queue, const ndr_buffer *buffer,
                                bool device_writes);

/* Refuse what the host access of a buffer or an image excludes; `what` is "buffer". */
ndr_status ndr_check_host_access(const char *call, const char *what, ndr_access access, bool reads, bool writes);

/* The accesses that the flags of a foreign memory object allow. */
ndr_access ndr_kernel_access_of(cl_mem_flags flags);
ndr_access ndr_host_access_of(cl_mem_flags flags);

/* Add to a failure of an allocation how much was requested and how much there is. Returns `status`. */
ndr_status ndr_fail_memory(const ndr_context *context, ndr_status status, size_t size_bytes) __attribute__((cold));

/* Refuse a queue or buffer that is NULL, of two contexts, or bytes that the buffer does not have; and, in the second, a
 * buffer that is mapped so that the device must not use it. */
ndr_status ndr_buffer_check_bytes(const char *call, const ndr_queue *queue, const ndr_buffer *buffer,
                                  size_t offset_bytes, size_t size_bytes);
ndr_status ndr_buffer_check_unmapped(const char *call, const ndr_buffer *buffer, bool device_writes);

/* A fill that ends behind so many patterns, counted from the start of the buffer, goes another way. Tests lower it. */
extern size_t ndr_max_fill_patterns;

/* Enqueue a copy of checked bytes. */
ndr_status ndr_buffer_submit_copy(ndr_submission *s, const ndr_buffer *from, size_t from_offset_bytes,
                                  const ndr_buffer *to, size_t to_offset_bytes, size_t size_bytes);

/* Whether both contain the same byte of memory, of one buffer or of two views. */
bool ndr_bytes_overlap(ndr_bytes a, ndr_bytes b);

/* ---- image.c ---- */

struct ndr_image {
    uint64_t seal;
    atomic_uint references; /* one for the caller, and one for each prepared launch */
    ndr_context *context;
    cl_mem cl;
    cl_image_format format; /* libndr may have no name for a foreign one */
    const char *type_name;  /* of the kernel's parameter: "image2d_t" */
    unsigned dims;
    size_t size[3]; /* in OpenCL's order, padded with 1 */
    size_t element_bytes;
    bool is_row_array;  /* a 1-D array */
    bool is_read_write; /* its format is one for read_write parameters */
    ndr_access kernel_access, host_access;
    ndr_buffer *buffer;    /* whose bytes it is, with a reference; NULL: none */
    ndr_mappings mappings; /* none of an image over a buffer */
};

struct ndr_sampler {
    uint64_t seal;
    atomic_uint references; /* as of an image */
    ndr_context *context;
    cl_sampler cl;
};

/* Take or return a reference. */
void ndr_image_keep(ndr_image *image);
void ndr_image_release(ndr_image *image);
void ndr_sampler_keep(ndr_sampler *sampler);
void ndr_sampler_release(ndr_sampler *sampler);

/* As ndr_buffer_is_free(); an image over a buffer has the mappings of that. */
bool ndr_image_is_free(const ndr_image *image, bool device_writes);

/* ---- shared.c ---- */

/* Add the queue to the list that `lock` guards, unless it is there. */
ndr_status ndr_user_add(ndr_user **users, ndr_mutex *lock, const ndr_queue *queue);

/* Wait for all queues of a list, and free it. */
void ndr_users_finish(ndr_context *context, ndr_user *users);

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
    ndr_mutex list_lock;                           /* guards `users`; launches take it, so no wait holds it */
    ndr_user *users;
    ndr_mutex lock;                         /* held while one is enqueued; guards the next three */
    bool is_mapping;                        /* a thread waits for a mapping */
    void *map_start;                        /* of the complete mapping; NULL: none */
    cl_command_queue map_queue;             /* one of `users` */
    atomic_uint mapped, mapped_for_writing; /* 0 or 1; read without a lock */
    ndr_zones *zones;                       /* NULL: none */
};

void ndr_shared_keep(ndr_shared *shared);
void ndr_shared_release(ndr_shared *shared);

/* As ndr_buffer_is_free(). */
bool ndr_shared_is_free(const ndr_shared *shared, bool device_writes);

/* Call it before a command on this queue that uses the allocation: ndr_shared_destroy() then waits for the queue. */
ndr_status ndr_shared_add_user(ndr_shared *shared, const ndr_queue *queue);

/* Declare allocations, and buffers with addresses, to a kernel that reaches them without an argument. */
ndr_status ndr_shared_declare(cl_kernel kernel, const ndr_arg *reached, size_t count);

/* ---- task.c ---- */

/* The queue of the host task that this thread runs, to compare with; NULL: it runs none. */
extern _Thread_local const ndr_queue *ndr_task_queue;

/* ---- turns.c ---- */

/* Launches of a checked context take turns. It has the turns of unmap calls, too. */
typedef struct ndr_turns {
    ndr_mutex lock; /* held for a moment only; guards the rest */
    ndr_condition passed;
    bool is_taken;
    atomic_uint waiting;         /* threads that wait for a turn; read without the lock */
    _Atomic(uint64_t) launches;  /* so far */
    struct ndr_overlap *overlaps; /* launches that were enqueued, and not waited for during their turn */
} ndr_turns;

void ndr_turns_init(ndr_turns *turns); /* zeroed memory */
void ndr_turns_destroy(ndr_turns *turns);

/* Wait for a turn; pass it on. It is a state, not a lock: its owner may wait in the driver, and destroy, create and
 * map need no turn. A thread that has one takes no other. */
void ndr_turn_take(ndr_turns *turns);
void ndr_turn_pass(ndr_turns *turns);

/* The number of a new launch, from 1. */
uint64_t ndr_turns_count(ndr_turns *turns);

/* How long a launch is waited for before the log has a warning. Tests lower it. */
extern int64_t ndr_long_wait_ns;

/* Without a turn, before a launch in that order: wait for what it waits for, which may be a host task that needs a
 * turn. `kernel`: its name, for the log. */
ndr_status ndr_turns_wait_before(const ndr_order *order, const char *kernel);

/* With a turn, wait until launch `number` has ended, with success or not. If it does not start, because another thread
 * has enqueued such a host task before it, the others get their turns first. */
ndr_status ndr_turn_wait(ndr_turns *turns, const ndr_event *event, uint64_t number, const char *kernel);

/* Whether a command in that order waits for the end of the host task that this thread runs: then it must not wait for
 * the command. */
bool ndr_waits_for_own_task(const ndr_order *order);

/* A launch was enqueued that is not waited for. */
void ndr_turns_add_overlap(ndr_turns *turns, const ndr_event *event, uint64_t number, const char *kernel);

/* With a turn, after the zones are read: a launch other than `number` that may have written to them since they were
 * last read, as the end of a sentence; empty if there is none. Forgets those that had ended before the turn. */
typedef struct ndr_overlap_text {
    char chars[256];
} ndr_overlap_text;
ndr_overlap_text ndr_turns_take_overlap(ndr_turns *turns, uint64_t number);

/* ---- check.c ---- */

/* Pure: parse NDR_CHECK; NULL or "" is off. An unknown word is refused. */
ndr_status ndr_check_parse(const char *words, bool *is_on);

ndr_status ndr_checker_create(ndr_checker **checker);
void ndr_checker_destroy(ndr_checker *checker); /* NULL is fine */

/* The bytes of each guard zone of a buffer of that size in this context; 0: it gets none. */
size_t ndr_zones_size(const ndr_context *context, size_t size_bytes);

/* Create such a buffer, as a copy of `host` or, if that is NULL, as a new one. The second function frees all of it
 * but its `cl`. */
ndr_status ndr_zones_make_buffer(ndr_context *context, const ndr_buffer_desc *desc, ndr_buffer **buffer);

/* The same for a shared allocation, whose `base`, `start` and calls are set. */
ndr_status ndr_zones_add_shared(ndr_shared *shared);
void ndr_zones_release(ndr_context *context, ndr_zones *zones); /* NULL is fine */

/* Whether the driver may still copy zones because waiting for a copy failed. Then shared memory is not freed. */
bool ndr_zones_are_copied(const ndr_context *context);

/* Why a buffer in a checked context is not checked. */
typedef enum ndr_unchecked {
    NDR_UNCHECKED_OVER,
    NDR_UNCHECKED_FOREIGN,
    NDR_UNCHECKED_EXPOSED, /* its cl_mem was exposed: other code may change its zones */
    NDR_UNCHECKED_TOO_LARGE,
    NDR_UNCHECKED_VIEW, /* it ends inside another buffer; the zones of that one are checked */
    NDR_UNCHECKED_COUNT,
} ndr_unchecked;

/* Record that a buffer is unchecked. Does nothing in an unchecked context. */
void ndr_check_exclude(const ndr_buffer *buffer, ndr_unchecked reason);
void ndr_check_count_image(ndr_context *context);

/* What ndr_check_inspect() found for one buffer or shared allocation, with the same turn; NULL: it has no zones. Both
 * are numbered in the order of their creation in the context, from 1. */
bool ndr_zones_are_damaged(const ndr_zones *zones);
uint64_t ndr_zones_number(const ndr_zones *zones);

/* "wrote past the end of its buffer (4000 bytes, 1000 elements): the first changed byte is byte 4000 (of element 1000),
 * ...", with `whose` "its buffer"; `element_bytes` 0: elements are not known. */
typedef struct ndr_damage_text {
    char chars[384];
} ndr_damage_text;
ndr_damage_text ndr_zones_print(const ndr_zones *zones, const char *whose, size_t element_bytes);

/* The turns of a checked context. */
ndr_turns *ndr_check_turns(const ndr_context *context);

/* With a turn, after a launch has ended: inspect all zones, and restore those that were changed. `*damaged` is the
 * number of one of them, or 0, and `what` then its ndr_zones_print(), as that of no argument. */
ndr_status ndr_check_inspect(const ndr_context *context, uint64_t *damaged, ndr_damage_text *what);

/* Check the zones, which may be NULL, after the host has unmapped `what`, "buffer", by `call`. `made`, that command's
 * event or NULL, goes to `*event`, or is destroyed if the check fails. */
ndr_status ndr_check_unmapped(const char *call, const char *what, ndr_queue *queue, ndr_zones *zones, ndr_event *made,
                              ndr_event **event);

#endif
