/* test_part.c - parts of a device: compute units, launches that run at the same time, and contexts of OpenCL's. */
#include "support.h"

#include "device/context.h"
#include "device/part.h"
#include "ndr/ndr_cl.h"

#define skip_unless_halved() skip_without(can_be_halved(), "the device cannot be divided into two parts")

/* The same device as the other tests, or a part of it. */
static ndr_context *part_of(size_t count, size_t part, const unsigned *units)
{
    ndr_context *made;
    assert_ok(
        ndr_context_create_with(&(ndr_context_desc){ .part_count = count, .part = part, .part_units = units }, &made));
    return made;
}

static unsigned units_of(const ndr_context *of)
{
    ndr_device_info info;
    assert_ok(ndr_context_get_device(of, &info));
    return info.compute_units;
}

/* ---- dividing ---- */

static void test_part__of_equal_ones_has_its_share_of_units(void **state)
{
    skip_unless_halved();
    for (size_t i = 0; i < 2; ++i) {
        cl_device_id whole;
        ndr_context *half = part_of(2, i, NULL);
        assert_int_equal(units_of(half), device.compute_units / 2);
        assert_ok(ndr_part_parent(half->device, &whole));
        assert_true(whole == context->device);
        ndr_context_destroy(half);
    }
    ndr_context *all = part_of(1, 0, NULL);
    assert_int_equal(units_of(all), device.compute_units);
    ndr_context_destroy(all);
}

static void test_part__has_the_units_that_were_asked_for(void **state)
{
    skip_unless_halved();
    const unsigned units[] = { device.compute_units - 1, 1 };
    for (size_t i = 0; i < 2; ++i) {
        ndr_context *part = part_of(2, i, units);
        assert_int_equal(units_of(part), units[i]);
        ndr_context_destroy(part);
    }
}

static void test_part__runs_an_operation_that_its_context_does_not_outlive(void **state)
{
    skip_unless_halved();
    enum { COUNT = 100000 };
    static int32_t ones[COUNT];
    int32_t sum = 0;
    ndr_queue *line;
    ndr_buffer *from, *to;
    for (size_t i = 0; i < COUNT; ++i) ones[i] = 1;
    ndr_context *half = part_of(2, 1, NULL);
    assert_ok(ndr_queue_create(half, NULL, &line));
    assert_ok(ndr_buffer_create_from(half, sizeof ones, ones, &from));
    assert_ok(ndr_buffer_create(half, sizeof sum, &to));
    ndr_context_destroy(half);
    const ndr_reduce_desc desc = {
        .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .count = COUNT, .input = { from, 0 }, .output = { to, 0 }
    };
    assert_ok(ndr_reduce(line, &desc, NULL));
    assert_ok(ndr_buffer_read(line, to, 0, sizeof sum, &sum, NULL));
    assert_int_equal(sum, COUNT);
    destroy_buffers(to, from);
    ndr_queue_destroy(line);
}

/* ---- at the same time ---- */

/* Each launch tells the other that it runs, and waits for the other to say so: in turns, neither would meet the other.
 * They give up after some seconds, so that a failure does not hang. */
static const char meeting[] =
    "#include <ndr/nd_item.clh>\n"
    "kernel void meet(global int *mine, global int *other, global int *met, NDR_ND_RANGE(1))\n"
    "{\n"
    "    volatile global int *wait_for = other;\n"
    "    atomic_xchg((volatile global int *)mine, 1);\n"
    "    for (long i = 0; i < 1000000000L && *wait_for == 0; ++i) mem_fence(CLK_GLOBAL_MEM_FENCE);\n"
    "    *met = *wait_for;\n"
    "}\n";

typedef struct half {
    ndr_context *context;
    ndr_queue *queue;
    ndr_kernel *kernel;
    ndr_buffer *mine, *other, *met;
    ndr_status status;
    int has_met;
} half;

