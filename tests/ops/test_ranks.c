/* test_ranks.c - groups: their ranks, the division of rows, and that operations give what one device gives. */
#include "support.h"

#include <math.h>
#include <time.h>

#include "device/context.h"
#include "device/queue.h"
#include "ndr/ndr_group.h"
#include "ops/ranks/ranks.h"
#include "reference.h"

enum { RANKS = 3, MAX_COUNT = (1 << 20) + 1 };

static ndr_group *group;
static ndr_group *const none = NULL;
static uint64_t dice;

static size_t roll(size_t below)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(dice >> 33) % below;
}

/* Contexts of the whole device: its parts have a test of their own. */
static int open_group(void **state)
{
    ndr_context *contexts[RANKS];
    open_device(state);
    dice = number_from_env("NDR_TEST_SEED", (uint64_t)time(NULL));
    print_message("NDR_TEST_SEED=%llu\n", (unsigned long long)dice);
    for (size_t i = 0; i < RANKS; ++i) assert_ok(ndr_context_create(NULL, &contexts[i]));
    assert_ok(ndr_group_create(&(ndr_group_desc){ .contexts = contexts, .context_count = RANKS }, &group));
    for (size_t i = 0; i < RANKS; ++i) ndr_context_destroy(contexts[i]);
    return 0;
}

static int close_group(void **state)
{
    ndr_group_destroy(group);
    return close_device(state);
}

/* Devices that do not share the host's memory get it in chunks. */
static void claim_shared(bool shares)
{
    for (size_t i = 0; i < RANKS; ++i)
        group->ranks[i].device.shares_host_memory = shares && group->ranks[i].context->caps.info.shares_host_memory;
}

static size_t most(size_t count) { return quick() ? count / 64 : count; }

/* ---- ranks ---- */

static void test_group__has_the_contexts_that_it_was_given(void **state)
{
    assert_int_equal(ndr_group_size(group), RANKS);
    for (size_t i = 0; i < RANKS; ++i) {
        assert_non_null(ndr_group_context(group, i));
        assert_ptr_equal(ndr_group_queue(group, i)->context, ndr_group_context(group, i));
    }
    assert_null(ndr_group_context(group, RANKS));
    assert_null(ndr_group_queue(group, RANKS));
    assert_int_equal(ndr_group_size(NULL), 0);
    assert_null(ndr_group_context(NULL, 0));
    ndr_group_destroy(NULL);
}

static void test_group__has_all_devices_that_a_text_matches(void **state)
{
    const char *const type = ndr_device_type_name(device.type);
    ndr_device_info infos[16];
    ndr_group *all, *one;
    size_t count, of_type = 0;
    assert_ok(ndr_device_list(16, infos, &count));
    for (size_t i = 0; i < count && i < 16; ++i) of_type += infos[i].type == device.type;
    assert_ok(ndr_group_create(&(ndr_group_desc){ .device = type }, &all));
    assert_in_range(ndr_group_size(all), 1, of_type);
    assert_ok(ndr_group_create(&(ndr_group_desc){ .device = "0" }, &one));
    assert_int_equal(ndr_group_size(one), 1);
    ndr_group_destroy(all);
    ndr_group_destroy(one);
    assert_ok(ndr_group_create(NULL, &all));
    assert_true(ndr_group_size(all) >= 1);
    ndr_group_destroy(all);
}

static void test_group__has_the_parts_of_a_device(void **state)
{
    skip_without(can_be_halved(), "the device cannot be divided into two parts");
    ndr_group *halves;
    assert_ok(ndr_group_create(&(ndr_group_desc){ .part_count = 2 }, &halves));
    assert_int_equal(ndr_group_size(halves), 2);
    assert_int_equal(halves->ranks[1].device.compute_units, device.compute_units / 2);
    int sum = 0, wanted = 0, x[1000];
    for (int i = 0; i < 1000; ++i) wanted += x[i] = i * i % 17;
    assert_ok(ndr_group_reduce(halves, &(ndr_group_reduce_desc){ .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .input = x,
                                                                 .count = 1000, .output = &sum }));
    assert_int_equal(sum, wanted);
    ndr_group_destroy(halves);
}

