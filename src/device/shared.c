/* shared.c - shared allocations: memory with one address for the host and the device. */
#include "device/buffer.h"
#include "device/check.h"
#include "device/context.h"
#include "device/queue.h"
#include "device/shared.h"
#include "device/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kinds ---- */

/* What the device's property `what` says of a kind, in bits. */
typedef struct kind_row {
    const char *name, *allocate; /* `allocate` NULL: clSVMAlloc() */
    cl_device_info what;
    cl_bitfield has, is_concurrent, has_atomics;
    cl_kernel_exec_info indirect; /* declares that a kernel reaches memory of the kind; 0: by its address */
} kind_row;

#define USM_ROW(name, allocate, what, indirect)                                           \
    {                                                                                     \
        name, allocate, what, CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL,                      \
            CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL,                             \
            CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ATOMIC_ACCESS_INTEL, indirect             \
    }

static const kind_row kinds[] = {
    [NDR_SHARED_COARSE] = { "COARSE", NULL, CL_DEVICE_SVM_CAPABILITIES, CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, 0, 0, 0 },
    [NDR_SHARED_FINE] = { "FINE", NULL, CL_DEVICE_SVM_CAPABILITIES, CL_DEVICE_SVM_FINE_GRAIN_BUFFER,
                          CL_DEVICE_SVM_FINE_GRAIN_BUFFER, CL_DEVICE_SVM_ATOMICS, 0 },
    [NDR_SHARED_HOST] = USM_ROW("HOST", "clHostMemAllocINTEL", CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL,
                                CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL),
    [NDR_SHARED_DEVICE] = USM_ROW("DEVICE", "clDeviceMemAllocINTEL", CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL,
                                  CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL),
    [NDR_SHARED_MIGRATED] =
        USM_ROW("MIGRATED", "clSharedMemAllocINTEL", CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
                CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL),
};

enum { KINDS = NDR_COUNT_OF(kinds) };

static bool is_of_opencl_2(ndr_shared_kind kind) { return kinds[kind].allocate == NULL; }

/* A driver may lack the functions of a newer version than the device's; the loader has them and would call NULL. */
static bool has_functions(const ndr_context *context, ndr_shared_kind kind)
{
    if (!is_of_opencl_2(kind)) return ndr_cl.clGetExtensionFunctionAddressForPlatform != NULL;
    return context->caps.cl_version >= 200 && ndr_cl.clSVMAlloc && ndr_cl.clSVMFree && ndr_cl.clSetKernelArgSVMPointer
           && ndr_cl.clSetKernelExecInfo && ndr_submit_knows_shared();
}

static ndr_status read_kind(const ndr_context *context, ndr_shared_kind kind, ndr_shared_info *info)
{
    const kind_row *row = &kinds[kind];
    cl_bitfield bits = 0;
    *info = (ndr_shared_info){ .kind = kind };
    if (!has_functions(context, kind)) return NDR_OK;
    const cl_int error = ndr_cl.clGetDeviceInfo(context->device, row->what, sizeof bits, &bits, NULL);
    if (error == CL_INVALID_VALUE) return NDR_OK;
    NDR_TRY_CL_AS("clGetDeviceInfo", error);
    if (!(bits & row->has)) return NDR_OK;
    info->is_available = true;
    info->is_host_accessible = kind != NDR_SHARED_DEVICE;
    info->needs_map = kind == NDR_SHARED_COARSE;
    info->is_concurrent = info->is_host_accessible && (bits & row->is_concurrent);
    info->has_atomics = info->is_host_accessible && (bits & row->has_atomics);
    return NDR_OK;
}

static ndr_status check_kind(const char *call, ndr_shared_kind kind)
{
    NDR_REQUIRE((unsigned)kind < KINDS,
                "%s: kind is %d, not an ndr_shared_kind; use NDR_SHARED_ANY or another one of ndr_shared.h", call,
                (int)kind);
    return NDR_OK;
}

