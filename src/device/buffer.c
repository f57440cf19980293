/* buffer.c - device memory and transfers. */
#include "device/buffer.h"
#include "device/check.h"
#include "device/context.h"
#include "device/queue.h"
#include "device/transfer.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- creating ---- */

static atomic_ullong buffer_count;

ndr_status ndr_buffer_wrap(ndr_context *context, cl_mem cl, cl_mem memory, size_t memory_offset, size_t size_bytes,
                           ndr_buffer **buffer)
{
    ndr_buffer *made = ndr_handle_new(NDR_HANDLE_BUFFER, sizeof *made, context->checker != NULL);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a buffer");
    made->cl = cl;
    made->context = ndr_context_keep(context);
    made->size_bytes = size_bytes;
    made->identity = atomic_fetch_add(&buffer_count, 1) + 1;
    made->memory = memory;
    made->memory_offset = memory_offset;
    made->whole = made;
    atomic_init(&made->references, 1);
    ndr_mappings_init(&made->mappings);
    ndr_users_init(&made->users);
    *buffer = made;
    return NDR_OK;
}

/* What a driver reports of the memory that is left, if it does. */
static uint64_t query_free_bytes(const ndr_context *context)
{
    size_t free_kib[2] = { 0, 0 };
    const cl_int error =
        ndr_cl.clGetDeviceInfo(context->device, CL_DEVICE_GLOBAL_FREE_MEMORY_AMD, sizeof free_kib, free_kib, NULL);
    return error == CL_SUCCESS ? (uint64_t)free_kib[0] * 1024 : 0;
}

ndr_status ndr_fail_memory(const ndr_context *context, ndr_status status, size_t size_bytes)
{
    const ndr_device_info *device = &context->caps.info;
    const unsigned long long free_bytes = query_free_bytes(context);
    char left[48] = "";
    if (free_bytes) snprintf(left, sizeof left, ", %llu of them free", free_bytes);
    return ndr_fail_with_code(
        status, ndr_last_cl_error(),
        "%s; %zu bytes were asked for; a buffer of device \"%s\" has at most %zu, its memory %llu "
        "bytes%s",
        ndr_last_error(), size_bytes, device->name, device->max_buffer_bytes,
        (unsigned long long)device->global_memory_bytes, left);
}

static cl_mem_flags flags_of(const ndr_buffer_desc *desc)
{
    static const cl_mem_flags for_kernels[] = { CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY };
    static const cl_mem_flags for_host[] = { 0, CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_NO_ACCESS };
    return for_kernels[desc->kernels] | for_host[desc->host] | (desc->contents ? CL_MEM_COPY_HOST_PTR : 0)
           | (desc->over ? CL_MEM_USE_HOST_PTR : 0) | (desc->is_pinned ? CL_MEM_ALLOC_HOST_PTR : 0);
}

ndr_status ndr_buffer_allocate(const ndr_context *context, cl_mem_flags flags, size_t size_bytes, void *host,
                               bool has_address, cl_mem *made)
{
    static const cl_mem_properties lasting[] = { NDR_MEM_DEVICE_PRIVATE_ADDRESS, CL_TRUE, 0 };
    cl_int error;
    const cl_mem cl =
        has_address ? ndr_cl.clCreateBufferWithProperties(context->cl, lasting, flags, size_bytes, host, &error)
                    : ndr_cl.clCreateBuffer(context->cl, flags, size_bytes, host, &error);
    NDR_TRY_CL_AS(has_address ? "clCreateBufferWithProperties" : "clCreateBuffer", error);
    *made = cl;
    return NDR_OK;
}

/* Drivers refuse a buffer of 0 bytes, so it gets one byte, which is never accessed. */
static ndr_status make_plain(ndr_context *context, const ndr_buffer_desc *desc, ndr_buffer **buffer)
{
    void *host = desc->over ? desc->over : (void *)(uintptr_t)desc->contents;
    const bool is_empty = desc->size_bytes == 0;
    cl_mem cl = NULL;
    ndr_status status = ndr_buffer_allocate(context, is_empty ? CL_MEM_READ_WRITE : flags_of(desc),
                                            is_empty ? 1 : desc->size_bytes, is_empty ? NULL : host,
                                            desc->has_address, &cl);
    if (status != NDR_OK) return ndr_fail_memory(context, status, desc->size_bytes);
    status = ndr_buffer_wrap(context, cl, cl, 0, desc->size_bytes, buffer);
    if (status == NDR_OK) ndr_check_exclude(*buffer, desc->over ? NDR_UNCHECKED_OVER : NDR_UNCHECKED_TOO_LARGE);
    else ndr_cl.clReleaseMemObject(cl);
    return status;
}

