/* test_matmul_forms.c - ndr_matmul: types, transposes, matrices by columns, triangles, offsets and epilogues, in
 * generated cases that are compared with plain loops; their refusals. */
#include "support.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "device/context.h"
#include "forcing.h"
#include "ndr/ndr_args.h"
#include "ndr/ndr_ops.h"
#include "ops/matmul/matmul.h"
#include "reference.h"

/* ---- elements ---- */

static bool is_integer(ndr_dtype dtype)
{
    return dtype == NDR_DTYPE_I8 || dtype == NDR_DTYPE_U8 || dtype == NDR_DTYPE_I32;
}

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const double fraction = bits & 1023, sign = bits >> 15 ? -1 : 1;
    if (exponent == 31) return fraction > 0 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static double bfloat_value(uint16_t bits)
{
    const uint32_t whole = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &whole, sizeof value);
    return (double)value;
}

static double element(ndr_dtype dtype, const void *array, size_t i)
{
    switch (dtype) {
    case NDR_DTYPE_I8: return ((const int8_t *)array)[i];
    case NDR_DTYPE_U8: return ((const uint8_t *)array)[i];
    case NDR_DTYPE_I32: return ((const int32_t *)array)[i];
    case NDR_DTYPE_F16: return half_value(((const uint16_t *)array)[i]);
    case NDR_DTYPE_BF16: return bfloat_value(((const uint16_t *)array)[i]);
    case NDR_DTYPE_F32: return (double)((const float *)array)[i];
    default: return ((const double *)array)[i];
    }
}

/* A random element: integers of all bits, floats of either sign in [1/16, 1), so that no product is below the normal
 * numbers. */
static void set_random(ndr_dtype dtype, void *array, size_t i, uint64_t *seed)
{
    const uint64_t bits = random_bits(seed);
    const double value = ldexp(1 + (double)(bits >> 12) * 0x1p-52, -1 - (int)(bits & 3)) * (bits & 4 ? -1 : 1);
    switch (dtype) {
    case NDR_DTYPE_I8:
    case NDR_DTYPE_U8: ((uint8_t *)array)[i] = (uint8_t)bits; break;
    case NDR_DTYPE_I32: ((int32_t *)array)[i] = (int32_t)bits; break;
    case NDR_DTYPE_F16: ((uint16_t *)array)[i] = (uint16_t)((bits & 0x83ff) | (11 + (bits >> 20 & 3)) << 10); break;
    case NDR_DTYPE_BF16: ((uint16_t *)array)[i] = (uint16_t)((bits & 0x807f) | (123 + (bits >> 20 & 3)) << 7); break;
    case NDR_DTYPE_F32: ((float *)array)[i] = (float)value; break;
    default: ((double *)array)[i] = value; break;
    }
}

/* Half of the distance between an element of that size and the next, relative to it; and the least distance. */
static long double rounding_of(ndr_dtype dtype, long double value)
{
    return dtype == NDR_DTYPE_F16    ? fabsl(value) * 0x1p-11L + 0x1p-25L
           : dtype == NDR_DTYPE_BF16 ? fabsl(value) * 0x1p-8L + FLT_MIN
           : dtype == NDR_DTYPE_F32  ? fabsl(value) * 0x1p-24L + FLT_MIN
           : dtype == NDR_DTYPE_F64  ? fabsl(value) * 0x1p-53L + DBL_MIN
                                     : 0;
}

/* ---- matrices ---- */

/* The matrices of all products in one array; rows and columns as the caller names them. */
typedef struct side {
    ndr_dtype dtype;
    size_t rows, cols, pitch, offset, stride, count;
    bool by_columns;
    uint64_t *offsets; /* NULL: by the stride */
    size_t elements;
    void *host;
    ndr_buffer *buffer, *at;
} side;

static size_t place(const side *s, size_t product, size_t row, size_t col)
{
    const size_t begin = s->offset + (s->offsets ? (size_t)s->offsets[product] : product * s->stride);
    return begin + (s->by_columns ? col * s->pitch + row : row * s->pitch + col);
}

static void allocate(side *s)
{
    const size_t bytes = s->elements * ndr_dtype_size(s->dtype);
    s->host = malloc(bytes);
    memset(s->host, 0xff, bytes); /* NaN, or -1 */
}

