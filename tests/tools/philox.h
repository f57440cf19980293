/* philox.h - the expected values of random streams, written apart from the kernels. */
#ifndef NDR_TESTS_PHILOX_H
#define NDR_TESTS_PHILOX_H

#include "reference.h"

/* Philox 4x32-10 by its definition: `words` becomes what the generator makes of it. */
void philox(uint32_t words[4], const uint32_t key[2]);

/* Value i of a stream, of 32 or 64 bits, and of an attempt, 0 at first. */
uint32_t philox_u32(uint64_t seed, uint64_t stream, uint64_t i, uint32_t attempt);
uint64_t philox_u64(uint64_t seed, uint64_t stream, uint64_t i, uint32_t attempt);

/* The upper and lower half of a product. */
uint64_t product_high(uint64_t a, uint64_t b);

/* Value i of those below n, n > 0: the words of value v are those with v = x * n / 2^width, without the lowest ones
 * where there are more than of other values. */
uint32_t philox_u32_below(uint64_t seed, uint64_t stream, uint64_t i, uint32_t n);
uint64_t philox_u64_below(uint64_t seed, uint64_t stream, uint64_t i, uint64_t n);

/* A value in [0, 1). */
float philox_f32(uint64_t seed, uint64_t stream, uint64_t i);
double philox_f64(uint64_t seed, uint64_t stream, uint64_t i);

/* The two normal values of two words of `bits` bits, 32 or 64, by Box and Muller's formula. */
void normals_of(uint64_t a, uint64_t b, unsigned bits, long double values[2]);

/* Value i of the normal ones. */
long double philox_normal(ndr_dtype dtype, uint64_t seed, uint64_t stream, uint64_t i);

/* The distance of a value from the exact one, in units of the last place of the exact one in dtype. */
long double ulps_from(ndr_dtype dtype, long double value, long double exact);

/* Element i < n of the permutation of 0 to n - 1. */
uint64_t philox_permuted(uint64_t seed, uint64_t stream, uint64_t i, uint64_t n);

#endif
