/* test_compiled.c - programs that are not one text: linked of several, SPIR-V modules, binaries of the driver. */
#include "driver_faults.h"
#include "support.h"

#include "program/registry.h"

#include "ndr/ndr_cl.h"

#include <sys/stat.h>

static ndr_status try_to_get(const ndr_kernel_desc *desc, ndr_kernel **kernel)
{
    *kernel = NULL;
    return ndr_kernel_get(context, desc, kernel);
}

static ndr_kernel *get(const ndr_kernel_desc *desc)
{
    ndr_kernel *kernel;
    assert_ok(try_to_get(desc, &kernel));
    return kernel;
}

static void assert_get_refused(ndr_status status, const ndr_kernel_desc desc, const char *part, const char *other)
{
    ndr_kernel *kernel;
    assert_refused(status, try_to_get(&desc, &kernel), part, other);
    assert_null(kernel);
}

static size_t program_count(void)
{
    ndr_registry *registry;
    assert_ok(ndr_registry_get(context, &registry));
    return registry->programs.count;
}

/* ---- programs of several texts ---- */

/* The second has a function and a constant for the first, and a kernel and a struct of its own. */
static const char first[] =
    "#include \"ndr/item.clh\"\n"
    "typedef struct { int a; long b; } two;\n"
    "typedef int number;\n"
    "extern constant int table[4];\n"
    "int twice(int x);\n"
    "kernel void ranged(global int *x, two t, NDR_RANGE(1))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(1);\n"
    "    x[ndr_global_id(it, 0)] = twice(table[ndr_global_id(it, 0) % 4]) + t.a;\n"
    "}\n"
    "kernel void numbered(global int *x, number n) { x[0] = twice(n); }\n";
static const char second[] =
    "#include \"ndr/item.clh\"\n"
    "typedef struct { char c[3]; } three;\n"
    "typedef float number;\n"
    "constant int table[4] = { 5, 6, 7, 8 };\n"
    "int twice(int x) { return 2 * x; }\n"
    "kernel void plain(global int *x, three t) { x[0] = 100 * t.c[2] + table[1]; }\n"
    "kernel void other(global int *x, number n) { x[0] = (int)n; }\n";
static const char *const linked[] = { second, NULL };

typedef struct two {
    int a;
    _Alignas(8) int64_t b; /* as in OpenCL C; i386's C aligns it to 4 bytes */
} two;
typedef struct three {
    char c[3];
} three;

static ndr_kernel *linked_kernel(const char *name)
{
    return get(&(ndr_kernel_desc){ .name = name, .source = first, .linked = linked });
}

static void test_linked__texts_share_functions_and_constants(void **state)
{
    enum { N = 13 };
    int x[N] = { 0 };
    const two t = { 1000, 0 };
    ndr_buffer *out = buffer_of(sizeof x, x);
    assert_ok(ndr_launch(queue, linked_kernel("ranged"), ndr_range_1d(N), out, ndr_struct(two, t)));
    read_buffer(out, x, sizeof x);
    for (int i = 0; i < N; ++i) assert_int_equal(x[i], 2 * (5 + i % 4) + 1000);
    const size_t programs = program_count();
    const three c = { { 0, 0, 3 } };
    assert_ok(ndr_launch(queue, linked_kernel("plain"), ndr_range_1d(1), out, ndr_struct(three, c)));
    take_buffer(out, x, sizeof x);
    assert_int_equal(x[0], 306);
    assert_int_equal(program_count(), programs); /* they are linked once */
    assert_true(linked_kernel("ranged")->is_guarded);
}

