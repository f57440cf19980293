/* test_random.c - ndr_random: each type and distribution against a reference, and what it refuses. */
#include "support.h"

#include <math.h>

#include "ndr/ndr_ops.h"

#include "forcing.h"
#include "device/context.h"
#include "ops/random/random.h"
#include "philox.h"
#include "refusals.h"

static const ndr_dtype dtypes[] = { NDR_DTYPE_I32, NDR_DTYPE_U32, NDR_DTYPE_I64,
                                    NDR_DTYPE_U64, NDR_DTYPE_F32, NDR_DTYPE_F64 };

static bool device_has(ndr_dtype dtype) { return dtype != NDR_DTYPE_F64 || device.has_f64; }

static bool is_wide(ndr_dtype dtype) { return ndr_dtype_size(dtype) == 8; }

/* ---- one fill, with checks of everything around it ---- */

enum { GUARDS = 3 };

/* The elements from output.offset on; the caller frees them. desc.output.buffer is set here. */
static void *fill(ndr_random_desc desc)
{
    const size_t element = ndr_dtype_size(desc.dtype), all = desc.output.offset + desc.count + GUARDS;
    unsigned char *host = malloc(all * element);
    memset(host, 0xa5, all * element);
    desc.output.buffer = buffer_of(all * element, host);
    assert_ok(ndr_random(queue, &desc, NULL));
    read_buffer(desc.output.buffer, host, all * element);
    for (size_t i = 0; i < all * element; ++i)
        if (i / element < desc.output.offset || i / element >= desc.output.offset + desc.count)
            assert_int_equal(host[i], 0xa5);
    ndr_buffer_destroy(desc.output.buffer);
    memmove(host, host + desc.output.offset * element, desc.count * element);
    return host;
}

/* Element i of the stream. Of floats that are normal, `got`, if it is near enough. */
static number expected(const ndr_random_desc *d, uint64_t i, number got)
{
    const uint64_t low = (uint64_t)d->low, n = d->below;
    number wanted = { 0 };
    if (d->distribution == NDR_RANDOM_NORMAL) {
        const long double exact = philox_normal(d->dtype, d->seed, d->stream, i);
        if (ulps_from(d->dtype, real(d->dtype, got), exact) <= 4) return got;
        number_set(d->dtype, &wanted, 0, (number){ 0 });
        return wanted;
    }
    if (d->dtype == NDR_DTYPE_F32) wanted.f32 = philox_f32(d->seed, d->stream, i);
    else if (d->dtype == NDR_DTYPE_F64) wanted.f64 = philox_f64(d->seed, d->stream, i);
    else if (d->distribution == NDR_RANDOM_PERMUTATION)
        wanted.u64 = low + philox_permuted(d->seed, d->stream, i, n ? n : d->count);
    else if (is_wide(d->dtype))
        wanted.u64 = low + (n ? philox_u64_below(d->seed, d->stream, i, n) : philox_u64(d->seed, d->stream, i, 0));
    else if (n && n <= UINT32_MAX) wanted.u64 = low + philox_u32_below(d->seed, d->stream, i, (uint32_t)n);
    else wanted.u64 = low + philox_u32(d->seed, d->stream, i, 0);
    if (!is_wide(d->dtype) && !is_float(d->dtype)) wanted.u32 = (uint32_t)wanted.u64;
    return wanted;
}

static void check(const ndr_random_desc *desc)
{
    void *got = fill(*desc);
    for (size_t i = 0; i < desc->count; ++i) {
        const number value = number_get(desc->dtype, got, i), wanted = expected(desc, desc->first + i, value);
        if (number_equal(desc->dtype, value, wanted)) continue;
        fail_msg("distribution %d, below %llu, seed %llu, stream %llu: value %llu of %s is %s, not %s",
                 (int)desc->distribution, (unsigned long long)desc->below, (unsigned long long)desc->seed,
                 (unsigned long long)desc->stream, (unsigned long long)(desc->first + i), ndr_dtype_name(desc->dtype),
                 number_text(desc->dtype, value), number_text(desc->dtype, wanted));
    }
    free(got);
}

/* ---- against the reference ---- */

/* 0, 1, around a block, a run and a chunk of the implementations, and primes. */
static const size_t counts[] = {
    0, 1, 2, 3, 4, 5, 7, 127, 128, 129, 255, 256, 257, 1009, 4095, 4096, 4097, 8191, 8193
};
static const size_t quick_counts[] = { 0, 1, 3, 5, 257 };

