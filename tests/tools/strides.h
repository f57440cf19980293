/* strides.h - arrays whose elements do not follow each other: where their elements are, and random ones. */
#ifndef NDR_TESTS_STRIDES_H
#define NDR_TESTS_STRIDES_H

#include "ndr/ndr_ops.h"

/* Where the first element may be, and how many elements the buffer needs, for strides of both signs. */
size_t place(ndr_array *array, size_t guards);

/* Of the element at these indexes, one for each dimension. */
size_t index_of(const ndr_array *array, const size_t *at);

ndr_range shape_of(unsigned dims, const size_t *size);

/* Dimensions in a random order of memory, with gaps and of both signs; of an input a dimension may repeat. */
void make_strides(ndr_array *array, bool is_input, uint64_t *random);

#endif
