/* test_map_reduce.c - ndr_map_reduce(): expressions against plain loops in every row, and what it refuses. */
#include "support.h"

#include <math.h>

#include "forcing.h"
#include "ndr/ndr_ops.h"
#include "ops/map_reduce/map_reduce.h"
#include "reference.h"

enum { MOST = 100100 };

static float xs[MOST], ys[MOST];
static ndr_buffer *x_buffer, *y_buffer;
static const char *row; /* that is forced; NULL: the device chooses */

static int open_data(void **state)
{
    uint64_t seed = 3;
    for (size_t i = 0; i < MOST; ++i) {
        xs[i] = random_number(NDR_DTYPE_F32, &seed).f32;
        ys[i] = random_number(NDR_DTYPE_F32, &seed).f32;
    }
    if (open_device(state) != 0) return -1;
    if (row) force(&ndr_map_reduce_operation, row);
    x_buffer = buffer_of(sizeof xs, xs);
    y_buffer = buffer_of(sizeof ys, ys);
    return 0;
}

/* Whether the row can run here, and is not what the device chooses. */
static bool is_left(void)
{
    void *state = NULL;
    char text[400] = "";
    const ndr_map_reduce_desc sum = {
        .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .expression = "i", .shape = ndr_range_1d(MOST)
    };
    const bool is_open = open_device(&state) == 0;
    if (is_open) assert_ok(ndr_map_reduce_explain(context, &sum, sizeof text, text, NULL));
    const bool is_chosen = strncmp(text, row, strlen(row)) == 0 && text[strlen(row)] == ';';
    const bool is =
        is_open && !is_chosen && takes_variant(&ndr_map_reduce_operation, variant_of(&ndr_map_reduce_operation, row));
    close_device(&state);
    return is;
}

static int close_data(void **state)
{
    destroy_buffers(x_buffer, y_buffer);
    return close_device(state);
}

/* ---- helpers ---- */

static ndr_map_array span(const char *name, ndr_buffer *buffer, ndr_dtype dtype, size_t offset, size_t count)
{
    ndr_map_array a = { name, ndr_array_of(buffer, dtype, ndr_range_1d(count)) };
    a.array.offset = offset;
    return a;
}

#define X(count) span("x", x_buffer, NDR_DTYPE_F32, 0, (count))
#define Y(count) span("y", y_buffer, NDR_DTYPE_F32, 5, (count))
#define INPUTS(...) \
    .inputs = (const ndr_map_array[]){ __VA_ARGS__ }, .input_count = COUNT_OF(((const ndr_map_array[]){ __VA_ARGS__ }))
#define SCALARS(...)                                    \
    .scalars = (const ndr_map_scalar[]){ __VA_ARGS__ }, \
    .scalar_count = COUNT_OF(((const ndr_map_scalar[]){ __VA_ARGS__ }))
#define DESC(...) (&(const ndr_map_reduce_desc){ __VA_ARGS__ })

static const size_t counts[] = { 0, 1, 2, 63, 64, 65, 257, 4095, 4096, 4097, 16384, 16385, 65537, 100003 };
static size_t count_of_counts(void) { return quick() ? 7 : COUNT_OF(counts); }

static void assert_near(double got, double wanted, double bound)
{
    if (!(fabs(got - wanted) <= bound)) fail_msg("%.17g, not %.17g within %g", got, wanted, bound);
}

/* ---- expressions ---- */

static void test_map_reduce__is_a_dot_product(void **state)
{
    for (size_t c = 0; c < count_of_counts(); ++c) {
        const size_t n = counts[c];
        float got = -1;
        double wanted = 0, magnitudes = 0;
        for (size_t i = 0; i < n; ++i)
            wanted += (double)xs[i] * ys[i + 5], magnitudes += fabs((double)xs[i] * ys[i + 5]);
        assert_ok(ndr_map_reduce(
            queue,
            DESC(.dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .expression = "x * y", INPUTS(X(n), Y(n)), .host = &got),
            NULL));
        assert_near(got, wanted, (17 + 256 + 1) * 0x1p-23 * magnitudes);
    }
}

