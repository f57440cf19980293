/** @file ndr.h
 * Launch OpenCL kernels over ND-ranges, and call the bundled ones.
 *
 * Read it top to bottom: version, status, logging, tracing, element types, devices, contexts, queues, events, order,
 * buffers, kernels, ranges, arguments, launches, operations, the store on disk. ndr_ops.h has operations on arrays and
 * with expressions of your own, ndr_group.h several devices, ndr_image.h images and samplers, ndr_shared.h memory that
 * may contain pointers, ndr_cl.h OpenCL's handles, ndr_index.h arithmetic on ranges, ndr_outline.h what the text of a
 * source shows. These rules hold for every function; the comments below do not repeat them:
 *
 * - **Order.** Parameters are the object acted on, then inputs, then outputs. In the macros that take any number of
 *   arguments, ndr_launch_event() and ndr_prepare(), the output comes before the range.
 * - **Errors.** A call that can fail returns ndr_status, 0 on success. On failure outputs are unchanged, nothing was
 *   enqueued or written unless the sentence says so, every object still works, and ndr_last_error() says in one
 *   sentence what went wrong. The compiler warns if a status is ignored; NDR_IGNORE() marks one that is ignored on
 *   purpose.
 * - **NULL.** A required object or output that is NULL is refused with NDR_BAD_ARGUMENT. If NULL is allowed, the
 *   comment says what it means.
 * - **Owning.** You pass what ndr_X_create returns to ndr_X_destroy, in any order. ndr_X_destroy takes NULL, and may be
 *   called while queued work still uses the object. You do not own what a `get` returns.
 * - **Strings** and descriptors are read during the call and never kept. A zero field means its default.
 * - **Units.** Names ending in _bytes count bytes, in _ns nanoseconds; every other size counts elements or work-items.
 * - **Order of dimensions.** The last dimension is the contiguous one, as in SYCL and in a C array: (row, column). Raw
 *   OpenCL counts the other way; docs/ranges.md shows both side by side.
 * - **Threads.** Threads may share every object, and launch the same kernel at the same time. But destroy an object
 *   only when no other thread is in a call with it. docs/threads.md has the table.
 * - **Stable.** Before 1.0 a minor version may change or remove anything here; CHANGELOG.md says what to write instead.
 *   A patch version removes nothing and changes no meaning: programs compiled with an earlier one of the same minor
 *   version run with it. From 1.0 on this holds for minor versions, too. Values of enumerators and ids of log messages
 *   do not change even before 1.0. The wording of sentences, logs and reports may change at any time, and so may names
 *   that end in an underscore.
 * - **Structs.** One that ends in NDR_MAY_GROW may gain members at its end, in any version: the caller passes its size
 *   to libndr. A descriptor without the new members works as before, because zero is their default. All other structs
 *   are passed by value, in arrays or inside others, and are fixed: ndr_range, ndr_nd_range, ndr_id, ndr_arg,
 *   ndr_queue_after, ndr_rect_side, ndr_rect_desc, ndr_span, ndr_matrix, ndr_scaling, ndr_image_format, ndr_image_part,
 *   ndr_mapped_part, ndr_array, ndr_map_array, ndr_map_scalar, ndr_group_array. docs/abi.md has the details, for bindings
 *   of other languages, too.
 *
 * The library never exits, aborts, installs a handler or calls OpenCL when the process ends. It prints only if NDR_LOG,
 * ndr_log_set(), NDR_TRACE or ndr_trace_start() enables it.
 */
#ifndef NDR_NDR_H
#define NDR_NDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(NDR_BUILDING) || !defined(_WIN32)
#define NDR_API __attribute__((visibility("default"))) /**< Marks an exported function. */
#else
#define NDR_API /**< Marks an exported function. */
#endif

/** Marks an exported function whose status must be checked: the compiler warns if it is not. */
#define NDR_MUST_CHECK NDR_API __attribute__((warn_unused_result))

/** Marks an inline function that passes the size of a struct that may grow to the exported function, whose name has the
 * suffix "_sized". ndr_sized.h has its body. */
#ifdef NDR_BUILDING
#define NDR_SIZED __attribute__((warn_unused_result))
#else
#define NDR_SIZED static inline __attribute__((warn_unused_result))
#endif

/** Marks the place where later versions add members to a struct. */
#ifndef NDR_MAY_GROW
#define NDR_MAY_GROW
#endif

/** Say that the status of `call` is ignored on purpose: NDR_IGNORE(ndr_queue_flush(queue)). */
#define NDR_IGNORE(call) ((void)!(call))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version ------------------------------------------------------------------------------------- */

#define NDR_VERSION_MAJOR 0       /**< The major version of this header. */
#define NDR_VERSION_MINOR 2       /**< Its minor version; before 1.0 a new one may break the ABI. */
#define NDR_VERSION_PATCH 0       /**< Its patch version. */
#define NDR_VERSION_STRING "0.2.0" /**< The version of this header. */

/** The version of the library that runs, such as "0.2.0", to compare with #NDR_VERSION_STRING. */
NDR_API const char *ndr_version(void);

/* ---- status -------------------------------------------------------------------------------------- */

/** The result of a call. Grouped by where the fault is: 1xx the caller, 2xx the machine, 3xx the kernel's
 * source, 4xx memory, 5xx time, 9xx the driver. The numbers do not change. */
typedef enum ndr_status {
    NDR_OK = 0,                     /**< Success. */
    NDR_BAD_ARGUMENT = 100,         /**< A host argument is not valid. */
    NDR_BAD_RANGE = 101,            /**< A range, local size or offset is not valid or does not fit. */
    NDR_BAD_KERNEL_ARGUMENT = 102,  /**< A kernel argument is missing, extra, or of another type. */
    NDR_OUT_OF_BOUNDS = 103,        /**< An access past the end of a buffer. */
    NDR_NOT_FOUND = 104,            /**< There is no kernel or file of that name. */
    NDR_LIMIT_EXCEEDED = 105,       /**< More than this device allows; it may fit on another. */
    NDR_NO_DRIVER = 200,            /**< No OpenCL driver, or no ICD loader that can be used. */
    NDR_NO_DEVICE = 201,            /**< There are drivers, but they offer no device. */
    NDR_NO_MATCHING_DEVICE = 202,   /**< There are devices, but none matches the text given. */
    NDR_UNSUPPORTED = 203,          /**< This device, or this version of libndr, lacks what the call needs. */
    NDR_NOT_KEPT = 204,             /**< The program is not in the store on disk: the cache is off or unwritable. */
    NDR_BUILD_FAILED = 300,         /**< Kernel source did not compile; the errors are in ndr_last_error(). */
    NDR_OUT_OF_HOST_MEMORY = 400,   /**< The host could not allocate memory. */
    NDR_OUT_OF_DEVICE_MEMORY = 401, /**< The device could not allocate memory. */
    NDR_TIMEOUT = 500,              /**< The work has not ended within the time limit of a wait; it continues. */
    NDR_DRIVER_ERROR = 900          /**< OpenCL refused for another reason; see ndr_last_cl_error(). */
} ndr_status;

/** The name of a status, such as "NDR_BAD_ARGUMENT". Never NULL. */
NDR_API const char *ndr_status_name(ndr_status status);

/** The sentence of the latest failed call on this thread, whole, however long. Never NULL; valid until
 * the next failing call on the same thread. A call that succeeds does not change it. */
NDR_API const char *ndr_last_error(void);

/** The OpenCL code of the latest failed call on this thread, such as -54; 0 if libndr refused the call
 * without calling OpenCL. */
NDR_API int32_t ndr_last_cl_error(void);

/** The compiler's whole log, if the latest failed call on this thread failed in a build: ndr_last_error() shows only
 * the first errors. "" if that call built nothing or there is no log. Never NULL; valid as long as the text of
 * ndr_last_error(). */
NDR_API const char *ndr_last_build_log(void);

/** Make `sentence` the one of ndr_last_error() on this thread, as a call of libndr that fails does, and return `status`.
 * For functions that libndr calls, such as those of ndr_host_task() and ndr_group_each(), and for libraries that are
 * built on libndr. NULL counts as "". */
NDR_API ndr_status ndr_error_set(ndr_status status, const char *sentence);

/* ---- logging ------------------------------------------------------------------------------------- */

/** How much libndr logs. Each level includes those before it. */
typedef enum ndr_log_level {
    NDR_LOG_DEFAULT = 0, /**< As the environment variable NDR_LOG: error, warn, info, debug or off; off if unset. */
    NDR_LOG_OFF = 1,     /**< Nothing. */
    NDR_LOG_ERROR = 2,   /**< Calls that fail, with their sentences. */
    NDR_LOG_WARN = 3,    /**< What is left out, such as a device that cannot be queried. */
    NDR_LOG_INFO = 4,    /**< What happens once: the OpenCL library, devices, builds. */
    NDR_LOG_DEBUG = 5    /**< Each launch, each other command, and how each operation is done. */
} ndr_log_level;

/** Receives one message. `id` identifies the message: docs/logging.md lists all ids, and a later version changes or
 * removes none. `text` is for people: its words may change. Both are valid during the call only.
 *
 * Messages come one at a time, from any thread that calls libndr, during its call. libndr may hold locks meanwhile: the
 * callback may call ndr_log_set(), ndr_status_name() and ndr_version(), but no other function of libndr. It must not
 * wait for a thread that calls libndr. Its own calls are not logged. */
typedef void ndr_log_callback(ndr_log_level level, const char *id, const char *text, void *user);

/** Choose what is logged in this process, and where: `callback` (NULL: stderr) receives each message up to `level`,
 * with `user`. Replaces the earlier choice, NDR_LOG included. ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL) returns to
 * NDR_LOG, which the next message reads again. Any thread may call it at any time. After it returns, the earlier
 * callback is not running (unless it made this call) and is not called again: you may free what its `user` points to,
 * and unload its code. Refuses a level that is not valid. */
NDR_MUST_CHECK ndr_status ndr_log_set(ndr_log_level level, ndr_log_callback *callback, void *user);

/* ---- tracing ------------------------------------------------------------------------------------- */

/** Receives the table of a trace, lines of text that are valid during the call only. It is called once, by the thread
 * whose call ends the trace, with no lock held. */
typedef void ndr_trace_callback(const char *text, void *user);

/** The output of a trace: a table, a file, or both; set `file`, `has_table` or both. docs/tracing.md shows them. */
typedef struct ndr_trace_desc {
    /** The path of a timeline for Perfetto and chrome://tracing; NULL: none. "%p" in it becomes the number of the
     * process. A regular file of that name is replaced, or continued if it is the latest trace of this process. */
    const char *file;
    bool has_table;               /**< Count, shortest, median, longest and total time of each kernel and transfer. */
    ndr_trace_callback *callback; /**< Receives the table; NULL: stderr. */
    void *user;                   /**< Passed to `callback`. */
    NDR_MAY_GROW
} ndr_trace_desc;

/** Start a trace, as the environment variable NDR_TRACE does: contexts that are created from now on are traced. The
 * trace ends when the last of them and all its objects are destroyed; that call waits for their work, completes the
 * file and delivers the table. If the process ends first, libndr writes what it has read so far, prints a warning to
 * stderr, and does not call `callback`: docs/tracing.md. Contexts that were created before are not traced. A process
 * has one trace at a time: while one runs, the call is refused. NDR_BAD_ARGUMENT if the file cannot be created. */
NDR_SIZED ndr_status ndr_trace_start(const ndr_trace_desc *desc);

/** Begin a region of the calling thread: what it enqueues until ndr_trace_end() is one row of the table, under `label`
 * (NULL: "region"), and one slice of the timeline. `bytes` are the bytes that this work reads and writes, `flops` its
 * floating-point operations; the table shows both per second of the device's time. 0: not declared. Regions may contain
 * others: work counts in each. Bundled operations are such regions. Does nothing if no trace runs. */
NDR_API void ndr_trace_begin(const char *label, uint64_t bytes, uint64_t flops);

/** End the region that the calling thread began last. Does nothing if there is none. */
NDR_API void ndr_trace_end(void);

