/* main.c - heat that passes through a gap in a wall: a prepared launch for each direction, and no heat is lost. */
#include "example.h"

#include <stdio.h>
#include <stdlib.h>

/* A hot disc on the left, and a wall in the middle with a gap. */
static void fill(size_t size, float *heat, float *conducts)
{
    for (size_t row = 0; row < size; ++row)
        for (size_t col = 0; col < size; ++col) {
            const double y = (double)row / (double)size - 0.5, x = (double)col / (double)size - 0.28;
            const bool is_wall = col * 100 / size >= 48 && col * 100 / size < 51 && (y < -0.06 || y > 0.06);
            heat[row * size + col] = x * x + y * y < 0.03 ? 1 : 0;
            conducts[row * size + col] = is_wall ? 0 : 1;
        }
}

static double sum_of(ndr_queue *queue, ndr_buffer *x, size_t count, ndr_buffer *result)
{
    float sum;
    MUST(ndr_reduce(queue,
                    &(ndr_reduce_desc){ .dtype = NDR_DTYPE_F32,
                                        .op = NDR_OP_SUM,
                                        .input = { .buffer = x },
                                        .count = count,
                                        .output = { .buffer = result } },
                    NULL));
    MUST(ndr_buffer_read(queue, result, 0, sizeof sum, &sum, NULL));
    return (double)sum;
}

int main(int argc, char **argv)
{
    const char *device = NULL, *picture = NULL;
    size_t size = 256, steps = 1000;
    const option options[] = { OPTION_DEVICE(&device),
                               OPTION_PICTURE(&picture),
                               { "--size", "rows and columns", &size, NULL },
                               { "--steps", "steps, two each time", &steps, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "Heat that passes through a gap in a wall.", options);
    size = size ? size : 1;
    const size_t pixels = size * size, bytes = pixels * sizeof(float);
    float *heat = allocate(pixels, sizeof *heat), *conducts = allocate(pixels, sizeof *conducts);
    fill(size, heat, conducts);

    ndr_context *context;
    ndr_queue *queue;
    ndr_kernel *advance, *paint;
    ndr_buffer *a, *b, *c, *rgb, *result;
    ndr_prepared *there, *back;
    open_device(device, false, &context, &queue);
    ndr_kernel_desc desc = { .name = "advance", .file = EXAMPLE_DIR "/heat.cl" };
    MUST(ndr_kernel_get(context, &desc, &advance));
    desc.name = "paint";
    MUST(ndr_kernel_get(context, &desc, &paint));
    MUST(ndr_buffer_create_from(context, bytes, heat, &a));
    MUST(ndr_buffer_create(context, bytes, &b));
    MUST(ndr_buffer_create_from(context, bytes, conducts, &c));
    MUST(ndr_buffer_create(context, pixels * 3, &rgb));
    MUST(ndr_buffer_create(context, sizeof(float), &result));

    const double before = sum_of(queue, a, pixels, result);
    MUST(ndr_prepare(advance, &there, ndr_range_2d(size, size), a, b, c));
    MUST(ndr_prepare(advance, &back, ndr_range_2d(size, size), b, a, c));
    for (size_t step = 0; step < steps; step += 2) {
        MUST(ndr_prepared_run(queue, there, NULL));
        MUST(ndr_prepared_run(queue, back, NULL));
    }
    const bool is_right = show_number("heat", sum_of(queue, a, pixels, result), before, 1e-3 * before);
    MUST(ndr_launch(queue, paint, ndr_range_1d(pixels), a, c, rgb));
    save_picture(queue, rgb, size, size, picture);

    free(heat);
    free(conducts);
    ndr_prepared_destroy(there);
    ndr_prepared_destroy(back);
    ndr_buffer_destroy(a);
    ndr_buffer_destroy(b);
    ndr_buffer_destroy(c);
    ndr_buffer_destroy(rgb);
    ndr_buffer_destroy(result);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
