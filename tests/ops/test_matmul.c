/* test_matmul.c - ndr_matmul: difficult shapes compared with plain loops, memory that must not be read, refusals. */
#include "support.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "forcing.h"
#include "device/context.h"
#include "ops/matmul/matmul.h"
#include "reference.h"
#include "refusals.h"

/* ---- one multiplication, with checks of everything around it ---- */

/* Rows x cols of random elements in an array whose gaps and ends hold NaN. A read there shows in the result. */
static host_matrix matrix_of(ndr_dtype dtype, size_t rows, size_t cols, size_t gap, size_t offset, uint64_t seed)
{
    host_matrix m = { dtype, NULL, offset, rows, cols, cols + gap };
    const size_t total = offset + rows * m.pitch + 5;
    m.array = malloc(total * ndr_dtype_size(dtype));
    for (size_t i = 0; i < total; ++i)
        number_set(dtype, m.array, i, dtype == NDR_DTYPE_F32 ? (number){ .f32 = NAN } : (number){ .f64 = NAN });
    for (size_t row = 0; row < rows; ++row)
        for (size_t col = 0; col < cols; ++col)
            number_set(dtype, m.array, offset + row * m.pitch + col, random_number(dtype, &seed));
    return m;
}

static void fill_matrix(const host_matrix *m, number value)
{
    for (size_t row = 0; row < m->rows; ++row)
        for (size_t col = 0; col < m->cols; ++col)
            number_set(m->dtype, m->array, m->offset + row * m->pitch + col, value);
}

static size_t total_bytes(const host_matrix *m)
{
    return (m->offset + m->rows * m->pitch + 5) * ndr_dtype_size(m->dtype);
}

/* A pitch of `cols` is left at its default. */
static ndr_matrix on_device(const host_matrix *m)
{
    return (ndr_matrix){ buffer_of(total_bytes(m), m->array), m->offset, m->rows, m->cols,
                         m->pitch == m->cols ? 0 : m->pitch };
}

static bool is_inside(const host_matrix *m, size_t element)
{
    if (element < m->offset || m->pitch == 0) return false;
    const size_t row = (element - m->offset) / m->pitch, col = (element - m->offset) % m->pitch;
    return row < m->rows && col < m->cols;
}

/* Outside the rows x cols elements all bits are unchanged. */
static void check_outside(const host_matrix *before, const void *after)
{
    const size_t size = ndr_dtype_size(before->dtype);
    for (size_t i = 0; i < total_bytes(before) / size; ++i)
        if (!is_inside(before, i))
            assert_memory_equal((const char *)after + i * size, (const char *)before->array + i * size, size);
}

/* The accuracy that products ask for: of `rounded`, which takes no other, that of TF32. */
static ndr_accuracy accuracy;

static ndr_accuracy accuracy_asked(void)
{
    return forced_variant && is_variant(forced_variant, "rounded") ? NDR_ACCURACY_TF32 : accuracy;
}

/* With a lower accuracy the error may be greater by 2^-10 * |alpha| |A| |B|, here by a little more. */
static long double bound_of(product_element wanted, ndr_dtype dtype, size_t depth)
{
    const bool is_low = dtype == NDR_DTYPE_F32 && accuracy_asked() == NDR_ACCURACY_TF32;
    return is_low ? wanted.bound * (1 + 0x1p-10L / ((long double)(depth + 2) * FLT_EPSILON)) : wanted.bound;
}

static void check_element(double alpha, const host_matrix *a, const host_matrix *b, double beta, const host_matrix *c,
                          product_element wanted, const host_matrix *got, size_t row, size_t col)
{
    const number x = host_matrix_get(got, row, col);
    if (isnan(wanted.value) && is_nan(c->dtype, x)) return;
    if (isinf(wanted.value) && real(c->dtype, x) == wanted.value) return;
    if (isfinite(wanted.value) && fabsl(real(c->dtype, x) - wanted.value) <= bound_of(wanted, c->dtype, a->cols))
        return;
    print_error("%s, %zu x %zu by %zu x %zu, alpha %g, beta %g: element (%zu, %zu) is %s, not %.20Lg +- %.3Lg\n",
                ndr_dtype_name(c->dtype), a->rows, a->cols, b->rows, b->cols, alpha, beta, row, col,
                number_text(c->dtype, x), wanted.value, bound_of(wanted, c->dtype, a->cols));
    fail();
}

/* Multiply on the device and compare all of c, its gaps, and the operands. */
static void check_product(double alpha, const host_matrix *a, const host_matrix *b, double beta,
                          const host_matrix *c)
{
    ndr_matmul_desc desc = { .dtype = c->dtype, .scaling = ndr_scaling_of(alpha, beta), .accuracy = accuracy_asked() };
    desc.a = on_device(a);
    desc.b = on_device(b);
    desc.c = on_device(c);
    assert_ok(ndr_matmul(queue, &desc, NULL));

    host_matrix got = *c;
    got.array = malloc(total_bytes(c));
    read_buffer(desc.c.buffer, got.array, total_bytes(c));
    check_outside(c, got.array);
    product_element *wanted = malloc((c->rows * c->cols + 1) * sizeof *wanted);
    reference_matmul(alpha, a, b, beta, c, wanted);
    for (size_t row = 0; row < c->rows; ++row)
        for (size_t col = 0; col < c->cols; ++col)
            check_element(alpha, a, b, beta, c, wanted[row * c->cols + col], &got, row, col);
    free(wanted);
    free(got.array);

    const host_matrix *operands[] = { a, b };
    ndr_buffer *buffers[] = { desc.a.buffer, desc.b.buffer };
    for (size_t i = 0; i < 2; ++i) {
        void *after = malloc(total_bytes(operands[i]));
        read_buffer(buffers[i], after, total_bytes(operands[i]));
        assert_memory_equal(after, operands[i]->array, total_bytes(operands[i]));
        free(after);
    }
    ndr_buffer_destroy(desc.a.buffer);
    ndr_buffer_destroy(desc.b.buffer);
    ndr_buffer_destroy(desc.c.buffer);
}

typedef struct shape {
    size_t m, n, k;
} shape;

static void check_shape(ndr_dtype dtype, shape s, size_t gap, double alpha, double beta)
{
    host_matrix a = matrix_of(dtype, s.m, s.k, gap, gap, 1);
    host_matrix b = matrix_of(dtype, s.k, s.n, 2 * gap, gap ? 3 : 0, 2);
    host_matrix c = matrix_of(dtype, s.m, s.n, gap ? 7 : 0, gap ? 1 : 0, 3);
    check_product(alpha, &a, &b, beta, &c);
    free(a.array);
    free(b.array);
    free(c.array);
}

/* ---- against plain loops ---- */

