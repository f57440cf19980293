/* test_philox.c - ndr/random.clh: the generator's published answers, and each function against a reference. */
#include "support.h"

#include <math.h>

#include "philox.h"

static const char kernels[] =
    "#include <ndr/random.clh>\n"
    "kernel void philox(global const uint *in, global uint *out, NDR_RANGE(1))\n"
    "{\n"
    "    const size_t i = ndr_global_id(NDR_ITEM(1), 0);\n"
    "    vstore4(ndr_philox(vload4(0, in + 6 * i), vload2(0, in + 6 * i + 4)), i, out);\n"
    "}\n"
    "#define VALUES(T, name) \\\n"
    "    kernel void all_##name(global T *out, ulong seed, ulong stream, ulong first, ulong n, NDR_RANGE(1)) \\\n"
    "    { \\\n"
    "        const size_t i = ndr_global_id(NDR_ITEM(1), 0); \\\n"
    "        const ndr_random r = ndr_random_of(seed, stream); \\\n"
    "        (void)n; \\\n"
    "        out[i] = VALUE_##name; \\\n"
    "    }\n"
    "#define VECTORS(T, lanes, name) \\\n"
    "    kernel void all_##T##lanes##name(global T *out, ulong seed, ulong stream, ulong first, ulong n, \\\n"
    "                                     NDR_RANGE(1)) \\\n"
    "    { \\\n"
    "        const size_t i = ndr_global_id(NDR_ITEM(1), 0); \\\n"
    "        (void)n; \\\n"
    "        vstore##lanes(ndr_random_##T##lanes##name(ndr_random_of(seed, stream), first / lanes + i), i, out); \\\n"
    "    }\n"
    "#define VALUE_uint ndr_random_uint(r, first + i)\n"
    "#define VALUE_ulong ndr_random_ulong(r, first + i)\n"
    "#define VALUE_uint_below ndr_random_uint_below(r, first + i, (uint)n)\n"
    "#define VALUE_ulong_below ndr_random_ulong_below(r, first + i, n)\n"
    "#define VALUE_permuted ndr_random_permuted(r, first + i, n)\n"
    "#define VALUE_float ndr_random_float(r, first + i)\n"
    "#define VALUE_float_normal ndr_random_float_normal(r, first + i)\n"
    "VALUES(uint, uint) VALUES(ulong, ulong) VALUES(uint, uint_below) VALUES(ulong, ulong_below)\n"
    "VALUES(ulong, permuted) VALUES(float, float) VALUES(float, float_normal)\n"
    "VECTORS(uint, 4, ) VECTORS(ulong, 2, ) VECTORS(float, 4, ) VECTORS(float, 4, _normal)\n"
    "kernel void scale_uint(global const uint *x, global uint *out, uint n, NDR_RANGE(1))\n"
    "{\n"
    "    const size_t i = ndr_global_id(NDR_ITEM(1), 0);\n"
    "    out[2 * i] = ndr_random_refuses_uint_(x[i], n);\n"
    "    out[2 * i + 1] = ndr_random_scale_uint_(x[i], n);\n"
    "}\n"
    "kernel void scale_ulong(global const ulong *x, global ulong *out, ulong n, NDR_RANGE(1))\n"
    "{\n"
    "    const size_t i = ndr_global_id(NDR_ITEM(1), 0);\n"
    "    out[2 * i] = ndr_random_refuses_ulong_(x[i], n);\n"
    "    out[2 * i + 1] = ndr_random_scale_ulong_(x[i], n);\n"
    "}\n"
    "kernel void normals_float(global const uint *x, global float *out, NDR_RANGE(1))\n"
    "{\n"
    "    const size_t i = ndr_global_id(NDR_ITEM(1), 0);\n"
    "    const ndr_normal_floats_ two = ndr_random_normal_floats_(x[2 * i], x[2 * i + 1]);\n"
    "    out[2 * i] = two.x, out[2 * i + 1] = two.y;\n"
    "}\n"
    "kernel void add_twice(float x, float y, float z, global float *out, NDR_RANGE(1)) { out[0] = (x + y) + z; }\n"
    "kernel void orders(global uint *out, uint n, NDR_RANGE(1))\n"
    "{\n"
    "    const size_t seed = ndr_global_id(NDR_ITEM(1), 0);\n"
    "    uint order = 0;\n"
    "    for (uint i = 0; i < n; ++i) order = order * n + (uint)ndr_random_permuted(ndr_random_of(seed, 0), i, n);\n"
    "    out[seed] = order;\n"
    "}\n"
    "#if NDR_HAS_F64_\n"
    "#define VALUE_double ndr_random_double(r, first + i)\n"
    "#define VALUE_double_normal ndr_random_double_normal(r, first + i)\n"
    "VALUES(double, double) VALUES(double, double_normal) VECTORS(double, 2, ) VECTORS(double, 2, _normal)\n"
    "kernel void normals_double(global const ulong *x, global double *out, NDR_RANGE(1))\n"
    "{\n"
    "    const size_t i = ndr_global_id(NDR_ITEM(1), 0);\n"
    "    const ndr_normal_doubles_ two = ndr_random_normal_doubles_(x[2 * i], x[2 * i + 1]);\n"
    "    out[2 * i] = two.x, out[2 * i + 1] = two.y;\n"
    "}\n"
    "#endif\n";