/* A random layout; with offsets in an order of their own. The products of one matrix may lie in one place. */
static side make_side(ndr_dtype dtype, size_t rows, size_t cols, size_t count, bool by_columns, bool has_offsets,
                      bool may_share, uint64_t *seed)
{
    const size_t runs = by_columns ? cols : rows, length = by_columns ? rows : cols;
    side s = { .dtype = dtype, .rows = rows, .cols = cols, .count = count, .by_columns = by_columns };
    s.pitch = length + (random_bits(seed) & 1 ? random_below(seed, 5) : 0);
    s.offset = random_bits(seed) & 1 ? random_below(seed, 7) : 0;
    const size_t room = runs * s.pitch + (random_bits(seed) & 1 ? random_below(seed, 9) : 0);
    s.stride = may_share && random_bits(seed) % 4 == 0 ? 0 : room;
    s.elements = s.offset + count * room + 3;
    if (has_offsets) {
        const size_t turn = random_below(seed, count);
        s.offsets = malloc(count * sizeof *s.offsets);
        for (size_t i = 0; i < count; ++i) s.offsets[i] = (count - 1 - i + turn) % count * s.stride;
        s.at = buffer_of(count * sizeof *s.offsets, s.offsets);
    }
    allocate(&s);
    for (size_t p = 0; p < count; ++p)
        for (size_t i = 0; i < rows; ++i)
            for (size_t j = 0; j < cols; ++j) set_random(dtype, s.host, place(&s, p, i, j), seed);
    return s;
}

static void send(side *s) { s->buffer = buffer_of(s->elements * ndr_dtype_size(s->dtype), s->host); }

static void free_side(side *s)
{
    ndr_buffer_destroy(s->buffer);
    ndr_buffer_destroy(s->at);
    free(s->offsets);
    free(s->host);
}

static ndr_matrix matrix_of(const side *s) { return (ndr_matrix){ s->buffer, s->offset, s->rows, s->cols, s->pitch }; }

/* An input of an epilogue over c: whole, a row's or a column's elements. */
static ndr_array array_of(const side *s, size_t count, bool repeats_rows, bool repeats_cols)
{
    ndr_array array = { s->buffer, s->dtype, s->offset, ndr_range_3d(count, s->rows, s->cols), { 0 } };
    array.stride[0] = (int64_t)s->stride;
    array.stride[1] = repeats_rows ? 0 : (int64_t)(s->by_columns ? 1 : s->pitch);
    array.stride[2] = repeats_cols ? 0 : (int64_t)(s->by_columns ? s->pitch : 1);
    return array;
}

/* ---- epilogues ---- */

/* What an epilogue of the list below reads, for one element. */
typedef struct values {
    long double r, bias, factor, old;
    size_t product, row, col;
} values;

/* `stretch` is how many times an error of r may be that of the value. */
typedef struct epilogue {
    const char *text;
    long double (*value)(const values *v);
    long double stretch, error; /* and what is added to the error, in multiples of the sums' eps * the value's size */
    bool is_for_integers, reads_c;
    ndr_dtype output; /* NONE: any that the types give */
} epilogue;

static long double add_bias(const values *v) { return v->r + v->bias; }
static long double rectify(const values *v) { return fmaxl(v->r * 3, 0) + v->factor; }
static long double add_old(const values *v) { return v->r * v->factor + 2 * v->old; }
static long double add_place(const values *v)
{
    return v->r + (long double)(v->product * 64 + v->row * 8 + v->col % 7);
}
static long double shift(const values *v) { return fminl(fmaxl(floorl(v->r / 1024), -128), 127); }
static long double add_whole(const values *v)
{
    return (long double)(int32_t)((uint32_t)(int64_t)v->r + (uint32_t)v->row * 3);
}
static long double halve(const values *v) { return v->r / 2 + v->bias; }

static const epilogue epilogues[] = {
    { "r + bias", add_bias, 1, 2, false, false, 0 },
    { "\n  rectified(r * three) + factor", rectify, 3, 4, false, false, 0 },
    { "r * factor + 2 * old", add_old, 1, 4, false, true, 0 },
    { "r + (product * 64 + row * 8 + col % 7)", add_place, 1, 4, false, false, 0 },
    { "convert_char_sat(r >> 10)", shift, 0, 0, true, false, NDR_DTYPE_I8 },
    { "as_int(as_uint(r) + (uint)row * 3u)", add_whole, 0, 0, true, false, NDR_DTYPE_I32 },
    { "0.5f * r + bias", halve, 1, 4, true, false, NDR_DTYPE_F32 },
    { "0.5f * r + bias", halve, 1, 4, true, false, NDR_DTYPE_F16 },
    { "0.5f * r + bias", halve, 1, 4, true, false, NDR_DTYPE_BF16 },
};

/* ---- cases ---- */

