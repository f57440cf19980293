/* test_native.c - OpenCL handles: taken out of libndr's objects, and made into them. */
#include "support.h"

#include <sched.h>

#include "device/buffer.h"
#include "device/context.h"
#include "device/queue.h"
#include "launch/launch.h"
#include "ndr/ndr_cl.h"

/* ---- counting references ---- */

static cl_uint context_references(cl_context cl)
{
    cl_uint count = 0;
    assert_int_equal(clGetContextInfo(cl, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL),
                     CL_SUCCESS);
    return count;
}

static cl_uint queue_references(cl_command_queue cl)
{
    cl_uint count = 0;
    assert_int_equal(clGetCommandQueueInfo(cl, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL),
                     CL_SUCCESS);
    return count;
}

/* The final count. A driver may release work and its queue only after it has woken the waiting thread. */
static cl_uint references_come_to(cl_command_queue cl, cl_uint wanted)
{
    for (size_t polls = 0; polls < 1000000 && queue_references(cl) != wanted; ++polls) sched_yield();
    return queue_references(cl);
}

static cl_uint buffer_references(cl_mem cl)
{
    cl_uint count = 0;
    assert_int_equal(clGetMemObjectInfo(cl, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL),
                     CL_SUCCESS);
    return count;
}

static cl_command_queue new_queue(cl_command_queue_properties properties)
{
    cl_int error;
    cl_command_queue cl = clCreateCommandQueue(context->cl, context->device, properties, &error);
    return error == CL_SUCCESS ? cl : NULL;
}

