/* rows_matmul.h - the operands of a product, for its rivals and for first calls. */
#ifndef ROWS_MATMUL_H
#define ROWS_MATMUL_H

#include "bench.h"

/* c = alpha * a * b + beta * c, row-major; or `count` such products, whose matrices lie one after the other. */
typedef struct matmul_shape {
    ndr_dtype dtype; /* of a and b: F32, F64; on GPUs F16, BF16, I8 */
    size_t m, n, k;
    size_t padding; /* elements between the end of a row and the start of the next, in all three matrices */
    double alpha, beta;
    size_t count;     /* 0: 1 */
    ndr_dtype output; /* of c; NONE: as a and b, I32 for I8 */
    bool transposes_a, transposes_b;
} matmul_shape;

#define MATMUL_PLAIN 0, false, false /* c of the type of a and b, nothing transposed */

typedef struct matmul {
    matmul_shape of;
    ndr_accuracy accuracy;
    size_t element_bytes, c_element_bytes;
    ndr_dtype output; /* of c */
    size_t a_pitch, b_pitch, c_pitch;
    size_t count, a_stride, b_stride, c_stride; /* products; elements */
    shared_memory a, b, c;
    void *c_before; /* what c starts as */
} matmul;

/* Set the shape, pitches, strides, count and full accuracy, and nothing else. */
void matmul_set(matmul *j, const matmul_shape *shape);
size_t matmul_a_bytes(const matmul *j), matmul_b_bytes(const matmul *j), matmul_c_bytes(const matmul *j);

extern const work matmul_work;
extern const contender matmul_own[];

#endif
