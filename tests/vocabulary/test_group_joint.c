/* test_group_joint.c - joint group functions over n elements, compared with plain loops. */
#include "support.h"

#include <math.h>

enum { MOST = 1024, GUARD = 4 }; /* elements, and elements after them that must not change */

/* SPACE is where the elements are: `global`, or `local`, to and from which plain loops copy them. */
#define PROLOGUE                                                                              \
    "#include \"ndr/joint.clh\"\n"                                                            \
    "#define IN_global(p, tile) (p)\n"                                                        \
    "#define IN_local(p, tile) (tile)\n"                                                      \
    "#define IN_(space) IN_##space\n"                                                         \
    "#define IN(space) IN_(space)\n"                                                          \
    "void bring(ndr_group g, global const T *p, ulong n, local T *tile)\n"                    \
    "{\n"                                                                                     \
    "    const size_t items = ndr_local_linear_range(g);\n"                                   \
    "    for (size_t i = ndr_local_linear_id(g); i < n; i += items) tile[i] = p[i];\n"        \
    "    ndr_group_barrier(g);\n"                                                             \
    "}\n"

static const size_t sizes[] = { 1, 7, 64 };
static const size_t counts[] = { 0, 1, 2, 6, 7, 8, 63, 64, 65, 200, 1000 };

static bool is_too_long(size_t size, size_t count) { return quick() && (count > 200 || (size == 1 && count > 65)); }

/* ---- reductions ---- */

static const char reduce_source[] =
    PROLOGUE
    "kernel void total(global const T *x, ulong n, T init, local T *tile, global T *out, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    bring(g, x, n, tile);\n"
    "    const size_t i = ndr_local_linear_id(g);\n"
    "    out[2 * i] = ndr_joint_reduce(g, IN(SPACE)(x, tile), n, OP);\n"
    "    out[2 * i + 1] = ndr_joint_reduce(g, IN(SPACE)(x, tile), n, init, OP);\n"
    "}\n";

static void check_int_reductions(const char *options)
{
    int32_t x[MOST], out[2 * 64];
    for (int i = 0; i < MOST; ++i) x[i] = i * i % 89 - 30;
    ndr_kernel *kernel = kernel_with(reduce_source, "total", options);
    ndr_buffer *in = buffer_of(sizeof x, x), *result = buffer_of(sizeof out, NULL);
    for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
        const size_t size = fitting_group(kernel, sizes[s]);
        for (size_t c = 0; c < COUNT_OF(counts); ++c) {
            if (is_too_long(size, counts[c])) continue;
            assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(size, size), in, (uint64_t)counts[c], 500,
                                 ndr_local(int, MOST), result));
            assert_ok(ndr_buffer_read(queue, result, 0, 2 * size * sizeof(int32_t), out, NULL));
            int32_t sum = 0;
            for (size_t i = 0; i < counts[c]; ++i) sum += x[i];
            for (size_t i = 0; i < size; ++i) {
                assert_int_equal(out[2 * i], sum);
                assert_int_equal(out[2 * i + 1], 500 + sum);
            }
        }
    }
    destroy_buffers(in, result);
}

static void test_joint_reduce__sums_any_number_of_elements(void **state)
{
    check_int_reductions("-DT=int -DOP=NDR_PLUS -DSPACE=global");
    check_int_reductions("-DT=int -DOP=NDR_PLUS -DSPACE=local");
}

static void test_joint_reduce__works_as_opencl_c_1_2(void **state)
{
    check_int_reductions("-DT=int -DOP=NDR_PLUS -DSPACE=local -cl-std=CL1.2");
}

static void test_joint_reduce__leaves_nan_out_unless_there_is_nothing_else(void **state)
{
    float x[MOST], out[2 * 7];
    for (int i = 0; i < MOST; ++i) x[i] = NAN;
    x[30] = 3;
    ndr_kernel *kernel = kernel_with(reduce_source, "total", "-DT=float -DOP=NDR_MAXIMUM -DSPACE=global");
    ndr_buffer *in = buffer_of(sizeof x, x), *result = buffer_of(sizeof out, NULL);
    for (uint64_t n = 0; n < 40; n += 3) {
        assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(7, 7), in, n, -9.0f, ndr_local(float, MOST), result));
        read_buffer(result, out, sizeof out);
        for (int i = 0; i < 7; ++i) {
            if (n == 0) assert_true(isinf(out[2 * i]) && out[2 * i] < 0);
            else if (n <= 30) assert_true(isnan(out[2 * i]));
            else assert_true(out[2 * i] == 3);
            assert_true(out[2 * i + 1] == (n > 30 ? 3.0f : -9.0f));
        }
    }
    destroy_buffers(in, result);
}

/* ---- yes or no ---- */

