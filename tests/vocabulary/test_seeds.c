/* test_seeds.c - the programs that the project began with (docs/appendix/conformance.md, E1 to E26), with their own numbers.
 *
 * Each test runs one program in libndr's vocabulary, on its inputs and over its range. It prints the program's known
 * result and the result here, and compares them. If a program got its result by accident, a corrected program is here,
 * and a second test shows what libndr does with the accident. Kernels: seeds/. */
#include "support.h"

#include <math.h>

#include "ndr/ndr_index.h"

/* ---- what they share ---- */

static ndr_status get_kernel(const char *file, const char *name, size_t sub_group_size, ndr_kernel **kernel)
{
    char path[1024];
    const char *folder = getenv("NDR_TEST_DIR");
    assert_non_null(folder);
    snprintf(path, sizeof path, "%s/vocabulary/seeds/%s", folder, file);
    return ndr_kernel_get(context, &(ndr_kernel_desc){ .name = name, .file = path, .sub_group_size = sub_group_size },
                          kernel);
}

static ndr_kernel *kernel_in(const char *file, const char *name)
{
    ndr_kernel *kernel = NULL;
    assert_ok(get_kernel(file, name, 0, &kernel));
    return kernel;
}

static void expect_number(const char *what, double expected, double got)
{
    print_message("  %s: expected %.9g, got %.9g\n", what, expected, got);
    assert_true(got == expected);
}

/* All of them, or the first sixteen and whether the rest are right too. */
static void expect_numbers(const char *what, size_t n, const double *expected, const double *got)
{
    print_message("  %s: expected", what);
    for (size_t i = 0; i < n && i < 16; ++i) print_message(" %.9g", expected[i]);
    print_message("%s, got", n > 16 ? " ..." : "");
    for (size_t i = 0; i < n && i < 16; ++i) print_message(" %.9g", got[i]);
    print_message("%s\n", n > 16 ? " ..." : "");
    for (size_t i = 0; i < n; ++i) assert_true(got[i] == expected[i]);
}

static void expect_ints(const char *what, size_t n, const int32_t *expected, const int32_t *got)
{
    double *e = malloc(n * sizeof *e), *g = malloc(n * sizeof *g);
    for (size_t i = 0; i < n; ++i) {
        e[i] = expected[i];
        g[i] = got[i];
    }
    expect_numbers(what, n, e, g);
    free(e);
    free(g);
}

static void expect_floats(const char *what, size_t n, const double *expected, const float *got)
{
    double *g = malloc(n * sizeof *g);
    for (size_t i = 0; i < n; ++i) g[i] = (double)got[i];
    expect_numbers(what, n, expected, g);
    free(g);
}

static void expect_all(const char *what, size_t n, int32_t expected, const int32_t *got)
{
    size_t right = 0;
    for (size_t i = 0; i < n; ++i) right += got[i] == expected;
    print_message("  %s: expected %d in all of %zu, got it in %zu\n", what, expected, n, right);
    assert_int_equal(right, n);
}

/* Floats in [0, 1), the same every time. */
static void fill_uniformly(float *x, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; ++i) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) * 0x1p-24f;
    }
}

/* The compiler must refuse the kernel with this sentence. */
static void assert_does_not_build(const char *source, const char *name, const char *sentence)
{
    ndr_kernel *kernel;
    assert_refused(NDR_BUILD_FAILED,
                   ndr_kernel_get(context, &(ndr_kernel_desc){ .name = name, .source = source }, &kernel), sentence);
}

/* ---- matrix products ---- */

/* Two matrices, their product by the plain loop in double, and room for the device's result. */
typedef struct product {
    size_t n;
    float *c;
    double *expected;
    ndr_buffer *in_a, *in_b, *out;
} product;

static product begin_product(size_t n)
{
    const size_t bytes = n * n * sizeof(float);
    float *a = malloc(bytes), *b = malloc(bytes);
    product p = { n, malloc(bytes), malloc(n * n * sizeof(double)), NULL, NULL, NULL };
    fill_uniformly(a, n * n, 1);
    fill_uniformly(b, n * n, 2);
    for (size_t i = 0; i < n * n; ++i) p.expected[i] = 0;
    for (size_t i = 0; i < n; ++i)
        for (size_t k = 0; k < n; ++k)
            for (size_t j = 0; j < n; ++j) p.expected[i * n + j] += (double)a[i * n + k] * (double)b[k * n + j];
    for (size_t i = 0; i < n * n; ++i) p.c[i] = NAN;
    p.in_a = buffer_of(bytes, a);
    p.in_b = buffer_of(bytes, b);
    p.out = buffer_of(bytes, p.c);
    free(a);
    free(b);
    return p;
}

