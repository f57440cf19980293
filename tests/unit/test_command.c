/* test_command.c - the one place that enqueues: a thread is paused inside each call of the driver while others work, and
 * lists, events and mappings hold up nobody. */
#include "driver_faults.h"
#include "ndr/ndr_image.h"

#include "ndr/ndr_shared.h"

#include "device/buffer.h"
#include "device/context.h"
#include "device/event.h"
#include "device/queue.h"
#include "device/wait.h"

enum { INTS = 128, BYTES = INTS * sizeof(int32_t), ROWS = 4, COLS = 16 };

static const int32_t zeros[INTS];

/* ---- a pause inside one call of the driver ---- */

#define AS_CALL(function) CALL_##function,
typedef enum call { NO_CALL, NDR_CL_FUNCTIONS(AS_CALL, AS_CALL) } call;

static ndr_cl_functions real;
static ndr_mutex lock = NDR_MUTEX_INITIALIZER(NDR_LOCK_THREAD_END); /* guards what follows; the last kind, as calls pause under locks */
static ndr_condition moved;
static call paused; /* the next call of this kind waits inside */
static bool is_inside, may_go_on, has_returned;

static void pass(call kind)
{
    ndr_mutex_lock(&lock);
    if (kind == paused) {
        paused = NO_CALL;
        is_inside = true;
        ndr_condition_wake_all(&moved);
        while (!may_go_on) ndr_condition_wait(&moved, &lock);
    }
    ndr_mutex_unlock(&lock);
}

static void pause_next(call kind)
{
    ndr_mutex_lock(&lock);
    paused = kind;
    is_inside = may_go_on = has_returned = false;
    ndr_mutex_unlock(&lock);
}

static void note(bool *what)
{
    ndr_mutex_lock(&lock);
    *what = true;
    ndr_condition_wake_all(&moved);
    ndr_mutex_unlock(&lock);
}

/* False: the thread returned without that call. */
static bool wait_until_inside(void)
{
    ndr_mutex_lock(&lock);
    while (!is_inside && !has_returned) ndr_condition_wait(&moved, &lock);
    const bool is_reached = is_inside;
    ndr_mutex_unlock(&lock);
    return is_reached;
}

/* ---- a function for the table that pauses, for each call of these kinds ---- */

#define LIST cl_uint count, const cl_event *list, cl_event *event
#define PAUSED(type, name, parameters, ...)             \
    static type CL_API_CALL pause_in_##name parameters  \
    {                                                   \
        pass(CALL_##name);                              \
        return real.name(__VA_ARGS__);                  \
    }
#define ENQUEUES(name, parameters, ...) PAUSED(cl_int, name, parameters, __VA_ARGS__, count, list, event)

ENQUEUES(clEnqueueNDRangeKernel,
         (cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset, const size_t *global,
          const size_t *local, LIST),
         q, k, dims, offset, global, local)
ENQUEUES(clEnqueueMarkerWithWaitList, (cl_command_queue q, LIST), q)
ENQUEUES(clEnqueueBarrierWithWaitList, (cl_command_queue q, LIST), q)
ENQUEUES(clEnqueueReadBuffer,
         (cl_command_queue q, cl_mem m, cl_bool waits, size_t offset, size_t bytes, void *host, LIST), q, m, waits,
         offset, bytes, host)
ENQUEUES(clEnqueueWriteBuffer,
         (cl_command_queue q, cl_mem m, cl_bool waits, size_t offset, size_t bytes, const void *host, LIST), q, m,
         waits, offset, bytes, host)
ENQUEUES(clEnqueueCopyBuffer, (cl_command_queue q, cl_mem a, cl_mem b, size_t at, size_t to, size_t bytes, LIST), q, a,
         b, at, to, bytes)
ENQUEUES(clEnqueueFillBuffer,
         (cl_command_queue q, cl_mem m, const void *pattern, size_t wide, size_t offset, size_t bytes, LIST), q, m,
         pattern, wide, offset, bytes)
ENQUEUES(clEnqueueReadBufferRect,
         (cl_command_queue q, cl_mem m, cl_bool waits, const size_t *at, const size_t *in_host, const size_t *extent,
          size_t row, size_t plane, size_t host_row, size_t host_plane, void *host, LIST),
         q, m, waits, at, in_host, extent, row, plane, host_row, host_plane, host)
ENQUEUES(clEnqueueWriteBufferRect,
         (cl_command_queue q, cl_mem m, cl_bool waits, const size_t *at, const size_t *in_host, const size_t *extent,
          size_t row, size_t plane, size_t host_row, size_t host_plane, const void *host, LIST),
         q, m, waits, at, in_host, extent, row, plane, host_row, host_plane, host)
ENQUEUES(clEnqueueCopyBufferRect,
         (cl_command_queue q, cl_mem a, cl_mem b, const size_t *at, const size_t *to, const size_t *extent, size_t row,
          size_t plane, size_t to_row, size_t to_plane, LIST),
         q, a, b, at, to, extent, row, plane, to_row, to_plane)
ENQUEUES(clEnqueueReadImage,
         (cl_command_queue q, cl_mem m, cl_bool waits, const size_t *at, const size_t *extent, size_t row, size_t slice,
          void *host, LIST),
         q, m, waits, at, extent, row, slice, host)
ENQUEUES(clEnqueueWriteImage,
         (cl_command_queue q, cl_mem m, cl_bool waits, const size_t *at, const size_t *extent, size_t row, size_t slice,
          const void *host, LIST),
         q, m, waits, at, extent, row, slice, host)
ENQUEUES(clEnqueueFillImage,
         (cl_command_queue q, cl_mem m, const void *value, const size_t *at, const size_t *extent, LIST), q, m, value,
         at, extent)
ENQUEUES(clEnqueueCopyImage,
         (cl_command_queue q, cl_mem a, cl_mem b, const size_t *at, const size_t *to, const size_t *extent, LIST), q, a,
         b, at, to, extent)
ENQUEUES(clEnqueueUnmapMemObject, (cl_command_queue q, cl_mem m, void *host, LIST), q, m, host)
ENQUEUES(clEnqueueSVMMap, (cl_command_queue q, cl_bool waits, cl_map_flags f, void *start, size_t bytes, LIST), q,
         waits, f, start, bytes)
ENQUEUES(clEnqueueSVMUnmap, (cl_command_queue q, void *start, LIST), q, start)
ENQUEUES(clEnqueueSVMMemcpy, (cl_command_queue q, cl_bool waits, void *to, const void *from, size_t bytes, LIST), q,
         waits, to, from, bytes)
ENQUEUES(clEnqueueSVMMigrateMem,
         (cl_command_queue q, cl_uint spans, const void **starts, const size_t *bytes, cl_mem_migration_flags f, LIST),
         q, spans, starts, bytes, f)
PAUSED(void *, clEnqueueMapBuffer,
       (cl_command_queue q, cl_mem m, cl_bool waits, cl_map_flags f, size_t offset, size_t bytes, LIST, cl_int *error),
       q, m, waits, f, offset, bytes, count, list, event, error)
PAUSED(void *, clEnqueueMapImage,
       (cl_command_queue q, cl_mem m, cl_bool waits, cl_map_flags f, const size_t *at, const size_t *extent, size_t *row,
        size_t *slice, LIST, cl_int *error),
       q, m, waits, f, at, extent, row, slice, count, list, event, error)
PAUSED(cl_int, clWaitForEvents, (cl_uint count, const cl_event *list), count, list)
PAUSED(cl_int, clFinish, (cl_command_queue q), q)
PAUSED(cl_int, clFlush, (cl_command_queue q), q)
PAUSED(cl_int, clSetUserEventStatus, (cl_event e, cl_int state), e, state)
PAUSED(cl_int, clReleaseEvent, (cl_event e), e)
PAUSED(cl_int, clRetainEvent, (cl_event e), e)
PAUSED(cl_event, clCreateUserEvent, (cl_context c, cl_int *error), c, error)
PAUSED(cl_int, clReleaseCommandQueue, (cl_command_queue q), q)
PAUSED(cl_int, clReleaseMemObject, (cl_mem m), m)
PAUSED(cl_int, clGetEventInfo, (cl_event e, cl_event_info what, size_t bytes, void *value, size_t *needed), e, what,
       bytes, value, needed)

#define PAUSABLE(X)                                                                                                    \
    X(clEnqueueNDRangeKernel) X(clEnqueueMarkerWithWaitList) X(clEnqueueBarrierWithWaitList) X(clEnqueueReadBuffer)    \
    X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) X(clEnqueueFillBuffer) X(clEnqueueReadBufferRect)                   \
    X(clEnqueueWriteBufferRect) X(clEnqueueCopyBufferRect) X(clEnqueueReadImage) X(clEnqueueWriteImage)                \
    X(clEnqueueFillImage) X(clEnqueueCopyImage) X(clEnqueueUnmapMemObject) X(clEnqueueSVMMap) X(clEnqueueSVMUnmap)     \
    X(clEnqueueSVMMemcpy) X(clEnqueueSVMMigrateMem) X(clEnqueueMapBuffer) X(clEnqueueMapImage) X(clWaitForEvents)      \
    X(clFinish) X(clFlush) X(clSetUserEventStatus) X(clReleaseEvent) X(clRetainEvent) X(clCreateUserEvent)             \
    X(clReleaseCommandQueue) X(clReleaseMemObject) X(clGetEventInfo)

