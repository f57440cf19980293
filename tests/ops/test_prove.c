/* test_prove.c - variants that use more than OpenCL C: taken once their results were right, else replaced. */
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "forcing.h"
#include "device/context.h"
#include "ops/matmul/matmul.h"
#include "ops/progress.h"
#include "ops/scan/scan.h"
#include "ops/sort/sort.h"

/* ---- an operation that counts what is asked of it ---- */

typedef struct counts {
    unsigned proofs, plain, special;
} counts;

static counts seen;
static atomic_bool is_proving;
static ndr_status proof_status;
static bool proof_is_right;

static void plan(const ndr_op_case *of, ndr_op_plan *out)
{
    *out = (ndr_op_plan){ 0 };
}

static ndr_status run_plain(ndr_op_job *job)
{
    ++seen.plain;
    return NDR_OK;
}

static ndr_status run_special(ndr_op_job *job)
{
    ++seen.special;
    return NDR_OK;
}

static ndr_status prove(ndr_queue *on, const ndr_op_variant *variant, bool *is_right)
{
    assert_ptr_not_equal(on, queue);
    assert_string_equal(variant->name, "special");
    ++seen.proofs;
    *is_right = proof_is_right;
    return proof_status == NDR_OK ? NDR_OK : ndr_fail(proof_status, "a reason");
}

static const ndr_op_variant special = { .name = "special",
                                        .needs = NDR_NEEDS_BF16_MMA,
                                        .plan = plan,
                                        .launch = run_special,
                                        .prove = prove,
                                        .proves_later = true };
static const ndr_op_variant plain = { .name = "plain", .plan = plan, .launch = run_plain };
static const ndr_op_variant *const variants[] = { &special, &plain };

static ndr_op_work work_of(const void *request)
{
    return (ndr_op_work){ 0 };
}

static const ndr_operation operation = {
    .name = "counting", .variants = variants, .variant_count = 2, .work_of = work_of
};

/* ---- a device that may take the variant ---- */

typedef struct bench {
    ndr_context *context;
    ndr_queue *queue;
} bench;

static char folder[4096];
static char logged[8192];

static void keep_logged(ndr_log_level level, const char *id, const char *text, void *user)
{
    if (strncmp(id, "op.", 3) != 0) return;
    const size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "%s %s\n", id, text);
}

static bench open_bench(const char *cache, unsigned disabled)
{
    bench b;
    set_env("NDR_CACHE", cache);
    assert_ok(ndr_context_create(NULL, &b.context));
    restore_env();
    b.context->caps.info.warp_size = 32;
    b.context->caps.disabled = disabled;
    assert_ok(ndr_queue_create(b.context, NULL, &b.queue));
    seen = (counts){ 0 };
    logged[0] = '\0';
    assert_ok(ndr_log_set(NDR_LOG_WARN, keep_logged, NULL));
    return b;
}

static void close_bench(bench *b)
{
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
    ndr_queue_destroy(b->queue);
    ndr_context_destroy(b->context);
}

/* Run the operation twice on a new context, the second time when all variants have been tried, and check who was asked
 * how often. */
static void check_two_runs(const char *cache, unsigned disabled, counts wanted)
{
    bench b = open_bench(cache, disabled);
    for (unsigned i = 0; i < 2; ++i) {
        assert_ok(ndr_op_run(&operation, &(ndr_order){ .queue = b.queue }, NULL, NULL));
        ndr_op_wait_for_trials(b.context);
    }
    assert_int_equal(seen.proofs, wanted.proofs);
    assert_int_equal(seen.special, wanted.special);
    assert_int_equal(seen.plain, wanted.plain);
    close_bench(&b);
}

static void expect_proof(ndr_status status, bool is_right)
{
    proof_status = status;
    proof_is_right = is_right;
    remove_folder(folder);
}

/* ---- the tests ---- */

static void test_prove__takes_a_variant_that_is_right_and_asks_it_once(void **state)
{
    expect_proof(NDR_OK, true);
    check_two_runs(folder, 0, (counts){ .proofs = 1, .plain = 1, .special = 1 }); /* meanwhile another does it */
    check_two_runs(folder, 0, (counts){ .special = 2 });                          /* known from disk */
    assert_string_equal(logged, "");
    check_two_runs("off", 0, (counts){ .proofs = 1, .plain = 1, .special = 1 });
}

