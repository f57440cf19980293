/* rows_matmul.c - c = alpha * a * b + beta * c, beside other libraries. */
#include "rows_matmul.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- operands ---- */

size_t matmul_a_bytes(const matmul *j) { return j->count * j->a_stride * j->element_bytes; }
size_t matmul_b_bytes(const matmul *j) { return j->count * j->b_stride * j->element_bytes; }
size_t matmul_c_bytes(const matmul *j) { return j->count * j->c_stride * j->c_element_bytes; }

void matmul_set(matmul *j, const matmul_shape *shape)
{
    j->of = *shape;
    j->accuracy = NDR_ACCURACY_FULL;
    j->element_bytes = ndr_dtype_size(j->of.dtype);
    j->output = j->of.output ? j->of.output : j->of.dtype == NDR_DTYPE_I8 ? NDR_DTYPE_I32 : j->of.dtype;
    j->c_element_bytes = ndr_dtype_size(j->output);
    j->a_pitch = (j->of.transposes_a ? j->of.m : j->of.k) + j->of.padding;
    j->b_pitch = (j->of.transposes_b ? j->of.k : j->of.n) + j->of.padding;
    j->c_pitch = j->of.n + j->of.padding;
    j->count = j->of.count ? j->of.count : 1;
    j->a_stride = (j->of.transposes_a ? j->of.k : j->of.m) * j->a_pitch;
    j->b_stride = (j->of.transposes_b ? j->of.n : j->of.k) * j->b_pitch;
    j->c_stride = j->of.m * j->c_pitch;
}

static void *begin(const void *shape)
{
    matmul *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    matmul_set(j, shape);
    j->a = shared_create(matmul_a_bytes(j));
    j->b = shared_create(matmul_b_bytes(j));
    j->c = shared_create(matmul_c_bytes(j));
    j->c_before = allocate(matmul_c_bytes(j));
    return j;
}

static void end(void *job)
{
    matmul *j = job;
    shared_destroy(&j->a);
    shared_destroy(&j->b);
    shared_destroy(&j->c);
    free(j->c_before);
    free(j);
}

static void hand_over(void *job, bool to_device)
{
    matmul *j = job;
    shared_hand_over(&j->a, to_device);
    shared_hand_over(&j->b, to_device);
    shared_hand_over(&j->c, to_device);
}

static void refill(void *job, uint64_t seed)
{
    matmul *j = job;
    fill_elements(j->of.dtype, j->a.host, matmul_a_bytes(j) / j->element_bytes, seed);
    fill_elements(j->of.dtype, j->b.host, matmul_b_bytes(j) / j->element_bytes, seed + 1);
    if (j->of.beta != 0) fill_elements(j->output, j->c_before, matmul_c_bytes(j) / j->c_element_bytes, seed + 2);
    else memset(j->c_before, 0xff, matmul_c_bytes(j)); /* NaN */
}

static void reset(void *job)
{
    matmul *j = job;
    memcpy(j->c.host, j->c_before, matmul_c_bytes(j));
}

/* ---- checking ---- */

/* Elements (row, step) of op(a) and (step, col) of op(b). */
static double a_at(const matmul *j, size_t row, size_t step)
{
    const size_t at = j->of.transposes_a ? step * j->a_pitch + row : row * j->a_pitch + step;
    return element_at(j->of.dtype, j->a.host, at);
}

static double b_at(const matmul *j, size_t step, size_t col)
{
    const size_t at = j->of.transposes_b ? col * j->b_pitch + step : step * j->b_pitch + col;
    return element_at(j->of.dtype, j->b.host, at);
}

/* Of rounding a result to the type of c: half of its last bit. */
static double rounding_of(const matmul *j, double result)
{
    if (j->output == NDR_DTYPE_F16) return fmax(fabs(result) * 0x1p-11, 0x1p-25);
    return j->output == NDR_DTYPE_BF16 ? fabs(result) * 0x1p-8 : 0;
}

