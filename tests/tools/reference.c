/* reference.c - the expected results of operations, by plain loops that are easy to check. */
#include "reference.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements in an array ---- */

number number_get(ndr_dtype dtype, const void *array, size_t i)
{
    number value = { .u64 = 0 };
    memcpy(&value, (const char *)array + i * ndr_dtype_size(dtype), ndr_dtype_size(dtype));
    return value;
}

void number_set(ndr_dtype dtype, void *array, size_t i, number value)
{
    memcpy((char *)array + i * ndr_dtype_size(dtype), &value, ndr_dtype_size(dtype));
}

number number_of(ndr_dtype dtype, int value)
{
    number out = { .u64 = 0 };
    switch (dtype) {
    case NDR_DTYPE_I32: out.i32 = value; break;
    case NDR_DTYPE_U32: out.u32 = (uint32_t)value; break;
    case NDR_DTYPE_I64: out.i64 = value; break;
    case NDR_DTYPE_U64: out.u64 = (uint64_t)value; break;
    case NDR_DTYPE_F32: out.f32 = (float)value; break;
    default: out.f64 = value; break;
    }
    return out;
}

bool is_float(ndr_dtype dtype) { return dtype == NDR_DTYPE_F32 || dtype == NDR_DTYPE_F64; }

long double real(ndr_dtype dtype, number value) { return dtype == NDR_DTYPE_F32 ? value.f32 : value.f64; }

/* The distance from 1 to the next float or double. */
static double eps_of(ndr_dtype dtype) { return dtype == NDR_DTYPE_F32 ? FLT_EPSILON : DBL_EPSILON; }

bool is_nan(ndr_dtype dtype, number value) { return is_float(dtype) && isnan(real(dtype, value)); }

bool number_equal(ndr_dtype dtype, number a, number b)
{
    if (is_nan(dtype, a) || is_nan(dtype, b)) return is_nan(dtype, a) && is_nan(dtype, b);
    if (is_float(dtype)) return real(dtype, a) == real(dtype, b);
    return memcmp(&a, &b, ndr_dtype_size(dtype)) == 0;
}

const char *number_text(ndr_dtype dtype, number value)
{
    static char texts[4][64];
    static unsigned next;
    char *text = texts[next++ % 4];
    switch (dtype) {
    case NDR_DTYPE_I32: snprintf(text, sizeof texts[0], "%" PRId32, value.i32); break;
    case NDR_DTYPE_U32: snprintf(text, sizeof texts[0], "%" PRIu32, value.u32); break;
    case NDR_DTYPE_I64: snprintf(text, sizeof texts[0], "%" PRId64, value.i64); break;
    case NDR_DTYPE_U64: snprintf(text, sizeof texts[0], "%" PRIu64, value.u64); break;
    case NDR_DTYPE_F32: snprintf(text, sizeof texts[0], "%.9g (%08" PRIx32 ")", value.f32, value.u32); break;
    default: snprintf(text, sizeof texts[0], "%.17g (%016" PRIx64 ")", value.f64, value.u64); break;
    }
    return text;
}

/* ---- the same numbers on every machine ---- */

