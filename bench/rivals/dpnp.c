/* dpnp.c - dpnp (products by oneMKL, reductions) and numba-dpex (a kernel of one atomic an element), on operands of
 * their own that dpnp_rows.py checks. */
#define _POSIX_C_SOURCE 200809L
#include "rival.h"
#include "rows_matmul.h"
#include "rows_reduce.h"

#include <stdio.h>

static double ask(const char *question)
{
    static const char *const arguments[] = { BENCH_DPNP_PYTHON, BENCH_RIVALS_DIR "/dpnp_rows.py", NULL };
    static rival_process process = { .arguments = arguments };
    return ask_rival(&process, question);
}

static double time_matmul(void *job)
{
    const matmul_shape *s = &((const matmul *)job)->of;
    char question[96];
    snprintf(question, sizeof question, "matmul %s %zu %zu %zu", ndr_dtype_name(s->dtype), s->m, s->n, s->k);
    return ask(question);
}

static double time_named(const char *name, const reduce_shape *s)
{
    char question[96];
    snprintf(question, sizeof question, "%s %s %zu", name, ndr_dtype_name(s->dtype), s->count);
    return ask(question);
}

static double time_reduce(void *job)
{
    static const char *const ops[] = { [NDR_OP_SUM] = "sum", [NDR_OP_MIN] = "min", [NDR_OP_MAX] = "max" };
    const reduce_shape *s = &((const reduction *)job)->of;
    return time_named(ops[s->op], s);
}

static double time_atomic(void *job) { return time_named("atomic", &((const reduction *)job)->of); }

static void describe(void) { printf("of %s", BENCH_DPNP_PYTHON); }

const rival rival_dpnp = {
    .name = "dpnp",
    .describe = describe,
    .entries = { { &matmul_work, { .name = "dpnp", .time = time_matmul } },
                 { &reduce_work, { .name = "dpnp", .time = time_reduce } },
                 { &reduce_work, { .name = "numba-dpex", .time = time_atomic } } },
};
