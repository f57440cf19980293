/* rows_map.c - an expression for each element, beside a kernel of raw OpenCL. */
#include "rows_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndr/ndr_ops.h"

/* ---- operands ---- */

static const char raw_source[] =
    "kernel void map(global const float *x, global const float *y, global float *z, ulong n)\n"
    "{\n"
    "    const size_t i = get_global_id(0);\n"
    "    if (i < n) z[i] = 0.5f * x[i] + y[i];\n"
    "}\n";

static void *begin(const void *shape)
{
    mapping *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->count = *(const size_t *)shape;
    shared_memory *const all[] = { &j->x, &j->y, &j->z };
    for (size_t i = 0; i < COUNT_OF(all); ++i) *all[i] = shared_create(j->count * sizeof(float));
    j->raw = raw_kernel(raw_source, "map");
    return j;
}

static void end(void *job)
{
    mapping *j = job;
    shared_destroy(&j->x), shared_destroy(&j->y), shared_destroy(&j->z);
    MUST_CL(clReleaseKernel(j->raw));
    free(j);
}

static void hand_over(void *job, bool to_device)
{
    mapping *j = job;
    shared_hand_over(&j->x, to_device), shared_hand_over(&j->y, to_device), shared_hand_over(&j->z, to_device);
}

/* Eighths, so that results are exact. */
static void refill(void *job, uint64_t seed)
{
    mapping *j = job;
    float *const arrays[] = { j->x.host, j->y.host };
    for (size_t a = 0; a < COUNT_OF(arrays); ++a) {
        fill_f32(arrays[a], j->count, 0, 1024, seed + a);
        for (size_t i = 0; i < j->count; ++i) arrays[a][i] = (float)(int)arrays[a][i] / 8;
    }
}

static void reset(void *job)
{
    mapping *j = job;
    memset(j->z.host, 0xff, j->count * sizeof(float)); /* NaN */
}

/* ---- contenders ---- */

static void run_libndr(void *job)
{
    mapping *j = job;
    const ndr_range shape = ndr_range_1d(j->count);
    const ndr_map_array inputs[] = { { "x", ndr_array_of(j->x.buffer, NDR_DTYPE_F32, shape) },
                                     { "y", ndr_array_of(j->y.buffer, NDR_DTYPE_F32, shape) } };
    const ndr_map_array output = { "z", ndr_array_of(j->z.buffer, NDR_DTYPE_F32, shape) };
    const ndr_map_desc desc = {
        .statement = "z = 0.5f * x + y", .inputs = inputs, .input_count = 2, .outputs = &output, .output_count = 1
    };
    MUST(ndr_map(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

/* In groups of 256, rounded up and guarded. */
static void run_raw(void *job)
{
    const mapping *j = job;
    const cl_mem buffers[] = { ndr_buffer_cl(j->x.buffer), ndr_buffer_cl(j->y.buffer), ndr_buffer_cl(j->z.buffer) };
    const cl_ulong n = j->count;
    const size_t group = 256, items = (j->count + group - 1) / group * group;
    cl_command_queue queue = ndr_queue_cl(the_queue);
    for (cl_uint i = 0; i < COUNT_OF(buffers); ++i) MUST_CL(clSetKernelArg(j->raw, i, sizeof *buffers, &buffers[i]));
    MUST_CL(clSetKernelArg(j->raw, COUNT_OF(buffers), sizeof n, &n));
    MUST_CL(clEnqueueNDRangeKernel(queue, j->raw, 1, NULL, &items, &group, 0, NULL, NULL));
    MUST_CL(clFinish(queue));
}

static const contender map_own[] = { { .name = "libndr", .on_device = true, .run = run_libndr },
                                     { .name = "raw OpenCL", .on_device = true, .run = run_raw },
                                     { 0 } };

/* ---- checking ---- */

static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const mapping *j = job;
    const float *x = j->x.host, *y = j->y.host, *z = j->z.host;
    (void)calls, (void)thoroughly;
    for (size_t i = 0; i < j->count; ++i) {
        if (z[i] == 0.5f * x[i] + y[i]) continue;
        fprintf(stderr, "bench: %s: element %zu is %.9g instead of %.9g\n", who->name, i, (double)z[i],
                (double)(0.5f * x[i] + y[i]));
        return false;
    }
    return true;
}

const work map_work = { map_own, begin, end, refill, reset, hand_over, check };

/* ---- rows ---- */

#define MAP_OF(name_, count_)                                                                                     \
    {                                                                                                             \
        .name = name_, .work = &map_work, .shape = &(const size_t){ count_ }, .amount = 12.0 * (count_),          \
        .unit = &gigabytes, .max_launches = 1, .alternates = true,                                                \
        .rivals = { { "raw OpenCL", { RATE_AT_LEAST, 0.95, 1 } }, { "Boost.Compute", { RATE_AT_LEAST, 1, 5 } } }, \
    }

static const bench_row rows[] = {
    MAP_OF("map f32 2^20", 1 << 20),
    MAP_OF("map f32 2^24", 1 << 24),
    MAP_OF("map f32 2^26", 1 << 26),
};

row_list map_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
