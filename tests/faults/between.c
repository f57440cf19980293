/* between.c - intercepts calls between libndr and the driver.
 *
 * The functions below replace the loader's in libndr's table and pass calls on. The linker's
 * --wrap adds those around the allocator. */
#include "faults/between.h"

#include <pthread.h>

#define AS_NAME(function) [CALL_##function] = #function,
const char *const call_names[CALLS] = { NDR_CL_FUNCTIONS(AS_NAME, AS_NAME)[CALL_malloc] = "malloc" };

size_t calls[CALLS];
alive now;
size_t items_enqueued, largest_group;
ndr_wait_list waits_enqueued;
cl_kernel_arg_address_qualifier image_space;
cl_kernel_arg_access_qualifier image_access;
bool platforms_twice, wants_whole_pitches;
size_t free_kib;

void *__real_malloc(size_t bytes);

/* ---- what to refuse ---- */

static struct {
    call kind;
    bool also[CALLS];
    size_t passing;
    cl_int code;
    bool has_refused;
} plan;

void refuse(call kind, size_t passing, cl_int code)
{
    memset(&plan, 0, sizeof plan);
    plan.kind = kind;
    plan.passing = passing;
    plan.code = code;
}

void refuse_also(call kind) { plan.also[kind] = true; }

bool refuse_none(void)
{
    const bool has_refused = plan.has_refused;
    refuse(NO_CALL, 0, CL_SUCCESS);
    return has_refused;
}

/* Calls of libndr's own threads, as those of host tasks, are neither refused nor counted. */
static pthread_t test_thread;

static bool is_refused(call kind)
{
    if (!pthread_equal(pthread_self(), test_thread)) return false;
    ++calls[kind];
    if (plan.also[kind]) return true;
    if (plan.kind != kind || plan.has_refused) return false;
    plan.has_refused = plan.passing == 0;
    if (!plan.has_refused) --plan.passing;
    return plan.has_refused;
}

/* ---- hooks ---- */

static ndr_cl_functions loader;

/* A function for the table; `NEXT` is the loader's. */
#define HOOK(type, name, parameters, ...)           \
    static type CL_API_CALL hook_##name parameters  \
    {                                               \
        __typeof__(name) *const NEXT = loader.name; \
        __VA_ARGS__                                 \
    }

