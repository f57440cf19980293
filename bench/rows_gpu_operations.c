/* rows_gpu_operations.c - scans, sorts, histograms and sums along an axis on a GPU, beside CUB and PyTorch. */
#include "gpu.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndr/ndr_ops.h"

enum { BINS = 256 };

/* ---- operands ---- */

static bool has_pairs(const gpu_operation *j) { return j->of.kind == GPU_SORT_PAIRS; }

static size_t output_bytes_of(const gpu_operation *j)
{
    if (j->of.kind == GPU_HISTOGRAM) return BINS * sizeof(uint32_t);
    return j->of.kind != GPU_AXIS ? j->input_bytes : (j->of.axis == 1 ? j->of.rows : j->of.cols) * sizeof(float);
}

static void *begin(const void *shape)
{
    gpu_operation *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->of = *(const gpu_operation_shape *)shape;
    j->count = j->of.rows * j->of.cols;
    j->input_bytes = j->count * ndr_dtype_size(j->of.dtype);
    j->output_bytes = output_bytes_of(j);
    j->input = allocate(j->input_bytes);
    j->output = allocate(j->output_bytes);
    if (has_pairs(j)) j->values = allocate(j->input_bytes);
    if (has_pairs(j)) j->sorted = allocate(j->input_bytes);
    const size_t bytes[] = { j->input_bytes, j->output_bytes, j->values ? j->input_bytes : 0,
                             j->values ? j->input_bytes : 0 };
    for (size_t i = 0; i < COUNT_OF(bytes); ++i)
        if (bytes[i]) MUST(ndr_buffer_create(the_context, bytes[i], &j->on_device[i]));
    return j;
}

static void end(void *job)
{
    gpu_operation *j = job;
    MUST(ndr_queue_finish(gpu_timed_queue()));
    gpu_finish();
    for (size_t i = 0; i < COUNT_OF(j->on_device); ++i) ndr_buffer_destroy(j->on_device[i]);
    free(j->input), free(j->output), free(j->values), free(j->sorted);
    free(j);
}

static void fill_bytes(unsigned char *x, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
        const uint64_t bits = next_random(&seed);
        memcpy(x + i, &bits, n - i < sizeof bits ? n - i : sizeof bits);
    }
}

/* Once for each row, as for products. */
static void refill(void *job, uint64_t seed)
{
    gpu_operation *j = job;
    ++j->refills;
    if (j->number) return;
    if (j->of.dtype == NDR_DTYPE_F32) fill_f32(j->input, j->count, 0, 1, seed);
    else if (j->of.dtype == NDR_DTYPE_U32) fill_i32(j->input, j->count, seed);
    else fill_bytes(j->input, j->count, seed);
    for (size_t i = 0; j->values && i < j->count; ++i) j->values[i] = (uint32_t)i;
    MUST(ndr_buffer_write(the_queue, j->on_device[0], 0, j->input_bytes, j->input, NULL));
    if (j->values) MUST(ndr_buffer_write(the_queue, j->on_device[2], 0, j->input_bytes, j->values, NULL));
    j->number = gpu_next_number();
}

/* Operands are filled once before the rounds, too. */
bool gpu_operation_is_checked(const gpu_operation *job) { return job->refills <= 2; }

/* ---- checking ---- */

static bool fail_at(const contender *who, size_t i)
{
    fprintf(stderr, "bench: %s: element %zu is wrong\n", who->name, i);
    return false;
}

static bool check_scan(const gpu_operation *j, const contender *who)
{
    const float *x = j->input, *y = j->output;
    const uint32_t *u = j->input, *v = j->output;
    const double factor = FLT_EPSILON * (double)256;
    double sum = 0;
    uint32_t wrapped = 0;
    for (size_t i = 0; i < j->count; ++i) {
        const bool is_f32 = j->of.dtype == NDR_DTYPE_F32;
        if (is_f32) sum += (double)x[i];
        else wrapped += u[i];
        if (is_f32 ? !(fabs((double)y[i] - sum) <= factor * sum) : v[i] != wrapped) return fail_at(who, i);
    }
    return true;
}

/* The sum of the keys shows that none is missing; of pairs, the values do. */
static bool check_sort(const gpu_operation *j, const contender *who)
{
    const uint32_t *keys = j->input, *sorted = j->output;
    uint64_t sum = 0;
    for (size_t i = 0; i < j->count; ++i) {
        if (i > 0 && sorted[i - 1] > sorted[i]) return fail_at(who, i);
        sum += (uint64_t)keys[i] - sorted[i];
        if (!j->sorted) continue;
        if (j->sorted[i] >= j->count || keys[j->sorted[i]] != sorted[i]) return fail_at(who, i);
        if (i > 0 && sorted[i - 1] == sorted[i] && j->sorted[i - 1] >= j->sorted[i]) return fail_at(who, i);
    }
    return sum == 0 || fail_at(who, j->count);
}

