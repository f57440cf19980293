/* test_op.c - ndr/op.clh: every operator on every type against the host's own arithmetic. */
#include "support.h"

#include <limits.h>
#include <math.h>

/* ---- the device's results ---- */

enum { PLUS, MULTIPLIES, MINIMUM, MAXIMUM, LOGICAL_AND, LOGICAL_OR, BIT_AND, BIT_OR, BIT_XOR, ALL_OPS, FLOAT_OPS = 6 };
static const char *const op_names[] = { "plus",       "multiplies", "minimum", "maximum", "logical and",
                                        "logical or", "bit and",    "bit or",  "bit xor" };

/* One item for each pair (x[i], x[j]). out[op] holds the n * n results, then the identities and the neutrals. */
static const char kernels[] =
    "#include <ndr/op.clh>\n"
    "#define ONE(T, place, op) \\\n"
    "    out[place * pairs + at] = ndr_combine(x[i], x[j], op); \\\n"
    "    if (at == 0) { \\\n"
    "        out[9 * pairs + place] = NDR_IDENTITY(T, op); \\\n"
    "        out[9 * pairs + 9 + place] = NDR_NEUTRAL(T, op); \\\n"
    "    }\n"
    "#define NUMBERS(T) ONE(T, 0, NDR_PLUS) ONE(T, 1, NDR_MULTIPLIES) ONE(T, 2, NDR_MINIMUM) \\\n"
    "    ONE(T, 3, NDR_MAXIMUM) ONE(T, 4, NDR_LOGICAL_AND) ONE(T, 5, NDR_LOGICAL_OR)\n"
    "#define BITS(T) ONE(T, 6, NDR_BIT_AND) ONE(T, 7, NDR_BIT_OR) ONE(T, 8, NDR_BIT_XOR)\n"
    "#define COMBINE(T, OPS) \\\n"
    "    kernel void combine_##T(global const T *x, global T *out, NDR_RANGE(2)) \\\n"
    "    { \\\n"
    "        const ndr_item it = NDR_ITEM(2); \\\n"
    "        const size_t i = ndr_global_id(it, 0), j = ndr_global_id(it, 1); \\\n"
    "        const size_t at = ndr_global_linear_id(it), pairs = ndr_global_linear_range(it); \\\n"
    "        OPS \\\n"
    "    }\n"
    "COMBINE(char, NUMBERS(char) BITS(char))\n"
    "COMBINE(uchar, NUMBERS(uchar) BITS(uchar))\n"
    "COMBINE(short, NUMBERS(short) BITS(short))\n"
    "COMBINE(ushort, NUMBERS(ushort) BITS(ushort))\n"
    "COMBINE(int, NUMBERS(int) BITS(int))\n"
    "COMBINE(uint, NUMBERS(uint) BITS(uint))\n"
    "COMBINE(long, NUMBERS(long) BITS(long))\n"
    "COMBINE(ulong, NUMBERS(ulong) BITS(ulong))\n"
    "COMBINE(float, NUMBERS(float))\n"
    "#if NDR_HAS_F64_\n"
    "COMBINE(double, NUMBERS(double))\n"
    "#endif\n"
    "kernel void chosen(global int *out, int a, int b, int which, NDR_RANGE(1))\n"
    "{\n"
    "    const ndr_op op = which == 0 ? NDR_PLUS : which == 1 ? NDR_MAXIMUM : NDR_MULTIPLIES;\n"
    "    out[0] = ndr_combine(a, b, op);\n"
    "}\n";

/* `out` gets 9 * n * n results, 9 identities and 9 neutrals. For floats those of the bit operators stay 0. */
static void combine(const char *name, const void *x, size_t n, size_t element_bytes, void *out)
{
    const size_t bytes = (ALL_OPS * n * n + 2 * ALL_OPS) * element_bytes;
    memset(out, 0, bytes);
    ndr_buffer *in = buffer_of(n * element_bytes, x), *answers = buffer_of(bytes, out);
    assert_ok(ndr_launch(queue, kernel_of(kernels, name), ndr_range_2d(n, n), in, answers));
    take_buffer(answers, out, bytes);
    ndr_buffer_destroy(in);
}

