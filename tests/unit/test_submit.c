/* test_submit.c - commands: each waits for its list and gives its event. */
#include "faults/between.h"

#include "program/program.h"

enum { INTS = 64, BYTES = INTS * sizeof(cl_int) };

static cl_int host[INTS];
static ndr_buffer *from, *to, *unused;
static ndr_kernel *kernel;
static void *mapped;

/* ---- each command, with the list and the event of the test ---- */

typedef ndr_status submit(const ndr_submission *s);

static ndr_status submit_kernel(const ndr_submission *s)
{
    static const size_t offset[1] = { 0 }, global[1] = { INTS }, local[1] = { 1 };
    return ndr_submit_kernel(s, kernel->cl, kernel->name, 1, offset, global, local);
}

static ndr_status submit_marker(const ndr_submission *s)
{
    return ndr_submit_marker(s);
}

static ndr_status submit_nothing(const ndr_submission *s)
{
    ndr_queue line = { .no_op_memory = unused->cl };
    return ndr_submit_no_op(s, &line);
}

static ndr_status submit_read(const ndr_submission *s)
{
    return ndr_submit_read(s, from->cl, false, 0, BYTES, host);
}

static ndr_status submit_write(const ndr_submission *s)
{
    return ndr_submit_write(s, to->cl, false, 0, BYTES, host);
}

static ndr_status submit_copy(const ndr_submission *s)
{
    return ndr_submit_copy(s, from, 0, to, 0, BYTES);
}

static ndr_status submit_fill(const ndr_submission *s)
{
    static const cl_int pattern = 3;
    return ndr_submit_fill(s, to->cl, &pattern, sizeof pattern, 0, BYTES);
}

static ndr_status submit_map(const ndr_submission *s)
{
    return ndr_submit_map(s, to->cl, CL_MAP_READ, 0, BYTES, &mapped);
}

static ndr_status submit_unmap(const ndr_submission *s)
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
        assert_ok(commands[i].submit(&(ndr_submission){ queue->cl, { 2, gates }, &done }));
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
    assert_ok(ndr_submit_write(&(ndr_submission){ .queue = queue->cl }, to->cl, true, 0, BYTES, zeros));
    for (size_t i = 0; i < COMMANDS; ++i) {
        assert_ok(commands[i].submit(&(ndr_submission){ .queue = queue->cl }));
        if (commands[i].submit == submit_map) assert_int_equal(clFinish(queue->cl), CL_SUCCESS); /* to get a pointer */
    }
    assert_int_equal(clFinish(queue->cl), CL_SUCCESS);
    cl_int got[INTS];
    assert_ok(ndr_submit_read(&(ndr_submission){ .queue = queue->cl }, to->cl, true, 0, BYTES, got));
    for (size_t i = 0; i < INTS; ++i) assert_int_equal(got[i], 3); /* the fill came last */
}

/* ---- large fills: recorded, not done ---- */

static struct {
    size_t next, commands; /* the byte that the next command must begin at */
    size_t pattern_bytes;
    const unsigned char *pattern;
} filling;

static void expect_bytes(const unsigned char *bytes, size_t count, size_t offset, size_t size)
{
    assert_true(offset == filling.next);
    for (size_t i = 0; i < count; ++i)
        assert_int_equal(bytes[i], filling.pattern[(offset + i) % filling.pattern_bytes]);
    filling.next += size;
    ++filling.commands;
}

