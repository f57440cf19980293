/* test_sort.c - ndr_sort: each type, order, range of bits and size of values against a stable merge sort, and what it
 * refuses. */
#include "support.h"

#include "forcing.h"
#include "reference.h"
#include "sorted.h"
#include "device/context.h"
#include "ndr/ndr_ops.h"
#include "ops/sort/sort.h"

static const ndr_dtype dtypes[] = { NDR_DTYPE_I8,  NDR_DTYPE_U8,   NDR_DTYPE_I16, NDR_DTYPE_U16,
                                    NDR_DTYPE_I32, NDR_DTYPE_U32,  NDR_DTYPE_I64, NDR_DTYPE_U64,
                                    NDR_DTYPE_F16, NDR_DTYPE_BF16, NDR_DTYPE_F32, NDR_DTYPE_F64 };

/* NDR_TEST_SEED repeats a run; a failure prints it. */
static uint64_t seed;

typedef struct sorting {
    key_order order;
    size_t value_bytes, count, offset; /* elements before the keys; of the values one more */
    bool keys_in_place, values_in_place;
} sorting;

/* ---- one sort, with checks of everything around it ---- */

enum { GUARDS = 3, GUARD = 0xa5 };

/* `count` elements of that size in a buffer after `offset`, between guards. */
static ndr_buffer *guarded(const unsigned char *elements, size_t size, size_t offset, size_t count)
{
    const size_t bytes = (offset + count + GUARDS) * size;
    unsigned char *host = malloc(bytes);
    assert_non_null(host);
    memset(host, GUARD, bytes);
    if (elements) memcpy(host + offset * size, elements, count * size);
    ndr_buffer *made = buffer_of(bytes, host);
    free(host);
    return made;
}

static const char *describe(const sorting *s)
{
    static char text[200];
    snprintf(text, sizeof text, "%zu keys of %s from element %zu, bits %u to %u, %s%s, values of %zu bytes%s; "
             "NDR_TEST_SEED=%llu", s->count, ndr_dtype_name(s->order.dtype), s->offset, s->order.begin_bit, s->order.end_bit,
             s->order.is_descending ? "descending" : "ascending", s->keys_in_place ? ", in place" : "", s->value_bytes,
             s->values_in_place ? ", in place" : "", (unsigned long long)seed);
    return text;
}

/* Element k of what the buffer holds must be element order[k] of `elements`; those around are guards. */
static void check_elements(const sorting *s, ndr_buffer *buffer, const unsigned char *elements, const size_t *order,
                           size_t size, size_t offset, const char *what)
{
    const size_t bytes = (offset + s->count + GUARDS) * size;
    unsigned char *got = malloc(bytes);
    assert_non_null(got);
    read_buffer(buffer, got, bytes);
    for (size_t k = 0; k < offset + s->count + GUARDS; ++k) {
        const bool is_element = k >= offset && k < offset + s->count;
        bool is_right = !is_element || memcmp(got + k * size, elements + order[k - offset] * size, size) == 0;
        for (size_t b = 0; b < size && !is_element; ++b) is_right = is_right && got[k * size + b] == GUARD;
        if (is_right) continue;
        print_error("%s: %s %zu is wrong\n", describe(s), what, k);
        fail();
    }
    free(got);
}

