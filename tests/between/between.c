/* between.c - stands between libndr and the driver.
 *
 * The functions below take the places of the loader's in libndr's table and pass calls on. Those around the allocator are
 * brought in by the linker's --wrap. */
#include "between/between.h"

#define AS_NAME(kind, name) [kind] = #name,
const char *const call_names[CALLS] = { CALLS_OF_LIBNDR(AS_NAME)[ALLOCATE] = "malloc" };

size_t calls[CALLS];
alive now;
size_t items_enqueued, largest_group;
cl_kernel_arg_address_qualifier image_space;
cl_kernel_arg_access_qualifier image_access;
bool platforms_twice;

/* ---- what to refuse ---- */

static struct {
    call kind;
    bool also[CALLS];
    size_t passing;
    cl_int code;
    bool afterwards, has_refused;
} plan;

void refuse(call kind, size_t passing, cl_int code)
{
    memset(&plan, 0, sizeof plan);
    plan.kind = kind;
    plan.passing = passing;
    plan.code = code;
}

void refuse_afterwards(call kind, size_t passing, cl_int code)
{
    refuse(kind, passing, code);
    plan.afterwards = true;
}

void refuse_also(call kind) { plan.also[kind] = true; }

bool refuse_none(void)
{
    const bool has_refused = plan.has_refused;
    refuse(NO_CALL, 0, CL_SUCCESS);
    return has_refused;
}

static bool is_refused(call kind)
{
    ++calls[kind];
    if (plan.also[kind]) return true;
    if (plan.kind != kind || plan.has_refused) return false;
    plan.has_refused = plan.passing == 0;
    if (!plan.has_refused) --plan.passing;
    return plan.has_refused;
}

/* ---- OpenCL ---- */

static ndr_cl_functions loader;

/* `NEXT` is the loader's function; what comes last is done instead of it. */
#define STANDS_BEFORE(type, name, parameters, ...)    \
    static type CL_API_CALL before_##name parameters  \
    {                                                 \
        type(CL_API_CALL *const NEXT) parameters = loader.name; \
        __VA_ARGS__                                   \
    }

#define PASSES(kind, name, parameters, ...) \
    STANDS_BEFORE(cl_int, name, parameters, return is_refused(kind) ? plan.code : NEXT(__VA_ARGS__);)

#define COUNTED(change, call_)                 \
    const cl_int error_ = (call_);             \
    if (error_ == CL_SUCCESS) change;          \
    return error_;

#define RETAINS(kind, name, type, count) \
    STANDS_BEFORE(cl_int, name, (type object), if (is_refused(kind)) return plan.code; COUNTED(++count, NEXT(object)))

#define RELEASES(name, type, count) STANDS_BEFORE(cl_int, name, (type object), COUNTED(--count, NEXT(object)))

/* Of those that return what they make, and the code through their last parameter. */
#define MAKES(type, kind, count, name, parameters, ...)               \
    STANDS_BEFORE(type, name, parameters,                             \
                  if (is_refused(kind)) return *error = plan.code, (type)NULL; \
                  const type made = NEXT(__VA_ARGS__);                \
                  if (*error == CL_SUCCESS) ++count;                  \
                  return made;)

#define ENQUEUES(kind, name, parameters, ...)                             \
    STANDS_BEFORE(cl_int, name, parameters,                               \
                  if (is_refused(kind)) return plan.code;                 \
                  COUNTED(now.events += event != NULL, NEXT(__VA_ARGS__)))

MAKES(cl_context, CREATE_CONTEXT, now.contexts, clCreateContext,
      (const cl_context_properties *p, cl_uint count, const cl_device_id *devices,
       void(CL_CALLBACK *tell)(const char *, const void *, size_t, void *), void *data, cl_int *error),
      p, count, devices, tell, data, error)
MAKES(cl_command_queue, CREATE_QUEUE, now.queues, clCreateCommandQueue,
      (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *error), c, d, p, error)
MAKES(cl_mem, CREATE_BUFFER, now.buffers, clCreateBuffer,
      (cl_context c, cl_mem_flags f, size_t bytes, void *host, cl_int *error), c, f, bytes, host, error)
MAKES(cl_mem, CREATE_SUB_BUFFER, now.buffers, clCreateSubBuffer,
      (cl_mem m, cl_mem_flags f, cl_buffer_create_type type, const void *region, cl_int *error), m, f, type, region,
      error)
MAKES(cl_program, CREATE_PROGRAM, now.programs, clCreateProgramWithSource,
      (cl_context c, cl_uint count, const char **texts, const size_t *lengths, cl_int *error), c, count, texts,
      lengths, error)
MAKES(cl_kernel, CREATE_KERNEL, now.kernels, clCreateKernel, (cl_program p, const char *name, cl_int *error), p, name,
      error)

