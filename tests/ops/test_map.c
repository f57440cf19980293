/* test_map.c - ndr_map(): statements against plain loops, arrays of any shape and strides, and what it refuses. */
#include "support.h"

#include <inttypes.h>
#include <math.h>

#include "forcing.h"
#include "ndr/ndr_ops.h"
#include "ops/map/map.h"
#include "reference.h"

/* ---- helpers ---- */

static ndr_map_array named(const char *name, ndr_array array) { return (ndr_map_array){ name, array }; }

static ndr_map_scalar scalar(const char *name, ndr_arg value) { return (ndr_map_scalar){ name, value }; }

/* Elements of one dimension from `offset` on. */
static ndr_map_array span(const char *name, ndr_buffer *buffer, ndr_dtype dtype, size_t offset, size_t count)
{
    ndr_array array = ndr_array_of(buffer, dtype, ndr_range_1d(count));
    array.offset = offset;
    return named(name, array);
}

#define MAP(text, ...) (&(const ndr_map_desc){ .statement = (text), __VA_ARGS__ })
#define INPUTS(...) \
    .inputs = (const ndr_map_array[]){ __VA_ARGS__ }, .input_count = COUNT_OF(((const ndr_map_array[]){ __VA_ARGS__ }))
#define OUTPUTS(...)                                   \
    .outputs = (const ndr_map_array[]){ __VA_ARGS__ }, \
    .output_count = COUNT_OF(((const ndr_map_array[]){ __VA_ARGS__ }))
#define SCALARS(...)                                    \
    .scalars = (const ndr_map_scalar[]){ __VA_ARGS__ }, \
    .scalar_count = COUNT_OF(((const ndr_map_scalar[]){ __VA_ARGS__ }))

/* ---- statements ---- */

static void check_axpy(size_t count, size_t offset, bool is_in_place)
{
    enum { MOST = 100100 };
    static float x[MOST], y[MOST], got[MOST];
    for (size_t i = 0; i < MOST; ++i) x[i] = (float)(i % 1000), y[i] = (float)(i % 77), got[i] = -1;
    ndr_buffer *xs = buffer_of(sizeof x, x), *ys = buffer_of(sizeof y, y), *zs = buffer_of(sizeof y, got);
    ndr_buffer *to = is_in_place ? ys : zs;
    assert_ok(ndr_map(queue,
                      MAP("y = a * x + y", SCALARS(scalar("a", ndr_arg_of(2.0f))),
                          INPUTS(span("x", xs, NDR_DTYPE_F32, 3, count), span("y", ys, NDR_DTYPE_F32, offset, count)),
                          OUTPUTS(span("y", to, NDR_DTYPE_F32, offset, count))),
                      NULL));
    read_buffer(to, got, sizeof got);
    for (size_t i = 0; i < MOST; ++i) {
        const bool is_inside = i >= offset && i < offset + count;
        const float before = is_in_place ? y[i] : -1, wanted = is_inside ? 2 * x[i - offset + 3] + y[i] : before;
        if (got[i] != wanted) fail_msg("y[%zu] of %zu from %zu is %g, not %g", i, count, offset, got[i], wanted);
    }
    ndr_buffer_destroy(xs), ndr_buffer_destroy(ys), ndr_buffer_destroy(zs);
}

static void test_map__of_any_count_agrees_with_a_loop(void **state)
{
    static const size_t counts[] = { 0, 1, 2, 7, 63, 64, 65, 255, 256, 257, 1009, 4095, 4096, 4097, 65537, 100003 };
    for (size_t i = 0; i < (quick() ? 10 : COUNT_OF(counts)); ++i) {
        check_axpy(counts[i], i % 5, false);
        check_axpy(counts[i], i % 3, true);
    }
}

static void test_map__has_the_index_in_order_and_by_dimension(void **state)
{
    uint64_t got[5 * 6 * 7];
    ndr_buffer *to = buffer_of(sizeof got, NULL);
    const ndr_range shapes[] = { ndr_range_1d(210), ndr_range_2d(30, 7), ndr_range_3d(5, 6, 7) };
    const char *const texts[] = { "y = 1000000 * i0 + i;", "y = 1000000 * i0 + 10000 * i1 + i;",
                                  "y = 1000000 * i0 + 10000 * i1 + 1000 * i2 + i;" };
    for (size_t s = 0; s < 3; ++s) {
        assert_ok(ndr_map(queue, MAP(texts[s], OUTPUTS(named("y", ndr_array_of(to, NDR_DTYPE_U64, shapes[s])))), NULL));
        read_buffer(to, got, sizeof got);
        for (size_t i = 0; i < 210; ++i) {
            const size_t i0 = s == 0 ? i : s == 1 ? i / 7 : i / 42, i1 = s == 0 ? 0 : s == 1 ? i % 7 : i / 7 % 6;
            assert_int_equal(got[i], 1000000 * i0 + 10000 * i1 + (s == 2 ? 1000 * (i % 7) : 0) + i);
        }
    }
    ndr_buffer_destroy(to);
}

