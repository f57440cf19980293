/* map.c - mappings of buffers, images and shared allocations.
 *
 * A buffer also has the mappings of its views and of images over it. A driver keeps them in a list, and distinguishes
 * mappings at the same address only by their order. So a lock is held while the driver enqueues one, but not while a
 * thread waits for it: what it waits for may be ended by a thread that maps or unmaps the same buffer first. */
#include "device/buffer.h"
#include "device/check.h"
#include "device/command.h"
#include "device/context.h"
#include "device/event.h"
#include "device/map.h"
#include "device/queue.h"

#include <stdlib.h>
#include <string.h>

void ndr_mappings_init(ndr_mappings *mappings)
{
    ndr_mutex_init(&mappings->lock, NDR_LOCK_MAPPINGS);
    ndr_mutex_init(&mappings->list_lock, NDR_LOCK_LIST);
}

void ndr_mappings_destroy(ndr_mappings *mappings)
{
    ndr_mutex_destroy(&mappings->lock);
    ndr_mutex_destroy(&mappings->list_lock);
}

/* ---- the list ---- */

static void add_mapping(ndr_mappings *mappings, ndr_mapping *mapping)
{
    ndr_mutex_lock(&mappings->list_lock);
    mapping->next = mappings->first;
    mappings->first = mapping;
    atomic_fetch_add(&mappings->count, 1);
    if (mapping->access != NDR_MAP_READ) atomic_fetch_add(&mappings->count_for_writing, 1);
    ndr_mutex_unlock(&mappings->list_lock);
}

/* The link to the mapping of `cl` at `host` (NULL: to any of its mappings), or to NULL. */
static ndr_mapping **find_mapping(ndr_mappings *mappings, cl_mem cl, const void *host)
{
    ndr_mapping **link = &mappings->first;
    while (*link && ((*link)->unmap.from.cl != cl || (host && (*link)->host != host))) link = &(*link)->next;
    return link;
}

static void free_mapping(ndr_mapping *mapping)
{
    ndr_cl.clReleaseCommandQueue(mapping->queue);
    free(mapping);
}

static void unlist_mapping(ndr_mappings *mappings, ndr_mapping **link)
{
    const ndr_mapping *found = *link;
    ndr_mutex_lock(&mappings->list_lock);
    *link = found->next;
    atomic_fetch_sub(&mappings->count, 1);
    if (found->access != NDR_MAP_READ) atomic_fetch_sub(&mappings->count_for_writing, 1);
    ndr_mutex_unlock(&mappings->list_lock);
}

/* ---- mapping ---- */

ndr_status ndr_map_check(const char *call, ndr_map_access access)
{
    NDR_REQUIRE(access >= NDR_MAP_READ && access <= NDR_MAP_READ_WRITE,
                "%s: %d is not an ndr_map_access; use NDR_MAP_READ, NDR_MAP_WRITE or NDR_MAP_READ_WRITE", call,
                (int)access);
    return NDR_OK;
}

static cl_map_flags flags_of(ndr_map_access access)
{
    static const cl_map_flags flags[] = { [NDR_MAP_READ] = CL_MAP_READ,
                                          [NDR_MAP_WRITE] = CL_MAP_WRITE_INVALIDATE_REGION,
                                          [NDR_MAP_READ_WRITE] = CL_MAP_READ | CL_MAP_WRITE };
    return flags[access];
}

static ndr_work unmap_of(ndr_work map)
{
    return map == NDR_WORK_MARKER       ? NDR_WORK_MARKER
           : map == NDR_WORK_MAP_SHARED ? NDR_WORK_UNMAP_SHARED
                                        : NDR_WORK_UNMAP;
}

static ndr_status make_mapping(const ndr_queue *queue, const ndr_mapping_request *request, ndr_mapping **mapping)
{
    ndr_mapping *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a mapping");
    const cl_int error = ndr_cl.clRetainCommandQueue(queue->cl);
    if (error != CL_SUCCESS) {
        free(made);
        return ndr_fail_cl(error, "clRetainCommandQueue");
    }
    made->unmap = (ndr_transfer){ .work = unmap_of(request->map->work),
                                  .from.cl = request->map->from.cl,
                                  .target = request->map->target };
    made->bytes = request->bytes;
    made->queue = queue->cl;
    made->access = request->access;
    *mapping = made;
    return NDR_OK;
}

/* With the lock held. */
static ndr_status run(const ndr_order *order, const ndr_transfer *transfer, ndr_event **event)
{
    if (transfer->work == NDR_WORK_MARKER) return ndr_queue_mark_in(order, event);
    return ndr_command_run_checked(&(ndr_command){ order, ndr_submit, transfer, NULL }, event);
}