static int open_all(void **state)
{
    if (open_device(state) != 0) return 1;
    ndr_condition_init(&moved);
    real = ndr_cl;
#define SET_PAUSE(name) \
    if (real.name) ndr_cl.name = pause_in_##name;
    PAUSABLE(SET_PAUSE)
    return 0;
}

static int close_all(void **state)
{
    ndr_cl = real;
    return close_device(state);
}

/* ---- what one thread does ---- */

typedef struct scene {
    ndr_context *context;
    ndr_kernel *add_one, *copy_ints;
    ndr_queue *line, *other, *victim, *unordered; /* the last one is NULL if the device has none */
    ndr_buffer *x, *y, *z;
    ndr_image *picture;  /* NULL: the device has none */
    ndr_shared *shared;  /* that must be mapped, or NULL */
    ndr_event *gate, *second, *third;
    int32_t host[INTS];
    void *mapped; /* y's address */
} scene;

typedef ndr_status action(scene *s, ndr_queue *on);

static ndr_status launch(scene *s, ndr_queue *on) { return ndr_launch(on, s->add_one, ndr_range_1d(INTS), s->x); }

static ndr_status release(ndr_event *made, ndr_status status)
{
    ndr_event_destroy(made);
    return status;
}

static ndr_status mark(scene *s, ndr_queue *on)
{
    ndr_event *made = NULL;
    const ndr_status status = ndr_queue_mark(on, &made);
    return release(made, status);
}

static ndr_status barrier(scene *s, ndr_queue *on)
{
    return ndr_queue_barrier(on, NULL);
}

static ndr_status read(scene *s, ndr_queue *on) { return ndr_buffer_read(on, s->x, 0, BYTES, s->host, NULL); }
static ndr_status write(scene *s, ndr_queue *on) { return ndr_buffer_write(on, s->x, 0, BYTES, zeros, NULL); }
static ndr_status copy(scene *s, ndr_queue *on) { return ndr_buffer_copy(on, s->x, 0, s->z, 0, BYTES, NULL); }
static ndr_status fill(scene *s, ndr_queue *on) { return ndr_buffer_fill(on, s->x, 0, BYTES, zeros, 4, NULL); }

/* Unaligned, and behind too many patterns: copies of the ends, and a fill between. */
static ndr_status fill_far(scene *s, ndr_queue *on)
{
    const size_t usual = ndr_max_fill_patterns;
    ndr_max_fill_patterns = 1;
    const ndr_status status = ndr_buffer_fill(on, s->x, 4, BYTES - 8, zeros, 4, NULL);
    ndr_max_fill_patterns = usual;
    return status;
}

static const ndr_rect_desc rect = { .extent = { 2, { 2, 8 } }, .from.row_pitch_bytes = 16, .to.row_pitch_bytes = 16 };

static ndr_status read_rect(scene *s, ndr_queue *on) { return ndr_buffer_read_rect(on, s->x, &rect, s->host, NULL); }
static ndr_status write_rect(scene *s, ndr_queue *on) { return ndr_buffer_write_rect(on, s->x, &rect, zeros, NULL); }
static ndr_status copy_rect(scene *s, ndr_queue *on) { return ndr_buffer_copy_rect(on, s->x, s->z, &rect, NULL); }

static ndr_status map(scene *s, ndr_queue *on)
{
    void *host;
    NDR_TRY(ndr_buffer_map(on, s->x, NDR_MAP_READ, 0, BYTES, &host));
    return ndr_buffer_unmap(s->line, s->x, host, NULL);
}

static ndr_status unmap(scene *s, ndr_queue *on)
{
    NDR_TRY(ndr_buffer_unmap(on, s->y, s->mapped, NULL));
    s->mapped = NULL;
    return NDR_OK;
}