/* In f64, and the root of it as a float. */
static void test_map_reduce__is_a_norm_in_a_wider_type(void **state)
{
    skip_without(device.has_f64, "the device has no f64");
    for (size_t c = 0; c < count_of_counts(); ++c) {
        const size_t n = counts[c];
        float got = -1;
        double wanted = 0;
        for (size_t i = 0; i < n; ++i) wanted += (double)xs[i] * xs[i];
        assert_ok(ndr_map_reduce(queue,
                                 DESC(.dtype = NDR_DTYPE_F64, .op = NDR_OP_SUM, .expression = "(double)x * x",
                                      .finish = "sqrt(r)", .output.dtype = NDR_DTYPE_F32, INPUTS(X(n)), .host = &got),
                                 NULL));
        assert_near(got, sqrt(wanted), 0x1p-23 * sqrt(wanted));
    }
}

static void test_map_reduce__finds_the_largest_difference(void **state)
{
    for (size_t c = 0; c < count_of_counts(); ++c) {
        const size_t n = counts[c];
        float got = -1, wanted = -INFINITY;
        for (size_t i = 0; i < n; ++i) wanted = fmaxf(wanted, fabsf(xs[i] - ys[i + 5]));
        assert_ok(ndr_map_reduce(queue,
                                 DESC(.dtype = NDR_DTYPE_F32, .op = NDR_OP_MAX, .expression = "fabs(x - y)",
                                      INPUTS(X(n), Y(n)), .host = &got),
                                 NULL));
        assert_true(got == wanted);
    }
}

static void test_map_reduce__counts_what_passes_a_test(void **state)
{
    for (size_t c = 0; c < count_of_counts(); ++c) {
        const size_t n = counts[c];
        uint64_t got = 99, wanted = 0;
        for (size_t i = 0; i < n; ++i) wanted += xs[i] > 0.25f;
        assert_ok(ndr_map_reduce(queue,
                                 DESC(.dtype = NDR_DTYPE_U64, .op = NDR_OP_SUM, .expression = "is_above(x, limit)",
                                      .declarations = "static int is_above(float x, float limit) { return x > limit; }",
                                      SCALARS({ "limit", ndr_arg_of(0.25f) }), INPUTS(X(n)), .host = &got),
                                 NULL));
        assert_int_equal(got, wanted);
    }
}

static void test_map_reduce__asks_whether_all_or_any(void **state)
{
    int32_t all = -1, any = -1, none = -1;
    const size_t n = quick() ? 257 : 65537;
    const ndr_map_reduce_desc question = {
        .dtype = NDR_DTYPE_I32, .op = NDR_OP_LOGICAL_AND, .expression = "x < 2", INPUTS(X(n)), .host = &all
    };
    ndr_map_reduce_desc other = question;
    assert_ok(ndr_map_reduce(queue, &question, NULL));
    other.op = NDR_OP_LOGICAL_OR, other.expression = "i == 200", other.host = &any;
    assert_ok(ndr_map_reduce(queue, &other, NULL));
    other.expression = "x > 2", other.host = &none;
    assert_ok(ndr_map_reduce(queue, &other, NULL));
    assert_int_equal(all, 1);
    assert_int_equal(any, 1);
    assert_int_equal(none, 0);
}