static ndr_status read_address(ndr_buffer *buffer)
{
    cl_ulong start = 0;
    NDR_TRY_CL(clGetMemObjectInfo(buffer->memory, NDR_MEM_DEVICE_ADDRESS, sizeof start, &start, NULL));
    buffer->address = start + buffer->memory_offset;
    return NDR_OK;
}

/* A buffer with guard zones needs memory of its own, to which all have access. */
static ndr_status make_buffer(ndr_context *context, const ndr_buffer_desc *desc, ndr_buffer **buffer)
{
    const size_t limit = context->caps.info.max_buffer_bytes, size_bytes = desc->size_bytes;
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, size_bytes <= limit,
                   "a buffer of %zu bytes exceeds the largest buffer of device \"%s\", %zu bytes: use several buffers",
                   size_bytes, context->caps.info.name, limit);
    ndr_buffer *made;
    const bool has_zones = !desc->over && ndr_zones_size(context, size_bytes) > 0;
    NDR_TRY((has_zones ? ndr_zones_make_buffer : make_plain)(context, desc, &made));
    made->kernel_access = desc->kernels;
    made->host_access = desc->host;
    const ndr_status status = desc->has_address ? read_address(made) : NDR_OK;
    if (status == NDR_OK) *buffer = made;
    else ndr_buffer_release(made);
    return status;
}

ndr_status ndr_buffer_create(ndr_context *context, size_t size_bytes, ndr_buffer **buffer)
{
    NDR_REQUIRE_SET(context, buffer);
    return make_buffer(context, &(ndr_buffer_desc){ .size_bytes = size_bytes }, buffer);
}

ndr_status ndr_buffer_create_from(ndr_context *context, size_t size_bytes, const void *host, ndr_buffer **buffer)
{
    NDR_REQUIRE_SET(context, buffer);
    NDR_REQUIRE(host || size_bytes == 0,
                "ndr_buffer_create_from: host is NULL, but size_bytes is %zu; for a buffer without contents call "
                "ndr_buffer_create()",
                size_bytes);
    return make_buffer(context, &(ndr_buffer_desc){ .size_bytes = size_bytes, .contents = host }, buffer);
}

ndr_status ndr_buffer_create_over(ndr_context *context, size_t size_bytes, void *host, ndr_buffer **buffer)
{
    NDR_REQUIRE_SET(context, buffer);
    NDR_REQUIRE(
        host || size_bytes == 0,
        "ndr_buffer_create_over: host is NULL, but size_bytes is %zu; for memory of its own call ndr_buffer_create()",
        size_bytes);
    return make_buffer(context, &(ndr_buffer_desc){ .size_bytes = size_bytes, .over = host }, buffer);
}

ndr_status ndr_buffer_create_with(ndr_context *context, const ndr_buffer_desc *desc, ndr_buffer **buffer)
{
    NDR_REQUIRE_SET(context, desc, buffer);
    NDR_REQUIRE((unsigned)desc->kernels <= NDR_ACCESS_WRITE,
                "%s: kernels is %d; use NDR_ACCESS_READ_WRITE, NDR_ACCESS_READ or NDR_ACCESS_WRITE", __func__,
                (int)desc->kernels);
    NDR_REQUIRE((unsigned)desc->host <= NDR_ACCESS_NONE,
                "%s: host is %d, not an ndr_access; use NDR_ACCESS_READ_WRITE, NDR_ACCESS_READ, NDR_ACCESS_WRITE or "
                "NDR_ACCESS_NONE", __func__, (int)desc->host);
    NDR_REQUIRE(!desc->over || !(desc->contents || desc->is_pinned),
                "%s: over is set, but so is %s; set only one of them", __func__,
                desc->contents ? "contents" : "is_pinned");
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, !desc->has_address || context->caps.info.has_buffer_addresses,
                   "%s: has_address is set, but buffers of device \"%s\" have no addresses (has_buffer_addresses of "
                   "ndr_device_info); use indices, or ndr_shared_create()",
                   __func__, context->caps.info.name);
    return make_buffer(context, desc, buffer);
}

