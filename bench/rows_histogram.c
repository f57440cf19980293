/* rows_histogram.c - histograms, beside loops on the host. */
#include "rows_histogram.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndr/ndr_ops.h"

/* ---- operands ---- */

static void *begin(const void *shape)
{
    histogram *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->of = *(const histogram_shape *)shape;
    j->input = shared_create(j->of.count * ndr_dtype_size(j->of.dtype));
    j->counts = shared_create(j->of.bins * sizeof(uint32_t));
    j->wanted = allocate(j->of.bins * sizeof *j->wanted);
    return j;
}

static void end(void *job)
{
    histogram *j = job;
    shared_destroy(&j->input), shared_destroy(&j->counts);
    free(j->wanted);
    free(j);
}

static void hand_over(void *job, bool to_device)
{
    histogram *j = job;
    shared_hand_over(&j->input, to_device), shared_hand_over(&j->counts, to_device);
}

static void refill(void *job, uint64_t seed)
{
    histogram *j = job;
    const uint8_t *bytes = j->input.host;
    const float *floats = j->input.host;
    if (j->of.dtype == NDR_DTYPE_U8) fill_i32(j->input.host, j->of.count / 4, seed);
    else fill_f32(j->input.host, j->of.count, 0, 1, seed);
    memset(j->wanted, 0, j->of.bins * sizeof *j->wanted);
    for (size_t i = 0; i < j->of.count; ++i)
        ++j->wanted[j->of.dtype == NDR_DTYPE_U8 ? bytes[i] : (size_t)(floats[i] * (float)j->of.bins)];
}

static void reset(void *job)
{
    histogram *j = job;
    memset(j->counts.host, 0xff, j->of.bins * sizeof(uint32_t));
}

/* ---- contenders ---- */

static void run_libndr(void *job)
{
    histogram *j = job;
    const ndr_histogram_desc desc = { .dtype = j->of.dtype,
                                      .output_dtype = NDR_DTYPE_U32,
                                      .bins = j->of.bins,
                                      .upper = j->of.dtype == NDR_DTYPE_U8 ? 256 : 1,
                                      .input = { j->input.buffer, 0 },
                                      .count = j->of.count,
                                      .output = { j->counts.buffer, 0 } };
    MUST(ndr_histogram(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

static const contender histogram_own[] = { { .name = "libndr", .on_device = true, .run = run_libndr }, { 0 } };

/* ---- checking ---- */

static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const histogram *j = job;
    const uint32_t *counts = j->counts.host;
    (void)calls, (void)thoroughly;
    for (size_t b = 0; b < j->of.bins; ++b) {
        if (counts[b] == j->wanted[b]) continue;
        fprintf(stderr, "bench: %s: bin %zu has %u instead of %u\n", who->name, b, counts[b], j->wanted[b]);
        return false;
    }
    return true;
}

const work histogram_work = { histogram_own, begin, end, refill, reset, hand_over, check };

/* ---- rows ---- */

#define HISTOGRAM_OF(name_, dtype_, bins_, count_, bytes_)                                                  \
    {                                                                                                       \
        .name = name_, .work = &histogram_work, .shape = &(const histogram_shape){ dtype_, bins_, count_ }, \
        .amount = (double)(bytes_) * (count_), .unit = &gigabytes, .alternates = true,                      \
        .rivals = { { "OpenMP loops", { RATE_AT_LEAST, 1, 1 } } },                                          \
    }

static const bench_row rows[] = {
    HISTOGRAM_OF("histogram u8 of 256 bins 2^20", NDR_DTYPE_U8, 256, 1 << 20, 1),
    HISTOGRAM_OF("histogram u8 of 256 bins 2^26", NDR_DTYPE_U8, 256, 1 << 26, 1),
    HISTOGRAM_OF("histogram f32 of 256 bins 2^24", NDR_DTYPE_F32, 256, 1 << 24, 4),
    HISTOGRAM_OF("histogram f32 of 65536 bins 2^24", NDR_DTYPE_F32, 65536, 1 << 24, 4),
};

row_list histogram_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
