/* fill.c - fills of buffers. */
#include "device/buffer.h"
#include "device/command.h"
#include "device/context.h"
#include "device/transfer.h"

enum { WIDEST = 128 /* bytes: the largest pattern of OpenCL */ };

size_t ndr_max_fill_patterns = INT32_MAX;

static ndr_transfer fill_of(const ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes, const void *pattern,
                            size_t pattern_bytes)
{
    return (ndr_transfer){ .work = NDR_WORK_FILL,
                           .to = { .cl = buffer->cl, .origin = { offset_bytes } },
                           .extent = { size_bytes, 1, 1 },
                           .source = pattern,
                           .pattern_bytes = pattern_bytes };
}

/* ---- where patterns are too many: the fault fill_31_bits ----
 *
 * The pattern is repeated to WIDEST bytes. The bytes outside multiples of WIDEST are copied from a small buffer. */

/* Bytes [begin, end) of a buffer, of which [middle, middle_end) are filled; both are multiples of WIDEST. */
typedef struct far_filling {
    const ndr_buffer *buffer;
    size_t begin, middle, middle_end, end;
    unsigned char wide[3 * WIDEST]; /* the pattern, repeated from a multiple of WIDEST on */
    cl_mem tile;                    /* a buffer with these bytes */
} far_filling;

static ndr_status submit_edge(ndr_submission *s, const far_filling *f, size_t begin, size_t end)
{
    if (begin == end) return NDR_OK;
    return ndr_submit(
        s, &(ndr_transfer){ .work = NDR_WORK_COPY,
                            .from = { .cl = f->tile, .origin = { begin % WIDEST } },
                            .to = { .cl = f->buffer->memory, .origin = { f->buffer->memory_offset + begin } },
                            .extent = { end - begin, 1, 1 } });
}

static ndr_status submit_middle(ndr_submission *s, const far_filling *f)
{
    if (f->middle == f->middle_end) return NDR_OK;
    const ndr_transfer fill = fill_of(f->buffer, f->middle, f->middle_end - f->middle, f->wide, WIDEST);
    return ndr_submit(s, &fill);
}

static ndr_status submit_far(ndr_submission *s, const void *filling_)
{
    const far_filling *f = filling_;
    NDR_TRY(submit_edge(s, f, f->begin, f->middle));
    bool has_begun = f->begin < f->middle;
    ndr_status status = submit_middle(s, f);
    if (status == NDR_OK) {
        has_begun = has_begun || f->middle < f->middle_end;
        status = submit_edge(s, f, f->middle_end, f->end);
    }
    if (status == NDR_OK || !has_begun) return status;
    return ndr_fail_with_code(status, ndr_last_cl_error(), "%s; some of the bytes may be filled", ndr_last_error());
}

/* A short fill has no middle. */
static far_filling make_far(const ndr_buffer *buffer, const ndr_transfer *fill)
{
    const size_t begin = fill->to.origin[0], end = begin + fill->extent[0];
    const bool is_short = fill->extent[0] < 2 * WIDEST;
    far_filling out = { .buffer = buffer,
                        .begin = begin,
                        .middle = is_short ? end : begin + (WIDEST - begin % WIDEST) % WIDEST,
                        .middle_end = is_short ? end : end - end % WIDEST,
                        .end = end };
    for (size_t i = 0; i < sizeof out.wide; ++i)
        out.wide[i] = ((const unsigned char *)fill->source)[i % fill->pattern_bytes];
    return out;
}

/* OpenCL keeps the small buffer until the copies from it have ended. */
static ndr_status fill_far(const ndr_order *order, const ndr_buffer *buffer, const ndr_transfer *fill,
                           ndr_event **event)
{
    cl_int error;
    far_filling far = make_far(buffer, fill);
    far.tile = ndr_cl.clCreateBuffer(buffer->context->cl, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof far.wide,
                                     far.wide, &error);
    NDR_TRY_CL_AS("clCreateBuffer", error);
    const ndr_status status = ndr_command_run(&(ndr_command){ order, submit_far, &far, NULL }, event);
    ndr_cl.clReleaseMemObject(far.tile);
    return status;
}

/* ---- filling ---- */

static ndr_status check_pattern(const void *pattern, size_t pattern_bytes, size_t offset_bytes, size_t size_bytes)
{
    NDR_REQUIRE_SET_IN("ndr_buffer_fill", pattern);
    NDR_REQUIRE(pattern_bytes >= 1 && pattern_bytes <= WIDEST && (pattern_bytes & (pattern_bytes - 1)) == 0,
                "ndr_buffer_fill: a pattern has 1, 2, 4, 8, 16, 32, 64 or 128 bytes, not %zu", pattern_bytes);
    NDR_REQUIRE(offset_bytes % pattern_bytes == 0 && size_bytes % pattern_bytes == 0,
                "ndr_buffer_fill: offset %zu and size %zu must both be multiples of the pattern's %zu bytes",
                offset_bytes, size_bytes, pattern_bytes);
    return NDR_OK;
}

ndr_status ndr_buffer_fill(ndr_queue *queue, ndr_buffer *buffer, size_t offset_bytes, size_t size_bytes,
                           const void *pattern, size_t pattern_bytes, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    NDR_TRY(ndr_buffer_check_bytes(__func__, order.queue, buffer, offset_bytes, size_bytes));
    NDR_TRY(check_pattern(pattern, pattern_bytes, offset_bytes, size_bytes));
    NDR_TRY(ndr_buffer_check_unmapped(__func__, buffer, true));
    const ndr_transfer fill = fill_of(buffer, offset_bytes, size_bytes, pattern, pattern_bytes);
    const bool is_far = size_bytes > 0 && (offset_bytes + size_bytes) / pattern_bytes > ndr_max_fill_patterns
                        && ndr_avoids(buffer->context, NDR_QUIRK_FILL_31_BITS);
    return is_far ? fill_far(&order, buffer, &fill, event) : ndr_transfer_run(&order, &fill, false, event);
}
