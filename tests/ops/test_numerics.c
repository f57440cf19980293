/* test_numerics.c - ndr_reduce() with named numerics, beside long numbers and the documented order on the host. */
#include "support.h"

#include <inttypes.h>
#include <math.h>

#include "device/context.h"
#include "forcing.h"
#include "ops/reduce/reduce.h"
#include "reference.h"

/* ---- floats as bits ---- */

typedef struct format {
    ndr_dtype dtype;
    unsigned fraction, most; /* bits of a fraction; the exponent of infinities and NaN */
    int smallest;            /* the smallest number is 2^-smallest */
} format;

static const format formats[] = { { NDR_DTYPE_F32, 23, 255, 149 }, { NDR_DTYPE_F64, 52, 2047, 1074 } };
static const format *const f32 = &formats[0], *const f64 = &formats[1];

static bool is_32(const format *f) { return f->dtype == NDR_DTYPE_F32; }
static uint64_t sign_bit(const format *f) { return UINT64_C(1) << (is_32(f) ? 31 : 63); }
static uint64_t infinite(const format *f) { return (uint64_t)f->most << f->fraction; }
static uint64_t neither(const format *f) { return infinite(f) | UINT64_C(1) << (f->fraction - 1); }
static uint64_t largest(const format *f) { return infinite(f) - 1; }
static uint64_t exponent_of(const format *f, uint64_t x) { return x >> f->fraction & f->most; }

/* 2^exponent, a normal number. */
static uint64_t power(const format *f, int exponent) { return (uint64_t)(exponent + (int)f->most / 2) << f->fraction; }

static uint64_t get(const format *f, const void *elements, size_t i)
{
    return is_32(f) ? ((const uint32_t *)elements)[i] : ((const uint64_t *)elements)[i];
}

static void put(const format *f, void *elements, size_t i, uint64_t x)
{
    if (is_32(f)) ((uint32_t *)elements)[i] = (uint32_t)x;
    else ((uint64_t *)elements)[i] = x;
}

/* ---- exact sums: a count for each bit ---- */

enum { BITS = 4400 };

typedef struct exact {
    int64_t bits[BITS]; /* from 2^(-2 * smallest) on */
    bool nan, plus, minus;
} exact;

static bool is_special(const format *f, uint64_t x) { return exponent_of(f, x) == f->most; }

static void add_product(const format *f, exact *sum, uint64_t x, uint64_t y)
{
    const uint64_t a = x & ~sign_bit(f), b = y & ~sign_bit(f);
    const bool is_negative = ((x ^ y) & sign_bit(f)) != 0;
    if (a > infinite(f) || b > infinite(f) || (is_special(f, a) && b == 0) || (is_special(f, b) && a == 0)) {
        sum->nan = true;
        return;
    }
    if (is_special(f, a) || is_special(f, b)) {
        *(is_negative ? &sum->minus : &sum->plus) = true;
        return;
    }
    const uint64_t hidden = UINT64_C(1) << f->fraction, ea = exponent_of(f, a), eb = exponent_of(f, b);
    const uint64_t ma = (a & (hidden - 1)) | (ea ? hidden : 0), mb = (b & (hidden - 1)) | (eb ? hidden : 0);
    const uint64_t position = (ea ? ea - 1 : 0) + (eb ? eb - 1 : 0);
    for (unsigned i = 0; ma >> i; ++i)
        for (unsigned j = 0; (ma >> i & 1) && mb >> j; ++j)
            if (mb >> j & 1) sum->bits[position + i + j] += is_negative ? -1 : 1;
}

/* Make each bit 0 or 1. Returns whether the number is negative; then it is that of its opposite. */
static bool carry(exact *sum)
{
    int64_t over = 0;
    for (size_t i = 0; i < BITS; ++i) {
        const int64_t all = sum->bits[i] + over, bit = all & 1;
        sum->bits[i] = bit;
        over = (all - bit) / 2;
    }
    if (over == 0) return false;
    for (size_t i = 0; i < BITS; ++i) sum->bits[i] = -sum->bits[i];
    sum->bits[BITS - 1] += -2 * over;
    (void)carry(sum);
    return true;
}

static uint64_t round_exact(const format *f, exact *sum)
{
    if (sum->nan || (sum->plus && sum->minus)) return neither(f);
    if (sum->plus || sum->minus) return infinite(f) | (sum->minus ? sign_bit(f) : 0);
    const uint64_t sign = carry(sum) ? sign_bit(f) : 0;
    int top = BITS - 1;
    while (top >= 0 && !sum->bits[top]) --top;
    if (top < 0) return 0;
    const int last = top - (int)f->fraction > f->smallest ? top - (int)f->fraction : f->smallest;
    uint64_t result = 0, rest = 0;
    for (int i = top; i >= last; --i) result = 2 * result + (uint64_t)sum->bits[i];
    for (int i = last - 2; i >= 0; --i) rest |= (uint64_t)sum->bits[i];
    if (sum->bits[last - 1] && (rest || (result & 1))) ++result;
    const uint64_t above = (uint64_t)(last - f->smallest);
    if (above >= f->most) return sign | infinite(f);
    const uint64_t rounded = (above << f->fraction) + result;
    return sign | (rounded < infinite(f) ? rounded : infinite(f));
}

