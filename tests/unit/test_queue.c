/* test_queue.c - queues: commands run one after the other; marks. */
#include "support.h"

#include "ndr/ndr_shared.h"

#include "device/clock.h"
#include "device/context.h"
#include "device/queue.h"
#include "device/wait.h"
#include "launch/launch.h"

/* The faults with which threads take turns. */
static const uint64_t in_turn = NDR_QUIRK_BIT(NDR_QUIRK_WAIT_RUNS_COMMANDS) | NDR_QUIRK_BIT(NDR_QUIRK_ENQUEUE_RACES);

static void test_queue__is_made_with_defaults(void **state)
{
    ndr_queue *line;
    assert_ok(ndr_queue_create(context, NULL, &line));
    assert_ok(ndr_queue_finish(line));
    ndr_queue_destroy(line);
    assert_ok(ndr_queue_create(context, &(ndr_queue_desc){ 0 }, &line));
    assert_ok(ndr_queue_finish(line));
    ndr_queue_destroy(line);
}

static void test_queue__is_in_order(void **state)
{
    cl_command_queue_properties properties = 0;
    assert_int_equal(
        clGetCommandQueueInfo(queue->cl, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL),
        CL_SUCCESS);
    assert_false(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    assert_true(properties & CL_QUEUE_PROFILING_ENABLE);
}

static void test_queue__refuses_null(void **state)
{
    ndr_queue *line = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_create(NULL, NULL, &line), "ndr_queue_create",
                   "context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_create(context, NULL, NULL), "ndr_queue_create",
                   "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_flush(NULL), "ndr_queue_flush", "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_finish(NULL), "ndr_queue_finish", "queue is NULL");
    uint64_t time_ns = 7;
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_finish_timed(NULL, &time_ns), "ndr_queue_finish_timed: queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_finish_timed(queue, NULL), "ndr_queue_finish_timed: time_ns is NULL");
    assert_int_equal(time_ns, 7);
    ndr_event *mark = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_mark(NULL, &mark), "ndr_queue_mark", "queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_mark(NULL, NULL), "ndr_queue_mark", "queue is NULL");
    assert_null(mark);
    assert_null(line);
}

static void test_queue__destroy_takes_null(void **state)
{
    ndr_queue_destroy(NULL);
}

static void test_queue__with_nothing_in_it_finishes(void **state)
{
    assert_ok(ndr_queue_flush(queue));
    assert_ok(ndr_queue_finish(queue));
    assert_ok(ndr_queue_finish(queue));
}

static void test_queue__runs_each_piece_after_the_one_before(void **state)
{
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one");
    const int start[3] = { 10, 20, 30 };
    int out[3];
    ndr_event *written;
    ndr_buffer *x = buffer_of(sizeof start, NULL);
    assert_ok(ndr_buffer_write(queue, x, 0, sizeof start, start, &written));
    ndr_event_destroy(written);
    for (int i = 0; i < 50; ++i) assert_ok(ndr_launch(queue, add_one, ndr_range_1d(3), x));
    take_buffer(x, out, sizeof out);
    for (int i = 0; i < 3; ++i) assert_int_equal(out[i], start[i] + 50);
}

static void test_queue__flush_hands_work_to_the_device(void **state)
{
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one");
    const int zero = 0;
    ndr_buffer *x = buffer_of(sizeof zero, &zero);
    ndr_event *done;
    ndr_event_state how_far = NDR_EVENT_QUEUED;
    assert_ok(ndr_launch_event(queue, add_one, &done, ndr_range_1d(1), x));
    assert_ok(ndr_queue_flush(queue));
    for (long polls = 0; how_far != NDR_EVENT_COMPLETE && polls < 100000000; ++polls)
        assert_ok(ndr_event_get_state(done, &how_far)); /* no call waits */
    assert_int_equal(how_far, NDR_EVENT_COMPLETE);
    ndr_event_destroy(done);
    ndr_buffer_destroy(x);
}

