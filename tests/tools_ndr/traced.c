/* traced.c - a program for test_trace.sh: launches a kernel 10 times, and ends as its argument says.
 *
 *     traced well | leave | exit | abort | kill | wait FIFO | own FILE
 */
#include <ndr/ndr.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRY(call) \
    if (call) return fprintf(stderr, "%s\n", ndr_last_error()), 1

static const char source[] = "kernel void scale(global float *x, float by) { x[get_global_id(0)] *= by; }";

enum { LAUNCHES = 10, COUNT = 1000 };

static void end_with_7(int number)
{
    (void)number;
    _exit(7);
}

/* Tells the reader of the pipe, and waits for a signal. */
static int wait_for_signal(const char *fifo)
{
    signal(SIGTERM, end_with_7);
    FILE *file = fopen(fifo, "w");
    if (!file || fputs("ready\n", file) < 0 || fclose(file) != 0) return 1;
    for (;;) pause();
}

static int work(ndr_queue *queue, ndr_kernel *scale, ndr_buffer *x)
{
    float host[COUNT];
    ndr_trace_begin("scaling", 2 * sizeof host * LAUNCHES, (uint64_t)COUNT * LAUNCHES);
    for (int i = 0; i < LAUNCHES; ++i) TRY(ndr_launch(queue, scale, ndr_range_1d(COUNT), x, 2.0f));
    ndr_trace_end();
    TRY(ndr_buffer_read(queue, x, 0, sizeof host, host, NULL));
    TRY(ndr_queue_finish(queue));
    return 0;
}

int main(int argc, char **argv)
{
    ndr_context *context;
    ndr_queue *queue;
    ndr_kernel *scale;
    ndr_buffer *x;
    static const float zeros[COUNT];
    const char *const end = argc > 1 ? argv[1] : "";

    puts("the program's own output");
    if (strcmp(end, "own") == 0) TRY(ndr_trace_start(&(ndr_trace_desc){ .file = argv[2] }));
    TRY(ndr_context_create(NULL, &context));
    TRY(ndr_queue_create(context, NULL, &queue));
    TRY(ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "scale", .source = source, .label = "scale.cl" }, &scale));
    TRY(ndr_buffer_create_from(context, sizeof zeros, zeros, &x));
    if (work(queue, scale, x)) return 1;
    if (strcmp(end, "leave") == 0) return 0;
    if (strcmp(end, "exit") == 0) exit(42);
    if (strcmp(end, "abort") == 0) abort();
    if (strcmp(end, "kill") == 0) return raise(SIGKILL);
    if (strcmp(end, "wait") == 0) return wait_for_signal(argv[2]);
    ndr_buffer_destroy(x);
    ndr_queue_destroy(queue);
    ndr_context_destroy(context);
    return 0;
}