static void test_group__is_refused_without_ranks(void **state)
{
    ndr_group *made;
    ndr_context *const contexts[] = { context, NULL };
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_create(NULL, NULL), "ndr_group_create: group is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_create(&(ndr_group_desc){ .contexts = contexts }, &made),
                   "contexts is set, but context_count is 0");
    assert_refused(NDR_BAD_ARGUMENT,
                   ndr_group_create(&(ndr_group_desc){ .contexts = contexts, .context_count = 2 }, &made),
                   "ndr_group_create: contexts[1] is NULL");
    const ndr_group_desc both = { .device = "cpu", .contexts = contexts, .context_count = 1 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_create(&both, &made),
                   "contexts is set, but so is device");
    assert_refused(NDR_NO_MATCHING_DEVICE, ndr_group_create(&(ndr_group_desc){ .device = "no such thing" }, &made),
                   "no such thing");
}

/* ---- rows ---- */

typedef struct tally {
    unsigned char done[5000];
    size_t rows[RANKS];
    int failing;
} tally;

static ndr_status count_rows(size_t rank, ndr_queue *line, size_t first, size_t count, void *tally_)
{
    tally *t = tally_;
    if (line != ndr_group_queue(group, rank) || (int)rank == t->failing)
        return ndr_buffer_read(NULL, NULL, 0, 0, NULL, NULL);
    for (size_t i = 0; i < count; ++i) ++t->done[first + i];
    t->rows[rank] = count;
    return NDR_OK;
}

static void set_speeds(size_t rank, double latest, double before)
{
    group->ranks[rank].speeds[0] = latest;
    group->ranks[rank].speeds[1] = before;
}

static void test_each__does_each_row_once(void **state)
{
    static const size_t counts[] = { 0, 1, 2, 3, 997, 4097 };
    static const double speeds[][RANKS] = { { 0, 0, 0 }, { 1, 1, 1 }, { 1e-9, 3, 1e9 }, { 5, 1, 0 } };
    for (size_t s = 0; s < 4; ++s)
        for (size_t c = 0; c < 6; ++c) {
            tally t = { .failing = -1 };
            for (size_t i = 0; i < RANKS; ++i) set_speeds(i, speeds[s][i], speeds[s][i]);
            assert_ok(ndr_group_each(group, counts[c], count_rows, &t));
            for (size_t i = 0; i < sizeof t.done; ++i) assert_int_equal(t.done[i], i < counts[c]);
        }
}

static void test_each__divides_by_speed(void **state)
{
    tally t = { .failing = -1 };
    const int64_t least_ns = ndr_group_least_ns;
    set_speeds(0, 2, 2);
    set_speeds(1, 1e-3, 1); /* a slow call does not count, after another one or before it */
    set_speeds(2, 1, 1e-3);
    ndr_group_least_ns = 0;
    assert_ok(ndr_group_each(group, 4096, count_rows, &t));
    ndr_group_least_ns = INT64_MAX;
    assert_int_equal(t.rows[0], 2048);
    assert_int_equal(t.rows[1], 1024);
    assert_int_equal(t.rows[2], 1024);
    for (size_t i = 0; i < RANKS; ++i) assert_true(group->ranks[i].speeds[0] > 2); /* measured: far more */
    assert_true(group->ranks[2].speeds[1] == 1);
    set_speeds(0, 2, 2);
    set_speeds(1, 1, 1);
    set_speeds(2, 1, 1);
    assert_ok(ndr_group_each(group, 4096, count_rows, &t)); /* a short call */
    assert_int_equal(t.rows[0], 2048);
    for (size_t i = 0; i < RANKS; ++i) assert_true(group->ranks[i].speeds[0] + group->ranks[i].speeds[1] == 0);
    set_speeds(1, 1, 1);
    set_speeds(2, 1, 1);
    set_speeds(0, 2, 0); /* has had one call only */
    assert_ok(ndr_group_each(group, 3 * 256, count_rows, &t));
    for (size_t i = 0; i < RANKS; ++i) assert_int_equal(t.rows[i], 256);
    ndr_group_least_ns = least_ns;
}

