/* rows_launch.c - the cost of a launch, and a kernel with one item for each element, beside raw OpenCL. */
#include "rows_launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1000, GROUP = 64, ROUND_UP_TO = 256 };

typedef struct job {
    size_t n;
    shared_memory x, y;
    float *y_before;
    ndr_kernel *four, *axpy;
    ndr_prepared *prepared; /* of `four` */
    cl_kernel raw_four, raw_set, raw_axpy; /* `raw_set` is `four` with its arguments */
} job;

/* ---- kernels ---- */

/* The same source for both: 4 arguments, and very little work. */
static const char four[] = "kernel void four(global const float *x, global float *y, float a, uint n)\n"
                           "{\n"
                           "    const size_t i = get_global_id(0);\n"
                           "    if (i < n) y[i] = a * x[i];\n"
                           "}\n";

static const char axpy[] = "#include \"ndr/item.clh\"\n"
                           "kernel void axpy(float a, global const float *x, global float *y, NDR_RANGE(1))\n"
                           "{\n"
                           "    const ndr_item it = NDR_ITEM(1);\n"
                           "    const size_t i = ndr_global_id(it, 0);\n"
                           "    y[i] = a * x[i] + y[i];\n"
                           "}\n";

static const char raw_axpy[] = "kernel void axpy(float a, global const float *x, global float *y, uint n)\n"
                               "{\n"
                               "    const size_t i = get_global_id(0);\n"
                               "    if (i < n) y[i] = a * x[i] + y[i];\n"
                               "}\n";

/* ---- operands ---- */

static void set_four(const job *j, cl_kernel kernel)
{
    const cl_mem x = ndr_buffer_cl(j->x.buffer), y = ndr_buffer_cl(j->y.buffer);
    const cl_float a = 0.5f;
    const cl_uint n = (cl_uint)j->n;
    MUST_CL(clSetKernelArg(kernel, 0, sizeof x, &x));
    MUST_CL(clSetKernelArg(kernel, 1, sizeof y, &y));
    MUST_CL(clSetKernelArg(kernel, 2, sizeof a, &a));
    MUST_CL(clSetKernelArg(kernel, 3, sizeof n, &n));
}

static void *begin(const void *shape)
{
    job *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->n = *(const size_t *)shape;
    j->x = shared_create(j->n * sizeof(float));
    j->y = shared_create(j->n * sizeof(float));
    j->y_before = allocate(j->n * sizeof(float));
    MUST(ndr_kernel_get(the_context, &(ndr_kernel_desc){ .name = "four", .source = four }, &j->four));
    MUST(ndr_kernel_get(the_context, &(ndr_kernel_desc){ .name = "axpy", .source = axpy }, &j->axpy));
    MUST(ndr_prepare(j->four, &j->prepared, ndr_nd_range_1d(GROUP, GROUP), j->x.buffer, j->y.buffer, 0.5f,
                     (uint32_t)j->n));
    j->raw_four = raw_kernel(four, "four");
    j->raw_set = raw_kernel(four, "four");
    set_four(j, j->raw_set);
    j->raw_axpy = raw_kernel(raw_axpy, "axpy");
    return j;
}

static void end(void *job_)
{
    job *j = job_;
    shared_destroy(&j->x);
    shared_destroy(&j->y);
    free(j->y_before);
    ndr_prepared_destroy(j->prepared);
    MUST_CL(clReleaseKernel(j->raw_four));
    MUST_CL(clReleaseKernel(j->raw_set));
    MUST_CL(clReleaseKernel(j->raw_axpy));
    free(j);
}

static void hand_over(void *job_, bool to_device)
{
    job *j = job_;
    shared_hand_over(&j->x, to_device);
    shared_hand_over(&j->y, to_device);
}

/* Multiples of 1/8 below 128: sums of thousands of a * x are exact in a float. */
static void fill_eighths(float *x, size_t n, uint64_t seed)
{
    fill_f32(x, n, 0, 1024, seed);
    for (size_t i = 0; i < n; ++i) x[i] = (float)(int)x[i] / 8;
}

static void refill(void *job_, uint64_t seed)
{
    job *j = job_;
    fill_eighths(j->x.host, j->n, seed);
    fill_eighths(j->y_before, j->n, seed + 1);
}

static void reset(void *job_)
{
    job *j = job_;
    memcpy(j->y.host, j->y_before, j->n * sizeof(float));
}

/* ---- checking ---- */

