/* test_group_scan.c - group scans, broadcasts and predicates, compared with plain loops. */
#include "support.h"

#include <math.h>

enum { MOST = 256 }; /* items of a launch here */

static ndr_nd_range split(size_t items, size_t local)
{
    ndr_nd_range range = ndr_nd_range_1d(items, local);
    range.edge = NDR_EDGE_SPLIT;
    return range;
}

/* ---- scans and reductions ---- */

/* What every item got; one row of MOST for each function. */
enum { INCLUSIVE, INCLUSIVE_INIT, EXCLUSIVE, EXCLUSIVE_INIT, REDUCE, REDUCE_INIT, ROWS };

static const char scans_source[] =
    "#include \"ndr/group.clh\"\n"
    "kernel void scans(global const T *x, T init, global T *out, NDR_ND_RANGE(DIMS))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(DIMS);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    const size_t i = ndr_global_linear_id(it), row = 256;\n"
    "    out[i] = ndr_inclusive_scan_over_group(g, x[i], OP);\n"
    "    out[row + i] = ndr_inclusive_scan_over_group(g, x[i], OP, init);\n"
    "    out[2 * row + i] = ndr_exclusive_scan_over_group(g, x[i], OP);\n"
    "    out[3 * row + i] = ndr_exclusive_scan_over_group(g, x[i], init, OP);\n"
    "    out[4 * row + i] = ndr_reduce_over_group(g, x[i], OP);\n"
    "    out[5 * row + i] = ndr_reduce_over_group(g, x[i], init, OP);\n"
    "}\n";

static void expect_int(int32_t got, int32_t wanted, const char *what, size_t i)
{
    if (got == wanted) return;
    print_error("%s of item %zu is %d, not %d\n", what, i, got, wanted);
    fail();
}

/* One group of `size` items from `first` on, against a plain loop. */
static void check_int_group(const int32_t *x, int32_t init, int32_t out[ROWS][MOST], size_t first, size_t size)
{
    int32_t sum = 0;
    for (size_t i = first; i < first + size; ++i) {
        expect_int(out[EXCLUSIVE][i], sum, "exclusive scan", i);
        expect_int(out[EXCLUSIVE_INIT][i], init + sum, "exclusive scan with init", i);
        sum += x[i];
        expect_int(out[INCLUSIVE][i], sum, "inclusive scan", i);
        expect_int(out[INCLUSIVE_INIT][i], init + sum, "inclusive scan with init", i);
    }
    for (size_t i = first; i < first + size; ++i) {
        expect_int(out[REDUCE][i], sum, "reduction", i);
        expect_int(out[REDUCE_INIT][i], init + sum, "reduction with init", i);
    }
}

/* Sums of int over groups of `local` items; the last group has the remaining items. */
static void check_int_sums(ndr_kernel *kernel, const ndr_nd_range *range, size_t items, size_t local)
{
    int32_t x[MOST], out[ROWS][MOST];
    for (size_t i = 0; i < items; ++i) x[i] = (int32_t)(i * i % 97) - 40;
    ndr_buffer *in = buffer_of(sizeof x, x), *result = buffer_of(sizeof out, NULL);
    assert_ok(ndr_launch(queue, kernel, *range, in, 1000, result));
    assert_ok(ndr_queue_finish(queue));
    for (int row = 0; row < ROWS; ++row)
        assert_ok(ndr_buffer_read(queue, result, sizeof out[0] * (size_t)row, items * sizeof x[0], out[row], NULL));
    for (size_t first = 0; first < items; first += local)
        check_int_group(x, 1000, out, first, items - first < local ? items - first : local);
    destroy_buffers(in, result);
}

static void test_group_scan__agrees_with_a_plain_loop_at_any_size(void **state)
{
    static const size_t sizes[] = { 1, 2, 3, 7, 8, 13, 31, 64, 65, 127, 255 };
    ndr_kernel *kernel = kernel_with(scans_source, "scans", "-DT=int -DOP=NDR_PLUS -DDIMS=1");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        if (sizes[i] > fitting_group(kernel, MOST) || (quick() && sizes[i] > 65)) continue;
        const ndr_nd_range range = ndr_nd_range_1d(sizes[i], sizes[i]);
        check_int_sums(kernel, &range, sizes[i], sizes[i]);
    }
}

static void test_group_scan__works_as_opencl_c_1_2(void **state)
{
    ndr_kernel *kernel = kernel_with(scans_source, "scans", "-DT=int -DOP=NDR_PLUS -DDIMS=1 -cl-std=CL1.2");
    const size_t group = fitting_group(kernel, 65);
    const ndr_nd_range range = ndr_nd_range_1d(2 * group, group);
    check_int_sums(kernel, &range, 2 * group, group);
}

