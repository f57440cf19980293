/* main.c - ndr_matmul(), on memory that the host fills and reads in place, with its time on the device. */
#include "example.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A rows x cols matrix of small numbers, written straight into the buffer's memory. */
static ndr_matrix make_matrix(ndr_context *context, ndr_queue *queue, size_t rows, size_t cols, unsigned seed)
{
    ndr_matrix matrix = { .rows = rows, .cols = cols };
    const size_t bytes = rows * cols * sizeof(float);
    void *host;
    MUST(ndr_buffer_create(context, bytes, &matrix.buffer));
    MUST(ndr_buffer_map(queue, matrix.buffer, NDR_MAP_WRITE, 0, bytes, &host));
    float *x = host;
    for (size_t i = 0; i < rows * cols; ++i) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
    MUST(ndr_buffer_unmap(queue, matrix.buffer, host, NULL));
    return matrix;
}

static const float *look_at(ndr_queue *queue, const ndr_matrix *matrix)
{
    void *host;
    MUST(ndr_buffer_map(queue, matrix->buffer, NDR_MAP_READ, 0, ndr_buffer_size(matrix->buffer), &host));
    return host;
}

static void look_away(ndr_queue *queue, const ndr_matrix *matrix, const float *host)
{
    MUST(ndr_buffer_unmap(queue, matrix->buffer, (void *)(uintptr_t)host, NULL));
}

/* The plain loop in double; `allowed` is what ndr.h promises: (K + 2) * eps * |A| |B|. */
static void multiply_on_host(size_t m, size_t k, size_t n, const float *a, const float *b, double *c, double *allowed)
{
    for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < n; ++j) {
            double sum = 0, sizes = 0;
            for (size_t p = 0; p < k; ++p) {
                const double term = (double)a[i * k + p] * (double)b[p * n + j];
                sum += term;
                sizes += fabs(term);
            }
            c[i * n + j] = sum;
            allowed[i * n + j] = (double)(k + 2) * FLT_EPSILON * sizes;
        }
}

static bool show(ndr_queue *queue, const ndr_matmul_desc *desc)
{
    const size_t m = desc->c.rows, n = desc->c.cols, k = desc->a.cols;
    const float *a = look_at(queue, &desc->a), *b = look_at(queue, &desc->b), *c = look_at(queue, &desc->c);
    double *expected = allocate(m * n, sizeof *expected), *allowed = allocate(m * n, sizeof *allowed);
    multiply_on_host(m, k, n, a, b, expected, allowed);
    (void)show_number("element (0, 0)", (double)c[0], expected[0], allowed[0]);
    const bool right = show_floats("ndr_matmul", m * n, c, expected, allowed);
    free(expected);
    free(allowed);
    look_away(queue, &desc->a, a);
    look_away(queue, &desc->b, b);
    look_away(queue, &desc->c, c);
    return right;
}

int main(int argc, char **argv)
{
    size_t m = 256, k = 256, n = 256;
    const char *device = NULL;
    const option options[] = { { "--m", "rows of a and c", &m, NULL },
                               { "--k", "columns of a, rows of b", &k, NULL },
                               { "--n", "columns of b and c", &n, NULL },
                               OPTION_DEVICE(&device),
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "c = a * b with the library's own kernel", options);
    if (m == 0 || k == 0 || n == 0) {
        fprintf(stderr, "ndr_matmul() takes empty matrices, but they have no memory to look at: give at least 1\n");
        return 2;
    }

    ndr_context *context;
    ndr_queue *queue;
    open_device(device, true, &context, &queue);
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .a = make_matrix(context, queue, m, k, 1),
                                   .b = make_matrix(context, queue, k, n, 2),
                                   .c = make_matrix(context, queue, m, n, 3) };
    ndr_event *event;
    uint64_t elapsed_ns;
    MUST(ndr_matmul(queue, &desc, NULL)); /* the first one builds the kernel */
    MUST(ndr_matmul(queue, &desc, &event));
    MUST(ndr_event_elapsed_ns(event, &elapsed_ns));
    ndr_event_destroy(event);
    show_speed("the second time", elapsed_ns, 2.0 * (double)m * (double)n * (double)k, "GFLOP/s");
    const bool right = show(queue, &desc);

    ndr_buffer_destroy(desc.a.buffer);
    ndr_buffer_destroy(desc.b.buffer);
    ndr_buffer_destroy(desc.c.buffer);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
