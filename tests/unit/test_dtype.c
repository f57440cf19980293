/* test_dtype.c - the element types: one table of names and sizes for users, OpenCL C and kernels. */
#include "support.h"

#include "program/program.h"
#include "reference.h"

#include <float.h>
#include <math.h>

static const struct {
    ndr_dtype dtype;
    int number;
    const char *name, *cl_name;
    size_t size_bytes;
    bool is_float, is_signed;
} all[] = {
    { NDR_DTYPE_I8, 1, "i8", "char", sizeof(int8_t), false, true },
    { NDR_DTYPE_U8, 2, "u8", "uchar", sizeof(uint8_t), false, false },
    { NDR_DTYPE_I16, 3, "i16", "short", sizeof(int16_t), false, true },
    { NDR_DTYPE_U16, 4, "u16", "ushort", sizeof(uint16_t), false, false },
    { NDR_DTYPE_I32, 5, "i32", "int", sizeof(int32_t), false, true },
    { NDR_DTYPE_U32, 6, "u32", "uint", sizeof(uint32_t), false, false },
    { NDR_DTYPE_I64, 7, "i64", "long", sizeof(int64_t), false, true },
    { NDR_DTYPE_U64, 8, "u64", "ulong", sizeof(uint64_t), false, false },
    { NDR_DTYPE_F32, 9, "f32", "float", sizeof(float), true, true },
    { NDR_DTYPE_F64, 10, "f64", "double", sizeof(double), true, true },
    { NDR_DTYPE_F16, 11, "f16", "half", sizeof(uint16_t), true, true },
    { NDR_DTYPE_BF16, 12, "bf16", "ushort", sizeof(uint16_t), true, true },
};
enum { COUNT = sizeof all / sizeof all[0] };

static void test_dtype__keeps_its_numbers(void **state)
{
    assert_int_equal(NDR_DTYPE_NONE, 0);
    for (size_t i = 0; i < COUNT; ++i) assert_int_equal(all[i].dtype, all[i].number);
}

static void test_dtype__has_name_and_size(void **state)
{
    for (size_t i = 0; i < COUNT; ++i) {
        assert_string_equal(ndr_dtype_name(all[i].dtype), all[i].name);
        assert_int_equal(ndr_dtype_size(all[i].dtype), all[i].size_bytes);
    }
}

static void test_dtype__is_described_for_opencl(void **state)
{
    for (size_t i = 0; i < COUNT; ++i) {
        const ndr_dtype_info *info = ndr_dtype_describe(all[i].dtype);
        assert_non_null(info);
        assert_string_equal(info->cl_name, all[i].cl_name);
        assert_int_equal(info->is_float, all[i].is_float);
        assert_int_equal(info->is_signed, all[i].is_signed);
    }
}

static void test_dtype__of_no_known_number_is_a_question_mark(void **state)
{
    static const int invalid[] = { 0, 13, 1000, -1 };
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; ++i) {
        assert_string_equal(ndr_dtype_name((ndr_dtype)invalid[i]), "?");
        assert_int_equal(ndr_dtype_size((ndr_dtype)invalid[i]), 0);
        assert_null(ndr_dtype_describe((ndr_dtype)invalid[i]));
    }
}

/* ---- read back from OpenCL C (signature.c) ---- */

static void assert_is(const char *name, ndr_dtype dtype, unsigned lanes)
{
    const ndr_builtin type = ndr_builtin_named(name);
    assert_int_equal(type.dtype, dtype);
    assert_int_equal(type.lanes, lanes);
}

/* Kernels have bf16 as ushort. */
static ndr_dtype named_dtype(size_t i) { return all[i].dtype == NDR_DTYPE_BF16 ? NDR_DTYPE_U16 : all[i].dtype; }

