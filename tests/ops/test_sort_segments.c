/* test_sort_segments.c - ndr_sort() of segments: each against a stable merge sort, and what it refuses. */
#include "support.h"

#include <inttypes.h>

#include "forcing.h"
#include "reference.h"
#include "sorted.h"
#include "device/context.h"
#include "ndr/ndr_ops.h"
#include "ops/sort/sort.h"

/* NDR_TEST_SEED repeats a run; a failure prints it. */
static uint64_t seed;

/* ---- segments ---- */

/* begins[s] to begins[s + 1] - 1 is segment s. length 0: by offsets. */
typedef struct segmentation {
    size_t count, length, segments;
    uint64_t *begins;
} segmentation;

/* The next one begins so many elements later. */
static void add_segment(segmentation *in, uint64_t keys)
{
    in->begins = realloc(in->begins, (in->segments + 2) * sizeof *in->begins);
    assert_non_null(in->begins);
    in->begins[in->segments + 1] = in->begins[in->segments] + keys;
    ++in->segments;
}

static segmentation begin_segments(size_t first)
{
    segmentation made = { .begins = malloc(sizeof *made.begins) };
    assert_non_null(made.begins);
    made.begins[0] = first;
    return made;
}

static segmentation by_length(size_t count, size_t length)
{
    segmentation made = begin_segments(0);
    made.count = count, made.length = length;
    for (size_t at = 0; at < count; at += length) add_segment(&made, length < count - at ? length : count - at);
    return made;
}

/* Mostly short, mostly empty, or of all lengths; perhaps not from the first element on, nor up to the last one, or with the
 * last offsets past it. */
static segmentation by_offsets(size_t count, uint64_t *random)
{
    const size_t gap = random_bits(random) % 2 ? random_below(random, count / 4 + 2) : 0;
    const size_t most = (size_t)1 << random_below(random, quick() ? 8 : 16);
    const bool has_huge = random_bits(random) % 2, is_all = random_bits(random) % 2;
    segmentation made = begin_segments(gap);
    made.count = count;
    while (made.begins[made.segments] < count) {
        const size_t left = count - (size_t)made.begins[made.segments];
        size_t keys = random_bits(random) % 4 == 0 ? 0 : random_below(random, most + 1);
        if (has_huge && random_bits(random) % 64 == 0) keys = left / 2;
        if (keys > left && (random_bits(random) % 2 || is_all)) keys = left;
        if (!is_all && random_bits(random) % (made.segments + 4) == 0) break;
        add_segment(&made, keys);
    }
    return made;
}

/* Of the segments, the part inside the array. */
static size_t begin_of(const segmentation *in, size_t s)
{
    return in->begins[s] < in->count ? (size_t)in->begins[s] : in->count;
}

/* ---- one sort, with checks of everything around it ---- */

enum { GUARDS = 3, GUARD = 0xa5 };

typedef struct sorting {
    key_order order;
    size_t value_bytes, offset;
    bool in_place;
} sorting;

static const char *describe(const sorting *s, const segmentation *in)
{
    static char text[200];
    snprintf(text, sizeof text,
             "%zu keys of %s from element %zu in %zu segments, length %zu, bits %u to %u, %s%s, values of %zu bytes; "
             "NDR_TEST_SEED=%" PRIu64,
             in->count, ndr_dtype_name(s->order.dtype), s->offset, in->segments, in->length, s->order.begin_bit,
             s->order.end_bit, s->order.is_descending ? "descending" : "ascending", s->in_place ? ", in place" : "",
             s->value_bytes, seed);
    return text;
}

/* Elements between guards; NULL: guards alone. */
static unsigned char *guarded(const unsigned char *elements, size_t size, size_t offset, size_t count)
{
    unsigned char *host = malloc((offset + count + GUARDS) * size + 1);
    assert_non_null(host);
    memset(host, GUARD, (offset + count + GUARDS) * size);
    if (elements) memcpy(host + offset * size, elements, count * size);
    return host;
}

