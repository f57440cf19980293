/* measure.c - times the contenders of a row side by side.
 *
 * A round has new operands and times each contender once, in random order, so that a disturbance of the machine affects
 * all of them. Ratios are formed within a round; their median is taken over rounds. Before each timing the threads of
 * all libraries get time to fall asleep, and the contender makes calls that do not count. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one timing ---- */

static void hand_over(const work *w, void *job, bool to_device)
{
    if (w->hand_over) w->hand_over(job, to_device);
}

/* Operands for the host, with new values. */
static void refill(const work *w, void *job, uint64_t seed)
{
    hand_over(w, job, false);
    if (w->refill) w->refill(job, seed);
}

/* Operands and results as the contender expects them. */
static void prepare(const work *w, void *job, const contender *who)
{
    hand_over(w, job, false);
    if (w->reset) w->reset(job);
    hand_over(w, job, who->on_device);
    MUST(ndr_queue_finish(the_queue));
}

static void *begin(const work *w, const void *shape)
{
    return w->begin ? w->begin(shape) : (void *)(uintptr_t)shape;
}

/* Seconds of `repeats` calls, one after the other. */
static double time_calls(const contender *who, void *job, size_t repeats)
{
    double sum = 0;
    const double start = now_s();
    for (size_t i = 0; i < repeats; ++i)
        if (who->time) sum += who->time(job);
        else who->run(job);
    return who->time ? sum : now_s() - start;
}

/* ---- before the rounds ---- */

/* The first call builds kernels and starts threads. Then the number of calls grows until one timing is long enough. */
static void calibrate(const bench_row *row, void *job, const bench_settings *settings, measurement *m)
{
    m->repeats = 1;
    m->max_rounds = row->max_rounds ? row->max_rounds : MAX_ROUNDS;
    if (m->who->time) return; /* time() does both itself */
    prepare(row->work, job, m->who);
    (void)time_calls(m->who, job, 1);
    for (;;) {
        prepare(row->work, job, m->who);
        const double seconds = time_calls(m->who, job, m->repeats);
        m->is_slow = seconds > settings->slow_s;
        if (m->is_slow && m->max_rounds > settings->slow_rounds) m->max_rounds = settings->slow_rounds;
        if (seconds >= settings->shortest_s) return;
        const double factor = ceil(1.1 * settings->shortest_s / fmax(seconds, 1e-7));
        m->repeats *= (size_t)fmin(fmax(factor, 2), 1000);
    }
}

static void list_contenders(const bench_row *row, bench_result *result)
{
    memset(result, 0, sizeof *result);
    result->row = row;
    result->of[result->count++].who = &row->work->own[0];
    for (const row_rival *r = row->rivals; r->name || r->goal.kind != NO_GOAL; ++r) {
        const contender *found = r->name ? find_contender(row->work, r->name) : NULL;
        if (found) result->of[result->count++].who = found;
    }
    for (size_t i = 0; i < result->count; ++i) result->of[i].is_correct = true;
}

/* ---- rounds ---- */

/* Threads that have just been woken may share a core for some 10 ms, until the system spreads them. */
static size_t warm_up(const contender *who, void *job, double for_s)
{
    size_t calls = 0;
    for (double spent = 0; spent < for_s; ++calls) spent += time_calls(who, job, 1);
    return calls;
}

static void shuffle(size_t *order, size_t count, uint64_t *state)
{
    for (size_t i = 0; i < count; ++i) order[i] = i;
    for (size_t i = count; i > 1; --i) {
        const size_t other = next_random(state) % i, last = order[i - 1];
        order[i - 1] = order[other];
        order[other] = last;
    }
}

/* Check the result of the `calls` since prepare(). */
static void end_turn(const work *w, void *job, measurement *m, size_t calls)
{
    hand_over(w, job, false);
    const bool is_checked = w->check && (!m->who->time || m->who->leaves_result);
    if (is_checked && !w->check(job, m->who, calls, m->rounds == 0)) m->is_correct = false;
    ++m->rounds;
}