/* ---- the generator ---- */

/* Of Random123's file kat_vectors, `philox4x32 10`: counter, key, answer. */
static const uint32_t published[3][10] = {
    { 0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
    { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
      0x6d5451fd },
    { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420,
      0x24126ea1 },
};

static void test_philox__gives_the_published_answers(void **state)
{
    uint32_t in[3][6], out[3][4];
    for (size_t i = 0; i < 3; ++i) memcpy(in[i], published[i], sizeof in[i]);
    ndr_buffer *from = buffer_of(sizeof in, in), *to = buffer_of(sizeof out, NULL);
    assert_ok(ndr_launch(queue, kernel_of(kernels, "philox"), ndr_range_1d(3), from, to));
    read_buffer(to, out, sizeof out);
    for (size_t i = 0; i < 3; ++i) {
        uint32_t words[4];
        memcpy(words, published[i], sizeof words);
        philox(words, published[i] + 4); /* the reference itself */
        assert_memory_equal(words, published[i] + 6, sizeof words);
        assert_memory_equal(out[i], published[i] + 6, sizeof out[i]);
    }
    destroy_buffers(from, to);
}

/* ---- values of streams ---- */

enum { COUNT = 64 };

/* Run one of the kernels all_*, with `lanes` values for each item. */
static void draw(const char *name, size_t lanes, uint64_t seed, uint64_t stream, uint64_t first, uint64_t n, void *out,
                 size_t element_bytes)
{
    char kernel[64];
    snprintf(kernel, sizeof kernel, "all_%s", name);
    ndr_buffer *to = buffer_of(COUNT * element_bytes, NULL);
    assert_ok(ndr_launch(queue, kernel_of(kernels, kernel), ndr_range_1d(COUNT / lanes), to, seed, stream, first, n));
    take_buffer(to, out, COUNT * element_bytes);
}

/* Seeds, streams and first values whose halves differ. The first values begin a block, so that vectors can, too. */
static const uint64_t places[][3] = {
    { 0, 0, 0 },
    { 1, 0, 4096 },
    { UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876543210), (UINT64_C(1) << 34) - 32 },
    { UINT64_MAX, UINT64_MAX, (UINT64_C(1) << 48) - COUNT },
};

/* `wanted` is an expression of the place p and the index i. */
#define CHECK_VALUES(name, lanes, T, limit, wanted)                                               \
    for (size_t k = 0; k < COUNT_OF(places); ++k) {                                               \
        const uint64_t *p = places[k];                                                            \
        T got[COUNT];                                                                             \
        draw(name, lanes, p[0], p[1], p[2], limit, got, sizeof(T));                               \
        for (uint64_t i = p[2]; i < p[2] + COUNT; ++i) assert_true(got[i - p[2]] == (T)(wanted)); \
    }

static void test_philox__streams_give_integers_of_all_bits(void **state)
{
    CHECK_VALUES("uint", 1, uint32_t, 0, philox_u32(p[0], p[1], i, 0))
    CHECK_VALUES("uint4", 4, uint32_t, 0, philox_u32(p[0], p[1], i, 0))
    CHECK_VALUES("ulong", 1, uint64_t, 0, philox_u64(p[0], p[1], i, 0))
    CHECK_VALUES("ulong2", 2, uint64_t, 0, philox_u64(p[0], p[1], i, 0))
}

static void test_philox__streams_give_floats_from_0_to_1(void **state)
{
    CHECK_VALUES("float", 1, float, 0, philox_f32(p[0], p[1], i))
    CHECK_VALUES("float4", 4, float, 0, philox_f32(p[0], p[1], i))
}

static void test_philox__streams_give_doubles_from_0_to_1(void **state)
{
    skip_without(device.has_f64, "the device has no f64");
    CHECK_VALUES("double", 1, double, 0, philox_f64(p[0], p[1], i))
    CHECK_VALUES("double2", 2, double, 0, philox_f64(p[0], p[1], i))
}