static void test_group_scan__takes_smaller_groups_at_split_edges(void **state)
{
    ndr_kernel *kernel = kernel_with(scans_source, "scans", "-DT=int -DOP=NDR_PLUS -DDIMS=1");
    const ndr_nd_range range = split(75, 31);
    check_int_sums(kernel, &range, 75, 31);
}

static void test_group_scan__follows_local_linear_ids_in_2_and_3_dimensions(void **state)
{
    ndr_kernel *flat = kernel_with(scans_source, "scans", "-DT=int -DOP=NDR_PLUS -DDIMS=2");
    const size_t cols = fitting_group(flat, 35) / 5;
    const ndr_nd_range plane = ndr_nd_range_2d(5, cols, 5, cols);
    check_int_sums(flat, &plane, 5 * cols, 5 * cols);
    ndr_kernel *deep = kernel_with(scans_source, "scans", "-DT=int -DOP=NDR_PLUS -DDIMS=3");
    const size_t length = fitting_group(deep, 66) / 6;
    const ndr_nd_range block = ndr_nd_range_3d(2, 3, length, 2, 3, length);
    check_int_sums(deep, &block, 6 * length, 6 * length);
}

/* The sum of floats of mixed magnitude, twice, in groups at different places of the launch. */
static void test_group_scan__gives_the_same_bits_on_every_run(void **state)
{
    enum { LARGEST = 65, GROUPS = 3 };
    float x[LARGEST * GROUPS], out[2][ROWS][MOST];
    ndr_kernel *kernel = kernel_with(scans_source, "scans", "-DT=float -DOP=NDR_PLUS -DDIMS=1");
    const size_t size = fitting_group(kernel, LARGEST), items = size * GROUPS;
    for (size_t i = 0; i < items; ++i) x[i] = (float)(i % size * 7919 % 1000) * (i % size % 3 ? 1e-3f : 1e4f);
    ndr_buffer *in = buffer_of(sizeof x, x), *result = buffer_of(sizeof out[0], NULL);
    for (int run = 0; run < 2; ++run) {
        assert_ok(ndr_buffer_fill(queue, result, 0, sizeof out[0], &(float){ 0 }, sizeof(float), NULL));
        assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(items, size), in, 0.5f, result));
        read_buffer(result, out[run], sizeof out[run]);
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    for (int row = 0; row < ROWS; ++row)
        for (int group = 1; group < GROUPS; ++group)
            assert_memory_equal(out[0][row], out[0][row] + (size_t)group * size, size * sizeof(float));
    double sum = 0; /* 22 roundings are promised */
    for (size_t i = 0; i < size; ++i) {
        sum += x[i];
        assert_true(fabs(out[0][INCLUSIVE][i] - sum) <= 22 * 1.2e-7 * sum);
    }
    assert_true(fabs(out[0][REDUCE][0] - sum) <= 22 * 1.2e-7 * sum);
    destroy_buffers(in, result);
}

static void test_group_scan__leaves_nan_out_of_a_minimum_and_starts_from_infinity(void **state)
{
    enum { SIZE = 13 };
    float x[SIZE], out[ROWS][MOST];
    for (size_t i = 0; i < SIZE; ++i) x[i] = i < 3 || i == 9 ? NAN : (float)(20 - (int)i);
    ndr_kernel *kernel = kernel_with(scans_source, "scans", "-DT=float -DOP=NDR_MINIMUM -DDIMS=1");
    ndr_buffer *in = buffer_of(sizeof x, x), *result = buffer_of(sizeof out, NULL);
    assert_ok(ndr_buffer_fill(queue, result, 0, sizeof out, &(float){ 0 }, sizeof(float), NULL));
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(SIZE, SIZE), in, 12.0f, result));
    read_buffer(result, out, sizeof out);
    assert_true(isinf(out[EXCLUSIVE][0]) && out[EXCLUSIVE][0] > 0);
    for (size_t i = 0; i < SIZE; ++i) {
        if (i < 3) assert_true(isnan(out[INCLUSIVE][i]));
        else assert_true(out[INCLUSIVE][i] == (i == 9 ? 12 : 20 - (float)i));
        if (i > 0) assert_true(out[EXCLUSIVE][i] == out[INCLUSIVE][i - 1] || (i < 4 && isnan(out[EXCLUSIVE][i])));
        assert_true(out[INCLUSIVE_INIT][i] == (i < 8 ? 12 : i == 9 ? 12 : 20 - (float)i) || i == 8);
        assert_true(out[REDUCE][i] == 8);
    }
    destroy_buffers(in, result);
}

