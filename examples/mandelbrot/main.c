/* main.c - the Mandelbrot set, one item a pixel, and its area. */
#include "example.h"

#include <stdio.h>
#include <stdlib.h>

/* The share of pixels that stay bounded, by the counts. */
static double share_inside(const uint32_t *counts, size_t pixels, uint32_t most)
{
    size_t inside = 0;
    for (size_t i = 0; i < pixels; ++i) inside += counts[i] == most;
    return (double)inside / (double)pixels;
}

int main(int argc, char **argv)
{
    const char *device = NULL, *picture = NULL;
    size_t size = 384, most = 500;
    const option options[] = { OPTION_DEVICE(&device),
                               OPTION_PICTURE(&picture),
                               { "--size", "rows and columns", &size, NULL },
                               { "--most", "iterations, at most", &most, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "The Mandelbrot set, and its area.", options);
    size = size ? size : 1;
    ndr_context *context;
    ndr_queue *queue;
    ndr_kernel *mandelbrot;
    ndr_buffer *on_device, *rgb;
    ndr_event *event;
    uint64_t elapsed_ns;
    open_device(device, true, &context, &queue);
    const ndr_kernel_desc desc = { .name = "mandelbrot", .file = EXAMPLE_DIR "/mandelbrot.cl" };
    MUST(ndr_kernel_get(context, &desc, &mandelbrot));
    MUST(ndr_buffer_create(context, size * size * sizeof(uint32_t), &on_device));
    MUST(ndr_buffer_create(context, size * size * 3, &rgb));

    const float side = 2.6f; /* from -2.05 to 0.55, and from 1.3 to -1.3 */
    MUST(ndr_launch_event(queue, mandelbrot, &event, ndr_range_2d(size, size), on_device, rgb, -2.05f, side / 2,
                          side / (float)size, most));
    uint32_t *counts = allocate(size * size, sizeof *counts);
    MUST(ndr_buffer_read(queue, on_device, 0, size * size * sizeof *counts, counts, NULL));
    MUST(ndr_event_elapsed_ns(event, &elapsed_ns));
    show_speed("all pixels", elapsed_ns, (double)(size * size) * 1e3, "million pixels/s");
    const double area = (double)side * side * share_inside(counts, size * size, (uint32_t)most);
    const bool is_right = show_number("area", area, 1.5066, 0.05 + 10.0 / (double)size);
    save_picture(queue, rgb, size, size, picture);

    free(counts);
    ndr_event_destroy(event);
    ndr_buffer_destroy(on_device);
    ndr_buffer_destroy(rgb);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