/* ---- element types ------------------------------------------------------------------------------- */

/** The type of one element. 0 is not a type, so that a forgotten field is refused. */
typedef enum ndr_dtype {
    NDR_DTYPE_NONE = 0, /**< Not set. */
    NDR_DTYPE_I8 = 1,   /**< int8_t, `char` on the device. */
    NDR_DTYPE_U8 = 2,   /**< uint8_t, `uchar`. */
    NDR_DTYPE_I16 = 3,  /**< int16_t, `short`. */
    NDR_DTYPE_U16 = 4,  /**< uint16_t, `ushort`. */
    NDR_DTYPE_I32 = 5,  /**< int32_t, `int`. */
    NDR_DTYPE_U32 = 6,  /**< uint32_t, `uint`. */
    NDR_DTYPE_I64 = 7,  /**< int64_t, `long`. */
    NDR_DTYPE_U64 = 8,  /**< uint64_t, `ulong`. */
    NDR_DTYPE_F32 = 9,  /**< float. */
    NDR_DTYPE_F64 = 10, /**< double. */
    NDR_DTYPE_F16 = 11, /**< `half`; a uint16_t holds its bits on the host: ndr_f16_from_float(). Operations that take
                             it, or BF16, load it as a float, compute with that, and round to store it. */
    NDR_DTYPE_BF16 = 12 /**< bfloat16, the upper half of a float; a uint16_t holds its bits on the host,
                             ndr_bf16_from_float(), and a `ushort` in kernels. */
} ndr_dtype;

/** "f32" and so on; "?" for a value that is not a dtype. Never NULL. */
NDR_API const char *ndr_dtype_name(ndr_dtype dtype);

/** Bytes of one element; 0 for a value that is not a dtype. */
NDR_API size_t ndr_dtype_size(ndr_dtype dtype);

/** The bits of the f16 nearest to `value`; of two equally near ones the even one. From 65520 on that is infinity, and
 * below the normal numbers of f16, 2^-14, a multiple of 2^-24. NaN stays NaN, with its sign and the upper bits of its
 * payload, and becomes quiet. As IEEE 754's conversion in its default rounding. */
NDR_API uint16_t ndr_f16_from_float(float value);

/** The value of an f16. It is exact; NaN becomes quiet. */
NDR_API float ndr_f16_to_float(uint16_t bits);

/** The bits of the bf16 nearest to `value`, as ndr_f16_from_float(). From 2^128 - 2^119, about 3.396e38, on that is
 * infinity. Numbers below 2^-126 stay multiples of 2^-133. */
NDR_API uint16_t ndr_bf16_from_float(float value);

/** The value of a bf16. It is exact; NaN becomes quiet. */
NDR_API float ndr_bf16_to_float(uint16_t bits);

/** Convert `count` floats to elements of F16 or BF16 as the functions above. The memory must not overlap; without
 * elements both may be NULL. NDR_BAD_ARGUMENT for another dtype, and nothing is converted. */
NDR_MUST_CHECK ndr_status ndr_narrow_floats(ndr_dtype dtype, size_t count, const float *floats, uint16_t *bits);

/** Convert `count` elements of F16 or BF16 to floats: the reverse of ndr_narrow_floats(). */
NDR_MUST_CHECK ndr_status ndr_widen_floats(ndr_dtype dtype, size_t count, const uint16_t *bits, float *floats);

/* ---- devices ------------------------------------------------------------------------------------- */

/** The kind of a device. */
typedef enum ndr_device_type {
    NDR_DEVICE_TYPE_OTHER = 0,       /**< None of the types below. */
    NDR_DEVICE_TYPE_CPU = 1,         /**< "cpu" */
    NDR_DEVICE_TYPE_GPU = 2,         /**< "gpu" */
    NDR_DEVICE_TYPE_ACCELERATOR = 3  /**< "accelerator" */
} ndr_device_type;

/** What a device is and what it can do. */
typedef struct ndr_device_info {
    char name[128];          /**< As the driver spells it; longer names are cut. */
    char vendor[128];        /**< Who made the device. */
    char platform[128];      /**< The driver's own name, such as "Portable Computing Language". */
    char driver[128];        /**< The driver's version. */
    char opencl[128];        /**< The device's OpenCL version, such as "OpenCL 3.0 ...". */
    ndr_device_type type;    /**< CPU, GPU, accelerator or other. */
    unsigned compute_units;  /**< How many groups can run at one time, roughly. */
    unsigned address_bits;   /**< 32 or 64: the width of size_t in kernels. */
    size_t max_group_size;   /**< Most work-items of one group; a kernel may allow fewer. */
    size_t max_local_size[3];       /**< The same for each dimension; [2] is the contiguous one of a 3-D range. */
    size_t local_memory_bytes;      /**< Local memory of one group, in bytes. */
    size_t max_buffer_bytes;        /**< Largest buffer, in bytes. */
    size_t view_align_bytes;        /**< A view starts at a multiple of this: ndr_buffer_create_view(). */
    size_t max_argument_bytes;      /**< Bytes that all arguments of a kernel may have together on any driver: its
                                         values, address_bits / 8 for each pointer, and 152 for an NDR_RANGE or
                                         NDR_ND_RANGE. Many drivers accept more: a launch is refused only if the
                                         driver refuses it. */
    uint64_t global_memory_bytes;   /**< The device's memory, in bytes. */
    uint64_t global_cache_bytes;    /**< The cache of that memory, in bytes; 0 if there is none or the driver does not
                                         report it. */
    bool has_dedicated_local_memory; /**< Local memory is separate hardware, as on GPUs, not cached global memory. */
    bool shares_host_memory;        /**< Mapping a buffer copies nothing. */
    bool has_f64;                   /**< double works in kernels. */
    bool has_f16;                   /**< half works in kernels, by value too: cl_khr_fp16. Pointers to half, with
                                         vload_half() and vstore_half(), need no such device. */
    bool has_int64_atomics;         /**< Atomics on 64-bit integers, and so on double. */
    bool has_spirv;                 /**< Kernels can come from SPIR-V modules: clCreateProgramWithIL. */
    bool has_buffer_addresses;      /**< Buffers can have an address: ndr_buffer_desc.has_address. */
    bool has_sub_groups;            /**< Offers OpenCL's own sub-groups. */
    unsigned sub_group_size_count;  /**< How many sub-group sizes a kernel may ask for; 0: none. */
    size_t sub_group_sizes[16];     /**< Those sizes. */
    unsigned warp_size;             /**< Items that the hardware runs in step; 0 if the driver does not report it. */
    unsigned preferred_f32_width;   /**< The float vector width that the driver prefers. */
    unsigned native_f32_width;      /**< Floats of one work-item in a vector register; 1 if there is no vector
                                         register, or if each of its floats belongs to another work-item. */
    uint8_t uuid[16];               /**< Names this device in every driver and process, as in Vulkan and CUDA:
                                         cl_khr_device_uuid. Zeros if the driver does not report it. */
    char pci_address[24];           /**< "0000:65:00.0", as in /sys/bus/pci/devices: cl_khr_pci_bus_info. Empty if the
                                         driver does not report it, and of CPUs. */
    bool is_remote;                 /**< On another machine, behind PoCL-remote; each command costs a round trip. */
    NDR_MAY_GROW
} ndr_device_info;

/** "cpu", "gpu", "accelerator" or "other". Never NULL. */
NDR_API const char *ndr_device_type_name(ndr_device_type type);

/** List the devices of every driver: `devices` (may be NULL when `capacity` is 0) gets the first `capacity`
 * of them, `count` the number of all. NDR_DEVICE takes the index in this list.
 * NDR_NO_DRIVER or NDR_NO_DEVICE when there is none to list. */
NDR_SIZED ndr_status ndr_device_list(size_t capacity, ndr_device_info *devices, size_t *count);

/* ---- contexts ------------------------------------------------------------------------------------ */

/** One device, and the kernels built for it. */
typedef struct ndr_context ndr_context;

/** Open a device. `device` is a type ("gpu", "cpu", "accelerator"), an index in ndr_device_list(), or
 * part of a device's or platform's name. Case does not matter. A type is never looked up as a name. A type or
 * name may end in ":n", which is the n-th device that matches, from 0: "gpu:1" is the second GPU. NULL
 * means the text of the environment variable NDR_DEVICE. If that is unset or empty, or `device` is "", the
 * default is the first GPU, else the first accelerator, else the first CPU, else the first device.
 * There is no fallback if the device that was asked for is unavailable: the call fails. */
NDR_MUST_CHECK ndr_status ndr_context_create(const char *device, ndr_context **context);

/** Whether the work of a context is checked while it runs, to find mistakes; docs/wrong-results.md shows it in use.
 *
 * On, each launch blocks until it has ended, also one that waits for an event of ndr_event_create(): another thread
 * must end that event, without a launch in the same context before. A launch that wrote past the end or before the
 * start of a buffer returns NDR_OUT_OF_BOUNDS, and the sentence names kernel, argument, launch and first changed byte.
 * That launch has run, and what it wrote inside its buffers is kept. ndr_buffer_create() fills a buffer: each four
 * bytes are 0xfff0bad1, NaN as float and as double, -1000751 as int. Every call refuses a pointer that is not a handle,
 * and a handle that has been destroyed or overwritten. A destroy function ignores such a handle, says so in
 * ndr_last_error(), and the report below counts it.
 *
 * Checking finds only writes that change a byte within a guard zone. There is a zone before and after each buffer, as
 * large as the buffer, but at least 64 KiB and at most 16 MiB. The zones take memory in addition to the buffer's.
 * Images have no zones: accesses outside of them are not found. */
typedef enum ndr_check_mode {
    NDR_CHECK_DEFAULT = 0, /**< As the environment variable NDR_CHECK: 1 is on; 0, empty or unset is off. */
    NDR_CHECK_ON = 1,      /**< Checked. */
    NDR_CHECK_OFF = 2      /**< Not checked: launches do not block. */
} ndr_check_mode;

/** Options of a context. */
typedef struct ndr_context_desc {
    const char *device;   /**< As in ndr_context_create(); NULL: as there. */
    ndr_check_mode check; /**< Default: as NDR_CHECK. */
    size_t part_count;    /**< Divide the device into that many parts, and open one of them. 0, or one equal part: open
                               all of it. Most CPUs can be divided, but no GPU: NDR_UNSUPPORTED. Parts of one division
                               share no compute unit, and their launches run at the same time. */
    size_t part;          /**< Which of them, from 0. */
    const unsigned *part_units; /**< The compute units of each part, part_count numbers of 1 or more. NULL: equal
                                     parts; units that remain are not used. */
    NDR_MAY_GROW
} ndr_context_desc;

/** Open a device or a part of one as ndr_context_create() does, with more options; `desc` NULL means all defaults. */
NDR_SIZED ndr_status ndr_context_create_with(const ndr_context_desc *desc, ndr_context **context);

/** Report on checking, one sentence a line: whether it is on and how many launches it checked; the buffers that it
 * cannot check and why, each reason once (memory of the caller's or of OpenCL's, views, a cl_mem that was handed out,
 * no room for guard zones); how many images were made, none of which it can check; destroy calls without a live handle.
 * Buffers are numbered in the order in which the context made them, the library's own included.
 *
 * `text` (may be NULL when `capacity` is 0) gets at most `capacity` bytes, the terminating 0 included; `length` (may be
 * NULL) gets the length of the whole report, without the 0. */
NDR_MUST_CHECK ndr_status ndr_context_get_check_report(ndr_context *context, size_t capacity, char *text,
                                                       size_t *length);

/** Destroy a context. Its other objects keep what they need of it. While an implementation is tried in a thread
 * (docs/threads.md), this waits for the build or the command that the thread is in. */
NDR_API void ndr_context_destroy(ndr_context *context);

/** Describe the context's device. */
NDR_SIZED ndr_status ndr_context_get_device(const ndr_context *context, ndr_device_info *device);

/** What the store on disk did for a context: docs/cache.md. */
typedef struct ndr_cache_info {
    const char *folder; /**< Where it is, usable or not; valid as long as the context. NULL: the store is off. */
    size_t hits;        /**< Programs that were taken from it. */
    size_t misses;      /**< Programs that were built from their sources; NDR_LOG=info prints why. */
    NDR_MAY_GROW
} ndr_cache_info;