static void test_joint_predicates__look_at_every_element(void **state)
{
    static const char source[] =
        PROLOGUE
        "kernel void ask(global const T *x, ulong n, local T *tile, global uint *out, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const ndr_group g = ndr_get_group(it);\n"
        "    bring(g, x, n, tile);\n"
        "    const uint any = ndr_joint_any_of(g, IN(SPACE)(x, tile), n), all = ndr_joint_all_of(g, IN(SPACE)(x, tile), n);\n"
        "    out[ndr_local_linear_id(g)] = any | all << 1 | (uint)ndr_joint_none_of(g, IN(SPACE)(x, tile), n) << 2;\n"
        "}\n";
    static const char *const options[] = { "-DT=short -DSPACE=global", "-DT=short -DSPACE=local" };
    enum { SIZE = 7, COUNT = 30 };
    uint32_t out[SIZE];
    ndr_buffer *in = buffer_of(COUNT * sizeof(int16_t), NULL), *result = buffer_of(sizeof out, NULL);
    for (int space = 0; space < 2; ++space) {
        ndr_kernel *kernel = kernel_with(source, "ask", options[space]);
        /* All zeros, all zeros but the first or last element, and the same with zeros and ones exchanged. */
        for (int trial = 0; trial < 7; ++trial) {
            int16_t x[COUNT];
            for (int i = 0; i < COUNT; ++i) x[i] = trial < 3 ? 0 : 256;
            if (trial == 1 || trial == 4) x[0] = (int16_t)(256 - x[0]);
            if (trial == 2 || trial == 5) x[COUNT - 1] = (int16_t)(256 - x[COUNT - 1]);
            const uint64_t n = trial == 6 ? 0 : COUNT;
            static const uint32_t wanted[] = { 4, 1, 1, 3, 1, 1, 6 }; /* any, all << 1, none << 2 */
            assert_ok(ndr_buffer_write(queue, in, 0, sizeof x, x, NULL));
            assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(SIZE, SIZE), in, n, ndr_local(short, COUNT), result));
            read_buffer(result, out, sizeof out);
            for (int i = 0; i < SIZE; ++i) assert_int_equal(out[i], wanted[trial]);
        }
    }
    destroy_buffers(in, result);
}

/* ---- scans ---- */

static const char scan_source[] =
    PROLOGUE
    "kernel void scan(global const T *x, ulong n, T init, local T *tile, global T *out, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    const size_t row = ROW;\n"
    "#ifdef IN_PLACE\n" /* local, and another item reads each result than the one that wrote it */
    "    const size_t items = ndr_local_linear_range(g), last = items - 1 - ndr_local_linear_id(g);\n"
    "#define SCAN(k, CALL)                                                    \\\n"
    "    bring(g, x, n, tile);                                                \\\n"
    "    CALL;                                                                \\\n"
    "    for (size_t i = last; i < n; i += items) out[k * row + i] = tile[i]; \\\n"
    "    ndr_group_barrier(g);\n"
    "    SCAN(0, ndr_joint_inclusive_scan(g, tile, n, tile, OP))\n"
    "    SCAN(1, ndr_joint_inclusive_scan(g, tile, n, tile, OP, init))\n"
    "    SCAN(2, ndr_joint_exclusive_scan(g, tile, n, tile, OP))\n"
    "    SCAN(3, ndr_joint_exclusive_scan(g, tile, n, tile, init, OP))\n"
    "#else\n"
    "    tile[0] = 0;\n"
    "    ndr_joint_inclusive_scan(g, x, n, out, OP);\n"
    "    ndr_joint_inclusive_scan(g, x, n, out + row, OP, init);\n"
    "    ndr_joint_exclusive_scan(g, x, n, out + 2 * row, OP);\n"
    "    ndr_joint_exclusive_scan(g, x, n, out + 3 * row, init, OP);\n"
    "#endif\n"
    "}\n";

enum { ROW = MOST + GUARD };

static void check_int_scan(const int32_t *x, size_t n, int32_t out[4][ROW])
{
    int32_t sum = 0;
    for (size_t i = 0; i < n; ++i) {
        assert_int_equal(out[2][i], sum);
        assert_int_equal(out[3][i], 500 + sum);
        sum += x[i];
        assert_int_equal(out[0][i], sum);
        assert_int_equal(out[1][i], 500 + sum);
    }
    for (int row = 0; row < 4; ++row)
        for (size_t i = n; i < n + GUARD; ++i) assert_int_equal(out[row][i], -77);
}

static void check_int_scans(const char *options)
{
    static int32_t x[MOST], out[4][ROW];
    for (int i = 0; i < MOST; ++i) x[i] = i * i % 89 - 30;
    ndr_kernel *kernel = kernel_with(scan_source, "scan", options);
    ndr_buffer *in = buffer_of(sizeof x, x), *result = buffer_of(sizeof out, NULL);
    for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
        const size_t size = fitting_group(kernel, sizes[s]);
        for (size_t c = 0; c < COUNT_OF(counts); ++c) {
            if (is_too_long(size, counts[c])) continue;
            assert_ok(ndr_buffer_fill(queue, result, 0, sizeof out, &(int32_t){ -77 }, sizeof(int32_t), NULL));
            assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(size, size), in, (uint64_t)counts[c], 500,
                                 ndr_local(int, MOST), result));
            read_buffer(result, out, sizeof out);
            check_int_scan(x, counts[c], out);
        }
    }
    destroy_buffers(in, result);
}

