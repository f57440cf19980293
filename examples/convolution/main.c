/* main.c - a picture blurred and its edges, by groups that share what they load. Any size works. */
#include "example.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOCAL_ROWS = 4, LOCAL_COLS = 8, REACH = 4, SIDE = 2 * REACH + 1 };

/* Rings, a board of squares, and a bar. */
static void fill(size_t size, float *picture)
{
    for (size_t row = 0; row < size; ++row)
        for (size_t col = 0; col < size; ++col) {
            const double y = (double)row / (double)size, x = (double)col / (double)size;
            const double r = hypot(x - 0.35, y - 0.4);
            const int square = (int)(x * 12) + (int)(y * 12);
            double value = square % 2 ? 0.75 : 0.55;
            if (r < 0.3) value = fmod(r, 0.06) < 0.03 ? 0.1 : 0.95;
            if (y > 0.8 && y < 0.88) value = x;
            picture[row * size + col] = (float)value;
        }
}

/* A bell, whose weights sum to 1. */
static void fill_blur(float *weights)
{
    float sum = 0;
    for (int i = 0; i < SIDE * SIDE; ++i) {
        const int y = i / SIDE - REACH, x = i % SIDE - REACH;
        weights[i] = expf(-(float)(x * x + y * y) / 8);
        sum += weights[i];
    }
    for (int i = 0; i < SIDE * SIDE; ++i) weights[i] /= sum;
}

/* The difference from the mean of the neighbours. */
static void fill_edges(float *weights)
{
    for (int i = 0; i < SIDE * SIDE; ++i) {
        const int y = abs(i / SIDE - REACH), x = abs(i % SIDE - REACH);
        weights[i] = x == 0 && y == 0 ? 4 : x + y == 1 ? -1 : 0;
    }
}

static size_t clamp(long at, size_t size) { return at < 0 ? 0 : at >= (long)size ? size - 1 : (size_t)at; }

static void on_host(size_t size, const float *in, const float *weights, double *out)
{
    for (size_t row = 0; row < size; ++row)
        for (size_t col = 0; col < size; ++col) {
            double sum = 0;
            for (int i = 0; i < SIDE * SIDE; ++i) {
                const size_t y = clamp((long)row + i / SIDE - REACH, size);
                const size_t x = clamp((long)col + i % SIDE - REACH, size);
                sum += (double)weights[i] * (double)in[y * size + x];
            }
            out[row * size + col] = sum;
        }
}

int main(int argc, char **argv)
{
    const char *device = NULL, *path = NULL;
    size_t size = 250;
    const option options[] = { OPTION_DEVICE(&device),
                               OPTION_PICTURE(&path),
                               { "--size", "rows and columns", &size, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "A picture blurred, and its edges.", options);
    size = size ? size : 1;
    const size_t pixels = size * size, bytes = pixels * sizeof(float);
    float blur[SIDE * SIDE], edges[SIDE * SIDE];
    float *picture = allocate(pixels, sizeof *picture), *got = allocate(pixels, sizeof *got);
    double *expected = allocate(pixels, sizeof *expected), *allowed = allocate(pixels, sizeof *allowed);
    fill(size, picture);
    fill_blur(blur);
    fill_edges(edges);

    ndr_context *context;
    ndr_queue *queue;
    ndr_kernel *convolve, *paint;
    ndr_buffer *in, *blurred, *edged, *blur_weights, *edge_weights, *rgb;
    open_device(device, false, &context, &queue);
    ndr_kernel_desc desc = { .name = "convolve", .file = EXAMPLE_DIR "/convolution.cl" };
    MUST(ndr_kernel_get(context, &desc, &convolve));
    desc.name = "paint";
    MUST(ndr_kernel_get(context, &desc, &paint));
    MUST(ndr_buffer_create_from(context, bytes, picture, &in));
    MUST(ndr_buffer_create(context, bytes, &blurred));
    MUST(ndr_buffer_create(context, bytes, &edged));
    MUST(ndr_buffer_create_from(context, sizeof blur, blur, &blur_weights));
    MUST(ndr_buffer_create_from(context, sizeof edges, edges, &edge_weights));
    MUST(ndr_buffer_create(context, pixels * 9, &rgb));

    ndr_nd_range range = ndr_nd_range_2d(size, size, LOCAL_ROWS, LOCAL_COLS);
    range.edge = NDR_EDGE_SPLIT;
    const ndr_arg tile = ndr_local(float, LOCAL_ROWS + 2 * REACH, LOCAL_COLS + 2 * REACH);
    MUST(ndr_launch(queue, convolve, range, in, blur_weights, REACH, tile, blurred));
    MUST(ndr_launch(queue, convolve, range, in, edge_weights, REACH, tile, edged));
    MUST(ndr_launch(queue, paint, ndr_range_2d(size, 3 * size), in, blurred, edged, rgb));
    bool is_right = true;
    for (size_t i = 0; i < pixels; ++i) allowed[i] = 1e-5;
    on_host(size, picture, blur, expected);
    MUST(ndr_buffer_read(queue, blurred, 0, bytes, got, NULL));
    is_right = show_floats("blurred", pixels, got, expected, allowed) && is_right;
    on_host(size, picture, edges, expected);
    MUST(ndr_buffer_read(queue, edged, 0, bytes, got, NULL));
    is_right = show_floats("edges", pixels, got, expected, allowed) && is_right;
    save_picture(queue, rgb, size, 3 * size, path);

    free(picture), free(got), free(expected), free(allowed);
    ndr_buffer_destroy(in), ndr_buffer_destroy(blurred), ndr_buffer_destroy(edged);
    ndr_buffer_destroy(blur_weights), ndr_buffer_destroy(edge_weights), ndr_buffer_destroy(rgb);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
