/* openmp.c - OpenMP: reductions as loops over all threads, with vectors as wide as the machine's.
 *
 * Compiled with -O3 -march=native -ffast-math -mprefer-vector-width=512. */
#include "rival.h"
#include "rows_reduce.h"

#include <stdio.h>

#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define PLUS(a, b) ((a) + (b))

#define DEFINE_LOOP(name, T, sum_type, clause, start, combine)                                   \
    static void name(const void *input, size_t n, void *output)                                  \
    {                                                                                            \
        const T *x = input;                                                                      \
        sum_type result = (sum_type)(start);                                                     \
        _Pragma(clause) for (size_t i = 0; i < n; ++i) result = combine(result, (sum_type)x[i]); \
        *(T *)output = (T)result;                                                                \
    }
DEFINE_LOOP(sum_f32, float, float, "omp parallel for simd schedule(static) reduction(+ : result)", 0, PLUS)
DEFINE_LOOP(sum_f64, double, double, "omp parallel for simd schedule(static) reduction(+ : result)", 0, PLUS)
DEFINE_LOOP(sum_i32, int32_t, uint32_t, "omp parallel for simd schedule(static) reduction(+ : result)", 0, PLUS)
DEFINE_LOOP(min_f32, float, float, "omp parallel for simd schedule(static) reduction(min : result)", x[0], SMALLER)
DEFINE_LOOP(max_f32, float, float, "omp parallel for simd schedule(static) reduction(max : result)", x[0], LARGER)

static void (*const loops[][NDR_OP_MAX + 1])(const void *input, size_t n, void *output) = {
    [NDR_DTYPE_F32] = { [NDR_OP_SUM] = sum_f32, [NDR_OP_MIN] = min_f32, [NDR_OP_MAX] = max_f32 },
    [NDR_DTYPE_F64] = { [NDR_OP_SUM] = sum_f64 },
    [NDR_DTYPE_I32] = { [NDR_OP_SUM] = sum_i32 },
};

static void run_loop(void *job)
{
    reduction *j = job;
    loops[j->of.dtype][j->of.op](take_host(j), j->of.count, j->output.host);
}

static void describe(void) { printf("of the C compiler"); }

const rival rival_openmp = {
    .name = "OpenMP",
    .describe = describe,
    .entries = { { &reduce_work, { .name = "OpenMP loop", .run = run_loop } } },
};