ndr_status ndr_buffer_get_address(const ndr_buffer *buffer, uint64_t *address)
{
    NDR_REQUIRE_SET(buffer, address);
    NDR_REQUIRE(buffer->address, "ndr_buffer_get_address: the buffer was created without an address; set "
                                 "ndr_buffer_desc.has_address");
    *address = buffer->address;
    return NDR_OK;
}

size_t ndr_buffer_size(const ndr_buffer *buffer) { return NDR_IS_LIVE(buffer) ? buffer->size_bytes : 0; }

/* ---- checks ---- */

bool ndr_bytes_overlap(ndr_bytes a, ndr_bytes b)
{
    const size_t a_first = a.buffer->memory_offset + a.offset_bytes, b_first = b.buffer->memory_offset + b.offset_bytes;
    return a.buffer->memory == b.buffer->memory && a_first < b_first + b.size_bytes && b_first < a_first + a.size_bytes;
}

/* Of the whole buffer of a view, which has mappings. */
static bool is_view_mapped(const ndr_buffer *view, bool device_writes)
{
    const ndr_bytes viewed = { view, 0, view->size_bytes };
    bool is_found = false;
    ndr_mutex_lock(&view->whole->mappings.list_lock);
    for (const ndr_mapping *m = view->whole->mappings.first; m && !is_found; m = m->next)
        is_found = (device_writes || m->access != NDR_MAP_READ)
                   && ndr_bytes_overlap(viewed, m->bytes);
    ndr_mutex_unlock(&view->whole->mappings.list_lock);
    return is_found;
}

bool ndr_buffer_is_free(const ndr_buffer *buffer, bool device_writes)
{
    const ndr_buffer *whole = buffer->whole;
    if (ndr_mappings_allow(&whole->mappings, device_writes)) return true;
    return buffer != whole && !is_view_mapped(buffer, device_writes);
}

ndr_status ndr_buffer_check_bytes(const char *call, const ndr_queue *queue, const ndr_buffer *buffer,
                                  size_t offset_bytes, size_t size_bytes)
{
    NDR_REQUIRE_SET_IN(call, queue, buffer);
    NDR_TRY(ndr_check_home(call, "buffer", queue, buffer->context));
    return ndr_check_span(call, "buffer", buffer->size_bytes, offset_bytes, size_bytes);
}

ndr_status ndr_buffer_check_unmapped(const char *call, const ndr_buffer *buffer, bool device_writes)
{
    NDR_REQUIRE(ndr_buffer_is_free(buffer, device_writes), "%s: the host has the buffer mapped; unmap it first", call);
    return NDR_OK;
}

ndr_status ndr_buffer_check_use(const char *call, const char *name, const ndr_queue *queue, const ndr_buffer *buffer,
                                bool device_writes)
{
    char both[64];
    snprintf(both, sizeof both, "%s, %s", call, name);
    NDR_TRY(ndr_buffer_check_bytes(both, queue, buffer, 0, 0));
    return ndr_buffer_check_unmapped(both, buffer, device_writes);
}

ndr_status ndr_buffer_check_apart(const char *call, ndr_bytes from, ndr_bytes to)
{
    NDR_REQUIRE(from.size_bytes == 0 || !ndr_bytes_overlap(from, to),
                "%s: %zu bytes from byte %zu and to byte %zu of %s overlap; copy via another buffer", call,
                from.size_bytes, from.offset_bytes, to.offset_bytes,
                from.buffer == to.buffer ? "the same buffer" : "two buffers over the same memory");
    return NDR_OK;
}

/* ---- transfers ---- */