static cl_mem new_buffer(cl_context of, size_t size_bytes)
{
    cl_int error;
    cl_mem cl = clCreateBuffer(of, CL_MEM_READ_WRITE, size_bytes, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    return cl;
}

static cl_context new_context(void)
{
    cl_int error;
    cl_context cl = clCreateContext(NULL, 1, &context->device, NULL, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    return cl;
}

/* ---- handles out ---- */

static void test_native__null_gives_null(void **state)
{
    assert_null(ndr_context_cl(NULL));
    assert_null(ndr_context_cl_device(NULL));
    assert_null(ndr_queue_cl(NULL));
    assert_null(ndr_buffer_cl(NULL));
    assert_null(ndr_event_cl(NULL));
    assert_null(ndr_kernel_cl(NULL));
}

static void test_native__handles_are_those_of_the_objects(void **state)
{
    cl_context owner = NULL;
    cl_device_id of = NULL;
    char name[256] = "";
    assert_int_equal(
        clGetDeviceInfo(ndr_context_cl_device(context), CL_DEVICE_NAME, sizeof name, name, NULL),
        CL_SUCCESS);
    assert_memory_equal(name, device.name, strlen(device.name));
    assert_int_equal(
        clGetCommandQueueInfo(ndr_queue_cl(queue), CL_QUEUE_CONTEXT, sizeof owner, &owner, NULL),
        CL_SUCCESS);
    assert_ptr_equal(owner, ndr_context_cl(context));
    assert_int_equal(clGetCommandQueueInfo(ndr_queue_cl(queue), CL_QUEUE_DEVICE, sizeof of, &of, NULL),
                     CL_SUCCESS);
    assert_ptr_equal(of, ndr_context_cl_device(context));
}

static void test_native__buffer_is_reached_by_opencl_itself(void **state)
{
    const int in[4] = { 1, 2, 3, 4 };
    int out[4] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof in, in);
    assert_int_equal(clEnqueueReadBuffer(ndr_queue_cl(queue), ndr_buffer_cl(buffer), CL_TRUE, 0, sizeof out,
                                         out, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_memory_equal(in, out, sizeof in);
    ndr_buffer_destroy(buffer);
}

static void test_native__buffer_of_0_bytes_has_one(void **state)
{
    size_t size_bytes = 0;
    ndr_buffer *buffer = buffer_of(0, NULL);
    assert_int_equal(
        clGetMemObjectInfo(ndr_buffer_cl(buffer), CL_MEM_SIZE, sizeof size_bytes, &size_bytes, NULL),
        CL_SUCCESS);
    assert_int_equal(size_bytes, 1);
    ndr_buffer_destroy(buffer);
}

static void test_native__event_is_that_of_the_last_piece(void **state)
{
    int x[61] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    ndr_event *done;
    ndr_nd_range ragged = ndr_nd_range_1d(61, 16);
    ragged.edge = NDR_EDGE_SPLIT;
    assert_ok(ndr_launch_event(queue, kernel_of(plain_kernels, "spin"), &done, ragged, buffer, 1));
    assert_ptr_equal(ndr_event_cl(done), ndr_event_end(done));
    const cl_event cl = ndr_event_cl(done);
    assert_int_equal(clWaitForEvents(1, &cl), CL_SUCCESS);
    take_buffer(buffer, x, sizeof x);
    assert_true(x[0] >= 1 && x[60] >= 1);
    ndr_event_destroy(done);
}

static void test_native__kernel_has_its_name(void **state)
{
    char name[64] = "";
    const cl_kernel cl = ndr_kernel_cl(kernel_of(plain_kernels, "add_one"));
    assert_int_equal(clGetKernelInfo(cl, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL), CL_SUCCESS);
    assert_string_equal(name, "add_one");
}

static void test_native__kernel_that_others_may_set_is_set_at_each_launch(void **state)
{
    static const char text[] = "#include \"ndr/item.clh\"\n"
                               "kernel void put(global int *out, int a, global int *more, NDR_RANGE(1))\n"
                               "{\n"
                               "    const ndr_item it = NDR_ITEM(1);\n"
                               "    out[ndr_global_id(it, 0)] = a + more[0] + (int)ndr_global_range(it, 0);\n"
                               "}\n";
    const int zero = 0, hundred = 100, other = 7;
    ndr_kernel *put = kernel_of(text, "put");
    ndr_buffer *out = buffer_of(sizeof zero, &zero), *more = buffer_of(sizeof zero, &zero);
    ndr_buffer *much = buffer_of(sizeof hundred, &hundred);
    int told;
    assert_ok(ndr_launch(queue, put, ndr_range_1d(1), out, 5, more));
    const cl_kernel cl = ndr_kernel_cl(put);
    const ndr_record record = { .global_range = { 1000 }, .dims = 1 };
    for (int turn = 0; turn < 2; ++turn) { /* a program may set arguments at any time once it has the handle */
        assert_int_equal(clSetKernelArg(cl, 1, sizeof other, &other), CL_SUCCESS);
        assert_int_equal(clSetKernelArg(cl, 2, sizeof much->cl, &much->cl), CL_SUCCESS);
        assert_int_equal(clSetKernelArg(cl, 3, sizeof record, &record), CL_SUCCESS);
        assert_ok(ndr_launch(queue, put, ndr_range_1d(1), out, 5, more));
        read_buffer(out, &told, sizeof told);
        assert_int_equal(told, 6);
    }
    destroy_buffers(out, more, much);
}

/* ---- contexts in ---- */

static void test_context_from_cl__shares_the_opencl_context(void **state)
{
    cl_context cl = new_context();
    ndr_context *ours;
    ndr_device_info info;
    assert_ok(ndr_context_from_cl(cl, context->device, &ours));
    assert_ptr_equal(ndr_context_cl(ours), cl);
    assert_ptr_equal(ndr_context_cl_device(ours), context->device);
    assert_ok(ndr_context_get_device(ours, &info));
    assert_string_equal(info.name, device.name);
    assert_string_equal(info.platform, device.platform);
    ndr_context_destroy(ours);
    clReleaseContext(cl);
}

static void test_context_from_cl__has_a_reference_of_its_own(void **state)
{
    cl_context cl = new_context();
    ndr_context *ours;
    const cl_uint before = context_references(cl);
    assert_ok(ndr_context_from_cl(cl, context->device, &ours));
    assert_int_equal(context_references(cl), before + 1);
    ndr_context_destroy(ours);
    assert_int_equal(context_references(cl), before);
    clReleaseContext(cl);
}

static void test_context_from_cl__launches_and_lives_on_when_yours_is_released(void **state)
{
    cl_context cl = new_context();
    ndr_context *ours;
    ndr_queue *line;
    ndr_buffer *buffer;
    ndr_kernel *add_one;
    int x = 41;
    assert_ok(ndr_context_from_cl(cl, context->device, &ours));
    clReleaseContext(cl);
    assert_ok(ndr_queue_create(ours, NULL, &line));
    assert_ok(ndr_buffer_create_from(ours, sizeof x, &x, &buffer));
    const ndr_kernel_desc desc = { .name = "add_one", .source = plain_kernels };
    assert_ok(ndr_kernel_get(ours, &desc, &add_one));
    assert_ok(ndr_launch(line, add_one, ndr_range_1d(1), buffer));
    assert_ok(ndr_buffer_read(line, buffer, 0, sizeof x, &x, NULL));
    assert_int_equal(x, 42);
    ndr_buffer_destroy(buffer);
    ndr_queue_destroy(line);
    ndr_context_destroy(ours);
}

static void test_context_from_cl__refuses_null(void **state)
{
    ndr_context *ours = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_from_cl(NULL, context->device, &ours), "cl is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_from_cl(context->cl, NULL, &ours), "device is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_from_cl(context->cl, context->device, NULL),
                   "context is NULL");
    assert_null(ours);
}

/* Stands for the context of another device. */
static cl_int CL_API_CALL list_another(cl_context cl, cl_context_info what, size_t size, void *value, size_t *needed)
{
    static int stranger;
    const cl_device_id listed = (cl_device_id)(void *)&stranger;
    memcpy(value, &listed, sizeof listed);
    *needed = sizeof listed;
    return CL_SUCCESS;
}

static void test_context_from_cl__refuses_a_device_of_another_context(void **state)
{
    ndr_context *ours = NULL;
    __typeof__(clGetContextInfo) *const there = ndr_cl.clGetContextInfo;
    ndr_cl.clGetContextInfo = list_another;
    const ndr_status status = ndr_context_from_cl(context->cl, context->device, &ours);
    ndr_cl.clGetContextInfo = there;
    assert_refused(NDR_BAD_ARGUMENT, status,
                   "the device does not belong to the OpenCL context; pass one of its devices");
    assert_null(ours);
}

/* ---- queues in ---- */

static void test_queue_from_cl__shares_the_command_queue(void **state)
{
    cl_command_queue cl = new_queue(0);
    ndr_queue *line;
    const cl_uint before = queue_references(cl);
    assert_ok(ndr_queue_from_cl(context, cl, &line));
    assert_ptr_equal(ndr_queue_cl(line), cl);
    assert_int_equal(queue_references(cl), before + 1);
    int x = 1;
    ndr_buffer *buffer = buffer_of(sizeof x, &x);
    assert_ok(ndr_launch(line, kernel_of(plain_kernels, "add_one"), ndr_range_1d(1), buffer));
    assert_int_equal(
        clEnqueueReadBuffer(cl, ndr_buffer_cl(buffer), CL_TRUE, 0, sizeof x, &x, 0, NULL, NULL),
        CL_SUCCESS);
    assert_int_equal(x, 2);
    ndr_buffer_destroy(buffer);
    ndr_queue_destroy(line);
    assert_int_equal(references_come_to(cl, before), before);
    clReleaseCommandQueue(cl);
}

static void test_queue_from_cl__keeps_times_if_the_command_queue_does(void **state)
{
    for (int profiling = 0; profiling < 2; ++profiling) {
        cl_command_queue cl = new_queue(profiling ? CL_QUEUE_PROFILING_ENABLE : 0);
        ndr_queue *line;
        ndr_event *done;
        uint64_t elapsed;
        int x = 1;
        ndr_buffer *buffer = buffer_of(sizeof x, &x);
        assert_ok(ndr_queue_from_cl(context, cl, &line));
        assert_ok(
            ndr_launch_event(line, kernel_of(plain_kernels, "add_one"), &done, ndr_range_1d(1), buffer));
        assert_int_equal(ndr_event_elapsed_ns(done, &elapsed), profiling ? NDR_OK : NDR_BAD_ARGUMENT);
        assert_ok(ndr_event_wait(done));
        ndr_event_destroy(done);
        ndr_buffer_destroy(buffer);
        ndr_queue_destroy(line);
        clReleaseCommandQueue(cl);
    }
}

static void test_queue_from_cl__takes_one_that_is_out_of_order(void **state)
{
    cl_command_queue cl = new_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    skip_without(cl, "the device has no out-of-order queues");
    ndr_queue *line = NULL;
    assert_ok(ndr_queue_from_cl(context, cl, &line));
    assert_true(line->is_out_of_order);
    ndr_queue_destroy(line);
    assert_int_equal(references_come_to(cl, 1), 1);
    clReleaseCommandQueue(cl);
}

static void test_queue_from_cl__refuses_one_of_another_context(void **state)
{
    ndr_context *other;
    ndr_queue *line = NULL;
    assert_ok(ndr_context_create(NULL, &other));
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_from_cl(other, ndr_queue_cl(queue), &line),
                   "belongs to another OpenCL context or device");
    assert_null(line);
    ndr_context_destroy(other);
}

static void test_queue_from_cl__refuses_null(void **state)
{
    ndr_queue *line = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_from_cl(NULL, ndr_queue_cl(queue), &line),
                   "context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_from_cl(context, NULL, &line), "cl is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_queue_from_cl(context, ndr_queue_cl(queue), NULL),
                   "queue is NULL");
    assert_null(line);
}