static ndr_status read_image(scene *s, ndr_queue *on)
{
    return s->picture ? ndr_image_read(on, s->picture, NULL, s->host, NULL) : NDR_UNSUPPORTED;
}

static ndr_status write_image(scene *s, ndr_queue *on)
{
    return s->picture ? ndr_image_write(on, s->picture, NULL, zeros, NULL) : NDR_UNSUPPORTED;
}

static ndr_status fill_image(scene *s, ndr_queue *on)
{
    return s->picture ? ndr_image_fill(on, s->picture, NULL, zeros, NULL) : NDR_UNSUPPORTED;
}

static ndr_status copy_image(scene *s, ndr_queue *on)
{
    const ndr_image_part upper = { .extent = ndr_range_2d(ROWS / 2, COLS) };
    const size_t lower[] = { ROWS / 2, 0 };
    return s->picture ? ndr_image_copy(on, s->picture, &upper, s->picture, lower, NULL) : NDR_UNSUPPORTED;
}

static ndr_status map_image(scene *s, ndr_queue *on)
{
    ndr_mapped_part part;
    if (!s->picture) return NDR_UNSUPPORTED;
    NDR_TRY(ndr_image_map(on, s->picture, NDR_MAP_READ, NULL, &part));
    return ndr_image_unmap(s->line, s->picture, part.host, NULL);
}

static ndr_status map_shared(scene *s, ndr_queue *on)
{
    if (!s->shared) return NDR_UNSUPPORTED;
    NDR_TRY(ndr_shared_map(on, s->shared, NDR_MAP_READ, 0, BYTES, NULL));
    return ndr_shared_unmap(s->line, s->shared, ndr_shared_pointer(s->shared), NULL);
}

static ndr_status write_shared(scene *s, ndr_queue *on)
{
    return s->shared ? ndr_shared_write(on, s->shared, 0, BYTES, zeros, NULL) : NDR_UNSUPPORTED;
}

static ndr_status prefetch_shared(scene *s, ndr_queue *on)
{
    return s->shared ? ndr_shared_prefetch(on, s->shared, 0, BYTES, NULL) : NDR_UNSUPPORTED;
}

static ndr_status wait(scene *s, ndr_queue *on)
{
    ndr_event *made = NULL;
    NDR_TRY(ndr_queue_mark(on, &made));
    const ndr_status status = ndr_event_wait(made);
    return release(made, status);
}

static ndr_status finish(scene *s, ndr_queue *on)
{
    NDR_TRY(launch(s, on));
    return ndr_queue_finish(s->line);
}

/* In order, user's events make it wait by a mark. */
static ndr_status finish_unordered(scene *s, ndr_queue *on)
{
    if (!s->unordered) return NDR_UNSUPPORTED;
    NDR_TRY(launch(s, s->unordered));
    return ndr_queue_finish(s->unordered);
}

static ndr_status flush(scene *s, ndr_queue *on)
{
    NDR_TRY(launch(s, on));
    return ndr_queue_flush(s->line);
}

/* Of an event of another queue, before the command that waits for it. */
static ndr_status wait_for_other(scene *s, ndr_queue *on)
{
    ndr_event *made = NULL;
    NDR_TRY(ndr_launch_event(ndr_after(s->other, s->gate), s->add_one, &made, ndr_range_1d(INTS), s->x));
    const ndr_status status = launch(s, NDR_QUEUE_(ndr_after(s->line, made)));
    return release(made, status);
}

static ndr_status complete(scene *s, ndr_queue *on)
{
    NDR_TRY(launch(s, on));
    return ndr_event_complete(s->third);
}

static ndr_status fail_event(scene *s, ndr_queue *on)
{
    NDR_TRY(launch(s, on));
    return ndr_event_fail(s->third, NDR_NOT_FOUND, "third");
}

static ndr_status create_event(scene *s, ndr_queue *on)
{
    ndr_event *made = NULL;
    NDR_TRY(launch(s, on));
    const ndr_status status = ndr_event_create(s->context, &made);
    return release(made, status);
}

static ndr_status destroy_queue(scene *s, ndr_queue *on)
{
    ndr_queue *made;
    NDR_TRY(launch(s, on));
    NDR_TRY(ndr_queue_create(s->context, NULL, &made));
    ndr_queue_destroy(made);
    return NDR_OK;
}

static ndr_status destroy_buffer(scene *s, ndr_queue *on)
{
    ndr_buffer *made;
    NDR_TRY(launch(s, on));
    NDR_TRY(ndr_buffer_create(s->context, BYTES, &made));
    ndr_buffer_destroy(made);
    return NDR_OK;
}

static ndr_status ask(scene *s, ndr_queue *on)
{
    ndr_event_state state;
    NDR_TRY(launch(s, on));
    return ndr_event_get_state(s->gate, &state);
}

/* Such a queue keeps the event of each launch. */
static ndr_status spin(scene *s, ndr_queue *on)
{
    ndr_queue *line;
    NDR_TRY(ndr_queue_create(s->context, &(ndr_queue_desc){ .spin_ns = 1 }, &line));
    const ndr_status status = launch(s, line);
    ndr_queue_destroy(line);
    return status;
}

static ndr_status run_task(void *user)
{
    return NDR_OK;
}

static ndr_status host_task(scene *s, ndr_queue *on)
{
    ndr_event *done = NULL;
    NDR_TRY(ndr_host_task(on, run_task, NULL, &done));
    const ndr_status status = ndr_event_wait(done);
    return release(done, status);
}

