/* submit.c - enqueues commands, by the forms that do not block; a read may, where the submission says so. No other file
 * calls clEnqueue*(). command.c decides what a command waits for. */
#include "device/submit.h"
#include "device/trace.h"

/* ---- kinds of work ---- */

/* How the log describes a command. */
typedef enum shape { NAME, SIZE, BYTES, COPIED_BYTES, ROWS, ELEMENTS } shape;

typedef struct work_row {
    const char *function; /* of OpenCL */
    const char *category, *name;
    shape shape;
} work_row;

static const work_row works[] = {
    [NDR_WORK_MARKER] = { "clEnqueueMarkerWithWaitList", "order", "marker", NAME },
    [NDR_WORK_BARRIER] = { "clEnqueueBarrierWithWaitList", "order", "barrier", NAME },
    [NDR_WORK_NO_OP] = { "clEnqueueFillBuffer", "order", "marker", NAME },
    [NDR_WORK_READ] = { "clEnqueueReadBuffer", "transfer", "read", BYTES },
    [NDR_WORK_WRITE] = { "clEnqueueWriteBuffer", "transfer", "write", BYTES },
    [NDR_WORK_COPY] = { "clEnqueueCopyBuffer", "transfer", "copy", COPIED_BYTES },
    [NDR_WORK_FILL] = { "clEnqueueFillBuffer", "transfer", "fill", BYTES },
    [NDR_WORK_MAP] = { "clEnqueueMapBuffer", "transfer", "map", BYTES },
    [NDR_WORK_UNMAP] = { "clEnqueueUnmapMemObject", "transfer", "unmap", NAME },
    [NDR_WORK_READ_RECT] = { "clEnqueueReadBufferRect", "transfer", "read", ROWS },
    [NDR_WORK_WRITE_RECT] = { "clEnqueueWriteBufferRect", "transfer", "write", ROWS },
    [NDR_WORK_COPY_RECT] = { "clEnqueueCopyBufferRect", "transfer", "copy", ROWS },
    [NDR_WORK_READ_IMAGE] = { "clEnqueueReadImage", "transfer", "read image", ELEMENTS },
    [NDR_WORK_WRITE_IMAGE] = { "clEnqueueWriteImage", "transfer", "write image", ELEMENTS },
    [NDR_WORK_COPY_IMAGE] = { "clEnqueueCopyImage", "transfer", "copy image", ELEMENTS },
    [NDR_WORK_FILL_IMAGE] = { "clEnqueueFillImage", "transfer", "fill image", ELEMENTS },
    [NDR_WORK_MAP_IMAGE] = { "clEnqueueMapImage", "transfer", "map image", ELEMENTS },
    [NDR_WORK_COPY_SHARED] = { "clEnqueueSVMMemcpy", "transfer", "copy shared", SIZE },
    [NDR_WORK_MAP_SHARED] = { "clEnqueueSVMMap", "transfer", "map shared", SIZE },
    [NDR_WORK_UNMAP_SHARED] = { "clEnqueueSVMUnmap", "transfer", "unmap shared", NAME },
    [NDR_WORK_PREFETCH] = { "clEnqueueSVMMigrateMem", "transfer", "prefetch", SIZE },
};

const ndr_transfer ndr_marker = { .work = NDR_WORK_MARKER };

const char ndr_shared_copier_name[] = "clEnqueueMemcpyINTEL";

static void log_transfer(const ndr_transfer *t)
{
    const char *name = works[t->work].name;
    const size_t *extent = t->extent, from = t->from.origin[0] - t->from.before;
    const size_t to = t->to.origin[0] - t->to.before;
    switch (works[t->work].shape) {
    case NAME: ndr_log(NDR_LOG_DEBUG, "command", "%s", name); break;
    case SIZE: ndr_log(NDR_LOG_DEBUG, "command", "%s, %zu bytes", name, extent[0]); break;
    case BYTES:
        ndr_log(NDR_LOG_DEBUG, "command", "%s of %zu bytes %s byte %zu", name, extent[0],
                t->work == NDR_WORK_WRITE ? "to" : "from", t->to.cl ? to : from);
        break;
    case COPIED_BYTES:
        ndr_log(NDR_LOG_DEBUG, "command", "copy of %zu bytes from byte %zu to byte %zu", extent[0], from, to);
        break;
    case ROWS:
        ndr_log(NDR_LOG_DEBUG, "command", "%s of %zu x %zu rows of %zu bytes", name, extent[2], extent[1], extent[0]);
        break;
    case ELEMENTS:
        ndr_log(NDR_LOG_DEBUG, "command", "%s of %zu x %zu x %zu elements", name, extent[2], extent[1], extent[0]);
    }
}

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