/* ---- buffers in ---- */

static void test_buffer_from_cl__shares_the_memory(void **state)
{
    cl_mem cl = new_buffer(context->cl, 16);
    ndr_buffer *buffer;
    const int in[4] = { 4, 3, 2, 1 };
    int out[4] = { 0 };
    assert_ok(ndr_buffer_from_cl(context, cl, &buffer));
    assert_ptr_equal(ndr_buffer_cl(buffer), cl);
    assert_int_equal(ndr_buffer_size(buffer), 16);
    assert_int_equal(
        clEnqueueWriteBuffer(ndr_queue_cl(queue), cl, CL_TRUE, 0, sizeof in, in, 0, NULL, NULL),
        CL_SUCCESS);
    assert_ok(ndr_launch(queue, kernel_of(plain_kernels, "add_one"), ndr_range_1d(4), buffer));
    take_buffer(buffer, out, sizeof out);
    for (int i = 0; i < 4; ++i) assert_int_equal(out[i], in[i] + 1);
    clReleaseMemObject(cl);
}

static void test_buffer_from_cl__has_a_reference_of_its_own(void **state)
{
    cl_mem cl = new_buffer(context->cl, 16);
    ndr_buffer *buffer;
    const cl_uint before = buffer_references(cl);
    assert_ok(ndr_buffer_from_cl(context, cl, &buffer));
    assert_int_equal(buffer_references(cl), before + 1);
    ndr_buffer_destroy(buffer);
    assert_int_equal(buffer_references(cl), before);
    clReleaseMemObject(cl);
}

