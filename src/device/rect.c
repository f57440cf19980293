/* rect.c - transfers of rectangles: blocks of rows and planes, in buffers and in the host's memory.
 *
 * Each side is first described in bytes, by a start and two pitches. Then all that is contiguous on both sides is
 * joined, so that a dense rectangle becomes a plain transfer. */
#include "device/buffer.h"
#include "device/command.h"
#include "device/context.h"
#include "device/event.h"
#include "device/queue.h"
#include "device/transfer.h"

#include <string.h>

/* One side of a transfer. */
typedef struct side {
    const char *name; /* for sentences: "from" */
    const ndr_rect_side *given;
    ndr_buffer *buffer;     /* NULL: the host's memory */
    size_t start, pitch[2]; /* bytes: of the first element, in OpenCL's buffer; from row to row, from plane to plane */
} side;

typedef struct rect {
    const char *call; /* for sentences */
    ndr_order order;
    const ndr_rect_desc *desc;
    side from, to;
    char *host; /* a write leaves its memory unchanged */
    unsigned dims;
    size_t extent[3]; /* in OpenCL's order, padded with 1; the first one in bytes once the sides are known */
    bool *submitted; /* set when one of its commands is enqueued */
} rect;

/* ---- where the sides are ---- */

static size_t element_bytes(const rect *r) { return r->desc->element_bytes ? r->desc->element_bytes : 1; }

/* "ndr_buffer_copy_rect, from, dimension 1: origin 3 and extent 5": dimensions as the caller counts them. */
#define REFUSE_DIM(status, r, s, k, format, ...)                                                                     \
    ndr_fail((status), "%s, %s, dimension %u: origin %zu and extent %zu " format, (r)->call, (s)->name,              \
             (r)->dims - 1 - (k), (s)->given->origin[(r)->dims - 1 - (k)], (r)->extent[k], __VA_ARGS__)

static ndr_status refuse_end(const rect *r, const side *s, unsigned k)
{
    if (!s->buffer)
        return REFUSE_DIM(NDR_OUT_OF_BOUNDS, r, s, k, "exceed the host's address space: %s", "reduce the pitches");
    return REFUSE_DIM(NDR_OUT_OF_BOUNDS, r, s, k,
                      "reach past the end of a buffer of %zu bytes, with offset_bytes %zu, row_pitch_bytes %zu and "
                      "plane_pitch_bytes %zu",
                      s->buffer->size_bytes, s->given->offset_bytes, s->given->row_pitch_bytes,
                      s->given->plane_pitch_bytes);
}

/* `end` elements of dimension k, `stride` bytes apart, must fit the pitch of the next dimension. */
static ndr_status check_pitch(const rect *r, const side *s, unsigned k, size_t stride, size_t end)
{
    const char *name = k ? "plane_pitch_bytes" : "row_pitch_bytes";
    if (end > s->pitch[k] / stride)
        return REFUSE_DIM(NDR_BAD_ARGUMENT, r, s, k, "of %zu bytes each do not fit into %s, %zu; increase it", stride,
                          name, s->pitch[k]);
    NDR_REQUIRE(k == 0 || s->pitch[k] % stride == 0,
                "%s, %s: plane_pitch_bytes is %zu; it must be a multiple of row_pitch_bytes, %zu", r->call, s->name,
                s->pitch[k], stride);
    return NDR_OK;
}

static ndr_status place(const rect *r, side *s)
{
    const size_t pitches[2] = { s->given->row_pitch_bytes, s->given->plane_pitch_bytes };
    const size_t limit = s->buffer ? s->buffer->size_bytes : PTRDIFF_MAX;
    size_t origin[3], stride = element_bytes(r), last = s->given->offset_bytes; /* first byte of the last element */
    ndr_reverse_dims(r->dims, s->given->origin, origin);
    s->start = last;
    for (unsigned k = 0; k < r->dims; ++k) {
        size_t end, bytes, behind;
        const bool fits = ndr_add_fits(origin[k], r->extent[k], &end) && ndr_mul_fits(end - 1, stride, &bytes)
                          && ndr_add_fits(last, bytes, &last) && ndr_add_fits(last, element_bytes(r), &behind)
                          && behind <= limit;
        if (!fits) return refuse_end(r, s, k);
        s->start += origin[k] * stride;
        if (k + 1 == r->dims) break;
        s->pitch[k] = pitches[k] ? pitches[k] : r->extent[k] * stride;
        NDR_TRY(check_pitch(r, s, k, stride, end));
        stride = s->pitch[k];
    }
    if (s->buffer) s->start += s->buffer->memory_offset;
    return NDR_OK;
}

