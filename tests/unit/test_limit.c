/* test_limit.c - waits for one event, several, any and a queue, for a limited time. */
#include "support.h"

#include "device/opencl.h"

typedef struct waiting {
    ndr_context *context;
    ndr_queue *queue;
} waiting;

static waiting begin(void)
{
    waiting w;
    assert_ok(ndr_context_create(NULL, &w.context));
    assert_ok(ndr_queue_create(w.context, NULL, &w.queue));
    return w;
}

static void end(waiting w)
{
    ndr_queue_destroy(w.queue);
    ndr_context_destroy(w.context);
}

static void launch(const waiting *w, ndr_buffer *x, int times)
{
    ndr_kernel *add_one;
    const ndr_kernel_desc desc = { .name = "add_one", .source = plain_kernels };
    assert_ok(ndr_kernel_get(w->context, &desc, &add_one));
    for (int i = 0; i < times; ++i) assert_ok(ndr_launch(w->queue, add_one, ndr_range_1d(3), x));
}

static ndr_cl_functions real;
static bool has_waited;

static CL_API_ENTRY cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *events)
{
    has_waited = true;
    return real.clWaitForEvents(count, events);
}

static CL_API_ENTRY cl_int CL_API_CALL finish_queue(cl_command_queue cl)
{
    has_waited = true;
    return real.clFinish(cl);
}

/* What blocks for as long as the work takes is not called before the work has ended. */
static void watch(void)
{
    real = ndr_cl;
    has_waited = false;
    ndr_cl.clWaitForEvents = wait_for_events;
    ndr_cl.clFinish = finish_queue;
}

static ndr_event *new_gate(const waiting *w)
{
    skip_where_launches_are_waited_for();
    ndr_event *gate;
    assert_ok(ndr_event_create(w->context, &gate));
    return gate;
}

static void test_limit__gives_up_and_leaves_all_usable(void **state)
{
    static const uint64_t limits[] = { 0, 1, 1000, 2000000 };
    waiting w = begin();
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; ++i) {
        ndr_event *gate = new_gate(&w), *done;
        assert_ok(ndr_queue_mark(ndr_after(w.queue, gate), &done));
        watch();
        const ndr_status waits[] = { ndr_event_wait_within(done, limits[i]), ndr_event_wait_within(gate, limits[i]),
                                     ndr_queue_finish_within(w.queue, limits[i]) };
        ndr_cl = real;
        assert_false(has_waited);
        for (int k = 0; k < 3; ++k) assert_int_equal(waits[k], NDR_TIMEOUT);
        assert_refused(NDR_TIMEOUT, ndr_event_wait_within(done, limits[i]),
                       "ndr_event_wait_within: the work has not ended within", "it continues: wait again, or look for a kernel that does not end, or an event "
                       "of ndr_event_create() that nobody ends");
        assert_refused(NDR_TIMEOUT, ndr_queue_finish_within(w.queue, limits[i]),
                       "ndr_queue_finish_within: the work has not ended within", "it continues: wait again, or look for a kernel that does not end, or an event "
                       "of ndr_event_create() that nobody ends");
        assert_int_equal(ndr_last_cl_error(), 0);
        assert_ok(ndr_event_complete(gate));
        assert_ok(ndr_event_wait_within(done, NDR_FOREVER));
        assert_ok(ndr_queue_finish_within(w.queue, NDR_FOREVER));
        assert_ok(ndr_event_wait_within(done, 0));
        ndr_event_destroy(gate);
        ndr_event_destroy(done);
    }
    end(w);
}

/* The mark of an empty queue ends on a thread of the driver, some time later. */
static void test_limit__of_nothing_sees_that_a_queue_is_empty(void **state)
{
    enum { POLLS = 300 };
    waiting w = begin();
    int empty = 0;
    for (int i = 0; i < POLLS; ++i) {
        const ndr_status status = ndr_queue_finish_within(w.queue, 0);
        if (status != NDR_TIMEOUT) assert_ok(status);
        empty += status == NDR_OK;
    }
    print_message("%d of %d polls found an empty queue empty\n", empty, POLLS);
    assert_true(empty >= POLLS / 4);
    end(w);
}