RETAINS(RETAIN_CONTEXT, clRetainContext, cl_context, now.contexts)
RETAINS(RETAIN_QUEUE, clRetainCommandQueue, cl_command_queue, now.queues)
RETAINS(RETAIN_MEM, clRetainMemObject, cl_mem, now.buffers)
RETAINS(RETAIN_KERNEL, clRetainKernel, cl_kernel, now.kernels)
RETAINS(RETAIN_EVENT, clRetainEvent, cl_event, now.events)
RELEASES(clReleaseContext, cl_context, now.contexts)
RELEASES(clReleaseCommandQueue, cl_command_queue, now.queues)
RELEASES(clReleaseMemObject, cl_mem, now.buffers)
RELEASES(clReleaseProgram, cl_program, now.programs)
RELEASES(clReleaseKernel, cl_kernel, now.kernels)
RELEASES(clReleaseEvent, cl_event, now.events)

#define PASSES_QUERY(kind, name, type) \
    PASSES(kind, name, (type x, cl_uint what, size_t bytes, void *value, size_t *needed), x, what, bytes, value, needed)

STANDS_BEFORE(cl_int, clGetPlatformIDs, (cl_uint most, cl_platform_id *platforms, cl_uint *count),
              if (is_refused(GET_PLATFORMS)) return plan.code;
              const cl_int error = NEXT(most, platforms, count);
              if (error != CL_SUCCESS || !platforms_twice) return error;
              assert_true(2 * *count <= most);
              memcpy(platforms + *count, platforms, *count * sizeof *platforms);
              *count *= 2;
              return error;)
PASSES(GET_DEVICES, clGetDeviceIDs,
       (cl_platform_id p, cl_device_type type, cl_uint most, cl_device_id *devices, cl_uint *count), p, type, most,
       devices, count)
PASSES_QUERY(GET_PLATFORM_INFO, clGetPlatformInfo, cl_platform_id)
PASSES_QUERY(GET_DEVICE_INFO, clGetDeviceInfo, cl_device_id)
PASSES_QUERY(GET_CONTEXT_INFO, clGetContextInfo, cl_context)
PASSES_QUERY(GET_QUEUE_INFO, clGetCommandQueueInfo, cl_command_queue)
PASSES_QUERY(GET_MEM_INFO, clGetMemObjectInfo, cl_mem)
PASSES_QUERY(GET_PROGRAM_INFO, clGetProgramInfo, cl_program)
PASSES_QUERY(GET_KERNEL_INFO, clGetKernelInfo, cl_kernel)
PASSES_QUERY(GET_EVENT_INFO, clGetEventInfo, cl_event)
PASSES_QUERY(GET_PROFILING_INFO, clGetEventProfilingInfo, cl_event)
PASSES(GET_BUILD_INFO, clGetProgramBuildInfo,
       (cl_program p, cl_device_id d, cl_program_build_info what, size_t bytes, void *value, size_t *needed), p, d,
       what, bytes, value, needed)
STANDS_BEFORE(cl_int, clGetKernelArgInfo,
              (cl_kernel k, cl_uint index, cl_kernel_arg_info what, size_t bytes, void *value, size_t *needed),
              if (is_refused(GET_ARG_INFO)) return plan.code;
              cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_NONE;
              if (image_space) NEXT(k, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, NULL);
              const cl_int error = NEXT(k, index, what, bytes, value, needed);
              if (access != CL_KERNEL_ARG_ACCESS_NONE && what == CL_KERNEL_ARG_ADDRESS_QUALIFIER && value)
                  *(cl_kernel_arg_address_qualifier *)value = image_space;
              if (access != CL_KERNEL_ARG_ACCESS_NONE && what == CL_KERNEL_ARG_ACCESS_QUALIFIER && value)
                  *(cl_kernel_arg_access_qualifier *)value = image_access;
              return error;)
STANDS_BEFORE(cl_int, clGetKernelWorkGroupInfo,
              (cl_kernel k, cl_device_id d, cl_kernel_work_group_info what, size_t bytes, void *value, size_t *needed),
              if (is_refused(GET_GROUP_INFO)) return plan.code;
              const cl_int error = NEXT(k, d, what, bytes, value, needed);
              if (largest_group && what == CL_KERNEL_WORK_GROUP_SIZE && error == CL_SUCCESS && bytes >= sizeof(size_t))
                  *(size_t *)value = largest_group;
              return error;)
PASSES(GET_SUB_GROUP_INFO, clGetKernelSubGroupInfo,
       (cl_kernel k, cl_device_id d, cl_kernel_sub_group_info what, size_t given, const void *input, size_t bytes,
        void *value, size_t *needed),
       k, d, what, given, input, bytes, value, needed)
