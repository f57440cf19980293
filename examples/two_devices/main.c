/* main.c - a product and a sum by all GPUs, or by parts of a CPU. */
#include "example.h"

#include <ndr/ndr_group.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double now_s(ndr_queue *queue)
{
    uint64_t ns;
    MUST(ndr_queue_finish_timed(queue, &ns));
    return (double)ns * 1e-9;
}

typedef struct numbers {
    float *a, *b, *c, *x;
    size_t size, count;
} numbers;

static numbers make(size_t size, size_t count)
{
    numbers n = {
        allocate(size * size, 4), allocate(size * size, 4), allocate(size * size, 4), allocate(count, 4), size, count
    };
    for (size_t i = 0; i < size * size; ++i) n.a[i] = (float)(i % 5) - 2, n.b[i] = (float)(i % 7) - 3;
    for (size_t i = 0; i < count; ++i) n.x[i] = (float)(i % 8);
    return n;
}

static void release(numbers *n)
{
    free(n->a);
    free(n->b);
    free(n->c);
    free(n->x);
}

/* The fastest of some runs, the first of which builds kernels and measures the ranks. */
static double time_product(ndr_group *group, const numbers *n, bool *is_right)
{
    double best = 1e9;
    const size_t size = n->size;
    const ndr_group_matmul_desc desc = {
        .dtype = NDR_DTYPE_F32, .m = size, .n = size, .k = size, .a = n->a, .b = n->b, .c = n->c
    };
    for (int i = 0; i < 4; ++i) {
        const double start = now_s(ndr_group_queue(group, 0));
        MUST(ndr_group_matmul(group, &desc));
        best = fmin(best, now_s(ndr_group_queue(group, 0)) - start);
    }
    for (size_t i = 0; i < 50; ++i) {
        const size_t at = i * 7919 % (size * size);
        float wanted = 0;
        for (size_t k = 0; k < size; ++k) wanted += n->a[at / size * size + k] * n->b[k * size + at % size];
        *is_right = *is_right && n->c[at] == wanted;
    }
    return best;
}

static double time_sum(ndr_group *group, const numbers *n, bool *is_right)
{
    double best = 1e9;
    float sum = 0;
    const ndr_group_reduce_desc desc = {
        .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .input = n->x, .count = n->count, .output = &sum
    };
    for (int i = 0; i < 4; ++i) {
        const double start = now_s(ndr_group_queue(group, 0));
        MUST(ndr_group_reduce(group, &desc));
        best = fmin(best, now_s(ndr_group_queue(group, 0)) - start);
    }
    const double wanted = (double)(n->count / 8 * 28);
    *is_right = *is_right && fabs((double)sum - wanted) <= 1e-4 * wanted + 28;
    return best;
}

typedef struct figures {
    double product, sum;
} figures;

static figures run(ndr_group *group, size_t size, size_t count, bool *is_right)
{
    numbers n = make(size, count);
    const figures f = { time_product(group, &n, is_right), time_sum(group, &n, is_right) };
    release(&n);
    return f;
}

int main(int argc, char **argv)
{
    const char *device = NULL;
    size_t parts = 0, size = 384, count = 1 << 21;
    const option options[] = { OPTION_DEVICE(&device),
                               { "--parts", "parts of the device, which must be a CPU", &parts, NULL },
                               { "--size", "rows and columns of the matrices", &size, NULL },
                               { "--count", "numbers of the sum", &count, NULL },
                               { NULL, NULL, NULL, NULL } };
    read_options(argc, argv, "A product and a sum by several devices.", options);
    ndr_group *all;
    ndr_context *contexts[64];
    bool is_right = true;
    figures strong_1 = { 0 }, weak_1 = { 0 };
    MUST(ndr_group_create(&(ndr_group_desc){ .device = device, .part_count = parts }, &all));
    for (size_t i = 0; i < ndr_group_size(all) && i < 64; ++i) contexts[i] = ndr_group_context(all, i);
    printf("        | product               speed-up  grown  efficiency | sum        speed-up  grown  efficiency\n");
    for (size_t ranks = 1; ranks <= ndr_group_size(all) && ranks <= 64; ++ranks) {
        ndr_group *some;
        MUST(ndr_group_create(&(ndr_group_desc){ .contexts = contexts, .context_count = ranks }, &some));
        const size_t grown = (size_t)((double)size * cbrt((double)ranks) + 0.5);
        const figures strong = run(some, size, count, &is_right), weak = run(some, grown, count * ranks, &is_right);
        if (ranks == 1) strong_1 = strong, weak_1 = weak;
        printf("%zu %s | %8.4f s %7.1f GFLOP/s %6.2f %8.4f s %6.0f%% | %8.4f s %6.2f %8.4f s %6.0f%%\n", ranks,
               ranks == 1 ? "rank " : "ranks", strong.product,
               2e-9 * (double)(size * size * size) / strong.product, strong_1.product / strong.product, weak.product,
               100 * weak_1.product / weak.product, strong.sum, strong_1.sum / strong.sum, weak.sum,
               100 * weak_1.sum / weak.sum);
        ndr_group_destroy(some);
    }
    printf("%s\n", is_right ? "right" : "wrong");
    ndr_group_destroy(all);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