static void check_product(const product *p)
{
    double worst = 0;
    read_buffer(p->out, p->c, p->n * p->n * sizeof *p->c);
    for (size_t i = 0; i < p->n * p->n; ++i) {
        const double error = fabs((double)p->c[i] - p->expected[i]) / p->expected[i];
        worst = isnan(error) || error > worst ? error : worst;
    }
    print_message("  c(0, 0) of %zu: expected %.6f, got %.6f; largest relative error: allowed 1e-5, got %.2g\n", p->n,
                  p->expected[0], (double)p->c[0], worst);
    assert_true(worst <= 1e-5);
    for (size_t i = 0; i < p->n * p->n; ++i) p->c[i] = NAN;
    assert_ok(ndr_buffer_write(queue, p->out, 0, p->n * p->n * sizeof *p->c, p->c, NULL)); /* for the next launch */
}

static void end_product(product *p)
{
    destroy_buffers(p->in_a, p->in_b, p->out);
    free(p->c);
    free(p->expected);
}

/* The book's 256, in blocks of 8; a few blocks on a simulator. */
static size_t book_size(void)
{
    return quick() ? 24 : 256;
}

/* ---- E1 ---- */

/* x = y = 0 1 2 ... 24 as 5 by 5, in 6 by 6 items, groups of 2 by 2. */
static void test_seeds__e01_sliding_window_matmul(void **state)
{
    static const double expected[25] = { 150,  160,  170,  180, 190,  400,  435,  470,  505,  540,  650,  710, 770,
                                         830,  890,  900,  985, 1070, 1155, 1240, 1150, 1260, 1370, 1480, 1590 };
    const ndr_range windows = ndr_range_2d(2, 2), global = ndr_range_round_up(ndr_range_2d(5, 5), windows);
    float x[25], result[25] = { 0 };
    for (int i = 0; i < 25; ++i) x[i] = (float)i;
    ndr_buffer *in = buffer_of(sizeof x, x), *out = buffer_of(sizeof result, result);
    assert_true(ndr_range_equal(global, ndr_range_2d(6, 6)));
    assert_ok(ndr_launch(queue, kernel_in("groups.cl", "slide"), ndr_nd_range_of(global, windows), in, in,
                         ndr_local(float, 2, 2), ndr_local(float, 2, 2), out, 5, 5, 5));
    take_buffer(out, result, sizeof result);
    for (int row = 0; row < 5; ++row) expect_floats("row", 5, &expected[5 * row], &result[5 * row]);
    ndr_buffer_destroy(in);
}

/* ---- E2 ---- */

/* Here and in E8, buffers that one kernel writes and a later one reads are initialised, because of a fault in Oclgrind
 * 21.10: if an earlier, smaller buffer had the same number, it takes writes past that buffer's end as uninitialised. */

/* Fold until one element is left; returns the number of launches. */
static int fold_all(size_t n, float *sum)
{
    ndr_kernel *fold = kernel_in("ranges.cl", "fold");
    float *x = malloc(n * sizeof *x);
    int launches = 0;
    for (size_t i = 0; i < n; ++i) x[i] = (float)i;
    ndr_buffer *buffer = buffer_of(n * sizeof *x, x), *sums = buffer_of(n / 2 * sizeof *x, x);
    for (size_t total = n; total > 1; ++launches) {
        const size_t pairs = total / 2;
        total -= pairs;
        assert_ok(ndr_launch(queue, fold, ndr_range_1d(pairs), buffer, sums, total));
    }
    read_buffer(n > 1 ? sums : buffer, sum, sizeof *sum);
    destroy_buffers(buffer, sums);
    free(x);
    return launches;
}

static void test_seeds__e02_strided_sum(void **state)
{
    float sum = 0;
    expect_number("launches", 11, fold_all(2048, &sum));
    expect_number("sum of 0 .. 2047", 2096128, (double)sum);
}

/* The seed requires a power of two. libndr does not. */
static void test_seeds__e02_strided_sum_of_any_count(void **state)
{
    static const size_t counts[] = { 1, 2, 3, 7, 1000, 1009, 2049 };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
        const size_t n = counts[i];
        float sum = -1;
        fold_all(n, &sum);
        expect_number("sum", (double)(n * (n - 1) / 2), (double)sum);
    }
}

/* ---- E3 ---- */

/* Ten items, in groups that the library chooses. */
static void test_seeds__e03_barrier_without_argument(void **state)
{
    static const double expected[10] = { 0, 2, 4, 6, 8, 10, 12, 14, 16, 18 };
    float x[10];
    for (int i = 0; i < 10; ++i) x[i] = (float)i;
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    assert_ok(ndr_launch(queue, kernel_in("groups.cl", "twice"), ndr_nd_range_1d(10, 0), buffer));
    take_buffer(buffer, x, sizeof x);
    expect_floats("twice 0 .. 9", 10, expected, x);
}