static void check_elements(const sorting *s, const segmentation *in, ndr_buffer *buffer, const unsigned char *wanted,
                           size_t size, size_t offset, const char *what)
{
    const size_t all = offset + in->count + GUARDS;
    unsigned char *got = malloc(all * size);
    assert_non_null(got);
    read_buffer(buffer, got, all * size);
    for (size_t k = 0; k < all; ++k) {
        if (memcmp(got + k * size, wanted + k * size, size) == 0) continue;
        print_error("%s: %s %zu is wrong\n", describe(s, in), what, k - offset);
        fail();
    }
    free(got);
}

/* What each output should hold: sorted segments, and the rest as it was. */
static void sort_plainly(const sorting *s, const segmentation *in, const unsigned char *keys, const unsigned char *values,
                         unsigned char *sorted_keys, unsigned char *sorted_values)
{
    const size_t size = ndr_dtype_size(s->order.dtype), bytes = s->value_bytes;
    for (size_t g = 0; g < in->segments; ++g) {
        const size_t begin = begin_of(in, g), count = begin_of(in, g + 1) - begin;
        size_t *order = sorted_indices(&s->order, keys + begin * size, count);
        for (size_t k = 0; k < count; ++k) {
            memcpy(sorted_keys + (begin + k) * size, keys + (begin + order[k]) * size, size);
            memcpy(sorted_values + (begin + k) * bytes, values + (begin + order[k]) * bytes, bytes);
        }
        free(order);
    }
}

static void check(const sorting *s, const segmentation *in, const unsigned char *keys)
{
    const size_t size = ndr_dtype_size(s->order.dtype), count = in->count, bytes = s->value_bytes;
    const size_t key_bytes = (s->offset + count + GUARDS) * size, value_bytes = (s->offset + count + GUARDS) * bytes;
    unsigned char *values = malloc(count * bytes + 1);
    uint64_t state = seed ^ count;
    for (size_t i = 0; i < count * bytes; ++i) values[i] = (unsigned char)(random_bits(&state) >> 56);
    unsigned char *in_keys = guarded(keys, size, s->offset, count), *in_values = guarded(values, bytes, s->offset, count);
    unsigned char *out_keys = guarded(s->in_place ? keys : NULL, size, s->offset, count);
    unsigned char *out_values = guarded(s->in_place ? values : NULL, bytes, s->offset, count);
    ndr_buffer *offsets = in->length ? NULL : buffer_of((in->segments + 2) * sizeof(uint64_t), NULL);
    if (offsets)
        assert_ok(ndr_buffer_write(queue, offsets, sizeof(uint64_t), (in->segments + 1) * sizeof(uint64_t), in->begins,
                                   NULL));
    ndr_buffer *k = buffer_of(key_bytes, in_keys), *k_out = s->in_place ? k : buffer_of(key_bytes, out_keys);
    ndr_buffer *v = bytes ? buffer_of(value_bytes, in_values) : NULL;
    ndr_buffer *v_out = !bytes || s->in_place ? v : buffer_of(value_bytes, out_values);
    const ndr_sort_desc desc = { .dtype = s->order.dtype,
                                 .value_bytes = bytes,
                                 .is_descending = s->order.is_descending,
                                 .begin_bit = s->order.begin_bit,
                                 .end_bit = s->order.end_bit,
                                 .keys = { k, s->offset },
                                 .values = { v, s->offset },
                                 .count = count,
                                 .sorted_keys = { k_out, s->offset },
                                 .sorted_values = { v_out, s->offset },
                                 .length = in->length,
                                 .offsets = { offsets, offsets ? 1 : 0 },
                                 .segments = offsets ? in->segments : 0 };
    assert_ok(ndr_sort(queue, &desc, NULL));
    sort_plainly(s, in, keys, values, out_keys + s->offset * size, out_values + s->offset * bytes);
    check_elements(s, in, k_out, out_keys, size, s->offset, "key");
    if (bytes) check_elements(s, in, v_out, out_values, bytes, s->offset, "value");
    if (!s->in_place) check_elements(s, in, k, in_keys, size, s->offset, "input key");
    if (!s->in_place && bytes) check_elements(s, in, v, in_values, bytes, s->offset, "input value");
    if (v_out != v) ndr_buffer_destroy(v_out);
    if (k_out != k) ndr_buffer_destroy(k_out);
    ndr_buffer_destroy(k), ndr_buffer_destroy(v), ndr_buffer_destroy(offsets);
    free(values), free(in_keys), free(in_values), free(out_keys), free(out_values);
}