static void test_each__leaves_rows_to_the_slowest(void **state)
{
    static const double speeds[][RANKS] = { { 1, 1e-30, 1e-30 }, { 1e-30, 1, 1e-30 }, { 1e-30, 1e-30, 1 } };
    for (size_t s = 0; s < RANKS; ++s) {
        tally t = { .failing = -1 };
        for (size_t i = 0; i < RANKS; ++i) set_speeds(i, speeds[s][i], speeds[s][i]);
        assert_ok(ndr_group_each(group, 4096, count_rows, &t));
        for (size_t i = 0; i < RANKS; ++i) assert_int_equal(t.rows[i], i == s ? 4096 - 2 * 64 : 64);
        assert_ok(ndr_group_each(group, RANKS, count_rows, &t));
        for (size_t i = 0; i < RANKS; ++i) assert_int_equal(t.rows[i], 1);
    }
}

static void test_each__fails_with_the_rank(void **state)
{
    tally t = { .failing = 1 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_each(group, 300, count_rows, &t),
                   "ndr_group_each: rank 1 of 3, device \"", device.name, "ndr_buffer_read: queue is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_each(group, 300, NULL, &t), "function is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_each(none, 300, count_rows, &t), "group is NULL");
}

/* ---- products ---- */

static void check_product(size_t m, size_t n, size_t k, size_t pad, double beta)
{
    const size_t pa = k + pad, pb = n + 2 * pad, pc = n + 3 * pad;
    float *a = calloc(m * pa + 1, sizeof *a), *b = calloc(k * pb + 1, sizeof *b), *c = calloc(m * pc + 1, sizeof *c);
    for (size_t i = 0; i < m * pa; ++i) a[i] = (float)roll(17) - 8;
    for (size_t i = 0; i < k * pb; ++i) b[i] = (float)roll(17) - 8;
    for (size_t i = 0; i < m * pc; ++i) c[i] = (float)(i % 5);
    assert_ok(ndr_group_matmul(group, &(ndr_group_matmul_desc){ .dtype = NDR_DTYPE_F32, .m = m, .n = n, .k = k, .a = a,
                                                                .b = b, .c = c, .a_pitch = pa, .b_pitch = pb,
                                                                .c_pitch = pc, .scaling = ndr_scaling_of(2, beta) }));
    for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < pc; ++j) {
            float wanted = (float)((i * pc + j) % 5); /* small integers: exact */
            if (j < n) wanted *= (float)beta;
            for (size_t l = 0; l < k && j < n; ++l) wanted += 2 * a[i * pa + l] * b[l * pb + j];
            if (c[i * pc + j] != wanted)
                fail_msg("%zu x %zu x %zu, pad %zu: element (%zu, %zu) is %g, not %g", m, n, k, pad, i, j,
                         (double)c[i * pc + j], (double)wanted);
        }
    free(a);
    free(b);
    free(c);
}

static void test_matmul__is_that_of_one_device(void **state)
{
    for (int shares = 0; shares < 2; ++shares) {
        claim_shared(shares);
        check_product(0, 5, 3, 0, 0);
        check_product(5, 0, 3, 0, 0);
        check_product(5, 3, 0, 1, 2);
        check_product(1, 1, 1, 0, 0);
        check_product(2, 300, 5, 0, 3);
        check_product(37, 29, 31, 2, -1);
        if (quick()) continue;
        check_product(257, 1031, 33, 0, 0); /* several panels */
        for (int i = 0; i < 5; ++i) check_product(1 + roll(70), 1 + roll(1100), 1 + roll(40), roll(4), (double)roll(3));
    }
    claim_shared(true);
}

static void test_matmul__refuses_wrong_matrices(void **state)
{
    float x[4] = { 0 };
    ndr_group_matmul_desc desc = { .dtype = NDR_DTYPE_F32, .m = 2, .n = 2, .k = 2, .a = x, .b = x, .c = x };
    ndr_group_matmul_desc wrong = desc;
    wrong.dtype = NDR_DTYPE_I32;
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_matmul(group, &wrong), "ndr_group_matmul: dtype is i32; use f32 or f64");
    wrong = desc, wrong.b = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_matmul(group, &wrong), "b is NULL; pass a matrix of 2 x 2 elements");
    wrong = desc, wrong.c_pitch = 1;
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_matmul(group, &wrong), "c_pitch is 1, but c has 2 columns");
    wrong = desc, wrong.m = SIZE_MAX / 8;
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_matmul(group, &wrong), "exceed the host's address space");
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_matmul(none, &desc), "group is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_matmul(group, NULL), "desc is NULL");
}