ndr_status ndr_shared_get_info(const ndr_context *context, ndr_shared_kind kind, ndr_shared_info *info)
{
    static const ndr_shared_kind preferred[] = { NDR_SHARED_FINE, NDR_SHARED_MIGRATED, NDR_SHARED_COARSE };
    NDR_REQUIRE_SET(context, info);
    NDR_TRY(check_kind(__func__, kind));
    ndr_shared_info found = { .kind = NDR_SHARED_ANY };
    if (kind != NDR_SHARED_ANY) NDR_TRY(read_kind(context, kind, &found));
    else
        for (size_t i = 0; i < 3 && !found.is_available; ++i) NDR_TRY(read_kind(context, preferred[i], &found));
    if (kind == NDR_SHARED_ANY && !found.is_available) found.kind = NDR_SHARED_ANY;
    *info = found;
    return NDR_OK;
}

/* "COARSE, FINE" */
typedef struct kinds_text {
    char chars[64];
} kinds_text;

static ndr_status print_kinds(const ndr_context *context, kinds_text *out)
{
    ndr_shared_info info;
    out->chars[0] = 0;
    for (int kind = NDR_SHARED_COARSE; kind < KINDS; ++kind) {
        const size_t used = strlen(out->chars);
        NDR_TRY(read_kind(context, (ndr_shared_kind)kind, &info));
        if (info.is_available)
            snprintf(out->chars + used, sizeof out->chars - used, "%s%s", used ? ", " : "", kinds[kind].name);
    }
    return NDR_OK;
}

static ndr_status refuse_kind(const ndr_context *context, ndr_shared_kind kind)
{
    const char *const device = context->caps.info.name;
    kinds_text has;
    NDR_TRY(print_kinds(context, &has));
    if (!has.chars[0])
        return ndr_fail(NDR_UNSUPPORTED,
                        "ndr_shared_create: device \"%s\" has no shared memory; use buffers, and indices instead of "
                        "pointers",
                        device);
    return ndr_fail(NDR_UNSUPPORTED,
                    "ndr_shared_create: device \"%s\" has no shared memory of the kind NDR_SHARED_%s; it has %s",
                    device, kind == NDR_SHARED_ANY ? "ANY" : kinds[kind].name, has.chars);
}

/* ---- creating ---- */