/* After some calls c is product_factor * (a * b) + before_factor * (c before the first). The bound of docs/numerics.md,
 * (K + 2) * eps for each call and 2^-10 more for products at TF32, adds up to error_of_product * |alpha| |A| |B| +
 * error_of_before * |C|. */
typedef struct expectation {
    double product_factor, before_factor, error_of_product, error_of_before;
} expectation;

static expectation expect(const matmul *j, size_t calls)
{
    const double beta = fabs(j->of.beta);
    double product = 0, before = 1, product_error = 0, before_error = 0;
    for (size_t i = 0; i < calls; ++i) {
        product = 1 + beta * product;
        before *= beta;
        product_error = beta * product_error + product;
        before_error = beta * before_error + before;
    }
    const double eps = j->of.dtype != NDR_DTYPE_F64 ? (double)FLT_EPSILON : DBL_EPSILON;
    const double of_one_call = (double)(j->of.k + 2) * eps;
    const double of_one_product = of_one_call + (j->accuracy == NDR_ACCURACY_TF32 ? 0x1p-10 : 0);
    return (expectation){ j->of.alpha * product, before, of_one_product * product_error, of_one_call * before_error };
}

/* `product` and `absolute` are the elements of a * b and |a| * |b| there. */
static bool is_correct_at(const matmul *j, const expectation *e, const contender *who, size_t row, size_t col,
                          double product, double absolute)
{
    const size_t index = row * j->c_pitch + col;
    const double got = element_at(j->output, j->c.host, index);
    const double before = j->of.beta != 0 ? element_at(j->output, j->c_before, index) : 0;
    double wanted = e->product_factor * product + e->before_factor * before;
    double bound = e->error_of_product * fabs(j->of.alpha) * absolute + e->error_of_before * fabs(before);
    if (who->finish) wanted = who->finish(wanted, col, &bound);
    bound += rounding_of(j, fabs(wanted) + bound);
    if (fabs(got - wanted) <= bound) return true; /* false for NaN */
    fprintf(stderr, "bench: %s: c(%zu, %zu) is %.9g instead of %.9g; the bound of the error is %.3g\n", who->name, row,
            col, got, wanted, bound);
    return false;
}

/* The corners and some other elements, by a loop in long double. */
static bool check_some(const matmul *j, const expectation *e, const contender *who, uint64_t seed)
{
    enum { ELEMENTS = 64 };
    for (size_t i = 0; i < ELEMENTS; ++i) {
        const size_t row = i < 4 ? (i & 1) * (j->of.m - 1) : next_random(&seed) % j->of.m;
        const size_t col = i < 4 ? (i >> 1) * (j->of.n - 1) : next_random(&seed) % j->of.n;
        long double product = 0, absolute = 0;
        for (size_t p = 0; p < j->of.k; ++p) {
            const long double x = (long double)a_at(j, row, p) * (long double)b_at(j, p, col);
            product += x;
            absolute += fabsl(x);
        }
        if (!is_correct_at(j, e, who, row, col, (double)product, (double)absolute)) return false;
    }
    return true;
}

/* band->c = a * b, or |a| * |b|, in double, for the rows from `first` on. */
static void multiply_band(const matmul *j, const contender *dgemm, size_t first, bool absolute, matmul *band)
{
    double *a = band->a.host, *b = band->b.host;
    const size_t rows = band->of.m, n = j->of.n, k = j->of.k;
    for (size_t i = 0; i < rows; ++i)
        for (size_t p = 0; p < k; ++p) a[i * k + p] = a_at(j, first + i, p);
    for (size_t p = 0; p < k; ++p)
        for (size_t c = 0; c < n; ++c) b[p * n + c] = b_at(j, p, c);
    for (size_t i = 0; absolute && i < rows * k; ++i) a[i] = fabs(a[i]);
    for (size_t i = 0; absolute && i < k * n; ++i) b[i] = fabs(b[i]);
    dgemm->run(band);
}

