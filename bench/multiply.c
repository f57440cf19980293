/* multiply.c - multiplies and adds in as many registers as a core has; compiled once for each core (CORE). */
#include <stddef.h>
#include <string.h>

#if defined(__AVX512F__)
enum { BYTES = 64 };
#elif defined(__AVX__)
enum { BYTES = 32 };
#else
enum { BYTES = 16 };
#endif
/* 12 accumulators keep two units with a latency of 4 or 5 cycles busy, and leave registers for two operands. */
enum { LANES = BYTES / sizeof(float), ACCUMULATORS = 12 };

typedef float vector __attribute__((vector_size(BYTES)));

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

double JOIN(multiply_, CORE)(size_t steps);
double JOIN(flop_, CORE)(size_t steps);

/* x = x / 2 + 1/2, which converges to 1. The mean of all x. */
double JOIN(multiply_, CORE)(size_t steps)
{
    vector half, sum[ACCUMULATORS];
    for (size_t l = 0; l < LANES; ++l) half[l] = 0.5f;
    __asm__ volatile("" : "+m"(half)); /* hides the value from the compiler */
    const vector factor = half, addend = half;
    for (size_t i = 0; i < ACCUMULATORS; ++i) sum[i] = addend;
    for (size_t step = 0; step < steps; ++step)
        for (size_t i = 0; i < ACCUMULATORS; ++i) sum[i] = sum[i] * factor + addend;
    double total = 0;
    for (size_t i = 0; i < ACCUMULATORS; ++i)
        for (size_t l = 0; l < LANES; ++l) total += (double)sum[i][l];
    return total / (LANES * ACCUMULATORS);
}

double JOIN(flop_, CORE)(size_t steps) { return 2.0 * LANES * ACCUMULATORS * (double)steps; }
