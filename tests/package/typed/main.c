/* main.c - launches kernels of two files, in two files of the program, and prints what they gave. */
#include <stdio.h>

#include "scale.cl.h"

ndr_status count_below(ndr_queue *queue, ndr_event *scaled, ndr_buffer *x, ndr_buffer *result); /* other.c */

#define TRY(call) \
    if (call) return fprintf(stderr, "%s\n", ndr_last_error()), 1

int main(void)
{
    enum { N = 100 };
    float x[N];
    unsigned below;
    for (int i = 0; i < N; ++i) x[i] = (float)i;
    const struct weights w = { 4, 1 };
    ndr_context *context;
    ndr_queue *queue;
    ndr_buffer *buffer, *result;
    ndr_event *scaled;
    TRY(ndr_context_create(NULL, &context));
    TRY(ndr_queue_create(context, NULL, &queue));
    TRY(ndr_buffer_create_from(context, sizeof x, x, &buffer));
    TRY(ndr_buffer_create(context, sizeof below, &result));
    TRY(scale_event(queue, &scaled, ndr_range_1d(N), buffer, w));
    TRY(count_below(queue, scaled, buffer, result));
    TRY(ndr_buffer_read(queue, buffer, 0, sizeof x, x, NULL));
    TRY(ndr_buffer_read(queue, result, 0, sizeof below, &below, NULL));
    printf("%g %g, %u below\n", (double)x[1], (double)x[N - 1], below);
    printf("parts %d, limit %d\n", scale_PARTS, scale_LIMIT);
    ndr_event_destroy(scaled);
    ndr_buffer_destroy(buffer);
    ndr_buffer_destroy(result);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return 0;
}
