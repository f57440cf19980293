/* in_use.c - every macro of the public headers in use, in code that is both C11 and C++11.
 *
 * Compiled only. Each line is one that a user might write, and none may draw a warning. */
#include <ndr/ndr_image.h>
#include <ndr/ndr_ops.h>
#include <ndr/ndr_shared.h>

struct pair {
    int first;
    float second;
};

ndr_status arguments(ndr_queue *queue, ndr_kernel *kernel, ndr_buffer *buffer);
ndr_status ranges(ndr_queue *queue, ndr_kernel *kernel, ndr_event **event);
ndr_status prepared(ndr_kernel *kernel, ndr_buffer *buffer, ndr_prepared **made);
ndr_status order(ndr_queue *queue, ndr_kernel *kernel, ndr_event *a, ndr_event *b);
ndr_status commands(ndr_queue *queue, ndr_prepared *prepared, ndr_buffer *x, ndr_image *image, ndr_shared *shared,
                    ndr_event *a);

ndr_status arguments(ndr_queue *queue, ndr_kernel *kernel, ndr_buffer *buffer)
{
    const struct pair p = { 1, 2.0f };
#ifdef __cplusplus
#define PAIR(first, second) pair{ first, second }
#else
#define PAIR(first, second) (struct pair){ first, second }
#endif
#ifdef __cplusplus
    NDR_IGNORE(ndr_launch(queue, kernel, ndr_range_1d(1), ndr_struct(pair, 1, 2.0f), ndr_struct(unsigned short, 1)));
#endif
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
                      ndr_struct(struct pair, PAIR(1, 2.0f)),
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
    NDR_IGNORE(ndr_queue_mark(ndr_after(queue, NULL), &a));
    NDR_IGNORE(ndr_queue_mark(ndr_after(queue, a, NULL, b), &a));
    return ndr_queue_mark(ndr_after_all(queue, both, 2), &a);
}

/* A function that passes on what it gets. */
static inline ndr_status launch_behind(const ndr_queue_after after, ndr_kernel *kernel)
{
    return ndr_launch(after, kernel, ndr_range_1d(1), 1);
}

/* Each command takes a queue, also NULL, and ndr_after(). */
#define BOTH(command, ...)                               \
    do {                                                 \
        NDR_IGNORE(command(queue, __VA_ARGS__));         \
        NDR_IGNORE(command(ndr_after(queue, a), __VA_ARGS__)); \
    } while (0)

ndr_status commands(ndr_queue *queue, ndr_prepared *prepared, ndr_buffer *x, ndr_image *image, ndr_shared *shared,
                    ndr_event *a)
{
    char host[4] = { 0, 0, 0, 0 };
    void *mapped;
    ndr_mapped_part part;
    ndr_rect_desc rect;
    ndr_status (*const create)(ndr_context *, const ndr_queue_desc *, ndr_queue **) = ndr_queue_create;
    ndr_status (*const mark)(ndr_queue *, ndr_event **) = ndr_queue_mark;
    ndr_status (*const reduce)(ndr_queue *, const ndr_reduce_desc *, ndr_event **) = ndr_reduce;
    ndr_reduce_desc sum;
    ndr_matmul_desc product;
    ndr_random_desc random;
    ndr_map_desc map;
    ndr_map_reduce_desc mapped_sum;
    rect.element_bytes = product.count = sum.count = random.count = map.input_count = mapped_sum.input_count = 0;
    if (create(NULL, NULL, &queue) != NDR_OK || mark(queue, &a) != NDR_OK) return reduce(queue, NULL, NULL);
    BOTH(ndr_queue_mark, NULL);
    BOTH(ndr_queue_barrier, &a);
    BOTH(ndr_host_task, NULL, NULL, NULL);
    BOTH(ndr_buffer_write, x, 0, 4, host, NULL);
    BOTH(ndr_buffer_read, x, 0, 4, host, NULL);
    BOTH(ndr_buffer_fill, x, 0, 4, host, 1, NULL);
    BOTH(ndr_buffer_copy, x, 0, x, 2, 2, NULL);
    BOTH(ndr_buffer_transfer, x, 0, queue, x, 2, 2, NULL);
    BOTH(ndr_buffer_transfer, x, 0, ndr_after(queue, a), x, 2, 2, &a);
    BOTH(ndr_buffer_copy_rect, x, x, &rect, NULL);
    BOTH(ndr_buffer_write_rect, x, &rect, host, NULL);
    BOTH(ndr_buffer_read_rect, x, &rect, host, NULL);
    BOTH(ndr_buffer_map, x, NDR_MAP_READ, 0, 4, &mapped);
    BOTH(ndr_buffer_unmap, x, mapped, NULL);
    BOTH(ndr_prepared_run, prepared, NULL);
    BOTH(ndr_reduce, &sum, NULL);
    BOTH(ndr_matmul, &product, NULL);
    BOTH(ndr_random, &random, NULL);
    BOTH(ndr_map, &map, NULL);
    BOTH(ndr_map_reduce, &mapped_sum, NULL);
    BOTH(ndr_image_write, image, NULL, host, NULL);
    BOTH(ndr_image_read, image, NULL, host, NULL);
    BOTH(ndr_image_fill, image, NULL, host, NULL);
    BOTH(ndr_image_copy, image, NULL, image, NULL, NULL);
    BOTH(ndr_image_map, image, NDR_MAP_READ, NULL, &part);
    BOTH(ndr_image_unmap, image, part.host, NULL);
    BOTH(ndr_shared_map, shared, NDR_MAP_READ, 0, 4, NULL);
    BOTH(ndr_shared_unmap, shared, mapped, NULL);
    BOTH(ndr_shared_prefetch, shared, 0, 4, NULL);
    BOTH(ndr_shared_write, shared, 0, 4, host, NULL);
    BOTH(ndr_shared_read, shared, 0, 4, host, NULL);
    BOTH(ndr_shared_copy, shared, 0, shared, 2, 2, NULL);
    if (launch_behind(ndr_after_all(queue, &a, 1), NULL) != NDR_OK) return NDR_OK;
    return ndr_queue_mark(NULL, NULL);
}