static bool check(const job *j, const contender *who, float x_factor, float y_factor)
{
    const float *x = j->x.host, *y = j->y.host;
    for (size_t i = 0; i < j->n; ++i) {
        const float wanted = x_factor * x[i] + y_factor * j->y_before[i];
        if (y[i] == wanted) continue;
        fprintf(stderr, "bench: %s: y[%zu] is %.9g instead of %.9g\n", who->name, i, (double)y[i], (double)wanted);
        return false;
    }
    return true;
}

static bool check_four(void *job_, const contender *who, size_t calls, bool thoroughly)
{
    (void)calls, (void)thoroughly;
    return check(job_, who, 0.5f, 0);
}

static bool check_axpy(void *job_, const contender *who, size_t calls, bool thoroughly)
{
    (void)thoroughly;
    return check(job_, who, 0.5f * (float)calls, 1);
}

/* ---- launches with 4 arguments: a batch, back to back, and one finish ---- */

static void run_four(void *job_)
{
    const job *j = job_;
    for (int i = 0; i < BATCH; ++i)
        MUST(ndr_launch(the_queue, j->four, ndr_nd_range_1d(GROUP, GROUP), j->x.buffer, j->y.buffer, 0.5f,
                        (uint32_t)j->n));
    MUST(ndr_queue_finish(the_queue));
}

static void run_raw_four(void *job_)
{
    const job *j = job_;
    const size_t items = GROUP;
    cl_command_queue queue = ndr_queue_cl(the_queue);
    for (int i = 0; i < BATCH; ++i) {
        set_four(j, j->raw_four);
        MUST_CL(clEnqueueNDRangeKernel(queue, j->raw_four, 1, NULL, &items, &items, 0, NULL, NULL));
    }
    MUST_CL(clFinish(queue));
}

static void run_prepared(void *job_)
{
    const job *j = job_;
    for (int i = 0; i < BATCH; ++i) MUST(ndr_prepared_run(the_queue, j->prepared, NULL));
    MUST(ndr_queue_finish(the_queue));
}

static void run_raw_set(void *job_)
{
    const job *j = job_;
    const size_t items = GROUP;
    cl_command_queue queue = ndr_queue_cl(the_queue);
    for (int i = 0; i < BATCH; ++i)
        MUST_CL(clEnqueueNDRangeKernel(queue, j->raw_set, 1, NULL, &items, &items, 0, NULL, NULL));
    MUST_CL(clFinish(queue));
}

static const contender four_own[] = { { .name = "libndr", .on_device = true, .run = run_four },
                                      { .name = "raw OpenCL", .on_device = true, .run = run_raw_four },
                                      { 0 } };
static const work four_work = { four_own, begin, end, refill, reset, hand_over, check_four };

static const contender prepared_own[] = { { .name = "libndr", .on_device = true, .run = run_prepared },
                                          { .name = "raw OpenCL", .on_device = true, .run = run_raw_four },
                                          { .name = "raw with arguments set once",
                                            .on_device = true,
                                            .run = run_raw_set },
                                          { 0 } };
static const work prepared_work = { prepared_own, begin, end, refill, reset, hand_over, check_four };

/* ---- y = a * x + y, an item for each element ---- */

static void run_axpy(void *job_)
{
    const job *j = job_;
    MUST(ndr_launch(the_queue, j->axpy, ndr_range_1d(j->n), 0.5f, j->x.buffer, j->y.buffer));
    MUST(ndr_queue_finish(the_queue));
}

static void run_raw_axpy(void *job_)
{
    const job *j = job_;
    const cl_mem x = ndr_buffer_cl(j->x.buffer), y = ndr_buffer_cl(j->y.buffer);
    const cl_float a = 0.5f;
    const cl_uint n = (cl_uint)j->n;
    const size_t group = ROUND_UP_TO, items = (j->n + group - 1) / group * group;
    cl_command_queue queue = ndr_queue_cl(the_queue);
    MUST_CL(clSetKernelArg(j->raw_axpy, 0, sizeof a, &a));
    MUST_CL(clSetKernelArg(j->raw_axpy, 1, sizeof x, &x));
    MUST_CL(clSetKernelArg(j->raw_axpy, 2, sizeof y, &y));
    MUST_CL(clSetKernelArg(j->raw_axpy, 3, sizeof n, &n));
    MUST_CL(clEnqueueNDRangeKernel(queue, j->raw_axpy, 1, NULL, &items, &group, 0, NULL, NULL));
    MUST_CL(clFinish(queue));
}

static const contender axpy_own[] = { { .name = "libndr", .on_device = true, .run = run_axpy },
                                      { .name = "raw OpenCL", .on_device = true, .run = run_raw_axpy },
                                      { 0 } };
static const work axpy_work = { axpy_own, begin, end, refill, reset, hand_over, check_axpy };

