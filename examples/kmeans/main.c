/* main.c - points in clouds find the middle of each cloud. */
#include "example.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CENTRES = 8, LOCAL = 32 };

typedef struct float2 {
    float x, y;
} float2;

static float random_number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 16777216.0f;
}

/* Points from 0 to 1, in a cloud around each of CENTRES places. */
static void fill(size_t n, float2 *points)
{
    static const float2 clouds[CENTRES] = { { 0.2f, 0.2f }, { 0.5f, 0.15f }, { 0.8f, 0.25f }, { 0.25f, 0.5f },
                                            { 0.6f, 0.5f }, { 0.85f, 0.6f }, { 0.2f, 0.8f },  { 0.6f, 0.85f } };
    uint32_t state = 7;
    for (size_t i = 0; i < n; ++i) {
        const float2 cloud = clouds[i % CENTRES];
        const float r = 0.11f * random_number(&state), angle = 6.2831853f * random_number(&state);
        points[i] = (float2){ cloud.x + r * cosf(angle), cloud.y + r * sinf(angle) };
    }
}

/* The mean square of the distance between a point and its centre. */
static double cost_of(size_t n, const float2 *points, const float2 *centres)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
        double least = INFINITY;
        for (int c = 0; c < CENTRES; ++c) {
            const double x = (double)(points[i].x - centres[c].x), y = (double)(points[i].y - centres[c].y);
            least = fmin(least, x * x + y * y);
        }
        sum += least / (double)n;
    }
    return sum;
}

int main(int argc, char **argv)
{
    const char *device = NULL, *picture = NULL;
    size_t n = 8000, steps = 20, size = 256;
    const option options[] = { OPTION_DEVICE(&device),
                               OPTION_PICTURE(&picture),
                               { "--n", "points", &n, NULL },
                               { "--steps", "steps", &steps, NULL },
                               { "--size", "rows and columns of the picture", &size, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "Points in clouds find the middle of each cloud.", options);
    n = n < CENTRES ? CENTRES : n;
    float2 *points = allocate(n, sizeof *points), centres[CENTRES];
    fill(n, points);
    for (int c = 0; c < CENTRES; ++c) centres[c] = points[c]; /* one from each cloud */
    const double before = cost_of(n, points, centres);

    ndr_context *context;
    ndr_queue *queue;
    ndr_kernel *assign, *move, *mark, *paint;
    ndr_buffer *on_device, *moving, *sums, *marks, *rgb;
    open_device(device, false, &context, &queue);
    ndr_kernel_desc desc = { .name = "assign", .file = EXAMPLE_DIR "/kmeans.cl", .options = "-DCENTRES=8" };
    MUST(ndr_kernel_get(context, &desc, &assign));
    desc.name = "move";
    MUST(ndr_kernel_get(context, &desc, &move));
    desc.name = "mark";
    MUST(ndr_kernel_get(context, &desc, &mark));
    desc.name = "paint";
    MUST(ndr_kernel_get(context, &desc, &paint));
    const size_t sums_bytes = 3 * CENTRES * sizeof(uint32_t);
    MUST(ndr_buffer_create_from(context, n * sizeof *points, points, &on_device));
    MUST(ndr_buffer_create_from(context, sizeof centres, centres, &moving));
    MUST(ndr_buffer_create(context, sums_bytes, &sums));
    MUST(ndr_buffer_create(context, size * size * sizeof(uint32_t), &marks));
    MUST(ndr_buffer_create(context, size * size * 3, &rgb));

    const uint32_t zero = 0;
    for (size_t step = 0; step < steps; ++step) {
        MUST(ndr_buffer_fill(queue, sums, 0, sums_bytes, &zero, sizeof zero, NULL));
        MUST(ndr_launch(queue, assign, ndr_nd_range_1d(16 * LOCAL, LOCAL), on_device, n, moving,
                        ndr_local(uint32_t, 3 * CENTRES), sums));
        MUST(ndr_launch(queue, move, ndr_range_1d(CENTRES), sums, moving));
    }
    MUST(ndr_buffer_read(queue, moving, 0, sizeof centres, centres, NULL));
    const double after = cost_of(n, points, centres);
    printf("mean square of the distances: %.6f at first, %.6f after %zu steps\n", before, after, steps);
    const bool is_right = show_number("of clouds of this size", after, 0.11 * 0.11 / 3, 0.2 * 0.11 * 0.11);
    MUST(ndr_buffer_fill(queue, marks, 0, size * size * sizeof zero, &zero, sizeof zero, NULL));
    MUST(ndr_launch(queue, mark, ndr_range_1d(n), on_device, moving, size, marks));
    MUST(ndr_launch(queue, paint, ndr_range_2d(size, size), moving, marks, rgb));
    save_picture(queue, rgb, size, size, picture);

    free(points);
    ndr_buffer_destroy(on_device);
    ndr_buffer_destroy(moving);
    ndr_buffer_destroy(sums);
    ndr_buffer_destroy(marks);
    ndr_buffer_destroy(rgb);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