typedef struct form {
    ndr_dtype dtype, output;
    size_t m, n, k, count;
    bool transposes_a, transposes_b, by_columns;
    ndr_matrix_part part;
    unsigned offsets; /* bits 0 to 2: of a, b and c */
    double alpha, beta;
    const epilogue *epilogue;
} form;

static void print_form(const form *f, uint64_t seed)
{
    print_message("NDR_TEST_SEED=%" PRIu64 ": %zu x %zu x %zu x %zu, %s to %s, %s%s%s part %d, offsets %u, alpha %g, "
                  "beta %g, %s\n",
                  seed, f->count, f->m, f->n, f->k, ndr_dtype_name(f->dtype), ndr_dtype_name(f->output),
                  f->transposes_a ? "a^T " : "", f->transposes_b ? "b^T " : "",
                  f->by_columns ? "by columns" : "by rows", (int)f->part, f->offsets, f->alpha, f->beta,
                  f->epilogue ? f->epilogue->text : "no epilogue");
}

static bool is_in_part(const form *f, size_t row, size_t col)
{
    return f->part == NDR_MATRIX_WHOLE || (f->part == NDR_MATRIX_LOWER ? col <= row : col >= row);
}

/* The sum of the products of an element, and of their sizes. */
static void add_up(const form *f, const side *a, const side *b, size_t p, size_t row, size_t col, long double *sum,
                   long double *size)
{
    *sum = *size = 0;
    for (size_t i = 0; i < f->k; ++i) {
        const size_t at_a = f->transposes_a ? place(a, p, i, row) : place(a, p, row, i);
        const size_t at_b = f->transposes_b ? place(b, p, col, i) : place(b, p, i, col);
        const long double term = (long double)element(f->dtype, a->host, at_a) * element(f->dtype, b->host, at_b);
        *sum += term;
        *size += fabsl(term);
    }
}

/* c before the product, and what epilogues read. */
typedef struct inputs {
    const side *a, *b, *c, *bias, *factor;
} inputs;

static void check_element(const form *f, const inputs *in, const void *got, size_t p, size_t row, size_t col)
{
    const epilogue *e = f->epilogue;
    const size_t at = place(in->c, p, row, col);
    long double sum, size;
    add_up(f, in->a, in->b, p, row, col, &sum, &size);
    const double old = element(f->output, in->c->host, at);
    values v = { .product = p, .row = row, .col = col };
    v.r = (long double)f->alpha * (f->alpha != 0 ? sum : 0) + (f->beta != 0 ? (long double)f->beta * old : 0);
    if (is_integer(f->dtype)) v.r = (long double)(int32_t)(uint32_t)(int64_t)v.r;
    const long double eps = f->dtype == NDR_DTYPE_F64 ? DBL_EPSILON : FLT_EPSILON;
    long double bound =
        (long double)(f->k + 2) * eps
        * (fabsl((long double)f->alpha) * size + fabsl((long double)f->beta * (f->beta != 0 ? old : 0)));
    if (is_integer(f->dtype)) bound = 0;
    long double wanted = v.r;
    if (e) {
        v.bias = element(in->bias->dtype, in->bias->host, place(in->bias, 0, 0, col));
        v.factor = element(in->factor->dtype, in->factor->host, place(in->factor, p, row, 0));
        v.old = e->reads_c ? old : 0;
        wanted = e->value(&v);
        const long double sizes =
            fabsl(v.r) + fabsl(v.bias) + fabsl(v.factor) + 2 * fabsl(v.old) + (long double)(p * 64 + row * 8 + 7);
        bound = e->stretch * bound + e->error * eps * sizes;
    }
    bound += rounding_of(f->output, wanted) * 1.001L;
    const double x = element(f->output, got, at);
    if (fabsl(x - wanted) <= bound || (isinf(x) && fabsl(wanted) + bound >= 65520 && f->output == NDR_DTYPE_F16))
        return;
    print_error("element (%zu, %zu, %zu) is %.17g, not %.17Lg +- %.3Lg\n", p, row, col, x, wanted, bound);
    fail();
}

/* Elements that are not computed keep their bits. */
static void check_rest(const form *f, const side *c, const void *got)
{
    const size_t size = ndr_dtype_size(c->dtype);
    void *rest = malloc(c->elements * size);
    memcpy(rest, c->host, c->elements * size);
    for (size_t p = 0; p < f->count; ++p)
        for (size_t i = 0; i < f->m; ++i)
            for (size_t j = 0; j < f->n; ++j)
                if (is_in_part(f, i, j))
                    memcpy((char *)rest + place(c, p, i, j) * size, (const char *)got + place(c, p, i, j) * size, size);
    assert_memory_equal(rest, got, c->elements * size);
    free(rest);
}

