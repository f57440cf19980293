/* buffer.c - device memory and transfers. */
#include "device/buffer.h"
#include "device/check.h"
#include "device/command.h"
#include "device/context.h"
#include "device/queue.h"

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

static ndr_status check_bounds(const char *call, const ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes)
{
    NDR_REQUIRE_AS(NDR_OUT_OF_BOUNDS,
                   offset_bytes <= buffer->size_bytes && size_bytes <= buffer->size_bytes - offset_bytes,
                   "%s: %zu bytes from byte %zu reach past the end of a buffer of %zu bytes; at most %zu fit there",
                   call, size_bytes, offset_bytes, buffer->size_bytes,
                   buffer->size_bytes - ndr_min_size(offset_bytes, buffer->size_bytes));
    return NDR_OK;
}

ndr_status ndr_buffer_check_bytes(const char *call, const ndr_queue *queue, const ndr_buffer *buffer, size_t offset_bytes,
                             size_t size_bytes)
{
    NDR_REQUIRE_SET_IN(call, queue, buffer);
    NDR_REQUIRE(queue->context == buffer->context,
                "%s: queue and buffer belong to different contexts%s; create both in one", call,
                ndr_handle_or_destroyed());
    return check_bounds(call, buffer, offset_bytes, size_bytes);
}

ndr_status ndr_buffer_check_unmapped(const char *call, const ndr_buffer *buffer, bool device_writes)
{
    NDR_REQUIRE(ndr_buffer_is_free(buffer, device_writes), "%s: the host has the buffer mapped; unmap it first", call);
    return NDR_OK;
}

ndr_status ndr_check_host_access(const char *call, const char *what, ndr_access access, bool reads, bool writes)
{
    const bool may_read = access == NDR_ACCESS_READ_WRITE || access == NDR_ACCESS_READ;
    const bool may_write = access == NDR_ACCESS_READ_WRITE || access == NDR_ACCESS_WRITE;
    NDR_REQUIRE((may_read || !reads) && (may_write || !writes),
                "%s: the %s was created %s host access, so the host cannot %s it; change ndr_%s_desc.host", call, what,
                may_read    ? "with read-only"
                : may_write ? "with write-only"
                            : "without",
                reads && !may_read ? "read" : "write", what);
    return NDR_OK;
}

ndr_access ndr_kernel_access_of(cl_mem_flags flags)
{
    return flags & CL_MEM_READ_ONLY    ? NDR_ACCESS_READ
           : flags & CL_MEM_WRITE_ONLY ? NDR_ACCESS_WRITE
                                       : NDR_ACCESS_READ_WRITE;
}

ndr_access ndr_host_access_of(cl_mem_flags flags)
{
    return flags & CL_MEM_HOST_NO_ACCESS    ? NDR_ACCESS_NONE
           : flags & CL_MEM_HOST_READ_ONLY  ? NDR_ACCESS_READ
           : flags & CL_MEM_HOST_WRITE_ONLY ? NDR_ACCESS_WRITE
                                            : NDR_ACCESS_READ_WRITE;
}

ndr_status ndr_buffer_check_use(const char *call, const char *name, const ndr_queue *queue, const ndr_buffer *buffer,
                                bool device_writes)
{
    char both[64];
    snprintf(both, sizeof both, "%s, %s", call, name);
    NDR_TRY(ndr_buffer_check_bytes(both, queue, buffer, 0, 0));
    return ndr_buffer_check_unmapped(both, buffer, device_writes);
}

/* ---- host to device and back ---- */

/* From or to the host's memory; a write leaves that unchanged. */
typedef struct transfer {
    const char *call; /* for sentences */
    bool writes;
    ndr_order order;
    ndr_buffer *buffer;
    size_t offset_bytes, size_bytes;
    void *host;
} transfer;