static void test_buffer_from_cl__refuses_one_of_another_context(void **state)
{
    cl_context other = new_context();
    cl_mem cl = new_buffer(other, 16);
    ndr_buffer *buffer = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_from_cl(context, cl, &buffer),
                   "belongs to another OpenCL context");
    assert_null(buffer);
    clReleaseMemObject(cl);
    clReleaseContext(other);
}

static void test_buffer_from_cl__refuses_an_image(void **state)
{
    cl_bool images = CL_FALSE;
    assert_int_equal(
        clGetDeviceInfo(context->device, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, NULL),
        CL_SUCCESS);
    skip_without(images, "the device has no images");
    const cl_image_format format = { CL_RGBA, CL_UNORM_INT8 };
    const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8 };
    cl_int error;
    cl_mem cl = clCreateImage(context->cl, CL_MEM_READ_WRITE, &format, &desc, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    ndr_buffer *buffer = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_from_cl(context, cl, &buffer), "is an image, not a buffer");
    assert_null(buffer);
    clReleaseMemObject(cl);
}

static void test_buffer_from_cl__refuses_null(void **state)
{
    cl_mem cl = new_buffer(context->cl, 16);
    ndr_buffer *buffer = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_from_cl(NULL, cl, &buffer), "context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_from_cl(context, NULL, &buffer), "cl is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_from_cl(context, cl, NULL), "buffer is NULL");
    assert_null(buffer);
    clReleaseMemObject(cl);
}