/* The seed has its barrier in a kernel over a range, which has no groups. */
static void test_seeds__e03_refuses_a_barrier_in_a_range_kernel(void **state)
{
    assert_does_not_build("#include <ndr/nd_item.clh>\n"
                          "kernel void twice(global float *x, NDR_RANGE(1))\n"
                          "{\n"
                          "    const ndr_item it = NDR_ITEM(1);\n"
                          "    const float before = x[ndr_global_id(it, 0)];\n"
                          "    ndr_group_barrier(it);\n"
                          "    x[ndr_global_id(it, 0)] = before * 2;\n"
                          "}\n",
                          "twice", "a range has no groups and so no barrier");
    ndr_buffer *buffer = buffer_of(10 * sizeof(float), NULL);
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, kernel_in("groups.cl", "twice"), ndr_range_1d(10), buffer),
                   "twice");
    ndr_buffer_destroy(buffer);
}

/* ---- E4 ---- */

static void test_seeds__e04_reversed_through_a_local_array(void **state)
{
    static const double expected[10] = { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9 };
    float x[10];
    for (int i = 0; i < 10; ++i) x[i] = (float)i;
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    assert_ok(ndr_launch(queue, kernel_in("groups.cl", "add_reversed"), ndr_nd_range_1d(10, 10), buffer));
    take_buffer(buffer, x, sizeof x);
    expect_floats("0 .. 9 and its reverse", 10, expected, x);
}

/* The seed leaves the group's size to the implementation, although its array is right for ten items only. Here the
 * kernel requires ten. oclgrind.selftest shows the report for items that read outside their group's part. */
static void test_seeds__e04_refuses_groups_that_its_array_is_not_for(void **state)
{
    float x[10] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    ndr_kernel *kernel = kernel_in("groups.cl", "add_reversed");
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, kernel, ndr_nd_range_1d(10, 5), buffer),
                   "requires the local size 10", "not 5");
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, kernel, ndr_range_1d(10), buffer), "add_reversed");
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(10, 0), buffer)); /* without a local size, the group has ten */
    take_buffer(buffer, x, sizeof x);
}

/* ---- E5 ---- */

static void sum_by_groups_of_64(size_t n)
{
    enum { MOST = 20 };
    int32_t ones[MOST * 64], partial[MOST], total = 0;
    const size_t groups = n / 64;
    assert_in_range(groups, 1, MOST);
    for (size_t i = 0; i < n; ++i) ones[i] = 1;
    ndr_buffer *in = buffer_of(n * sizeof *ones, ones), *sums = buffer_of(groups * sizeof *partial, NULL);
    assert_ok(ndr_launch(queue, kernel_in("groups.cl", "sum_groups"), ndr_nd_range_1d(n, 64), in, sums));
    read_buffer(sums, partial, groups * sizeof *partial);
    for (size_t i = 0; i < groups; ++i) total += partial[i];
    expect_all("partial sums", groups, 64, partial);
    expect_number("sum of ones", (double)n, total);
    destroy_buffers(in, sums);
}

static void test_seeds__e05_tree_in_groups(void **state)
{
    skip_without_group(kernel_in("groups.cl", "sum_groups"), 64);
    sum_by_groups_of_64(1024);
}

/* The seed requires an even number of groups. libndr does not. */
static void test_seeds__e05_tree_in_an_odd_number_of_groups(void **state)
{
    skip_without_group(kernel_in("groups.cl", "sum_groups"), 64);
    sum_by_groups_of_64(64);
    sum_by_groups_of_64(3 * 64);
    sum_by_groups_of_64(17 * 64);
}

/* The seed would ignore the remainder of 1000. libndr refuses the launch. */
static void test_seeds__e05_refuses_a_tail_that_it_would_drop(void **state)
{
    skip_without_group(kernel_in("groups.cl", "sum_groups"), 64);
    ndr_buffer *in = buffer_of(1000 * sizeof(int32_t), NULL), *sums = buffer_of(16 * sizeof(int32_t), NULL);
    assert_refused(NDR_BAD_RANGE,
                   ndr_launch(queue, kernel_in("groups.cl", "sum_groups"), ndr_nd_range_1d(1000, 64), in, sums),
                   "1000", "64");
    destroy_buffers(in, sums);
}

/* ---- E6, E7 ---- */