/* `in_driver`: the call that the action is paused in; `comes_last`: when what it waits for has ended. */
static const struct {
    const char *name;
    call in_driver;
    action *act;
    bool comes_last;
} actions[] = {
#define IN(function, act) { #act " in " #function, CALL_##function, act, false }
#define AT_LAST_IN(function, act) { #act " at last in " #function, CALL_##function, act, true }
    IN(clEnqueueNDRangeKernel, launch),
    IN(clEnqueueMarkerWithWaitList, mark),
    IN(clEnqueueBarrierWithWaitList, barrier),
    IN(clEnqueueReadBuffer, read),
    IN(clEnqueueWriteBuffer, write),
    IN(clEnqueueCopyBuffer, copy),
    IN(clEnqueueFillBuffer, fill),
    IN(clEnqueueFillBuffer, fill_far),
    IN(clEnqueueCopyBuffer, fill_far),
    IN(clEnqueueReadBufferRect, read_rect),
    IN(clEnqueueWriteBufferRect, write_rect),
    IN(clEnqueueCopyBufferRect, copy_rect),
    IN(clEnqueueMapBuffer, map),
    IN(clEnqueueUnmapMemObject, unmap),
    IN(clEnqueueReadImage, read_image),
    IN(clEnqueueWriteImage, write_image),
    IN(clEnqueueFillImage, fill_image),
    IN(clEnqueueCopyImage, copy_image),
    IN(clEnqueueMapImage, map_image),
    IN(clEnqueueSVMMap, map_shared),
    AT_LAST_IN(clEnqueueSVMUnmap, map_shared),
    AT_LAST_IN(clEnqueueUnmapMemObject, map),
    IN(clEnqueueSVMMemcpy, write_shared),
    IN(clEnqueueSVMMigrateMem, prefetch_shared),
    IN(clWaitForEvents, wait),
    IN(clWaitForEvents, read),
    IN(clWaitForEvents, map),
    IN(clWaitForEvents, map_shared),
    IN(clWaitForEvents, finish),
    IN(clFinish, finish_unordered),
    IN(clFlush, flush),
    IN(clFlush, wait_for_other),
    IN(clSetUserEventStatus, complete),
    IN(clSetUserEventStatus, fail_event),
    AT_LAST_IN(clSetUserEventStatus, host_task),
    AT_LAST_IN(clReleaseEvent, mark),
    IN(clRetainEvent, spin),
    IN(clCreateUserEvent, create_event),
    IN(clCreateUserEvent, host_task),
    IN(clReleaseCommandQueue, destroy_queue),
    IN(clReleaseMemObject, destroy_buffer),
    IN(clGetEventInfo, ask),
};

/* ---- the scene ---- */

static ndr_image *new_picture(void)
{
    const ndr_image_desc desc = { .format = { NDR_CHANNELS_RGBA, NDR_CHANNEL_U8 }, .size = ndr_range_2d(ROWS, COLS) };
    ndr_image *made = NULL;
    const ndr_status status = ndr_image_create(context, &desc, &made);
    if (status != NDR_UNSUPPORTED) assert_ok(status);
    return made;
}

static ndr_event *new_gate(ndr_context *of)
{
    ndr_event *made;
    assert_ok(ndr_event_create(of, &made));
    return made;
}

static ndr_queue *new_queue(void)
{
    ndr_queue *made;
    assert_ok(ndr_queue_create(context, NULL, &made));
    return made;
}

static void open_scene(scene *s)
{
    *s = (scene){ .context = context,
                  .add_one = kernel_of(plain_kernels, "add_one"),
                  .copy_ints = kernel_of(plain_kernels, "copy_ints"),
                  .line = new_queue(),
                  .other = new_queue(),
                  .victim = new_queue(),
                  .x = buffer_of(BYTES, zeros),
                  .y = buffer_of(BYTES, zeros),
                  .z = buffer_of(BYTES, zeros),
                  .picture = new_picture(),
                  .gate = new_gate(context),
                  .second = new_gate(context),
                  .third = new_gate(context) };
    NDR_IGNORE(ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &s->unordered));
    NDR_IGNORE(ndr_shared_create(context, NDR_SHARED_COARSE, BYTES, &s->shared));
    assert_ok(ndr_buffer_map(s->line, s->y, NDR_MAP_READ, 0, BYTES, &s->mapped));
}

/* Work may have failed. */
static void close_scene(scene *s)
{
    NDR_IGNORE(ndr_queue_finish(s->line));
    NDR_IGNORE(ndr_queue_finish(s->other));
    if (s->unordered) NDR_IGNORE(ndr_queue_finish(s->unordered));
    ndr_event_destroy(s->gate);
    ndr_event_destroy(s->second);
    ndr_event_destroy(s->third);
    ndr_buffer_destroy(s->x);
    ndr_buffer_destroy(s->y);
    ndr_buffer_destroy(s->z);
    ndr_image_destroy(s->picture);
    ndr_shared_destroy(s->shared);
    ndr_queue_destroy(s->line);
    ndr_queue_destroy(s->other);
    ndr_queue_destroy(s->unordered);
}

/* ---- what other threads do meanwhile; each ends once the call goes on ---- */

static void *fail_the_gate(void *scene_)
{
    scene *const s = scene_;
    return ndr_event_fail(s->gate, NDR_NOT_FOUND, "no gate") == NDR_OK ? s : NULL;
}

static void *complete_the_gate(void *scene_)
{
    scene *const s = scene_;
    return ndr_event_complete(s->gate) == NDR_OK ? s : NULL;
}

static void *complete_the_second(void *scene_)
{
    scene *const s = scene_;
    return ndr_event_complete(s->second) == NDR_OK ? s : NULL;
}

/* In another queue, behind the gate and the second event; then waits for it. */
static void *launch_elsewhere(void *scene_)
{
    scene *const s = scene_;
    ndr_event *done = NULL;
    NDR_IGNORE(ndr_launch_event(ndr_after(s->other, s->second), s->add_one, &done, ndr_range_1d(INTS), s->z));
    if (done) NDR_IGNORE(ndr_event_wait(done));
    ndr_event_destroy(done);
    NDR_IGNORE(ndr_queue_finish(s->other));
    return s;
}

static void *launch_in_line(void *scene_)
{
    scene *const s = scene_;
    NDR_IGNORE(launch(s, s->line));
    NDR_IGNORE(ndr_queue_finish(s->line));
    return s;
}

/* With work that has not ended. */
static void *destroy_a_queue(void *scene_)
{
    scene *const s = scene_;
    NDR_IGNORE(launch(s, NDR_QUEUE_(ndr_after(s->victim, s->second))));
    ndr_queue_destroy(s->victim);
    return s;
}

/* ---- what must end while the call is paused ---- */

static scene far; /* of another context */

static void open_far(void)
{
    far = (scene){ 0 };
    assert_ok(ndr_context_create(NULL, &far.context));
    assert_ok(ndr_queue_create(far.context, NULL, &far.line));
    assert_ok(ndr_buffer_create_from(far.context, BYTES, zeros, &far.x));
    assert_ok(ndr_kernel_get(far.context, &(ndr_kernel_desc){ .name = "add_one", .source = plain_kernels },
                             &far.add_one));
}

static void close_far(void)
{
    ndr_buffer_destroy(far.x);
    ndr_queue_destroy(far.line);
    ndr_context_destroy(far.context);
}

static void use_another_context(void)
{
    for (int fails = 0; fails < 2; ++fails) {
        ndr_event *gate = new_gate(far.context), *done;
        assert_ok(ndr_launch_event(ndr_after(far.line, gate), far.add_one, &done, ndr_range_1d(INTS), far.x));
        assert_ok(fails ? ndr_event_fail(gate, NDR_NOT_FOUND, "far") : ndr_event_complete(gate));
        assert_int_equal(ndr_event_wait(done), fails ? NDR_NOT_FOUND : NDR_OK);
        assert_int_equal(ndr_queue_finish(far.line), fails ? NDR_NOT_FOUND : NDR_OK);
        ndr_event_destroy(gate);
        ndr_event_destroy(done);
    }
}

