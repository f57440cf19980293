/* test_order.c - what commands wait for: wait lists, queues out of order, and the first cause of a failure. */
#include "driver_faults.h"
#include "ndr/ndr_image.h"

#include "device/context.h"
#include "device/event.h"
#include "device/order.h"
#include "device/queue.h"

#include <limits.h>

enum { INTS = 64, BYTES = INTS * sizeof(int32_t), ROWS = 4, COLS = 16 };

/* Its group size divides neither size of 7 x 7: four pieces. */
static const char matrix_kernel[] = "#include <ndr/nd_item.clh>\n"
                                    "kernel void add_to_matrix(global int *x, NDR_ND_RANGE(2))\n"
                                    "{\n"
                                    "    const ndr_nd_item it = NDR_ND_ITEM(2);\n"
                                    "    x[ndr_global_id(it, 0) * 7 + ndr_global_id(it, 1)] += 1;\n"
                                    "}\n";

static ndr_kernel *add_one, *copy_ints, *add_to_matrix;
static ndr_buffer *x, *y;
static ndr_prepared *prepared;
static ndr_image *picture; /* NULL: the device has no images */
static const int32_t zeros[INTS];

static ndr_image *new_picture(void)
{
    const ndr_image_desc desc = { .format = { NDR_CHANNELS_RGBA, NDR_CHANNEL_U8 }, .size = ndr_range_2d(ROWS, COLS) };
    ndr_image *image = NULL;
    const ndr_status status = ndr_image_create(context, &desc, &image);
    if (status != NDR_UNSUPPORTED) assert_ok(status);
    return image;
}

static int open_all(void **state)
{
    if (open_device(state) != 0) return 1;
    add_one = kernel_of(plain_kernels, "add_one");
    copy_ints = kernel_of(plain_kernels, "copy_ints");
    add_to_matrix = kernel_of(matrix_kernel, "add_to_matrix");
    x = buffer_of(BYTES, zeros);
    y = buffer_of(BYTES, zeros);
    assert_ok(ndr_prepare(add_one, &prepared, ndr_range_1d(INTS), x));
    picture = new_picture();
    return 0;
}

static int close_all(void **state)
{
    ndr_prepared_destroy(prepared);
    ndr_image_destroy(picture);
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(y);
    return close_device(state);
}

static void clear(ndr_buffer *buffer) { assert_ok(ndr_buffer_write(queue, buffer, 0, BYTES, zeros, NULL)); }

static int32_t first_of(ndr_buffer *buffer)
{
    int32_t first = -1;
    assert_ok(ndr_buffer_read(queue, buffer, 0, sizeof first, &first, NULL));
    return first;
}

/* A user's event: what waits for it starts when the test says so. */
static ndr_event *new_gate(void)
{
    skip_where_launches_are_waited_for();
    ndr_event *gate;
    assert_ok(ndr_event_create(context, &gate));
    return gate;
}

static ndr_event_state state_of(ndr_event *event)
{
    ndr_event_state state = NDR_EVENT_QUEUED;
    assert_ok(ndr_event_get_state(event, &state));
    return state;
}

static ndr_queue *new_queue(void)
{
    ndr_queue *line;
    assert_ok(ndr_queue_create(context, NULL, &line));
    return line;
}

/* NULL if the device has none. */
static ndr_queue *new_unordered(void)
{
    ndr_queue *line = NULL;
    const ndr_status status = ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &line);
    if (status == NDR_UNSUPPORTED) assert_non_null(strstr(ndr_last_error(), "has no out-of-order queues; use several"));
    else assert_ok(status);
    return line;
}

/* ---- each call that enqueues ---- */

static int32_t host[INTS];
static void *mapped;

typedef ndr_status command(ndr_queue *on, ndr_event **event);

static ndr_status launch(ndr_queue *on, ndr_event **event)
{
    return ndr_launch_event(on, add_one, event, ndr_range_1d(INTS), x);
}

static ndr_status launch_nothing(ndr_queue *on, ndr_event **event)
{
    return ndr_launch_event(on, add_one, event, ndr_range_1d(0), x);
}

static ndr_status launch_split(ndr_queue *on, ndr_event **event)
{
    ndr_nd_range range = ndr_nd_range_2d(7, 7, 4, 4);
    range.edge = NDR_EDGE_SPLIT;
    return ndr_launch_event(on, add_to_matrix, event, range, x);
}

static ndr_status read_x(ndr_queue *on, ndr_event **event) { return ndr_buffer_read(on, x, 0, BYTES, host, event); }

static ndr_status read_nothing(ndr_queue *on, ndr_event **event) { return ndr_buffer_read(on, x, 0, 0, host, event); }

static ndr_status write_x(ndr_queue *on, ndr_event **event) { return ndr_buffer_write(on, x, 0, BYTES, zeros, event); }

static ndr_status fill_x(ndr_queue *on, ndr_event **event)
{
    return ndr_buffer_fill(on, x, 0, BYTES, zeros, 4, event);
}

static ndr_status copy_x(ndr_queue *on, ndr_event **event) { return ndr_buffer_copy(on, x, 0, y, 0, BYTES, event); }

static ndr_status unmap_x(ndr_queue *on, ndr_event **event)
{
    assert_ok(ndr_buffer_map(queue, x, NDR_MAP_READ, 0, BYTES, &mapped));
    return ndr_buffer_unmap(on, x, mapped, event);
}

static ndr_status reduce(ndr_queue *on, ndr_event **event)
{
    return ndr_reduce(on,
                      &(ndr_reduce_desc){ .dtype = NDR_DTYPE_I32,
                                          .op = NDR_OP_SUM,
                                          .input = { x, 0 },
                                          .count = INTS,
                                          .output = { y, 0 } },
                      event);
}

static ndr_status matmul(ndr_queue *on, ndr_event **event)
{
    return ndr_matmul(on,
                      &(ndr_matmul_desc){ .dtype = NDR_DTYPE_F32,
                                          .a = { x, 0, 2, 2, 0 },
                                          .b = { x, 8, 2, 2, 0 },
                                          .c = { y, 0, 2, 2, 0 } },
                      event);
}

static ndr_status run_prepared(ndr_queue *on, ndr_event **event) { return ndr_prepared_run(on, prepared, event); }

