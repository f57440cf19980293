/* measure.c - measures the variants of an operation on a sample, in turn, and finds the fastest. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/choices.h"
#include "ops/measure.h"
#include "ops/select.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_VARIANTS = 16, ROUNDS = 9, MIN_ROUNDS = 3 };

typedef struct candidate {
    const ndr_op_variant *variant;
    double seconds[ROUNDS]; /* of one run of the whole sample */
    size_t rounds;
} candidate;

typedef struct tuning {
    const ndr_operation *operation;
    ndr_queue *queue;
    const ndr_op_sample *sample;
    ndr_lacks lacks;
    int64_t end_ns;
    candidate candidates[MAX_VARIANTS]; /* the list's variant first */
    size_t count;
} tuning;

static bool is_over(const tuning *t) { return t->sample->clock_ns() >= t->end_ns; }

/* Seconds for one of `runs` runs, from the first call to the end of the last command. */
static ndr_status time_runs(const tuning *t, const ndr_op_variant *v, const void *request, size_t runs, double *seconds)
{
    const int64_t begin = t->sample->clock_ns();
    for (size_t i = 0; i < runs; ++i) NDR_TRY(ndr_op_run_variant(v, &(ndr_order){ .queue = t->queue }, request, NULL));
    NDR_TRY(ndr_queue_finish(t->queue));
    *seconds = (double)(t->sample->clock_ns() - begin) * 1e-9 / (double)runs;
    return NDR_OK;
}

/* ---- which variants ---- */

/* Build the variant's kernels, and estimate the seconds of the whole from its part: the least of a few short runs. */
static ndr_status estimate(const tuning *t, const ndr_op_variant *v, double *seconds)
{
    enum { RUNS = 3 };
    double run = 0;
    *seconds = HUGE_VAL;
    for (size_t i = 0; i <= RUNS; ++i) {
        NDR_TRY(time_runs(t, v, t->sample->part, 1, &run));
        if (i > 0 && run < *seconds) *seconds = run; /* the first one builds */
    }
    *seconds *= (double)t->sample->part_count;
    return NDR_OK;
}

/* Add the variant if it is right, and not many times slower than the list's. */
static ndr_status add_candidate(tuning *t, const ndr_op_variant *v, double limit_seconds, double *seconds)
{
    bool is_right = false;
    NDR_TRY(estimate(t, v, seconds));
    if (*seconds > limit_seconds) return NDR_OK;
    NDR_TRY(ndr_op_run_variant(v, &(ndr_order){ .queue = t->queue }, t->sample->whole, NULL));
    NDR_TRY(t->sample->check(t->queue, t->sample->whole, &is_right));
    if (!is_right) return ndr_fail(NDR_DRIVER_ERROR, "variant %s gives a wrong result", v->name);
    t->candidates[t->count++] = (candidate){ .variant = v };
    return NDR_OK;
}

/* That of the list, or `preferred` if that can run the sample. */
static const ndr_op_variant *select_variant(const tuning *t, const ndr_op_variant *preferred)
{
    return ndr_op_select(t->operation, &t->queue->context->caps, t->lacks, preferred, t->sample->whole);
}

/* On a device without vector registers for each item, a kernel that is written for them may take minutes to build. */
static bool may_take_minutes(const tuning *t, const ndr_op_variant *v)
{
    const ndr_op_case of = { v, &t->queue->context->caps, t->sample->whole };
    const char *reason = v->unsuited ? v->unsuited(&of) : NULL;
    return reason && reason == ndr_op_lacks_vectors(&of);
}

/* Variants must be right first: a sample is not as hard as their proof. */
static ndr_status prove_variants(const tuning *t)
{
    for (size_t i = 0; i < t->operation->variant_count; ++i) {
        const ndr_op_variant *v = t->operation->variants[i];
        bool is_right;
        if (select_variant(t, v) == v) NDR_TRY(ndr_op_prove(t->operation, t->queue->context, v, &is_right));
    }
    return NDR_OK;
}

/* A variant that fails is left out: the list's is enough. */
static void add_others(tuning *t, double listed_seconds)
{
    enum { HOPELESS = 4 };
    const ndr_op_variant *listed = t->candidates[0].variant;
    for (size_t i = 0; i < t->operation->variant_count && t->count < MAX_VARIANTS && !is_over(t); ++i) {
        const ndr_op_variant *v = t->operation->variants[i];
        double seconds;
        if (v == listed || select_variant(t, v) != v || may_take_minutes(t, v)) continue;
        if (add_candidate(t, v, HOPELESS * listed_seconds, &seconds) == NDR_OK) continue;
        ndr_log(NDR_LOG_WARN, "op.tune", "%s: %s is left out: %s", t->operation->name, v->name, ndr_last_error());
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

/* The list's variant is measured once at least: its time is reported. */
static ndr_status measure(tuning *t, size_t runs)
{
    for (size_t i = 0; i < ROUNDS * t->count; ++i) {
        candidate *c = &t->candidates[i % t->count];
        if (is_over(t) && i > 0) return NDR_OK;
        NDR_TRY(time_runs(t, c->variant, t->sample->whole, runs, &c->seconds[c->rounds]));
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
    const ndr_op_variant *listed = t->candidates[0].variant;
    const double listed_seconds = median(&t->candidates[0]);
    *winner = (ndr_op_winner){ listed, listed, listed_seconds, listed_seconds };
    for (size_t i = 1; i < t->count && t->candidates[i].rounds >= MIN_ROUNDS; ++i) {
        const double seconds = median(&t->candidates[i]);
        if (seconds > margin * listed_seconds || seconds > winner->seconds) continue;
        winner->variant = t->candidates[i].variant;
        winner->seconds = seconds;
    }
}

ndr_status ndr_op_measure(const ndr_operation *operation, ndr_queue *queue, const ndr_op_sample *sample,
                          double max_seconds, ndr_op_winner *winner)
{
    const int64_t end_ns = sample->clock_ns() + (int64_t)(max_seconds * 1e9);
    tuning t = { .operation = operation, .queue = queue, .sample = sample, .end_ns = end_ns };
    const ndr_op_variant *preferred;
    double seconds;
    NDR_TRY(ndr_op_get_preferred(queue->context, operation, NDR_EVERY_CLASS, &preferred, &t.lacks));
    NDR_TRY(prove_variants(&t));
    NDR_TRY(ndr_op_get_preferred(queue->context, operation, NDR_EVERY_CLASS, &preferred, &t.lacks));
    NDR_TRY(add_candidate(&t, select_variant(&t, NULL), HUGE_VAL, &seconds));
    add_others(&t, seconds);
    NDR_TRY(measure(&t, runs_for(seconds)));
    choose(&t, winner);
    return NDR_OK;
}