static void test_dtype__is_found_by_its_opencl_name(void **state)
{
    for (size_t i = 0; i < COUNT; ++i) assert_is(all[i].cl_name, named_dtype(i), 1);
    assert_is("unsigned int", NDR_DTYPE_U32, 1);
    assert_is("unsigned char", NDR_DTYPE_U8, 1);
    assert_is("unsigned long", NDR_DTYPE_U64, 1);
    assert_is("unsigned", NDR_DTYPE_U32, 1);
    assert_is("struct pair", NDR_DTYPE_NONE, 0);
    assert_is("", NDR_DTYPE_NONE, 0);
}

static void test_vector__has_the_bytes_of_its_lanes(void **state)
{
    static const unsigned lanes[] = { 2, 3, 4, 8, 16 };
    char name[32];
    for (size_t i = 0; i < COUNT; ++i)
        for (size_t n = 0; n < 5; ++n) {
            snprintf(name, sizeof name, "%s%u", all[i].cl_name, lanes[n]);
            assert_is(name, named_dtype(i), lanes[n]);
            const size_t kept = lanes[n] == 3 ? 4 : lanes[n]; /* three are padded to four */
            assert_int_equal(ndr_builtin_bytes(ndr_builtin_named(name)), kept * all[i].size_bytes);
        }
}

static void test_vector__is_nothing_else(void **state)
{
    static const char *const invalid[] = { "float1", "float5", "float4x", "4",    "int4*", "pair2", "float04",
                                           "",       "long_4", "float 4", "half5", "float+4" };
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; ++i) {
        assert_is(invalid[i], NDR_DTYPE_NONE, 0);
        assert_int_equal(ndr_builtin_bytes(ndr_builtin_named(invalid[i])), 0);
    }
}

/* ---- floats of 16 bits ---- */

typedef struct narrow {
    ndr_dtype dtype;
    int fraction_bits, bias;
    uint16_t infinity;
    uint16_t (*from_float)(float);
    float (*to_float)(uint16_t);
} narrow;

static const narrow narrows[] = {
    { NDR_DTYPE_F16, 10, 15, 0x7c00, ndr_f16_from_float, ndr_f16_to_float },
    { NDR_DTYPE_BF16, 7, 127, 0x7f80, ndr_bf16_from_float, ndr_bf16_to_float },
};

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The value of bits that are finite, or infinity's, which is where the next number would be. */
static double value_of(const narrow *n, unsigned bits)
{
    const unsigned magnitude = bits & 0x7fff, one = 1u << n->fraction_bits;
    const int exponent = (int)(magnitude >> n->fraction_bits);
    const double fraction = magnitude & (one - 1), sign = bits & 0x8000 ? -1 : 1;
    return sign
           * (exponent ? ldexp(one + fraction, exponent - n->bias - n->fraction_bits)
                       : ldexp(fraction, 1 - n->bias - n->fraction_bits));
}

static void test_narrow__has_the_value_of_its_bits(void **state)
{
    for (const narrow *n = narrows; n < narrows + 2; ++n)
        for (unsigned bits = 0; bits < 65536; ++bits) {
            const unsigned magnitude = bits & 0x7fff, sign = bits >> 15;
            const float value = n->to_float((uint16_t)bits);
            assert_int_equal(bits_of(value) >> 31, sign);
            if (magnitude < n->infinity) assert_true((double)value == value_of(n, bits));
            else if (magnitude == n->infinity) assert_true(isinf(value));
            else assert_true(isnan(value));
        }
}

/* A NaN becomes quiet: the first bit of its fraction is set. */
static void test_narrow__of_its_value_is_the_same(void **state)
{
    for (const narrow *n = narrows; n < narrows + 2; ++n)
        for (unsigned bits = 0; bits < 65536; ++bits) {
            const unsigned quiet = (bits & 0x7fff) > n->infinity ? 1u << (n->fraction_bits - 1) : 0;
            assert_int_equal(n->from_float(n->to_float((uint16_t)bits)), bits | quiet);
        }
}