/* Sort on the device, and compare. `order` is what the reference says. */
static void check_order(const sorting *s, const unsigned char *keys, const size_t *order)
{
    const size_t size = ndr_dtype_size(s->order.dtype), values_offset = s->offset + 1;
    unsigned char *values = malloc(s->count * s->value_bytes + 1);
    uint64_t state = seed ^ s->count;
    for (size_t i = 0; i < s->count * s->value_bytes; ++i) values[i] = (unsigned char)(random_bits(&state) >> 56);
    for (size_t i = 0; i < s->count && s->value_bytes >= 4; ++i) memcpy(values + i * s->value_bytes, &(uint32_t){ (uint32_t)i }, 4);
    ndr_buffer *in = guarded(keys, size, s->offset, s->count);
    ndr_buffer *out = s->keys_in_place ? in : guarded(NULL, size, s->offset + 2, s->count);
    ndr_buffer *values_in = NULL, *values_out = NULL;
    if (s->value_bytes) {
        values_in = guarded(values, s->value_bytes, values_offset, s->count);
        values_out = s->values_in_place ? values_in : guarded(NULL, s->value_bytes, 0, s->count);
    }
    const size_t out_offset = s->keys_in_place ? s->offset : s->offset + 2;
    const size_t values_out_offset = s->values_in_place ? values_offset : 0;
    const ndr_sort_desc desc = { .dtype = s->order.dtype,
                                 .value_bytes = s->value_bytes,
                                 .is_descending = s->order.is_descending,
                                 .begin_bit = s->order.begin_bit,
                                 .end_bit = s->order.end_bit,
                                 .keys = { in, s->offset },
                                 .values = { values_in, values_offset },
                                 .count = s->count,
                                 .sorted_keys = { out, out_offset },
                                 .sorted_values = { values_out, values_out_offset } };
    assert_ok(ndr_sort(queue, &desc, NULL));
    check_elements(s, out, keys, order, size, out_offset, "key");
    if (values_out) check_elements(s, values_out, values, order, s->value_bytes, values_out_offset, "value");
    size_t *same = malloc((s->count + 1) * sizeof *same);
    for (size_t i = 0; i < s->count; ++i) same[i] = i;
    if (!s->keys_in_place) check_elements(s, in, keys, same, size, s->offset, "input key");
    if (values_in && !s->values_in_place)
        check_elements(s, values_in, values, same, s->value_bytes, values_offset, "input value");
    free(same);
    if (values_out != values_in) ndr_buffer_destroy(values_out);
    if (out != in) ndr_buffer_destroy(out);
    destroy_buffers(values_in, in);
    free(values);
}

static void check(const sorting *s, const unsigned char *keys)
{
    size_t *order = sorted_indices(&s->order, keys, s->count);
    check_order(s, keys, order);
    free(order);
}

/* ---- against the reference ---- */

/* 0, 1, around a tile, a chunk and what one group sorts, and primes. */
static const size_t counts[] = { 0, 1, 2, 3, 63, 257, 512, 513, 1023, 1024, 1025, 2049, 4097, 8191, 16384, 16385, 32771, 100003 };
static const size_t quick_counts[] = { 0, 2, 300 };

static const size_t *counts_list(size_t *length)
{
    *length = quick() ? COUNT_OF(quick_counts) : COUNT_OF(counts);
    return quick() ? quick_counts : counts;
}

/* Of each width one type each day, and a third of the others, which are the same text. A forced variant and a simulator
 * have only the former. */
static bool is_tested(ndr_dtype dtype)
{
    const bool is_one = dtype == NDR_DTYPE_U8 || dtype == NDR_DTYPE_I16 || dtype == NDR_DTYPE_F32
                        || dtype == NDR_DTYPE_U64;
    return is_one || (!forced_variant && !quick() && takes_case(dtype, 5));
}

static void check_counts(ndr_dtype dtype)
{
    size_t length;
    if (!is_tested(dtype)) return;
    const size_t *list = counts_list(&length);
    for (size_t i = 0; i < length; ++i) {
        unsigned char *keys = keys_of(dtype, list[i], RANDOM, seed);
        if (dtype == NDR_DTYPE_U64 || dtype == NDR_DTYPE_I32)
            check(&(sorting){ .order.dtype = dtype, .count = list[i], .offset = i % 4 }, keys);
        check(&(sorting){ .order.dtype = dtype, .count = list[i], .offset = i % 4, .value_bytes = 4 }, keys);
        check(&(sorting){ .order.dtype = dtype, .count = list[i], .offset = i % 3, .order.is_descending = true, .value_bytes = 4 }, keys);
        free(keys);
    }
}