/* Single elements, rows and columns; one below, at and above a tile; primes; several tiles each way. */
static const shape shapes[] = {
    { 1, 1, 1 },     { 1, 1, 2 },    { 1, 2, 1 },      { 2, 1, 1 },     { 2, 2, 2 },     { 7, 7, 7 },
    { 8, 8, 8 },     { 7, 8, 1 },    { 8, 7, 2 },      { 1, 65, 7 },    { 65, 1, 7 },    { 1, 1, 257 },
    { 1, 257, 1 },   { 257, 1, 1 },  { 63, 63, 63 },   { 64, 64, 64 },  { 65, 65, 65 },  { 63, 64, 65 },
    { 65, 63, 64 },  { 64, 65, 63 }, { 100, 130, 7 },  { 130, 100, 7 }, { 7, 100, 130 }, { 130, 7, 100 },
    { 100, 7, 130 }, { 7, 130, 64 }, { 130, 130, 130 }, { 64, 1, 64 },  { 1, 64, 64 },   { 64, 64, 1 },
    { 65, 2, 257 },  { 2, 65, 257 }, { 257, 65, 2 },   { 257, 2, 65 },  { 257, 257, 1 }, { 257, 100, 63 },
    { 100, 257, 65 }, { 63, 257, 100 }, { 257, 130, 257 },
    /* Last panels of one and of two whole vectors, for f32 and f64; more than 16 panels; several passes along k. */
    { 17, 16, 33 },  { 40, 32, 9 },  { 9, 80, 65 },    { 33, 8, 65 },    { 40, 801, 650 }, { 41, 50, 1300 },
    /* One small tile, and parts of k for several groups. */
    { 3, 5, 1300 },
};
static const shape quick_shapes[] = { { 1, 1, 1 }, { 7, 2, 17 }, { 65, 1, 2 }, { 2, 65, 7 } };

/* Each tile of `blocked` once on two compute units. Some rows begin at a vector (i % 3 == 0), others do not. Some
 * shapes have fewer rows or columns than the tile, or parts of k. */
static const shape blocked_shapes[] = {
    { 256, 132, 64 }, { 3, 5, 1300 }, { 1, 1, 257 }, { 130, 100, 7 }, { 65, 66, 65 }, { 40, 31, 9 }, { 17, 257, 64 },
};

/* Those of `few`: with whole vectors for f32, with gaps for f64. */
static const shape few_shapes[] = { { 7, 68, 600 }, { 7, 133, 600 }, { 133, 3, 65 }, { 68, 7, 600 }, { 3, 66, 40 } };

static bool is_for_few(void) { return forced_variant && is_variant(forced_variant, "few"); }

/* A CPU's driver takes a second to build a variant of a row for GPUs. All shapes together have forty. */
static bool takes_few_shapes(void)
{
    return forced_variant && (is_variant(forced_variant, "blocked") || is_for_few()) && device.type == NDR_DEVICE_TYPE_CPU
           && number_from_env("NDR_TEST_LONG", 0) == 0;
}

static void check_few_shapes(ndr_dtype dtype)
{
    for (size_t i = 0; i < COUNT_OF(few_shapes); ++i)
        if ((i % 3 == 0) == (dtype == NDR_DTYPE_F32)) check_shape(dtype, few_shapes[i], i % 3, 1, i % 2 ? 0 : 0.5);
}

/* Those whose a `few` takes to local memory, some steps after the others: b by vectors, by elements. */
static void check_local_shapes(ndr_dtype dtype)
{
    if (!is_for_few() || dtype != NDR_DTYPE_F64 || quick()) return;
    check_shape(dtype, (shape){ 6, 260, 601 }, 0, 1, 0.5);
    check_shape(dtype, (shape){ 7, 133, 600 }, 1, 1, 0);
}

static void check_shapes(ndr_dtype dtype)
{
    const bool is_few = takes_few_shapes();
    check_local_shapes(dtype);
    if (is_few && is_for_few() && !quick()) {
        check_few_shapes(dtype);
        return;
    }
    const shape *list = quick() ? quick_shapes : is_few ? blocked_shapes : shapes;
    const size_t length = quick() ? COUNT_OF(quick_shapes) : is_few ? COUNT_OF(blocked_shapes) : COUNT_OF(shapes);
    const size_t first = quick() && dtype == NDR_DTYPE_F64 ? 2 : 0;
    for (size_t i = first; i < length; ++i)
        if (!is_few || takes_case(i, 5)) check_shape(dtype, list[i], i % 3, 1, i % 2 ? 0 : 0.5);
}

static void test_matmul__of_any_shape_agrees_with_loops_for_f32(void **state)
{
    check_shapes(NDR_DTYPE_F32);
}

static void test_matmul__of_any_shape_agrees_with_loops_for_f64(void **state)
{
    skip_without(device.has_f64, "the device has no f64");
    check_shapes(NDR_DTYPE_F64);
}

/* Several tiles with gaps everywhere, the last row's gap included. */
static void test_matmul__keeps_to_its_elements_with_any_pitch_and_offset(void **state)
{
    const shape s = quick() ? (shape){ 3, 4, 5 } : (shape){ 66, 67, 33 };
    const size_t gaps[] = { 0, 1, 5, 64 };
    for (size_t i = 0; i < COUNT_OF(gaps); i += quick() ? 2 : 1) {
        check_shape(NDR_DTYPE_F32, s, gaps[i], 1, 1);
        if (device.has_f64 && !quick()) check_shape(NDR_DTYPE_F64, s, gaps[i], 1, 1);
    }
}

static void test_matmul__scales_by_alpha_and_beta(void **state)
{
    const double factors[] = { 0, 1, -1, 0.5, 2, 0.1 };
    const shape s = quick() ? (shape){ 2, 3, 4 } : (shape){ 65, 20, 17 };
    for (size_t i = 0; i < COUNT_OF(factors); ++i)
        for (size_t j = 0; j < COUNT_OF(factors); ++j) {
            if (quick() && (i + j) % 5) continue;
            /* 0.1 is not a float. ndr.h promises that it is rounded to the type first. */
            check_shape(NDR_DTYPE_F32, s, 1, (float)factors[i], (float)factors[j]);
            if (device.has_f64 && !quick()) check_shape(NDR_DTYPE_F64, s, 1, factors[i], factors[j]);
        }
}

/* Whole numbers are exact, so each bit is known, and 0.1 instead of 0.1f would show. */
static void test_matmul__of_whole_numbers_is_exact(void **state)
{
    const float a[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 7, 8, 9, 10, 11, 12 }, c[] = { 1, 1, 1, 1 };
    ndr_buffer *buffers[] = { buffer_of(sizeof a, a), buffer_of(sizeof b, b), buffer_of(sizeof c, c) };
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .scaling = ndr_scaling_of(2, -1),
                                   .a = { buffers[0], 0, 2, 3, 0 },
                                   .b = { buffers[1], 0, 3, 2, 0 },
                                   .c = { buffers[2], 0, 2, 2, 0 } };
    assert_ok(ndr_matmul(queue, &desc, NULL));
    float got[4];
    read_buffer(buffers[2], got, sizeof got);
    /* { 58, 64, 139, 154 } twice, less 1 */
    assert_memory_equal(got, ((const float[]){ 115, 127, 277, 307 }), sizeof got);
    for (size_t i = 0; i < 3; ++i) ndr_buffer_destroy(buffers[i]);
}

static void test_matmul__gives_the_same_bits_every_time(void **state)
{
    const size_t n = quick() ? 5 : 70;
    host_matrix a = matrix_of(NDR_DTYPE_F32, n, n, 0, 0, 4);
    ndr_matrix on = on_device(&a), c = { buffer_of(n * n * sizeof(float), NULL), 0, n, n, 0 };
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32, .a = on, .b = on, .c = c }; /* a * a */
    float *first = malloc(n * n * sizeof(float)), *again = malloc(n * n * sizeof(float));
    for (unsigned run = 0; run < (quick() ? 2 : 20); ++run) {
        assert_ok(ndr_matmul(queue, &desc, NULL));
        read_buffer(c.buffer, run == 0 ? first : again, n * n * sizeof(float));
        if (run > 0) assert_memory_equal(again, first, n * n * sizeof(float));
    }
    ndr_buffer_destroy(on.buffer);
    ndr_buffer_destroy(c.buffer);
    free(a.array);
    free(first);
    free(again);
}