/* A function of the extension. It goes to `*function`, a pointer to a function. */
static ndr_status find_function(const ndr_context *context, const char *name, void *function)
{
    cl_platform_id platform = NULL;
    NDR_TRY_CL(clGetDeviceInfo(context->device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    void *const found = ndr_cl.clGetExtensionFunctionAddressForPlatform(platform, name);
    NDR_REQUIRE_AS(NDR_DRIVER_ERROR, found,
                   "ndr_shared_create: the driver offers cl_intel_unified_shared_memory, but "
                   "clGetExtensionFunctionAddressForPlatform finds no %s; use NDR_SHARED_COARSE or buffers",
                   name);
    memcpy(function, &found, sizeof found);
    return NDR_OK;
}

static ndr_status allocate_svm(ndr_shared *s, bool has_atomics, size_t size_bytes)
{
    const cl_svm_mem_flags fine = CL_MEM_SVM_FINE_GRAIN_BUFFER | (has_atomics ? CL_MEM_SVM_ATOMICS : 0);
    s->set_arg = ndr_cl.clSetKernelArgSVMPointer;
    s->base = ndr_cl.clSVMAlloc(s->context->cl, CL_MEM_READ_WRITE | (s->kind == NDR_SHARED_FINE ? fine : 0), size_bytes,
                                0);
    if (s->base) return NDR_OK;
    return ndr_fail_memory(s->context, ndr_fail(NDR_OUT_OF_DEVICE_MEMORY, "clSVMAlloc returned NULL"), s->size_bytes);
}

static ndr_status allocate_usm(ndr_shared *s, size_t size_bytes)
{
    ndr_context *const c = s->context;
    clHostMemAllocINTEL_fn for_host;
    clDeviceMemAllocINTEL_fn for_device; /* clSharedMemAllocINTEL has the same type */
    NDR_TRY(find_function(c, ndr_shared_copier_name, &s->copy));
    NDR_TRY(find_function(c, "clSetKernelArgMemPointerINTEL", &s->set_arg));
    NDR_TRY(find_function(c, "clMemFreeINTEL", &s->free));
    cl_int error;
    if (s->kind == NDR_SHARED_HOST) {
        NDR_TRY(find_function(c, kinds[s->kind].allocate, &for_host));
        s->base = for_host(c->cl, NULL, size_bytes, 0, &error);
    } else {
        NDR_TRY(find_function(c, kinds[s->kind].allocate, &for_device));
        s->base = for_device(c->cl, c->device, NULL, size_bytes, 0, &error);
    }
    if (error == CL_SUCCESS && s->base) return NDR_OK;
    s->base = NULL;
    return ndr_fail_memory(c, ndr_fail_cl(error, kinds[s->kind].allocate), s->size_bytes);
}

/* Drivers refuse 0 bytes. */
static ndr_status allocate(ndr_shared *s, bool has_atomics)
{
    const size_t zone = ndr_zones_size(s->context, s->size_bytes);
    const size_t bytes = ndr_max_size(zone + s->size_bytes + zone, 1);
    NDR_TRY(is_of_opencl_2(s->kind) ? allocate_svm(s, has_atomics, bytes) : allocate_usm(s, bytes));
    s->start = s->base + zone;
    return zone ? ndr_zones_add_shared(s) : NDR_OK;
}

ndr_status ndr_shared_create(ndr_context *context, ndr_shared_kind kind, size_t size_bytes, ndr_shared **shared)
{
    NDR_REQUIRE_SET(context, shared);
    NDR_TRY(check_kind(__func__, kind));
    ndr_shared_info info;
    NDR_TRY(ndr_shared_get_info(context, kind, &info));
    if (!info.is_available) return refuse_kind(context, kind);
    const size_t limit = context->caps.info.max_buffer_bytes;
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, size_bytes <= limit,
                   "ndr_shared_create: %zu bytes exceed the largest allocation of device \"%s\", %zu bytes: use "
                   "several allocations",
                   size_bytes, context->caps.info.name, limit);
    ndr_shared *made = ndr_handle_new(NDR_HANDLE_SHARED, sizeof *made, context->checker != NULL);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a shared allocation");
    atomic_init(&made->references, 1);
    made->context = ndr_context_keep(context);
    made->kind = info.kind;
    made->size_bytes = size_bytes;
    ndr_mappings_init(&made->mappings);
    ndr_users_init(&made->users);
    const ndr_status status = allocate(made, info.has_atomics);
    if (status == NDR_OK) *shared = made;
    else ndr_shared_release(made);
    return status;
}

void *ndr_shared_pointer(const ndr_shared *shared) { return NDR_IS_LIVE(shared) ? shared->start : NULL; }
size_t ndr_shared_size(const ndr_shared *shared) { return NDR_IS_LIVE(shared) ? shared->size_bytes : 0; }

/* ---- destroying ---- */

void ndr_shared_keep(ndr_shared *shared) { atomic_fetch_add(&shared->references, 1); }

void ndr_shared_release(ndr_shared *shared)
{
    if (atomic_fetch_sub(&shared->references, 1) > 1) return;
    ndr_unmap_all(shared->context, &shared->mappings, NULL);
    ndr_users_end(shared->context, &shared->users); /* OpenCL frees shared memory at once, also while work uses it */
    ndr_zones_release(shared->context, shared->zones);
    if (ndr_zones_are_copied(shared->context)) shared->base = NULL; /* the driver may still use it */
    if (shared->base && shared->free) (void)shared->free(shared->context->cl, shared->base);
    else if (shared->base) ndr_cl.clSVMFree(shared->context->cl, shared->base);
    ndr_mappings_destroy(&shared->mappings);
    ndr_context_release(shared->context);
    ndr_handle_free(shared);
}

void ndr_shared_destroy(ndr_shared *shared)
{
    if (ndr_handle_retire(NDR_HANDLE_SHARED, shared, __func__)) ndr_shared_release(shared);
}

/* ---- use by commands ---- */

bool ndr_shared_is_free(const ndr_shared *shared, bool device_writes)
{
    return ndr_mappings_allow(&shared->mappings, device_writes);
}

ndr_status ndr_shared_add_user(ndr_shared *shared, const ndr_queue *queue)
{
    return ndr_users_add(&shared->users, queue);
}

static cl_int declare_buffers(cl_kernel kernel, const ndr_arg *reached, size_t count, cl_ulong *addresses)
{
    size_t found = 0;
    for (size_t i = 0; i < count; ++i)
        if (reached[i].kind == NDR_ARG_REACHED_BUFFER) addresses[found++] = reached[i].as.buffer->address;
    if (found == 0) return CL_SUCCESS;
    return ndr_cl.clSetKernelExecInfo(kernel, NDR_KERNEL_EXEC_INFO_DEVICE_PTRS, found * sizeof *addresses, addresses);
}

/* For the extension this declares all allocations of a kind: the fault indirect_list_refused. */
static cl_int declare_shared(cl_kernel kernel, const ndr_arg *reached, size_t count, void **bases)
{
    static const cl_bool yes = CL_TRUE;
    size_t found = 0;
    for (size_t i = 0; i < count; ++i) {
        if (reached[i].kind != NDR_ARG_REACHED) continue;
        const ndr_shared *s = reached[i].as.shared.allocation;
        const cl_kernel_exec_info name = kinds[s->kind].indirect;
        const cl_int error = name ? ndr_cl.clSetKernelExecInfo(kernel, name, sizeof yes, &yes) : CL_SUCCESS;
        if (error != CL_SUCCESS) return error;
        if (!name) bases[found++] = s->base;
    }
    if (found == 0) return CL_SUCCESS;
    return ndr_cl.clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, found * sizeof *bases, bases);
}