static void test_sort__agrees_with_a_merge_sort_of_any_count_for_8_and_16_bits(void **state)
{
    for (size_t t = 0; t < COUNT_OF(dtypes); ++t)
        if (ndr_dtype_size(dtypes[t]) <= 2) check_counts(dtypes[t]);
}

static void test_sort__agrees_with_a_merge_sort_of_any_count_for_32_bits(void **state)
{
    for (size_t t = 0; t < COUNT_OF(dtypes); ++t)
        if (ndr_dtype_size(dtypes[t]) == 4) check_counts(dtypes[t]);
}

static void test_sort__agrees_with_a_merge_sort_of_any_count_for_64_bits(void **state)
{
    for (size_t t = 0; t < COUNT_OF(dtypes); ++t)
        if (ndr_dtype_size(dtypes[t]) == 8) check_counts(dtypes[t]);
}

static void test_sort__keeps_the_order_of_equal_keys(void **state)
{
    const size_t list[] = { 200, 2048, 20011 };
    for (size_t i = 0; i < (quick() ? 1 : COUNT_OF(list)); ++i)
        for (int which = FEW; which < (quick() ? EQUAL : PATTERNS); ++which)
            for (int descending = 0; descending < 2; ++descending) {
                unsigned char *keys = keys_of(NDR_DTYPE_U32, list[i], (key_pattern)which, seed);
                check(&(sorting){ .order.dtype = NDR_DTYPE_U32, .value_bytes = 8, .count = list[i],
                                  .order.is_descending = descending }, keys);
                free(keys);
            }
}

static void test_sort__moves_values_of_any_size(void **state)
{
    const size_t sizes[] = { 1, 2, 3, 4, 5, 8, 12, 16, 24, 40, 100 };
    const size_t list[] = { 100, 2049, 17001 };
    for (size_t i = 0; i < (quick() ? 1 : COUNT_OF(list)); ++i) {
        unsigned char *keys = keys_of(NDR_DTYPE_I16, list[i], RANDOM, seed);
        for (size_t v = 0; v < (quick() ? 4 : COUNT_OF(sizes)); ++v)
            check(&(sorting){ .order.dtype = NDR_DTYPE_I16, .value_bytes = sizes[v], .count = list[i], .offset = v }, keys);
        free(keys);
    }
}

static void test_sort__in_place_gives_the_same(void **state)
{
    const ndr_dtype some[] = { NDR_DTYPE_U8, NDR_DTYPE_U16, NDR_DTYPE_F32 };
    const size_t list[] = { 1, 200, 30011 };
    for (size_t i = 0; i < (quick() ? 2 : COUNT_OF(list)); ++i)
        for (size_t t = 0; t < (quick() ? 1 : COUNT_OF(some)); ++t)
            for (unsigned which = 0; which < 4; ++which) {
                unsigned char *keys = keys_of(some[t], list[i], RANDOM, seed);
                check(&(sorting){ .order.dtype = some[t], .count = list[i], .offset = 1, .value_bytes = which ? 6 : 4,
                                  .keys_in_place = which != 2, .values_in_place = which >= 2 }, keys);
                free(keys);
            }
}

static void test_sort__of_many_keys_counts_in_64_bits(void **state)
{
    const ndr_dtype some[] = { NDR_DTYPE_U16, NDR_DTYPE_U64 };
    const size_t before = ndr_sort_large_count, count = quick() ? 300 : 30011;
    ndr_sort_large_count = 1;
    for (size_t t = 0; t < COUNT_OF(some); ++t) {
        unsigned char *keys = keys_of(some[t], count, RANDOM, seed);
        check(&(sorting){ .order.dtype = some[t], .count = count, .offset = t, .value_bytes = 8 * t }, keys);
        free(keys);
    }
    ndr_sort_large_count = before;
}

