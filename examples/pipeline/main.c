/* main.c - blocks of data go to the device, through a kernel, and back. With a queue for each of the three, a block is
 * copied while another one is computed, if the device can. */
#include "example.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SLOTS = 3 }; /* blocks on the device at a time */

typedef struct pipeline {
    ndr_kernel *advance;
    size_t blocks, elements, steps;
    ndr_buffer *slots[SLOTS];
    ndr_buffer *pinned_in, *pinned_out; /* mapped all the time at `in` and `out` */
    uint32_t *in, *out;
} pipeline;

/* ---- the pipeline ---- */

/* Enqueue all blocks. The three queues may be the same one: then the blocks follow one another. */
static void enqueue(const pipeline *p, ndr_queue *up, ndr_queue *compute, ndr_queue *down)
{
    const size_t bytes = p->elements * sizeof *p->in;
    ndr_event *emptied[SLOTS] = { NULL };
    for (size_t b = 0; b < p->blocks; ++b) {
        ndr_buffer *slot = p->slots[b % SLOTS];
        ndr_event **is_empty = &emptied[b % SLOTS], *written, *computed;
        const uint32_t *from = p->in + b * p->elements;
        uint32_t *to = p->out + b * p->elements;
        MUST(ndr_buffer_write(ndr_after(up, *is_empty), slot, 0, bytes, from, &written));
        MUST(ndr_launch_event(ndr_after(compute, written), p->advance, &computed, ndr_range_1d(p->elements), slot,
                              p->steps));
        ndr_event_destroy(*is_empty);
        MUST(ndr_buffer_read(ndr_after(down, computed), slot, 0, bytes, to, is_empty));
        ndr_event_destroy(written);
        ndr_event_destroy(computed);
    }
    for (int s = 0; s < SLOTS; ++s) ndr_event_destroy(emptied[s]);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The first pass compiles and warms up. */
static uint64_t time_pipeline(const pipeline *p, ndr_queue *up, ndr_queue *compute, ndr_queue *down)
{
    uint64_t start = 0;
    for (int pass = 0; pass < 2; ++pass) {
        start = now_ns();
        enqueue(p, up, compute, down);
        MUST(ndr_queue_finish(down));
    }
    return now_ns() - start;
}

/* ---- data ---- */

static void *create_pinned(ndr_context *context, ndr_queue *queue, size_t bytes, ndr_buffer **buffer)
{
    void *host;
    const ndr_buffer_desc desc = { .size_bytes = bytes, .is_pinned = true };
    MUST(ndr_buffer_create_with(context, &desc, buffer));
    MUST(ndr_buffer_map(queue, *buffer, NDR_MAP_READ_WRITE, 0, bytes, &host));
    return host;
}

static void create(pipeline *p, ndr_context *context, ndr_queue *queue)
{
    const ndr_kernel_desc desc = { .name = "advance", .file = EXAMPLE_DIR "/pipeline.cl" };
    const size_t count = p->blocks * p->elements;
    MUST(ndr_kernel_get(context, &desc, &p->advance));
    for (int s = 0; s < SLOTS; ++s) MUST(ndr_buffer_create(context, p->elements * sizeof *p->in, &p->slots[s]));
    p->in = create_pinned(context, queue, count * sizeof *p->in, &p->pinned_in);
    p->out = create_pinned(context, queue, count * sizeof *p->out, &p->pinned_out);
    for (size_t i = 0; i < count; ++i) p->in[i] = (uint32_t)i * 2654435761u;
}

static void destroy(pipeline *p)
{
    ndr_buffer_destroy(p->pinned_in);
    ndr_buffer_destroy(p->pinned_out);
    for (int s = 0; s < SLOTS; ++s) ndr_buffer_destroy(p->slots[s]);
}

/* Compare every 997th element, and forget the results. */
static bool check(const pipeline *p)
{
    size_t wrong = 0;
    for (size_t i = 0; i < p->blocks * p->elements; i += 997) {
        uint32_t y = p->in[i];
        for (size_t s = 0; s < p->steps; ++s) y = y * 1664525u + 1013904223u;
        wrong += p->out[i] != y;
        p->out[i] = 0;
    }
    return show_number("wrong elements", (double)wrong, 0, 0);
}

int main(int argc, char **argv)
{
    const char *device = NULL;
    size_t mib = 1;
    pipeline p = { .blocks = 16, .steps = 100 };
    const option options[] = { OPTION_DEVICE(&device),
                               { "--blocks", "how many blocks", &p.blocks, NULL },
                               { "--mib", "the size of a block in MiB", &mib, NULL },
                               { "--steps", "the work for each element", &p.steps, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "Copies and computes blocks of data, on one queue and on three.", options);
    p.elements = mib * ((size_t)1 << 20) / sizeof *p.in;

    ndr_context *context;
    ndr_queue *up, *compute, *down;
    open_device(device, false, &context, &compute);
    MUST(ndr_queue_create(context, NULL, &up));
    MUST(ndr_queue_create(context, NULL, &down));
    create(&p, context, compute);

    const double bytes = 2.0 * (double)(p.blocks * p.elements * sizeof *p.in);
    const uint64_t one_ns = time_pipeline(&p, compute, compute, compute);
    const bool is_right = check(&p);
    const uint64_t three_ns = time_pipeline(&p, up, compute, down);
    const bool is_right_too = check(&p);
    show_speed("one queue", one_ns, bytes, "GB/s");
    show_speed("three queues", three_ns, bytes, "GB/s");
    printf("three queues take %.2f of the time\n", (double)three_ns / (double)one_ns);

    destroy(&p);
    ndr_queue_destroy(up);
    ndr_queue_destroy(down);
    ndr_queue_destroy(compute);
    ndr_context_destroy(context);
    return is_right && is_right_too ? EXIT_SUCCESS : EXIT_FAILURE;
}
