/* rows_reduce.c - sums, minima and maxima, beside loops on the host and other libraries. */
#include "rows_reduce.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- operands ---- */

static void *begin(const void *shape)
{
    reduction *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->of = *(const reduce_shape *)shape;
    j->input = shared_create(j->of.copies * j->of.count * ndr_dtype_size(j->of.dtype));
    j->output = shared_create(sizeof(double));
    return j;
}

static void end(void *job)
{
    reduction *j = job;
    shared_destroy(&j->input);
    shared_destroy(&j->output);
    if (j->empty) MUST_CL(clReleaseKernel(j->empty));
    free(j);
}

static void hand_over(void *job, bool to_device)
{
    reduction *j = job;
    shared_hand_over(&j->input, to_device);
    shared_hand_over(&j->output, to_device);
}

static void compute_expected(reduction *j)
{
    const reduce_shape *s = &j->of;
    long double sum = 0, absolute = 0;
    double smallest = INFINITY, largest = -INFINITY;
    for (size_t i = 0; i < s->count; ++i) {
        const double x = element_at(s->dtype, j->input.host, i);
        sum += x;
        absolute += fabs(x);
        smallest = fmin(smallest, x);
        largest = fmax(largest, x);
    }
    j->absolute_sum = (double)absolute;
    j->expected = s->op == NDR_OP_SUM ? (double)sum : s->op == NDR_OP_MIN ? smallest : largest;
    if (s->dtype == NDR_DTYPE_I32) /* 10^7 values stay below 2^63; the result is modulo 2^32 */
        j->expected = (double)(int32_t)(uint32_t)(uint64_t)(int64_t)sum;
}

/* Sums are of values >= 0, because cblas_sasum() adds absolute values. */
static void refill(void *job, uint64_t seed)
{
    reduction *j = job;
    const reduce_shape *s = &j->of;
    const bool is_sum = s->op == NDR_OP_SUM;
    if (s->dtype == NDR_DTYPE_F32) fill_f32(j->input.host, s->count, is_sum ? 0 : -1, is_sum ? 1 : 2, seed);
    else if (s->dtype == NDR_DTYPE_F64) fill_f64(j->input.host, s->count, is_sum ? 0 : -1, is_sum ? 1 : 2, seed);
    else fill_i32(j->input.host, s->count, seed);
    const size_t bytes = s->count * ndr_dtype_size(s->dtype);
    for (size_t i = 1; i < s->copies; ++i) memcpy((char *)j->input.host + i * bytes, j->input.host, bytes);
    compute_expected(j);
}

static void reset(void *job)
{
    reduction *j = job;
    memset(j->output.host, 0xff, sizeof(double)); /* NaN */
}

size_t take_offset(reduction *j) { return j->next++ % j->of.copies * j->of.count; }

const void *take_host(reduction *j)
{
    return (const char *)j->input.host + take_offset(j) * ndr_dtype_size(j->of.dtype);
}

/* ---- contenders ---- */

