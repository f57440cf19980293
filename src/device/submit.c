/* submit.c - enqueues all commands. No other file calls clEnqueue*(). */
#include "device/device.h"

/* A wait list as two arguments. */
#define LIST(waits) ((waits) ? (waits)->count : 0), ((waits) && (waits)->count ? (waits)->events : NULL)

/* Enqueue by `call`, whose event goes to `done`. While a trace runs, each command has an event, and what follows `call`
 * describes the command. */
#define ENQUEUE(queue, done, call, ...) ENQUEUE_AS(queue, done, #call, ndr_cl.call, __VA_ARGS__)
#define ENQUEUE_AS(queue, done, call_name, error, ...)                                   \
    do {                                                                                 \
        if (!ndr_is_traced()) {                                                          \
            NDR_TRY_CL_AS(call_name, error);                                             \
            break;                                                                       \
        }                                                                                \
        const ndr_traced_command command_ = { __VA_ARGS__, .start_ns = ndr_clock_ns() }; \
        cl_event own_ = NULL, *const wanted_ = (done);                                   \
        (done) = wanted_ ? wanted_ : &own_;                                              \
        NDR_TRY_CL_AS(call_name, error);                                                 \
        ndr_trace_command((queue), &command_, wanted_ ? share_event(*wanted_) : own_);   \
        (done) = wanted_;                                                                \
    } while (0)

static cl_event share_event(cl_event event) { return ndr_cl.clRetainEvent(event) == CL_SUCCESS ? event : NULL; }

ndr_status ndr_submit_kernel(cl_command_queue queue, cl_kernel kernel, const char *name, unsigned dims,
                             const size_t *offset, const size_t *global, const size_t *local,
                             const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done, clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, LIST(waits), done),
            "kernel", name, .dims = dims, .global = global);
    return NDR_OK;
}

ndr_status ndr_submit_marker(cl_command_queue queue, const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done, clEnqueueMarkerWithWaitList(queue, LIST(waits), done), "transfer", "marker");
    ndr_log(NDR_LOG_DEBUG, "command", "marker");
    return NDR_OK;
}

/* Moves memory that has no contents to where it is. */
ndr_status ndr_submit_no_op(cl_command_queue queue, cl_mem memory, const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done,
            clEnqueueMigrateMemObjects(queue, 1, &memory, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, LIST(waits), done),
            "transfer", "marker");
    ndr_log(NDR_LOG_DEBUG, "command", "marker");
    return NDR_OK;
}

ndr_status ndr_submit_barrier(cl_command_queue queue, const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done, clEnqueueBarrierWithWaitList(queue, LIST(waits), done), "transfer", "barrier");
    ndr_log(NDR_LOG_DEBUG, "command", "barrier");
    return NDR_OK;
}

