/* test_submit.c - commands: each waits for its list and gives its event. */
#include "faults/between.h"

#include "device/buffer.h"
#include "device/context.h"
#include "device/queue.h"
#include "program/program.h"

enum { INTS = 64, BYTES = INTS * sizeof(cl_int) };

static cl_int host[INTS];
static ndr_buffer *from, *to, *unused;
static ndr_kernel *kernel;
static void *mapped;

/* ---- each command, with the list and the event of the test ---- */

typedef ndr_status submit(ndr_submission *s);

static ndr_status submit_kernel(ndr_submission *s)
{
    static const size_t offset[1] = { 0 }, global[1] = { INTS }, local[1] = { 1 };
    return ndr_submit_kernel(s, kernel->cl, kernel->name, 1, offset, global, local);
}

static ndr_status submit_marker(ndr_submission *s)
{
    return ndr_submit_marker(s);
}

static ndr_status submit_nothing(ndr_submission *s)
{
    return ndr_submit_no_op(s, unused->cl, 0);
}

static ndr_status submit_read(ndr_submission *s)
{
    return ndr_submit_read(s, from->cl, 0, BYTES, host);
}

static ndr_status submit_write(ndr_submission *s)
{
    return ndr_submit_write(s, to->cl, 0, BYTES, host);
}

static ndr_status submit_copy(ndr_submission *s)
{
    return ndr_submit_copy(s, from->cl, 0, to->cl, 0, BYTES);
}

static ndr_status submit_fill(ndr_submission *s)
{
    static const cl_int pattern = 3;
    return ndr_submit_fill(s, to->cl, &pattern, sizeof pattern, 0, BYTES);
}

static ndr_status submit_map(ndr_submission *s)
{
    return ndr_submit_map(s, to->cl, CL_MAP_READ, 0, BYTES, &mapped);
}

static ndr_status submit_unmap(ndr_submission *s)
{
    return ndr_submit_unmap(s, to->cl, mapped);
}

static const struct {
    call call;
    submit *submit;
} commands[] = {
    { CALL_clEnqueueNDRangeKernel, submit_kernel }, { CALL_clEnqueueMarkerWithWaitList, submit_marker },
    { CALL_clEnqueueReadBuffer, submit_read },      { CALL_clEnqueueWriteBuffer, submit_write },
    { CALL_clEnqueueCopyBuffer, submit_copy },      { CALL_clEnqueueFillBuffer, submit_fill },
    { CALL_clEnqueueMapBuffer, submit_map },        { CALL_clEnqueueUnmapMemObject, submit_unmap },
    { CALL_clEnqueueFillBuffer, submit_nothing },
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* ---- tests ---- */

static int open_all(void **state)
{
    if (open_device(state) != 0) return 1;
    for (cl_int i = 0; i < INTS; ++i) host[i] = i;
    from = buffer_of(BYTES, host);
    to = buffer_of(BYTES, host);
    unused = buffer_of(1, NULL);
    kernel = kernel_of("kernel void add_one(global int *x) { x[get_global_id(0)] += 1; }\n", "add_one");
    return clSetKernelArg(kernel->cl, 0, sizeof to->cl, &to->cl);
}

static int close_all(void **state)
{
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(to);
    ndr_buffer_destroy(unused);
    return close_device(state);
}

static cl_int state_of(cl_event event)
{
    cl_int state = CL_COMPLETE;
    assert_int_equal(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL), CL_SUCCESS);
    return state;
}

static void test_submit__waits_for_each_event_of_the_list(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMANDS; ++i) {
        cl_int error;
        const cl_event gates[2] = { clCreateUserEvent(context->cl, &error), clCreateUserEvent(context->cl, &error) };
        assert_int_equal(error, CL_SUCCESS);
        cl_event done = NULL;
        assert_ok(commands[i].submit(&(ndr_submission){ .queue = queue->cl, .waits = { 2, gates }, .done = &done }));
        assert_int_equal(clSetUserEventStatus(gates[0], CL_COMPLETE), CL_SUCCESS);
        const cl_int before = state_of(done);
        assert_int_equal(clSetUserEventStatus(gates[1], CL_COMPLETE), CL_SUCCESS);
        assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
        if (before <= CL_RUNNING) fail_msg("%s began before its list had ended", call_names[commands[i].call]);
        assert_int_equal(state_of(done), CL_COMPLETE);
        clReleaseEvent(done);
        for (size_t g = 0; g < 2; ++g) clReleaseEvent(gates[g]);
    }
}