/* A write leaves the host's memory unchanged. */
static ndr_status transfer(const char *call, ndr_work work, ndr_queue *queue, const ndr_bytes *b, const void *host,
                           ndr_event **event)
{
    const bool writes = work == NDR_WORK_WRITE;
    const ndr_order order = ndr_order_of(queue);
    NDR_TRY(ndr_buffer_check_bytes(call, order.queue, b->buffer, b->offset_bytes, b->size_bytes));
    NDR_TRY(ndr_buffer_check_unmapped(call, b->buffer, writes));
    NDR_TRY(ndr_check_host_access(call, "buffer", b->buffer->host_access, !writes, writes));
    NDR_TRY(ndr_check_host(call, host, b->size_bytes));
    const ndr_transfer t = ndr_buffer_transferring(work, b, (void *)(uintptr_t)host);
    return ndr_transfer_run(&order, &t, true, event);
}

ndr_transfer ndr_buffer_transferring(ndr_work work, const ndr_bytes *b, void *host)
{
    const ndr_cl_side side = { .cl = b->buffer->cl, .origin = { b->offset_bytes } };
    return (ndr_transfer){
        .work = work, .from = side, .to = side, .extent = { b->size_bytes, 1, 1 }, .source = host, .target = host
    };
}

ndr_status ndr_buffer_write(ndr_queue *queue, ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes,
                            const void *host, ndr_event **event)
{
    return transfer(__func__, NDR_WORK_WRITE, queue, &(ndr_bytes){ buffer, offset_bytes, size_bytes }, host, event);
}

ndr_status ndr_buffer_read(ndr_queue *queue, ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes, void *host,
                           ndr_event **event)
{
    return transfer(__func__, NDR_WORK_READ, queue, &(ndr_bytes){ buffer, offset_bytes, size_bytes }, host, event);
}

/* OpenCL copies within one buffer, but drivers may refuse to copy between two sub-buffers that overlap elsewhere. So
 * copies name the memory of both. */
ndr_transfer ndr_buffer_copying(const ndr_bytes *from, const ndr_bytes *to)
{
    const size_t before = from->buffer->memory_offset, to_before = to->buffer->memory_offset;
    return (ndr_transfer){
        .work = NDR_WORK_COPY,
        .from = { .cl = from->buffer->memory, .origin = { before + from->offset_bytes }, .before = before },
        .to = { .cl = to->buffer->memory, .origin = { to_before + to->offset_bytes }, .before = to_before },
        .extent = { from->size_bytes, 1, 1 },
    };
}

ndr_status ndr_buffer_copy(ndr_queue *queue, ndr_buffer *from, size_t from_offset_bytes, ndr_buffer *to,
                           size_t to_offset_bytes, size_t size_bytes, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    const ndr_bytes source = { from, from_offset_bytes, size_bytes }, target = { to, to_offset_bytes, size_bytes };
    NDR_TRY(ndr_buffer_check_bytes("ndr_buffer_copy, from", order.queue, from, from_offset_bytes, size_bytes));
    NDR_TRY(ndr_buffer_check_bytes("ndr_buffer_copy, to", order.queue, to, to_offset_bytes, size_bytes));
    NDR_TRY(ndr_buffer_check_apart(__func__, source, target));
    NDR_TRY(ndr_buffer_check_unmapped(__func__, from, false));
    NDR_TRY(ndr_buffer_check_unmapped(__func__, to, true));
    const ndr_transfer t = ndr_buffer_copying(&source, &target);
    return ndr_transfer_run(&order, &t, false, event);
}

/* ---- mapping ---- */

ndr_status ndr_buffer_map_bytes(const char *call, const ndr_order *order, ndr_bytes bytes, ndr_map_access access,
                                void **host)
{
    const ndr_transfer map = ndr_buffer_transferring(NDR_WORK_MAP, &bytes, NULL);
    return ndr_mapping_begin(
        order, &(ndr_mapping_request){ call, &bytes.buffer->whole->mappings, &map, bytes, access, NULL }, host);
}