/* First values that begin a block, and that do not; more than 32 bits; the last of a stream. */
static void check_counts(ndr_random_desc desc)
{
    const size_t *list = quick() ? quick_counts : counts, length = quick() ? COUNT_OF(quick_counts) : COUNT_OF(counts);
    for (size_t i = 0; i < length; ++i) {
        const uint64_t firsts[] = { 0, 1, 2, 1023, (UINT64_C(1) << 34) - 3, (UINT64_C(1) << 48) - list[i] };
        desc.count = list[i];
        desc.first = firsts[i % COUNT_OF(firsts)];
        desc.output.offset = i % 5;
        desc.seed = i * UINT64_C(0x123456789abcdef);
        desc.stream = i % 3 ? ~desc.seed : 0;
        check(&desc);
    }
}

static void check_types(ndr_distribution distribution, size_t first, size_t last)
{
    for (size_t t = first; t < last; ++t)
        if (device_has(dtypes[t])) check_counts((ndr_random_desc){ .dtype = dtypes[t], .distribution = distribution });
}

static void test_random__uniform_integers_have_the_words_of_the_stream(void **state)
{
    check_types(NDR_RANDOM_UNIFORM, 0, 4);
}

static void test_random__uniform_floats_have_the_bits_of_the_reference(void **state)
{
    check_types(NDR_RANDOM_UNIFORM, 4, 6);
}

static void test_random__normal_values_are_within_a_few_ulp(void **state)
{
    check_types(NDR_RANDOM_NORMAL, 4, 6);
}

static void test_random__integers_below_a_limit_replace_refused_words(void **state)
{
    static const struct {
        ndr_dtype dtype;
        uint64_t below;
        int64_t low;
    } cases[] = {
        { NDR_DTYPE_U32, 1, 7 },
        { NDR_DTYPE_U32, 6, 1 },
        { NDR_DTYPE_U32, UINT64_C(3) << 30, 0 },
        { NDR_DTYPE_U32, (UINT64_C(1) << 31) + 1, 100 },
        { NDR_DTYPE_U32, UINT64_C(1) << 32, 0 },
        { NDR_DTYPE_I32, 1000, -500 },
        { NDR_DTYPE_I32, UINT64_C(1) << 32, INT32_MIN },
        { NDR_DTYPE_U64, 3, 1 },
        { NDR_DTYPE_U64, UINT64_C(3) << 62, 5 },
        { NDR_DTYPE_U64, UINT64_MAX, 1 },
        { NDR_DTYPE_I64, (UINT64_C(1) << 63) + 1, -1 },
        { NDR_DTYPE_I64, UINT64_MAX, INT64_MIN },
    };
    for (size_t k = 0; k < COUNT_OF(cases); ++k)
        check_counts((ndr_random_desc){
            .dtype = cases[k].dtype, .distribution = NDR_RANDOM_BELOW, .below = cases[k].below, .low = cases[k].low });
}

/* ---- permutations ---- */

static const size_t lengths[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025, 4095, 4096, 4097, 70000 };

static void check_permutation(ndr_dtype dtype, size_t n, int64_t low)
{
    const ndr_random_desc desc = {
        .dtype = dtype, .distribution = NDR_RANDOM_PERMUTATION, .low = low, .seed = n, .count = n
    };
    unsigned char *seen = calloc(n + 1, 1);
    void *got = fill(desc);
    for (size_t i = 0; i < n; ++i) {
        const number value = number_get(dtype, got, i);
        const uint64_t at = (is_wide(dtype) ? value.u64 : (uint64_t)(int64_t)value.i32) - (uint64_t)low;
        assert_true(at < n && !seen[at]++);
    }
    free(got);
    free(seen);
    check(&desc);
}

static void test_random__permutations_have_each_element_once(void **state)
{
    for (size_t k = 0; k < (quick() ? 9 : COUNT_OF(lengths)); ++k) {
        check_permutation(NDR_DTYPE_U32, lengths[k], 0);
        check_permutation(NDR_DTYPE_I64, lengths[k], -3);
    }
}

static void test_random__permutations_differ_between_seeds_and_streams(void **state)
{
    const ndr_random_desc first = { .dtype = NDR_DTYPE_U32, .distribution = NDR_RANDOM_PERMUTATION, .count = 100 };
    ndr_random_desc other[] = { first, first };
    other[0].seed = 1;
    other[1].stream = 1;
    void *a = fill(first);
    for (size_t k = 0; k < COUNT_OF(other); ++k) {
        void *b = fill(other[k]);
        assert_memory_not_equal(a, b, 100 * sizeof(uint32_t));
        free(b);
    }
    free(a);
}

