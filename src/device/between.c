/* between.c - transfers between queues, also of different contexts, which share no memory.
 *
 *   both queues of one context     a copy
 *   few bytes                      a read and a write
 *   a device shares the host's     its bytes are mapped, and the other device reads or writes them there
 *     memory, such as a CPU
 *   otherwise                      pieces: while one is written to the second device, the next is read from the first
 *
 * With an event the transfer is a task of both queues, whose thread does this in queues of its own. */
#include "device/buffer.h"
#include "device/command.h"
#include "device/context.h"
#include "device/event.h"
#include "device/pinned.h"
#include "device/queue.h"
#include "device/task.h"
#include "device/transfer.h"

#include <stdio.h>
#include <stdlib.h>

static const char call[] = "ndr_buffer_transfer";

typedef struct side {
    ndr_order order; /* of the commands */
    ndr_bytes bytes;
} side;

typedef struct passage {
    side from, to;
} passage;

/* ---- by a mapping ---- */

/* These are no mappings of the caller's, so the buffer does not count as mapped. */
static ndr_status map(ndr_mappings *mappings, const side *s, ndr_map_access access, void **host)
{
    const ndr_transfer map = ndr_buffer_transferring(NDR_WORK_MAP, &s->bytes, NULL);
    return ndr_mapping_begin(&s->order, &(ndr_mapping_request){ call, mappings, &map, s->bytes, access, NULL }, host);
}

/* The end of a mapping for reading changes nothing, and need not be waited for. */
static ndr_status unmap(ndr_mappings *mappings, const side *s, ndr_map_access access, void *host)
{
    ndr_event *done = NULL;
    NDR_TRY(ndr_unmap(&s->order,
                      &(ndr_unmap_request){ "ndr_buffer_unmap", "buffer", mappings, s->bytes.buffer->cl, host, NULL },
                      access == NDR_MAP_READ ? NULL : &done));
    return done ? ndr_event_wait_and_destroy(done, s->order.queue) : NDR_OK;
}

static ndr_status transfer_host(const side *s, ndr_work work, void *host)
{
    const ndr_transfer t = ndr_buffer_transferring(work, &s->bytes, host);
    return ndr_transfer_run(&s->order, &t, true, NULL);
}

static ndr_status pass_mapped(const side *mapped, ndr_map_access access, const side *other, ndr_work work)
{
    ndr_mappings mappings = { 0 };
    void *host;
    ndr_mappings_init(&mappings);
    ndr_status status = map(&mappings, mapped, access, &host);
    if (status == NDR_OK) {
        status = transfer_host(other, work, host);
        const ndr_status unmapped = status == NDR_OK ? unmap(&mappings, mapped, access, host) : NDR_OK;
        ndr_unmap_all(mapped->order.queue->context, &mappings, mapped->bytes.buffer->cl);
        if (status == NDR_OK) status = unmapped;
    }
    ndr_mappings_destroy(&mappings);
    return status;
}

/* ---- few bytes ---- */

/* A copy more takes less time than a third command. Tests lower it. */
size_t ndr_max_small_bytes = (size_t)1 << 18;

static ndr_status pass_small(const passage *p)
{
    char *const host = malloc(p->from.bytes.size_bytes);
    if (!host) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a transfer");
    ndr_status status = transfer_host(&p->from, NDR_WORK_READ, host);
    if (status == NDR_OK) status = transfer_host(&p->to, NDR_WORK_WRITE, host);
    free(host);
    return status;
}

/* ---- by pieces ---- */

size_t ndr_max_piece_bytes = (size_t)16 << 20;
enum { SLOTS = 3, MIN_PIECE_BYTES = 1 << 20, PIECES = 8 };

typedef struct slot {
    char *host;
    ndr_event *read, *written;
} slot;

static side piece_of(const side *s, size_t piece_bytes, size_t index)
{
    side piece = *s;
    piece.bytes.offset_bytes += index * piece_bytes;
    piece.bytes.size_bytes = ndr_min_size(piece_bytes, s->bytes.size_bytes - index * piece_bytes);
    return piece;
}

static ndr_status end(const side *s, ndr_event **event)
{
    ndr_event *const ended = *event;
    *event = NULL;
    return ended ? ndr_event_wait_and_destroy(ended, s->order.queue) : NDR_OK;
}