static void test_queue__finish_waits_for_everything(void **state)
{
    ndr_kernel *spin = kernel_of(plain_kernels, "spin");
    enum { LAUNCHES = 5 };
    int x[64] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    ndr_event *done[LAUNCHES];
    for (int i = 0; i < LAUNCHES; ++i)
        assert_ok(ndr_launch_event(queue, spin, &done[i], ndr_nd_range_1d(64, 16), buffer,
                                   quick() ? 10 : 100000));
    assert_ok(ndr_queue_finish(queue));
    ndr_event_state how_far;
    assert_ok(ndr_event_get_state(done[LAUNCHES - 1], &how_far));
    assert_int_equal(how_far, NDR_EVENT_COMPLETE);
    for (int i = 0; i < LAUNCHES; ++i) {
        assert_ok(ndr_event_wait(done[i])); /* rusticl of Mesa 22.3 updates the earlier events after clFinish() returns */
        assert_ok(ndr_event_get_state(done[i], &how_far));
        assert_int_equal(how_far, NDR_EVENT_COMPLETE);
        ndr_event_destroy(done[i]);
    }
    take_buffer(buffer, x, sizeof x);
    assert_in_range(x[63], LAUNCHES, 2 * LAUNCHES);
}

/* On a queue without profiling. */
static void test_queue__time_is_taken_when_all_work_has_ended(void **state)
{
    ndr_queue *line;
    ndr_event *done;
    ndr_event_state ended;
    uint64_t before, between, after;
    int zeros[64] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof zeros, zeros);
    assert_ok(ndr_queue_create(context, NULL, &line));
    before = (uint64_t)ndr_clock_ns();
    assert_ok(ndr_queue_finish_timed(line, &between));
    assert_in_range(between, before, (uint64_t)ndr_clock_ns());
    assert_ok(ndr_launch_event(line, kernel_of(plain_kernels, "spin"), &done, ndr_nd_range_1d(64, 16), buffer,
                               quick() ? 100 : 1000000));
    assert_ok(ndr_queue_finish_timed(line, &after));
    assert_ok(ndr_event_get_state(done, &ended));
    assert_int_equal(ended, NDR_EVENT_COMPLETE);
    assert_in_range(after, between, (uint64_t)ndr_clock_ns());
    ndr_event_destroy(done);
    ndr_queue_destroy(line);
    ndr_buffer_destroy(buffer);
}

static void test_queue__destroyed_early_still_runs_its_work(void **state)
{
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one");
    ndr_queue *line;
    ndr_event *done;
    int x = 41;
    ndr_buffer *buffer = buffer_of(sizeof x, &x);
    assert_ok(ndr_queue_create(context, NULL, &line));
    assert_ok(ndr_launch_event(line, add_one, &done, ndr_range_1d(1), buffer));
    ndr_queue_destroy(line);
    assert_ok(ndr_event_wait(done));
    ndr_event_destroy(done);
    take_buffer(buffer, &x, sizeof x);
    assert_int_equal(x, 42);
}

static void test_queue__of_the_same_context_sees_what_another_has_finished(void **state)
{
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one");
    ndr_queue *other;
    int x = 0;
    ndr_buffer *buffer = buffer_of(sizeof x, &x);
    assert_ok(ndr_queue_create(context, NULL, &other));
    for (int i = 0; i < 10; ++i) {
        ndr_queue *line = i % 2 ? other : queue;
        assert_ok(ndr_launch(line, add_one, ndr_range_1d(1), buffer));
        assert_ok(ndr_queue_finish(line));
    }
    take_buffer(buffer, &x, sizeof x);
    assert_int_equal(x, 10);
    ndr_queue_destroy(other);
}

/* ---- marks ---- */

static ndr_event_state state_of(ndr_event *event)
{
    ndr_event_state how_far = NDR_EVENT_QUEUED;
    assert_ok(ndr_event_get_state(event, &how_far));
    return how_far;
}

