/* run_parsers.c - the parsers of `ndr run`: what they make of texts and files, and that random ones are refused with
 * one sentence. */
#include "run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- sentences: in place of command.c's ---- */

static char said[2000];
static unsigned said_count;

int fail_with(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(said, sizeof said, format, list);
    va_end(list);
    ++said_count;
    return FAILED;
}

static void forget(void) { said_count = 0; }

static void assert_one_sentence(const char *about)
{
    if (said_count != 1 || strlen(said) < 20) fail_msg("\"%s\" gives %u sentences, \"%s\"", about, said_count, said);
}

/* ---- arguments ---- */

/* Parses an argument, and makes its memory if it has a type; gives the exit code. */
static int make(const char *text, contents *c)
{
    argument a;
    *c = (contents){ .bytes = NULL };
    int code = parse_argument(text, &a);
    if (code == DONE && a.source != FROM && a.source != LOCAL && a.type.dtype) {
        c->type = a.type;
        c->shape = a.shape;
        if (a.shape.dims == 0) c->shape = (shape){ 1, { 4 } };
        if (a.source == NUMBERS && a.shape.dims == 0)
            c->shape.size[0] = (count_numbers(a.fields[0]) + a.type.lanes - 1) / a.type.lanes;
        if (count_elements(&c->shape) <= 4096) code = make_zeros(c);
        if (code == DONE && c->bytes) code = fill_contents(&a, c);
    }
    free(a.path);
    return code;
}

static void assert_numbers(const char *text, const char *expected)
{
    contents c;
    char shown[400] = "", one[40];
    assert_int_equal(make(text, &c), DONE);
    assert_non_null(c.bytes);
    const size_t size = ndr_dtype_size(c.type.dtype);
    for (size_t k = 0; k < c.count * stored_lanes(c.type); ++k) {
        strcat(shown, k ? " " : "");
        strcat(shown, print_number(one, c.type.dtype, c.bytes + k * size));
    }
    free(c.bytes);
    assert_string_equal(shown, expected);
}

static void test_argument__makes_the_numbers_of_every_type(void **state)
{
    assert_numbers("1,-2,127:i8", "1 -2 127");
    assert_numbers("0,255:u8", "0 255");
    assert_numbers("-32768:i16", "-32768");
    assert_numbers("0xffff:u16", "65535");
    assert_numbers("-2147483648:i32", "-2147483648");
    assert_numbers("4294967295:u32", "4294967295");
    assert_numbers("-9223372036854775808:i64", "-9223372036854775808");
    assert_numbers("18446744073709551615:u64", "18446744073709551615");
    assert_numbers("0.1,65504,inf,nan,1e-7:f16", "0.1 65504 inf nan 1e-07");
    assert_numbers("0.1,3.38e38,-inf,nan,9e-41:bf16", "0.1 3.38e+38 -inf nan 9e-41");
    assert_numbers("0.1,-300,1e30:f32", "0.1 -300 1e+30");
    assert_numbers("0.1,3:f64", "0.1 3");
    assert_numbers("(1, 2, 3, 4):float4", "1 2 3 4");
    assert_numbers("7:uchar2", "7 7");
    assert_numbers("x=1,2,3:i32x3", "1 2 3 0");
    assert_numbers("x=1,2,3,4:i32[2x2]", "1 2 3 4");
}

static void test_argument__makes_memory(void **state)
{
    assert_numbers("iota:i32", "0 1 2 3");
    assert_numbers("iota:5:-2:i8[3]", "5 3 1");
    assert_numbers("iota:0:0.5:f32x2[2]", "0 0.5 1 1.5");
    assert_numbers("iota:254:u8[4]", "254 255 0 1");
    assert_numbers("fill:1.5:f64[2]", "1.5 1.5");
    assert_numbers("fill:1,2:i32x2[2]", "1 2 1 2");
    assert_numbers("out:u16[2]", "0 0");
    assert_numbers(":f32[0]", "");
    assert_numbers("zeros:int3[1]", "0 0 0 0");
}

static void test_argument__makes_the_same_random_numbers_everywhere(void **state)
{
    assert_numbers("random:42:u8[4]", "149 3 82 148");
    assert_numbers("random:42:-3..3:i32[4]", "2 2 -3 -1");
    assert_numbers("random:1:0..0:f32[2]", "0 0");
}