/* As test_map. */
static void test_map_reduce__reaches_elements_beyond_31_bits(void **state)
{
    const uint64_t far = (UINT64_C(1) << 31) + 3, bytes = far + 64;
    uint32_t sum = 0;
    ndr_buffer *x;
    skip_without(!quick() && !getenv("NDR_CHECK"), "2 GiB would be written");
    skip_without(device.max_buffer_bytes >= bytes, "the device has no buffers of 2 GiB");
    assert_ok(ndr_buffer_create(context, (size_t)bytes, &x));
    assert_ok(ndr_buffer_write(queue, x, 0, 3, (uint8_t[]){ 1, 2, 3 }, NULL));
    assert_ok(ndr_buffer_write(queue, x, (size_t)far, 3, (uint8_t[]){ 10, 20, 30 }, NULL));
    ndr_array rows = ndr_array_of(x, NDR_DTYPE_U8, ndr_range_2d(2, 3));
    for (unsigned i = 0; i < 3; ++i) { /* up, down, and only the last row */
        rows.offset = i > 0 ? (size_t)far : 0;
        rows.stride[0] = i > 1 ? 3 : i > 0 ? -(int64_t)far : (int64_t)far;
        if (i > 1) rows.shape.size[0] = 1;
        assert_ok(ndr_map_reduce(queue,
                                 DESC(.dtype = NDR_DTYPE_U32, .op = NDR_OP_SUM, .expression = "(i1 + 1) * x",
                                      INPUTS({ "x", rows }), .host = &sum),
                                 NULL));
        assert_int_equal(sum, i > 1 ? 140 : 154);
    }
    ndr_buffer_destroy(x);
}

/* Without inputs: over indexes. The highest bit that a number has in common with all others is exact. */
static void test_map_reduce__takes_a_shape_without_inputs(void **state)
{
    uint64_t got = 0, wanted = 0;
    const ndr_range shape = quick() ? ndr_range_3d(3, 4, 5) : ndr_range_3d(31, 41, 59);
    for (size_t a = 0; a < shape.size[0]; ++a)
        for (size_t b = 0; b < shape.size[1]; ++b)
            for (size_t c = 0; c < shape.size[2]; ++c) wanted += 1000000 * a + 1000 * b + c;
    assert_ok(ndr_map_reduce(queue,
                             DESC(.dtype = NDR_DTYPE_U64, .op = NDR_OP_SUM,
                                  .expression = "1000000 * i0 + 1000 * i1 + i2", .shape = shape, .host = &got),
                             NULL));
    assert_int_equal(got, wanted);
}

/* ---- an operator of the caller's ---- */

struct moments {
    float n, mean, squares; /* squares: of the differences to the mean */
};

#define MOMENTS                                                                                                \
    .element = "struct moments", .element_bytes = sizeof(struct moments), .identity = "{ 0, 0, 0 }",           \
    .declarations = "struct moments { float n, mean, squares; };\n"                                            \
                    "static struct moments of(float x) { struct moments m = { 1, x, 0 }; return m; }\n"        \
                    "static struct moments both(struct moments a, struct moments b)\n"                         \
                    "{\n"                                                                                      \
                    "    const float n = a.n + b.n, d = b.mean - a.mean, w = n > 0 ? b.n / n : 0;\n"           \
                    "    struct moments m = { n, a.mean + d * w, a.squares + b.squares + d * d * a.n * w };\n" \
                    "    return m;\n"                                                                          \
                    "}\n",                                                                                     \
    .combine = "both(a, b)", .expression = "of(x + 1000)"

static void test_map_reduce__is_a_variance_by_a_struct(void **state)
{
    skip_without(!is_simulated(), "Oclgrind lacks llvm.experimental.noalias.scope.decl, which structs need there");
    for (size_t c = 1; c < count_of_counts(); ++c) {
        const size_t n = counts[c];
        double mean = 0, squares = 0;
        float variance = -1;
        struct moments m = { -1, -1, -1 };
        for (size_t i = 0; i < n; ++i) mean += ((double)xs[i] + 1000) / (double)n;
        for (size_t i = 0; i < n; ++i) squares += ((double)xs[i] + 1000 - mean) * ((double)xs[i] + 1000 - mean);
        assert_ok(ndr_map_reduce(queue, DESC(MOMENTS, INPUTS(X(n)), .host = &m), NULL));
        assert_true(m.n == (float)n);
        assert_near(m.mean, mean, 1e-3);
        assert_ok(ndr_map_reduce(
            queue,
            DESC(MOMENTS, .finish = "r.squares / r.n", .output.dtype = NDR_DTYPE_F32, INPUTS(X(n)), .host = &variance),
            NULL));
        assert_near(variance, squares / (double)n, 1e-3 * squares / (double)n + 1e-6);
    }
}