/* Whether it runs by the variant that is forced. */
static bool is_taken(const ndr_matmul_desc *desc)
{
    char taken[64];
    if (!forced_variant) return true;
    assert_ok(ndr_matmul_explain(context, desc, sizeof taken, taken, NULL));
    taken[strcspn(taken, ";")] = '\0';
    return is_variant(forced_variant, taken);
}

static void check_product(const form *f, const ndr_matmul_desc *desc, const inputs *in)
{
    const size_t bytes = in->c->elements * ndr_dtype_size(in->c->dtype);
    void *got = malloc(bytes);
    assert_ok(ndr_matmul(queue, desc, NULL));
    read_buffer(in->c->buffer, got, bytes);
    check_rest(f, in->c, got);
    for (size_t p = 0; p < f->count; ++p)
        for (size_t i = 0; i < f->m; ++i)
            for (size_t j = 0; j < f->n; ++j)
                if (is_in_part(f, i, j)) check_element(f, in, got, p, i, j);
    free(got);
}

static void check_form(const form *f, uint64_t *seed)
{
    const epilogue *e = f->epilogue;
    const bool by_columns = f->by_columns, ta = f->transposes_a, tb = f->transposes_b;
    side a = make_side(f->dtype, ta ? f->k : f->m, ta ? f->m : f->k, f->count, by_columns, f->offsets & 1, true, seed);
    side b = make_side(f->dtype, tb ? f->n : f->k, tb ? f->k : f->n, f->count, by_columns, f->offsets & 2, true, seed);
    side c = make_side(f->output, f->m, f->n, f->count, by_columns, f->offsets & 4, false, seed);
    side bias = make_side(NDR_DTYPE_F16, f->m, f->n, 1, false, false, false, seed);
    side factor = make_side(NDR_DTYPE_F32, f->m, f->n, f->count, !by_columns, false, false, seed);
    if (f->beta == 0 && !(e && e->reads_c)) {
        memset(c.host, 0xff, c.elements * ndr_dtype_size(c.dtype)); /* of floats NaN, which must not be read */
    }
    side *const all[] = { &a, &b, &c, &bias, &factor };
    for (size_t i = 0; i < COUNT_OF(all); ++i) send(all[i]);
    ndr_map_array inputs_[] = { { "bias", array_of(&bias, 1, true, false) },
                                { "factor", array_of(&factor, f->count, false, true) },
                                { "old", array_of(&c, f->count, false, false) } };
    inputs_[0].array.shape = ndr_range_2d(f->m, f->n);
    inputs_[0].array.stride[0] = 0, inputs_[0].array.stride[1] = 1;
    const ndr_map_scalar three = { "three", ndr_arg_of(3.0f) };
    /* With names that kernels have as macros. */
#define NAMES \
    "#define T 3\n#define R 3\n#define MR 3\n#define LANES 3\n#define TILE_M 3\n#define ITEM_M 3\n#define DEPTH 3\n"
    const char *const rectified = f->dtype == NDR_DTYPE_F64
                                      ? NAMES "double rectified(double x)\n{ return fmax(x, T - 3.0); }"
                                      : NAMES "float rectified(float x)\n{ return fmax(x, MR - 3.0f); }";
    const ndr_matmul_desc desc = {
        .dtype = f->dtype,
        .scaling = ndr_scaling_of(f->alpha, f->beta),
        .a = matrix_of(&a),
        .b = matrix_of(&b),
        .c = matrix_of(&c),
        .count = f->count,
        .a_stride = a.offsets ? 0 : a.stride,
        .b_stride = b.offsets ? 0 : b.stride,
        .c_stride = c.offsets ? 0 : c.stride,
        .output_dtype = f->output,
        .part = f->part,
        .transposes_a = ta,
        .transposes_b = tb,
        .is_column_major = by_columns,
        .a_offsets = { a.at, 0 },
        .b_offsets = { b.at, 0 },
        .c_offsets = { c.at, 0 },
        .epilogue = e ? e->text : NULL,
        .declarations = e ? rectified : NULL,
        .scalars = e ? &three : NULL,
        .scalar_count = e ? 1 : 0,
        .inputs = e ? inputs_ : NULL,
        .input_count = !e           ? 0
                       : e->reads_c ? 3
                                    : 2,
    };
    if (is_taken(&desc)) check_product(f, &desc, &(inputs){ &a, &b, &c, &bias, &factor });
    for (size_t i = 0; i < COUNT_OF(all); ++i) free_side(all[i]);
}

