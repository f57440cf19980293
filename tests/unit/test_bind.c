/* test_bind.c - functions that `ndr bind` generates: each way of passing an argument, constants, and refusals. */
#include "support.h"

#include "ndr/ndr_image.h"

#include "bind.cl.h"
#include "bind_double.cl.h"
#include "bind_images.cl.h"
#include "bind_more.cl.h"

enum { N = 12 };

static void test_bind__passes_numbers(void **state)
{
    float out[N];
    const size_t h = 8;
    ndr_buffer *buffer = buffer_of(sizeof out, NULL);
    assert_ok(numbers(queue, ndr_range_1d(N), buffer, -1, (unsigned char)2, -3, 4u, -5L, 6, -7LL, h, 0.5f));
    take_buffer(buffer, out, sizeof out);
    for (size_t i = 0; i < N; ++i) assert_true(out[i] == -1 + 2 - 3 + 4 - 5 + 6 - 7 + 8 + 0.5f + 7 + 1 + 3);
}

static void test_bind__passes_doubles(void **state)
{
    skip_without(device.has_f64, "the device has no double");
    double out[1];
    const double x = 0.3, y[2] = { 3, 0.1 }; /* i386's C computes with constants of more bits than a double */
    double expected = x * y[0];
    ndr_buffer *buffer = buffer_of(sizeof out, NULL);
    assert_ok(product(queue, ndr_range_1d(1), buffer, x, y));
    read_buffer(buffer, out, sizeof out);
    expected *= y[1];
    assert_true(out[0] == expected);
    assert_ok(product(queue, ndr_range_1d(1), buffer, 0.5f, y));
    take_buffer(buffer, out, sizeof out);
    expected = 0.5 * y[0] * y[1];
    assert_true(out[0] == expected);
}

static void test_bind__refuses_an_integer_that_does_not_fit(void **state)
{
    int none[N];
    ndr_buffer *buffer = buffer_of(sizeof none, NULL);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, more_sum(queue, ndr_range_1d(N), buffer, INT64_C(1) << 40),
                   "argument 1 \"y\"", "1099511627776");
    assert_refused(NDR_LIMIT_EXCEEDED, reverse(queue, ndr_nd_range_1d(N, 4), buffer, -1, 4, 4, buffer),
                   "argument 1 \"tile\"");
    ndr_buffer_destroy(buffer);
}

static void test_bind__passes_vectors(void **state)
{
    float out[N];
    const float v[4] = { 1, 2, 3, 4 };
    const uint8_t u[3] = { 10, 20, 30 };
    float w[2] = { 100, 200 };
    ndr_buffer *buffer = buffer_of(sizeof out, NULL);
    assert_ok(vectors(queue, ndr_range_1d(N), buffer, v, u, w));
    take_buffer(buffer, out, sizeof out);
    for (size_t i = 0; i < N; ++i) assert_true(out[i] == 370);
}

typedef struct {
    int only_here;
} hidden;

static void test_bind__passes_structs(void **state)
{
    float out[N];
    const struct pair p = { 1, 0.5f };
    const hidden h = { 1000 };
    ndr_buffer *buffer = buffer_of(sizeof out, NULL);
    assert_ok(structs(queue, ndr_range_1d(N), buffer, p, ((cell){ 2, 300 }), ndr_struct(hidden, h)));
    take_buffer(buffer, out, sizeof out);
    for (size_t i = 0; i < N; ++i) assert_true(out[i] == 1303.5f);
}

static void test_bind__gives_local_memory_by_count(void **state)
{
    int x[N];
    for (int i = 0; i < N; ++i) x[i] = i;
    ndr_buffer *in = buffer_of(sizeof x, x), *out = buffer_of(sizeof x, NULL);
    assert_int_equal(reverse_local_size_0, bind_GROUP);
    const ndr_nd_range range = ndr_nd_range_1d(N, reverse_local_size_0);
    assert_ok(reverse(queue, range, in, bind_GROUP, bind_GROUP, bind_GROUP, out));
    take_buffer(out, x, sizeof x);
    for (int i = 0; i < N; ++i) assert_int_equal(x[i], i / 4 * 4 + 3 - i % 4);
    ndr_buffer_destroy(in);
}