/* ---- integers ---- */

/* Sums and products in 64 unsigned bits have the right low bits for every type. */
#define CHECK_INTEGER(cl_name, T, LOWEST, HIGHEST)                                                            \
    {                                                                                                         \
        const T x[] = { 0, 1, 2, 3, (T)-1, (T)-2, (T)LOWEST, (T)HIGHEST, (T)(HIGHEST / 2 + 1),   \
                        (T)0x55, (T)0x33, 100 };                                                              \
        enum { N = COUNT_OF(x) };                                                                             \
        T got[ALL_OPS * N * N + 2 * ALL_OPS];                                                                 \
        combine("combine_" cl_name, x, N, sizeof(T), got);                                                    \
        for (size_t at = 0; at < N * N; ++at) {                                                               \
            const T a = x[at / N], b = x[at % N];                                                             \
            const T wanted[ALL_OPS] = { (T)((uint64_t)a + (uint64_t)b), (T)((uint64_t)a * (uint64_t)b),       \
                                        a < b ? a : b, a < b ? b : a, a != 0 && b != 0, a != 0 || b != 0,     \
                                        (T)(a & b), (T)(a | b), (T)(a ^ b) };                                 \
            for (size_t op = 0; op < ALL_OPS; ++op)                                                           \
                if (got[op * N * N + at] != wanted[op]) {                                                     \
                    print_error("%s of %s %lld and %lld is %lld\n", op_names[op], cl_name, (long long)a,      \
                                (long long)b, (long long)got[op * N * N + at]);                               \
                    fail();                                                                                   \
                }                                                                                             \
        }                                                                                                     \
        const T identities[ALL_OPS] = { 0, 1, (T)HIGHEST, (T)LOWEST, 1, 0, (T)-1, 0, 0 };                     \
        assert_memory_equal(got + ALL_OPS * N * N, identities, sizeof identities);                            \
        assert_memory_equal(got + ALL_OPS * N * N + ALL_OPS, identities, sizeof identities);                  \
    }

static void test_op__on_integers_of_8_bits_agrees_with_the_host(void **state)
{
    CHECK_INTEGER("char", int8_t, INT8_MIN, INT8_MAX)
    CHECK_INTEGER("uchar", uint8_t, 0, UINT8_MAX)
}

static void test_op__on_integers_of_16_bits_agrees_with_the_host(void **state)
{
    CHECK_INTEGER("short", int16_t, INT16_MIN, INT16_MAX)
    CHECK_INTEGER("ushort", uint16_t, 0, UINT16_MAX)
}

static void test_op__on_integers_of_32_bits_agrees_with_the_host(void **state)
{
    CHECK_INTEGER("int", int32_t, INT32_MIN, INT32_MAX)
    CHECK_INTEGER("uint", uint32_t, 0, UINT32_MAX)
}

static void test_op__on_integers_of_64_bits_agrees_with_the_host(void **state)
{
    CHECK_INTEGER("long", int64_t, INT64_MIN, INT64_MAX)
    CHECK_INTEGER("ulong", uint64_t, 0, UINT64_MAX)
}

/* ---- floats ---- */

static double smaller(double a, double b) { return isnan(a) ? b : isnan(b) ? a : a < b ? a : b; }
static double larger(double a, double b) { return isnan(a) ? b : isnan(b) ? a : a < b ? b : a; }

/* All NaNs are equal here, and -0 equals 0. */
static bool same(double a, double b) { return isnan(a) ? isnan(b) : a == b; }

