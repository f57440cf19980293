/* test_workspace.c - the memory that a queue's operations share: lent to one after the other, valid again after a
 * failure. */
#include "support.h"

#include "forcing.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "ops/scan/scan.h"
#include "ops/sort/sort.h"

static void test_workspace__begins_with_zeros_and_grows(void **state)
{
    ndr_queue *line;
    ndr_workspace *workspace;
    assert_ok(ndr_queue_create(context, NULL, &line));
    for (size_t bytes = NDR_WORKSPACE_HEAD_BYTES; bytes <= (size_t)1 << 22; bytes *= 16) {
        assert_ok(ndr_workspace_borrow(line, bytes, &workspace));
        ndr_buffer *buffer = ndr_workspace_buffer(workspace);
        assert_true(ndr_buffer_size(buffer) >= bytes);
        uint32_t head[NDR_WORKSPACE_HEAD];
        assert_ok(ndr_buffer_read(line, buffer, 0, sizeof head, head, NULL));
        for (size_t i = 0; i < COUNT_OF(head); ++i) assert_int_equal(head[i], 0);
        ndr_workspace_return(workspace, NULL);
    }
    ndr_buffer *const largest = ndr_workspace_buffer(workspace);
    assert_ok(ndr_workspace_borrow(line, 1, &workspace));
    assert_ptr_equal(ndr_workspace_buffer(workspace), largest);
    ndr_workspace_return(workspace, NULL);
    ndr_queue_destroy(line);
}

static void test_workspace__that_cannot_be_had_is_refused_and_not_lent(void **state)
{
    ndr_workspace *workspace = NULL;
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_workspace_borrow(queue, SIZE_MAX, &workspace), "a buffer of");
    assert_null(workspace);
    assert_ok(ndr_workspace_borrow(queue, 1, &workspace)); /* if still borrowed, this would wait for ever */
    ndr_workspace_return(workspace, NULL);
}

/* Marks of a new workspace are 0, and those of other launches hold other numbers. */
static void test_workspace__gives_each_launch_a_number_of_its_own(void **state)
{
    ndr_queue *line;
    ndr_workspace *workspace;
    assert_ok(ndr_queue_create(context, NULL, &line));
    for (unsigned i = 1; i <= 4; i += 2) {
        assert_ok(ndr_workspace_borrow(line, 1, &workspace));
        assert_int_equal(ndr_workspace_take_number(workspace), i);
        assert_int_equal(ndr_workspace_take_number(workspace), i + 1);
        ndr_workspace_return(workspace, NULL);
    }
    ndr_queue_destroy(line);
}

static void assert_zeros(ndr_queue *line, ndr_buffer *buffer)
{
    const size_t words = ndr_buffer_size(buffer) / sizeof(uint32_t);
    uint32_t *const host = malloc(words * sizeof *host);
    assert_non_null(host);
    assert_ok(ndr_buffer_read(line, buffer, 0, words * sizeof *host, host, NULL));
    for (size_t i = 0; i < words; ++i) assert_int_equal(host[i], 0);
    free(host);
}

/* What a launch with that number leaves in it. */
static void spoil(ndr_queue *line, ndr_buffer *buffer, uint32_t number)
{
    assert_ok(ndr_buffer_fill(line, buffer, 0, ndr_buffer_size(buffer), &number, sizeof number, NULL));
}

static void test_workspace__keeps_numbered_words_until_they_are_too_few(void **state)
{
    ndr_queue *line;
    ndr_workspace *workspace;
    ndr_buffer *first, *again, *larger;
    assert_ok(ndr_queue_create(context, NULL, &line));
    assert_ok(ndr_workspace_borrow(line, 1, &workspace));
    assert_ok(ndr_workspace_get_numbered(workspace, context, 1, &first));
    assert_zeros(line, first);
    spoil(line, first, ndr_workspace_take_number(workspace));
    assert_ok(ndr_workspace_get_numbered(workspace, context, ndr_buffer_size(first), &again));
    assert_ptr_equal(again, first);
    const size_t bytes = ndr_buffer_size(first) + 4;
    assert_ok(ndr_workspace_get_numbered(workspace, context, bytes, &larger));
    assert_true(ndr_buffer_size(larger) >= bytes);
    assert_zeros(line, larger);
    assert_ok(ndr_workspace_get_numbered(workspace, context, 1, &again));
    assert_ptr_equal(again, larger);
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_workspace_get_numbered(workspace, context, SIZE_MAX - 3, &again),
                   "a buffer of");
    assert_ok(ndr_workspace_get_numbered(workspace, context, 1, &again));
    assert_ptr_equal(again, larger);
    ndr_workspace_return(workspace, NULL);
    ndr_queue_destroy(line);
}

