/* test_wait.c - how the host waits: spinning first, or asleep at once. */
#include "support.h"

#include "device/context.h"
#include "device/queue.h"
#include "device/wait.h"

/* A context and a queue whose `wait_sleeps` and `spin_ns` the test chooses. */
typedef struct waiting {
    ndr_context *context;
    ndr_queue *queue;
} waiting;

static waiting begin(bool wait_sleeps, int64_t spin_ns)
{
    waiting w;
    assert_ok(ndr_context_create(NULL, &w.context));
    w.context->caps.wait_sleeps = wait_sleeps;
    assert_ok(ndr_queue_create(w.context, &(ndr_queue_desc){ .spin_ns = spin_ns }, &w.queue));
    return w;
}

static void end(waiting w)
{
    ndr_queue_destroy(w.queue);
    ndr_context_destroy(w.context);
}

/* An event that ends when the test sets its status. */
static cl_event user_event(const waiting *w)
{
    cl_int error;
    cl_event event = clCreateUserEvent(w->context->cl, &error);
    assert_int_equal(error, CL_SUCCESS);
    return event;
}

static unsigned skips_of(const waiting *w) { return atomic_load(&w->context->spin_backoff.skips); }
static unsigned left_of(const waiting *w) { return atomic_load(&w->context->spin_backoff.left); }

/* ---- the default: spinning with backoff ---- */

