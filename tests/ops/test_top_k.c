/* test_top_k.c - ndr_top_k(): the first elements of a stable merge sort, for each type, k and shape, and what it refuses. */
#include "support.h"

#include <inttypes.h>

#include "forcing.h"
#include "reference.h"
#include "sorted.h"
#include "device/context.h"
#include "ndr/ndr_ops.h"
#include "ops/sort/top_k.h"

static const ndr_dtype dtypes[] = { NDR_DTYPE_I8,  NDR_DTYPE_U8,  NDR_DTYPE_I16, NDR_DTYPE_U16,
                                    NDR_DTYPE_I32, NDR_DTYPE_U32, NDR_DTYPE_I64, NDR_DTYPE_U64,
                                    NDR_DTYPE_F16, NDR_DTYPE_BF16, NDR_DTYPE_F32, NDR_DTYPE_F64 };

/* NDR_TEST_SEED repeats a run; a failure prints it. */
static uint64_t seed;

/* ---- one call, with checks of everything around it ---- */

enum { GUARDS = 3, GUARD = 0xa5 };
enum { KEYS = 1, INDEXES = 2, VALUES = 4 };

typedef struct search {
    ndr_dtype dtype;
    bool is_largest;
    size_t rows, length, k, value_bytes, offset;
    unsigned outputs; /* KEYS and so on */
    bool is_whole;    /* one row, without its length */
} search;

