/* bench.h - what a row is, and what the files of the bench share.
 *
 *   bench.c       options, the lists of rows           rows_ceiling.c   what the machine itself reaches
 *   measure.c     rounds, repeats                      rows_matmul.c    \
 *   report.c      ratios, table, CSV                   rows_reduce.c     } libndr's operations and launches
 *   machine.c     environment, clock, random numbers   rows_launch.c    /
 *   memory.c      device, operands, failing calls      rows_cold.c      first calls with an empty cache
 *   first_call.c  first calls, in child processes      rows_get.c       kernels obtained from one source
 *   core.c        code for other CPUs           multiply.c       the ceiling of multiply-add, for each of these CPUs
 *   launches.c    counts all kernel launches            rows_scan.c      prefix sums
 *                                                      rows_axes.c      sums along an axis of a matrix
 *                                                      rows_sort.c      sorts
 *   rivals.c      finds rivals by name                 rivals/          one file a library: rivals/rival.h
 *   gpu.h         works in a GPU's own memory          rows_gpu_*.c     the rows of a GPU
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

/* One way to do the work of a row. It has either `run` or `time`. */
typedef struct contender {
    const char *name;
    bool on_device;            /* works on OpenCL buffers: operands are handed over to the device first */
    void (*run)(void *job);    /* does the work once; finished when it returns */
    double (*time)(void *job); /* warms up, does the work once, checks its result and returns the seconds */
    bool leaves_result;        /* time() leaves the result to the work's check() */
    /* Of a product: what this contender makes of a result of that column, and of its bound. NULL: nothing. */
    double (*finish)(double result, size_t col, double *bound);
} contender;

/* What the rows of one kind have in common. A job is the operands and results of one row. */
typedef struct work {
    const contender *own;                     /* need no library; [0] is libndr or the host; a nameless one ends them */
    void *(*begin)(const void *shape);        /* NULL: the shape is the job. The functions below may be NULL, too */
    void (*end)(void *job);
    void (*refill)(void *job, uint64_t seed); /* new operands */
    void (*reset)(void *job);                 /* results as before the first call; NaN if they are only written */
    void (*hand_over)(void *job, bool to_device);
    bool (*check)(void *job, const contender *who, size_t calls, bool thoroughly); /* after `calls` runs since reset */
} work;

/* How a row's rate is shown: amount / seconds / scale, or seconds / amount / scale. */
typedef struct unit {
    const char *name;
    double scale;
    bool is_time;
} unit;

extern const unit gflops, teraflops, gigabytes, microseconds, seconds_each, programs_each;

/* What libndr has to reach beside a rival. */
typedef enum goal_kind {
    NO_GOAL,
    RATE_AT_LEAST, /* libndr's rate : the rival's */
    TIME_AT_MOST,  /* libndr's time : the rival's */
    VALUE_AT_MOST  /* libndr's own value, in the row's unit */
} goal_kind;

typedef struct bench_goal {
    goal_kind kind;
    double pass, aim;
} bench_goal;

/* A rival of one row: the name of a contender for the row's work. Left out if that was not found at build time. */
typedef struct row_rival {
    const char *name; /* NULL with VALUE_AT_MOST: no rival */
    bench_goal goal;
} row_rival;

typedef struct bench_row {
    const char *name;
    const work *work;
    const void *shape; /* the argument of work->begin() */
    double amount;     /* of one call, in the unit without its scale: flop, bytes, launches */
    const unit *unit;
    row_rival rivals[8]; /* ended by one without a name and without a goal */
    size_t max_launches; /* of one call of libndr; 0: any number */
    size_t max_rounds;   /* 0: any number */
    double flop_per_byte; /* of memory, each operand and result once; 0: not in the roofline picture */
    bool alternates;     /* all contenders in one timing, call by call, where no other threads would disturb that */
} bench_row;

/* A call that is timed once, in a process of its own: first_call.c. */
typedef struct first_call {
    const char *name; /* unique among first calls */
    size_t programs;  /* that it has to build */
    const work *work;
    const void *shape;
    const contender *who; /* has `run`; NULL: the first one of the work */
} first_call;

/* The rows of one file, and the first calls that they time. */
typedef struct row_list {
    const bench_row *rows;
    size_t count;
    const first_call *first_calls;
    size_t first_call_count;
} row_list;

row_list ceiling_rows(void), matmul_rows(void), reduce_rows(void), launch_rows(void), cold_rows(void), get_rows(void);
row_list axes_rows(void), forms_rows(void);
row_list scan_rows(void);
row_list map_rows(void), histogram_rows(void);
row_list move_rows(void);
row_list sort_rows(void);
row_list gpu_ceiling_rows(void), gpu_matmul_rows(void), gpu_reduce_rows(void), gpu_operation_rows(void);

/* ---- rivals.c ---- */

extern const char *the_rival; /* the argument of --rival, or NULL: all */

/* The contender of that name for this work: one of its own, or a library's. NULL: not found at build time, or not
 * the_rival. */
const contender *find_contender(const work *w, const char *name);

/* Set the environment variables that the libraries read when they are loaded. */
void rivals_prepare(void);
void rivals_describe(void);

/* Give the library the parameters that its own tuner left in a file. Ends the bench if that fails. */
void rival_tune(const char *name, const char *path);

/* ---- measure.c ---- */

enum { MAX_ROUNDS = 200, MAX_CONTENDERS = 9 };