static void test_prove__replaces_a_variant_that_is_wrong_and_keeps_that(void **state)
{
    expect_proof(NDR_OK, false);
    check_two_runs(folder, 0, (counts){ .proofs = 1, .plain = 2 });
    assert_non_null(strstr(logged, "op.refused counting: variant special is not used on device \""));
    assert_non_null(strstr(logged, "\": its results are wrong\n"));
    check_two_runs(folder, 0, (counts){ .plain = 2 });
    assert_non_null(strstr(logged, "\": it was refused before: its results are wrong\n"));
}

static void test_prove__replaces_a_variant_that_does_not_build_and_keeps_that(void **state)
{
    expect_proof(NDR_BUILD_FAILED, true);
    check_two_runs(folder, 0, (counts){ .proofs = 1, .plain = 2 });
    assert_non_null(strstr(logged, "\": a reason\n"));
    check_two_runs(folder, 0, (counts){ .plain = 2 });
}

/* What a driver fails at once may work the next time. */
static void test_prove__does_not_keep_a_failure_of_the_driver(void **state)
{
    expect_proof(NDR_DRIVER_ERROR, true);
    check_two_runs(folder, 0, (counts){ .proofs = 1, .plain = 2 });
    check_two_runs(folder, 0, (counts){ .proofs = 1, .plain = 2 });
}

/* Another variant does it meanwhile. */
static void test_prove__asks_a_variant_again_that_had_no_memory(void **state)
{
    expect_proof(NDR_OUT_OF_DEVICE_MEMORY, true);
    bench b = open_bench(folder, 0);
    const ndr_order order = { .queue = b.queue };
    assert_ok(ndr_op_run(&operation, &order, NULL, NULL));
    ndr_op_wait_for_trials(b.context);
    assert_int_equal(seen.plain, 1);
    assert_non_null(strstr(logged, "op.refused counting: variant special is not used on device \""));
    proof_status = NDR_OK;
    assert_ok(ndr_op_run(&operation, &order, NULL, NULL));
    ndr_op_wait_for_trials(b.context);
    assert_ok(ndr_op_run(&operation, &order, NULL, NULL));
    assert_int_equal(seen.plain, 2);
    assert_int_equal(seen.special, 1);
    assert_int_equal(seen.proofs, 2);
    close_bench(&b);
}

/* The second time after one call, then after 1, 3, 7 others. */
static void test_prove__rests_between_trials_without_memory(void **state)
{
    static const unsigned proofs[] = { 1, 2, 2, 3, 3, 3, 3, 4 };
    expect_proof(NDR_OUT_OF_DEVICE_MEMORY, false);
    bench b = open_bench("off", 0);
    for (size_t i = 0; i < NDR_COUNT_OF(proofs); ++i) {
        assert_ok(ndr_op_run(&operation, &(ndr_order){ .queue = b.queue }, NULL, NULL));
        ndr_op_wait_for_trials(b.context);
        assert_int_equal(seen.proofs, proofs[i]);
    }
    close_bench(&b);
}

/* The driver may build for one thread at a time. */
static ndr_status run_before_proofs(ndr_op_job *job)
{
    ndr_op_wait_for_trials(job->context);
    assert_int_equal(seen.proofs, 0);
    return run_plain(job);
}

static void test_prove__begins_after_the_call(void **state)
{
    const ndr_op_variant first = { .name = "first", .plan = plan, .launch = run_before_proofs };
    const ndr_op_variant *const both[] = { &special, &first };
    const ndr_operation counting = { .name = "counting", .variants = both, .variant_count = 2, .work_of = work_of };
    expect_proof(NDR_OK, true);
    bench b = open_bench("off", 0);
    assert_ok(ndr_op_run(&counting, &(ndr_order){ .queue = b.queue }, NULL, NULL));
    ndr_op_wait_for_trials(b.context);
    assert_int_equal(seen.plain, 1);
    assert_int_equal(seen.proofs, 1);
    close_bench(&b);
}