struct pair {
    int32_t low, high;
};

static void test_map__takes_declarations_structs_vectors_and_several_outputs(void **state)
{
    const int32_t x[] = { -5, 3, 12, 7 };
    int32_t got[2][4];
    ndr_buffer *from = buffer_of(sizeof x, x), *to = buffer_of(sizeof got, NULL);
    const struct pair limits = { 0, 10 };
    const ndr_map_desc *desc =
        MAP("  const int clamped = within(x, limits);\n  y = clamped + (int)v.y;\n  changed = clamped != x;",
            .declarations = "struct pair { int low, high; };\n"
                            "static int within(int x, struct pair p) { return clamp(x, p.low, p.high); } // a comment",
            SCALARS(scalar("limits", ndr_struct(struct pair, limits)), scalar("v", ndr_vector(float, 1, 100))),
            INPUTS(span("x", from, NDR_DTYPE_I32, 0, 4)),
            OUTPUTS(span("y", to, NDR_DTYPE_I32, 0, 4), span("changed", to, NDR_DTYPE_I32, 4, 4)));
    assert_ok(ndr_map(queue, desc, NULL));
    read_buffer(to, got, sizeof got);
    assert_memory_equal(got, ((const int32_t[2][4]){ { 100, 103, 110, 107 }, { 1, 0, 1, 0 } }), sizeof got);
    ndr_buffer_destroy(from), ndr_buffer_destroy(to);
}

/* A half is a float in the statement. */
static void test_map__converts_halves(void **state)
{
    const uint16_t x[] = { 0x3c00, 0xc000, 0x7c00, 0x0001 }; /* 1, -2, infinity, 2^-24 */
    uint16_t got[4];
    ndr_buffer *from = buffer_of(sizeof x, x), *to = buffer_of(sizeof got, NULL);
    assert_ok(ndr_map(
        queue,
        MAP("y = 2 * x + 1", INPUTS(span("x", from, NDR_DTYPE_F16, 0, 4)), OUTPUTS(span("y", to, NDR_DTYPE_F16, 0, 4))),
        NULL));
    read_buffer(to, got, sizeof got);
    assert_memory_equal(got, ((const uint16_t[]){ 0x4200, 0xc200, 0x7c00, 0x3c00 }), sizeof got);
    ndr_buffer_destroy(from), ndr_buffer_destroy(to);
}

/* A bf16, too, is a float in the statement. What is between two is rounded to the even one; NaN stays NaN. */
static void test_map__converts_bfloats(void **state)
{
    const uint16_t x[] = { 0x3f80, 0xc000, 0x7f80, 0x3f81, 0xff81, 0x7f7f };
    const float rounded[] = { 1.00390625f, 1.01171875f, 1.00390637f, -1.00390625f, NAN, 0x1.ffp127f };
    uint16_t got[6];
    ndr_buffer *from = buffer_of(sizeof x, x), *to = buffer_of(sizeof got, NULL),
               *floats = buffer_of(sizeof rounded, rounded);
    assert_ok(ndr_map(queue,
                      MAP("y = 2 * x + 1", INPUTS(span("x", from, NDR_DTYPE_BF16, 0, 6)),
                          OUTPUTS(span("y", to, NDR_DTYPE_BF16, 0, 6))),
                      NULL));
    read_buffer(to, got, sizeof got);
    assert_true((got[4] & 0x7fff) > 0x7f80);
    got[4] = 0;
    assert_memory_equal(got, ((const uint16_t[]){ 0x4040, 0xc040, 0x7f80, 0x4041, 0, 0x7f80 }), sizeof got);
    assert_ok(ndr_map(
        queue,
        MAP("y = x", INPUTS(span("x", floats, NDR_DTYPE_F32, 0, 6)), OUTPUTS(span("y", to, NDR_DTYPE_BF16, 0, 6))),
        NULL));
    read_buffer(to, got, sizeof got);
    assert_true((got[4] & 0x7fff) > 0x7f80);
    got[4] = 0;
    assert_memory_equal(got, ((const uint16_t[]){ 0x3f80, 0x3f82, 0x3f81, 0xbf80, 0, 0x7f80 }), sizeof got);
    ndr_buffer_destroy(from), ndr_buffer_destroy(to), ndr_buffer_destroy(floats);
}

static bool has_nan(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }

/* As the host converts them: every number of 16 bits to a float, and the floats at and next to the middles between two. */
static void check_narrow(ndr_dtype dtype, size_t step)
{
    enum { ALL = 1 << 16, NEXT = 3 };
    static uint16_t bits[ALL], stored[NEXT * ALL], wanted[NEXT * ALL];
    static uint32_t floats[ALL], loaded[ALL], middles[NEXT * ALL];
    size_t count = 0;
    for (size_t i = 0; i < ALL; i += step) bits[count++] = (uint16_t)i;
    assert_ok(ndr_widen_floats(dtype, count, bits, (float *)floats));
    for (size_t i = 0; i < count; ++i) {
        const uint16_t around[] = { (uint16_t)(bits[i] - 1), bits[i], (uint16_t)(bits[i] + 1) };
        float x[3];
        assert_ok(ndr_widen_floats(dtype, 3, around, x));
        const float middle = x[1] + (isinf(x[2]) ? x[1] - x[0] : x[2] - x[1]) / 2; /* also before infinity */
        uint32_t at;
        memcpy(&at, &middle, sizeof at);
        for (uint32_t j = 0; j < NEXT; ++j) middles[NEXT * i + j] = at == 0 ? j : at - 1 + j;
    }
    assert_ok(ndr_narrow_floats(dtype, NEXT * count, (const float *)middles, wanted));
    ndr_buffer *narrow = buffer_of(sizeof stored, stored), *wide = buffer_of(sizeof middles, middles);
    assert_ok(ndr_map(queue,
                      MAP("y = x", INPUTS(span("x", wide, NDR_DTYPE_F32, 0, NEXT * count)),
                          OUTPUTS(span("y", narrow, dtype, 0, NEXT * count))),
                      NULL));
    read_buffer(narrow, stored, NEXT * count * sizeof *stored);
    assert_ok(ndr_buffer_write(queue, narrow, 0, count * sizeof *bits, bits, NULL));
    assert_ok(ndr_map(
        queue,
        MAP("y = x", INPUTS(span("x", narrow, dtype, 0, count)), OUTPUTS(span("y", wide, NDR_DTYPE_F32, 0, count))),
        NULL));
    read_buffer(wide, loaded, count * sizeof *loaded);
    const uint16_t infinity = dtype == NDR_DTYPE_F16 ? 0x7c00 : 0x7f80;
    for (size_t i = 0; i < count; ++i)
        if (loaded[i] != floats[i] && !(has_nan(loaded[i]) && has_nan(floats[i])))
            fail_msg("%s 0x%04x is loaded as 0x%08x, not 0x%08x", ndr_dtype_name(dtype), bits[i], loaded[i], floats[i]);
    for (size_t i = 0; i < NEXT * count; ++i)
        if (stored[i] != wanted[i] && !(has_nan(middles[i]) && (stored[i] & 0x7fff) > infinity))
            fail_msg("0x%08x is stored as %s 0x%04x, not 0x%04x", middles[i], ndr_dtype_name(dtype), stored[i],
                     wanted[i]);
    ndr_buffer_destroy(narrow), ndr_buffer_destroy(wide);
}

static void test_map__converts_every_number_of_16_bits_as_the_host(void **state)
{
    check_narrow(NDR_DTYPE_F16, quick() ? 251 : 1);
    check_narrow(NDR_DTYPE_BF16, quick() ? 251 : 1);
}

/* What is not assigned is 0; return stores nothing. */
static void test_map__stores_zeros_by_default_and_nothing_after_return(void **state)
{
    int32_t got[4] = { -1, -1, -1, -1 };
    ndr_buffer *to = buffer_of(sizeof got, got);
    assert_ok(ndr_map(queue, MAP("if (i == 1) return; if (i > 1) y = 7;", OUTPUTS(span("y", to, NDR_DTYPE_I32, 0, 4))),
                      NULL));
    take_buffer(to, got, sizeof got);
    assert_memory_equal(got, ((const int32_t[]){ 0, -1, 7, 7 }), sizeof got);
}

/* NaN, infinities, -0 and denormals pass through unchanged, where the device keeps denormals. */
static void test_map__copies_every_float(void **state)
{
    const uint32_t x[] = { 0x7fc00000, 0x7f800000, 0xff800000, 0x80000000, 0 };
    uint32_t got[5];
    ndr_buffer *from = buffer_of(sizeof x, x), *to = buffer_of(sizeof got, NULL);
    assert_ok(ndr_map(
        queue, MAP("y = x", INPUTS(span("x", from, NDR_DTYPE_F32, 0, 5)), OUTPUTS(span("y", to, NDR_DTYPE_F32, 0, 5))),
        NULL));
    read_buffer(to, got, sizeof got);
    assert_memory_equal(got, x, sizeof x);
    ndr_buffer_destroy(from), ndr_buffer_destroy(to);
}

/* ---- strided arrays ---- */

enum { MAX_SIDE = 9, MOST = 4 * MAX_SIDE * MAX_SIDE * MAX_SIDE * 8 };

static size_t pick(uint64_t *seed, size_t below) { return (size_t)(random_bits(seed) % below); }

/* An array of that shape with the dimensions in any order in memory, gaps, and backward dimensions. An input may repeat
 * its elements along a dimension. */