/* ---- results ---- */

/* 1, around what is sorted by insertion, around a tile, a window of either kind and a chunk, and primes. */
static void test_sort_segments__of_equal_length_are_sorted_each_by_itself(void **state)
{
    const size_t lengths[] = { 1, 2, 31, 32, 33, 127, 1000, 1023, 1919, 1920, 1921, 3840, 3841, 4096, 4097, 8192, 20011 };
    const size_t counts[] = { 300, 4097, 40009 };
    for (size_t i = 0; i < (quick() ? 2 : COUNT_OF(lengths)); ++i)
        for (size_t c = 0; c < (quick() ? 1 : COUNT_OF(counts)); ++c) {
            const ndr_dtype dtype = i % 2 ? NDR_DTYPE_F32 : NDR_DTYPE_U32;
            segmentation in = by_length(counts[c], lengths[i]);
            unsigned char *keys = keys_of(dtype, counts[c], RANDOM, seed);
            check(&(sorting){ .order = { .dtype = dtype, .is_descending = i % 3 == 0 },
                              .value_bytes = c % 2 ? 0 : 4,
                              .offset = i % 4,
                              .in_place = (i + c) % 2 },
                  &in, keys);
            free(keys), free(in.begins);
        }
}

/* One of everything else, and empty ones on both sides. */
static void test_sort_segments__may_be_one_huge_and_many_tiny_ones(void **state)
{
    const size_t count = quick() ? 4001 : 60013; /* so that one is long */
    const ndr_dtype dtype = quick() ? NDR_DTYPE_U8 : NDR_DTYPE_U64;
    for (size_t place = 0; place < (quick() ? 1 : 3); ++place) {
        segmentation in = begin_segments(0);
        uint64_t random = seed + place;
        const size_t before = place * count / 8, huge = count / 2 + 1;
        in.count = count;
        while (in.begins[in.segments] < before) add_segment(&in, random_below(&random, 5));
        add_segment(&in, huge);
        for (int i = 0; i < 1000; ++i) add_segment(&in, 0);
        while (in.begins[in.segments] < count) add_segment(&in, random_below(&random, 40));
        unsigned char *keys = keys_of(dtype, count, place == 1 ? FEW : RANDOM, seed);
        check(&(sorting){ .order.dtype = dtype, .value_bytes = 12, .in_place = place == 2 }, &in, keys);
        free(keys), free(in.begins);
    }
}

static void test_sort_segments__leave_elements_outside_as_they_are(void **state)
{
    const size_t count = quick() ? 300 : 30011;
    for (int in_place = 0; in_place < 2; ++in_place) {
        segmentation in = begin_segments(count / 3);
        in.count = count;
        add_segment(&in, 0), add_segment(&in, count / 5), add_segment(&in, 7);
        unsigned char *keys = keys_of(NDR_DTYPE_I16, count, RANDOM, seed);
        check(&(sorting){ .order.dtype = NDR_DTYPE_I16, .value_bytes = 2, .offset = 3, .in_place = in_place }, &in, keys);
        in.segments = 1; /* an empty one alone */
        check(&(sorting){ .order.dtype = NDR_DTYPE_I16, .value_bytes = 2, .in_place = in_place }, &in, keys);
        free(keys), free(in.begins);
    }
}