/* Until the answer is known: then the slower build pays. */
static void test_prove__runs_what_builds_faster_meanwhile(void **state)
{
    const ndr_op_variant slow = { .name = "slow", .plan = plan, .launch = run_special, .meanwhile = &plain };
    const ndr_op_variant *const both[] = { &special, &slow };
    const ndr_operation counting = { .name = "counting", .variants = both, .variant_count = 2, .work_of = work_of };
    expect_proof(NDR_OK, false);
    bench b = open_bench("off", 0);
    assert_ok(ndr_op_run(&counting, &(ndr_order){ .queue = b.queue }, NULL, NULL));
    assert_int_equal(seen.plain, 1);
    assert_int_equal(seen.special, 0);
    ndr_op_wait_for_trials(b.context);
    assert_ok(ndr_op_run(&counting, &(ndr_order){ .queue = b.queue }, NULL, NULL));
    assert_int_equal(seen.plain, 1);
    assert_int_equal(seen.special, 1);
    close_bench(&b);
}

/* What names the implementation, and what builds it ahead, waits for the answer. */
static void test_prove__tries_a_variant_at_once_for_an_explanation(void **state)
{
    char text[256];
    expect_proof(NDR_OK, true);
    bench b = open_bench("off", 0);
    assert_ok(ndr_op_explain_in(&operation, b.context, NULL, sizeof text, text, NULL));
    assert_int_equal(seen.proofs, 1);
    assert_int_equal(strncmp(text, "special;", strlen("special;")), 0);
    assert_ok(ndr_op_run(&operation, &(ndr_order){ .queue = b.queue }, NULL, NULL));
    assert_int_equal(seen.special, 1);
    close_bench(&b);
}

/* Without another variant the first call waits. */
static void test_prove__tries_the_only_variant_at_once(void **state)
{
    const ndr_operation alone = { .name = "alone", .variants = variants, .variant_count = 1, .work_of = work_of };
    expect_proof(NDR_OK, true);
    bench b = open_bench("off", 0);
    assert_ok(ndr_op_run(&alone, &(ndr_order){ .queue = b.queue }, NULL, NULL));
    assert_int_equal(seen.proofs, 1);
    assert_int_equal(seen.special, 1);
    close_bench(&b);
}

/* A proof that lasts until its context is destroyed. */
static ndr_status prove_until_the_end(ndr_queue *on, const ndr_op_variant *variant, bool *is_right)
{
    *is_right = true;
    atomic_store(&is_proving, true);
    while (ndr_op_goes_on(on) == NDR_OK) ndr_thread_yield();
    const ndr_status status = ndr_op_goes_on(on);
    atomic_store(&is_proving, false);
    return status;
}

static const ndr_op_variant endless = { .name = "special",
                                        .needs = NDR_NEEDS_BF16_MMA,
                                        .plan = plan,
                                        .launch = run_special,
                                        .prove = prove_until_the_end,
                                        .proves_later = true };
static const ndr_op_variant *const endless_and_plain[] = { &endless, &plain };
static const ndr_operation long_tried = {
    .name = "counting", .variants = endless_and_plain, .variant_count = 2, .work_of = work_of
};

static void test_prove__ends_with_the_context_and_keeps_nothing(void **state)
{
    expect_proof(NDR_OK, true);
    bench b = open_bench(folder, 0);
    for (unsigned i = 0; i < 2; ++i) assert_ok(ndr_op_run(&long_tried, &(ndr_order){ .queue = b.queue }, NULL, NULL));
    assert_int_equal(seen.plain, 2);
    while (!atomic_load(&is_proving)) ndr_thread_yield();
    close_bench(&b);
    assert_false(atomic_load(&is_proving));
    check_two_runs(folder, 0, (counts){ .proofs = 1, .plain = 1, .special = 1 });
}

/* This program again: it ends while a variant is tried, and leaves the context to the system. */
static const char *self;

static void tell_whether_it_proves(void)
{
    if (atomic_load(&is_proving)) _exit(3);
}