static const char *describe(const search *s)
{
    static char text[200];
    snprintf(text, sizeof text,
             "%zu %s of %zu x %zu keys of %s from element %zu, values of %zu bytes, outputs %u; NDR_TEST_SEED=%" PRIu64,
             s->k, s->is_largest ? "largest" : "smallest", s->rows, s->length, ndr_dtype_name(s->dtype), s->offset,
             s->value_bytes, s->outputs, seed);
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

/* A buffer with the wanted elements. */
typedef struct output {
    ndr_buffer *buffer;
    unsigned char *wanted;
    size_t size, count; /* with the guards */
} output;

static output output_of(const search *s, size_t size, bool is_set)
{
    if (!is_set) return (output){ NULL, NULL, 0, 0 };
    const size_t stored = s->rows * s->k;
    output made = { .wanted = guarded(NULL, size, s->offset, stored), .size = size, .count = s->offset + stored + GUARDS };
    made.buffer = buffer_of(made.count * size, made.wanted);
    return made;
}

static void put(const search *s, output *to, size_t place, const void *element)
{
    if (to->buffer) memcpy(to->wanted + (s->offset + place) * to->size, element, to->size);
}

static void check_output(const search *s, output *got, const char *what)
{
    if (!got->buffer) return;
    unsigned char *found = malloc(got->count * got->size);
    read_buffer(got->buffer, found, got->count * got->size);
    for (size_t i = 0; i < got->count; ++i) {
        if (memcmp(found + i * got->size, got->wanted + i * got->size, got->size) == 0) continue;
        print_error("%s: %s %zu is wrong\n", describe(s), what, i - s->offset);
        fail();
    }
    ndr_buffer_destroy(got->buffer);
    free(found), free(got->wanted);
}

static void check_with(const search *s, const unsigned char *keys, const size_t *const *orders)
{
    const size_t size = ndr_dtype_size(s->dtype), count = s->rows * s->length;
    const size_t bytes = s->outputs & VALUES ? s->value_bytes : 0;
    unsigned char *values = malloc(count * bytes + 1);
    uint64_t state = seed ^ count;
    for (size_t i = 0; i < count * bytes; ++i) values[i] = (unsigned char)(random_bits(&state) >> 56);
    unsigned char *in_keys = guarded(keys, size, s->offset, count), *in_values = guarded(values, bytes, s->offset, count);
    ndr_buffer *k = buffer_of((s->offset + count + GUARDS) * size, in_keys);
    ndr_buffer *v = bytes ? buffer_of((s->offset + count + GUARDS) * bytes, in_values) : NULL;
    output top_keys = output_of(s, size, s->outputs & KEYS), top_values = output_of(s, bytes, bytes > 0);
    output top_indexes = output_of(s, sizeof(uint64_t), s->outputs & INDEXES);
    for (size_t row = 0; row < s->rows; ++row)
        for (size_t i = 0; i < s->k; ++i) {
            const uint64_t index = orders[row][i];
            put(s, &top_keys, row * s->k + i, keys + (row * s->length + index) * size);
            put(s, &top_indexes, row * s->k + i, &index);
            put(s, &top_values, row * s->k + i, values + (row * s->length + index) * bytes);
        }
    const ndr_top_k_desc desc = { .dtype = s->dtype,
                                  .value_bytes = bytes,
                                  .is_largest = s->is_largest,
                                  .keys = { k, s->offset },
                                  .values = { v, s->offset },
                                  .length = s->is_whole ? 0 : s->length,
                                  .count = count,
                                  .k = s->k,
                                  .top_keys = { top_keys.buffer, s->offset },
                                  .top_values = { top_values.buffer, s->offset },
                                  .top_indexes = { top_indexes.buffer, s->offset } };
    assert_ok(ndr_top_k(queue, &desc, NULL));
    check_output(s, &top_keys, "key");
    check_output(s, &top_indexes, "index");
    check_output(s, &top_values, "value");
    unsigned char *after = malloc((s->offset + count + GUARDS) * size);
    read_buffer(k, after, (s->offset + count + GUARDS) * size);
    assert_memory_equal(after, in_keys, (s->offset + count + GUARDS) * size);
    ndr_buffer_destroy(k), ndr_buffer_destroy(v);
    free(values), free(in_keys), free(in_values), free(after);
}

static void check(const search *s, const unsigned char *keys)
{
    const key_order order = { .dtype = s->dtype, .is_descending = s->is_largest };
    size_t **orders = malloc(s->rows * sizeof *orders);
    for (size_t row = 0; row < s->rows; ++row)
        orders[row] = sorted_indices(&order, keys + row * s->length * ndr_dtype_size(s->dtype), s->length);
    check_with(s, keys, (const size_t *const *)orders);
    for (size_t row = 0; row < s->rows; ++row) free(orders[row]);
    free(orders);
}

static void check_pattern(const search *s, key_pattern pattern)
{
    unsigned char *keys = keys_of(s->dtype, s->rows * s->length, pattern, seed + s->k);
    check(s, keys);
    free(keys);
}

/* ---- results ---- */

/* One of each width, whose text is that of the others, where tests are slow. */
static bool is_tested(ndr_dtype dtype)
{
    const bool is_one = dtype == NDR_DTYPE_U8 || dtype == NDR_DTYPE_BF16 || dtype == NDR_DTYPE_F32
                        || dtype == NDR_DTYPE_U64;
    return is_one || (!forced_variant && !quick());
}

/* Long rows, for selections, are slow on a simulator. */
static bool takes_long_rows(void)
{
    return !quick() || !forced_variant || strncmp(forced_variant->name, "select_", 7) == 0;
}

static void test_top_k__takes_every_type(void **state)
{
    const size_t lengths[] = { 1, quick() ? 300 : 1000, quick() ? 1100 : 40009 };
    for (size_t t = 0; t < COUNT_OF(dtypes); ++t)
        for (size_t i = 0; i < COUNT_OF(lengths); ++i) {
            const size_t n = lengths[i], ks[] = { 1, n < 10 ? n : 10, (n + 2) / 3 };
            if (!is_tested(dtypes[t]) || (i == 2 && !takes_long_rows())) continue;
            if (quick() && i == 2 && ndr_dtype_size(dtypes[t]) > 2) continue;
            for (size_t k = quick() ? 1 : 0; k < (quick() ? 2 : COUNT_OF(ks)); ++k)
                check_pattern(&(search){ .dtype = dtypes[t], .is_largest = (t + k) % 2, .rows = 1, .length = n,
                                         .k = ks[k], .offset = t % 3, .outputs = KEYS | INDEXES, .is_whole = true },
                              k == 2 ? FEW : RANDOM);
        }
}

/* 1, 2, around what is inserted, gathered and sorted in one group, and all. */
static void test_top_k__takes_every_k(void **state)
{
    const size_t ks[] = { 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 1024, 1025, 4097 };
    const size_t lengths[] = { 1023, 4097, 70001 };
    for (size_t i = 0; i < (quick() ? 1 : COUNT_OF(lengths)); ++i) {
        const size_t n = quick() ? 130 : lengths[i];
        for (size_t k = 0; k <= COUNT_OF(ks); k += quick() ? 4 : 1) {
            const size_t wanted = k < COUNT_OF(ks) ? ks[k] : n;
            if (wanted > n) continue;
            check_pattern(&(search){ .dtype = NDR_DTYPE_U32, .is_largest = k % 2, .rows = 1, .length = n, .k = wanted,
                                     .outputs = KEYS | INDEXES },
                          (key_pattern)(k % PATTERNS));
        }
    }
}

static void test_top_k__of_rows_are_those_of_each_row(void **state)
{
    const size_t shapes[][3] = { { 3, 5, 5 },      { 1000, 7, 3 },   { 100, 100, 10 }, { 17, 1024, 100 }, { 5, 1025, 1 },
                                 { 2, 30011, 50 }, { 3, 9001, 9001 }, { 1, 20011, 5000 }, { 40, 2000, 1500 }, { 2, 4096, 33 } };
    for (size_t i = 0; i < (quick() ? 1 : COUNT_OF(shapes)); ++i)
        for (unsigned form = 0; form < 2; ++form)
            check_pattern(&(search){ .dtype = form ? NDR_DTYPE_F32 : NDR_DTYPE_I16, .is_largest = form,
                                     .rows = shapes[i][0], .length = shapes[i][1], .k = shapes[i][2], .offset = i % 4,
                                     .value_bytes = 4, .outputs = KEYS | INDEXES | VALUES },
                          i % 3 ? RANDOM : FEW);
}

/* Of the inputs that are hardest for a threshold: each element is better than those before, or all are equal. */
static void test_top_k__takes_elements_in_any_order(void **state)
{
    const size_t n = quick() ? 300 : 50021, ks[] = { 5, 40, n / 5 };
    for (key_pattern pattern = FEW; pattern < PATTERNS; ++pattern)
        for (size_t k = 0; k < (quick() ? 1 : COUNT_OF(ks)); ++k)
            for (int is_largest = 0; is_largest < 2; ++is_largest)
                check_pattern(&(search){ .dtype = NDR_DTYPE_U32, .is_largest = is_largest, .rows = 1, .length = n,
                                         .k = ks[k], .outputs = KEYS | INDEXES },
                              pattern);
}

static void test_top_k__stores_each_set_of_outputs(void **state)
{
    const size_t value_bytes[] = { 1, 4, 6, 16, 40 };
    const size_t lengths[] = { 100, quick() ? 1100 : 5003 };
    for (size_t i = 0; i < COUNT_OF(lengths); ++i)
        for (unsigned outputs = quick() && i > 0 ? 6 : 1; outputs < (i == 0 || takes_long_rows() ? 8u : 0u); ++outputs)
            for (size_t v = 0; v < (outputs & VALUES && !quick() ? COUNT_OF(value_bytes) : 1); ++v)
                check_pattern(&(search){ .dtype = NDR_DTYPE_U16, .rows = 1, .length = lengths[i], .k = lengths[i] / 3 + 1,
                                         .value_bytes = value_bytes[v], .offset = v, .outputs = outputs },
                              RANDOM);
}

/* The bits of floats of 32 bits in their order; those in one row are equal. */
static const uint32_t float_ranks[][4] = {
    { 0xff800000 }, { 0xff7fffff }, { 0xbf800000 }, { 0x80000001 }, { 0x00000000, 0x80000000 }, { 0x00000001 },
    { 0x3f800000 }, { 0x7f7fffff }, { 0x7f800000 }, { 0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff },
};

/* Known answers, without the reference: NaN is greatest, elements of one rank keep their order, and all their bits. */
static void test_top_k__has_the_order_of_sorts_for_floats(void **state)
{
    const size_t ranks = COUNT_OF(float_ranks), n = quick() ? 200 : 20011;
    uint32_t *keys = malloc(n * sizeof *keys);
    unsigned char *rank = malloc(n);
    size_t *order = malloc(n * sizeof *order);
    uint64_t random = seed;
    for (size_t i = 0; i < n; ++i) {
        rank[i] = (unsigned char)random_below(&random, ranks);
        keys[i] = float_ranks[rank[i]][rank[i] == 4 ? random_below(&random, 2) : rank[i] == 9 ? random_below(&random, 4) : 0];
    }
    for (int is_largest = 0; is_largest < 2; ++is_largest) {
        size_t filled = 0;
        for (size_t r = 0; r < ranks; ++r)
            for (size_t i = 0; i < n; ++i)
                if (rank[i] == (is_largest ? ranks - 1 - r : r)) order[filled++] = i;
        for (size_t k = 7; k <= n; k *= 11)
            check_with(&(search){ .dtype = NDR_DTYPE_F32, .is_largest = is_largest, .rows = 1, .length = n, .k = k,
                                  .outputs = KEYS | INDEXES },
                       (const unsigned char *)keys, (const size_t *const[]){ order });
    }
    free(keys), free(rank), free(order);
}

static void test_top_k__of_generated_calls_agree_with_a_merge_sort(void **state)
{
    uint64_t random = seed;
    for (unsigned turn = 0; turn < (quick() ? 3 : forced_variant ? 15 : 30); ++turn) {
        const size_t all = 1 + random_below(&random, (size_t)1 << random_below(&random, quick() ? 9 : 17));
        search s = { .dtype = dtypes[random_below(&random, COUNT_OF(dtypes))], .is_largest = random_bits(&random) % 2 };
        s.rows = random_bits(&random) % 2 ? 1 : 1 + random_below(&random, random_bits(&random) % 2 ? 4 : all);
        s.length = all / s.rows + 1;
        s.k = 1 + random_below(&random, random_bits(&random) % 2 ? s.length : s.length / 50 + 1);
        s.outputs = 1 + (unsigned)random_below(&random, 7);
        s.value_bytes = 1 + random_below(&random, 20);
        s.offset = random_below(&random, 5);
        s.is_whole = s.rows == 1 && random_bits(&random) % 2;
        check_pattern(&s, (key_pattern)random_below(&random, PATTERNS));
    }
}

/* ---- on the queue ---- */

static void test_top_k__gives_an_event_and_follows_work_out_of_order(void **state)
{
    const size_t n = quick() ? 1100 : 20011, k = n / 3;
    uint16_t *host = malloc(n * sizeof *host), *got = malloc(k * sizeof *got);
    for (size_t i = 0; i < n; ++i) host[i] = (uint16_t)(n - i);
    for (int is_out_of_order = 0; is_out_of_order < 2; ++is_out_of_order) {
        ndr_queue *line;
        ndr_event *written, *event = NULL;
        const ndr_status status = ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = is_out_of_order }, &line);
        if (status == NDR_UNSUPPORTED) continue; /* the device has no such queues */
        assert_ok(status);
        ndr_buffer *keys = buffer_of(n * sizeof *host, NULL), *top = buffer_of(k * sizeof *host, NULL);
        ndr_buffer *values = buffer_of(k * sizeof *host, NULL);
        assert_ok(ndr_buffer_write(line, keys, 0, n * sizeof *host, host, &written));
        const ndr_top_k_desc desc = { .dtype = NDR_DTYPE_U16, .value_bytes = 2, .keys = { keys, 0 }, .values = { keys, 0 },
                                      .count = n, .k = k, .top_keys = { top, 0 }, .top_values = { values, 0 } };
        assert_ok(ndr_top_k(ndr_after(line, written), &desc, &event));
        assert_ok(ndr_event_wait(event));
        read_buffer(values, got, k * sizeof *got);
        for (size_t i = 0; i < k; ++i) assert_int_equal(got[i], i + 1);
        ndr_event_destroy(event), ndr_event_destroy(written);
        ndr_buffer_destroy(keys), ndr_buffer_destroy(top), ndr_buffer_destroy(values);
        ndr_queue_destroy(line);
    }
    free(host), free(got);
}