/* `y` NULL: the sum of x. */
static uint64_t exact_on_host(const format *f, const void *x, const void *y, size_t count)
{
    exact *sum = calloc(1, sizeof *sum);
    for (size_t i = 0; i < count; ++i) add_product(f, sum, get(f, x, i), y ? get(f, y, i) : power(f, 0));
    const uint64_t result = round_exact(f, sum);
    free(sum);
    return result;
}

/* ---- the order of docs/numerics.md ---- */

enum { BLOCK = 4096, STRIPS = 4, ROWS = 16, COLUMNS = 64 };

static uint64_t combine(const format *f, ndr_op op, uint64_t a, uint64_t b)
{
    uint64_t result = 0;
    if (is_32(f)) {
        const uint32_t bits[2] = { (uint32_t)a, (uint32_t)b };
        float x[2];
        memcpy(x, bits, sizeof x);
        volatile float out = op == NDR_OP_SUM ? x[0] + x[1] : x[0] * x[1];
        const float rounded = out;
        uint32_t word;
        memcpy(&word, &rounded, sizeof word);
        result = word;
    } else {
        const uint64_t bits[2] = { a, b };
        double x[2];
        memcpy(x, bits, sizeof x);
        volatile double out = op == NDR_OP_SUM ? x[0] + x[1] : x[0] * x[1];
        const double rounded = out;
        memcpy(&result, &rounded, sizeof result);
    }
    return result;
}

static uint64_t fold_block(const format *f, ndr_op op, const void *x, size_t count)
{
    const uint64_t neutral = op == NDR_OP_SUM ? 0 : power(f, 0);
    uint64_t column[COLUMNS];
    for (size_t c = 0; c < COLUMNS; ++c) {
        column[c] = neutral;
        for (size_t s = 0; s < STRIPS; ++s) {
            uint64_t strip = neutral;
            for (size_t r = 0; r < ROWS; ++r) {
                const size_t i = (s * ROWS + r) * COLUMNS + c;
                if (i < count) strip = combine(f, op, strip, get(f, x, i));
            }
            column[c] = combine(f, op, column[c], strip);
        }
    }
    for (size_t width = COLUMNS / 2; width > 0; width /= 2)
        for (size_t c = 0; c < width; ++c) column[c] = combine(f, op, column[c], column[c + width]);
    return column[0];
}

/* `x` is overwritten. */
static uint64_t fixed_on_host(const format *f, ndr_op op, void *x, size_t count)
{
    const size_t size = ndr_dtype_size(f->dtype);
    do {
        const size_t blocks = count > BLOCK ? (count + BLOCK - 1) / BLOCK : 1;
        for (size_t b = 0; b < blocks; ++b) {
            const size_t left = count - b * BLOCK;
            put(f, x, b, fold_block(f, op, (char *)x + b * BLOCK * size, left < BLOCK ? left : BLOCK));
        }
        count = blocks;
    } while (count > 1);
    return (get(f, x, 0) & ~sign_bit(f)) > infinite(f) ? neither(f) : get(f, x, 0);
}

/* ---- elements ---- */

typedef enum data_kind {
    UNIFORM,
    SIGNED,
    WIDE,
    ANY_EXPONENT,
    CANCELLING,
    OUTLIER,
    SUBNORMAL,
    SPARSE,
    ENORMOUS,
    KINDS
} data_kind;

static const char *const kind_names[] = { "uniform",         "signed",     "of 100 binary orders",
                                          "of any exponent", "cancelling", "with an outlier",
                                          "subnormal",       "sparse",     "huge" };

/* A number of random fraction with that biased exponent, and maybe a sign. */
static uint64_t random_float(const format *f, uint64_t exponent, bool has_sign, uint64_t *seed)
{
    const uint64_t fraction = random_bits(seed) & ((UINT64_C(1) << f->fraction) - 1);
    return exponent << f->fraction | fraction | (has_sign && random_bits(seed) % 2 ? sign_bit(f) : 0);
}

static uint64_t element_of(const format *f, data_kind kind, size_t i, uint64_t *seed)
{
    const uint64_t one = f->most / 2, few = random_bits(seed);
    unsigned geometric = 1;
    while (few >> geometric & 1) ++geometric;
    switch (kind) {
    case UNIFORM: return random_float(f, one - geometric, false, seed);
    case WIDE: return random_float(f, one - 50 + few % 100, true, seed);
    case ANY_EXPONENT: return random_float(f, few % f->most, true, seed);
    case SUBNORMAL: return random_float(f, few % 16 == 0, true, seed);
    case SPARSE: return few % 64 ? (few % 3 ? 0 : sign_bit(f)) : random_float(f, one - geometric, true, seed);
    case ENORMOUS: return random_float(f, f->most - 1, true, seed);
    case OUTLIER:
        if (i % 1500 == 700) return random_float(f, f->most - 30, true, seed);
        return random_float(f, one - geometric, true, seed);
    default: return random_float(f, one - geometric, true, seed);
    }
}

/* Of one that cancels each number but a few has an opposite, far away: with any exponent, so that the condition is 1e30
 * and more. */
static void *elements_of(const format *f, data_kind kind, size_t count, uint64_t seed)
{
    void *x = calloc(count + 1, ndr_dtype_size(f->dtype));
    for (size_t i = 0; i < count; ++i) put(f, x, i, element_of(f, kind, i, &seed));
    for (size_t i = 0; kind == CANCELLING && i < count / 2; ++i) {
        const uint64_t large = random_float(f, f->most / 2 + random_bits(&seed) % 110, true, &seed);
        if (i % 97 == 5) continue;
        put(f, x, i, large);
        put(f, x, count - 1 - i, large ^ sign_bit(f));
    }
    return x;
}