ndr_status ndr_submit_read(cl_command_queue queue, cl_mem from, bool blocks, size_t offset_bytes, size_t size_bytes,
                           void *host, const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done, clEnqueueReadBuffer(queue, from, blocks, offset_bytes, size_bytes, host, LIST(waits), done),
            "transfer", "read", size_bytes);
    ndr_log(NDR_LOG_DEBUG, "command", "read of %zu bytes from byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_write(cl_command_queue queue, cl_mem to, bool blocks, size_t offset_bytes, size_t size_bytes,
                            const void *host, const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done, clEnqueueWriteBuffer(queue, to, blocks, offset_bytes, size_bytes, host, LIST(waits), done),
            "transfer", "write", size_bytes);
    ndr_log(NDR_LOG_DEBUG, "command", "write of %zu bytes to byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

/* OpenCL copies within one buffer, but drivers may refuse to copy between two sub-buffers that overlap elsewhere. So
 * copies name the memory of both. */
ndr_status ndr_submit_copy(cl_command_queue queue, const ndr_buffer *from, size_t from_offset_bytes,
                           const ndr_buffer *to, size_t to_offset_bytes, size_t size_bytes, const ndr_wait_list *waits,
                           cl_event *done)
{
    ENQUEUE(queue, done,
            clEnqueueCopyBuffer(queue, from->memory, to->memory, from->memory_offset + from_offset_bytes,
                                to->memory_offset + to_offset_bytes, size_bytes, LIST(waits), done),
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

ndr_status ndr_submit_read_rect(cl_command_queue queue, const ndr_cl_rect_side *from, const ndr_cl_rect_side *to,
                                const size_t extent[3], bool blocks, void *host, const ndr_wait_list *waits,
                                cl_event *done)
{
    ENQUEUE(queue, done,
            clEnqueueReadBufferRect(queue, from->cl, blocks, from->origin, at_start, extent, from->pitch[0],
                                    from->pitch[1], to->pitch[0], to->pitch[1], host, LIST(waits), done),
            "transfer", "read", bytes_of(extent));
    log_rect(extent, "read");
    return NDR_OK;
}

ndr_status ndr_submit_write_rect(cl_command_queue queue, const ndr_cl_rect_side *to, const ndr_cl_rect_side *from,
                                 const size_t extent[3], bool blocks, const void *host, const ndr_wait_list *waits,
                                 cl_event *done)
{
    ENQUEUE(queue, done,
            clEnqueueWriteBufferRect(queue, to->cl, blocks, to->origin, at_start, extent, to->pitch[0], to->pitch[1],
                                     from->pitch[0], from->pitch[1], host, LIST(waits), done),
            "transfer", "write", bytes_of(extent));
    log_rect(extent, "write");
    return NDR_OK;
}

ndr_status ndr_submit_copy_rect(cl_command_queue queue, const ndr_cl_rect_side *from, const ndr_cl_rect_side *to,
                                const size_t extent[3], const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done,
            clEnqueueCopyBufferRect(queue, from->cl, to->cl, from->origin, to->origin, extent, from->pitch[0],
                                    from->pitch[1], to->pitch[0], to->pitch[1], LIST(waits), done),
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

ndr_status ndr_submit_read_image(cl_command_queue queue, const ndr_cl_part *part, bool blocks, size_t row_pitch,
                                 size_t slice_pitch, void *host, const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done,
            clEnqueueReadImage(queue, part->cl, blocks, part->origin, part->extent, row_pitch, slice_pitch, host,
                               LIST(waits), done),
            "transfer", "read image", bytes_of_part(part));
    log_image(part, "read");
    return NDR_OK;
}

ndr_status ndr_submit_write_image(cl_command_queue queue, const ndr_cl_part *part, bool blocks, size_t row_pitch,
                                  size_t slice_pitch, void *host, const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done,
            clEnqueueWriteImage(queue, part->cl, blocks, part->origin, part->extent, row_pitch, slice_pitch, host,
                                LIST(waits), done),
            "transfer", "write image", bytes_of_part(part));
    log_image(part, "write");
    return NDR_OK;
}

ndr_status ndr_submit_fill_image(cl_command_queue queue, const ndr_cl_part *part, const void *value,
                                 const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done,
            clEnqueueFillImage(queue, part->cl, value, part->origin, part->extent, LIST(waits), done), "transfer",
            "fill image", bytes_of_part(part));
    log_image(part, "fill");
    return NDR_OK;
}

ndr_status ndr_submit_copy_image(cl_command_queue queue, const ndr_cl_part *part, cl_mem to, const size_t to_origin[3],
                                 const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done,
            clEnqueueCopyImage(queue, part->cl, to, part->origin, to_origin, part->extent, LIST(waits), done),
            "transfer", "copy image", bytes_of_part(part));
    log_image(part, "copy");
    return NDR_OK;
}