/* ---- integers below n ---- */

static const uint64_t limits[] = { 1,
                                   2,
                                   3,
                                   6,
                                   1000,
                                   UINT64_C(1) << 31,
                                   (UINT64_C(1) << 31) + 1,
                                   UINT64_C(3) << 30,
                                   UINT32_MAX,
                                   UINT64_C(1) << 32,
                                   (UINT64_C(1) << 63) + 1,
                                   UINT64_C(3) << 62,
                                   UINT64_MAX };

static void test_philox__values_below_n_replace_refused_words(void **state)
{
    for (size_t l = 0; l < COUNT_OF(limits); ++l) {
        const uint64_t n = limits[l];
        if (n <= UINT32_MAX) CHECK_VALUES("uint_below", 1, uint32_t, n, philox_u32_below(p[0], p[1], i, (uint32_t)n))
        CHECK_VALUES("ulong_below", 1, uint64_t, n, philox_u64_below(p[0], p[1], i, n))
    }
    CHECK_VALUES("uint_below", 1, uint32_t, 0, 0)
    CHECK_VALUES("ulong_below", 1, uint64_t, 0, 0)
}

/* The first word x with x * n >= v * 2^32, and with x * n >= v * 2^64. */
static uint64_t first_word(unsigned width, uint64_t v, uint64_t n)
{
    if (width == 32) return ((v << 32) + n - 1) / n;
    uint64_t x = (uint64_t)((long double)v / (long double)n * 0x1p64L);
    while (x > 0 && product_high(x - 1, n) >= v) --x;
    while (product_high(x, n) < v) ++x;
    return x;
}

/* Exactly floor(2^width / n) words become value v: of those that scale to v, the others are refused. */
#define CHECK_WORDS(T, name, width, n, v)                                                              \
    {                                                                                                  \
        const T first = (T)first_word(width, v, n), per_value = (T)(((T)0 - (n)) / (n) + 1);           \
        T x[300], got[600], accepted = 0;                                                              \
        const size_t count = (size_t)per_value + 4;                                                    \
        assert_true(count <= COUNT_OF(x));                                                             \
        for (size_t j = 0; j < count; ++j) x[j] = (T)(first - 2 + j);                                  \
        ndr_buffer *from = buffer_of(sizeof x, x), *to = buffer_of(sizeof got, NULL);                  \
        assert_ok(ndr_launch(queue, kernel_of(kernels, name), ndr_range_1d(count), from, to, (T)(n))); \
        read_buffer(to, got, sizeof got);                                                              \
        for (size_t j = 0; j < count; ++j) accepted += (T)(got[2 * j] == 0 && got[2 * j + 1] == (v));  \
        assert_true(accepted == per_value);                                                            \
        ndr_buffer_destroy(from);                                                                      \
        ndr_buffer_destroy(to);                                                                        \
    }

static void test_philox__accepts_as_many_words_for_each_value_below_n(void **state)
{
    static const uint32_t ns[] = { UINT32_C(1) << 26, (UINT32_C(1) << 26) + 1, 100000007, UINT32_C(3) << 30,
                                   UINT32_MAX };
    static const uint64_t wide[] = { UINT64_C(1) << 58, (UINT64_C(1) << 58) + 1, UINT64_C(3) << 62, UINT64_MAX };
    for (size_t k = 0; k < COUNT_OF(ns); ++k) {
        const uint32_t n = ns[k], values[] = { 1, 2, n / 3, n / 2, n - 2 };
        for (size_t v = 0; v < COUNT_OF(values); ++v) CHECK_WORDS(uint32_t, "scale_uint", 32, n, values[v])
    }
    for (size_t k = 0; k < COUNT_OF(wide); ++k) {
        const uint64_t n = wide[k], values[] = { 1, 2, n / 3, n / 2, n - 2 };
        for (size_t v = 0; v < COUNT_OF(values); ++v) CHECK_WORDS(uint64_t, "scale_ulong", 64, n, values[v])
    }
}

/* ---- normal values ---- */

/* What docs/vocabulary/random.md states. */
static const long double most_ulps = 4;

enum { SPECIAL = 24, RANDOM = 1 << 16, HASHED = SPECIAL * SPECIAL + 1024 };

/* A hash of the bits of the first pairs, on every device: see the head of ndr/random.clh. */
static uint64_t hash_of(const void *values, size_t bytes)
{
    const unsigned char *byte = values;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; ++i) hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Each sum is rounded to a float, as OpenCL requires. PoCL for i386 keeps more bits in the x87's registers. */