/* ---- kernels in ---- */

static const char foreign_kernels[] =
    "typedef float real;\n"
    "kernel void blend(global float *out, local int *room, float a, char b, long c, float2 v, global const float *more)\n"
    "{\n"
    "    const size_t i = get_global_id(0), l = get_local_id(0);\n"
    "    room[l] = (int)l;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[i] = a + b + (float)c + v.x * v.y + room[get_local_size(0) - 1 - l] + (more ? more[0] : 0.5f);\n"
    "}\n"
    "kernel void shift(global float *out, real by) { out[get_global_id(0)] += by; }\n";

/* A program as another library creates it. */
static cl_program foreign_program(cl_context owner, const char *options)
{
    const char *text = foreign_kernels;
    cl_int error;
    const cl_program program = clCreateProgramWithSource(owner, 1, &text, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(clBuildProgram(program, 0, NULL, options, NULL, NULL), CL_SUCCESS);
    return program;
}

/* A kernel. It keeps the program alive from here on. */
static cl_kernel kernel_in(cl_program program, const char *name)
{
    cl_int error;
    const cl_kernel kernel = clCreateKernel(program, name, &error);
    assert_int_equal(error, CL_SUCCESS);
    clReleaseProgram(program);
    return kernel;
}

static cl_kernel foreign_kernel(cl_context owner, const char *options, const char *name)
{
    return kernel_in(foreign_program(owner, options), name);
}

/* The same from a binary; NULL if the device gives no binary. */
static cl_kernel kernel_from_binary(const char *options, const char *name)
{
    const cl_program source = foreign_program(context->cl, options);
    size_t bytes = 0;
    assert_int_equal(clGetProgramInfo(source, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL), CL_SUCCESS);
    unsigned char *binary = malloc(bytes + 1);
    const unsigned char *given = binary;
    assert_non_null(binary);
    assert_int_equal(clGetProgramInfo(source, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL), CL_SUCCESS);
    clReleaseProgram(source);
    cl_int error = CL_SUCCESS;
    const cl_program program =
        bytes ? clCreateProgramWithBinary(context->cl, 1, &context->device, &bytes, &given, NULL, &error) : NULL;
    free(binary);
    assert_int_equal(error, CL_SUCCESS);
    if (!program) return NULL;
    assert_int_equal(clBuildProgram(program, 1, &context->device, options, NULL, NULL), CL_SUCCESS);
    return kernel_in(program, name);
}

static ndr_kernel *adopted(cl_kernel cl)
{
    ndr_kernel *kernel = NULL;
    assert_ok(ndr_kernel_from_cl(context, cl, &kernel));
    clReleaseKernel(cl);
    return kernel;
}

enum { FLOATS = 40, GROUP = 8 };

static void assert_blends(ndr_kernel *blend)
{
    float zeros[FLOATS] = { 0 }, out[FLOATS];
    const float hundred = 100;
    const cl_float2 v = { { 3, 4 } };
    ndr_buffer *buffer = buffer_of(sizeof zeros, zeros), *more = buffer_of(sizeof hundred, &hundred);
    const size_t local = fitting_group(blend, GROUP) == GROUP ? GROUP : 1;
    for (int turn = 0; turn < 2; ++turn) {
        assert_ok(ndr_launch(queue, blend, ndr_nd_range_1d(FLOATS, local), buffer, ndr_local(int, local), 0.25f,
                             (signed char)-2, (int64_t)1000, ndr_struct(cl_float2, v), turn ? ndr_null : ndr_arg_of(more)));
        read_buffer(buffer, out, sizeof out);
        for (size_t i = 0; i < FLOATS; ++i)
            assert_true(out[i] == 0.25f - 2 + 1000 + 12 + (float)(local - 1 - i % local) + (turn ? 0.5f : 100));
    }
    destroy_buffers(buffer, more);
}

static void test_kernel_from_cl__launches_with_and_without_argument_info(void **state)
{
    assert_blends(adopted(foreign_kernel(context->cl, "", "blend")));
    assert_blends(adopted(foreign_kernel(context->cl, "-cl-kernel-arg-info", "blend")));
}

static void test_kernel_from_cl__launches_a_binary(void **state)
{
    const cl_kernel cl = kernel_from_binary("", "blend");
    skip_without(cl, "the device gives no binary");
    assert_blends(adopted(cl));
}

static void test_kernel_from_cl__has_its_name_and_limits(void **state)
{
    ndr_kernel *shift = adopted(foreign_kernel(context->cl, "", "shift"));
    ndr_kernel_info info;
    ndr_sub_group_info groups;
    ndr_range local;
    assert_string_equal(shift->name, "shift");
    assert_ok(ndr_kernel_get_info(shift, &info));
    assert_int_equal(info.arg_count, 2);
    assert_true(info.max_group_size > 0);
    assert_ok(ndr_kernel_suggest_local(shift, &(ndr_range){ 1, { 64 } }, &local));
    assert_ok(ndr_kernel_get_sub_groups(shift, &(ndr_range){ 1, { 1 } }, &groups));
    assert_int_equal(groups.count, 1);
}

static void test_kernel_from_cl__checks_what_argument_info_tells(void **state)
{
    ndr_kernel *blend = adopted(foreign_kernel(context->cl, "-cl-kernel-arg-info", "blend"));
    ndr_kernel *shift = adopted(foreign_kernel(context->cl, "-cl-kernel-arg-info", "shift"));
    const float zero = 0;
    float out = 0;
    const cl_float2 v = { { 3, 4 } };
    ndr_buffer *x = buffer_of(sizeof zero, &zero);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, blend, ndr_nd_range_1d(1, 1), x, ndr_local(int, 1), 1.0, (signed char)1, 1,
                              ndr_struct(cl_float2, v), x),
                   "kernel \"blend\", argument 2 \"a\" (float) takes a float, but the double 1 is given");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, blend, ndr_nd_range_1d(1, 1), x, ndr_local(int, 1), 1.0f, 300, 1,
                              ndr_struct(cl_float2, v), x),
                   "kernel \"blend\", argument 3 \"b\" (char) cannot hold 300");
    assert_ok(ndr_launch(queue, shift, ndr_range_1d(1), x, 2.5f)); /* a typedef; no probe can find its size */
    assert_ok(ndr_launch(queue, shift, ndr_range_1d(1), x, ndr_struct(cl_float, 2.5f)));
    take_buffer(x, &out, sizeof out);
    assert_true(out == 5);
}