/* ---- any division of the work ---- */

static void check_parts(ndr_random_desc desc)
{
    const size_t element = ndr_dtype_size(desc.dtype), n = desc.count;
    unsigned char *whole = fill(desc);
    const size_t cuts[] = { 1, 2, 3, n / 2, n - 1 };
    for (size_t k = 0; k < COUNT_OF(cuts); ++k) {
        ndr_random_desc part = desc;
        part.count = cuts[k];
        void *head = fill(part);
        part.first = desc.first + cuts[k];
        part.count = n - cuts[k];
        void *tail = fill(part);
        assert_memory_equal(whole, head, cuts[k] * element);
        assert_memory_equal(whole + cuts[k] * element, tail, (n - cuts[k]) * element);
        free(head);
        free(tail);
    }
    free(whole);
}

static void test_random__two_fills_give_the_elements_of_one(void **state)
{
    const size_t n = quick() ? 67 : 9001;
    for (size_t t = 0; t < COUNT_OF(dtypes); ++t)
        for (int d = NDR_RANDOM_UNIFORM; d <= NDR_RANDOM_PERMUTATION; ++d) {
            if (!device_has(dtypes[t]) || is_float(dtypes[t]) == (d >= NDR_RANDOM_BELOW)) continue;
            if (!is_float(dtypes[t]) && d == NDR_RANDOM_NORMAL) continue;
            check_parts((ndr_random_desc){ .dtype = dtypes[t],
                                           .distribution = (ndr_distribution)d,
                                           .below = d >= NDR_RANDOM_BELOW ? n : 0,
                                           .seed = 3,
                                           .count = n });
        }
}

/* ---- moments ---- */

/* Within 5 standard errors; seed and so the values are fixed. */
static void test_random__normal_values_have_the_moments_of_a_normal_distribution(void **state)
{
    const size_t n = quick() ? 1000 : 1 << 20;
    float *x =
        fill((ndr_random_desc){ .dtype = NDR_DTYPE_F32, .distribution = NDR_RANDOM_NORMAL, .seed = 2026, .count = n });
    double sums[5] = { 0 }, lag = 0;
    for (size_t i = 0; i < n; ++i) {
        double power = 1;
        for (size_t k = 1; k < 5; ++k) sums[k] += power *= (double)x[i];
        if (i) lag += (double)x[i] * (double)x[i - 1];
    }
    const double wanted[5] = { 0, 0, 1, 0, 3 }, variance[5] = { 0, 1, 2, 15, 96 };
    for (size_t k = 1; k < 5; ++k)
        assert_true(fabs(sums[k] / (double)n - wanted[k]) <= 5 * sqrt(variance[k] / (double)n));
    assert_true(fabs(lag / (double)n) <= 5 / sqrt((double)n));
    free(x);
}

static void test_random__uniform_values_fill_their_range_evenly(void **state)
{
    enum { BINS = 64 };
    const size_t n = quick() ? 6400 : 1 << 20;
    size_t counts_of[BINS] = { 0 };
    float *x =
        fill((ndr_random_desc){ .dtype = NDR_DTYPE_F32, .distribution = NDR_RANDOM_UNIFORM, .seed = 2026, .count = n });
    for (size_t i = 0; i < n; ++i) {
        assert_true(x[i] >= 0 && x[i] < 1);
        ++counts_of[(size_t)(x[i] * BINS)];
    }
    double chi_squared = 0;
    for (size_t k = 0; k < BINS; ++k)
        chi_squared += pow((double)counts_of[k] - (double)n / BINS, 2) / ((double)n / BINS);
    assert_true(fabs(chi_squared - (BINS - 1)) <= 5 * sqrt(2.0 * BINS));
    free(x);
}

/* ---- as a command ---- */

static void test_random__gives_an_event_also_without_elements(void **state)
{
    ndr_buffer *out = buffer_of(400, NULL);
    ndr_event *events[2];
    ndr_random_desc desc = {
        .dtype = NDR_DTYPE_F32, .distribution = NDR_RANDOM_UNIFORM, .count = 100, .output = { out, 0 }
    };
    assert_ok(ndr_random(queue, &desc, &events[0]));
    desc.count = 0;
    desc.output.buffer = NULL;
    assert_ok(ndr_random(ndr_after(queue, events[0]), &desc, &events[1]));
    assert_ok(ndr_event_wait(events[1]));
    float first;
    assert_ok(ndr_buffer_read(queue, out, 0, sizeof first, &first, NULL));
    assert_true(first == philox_f32(0, 0, 0));
    ndr_event_destroy(events[0]);
    ndr_event_destroy(events[1]);
    ndr_buffer_destroy(out);
}