ndr_status ndr_buffer_map(ndr_queue *queue, ndr_buffer *buffer, ndr_map_access access, size_t offset_bytes,
                          size_t size_bytes, void **host)
{
    const ndr_order order = ndr_order_of(queue);
    NDR_TRY(ndr_buffer_check_bytes(__func__, order.queue, buffer, offset_bytes, size_bytes));
    NDR_REQUIRE_SET(host);
    NDR_TRY(ndr_map_check(__func__, access));
    NDR_TRY(ndr_check_host_access(__func__, "buffer", buffer->host_access, access != NDR_MAP_WRITE,
                                  access != NDR_MAP_READ));
    NDR_REQUIRE(size_bytes > 0, "ndr_buffer_map: a span of 0 bytes has no address; map at least one byte");
    return ndr_buffer_map_bytes(__func__, &order, (ndr_bytes){ buffer, offset_bytes, size_bytes }, access, host);
}

ndr_status ndr_buffer_unmap(ndr_queue *queue, ndr_buffer *buffer, void *host, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    NDR_TRY(ndr_buffer_check_bytes(__func__, order.queue, buffer, 0, 0));
    const ndr_buffer *whole = buffer->whole;
    return ndr_unmap(
        &order, &(ndr_unmap_request){ __func__, "buffer", &buffer->whole->mappings, buffer->cl, host, whole->zones },
        event);
}

/* ---- sub-buffers of views: the faults sub_buffer_released and older_sub_buffer_first ----
 *
 * A sub-buffer without a view stays until the whole buffer goes, and a new view of its region takes it. Only the oldest
 * of very many are released earlier, for their memory, but none below a newer one that overlaps it. */

size_t ndr_max_unused_sub_buffers = 256; /* PoCL 7.0 needs 0.2 us for each in a command that uses the whole buffer */

static bool regions_overlap(const cl_buffer_region *a, const cl_buffer_region *b)
{
    return a->origin < b->origin + b->size && b->origin < a->origin + a->size;
}

/* With the list's lock held. */
static bool has_newer_above(const ndr_buffer *whole, const ndr_sub_buffer *s)
{
    const ndr_sub_buffer *newer = whole->sub_buffers;
    while (newer != s && !regions_overlap(&newer->region, &s->region)) newer = newer->older;
    return newer != s;
}

/* With the list's lock held, or of a buffer that nobody has. The newest `kept` stay. */
static void release_unused(ndr_buffer *whole, size_t kept)
{
    for (ndr_sub_buffer **link = &whole->sub_buffers, *s; (s = *link) != NULL;) {
        const bool stays = s->is_used || kept > 0 || has_newer_above(whole, s);
        if (!s->is_used && kept > 0) --kept;
        if (stays) {
            link = &s->older;
            continue;
        }
        *link = s->older;
        ndr_cl.clReleaseMemObject(s->cl);
        free(s);
    }
}

/* With the list's lock held. */
static ndr_sub_buffer *find_unused(const ndr_buffer *whole, const cl_buffer_region *region)
{
    ndr_sub_buffer *s = whole->sub_buffers;
    while (s && (s->is_used || s->region.origin != region->origin || s->region.size != region->size)) s = s->older;
    return s;
}

/* With the list's lock held. OpenCL has no sub-buffer of a sub-buffer, so each is one of the memory. */
static ndr_status make_sub_buffer(ndr_buffer *whole, const cl_buffer_region *region, ndr_sub_buffer **made)
{
    ndr_sub_buffer *s = calloc(1, sizeof *s);
    if (!s) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a view");
    cl_int error;
    s->cl = ndr_cl.clCreateSubBuffer(whole->memory, 0, CL_BUFFER_CREATE_TYPE_REGION, region, &error);
    if (error != CL_SUCCESS) {
        free(s);
        return ndr_fail_cl(error, "clCreateSubBuffer");
    }
    s->region = *region;
    s->older = whole->sub_buffers;
    *made = whole->sub_buffers = s;
    return NDR_OK;
}

static ndr_status take_sub_buffer(ndr_buffer *whole, const cl_buffer_region *region, ndr_sub_buffer **taken)
{
    ndr_status status = NDR_OK;
    ndr_mutex_lock(&whole->mappings.list_lock);
    *taken = find_unused(whole, region);
    if (!*taken) status = make_sub_buffer(whole, region, taken);
    if (status == NDR_OK) (*taken)->is_used = true;
    ndr_mutex_unlock(&whole->mappings.list_lock);
    return status;
}