static ndr_status copy_rect(ndr_queue *on, ndr_event **event)
{
    const ndr_rect_desc desc = { .extent = ndr_range_2d(2, 8) };
    return ndr_buffer_copy_rect(on, x, y, &desc, event);
}

static ndr_status mark(ndr_queue *on, ndr_event **event) { return ndr_queue_mark(on, event); }
static ndr_status barrier(ndr_queue *on, ndr_event **event) { return ndr_queue_barrier(on, event); }

/* Without images: a mark instead. */
static ndr_status write_image(ndr_queue *on, ndr_event **event)
{
    return picture ? ndr_image_write(on, picture, NULL, zeros, event) : mark(on, event);
}

static ndr_status read_image(ndr_queue *on, ndr_event **event)
{
    return picture ? ndr_image_read(on, picture, NULL, host, event) : mark(on, event);
}

static ndr_status fill_image(ndr_queue *on, ndr_event **event)
{
    return picture ? ndr_image_fill(on, picture, NULL, zeros, event) : mark(on, event);
}

/* From the upper half to the lower. */
static ndr_status copy_image(ndr_queue *on, ndr_event **event)
{
    const ndr_image_part upper = { .extent = ndr_range_2d(ROWS / 2, COLS) };
    const size_t lower[] = { ROWS / 2, 0 };
    return picture ? ndr_image_copy(on, picture, &upper, picture, lower, event) : mark(on, event);
}

static const struct {
    const char *name;
    command *enqueue;
} commands[] = {
    { "launch", launch },   { "launch of nothing", launch_nothing },
    { "split", launch_split }, { "read", read_x },
    { "read of nothing", read_nothing }, { "write", write_x },
    { "fill", fill_x },     { "copy", copy_x },
    { "unmap", unmap_x },   { "reduce", reduce },
    { "matmul", matmul },   { "mark", mark },
    { "barrier", barrier }, { "prepared", run_prepared },
    { "rectangle", copy_rect }, { "image write", write_image },
    { "image read", read_image }, { "image fill", fill_image },
    { "image copy", copy_image },
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* On an in-order queue, and on one out of order if the device has one. */
static void each_waits(ndr_queue *line)
{
    for (size_t i = 0; i < COMMANDS; ++i) {
        ndr_event *gates[2] = { new_gate(), new_gate() }, *done = NULL;
        assert_ok(commands[i].enqueue(NDR_QUEUE_(ndr_after(line, gates[0], NULL, gates[1])), &done));
        const ndr_event_state before = state_of(done);
        assert_ok(ndr_event_complete(gates[1]));
        const ndr_event_state between = state_of(done);
        assert_ok(ndr_event_complete(gates[0]));
        assert_ok(ndr_event_wait(done));
        if (before >= NDR_EVENT_RUNNING || between >= NDR_EVENT_RUNNING) fail_msg("%s did not wait", commands[i].name);
        assert_int_equal(state_of(done), NDR_EVENT_COMPLETE);
        for (size_t g = 0; g < 2; ++g) ndr_event_destroy(gates[g]);
        ndr_event_destroy(done);
    }
    assert_ok(ndr_queue_finish(line));
}

static void test_order__each_command_waits_for_its_events(void **state)
{
    ndr_queue *line = new_queue(), *unordered = new_unordered();
    each_waits(line);
    if (unordered) each_waits(unordered);
    ndr_queue_destroy(unordered);
    ndr_queue_destroy(line);
}

/* The command fails with the first cause: not with the driver's code for commands whose events have failed. */
static void each_fails(ndr_queue *line)
{
    for (size_t i = 0; i < COMMANDS; ++i) {
        ndr_event *gate = new_gate(), *done = NULL, *next = NULL;
        assert_ok(commands[i].enqueue(NDR_QUEUE_(ndr_after(line, gate)), &done));
        assert_ok(ndr_launch_event(ndr_after(line, done), add_one, &next, ndr_range_1d(INTS), y));
        assert_ok(ndr_event_fail(gate, NDR_NOT_FOUND, "the disk is full of holes"));
        assert_refused(NDR_NOT_FOUND, ndr_event_wait(next), "because work before it did: the disk is full of holes");
        assert_refused(NDR_NOT_FOUND, ndr_event_wait(done), "because work before it did: the disk is full of holes");
        assert_refused(NDR_NOT_FOUND, ndr_queue_finish(line), "the disk is full of holes");
        assert_ok(ndr_queue_finish(line)); /* reported once */
        ndr_event_destroy(gate);
        ndr_event_destroy(done);
        ndr_event_destroy(next);
    }
}

static void test_order__each_command_fails_with_the_first_cause(void **state)
{
    ndr_queue *line = new_queue(), *unordered = new_unordered();
    clear(y);
    each_fails(line);
    if (unordered && driver_completes_failed_work()) print_message("left out: that driver crashes after failures there\n");
    else if (unordered) each_fails(unordered);
    ndr_queue_destroy(unordered);
    ndr_queue_destroy(line);
    clear(x); /* what failed disturbs nothing */
    clear(y);
    assert_ok(ndr_launch(queue, add_one, ndr_range_1d(INTS), x));
    assert_int_equal(first_of(x), 1);
}

static void test_order__blocking_calls_wait_and_fail_too(void **state)
{
    clear(x);
    ndr_event *done, *gate = new_gate();
    ndr_queue *line = new_queue();
    int32_t got = -1;
    assert_ok(ndr_launch_event(line, add_one, &done, ndr_range_1d(INTS), x));
    assert_ok(ndr_buffer_read(ndr_after(queue, done), x, 0, sizeof got, &got, NULL));
    assert_int_equal(got, 1);
    assert_ok(ndr_buffer_map(ndr_after(queue, done), x, NDR_MAP_READ_WRITE, 0, BYTES, &mapped));
    assert_ok(ndr_buffer_unmap(queue, x, mapped, NULL));
    assert_ok(ndr_buffer_write(ndr_after(line, done), x, 0, BYTES, zeros, NULL));
    ndr_event_destroy(done);
    assert_ok(ndr_launch_event(ndr_after(line, gate), add_one, &done, ndr_range_1d(INTS), x));
    assert_ok(ndr_event_fail(gate, NDR_LIMIT_EXCEEDED, "too many"));
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_event_wait(done), "because work before it did: too many");
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_buffer_read(ndr_after(queue, done), x, 0, sizeof got, &got, NULL),
                   "event 0 that the command waits for has failed, and nothing was enqueued: ", "too many");
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_buffer_map(ndr_after(queue, NULL, done), x, NDR_MAP_READ, 0, BYTES, &mapped),
                   "event 1 that the command waits for has failed");
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_queue_finish(line), "too many");
    ndr_event_destroy(gate);
    ndr_event_destroy(done);
    ndr_queue_destroy(line);
}