static void test_random__explains_its_choice(void **state)
{
    char text[256];
    const ndr_random_desc desc = { .dtype = NDR_DTYPE_F32, .distribution = NDR_RANDOM_NORMAL, .count = 1000 };
    assert_ok(ndr_random_explain(context, &desc, sizeof text, text, NULL));
    assert_non_null(
        strstr(text, takes_vectors() && device.type == NDR_DEVICE_TYPE_CPU ? "chunks; not items" : "items"));
}

/* ---- refusals ---- */

static ndr_status run(ndr_queue *on, const void *desc, ndr_event **event) { return ndr_random(on, desc, event); }

static int32_t filled[6];

static const refusal_suite refusals = {
    .call = "ndr_random",
    .run = run,
    .descs =
        (const ndr_random_desc[]){
            { .dtype = NDR_DTYPE_I32, .distribution = NDR_RANDOM_UNIFORM, .count = 5, .output.offset = 1 } },
    .desc_bytes = sizeof(ndr_random_desc),
    .desc_count = 1,
    .dtype = offsetof(ndr_random_desc, dtype),
    .first_dtype = NDR_DTYPE_I32,
    .dtypes = "i32, u32, i64, u64, f32 or f64",
    .operands = { { .name = "output",
                    .buffer = offsetof(ndr_random_desc, output.buffer),
                    .offset = offsetof(ndr_random_desc, output.offset),
                    .begin = 1,
                    .end = 6,
                    .before = (const int32_t[]){ -1, -1, -1, -1, -1, -1 },
                    .after = filled } },
    .operand_count = 1,
};

static void test_random__refuses_values_that_do_not_fit(void **state)
{
    static const struct {
        ndr_random_desc desc;
        const char *parts[2];
    } cases[] = {
        { { .dtype = NDR_DTYPE_F32, .count = 5 }, { "distribution is 0", "use NDR_RANDOM_UNIFORM" } },
        { { .dtype = NDR_DTYPE_F32, .distribution = 5, .count = 5 },
          { "distribution is 5", "NDR_RANDOM_PERMUTATION" } },
        { { .dtype = NDR_DTYPE_I32, .distribution = NDR_RANDOM_NORMAL, .count = 5 },
          { "dtype is i32", "use f32 or f64" } },
        { { .dtype = NDR_DTYPE_F32, .distribution = NDR_RANDOM_BELOW, .below = 5, .count = 5 },
          { "dtype is f32", "use i32, u32, i64 or u64" } },
        { { .dtype = NDR_DTYPE_F32, .distribution = NDR_RANDOM_PERMUTATION, .count = 5 },
          { "dtype is f32", "use i32" } },
        { { .dtype = NDR_DTYPE_U32, .distribution = NDR_RANDOM_BELOW, .count = 5 },
          { "below is 0", "number of values" } },
        { { .dtype = NDR_DTYPE_U32, .distribution = NDR_RANDOM_UNIFORM, .below = 5, .count = 5 },
          { "below is 5 and low is 0", "distribution to NDR_RANDOM_BELOW" } },
        { { .dtype = NDR_DTYPE_F32, .distribution = NDR_RANDOM_NORMAL, .low = -1, .count = 5 },
          { "below is 0 and low is -1", "set both to 0" } },
        { { .dtype = NDR_DTYPE_U32, .distribution = NDR_RANDOM_BELOW, .below = 5, .low = -1, .count = 5 },
          { "low is -1", "not a value of u32" } },
        { { .dtype = NDR_DTYPE_I32, .distribution = NDR_RANDOM_BELOW, .below = 5, .low = INT64_C(1) << 31, .count = 5 },
          { "low is 2147483648", "not a value of i32" } },
        { { .dtype = NDR_DTYPE_I32, .distribution = NDR_RANDOM_BELOW, .below = (UINT64_C(1) << 31) + 1, .count = 5 },
          { "2147483649 values from 0 on", "largest value of i32, 2147483647" } },
        { { .dtype = NDR_DTYPE_U32,
            .distribution = NDR_RANDOM_BELOW,
            .below = UINT64_C(1) << 32,
            .low = 1,
            .count = 5 },
          { "4294967296 values from 1 on", "largest value of u32" } },
        { { .dtype = NDR_DTYPE_U64, .distribution = NDR_RANDOM_BELOW, .below = UINT64_MAX, .low = 2, .count = 5 },
          { "values from 2 on", "largest value of u64" } },
        { { .dtype = NDR_DTYPE_I64, .distribution = NDR_RANDOM_BELOW, .below = UINT64_MAX, .count = 5 },
          { "values from 0 on", "largest value of i64" } },
        { { .dtype = NDR_DTYPE_U32, .distribution = NDR_RANDOM_PERMUTATION, .below = 8, .first = 4, .count = 5 },
          { "5 elements from element 4 on", "a permutation of 8" } },
        { { .dtype = NDR_DTYPE_U32, .distribution = NDR_RANDOM_PERMUTATION, .first = 1, .count = 5 },
          { "first is 1", "set below to the length of the whole permutation" } },
        { { .dtype = NDR_DTYPE_F32, .distribution = NDR_RANDOM_UNIFORM, .first = (UINT64_C(1) << 48) - 4, .count = 5 },
          { "5 values from value 281474976710652 on", "2^48" } },
        { { .dtype = NDR_DTYPE_F32, .distribution = NDR_RANDOM_UNIFORM, .first = UINT64_MAX, .count = 5 },
          { "exceed a stream", "use another stream" } },
    };
    ndr_buffer *out = buffer_of(64, NULL);
    for (size_t k = 0; k < COUNT_OF(cases); ++k) {
        ndr_random_desc desc = cases[k].desc;
        desc.output.buffer = out;
        assert_refused(NDR_BAD_ARGUMENT, ndr_random(queue, &desc, NULL), "ndr_random: ", cases[k].parts[0],
                       cases[k].parts[1]);
    }
    ndr_buffer_destroy(out);
}

