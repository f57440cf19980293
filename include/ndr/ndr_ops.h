/** @file ndr_ops.h
 * Operations on whole buffers and arrays.
 *
 * The rules of ndr.h hold. A descriptor names the types, the operator and options first, then the inputs, then the
 * outputs; zero members are defaults. Contiguous elements are an ndr_span and a count, others an ndr_array. Operators
 * are values of #ndr_op. An operation is one command: it follows the work before it in its queue, may wait for events
 * (ndr_after()), and has one event. Results stay on the device. An output must not overlap an input, except where in
 * place is allowed. docs/operations.md has a program for each operation. */
#ifndef NDR_NDR_OPS_H
#define NDR_NDR_OPS_H

#include "ndr/ndr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays -------------------------------------------------------------------------------------- */

/** Elements of a buffer in 1 to 3 dimensions. Element (i0, i1, i2) is element offset + i0 * stride[0] + i1 * stride[1]
 * + i2 * stride[2] of the buffer. The struct is fixed. */
typedef struct ndr_array {
    ndr_buffer *buffer; /**< The buffer; may be NULL when the array has no elements. */
    ndr_dtype dtype;    /**< The type of its elements. */
    size_t offset;      /**< The offset of element (0, 0, 0), in elements. */
    ndr_range shape;    /**< Elements of each dimension; may be 0. */
    int64_t stride[3];  /**< Elements from one index of a dimension to the next; may be negative. 0 repeats an input along
                             the dimension; an output must not have two indexes for one element. */
} ndr_array;

/** The array of that shape whose elements follow each other from the first element of the buffer on. */
static inline ndr_array ndr_array_of(ndr_buffer *buffer, ndr_dtype dtype, ndr_range shape)
{
    ndr_array array = { buffer, dtype, 0, shape, { 0, 0, 0 } };
    int64_t stride = 1;
    unsigned d = shape.dims < 3 ? shape.dims : 3;
    while (d-- > 0) {
        array.stride[d] = stride;
        stride *= (int64_t)shape.size[d];
    }
    return array;
}

#ifdef __cplusplus
}
#endif

#endif