/* ---- reductions ---- */

static uint32_t *numbers(size_t count)
{
    uint32_t *made = malloc((count + 1) * sizeof *made);
    for (size_t i = 0; i < count; ++i) made[i] = (uint32_t)roll(1u << 31);
    return made;
}

static void check_sum(size_t count)
{
    uint32_t *x = numbers(count), sum = 7, wanted = 0;
    for (size_t i = 0; i < count; ++i) wanted += x[i];
    assert_ok(ndr_group_reduce(group, &(ndr_group_reduce_desc){ .dtype = NDR_DTYPE_U32, .op = NDR_OP_SUM, .input = x,
                                                                .count = count, .output = &sum }));
    assert_int_equal(sum, wanted);
    free(x);
}

static void test_reduce__is_that_of_one_device(void **state)
{
    for (int shares = 0; shares < 2; ++shares) {
        claim_shared(shares);
        const size_t sizes[] = { 0, 1, 4097, 65536, most(MAX_COUNT), most(MAX_COUNT) - 2 };
        for (size_t i = 0; i < 6; ++i) check_sum(sizes[i]);
        for (int i = 0; i < 4; ++i) check_sum(roll(most(MAX_COUNT)));
    }
    claim_shared(true);
}

static float reduce_by_one(ndr_op op, const float *x, size_t count)
{
    float result;
    ndr_buffer *input = buffer_of((count + 1) * sizeof *x, x);
    assert_ok(ndr_reduce(queue,
                         &(ndr_reduce_desc){ .dtype = NDR_DTYPE_F32, .op = op, .numerics = NDR_NUMERICS_REPRODUCIBLE,
                                             .input = { input, 0 }, .count = count, .output = { input, count } },
                         NULL));
    assert_ok(ndr_buffer_read(queue, input, count * sizeof result, sizeof result, &result, NULL));
    ndr_buffer_destroy(input);
    return result;
}

/* ndr_group_tree may be lowered, so that few elements show it. */
static void check_reproducible(ndr_op op, size_t count)
{
    float *x = malloc((count + 1) * sizeof *x), sum = 0;
    for (size_t i = 0; i < count; ++i) x[i] = op == NDR_OP_PRODUCT ? 1 + ((float)roll(200) - 100) * 1e-6f
                                                                   : ldexpf((float)roll(1 << 20), -(int)roll(40));
    const float wanted = reduce_by_one(op, x, count);
    assert_ok(ndr_group_reduce(group, &(ndr_group_reduce_desc){ .dtype = NDR_DTYPE_F32, .op = op,
                                                                .numerics = NDR_NUMERICS_REPRODUCIBLE, .input = x,
                                                                .count = count, .output = &sum }));
    if (memcmp(&sum, &wanted, sizeof sum) != 0)
        fail_msg("op %d of %zu elements: %a, not %a", (int)op, count, (double)sum, (double)wanted);
    free(x);
}

static void test_reduce__reproduces_the_bits_of_one_device(void **state)
{
    static const ndr_op ops[] = { NDR_OP_SUM, NDR_OP_PRODUCT, NDR_OP_MIN, NDR_OP_MAX };
    const size_t tree = ndr_group_tree;
    ndr_group_tree = 4096;
    for (size_t i = 0; i < 4; ++i) {
        if (ops[i] == NDR_OP_PRODUCT && context->caps.flushes_f32) continue; /* it has none */
        check_reproducible(ops[i], 4096 * 3);
        check_reproducible(ops[i], 4096 * 5 + 1);
        check_reproducible(ops[i], 4096 + roll(most(600000)));
    }
    ndr_group_tree = tree;
}

static void test_reduce__reproduces_the_bits_of_long_sums(void **state)
{
    skip_without(!quick(), "a simulator takes too long for that many elements");
    check_reproducible(NDR_OP_SUM, 2 * ndr_group_tree + 4097);
}