static void reduce_by(reduction *j, ndr_reduce_method method, ndr_numerics numerics)
{
    const ndr_reduce_desc desc = { .dtype = j->of.dtype,
                                   .op = j->of.op,
                                   .method = method,
                                   .input = { j->input.buffer, take_offset(j) },
                                   .count = j->of.count,
                                   .output = { j->output.buffer, 0 },
                                   .numerics = numerics };
    MUST(ndr_reduce(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

static void run_libndr(void *job)
{
    const reduce_shape *s = &((reduction *)job)->of;
    reduce_by(job, s->method, s->numerics);
}

static void run_tree(void *job) { reduce_by(job, NDR_REDUCE_TREE, NDR_NUMERICS_FAST); }

static void run_empty_launch(void *job)
{
    reduction *j = job;
    const size_t one = 1;
    cl_command_queue queue = ndr_queue_cl(the_queue);
    if (!j->empty) j->empty = raw_kernel("kernel void empty(void) {}", "empty");
    MUST_CL(clEnqueueNDRangeKernel(queue, j->empty, 1, NULL, &one, &one, 0, NULL, NULL));
    MUST_CL(clFinish(queue));
}

enum { LIBNDR, TREE, EMPTY_LAUNCH };

const contender reduce_own[] = {
    [LIBNDR] = { .name = "libndr", .on_device = true, .run = run_libndr },
    [TREE] = { .name = "libndr's tree", .on_device = true, .run = run_tree },
    [EMPTY_LAUNCH] = { .name = "empty launch", .on_device = true, .run = run_empty_launch },
    { 0 },
};

/* ---- checking ---- */

/* The bound of docs/numerics.md for libndr; for rivals one that holds for any order of additions. */
static double bound(const reduction *j, const contender *who)
{
    if (j->of.op != NDR_OP_SUM || j->of.dtype == NDR_DTYPE_I32) return 0;
    const double eps = j->of.dtype == NDR_DTYPE_F32 ? (double)FLT_EPSILON : DBL_EPSILON, n = (double)j->of.count;
    const bool is_atomic = j->of.method == NDR_REDUCE_ATOMIC && who == &reduce_own[LIBNDR];
    const bool is_ours = who == &reduce_own[LIBNDR] || who == &reduce_own[TREE];
    return (is_ours ? ceil(log2(n)) + (is_atomic ? 2048 : 256) : n) * eps * j->absolute_sum;
}

static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const reduction *j = job;
    (void)calls, (void)thoroughly;
    if (who == &reduce_own[EMPTY_LAUNCH]) return true; /* it has no result */
    const double got = element_at(j->of.dtype, j->output.host, 0);
    if (fabs(got - j->expected) <= bound(j, who)) return true; /* false for NaN */
    fprintf(stderr, "bench: %s: %.17g instead of %.17g; the bound of the error is %.3g\n", who->name, got, j->expected,
            bound(j, who));
    return false;
}

const work reduce_work = { reduce_own, begin, end, refill, reset, hand_over, check };

/* ---- rows ---- */

#define WORK(name_, dtype_, op_, method_, count_, copies_, unit_, amount_)                                        \
    .name = name_, .work = &reduce_work, .shape = &(const reduce_shape){ dtype_, op_, method_, count_, copies_, NDR_NUMERICS_FAST }, \
    .unit = &unit_, .amount = amount_
#define SUM(name_, count_, copies_) \
    WORK(name_, NDR_DTYPE_F32, NDR_OP_SUM, NDR_REDUCE_TREE, count_, copies_, gigabytes, 4.0 * (count_))

/* The goal beside other OpenCL libraries. */
#define AHEAD_OF(name) { name, { RATE_AT_LEAST, 1, 5 } }
#define CLBLAST AHEAD_OF("CLBlast")
#define BOOST AHEAD_OF("Boost.Compute")
#define PYOPENCL AHEAD_OF("PyOpenCL"), AHEAD_OF("dpnp")

#define SMALL_SUM(name_, count_, pass_, aim_)                                                                   \
    {                                                                                                           \
        WORK(name_, NDR_DTYPE_F32, NDR_OP_SUM, NDR_REDUCE_TREE, count_, 1, microseconds, 1), .max_launches = 1, \
        .rivals = { { "empty launch", { TIME_AT_MOST, pass_, aim_ } }, CLBLAST, BOOST, PYOPENCL,                \
                    { .name = "OpenMP loop" }, { .name = "OpenBLAS sasum" } },                                  \
    }
#define LARGE_SUM(name_, count_, aim_)                                                                               \
    {                                                                                                                \
        SUM(name_, count_, 1),                                                                                       \
        .rivals = { { "OpenMP loop", { RATE_AT_LEAST, 1, aim_ } }, { "OpenBLAS sasum", { RATE_AT_LEAST, 1, aim_ } }, \
                    CLBLAST, BOOST, PYOPENCL },                                                                      \
    }
#define SUM_FROM_MEMORY(name_, count_, aim_)                                                                           \
    {                                                                                                                  \
        SUM(name_, count_, ((size_t)1 << 28) / (count_)),                                                              \
        .rivals = { { "OpenMP loop", { RATE_AT_LEAST, 1, aim_ } }, { "OpenBLAS sasum", { RATE_AT_LEAST, 1, aim_ } } }, \
    }
#define OF_1E7(bytes, name_, dtype_, op_, ...)                                          \
    {                                                                                   \
        WORK(name_, dtype_, op_, NDR_REDUCE_TREE, 10000000, 1, gigabytes, bytes * 1e7), \
        .rivals = { { "OpenMP loop", { RATE_AT_LEAST, 1, 1.05 } }, __VA_ARGS__ },       \
    }

/* Beside the fast sum. */
#define NUMERICS(name_, dtype_, count_, numerics_, aim_)                                                       \
    {                                                                                                          \
        .name = name_, .work = &reduce_work, .unit = &gigabytes, .alternates = true,                           \
        .shape = &(const reduce_shape){ dtype_, NDR_OP_SUM, NDR_REDUCE_TREE, count_, 1, numerics_ },           \
        .amount = (dtype_ == NDR_DTYPE_F64 ? 8.0 : 4.0) * (count_),                                            \
        .rivals = { { "libndr's tree", { RATE_AT_LEAST, aim_, aim_ } } },                                      \
    }
#define BOTH_NUMERICS(name_, dtype_, count_)                                            \
    NUMERICS(name_ " reproducible", dtype_, count_, NDR_NUMERICS_REPRODUCIBLE, 0.9),    \
        NUMERICS(name_ " exact", dtype_, count_, NDR_NUMERICS_EXACT, 0.7)

static const bench_row rows[] = {
    SMALL_SUM("sum f32 1e3", 1000, 1.2, 1.1),
    SMALL_SUM("sum f32 1e5", 100000, 1.5, 1.3),
    LARGE_SUM("sum f32 1e6", 1000000, 1),
    LARGE_SUM("sum f32 1e7", 10000000, 1.05),
    LARGE_SUM("sum f32 6.7e7", 67108864, 1.05),
    SUM_FROM_MEMORY("sum f32 1e6 from memory", 1000000, 1),
    SUM_FROM_MEMORY("sum f32 1e7 from memory", 10000000, 1.05),
    SUM_FROM_MEMORY("sum f32 6.7e7 from memory", 67108864, 1.05),
    { WORK("sum f32 1e7 atomic", NDR_DTYPE_F32, NDR_OP_SUM, NDR_REDUCE_ATOMIC, 10000000, 1, gigabytes, 4e7),
      .rivals = { { "libndr's tree", { RATE_AT_LEAST, 0.95, 1 } }, AHEAD_OF("numba-dpex") },
      .max_launches = 1 },
    OF_1E7(4, "min f32 1e7", NDR_DTYPE_F32, NDR_OP_MIN, BOOST, PYOPENCL),
    OF_1E7(4, "max f32 1e7", NDR_DTYPE_F32, NDR_OP_MAX, BOOST, PYOPENCL),
    OF_1E7(4, "sum i32 1e7", NDR_DTYPE_I32, NDR_OP_SUM, BOOST, PYOPENCL),
    OF_1E7(8, "sum f64 1e7", NDR_DTYPE_F64, NDR_OP_SUM, CLBLAST, BOOST, PYOPENCL),
    BOTH_NUMERICS("sum f32 2^24", NDR_DTYPE_F32, 1 << 24),
    BOTH_NUMERICS("sum f32 2^26", NDR_DTYPE_F32, 1 << 26),
    BOTH_NUMERICS("sum f64 2^24", NDR_DTYPE_F64, 1 << 24),
};

row_list reduce_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