static void test_kernel_from_cl__checks_what_needs_no_argument_info(void **state)
{
    ndr_kernel *shift = adopted(foreign_kernel(context->cl, "", "shift"));
    ndr_context *other;
    ndr_buffer *x = buffer_of(64, NULL), *strange;
    void *host;
    assert_ok(ndr_context_create(NULL, &other));
    assert_ok(ndr_buffer_create(other, 64, &strange));
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, shift, ndr_range_1d(1), x),
                   "kernel \"shift\" takes 2 arguments, but 1 is given");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, shift, ndr_range_1d(1), strange, 1.0f),
                   "kernel \"shift\", argument 0", "is a buffer of another context");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, shift, ndr_range_1d(1), (ndr_buffer *)NULL, 1.0f),
                   "kernel \"shift\", argument 0", "is a NULL buffer");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, shift, ndr_range_1d(1), x, (ndr_arg){ .kind = NDR_ARG_NONE }),
                   "kernel \"shift\", argument 1", "was never set");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, shift, ndr_range_1d(1), x, (ndr_arg){ .kind = NDR_ARG_SIGNED }),
                   "kernel \"shift\", argument 1", "a number without a dtype");
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, shift, ndr_nd_range_1d(10, 4), x, 1.0f), "kernel \"shift\"",
                   "not a multiple");
    assert_ok(ndr_buffer_map(queue, x, NDR_MAP_READ, 0, 64, &host)); /* libndr does not know how the kernel uses it */
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, shift, ndr_range_1d(1), x, 1.0f),
                   "kernel \"shift\", argument 0", "is a buffer that the host has mapped");
    assert_ok(ndr_buffer_unmap(queue, x, host, NULL));
    destroy_buffers(x, strange);
    ndr_context_destroy(other);
}

