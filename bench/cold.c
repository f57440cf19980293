/* cold.c - what a first use costs: a child with an empty PoCL cache does one thing and says how long it took. Kernels are
 * gotten with a filled cache as well, and beside plain OpenCL. */
#define _XOPEN_SOURCE 700
#include "bench.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what a child does: build a bundled file, or make a first call ---- */

typedef struct use {
    const char *name;
    size_t programs;           /* that it needs */
    const char *file, *kernel; /* to build, or */
    size_t count;              /* floats to add up */
    ndr_reduce_method method;  /* in this way, or */
    size_t m, n, k;            /* of a product of floats, or */
    enum { NOBODY, LIBNDR, OPENCL } gets; /* who gets the kernels of one source */
} use;

#define BUILD_OF(file_, kernel_) { .name = "build of " file_, .programs = 1, .file = file_, .kernel = kernel_ }

static const use uses[] = {
    BUILD_OF("reduce/tree_chunks.cl", "reduce_chunks"),
    BUILD_OF("reduce/atomic_chunks.cl", "reduce_chunks_atomic"),
    BUILD_OF("reduce/tree_groups.cl", "reduce_tree"),
    BUILD_OF("reduce/atomic_groups.cl", "reduce_atomic"),
    BUILD_OF("reduce/recursive.cl", "reduce_recursive"),
    BUILD_OF("matmul/direct.cl", "gemm_direct"),
    BUILD_OF("matmul/packed.cl", "gemm_packed"),
    BUILD_OF("matmul/thin.cl", "gemm_thin"),
    BUILD_OF("matmul/tiled.cl", "gemm_tiled"),
    { .name = "first sum", .programs = 1, .count = 1000000, .method = NDR_REDUCE_TREE },
    { .name = "first sum atomic", .programs = 1, .count = 1000000, .method = NDR_REDUCE_ATOMIC },
    { .name = "first sum recursive", .programs = 1, .count = 1000000, .method = NDR_REDUCE_RECURSIVE },
    { .name = "first sgemm 64", .programs = 1, .m = 64, .n = 64, .k = 64 },
    { .name = "first sgemm 1000", .programs = 1, .m = 1000, .n = 1000, .k = 1000 },
    { .name = "first sgemm 8 x 1000 x 1000", .programs = 1, .m = 8, .n = 1000, .k = 1000 },
};

/* ---- many kernels of one source, each with a parameter of a type of its own ---- */

static const use gets_by_libndr = { .name = "get by libndr", .programs = 1, .gets = LIBNDR },
                 gets_by_opencl = { .name = "get by OpenCL", .programs = 1, .gets = OPENCL };

#define KERNEL(name, type, factor)                                                                                    \
    "kernel void " name "(const int n, const " type " a, global const real *restrict x, const int stride,\n"          \
    "                   global real *y)\n"                                                                            \
    "{\n"                                                                                                             \
    "    for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] += " factor " * x[i * stride];\n"        \
    "}\n"
#define REAL(name) KERNEL(name, "real", "a")
#define SHAPE(name) KERNEL(name, "shape", "a.scale")
static const char many[] = "typedef float real;\n"
                           "typedef struct { int first, count; real scale; } shape;\n" REAL("k0") SHAPE("k1") REAL("k2")
                               SHAPE("k3") REAL("k4") SHAPE("k5") REAL("k6") SHAPE("k7") REAL("k8") SHAPE("k9") REAL("k10");
static const char *const names_of_many[] = { "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k10" };

static void get_by_libndr(void)
{
    ndr_kernel *kernel;
    for (size_t i = 0; i < COUNT_OF(names_of_many); ++i)
        MUST(ndr_kernel_get(the_context, &(ndr_kernel_desc){ .name = names_of_many[i], .source = many }, &kernel));
}

static void get_by_opencl(void)
{
    const char *source = many;
    const cl_device_id device = ndr_context_cl_device(the_context);
    cl_int error;
    const cl_program program = clCreateProgramWithSource(ndr_context_cl(the_context), 1, &source, NULL, &error);
    MUST_CL(error);
    MUST_CL(clBuildProgram(program, 1, &device, "", NULL, NULL));
    for (size_t i = 0; i < COUNT_OF(names_of_many); ++i) {
        (void)clCreateKernel(program, names_of_many[i], &error);
        MUST_CL(error);
    }
}

/* ---- in the child ---- */

static shared zeros(size_t floats)
{
    shared memory = shared_create((floats ? floats : 1) * sizeof(float));
    memset(memory.host, 0, ndr_buffer_size(memory.buffer));
    shared_hand_over(&memory, true);
    return memory;
}

