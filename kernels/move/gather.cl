/* gather.cl - output[i] = input[index[i]], or output[index[i]] = input[i]; each item copies CHUNK elements. An index
 * that is not one of the array reads 0, or writes nothing. A negative index is one above all others. */
#include "ndr/nd_item.clh"

/* Defaults, so that a file compiles alone; the library sets others. */
#ifndef E
#define E uint /* of an element: an unsigned integer of its size */
#endif
#ifndef I
#define I uint /* of an index */
#endif
#ifndef CHUNK
#define CHUNK 1
#endif

kernel void gather(global const E *input, ulong offset, ulong input_count, global const I *indexes, ulong indexes_offset,
                   ulong count, global E *output, ulong output_offset, NDR_ND_RANGE(1))
{
    const ulong first = ndr_global_id(NDR_ND_ITEM(1), 0) * CHUNK, end = min(first + CHUNK, count);
    for (ulong i = first; i < end; ++i) {
        const ulong from = (ulong)indexes[indexes_offset + i];
        output[output_offset + i] = from < input_count ? input[offset + from] : 0;
    }
}

kernel void scatter(global const E *input, ulong offset, global const I *indexes, ulong indexes_offset, ulong count,
                    global E *output, ulong output_offset, ulong output_count, NDR_ND_RANGE(1))
{
    const ulong first = ndr_global_id(NDR_ND_ITEM(1), 0) * CHUNK, end = min(first + CHUNK, count);
    for (ulong i = first; i < end; ++i) {
        const ulong to = (ulong)indexes[indexes_offset + i];
        if (to < output_count) output[output_offset + to] = input[offset + i];
    }
}