static void test_queue__mark_in_an_empty_queue_completes(void **state)
{
    ndr_queue *line;
    ndr_event *mark;
    assert_ok(ndr_queue_create(context, NULL, &line));
    assert_ok(ndr_queue_mark(line, NULL));
    assert_ok(ndr_queue_mark(line, &mark));
    assert_ok(ndr_event_wait(mark));
    assert_int_equal(state_of(mark), NDR_EVENT_COMPLETE);
    ndr_event_destroy(mark);
    ndr_queue_destroy(line);
}

/* Enqueue a gate, a launch, the mark and a second gate. Open the first gate and wait for the mark while later work is
 * held back. */
static void test_queue__mark_waits_for_what_is_before_and_for_nothing_behind(void **state)
{
    skip_where_launches_are_waited_for();
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one");
    const int zero = 0;
    ndr_buffer *x = buffer_of(sizeof zero, &zero);
    ndr_event *before, *mark, *behind;
    cl_int error[2];
    const cl_event gates[] = { clCreateUserEvent(context->cl, &error[0]), clCreateUserEvent(context->cl, &error[1]) };
    assert_true(error[0] == CL_SUCCESS && error[1] == CL_SUCCESS);
    assert_int_equal(clEnqueueBarrierWithWaitList(queue->cl, 1, &gates[0], NULL), CL_SUCCESS);
    assert_ok(ndr_launch_event(queue, add_one, &before, ndr_range_1d(1), x));
    assert_ok(ndr_queue_mark(queue, &mark));
    assert_int_equal(clEnqueueBarrierWithWaitList(queue->cl, 1, &gates[1], NULL), CL_SUCCESS);
    assert_ok(ndr_launch_event(queue, add_one, &behind, ndr_range_1d(1), x));
    const ndr_event_state at_first = state_of(mark);
    clSetUserEventStatus(gates[0], CL_COMPLETE);
    const ndr_status waited = ndr_event_wait(mark);
    const ndr_event_state held_back = state_of(behind);
    clSetUserEventStatus(gates[1], CL_COMPLETE); /* before anything is asserted: a closed gate would block the next test */
    assert_int_not_equal(at_first, NDR_EVENT_COMPLETE);
    assert_ok(waited);
    assert_int_not_equal(held_back, NDR_EVENT_COMPLETE);
    assert_ok(ndr_event_wait(before));
    assert_ok(ndr_event_wait(behind));
    ndr_event_destroy(before);
    ndr_event_destroy(mark);
    ndr_event_destroy(behind);
    for (int i = 0; i < 2; ++i) clReleaseEvent(gates[i]);
    ndr_buffer_destroy(x);
}

static size_t waits_in_driver;
static __typeof__(clWaitForEvents) *real_wait;
static __typeof__(clFinish) *real_finish;
static __typeof__(clEnqueueReadBuffer) *real_read;

static CL_API_ENTRY cl_int CL_API_CALL count_wait(cl_uint count, const cl_event *list)
{
    ++waits_in_driver;
    return real_wait(count, list);
}

static CL_API_ENTRY cl_int CL_API_CALL count_finish(cl_command_queue line)
{
    ++waits_in_driver;
    return real_finish(line);
}

static CL_API_ENTRY cl_int CL_API_CALL count_read(cl_command_queue line, cl_mem buffer, cl_bool blocks, size_t offset,
                                                  size_t bytes, void *host, cl_uint count, const cl_event *list,
                                                  cl_event *event)
{
    waits_in_driver += blocks;
    return real_read(line, buffer, blocks, offset, bytes, host, count, list, event);
}

static void wait_in_all_ways(ndr_queue *line, ndr_buffer *x)
{
    ndr_event *event;
    int value = 0;
    assert_ok(ndr_buffer_fill(line, x, 0, sizeof value, &(const int){ 7 }, sizeof value, &event));
    assert_ok(ndr_event_wait(event));
    ndr_event_destroy(event);
    assert_ok(ndr_buffer_read(line, x, 0, sizeof value, &value, NULL));
    assert_int_equal(value, 7);
    assert_ok(ndr_queue_finish(line));
    ndr_shared *shared;
    if (ndr_shared_create(context, NDR_SHARED_ANY, sizeof value, &shared) != NDR_OK) return;
    assert_ok(ndr_shared_write(line, shared, 0, sizeof value, &value, NULL));
    ndr_shared_destroy(shared); /* which waits for its users */
}