static void test_sort__compares_only_the_bits_that_are_asked_for(void **state)
{
    const struct {
        ndr_dtype dtype;
        unsigned begin, end;
    } ranges[] = { { NDR_DTYPE_U32, 0, 1 },   { NDR_DTYPE_U32, 31, 32 }, { NDR_DTYPE_U32, 3, 20 }, { NDR_DTYPE_U32, 8, 24 },
                   { NDR_DTYPE_I32, 24, 32 }, { NDR_DTYPE_I32, 5, 14 },  { NDR_DTYPE_U8, 2, 5 },   { NDR_DTYPE_I8, 7, 8 },
                   { NDR_DTYPE_U64, 60, 64 }, { NDR_DTYPE_I64, 1, 64 },  { NDR_DTYPE_U16, 4, 13 } };
    const size_t list[] = { 200, 20011 };
    for (size_t i = 0; i < (quick() ? 1 : COUNT_OF(list)); ++i)
        for (size_t r = 0; r < COUNT_OF(ranges); r += quick() ? 4 : 1) {
            if (!takes_case(r, 5)) continue;
            unsigned char *keys = keys_of(ranges[r].dtype, list[i], RANDOM, seed);
            sorting s = { .order.dtype = ranges[r].dtype, .value_bytes = 4, .count = list[i],
                          .order.is_descending = r % 2, .order.begin_bit = ranges[r].begin, .order.end_bit = ranges[r].end };
            check(&s, keys);
            s.keys_in_place = s.values_in_place = true;
            check(&s, keys);
            free(keys);
        }
}

/* ---- floats ---- */

/* The bits of f16, bf16, f32 and f64 in their order; those in one row are equal. */
static const uint64_t float_ranks[][4][4] = {
    { { 0xfc00, 0xff80, 0xff800000, 0xfff0000000000000 } }, /* -infinity */
    { { 0xfbff, 0xff7f, 0xff7fffff, 0xffefffffffffffff } }, /* the least */
    { { 0xbc00, 0xbf80, 0xbf800000, 0xbff0000000000000 } }, /* -1 */
    { { 0x8400, 0x8080, 0x80800000, 0x8010000000000000 } }, /* normal */
    { { 0x8001, 0x8001, 0x80000001, 0x8000000000000001 } }, /* denormal */
    { { 0x0000, 0x0000, 0x00000000, 0x0000000000000000 },   /* 0, -0 */
      { 0x8000, 0x8000, 0x80000000, 0x8000000000000000 } },
    { { 0x0001, 0x0001, 0x00000001, 0x0000000000000001 } },
    { { 0x0400, 0x0080, 0x00800000, 0x0010000000000000 } },
    { { 0x3c00, 0x3f80, 0x3f800000, 0x3ff0000000000000 } },
    { { 0x7bff, 0x7f7f, 0x7f7fffff, 0x7fefffffffffffff } },
    { { 0x7c00, 0x7f80, 0x7f800000, 0x7ff0000000000000 } }, /* infinity */
    { { 0x7e00, 0x7fc0, 0x7fc00000, 0x7ff8000000000000 },
      { 0xfe00, 0xffc0, 0xffc00000, 0xfff8000000000000 }, /* NaN */
      { 0x7c01, 0x7f81, 0x7f800001, 0x7ff0000000000001 },
      { 0xffff, 0xffff, 0xffffffff, 0xffffffffffffffff } },
};

static unsigned equal_to(size_t rank) { return rank == 5 ? 2 : rank == COUNT_OF(float_ranks) - 1 ? 4 : 1; }

/* Known answers, without the reference: the keys have ranks, and elements of one rank keep their order. */
static void check_floats(ndr_dtype dtype, unsigned type, size_t count, bool is_descending)
{
    const size_t size = ndr_dtype_size(dtype), ranks = COUNT_OF(float_ranks);
    unsigned char *keys = malloc(count * size), *rank = malloc(count);
    size_t *order = malloc(count * sizeof *order), filled = 0;
    uint64_t state = seed;
    for (size_t i = 0; i < count; ++i) {
        rank[i] = (unsigned char)(random_bits(&state) % ranks);
        memcpy(keys + i * size, &float_ranks[rank[i]][random_bits(&state) % equal_to(rank[i])][type], size);
    }
    for (size_t r = 0; r < ranks; ++r)
        for (size_t i = 0; i < count; ++i)
            if (rank[i] == (is_descending ? ranks - 1 - r : r)) order[filled++] = i;
    check_order(&(sorting){ .order.dtype = dtype, .value_bytes = 4, .count = count, .order.is_descending = is_descending }, keys,
                order);
    free(keys), free(rank), free(order);
}

