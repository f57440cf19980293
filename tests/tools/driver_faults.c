/* driver_faults.c - faults of drivers, in plain OpenCL. */
#include "driver_faults.h"

#include "device/buffer.h"
#include "device/context.h"
#include "device/queue.h"
#include "faults/early_return.h"

/* A program and its kernel from a text. The caller releases both. */
typedef struct made {
    cl_program program;
    cl_kernel kernel;
} made;

static made make(const char *text)
{
    cl_int error;
    made m = { .program = clCreateProgramWithSource(context->cl, 1, &text, NULL, &error) };
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(clBuildProgram(m.program, 1, &context->device, "", NULL, NULL), CL_SUCCESS);
    m.kernel = clCreateKernel(m.program, "k", &error);
    assert_int_equal(error, CL_SUCCESS);
    return m;
}

static void release(const made *m)
{
    clReleaseKernel(m->kernel);
    clReleaseProgram(m->program);
}

bool driver_refuses_padded_structs(void)
{
    const made m = make("struct padded { int a; short b; };\n"
                        "kernel void k(global int *out, struct padded x) { out[0] = x.a + x.b; }\n");
    const struct padded {
        cl_int a;
        cl_short b;
    } x = { 1, 2 };
    const cl_int error = clSetKernelArg(m.kernel, 1, sizeof x, &x);
    release(&m);
    return error == CL_INVALID_ARG_SIZE;
}

bool driver_loses_chosen_bytes(void)
{
    const made m = make("kernel void k(global char *x)\n"
                        "{\n"
                        "    const int l = get_local_id(0);\n"
                        "    x[8 + l] = l == 0 ? (char)3 : x[l - (l != 0)];\n"
                        "}\n");
    const size_t items = 8;
    cl_char x[16] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    assert_int_equal(clSetKernelArg(m.kernel, 0, sizeof buffer->cl, &buffer->cl), CL_SUCCESS);
    assert_int_equal(clEnqueueNDRangeKernel(queue->cl, m.kernel, 1, NULL, &items, &items, 0, NULL, NULL), CL_SUCCESS);
    read_buffer(buffer, x, sizeof x);
    ndr_buffer_destroy(buffer);
    release(&m);
    return x[8] != 3;
}

bool driver_measures_nothing(void)
{
    const made m = make("kernel void k(global uint *out)\n"
                        "{\n"
                        "    uint x = out[0];\n"
                        "    for (uint i = 0; i < 100000; ++i) x = x * x + i;\n"
                        "    out[0] = x;\n"
                        "}\n");
    const size_t one = 1;
    cl_ulong start = 0, end = 0;
    cl_event done;
    cl_int error;
    cl_uint first = 3;
    cl_mem out = clCreateBuffer(context->cl, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof first, &first, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(clSetKernelArg(m.kernel, 0, sizeof out, &out), CL_SUCCESS);
    assert_int_equal(clEnqueueNDRangeKernel(queue->cl, m.kernel, 1, NULL, &one, NULL, 0, NULL, &done), CL_SUCCESS);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    error = clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    if (error == CL_SUCCESS) error = clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    assert_int_equal(error, CL_SUCCESS);
    clReleaseEvent(done);
    clReleaseMemObject(out);
    release(&m);
    return end - start < 1000; /* for 100 000 multiplications, each of which waits for the one before */
}

bool driver_links_few_texts(void)
{
    static const char *const texts[] = { "int two(void);\nkernel void k(global int *x) { x[0] = two(); }\n",
                                         "int one(void);\nint two(void) { return one() + 1; }\n",
                                         "int one(void) { return 1; }\n" };
    cl_program parts[3];
    cl_int error;
    for (int i = 0; i < 3; ++i) {
        const char *text = texts[i];
        parts[i] = clCreateProgramWithSource(context->cl, 1, &text, NULL, &error);
        assert_int_equal(error, CL_SUCCESS);
        error = clCompileProgram(parts[i], 1, &context->device, "", 0, NULL, NULL, NULL, NULL);
        assert_int_equal(error, CL_SUCCESS);
    }
    const cl_program whole = clLinkProgram(context->cl, 1, &context->device, "", 3, parts, NULL, NULL, &error);
    if (whole) clReleaseProgram(whole);
    for (int i = 0; i < 3; ++i) clReleaseProgram(parts[i]);
    return error == CL_LINK_PROGRAM_FAILURE;
}

bool driver_completes_failed_work(void)
{
    cl_int error, state = CL_QUEUED;
    cl_event gate = clCreateUserEvent(context->cl, &error), behind;
    assert_int_equal(error, CL_SUCCESS);
    cl_command_queue line = clCreateCommandQueue(context->cl, context->device, 0, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(clEnqueueMarkerWithWaitList(line, 1, &gate, &behind), CL_SUCCESS);
    assert_int_equal(clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES), CL_SUCCESS);
    (void)clWaitForEvents(1, &behind); /* fails, as it should */
    assert_int_equal(clGetEventInfo(behind, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL), CL_SUCCESS);
    clReleaseEvent(behind);
    clReleaseEvent(gate);
    clReleaseCommandQueue(line);
    return state == CL_COMPLETE;
}

bool driver_runs_in_order(void)
{
    enum { LIMIT_NS = 2000000000 };
    static const int32_t zero = 0;
    ndr_queue *line;
    ndr_event *gate, *held, *other;
    ndr_buffer *x = buffer_of(2 * sizeof zero, NULL);
    assert_ok(ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &line));
    assert_ok(ndr_event_create(context, &gate));
    assert_ok(ndr_buffer_fill(ndr_after(line, gate), x, 0, sizeof zero, &zero, sizeof zero, &held));
    assert_ok(ndr_buffer_fill(line, x, sizeof zero, sizeof zero, &zero, sizeof zero, &other));
    const ndr_status status = ndr_event_wait_within(other, LIMIT_NS);
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_queue_finish(line));
    ndr_event_destroy(gate);
    ndr_event_destroy(held);
    ndr_event_destroy(other);
    ndr_queue_destroy(line);
    ndr_buffer_destroy(x);
    return status != NDR_OK;
}

bool driver_returns_for_all(void)
{
    enum { ITEMS = 64 };
    if (device.max_group_size < ITEMS) return false;
    const made m = make(early_return_kernel);
    const size_t all = 2 * ITEMS, items = ITEMS;
    const cl_uint numbers[] = { 100, 2, 0 };
    cl_int c[2 * ITEMS] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof c, c);
    assert_int_equal(clSetKernelArg(m.kernel, 0, sizeof buffer->cl, &buffer->cl), CL_SUCCESS);
    for (cl_uint i = 0; i < 3; ++i)
        assert_int_equal(clSetKernelArg(m.kernel, 1 + i, sizeof numbers[i], &numbers[i]), CL_SUCCESS);
    assert_int_equal(clEnqueueNDRangeKernel(queue->cl, m.kernel, 1, NULL, &all, &items, 0, NULL, NULL), CL_SUCCESS);
    read_buffer(buffer, c, sizeof c);
    ndr_buffer_destroy(buffer);
    release(&m);
    for (cl_uint i = 0; i < 2 * ITEMS; ++i)
        if (c[i] != (i < numbers[0])) return true;
    return false;
}
