/* submit.c - calls OpenCL's functions that enqueue, by the forms that do not block unless they may. No other file calls clEnqueue*().
 * command.c decides what a command waits for. */
#include "device/submit.h"
#include "device/trace.h"

#include <string.h>

/* ---- around each call ---- */

/* One call, while it is made. */
typedef struct enqueueing {
    cl_event *done; /* NULL: the command needs no event */
    cl_event own;   /* the command's event, if only a trace needs it */
    bool is_traced;
    ndr_traced_command command;
} enqueueing;

static void begin(enqueueing *e, const ndr_submission *s, ndr_traced_command command)
{
    e->done = s->done;
    e->is_traced = ndr_is_traced();
    if (!e->is_traced) return;
    e->command = command;
    e->command.start_ns = ndr_clock_ns();
    if (!e->done) e->done = &e->own;
}

static cl_event share_event(cl_event event) { return ndr_cl.clRetainEvent(event) == CL_SUCCESS ? event : NULL; }

/* Where the next command's event goes, and what it waits for. */
static void move_on(ndr_submission *s)
{
    if (!s->done) return;
    if (s->is_chain) s->waits = (ndr_wait_list){ 1, s->done };
    ++s->done;
}

/* After OpenCL's function gave `error`. */
static ndr_status end(enqueueing *e, ndr_submission *s, const char *function, cl_int error)
{
    NDR_TRY_CL_AS(function, error);
    if (e->is_traced) ndr_trace_command(s->queue, &e->command, s->done ? share_event(*s->done) : e->own);
    move_on(s);
    return NDR_OK;
}

static const cl_event *list_of(const ndr_submission *s) { return s->waits.count ? s->waits.events : NULL; }

static ndr_traced_command transfer(const char *name, size_t bytes)
{
    return (ndr_traced_command){ .category = "transfer", .name = name, .bytes = bytes };
}

/* ---- commands ---- */

ndr_status ndr_submit_kernel(ndr_submission *s, cl_kernel kernel, const char *name, unsigned dims, const size_t *offset,
                             const size_t *global, const size_t *local)
{
    enqueueing e;
    begin(&e, s, (ndr_traced_command){ .category = "kernel", .name = name, .dims = dims, .global = global });
    return end(&e, s, "clEnqueueNDRangeKernel",
               ndr_cl.clEnqueueNDRangeKernel(s->queue, kernel, dims, offset, global, local, s->waits.count, list_of(s),
                                             e.done));
}