static void test_reduce__refuses_what_it_cannot_do(void **state)
{
    float x[2] = { 0 };
    ndr_group_reduce_desc desc = { .dtype = NDR_DTYPE_F32, .op = NDR_OP_SUM, .input = x, .count = 2, .output = x };
    ndr_group_reduce_desc wrong = desc;
    wrong.numerics = NDR_NUMERICS_EXACT;
    assert_refused(NDR_UNSUPPORTED, ndr_group_reduce(group, &wrong), "use ndr_reduce(), or NDR_NUMERICS_REPRODUCIBLE");
    wrong = desc, wrong.input = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_reduce(group, &wrong), "input is NULL, but count is 2");
    wrong = desc, wrong.output = NULL;
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_reduce(group, &wrong), "output is NULL");
    wrong = desc, wrong.dtype = NDR_DTYPE_NONE;
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_reduce(group, &wrong), "dtype is not set");
    wrong = desc, wrong.op = NDR_OP_BIT_AND;
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_reduce(group, &wrong), "NDR_OP_BIT_AND");
}

/* ---- maps ---- */

static void check_map(size_t count)
{
    uint32_t *x = numbers(count), *y = numbers(count), *was = malloc((count + 1) * sizeof *was);
    uint64_t *z = malloc((count + 1) * sizeof *z);
    memcpy(was, y, count * sizeof *was);
    const ndr_group_array arrays[] = { { "x", NDR_DTYPE_U32, x, NULL },
                                       { "y", NDR_DTYPE_U32, y, y },
                                       { "z", NDR_DTYPE_U64, NULL, z } };
    const ndr_map_scalar a = { "a", ndr_arg_of(3u) };
    assert_ok(ndr_group_map(group, &(ndr_group_map_desc){ .statement = "y = a * x + y; z = i0 + i * x", .scalars = &a,
                                                          .scalar_count = 1, .arrays = arrays, .array_count = 3,
                                                          .count = count }));
    for (size_t i = 0; i < count; ++i) {
        if (y[i] != 3 * x[i] + was[i]) fail_msg("%zu elements: y[%zu] is wrong", count, i);
        if (z[i] != (uint64_t)i + (uint64_t)i * x[i]) fail_msg("%zu elements: z[%zu] is wrong", count, i);
    }
    free(x);
    free(y);
    free(was);
    free(z);
}

static void test_map__is_that_of_one_device(void **state)
{
    for (int shares = 0; shares < 2; ++shares) {
        claim_shared(shares);
        const size_t sizes[] = { 0, 1, 4097, most(MAX_COUNT) };
        for (size_t i = 0; i < 4; ++i) check_map(sizes[i]);
        for (int i = 0; i < 3; ++i) check_map(roll(most(MAX_COUNT)));
    }
    claim_shared(true);
}

/* The output has other memory than the input of its name, which stays. */
static void test_map__leaves_an_input_as_it_is(void **state)
{
    for (int shares = 0; shares < 2; ++shares) {
        claim_shared(shares);
        int x[100], y[100] = { 0 };
        for (int i = 0; i < 100; ++i) x[i] = i;
        const ndr_group_array array = { "x", NDR_DTYPE_I32, x, y };
        assert_ok(ndr_group_map(group, &(ndr_group_map_desc){ .statement = "x = x * x", .arrays = &array,
                                                              .array_count = 1, .count = 100 }));
        for (int i = 0; i < 100; ++i) assert_true(x[i] == i && y[i] == i * i);
    }
    claim_shared(true);
}

static void test_map__reports_the_failure_of_a_rank(void **state)
{
    int x[10] = { 0 };
    const ndr_group_array array = { "x", NDR_DTYPE_I32, x, x }, neither = { "x", NDR_DTYPE_I32, NULL, NULL };
    ndr_group_map_desc desc = { .statement = "x = nothing", .arrays = &array, .array_count = 1, .count = 10 };
    assert_refused(NDR_BUILD_FAILED, ndr_group_map(group, &desc), "ndr_group_map: rank ", " of 3, device \"",
                   "nothing");
    desc.arrays = &neither;
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_map(group, &desc), "arrays[0] has neither input nor output");
    desc.array_count = 0;
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_map(group, &desc), "there is no array");
    desc.array_count = 25;
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_group_map(group, &desc), "array_count is 25");
}

/* ---- scans ---- */

