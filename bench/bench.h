/* bench.h - the one door of the bench: what a row is, and what its files share.
 *
 *   main.c      options, the order of things            matmul.c   \
 *   measure.c   rounds, repeats                         reduce.c    rows: the work, who does it,
 *   report.c    ratios, table, CSV                      launch.c    and what libndr is held to
 *   machine.c   environment, clock, dice                cold.c     /
 *   memory.c    operands that host and device share     ceilings.c /
 *   launches.c  counts everybody's launches             openmp.c, clblast.c, boost_compute.cpp, pyopencl.c: rivals
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ndr/ndr.h"
#include "ndr/ndr_cl.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- rows ---- */

/* One who does the work of a row. Neither `run` nor `time`: was not there at build time. */
typedef struct contender {
    const char *name;
    bool on_device;            /* works on OpenCL buffers, so that operands are handed over first */
    void (*run)(void *job);    /* the work once, finished when it returns */
    double (*time)(void *job); /* instead: warms up, does the work once, and says how many seconds that took */
} contender;

/* What the rows of one kind have in common. A job is one row's operands and results. */
typedef struct work {
    void *(*begin)(const void *shape);
    void (*refill)(void *job, uint64_t seed); /* fresh operands */
    void (*reset)(void *job);                 /* results as before the first call; NaN where they are only written */
    void (*hand_over)(void *job, bool to_device);
    bool (*check)(void *job, const contender *who, size_t calls, bool thoroughly); /* after `calls` since reset */
    void (*end)(void *job);
} work;

/* How a row's rate is shown: amount / seconds / scale, or seconds / amount / scale. */
typedef struct unit {
    const char *name;
    double scale;
    bool is_time;
} unit;

extern const unit gflops, gigabytes, microseconds, seconds_each, programs_each;

/* What libndr is held to beside a rival. */
typedef enum goal_kind {
    NO_GOAL,
    RATE_AT_LEAST, /* libndr's rate : the rival's */
    TIME_AT_MOST,  /* libndr's time : the rival's */
    VALUE_AT_MOST  /* libndr's own figure, in the row's unit */
} goal_kind;

typedef struct bench_goal {
    goal_kind kind;
    double pass, aim;
} bench_goal;

typedef struct bench_rival {
    const contender *who; /* NULL with VALUE_AT_MOST: nobody */
    bench_goal goal;
} bench_rival;

typedef struct bench_row {
    const char *name;
    const work *work;
    const void *shape; /* what work->begin() takes */
    double amount;     /* of one call, in the unit without its scale: flop, bytes, launches */
    const unit *unit;
    const contender *ours;
    bench_rival rivals[8]; /* ended by one without a goal and without a name */
    size_t most_launches; /* of one call of ours; 0: any number */
    size_t most_rounds;   /* 0: any number */
    bool alternates;      /* all in one timing, call by call: for rivals on one driver, told apart by a few per cent */
} bench_row;

/* Rows that belong together. */
typedef struct row_list {
    const bench_row *rows;
    size_t count;
} row_list;

row_list ceiling_rows(void), matmul_rows(void), reduce_rows(void), launch_rows(void), cold_rows(void);

/* ---- measure.c ---- */

enum { MOST_ROUNDS = 200, MOST_CONTENDERS = 9 };

typedef struct bench_settings {
    size_t rounds;
    double row_s; /* a row that takes less time goes on for more rounds */
    uint64_t seed;
    double shortest_s; /* of one timing: faster calls are repeated */
    double slow_s;     /* whose call takes longer is timed in the first `slow_rounds` only */
    size_t slow_rounds;
    double settle_s; /* sleep before each timing, until everybody's idle threads sleep too */
    double warm_s;   /* then calls that do not count, for so long */
} bench_settings;

typedef struct measured {
    const contender *who;
    size_t repeats, launches;    /* launches of one call */
    size_t rounds, most_rounds;  /* so far; at the end */
    bool is_slow;                /* too slow to warm up before each timing */
    double seconds[MOST_ROUNDS]; /* of one call, in each round */
    bool is_right;
} measured;