/* With another kernel: OpenCL keeps arguments in the kernel, so that a launch has its lock. */
static void use_another_queue(scene *s)
{
    ndr_event *gate = new_gate(context), *done;
    ndr_queue *line = new_queue();
    assert_ok(ndr_launch(line, s->copy_ints, ndr_range_1d(INTS), s->z, s->x));
    assert_ok(ndr_launch_event(ndr_after(line, gate), s->copy_ints, &done, ndr_range_1d(INTS), s->z, s->x));
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_event_wait(done));
    assert_ok(ndr_queue_finish(line));
    ndr_event_destroy(gate);
    ndr_event_destroy(done);
    ndr_queue_destroy(line);
}

static void wait_with_limits(scene *s)
{
    size_t index;
    assert_refused(NDR_TIMEOUT, ndr_event_wait_within(s->gate, 0), "has not ended");
    assert_refused(NDR_TIMEOUT, ndr_event_wait_any(&s->gate, 1, 0, &index), "has not ended");
}

/* ---- the test ---- */

typedef struct actor {
    scene *s;
    action *act;
    bool is_behind; /* the gate */
    ndr_status status;
} actor;

static void *act(void *actor_)
{
    actor *const a = actor_;
    scene *const s = a->s;
    a->status = a->is_behind ? a->act(s, NDR_QUEUE_(ndr_after(s->line, s->gate))) : a->act(s, s->line);
    note(&has_returned);
    return NULL;
}

/* A command with a wait list, and the end of an event, keep other commands with a wait list and ends of events of the
 * context out. A paused query of a state may have that lock. */
static bool holds_up_the_context(call in_driver, bool is_behind)
{
    const bool waits = in_driver == CALL_clWaitForEvents || in_driver == CALL_clFinish || in_driver == CALL_clFlush;
    return (is_behind && !waits) || in_driver == CALL_clSetUserEventStatus;
}

typedef void *ender(void *scene_);

/* False: the driver was not called, because the device cannot do it. */
static bool pause_one(size_t index, bool is_behind, ender *end)
{
    static ender *const others[] = { complete_the_second, launch_elsewhere, launch_in_line, destroy_a_queue };
    enum { OTHERS = sizeof others / sizeof others[0] };
    scene s;
    ndr_thread paused_thread, threads[OTHERS + 1];
    open_scene(&s);
    actor a = { &s, actions[index].act, is_behind, NDR_OK };
    pause_next(actions[index].in_driver);
    assert_true(ndr_thread_start(&paused_thread, act, &a));
    const bool is_reached = wait_until_inside();
    const bool takes_turns = ndr_context_takes_turns(context);
    if (is_reached && !takes_turns) {
        wait_with_limits(&s);
        use_another_context();
        if (!holds_up_the_context(actions[index].in_driver, is_behind)) use_another_queue(&s);
    }
    assert_true(ndr_thread_start(&threads[OTHERS], end, &s));
    for (size_t i = 0; i < OTHERS; ++i) assert_true(ndr_thread_start(&threads[i], others[i], &s));
    for (int i = 0; i < 50; ++i) ndr_thread_yield();
    note(&may_go_on);
    ndr_thread_join(paused_thread);
    for (size_t i = 0; i <= OTHERS; ++i) ndr_thread_join(threads[i]);
    close_scene(&s);
    const bool is_other_call = takes_turns && actions[index].in_driver == CALL_clFinish; /* a marker takes its place */
    if (!is_reached && !is_other_call) assert_int_equal(a.status, NDR_UNSUPPORTED);
    return is_reached;
}

static void pause_each(bool is_behind, ender *end)
{
    skip_where_launches_are_waited_for();
    skip_without(!driver_completes_failed_work() || end == complete_the_gate,
                 "a fault of the driver, shown in plain OpenCL: it crashes if several events of one list fail");
    open_far();
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; ++i) {
        if (is_behind && actions[i].comes_last) continue;
        print_message("%s\n", actions[i].name);
        if (!pause_one(i, is_behind, end)) print_message("  the device has no such call\n");
    }
    close_far();
}

static void test_command__a_paused_call_holds_up_nobody_for_ever(void **state)
{
    pause_each(false, fail_the_gate);
}

static void test_command__a_paused_call_behind_an_event_that_fails(void **state)
{
    pause_each(true, fail_the_gate);
}

static void test_command__a_paused_call_behind_an_event_that_ends(void **state)
{
    pause_each(true, complete_the_gate);
}

/* ---- the first event of a user, during a blocking read ---- */

typedef struct reader {
    scene *s;
    ndr_status status;
} reader;

static void *read_far(void *reader_)
{
    reader *const r = reader_;
    r->status = ndr_buffer_read(far.line, far.x, 0, sizeof(int32_t), far.host, NULL);
    note(&has_returned);
    return NULL;
}

static void *launch_far_behind_gate(void *gate)
{
    const ndr_status status = ndr_launch(ndr_after(far.line, gate), far.add_one, ndr_range_1d(INTS), far.x);
    return status == NDR_OK ? gate : NULL;
}

/* The read is enqueued in front of the launch, whenever that was decided. */
static void test_command__a_blocking_read_meets_the_first_event(void **state)
{
    skip_where_launches_are_waited_for();
    ndr_thread threads[2];
    reader r = { NULL, NDR_TIMEOUT };
    open_far();
    far.context->caps.info.shares_host_memory = true; /* otherwise it may be enqueued behind the launch */
    pause_next(CALL_clEnqueueReadBuffer);
    assert_true(ndr_thread_start(&threads[0], read_far, &r));
    assert_true(wait_until_inside());
    ndr_event *gate = new_gate(far.context);
    assert_true(ndr_thread_start(&threads[1], launch_far_behind_gate, gate));
    for (int i = 0; i < 50; ++i) ndr_thread_yield();
    note(&may_go_on);
    ndr_thread_join(threads[0]);
    ndr_thread_join(threads[1]);
    assert_ok(ndr_event_fail(gate, NDR_NOT_FOUND, "no gate"));
    assert_ok(r.status);
    assert_int_equal(far.host[0], 0);
    assert_refused(NDR_NOT_FOUND, ndr_queue_finish(far.line), "no gate");
    ndr_event_destroy(gate);
    close_far();
}

static cl_bool has_blocked;