static ndr_array random_array(ndr_buffer *buffer, ndr_dtype dtype, ndr_range shape, bool may_repeat, uint64_t *seed)
{
    ndr_array a = { .buffer = buffer, .dtype = dtype, .shape = shape, .offset = pick(seed, 5) };
    unsigned order[3] = { 0, 1, 2 };
    int64_t stride = 1 + (int64_t)pick(seed, 2);
    for (unsigned d = shape.dims; d > 1; --d) {
        const unsigned other = (unsigned)pick(seed, d), last = order[d - 1];
        order[d - 1] = order[other], order[other] = last;
    }
    for (unsigned k = 0; k < shape.dims; ++k) {
        const unsigned d = order[k];
        const size_t what = pick(seed, 6);
        a.stride[d] = what == 0 && may_repeat ? 0 : what == 1 ? -stride : stride;
        if (a.stride[d] < 0) a.offset += (shape.size[d] - 1) * (size_t)stride;
        stride *= (int64_t)(shape.size[d] + pick(seed, 2));
    }
    return a;
}

static size_t place_of(const ndr_array *a, const size_t i[3])
{
    int64_t at = (int64_t)a->offset;
    for (unsigned d = 0; d < a->shape.dims; ++d) at += (int64_t)i[d] * a->stride[d];
    return (size_t)at;
}

static void check_strided(uint64_t *seed)
{
    static const ndr_dtype types[] = { NDR_DTYPE_I32, NDR_DTYPE_U32, NDR_DTYPE_I64, NDR_DTYPE_U64, NDR_DTYPE_F32 };
    static char from[2][8 * MOST], before[8 * MOST], got[8 * MOST];
    const ndr_dtype type = types[pick(seed, COUNT_OF(types))];
    const ndr_range shape = { 1 + (unsigned)pick(seed, 3),
                              { 1 + pick(seed, MAX_SIDE), 1 + pick(seed, MAX_SIDE), 1 + pick(seed, MAX_SIDE) } };
    for (size_t i = 0; i < MOST; ++i) {
        number_set(type, from[0], i, number_of(type, (int)(i % 997)));
        number_set(type, from[1], i, number_of(type, (int)(i % 13)));
        number_set(type, before, i, number_of(type, 99));
    }
    const size_t bytes = MOST * ndr_dtype_size(type);
    ndr_buffer *x = buffer_of(bytes, from[0]), *z = buffer_of(bytes, from[1]), *y = buffer_of(bytes, before);
    const ndr_array xs = random_array(x, type, shape, true, seed), zs = random_array(z, type, shape, true, seed),
                    ys = random_array(y, type, shape, false, seed);
    assert_ok(
        ndr_map(queue, MAP("y = 3 * x + z", INPUTS(named("x", xs), named("z", zs)), OUTPUTS(named("y", ys))), NULL));
    for (size_t i0 = 0; i0 < shape.size[0]; ++i0)
        for (size_t i1 = 0; i1 < (shape.dims > 1 ? shape.size[1] : 1); ++i1)
            for (size_t i2 = 0; i2 < (shape.dims > 2 ? shape.size[2] : 1); ++i2) {
                const size_t i[] = { i0, i1, i2 };
                const int wanted = 3 * (int)(place_of(&xs, i) % 997) + (int)(place_of(&zs, i) % 13);
                number_set(type, before, place_of(&ys, i), number_of(type, wanted));
            }
    read_buffer(y, got, bytes);
    assert_memory_equal(got, before, bytes);
    ndr_buffer_destroy(x), ndr_buffer_destroy(z), ndr_buffer_destroy(y);
}

static void test_map__of_any_shape_and_strides_agrees_with_a_loop(void **state)
{
    uint64_t seed = number_from_env("NDR_TEST_SEED", 20261123);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < (quick() ? 6 : 60); ++i) check_strided(&seed);
}

static void test_map__changes_a_strided_array_in_place(void **state)
{
    int32_t x[20], got[20];
    for (int i = 0; i < 20; ++i) x[i] = i;
    ndr_buffer *b = buffer_of(sizeof x, x);
    ndr_array every_second = ndr_array_of(b, NDR_DTYPE_I32, ndr_range_2d(5, 2));
    every_second.stride[0] = 4, every_second.stride[1] = -2, every_second.offset = 3;
    assert_ok(
        ndr_map(queue, MAP("y = x + 100", INPUTS(named("x", every_second)), OUTPUTS(named("y", every_second))), NULL));
    take_buffer(b, got, sizeof got);
    for (int i = 0; i < 20; ++i) assert_int_equal(got[i], i % 2 ? i + 100 : i);
}

/* ---- once ---- */

