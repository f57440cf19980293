/* test_interop.c - libndr, raw OpenCL and other libraries on one queue and the same buffers. */
#include "support.h"

#include <math.h>

#include "ndr/ndr_cl.h"

#ifdef HAS_CLBLAST
#include <clblast_c.h>
#endif
#ifdef HAS_CLFFT
#include <clFFT.h>
#endif

#if defined HAS_CLBLAST || defined HAS_CLFFT
static const char kernels[] = "#include <ndr/item.clh>\n"
                              "kernel void add(global float *x, float by, NDR_RANGE(1))\n"
                              "{\n"
                              "    const ndr_item it = NDR_ITEM(1);\n"
                              "    x[ndr_global_id(it, 0)] += by;\n"
                              "}\n"
                              "kernel void multiply(global float2 *x, global const float2 *by, NDR_RANGE(1))\n"
                              "{\n"
                              "    const ndr_item it = NDR_ITEM(1);\n"
                              "    const float2 a = x[ndr_global_id(it, 0)], b = by[ndr_global_id(it, 0)];\n"
                              "    x[ndr_global_id(it, 0)] = (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);\n"
                              "}\n";
#endif

/* ---- one queue ---- */

#ifdef HAS_CLBLAST

enum { N = 4097 };

/* A context and a queue that were made with OpenCL, as libndr's. */
typedef struct adopted {
    cl_command_queue cl;
    ndr_context *context;
    ndr_queue *line;
} adopted;