static int end_while_it_proves(void)
{
    static ndr_context *own; /* nothing destroys them */
    static ndr_queue *on;
    if (ndr_context_create(NULL, &own) != NDR_OK || ndr_queue_create(own, NULL, &on) != NDR_OK) return 1;
    if (atexit(tell_whether_it_proves) != 0) return 1; /* called after what is registered later */
    own->caps.info.warp_size = 32;
    own->caps.disabled = 0;
    if (ndr_op_run(&long_tried, &(ndr_order){ .queue = on }, NULL, NULL) != NDR_OK) return 1;
    while (!atomic_load(&is_proving)) ndr_thread_yield();
    return 0;
}

static void test_prove__ends_with_the_process(void **state)
{
    int ended;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("TSAN_OPTIONS", "report_thread_leaks=0", 1); /* nothing joins the thread, which has ended its work */
        execl(self, self, "end", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 0);
}

static void test_prove__asks_no_variant_that_is_turned_off(void **state)
{
    expect_proof(NDR_OK, true);
    check_two_runs("off", NDR_DISABLE_PTX, (counts){ .plain = 2 });
}

/* ---- a variant without memory ---- */

static void plan_too_much(const ndr_op_case *of, ndr_op_plan *out)
{
    *out = (ndr_op_plan){ .workspace_bytes = SIZE_MAX / 2 };
}

static ndr_status prove_by_running(ndr_queue *on, const ndr_op_variant *variant, bool *is_right)
{
    ++seen.proofs;
    *is_right = true;
    return ndr_op_run_variant(variant, &(ndr_order){ .queue = on }, NULL, NULL);
}

/* What runs instead of it is right, but says nothing of it. */
static void test_prove__does_not_judge_a_variant_by_the_one_instead_of_it(void **state)
{
    static const ndr_op_variant large = { .name = "large",
                                          .file = "large",
                                          .needs = NDR_NEEDS_BF16_MMA,
                                          .plan = plan_too_much,
                                          .launch = run_special,
                                          .prove = prove_by_running,
                                          .instead = &plain };
    static const ndr_op_variant *const both[] = { &large, &plain };
    static const ndr_operation own = { .name = "large", .variants = both, .variant_count = 2, .work_of = work_of };
    remove_folder(folder);
    for (int i = 0; i < 2; ++i) { /* nothing is kept */
        bench b = open_bench(folder, 0);
        assert_ok(ndr_op_run(&own, &(ndr_order){ .queue = b.queue }, NULL, NULL));
        assert_int_equal(seen.proofs, 1);
        assert_int_equal(seen.special, 0);
        assert_int_equal(seen.plain, 1);
        assert_non_null(strstr(logged, "op.refused large: variant large is not used on device \""));
        close_bench(&b);
    }
}

/* ---- products ---- */

static ndr_status run_nothing(ndr_op_job *job)
{
    return NDR_OK;
}

/* Round normal numbers to 11 bits, as the variant may. */
static void round_elements(ndr_queue *on, const ndr_operand *matrix)
{
    const size_t bytes = ndr_buffer_size(matrix->buffer);
    uint32_t *bits = malloc(bytes);
    assert_ok(ndr_buffer_read(on, matrix->buffer, 0, bytes, bits, NULL));
    for (size_t i = 0; i < bytes / 4; ++i) {
        const uint32_t exponent = bits[i] >> 23 & 255;
        if (exponent != 0 && exponent != 255) bits[i] &= ~UINT32_C(0x1fff);
    }
    assert_ok(ndr_buffer_write(on, matrix->buffer, 0, bytes, bits, NULL));
    free(bits);
}

static ndr_status run_rounded(ndr_op_job *job)
{
    const ndr_matmul_request *r = job->of.request;
    assert_int_equal(r->accuracy, NDR_ACCURACY_TF32);
    round_elements(job->order->queue, &r->a);
    round_elements(job->order->queue, &r->b);
    return ndr_op_run_variant(variant_of(&ndr_matmul_operation, "tiled"), job->order, r, NULL);
}

/* A product whose elements have errors of 2^-12, as with parts that are left out. */
static ndr_status run_inexactly(ndr_op_job *job)
{
    ndr_matmul_request request = *(const ndr_matmul_request *)job->of.request;
    request.alpha *= 1 + 0x1p-12;
    return ndr_op_run_variant(variant_of(&ndr_matmul_operation, "tiled"), job->order, &request, NULL);
}