static bool check_band(const matmul *j, const expectation *e, const contender *who, const contender *dgemm,
                       size_t first, size_t rows)
{
    const size_t n = j->of.n, k = j->of.k;
    double *a = allocate(rows * k * sizeof *a), *b = allocate(k * n * sizeof *b);
    double *products = allocate(rows * n * sizeof *products), *absolutes = allocate(rows * n * sizeof *absolutes);
    matmul band = { .of = { NDR_DTYPE_F64, rows, n, k, 0, 1, 0, 1, MATMUL_PLAIN },
                    .count = 1,
                    .a_pitch = k,
                    .b_pitch = n,
                    .c_pitch = n,
                    .a.host = a,
                    .b.host = b,
                    .c.host = products };
    multiply_band(j, dgemm, first, false, &band);
    band.c.host = absolutes;
    multiply_band(j, dgemm, first, true, &band);
    bool is_correct = true;
    for (size_t i = 0; is_correct && i < rows * n; ++i)
        is_correct = is_correct_at(j, e, who, first + i / n, i % n, products[i], absolutes[i]);
    free(a);
    free(b);
    free(products);
    free(absolutes);
    return is_correct;
}

/* All elements, by OpenBLAS in double if it was found, a band of rows at a time. In f64 its error adds to ours. */
static bool check_all(const matmul *j, const expectation *e, const contender *who)
{
    enum { BAND = 1024 };
    const contender *dgemm = find_contender(&matmul_work, "OpenBLAS");
    expectation wider = *e;
    if (j->of.dtype == NDR_DTYPE_F64) wider.error_of_product *= 2;
    bool is_correct = true;
    for (size_t first = 0; dgemm && is_correct && first < j->of.m; first += BAND)
        is_correct = check_band(j, &wider, who, dgemm, first, first + BAND < j->of.m ? BAND : j->of.m - first);
    return is_correct;
}

/* One product of a batch, as host memory only. */
static matmul product_of(const matmul *j, size_t i)
{
    matmul one = *j;
    one.count = 1;
    one.a.host = (char *)j->a.host + i * j->a_stride * j->element_bytes;
    one.b.host = (char *)j->b.host + i * j->b_stride * j->element_bytes;
    one.c.host = (char *)j->c.host + i * j->c_stride * j->c_element_bytes;
    one.c_before = (char *)j->c_before + i * j->c_stride * j->c_element_bytes;
    return one;
}

static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const matmul *j = job;
    const expectation e = expect(j, calls);
    for (size_t i = 0; i < j->count; ++i) {
        const matmul one = product_of(j, i);
        if (!check_some(&one, &e, who, calls + 1 + i)) return false;
        if (thoroughly && !check_all(&one, &e, who)) return false;
    }
    return true;
}

const work matmul_work = { matmul_own, begin, end, refill, reset, hand_over, check };

/* ---- contenders ---- */

