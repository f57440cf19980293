/* test_select.c - variants by name: forced, refused with the reason, and skipped if they do not build. */
#include "support.h"

#include "forcing.h"
#include "device/context.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"

static void test_select__refuses_a_name_that_no_variant_has(void **state)
{
    assert_refused(NDR_NOT_FOUND, force_in(context, &ndr_reduce_operation, "bubbles"),
                   "reduce has no variant \"bubbles\"; it has tree_chunks, ", ", recursive");
    assert_null(forced_in(context, &ndr_reduce_operation));
}

static void test_select__forces_a_variant_until_it_is_told_otherwise(void **state)
{
    force(&ndr_reduce_operation, "tree_groups");
    assert_string_equal(forced_in(context, &ndr_reduce_operation), "tree_groups");
    force(&ndr_reduce_operation, "recursive");
    assert_string_equal(forced_in(context, &ndr_reduce_operation), "recursive");
    force(&ndr_reduce_operation, NULL);
    assert_null(forced_in(context, &ndr_reduce_operation));
}

/* ---- what operations log ---- */

static char logged[4096];

static void keep_logged(ndr_log_level level, const char *id, const char *text, void *user)
{
    if (strncmp(id, "op.", 3) != 0) return;
    const size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "%d %s %s\n", (int)level, id, text);
}

/* ---- a device without memory order between groups ---- */

typedef struct unordered {
    ndr_context *context;
    ndr_queue *queue;
    ndr_buffer *input, *output;
} unordered;

enum { COUNT = 40000 };

static unordered open_unordered(void)
{
    static int32_t ones[COUNT];
    for (size_t i = 0; i < COUNT; ++i) ones[i] = 1;
    unordered u;
    set_env("NDR_DISABLE", "memory_order");
    assert_ok(ndr_context_create(NULL, &u.context));
    restore_env();
    assert_ok(ndr_queue_create(u.context, NULL, &u.queue));
    assert_ok(ndr_buffer_create_from(u.context, sizeof ones, ones, &u.input));
    assert_ok(ndr_buffer_create(u.context, sizeof(int32_t), &u.output));
    return u;
}

static void close_unordered(unordered *u)
{
    destroy_buffers(u->input, u->output);
    ndr_queue_destroy(u->queue);
    ndr_context_destroy(u->context);
}

static void check_sum(const unordered *u, ndr_reduce_method method)
{
    int32_t got = 0;
    const ndr_reduce_desc desc = {
        .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .method = method, .input = { u->input, 0 }, .count = COUNT,
        .output = { u->output, 0 }
    };
    assert_ok(ndr_reduce(u->queue, &desc, NULL));
    assert_ok(ndr_buffer_read(u->queue, u->output, 0, sizeof got, &got, NULL));
    assert_int_equal(got, COUNT);
}

static void test_select__refuses_a_variant_whose_needs_the_device_does_not_meet(void **state)
{
    static const char *const names[] = { "tree_chunks", "atomic_chunks" };
    unordered u = open_unordered();
    assert_false(u.context->caps.orders_device);
    for (size_t i = 0; i < 2; ++i)
        assert_refused(NDR_UNSUPPORTED, force_in(u.context, &ndr_reduce_operation, names[i]), "reduce: ", names[i],
                       " needs memory order between groups (OpenCL 3.0's acq_rel at device scope, or PTX), which device \"",
                       device.name);
    check_sum(&u, NDR_REDUCE_TREE);
    check_sum(&u, NDR_REDUCE_ATOMIC);
    close_unordered(&u);
}

/* A device that reports more than its compiler supports: NDR_DISABLE still removes memory order from the kernels. */
static void test_select__goes_on_to_the_next_variant_where_one_does_not_build(void **state)
{
    skip_without(takes_vectors(), "kernels for items with vector registers take minutes to compile");
    unordered u = open_unordered();
    u.context->caps.orders_device = true;
    assert_ok(force_in(u.context, &ndr_reduce_operation, "tree_chunks"));
    logged[0] = '\0';
    assert_ok(ndr_log_set(NDR_LOG_WARN, keep_logged, NULL));
    check_sum(&u, NDR_REDUCE_TREE);
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
    assert_non_null(strstr(logged, "op.lacks reduce: tree_chunks did not build, although device \""));
    assert_refused(NDR_UNSUPPORTED, force_in(u.context, &ndr_reduce_operation, "tree_chunks"),
                   "tree_chunks needs memory order between groups");
    check_sum(&u, NDR_REDUCE_ATOMIC);
    close_unordered(&u);
}