static void test_argument__knows_floats_of_16_bits(void **state)
{
    static const ndr_dtype narrow[] = { NDR_DTYPE_F16, NDR_DTYPE_BF16 };
    for (size_t t = 0; t < 2; ++t)
        for (unsigned all = 0; all < 65536; ++all) {
            const uint16_t bits = (uint16_t)all;
            uint16_t again;
            const double value = number_at(narrow[t], &bits);
            store_double(narrow[t], value, &again);
            if (!isnan(value)) assert_int_equal(again, bits);
        }
    static const struct {
        ndr_dtype dtype;
        double value;
        uint16_t bits;
    } rounded[] = { { NDR_DTYPE_F16, 1 + 1.0 / 2048, 0x3c00 },
                    { NDR_DTYPE_F16, 1 + 3.0 / 2048, 0x3c02 },
                    { NDR_DTYPE_F16, 65519, 0x7bff },
                    { NDR_DTYPE_F16, 65520, 0x7c00 },
                    { NDR_DTYPE_F16, 0x1p-25, 0 },
                    { NDR_DTYPE_F16, 0x1.8p-25, 1 },
                    { NDR_DTYPE_BF16, 1 + 1.0 / 256, 0x3f80 },
                    { NDR_DTYPE_BF16, 1 + 1.0 / 256 + 0x1p-40, 0x3f81 }, /* as a float it would be in the middle */
                    { NDR_DTYPE_BF16, 1 + 3.0 / 256, 0x3f82 },
                    { NDR_DTYPE_BF16, 0x1.fefffffffp127, 0x7f7f },
                    { NDR_DTYPE_BF16, 0x1.ffp127, 0x7f80 },
                    { NDR_DTYPE_BF16, 0x1p-134, 0 },
                    { NDR_DTYPE_BF16, 0x1.8p-134, 1 } };
    for (size_t i = 0; i < sizeof rounded / sizeof rounded[0]; ++i) {
        uint16_t bits;
        store_double(rounded[i].dtype, rounded[i].value, &bits);
        assert_int_equal(bits, rounded[i].bits);
    }
}

static void test_argument__that_is_wrong_is_refused_with_the_fix(void **state)
{
    static const struct {
        const char *text, *sentence;
    } wrong[] = {
        { "x=", "nothing is behind the =" },
        { "x=1:f31", "\"f31\" is not a type; types are i8" },
        { "x=1:float5", "\"float5\" is not a type" },
        { "x=256:u8", "\"256\" does not fit u8, which holds 0 to 255" },
        { "x=-1:u32", "\"-1\" does not fit u32" },
        { "x=1.5:i32", "\"1.5\" is not an integer" },
        { "x=1e39:f32", "\"1e39\" does not fit f32" },
        { "x=65520:f16", "\"65520\" does not fit f16" },
        { "x=3.4e38:bf16", "\"3.4e38\" does not fit bf16" },
        { "x=abc", "\"abc\" is not a value; write a number" },
        { "x=1,,2:i32", "\"\" is not an integer" },
        { "x=1,2,3:f32x2", "3 numbers are written, but 2 of f32x2 take 4; write as many" },
        { "x=1,2:f32[3]", "2 numbers are written, but 3 of f32 take 3" },
        { "x=fill:f32[3]", "\"fill\" is written as fill:NUMBER" },
        { "x=fill:1,2:f32[3]", "2 numbers are written, but 1 of f32 takes 1" },
        { "x=random:-1:f32", "the seed \"-1\" does not fit u64" },
        { "x=random:1:2:f32", "\"2\" has no limits; write them as random:SEED:LOW..HIGH" },
        { "x=random:1:3..2:f32", "the limits 3..2 are no interval" },
        { "x=iota:a:f32", "\"a\"" },
        { "x=1:f32[", "\"[\" is not a number of elements" },
        { "x=1:f32[2x]", "\"[2x]\" is not a number of elements" },
        { "x=1:f32[9999999999999999999999]", "is not a number of elements" },
        { "x=1:f32[4294967296x4294967296]", "are more elements than memory can hold" },
        { "x=@", "no file is named behind @" },
        { "x=1:2:3:4:5:6", "there are too many colons" },
    };
    contents c;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        forget();
        assert_int_equal(make(wrong[i].text, &c), USAGE);
        free(c.bytes);
        assert_one_sentence(wrong[i].text);
        if (!strstr(said, wrong[i].sentence)) fail_msg("%s: %s", wrong[i].text, said);
    }
}

/* ---- files ---- */