static void run_libndr(void *job)
{
    const matmul *j = job;
    const matmul_shape *s = &j->of;
    const ndr_matmul_desc desc = { .dtype = s->dtype,
                                   .scaling = ndr_scaling_of(s->alpha, s->beta),
                                   .a = { j->a.buffer, 0, s->m, s->k, j->a_pitch },
                                   .b = { j->b.buffer, 0, s->k, s->n, j->b_pitch },
                                   .c = { j->c.buffer, 0, s->m, s->n, j->c_pitch },
                                   .count = j->count,
                                   .a_stride = j->a_stride,
                                   .b_stride = j->b_stride,
                                   .c_stride = j->c_stride };
    MUST(ndr_matmul(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}
const contender matmul_own[] = { { .name = "libndr", .on_device = true, .run = run_libndr }, { 0 } };

/* ---- rows ---- */

#define ROW(name_, dtype_, m_, n_, k_, padding_, alpha_, beta_, pass_, aim_, ...)                              \
    {                                                                                                         \
        .name = name_, .work = &matmul_work, .amount = 2.0 * (m_) * (n_) * (k_), .unit = &gflops,             \
        .shape = &(const matmul_shape){ dtype_, m_, n_, k_, padding_, alpha_, beta_, 1, MATMUL_PLAIN },       \
        .rivals = { { "OpenBLAS", { RATE_AT_LEAST, pass_, aim_ } }, { "CLBlast", { RATE_AT_LEAST, 1, 5 } },   \
                    __VA_ARGS__ },                                                                            \
    }
#define DPNP { "dpnp", { RATE_AT_LEAST, 1, 1.1 } }
#define SGEMM(n, pass, aim) ROW("sgemm " #n, NDR_DTYPE_F32, n, n, n, 0, 1, 0, pass, aim, DPNP)
#define SGEMM_OF(m, n, k) ROW("sgemm " #m " x " #n " x " #k, NDR_DTYPE_F32, m, n, k, 0, 1, 0, 0.9, 1, DPNP)
#define DGEMM(n, pass, aim) ROW("dgemm " #n, NDR_DTYPE_F64, n, n, n, 0, 1, 0, pass, aim, DPNP)

/* OpenBLAS's loop with one product after the other, which it may divide among its threads, and the same loop divided
 * among OpenMP's. */
#define BATCH(name_, dtype_, count_, n_)                                                                      \
    {                                                                                                         \
        .name = name_ " " #count_ " x " #n_, .work = &matmul_work,                                            \
        .amount = 2.0 * (count_) * (n_) * (n_) * (n_), .unit = &gflops,                                       \
        .shape = &(const matmul_shape){ dtype_, n_, n_, n_, 0, 1, 0, count_, MATMUL_PLAIN },                  \
        .rivals = { { "OpenBLAS", { RATE_AT_LEAST, 1, 2 } }, { "OpenBLAS by OpenMP", { RATE_AT_LEAST, 1, 2 } } }, \
    }

static const bench_row rows[] = {
    SGEMM(64, 0.2, 0.5),
    SGEMM(128, 0.5, 0.8),
    SGEMM(256, 0.85, 1),
    SGEMM(512, 0.95, 1.05),
    SGEMM(1000, 0.95, 1.05),
    SGEMM(1024, 0.95, 1.05),
    SGEMM(2048, 0.95, 1.05),
    SGEMM(4096, 0.95, 1.05),
    SGEMM_OF(4096, 8, 4096),
    SGEMM_OF(8, 4096, 4096),
    SGEMM_OF(4096, 4096, 8),
    SGEMM_OF(1, 4096, 4096),
    SGEMM_OF(1531, 977, 613),
    ROW("sgemm 1024 pitch 1051", NDR_DTYPE_F32, 1024, 1024, 1024, 27, 1, 0, 0.9, 1, { 0 }),
    ROW("sgemm 1024 alpha 0.5 beta 2", NDR_DTYPE_F32, 1024, 1024, 1024, 0, 0.5, 2, 0.9, 1, { 0 }),
    ROW("sgemm 1531 x 977 x 613 all three", NDR_DTYPE_F32, 1531, 977, 613, 27, 0.5, 2, 0.9, 1, { 0 }),
    DGEMM(1024, 0.95, 1.05),
    DGEMM(2048, 0.95, 1.05),
    BATCH("sgemm", NDR_DTYPE_F32, 1000, 16),
    BATCH("sgemm", NDR_DTYPE_F32, 1000, 32),
    BATCH("sgemm", NDR_DTYPE_F32, 1000, 64),
    BATCH("dgemm", NDR_DTYPE_F64, 1000, 16),
    BATCH("dgemm", NDR_DTYPE_F64, 1000, 32),
    BATCH("dgemm", NDR_DTYPE_F64, 1000, 64),
};

row_list matmul_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