static void sum(const use *u, const shared *input, const shared *output)
{
    const ndr_reduce_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .op = NDR_OP_SUM,
                                   .method = u->method,
                                   .input = { input->buffer, 0 },
                                   .count = u->count,
                                   .output = { output->buffer, 0 } };
    MUST(ndr_reduce(the_queue, &desc, NULL));
}

static void multiply(const use *u, const shared *a, const shared *b, const shared *c)
{
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .a = { a->buffer, 0, u->m, u->k, 0 },
                                   .b = { b->buffer, 0, u->k, u->n, 0 },
                                   .c = { c->buffer, 0, u->m, u->n, 0 } };
    MUST(ndr_matmul(the_queue, &desc, NULL));
}

static void build(const use *u)
{
    ndr_kernel *kernel;
    const ndr_kernel_desc desc = { .name = u->kernel, .bundled = u->file };
    MUST(ndr_kernel_get(the_context, &desc, &kernel));
}

/* The process ends after this, and the operands with it. */
static void time_use(const use *u)
{
    const shared x = zeros(u->count ? u->count : u->m * u->k), y = zeros(u->k * u->n), z = zeros(u->count ? 1 : u->m * u->n);
    MUST(ndr_queue_finish(the_queue));
    const double start = now_s();
    if (u->gets == LIBNDR) get_by_libndr();
    else if (u->gets == OPENCL) get_by_opencl();
    else if (u->file) build(u);
    else if (u->count) sum(u, &x, &z);
    else multiply(u, &x, &y, &z);
    MUST(ndr_queue_finish(the_queue));
    printf("%.6f\n", now_s() - start);
}

static const use *find_use(const char *name)
{
    if (strcmp(gets_by_libndr.name, name) == 0) return &gets_by_libndr;
    if (strcmp(gets_by_opencl.name, name) == 0) return &gets_by_opencl;
    for (size_t i = 0; i < COUNT_OF(uses); ++i)
        if (strcmp(uses[i].name, name) == 0) return &uses[i];
    return NULL;
}

int cold_child(const char *name)
{
    const use *found = find_use(name);
    if (found) time_use(found);
    else fprintf(stderr, "bench: there is nothing cold called \"%s\"\n", name);
    return found ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- what the parent does ---- */

static size_t programs_found;

/* PoCL keeps one program.bc for each program that was built. */
static int count_and_remove(const char *path, const struct stat *about, int type, struct FTW *place)
{
    (void)about, (void)type;
    if (strcmp(path + place->base, "program.bc") == 0) ++programs_found;
    return remove(path);
}

static double ask(const char *command)
{
    double seconds;
    FILE *child = popen(command, "r");
    const bool was_told = child && fscanf(child, "%lf", &seconds) == 1;
    const bool went_well = child && pclose(child) == 0;
    if (was_told && went_well) return seconds;
    fprintf(stderr, "bench: this failed: %s\n", command);
    exit(2);
}

#define CACHE "/tmp/ndr-bench-XXXXXX"

static void make_cache(char *cache)
{
    if (mkdtemp(cache)) return;
    perror("bench: no place for an empty cache");
    exit(2);
}

static size_t remove_cache(const char *cache)
{
    programs_found = 0;
    nftw(cache, count_and_remove, 16, FTW_DEPTH | FTW_PHYS);
    return programs_found;
}

/* Seconds that the child counted. */
static double run_child(const use *u, const char *cache)
{
    char itself[512], command[1024];
    const ssize_t length = readlink("/proc/self/exe", itself, sizeof itself - 1);
    itself[length > 0 ? length : 0] = '\0';
    snprintf(command, sizeof command, "POCL_CACHE_DIR='%s' '%s' --device '%s' --cold '%s'", cache, itself, the_device_words,
             u->name);
    return ask(command);
}

/* The same with an empty cache, and how many programs the child left there. */
static double run_cold(const use *u, size_t *programs)
{
    char cache[] = CACHE;
    make_cache(cache);
    const double seconds = run_child(u, cache);
    *programs = remove_cache(cache);
    return seconds;
}

/* ---- rows ---- */

static void *begin(const void *shape) { return (void *)(uintptr_t)shape; } /* the use is all there is to a job */
static void refill(void *job, uint64_t seed) { (void)job, (void)seed; }
static void reset(void *job) { (void)job; }
static void hand_over(void *job, bool to_device) { (void)job, (void)to_device; }
static void end(void *job) { (void)job; }
static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    (void)job, (void)who, (void)calls, (void)thoroughly;
    return true;
}
static const work cold_work = { begin, refill, reset, hand_over, check, end };