/* An operator without a struct: the greatest common divisor. */
static void test_map_reduce__takes_an_operator_as_text(void **state)
{
    uint32_t got = 0;
    const size_t n = quick() ? 300 : 70000;
    assert_ok(ndr_map_reduce(queue,
                             DESC(.dtype = NDR_DTYPE_U32, .identity = "0", .combine = "gcd(a, b)",
                                  .declarations = "static uint gcd(uint a, uint b)\n"
                                                  "{ while (b) { const uint t = a % b; a = b; b = t; } return a; }",
                                  .expression = "36 * (uint)(i % 100 + 1)", .shape = ndr_range_1d(n), .host = &got),
                             NULL));
    assert_int_equal(got, 36);
}

/* ---- arrays ---- */

static void test_map_reduce__takes_strided_and_repeated_arrays(void **state)
{
    enum { ROWS = 33, COLS = 65 };
    static int32_t host[ROWS * COLS], line[COLS];
    int64_t got = 0, wanted = 0;
    for (int i = 0; i < ROWS * COLS; ++i) host[i] = i;
    for (int i = 0; i < COLS; ++i) line[i] = 3 * i;
    ndr_buffer *a = buffer_of(sizeof host, host), *b = buffer_of(sizeof line, line);
    ndr_map_array x = { "x", ndr_array_of(a, NDR_DTYPE_I32, ndr_range_2d(ROWS / 2, COLS)) };
    ndr_map_array y = { "y", ndr_array_of(b, NDR_DTYPE_I32, ndr_range_2d(ROWS / 2, COLS)) };
    x.array.stride[0] = 2 * COLS, x.array.stride[1] = -1, x.array.offset = COLS - 1;
    y.array.stride[0] = 0;
    for (int i = 0; i < ROWS / 2; ++i)
        for (int j = 0; j < COLS; ++j) wanted += (int64_t)host[2 * i * COLS + COLS - 1 - j] * line[j];
    assert_ok(ndr_map_reduce(
        queue, DESC(.dtype = NDR_DTYPE_I64, .op = NDR_OP_SUM, .expression = "(long)x * y", INPUTS(x, y), .host = &got),
        NULL));
    assert_int_equal(got, wanted);
    ndr_buffer_destroy(a), ndr_buffer_destroy(b);
}

static void test_map_reduce__leaves_nan_out_of_minima(void **state)
{
    const float host[] = { NAN, 3, -2, NAN };
    float some = 0, none = 0;
    ndr_buffer *b = buffer_of(sizeof host, host);
    ndr_map_reduce_desc desc = { .dtype = NDR_DTYPE_F32,
                                 .op = NDR_OP_MIN,
                                 .expression = "x",
                                 INPUTS(span("x", b, NDR_DTYPE_F32, 0, 4)),
                                 .host = &some };
    assert_ok(ndr_map_reduce(queue, &desc, NULL));
    desc.expression = "x * NAN", desc.host = &none;
    assert_ok(ndr_map_reduce(queue, &desc, NULL));
    assert_true(some == -2);
    assert_true(isnan(none));
    ndr_buffer_destroy(b);
}