static cl_int CL_API_CALL note_blocking(cl_command_queue q, cl_mem m, cl_bool blocks, size_t offset, size_t bytes,
                                        void *host, LIST)
{
    has_blocked = blocks;
    return pause_in_clEnqueueReadBuffer(q, m, blocks, offset, bytes, host, count, list, event);
}

/* Where the device has its own memory the driver's call blocks. Then the read has no lock: other work passes it. */
static void test_command__a_read_that_blocks_in_the_driver_has_no_lock(void **state)
{
    skip_where_launches_are_waited_for();
    skip_without(!ndr_context_has_turns(context), "threads that run commands while they wait take turns to wait");
    ndr_thread thread;
    reader r = { NULL, NDR_TIMEOUT };
    open_far();
    far.context->caps.info.shares_host_memory = false;
    ndr_cl.clEnqueueReadBuffer = note_blocking;
    pause_next(CALL_clEnqueueReadBuffer);
    assert_true(ndr_thread_start(&thread, read_far, &r));
    assert_true(wait_until_inside());
    assert_true(has_blocked);
    ndr_event *gate = new_gate(far.context), *done;
    assert_ok(ndr_launch_event(ndr_after(far.line, gate), far.add_one, &done, ndr_range_1d(INTS), far.x));
    note(&may_go_on);
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_event_wait(done));
    ndr_thread_join(thread);
    assert_ok(r.status);
    assert_true(far.host[0] == 0 || far.host[0] == 1);
    assert_ok(ndr_buffer_read(far.line, far.x, 0, sizeof(int32_t), far.host, NULL));
    assert_false(has_blocked); /* from the first user's event on */
    assert_int_equal(far.host[0], 1);
    ndr_cl.clEnqueueReadBuffer = pause_in_clEnqueueReadBuffer;
    ndr_event_destroy(gate);
    ndr_event_destroy(done);
    close_far();
}

static ndr_event *to_fail;

static cl_int CL_API_CALL refuse_fill(cl_command_queue q, cl_mem m, const void *pattern, size_t wide, size_t offset,
                                      size_t bytes, LIST)
{
    assert_int_equal(real.clSetUserEventStatus(to_fail->pieces[0], CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
                     CL_SUCCESS);
    return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

/* NVIDIA's driver refuses a command if an event of its list fails while it is enqueued. */
static void test_command__is_refused_for_what_fails_meanwhile(void **state)
{
    skip_where_launches_are_waited_for();
    ndr_queue *line = new_queue();
    ndr_buffer *x = buffer_of(BYTES, zeros);
    to_fail = new_gate(context);
    ndr_cl.clEnqueueFillBuffer = refuse_fill;
    const ndr_status status = ndr_buffer_fill(ndr_after(line, to_fail), x, 0, BYTES, zeros, 4, NULL);
    ndr_cl.clEnqueueFillBuffer = pause_in_clEnqueueFillBuffer;
    assert_refused(NDR_DRIVER_ERROR, status, "work that the command waits for has failed", "nothing was enqueued");
    NDR_IGNORE(ndr_queue_finish(line)); /* a marker may be in front of it */
    ndr_event_destroy(to_fail);
    ndr_buffer_destroy(x);
    ndr_queue_destroy(line);
}

/* ---- mappings ---- */

typedef struct mapper {
    scene *s;
    ndr_map_access access;
    size_t offset;
    ndr_status status;
    void *host;
} mapper;

static void *map_behind_the_gate(void *mapper_)
{
    mapper *const m = mapper_;
    m->status = ndr_buffer_map(ndr_after(m->s->line, m->s->gate), m->s->x, m->access, m->offset, 128, &m->host);
    return NULL;
}

/* The thread that is to end the event uses the buffer first: other bytes, and, for reading, the same ones. */
static void use_what_another_thread_maps(scene *s, mapper *m, bool is_same)
{
    void *host;
    ndr_thread thread;
    pause_next(CALL_clWaitForEvents);
    assert_true(ndr_thread_start(&thread, map_behind_the_gate, m));
    assert_true(wait_until_inside());
    if (!is_same)
        assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_map(s->other, s->x, NDR_MAP_WRITE, m->offset, 128, &host),
                       "overlaps an earlier one", "unmap the earlier one first");
    assert_ok(ndr_buffer_map(s->other, s->x, m->access, is_same ? m->offset : 0, 128, &host));
    assert_int_equal(*(int32_t *)host, 0);
    assert_ok(ndr_buffer_unmap(s->other, s->x, host, NULL));
    note(&may_go_on);
    assert_ok(ndr_event_complete(s->gate));
    ndr_thread_join(thread);
    assert_ok(m->status);
    assert_int_equal(*(int32_t *)m->host, 0);
    assert_ok(ndr_buffer_unmap(s->line, s->x, m->host, NULL));
    assert_ok(ndr_queue_finish(s->other));
}

static void test_command__a_mapping_behind_an_event_holds_up_no_other(void **state)
{
    skip_where_launches_are_waited_for();
    for (int is_same = 0; is_same < 2; ++is_same) {
        scene s;
        open_scene(&s);
        mapper m = { .s = &s, .access = is_same ? NDR_MAP_READ : NDR_MAP_READ_WRITE, .offset = is_same ? 0 : 128 };
        use_what_another_thread_maps(&s, &m, is_same);
        ndr_queue_destroy(s.victim);
        close_scene(&s);
    }
}

static void *map_shared_behind_the_gate(void *mapper_)
{
    mapper *const m = mapper_;
    m->status = ndr_shared_map(ndr_after(m->s->line, m->s->gate), m->s->shared, NDR_MAP_READ, 0, BYTES, NULL);
    return NULL;
}

static void test_command__a_mapping_of_shared_memory_holds_up_no_other(void **state)
{
    skip_where_launches_are_waited_for();
    scene s;
    ndr_thread thread;
    open_scene(&s);
    mapper m = { .s = &s };
    ndr_queue_destroy(s.victim);
    if (!s.shared) close_scene(&s);
    skip_without(s.shared, "the device has no memory of the kind NDR_SHARED_COARSE");
    pause_next(CALL_clWaitForEvents);
    assert_true(ndr_thread_start(&thread, map_shared_behind_the_gate, &m));
    assert_true(wait_until_inside());
    assert_refused(NDR_BAD_ARGUMENT, ndr_shared_map(s.other, s.shared, NDR_MAP_READ, 0, BYTES, NULL),
                   "another thread is mapping the allocation; map it when that thread has unmapped it");
    assert_refused(NDR_BAD_ARGUMENT, ndr_shared_unmap(s.other, s.shared, ndr_shared_pointer(s.shared), NULL),
                   "is not where this allocation is mapped");
    note(&may_go_on);
    assert_ok(ndr_event_complete(s.gate));
    ndr_thread_join(thread);
    assert_ok(m.status);
    assert_ok(ndr_shared_unmap(s.line, s.shared, ndr_shared_pointer(s.shared), NULL));
    close_scene(&s);
}

/* ---- an event of a destroyed queue ---- */

static size_t releases;
static cl_command_queue counted_queue;

static CL_API_ENTRY cl_int CL_API_CALL count_releases(cl_command_queue q)
{
    releases += q == counted_queue;
    return real.clReleaseCommandQueue(q);
}

static void test_command__an_event_keeps_its_queue(void **state)
{
    skip_where_launches_are_waited_for();
    scene s;
    ndr_event *done;
    open_scene(&s);
    assert_ok(ndr_launch_event(ndr_after(s.victim, s.gate), s.add_one, &done, ndr_range_1d(INTS), s.x));
    releases = 0;
    counted_queue = s.victim->cl;
    ndr_cl.clReleaseCommandQueue = count_releases;
    ndr_queue_destroy(s.victim);
    assert_int_equal(releases, 0);
    assert_refused(NDR_TIMEOUT, ndr_event_wait_within(done, 0), "has not ended");
    assert_ok(launch(&s, NDR_QUEUE_(ndr_after(s.other, done)))); /* which flushes it */
    assert_ok(ndr_event_complete(s.gate));
    assert_ok(ndr_event_wait(done));
    assert_ok(ndr_queue_finish(s.other));
    assert_int_equal(releases, 0);
    ndr_event_destroy(done);
    close_scene(&s); /* until then the other queue may keep it: Mesa 22.3 may report its work as running for a while */
    assert_int_equal(releases, 1);
    ndr_cl.clReleaseCommandQueue = pause_in_clReleaseCommandQueue;
}

static void test_command__a_destroyed_queue_is_refused(void **state)
{
    ndr_context *checked;
    ndr_queue *line;
    ndr_event *done;
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &checked));
    assert_ok(ndr_queue_create(checked, NULL, &line));
    assert_ok(ndr_queue_mark(line, &done));
    ndr_queue_destroy(line); /* the event still has its memory */
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_flush(line), "ndr_queue_flush: queue is a queue that has been destroyed");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_mark(line, NULL), "ndr_queue_mark: queue is a queue that has been destroyed");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_finish(line), "ndr_queue_finish: queue is a queue that has been destroyed");
    assert_ok(ndr_event_wait(done));
    ndr_event_destroy(done);
    ndr_context_destroy(checked);
}