static void shuffle(const format *f, void *x, void *y, size_t count, uint64_t seed)
{
    for (size_t i = count; i > 1; --i) {
        const size_t j = (size_t)(random_bits(&seed) % i);
        void *const arrays[] = { x, y };
        for (size_t a = 0; a < (y ? 2 : 1); ++a) {
            const uint64_t before = get(f, arrays[a], i - 1);
            put(f, arrays[a], i - 1, get(f, arrays[a], j));
            put(f, arrays[a], j, before);
        }
    }
}

/* ---- one reduction ---- */

typedef struct call {
    const format *f;
    ndr_op op;
    ndr_numerics numerics;
    const void *x, *y; /* y NULL: no factors */
    size_t count, offset;
} call;

/* The result's bits. Elements around the operands are NaN, and those around the output are checked. A simulator takes
 * seconds for a call of groups of 256, so there they have few items. */
static uint64_t reduce(const call *c)
{
    enum { AROUND = 3, FEW = 16 };
    const format *f = c->f;
    const size_t size = ndr_dtype_size(f->dtype), all = c->offset + c->count + AROUND;
    const void *const arrays[] = { c->x, c->y };
    ndr_buffer *buffers[2] = { NULL, NULL };
    for (size_t a = 0; a < (c->y ? 2 : 1); ++a) {
        const size_t offset = a ? 0 : c->offset;
        unsigned char *host = malloc(all * size);
        memset(host, 0xff, all * size);
        if (c->count) memcpy(host + offset * size, arrays[a], c->count * size);
        buffers[a] = buffer_of(all * size, host);
        free(host);
    }
    uint64_t outputs[4], got;
    memset(outputs, 0xa5, sizeof outputs);
    ndr_buffer *output = buffer_of(sizeof outputs, outputs);
    const ndr_reduce_desc desc = { .dtype = f->dtype,
                                   .op = c->op,
                                   .input = { buffers[0], c->offset },
                                   .count = c->count,
                                   .output = { output, 1 },
                                   .numerics = c->numerics,
                                   .factors = { buffers[1], 0 } };
    const ndr_caps before = context->caps;
    if (quick()) context->caps.info.max_group_size = before.info.max_group_size < FEW ? before.info.max_group_size : FEW;
    assert_ok(ndr_reduce(queue, &desc, NULL));
    context->caps = before;
    read_buffer(output, outputs, sizeof outputs);
    got = get(f, outputs, 1);
    for (size_t byte = 0; byte < sizeof outputs; ++byte)
        if (byte / size != 1) assert_int_equal(((const unsigned char *)outputs)[byte], 0xa5);
    for (size_t a = 0; a < 2; ++a) ndr_buffer_destroy(buffers[a]);
    ndr_buffer_destroy(output);
    return got;
}

static const char *op_name(const call *c) { return c->y ? "dot product" : ndr_op_name(c->op); }

static void check(const call *c, uint64_t wanted, const char *what, uint64_t seed)
{
    const uint64_t got = reduce(c);
    if (got != wanted)
        fail_msg("%s of %zu %s, %s, offset %zu, seed %" PRIu64 ": %#" PRIx64 " instead of %#" PRIx64, op_name(c),
                 c->count, ndr_dtype_name(c->f->dtype), what, c->offset, seed, got, wanted);
}

/* PoCL for i386 does not round each sum, so that the proof of the variants fails there. */
static bool reproduces(void)
{
    char text[8];
    const ndr_reduce_desc desc = { .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .numerics = NDR_NUMERICS_REPRODUCIBLE };
    const ndr_status status = ndr_reduce_explain(context, &desc, sizeof text, text, NULL);
    if (status != NDR_OK) assert_refused(NDR_UNSUPPORTED, status, "no implementation gives right results");
    return status == NDR_OK;
}

static bool is_for(ndr_numerics numerics)
{
    return (numerics != NDR_NUMERICS_REPRODUCIBLE || reproduces())
           && (!forced_variant || forced_variant->form == (unsigned)numerics);
}

static const size_t counts[] = {
    0, 1, 2, 15, 16, 17, 63, 64, 65, 1000, 1023, 1024, 1025, 4095, 4096, 4097, 8209, 20011
};
static const size_t quick_counts[] = { 0, 1, 17, 1100, 4099 };

static size_t count_of(size_t i, size_t *count)
{
    const size_t length = quick() ? COUNT_OF(quick_counts) : COUNT_OF(counts);
    if (i < length) *count = quick() ? quick_counts[i] : counts[i];
    return i < length;
}

/* ---- exact ---- */

static void check_exact(const format *f, data_kind kind, size_t count, bool is_dot, uint64_t seed)
{
    void *x = elements_of(f, kind, count, seed), *y = is_dot ? elements_of(f, kind, count, seed + 1) : NULL;
    if (kind == CANCELLING && is_dot) { /* x[i] * y[i] cancels x[j] * y[j] */
        for (size_t i = 0; i < count / 2; ++i)
            if (i % 97 != 5) put(f, y, count - 1 - i, get(f, y, i));
    }
    const uint64_t wanted = exact_on_host(f, x, y, count);
    call c = { f, NDR_OP_SUM, NDR_NUMERICS_EXACT, x, y, count, (unsigned)(seed % 3) };
    check(&c, wanted, kind_names[kind], seed);
    c.offset = 0;
    shuffle(f, x, y, count, seed);
    check(&c, wanted, kind_names[kind], seed);
    free(x);
    free(y);
}