/* The pieces of a softmax, on the device alone: the maximum and the sum are inputs that repeat. */
static void test_map_reduce__and_map_are_a_softmax(void **state)
{
    const size_t n = quick() ? 100 : 5000;
    static float got[MOST];
    double total = 0, most = -INFINITY;
    ndr_buffer *values = buffer_of(2 * sizeof(float), NULL), *out = buffer_of(sizeof got, NULL);
    ndr_map_array top = span("top", values, NDR_DTYPE_F32, 0, n), sum = span("sum", values, NDR_DTYPE_F32, 1, n);
    top.array.stride[0] = sum.array.stride[0] = 0;
    assert_ok(ndr_map_reduce(
        queue, DESC(.dtype = NDR_DTYPE_F32, .op = NDR_OP_MAX, .expression = "x", INPUTS(X(n)), .output = { .buffer = values }),
        NULL));
    assert_refused(NDR_BAD_ARGUMENT,
                   ndr_map_reduce(queue,
                                  DESC(.dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .expression = "exp(x - top)",
                                       INPUTS(X(n), top), .output = { .buffer = values }),
                                  NULL),
                   "overlaps \"top\"");
    assert_ok(ndr_map_reduce(queue,
                             DESC(.dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .expression = "exp(x - top)",
                                  INPUTS(X(n), top), .output = { .buffer = values, .offset = 1 }),
                             NULL));
    assert_ok(ndr_map(queue,
                      &(const ndr_map_desc){ .statement = "p = exp(x - top) / sum",
                                             INPUTS(X(n), top, sum),
                                             .outputs = (const ndr_map_array[]){ span("p", out, NDR_DTYPE_F32, 0, n) },
                                             .output_count = 1 },
                      NULL));
    read_buffer(out, got, n * sizeof *got);
    for (size_t i = 0; i < n; ++i) most = fmax(most, xs[i]);
    for (size_t i = 0; i < n; ++i) total += exp(xs[i] - most);
    for (size_t i = 0; i < n; ++i) assert_near(got[i], exp(xs[i] - most) / total, 1e-5 * exp(xs[i] - most) / total);
    ndr_buffer_destroy(values), ndr_buffer_destroy(out);
}

/* ---- results ---- */

static void test_map_reduce__gives_the_same_bits_every_time(void **state)
{
    float first = 0, again;
    const size_t n = quick() ? 700 : 100003;
    for (int run = 0; run < (quick() ? 2 : 10); ++run) {
        again = -1;
        assert_ok(ndr_map_reduce(
            queue,
            DESC(.dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .expression = "x * y", INPUTS(X(n), Y(n)), .host = &again),
            NULL));
        if (run == 0) first = again;
        assert_memory_equal(&first, &again, sizeof again);
    }
}

static void test_map_reduce__stores_one_element_and_has_an_event(void **state)
{
    int32_t got[3] = { -1, -1, -1 };
    const size_t n = quick() ? 100 : 50000;
    ndr_buffer *to = buffer_of(sizeof got, got);
    ndr_event *event = NULL;
    assert_ok(ndr_map_reduce(
        queue, DESC(.dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .expression = "1", INPUTS(X(n)), .output = { .buffer = to, .offset = 1 }),
        &event));
    assert_ok(ndr_event_wait(event));
    ndr_event_destroy(event);
    take_buffer(to, got, sizeof got);
    assert_memory_equal(got, ((const int32_t[]){ -1, (int32_t)n, -1 }), sizeof got);
}

/* ---- refusals ---- */

#define REFUSED(status, desc, ...) assert_refused((status), ndr_map_reduce(queue, (desc), NULL), __VA_ARGS__)
#define SUM .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .host = &got

static void test_map_reduce__shows_errors_in_each_text(void **state)
{
    float got = 0;
    char before[200], after[200];
    assert_ok(
        ndr_map_reduce_explain(context, DESC(SUM, .expression = "x", INPUTS(X(100000))), sizeof before, before, NULL));
    REFUSED(NDR_BUILD_FAILED, DESC(SUM, .expression = "x +\n  wrong", INPUTS(X(9))), "expression:2:3", "wrong", "^");
    REFUSED(NDR_BUILD_FAILED, DESC(SUM, .expression = "x", .finish = "missing(r)", INPUTS(X(9))), "finish:1:1",
            "missing", "^");
    REFUSED(NDR_BUILD_FAILED,
            DESC(.dtype = NDR_DTYPE_F32, .combine = "a ++ b", .identity = "0", .expression = "x", INPUTS(X(9)),
                 .host = &got),
            "combine:1:", "^");
    REFUSED(NDR_BUILD_FAILED,
            DESC(.dtype = NDR_DTYPE_F32, .combine = "a + b", .identity = "none", .expression = "x", INPUTS(X(9)),
                 .host = &got),
            "identity:1:1", "^");
    /* the caller's mistakes do not change the rows of others */
    assert_ok(
        ndr_map_reduce_explain(context, DESC(SUM, .expression = "x", INPUTS(X(100000))), sizeof after, after, NULL));
    assert_string_equal(before, after);
    assert_true(got == 0);
}