/* ---- the lists ---- */

static void test_order__takes_lists_of_every_length(void **state)
{
    static const size_t counts[] = { 0, 1, 2, 7, 257 };
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
        ndr_event *gates[257] = { NULL }, *done;
        for (size_t i = 0; i < counts[c]; ++i) gates[i] = new_gate();
        assert_ok(ndr_launch_event(ndr_after_all(queue, gates, counts[c]), add_one, &done, ndr_range_1d(INTS), x));
        for (size_t i = 0; i < counts[c]; ++i) {
            assert_int_not_equal(state_of(done), NDR_EVENT_COMPLETE);
            assert_ok(ndr_event_complete(gates[i]));
        }
        assert_ok(ndr_event_wait(done));
        for (size_t i = 0; i < counts[c]; ++i) ndr_event_destroy(gates[i]);
        ndr_event_destroy(done);
    }
}

static cl_uint listed;
static ndr_cl_functions real;

static CL_API_ENTRY cl_int CL_API_CALL count_events(cl_command_queue cl, cl_kernel kernel, cl_uint dims,
                                                    const size_t *offset, const size_t *global, const size_t *local,
                                                    cl_uint count, const cl_event *events, cl_event *done)
{
    listed = count;
    return real.clEnqueueNDRangeKernel(cl, kernel, dims, offset, global, local, count, events, done);
}

/* Intel's runtime crashes if an event fails that stands in a list twice. */
static void test_order__an_event_named_twice_is_listed_once(void **state)
{
    skip_where_launches_are_waited_for();
    ndr_event *gate, *other, *done;
    clear(x);
    assert_ok(ndr_event_create(context, &gate));
    assert_ok(ndr_event_create(context, &other));
    real = ndr_cl;
    ndr_cl.clEnqueueNDRangeKernel = count_events;
    const ndr_status status =
        ndr_launch_event(ndr_after(queue, gate, other, gate, NULL, gate, other), add_one, &done, ndr_range_1d(INTS), x);
    ndr_cl = real;
    assert_ok(status);
    assert_int_equal(listed, 2);
    assert_ok(ndr_event_complete(other));
    assert_ok(ndr_event_fail(gate, NDR_NOT_FOUND, "no gate"));
    assert_refused(NDR_NOT_FOUND, ndr_event_wait(done), "because work before it did: no gate");
    assert_refused(NDR_NOT_FOUND, ndr_queue_finish(queue), "no gate");
    assert_int_equal(first_of(x), 0);
    ndr_event_destroy(gate);
    ndr_event_destroy(other);
    ndr_event_destroy(done);
}

/* Its work still runs. Intel's runtime does not flush such a queue again. */
static void test_order__waits_for_work_of_a_destroyed_queue(void **state)
{
    skip_where_launches_are_waited_for();
    ndr_queue *line;
    ndr_event *gate, *first, *second;
    clear(x);
    assert_ok(ndr_queue_create(context, NULL, &line));
    assert_ok(ndr_event_create(context, &gate));
    assert_ok(ndr_launch_event(ndr_after(line, gate), add_one, &first, ndr_range_1d(INTS), x));
    ndr_queue_destroy(line);
    assert_ok(ndr_launch_event(ndr_after(queue, first), add_one, &second, ndr_range_1d(INTS), x));
    assert_refused(NDR_TIMEOUT, ndr_event_wait_within(first, 0), "has not ended");
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_event_wait_all((ndr_event *[]){ first, second }, 2, NDR_FOREVER));
    assert_int_equal(first_of(x), 2);
    ndr_event_destroy(gate);
    ndr_event_destroy(first);
    ndr_event_destroy(second);
}

/* A driver that fails a command while it ends another one that the same command waits for may crash: the fault
 * fail_ends_twice. A reference of the test's stands for the driver that has not left the command yet. */
static void test_order__finds_work_of_a_destroyed_queue_that_has_to_end_before_a_failure(void **state)
{
    ndr_queue *const line = new_queue();
    ndr_event *first = new_gate(), *gate = new_gate(), *before, *behind;
    assert_ok(ndr_queue_mark(ndr_after(line, first), &before));
    assert_ok(ndr_launch_event(ndr_after(line, gate), add_one, &behind, ndr_range_1d(INTS), x));
    ndr_queue_destroy(line);
    ndr_queue_destroy(new_queue());
    assert_ok(ndr_event_complete(first));
    assert_ok(ndr_event_wait(before));
    const cl_event end = ndr_event_end(before);
    assert_int_equal(clRetainEvent(end), CL_SUCCESS);
    ndr_event *const found = ndr_event_find_under_way(gate);
    assert_int_equal(clReleaseEvent(end), CL_SUCCESS);
    assert_ptr_equal(found, before);
    ndr_event_release(found);
    assert_ok(ndr_event_fail(gate, NDR_NOT_FOUND, "no gate"));
    assert_refused(NDR_NOT_FOUND, ndr_event_wait(behind), "because work before it did: no gate");
    ndr_event_destroy(first);
    ndr_event_destroy(gate);
    ndr_event_destroy(before);
    ndr_event_destroy(behind);
}

static void test_order__events_of_nothing_are_complete(void **state)
{
    ndr_event *nothing;
    clear(x);
    assert_ok(ndr_launch_event(queue, add_one, &nothing, ndr_range_1d(0), x));
    assert_ok(ndr_launch(ndr_after(queue, NULL), add_one, ndr_range_1d(INTS), x));
    assert_ok(ndr_launch(ndr_after(queue, NULL, nothing, NULL), add_one, ndr_range_1d(INTS), x));
    assert_ok(ndr_launch(ndr_after_all(queue, NULL, 0), add_one, ndr_range_1d(INTS), x));
    assert_int_equal(first_of(x), 3);
    ndr_event_destroy(nothing);
}