/* 0 + 1 + ... + 1023 by a kernel over `items`. */
static int32_t sum_of_1024(const char *name, size_t items, bool takes_count)
{
    int32_t x[1024], sum = 0;
    for (int i = 0; i < 1024; ++i) x[i] = i;
    ndr_buffer *in = buffer_of(sizeof x, x), *out = buffer_of(sizeof sum, &sum);
    ndr_kernel *kernel = kernel_in("ranges.cl", name);
    if (takes_count) assert_ok(ndr_launch(queue, kernel, ndr_range_1d(items), in, 1024, out));
    else assert_ok(ndr_launch(queue, kernel, ndr_range_1d(items), in, out));
    take_buffer(out, &sum, sizeof sum);
    ndr_buffer_destroy(in);
    return sum;
}

static void test_seeds__e06_serial_sum(void **state)
{
    expect_number("sum of 0 .. 1023", 523776, sum_of_1024("sum_serially", 1, true));
}

/* The seed adds into a[0], which another item reads as an input at the same time. oclgrind.selftest shows this race.
 * Here the sum has its own cell. */
static void test_seeds__e07_atomic_sum(void **state)
{
    expect_number("sum of 0 .. 1023", 523776, sum_of_1024("sum_atomically", 1024, false));
}

/* ---- E8 ---- */

typedef struct pass {
    size_t items, n;
} pass;

/* Sums of groups of 64, and sums of those, until one is left. Two buffers are input and output in turn. The seed
 * launches fewer items than a group if fewer are left; here every launch is rounded up to whole groups. */
static int32_t sum_recursively(size_t n, pass passes[8], size_t *pass_count)
{
    ndr_kernel *kernel = kernel_in("groups.cl", "sum_groups_of");
    int32_t *ones = malloc(n * sizeof *ones), sum = 0;
    for (size_t i = 0; i < n; ++i) ones[i] = 1;
    ndr_buffer *from = buffer_of(n * sizeof *ones, ones), *to = buffer_of((n + 63) / 64 * sizeof *ones, ones);
    size_t left = n;
    *pass_count = 0;
    do {
        const ndr_nd_range range = ndr_nd_range_of(ndr_range_round_up(ndr_range_1d(left), ndr_range_1d(64)),
                                                   ndr_range_1d(64));
        ndr_buffer *read = from;
        assert_true(*pass_count < 8);
        passes[(*pass_count)++] = (pass){ range.global.size[0], left };
        assert_ok(ndr_launch(queue, kernel, range, from, left, to));
        left = ndr_nd_range_groups(range).size[0];
        from = to;
        to = read;
    } while (left > 1);
    take_buffer(from, &sum, sizeof sum);
    ndr_buffer_destroy(to);
    free(ones);
    return sum;
}

static void test_seeds__e08_recursive_sum(void **state)
{
    skip_without_group(kernel_in("groups.cl", "sum_groups_of"), 64);
    static const pass expected[3] = { { 20032, 20000 }, { 320, 313 }, { 64, 5 } };
    pass passes[8];
    size_t count;
    expect_number("sum of 20000 ones", 20000, sum_recursively(20000, passes, &count));
    for (size_t i = 0; i < count; ++i)
        print_message("  launch: expected (%zu, 64) of %zu, got (%zu, 64) of %zu\n", expected[i % 3].items,
                      expected[i % 3].n, passes[i].items, passes[i].n);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < 3; ++i) {
        assert_int_equal(passes[i].items, expected[i].items);
        assert_int_equal(passes[i].n, expected[i].n);
    }
}

static void test_seeds__e08_recursive_sum_of_any_count(void **state)
{
    skip_without_group(kernel_in("groups.cl", "sum_groups_of"), 64);
    static const size_t counts[] = { 1, 10, 63, 64, 65, 4096, 4097 };
    pass passes[8];
    size_t count;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i)
        expect_number("sum of ones", (double)counts[i], sum_recursively(counts[i], passes, &count));
}

/* Ten elements, which the seed launches as ten items in groups of 64. */
static void test_seeds__e08_refuses_less_than_a_group(void **state)
{
    skip_without_group(kernel_in("groups.cl", "sum_groups_of"), 64);
    ndr_buffer *in = buffer_of(10 * sizeof(int32_t), NULL), *sums = buffer_of(sizeof(int32_t), NULL);
    assert_refused(NDR_BAD_RANGE,
                   ndr_launch(queue, kernel_in("groups.cl", "sum_groups_of"), ndr_nd_range_1d(10, 64), in, 10, sums),
                   "10", "64");
    destroy_buffers(in, sums);
}

/* ---- E9 ---- */

static void test_seeds__e09_private_memory(void **state)
{
    static const double expected[4] = { 0, 2, 4, 6 };
    float x[4] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    assert_ok(ndr_launch(queue, kernel_in("groups.cl", "keep"), ndr_nd_range_1d(4, 4), buffer));
    take_buffer(buffer, x, sizeof x);
    expect_floats("twice one's own id", 4, expected, x);
}

