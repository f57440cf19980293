/* in_use.c - every macro of the public headers in use, in code that is both C11 and C++11.
 *
 * Compiled only. Each line is one that a user might write, and none may draw a warning. */
#include <ndr/ndr.h>

struct pair {
    int first;
    float second;
};

ndr_status arguments(ndr_queue *queue, ndr_kernel *kernel, ndr_buffer *buffer);
ndr_status ranges(ndr_queue *queue, ndr_kernel *kernel, ndr_event **event);
ndr_status prepared(ndr_kernel *kernel, ndr_buffer *buffer, ndr_prepared **made);
ndr_status order(ndr_queue *queue, ndr_kernel *kernel, ndr_event *a, ndr_event *b);

ndr_status arguments(ndr_queue *queue, ndr_kernel *kernel, ndr_buffer *buffer)
{
    const struct pair p = { 1, 2.0f };
    const size_t n = 8;
    const ndr_arg arg = ndr_arg_of(n);
    const ndr_status numbers =
        ndr_launch(queue, kernel, ndr_range_1d(n), buffer, 1, 2u, 3l, 4ul, 5ll, 6ull, 7.0f, 8.0, 'c', (short)9,
                   (unsigned short)10, (signed char)11, (unsigned char)12, (int64_t)13, (uint64_t)14, n, true);
    if (numbers != NDR_OK) return numbers;
    const float x = 1.0f;
    const ndr_status vectors =
        ndr_launch(queue, kernel, ndr_range_1d(n), ndr_vector(float, x, 2.0f, x, 4), ndr_vector(unsigned char, 1, 2, 3),
                   ndr_vector(double, 1, 2), ndr_vector(int, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
    if (vectors != NDR_OK) return vectors;
    return ndr_launch(queue, kernel, ndr_range_1d(n), arg, ndr_null, ndr_struct(struct pair, p),
                      ndr_local(float, n), ndr_local(int, n, 2), ndr_local(struct pair, 2, 3, n));
}

ndr_status ranges(ndr_queue *queue, ndr_kernel *kernel, ndr_event **event)
{
    ndr_nd_range uneven = ndr_nd_range_2d(13, 31, 4, 8);
    uneven.edge = NDR_EDGE_SPLIT;
    const ndr_status first = ndr_launch(queue, kernel, ndr_range_3d(2, 3, 4));
    if (first != NDR_OK) return first;
    return ndr_launch_event(queue, kernel, event, uneven, 1);
}

ndr_status prepared(ndr_kernel *kernel, ndr_buffer *buffer, ndr_prepared **made)
{
    const struct pair p = { 1, 2.0f };
    const ndr_status status = ndr_prepare(kernel, made, ndr_range_1d(8), buffer, 1.0f, ndr_local(int, 2));
    if (status != NDR_OK) return status;
    return ndr_prepared_set(*made, 1, ndr_struct(struct pair, p));
}

ndr_status order(ndr_queue *queue, ndr_kernel *kernel, ndr_event *a, ndr_event *b)
{
    ndr_event *both[2];
    both[0] = a;
    both[1] = b;
    const ndr_status first = ndr_launch(ndr_after(queue, a, b), kernel, ndr_range_1d(1), 1);
    if (first != NDR_OK) return first;
    return ndr_queue_mark(ndr_after_all(queue, both, 2), &a);
}