ndr_status ndr_shared_declare(cl_kernel kernel, const ndr_arg *reached, size_t count)
{
    if (count == 0) return NDR_OK;
    void *const list = malloc(count * sizeof(cl_ulong)); /* of addresses, which have the bytes of pointers, or more */
    if (!list) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the allocations that a kernel reaches");
    cl_int error = declare_shared(kernel, reached, count, list);
    if (error == CL_SUCCESS) error = declare_buffers(kernel, reached, count, list);
    free(list);
    return error == CL_SUCCESS ? NDR_OK : ndr_fail_cl(error, "clSetKernelExecInfo");
}

/* ---- transfers ---- */

/* Bytes of an allocation that a command uses. */
typedef struct span {
    ndr_shared *shared;
    size_t offset_bytes, size_bytes;
} span;

static unsigned char *start_of(const span *s) { return s->shared->start + s->offset_bytes; }

static ndr_status check_span(const char *call, const ndr_queue *queue, const span *s)
{
    const ndr_shared *shared = s->shared;
    NDR_REQUIRE_SET_IN(call, queue, shared);
    NDR_TRY(ndr_check_home(call, "shared allocation", queue, shared->context));
    return ndr_check_span(call, "shared allocation", shared->size_bytes, s->offset_bytes, s->size_bytes);
}

static ndr_status check_use(const char *call, const ndr_queue *queue, const span *s, bool writes)
{
    NDR_TRY(check_span(call, queue, s));
    NDR_REQUIRE(ndr_shared_is_free(s->shared, writes), "%s: the host has the allocation mapped; unmap it first", call);
    return ndr_shared_add_user(s->shared, queue);
}

static ndr_status copy(const ndr_order *order, ndr_shared_copier copier, void *to, const void *from, size_t size_bytes,
                       bool uses_host, ndr_event **event)
{
    const ndr_transfer t = {
        .work = NDR_WORK_COPY_SHARED, .extent = { size_bytes, 1, 1 }, .source = from, .target = to, .copier = copier
    };
    return ndr_transfer_run(order, &t, uses_host, event);
}

ndr_status ndr_shared_write(ndr_queue *queue, ndr_shared *shared, size_t offset_bytes, size_t size_bytes,
                            const void *host, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    const span s = { shared, offset_bytes, size_bytes };
    NDR_TRY(check_use(__func__, order.queue, &s, true));
    NDR_TRY(ndr_check_host(__func__, host, size_bytes));
    return copy(&order, shared->copy, start_of(&s), host, size_bytes, true, event);
}

ndr_status ndr_shared_read(ndr_queue *queue, ndr_shared *shared, size_t offset_bytes, size_t size_bytes, void *host,
                           ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    const span s = { shared, offset_bytes, size_bytes };
    NDR_TRY(check_use(__func__, order.queue, &s, false));
    NDR_TRY(ndr_check_host(__func__, host, size_bytes));
    return copy(&order, shared->copy, host, start_of(&s), size_bytes, true, event);
}