/* ---- every variant, whatever this device would choose ---- */

static bool is_chosen(const ndr_op_variant *variant)
{
    const ndr_random_request request = { .dtype = NDR_DTYPE_F32,
                                         .distribution = NDR_RANDOM_UNIFORM,
                                         .output = { .cols = 9 } };
    return ndr_op_select(&ndr_random_operation, &context->caps, 0, NULL, &request) == variant;
}

/* The tests that each row runs. */
#define RESULTS                                                                       \
    cmocka_unit_test(test_random__uniform_integers_have_the_words_of_the_stream),     \
        cmocka_unit_test(test_random__uniform_floats_have_the_bits_of_the_reference), \
        cmocka_unit_test(test_random__normal_values_are_within_a_few_ulp),            \
        cmocka_unit_test(test_random__integers_below_a_limit_replace_refused_words),  \
        cmocka_unit_test(test_random__permutations_have_each_element_once),           \
        cmocka_unit_test(test_random__two_fills_give_the_elements_of_one)

int main(void)
{
    for (size_t i = 0; i < 5; ++i) filled[1 + i] = (int32_t)philox_u32(0, 0, i, 0);
    filled[0] = -1;
    const struct CMUnitTest tests[] = {
        RESULTS,
        cmocka_unit_test(test_random__permutations_differ_between_seeds_and_streams),
        cmocka_unit_test(test_random__normal_values_have_the_moments_of_a_normal_distribution),
        cmocka_unit_test(test_random__uniform_values_fill_their_range_evenly),
        cmocka_unit_test(test_random__gives_an_event_also_without_elements),
        cmocka_unit_test(test_random__explains_its_choice),
        REFUSAL(random, refusals, refuses_a_missing_queue_or_desc),
        REFUSAL(random, refusals, refuses_types_it_does_not_take),
        REFUSAL(random, refusals, refuses_elements_past_the_end),
        REFUSAL(random, refusals, refuses_missing_buffers),
        REFUSAL(random, refusals, refuses_buffers_of_another_context),
        REFUSAL(random, refusals, leaves_the_event_alone_when_refused),
        REFUSAL(random, refusals, refuses_f64_where_the_device_has_none),
        cmocka_unit_test(test_random__refuses_values_that_do_not_fit),
    };
    const struct CMUnitTest results[] = { RESULTS };
    return run_variants(&ndr_random_operation,
                        &(variant_tests){ tests, results, COUNT_OF(tests), COUNT_OF(results), is_chosen });
}