/* ---- E10, E12: floats ---- */

/* a + b on the device and by the plain loop: the same, bit for bit. */
static void add_floats(size_t n)
{
    const size_t bytes = n * sizeof(float);
    float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
    double *expected = malloc(n * sizeof *expected);
    fill_uniformly(a, n, 3);
    fill_uniformly(b, n, 4);
    for (size_t i = 0; i < n; ++i) {
        const float sum = a[i] + b[i]; /* i386's C rounds here alone */
        expected[i] = (double)sum;
    }
    ndr_buffer *in_a = buffer_of(bytes, a), *in_b = buffer_of(bytes, b), *out = buffer_of(bytes, NULL);
    assert_ok(ndr_launch(queue, kernel_in("ranges.cl", "add_floats"), ndr_range_1d(n), in_a, in_b, out));
    take_buffer(out, c, bytes);
    expect_floats("a + b", n, expected, c);
    destroy_buffers(in_a, in_b);
    free(a);
    free(b);
    free(c);
    free(expected);
}

static void test_seeds__e10_vector_add_of_ten(void **state)
{
    add_floats(10);
}

static void test_seeds__e12_loop_and_kernel_agree(void **state)
{
    add_floats(1);
    add_floats(997);
}

/* ---- E11, E13: ranges ---- */

/* Figure 4-1: (2, 8), numbered row by row. */
static void test_seeds__e11_linear_ids_of_2_by_8(void **state)
{
    int32_t x[16], expected[16];
    for (int i = 0; i < 16; ++i) expected[i] = i;
    ndr_buffer *buffer = buffer_of(sizeof x, NULL);
    assert_ok(ndr_launch(queue, kernel_in("ranges.cl", "number"), ndr_range_2d(2, 8), buffer));
    take_buffer(buffer, x, sizeof x);
    expect_ints("row 0", 8, expected, x);
    expect_ints("row 1", 8, &expected[8], &x[8]);
}

/* Figure 4-4: 64 items in two dimensions. */
static void test_seeds__e13_each_of_64_items_once(void **state)
{
    int32_t times[64] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof times, times);
    assert_ok(ndr_launch(queue, kernel_in("ranges.cl", "count"), ndr_range_2d(8, 8), buffer));
    take_buffer(buffer, times, sizeof times);
    expect_all("times", 64, 1, times);
}

/* ---- E14, E15: integers ---- */

/* 1 + 2 over a range. */
static void add_ones_and_twos(const char *name, ndr_range range)
{
    const size_t n = ndr_range_total(range), bytes = n * sizeof(int32_t);
    int32_t *c = malloc(bytes), one = 1, two = 2;
    ndr_buffer *a = buffer_of(bytes, NULL), *b = buffer_of(bytes, NULL), *out = buffer_of(bytes, NULL);
    assert_ok(ndr_buffer_fill(queue, a, 0, bytes, &one, sizeof one, NULL));
    assert_ok(ndr_buffer_fill(queue, b, 0, bytes, &two, sizeof two, NULL));
    assert_ok(ndr_launch(queue, kernel_in("ranges.cl", name), range, a, b, out));
    take_buffer(out, c, bytes);
    expect_all("1 + 2", n, 3, c);
    destroy_buffers(a, b);
    free(c);
}

static void test_seeds__e14_vector_add(void **state)
{
    add_ones_and_twos("add_ints", ndr_range_1d(256));
}

static void test_seeds__e15_matrix_add(void **state)
{
    add_ones_and_twos("add_matrices", quick() ? ndr_range_2d(32, 32) : ndr_range_2d(256, 256));
}

/* ---- E16, E18, E20, E22, E23, E26: products in every form of kernel ---- */

static void test_seeds__e16_matmul_over_a_range(void **state)
{
    product p = begin_product(book_size());
    assert_ok(ndr_launch(queue, kernel_in("ranges.cl", "multiply"), ndr_range_2d(p.n, p.n), p.in_a, p.in_b, p.out,
                         p.n));
    check_product(&p);
    end_product(&p);
}

static void test_seeds__e18_matmul_over_an_nd_range(void **state)
{
    product p = begin_product(book_size());
    assert_ok(ndr_launch(queue, kernel_in("groups.cl", "multiply"), ndr_nd_range_2d(p.n, p.n, 4, 4), p.in_a, p.in_b,
                         p.out, p.n));
    check_product(&p);
    end_product(&p);
}