/* ---- generated cases ---- */

static ndr_dtype random_output(ndr_dtype dtype, const epilogue *e, uint64_t *seed)
{
    static const ndr_dtype floats[] = { NDR_DTYPE_F32, NDR_DTYPE_F16, NDR_DTYPE_BF16 };
    if (e && e->output) return e->output;
    if (is_integer(dtype)) return NDR_DTYPE_I32;
    return dtype == NDR_DTYPE_F64 ? dtype : floats[random_below(seed, COUNT_OF(floats))];
}

static const epilogue *random_epilogue(ndr_dtype dtype, uint64_t *seed)
{
    if (random_bits(seed) & 1) return NULL;
    const epilogue *e = &epilogues[random_below(seed, COUNT_OF(epilogues))];
    return e->is_for_integers == is_integer(dtype) ? e : NULL;
}

static form random_form(ndr_dtype dtype, uint64_t *seed)
{
    static const size_t sizes[] = { 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 32, 33, 48, 49, 63, 64, 65, 97, 128, 129 };
    static const size_t depths[] = { 0, 1, 2, 7, 8, 15, 16, 17, 64, 65, 100, 127, 259, 643, 1301 };
    static const double alphas[] = { 1, 1, 0.5, -2, 0 }, betas[] = { 0, 0, 0.5, 1, -1 };
    enum { MAX_WORK = 1 << 20 };
    form f = { .dtype = dtype, .count = 1 };
    f.epilogue = random_epilogue(dtype, seed);
    f.output = random_output(dtype, f.epilogue, seed);
    f.m = sizes[random_below(seed, COUNT_OF(sizes))];
    f.n = sizes[random_below(seed, COUNT_OF(sizes))];
    f.k = depths[random_below(seed, COUNT_OF(depths))];
    if (quick()) f.m %= 7, f.n %= 7, f.k %= 9, f.m += !f.m, f.n += !f.n;
    f.transposes_a = random_bits(seed) & 1;
    f.transposes_b = random_bits(seed) & 1;
    f.by_columns = random_bits(seed) % 4 == 0;
    if (random_bits(seed) % 4 == 0) f.part = NDR_MATRIX_LOWER + random_bits(seed) % 2, f.n = f.m;
    if (random_bits(seed) % 3 == 0) f.count = 1 + random_below(seed, quick() ? 3 : 40);
    while (f.count > 1 && f.count * f.m * f.n * (f.k + 1) > (quick() ? 400 : MAX_WORK)) f.count /= 2;
    if (f.count > 1 && random_bits(seed) % 3 == 0) f.offsets = (unsigned)random_below(seed, 8);
    if (f.epilogue && f.epilogue->reads_c) f.offsets &= 3;
    f.alpha = alphas[random_below(seed, COUNT_OF(alphas))];
    f.beta = betas[random_below(seed, COUNT_OF(betas))];
    if (is_integer(dtype)) f.alpha *= 2, f.beta *= is_integer(f.output) ? 2 : 0;
    return f;
}

static void check_forms(ndr_dtype dtype)
{
    const uint64_t given = number_from_env("NDR_TEST_SEED", 0), first = given ? given : 1;
    const uint64_t cases = quick() ? 2 : 30;
    for (uint64_t seed = first; seed < first + cases; ++seed) {
        if (seed != given && !quick() && !is_today(seed + dtype, 11)) continue;
        uint64_t state = seed * 64 + dtype;
        const form f = random_form(dtype, &state);
        print_form(&f, seed);
        check_form(&f, &state);
    }
}

#define TEST_OF(name, dtype)                                                               \
    static void test_matmul__of_##name##_in_any_form_agrees_with_loops(void **state)       \
    {                                                                                      \
        skip_without((dtype) != NDR_DTYPE_F64 || device.has_f64, "the device has no f64"); \
        check_forms(dtype);                                                                \
    }
TEST_OF(f32, NDR_DTYPE_F32)
TEST_OF(f64, NDR_DTYPE_F64)
TEST_OF(f16, NDR_DTYPE_F16)
TEST_OF(bf16, NDR_DTYPE_BF16)
TEST_OF(i8, NDR_DTYPE_I8)
TEST_OF(u8, NDR_DTYPE_U8)

