/* test_wait.c - how the host waits: looking first, or asleep at once. */
#include "support.h"

#include "device/device.h"

/* A context of its own, of which it is said whether a waiting thread sleeps. */
typedef struct waiting {
    ndr_context *context;
    ndr_queue *queue;
} waiting;

static waiting begin(bool wait_sleeps)
{
    waiting w;
    assert_ok(ndr_context_create(NULL, &w.context));
    w.context->caps.wait_sleeps = wait_sleeps;
    assert_ok(ndr_queue_create(w.context, NULL, &w.queue));
    return w;
}

static void end(waiting w)
{
    ndr_queue_destroy(w.queue);
    ndr_context_destroy(w.context);
}

/* An event that is there when the test says so. */
static cl_event event_of(const waiting *w)
{
    cl_int error;
    cl_event event = clCreateUserEvent(w->context->cl, &error);
    assert_int_equal(error, CL_SUCCESS);
    return event;
}

static unsigned pause_of(const waiting *w) { return atomic_load(&w->context->spin_backoff.skips); }
static unsigned left_of(const waiting *w) { return atomic_load(&w->context->spin_backoff.left); }

/* ---- looking ---- */

static void test_wait__looks_each_time_while_work_ends_soon(void **state)
{
    (void)state;
    waiting w = begin(true);
    cl_event event = event_of(&w);
    assert_int_equal(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
    for (int i = 0; i < 10; ++i) {
        ndr_spin_on_event(w.context, event);
        assert_int_equal(pause_of(&w), 0);
        assert_int_equal(left_of(&w), 0);
    }
    clReleaseEvent(event);
    end(w);
}

static void test_wait__looks_less_and_less_often_at_work_that_does_not_end(void **state)
{
    (void)state;
    waiting w = begin(true);
    cl_event event = event_of(&w);
    for (unsigned look = 1; look <= 12; ++look) {
        const unsigned pause = look < 10 ? (1u << look) - 1 : 1023;
        ndr_spin_on_event(w.context, event);
        assert_int_equal(pause_of(&w), pause);
        for (unsigned left = pause; left > 0; --left) {
            assert_int_equal(left_of(&w), left);
            ndr_spin_on_event(w.context, event);
        }
        assert_int_equal(left_of(&w), 0);
    }
    assert_int_equal(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
    ndr_spin_on_event(w.context, event);
    assert_int_equal(pause_of(&w), 0); /* and at once again when it does */
    assert_int_equal(left_of(&w), 0);
    clReleaseEvent(event);
    end(w);
}

static void test_wait__takes_work_that_failed_for_ended(void **state)
{
    (void)state;
    waiting w = begin(true);
    cl_event event = event_of(&w);
    assert_int_equal(clSetUserEventStatus(event, CL_OUT_OF_RESOURCES), CL_SUCCESS);
    ndr_spin_on_event(w.context, event);
    assert_int_equal(pause_of(&w), 0);
    clReleaseEvent(event);
    end(w);
}

static void test_wait__leaves_other_devices_alone(void **state)
{
    (void)state;
    waiting w = begin(false);
    cl_event event = event_of(&w);
    ndr_spin_on_event(w.context, event);
    assert_int_equal(pause_of(&w), 0);
    assert_false(ndr_queue_wants_last_event(w.queue));
    assert_int_equal(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
    clReleaseEvent(event);
    end(w);
}

static void test_wait__is_asleep_on_cpus_only(void **state)
{
    (void)state;
    if (device.type != NDR_DEVICE_TYPE_CPU) assert_false(context->caps.wait_sleeps);
    char words[1 << 14] = { 0 };
    (void)clGetDeviceInfo(context->device, CL_DEVICE_EXTENSIONS, sizeof words - 1, words, NULL);
    const bool helps = strstr(words, "cl_intel_exec_by_local_thread") != NULL;
    assert_int_equal(context->caps.wait_sleeps, device.type == NDR_DEVICE_TYPE_CPU && !helps);
}

/* ---- what a queue keeps to look at ---- */

static void launch(const waiting *w, ndr_buffer *x, int times)
{
    ndr_kernel *add_one;
    const ndr_kernel_desc desc = { .name = "add_one", .source = plain_kernels };
    assert_ok(ndr_kernel_get(w->context, &desc, &add_one));
    for (int i = 0; i < times; ++i) assert_ok(ndr_launch(w->queue, add_one, ndr_range_1d(3), x));
}

static void test_wait__keeps_the_last_of_a_few_launches(void **state)
{
    (void)state;
    skip_where_launches_are_waited_for(); /* and leaves nothing to keep */
    waiting w = begin(true);
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
    launch(&w, x, 1); /* what is kept when the queue goes is let go of */
    ndr_buffer_destroy(x);
    end(w);
}

/* ---- the results are there, whichever way ---- */

static void check_results(bool wait_sleeps)
{
    waiting w = begin(wait_sleeps);
    enum { N = 3 };
    int host[N];
    ndr_buffer *x;
    assert_ok(ndr_buffer_create(w.context, sizeof host, &x));
    for (int times = 0; times < 8; ++times) {
        for (int i = 0; i < N; ++i) host[i] = 10 * i;
        assert_ok(ndr_buffer_write(w.queue, x, 0, sizeof host, host));
        memset(host, -1, sizeof host); /* it has been read already */
        launch(&w, x, times);
        if (times % 2) assert_ok(ndr_queue_finish(w.queue));
        assert_ok(ndr_buffer_read(w.queue, x, 0, sizeof host, host));
        for (int i = 0; i < N; ++i) assert_int_equal(host[i], 10 * i + times);
        launch(&w, x, 1);
        int *mapped;
        assert_ok(ndr_buffer_map(w.queue, x, NDR_MAP_READ, 0, sizeof host, (void **)&mapped));
        for (int i = 0; i < N; ++i) assert_int_equal(mapped[i], 10 * i + times + 1);
        assert_ok(ndr_buffer_unmap(w.queue, x, mapped));
    }
    assert_ok(ndr_buffer_read(w.queue, x, 0, 0, host));
    assert_ok(ndr_buffer_write(w.queue, x, 0, 0, host));
    ndr_buffer_destroy(x);
    end(w);
}

static void test_wait__brings_results_after_looking(void **state)
{
    (void)state;
    check_results(true);
}

static void test_wait__brings_results_without_looking(void **state)
{
    (void)state;
    check_results(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait__looks_each_time_while_work_ends_soon),
        cmocka_unit_test(test_wait__looks_less_and_less_often_at_work_that_does_not_end),
        cmocka_unit_test(test_wait__takes_work_that_failed_for_ended),
        cmocka_unit_test(test_wait__leaves_other_devices_alone),
        cmocka_unit_test(test_wait__is_asleep_on_cpus_only),
        cmocka_unit_test(test_wait__keeps_the_last_of_a_few_launches),
        cmocka_unit_test(test_wait__brings_results_after_looking),
        cmocka_unit_test(test_wait__brings_results_without_looking),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