/** Counts of programs since the context was created. A program is one source with its options. */
NDR_SIZED ndr_status ndr_context_get_cache(const ndr_context *context, ndr_cache_info *info);

/** A fault of drivers that libndr knows: a row of the tables in docs/appendix/drivers.md. The texts last as long
 * as the library.
 * Later versions may add rows. */
typedef struct ndr_quirk_info {
    const char *id;      /**< As in NDR_QUIRKS: "finish_locks". */
    const char *seen_on; /**< Drivers and versions: "PoCL 3.1, 7.0". */
    const char *fault;   /**< What is wrong. */
    const char *instead; /**< What libndr does instead, or what you can do. */
    const char *sign;    /**< What switches the row on; "no switch": avoided by how libndr is written; "not avoided". */
    bool is_on;          /**< The context avoids the fault. False for rows without a switch. */
    NDR_MAY_GROW
} ndr_quirk_info;

/** List the faults of drivers that libndr knows, and which of them the context avoids: `quirks` (may be NULL when
 * `capacity` is 0) gets the first `capacity` of them, `count` the number of all. */
NDR_SIZED ndr_status ndr_context_get_quirks(const ndr_context *context, size_t capacity, ndr_quirk_info *quirks,
                                            size_t *count);

/* ---- queues -------------------------------------------------------------------------------------- */

/** A queue of work for the context's device: each piece starts when the one before it has ended, unless the queue was
 * made with `is_out_of_order`. */
typedef struct ndr_queue ndr_queue;

/** Options of a queue. */
typedef struct ndr_queue_desc {
    bool is_profiling; /**< Record times for ndr_event_get_times() and ndr_event_elapsed_ns(). Default: off. */

    /** How long a wait (ndr_queue_finish(), ndr_event_wait(), ndr_buffer_map(), and transfers that return when they
     * have ended) polls before the thread sleeps, in nanoseconds. The thread yields its core between polls.
     *
     * 0, the default: up to 0.2 ms on CPUs whose driver's threads would wake the sleeping one, unless earlier waits
     * took longer than that; not at all on other devices.
     *
     * More than 0: up to this long before each wait, on every device; INT64_MAX: until the work ends.
     * ndr_queue_finish() polls the last launch. It shortens waits for small work and keeps a core busy, which on CPUs
     * may be one that the work needs.
     *
     * Less than 0: never. Waits with a time limit poll in their own way: ndr_queue_finish_within(). */
    int64_t spin_ns;

    /** Work starts as soon as what it waits for has ended: the events of ndr_after(), and the latest
     * ndr_queue_barrier(). Other work starts immediately, even where a comment says "after all work before it".
     * NDR_UNSUPPORTED if the device has no such queues: use several queues and ndr_after(). A driver may still
     * run the queue in order, so earlier work must not wait for later work. Default: off. */
    bool is_out_of_order;
    NDR_MAY_GROW
} ndr_queue_desc;

/** Make a queue; `desc` NULL means all defaults. */
NDR_SIZED ndr_status ndr_queue_create(ndr_context *context, const ndr_queue_desc *desc, ndr_queue **queue);

/** Destroy a queue; the work in it still runs. Wait for the work before the process ends: some drivers crash then. */
NDR_API void ndr_queue_destroy(ndr_queue *queue);

/** Submit everything enqueued to the device now, without waiting. */
NDR_MUST_CHECK ndr_status ndr_queue_flush(ndr_queue *queue);

/** Wait until everything enqueued has ended. The first failure of work since the last call is reported here, once;
 * the event of each piece of work reports its own failure.
 *
 * The event always reports it. This call reports it for a command that waited for events, for one that was enqueued
 * behind such a command before that one had ended, and for the last launch of at most four since the last wait. Of
 * other work it reports what the driver's clFinish() reports. docs/order.md explains failures.
 *
 * The thread may poll before it sleeps, because small work ends sooner than a sleeping thread wakes; see
 * ndr_queue_desc.spin_ns. */
NDR_MUST_CHECK ndr_status ndr_queue_finish(ndr_queue *queue);

/** NDR_TIMEOUT if not everything has ended within `timeout_ns`; otherwise as ndr_queue_finish(). Less than 0.2 ms
 * counts as 0.2 ms, because drivers need some time to see that a queue is empty. After a timeout the work continues,
 * and every object works as before. The thread polls and sleeps in between, for at most a millisecond at a time. A
 * driver that runs the work inside clFlush(), such as Oclgrind, may block for longer. */
NDR_MUST_CHECK ndr_status ndr_queue_finish_within(ndr_queue *queue, uint64_t timeout_ns);

/** Wait until everything enqueued has ended, and return the time then, by the host's monotonic clock. The difference of
 * two calls is how long the work between them took, with its enqueueing; the queue need not be a profiling one:
 *
 *     ndr_queue_finish_timed(queue, &before);
 *     ndr_launch(...);
 *     ndr_reduce(...);
 *     ndr_queue_finish_timed(queue, &after);
 *
 * The difference includes what the host takes to enqueue the first command and to notice the end of the last one: 10 to
 * 13 us on PoCL, 3 us on Intel's CPU runtime. For the time of a command on the device, without that, use a profiling
 * queue and ndr_event_get_times(). */
NDR_MUST_CHECK ndr_status ndr_queue_finish_timed(ndr_queue *queue, uint64_t *time_ns);

/* ---- events -------------------------------------------------------------------------------------- */

/** One piece of enqueued work. A launch that was split counts as one, from its first start to its last
 * end. For an output event, NULL means that you do not want one. */
typedef struct ndr_event ndr_event;

/** The state of a piece of work. */
typedef enum ndr_event_state {
    NDR_EVENT_QUEUED = 0,    /**< In the queue. */
    NDR_EVENT_SUBMITTED = 1, /**< Submitted to the device. */
    NDR_EVENT_RUNNING = 2,   /**< Started. */
    NDR_EVENT_COMPLETE = 3,  /**< Ended successfully. */
    NDR_EVENT_FAILED = 4     /**< Failed; ndr_event_wait() says why. */
} ndr_event_state;

/** Wait until the work has ended; an error if the work failed. If it failed because work that it waited for did, the
 * sentence, the status and ndr_last_cl_error() are those of the first failure. If the wait itself fails and the work
 * may still be running, the sentence says so. */
NDR_MUST_CHECK ndr_status ndr_event_wait(ndr_event *event);

/** The time limit of a wait that has none. */
#define NDR_FOREVER UINT64_MAX

/** NDR_TIMEOUT if the work has not ended within `timeout_ns`; otherwise as ndr_event_wait(). 0: the call checks once,
 * without waiting. Timeouts are as in ndr_queue_finish_within(). */
NDR_MUST_CHECK ndr_status ndr_event_wait_within(ndr_event *event, uint64_t timeout_ns);

/** Wait until all `count` events have ended, of any contexts; NDR_TIMEOUT if not all have within `timeout_ns`. If some
 * failed, the failure of the first in the list is reported. A NULL among them counts as complete. `events` may be NULL
 * when `count` is 0. */
NDR_MUST_CHECK ndr_status ndr_event_wait_all(ndr_event *const *events, size_t count, uint64_t timeout_ns);

/** Wait until one of `count` >= 1 events has ended; `index` gets its place in the list, from 0, even if its work
 * failed; that failure is reported. NDR_TIMEOUT if none has ended within `timeout_ns`. A NULL among them counts as
 * complete. */
NDR_MUST_CHECK ndr_status ndr_event_wait_any(ndr_event *const *events, size_t count, uint64_t timeout_ns,
                                             size_t *index);

/** Get the state, without waiting. A driver may update it some microseconds after the work has ended, and even after
 * ndr_queue_finish() has returned (Mesa 22.3's rusticl does); after ndr_event_wait() it is the final one. */
NDR_MUST_CHECK ndr_status ndr_event_get_state(ndr_event *event, ndr_event_state *state);

/** Wait, then return how long the work ran on the device: ended_ns - started_ns of ndr_event_get_times(), or 0 if
 * the driver reports an end before the start. The queue must have been made with `is_profiling`. */
NDR_MUST_CHECK ndr_status ndr_event_elapsed_ns(ndr_event *event, uint64_t *elapsed_ns);

/** When a piece of work reached each stage, by the clock of its device. The driver chooses the zero of that clock, so
 * compare only times of the same device. */
typedef struct ndr_event_times {
    uint64_t queued_ns;    /**< It was enqueued. */
    uint64_t submitted_ns; /**< The driver submitted it to the device. */
    uint64_t started_ns;   /**< It started on the device. */
    uint64_t ended_ns;     /**< It ended on the device. */
    NDR_MAY_GROW
} ndr_event_times;

/** Wait, then return the work's times. For work in several pieces, such as a split launch or a reduction, the first
 * three are those of the first piece and `ended_ns` is that of the last. NDR_BAD_ARGUMENT if the queue was made
 * without `is_profiling`. Work that failed has no times. The times are the driver's; some drivers report one time for
 * several stages. */
NDR_SIZED ndr_status ndr_event_get_times(ndr_event *event, ndr_event_times *times);

/** Enqueue a marker, and get an event that completes when everything enqueued before it has ended. In an empty queue it
 * completes at once. It does not wait for work enqueued later or for other queues. The event does not show
 * whether the work before it succeeded; the work's own event does. `event` NULL: nothing is enqueued.
 *
 * With ndr_after() it waits for those events, too; in an out-of-order queue for them instead, unless all of them are
 * NULL. It then fails if their work does, and is enqueued also if `event` is NULL. */
NDR_MUST_CHECK ndr_status ndr_queue_mark(ndr_queue *queue, ndr_event **event);

/** Enqueue a barrier: work enqueued later starts when everything enqueued before has ended; with ndr_after() in an
 * out-of-order queue, when those events have ended, unless all of them are NULL. In an in-order queue a barrier only
 * adds the events of ndr_after(). */
NDR_MUST_CHECK ndr_status ndr_queue_barrier(ndr_queue *queue, ndr_event **event);

/** Make an event that ends when the program says so: once, by ndr_event_complete() or ndr_event_fail(). Commands may
 * wait for it as for any other. If it is destroyed earlier, it fails, so that no command waits forever. */
NDR_MUST_CHECK ndr_status ndr_event_create(ndr_context *context, ndr_event **event);

/** End an event of ndr_event_create(): what waits for it may start. A thread that waits for it may destroy it as soon
 * as its wait returns; this holds for ndr_event_fail(), too. */
NDR_MUST_CHECK ndr_status ndr_event_complete(ndr_event *event);

/** End an event of ndr_event_create() as failed. Work that waits for it does not run, and fails with `status`, which
 * must not be NDR_OK, and the sentence `why`, of which 511 bytes are kept. On PoCL, if that work also
 * waits for running work, the event ends when the running work has ended; the call itself does not wait. */
NDR_MUST_CHECK ndr_status ndr_event_fail(ndr_event *event, ndr_status status, const char *why);

/** Receives how the work of an event ended: the status that ndr_event_wait() returns, and its sentence, "" on success,
 * which is valid during the call only. */
typedef void ndr_event_callback(ndr_status status, const char *sentence, void *user);

/** Call a function once the work has ended, with success or not, even if it has already ended. It runs on a thread of
 * its own, which libndr starts here and which ends with the function. It may call all of libndr, also to wait and to
 * enqueue, and may block. The event may be destroyed at once. Before the library is unloaded, and before the process
 * ends, all functions must have returned. */
NDR_MUST_CHECK ndr_status ndr_event_set_callback(ndr_event *event, ndr_event_callback *callback, void *user);

/** The function of ndr_host_task(). If it returns another status than NDR_OK, the work that waits for the task fails
 * with that status, and the sentence contains ndr_last_error() of the function's thread, or the status's name if no
 * call failed there. */
typedef ndr_status ndr_host_function(void *user);

