/* test_event.c - enqueued work: waiting for it, its states and times, and work that fails. */
#include "support.h"

#include <sched.h>

#include "driver_faults.h"

#include "device/context.h"
#include "device/event.h"
#include "device/queue.h"

static int *new_ints(size_t count)
{
    int *x = calloc(count, sizeof *x);
    assert_non_null(x);
    return x;
}

/* A buffer of zeros. */
static ndr_buffer *zeros(size_t count)
{
    int *x = new_ints(count);
    ndr_buffer *buffer = buffer_of(count * sizeof *x, x);
    free(x);
    return buffer;
}

static void assert_state(ndr_event *event, ndr_event_state wanted)
{
    ndr_event_state how_far = (ndr_event_state)99;
    assert_ok(ndr_event_get_state(event, &how_far));
    assert_int_equal(how_far, wanted);
}

/* For work enqueued before work that has ended: a driver may update its state shortly after waking the thread. */
static void assert_complete_too(ndr_event *event)
{
    ndr_event_state how_far = NDR_EVENT_QUEUED;
    for (size_t polls = 0; polls < 1000000 && how_far != NDR_EVENT_COMPLETE; ++polls) {
        assert_ok(ndr_event_get_state(event, &how_far));
        sched_yield();
    }
    assert_int_equal(how_far, NDR_EVENT_COMPLETE);
}

/* Work enqueued behind a gate stays there until the gate is opened. */
static cl_event close_gate(void)
{
    skip_where_launches_are_waited_for();
    cl_int error;
    cl_event gate = clCreateUserEvent(context->cl, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(clEnqueueBarrierWithWaitList(queue->cl, 1, &gate, NULL), CL_SUCCESS);
    return gate;
}

static void open_gate(cl_event gate)
{
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    clReleaseEvent(gate);
}

/* ---- waiting ---- */

static void test_event__wait_ends_with_the_work(void **state)
{
    ndr_kernel *spin = kernel_of(plain_kernels, "spin");
    ndr_buffer *x = zeros(64);
    ndr_event *done;
    assert_ok(ndr_launch_event(queue, spin, &done, ndr_nd_range_1d(64, 16), x, quick() ? 10 : 1000000));
    assert_ok(ndr_event_wait(done));
    assert_state(done, NDR_EVENT_COMPLETE);
    assert_ok(ndr_event_wait(done)); /* a second wait returns at once */
    ndr_event_destroy(done);
    ndr_buffer_destroy(x);
}

static void test_event__refuses_null(void **state)
{
    ndr_event_state how_far;
    uint64_t elapsed;
    ndr_event *done;
    ndr_buffer *x = zeros(1);
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_wait(NULL), "ndr_event_wait", "event is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_get_state(NULL, &how_far), "ndr_event_get_state",
                   "event is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_elapsed_ns(NULL, &elapsed), "ndr_event_elapsed_ns",
                   "event is NULL");
    ndr_event_times times;
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_get_times(NULL, &times), "ndr_event_get_times", "event is NULL");
    assert_ok(ndr_launch_event(queue, kernel_of(plain_kernels, "add_one"), &done, ndr_range_1d(1), x));
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_get_state(done, NULL), "state is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_get_times(done, NULL), "times is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_elapsed_ns(done, NULL), "elapsed_ns is NULL");
    ndr_event_destroy(done);
    ndr_buffer_destroy(x);
}

static void test_event__destroy_takes_null(void **state)
{
    ndr_event_destroy(NULL);
}

static void test_event__destroyed_early_lets_the_work_go_on(void **state)
{
    ndr_buffer *x = zeros(1);
    ndr_event *done;
    int out = 0;
    assert_ok(ndr_launch_event(queue, kernel_of(plain_kernels, "add_one"), &done, ndr_range_1d(1), x));
    ndr_event_destroy(done);
    take_buffer(x, &out, sizeof out);
    assert_int_equal(out, 1);
}

static void test_event__outlives_queue_and_context(void **state)
{
    ndr_context *other;
    ndr_queue *line;
    ndr_buffer *x;
    ndr_event *done;
    const int seven = 7;
    assert_ok(ndr_context_create(NULL, &other));
    assert_ok(ndr_queue_create(other, &(ndr_queue_desc){ .is_profiling = true }, &line));
    assert_ok(ndr_buffer_create(other, sizeof seven, &x));
    assert_ok(ndr_buffer_write(line, x, 0, sizeof seven, &seven, &done));
    ndr_context_destroy(other);
    ndr_queue_destroy(line);
    ndr_buffer_destroy(x);
    uint64_t elapsed;
    assert_ok(ndr_event_wait(done));
    assert_ok(ndr_event_elapsed_ns(done, &elapsed));
    ndr_event_destroy(done);
}

