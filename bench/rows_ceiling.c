/* rows_ceiling.c - the machine's own limits: reading memory, multiplying and adding (multiply.c).
 *
 * Compiled with -O3 -march=native -ffp-contract=fast; vectors are those of GCC and Clang, 64 bytes wide, which the
 * compiler splits into the machine's. */
#include "bench.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 16, MAX_THREADS = 256, READ_FLOATS = 1 << 28, FMA_STEPS = 1 << 22 };

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));

typedef struct job {
    float *x;
    double result, expected_sum;
} job;

/* One thread's part. */
typedef struct part {
    const float *x;
    size_t count;
    double result;
} part;

static unsigned threads(void) { return thread_count() < MAX_THREADS ? thread_count() : MAX_THREADS; }

static size_t floats_of_a_thread(void) { return READ_FLOATS / threads() / 128 * 128; }

/* ---- what a thread does ---- */

static double add_up(const vector *of, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; ++i)
        for (size_t l = 0; l < LANES; ++l) sum += (double)of[i][l];
    return sum;
}

/* Two streams of consecutive cache lines, prefetched 2 KiB ahead. */
static void *read_part(void *part_)
{
    enum { STREAMS = 2, EACH = 4, AHEAD = 512 };
    part *p = part_;
    const size_t half = p->count / STREAMS;
    vector sum[STREAMS * EACH];
    memset(sum, 0, sizeof sum);
    for (size_t i = 0; i < half; i += EACH * LANES)
        for (size_t s = 0; s < STREAMS; ++s)
            for (size_t v = 0; v < EACH; ++v) {
                const float *at = p->x + s * half + i + v * LANES;
                __builtin_prefetch(at + AHEAD);
                sum[s * EACH + v] += *(const vector *)at;
            }
    p->result = add_up(sum, STREAMS * EACH);
    return NULL;
}

static void *multiply_part(void *part_)
{
    part *p = part_;
    p->result = core_multiplier(the_core)->multiply(FMA_STEPS);
    return NULL;
}

static double on_all_threads(const float *x, void *(*run)(void *))
{
    pthread_t workers[MAX_THREADS];
    part parts[MAX_THREADS];
    const size_t share = floats_of_a_thread();
    for (unsigned t = 0; t < threads(); ++t) {
        parts[t] = (part){ x + t * share, share, 0 };
        if (pthread_create(&workers[t], NULL, run, &parts[t]) == 0) continue;
        fprintf(stderr, "bench: cannot start a thread\n");
        exit(2);
    }
    double sum = 0;
    for (unsigned t = 0; t < threads(); ++t) {
        pthread_join(workers[t], NULL);
        sum += parts[t].result;
    }
    return sum;
}

/* ---- operands ---- */

static void *begin(const void *shape)
{
    (void)shape;
    job *j = allocate(sizeof *j);
    *j = (job){ .x = allocate((READ_FLOATS + 512) * sizeof(float)) };
    return j;
}

static void end(void *job_)
{
    job *j = job_;
    free(j->x);
    free(j);
}

static void refill(void *job_, uint64_t seed)
{
    job *j = job_;
    fill_f32(j->x, READ_FLOATS, 0, 1, seed);
    j->expected_sum = 0;
    const size_t count = threads() * floats_of_a_thread();
    for (size_t i = 0; i < count; ++i) j->expected_sum += (double)j->x[i];
}

static void reset(void *job_) { ((job *)job_)->result = NAN; }

/* ---- rows ---- */

static void run_read(void *job_)
{
    job *j = job_;
    j->result = on_all_threads(j->x, read_part);
}

static void run_multiply(void *job_)
{
    job *j = job_;
    j->result = on_all_threads(j->x, multiply_part);
}

static bool is_near(const job *j, double expected) { return fabs(j->result - expected) <= 1e-3 * expected; }

static bool check_read(void *job_, const contender *who, size_t calls, bool thoroughly)
{
    (void)who, (void)calls, (void)thoroughly;
    const job *j = job_;
    return is_near(j, j->expected_sum);
}

static bool check_multiply(void *job_, const contender *who, size_t calls, bool thoroughly)
{
    (void)who, (void)calls, (void)thoroughly;
    return is_near(job_, threads());
}

static const contender read_own[] = { { .name = "host", .run = run_read }, { 0 } };
static const contender multiply_own[] = { { .name = "host", .run = run_multiply }, { 0 } };
static const work read_work = {
    .own = read_own, .begin = begin, .end = end, .refill = refill, .reset = reset, .check = check_read
};
static const work multiply_work = {
    .own = multiply_own, .begin = begin, .end = end, .refill = refill, .reset = reset, .check = check_multiply
};

row_list ceiling_rows(void)
{
    static bench_row rows[] = {
        { .name = "ceiling: read 1 GiB", .work = &read_work, .unit = &gigabytes },
        { .name = "ceiling: f32 multiply-add", .work = &multiply_work, .unit = &gflops },
    };
    rows[0].amount = (double)(threads() * floats_of_a_thread() * sizeof(float));
    rows[1].amount = core_multiplier(the_core)->flop(FMA_STEPS) * threads();
    return (row_list){ .rows = rows, .count = COUNT_OF(rows) };
}