/* The second launch waits for the first, and both for the gate, whose end must not wait for the first. */
static void test_command__an_event_of_a_destroyed_queue_does_not_hold_up_a_failure(void **state)
{
    skip_where_launches_are_waited_for();
    skip_without(!driver_completes_failed_work(),
                 "a fault of the driver, shown in plain OpenCL: it crashes if several events of one list fail");
    scene s;
    ndr_event *first, *second;
    open_scene(&s);
    assert_ok(ndr_launch_event(ndr_after(s.victim, s.gate), s.add_one, &first, ndr_range_1d(INTS), s.x));
    ndr_queue_destroy(s.victim);
    assert_ok(ndr_launch_event(ndr_after(s.line, first, s.gate), s.add_one, &second, ndr_range_1d(INTS), s.x));
    assert_ok(ndr_event_fail(s.gate, NDR_NOT_FOUND, "no gate"));
    assert_refused(NDR_NOT_FOUND, ndr_event_wait(second), "no gate");
    ndr_event_destroy(first);
    ndr_event_destroy(second);
    close_scene(&s);
}

/* ---- long wait lists ---- */

static size_t queries, flushes, listed;
static bool has_duplicates;

static CL_API_ENTRY cl_int CL_API_CALL count_queries(cl_event e, cl_event_info what, size_t bytes, void *value,
                                                     size_t *needed)
{
    ++queries;
    return real.clGetEventInfo(e, what, bytes, value, needed);
}

static CL_API_ENTRY cl_int CL_API_CALL count_flushes(cl_command_queue q)
{
    ++flushes;
    return real.clFlush(q);
}

static int compare(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)*(const cl_event *)a, y = (uintptr_t)*(const cl_event *)b;
    return (x > y) - (x < y);
}