/* The events may be destroyed, and the other queue was never flushed. */
static void test_order__spans_queues_that_were_not_flushed(void **state)
{
    enum { QUEUES = 3, STEPS = 30 };
    ndr_queue *lines[QUEUES];
    ndr_event *last = NULL;
    clear(x);
    for (size_t i = 0; i < QUEUES; ++i) lines[i] = new_queue();
    for (size_t i = 0; i < STEPS; ++i) {
        ndr_event *done;
        assert_ok(ndr_launch_event(ndr_after(lines[i % QUEUES], last), add_one, &done, ndr_range_1d(INTS), x));
        ndr_event_destroy(last);
        last = done;
    }
    assert_ok(ndr_event_wait(last));
    assert_int_equal(first_of(x), STEPS);
    ndr_event_destroy(last);
    for (size_t i = 0; i < QUEUES; ++i) ndr_queue_destroy(lines[i]);
}

static void test_order__refuses_what_is_not_right(void **state)
{
    ndr_context *other;
    ndr_event *foreign, *own, *made = NULL;
    assert_ok(ndr_context_create(NULL, &other));
    assert_ok(ndr_event_create(other, &foreign));
    assert_ok(ndr_event_create(context, &own));
    assert_refused(NDR_BAD_ARGUMENT,
                   ndr_launch_event(ndr_after(queue, own, foreign), add_one, &made, ndr_range_1d(INTS), x),
                   "ndr_after: event 1 and the queue belong to different contexts", "ndr_event_wait()");
    assert_null(made);
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_mark(ndr_after(NULL, own), &made), "ndr_queue_mark", "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_barrier(NULL, &made), "ndr_queue_barrier", "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_launch(ndr_after(NULL, own), add_one, ndr_range_1d(1), x), "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_launch(ndr_after_all(queue, NULL, 2), add_one, ndr_range_1d(1), x),
                   "ndr_after_all: events is NULL, but count is 2");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_mark(ndr_after_all(queue, NULL, 2), NULL), "events is NULL");
    assert_null(made);
    assert_ok(ndr_event_complete(own));
    assert_ok(ndr_event_complete(foreign));
    ndr_event_destroy(own);
    ndr_event_destroy(foreign);
    ndr_context_destroy(other);
}

/* ---- a graph ---- */

/* load, then left and right, then join: x = 1; y = x; x += 1; y and x are joined by a copy. */
static void run_diamond(ndr_queue *line, ndr_queue *other)
{
    ndr_event *load, *left, *right, *join;
    ndr_buffer *z = buffer_of(BYTES, zeros);
    int32_t got = 0;
    clear(x);
    clear(y);
    assert_ok(ndr_launch_event(line, add_one, &load, ndr_range_1d(INTS), x));
    assert_ok(ndr_launch_event(ndr_after(line, load), copy_ints, &left, ndr_range_1d(INTS), y, x));
    assert_ok(ndr_launch_event(ndr_after(other, load), copy_ints, &right, ndr_range_1d(INTS), z, x));
    assert_ok(ndr_launch_event(ndr_after(line, left, right), add_one, &join, ndr_range_1d(INTS), z));
    assert_ok(ndr_buffer_read(ndr_after(other, join), z, 0, sizeof got, &got, NULL));
    assert_int_equal(got, 2);
    ndr_event *const all[] = { load, left, right, join };
    for (size_t i = 0; i < 4; ++i) ndr_event_destroy(all[i]);
    ndr_buffer_destroy(z);
}

static void test_order__runs_a_diamond(void **state)
{
    ndr_queue *line = new_queue(), *other = new_queue(), *unordered = new_unordered();
    for (int i = 0; i < 10; ++i) {
        run_diamond(line, other);
        if (unordered) run_diamond(unordered, unordered);
    }
    ndr_queue_destroy(line);
    ndr_queue_destroy(other);
    ndr_queue_destroy(unordered);
}

/* ---- queues out of order ---- */

static void test_order__out_of_order_starts_what_waits_for_nothing(void **state)
{
    ndr_queue *line = new_unordered();
    skip_without(line, "the device has no out-of-order queues");
    ndr_event *gate = new_gate(), *held, *free_one;
    assert_ok(ndr_launch_event(ndr_after(line, gate), add_one, &held, ndr_range_1d(INTS), x));
    assert_ok(ndr_launch_event(line, add_one, &free_one, ndr_range_1d(INTS), y));
    const ndr_status status = ndr_event_wait_within(free_one, UINT64_C(20000000000));
    assert_int_not_equal(state_of(held), NDR_EVENT_COMPLETE);
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_queue_finish(line));
    ndr_event_destroy(gate);
    ndr_event_destroy(held);
    ndr_event_destroy(free_one);
    ndr_queue_destroy(line);
    if (status == NDR_TIMEOUT) print_message("skipped: the driver runs out-of-order queues in order, as OpenCL allows\n"), skip();
    assert_ok(status);
}

static void test_order__a_barrier_holds_back_what_comes_later(void **state)
{
    ndr_queue *line = new_unordered();
    skip_without(line, "the device has no out-of-order queues");
    ndr_event *gate = new_gate(), *behind, *around;
    ndr_queue *other = new_queue();
    assert_ok(ndr_launch(ndr_after(line, gate), add_one, ndr_range_1d(INTS), x));
    assert_ok(ndr_queue_barrier(line, NULL));
    assert_ok(ndr_launch_event(line, add_one, &behind, ndr_range_1d(INTS), y));
    assert_ok(ndr_launch_event(other, add_one, &around, ndr_range_1d(INTS), y));
    assert_ok(ndr_event_wait(around)); /* there was time to start it */
    assert_int_not_equal(state_of(behind), NDR_EVENT_COMPLETE);
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_event_wait(behind));
    assert_ok(ndr_queue_finish(line));
    ndr_event_destroy(gate);
    ndr_event_destroy(behind);
    ndr_event_destroy(around);
    ndr_queue_destroy(line);
    ndr_queue_destroy(other);
}