/* As if another thread waited in the driver. */
static void test_queue__is_polled_while_another_thread_waits_in_the_driver(void **state)
{
    ndr_queue *line, *unordered = NULL;
    ndr_buffer *x = buffer_of(sizeof(int), NULL);
    assert_ok(ndr_queue_create(context, NULL, &line));
    const bool was_in_turn = atomic_exchange(&ndr_waits_in_turn, false);
    const uint64_t quirks = context->caps.quirks;
    context->caps.quirks |= in_turn;
    real_wait = ndr_cl.clWaitForEvents, real_finish = ndr_cl.clFinish, real_read = ndr_cl.clEnqueueReadBuffer;
    ndr_cl.clWaitForEvents = count_wait, ndr_cl.clFinish = count_finish, ndr_cl.clEnqueueReadBuffer = count_read;
    waits_in_driver = 0;
    assert_true(ndr_wait_enter(context)); /* before the context has an out-of-order queue */
    wait_in_all_ways(line, x);
    const size_t ways = waits_in_driver;
    assert_in_range(ways, 3, 6);
    atomic_store(&ndr_waits_in_turn, true);
    wait_in_all_ways(line, x);
    assert_int_equal(waits_in_driver, ways);
    ndr_wait_leave(context);
    wait_in_all_ways(line, x);
    assert_int_equal(waits_in_driver, 2 * ways);
    assert_int_equal(atomic_load(&ndr_waiters), 0);
    ndr_cl.clWaitForEvents = real_wait, ndr_cl.clFinish = real_finish, ndr_cl.clEnqueueReadBuffer = real_read;
    context->caps.quirks = quirks;
    atomic_store(&ndr_waits_in_turn, was_in_turn);
    const ndr_status status = ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &unordered);
    if (status == NDR_OK) assert_int_equal(atomic_load(&ndr_waits_in_turn), ndr_context_has_turns(context));
    ndr_queue_destroy(unordered);
    ndr_queue_destroy(line);
    ndr_buffer_destroy(x);
}

static CL_API_ENTRY cl_int CL_API_CALL refuse_marker(cl_command_queue line, cl_uint count, const cl_event *list,
                                                     cl_event *event)
{
    return CL_OUT_OF_HOST_MEMORY;
}

/* As if another thread waited in the driver. */
static void test_queue__keeps_the_first_failure_if_it_cannot_be_polled(void **state)
{
    __typeof__(clEnqueueMarkerWithWaitList) *real = ndr_cl.clEnqueueMarkerWithWaitList;
    const bool was_in_turn = atomic_exchange(&ndr_waits_in_turn, true);
    const uint64_t quirks = context->caps.quirks;
    context->caps.quirks |= in_turn;
    assert_true(ndr_wait_enter(context));
    ndr_cl.clEnqueueMarkerWithWaitList = refuse_marker;
    const ndr_status status = ndr_queue_end(queue, ndr_fail_with_code(NDR_DRIVER_ERROR, -5, "the first failure"));
    ndr_cl.clEnqueueMarkerWithWaitList = real;
    ndr_wait_leave(context);
    context->caps.quirks = quirks;
    atomic_store(&ndr_waits_in_turn, was_in_turn);
    assert_refused(NDR_DRIVER_ERROR, status, "the first failure", "the work may still be running");
    assert_int_equal(ndr_last_cl_error(), -5);
}

static size_t filled[2], fills;
static __typeof__(clEnqueueFillBuffer) *real_fill;