static adopted adopt(void)
{
    cl_int error;
    const cl_device_id id = ndr_context_cl_device(context);
    const cl_context made = clCreateContext(NULL, 1, &id, NULL, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    adopted a = { .cl = clCreateCommandQueue(made, id, 0, &error) };
    assert_int_equal(error, CL_SUCCESS);
    assert_ok(ndr_context_from_cl(made, id, &a.context));
    assert_ok(ndr_queue_from_cl(a.context, a.cl, &a.line));
    clReleaseContext(made); /* libndr has a reference of its own */
    return a;
}

static void release(const adopted *a)
{
    clReleaseCommandQueue(a->cl);
    ndr_queue_destroy(a->line);
    ndr_context_destroy(a->context);
}

/* Nothing waits between the commands: each library must find what the one before has written. */
static void run_all(ndr_context *in, ndr_queue *line, cl_command_queue cl, float *got)
{
    static float x[N], y[N];
    ndr_kernel *add;
    ndr_buffer *on_device[4];
    for (size_t i = 0; i < N; ++i) x[i] = (float)(i % 64), y[i] = (float)(i % 7);
    for (size_t i = 0; i < 4; ++i) assert_ok(ndr_buffer_create(in, sizeof x, &on_device[i]));
    assert_ok(ndr_kernel_get(in, &(ndr_kernel_desc){ .name = "add", .source = kernels }, &add));
    cl_mem x_cl = ndr_buffer_cl(on_device[0]), y_cl = ndr_buffer_cl(on_device[1]), z_cl = ndr_buffer_cl(on_device[2]);
    assert_int_equal(clEnqueueWriteBuffer(cl, x_cl, CL_FALSE, 0, sizeof x, x, 0, NULL, NULL), CL_SUCCESS);
    assert_int_equal(clEnqueueWriteBuffer(cl, y_cl, CL_FALSE, 0, sizeof y, y, 0, NULL, NULL), CL_SUCCESS);
    assert_ok(ndr_launch(line, add, ndr_range_1d(N), on_device[0], 1.0f));
    assert_int_equal(CLBlastSaxpy(N, 2.0f, x_cl, 0, 1, y_cl, 0, 1, &cl, NULL), CLBlastSuccess);
    assert_ok(ndr_launch(line, add, ndr_range_1d(N), on_device[1], 3.0f));
    assert_int_equal(clEnqueueCopyBuffer(cl, y_cl, z_cl, 0, 0, sizeof y, 0, NULL, NULL), CL_SUCCESS);
    const ndr_reduce_desc sum = { .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .input = { on_device[2], 0 }, .count = N,
                                  .output = { on_device[3], 0 } };
    assert_ok(ndr_reduce(line, &sum, NULL));
    const cl_mem sum_cl = ndr_buffer_cl(on_device[3]);
    assert_int_equal(clEnqueueReadBuffer(cl, sum_cl, CL_FALSE, 0, sizeof *got, got + N, 0, NULL, NULL), CL_SUCCESS);
    assert_ok(ndr_buffer_read(line, on_device[2], 0, sizeof y, got, NULL));
    for (size_t i = 0; i < 4; ++i) ndr_buffer_destroy(on_device[i]);
}

/* Whole numbers whose sum is below 2^24: exact. */
static void expect_all(const float *got)
{
    float sum = 0;
    for (size_t i = 0; i < N; ++i) {
        const float expected = 2.0f * ((float)(i % 64) + 1) + (float)(i % 7) + 3;
        if (got[i] != expected) fail_msg("element %zu is %g, not %g", i, (double)got[i], (double)expected);
        sum += expected;
    }
    assert_true(got[N] == sum);
}

static void test_interop__mixes_opencl_clblast_and_libndr_on_one_queue(void **state)
{
    static float got[N + 1];
    run_all(context, queue, ndr_queue_cl(queue), got);
    expect_all(got);
    memset(got, 0, sizeof got);
    const adopted a = adopt();
    run_all(a.context, a.line, a.cl, got);
    expect_all(got);
    release(&a);
}

#else

static void test_interop__mixes_opencl_clblast_and_libndr_on_one_queue(void **state)
{
    skip_without(false, "built without CLBlast (Debian: libclblast-dev)");
}

#endif

/* ---- Fourier transforms ---- */

#ifdef HAS_CLFFT

enum { LENGTH = 32, SHIFT = 7 };

typedef struct complex_number {
    float re, im;
} complex_number;

/* e^(-2 pi i k / LENGTH) */
static complex_number root(size_t k)
{
    const double angle = -2 * 3.14159265358979323846 * (double)(k % LENGTH) / LENGTH;
    return (complex_number){ (float)cos(angle), (float)sin(angle) };
}

static void transform(const complex_number *x, complex_number *to)
{
    for (size_t k = 0; k < LENGTH; ++k) {
        double re = 0, im = 0;
        for (size_t i = 0; i < LENGTH; ++i) {
            const complex_number r = root(k * i);
            re += (double)x[i].re * r.re - (double)x[i].im * r.im;
            im += (double)x[i].re * r.im + (double)x[i].im * r.re;
        }
        to[k] = (complex_number){ (float)re, (float)im };
    }
}

static void expect_near(const complex_number *got, const complex_number *wanted, float bound)
{
    for (size_t i = 0; i < LENGTH; ++i)
        if (!(fabsf(got[i].re - wanted[i].re) <= bound && fabsf(got[i].im - wanted[i].im) <= bound))
            fail_msg("element %zu is (%g, %g), not (%g, %g)", i, (double)got[i].re, (double)got[i].im,
                     (double)wanted[i].re, (double)wanted[i].im);
}

static clfftPlanHandle make_plan(cl_command_queue cl)
{
    const size_t length = LENGTH;
    clfftPlanHandle plan;
    assert_int_equal(clfftCreateDefaultPlan(&plan, ndr_context_cl(context), CLFFT_1D, &length), CLFFT_SUCCESS);
    assert_int_equal(clfftSetPlanPrecision(plan, CLFFT_SINGLE), CLFFT_SUCCESS);
    assert_int_equal(clfftSetLayout(plan, CLFFT_COMPLEX_INTERLEAVED, CLFFT_COMPLEX_INTERLEAVED), CLFFT_SUCCESS);
    assert_int_equal(clfftSetResultLocation(plan, CLFFT_INPLACE), CLFFT_SUCCESS);
    assert_int_equal(clfftBakePlan(plan, 1, &cl, NULL, NULL), CLFFT_SUCCESS);
    return plan;
}

/* New compilers refuse clFFT 2.12's kernels, which initialise a float4 pointer by a float2 pointer. clFFT prints the
 * compiler's errors, goes on and reports an invalid program. */
static void enqueue_plan(clfftPlanHandle plan, clfftDirection direction, cl_command_queue cl, cl_mem data)
{
    const clfftStatus status = clfftEnqueueTransform(plan, direction, 1, &cl, 0, NULL, NULL, &data, NULL, NULL);
    const bool has_built = status != CLFFT_BUILD_PROGRAM_FAILURE && status != CLFFT_INVALID_PROGRAM;
    if (!has_built) assert_int_equal(clfftTeardown(), CLFFT_SUCCESS);
    skip_without(has_built, "the driver's compiler refuses clFFT's own kernels");
    assert_int_equal(status, CLFFT_SUCCESS);
}

/* A kernel of libndr turns the phases of the spectrum, so that the inverse transform gives the input, rotated. */
static void test_interop__transforms_buffers_of_libndr_by_clfft(void **state)
{
    complex_number x[LENGTH], phases[LENGTH], spectrum[LENGTH], rotated[LENGTH], got[LENGTH];
    for (size_t i = 0; i < LENGTH; ++i) {
        x[i] = (complex_number){ (float)(i * i % 17) / 16, (float)(i % 5) / 4 };
        rotated[(i + SHIFT) % LENGTH] = x[i];
        phases[i] = root(SHIFT * i);
    }
    transform(x, spectrum);
    const clfftSetupData setup = { clfftVersionMajor, clfftVersionMinor, clfftVersionPatch, 0 };
    cl_command_queue cl = ndr_queue_cl(queue);
    ndr_buffer *data = buffer_of(sizeof x, x), *by = buffer_of(sizeof phases, phases);
    assert_int_equal(clfftSetup(&setup), CLFFT_SUCCESS);
    clfftPlanHandle plan = make_plan(cl);
    enqueue_plan(plan, CLFFT_FORWARD, cl, ndr_buffer_cl(data));
    read_buffer(data, got, sizeof got);
    expect_near(got, spectrum, 1e-4f * LENGTH);
    assert_ok(ndr_launch(queue, kernel_of(kernels, "multiply"), ndr_range_1d(LENGTH), data, by));
    enqueue_plan(plan, CLFFT_BACKWARD, cl, ndr_buffer_cl(data));
    read_buffer(data, got, sizeof got);
    expect_near(got, rotated, 1e-5f);
    assert_int_equal(clfftDestroyPlan(&plan), CLFFT_SUCCESS);
    assert_int_equal(clfftTeardown(), CLFFT_SUCCESS);
    ndr_buffer_destroy(data);
    ndr_buffer_destroy(by);
}

#else

static void test_interop__transforms_buffers_of_libndr_by_clfft(void **state)
{
    skip_without(false, "built without clFFT (Debian: libclfft-dev)");
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interop__mixes_opencl_clblast_and_libndr_on_one_queue),
        cmocka_unit_test(test_interop__transforms_buffers_of_libndr_by_clfft),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