static void write_bytes(const char *path, const void *bytes, size_t count)
{
    FILE *const to = fopen(path, "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(bytes, 1, count, to), count);
    assert_int_equal(fclose(to), 0);
}

static void test_file__comes_back_as_it_was_saved(void **state)
{
    static const char *const texts[] = { "iota:i8[5]",     "iota:u16[2x3]",  "iota:f16[4]",  "iota:f32[2x3x4]",
                                         "iota:f64[1]",    "iota:u64[0]",    "iota:bf16[3]", "iota:float3[2]",
                                         "iota:int4[2x2]", "iota:uchar16[3]" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        contents c, again, raw;
        assert_int_equal(make(texts[i], &c), DONE);
        assert_int_equal(save_file("saved.npy", &c), DONE);
        assert_int_equal(load_file("saved.npy", c.type, c.shape, &again), DONE);
        const size_t bytes = c.count * element_bytes(c.type);
        assert_memory_equal(again.bytes, c.bytes, bytes);
        assert_int_equal(again.count, c.count);
        assert_int_equal(save_file("saved.bin", &c), DONE);
        assert_int_equal(load_file("saved.bin", c.type, (shape){ 0 }, &raw), DONE);
        assert_memory_equal(raw.bytes, c.bytes, bytes);
        assert_int_equal(raw.count, c.count);
        free(c.bytes);
        free(again.bytes);
        free(raw.bytes);
    }
}

static void test_file__is_an_image_in_bytes_and_in_floats(void **state)
{
    static const char text[] = "P3\n# two pixels\n2 1\n255\n0 51 255  102 153 204\n";
    contents c, again;
    write_bytes("two.ppm", text, strlen(text));
    assert_int_equal(load_file("two.ppm", (element){ NDR_DTYPE_NONE, 1 }, (shape){ 0 }, &c), DONE);
    assert_memory_equal(c.bytes, ((unsigned char[]){ 0, 51, 255, 102, 153, 204 }), 6);
    assert_int_equal(c.shape.dims, 3);
    free(c.bytes);
    assert_int_equal(load_file("two.ppm", (element){ NDR_DTYPE_F32, 4 }, (shape){ 0 }, &c), DONE);
    assert_memory_equal(c.bytes, ((float[]){ 0, 0.2f, 1, 1, 0.4f, 0.6f, 0.8f, 1 }), 32);
    assert_int_equal(save_file("again.ppm", &c), DONE);
    assert_int_equal(load_file("again.ppm", (element){ NDR_DTYPE_U8, 4 }, (shape){ 0 }, &again), DONE);
    assert_memory_equal(again.bytes, ((unsigned char[]){ 0, 51, 255, 255, 102, 153, 204, 255 }), 8);
    free(c.bytes);
    free(again.bytes);
}

static void test_file__has_samples_of_sixteen_bits(void **state)
{
    static const char bytes[] = "P5 1 2 1000\n\x01\x02\x03\xe8";
    contents c;
    write_bytes("wide.pgm", bytes, sizeof bytes - 1);
    assert_int_equal(load_file("wide.pgm", (element){ NDR_DTYPE_NONE, 1 }, (shape){ 0 }, &c), DONE);
    assert_int_equal(c.type.dtype, NDR_DTYPE_U16);
    assert_memory_equal(c.bytes, ((uint16_t[]){ 0x102, 1000 }), 4);
    free(c.bytes);
}

static void test_file__replaces_the_old_one_or_leaves_it(void **state)
{
    contents c;
    write_bytes("kept.ppm", "old", 3);
    assert_int_equal(make("iota:f32[3]", &c), DONE);
    forget();
    assert_int_equal(save_file("kept.ppm", &c), FAILED);
    assert_one_sentence("kept.ppm");
    assert_int_equal(save_file("missing/kept.bin", &c), FAILED);
    free(c.bytes);
    unsigned char *bytes;
    size_t count;
    assert_int_equal(load_bytes("kept.ppm", &bytes, &count), DONE);
    assert_int_equal(count, 3);
    assert_memory_equal(bytes, "old", 3);
    free(bytes);
}

/* A file of 24 bytes of numbers with this header. */
static void write_npy(const char *path, const char *header)
{
    unsigned char bytes[300] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)strlen(header), 0 };
    memcpy(bytes + 10, header, strlen(header));
    write_bytes(path, bytes, 10 + strlen(header) + 24);
}

static void test_file__of_numpy_that_is_wrong_is_refused_with_the_fix(void **state)
{
    static const struct {
        const char *header, *sentence;
    } wrong[] = {
        { "{'descr': '>f4', 'fortran_order': False, 'shape': (6,), }\n",
          "is big-endian; save it as little-endian: a.astype('<f4')" },
        { "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n",
          "is in the order of Fortran; save it as numpy.ascontiguousarray" },
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }\n",
          "has elements of NumPy's type \"<c8\"; save it as one of" },
        { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }\n",
          "has no simple type; save an array of numbers" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }\n",
          "has 24 bytes of numbers, but its header says 28; save it again" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': 6, }\n", "has no shape of at most 8 dimensions" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296), }\n",
          "has no shape of" },
        { "{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }\n",
          "has elements of i32, but f32 is wanted; save it with that type" },
    };
    contents c;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        write_npy("wrong.npy", wrong[i].header);
        forget();
        assert_int_equal(load_file("wrong.npy", (element){ NDR_DTYPE_F32, 1 }, (shape){ 0 }, &c), FAILED);
        assert_one_sentence(wrong[i].header);
        if (!strstr(said, wrong[i].sentence)) fail_msg("%s: %s", wrong[i].header, said);
    }
    write_npy("right.npy", "{'descr': '<f4', 'fortran_order': True, 'shape': (6,), }\n");
    assert_int_equal(load_file("right.npy", (element){ NDR_DTYPE_F32, 1 }, (shape){ 0 }, &c), DONE);
    free(c.bytes);
    forget();
    assert_int_equal(load_file("right.npy", (element){ NDR_DTYPE_F32, 1 }, (shape){ 1, { 5 } }, &c), FAILED);
    assert_non_null(strstr(said, "has 6 elements, [6], but [5] is written"));
}