/* Numbers of 32 bits come again. */
static void test_workspace__renews_numbered_words_before_a_number_comes_again(void **state)
{
    enum { MOST = 5 };
    const unsigned before = ndr_max_numbers;
    ndr_queue *line;
    ndr_workspace *workspace;
    ndr_buffer *words;
    assert_ok(ndr_queue_create(context, NULL, &line));
    assert_ok(ndr_workspace_borrow(line, 1, &workspace));
    ndr_max_numbers = MOST;
    for (unsigned round = 0; round < 2; ++round) {
        assert_ok(ndr_workspace_get_numbered(workspace, context, 1, &words));
        assert_zeros(line, words);
        for (unsigned i = 0; i < MOST; ++i) spoil(line, words, ndr_workspace_take_number(workspace));
        ndr_buffer *const kept = words;
        assert_ok(ndr_workspace_get_numbered(workspace, context, 1, &words));
        assert_ptr_equal(words, kept);
        spoil(line, words, ndr_workspace_take_number(workspace));
    }
    ndr_max_numbers = before;
    ndr_workspace_return(workspace, NULL);
    ndr_queue_destroy(line);
}

/* ---- sums of more than one group ---- */

enum { COUNT = 40000 };

/* More than one chunk. */
static size_t count_to_reduce(void) { return quick() ? 16400 : COUNT; }

static ndr_buffer *ones(void)
{
    static int32_t host[COUNT];
    for (size_t i = 0; i < COUNT; ++i) host[i] = 1;
    return buffer_of(sizeof host, host);
}

static ndr_status sum_to(ndr_queue *line, ndr_buffer *input, size_t count, ndr_reduce_method method, ndr_buffer *sums,
                         size_t place)
{
    const ndr_reduce_desc desc = { .dtype = NDR_DTYPE_I32,
                                   .op = NDR_OP_SUM,
                                   .method = method,
                                   .input = { input, 0 },
                                   .count = count,
                                   .output = { sums, place } };
    return ndr_reduce(line, &desc, NULL);
}

static ndr_reduce_method method_of(const ndr_op_variant *variant)
{
    unsigned method = NDR_REDUCE_TREE;
    while (ndr_op_cannot(variant, &(ndr_reduce_request){ .method = (ndr_reduce_method)method })) ++method;
    return (ndr_reduce_method)method;
}

/* A launch that fails midway leaves its slot in an unknown state, and words with its number. This writes garbage
 * instead of a launch. */
static void fail_one(ndr_queue *line)
{
    ndr_workspace *workspace;
    ndr_buffer *words;
    uint32_t garbage[NDR_SLOT_WORDS];
    memset(garbage, 0x25, sizeof garbage);
    assert_ok(ndr_workspace_borrow(line, NDR_WORKSPACE_HEAD_BYTES, &workspace));
    const size_t slot = ndr_workspace_take_slot(workspace);
    assert_ok(
        ndr_buffer_write(line, ndr_workspace_buffer(workspace), slot * sizeof garbage, sizeof garbage, garbage, NULL));
    assert_ok(ndr_workspace_get_numbered(workspace, context, 1, &words));
    spoil(line, words, ndr_workspace_take_number(workspace));
    ndr_workspace_return(workspace, NULL);
}

static void check_after_failures(const ndr_op_variant *variant)
{
    ndr_queue *line;
    ndr_buffer *input = ones(), *sum = buffer_of(4, NULL);
    assert_ok(ndr_queue_create(context, NULL, &line));
    for (size_t failures = 0; failures < (quick() ? 1 : 3); ++failures) {
        fail_one(line);
        for (size_t i = 0; i < NDR_SLOTS + 1; ++i) {
            int32_t got = 0;
            const size_t count = count_to_reduce() - i; /* the partials of the launch before would be wrong */
            assert_ok(sum_to(line, input, count, method_of(variant), sum, 0));
            assert_ok(ndr_buffer_read(line, sum, 0, sizeof got, &got, NULL));
            assert_int_equal(got, count);
        }
    }
    destroy_buffers(input, sum);
    ndr_queue_destroy(line);
}