/* ---- commands ---- */

ndr_status ndr_submit_kernel(ndr_submission *s, cl_kernel kernel, const char *name, unsigned dims, const size_t *offset,
                             const size_t *global, const size_t *local)
{
    enqueueing e;
    begin(&e, s,
          (ndr_traced_command){ .category = "kernel", .name = name, .dims = dims, .global = global, .local = local });
    return end(&e, s, "clEnqueueNDRangeKernel",
               ndr_cl.clEnqueueNDRangeKernel(s->queue, kernel, dims, offset, global, local, s->waits.count, list_of(s),
                                             e.done));
}

/* The end of each argument list below. */
#define IN_ORDER s->waits.count, list_of(s), done

static const size_t at_start[3] = { 0, 0, 0 };

static cl_int call_for_rect(const ndr_submission *s, const ndr_transfer *t, cl_event *done)
{
    const ndr_cl_side *from = &t->from, *to = &t->to;
    switch (t->work) {
    case NDR_WORK_READ_RECT:
        return ndr_cl.clEnqueueReadBufferRect(s->queue, from->cl, CL_FALSE, from->origin, at_start, t->extent,
                                              from->pitch[0], from->pitch[1], to->pitch[0], to->pitch[1], t->target,
                                              IN_ORDER);
    case NDR_WORK_WRITE_RECT:
        return ndr_cl.clEnqueueWriteBufferRect(s->queue, to->cl, CL_FALSE, to->origin, at_start, t->extent,
                                               to->pitch[0], to->pitch[1], from->pitch[0], from->pitch[1], t->source,
                                               IN_ORDER);
    default:
        return ndr_cl.clEnqueueCopyBufferRect(s->queue, from->cl, to->cl, from->origin, to->origin, t->extent,
                                              from->pitch[0], from->pitch[1], to->pitch[0], to->pitch[1], IN_ORDER);
    }
}

static cl_int call_for_image(const ndr_submission *s, const ndr_transfer *t, cl_event *done)
{
    const ndr_cl_side *from = &t->from, *to = &t->to;
    void *mapped;
    cl_int error;
    switch (t->work) {
    case NDR_WORK_READ_IMAGE:
        return ndr_cl.clEnqueueReadImage(s->queue, from->cl, CL_FALSE, from->origin, t->extent, to->pitch[0],
                                         to->pitch[1], t->target, IN_ORDER);
    case NDR_WORK_WRITE_IMAGE:
        return ndr_cl.clEnqueueWriteImage(s->queue, to->cl, CL_FALSE, to->origin, t->extent, from->pitch[0],
                                          from->pitch[1], t->source, IN_ORDER);
    case NDR_WORK_COPY_IMAGE:
        return ndr_cl.clEnqueueCopyImage(s->queue, from->cl, to->cl, from->origin, to->origin, t->extent, IN_ORDER);
    case NDR_WORK_FILL_IMAGE:
        return ndr_cl.clEnqueueFillImage(s->queue, to->cl, t->source, to->origin, t->extent, IN_ORDER);
    default:
        mapped = ndr_cl.clEnqueueMapImage(s->queue, from->cl, CL_FALSE, t->flags, from->origin, t->extent,
                                          &t->mapped_pitch[0], &t->mapped_pitch[1], IN_ORDER, &error);
        if (error == CL_SUCCESS) *t->mapped = mapped;
        return error;
    }
}

