/* main.c - two discs of bodies that attract each other, and the light that they leave on a plate. */
#include "example.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROUP = 32 };

typedef struct float4 {
    float x, y, z, w;
} float4;

/* A number from 0 to 1. */
static float random_number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 16777216.0f;
}

/* Two turning discs that move past each other. All masses together are 1, all momenta together 0. */
static void fill(size_t n, float4 *at, float4 *speed)
{
    uint32_t state = 1;
    for (size_t i = 0; i < n; ++i) {
        const float side = i % 2 ? 1.0f : -1.0f;
        const float r = 0.6f * sqrtf(random_number(&state)) + 0.02f, angle = 6.2831853f * random_number(&state);
        const float turn = 0.75f * sqrtf(r); /* 0.5 of all mass lies within 0.6, evenly */
        at[i] = (float4){ 0.9f * side + r * cosf(angle), 0.35f * side + r * sinf(angle), 0, 1.0f / (float)n };
        speed[i] = (float4){ -turn * sinf(angle) - 0.35f * side, turn * cosf(angle), 0, 0 };
    }
}

/* The speed of the centre, times the number of bodies. */
static double momentum(size_t n, const float4 *speed)
{
    double x = 0, y = 0;
    for (size_t i = 0; i < n; ++i) x += (double)speed[i].x, y += (double)speed[i].y;
    return sqrt(x * x + y * y);
}

int main(int argc, char **argv)
{
    const char *device = NULL, *picture = NULL;
    size_t n = 1024, steps = 100, size = 256;
    const option options[] = { OPTION_DEVICE(&device),
                               OPTION_PICTURE(&picture),
                               { "--n", "bodies; rounded to groups of 32", &n, NULL },
                               { "--steps", "steps", &steps, NULL },
                               { "--size", "rows and columns of the picture", &size, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "Bodies that attract each other.", options);
    n = (n + GROUP - 1) / GROUP * GROUP;
    const size_t bytes = n * sizeof(float4), pixels = size * size;
    float4 *at = allocate(n, sizeof *at), *speed = allocate(n, sizeof *speed);
    fill(n, at, speed);
    const double before = momentum(n, speed);

    ndr_context *context;
    ndr_queue *queue;
    ndr_kernel *advance, *expose, *develop;
    ndr_buffer *place[2], *move[2], *light, *rgb;
    open_device(device, false, &context, &queue);
    ndr_kernel_desc desc = { .name = "advance", .file = EXAMPLE_DIR "/nbody.cl" };
    MUST(ndr_kernel_get(context, &desc, &advance));
    desc.name = "expose";
    MUST(ndr_kernel_get(context, &desc, &expose));
    desc.name = "develop";
    MUST(ndr_kernel_get(context, &desc, &develop));
    MUST(ndr_buffer_create_from(context, bytes, at, &place[0]));
    MUST(ndr_buffer_create(context, bytes, &place[1]));
    MUST(ndr_buffer_create_from(context, bytes, speed, &move[0]));
    MUST(ndr_buffer_create(context, bytes, &move[1]));
    MUST(ndr_buffer_create(context, pixels * sizeof(uint32_t), &light));
    MUST(ndr_buffer_create(context, pixels * 3, &rgb));
    const uint32_t dark = 0;
    MUST(ndr_buffer_fill(queue, light, 0, pixels * sizeof dark, &dark, sizeof dark, NULL));

    const ndr_nd_range bodies = ndr_nd_range_1d(n, GROUP);
    for (size_t step = 0; step < steps; ++step) {
        const size_t now = step % 2, next = 1 - now;
        MUST(ndr_launch(queue, advance, bodies, place[now], move[now], place[next], move[next],
                        ndr_local(float4, GROUP), 0.01f));
        MUST(ndr_launch(queue, expose, bodies, place[next], light, size));
    }
    MUST(ndr_buffer_read(queue, move[steps % 2], 0, bytes, speed, NULL));
    const bool is_right = show_number("momentum", momentum(n, speed), before, 1e-3 * (double)n);
    MUST(ndr_launch(queue, develop, ndr_nd_range_1d(pixels, 0), light, rgb, 0.02f * (float)(n * steps) / 64 + 4));
    save_picture(queue, rgb, size, size, picture);

    free(at);
    free(speed);
    for (int i = 0; i < 2; ++i) ndr_buffer_destroy(place[i]), ndr_buffer_destroy(move[i]);
    ndr_buffer_destroy(light);
    ndr_buffer_destroy(rgb);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
