/* test_tune.c - ndr_tune(): what it refuses, what it reports, and which products then take its choice. */
#include "support.h"

#include "forcing.h"
#include "device/cache.h"
#include "device/context.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static const ndr_op_variant *other_row; /* tiled, which runs anywhere */

static void test_tune__refuses_what_is_no_product(void **state)
{
    const ndr_tune_desc good = { .dtype = NDR_DTYPE_F32, .m = 3, .n = 4, .k = 5 };
    ndr_tune_desc desc = good;
    assert_refused(NDR_BAD_ARGUMENT, ndr_tune(NULL, &good, NULL), "ndr_tune: context is NULL");
    assert_refused(NDR_BAD_ARGUMENT, ndr_tune(context, NULL, NULL), "ndr_tune: desc is NULL");
    desc.dtype = NDR_DTYPE_NONE;
    assert_refused(NDR_BAD_ARGUMENT, ndr_tune(context, &desc, NULL), "ndr_tune: dtype is not set; use f32 or f64");
    desc.dtype = NDR_DTYPE_I32;
    assert_refused(NDR_BAD_ARGUMENT, ndr_tune(context, &desc, NULL), "ndr_tune: dtype is i32; use f32 or f64");
    desc = good, desc.n = 0;
    assert_refused(NDR_BAD_ARGUMENT, ndr_tune(context, &desc, NULL),
                   "ndr_tune: m is 3, n is 0 and k is 5; each must be 1 or more");
    desc = good, desc.max_seconds = -1;
    assert_refused(NDR_BAD_ARGUMENT, ndr_tune(context, &desc, NULL), "ndr_tune: max_seconds is -1; use 0 or more");
    desc = good, desc.accuracy = (ndr_accuracy)2;
    assert_refused(NDR_BAD_ARGUMENT, ndr_tune(context, &desc, NULL),
                   "ndr_tune: accuracy is 2; use NDR_ACCURACY_FULL (0) or NDR_ACCURACY_TF32 (1)");
}

static void test_tune__refuses_what_is_too_large(void **state)
{
    ndr_tune_desc desc = { .dtype = NDR_DTYPE_F32, .m = 1, .n = 1, .k = (1 << 22) + 1 };
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_tune(context, &desc, NULL), "ndr_tune: k is 4194305; use at most 4194304");
    desc = (ndr_tune_desc){ .dtype = NDR_DTYPE_F32, .m = SIZE_MAX / 16, .n = 3, .k = 1 };
    assert_refused(NDR_LIMIT_EXCEEDED, ndr_tune(context, &desc, NULL), "ndr_tune: a product of ",
                   " x 3 x 1 exceeds the address space");
}

/* ---- which variants products take ---- */

static char logged[1024];

static void keep_logged(ndr_log_level level, const char *id, const char *text, void *user)
{
    if (strcmp(id, "op.row") == 0) snprintf(logged, sizeof logged, "%s", text);
}

/* The variant that a product of this size takes, as the log writes it: "matmul: NAME". */
static void assert_takes(const char *row, size_t m, size_t n, size_t k)
{
    char wanted[64];
    static const float zeros[64];
    ndr_buffer *buffers[] = { buffer_of(m * k * sizeof(float), zeros), buffer_of(k * n * sizeof(float), zeros),
                              buffer_of(m * n * sizeof(float), zeros) };
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .a = { buffers[0], 0, m, k, 0 },
                                   .b = { buffers[1], 0, k, n, 0 },
                                   .c = { buffers[2], 0, m, n, 0 } };
    assert_ok(ndr_log_set(NDR_LOG_DEBUG, keep_logged, NULL));
    assert_ok(ndr_matmul(queue, &desc, NULL));
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
    assert_ok(ndr_queue_finish(queue));
    for (size_t i = 0; i < 3; ++i) ndr_buffer_destroy(buffers[i]);
    snprintf(wanted, sizeof wanted, "matmul: %s; ", row);
    assert_memory_equal(logged, wanted, strlen(wanted));
}

static void test_tune__reports_variants_and_keeps_the_fastest(void **state)
{
    const ndr_tune_desc desc = { .dtype = NDR_DTYPE_F32, .m = 5, .n = 6, .k = 7, .max_seconds = quick() ? 1e-3 : 2 };
    ndr_tune_result result;
    assert_ok(ndr_tune(context, &desc, &result));
    assert_non_null(variant_of(&ndr_matmul_operation, result.row));
    assert_non_null(variant_of(&ndr_matmul_operation, result.listed_row));
    assert_true(result.seconds <= result.listed_seconds);
    assert_takes(result.row, 5, 6, 7);
    assert_takes(result.row, 8, 8, 8); /* of the same class */
}