static void test_select__logs_which_variant_is_taken_and_why_not_the_others(void **state)
{
    char taken[128], *found;
    unordered u = open_unordered();
    snprintf(taken, sizeof taken, "%d op.row reduce: tree_groups; not tree_chunks: the device lacks ", NDR_LOG_DEBUG);
    assert_ok(force_in(u.context, &ndr_reduce_operation, "tree_groups"));
    logged[0] = '\0';
    assert_ok(ndr_log_set(NDR_LOG_DEBUG, keep_logged, NULL));
    check_sum(&u, NDR_REDUCE_TREE);
    assert_ok(ndr_log_set(NDR_LOG_INFO, keep_logged, NULL));
    check_sum(&u, NDR_REDUCE_TREE);
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
    found = strstr(logged, taken);
    assert_ptr_equal(found, logged);
    assert_null(strstr(found + strlen(taken), "op.row")); /* one line, and none at a lower level */
    assert_non_null(strstr(logged, "; not recursive: the call asks for another method"));
    close_unordered(&u);
}

static void test_select__explains_a_choice_without_a_call(void **state)
{
    char text[2000], start[8];
    size_t length;
    const ndr_reduce_desc sum = { .dtype = NDR_DTYPE_I32, .op = NDR_OP_SUM, .count = 100000 };
    ndr_reduce_desc typeless = sum;
    typeless.dtype = NDR_DTYPE_NONE;
    force(&ndr_reduce_operation, "tree_groups");
    assert_ok(ndr_reduce_explain(context, &sum, sizeof text, text, &length));
    assert_int_equal(length, strlen(text));
    assert_ptr_equal(strstr(text, "tree_groups; not tree_chunks: "), text);
    assert_non_null(strstr(text, "; not recursive: the call asks for another method"));
    assert_ok(ndr_reduce_explain(context, &sum, sizeof start, start, NULL));
    assert_string_equal(start, "tree_gr");
    force(&ndr_reduce_operation, NULL);
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce_explain(context, &typeless, 0, NULL, NULL), "dtype is not set");
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce_explain(context, &sum, 1, NULL, NULL), "_reduce_explain: text is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_reduce_explain(NULL, &sum, 0, NULL, NULL), "context is NULL");
}

static void test_select__explains_a_product(void **state)
{
    char text[4000];
    const ndr_matrix square = { .rows = 2000, .cols = 2000 }, empty = { .cols = 2000 };
    const ndr_matmul_desc product = { .dtype = NDR_DTYPE_F32, .a = square, .b = square, .c = square };
    const ndr_matmul_desc none = { .dtype = NDR_DTYPE_F32, .a = empty, .b = square, .c = empty };
    force(&ndr_matmul_operation, "tiled");
    assert_ok(ndr_matmul_explain(context, &product, sizeof text, text, NULL));
    force(&ndr_matmul_operation, NULL);
    assert_ptr_equal(strstr(text, "tiled; not thin: c has more rows than a strip"), text);
    assert_refused(NDR_BAD_ARGUMENT, ndr_matmul_explain(context, &none, sizeof text, text, NULL),
                   "ndr_matmul_explain: c is 0 x 2000; a product without elements runs no kernel");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select__refuses_a_name_that_no_variant_has),
        cmocka_unit_test(test_select__forces_a_variant_until_it_is_told_otherwise),
        cmocka_unit_test(test_select__refuses_a_variant_whose_needs_the_device_does_not_meet),
        cmocka_unit_test(test_select__goes_on_to_the_next_variant_where_one_does_not_build),
        cmocka_unit_test(test_select__logs_which_variant_is_taken_and_why_not_the_others),
        cmocka_unit_test(test_select__explains_a_choice_without_a_call),
        cmocka_unit_test(test_select__explains_a_product),
    };
    return cmocka_run_group_tests_name("select", tests, open_device, close_device);
}
