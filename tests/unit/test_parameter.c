/* test_parameter.c - what a program has: all its kernels, their parameters, its binary. */
#include "support.h"

#include "ndr/ndr_image.h"

static const char text[] =
    "#include \"ndr/nd_item.clh\"\n"
    "#include \"ndr/reduction.clh\"\n"
    "struct pair { int first; float second; };\n"
    "kernel void pointers(global const float *in, global uint4 *out, constant short *table, local long *scratch) {}\n"
    "kernel void values(uchar n, float3 v, struct pair p, NDR_RANGE(1)) {}\n"
    "kernel void groups(global int *x, NDR_ND_RANGE(2)) {}\n"
    "kernel void total(global const int *x, NDR_REDUCTION(1, (SUM, int, sum)))\n"
    "{\n"
    "    NDR_REDUCE(i, 1, sum) { NDR_COMBINE(sum, x[ndr_global_id(i, 0)]); }\n"
    "}\n";

static const char plain[] = "kernel void add_one(global int *x) { x[get_global_id(0)] += 1; }\n"
                            "kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }\n";

static ndr_parameter_info parameter_of(ndr_kernel *kernel, size_t index)
{
    ndr_parameter_info info;
    assert_ok(ndr_kernel_get_parameter(kernel, index, &info));
    return info;
}

static ndr_kernel_info info_of(ndr_kernel *kernel)
{
    ndr_kernel_info info;
    assert_ok(ndr_kernel_get_info(kernel, &info));
    return info;
}

/* ---- all kernels ---- */

static void test_kernel_get_all__lists_each_kernel_once(void **state)
{
    const ndr_kernel_desc desc = { .source = plain };
    ndr_kernel *kernels[4] = { NULL };
    size_t count = 0;
    assert_ok(ndr_kernel_get_all(context, &desc, 0, NULL, &count));
    assert_int_equal(count, 2);
    assert_ok(ndr_kernel_get_all(context, &desc, 4, kernels, &count));
    assert_int_equal(count, 2);
    assert_null(kernels[2]);
    const bool is_swapped = strcmp(info_of(kernels[0]).name, "add") == 0;
    assert_string_equal(info_of(kernels[is_swapped]).name, "add_one");
    assert_string_equal(info_of(kernels[!is_swapped]).name, "add");
    assert_ptr_equal(kernels[is_swapped], kernel_of(plain, "add_one"));
}

static void test_kernel_get_all__fills_only_the_capacity(void **state)
{
    ndr_kernel *kernels[2] = { NULL };
    size_t count = 0;
    assert_ok(ndr_kernel_get_all(context, &(ndr_kernel_desc){ .source = plain }, 1, kernels, &count));
    assert_int_equal(count, 2);
    assert_non_null(kernels[0]);
    assert_null(kernels[1]);
}

static void test_kernel_get_all__hides_the_probes_of_types(void **state)
{
    size_t count = 0;
    const char with_types[] = "typedef uint count_t;\nkernel void k(global int *x, count_t n) { x[0] = (int)n; }\n";
    assert_ok(ndr_kernel_get_all(context, &(ndr_kernel_desc){ .source = with_types }, 0, NULL, &count));
    assert_int_equal(count, 1);
}

static void test_kernel_get_all__of_a_text_without_kernels_is_none(void **state)
{
    size_t count = 9;
    assert_ok(
        ndr_kernel_get_all(context, &(ndr_kernel_desc){ .source = "int two(void) { return 2; }\n" }, 0, NULL, &count));
    assert_int_equal(count, 0);
}

static void test_kernel_get_all__refuses_what_does_not_build_and_no_memory(void **state)
{
    size_t count = 9;
    ndr_kernel_desc desc = { .source = "kernel void k(global int *x) { x[0] = nothing; }\n" };
    assert_refused(NDR_BUILD_FAILED, ndr_kernel_get_all(context, &desc, 0, NULL, &count), "did not build");
    desc.source = plain;
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get_all(context, &desc, 2, NULL, &count),
                   "kernels is NULL, but capacity is 2");
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get_all(context, NULL, 0, NULL, &count), "desc is NULL");
    assert_int_equal(count, 9);
}

/* ---- parameters ---- */

static void test_parameter__describes_pointers(void **state)
{
    ndr_kernel *kernel = kernel_of(text, "pointers");
    static const struct {
        const char *name;
        ndr_parameter_kind kind;
        ndr_dtype dtype;
        unsigned lanes;
        ndr_access access;
    } wanted[] = { { "in", NDR_PARAMETER_GLOBAL, NDR_DTYPE_F32, 1, NDR_ACCESS_READ },
                   { "out", NDR_PARAMETER_GLOBAL, NDR_DTYPE_U32, 4, NDR_ACCESS_READ_WRITE },
                   { "table", NDR_PARAMETER_CONSTANT, NDR_DTYPE_I16, 1, NDR_ACCESS_READ },
                   { "scratch", NDR_PARAMETER_LOCAL, NDR_DTYPE_I64, 1, NDR_ACCESS_READ_WRITE } };
    for (size_t i = 0; i < 4; ++i) {
        const ndr_parameter_info p = parameter_of(kernel, i);
        assert_string_equal(p.name, wanted[i].name);
        assert_int_equal(p.kind, wanted[i].kind);
        assert_int_equal(p.dtype, wanted[i].dtype);
        assert_int_equal(p.lanes, wanted[i].lanes);
        assert_int_equal(p.access, wanted[i].access);
        assert_non_null(strchr(p.type_name, '*'));
    }
}