static void test_map__is_compiled_once_for_its_text_and_types(void **state)
{
    const int32_t x[64] = { 0 };
    ndr_buffer *b = buffer_of(sizeof x, x);
    ndr_cache_info before, after;
    for (size_t n = 0; n < 10; ++n) {
        if (n == 1) assert_ok(ndr_context_get_cache(context, &before));
        assert_ok(ndr_map(queue,
                          MAP("y = x + 12345", INPUTS(span("x", b, NDR_DTYPE_I32, n, 10 + n)),
                              OUTPUTS(span("y", b, NDR_DTYPE_I32, 30 + n, 10 + n))),
                          NULL));
    }
    assert_ok(ndr_context_get_cache(context, &after));
    assert_int_equal(after.misses, before.misses);
    ndr_buffer_destroy(b);
}

static void test_map__has_one_event_and_waits_for_others(void **state)
{
    int32_t got[3];
    ndr_buffer *b = buffer_of(sizeof got, NULL);
    ndr_event *first = NULL, *second = NULL;
    assert_ok(ndr_map(queue, MAP("y = 7", OUTPUTS(span("y", b, NDR_DTYPE_I32, 0, 3))), &first));
    assert_ok(ndr_map(
        ndr_after(queue, first),
        MAP("y += (int)i", INPUTS(span("y", b, NDR_DTYPE_I32, 0, 3)), OUTPUTS(span("y", b, NDR_DTYPE_I32, 0, 3))),
        &second));
    assert_ok(ndr_event_wait(second));
    take_buffer(b, got, sizeof got);
    assert_memory_equal(got, ((const int32_t[]){ 7, 8, 9 }), sizeof got);
    ndr_event_destroy(first), ndr_event_destroy(second);
    assert_ok(ndr_map(queue, MAP("y = 7", OUTPUTS(span("y", NULL, NDR_DTYPE_I32, 0, 0))), &first));
    assert_ok(ndr_event_wait(first));
    ndr_event_destroy(first);
}

static void test_map__explains_itself(void **state)
{
    char text[400];
    ndr_array transposed = ndr_array_of(NULL, NDR_DTYPE_F32, ndr_range_2d(3, 4));
    assert_ok(ndr_map_explain(context, MAP("y = 1", OUTPUTS(named("y", transposed))), sizeof text, text, NULL));
    assert_string_equal(text, "flat; not strided: it comes later in the list");
    transposed.stride[0] = 1, transposed.stride[1] = 3;
    assert_ok(ndr_map_explain(context, MAP("y = 1", OUTPUTS(named("y", transposed))), sizeof text, text, NULL));
    assert_string_equal(text, "strided; not flat: the elements of an array do not follow each other");
}

/* ---- errors in the text ---- */

static void test_map__shows_errors_in_the_callers_lines(void **state)
{
    ndr_buffer *b = buffer_of(64, NULL);
    const ndr_map_array y = span("y", b, NDR_DTYPE_F32, 0, 4);
    assert_refused(NDR_BUILD_FAILED, ndr_map(queue, MAP("float t = 1;\ny = t * wrong;", OUTPUTS(y)), NULL),
                   "expression:2:", "wrong", "y = t * wrong;", "^");
    assert_refused(NDR_BUILD_FAILED,
                   ndr_map(queue,
                           MAP("y = f(1);", .declarations = "\nfloat f(float x)\n{ return x + nowhere; }", OUTPUTS(y)),
                           NULL),
                   "declarations:3:", "nowhere", "^");
    assert_refused(NDR_BUILD_FAILED, ndr_map(queue, MAP("y = x = 1;", INPUTS(named("x", y.array)), OUTPUTS(y)), NULL),
                   "expression:1:", "const", "^");
    assert_refused(NDR_BUILD_FAILED, ndr_map(queue, MAP("y = 1\n#if 1\n;", OUTPUTS(y)), NULL),
                   "\"expression\", line 2: this #if has no #endif");
    assert_refused(NDR_BUILD_FAILED, ndr_map(queue, MAP("y = 1", .declarations = "#if 1", OUTPUTS(y)), NULL),
                   "\"declarations\", line 1: this #if has no #endif");
    assert_ok(ndr_map(queue, MAP("y = 1", OUTPUTS(y)), NULL));
    ndr_buffer_destroy(b);
}

static void test_map__refuses_an_output_without_a_value(void **state)
{
    static const char pastes[] = "#define STORE(a) a##1 = 2";
    ndr_buffer *b = buffer_of(64, NULL);
    const ndr_map_array y = span("y1", b, NDR_DTYPE_F32, 0, 4);
    assert_refused(NDR_BAD_ARGUMENT, ndr_map(queue, MAP("float y = 1; y11 = y", OUTPUTS(y)), NULL),
                   "statement does not name output \"y1\"", "y1 = 0");
    assert_ok(ndr_map(queue, MAP("SET", .declarations = "#define SET y1 = 2", OUTPUTS(y)), NULL));
    assert_ok(ndr_map(queue, MAP("STORE(y)", .declarations = pastes, OUTPUTS(y)), NULL));
    ndr_buffer_destroy(b);
}