/* ---- every type and operator ---- */

/* Each item folds the elements before it by itself, with ndr_combine(), and compares. The operator is an argument, so
 * that each type needs one kernel with one function of each kind. With nine times as many functions it would compile
 * for three seconds. The tests above have constant operators. */
static const char types_source[] =
    "#include \"ndr/group.clh\"\n"
    "#define CHECK(op, when)                                                                              \\\n"
    "    if (when) {                                                                                      \\\n"
    "        T sum = NDR_IDENTITY(T, op);                                                                 \\\n"
    "        for (size_t k = 0; k < i; ++k) sum = ndr_combine(sum, x[k], op);                             \\\n"
    "        wrong |= ndr_exclusive_scan_over_group(g, x[i], op) != sum;                                  \\\n"
    "        wrong |= (ndr_inclusive_scan_over_group(g, x[i], op) != ndr_combine(sum, x[i], op)) << 1;    \\\n"
    "        for (size_t k = i; k < ndr_local_linear_range(g); ++k) sum = ndr_combine(sum, x[k], op);     \\\n"
    "        wrong |= (ndr_reduce_over_group(g, x[i], op) != sum) << 2;                                   \\\n"
    "    }\n"
    "kernel void all_ops(global const T *x, global int *out, int which, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    const size_t i = ndr_global_id(it, 0);\n"
    "    int wrong = 0;\n"
    "    const ndr_op number = which == 0 ? NDR_PLUS : which == 1 ? NDR_MULTIPLIES : which == 2 ? NDR_MINIMUM\n"
    "        : which == 3 ? NDR_MAXIMUM : which == 4 ? NDR_LOGICAL_AND : NDR_LOGICAL_OR;\n"
    "    const ndr_bit_op bits = which == 6 ? NDR_BIT_AND : which == 7 ? NDR_BIT_OR : NDR_BIT_XOR;\n"
    "    CHECK(number, which <= 5)\n"
    "#ifdef BITS\n"
    "    CHECK(bits, which > 5)\n"
    "#endif\n"
    "    out[i] = wrong;\n"
    "}\n";

/* Small whole numbers, exact in every type; products overflow, and integers wrap. */
static size_t fill(const char *type, void *x, size_t count)
{
    size_t size = 4;
    for (size_t i = 0; i < count; ++i) {
        const int value = 1 + (int)(i * 5 % 3);
        if (strstr(type, "char")) ((int8_t *)x)[i] = (int8_t)value, size = 1;
        else if (strstr(type, "short")) ((int16_t *)x)[i] = (int16_t)value, size = 2;
        else if (strstr(type, "int")) ((int32_t *)x)[i] = value;
        else if (strstr(type, "long")) ((int64_t *)x)[i] = value, size = 8;
        else if (!strcmp(type, "float")) ((float *)x)[i] = (float)value;
        else ((double *)x)[i] = value, size = 8;
    }
    return size;
}

static void test_group_scan__has_every_type_and_operator(void **state)
{
    enum { SIZE = 13 };
    static const char *const types[] = { "char", "uchar", "short", "ushort", "int",
                                         "uint", "long",  "ulong", "float",  "double" };
    for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
        const bool is_float = !strcmp(types[t], "float") || !strcmp(types[t], "double");
        if (!takes_case(t, 5)) continue;
        if (!strcmp(types[t], "double") && !device.has_f64) continue;
        char options[64];
        snprintf(options, sizeof options, "-DT=%s%s", types[t], is_float ? "" : " -DBITS");
        ndr_kernel *kernel = kernel_with(types_source, "all_ops", options);
        double x[SIZE];
        int32_t wrong[SIZE];
        ndr_buffer *in = buffer_of(SIZE * fill(types[t], x, SIZE), x), *out = buffer_of(sizeof wrong, NULL);
        for (int which = 0; which < (is_float ? 6 : 9); ++which) {
            assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(SIZE, SIZE), in, out, which));
            read_buffer(out, wrong, sizeof wrong);
            for (size_t i = 0; i < SIZE; ++i) {
                if (wrong[i])
                    print_error("%s, operator %d, item %zu: functions %#x\n", types[t], which, i, (unsigned)wrong[i]);
                assert_int_equal(wrong[i], 0);
            }
        }
        destroy_buffers(in, out);
    }
}