/* Of `blocked` on few compute units that report their registers: all of the largest tiles whole, because a MiB for sums
 * cannot be had; then the last two of six in parts of k. */
static void test_matmul__of_the_largest_tiles_agrees_with_loops(void **state)
{
    if (quick() || !is_forced(&ndr_matmul_operation, "blocked")) return;
    const ndr_caps caps = context->caps;
    context->caps.registers = 1 << 16;
    context->caps.info.compute_units = 8;
    context->caps.info.max_buffer_bytes = 900 << 10;
    check_shape(NDR_DTYPE_F32, (shape){ 388, 516, 300 }, 0, 1, 0);
    context->caps.info.max_buffer_bytes = caps.info.max_buffer_bytes;
    context->caps.info.compute_units = 4;
    check_shape(NDR_DTYPE_F32, (shape){ 132, 516, 300 }, 0, 1, 0);
    check_shape(NDR_DTYPE_F32, (shape){ 130, 513, 300 }, 1, 0.5, 2);
    context->caps = caps;
}

/* Rows 0, m / 2 and m - 1 of c, and its gaps, for matrices that are too large to compute all of c on the host. */
static void check_some_rows(const ndr_matmul_desc *desc, const host_matrix *a, const host_matrix *b,
                            const host_matrix *c)
{
    host_matrix got = *c;
    got.array = malloc(total_bytes(c));
    assert_ok(ndr_buffer_write(queue, desc->c.buffer, 0, total_bytes(c), c->array, NULL));
    assert_ok(ndr_matmul(queue, desc, NULL));
    read_buffer(desc->c.buffer, got.array, total_bytes(c));
    check_outside(c, got.array);
    product_element *wanted = malloc(c->cols * sizeof *wanted);
    for (size_t i = 0; i < 3; ++i) {
        const size_t row = i * (c->rows - 1) / 2;
        host_matrix a_row = *a, c_row = *c, got_row = got;
        a_row.rows = c_row.rows = got_row.rows = 1;
        a_row.offset += row * a->pitch;
        c_row.offset += row * c->pitch;
        got_row.offset += row * c->pitch;
        reference_matmul(desc->scaling.alpha, &a_row, b, desc->scaling.beta, &c_row, wanted);
        for (size_t col = 0; col < c->cols; ++col)
            check_element(desc->scaling.alpha, &a_row, b, desc->scaling.beta, &c_row, wanted[col], &got_row, 0, col);
    }
    free(wanted);
    free(got.array);
}

/* Of `blocked` on units that report their registers: where there is room for copies of a and b, but not for sums too;
 * where copies would take more than an eighth of the device's memory; with copies. */
static void test_matmul__of_large_matrices_with_odd_rows_agrees_with_loops(void **state)
{
    if (quick() || !is_forced(&ndr_matmul_operation, "blocked")) return;
    host_matrix a = matrix_of(NDR_DTYPE_F32, 3001, 257, 1, 3, 1), b = matrix_of(NDR_DTYPE_F32, 257, 3003, 2, 1, 2);
    host_matrix c = matrix_of(NDR_DTYPE_F32, 3001, 3003, 3, 2, 3);
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .scaling = ndr_scaling_of(0.5, 2),
                                   .a = on_device(&a),
                                   .b = on_device(&b),
                                   .c = on_device(&c) };
    const size_t copies = sizeof(float) * 260 * (3001 + 3004);
    const ndr_caps caps = context->caps;
    context->caps.registers = 1 << 16;
    context->caps.info.compute_units = 41; /* 24 x 12 tiles, of which the last one is divided */
    context->caps.info.global_memory_bytes = 8 * copies;
    context->caps.info.max_buffer_bytes = copies;
    check_some_rows(&desc, &a, &b, &c);
    context->caps.info.max_buffer_bytes = caps.info.max_buffer_bytes;
    context->caps.info.global_memory_bytes = 8 * copies - 1;
    check_some_rows(&desc, &a, &b, &c);
    context->caps.info.global_memory_bytes = 8 * copies;
    check_some_rows(&desc, &a, &b, &c);
    context->caps = caps;
    ndr_buffer_destroy(desc.a.buffer);
    ndr_buffer_destroy(desc.b.buffer);
    ndr_buffer_destroy(desc.c.buffer);
    free(a.array);
    free(b.array);
    free(c.array);
}

/* ---- batches ---- */

/* Where the matrices of a batch lie: one after the other, side by side in rows that they share, all the same one. */
typedef enum layout { APART, BESIDE, SAME, LAYOUTS } layout;

typedef struct batch_operand {
    host_matrix first; /* its array holds all matrices */
    size_t count, stride;
} batch_operand;

static host_matrix batch_matrix(const batch_operand *o, size_t i)
{
    host_matrix m = o->first;
    m.offset += i * o->stride;
    return m;
}

static size_t batch_elements(const batch_operand *o)
{
    return o->first.offset + o->first.rows * o->first.pitch + (o->count - 1) * o->stride + 5;
}

/* The array has NaN around the matrices. */
static batch_operand batch_operand_of(ndr_dtype dtype, size_t count, size_t rows, size_t cols, layout how,
                                      uint64_t *seed)
{
    const size_t gap = (size_t)(random_bits(seed) % 4), offset = (size_t)(random_bits(seed) % 5), pitch = cols + gap;
    const size_t behind = (size_t)(random_bits(seed) % 3);
    batch_operand o = { { dtype, NULL, offset, rows, cols, pitch }, count, rows * pitch + behind };
    if (how == SAME) o.stride = 0;
    if (how == BESIDE) {
        o.stride = cols + gap;
        o.first.pitch = count * o.stride;
    }
    const size_t elements = batch_elements(&o);
    o.first.array = malloc(elements * ndr_dtype_size(dtype));
    for (size_t i = 0; i < elements; ++i)
        number_set(dtype, o.first.array, i, dtype == NDR_DTYPE_F32 ? (number){ .f32 = NAN } : (number){ .f64 = NAN });
    for (size_t i = 0; i < count * rows * cols; ++i)
        number_set(dtype, o.first.array,
                   offset + i / (rows * cols) * o.stride + i / cols % rows * o.first.pitch + i % cols,
                   random_number(dtype, seed));
    return o;
}

static ndr_matrix batch_on_device(const batch_operand *o)
{
    const host_matrix *m = &o->first;
    return (ndr_matrix){ buffer_of(batch_elements(o) * ndr_dtype_size(m->dtype), m->array), m->offset, m->rows, m->cols,
                         m->pitch };
}

/* The elements of c that no product writes keep their bits: in `expected` they are those of before. */
static void check_batch_gaps(const batch_operand *c, void *expected, const void *got)
{
    const size_t size = ndr_dtype_size(c->first.dtype);
    for (size_t i = 0; i < c->count; ++i)
        for (size_t row = 0; row < c->first.rows; ++row) {
            const size_t begin = c->first.offset + i * c->stride + row * c->first.pitch;
            memcpy((char *)expected + begin * size, (const char *)got + begin * size, c->first.cols * size);
        }
    assert_memory_equal(got, expected, batch_elements(c) * size);
}