static void test_joint_scan__writes_n_elements_and_no_more(void **state)
{
    check_int_scans("-DT=int -DOP=NDR_PLUS -DROW=1028");
}

static void test_joint_scan__may_write_over_what_it_reads(void **state)
{
    check_int_scans("-DT=int -DOP=NDR_PLUS -DROW=1028 -DIN_PLACE");
}

static void test_joint_scan__works_as_opencl_c_1_2(void **state)
{
    check_int_scans("-DT=int -DOP=NDR_PLUS -DROW=1028 -DIN_PLACE -cl-std=CL1.2");
}

static void test_joint_scan__starts_a_minimum_from_infinity_and_leaves_nan_out(void **state)
{
    enum { COUNT = 20 };
    float x[COUNT], out[4][COUNT];
    for (int i = 0; i < COUNT; ++i) x[i] = i < 5 || i == 11 ? NAN : (float)(40 - i);
    ndr_kernel *kernel = kernel_with(scan_source, "scan", "-DT=float -DOP=NDR_MINIMUM -DROW=20");
    ndr_buffer *in = buffer_of(sizeof x, x), *result = buffer_of(sizeof out, NULL);
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(7, 7), in, (uint64_t)COUNT, 30.0f, ndr_local(float, 1), result));
    read_buffer(result, out, sizeof out);
    assert_true(isinf(out[2][0]) && out[2][0] > 0);
    float least = NAN;
    for (int i = 0; i < COUNT; ++i) {
        if (i > 0) assert_true(isnan(least) ? isnan(out[2][i]) : out[2][i] == least);
        assert_true(out[3][i] == fminf(30, least));
        least = fminf(least, x[i]);
        assert_true(isnan(least) ? isnan(out[0][i]) : out[0][i] == least);
        assert_true(out[1][i] == fminf(30, least));
    }
    destroy_buffers(in, result);
}

/* ---- several groups ---- */

/* Each group has its own elements. The group at the split edge is smaller. */
static void test_joint_scan__is_each_groups_own(void **state)
{
    ndr_kernel *kernel = kernel_of(
        "#include \"ndr/joint.clh\"\n"
        "kernel void own(global ulong *x, NDR_ND_RANGE(1))\n"
        "{\n"
        "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
        "    const ndr_group g = ndr_get_group(it);\n"
        "    global ulong *mine = x + 10 * ndr_group_id(g, 0);\n"
        "    ndr_joint_exclusive_scan(g, mine, 10, mine, 1, NDR_MULTIPLIES);\n"
        "    const ulong most = ndr_joint_reduce(g, mine, 10, NDR_BIT_OR);\n" /* no barrier before but the scan's */
        "    ndr_group_barrier(g);\n"
        "    if (ndr_leader(g)) mine[0] = most;\n"
        "}\n",
        "own");
    enum { GROUPS = 4 };
    uint64_t x[10 * GROUPS];
    for (int i = 0; i < 10 * GROUPS; ++i) x[i] = (uint64_t)(i / 10 + 2);
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    ndr_nd_range range = ndr_nd_range_1d(3 * 13 + 2, 13);
    range.edge = NDR_EDGE_SPLIT;
    assert_ok(ndr_launch(queue, kernel, range, buffer));
    read_buffer(buffer, x, sizeof x);
    for (int group = 0; group < GROUPS; ++group) {
        uint64_t power = 1, all = 0;
        for (int i = 0; i < 10; ++i) {
            if (i > 0) assert_int_equal(x[10 * group + i], power);
            all |= power;
            power *= (uint64_t)(group + 2);
        }
        assert_int_equal(x[10 * group], all);
    }
    ndr_buffer_destroy(buffer);
}

static void test_joint_reduce__refuses_bit_operators_for_floats(void **state)
{
    ndr_kernel *kernel;
    assert_refused(NDR_BUILD_FAILED,
                   ndr_kernel_get(context,
                                  &(ndr_kernel_desc){ .name = "k",
                                                      .source = "#include \"ndr/joint.clh\"\n"
                                                                "kernel void k(global float *x, NDR_ND_RANGE(1))\n"
                                                                "{\n"
                                                                "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
                                                                "    x[0] = ndr_joint_reduce(ndr_get_group(it), x, 3, NDR_BIT_OR);\n"
                                                                "}\n" },
                                  &kernel),
                   "bit operators are for integers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joint_reduce__sums_any_number_of_elements),
        cmocka_unit_test(test_joint_reduce__works_as_opencl_c_1_2),
        cmocka_unit_test(test_joint_reduce__leaves_nan_out_unless_there_is_nothing_else),
        cmocka_unit_test(test_joint_predicates__look_at_every_element),
        cmocka_unit_test(test_joint_scan__writes_n_elements_and_no_more),
        cmocka_unit_test(test_joint_scan__may_write_over_what_it_reads),
        cmocka_unit_test(test_joint_scan__works_as_opencl_c_1_2),
        cmocka_unit_test(test_joint_scan__starts_a_minimum_from_infinity_and_leaves_nan_out),
        cmocka_unit_test(test_joint_scan__is_each_groups_own),
        cmocka_unit_test(test_joint_reduce__refuses_bit_operators_for_floats),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
