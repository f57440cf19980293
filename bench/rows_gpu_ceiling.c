/* rows_gpu_ceiling.c - what a GPU reaches: reading and copying its memory, multiplying and adding in registers. */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>

enum { GROUP = 256, READ_GROUPS = 1 << 13, BYTES = 1 << 30, ITEMS = 1 << 20, CHAINS = 16, STEPS = 1 << 9 };

/* Each group reads a part of 1 GiB, four vectors of 16 bytes an item at a time. No sum is infinite. */
static const char read_source[] = "kernel void read_all(global const float4 *x, ulong count, global float *out)\n"
                                  "{\n"
                                  "    const ulong size = get_local_size(0), part = count / get_num_groups(0);\n"
                                  "    const ulong first = get_group_id(0) * part + get_local_id(0);\n"
                                  "    float4 sum = 0.0f;\n"
                                  "    for (ulong i = first; i < (get_group_id(0) + 1) * part; i += 4 * size)\n"
                                  "        sum += (x[i] + x[i + size]) + (x[i + 2 * size] + x[i + 3 * size]);\n"
                                  "    if (isinf(sum.x + sum.y + sum.z + sum.w)) *out = 1.0f;\n"
                                  "}\n";

/* x = x / 2 + 1/2, which converges to 1, in independent chains. */
static const char multiply_source[] = "kernel void multiply(T half_, global T *out)\n"
                                      "{\n"
                                      "    T x[CHAINS], sum = 0;\n"
                                      "    for (int c = 0; c < CHAINS; ++c) x[c] = half_ * (T)(c + 1);\n"
                                      "    for (int s = 0; s < STEPS; ++s)\n"
                                      "        for (int c = 0; c < CHAINS; ++c) x[c] = fma(x[c], half_, half_);\n"
                                      "    for (int c = 0; c < CHAINS; ++c) sum += x[c];\n"
                                      "    out[get_global_id(0)] = sum;\n"
                                      "}\n";

/* ---- jobs ---- */

typedef struct job {
    ndr_dtype dtype;
    ndr_kernel *kernel;
    ndr_buffer *from, *to;
    double result; /* of multiply: 1 */
} job;

static job *create(size_t bytes)
{
    job *j = allocate(sizeof *j);
    *j = (job){ .result = 1 };
    MUST(ndr_buffer_create(the_context, bytes, &j->from));
    MUST(ndr_buffer_create(the_context, bytes, &j->to));
    return j;
}

static void *begin_memory(const void *shape)
{
    (void)shape;
    job *j = create(BYTES);
    const ndr_kernel_desc desc = { .name = "read_all", .source = read_source };
    MUST(ndr_kernel_get(the_context, &desc, &j->kernel));
    MUST(ndr_buffer_fill(the_queue, j->from, 0, BYTES, &(float){ 0.5f }, sizeof(float), NULL));
    return j;
}

static void *begin_multiply(const void *shape)
{
    const ndr_dtype dtype = *(const ndr_dtype *)shape;
    job *j = create(ITEMS * sizeof(double));
    char options[64];
    snprintf(options, sizeof options, "-DT=%s -DCHAINS=%d -DSTEPS=%d", dtype == NDR_DTYPE_F32 ? "float" : "double",
             CHAINS, STEPS);
    const ndr_kernel_desc desc = { .name = "multiply", .source = multiply_source, .options = options };
    MUST(ndr_kernel_get(the_context, &desc, &j->kernel));
    j->dtype = dtype;
    return j;
}

static void end(void *job_)
{
    job *j = job_;
    MUST(ndr_queue_finish(gpu_timed_queue()));
    gpu_finish();
    ndr_buffer_destroy(j->from);
    ndr_buffer_destroy(j->to);
    free(j);
}

/* ---- contenders ---- */

static void read_all(const job *j, ndr_queue *queue, ndr_event **event)
{
    MUST(ndr_launch_event(queue, j->kernel, event, ndr_nd_range_1d((size_t)READ_GROUPS * GROUP, GROUP), j->from,
                          (uint64_t)(BYTES / 16), j->to));
}

static void multiply(const job *j, ndr_queue *queue, ndr_event **event)
{
    const ndr_nd_range range = ndr_nd_range_1d(ITEMS, GROUP);
    if (j->dtype == NDR_DTYPE_F32) MUST(ndr_launch_event(queue, j->kernel, event, range, 0.5f, j->to));
    else MUST(ndr_launch_event(queue, j->kernel, event, range, 0.5, j->to));
}

static void copy(const job *j, ndr_queue *queue, ndr_event **event)
{
    MUST(ndr_buffer_copy(queue, j->from, 0, j->to, 0, BYTES, event));
}

/* The first item's mean. */
static void download_multiplied(void *job_)
{
    job *j = job_;
    unsigned char first[sizeof(double)];
    MUST(ndr_buffer_read(the_queue, j->to, 0, sizeof first, first, NULL));
    j->result = element_at(j->dtype, first, 0) / CHAINS;
}

#define CONTENDER(does, download)                                                                             \
    static void enqueue_##does(void *job_) { does(job_, the_queue, NULL); }                                   \
    static double time_one_##does(void *job_)                                                                 \
    {                                                                                                         \
        ndr_event *event;                                                                                     \
        does(job_, gpu_timed_queue(), &event);                                                                \
        return gpu_event_seconds(event);                                                                      \
    }                                                                                                         \
    static double time_##does(void *job_)                                                                     \
    {                                                                                                         \
        static const gpu_calls calls = { NULL, NULL, enqueue_##does, time_one_##does, gpu_finish, download }; \
        return gpu_time(&calls, job_, false);                                                                 \
    }                                                                                                         \
    static const contender does##_own[] = { { .name = "libndr", .time = time_##does, .leaves_result = true }, { 0 } };
CONTENDER(read_all, NULL)
CONTENDER(copy, NULL)
CONTENDER(multiply, download_multiplied)

static bool check(void *job_, const contender *who, size_t calls, bool thoroughly)
{
    (void)who, (void)calls, (void)thoroughly;
    return ((job *)job_)->result == 1;
}

/* ---- rows ---- */

static const work read_work = { .own = read_all_own, .begin = begin_memory, .end = end, .check = check };
static const work copy_work = { .own = copy_own, .begin = begin_memory, .end = end, .check = check };
static const work multiply_work = { .own = multiply_own, .begin = begin_multiply, .end = end, .check = check };

#define MULTIPLY(name_, dtype)                                                       \
    {                                                                                \
        .name = name_, .work = &multiply_work, .shape = &(const ndr_dtype){ dtype }, \
        .amount = 2.0 * CHAINS * STEPS * ITEMS, .unit = &teraflops                   \
    }

static const bench_row rows[] = {
    { .name = "gpu: ceiling: read 1 GiB", .work = &read_work, .amount = BYTES, .unit = &gigabytes },
    { .name = "gpu: ceiling: copy 1 GiB", .work = &copy_work, .amount = 2.0 * BYTES, .unit = &gigabytes },
    MULTIPLY("gpu: ceiling: f32 multiply-add", NDR_DTYPE_F32),
    MULTIPLY("gpu: ceiling: f64 multiply-add", NDR_DTYPE_F64),
};

row_list gpu_ceiling_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
