/* main.c - mean, variance, minimum and maximum of numbers, in one launch, beside what the host computes. */
#include "example.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct summary {
    double mean, variance, least, most;
} summary;

/* Numbers around 1000: a wave. */
static void fill(size_t n, float *numbers)
{
    for (size_t i = 0; i < n; ++i) numbers[i] = 1000 + (float)(i % 1000) / 1000;
}

static summary on_host(size_t n, const float *numbers)
{
    summary of = { 0, 0, INFINITY, -INFINITY };
    for (size_t i = 0; i < n; ++i) {
        of.mean += numbers[i] / (double)n;
        of.least = fmin(of.least, numbers[i]);
        of.most = fmax(of.most, numbers[i]);
    }
    for (size_t i = 0; i < n; ++i) of.variance += (numbers[i] - of.mean) * (numbers[i] - of.mean) / (double)n;
    return of;
}

static summary on_device(ndr_context *context, ndr_queue *queue, size_t n, const float *numbers)
{
    enum { SUM, SQUARES, LEAST, MOST, RESULTS };
    float got[RESULTS];
    ndr_kernel *look_at;
    ndr_buffer *x, *results;
    const ndr_kernel_desc desc = { .name = "look_at", .file = EXAMPLE_DIR "/mean_variance.cl" };
    MUST(ndr_kernel_get(context, &desc, &look_at));
    MUST(ndr_buffer_create_from(context, n * sizeof *numbers, numbers, &x));
    MUST(ndr_buffer_create(context, sizeof got, &results));

    MUST(ndr_launch(queue, look_at, ndr_range_1d(n), x, numbers[0],
                    ndr_reducer(NDR_OP_SUM, 0.0f, results, SUM), ndr_reducer(NDR_OP_SUM, 0.0f, results, SQUARES),
                    ndr_reducer(NDR_OP_MIN, INFINITY, results, LEAST),
                    ndr_reducer(NDR_OP_MAX, -INFINITY, results, MOST)));
    MUST(ndr_buffer_read(queue, results, 0, sizeof got, got, NULL));

    ndr_buffer_destroy(x);
    ndr_buffer_destroy(results);
    const double distance = got[SUM] / (double)n;
    return (summary){ numbers[0] + distance, got[SQUARES] / (double)n - distance * distance, got[LEAST], got[MOST] };
}

int main(int argc, char **argv)
{
    const char *device = NULL;
    size_t n = 1000003;
    const option options[] = { OPTION_DEVICE(&device),
                               { "--n", "how many numbers", &n, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "Mean, variance and extremes in one launch.", options);
    ndr_context *context;
    ndr_queue *queue;
    open_device(device, false, &context, &queue);
    n = n ? n : 1; /* nothing has no mean */
    float *numbers = allocate(n, sizeof *numbers);
    fill(n, numbers);

    const summary got = on_device(context, queue, n, numbers), expected = on_host(n, numbers);
    const bool is_mean = show_number("mean", got.mean, expected.mean, 1e-3);
    const bool is_variance = show_number("variance", got.variance, expected.variance, 1e-3);
    const bool is_least = show_number("minimum", got.least, expected.least, 0);
    const bool is_most = show_number("maximum", got.most, expected.most, 0);

    free(numbers);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return is_mean && is_variance && is_least && is_most ? EXIT_SUCCESS : EXIT_FAILURE;
}
