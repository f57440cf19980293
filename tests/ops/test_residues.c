/* test_residues.c - the row `residues`: its tables, and products of f64 by residues on any device. The row `tiled`
 * computes their products of bytes where there are no matrix units. */
#include "support.h"

#include <float.h>
#include <math.h>

#include "device/context.h"
#include "device/queue.h"
#include "ops/matmul/matmul.h"
#include "reference.h"
#include "shared/residues.h"

extern const ndr_op_variant ndr_matmul_residues, ndr_matmul_tiled;

/* ---- tables ---- */

typedef struct modulus {
    int p;
    double parts[3];
} modulus;

#define MODULUS(p, high, middle, low) { p, { high, middle, low } },
static const modulus moduli[] = { NDR_RESIDUES_EACH(MODULUS) };
static const double product_parts[] = { NDR_RESIDUES_P_1, NDR_RESIDUES_P_2, NDR_RESIDUES_P_3 };

/* From 0 to p - 1; exact. */
static int remainder_of(const double parts[3], int p)
{
    double sum = 0;
    for (size_t i = 0; i < 3; ++i) sum += fmod(parts[i], p);
    return (int)fmod(sum + 3 * p, p);
}

static void test_residues__weights_are_1_for_their_modulus_alone(void **state)
{
    double product = 1;
    assert_int_equal(NDR_COUNT_OF(moduli), NDR_RESIDUES);
    for (size_t i = 0; i < NDR_RESIDUES; ++i) {
        assert_int_equal(remainder_of(product_parts, moduli[i].p), 0);
        for (size_t j = 0; j < NDR_RESIDUES; ++j) assert_int_equal(remainder_of(moduli[i].parts, moduli[j].p), i == j);
        for (size_t j = 0; j < 3; ++j) { /* 37 bits */
            const double unit = ldexp(1, 74 - 37 * (int)j);
            assert_true(fabs(moduli[i].parts[j]) < ldexp(unit, 37) && fmod(moduli[i].parts[j], unit) == 0);
        }
        product *= moduli[i].p;
    }
    assert_true(fabs(product / NDR_RESIDUES_P_1 - 1) < 0x1p-36);
    assert_true(NDR_RESIDUES_MOST < (1 - 0x1p-17) * product / 2 && NDR_RESIDUES_MOST > 0.49 * product);
}

/* The sum of `bytes` bytes times 256^b mod p: the least and the greatest one. */
static void find_range(int p, unsigned bytes, int *least, int *greatest)
{
    int power = 1;
    *least = *greatest = 0;
    for (unsigned b = 0; b < bytes; ++b, power = power * 256 % p) {
        const int weight = power > p / 2 ? power - p : power;
        assert_in_range(weight + 128, 0, 255);
        *(weight < 0 ? least : greatest) += 255 * weight;
    }
}

/* As reduce_word() in kernels/matmul/residues.clh. */
static int reduce(uint32_t v, int p)
{
    float value, quotient;
    uint32_t bits;
    memcpy(&value, &v, sizeof value);
    quotient = fmaf(value, 1.0f / (float)p, 0x1.8p23f);
    memcpy(&bits, &quotient, sizeof bits);
    return (int8_t)(uint8_t)(v - bits * (uint32_t)p);
}

static void test_residues__are_right_for_all_words(void **state)
{
    for (size_t i = 0; i < NDR_RESIDUES; ++i) {
        const int p = moduli[i].p;
        int least, greatest;
        find_range(p, 8, &least, &greatest);
        assert_true(least > -(1 << 18) && greatest < 1 << 18);
        for (int t = least; t < greatest + p; ++t) { /* starts are from 2^18 to 2^18 + p - 1 */
            const int v = (1 << 23) + (1 << 18) + t;
            if ((v - reduce(0x4b000000u + (uint32_t)(v - (1 << 23)), p)) % p != 0) fail_msg("%d modulo %d", v, p);
        }
    }
}

