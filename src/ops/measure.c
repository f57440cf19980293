/* measure.c - measures the rows of an operation on a sample, in turn, and finds the fastest. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/ops.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_ROWS = 16, ROUNDS = 9, MIN_ROUNDS = 3 };

typedef struct candidate {
    const ndr_op_row *row;
    double seconds[ROUNDS]; /* of one run of the whole sample */
    size_t rounds;
} candidate;

typedef struct tuning {
    const ndr_operation *operation;
    ndr_queue *queue;
    const ndr_op_sample *sample;
    unsigned lacks;
    int64_t end_ns;
    candidate candidates[MAX_ROWS]; /* the list's row first */
    size_t count;
} tuning;

static bool is_over(const tuning *t) { return t->sample->clock_ns() >= t->end_ns; }

/* Seconds for one of `runs` runs, from the first call to the end of the last command. */
static ndr_status time_runs(const tuning *t, const ndr_op_row *row, const void *request, size_t runs, double *seconds)
{
    const int64_t begin = t->sample->clock_ns();
    for (size_t i = 0; i < runs; ++i) NDR_TRY(ndr_op_run_row(row, &(ndr_order){ .queue = t->queue }, request, NULL));
    NDR_TRY(ndr_queue_finish(t->queue));
    *seconds = (double)(t->sample->clock_ns() - begin) * 1e-9 / (double)runs;
    return NDR_OK;
}

/* ---- which rows ---- */

/* Build the row's kernels, and estimate the seconds of the whole from its part: the least of a few short runs. */
static ndr_status estimate(const tuning *t, const ndr_op_row *row, double *seconds)
{
    enum { RUNS = 3 };
    double run = 0;
    *seconds = HUGE_VAL;
    NDR_TRY(time_runs(t, row, t->sample->part, 1, &run));
    for (size_t i = 0; i < RUNS; ++i) {
        NDR_TRY(time_runs(t, row, t->sample->part, 1, &run));
        if (run < *seconds) *seconds = run;
    }
    *seconds *= (double)t->sample->part_count;
    return NDR_OK;
}

static ndr_status check_row(const tuning *t, const ndr_op_row *row, bool *is_right)
{
    NDR_TRY(ndr_op_run_row(row, &(ndr_order){ .queue = t->queue }, t->sample->whole, NULL));
    return t->sample->check(t->queue, t->sample->whole, is_right);
}

/* Add the row if it is right, and not many times slower than the list's row. */
static ndr_status add_candidate(tuning *t, const ndr_op_row *row, double limit_seconds, double *seconds)
{
    bool is_right = false;
    NDR_TRY(estimate(t, row, seconds));
    if (*seconds > limit_seconds) return NDR_OK;
    NDR_TRY(check_row(t, row, &is_right));
    if (!is_right) return ndr_fail(NDR_DRIVER_ERROR, "row %s gives a wrong result", row->name);
    t->candidates[t->count++] = (candidate){ .row = row };
    return NDR_OK;
}

/* The row of the list, or `preferred` if that can run the sample. */
static const ndr_op_row *select_row(const tuning *t, const ndr_op_row *preferred)
{
    return ndr_op_select(t->operation, &t->queue->context->caps, t->lacks, preferred, t->sample->whole);
}

/* On a device without vector registers for each item, a kernel that is written for them may take minutes to build. */
static bool may_take_minutes(const tuning *t, const ndr_op_row *row)
{
    const ndr_caps *caps = &t->queue->context->caps;
    const char *reason = row->unsuited ? row->unsuited(caps, t->sample->whole) : NULL;
    return reason && reason == ndr_op_lacks_vectors(caps, t->sample->whole);
}

/* Rows that use more than OpenCL C must be right first: a sample is not as hard as their proof. */
static ndr_status prove_rows(tuning *t)
{
    for (size_t i = 0; i < t->operation->row_count; ++i) {
        const ndr_op_row *row = t->operation->rows[i];
        bool is_right;
        if (select_row(t, row) == row) NDR_TRY(ndr_op_prove(t->operation, t->queue->context, row, &is_right));
    }
    return ndr_op_get_needs(t->queue->context, NDR_NEEDS_LACKING, &t->lacks);
}

/* A row that fails is left out: the list's row is enough. */
static void add_others(tuning *t, double listed_seconds)
{
    enum { HOPELESS = 4 };
    const ndr_op_row *listed = t->candidates[0].row;
    for (size_t i = 0; i < t->operation->row_count && t->count < MAX_ROWS && !is_over(t); ++i) {
        const ndr_op_row *row = t->operation->rows[i];
        double seconds;
        if (row == listed || select_row(t, row) != row || may_take_minutes(t, row)) continue;
        if (add_candidate(t, row, HOPELESS * listed_seconds, &seconds) == NDR_OK) continue;
        ndr_log(NDR_LOG_WARN, "op.tune", "%s: %s is left out: %s", t->operation->name, row->name, ndr_last_error());
    }
}

/* ---- measuring ---- */

/* Enough runs to last long compared with the clock's resolution and the time to wake a thread. */
static size_t runs_for(double seconds)
{
    enum { MAX_RUNS = 1000 };
    const double measurement = 2e-3;
    return seconds * MAX_RUNS > measurement ? (size_t)(measurement / seconds) + 1 : MAX_RUNS;
}

/* The list's row is measured once at least: its time is reported. */
static ndr_status measure(tuning *t, size_t runs)
{
    for (size_t round = 0; round < ROUNDS; ++round)
        for (size_t i = 0; i < t->count; ++i) {
            candidate *c = &t->candidates[i];
            if (is_over(t) && t->candidates[0].rounds > 0) return NDR_OK;
            NDR_TRY(time_runs(t, c->row, t->sample->whole, runs, &c->seconds[c->rounds]));
            ++c->rounds;
        }
    return NDR_OK;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(candidate *c)
{
    qsort(c->seconds, c->rounds, sizeof c->seconds[0], compare);
    return c->seconds[c->rounds / 2];
}

/* The first candidate is kept unless another is clearly faster. */
static void choose(tuning *t, ndr_op_winner *winner)
{
    const double margin = 0.97; /* smaller differences are noise */
    *winner = (ndr_op_winner){ .row = t->candidates[0].row, .listed = t->candidates[0].row };
    winner->seconds = winner->listed_seconds = median(&t->candidates[0]);
    for (size_t i = 1; i < t->count && t->candidates[i].rounds >= MIN_ROUNDS; ++i) {
        const double seconds = median(&t->candidates[i]);
        if (seconds > margin * winner->listed_seconds || seconds > winner->seconds) continue;
        winner->row = t->candidates[i].row;
        winner->seconds = seconds;
    }
}

ndr_status ndr_op_measure(const ndr_operation *operation, ndr_queue *queue, const ndr_op_sample *sample,
                          double max_seconds, ndr_op_winner *winner)
{
    tuning t = { .operation = operation,
                 .queue = queue,
                 .sample = sample,
                 .end_ns = sample->clock_ns() + (int64_t)(max_seconds * 1e9) };
    double seconds;
    NDR_TRY(ndr_op_get_needs(queue->context, NDR_NEEDS_LACKING, &t.lacks));
    NDR_TRY(prove_rows(&t));
    NDR_TRY(add_candidate(&t, select_row(&t, NULL), HUGE_VAL, &seconds));
    add_others(&t, seconds);
    NDR_TRY(measure(&t, runs_for(seconds)));
    choose(&t, winner);
    return NDR_OK;
}