static ndr_status start(const side *piece, ndr_work work, char *host, ndr_event **event)
{
    const ndr_transfer t = ndr_buffer_transferring(work, &piece->bytes, host);
    NDR_TRY(ndr_transfer_run(&piece->order, &t, true, event));
    NDR_TRY_CL(clFlush(piece->order.queue->cl));
    return NDR_OK;
}

/* The next piece is being read when one is written. */
static ndr_status pass_in_slots(const passage *p, slot *slots, size_t piece_bytes)
{
    const size_t count = ndr_ceil_div(p->from.bytes.size_bytes, piece_bytes);
    for (size_t i = 0; i <= count; ++i) {
        slot *const next = &slots[i % SLOTS], *const read = &slots[(i + SLOTS - 1) % SLOTS];
        if (i < count) {
            const side from = piece_of(&p->from, piece_bytes, i);
            NDR_TRY(end(&p->to, &next->written));
            NDR_TRY(start(&from, NDR_WORK_READ, next->host, &next->read));
        }
        if (i > 0) {
            const side to = piece_of(&p->to, piece_bytes, i - 1);
            NDR_TRY(end(&p->from, &read->read));
            NDR_TRY(start(&to, NDR_WORK_WRITE, read->host, &read->written));
        }
    }
    for (size_t i = 0; i < SLOTS; ++i) NDR_TRY(end(&p->to, &slots[i].written));
    return NDR_OK;
}

/* Commands that are under way still use the slots. */
static ndr_status end_slots(const passage *p, const slot *slots, ndr_status status)
{
    NDR_IGNORE(ndr_queue_end(p->from.order.queue, status));
    NDR_IGNORE(ndr_queue_end(p->to.order.queue, status));
    for (size_t i = 0; i < SLOTS; ++i) {
        ndr_event_destroy(slots[i].read);
        ndr_event_destroy(slots[i].written);
    }
    return status;
}

static ndr_status pass_in_pieces(const passage *p)
{
    const size_t least = ndr_max_size(MIN_PIECE_BYTES, ndr_ceil_div(p->from.bytes.size_bytes, PIECES));
    const size_t piece_bytes = ndr_min_size(ndr_min_size(least, p->from.bytes.size_bytes), ndr_max_piece_bytes);
    ndr_context *const context = p->from.order.queue->context;
    ndr_pinned *pinned;
    slot slots[SLOTS] = { { 0 } };
    NDR_TRY(ndr_pinned_borrow(context, SLOTS * piece_bytes, &pinned));
    for (size_t i = 0; i < SLOTS; ++i) slots[i].host = ndr_pinned_host(pinned) + i * piece_bytes;
    ndr_status status = pass_in_slots(p, slots, piece_bytes);
    if (status != NDR_OK) status = end_slots(p, slots, status);
    ndr_pinned_return(context, pinned);
    return status;
}

/* ---- one of these ways ---- */

static bool shares_host_memory(const side *s) { return s->order.queue->context->caps.info.shares_host_memory; }

static ndr_status pass(const passage *p)
{
    ndr_status status;
    if (p->from.bytes.size_bytes == 0) return NDR_OK;
    if (p->from.bytes.size_bytes <= ndr_max_small_bytes) status = pass_small(p);
    else if (shares_host_memory(&p->from)) status = pass_mapped(&p->from, NDR_MAP_READ, &p->to, NDR_WORK_WRITE);
    else if (shares_host_memory(&p->to)) status = pass_mapped(&p->to, NDR_MAP_WRITE, &p->from, NDR_WORK_READ);
    else status = pass_in_pieces(p);
    if (status == NDR_OK) return NDR_OK;
    return ndr_fail_with_code(status, ndr_last_cl_error(), "%s: %s; some of the %zu bytes may have been written", call,
                              ndr_last_error(), p->to.bytes.size_bytes);
}

