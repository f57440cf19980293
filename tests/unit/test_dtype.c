/* test_dtype.c - the element types: one table of names and sizes for users, OpenCL C and kernels. */
#include "support.h"

#include "program/program.h"

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
};
enum { COUNT = sizeof all / sizeof all[0] };

static void test_dtype__keeps_its_numbers(void **state)
{
    (void)state;
    assert_int_equal(NDR_DTYPE_NONE, 0);
    for (size_t i = 0; i < COUNT; ++i) assert_int_equal(all[i].dtype, all[i].number);
}

static void test_dtype__has_name_and_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; ++i) {
        assert_string_equal(ndr_dtype_name(all[i].dtype), all[i].name);
        assert_int_equal(ndr_dtype_size(all[i].dtype), all[i].size_bytes);
    }
}

static void test_dtype__is_described_for_opencl(void **state)
{
    (void)state;
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
    (void)state;
    static const int invalid[] = { 0, 12, 1000, -1 };
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

static void test_dtype__is_found_by_its_opencl_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; ++i) assert_is(all[i].cl_name, all[i].dtype, 1);
    assert_is("unsigned int", NDR_DTYPE_U32, 1);
    assert_is("unsigned char", NDR_DTYPE_U8, 1);
    assert_is("unsigned long", NDR_DTYPE_U64, 1);
    assert_is("unsigned", NDR_DTYPE_U32, 1);
    assert_is("struct pair", NDR_DTYPE_NONE, 0);
    assert_is("", NDR_DTYPE_NONE, 0);
}

static void test_vector__has_the_bytes_of_its_lanes(void **state)
{
    (void)state;
    static const unsigned lanes[] = { 2, 3, 4, 8, 16 };
    char name[32];
    for (size_t i = 0; i < COUNT; ++i)
        for (size_t n = 0; n < 5; ++n) {
            snprintf(name, sizeof name, "%s%u", all[i].cl_name, lanes[n]);
            assert_is(name, all[i].dtype, lanes[n]);
            const size_t kept = lanes[n] == 3 ? 4 : lanes[n]; /* three are padded to four */
            assert_int_equal(ndr_builtin_bytes(ndr_builtin_named(name)), kept * all[i].size_bytes);
        }
}

static void test_vector__is_nothing_else(void **state)
{
    (void)state;
    static const char *const invalid[] = { "float1", "float5", "float4x", "4",    "int4*", "pair2", "float04",
                                           "",       "long_4", "float 4", "half5", "float+4" };
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; ++i) {
        assert_is(invalid[i], NDR_DTYPE_NONE, 0);
        assert_int_equal(ndr_builtin_bytes(ndr_builtin_named(invalid[i])), 0);
    }
}

/* ---- half ---- */

/* The value of a half's bits, which are finite. 65536 for infinity's, which is where it would be. */
static double value_of(unsigned bits)
{
    const double sign = bits & 0x8000 ? -1 : 1, fraction = bits & 0x3ff;
    const int exponent = (int)(bits >> 10 & 31);
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

/* Every finite half, and the floats at and next to the middle between it and the next one. */
static void test_half__is_the_nearest_one_and_of_two_the_even_one(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 0x7c00; ++bits) {
        const double low = value_of(bits), high = value_of(bits + 1);
        const float middle = (float)((low + high) / 2); /* exact: one bit more than a half has */
        for (unsigned sign = 0; sign <= 0x8000; sign += 0x8000) {
            const float s = sign ? -1.0f : 1.0f;
            assert_int_equal(ndr_half_bits(s * (float)low), sign | bits);
            assert_int_equal(ndr_half_bits(s * nextafterf(middle, 0.0f)), sign | bits);
            assert_int_equal(ndr_half_bits(s * middle), sign | (bits + bits % 2));
            assert_int_equal(ndr_half_bits(s * nextafterf(middle, INFINITY)), sign | (bits + 1));
        }
    }
}

static void test_half__of_special_floats(void **state)
{
    (void)state;
    assert_int_equal(ndr_half_bits(INFINITY), 0x7c00);
    assert_int_equal(ndr_half_bits(-INFINITY), 0xfc00);
    assert_int_equal(ndr_half_bits(FLT_MAX), 0x7c00);
    assert_int_equal(ndr_half_bits(65519.996f), 0x7bff);
    assert_int_equal(ndr_half_bits(65520.0f), 0x7c00);
    assert_int_equal(ndr_half_bits(-0.0f), 0x8000);
    assert_int_equal(ndr_half_bits(FLT_MIN), 0);
    assert_int_equal(ndr_half_bits(nextafterf(0.0f, 1.0f)), 0);
    assert_int_equal(ndr_half_bits(NAN) & 0x7e00, 0x7e00);
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
        cmocka_unit_test(test_half__is_the_nearest_one_and_of_two_the_even_one),
        cmocka_unit_test(test_half__of_special_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
