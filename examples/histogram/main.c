/* main.c - a picture without contrast gets all of it: a histogram by local atomics, and a scan. */
#include "example.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 256, LOCAL = 32 };

/* Hills in haze: every brightness lies between 90 and 150. */
static void fill(size_t size, unsigned char *grey)
{
    for (size_t row = 0; row < size; ++row)
        for (size_t col = 0; col < size; ++col) {
            const double y = (double)row / (double)size, x = (double)col / (double)size;
            const double mist = 0.04 * sin(17 * x + 31 * y) * sin(23 * y - 7 * x);
            double bright = 0.95 - 0.5 * y;
            for (int hill = 1; hill <= 4; ++hill) {
                const double top =
                    0.25 + 0.15 * hill + 0.1 * sin(9 * x / hill + 2.4 * hill) + 0.01 * sin(70 * x + hill);
                if (y > top) bright = 0.8 - 0.19 * hill + 0.5 * (y - top);
            }
            grey[row * size + col] = (unsigned char)(90 + 60 * (bright + mist));
        }
}

int main(int argc, char **argv)
{
    const char *device = NULL, *picture = NULL;
    size_t size = 256;
    const option options[] = { OPTION_DEVICE(&device),
                               OPTION_PICTURE(&picture),
                               { "--size", "rows and columns", &size, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "The histogram of a picture, and the picture with all the contrast it can have.", options);
    size = size ? size : 1;
    const size_t pixels = size * size, rows = size + size / 4;
    unsigned char *grey = allocate(pixels, 1);
    fill(size, grey);

    ndr_context *context;
    ndr_queue *queue;
    ndr_kernel *count, *sum_up, *paint;
    ndr_buffer *on_device, *bins, *sums, *rgb;
    open_device(device, false, &context, &queue);
    ndr_kernel_desc desc = { .name = "count", .file = EXAMPLE_DIR "/histogram.cl" };
    MUST(ndr_kernel_get(context, &desc, &count));
    desc.name = "sum_up";
    MUST(ndr_kernel_get(context, &desc, &sum_up));
    desc.name = "paint";
    MUST(ndr_kernel_get(context, &desc, &paint));
    uint32_t got[BINS] = { 0 }, expected[BINS] = { 0 };
    MUST(ndr_buffer_create_from(context, pixels, grey, &on_device));
    MUST(ndr_buffer_create_from(context, sizeof got, got, &bins));
    MUST(ndr_buffer_create(context, sizeof got, &sums));
    MUST(ndr_buffer_create(context, rows * 2 * size * 3, &rgb));

    MUST(ndr_launch(queue, count, ndr_nd_range_1d(16 * LOCAL, LOCAL), on_device, pixels, ndr_local(uint32_t, BINS),
                    bins));
    MUST(ndr_launch(queue, sum_up, ndr_nd_range_1d(LOCAL, LOCAL), bins, sums));
    MUST(ndr_launch(queue, paint, ndr_range_2d(rows, 2 * size), on_device, sums, bins, (float)pixels, rgb));
    MUST(ndr_buffer_read(queue, bins, 0, sizeof got, got, NULL));
    for (size_t i = 0; i < pixels; ++i) ++expected[grey[i]];
    const bool is_right = memcmp(got, expected, sizeof got) == 0;
    printf("histogram: all bins are %s\n", is_right ? "right" : "WRONG");
    save_picture(queue, rgb, rows, 2 * size, picture);

    free(grey);
    ndr_buffer_destroy(on_device);
    ndr_buffer_destroy(bins);
    ndr_buffer_destroy(sums);
    ndr_buffer_destroy(rgb);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
