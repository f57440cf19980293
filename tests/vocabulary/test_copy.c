/* test_copy.c - rows and columns moved between global and local memory by a group. */
#include "support.h"

#include "device/context.h"

enum { MOST = 200, STRIDE = 3, GUARD = 4 };

/* Copy `from` into the group's tile and the tile to `to`, with strides if IN and OUT name them. In between, the items
 * reverse the tile.
 *
 * The tile is written first and is longer than necessary because of Oclgrind's --uninitialized: Oclgrind does not
 * register what such copies write, and it applies the stride to the local side as well. */
static const char source[] =
    "#include \"ndr/ndr.clh\"\n"
    "kernel void move(global T *to, global const T *from, local T *tile, ulong n, ulong in_stride, ulong out_stride,\n"
    "                 NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    const size_t items = ndr_local_linear_range(g);\n"
    "    for (size_t i = ndr_local_linear_id(g); i < 3 * n; i += items) tile[i] = 77;\n" /* to be written over */
    "    ndr_group_barrier(g);\n"
    "    const ndr_copy in = ndr_group_copy(g, tile, from, n IN);\n"
    "    ndr_group_wait(g, in);\n"
    "    for (size_t i = items - 1 - ndr_local_linear_id(g); i < n; i += items) tile[i] += 1;\n"
    "    ndr_group_barrier(g);\n"
    "    const ndr_copy out = ndr_group_copy(g, to, tile, n OUT);\n"
    "    ndr_group_wait(g, out);\n"
    "}\n";

typedef struct element_type {
    const char *name;
    size_t size;
} element_type;

static const element_type types[] = { { "char", 1 }, { "uchar", 1 }, { "short", 2 }, { "ushort", 2 }, { "int", 4 },
                                      { "uint", 4 }, { "long", 8 },  { "ulong", 8 }, { "float", 4 },  { "double", 8 } };

/* A stride is passed if it is not 0. */
static ndr_kernel *kernel_for(const element_type *type, size_t in_stride, size_t out_stride, const char *more)
{
    char options[96];
    snprintf(options, sizeof options, "-DT=%s -DIN=%s -DOUT=%s %s", type->name, in_stride ? ",in_stride" : "",
             out_stride ? ",out_stride" : "", more);
    ndr_kernel *kernel = NULL;
    const ndr_kernel_desc desc = { .name = "move", .source = source, .options = options };
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    return kernel;
}

/* Element i of the input is the value i % 100. */
static void set(const element_type *type, void *array, size_t i, int value)
{
    if (!strcmp(type->name, "float")) ((float *)array)[i] = (float)value;
    else if (!strcmp(type->name, "double")) ((double *)array)[i] = value;
    else if (type->size == 1) ((int8_t *)array)[i] = (int8_t)value;
    else if (type->size == 2) ((int16_t *)array)[i] = (int16_t)value;
    else if (type->size == 4) ((int32_t *)array)[i] = value;
    else ((int64_t *)array)[i] = value;
}

/* All expected elements were written, and no others. */
static void check_move(const element_type *type, size_t items, size_t n, size_t in_stride, size_t out_stride,
                       const char *options)
{
    ndr_kernel *kernel = kernel_for(type, in_stride, out_stride, options);
    enum { ALL = MOST * STRIDE + GUARD };
    static double in[ALL], out[ALL], wanted[ALL];
    const size_t bytes = ALL * type->size;
    memset(wanted, 0x5a, bytes);
    for (size_t i = 0; i < ALL; ++i) set(type, in, i, (int)(i % 100));
    for (size_t i = 0; i < n; ++i)
        set(type, wanted, i * (out_stride ? out_stride : 1), (int)(i * (in_stride ? in_stride : 1) % 100) + 1);
    ndr_buffer *from = buffer_of(bytes, in), *to = buffer_of(bytes, NULL);
    assert_ok(ndr_buffer_fill(queue, to, 0, bytes, &(uint8_t){ 0x5a }, 1, NULL));
    const ndr_arg tile = { .kind = NDR_ARG_LOCAL, .size_bytes = type->size, .as.extent = { n ? STRIDE * n : 1, 1, 1 } };
    items = fitting_group(kernel, items);
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(items, items), to, from, tile, (uint64_t)n, (uint64_t)in_stride,
                         (uint64_t)out_stride));
    take_buffer(to, out, bytes);
    assert_memory_equal(out, wanted, bytes);
    ndr_buffer_destroy(from);
}