PASSES(BUILD, clBuildProgram,
       (cl_program p, cl_uint count, const cl_device_id *devices, const char *options,
        void(CL_CALLBACK *then)(cl_program, void *), void *data),
       p, count, devices, options, then, data)
PASSES(SET_ARG, clSetKernelArg, (cl_kernel k, cl_uint index, size_t bytes, const void *value), k, index, bytes, value)
PASSES(FLUSH, clFlush, (cl_command_queue q), q)
PASSES(FINISH, clFinish, (cl_command_queue q), q)
PASSES(WAIT, clWaitForEvents, (cl_uint count, const cl_event *list), count, list)

ENQUEUES(MARK, clEnqueueMarkerWithWaitList,
         (cl_command_queue q, cl_uint count, const cl_event *list, cl_event *event), q, count, list, event)
ENQUEUES(FILL, clEnqueueFillBuffer,
         (cl_command_queue q, cl_mem m, const void *pattern, size_t pattern_bytes, size_t offset, size_t bytes,
          cl_uint count, const cl_event *list, cl_event *event),
         q, m, pattern, pattern_bytes, offset, bytes, count, list, event)
ENQUEUES(COPY, clEnqueueCopyBuffer,
         (cl_command_queue q, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t bytes,
          cl_uint count, const cl_event *list, cl_event *event),
         q, from, to, from_offset, to_offset, bytes, count, list, event)

/* ---- launches ---- */

static const size_t *count_items(cl_uint dims, const size_t *global)
{
    size_t items = 1;
    for (cl_uint d = 0; d < dims; ++d) items *= global[d];
    items_enqueued += items;
    return global;
}

ENQUEUES(ENQUEUE, clEnqueueNDRangeKernel,
         (cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset, const size_t *global,
          const size_t *local, cl_uint count, const cl_event *list, cl_event *event),
         q, k, dims, offset, count_items(dims, global), local, count, list, event)

/* ---- mappings ---- */

STANDS_BEFORE(void *, clEnqueueMapBuffer,
              (cl_command_queue q, cl_mem m, cl_bool waits, cl_map_flags f, size_t offset, size_t bytes,
               cl_uint count, const cl_event *list, cl_event *event, cl_int *error),
              if (is_refused(MAP)) return *error = plan.code, NULL;
              void *const mapped = NEXT(q, m, waits, f, offset, bytes, count, list, event, error);
              if (*error == CL_SUCCESS) ++now.mappings;
              if (*error == CL_SUCCESS && event) ++now.events;
              return mapped;)
STANDS_BEFORE(cl_int, clEnqueueUnmapMemObject,
              (cl_command_queue q, cl_mem m, void *mapped, cl_uint count, const cl_event *list, cl_event *event),
              if (is_refused(UNMAP)) return plan.code;
              COUNTED(--now.mappings, NEXT(q, m, mapped, count, list, event)))

/* ---- transfers ---- */

#define TRANSFERS(kind, name, host_type)                                                                  \
    STANDS_BEFORE(cl_int, name,                                                                           \
                  (cl_command_queue q, cl_mem m, cl_bool waits, size_t offset, size_t bytes,              \
                   host_type host, cl_uint count, const cl_event *list, cl_event *event),                 \
                  if (is_refused(kind)) {                                                                 \
                      if (plan.afterwards) NEXT(q, m, CL_FALSE, offset, bytes, host, count, list, NULL);  \
                      return plan.code;                                                                   \
                  }                                                                                       \
                  COUNTED(now.events += event != NULL, NEXT(q, m, waits, offset, bytes, host, count, list, event)))

TRANSFERS(WRITE, clEnqueueWriteBuffer, const void *)
TRANSFERS(READ, clEnqueueReadBuffer, void *)

/* ---- the table ---- */

/* Without a loader there is nothing to stand before; tests that need none run all the same. */
__attribute__((constructor)) static void take_places(void)
{
    if (ndr_cl_open() != NDR_OK) return;
    loader = ndr_cl;
#define TAKE_PLACE(name) ndr_cl.name = before_##name;
    NDR_CL_FUNCTIONS(TAKE_PLACE, TAKE_PLACE)
}

/* ---- memory ---- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);

static void *counted(void *made)
{
    now.blocks += made != NULL;
    return made;
}

void *__wrap_malloc(size_t bytes) { return is_refused(ALLOCATE) ? NULL : counted(__real_malloc(bytes)); }

void *__wrap_calloc(size_t count, size_t bytes)
{
    return is_refused(ALLOCATE) ? NULL : counted(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (is_refused(ALLOCATE)) return NULL;
    void *const made = __real_realloc(memory, bytes);
    return memory ? made : counted(made);
}

void __wrap_free(void *memory)
{
    now.blocks -= memory != NULL;
    __real_free(memory);
}
