/* main.c - five ways to compute a sum with your own kernels. ndr_reduce() is a sixth: see examples/reduce. */
#include "example.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct setting {
    ndr_context *context;
    ndr_queue *queue;
    size_t group; /* work-items of one, at least 2 */
} setting;

/* ---- helpers ---- */

static ndr_kernel *get_kernel(const setting *s, const char *name)
{
    ndr_kernel *kernel;
    const ndr_kernel_desc desc = { .name = name, .file = EXAMPLE_DIR "/reduction.cl" };
    MUST(ndr_kernel_get(s->context, &desc, &kernel));
    return kernel;
}

/* n ones, or 0 1 2 ... */
static ndr_buffer *make_input(const setting *s, size_t n, bool counts)
{
    ndr_buffer *buffer;
    uint32_t *x = allocate(n, sizeof *x);
    for (size_t i = 0; i < n; ++i) x[i] = counts ? (uint32_t)i : 1;
    MUST(ndr_buffer_create_from(s->context, n * sizeof *x, x, &buffer));
    free(x);
    return buffer;
}

static uint32_t read_first(const setting *s, ndr_buffer *buffer)
{
    uint32_t first;
    MUST(ndr_buffer_read(s->queue, buffer, 0, sizeof first, &first, NULL));
    return first;
}

static size_t count_groups(const setting *s, size_t n) { return (n + s->group - 1) / s->group; }

/* One sum for each group of `from`, into `to`. */
static void sum_groups(const setting *s, ndr_buffer *from, size_t n, ndr_buffer *to)
{
    MUST(ndr_launch(s->queue, get_kernel(s, "sum_groups"), ndr_nd_range_1d(count_groups(s, n) * s->group, s->group),
                    from, n, ndr_local(uint32_t, s->group), to));
}

/* ---- the five ---- */

static bool tree_and_host(const setting *s, size_t n)
{
    const size_t groups = count_groups(s, n);
    ndr_buffer *input = make_input(s, n, false), *sums;
    uint32_t *part = allocate(groups, sizeof *part), sum = 0;
    MUST(ndr_buffer_create(s->context, groups * sizeof *part, &sums));
    sum_groups(s, input, n, sums);
    MUST(ndr_buffer_read(s->queue, sums, 0, groups * sizeof *part, part, NULL));
    for (size_t i = 0; i < groups; ++i) sum += part[i];
    free(part);
    ndr_buffer_destroy(input);
    ndr_buffer_destroy(sums);
    return show_number("tree, host finishes", sum, (uint32_t)n, 0);
}

/* Two buffers alternate: each launch reads what the previous one wrote. */
static bool recursive(const setting *s, size_t n)
{
    ndr_buffer *from = make_input(s, n, false), *to;
    MUST(ndr_buffer_create(s->context, count_groups(s, n) * sizeof(uint32_t), &to));
    for (size_t left = n; left > 1; left = count_groups(s, left)) {
        sum_groups(s, from, left, to);
        ndr_buffer *const read = from;
        from = to;
        to = read;
    }
    const uint32_t sum = read_first(s, from);
    ndr_buffer_destroy(from);
    ndr_buffer_destroy(to);
    return show_number("tree, recursive", sum, (uint32_t)n, 0);
}

/* Exact while the sum is an integer below 2^24; otherwise each element passes through ceil(log2 n) roundings. */
static bool strided(const setting *s, size_t n)
{
    float *x = allocate(n, sizeof *x), sum;
    double expected = 0;
    ndr_buffer *buffer;
    for (size_t i = 0; i < n; ++i) expected += (double)(x[i] = (float)i);
    MUST(ndr_buffer_create_from(s->context, n * sizeof *x, x, &buffer));
    for (size_t total = n; total > 1;) {
        const size_t upper = total / 2;
        total -= upper; /* an odd one in the middle stays where it is */
        MUST(ndr_launch(s->queue, get_kernel(s, "add_upper_part"), ndr_range_1d(upper), buffer, total));
    }
    MUST(ndr_buffer_read(s->queue, buffer, 0, sizeof sum, &sum, NULL));
    ndr_buffer_destroy(buffer);
    free(x);
    const double allowed = expected < 1 << FLT_MANT_DIG ? 0 : ceil(log2((double)n)) * FLT_EPSILON * expected;
    return show_number("strided", (double)sum, expected, allowed);
}

static bool atomic(const setting *s, size_t n)
{
    const uint32_t zero = 0;
    uint32_t expected = 0;
    ndr_buffer *input = make_input(s, n, true), *sum;
    MUST(ndr_buffer_create_from(s->context, sizeof zero, &zero, &sum));
    MUST(ndr_launch(s->queue, get_kernel(s, "sum_atomically"), ndr_range_1d(n), input, sum));
    for (size_t i = 0; i < n; ++i) expected += (uint32_t)i;
    const uint32_t got = read_first(s, sum);
    ndr_buffer_destroy(input);
    ndr_buffer_destroy(sum);
    return show_number("atomic", got, expected, 0);
}

static bool serial(const setting *s, size_t n)
{
    ndr_buffer *input = make_input(s, n, false), *sum;
    MUST(ndr_buffer_create(s->context, sizeof(uint32_t), &sum));
    MUST(ndr_launch(s->queue, get_kernel(s, "sum_serially"), ndr_range_1d(1), input, n, sum));
    const uint32_t got = read_first(s, sum);
    ndr_buffer_destroy(input);
    ndr_buffer_destroy(sum);
    return show_number("serial", got, (uint32_t)n, 0);
}

int main(int argc, char **argv)
{
    size_t n = 0;
    const char *device = NULL;
    setting s = { .group = 64 };
    const option options[] = { { "--n", "numbers to add; 0: for each method its own", &n, NULL },
                               { "--wg", "work-items of a group, for the trees", &s.group, NULL },
                               OPTION_DEVICE(&device),
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "five ways to a sum", options);
    if (s.group < 2 || n > UINT32_MAX) {
        fprintf(stderr, "--wg is at least 2: groups of one would never become fewer; --n has 32 bits\n");
        return 2;
    }

    open_device(device, false, &s.context, &s.queue);
    bool right = tree_and_host(&s, n ? n : 1024);
    right &= recursive(&s, n ? n : 20000);
    right &= strided(&s, n ? n : 2048);
    right &= atomic(&s, n ? n : 1024);
    right &= serial(&s, n ? n : 1024);
    ndr_queue_destroy(s.queue);
    ndr_context_destroy(s.context);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
