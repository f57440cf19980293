/* pyopencl.c - PyOpenCL: reductions, on operands of its own that pyopencl_reduce.py checks. */
#define _POSIX_C_SOURCE 200809L
#include "rival.h"
#include "rows_reduce.h"

#include <stdio.h>
#include <stdlib.h>

static double time_reduce(void *job)
{
    static const char *const ops[] = { [NDR_OP_SUM] = "sum", [NDR_OP_MIN] = "min", [NDR_OP_MAX] = "max" };
    static const char *const arguments[] = { BENCH_PYTHON, BENCH_RIVALS_DIR "/pyopencl_reduce.py", NULL };
    static rival_process process = { .arguments = arguments };
    const reduction *j = job;
    char question[64];
    snprintf(question, sizeof question, "%s %s %zu", ndr_dtype_name(j->of.dtype), ops[j->of.op], j->of.count);
    return ask_rival(&process, question);
}

static void prepare(void) { setenv("PYOPENCL_NO_CACHE", "1", 1); }

static void describe(void) { printf("of %s", BENCH_PYTHON); }

const rival rival_pyopencl = {
    .name = "PyOpenCL",
    .describe = describe,
    .prepare = prepare,
    .entries = { { &reduce_work, { .name = "PyOpenCL", .time = time_reduce } } },
};