/* ---- one launch and its finish: groups of one item that store a word each ---- */

static const char mark[] = "kernel void mark(global uint *marks) { marks[get_group_id(0)] = 1; }\n";

static void *begin_call(const void *shape)
{
    small_call *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->groups = *(const size_t *)shape;
    j->count = j->groups > thread_count() ? j->groups : thread_count();
    j->marks = shared_create(j->count * sizeof(uint32_t));
    MUST(ndr_kernel_get(the_context, &(ndr_kernel_desc){ .name = "mark", .source = mark }, &j->kernel));
    j->raw = raw_kernel(mark, "mark");
    return j;
}

static void end_call(void *job_)
{
    small_call *j = job_;
    shared_destroy(&j->marks);
    MUST_CL(clReleaseKernel(j->raw));
    free(j);
}

static void hand_over_call(void *job_, bool to_device) { shared_hand_over(&((small_call *)job_)->marks, to_device); }

static void reset_call(void *job_)
{
    small_call *j = job_;
    memset(j->marks.host, 0, j->count * sizeof(uint32_t));
}

/* A mark of each group, or of each thread. */
static bool check_call(void *job_, const contender *who, size_t calls, bool thoroughly)
{
    const small_call *j = job_;
    const uint32_t *marks = j->marks.host;
    const size_t wanted = who->on_device ? j->groups : thread_count();
    (void)calls, (void)thoroughly;
    for (size_t i = 0; i < wanted; ++i) {
        if (marks[i] == 1) continue;
        fprintf(stderr, "bench: %s: %zu has left no mark\n", who->name, i);
        return false;
    }
    return true;
}

static void run_call(void *job_)
{
    const small_call *j = job_;
    MUST(ndr_launch(the_queue, j->kernel, ndr_nd_range_1d(j->groups, 1), j->marks.buffer));
    MUST(ndr_queue_finish(the_queue));
}

static void run_raw_call(void *job_)
{
    const small_call *j = job_;
    const cl_mem marks = ndr_buffer_cl(j->marks.buffer);
    const size_t one = 1;
    cl_command_queue queue = ndr_queue_cl(the_queue);
    MUST_CL(clSetKernelArg(j->raw, 0, sizeof marks, &marks));
    MUST_CL(clEnqueueNDRangeKernel(queue, j->raw, 1, NULL, &j->groups, &one, 0, NULL, NULL));
    MUST_CL(clFinish(queue));
}

static const contender call_own[] = { { .name = "libndr", .on_device = true, .run = run_call },
                                      { .name = "raw OpenCL", .on_device = true, .run = run_raw_call },
                                      { 0 } };
const work small_call_work = { call_own, begin_call, end_call, NULL, reset_call, hand_over_call, check_call };

/* ---- rows ---- */

/* What a call of an operation takes at least. */
#define CALL(groups_, name_)                                                                                      \
    {                                                                                                             \
        .name = "launch and finish, " name_, .work = &small_call_work, .shape = &(const size_t){ groups_ },       \
        .amount = 1, .unit = &microseconds, .rivals = { { "raw OpenCL", { NO_GOAL, 0, 0 } },                      \
                                                        { "OpenMP region", { NO_GOAL, 0, 0 } } },                 \
    }

#define AXPY(n)                                                                                                       \
    {                                                                                                                 \
        .name = "axpy of one item each " #n, .work = &axpy_work, .shape = &(const size_t){ n }, .amount = 12.0 * (n), \
        .unit = &gigabytes, .alternates = true,                                                                       \
        .rivals = { { "raw OpenCL", { RATE_AT_LEAST, 0.9, 1 } } },                                                    \
    }

static const bench_row rows[] = {
    { .name = "launch with 4 arguments",
      .work = &four_work,
      .shape = &(const size_t){ GROUP },
      .amount = BATCH,
      .unit = &microseconds,
      .alternates = true,
      .rivals = { { "raw OpenCL", { TIME_AT_MOST, 1.05, 1 } } } },
    { .name = "prepared launch with 4 arguments",
      .work = &prepared_work,
      .shape = &(const size_t){ GROUP },
      .amount = BATCH,
      .unit = &microseconds,
      .alternates = true,
      .rivals = { { "raw OpenCL", { TIME_AT_MOST, 1.0, 1 } },
                  { "raw with arguments set once", { TIME_AT_MOST, 1.05, 1 } } } },
    CALL(1, "1 group"),
    CALL(2, "2 groups"),
    CALL(16, "16 groups"),
    AXPY(1048576),
    AXPY(1048583),
};

row_list launch_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