static void take_turn(const bench_row *row, void *job, const bench_settings *settings, measurement *m)
{
    prepare(row->work, job, m->who);
    sleep_s(settings->settle_s);
    const size_t warm_ups = m->is_slow || m->who->time ? 0 : warm_up(m->who, job, settings->warm_up_s);
    const size_t launches = launches_so_far();
    m->seconds[m->rounds] = time_calls(m->who, job, m->repeats) / (double)m->repeats;
    m->launches = (launches_so_far() - launches) / m->repeats;
    end_turn(row->work, job, m, warm_ups + m->repeats);
}

/* All contenders in one timing: one call of each at a time, in random order. Then one call of each is checked. */
static void take_turn_together(const bench_row *row, void *job, const bench_settings *settings, bench_result *result,
                               uint64_t *state)
{
    double sums[MAX_CONTENDERS] = { 0 };
    prepare(row->work, job, result->of[0].who);
    sleep_s(settings->settle_s);
    for (size_t i = 0; i < result->count; ++i) (void)warm_up(result->of[i].who, job, settings->warm_up_s);
    const size_t calls = result->of[0].repeats;
    for (size_t call = 0; call < calls; ++call) {
        size_t order[MAX_CONTENDERS];
        shuffle(order, result->count, state);
        for (size_t i = 0; i < result->count; ++i)
            sums[order[i]] += time_calls(result->of[order[i]].who, job, 1);
    }
    for (size_t i = 0; i < result->count; ++i) {
        measurement *m = &result->of[i];
        m->seconds[m->rounds] = sums[i] / (double)calls;
        prepare(row->work, job, m->who);
        const size_t launches = launches_so_far();
        (void)time_calls(m->who, job, 1);
        m->launches = launches_so_far() - launches;
        end_turn(row->work, job, m, 1);
    }
}

/* Threads of a rival that is not on the device spin after its call, and would slow the next one. */
static bool may_alternate(const bench_result *result)
{
    for (size_t i = 0; i < result->count; ++i)
        if (!the_one_thread && !result->of[i].who->on_device) return false;
    return true;
}

/* One round; false if all contenders have had all their rounds. */
static bool take_turns(const bench_row *row, void *job, const bench_settings *settings, bench_result *result,
                       uint64_t *state)
{
    size_t order[MAX_CONTENDERS];
    bool any = false;
    shuffle(order, result->count, state);
    refill(row->work, job, next_random(state));
    if (row->alternates && may_alternate(result)) {
        take_turn_together(row, job, settings, result, state);
        return true;
    }
    for (size_t i = 0; i < result->count; ++i) {
        measurement *m = &result->of[order[i]];
        if (m->rounds >= m->max_rounds) continue;
        take_turn(row, job, settings, m);
        any = true;
    }
    return any;
}

void measure(const bench_row *row, const bench_settings *settings, bench_result *result)
{
    uint64_t state = settings->seed;
    list_contenders(row, result);
    void *job = begin(row->work, row->shape);
    refill(row->work, job, next_random(&state));
    for (size_t i = 0; i < result->count; ++i) calibrate(row, job, settings, &result->of[i]);
    const double start = now_s();
    for (size_t round = 0; round < MAX_ROUNDS; ++round) {
        if (round >= settings->rounds && now_s() - start >= settings->row_s) break;
        if (!take_turns(row, job, settings, result, &state)) break;
    }
    if (row->work->end) row->work->end(job);
}

double time_first_call(const first_call *call)
{
    void *job = begin(call->work, call->shape);
    refill(call->work, job, 1);
    const contender *who = call->who ? call->who : call->work->own;
    prepare(call->work, job, who);
    return time_calls(who, job, 1); /* the process ends after this, and the job with it */
}

/* ---- figures ---- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(const double *values, size_t count, double q)
{
    if (count == 0) return NAN;
    double sorted[MAX_ROUNDS];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_size);
    const double place = q * (double)(count - 1);
    const size_t below = (size_t)place, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}