static void test_top_k__of_nothing_needs_no_buffers(void **state)
{
    ndr_event *event = NULL;
    assert_ok(ndr_top_k(queue, &(ndr_top_k_desc){ .dtype = NDR_DTYPE_F32, .value_bytes = 4, .k = 3 }, &event));
    assert_ok(ndr_event_wait(event));
    ndr_event_destroy(event);
}

/* ---- refusals ---- */

enum { HELD = 8 };

#define assert_top_k_refused(status, desc, ...) \
    assert_refused(status, ndr_top_k(queue, desc, NULL), "ndr_top_k: ", __VA_ARGS__)

static void test_top_k__refuses_what_is_missing_or_too_small(void **state)
{
    static const uint32_t host[HELD] = { 90, 5, 4, 3, 2, 1, 91, 92 };
    ndr_buffer *keys = buffer_of(sizeof host, host), *values = buffer_of(sizeof host, host);
    ndr_buffer *top_keys = buffer_of(sizeof host, host), *top_values = buffer_of(sizeof host, host);
    ndr_buffer *top_indexes = buffer_of(2 * sizeof host, NULL);
    const ndr_top_k_desc right = { .dtype = NDR_DTYPE_U32, .value_bytes = 4, .keys = { keys, 1 }, .values = { values, 1 },
                                   .count = 5, .k = 2, .top_keys = { top_keys, 1 }, .top_values = { top_values, 1 },
                                   .top_indexes = { top_indexes, 1 } };
    ndr_top_k_desc desc = right;
    assert_refused(NDR_BAD_ARGUMENT, ndr_top_k((ndr_queue *)NULL, &desc, NULL), "ndr_top_k: queue is NULL");
    assert_top_k_refused(NDR_BAD_ARGUMENT, NULL, "desc is NULL");
    desc.dtype = NDR_DTYPE_NONE;
    assert_top_k_refused(NDR_BAD_ARGUMENT, &desc, "dtype is not set");
    desc.dtype = (ndr_dtype)1000;
    assert_top_k_refused(NDR_BAD_ARGUMENT, &desc, "dtype is not valid");
    desc = right, desc.k = 0;
    assert_top_k_refused(NDR_BAD_ARGUMENT, &desc, "k is 0, but a segment has 5 keys; use 1 to 5");
    desc.k = 6;
    assert_top_k_refused(NDR_BAD_ARGUMENT, &desc, "k is 6, but a segment has 5 keys");
    desc = right, desc.length = 2;
    assert_top_k_refused(NDR_BAD_ARGUMENT, &desc, "count is 5, and length 2; use a multiple of the length");
    desc = right, desc.value_bytes = SIZE_MAX;
    if (SIZE_MAX > UINT32_MAX) assert_top_k_refused(NDR_BAD_ARGUMENT, &desc, "value_bytes is", "use at most 4294967295");
    desc = right, desc.value_bytes = 0, desc.top_keys.buffer = desc.top_indexes.buffer = NULL;
    assert_top_k_refused(NDR_BAD_ARGUMENT, &desc, "no output is set; set top_keys.buffer");
    ndr_span *const spans[] = { &desc.keys, &desc.values, &desc.top_values, &desc.top_keys, &desc.top_indexes };
    const char *const names[] = { "keys", "values", "top_values", "top_keys", "top_indexes" };
    for (size_t i = 0; i < COUNT_OF(spans); ++i) {
        desc = right, spans[i]->offset = 7;
        assert_top_k_refused(NDR_OUT_OF_BOUNDS, &desc, names[i], "from element 7", "holds 8");
        desc = right, spans[i]->buffer = NULL;
        if (i < 3) assert_top_k_refused(NDR_BAD_ARGUMENT, &desc, names[i], "has no buffer");
    }
    uint32_t got[HELD];
    read_buffer(top_keys, got, sizeof got);
    assert_memory_equal(got, host, sizeof got);
    assert_ok(ndr_top_k(queue, &right, NULL));
    read_buffer(top_values, got, sizeof got);
    assert_memory_equal(got, ((const uint32_t[]){ 90, 1, 2, 3, 2, 1, 91, 92 }), sizeof got);
    ndr_buffer_destroy(keys), ndr_buffer_destroy(values);
    ndr_buffer_destroy(top_keys), ndr_buffer_destroy(top_values), ndr_buffer_destroy(top_indexes);
}