/* Its list has only work that has ended, which differs from no list: that would mean all work. */
static void test_order__a_barrier_after_ended_events_waits_for_no_other_work(void **state)
{
    static const uint64_t LIMIT_NS = UINT64_C(5000000000);
    ndr_queue *line = new_unordered();
    skip_without(line, "the device has no out-of-order queues");
    ndr_event *gate = new_gate(), *ended = new_gate(), *before, *behind;
    assert_ok(ndr_event_complete(ended));
    assert_ok(ndr_launch(ndr_after(line, gate), add_one, ndr_range_1d(INTS), x));
    assert_ok(ndr_launch_event(line, add_one, &before, ndr_range_1d(INTS), y));
    const bool runs_in_order = ndr_event_wait_within(before, LIMIT_NS) == NDR_TIMEOUT;
    assert_ok(ndr_queue_barrier(ndr_after(line, NULL, ended), NULL));
    assert_ok(ndr_launch_event(line, add_one, &behind, ndr_range_1d(INTS), y));
    const ndr_status status = runs_in_order ? NDR_OK : ndr_event_wait_within(behind, LIMIT_NS);
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_queue_finish(line));
    assert_int_equal(status, NDR_OK);
    ndr_event_destroy(before);
    ndr_event_destroy(gate);
    ndr_event_destroy(ended);
    ndr_event_destroy(behind);
    ndr_queue_destroy(line);
    skip_without(!runs_in_order, "the driver runs out-of-order queues in order, as OpenCL allows");
}

static ndr_status do_nothing(void *unused)
{
    return NDR_OK;
}

/* The work before them in the queue fails. PoCL 3.1's markers would wait for it, and fail. */
static void test_order__marks_and_tasks_out_of_order_fail_only_with_their_events(void **state)
{
    skip_for_fault(driver_completes_failed_work(), "it crashes when work fails out of order");
    ndr_queue *line = new_unordered();
    skip_without(line, "the device has no out-of-order queues");
    ndr_event *gate = new_gate(), *held, *done, *marks[2], *task;
    assert_ok(ndr_launch_event(ndr_after(line, gate), add_one, &held, ndr_range_1d(INTS), x));
    assert_ok(ndr_launch_event(line, add_one, &done, ndr_range_1d(INTS), y));
    assert_ok(ndr_queue_mark(ndr_after(line, done), &marks[0]));
    assert_ok(ndr_queue_mark(ndr_after(line, marks[0], NULL, done), &marks[1]));
    assert_ok(ndr_host_task(ndr_after(line, done), do_nothing, NULL, &task));
    const bool runs_in_order = ndr_event_wait_within(done, UINT64_C(2000000000)) == NDR_TIMEOUT;
    ndr_event *const behind[] = { marks[0], marks[1], task };
    const ndr_status status = runs_in_order ? NDR_OK : ndr_event_wait_all(behind, 3, UINT64_C(5000000000));
    assert_ok(ndr_event_fail(gate, NDR_NOT_FOUND, "lost"));
    assert_int_equal(status, NDR_OK); /* although the gate was closed */
    assert_refused(NDR_NOT_FOUND, ndr_event_wait(held), "lost");
    assert_refused(NDR_NOT_FOUND, ndr_queue_finish(line), "lost");
    ndr_event *const all[] = { gate, held, done, marks[0], marks[1], task };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) ndr_event_destroy(all[i]);
    ndr_queue_destroy(line);
    skip_without(!runs_in_order, "the driver runs out-of-order queues in order, as OpenCL allows");
}

/* ---- mappings ---- */

static ndr_event *gate_of_unmapping;
static bool was_open_when_mapped;
static __typeof__(clWaitForEvents) *real_wait;
static __typeof__(clEnqueueMapBuffer) *real_map;

/* The gate opens when the host waits for something. */
static CL_API_ENTRY cl_int CL_API_CALL open_and_wait(cl_uint count, const cl_event *list)
{
    ndr_event *const gate = gate_of_unmapping;
    gate_of_unmapping = NULL;
    if (gate) assert_ok(ndr_event_complete(gate));
    return real_wait(count, list);
}

static CL_API_ENTRY void *CL_API_CALL look_and_map(cl_command_queue line, cl_mem buffer, cl_bool blocks, cl_map_flags flags,
                                                   size_t offset, size_t bytes, cl_uint count, const cl_event *list,
                                                   cl_event *event, cl_int *error)
{
    was_open_when_mapped = !gate_of_unmapping;
    return real_map(line, buffer, blocks, flags, offset, bytes, count, list, event, error);
}

typedef enum follows { BY_ORDER, BY_EVENT, BY_BARRIER } follows;

/* On `line` behind an unmapping on `queue` that waits for a gate. */
static void map_behind_an_unmapping(ndr_queue *line, follows how)
{
    ndr_event *gate = new_gate(), *unmapped;
    int32_t *ints;
    assert_ok(ndr_buffer_write(queue, x, 0, BYTES, zeros, NULL));
    assert_ok(ndr_buffer_map(queue, x, NDR_MAP_READ_WRITE, 0, BYTES, (void **)&ints));
    for (int i = 0; i < INTS; ++i) ints[i] = i + 1;
    assert_ok(ndr_buffer_unmap(ndr_after(queue, gate), x, ints, &unmapped));
    gate_of_unmapping = gate;
    if (how == BY_BARRIER) assert_ok(ndr_queue_barrier(ndr_after(line, unmapped), NULL));
    assert_ok(ndr_buffer_map(ndr_after(line, how == BY_EVENT ? unmapped : NULL), x, NDR_MAP_READ_WRITE, 0, BYTES / 2,
                             (void **)&ints));
    assert_int_equal(was_open_when_mapped, ndr_avoids(context, NDR_QUIRK_REMAP_IS_OLD));
    for (int i = 0; i < INTS / 2; ++i) assert_int_equal(ints[i], i + 1);
    assert_ok(ndr_buffer_unmap(line, x, ints, NULL));
    assert_ok(ndr_queue_finish(line));
    ndr_event_destroy(gate);
    ndr_event_destroy(unmapped);
}