static CL_API_ENTRY cl_int CL_API_CALL note_fill(cl_command_queue line, cl_mem buffer, const void *pattern,
                                                 size_t pattern_bytes, size_t offset, size_t bytes, cl_uint count,
                                                 const cl_event *list, cl_event *event)
{
    filled[fills++ % 2] = offset;
    return real_fill(line, buffer, pattern, pattern_bytes, offset, bytes, count, list, event);
}

/* Two of them may run at the same time. Without the fault they are markers. */
static void test_queue__marks_behind_events_do_not_write_the_same_byte(void **state)
{
    ndr_queue *unordered;
    ndr_event *before, *marks[4];
    const uint64_t quirks = context->caps.quirks;
    context->caps.quirks |= NDR_QUIRK_BIT(NDR_QUIRK_MARK_WAITS_FOR_ALL);
    const ndr_status made = ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &unordered);
    if (made != NDR_OK) context->caps.quirks = quirks;
    skip_without(made == NDR_OK, "the device has no out-of-order queues");
    assert_ok(ndr_event_create(context, &before));
    assert_ok(ndr_event_complete(before)); /* out of order it stays in the list */
    real_fill = ndr_cl.clEnqueueFillBuffer, ndr_cl.clEnqueueFillBuffer = note_fill, fills = 0;
    for (int i = 0; i < 2; ++i) assert_ok(ndr_queue_mark(ndr_after(unordered, before), &marks[i]));
    context->caps.quirks &= ~NDR_QUIRK_BIT(NDR_QUIRK_MARK_WAITS_FOR_ALL);
    for (int i = 2; i < 4; ++i) assert_ok(ndr_queue_mark(ndr_after(unordered, before), &marks[i]));
    context->caps.quirks = quirks;
    ndr_cl.clEnqueueFillBuffer = real_fill;
    assert_ok(ndr_queue_finish(unordered));
    assert_int_equal(fills, 2);
    assert_int_not_equal(filled[0], filled[1]);
    for (int i = 0; i < 4; ++i) ndr_event_destroy(marks[i]);
    ndr_event_destroy(before);
    ndr_queue_destroy(unordered);
}

static atomic_int enqueuing, most_enqueuing;

/* Without the fill: simulators take commands of one thread only. */
static CL_API_ENTRY cl_int CL_API_CALL yield_and_fill(cl_command_queue line, cl_mem buffer, const void *pattern,
                                                      size_t pattern_bytes, size_t offset, size_t bytes, cl_uint count,
                                                      const cl_event *list, cl_event *event)
{
    const int now = atomic_fetch_add(&enqueuing, 1) + 1;
    if (now > atomic_load(&most_enqueuing)) atomic_store(&most_enqueuing, now);
    for (int i = 0; i < 20; ++i) ndr_thread_yield();
    atomic_fetch_sub(&enqueuing, 1);
    return event ? CL_INVALID_VALUE : CL_SUCCESS;
}

static void *fill_often(void *buffer)
{
    for (int i = 0; i < 50; ++i)
        if (ndr_buffer_fill(queue, buffer, 0, sizeof(int), &(const int){ 7 }, sizeof(int), NULL) != NDR_OK) abort();
    return NULL;
}

/* As if the process had an out-of-order queue of a driver that runs commands on waiting threads. */
static void test_queue__gets_one_command_at_a_time_where_threads_take_turns(void **state)
{
    enum { THREADS = 4 };
    ndr_thread threads[THREADS];
    ndr_buffer *x = buffer_of(sizeof(int), NULL);
    const bool was_in_turn = atomic_exchange(&ndr_waits_in_turn, true);
    const uint64_t quirks = context->caps.quirks;
    context->caps.quirks |= in_turn;
    atomic_store(&most_enqueuing, 0);
    real_fill = ndr_cl.clEnqueueFillBuffer, ndr_cl.clEnqueueFillBuffer = yield_and_fill;
    real_finish = ndr_cl.clFinish, ndr_cl.clFinish = count_finish, waits_in_driver = 0;
    for (int i = 0; i < THREADS; ++i) assert_true(ndr_thread_start(&threads[i], fill_often, x));
    for (int i = 0; i < THREADS; ++i) ndr_thread_join(threads[i]);
    assert_ok(ndr_queue_finish(queue));
    ndr_cl.clEnqueueFillBuffer = real_fill, ndr_cl.clFinish = real_finish;
    context->caps.quirks = quirks;
    atomic_store(&ndr_waits_in_turn, was_in_turn);
    assert_int_equal(atomic_load(&most_enqueuing), 1);
    assert_int_equal(waits_in_driver, 0); /* clFinish() of one thread would meet what another one enqueues */
    ndr_buffer_destroy(x);
}