/* Notes the list, and enqueues the launch behind its first event only, because some drivers are slow with long lists. */
static CL_API_ENTRY cl_int CL_API_CALL note_list(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                                                 const size_t *global, const size_t *local, cl_uint count,
                                                 const cl_event *list, cl_event *event)
{
    cl_event *const sorted = malloc(count * sizeof *sorted);
    assert_non_null(sorted);
    memcpy(sorted, list, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    listed = count;
    has_duplicates = false;
    for (cl_uint i = 1; i < count; ++i) has_duplicates = has_duplicates || sorted[i] == sorted[i - 1];
    free(sorted);
    return real.clEnqueueNDRangeKernel(q, k, dims, offset, global, local, 1, list, event);
}

/* Marks are few because of the fault many_markers_starve. */
static bool is_mark(size_t i) { return i % 64 == 1; }

/* Most of them are a user's; the others are marks in another queue, behind the gate. */
static ndr_event **new_events(scene *s, size_t count)
{
    ndr_event **const events = malloc(2 * count * sizeof *events);
    assert_non_null(events);
    for (size_t i = 0; i < count; ++i) {
        if (is_mark(i)) assert_ok(ndr_queue_mark(s->other, &events[i]));
        else events[i] = new_gate(context);
        events[2 * count - 1 - i] = events[i];
    }
    return events;
}

/* How many queries of a state a launch behind `count` events makes that are each named twice. */
static size_t count_queries_of(size_t count)
{
    scene s;
    open_scene(&s);
    ndr_queue_destroy(s.victim);
    assert_ok(launch(&s, NDR_QUEUE_(ndr_after(s.other, s.gate))));
    ndr_event **const events = new_events(&s, count);
    ndr_cl.clGetEventInfo = count_queries, ndr_cl.clFlush = count_flushes, ndr_cl.clEnqueueNDRangeKernel = note_list;
    queries = flushes = 0;
    const int64_t start_ns = ndr_clock_ns();
    const ndr_status status = launch(&s, NDR_QUEUE_(ndr_after_all(s.line, events, 2 * count)));
    print_message("%zu events, each named twice: %.2f ms, %zu queries, %zu flushes\n", count,
                  (double)(ndr_clock_ns() - start_ns) * 1e-6, queries, flushes);
    const size_t queried = queries;
    ndr_cl.clGetEventInfo = pause_in_clGetEventInfo, ndr_cl.clFlush = pause_in_clFlush;
    ndr_cl.clEnqueueNDRangeKernel = pause_in_clEnqueueNDRangeKernel;
    assert_ok(status);
    assert_int_equal(listed, count);
    assert_false(has_duplicates);
    assert_in_range(flushes, 1, 2); /* of the other queue */
    for (size_t i = 0; i < count; ++i)
        if (!is_mark(i)) assert_ok(ndr_event_complete(events[i]));
    assert_ok(ndr_event_complete(s.gate));
    assert_ok(ndr_queue_finish(s.line));
    for (size_t i = 0; i < count; ++i) ndr_event_destroy(events[i]);
    free(events);
    close_scene(&s);
    return queried;
}

static void test_command__a_long_list_costs_a_constant_for_each_event(void **state)
{
    skip_where_launches_are_waited_for();
    enum { FEW = 1000, TIMES = 32 };
    const size_t few = count_queries_of(FEW), many = count_queries_of(FEW * TIMES);
    assert_in_range(many, 1, TIMES * (few + 100));
    assert_in_range(few, 1, 8 * FEW);
}

/* A queue keeps the launch until all that it waits for has ended, and each event that fails looks at it. */
static void test_command__many_events_that_fail_cost_a_constant_each(void **state)
{
    skip_where_launches_are_waited_for();
    skip_without(!driver_completes_failed_work(),
                 "a fault of the driver, shown in plain OpenCL: it crashes if several events of one list fail");
    enum { EVENTS = 500 };
    scene s;
    ndr_event *events[EVENTS], *done;
    open_scene(&s);
    ndr_queue_destroy(s.victim);
    for (size_t i = 0; i < EVENTS; ++i) events[i] = new_gate(context);
    assert_ok(ndr_launch_event(ndr_after_all(s.line, events, EVENTS), s.add_one, &done, ndr_range_1d(INTS), s.x));
    assert_ok(ndr_event_fail(events[0], NDR_NOT_FOUND, "no gate"));
    ndr_event_state state_of_done;
    assert_ok(ndr_event_get_state(done, &state_of_done)); /* some drivers fail it after the last event of its list */
    ndr_cl.clGetEventInfo = count_queries, queries = 0;
    for (size_t i = 1; i < EVENTS; ++i) assert_ok(ndr_event_fail(events[i], NDR_NOT_FOUND, "no gate"));
    ndr_cl.clGetEventInfo = pause_in_clGetEventInfo;
    if (state_of_done == NDR_EVENT_FAILED) assert_in_range(queries, 0, 20 * EVENTS);
    assert_refused(NDR_NOT_FOUND, ndr_event_wait(done), "no gate");
    assert_refused(NDR_NOT_FOUND, ndr_queue_finish(s.line), "no gate");
    for (size_t i = 0; i < EVENTS; ++i) ndr_event_destroy(events[i]);
    ndr_event_destroy(done);
    close_scene(&s);
}

/* ---- drivers that cannot wait ---- */

static CL_API_ENTRY cl_int CL_API_CALL refuse_wait(cl_uint count, const cl_event *list)
{
    return CL_OUT_OF_RESOURCES;
}

static CL_API_ENTRY cl_int CL_API_CALL refuse_finish(cl_command_queue q)
{
    return CL_OUT_OF_RESOURCES;
}

static void test_command__finishing_ends_if_the_driver_cannot_wait(void **state)
{
    skip_where_launches_are_waited_for();
    scene s;
    open_scene(&s);
    ndr_queue_destroy(s.victim);
    assert_ok(launch(&s, NDR_QUEUE_(ndr_after(s.line, s.gate))));
    ndr_cl.clWaitForEvents = refuse_wait, ndr_cl.clFinish = refuse_finish;
    const ndr_status status = ndr_queue_finish(s.line);
    ndr_cl.clWaitForEvents = pause_in_clWaitForEvents, ndr_cl.clFinish = pause_in_clFinish;
    assert_refused(NDR_DRIVER_ERROR, status, "clWaitForEvents gave CL_OUT_OF_RESOURCES", "may still be running");
    assert_ok(ndr_event_complete(s.gate));
    assert_ok(ndr_queue_finish(s.line));
    close_scene(&s);
}

static CL_API_ENTRY cl_int CL_API_CALL refuse_end(cl_event e, cl_int state)
{
    return CL_OUT_OF_RESOURCES;
}

static void test_command__an_end_that_the_driver_refuses_may_be_repeated(void **state)
{
    skip_where_launches_are_waited_for();
    scene s;
    open_scene(&s);
    ndr_queue_destroy(s.victim);
    ndr_cl.clSetUserEventStatus = refuse_end;
    const ndr_status completed = ndr_event_complete(s.gate), failed = ndr_event_fail(s.second, NDR_NOT_FOUND, "no");
    ndr_cl.clSetUserEventStatus = pause_in_clSetUserEventStatus;
    assert_int_equal(completed, NDR_DRIVER_ERROR);
    assert_refused(NDR_DRIVER_ERROR, failed, "clSetUserEventStatus gave CL_OUT_OF_RESOURCES");
    assert_ok(ndr_event_complete(s.gate));
    assert_ok(ndr_event_fail(s.second, NDR_NOT_FOUND, "no second"));
    assert_refused(NDR_NOT_FOUND, ndr_event_wait(s.second), "no second");
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command__a_paused_call_holds_up_nobody_for_ever),
        cmocka_unit_test(test_command__a_paused_call_behind_an_event_that_fails),
        cmocka_unit_test(test_command__a_paused_call_behind_an_event_that_ends),
        cmocka_unit_test(test_command__a_blocking_read_meets_the_first_event),
        cmocka_unit_test(test_command__a_read_that_blocks_in_the_driver_has_no_lock),
        cmocka_unit_test(test_command__is_refused_for_what_fails_meanwhile),
        cmocka_unit_test(test_command__a_mapping_behind_an_event_holds_up_no_other),
        cmocka_unit_test(test_command__a_mapping_of_shared_memory_holds_up_no_other),
        cmocka_unit_test(test_command__an_event_keeps_its_queue),
        cmocka_unit_test(test_command__a_destroyed_queue_is_refused),
        cmocka_unit_test(test_command__an_event_of_a_destroyed_queue_does_not_hold_up_a_failure),
        cmocka_unit_test(test_command__a_long_list_costs_a_constant_for_each_event),
        cmocka_unit_test(test_command__many_events_that_fail_cost_a_constant_each),
        cmocka_unit_test(test_command__finishing_ends_if_the_driver_cannot_wait),
        cmocka_unit_test(test_command__an_end_that_the_driver_refuses_may_be_repeated),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
