/* openmp.c - OpenMP: reductions, scans, transposing and gathering as loops over all threads, with vectors as wide as the machine's.
 *
 * Compiled with -O3 -march=native -ffast-math -mprefer-vector-width=512. */
#include "rival.h"
#include "rows_axes.h"
#include "rows_histogram.h"
#include "rows_launch.h"
#include "rows_move.h"
#include "rows_reduce.h"
#include "rows_scan.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

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

/* Two passes: each thread sums its part, and then scans it from the sum of the parts before. */
#define DEFINE_SCAN(name, T)                                                                             \
    static void name(const void *input, size_t n, void *output)                                          \
    {                                                                                                    \
        const T *x = input;                                                                              \
        T *y = output, *sums = calloc((size_t)omp_get_max_threads(), sizeof *sums);                      \
        _Pragma("omp parallel")                                                                          \
        {                                                                                                \
            const size_t threads = (size_t)omp_get_num_threads(), me = (size_t)omp_get_thread_num();     \
            const size_t begin = n / threads * me, end = me + 1 < threads ? n / threads * (me + 1) : n;  \
            T sum = 0;                                                                                   \
            _Pragma("omp simd reduction(+ : sum)") for (size_t i = begin; i < end; ++i) sum += x[i];     \
            sums[me] = sum;                                                                              \
            _Pragma("omp barrier") sum = 0;                                                              \
            for (size_t i = 0; i < me; ++i) sum += sums[i];                                              \
            _Pragma("omp simd reduction(inscan, + : sum)") for (size_t i = begin; i < end; ++i)          \
            {                                                                                            \
                sum += x[i];                                                                             \
                _Pragma("omp scan inclusive(sum)") y[i] = sum;                                           \
            }                                                                                            \
        }                                                                                                \
        free(sums);                                                                                      \
    }
DEFINE_SCAN(scan_f32, float)
DEFINE_SCAN(scan_i32, uint32_t)

static void run_scan(void *job)
{
    scan *j = job;
    (j->of.dtype == NDR_DTYPE_F32 ? scan_f32 : scan_i32)(j->input.host, j->of.count, j->output.host);
}

/* Rows: a thread has whole ones. Columns: a thread has some of them, or, if there are few, some of the rows, in two passes. */
static void run_lines(void *job)
{
    enum { MOST = 512 };
    line_scan *j = job;
    const size_t rows = j->of.rows, cols = j->of.cols, threads = (size_t)omp_get_max_threads();
    const float *x = j->input.host;
    float *y = j->output.host;
    if (j->of.axis == 1) {
#pragma omp parallel for schedule(static)
        for (size_t r = 0; r < rows; ++r) {
            float sum = 0;
#pragma omp simd reduction(inscan, + : sum)
            for (size_t i = r * cols; i < (r + 1) * cols; ++i) {
                sum += x[i];
#pragma omp scan inclusive(sum)
                y[i] = sum;
            }
        }
        return;
    }
    const size_t parts = cols < MOST ? threads : 1, size = (rows + parts - 1) / parts;
    float *sums = calloc(parts * cols, sizeof *sums);
    for (int pass = parts > 1 ? 0 : 1; pass < 2; ++pass) {
#pragma omp parallel for collapse(2) schedule(static)
        for (size_t p = 0; p < parts; ++p)
            for (size_t left = 0; left < cols; left += MOST) {
                const size_t width = SMALLER(cols - left, MOST), end = SMALLER(rows, (p + 1) * size);
                float sum[MOST] = { 0 };
                for (size_t q = 0; pass && q < p; ++q)
                    for (size_t k = 0; k < width; ++k) sum[k] += sums[q * cols + left + k];
                for (size_t r = p * size; r < end; ++r)
                    for (size_t k = 0; k < width; ++k) {
                        sum[k] += x[r * cols + left + k];
                        if (pass) y[r * cols + left + k] = sum[k];
                    }
                for (size_t k = 0; !pass && k < width; ++k) sums[p * cols + left + k] = sum[k];
            }
    }
    free(sums);
}