ndr_status ndr_submit_marker(ndr_submission *s)
{
    enqueueing e;
    begin(&e, s, transfer("marker", 0));
    const cl_int error = ndr_cl.clEnqueueMarkerWithWaitList(s->queue, s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueMarkerWithWaitList", error));
    ndr_log(NDR_LOG_DEBUG, "command", "marker");
    return NDR_OK;
}

/* Migrating memory behind events would need none to fill, but for the fault migrate_reads_late. */
ndr_status ndr_submit_no_op(ndr_submission *s, cl_mem memory, size_t at)
{
    static const cl_uchar zero;
    enqueueing e;
    begin(&e, s, transfer("marker", 0));
    const cl_int error = ndr_cl.clEnqueueFillBuffer(s->queue, memory, &zero, sizeof zero, at, sizeof zero,
                                                    s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueFillBuffer", error));
    ndr_log(NDR_LOG_DEBUG, "command", "marker");
    return NDR_OK;
}

ndr_status ndr_submit_barrier(ndr_submission *s)
{
    enqueueing e;
    begin(&e, s, transfer("barrier", 0));
    const cl_int error = ndr_cl.clEnqueueBarrierWithWaitList(s->queue, s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueBarrierWithWaitList", error));
    ndr_log(NDR_LOG_DEBUG, "command", "barrier");
    return NDR_OK;
}

ndr_status ndr_submit_read(ndr_submission *s, cl_mem from, size_t offset_bytes, size_t size_bytes, void *host)
{
    enqueueing e;
    begin(&e, s, transfer("read", size_bytes));
    const cl_int error = ndr_cl.clEnqueueReadBuffer(s->queue, from, s->may_block, offset_bytes, size_bytes, host,
                                                    s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueReadBuffer", error));
    ndr_log(NDR_LOG_DEBUG, "command", "read of %zu bytes from byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_write(ndr_submission *s, cl_mem to, size_t offset_bytes, size_t size_bytes, const void *host)
{
    enqueueing e;
    begin(&e, s, transfer("write", size_bytes));
    const cl_int error = ndr_cl.clEnqueueWriteBuffer(s->queue, to, CL_FALSE, offset_bytes, size_bytes, host,
                                                     s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueWriteBuffer", error));
    ndr_log(NDR_LOG_DEBUG, "command", "write of %zu bytes to byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_copy(ndr_submission *s, cl_mem from, size_t from_offset_bytes, cl_mem to, size_t to_offset_bytes,
                           size_t size_bytes)
{
    enqueueing e;
    begin(&e, s, transfer("copy", size_bytes));
    const cl_int error = ndr_cl.clEnqueueCopyBuffer(s->queue, from, to, from_offset_bytes, to_offset_bytes, size_bytes,
                                                    s->waits.count, list_of(s), e.done);
    return end(&e, s, "clEnqueueCopyBuffer", error);
}

ndr_status ndr_submit_fill(ndr_submission *s, cl_mem to, const void *pattern, size_t pattern_bytes, size_t offset_bytes,
                           size_t size_bytes)
{
    enqueueing e;
    begin(&e, s, transfer("fill", size_bytes));
    const cl_int error = ndr_cl.clEnqueueFillBuffer(s->queue, to, pattern, pattern_bytes, offset_bytes, size_bytes,
                                                    s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueFillBuffer", error));
    ndr_log(NDR_LOG_DEBUG, "command", "fill of %zu bytes from byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_map(ndr_submission *s, cl_mem buffer, cl_map_flags flags, size_t offset_bytes, size_t size_bytes,
                          void **host)
{
    enqueueing e;
    cl_int error;
    begin(&e, s, transfer("map", size_bytes));
    void *const mapped = ndr_cl.clEnqueueMapBuffer(s->queue, buffer, CL_FALSE, flags, offset_bytes, size_bytes,
                                                   s->waits.count, list_of(s), e.done, &error);
    NDR_TRY(end(&e, s, "clEnqueueMapBuffer", error));
    *host = mapped;
    ndr_log(NDR_LOG_DEBUG, "command", "map of %zu bytes from byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_unmap(ndr_submission *s, cl_mem buffer, void *host)
{
    enqueueing e;
    begin(&e, s, transfer("unmap", 0));
    const cl_int error = ndr_cl.clEnqueueUnmapMemObject(s->queue, buffer, host, s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueUnmapMemObject", error));
    ndr_log(NDR_LOG_DEBUG, "command", "unmap");
    return NDR_OK;
}

cl_int ndr_submit_last_marker(cl_command_queue queue, cl_event *done, const char **call)
{
    *call = "clEnqueueMarkerWithWaitList";
    return ndr_cl.clEnqueueMarkerWithWaitList(queue, 0, NULL, done);
}

cl_int ndr_submit_last_unmap(cl_command_queue queue, cl_mem buffer, void *host)
{
    return ndr_cl.clEnqueueUnmapMemObject(queue, buffer, host, 0, NULL, NULL);
}

/* ---- rectangles ---- */

static void log_rect(const size_t extent[3], const char *what)
{
    ndr_log(NDR_LOG_DEBUG, "command", "%s of %zu x %zu rows of %zu bytes", what, extent[2], extent[1], extent[0]);
}

static size_t bytes_of(const size_t extent[3]) { return extent[0] * extent[1] * extent[2]; }

static const size_t at_start[3] = { 0, 0, 0 };

ndr_status ndr_submit_read_rect(ndr_submission *s, const ndr_cl_rect_side *from, const ndr_cl_rect_side *to,
                                const size_t extent[3], void *host)
{
    enqueueing e;
    begin(&e, s, transfer("read", bytes_of(extent)));
    const cl_int error = ndr_cl.clEnqueueReadBufferRect(s->queue, from->cl, CL_FALSE, from->origin, at_start, extent,
                                                        from->pitch[0], from->pitch[1], to->pitch[0], to->pitch[1],
                                                        host, s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueReadBufferRect", error));
    log_rect(extent, "read");
    return NDR_OK;
}

ndr_status ndr_submit_write_rect(ndr_submission *s, const ndr_cl_rect_side *to, const ndr_cl_rect_side *from,
                                 const size_t extent[3], const void *host)
{
    enqueueing e;
    begin(&e, s, transfer("write", bytes_of(extent)));
    const cl_int error = ndr_cl.clEnqueueWriteBufferRect(s->queue, to->cl, CL_FALSE, to->origin, at_start, extent,
                                                         to->pitch[0], to->pitch[1], from->pitch[0], from->pitch[1],
                                                         host, s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueWriteBufferRect", error));
    log_rect(extent, "write");
    return NDR_OK;
}

ndr_status ndr_submit_copy_rect(ndr_submission *s, const ndr_cl_rect_side *from, const ndr_cl_rect_side *to,
                                const size_t extent[3])
{
    enqueueing e;
    begin(&e, s, transfer("copy", bytes_of(extent)));
    const cl_int error =
        ndr_cl.clEnqueueCopyBufferRect(s->queue, from->cl, to->cl, from->origin, to->origin, extent, from->pitch[0],
                                       from->pitch[1], to->pitch[0], to->pitch[1], s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueCopyBufferRect", error));
    log_rect(extent, "copy");
    return NDR_OK;
}

/* ---- images ---- */

static size_t bytes_of_part(const ndr_cl_part *part) { return part->element_bytes * bytes_of(part->extent); }

static void log_image(const ndr_cl_part *part, const char *what)
{
    ndr_log(NDR_LOG_DEBUG, "command", "%s of %zu x %zu x %zu elements of an image", what, part->extent[2],
            part->extent[1], part->extent[0]);
}

ndr_status ndr_submit_read_image(ndr_submission *s, const ndr_cl_part *part, size_t row_pitch, size_t slice_pitch,
                                 void *host)
{
    enqueueing e;
    begin(&e, s, transfer("read image", bytes_of_part(part)));
    const cl_int error = ndr_cl.clEnqueueReadImage(s->queue, part->cl, CL_FALSE, part->origin, part->extent, row_pitch,
                                                   slice_pitch, host, s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueReadImage", error));
    log_image(part, "read");
    return NDR_OK;
}

ndr_status ndr_submit_write_image(ndr_submission *s, const ndr_cl_part *part, size_t row_pitch, size_t slice_pitch,
                                  void *host)
{
    enqueueing e;
    begin(&e, s, transfer("write image", bytes_of_part(part)));
    const cl_int error = ndr_cl.clEnqueueWriteImage(s->queue, part->cl, CL_FALSE, part->origin, part->extent, row_pitch,
                                                    slice_pitch, host, s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueWriteImage", error));
    log_image(part, "write");
    return NDR_OK;
}

ndr_status ndr_submit_fill_image(ndr_submission *s, const ndr_cl_part *part, const void *value)
{
    enqueueing e;
    begin(&e, s, transfer("fill image", bytes_of_part(part)));
    const cl_int error = ndr_cl.clEnqueueFillImage(s->queue, part->cl, value, part->origin, part->extent,
                                                   s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueFillImage", error));
    log_image(part, "fill");
    return NDR_OK;
}

ndr_status ndr_submit_copy_image(ndr_submission *s, const ndr_cl_part *part, cl_mem to, const size_t to_origin[3])
{
    enqueueing e;
    begin(&e, s, transfer("copy image", bytes_of_part(part)));
    const cl_int error = ndr_cl.clEnqueueCopyImage(s->queue, part->cl, to, part->origin, to_origin, part->extent,
                                                   s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueCopyImage", error));
    log_image(part, "copy");
    return NDR_OK;
}

ndr_status ndr_submit_map_image(ndr_submission *s, const ndr_cl_part *part, cl_map_flags flags, void **host,
                                size_t *row_pitch, size_t *slice_pitch)
{
    enqueueing e;
    cl_int error;
    begin(&e, s, transfer("map image", bytes_of_part(part)));
    void *const mapped = ndr_cl.clEnqueueMapImage(s->queue, part->cl, CL_FALSE, flags, part->origin, part->extent,
                                                  row_pitch, slice_pitch, s->waits.count, list_of(s), e.done, &error);
    NDR_TRY(end(&e, s, "clEnqueueMapImage", error));
    *host = mapped;
    log_image(part, "map");
    return NDR_OK;
}

/* ---- shared memory ---- */

ndr_status ndr_submit_shared_map(ndr_submission *s, void *start, cl_map_flags flags, size_t size_bytes)
{
    enqueueing e;
    begin(&e, s, transfer("map shared", size_bytes));
    const cl_int error =
        ndr_cl.clEnqueueSVMMap(s->queue, CL_FALSE, flags, start, size_bytes, s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueSVMMap", error));
    ndr_log(NDR_LOG_DEBUG, "command", "map of %zu bytes of shared memory", size_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_shared_unmap(ndr_submission *s, void *start)
{
    enqueueing e;
    begin(&e, s, transfer("unmap shared", 0));
    const cl_int error = ndr_cl.clEnqueueSVMUnmap(s->queue, start, s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueSVMUnmap", error));
    ndr_log(NDR_LOG_DEBUG, "command", "unmap of shared memory");
    return NDR_OK;
}

ndr_status ndr_submit_shared_migrate(ndr_submission *s, const void *start, size_t size_bytes)
{
    enqueueing e;
    begin(&e, s, transfer("prefetch", size_bytes));
    const cl_int error =
        ndr_cl.clEnqueueSVMMigrateMem(s->queue, 1, &start, &size_bytes, 0, s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, "clEnqueueSVMMigrateMem", error));
    ndr_log(NDR_LOG_DEBUG, "command", "prefetch of %zu bytes of shared memory", size_bytes);
    return NDR_OK;
}

bool ndr_submit_knows_shared(void)
{
    return ndr_cl.clEnqueueSVMMap && ndr_cl.clEnqueueSVMUnmap && ndr_cl.clEnqueueSVMMemcpy;
}

bool ndr_submit_knows_migration(void) { return ndr_cl.clEnqueueSVMMigrateMem != NULL; }

const char ndr_shared_copier_name[] = "clEnqueueMemcpyINTEL";

ndr_status ndr_submit_shared_copy(ndr_submission *s, ndr_shared_copier copy, void *to, const void *from,
                                  size_t size_bytes)
{
    const ndr_shared_copier submit = copy ? copy : ndr_cl.clEnqueueSVMMemcpy;
    enqueueing e;
    begin(&e, s, transfer("copy shared", size_bytes));
    const cl_int error = submit(s->queue, CL_FALSE, to, from, size_bytes, s->waits.count, list_of(s), e.done);
    NDR_TRY(end(&e, s, copy ? ndr_shared_copier_name : "clEnqueueSVMMemcpy", error));
    ndr_log(NDR_LOG_DEBUG, "command", "copy of %zu bytes of shared memory", size_bytes);
    return NDR_OK;
}