static void test_sort__puts_nan_behind_all_numbers_and_keeps_its_bits(void **state)
{
    const ndr_dtype floats[] = { NDR_DTYPE_F16, NDR_DTYPE_BF16, NDR_DTYPE_F32, NDR_DTYPE_F64 };
    const size_t list[] = { 200, 20011 };
    for (size_t i = 0; i < (quick() ? 1 : COUNT_OF(list)); ++i)
        for (unsigned type = quick(); type < COUNT_OF(floats) - quick(); ++type)
            for (int descending = 0; descending < 2; ++descending)
                check_floats(floats[type], type, list[i], descending);
}

/* ---- any request ---- */

static void test_sort__of_generated_requests_agrees_with_a_merge_sort(void **state)
{
    for (unsigned turn = 0; turn < (quick() ? 2 : forced_variant ? 15 : 40); ++turn) {
        if (!takes_case(turn, 5)) continue;
        uint64_t random = seed + turn;
        sorting s = { .order.dtype = dtypes[random_bits(&random) % COUNT_OF(dtypes)] };
        const unsigned width = 8 * (unsigned)ndr_dtype_size(s.order.dtype);
        s.count = random_below(&random, (size_t)1 << random_below(&random, quick() ? 9 : 17));
        s.offset = random_below(&random, 9);
        s.value_bytes = random_bits(&random) % 3 ? random_below(&random, 20) : 0;
        s.order.is_descending = random_bits(&random) % 2;
        s.keys_in_place = random_bits(&random) % 2;
        s.values_in_place = random_bits(&random) % 2;
        if (random_bits(&random) % 2 && s.order.dtype < NDR_DTYPE_F32) {
            s.order.begin_bit = (unsigned)(random_bits(&random) % width);
            s.order.end_bit = s.order.begin_bit + 1 + (unsigned)(random_bits(&random) % (width - s.order.begin_bit));
        }
        unsigned char *keys = keys_of(s.order.dtype, s.count, (key_pattern)(random_bits(&random) % PATTERNS), seed);
        check(&s, keys);
        free(keys);
    }
}

/* ---- where loops end early ---- */

/* Groups of one item have so many tiles that llvmpipe would end the loops over their counts. Every driver avoids the fault
 * here. */
static void test_sort__of_many_tiles_is_right_where_loops_end_early(void **state)
{
    enum { COUNT = 1300003 };
    ndr_caps *const caps = &context->caps;
    const uint64_t quirks = caps->quirks;
    const size_t most = caps->info.max_group_size;
    skip_without(!is_simulated(), "a simulator takes minutes");
    unsigned char *keys = keys_of(NDR_DTYPE_U8, COUNT, RANDOM, seed);
    caps->quirks |= NDR_QUIRK_BIT(NDR_QUIRK_LOOPS_END_EARLY);
    caps->info.max_group_size = 1;
    force(&ndr_sort_operation, "tiles");
    check(&(sorting){ .order.dtype = NDR_DTYPE_U8, .count = COUNT, .offset = 1 }, keys);
    force(&ndr_sort_operation, NULL);
    caps->info.max_group_size = most;
    caps->quirks = quirks;
    free(keys);
}