/* ---- products ---- */

typedef enum kind {
    SIGNED,    /* uniform in (-1, 1) */
    POSITIVE,  /* uniform in (1, 2) */
    WHOLE,     /* whole numbers of -8 to 8 */
    EDGE,      /* all the same: sums are at the edge of what residues tell apart */
    CANCELS,   /* even steps cancel odd ones */
    LINES,     /* lines times 2^-390 to 2^390, some of zeros */
    FAR_LINES, /* a line times 2^-450 */
    OUTLIER,   /* one element is 2^40 times as large */
    RANGE,     /* times 2^-300 to 2^300 */
    TINY,      /* subnormal numbers */
    INFINITE,
    NOT_A_NUMBER,
} kind;

typedef struct product {
    size_t m, n, k, gap, offset, count;
    double alpha, beta;
    kind kind;
    bool is_proved;
} product;

static double element_of(const product *p, bool is_b, size_t line, size_t step, size_t which)
{
    uint64_t seed = ((uint64_t)which << 50) + ((uint64_t)line << 26) + (step << 1) + (is_b ? 1 : 0);
    if (p->kind == CANCELS) seed &= ~UINT64_C(2);
    seed *= 0x9e3779b97f4a7c15u;
    const uint64_t bits = random_bits(&seed);
    const double x = (double)(bits >> 11) * 0x1p-52 - 1;
    switch (p->kind) {
    case POSITIVE: return 1.5 + x / 2;
    case WHOLE: return rint(8 * x);
    case EDGE: return (is_b ? -1 : 1) * sqrt(NDR_RESIDUES_MOST / (double)p->k) * (1 - 0x1p-40);
    case CANCELS: return is_b && step % 2 && (step | 1) < p->k ? -x : x;
    case LINES: return line % 5 == 2 ? 0 : ldexp(x, (int)(line * 37 % 781) - 390);
    case FAR_LINES: return ldexp(x, line == 3 ? -450 : 0);
    case OUTLIER: return line == 3 && step == 7 ? 0x1p40 : x;
    case RANGE: return ldexp(x, (int)(bits % 601) - 300);
    case TINY: return ldexp(x, is_b ? 0 : -1040);
    case INFINITE: return line == 5 && step == 9 ? INFINITY : x;
    case NOT_A_NUMBER: return line == 5 && step == 9 ? NAN : x;
    default: return x;
    }
}

/* Rows x cols elements for each product, with NaN around rows. */
static double *make_matrix(const product *p, char which, size_t rows, size_t cols, ndr_operand *matrix)
{
    const ndr_matrix described = { NULL, p->offset, rows * p->count, cols, cols + p->gap };
    *matrix = ndr_matmul_operand("test", "matrix", &described, NDR_DTYPE_F64);
    const size_t count = p->offset + rows * p->count * (cols + p->gap);
    double *const host = malloc(count * sizeof *host);
    for (size_t i = 0; i < count; ++i) host[i] = NAN;
    for (size_t i = 0; i < rows * p->count; ++i)
        for (size_t j = 0; j < cols; ++j)
            host[p->offset + i * matrix->pitch + j] = which == 'a'   ? element_of(p, false, i % rows, j, i / rows)
                                                      : which == 'b' ? element_of(p, true, j, i % rows, i / rows)
                                                      : p->beta == 0
                                                          ? NAN
                                                          : ldexp((double)((i + j) % 7), p->kind == TINY ? -1040 : 0);
    matrix->buffer = buffer_of(count * sizeof *host, host);
    matrix->rows = rows;
    matrix->further = p->count - 1;
    matrix->stride = p->count > 1 ? rows * matrix->pitch : 0;
    return host;
}