/* A hook that may refuse the call. Otherwise it runs the last argument, or passes the call's arguments on. */
#define REFUSABLE(name, parameters, ...) \
    HOOK(cl_int, name, parameters, if (is_refused(CALL_##name)) return plan.code; __VA_ARGS__)
#define PASSES(name, parameters, ...) REFUSABLE(name, parameters, return NEXT(__VA_ARGS__);)

static cl_int counted(cl_int error, long *count, int change)
{
    if (error == CL_SUCCESS) __atomic_fetch_add(count, change, __ATOMIC_RELAXED);
    return error;
}

#define RETAINS(name, type, count) REFUSABLE(name, (type object), return counted(NEXT(object), &now.count, 1);)
#define RELEASES(name, type, count) HOOK(cl_int, name, (type object), return counted(NEXT(object), &now.count, -1);)

/* A hook for functions that return a new object, and the error code through their last parameter. */
#define MAKES(type, count, name, parameters, ...)                            \
    HOOK(type, name, parameters,                                             \
         if (is_refused(CALL_##name)) return *error = plan.code, (type)NULL; \
         const type made = NEXT(__VA_ARGS__);                                \
         counted(*error, &now.count, 1);                                     \
         return made;)

/* The last parameters of all commands. */
#define LIST cl_uint count, const cl_event *list, cl_event *event

static cl_int enqueued(cl_int error, cl_uint count, const cl_event *list, const cl_event *event)
{
    waits_enqueued = (ndr_wait_list){ count, list };
    return counted(error, &now.events, event != NULL);
}

#define ENQUEUES(name, parameters, ...) \
    REFUSABLE(name, parameters, return enqueued(NEXT(__VA_ARGS__, count, list, event), count, list, event);)

/* No command blocks in the call that enqueues it, but reads where the device has its own memory. */
static cl_bool not_blocking(cl_command_queue q, cl_bool waits)
{
    cl_device_id of;
    cl_bool shares = CL_TRUE;
    if (!waits) return waits;
    assert_int_equal(loader.clGetCommandQueueInfo(q, CL_QUEUE_DEVICE, sizeof of, &of, NULL), CL_SUCCESS);
    assert_int_equal(loader.clGetDeviceInfo(of, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof shares, &shares, NULL),
                     CL_SUCCESS);
    assert_false(shares);
    return waits;
}

/* ---- objects ---- */

/* The process keeps the parts, also those that a test has forgotten: PoCL 3 may still use them. */
typedef struct kept_part {
    struct kept_part *next;
    cl_device_id part;
} kept_part;

static kept_part *kept_parts;

static cl_int keep_parts(cl_int code, const cl_device_id *made, const cl_uint *count)
{
    for (cl_uint i = 0; code == CL_SUCCESS && i < *count; ++i) {
        kept_part *const kept = __real_malloc(sizeof *kept);
        assert_non_null(kept);
        *kept = (kept_part){ kept_parts, made[i] };
        kept_parts = kept;
    }
    return code;
}

REFUSABLE(clCreateSubDevices,
          (cl_device_id d, const cl_device_partition_property *how, cl_uint capacity, cl_device_id *made, cl_uint *count),
          return keep_parts(NEXT(d, how, capacity, made, count), made, count);)
MAKES(cl_context, contexts, clCreateContext,
      (const cl_context_properties *p, cl_uint count, const cl_device_id *devices,
       void(CL_CALLBACK *tell)(const char *, const void *, size_t, void *), void *data, cl_int *error),
      p, count, devices, tell, data, error)
MAKES(cl_command_queue, queues, clCreateCommandQueue,
      (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *error), c, d, p, error)
MAKES(cl_mem, buffers, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t bytes, void *host, cl_int *error), c, f,
      bytes, host, error)
MAKES(cl_mem, buffers, clCreateBufferWithProperties,
      (cl_context c, const cl_mem_properties *p, cl_mem_flags f, size_t bytes, void *host, cl_int *error), c, p, f, bytes,
      host, error)
MAKES(cl_mem, buffers, clCreateSubBuffer,
      (cl_mem m, cl_mem_flags f, cl_buffer_create_type type, const void *region, cl_int *error), m, f, type, region,
      error)
MAKES(cl_mem, buffers, clCreateImage,
      (cl_context c, cl_mem_flags f, const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *error),
      c, f, format, desc, host, error)
MAKES(cl_sampler, samplers, clCreateSampler,
      (cl_context c, cl_bool normalized, cl_addressing_mode mode, cl_filter_mode filter, cl_int *error), c, normalized,
      mode, filter, error)
MAKES(cl_program, programs, clCreateProgramWithSource,
      (cl_context c, cl_uint count, const char **texts, const size_t *lengths, cl_int *error), c, count, texts,
      lengths, error)
MAKES(cl_program, programs, clCreateProgramWithBinary,
      (cl_context c, cl_uint count, const cl_device_id *devices, const size_t *lengths, const unsigned char **binaries,
       cl_int *status, cl_int *error),
      c, count, devices, lengths, binaries, status, error)
MAKES(cl_program, programs, clCreateProgramWithIL, (cl_context c, const void *module, size_t bytes, cl_int *error), c,
      module, bytes, error)
MAKES(cl_program, programs, clLinkProgram,
      (cl_context c, cl_uint count, const cl_device_id *devices, const char *options, cl_uint parts,
       const cl_program *list, void(CL_CALLBACK *then)(cl_program, void *), void *data, cl_int *error),
      c, count, devices, options, parts, list, then, data, error)
MAKES(cl_kernel, kernels, clCreateKernel, (cl_program p, const char *name, cl_int *error), p, name, error)

HOOK(cl_event, clCreateUserEvent, (cl_context c, cl_int *error),
     if (is_refused(CALL_clCreateUserEvent)) return *error = plan.code, (cl_event)NULL;
     const cl_event made = NEXT(c, error);
     counted(*error, &now.events, 1);
     counted(*error, &now.gates, 1);
     return made;)

RETAINS(clRetainContext, cl_context, contexts)
RETAINS(clRetainCommandQueue, cl_command_queue, queues)
RETAINS(clRetainMemObject, cl_mem, buffers)
RETAINS(clRetainSampler, cl_sampler, samplers)
RETAINS(clRetainKernel, cl_kernel, kernels)
RETAINS(clRetainEvent, cl_event, events)
RELEASES(clReleaseContext, cl_context, contexts)
RELEASES(clReleaseCommandQueue, cl_command_queue, queues)
RELEASES(clReleaseMemObject, cl_mem, buffers)
RELEASES(clReleaseSampler, cl_sampler, samplers)
RELEASES(clReleaseProgram, cl_program, programs)
RELEASES(clReleaseKernel, cl_kernel, kernels)
RELEASES(clReleaseEvent, cl_event, events)

/* ---- queries ---- */

#define ANSWER size_t bytes, void *value, size_t *needed
#define ANSWERS(name, type) PASSES(name, (type x, cl_uint what, ANSWER), x, what, bytes, value, needed)

ANSWERS(clGetPlatformInfo, cl_platform_id)
ANSWERS(clGetContextInfo, cl_context)
ANSWERS(clGetCommandQueueInfo, cl_command_queue)
ANSWERS(clGetMemObjectInfo, cl_mem)
ANSWERS(clGetImageInfo, cl_mem)
ANSWERS(clGetSamplerInfo, cl_sampler)
ANSWERS(clGetProgramInfo, cl_program)
ANSWERS(clGetKernelInfo, cl_kernel)
ANSWERS(clGetEventInfo, cl_event)
ANSWERS(clGetEventProfilingInfo, cl_event)
REFUSABLE(clGetDeviceInfo, (cl_device_id d, cl_uint what, ANSWER),
          if (!free_kib || what != CL_DEVICE_GLOBAL_FREE_MEMORY_AMD) return NEXT(d, what, bytes, value, needed);
          assert_true(bytes >= sizeof free_kib);
          memcpy(value, &free_kib, sizeof free_kib);
          return CL_SUCCESS;)
PASSES(clGetProgramBuildInfo, (cl_program p, cl_device_id d, cl_uint what, ANSWER), p, d, what, bytes, value, needed)
PASSES(clGetKernelSubGroupInfo, (cl_kernel k, cl_device_id d, cl_uint what, size_t given, const void *input, ANSWER), k,
       d, what, given, input, bytes, value, needed)
PASSES(clGetDeviceAndHostTimer, (cl_device_id d, cl_ulong *on_device, cl_ulong *on_host), d, on_device, on_host)
PASSES(clGetDeviceIDs, (cl_platform_id p, cl_device_type type, cl_uint most, cl_device_id *devices, cl_uint *count), p,
       type, most, devices, count)
REFUSABLE(clGetPlatformIDs, (cl_uint most, cl_platform_id *platforms, cl_uint *count),
          const cl_int error = NEXT(most, platforms, count);
          if (error != CL_SUCCESS || !platforms_twice) return error;
          assert_true(2 * *count <= most);
          memcpy(platforms + *count, platforms, *count * sizeof *platforms);
          *count *= 2;
          return error;)
REFUSABLE(clGetKernelArgInfo, (cl_kernel k, cl_uint index, cl_uint what, ANSWER),
          cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_NONE;
          if (image_space) NEXT(k, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, NULL);
          const cl_int error = NEXT(k, index, what, bytes, value, needed);
          if (access != CL_KERNEL_ARG_ACCESS_NONE && what == CL_KERNEL_ARG_ADDRESS_QUALIFIER && value)
              *(cl_kernel_arg_address_qualifier *)value = image_space;
          if (access != CL_KERNEL_ARG_ACCESS_NONE && what == CL_KERNEL_ARG_ACCESS_QUALIFIER && value)
              *(cl_kernel_arg_access_qualifier *)value = image_access;
          return error;)
REFUSABLE(clGetKernelWorkGroupInfo, (cl_kernel k, cl_device_id d, cl_uint what, ANSWER),
          const cl_int error = NEXT(k, d, what, bytes, value, needed);
          if (largest_group && what == CL_KERNEL_WORK_GROUP_SIZE && error == CL_SUCCESS && bytes >= sizeof(size_t))
              *(size_t *)value = largest_group;
          return error;)

/* ---- all others except commands ---- */

PASSES(clBuildProgram,
       (cl_program p, cl_uint count, const cl_device_id *devices, const char *options,
        void(CL_CALLBACK *then)(cl_program, void *), void *data),
       p, count, devices, options, then, data)
PASSES(clGetSupportedImageFormats,
       (cl_context c, cl_mem_flags f, cl_mem_object_type type, cl_uint most, cl_image_format *formats, cl_uint *count), c,
       f, type, most, formats, count)
PASSES(clCompileProgram,
       (cl_program p, cl_uint count, const cl_device_id *devices, const char *options, cl_uint headers,
        const cl_program *list, const char **names, void(CL_CALLBACK *then)(cl_program, void *), void *data),
       p, count, devices, options, headers, list, names, then, data)
PASSES(clSetKernelArg, (cl_kernel k, cl_uint index, size_t bytes, const void *value), k, index, bytes, value)
PASSES(clFlush, (cl_command_queue q), q)
PASSES(clFinish, (cl_command_queue q), q)
REFUSABLE(clSetUserEventStatus, (cl_event e, cl_int state), return counted(NEXT(e, state), &now.gates, -1);)
PASSES(clWaitForEvents, (cl_uint count, const cl_event *list), count, list)

/* ---- shared memory ---- */

HOOK(void *, clSVMAlloc, (cl_context c, cl_svm_mem_flags f, size_t bytes, cl_uint align),
     if (is_refused(CALL_clSVMAlloc)) return NULL;
     void *const made = NEXT(c, f, bytes, align);
     now.shared += made != NULL;
     return made;)
HOOK(void, clSVMFree, (cl_context c, void *memory), NEXT(c, memory); --now.shared;)
HOOK(void *, clGetExtensionFunctionAddressForPlatform, (cl_platform_id p, const char *name),
     return is_refused(CALL_clGetExtensionFunctionAddressForPlatform) ? NULL : NEXT(p, name);)
PASSES(clSetKernelArgSVMPointer, (cl_kernel k, cl_uint index, const void *pointer), k, index, pointer)
PASSES(clSetKernelExecInfo, (cl_kernel k, cl_kernel_exec_info what, size_t bytes, const void *value), k, what, bytes,
       value)

/* ---- commands ---- */

ENQUEUES(clEnqueueSVMMap, (cl_command_queue q, cl_bool waits, cl_map_flags f, void *start, size_t bytes, LIST), q,
         not_blocking(q, waits), f, start, bytes)
ENQUEUES(clEnqueueSVMUnmap, (cl_command_queue q, void *start, LIST), q, start)
ENQUEUES(clEnqueueSVMMemcpy, (cl_command_queue q, cl_bool waits, void *to, const void *from, size_t bytes, LIST), q,
         not_blocking(q, waits), to, from, bytes)
ENQUEUES(clEnqueueSVMMigrateMem,
         (cl_command_queue q, cl_uint spans, const void **starts, const size_t *bytes, cl_mem_migration_flags f, LIST), q,
         spans, starts, bytes, f)

ENQUEUES(clEnqueueMarkerWithWaitList, (cl_command_queue q, LIST), q)
ENQUEUES(clEnqueueBarrierWithWaitList, (cl_command_queue q, LIST), q)
ENQUEUES(clEnqueueFillBuffer,
         (cl_command_queue q, cl_mem m, const void *pattern, size_t pattern_bytes, size_t offset, size_t bytes, LIST),
         q, m, pattern, pattern_bytes, offset, bytes)
ENQUEUES(clEnqueueCopyBuffer,
         (cl_command_queue q, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t bytes, LIST), q,
         from, to, from_offset, to_offset, bytes)

static const size_t *count_items(cl_uint dims, const size_t *global)
{
    size_t items = 1;
    for (cl_uint d = 0; d < dims; ++d) items *= global[d];
    items_enqueued += items;
    return global;
}

ENQUEUES(clEnqueueNDRangeKernel,
         (cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset, const size_t *global,
          const size_t *local, LIST),
         q, k, dims, offset, count_items(dims, global), local)

HOOK(void *, clEnqueueMapBuffer,
     (cl_command_queue q, cl_mem m, cl_bool waits, cl_map_flags f, size_t offset, size_t bytes, LIST, cl_int *error),
     if (is_refused(CALL_clEnqueueMapBuffer)) return *error = plan.code, NULL;
     void *const mapped = NEXT(q, m, not_blocking(q, waits), f, offset, bytes, count, list, event, error);
     counted(*error, &now.mappings, 1);
     enqueued(*error, count, list, event);
     return mapped;)
HOOK(void *, clEnqueueMapImage,
     (cl_command_queue q, cl_mem m, cl_bool waits, cl_map_flags f, const size_t *origin, const size_t *extent, size_t *row,
      size_t *slice, LIST, cl_int *error),
     if (is_refused(CALL_clEnqueueMapImage)) return *error = plan.code, NULL;
     void *const mapped = NEXT(q, m, not_blocking(q, waits), f, origin, extent, row, slice, count, list, event, error);
     counted(*error, &now.mappings, 1);
     enqueued(*error, count, list, event);
     return mapped;)
REFUSABLE(clEnqueueUnmapMemObject, (cl_command_queue q, cl_mem m, void *mapped, LIST),
          const cl_int error = counted(NEXT(q, m, mapped, count, list, event), &now.mappings, -1);
          return enqueued(error, count, list, event);)

#define TRANSFERS(name, host_type)                                                                              \
    HOOK(cl_int, name,                                                                                          \
         (cl_command_queue q, cl_mem m, cl_bool waits, size_t offset, size_t bytes, host_type host, LIST),      \
         const bool is_refused_now = is_refused(CALL_##name);                                                   \
         if (is_refused_now) return plan.code;                                                                  \
         return enqueued(NEXT(q, m, not_blocking(q, waits), offset, bytes, host, count, list, event), count, list, \
                         event);)

static bool passes_end(cl_mem m, const size_t *origin, const size_t *extent, size_t row, size_t plane)
{
    size_t bytes = 0;
    assert_int_equal(loader.clGetMemObjectInfo(m, CL_MEM_SIZE, sizeof bytes, &bytes, NULL), CL_SUCCESS);
    const size_t end = plane ? (origin[2] + extent[2]) * plane : (origin[1] + extent[1]) * row;
    return wants_whole_pitches && end > bytes;
}

/* Passes the call on, unless the rectangle is `cut`. */
#define ENQUEUES_RECT(name, parameters, cut, ...)                                             \
    REFUSABLE(name, parameters, if (cut) return CL_INVALID_VALUE;                             \
              return enqueued(NEXT(__VA_ARGS__, count, list, event), count, list, event);)

#define TRANSFERS_RECT(name, host_type)                                                                          \
    ENQUEUES_RECT(name,                                                                                          \
             (cl_command_queue q, cl_mem m, cl_bool waits, const size_t *in_buffer, const size_t *in_host,       \
              const size_t *extent, size_t row, size_t plane, size_t host_row, size_t host_plane, host_type host, \
              LIST),                                                                                             \
             passes_end(m, in_buffer, extent, row, plane),                                                       \
             q, m, not_blocking(q, waits), in_buffer, in_host, extent, row, plane, host_row, host_plane, host)

TRANSFERS_RECT(clEnqueueWriteBufferRect, const void *)
TRANSFERS_RECT(clEnqueueReadBufferRect, void *)
#define TRANSFERS_IMAGE(name, host_type)                                                                     \
    ENQUEUES(name,                                                                                           \
             (cl_command_queue q, cl_mem m, cl_bool waits, const size_t *origin, const size_t *extent, size_t row, \
              size_t slice, host_type host, LIST),                                                           \
             q, m, not_blocking(q, waits), origin, extent, row, slice, host)

TRANSFERS_IMAGE(clEnqueueReadImage, void *)
TRANSFERS_IMAGE(clEnqueueWriteImage, const void *)
ENQUEUES(clEnqueueFillImage,
         (cl_command_queue q, cl_mem m, const void *value, const size_t *origin, const size_t *extent, LIST), q, m, value,
         origin, extent)
ENQUEUES(clEnqueueCopyImage,
         (cl_command_queue q, cl_mem from, cl_mem to, const size_t *in_from, const size_t *in_to, const size_t *extent,
          LIST),
         q, from, to, in_from, in_to, extent)
ENQUEUES_RECT(clEnqueueCopyBufferRect,
         (cl_command_queue q, cl_mem from, cl_mem to, const size_t *in_from, const size_t *in_to, const size_t *extent,
          size_t from_row, size_t from_plane, size_t to_row, size_t to_plane, LIST),
         passes_end(from, in_from, extent, from_row, from_plane) || passes_end(to, in_to, extent, to_row, to_plane),
         q, from, to, in_from, in_to, extent, from_row, from_plane, to_row, to_plane)
TRANSFERS(clEnqueueWriteBuffer, const void *)
TRANSFERS(clEnqueueReadBuffer, void *)

/* ---- the table ---- */

/* Tests that need no loader also run without one. */
__attribute__((constructor)) static void hook_all(void)
{
    test_thread = pthread_self();
    if (ndr_cl_open() != NDR_OK) return;
    loader = ndr_cl;
#define SET_HOOK(name) ndr_cl.name = hook_##name;
    NDR_CL_FUNCTIONS(SET_HOOK, SET_HOOK)
}

/* ---- memory ---- */

void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);

static void *counted_block(void *made)
{
    __atomic_fetch_add(&now.blocks, made != NULL, __ATOMIC_RELAXED);
    return made;
}

void *__wrap_malloc(size_t bytes) { return is_refused(CALL_malloc) ? NULL : counted_block(__real_malloc(bytes)); }

void *__wrap_calloc(size_t count, size_t bytes)
{
    return is_refused(CALL_malloc) ? NULL : counted_block(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (is_refused(CALL_malloc)) return NULL;
    void *const made = __real_realloc(memory, bytes);
    return memory ? made : counted_block(made);
}

void __wrap_free(void *memory)
{
    __atomic_fetch_sub(&now.blocks, memory != NULL, __ATOMIC_RELAXED);
    __real_free(memory);
}

/* ---- threads ---- */

atomic_int threads_running;

typedef struct start {
    void *(*run)(void *);
    void *argument;
} start;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument);

static void *run_counted(void *start_)
{
    const start s = *(start *)start_;
    __real_free(start_);
    void *const result = s.run(s.argument);
    atomic_fetch_sub(&threads_running, 1);
    return result;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument)
{
    start *s = __real_malloc(sizeof *s);
    assert_non_null(s);
    *s = (start){ run, argument };
    atomic_fetch_add(&threads_running, 1);
    const int error = __real_pthread_create(thread, how, run_counted, s);
    if (error == 0) return 0;
    atomic_fetch_sub(&threads_running, 1);
    __real_free(s);
    return error;
}
