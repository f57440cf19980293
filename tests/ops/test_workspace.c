/* test_workspace.c - the memory that a queue's operations share: lent to one after the other, valid again after a
 * failure. */
#include "support.h"

#include "forcing.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void test_workspace__begins_with_zeros_and_grows(void **state)
{
    (void)state;
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
    (void)state;
    ndr_workspace *workspace = NULL;
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_workspace_borrow(queue, SIZE_MAX, &workspace), "a buffer of");
    assert_null(workspace);
    assert_ok(ndr_workspace_borrow(queue, 1, &workspace)); /* if still borrowed, this would wait for ever */
    ndr_workspace_return(workspace, NULL);
}

/* Marks of a new workspace are 0, and those of other launches hold other numbers. */
static void test_workspace__gives_each_launch_a_number_of_its_own(void **state)
{
    (void)state;
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

/* A launch that fails midway leaves its slot in an unknown state. This writes garbage instead of a launch. */
static void fail_one(ndr_queue *line)
{
    ndr_workspace *workspace;
    uint32_t garbage[NDR_SLOT_WORDS];
    memset(garbage, 0x25, sizeof garbage);
    assert_ok(ndr_workspace_borrow(line, NDR_WORKSPACE_HEAD_BYTES, &workspace));
    const size_t slot = ndr_workspace_take_slot(workspace);
    assert_ok(
        ndr_buffer_write(line, ndr_workspace_buffer(workspace), slot * sizeof garbage, sizeof garbage, garbage, NULL));
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
    ndr_buffer_destroy(input);
    ndr_buffer_destroy(sum);
    ndr_queue_destroy(line);
}

static void test_workspace__that_a_failed_launch_spoilt_serves_the_next(void **state)
{
    (void)state;
    for (size_t i = 0; i < ndr_reduce_operation.variant_count; ++i) {
        const ndr_op_variant *variant = ndr_reduce_operation.variants[i];
        if (!takes_variant(&ndr_reduce_operation, variant) || !strstr(variant->name, "chunks")) continue; /* others use no slot */
        force(&ndr_reduce_operation, variant->name);
        check_after_failures(variant);
    }
    force(&ndr_reduce_operation, NULL);
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
    (void)state;
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
    (void)state;
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
    (void)state;
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
        cmocka_unit_test(test_workspace__that_a_failed_launch_spoilt_serves_the_next),
        cmocka_unit_test(test_workspace__keeps_reductions_apart_on_a_queue_out_of_order),
        cmocka_unit_test(test_workspace__keeps_products_apart_on_a_queue_out_of_order),
        cmocka_unit_test(test_workspace__of_a_queue_out_of_order_does_not_wait_for_work_that_failed),
    };
    return cmocka_run_group_tests_name("workspace", tests, open_device, close_device);
}
