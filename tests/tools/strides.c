/* strides.c - arrays whose elements do not follow each other: where their elements are, and random ones. */
#include "strides.h"

#include <stdlib.h>

#include "reference.h"

size_t place(ndr_array *array, size_t guards)
{
    size_t below = 0, above = 0;
    for (unsigned d = 0; d < array->shape.dims; ++d) {
        const int64_t stride = array->stride[d];
        const size_t reach = array->shape.size[d] > 0 ? (array->shape.size[d] - 1) * (size_t)llabs(stride) : 0;
        *(stride < 0 ? &below : &above) += reach;
    }
    array->offset = below + guards;
    return below + above + 1 + 2 * guards;
}

size_t index_of(const ndr_array *array, const size_t *at)
{
    int64_t index = (int64_t)array->offset;
    for (unsigned d = 0; d < array->shape.dims; ++d) index += (int64_t)at[d] * array->stride[d];
    return (size_t)index;
}

ndr_range shape_of(unsigned dims, const size_t *size)
{
    return dims == 1   ? ndr_range_1d(size[0])
           : dims == 2 ? ndr_range_2d(size[0], size[1])
                       : ndr_range_3d(size[0], size[1], size[2]);
}

void make_strides(ndr_array *array, bool is_input, uint64_t *random)
{
    unsigned order[3] = { 0, 1, 2 };
    int64_t stride = 1 + (int64_t)(random_bits(random) % 4 == 0);
    for (unsigned d = array->shape.dims; d > 1; --d) {
        const unsigned other = (unsigned)random_below(random, d), kept = order[d - 1];
        order[d - 1] = order[other], order[other] = kept;
    }
    for (unsigned k = 0; k < array->shape.dims; ++k) {
        const unsigned d = order[k];
        const bool repeats = is_input && random_bits(random) % 8 == 0;
        array->stride[d] = repeats ? 0 : random_bits(random) % 4 == 0 ? -stride : stride;
        if (!repeats) stride = stride * (int64_t)(array->shape.size[d] ? array->shape.size[d] : 1);
        if (random_bits(random) % 3 == 0) stride += (int64_t)random_below(random, 5);
    }
}
