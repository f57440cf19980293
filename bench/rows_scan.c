/* rows_scan.c - inclusive prefix sums, also along an axis of a matrix, beside loops on the host. */
#include "rows_scan.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndr/ndr_ops.h"

/* ---- operands ---- */

static size_t bytes_of(const scan *j) { return j->of.count * ndr_dtype_size(j->of.dtype); }

static void *begin(const void *shape)
{
    scan *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->of = *(const scan_shape *)shape;
    j->input = shared_create(bytes_of(j));
    j->output = shared_create(bytes_of(j));
    return j;
}

static void end(void *job)
{
    scan *j = job;
    shared_destroy(&j->input);
    shared_destroy(&j->output);
    free(j);
}

static void hand_over(void *job, bool to_device)
{
    scan *j = job;
    shared_hand_over(&j->input, to_device);
    shared_hand_over(&j->output, to_device);
}

static void refill(void *job, uint64_t seed)
{
    scan *j = job;
    if (j->of.dtype == NDR_DTYPE_F32) fill_f32(j->input.host, j->of.count, 0, 1, seed);
    else fill_i32(j->input.host, j->of.count, seed);
}

static void reset(void *job)
{
    scan *j = job;
    memset(j->output.host, 0xff, bytes_of(j)); /* NaN */
}

/* ---- contenders ---- */

