/* torch.c - PyTorch: sums along an axis on a GPU, of an operand of its own that torch_rows.py checks. */
#define _POSIX_C_SOURCE 200809L
#include "gpu.h"
#include "rival.h"

#include <stdio.h>

static double time_sum(void *job)
{
    static const char *const arguments[] = { BENCH_TORCH_PYTHON, BENCH_RIVALS_DIR "/torch_rows.py", NULL };
    static rival_process process = { .arguments = arguments };
    const gpu_operation_shape *s = &((const gpu_operation *)job)->of;
    char question[96];
    snprintf(question, sizeof question, "%zu %zu %u %d", s->rows, s->cols, s->axis, s->back_to_back);
    return ask_rival(&process, question);
}

static void describe(void) { printf("of %s", BENCH_TORCH_PYTHON); }

const rival rival_torch = {
    .name = "PyTorch",
    .describe = describe,
    .entries = { { &gpu_operation_work, { .name = "torch.sum", .time = time_sum } } },
};