/* The first byte, counted from the buffer's own start. */
static size_t offset_in_buffer(const side *s) { return s->start - s->buffer->memory_offset; }

/* ---- joining what is contiguous ---- */

static void drop_rows(side *s)
{
    s->pitch[0] = s->pitch[1];
    s->pitch[1] = 0;
}

static void join_rows(rect *r)
{
    r->extent[0] *= r->extent[1];
    r->extent[1] = r->extent[2];
    r->extent[2] = 1;
    drop_rows(&r->from);
    drop_rows(&r->to);
    --r->dims;
}

static void drop_last(rect *r)
{
    --r->dims;
    r->from.pitch[r->dims - 1] = r->to.pitch[r->dims - 1] = 0;
}

static void join(rect *r)
{
    while (r->dims > 1 && r->extent[r->dims - 1] == 1) drop_last(r);
    while (r->dims > 1 && r->from.pitch[0] == r->extent[0] && r->to.pitch[0] == r->extent[0]) join_rows(r);
}

/* ---- overlap ---- */

/* The host's side starts at its first element. */
static ndr_cl_side describe(const rect *r, const side *s)
{
    if (!s->buffer) return (ndr_cl_side){ .pitch = { s->pitch[0], s->pitch[1] } };
    const size_t row = s->pitch[0], plane = s->pitch[1], in_plane = r->dims > 2 ? s->start % plane : s->start;
    return (ndr_cl_side){ .cl = s->buffer->memory,
                          .origin = { in_plane % row, in_plane / row, r->dims > 2 ? s->start / plane : 0 },
                          .pitch = { row, plane } };
}

/* Whether [a, a + extent) and [b, b + extent) have a number in common. */
static bool intersect(size_t a, size_t b, size_t extent) { return a < b + extent && b < a + extent; }

/* Whether what passes the pitch of [a, a + extent) or of [b, b + extent) reaches the start of the other. */
static bool wrap(size_t a, size_t b, size_t extent, size_t pitch)
{
    return (a + extent > pitch && a + extent - pitch > b) || (b + extent > pitch && b + extent - pitch > a);
}

/* OpenCL's rule for rectangles of the same pitches in one buffer: they overlap if they intersect in every dimension. If
 * one continues in the next row or plane, they also overlap if the bytes from first to last do, rounded up. */
static bool overlap(const rect *r)
{
    const ndr_cl_side a = describe(r, &r->from), b = describe(r, &r->to);
    const size_t *extent = r->extent, row = a.pitch[0], plane = r->dims > 2 ? a.pitch[1] : extent[1] * row;
    if (intersect(a.origin[0], b.origin[0], extent[0]) && intersect(a.origin[1], b.origin[1], extent[1])
        && intersect(a.origin[2], b.origin[2], extent[2]))
        return true;
    const bool continues = wrap(a.origin[0], b.origin[0], extent[0], row)
                           || (r->dims > 2 && wrap(a.origin[1], b.origin[1], extent[1], plane / row));
    return continues && intersect(r->from.start, r->to.start, extent[2] * plane + extent[1] * row + extent[0]);
}