static void test_seeds__e20_matmul_hierarchical(void **state)
{
    skip_without_group(kernel_in("hierarchies.cl", "multiply"), 64);
    product p = begin_product(book_size());
    const ndr_nd_range range = ndr_groups_of(ndr_range_2d(p.n / 8, p.n / 8), ndr_range_2d(8, 8));
    assert_ok(ndr_launch(queue, kernel_in("hierarchies.cl", "multiply"), range, p.in_a, p.in_b, p.out, p.n));
    check_product(&p);
    end_product(&p);
}

/* Groups of (8, 8) logical items, the library's choice of physical ones, then some that do not divide 8. */
static void multiply_blocks(const char *name)
{
    static const ndr_range sizes[] = { { 2, { 0, 0, 0 } }, { 2, { 1, 1, 0 } }, { 2, { 3, 5, 0 } }, { 2, { 1, 16, 0 } } };
    product p = begin_product(book_size());
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        const ndr_nd_range range = ndr_groups_of(ndr_range_2d(p.n / 8, p.n / 8), sizes[i]);
        assert_ok(ndr_launch(queue, kernel_in("hierarchies.cl", name), range, p.in_a, p.in_b, p.out, p.n, 8));
        check_product(&p);
    }
    end_product(&p);
}

static void test_seeds__e22_matmul_over_logical_items(void **state)
{
    multiply_blocks("multiply_blocks");
}

static void test_seeds__e23_matmul_with_private_memory(void **state)
{
    multiply_blocks("multiply_blocks_privately");
}

/* Groups of side by side items, `edge` for sizes that they do not divide. */
static void multiply_in_windows(size_t n, size_t side, ndr_edge edge)
{
    product p = begin_product(n);
    ndr_nd_range range = ndr_nd_range_2d(n, n, side, side);
    range.edge = edge;
    assert_ok(ndr_launch(queue, kernel_in("groups.cl", "slide"), range, p.in_a, p.in_b, ndr_local(float, side, side),
                         ndr_local(float, side, side), p.out, n, n, n));
    check_product(&p);
    end_product(&p);
}

static void test_seeds__e26_matmul_with_local_memory_in_16_by_16(void **state)
{
    skip_without_group(kernel_in("groups.cl", "slide"), 16 * 16);
    multiply_in_windows(quick() ? 32 : 256, 16, NDR_EDGE_REJECT);
    multiply_in_windows(quick() ? 20 : 250, 16, NDR_EDGE_ROUND_UP);
}

/* ---- E17: three dimensions ---- */

/* Figure 4-12: (8, 8, 8) items in groups of (4, 4, 4). */
enum { ITEMS = 8 * 8 * 8 };

static void test_seeds__e17_groups_of_three_dimensions(void **state)
{
    skip_without_group(kernel_in("groups.cl", "groups"), 64);
    int32_t group_of[ITEMS], members[8] = { 0 };
    ndr_buffer *out = buffer_of(sizeof group_of, NULL);
    assert_ok(ndr_launch(queue, kernel_in("groups.cl", "groups"), ndr_nd_range_3d(8, 8, 8, 4, 4, 4), out));
    take_buffer(out, group_of, sizeof group_of);
    for (size_t i = 0; i < ITEMS; ++i) {
        const ndr_id id = ndr_id_at(ndr_range_3d(8, 8, 8), i);
        assert_in_range(group_of[i], 0, 7);
        assert_int_equal(group_of[i], (id.at[0] / 4 * 2 + id.at[1] / 4) * 2 + id.at[2] / 4);
        ++members[group_of[i]];
    }
    expect_all("items of each of 8 groups", 8, 64, members);
}

static void test_seeds__e17_sub_groups_of_four(void **state)
{
    ndr_kernel *kernel = NULL;
    const ndr_status status = get_kernel("sub_groups.cl", "sub_groups", 4, &kernel);
    skip_without(status != NDR_UNSUPPORTED, "the device has no sub-groups of 4");
    assert_ok(status);
    skip_without_group(kernel, 64);

    ndr_sub_group_info info;
    assert_ok(ndr_kernel_get_sub_groups(kernel, &(ndr_range){ 3, { 4, 4, 4 } }, &info));
    expect_number("sub-groups of a group, as the host is told", 16, (double)info.count);

    int32_t said[4][ITEMS], members[8][16] = { { 0 } };
    ndr_buffer *out[4];
    for (int i = 0; i < 4; ++i) out[i] = buffer_of(sizeof said[i], NULL);
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_3d(8, 8, 8, 4, 4, 4), out[0], out[1], out[2], out[3]));
    for (int i = 0; i < 4; ++i) {
        read_buffer(out[i], said[i], sizeof said[i]);
        ndr_buffer_destroy(out[i]);
    }
    for (size_t i = 0; i < ITEMS; ++i) {
        const ndr_id id = ndr_id_at(ndr_range_3d(8, 8, 8), i);
        const size_t group = (id.at[0] / 4 * 2 + id.at[1] / 4) * 2 + id.at[2] / 4;
        assert_in_range(said[0][i], 0, 15);
        ++members[group][said[0][i]];
    }
    expect_all("items of each of 8 * 16 sub-groups", 8 * 16, 4, &members[0][0]);
    expect_all("size, as the sub-group says", ITEMS, 4, said[2]);
    expect_ints("dimension 2 of the group is dimension 0 of the sub-group", ITEMS, said[3], said[1]);
}