/* With the lock held. Mappings that overlap, one of them for writing: OpenCL leaves that undefined, and Intel's runtime
 * loses one of them. Parts of images may overlap. */
static ndr_status check_overlap(const ndr_mapping_request *request, const ndr_mapping *first)
{
    const ndr_bytes bytes = request->bytes;
    for (const ndr_mapping *m = first; m && bytes.buffer; m = m->next)
        NDR_REQUIRE((m->access == NDR_MAP_READ && request->access == NDR_MAP_READ)
                        || !ndr_bytes_overlap(m->bytes, bytes),
                    "%s: the mapping of %zu bytes from byte %zu of the buffer overlaps an earlier one, and one of the "
                    "two is for writing; unmap the earlier one first",
                    request->call, bytes.size_bytes, bytes.offset_bytes);
    return NDR_OK;
}

/* With the lock held. */
static ndr_status check_others(const ndr_mapping_request *request)
{
    const ndr_mappings *others = request->mappings;
    const bool is_only = !request->map->from.cl;
    NDR_REQUIRE(!is_only || !others->unfinished,
                "%s: another thread is mapping the allocation; map it when that thread has unmapped it", request->call);
    NDR_REQUIRE(!is_only || !others->first, "%s: the allocation is mapped already; unmap it first", request->call);
    NDR_TRY(check_overlap(request, others->first));
    return check_overlap(request, others->unfinished);
}

static ndr_status submit_nothing(ndr_submission *s, const void *queue)
{
    return ndr_queue_submit_no_op(s, (ndr_queue *)(uintptr_t)queue);
}

/* A command without work that waits for what a mapping in its place would wait for. */
static ndr_status enqueue_nothing(const ndr_order *order, ndr_event **event)
{
    if (!order->queue->no_op_memory) return ndr_queue_mark_in(order, event); /* out of order it may wait for more */
    return ndr_command_run(&(ndr_command){ order, submit_nothing, order->queue, NULL }, event);
}

static ndr_status wait_for_nothing(const ndr_order *order)
{
    ndr_event *before;
    NDR_TRY(enqueue_nothing(order, &before));
    return ndr_event_wait_and_destroy(before, order->queue);
}

/* With the lock held. */
static ndr_status enqueue_locked(const ndr_order *order, const ndr_mapping_request *request, ndr_mapping *mapping,
                                 ndr_event **done)
{
    ndr_mappings *const mappings = request->mappings;
    ndr_transfer map = *request->map;
    map.flags = flags_of(request->access);
    map.mapped = &mapping->unmap.target;
    NDR_TRY(run(order, &map, done));
    mapping->host = request->host ? request->host : mapping->unmap.target;
    mapping->next = mappings->unfinished;
    mappings->unfinished = mapping;
    return NDR_OK;
}

/* With the fault remap_is_old the host first waits for all that the mapping waits for, and again if a thread has
 * unmapped meanwhile. */
static ndr_status enqueue(const ndr_order *order, const ndr_mapping_request *request, ndr_mapping *mapping,
                          ndr_event **done)
{
    ndr_mappings *const mappings = request->mappings;
    const bool is_copy = request->map->from.cl && ndr_avoids(order->queue->context, NDR_QUIRK_REMAP_IS_OLD);
    NDR_TRY(ndr_order_check(order));
    for (uint64_t waited_for = 0;;) {
        ndr_mutex_lock(&mappings->lock);
        const bool is_ready = !is_copy || waited_for == mappings->unmapped;
        ndr_status status = check_others(request);
        if (status == NDR_OK && is_ready) status = enqueue_locked(order, request, mapping, done);
        waited_for = mappings->unmapped;
        ndr_mutex_unlock(&mappings->lock);
        if (status != NDR_OK || is_ready) return status;
        NDR_TRY(wait_for_nothing(order));
    }
}

/* With the lock held. An unfinished mapping at that address, of a buffer or any of its views. */
static bool has_unfinished(const ndr_mappings *mappings, const void *host)
{
    const ndr_mapping *m = mappings->unfinished;
    while (m && m->host != host) m = m->next;
    return m;
}

/* With the lock held. */
static void postpone(ndr_mappings *mappings, ndr_mapping *mapping)
{
    mapping->next = mappings->postponed;
    mappings->postponed = mapping;
}

static void unmap_quietly(const ndr_context *context, const ndr_mapping *mapping)
{
    const char *call;
    if (mapping->unmap.work != NDR_WORK_MARKER)
        (void)ndr_command_run_quietly(context, mapping->queue, &mapping->unmap, NULL, &call);
}