static void check_batch(double alpha, const batch_operand *a, const batch_operand *b, double beta,
                        const batch_operand *c)
{
    const size_t bytes = batch_elements(c) * ndr_dtype_size(c->first.dtype);
    ndr_matmul_desc desc = { .dtype = c->first.dtype,
                             .scaling = ndr_scaling_of(alpha, beta),
                             .a = batch_on_device(a),
                             .b = batch_on_device(b),
                             .c = batch_on_device(c),
                             .count = c->count,
                             .a_stride = a->stride,
                             .b_stride = b->stride,
                             .c_stride = c->stride };
    assert_ok(ndr_matmul(queue, &desc, NULL));
    batch_operand after = *c;
    after.first.array = malloc(bytes);
    read_buffer(desc.c.buffer, after.first.array, bytes);
    product_element *wanted = malloc((c->first.rows * c->first.cols + 1) * sizeof *wanted);
    for (size_t i = 0; i < c->count; ++i) {
        const host_matrix x = batch_matrix(a, i), y = batch_matrix(b, i), z = batch_matrix(c, i);
        const host_matrix got = batch_matrix(&after, i);
        reference_matmul(alpha, &x, &y, beta, &z, wanted);
        for (size_t e = 0; e < z.rows * z.cols; ++e)
            check_element(alpha, &x, &y, beta, &z, wanted[e], &got, e / z.cols, e % z.cols);
    }
    check_batch_gaps(c, c->first.array, after.first.array);
    free(wanted);
    free(after.first.array);
    ndr_buffer_destroy(desc.a.buffer);
    ndr_buffer_destroy(desc.b.buffer);
    ndr_buffer_destroy(desc.c.buffer);
}

static void check_batch_of(ndr_dtype dtype, size_t count, shape s, uint64_t seed)
{
    static const double alphas[] = { 1, 0.5, 1, -2, 0 }, betas[] = { 0, 0.5, 1, 0 };
    const layout at = (layout)(random_bits(&seed) % LAYOUTS), bt = (layout)(random_bits(&seed) % LAYOUTS);
    batch_operand a = batch_operand_of(dtype, count, s.m, s.k, at, &seed);
    batch_operand b = batch_operand_of(dtype, count, s.k, s.n, bt, &seed);
    batch_operand c = batch_operand_of(dtype, count, s.m, s.n, (layout)(random_bits(&seed) % SAME), &seed);
    check_batch(alphas[random_bits(&seed) % COUNT_OF(alphas)], &a, &b, betas[random_bits(&seed) % COUNT_OF(betas)], &c);
    free(a.first.array);
    free(b.first.array);
    free(c.first.array);
}

/* Random batches. A row that is slow to build gets few. */
static void check_batches(ndr_dtype dtype)
{
    static const size_t sides[] = { 0, 1, 2, 3, 7, 8, 9, 13, 16, 17, 31, 32, 33, 47, 48, 49, 64, 65, 97 };
    static const size_t counts[] = { 1, 2, 3, 5, 16, 17, 64, 101 };
    enum { MAX_WORK = 1 << 20 };
    const uint64_t given = number_from_env("NDR_TEST_SEED", 0), first = given ? given : 1;
    const size_t cases = quick() ? 1 : takes_few_shapes() ? 4 : 30;
    for (uint64_t seed = first; seed < first + cases; ++seed) {
        if (seed != given && !takes_few_shapes() && !takes_case(seed, 5)) continue;
        uint64_t state = seed;
        shape s = { sides[random_bits(&state) % COUNT_OF(sides)], sides[random_bits(&state) % COUNT_OF(sides)],
                    sides[random_bits(&state) % COUNT_OF(sides)] };
        size_t count = counts[random_bits(&state) % COUNT_OF(counts)];
        if (quick()) s = (shape){ s.m % 6, s.n % 6, s.k % 6 };
        while (count > 1 && count * s.m * s.n * (s.k + 1) > (quick() ? 100 : MAX_WORK)) count /= 2;
        print_message("NDR_TEST_SEED=%" PRIu64 ": %zu products of %zu x %zu x %zu\n", seed, count, s.m, s.n, s.k);
        check_batch_of(dtype, count, s, state);
    }
}

/* Products that divide into blocks of vector registers on some CPUs, or into blocks with other numbers of rows, of which
 * the last may begin higher, and large ones, whose C is prefetched. The last batch has too few for an item to take whole
 * ones. */
static void check_even_batches(ndr_dtype dtype)
{
    static const shape even[] = { { 8, 32, 3 }, { 16, 16, 16 }, { 16, 112, 1 }, { 48, 48, 5 },
                                  { 33, 65, 3 }, { 12, 12, 5 }, { 17, 20, 4 }, { 24, 48, 5 } };
    static const size_t counts[] = { 17, 33, 16, 41, 40, 19, 18, 3 };
    for (size_t i = 0; i < (quick() ? 1 : COUNT_OF(even)); ++i)
        check_batch_of(dtype, quick() ? 2 : counts[i], even[i], i);
}

static void test_matmul__of_a_batch_agrees_with_loops_for_f32(void **state)
{
    check_batches(NDR_DTYPE_F32);
    check_even_batches(NDR_DTYPE_F32);
}

static void test_matmul__of_a_batch_agrees_with_loops_for_f64(void **state)
{
    skip_without(device.has_f64, "the device has no f64");
    check_batches(NDR_DTYPE_F64);
    check_even_batches(NDR_DTYPE_F64);
}

/* The products of several launches, the last of them smaller. */
static void test_matmul__of_a_large_batch_reaches_each_product(void **state)
{
    /* A launch or a large group for each product. */
    const bool is_slow = is_forced(&ndr_matmul_operation, "packed") || (takes_few_shapes() && is_for_few());
    const size_t products = quick() ? 3 : is_slow ? 7 : (1 << 16) + 7;
    float *a = malloc(products * sizeof *a), *c = malloc(products * sizeof *c);
    for (size_t i = 0; i < products; ++i) a[i] = (float)i;
    ndr_buffer *from = buffer_of(products * sizeof *a, a), *two = buffer_of(sizeof *a, &(const float){ 2 });
    ndr_buffer *to = buffer_of(products * sizeof *c, NULL);
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .a = { from, 0, 1, 1, 0 },
                                   .b = { two, 0, 1, 1, 0 },
                                   .c = { to, 0, 1, 1, 0 },
                                   .count = products,
                                   .a_stride = 1,
                                   .c_stride = 1 };
    ndr_event *event;
    assert_ok(ndr_matmul(queue, &desc, &event));
    assert_ok(ndr_event_wait(event)); /* the last launch's end */
    ndr_event_destroy(event);
    read_buffer(to, c, products * sizeof *c);
    for (size_t i = 0; i < products; ++i) assert_true(c[i] == 2 * (float)i);
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(two);
    ndr_buffer_destroy(to);
    free(a);
    free(c);
}

/* ---- what must not be read ---- */

static number nan_of(ndr_dtype dtype)
{
    return dtype == NDR_DTYPE_F32 ? (number){ .f32 = NAN } : (number){ .f64 = NAN };
}