ndr_status ndr_shared_copy(ndr_queue *queue, ndr_shared *from, size_t from_offset_bytes, ndr_shared *to,
                           size_t to_offset_bytes, size_t size_bytes, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    const span source = { from, from_offset_bytes, size_bytes }, target = { to, to_offset_bytes, size_bytes };
    NDR_TRY(check_use("ndr_shared_copy, from", order.queue, &source, false));
    NDR_TRY(check_use("ndr_shared_copy, to", order.queue, &target, true));
    const bool overlap = from == to && from_offset_bytes < to_offset_bytes + size_bytes
                         && to_offset_bytes < from_offset_bytes + size_bytes;
    NDR_REQUIRE(!overlap || size_bytes == 0,
                "ndr_shared_copy: %zu bytes from byte %zu and to byte %zu of the same allocation overlap; copy by way "
                "of another one",
                size_bytes, from_offset_bytes, to_offset_bytes);
    /* The extension's call also accepts addresses of OpenCL 2.0's shared memory. */
    const ndr_shared_copier copier = is_of_opencl_2(from->kind) ? to->copy : from->copy;
    return copy(&order, copier, start_of(&target), start_of(&source), size_bytes, false, event);
}

/* Allocations of the extension's kinds are not prefetched: its call is a hint, and some drivers lack it. */
ndr_status ndr_shared_prefetch(ndr_queue *queue, ndr_shared *shared, size_t offset_bytes, size_t size_bytes,
                               ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    const span s = { shared, offset_bytes, size_bytes };
    NDR_TRY(check_use(__func__, order.queue, &s, true));
    const bool migrates = is_of_opencl_2(shared->kind) && shared->context->caps.cl_version >= 210
                          && ndr_submit_knows_migration();
    const ndr_transfer t = { .work = NDR_WORK_PREFETCH,
                             .extent = { migrates ? size_bytes : 0, 1, 1 },
                             .target = start_of(&s) };
    return ndr_transfer_run(&order, &t, false, event);
}

/* ---- mapping ---- */

/* Guard zones are mapped, too: a driver that copies mapped spans then copies what the host writes outside. */
static ndr_status map(const char *call, const ndr_order *order, const span *s, ndr_map_access access, void **host)
{
    ndr_shared *const shared = s->shared;
    const bool has_zones = shared->zones;
    const size_t zone = (size_t)(shared->start - shared->base);
    const ndr_transfer t = { .work = is_of_opencl_2(shared->kind) ? NDR_WORK_MAP_SHARED : NDR_WORK_MARKER,
                             .extent = { has_zones ? zone + shared->size_bytes + zone : s->size_bytes, 1, 1 },
                             .target = has_zones ? shared->base : start_of(s) };
    const bool adds_reading = has_zones && access == NDR_MAP_WRITE;
    const ndr_mapping_request request = {
        call, &shared->mappings, &t, { 0 }, adds_reading ? NDR_MAP_READ_WRITE : access, start_of(s)
    };
    NDR_TRY(ndr_shared_add_user(shared, order->queue));
    return ndr_mapping_begin(order, &request, host);
}

ndr_status ndr_shared_map(ndr_queue *queue, ndr_shared *shared, ndr_map_access access, size_t offset_bytes,
                          size_t size_bytes, void **host)
{
    const ndr_order order = ndr_order_of(queue);
    const span s = { shared, offset_bytes, size_bytes };
    NDR_TRY(check_span(__func__, order.queue, &s));
    NDR_TRY(ndr_map_check(__func__, access));
    NDR_REQUIRE(shared->kind != NDR_SHARED_DEVICE,
                "ndr_shared_map: the host cannot access memory of the kind NDR_SHARED_DEVICE; use ndr_shared_read() "
                "and ndr_shared_write()");
    NDR_REQUIRE(size_bytes > 0, "ndr_shared_map: the span has 0 bytes; map at least one byte");
    return map(__func__, &order, &s, access, host ? host : &(void *){ NULL });
}

ndr_status ndr_shared_unmap(ndr_queue *queue, ndr_shared *shared, void *host, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    NDR_TRY(check_span(__func__, order.queue, &(span){ shared, 0, 0 }));
    NDR_TRY(ndr_shared_add_user(shared, order.queue));
    return ndr_unmap(
        &order, &(ndr_unmap_request){ __func__, "allocation", &shared->mappings, NULL, host, shared->zones }, event);
}
