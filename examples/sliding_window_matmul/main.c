/* main.c - a matrix product in blocks, through two windows in local memory. */
#include "example.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

static void multiply_on_device(const char *device, size_t n, size_t side, const float *x, const float *y, float *result)
{
    ndr_context *context;
    ndr_queue *queue;
    ndr_kernel *multiply;
    ndr_buffer *x_buffer, *y_buffer, *result_buffer;
    const ndr_kernel_desc desc = { .name = "sliding_window_matmul",
                                   .file = EXAMPLE_DIR "/sliding_window_matmul.cl" };
    const size_t bytes = n * n * sizeof *x;
    const size_t rounded = (n + side - 1) / side * side; /* whole blocks: the kernel guards its edges */

    open_device(device, false, &context, &queue);
    MUST(ndr_kernel_get(context, &desc, &multiply));
    MUST(ndr_buffer_create_from(context, bytes, x, &x_buffer));
    MUST(ndr_buffer_create_from(context, bytes, y, &y_buffer));
    MUST(ndr_buffer_create(context, bytes, &result_buffer));
    printf("global (%zu, %zu), local (%zu, %zu)\n", rounded, rounded, side, side);
    MUST(ndr_launch(queue, multiply, ndr_nd_range_2d(rounded, rounded, side, side), x_buffer, y_buffer,
                    ndr_local(float, side, side), ndr_local(float, side, side), result_buffer, n, n, n));
    MUST(ndr_buffer_read(queue, result_buffer, 0, bytes, result, NULL));

    ndr_buffer_destroy(x_buffer);
    ndr_buffer_destroy(y_buffer);
    ndr_buffer_destroy(result_buffer);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
}

/* The plain loop, in double. All terms are positive: the result may be off by n roundings of itself, and is exact
 * while every sum is an integer below 2^24. */
static void multiply_on_host(size_t n, const float *x, const float *y, double *result, double *allowed)
{
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j) {
            double sum = 0;
            for (size_t k = 0; k < n; ++k) sum += (double)x[i * n + k] * (double)y[k * n + j];
            result[i * n + j] = sum;
            allowed[i * n + j] = sum < 1 << FLT_MANT_DIG ? 0 : (double)n * FLT_EPSILON * sum;
        }
}

static void print_row(const char *label, size_t n, const float *got, const double *expected)
{
    printf("  %s", label);
    for (size_t j = 0; j < n; ++j) printf(" %5.9g", got ? (double)got[j] : expected[j]);
}

static bool show(size_t n, const float *got, const float *x, const float *y)
{
    double *expected = allocate(n * n, sizeof *expected), *allowed = allocate(n * n, sizeof *allowed);
    multiply_on_host(n, x, y, expected, allowed);
    for (size_t i = 0; i < n && n <= 5; ++i) {
        print_row("got", n, &got[i * n], NULL);
        print_row("  expected", n, NULL, &expected[i * n]);
        printf("\n");
    }
    const bool right = show_floats("sliding window", n * n, got, expected, allowed);
    free(expected);
    free(allowed);
    return right;
}

int main(int argc, char **argv)
{
    size_t n = 5, side = 2;
    const char *device = NULL;
    const option options[] = { { "--n", "rows and columns", &n, NULL },
                               { "--block", "rows and columns of a block, which is one group", &side, NULL },
                               OPTION_DEVICE(&device),
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "multiplies the matrix 0 1 2 ... by itself, block by block", options);
    if (n > 2000 || side == 0 || side > 2000) {
        fprintf(stderr, "--n goes up to 2000, --block from 1 to 2000\n");
        return 2;
    }

    float *x = allocate(n * n, sizeof *x), *result = allocate(n * n, sizeof *result);
    for (size_t i = 0; i < n * n; ++i) x[i] = (float)i;
    multiply_on_device(device, n, side, x, x, result);
    const bool right = show(n, result, x, x);
    free(x);
    free(result);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
