/* submit.c - enqueues all commands. No other file calls clEnqueue*(). */
#include "device/device.h"

/* Intel's runtime crashes if one thread enqueues a marker or a barrier in an out-of-order queue while another enqueues
 * there. So where threads wait in turn, they also enqueue in turn. */
static ndr_mutex turn = NDR_MUTEX_INITIALIZER;

static bool take_turn(void)
{
    const bool is_taken = atomic_load_explicit(&ndr_waits_in_turn, memory_order_relaxed);
    if (is_taken) ndr_mutex_lock(&turn);
    return is_taken;
}

static void end_turn(bool is_taken)
{
    if (is_taken) ndr_mutex_unlock(&turn);
}

#define TRY_IN_TURN(call_name, error)       \
    do {                                    \
        const bool is_taken_ = take_turn(); \
        const cl_int code_ = (error);       \
        end_turn(is_taken_);                \
        NDR_TRY_CL_AS(call_name, code_);    \
    } while (0)

/* The last three arguments of a command's call. */
#define LIST(s) (s)->waits.count, ((s)->waits.count ? (s)->waits.events : NULL), done_

/* Enqueue by `call`, which ends with LIST(s). While a trace runs, each command has an event, and what follows `call`
 * describes the command. */
#define ENQUEUE(s, call, ...) ENQUEUE_AS(s, #call, ndr_cl.call, __VA_ARGS__)
#define ENQUEUE_AS(s, call_name, error, ...)                                                  \
    do {                                                                                      \
        cl_event own_ = NULL, *done_ = (s)->done;                                             \
        if (!ndr_is_traced()) {                                                               \
            TRY_IN_TURN(call_name, error);                                                    \
            break;                                                                            \
        }                                                                                     \
        const ndr_traced_command command_ = { __VA_ARGS__, .start_ns = ndr_clock_ns() };      \
        if (!done_) done_ = &own_;                                                            \
        TRY_IN_TURN(call_name, error);                                                        \
        ndr_trace_command((s)->queue, &command_, (s)->done ? share_event(*(s)->done) : own_); \
    } while (0)

static cl_event share_event(cl_event event) { return ndr_cl.clRetainEvent(event) == CL_SUCCESS ? event : NULL; }

ndr_status ndr_submit_kernel(const ndr_submission *s, cl_kernel kernel, const char *name, unsigned dims,
                             const size_t *offset, const size_t *global, const size_t *local)
{
    ENQUEUE(s, clEnqueueNDRangeKernel(s->queue, kernel, dims, offset, global, local, LIST(s)), "kernel", name,
            .dims = dims, .global = global);
    return NDR_OK;
}

ndr_status ndr_submit_marker(const ndr_submission *s)
{
    ENQUEUE(s, clEnqueueMarkerWithWaitList(s->queue, LIST(s)), "transfer", "marker");
    ndr_log(NDR_LOG_DEBUG, "command", "marker");
    return NDR_OK;
}

/* Fills one byte that nobody reads. Each command fills another one, because two may run at the same time. NVIDIA's
 * driver crashes if it is to migrate memory behind events: see docs/devices.md. */
ndr_status ndr_submit_no_op(const ndr_submission *s, ndr_queue *queue)
{
    static const cl_uchar zero;
    const size_t at = atomic_fetch_add(&queue->no_ops, 1) % NDR_NO_OP_BYTES;
    ENQUEUE(s, clEnqueueFillBuffer(s->queue, queue->no_op_memory, &zero, sizeof zero, at, sizeof zero, LIST(s)),
            "transfer", "marker");
    ndr_log(NDR_LOG_DEBUG, "command", "marker");
    return NDR_OK;
}

ndr_status ndr_submit_barrier(const ndr_submission *s)
{
    ENQUEUE(s, clEnqueueBarrierWithWaitList(s->queue, LIST(s)), "transfer", "barrier");
    ndr_log(NDR_LOG_DEBUG, "command", "barrier");
    return NDR_OK;
}