/** Enqueue a function of the host as a command: it runs when everything enqueued before has ended (with ndr_after() as
 * ndr_queue_mark() says), and the work behind it starts when it has returned. In an out-of-order queue the work behind
 * it is that which waits for `event`, which may be NULL. If the work before it failed, the function is not called, and
 * the command fails with the same cause. The function runs on a thread as in ndr_event_set_callback(), and may do the
 * same, but it must not wait for work behind it. The work behind it does not wait for what the function enqueues on
 * other queues. */
NDR_MUST_CHECK ndr_status ndr_host_task(ndr_queue *queue, ndr_host_function *function, void *user, ndr_event **event);

/** Destroy an event; the work continues. */
NDR_API void ndr_event_destroy(ndr_event *event);

/* ---- order --------------------------------------------------------------------------------------- */

/* ndr_after(queue, a, b, ...) is a queue with the events that a command waits for, an ndr_queue_after. It takes the
 * place of the queue in every call that enqueues work: launches, transfers, mappings, operations, host tasks, marks and
 * barriers. In any other call it does not compile.
 *
 *     ndr_launch_event(queue, load, &a, range, x);
 *     ndr_launch_event(ndr_after(other, a), left, &b, range, x, y);
 *     ndr_launch(ndr_after(queue, a, b), join, range, x, y);
 *
 * ndr_after_all(queue, events, count) takes an array. The result is valid until the end of the block that it is written
 * in; in C++ until the end of the expression. The command copies what it needs, so the events may be destroyed when it
 * returns.
 *
 * An event may belong to any queue of the context; the call flushes that queue. An event of another context is refused:
 * a function of ndr_host_task() may wait for it, docs/scale.md.
 * A NULL counts as complete. If the work of one has failed, the call is refused with the first cause, and nothing is
 * enqueued. If it fails later, so does this command, and all that wait for it: each with the first cause. docs/order.md
 * has a graph of work. */

/** The result of ndr_after(); use the macros. Each command is a macro that accepts it or a queue, and passes the
 * address of either to the function of the same name. The function tells them apart by their first 8 bytes. */
typedef struct ndr_queue_after {
    uint64_t seal;            /**< NDR_AFTER_SEAL */
    ndr_queue *queue;         /**< The queue. */
    ndr_event *const *events; /**< What the command waits for. */
    size_t count;             /**< The number of events. */
} ndr_queue_after;

#define NDR_AFTER_SEAL UINT64_C(0x7265746661b2c3d5) /**< Begins an ndr_queue_after, and no queue. */

/* ---- buffers ------------------------------------------------------------------------------------- */

/** Device memory. 0 bytes are allowed: an empty buffer is a valid argument. */
typedef struct ndr_buffer ndr_buffer;

/** Make a buffer; its contents are undefined until written. More than the device's max_buffer_bytes is
 * refused with NDR_LIMIT_EXCEEDED. Drivers may allocate the memory later, so that the buffer's first use
 * can also return NDR_OUT_OF_DEVICE_MEMORY. */
NDR_MUST_CHECK ndr_status ndr_buffer_create(ndr_context *context, size_t size_bytes, ndr_buffer **buffer);

/** Make a buffer that starts as a copy of `size_bytes` bytes at `host`. */
NDR_MUST_CHECK ndr_status ndr_buffer_create_from(ndr_context *context, size_t size_bytes, const void *host,
                                                 ndr_buffer **buffer);

/** Make a buffer over `size_bytes` bytes at `host`, without a copy if the device shares the host's
 * memory. The memory must outlive the buffer and the work that uses it. The host may access it only
 * between ndr_buffer_map() and ndr_buffer_unmap(). Page-aligned memory is best for most drivers. */
NDR_MUST_CHECK ndr_status ndr_buffer_create_over(ndr_context *context, size_t size_bytes, void *host,
                                                 ndr_buffer **buffer);

/** What kernels, or the host, will do with a buffer. */
typedef enum ndr_access {
    NDR_ACCESS_READ_WRITE = 0, /**< Read and write it. */
    NDR_ACCESS_READ = 1,       /**< Only read it. */
    NDR_ACCESS_WRITE = 2,      /**< Only write it. */
    NDR_ACCESS_NONE = 3        /**< No access; for the host only. */
} ndr_access;

/** A buffer with options. */
typedef struct ndr_buffer_desc {
    size_t size_bytes;    /**< May be 0. */
    const void *contents; /**< The initial contents, `size_bytes` bytes that are copied; NULL: undefined. */
    void *over;           /**< Host memory to use, as in ndr_buffer_create_over(); NULL: memory of its own. */
    bool is_pinned;       /**< Allocate host memory that the device can reach, for fast transfers: see below. */
    ndr_access kernels;   /**< What kernels do with it; not NONE. With READ, a launch refuses it for a parameter
                               through which the kernel may write (declare that const); with WRITE, for one that the
                               kernel only reads. */
    ndr_access host;      /**< What ndr_buffer_read(), ndr_buffer_write(), their _rect forms and ndr_buffer_map() may
                               do. Fills and copies are always allowed. */
    bool has_address;     /**< The buffer keeps one address on the device: ndr_buffer_get_address(). For devices with
                               has_buffer_addresses; others refuse it with NDR_UNSUPPORTED. */
    NDR_MAY_GROW
} ndr_buffer_desc;

/** Make a buffer as `desc` says. The driver may use the accesses to place the memory; libndr refuses what contradicts
 * them. A view has the accesses of its buffer.
 *
 * A pinned buffer is for transfers: map it once, and pass the address as `host` to the reads and writes of other
 * buffers. GPUs transfer such memory without a copy in between. docs/memory.md has the speeds. Pinned memory is scarce.
 * `over` must be NULL for it; `contents` and `over` exclude each other. In a checked context (#ndr_check_mode) a buffer
 * with guard zones is not pinned, and the driver is not told the accesses. */
NDR_SIZED ndr_status ndr_buffer_create_with(ndr_context *context, const ndr_buffer_desc *desc, ndr_buffer **buffer);

/** The address that a buffer of ndr_buffer_desc.has_address, or a view of one, has on the device for as long as it
 * exists (cl_ext_buffer_device_address). NDR_BAD_ARGUMENT for any other buffer. The host cannot use the address, and a
 * kernel's parameter of pointer type takes the buffer itself; but a struct or memory may contain it as a ulong, which
 * the kernel casts to a global pointer, with an offset in bytes added if need be:
 *
 *     const struct part part = { address + 4 * first, n };
 *     ndr_launch(queue, kernel, range, ndr_struct(struct part, part), ndr_reaches_buffer(buffer));
 *
 * ndr_reaches_buffer(buffer) comes after the last argument and is not one itself: it declares that the kernel reads or
 * writes the buffer by its address. A buffer that is an argument needs no declaration. Accesses to any other one
 * without a declaration are undefined. Such a launch costs more; where it is repeated, prepare it with ndr_prepare().
 * Destroying a buffer that was declared, and all its views, waits for the work of each queue on which it was declared,
 * as ndr_shared_destroy() does. */
NDR_MUST_CHECK ndr_status ndr_buffer_get_address(const ndr_buffer *buffer, uint64_t *address);

/** Make a view: a buffer that is `size_bytes` bytes of another one, from byte `offset_bytes` on, and has no memory of
 * its own. It is used like every buffer, and both show what is written through either. Views may overlap: a launch may
 * take several of them, but must not write a byte through one that it accesses through another. A view of a view is a
 * view of the same memory. The viewed buffer stays until its last view is destroyed, and so must the host memory under
 * ndr_buffer_create_over().
 *
 * `offset_bytes` must be a multiple of ndr_device_info.view_align_bytes, or the call is refused with NDR_BAD_ARGUMENT.
 * A view of 0 bytes may start anywhere. While the host has bytes mapped, only buffers and views that contain one of
 * them are refused. With checking (#ndr_check_mode), a write past a view's end is found only if it leaves the viewed
 * buffer. */
NDR_MUST_CHECK ndr_status ndr_buffer_create_view(ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes,
                                                 ndr_buffer **view);

/** Destroy a buffer. Enqueued work keeps the memory until it has ended. A buffer that is still mapped is first unmapped
 * on the queue of the mapping. Host memory under ndr_buffer_create_over() must then last until that queue has
 * finished. */
NDR_API void ndr_buffer_destroy(ndr_buffer *buffer);

/** The buffer's size in bytes; 0 for NULL. */
NDR_API size_t ndr_buffer_size(const ndr_buffer *buffer);

/* Transfers of buffers, images (ndr_image.h) and shared allocations (ndr_shared.h) have the same verbs and order of
 * parameters: the queue, the memory and its part, the other memory (the host's, or of the same kind), the event.
 *
 * - **write, read** transfer from or to the host's memory. With `event` NULL the call returns when the bytes have
 *   arrived. Otherwise it returns at once: until the event has completed, do not change the `host` of a write, nor use
 *   that of a read.
 * - **fill, copy** write memory on the device. The call returns at once; `event` may be NULL.
 * - **map, unmap** begin and end the host's access to the memory. A map returns when the host may access it; an unmap
 *   returns at once, and its `event` may be NULL.
 *
 * In an in-order queue each runs after all work before it, in every queue after the events of ndr_after(). */

/** Copy host memory into a buffer. With `event` NULL, returns when the bytes have arrived; otherwise do not change
 * `host` until the event has completed. Zero bytes: nothing happens. */
NDR_MUST_CHECK ndr_status ndr_buffer_write(ndr_queue *queue, ndr_buffer *buffer, size_t offset_bytes,
                                           size_t size_bytes, const void *host, ndr_event **event);

/** Copy a buffer into host memory. With `event` NULL, returns when the bytes have arrived; otherwise `host` holds them
 * once the event has completed. */
NDR_MUST_CHECK ndr_status ndr_buffer_read(ndr_queue *queue, ndr_buffer *buffer, size_t offset_bytes,
                                          size_t size_bytes, void *host, ndr_event **event);

/** Repeat a pattern of 1, 2, 4, 8, 16, 32, 64 or 128 bytes; offset and size are multiples of it. A fill that ends more
 * than 2^31 - 1 patterns from the start of the buffer waits for earlier commands if it does not begin and end at a
 * multiple of 128 bytes. */
NDR_MUST_CHECK ndr_status ndr_buffer_fill(ndr_queue *queue, ndr_buffer *buffer, size_t offset_bytes,
                                          size_t size_bytes, const void *pattern, size_t pattern_bytes,
                                          ndr_event **event);

/** Copy between buffers of one context; within one buffer the two spans must not overlap. */
NDR_MUST_CHECK ndr_status ndr_buffer_copy(ndr_queue *queue, ndr_buffer *from, size_t from_offset_bytes,
                                          ndr_buffer *to, size_t to_offset_bytes, size_t size_bytes,
                                          ndr_event **event);

/** Copy `size_bytes` bytes between buffers of two queues, which may be of different contexts: two GPUs, or two parts of a
 * CPU. It runs when the work before it in both queues has ended, and the events of ndr_after() of either; the work
 * behind it in both waits for it. With `event` NULL, returns when the bytes have arrived. Otherwise a thread of libndr
 * does it; `event` is one of `to_queue`, and neither buffer may be mapped until it has completed.
 *
 * Between contexts the bytes pass through the host's memory, few of them by a read and a write. If one of the devices
 * shares it (shares_host_memory of ndr_device_info), nothing else is copied. Otherwise they go in pieces of at most
 * 16 MiB through pinned memory, so that both devices transfer at the same time; the context of `from_queue` keeps that
 * memory, three pieces for each transfer that runs at one time. If it fails then, some bytes may have been written.
 * Within a context it is ndr_buffer_copy(), with the same restriction. */
NDR_MUST_CHECK ndr_status ndr_buffer_transfer(ndr_queue *from_queue, ndr_buffer *from, size_t from_offset_bytes,
                                              ndr_queue *to_queue, ndr_buffer *to, size_t to_offset_bytes,
                                              size_t size_bytes, ndr_event **event);

/** How many work-items or elements, in 1 to 3 dimensions; the last one is contiguous. */
typedef struct ndr_range {
    unsigned dims;  /**< 1, 2 or 3. */
    size_t size[3]; /**< The first `dims` count. A zero makes a launch of nothing, which succeeds. */
} ndr_range;

