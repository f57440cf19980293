/* test_measure.c - the fastest variant of an operation made for this test: wrong, failing and slow variants are left out. */
#include "support.h"

#include "ops/job.h"
#include "ops/measure.h"

#include <math.h>

/* ---- an operation that fills a buffer with 7 ---- */

enum { BYTES = 1 << 10 };

/* A clock that only the variants advance. */
static int64_t now;
static int64_t read_clock(void) { return now; }

static ndr_buffer *filled;
static int request; /* variants ignore it */
static struct {
    size_t slow, fast, wrong, failing;
} runs;

static ndr_status fill(ndr_op_job *job, unsigned char value, int64_t ns)
{
    now += ns;
    return ndr_buffer_fill(job->order->queue, filled, 0, BYTES, &value, 1, NULL);
}

static void plan(const ndr_op_case *of, ndr_op_plan *made)
{
    *made = (ndr_op_plan){ 0 };
}

static const char *no(const ndr_op_case *of)
{
    return "it never can";
}

static ndr_status run_slow(ndr_op_job *job) { return ++runs.slow, fill(job, 7, 40000); }
static ndr_status run_fast(ndr_op_job *job) { return ++runs.fast, fill(job, 7, 1000); }
static ndr_status run_wrong(ndr_op_job *job) { return ++runs.wrong, (void)job, NDR_OK; }
static ndr_status run_failing(ndr_op_job *job) { return ++runs.failing, (void)job, ndr_fail(NDR_BUILD_FAILED, "no 7"); }

static const ndr_op_variant slow = { .name = "slow", .plan = plan, .launch = run_slow };
static const ndr_op_variant fast = { .name = "fast", .plan = plan, .launch = run_fast };
static const ndr_op_variant wrong = { .name = "wrong", .plan = plan, .launch = run_wrong };
static const ndr_op_variant failing = { .name = "failing", .plan = plan, .launch = run_failing };
static const ndr_op_variant never = { .name = "never", .cannot = no, .plan = plan, .launch = run_failing };

static ndr_status check(ndr_queue *on, const void *whole, bool *is_right)
{
    static unsigned char got[BYTES];
    const unsigned char other = 9;
    assert_ptr_equal(whole, &request);
    assert_ok(ndr_buffer_read(on, filled, 0, BYTES, got, NULL));
    *is_right = got[0] == 7 && memcmp(got, got + 1, BYTES - 1) == 0;
    return ndr_buffer_fill(on, filled, 0, BYTES, &other, 1, NULL);
}

static const ndr_op_sample sample = {
    .part = &request, .whole = &request, .part_count = 1, .check = check, .clock_ns = read_clock
};

/* ---- what was logged ---- */

static char logged[2048];

static void keep_logged(ndr_log_level level, const char *id, const char *text, void *user)
{
    const size_t used = strlen(logged);
    if (strcmp(id, "op.tune") == 0) snprintf(logged + used, sizeof logged - used, "%s\n", text);
}

/* ---- tests ---- */

static int set_up(void **state)
{
    memset(&runs, 0, sizeof runs);
    logged[0] = '\0';
    static const unsigned char zeros[BYTES];
    filled = buffer_of(BYTES, zeros);
    assert_ok(ndr_log_set(NDR_LOG_WARN, keep_logged, NULL));
    return 0;
}

static int tear_down(void **state)
{
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
    ndr_buffer_destroy(filled);
    return 0;
}

#define OPERATION(...)                                                                       \
    {                                                                                        \
        "fill", (const ndr_op_variant *const[]){ __VA_ARGS__ },                                  \
            sizeof((const ndr_op_variant *[]){ __VA_ARGS__ }) / sizeof(const ndr_op_variant *), NULL, NULL \
    }

static void test_measure__finds_a_variant_that_is_faster_than_the_first(void **state)
{
    const ndr_operation operation = OPERATION(&slow, &wrong, &failing, &never, &fast);
    ndr_op_winner winner;
    assert_ok(ndr_op_measure(&operation, queue, &sample, 30, &winner));
    assert_ptr_equal(winner.variant, &fast);
    assert_ptr_equal(winner.listed, &slow);
    assert_true(fabs(winner.seconds - 1e-6) < 1e-9 && fabs(winner.listed_seconds - 40e-6) < 1e-9);
}

static void test_measure__leaves_out_variants_that_are_wrong_or_fail(void **state)
{
    const ndr_operation operation = OPERATION(&fast, &wrong, &failing, &never);
    ndr_op_winner winner;
    assert_ok(ndr_op_measure(&operation, queue, &sample, 30, &winner));
    assert_ptr_equal(winner.variant, &fast);
    assert_int_equal(runs.failing, 1);
    assert_int_equal(runs.wrong, 5); /* four times to estimate it, once to check it */
    assert_string_equal(logged, "fill: wrong is left out: variant wrong gives a wrong result\n"
                                "fill: failing is left out: no 7\n");
}

static void test_measure__only_estimates_a_slow_variant(void **state)
{
    const ndr_operation operation = OPERATION(&fast, &slow);
    ndr_op_winner winner;
    assert_ok(ndr_op_measure(&operation, queue, &sample, 30, &winner));
    assert_ptr_equal(winner.variant, &fast);
    assert_int_equal(runs.slow, 4);
}

static void test_measure__keeps_the_first_variant_where_there_is_no_time(void **state)
{
    const ndr_operation operation = OPERATION(&slow, &fast);
    ndr_op_winner winner;
    assert_ok(ndr_op_measure(&operation, queue, &sample, 0, &winner));
    assert_ptr_equal(winner.variant, &slow);
    assert_int_equal(runs.fast, 0);
    assert_true(fabs(winner.seconds - 40e-6) < 1e-9 && fabs(winner.listed_seconds - 40e-6) < 1e-9);
}

static void test_measure__refuses_a_first_variant_that_is_wrong(void **state)
{
    const ndr_operation operation = OPERATION(&wrong, &fast);
    ndr_op_winner winner;
    assert_refused(NDR_DRIVER_ERROR, ndr_op_measure(&operation, queue, &sample, 30, &winner),
                   "variant wrong gives a wrong result");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_measure__finds_a_variant_that_is_faster_than_the_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_measure__leaves_out_variants_that_are_wrong_or_fail, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_measure__only_estimates_a_slow_variant, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_measure__keeps_the_first_variant_where_there_is_no_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_measure__refuses_a_first_variant_that_is_wrong, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("measure", tests, open_device, close_device);
}