static bool rounds_each_sum(void)
{
    float sum;
    ndr_buffer *out = buffer_of(sizeof sum, NULL);
    assert_ok(ndr_launch(queue, kernel_of(kernels, "add_twice"), ndr_range_1d(1), 0x1p24f, 1.5f, -0x1p24f, out));
    take_buffer(out, &sum, sizeof sum);
    return sum == 2;
}

static void check_normals(ndr_dtype dtype, const void *words, size_t pairs, uint64_t hash)
{
    const bool is_wide = dtype == NDR_DTYPE_F64;
    const size_t bytes = 2 * pairs * ndr_dtype_size(dtype);
    void *got = malloc(bytes);
    ndr_buffer *from = buffer_of(bytes, words), *to = buffer_of(bytes, NULL);
    assert_ok(ndr_launch(queue, kernel_of(kernels, is_wide ? "normals_double" : "normals_float"), ndr_range_1d(pairs),
                         from, to));
    read_buffer(to, got, bytes);
    long double worst = 0;
    for (size_t i = 0; i < 2 * pairs; ++i) {
        const size_t a = i / 2 * 2;
        const uint32_t *u = words;
        const uint64_t *w = words;
        long double wanted[2];
        if (is_wide) normals_of(w[a], w[a + 1], 64, wanted);
        else normals_of(u[a], u[a + 1], 32, wanted);
        const long double ulps = ulps_from(dtype, real(dtype, number_get(dtype, got, i)), wanted[i % 2]);
        worst = ulps > worst ? ulps : worst;
    }
    print_message("%s: at most %.2f ulp\n", ndr_dtype_name(dtype), (double)worst);
    assert_true(worst <= most_ulps);
    if (rounds_each_sum()) assert_true(hash_of(got, 2 * HASHED * ndr_dtype_size(dtype)) == hash);
    else print_message("not compared by bits: this device does not round each sum\n");
    free(got);
    destroy_buffers(from, to);
}

/* Pairs of special words, around the ends of each piece of the approximations, and random ones. */
static size_t make_words(unsigned bits, uint64_t *words)
{
    const uint64_t top = bits == 64 ? UINT64_MAX : UINT32_MAX, half = top / 2 + 1;
    const uint64_t root = bits == 64 ? UINT64_C(0xB504F333F9DE6484) : UINT32_C(0xB504F333);
    const uint64_t special[SPECIAL] = { 0,
                                        1,
                                        2,
                                        3,
                                        half / 4,
                                        half / 4 + 2,
                                        half / 2 - 1,
                                        half / 2,
                                        half / 2 + 2,
                                        half - 1,
                                        half,
                                        half + 2,
                                        half / 2 * 3,
                                        half / 2 * 3 - 1,
                                        half / 4 * 7,
                                        root - 2,
                                        root - 1,
                                        root,
                                        root + 1,
                                        root + 2,
                                        root / 2,
                                        root / 2 + 1,
                                        top - 2,
                                        top };
    const size_t random = quick() ? 2048 : RANDOM;
    uint64_t seed = 5, at = 0;
    for (size_t i = 0; i < SPECIAL; ++i)
        for (size_t j = 0; j < SPECIAL; ++j) words[at++] = special[i], words[at++] = special[j];
    for (size_t i = 0; i < random; ++i) words[at++] = random_bits(&seed) >> (64 - bits) >> (i % 32) / 2;
    return (size_t)at / 2;
}

static void test_philox__normal_floats_are_within_a_few_ulp(void **state)
{
    static uint64_t words[2 * SPECIAL * SPECIAL + RANDOM];
    static uint32_t narrow[COUNT_OF(words)];
    const size_t pairs = make_words(32, words);
    for (size_t i = 0; i < 2 * pairs; ++i) narrow[i] = (uint32_t)words[i];
    check_normals(NDR_DTYPE_F32, narrow, pairs, UINT64_C(0xa189773ba4685a78));
    CHECK_VALUES("float_normal", 1, float, 0,
                 ulps_from(NDR_DTYPE_F32, (long double)got[i - p[2]], philox_normal(NDR_DTYPE_F32, p[0], p[1], i)) <= 4
                     ? got[i - p[2]]
                     : NAN)
}

static void test_philox__normal_doubles_are_within_a_few_ulp(void **state)
{
    skip_without(device.has_f64, "the device has no f64");
    static uint64_t words[2 * SPECIAL * SPECIAL + RANDOM];
    check_normals(NDR_DTYPE_F64, words, make_words(64, words), UINT64_C(0xeb3ec2c7d3db2da3));
    CHECK_VALUES("double_normal", 1, double, 0,
                 ulps_from(NDR_DTYPE_F64, (long double)got[i - p[2]], philox_normal(NDR_DTYPE_F64, p[0], p[1], i)) <= 4
                     ? got[i - p[2]]
                     : (double)NAN)
}