static bool is_proved(const ndr_op_variant *variant)
{
    bool is_right;
    assert_ok(ndr_matmul_prove(queue, variant, &is_right));
    return is_right;
}

static void test_prove__tells_right_products_from_wrong_ones(void **state)
{
    skip_without(!quick(), "large products take minutes");
    const ndr_op_variant *tiled = variant_of(&ndr_matmul_operation, "tiled");
    const ndr_op_variant idle = { .name = "idle", .plan = tiled->plan, .launch = run_nothing };
    const ndr_op_variant inexact = { .name = "inexact", .plan = tiled->plan, .launch = run_inexactly };
    const ndr_op_variant coarse = {
        .name = "coarse", .needs = NDR_NEEDS_ROUNDED_MMA, .plan = tiled->plan, .launch = run_inexactly
    };
    const ndr_op_variant rounded = { .name = "rounded",
                                     .needs = NDR_NEEDS_ROUNDED_MMA,
                                     .cannot = ndr_matmul_is_unusual,
                                     .write = tiled->write,
                                     .plan = tiled->plan,
                                     .launch = run_rounded };
    assert_true(is_proved(tiled));
    assert_false(is_proved(&idle));
    assert_false(is_proved(&inexact));
    assert_false(is_proved(&coarse)); /* only elements may be rounded */
    assert_true(is_proved(&rounded));
}

/* A driver whose binaries are no PTX, on a device that says to have warps. */
static void test_prove__multiplies_by_a_plain_variant_where_ptx_does_not_build(void **state)
{
    const float ones[64] = { [0] = 2, [63] = 3 };
    float got = 0;
    skip_without(device.warp_size == 0, "the device has warps");
    bench b = open_bench("off", 0);
    ndr_buffer *x, *c;
    assert_ok(ndr_buffer_create_from(b.context, sizeof ones, ones, &x));
    assert_ok(ndr_buffer_create(b.context, sizeof got, &c));
    const ndr_matmul_desc desc = {
        .dtype = NDR_DTYPE_F32, .a = { x, 0, 1, 64, 0 }, .b = { x, 0, 64, 1, 0 }, .c = { c, 0, 1, 1, 0 }
    };
    assert_ok(force_in(b.context, &ndr_matmul_operation, "three_parts"));
    assert_ok(ndr_matmul(b.queue, &desc, NULL));
    assert_ok(ndr_buffer_read(b.queue, c, 0, sizeof got, &got, NULL));
    assert_true(got == 13);
    assert_non_null(strstr(logged, "op.refused matmul: variant three_parts is not used on device \""));
    assert_non_null(strstr(logged, "\"matmul/three_parts.cl\" did not build for \""));
    assert_non_null(strstr(logged, " as PTX for sm_90a: the driver's binary is not PTX\n"));
    assert_refused(NDR_UNSUPPORTED, force_in(b.context, &ndr_matmul_operation, "three_parts"),
                   "matmul: three_parts needs PTX that multiplies matrices of bfloat16, which device \"");
    destroy_buffers(x, c);
    close_bench(&b);
}

/* Its kernel's text is written around the epilogue: instructions in comments must not stay there. */
static void test_prove__does_not_run_a_product_with_an_epilogue_whose_ptx_does_not_build(void **state)
{
    skip_without(device.warp_size == 0, "the device has warps");
    bench b = open_bench("off", 0);
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F16,
                                   .a = { NULL, 0, 128, 64, 0 },
                                   .b = { NULL, 0, 64, 128, 0 },
                                   .c = { NULL, 0, 128, 128, 0 },
                                   .epilogue = "r + 1" };
    ndr_matmul_request request;
    ndr_matmul_epilogue epilogue;
    ndr_kernel *kernel;
    assert_ok(ndr_matmul_make_request("ndr_matmul", b.context, &desc, &epilogue, &request));
    assert_ok(ndr_core_get(b.context, &request.core));
    assert_refused(NDR_BUILD_FAILED,
                   ndr_op_build_variant(variant_of(&ndr_matmul_operation, "units"), b.context, &request, NULL, &kernel),
                   " as PTX for sm_90a: the driver's binary is not PTX");
    close_bench(&b);
}