static void check_all_exact(const format *f, bool is_dot)
{
    if (!is_for(NDR_NUMERICS_EXACT)) return;
    size_t count;
    for (data_kind kind = 0; kind < KINDS; ++kind)
        for (size_t i = 0; count_of(i, &count); ++i)
            if (!quick() || i == kind % COUNT_OF(quick_counts)) check_exact(f, kind, count, is_dot, 100 * kind + i);
}

static void test_numerics__exact_sums_of_f32_are_rounded_once_in_any_order(void **state)
{
    check_all_exact(f32, false);
}

static void test_numerics__exact_sums_of_f64_are_rounded_once_in_any_order(void **state)
{
    check_all_exact(f64, false);
}

static void test_numerics__exact_dot_products_of_f32_are_rounded_once_in_any_order(void **state)
{
    check_all_exact(f32, true);
}

static void test_numerics__exact_dot_products_of_f64_are_rounded_once_in_any_order(void **state)
{
    check_all_exact(f64, true);
}

/* Many groups, each with several blocks. */
static void test_numerics__exact_sums_of_many_groups(void **state)
{
    if (!is_for(NDR_NUMERICS_EXACT) || quick()) return;
    for (size_t t = 0; t < COUNT_OF(formats); ++t) {
        check_exact(&formats[t], SIGNED, 1000003, false, 1);
        check_exact(&formats[t], CANCELLING, 300007, false, 2);
    }
}

static void check_values(const format *f, const uint64_t *values, size_t count, uint64_t wanted)
{
    void *x = calloc(count + 1, 8), *y = calloc(count + 1, 8);
    for (size_t i = 0; i < count; ++i) put(f, x, i, values[i]), put(f, y, i, power(f, 0));
    call c = { f, NDR_OP_SUM, NDR_NUMERICS_EXACT, x, NULL, count, 0 };
    check(&c, wanted, "given values", 0);
    c.y = y;
    check(&c, wanted, "given values and ones", 0);
    free(x);
    free(y);
}

static void test_numerics__exact_sums_at_the_edges_of_the_format(void **state)
{
    if (!is_for(NDR_NUMERICS_EXACT)) return;
    for (size_t t = 0; t < COUNT_OF(formats); ++t) {
        const format *f = &formats[t];
        const uint64_t minus = sign_bit(f), most = largest(f), inf = infinite(f), one = power(f, 0), nan = neither(f);
        const uint64_t half = power(f, -(int)f->fraction - 1), ulp = power(f, (int)f->most / 2 - (int)f->fraction);
        const uint64_t half_ulp = power(f, (int)f->most / 2 - (int)f->fraction - 1);
        check_values(f, (const uint64_t[]){ minus, minus }, 2, 0); /* -0 */
        check_values(f, (const uint64_t[]){ one, one | minus }, 2, 0);
        check_values(f, (const uint64_t[]){ most, most, most | minus, most | minus, 1 }, 5, 1);
        check_values(f, (const uint64_t[]){ most, most, most | minus }, 3, most);
        check_values(f, (const uint64_t[]){ most, half_ulp }, 2, inf); /* a tie, to even */
        check_values(f, (const uint64_t[]){ most, half_ulp, 1 | minus }, 3, most);
        check_values(f, (const uint64_t[]){ most | minus, ulp | minus }, 2, inf | minus);
        check_values(f, (const uint64_t[]){ one, half }, 2, one); /* a tie, to even */
        check_values(f, (const uint64_t[]){ one + 1, half }, 2, one + 2);
        check_values(f, (const uint64_t[]){ one, half, 1 }, 3, one + 1);
        check_values(f, (const uint64_t[]){ one | minus, half | minus, 1 | minus }, 3, (one + 1) | minus);
        check_values(f, (const uint64_t[]){ one, half, 1 | minus }, 3, one);
        check_values(f, (const uint64_t[]){ 1, 1, 3 | minus }, 3, 1 | minus); /* subnormal */
        check_values(f, (const uint64_t[]){ power(f, 1 - (int)f->most / 2), 1 | minus }, 2,
                     power(f, 1 - (int)f->most / 2) - 1);
        check_values(f, (const uint64_t[]){ inf, most | minus, one }, 3, inf);
        check_values(f, (const uint64_t[]){ one, inf | minus }, 2, inf | minus);
        check_values(f, (const uint64_t[]){ inf, one, inf | minus }, 3, nan);
        check_values(f, (const uint64_t[]){ one, minus | (nan + 5) }, 2, nan);
        check_values(f, (const uint64_t[]){ inf + 1, inf }, 2, nan); /* a signalling NaN */
    }
}