static void test_philox__normal_vectors_have_the_values_of_their_elements(void **state)
{
    for (size_t k = 0; k < COUNT_OF(places); ++k) {
        const uint64_t *p = places[k];
        double one[COUNT], all[COUNT];
        draw("float_normal", 1, p[0], p[1], p[2], 0, one, sizeof(float));
        draw("float4_normal", 4, p[0], p[1], p[2], 0, all, sizeof(float));
        assert_memory_equal(one, all, COUNT * sizeof(float));
        if (!device.has_f64) continue;
        draw("double_normal", 1, p[0], p[1], p[2], 0, one, sizeof(double));
        draw("double2_normal", 2, p[0], p[1], p[2], 0, all, sizeof(double));
        assert_memory_equal(one, all, COUNT * sizeof(double));
    }
}

/* ---- permutations ---- */

static void test_philox__permutes_as_the_reference(void **state)
{
    static const uint64_t lengths[] = { 1, 2, 3, 5, 63, 64, 65, 4097, UINT64_C(1) << 32, (UINT64_C(1) << 40) + 1 };
    for (size_t l = 0; l < COUNT_OF(lengths); ++l) {
        const uint64_t n = lengths[l], first = n > COUNT ? n - COUNT : 0;
        uint64_t got[COUNT];
        draw("permuted", 1, 9, 1, first, n, got, sizeof got[0]);
        for (uint64_t i = first; i < first + COUNT; ++i)
            assert_true(got[i - first] == (i < n ? philox_permuted(9, 1, i, n) : i)); /* from n on: the index */
    }
}

/* Each order of n elements occurs about as often: chi-squared, whose standard deviation is sqrt(2 f) for f orders. */
static void check_orders(uint32_t n, uint32_t orders, size_t seeds)
{
    uint32_t *got = malloc(seeds * sizeof *got), counts[3125] = { 0 };
    ndr_buffer *out = buffer_of(seeds * sizeof *got, NULL);
    assert_ok(ndr_launch(queue, kernel_of(kernels, "orders"), ndr_range_1d(seeds), out, n));
    read_buffer(out, got, seeds * sizeof *got);
    uint32_t seen = 0;
    for (size_t i = 0; i < seeds; ++i) seen += counts[got[i]]++ == 0;
    const double wanted = (double)seeds / orders;
    double chi_squared = 0;
    for (size_t i = 0; i < COUNT_OF(counts); ++i)
        if (counts[i]) chi_squared += (counts[i] - wanted) * (counts[i] - wanted) / wanted;
    assert_int_equal(seen, orders);
    assert_true(fabs(chi_squared - (orders - 1)) <= 4 * sqrt(2.0 * orders));
    free(got);
    ndr_buffer_destroy(out);
}

static void test_philox__permutes_few_elements_into_each_order_as_often(void **state)
{
    check_orders(3, 6, quick() ? 600 : 24000);
    if (quick()) return;
    check_orders(4, 24, 24000);
    check_orders(5, 120, 60000);
}

/* ---- what does not compile ---- */

static void test_philox__refuses_double_where_the_device_has_none(void **state)
{
    ndr_context *poor;
    ndr_kernel *kernel;
    set_env("NDR_DISABLE", "fp64");
    assert_ok(ndr_context_create(NULL, &poor));
    restore_env();
    const ndr_kernel_desc desc = { .name = "all_double", .source = kernels };
    assert_refused(NDR_NOT_FOUND, ndr_kernel_get(poor, &desc, &kernel), "all_double");
    ndr_context_destroy(poor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox__gives_the_published_answers),
        cmocka_unit_test(test_philox__streams_give_integers_of_all_bits),
        cmocka_unit_test(test_philox__streams_give_floats_from_0_to_1),
        cmocka_unit_test(test_philox__streams_give_doubles_from_0_to_1),
        cmocka_unit_test(test_philox__values_below_n_replace_refused_words),
        cmocka_unit_test(test_philox__accepts_as_many_words_for_each_value_below_n),
        cmocka_unit_test(test_philox__normal_floats_are_within_a_few_ulp),
        cmocka_unit_test(test_philox__normal_doubles_are_within_a_few_ulp),
        cmocka_unit_test(test_philox__normal_vectors_have_the_values_of_their_elements),
        cmocka_unit_test(test_philox__permutes_as_the_reference),
        cmocka_unit_test(test_philox__permutes_few_elements_into_each_order_as_often),
        cmocka_unit_test(test_philox__refuses_double_where_the_device_has_none),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
