/* rows_matmul.h - the operands of a product, for its rivals and for first calls. */
#ifndef ROWS_MATMUL_H
#define ROWS_MATMUL_H

#include "bench.h"

/* c = alpha * a * b + beta * c, row-major. */
typedef struct matmul_shape {
    ndr_dtype dtype; /* F32 or F64 */
    size_t m, n, k;
    size_t padding; /* elements between the end of a row and the start of the next, in all three matrices */
    double alpha, beta;
} matmul_shape;

typedef struct matmul {
    matmul_shape of;
    size_t element_bytes;
    size_t a_pitch, b_pitch, c_pitch;
    shared_memory a, b, c;
    void *c_before; /* what c starts as */
} matmul;

extern const work matmul_work;
extern const contender matmul_own[];

#endif