static void test_sort_segments__of_nothing_store_nothing(void **state)
{
    unsigned char *keys = keys_of(NDR_DTYPE_U8, 100, RANDOM, seed);
    segmentation none = begin_segments(0);
    none.count = 100;
    check(&(sorting){ .order.dtype = NDR_DTYPE_U8, .value_bytes = 1 }, &none, keys);
    none.count = 0;
    add_segment(&none, 5);
    check(&(sorting){ .order.dtype = NDR_DTYPE_U8, .value_bytes = 1 }, &none, keys);
    free(keys), free(none.begins);
}

/* Where nothing is promised, nothing is written outside the output, and the call ends. */
static void test_sort_segments__with_offsets_out_of_order_stay_in_the_array(void **state)
{
    const size_t count = quick() ? 300 : 30011, segments = quick() ? 9 : 200;
    uint64_t random = seed, *offsets = malloc((segments + 1) * sizeof *offsets);
    for (size_t i = 0; i <= segments; ++i)
        offsets[i] = random_bits(&random) % 8 ? random_below(&random, count) : random_bits(&random);
    uint32_t *host = malloc((count + 2) * sizeof *host);
    for (size_t i = 0; i < count + 2; ++i) host[i] = (uint32_t)random_bits(&random) | 1;
    host[0] = host[count + 1] = 0;
    ndr_buffer *keys = buffer_of((count + 2) * sizeof *host, host);
    ndr_buffer *list = buffer_of((segments + 1) * sizeof *offsets, offsets);
    const ndr_sort_desc desc = { .dtype = NDR_DTYPE_U32,
                                 .keys = { keys, 1 },
                                 .count = count,
                                 .sorted_keys = { keys, 1 },
                                 .offsets = { list, 0 },
                                 .segments = segments };
    assert_ok(ndr_sort(queue, &desc, NULL));
    read_buffer(keys, host, (count + 2) * sizeof *host);
    assert_int_equal(host[0], 0);
    assert_int_equal(host[count + 1], 0);
    ndr_buffer_destroy(keys), ndr_buffer_destroy(list);
    free(host), free(offsets);
}

static void test_sort_segments__of_generated_requests_agree_with_a_merge_sort(void **state)
{
    const ndr_dtype dtypes[] = { NDR_DTYPE_I8,  NDR_DTYPE_U16, NDR_DTYPE_I32, NDR_DTYPE_U32,
                                 NDR_DTYPE_I64, NDR_DTYPE_F16, NDR_DTYPE_BF16, NDR_DTYPE_F32, NDR_DTYPE_F64 };
    const size_t value_bytes[] = { 0, 1, 4, 6, 8, 16, 24 };
    uint64_t random = seed;
    for (unsigned turn = 0; turn < (quick() ? 3 : forced_variant ? 12 : 24); ++turn) {
        const ndr_dtype dtype = dtypes[random_below(&random, COUNT_OF(dtypes))];
        const size_t count = random_below(&random, (size_t)1 << random_below(&random, quick() ? 9 : 17));
        const unsigned width = 8 * (unsigned)ndr_dtype_size(dtype);
        sorting s = { .order = { .dtype = dtype, .is_descending = random_bits(&random) % 2 },
                      .value_bytes = value_bytes[random_below(&random, COUNT_OF(value_bytes))],
                      .offset = random_below(&random, 5),
                      .in_place = random_bits(&random) % 2 };
        if (dtype < NDR_DTYPE_F32 && random_bits(&random) % 3 == 0) {
            s.order.begin_bit = (unsigned)random_below(&random, width);
            s.order.end_bit = s.order.begin_bit + 1 + (unsigned)random_below(&random, width - s.order.begin_bit);
        }
        segmentation in = random_bits(&random) % 3 ? by_offsets(count, &random)
                                                   : by_length(count, 1 + random_below(&random, count + 1));
        unsigned char *keys = keys_of(dtype, count, (key_pattern)random_below(&random, PATTERNS), random);
        check(&s, &in, keys);
        free(keys), free(in.begins);
    }
}