/* Structs of both texts are known; `number` is another type in each. */
static void test_linked__texts_have_their_arguments_checked(void **state)
{
    int x = 77;
    const two t = { 1, 2 };
    const three c = { { 1, 2, 3 } };
    ndr_buffer *out = buffer_of(sizeof x, &x);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, linked_kernel("ranged"), ndr_range_1d(1), out, ndr_arg_struct_(&c, 3, "two")),
                   "kernel \"ranged\", argument 1 \"t\" (two) has 16 bytes on the device, but 3 are given");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT,
                   ndr_launch(queue, linked_kernel("plain"), ndr_range_1d(1), out, ndr_arg_struct_(&t, 16, "three")),
                   "kernel \"plain\", argument 1 \"t\" (three) has 3 bytes on the device, but 16 are given");
    assert_refused(NDR_UNSUPPORTED,
                   ndr_launch(queue, linked_kernel("numbered"), ndr_range_1d(1), out, ndr_arg_struct_(&t, 4, "number")),
                   "argument 1 \"n\" (number) is of a type whose size the driver's compiler does not report");
    take_buffer(out, &x, sizeof x);
    assert_int_equal(x, 77);
}

static void test_linked__files_find_what_lies_beside_them(void **state)
{
    skip_for_fault(driver_links_few_texts(), "most texts are not linked");
    (void)mkdir("beside", 0777);
    write_file("beside/six.h", "#define SIX 6\n");
    write_file("beside/six.cl", "#include \"six.h\"\nint six(void) { return SIX; }\n");
    write_file("asks.cl", "int six(void);\nint seven(void);\n"
                          "kernel void ask(global int *x) { x[0] = 10 * six() + seven() + PLUS; }\n");
    write_file("seven.cl", "int six(void);\nint seven(void) { return six() + 1; }\n");
    static const char *const files[] = { "beside/six.cl", "seven.cl", NULL };
    int x = 0;
    ndr_buffer *out = buffer_of(sizeof x, &x);
    const ndr_kernel_desc desc = { .name = "ask", .file = "asks.cl", .linked = files, .options = "-DPLUS=300" };
    assert_ok(ndr_launch(queue, get(&desc), ndr_range_1d(1), out));
    take_buffer(out, &x, sizeof x);
    assert_int_equal(x, 367);
}

static void test_linked__texts_with_a_fault_are_named(void **state)
{
    static const char *const faulty[] = { second, "int four(void) { return unheard_of; }\n", NULL };
    static const char *const no_twice[] = { "constant int table[4] = { 5, 6, 7, 8 };\n", NULL };
    static const char *const files[] = { "no_such.cl", NULL };
    write_file("whole.cl", "kernel void whole(global int *x) {}\n");
    assert_get_refused(NDR_BUILD_FAILED, (ndr_kernel_desc){ .name = "ranged", .source = first, .linked = faulty },
                       "\"source, linked[1]\" did not build", "unheard_of");
    assert_get_refused(NDR_BUILD_FAILED, (ndr_kernel_desc){ .name = "numbered", .source = first, .linked = no_twice },
                       "\"source\" did not ", "");
    assert_get_refused(NDR_NOT_FOUND, (ndr_kernel_desc){ .name = "whole", .file = "whole.cl", .linked = files },
                       "no_such.cl", "");
    assert_get_refused(NDR_NOT_FOUND, (ndr_kernel_desc){ .name = "nobody", .source = first, .linked = linked },
                       "\"source\" has no kernel called \"nobody\"; it has ", "plain");
}

/* An empty list is no list; other texts make another program. */
static void test_linked__texts_belong_to_the_request(void **state)
{
    static const char asks[] = "int value(void);\nkernel void ask(global int *x) { x[0] = value(); }\n";
    static const char *const none[] = { NULL };
    int x = 0;
    ndr_buffer *out = buffer_of(sizeof x, &x);
    for (int i = 1; i <= 2; ++i) {
        char text[64];
        snprintf(text, sizeof text, "int value(void) { return %d; }\n", i);
        const char *const texts[] = { text, NULL };
        const ndr_kernel_desc desc = { .name = "ask", .source = asks, .linked = texts };
        assert_ok(ndr_launch(queue, get(&desc), ndr_range_1d(1), out));
        read_buffer(out, &x, sizeof x);
        assert_int_equal(x, i);
    }
    get(&(ndr_kernel_desc){ .name = "add_one", .source = plain_kernels, .linked = none });
    ndr_buffer_destroy(out);
}