static void test_map_reduce__refuses_wrong_types_and_operators(void **state)
{
    float got;
    ndr_map_reduce_desc odd = { MOMENTS, INPUTS(X(9)), .host = &got };
    odd.element_bytes = 16;
    assert_refused(NDR_BAD_ARGUMENT, ndr_map_reduce(NULL, DESC(SUM, .expression = "x", INPUTS(X(9))), NULL),
                   "ndr_map_reduce: queue is NULL");
    REFUSED(NDR_BAD_ARGUMENT, NULL, "desc is NULL");
    REFUSED(NDR_BAD_ARGUMENT, DESC(SUM, INPUTS(X(9))), "expression is not set");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.op = NDR_OP_SUM, .expression = "x", INPUTS(X(9))), "dtype is not set", "element");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.dtype = NDR_DTYPE_F16, .op = NDR_OP_SUM, .expression = "x", INPUTS(X(9))),
            "dtype is f16");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.dtype = NDR_DTYPE_F32, .expression = "x", INPUTS(X(9))), "op is 0");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.dtype = NDR_DTYPE_F32, .op = NDR_OP_BIT_OR, .expression = "x", INPUTS(X(9))),
            "for integers");
    REFUSED(NDR_BAD_ARGUMENT, DESC(SUM, .combine = "a", .expression = "x", INPUTS(X(9))),
            "combine is set without identity");
    REFUSED(NDR_BAD_ARGUMENT, DESC(SUM, .combine = "a", .identity = "0", .expression = "x", INPUTS(X(9))),
            "op and combine");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.element = "float4", .element_bytes = 16, .expression = "x", INPUTS(X(9))),
            "\"float4\" have no op");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.element = "float4", .element_bytes = 0, .expression = "x", INPUTS(X(9))),
            "element_bytes is 0", "256");
    REFUSED(NDR_BAD_ARGUMENT, DESC(SUM, .element = "float4", .expression = "x", INPUTS(X(9))), "element is set, too");
    REFUSED(NDR_BAD_ARGUMENT, &odd, "element_bytes is 16", "\"struct moments\" has another size");
    REFUSED(NDR_BAD_ARGUMENT, DESC(SUM, .expression = "x"), "0 dimensions");
    REFUSED(NDR_BAD_ARGUMENT, DESC(SUM, .expression = "x", INPUTS(X(9)), .shape = ndr_range_1d(8)), "\"x\" has shape 9",
            "8");
    REFUSED(NDR_BAD_ARGUMENT, DESC(.dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .expression = "x", INPUTS(X(9))),
            "output has no buffer");
    REFUSED(NDR_BAD_ARGUMENT, DESC(SUM, .expression = "x", INPUTS(X(9)), .output = { .buffer = x_buffer, .offset = 8 }),
            "\"output\", bytes 32 to 35", "overlaps \"x\"");
    REFUSED(NDR_OUT_OF_BOUNDS, DESC(SUM, .expression = "x", INPUTS(X(MOST + 1))), "\"x\"");
    REFUSED(NDR_OUT_OF_BOUNDS, DESC(SUM, .expression = "x", INPUTS(X(9)), .output = { .buffer = y_buffer, .offset = MOST }),
            "output is 1 element");
}