/* Values whose sums and products are the same in float and in double, rounded once. */
#define CHECK_FLOAT(cl_name, T)                                                                               \
    {                                                                                                         \
        const T x[] = { 0, (T)-0.0, 1, (T)-1.5, (T)1e-30, (T)3e38, (T)-3e38, (T)0.1, (T)INFINITY,       \
                        (T)-INFINITY, (T)NAN };                                                               \
        enum { N = COUNT_OF(x) };                                                                             \
        T got[ALL_OPS * N * N + 2 * ALL_OPS];                                                                 \
        combine("combine_" cl_name, x, N, sizeof(T), got);                                                    \
        for (size_t at = 0; at < N * N; ++at) {                                                               \
            const T a = x[at / N], b = x[at % N];                                                             \
            const T wanted[FLOAT_OPS] = { a + b, a * b, (T)smaller(a, b), (T)larger(a, b), a != 0 && b != 0,  \
                                          a != 0 || b != 0 };                                                 \
            for (size_t op = 0; op < FLOAT_OPS; ++op)                                                         \
                if (!same(got[op * N * N + at], wanted[op])) {                                                \
                    print_error("%s of %s %g and %g is %g\n", op_names[op], cl_name, (double)a, (double)b,    \
                                (double)got[op * N * N + at]);                                                \
                    fail();                                                                                   \
                }                                                                                             \
        }                                                                                                     \
        const T *identity = got + ALL_OPS * N * N, *neutral = identity + ALL_OPS;                             \
        const T identities[FLOAT_OPS] = { 0, 1, (T)INFINITY, (T)-INFINITY, 1, 0 };                            \
        const T neutrals[FLOAT_OPS] = { 0, 1, (T)NAN, (T)NAN, 1, 0 };                                         \
        for (size_t op = 0; op < FLOAT_OPS; ++op) {                                                           \
            assert_true(same(identity[op], identities[op]));                                                  \
            assert_true(same(neutral[op], neutrals[op]));                                                     \
        }                                                                                                     \
    }

static void test_op__on_f32_agrees_with_the_host(void **state)
{
    CHECK_FLOAT("float", float)
}

static void test_op__on_f64_agrees_with_the_host(void **state)
{
    skip_without(device.has_f64, "the device has no f64");
    CHECK_FLOAT("double", double)
}

/* ---- what an operator is ---- */

static void test_op__may_be_chosen_while_the_kernel_runs(void **state)
{
    const int32_t wanted[] = { 12, 7, 35 };
    ndr_buffer *out = buffer_of(sizeof(int32_t), NULL);
    for (int which = 0; which < 3; ++which) {
        int32_t got = 0;
        assert_ok(ndr_launch(queue, kernel_of(kernels, "chosen"), ndr_range_1d(1), out, 7, 5, which));
        read_buffer(out, &got, sizeof got);
        assert_int_equal(got, wanted[which]);
    }
    ndr_buffer_destroy(out);
}

static void check_does_not_build(const char *type, const char *expression)
{
    char source[512];
    snprintf(source, sizeof source,
             "#include <ndr/op.clh>\n"
             "kernel void wrong(global %s *x, NDR_RANGE(1)) { x[0] = %s; }\n",
             type, expression);
    ndr_kernel *kernel;
    assert_refused(NDR_BUILD_FAILED,
                   ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "wrong", .source = source }, &kernel),
                   "bit operators are for integers");
}

static void test_op__of_bits_does_not_build_with_floats(void **state)
{
    check_does_not_build("float", "ndr_combine(x[0], x[1], NDR_BIT_AND)");
    check_does_not_build("float", "NDR_IDENTITY(float, NDR_BIT_OR)");
    check_does_not_build("float", "NDR_NEUTRAL(float, NDR_BIT_XOR)");
    if (device.has_f64) check_does_not_build("double", "ndr_combine(x[0], x[1], NDR_BIT_XOR)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_op__on_integers_of_8_bits_agrees_with_the_host),
        cmocka_unit_test(test_op__on_integers_of_16_bits_agrees_with_the_host),
        cmocka_unit_test(test_op__on_integers_of_32_bits_agrees_with_the_host),
        cmocka_unit_test(test_op__on_integers_of_64_bits_agrees_with_the_host),
        cmocka_unit_test(test_op__on_f32_agrees_with_the_host),
        cmocka_unit_test(test_op__on_f64_agrees_with_the_host),
        cmocka_unit_test(test_op__may_be_chosen_while_the_kernel_runs),
        cmocka_unit_test(test_op__of_bits_does_not_build_with_floats),
    };
    return cmocka_run_group_tests_name("op", tests, open_device, close_device);
}
