/* rows_sort.c - sorts of keys, and of keys with values, beside the C++ library's. */
#include "rows_sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndr/ndr_ops.h"

/* ---- operands ---- */

static void *begin(const void *shape)
{
    sorting *j = allocate(sizeof *j);
    memset(j, 0, sizeof *j);
    j->of = *(const sort_shape *)shape;
    shared_memory *const all[] = { &j->keys, &j->values, &j->sorted_keys, &j->sorted_values };
    for (size_t i = 0; i < COUNT_OF(all); ++i) *all[i] = shared_create(j->of.count * sizeof(uint32_t));
    if (!j->of.has_values) return j;
    j->pairs = allocate(j->of.count * sizeof *j->pairs);
    j->sorted_pairs = allocate(j->of.count * sizeof *j->pairs);
    return j;
}

static void end(void *job)
{
    sorting *j = job;
    shared_destroy(&j->keys), shared_destroy(&j->values);
    shared_destroy(&j->sorted_keys), shared_destroy(&j->sorted_values);
    free(j->pairs), free(j->sorted_pairs);
    free(j);
}

static void hand_over(void *job, bool to_device)
{
    sorting *j = job;
    shared_hand_over(&j->keys, to_device), shared_hand_over(&j->values, to_device);
    shared_hand_over(&j->sorted_keys, to_device), shared_hand_over(&j->sorted_values, to_device);
}

static void refill(void *job, uint64_t seed)
{
    sorting *j = job;
    uint32_t *keys = j->keys.host, *values = j->values.host;
    for (size_t i = 0; i < j->of.count; ++i) {
        keys[i] = (uint32_t)(next_random(&seed) >> 32);
        values[i] = (uint32_t)i;
        if (j->pairs) j->pairs[i] = (sort_pair){ keys[i], values[i] };
    }
}

static void reset(void *job)
{
    sorting *j = job;
    memset(j->sorted_keys.host, 0xff, j->of.count * sizeof(uint32_t));
    memset(j->sorted_values.host, 0xff, j->of.count * sizeof(uint32_t));
    if (j->pairs) memset(j->sorted_pairs, 0xff, j->of.count * sizeof *j->pairs);
}

/* ---- contenders ---- */

static void run_libndr(void *job)
{
    sorting *j = job;
    const ndr_sort_desc desc = { .dtype = NDR_DTYPE_U32,
                                 .value_bytes = j->of.has_values ? sizeof(uint32_t) : 0,
                                 .keys = { j->keys.buffer, 0 },
                                 .values = { j->values.buffer, 0 },
                                 .count = j->of.count,
                                 .sorted_keys = { j->sorted_keys.buffer, 0 },
                                 .sorted_values = { j->sorted_values.buffer, 0 } };
    MUST(ndr_sort(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

/* By a comparison that the kernel calls. */
static void run_merge_sort(void *job)
{
    sorting *j = job;
    const ndr_merge_sort_desc desc = { .dtype = NDR_DTYPE_U32,
                                       .less = "a < b",
                                       .input = { j->keys.buffer, 0 },
                                       .count = j->of.count,
                                       .output = { j->sorted_keys.buffer, 0 } };
    MUST(ndr_merge_sort(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

static const contender merge_sort_own[] = { { .name = "libndr", .on_device = true, .run = run_merge_sort }, { 0 } };
static const contender sort_own[] = { { .name = "libndr", .on_device = true, .run = run_libndr }, { 0 } };

/* ---- checking ---- */

/* Each value is the index of its key, so that the order of equal keys shows. Without values the sum of the keys says
 * that none is missing. */
static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const sorting *j = job;
    const uint32_t *keys = j->keys.host, *sorted = j->sorted_keys.host, *values = j->sorted_values.host;
    const bool has_pairs = j->pairs && who != sort_own;
    uint64_t sum = 0, last = 0;
    (void)calls, (void)thoroughly;
    for (size_t i = 0; i < j->of.count; ++i) {
        const uint32_t key = has_pairs ? j->sorted_pairs[i].key : sorted[i];
        const uint32_t value = !j->pairs ? 0 : has_pairs ? j->sorted_pairs[i].value : values[i];
        const uint64_t place = (uint64_t)key << 32 | value;
        sum += j->pairs ? 0 : (uint64_t)key - keys[i];
        if (place >= last && (!j->pairs || (i > 0 ? place > last : true)) && (!j->pairs || keys[value] == key)) {
            last = place;
            continue;
        }
        fprintf(stderr, "bench: %s: element %zu is wrong\n", who->name, i);
        return false;
    }
    return sum == 0;
}

const work sort_work = { sort_own, begin, end, refill, reset, hand_over, check };
const work merge_sort_work = { merge_sort_own, begin, end, refill, reset, hand_over, check };

/* ---- rows ---- */

static const unit million_keys = { "M/s", 1e6, false };

#define SORT_OF(name_, work_, has_values_, count_, ...)                                                             \
    {                                                                                                               \
        .name = name_, .work = &(work_), .shape = &(const sort_shape){ has_values_, count_ }, .amount = (count_),   \
        .unit = &million_keys, .rivals = { __VA_ARGS__ },                                                           \
    }
#define PARALLEL { "__gnu_parallel::sort", { RATE_AT_LEAST, 1, 2 } }
#define STABLE { "std::stable_sort", { RATE_AT_LEAST, 3, 5 } }

static const bench_row rows[] = {
    SORT_OF("sort u32 2^20", sort_work, false, 1 << 20, PARALLEL),
    SORT_OF("sort u32 2^24", sort_work, false, 1 << 24, PARALLEL),
    SORT_OF("sort pairs 2^20", sort_work, true, 1 << 20, STABLE),
    SORT_OF("sort pairs 2^24", sort_work, true, 1 << 24, STABLE),
    SORT_OF("merge sort u32 2^20", merge_sort_work, false, 1 << 20, PARALLEL),
    SORT_OF("merge sort u32 2^24", merge_sort_work, false, 1 << 24, PARALLEL),
};

row_list sort_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