static bool check_histogram(const gpu_operation *j, const contender *who)
{
    const unsigned char *x = j->input;
    const uint32_t *got = j->output;
    uint32_t counts[BINS] = { 0 };
    for (size_t i = 0; i < j->count; ++i) ++counts[x[i]];
    for (size_t b = 0; b < BINS; ++b)
        if (got[b] != counts[b]) return fail_at(who, b);
    return true;
}

/* Elements are not negative. */
static bool check_axis(const gpu_operation *j, const contender *who)
{
    const size_t results = j->output_bytes / sizeof(float), length = j->count / results;
    const float *x = j->input, *got = j->output;
    const double bound = (double)FLT_EPSILON * (256 + ceil(log2((double)length)));
    double *sums = allocate(results * sizeof *sums);
    size_t wrong = SIZE_MAX;
    for (size_t k = 0; k < results; ++k) sums[k] = 0;
    for (size_t row = 0; row < j->of.rows; ++row)
        for (size_t col = 0; col < j->of.cols; ++col)
            sums[j->of.axis == 1 ? row : col] += (double)x[row * j->of.cols + col];
    for (size_t k = 0; k < results && wrong == SIZE_MAX; ++k)
        if (!(fabs((double)got[k] - sums[k]) <= bound * sums[k])) wrong = k;
    free(sums);
    return wrong == SIZE_MAX || fail_at(who, wrong);
}

static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const gpu_operation *j = job;
    (void)calls;
    if (!thoroughly) return true;
    switch (j->of.kind) {
    case GPU_SCAN: return check_scan(j, who);
    case GPU_HISTOGRAM: return check_histogram(j, who);
    case GPU_AXIS: return check_axis(j, who);
    default: return check_sort(j, who);
    }
}

const work gpu_operation_work = {
    .own = gpu_operation_own, .begin = begin, .end = end, .refill = refill, .check = check
};

/* ---- libndr ---- */

static ndr_status scan(const gpu_operation *j, ndr_queue *queue, ndr_event **event)
{
    const ndr_scan_desc desc = { .dtype = j->of.dtype,
                                 .op = NDR_OP_SUM,
                                 .input = { j->on_device[0], 0 },
                                 .count = j->count,
                                 .output = { j->on_device[1], 0 } };
    return ndr_scan(queue, &desc, event);
}

static ndr_status sort(const gpu_operation *j, ndr_queue *queue, ndr_event **event)
{
    const ndr_sort_desc desc = { .dtype = NDR_DTYPE_U32,
                                 .value_bytes = j->values ? sizeof(uint32_t) : 0,
                                 .keys = { j->on_device[0], 0 },
                                 .values = { j->on_device[2], 0 },
                                 .count = j->count,
                                 .sorted_keys = { j->on_device[1], 0 },
                                 .sorted_values = { j->on_device[3], 0 } };
    return ndr_sort(queue, &desc, event);
}

static ndr_status histogram(const gpu_operation *j, ndr_queue *queue, ndr_event **event)
{
    const ndr_histogram_desc desc = { .dtype = NDR_DTYPE_U8,
                                      .output_dtype = NDR_DTYPE_U32,
                                      .bins = BINS,
                                      .upper = BINS,
                                      .input = { j->on_device[0], 0 },
                                      .count = j->count,
                                      .output = { j->on_device[1], 0 } };
    return ndr_histogram(queue, &desc, event);
}

static ndr_status sum_axis(const gpu_operation *j, ndr_queue *queue, ndr_event **event)
{
    const ndr_map_array x = { "x",
                              ndr_array_of(j->on_device[0], NDR_DTYPE_F32, ndr_range_2d(j->of.rows, j->of.cols)) };
    const ndr_map_reduce_desc desc = { .dtype = NDR_DTYPE_F32,
                                       .op = NDR_OP_SUM,
                                       .expression = "x",
                                       .inputs = &x,
                                       .input_count = 1,
                                       .axes = 1u << j->of.axis,
                                       .output.buffer = j->on_device[1] };
    return ndr_map_reduce(queue, &desc, event);
}