/** One side of a transfer of a rectangle: where its elements lie in a buffer or in the host's memory. */
typedef struct ndr_rect_side {
    size_t offset_bytes;      /**< The offset of element (0, 0, 0). */
    size_t origin[3];         /**< The rectangle's first element, in the dimensions of its extent. */
    size_t row_pitch_bytes;   /**< From the start of one row to the next, in 2 and 3 dimensions; 0: the bytes of a row
                                   of the rectangle, so that its rows follow one another. */
    size_t plane_pitch_bytes; /**< The same for planes, in 3 dimensions: a multiple of the row pitch; 0: rows of the
                                   rectangle times row pitch. */
} ndr_rect_side;

/** A transfer of a rectangle: a row in 1 dimension, rows in 2, planes of rows in 3. Origin + extent must not exceed the
 * pitch: with a row pitch of 0 the last origin is 0. The last byte of both sides must be in bounds; the bytes between
 * the rows are neither read nor written. */
typedef struct ndr_rect_desc {
    ndr_range extent;     /**< How many elements; the last dimension is contiguous. A zero transfers nothing. */
    size_t element_bytes; /**< Bytes of one element; 0 means 1. */
    ndr_rect_side from;   /**< Where the elements are. */
    ndr_rect_side to;     /**< Where the elements go. */
} ndr_rect_desc;

/** Copy a rectangle between buffers of one context. Within one buffer, or between views of one, both sides need the
 * same pitches and must not overlap, by the rule of OpenCL: rectangles that pass the end of a row or plane, because of
 * offset_bytes, count with all bytes between their first and last. */
NDR_MUST_CHECK ndr_status ndr_buffer_copy_rect(ndr_queue *queue, ndr_buffer *from, ndr_buffer *to,
                                               const ndr_rect_desc *desc, ndr_event **event);

/** As ndr_buffer_write() for a rectangle. desc->from describes `host`, which must not be NULL unless the rectangle is
 * empty. */
NDR_MUST_CHECK ndr_status ndr_buffer_write_rect(ndr_queue *queue, ndr_buffer *buffer, const ndr_rect_desc *desc,
                                                const void *host, ndr_event **event);

/** As ndr_buffer_read() for a rectangle. desc->to describes `host`. */
NDR_MUST_CHECK ndr_status ndr_buffer_read_rect(ndr_queue *queue, ndr_buffer *buffer, const ndr_rect_desc *desc,
                                               void *host, ndr_event **event);

/** What the host will do with mapped memory. */
typedef enum ndr_map_access {
    NDR_MAP_READ = 1,       /**< Read it. */
    NDR_MAP_WRITE = 2,      /**< Overwrite all of it: the old contents need not be copied to the host. */
    NDR_MAP_READ_WRITE = 3  /**< Read and change it. */
} ndr_map_access;

/** Map a span of the buffer for the host, after all work before it; `host` gets its address. Copies
 * nothing if the device shares the host's memory. Until ndr_buffer_unmap() a command that would use the
 * buffer is refused, unless both only read. So is a mapping of some of the same bytes; other bytes may be mapped. Unmap
 * with the same buffer, not with a view of it. A span of 0 bytes is refused, because it has no address. */
NDR_MUST_CHECK ndr_status ndr_buffer_map(ndr_queue *queue, ndr_buffer *buffer, ndr_map_access access,
                                         size_t offset_bytes, size_t size_bytes, void **host);

/** Unmap the span at `host`. Does not wait; later work in the queue sees what the host wrote. */
NDR_MUST_CHECK ndr_status ndr_buffer_unmap(ndr_queue *queue, ndr_buffer *buffer, void *host, ndr_event **event);

/* ---- kernels ------------------------------------------------------------------------------------- */

/** A kernel built for the context's device. The context keeps it: there is nothing to destroy, and it
 * lasts as long as the context and any queue, buffer or event of it. */
typedef struct ndr_kernel ndr_kernel;

/** Which kernel, and from where: set `name` and exactly one of `source`, `file`, `bundled`, `spirv`, `binary`. */
typedef struct ndr_kernel_desc {
    const char *name;    /**< The function's name, up to 200 characters; "main" only of `spirv` and `binary`. */
    const char *source;  /**< The kernel's OpenCL C text. */
    const char *file;    /**< The path of a file with that text: a regular file of at most 16 MiB, read once
                              for each context. A relative path starts at the working directory. */
    const char *bundled; /**< The name of one of the library's own files, such as "reduce/tree_groups.cl". */
    const char *options; /**< Build options such as "-DTILE=16"; NULL for none. Without -cl-std= the
                              library passes CL3.0 if the device has it, otherwise CL1.2. If a build as
                              CL3.0 fails and the text uses a name that versions after 1.2 reserve, such as
                              `pipe`, the library builds it as CL1.2. The vocabulary needs CL1.2: an older
                              version is refused. */
    const char *const *include_dirs; /**< Folders to search for included files, ended by a NULL; NULL for
                                          none. The including file's own folder is searched first, then these,
                                          then folders of -I in `options`. "ndr/..." is always the library's
                                          vocabulary. A file that exists and cannot be read is refused, even
                                          if a later folder has a file of that name. Includes may be 200 deep.
                                          If a macro gives an included file's name and only the compiler can
                                          expand it, the compiler gets the folders with -I. A folder with a
                                          blank, quote or backslash in its name is then refused. */
    const char *label; /**< The name of `source` in build logs; NULL means "source". */
    size_t sub_group_size; /**< Work-items of a sub-group, for kernels that use them; 0: the device's own. A
                                size that the device does not support is refused with NDR_UNSUPPORTED. */
    const char *const *linked; /**< The program's other texts if `source` is set, the paths of its other files if
                                    `file` is, ended by a NULL; NULL for none. Each is compiled by itself with the
                                    same options, and all are linked once. `name` may be a kernel of any of them.
                                    A text may call functions of another one, and use its constants at program scope,
                                    declared `extern constant`. */
    const void *spirv;   /**< A SPIR-V module, for devices with has_spirv. */
    size_t spirv_bytes;  /**< The size of `spirv`. */
    const void *binary;  /**< What clGetProgramInfo() gave as CL_PROGRAM_BINARIES for this device and driver. Drivers
                              crash on a damaged one (PoCL, Mesa): keep a checksum of one that you store. */
    size_t binary_bytes; /**< The size of `binary`. */
    const char *source_key; /**< A name that no other text in the program has, by which `source` is found again instead
                                 of by its contents; NULL: by its contents. Generated headers set it, because a long
                                 text takes a microsecond for each 3 KB. */
    NDR_MAY_GROW
} ndr_kernel_desc;

/* A program from `spirv` or `binary` is built with `options` alone, and `label` is its name in sentences; include_dirs
 * and sub_group_size are refused, because they are for texts. Launches check its arguments if the driver describes
 * them: compile the module or binary with -cl-kernel-arg-info. Other arguments are passed as they are given, as for
 * ndr_kernel_from_cl() (ndr_cl.h). Such a program is not kept on disk. */

/** Get a kernel, building its program the first time. Kernels of one source, `linked`, options and include_dirs are
 * one build; later requests return the kept kernel. NDR_NOT_FOUND lists the kernels that the source has. */
NDR_SIZED ndr_status ndr_kernel_get(ndr_context *context, const ndr_kernel_desc *desc, ndr_kernel **kernel);

/** Get all kernels of the program that `desc` describes, building it the first time, in the driver's order. desc->name
 * is not read. `kernels` (may be NULL when `capacity` is 0) gets the first `capacity` of them, `count` the number of
 * all. */
NDR_SIZED ndr_status ndr_kernel_get_all(ndr_context *context, const ndr_kernel_desc *desc, size_t capacity,
                                        ndr_kernel **kernels, size_t *count);

/** How a kernel takes its range. */
typedef enum ndr_kernel_form {
    NDR_KERNEL_PLAIN = 0,    /**< It does not: a kernel of OpenCL C, launched over any range. */
    NDR_KERNEL_RANGE = 1,    /**< By NDR_RANGE(): launched over an ndr_range. */
    NDR_KERNEL_ND_RANGE = 2, /**< By NDR_ND_RANGE(): launched over an ndr_nd_range. */
    NDR_KERNEL_REDUCTION = 3 /**< By NDR_REDUCTION(): launched over an ndr_range. */
} ndr_kernel_form;

/** What a kernel needs and allows on its device. */
typedef struct ndr_kernel_info {
    unsigned arg_count;             /**< Arguments that a launch passes; hidden ones do not count. */
    size_t max_group_size;          /**< Most work-items of one group. */
    size_t preferred_group_multiple; /**< Group sizes that are multiples of it run best. */
    size_t local_memory_bytes;      /**< Local memory declared inside the kernel. */
    size_t private_memory_bytes;    /**< Private memory of each work-item, as far as the driver reports it. */
    size_t required_local_size[3];  /**< Its reqd_work_group_size, padded with 1 in front; zeros if none. */
    const char *name;               /**< The kernel function's name; valid as long as the kernel. */
    ndr_kernel_form form;           /**< How it takes its range. */
    unsigned range_dims;            /**< The dimensions that the form names; 0: any. */
    NDR_MAY_GROW
} ndr_kernel_info;

/** Describe a kernel. */
NDR_SIZED ndr_status ndr_kernel_get_info(const ndr_kernel *kernel, ndr_kernel_info *info);

/** The binary of the program that a kernel comes from, as ndr_kernel_desc.binary takes it on the same device with the
 * same driver. NDR_UNSUPPORTED if the driver has none.
 *
 * `bytes` (may be NULL when `capacity` is 0) gets the binary if it has at most `capacity` bytes, and nothing otherwise;
 * `length` gets the number of its bytes. */
NDR_MUST_CHECK ndr_status ndr_kernel_get_binary(const ndr_kernel *kernel, size_t capacity, void *bytes, size_t *length);

/** The compiler's log of the build that a kernel comes from: its warnings, in the driver's words, with files and lines
 * of the source as written. The kernels of one build share the log. It is empty if there were no warnings, and with
 * some drivers if they took the program from their cache.
 *
 * `text` (may be NULL when `capacity` is 0) gets at most `capacity` bytes, the terminating 0 included; `length` (may be
 * NULL) gets the length of the whole log, without the 0. */
NDR_MUST_CHECK ndr_status ndr_kernel_get_log(const ndr_kernel *kernel, size_t capacity, char *text, size_t *length);

/** Where a kernel's sub-groups come from. */
typedef enum ndr_sub_group_kind {
    NDR_SUB_GROUP_WHOLE = 0,  /**< The device has none: each group is one sub-group. */
    NDR_SUB_GROUP_NATIVE = 1, /**< OpenCL's own. Some drivers need all items of the *group* to make each call. */
    NDR_SUB_GROUP_WARP = 2,   /**< The hardware's warps, through inline assembly. */
    NDR_SUB_GROUP_VIRTUAL = 3 /**< Of the size asked for, implemented with local memory: all items of the *group*
                                   must make each call. */
} ndr_sub_group_kind;

/** A kernel's sub-groups for one local size, as the kernel will see them. */
typedef struct ndr_sub_group_info {
    ndr_sub_group_kind kind; /**< Where they come from. */
    size_t max_size;         /**< Work-items of the largest sub-group. The last may have fewer; if the driver divides
                                  each row of a group separately, so may the last of each row. The kernel can
                                  query the true size. */
    size_t count;            /**< Sub-groups in one group. count * max_size may be more than the group has items. */
    NDR_MAY_GROW
} ndr_sub_group_info;

/** Describe a kernel's sub-groups in groups of `local`. */
NDR_SIZED ndr_status ndr_kernel_get_sub_groups(const ndr_kernel *kernel, const ndr_range *local,
                                               ndr_sub_group_info *info);

/* ---- ranges -------------------------------------------------------------------------------------- */