static void test_workspace__that_a_failed_launch_spoilt_serves_the_next(void **state)
{
    for (size_t i = 0; i < ndr_reduce_operation.variant_count; ++i) {
        const ndr_op_variant *variant = ndr_reduce_operation.variants[i];
        if (!takes_variant(&ndr_reduce_operation, variant) || !strstr(variant->name, "chunks")) continue; /* others use no slot */
        force(&ndr_reduce_operation, variant->name);
        check_after_failures(variant);
    }
    force(&ndr_reduce_operation, NULL);
}

/* Zeros that a queue writes fail with the work before them. Then memory holds what it held before. */
static void test_workspace__made_behind_work_that_fails_serves_the_next(void **state)
{
    enum { BYTES = 1 << 19, MARK = 0x25252525 };
    skip_where_launches_are_waited_for();
    skip_without(!quick(), "a simulator runs work when it is enqueued");
    ndr_queue *line;
    ndr_event *gate;
    int32_t got = 0;
    ndr_buffer *input = ones(), *sum = buffer_of(4, NULL), *held = buffer_of(4, NULL);
    assert_ok(ndr_queue_create(context, NULL, &line));
    for (int i = 0; i < 3; ++i) {
        ndr_buffer *before = buffer_of(BYTES, NULL);
        spoil(queue, before, MARK);
        assert_ok(ndr_queue_finish(queue));
        ndr_buffer_destroy(before);
    }
    assert_ok(ndr_event_create(context, &gate));
    assert_ok(ndr_buffer_fill(ndr_after(line, gate), held, 0, 4, &got, sizeof got, NULL));
    assert_ok(sum_to(line, input, COUNT, NDR_REDUCE_TREE, sum, 0));
    assert_ok(ndr_event_fail(gate, NDR_NOT_FOUND, "lost"));
    assert_refused(NDR_NOT_FOUND, ndr_queue_finish(line), "lost");
    for (size_t i = 0; i < NDR_SLOTS + 1; ++i) {
        assert_ok(sum_to(line, input, COUNT - i, NDR_REDUCE_TREE, sum, 0));
        assert_ok(ndr_buffer_read(line, sum, 0, sizeof got, &got, NULL));
        assert_int_equal(got, COUNT - i);
    }
    ndr_event_destroy(gate);
    destroy_buffers(held, sum, input);
    ndr_queue_destroy(line);
}

/* ---- scans and sorts whose groups wait for each other ---- */

/* Falling numbers. */
static uint32_t element(size_t i) { return (uint32_t)(COUNT - i); }

static ndr_buffer *falling(void)
{
    static uint32_t host[COUNT];
    for (size_t i = 0; i < COUNT; ++i) host[i] = element(i);
    return buffer_of(sizeof host, host);
}

static ndr_status run(const ndr_operation *operation, ndr_queue *line, ndr_buffer *input, size_t count,
                      ndr_buffer *output)
{
    if (operation == &ndr_scan_operation)
        return ndr_scan(line,
                        &(ndr_scan_desc){ .dtype = NDR_DTYPE_U32,
                                          .op = NDR_OP_SUM,
                                          .input = { input, 0 },
                                          .count = count,
                                          .output = { output, 0 } },
                        NULL);
    return ndr_sort(line,
                    &(ndr_sort_desc){ .dtype = NDR_DTYPE_U32,
                                      .keys = { input, 0 },
                                      .count = count,
                                      .sorted_keys = { output, 0 } },
                    NULL);
}

static void check_output(const ndr_operation *operation, ndr_queue *line, size_t count, ndr_buffer *output)
{
    static uint32_t got[COUNT];
    uint32_t sum = 0;
    assert_ok(ndr_buffer_read(line, output, 0, count * sizeof *got, got, NULL));
    for (size_t i = 0; i < count; ++i) {
        sum += element(i);
        assert_int_equal(got[i], operation == &ndr_scan_operation ? sum : element(count - 1 - i));
    }
}

static void check_runs_after_failures(const ndr_operation *operation)
{
    ndr_queue *line;
    ndr_buffer *input = falling(), *output = buffer_of(COUNT * sizeof(uint32_t), NULL);
    assert_ok(ndr_queue_create(context, NULL, &line));
    for (size_t failures = 0; failures < (quick() ? 1 : 3); ++failures) {
        fail_one(line);
        for (size_t i = 0; i < NDR_SLOTS + 1; ++i) {
            assert_ok(run(operation, line, input, count_to_reduce() - i, output));
            check_output(operation, line, count_to_reduce() - i, output);
        }
    }
    destroy_buffers(input, output);
    ndr_queue_destroy(line);
}