/* Buffers of more than 512 KiB are refused, so there is no workspace for parts. */
static void check_without_memory(bench *b, ndr_buffer *x, ndr_buffer *c, size_t m, size_t k, const char *name)
{
    const ndr_matmul_desc desc = { .dtype = NDR_DTYPE_F32,
                                   .a = { x, 0, m, k, 0 },
                                   .b = { x, 0, k, m, 0 },
                                   .c = { c, 0, m, m, 0 },
                                   .accuracy = NDR_ACCURACY_TF32 };
    float *got = malloc(m * m * sizeof *got);
    char wanted[64];
    ndr_event *event;
    logged[0] = '\0';
    b->context->caps.info.max_buffer_bytes = 1 << 19;
    assert_ok(force_in(b->context, &ndr_matmul_operation, name));
    assert_ok(ndr_log_set(NDR_LOG_INFO, keep_logged, NULL));
    assert_ok(ndr_matmul(b->queue, &desc, &event));
    assert_ok(ndr_event_wait(event));
    assert_ok(ndr_buffer_read(b->queue, c, 0, m * m * sizeof *got, got, NULL));
    for (size_t i = 0; i < m * m; ++i) assert_true(got[i] == (float)k);
    snprintf(wanted, sizeof wanted, "op.row matmul: blocked instead of %s: ", name);
    assert_non_null(strstr(logged, wanted));
    ndr_event_destroy(event);
    free(got);
}

static void test_prove__multiplies_by_a_plain_variant_without_memory_for_parts(void **state)
{
    enum { M = 200, K = 600 };
    static float ones[M * K];
    const char *const names[] = { "halves", "rounded" };
    for (size_t i = 0; i < M * K; ++i) ones[i] = 1;
    skip_without(device.warp_size == 32, "the device has no warps of 32");
    bench b = open_bench("off", 0);
    const size_t most = b.context->caps.info.max_buffer_bytes;
    ndr_buffer *x, *c;
    bool is_right = true;
    assert_ok(ndr_buffer_create_from(b.context, sizeof ones, ones, &x));
    assert_ok(ndr_buffer_create(b.context, M * M * sizeof(float), &c));
    for (size_t i = 0; i < NDR_COUNT_OF(names) && is_right; ++i) {
        b.context->caps.info.max_buffer_bytes = most;
        assert_ok(
            ndr_op_prove(&ndr_matmul_operation, b.context, variant_of(&ndr_matmul_operation, names[i]), &is_right));
        if (is_right) check_without_memory(&b, x, c, M, K, names[i]);
    }
    destroy_buffers(x, c);
    close_bench(&b);
    skip_without(is_right, "the device has no PTX for matrices of bfloat16 and half");
}

/* ---- scans and sorts whose groups wait for each other ---- */

static bool waits_for_groups(void) { return device.type == NDR_DEVICE_TYPE_CPU || context->caps.groups_progress; }

static bool goes_on(void)
{
    bool is_so = false;
    assert_ok(ndr_progress_prove(queue, &is_so));
    return is_so;
}

static void test_prove__tells_whether_groups_go_on(void **state)
{
    skip_without(waits_for_groups(), "no document says that the device's groups go on");
    const unsigned before = ndr_progress_looks;
    assert_true(goes_on());
    ndr_progress_looks = 0;
    assert_false(goes_on());
    ndr_progress_looks = before;
}

/* Groups whose turn never comes: the turns that have ended are more than there are groups. All end, and say so. */
static void test_prove__does_not_wait_for_groups_for_ever(void **state)
{
    enum { GROUPS = 50, LOOKS = 1000 };
    const cl_uint before[] = { 0, 0, GROUPS + 1 };
    cl_uint after[3];
    const ndr_kernel_desc desc = { .name = "probe_progress", .bundled = "probe/progress.cl" };
    ndr_kernel *kernel;
    ndr_buffer *marks = buffer_of(sizeof before, before);
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    const size_t items = fitting_group(kernel, 4);
    assert_ok(ndr_launch(queue, kernel, ndr_nd_range_1d(GROUPS * items, items), marks, (cl_uint)LOOKS));
    take_buffer(marks, after, sizeof after);
    assert_int_equal(after[0], GROUPS);
    assert_int_equal(after[1], 1);
    assert_int_equal(after[2], GROUPS + 1 + GROUPS);
}

