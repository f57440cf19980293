/* cold.c - what a first use costs: a child with an empty PoCL cache does one thing and says how long it took. */
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
    size_t m, n, k;            /* of a product of floats */
} use;

static const use uses[] = {
    { .name = "build of reduce_chunks.cl", .programs = 1, .file = "reduce_chunks.cl", .kernel = "reduce_chunks" },
    { .name = "build of reduce_chunks_atomic.cl",
      .programs = 1,
      .file = "reduce_chunks_atomic.cl",
      .kernel = "reduce_chunks_atomic" },
    { .name = "build of reduce_tree.cl", .programs = 1, .file = "reduce_tree.cl", .kernel = "reduce_tree" },
    { .name = "build of reduce_atomic.cl", .programs = 1, .file = "reduce_atomic.cl", .kernel = "reduce_atomic" },
    { .name = "build of reduce_recursive.cl", .programs = 1, .file = "reduce_recursive.cl", .kernel = "reduce_recursive" },
    { .name = "build of gemm_cpu.cl", .programs = 1, .file = "gemm_cpu.cl", .kernel = "gemm_packed" },
    { .name = "build of gemm_tiled.cl", .programs = 1, .file = "gemm_tiled.cl", .kernel = "gemm_tiled" },
    { .name = "first sum", .programs = 1, .count = 1000000, .method = NDR_REDUCE_TREE },
    { .name = "first sum atomic", .programs = 1, .count = 1000000, .method = NDR_REDUCE_ATOMIC },
    { .name = "first sum recursive", .programs = 1, .count = 1000000, .method = NDR_REDUCE_RECURSIVE },
    { .name = "first sgemm 64", .programs = 1, .m = 64, .n = 64, .k = 64 },
    { .name = "first sgemm 1000", .programs = 1, .m = 1000, .n = 1000, .k = 1000 },
    { .name = "first sgemm 8 x 1000 x 1000", .programs = 1, .m = 8, .n = 1000, .k = 1000 },
};

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
    if (u->file) build(u);
    else if (u->count) sum(u, &x, &z);
    else multiply(u, &x, &y, &z);
    MUST(ndr_queue_finish(the_queue));
    printf("%.6f\n", now_s() - start);
}

int cold_child(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(uses); ++i)
        if (strcmp(uses[i].name, name) == 0) {
            time_use(&uses[i]);
            return EXIT_SUCCESS;
        }
    fprintf(stderr, "bench: there is nothing cold called \"%s\"\n", name);
    return EXIT_FAILURE;
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

/* Seconds that the child counted, and how many programs it left in its cache. */
static double run_child(const use *u, size_t *programs)
{
    char cache[] = "/tmp/ndr-bench-XXXXXX", itself[512], command[1024];
    const ssize_t length = readlink("/proc/self/exe", itself, sizeof itself - 1);
    if (length < 0 || !mkdtemp(cache)) {
        perror("bench: no place for an empty cache");
        exit(2);
    }
    itself[length] = '\0';
    snprintf(command, sizeof command, "POCL_CACHE_DIR='%s' '%s' --device '%s' --cold '%s'", cache, itself, the_device_words,
             u->name);
    const double seconds = ask(command);
    programs_found = 0;
    nftw(cache, count_and_remove, 16, FTW_DEPTH | FTW_PHYS);
    *programs = programs_found;
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
    return run_child(job, &programs);
}
static const contender cold = { .name = "libndr", .time = time_cold };

/* Over all uses; not seconds, for once. */
static double count_unused(void *job)
{
    (void)job;
    double unused = 0;
    for (size_t i = 0; i < COUNT_OF(uses); ++i) {
        size_t programs;
        (void)run_child(&uses[i], &programs);
        if (programs != uses[i].programs)
            fprintf(stderr, "bench: %s left %zu programs in the cache, but needs %zu\n", uses[i].name, programs,
                    uses[i].programs);
        unused += fabs((double)programs - (double)uses[i].programs);
    }
    return unused;
}
static const contender counter = { .name = "libndr", .time = count_unused };

row_list cold_rows(void)
{
    enum { ROUNDS = 5 };
    static bench_row rows[COUNT_OF(uses) + 1];
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
    return (row_list){ rows, COUNT_OF(rows) };
}
