/* rows_sort.c - sorts of keys, of keys with values and of segments, and the smallest keys, beside the C++ library's. */
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
                                 .sorted_values = { j->sorted_values.buffer, 0 },
                                 .length = j->of.length };
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

static void run_top_k(void *job)
{
    sorting *j = job;
    const ndr_top_k_desc desc = { .dtype = NDR_DTYPE_U32,
                                  .keys = { j->keys.buffer, 0 },
                                  .length = j->of.length,
                                  .count = j->of.count,
                                  .k = j->of.k,
                                  .top_keys = { j->sorted_keys.buffer, 0 } };
    MUST(ndr_top_k(the_queue, &desc, NULL));
    MUST(ndr_queue_finish(the_queue));
}

static const contender top_k_own[] = { { .name = "libndr", .on_device = true, .run = run_top_k }, { 0 } };
static const contender merge_sort_own[] = { { .name = "libndr", .on_device = true, .run = run_merge_sort }, { 0 } };
static const contender sort_own[] = { { .name = "libndr", .on_device = true, .run = run_libndr }, { 0 } };

/* ---- checking ---- */

/* Each value is the index of its key, so that the order of equal keys shows. Without values the sum of the keys says
 * that none is missing. */
static bool check(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const sorting *j = job;
    const uint32_t *keys = j->keys.host, *sorted = j->sorted_keys.host, *values = j->sorted_values.host;
    const bool has_pairs = j->pairs && !who->on_device;
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

static int compare_keys(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The first k of each segment, or all; thoroughly, because sorting takes longer than a round. */
static bool check_segments(void *job, const contender *who, size_t calls, bool thoroughly)
{
    const sorting *j = job;
    const size_t length = j->of.length ? j->of.length : j->of.count, k = j->of.k ? j->of.k : length;
    uint32_t *wanted = allocate(length * sizeof *wanted);
    bool is_right = true;
    (void)calls;
    for (size_t s = 0; is_right && s < (thoroughly ? j->of.count / length : 1); ++s) {
        memcpy(wanted, (const uint32_t *)j->keys.host + s * length, length * sizeof *wanted);
        qsort(wanted, length, sizeof *wanted, compare_keys);
        is_right = memcmp(wanted, (const uint32_t *)j->sorted_keys.host + s * k, k * sizeof *wanted) == 0;
        if (!is_right) fprintf(stderr, "bench: %s: segment %zu is wrong\n", who->name, s);
    }
    free(wanted);
    return is_right;
}

const work segments_work = { sort_own, begin, end, refill, reset, hand_over, check_segments };
const work top_k_work = { top_k_own, begin, end, refill, reset, hand_over, check_segments };
const work sort_work = { sort_own, begin, end, refill, reset, hand_over, check };
const work merge_sort_work = { merge_sort_own, begin, end, refill, reset, hand_over, check };

/* ---- rows ---- */

static const unit million_keys = { "M/s", 1e6, false };

#define SORT_OF(name_, work_, has_values_, count_, ...)                                                             \
    {                                                                                                               \
        .name = name_, .work = &(work_), .shape = &(const sort_shape){ has_values_, count_, 0, 0 },                 \
        .amount = (count_), .unit = &million_keys, .rivals = { __VA_ARGS__ },                                       \
    }
#define SEGMENTS_OF(name_, work_, count_, length_, k_, ...)                                         \
    {                                                                                               \
        .name = name_, .work = &(work_), .shape = &(const sort_shape){ false, count_, length_, k_ }, \
        .amount = (count_), .unit = &million_keys, .rivals = { __VA_ARGS__ },                       \
    }
#define BOOST { "Boost.Compute", { RATE_AT_LEAST, 1, 5 } }
#define PARALLEL { "__gnu_parallel::sort", { RATE_AT_LEAST, 1, 2 } }
#define LOOP { "OpenMP loop of std::sort", { RATE_AT_LEAST, 1, 2 } }
#define PARTIAL { "std::partial_sort_copy", { RATE_AT_LEAST, 1, 2 } }
#define PARTIAL_LOOP { "OpenMP loop of std::partial_sort_copy", { RATE_AT_LEAST, 1, 2 } }
#define NTH { "std::nth_element, std::sort", { RATE_AT_LEAST, 2, 3 } }
#define STABLE { "std::stable_sort", { RATE_AT_LEAST, 3, 5 } }

static const bench_row rows[] = {
    SORT_OF("sort u32 2^20", sort_work, false, 1 << 20, PARALLEL, BOOST),
    SORT_OF("sort u32 2^24", sort_work, false, 1 << 24, PARALLEL, BOOST),
    SORT_OF("sort pairs 2^20", sort_work, true, 1 << 20, STABLE, BOOST),
    SORT_OF("sort pairs 2^24", sort_work, true, 1 << 24, STABLE, BOOST),
    SEGMENTS_OF("sort segments of 16, 2^20", segments_work, 1 << 20, 16, 0, LOOP),
    SEGMENTS_OF("sort segments of 64, 2^22", segments_work, 1 << 22, 64, 0, LOOP),
    SEGMENTS_OF("sort segments of 1024, 2^22", segments_work, 1 << 22, 1024, 0, LOOP),
    SEGMENTS_OF("sort segments of 2^20, 2^22", segments_work, 1 << 22, 1 << 20, 0, LOOP),
    SEGMENTS_OF("top 10 of u32 2^20", top_k_work, 1 << 20, 0, 10, PARTIAL, NTH),
    SEGMENTS_OF("top 10 of u32 2^24", top_k_work, 1 << 24, 0, 10, PARTIAL, NTH),
    SEGMENTS_OF("top 1000 of u32 2^24", top_k_work, 1 << 24, 0, 1000, PARTIAL, NTH),
    SEGMENTS_OF("top 2^16 of u32 2^20", top_k_work, 1 << 20, 0, 1 << 16, PARTIAL, NTH),
    SEGMENTS_OF("top 2^20 of u32 2^24", top_k_work, 1 << 24, 0, 1 << 20, NTH),
    SEGMENTS_OF("top 10 of segments of 1024, 2^22", top_k_work, 1 << 22, 1024, 10, PARTIAL_LOOP),
    SORT_OF("merge sort u32 2^20", merge_sort_work, false, 1 << 20, PARALLEL),
    SORT_OF("merge sort u32 2^24", merge_sort_work, false, 1 << 24, PARALLEL),
};

row_list sort_rows(void) { return (row_list){ .rows = rows, .count = COUNT_OF(rows) }; }
