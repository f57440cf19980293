/* gpu.c - times calls on a device that has its own clock. */
#include "gpu.h"

#include <math.h>

/* ---- timing ---- */

/* Calls of one timing: as many as take `TIMING_S`, within these limits. */
static const double TIMING_S = 4e-3;
enum { MIN_SINGLE = 3, MAX_SINGLE = 100, MIN_BACK_TO_BACK = 10, MAX_BACK_TO_BACK = 1000 };

/* Seconds of each of many calls, from the first one's enqueueing to the last one's end. */
static double time_back_to_back(const gpu_calls *calls, void *job, size_t count)
{
    calls->finish();
    const double start = now_s();
    for (size_t i = 0; i < count; ++i) calls->enqueue(job);
    calls->finish();
    return (now_s() - start) / (double)count;
}

/* The median of single calls, each of which begins on an idle device. */
static double time_single(const gpu_calls *calls, void *job, size_t count)
{
    double seconds[MAX_SINGLE];
    for (size_t i = 0; i < count; ++i) seconds[i] = calls->time_one(job);
    return quantile(seconds, count, 0.5);
}

static size_t calls_that_take(double seconds, double each, size_t least, size_t most)
{
    return (size_t)fmin(fmax(ceil(seconds / each), (double)least), (double)most);
}

double gpu_time(const gpu_calls *calls, void *job, bool back_to_back)
{
    if (calls->upload) calls->upload(job);
    (void)time_back_to_back(calls, job, 1); /* builds kernels */
    const double each = time_back_to_back(calls, job, 2);
    (void)time_back_to_back(calls, job, calls_that_take(TIMING_S, each, 1, MAX_BACK_TO_BACK));
    const double seconds =
        back_to_back
            ? time_back_to_back(calls, job, calls_that_take(TIMING_S, each, MIN_BACK_TO_BACK, MAX_BACK_TO_BACK))
            : time_single(calls, job, calls_that_take(TIMING_S, each, MIN_SINGLE, MAX_SINGLE));
    if (calls->reset) calls->reset(job);
    calls->enqueue(job);
    calls->finish();
    if (calls->download) calls->download(job);
    return seconds;
}

/* ---- libndr ---- */

static ndr_queue *timed_queue;

ndr_queue *gpu_timed_queue(void)
{
    if (!timed_queue) MUST(ndr_queue_create(the_context, &(ndr_queue_desc){ .is_profiling = true }, &timed_queue));
    return timed_queue;
}

void gpu_close(void) { ndr_queue_destroy(timed_queue); }

double gpu_event_seconds(ndr_event *event)
{
    uint64_t ns;
    MUST(ndr_event_elapsed_ns(event, &ns));
    ndr_event_destroy(event);
    return (double)ns * 1e-9;
}

void gpu_finish(void) { MUST(ndr_queue_finish(the_queue)); }

size_t gpu_next_number(void)
{
    static size_t number;
    return ++number;
}