static void run_libndr(void *job)
{
    scan *j = job;
    const ndr_scan_desc desc = { .dtype = j->of.dtype,
                                 .op = NDR_OP_SUM,
                                 .input = { j->input.buffer, 0 },
                                 .count = j->of.count,
                                 .output = { j->output.buffer, 0 } };
    MUST(ndr_scan(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

static const contender scan_own[] = { { .name = "libndr", .on_device = true, .run = run_libndr }, { 0 } };

/* ---- checking ---- */

/* The bound of docs/numerics.md for libndr; for rivals one that holds for any order of additions. */
static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const scan *j = job;
    const bool is_float = j->of.dtype == NDR_DTYPE_F32;
    const double factor = !is_float ? 0 : (double)FLT_EPSILON * (who == scan_own ? 256 : (double)j->of.count);
    double sum = 0;
    uint32_t wrapped = 0;
    (void)calls, (void)thoroughly;
    for (size_t i = 0; i < j->of.count; ++i) {
        const double x = element_at(j->of.dtype, j->input.host, i), got = element_at(j->of.dtype, j->output.host, i);
        sum += x;
        wrapped += (uint32_t)(int64_t)x;
        const double wanted = is_float ? sum : (double)(int32_t)wrapped;
        if (fabs(got - wanted) <= factor * sum) continue; /* false for NaN */
        fprintf(stderr, "bench: %s: element %zu is %.17g instead of %.17g\n", who->name, i, got, wanted);
        return false;
    }
    return true;
}

const work scan_work = { scan_own, begin, end, refill, reset, hand_over, check };

/* ---- along an axis ---- */

static size_t line_bytes(const line_scan *j) { return j->of.rows * j->of.cols * sizeof(float); }

static void *begin_lines(const void *shape)
{
    line_scan *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->of = *(const line_shape *)shape;
    j->input = shared_create(line_bytes(j));
    j->output = shared_create(line_bytes(j));
    return j;
}

static void end_lines(void *job)
{
    line_scan *j = job;
    shared_destroy(&j->input), shared_destroy(&j->output);
    free(j);
}

static void hand_over_lines(void *job, bool to_device)
{
    line_scan *j = job;
    shared_hand_over(&j->input, to_device), shared_hand_over(&j->output, to_device);
}

static void refill_lines(void *job, uint64_t seed)
{
    line_scan *j = job;
    fill_f32(j->input.host, j->of.rows * j->of.cols, 0, 1, seed);
}

static void reset_lines(void *job)
{
    line_scan *j = job;
    memset(j->output.host, 0xff, line_bytes(j)); /* NaN */
}

static void run_lines(void *job)
{
    line_scan *j = job;
    const ndr_range shape = ndr_range_2d(j->of.rows, j->of.cols);
    const ndr_array_scan_desc desc = { .op = NDR_OP_SUM,
                                       .axis = j->of.axis,
                                       .input = ndr_array_of(j->input.buffer, NDR_DTYPE_F32, shape),
                                       .output = ndr_array_of(j->output.buffer, NDR_DTYPE_F32, shape) };
    MUST(ndr_array_scan(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

static const contender line_own[] = { { .name = "libndr", .on_device = true, .run = run_lines }, { 0 } };

/* Elements are not negative. The bound of libndr; for rivals one that holds for any order. */
static bool check_lines(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const line_scan *j = job;
    const size_t lines = j->of.axis ? j->of.rows : j->of.cols, count = j->of.axis ? j->of.cols : j->of.rows;
    const size_t step = j->of.axis ? 1 : j->of.cols, next = j->of.axis ? j->of.cols : 1;
    const double factor = (double)FLT_EPSILON * (who == line_own ? 256 : (double)count);
    const float *x = j->input.host, *got = j->output.host;
    (void)calls, (void)thoroughly;
    for (size_t l = 0; l < lines; ++l) {
        double sum = 0;
        for (size_t i = 0; i < count; ++i) {
            sum += (double)x[l * next + i * step];
            if (fabs((double)got[l * next + i * step] - sum) <= factor * sum) continue; /* false for NaN */
            fprintf(stderr, "bench: %s: element %zu of line %zu is wrong\n", who->name, i, l);
            return false;
        }
    }
    return true;
}

const work line_work = { line_own, begin_lines, end_lines, refill_lines, reset_lines, hand_over_lines, check_lines };

/* ---- rows ---- */

/* Each element is read and written once; the second pass reads it again. */
#define SCAN_OF(name_, dtype_, count_)                                                                           \
    {                                                                                                            \
        .name = name_, .work = &scan_work, .shape = &(const scan_shape){ dtype_, count_ }, .unit = &gigabytes,   \
        .amount = 8.0 * (count_), .max_launches = 2, .alternates = true,                                         \
        .rivals = { { "OpenMP loops", { RATE_AT_LEAST, 1, 1 } }, { "Boost.Compute", { RATE_AT_LEAST, 1, 5 } } }, \
    }

#define LINES_OF(rows_, cols_, axis_)                                                                               \
    {                                                                                                               \
        .name = "scan along axis " #axis_ " of " #rows_ " x " #cols_ ", f32", .work = &line_work,                   \
        .shape = &(const line_shape){ rows_, cols_, axis_ }, .unit = &gigabytes, .amount = 8.0 * (rows_) * (cols_), \
        .rivals = { { "OpenMP loops", { RATE_AT_LEAST, 1, 1 } } }, .max_launches = 2, .alternates = true,           \
    }

static const bench_row rows[] = {
    SCAN_OF("scan f32 2^20", NDR_DTYPE_F32, 1 << 20), SCAN_OF("scan f32 2^24", NDR_DTYPE_F32, 1 << 24),
    SCAN_OF("scan f32 2^26", NDR_DTYPE_F32, 1 << 26), SCAN_OF("scan i32 2^20", NDR_DTYPE_I32, 1 << 20),
    SCAN_OF("scan i32 2^24", NDR_DTYPE_I32, 1 << 24), SCAN_OF("scan i32 2^26", NDR_DTYPE_I32, 1 << 26),
    LINES_OF(4096, 4096, 0), LINES_OF(4096, 4096, 1), LINES_OF(200000, 37, 0), LINES_OF(200000, 37, 1),
    LINES_OF(37, 200000, 0), LINES_OF(37, 200000, 1), LINES_OF(1000, 1000, 0), LINES_OF(1000, 1000, 1),
};

row_list scan_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