static ndr_status run_tiles(const ndr_operation *of, ndr_op_job *job, const void *request)
{
    return ndr_op_run_variant(variant_of(of, "tiles"), job->order, request, NULL);
}

static ndr_status scan_the_other_way(ndr_op_job *job)
{
    ndr_scan_request r = *(const ndr_scan_request *)job->of.request;
    r.is_backward = !r.is_backward;
    return run_tiles(&ndr_scan_operation, job, &r);
}

static ndr_status scan_one_less(ndr_op_job *job)
{
    ndr_scan_request r = *(const ndr_scan_request *)job->of.request;
    --r.input.cols;
    --r.output.cols;
    return run_tiles(&ndr_scan_operation, job, &r);
}

static ndr_status sort_falling(ndr_op_job *job)
{
    ndr_sort_request r = *(const ndr_sort_request *)job->of.request;
    r.is_descending = true;
    return run_tiles(&ndr_sort_operation, job, &r);
}

static ndr_status sort_by_fewer_bits(ndr_op_job *job)
{
    ndr_sort_request r = *(const ndr_sort_request *)job->of.request;
    r.bits = 24;
    return run_tiles(&ndr_sort_operation, job, &r);
}

static ndr_status sort_keys_alone(ndr_op_job *job)
{
    ndr_sort_request r = *(const ndr_sort_request *)job->of.request;
    r.value_bytes = 0;
    return run_tiles(&ndr_sort_operation, job, &r);
}

static bool is_right(ndr_status (*proof)(ndr_queue *on, const ndr_op_variant *variant, bool *right),
                     ndr_status (*launch)(ndr_op_job *job))
{
    const ndr_op_variant variant = { .name = "made up", .file = "made up", .plan = plan, .launch = launch };
    bool right = false;
    assert_ok(proof(queue, &variant, &right));
    return right;
}

static ndr_status scan_rightly(ndr_op_job *job) { return run_tiles(&ndr_scan_operation, job, job->of.request); }
static ndr_status sort_rightly(ndr_op_job *job) { return run_tiles(&ndr_sort_operation, job, job->of.request); }

static void test_prove__tells_right_scans_and_sorts_from_wrong_ones(void **state)
{
    skip_without(!quick(), "millions of elements take minutes");
    skip_without(waits_for_groups(), "no document says that the device's groups go on");
    assert_true(is_right(ndr_scan_prove, scan_rightly));
    assert_false(is_right(ndr_scan_prove, run_nothing));
    assert_false(is_right(ndr_scan_prove, scan_the_other_way));
    assert_false(is_right(ndr_scan_prove, scan_one_less));
    assert_true(is_right(ndr_sort_prove, sort_rightly));
    assert_false(is_right(ndr_sort_prove, run_nothing));
    assert_false(is_right(ndr_sort_prove, sort_falling));
    assert_false(is_right(ndr_sort_prove, sort_by_fewer_bits));
    assert_false(is_right(ndr_sort_prove, sort_keys_alone));
}

static ndr_status scan_or_sort(const ndr_operation *of, ndr_queue *on, ndr_span in, size_t count, ndr_span out)
{
    const ndr_dtype dtype = NDR_DTYPE_U32;
    const ndr_scan_desc scan = { .dtype = dtype, .op = NDR_OP_MAX, .input = in, .count = count, .output = out };
    const ndr_sort_desc sort = { .dtype = dtype, .keys = in, .count = count, .sorted_keys = out };
    return of == &ndr_scan_operation ? ndr_scan(on, &scan, NULL) : ndr_sort(on, &sort, NULL);
}