static cl_int call_for_shared(const ndr_submission *s, const ndr_transfer *t, cl_event *done)
{
    switch (t->work) {
    case NDR_WORK_COPY_SHARED:
        return (t->copier ? t->copier : ndr_cl.clEnqueueSVMMemcpy)(s->queue, CL_FALSE, t->target, t->source,
                                                                   t->extent[0], IN_ORDER);
    case NDR_WORK_MAP_SHARED:
        return ndr_cl.clEnqueueSVMMap(s->queue, CL_FALSE, t->flags, t->target, t->extent[0], IN_ORDER);
    case NDR_WORK_UNMAP_SHARED: return ndr_cl.clEnqueueSVMUnmap(s->queue, t->target, IN_ORDER);
    default: {
        const void *start = t->target;
        return ndr_cl.clEnqueueSVMMigrateMem(s->queue, 1, &start, &t->extent[0], 0, IN_ORDER);
    }
    }
}

/* A command without work is a fill. A migration would need no memory of its own, but for the fault migrate_reads_late. */
static cl_int call_for_bytes(const ndr_submission *s, const ndr_transfer *t, cl_event *done)
{
    static const cl_uchar zero;
    const cl_mem from = t->from.cl, to = t->to.cl;
    const size_t at = t->from.origin[0], to_at = t->to.origin[0], bytes = t->extent[0];
    void *mapped;
    cl_int error;
    switch (t->work) {
    case NDR_WORK_MARKER: return ndr_cl.clEnqueueMarkerWithWaitList(s->queue, IN_ORDER);
    case NDR_WORK_BARRIER: return ndr_cl.clEnqueueBarrierWithWaitList(s->queue, IN_ORDER);
    case NDR_WORK_NO_OP: return ndr_cl.clEnqueueFillBuffer(s->queue, to, &zero, 1, to_at, 1, IN_ORDER);
    case NDR_WORK_READ: return ndr_cl.clEnqueueReadBuffer(s->queue, from, s->may_block, at, bytes, t->target, IN_ORDER);
    case NDR_WORK_WRITE: return ndr_cl.clEnqueueWriteBuffer(s->queue, to, CL_FALSE, to_at, bytes, t->source, IN_ORDER);
    case NDR_WORK_COPY: return ndr_cl.clEnqueueCopyBuffer(s->queue, from, to, at, to_at, bytes, IN_ORDER);
    case NDR_WORK_FILL:
        return ndr_cl.clEnqueueFillBuffer(s->queue, to, t->source, t->pattern_bytes, to_at, bytes, IN_ORDER);
    case NDR_WORK_MAP:
        mapped = ndr_cl.clEnqueueMapBuffer(s->queue, from, CL_FALSE, t->flags, at, bytes, IN_ORDER, &error);
        if (error == CL_SUCCESS) *t->mapped = mapped;
        return error;
    default: return ndr_cl.clEnqueueUnmapMemObject(s->queue, from, t->target, IN_ORDER);
    }
}

static cl_int call(const ndr_submission *s, const ndr_transfer *t, cl_event *done)
{
    return (t->work >= NDR_WORK_COPY_SHARED  ? call_for_shared
            : t->work >= NDR_WORK_READ_IMAGE ? call_for_image
            : t->work >= NDR_WORK_READ_RECT  ? call_for_rect
                                             : call_for_bytes)(s, t, done);
}

ndr_status ndr_submit(ndr_submission *s, const void *transfer)
{
    const ndr_transfer *t = transfer;
    const work_row *row = &works[t->work];
    const size_t unit = t->element_bytes ? t->element_bytes : 1;
    enqueueing e;
    begin(&e, s,
          (ndr_traced_command){ .category = row->category, .name = row->name, .bytes = unit * ndr_transfer_count(t) });
    const cl_int error = call(s, t, e.done);
    NDR_TRY(end(&e, s, t->copier ? ndr_shared_copier_name : row->function, error));
    log_transfer(t);
    return NDR_OK;
}

cl_int ndr_submit_quietly(cl_command_queue queue, const ndr_transfer *t, cl_event *done, const char **function)
{
    *function = works[t->work].function;
    return call(&(ndr_submission){ .queue = queue }, t, done);
}

bool ndr_submit_knows_shared(void)
{
    return ndr_cl.clEnqueueSVMMap && ndr_cl.clEnqueueSVMUnmap && ndr_cl.clEnqueueSVMMemcpy;
}

bool ndr_submit_knows_migration(void) { return ndr_cl.clEnqueueSVMMigrateMem != NULL; }