/** What happens to a global size that is not a multiple of its local size. */
typedef enum ndr_edge {
    NDR_EDGE_REJECT = 0,   /**< It is refused, as SYCL requires. */
    NDR_EDGE_ROUND_UP = 1, /**< More items run. The kernel sees the true range and guards with
                                ndr_in_range(), or with NDR_ITEM(), which ends the added items. */
    NDR_EDGE_SPLIT = 2     /**< Smaller groups run along the far edges, with true ids, as in OpenCL 2.0; up to
                                8 launches, on any device. */
} ndr_edge;

/** The work-items of a launch, and their groups.
 *
 * Three forms, distinguished by `local`:
 * - local.dims == 0: a range. There are no groups; the library chooses how to divide it.
 * - local.size all 0: groups whose size the library chooses; edges are split unless rounded up.
 * - local.size given: groups of that size; `edge` says what happens if they do not divide. */
typedef struct ndr_nd_range {
    ndr_range global; /**< All work-items; no dimensions if `groups` is set. */
    ndr_range local;  /**< The work-items of one group, in the same number of dimensions. */
    size_t offset[3]; /**< Added to global ids, and to nothing else. */
    ndr_edge edge;    /**< What happens to sizes that do not divide. */
    ndr_range groups; /**< Instead of `global`, which then has no dimensions: the number of groups, for hierarchical
                           kernels. `local` has the same number of dimensions; zeros there let the library choose. */
} ndr_nd_range;

/** The range (n). */
static inline ndr_range ndr_range_1d(size_t n)
{
    ndr_range range = { 1, { n, 0, 0 } };
    return range;
}

/** The range (rows, cols). */
static inline ndr_range ndr_range_2d(size_t rows, size_t cols)
{
    ndr_range range = { 2, { rows, cols, 0 } };
    return range;
}

/** The range (planes, rows, cols). */
static inline ndr_range ndr_range_3d(size_t planes, size_t rows, size_t cols)
{
    ndr_range range = { 3, { planes, rows, cols } };
    return range;
}

/** The nd_range of `global` in groups of `local`, edges rejected. Set `edge` and `offset` on the result
 * for more. */
static inline ndr_nd_range ndr_nd_range_of(ndr_range global, ndr_range local)
{
    ndr_nd_range range = { global, local, { 0, 0, 0 }, NDR_EDGE_REJECT, { 0, { 0, 0, 0 } } };
    return range;
}

/** The given number of groups, of `local` work-items each; zeros in `local` let the library choose. */
static inline ndr_nd_range ndr_groups_of(ndr_range groups, ndr_range local)
{
    ndr_nd_range range = { { 0, { 0, 0, 0 } }, local, { 0, 0, 0 }, NDR_EDGE_REJECT, groups };
    return range;
}

/** n items in groups of `local`; local 0 lets the library choose. */
static inline ndr_nd_range ndr_nd_range_1d(size_t n, size_t local)
{
    return ndr_nd_range_of(ndr_range_1d(n), ndr_range_1d(local));
}

/** (rows, cols) items in groups of (local_rows, local_cols). */
static inline ndr_nd_range ndr_nd_range_2d(size_t rows, size_t cols, size_t local_rows, size_t local_cols)
{
    return ndr_nd_range_of(ndr_range_2d(rows, cols), ndr_range_2d(local_rows, local_cols));
}

/** (planes, rows, cols) items in groups of (local_planes, local_rows, local_cols). */
static inline ndr_nd_range ndr_nd_range_3d(size_t planes, size_t rows, size_t cols, size_t local_planes,
                                           size_t local_rows, size_t local_cols)
{
    return ndr_nd_range_of(ndr_range_3d(planes, rows, cols),
                           ndr_range_3d(local_planes, local_rows, local_cols));
}

/** The local size that an automatic launch of this kernel over `global` would get, in groups. */
NDR_MUST_CHECK ndr_status ndr_kernel_suggest_local(const ndr_kernel *kernel, const ndr_range *global,
                                                   ndr_range *local);

/* ---- arguments ----------------------------------------------------------------------------------- */

/** Memory that kernels read by coordinates: ndr_image.h. */
typedef struct ndr_image ndr_image;

/** How kernels read images: ndr_image.h. */
typedef struct ndr_sampler ndr_sampler;

/** Memory at the same address on the host and the device: ndr_shared.h. */
typedef struct ndr_shared ndr_shared;

/** The operator that combines two elements. ndr_reduce() has all; ndr_reducer() has all but the logical ones. The bit
 * operators are for integers only. Integers wrap modulo 2^width. */
typedef enum ndr_op {
    NDR_OP_NONE = 0,    /**< Not set. */
    NDR_OP_SUM = 1,     /**< Identity 0. */
    NDR_OP_MIN = 2,     /**< Identity the largest value, +infinity for floats. NaN is ignored. */
    NDR_OP_MAX = 3,     /**< Identity the smallest value, -infinity for floats. NaN is ignored. */
    NDR_OP_PRODUCT = 4, /**< Identity 1. */
    NDR_OP_BIT_AND = 5, /**< Identity all bits set. */
    NDR_OP_BIT_OR = 6,  /**< Identity 0. */
    NDR_OP_BIT_XOR = 7, /**< Identity 0. */
    NDR_OP_LOGICAL_AND = 8, /**< Whether all elements differ from 0: 0 or 1. Identity 1. */
    NDR_OP_LOGICAL_OR = 9,  /**< Whether any element differs from 0: 0 or 1. Identity 0. */
    NDR_OP_ARG_MIN = 10,    /**< The first index of the smallest value: of ndr_map_reduce() only. */
    NDR_OP_ARG_MAX = 11     /**< The first index of the largest value: of ndr_map_reduce() only. */
} ndr_op;

/** What an argument holds. 0 is not a kind, so that a forgotten argument is refused. */
typedef enum ndr_arg_kind {
    NDR_ARG_NONE = 0,     /**< Not set. */
    NDR_ARG_BUFFER = 1,   /**< A buffer; as.buffer must not be NULL. */
    NDR_ARG_NULL = 2,     /**< A deliberate NULL for a global or constant pointer. */
    NDR_ARG_SIGNED = 3,   /**< as.i, given as `dtype`. */
    NDR_ARG_UNSIGNED = 4, /**< as.u, given as `dtype`. */
    NDR_ARG_FLOAT = 5,    /**< as.f */
    NDR_ARG_DOUBLE = 6,   /**< as.d */
    NDR_ARG_STRUCT = 7,   /**< size_bytes bytes at as.value.bytes, of the type as.value.type_name. */
    NDR_ARG_LOCAL = 8,    /**< extent[0] * extent[1] * extent[2] elements of size_bytes of local memory. */
    NDR_ARG_VECTOR = 9,   /**< size_bytes bytes of elements of `dtype` at as.value.bytes: one for each lane, without
                               padding. as.value.type_name is not read. */
    NDR_ARG_IMAGE = 10,   /**< as.image; must not be NULL. */
    NDR_ARG_SAMPLER = 11, /**< as.sampler; must not be NULL. */
    NDR_ARG_REDUCER = 12, /**< as.reducer, with an initial value that is given as `dtype`. */
    NDR_ARG_SHARED = 13,  /**< as.shared.pointer, an address in as.shared.allocation, which must not be NULL. */
    NDR_ARG_REACHED = 14, /**< as.shared.allocation. Only after the last argument: it is not an argument. */
    NDR_ARG_REACHED_BUFFER = 15, /**< as.buffer, which has an address. Also only after the last argument. */
    NDR_ARG_REAL = 16     /**< as.d, for double, float or half: rounded to the parameter's type. For bindings of
                               languages that have one type of such numbers. Its `dtype` counts only if the parameter's
                               type is unknown. A float is refused if it would become infinite. */
} ndr_arg_kind;

/** One argument of a launch. It contains a number, and points to a struct or a vector. */
typedef struct ndr_arg {
    ndr_arg_kind kind; /**< Which member of `as` is set. */
    ndr_dtype dtype;   /**< The type of a number, or of the elements of a vector or of local memory;
                            NDR_DTYPE_NONE if unknown. */
    size_t size_bytes; /**< The size of a struct, of a vector, or of one element of local memory. */
    union {
        int64_t i;          /**< NDR_ARG_SIGNED */
        uint64_t u;         /**< NDR_ARG_UNSIGNED */
        float f;            /**< NDR_ARG_FLOAT */
        double d;           /**< NDR_ARG_DOUBLE, NDR_ARG_REAL */
        ndr_buffer *buffer; /**< NDR_ARG_BUFFER, NDR_ARG_REACHED_BUFFER */
        ndr_image *image;   /**< NDR_ARG_IMAGE */
        ndr_sampler *sampler; /**< NDR_ARG_SAMPLER */
        struct {
            ndr_shared *allocation; /**< The allocation. */
            const void *pointer;    /**< An address in it, from its first byte to one past its last. NULL: its first
                                         byte. */
        } shared;                   /**< NDR_ARG_SHARED, NDR_ARG_REACHED */
        struct {
            const void *bytes;     /**< Copied by the launch. */
            const char *type_name; /**< "struct pair", "pair" or NULL; compared with the kernel's. */
        } value;                   /**< NDR_ARG_STRUCT, NDR_ARG_VECTOR */
        size_t extent[3];          /**< NDR_ARG_LOCAL */
        struct {
            ndr_buffer *buffer;    /**< Where the result goes; must not be NULL. */
            size_t element;        /**< The index of the result there, in elements of the reducer's type. */
            uint64_t initial;      /**< Begins with the bytes of as.i, as.u, as.f or as.d. */
            ndr_op op;             /**< As the kernel declares it. */
        } reducer;                 /**< NDR_ARG_REDUCER */
    } as;                          /**< The value. */
    const char *element_name;      /**< NDR_ARG_LOCAL: "struct cell" or NULL; compared with the kernel's. */
} ndr_arg;

/* ndr_arg_of(x) makes an ndr_arg of a buffer, an image, a sampler, a shared allocation, a number or an ndr_arg;
 * ndr_vector(type, values...) of a vector's elements; ndr_struct(type, value) of a struct; ndr_local(type, extents...)
 * asks for local memory of 1 to 3 extents; ndr_null is a deliberate NULL; ndr_reducer(op, initial, buffer, element) is
 * where the result of a reducer goes, for kernels with NDR_REDUCTION() (docs/vocabulary/reduction.md);
 * ndr_shared_at(shared, pointer) is an address in a shared allocation, and ndr_reaches(shared) declares one that the
 * kernel reaches without an argument (both: ndr_shared.h), as ndr_reaches_buffer(buffer) does for a buffer with an
 * address (ndr_buffer_get_address()).
 *
 * An integer may be passed to any integer parameter that can hold its value, a double only to double. A float may
 * be passed to float, and to half: the launch rounds it to the nearest half, ties to even; from 65520 on that is
 * infinity. The bits of a half are passed as ndr_struct(cl_half, bits).
 *
 * A vector takes exactly as many elements as it has lanes, of its own type: ndr_vector(float, x, y, z) for a float3,
 * and floats for the lanes of a half3 too, rounded in the same way. Or it is passed as an ndr_struct of OpenCL's host
 * type (cl_float4; a type of another name needs the same size). A struct, by value or as an element of local memory,
 * must have the same name and size on the host and in the kernel. */

/** What a parameter takes. */
typedef enum ndr_parameter_kind {
    NDR_PARAMETER_ANY = 0,      /**< The driver does not describe it. */
    NDR_PARAMETER_GLOBAL = 1,   /**< A buffer. */
    NDR_PARAMETER_CONSTANT = 2, /**< A buffer that the kernel reads. */
    NDR_PARAMETER_LOCAL = 3,    /**< Local memory. */
    NDR_PARAMETER_NUMBER = 4,   /**< A number. */
    NDR_PARAMETER_VECTOR = 5,   /**< A vector of numbers. */
    NDR_PARAMETER_STRUCT = 6,   /**< A struct, or another value of a type of the kernel's own. */
    NDR_PARAMETER_IMAGE = 7,    /**< An image. */
    NDR_PARAMETER_SAMPLER = 8,  /**< A sampler. */
    NDR_PARAMETER_REDUCER = 9,  /**< The place of a reducer's result. */
    NDR_PARAMETER_OTHER = 10    /**< What libndr cannot pass, such as a pipe. */
} ndr_parameter_kind;