static void check_unread(ndr_dtype dtype, double alpha, double beta, bool nan_in_operands, bool nan_in_c)
{
    const shape s = quick() ? (shape){ 3, 2, 5 } : (shape){ 66, 65, 17 };
    host_matrix a = matrix_of(dtype, s.m, s.k, 1, 2, 5), b = matrix_of(dtype, s.k, s.n, 0, 0, 6);
    host_matrix c = matrix_of(dtype, s.m, s.n, 3, 1, 7);
    if (nan_in_operands) {
        fill_matrix(&a, nan_of(dtype));
        fill_matrix(&b, nan_of(dtype));
    }
    if (nan_in_c) fill_matrix(&c, nan_of(dtype));
    check_product(alpha, &a, &b, beta, &c); /* the plain loops do not read NaNs either */
    free(a.array);
    free(b.array);
    free(c.array);
}

static void check_unread_everywhere(double alpha, double beta, bool nan_in_operands, bool nan_in_c)
{
    check_unread(NDR_DTYPE_F32, alpha, beta, nan_in_operands, nan_in_c);
    if (device.has_f64 && !quick()) check_unread(NDR_DTYPE_F64, alpha, beta, nan_in_operands, nan_in_c);
}

static void test_matmul__without_beta_does_not_read_c(void **state)
{
    check_unread_everywhere(1, 0, false, true);
    check_unread_everywhere(1, -0.0, false, true);
}

static void test_matmul__without_alpha_does_not_read_a_and_b(void **state)
{
    check_unread_everywhere(0, 1, true, false);
    check_unread_everywhere(0, 0.5, true, false);
    check_unread_everywhere(0, 0, true, true);
}

/* A factor that is not 0 lets the NaN through. */
static void test_matmul__lets_nan_through_what_it_reads(void **state)
{
    check_unread_everywhere(1, 0.5, false, true);
    check_unread_everywhere(1, 0, true, false);
}

/* In one tile, a NaN in a row must not reach the next row. */
static void test_matmul__keeps_nan_in_its_own_row_and_column(void **state)
{
    const size_t n = quick() ? 5 : 66;
    host_matrix a = matrix_of(NDR_DTYPE_F32, n, n, 0, 0, 8), b = matrix_of(NDR_DTYPE_F32, n, n, 0, 0, 9);
    host_matrix c = matrix_of(NDR_DTYPE_F32, n, n, 0, 0, 10);
    number_set(NDR_DTYPE_F32, a.array, 2 * n + 1, nan_of(NDR_DTYPE_F32));
    number_set(NDR_DTYPE_F32, b.array, 3 * n + n - 1, (number){ .f32 = INFINITY });
    check_product(1, &a, &b, 1, &c);
    free(a.array);
    free(b.array);
    free(c.array);
}

/* ---- nothing to multiply ---- */

static void test_matmul__over_no_columns_only_scales_c(void **state)
{
    const shape s = quick() ? (shape){ 3, 2, 0 } : (shape){ 65, 66, 0 };
    check_shape(NDR_DTYPE_F32, s, 1, 1, 0.5);
    check_shape(NDR_DTYPE_F32, s, 0, 1, 0);
    check_shape(NDR_DTYPE_F32, s, 0, 0, 1);
}

static void test_matmul__over_no_columns_needs_no_buffers_for_a_and_b(void **state)
{
    const float before[] = { 1, 2, 3, 4, 5, 6 };
    ndr_buffer *c = buffer_of(sizeof before, before);
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .scaling = ndr_scaling_of(1, 2),
                                   .a = { NULL, 0, 2, 0, 0 },
                                   .b = { NULL, 0, 0, 3, 0 },
                                   .c = { c, 0, 2, 3, 0 } };
    assert_ok(ndr_matmul(queue, &desc, NULL));
    float got[6];
    read_buffer(c, got, sizeof got);
    assert_memory_equal(got, ((const float[]){ 2, 4, 6, 8, 10, 12 }), sizeof got);
    ndr_buffer_destroy(c);
}

static void test_matmul__of_no_rows_or_columns_does_nothing(void **state)
{
    const shape empty[] = { { 0, 0, 0 }, { 0, 7, 8 }, { 7, 0, 8 }, { 0, 0, 8 }, { 0, 7, 0 } };
    for (size_t i = 0; i < COUNT_OF(empty); ++i) check_shape(NDR_DTYPE_F32, empty[i], i % 2, 1, 0);
    ndr_event *event = NULL;
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32 }; /* all 0 x 0, without buffers */
    assert_ok(ndr_matmul(queue, &desc, &event));
    assert_ok(ndr_event_wait(event));
    ndr_event_destroy(event);
}

/* ---- as enqueued work ---- */

/* A valid product, c = a * b of 2 x 3 by 3 x 2. Each refusal changes one thing in it. */
typedef struct bench {
    ndr_buffer *a, *b, *c;
    ndr_matmul_desc desc;
} bench;

static const float bench_a[] = { 1, 2, 3, 4, 5, 6 }, bench_b[] = { 7, 8, 9, 10, 11, 12 };
static const float bench_c[] = { -1, -1, -1, -1 }, bench_product[] = { 58, 64, 139, 154 };

static bench bench_of(void)
{
    bench b = { .a = buffer_of(sizeof bench_a, bench_a),
                .b = buffer_of(sizeof bench_b, bench_b),
                .c = buffer_of(sizeof bench_c, bench_c) };
    b.desc = (ndr_matmul_desc){ .dtype = NDR_DTYPE_F32,
                                .a = { b.a, 0, 2, 3, 0 },
                                .b = { b.b, 0, 3, 2, 0 },
                                .c = { b.c, 0, 2, 2, 0 } };
    return b;
}

static void check_c(const bench *b, const float *wanted)
{
    float got[4];
    read_buffer(b->c, got, sizeof got);
    assert_memory_equal(got, wanted, sizeof got);
}

/* Check that nothing was written so far and that the same objects still work. */
static void close_bench(bench *b)
{
    check_c(b, bench_c);
    assert_ok(ndr_matmul(queue, &b->desc, NULL));
    check_c(b, bench_product);
    float operands[6];
    read_buffer(b->a, operands, sizeof operands);
    assert_memory_equal(operands, bench_a, sizeof operands);
    read_buffer(b->b, operands, sizeof operands);
    assert_memory_equal(operands, bench_b, sizeof operands);
    ndr_buffer_destroy(b->a);
    ndr_buffer_destroy(b->b);
    ndr_buffer_destroy(b->c);
}

/* An alpha that a program computed as 0 must not become 1. */
static void test_matmul__tells_a_scaling_of_zero_from_one_that_was_left_out(void **state)
{
    bench b = bench_of();
    b.desc.scaling = ndr_scaling_of(0, 3);
    assert_ok(ndr_matmul(queue, &b.desc, NULL));
    check_c(&b, (const float[]){ -3, -3, -3, -3 });
    b.desc.scaling = ndr_scaling_of(0, 0);
    assert_ok(ndr_matmul(queue, &b.desc, NULL));
    check_c(&b, (const float[]){ 0, 0, 0, 0 });
    b.desc.scaling = (ndr_scaling){ 0 };
    assert_ok(ndr_matmul(queue, &b.desc, NULL));
    check_c(&b, bench_product);
    assert_ok(ndr_buffer_write(queue, b.c, 0, sizeof bench_c, bench_c, NULL));
    close_bench(&b);
}

