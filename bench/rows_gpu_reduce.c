/* rows_gpu_reduce.c - sums, minima and maxima on a GPU, beside CUB. */
#include "gpu.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN = 1 << 22 }; /* elements */

/* ---- operands ---- */

static size_t pattern_count(const gpu_reduction *j) { return j->of.count < PATTERN ? j->of.count : PATTERN; }

static void *begin(const void *shape)
{
    gpu_reduction *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->of = *(const gpu_reduce_shape *)shape;
    const size_t element = ndr_dtype_size(j->of.dtype);
    j->pattern_bytes = pattern_count(j) * element;
    j->pattern = allocate(j->pattern_bytes);
    MUST(ndr_buffer_create(the_context, j->of.count * element, &j->input));
    MUST(ndr_buffer_create(the_context, sizeof j->result, &j->output));
    return j;
}

static void end(void *job)
{
    gpu_reduction *j = job;
    MUST(ndr_queue_finish(gpu_timed_queue()));
    gpu_finish();
    ndr_buffer_destroy(j->input);
    ndr_buffer_destroy(j->output);
    free(j->pattern);
    free(j);
}

static bool is_float(const gpu_reduction *j) { return j->of.dtype == NDR_DTYPE_F32 || j->of.dtype == NDR_DTYPE_F64; }

static void expect_float(gpu_reduction *j)
{
    long double sum = 0;
    double smallest = INFINITY, largest = -INFINITY;
    for (size_t i = 0; i < pattern_count(j); ++i) {
        const double x = element_at(j->of.dtype, j->pattern, i);
        sum += x; /* no element is negative */
        smallest = fmin(smallest, x);
        largest = fmax(largest, x);
    }
    j->absolute_sum = (double)(sum * (long double)(j->of.count / pattern_count(j)));
    j->expected = j->of.op == NDR_OP_SUM ? j->absolute_sum : j->of.op == NDR_OP_MIN ? smallest : largest;
}

static int64_t integer_at(const gpu_reduction *j, size_t i)
{
    return j->of.dtype == NDR_DTYPE_I32 ? ((const int32_t *)j->pattern)[i] : ((const int64_t *)j->pattern)[i];
}

static void expect_integer(gpu_reduction *j)
{
    uint64_t sum = 0;
    int64_t smallest = INT64_MAX, largest = INT64_MIN;
    for (size_t i = 0; i < pattern_count(j); ++i) {
        const int64_t x = integer_at(j, i);
        sum += (uint64_t)x;
        if (x < smallest) smallest = x;
        if (x > largest) largest = x;
    }
    sum *= j->of.count / pattern_count(j);
    const int64_t total = j->of.dtype == NDR_DTYPE_I32 ? (int32_t)(uint32_t)sum : (int64_t)sum;
    j->expected_integer = j->of.op == NDR_OP_SUM ? total : j->of.op == NDR_OP_MIN ? smallest : largest;
}

/* The pattern, then what is there, copied behind itself until the input is full. */
static void upload(const gpu_reduction *j)
{
    const size_t bytes = j->of.count * ndr_dtype_size(j->of.dtype);
    MUST(ndr_buffer_write(the_queue, j->input, 0, j->pattern_bytes, j->pattern, NULL));
    for (size_t have = j->pattern_bytes; have < bytes; have *= 2)
        MUST(ndr_buffer_copy(the_queue, j->input, 0, j->input, have, have, NULL));
}

/* Once for each row, as for products. */
static void refill(void *job, uint64_t seed)
{
    gpu_reduction *j = job;
    if (j->number) return;
    if (j->of.dtype == NDR_DTYPE_F32) fill_f32(j->pattern, pattern_count(j), 0, 1, seed);
    else if (j->of.dtype == NDR_DTYPE_F64) fill_f64(j->pattern, pattern_count(j), 0, 1, seed);
    else fill_i32(j->pattern, j->pattern_bytes / sizeof(int32_t), seed);
    if (is_float(j)) expect_float(j);
    else expect_integer(j);
    upload(j);
    j->number = gpu_next_number();
}

/* ---- checking ---- */

static bool check_integer(const gpu_reduction *j, const contender *who)
{
    const int64_t got = j->of.dtype == NDR_DTYPE_I32 ? j->result.i32 : j->result.i64;
    if (got == j->expected_integer) return true;
    fprintf(stderr, "bench: %s: %lld instead of %lld\n", who->name, (long long)got, (long long)j->expected_integer);
    return false;
}