/* ---- SPIR-V ---- */

/* kernel void scale(global int *x, int a, float4 v) { i = get_global_id(0); x[i] = a * x[i] + (int)v.w; }
 * by clang-15 -cl-std=CL1.2 -O1 -cl-kernel-arg-info and llvm-spirv-15 --spirv-max-version=1.0. */
static const uint32_t module[] = {
    0x07230203, 0x00010000, 0x0006000e, 0x0000001f, 0x00000000, 0x00020011, 0x00000004, 0x00020011, 0x00000005,
    0x00020011, 0x00000006, 0x00020011, 0x0000000b, 0x0005000b, 0x00000001, 0x6e65704f, 0x732e4c43, 0x00006474,
    0x0003000e, 0x00000002, 0x00000002, 0x0006000f, 0x00000006, 0x00000019, 0x6c616373, 0x00000065, 0x00000005,
    0x00030003, 0x00000003, 0x00018e70, 0x000b0005, 0x00000005, 0x70735f5f, 0x5f767269, 0x6c697542, 0x476e4974,
    0x61626f6c, 0x766e496c, 0x7461636f, 0x496e6f69, 0x00000064, 0x00040005, 0x0000000c, 0x6c616373, 0x00000065,
    0x00030005, 0x0000001a, 0x00000078, 0x00030005, 0x0000001b, 0x00000061, 0x00030005, 0x0000001c, 0x00000076,
    0x000d0047, 0x00000005, 0x00000029, 0x70735f5f, 0x5f767269, 0x6c697542, 0x476e4974, 0x61626f6c, 0x766e496c,
    0x7461636f, 0x496e6f69, 0x00000064, 0x00000001, 0x00030047, 0x00000005, 0x00000016, 0x00040047, 0x00000005,
    0x0000000b, 0x0000001c, 0x00060047, 0x0000000c, 0x00000029, 0x6c616373, 0x00000065, 0x00000000, 0x00040047,
    0x0000000d, 0x00000026, 0x00000005, 0x00040047, 0x0000000d, 0x0000002c, 0x00000004, 0x00040047, 0x0000001a,
    0x00000026, 0x00000005, 0x00040047, 0x0000001a, 0x0000002c, 0x00000004, 0x00040015, 0x00000002, 0x00000040,
    0x00000000, 0x00040015, 0x00000007, 0x00000020, 0x00000000, 0x00040017, 0x00000003, 0x00000002, 0x00000003,
    0x00040020, 0x00000004, 0x00000001, 0x00000003, 0x00020013, 0x00000006, 0x00040020, 0x00000008, 0x00000005,
    0x00000007, 0x00030016, 0x00000009, 0x00000020, 0x00040017, 0x0000000a, 0x00000009, 0x00000004, 0x00060021,
    0x0000000b, 0x00000006, 0x00000008, 0x00000007, 0x0000000a, 0x0004003b, 0x00000004, 0x00000005, 0x00000001,
    0x00050036, 0x00000006, 0x0000000c, 0x00000000, 0x0000000b, 0x00030037, 0x00000008, 0x0000000d, 0x00030037,
    0x00000007, 0x0000000e, 0x00030037, 0x0000000a, 0x0000000f, 0x000200f8, 0x00000010, 0x0006003d, 0x00000003,
    0x00000011, 0x00000005, 0x00000002, 0x00000020, 0x00050051, 0x00000002, 0x00000012, 0x00000011, 0x00000000,
    0x00050046, 0x00000008, 0x00000013, 0x0000000d, 0x00000012, 0x0006003d, 0x00000007, 0x00000014, 0x00000013,
    0x00000002, 0x00000004, 0x00050084, 0x00000007, 0x00000015, 0x00000014, 0x0000000e, 0x00050051, 0x00000009,
    0x00000016, 0x0000000f, 0x00000003, 0x0004006e, 0x00000007, 0x00000017, 0x00000016, 0x00050080, 0x00000007,
    0x00000018, 0x00000015, 0x00000017, 0x0005003e, 0x00000013, 0x00000018, 0x00000002, 0x00000004, 0x000100fd,
    0x00010038, 0x00050036, 0x00000006, 0x00000019, 0x00000000, 0x0000000b, 0x00030037, 0x00000008, 0x0000001a,
    0x00030037, 0x00000007, 0x0000001b, 0x00030037, 0x0000000a, 0x0000001c, 0x000200f8, 0x0000001d, 0x00070039,
    0x00000006, 0x0000001e, 0x0000000c, 0x0000001a, 0x0000001b, 0x0000001c, 0x000100fd, 0x00010038,
};