static void test_copy__moves_any_number_of_elements(void **state)
{
    static const size_t counts[] = { 0, 1, 2, 6, 7, 8, 64, MOST };
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
        check_move(&types[4], 1, counts[c], 0, 0, "");
        check_move(&types[4], 7, counts[c], 0, 0, "");
        check_move(&types[4], 64, counts[c], 0, 0, "");
    }
}

static void test_copy__strides_on_the_global_side(void **state)
{
    for (size_t n = 1; n <= 65; n += 16) {
        check_move(&types[4], 7, n, STRIDE, 0, "");
        check_move(&types[4], 7, n, 0, STRIDE, "");
        check_move(&types[4], 7, n, 2, STRIDE, "");
        check_move(&types[4], 7, n, 1, 1, "");
    }
}

static void test_copy__has_every_type(void **state)
{
    for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
        if (!strcmp(types[t].name, "double") && !device.has_f64) continue;
        check_move(&types[t], 7, 20, 0, STRIDE, "");
        check_move(&types[t], 7, 20, 2, 0, "");
    }
}

/* Each way of copying once, in one kernel for each type. The types cover each width, element size and total size. */
#define VECTORS(X)                                                                                              \
    X(char, 2) X(uchar, 4) X(char, 8) X(short, 3) X(ushort, 16) X(int, 3) X(uint, 4) X(float, 2) X(float, 8) X(long, 16)
#define VECTOR_KERNEL(T, L) "VECTOR(" #T #L ")\n"
#define VECTOR_ROW(T, L) { #T #L, sizeof(cl_##T##L) },

static void test_copy__moves_vectors(void **state)
{
    static const char text[] =
        "#include \"ndr/ndr.clh\"\n"
        "#define VECTOR(T) kernel void move_##T(global T *to, global const T *from, local T *tile, ulong n, NDR_ND_RANGE(1)) \\\n"
        "{                                                                                 \\\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);                                        \\\n"
        "    const ndr_group g = ndr_get_group(it);                                        \\\n"
        "    const size_t items = ndr_local_linear_range(g);                               \\\n"
        "    local uchar *bytes = (local uchar *)tile; /* a fourth lane's as well */       \\\n"
        "    const size_t all = 3 * n * sizeof(T);                                         \\\n"
        "    for (size_t i = ndr_local_linear_id(g); i < all; i += items) bytes[i] = 7;    \\\n"
        "    ndr_group_barrier(g);                                                         \\\n"
        "    ndr_group_wait(g, ndr_group_copy(g, tile, from, n, 3));                       \\\n"
        "    ndr_group_wait(g, ndr_group_copy(g, to, (local const T *)tile, n, 2));        \\\n"
        "    ndr_group_barrier(g);                                                         \\\n"
        "    ndr_group_wait(g, ndr_group_copy(g, tile, from + 1, n));                      \\\n"
        "    ndr_group_wait(g, ndr_group_copy(g, to + 2 * n, (local const T *)tile, n));   \\\n"
        "}\n" VECTORS(VECTOR_KERNEL);
    static const element_type vectors[] = { VECTORS(VECTOR_ROW) };
    enum { N = 13, IN = 3 * N, OUT = 3 * N, LARGEST = sizeof(cl_long16) };
    static unsigned char in[IN * LARGEST], out[OUT * LARGEST], wanted[OUT * LARGEST];
    for (size_t i = 0; i < sizeof in; ++i) in[i] = (unsigned char)(i * 37 % 251);
    for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; ++v) {
        const size_t size = vectors[v].size;
        char name[32];
        snprintf(name, sizeof name, "move_%s", vectors[v].name);
        ndr_kernel *kernel = kernel_of(text, name);
        memset(wanted, 0x5a, sizeof wanted);
        for (size_t i = 0; i < N; ++i) {
            memcpy(wanted + 2 * i * size, in + 3 * i * size, size);
            memcpy(wanted + (2 * N + i) * size, in + (i + 1) * size, size);
        }
        ndr_buffer *from = buffer_of(IN * size, in), *to = buffer_of(OUT * size, NULL);
        assert_ok(ndr_buffer_fill(queue, to, 0, OUT * size, &(uint8_t){ 0x5a }, 1, NULL));
        const size_t items = fitting_group(kernel, 5);
        const ndr_arg tile = { .kind = NDR_ARG_LOCAL, .size_bytes = size, .as.extent = { 3 * N, 1, 1 } };
        assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(items, items), to, from, tile, (uint64_t)N));
        take_buffer(to, out, OUT * size);
        if (memcmp(out, wanted, OUT * size) != 0) fail_msg("%s", name);
        ndr_buffer_destroy(from);
    }
}