/* Call `check` with each variant whose groups wait for each other. */
static void check_waiting(void (*check)(const ndr_operation *operation))
{
    static const ndr_operation *const operations[] = { &ndr_scan_operation, &ndr_sort_operation };
    const unsigned waits = NDR_NEEDS_PROGRESS | NDR_NEEDS_COPY_ENGINE | NDR_NEEDS_VOTES;
    for (size_t i = 0; i < COUNT_OF(operations); ++i) {
        for (size_t v = 0; v < operations[i]->variant_count; ++v) {
            const ndr_op_variant *variant = operations[i]->variants[v];
            if (!(variant->needs & waits) || !takes_variant(operations[i], variant)) continue;
            force(operations[i], variant->name);
            check(operations[i]);
        }
        force(operations[i], NULL);
    }
}

static void test_workspace__that_a_failed_launch_spoilt_serves_scans_and_sorts(void **state)
{
    check_waiting(check_runs_after_failures);
}

/* ---- out of order ---- */

static ndr_queue *out_of_order_line(void)
{
    ndr_queue *line = NULL;
    const ndr_status status = ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &line);
    if (status != NDR_UNSUPPORTED) assert_ok(status);
    return line;
}

/* One operation after another, without waiting. Each operation's steps run in order, and no operation uses another's
 * partial results. */
static void check_sums(ndr_queue *line, ndr_buffer *input, ndr_reduce_method method)
{
    enum { SUMS = 40 };
    int32_t got[SUMS];
    memset(got, 0xff, sizeof got);
    ndr_buffer *sums = buffer_of(sizeof got, got);
    const size_t operations = quick() ? 3 : SUMS;
    for (size_t i = 0; i < operations; ++i) assert_ok(sum_to(line, input, count_to_reduce() - i, method, sums, i));
    assert_ok(ndr_queue_finish(line));
    assert_ok(ndr_buffer_read(line, sums, 0, sizeof got, got, NULL));
    for (size_t i = 0; i < operations; ++i) assert_int_equal(got[i], count_to_reduce() - i);
    ndr_buffer_destroy(sums);
}

static void test_workspace__keeps_reductions_apart_on_a_queue_out_of_order(void **state)
{
    ndr_queue *line = out_of_order_line();
    skip_without(line, "the device has no out-of-order queues");
    ndr_buffer *input = ones();
    for (size_t i = 0; i < ndr_reduce_operation.variant_count; ++i) {
        const ndr_op_variant *variant = ndr_reduce_operation.variants[i];
        if (!takes_variant(&ndr_reduce_operation, variant)) continue;
        force(&ndr_reduce_operation, variant->name);
        check_sums(line, input, method_of(variant));
    }
    force(&ndr_reduce_operation, NULL);
    ndr_buffer_destroy(input);
    ndr_queue_destroy(line);
}

static void enlarge(ndr_queue *line, size_t size_bytes)
{
    ndr_workspace *workspace;
    ndr_buffer *words;
    assert_ok(ndr_workspace_borrow(line, size_bytes, &workspace));
    assert_ok(ndr_workspace_get_numbered(workspace, context, size_bytes, &words));
    ndr_workspace_return(workspace, NULL);
}

/* Without waiting, and with another workspace now and then. */
static void check_runs_out_of_order(const ndr_operation *operation)
{
    enum { RUNS = 12 };
    ndr_queue *line = out_of_order_line();
    ndr_buffer *input = falling(), *outputs[RUNS];
    const size_t runs = quick() ? 3 : RUNS;
    for (size_t i = 0; i < runs; ++i) {
        outputs[i] = buffer_of(COUNT * sizeof(uint32_t), NULL);
        if (i % 3 == 2) enlarge(line, (size_t)1 << (19 + i / 3));
        assert_ok(run(operation, line, input, count_to_reduce() - i, outputs[i]));
    }
    assert_ok(ndr_queue_finish(line));
    for (size_t i = 0; i < runs; ++i) {
        check_output(operation, line, count_to_reduce() - i, outputs[i]);
        ndr_buffer_destroy(outputs[i]);
    }
    ndr_buffer_destroy(input);
    ndr_queue_destroy(line);
}

static void test_workspace__keeps_scans_and_sorts_apart_on_a_queue_out_of_order(void **state)
{
    ndr_queue *line = out_of_order_line();
    skip_without(line, "the device has no out-of-order queues");
    ndr_queue_destroy(line);
    check_waiting(check_runs_out_of_order);
}