/* Two calls in a row, of different types, with no barrier in between except the functions' own. */
static void test_group_scan__leaves_the_scratch_free_for_the_next_call(void **state)
{
    enum { LARGEST = 65 };
    ndr_kernel *kernel = kernel_of(
        "#include \"ndr/group.clh\"\n"
        "kernel void row(global long *out, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const ndr_group g = ndr_get_group(it);\n"
        "    const int i = (int)ndr_local_linear_id(g);\n"
        "    long y = 0;\n"
        "    for (int turn = 0; turn < 3; ++turn) {\n"
        "        y += ndr_exclusive_scan_over_group(g, (long)i, NDR_PLUS);\n"
        "        y += ndr_any_of_group(g, i == turn);\n"
        "        y += ndr_inclusive_scan_over_group(g, (uchar)1, NDR_PLUS);\n"
        "        y += ndr_group_broadcast(g, (short)i, (size_t)turn);\n"
        "        y += ndr_reduce_over_group(g, (uint)i, NDR_MAXIMUM);\n"
        "        y += (long)ndr_inclusive_scan_over_group(g, (float)i, NDR_MAXIMUM);\n"
        "    }\n"
        "    out[ndr_global_id(it, 0)] = y;\n"
        "}\n",
        "row");
    int64_t out[LARGEST];
    const size_t size = fitting_group(kernel, LARGEST);
    ndr_buffer *result = buffer_of(sizeof out, NULL);
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(size, size), result));
    take_buffer(result, out, size * sizeof *out);
    for (int64_t i = 0; i < (int64_t)size; ++i)
        assert_int_equal(out[i], 3 * (i * (i - 1) / 2 + 1 + (i + 1) + ((int64_t)size - 1) + i) + 0 + 1 + 2);
}

/* ---- broadcasts ---- */

static void test_group_broadcast__takes_from_any_item(void **state)
{
    enum { SIZE = 24 };
    static const char source[] =
        "#include \"ndr/group.clh\"\n"
        "kernel void hand(global const T *x, global T *out, NDR_ND_RANGE(DIMS))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(DIMS);\n"
        "    const ndr_group g = ndr_get_group(it);\n"
        "    const size_t i = ndr_global_linear_id(it);\n"
        "    out[i] = ndr_group_broadcast(g, x[i]);\n"
        "    out[24 + i] = ndr_group_broadcast(g, x[i], 17);\n"
        "    out[48 + i] = ndr_group_broadcast(g, x[i], AT);\n"
        "}\n";
    const struct {
        const char *options;
        ndr_nd_range range;
        size_t from;
    } cases[] = {
        { "-DT=double -DDIMS=1 -DAT=23", ndr_nd_range_1d(24, 24), 23 },
        { "-DT=double -DDIMS=2 -DAT=2,5", ndr_nd_range_2d(4, 6, 4, 6), 17 },
        { "-DT=double -DDIMS=3 -DAT=1,2,3", ndr_nd_range_3d(2, 3, 4, 2, 3, 4), 23 },
        { "-DT=double -DDIMS=3 -DAT=1,0,2", ndr_nd_range_3d(2, 3, 4, 2, 3, 4), 14 },
    };
    skip_without(device.has_f64, "the device has no double");
    double x[SIZE], out[3 * SIZE];
    for (size_t i = 0; i < SIZE; ++i) x[i] = (double)i + 0.25;
    ndr_buffer *in = buffer_of(sizeof x, x), *result = buffer_of(sizeof out, NULL);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        assert_ok(ndr_launch(queue, kernel_with(source, "hand", cases[c].options), cases[c].range, in, result));
        read_buffer(result, out, sizeof out);
        for (size_t i = 0; i < SIZE; ++i) {
            assert_true(out[i] == x[0]);
            assert_true(out[SIZE + i] == x[17]);
            assert_true(out[2 * SIZE + i] == x[cases[c].from]);
        }
    }
    destroy_buffers(in, result);
}

/* ---- yes or no ---- */

static void test_group_predicates__agree_with_a_plain_loop(void **state)
{
    ndr_kernel *kernel = kernel_of(
        "#include \"ndr/group.clh\"\n"
        "kernel void ask(global const int *x, global uint *out, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const ndr_group g = ndr_get_group(it);\n"
        "    const size_t i = ndr_global_id(it, 0);\n"
        "    const uint any = ndr_any_of_group(g, x[i]), all = ndr_all_of_group(g, x[i]);\n"
        "    out[i] = any | all << 1 | (uint)ndr_none_of_group(g, x[i]) << 2;\n"
        "}\n",
        "ask");
    enum { ITEMS = 39, SIZE = 13 }; /* a group of zeros, one of both, one of ones */
    int32_t x[ITEMS];
    uint32_t out[ITEMS];
    for (int i = 0; i < ITEMS; ++i) x[i] = i < SIZE ? 0 : i < 2 * SIZE ? i == 20 : 256;
    ndr_buffer *in = buffer_of(sizeof x, x), *result = buffer_of(sizeof out, NULL);
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(ITEMS, SIZE), in, result));
    take_buffer(result, out, sizeof out);
    for (int i = 0; i < ITEMS; ++i) assert_int_equal(out[i], i < SIZE ? 4 : i < 2 * SIZE ? 1 : 3);
    ndr_buffer_destroy(in);
}