static ndr_status check_transfer(const transfer *t)
{
    NDR_TRY(ndr_buffer_check_bytes(t->call, t->order.queue, t->buffer, t->offset_bytes, t->size_bytes));
    NDR_TRY(ndr_buffer_check_unmapped(t->call, t->buffer, t->writes));
    NDR_TRY(ndr_check_host_access(t->call, "buffer", t->buffer->host_access, !t->writes, t->writes));
    NDR_REQUIRE(t->host || t->size_bytes == 0, "%s: host is NULL, but size_bytes is %zu; pass memory of that size",
                t->call, t->size_bytes);
    return NDR_OK;
}

static ndr_status submit_transfer(ndr_submission *s, const void *transfer_)
{
    const transfer *t = transfer_;
    return t->writes ? ndr_submit_write(s, t->buffer->cl, t->offset_bytes, t->size_bytes, t->host)
                     : ndr_submit_read(s, t->buffer->cl, t->offset_bytes, t->size_bytes, t->host);
}

static ndr_status transfer_and_wait(const transfer *t)
{
    NDR_TRY(check_transfer(t));
    if (t->size_bytes == 0) return ndr_queue_mark_in(&t->order, NULL);
    const ndr_command c = { &t->order, submit_transfer, t, NULL };
    return (t->writes ? ndr_command_run_and_wait : ndr_command_read_and_wait)(&c);
}

static ndr_status transfer_async(const transfer *t, ndr_event **event)
{
    NDR_TRY(check_transfer(t));
    if (t->size_bytes == 0) return ndr_queue_mark_in(&t->order, event);
    return ndr_command_run(&(ndr_command){ &t->order, submit_transfer, t, NULL }, event);
}

ndr_status ndr_buffer_write(ndr_queue *queue, ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes,
                            const void *host)
{
    void *from = (void *)(uintptr_t)host;
    return transfer_and_wait(
        &(transfer){ __func__, true, ndr_order_of(queue), buffer, offset_bytes, size_bytes, from });
}

ndr_status ndr_buffer_read(ndr_queue *queue, ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes, void *host)
{
    return transfer_and_wait(
        &(transfer){ __func__, false, ndr_order_of(queue), buffer, offset_bytes, size_bytes, host });
}

ndr_status ndr_buffer_write_async(ndr_queue *queue, ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes,
                                  const void *host, ndr_event **event)
{
    void *from = (void *)(uintptr_t)host;
    return transfer_async(&(transfer){ __func__, true, ndr_order_of(queue), buffer, offset_bytes, size_bytes, from },
                          event);
}

ndr_status ndr_buffer_read_async(ndr_queue *queue, ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes,
                                 void *host, ndr_event **event)
{
    return transfer_async(&(transfer){ __func__, false, ndr_order_of(queue), buffer, offset_bytes, size_bytes, host },
                          event);
}

/* ---- on the device ---- */

/* OpenCL copies within one buffer, but drivers may refuse to copy between two sub-buffers that overlap elsewhere. So
 * copies name the memory of both. */
ndr_status ndr_buffer_submit_copy(ndr_submission *s, const ndr_buffer *from, size_t from_offset_bytes,
                                  const ndr_buffer *to, size_t to_offset_bytes, size_t size_bytes)
{
    NDR_TRY(ndr_submit_copy(s, from->memory, from->memory_offset + from_offset_bytes, to->memory,
                            to->memory_offset + to_offset_bytes, size_bytes));
    ndr_log(NDR_LOG_DEBUG, "command", "copy of %zu bytes from byte %zu to byte %zu", size_bytes, from_offset_bytes,
            to_offset_bytes);
    return NDR_OK;
}

typedef struct copying {
    const ndr_buffer *from, *to;
    size_t from_offset_bytes, to_offset_bytes, size_bytes;
} copying;

static ndr_status submit_copy(ndr_submission *s, const void *copying_)
{
    const copying *c = copying_;
    return ndr_buffer_submit_copy(s, c->from, c->from_offset_bytes, c->to, c->to_offset_bytes, c->size_bytes);
}