static void test_bind__has_constants(void **state)
{
    assert_int_equal(bind_GROUP, 4);
    assert_int_equal(bind_WIDE, 8);
    assert_int_equal(bind_STEPS, 3);
    assert_int_equal(bind_bias, 7);
    assert_int_equal(bind_weights_count, 5);
}

static void test_bind__takes_names_of_its_own_and_of_cxx(void **state)
{
    int x[N];
    ndr_buffer *buffer = buffer_of(sizeof x, NULL);
    assert_ok(names(queue, ndr_range_1d(N), buffer, 1, 20, 300));
    take_buffer(buffer, x, sizeof x);
    for (size_t i = 0; i < N; ++i) assert_int_equal(x[i], 321);
}

static void test_bind__launches_after_events(void **state)
{
    const int ones[N] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    int total = 0;
    ndr_event *added, *summed;
    ndr_buffer *x = buffer_of(sizeof ones, ones), *result = buffer_of(sizeof total, &total);
    assert_ok(more_sum_event(queue, &added, ndr_range_1d(N), x, 4));
    assert_ok(sum_event(ndr_after(queue, added), &summed, ndr_range_1d(N), x, ndr_reducer(NDR_OP_SUM, 100, result, 0)));
    assert_ok(ndr_event_wait(summed));
    take_buffer(result, &total, sizeof total);
    assert_int_equal(total, 160);
    ndr_event_destroy(added);
    ndr_event_destroy(summed);
    ndr_buffer_destroy(x);
}

static void test_bind__prepares_launches(void **state)
{
    int x[N];
    for (int i = 0; i < N; ++i) x[i] = i;
    ndr_prepared *added, *reversed, *named;
    ndr_buffer *in = buffer_of(sizeof x, x), *out = buffer_of(sizeof x, NULL);
    assert_ok(more_sum_prepare(context, &added, ndr_range_1d(N), in, 4));
    assert_ok(reverse_prepare(context, &reversed, ndr_nd_range_1d(N, 4), in, 4, 4, 4, out));
    assert_ok(names_prepare(context, &named, ndr_range_1d(N), in, 1, 20, 300));
    assert_ok(ndr_prepared_run(queue, added, NULL));
    assert_ok(ndr_prepared_run(queue, added, NULL));
    assert_ok(ndr_prepared_set(added, 1, ndr_arg_of(-5)));
    assert_ok(ndr_prepared_run(queue, added, NULL));
    assert_ok(ndr_prepared_run(queue, reversed, NULL));
    read_buffer(out, x, sizeof x);
    for (int i = 0; i < N; ++i) assert_int_equal(x[i], i / 4 * 4 + 3 - i % 4 + 4 + 4 - 5);
    assert_ok(ndr_prepared_run(queue, named, NULL));
    take_buffer(in, x, sizeof x);
    for (int i = 0; i < N; ++i) assert_int_equal(x[i], 321);
    ndr_prepared_destroy(added);
    ndr_prepared_destroy(reversed);
    ndr_prepared_destroy(named);
    ndr_buffer_destroy(out);
}

/* The kernel is the context's: a function of another name for the same kernel would be another object. */
static void test_bind__finds_the_kernel_that_ndr_kernel_get_gives(void **state)
{
    ndr_kernel *first, *second;
    const ndr_kernel_desc desc = sum_desc(), more = more_sum_desc();
    assert_ok(ndr_kernel_get(context, &desc, &first));
    assert_ok(ndr_kernel_get(context, &desc, &second));
    assert_ptr_equal(first, second);
    assert_ok(ndr_kernel_get(context, &more, &second));
    assert_ptr_not_equal(first, second);
    const ndr_kernel_desc other_text = {
        .name = "sum", .source = "-", .source_key = desc.source_key, .label = "bind.cl", .options = desc.options
    };
    assert_ok(ndr_kernel_get(context, &other_text, &second)); /* found by its key */
    assert_ptr_equal(first, second);
    assert_string_equal(desc.label, "bind.cl");
    assert_string_equal(desc.options, "-DSTEPS=3");
}