static const ndr_kernel_desc scale = { .name = "scale", .spirv = module, .spirv_bytes = sizeof module, .label = "m.spv" };

static void test_spirv__runs_on_devices_that_take_it(void **state)
{
    skip_without(device.has_spirv, "the device takes no SPIR-V");
    int x[3] = { 1, 2, 3 };
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    assert_ok(ndr_launch(queue, get(&scale), ndr_range_1d(3), buffer, 10, ndr_vector(float, 0, 0, 0, 7)));
    read_buffer(buffer, x, sizeof x);
    for (int i = 0; i < 3; ++i) assert_int_equal(x[i], 10 * (i + 1) + 7);
    assert_get_refused(NDR_NOT_FOUND, (ndr_kernel_desc){ .name = "nobody", .spirv = module, .spirv_bytes = sizeof module },
                       "\"SPIR-V\" has no kernel called \"nobody\"; it has scale", "");
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, get(&scale), ndr_range_1d(3), buffer, 10),
                   "kernel \"scale\" takes 3 arguments, but 2 are given");
    ndr_buffer_destroy(buffer);
}

static void test_spirv__is_refused_by_other_devices(void **state)
{
    skip_without(!device.has_spirv, "the device takes SPIR-V");
    assert_get_refused(NDR_UNSUPPORTED, scale, "\"m.spv\" is a SPIR-V module, which device \"",
                       "does not accept (has_spirv of ndr_device_info)");
}

static void test_spirv__that_is_none_is_refused(void **state)
{
    static const char text[] = "kernel void scale(global int *x) {}";
    const struct {
        const void *bytes;
        size_t count;
    } wrong[] = { { text, sizeof text }, { module, 0 }, { module, 16 }, { module, sizeof module - 1 }, { module + 1, 40 } };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i)
        assert_get_refused(NDR_BAD_ARGUMENT,
                           (ndr_kernel_desc){ .name = "scale", .spirv = wrong[i].bytes, .spirv_bytes = wrong[i].count },
                           "at desc->spirv, for kernel \"scale\", are not a SPIR-V module", "");
}

/* ---- binaries ---- */

static unsigned char binary[1 << 22];

/* The binary of the program of a kernel; 0 if the driver has none. */
static size_t read_binary(ndr_kernel *kernel)
{
    cl_program program;
    size_t bytes = 0;
    unsigned char *to = binary;
    assert_int_equal(clGetKernelInfo(ndr_kernel_cl(kernel), CL_KERNEL_PROGRAM, sizeof program, &program, NULL), CL_SUCCESS);
    assert_int_equal(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL), CL_SUCCESS);
    assert_true(bytes <= sizeof binary);
    if (bytes) assert_int_equal(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, &to, NULL), CL_SUCCESS);
    return bytes;
}

static const char binary_source[] = "kernel void add(global int *x, int a) { x[get_global_id(0)] += a; }\n";

