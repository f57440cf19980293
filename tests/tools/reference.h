/* reference.h - the expected results of operations, by plain loops that are easy to check.
 *
 * Integers and every minimum and maximum are exact. Float sums and products are computed in long double, and
 * compared within the bound that ndr.h states. */
#ifndef NDR_TESTS_REFERENCE_H
#define NDR_TESTS_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "ndr/ndr.h"

/* One element of any type that operations take. */
typedef union number {
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
} number;

/* ---- elements in an array ---- */

number number_get(ndr_dtype dtype, const void *array, size_t i);
void number_set(ndr_dtype dtype, void *array, size_t i, number value);

/* A small whole number as an element; negative ones wrap if the type is unsigned. */
number number_of(ndr_dtype dtype, int value);

/* Same value. All NaNs are equal here, and -0 equals 0. */
bool number_equal(ndr_dtype dtype, number a, number b);

bool is_float(ndr_dtype dtype);
bool is_nan(ndr_dtype dtype, number value);

/* The element as a real number; only for floats. */
long double real(ndr_dtype dtype, number value);

/* For messages: the value and its bits. Valid until the fourth call from now. */
const char *number_text(ndr_dtype dtype, number value);

/* ---- the same numbers on every machine ---- */

/* The next of a sequence of 64 random bits. */
uint64_t random_bits(uint64_t *seed);

/* One of 0, ..., limit - 1. */
size_t random_below(uint64_t *seed, size_t limit);

/* Integers of all bits; floats in [-1, 1). */
number random_number(ndr_dtype dtype, uint64_t *seed);

/* ---- reductions ---- */

/* The result of ndr_reduce(). For float sums use it only for NaN and infinities, and reference_sum() for the rest. */
number reference_reduce(ndr_dtype dtype, ndr_op op, const void *array, size_t count);

/* The exact sum of floats, within the precision of long double. */
long double reference_sum(ndr_dtype dtype, const void *array, size_t count);

/* Whether ndr_reduce() may return `got`. */
bool reduces_to(ndr_dtype dtype, ndr_op op, ndr_reduce_method method, const void *array, size_t count,
                number got);

/* ---- matrices ---- */

/* A row-major matrix in host memory. */
typedef struct host_matrix {
    ndr_dtype dtype;
    void *array;
    size_t offset, rows, cols, pitch;
} host_matrix;

number host_matrix_get(const host_matrix *matrix, size_t row, size_t col);

/* One element of alpha * a * b + beta * c, and the largest allowed error. */
typedef struct product_element {
    long double value, bound;
} product_element;

/* All elements of c, row after row. */
void reference_matmul(double alpha, const host_matrix *a, const host_matrix *b, double beta, const host_matrix *c,
                      product_element *wanted);

#endif