static void check_element(const product *p, const ndr_matmul_request *r, const double *a, const double *b, double old,
                          double got, size_t which, size_t row, size_t col)
{
    long double sum = 0, size = 0;
    for (size_t i = 0; i < p->k; ++i) {
        const long double term = (long double)a[r->a.offset + (which * p->m + row) * r->a.pitch + i]
                                 * b[r->b.offset + (which * p->k + i) * r->b.pitch + col];
        sum += term;
        size += fabsl(term);
    }
    const long double before = p->beta != 0 ? (long double)p->beta * old : 0, wanted = p->alpha * sum + before;
    const long double bound = (long double)(p->k + 2) * DBL_EPSILON * (fabs(p->alpha) * size + fabsl(before));
    const long double least = 2 * (long double)p->k * DBL_MIN; /* for products that underflow */
    const bool is_close = fabsl(got - wanted) <= bound + least;
    if (isnan(wanted) ? isnan(got) : isinf(wanted) ? got == (double)wanted : is_close) return;
    fail_msg("kind %d, %zu x %zu x %zu, product %zu, row %zu, column %zu: %.17g, not %.17Lg", (int)p->kind, p->m, p->n,
             p->k, which, row, col, got, wanted);
}

static double *run(const product *p, ndr_queue *on, const ndr_op_variant *variant, const ndr_matmul_request *r,
                   const double *c)
{
    const size_t bytes = ndr_buffer_size(r->c.buffer);
    double *const got = malloc(bytes);
    const ndr_order order = { .queue = on };
    ndr_event *done;
    assert_ok(ndr_buffer_write(on, r->c.buffer, 0, bytes, c, NULL));
    assert_ok(ndr_op_run_variant(variant, &order, r, &done));
    assert_ok(ndr_event_wait(done));
    ndr_event_destroy(done);
    assert_ok(ndr_buffer_read(on, r->c.buffer, 0, bytes, got, NULL));
    for (size_t i = 0; i < bytes / sizeof *c; ++i) {
        const size_t col = i < p->offset ? p->n : (i - p->offset) % (p->n + p->gap);
        if (col >= p->n) assert_memory_equal(&got[i], &c[i], sizeof *c); /* beside it nothing changes */
    }
    return got;
}

/* What does not prove the bound is as the other row has it. */
static void check_product(const product *p, ndr_queue *on)
{
    ndr_matmul_request r = { .dtype = NDR_DTYPE_F64, .alpha = p->alpha, .beta = p->beta, .depth = p->k };
    double *const a = make_matrix(p, 'a', p->m, p->k, &r.a), *const b = make_matrix(p, 'b', p->k, p->n, &r.b);
    double *const c = make_matrix(p, 'c', p->m, p->n, &r.c);
    assert_ok(ndr_core_get(on->context, &r.core));
    assert_null(ndr_op_cannot(&ndr_matmul_residues, &r));
    double *const got = run(p, on, &ndr_matmul_residues, &r, c), *const other = run(p, on, &ndr_matmul_tiled, &r, c);
    for (size_t row = 0; row < p->m * p->count; ++row)
        for (size_t col = 0; col < p->n; ++col) {
            const size_t at = p->offset + row * r.c.pitch + col;
            check_element(p, &r, a, b, c[at], got[at], row / p->m, row % p->m, col);
        }
    const bool is_other = memcmp(got, other, ndr_buffer_size(r.c.buffer)) == 0;
    if (is_other == p->is_proved && p->kind != WHOLE && p->kind != CANCELS)
        fail_msg("kind %d is %sproved", (int)p->kind, is_other ? "not " : "");
    if (p->kind == WHOLE) assert_true(is_other); /* all sums are exact */
    ndr_buffer_destroy(r.a.buffer);
    ndr_buffer_destroy(r.b.buffer);
    ndr_buffer_destroy(r.c.buffer);
    free(a);
    free(b);
    free(c);
    free(got);
    free(other);
}

static void skip_without_f64(void) { skip_without(device.has_f64, "the device has no f64"); }

