/* rows_reduce.h - the operands of a reduction, for its rivals and for first calls. */
#ifndef ROWS_REDUCE_H
#define ROWS_REDUCE_H

#include "bench.h"

typedef struct reduce_shape {
    ndr_dtype dtype; /* F32, F64 or I32 */
    ndr_op op;
    ndr_reduce_method method; /* of libndr */
    size_t count;
    size_t copies; /* of the input, one after the other; each call takes the next. Many do not fit in caches */
    ndr_numerics numerics; /* of libndr */
} reduce_shape;

typedef struct reduction {
    reduce_shape of;
    shared_memory input, output; /* output[0] is the result */
    size_t next;                 /* copy */
    double expected, absolute_sum;
    cl_kernel empty;
} reduction;

extern const work reduce_work;
extern const contender reduce_own[];

/* The first element of the copy for this call: its index in the buffer, its address on the host. */
size_t take_offset(reduction *j);
const void *take_host(reduction *j);

#endif