static void test_sort__refuses_values_that_are_too_long_where_loops_end_early(void **state)
{
    enum { COUNT = 3, LONG = 70001 };
    const uint64_t quirks = context->caps.quirks;
    ndr_buffer *keys = buffer_of(COUNT, NULL), *sorted = buffer_of(COUNT, NULL);
    ndr_buffer *values = buffer_of(COUNT * LONG, NULL), *sorted_values = buffer_of(COUNT * LONG, NULL);
    ndr_sort_desc d = { .dtype = NDR_DTYPE_U8, .value_bytes = LONG, .count = COUNT, .keys.buffer = keys,
                        .values.buffer = values, .sorted_keys.buffer = sorted, .sorted_values.buffer = sorted_values };
    context->caps.quirks |= NDR_QUIRK_BIT(NDR_QUIRK_LOOPS_END_EARLY);
    force(&ndr_sort_operation, "tiles");
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_sort(queue, &d, NULL), "ndr_sort: value_bytes is 70001, but the driver of",
                   "loops_end_early", "use at most ", "sort indexes in place of the values");
    force(&ndr_sort_operation, "one_tile");
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_sort(queue, &d, NULL), "ndr_sort: value_bytes is 70001", "use at most ");
    force(&ndr_sort_operation, "tiles");
    d.value_bytes = 60000; /* words of 16 bytes */
    assert_ok(ndr_sort(queue, &d, NULL));
    assert_ok(ndr_queue_finish(queue));
    force(&ndr_sort_operation, NULL);
    context->caps.quirks = quirks;
    destroy_buffers(keys, sorted, values, sorted_values);
}

/* ---- on the queue ---- */

static void test_sort__gives_an_event_and_sees_what_the_queue_did_before(void **state)
{
    const size_t count = quick() ? 300 : 20000;
    uint32_t *host = malloc(count * sizeof *host);
    for (size_t i = 0; i < count; ++i) host[i] = (uint32_t)(count - i);
    ndr_buffer *keys = buffer_of(count * sizeof *host, NULL);
    ndr_event *event = NULL;
    assert_ok(ndr_buffer_write(queue, keys, 0, count * sizeof *host, host, NULL));
    const ndr_sort_desc desc = { .dtype = NDR_DTYPE_U32, .keys = { keys, 0 }, .count = count, .sorted_keys = { keys, 0 } };
    assert_ok(ndr_sort(queue, &desc, &event));
    assert_ok(ndr_event_wait(event));
    ndr_event_destroy(event);
    take_buffer(keys, host, count * sizeof *host);
    for (size_t i = 0; i < count; ++i) assert_int_equal(host[i], i + 1);
    free(host);
}

static void test_sort__of_nothing_needs_no_buffers(void **state)
{
    ndr_event *event = NULL;
    assert_ok(ndr_sort(queue, &(ndr_sort_desc){ .dtype = NDR_DTYPE_F32, .value_bytes = 4 }, &event));
    assert_ok(ndr_event_wait(event));
    ndr_event_destroy(event);
}

/* ---- refusals ---- */

enum { HELD = 8 };

typedef struct bench {
    ndr_buffer *keys, *values, *sorted_keys, *sorted_values;
    ndr_sort_desc desc; /* of five elements from element 1 on */
} bench;

static bench bench_of(void)
{
    static const uint32_t host[HELD] = { 90, 5, 4, 3, 2, 1, 91, 92 };
    bench b = { buffer_of(sizeof host, host), buffer_of(sizeof host, host), buffer_of(sizeof host, host),
                buffer_of(sizeof host, host), { .dtype = NDR_DTYPE_U32, .value_bytes = 4, .count = 5 } };
    b.desc.keys = (ndr_span){ b.keys, 1 };
    b.desc.values = (ndr_span){ b.values, 1 };
    b.desc.sorted_keys = (ndr_span){ b.sorted_keys, 1 };
    b.desc.sorted_values = (ndr_span){ b.sorted_values, 1 };
    return b;
}