static void test_bind__passes_images_and_samplers(void **state)
{
    const ndr_image_desc desc = { .size = ndr_range_2d(2, 2), .format = { NDR_CHANNELS_R, NDR_CHANNEL_F32 } };
    const float pixels[4] = { 1, 2, 3, 4 };
    float out[1];
    ndr_image *image;
    ndr_sampler *sampler;
    if (ndr_image_create(context, &desc, &image) != NDR_OK) {
        print_message("skipped: %s\n", ndr_last_error());
        skip();
    }
    assert_ok(ndr_sampler_create(context, NULL, &sampler));
    ndr_buffer *buffer = buffer_of(sizeof out, NULL);
    assert_ok(ndr_image_write(queue, image, NULL, pixels, NULL));
    assert_ok(more_fetch(queue, ndr_range_1d(1), image, sampler, buffer));
    take_buffer(buffer, out, sizeof out);
    assert_true(out[0] == 2);
    ndr_sampler_destroy(sampler);
    ndr_image_destroy(image);
}

static void test_bind__refuses_what_a_launch_refuses(void **state)
{
    int x[N];
    ndr_buffer *buffer = buffer_of(sizeof x, NULL);
    assert_refused(NDR_BAD_ARGUMENT, more_sum((ndr_queue *)NULL, ndr_range_1d(N), buffer, 1), "queue is NULL");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, more_sum(queue, ndr_range_1d(N), (ndr_buffer *)NULL, 1),
                   "argument 0 \"x\"");
    ndr_prepared *none = NULL;
    assert_refused(NDR_BAD_ARGUMENT, more_sum_prepare(NULL, &none, ndr_range_1d(N), buffer, 1), "context is NULL");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, more_sum_prepare(context, &none, ndr_range_1d(N), (ndr_buffer *)NULL, 1),
                   "argument 0 \"x\"");
    assert_null(none);
    const ndr_kernel_desc broken = { .name = "k", .source = "kernel void k( {}", .label = "k.cl" };
    const ndr_nd_range range = ndr_nd_range_of(ndr_range_1d(1), (ndr_range){ 0, { 0 } });
    assert_refused(NDR_BUILD_FAILED, ndr_launch_desc_v(queue, &broken, &range, NULL, 0, NULL),
                   "\"k.cl\" did not build");
    assert_refused(NDR_BAD_ARGUMENT, ndr_launch_desc_v(queue, NULL, &range, NULL, 0, NULL), "desc is NULL");
    ndr_buffer_destroy(buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bind__passes_numbers),
        cmocka_unit_test(test_bind__passes_doubles),
        cmocka_unit_test(test_bind__refuses_an_integer_that_does_not_fit),
        cmocka_unit_test(test_bind__passes_vectors),
        cmocka_unit_test(test_bind__passes_structs),
        cmocka_unit_test(test_bind__gives_local_memory_by_count),
        cmocka_unit_test(test_bind__has_constants),
        cmocka_unit_test(test_bind__takes_names_of_its_own_and_of_cxx),
        cmocka_unit_test(test_bind__launches_after_events),
        cmocka_unit_test(test_bind__prepares_launches),
        cmocka_unit_test(test_bind__finds_the_kernel_that_ndr_kernel_get_gives),
        cmocka_unit_test(test_bind__passes_images_and_samplers),
        cmocka_unit_test(test_bind__refuses_what_a_launch_refuses),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