static void test_numerics__exact_dot_products_at_the_edges_of_the_format(void **state)
{
    if (!is_for(NDR_NUMERICS_EXACT)) return;
    for (size_t t = 0; t < COUNT_OF(formats); ++t) {
        const format *f = &formats[t];
        const uint64_t minus = sign_bit(f), most = largest(f), inf = infinite(f), one = power(f, 0), nan = neither(f);
        const struct {
            uint64_t x[3], y[3], wanted;
        } cases[] = {
            { { inf, 0, 0 }, { 0, one, one }, nan },
            { { 0, 0, 0 }, { one, inf | minus, one }, nan },
            { { inf | minus, one, one }, { one | minus, one, one }, inf },
            { { one, one, one }, { one, inf | minus, one }, inf | minus },
            { { most, most, one }, { most, most | minus, one }, one }, /* products that no float holds */
            { { 1, 1, one }, { 1, 1 | minus, one }, one },
            { { 1, 0, 0 }, { 1, 0, 0 }, 0 }, /* far below the smallest number */
            { { 1, 1 | minus, 0 }, { power(f, -1) + 1, 0, 0 }, 1 },
            { { 1 | minus, 0, 0 }, { power(f, -1), 0, 0 }, minus }, /* a tie, to 0 */
            { { most, most, 0 }, { most, one, 0 }, inf },
            { { most | minus, most, 0 }, { most, one, 0 }, inf | minus },
        };
        for (size_t i = 0; i < COUNT_OF(cases); ++i) {
            uint64_t x[3], y[3];
            for (size_t k = 0; k < 3; ++k) put(f, x, k, cases[i].x[k]), put(f, y, k, cases[i].y[k]);
            check(&(call){ f, NDR_OP_SUM, NDR_NUMERICS_EXACT, x, y, 3, 0 }, cases[i].wanted, "given values", i);
        }
    }
}

/* ---- reproducible ---- */

static bool multiplies(const format *f) { return !is_32(f) || !context->caps.flushes_f32; }

static bool has_floats(const format *f) { return is_32(f) || device.has_f64; }

static void check_fixed(const format *f, ndr_op op, data_kind kind, size_t count, bool is_dot, uint64_t seed)
{
    void *x = elements_of(f, kind, count, seed), *y = is_dot ? elements_of(f, SIGNED, count, seed + 1) : NULL;
    void *elements = elements_of(f, kind, count, seed);
    for (size_t i = 0; is_dot && i < count; ++i)
        put(f, elements, i, combine(f, NDR_OP_PRODUCT, get(f, x, i), get(f, y, i)));
    const uint64_t wanted = fixed_on_host(f, op, elements, count);
    call c = { f, op, NDR_NUMERICS_REPRODUCIBLE, x, y, count, (unsigned)(seed % 3) };
    check(&c, wanted, kind_names[kind], seed);
    c.numerics = NDR_NUMERICS_FAST; /* of a dot product it is the same */
    if (is_dot) check(&c, wanted, kind_names[kind], seed);
    free(x);
    free(y);
    free(elements);
}

static void check_all_fixed(ndr_op op, bool is_dot)
{
    if (!is_for(NDR_NUMERICS_REPRODUCIBLE)) return;
    size_t count;
    for (size_t t = 0; t < COUNT_OF(formats); ++t)
        for (data_kind kind = 0; kind < KINDS; ++kind)
            for (size_t i = 0; count_of(i, &count); ++i) {
                if (!has_floats(&formats[t]) || (quick() && i != kind % COUNT_OF(quick_counts))) continue;
                if (!multiplies(&formats[t]) && (is_dot || op == NDR_OP_PRODUCT)) continue;
                check_fixed(&formats[t], op, kind, count, is_dot, 100 * kind + i);
            }
}

static void test_numerics__reproducible_sums_are_in_the_documented_order(void **state)
{
    check_all_fixed(NDR_OP_SUM, false);
}

static void test_numerics__reproducible_products_are_in_the_documented_order(void **state)
{
    check_all_fixed(NDR_OP_PRODUCT, false);
}

static void test_numerics__reproducible_dot_products_are_in_the_documented_order(void **state)
{
    check_all_fixed(NDR_OP_SUM, true);
}

/* More blocks than groups on CPUs, and three launches. */
static void test_numerics__reproducible_sums_of_many_blocks(void **state)
{
    if (!is_for(NDR_NUMERICS_REPRODUCIBLE) || quick()) return;
    check_fixed(f32, NDR_OP_SUM, SIGNED, 1000003, false, 1);
    if (!forced_variant) check_fixed(f32, NDR_OP_SUM, UNIFORM, (1 << 24) + 4097, false, 2);
}

static uint64_t extreme_on_host(const format *f, ndr_op op, const void *x, size_t count)
{
    const uint64_t flip = sign_bit(f) - 1;
    bool has = false;
    uint64_t best = 0;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t bits = get(f, x, i), rank = bits & sign_bit(f) ? flip - (bits & flip) : bits + sign_bit(f);
        if ((bits & flip) > infinite(f) || (has && (op == NDR_OP_MIN ? rank >= best : rank <= best))) continue;
        best = rank;
        has = true;
    }
    if (!has) return count ? neither(f) : infinite(f) | (op == NDR_OP_MAX ? sign_bit(f) : 0);
    return best >= sign_bit(f) ? best - sign_bit(f) : (flip - best) | sign_bit(f);
}

