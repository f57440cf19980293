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

static const cl_int pattern = 3;
static ndr_transfer transfers[] = {
    [NDR_WORK_MARKER] = { .work = NDR_WORK_MARKER },
    [NDR_WORK_NO_OP] = { .work = NDR_WORK_NO_OP },
    [NDR_WORK_READ] = { .work = NDR_WORK_READ, .extent = { BYTES, 1, 1 }, .target = host },
    [NDR_WORK_WRITE] = { .work = NDR_WORK_WRITE, .extent = { BYTES, 1, 1 }, .source = host },
    [NDR_WORK_COPY] = { .work = NDR_WORK_COPY, .extent = { BYTES, 1, 1 } },
    [NDR_WORK_FILL] = { .work = NDR_WORK_FILL, .extent = { BYTES, 1, 1 }, .source = &pattern, .pattern_bytes = 4 },
    [NDR_WORK_MAP] = { .work = NDR_WORK_MAP, .extent = { BYTES, 1, 1 }, .flags = CL_MAP_READ, .mapped = &mapped },
    [NDR_WORK_UNMAP] = { .work = NDR_WORK_UNMAP },
};

static ndr_status submit_work(ndr_submission *s, ndr_work work)
{
    ndr_transfer *t = &transfers[work];
    t->from.cl = work == NDR_WORK_MAP || work == NDR_WORK_UNMAP ? to->cl : from->cl;
    t->to.cl = work == NDR_WORK_NO_OP ? unused->cl : to->cl;
    if (work == NDR_WORK_UNMAP) t->target = mapped;
    return ndr_submit(s, t);
}

#define SUBMIT(name, work) \
    static ndr_status submit_##name(ndr_submission *s) { return submit_work(s, NDR_WORK_##work); }
SUBMIT(marker, MARKER)
SUBMIT(nothing, NO_OP)
SUBMIT(read, READ)
SUBMIT(write, WRITE)
SUBMIT(copy, COPY)
SUBMIT(fill, FILL)
SUBMIT(map, MAP)
SUBMIT(unmap, UNMAP)

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
    static const cl_int zeros[INTS];
    ndr_transfer t = { .work = NDR_WORK_WRITE, .to.cl = to->cl, .extent = { BYTES, 1, 1 }, .source = zeros };
    assert_ok(ndr_submit(&(ndr_submission){ .queue = queue->cl }, &t));
    for (size_t i = 0; i < COMMANDS; ++i) {
        assert_ok(commands[i].submit(&(ndr_submission){ .queue = queue->cl }));
        if (commands[i].submit == submit_map) assert_int_equal(clFinish(queue->cl), CL_SUCCESS); /* to get a pointer */
    }
    assert_int_equal(clFinish(queue->cl), CL_SUCCESS);
    cl_int got[INTS];
    t = (ndr_transfer){ .work = NDR_WORK_READ, .from.cl = to->cl, .extent = { BYTES, 1, 1 }, .target = got };
    assert_ok(ndr_submit(&(ndr_submission){ .queue = queue->cl }, &t));
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
