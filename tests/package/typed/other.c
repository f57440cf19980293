/* other.c - the second file of the program. It includes both headers. */
#include "count.cl.h"
#include "scale.cl.h"

ndr_status count_below(ndr_queue *queue, ndr_event *scaled, ndr_buffer *x, ndr_buffer *result);

ndr_status count_below(ndr_queue *queue, ndr_event *scaled, ndr_buffer *x, ndr_buffer *result)
{
    return count(ndr_after(queue, scaled), ndr_range_1d(ndr_buffer_size(x) / sizeof(float)), x,
                 ndr_reducer(NDR_OP_SUM, 0, result, 0));
}
