/* rows_get.c - the time to get many kernels of one source, whose parameters are of two types, beside plain
 * OpenCL: with an empty cache, and with one that an earlier process has filled. */
#include "bench.h"

#include <stdlib.h>

/* ---- what the children do ---- */

#define KERNEL(name, type, factor)                                                                             \
    "kernel void " name "(const int n, const " type " a, global const real *restrict x, const int stride,\n"   \
    "                   global real *y)\n"                                                                     \
    "{\n"                                                                                                      \
    "    for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] += " factor " * x[i * stride];\n" \
    "}\n"
#define REAL(name) KERNEL(name, "real", "a")
#define SHAPE(name) KERNEL(name, "shape", "a.scale")
static const char source[] = "typedef float real;\n"
                             "typedef struct { int first, count; real scale; } shape;\n" REAL("k0") SHAPE("k1")
                                 REAL("k2") SHAPE("k3") REAL("k4") SHAPE("k5") REAL("k6") SHAPE("k7") REAL("k8")
                                     SHAPE("k9") REAL("k10");
static const char *const kernels[] = { "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k10" };

static void get_by_libndr(void *job)
{
    (void)job;
    ndr_kernel *kernel;
    for (size_t i = 0; i < COUNT_OF(kernels); ++i)
        MUST(ndr_kernel_get(the_context, &(ndr_kernel_desc){ .name = kernels[i], .source = source }, &kernel));
}

static void get_by_opencl(void *job)
{
    (void)job;
    const cl_program program = raw_program(source);
    for (size_t i = 0; i < COUNT_OF(kernels); ++i) {
        cl_int code;
        (void)clCreateKernel(program, kernels[i], &code);
        MUST_CL(code);
    }
}

enum { LIBNDR, OPENCL, GETTERS };

static const contender get_own[] = {
    [LIBNDR] = { .name = "libndr", .run = get_by_libndr }, [OPENCL] = { .name = "OpenCL", .run = get_by_opencl }, { 0 }
};
static const work get_work = { .own = get_own };

static const first_call first_calls[GETTERS] = {
    [LIBNDR] = { "get by libndr", 1, &get_work, NULL, &get_own[LIBNDR] },
    [OPENCL] = { "get by OpenCL", 1, &get_work, NULL, &get_own[OPENCL] },
};

/* ---- with an empty cache ---- */

static double time_cold_libndr(void *job) { return (void)job, cold_call_s(&first_calls[LIBNDR], NULL); }
static double time_cold_opencl(void *job) { return (void)job, cold_call_s(&first_calls[OPENCL], NULL); }
static const contender cold_own[] = {
    { .name = "libndr", .time = time_cold_libndr }, { .name = "OpenCL", .time = time_cold_opencl }, { 0 }
};
static const work cold_work = { .own = cold_own };

/* ---- with a filled cache ---- */

/* A cache for each, which the first child has filled. */
typedef struct caches {
    char path[GETTERS][CACHE_PATH_SIZE];
} caches;

static void *begin_warm(const void *shape)
{
    (void)shape;
    caches *c = allocate(sizeof *c);
    for (size_t i = 0; i < GETTERS; ++i) {
        make_cache(c->path[i]);
        (void)first_call_s(&first_calls[i], c->path[i]);
    }
    return c;
}

static void end_warm(void *job)
{
    caches *c = job;
    for (size_t i = 0; i < GETTERS; ++i) (void)remove_cache(c->path[i]);
    free(c);
}

static double time_warm_libndr(void *job) { return first_call_s(&first_calls[LIBNDR], ((caches *)job)->path[LIBNDR]); }
static double time_warm_opencl(void *job) { return first_call_s(&first_calls[OPENCL], ((caches *)job)->path[OPENCL]); }
static const contender warm_own[] = {
    { .name = "libndr", .time = time_warm_libndr }, { .name = "OpenCL", .time = time_warm_opencl }, { 0 }
};
static const work warm_work = { .own = warm_own, .begin = begin_warm, .end = end_warm };

/* ---- rows ---- */

#define GET(state, work_)                                              \
    {                                                                  \
        .name = "get: 11 kernels of a source (" state ")", .work = &work_, \
        .amount = 1, .unit = &seconds_each,                            \
        .rivals = { { "OpenCL", { TIME_AT_MOST, 1.2, 1.05 } } },       \
    }

static const bench_row rows[] = { GET("cold", cold_work), GET("warm", warm_work) };

row_list get_rows(void) { return (row_list){ rows, COUNT_OF(rows), first_calls, GETTERS }; }
