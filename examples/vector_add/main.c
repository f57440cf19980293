/* main.c - c = a + b for any number of elements, over a range or in groups of a given size. */
#include "example.h"
#include "vector_add.cl.h"

#include <stdio.h>
#include <stdlib.h>

static void fill(float *x, size_t n, unsigned step)
{
    for (size_t i = 0; i < n; ++i) x[i] = (float)(i * step % 1000) / 8;
}

/* With groups, the last one is smaller where n is no multiple of their size. */
static void launch(ndr_queue *queue, size_t n, size_t group, ndr_buffer *a, ndr_buffer *b, ndr_buffer *c)
{
    ndr_nd_range in_groups = ndr_nd_range_1d(n, group);
    in_groups.edge = NDR_EDGE_SPLIT;
    if (group == 0) MUST(add(queue, ndr_range_1d(n), a, b, c));
    else MUST(add_in_groups(queue, in_groups, a, b, c));
}

static void add_on_device(const char *device, size_t n, size_t group, const float *a, const float *b, float *c)
{
    ndr_context *context;
    ndr_queue *queue;
    ndr_buffer *a_buffer, *b_buffer, *c_buffer;

    open_device(device, false, &context, &queue);
    MUST(ndr_buffer_create_from(context, n * sizeof *a, a, &a_buffer));
    MUST(ndr_buffer_create_from(context, n * sizeof *b, b, &b_buffer));
    MUST(ndr_buffer_create(context, n * sizeof *c, &c_buffer));
    launch(queue, n, group, a_buffer, b_buffer, c_buffer);
    MUST(ndr_buffer_read(queue, c_buffer, 0, n * sizeof *c, c, NULL));

    ndr_buffer_destroy(a_buffer);
    ndr_buffer_destroy(b_buffer);
    ndr_buffer_destroy(c_buffer);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
}

static bool show(size_t n, const float *a, const float *b, const float *c)
{
    double *expected = allocate(n, sizeof *expected);
    for (size_t i = 0; i < n; ++i) expected[i] = (double)(a[i] + b[i]);
    for (size_t i = 0; i < n && i < 10; ++i)
        printf("  %g + %g = %g, expected %g\n", (double)a[i], (double)b[i], (double)c[i], expected[i]);
    const bool right = show_floats("vector add", n, c, expected, NULL);
    free(expected);
    return right;
}

int main(int argc, char **argv)
{
    size_t n = 10, group = 0;
    const char *device = NULL;
    const option options[] = { { "--n", "elements", &n, NULL },
                               { "--wg", "work-items of a group; 0: a range, which has no groups", &group, NULL },
                               OPTION_DEVICE(&device),
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "adds two vectors", options);

    float *a = allocate(n, sizeof *a), *b = allocate(n, sizeof *b), *c = allocate(n, sizeof *c);
    fill(a, n, 7);
    fill(b, n, 11);
    add_on_device(device, n, group, a, b, c);
    const bool right = show(n, a, b, c);
    free(a);
    free(b);
    free(c);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