/* Steele, Lea and Flood's splitmix64. */
uint64_t random_bits(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

size_t random_below(uint64_t *seed, size_t limit) { return (size_t)(random_bits(seed) % limit); }

number random_number(ndr_dtype dtype, uint64_t *seed)
{
    number value = { .u64 = random_bits(seed) };
    if (dtype == NDR_DTYPE_F32) value.f32 = (float)(value.u64 >> 40) * 0x1p-23f - 1;
    else if (dtype == NDR_DTYPE_F64) value.f64 = (double)(value.u64 >> 11) * 0x1p-52 - 1;
    return value;
}

/* ---- reductions ---- */

static number identity_of(ndr_dtype dtype, ndr_op op)
{
    number value = { .u64 = 0 };
    if (op == NDR_OP_SUM) return value;
    const bool smallest = op == NDR_OP_MAX;
    switch (dtype) {
    case NDR_DTYPE_I32: value.i32 = smallest ? INT32_MIN : INT32_MAX; break;
    case NDR_DTYPE_U32: value.u32 = smallest ? 0 : UINT32_MAX; break;
    case NDR_DTYPE_I64: value.i64 = smallest ? INT64_MIN : INT64_MAX; break;
    case NDR_DTYPE_U64: value.u64 = smallest ? 0 : UINT64_MAX; break;
    case NDR_DTYPE_F32: value.f32 = smallest ? -INFINITY : INFINITY; break;
    default: value.f64 = smallest ? -INFINITY : INFINITY; break;
    }
    return value;
}

/* Unsigned sums wrap, and the signed ones have the same bits. */
static number sum(ndr_dtype dtype, number a, number b)
{
    switch (dtype) {
    case NDR_DTYPE_I32:
    case NDR_DTYPE_U32: a.u32 += b.u32; break;
    case NDR_DTYPE_I64:
    case NDR_DTYPE_U64: a.u64 += b.u64; break;
    case NDR_DTYPE_F32: a.f32 += b.f32; break;
    default: a.f64 += b.f64; break;
    }
    return a;
}

static bool is_less(ndr_dtype dtype, number a, number b)
{
    switch (dtype) {
    case NDR_DTYPE_I32: return a.i32 < b.i32;
    case NDR_DTYPE_U32: return a.u32 < b.u32;
    case NDR_DTYPE_I64: return a.i64 < b.i64;
    case NDR_DTYPE_U64: return a.u64 < b.u64;
    case NDR_DTYPE_F32: return a.f32 < b.f32;
    default: return a.f64 < b.f64;
    }
}

number reference_reduce(ndr_dtype dtype, ndr_op op, const void *array, size_t count)
{
    if (count == 0) return identity_of(dtype, op);
    number total = number_get(dtype, array, 0);
    for (size_t i = 1; i < count; ++i) {
        const number x = number_get(dtype, array, i);
        if (op == NDR_OP_SUM) total = sum(dtype, total, x);
        else if (is_nan(dtype, total)) total = x; /* a NaN is ignored unless all are NaN */
        else if (op == NDR_OP_MIN && is_less(dtype, x, total)) total = x;
        else if (op == NDR_OP_MAX && is_less(dtype, total, x)) total = x;
    }
    return total;
}

/* Neumaier's sum: the rounding errors of the additions are added at the end. */
long double reference_sum(ndr_dtype dtype, const void *array, size_t count)
{
    long double total = 0, rest = 0;
    for (size_t i = 0; i < count; ++i) {
        const long double x = real(dtype, number_get(dtype, array, i));
        const long double next = total + x;
        rest += fabsl(total) >= fabsl(x) ? total - next + x : x - next + total;
        total = next;
    }
    return total + rest;
}

static long double sum_of_magnitudes_of(ndr_dtype dtype, const void *array, size_t count)
{
    long double total = 0;
    for (size_t i = 0; i < count; ++i) total += fabsl(real(dtype, number_get(dtype, array, i)));
    return total;
}

static int ceil_log2(size_t count)
{
    int log = 0;
    while (log < 63 && (size_t)1 << log < count) ++log;
    return log;
}

static long double sum_bound(ndr_dtype dtype, ndr_reduce_method method, size_t count, long double sum_of_magnitudes)
{
    const int c = method == NDR_REDUCE_ATOMIC ? 2048 : 256;
    return (ceil_log2(count) + c) * (long double)eps_of(dtype) * sum_of_magnitudes;
}

bool reduces_to(ndr_dtype dtype, ndr_op op, ndr_reduce_method method, const void *array, size_t count,
                number got)
{
    const number wanted = reference_reduce(dtype, op, array, count);
    if (!is_float(dtype) || op != NDR_OP_SUM || !isfinite(real(dtype, wanted)))
        return number_equal(dtype, got, wanted);
    const long double error = fabsl(real(dtype, got) - reference_sum(dtype, array, count));
    return error <= sum_bound(dtype, method, count, sum_of_magnitudes_of(dtype, array, count));
}

/* ---- matrices ---- */

number host_matrix_get(const host_matrix *m, size_t row, size_t col)
{
    return number_get(m->dtype, m->array, m->offset + row * m->pitch + col);
}

/* The elements as doubles, which hold those of f32 and f64 exactly. */
static double *copy_elements(const host_matrix *m)
{
    double *copy = malloc((m->rows * m->cols + 1) * sizeof *copy);
    for (size_t row = 0; row < m->rows; ++row)
        for (size_t col = 0; col < m->cols; ++col)
            copy[row * m->cols + col] = (double)real(m->dtype, host_matrix_get(m, row, col));
    return copy;
}

/* Elements that are multiplied by zero are not read. */
static product_element element_of(double alpha, const double *a_row, const double *b_col, size_t depth, size_t b_cols,
                                  double beta, long double c_before, long double eps)
{
    long double dot = 0, magnitudes = 0;
    const long double before = beta != 0 ? c_before : 0;
    for (size_t p = 0; alpha != 0 && p < depth; ++p) {
        const long double term = (long double)a_row[p] * b_col[p * b_cols];
        dot += term;
        magnitudes += fabsl(term);
    }
    return (product_element){
        .value = alpha * dot + beta * before,
        .bound = (depth + 2) * eps * (fabsl((long double)alpha) * magnitudes + fabsl(beta * before)),
    };
}

void reference_matmul(double alpha, const host_matrix *a, const host_matrix *b, double beta, const host_matrix *c,
                      product_element *wanted)
{
    double *x = copy_elements(a), *y = copy_elements(b), *z = copy_elements(c);
    for (size_t row = 0; row < c->rows; ++row)
        for (size_t col = 0; col < c->cols; ++col)
            wanted[row * c->cols + col] = element_of(alpha, x + row * a->cols, y + col, a->cols, b->cols, beta,
                                                     z[row * c->cols + col], eps_of(c->dtype));
    free(x);
    free(y);
    free(z);
}
