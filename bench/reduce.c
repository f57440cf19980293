/* reduce.c - sums, minima and maxima, beside loops on the host and other libraries. */
#include "bench.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif
#ifdef BENCH_CLBLAST
#include <clblast_c.h>
#endif
#ifdef BENCH_BOOST_COMPUTE
#include "boost_compute.h"
#endif

typedef struct shape {
    ndr_dtype dtype;
    ndr_op op;
    ndr_reduce_method method; /* of libndr */
    size_t count;
    size_t copies; /* of the input, one behind the other; each call takes the next. Many: it comes from memory */
} shape;

typedef struct reduction {
    shape of;
    shared input, output; /* output[0] is everybody's result */
    cl_kernel empty;
    size_t next;          /* copy */
    double expected, absolute_sum;
} reduction;

/* ---- operands ---- */

static void *begin(const void *shape_)
{
    reduction *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->of = *(const shape *)shape_;
    j->input = shared_create(j->of.copies * j->of.count * ndr_dtype_size(j->of.dtype));
    j->output = shared_create(sizeof(double));
    j->empty = raw_kernel("kernel void empty(void) {}", "empty");
    return j;
}

static void end(void *job)
{
    reduction *j = job;
    shared_destroy(&j->input);
    shared_destroy(&j->output);
    MUST_CL(clReleaseKernel(j->empty));
    free(j);
}

static void hand_over(void *job, bool to_device)
{
    reduction *j = job;
    shared_hand_over(&j->input, to_device);
    shared_hand_over(&j->output, to_device);
}

static double at(const shape *s, const void *x, size_t i)
{
    return s->dtype == NDR_DTYPE_F32   ? (double)((const float *)x)[i]
           : s->dtype == NDR_DTYPE_F64 ? ((const double *)x)[i]
                                       : (double)((const int32_t *)x)[i];
}

static void work_out_what_to_expect(reduction *j)
{
    const shape *s = &j->of;
    long double sum = 0, absolute = 0;
    double smallest = INFINITY, largest = -INFINITY;
    for (size_t i = 0; i < s->count; ++i) {
        const double x = at(s, j->input.host, i);
        sum += x;
        absolute += fabs(x);
        smallest = fmin(smallest, x);
        largest = fmax(largest, x);
    }
    j->absolute_sum = (double)absolute;
    j->expected = s->op == NDR_OP_SUM ? (double)sum : s->op == NDR_OP_MIN ? smallest : largest;
    if (s->dtype == NDR_DTYPE_I32) /* 10^7 of them stay below 2^63; then modulo 2^32 */
        j->expected = (double)(int32_t)(uint32_t)(uint64_t)(int64_t)sum;
}

/* Sums are of values >= 0, for cblas_sasum() adds absolute values. */
static void refill(void *job, uint64_t seed)
{
    reduction *j = job;
    const shape *s = &j->of;
    const bool is_sum = s->op == NDR_OP_SUM;
    if (s->dtype == NDR_DTYPE_F32) fill_f32(j->input.host, s->count, is_sum ? 0 : -1, is_sum ? 1 : 2, seed);
    else if (s->dtype == NDR_DTYPE_F64) fill_f64(j->input.host, s->count, is_sum ? 0 : -1, is_sum ? 1 : 2, seed);
    else fill_i32(j->input.host, s->count, seed);
    const size_t bytes = s->count * ndr_dtype_size(s->dtype);
    for (size_t i = 1; i < s->copies; ++i) memcpy((char *)j->input.host + i * bytes, j->input.host, bytes);
    work_out_what_to_expect(j);
}

static void reset(void *job)
{
    reduction *j = job;
    memset(j->output.host, 0xff, sizeof(double)); /* NaN */
}

/* The first element for this call. */
static size_t take_offset(reduction *j) { return j->next++ % j->of.copies * j->of.count; }

/* ---- contenders on the device ---- */