static void test_matmul__refuses_factors_that_are_not_set(void **state)
{
    bench b = bench_of();
    b.desc.scaling = (ndr_scaling){ .alpha = 2 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_matmul(queue, &b.desc, NULL),
                   "ndr_matmul: scaling has alpha 2 and beta 0, but is_set is false; write .scaling = ndr_scaling_of(2, 0)");
    b.desc.scaling = (ndr_scaling){ .beta = -0.5 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_matmul(queue, &b.desc, NULL), "alpha 0 and beta -0.5", "is_set is false");
    b.desc.scaling = (ndr_scaling){ .alpha = NAN };
    assert_refused(NDR_BAD_ARGUMENT, ndr_matmul(queue, &b.desc, NULL), "alpha nan", "is_set is false");
    b.desc.scaling = (ndr_scaling){ 0 };
    close_bench(&b);
}

/* On any device, by a faster row or not. Doubles are not rounded. */
static void test_matmul__of_a_lower_accuracy_keeps_its_bound(void **state)
{
    accuracy = NDR_ACCURACY_TF32;
    check_shape(NDR_DTYPE_F32, (shape){ 7, 6, 35 }, 1, 2, 0.5);
    if (device.has_f64) check_shape(NDR_DTYPE_F64, (shape){ 7, 6, 35 }, 1, 2, 0.5);
    accuracy = NDR_ACCURACY_FULL;
}

static void test_matmul__refuses_an_accuracy_without_a_name(void **state)
{
    bench b = bench_of();
    b.desc.accuracy = (ndr_accuracy)2;
    assert_refused(NDR_BAD_ARGUMENT, ndr_matmul(queue, &b.desc, NULL),
                   "ndr_matmul: accuracy is 2; use NDR_ACCURACY_FULL (0) or NDR_ACCURACY_TF32 (1)");
    b.desc.accuracy = NDR_ACCURACY_TF32;
    close_bench(&b);
}

static void test_matmul__gives_an_event_that_ends_and_tells_its_time(void **state)
{
    bench b = bench_of();
    ndr_event *event = NULL;
    assert_ok(ndr_matmul(queue, &b.desc, &event));
    assert_non_null(event);
    assert_ok(ndr_event_wait(event));
    uint64_t elapsed_ns = UINT64_MAX;
    assert_ok(ndr_event_elapsed_ns(event, &elapsed_ns));
    assert_true(elapsed_ns < UINT64_C(600000000000));
    ndr_event_destroy(event);
    check_c(&b, bench_product);
    assert_ok(ndr_buffer_write(queue, b.c, 0, sizeof bench_c, bench_c, NULL));
    close_bench(&b);
}

/* One product's c is the next one's a, and b may be the same matrix as a. */
static void test_matmul__sees_what_the_queue_did_before(void **state)
{
    const float fibonacci[] = { 1, 1, 1, 0 };
    ndr_buffer *first = buffer_of(sizeof fibonacci, fibonacci), *second = buffer_of(2 * sizeof fibonacci, NULL);
    ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                             .a = { first, 0, 2, 2, 0 },
                             .b = { first, 0, 2, 2, 0 },
                             .c = { second, 0, 2, 2, 0 } };
    assert_ok(ndr_matmul(queue, &desc, NULL)); /* squared */
    desc.a = desc.b = (ndr_matrix){ second, 0, 2, 2, 0 };
    desc.c = (ndr_matrix){ second, 4, 2, 2, 0 }; /* the same buffer, after the first product */
    assert_ok(ndr_matmul(queue, &desc, NULL)); /* to the fourth */
    float got[8];
    read_buffer(second, got, sizeof got);
    assert_memory_equal(got, ((const float[]){ 2, 1, 1, 1, 5, 3, 3, 2 }), sizeof got);
    ndr_buffer_destroy(first);
    ndr_buffer_destroy(second);
}

/* ---- refusals ---- */

static ndr_status run(ndr_queue *on, const void *desc, ndr_event **event) { return ndr_matmul(on, desc, event); }

#define OPERAND(name_, cols_, end_, ...)                                                                      \
    {                                                                                                         \
        .name = #name_, .buffer = offsetof(ndr_matmul_desc, name_.buffer),                                    \
        .offset = offsetof(ndr_matmul_desc, name_.offset), .pitch = offsetof(ndr_matmul_desc, name_.pitch),   \
        .cols = cols_, .end = end_, __VA_ARGS__                                                               \
    }

static const refusal_suite refusals = {
    .call = "ndr_matmul",
    .run = run,
    .descs = &(const ndr_matmul_desc){ .dtype = NDR_DTYPE_F32,
                                       .a = { .rows = 2, .cols = 3 },
                                       .b = { .rows = 3, .cols = 2 },
                                       .c = { .rows = 2, .cols = 2 } },
    .desc_bytes = sizeof(ndr_matmul_desc),
    .desc_count = 1,
    .dtype = offsetof(ndr_matmul_desc, dtype),
    .first_dtype = NDR_DTYPE_F32,
    .more_dtypes = 1u << NDR_DTYPE_F16 | 1u << NDR_DTYPE_BF16 | 1u << NDR_DTYPE_I8 | 1u << NDR_DTYPE_U8,
    .dtypes = "f32, f64, f16, bf16, i8 or u8",
    .operands = { OPERAND(a, 3, 6, .before = bench_a), OPERAND(b, 2, 6, .before = bench_b),
                  OPERAND(c, 2, 4, .before = bench_c, .after = bench_product) },
    .operand_count = 3,
};

/* The same product and one with twice that a. */
static const float batch_a[] = { 1, 2, 3, 4, 5, 6, 2, 4, 6, 8, 10, 12 };
static const float batch_c[] = { -1, -1, -1, -1, -1, -1, -1, -1 };
static const float batch_product[] = { 58, 64, 139, 154, 116, 128, 278, 308 };

static const refusal_suite batch_refusals = {
    .call = "ndr_matmul",
    .run = run,
    .descs = &(const ndr_matmul_desc){ .dtype = NDR_DTYPE_F32,
                                       .a = { .rows = 2, .cols = 3 },
                                       .b = { .rows = 3, .cols = 2 },
                                       .c = { .rows = 2, .cols = 2 },
                                       .count = 2,
                                       .a_stride = 6,
                                       .c_stride = 4 },
    .desc_bytes = sizeof(ndr_matmul_desc),
    .desc_count = 1,
    .dtype = offsetof(ndr_matmul_desc, dtype),
    .first_dtype = NDR_DTYPE_F32,
    .more_dtypes = 1u << NDR_DTYPE_F16 | 1u << NDR_DTYPE_BF16 | 1u << NDR_DTYPE_I8 | 1u << NDR_DTYPE_U8,
    .dtypes = "f32, f64, f16, bf16, i8 or u8",
    .operands = { OPERAND(a, 3, 12, .before = batch_a), OPERAND(b, 2, 6, .before = bench_b),
                  OPERAND(c, 2, 8, .before = batch_c, .after = batch_product) },
    .operand_count = 3,
};

static void test_matmul__refuses_a_batch_past_the_end_of_a_buffer(void **state)
{
    static const size_t counts[] = { 2, 1000, SIZE_MAX }, strides[] = { 4, 12345, SIZE_MAX / 2 + 1, SIZE_MAX };
    bench b = bench_of();
    for (size_t i = 0; i < 3 * COUNT_OF(counts) * COUNT_OF(strides); ++i) {
        const size_t which = i % 3, count = counts[i / 3 % COUNT_OF(counts)];
        const size_t stride = strides[i / 3 / COUNT_OF(counts)];
        ndr_matmul_desc desc = b.desc;
        desc.count = count;
        *(which == 0 ? &desc.a_stride : which == 1 ? &desc.b_stride : &desc.c_stride) = stride;
        char product[128], matrix[8];
        snprintf(matrix, sizeof matrix, ": %c is ", "abc"[which]);
        snprintf(product, sizeof product, "that of product %zu begins %zu x %zu elements later", count - 1, count - 1,
                 stride);
        assert_refused(NDR_OUT_OF_BOUNDS, ndr_matmul(queue, &desc, NULL), matrix, product,
                       which == 2 ? "its buffer holds 4 elements" : "its buffer holds 6 elements");
    }
    close_bench(&b);
}

