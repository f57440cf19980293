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

/* ---- sort ---------------------------------------------------------------------------------------- */

/** Sort keys, and values along with them. The sort is stable, also in descending order: elements with equal keys keep
 * their order.
 *
 * Floats: -0 and +0 are equal. All NaN are equal to each other and greater than +infinity, whatever their sign: they
 * come last in ascending order, and first in descending order. Each key keeps its bits. No device needs has_f64.
 *
 * With a range of bits only these bits of the keys are compared; bit 0 is the least significant one. The bits of a signed
 * integer count as if 2^(width - 1) had been added to it. The bits of a float count as those of its order: for a float
 * that is not negative its bits with the sign bit set, for a negative one its inverted bits, for a NaN all ones.
 *
 * The outputs may be the inputs: `sorted_keys` the same span as `keys`, `sorted_values` as `values`. Any other overlap
 * of an output with an input or with the other output is refused. The queue keeps temporary memory of about the size of
 * the keys and values. */
typedef struct ndr_sort_desc {
    ndr_dtype dtype;        /**< Of the keys: any. */
    size_t value_bytes;     /**< Bytes of a value, less than 2^32; 0: no values. 1, 2, 4, 8 and 16 are the fastest. */
    bool is_descending;     /**< Default: the smallest key first. */
    unsigned begin_bit;     /**< The first bit that is compared. */
    unsigned end_bit;       /**< The bit behind the last one that is compared; 0: the width of the type. */
    ndr_span keys;          /**< `count` keys. */
    ndr_span values;        /**< As many values; the offset counts values. Not read if value_bytes is 0. */
    size_t count;           /**< May be 0, and then the buffers may be NULL. */
    ndr_span sorted_keys;   /**< The keys in order; may be `keys`. */
    ndr_span sorted_values; /**< The value of each of them; may be `values`. Not read if value_bytes is 0. */
    NDR_MAY_GROW
} ndr_sort_desc;

/** Enqueue a sort. */
NDR_SIZED ndr_status ndr_sort(ndr_queue *queue, const ndr_sort_desc *desc, ndr_event **event);

/** Which implementation ndr_sort() would run, as ndr_reduce_explain(). Whether a sort is in place is read, too. */
NDR_SIZED ndr_status ndr_sort_explain(ndr_context *context, const ndr_sort_desc *desc, size_t capacity, char *text,
                                      size_t *length);

/* As in ndr_sized.h. */
NDR_MUST_CHECK ndr_status ndr_sort_sized(ndr_queue *queue, const ndr_sort_desc *desc, size_t desc_bytes,
                                         ndr_event **event);
NDR_MUST_CHECK ndr_status ndr_sort_explain_sized(ndr_context *context, const ndr_sort_desc *desc, size_t desc_bytes,
                                                 size_t capacity, char *text, size_t *length);

#ifndef NDR_BUILDING

static inline ndr_status ndr_sort(ndr_queue *queue_, const ndr_sort_desc *desc_, ndr_event **event_)
{
    return ndr_sort_sized(queue_, desc_, sizeof *desc_, event_);
}

static inline ndr_status ndr_sort_explain(ndr_context *context_, const ndr_sort_desc *desc_, size_t capacity_,
                                          char *text_, size_t *length_)
{
    return ndr_sort_explain_sized(context_, desc_, sizeof *desc_, capacity_, text_, length_);
}

#endif

#ifdef __cplusplus
}
#endif

/* The commands, which take a queue or ndr_after(). */
#ifndef NDR_BUILDING
#define ndr_sort(queue, ...) ndr_sort(NDR_QUEUE_(queue), __VA_ARGS__)
#endif

#endif