/* Nothing was written so far, and the same objects still work. */
static void close_bench(bench *b)
{
    uint32_t got[HELD];
    read_buffer(b->sorted_keys, got, sizeof got);
    assert_memory_equal(got, ((const uint32_t[]){ 90, 5, 4, 3, 2, 1, 91, 92 }), sizeof got);
    assert_ok(ndr_sort(queue, &b->desc, NULL));
    read_buffer(b->sorted_keys, got, sizeof got);
    assert_memory_equal(got, ((const uint32_t[]){ 90, 1, 2, 3, 4, 5, 91, 92 }), sizeof got);
    read_buffer(b->sorted_values, got, sizeof got);
    assert_memory_equal(got, ((const uint32_t[]){ 90, 1, 2, 3, 4, 5, 91, 92 }), sizeof got);
    destroy_buffers(b->keys, b->values, b->sorted_keys, b->sorted_values);
}

#define assert_sort_refused(status, desc, ...) assert_refused(status, ndr_sort(queue, desc, NULL), "ndr_sort: ", __VA_ARGS__)

static void test_sort__refuses_what_is_missing(void **state)
{
    bench b = bench_of();
    ndr_sort_desc desc = b.desc;
    assert_refused(NDR_BAD_ARGUMENT, ndr_sort((ndr_queue *)NULL, &desc, NULL), "ndr_sort: queue is NULL");
    assert_sort_refused(NDR_BAD_ARGUMENT, NULL, "desc is NULL");
    desc.dtype = NDR_DTYPE_NONE;
    assert_sort_refused(NDR_BAD_ARGUMENT, &desc, "dtype is not set");
    desc.dtype = (ndr_dtype)(NDR_DTYPE_BF16 + 1);
    assert_sort_refused(NDR_BAD_ARGUMENT, &desc, "dtype is not valid");
    desc = b.desc;
    ndr_span *const spans[] = { &desc.keys, &desc.values, &desc.sorted_keys, &desc.sorted_values };
    const char *const names[] = { "keys", "values", "sorted_keys", "sorted_values" };
    for (size_t i = 0; i < 4; ++i) {
        desc = b.desc;
        spans[i]->buffer = NULL;
        assert_sort_refused(NDR_BAD_ARGUMENT, &desc, names[i], "has no buffer");
        desc = b.desc;
        spans[i]->offset = 4;
        assert_sort_refused(NDR_OUT_OF_BOUNDS, &desc, names[i], "is 5 elements from element 4", "holds 8");
        spans[i]->offset = SIZE_MAX - 1;
        assert_sort_refused(NDR_OUT_OF_BOUNDS, &desc, names[i], "holds 8");
    }
    desc = b.desc;
    desc.count = SIZE_MAX;
    assert_sort_refused(NDR_OUT_OF_BOUNDS, &desc, "keys is", "holds 8");
    desc = b.desc;
    desc.value_bytes = SIZE_MAX;
    if (SIZE_MAX > UINT32_MAX) assert_sort_refused(NDR_BAD_ARGUMENT, &desc, "value_bytes is", "use at most 4294967295");
    close_bench(&b);
}

static void test_sort__refuses_bits_that_keys_do_not_have(void **state)
{
    bench b = bench_of();
    ndr_sort_desc desc = b.desc;
    desc.end_bit = 33;
    assert_sort_refused(NDR_BAD_ARGUMENT, &desc, "end_bit is 33", "u32 has 32 bits; use at most 32");
    desc.end_bit = 7, desc.begin_bit = 7;
    assert_sort_refused(NDR_BAD_ARGUMENT, &desc, "begin_bit is 7, and end_bit 7; begin_bit must be lower");
    desc.end_bit = 0, desc.begin_bit = 32;
    assert_sort_refused(NDR_BAD_ARGUMENT, &desc, "begin_bit is 32, and end_bit 32");
    close_bench(&b);
}

