/* measure.c - who takes how long, side by side.
 *
 * A round has fresh operands and everybody once, in random order, so that whatever the machine does to one it does to
 * the other: ratios are formed within a round, and the median is taken over rounds. Before each timing everybody's
 * threads get time to fall asleep, and the one who is timed makes a call that does not count. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one timing ---- */

static void make_ready(const bench_row *row, void *job, const contender *who)
{
    row->work->hand_over(job, false);
    row->work->reset(job);
    row->work->hand_over(job, who->on_device);
    MUST(ndr_queue_finish(the_queue));
}

/* Seconds of `repeats` calls, one behind the other. */
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

/* The first call builds kernels and starts threads. Then as many as make one timing long enough. */
static void calibrate(const bench_row *row, void *job, const bench_settings *settings, measured *m)
{
    m->repeats = 1;
    m->most_rounds = row->most_rounds ? row->most_rounds : MOST_ROUNDS;
    if (m->who->time) return; /* which needs neither */
    make_ready(row, job, m->who);
    (void)time_calls(m->who, job, 1);
    for (;;) {
        make_ready(row, job, m->who);
        const double seconds = time_calls(m->who, job, m->repeats);
        m->is_slow = seconds > settings->slow_s;
        if (m->is_slow && m->most_rounds > settings->slow_rounds) m->most_rounds = settings->slow_rounds;
        if (seconds >= settings->shortest_s) return;
        const double factor = ceil(1.1 * settings->shortest_s / fmax(seconds, 1e-7));
        m->repeats *= (size_t)fmin(fmax(factor, 2), 1000);
    }
}

static bool is_there(const contender *who) { return who && (who->run || who->time); }

static void list(const bench_row *row, bench_result *result)
{
    memset(result, 0, sizeof *result);
    result->row = row;
    result->of[result->count++].who = row->ours;
    for (const bench_rival *r = row->rivals; r->who || r->goal.kind != NO_GOAL; ++r)
        if (is_there(r->who)) result->of[result->count++].who = r->who;
    for (size_t i = 0; i < result->count; ++i) result->of[i].is_right = true;
}

/* ---- rounds ---- */

/* Threads that have just been woken may share a core until the system spreads them, for some 10 ms. */
static size_t warm(const contender *who, void *job, double for_s)
{
    size_t calls = 0;
    for (double spent = 0; spent < for_s; ++calls) spent += time_calls(who, job, 1);
    return calls;
}

static void shuffle(size_t *order, size_t count, uint64_t *state)
{
    for (size_t i = 0; i < count; ++i) order[i] = i;
    for (size_t i = count; i > 1; --i) {
        const size_t other = chance(state) % i, last = order[i - 1];
        order[i - 1] = order[other];
        order[other] = last;
    }
}

/* What a turn's calls since make_ready() have computed. */
static void end_turn(const bench_row *row, void *job, measured *m, size_t calls)
{
    row->work->hand_over(job, false);
    if (!row->work->check(job, m->who, calls, m->rounds == 0)) m->is_right = false;
    ++m->rounds;
}

static void take_turn(const bench_row *row, void *job, const bench_settings *settings, measured *m)
{
    make_ready(row, job, m->who);
    sleep_s(settings->settle_s);
    const size_t warm_up = m->is_slow || m->who->time ? 0 : warm(m->who, job, settings->warm_s);
    const size_t launches = launches_so_far();
    m->seconds[m->rounds] = time_calls(m->who, job, m->repeats) / (double)m->repeats;
    m->launches = (launches_so_far() - launches) / m->repeats;
    end_turn(row, job, m, warm_up + m->repeats);
}

/* Everybody's calls in one timing, one of each after the other, again in random order; then what each computes. */
static void take_turn_together(const bench_row *row, void *job, const bench_settings *settings, bench_result *result,
                               uint64_t *state)
{
    double sums[MOST_CONTENDERS] = { 0 };
    make_ready(row, job, result->of[0].who);
    sleep_s(settings->settle_s);
    for (size_t i = 0; i < result->count; ++i) (void)warm(result->of[i].who, job, settings->warm_s);
    const size_t calls = result->of[0].repeats;
    for (size_t call = 0; call < calls; ++call) {
        size_t order[MOST_CONTENDERS];
        shuffle(order, result->count, state);
        for (size_t i = 0; i < result->count; ++i)
            sums[order[i]] += time_calls(result->of[order[i]].who, job, 1);
    }
    for (size_t i = 0; i < result->count; ++i) {
        measured *m = &result->of[i];
        m->seconds[m->rounds] = sums[i] / (double)calls;
        make_ready(row, job, m->who);
        const size_t launches = launches_so_far();
        (void)time_calls(m->who, job, 1);
        m->launches = launches_so_far() - launches;
        end_turn(row, job, m, 1);
    }
}

/* One round; false if nobody had a turn left. */
static bool take_turns(const bench_row *row, void *job, const bench_settings *settings, bench_result *result,
                       uint64_t *state)
{
    size_t order[MOST_CONTENDERS];
    bool anybody = false;
    shuffle(order, result->count, state);
    row->work->hand_over(job, false);
    row->work->refill(job, chance(state));
    if (row->alternates) {
        take_turn_together(row, job, settings, result, state);
        return true;
    }
    for (size_t i = 0; i < result->count; ++i) {
        measured *m = &result->of[order[i]];
        if (m->rounds >= m->most_rounds) continue;
        take_turn(row, job, settings, m);
        anybody = true;
    }
    return anybody;
}

void measure(const bench_row *row, const bench_settings *settings, bench_result *result)
{
    uint64_t state = settings->seed;
    list(row, result);
    void *job = row->work->begin(row->shape);
    row->work->refill(job, chance(&state));
    for (size_t i = 0; i < result->count; ++i) calibrate(row, job, settings, &result->of[i]);
    const double start = now_s();
    for (size_t round = 0; round < MOST_ROUNDS; ++round) {
        if (round >= settings->rounds && now_s() - start >= settings->row_s) break;
        if (!take_turns(row, job, settings, result, &state)) break;
    }
    row->work->end(job);
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
    double sorted[MOST_ROUNDS];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_size);
    const double place = q * (double)(count - 1);
    const size_t below = (size_t)place, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}