/* Few elements, of which the driver gives memory to no more: kernels that index with an int fail. */
static void test_map__reaches_elements_beyond_31_bits(void **state)
{
    const uint64_t far = (UINT64_C(1) << 31) + 3, bytes = far + 64;
    const uint8_t low[4] = { 1, 2, 3, 4 }, high[4] = { 5, 6, 7, 8 };
    uint8_t got[8];
    ndr_buffer *x;
    skip_without(!quick() && !getenv("NDR_CHECK"), "2 GiB would be written");
    skip_without(device.max_buffer_bytes >= bytes, "the device has no buffers of 2 GiB");
    ndr_buffer *const y = buffer_of(8, NULL);
    assert_ok(ndr_buffer_create(context, (size_t)bytes, &x));
    assert_ok(ndr_buffer_write(queue, x, 0, 4, low, NULL));
    assert_ok(ndr_buffer_write(queue, x, (size_t)far, 4, high, NULL));
    const ndr_map_array out = named("y", ndr_array_of(y, NDR_DTYPE_U8, ndr_range_2d(2, 4)));
    ndr_array rows = ndr_array_of(x, NDR_DTYPE_U8, ndr_range_2d(2, 4));
    rows.stride[0] = (int64_t)far;
    assert_ok(ndr_map(queue, MAP("y = 10 * x", INPUTS(named("x", rows)), OUTPUTS(out)), NULL));
    assert_ok(ndr_buffer_read(queue, y, 0, 8, got, NULL));
    assert_memory_equal(got, ((uint8_t[]){ 10, 20, 30, 40, 50, 60, 70, 80 }), 8);
    rows.offset = (size_t)far;
    rows.stride[0] = -(int64_t)far;
    assert_ok(ndr_map(queue, MAP("y = 10 * x", INPUTS(named("x", rows)), OUTPUTS(out)), NULL));
    assert_ok(ndr_buffer_read(queue, y, 0, 8, got, NULL));
    assert_memory_equal(got, ((uint8_t[]){ 50, 60, 70, 80, 10, 20, 30, 40 }), 8);
    const ndr_map_array last = span("x", x, NDR_DTYPE_U8, (size_t)far, 4);
    assert_ok(ndr_map(queue, MAP("x = 10 * x", INPUTS(last), OUTPUTS(last)), NULL));
    assert_ok(ndr_buffer_read(queue, x, (size_t)far, 4, got, NULL));
    assert_memory_equal(got, ((uint8_t[]){ 50, 60, 70, 80 }), 4);
    destroy_buffers(x, y);
}

/* Of a part of a longer array. Past the offsets that a launch takes, too. */
static void test_map__counts_from_the_first_index(void **state)
{
    static const uint64_t firsts[] = { 1, 1000, INT32_MAX - 5, UINT32_MAX - 5, (UINT64_C(1) << 32) + 5, SIZE_MAX - 19 };
    uint64_t got[20];
    for (size_t f = 0; f < COUNT_OF(firsts); ++f) {
        if (firsts[f] > SIZE_MAX) continue;
        ndr_buffer *x = buffer_of(20 * sizeof(uint64_t), NULL);
        ndr_map_array evens = span("x", x, NDR_DTYPE_U64, 2, 9), all = span("x", x, NDR_DTYPE_U64, 0, 20);
        evens.array.stride[0] = 2;
        assert_ok(ndr_map(queue, MAP("x = i + 2 * i0", OUTPUTS(all), .first = (size_t)firsts[f]), NULL));
        assert_ok(ndr_map(queue, MAP("x += i", INPUTS(evens), OUTPUTS(evens), .first = (size_t)firsts[f]), NULL));
        take_buffer(x, got, sizeof got);
        for (uint64_t i = 0; i < 20; ++i) {
            const bool is_even = i >= 2 && i % 2 == 0;
            const uint64_t wanted = 3 * (firsts[f] + i) + (is_even ? firsts[f] + (i - 2) / 2 : 0);
            if (got[i] != wanted)
                fail_msg("from %" PRIu64 ", element %" PRIu64 " is %" PRIu64 ", not %" PRIu64, firsts[f], i, got[i], wanted);
        }
    }
}

/* ---- refusals ---- */

#define REFUSED(desc, ...) assert_refused(NDR_BAD_ARGUMENT, ndr_map(queue, (desc), NULL), "ndr_map: ", __VA_ARGS__)