/* A copy waits for both queues, and both wait for it. Each queue is flushed before the other waits for it. */
static ndr_status copy(const passage *p, ndr_event **event)
{
    const side *from = &p->from, *to = &p->to;
    const ndr_transfer t = ndr_buffer_copying(&from->bytes, &to->bytes);
    ndr_event *before = NULL, *done = NULL;
    ndr_order order = to->order;
    NDR_TRY(ndr_queue_mark_in(&from->order, &before));
    order.also = before;
    ndr_status status = ndr_event_flush(before);
    if (status == NDR_OK) status = ndr_transfer_run(&order, &t, false, &done);
    if (status == NDR_OK) status = ndr_event_flush(done);
    if (status == NDR_OK && from->order.queue != to->order.queue)
        status = ndr_queue_mark_in(&(ndr_order){ .queue = from->order.queue, .also = done }, NULL);
    ndr_event_destroy(before);
    if (status == NDR_OK && event) *event = done;
    else if (status == NDR_OK) status = ndr_event_wait_and_destroy(done, to->order.queue);
    else ndr_event_destroy(done);
    return status;
}

/* ---- by a thread of its own ---- */

/* One that was not made has no buffer. */
static void release_side(side *s)
{
    ndr_queue_destroy(s->order.queue);
    if (s->bytes.buffer) ndr_buffer_release((ndr_buffer *)(uintptr_t)s->bytes.buffer);
}

static void release_passage(void *passage_)
{
    passage *p = passage_;
    release_side(&p->from);
    release_side(&p->to);
    free(p);
}

static ndr_status run_passage(void *passage_) { return pass(passage_); }

/* In the caller's queues its commands would be behind the task. */
static ndr_status add_side(const side *given, side *own)
{
    own->bytes = given->bytes;
    ndr_buffer_keep((ndr_buffer *)(uintptr_t)given->bytes.buffer);
    return ndr_queue_create(given->order.queue->context, NULL, &own->order.queue);
}

static ndr_status add_sides(const passage *p, passage *own)
{
    NDR_TRY(add_side(&p->from, &own->from));
    return add_side(&p->to, &own->to);
}

static ndr_status pass_later(const passage *p, ndr_event **event)
{
    const ndr_order orders[] = { p->from.order, p->to.order };
    passage *own = calloc(1, sizeof *own);
    if (!own) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a transfer");
    const ndr_status status = add_sides(p, own);
    if (status != NDR_OK) release_passage(own);
    NDR_TRY(status);
    return ndr_task_enqueue(orders, 2, &(ndr_task_work){ run_passage, own, release_passage, NULL }, event);
}

/* ---- the call ---- */

static ndr_status check_side(const char *name, const side *s, bool is_written)
{
    const ndr_bytes *b = &s->bytes;
    char both[64];
    snprintf(both, sizeof both, "%s, %s", call, name);
    NDR_TRY(ndr_order_check_queue(both, &s->order));
    NDR_TRY(ndr_buffer_check_bytes(both, s->order.queue, b->buffer, b->offset_bytes, b->size_bytes));
    NDR_TRY(ndr_buffer_check_unmapped(both, b->buffer, is_written));
    return ndr_order_check(&s->order);
}

static ndr_status check_host_accesses(const passage *p)
{
    NDR_TRY(
        ndr_check_host_access("ndr_buffer_transfer, from", "buffer", p->from.bytes.buffer->host_access, true, false));
    return ndr_check_host_access("ndr_buffer_transfer, to", "buffer", p->to.bytes.buffer->host_access, false, true);
}

static ndr_status transfer(const passage *p, ndr_event **event)
{
    const bool is_one_context = p->from.order.queue->context == p->to.order.queue->context;
    if (is_one_context) {
        NDR_TRY(ndr_buffer_check_apart(call, p->from.bytes, p->to.bytes));
        return copy(p, event);
    }
    NDR_TRY(check_host_accesses(p));
    return event ? pass_later(p, event) : pass(p);
}

ndr_status ndr_buffer_transfer(ndr_queue *from_queue, ndr_buffer *from, size_t from_offset_bytes, ndr_queue *to_queue,
                               ndr_buffer *to, size_t to_offset_bytes, size_t size_bytes, ndr_event **event)
{
    const passage p = { { ndr_order_of(from_queue), { from, from_offset_bytes, size_bytes } },
                        { ndr_order_of(to_queue), { to, to_offset_bytes, size_bytes } } };
    NDR_TRY(check_side("from", &p.from, false));
    NDR_TRY(check_side("to", &p.to, true));
    return transfer(&p, event);
}