static void test_order__a_mapping_behind_an_unmapping_shows_what_the_host_wrote(void **state)
{
    if (context->checker) skip(); /* it would wait for the gate */
    ndr_queue *const lines[] = { new_queue(), new_unordered() };
    const uint64_t quirks = context->caps.quirks;
    real_wait = ndr_cl.clWaitForEvents, real_map = ndr_cl.clEnqueueMapBuffer;
    ndr_cl.clWaitForEvents = open_and_wait, ndr_cl.clEnqueueMapBuffer = look_and_map;
    for (int as_copy = 0; as_copy < 2; ++as_copy) {
        if (as_copy) context->caps.quirks |= NDR_QUIRK_BIT(NDR_QUIRK_REMAP_IS_OLD);
        map_behind_an_unmapping(queue, BY_ORDER);
        map_behind_an_unmapping(lines[0], BY_EVENT);
        if (lines[1]) map_behind_an_unmapping(lines[1], BY_EVENT);
        if (lines[1]) map_behind_an_unmapping(lines[1], BY_BARRIER);
    }
    ndr_cl.clWaitForEvents = real_wait, ndr_cl.clEnqueueMapBuffer = real_map;
    context->caps.quirks = quirks;
    ndr_queue_destroy(lines[0]);
    ndr_queue_destroy(lines[1]);
}

/* ---- failures ---- */

/* As ndr_event_fail() does: PoCL crashes if an event fails while other work ends that a command behind it waits for. */
static void wait_for_work_under_way(const ndr_event *failing)
{
    enum { MOST = 100000 }; /* a driver may never release its events */
    ndr_event *before;
    for (int i = 0; i < MOST && (before = ndr_event_find_under_way(failing)); ++i) {
        assert_ok(ndr_event_wait(before));
        ndr_event_release(before);
    }
}

/* A -> B -> C on three queues: B has a real code of the driver, C that of PoCL for all failures. */
static void test_order__tells_the_drivers_first_code(void **state)
{
    ndr_event *gate = new_gate(), *b, *c;
    ndr_queue *second = new_queue(), *third = new_queue();
    assert_ok(ndr_launch_event(ndr_after(second, gate), add_one, &b, ndr_range_1d(INTS), x));
    assert_ok(ndr_launch_event(ndr_after(third, b), add_one, &c, ndr_range_1d(INTS), y));
    wait_for_work_under_way(gate);
    assert_int_equal(clSetUserEventStatus(ndr_event_end(gate), CL_OUT_OF_RESOURCES), CL_SUCCESS);
    assert_refused(NDR_DRIVER_ERROR, ndr_event_wait(c), "because work before it did: the work was enqueued, but failed: "
                   "CL_OUT_OF_RESOURCES (-5)");
    assert_int_equal(ndr_last_cl_error(), -5);
    assert_refused(NDR_DRIVER_ERROR, ndr_queue_finish(third), "CL_OUT_OF_RESOURCES (-5)");
    assert_refused(NDR_DRIVER_ERROR, ndr_queue_finish(second), "CL_OUT_OF_RESOURCES (-5)");
    ndr_event_destroy(gate);
    ndr_event_destroy(b);
    ndr_event_destroy(c);
    ndr_queue_destroy(second);
    ndr_queue_destroy(third);
}

static cl_event failing; /* of which the driver is made to report -5 */
static __typeof__(clGetEventInfo) *real_info;

static CL_API_ENTRY cl_int CL_API_CALL report_failure(cl_event event, cl_event_info what, size_t bytes, void *out,
                                                      size_t *size)
{
    const cl_int error = real_info(event, what, bytes, out, size);
    if (event == failing && what == CL_EVENT_COMMAND_EXECUTION_STATUS) *(cl_int *)out = CL_OUT_OF_RESOURCES;
    return error;
}

/* Of launches without wait list and event, the queue knows the last of a few, where it spins. */
static void test_order__finish_reports_a_launch_that_clfinish_does_not(void **state)
{
    skip_where_launches_are_waited_for();
    ndr_queue *line;
    assert_ok(ndr_queue_create(context, &(ndr_queue_desc){ .spin_ns = 1 }, &line));
    assert_ok(ndr_launch(line, add_one, ndr_range_1d(INTS), x));
    failing = atomic_load(&line->last);
    real_info = ndr_cl.clGetEventInfo;
    ndr_cl.clGetEventInfo = report_failure;
    const ndr_status status = ndr_queue_finish(line);
    ndr_cl.clGetEventInfo = real_info;
    assert_refused(NDR_DRIVER_ERROR, status, "the last launch was enqueued, but failed: CL_OUT_OF_RESOURCES (-5)");
    assert_ok(ndr_queue_finish(line));
    ndr_queue_destroy(line);
}

/* The sentence names the kernel whose launch was the first to fail. */
static void test_order__names_the_kernel_that_failed_first(void **state)
{
    ndr_event *gate = new_gate(), *first, *second;
    ndr_queue *line = new_queue();
    assert_ok(ndr_launch_event(ndr_after(line, gate), add_one, &first, ndr_range_1d(INTS), x));
    assert_ok(ndr_launch_event(ndr_after(line, first), copy_ints, &second, ndr_range_1d(INTS), y, x));
    assert_ok(ndr_event_complete(gate));
    assert_int_equal(clFinish(line->cl), CL_SUCCESS);
    failing = ndr_event_end(first);
    real_info = ndr_cl.clGetEventInfo;
    ndr_cl.clGetEventInfo = report_failure;
    const ndr_status status = ndr_event_wait(second);
    ndr_cl.clGetEventInfo = real_info;
    assert_refused(NDR_DRIVER_ERROR, status, "because work before it did: kernel \"add_one\" was enqueued, but failed: "
                   "CL_OUT_OF_RESOURCES (-5)");
    assert_refused(NDR_DRIVER_ERROR, ndr_queue_finish(line), "kernel \"add_one\" was enqueued");
    ndr_event_destroy(gate);
    ndr_event_destroy(first);
    ndr_event_destroy(second);
    ndr_queue_destroy(line);
}

/* ---- user events ---- */

static void test_order__user_events_end_once(void **state)
{
    ndr_event *event, *mark_event;
    assert_ok(ndr_event_create(context, &event));
    assert_int_not_equal(state_of(event), NDR_EVENT_COMPLETE);
    assert_ok(ndr_event_complete(event));
    assert_ok(ndr_event_wait(event));
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_complete(event), "ndr_event_complete: the event has already ended; end it only once");
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_fail(event, NDR_NOT_FOUND, "no"), "has already ended");
    assert_ok(ndr_event_wait(event));
    ndr_event_destroy(event);
    assert_ok(ndr_queue_mark(queue, &mark_event));
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_complete(mark_event), "belongs to enqueued work");
    assert_ok(ndr_event_wait(mark_event));
    ndr_event_destroy(mark_event);
    assert_ok(ndr_event_create(context, &event));
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_fail(event, NDR_OK, "no"), "status is NDR_OK");
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_fail(event, NDR_NOT_FOUND, NULL), "why is NULL");
    assert_ok(ndr_event_fail(event, NDR_NOT_FOUND, "no such file"));
    assert_refused(NDR_NOT_FOUND, ndr_event_wait(event), "no such file");
    assert_int_equal(state_of(event), NDR_EVENT_FAILED);
    ndr_event_destroy(event);
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_create(NULL, &event), "context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_create(context, NULL), "event is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_complete(NULL), "event is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_fail(NULL, NDR_NOT_FOUND, "no"), "event is NULL");
}