static void test_map__refuses_what_is_missing(void **state)
{
    ndr_buffer *b = buffer_of(64, NULL);
    const ndr_map_array y = span("y", b, NDR_DTYPE_F32, 0, 4);
    assert_refused(NDR_BAD_ARGUMENT, ndr_map(NULL, MAP("y = 1", OUTPUTS(y)), NULL), "ndr_map: queue is NULL");
    REFUSED(NULL, "desc is NULL");
    REFUSED(MAP(NULL, OUTPUTS(y)), "statement is not set");
    REFUSED(MAP(" \n", OUTPUTS(y)), "statement is not set");
    REFUSED(MAP("y = 1; } if (0) {", OUTPUTS(y)), "statement \"y = 1; } if (0) {\" closes a bracket");
    REFUSED(MAP("y = 1", .declarations = "#define A \\", OUTPUTS(y)), "declarations \"#define A \\\" ends with a back");
    REFUSED(MAP("y = 1", .output_count = 0), "no output");
    REFUSED(MAP("y = 1", .output_count = 1), "outputs is NULL");
    REFUSED(MAP("y = x", .input_count = 1, OUTPUTS(y)), "inputs is NULL");
    REFUSED(MAP("y = 1", OUTPUTS(named("y", (ndr_array){ .buffer = b, .dtype = NDR_DTYPE_F32 }))), "\"y\"",
            "0 dimensions", "ndr_array_of()");
    REFUSED(MAP("y = 1", OUTPUTS(span("y", b, NDR_DTYPE_NONE, 0, 4))), "\"y\" has no dtype");
    REFUSED(MAP("y = 1", OUTPUTS(span("y", NULL, NDR_DTYPE_F32, 0, 4))), "\"y\" has no buffer");
    REFUSED(MAP("y = a", SCALARS(scalar("a", ndr_arg_of(b))), OUTPUTS(y)), "scalar \"a\"", "not a number");
    REFUSED(MAP("y = 1", .first = 3, OUTPUTS(named("y", ndr_array_of(b, NDR_DTYPE_F32, ndr_range_2d(2, 2))))),
            "first is 3, but the arrays have 2 dimensions");
    ndr_buffer_destroy(b);
}

static void test_map__refuses_wrong_names(void **state)
{
    ndr_buffer *b = buffer_of(64, NULL);
    const ndr_map_array y = span("y", b, NDR_DTYPE_F32, 0, 4), x = span("x", b, NDR_DTYPE_F32, 8, 4);
    REFUSED(MAP("y = 1", OUTPUTS(span(NULL, b, NDR_DTYPE_F32, 0, 4))), "outputs[0] has no name");
    REFUSED(MAP("y = 1", INPUTS(span("2x", b, NDR_DTYPE_F32, 8, 4)), OUTPUTS(y)), "inputs[0] is called \"2x\"",
            "digit");
    REFUSED(MAP("y = 1", INPUTS(span("a b", b, NDR_DTYPE_F32, 8, 4)), OUTPUTS(y)), "\"a b\"");
    REFUSED(MAP("y = 1", SCALARS(scalar("i1", ndr_arg_of(1))), OUTPUTS(y)), "scalars[0] is called \"i1\"", "the index");
    REFUSED(MAP("y = 1", SCALARS(scalar("ndr_n", ndr_arg_of(1))), OUTPUTS(y)), "\"ndr_n\"");
    REFUSED(MAP("y = x", SCALARS(scalar("x", ndr_arg_of(1))), INPUTS(x), OUTPUTS(y)), "two arguments are called \"x\"");
    REFUSED(MAP("y = 1", SCALARS(scalar("y", ndr_arg_of(1))), OUTPUTS(y)), "two arguments are called \"y\"");
    REFUSED(MAP("y = x", INPUTS(x, x), OUTPUTS(y)), "two arguments are called \"x\"");
    REFUSED(MAP("y = 1", INPUTS(span("y", b, NDR_DTYPE_I32, 8, 4)), OUTPUTS(y)), "\"y\" is an input of i32", "f32");
    ndr_map_array many[25];
    for (size_t i = 0; i < 25; ++i) many[i] = x;
    assert_refused(NDR_LIMIT_EXCEEDED,
                   ndr_map(queue, MAP("y = 1", .inputs = many, .input_count = 25, OUTPUTS(y)), NULL),
                   "26 scalars, inputs and outputs", "24");
    ndr_buffer_destroy(b);
}