/* Products of 1s by 1s over more and more columns of a and rows of b. */
static void check_products(ndr_queue *line, ndr_buffer *ones_of_f32)
{
    enum { M = 8, MOST_N = 100, MOST_K = 60, PRODUCTS = 20 };
    const size_t n = quick() ? 10 : MOST_N, k = quick() ? 6 : MOST_K;
    static float got[PRODUCTS * M * MOST_N];
    memset(got, 0xff, sizeof got);
    ndr_buffer *products = buffer_of(sizeof got, got);
    const size_t operations = quick() ? 3 : PRODUCTS;
    for (size_t i = 0; i < operations; ++i) {
        const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                       .a = { ones_of_f32, 0, M, k - i, 0 },
                                       .b = { ones_of_f32, 0, k - i, n, 0 },
                                       .c = { products, i * M * n, M, n, 0 } };
        assert_ok(ndr_matmul(line, &desc, NULL));
    }
    assert_ok(ndr_queue_finish(line));
    assert_ok(ndr_buffer_read(line, products, 0, sizeof got, got, NULL));
    for (size_t i = 0; i < operations * M * n; ++i) assert_true(got[i] == (float)(k - i / (M * n)));
    ndr_buffer_destroy(products);
}

static void test_workspace__keeps_products_apart_on_a_queue_out_of_order(void **state)
{
    ndr_queue *line = out_of_order_line();
    skip_without(line, "the device has no out-of-order queues");
    static float host[60 * 100];
    for (size_t i = 0; i < COUNT_OF(host); ++i) host[i] = 1;
    ndr_buffer *ones_of_f32 = buffer_of(sizeof host, host);
    for (size_t i = 0; i < ndr_matmul_operation.variant_count; ++i) {
        if (!takes_variant(&ndr_matmul_operation, ndr_matmul_operation.variants[i])) continue;
        force(&ndr_matmul_operation, ndr_matmul_operation.variants[i]->name);
        check_products(line, ones_of_f32);
    }
    force(&ndr_matmul_operation, NULL);
    ndr_buffer_destroy(ones_of_f32);
    ndr_queue_destroy(line);
}

/* What waits for failed work is refused, so the workspace stops waiting for that work. */
static void test_workspace__of_a_queue_out_of_order_does_not_wait_for_work_that_failed(void **state)
{
    ndr_queue *line = out_of_order_line();
    skip_without(line, "the device has no out-of-order queues");
    ndr_event *failed;
    assert_ok(ndr_event_create(context, &failed));
    ndr_workspace *workspace;
    assert_ok(ndr_workspace_borrow(line, 1, &workspace));
    ndr_workspace_return(workspace, failed);
    assert_ok(ndr_workspace_borrow(line, 1, &workspace));
    assert_ptr_equal(ndr_workspace_busy_until(workspace), failed);
    ndr_workspace_return(workspace, NULL);
    assert_ok(ndr_event_fail(failed, NDR_NOT_FOUND, "lost"));
    assert_ok(ndr_workspace_borrow(line, 1, &workspace));
    assert_null(ndr_workspace_busy_until(workspace));
    ndr_workspace_return(workspace, NULL);
    ndr_event_destroy(failed);
    ndr_queue_destroy(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workspace__begins_with_zeros_and_grows),
        cmocka_unit_test(test_workspace__that_cannot_be_had_is_refused_and_not_lent),
        cmocka_unit_test(test_workspace__gives_each_launch_a_number_of_its_own),
        cmocka_unit_test(test_workspace__keeps_numbered_words_until_they_are_too_few),
        cmocka_unit_test(test_workspace__renews_numbered_words_before_a_number_comes_again),
        cmocka_unit_test(test_workspace__that_a_failed_launch_spoilt_serves_the_next),
        cmocka_unit_test(test_workspace__made_behind_work_that_fails_serves_the_next),
        cmocka_unit_test(test_workspace__that_a_failed_launch_spoilt_serves_scans_and_sorts),
        cmocka_unit_test(test_workspace__keeps_reductions_apart_on_a_queue_out_of_order),
        cmocka_unit_test(test_workspace__keeps_scans_and_sorts_apart_on_a_queue_out_of_order),
        cmocka_unit_test(test_workspace__keeps_products_apart_on_a_queue_out_of_order),
        cmocka_unit_test(test_workspace__of_a_queue_out_of_order_does_not_wait_for_work_that_failed),
    };
    return cmocka_run_group_tests_name("workspace", tests, open_with_progress, close_device);
}