static void test_map_reduce__refuses_texts_of_more_than_one_value(void **state)
{
    float got;
#define OWN .dtype = NDR_DTYPE_F32, .host = &got, INPUTS(X(9))
    REFUSED(NDR_BAD_ARGUMENT, DESC(SUM, .expression = "x; 2", INPUTS(X(9))), "expression \"x; 2\" goes on behind a ;");
    REFUSED(NDR_BAD_ARGUMENT, DESC(SUM, .expression = "x", .finish = "r, 2", INPUTS(X(9))), "finish \"r, 2\"");
    REFUSED(NDR_BAD_ARGUMENT, DESC(OWN, .expression = "x", .combine = "a; b", .identity = "0"), "combine \"a; b\"");
    REFUSED(NDR_BAD_ARGUMENT, DESC(OWN, .expression = "x", .combine = "a + b", .identity = "0; 1"),
            "identity \"0; 1\"");
#undef OWN
    const ndr_map_reduce_value values[] = {
        { .name = "a", .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .expression = "x", .host = &got },
        { .name = "b", .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .expression = "x) + (x" },
    };
    REFUSED(NDR_BAD_ARGUMENT, DESC(.values = values, .value_count = 2, INPUTS(X(9))),
            "values[1].expression \"x) + (x\" closes a bracket");
}

static void test_map_reduce__refuses_f64_where_the_device_has_none(void **state)
{
    ndr_context *without;
    ndr_queue *line;
    float got = 0;
    set_env("NDR_DISABLE", "fp64");
    assert_ok(ndr_context_create(NULL, &without));
    assert_ok(ndr_queue_create(without, NULL, &line));
    assert_refused(NDR_UNSUPPORTED,
                   ndr_map_reduce(line,
                                  DESC(.dtype = NDR_DTYPE_F64, .op = NDR_OP_SUM, .expression = "i",
                                       .shape = ndr_range_1d(4), .host = &got),
                                  NULL),
                   "no f64", "use f32");
    assert_ok(ndr_map_reduce(line, DESC(SUM, .expression = "i", .shape = ndr_range_1d(4)), NULL));
    assert_true(got == 6);
    ndr_queue_destroy(line);
    ndr_context_destroy(without);
    restore_env();
}

/* ---- every row of the tree ---- */

#define RESULTS                                                                                                        \
    cmocka_unit_test(test_map_reduce__is_a_dot_product), cmocka_unit_test(test_map_reduce__is_a_norm_in_a_wider_type), \
        cmocka_unit_test(test_map_reduce__finds_the_largest_difference),                                               \
        cmocka_unit_test(test_map_reduce__counts_what_passes_a_test),                                                  \
        cmocka_unit_test(test_map_reduce__asks_whether_all_or_any),                                                    \
        cmocka_unit_test(test_map_reduce__takes_a_shape_without_inputs),                                               \
        cmocka_unit_test(test_map_reduce__reaches_elements_beyond_31_bits),                                            \
        cmocka_unit_test(test_map_reduce__is_a_variance_by_a_struct),                                                  \
        cmocka_unit_test(test_map_reduce__takes_an_operator_as_text),                                                  \
        cmocka_unit_test(test_map_reduce__takes_strided_and_repeated_arrays),                                          \
        cmocka_unit_test(test_map_reduce__leaves_nan_out_of_minima),                                                   \
        cmocka_unit_test(test_map_reduce__and_map_are_a_softmax),                                                      \
        cmocka_unit_test(test_map_reduce__gives_the_same_bits_every_time)

int main(void)
{
    static const char *const rows[] = { "chunks", "groups" };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_reduce__stores_one_element_and_has_an_event),
        cmocka_unit_test(test_map_reduce__shows_errors_in_each_text),
        cmocka_unit_test(test_map_reduce__refuses_wrong_types_and_operators),
        cmocka_unit_test(test_map_reduce__refuses_texts_of_more_than_one_value),
        cmocka_unit_test(test_map_reduce__refuses_f64_where_the_device_has_none),
    };
    const struct CMUnitTest results[] = { RESULTS };
    int failed = cmocka_run_group_tests_name("map_reduce", tests, open_data, close_data);
    failed += run_todays("results", results, COUNT_OF(results), 0, CHOSEN_DAYS, open_data, close_data);
    for (size_t i = 0; i < COUNT_OF(rows); ++i) {
        row = rows[i];
        if (is_left()) failed += run_todays(rows[i], results, COUNT_OF(results), i, FORCED_DAYS, open_data, close_data);
    }
    return failed;
}