/* One row's measurements: libndr's first, then those rivals that are there, in the row's order. */
typedef struct bench_result {
    const bench_row *row;
    size_t count;
    measured of[MOST_CONTENDERS];
} bench_result;

void measure(const bench_row *row, const bench_settings *settings, bench_result *result);

double quantile(const double *values, size_t count, double q); /* 0.5: the median */

/* ---- report.c ---- */

/* libndr beside one rival. Ratios are of rates or of times, as the goal says. */
typedef struct comparison {
    double ours, theirs;                /* medians, in the row's unit; theirs 0 without a rival */
    double median, quarter, three_quarters, p90; /* of paired ratios; p90 is the ratio of p90 rates */
    const char *mark;                   /* "aim", "pass", "SHORT", "WRONG" or "" */
} comparison;

comparison compare(const bench_result *result, const bench_rival *rival);
void report_head(void);
void report(const bench_result *result);
bool report_to_csv(const char *path); /* also write all that follows there */
size_t report_shorts(void); /* how many marks were SHORT or WRONG */

/* ---- machine.c ---- */

double now_s(void);
void sleep_s(double seconds);
uint64_t chance(uint64_t *state);
unsigned thread_count(void); /* CPUs that this process may use */

/* Run again under the environment that the libraries must see when they are loaded, if this is not it. */
void machine_prepare(char **argv);
void machine_describe(void);

/* ---- memory.c ---- */

/* The one context and queue of the bench. */
extern ndr_context *the_context;
extern ndr_queue *the_queue;
extern const char *the_device_words;

void open_device(const char *words);
void close_device(void);

/* Page-aligned host memory with a zero-copy buffer over it. Either the host looks at it or the device. */
typedef struct shared {
    void *host;
    ndr_buffer *buffer;
    bool is_on_device;
} shared;

shared shared_create(size_t bytes);
void shared_destroy(shared *memory);
void shared_hand_over(shared *memory, bool to_device);

/* Fresh values: floats are multiples of 2^-23 in [low, low + span). */
void fill_f32(float *x, size_t n, float low, float span, uint64_t seed);
void fill_f64(double *x, size_t n, double low, double span, uint64_t seed);
void fill_i32(int32_t *x, size_t n, uint64_t seed);
void *allocate(size_t bytes);

/* End the bench with what the call had to say. */
#define MUST(call) must_have_worked((call), #call)
void must_have_worked(ndr_status status, const char *call);
#define MUST_CL(code) must_have_worked_cl((code), #code)
void must_have_worked_cl(cl_int code, const char *call);

/* A kernel without libndr: source, built with no options. */
cl_kernel raw_kernel(const char *source, const char *name);

/* How many kernels anybody in this process has enqueued; see launches.c. */
size_t launches_so_far(void);

/* ---- openmp.c: loops over two threads, vectorised, for the machine itself; NULL where there is no OpenMP ---- */

typedef struct openmp_loops {
    float (*sum_f32)(const float *x, size_t n), (*min_f32)(const float *x, size_t n), (*max_f32)(const float *x, size_t n);
    double (*sum_f64)(const double *x, size_t n);
    int32_t (*sum_i32)(const int32_t *x, size_t n);
} openmp_loops;

const openmp_loops *openmp(void);

/* ---- clblast.c ---- */

/* Give CLBlast what its tuner found: a file that clblast_tuner_* has left. Ends the bench where that fails. */
void clblast_tune(const char *json_path);

/* ---- pyopencl.c ---- */

/* Seconds of one reduction by PyOpenCL, in a process of its own, on operands of its own that it checks itself. */
double pyopencl_reduce_s(ndr_dtype dtype, ndr_op op, size_t count);

/* ---- cold.c ---- */

/* What a child does: one cold build, told on stdout. Returns the exit status. */
int cold_child(const char *name);

#endif