static void test_order__a_user_event_destroyed_early_fails(void **state)
{
    ndr_event *gate = new_gate(), *done;
    ndr_queue *line = new_queue();
    assert_ok(ndr_launch_event(ndr_after(line, gate), add_one, &done, ndr_range_1d(INTS), x));
    ndr_event_destroy(gate);
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_wait(done), "was destroyed before it had ended");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_finish(line), "was destroyed before it had ended");
    ndr_event_destroy(done);
    ndr_queue_destroy(line);
}

/* A command that failed by one event is still told about the other by the driver, after its queue is gone. */
static void test_order__a_second_event_may_fail_after_all_is_gone(void **state)
{
    skip_for_fault(driver_completes_failed_work(), "it crashes when two events of one wait list fail");
    for (int round = 0; round < 20; ++round) {
        ndr_event *gates[] = { new_gate(), new_gate() }, *done;
        ndr_queue *line = new_queue();
        assert_ok(ndr_queue_mark(ndr_after(line, gates[0], gates[1]), &done));
        assert_ok(ndr_launch(line, add_one, ndr_range_1d(INTS), x));
        assert_ok(ndr_event_fail(gates[0], NDR_NOT_FOUND, "first"));
        if (round % 2) assert_refused(NDR_TIMEOUT, ndr_event_wait_within(gates[1], 0), "has not ended");
        ndr_event_destroy(done);
        ndr_queue_destroy(line);
        if (round % 4 < 2) assert_ok(ndr_event_fail(gates[1], NDR_NOT_FOUND, "second"));
        else assert_ok(ndr_event_complete(gates[1]));
        for (int i = 0; i < 2; ++i) ndr_event_destroy(gates[i]);
    }
    assert_ok(ndr_queue_finish(queue));
}

/* PoCL 3.1 accesses the event of a barrier each time that work before the barrier fails, though the first failure has
 * ended it. Ended events are dropped when the queue has got some more. */
static void test_order__a_barrier_out_of_order_outlives_two_failures(void **state)
{
    skip_for_fault(driver_completes_failed_work(), "it crashes when two events of one wait list fail");
    for (int round = 0; round < 10; ++round) {
        ndr_queue *line = new_unordered();
        skip_without(line, "the device has no out-of-order queues");
        ndr_event *gates[] = { new_gate(), new_gate() }, *behind;
        for (int i = 0; i < 2; ++i) assert_ok(ndr_launch(ndr_after(line, gates[i]), add_one, ndr_range_1d(INTS), x));
        assert_ok(ndr_queue_barrier(line, NULL));
        assert_ok(ndr_event_fail(gates[0], NDR_NOT_FOUND, "first"));
        assert_refused(NDR_NOT_FOUND, ndr_event_wait(gates[0]), "first"); /* it may fail later, after the second */
        for (int i = 0; i < 50; ++i) {
            assert_ok(ndr_launch_event(line, add_one, &behind, ndr_range_1d(INTS), y));
            ndr_event_destroy(behind);
        }
        assert_ok(ndr_event_fail(gates[1], NDR_NOT_FOUND, "second"));
        assert_refused(NDR_NOT_FOUND, ndr_queue_finish(line), "first");
        for (int i = 0; i < 2; ++i) ndr_event_destroy(gates[i]);
        ndr_queue_destroy(line);
    }
}

/* In an in-order queue the second command fails before the first one has run. What is enqueued then waits for the first
 * one all the same, which PoCL forgets. */
static void test_order__what_failed_early_lets_nothing_overtake(void **state)
{
    enum { POLLS = 2000 };
    ndr_queue *line = new_queue();
    ndr_event *gates[] = { new_gate(), new_gate() }, *first, *second, *third;
    clear(x);
    clear(y);
    assert_ok(ndr_launch_event(ndr_after(line, gates[0]), add_one, &first, ndr_range_1d(INTS), x));
    assert_ok(ndr_queue_mark(ndr_after(line, gates[1]), &second));
    assert_ok(ndr_event_fail(gates[1], NDR_NOT_FOUND, "lost"));
    assert_refused(NDR_NOT_FOUND, ndr_event_wait_within(gates[1], NDR_FOREVER), "lost");
    assert_ok(ndr_buffer_copy(line, x, 0, y, 0, BYTES, &third));
    for (int i = 0; i < POLLS; ++i) assert_int_not_equal(state_of(third), NDR_EVENT_COMPLETE);
    assert_ok(ndr_event_complete(gates[0]));
    const ndr_status status = ndr_event_wait(third); /* whether it runs is the driver's choice */
    if (status == NDR_OK) assert_int_equal(first_of(y), 1);
    ndr_event *const all[] = { gates[0], gates[1], first, second, third };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) ndr_event_destroy(all[i]);
    ndr_queue_destroy(line);
}

/* The third command of `line` waits for the first, though the second has failed. So it is not under way when the first
 * one's event fails, and this failure does not wait for it. */
static void test_order__a_failure_does_not_wait_for_what_waits_for_it(void **state)
{
    skip_for_fault(driver_completes_failed_work(), "it crashes when two events of one wait list fail");
    ndr_queue *line = new_queue(), *other = new_queue();
    ndr_event *gates[] = { new_gate(), new_gate() }, *first, *second, *third, *behind;
    assert_ok(ndr_queue_barrier(ndr_after(line, gates[0]), &first));
    assert_ok(ndr_queue_mark(ndr_after(line, gates[1]), &second));
    assert_ok(ndr_event_fail(gates[1], NDR_NOT_FOUND, "second"));
    assert_ok(ndr_queue_mark(line, &third));
    assert_ok(ndr_queue_mark(ndr_after(other, first, third), &behind));
    assert_ok(ndr_event_fail(gates[0], NDR_NOT_FOUND, "first"));
    assert_refused(NDR_NOT_FOUND, ndr_event_wait_within(behind, UINT64_C(20000000000)), "first");
    ndr_event *const all[] = { gates[0], gates[1], first, second, third, behind };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) ndr_event_destroy(all[i]);
    ndr_queue_destroy(line);
    ndr_queue_destroy(other);
}