/* By tiles of 32 x 32. */
static void run_transpose(void *job)
{
    enum { TILE = 32 };
    move *j = job;
    const int32_t *x = j->input.host;
    int32_t *y = j->output.host;
    const size_t rows = j->of.rows, cols = j->of.cols;
#pragma omp parallel for collapse(2) schedule(static)
    for (size_t top = 0; top < rows; top += TILE)
        for (size_t left = 0; left < cols; left += TILE)
            for (size_t col = left; col < SMALLER(left + TILE, cols); ++col)
                for (size_t row = top; row < SMALLER(top + TILE, rows); ++row) y[col * rows + row] = x[row * cols + col];
}

static void run_gather(void *job)
{
    move *j = job;
    const int32_t *x = j->input.host;
    const uint32_t *indexes = j->indexes.host;
    int32_t *y = j->output.host;
    const size_t n = j->of.cols;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; ++i) y[i] = x[indexes[i]];
}

/* Rows: a thread has whole ones. Columns: a thread adds up some of the rows, in a line of its own. */
static void run_axes(void *job)
{
    axes *j = job;
    const size_t rows = j->of.rows, cols = j->of.cols;
    const float *x = j->input.host;
    float *y = j->output.host;
    if (j->of.axis == 1) {
#pragma omp parallel for schedule(static)
        for (size_t r = 0; r < rows; ++r) {
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (size_t c = 0; c < cols; ++c) sum += x[r * cols + c];
            y[r] = sum;
        }
        return;
    }
    for (size_t c = 0; c < cols; ++c) y[c] = 0;
#pragma omp parallel
    {
        float *mine = calloc(cols, sizeof *mine);
#pragma omp for schedule(static)
        for (size_t r = 0; r < rows; ++r)
#pragma omp simd
            for (size_t c = 0; c < cols; ++c) mine[c] += x[r * cols + c];
#pragma omp critical
        for (size_t c = 0; c < cols; ++c) y[c] += mine[c];
        free(mine);
    }
}

/* A table of each thread. */
#define COUNT_EACH(bin) \
    _Pragma("omp for schedule(static)") for (size_t i = 0; i < n; ++i) ++mine[bin]

static void run_histogram(void *job)
{
    histogram *j = job;
    const uint8_t *bytes = j->input.host;
    const float *floats = j->input.host;
    uint32_t *counts = j->counts.host;
    const size_t n = j->of.count, bins = j->of.bins;
    for (size_t b = 0; b < bins; ++b) counts[b] = 0;
#pragma omp parallel
    {
        uint32_t *mine = calloc(bins, sizeof *mine);
        if (j->of.dtype == NDR_DTYPE_U8) COUNT_EACH(bytes[i]);
        else COUNT_EACH((size_t)(floats[i] * (float)bins));
#pragma omp critical
        for (size_t b = 0; b < bins; ++b) counts[b] += mine[b];
        free(mine);
    }
}

/* What a loop takes at least: all threads begin and end. */
static void run_region(void *job)
{
    uint32_t *marks = ((small_call *)job)->marks.host;
#pragma omp parallel
    marks[omp_get_thread_num()] = 1;
}

static void describe(void) { printf("of the C compiler"); }

const rival rival_openmp = {
    .name = "OpenMP",
    .describe = describe,
    .entries = { { &reduce_work, { .name = "OpenMP loop", .run = run_loop } },
                 { &axes_work, { .name = "OpenMP loops", .run = run_axes } },
                 { &scan_work, { .name = "OpenMP loops", .run = run_scan } },
                 { &line_work, { .name = "OpenMP loops", .run = run_lines } },
                 { &transpose_work, { .name = "OpenMP loops", .run = run_transpose } },
                 { &gather_work, { .name = "OpenMP loops", .run = run_gather } },
                 { &histogram_work, { .name = "OpenMP loops", .run = run_histogram } },
                 { &small_call_work, { .name = "OpenMP region", .run = run_region } } },
};