/* ---- states ---- */

static void test_event__is_not_complete_before_its_turn(void **state)
{
    ndr_buffer *x = zeros(1);
    ndr_event *done;
    ndr_event_state how_far;
    cl_event gate = close_gate();
    assert_ok(ndr_launch_event(queue, kernel_of(plain_kernels, "add_one"), &done, ndr_range_1d(1), x));
    assert_ok(ndr_event_get_state(done, &how_far));
    open_gate(gate); /* before any assertion: a closed gate would block the next test */
    assert_true(how_far == NDR_EVENT_QUEUED || how_far == NDR_EVENT_SUBMITTED);
    assert_ok(ndr_event_wait(done));
    assert_state(done, NDR_EVENT_COMPLETE);
    ndr_event_destroy(done);
    ndr_buffer_destroy(x);
}

static void test_event__of_a_transfer_completes(void **state)
{
    ndr_buffer *x = zeros(4);
    const int in[4] = { 1, 2, 3, 4 };
    int out[4] = { 0 };
    ndr_event *done[4];
    assert_ok(ndr_buffer_write(queue, x, 0, sizeof in, in, &done[0]));
    assert_ok(ndr_buffer_fill(queue, x, 8, 4, in, 4, &done[1]));
    assert_ok(ndr_buffer_copy(queue, x, 0, x, 12, 4, &done[2]));
    assert_ok(ndr_buffer_read(queue, x, 0, sizeof out, out, &done[3]));
    assert_ok(ndr_event_wait(done[3]));
    for (int i = 0; i < 4; ++i) {
        assert_complete_too(done[i]); /* the queue is in order, and the last one has ended */
        ndr_event_destroy(done[i]);
    }
    assert_int_equal(out[1], 2);
    assert_int_equal(out[2], 1);
    assert_int_equal(out[3], 1);
    ndr_buffer_destroy(x);
}

static void test_event__of_an_empty_launch_completes(void **state)
{
    ndr_buffer *x = zeros(1);
    ndr_event *done = NULL;
    uint64_t elapsed = 99;
    assert_ok(ndr_launch_event(queue, kernel_of(plain_kernels, "add_one"), &done, ndr_range_1d(0), x));
    assert_non_null(done);
    assert_ok(ndr_event_wait(done));
    assert_state(done, NDR_EVENT_COMPLETE);
    assert_ok(ndr_event_elapsed_ns(done, &elapsed));
    ndr_event_destroy(done);
    ndr_buffer_destroy(x);
}

static void test_event__of_an_empty_launch_waits_for_what_is_before(void **state)
{
    ndr_buffer *x = zeros(1);
    ndr_event *done, *nothing;
    cl_event gate = close_gate();
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one");
    ndr_event_state how_far;
    assert_ok(ndr_launch_event(queue, add_one, &done, ndr_range_1d(1), x));
    assert_ok(ndr_launch_event(queue, add_one, &nothing, ndr_range_1d(0), x));
    assert_ok(ndr_event_get_state(nothing, &how_far));
    open_gate(gate);
    assert_int_not_equal(how_far, NDR_EVENT_COMPLETE);
    assert_ok(ndr_event_wait(nothing));
    assert_complete_too(done);
    ndr_event_destroy(done);
    ndr_event_destroy(nothing);
    ndr_buffer_destroy(x);
}