/* ---- E19 ---- */

/* Figure 4-18. The far edges are split, so that the local range is the group's real one. */
static void test_seeds__e19_group_handed_to_a_function(void **state)
{
    enum { ROWS = 7, COLS = 10 };
    int32_t rows[ROWS * COLS], cols[ROWS * COLS], expected_rows[ROWS * COLS], expected_cols[ROWS * COLS];
    ndr_nd_range range = ndr_nd_range_2d(ROWS, COLS, 3, 4);
    range.edge = NDR_EDGE_SPLIT;
    for (int i = 0; i < ROWS * COLS; ++i) {
        expected_rows[i] = i / COLS < 6 ? 3 : 1;
        expected_cols[i] = i % COLS < 8 ? 4 : 2;
    }
    ndr_buffer *out_rows = buffer_of(sizeof rows, NULL), *out_cols = buffer_of(sizeof cols, NULL);
    assert_ok(ndr_launch(queue, kernel_in("groups.cl", "ask_group"), range, out_rows, out_cols));
    take_buffer(out_rows, rows, sizeof rows);
    take_buffer(out_cols, cols, sizeof cols);
    expect_ints("rows of the group", ROWS * COLS, expected_rows, rows);
    expect_ints("columns of the group", ROWS * COLS, expected_cols, cols);
}

/* ---- E21 ---- */

/* Figure 4-21: 11 logical items over 8. */
static void test_seeds__e21_logical_11_over_physical_8(void **state)
{
    static const int32_t expected[11] = { 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2 };
    static const int32_t expected_turn[11] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1 };
    int32_t done_by[11], turn[11];
    ndr_buffer *by = buffer_of(sizeof done_by, NULL), *turns = buffer_of(sizeof turn, NULL);
    assert_ok(ndr_launch(queue, kernel_in("hierarchies.cl", "deal"), ndr_groups_of(ndr_range_1d(1), ndr_range_1d(8)),
                         by, turns, 11));
    read_buffer(by, done_by, sizeof done_by);
    read_buffer(turns, turn, sizeof turn);
    print_message("  expected [0,8] [1,9] [2,10] [3] [4] [5] [6] [7], got");
    for (int item = 0; item < 8; ++item) {
        const char *comma = "";
        print_message(" [");
        for (int t = 0; t < 11; ++t)
            for (int i = 0; i < 11; ++i)
                if (done_by[i] == item && turn[i] == t) {
                    print_message("%s%d", comma, i);
                    comma = ",";
                }
        print_message("]");
    }
    print_message("\n");
    expect_ints("done by", 11, expected, done_by);
    expect_ints("in turn", 11, expected_turn, turn);
    destroy_buffers(by, turns);
}

/* ---- E24 ---- */

static void share_out(size_t units, size_t workers)
{
    int32_t *times = calloc(units, sizeof *times), *worker = calloc(units, sizeof *worker);
    ndr_buffer *counts = buffer_of(units * sizeof *times, times), *who = buffer_of(units * sizeof *worker, worker);
    assert_ok(ndr_launch(queue, kernel_in("ranges.cl", "share_out"), ndr_range_1d(workers), counts, who, units));
    take_buffer(counts, times, units * sizeof *times);
    take_buffer(who, worker, units * sizeof *worker);
    print_message("  %zu units, %zu workers\n", units, workers);
    expect_all("times", units, 1, times);
    for (size_t i = 0; i < units; ++i) assert_int_equal(worker[i], i % workers);
    free(times);
    free(worker);
}

/* Figure 4-25 */
static void test_seeds__e24_data_and_execution_ranges(void **state)
{
    share_out(100, 8);
    share_out(8, 8);
    share_out(5, 8);
    share_out(1009, 8);
    share_out(quick() ? 97 : 100003, 61);
}

/* ---- E25 ---- */