/* ---- what does not compile ---- */

static void refuse(const char *statement, const char *sentence)
{
    char source[512];
    snprintf(source, sizeof source,
             "#include \"ndr/joint.clh\"\n"
             "kernel void k(global float *x, NDR_ND_RANGE(1))\n"
             "{\n"
             "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
             "    const ndr_group g = ndr_get_group(it);\n"
             "    x[0] = (float)%s;\n"
             "}\n",
             statement);
    ndr_kernel *kernel;
    assert_refused(NDR_BUILD_FAILED,
                   ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "k", .source = source }, &kernel), sentence);
}

static void test_group_scan__refuses_half_and_vectors_in_our_words(void **state)
{
    refuse("ndr_reduce_over_group(g, (float4)(1), NDR_PLUS).x",
           ": ndr_reduce_over_group takes (g, x, op) or (g, x, init, op): g is ndr_get_group(it)");
    refuse("ndr_inclusive_scan_over_group(g, (int2)(1), NDR_PLUS, (int2)(1)).x",
           "call once for each component of a vector");
    refuse("ndr_exclusive_scan_over_group(g, ((global half *)x)[1], NDR_PLUS)",
           ": ndr_exclusive_scan_over_group takes (g, x, op) or (g, x, init, op): g is ndr_get_group(it)");
    refuse("ndr_group_broadcast(g, ((global half *)x)[1])", "convert half to float");
    refuse("ndr_joint_reduce(g, (global float4 *)x, 4, NDR_PLUS).x", ": ndr_joint_reduce takes g first");
}

static void test_group_scan__refuses_bit_operators_for_floats(void **state)
{
    refuse("ndr_reduce_over_group(g, x[0], 1.0f, NDR_BIT_OR)", "bit operators are for integers");
    refuse("ndr_inclusive_scan_over_group(g, x[0], NDR_BIT_AND)", "bit operators are for integers");
    refuse("ndr_inclusive_scan_over_group(g, x[0], NDR_BIT_AND, 1.0f)", "bit operators are for integers");
    refuse("ndr_exclusive_scan_over_group(g, x[0], NDR_BIT_XOR)", "bit operators are for integers");
    refuse("ndr_exclusive_scan_over_group(g, x[0], 1.0f, NDR_BIT_XOR)", "bit operators are for integers");
}

static void test_group_scan__says_where_init_belongs(void **state)
{
    refuse("ndr_inclusive_scan_over_group(g, x[0], 1.0f, NDR_PLUS)", "init comes last in an inclusive scan");
    refuse("ndr_inclusive_scan_over_group(g, 3, 1, NDR_BIT_OR)", "init comes last in an inclusive scan");
    refuse("ndr_exclusive_scan_over_group(g, x[0], NDR_PLUS, 1.0f)", "init comes before the operator of an exclusive");
    refuse("ndr_exclusive_scan_over_group(g, 3, NDR_BIT_OR, 1)", "init comes before the operator of an exclusive");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_scan__agrees_with_a_plain_loop_at_any_size),
        cmocka_unit_test(test_group_scan__works_as_opencl_c_1_2),
        cmocka_unit_test(test_group_scan__takes_smaller_groups_at_split_edges),
        cmocka_unit_test(test_group_scan__follows_local_linear_ids_in_2_and_3_dimensions),
        cmocka_unit_test(test_group_scan__gives_the_same_bits_on_every_run),
        cmocka_unit_test(test_group_scan__leaves_nan_out_of_a_minimum_and_starts_from_infinity),
        cmocka_unit_test(test_group_scan__has_every_type_and_operator),
        cmocka_unit_test(test_group_scan__leaves_the_scratch_free_for_the_next_call),
        cmocka_unit_test(test_group_broadcast__takes_from_any_item),
        cmocka_unit_test(test_group_predicates__agree_with_a_plain_loop),
        cmocka_unit_test(test_group_scan__refuses_half_and_vectors_in_our_words),
        cmocka_unit_test(test_group_scan__refuses_bit_operators_for_floats),
        cmocka_unit_test(test_group_scan__says_where_init_belongs),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