static double time_cold(void *job)
{
    size_t programs;
    return run_cold(job, &programs);
}
static const contender cold = { .name = "libndr", .time = time_cold };

/* Over all uses; not seconds, for once. */
static double count_unused(void *job)
{
    (void)job;
    double unused = 0;
    for (size_t i = 0; i < COUNT_OF(uses); ++i) {
        size_t programs;
        (void)run_cold(&uses[i], &programs);
        if (programs != uses[i].programs)
            fprintf(stderr, "bench: %s left %zu programs in the cache, but needs %zu\n", uses[i].name, programs,
                    uses[i].programs);
        unused += fabs((double)programs - (double)uses[i].programs);
    }
    return unused;
}
static const contender counter = { .name = "libndr", .time = count_unused };

/* ---- kernels beside plain OpenCL ---- */

static double get_cold(const use *u)
{
    size_t programs;
    return run_cold(u, &programs);
}
static double get_cold_by_libndr(void *job) { return (void)job, get_cold(&gets_by_libndr); }
static double get_cold_by_opencl(void *job) { return (void)job, get_cold(&gets_by_opencl); }
static const contender libndr_cold = { .name = "libndr", .time = get_cold_by_libndr },
                       opencl_cold = { .name = "OpenCL", .time = get_cold_by_opencl };

/* A cache for each, which the first child has filled. */
typedef struct caches {
    char of_libndr[sizeof CACHE], of_opencl[sizeof CACHE];
} caches;

static void *begin_warm(const void *shape)
{
    (void)shape;
    caches *c = allocate(sizeof *c);
    *c = (caches){ CACHE, CACHE };
    make_cache(c->of_libndr);
    make_cache(c->of_opencl);
    (void)run_child(&gets_by_libndr, c->of_libndr);
    (void)run_child(&gets_by_opencl, c->of_opencl);
    return c;
}

static void end_warm(void *job)
{
    caches *c = job;
    (void)remove_cache(c->of_libndr);
    (void)remove_cache(c->of_opencl);
    free(c);
}
static const work warm_work = { begin_warm, refill, reset, hand_over, check, end_warm };

static double get_warm_by_libndr(void *job) { return run_child(&gets_by_libndr, ((caches *)job)->of_libndr); }
static double get_warm_by_opencl(void *job) { return run_child(&gets_by_opencl, ((caches *)job)->of_opencl); }
static const contender libndr_warm = { .name = "libndr", .time = get_warm_by_libndr },
                       opencl_warm = { .name = "OpenCL", .time = get_warm_by_opencl };

static bench_row get_row(const char *name, const work *kind, const contender *ours, const contender *theirs)
{
    return (bench_row){ .name = name,
                        .work = kind,
                        .amount = 1,
                        .unit = &seconds_each,
                        .ours = ours,
                        .rivals = { { theirs, { TIME_AT_MOST, 1.2, 1.05 } } } };
}

row_list cold_rows(void)
{
    enum { ROUNDS = 5, GETS = 2 };
    static bench_row rows[COUNT_OF(uses) + 1 + GETS];
    static char names[COUNT_OF(uses)][48];
    for (size_t i = 0; i < COUNT_OF(uses); ++i) {
        snprintf(names[i], sizeof names[i], "cold: %s", uses[i].name);
        rows[i] = (bench_row){ .name = names[i],
                         .work = &cold_work,
                         .shape = &uses[i],
                         .amount = 1,
                         .unit = &seconds_each,
                         .ours = &cold,
                         .rivals = { { NULL, { VALUE_AT_MOST, 3, 1.5 } } },
                         .most_rounds = ROUNDS };
    }
    rows[COUNT_OF(uses)] = (bench_row){ .name = "cold: programs built but not used",
                                  .work = &cold_work,
                                  .amount = 1,
                                  .unit = &programs_each,
                                  .ours = &counter,
                                  .rivals = { { NULL, { VALUE_AT_MOST, 0, 0 } } },
                                  .most_rounds = 1 };
    rows[COUNT_OF(uses) + 1] = get_row("get: 11 kernels of a source, cold", &cold_work, &libndr_cold, &opencl_cold);
    rows[COUNT_OF(uses) + 2] = get_row("get: 11 kernels of a source, warm", &warm_work, &libndr_warm, &opencl_warm);
    return (row_list){ rows, COUNT_OF(rows) };
}