/* The specification's figure 3, in its own (x, y): G in groups of S, no offset. */
static void test_seeds__e25_ids_of_two_dimensions(void **state)
{
    enum { GX = 12, GY = 6, SX = 4, SY = 3, WX = GX / SX, WY = GY / SY };
    int32_t g[GX * GY][2], w[GX * GY][2], s[GX * GY][2], seen[WX][WY][SX][SY] = { { { { 0 } } } };
    ndr_buffer *global_id = buffer_of(sizeof g, NULL), *group_id = buffer_of(sizeof w, NULL);
    ndr_buffer *local_id = buffer_of(sizeof s, NULL);
    assert_ok(ndr_launch(queue, kernel_in("groups.cl", "places"), ndr_nd_range_2d(GY, GX, SY, SX), global_id, group_id,
                         local_id));
    read_buffer(global_id, g, sizeof g);
    read_buffer(group_id, w, sizeof w);
    read_buffer(local_id, s, sizeof s);
    for (int i = 0; i < GX * GY; ++i) {
        assert_int_equal(g[i][0], i % GX);
        assert_int_equal(g[i][1], i / GX);
        assert_in_range(w[i][0], 0, WX - 1);
        assert_in_range(w[i][1], 0, WY - 1);
        assert_int_equal(g[i][0], w[i][0] * SX + s[i][0]);
        assert_int_equal(g[i][1], w[i][1] * SY + s[i][1]);
        assert_int_equal(w[i][0], (g[i][0] - s[i][0]) / SX);
        assert_int_equal(w[i][1], (g[i][1] - s[i][1]) / SY);
        ++seen[w[i][0]][w[i][1]][s[i][0]][s[i][1]];
    }
    print_message("  work-groups (wx, wy) of the first row, at each gx:");
    for (int i = 0; i < GX; ++i) print_message(" (%d, %d)", w[i][0], w[i][1]);
    print_message("\n");
    expect_all("items of each pair of group id and local id", GX * GY, 1, &seen[0][0][0][0]);
    destroy_buffers(global_id, group_id, local_id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds__e01_sliding_window_matmul),
        cmocka_unit_test(test_seeds__e02_strided_sum),
        cmocka_unit_test(test_seeds__e02_strided_sum_of_any_count),
        cmocka_unit_test(test_seeds__e03_barrier_without_argument),
        cmocka_unit_test(test_seeds__e03_refuses_a_barrier_in_a_range_kernel),
        cmocka_unit_test(test_seeds__e04_reversed_through_a_local_array),
        cmocka_unit_test(test_seeds__e04_refuses_groups_that_its_array_is_not_for),
        cmocka_unit_test(test_seeds__e05_tree_in_groups),
        cmocka_unit_test(test_seeds__e05_tree_in_an_odd_number_of_groups),
        cmocka_unit_test(test_seeds__e05_refuses_a_tail_that_it_would_drop),
        cmocka_unit_test(test_seeds__e06_serial_sum),
        cmocka_unit_test(test_seeds__e07_atomic_sum),
        cmocka_unit_test(test_seeds__e08_recursive_sum),
        cmocka_unit_test(test_seeds__e08_recursive_sum_of_any_count),
        cmocka_unit_test(test_seeds__e08_refuses_less_than_a_group),
        cmocka_unit_test(test_seeds__e09_private_memory),
        cmocka_unit_test(test_seeds__e10_vector_add_of_ten),
        cmocka_unit_test(test_seeds__e11_linear_ids_of_2_by_8),
        cmocka_unit_test(test_seeds__e12_loop_and_kernel_agree),
        cmocka_unit_test(test_seeds__e13_each_of_64_items_once),
        cmocka_unit_test(test_seeds__e14_vector_add),
        cmocka_unit_test(test_seeds__e15_matrix_add),
        cmocka_unit_test(test_seeds__e16_matmul_over_a_range),
        cmocka_unit_test(test_seeds__e17_groups_of_three_dimensions),
        cmocka_unit_test(test_seeds__e17_sub_groups_of_four),
        cmocka_unit_test(test_seeds__e18_matmul_over_an_nd_range),
        cmocka_unit_test(test_seeds__e19_group_handed_to_a_function),
        cmocka_unit_test(test_seeds__e20_matmul_hierarchical),
        cmocka_unit_test(test_seeds__e21_logical_11_over_physical_8),
        cmocka_unit_test(test_seeds__e22_matmul_over_logical_items),
        cmocka_unit_test(test_seeds__e23_matmul_with_private_memory),
        cmocka_unit_test(test_seeds__e24_data_and_execution_ranges),
        cmocka_unit_test(test_seeds__e25_ids_of_two_dimensions),
        cmocka_unit_test(test_seeds__e26_matmul_with_local_memory_in_16_by_16),
    };
    return cmocka_run_group_tests_name("seeds", tests, open_device, close_device);
}