ndr_status ndr_submit_map_image(cl_command_queue queue, const ndr_cl_part *part, cl_map_flags flags, void **host,
                                size_t *row_pitch, size_t *slice_pitch, const ndr_wait_list *waits, cl_event *done)
{
    cl_int error;
    void *mapped;
    ENQUEUE_AS(queue, done, "clEnqueueMapImage",
               (mapped = ndr_cl.clEnqueueMapImage(queue, part->cl, CL_FALSE, flags, part->origin, part->extent,
                                                  row_pitch, slice_pitch, LIST(waits), done, &error),
                error),
               "transfer", "map image", bytes_of_part(part));
    *host = mapped;
    log_image(part, "map");
    return NDR_OK;
}

/* ---- fills ---- */

static ndr_status fill(cl_command_queue queue, cl_mem to, const void *pattern, size_t pattern_bytes,
                       size_t offset_bytes, size_t size_bytes, const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done,
            clEnqueueFillBuffer(queue, to, pattern, pattern_bytes, offset_bytes, size_bytes, LIST(waits), done),
            "transfer", "fill", size_bytes);
    ndr_log(NDR_LOG_DEBUG, "command", "fill of %zu bytes from byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

enum { WIDEST = 128 /* bytes: the largest pattern of OpenCL */ };

/* Fill [begin, end), both multiples of WIDEST, and write the `tail_bytes` behind it, which are fewer. */
static ndr_status fill_and_write(cl_command_queue queue, cl_mem to, const unsigned char *wide, size_t begin, size_t end,
                                 size_t tail_bytes, const ndr_wait_list *waits, cl_event *done)
{
    cl_event filled;
    if (tail_bytes == 0) return fill(queue, to, wide, WIDEST, begin, end - begin, waits, done);
    NDR_TRY(fill(queue, to, wide, WIDEST, begin, end - begin, waits, &filled));
    const ndr_status status =
        ndr_submit_write(queue, to, true, end, tail_bytes, wide, &(ndr_wait_list){ 1, &filled }, done);
    (void)ndr_cl.clReleaseEvent(filled);
    return status;
}

/* By a pattern of WIDEST bytes. What is outside its multiples is written, and the host waits for that. */
static ndr_status fill_wide(cl_command_queue queue, cl_mem to, const void *pattern, size_t pattern_bytes,
                            size_t offset_bytes, size_t size_bytes, const ndr_wait_list *waits, cl_event *done)
{
    unsigned char wide[3 * WIDEST];
    for (size_t i = 0; i < sizeof wide; ++i) wide[i] = ((const unsigned char *)pattern)[i % pattern_bytes];
    const unsigned char *const head = wide + offset_bytes % WIDEST;
    const size_t end = offset_bytes + size_bytes, head_bytes = (WIDEST - offset_bytes % WIDEST) % WIDEST;
    if (size_bytes < 2 * WIDEST) return ndr_submit_write(queue, to, true, offset_bytes, size_bytes, head, waits, done);
    if (head_bytes) NDR_TRY(ndr_submit_write(queue, to, true, offset_bytes, head_bytes, head, waits, NULL));
    const ndr_status status =
        fill_and_write(queue, to, wide, offset_bytes + head_bytes, end - end % WIDEST, end % WIDEST, waits, done);
    if (status == NDR_OK || (head_bytes == 0 && end % WIDEST == 0)) return status;
    return ndr_fail_with_code(status, ndr_last_cl_error(), "%s; some of the bytes may be filled", ndr_last_error());
}

bool ndr_fill_waits(size_t pattern_bytes, size_t offset_bytes, size_t size_bytes)
{
    return (offset_bytes + size_bytes) / pattern_bytes > INT32_MAX;
}

/* Some drivers count patterns from the start of the buffer in 31 bits, and write elsewhere or break the queue where
 * there are more (NVIDIA 580: a pattern of one byte at 2 GiB, one of 4 bytes at 8 GiB). */
ndr_status ndr_submit_fill(cl_command_queue queue, cl_mem to, const void *pattern, size_t pattern_bytes,
                           size_t offset_bytes, size_t size_bytes, const ndr_wait_list *waits, cl_event *done)
{
    const bool is_wide = ndr_fill_waits(pattern_bytes, offset_bytes, size_bytes);
    return (is_wide ? fill_wide : fill)(queue, to, pattern, pattern_bytes, offset_bytes, size_bytes, waits, done);
}

ndr_status ndr_submit_map(cl_command_queue queue, cl_mem buffer, cl_map_flags flags, size_t offset_bytes,
                          size_t size_bytes, void **host, const ndr_wait_list *waits, cl_event *done)
{
    cl_int error;
    void *mapped;
    ENQUEUE_AS(queue, done, "clEnqueueMapBuffer",
               (mapped = ndr_cl.clEnqueueMapBuffer(queue, buffer, CL_FALSE, flags, offset_bytes, size_bytes,
                                                   LIST(waits), done, &error),
                error),
               "transfer", "map", size_bytes);
    *host = mapped;
    ndr_log(NDR_LOG_DEBUG, "command", "map of %zu bytes from byte %zu", size_bytes, offset_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_unmap(cl_command_queue queue, cl_mem buffer, void *host, const ndr_wait_list *waits,
                            cl_event *done)
{
    ENQUEUE(queue, done, clEnqueueUnmapMemObject(queue, buffer, host, LIST(waits), done), "transfer", "unmap");
    ndr_log(NDR_LOG_DEBUG, "command", "unmap");
    return NDR_OK;
}

void ndr_submit_last_unmap(cl_command_queue queue, cl_mem buffer, void *host)
{
    (void)ndr_cl.clEnqueueUnmapMemObject(queue, buffer, host, 0, NULL, NULL);
}

/* ---- shared memory ---- */

ndr_status ndr_submit_shared_map(cl_command_queue queue, void *start, cl_map_flags flags, size_t size_bytes,
                                 const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done, clEnqueueSVMMap(queue, CL_FALSE, flags, start, size_bytes, LIST(waits), done), "transfer",
            "map shared", size_bytes);
    ndr_log(NDR_LOG_DEBUG, "command", "map of %zu bytes of shared memory", size_bytes);
    return NDR_OK;
}

ndr_status ndr_submit_shared_unmap(cl_command_queue queue, void *start, const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done, clEnqueueSVMUnmap(queue, start, LIST(waits), done), "transfer", "unmap shared");
    ndr_log(NDR_LOG_DEBUG, "command", "unmap of shared memory");
    return NDR_OK;
}

ndr_status ndr_submit_shared_migrate(cl_command_queue queue, const void *start, size_t size_bytes,
                                     const ndr_wait_list *waits, cl_event *done)
{
    ENQUEUE(queue, done, clEnqueueSVMMigrateMem(queue, 1, &start, &size_bytes, 0, LIST(waits), done), "transfer",
            "prefetch", size_bytes);
    ndr_log(NDR_LOG_DEBUG, "command", "prefetch of %zu bytes of shared memory", size_bytes);
    return NDR_OK;
}

bool ndr_submit_knows_shared(void)
{
    return ndr_cl.clEnqueueSVMMap && ndr_cl.clEnqueueSVMUnmap && ndr_cl.clEnqueueSVMMemcpy;
}

bool ndr_submit_knows_migration(void) { return ndr_cl.clEnqueueSVMMigrateMem != NULL; }

const char ndr_shared_copier_name[] = "clEnqueueMemcpyINTEL";

ndr_status ndr_submit_shared_copy(cl_command_queue queue, ndr_shared_copier copy, bool blocks, void *to,
                                  const void *from, size_t size_bytes, const ndr_wait_list *waits, cl_event *done)
{
    const ndr_shared_copier submit = copy ? copy : ndr_cl.clEnqueueSVMMemcpy;
    ENQUEUE_AS(queue, done, copy ? ndr_shared_copier_name : "clEnqueueSVMMemcpy",
               submit(queue, blocks, to, from, size_bytes, LIST(waits), done), "transfer", "copy shared", size_bytes);
    ndr_log(NDR_LOG_DEBUG, "command", "copy of %zu bytes of shared memory", size_bytes);
    return NDR_OK;
}