/** One parameter of a kernel. */
typedef struct ndr_parameter_info {
    const char *name;        /**< "?" if the driver does not describe it. Valid as long as the kernel, as type_name. */
    const char *type_name;   /**< In the driver's words: "float*", "uint4", "struct pair"; of a reducer "SUM_float*". */
    ndr_parameter_kind kind; /**< What it takes. */
    ndr_dtype dtype;         /**< Of a number, of a vector's numbers, or of those that a pointer or reducer points to;
                                  NDR_DTYPE_NONE for other types. */
    unsigned lanes;          /**< Numbers of a vector; 1 for a number, 0 without a dtype. */
    ndr_access access;       /**< Through a pointer: READ if it is const or constant, otherwise READ_WRITE. Of an image:
                                  its qualifier. */
    size_t size_bytes;       /**< Of a value, or of one element behind a pointer; 0 if unknown. */
    ndr_op op;               /**< Of a reducer. */
    unsigned unused;         /**< 0 */
    NDR_MAY_GROW
} ndr_parameter_info;

/** Describe a parameter, counted from 0; ndr_kernel_info.arg_count is their number. NDR_BAD_ARGUMENT if there is none
 * of that index. */
NDR_SIZED ndr_status ndr_kernel_get_parameter(const ndr_kernel *kernel, size_t index, ndr_parameter_info *parameter);

/* ---- launches ------------------------------------------------------------------------------------ */

/** Enqueue a kernel: one argument for each of its parameters, in order. Before anything is enqueued, the
 * range is checked against device and kernel, each argument against the kernel's signature, local memory
 * and the bytes of all arguments against the device.
 *
 * A kernel's first launch, and its first with each other local size, may take longer than the next: some drivers
 * finish compiling only then. Time a later launch. */
NDR_MUST_CHECK ndr_status ndr_launch_v(ndr_queue *queue, ndr_kernel *kernel, const ndr_nd_range *range,
                                       const ndr_arg *args, size_t arg_count, ndr_event **event);

/* ndr_launch(queue, kernel, range, args...) is the short form of ndr_launch_v(): `range` is an ndr_range or an
 * ndr_nd_range by value, and ndr_arg_of() converts each argument. ndr_launch_event(queue, kernel, event,
 * range, args...) returns the event too. In C they take up to 64 arguments, ndr_launch_v() any number. */

/** Get a kernel of the queue's context, as ndr_kernel_get() does, and enqueue it. The kernel is built the first time;
 * later calls find it. The functions that `ndr bind` generates call this: docs/typed.md. */
NDR_SIZED ndr_status ndr_launch_desc_v(ndr_queue *queue, const ndr_kernel_desc *desc, const ndr_nd_range *range,
                                       const ndr_arg *args, size_t arg_count, ndr_event **event);

/** A launch that is checked once and run many times: a kernel with its range and its arguments.
 *
 * ndr_prepare_v() makes all checks of ndr_launch_v(), except that buffers may be mapped at that time. A run then checks
 * only that the host has none of the buffers mapped. So it cannot fail for an argument or the range, and costs less
 * than ndr_launch(): docs/prepared.md. Kernels with reducers can be prepared; their runs use memory of the queue.
 *
 * It keeps copies of the range and of all values, structs included, and an OpenCL kernel of its own for each piece, so
 * other launches of the same kernel do not change its arguments. It also keeps its buffers' memory, its images and its
 * samplers until it is destroyed or the argument is set to another object: runs are possible after
 * ndr_buffer_destroy(). Host memory under ndr_buffer_create_over() must last as long.
 *
 * Several threads may run one prepared launch and set its arguments at the same time. Each run takes the arguments that
 * are set when it is enqueued; a later ndr_prepared_set() does not change it. */
typedef struct ndr_prepared ndr_prepared;

/** Prepare a launch: one argument for each parameter of the kernel, in order. Nothing is enqueued. */
NDR_MUST_CHECK ndr_status ndr_prepare_v(ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                                        size_t arg_count, ndr_prepared **prepared);

/** Change one argument, counted from 0: `ndr_prepared_set(prepared, 2, ndr_arg_of(0.5f))`. Only this argument is
 * checked, and all local memory together. If the argument is refused, the earlier one stays. If OpenCL fails to set it
 * (NDR_DRIVER_ERROR or no memory), runs are refused until it is set. In place of a shared allocation only another one
 * is taken (NDR_BAD_KERNEL_ARGUMENT): some drivers take nothing else there. */
NDR_MUST_CHECK ndr_status ndr_prepared_set(ndr_prepared *prepared, size_t index, ndr_arg arg);

/** Enqueue a prepared launch, on any queue of its context. `event` may be NULL. */
NDR_MUST_CHECK ndr_status ndr_prepared_run(ndr_queue *queue, ndr_prepared *prepared, ndr_event **event);

/** Destroy a prepared launch; runs that are enqueued still run. */
NDR_API void ndr_prepared_destroy(ndr_prepared *prepared);

/* ndr_prepare(kernel, &prepared, range, args...) is the short form of ndr_prepare_v(), with a range and arguments as
 * in ndr_launch(). */

/* ---- operations ---------------------------------------------------------------------------------- */

/** The method of a reduction. */
typedef enum ndr_reduce_method {
    NDR_REDUCE_TREE = 0,     /**< Two stages in a fixed order: the same bits on every run. */
    NDR_REDUCE_ATOMIC = 1,   /**< One stage; groups combine by one atomic. Float sums may differ in their last
                                  bits from run to run. */
    NDR_REDUCE_RECURSIVE = 2 /**< A small tree in each group, launched until one group is left, as in
                                  textbooks. The same bits on every run. */
} ndr_reduce_method;

/** What the bits of a float result depend on, for the same elements; docs/numerics.md has the proofs. Integers have one
 * result. */
typedef enum ndr_numerics {
    NDR_NUMERICS_FAST = 0,         /**< On their order, and on the device. */
    NDR_NUMERICS_REPRODUCIBLE = 1, /**< On their order alone: the same bits on every device, by every driver. */
    NDR_NUMERICS_EXACT = 2         /**< On nothing else: the exact result, rounded once, to nearest even. */
} ndr_numerics;

/** Elements in a buffer. */
typedef struct ndr_span {
    ndr_buffer *buffer; /**< The buffer. */
    size_t offset;      /**< The first element. */
} ndr_span;

/** Combine input[0..count) into output[0].
 *
 * An empty input gives the identity. A float minimum or maximum of nothing but NaN is NaN. Elements of F16 and BF16 are
 * combined as F32, and the result is rounded. ndr_map_reduce() of ndr_ops.h combines in a wider type, along axes, over
 * segments and arrays with strides, by an operator of your own, into what the output holds, finds indexes of extremes, or
 * gives several results.
 * A float sum s of n <= 2^34 elements satisfies |s - exact| <= (ceil(log2 n) + c) * eps * sum|x|, with c = 256 for
 * the tree and the recursion and c = 2048 for the atomic, on devices whose groups hold 32 items or more, if no partial
 * sum overflows; docs/numerics.md has more.
 *
 * With `factors`, the sum is a dot product, of which `numerics` FAST gives what REPRODUCIBLE does. Other numerics than
 * FAST are those of floats by the tree: REPRODUCIBLE has SUM, PRODUCT, MIN and MAX, EXACT all of these but PRODUCT. NaN
 * is then one quiet NaN, and -0 is less than +0. For F32 on a device that flushes subnormal numbers, REPRODUCIBLE has
 * no products and dot products. EXACT needs integers only, so it takes F64 on every device. Both are slower than FAST:
 * docs/performance.md. */
typedef struct ndr_reduce_desc {
    ndr_dtype dtype;          /**< Any; F16 and BF16 only by the tree, with FAST numerics and without factors. */
    ndr_op op;                /**< Any; the atomic method has only SUM, MIN and MAX, of 32 and 64 bits. */
    ndr_reduce_method method; /**< Default: the tree. */
    ndr_span input;           /**< Read only. */
    size_t count;             /**< Elements of input; may be 0, and then input.buffer may be NULL. */
    ndr_span output;          /**< One element; must not lie within the input. */
    ndr_numerics numerics;    /**< Default: FAST. */
    unsigned unused;          /**< 0. */
    ndr_span factors;         /**< Only with SUM of F32 and F64: the elements by which those of input are multiplied.
                                   Its buffer NULL: none. */
    NDR_MAY_GROW
} ndr_reduce_desc;

/** Enqueue a reduction. */
NDR_SIZED ndr_status ndr_reduce(ndr_queue *queue, const ndr_reduce_desc *desc, ndr_event **event);

/** A matrix in a buffer, stored by rows; of a product with is_column_major, by columns. */
typedef struct ndr_matrix {
    ndr_buffer *buffer; /**< The buffer; may be NULL when the matrix has no elements. */
    size_t offset;      /**< The offset of element (0, 0), in elements. */
    size_t rows;        /**< May be 0. */
    size_t cols;        /**< May be 0. */
    size_t pitch;       /**< Elements from the start of one row to the next; 0 means `cols`. By columns: from the start
                             of one column to the next; 0 means `rows`. */
} ndr_matrix;

/** The factors of a product: alpha * a * b + beta * c. Not set (all zeros) means alpha 1 and beta 0. Make one with
 * ndr_scaling_of(), so that a computed factor of 0 counts as 0. */
typedef struct ndr_scaling {
    bool is_set;  /**< False: the plain product; `alpha` and `beta` must be 0 then. */
    double alpha; /**< Rounded to the type of the sums; of integers a whole number from -2^31 to 2^31 - 1. */
    double beta;  /**< The same. */
} ndr_scaling;

/** The factors alpha and beta. */
static inline ndr_scaling ndr_scaling_of(double alpha, double beta)
{
    ndr_scaling scaling = { true, alpha, beta };
    return scaling;
}

/** How exactly the elements of a product are computed. A lower accuracy is a permission: a device or a shape that has
 * no faster implementation of it gets NDR_ACCURACY_FULL. */
typedef enum ndr_accuracy {
    NDR_ACCURACY_FULL = 0, /**< As by a loop in the dtype. */
    NDR_ACCURACY_TF32 = 1  /**< Elements of a and b of F32 may be rounded to 11 significant bits, as by TF32 in other
                                libraries; sums are of F32, and exponents have the range of F32. Products of F64
                                ignore it. */
} ndr_accuracy;

/** The part of c that a product computes. */
typedef enum ndr_matrix_part {
    NDR_MATRIX_WHOLE = 0, /**< All elements. */
    NDR_MATRIX_LOWER = 1, /**< Those of row i and column j with j <= i. */
    NDR_MATRIX_UPPER = 2  /**< Those with j >= i. */
} ndr_matrix_part;