static void test_sort__refuses_outputs_that_overlap(void **state)
{
    bench b = bench_of();
    ndr_sort_desc desc = b.desc;
    desc.sorted_keys = (ndr_span){ b.keys, 2 };
    assert_sort_refused(NDR_BAD_ARGUMENT, &desc, "sorted_keys, elements 2 to 6, overlaps keys, elements 1 to 5");
    desc.sorted_keys = (ndr_span){ b.values, 1 };
    assert_sort_refused(NDR_BAD_ARGUMENT, &desc, "sorted_keys", "overlaps values");
    desc = b.desc;
    desc.sorted_values = (ndr_span){ b.values, 0 };
    assert_sort_refused(NDR_BAD_ARGUMENT, &desc, "sorted_values", "overlaps values");
    desc.sorted_values = (ndr_span){ b.keys, 1 };
    assert_sort_refused(NDR_BAD_ARGUMENT, &desc, "sorted_values", "overlaps keys");
    desc.sorted_values = (ndr_span){ b.sorted_keys, 3 };
    assert_sort_refused(NDR_BAD_ARGUMENT, &desc, "sorted_values", "overlaps sorted_keys");
    close_bench(&b);
}

static void test_sort__says_what_it_would_run(void **state)
{
    char text[512];
    assert_ok(ndr_sort_explain(context, &(ndr_sort_desc){ .dtype = NDR_DTYPE_U32, .count = 1 << 20 }, sizeof text, text,
                               NULL));
    assert_non_null(strstr(text, "; not "));
    assert_refused(NDR_BAD_ARGUMENT, ndr_sort_explain(context, &(ndr_sort_desc){ 0 }, 0, NULL, NULL), "dtype is not set");
}

/* ---- every variant, whatever this device would choose ---- */

static bool is_chosen(const ndr_op_variant *variant)
{
    const size_t list[] = { 100, 1 << 20 };
    for (size_t i = 0; i < COUNT_OF(list); ++i) {
        const ndr_sort_request request = { .dtype = NDR_DTYPE_U32, .bits = 32, .count = list[i] };
        if (ndr_op_select(&ndr_sort_operation, &context->caps, 0, NULL, &request) == variant) return true;
    }
    return false;
}

/* The tests that each variant runs. */
#define RESULTS \
    cmocka_unit_test(test_sort__agrees_with_a_merge_sort_of_any_count_for_8_and_16_bits), \
    cmocka_unit_test(test_sort__agrees_with_a_merge_sort_of_any_count_for_32_bits), \
    cmocka_unit_test(test_sort__agrees_with_a_merge_sort_of_any_count_for_64_bits), \
    cmocka_unit_test(test_sort__keeps_the_order_of_equal_keys), \
    cmocka_unit_test(test_sort__moves_values_of_any_size), \
    cmocka_unit_test(test_sort__in_place_gives_the_same), \
    cmocka_unit_test(test_sort__of_many_keys_counts_in_64_bits), \
    cmocka_unit_test(test_sort__compares_only_the_bits_that_are_asked_for), \
    cmocka_unit_test(test_sort__puts_nan_behind_all_numbers_and_keeps_its_bits), \
    cmocka_unit_test(test_sort__of_generated_requests_agrees_with_a_merge_sort)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESULTS,
        cmocka_unit_test(test_sort__of_many_tiles_is_right_where_loops_end_early),
        cmocka_unit_test(test_sort__refuses_values_that_are_too_long_where_loops_end_early),
        cmocka_unit_test(test_sort__gives_an_event_and_sees_what_the_queue_did_before),
        cmocka_unit_test(test_sort__of_nothing_needs_no_buffers),
        cmocka_unit_test(test_sort__refuses_what_is_missing),
        cmocka_unit_test(test_sort__refuses_bits_that_keys_do_not_have),
        cmocka_unit_test(test_sort__refuses_outputs_that_overlap),
        cmocka_unit_test(test_sort__says_what_it_would_run),
    };
    const struct CMUnitTest results[] = { RESULTS };
    seed = number_from_env("NDR_TEST_SEED", 20261123);
    print_message("NDR_TEST_SEED=%llu\n", (unsigned long long)seed);
    return run_variants(&ndr_sort_operation,
                        &(variant_tests){ tests, results, COUNT_OF(tests), COUNT_OF(results), is_chosen });
}