static void check_scan(size_t count, bool is_exclusive, bool is_in_place)
{
    uint32_t *x = numbers(count), *was = malloc((count + 1) * sizeof *was), sum = 0;
    uint32_t *y = is_in_place ? x : numbers(count);
    memcpy(was, x, count * sizeof *was);
    assert_ok(ndr_group_scan(group, &(ndr_group_scan_desc){ .dtype = NDR_DTYPE_U32, .op = NDR_OP_SUM,
                                                            .is_exclusive = is_exclusive, .input = x, .count = count,
                                                            .output = y }));
    for (size_t i = 0; i < count; ++i) {
        const uint32_t before = sum;
        sum += was[i];
        if (y[i] != (is_exclusive ? before : sum)) fail_msg("%zu elements: element %zu is wrong", count, i);
    }
    if (!is_in_place) free(y);
    free(x);
    free(was);
}

static void test_scan__is_that_of_one_device(void **state)
{
    for (int shares = 0; shares < 2; ++shares) {
        claim_shared(shares);
        const size_t sizes[] = { 0, 1, 65536, most(MAX_COUNT), roll(most(MAX_COUNT)) };
        for (size_t i = 0; i < 5; ++i)
            for (int form = 0; form < 4; ++form) check_scan(sizes[i], form % 2, form / 2);
    }
    claim_shared(true);
}

/* Extremes leave NaN out: a chunk, or the first ones, may have nothing else. */
static void test_scan__of_extremes_without_nan(void **state)
{
    const size_t chunk = ndr_stream_chunk_for(most(MAX_COUNT), sizeof(float)), count = 3 * chunk + 5;
    float *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
    for (size_t i = 0; i < count; ++i) x[i] = i < chunk + 7 ? NAN : -(float)(i / 100);
    assert_ok(ndr_group_scan(group, &(ndr_group_scan_desc){ .dtype = NDR_DTYPE_F32, .op = NDR_OP_MIN, .input = x,
                                                            .count = count, .output = y }));
    for (size_t i = 0; i < count; ++i)
        if (!(isnan(x[i]) ? isnan(y[i]) : y[i] == x[i])) fail_msg("element %zu is %g", i, (double)y[i]);
    free(x);
    free(y);
}

static void test_scan__refuses_what_it_cannot_do(void **state)
{
    int x[2] = { 0 };
    ndr_group_scan_desc desc = { .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .input = x, .count = 2 };
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_scan(group, &desc), "ndr_group_scan: output is NULL, but count is 2");
    desc.output = x, desc.op = NDR_OP_NONE;
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_scan(group, &desc), "rank");
    desc.dtype = NDR_DTYPE_F16;
    assert_refused(NDR_BAD_ARGUMENT, ndr_group_scan(group, &desc), "dtype is f16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group__has_the_contexts_that_it_was_given),
        cmocka_unit_test(test_group__has_all_devices_that_a_text_matches),
        cmocka_unit_test(test_group__has_the_parts_of_a_device),
        cmocka_unit_test(test_group__is_refused_without_ranks),
        cmocka_unit_test(test_each__does_each_row_once),
        cmocka_unit_test(test_each__divides_by_speed),
        cmocka_unit_test(test_each__leaves_rows_to_the_slowest),
        cmocka_unit_test(test_each__fails_with_the_rank),
        cmocka_unit_test(test_matmul__is_that_of_one_device),
        cmocka_unit_test(test_matmul__refuses_wrong_matrices),
        cmocka_unit_test(test_reduce__is_that_of_one_device),
        cmocka_unit_test(test_reduce__reproduces_the_bits_of_one_device),
        cmocka_unit_test(test_reduce__reproduces_the_bits_of_long_sums),
        cmocka_unit_test(test_reduce__refuses_what_it_cannot_do),
        cmocka_unit_test(test_map__is_that_of_one_device),
        cmocka_unit_test(test_map__leaves_an_input_as_it_is),
        cmocka_unit_test(test_map__reports_the_failure_of_a_rank),
        cmocka_unit_test(test_scan__is_that_of_one_device),
        cmocka_unit_test(test_scan__of_extremes_without_nan),
        cmocka_unit_test(test_scan__refuses_what_it_cannot_do),
    };
    return cmocka_run_group_tests(tests, open_group, close_group);
}