static void test_top_k__refuses_outputs_that_overlap(void **state)
{
    ndr_buffer *one = buffer_of(400, NULL), *other = buffer_of(400, NULL);
    const ndr_top_k_desc right = { .dtype = NDR_DTYPE_U32, .value_bytes = 4, .keys = { one, 0 }, .values = { one, 0 },
                                   .count = 10, .k = 5, .top_keys = { other, 0 }, .top_values = { other, 5 },
                                   .top_indexes = { other, 10 } };
    ndr_top_k_desc desc = right;
    desc.top_keys = (ndr_span){ one, 9 };
    assert_top_k_refused(NDR_BAD_ARGUMENT, &desc, "top_keys, elements 9 to 13, overlaps keys, elements 0 to 9");
    desc = right, desc.top_values = (ndr_span){ other, 4 };
    assert_top_k_refused(NDR_BAD_ARGUMENT, &desc, "top_values", "overlaps top_keys");
    desc = right, desc.top_indexes = (ndr_span){ other, 4 };
    assert_top_k_refused(NDR_BAD_ARGUMENT, &desc, "top_indexes", "overlaps top_values");
    ndr_buffer_destroy(one), ndr_buffer_destroy(other);
}

static void test_top_k__says_what_it_would_run(void **state)
{
    char text[400];
    const ndr_top_k_desc few = { .dtype = NDR_DTYPE_F32, .count = 1000, .k = 10 };
    const ndr_top_k_desc many = { .dtype = NDR_DTYPE_F32, .count = 100000, .k = 90000 };
    assert_ok(ndr_top_k_explain(context, &few, sizeof text, text, NULL));
    assert_true(strncmp(text, "chunks; ", 8) == 0 || strncmp(text, "tile; ", 6) == 0);
    assert_ok(ndr_top_k_explain(context, &many, sizeof text, text, NULL));
    assert_true(strncmp(text, "select_", 7) == 0);
    assert_refused(NDR_BAD_ARGUMENT, ndr_top_k_explain(context, &(ndr_top_k_desc){ 0 }, 0, NULL, NULL), "dtype is not set");
}