ndr_status ndr_submit_read(const ndr_submission *s, cl_mem from, bool blocks, size_t offset_bytes, size_t size_bytes,
                           void *host)
{
    ENQUEUE(s, clEnqueueReadBuffer(s->queue, from, blocks, offset_bytes, size_bytes, host, LIST(s)), "transfer", "read",
            size_bytes);
    ndr_log(NDR_LOG_DEBUG, "command", "read of %zu bytes from byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_write(const ndr_submission *s, cl_mem to, bool blocks, size_t offset_bytes, size_t size_bytes,
                            const void *host)
{
    ENQUEUE(s, clEnqueueWriteBuffer(s->queue, to, blocks, offset_bytes, size_bytes, host, LIST(s)), "transfer", "write",
            size_bytes);
    ndr_log(NDR_LOG_DEBUG, "command", "write of %zu bytes to byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

/* OpenCL copies within one buffer, but drivers may refuse to copy between two sub-buffers that overlap elsewhere. So
 * copies name the memory of both. */
ndr_status ndr_submit_copy(const ndr_submission *s, const ndr_buffer *from, size_t from_offset_bytes,
                           const ndr_buffer *to, size_t to_offset_bytes, size_t size_bytes)
{
    ENQUEUE(s,
            clEnqueueCopyBuffer(s->queue, from->memory, to->memory, from->memory_offset + from_offset_bytes,
                                to->memory_offset + to_offset_bytes, size_bytes, LIST(s)),
            "transfer", "copy", size_bytes);
    ndr_log(NDR_LOG_DEBUG, "command", "copy of %zu bytes from byte %zu to byte %zu", size_bytes, from_offset_bytes,
            to_offset_bytes);
    return NDR_OK;
}

/* ---- rectangles ---- */

static void log_rect(const size_t extent[3], const char *what)
{
    ndr_log(NDR_LOG_DEBUG, "command", "%s of %zu x %zu rows of %zu bytes", what, extent[2], extent[1], extent[0]);
}

static size_t bytes_of(const size_t extent[3]) { return extent[0] * extent[1] * extent[2]; }

static const size_t at_start[3] = { 0, 0, 0 };

ndr_status ndr_submit_read_rect(const ndr_submission *s, const ndr_cl_rect_side *from, const ndr_cl_rect_side *to,
                                const size_t extent[3], bool blocks, void *host)
{
    ENQUEUE(s,
            clEnqueueReadBufferRect(s->queue, from->cl, blocks, from->origin, at_start, extent, from->pitch[0],
                                    from->pitch[1], to->pitch[0], to->pitch[1], host, LIST(s)),
            "transfer", "read", bytes_of(extent));
    log_rect(extent, "read");
    return NDR_OK;
}

ndr_status ndr_submit_write_rect(const ndr_submission *s, const ndr_cl_rect_side *to, const ndr_cl_rect_side *from,
                                 const size_t extent[3], bool blocks, const void *host)
{
    ENQUEUE(s,
            clEnqueueWriteBufferRect(s->queue, to->cl, blocks, to->origin, at_start, extent, to->pitch[0], to->pitch[1],
                                     from->pitch[0], from->pitch[1], host, LIST(s)),
            "transfer", "write", bytes_of(extent));
    log_rect(extent, "write");
    return NDR_OK;
}

ndr_status ndr_submit_copy_rect(const ndr_submission *s, const ndr_cl_rect_side *from, const ndr_cl_rect_side *to,
                                const size_t extent[3])
{
    ENQUEUE(s,
            clEnqueueCopyBufferRect(s->queue, from->cl, to->cl, from->origin, to->origin, extent, from->pitch[0],
                                    from->pitch[1], to->pitch[0], to->pitch[1], LIST(s)),
            "transfer", "copy", bytes_of(extent));
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

ndr_status ndr_submit_read_image(const ndr_submission *s, const ndr_cl_part *part, bool blocks, size_t row_pitch,
                                 size_t slice_pitch, void *host)
{
    ENQUEUE(s,
            clEnqueueReadImage(s->queue, part->cl, blocks, part->origin, part->extent, row_pitch, slice_pitch, host,
                               LIST(s)),
            "transfer", "read image", bytes_of_part(part));
    log_image(part, "read");
    return NDR_OK;
}

ndr_status ndr_submit_write_image(const ndr_submission *s, const ndr_cl_part *part, bool blocks, size_t row_pitch,
                                  size_t slice_pitch, void *host)
{
    ENQUEUE(s,
            clEnqueueWriteImage(s->queue, part->cl, blocks, part->origin, part->extent, row_pitch, slice_pitch, host,
                                LIST(s)),
            "transfer", "write image", bytes_of_part(part));
    log_image(part, "write");
    return NDR_OK;
}

ndr_status ndr_submit_fill_image(const ndr_submission *s, const ndr_cl_part *part, const void *value)
{
    ENQUEUE(s, clEnqueueFillImage(s->queue, part->cl, value, part->origin, part->extent, LIST(s)), "transfer",
            "fill image", bytes_of_part(part));
    log_image(part, "fill");
    return NDR_OK;
}

ndr_status ndr_submit_copy_image(const ndr_submission *s, const ndr_cl_part *part, cl_mem to, const size_t to_origin[3])
{
    ENQUEUE(s, clEnqueueCopyImage(s->queue, part->cl, to, part->origin, to_origin, part->extent, LIST(s)), "transfer",
            "copy image", bytes_of_part(part));
    log_image(part, "copy");
    return NDR_OK;
}

ndr_status ndr_submit_map_image(const ndr_submission *s, const ndr_cl_part *part, cl_map_flags flags, void **host,
                                size_t *row_pitch, size_t *slice_pitch)
{
    cl_int error;
    void *mapped;
    ENQUEUE_AS(s, "clEnqueueMapImage",
               (mapped = ndr_cl.clEnqueueMapImage(s->queue, part->cl, CL_FALSE, flags, part->origin, part->extent,
                                                  row_pitch, slice_pitch, LIST(s), &error),
                error),
               "transfer", "map image", bytes_of_part(part));
    *host = mapped;
    log_image(part, "map");
    return NDR_OK;
}

/* ---- fills ---- */

static ndr_status fill(const ndr_submission *s, cl_mem to, const void *pattern, size_t pattern_bytes,
                       size_t offset_bytes, size_t size_bytes)
{
    ENQUEUE(s, clEnqueueFillBuffer(s->queue, to, pattern, pattern_bytes, offset_bytes, size_bytes, LIST(s)), "transfer",
            "fill", size_bytes);
    ndr_log(NDR_LOG_DEBUG, "command", "fill of %zu bytes from byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

enum { WIDEST = 128 /* bytes: the largest pattern of OpenCL */ };

/* Fill [begin, end), both multiples of WIDEST, and write the `tail_bytes` behind it, which are fewer. */
static ndr_status fill_and_write(const ndr_submission *s, cl_mem to, const unsigned char *wide, size_t begin,
                                 size_t end, size_t tail_bytes)
{
    cl_event filled;
    if (tail_bytes == 0) return fill(s, to, wide, WIDEST, begin, end - begin);
    NDR_TRY(fill(&(ndr_submission){ s->queue, s->waits, &filled }, to, wide, WIDEST, begin, end - begin));
    const ndr_submission tail = { s->queue, { 1, &filled }, s->done };
    const ndr_status status = ndr_submit_write(&tail, to, true, end, tail_bytes, wide);
    (void)ndr_cl.clReleaseEvent(filled);
    return status;
}

/* By a pattern of WIDEST bytes. What is outside its multiples is written, and the host waits for that. */
static ndr_status fill_wide(const ndr_submission *s, cl_mem to, const void *pattern, size_t pattern_bytes,
                            size_t offset_bytes, size_t size_bytes)
{
    unsigned char wide[3 * WIDEST];
    for (size_t i = 0; i < sizeof wide; ++i) wide[i] = ((const unsigned char *)pattern)[i % pattern_bytes];
    const unsigned char *const head = wide + offset_bytes % WIDEST;
    const size_t end = offset_bytes + size_bytes, head_bytes = (WIDEST - offset_bytes % WIDEST) % WIDEST;
    if (size_bytes < 2 * WIDEST) return ndr_submit_write(s, to, true, offset_bytes, size_bytes, head);
    const ndr_submission first = { s->queue, s->waits, NULL };
    if (head_bytes) NDR_TRY(ndr_submit_write(&first, to, true, offset_bytes, head_bytes, head));
    const ndr_status status = fill_and_write(s, to, wide, offset_bytes + head_bytes, end - end % WIDEST, end % WIDEST);
    if (status == NDR_OK || (head_bytes == 0 && end % WIDEST == 0)) return status;
    return ndr_fail_with_code(status, ndr_last_cl_error(), "%s; some of the bytes may be filled", ndr_last_error());
}

bool ndr_fill_waits(size_t pattern_bytes, size_t offset_bytes, size_t size_bytes)
{
    return (offset_bytes + size_bytes) / pattern_bytes > INT32_MAX;
}

/* Some drivers count patterns from the start of the buffer in 31 bits, and write elsewhere or break the queue where
 * there are more (NVIDIA 580: a pattern of one byte at 2 GiB, one of 4 bytes at 8 GiB). */
ndr_status ndr_submit_fill(const ndr_submission *s, cl_mem to, const void *pattern, size_t pattern_bytes,
                           size_t offset_bytes, size_t size_bytes)
{
    const bool is_wide = ndr_fill_waits(pattern_bytes, offset_bytes, size_bytes);
    return (is_wide ? fill_wide : fill)(s, to, pattern, pattern_bytes, offset_bytes, size_bytes);
}

ndr_status ndr_submit_map(const ndr_submission *s, cl_mem buffer, cl_map_flags flags, size_t offset_bytes,
                          size_t size_bytes, void **host)
{
    cl_int error;
    void *mapped;
    ENQUEUE_AS(s, "clEnqueueMapBuffer",
               (mapped = ndr_cl.clEnqueueMapBuffer(s->queue, buffer, CL_FALSE, flags, offset_bytes, size_bytes, LIST(s),
                                                   &error),
                error),
               "transfer", "map", size_bytes);
    *host = mapped;
    ndr_log(NDR_LOG_DEBUG, "command", "map of %zu bytes from byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_unmap(const ndr_submission *s, cl_mem buffer, void *host)
{
    ENQUEUE(s, clEnqueueUnmapMemObject(s->queue, buffer, host, LIST(s)), "transfer", "unmap");
    ndr_log(NDR_LOG_DEBUG, "command", "unmap");
    return NDR_OK;
}

void ndr_submit_last_unmap(cl_command_queue queue, cl_mem buffer, void *host)
{
    const bool is_taken = take_turn();
    (void)ndr_cl.clEnqueueUnmapMemObject(queue, buffer, host, 0, NULL, NULL);
    end_turn(is_taken);
}

cl_int ndr_submit_last_marker(cl_command_queue queue, cl_event *done, const char **call)
{
    *call = "clEnqueueMarkerWithWaitList";
    const bool is_taken = take_turn();
    const cl_int error = ndr_cl.clEnqueueMarkerWithWaitList(queue, 0, NULL, done);
    end_turn(is_taken);
    return error;
}

/* ---- shared memory ---- */

ndr_status ndr_submit_shared_map(const ndr_submission *s, void *start, cl_map_flags flags, size_t size_bytes)
{
    ENQUEUE(s, clEnqueueSVMMap(s->queue, CL_FALSE, flags, start, size_bytes, LIST(s)), "transfer", "map shared",
            size_bytes);
    ndr_log(NDR_LOG_DEBUG, "command", "map of %zu bytes of shared memory", size_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_shared_unmap(const ndr_submission *s, void *start)
{
    ENQUEUE(s, clEnqueueSVMUnmap(s->queue, start, LIST(s)), "transfer", "unmap shared");
    ndr_log(NDR_LOG_DEBUG, "command", "unmap of shared memory");
    return NDR_OK;
}

ndr_status ndr_submit_shared_migrate(const ndr_submission *s, const void *start, size_t size_bytes)
{
    ENQUEUE(s, clEnqueueSVMMigrateMem(s->queue, 1, &start, &size_bytes, 0, LIST(s)), "transfer", "prefetch",
            size_bytes);
    ndr_log(NDR_LOG_DEBUG, "command", "prefetch of %zu bytes of shared memory", size_bytes);
    return NDR_OK;
}

bool ndr_submit_knows_shared(void)
{
    return ndr_cl.clEnqueueSVMMap && ndr_cl.clEnqueueSVMUnmap && ndr_cl.clEnqueueSVMMemcpy;
}

bool ndr_submit_knows_migration(void) { return ndr_cl.clEnqueueSVMMigrateMem != NULL; }

const char ndr_shared_copier_name[] = "clEnqueueMemcpyINTEL";

ndr_status ndr_submit_shared_copy(const ndr_submission *s, ndr_shared_copier copy, bool blocks, void *to,
                                  const void *from, size_t size_bytes)
{
    const ndr_shared_copier submit = copy ? copy : ndr_cl.clEnqueueSVMMemcpy;
    ENQUEUE_AS(s, copy ? ndr_shared_copier_name : "clEnqueueSVMMemcpy",
               submit(s->queue, blocks, to, from, size_bytes, LIST(s)), "transfer", "copy shared", size_bytes);
    ndr_log(NDR_LOG_DEBUG, "command", "copy of %zu bytes of shared memory", size_bytes);
    return NDR_OK;
}