static void test_binary__of_a_program_runs_again(void **state)
{
    int x[2] = { 1, 2 };
    const size_t bytes = read_binary(kernel_of(binary_source, "add"));
    skip_without(bytes > 0, "the driver has no binary");
    const ndr_kernel_desc desc = { .name = "add", .binary = binary, .binary_bytes = bytes, .label = "add.bin" };
    ndr_kernel *add = get(&desc);
    assert_ptr_equal(get(&desc), add);
    assert_ptr_not_equal(kernel_of(binary_source, "add"), add);
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    assert_ok(ndr_launch(queue, add, ndr_range_1d(2), buffer, 40));
    read_buffer(buffer, x, sizeof x);
    assert_int_equal(x[0], 41);
    assert_int_equal(x[1], 42);
    assert_refused(NDR_BAD_KERNEL_ARGUMENT, ndr_launch(queue, add, ndr_range_1d(2), buffer),
                   "kernel \"add\" takes 2 arguments, but 1 is given");
    ndr_buffer_destroy(buffer);
}

/* Some drivers abort the process instead. */
static cl_program CL_API_CALL take_no_binary(cl_context c, cl_uint count, const cl_device_id *devices,
                                             const size_t *lengths, const unsigned char **binaries, cl_int *status,
                                             cl_int *error)
{
    *status = CL_INVALID_BINARY;
    *error = CL_INVALID_BINARY;
    return NULL;
}

static void test_binary__that_is_none_is_refused(void **state)
{
    static const unsigned char text[64] = "this is no binary of any driver";
    assert_get_refused(NDR_BAD_ARGUMENT, (ndr_kernel_desc){ .name = "add", .binary = text },
                       "desc->binary_bytes is 0 for kernel \"add\"", "");
    __typeof__(clCreateProgramWithBinary) *const driver = ndr_cl.clCreateProgramWithBinary;
    ndr_cl.clCreateProgramWithBinary = take_no_binary;
    assert_get_refused(NDR_BUILD_FAILED,
                       (ndr_kernel_desc){ .name = "add", .binary = text, .binary_bytes = sizeof text, .label = "add.bin" },
                       "\"add.bin\", of 64 bytes, is not a binary of the driver of \"", "version of the driver");
    ndr_cl.clCreateProgramWithBinary = driver;
    assert_int_equal(ndr_last_cl_error(), CL_INVALID_BINARY);
}

/* ---- requests ---- */

static void test_compiled__takes_nothing_that_is_for_texts(void **state)
{
    static const char *const folders[] = { ".", NULL };
    const ndr_kernel_desc bundled = { .name = "reduce_tree", .bundled = "reduce/tree_groups.cl", .linked = linked };
    ndr_kernel_desc desc = scale;
    assert_get_refused(NDR_BAD_ARGUMENT, bundled, "desc->linked is set for kernel \"reduce_tree\"", "neither source nor file");
    desc.linked = linked;
    assert_get_refused(NDR_BAD_ARGUMENT, desc, "desc->linked is set for kernel \"scale\"", "neither source nor file");
    desc = scale, desc.include_dirs = folders;
    assert_get_refused(NDR_BAD_ARGUMENT, desc, "desc->include_dirs is set for kernel \"scale\"", "leave it out");
    desc = scale, desc.sub_group_size = 8;
    assert_get_refused(NDR_BAD_ARGUMENT, desc, "desc->sub_group_size is set for kernel \"scale\"", "leave it out");
    desc = scale, desc.binary = module;
    assert_get_refused(NDR_BAD_ARGUMENT, desc, "more than one of desc->source, file, bundled, spirv and binary", "scale");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linked__texts_share_functions_and_constants),
        cmocka_unit_test(test_linked__texts_have_their_arguments_checked),
        cmocka_unit_test(test_linked__files_find_what_lies_beside_them),
        cmocka_unit_test(test_linked__texts_with_a_fault_are_named),
        cmocka_unit_test(test_linked__texts_belong_to_the_request),
        cmocka_unit_test(test_spirv__runs_on_devices_that_take_it),
        cmocka_unit_test(test_spirv__is_refused_by_other_devices),
        cmocka_unit_test(test_spirv__that_is_none_is_refused),
        cmocka_unit_test(test_binary__of_a_program_runs_again),
        cmocka_unit_test(test_binary__that_is_none_is_refused),
        cmocka_unit_test(test_compiled__takes_nothing_that_is_for_texts),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