static void test_copy__works_as_opencl_c_1_2(void **state)
{
    /* PoCL 5.0 aborts the process, because its OpenCL C 1.2 lacks wait_group_events. */
    skip_without(context->caps.c_version < 300, "the device's own language is OpenCL C 3.0");
    check_move(&types[4], 7, 20, 2, STRIDE, "-cl-std=CL1.2");
    check_move(&types[4], 7, 20, 0, 0, "-cl-std=CL1.2");
}

/* Both copies run at the same time, and the items work between their start and end. */
static void test_copy__may_be_two_at_a_time(void **state)
{
    ndr_kernel *kernel = NULL;
    static const char two[] =
        "#include \"ndr/ndr.clh\"\n"
        "kernel void pair(global int *out, global const int *a, global const int *b, local int *x, local int *y,\n"
        "                NDR_ND_RANGE(2))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(2);\n"
        "    const ndr_group g = ndr_get_group(it);\n"
        "    const size_t n = ndr_local_linear_range(g), first = n * ndr_group_linear_id(g), i = ndr_local_linear_id(g);\n"
        "    x[i] = y[i] = 77;\n"
        "    ndr_group_barrier(g);\n"
        "    const ndr_copy of_x = ndr_group_copy(g, x, a + first, n);\n"
        "    const ndr_copy of_y = ndr_group_copy(g, y, b + first, n);\n"
        "    const int before = (int)i;\n"
        "    ndr_group_wait(g, of_y);\n"
        "    ndr_group_wait(g, of_x);\n"
        "    out[first + i] = before + x[n - 1 - i] * y[(i + 1) % n];\n"
        "}\n";
    assert_ok(ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "pair", .source = two }, &kernel));
    enum { SIZE = 3 * 5, ITEMS = 4 * SIZE };
    int32_t a[ITEMS], b[ITEMS], out[ITEMS];
    for (int i = 0; i < ITEMS; ++i) a[i] = i, b[i] = 7 * i % 31;
    ndr_buffer *in_a = buffer_of(sizeof a, a), *in_b = buffer_of(sizeof b, b), *result = buffer_of(sizeof out, NULL);
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_2d(6, 10, 3, 5), result, in_a, in_b, ndr_local(int, SIZE),
                         ndr_local(int, SIZE)));
    take_buffer(result, out, sizeof out);
    for (int group = 0; group < 4; ++group) {
        const int first = group * SIZE;
        for (int i = 0; i < SIZE; ++i)
            assert_int_equal(out[first + i], i + a[first + SIZE - 1 - i] * b[first + (i + 1) % SIZE]);
    }
    destroy_buffers(in_a, in_b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy__moves_any_number_of_elements),
        cmocka_unit_test(test_copy__strides_on_the_global_side),
        cmocka_unit_test(test_copy__has_every_type),
        cmocka_unit_test(test_copy__moves_vectors),
        cmocka_unit_test(test_copy__works_as_opencl_c_1_2),
        cmocka_unit_test(test_copy__may_be_two_at_a_time),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