/* Whether two products of a batch write the same element, by trying all. */
static size_t first_overlap(const ndr_matmul_desc *desc)
{
    for (size_t i = 1; i < desc->count; ++i)
        for (size_t e = 0; e < desc->c.rows * desc->c.cols; ++e)
            for (size_t f = 0; f < desc->c.rows * desc->c.cols; ++f)
                if (e / desc->c.cols * desc->c.pitch + e % desc->c.cols
                    == i * desc->c_stride + f / desc->c.cols * desc->c.pitch + f % desc->c.cols)
                    return i;
    return 0;
}

static void check_overlap(ndr_matmul_desc *desc)
{
    const size_t other = first_overlap(desc), enough = (desc->c.rows - 1) * desc->c.pitch + desc->c.cols;
    char overlap[128], advice[64];
    if (other == 0) {
        assert_ok(ndr_matmul(queue, desc, NULL));
        return;
    }
    snprintf(overlap, sizeof overlap, "c_stride is %zu, so products 0 and %zu overlap in c", desc->c_stride, other);
    snprintf(advice, sizeof advice, "make c_stride %zu or more", enough);
    assert_refused(NDR_BAD_ARGUMENT, ndr_matmul(queue, desc, NULL), overlap, advice);
    desc->c_stride = enough;
    assert_ok(ndr_matmul(queue, desc, NULL));
}

static void test_matmul__refuses_exactly_the_strides_that_let_products_overlap(void **state)
{
    static const float zeros[16];
    ndr_buffer *x = buffer_of(sizeof zeros, zeros), *c = buffer_of(256 * sizeof(float), NULL);
    for (size_t rows = quick() ? 3 : 1; rows <= 3; ++rows)
        for (size_t pitch = quick() ? 9 : 2; pitch <= 9; ++pitch)
            for (size_t stride = 0; stride <= 21; stride += quick() ? 7 : 1)
                check_overlap(&(ndr_matmul_desc){ .dtype = NDR_DTYPE_F32,
                                                  .a = { x, 0, rows, 3, 0 },
                                                  .b = { x, 0, 3, 2, 0 },
                                                  .c = { c, 0, rows, 2, pitch },
                                                  .count = 4,
                                                  .c_stride = stride });
    ndr_buffer_destroy(x);
    ndr_buffer_destroy(c);
}

/* Then they may have any value. */
static void test_matmul__of_one_product_does_not_use_strides(void **state)
{
    for (size_t count = 0; count <= 1; ++count) {
        bench b = bench_of();
        b.desc.count = count;
        b.desc.a_stride = b.desc.b_stride = b.desc.c_stride = SIZE_MAX;
        assert_ok(ndr_matmul(queue, &b.desc, NULL));
        check_c(&b, bench_product);
        assert_ok(ndr_buffer_write(queue, b.c, 0, sizeof bench_c, bench_c, NULL));
        close_bench(&b);
    }
}

static void test_matmul__of_a_batch_of_nothing_does_nothing(void **state)
{
    ndr_event *event;
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32, .count = SIZE_MAX, .a_stride = SIZE_MAX }; /* all 0 x 0 */
    assert_ok(ndr_matmul(queue, &desc, &event));
    assert_ok(ndr_event_wait(event));
    ndr_event_destroy(event);
}

static void test_matmul__refuses_shapes_that_do_not_fit_together(void **state)
{
    bench b = bench_of();
    ndr_matmul_desc desc = b.desc;
    desc.a.cols = 2;
    assert_refused(NDR_BAD_ARGUMENT, ndr_matmul(queue, &desc, NULL), "a is 2 x 2 and b is 3 x 2; a needs as many columns as b has rows");
    desc = b.desc;
    desc.b.rows = 2;
    assert_refused(NDR_BAD_ARGUMENT, ndr_matmul(queue, &desc, NULL), "a is 2 x 3 and b is 2 x 2");
    desc = b.desc;
    desc.c.rows = 1;
    assert_refused(NDR_BAD_ARGUMENT, ndr_matmul(queue, &desc, NULL), "c is 1 x 2, but the product is 2 x 2");
    desc = b.desc;
    desc.c.cols = 1;
    assert_refused(NDR_BAD_ARGUMENT, ndr_matmul(queue, &desc, NULL), "c is 2 x 1, but the product is 2 x 2");
    desc = b.desc;
    desc.a.rows = 1;
    assert_refused(NDR_BAD_ARGUMENT, ndr_matmul(queue, &desc, NULL), "c is 2 x 2, but the product is 1 x 2");
    desc = b.desc;
    desc.b.cols = 1;
    assert_refused(NDR_BAD_ARGUMENT, ndr_matmul(queue, &desc, NULL), "c is 2 x 2, but the product is 2 x 1");
    desc = b.desc;
    desc.a.cols = 0; /* a shape that does not fit is refused even if there is nothing to multiply */
    assert_refused(NDR_BAD_ARGUMENT, ndr_matmul(queue, &desc, NULL), "a is 2 x 0 and b is 3 x 2");
    close_bench(&b);
}

/* The last row needs no room for its gap. */
static void test_matmul__lets_the_last_row_end_with_the_buffer(void **state)
{
    const float before[] = { -1, -1, 9, -1, -1 };
    bench b = bench_of();
    ndr_buffer *c = buffer_of(sizeof before, before);
    ndr_matmul_desc desc = b.desc;
    desc.c = (ndr_matrix){ c, 0, 2, 2, 3 };
    assert_ok(ndr_matmul(queue, &desc, NULL));
    float got[5];
    read_buffer(c, got, sizeof got);
    assert_memory_equal(got, ((const float[]){ 58, 64, 9, 139, 154 }), sizeof got);
    ndr_buffer_destroy(c);
    close_bench(&b);
}

/* ---- for the vector registers of other CPUs ---- */

/* Edges of blocks of 4 and 8 rows, of 8, 12, 24 and 48 columns; several passes along k; many panels; several items with
 * up to 12 blocks. */
static const shape block_shapes[] = { { 1, 1, 1 },   { 3, 11, 9 },  { 4, 8, 16 },    { 5, 13, 8 },     { 7, 12, 33 },
                                      { 8, 25, 7 },  { 9, 24, 17 }, { 13, 49, 650 }, { 41, 26, 1300 }, { 5, 401, 19 },
                                      { 13, 101, 5 } };

static void check_blocks(unsigned features, const char *row, ndr_dtype dtype)
{
    assert_ok(ndr_core_force(context, features));
    force(&ndr_matmul_operation, row);
    for (size_t i = 0; i < COUNT_OF(block_shapes); ++i)
        check_shape(dtype, block_shapes[i], i % 3, 1, i % 2 ? 0 : 0.5);
    check_batch_of(dtype, 16, (shape){ 16, 16, 3 }, 1);
    force(&ndr_matmul_operation, NULL);
    assert_ok(ndr_core_force(context, 0));
}