static void test_limit__ends_with_the_work(void **state)
{
    waiting w = begin();
    const int zeros[3] = { 0 };
    int got[3];
    ndr_buffer *x;
    ndr_event *done;
    assert_ok(ndr_buffer_create_from(w.context, sizeof zeros, zeros, &x));
    launch(&w, x, 5);
    assert_ok(ndr_queue_mark(w.queue, &done));
    assert_ok(ndr_event_wait_within(done, UINT64_C(60000000000)));
    ndr_event_destroy(done);
    launch(&w, x, 5);
    assert_ok(ndr_queue_finish_within(w.queue, UINT64_C(60000000000)));
    assert_ok(ndr_buffer_read(w.queue, x, 0, sizeof got, got, NULL));
    for (int i = 0; i < 3; ++i) assert_int_equal(got[i], 10);
    ndr_buffer_destroy(x);
    end(w);
}

static void test_limit__reports_failures(void **state)
{
    waiting w = begin();
    ndr_event *gate = new_gate(&w), *done;
    assert_ok(ndr_queue_mark(ndr_after(w.queue, gate), &done));
    assert_ok(ndr_event_fail(gate, NDR_NOT_FOUND, "gone"));
    assert_refused(NDR_NOT_FOUND, ndr_event_wait_within(done, NDR_FOREVER - 1), "because work before it did: gone");
    assert_refused(NDR_NOT_FOUND, ndr_queue_finish_within(w.queue, NDR_FOREVER - 1), "gone");
    assert_ok(ndr_queue_finish_within(w.queue, NDR_FOREVER - 1));
    ndr_event_destroy(gate);
    ndr_event_destroy(done);
    end(w);
}

static void test_limit__waits_for_all_events(void **state)
{
    waiting w = begin(), other = begin(); /* two contexts */
    ndr_event *const gates[] = { new_gate(&w), NULL, new_gate(&other), new_gate(&w) };
    assert_ok(ndr_event_wait_all(NULL, 0, 0));
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_wait_all(NULL, 1, 0), "ndr_event_wait_all: events is NULL, but count is 1");
    assert_refused(NDR_TIMEOUT, ndr_event_wait_all(gates, 4, 1000), "ndr_event_wait_all: the work has not ended");
    assert_ok(ndr_event_wait_all(gates + 1, 1, 0));
    assert_ok(ndr_event_complete(gates[0]));
    assert_ok(ndr_event_wait_all(gates, 2, 0));
    assert_refused(NDR_TIMEOUT, ndr_event_wait_all(gates, 3, 0), "has not ended");
    assert_ok(ndr_event_fail(gates[3], NDR_BAD_RANGE, "fourth"));
    assert_ok(ndr_event_fail(gates[2], NDR_NOT_FOUND, "third"));
    assert_refused(NDR_NOT_FOUND, ndr_event_wait_all(gates, 4, NDR_FOREVER), "third");
    for (int i = 0; i < 4; ++i) ndr_event_destroy(gates[i]);
    end(w);
    end(other);
}

static void test_limit__waits_for_any_event(void **state)
{
    waiting w = begin();
    ndr_event *const gates[] = { new_gate(&w), new_gate(&w), new_gate(&w), NULL };
    size_t which = 77;
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_wait_any(gates, 0, 0, &which), "count is 0");
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_wait_any(NULL, 2, 0, &which), "events is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_wait_any(gates, 3, 0, NULL), "index is NULL");
    assert_refused(NDR_TIMEOUT, ndr_event_wait_any(gates, 3, 1000, &which), "has not ended");
    assert_int_equal(which, 77);
    assert_ok(ndr_event_wait_any(gates, 4, 0, &which));
    assert_int_equal(which, 3);
    assert_ok(ndr_event_complete(gates[2]));
    assert_ok(ndr_event_wait_any(gates, 3, NDR_FOREVER, &which));
    assert_int_equal(which, 2);
    assert_ok(ndr_event_fail(gates[1], NDR_NOT_FOUND, "second"));
    assert_refused(NDR_NOT_FOUND, ndr_event_wait_any(gates, 3, NDR_FOREVER, &which), "second");
    assert_int_equal(which, 1);
    for (int i = 0; i < 4; ++i) ndr_event_destroy(gates[i]);
    end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit__gives_up_and_leaves_all_usable),
        cmocka_unit_test(test_limit__of_nothing_sees_that_a_queue_is_empty),
        cmocka_unit_test(test_limit__ends_with_the_work),
        cmocka_unit_test(test_limit__reports_failures),
        cmocka_unit_test(test_limit__waits_for_all_events),
        cmocka_unit_test(test_limit__waits_for_any_event),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