/* Also of F64 on devices without: by integers. */
static void test_numerics__extremes_do_not_depend_on_the_order(void **state)
{
    if (!is_for(NDR_NUMERICS_REPRODUCIBLE)) return;
    for (size_t t = 0; t < COUNT_OF(formats); ++t)
        for (size_t i = 0; i < 24; ++i) {
            const format *f = &formats[t];
            const ndr_op op = i % 2 ? NDR_OP_MIN : NDR_OP_MAX;
            const ndr_numerics numerics = i % 4 < 2 || !has_floats(f) ? NDR_NUMERICS_EXACT : NDR_NUMERICS_REPRODUCIBLE;
            const uint64_t special[] = { 0,           sign_bit(f),
                                         neither(f),  infinite(f) + 3,
                                         infinite(f), infinite(f) | sign_bit(f) };
            const size_t count = i < 4 ? i / 2 : quick() ? 300 : 4099, kinds = i < 8 ? 2 : i < 16 ? 4 : 6;
            uint64_t seed = i;
            void *x = elements_of(f, i % 3 ? SUBNORMAL : SIGNED, count, i);
            for (size_t k = 0; k < count; ++k)
                if (i < 12 || random_bits(&seed) % 10 == 0)
                    put(f, x, k, special[(i < 4 ? 2 : 0) + random_bits(&seed) % (i < 4 ? 1 : kinds)]);
            check(&(call){ f, op, numerics, x, NULL, count, i % 3 }, extreme_on_host(f, op, x, count), "extremes", i);
            free(x);
        }
}

/* The order does not depend on the largest group, nor sums on how numbers are kept that the device flushes. */
static void test_numerics__reproducible_sums_do_not_depend_on_limits_of_the_device(void **state)
{
    if (forced_variant || !reproduces()) return;
    const ndr_caps before = context->caps;
    const size_t limits[] = { 1, 16, 64, before.info.max_group_size };
    const char *const names[] = { "fixed_groups", "exact_groups" };
    const size_t count = quick() ? 300 : 10007;
    force(&ndr_numerics_operation, names[0]);
    for (size_t i = 0; i < (takes_vectors() ? COUNT_OF(limits) : 1); ++i) {
        context->caps.info.max_group_size = limits[takes_vectors() ? i : 2];
        check_fixed(f32, NDR_OP_SUM, SIGNED, count, false, i);
    }
    context->caps = before;
    context->caps.flushes_f32 = true;
    for (data_kind kind = 0; kind < KINDS; ++kind)
        check_fixed(f32, NDR_OP_SUM, kind, count, false, kind);
    context->caps = before;
    force(&ndr_numerics_operation, names[1]);
    for (size_t i = 0; i < (takes_vectors() ? 3 : 0); ++i) {
        context->caps.info.max_group_size = limits[i];
        check_exact(f32, CANCELLING, count, false, i);
    }
    context->caps = before;
    force(&ndr_numerics_operation, NULL);
}

/* ---- known answers ---- */

/* The hash of results of all kinds and some numbers of elements: the same by every driver. `few`: of so few that a
 * simulator computes them, too. */
static uint64_t hash_of(const format *f, ndr_op op, ndr_numerics numerics, bool is_dot, bool few)
{
    static const size_t some[] = { 1, 100, 4097, 30011 };
    uint64_t hash = UINT64_C(14695981039346656037);
    for (data_kind kind = 0; kind < KINDS; ++kind)
        for (size_t i = few; i < (few ? 2 : COUNT_OF(some)); ++i) {
            void *x = elements_of(f, kind, some[i], i), *y = is_dot ? elements_of(f, UNIFORM, some[i], i + 1) : NULL;
            hash = (hash ^ reduce(&(call){ f, op, numerics, x, y, some[i], i % 2 })) * UINT64_C(1099511628211);
            free(x);
            free(y);
        }
    return hash;
}