/* Every finite number, and the floats at and next to the middle between it and the next one. */
static void test_narrow__is_the_nearest_one_and_of_two_the_even_one(void **state)
{
    for (const narrow *n = narrows; n < narrows + 2; ++n)
        for (unsigned bits = 0; bits < n->infinity; ++bits) {
            const uint32_t low = bits_of(n->to_float((uint16_t)bits));
            /* exact: a float has more bits; but 2^128 is none, so the last middle is by bits */
            const float middle = bits + 1u == n->infinity && n->bias == 127
                                     ? float_of(low + 0x8000)
                                     : (float)((value_of(n, bits) + value_of(n, bits + 1)) / 2);
            for (unsigned sign = 0; sign <= 0x8000; sign += 0x8000) {
                const float s = sign ? -1.0f : 1.0f;
                assert_int_equal(n->from_float(s * float_of(low)), sign | bits);
                assert_int_equal(n->from_float(s * float_of(bits_of(middle) - 1)), sign | bits);
                assert_int_equal(n->from_float(s * middle), sign | (bits + bits % 2));
                assert_int_equal(n->from_float(s * float_of(bits_of(middle) + 1)), sign | (bits + 1));
            }
        }
}

/* The bits of the nearest of the table of values; all are doubles, which are exact. `low`, the number below the magnitude,
 * is where the search for the next float begins, whose magnitude is greater. */
static uint16_t nearest(const narrow *n, const double *values, float value, unsigned *low)
{
    const double magnitude = fabs((double)value);
    if (magnitude < values[*low]) *low = 0;
    while (*low + 1 < n->infinity && values[*low + 1] <= magnitude) ++*low;
    const double below = magnitude - values[*low], above = values[*low + 1] - magnitude;
    const unsigned bits = *low + (below > above || (below == above && *low % 2));
    return (uint16_t)((signbit(value) ? 0x8000 : 0) | bits);
}

static void assert_nearest(const narrow *n, const double *values, uint32_t bits, unsigned *low)
{
    const float value = float_of(bits);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        const unsigned payload = (bits & 0x7fffff) >> (23 - n->fraction_bits), quiet = 1u << (n->fraction_bits - 1);
        assert_int_equal(n->from_float(value), (bits >> 31 << 15) | n->infinity | quiet | payload);
        return;
    }
    const uint16_t got = n->from_float(value), wanted = nearest(n, values, value, low);
    if (got != wanted)
        fail_msg("%s of %a (0x%08x) is 0x%04x, not 0x%04x", ndr_dtype_name(n->dtype), (double)value, bits, got, wanted);
}

/* All floats with NDR_TEST_LONG, or every 4099th from a random one on. */
static void test_narrow__of_any_float_is_a_nearest_one(void **state)
{
    static double values[0x8000];
    uint64_t seed = number_from_env("NDR_TEST_SEED", 1);
    print_message("NDR_TEST_SEED=%llu\n", (unsigned long long)seed);
    for (const narrow *n = narrows; n < narrows + 2; ++n) {
        for (unsigned bits = 0; bits <= n->infinity; ++bits) values[bits] = value_of(n, bits);
        unsigned low = 0;
        const uint32_t step = number_from_env("NDR_TEST_LONG", 0) ? 1 : 4099;
        for (uint64_t bits = random_bits(&seed) % step; bits < UINT64_C(1) << 32; bits += step)
            assert_nearest(n, values, (uint32_t)bits, &low);
    }
}

static void test_narrow__of_special_floats(void **state)
{
    assert_int_equal(ndr_f16_from_float(INFINITY), 0x7c00);
    assert_int_equal(ndr_f16_from_float(-INFINITY), 0xfc00);
    assert_int_equal(ndr_f16_from_float(FLT_MAX), 0x7c00);
    assert_int_equal(ndr_f16_from_float(65519.996f), 0x7bff);
    assert_int_equal(ndr_f16_from_float(65520.0f), 0x7c00);
    assert_int_equal(ndr_f16_from_float(-0.0f), 0x8000);
    assert_int_equal(ndr_f16_from_float(FLT_MIN), 0);
    assert_int_equal(ndr_f16_from_float(nextafterf(0.0f, 1.0f)), 0);
    assert_int_equal(ndr_f16_from_float(NAN) & 0x7e00, 0x7e00);
    assert_int_equal(ndr_f16_from_float(float_of(0xffa02001)), 0xff01);
    assert_int_equal(ndr_bf16_from_float(INFINITY), 0x7f80);
    assert_int_equal(ndr_bf16_from_float(-INFINITY), 0xff80);
    assert_int_equal(ndr_bf16_from_float(FLT_MAX), 0x7f80);
    assert_int_equal(ndr_bf16_from_float(-0.0f), 0x8000);
    assert_int_equal(ndr_bf16_from_float(FLT_MIN), 0x0080);
    assert_int_equal(ndr_bf16_from_float(nextafterf(0.0f, 1.0f)), 0);
    assert_int_equal(ndr_bf16_from_float(float_of(0x00018000)), 0x0002);
    assert_int_equal(ndr_bf16_from_float(float_of(0xff810001)), 0xffc1);
}