static half open_half(size_t part, int *flags)
{
    half h = { .context = part_of(2, part, NULL) };
    assert_ok(ndr_queue_create(h.context, NULL, &h.queue));
    assert_ok(ndr_kernel_get(h.context, &(ndr_kernel_desc){ .source = meeting, .name = "meet" }, &h.kernel));
    assert_ok(ndr_buffer_create_over(h.context, 4096, (char *)flags + 4096 * part, &h.mine));
    assert_ok(ndr_buffer_create_over(h.context, 4096, (char *)flags + 4096 * (1 - part), &h.other));
    assert_ok(ndr_buffer_create_from(h.context, sizeof(int), &(int){ 0 }, &h.met));
    return h;
}

static void *run_half(void *half_)
{
    half *h = half_;
    const ndr_arg args[] = { ndr_arg_buffer_(h->mine), ndr_arg_buffer_(h->other), ndr_arg_buffer_(h->met) };
    const ndr_nd_range one = ndr_nd_range_1d(1, 1);
    h->status = ndr_launch_v(h->queue, h->kernel, &one, args, 3, NULL);
    if (h->status == NDR_OK) h->status = ndr_buffer_read(h->queue, h->met, 0, sizeof h->has_met, &h->has_met, NULL);
    return NULL;
}

static void close_half(const half *h)
{
    destroy_buffers(h->met, h->other, h->mine);
    ndr_queue_destroy(h->queue);
    ndr_context_destroy(h->context);
}

static void test_part__runs_a_launch_while_another_part_runs_one(void **state)
{
    skip_unless_halved();
    skip_where_launches_are_waited_for();
    skip_without(!context->caps.wait_helps, "Intel's runtime may run the launches of two parts one after the other");
    static _Alignas(4096) int flags[2 * 4096 / sizeof(int)];
    half halves[] = { open_half(0, flags), open_half(1, flags) };
    ndr_thread threads[2];
    for (size_t i = 0; i < 2; ++i) assert_true(ndr_thread_start(&threads[i], run_half, &halves[i]));
    for (size_t i = 0; i < 2; ++i) ndr_thread_join(threads[i]);
    for (size_t i = 0; i < 2; ++i) {
        assert_ok(halves[i].status);
        assert_int_equal(halves[i].has_met, 1);
        close_half(&halves[i]);
    }
}

/* ---- OpenCL's own ---- */

static cl_uint divided(cl_device_id parts[2])
{
    cl_uint count = 0;
    const cl_device_partition_property how[] = { CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, 0, 0 };
    assert_int_equal(clCreateSubDevices(context->device, how, 2, parts, &count), CL_SUCCESS);
    return count;
}