static void test_wait__spins_each_time_while_work_ends_soon(void **state)
{
    waiting w = begin(true, 0);
    cl_event event = user_event(&w);
    assert_int_equal(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
    for (int i = 0; i < 10; ++i) {
        ndr_spin_on_event(w.context, 0, event);
        assert_int_equal(skips_of(&w), 0);
        assert_int_equal(left_of(&w), 0);
    }
    clReleaseEvent(event);
    end(w);
}

static void test_wait__spins_less_and_less_often_on_work_that_does_not_end(void **state)
{
    waiting w = begin(true, 0);
    cl_event event = user_event(&w);
    for (unsigned spin = 1; spin <= 12; ++spin) {
        const unsigned skips = spin < 10 ? (1u << spin) - 1 : 1023;
        ndr_spin_on_event(w.context, 0, event);
        assert_int_equal(skips_of(&w), skips);
        for (unsigned left = skips; left > 0; --left) {
            assert_int_equal(left_of(&w), left);
            ndr_spin_on_event(w.context, 0, event);
        }
        assert_int_equal(left_of(&w), 0);
    }
    assert_int_equal(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
    ndr_spin_on_event(w.context, 0, event);
    assert_int_equal(skips_of(&w), 0); /* work that ends soon resets the backoff */
    assert_int_equal(left_of(&w), 0);
    clReleaseEvent(event);
    end(w);
}

static void test_wait__treats_failed_work_as_ended(void **state)
{
    waiting w = begin(true, 0);
    cl_event event = user_event(&w);
    assert_int_equal(clSetUserEventStatus(event, CL_OUT_OF_RESOURCES), CL_SUCCESS);
    ndr_spin_on_event(w.context, 0, event);
    assert_int_equal(skips_of(&w), 0);
    clReleaseEvent(event);
    end(w);
}

static void test_wait__does_not_spin_on_other_devices(void **state)
{
    waiting w = begin(false, 0);
    cl_event event = user_event(&w);
    ndr_spin_on_event(w.context, 0, event);
    assert_int_equal(skips_of(&w), 0);
    assert_false(ndr_queue_wants_last_event(w.queue));
    assert_int_equal(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
    clReleaseEvent(event);
    end(w);
}

static void test_wait__sleeps_on_cpus_only(void **state)
{
    if (device.type != NDR_DEVICE_TYPE_CPU) assert_false(context->caps.wait_sleeps);
    char words[1 << 14] = { 0 };
    (void)clGetDeviceInfo(context->device, CL_DEVICE_EXTENSIONS, sizeof words - 1, words, NULL);
    const bool helps = strstr(words, "cl_intel_exec_by_local_thread") != NULL;
    assert_int_equal(context->caps.wait_sleeps, device.type == NDR_DEVICE_TYPE_CPU && !helps);
}

/* ---- the event that a queue keeps ---- */

static void launch(const waiting *w, ndr_buffer *x, int times)
{
    ndr_kernel *add_one;
    const ndr_kernel_desc desc = { .name = "add_one", .source = plain_kernels };
    assert_ok(ndr_kernel_get(w->context, &desc, &add_one));
    for (int i = 0; i < times; ++i) assert_ok(ndr_launch(w->queue, add_one, ndr_range_1d(3), x));
}

static void test_wait__keeps_the_event_of_the_last_of_a_few_launches(void **state)
{
    skip_where_launches_are_waited_for(); /* in that case the queue keeps no event */
    waiting w = begin(true, 0);
    const int zeros[3] = { 0 };
    ndr_buffer *x;
    assert_ok(ndr_buffer_create_from(w.context, sizeof zeros, zeros, &x));
    cl_event before = NULL;
    for (unsigned i = 1; i <= 4; ++i) {
        launch(&w, x, 1);
        assert_non_null(atomic_load(&w.queue->last));
        assert_ptr_not_equal(atomic_load(&w.queue->last), before);
        before = atomic_load(&w.queue->last);
        assert_int_equal(atomic_load(&w.queue->launches), i);
    }
    launch(&w, x, 10);
    assert_ptr_equal(atomic_load(&w.queue->last), before);
    assert_int_equal(atomic_load(&w.queue->launches), 5);
    assert_ok(ndr_queue_finish(w.queue));
    assert_null(atomic_load(&w.queue->last));
    assert_int_equal(atomic_load(&w.queue->launches), 0);
    launch(&w, x, 1); /* destroying the queue releases its event */
    ndr_buffer_destroy(x);
    end(w);
}

/* ---- ndr_queue_desc.spin_ns ---- */

/* The OpenCL calls that libndr makes while it waits. */
static struct {
    unsigned polls, flushes;   /* calls of clGetEventInfo and clFlush so far */
    unsigned pending;          /* how many more polls report the work as running, whatever the driver reports */
    unsigned polls_before_wait; /* polls before the driver's wait was called */
    bool waited;
} seen;

static ndr_cl_functions real;

static CL_API_ENTRY cl_int CL_API_CALL poll_event(cl_event event, cl_event_info what, size_t bytes, void *out, size_t *size)
{
    const cl_int error = real.clGetEventInfo(event, what, bytes, out, size);
    ++seen.polls;
    if (seen.pending > 0 && error == CL_SUCCESS) {
        --seen.pending;
        *(cl_int *)out = CL_RUNNING;
    }
    return error;
}

static CL_API_ENTRY cl_int CL_API_CALL flush_queue(cl_command_queue cl)
{
    ++seen.flushes;
    return real.clFlush(cl);
}

static void note_wait(void)
{
    if (!seen.waited) seen.polls_before_wait = seen.polls;
    seen.waited = true;
}

static CL_API_ENTRY cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *events)
{
    note_wait();
    return real.clWaitForEvents(count, events);
}

static CL_API_ENTRY cl_int CL_API_CALL finish_queue(cl_command_queue cl)
{
    note_wait();
    return real.clFinish(cl);
}

static CL_API_ENTRY cl_int CL_API_CALL read_and_wait(cl_command_queue cl, cl_mem from, cl_bool blocks, size_t offset,
                                                     size_t bytes, void *to, cl_uint count, const cl_event *events,
                                                     cl_event *done)
{
    if (blocks) note_wait();
    return real.clEnqueueReadBuffer(cl, from, blocks, offset, bytes, to, count, events, done);
}

/* A launch, then one of the waits: ndr_event_wait, ndr_queue_finish, ndr_buffer_read. The first `pending` polls find
 * the work running. */
static void watch_wait(const waiting *w, int which, unsigned pending)
{
    int32_t x[3] = { 1, 2, 3 };
    ndr_kernel *add_one;
    const ndr_kernel_desc desc = { .name = "add_one", .source = plain_kernels };
    ndr_buffer *buffer;
    ndr_event *done;
    assert_ok(ndr_kernel_get(w->context, &desc, &add_one));
    assert_ok(ndr_buffer_create_from(w->context, sizeof x, x, &buffer));
    assert_ok(ndr_launch_event(w->queue, add_one, &done, ndr_range_1d(3), buffer));
    real = ndr_cl;
    memset(&seen, 0, sizeof seen);
    seen.pending = pending;
    ndr_cl.clGetEventInfo = poll_event;
    ndr_cl.clFlush = flush_queue;
    ndr_cl.clWaitForEvents = wait_for_events;
    ndr_cl.clFinish = finish_queue;
    ndr_cl.clEnqueueReadBuffer = read_and_wait;
    const ndr_status status = which == 0   ? ndr_event_wait(done)
                              : which == 1 ? ndr_queue_finish(w->queue)
                                           : ndr_buffer_read(w->queue, buffer, 0, sizeof x, x, NULL);
    ndr_cl = real;
    assert_ok(status);
    assert_true(seen.waited);
    ndr_event_destroy(done);
    assert_ok(ndr_buffer_read(w->queue, buffer, 0, sizeof x, x, NULL));
    for (int i = 0; i < 3; ++i) assert_int_equal(x[i], i + 2);
    ndr_buffer_destroy(buffer);
}

static void test_wait__with_spin_ns_below_0_never_polls(void **state)
{
    skip_where_launches_are_waited_for(); /* checking reads the state of events */
    const int64_t times[] = { -1, INT64_MIN };
    for (int i = 0; i < 2; ++i) {
        waiting w = begin(true, times[i]);
        for (int which = 0; which < 3; ++which) {
            watch_wait(&w, which, 0);
            assert_int_equal(seen.polls_before_wait, 0);
            assert_int_equal(seen.flushes, 0);
        }
        assert_null(atomic_load(&w.queue->last));
        end(w);
    }
}

static void test_wait__with_spin_ns_polls_on_every_device_until_the_work_ends(void **state)
{
    skip_where_launches_are_waited_for();
    enum { RUNNING = 1000 };
    for (int wait_sleeps = 0; wait_sleeps <= 1; ++wait_sleeps) {
        waiting w = begin(wait_sleeps, INT64_MAX);
        for (int which = 0; which < 3; ++which) {
            watch_wait(&w, which, RUNNING);
            assert_true(seen.polls_before_wait > RUNNING);
            assert_int_equal(seen.pending, 0);
            assert_int_equal(seen.flushes, 1); /* polling submits nothing */
        }
        end(w);
    }
}

static void test_wait__with_spin_ns_has_a_limit_and_no_backoff(void **state)
{
    waiting w = begin(true, 1);
    const cl_event event = user_event(&w);
    real = ndr_cl;
    memset(&seen, 0, sizeof seen);
    ndr_cl.clGetEventInfo = poll_event;
    for (unsigned i = 0; i < 10; ++i) { /* each returns, although the event never ends */
        const unsigned before = seen.polls;
        ndr_spin_on_event(w.context, 1, event);
        if (seen.polls == before) break;
    }
    const unsigned polls = seen.polls;
    ndr_cl = real;
    assert_true(polls >= 10);
    assert_int_equal(skips_of(&w), 0);
    assert_int_equal(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
    clReleaseEvent(event);
    end(w);
}

static void test_wait__with_spin_ns_keeps_the_event_of_each_launch(void **state)
{
    skip_where_launches_are_waited_for();
    waiting w = begin(false, INT64_MAX);
    const int zeros[3] = { 0 };
    ndr_buffer *x;
    assert_ok(ndr_buffer_create_from(w.context, sizeof zeros, zeros, &x));
    launch(&w, x, 20);
    const cl_event before = atomic_load(&w.queue->last);
    assert_non_null(before);
    launch(&w, x, 1);
    assert_non_null(atomic_load(&w.queue->last));
    assert_ptr_not_equal(atomic_load(&w.queue->last), before);
    assert_ok(ndr_queue_finish(w.queue));
    assert_null(atomic_load(&w.queue->last));
    ndr_buffer_destroy(x);
    end(w);
}

/* The event flushes the queue before it polls, so it holds a reference. */
static void test_wait__with_spin_ns_is_possible_after_the_queue_is_destroyed(void **state)
{
    waiting w = begin(false, INT64_MAX);
    ndr_event *mark;
    assert_ok(ndr_queue_mark(w.queue, &mark));
    ndr_queue_destroy(w.queue);
    assert_ok(ndr_event_wait(mark));
    ndr_event_destroy(mark);
    ndr_context_destroy(w.context);
}

/* ---- results ---- */

static void check_results(bool wait_sleeps, int64_t spin_ns)
{
    waiting w = begin(wait_sleeps, spin_ns);
    enum { N = 3 };
    int host[N];
    ndr_buffer *x;
    assert_ok(ndr_buffer_create(w.context, sizeof host, &x));
    for (int times = 0; times < 8; ++times) {
        for (int i = 0; i < N; ++i) host[i] = 10 * i;
        assert_ok(ndr_buffer_write(w.queue, x, 0, sizeof host, host, NULL));
        memset(host, -1, sizeof host); /* the write has already read it */
        launch(&w, x, times);
        if (times % 2) assert_ok(ndr_queue_finish(w.queue));
        assert_ok(ndr_buffer_read(w.queue, x, 0, sizeof host, host, NULL));
        for (int i = 0; i < N; ++i) assert_int_equal(host[i], 10 * i + times);
        launch(&w, x, 1);
        int *mapped;
        assert_ok(ndr_buffer_map(w.queue, x, NDR_MAP_READ, 0, sizeof host, (void **)&mapped));
        for (int i = 0; i < N; ++i) assert_int_equal(mapped[i], 10 * i + times + 1);
        assert_ok(ndr_buffer_unmap(w.queue, x, mapped, NULL));
    }
    assert_ok(ndr_buffer_read(w.queue, x, 0, 0, host, NULL));
    assert_ok(ndr_buffer_write(w.queue, x, 0, 0, host, NULL));
    ndr_buffer_destroy(x);
    end(w);
}

static void test_wait__gives_results_after_spinning(void **state)
{
    check_results(true, 0);
}

static void test_wait__gives_results_without_spinning(void **state)
{
    check_results(false, 0);
}

static void test_wait__gives_results_with_spin_ns(void **state)
{
    check_results(false, 100);
    check_results(true, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait__spins_each_time_while_work_ends_soon),
        cmocka_unit_test(test_wait__spins_less_and_less_often_on_work_that_does_not_end),
        cmocka_unit_test(test_wait__treats_failed_work_as_ended),
        cmocka_unit_test(test_wait__does_not_spin_on_other_devices),
        cmocka_unit_test(test_wait__sleeps_on_cpus_only),
        cmocka_unit_test(test_wait__keeps_the_event_of_the_last_of_a_few_launches),
        cmocka_unit_test(test_wait__with_spin_ns_below_0_never_polls),
        cmocka_unit_test(test_wait__with_spin_ns_polls_on_every_device_until_the_work_ends),
        cmocka_unit_test(test_wait__with_spin_ns_has_a_limit_and_no_backoff),
        cmocka_unit_test(test_wait__with_spin_ns_keeps_the_event_of_each_launch),
        cmocka_unit_test(test_wait__with_spin_ns_is_possible_after_the_queue_is_destroyed),
        cmocka_unit_test(test_wait__gives_results_after_spinning),
        cmocka_unit_test(test_wait__gives_results_without_spinning),
        cmocka_unit_test(test_wait__gives_results_with_spin_ns),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