static ndr_status check_apart(const rect *r)
{
    const side *a = &r->from, *b = &r->to;
    if (!a->buffer || !b->buffer || a->buffer->memory != b->buffer->memory) return NDR_OK;
    const bool is_plain = r->dims == 1;
    NDR_REQUIRE(
        a->pitch[0] == b->pitch[0] && a->pitch[1] == b->pitch[1],
        "%s: from and to are in the same memory and need the same pitches, but rows are %zu and %zu bytes apart, "
        "planes %zu and %zu",
        r->call, a->pitch[0], b->pitch[0], a->pitch[1], b->pitch[1]);
    NDR_REQUIRE(
        !(is_plain ? intersect(a->start, b->start, r->extent[0]) : overlap(r)),
        "%s: the rectangles at byte %zu of from and at byte %zu of to overlap in memory; copy via another buffer",
        r->call, offset_in_buffer(a), offset_in_buffer(b));
    return NDR_OK;
}

/* ---- submitting ---- */

/* The command for a rectangle that is contiguous. */
static ndr_transfer plain_of(const rect *r)
{
    const ndr_buffer *from = r->from.buffer, *to = r->to.buffer;
    const ndr_bytes source = { from, from ? offset_in_buffer(&r->from) : 0, r->extent[0] };
    const ndr_bytes target = { to, to ? offset_in_buffer(&r->to) : 0, r->extent[0] };
    if (from && to) return ndr_buffer_copying(&source, &target);
    return from ? ndr_buffer_transferring(NDR_WORK_READ, &source, r->host + r->to.start)
                : ndr_buffer_transferring(NDR_WORK_WRITE, &target, r->host + r->from.start);
}

static ndr_transfer rows_of(const rect *r)
{
    ndr_transfer t = { .from = describe(r, &r->from), .to = describe(r, &r->to) };
    t.work = !t.from.cl ? NDR_WORK_WRITE_RECT : !t.to.cl ? NDR_WORK_READ_RECT : NDR_WORK_COPY_RECT;
    if (!t.from.cl) t.source = r->host + r->from.start;
    if (!t.to.cl) t.target = r->host + r->to.start;
    memcpy(t.extent, r->extent, sizeof t.extent);
    return t;
}

static ndr_status submit_command(ndr_submission *s, const rect *r)
{
    const ndr_transfer t = (r->dims == 1 ? plain_of : rows_of)(r);
    NDR_TRY(ndr_submit(s, &t));
    *r->submitted = true;
    return NDR_OK;
}

/* Whether the whole pitch of the last row (of two dimensions) or of the last plane (of three) is in the memory. */
static bool has_whole_pitches(const rect *r, const side *s)
{
    if (!s->buffer || r->dims == 1) return true;
    const ndr_buffer *whole = s->buffer->whole;
    const size_t pitch = s->pitch[r->dims - 2];
    return (s->start / pitch + r->extent[r->dims - 1]) * pitch <= whole->memory_offset + whole->size_bytes;
}

/* `count` rows or planes, from the one of number `first` on. */
static rect part_of(const rect *r, size_t first, size_t count)
{
    rect part = *r;
    part.from.start += first * r->from.pitch[r->dims - 2];
    part.to.start += first * r->to.pitch[r->dims - 2];
    part.extent[r->dims - 1] = count;
    join(&part);
    return part;
}

/* With the fault last_pitch_refused the last row or plane has a command of its own, after one for the others. */
static ndr_status submit_parts(ndr_submission *s, const void *rect_)
{
    const rect *r = rect_;
    const bool refuses = ndr_avoids(r->order.queue->context, NDR_QUIRK_LAST_PITCH_REFUSED);
    if (!refuses || (has_whole_pitches(r, &r->from) && has_whole_pitches(r, &r->to))) return submit_command(s, r);
    const size_t others = r->extent[r->dims - 1] - 1;
    const rect start = part_of(r, 0, others), end = part_of(r, others, 1);
    NDR_TRY(submit_command(s, &start));
    return submit_parts(s, &end);
}

/* If a part was refused, the others may still use the host's memory. */
static ndr_status submit(rect *r, ndr_event **event)
{
    bool submitted = false;
    r->submitted = &submitted;
    const ndr_status status = ndr_command_run(&(ndr_command){ &r->order, submit_parts, r, NULL }, event);
    return status != NDR_OK && submitted ? ndr_queue_end(r->order.queue, status) : status;
}