/* ---- memory ---- */

/* Events are let go while the work goes on: a long chain, and a queue full of commands that wait. */
static void test_order__keeps_no_events_of_work_that_has_ended(void **state)
{
    enum { STEPS = 5000 };
    ndr_event *last = NULL;
    ndr_queue *line = new_queue();
    ndr_buffer *counter; /* of its own: launches of the test before, whose queue is gone, may still run */
    assert_ok(ndr_buffer_create_from(context, BYTES, zeros, &counter));
    for (int i = 0; i < STEPS; ++i) {
        ndr_event *done;
        assert_ok(ndr_launch_event(ndr_after(line, last), add_one, &done, ndr_range_1d(INTS), counter));
        ndr_event_destroy(last);
        last = done;
    }
    /* Mesa 22.3 may report the last events as running for a while after the queue has been finished. */
    enum { TRIES = 10000 };
    for (int i = 0; i == 0 || (i < TRIES && atomic_load(&line->tracked_count) > 0); ++i)
        assert_ok(ndr_queue_finish(line));
    assert_int_equal(atomic_load(&line->tracked_count), 0);
    assert_null(line->tracked);
    assert_int_equal(last->wait_count, 0);
    assert_int_equal(atomic_load(&last->references), 1);
    assert_int_equal(first_of(counter), STEPS);
    ndr_buffer_destroy(counter);
    ndr_event_destroy(last);
    ndr_queue_destroy(line);
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    fclose(file);
    return pages * 4;
}

/* A third without anything, a third with an event, a third after the one before. */
static void launch_many(ndr_queue *line, long count)
{
    ndr_event *last = NULL;
    for (long i = 0; i < count; ++i) {
        ndr_event *done = NULL;
        if (i % 3 == 0) assert_ok(ndr_launch(line, add_one, ndr_range_1d(INTS), x));
        else if (i % 3 == 1) assert_ok(ndr_launch_event(line, add_one, &done, ndr_range_1d(INTS), x));
        else assert_ok(ndr_launch_event(ndr_after(line, last), add_one, &done, ndr_range_1d(INTS), x));
        ndr_event_destroy(last);
        last = done;
        if (i % 1024 == 0) assert_ok(ndr_queue_finish(line));
    }
    ndr_event_destroy(last);
    assert_ok(ndr_queue_finish(line));
}

/* A leak grows in every turn; what a driver or malloc() keeps for later is there after a few. A turn that grows by at
 * most ALLOWED_KIB shows that no launch leaks 16 bytes. */
enum { LAUNCHES_A_TURN = 10000, TURNS = 12 };
#ifdef __SANITIZE_ADDRESS__
enum { ALLOWED_KIB = 400 * 1024 }; /* freed memory is kept for a while; LeakSanitizer looks for leaks */
#else
enum { ALLOWED_KIB = LAUNCHES_A_TURN * 16 / 1024 };
#endif

static void test_order__many_launches_take_constant_memory(void **state)
{
    const char *is_long = getenv("NDR_TEST_LONG");
    const long count = is_long && *is_long ? 100 * LAUNCHES_A_TURN : LAUNCHES_A_TURN;
    ndr_queue *line = new_queue();
    launch_many(line, count);
    long grown = LONG_MAX;
    for (int turn = 0; turn < TURNS && grown > ALLOWED_KIB; ++turn) {
        const long before = resident_kib();
        launch_many(line, count);
        grown = resident_kib() - before;
        print_message("%ld launches: %ld KiB more resident\n", count, grown);
    }
    ndr_queue_destroy(line);
    assert_true(grown <= ALLOWED_KIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order__each_command_waits_for_its_events),
        cmocka_unit_test(test_order__each_command_fails_with_the_first_cause),
        cmocka_unit_test(test_order__blocking_calls_wait_and_fail_too),
        cmocka_unit_test(test_order__takes_lists_of_every_length),
        cmocka_unit_test(test_order__an_event_named_twice_is_listed_once),
        cmocka_unit_test(test_order__waits_for_work_of_a_destroyed_queue),
        cmocka_unit_test(test_order__finds_work_of_a_destroyed_queue_that_has_to_end_before_a_failure),
        cmocka_unit_test(test_order__events_of_nothing_are_complete),
        cmocka_unit_test(test_order__spans_queues_that_were_not_flushed),
        cmocka_unit_test(test_order__refuses_what_is_not_right),
        cmocka_unit_test(test_order__runs_a_diamond),
        cmocka_unit_test(test_order__out_of_order_starts_what_waits_for_nothing),
        cmocka_unit_test(test_order__a_barrier_holds_back_what_comes_later),
        cmocka_unit_test(test_order__marks_and_tasks_out_of_order_fail_only_with_their_events),
        cmocka_unit_test(test_order__a_barrier_after_ended_events_waits_for_no_other_work),
        cmocka_unit_test(test_order__a_mapping_behind_an_unmapping_shows_what_the_host_wrote),
        cmocka_unit_test(test_order__tells_the_drivers_first_code),
        cmocka_unit_test(test_order__finish_reports_a_launch_that_clfinish_does_not),
        cmocka_unit_test(test_order__names_the_kernel_that_failed_first),
        cmocka_unit_test(test_order__user_events_end_once),
        cmocka_unit_test(test_order__a_user_event_destroyed_early_fails),
        cmocka_unit_test(test_order__a_second_event_may_fail_after_all_is_gone),
        cmocka_unit_test(test_order__a_barrier_out_of_order_outlives_two_failures),
        cmocka_unit_test(test_order__what_failed_early_lets_nothing_overtake),
        cmocka_unit_test(test_order__a_failure_does_not_wait_for_what_waits_for_it),
        cmocka_unit_test(test_order__keeps_no_events_of_work_that_has_ended),
        cmocka_unit_test(test_order__many_launches_take_constant_memory),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
