/* main.c - ndr_reduce() by its three methods, on memory that the host fills and reads in place. */
#include "example.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* n numbers from 0 to 1, and what a plain loop finds over them. */
typedef struct numbers {
    ndr_buffer *buffer;
    size_t n;
    double sum, smallest, largest;
} numbers;

static numbers make_numbers(ndr_context *context, ndr_queue *queue, size_t n)
{
    numbers x = { .n = n, .smallest = INFINITY, .largest = -INFINITY };
    void *host;
    MUST(ndr_buffer_create(context, n * sizeof(float), &x.buffer));
    MUST(ndr_buffer_map(queue, x.buffer, NDR_MAP_WRITE, 0, n * sizeof(float), &host));
    unsigned seed = 1;
    for (size_t i = 0; i < n; ++i) {
        seed = seed * 1664525u + 1013904223u;
        const float value = ((float *)host)[i] = (float)(seed >> 8) / (1 << 24);
        x.sum += (double)value;
        x.smallest = fmin(x.smallest, (double)value);
        x.largest = fmax(x.largest, (double)value);
    }
    MUST(ndr_buffer_unmap(queue, x.buffer, host, NULL));
    return x;
}

/* Reduce twice, because the first call builds the kernels. `elapsed_ns` is the time of the second call. */
static float reduce(ndr_queue *queue, const ndr_reduce_desc *desc, uint64_t *elapsed_ns)
{
    ndr_event *event;
    void *host;
    MUST(ndr_reduce(queue, desc, NULL));
    MUST(ndr_reduce(queue, desc, &event));
    MUST(ndr_event_elapsed_ns(event, elapsed_ns));
    ndr_event_destroy(event);
    MUST(ndr_buffer_map(queue, desc->output.buffer, NDR_MAP_READ, 0, sizeof(float), &host));
    const float result = *(const float *)host;
    MUST(ndr_buffer_unmap(queue, desc->output.buffer, host, NULL));
    return result;
}

typedef struct method {
    const char *name;
    ndr_reduce_method method;
    double c; /* of the error bound that ndr.h states: (ceil(log2 n) + c) * eps * sum|x| */
} method;

static bool show_method(ndr_queue *queue, const method *m, const numbers *x, ndr_buffer *output)
{
    ndr_reduce_desc desc = { .dtype = NDR_DTYPE_F32,
                             .op = NDR_OP_SUM,
                             .method = m->method,
                             .input = { x->buffer, 0 },
                             .count = x->n,
                             .output = { output, 0 } };
    uint64_t elapsed_ns;
    printf("%s:\n", m->name);
    const float sum = reduce(queue, &desc, &elapsed_ns);
    bool right = show_number("  sum", (double)sum, x->sum,
                             (ceil(log2((double)x->n)) + m->c) * FLT_EPSILON * x->sum);
    show_speed("  the second time", elapsed_ns, (double)(x->n * sizeof(float)), "GB/s");
    desc.op = NDR_OP_MIN;
    right &= show_number("  min", (double)reduce(queue, &desc, &elapsed_ns), x->smallest, 0);
    desc.op = NDR_OP_MAX;
    return right & show_number("  max", (double)reduce(queue, &desc, &elapsed_ns), x->largest, 0);
}

int main(int argc, char **argv)
{
    static const method methods[] = { { "tree", NDR_REDUCE_TREE, 256 },
                                      { "atomic", NDR_REDUCE_ATOMIC, 2048 },
                                      { "recursive", NDR_REDUCE_RECURSIVE, 256 } };
    size_t n = 1 << 20;
    const char *device = NULL;
    const option options[] = { { "--n", "numbers", &n, NULL },
                               OPTION_DEVICE(&device),
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "sum, minimum and maximum with the library's own kernels", options);
    if (n == 0) {
        fprintf(stderr, "ndr_reduce() of nothing is the identity, but there is no memory to look at: give at least 1\n");
        return 2;
    }

    ndr_context *context;
    ndr_queue *queue;
    ndr_buffer *output;
    open_device(device, true, &context, &queue);
    MUST(ndr_buffer_create(context, sizeof(float), &output));
    const numbers x = make_numbers(context, queue, n);
    bool right = true;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; ++i)
        right &= show_method(queue, &methods[i], &x, output);

    ndr_buffer_destroy(x.buffer);
    ndr_buffer_destroy(output);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