static void test_tune__prefers_a_variant_for_its_class_alone(void **state)
{
    ndr_matmul_request of_class = { .dtype = NDR_DTYPE_F32, .c = { .rows = 3, .cols = 4 }, .depth = 3 };
    assert_ok(ndr_core_get(context, &of_class.core));
    assert_ok(ndr_op_prefer(context, &ndr_matmul_operation, ndr_matmul_class_of(&of_class), other_row));
    assert_takes("tiled", 3, 4, 3);
    assert_takes("tiled", 4, 3, 4);
    assert_ok(ndr_op_prefer(context, &ndr_matmul_operation, ndr_matmul_class_of(&of_class), NULL));
    assert_takes(ndr_op_select(&ndr_matmul_operation, &context->caps, 0, NULL, &of_class)->name, 3, 4, 3);
}

static void test_tune__classes_end_at_powers_of_two(void **state)
{
    ndr_matmul_request x = { .dtype = NDR_DTYPE_F32, .c = { .rows = 65, .cols = 128 }, .depth = 1 }, y = x;
    y.c.rows = 128, y.c.cols = 65;
    assert_int_equal(ndr_matmul_class_of(&x), ndr_matmul_class_of(&y));
    y = x, y.c.rows = 64;
    assert_int_not_equal(ndr_matmul_class_of(&x), ndr_matmul_class_of(&y));
    y = x, y.c.cols = 129;
    assert_int_not_equal(ndr_matmul_class_of(&x), ndr_matmul_class_of(&y));
    y = x, y.depth = 2;
    assert_int_not_equal(ndr_matmul_class_of(&x), ndr_matmul_class_of(&y));
    y = x, y.accuracy = NDR_ACCURACY_TF32;
    assert_int_not_equal(ndr_matmul_class_of(&x), ndr_matmul_class_of(&y));
    y = x, y.dtype = NDR_DTYPE_F64;
    assert_int_not_equal(ndr_matmul_class_of(&x), ndr_matmul_class_of(&y));
}

/* ---- on disk ---- */

static ndr_context *context_with_folder(const char *folder)
{
    ndr_context *made;
    set_env("NDR_CACHE", folder);
    assert_ok(ndr_context_create(NULL, &made));
    restore_env();
    return made;
}

static const char *preferred_in(ndr_context *in, const ndr_matmul_request *request)
{
    const ndr_op_variant *variant;
    ndr_lacks lacks;
    assert_ok(ndr_op_get_preferred(in, &ndr_matmul_operation, ndr_matmul_class_of(request), &variant, &lacks));
    return variant ? variant->name : "none";
}

static void test_tune__is_kept_for_later_contexts(void **state)
{
    char folder[512];
    assert_non_null(getcwd(folder, sizeof folder - 16));
    strcat(folder, "/tuned_rows");
    ndr_matmul_request request = { .dtype = NDR_DTYPE_F32, .c = { .rows = 3, .cols = 4 }, .depth = 3 };
    const uint32_t request_class = ndr_matmul_class_of(&request);
    ndr_context *first = context_with_folder(folder), *second;
    assert_ok(ndr_op_prefer(first, &ndr_matmul_operation, request_class, other_row));
    assert_ok(ndr_op_prefer(first, &ndr_matmul_operation, request_class + 1, other_row));
    assert_ok(ndr_op_keep_tuned(first, &ndr_matmul_operation));
    second = context_with_folder(folder);
    assert_string_equal(preferred_in(second, &request), "tiled");
    ndr_context_destroy(second);
    second = context_with_folder("off");
    assert_string_equal(preferred_in(second, &request), "none");
    ndr_context_destroy(second);
    char question[64], odd[96]; /* with a row of earlier states */
    snprintf(odd, sizeof odd, "x\n\n77 no_such_row\n%u few_rows\n99999999999999 tiled\n5 tiled", request_class);
    snprintf(question, sizeof question, "tuned variants of matmul, %u units", first->caps.info.compute_units);
    assert_true(ndr_cache_put(first, question, odd, strlen(odd)));
    second = context_with_folder(folder);
    assert_string_equal(preferred_in(second, &request), "none");
    ndr_context_destroy(second);
    ndr_context_destroy(first);
}