/* Some drivers describe parameters even if the build did not request it. libndr uses that. */
static bool describes_parameters(cl_kernel cl)
{
    size_t bytes = 0;
    return clGetKernelArgInfo(cl, 0, CL_KERNEL_ARG_TYPE_NAME, 0, NULL, &bytes) == CL_SUCCESS && bytes > 1;
}

static void test_kernel_from_cl__translates_what_the_driver_refuses(void **state)
{
    const cl_kernel cl = foreign_kernel(context->cl, "", "shift");
    const float zero = 0;
    ndr_buffer *x = buffer_of(sizeof zero, &zero);
    const cl_short two = 2; /* of another size than a handle, with 32 bits, too */
    const bool compares_sizes = clSetKernelArg(cl, 0, sizeof two, &two) == CL_INVALID_ARG_SIZE;
    const bool is_told = describes_parameters(cl);
    ndr_kernel *shift = adopted(cl);
    skip_without(is_told || compares_sizes, "the driver takes any size for a pointer");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, shift, ndr_range_1d(1), two, 2.0f),
                   is_told ? "kernel \"shift\", argument 0 \"out\" (float"
                           : "kernel \"shift\", argument 0 \"?\" (type unknown), of 2 bytes: clSetKernelArg gave "
                             "CL_INVALID_ARG_SIZE (-51); give it the type that the kernel declares");
    assert_ok(ndr_launch(queue, shift, ndr_range_1d(1), x, 2.0f));
    ndr_buffer_destroy(x);
}

static void test_kernel_from_cl__knows_the_vocabularys_kernels(void **state)
{
    ndr_kernel *again;
    int x[5] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    assert_ok(ndr_kernel_from_cl(context, ndr_kernel_cl(kernel_of(plain_kernels, "add_one")), &again));
    assert_ok(ndr_launch(queue, again, ndr_range_1d(5), buffer));
    take_buffer(buffer, x, sizeof x);
    for (int i = 0; i < 5; ++i) assert_int_equal(x[i], 1);
}

static cl_uint kernel_references(cl_kernel cl)
{
    cl_uint count = 0;
    assert_int_equal(clGetKernelInfo(cl, CL_KERNEL_REFERENCE_COUNT, sizeof count, &count, NULL), CL_SUCCESS);
    return count;
}

static void test_kernel_from_cl__keeps_one_reference_as_long_as_the_context(void **state)
{
    const cl_context owner = new_context();
    const cl_kernel cl = foreign_kernel(owner, "", "shift");
    const cl_uint before = kernel_references(cl);
    ndr_context *ours;
    ndr_kernel *first, *second;
    assert_ok(ndr_context_from_cl(owner, context->device, &ours));
    assert_ok(ndr_kernel_from_cl(ours, cl, &first));
    assert_ok(ndr_kernel_from_cl(ours, cl, &second));
    assert_ptr_equal(first, second);
    assert_int_equal(kernel_references(cl), before + 1);
    ndr_context_destroy(ours);
    assert_int_equal(kernel_references(cl), before);
    clReleaseKernel(cl);
    clReleaseContext(owner);
}

static void test_kernel_from_cl__is_a_handle_where_handles_are_checked(void **state)
{
    const cl_context owner = new_context();
    const cl_kernel cl = foreign_kernel(owner, "", "shift");
    ndr_context *ours;
    ndr_kernel *kernel;
    ndr_kernel_info info;
    set_env("NDR_CHECK", "1");
    assert_ok(ndr_context_from_cl(owner, context->device, &ours));
    restore_env();
    assert_ok(ndr_kernel_from_cl(ours, cl, &kernel));
    assert_ok(ndr_kernel_get_info(kernel, &info));
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_from_cl(context, cl, &kernel), "belongs to another OpenCL context");
    ndr_context_destroy(ours);
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get_info(kernel, &info), "kernel is a kernel that has been destroyed");
    clReleaseKernel(cl);
    clReleaseContext(owner);
}