/* ---- random texts and files ---- */

static uint64_t state_of_random = 1;

static unsigned any(unsigned below)
{
    state_of_random = state_of_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state_of_random >> 33) % below;
}

static void test_argument__of_random_pieces_gives_a_sentence_or_memory(void **state)
{
    static const char *const pieces[] = { "x",
                                          "=",
                                          ":",
                                          "[",
                                          "]",
                                          ",",
                                          "x",
                                          "4",
                                          "0x",
                                          "-",
                                          "..",
                                          "1e9",
                                          "f32",
                                          "float4",
                                          "i8",
                                          "iota",
                                          "random",
                                          "fill",
                                          "zeros",
                                          "local",
                                          "null",
                                          "sampler",
                                          "@",
                                          "nan",
                                          "inf",
                                          "(",
                                          ")",
                                          " ",
                                          "9999999999999999999",
                                          "\xff",
                                          "\n",
                                          "%s%n",
                                          "u64x3" };
    for (unsigned round = 0; round < 30000; ++round) {
        char text[200] = "";
        contents c;
        for (unsigned n = any(9); n > 0; --n) strcat(text, pieces[any(sizeof pieces / sizeof pieces[0])]);
        forget();
        if (make(text, &c) != DONE) assert_one_sentence(text);
        free(c.bytes);
    }
}

static void load_any(const char *path)
{
    static const element wanted[] = {
        { NDR_DTYPE_NONE, 1 }, { NDR_DTYPE_F32, 1 }, { NDR_DTYPE_U8, 4 }, { NDR_DTYPE_F64, 3 }
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) {
        contents c;
        forget();
        if (load_file(path, wanted[i], (shape){ 0 }, &c) != DONE) {
            assert_one_sentence(path);
            assert_null(c.bytes);
        }
        free(c.bytes);
    }
}

/* Files with some changed bytes, and cut ones. */
static void spoil(const char *path, const void *good, size_t count)
{
    unsigned char bytes[600];
    assert_true(count <= sizeof bytes);
    for (unsigned round = 0; round < 1500; ++round) {
        memcpy(bytes, good, count);
        for (unsigned n = any(4); n > 0; --n) bytes[any((unsigned)count)] = (unsigned char)any(256);
        write_bytes(path, bytes, any(4) ? count : any((unsigned)count + 1));
        load_any(path);
    }
}

static void test_file__that_is_spoilt_gives_a_sentence_or_memory(void **state)
{
    unsigned char *npy;
    size_t count;
    contents c;
    assert_int_equal(make("iota:f32[2x4]", &c), DONE);
    assert_int_equal(save_file("good.npy", &c), DONE);
    assert_int_equal(load_bytes("good.npy", &npy, &count), DONE);
    spoil("spoilt.npy", npy, count);
    free(npy);
    free(c.bytes);
    static const char pgm[] = "P5\n# c\n4 2\n255\nabcdefgh", ppm[] = "P3 2 1 15\n1 2 3 4 5 6\n";
    spoil("spoilt.pgm", pgm, sizeof pgm - 1);
    spoil("spoilt.ppm", ppm, sizeof ppm - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_argument__makes_the_numbers_of_every_type),
        cmocka_unit_test(test_argument__makes_memory),
        cmocka_unit_test(test_argument__makes_the_same_random_numbers_everywhere),
        cmocka_unit_test(test_argument__knows_floats_of_16_bits),
        cmocka_unit_test(test_argument__that_is_wrong_is_refused_with_the_fix),
        cmocka_unit_test(test_file__comes_back_as_it_was_saved),
        cmocka_unit_test(test_file__is_an_image_in_bytes_and_in_floats),
        cmocka_unit_test(test_file__has_samples_of_sixteen_bits),
        cmocka_unit_test(test_file__replaces_the_old_one_or_leaves_it),
        cmocka_unit_test(test_file__of_numpy_that_is_wrong_is_refused_with_the_fix),
        cmocka_unit_test(test_argument__of_random_pieces_gives_a_sentence_or_memory),
        cmocka_unit_test(test_file__that_is_spoilt_gives_a_sentence_or_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