typedef struct reader {
    ndr_context *context;
    const ndr_matmul_request *request;
    atomic_int *ready;
} reader;

static void *read_preferred(void *reader_)
{
    reader *r = reader_;
    const ndr_op_variant *variant = NULL;
    ndr_lacks lacks;
    atomic_fetch_add(r->ready, 1);
    while (atomic_load(r->ready) < 2) {}
    return ndr_op_get_preferred(r->context, &ndr_matmul_operation, ndr_matmul_class_of(r->request), &variant, &lacks) == NDR_OK && variant ? r : NULL;
}

/* The first request of two threads at the same time: one reads the file, and the other must not go without it. */
static void test_tune__is_read_by_all_threads(void **state)
{
    enum { CONTEXTS = 200, CLASSES = 60 };
    char folder[512];
    assert_non_null(getcwd(folder, sizeof folder - 16));
    strcat(folder, "/tuned_rows");
    const ndr_matmul_request request = { .dtype = NDR_DTYPE_F32, .c = { .rows = 3, .cols = 4 }, .depth = 3 };
    const uint32_t request_class = ndr_matmul_class_of(&request);
    ndr_context *first = context_with_folder(folder);
    for (uint32_t i = 1; i < CLASSES; ++i)
        assert_ok(ndr_op_prefer(first, &ndr_matmul_operation, request_class + i, other_row));
    assert_ok(ndr_op_prefer(first, &ndr_matmul_operation, request_class, other_row));
    assert_ok(ndr_op_keep_tuned(first, &ndr_matmul_operation));
    for (int i = 0; i < CONTEXTS; ++i) {
        pthread_t thread;
        void *right;
        atomic_int ready = 0;
        reader r = { context_with_folder(folder), &request, &ready };
        assert_int_equal(pthread_create(&thread, NULL, read_preferred, &r), 0);
        assert_ptr_equal(read_preferred(&r), &r);
        pthread_join(thread, &right);
        assert_ptr_equal(right, &r);
        ndr_context_destroy(r.context);
    }
    ndr_context_destroy(first);
}

static void test_tune__keeps_a_limited_number_of_classes(void **state)
{
    ndr_context *own;
    assert_ok(ndr_context_create(NULL, &own));
    for (uint32_t i = 0; i < 64; ++i) assert_ok(ndr_op_prefer(own, &ndr_matmul_operation, i, other_row));
    assert_ok(ndr_op_prefer(own, &ndr_matmul_operation, 63, NULL));
    assert_refused(
        NDR_LIMIT_EXCEEDED, ndr_op_prefer(own, &ndr_matmul_operation, 64, other_row),
        "matmul: the context already keeps 64 tuned shapes, which is the limit; tune more in another context");
    ndr_context_destroy(own);
}

static void test_tune__a_full_context_still_runs_every_operation(void **state)
{
    ndr_context *own;
    const ndr_op_variant *variant;
    ndr_lacks lacks;
    assert_ok(ndr_context_create(NULL, &own));
    for (uint32_t i = 0; i < 64; ++i) assert_ok(ndr_op_prefer(own, &ndr_matmul_operation, i, other_row));
    assert_ok(ndr_op_get_preferred(own, &ndr_reduce_operation, 0, &variant, &lacks));
    assert_ok(ndr_op_get_preferred(own, &ndr_matmul_operation, 63, &variant, &lacks));
    assert_ptr_equal(variant, other_row);
    ndr_context_destroy(own);
}

int main(void)
{
    other_row = variant_of(&ndr_matmul_operation, "tiled");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tune__refuses_what_is_no_product),
        cmocka_unit_test(test_tune__refuses_what_is_too_large),
        cmocka_unit_test(test_tune__reports_variants_and_keeps_the_fastest),
        cmocka_unit_test(test_tune__prefers_a_variant_for_its_class_alone),
        cmocka_unit_test(test_tune__classes_end_at_powers_of_two),
        cmocka_unit_test(test_tune__is_kept_for_later_contexts),
        cmocka_unit_test(test_tune__is_read_by_all_threads),
        cmocka_unit_test(test_tune__keeps_a_limited_number_of_classes),
        cmocka_unit_test(test_tune__a_full_context_still_runs_every_operation),
    };
    return cmocka_run_group_tests_name("tune", tests, open_device, close_device);
}