static void test_residues__keep_the_bound(void **state)
{
    static const product cases[] = {
        { 4, 2, 128, 1, 1, 1, 2, 1, OUTLIER, false },
        { 37, 45, 131, 1, 3, 1, -0.7, 2, SIGNED, true },
        { 19, 33, 300, 0, 0, 1, 1, 0, LINES, true },
        { 17, 18, 128, 2, 2, 2, 1, 0, OUTLIER, false },
        { 33, 5, 129, 0, 1, 1, 1, 1, EDGE, true },
        { 1, 1, 1031, 0, 0, 1, 1, 0, POSITIVE, true },
        { 16, 32, 128, 0, 0, 3, 3, 0, WHOLE, true },
        { 18, 31, 256, 0, 0, 1, 1, 0, CANCELS, true },
        { 65, 129, 257, 3, 0, 1, 0x1p240, 0x1p-60, LINES, true },
        { 7, 9, 200, 0, 0, 1, 1, -1, FAR_LINES, false },
        { 17, 18, 200, 0, 0, 1, 1, 0, RANGE, false },
        { 17, 18, 130, 0, 0, 1, 1, 1, TINY, false },
        { 17, 18, 130, 0, 0, 1, 1, 0, INFINITE, false },
        { 17, 18, 130, 0, 0, 1, 1, 0.5, NOT_A_NUMBER, false },
    };
    skip_without_f64();
    for (size_t i = 0; i < (quick() ? 1 : NDR_COUNT_OF(cases)); ++i) /* proved, it takes minutes on Oclgrind */
        check_product(&cases[i], queue);
}

static void test_residues__follow_each_other_in_a_queue_without_order(void **state)
{
    static const product cases[] = { { 35, 34, 129, 0, 0, 2, 1, 1, SIGNED, true },
                                     { 35, 34, 129, 0, 0, 1, 1, 1, OUTLIER, false } };
    ndr_queue *out_of_order;
    skip_without_f64();
    skip_without(!quick(), "it takes minutes");
    assert_ok(ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &out_of_order));
    for (size_t i = 0; i < NDR_COUNT_OF(cases); ++i) check_product(&cases[i], out_of_order);
    ndr_queue_destroy(out_of_order);
}

static void test_residues__leave_other_products_to_other_rows(void **state)
{
    ndr_matmul_request r = { .dtype = NDR_DTYPE_F64, .alpha = 1, .depth = 128 };
    const char *const depth = "its error is shown to be within the bound for depths of 128 to 130944";
    r.c.rows = r.c.cols = r.a.pitch = r.b.pitch = 128;
    assert_null(ndr_op_cannot(&ndr_matmul_residues, &r));
    r.depth = 127;
    assert_string_equal(ndr_op_cannot(&ndr_matmul_residues, &r), depth);
    r.depth = 130945;
    assert_string_equal(ndr_op_cannot(&ndr_matmul_residues, &r), depth);
    r.depth = 130944;
    r.c.rows = 1 << 15;
    assert_string_equal(ndr_op_cannot(&ndr_matmul_residues, &r),
                        "the matrices have too many elements for 32-bit numbers");
    r.c.rows = 128, r.depth = 4096;
    assert_string_equal(ndr_op_unsuited(&ndr_matmul_residues, &context->caps, &r),
                        "the products are too small to pay for residues");
    r.dtype = NDR_DTYPE_F32;
    assert_string_equal(ndr_op_cannot(&ndr_matmul_residues, &r), "the elements are not f64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_residues__weights_are_1_for_their_modulus_alone),
        cmocka_unit_test(test_residues__are_right_for_all_words),
        cmocka_unit_test(test_residues__keep_the_bound),
        cmocka_unit_test(test_residues__follow_each_other_in_a_queue_without_order),
        cmocka_unit_test(test_residues__leave_other_products_to_other_rows),
    };
    return cmocka_run_group_tests_name("residues", tests, open_device, close_device);
}