static void test_numerics__gives_the_known_bits_on_every_device(void **state)
{
    static const struct {
        ndr_dtype dtype;
        ndr_op op;
        ndr_numerics numerics;
        bool is_dot;
        uint64_t hash, hash_of_few;
    } known[] = {
        { NDR_DTYPE_F32, NDR_OP_SUM, NDR_NUMERICS_REPRODUCIBLE, false, UINT64_C(0xb8fcdc2705e9e2c0),
          UINT64_C(0xbcfc9d6555e72ecc) },
        { NDR_DTYPE_F64, NDR_OP_SUM, NDR_NUMERICS_REPRODUCIBLE, false, UINT64_C(0x19de2f12badfed83),
          UINT64_C(0xd92f081f2b5c4a47) },
        { NDR_DTYPE_F32, NDR_OP_PRODUCT, NDR_NUMERICS_REPRODUCIBLE, false, UINT64_C(0x3e3ac9562b85a1dd),
          UINT64_C(0xc873a8c52c8e1f77) },
        { NDR_DTYPE_F64, NDR_OP_PRODUCT, NDR_NUMERICS_REPRODUCIBLE, false, UINT64_C(0x1647773e132ecb41),
          UINT64_C(0xb77fa0a6206ad7cb) },
        { NDR_DTYPE_F32, NDR_OP_SUM, NDR_NUMERICS_REPRODUCIBLE, true, UINT64_C(0x53de3ed7b6d8894a),
          UINT64_C(0xd30d2cc5d01fd1ed) },
        { NDR_DTYPE_F64, NDR_OP_SUM, NDR_NUMERICS_REPRODUCIBLE, true, UINT64_C(0x220b281c07ff6c5d),
          UINT64_C(0x968f94c34fde5dbd) },
        { NDR_DTYPE_F32, NDR_OP_MAX, NDR_NUMERICS_REPRODUCIBLE, false, UINT64_C(0xbbb23284797ad140),
          UINT64_C(0x438f9554ada05140) },
        { NDR_DTYPE_F32, NDR_OP_SUM, NDR_NUMERICS_EXACT, false, UINT64_C(0xf1845f3c16a50166),
          UINT64_C(0x7b03dd97c7372ffe) },
        { NDR_DTYPE_F64, NDR_OP_SUM, NDR_NUMERICS_EXACT, false, UINT64_C(0x75a3d4840f3452bb),
          UINT64_C(0x0a58c03e2bad1de4) },
        { NDR_DTYPE_F32, NDR_OP_SUM, NDR_NUMERICS_EXACT, true, UINT64_C(0x5338c194094fbeec),
          UINT64_C(0xb9667ca938959df3) },
        { NDR_DTYPE_F64, NDR_OP_SUM, NDR_NUMERICS_EXACT, true, UINT64_C(0xa1a2fe2a3902bc9b),
          UINT64_C(0xe68b9d797840de86) },
    };
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT_OF(known); ++i) {
        const format *f = known[i].dtype == NDR_DTYPE_F32 ? f32 : f64;
        const bool is_exact = known[i].numerics == NDR_NUMERICS_EXACT;
        if (!is_for(known[i].numerics) || (!is_exact && !has_floats(f))) continue;
        if (!is_exact && !multiplies(f) && (known[i].is_dot || known[i].op == NDR_OP_PRODUCT)) continue;
        for (int all = !quick(); all >= 0; --all) {
            const uint64_t hash = hash_of(f, known[i].op, known[i].numerics, known[i].is_dot, !all);
            const bool is_known = hash == (all ? known[i].hash : known[i].hash_of_few);
            if (!is_known) print_error("answer %zu%s: %#" PRIx64 "\n", i, all ? "" : " of few", hash), ++wrong;
        }
    }
    assert_int_equal(wrong, 0);
}

/* ---- the rest of ndr_reduce() ---- */

static void test_numerics__are_one_for_integers_and_truth(void **state)
{
    const int32_t host[] = { 5, -7, 1 << 30, 1 << 30, 3 };
    const float floats[] = { 1, 0, 2 };
    ndr_buffer *ints = buffer_of(sizeof host, host), *reals = buffer_of(sizeof floats, floats);
    ndr_buffer *output = buffer_of(sizeof(int32_t), NULL);
    for (ndr_numerics numerics = NDR_NUMERICS_FAST; numerics <= NDR_NUMERICS_EXACT; ++numerics) {
        int32_t got;
        float truth;
        ndr_reduce_desc desc = { .dtype = NDR_DTYPE_I32,
                                 .op = NDR_OP_SUM,
                                 .method = NDR_REDUCE_ATOMIC,
                                 .input = { ints, 0 },
                                 .count = 5,
                                 .output = { output, 0 },
                                 .numerics = numerics };
        assert_ok(ndr_reduce(queue, &desc, NULL));
        read_buffer(output, &got, sizeof got);
        assert_int_equal(got, INT32_MIN + 1);
        desc = (ndr_reduce_desc){ .dtype = NDR_DTYPE_F32,
                                  .op = NDR_OP_LOGICAL_OR,
                                  .input = { reals, 0 },
                                  .count = 3,
                                  .output = { output, 0 },
                                  .numerics = numerics };
        assert_ok(ndr_reduce(queue, &desc, NULL));
        read_buffer(output, &truth, sizeof truth);
        assert_true(truth == 1);
    }
    ndr_buffer_destroy(ints);
    ndr_buffer_destroy(reals);
    ndr_buffer_destroy(output);
}

static void test_numerics__exact_sums_of_f64_need_no_fp64(void **state)
{
    ndr_context *const before = context;
    ndr_queue *const queue_before = queue;
    set_env("NDR_DISABLE", "fp64");
    assert_ok(ndr_context_create(NULL, &context));
    restore_env();
    assert_ok(ndr_queue_create(context, NULL, &queue));
    check_exact(f64, SIGNED, 1000, false, 1);
    void *x = elements_of(f64, SIGNED, 9, 1);
    if (reproduces())
        check(&(call){ f64, NDR_OP_MIN, NDR_NUMERICS_EXACT, x, NULL, 9, 0 }, extreme_on_host(f64, NDR_OP_MIN, x, 9),
              "few", 1);
    free(x);
    ndr_buffer *buffer = buffer_of(64, NULL);
    ndr_reduce_desc desc = { .dtype = NDR_DTYPE_F64,
                             .op = NDR_OP_SUM,
                             .input = { buffer, 0 },
                             .count = 1,
                             .output = { buffer, 2 },
                             .numerics = NDR_NUMERICS_REPRODUCIBLE };
    assert_refused(NDR_UNSUPPORTED, ndr_reduce(queue, &desc, NULL), "has no f64", "NDR_NUMERICS_EXACT");
    desc.op = NDR_OP_LOGICAL_OR;
    desc.numerics = NDR_NUMERICS_EXACT;
    assert_refused(NDR_UNSUPPORTED, ndr_reduce(queue, &desc, NULL), "has no f64");
    ndr_buffer_destroy(buffer);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    context = before;
    queue = queue_before;
}