typedef struct bench_settings {
    size_t rounds;
    double row_s; /* a row that takes less time gets more rounds */
    uint64_t seed;
    double shortest_s; /* of one timing: faster calls are repeated */
    double slow_s;     /* a contender whose call takes longer is timed in the first `slow_rounds` only */
    size_t slow_rounds;
    double settle_s; /* sleep before each timing, so that the idle threads of all libraries sleep too */
    double warm_up_s; /* calls before each timing that do not count */
} bench_settings;

typedef struct measurement {
    const contender *who;
    size_t repeats, launches;   /* launches of one call */
    size_t rounds, max_rounds;  /* rounds so far; the limit */
    bool is_slow;               /* too slow to warm up before each timing */
    double seconds[MAX_ROUNDS]; /* of one call, in each round */
    bool is_correct;
} measurement;

/* The measurements of one row: libndr's first, then those of the rivals found, in the row's order. */
typedef struct bench_result {
    const bench_row *row;
    size_t count;
    measurement of[MAX_CONTENDERS];
} bench_result;

void measure(const bench_row *row, const bench_settings *settings, bench_result *result);

/* Seconds of one call, the first in this process. */
double time_first_call(const first_call *call);

double quantile(const double *values, size_t count, double q); /* 0.5: the median */

/* ---- report.c ---- */

/* libndr beside one rival. Ratios are of rates or of times, by the kind of goal. */
typedef struct comparison {
    double ours, theirs;                         /* medians, in the row's unit; theirs 0 without a rival */
    double median, quarter, three_quarters, p90; /* of the ratios of each round; p90 is the ratio of p90 rates */
    const char *mark;                            /* "aim", "pass", "SHORT", "WRONG" or "" */
} comparison;

comparison compare(const bench_result *result, const row_rival *rival);
bool report_to_csv(const char *path); /* write the table to this file, too */
void report_head(void);
void report(const bench_result *result);
size_t missed_goals(void); /* how many marks were SHORT or WRONG */

/* ---- machine.c ---- */

extern bool the_one_thread; /* --one-thread: now_s() is this process's CPU time */
extern size_t the_threads;  /* of each library; 0: as many as it takes */
double now_s(void);
void sleep_s(double seconds);
uint64_t next_random(uint64_t *state);
unsigned thread_count(void); /* CPUs that this process may use */

/* Set the environment variables that libraries read when they are loaded, and start this program again, once. `core`
 * is one of core.c, or NULL. `keeps_programs`: libndr keeps programs on disk, in the build folder. */
void machine_prepare(char **argv, const char *core, bool keeps_programs);
void machine_describe(void);

/* ---- core.c ---- */

extern const char *the_core; /* the argument of --core, or NULL */

/* Set the environment for the core of that name. PoCL's cache is `cache` with the name added. */
void core_prepare(const char *name, const char *cache);

/* End the bench, with status 3, if the device's code is not for that core. */
void core_check(const char *name);

/* Multiplies and adds in all registers of the named core; NULL: of this machine's own. */
typedef struct multiplier {
    const char *name;
    double (*multiply)(size_t steps); /* returns 1, to be checked */
    double (*flop)(size_t steps);     /* how many operations that takes */
} multiplier;
const multiplier *core_multiplier(const char *name);

/* ---- memory.c ---- */

/* The one context and queue of the bench, and the text that selected the device. */
extern ndr_context *the_context;
extern ndr_queue *the_queue;
extern const char *the_device_text;

void open_device(const char *text);
void close_device(void);

/* Page-aligned host memory with a zero-copy buffer over it. Either the host may use it or the device. */
typedef struct shared_memory {
    void *host;
    ndr_buffer *buffer;
    bool is_on_device;
} shared_memory;

shared_memory shared_create(size_t bytes);
void shared_destroy(shared_memory *memory);
void shared_hand_over(shared_memory *memory, bool to_device);

/* New values: floats are multiples of 2^-23 in [low, low + span). */
void fill_f32(float *x, size_t n, float low, float span, uint64_t seed);
void fill_f64(double *x, size_t n, double low, double span, uint64_t seed);
void fill_i32(int32_t *x, size_t n, uint64_t seed);
void *allocate(size_t bytes);

/* The same for a type: floats are in [-1, 1), integers have all values. */
void fill_elements(ndr_dtype dtype, void *x, size_t n, uint64_t seed);

double element_at(ndr_dtype dtype, const void *x, size_t index);

/* End the bench, and print the call and its error, if the call fails. */
#define MUST(call) end_if_failed((call), #call)
void end_if_failed(ndr_status status, const char *call);
#define MUST_CL(code) end_if_failed_cl((code), #code)
void end_if_failed_cl(cl_int code, const char *call);

/* A program and a kernel without libndr, built with no options. */
cl_program raw_program(const char *source);
cl_kernel raw_kernel(const char *source, const char *name);

/* How many kernels this process has enqueued, through any library: launches.c. */
size_t launches_so_far(void);

/* ---- first_call.c ---- */

enum { CACHE_PATH_SIZE = 32 };

/* The path of a new, empty cache folder for PoCL. */
void make_cache(char path[CACHE_PATH_SIZE]);
size_t remove_cache(const char *path); /* returns how many programs it held */

/* Seconds of the call, in a child with this cache. */
double first_call_s(const first_call *call, const char *cache);

/* The same with an empty cache. `programs`, unless NULL, gets the number of programs that the child built. */
double cold_call_s(const first_call *call, size_t *programs);

#endif