/* The bound of docs/numerics.md; CUB's tree keeps it, too. */
static bool check_float(const gpu_reduction *j, const contender *who)
{
    const bool is_f32 = j->of.dtype == NDR_DTYPE_F32;
    const double got = is_f32 ? (double)j->result.f32 : j->result.f64, eps = is_f32 ? (double)FLT_EPSILON : DBL_EPSILON;
    const double c = j->of.method == NDR_REDUCE_ATOMIC ? 2048 : 256;
    const double bound = j->of.op == NDR_OP_SUM ? (ceil(log2((double)j->of.count)) + c) * eps * j->absolute_sum : 0;
    if (fabs(got - j->expected) <= bound) return true; /* false for NaN */
    fprintf(stderr, "bench: %s: %.17g instead of %.17g; the bound of the error is %.3g\n", who->name, got, j->expected,
            bound);
    return false;
}

static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    (void)calls, (void)thoroughly;
    return is_float(job) ? check_float(job, who) : check_integer(job, who);
}

const work gpu_reduce_work = { .own = gpu_reduce_own, .begin = begin, .end = end, .refill = refill, .check = check };

/* ---- contenders ---- */

static void reduce(const gpu_reduction *j, ndr_reduce_method method, ndr_numerics numerics, ndr_queue *queue,
                   ndr_event **event)
{
    const ndr_reduce_desc desc = { .dtype = j->of.dtype,
                                   .op = j->of.op,
                                   .method = method,
                                   .numerics = numerics,
                                   .input = { j->input, 0 },
                                   .count = j->of.count,
                                   .output = { j->output, 0 } };
    MUST(ndr_reduce(queue, &desc, event));
}

static void reset(void *job)
{
    const gpu_reduction *j = job;
    MUST(ndr_buffer_fill(the_queue, j->output, 0, sizeof j->result, &(uint32_t){ 0xffffffff }, sizeof(uint32_t), NULL));
}

static double time_by_event(const gpu_reduction *j, ndr_reduce_method method, ndr_numerics numerics)
{
    ndr_event *event;
    reduce(j, method, numerics, gpu_timed_queue(), &event);
    return gpu_event_seconds(event);
}

static void enqueue(void *job)
{
    const gpu_reduce_shape *s = &((const gpu_reduction *)job)->of;
    reduce(job, s->method, s->numerics, the_queue, NULL);
}

static double time_one(void *job)
{
    const gpu_reduce_shape *s = &((const gpu_reduction *)job)->of;
    return time_by_event(job, s->method, s->numerics);
}

static void enqueue_tree(void *job) { reduce(job, NDR_REDUCE_TREE, NDR_NUMERICS_FAST, the_queue, NULL); }
static double time_one_tree(void *job) { return time_by_event(job, NDR_REDUCE_TREE, NDR_NUMERICS_FAST); }

static void download(void *job)
{
    gpu_reduction *j = job;
    MUST(ndr_buffer_read(the_queue, j->output, 0, sizeof j->result, &j->result, NULL));
}

static double time_libndr(void *job)
{
    static const gpu_calls calls = { NULL, reset, enqueue, time_one, gpu_finish, download };
    return gpu_time(&calls, job, ((gpu_reduction *)job)->of.back_to_back);
}

static double time_tree(void *job)
{
    static const gpu_calls calls = { NULL, reset, enqueue_tree, time_one_tree, gpu_finish, download };
    return gpu_time(&calls, job, ((gpu_reduction *)job)->of.back_to_back);
}

const contender gpu_reduce_own[] = {
    { .name = "libndr", .time = time_libndr, .leaves_result = true },
    { .name = "libndr's tree", .time = time_tree, .leaves_result = true },
    { 0 },
};

/* ---- rows ---- */

#define ROW_END_0 ""
#define ROW_END_1 " back to back"
#define SHAPE(dtype, op, method, lg, back) \
    &(const gpu_reduce_shape) { dtype, op, method, (size_t)1 << (lg), back, NDR_NUMERICS_FAST }
#define SMALL_(lg, back, aim)                                                                                       \
    {                                                                                                               \
        .name = "gpu: sum f32 2^" #lg ROW_END_##back, .work = &gpu_reduce_work, .amount = 1, .unit = &microseconds, \
        .shape = SHAPE(NDR_DTYPE_F32, NDR_OP_SUM, NDR_REDUCE_TREE, lg, back),                                       \
        .rivals = { { "CUB", { RATE_AT_LEAST, 1, aim } } },                                                         \
    }