/* A libndr event for an OpenCL event that has failed. PoCL 3.1 aborts if real work waits for such an event. */
static ndr_event *failed_event(cl_int code)
{
    ndr_event *event = NULL;
    cl_int error;
    cl_event cl = clCreateUserEvent(context->cl, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(clSetUserEventStatus(cl, code), CL_SUCCESS);
    assert_ok(ndr_event_new(context, queue, &event));
    event->pieces[event->piece_count++] = cl;
    return event;
}

static void test_event__of_work_that_ended_badly_says_how(void **state)
{
    ndr_event *bad = failed_event(-5);
    assert_state(bad, NDR_EVENT_FAILED);
    assert_refused(NDR_DRIVER_ERROR, ndr_event_wait(bad), "the work was enqueued, but failed",
                   "CL_OUT_OF_RESOURCES (-5)");
    assert_int_equal(ndr_last_cl_error(), -5);
    ndr_event_destroy(bad);
}

static void test_event__of_work_that_ended_badly_has_no_time(void **state)
{
    ndr_event *bad = failed_event(-5);
    uint64_t elapsed = 77;
    ndr_event_times times = { .ended_ns = 77 };
    assert_refused(NDR_DRIVER_ERROR, ndr_event_elapsed_ns(bad, &elapsed), "but failed");
    assert_refused(NDR_DRIVER_ERROR, ndr_event_get_times(bad, &times), "but failed");
    assert_int_equal(elapsed, 77);
    assert_int_equal(times.ended_ns, 77);
    ndr_event_destroy(bad);
}

/* ---- times ---- */

static void test_event__tells_how_long_the_device_worked(void **state)
{
    skip_for_fault(driver_measures_nothing(), "all work takes the same time");
    ndr_kernel *spin = kernel_of(plain_kernels, "spin");
    ndr_buffer *x = zeros(64);
    ndr_event *brief, *longer;
    uint64_t brief_ns, longer_ns;
    assert_ok(ndr_launch(queue, spin, ndr_nd_range_1d(64, 16), x, 1)); /* the first launch may include compiling */
    assert_ok(ndr_launch_event(queue, spin, &brief, ndr_nd_range_1d(64, 16), x, 1));
    assert_ok(ndr_launch_event(queue, spin, &longer, ndr_nd_range_1d(64, 16), x, quick() ? 2000 : 1000000));
    assert_ok(ndr_event_elapsed_ns(longer, &longer_ns)); /* this waits */
    assert_state(longer, NDR_EVENT_COMPLETE);
    assert_ok(ndr_event_elapsed_ns(brief, &brief_ns));
    assert_true(longer_ns > brief_ns);
    ndr_event_destroy(brief);
    ndr_event_destroy(longer);
    ndr_buffer_destroy(x);
}

static void test_event__keeps_no_times_unless_the_queue_does(void **state)
{
    ndr_queue *line;
    ndr_event *done;
    ndr_buffer *x = zeros(1);
    uint64_t elapsed = 77;
    ndr_event_times times = { .queued_ns = 77 };
    assert_ok(ndr_queue_create(context, NULL, &line));
    assert_ok(ndr_launch_event(line, kernel_of(plain_kernels, "add_one"), &done, ndr_range_1d(1), x));
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_elapsed_ns(done, &elapsed), "the queue keeps no times",
                   "ndr_queue_desc.is_profiling");
    assert_refused(NDR_BAD_ARGUMENT, ndr_event_get_times(done, &times), "ndr_event_get_times: the queue keeps no times",
                   "ndr_queue_desc.is_profiling");
    assert_int_equal(elapsed, 77);
    assert_int_equal(times.queued_ns, 77);
    assert_ok(ndr_event_wait(done));
    ndr_event_destroy(done);
    ndr_queue_destroy(line);
    ndr_buffer_destroy(x);
}

static cl_ulong time_of(cl_event cl, cl_profiling_info what)
{
    cl_ulong time = 0;
    assert_int_equal(clGetEventProfilingInfo(cl, what, sizeof time, &time, NULL), CL_SUCCESS);
    return time;
}

/* The times that the driver reports: those of the first piece, and the end of the last piece. */
static void assert_times(ndr_event *event)
{
    ndr_event_times times;
    uint64_t elapsed;
    assert_ok(ndr_event_get_times(event, &times)); /* this waits */
    assert_state(event, NDR_EVENT_COMPLETE);
    assert_int_equal(times.queued_ns, time_of(ndr_event_first(event), CL_PROFILING_COMMAND_QUEUED));
    assert_int_equal(times.submitted_ns, time_of(ndr_event_first(event), CL_PROFILING_COMMAND_SUBMIT));
    assert_int_equal(times.started_ns, time_of(ndr_event_first(event), CL_PROFILING_COMMAND_START));
    assert_int_equal(times.ended_ns, time_of(ndr_event_end(event), CL_PROFILING_COMMAND_END));
    assert_ok(ndr_event_elapsed_ns(event, &elapsed));
    assert_int_equal(elapsed, times.ended_ns > times.started_ns ? times.ended_ns - times.started_ns : 0);
    ndr_event_destroy(event);
}

