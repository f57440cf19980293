/* openmp.c - the loops that reductions are held to: all threads, vectors as wide as the machine's.
 *
 * Compiled with -O3 -march=native -ffast-math -mprefer-vector-width=512. */
#include "bench.h"

#ifdef BENCH_OPENMP

#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define PLUS(a, b) ((a) + (b))

#define DEFINE_LOOP(name, T, sum_type, clause, start, combine)                           \
    static T name(const T *x, size_t n)                                                  \
    {                                                                                    \
        sum_type result = (sum_type)(start);                                             \
        _Pragma(clause) for (size_t i = 0; i < n; ++i) result = combine(result, (sum_type)x[i]); \
        return (T)result;                                                                \
    }
DEFINE_LOOP(sum_f32, float, float, "omp parallel for simd schedule(static) reduction(+ : result)", 0, PLUS)
DEFINE_LOOP(sum_f64, double, double, "omp parallel for simd schedule(static) reduction(+ : result)", 0, PLUS)
DEFINE_LOOP(sum_i32, int32_t, uint32_t, "omp parallel for simd schedule(static) reduction(+ : result)", 0, PLUS)
DEFINE_LOOP(min_f32, float, float, "omp parallel for simd schedule(static) reduction(min : result)", x[0], SMALLER)
DEFINE_LOOP(max_f32, float, float, "omp parallel for simd schedule(static) reduction(max : result)", x[0], LARGER)

static const openmp_loops loops = { sum_f32, min_f32, max_f32, sum_f64, sum_i32 };

const openmp_loops *openmp(void) { return &loops; }

#else

const openmp_loops *openmp(void) { return NULL; }

#endif