/* With the lock held. */
static void unmap_postponed(const ndr_context *context, ndr_mappings *mappings, const void *host)
{
    for (ndr_mapping **link = &mappings->postponed; *link;) {
        ndr_mapping *const mapping = *link;
        if (mapping->host != host) {
            link = &mapping->next;
            continue;
        }
        *link = mapping->next;
        unmap_quietly(context, mapping);
        free_mapping(mapping);
    }
}

/* With the lock held. */
static void finish_locked(const ndr_order *order, ndr_mappings *mappings, ndr_mapping *mapping, bool is_mapped)
{
    const void *const host = mapping->host;
    ndr_mapping **link = &mappings->unfinished;
    while (*link != mapping) link = &(*link)->next;
    *link = mapping->next;
    if (is_mapped) add_mapping(mappings, mapping);
    else postpone(mappings, mapping);
    if (!has_unfinished(mappings, host)) unmap_postponed(order->queue->context, mappings, host);
}

/* The mapping must not be used after this: another thread may unmap it. */
static ndr_status finish(const ndr_order *order, ndr_mappings *mappings, ndr_mapping *mapping, ndr_event *done)
{
    const ndr_status status = ndr_event_wait_and_destroy(done, order->queue);
    ndr_mutex_lock(&mappings->lock);
    finish_locked(order, mappings, mapping, status == NDR_OK);
    ndr_mutex_unlock(&mappings->lock);
    return status;
}

ndr_status ndr_mapping_begin(const ndr_order *order, const ndr_mapping_request *request, void **host)
{
    ndr_mapping *mapping = NULL;
    NDR_TRY(make_mapping(order->queue, request, &mapping));
    ndr_event *done;
    const ndr_status status = enqueue(order, request, mapping, &done);
    if (status != NDR_OK) free_mapping(mapping);
    NDR_TRY(status);
    void *const mapped = mapping->host;
    NDR_TRY(finish(order, request->mappings, mapping, done));
    *host = mapped;
    return NDR_OK;
}

/* ---- unmapping ---- */

/* With the lock held. If another mapping at the same address is unfinished, the thread that waits for that unmaps this
 * one, too: the fault same_address_unmap. Both are for reading, so nothing is to be written back. */
static ndr_status unmap_now_or_later(const ndr_order *order, ndr_mappings *mappings, ndr_mapping **link,
                                     ndr_event **event)
{
    ndr_mapping *const mapping = *link;
    const bool is_later = ndr_avoids(order->queue->context, NDR_QUIRK_SAME_ADDRESS_UNMAP)
                          && has_unfinished(mappings, mapping->host);
    NDR_TRY(is_later ? ndr_queue_mark_in(order, event) : run(order, &mapping->unmap, event));
    unlist_mapping(mappings, link);
    if (is_later) postpone(mappings, mapping);
    else free_mapping(mapping);
    return NDR_OK;
}

/* With the lock held. */
static ndr_status unmap_locked(const ndr_order *order, const ndr_unmap_request *r, ndr_event **event)
{
    const int noun_length = (int)(strlen(r->call) - strlen("unmap"));
    ndr_mapping **link = find_mapping(r->mappings, r->cl, r->host);
    NDR_REQUIRE(r->host && *link, "%s: %p is not where this %s is mapped; pass the address that %.*smap() returned",
                r->call, r->host, r->what, noun_length, r->call);
    NDR_TRY(unmap_now_or_later(order, r->mappings, link, event));
    ++r->mappings->unmapped;
    return NDR_OK;
}

ndr_status ndr_unmap(const ndr_order *order, const ndr_unmap_request *r, ndr_event **event)
{
    ndr_event *made = NULL;
    NDR_TRY(ndr_order_check(order));
    ndr_mutex_lock(&r->mappings->lock);
    const ndr_status status = unmap_locked(order, r, event ? &made : NULL);
    ndr_mutex_unlock(&r->mappings->lock);
    NDR_TRY(status);
    return ndr_check_unmapped(r->call, r->what, order->queue, r->zones, made, event);
}

/* The lock also keeps out mappings of other views. */
void ndr_unmap_all(const ndr_context *context, ndr_mappings *mappings, cl_mem cl)
{
    if (ndr_mappings_allow(mappings, true)) return;
    ndr_mutex_lock(&mappings->lock);
    for (ndr_mapping **link; *(link = find_mapping(mappings, cl, NULL));) {
        ndr_mapping *const mapping = *link;
        unmap_quietly(context, mapping);
        ++mappings->unmapped;
        unlist_mapping(mappings, link);
        free_mapping(mapping);
    }
    ndr_mutex_unlock(&mappings->lock);
}