static void test_kernel_from_cl__refuses_null(void **state)
{
    ndr_kernel *kernel = NULL;
    const cl_kernel cl = ndr_kernel_cl(kernel_of(plain_kernels, "add_one"));
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_from_cl(NULL, cl, &kernel), "ndr_kernel_from_cl: context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_from_cl(context, NULL, &kernel), "ndr_kernel_from_cl: cl is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_from_cl(context, cl, NULL), "ndr_kernel_from_cl: kernel is NULL");
    assert_null(kernel);
}

static void test_buffer_from_cl__finds_the_overlap_of_two_over_one_object(void **state)
{
    cl_mem cl = new_buffer(context->cl, 16);
    ndr_buffer *a, *b;
    ndr_event *done = NULL;
    assert_ok(ndr_buffer_from_cl(context, cl, &a));
    assert_ok(ndr_buffer_from_cl(context, cl, &b));
    assert_refused(NDR_BAD_ARGUMENT, ndr_buffer_copy(queue, a, 0, b, 4, 8, &done),
                   "8 bytes from byte 0 and to byte 4 of two buffers over the same memory overlap");
    assert_null(done);
    assert_ok(ndr_buffer_copy(queue, a, 0, b, 8, 8, NULL));
    destroy_buffers(a, b);
    clReleaseMemObject(cl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native__null_gives_null),
        cmocka_unit_test(test_native__handles_are_those_of_the_objects),
        cmocka_unit_test(test_native__buffer_is_reached_by_opencl_itself),
        cmocka_unit_test(test_native__buffer_of_0_bytes_has_one),
        cmocka_unit_test(test_native__event_is_that_of_the_last_piece),
        cmocka_unit_test(test_native__kernel_has_its_name),
        cmocka_unit_test(test_native__kernel_that_others_may_set_is_set_at_each_launch),
        cmocka_unit_test(test_context_from_cl__shares_the_opencl_context),
        cmocka_unit_test(test_context_from_cl__has_a_reference_of_its_own),
        cmocka_unit_test(test_context_from_cl__launches_and_lives_on_when_yours_is_released),
        cmocka_unit_test(test_context_from_cl__refuses_null),
        cmocka_unit_test(test_context_from_cl__refuses_a_device_of_another_context),
        cmocka_unit_test(test_queue_from_cl__shares_the_command_queue),
        cmocka_unit_test(test_queue_from_cl__keeps_times_if_the_command_queue_does),
        cmocka_unit_test(test_queue_from_cl__takes_one_that_is_out_of_order),
        cmocka_unit_test(test_queue_from_cl__refuses_one_of_another_context),
        cmocka_unit_test(test_queue_from_cl__refuses_null),
        cmocka_unit_test(test_buffer_from_cl__shares_the_memory),
        cmocka_unit_test(test_buffer_from_cl__has_a_reference_of_its_own),
        cmocka_unit_test(test_buffer_from_cl__refuses_one_of_another_context),
        cmocka_unit_test(test_buffer_from_cl__refuses_an_image),
        cmocka_unit_test(test_buffer_from_cl__refuses_null),
        cmocka_unit_test(test_kernel_from_cl__launches_with_and_without_argument_info),
        cmocka_unit_test(test_kernel_from_cl__launches_a_binary),
        cmocka_unit_test(test_kernel_from_cl__has_its_name_and_limits),
        cmocka_unit_test(test_kernel_from_cl__checks_what_argument_info_tells),
        cmocka_unit_test(test_kernel_from_cl__checks_what_needs_no_argument_info),
        cmocka_unit_test(test_kernel_from_cl__translates_what_the_driver_refuses),
        cmocka_unit_test(test_kernel_from_cl__knows_the_vocabularys_kernels),
        cmocka_unit_test(test_kernel_from_cl__keeps_one_reference_as_long_as_the_context),
        cmocka_unit_test(test_kernel_from_cl__is_a_handle_where_handles_are_checked),
        cmocka_unit_test(test_kernel_from_cl__refuses_null),
        cmocka_unit_test(test_buffer_from_cl__finds_the_overlap_of_two_over_one_object),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