/* Results past 2^31 wrap, of sums past the whole numbers that a float holds. */
static void test_matmul__of_integers_wraps(void **state)
{
    enum { K = 4097 };
    const size_t k = quick() ? 5 : K;
    uint8_t a[K];
    memset(a, 255, sizeof a);
    ndr_buffer *from = buffer_of(sizeof a, a), *to = buffer_of(sizeof(int32_t), NULL);
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_U8,
                                   .scaling = ndr_scaling_of(-12345, 0),
                                   .a = { from, 0, 1, k, 0 },
                                   .b = { from, 0, k, 1, 0 },
                                   .c = { to, 0, 1, 1, 0 } };
    int32_t got;
    assert_ok(ndr_matmul(queue, &desc, NULL));
    read_buffer(to, &got, sizeof got);
    assert_int_equal(got, (int32_t)((uint32_t)-12345 * (uint32_t)(255 * 255 * k)));
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(to);
}

/* Rows that are whole blocks, then whole vectors, then single elements, whatever the registers are. */
static void test_matmul__of_wide_rows_takes_their_epilogue_by_vectors(void **state)
{
    static const ndr_dtype outputs[] = { NDR_DTYPE_F32, NDR_DTYPE_F16 };
    uint64_t seed = number_from_env("NDR_TEST_SEED", 1);
    skip_without(takes_variant(&ndr_matmul_operation, variant_of(&ndr_matmul_operation, "direct")),
                 "the device has no vector registers");
    force(&ndr_matmul_operation, "direct");
    for (unsigned i = 0; i < (quick() ? 1u : COUNT_OF(outputs)); ++i) {
        const form f = { .dtype = NDR_DTYPE_F32, .output = outputs[i], .count = 1, .m = 9, .n = 67, .k = 5,
                         .alpha = 0.5, .beta = i ? 0 : -1, .epilogue = &epilogues[2] };
        print_form(&f, seed);
        check_form(&f, &seed);
    }
    force(&ndr_matmul_operation, NULL);
}

/* ---- where loops end early ---- */

/* A product that is deeper than llvmpipe's loops reach, divided as for the fault loops_end_early on every driver. */
static void test_matmul__of_great_depth_is_divided_where_loops_end_early(void **state)
{
    skip_without(!is_simulated(), "Oclgrind takes more than 20 GB of memory for loops of this depth");
    enum { K = 40009 };
    static const ndr_dtype types[][2] = { { NDR_DTYPE_F32, NDR_DTYPE_F32 }, { NDR_DTYPE_BF16, NDR_DTYPE_F32 },
                                          { NDR_DTYPE_I8, NDR_DTYPE_I32 } };
    const uint64_t quirks = context->caps.quirks;
    uint64_t seed = number_from_env("NDR_TEST_SEED", 1);
    context->caps.quirks |= NDR_QUIRK_BIT(NDR_QUIRK_LOOPS_END_EARLY);
    force(&ndr_matmul_operation, "tiled");
    for (unsigned i = 0; i < (quick() ? 1u : 4 * COUNT_OF(types)); ++i) {
        const form f = { .dtype = types[i / 4][0], .output = types[i / 4][1], .count = 1 + i % 2,
                         .m = 3, .n = 5, .k = K,
                         .transposes_a = i & 1, .transposes_b = i >> 1 & 1, .by_columns = i % 3 == 2,
                         .alpha = -2, .beta = i % 4 ? 2 : 0 };
        if (!takes_case(i, 5)) continue;
        print_form(&f, seed);
        check_form(&f, &seed);
    }
    ndr_buffer *x = buffer_of(K * 2, NULL), *y = buffer_of(2, NULL);
    ndr_matmul_desc d = { .dtype = NDR_DTYPE_F16, .a = { x, 0, 1, K, 0 }, .b = { x, 0, K, 1, 0 },
                          .c = { y, 0, 1, 1, 0 } };
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_matmul(queue, &d, NULL), "ndr_matmul: the depth is 40009, but the driver",
                   "loops_end_early", "use at most ", "results of 32 bits or more without an epilogue");
    d.a.cols = d.b.rows = 1031;
    assert_ok(ndr_matmul(queue, &d, NULL));
    assert_ok(ndr_queue_finish(queue));
    force(&ndr_matmul_operation, NULL);
    context->caps.quirks = quirks;
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(y);
}

/* ---- refusals ---- */

