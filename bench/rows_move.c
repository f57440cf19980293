/* rows_move.c - transposing and gathering, beside loops on the host. */
#include "rows_move.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndr/ndr_ops.h"

/* ---- operands ---- */

static size_t count_of(const move *j) { return j->of.rows * j->of.cols; }

static void *begin(const void *shape)
{
    move *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->of = *(const move_shape *)shape;
    j->input = shared_create(count_of(j) * sizeof(int32_t));
    j->indexes = shared_create(count_of(j) * sizeof(int32_t));
    j->output = shared_create(count_of(j) * sizeof(int32_t));
    return j;
}

static void end(void *job)
{
    move *j = job;
    shared_destroy(&j->input);
    shared_destroy(&j->indexes);
    shared_destroy(&j->output);
    free(j);
}

static void hand_over(void *job, bool to_device)
{
    move *j = job;
    shared_hand_over(&j->input, to_device);
    shared_hand_over(&j->indexes, to_device);
    shared_hand_over(&j->output, to_device);
}

static void refill(void *job, uint64_t seed)
{
    move *j = job;
    uint32_t *const indexes = j->indexes.host;
    fill_i32(j->input.host, count_of(j), seed);
    fill_i32(j->indexes.host, count_of(j), seed + 1);
    for (size_t i = 0; i < count_of(j); ++i) indexes[i] %= (uint32_t)count_of(j);
}

static void reset(void *job)
{
    move *j = job;
    memset(j->output.host, 0xff, count_of(j) * sizeof(int32_t));
}

/* ---- contenders ---- */

static void run_transpose(void *job)
{
    move *j = job;
    ndr_array_copy_desc desc = {
        .input = ndr_array_of(j->input.buffer, NDR_DTYPE_I32, ndr_range_2d(j->of.rows, j->of.cols)),
        .output = ndr_array_of(j->output.buffer, NDR_DTYPE_I32, ndr_range_2d(j->of.rows, j->of.cols))
    };
    desc.output.stride[0] = 1, desc.output.stride[1] = (int64_t)j->of.rows;
    MUST(ndr_array_copy(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

static void run_gather(void *job)
{
    move *j = job;
    const ndr_gather_desc desc = { .dtype = NDR_DTYPE_I32,
                                   .index_dtype = NDR_DTYPE_U32,
                                   .input = { j->input.buffer, 0 },
                                   .indexes = { j->indexes.buffer, 0 },
                                   .input_count = count_of(j),
                                   .count = count_of(j),
                                   .output = { j->output.buffer, 0 } };
    MUST(ndr_gather(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

static const contender transposer[] = { { .name = "libndr", .on_device = true, .run = run_transpose }, { 0 } };
static const contender gatherer[] = { { .name = "libndr", .on_device = true, .run = run_gather }, { 0 } };

/* ---- checking ---- */

static bool is_element(const move *j, const contender *who, size_t at, size_t from)
{
    const int32_t got = ((const int32_t *)j->output.host)[at], wanted = ((const int32_t *)j->input.host)[from];
    if (got != wanted)
        fprintf(stderr, "bench: %s: element %zu is %d instead of %d\n", who->name, at, (int)got, (int)wanted);
    return got == wanted;
}

static bool check_transpose(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const move *j = job;
    bool is_right = true;
    for (size_t row = 0; row < j->of.rows && is_right; ++row)
        for (size_t col = 0; col < j->of.cols && is_right; ++col)
            is_right = is_element(j, who, col * j->of.rows + row, row * j->of.cols + col);
    (void)calls, (void)thoroughly;
    return is_right;
}

static bool check_gather(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const move *j = job;
    bool is_right = true;
    for (size_t i = 0; i < count_of(j) && is_right; ++i)
        is_right = is_element(j, who, i, ((const uint32_t *)j->indexes.host)[i]);
    (void)calls, (void)thoroughly;
    return is_right;
}

const work transpose_work = { transposer, begin, end, refill, reset, hand_over, check_transpose };
const work gather_work = { gatherer, begin, end, refill, reset, hand_over, check_gather };

/* ---- rows ---- */

#define MOVE_OF(name_, work_, rows_, cols_, bytes)                                                           \
    {                                                                                                        \
        .name = name_, .work = &work_, .shape = &(const move_shape){ rows_, cols_ }, .unit = &gigabytes,     \
        .amount = (bytes) * (rows_) * (cols_), .rivals = { { "OpenMP loops", { RATE_AT_LEAST, 1, 1 } } },    \
        .max_launches = 1, .alternates = true,                                                               \
    }

static const bench_row rows[] = {
    MOVE_OF("transpose i32 1000 x 1000", transpose_work, 1000, 1000, 8.0),
    MOVE_OF("transpose i32 4096 x 4096", transpose_work, 4096, 4096, 8.0),
    MOVE_OF("transpose i32 3001 x 5003", transpose_work, 3001, 5003, 8.0),
    MOVE_OF("gather i32 2^20", gather_work, 1, 1 << 20, 12.0),
    MOVE_OF("gather i32 2^24", gather_work, 1, 1 << 24, 12.0),
};

row_list move_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
