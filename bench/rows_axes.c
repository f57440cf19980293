/* rows_axes.c - sums along an axis of a matrix, beside loops on the host. */
#include "rows_axes.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndr/ndr_ops.h"

/* ---- operands ---- */

static size_t results_of(const axes *j) { return j->of.axis == 1 ? j->of.rows : j->of.cols; }

static void *begin(const void *shape)
{
    axes *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->of = *(const axes_shape *)shape;
    j->input = shared_create(j->of.rows * j->of.cols * sizeof(float));
    j->output = shared_create(results_of(j) * sizeof(float));
    return j;
}

static void end(void *job)
{
    axes *j = job;
    shared_destroy(&j->input);
    shared_destroy(&j->output);
    free(j);
}

static void hand_over(void *job, bool to_device)
{
    axes *j = job;
    shared_hand_over(&j->input, to_device);
    shared_hand_over(&j->output, to_device);
}

static void refill(void *job, uint64_t seed)
{
    axes *j = job;
    fill_f32(j->input.host, j->of.rows * j->of.cols, 0, 1, seed);
}

static void reset(void *job)
{
    axes *j = job;
    memset(j->output.host, 0xff, results_of(j) * sizeof(float)); /* NaN */
}

/* ---- contenders ---- */

static void run_libndr(void *job)
{
    axes *j = job;
    const ndr_map_array x = { "x", ndr_array_of(j->input.buffer, NDR_DTYPE_F32, ndr_range_2d(j->of.rows, j->of.cols)) };
    const ndr_map_reduce_desc desc = { .dtype = NDR_DTYPE_F32,
                                       .op = NDR_OP_SUM,
                                       .expression = "x",
                                       .inputs = &x,
                                       .input_count = 1,
                                       .axes = 1u << j->of.axis,
                                       .output.buffer = j->output.buffer };
    MUST(ndr_map_reduce(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

static const contender axes_own[] = { { .name = "libndr", .on_device = true, .run = run_libndr }, { 0 } };

/* ---- checking ---- */

/* Elements are not negative. The bound of docs/numerics.md for libndr; for rivals one that holds for any order. */
static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const axes *j = job;
    const size_t count = j->of.axis == 1 ? j->of.cols : j->of.rows;
    const double factor = (double)FLT_EPSILON * (who == axes_own ? 256 + ceil(log2((double)count)) : (double)count);
    const float *x = j->input.host, *got = j->output.host;
    (void)calls, (void)thoroughly;
    for (size_t k = 0; k < results_of(j); ++k) {
        double sum = 0;
        for (size_t i = 0; i < count; ++i) sum += (double)x[j->of.axis == 1 ? k * count + i : i * j->of.cols + k];
        if (fabs(got[k] - sum) <= factor * sum) continue; /* false for NaN */
        fprintf(stderr, "bench: %s: result %zu is %.9g instead of %.9g\n", who->name, k, (double)got[k], sum);
        return false;
    }
    return true;
}

const work axes_work = { axes_own, begin, end, refill, reset, hand_over, check };

/* ---- rows ---- */

#define AXES_OF(rows_, cols_, axis_)                                                                                \
    {                                                                                                               \
        .name = "axis " #axis_ " of " #rows_ " x " #cols_ ", sums f32", .work = &axes_work,                         \
        .shape = &(const axes_shape){ rows_, cols_, axis_ }, .unit = &gigabytes, .amount = 4.0 * (rows_) * (cols_), \
        .rivals = { { "OpenMP loops", { RATE_AT_LEAST, 1, 1 } } }, .max_launches = 2, .alternates = true,           \
    }

static const bench_row rows[] = {
    AXES_OF(4096, 4096, 0),  AXES_OF(4096, 4096, 1), AXES_OF(200000, 37, 0),  AXES_OF(200000, 37, 1),
    AXES_OF(37, 200000, 0),  AXES_OF(37, 200000, 1), AXES_OF(100000, 128, 0), AXES_OF(100000, 128, 1),
    AXES_OF(16777216, 1, 0), AXES_OF(1000, 1000, 0), AXES_OF(1000, 1000, 1),
};

row_list axes_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