static void test_parameter__describes_values_without_the_range(void **state)
{
    ndr_kernel *kernel = kernel_of(text, "values");
    assert_int_equal(info_of(kernel).arg_count, 3);
    const ndr_parameter_info n = parameter_of(kernel, 0), v = parameter_of(kernel, 1), p = parameter_of(kernel, 2);
    assert_int_equal(n.kind, NDR_PARAMETER_NUMBER);
    assert_int_equal(n.dtype, NDR_DTYPE_U8);
    assert_int_equal(n.size_bytes, 1);
    assert_int_equal(v.kind, NDR_PARAMETER_VECTOR);
    assert_int_equal(v.lanes, 3);
    assert_int_equal(v.size_bytes, 16);
    assert_int_equal(p.kind, NDR_PARAMETER_STRUCT);
    assert_int_equal(p.dtype, NDR_DTYPE_NONE);
    assert_int_equal(p.lanes, 0);
    assert_int_equal(p.size_bytes, 8);
}

static void test_parameter__describes_reducers(void **state)
{
    const ndr_parameter_info sum = parameter_of(kernel_of(text, "total"), 1);
    assert_int_equal(sum.kind, NDR_PARAMETER_REDUCER);
    assert_string_equal(sum.type_name, "SUM_int*");
    assert_int_equal(sum.op, NDR_OP_SUM);
    assert_int_equal(sum.dtype, NDR_DTYPE_I32);
}

static void test_parameter__describes_images_and_samplers(void **state)
{
    static const char source[] = "kernel void k(read_only image2d_t from, write_only image2d_t to, sampler_t how) {}\n";
    ndr_image_format format;
    size_t count;
    const ndr_image_desc use = { .size = ndr_range_2d(1, 1) };
    skip_without(ndr_image_list_formats(context, &use, 1, &format, &count) == NDR_OK, "the device has no images");
    ndr_kernel *kernel = kernel_of(source, "k");
    assert_int_equal(parameter_of(kernel, 0).kind, NDR_PARAMETER_IMAGE);
    assert_int_equal(parameter_of(kernel, 0).access, NDR_ACCESS_READ);
    assert_int_equal(parameter_of(kernel, 1).access, NDR_ACCESS_WRITE);
    assert_int_equal(parameter_of(kernel, 2).kind, NDR_PARAMETER_SAMPLER);
}

static void test_parameter__beyond_the_last_is_refused(void **state)
{
    ndr_parameter_info info;
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get_parameter(kernel_of(text, "values"), 3, &info),
                   "kernel \"values\" has 3 parameters, so there is none of index 3");
}

static void test_kernel_info__has_the_form_of_the_range(void **state)
{
    assert_int_equal(info_of(kernel_of(text, "pointers")).form, NDR_KERNEL_PLAIN);
    assert_int_equal(info_of(kernel_of(text, "values")).form, NDR_KERNEL_RANGE);
    assert_int_equal(info_of(kernel_of(text, "values")).range_dims, 1);
    assert_int_equal(info_of(kernel_of(text, "groups")).form, NDR_KERNEL_ND_RANGE);
    assert_int_equal(info_of(kernel_of(text, "groups")).range_dims, 2);
    assert_int_equal(info_of(kernel_of(text, "total")).form, NDR_KERNEL_REDUCTION);
    assert_string_equal(info_of(kernel_of(text, "total")).name, "total");
}

/* ---- binaries ---- */

static void test_binary__of_a_kernel_builds_it_again(void **state)
{
    ndr_kernel *kernel = kernel_of(plain, "add_one"), *again;
    size_t length = 0, same = 0;
    const ndr_status status = ndr_kernel_get_binary(kernel, 0, NULL, &length);
    skip_without(status != NDR_UNSUPPORTED, "the driver has no binaries");
    assert_ok(status);
    assert_true(length > 0);
    unsigned char *bytes = malloc(length);
    assert_non_null(bytes);
    bytes[0] = 77;
    assert_ok(ndr_kernel_get_binary(kernel, length - 1, bytes, &same));
    assert_int_equal(same, length);
    assert_int_equal(bytes[0], 77);
    assert_ok(ndr_kernel_get_binary(kernel, length, bytes, &same));
    const ndr_kernel_desc desc = { .name = "add_one", .binary = bytes, .binary_bytes = length };
    assert_ok(ndr_kernel_get(context, &desc, &again));
    free(bytes);
    int x = 41;
    ndr_buffer *buffer = buffer_of(sizeof x, &x);
    assert_ok(ndr_launch(queue, again, ndr_range_1d(1), buffer));
    take_buffer(buffer, &x, sizeof x);
    assert_int_equal(x, 42);
}

static void test_binary__without_memory_is_refused(void **state)
{
    size_t length;
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get_binary(kernel_of(plain, "add"), 5, NULL, &length),
                   "bytes is NULL, but capacity is 5");
    assert_refused(NDR_BAD_ARGUMENT, ndr_kernel_get_binary(NULL, 0, NULL, &length), "kernel is NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_get_all__lists_each_kernel_once),
        cmocka_unit_test(test_kernel_get_all__fills_only_the_capacity),
        cmocka_unit_test(test_kernel_get_all__hides_the_probes_of_types),
        cmocka_unit_test(test_kernel_get_all__of_a_text_without_kernels_is_none),
        cmocka_unit_test(test_kernel_get_all__refuses_what_does_not_build_and_no_memory),
        cmocka_unit_test(test_parameter__describes_pointers),
        cmocka_unit_test(test_parameter__describes_values_without_the_range),
        cmocka_unit_test(test_parameter__describes_reducers),
        cmocka_unit_test(test_parameter__describes_images_and_samplers),
        cmocka_unit_test(test_parameter__beyond_the_last_is_refused),
        cmocka_unit_test(test_kernel_info__has_the_form_of_the_range),
        cmocka_unit_test(test_binary__of_a_kernel_builds_it_again),
        cmocka_unit_test(test_binary__without_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