static cl_int CL_API_CALL record_fill(cl_command_queue on, cl_mem buffer, const void *pattern, size_t pattern_bytes,
                                      size_t offset, size_t size, cl_uint count, const cl_event *waits, cl_event *done)
{
    (void)on, (void)buffer, (void)count, (void)waits;
    assert_true(offset % pattern_bytes == 0 && size % pattern_bytes == 0 && size > 0);
    assert_true((offset + size) / pattern_bytes <= INT32_MAX);
    expect_bytes(pattern, pattern_bytes, offset, size);
    if (done) *done = NULL;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL record_write(cl_command_queue on, cl_mem buffer, cl_bool blocks, size_t offset, size_t size,
                                       const void *bytes, cl_uint count, const cl_event *waits, cl_event *done)
{
    (void)on, (void)buffer, (void)count, (void)waits;
    assert_true(blocks);
    assert_in_range(size, 1, 255);
    expect_bytes(bytes, size, offset, size);
    if (done) *done = NULL;
    return CL_SUCCESS;
}

static void test_submit__fill_counts_patterns_in_31_bits(void **state)
{
    (void)state;
    if (sizeof(size_t) < 8) skip();
    unsigned char pattern[128];
    for (size_t i = 0; i < sizeof pattern; ++i) pattern[i] = (unsigned char)(i * 37 + 1);
    __typeof__(clEnqueueFillBuffer) *const real_fill = ndr_cl.clEnqueueFillBuffer;
    __typeof__(clEnqueueWriteBuffer) *const real_write = ndr_cl.clEnqueueWriteBuffer;
    ndr_cl.clEnqueueFillBuffer = record_fill;
    ndr_cl.clEnqueueWriteBuffer = record_write;
    for (size_t bytes = 1; bytes <= 32; bytes *= 2) {
        const size_t most = (size_t)INT32_MAX * bytes;
        const size_t offsets[] = { 0, bytes, 3 * bytes, 128, most - bytes, most, most + bytes, most + 128 };
        const size_t sizes[] = { bytes, 2 * bytes, 128, 192, 256, 320, most - bytes, most, most + bytes, 2 * most };
        for (size_t o = 0; o < sizeof offsets / sizeof offsets[0]; ++o)
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
                filling.next = offsets[o];
                filling.commands = 0;
                filling.pattern = pattern;
                filling.pattern_bytes = bytes;
                assert_ok(ndr_submit_fill(&(ndr_submission){ .queue = queue->cl }, to->cl, pattern, bytes, offsets[o],
                                          sizes[s]));
                assert_true(filling.next == offsets[o] + sizes[s]);
                if (filling.next <= most) assert_int_equal(filling.commands, 1);
            }
    }
    ndr_cl.clEnqueueFillBuffer = real_fill;
    ndr_cl.clEnqueueWriteBuffer = real_write;
}

static cl_int CL_API_CALL refuse_fill(cl_command_queue on, cl_mem buffer, const void *pattern, size_t pattern_bytes,
                                      size_t offset, size_t size, cl_uint count, const cl_event *waits, cl_event *done)
{
    (void)on, (void)buffer, (void)pattern, (void)pattern_bytes, (void)offset, (void)size, (void)count, (void)waits;
    (void)done;
    return CL_INVALID_VALUE;
}

/* Of the large fill, the bytes before the first multiple of 128 are written before the driver refuses the rest. */
static void test_submit__fill_says_that_some_bytes_may_be_filled(void **state)
{
    (void)state;
    if (sizeof(size_t) < 8) skip();
    static const unsigned char one = 1;
    __typeof__(clEnqueueFillBuffer) *const real_fill = ndr_cl.clEnqueueFillBuffer;
    __typeof__(clEnqueueWriteBuffer) *const real_write = ndr_cl.clEnqueueWriteBuffer;
    const size_t most = INT32_MAX;
    ndr_cl.clEnqueueFillBuffer = refuse_fill;
    ndr_cl.clEnqueueWriteBuffer = record_write;
    filling.next = 3;
    filling.pattern = &one;
    filling.pattern_bytes = 1;
    const ndr_status in_parts = ndr_submit_fill(&(ndr_submission){ .queue = queue->cl }, to->cl, &one, 1, 3, most);
    const bool says_so = strstr(ndr_last_error(), "clEnqueueFillBuffer gave CL_INVALID_VALUE (-30); some of the bytes may");
    const ndr_status at_once = ndr_submit_fill(&(ndr_submission){ .queue = queue->cl }, to->cl, &one, 1, 0, most + 1);
    const bool says_no_more = !strstr(ndr_last_error(), "some of the bytes");
    ndr_cl.clEnqueueFillBuffer = real_fill;
    ndr_cl.clEnqueueWriteBuffer = real_write;
    assert_int_equal(in_parts, NDR_DRIVER_ERROR);
    assert_int_equal(at_once, NDR_DRIVER_ERROR);
    assert_true(filling.next == 128);
    assert_true(says_so);
    assert_true(says_no_more);
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
        const ndr_submission refused = { .queue = queue->cl, .done = &done };
        assert_refused(NDR_DRIVER_ERROR, commands[i].submit(&refused), call_names[commands[i].call],
                       " gave CL_OUT_OF_RESOURCES (-5)");
        assert_true(refuse_none());
        assert_ptr_equal(done, &done);
    }
    assert_ptr_equal(mapped, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_submit__waits_for_each_event_of_the_list),
        cmocka_unit_test(test_submit__gives_the_driver_its_list),
        cmocka_unit_test(test_submit__fill_counts_patterns_in_31_bits),
        cmocka_unit_test(test_submit__fill_says_that_some_bytes_may_be_filled),
        cmocka_unit_test(test_submit__needs_neither_list_nor_event),
        cmocka_unit_test(test_submit__names_the_call_that_a_driver_refused),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