/** c = alpha * op(a) * op(b) + beta * c, once or for each product of a batch, where op(a) is a, or a transposed.
 *
 * Types. Elements of a and b are of `dtype`, those of c of `output_dtype`. F16, BF16 and F32 are added in F32, F64 in
 * F64, and the result is rounded once to the type of c. I8 and U8 are added in I32 modulo 2^32, alpha and beta
 * included: sums of fewer than 2^17 products of I8, or up to 2^15 of U8, are exact. There are no complex types.
 *
 * A batch is `count` products of one shape, with the same pitches and factors. `a`, `b` and `c` are the matrices of
 * product 0. Those of product i begin i * a_stride, i * b_stride and i * c_stride elements later. A stride of 0 for a
 * or b means that all products use the same matrix. The matrices of c must not overlap each other; they may lie side by
 * side in the same rows. Matrices that do not lie at equal distances have buffers of offsets instead: that of product i
 * begins at element a.offset + a_offsets[i]. Such offsets are on the device, so libndr does not check them: each matrix
 * must lie in its buffer, and each of c apart from the others and from those of a and b; otherwise the result, and what
 * is written, is undefined. Small products take much less time in a batch than one after the other. A batch is one
 * launch, one for each 2^15 products, or one or more for each large product. If the driver rejects one of several
 * launches, the error's sentence says how many products are enqueued.
 *
 * If a or b is in the buffer of c, its elements must not lie between the first and the last element of all c. With beta
 * == 0, c is not read, so a NaN in it has no effect. With alpha == 0 or no columns in op(a), neither a nor b is read.
 * With a `part`, the other elements of c are neither read nor written.
 *
 * Elementwise |error| <= (K + 2) * eps * (|alpha| |A| |B| + |beta C|), K the columns of op(a) and eps that of the type
 * of the sums. With NDR_ACCURACY_TF32 the error may be greater by 2^-10 * |alpha| |A| |B|. If c is F16 or BF16, the
 * rounding of the result to it is added. docs/numerics.md has more.
 *
 * `epilogue`, an expression of OpenCL C, gives what is stored in an element of c: "fmax(r + bias, 0.0f)". `r` is the
 * element's alpha * sum + beta * c, not yet rounded to the type of c: a float, a double for F64, an int for I8 and U8.
 * `row`, `col` and `product`, ulong, say which element it is. The names of `scalars` and `inputs` are those of
 * ndr_map(). An input has the shape of c: (rows, cols), the same for all products, or (count, rows, cols). Stride 0
 * repeats its elements along a dimension: a bias for each column has the strides { 0, 1 }. c itself may be an input,
 * with its buffer, offset, strides and type; other inputs must not overlap c. The value is converted to the type of c
 * as by an assignment, to F16 and BF16 by rounding to nearest even; convert_char_sat_rte() rounds and saturates. The
 * epilogue is compiled as ndr_map_desc.statement, and errors are shown as lines of "epilogue".
 *
 * On GPUs with matrix units large products use them, within the same bound. The first such product on a driver begins
 * to try them on products of known result, in a thread, which takes some seconds, once if there is a store
 * (docs/cache.md). Until they are known to be right, products do not use them, and calls that need another kernel may
 * wait for the driver's compiler. ndr_cache_warm() does all of it ahead. Products of F32 then use memory of the queue:
 * 6 bytes for each element of a and b, with padding, at most an eighth of the device's memory. F16, BF16, I8 and U8
 * need memory only for matrices whose rows do not begin at multiples of 16 bytes, for b of I8 and U8 unless
 * transposes_b, and for a of these if transposes_a. The queue keeps this memory. Larger products, and those for which
 * there is no memory, do not use the matrix units. */
typedef struct ndr_matmul_desc {
    ndr_dtype dtype;       /**< Of a and b: F32, F64, F16, BF16, I8 or U8. */
    ndr_scaling scaling;   /**< Default: alpha 1, beta 0. */
    ndr_matrix a;          /**< m x k; if transposes_a, k x m. */
    ndr_matrix b;          /**< k x n; if transposes_b, n x k. */
    ndr_matrix c;          /**< m x n; must not overlap a or b. */
    size_t count;          /**< Products; 0 means 1. */
    size_t a_stride;       /**< Elements from a of one product to a of the next; 0: the same a. Strides of a single
                                product are ignored. */
    size_t b_stride;       /**< The same for b. */
    size_t c_stride;       /**< The same for c; 0 is refused in a batch, unless there are c_offsets. */
    ndr_accuracy accuracy; /**< Default: FULL. TF32 is faster on GPUs with matrix units. */
    unsigned unused;       /**< 0. */
    ndr_dtype output_dtype; /**< Of c. Default: `dtype` of floats, I32 for I8 and U8. F16, BF16 and F32 give any of
                                 the three. With an epilogue, all but F64 give F16, BF16, F32, I8, U8 or I32; those
                                 of I8 and U8 give floats with a beta of 0 only. */
    ndr_matrix_part part;   /**< Default: all of c. Otherwise c must have as many rows as columns. */
    bool transposes_a;      /**< a is stored transposed. */
    bool transposes_b;      /**< b is stored transposed. */
    bool is_column_major;   /**< All three matrices are stored by columns, not by rows. */
    unsigned char unused_bytes[5]; /**< 0. */
    ndr_span a_offsets;     /**< `count` elements of U64: the beginnings of the products' a, instead of a_stride, which
                                 must be 0. Buffer NULL: a_stride. */
    ndr_span b_offsets;     /**< The same for b. */
    ndr_span c_offsets;     /**< The same for c. */
    const char *epilogue;     /**< "r + bias". NULL: r is stored. */
    const char *declarations; /**< OpenCL C before the kernel, for the epilogue: functions, structs, macros. NULL:
                                   none. */
    const struct ndr_map_scalar *scalars; /**< `scalar_count` values for the epilogue. ndr/ndr_ops.h has the struct. */
    size_t scalar_count;                  /**< May be 0. */
    const struct ndr_map_array *inputs;   /**< `input_count` arrays for the epilogue, which are read. */
    size_t input_count;                   /**< May be 0; with scalars at most 24. */
    NDR_MAY_GROW
} ndr_matmul_desc;

/** Enqueue a matrix multiplication, or a batch. */
NDR_SIZED ndr_status ndr_matmul(ndr_queue *queue, const ndr_matmul_desc *desc, ndr_event **event);

/** Which implementation the call ndr_reduce() with `desc` would run in this context, and why no other one. Nothing is
 * enqueued, and of `desc` only types, methods, accuracy, sizes and factors are read: the buffers may be NULL.
 *
 * The text begins with the implementation's name and a semicolon: "tree_chunks; not tree_groups: it comes later in the
 * list". The words after the name may change. `text` (may be NULL when `capacity` is 0) gets at most `capacity` bytes,
 * the terminating 0 included; `length` (may be NULL) gets the length of the whole text, without the 0. One that uses
 * matrix units is tried first, by this call. One that turns out not to build is replaced at its first call, so
 * that the answer changes. */
NDR_SIZED ndr_status ndr_reduce_explain(ndr_context *context, const ndr_reduce_desc *desc, size_t capacity, char *text,
                                        size_t *length);

/** The same for ndr_matmul(). A product without elements is refused. */
NDR_SIZED ndr_status ndr_matmul_explain(ndr_context *context, const ndr_matmul_desc *desc, size_t capacity, char *text,
                                        size_t *length);

/** A product for which ndr_tune() finds the fastest implementation: c is m x n, a has k columns. */
typedef struct ndr_tune_desc {
    ndr_dtype dtype;       /**< F32 or F64. */
    size_t m;              /**< 1 or more. */
    size_t n;              /**< 1 or more. */
    size_t k;              /**< 1 to 2^22. */
    double max_seconds;    /**< No new run starts after this time; 0 means 30. Builds and runs are not interrupted.
                                `listed_row` is measured at least once. */
    ndr_accuracy accuracy; /**< The accuracy of the products. */
    NDR_MAY_GROW
} ndr_tune_desc;

/** What ndr_tune() found. The times are medians in seconds, from the call to the end of the product. */
typedef struct ndr_tune_result {
    char row[32];          /**< The fastest implementation, by the name that NDR_LOG=debug shows. */
    char listed_row[32];   /**< The one that libndr takes without tuning. */
    double seconds;        /**< The time of `row`. */
    double listed_seconds; /**< The time of `listed_row`. */
    NDR_MAY_GROW
} ndr_tune_result;

/** Measure the implementations of ndr_matmul() on this device, and use the fastest for all products of the same class.
 *
 * A class is the dtype, the accuracy and, for each of m, n and k, the least power of two that is not smaller. Each
 * implementation is first checked against the exact product. The context then keeps the choice, and so does the store
 * on disk, for later contexts on this device. The call makes matrices of that size and a queue of its own, and waits
 * until all is done. It needs an idle device: other work disturbs the times.
 * The last bits of a product may differ between implementations; the bound of ndr_matmul() holds for each. Reductions
 * are not tuned. `result` may be NULL. */
NDR_SIZED ndr_status ndr_tune(ndr_context *context, const ndr_tune_desc *desc, ndr_tune_result *result);

/* ---- the store on disk --------------------------------------------------------------------------- */

/** What ndr_cache_warm() builds; set exactly one. Of an operation's descriptor only the types, methods, accuracy, sizes
 * and factors are read; the buffers may be NULL. */
typedef struct ndr_warm_desc {
    const ndr_kernel_desc *kernel; /**< A kernel; with it, all kernels of its program. `name` may be NULL. */
    const ndr_reduce_desc *reduce; /**< The kernels of such a reduction. */
    const ndr_matmul_desc *matmul; /**< The kernels of such a product, which must have elements. */
    NDR_MAY_GROW
} ndr_warm_desc;

/** One element of `descs` is done. */
typedef struct ndr_warm_progress {
    size_t index;      /**< The element's index in `descs`. */
    ndr_status status; /**< NDR_OK: its program is in the store. */
    const char *error; /**< Why it is not, as ndr_last_error(); "" with NDR_OK. Valid during the callback only. */
    size_t done;       /**< Elements that are done, this one included. */
    size_t count;      /**< Elements in all. */
    NDR_MAY_GROW
} ndr_warm_progress;

/** Receives the progress of ndr_cache_warm(): one call for each element, one at a time, in any order, from any of its
 * threads. It must not wait for another thread that is in ndr_cache_warm(). */
typedef void ndr_warm_callback(const ndr_warm_progress *progress, void *user);

/** Build kernels ahead and put their programs into the store on disk, so that later calls that need them, of this
 * context and of other processes, compile nothing: for an installer or a first start. docs/cache.md has an example.
 *
 * Builds in as many threads as the host has cores, at most 16, and returns when all is done and written. A program that
 * is in the store already is only loaded, to see that the driver takes it. `progress` may be NULL.
 *
 * An element that fails does not stop the others. Then the status is that of the first one in the list that failed, and
 * the sentence names it and says how many failed. NDR_NOT_KEPT: the store is off or cannot be written, the driver has
 * no binaries, or docs/cache.md lists the program as one that is not kept. `descs` may be NULL when `count` is 0. */
NDR_SIZED ndr_status ndr_cache_warm(ndr_context *context, const ndr_warm_desc *descs, size_t count,
                                    ndr_warm_callback *progress, void *user);

/** The folder of the store that contexts created now would use, whether it exists or not; NDR_NOT_KEPT: the store is
 * off. `text` (may be NULL when `capacity` is 0) gets at most `capacity` bytes, the terminating 0 included; `length`
 * (may be NULL) gets the length of the whole path, without the 0. */
NDR_MUST_CHECK ndr_status ndr_cache_get_folder(size_t capacity, char *text, size_t *length);

/** A file of the store. Texts that are not known, because the file is damaged or of another version, are "". */
typedef struct ndr_cache_entry {
    const char *path;        /**< The file. */
    const char *what;        /**< "kernels axpy, dot", "tuned variants of matmul" and the like. */
    const char *options;     /**< The build options of a program. */
    const char *device;      /**< The name of the device that it is for. */
    const char *driver;      /**< The driver's version. */
    const char *library;     /**< The version of libndr that wrote it, and a hash of its sources. */
    const char *fault;       /**< Why it is never used: damaged, cut short; NULL: nothing is wrong with it. */
    uint64_t size_bytes;     /**< The size of the file. */
    int64_t used_s;          /**< When it was last used, in seconds since 1970. */
    bool is_of_this_library; /**< This build of libndr wrote it. Other builds' entries are not used. */
    NDR_MAY_GROW
} ndr_cache_entry;

/** Receives a file of the store; true removes it. The entry and its texts are valid during the call only. */
typedef bool ndr_cache_visitor(const ndr_cache_entry *entry, void *user);

/** Call `visitor` for each file of libndr's in the store that contexts created now would use, in any order. Each is read
 * and its checksum compared. No device is needed. Files of others in the folder are not visited. Programs may use
 * the store meanwhile; they build again what is removed.
 *
 * NDR_NOT_KEPT: the store is off, the folder belongs to another user or others may write to it, or a file cannot be
 * removed; then the sentence names the first such file, and all others have been visited. */
NDR_MUST_CHECK ndr_status ndr_cache_visit(ndr_cache_visitor *visitor, void *user);

#ifdef __cplusplus
}
#endif

#include "ndr/ndr_sized.h"

#include "ndr/ndr_args.h"

#endif