static void test_context_from_cl__takes_a_part_of_a_device(void **state)
{
    skip_unless_halved();
    static cl_device_id parts[2]; /* which nothing releases: PoCL 3 may still use them */
    cl_int error;
    ndr_context *ours;
    ndr_queue *line;
    ndr_buffer *x;
    int got = 0;
    assert_int_equal(divided(parts), 2);
    const cl_context cl = clCreateContext(NULL, 1, &parts[1], NULL, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_ok(ndr_context_from_cl(cl, parts[1], &ours));
    clReleaseContext(cl); /* the parts stay, as ndr_context_from_cl() says */
    assert_int_equal(units_of(ours), 1);
    assert_ok(ndr_queue_create(ours, NULL, &line));
    assert_ok(ndr_buffer_create_from(ours, sizeof got, &(int){ 7 }, &x));
    assert_ok(ndr_buffer_read(line, x, 0, sizeof got, &got, NULL));
    assert_int_equal(got, 7);
    ndr_buffer_destroy(x);
    ndr_queue_destroy(line);
    ndr_context_destroy(ours);
}

static cl_command_queue CL_API_CALL refuse_queue(cl_context cl, cl_device_id of, cl_command_queue_properties properties,
                                                 cl_int *error)
{
    *error = CL_INVALID_DEVICE;
    return NULL;
}

/* As drivers do that keep to the standard. */
static void test_context_from_cl__refuses_a_part_in_a_context_of_the_whole(void **state)
{
    skip_unless_halved();
    static cl_device_id parts[2]; /* which nothing releases: PoCL 3 may still use them */
    ndr_context *ours = NULL;
    assert_int_equal(divided(parts), 2);
    __typeof__(clCreateCommandQueue) *const there = ndr_cl.clCreateCommandQueue;
    ndr_cl.clCreateCommandQueue = refuse_queue;
    const ndr_status status = ndr_context_from_cl(context->cl, parts[0], &ours);
    ndr_cl.clCreateCommandQueue = there;
    for (size_t i = 0; i < 2; ++i) clReleaseDevice(parts[i]);
    assert_refused(NDR_BAD_ARGUMENT, status, "the device does not belong to the OpenCL context");
    assert_null(ours);
}

/* ---- refusals ---- */

static ndr_status divide(ndr_context_desc desc)
{
    ndr_context *made = NULL;
    const ndr_status status = ndr_context_create_with(&desc, &made);
    assert_null(made);
    return status;
}

static void test_part__refuses_what_is_no_part(void **state)
{
    const unsigned none[] = { 0, 1 }, too_many[] = { device.compute_units, 1 }, one[] = { 1, 1 };
    char units[64];
    snprintf(units, sizeof units, "are %u compute units together", device.compute_units + 1);
    assert_refused(NDR_BAD_ARGUMENT, divide((ndr_context_desc){ .part_count = 2, .part = 2 }),
                   "ndr_context_create_with: part is 2, but part_count is 2; parts count from 0");
    assert_refused(NDR_BAD_ARGUMENT, divide((ndr_context_desc){ .part = 1 }),
                   "part is set, but part_count is 0; set it to the number of parts");
    assert_refused(NDR_BAD_ARGUMENT, divide((ndr_context_desc){ .part_units = one }),
                   "part_units is set, but part_count");
    assert_refused(NDR_LIMIT_EXCEEDED, divide((ndr_context_desc){ .part_count = SIZE_MAX }),
                   "compute units; a part needs one", device.name);
    if (device.compute_units < 2) return;
    assert_refused(NDR_BAD_ARGUMENT, divide((ndr_context_desc){ .part_count = 2, .part_units = none }),
                   "part_units[0] is 0; give each part at least one");
    assert_refused(NDR_LIMIT_EXCEEDED, divide((ndr_context_desc){ .part_count = 2, .part_units = too_many }), units);
}

static __typeof__(clGetDeviceInfo) *driver_info;

static cl_int CL_API_CALL tell_no_division(cl_device_id asked, cl_device_info what, size_t size, void *value,
                                           size_t *needed)
{
    if (what != CL_DEVICE_PARTITION_PROPERTIES) return driver_info(asked, what, size, value, needed);
    *(cl_device_partition_property *)value = 0;
    *needed = sizeof(cl_device_partition_property);
    return CL_SUCCESS;
}

static void test_part__refuses_a_device_that_cannot_be_divided(void **state)
{
    const unsigned one = 1;
    driver_info = ndr_cl.clGetDeviceInfo;
    ndr_cl.clGetDeviceInfo = tell_no_division;
    if (device.compute_units >= 2)
        assert_refused(NDR_UNSUPPORTED, divide((ndr_context_desc){ .part_count = 2 }), device.name,
                       "cannot be divided into equal parts; leave out part_count, or choose a CPU");
    assert_refused(NDR_UNSUPPORTED, divide((ndr_context_desc){ .part_count = 1, .part_units = &one }),
                   "cannot be divided into parts of given compute units");
    ndr_cl.clGetDeviceInfo = driver_info;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_part__of_equal_ones_has_its_share_of_units),
        cmocka_unit_test(test_part__has_the_units_that_were_asked_for),
        cmocka_unit_test(test_part__runs_an_operation_that_its_context_does_not_outlive),
        cmocka_unit_test(test_part__runs_a_launch_while_another_part_runs_one),
        cmocka_unit_test(test_context_from_cl__takes_a_part_of_a_device),
        cmocka_unit_test(test_context_from_cl__refuses_a_part_in_a_context_of_the_whole),
        cmocka_unit_test(test_part__refuses_what_is_no_part),
        cmocka_unit_test(test_part__refuses_a_device_that_cannot_be_divided),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