#define SMALL_SUM(lg) SMALL_(lg, 0, 1.3), SMALL_(lg, 1, 1)
#define LARGE_(name_, bytes_, dtype, op, lg, back)                                                              \
    {                                                                                                           \
        .name = "gpu: " name_ " 2^" #lg ROW_END_##back, .work = &gpu_reduce_work,                               \
        .amount = (bytes_) * (double)((size_t)1 << (lg)), .flop_per_byte = 1.0 / (bytes_), .unit = &gigabytes,  \
        .shape = SHAPE(dtype, op, NDR_REDUCE_TREE, lg, back), .rivals = { { "CUB", { RATE_AT_LEAST, 1, 1 } } }, \
    }
#define LARGE(name, bytes, dtype, op, lg) LARGE_(name, bytes, dtype, op, lg, 0), LARGE_(name, bytes, dtype, op, lg, 1)
#define LARGE_SUM(lg) LARGE("sum f32", 4, NDR_DTYPE_F32, NDR_OP_SUM, lg)
#define OF_TYPE(type, bytes, dtype) \
    LARGE("min " type, bytes, dtype, NDR_OP_MIN, 28), LARGE("max " type, bytes, dtype, NDR_OP_MAX, 28)
/* Ahead of the tree below 2^20, and at most 3 % behind it from 2^28 on. */
#define ATOMIC(lg, pass_)                                                                                      \
    {                                                                                                          \
        .name = "gpu: sum f32 2^" #lg " atomic", .work = &gpu_reduce_work, .amount = 1, .unit = &microseconds, \
        .shape = SHAPE(NDR_DTYPE_F32, NDR_OP_SUM, NDR_REDUCE_ATOMIC, lg, false),                               \
        .rivals = { { "libndr's tree", { RATE_AT_LEAST, pass_, 1 } } },                                        \
    }
/* As sums for which the fast one is the rival. */
#define NUMERICS_(name_, type, dtype, numerics_, lg, back, pass_)                                          \
    {                                                                                                      \
        .name = "gpu: sum " type " 2^" #lg " " name_ ROW_END_##back, .work = &gpu_reduce_work,             \
        .amount = 1, .unit = &microseconds,                                                                \
        .shape = &(const gpu_reduce_shape){ dtype, NDR_OP_SUM, NDR_REDUCE_TREE, (size_t)1 << (lg), back,   \
                                            numerics_ },                                                   \
        .rivals = { { "libndr's tree", { RATE_AT_LEAST, pass_, 1 } } },                                    \
    }
#define NUMERICS(type, dtype, lg)                                                                          \
    NUMERICS_("reproducible", type, dtype, NDR_NUMERICS_REPRODUCIBLE, lg, 0, 0.85),                        \
        NUMERICS_("reproducible", type, dtype, NDR_NUMERICS_REPRODUCIBLE, lg, 1, 0.85),                    \
        NUMERICS_("exact", type, dtype, NDR_NUMERICS_EXACT, lg, 0, 0.7),                                   \
        NUMERICS_("exact", type, dtype, NDR_NUMERICS_EXACT, lg, 1, 0.7)

static const bench_row rows[] = {
    SMALL_SUM(10),
    SMALL_SUM(16),
    SMALL_SUM(20),
    SMALL_SUM(22),
    LARGE_SUM(24),
    LARGE_SUM(26),
    LARGE_SUM(28),
    LARGE_SUM(30),
    OF_TYPE("f32", 4, NDR_DTYPE_F32),
    LARGE("sum f64", 8, NDR_DTYPE_F64, NDR_OP_SUM, 28),
    OF_TYPE("f64", 8, NDR_DTYPE_F64),
    LARGE("sum i32", 4, NDR_DTYPE_I32, NDR_OP_SUM, 28),
    OF_TYPE("i32", 4, NDR_DTYPE_I32),
    LARGE("sum i64", 8, NDR_DTYPE_I64, NDR_OP_SUM, 28),
    OF_TYPE("i64", 8, NDR_DTYPE_I64),
    ATOMIC(16, 1),
    ATOMIC(28, 0.97),
    ATOMIC(30, 0.97),
    NUMERICS("f32", NDR_DTYPE_F32, 24),
    NUMERICS("f32", NDR_DTYPE_F32, 28),
    NUMERICS("f64", NDR_DTYPE_F64, 24),
    NUMERICS("f64", NDR_DTYPE_F64, 28),
};

row_list gpu_reduce_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