/* Both give rising numbers unchanged. */
static void check_replaced(const ndr_operation *of, const char *name)
{
    enum { COUNT = 3000 };
    uint32_t host[COUNT], got[COUNT];
    char wanted[128];
    ndr_buffer *in, *out;
    bench b = open_bench("off", 0);
    b.context->caps.info.warp_size = device.warp_size;
    b.context->caps.groups_progress = true;
    for (uint32_t i = 0; i < COUNT; ++i) host[i] = i;
    assert_ok(ndr_buffer_create_from(b.context, sizeof host, host, &in));
    assert_ok(ndr_buffer_create(b.context, sizeof got, &out));
    assert_ok(force_in(b.context, of, name));
    assert_ok(scan_or_sort(of, b.queue, (ndr_span){ in, 0 }, COUNT, (ndr_span){ out, 0 }));
    assert_ok(ndr_buffer_read(b.queue, out, 0, sizeof got, got, NULL));
    assert_memory_equal(got, host, sizeof got);
    snprintf(wanted, sizeof wanted, "op.refused %s: variant %s is not used on device \"", of->name, name);
    assert_non_null(strstr(logged, wanted));
    assert_non_null(strstr(logged, "\": its results are wrong\n"));
    snprintf(wanted, sizeof wanted, "%s: %s needs groups ", of->name, name);
    assert_refused(NDR_UNSUPPORTED, force_in(b.context, of, name), wanted, "that go on while others wait for them");
    destroy_buffers(in, out);
    close_bench(&b);
}

static void test_prove__replaces_scans_and_sorts_where_groups_do_not_go_on(void **state)
{
    skip_without(device.has_int64_atomics && device.max_group_size >= 256,
                 "the device lacks 64-bit atomics, or groups of 256");
    const unsigned before = ndr_progress_looks;
    ndr_progress_looks = 0;
    check_replaced(&ndr_scan_operation, "look_back");
    check_replaced(&ndr_sort_operation, "one_sweep");
    ndr_progress_looks = before;
}

static int open_folder(void **state)
{
    char here[2048];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(folder, sizeof folder, "%s/kept", here);
    return open_device(state);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "end") == 0) return end_while_it_proves();
    self = argv[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prove__takes_a_variant_that_is_right_and_asks_it_once),
        cmocka_unit_test(test_prove__replaces_a_variant_that_is_wrong_and_keeps_that),
        cmocka_unit_test(test_prove__replaces_a_variant_that_does_not_build_and_keeps_that),
        cmocka_unit_test(test_prove__does_not_keep_a_failure_of_the_driver),
        cmocka_unit_test(test_prove__asks_a_variant_again_that_had_no_memory),
        cmocka_unit_test(test_prove__rests_between_trials_without_memory),
        cmocka_unit_test(test_prove__begins_after_the_call),
        cmocka_unit_test(test_prove__runs_what_builds_faster_meanwhile),
        cmocka_unit_test(test_prove__tries_a_variant_at_once_for_an_explanation),
        cmocka_unit_test(test_prove__tries_the_only_variant_at_once),
        cmocka_unit_test(test_prove__ends_with_the_context_and_keeps_nothing),
        cmocka_unit_test(test_prove__ends_with_the_process),
        cmocka_unit_test(test_prove__asks_no_variant_that_is_turned_off),
        cmocka_unit_test(test_prove__does_not_judge_a_variant_by_the_one_instead_of_it),
        cmocka_unit_test(test_prove__tells_right_products_from_wrong_ones),
        cmocka_unit_test(test_prove__multiplies_by_a_plain_variant_where_ptx_does_not_build),
        cmocka_unit_test(test_prove__does_not_run_a_product_with_an_epilogue_whose_ptx_does_not_build),
        cmocka_unit_test(test_prove__multiplies_by_a_plain_variant_without_memory_for_parts),
        cmocka_unit_test(test_prove__tells_whether_groups_go_on),
        cmocka_unit_test(test_prove__does_not_wait_for_groups_for_ever),
        cmocka_unit_test(test_prove__tells_right_scans_and_sorts_from_wrong_ones),
        cmocka_unit_test(test_prove__replaces_scans_and_sorts_where_groups_do_not_go_on),
    };
    return cmocka_run_group_tests_name("prove", tests, open_folder, close_device);
}