static void test_numerics__refuses_what_has_no_meaning(void **state)
{
    ndr_buffer *x = buffer_of(64, NULL), *y = buffer_of(64, NULL), *output = buffer_of(8, NULL);
    const ndr_reduce_desc dot = { .dtype = NDR_DTYPE_F32,
                                  .op = NDR_OP_SUM,
                                  .input = { x, 0 },
                                  .count = 16,
                                  .output = { output, 0 },
                                  .factors = { y, 0 } };
    ndr_reduce_desc desc = dot;
    desc.numerics = (ndr_numerics)3;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "3 is not an ndr_numerics", "NDR_NUMERICS_EXACT");
    desc = dot;
    desc.op = NDR_OP_MAX;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "factors are set", "NDR_OP_MAX of f32",
                   "ndr_map_reduce()");
    desc.op = NDR_OP_SUM;
    desc.dtype = NDR_DTYPE_I32;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "factors are set", "NDR_OP_SUM of i32");
    desc = dot;
    desc.method = NDR_REDUCE_RECURSIVE;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "factors are set",
                   "method is not NDR_REDUCE_TREE");
    desc.factors.buffer = NULL;
    desc.numerics = NDR_NUMERICS_EXACT;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "NDR_NUMERICS_EXACT",
                   "method is not NDR_REDUCE_TREE");
    desc.method = NDR_REDUCE_TREE;
    desc.op = NDR_OP_PRODUCT;
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "NDR_OP_PRODUCT of f32",
                   "use NDR_NUMERICS_REPRODUCIBLE");
    desc = dot;
    desc.factors.offset = 1;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_reduce(queue, &desc, NULL), "factors is 16 elements from element 1",
                   "holds 16");
    desc.count = 8;
    desc.output = (ndr_span){ y, 3 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce(queue, &desc, NULL), "output", "overlaps factors");
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(y);
    ndr_buffer_destroy(output);
}

static void test_numerics__refuses_products_where_subnormal_numbers_are_flushed(void **state)
{
    const ndr_caps before = context->caps;
    ndr_buffer *x = buffer_of(64, NULL), *output = buffer_of(4, NULL);
    ndr_reduce_desc desc = { .dtype = NDR_DTYPE_F32,
                             .op = NDR_OP_PRODUCT,
                             .input = { x, 0 },
                             .count = 16,
                             .output = { output, 0 },
                             .numerics = NDR_NUMERICS_REPRODUCIBLE };
    context->caps.flushes_f32 = true;
    assert_refused(NDR_UNSUPPORTED, ndr_reduce(queue, &desc, NULL), device.name, "NDR_OP_PRODUCT",
                   "use NDR_NUMERICS_FAST");
    desc.op = NDR_OP_SUM;
    desc.factors = (ndr_span){ x, 0 };
    assert_refused(NDR_UNSUPPORTED, ndr_reduce(queue, &desc, NULL), "dot products", "use NDR_NUMERICS_EXACT");
    context->caps = before;
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(output);
}

static bool is_chosen(const ndr_op_variant *variant)
{
    const ndr_reduce_request request = {
        .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .input = { .cols = 1000 }, .numerics = (ndr_numerics)variant->form
    };
    return ndr_op_select(&ndr_numerics_operation, &context->caps, 0, NULL, &request) == variant;
}

/* The tests that each row runs. */
#define RESULTS                                                                                   \
    cmocka_unit_test(test_numerics__exact_sums_of_f32_are_rounded_once_in_any_order),             \
        cmocka_unit_test(test_numerics__exact_sums_of_f64_are_rounded_once_in_any_order),         \
        cmocka_unit_test(test_numerics__exact_dot_products_of_f32_are_rounded_once_in_any_order), \
        cmocka_unit_test(test_numerics__exact_dot_products_of_f64_are_rounded_once_in_any_order), \
        cmocka_unit_test(test_numerics__exact_sums_of_many_groups),                               \
        cmocka_unit_test(test_numerics__exact_sums_at_the_edges_of_the_format),                   \
        cmocka_unit_test(test_numerics__exact_dot_products_at_the_edges_of_the_format),           \
        cmocka_unit_test(test_numerics__reproducible_sums_are_in_the_documented_order),           \
        cmocka_unit_test(test_numerics__reproducible_products_are_in_the_documented_order),       \
        cmocka_unit_test(test_numerics__reproducible_dot_products_are_in_the_documented_order),   \
        cmocka_unit_test(test_numerics__reproducible_sums_of_many_blocks),                        \
        cmocka_unit_test(test_numerics__extremes_do_not_depend_on_the_order),                     \
        cmocka_unit_test(test_numerics__gives_the_known_bits_on_every_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESULTS,
        cmocka_unit_test(test_numerics__reproducible_sums_do_not_depend_on_limits_of_the_device),
        cmocka_unit_test(test_numerics__are_one_for_integers_and_truth),
        cmocka_unit_test(test_numerics__exact_sums_of_f64_need_no_fp64),
        cmocka_unit_test(test_numerics__refuses_what_has_no_meaning),
        cmocka_unit_test(test_numerics__refuses_products_where_subnormal_numbers_are_flushed),
    };
    const struct CMUnitTest results[] = { RESULTS };
    return run_variants(&ndr_numerics_operation,
                        &(variant_tests){ tests, results, COUNT_OF(tests), COUNT_OF(results), is_chosen });
}