static void test_narrow__converts_arrays(void **state)
{
    static const float floats[] = { 1.5f, -2.0f, 0.1f, INFINITY };
    static const uint16_t halves[] = { 0x3e00, 0xc000, 0x2e66, 0x7c00 }, bfloats[] = { 0x3fc0, 0xc000, 0x3dcd, 0x7f80 };
    uint16_t bits[5] = { 0, 0, 0, 0, 77 };
    float again[5] = { 0, 0, 0, 0, 77 };
    assert_int_equal(ndr_narrow_floats(NDR_DTYPE_F16, 4, floats, bits), NDR_OK);
    assert_memory_equal(bits, halves, sizeof halves);
    assert_int_equal(ndr_widen_floats(NDR_DTYPE_F16, 4, bits, again), NDR_OK);
    assert_true(again[1] == -2.0f && again[2] == ndr_f16_to_float(0x2e66));
    assert_int_equal(ndr_narrow_floats(NDR_DTYPE_BF16, 4, floats, bits), NDR_OK);
    assert_memory_equal(bits, bfloats, sizeof bfloats);
    assert_int_equal(ndr_widen_floats(NDR_DTYPE_BF16, 4, bits, again), NDR_OK);
    assert_true(again[1] == -2.0f && again[2] == ndr_bf16_to_float(0x3dcd));
    assert_true(bits[4] == 77 && again[4] == 77.0f);
    assert_int_equal(ndr_narrow_floats(NDR_DTYPE_BF16, 0, NULL, NULL), NDR_OK);
    assert_refused(NDR_BAD_ARGUMENT, ndr_narrow_floats(NDR_DTYPE_F32, 4, floats, bits),
                   "ndr_narrow_floats: dtype is f32; use NDR_DTYPE_F16 or NDR_DTYPE_BF16");
    assert_refused(NDR_BAD_ARGUMENT, ndr_widen_floats(NDR_DTYPE_NONE, 4, bits, again),
                   "ndr_widen_floats: dtype is not set; use NDR_DTYPE_F16");
    assert_refused(NDR_BAD_ARGUMENT, ndr_widen_floats(NDR_DTYPE_F16, 4, NULL, again),
                   "floats or bits is NULL, but count is 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype__keeps_its_numbers),
        cmocka_unit_test(test_dtype__has_name_and_size),
        cmocka_unit_test(test_dtype__is_described_for_opencl),
        cmocka_unit_test(test_dtype__of_no_known_number_is_a_question_mark),
        cmocka_unit_test(test_dtype__is_found_by_its_opencl_name),
        cmocka_unit_test(test_vector__has_the_bytes_of_its_lanes),
        cmocka_unit_test(test_vector__is_nothing_else),
        cmocka_unit_test(test_narrow__has_the_value_of_its_bits),
        cmocka_unit_test(test_narrow__of_its_value_is_the_same),
        cmocka_unit_test(test_narrow__is_the_nearest_one_and_of_two_the_even_one),
        cmocka_unit_test(test_narrow__of_any_float_is_a_nearest_one),
        cmocka_unit_test(test_narrow__of_special_floats),
        cmocka_unit_test(test_narrow__converts_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
