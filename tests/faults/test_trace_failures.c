/* test_trace_failures.c - traces while the driver or the memory fails: the program's calls succeed as without them. */
#include "faults/between.h"

#include "traces.h"

#include "device/context.h"
#include "device/queue.h"
#include "device/trace.h"

static void test_trace_failures__goes_on_if_the_driver_fails(void **state)
{
    static const struct {
        call refused;
        size_t passing;
        const char *note; /* what the table says; NULL: nothing */
    } cases[] = { { CALL_clGetEventProfilingInfo, 0, "1 commands have no times" },
                  { CALL_clGetEventProfilingInfo, 1, "1 commands have no times" },
                  { CALL_clRetainEvent, 0, "1 commands have no times" },
                  { CALL_clGetEventInfo, 0, NULL } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        ndr_event *mark;
        open_traced("failures.json");
        refuse(cases[i].refused, cases[i].passing, CL_OUT_OF_RESOURCES);
        assert_ok(ndr_queue_mark(line, &mark));
        assert_ok(ndr_queue_finish(line));
        assert_true(refuse_none());
        ndr_event_destroy(mark);
        close_traced();
        if (cases[i].note) assert_non_null(strstr(table, cases[i].note));
        else check_row("marker", 1);
        read_slices("failures.json", "");
    }
}

static void test_trace_failures__has_no_device_times_if_the_clocks_cannot_be_compared(void **state)
{
    start_trace("clocks.json");
    refuse(CALL_clGetEventProfilingInfo, 0, CL_PROFILING_INFO_NOT_AVAILABLE);
    refuse_also(CALL_clGetEventProfilingInfo);
    refuse_also(CALL_clGetDeviceAndHostTimer);
    assert_ok(ndr_context_create_with(&unchecked, &traced));
    (void)refuse_none();
    assert_ok(ndr_queue_create(traced, NULL, &line));
    assert_ok(ndr_queue_finish(line));
    ndr_event *mark;
    assert_ok(ndr_queue_mark(line, &mark));
    assert_ok(ndr_event_wait(mark));
    assert_ok(ndr_queue_finish(line));
    ndr_event_destroy(mark);
    read_slices("clocks.json", "]");
    assert_int_equal(count_slices("transfer", NULL), 0);
    close_traced();
    check_row("marker", 1);
}

static void test_trace_failures__does_not_record_what_the_driver_refuses(void **state)
{
    ndr_event *mark = NULL;
    open_traced("refused.json");
    refuse(CALL_clEnqueueMarkerWithWaitList, 0, CL_OUT_OF_RESOURCES);
    assert_refused(NDR_DRIVER_ERROR, ndr_queue_mark(line, &mark),
                   "clEnqueueMarkerWithWaitList gave CL_OUT_OF_RESOURCES");
    assert_true(refuse_none());
    assert_null(mark);
    close_traced();
    read_slices("refused.json", "");
    assert_int_equal(slice_count, 0);
    assert_null(strstr(table, "marker"));
}

static void test_trace_failures__counts_work_that_fails(void **state)
{
    cl_int error, code = CL_QUEUED;
    cl_event mark;
    open_traced("failed.json");
    cl_event gate = clCreateUserEvent(traced->cl, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_ok(ndr_submit(&(ndr_submission){ .queue = line->cl, .waits = { 1, &gate }, .done = &mark }, &ndr_marker));
    assert_int_equal(clSetUserEventStatus(gate, -5), CL_SUCCESS);
    (void)clWaitForEvents(1, &mark);
    assert_int_equal(clGetEventInfo(mark, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof code, &code, NULL), CL_SUCCESS);
    clReleaseEvent(mark);
    clReleaseEvent(gate);
    close_traced();
    const bool has_failed = code < 0; /* Intel's runtime reports it as complete */
    assert_int_equal(strstr(table, "1 commands failed and are not counted.\n") != NULL, has_failed);
    assert_int_equal(strstr(table, "marker") == NULL, has_failed);
}

/* Everything that a trace does, with one allocation refused. Returns the first failure. */
static ndr_status try_all(void)
{
    ndr_event *mark = NULL;
    traced = NULL;
    line = NULL;
    ndr_status status = ndr_trace_start(
        &(ndr_trace_desc){ .file = "memory.json", .has_table = true, .callback = keep_table, .user = &traced });
    if (status == NDR_OK) status = ndr_context_create_with(&unchecked, &traced);
    if (status == NDR_OK) status = ndr_queue_create(traced, NULL, &line);
    ndr_trace_begin("part", 1, 1);
    if (status == NDR_OK) status = ndr_queue_mark(line, &mark);
    ndr_trace_end();
    if (status == NDR_OK) status = ndr_queue_finish(line);
    ndr_event_destroy(mark);
    ndr_queue_destroy(line);
    ndr_context_destroy(traced);
    return status;
}

static void test_trace_failures__leaks_nothing_without_memory(void **state)
{
    assert_int_equal(try_all(), NDR_OK);
    const alive before = now;
    size_t refused = 0;
    for (size_t passing = 0;; ++passing) {
        refuse(CALL_malloc, passing, 0);
        const ndr_status status = try_all();
        const bool was_refused = refuse_none();
        assert_true(status == NDR_OK || was_refused);
        if (ndr_is_traced()) { /* the context was not made */
            assert_int_not_equal(status, NDR_OK);
            assert_ok(ndr_context_create_with(&unchecked, &traced));
            ndr_context_destroy(traced);
        }
        assert_false(ndr_is_traced());
        assert_memory_equal(&now, &before, sizeof now);
        refused += was_refused;
        if (!was_refused) break;
    }
    assert_true(refused > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace_failures__goes_on_if_the_driver_fails),
        cmocka_unit_test(test_trace_failures__has_no_device_times_if_the_clocks_cannot_be_compared),
        cmocka_unit_test(test_trace_failures__does_not_record_what_the_driver_refuses),
        cmocka_unit_test(test_trace_failures__counts_work_that_fails),
        cmocka_unit_test(test_trace_failures__leaks_nothing_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