static void test_submit__needs_neither_list_nor_event(void **state)
{
    (void)state;
    static const cl_int zeros[INTS];
    assert_ok(ndr_submit_write(&(ndr_submission){ .queue = queue->cl }, to->cl, 0, BYTES, zeros));
    for (size_t i = 0; i < COMMANDS; ++i) {
        assert_ok(commands[i].submit(&(ndr_submission){ .queue = queue->cl }));
        if (commands[i].submit == submit_map) assert_int_equal(clFinish(queue->cl), CL_SUCCESS); /* to get a pointer */
    }
    assert_int_equal(clFinish(queue->cl), CL_SUCCESS);
    cl_int got[INTS];
    assert_ok(ndr_submit_read(&(ndr_submission){ .queue = queue->cl }, to->cl, 0, BYTES, got));
    assert_int_equal(clFinish(queue->cl), CL_SUCCESS);
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], 3); /* the fill came last */
}

static void submit_each(ndr_wait_list waits)
{
    for (size_t i = 0; i < COMMANDS; ++i) {
        assert_ok(commands[i].submit(&(ndr_submission){ .queue = queue->cl, .waits = waits }));
        assert_int_equal(waits_enqueued.count, waits.count);
        assert_ptr_equal(waits_enqueued.events, waits.count ? waits.events : NULL);
        assert_int_equal(clFinish(queue->cl), CL_SUCCESS);
    }
}

static void test_submit__gives_the_driver_its_list(void **state)
{
    (void)state;
    cl_int error;
    const cl_event gate = clCreateUserEvent(context->cl, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    submit_each((ndr_wait_list){ 1, &gate });
    submit_each((ndr_wait_list){ 0, &gate });
    clReleaseEvent(gate);
}

static void test_submit__names_the_call_that_a_driver_refused(void **state)
{
    (void)state;
    void *const before = mapped;
    for (size_t i = 0; i < COMMANDS; ++i) {
        cl_event done = (cl_event)&done;
        refuse(commands[i].call, 0, CL_OUT_OF_RESOURCES);
        ndr_submission refused = { .queue = queue->cl, .done = &done };
        assert_refused(NDR_DRIVER_ERROR, commands[i].submit(&refused), call_names[commands[i].call],
                       " gave CL_OUT_OF_RESOURCES (-5)");
        assert_true(refuse_none());
        assert_ptr_equal(done, &done);
    }
    assert_ptr_equal(mapped, before);
}

/* Each command but the first waits for the one before it, and no longer for the list. */
static void test_submit__chains_the_commands_of_one_submission(void **state)
{
    (void)state;
    cl_int error;
    cl_event gate = clCreateUserEvent(context->cl, &error), done[COMMANDS];
    assert_int_equal(error, CL_SUCCESS);
    ndr_submission s = { .queue = queue->cl, .waits = { 1, &gate }, .done = done, .is_chain = true };
    for (size_t i = 0; i < COMMANDS; ++i) {
        if (commands[i].submit == submit_unmap) assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
        if (commands[i].submit == submit_unmap) assert_int_equal(clFinish(queue->cl), CL_SUCCESS);
        assert_ok(commands[i].submit(&s));
        assert_int_equal(waits_enqueued.count, 1);
        assert_ptr_equal(waits_enqueued.events, i == 0 ? &gate : &done[i - 1]);
        assert_ptr_equal(s.done, done + i + 1);
    }
    assert_int_equal(clFinish(queue->cl), CL_SUCCESS);
    for (size_t i = 0; i < COMMANDS; ++i) clReleaseEvent(done[i]);
    clReleaseEvent(gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_submit__waits_for_each_event_of_the_list),
        cmocka_unit_test(test_submit__gives_the_driver_its_list),
        cmocka_unit_test(test_submit__chains_the_commands_of_one_submission),
        cmocka_unit_test(test_submit__needs_neither_list_nor_event),
        cmocka_unit_test(test_submit__names_the_call_that_a_driver_refused),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