static void run_on(const gpu_operation *j, ndr_queue *queue, ndr_event **event)
{
    switch (j->of.kind) {
    case GPU_SCAN: MUST(scan(j, queue, event)); break;
    case GPU_HISTOGRAM: MUST(histogram(j, queue, event)); break;
    case GPU_AXIS: MUST(sum_axis(j, queue, event)); break;
    default: MUST(sort(j, queue, event)); break;
    }
}

static void reset(void *job)
{
    const gpu_operation *j = job;
    MUST(ndr_buffer_fill(the_queue, j->on_device[1], 0, j->output_bytes, &(uint32_t){ 0xffffffff }, sizeof(uint32_t),
                         NULL));
}

static void enqueue(void *job) { run_on(job, the_queue, NULL); }

static double time_one(void *job)
{
    ndr_event *event;
    run_on(job, gpu_timed_queue(), &event);
    return gpu_event_seconds(event);
}

static void download(void *job)
{
    gpu_operation *j = job;
    if (!gpu_operation_is_checked(j)) return;
    MUST(ndr_buffer_read(the_queue, j->on_device[1], 0, j->output_bytes, j->output, NULL));
    if (j->sorted) MUST(ndr_buffer_read(the_queue, j->on_device[3], 0, j->input_bytes, j->sorted, NULL));
}

static double time_libndr(void *job)
{
    static const gpu_calls calls = { NULL, reset, enqueue, time_one, gpu_finish, download };
    return gpu_time(&calls, job, ((gpu_operation *)job)->of.back_to_back);
}

const contender gpu_operation_own[] = { { .name = "libndr", .time = time_libndr, .leaves_result = true }, { 0 } };

/* ---- rows ---- */

#define ROW_END_0 ""
#define ROW_END_1 " back to back"
#define ROW_(name_, end_, kind_, dtype_, rows_, cols_, axis_, back, rival, pass_, aim_)                             \
    {                                                                                                               \
        .name = "gpu: " name_ end_, .work = &gpu_operation_work, .amount = 1, .unit = &microseconds,                \
        .shape = &(const gpu_operation_shape){ kind_, dtype_, rows_, cols_, axis_, back },                          \
        .rivals = { { rival, { RATE_AT_LEAST, pass_, aim_ } } },                                                    \
    }
#define ROW(name, kind, dtype, rows, cols, axis, rival, pass, aim)                        \
    ROW_(name, ROW_END_0, kind, dtype, rows, cols, axis, false, rival, pass, aim),        \
        ROW_(name, ROW_END_1, kind, dtype, rows, cols, axis, true, rival, pass, aim)
#define POWER(lg) (size_t)1 << (lg)
#define SCAN(type, dtype, lg) ROW("scan " type " 2^" #lg, GPU_SCAN, dtype, 1, POWER(lg), 0, "CUB", 1, 1.1)
#define SORT(name, kind, lg, pass, aim) \
    ROW("sort " name " 2^" #lg, kind, NDR_DTYPE_U32, 1, POWER(lg), 0, "CUB", pass, aim)
#define AXIS(rows, cols, axis, pass, aim)                                                                          \
    ROW("axis " #axis " of " #rows " x " #cols, GPU_AXIS, NDR_DTYPE_F32, rows, cols, axis, "torch.sum", pass, aim)

static const bench_row rows[] = {
    SCAN("f32", NDR_DTYPE_F32, 20),
    SCAN("f32", NDR_DTYPE_F32, 24),
    SCAN("f32", NDR_DTYPE_F32, 28),
    SCAN("u32", NDR_DTYPE_U32, 20),
    SCAN("u32", NDR_DTYPE_U32, 24),
    SCAN("u32", NDR_DTYPE_U32, 28),
    SORT("u32", GPU_SORT, 20, 1.2, 1.25),
    SORT("u32", GPU_SORT, 24, 1.2, 1.25),
    SORT("u32", GPU_SORT, 26, 1.2, 1.25),
    SORT("pairs", GPU_SORT_PAIRS, 20, 0.95, 1),
    SORT("pairs", GPU_SORT_PAIRS, 24, 0.95, 1),
    SORT("pairs", GPU_SORT_PAIRS, 26, 0.95, 1),
    ROW("histogram u8 2^28", GPU_HISTOGRAM, NDR_DTYPE_U8, 1, POWER(28), 0, "CUB", 1, 1),
    AXIS(16384, 16384, 0, 1, 1),
    AXIS(16384, 16384, 1, 1, 1),
    AXIS(7000000, 37, 0, 1.4, 1.4),
    AXIS(7000000, 37, 1, 1.4, 1.4),
};

row_list gpu_operation_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
