/* map.c - mappings of buffers and images.
 *
 * A buffer also has the mappings of its views and of images over it. A driver keeps them in a list, and distinguishes
 * mappings at the same address only by their order. So a lock is held while the driver enqueues one, but not while a
 * thread waits for it: what it waits for may be ended by a thread that maps or unmaps the same buffer first. */
#include "device/device.h"

#include <stdlib.h>

void ndr_mappings_init(ndr_mappings *mappings)
{
    ndr_mutex_init(&mappings->lock);
    ndr_mutex_init(&mappings->list_lock);
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
    while (*link && ((*link)->cl != cl || (host && (*link)->host != host))) link = &(*link)->next;
    return link;
}

static void free_mapping(ndr_mapping *mapping)
{
    ndr_cl.clReleaseCommandQueue(mapping->queue);
    free(mapping);
}

static void remove_mapping(ndr_mappings *mappings, ndr_mapping **link)
{
    ndr_mapping *found = *link;
    ndr_mutex_lock(&mappings->list_lock);
    *link = found->next;
    atomic_fetch_sub(&mappings->count, 1);
    if (found->access != NDR_MAP_READ) atomic_fetch_sub(&mappings->count_for_writing, 1);
    ndr_mutex_unlock(&mappings->list_lock);
    free_mapping(found);
}

/* ---- mapping ---- */

ndr_status ndr_map_check(const char *call, ndr_map_access access)
{
    NDR_REQUIRE(access >= NDR_MAP_READ && access <= NDR_MAP_READ_WRITE,
                "%s: %d is not an ndr_map_access; use NDR_MAP_READ, NDR_MAP_WRITE or NDR_MAP_READ_WRITE", call,
                (int)access);
    return NDR_OK;
}

cl_map_flags ndr_map_flags(ndr_map_access access)
{
    static const cl_map_flags flags[] = { [NDR_MAP_READ] = CL_MAP_READ,
                                          [NDR_MAP_WRITE] = CL_MAP_WRITE_INVALIDATE_REGION,
                                          [NDR_MAP_READ_WRITE] = CL_MAP_READ | CL_MAP_WRITE };
    return flags[access];
}

static ndr_status make_mapping(const ndr_queue *queue, const ndr_map_request *request, ndr_mapping **mapping)
{
    ndr_mapping *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a mapping");
    const cl_int error = ndr_cl.clRetainCommandQueue(queue->cl);
    if (error != CL_SUCCESS) {
        free(made);
        return ndr_fail_cl(error, "clRetainCommandQueue");
    }
    made->cl = request->cl;
    made->bytes = request->bytes;
    made->queue = queue->cl;
    made->access = request->access;
    *mapping = made;
    return NDR_OK;
}

typedef struct map_command {
    const ndr_map_request *request;
    void **host;
} map_command;

static ndr_status submit_map(ndr_submission *s, const void *command_)
{
    const map_command *command = command_;
    return command->request->submit(s, command->request, command->host);
}

/* With the lock held. Mappings that overlap, one of them for writing: OpenCL leaves that undefined, and Intel's runtime
 * loses one of them. `bytes` are unset only if all mappings are of an image. */