ndr_status ndr_buffer_copy(ndr_queue *queue, ndr_buffer *from, size_t from_offset_bytes, ndr_buffer *to,
                           size_t to_offset_bytes, size_t size_bytes, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    NDR_TRY(ndr_buffer_check_bytes("ndr_buffer_copy, from", order.queue, from, from_offset_bytes, size_bytes));
    NDR_TRY(ndr_buffer_check_bytes("ndr_buffer_copy, to", order.queue, to, to_offset_bytes, size_bytes));
    const bool overlap = size_bytes > 0
                         && ndr_bytes_overlap((ndr_bytes){ from, from_offset_bytes, size_bytes },
                                              (ndr_bytes){ to, to_offset_bytes, size_bytes });
    NDR_REQUIRE(!overlap,
                "ndr_buffer_copy: %zu bytes from byte %zu and to byte %zu of %s overlap; copy via another buffer",
                size_bytes, from_offset_bytes, to_offset_bytes,
                from == to ? "the same buffer" : "two buffers over the same memory");
    NDR_TRY(ndr_buffer_check_unmapped(__func__, from, false));
    NDR_TRY(ndr_buffer_check_unmapped(__func__, to, true));
    if (size_bytes == 0) return ndr_queue_mark_in(&order, event);
    const copying c = { from, to, from_offset_bytes, to_offset_bytes, size_bytes };
    return ndr_command_run(&(ndr_command){ &order, submit_copy, &c, NULL }, event);
}

/* ---- mapping ---- */

static ndr_status submit_map(ndr_submission *s, const ndr_map_request *request, void **host)
{
    return ndr_submit_map(s, request->cl, ndr_map_flags(request->access), request->bytes.offset_bytes,
                          request->bytes.size_bytes, host);
}

ndr_status ndr_buffer_map_bytes(const ndr_order *order, ndr_bytes bytes, ndr_map_access access, void **host)
{
    const ndr_map_request request = { .mappings = &bytes.buffer->whole->mappings,
                                      .cl = bytes.buffer->cl,
                                      .bytes = bytes,
                                      .access = access,
                                      .submit = submit_map };
    return ndr_map(order, &request, host);
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
    return ndr_buffer_map_bytes(&order, (ndr_bytes){ buffer, offset_bytes, size_bytes }, access, host);
}

ndr_status ndr_buffer_unmap_event(ndr_queue *queue, ndr_buffer *buffer, void *host, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    NDR_TRY(ndr_buffer_check_bytes("ndr_buffer_unmap", order.queue, buffer, 0, 0));
    ndr_event *made = NULL;
    NDR_TRY(ndr_unmap(&order, "buffer", &buffer->whole->mappings, buffer->cl, host, event ? &made : NULL));
    return ndr_check_unmapped("ndr_buffer_unmap", "buffer", order.queue, buffer->whole->zones, made, event);
}

ndr_status ndr_buffer_unmap(ndr_queue *queue, ndr_buffer *buffer, void *host)
{
    return ndr_buffer_unmap_event(queue, buffer, host, NULL);
}

/* ---- sub-buffers of views ----
 *
 * A sub-buffer without a view stays until the whole buffer goes, and a new view of its region takes it. PoCL 7.0 walks
 * the sub-buffers of a buffer without a lock in each command that uses the buffer, and crashes if one of them is
 * released meanwhile: by another thread, or by PoCL's own when the last command that uses it ends. Only the oldest of
 * very many are released earlier, for their memory, but none below a newer one that overlaps it: NVIDIA's driver (580)
 * crashes when it releases the older one first. */

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
    release_unused(whole, ndr_max_unused_sub_buffers);
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
    NDR_TRY(check_bounds(__func__, buffer, offset_bytes, size_bytes));
    if (size_bytes == 0) return make_empty_view(buffer, view);
    NDR_TRY(check_aligned(buffer, offset_bytes));
    return make_view(buffer, offset_bytes, size_bytes, view);
}
