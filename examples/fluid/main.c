/* main.c - two layers of a fluid that slide past each other roll up into whirls. */
#include "example.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RELAXATIONS = 40 };

typedef struct float2 {
    float x, y;
} float2;

/* The inner layer moves to the right, the outer one to the left, with a small wave between them. */
static void fill(size_t size, float2 *speed, float *dye)
{
    for (size_t row = 0; row < size; ++row)
        for (size_t col = 0; col < size; ++col) {
            const double y = (double)row / (double)size, x = (double)col / (double)size;
            const bool is_inner = y > 0.25 && y < 0.75;
            const float wave = 0.15f * (float)sin(12.566 * x + (y > 0.5 ? 1 : 0));
            speed[row * size + col] = (float2){ is_inner ? 1.0f : -1.0f, wave };
            dye[row * size + col] = is_inner ? 0.85f : 0.25f;
        }
}

typedef struct fluid {
    size_t size;
    ndr_queue *queue;
    ndr_kernel *advect, *diverge, *relax, *push, *paint;
    ndr_buffer *speed[2], *dye[2], *pressure[2], *divergence, *rgb;
} fluid;

static ndr_kernel *kernel_of(ndr_context *context, const char *name)
{
    ndr_kernel *kernel;
    MUST(ndr_kernel_get(context, &(ndr_kernel_desc){ .name = name, .file = EXAMPLE_DIR "/fluid.cl" }, &kernel));
    return kernel;
}

/* The largest divergence of speed[which]. */
static double divergence_of(const fluid *f, int which)
{
    const size_t pixels = f->size * f->size;
    float *values = allocate(pixels, sizeof *values);
    double most = 0;
    MUST(ndr_launch(f->queue, f->diverge, ndr_range_2d(f->size, f->size), f->speed[which], f->divergence));
    MUST(ndr_buffer_read(f->queue, f->divergence, 0, pixels * sizeof *values, values, NULL));
    for (size_t i = 0; i < pixels; ++i) most = fmax(most, fabs((double)values[i]));
    free(values);
    return most;
}

/* speed[0] and dye[0] become those of the next step. */
static void step(fluid *f)
{
    const ndr_range all = ndr_range_2d(f->size, f->size);
    const float zero = 0;
    MUST(ndr_launch(f->queue, f->advect, all, f->speed[0], f->dye[0], f->speed[1], f->dye[1]));
    MUST(ndr_launch(f->queue, f->diverge, all, f->speed[1], f->divergence));
    MUST(ndr_buffer_fill(f->queue, f->pressure[0], 0, f->size * f->size * sizeof zero, &zero, sizeof zero, NULL));
    for (int i = 0; i < RELAXATIONS; ++i)
        MUST(ndr_launch(f->queue, f->relax, all, f->pressure[i % 2], f->divergence, f->pressure[1 - i % 2]));
    MUST(ndr_launch(f->queue, f->push, all, f->pressure[0], f->speed[1]));
    ndr_buffer *const speed = f->speed[0], *const dye = f->dye[0];
    f->speed[0] = f->speed[1], f->dye[0] = f->dye[1];
    f->speed[1] = speed, f->dye[1] = dye;
}

int main(int argc, char **argv)
{
    const char *device = NULL, *picture = NULL;
    size_t size = 128, steps = 60;
    const option options[] = { OPTION_DEVICE(&device),
                               OPTION_PICTURE(&picture),
                               { "--size", "rows and columns", &size, NULL },
                               { "--steps", "steps", &steps, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "Two layers of a fluid that roll up into whirls.", options);
    size = size < 8 ? 8 : size;
    const size_t pixels = size * size;
    float2 *speed = allocate(pixels, sizeof *speed);
    float *dye = allocate(pixels, sizeof *dye);
    fill(size, speed, dye);

    ndr_context *context;
    fluid f = { .size = size };
    open_device(device, false, &context, &f.queue);
    f.advect = kernel_of(context, "advect");
    f.diverge = kernel_of(context, "diverge");
    f.relax = kernel_of(context, "relax");
    f.push = kernel_of(context, "push");
    f.paint = kernel_of(context, "paint");
    MUST(ndr_buffer_create_from(context, pixels * sizeof *speed, speed, &f.speed[0]));
    MUST(ndr_buffer_create(context, pixels * sizeof *speed, &f.speed[1]));
    MUST(ndr_buffer_create_from(context, pixels * sizeof *dye, dye, &f.dye[0]));
    MUST(ndr_buffer_create(context, pixels * sizeof *dye, &f.dye[1]));
    for (int i = 0; i < 2; ++i) MUST(ndr_buffer_create(context, pixels * sizeof(float), &f.pressure[i]));
    MUST(ndr_buffer_create(context, pixels * sizeof(float), &f.divergence));
    MUST(ndr_buffer_create(context, pixels * 3, &f.rgb));

    const double before = divergence_of(&f, 0);
    for (size_t i = 0; i < steps; ++i) step(&f);
    const double after = divergence_of(&f, 0);
    const bool is_right = show_number("divergence", after, 0, 0.1 + before);
    MUST(ndr_launch(f.queue, f.paint, ndr_range_1d(pixels), f.dye[0], f.rgb));
    save_picture(f.queue, f.rgb, size, size, picture);

    free(speed), free(dye);
    for (int i = 0; i < 2; ++i)
        ndr_buffer_destroy(f.speed[i]), ndr_buffer_destroy(f.dye[i]), ndr_buffer_destroy(f.pressure[i]);
    ndr_buffer_destroy(f.divergence), ndr_buffer_destroy(f.rgb);
    ndr_queue_destroy(f.queue);
    ndr_context_destroy(context);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
