/* main.c - a random graph in shared memory, built on the host, and a breadth-first walk of it on the device. */
#include "example.h"

#include <ndr/ndr_shared.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The same struct as in graph.cl. */
typedef struct vertex {
    struct vertex **neighbours;
    int degree;
    int distance;
} vertex;

enum { DEGREE = 3 };

/* Every vertex has an edge to DEGREE random ones. */
static void build(vertex *vertices, vertex **edges, size_t n)
{
    uint32_t state = 1;
    for (size_t v = 0; v < n; ++v) {
        vertices[v].neighbours = edges + v * DEGREE;
        vertices[v].degree = DEGREE;
        vertices[v].distance = v == 0 ? 0 : -1;
        for (int e = 0; e < DEGREE; ++e) {
            state = state * 1664525u + 1013904223u;
            vertices[v].neighbours[e] = &vertices[(size_t)(state >> 8) % n];
        }
    }
}

/* The same walk on the host, with a queue of vertices. */
static void walk_on_host(const vertex *vertices, size_t n, int *distance)
{
    const vertex **line = allocate(n, sizeof *line);
    size_t end = 0;
    for (size_t v = 0; v < n; ++v) distance[v] = -1;
    distance[0] = 0;
    line[end++] = vertices;
    for (size_t at = 0; at < end; ++at)
        for (int e = 0; e < line[at]->degree; ++e) {
            const vertex *next = line[at]->neighbours[e];
            if (distance[next - vertices] >= 0) continue;
            distance[next - vertices] = distance[line[at] - vertices] + 1;
            line[end++] = next;
        }
    free(line);
}

/* One launch for each step, until a step reaches no vertex. Returns the largest distance. The launch is prepared,
 * because each launch that is not pays for ndr_reaches() again. */
static int walk_on_device(ndr_context *context, ndr_queue *queue, ndr_shared *vertices, ndr_shared *edges, size_t n)
{
    ndr_kernel *walk_step;
    ndr_prepared *prepared;
    ndr_buffer *reached;
    const ndr_kernel_desc desc = { .name = "walk_step", .file = EXAMPLE_DIR "/graph.cl" };
    MUST(ndr_kernel_get(context, &desc, &walk_step));
    MUST(ndr_buffer_create(context, sizeof(int), &reached));
    MUST(ndr_prepare(walk_step, &prepared, ndr_range_1d(n), vertices, 0, reached, ndr_reaches(edges)));
    int step = 0;
    for (int count = 1; count > 0; ++step) {
        count = 0;
        MUST(ndr_buffer_write(queue, reached, 0, sizeof count, &count, NULL));
        MUST(ndr_prepared_set(prepared, 1, ndr_arg_of(step)));
        MUST(ndr_prepared_run(queue, prepared, NULL));
        MUST(ndr_buffer_read(queue, reached, 0, sizeof count, &count, NULL));
    }
    ndr_prepared_destroy(prepared);
    ndr_buffer_destroy(reached);
    return step - 1;
}

static bool walk(ndr_context *context, ndr_queue *queue, size_t n)
{
    ndr_shared *shared_vertices, *shared_edges;
    MUST(ndr_shared_create(context, NDR_SHARED_ANY, n * sizeof(vertex), &shared_vertices));
    MUST(ndr_shared_create(context, NDR_SHARED_ANY, n * DEGREE * sizeof(vertex *), &shared_edges));
    vertex *vertices = ndr_shared_pointer(shared_vertices);
    MUST(ndr_shared_map(queue, shared_vertices, NDR_MAP_WRITE, 0, n * sizeof(vertex), NULL));
    MUST(ndr_shared_map(queue, shared_edges, NDR_MAP_WRITE, 0, n * DEGREE * sizeof(vertex *), NULL));
    build(vertices, ndr_shared_pointer(shared_edges), n);
    MUST(ndr_shared_unmap(queue, shared_vertices, vertices, NULL));
    MUST(ndr_shared_unmap(queue, shared_edges, ndr_shared_pointer(shared_edges), NULL));

    const int steps = walk_on_device(context, queue, shared_vertices, shared_edges, n);

    int *expected = allocate(n, sizeof *expected), farthest = 0;
    size_t right = 0;
    MUST(ndr_shared_map(queue, shared_vertices, NDR_MAP_READ, 0, n * sizeof(vertex), NULL));
    MUST(ndr_shared_map(queue, shared_edges, NDR_MAP_READ, 0, n * DEGREE * sizeof(vertex *), NULL));
    walk_on_host(vertices, n, expected);
    for (size_t v = 0; v < n; ++v) {
        right += vertices[v].distance == expected[v];
        farthest = expected[v] > farthest ? expected[v] : farthest;
    }
    MUST(ndr_shared_unmap(queue, shared_vertices, vertices, NULL));
    MUST(ndr_shared_unmap(queue, shared_edges, ndr_shared_pointer(shared_edges), NULL));
    const bool is_right = show_number("vertices with the right distance", (double)right, (double)n, 0);
    const bool is_far = show_number("the farthest one's distance", steps, farthest, 0);
    free(expected);
    ndr_shared_destroy(shared_vertices);
    ndr_shared_destroy(shared_edges);
    return is_right && is_far;
}

int main(int argc, char **argv)
{
    size_t n = 100000;
    const char *device = NULL;
    const option options[] = { { "--n", "vertices", &n, NULL },
                               OPTION_DEVICE(&device),
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "A breadth-first walk of a graph in shared memory.", options);
    ndr_context *context;
    ndr_queue *queue;
    ndr_shared_info shared;
    open_device(device, false, &context, &queue);
    MUST(ndr_shared_get_info(context, NDR_SHARED_ANY, &shared));
    if (!shared.is_available) printf("this device has no shared memory: nothing to show\n");
    const bool is_right = !shared.is_available || n == 0 || walk(context, queue, n);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