/* ---- refusals ---- */

static void test_sort_segments__refuse_what_does_not_fit(void **state)
{
    const uint64_t host[4] = { 0, 2, 3, 5 };
    const uint32_t five[10] = { 0 };
    ndr_buffer *keys = buffer_of(sizeof five, five), *offsets = buffer_of(sizeof host, host);
    ndr_sort_desc desc = { .dtype = NDR_DTYPE_U32,
                           .keys = { keys, 0 },
                           .count = 5,
                           .sorted_keys = { keys, 5 },
                           .length = 2,
                           .offsets = { offsets, 0 },
                           .segments = 3 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_sort(queue, &desc, NULL), "ndr_sort: length is 2, and offsets of 3 segments are set",
                   "leave out the other");
    desc.length = 0, desc.segments = 4;
    assert_refused(NDR_OUT_OF_BOUNDS, ndr_sort(queue, &desc, NULL), "offsets is 5 elements from element 0", "holds 4");
    desc.segments = SIZE_MAX;
    assert_refused(NDR_BAD_ARGUMENT, ndr_sort(queue, &desc, NULL), "ndr_sort: segments is", "use fewer segments");
    desc.segments = 3, desc.offsets.buffer = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_sort(queue, &desc, NULL), "offsets has no buffer; set offsets.buffer");
    desc.offsets.buffer = offsets, desc.sorted_keys = (ndr_span){ offsets, 2 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_sort(queue, &desc, NULL), "sorted_keys", "overlaps offsets");
    desc.sorted_keys = (ndr_span){ keys, 5 };
    assert_ok(ndr_sort(queue, &desc, NULL));
    assert_ok(ndr_queue_finish(queue));
    ndr_buffer_destroy(keys), ndr_buffer_destroy(offsets);
}

static void test_sort_segments__say_what_they_would_run(void **state)
{
    char text[400];
    const ndr_sort_desc desc = { .dtype = NDR_DTYPE_F32, .count = 1000, .length = 10 };
    assert_ok(ndr_sort_explain(context, &desc, sizeof text, text, NULL));
    assert_true(strncmp(text, "segment_", 8) == 0);
}

/* ---- every variant, whatever this device would choose ---- */

static bool is_chosen(const ndr_op_variant *variant)
{
    const ndr_sort_request request = { .dtype = NDR_DTYPE_U32, .bits = 32, .count = 1000, .length = 10 };
    return ndr_op_select(&ndr_sort_segments_operation, &context->caps, 0, NULL, &request) == variant;
}

/* The tests that each variant runs. */
#define RESULTS \
    cmocka_unit_test(test_sort_segments__of_equal_length_are_sorted_each_by_itself), \
    cmocka_unit_test(test_sort_segments__may_be_one_huge_and_many_tiny_ones), \
    cmocka_unit_test(test_sort_segments__leave_elements_outside_as_they_are), \
    cmocka_unit_test(test_sort_segments__with_offsets_out_of_order_stay_in_the_array), \
    cmocka_unit_test(test_sort_segments__of_generated_requests_agree_with_a_merge_sort)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESULTS,
        cmocka_unit_test(test_sort_segments__of_nothing_store_nothing),
        cmocka_unit_test(test_sort_segments__refuse_what_does_not_fit),
        cmocka_unit_test(test_sort_segments__say_what_they_would_run),
    };
    const struct CMUnitTest results[] = { RESULTS };
    seed = number_from_env("NDR_TEST_SEED", 20261124);
    print_message("NDR_TEST_SEED=%" PRIu64 "\n", seed);
    return run_variants(&ndr_sort_segments_operation,
                        &(variant_tests){ tests, results, COUNT_OF(tests), COUNT_OF(results), is_chosen });
}