static __typeof__(clEnqueueWriteBuffer) *real_write;

static CL_API_ENTRY cl_int CL_API_CALL count_write(cl_command_queue line, cl_mem buffer, cl_bool blocks, size_t offset,
                                                   size_t bytes, const void *host, cl_uint count, const cl_event *list,
                                                   cl_event *event)
{
    waits_in_driver += blocks;
    return real_write(line, buffer, blocks, offset, bytes, host, count, list, event);
}

static void ignore_table(const char *text, void *user) { (void)text, (void)user; }

static void launch_checked_and_traced(void)
{
    static const char text[] = "kernel void set(global int *x) { *x = 7; }";
    ndr_context *watched;
    ndr_queue *line;
    ndr_buffer *x;
    ndr_kernel *kernel;
    ndr_event *before;
    assert_ok(ndr_trace_start(&(ndr_trace_desc){ .has_table = true, .callback = ignore_table }));
    assert_ok(ndr_context_create_with(&(ndr_context_desc){ .check = NDR_CHECK_ON }, &watched));
    watched->caps.quirks |= in_turn;
    waits_in_driver = 0;
    assert_ok(ndr_queue_create(watched, NULL, &line));
    assert_ok(ndr_buffer_create(watched, sizeof(int), &x));
    assert_ok(ndr_kernel_get(watched, &(ndr_kernel_desc){ .name = "set", .source = text }, &kernel));
    assert_ok(ndr_launch(line, kernel, ndr_range_1d(1), x));
    assert_true(ndr_clock_map_read(watched).is_known);
    assert_ok(ndr_event_create(watched, &before));
    assert_ok(ndr_buffer_fill(ndr_after(line, before), x, 0, sizeof(int), &(const int){ 7 }, sizeof(int), NULL));
    ndr_buffer_destroy(x);
    ndr_queue_destroy(line);
    ndr_context_destroy(watched);
    assert_ok(ndr_event_complete(before));
    ndr_event_destroy(before); /* ends the context, whose trace waits for the fill */
}

/* As if another thread waited in the driver. */
static void test_queue__of_a_checked_or_traced_context_is_polled_too(void **state)
{
    skip_without(!quick(), "a simulator runs reads only while a thread waits in it");
    __typeof__(clGetDeviceAndHostTimer) *real_timer = ndr_cl.clGetDeviceAndHostTimer;
    const bool was_in_turn = atomic_exchange(&ndr_waits_in_turn, true);
    const uint64_t quirks = context->caps.quirks;
    context->caps.quirks |= in_turn;
    real_wait = ndr_cl.clWaitForEvents, real_finish = ndr_cl.clFinish;
    real_read = ndr_cl.clEnqueueReadBuffer, real_write = ndr_cl.clEnqueueWriteBuffer;
    ndr_cl.clGetDeviceAndHostTimer = NULL; /* clocks are compared by markers */
    ndr_cl.clWaitForEvents = count_wait, ndr_cl.clFinish = count_finish;
    ndr_cl.clEnqueueReadBuffer = count_read, ndr_cl.clEnqueueWriteBuffer = count_write;
    assert_true(ndr_wait_enter(context));
    launch_checked_and_traced();
    ndr_wait_leave(context);
    ndr_cl.clGetDeviceAndHostTimer = real_timer;
    ndr_cl.clWaitForEvents = real_wait, ndr_cl.clFinish = real_finish;
    ndr_cl.clEnqueueReadBuffer = real_read, ndr_cl.clEnqueueWriteBuffer = real_write;
    context->caps.quirks = quirks;
    atomic_store(&ndr_waits_in_turn, was_in_turn);
    assert_int_equal(waits_in_driver, 0);
}