/* For simulators, on which the row is not forced for all tests. */
static void test_matmul__of_few_rows_or_columns_agrees_with_loops(void **state)
{
    if (!quick() || !takes_variant(&ndr_matmul_operation, variant_of(&ndr_matmul_operation, "few"))) return;
    force(&ndr_matmul_operation, "few");
    check_shape(NDR_DTYPE_F32, (shape){ 2, 2, 35 }, 1, 2, 0.5);
    check_shape(NDR_DTYPE_F32, (shape){ 9, 1, 35 }, 1, 2, 0.5);
    force(&ndr_matmul_operation, NULL);
}

/* It is no variant of the list. */
static void test_matmul__of_first_calls_agrees_with_loops(void **state)
{
    static const shape few[] = { { 1, 1, 1 }, { 33, 31, 8 }, { 64, 64, 9 }, { 65, 129, 37 } };
    skip_without(takes_variant(&ndr_matmul_operation, variant_of(&ndr_matmul_operation, "blocked")),
                 "the device cannot take blocked");
    if (getenv("NDR_TEST_ROWS")) return;
    assert_ok(ndr_op_prefer(context, &ndr_matmul_operation, NDR_EVERY_CLASS, &ndr_matmul_blocked_soon));
    for (size_t i = 0; i < COUNT_OF(few); ++i) check_shape(NDR_DTYPE_F32, few[i], i % 3, 1, i % 2 ? 0.5 : 0);
    check_batch_of(NDR_DTYPE_F32, 3, (shape){ 40, 36, 7 }, 1);
    if (device.has_f64) check_shape(NDR_DTYPE_F64, few[3], 1, 2, 0.5);
    force(&ndr_matmul_operation, NULL);
}

/* NEON's blocks are never timed. This is their only test. */
static void test_matmul__in_blocks_for_any_core_agrees_with_loops(void **state)
{
    static const unsigned cores[] = { NDR_CORE_SSE2, NDR_CORE_AVX | NDR_CORE_FMA, NDR_CORE_AVX512F,
                                      NDR_CORE_NEON | NDR_CORE_AARCH64 };
    skip_without(!quick() && takes_variant(&ndr_matmul_operation, variant_of(&ndr_matmul_operation, "direct")),
                 "the device cannot take the rows for vector registers, or is too slow for more shapes");
    if (getenv("NDR_TEST_ROWS")) return; /* its rows are forced */
    ndr_core own;
    assert_ok(ndr_core_get(context, &own));
    for (size_t i = 0; i < COUNT_OF(cores); ++i) {
        if (ndr_core_of(cores[i]).vector_bytes == own.vector_bytes && ndr_core_of(cores[i]).registers == own.registers)
            continue; /* the other tests cover it */
        if (takes_case(2 * i, 5)) check_blocks(cores[i], "direct", NDR_DTYPE_F32);
        if (takes_case(2 * i + 1, 5)) check_blocks(cores[i], "packed", NDR_DTYPE_F32);
    }
    if (takes_case(1, 5)) check_blocks(NDR_CORE_SSE2, "thin", NDR_DTYPE_F32);
    if (takes_case(2, 5) && device.has_f64) check_blocks(NDR_CORE_SSE2, "packed", NDR_DTYPE_F64);
}

/* ---- every variant, whatever this device would choose ---- */

static bool is_chosen(const ndr_op_variant *variant)
{
    const ndr_matmul_request small = { .dtype = NDR_DTYPE_F32, .c = { .rows = 64, .cols = 64 }, .core = ndr_core_of(0),
                                         .depth = 64 };
    return ndr_op_select(&ndr_matmul_operation, &context->caps, 0, NULL, &small) == variant;
}

/* The tests that each row runs. */
#define RESULTS \
    cmocka_unit_test(test_matmul__of_any_shape_agrees_with_loops_for_f32), \
    cmocka_unit_test(test_matmul__of_any_shape_agrees_with_loops_for_f64), \
    cmocka_unit_test(test_matmul__keeps_to_its_elements_with_any_pitch_and_offset), \
    cmocka_unit_test(test_matmul__scales_by_alpha_and_beta), \
    cmocka_unit_test(test_matmul__of_whole_numbers_is_exact), \
    cmocka_unit_test(test_matmul__gives_the_same_bits_every_time), \
    cmocka_unit_test(test_matmul__without_beta_does_not_read_c), \
    cmocka_unit_test(test_matmul__without_alpha_does_not_read_a_and_b), \
    cmocka_unit_test(test_matmul__lets_nan_through_what_it_reads), \
    cmocka_unit_test(test_matmul__keeps_nan_in_its_own_row_and_column), \
    cmocka_unit_test(test_matmul__over_no_columns_only_scales_c), \
    cmocka_unit_test(test_matmul__of_the_largest_tiles_agrees_with_loops), \
    cmocka_unit_test(test_matmul__of_large_matrices_with_odd_rows_agrees_with_loops), \
    cmocka_unit_test(test_matmul__of_a_batch_agrees_with_loops_for_f32), \
    cmocka_unit_test(test_matmul__of_a_batch_agrees_with_loops_for_f64), \
    cmocka_unit_test(test_matmul__of_a_large_batch_reaches_each_product)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESULTS,
        cmocka_unit_test(test_matmul__over_no_columns_needs_no_buffers_for_a_and_b),
        cmocka_unit_test(test_matmul__of_no_rows_or_columns_does_nothing),
        cmocka_unit_test(test_matmul__tells_a_scaling_of_zero_from_one_that_was_left_out),
        cmocka_unit_test(test_matmul__refuses_factors_that_are_not_set),
        cmocka_unit_test(test_matmul__of_a_lower_accuracy_keeps_its_bound),
        cmocka_unit_test(test_matmul__refuses_an_accuracy_without_a_name),
        cmocka_unit_test(test_matmul__gives_an_event_that_ends_and_tells_its_time),
        cmocka_unit_test(test_matmul__sees_what_the_queue_did_before),
        REFUSALS(matmul, refusals),
        REFUSAL(matmul, refusals, refuses_rows_that_would_overlap),
        REFUSALS(matmul_batch, batch_refusals),
        REFUSAL(matmul_batch, batch_refusals, refuses_rows_that_would_overlap),
        cmocka_unit_test(test_matmul__refuses_a_batch_past_the_end_of_a_buffer),
        cmocka_unit_test(test_matmul__refuses_exactly_the_strides_that_let_products_overlap),
        cmocka_unit_test(test_matmul__of_one_product_does_not_use_strides),
        cmocka_unit_test(test_matmul__of_a_batch_of_nothing_does_nothing),
        cmocka_unit_test(test_matmul__refuses_shapes_that_do_not_fit_together),
        cmocka_unit_test(test_matmul__lets_the_last_row_end_with_the_buffer),
        cmocka_unit_test(test_matmul__in_blocks_for_any_core_agrees_with_loops),
        cmocka_unit_test(test_matmul__of_few_rows_or_columns_agrees_with_loops),
        cmocka_unit_test(test_matmul__of_first_calls_agrees_with_loops),
    };
    const struct CMUnitTest results[] = { RESULTS };
    return run_variants(&ndr_matmul_operation,
                    &(variant_tests){ tests, results, COUNT_OF(tests), COUNT_OF(results), is_chosen });
}