static void return_sub_buffer(ndr_buffer *whole, ndr_sub_buffer *s)
{
    ndr_mutex_lock(&whole->mappings.list_lock);
    s->is_used = false;
    const bool keeps = ndr_avoids(whole->context, NDR_QUIRK_SUB_BUFFER_RELEASED);
    release_unused(whole, keeps ? ndr_max_unused_sub_buffers : 0);
    ndr_mutex_unlock(&whole->mappings.list_lock);
}

/* ---- destroying ---- */

ndr_status ndr_buffer_add_user(ndr_buffer *buffer, const ndr_queue *queue)
{
    return ndr_users_add(&buffer->whole->users, queue);
}

ndr_buffer *ndr_buffer_keep(ndr_buffer *buffer)
{
    atomic_fetch_add(&buffer->references, 1);
    return buffer;
}

void ndr_buffer_release(ndr_buffer *buffer)
{
    if (atomic_fetch_sub(&buffer->references, 1) > 1) return;
    ndr_unmap_all(buffer->context, &buffer->whole->mappings, buffer->cl); /* mapped through an image that outlived it */
    ndr_users_end(buffer->context, &buffer->users);
    release_unused(buffer, 0);
    if (buffer->sub_buffer) return_sub_buffer(buffer->whole, buffer->sub_buffer);
    else ndr_cl.clReleaseMemObject(buffer->cl);
    if (buffer->whole != buffer) ndr_buffer_release(buffer->whole);
    ndr_zones_release(buffer->context, buffer->zones);
    ndr_mappings_destroy(&buffer->mappings);
    ndr_context_release(buffer->context);
    ndr_handle_free(buffer);
}

void ndr_buffer_destroy(ndr_buffer *buffer)
{
    if (!ndr_handle_retire(NDR_HANDLE_BUFFER, buffer, __func__)) return;
    ndr_unmap_all(buffer->context, &buffer->whole->mappings, buffer->cl);
    ndr_buffer_release(buffer);
}

/* ---- views ---- */

static ndr_status check_aligned(const ndr_buffer *buffer, size_t offset_bytes)
{
    const ndr_device_info *device = &buffer->context->caps.info;
    const size_t align = device->view_align_bytes, before = offset_bytes - offset_bytes % align;
    NDR_REQUIRE(
        offset_bytes == before,
        "ndr_buffer_create_view: offset_bytes is %zu, but a view on device \"%s\" starts at a multiple of %zu bytes "
        "(ndr_device_info.view_align_bytes): start it at %zu, or pass the buffer and an offset",
        offset_bytes, device->name, align, before);
    return NDR_OK;
}

static ndr_status make_view(ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes, ndr_buffer **view)
{
    const cl_buffer_region region = { buffer->memory_offset + offset_bytes, size_bytes };
    ndr_sub_buffer *taken;
    NDR_TRY(take_sub_buffer(buffer->whole, &region, &taken));
    ndr_buffer *made = NULL;
    const ndr_status status =
        ndr_buffer_wrap(buffer->context, taken->cl, buffer->memory, region.origin, size_bytes, &made);
    if (status != NDR_OK) {
        return_sub_buffer(buffer->whole, taken);
        return status;
    }
    made->sub_buffer = taken;
    made->address = buffer->address ? buffer->address + offset_bytes : 0;
    made->kernel_access = buffer->kernel_access;
    made->host_access = buffer->host_access;
    made->whole = ndr_buffer_keep(buffer->whole);
    ndr_check_exclude(made, NDR_UNCHECKED_VIEW);
    *view = made;
    return NDR_OK;
}

static ndr_status make_empty_view(const ndr_buffer *buffer, ndr_buffer **view)
{
    return make_buffer(buffer->context,
                       &(ndr_buffer_desc){ .kernels = buffer->kernel_access,
                                           .host = buffer->host_access,
                                           .has_address = buffer->address != 0 },
                       view);
}

ndr_status ndr_buffer_create_view(ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes, ndr_buffer **view)
{
    NDR_REQUIRE_SET(buffer, view);
    NDR_TRY(ndr_check_span(__func__, "buffer", buffer->size_bytes, offset_bytes, size_bytes));
    if (size_bytes == 0) return make_empty_view(buffer, view);
    NDR_TRY(check_aligned(buffer, offset_bytes));
    return make_view(buffer, offset_bytes, size_bytes, view);
}