/* ---- the calls ---- */

static ndr_status read_desc(rect *r)
{
    const ndr_rect_desc *desc = r->desc;
    NDR_REQUIRE_SET_IN(r->call, desc);
    const ndr_range *extent = &desc->extent;
    NDR_REQUIRE(extent->dims >= 1 && extent->dims <= 3, "%s: extent.dims is %u; make it 1, 2 or 3", r->call,
                extent->dims);
    r->dims = extent->dims;
    r->from.name = "from", r->from.given = &r->desc->from;
    r->to.name = "to", r->to.given = &r->desc->to;
    r->extent[0] = r->extent[1] = r->extent[2] = 1;
    ndr_reverse_dims(r->dims, extent->size, r->extent);
    return NDR_OK;
}

static bool is_empty(const rect *r) { return r->extent[0] == 0 || r->extent[1] == 0 || r->extent[2] == 0; }

/* Of a side that is a buffer. */
static ndr_status check_side(const rect *r, const side *s, bool is_written, bool is_hosts)
{
    NDR_TRY(ndr_buffer_check_use(r->call, s->name, r->order.queue, s->buffer, is_written));
    return is_hosts ? ndr_check_host_access(r->call, "buffer", s->buffer->host_access, !is_written, is_written)
                    : NDR_OK;
}

static ndr_status place_both(rect *r)
{
    NDR_TRY(place(r, &r->from));
    NDR_TRY(place(r, &r->to));
    r->extent[0] *= element_bytes(r);
    join(r);
    return check_apart(r);
}

/* With its buffers checked. */
static ndr_status transfer(rect *r, bool uses_host, ndr_event **event)
{
    if (is_empty(r)) return ndr_queue_mark_in(&r->order, event);
    NDR_TRY(place_both(r));
    if (event || !uses_host) return submit(r, event);
    ndr_event *done;
    NDR_TRY(submit(r, &done));
    return ndr_event_wait_and_destroy(done, r->order.queue);
}

ndr_status ndr_buffer_copy_rect(ndr_queue *queue, ndr_buffer *from, ndr_buffer *to, const ndr_rect_desc *desc,
                                ndr_event **event)
{
    rect r = { .call = __func__, .order = ndr_order_of(queue), .desc = desc, .from.buffer = from, .to.buffer = to };
    NDR_TRY(read_desc(&r));
    NDR_TRY(check_side(&r, &r.from, false, false));
    NDR_TRY(check_side(&r, &r.to, true, false));
    return transfer(&r, false, event);
}

static ndr_status transfer_with_host(rect *r, ndr_event **event)
{
    NDR_TRY(read_desc(r));
    const bool writes = r->to.buffer != NULL;
    NDR_TRY(check_side(r, writes ? &r->to : &r->from, writes, true));
    NDR_REQUIRE(r->host || is_empty(r), "%s: host is NULL, but the extent is not empty; pass memory of that size",
                r->call);
    return transfer(r, true, event);
}

ndr_status ndr_buffer_write_rect(ndr_queue *queue, ndr_buffer *buffer, const ndr_rect_desc *desc, const void *host,
                                 ndr_event **event)
{
    NDR_REQUIRE_SET(buffer);
    return transfer_with_host(&(rect){ .call = __func__,
                                       .order = ndr_order_of(queue),
                                       .desc = desc,
                                       .to.buffer = buffer,
                                       .host = (char *)(uintptr_t)host },
                              event);
}

ndr_status ndr_buffer_read_rect(ndr_queue *queue, ndr_buffer *buffer, const ndr_rect_desc *desc, void *host,
                                ndr_event **event)
{
    NDR_REQUIRE_SET(buffer);
    return transfer_with_host(
        &(rect){ .call = __func__, .order = ndr_order_of(queue), .desc = desc, .from.buffer = buffer, .host = host },
        event);
}