/* A driver without the faults has no turns, whatever queues the process has of others. */
static void test_queue__of_another_driver_takes_no_turns(void **state)
{
    const bool was_in_turn = atomic_exchange(&ndr_waits_in_turn, true);
    const uint64_t quirks = context->caps.quirks;
    context->caps.quirks &= ~in_turn;
    assert_false(ndr_context_takes_turns(context));
    assert_true(ndr_wait_enter(context));
    assert_true(ndr_wait_enter(context));
    assert_int_equal(atomic_load(&ndr_waiters), 0);
    context->caps.quirks |= in_turn;
    assert_true(ndr_context_takes_turns(context));
    context->caps.quirks = quirks;
    atomic_store(&ndr_waits_in_turn, was_in_turn);
}

/* A thread that waits in the driver runs the commands of all contexts. */
static void test_queue__of_one_context_is_polled_while_a_thread_waits_for_another(void **state)
{
    ndr_context *other;
    ndr_queue *unordered;
    assert_ok(ndr_context_create(NULL, &other));
    const bool was_in_turn = atomic_exchange(&ndr_waits_in_turn, false);
    const uint64_t quirks = context->caps.quirks;
    context->caps.quirks = other->caps.quirks = quirks | in_turn;
    const ndr_status made = ndr_queue_create(other, &(ndr_queue_desc){ .is_out_of_order = true }, &unordered);
    if (made == NDR_OK) {
        assert_true(ndr_wait_enter(other));
        assert_false(ndr_wait_enter(context));
        ndr_wait_leave(other);
        ndr_queue_destroy(unordered);
    }
    assert_int_equal(atomic_load(&ndr_waiters), 0);
    context->caps.quirks = quirks;
    atomic_store(&ndr_waits_in_turn, was_in_turn);
    ndr_context_destroy(other);
    skip_without(made == NDR_OK, "the device has no out-of-order queues");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue__is_made_with_defaults),
        cmocka_unit_test(test_queue__is_in_order),
        cmocka_unit_test(test_queue__refuses_null),
        cmocka_unit_test(test_queue__destroy_takes_null),
        cmocka_unit_test(test_queue__with_nothing_in_it_finishes),
        cmocka_unit_test(test_queue__runs_each_piece_after_the_one_before),
        cmocka_unit_test(test_queue__flush_hands_work_to_the_device),
        cmocka_unit_test(test_queue__finish_waits_for_everything),
        cmocka_unit_test(test_queue__time_is_taken_when_all_work_has_ended),
        cmocka_unit_test(test_queue__destroyed_early_still_runs_its_work),
        cmocka_unit_test(test_queue__of_the_same_context_sees_what_another_has_finished),
        cmocka_unit_test(test_queue__mark_in_an_empty_queue_completes),
        cmocka_unit_test(test_queue__mark_waits_for_what_is_before_and_for_nothing_behind),
        cmocka_unit_test(test_queue__is_polled_while_another_thread_waits_in_the_driver),
        cmocka_unit_test(test_queue__keeps_the_first_failure_if_it_cannot_be_polled),
        cmocka_unit_test(test_queue__marks_behind_events_do_not_write_the_same_byte),
        cmocka_unit_test(test_queue__gets_one_command_at_a_time_where_threads_take_turns),
        cmocka_unit_test(test_queue__of_a_checked_or_traced_context_is_polled_too),
        cmocka_unit_test(test_queue__of_one_context_is_polled_while_a_thread_waits_for_another),
        cmocka_unit_test(test_queue__of_another_driver_takes_no_turns),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