static ndr_status check_overlap(const ndr_map_request *request, const ndr_mapping *first)
{
    const ndr_bytes bytes = request->bytes;
    for (const ndr_mapping *m = first; m && bytes.buffer; m = m->next)
        NDR_REQUIRE((m->access == NDR_MAP_READ && request->access == NDR_MAP_READ)
                        || !ndr_bytes_overlap(m->bytes, bytes),
                    "the mapping of %zu bytes from byte %zu of the buffer overlaps an earlier one, and one of the two "
                    "is for writing; unmap the earlier one first",
                    bytes.size_bytes, bytes.offset_bytes);
    return NDR_OK;
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
static ndr_status enqueue_locked(const ndr_order *order, const ndr_map_request *request, ndr_mapping *mapping)
{
    ndr_mappings *const mappings = request->mappings;
    const map_command command = { request, &mapping->host };
    NDR_TRY(ndr_command_run_checked(&(ndr_command){ order, submit_map, &command, NULL }, &mapping->done));
    mapping->next = mappings->unfinished;
    mappings->unfinished = mapping;
    return NDR_OK;
}

/* NVIDIA's driver 580 maps old bytes if an unmapping from the same first byte, of another size, has not ended when the
 * mapping is enqueued, although the mapping waits for it. So where a mapping is a copy, the host first waits for all that
 * the mapping waits for, and again if a thread has unmapped meanwhile. */
static ndr_status enqueue(const ndr_order *order, const ndr_map_request *request, ndr_mapping *mapping)
{
    ndr_mappings *const mappings = request->mappings;
    const bool is_copy = !order->queue->context->caps.info.shares_host_memory;
    NDR_TRY(ndr_order_check(order));
    for (uint64_t waited_for = 0;;) {
        ndr_mutex_lock(&mappings->lock);
        const bool is_ready = !is_copy || waited_for == mappings->unmapped;
        ndr_status status = check_overlap(request, mappings->first);
        if (status == NDR_OK) status = check_overlap(request, mappings->unfinished);
        if (status == NDR_OK && is_ready) status = enqueue_locked(order, request, mapping);
        waited_for = mappings->unmapped;
        ndr_mutex_unlock(&mappings->lock);
        if (status != NDR_OK || is_ready) return status;
        NDR_TRY(wait_for_nothing(order));
    }
}

/* With the lock held. */
static void finish_locked(const ndr_order *order, ndr_mappings *mappings, ndr_mapping *mapping, bool is_mapped)
{
    ndr_mapping **link = &mappings->unfinished;
    while (*link != mapping) link = &(*link)->next;
    *link = mapping->next;
    if (is_mapped) add_mapping(mappings, mapping);
    else ndr_command_last_unmap(order->queue->context, order->queue->cl, mapping->cl, mapping->host);
}

/* The mapping must not be used after this if it is complete: another thread may unmap it. */
static ndr_status finish(const ndr_order *order, ndr_mappings *mappings, ndr_mapping *mapping)
{
    ndr_event *const done = mapping->done;
    const ndr_status status = ndr_event_wait_and_destroy(ndr_event_keep(done), order->queue);
    ndr_mutex_lock(&mappings->lock);
    finish_locked(order, mappings, mapping, status == NDR_OK);
    ndr_mutex_unlock(&mappings->lock);
    ndr_event_release(done);
    return status;
}

ndr_status ndr_map(const ndr_order *order, const ndr_map_request *request, void **host)
{
    ndr_mapping *mapping = NULL;
    NDR_TRY(make_mapping(order->queue, request, &mapping));
    ndr_status status = enqueue(order, request, mapping);
    void *const mapped = mapping->host;
    if (status == NDR_OK) status = finish(order, request->mappings, mapping);
    if (status == NDR_OK) *host = mapped;
    else free_mapping(mapping);
    return status;
}

/* ---- unmapping ---- */

static ndr_status submit_unmap(ndr_submission *s, const void *mapping_)
{
    const ndr_mapping *mapping = mapping_;
    return ndr_submit_unmap(s, mapping->cl, mapping->host);
}

/* With the lock held. Unfinished mappings at that address; `events` may be NULL. */
static size_t list_unfinished(const ndr_mappings *mappings, const void *host, ndr_event **events)
{
    size_t count = 0;
    for (const ndr_mapping *m = mappings->unfinished; m; m = m->next) {
        if (m->host != host || ndr_event_code(m->done) <= CL_COMPLETE) continue;
        if (events) events[count] = m->done;
        ++count;
    }
    return count;
}

/* With the lock held. A driver may unmap another mapping at the same address, and PoCL 3.1 frees one that is not complete.
 * So the unmapping waits for those. */
static ndr_status enqueue_unmapping(const ndr_order *order, ndr_mappings *mappings, const ndr_mapping *mapping,
                                    ndr_event **event)
{
    const size_t unfinished = list_unfinished(mappings, mapping->host, NULL);
    if (unfinished == 0) return ndr_command_run_checked(&(ndr_command){ order, submit_unmap, mapping, NULL }, event);
    ndr_event **const events = malloc((order->count + unfinished) * sizeof *events);
    if (!events) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a wait list");
    for (size_t i = 0; i < order->count; ++i) events[i] = order->events[i];
    ndr_order behind = *order;
    behind.events = events;
    behind.count = order->count + list_unfinished(mappings, mapping->host, events + order->count);
    const ndr_status status = ndr_command_run_checked(&(ndr_command){ &behind, submit_unmap, mapping, NULL }, event);
    free(events);
    return status;
}

/* With the lock held. */
static ndr_status unmap_locked(const ndr_order *order, const char *what, ndr_mappings *mappings, cl_mem cl, void *host,
                               ndr_event **event)
{
    ndr_mapping **link = find_mapping(mappings, cl, host);
    NDR_REQUIRE(host && *link,
                "ndr_%s_unmap: %p is not where this %s is mapped; pass the address that ndr_%s_map() returned", what,
                host, what, what);
    NDR_TRY(enqueue_unmapping(order, mappings, *link, event));
    ++mappings->unmapped;
    remove_mapping(mappings, link);
    return NDR_OK;
}

ndr_status ndr_unmap(const ndr_order *order, const char *what, ndr_mappings *mappings, cl_mem cl, void *host,
                     ndr_event **event)
{
    NDR_TRY(ndr_order_check(order));
    ndr_mutex_lock(&mappings->lock);
    const ndr_status status = unmap_locked(order, what, mappings, cl, host, event);
    ndr_mutex_unlock(&mappings->lock);
    return status;
}

/* The lock also keeps out mappings of other views. */
void ndr_unmap_all(const ndr_context *context, ndr_mappings *mappings, cl_mem cl)
{
    if (ndr_mappings_allow(mappings, true)) return;
    ndr_mutex_lock(&mappings->lock);
    for (ndr_mapping **link; *(link = find_mapping(mappings, cl, NULL));) {
        ndr_command_last_unmap(context, (*link)->queue, cl, (*link)->host);
        ++mappings->unmapped;
        remove_mapping(mappings, link);
    }
    ndr_mutex_unlock(&mappings->lock);
}