static void test_event__tells_when_each_stage_was_reached(void **state)
{
    ndr_kernel *spin = kernel_of(plain_kernels, "spin");
    ndr_buffer *x = zeros(61);
    ndr_nd_range ragged = ndr_nd_range_1d(61, 16);
    ragged.edge = NDR_EDGE_SPLIT;
    ndr_event *whole, *split, *transfer, *mark;
    assert_ok(ndr_launch_event(queue, spin, &whole, ndr_nd_range_1d(48, 16), x, 100));
    assert_ok(ndr_launch_event(queue, spin, &split, ragged, x, quick() ? 100 : 10000));
    assert_ok(ndr_buffer_copy(queue, x, 0, x, 16, 4, &transfer));
    assert_ok(ndr_queue_mark(queue, &mark));
    assert_int_equal(split->piece_count, 2);
    assert_times(mark);
    assert_times(transfer);
    assert_times(split);
    assert_times(whole);
    ndr_buffer_destroy(x);
}

static void test_event__of_a_split_launch_spans_all_its_pieces(void **state)
{
    ndr_kernel *spin = kernel_of(plain_kernels, "spin");
    ndr_buffer *x = zeros(61);
    int out[61];
    ndr_event *done;
    uint64_t elapsed;
    ndr_nd_range ragged = ndr_nd_range_1d(61, 16);
    ragged.edge = NDR_EDGE_SPLIT;
    assert_ok(ndr_launch_event(queue, spin, &done, ragged, x, 100));
    assert_ok(ndr_event_elapsed_ns(done, &elapsed));
    assert_ptr_not_equal(ndr_event_first(done), ndr_event_end(done));
    assert_int_equal(elapsed, time_of(ndr_event_end(done), CL_PROFILING_COMMAND_END)
                                  - time_of(ndr_event_first(done), CL_PROFILING_COMMAND_START));
    assert_true(elapsed >= time_of(ndr_event_first(done), CL_PROFILING_COMMAND_END)
                               - time_of(ndr_event_first(done), CL_PROFILING_COMMAND_START));
    take_buffer(x, out, sizeof out);
    for (int i = 0; i < 61; ++i) assert_in_range(out[i], 1, 2);
    ndr_event_destroy(done);
}

static void test_event__joined_spans_from_the_first_to_the_last(void **state)
{
    ndr_kernel *add_one = kernel_of(plain_kernels, "add_one");
    ndr_buffer *x = zeros(1);
    ndr_event *a, *b;
    uint64_t elapsed;
    assert_ok(ndr_launch_event(queue, add_one, &a, ndr_range_1d(1), x));
    assert_ok(ndr_launch_event(queue, add_one, &b, ndr_range_1d(1), x));
    const cl_event first = ndr_event_first(a), last = ndr_event_end(b);
    ndr_event *both = ndr_event_join(ndr_event_join(NULL, a), b);
    assert_ptr_equal(ndr_event_first(both), first);
    assert_ptr_equal(ndr_event_end(both), last);
    assert_ok(ndr_event_elapsed_ns(both, &elapsed));
    assert_int_equal(elapsed,
                     time_of(last, CL_PROFILING_COMMAND_END) - time_of(first, CL_PROFILING_COMMAND_START));
    ndr_event_destroy(both);
    ndr_buffer_destroy(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event__wait_ends_with_the_work),
        cmocka_unit_test(test_event__refuses_null),
        cmocka_unit_test(test_event__destroy_takes_null),
        cmocka_unit_test(test_event__destroyed_early_lets_the_work_go_on),
        cmocka_unit_test(test_event__outlives_queue_and_context),
        cmocka_unit_test(test_event__is_not_complete_before_its_turn),
        cmocka_unit_test(test_event__of_a_transfer_completes),
        cmocka_unit_test(test_event__of_an_empty_launch_completes),
        cmocka_unit_test(test_event__of_an_empty_launch_waits_for_what_is_before),
        cmocka_unit_test(test_event__of_work_that_ended_badly_says_how),
        cmocka_unit_test(test_event__of_work_that_ended_badly_has_no_time),
        cmocka_unit_test(test_event__tells_how_long_the_device_worked),
        cmocka_unit_test(test_event__keeps_no_times_unless_the_queue_does),
        cmocka_unit_test(test_event__tells_when_each_stage_was_reached),
        cmocka_unit_test(test_event__of_a_split_launch_spans_all_its_pieces),
        cmocka_unit_test(test_event__joined_spans_from_the_first_to_the_last),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