static void test_matmul__refuses_forms_that_do_not_exist(void **state)
{
    ndr_buffer *x = buffer_of(4096, NULL), *y = buffer_of(4096, NULL), *z = buffer_of(4096, NULL);
    const ndr_matmul_desc good = { .dtype = NDR_DTYPE_F16,
                                   .a = { x, 0, 2, 3, 0 },
                                   .b = { y, 0, 3, 2, 0 },
                                   .c = { z, 0, 2, 2, 0 },
                                   .count = 2,
                                   .a_stride = 6,
                                   .b_stride = 6,
                                   .c_stride = 4 };
    ndr_matmul_desc d;
#define REFUSED(status, change, ...) \
    d = good, change, assert_refused(status, ndr_matmul(queue, &d, NULL), "ndr_matmul", __VA_ARGS__)
    const ndr_map_array one = { "bias", ndr_array_of(y, NDR_DTYPE_F32, ndr_range_2d(2, 2)) };
    const ndr_map_array wide = { "bias", ndr_array_of(y, NDR_DTYPE_F32, ndr_range_2d(2, 3)) };
    const ndr_map_array over_c = { "bias", { z, NDR_DTYPE_F16, 1, ndr_range_2d(2, 2), { 2, 1 } } };
    const ndr_map_array taken = { "row", one.array };
    REFUSED(NDR_BAD_ARGUMENT, d.output_dtype = NDR_DTYPE_I32,
            "output_dtype is i32, which a product of f16 does not give; use f16, bf16 or f32");
    REFUSED(NDR_BAD_ARGUMENT, (d.dtype = NDR_DTYPE_I8, d.output_dtype = NDR_DTYPE_F32),
            "output_dtype is f32, which a product of i8 does not give; use i32, or an epilogue");
    REFUSED(NDR_BAD_ARGUMENT, (d.dtype = NDR_DTYPE_F32, d.output_dtype = NDR_DTYPE_F64, d.epilogue = "r"),
            "output_dtype is f64, which a product of f32 does not give; use f16, bf16, f32, i8, u8 or i32");
    REFUSED(NDR_BAD_ARGUMENT, (d.dtype = NDR_DTYPE_I8, d.scaling = ndr_scaling_of(0.5, 0)), "alpha is 0.5",
            "use a whole number from -2^31 to 2^31 - 1, or an epilogue such as \"r * 0.5\"");
    REFUSED(NDR_BAD_ARGUMENT, (d.dtype = NDR_DTYPE_I8, d.scaling = ndr_scaling_of(1, 3e9)), "beta is 3000000000");
    REFUSED(NDR_BAD_ARGUMENT, (d.dtype = NDR_DTYPE_I8, d.scaling = ndr_scaling_of(NAN, 0)), "alpha is");
    REFUSED(NDR_BAD_ARGUMENT, d.part = (ndr_matrix_part)3, "part is 3; use NDR_MATRIX_WHOLE (0)");
    REFUSED(NDR_BAD_ARGUMENT, (d.part = NDR_MATRIX_LOWER, d.b.cols = d.c.cols = 1),
            "part is a triangle, but c is 2 x 1; make c square");
    REFUSED(NDR_BAD_ARGUMENT, d.transposes_a = true,
            "a is 2 x 3 and transposed and b is 3 x 2; a needs as many rows as b has rows");
    REFUSED(NDR_BAD_ARGUMENT, d.transposes_b = true,
            "a is 2 x 3 and b is 3 x 2 and transposed; a needs as many columns as b has columns");
    REFUSED(NDR_BAD_ARGUMENT, (d.is_column_major = true, d.b.pitch = 2),
            "b has 3 rows, but its pitch is 2; use at least 3");
    REFUSED(NDR_OUT_OF_BOUNDS, (d.is_column_major = true, d.b.pitch = 5000), "b is 3 x 2 with pitch 5000");
    REFUSED(NDR_BAD_ARGUMENT, d.a_offsets.buffer = y, "a_stride is 6 and a_offsets is set, too; set one of them");
    REFUSED(NDR_OUT_OF_BOUNDS, (d.a_stride = 0, d.a_offsets = (ndr_span){ y, 511 }),
            "a_offsets is 2 elements from element 511, but its buffer holds 512");
    REFUSED(NDR_BAD_ARGUMENT, (d.b_stride = 0, d.b_offsets = (ndr_span){ z, 1 }),
            "c, elements 0 to 7, overlaps b_offsets");
    REFUSED(NDR_BAD_ARGUMENT, d.scalar_count = 1, "scalars are set, but epilogue is not");
    REFUSED(NDR_BAD_ARGUMENT, d.declarations = "", "declarations is set, but epilogue is not");
    REFUSED(NDR_BAD_ARGUMENT, d.epilogue = " \n", "epilogue is empty");
    REFUSED(NDR_BAD_ARGUMENT, d.epilogue = "r; 2", "epilogue \"r; 2\" goes on behind a ;");
    REFUSED(NDR_BAD_ARGUMENT, (d.epilogue = "r", d.input_count = 1), "inputs is NULL, but its count is not 0");
    REFUSED(NDR_LIMIT_EXCEEDED, (d.epilogue = "r", d.inputs = &one, d.input_count = 25), "use at most 24");
    REFUSED(NDR_BAD_ARGUMENT, (d.epilogue = "r", d.inputs = &wide, d.input_count = 1),
            "input \"bias\" has shape (2, 3), but c is 2 x 2 in each of 2 products; use (2, 2) or (2, 2, 2)");
    REFUSED(NDR_BAD_ARGUMENT, (d.epilogue = "r", d.inputs = &taken, d.input_count = 1),
            "inputs[0] is called \"row\", which is a result or its place in expressions");
    REFUSED(NDR_BAD_ARGUMENT, (d.epilogue = "r", d.inputs = &over_c, d.input_count = 1),
            "\"c\", bytes 0 to 15, overlaps \"bias\", bytes 2 to 9 of the same buffer");
    REFUSED(
        NDR_BAD_ARGUMENT,
        (d.dtype = NDR_DTYPE_I8, d.output_dtype = NDR_DTYPE_F32, d.epilogue = "r", d.scaling = ndr_scaling_of(1, 2)),
        "beta is 2, but c is f32 and sums of i8 are integers; use beta 0, and c as an input of the epilogue");
    d = good, d.epilogue = "r +\n  nowhere";
    assert_refused(NDR_BUILD_FAILED, ndr_matmul(queue, &d, NULL), "epilogue:2:", "nowhere");
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(y);
    ndr_buffer_destroy(z);
}