static void test_map__refuses_wrong_shapes_and_overlaps(void **state)
{
    ndr_buffer *b = buffer_of(64, NULL);
    const ndr_map_array y = span("y", b, NDR_DTYPE_F32, 0, 4);
    ndr_array folded = ndr_array_of(b, NDR_DTYPE_F32, ndr_range_2d(3, 4));
    folded.stride[0] = 3;
    REFUSED(MAP("y = x", INPUTS(span("x", b, NDR_DTYPE_F32, 8, 5)), OUTPUTS(y)), "\"x\" has shape 5", "4");
    REFUSED(MAP("y = x", INPUTS(span("x", b, NDR_DTYPE_F32, 1, 4)), OUTPUTS(y)), "\"y\", bytes 0 to 15",
            "overlaps \"x\"", "bytes 4 to 19");
    REFUSED(MAP("y = x", INPUTS(span("x", b, NDR_DTYPE_I32, 0, 4)), OUTPUTS(y)), "overlaps \"x\"");
    REFUSED(MAP("y = 1; z = 2", OUTPUTS(y, span("z", b, NDR_DTYPE_F32, 0, 4))), "\"y\"", "overlaps \"z\"");
    REFUSED(MAP("y = 1", OUTPUTS(named("y", folded))), "several indexes for one element", "stride[0] is 3");
    folded.stride[0] = 4, folded.stride[1] = 0;
    REFUSED(MAP("y = 1", OUTPUTS(named("y", folded))), "several indexes for one element", "stride[1] is 0");
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_map(queue, MAP("y = 1", OUTPUTS(span("y", b, NDR_DTYPE_F32, 13, 4))), NULL),
                   "\"y\"", "from element 13", "16 elements");
    folded = ndr_array_of(b, NDR_DTYPE_F32, ndr_range_2d(4, 4));
    folded.stride[0] = -4, folded.offset = 11;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_map(queue, MAP("y = 1", OUTPUTS(named("y", folded))), NULL), "\"y\"",
                   "(-4, 1, 0)");
    folded.stride[0] = INT64_MAX;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_map(queue, MAP("y = 1", OUTPUTS(named("y", folded))), NULL), "\"y\"");
    ndr_buffer_destroy(b);
}

static void test_map__refuses_f64_where_the_device_has_none(void **state)
{
    ndr_context *without;
    ndr_queue *line;
    ndr_buffer *b;
    set_env("NDR_DISABLE", "fp64");
    assert_ok(ndr_context_create(NULL, &without));
    assert_ok(ndr_queue_create(without, NULL, &line));
    assert_ok(ndr_buffer_create(without, 64, &b));
    assert_refused(NDR_UNSUPPORTED, ndr_map(line, MAP("y = 1", OUTPUTS(span("y", b, NDR_DTYPE_F64, 0, 4))), NULL),
                   "array \"y\" is f64", "use f32");
    assert_refused(
        NDR_UNSUPPORTED,
        ndr_map(line, MAP("y = a", SCALARS(scalar("a", ndr_arg_of(2.0))), OUTPUTS(span("y", b, NDR_DTYPE_F32, 0, 4))),
                NULL),
        "scalar \"a\" is a double", "2.0f");
    assert_ok(ndr_map(line, MAP("y = 2", OUTPUTS(span("y", b, NDR_DTYPE_F32, 0, 4))), NULL));
    assert_ok(ndr_queue_finish(line));
    ndr_buffer_destroy(b);
    ndr_queue_destroy(line);
    ndr_context_destroy(without);
    restore_env();
}

/* ---- every variant ---- */

static bool is_chosen(const ndr_op_variant *variant) { return is_variant(variant, "flat"); }

#define RESULTS                                                                             \
    cmocka_unit_test(test_map__of_any_count_agrees_with_a_loop),                            \
        cmocka_unit_test(test_map__has_the_index_in_order_and_by_dimension),                \
        cmocka_unit_test(test_map__takes_declarations_structs_vectors_and_several_outputs), \
        cmocka_unit_test(test_map__converts_halves),                                        \
        cmocka_unit_test(test_map__converts_bfloats),                                       \
        cmocka_unit_test(test_map__converts_every_number_of_16_bits_as_the_host),           \
        cmocka_unit_test(test_map__stores_zeros_by_default_and_nothing_after_return),       \
        cmocka_unit_test(test_map__copies_every_float),                                     \
        cmocka_unit_test(test_map__of_any_shape_and_strides_agrees_with_a_loop),            \
        cmocka_unit_test(test_map__changes_a_strided_array_in_place),                       \
        cmocka_unit_test(test_map__counts_from_the_first_index),                            \
        cmocka_unit_test(test_map__reaches_elements_beyond_31_bits)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESULTS,
        cmocka_unit_test(test_map__is_compiled_once_for_its_text_and_types),
        cmocka_unit_test(test_map__has_one_event_and_waits_for_others),
        cmocka_unit_test(test_map__explains_itself),
        cmocka_unit_test(test_map__shows_errors_in_the_callers_lines),
        cmocka_unit_test(test_map__refuses_an_output_without_a_value),
        cmocka_unit_test(test_map__refuses_what_is_missing),
        cmocka_unit_test(test_map__refuses_wrong_names),
        cmocka_unit_test(test_map__refuses_wrong_shapes_and_overlaps),
        cmocka_unit_test(test_map__refuses_f64_where_the_device_has_none),
    };
    const struct CMUnitTest results[] = { RESULTS };
    return run_variants(&ndr_map_operation,
                        &(variant_tests){ tests, results, COUNT_OF(tests), COUNT_OF(results), is_chosen });
}