static void reduce_by(reduction *j, ndr_reduce_method method)
{
    const ndr_reduce_desc desc = { .dtype = j->of.dtype,
                                   .op = j->of.op,
                                   .method = method,
                                   .input = { j->input.buffer, take_offset(j) },
                                   .count = j->of.count,
                                   .output = { j->output.buffer, 0 } };
    MUST(ndr_reduce(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

static void run_libndr(void *job) { reduce_by(job, ((reduction *)job)->of.method); }
static const contender libndr = { .name = "libndr", .on_device = true, .run = run_libndr };

static void run_tree(void *job) { reduce_by(job, NDR_REDUCE_TREE); }
static const contender tree = { .name = "libndr's tree", .on_device = true, .run = run_tree };

static void run_empty_launch(void *job)
{
    const size_t one = 1;
    cl_command_queue queue = ndr_queue_cl(the_queue);
    MUST_CL(clEnqueueNDRangeKernel(queue, ((reduction *)job)->empty, 1, NULL, &one, &one, 0, NULL, NULL));
    MUST_CL(clFinish(queue));
}
static const contender empty_launch = { .name = "empty launch", .on_device = true, .run = run_empty_launch };

#ifdef BENCH_CLBLAST
static void run_clblast(void *job)
{
    reduction *j = job;
    cl_command_queue queue = ndr_queue_cl(the_queue);
    const cl_mem input = ndr_buffer_cl(j->input.buffer), output = ndr_buffer_cl(j->output.buffer);
    const CLBlastStatusCode code = j->of.dtype == NDR_DTYPE_F32
                                       ? CLBlastSsum(j->of.count, output, 0, input, take_offset(j), 1, &queue, NULL)
                                       : CLBlastDsum(j->of.count, output, 0, input, take_offset(j), 1, &queue, NULL);
    MUST_CL((cl_int)code);
    MUST_CL(clFinish(queue));
}
#else
#define run_clblast NULL
#endif
static const contender clblast = { .name = "CLBlast", .on_device = true, .run = run_clblast };

#ifdef BENCH_BOOST_COMPUTE
static void run_boost(void *job)
{
    reduction *j = job;
    boost_reduce(ndr_queue_cl(the_queue), ndr_buffer_cl(j->input.buffer), take_offset(j), j->of.count, j->of.dtype, j->of.op,
                 ndr_buffer_cl(j->output.buffer));
}
#else
#define run_boost NULL
#endif
static const contender boost = { .name = "Boost.Compute", .on_device = true, .run = run_boost };

#ifdef BENCH_PYOPENCL
static double time_pyopencl(void *job)
{
    const reduction *j = job;
    return pyopencl_reduce_s(j->of.dtype, j->of.op, j->of.count);
}
#else
#define time_pyopencl NULL
#endif
static const contender pyopencl = { .name = "PyOpenCL", .time = time_pyopencl };

/* ---- contenders on the host ---- */

#if defined(BENCH_OPENMP) || defined(BENCH_OPENBLAS)
static const void *take_host(reduction *j)
{
    return (const char *)j->input.host + take_offset(j) * ndr_dtype_size(j->of.dtype);
}
#endif

#ifdef BENCH_OPENMP
static void run_openmp(void *job)
{
    reduction *j = job;
    const openmp_loops *loops = openmp();
    const size_t n = j->of.count;
    const void *x = take_host(j);
    void *result = j->output.host;
    if (j->of.dtype == NDR_DTYPE_F64) *(double *)result = loops->sum_f64(x, n);
    else if (j->of.dtype == NDR_DTYPE_I32) *(int32_t *)result = loops->sum_i32(x, n);
    else if (j->of.op == NDR_OP_MIN) *(float *)result = loops->min_f32(x, n);
    else if (j->of.op == NDR_OP_MAX) *(float *)result = loops->max_f32(x, n);
    else *(float *)result = loops->sum_f32(x, n);
}
#else
#define run_openmp NULL
#endif
static const contender openmp_loop = { .name = "OpenMP loop", .run = run_openmp };

#ifdef BENCH_OPENBLAS
static void run_sasum(void *job)
{
    reduction *j = job;
    *(float *)j->output.host = cblas_sasum((int)j->of.count, take_host(j), 1);
}
#else
#define run_sasum NULL
#endif
static const contender sasum = { .name = "OpenBLAS sasum", .run = run_sasum };

/* ---- checking ---- */

/* The bound of docs/numerics.md for libndr; what any order of additions keeps to for the others. */
static double bound(const reduction *j, const contender *who)
{
    if (j->of.op != NDR_OP_SUM || j->of.dtype == NDR_DTYPE_I32) return 0;
    const double eps = j->of.dtype == NDR_DTYPE_F32 ? (double)FLT_EPSILON : DBL_EPSILON, n = (double)j->of.count;
    const bool is_atomic = j->of.method == NDR_REDUCE_ATOMIC && who == &libndr;
    const bool is_ours = who == &libndr || who == &tree;
    return (is_ours ? ceil(log2(n)) + (is_atomic ? 2048 : 256) : n) * eps * j->absolute_sum;
}

static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const reduction *j = job;
    (void)calls, (void)thoroughly;
    if (who == &empty_launch || who == &pyopencl) return true; /* the first has no result, the other checks its own */
    const double got = at(&j->of, j->output.host, 0);
    if (fabs(got - j->expected) <= bound(j, who)) return true; /* false for NaN */
    fprintf(stderr, "bench: %s: %.17g instead of %.17g; it may be off by %.3g\n", who->name, got, j->expected, bound(j, who));
    return false;
}

static const work reduce_work = { begin, refill, reset, hand_over, check, end };

/* ---- rows ---- */

#define WORK(name_, dtype_, op_, method_, count_, copies_, unit_, amount_)                                      \
    .name = name_, .work = &reduce_work, .shape = &(const shape){ dtype_, op_, method_, count_, copies_ },      \
    .ours = &libndr, .unit = &unit_, .amount = amount_
#define SUM(name_, count_, copies_) \
    WORK(name_, NDR_DTYPE_F32, NDR_OP_SUM, NDR_REDUCE_TREE, count_, copies_, gigabytes, 4.0 * (count_))

/* No other library may come near. */
#define CLBLAST { &clblast, { RATE_AT_LEAST, 1, 5 } }
#define BOOST { &boost, { RATE_AT_LEAST, 1, 5 } }
#define PYOPENCL { &pyopencl, { RATE_AT_LEAST, 1, 5 } }

#define SMALL_SUM(name_, count_, pass_, aim_)                                                                      \
    {                                                                                                              \
        WORK(name_, NDR_DTYPE_F32, NDR_OP_SUM, NDR_REDUCE_TREE, count_, 1, microseconds, 1), .most_launches = 1,   \
        .rivals = { { &empty_launch, { TIME_AT_MOST, pass_, aim_ } }, CLBLAST, BOOST, PYOPENCL,                    \
                    { .who = &openmp_loop }, { .who = &sasum } },                                                  \
    }
#define LARGE_SUM(name_, count_, aim_)                                                                             \
    {                                                                                                              \
        SUM(name_, count_, 1),                                                                                     \
        .rivals = { { &openmp_loop, { RATE_AT_LEAST, 1, aim_ } }, { &sasum, { RATE_AT_LEAST, 1, aim_ } }, CLBLAST, \
                    BOOST, PYOPENCL },                                                                             \
    }
#define SUM_FROM_MEMORY(name_, count_, aim_)                                                                       \
    {                                                                                                              \
        SUM(name_, count_, ((size_t)1 << 28) / (count_)),                                                          \
        .rivals = { { &openmp_loop, { RATE_AT_LEAST, 1, aim_ } }, { &sasum, { RATE_AT_LEAST, 1, aim_ } } },        \
    }
#define OF_1E7(bytes, name_, dtype_, op_, ...)                                                                     \
    {                                                                                                              \
        WORK(name_, dtype_, op_, NDR_REDUCE_TREE, 10000000, 1, gigabytes, bytes * 1e7),                            \
        .rivals = { { &openmp_loop, { RATE_AT_LEAST, 1, 1.05 } }, __VA_ARGS__ },                                   \
    }

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
      .rivals = { { &tree, { RATE_AT_LEAST, 0.95, 1 } } },
      .most_launches = 1 },
    OF_1E7(4, "min f32 1e7", NDR_DTYPE_F32, NDR_OP_MIN, BOOST, PYOPENCL),
    OF_1E7(4, "max f32 1e7", NDR_DTYPE_F32, NDR_OP_MAX, BOOST, PYOPENCL),
    OF_1E7(4, "sum i32 1e7", NDR_DTYPE_I32, NDR_OP_SUM, BOOST, PYOPENCL),
    OF_1E7(8, "sum f64 1e7", NDR_DTYPE_F64, NDR_OP_SUM, CLBLAST, BOOST, PYOPENCL),
};

row_list reduce_rows(void) { return (row_list){ rows, COUNT_OF(rows) }; }