/* By the row for few rows or columns, of which a product of few columns is turned. */
static void test_matmul__of_few_columns_tells_an_epilogue_its_place(void **state)
{
    enum { M = 37, N = 3, K = 5 };
    skip_without(takes_variant(&ndr_matmul_operation, variant_of(&ndr_matmul_operation, "few")), "it has small groups");
    float a[M * K], b[K * N], c[M * N];
    for (int i = 0; i < M * K; ++i) a[i] = (float)(i % 7);
    for (int i = 0; i < K * N; ++i) b[i] = (float)(i % 5);
    ndr_buffer *x = buffer_of(sizeof a, a), *y = buffer_of(sizeof b, b), *z = buffer_of(sizeof c, NULL);
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .a = { x, 0, M, K, 0 },
                                   .b = { y, 0, K, N, 0 },
                                   .c = { z, 0, M, N, 0 },
                                   .epilogue = "r + 1000 * row + 100000 * col" };
    force(&ndr_matmul_operation, "few");
    assert_ok(ndr_matmul(queue, &desc, NULL));
    read_buffer(z, c, sizeof c);
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            float sum = 0;
            for (int p = 0; p < K; ++p) sum += a[i * K + p] * b[p * N + j];
            assert_true(c[i * N + j] == sum + (float)(1000 * i + 100000 * j));
        }
    force(&ndr_matmul_operation, NULL);
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(y);
    ndr_buffer_destroy(z);
}

/* ---- every variant ---- */

static bool is_chosen(const ndr_op_variant *variant)
{
    (void)variant; /* the choice depends on the form */
    return false;
}

int main(void)
{
#define RESULTS                                                               \
    cmocka_unit_test(test_matmul__of_f32_in_any_form_agrees_with_loops),      \
        cmocka_unit_test(test_matmul__of_f64_in_any_form_agrees_with_loops),  \
        cmocka_unit_test(test_matmul__of_f16_in_any_form_agrees_with_loops),  \
        cmocka_unit_test(test_matmul__of_bf16_in_any_form_agrees_with_loops), \
        cmocka_unit_test(test_matmul__of_i8_in_any_form_agrees_with_loops),   \
        cmocka_unit_test(test_matmul__of_u8_in_any_form_agrees_with_loops),   \
        cmocka_unit_test(test_matmul__of_integers_wraps)
    const struct CMUnitTest tests[] = { RESULTS,
                                        cmocka_unit_test(test_matmul__of_wide_rows_takes_their_epilogue_by_vectors),
                                        cmocka_unit_test(test_matmul__of_great_depth_is_divided_where_loops_end_early),
                                        cmocka_unit_test(test_matmul__of_few_columns_tells_an_epilogue_its_place),
                                        cmocka_unit_test(test_matmul__refuses_forms_that_do_not_exist) };
    const struct CMUnitTest results[] = { RESULTS };
    return run_variants(&ndr_matmul_operation,
                        &(variant_tests){ tests, results, COUNT_OF(tests), COUNT_OF(results), is_chosen });
}