/* ---- every variant, whatever this device would choose ---- */

static bool is_chosen(const ndr_op_variant *variant)
{
    const ndr_top_k_request request = { .order = { .dtype = NDR_DTYPE_U32, .bits = 32 }, .rows = 1, .length = 1000, .k = 10 };
    return ndr_op_select(&ndr_top_k_operation, &context->caps, 0, NULL, &request) == variant
           || ndr_op_select(&ndr_top_k_select_operation, &context->caps, 0, NULL, &request) == variant;
}

/* The tests that each variant runs. */
#define RESULTS \
    cmocka_unit_test(test_top_k__takes_every_type), \
    cmocka_unit_test(test_top_k__takes_every_k), \
    cmocka_unit_test(test_top_k__of_rows_are_those_of_each_row), \
    cmocka_unit_test(test_top_k__takes_elements_in_any_order), \
    cmocka_unit_test(test_top_k__stores_each_set_of_outputs), \
    cmocka_unit_test(test_top_k__has_the_order_of_sorts_for_floats), \
    cmocka_unit_test(test_top_k__of_generated_calls_agree_with_a_merge_sort)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RESULTS,
        cmocka_unit_test(test_top_k__gives_an_event_and_follows_work_out_of_order),
        cmocka_unit_test(test_top_k__of_nothing_needs_no_buffers),
        cmocka_unit_test(test_top_k__refuses_what_is_missing_or_too_small),
        cmocka_unit_test(test_top_k__refuses_outputs_that_overlap),
        cmocka_unit_test(test_top_k__says_what_it_would_run),
    };
    const struct CMUnitTest results[] = { RESULTS };
    const variant_tests all = { tests, results, COUNT_OF(tests), COUNT_OF(results), is_chosen };
    const variant_tests forced = { NULL, results, 0, COUNT_OF(results), is_chosen };
    seed = number_from_env("NDR_TEST_SEED", 20261124);
    print_message("NDR_TEST_SEED=%" PRIu64 "\n", seed);
    return run_variants(&ndr_top_k_operation, &all) + run_variants(&ndr_top_k_select_operation, &forced);
}
