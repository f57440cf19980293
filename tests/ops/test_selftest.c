/* test_selftest.c - ndr_selftest(): what it finds is used and kept, and its requests tell wrong results from right ones. */
#include "support.h"

#include <unistd.h>

#include "device/context.h"
#include "device/queue.h"
#include "files.h"
#include "forcing.h"
#include "ops/selftest.h"

/* ---- an operation of two variants, whose results and failures a test chooses ---- */

enum { ANSWER = 7, LARGE = -1 };

typedef struct behaviour {
    int result;
    ndr_status status;
    unsigned runs;
} behaviour;

static behaviour first, second;
static bool has_large; /* request 0 is one that the second variant cannot run */

static ndr_status run_as(ndr_op_job *job, behaviour *b)
{
    int *const result = *(int *const *)job->of.request;
    ++b->runs;
    *result = b->result;
    return b->status == NDR_OK ? NDR_OK : ndr_fail(b->status, "a reason");
}

static ndr_status run_first(ndr_op_job *job) { return run_as(job, &first); }
static ndr_status run_second(ndr_op_job *job) { return run_as(job, &second); }

static void plan(const ndr_op_case *of, ndr_op_plan *out)
{
    *out = (ndr_op_plan){ 0 };
}

static const char *cannot_be_large(const ndr_op_case *of)
{
    return **(int *const *)of->request == LARGE ? "it is large" : NULL;
}

static const ndr_op_variant first_variant = { .name = "first", .plan = plan, .launch = run_first };
static const ndr_op_variant second_variant = {
    .name = "second", .cannot = cannot_be_large, .plan = plan, .launch = run_second
};
static const ndr_op_variant *const variants[] = { &first_variant, &second_variant };

static ndr_op_work work_of(const void *request)
{
    return (ndr_op_work){ 0 };
}

static const ndr_operation operation = { .name = "planted", .variants = variants, .variant_count = 2, .work_of = work_of };

static ndr_status ask(ndr_trial *t, size_t i)
{
    int got = has_large && i == 0 ? LARGE : 0, *const request = &got;
    if (i == 1) return NDR_OK; /* does not apply */
    if (t->explains)
        return ndr_op_explain_in(&operation, t->queue->context, &request, sizeof t->taken, t->taken, NULL);
    NDR_TRY(ndr_op_run(&operation, &(ndr_order){ .queue = t->queue }, &request, NULL));
    if (got != ANSWER) snprintf(t->fault, sizeof t->fault, "it is %d instead of %d", got, ANSWER);
    return NDR_OK;
}

static const ndr_answers planted = { &operation, 3, ask };

/* ---- contexts with a store, and what they log and tell ---- */

static char folder[4096], logged[8192], told[4096];

static void keep_logged(ndr_log_level level, const char *id, const char *text, void *user)
{
    const size_t used = strlen(logged);
    if (strcmp(id, "op.refused") == 0) snprintf(logged + used, sizeof logged - used, "%s\n", text);
}

static ndr_context *open_with(const char *cache)
{
    ndr_context *made;
    set_env("NDR_CACHE", cache);
    assert_ok(ndr_context_create(NULL, &made));
    restore_env();
    first.runs = second.runs = 0;
    logged[0] = told[0] = '\0';
    assert_ok(ndr_log_set(NDR_LOG_WARN, keep_logged, NULL));
    return made;
}

static void close_with(ndr_context *made)
{
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
    ndr_context_destroy(made);
}

/* "first 0 ?, " before, and "first 2 kept: it is 3 instead of 7, " afterwards; answers with the action at `user`. */
static ndr_selftest_action tell(const ndr_selftest_row *row, void *user)
{
    const size_t used = strlen(told);
    assert_string_equal(row->operation, "planted");
    snprintf(told + used, sizeof told - used, "%s %d%s%s%s, ", row->implementation, (int)row->verdict,
             row->is_done ? row->is_kept ? " kept" : " not kept" : "?", *row->fault ? ": " : "", row->fault);
    return row->is_done ? NDR_SELFTEST_DEFAULT : *(const ndr_selftest_action *)user;
}

static ndr_status test_with(ndr_context *in, ndr_selftest_action action)
{
    return ndr_selftest_run(in, &planted, 1, tell, &action);
}

/* What the operation's call gives. */
static int call(ndr_context *in)
{
    int got = 0, *const request = &got;
    ndr_queue *own;
    assert_ok(ndr_queue_create(in, NULL, &own));
    assert_ok(ndr_op_run(&operation, &(ndr_order){ .queue = own }, &request, NULL));
    ndr_queue_destroy(own);
    return got;
}

static void assert_call_refused(ndr_context *in)
{
    int got = 0, *const request = &got;
    ndr_queue *own;
    assert_ok(ndr_queue_create(in, NULL, &own));
    assert_refused(NDR_UNSUPPORTED, ndr_op_run(&operation, &(ndr_order){ .queue = own }, &request, NULL),
                   "ndr_planted: no implementation gives right results on device \"");
    ndr_queue_destroy(own);
}

static void expect(behaviour of_first, behaviour of_second)
{
    first = of_first;
    second = of_second;
    remove_folder(folder);
}

/* ---- what is found ---- */

static void test_selftest__keeps_that_a_variant_is_right(void **state)
{
    expect((behaviour){ .result = ANSWER }, (behaviour){ .result = 3 });
    ndr_context *in = open_with(folder);
    assert_ok(test_with(in, NDR_SELFTEST_DEFAULT));
    assert_string_equal(told, "first 0?, first 1 kept, ");
    assert_int_equal(first.runs, 2);
    assert_int_equal(call(in), ANSWER);
    close_with(in);

    in = open_with(folder);
    assert_ok(test_with(in, NDR_SELFTEST_DEFAULT));
    assert_string_equal(told, "first 1?, first 1 kept, ");
    assert_int_equal(first.runs, 0);
    assert_ok(test_with(in, NDR_SELFTEST_RUN));
    assert_int_equal(first.runs, 2);
    assert_string_equal(logged, "");
    close_with(in);
}

static void test_selftest__replaces_a_variant_that_is_wrong_and_keeps_that(void **state)
{
    expect((behaviour){ .result = 3 }, (behaviour){ .result = ANSWER });
    ndr_context *in = open_with(folder);
    assert_int_equal(call(in), 3);
    assert_ok(test_with(in, NDR_SELFTEST_DEFAULT));
    assert_string_equal(told, "first 0?, first 2 kept: it is 3 instead of 7, second 0?, second 1 kept, ");
    assert_non_null(strstr(logged, "planted: variant first is not used on device \""));
    assert_non_null(strstr(logged, "\": it is 3 instead of 7\n"));
    assert_int_equal(call(in), ANSWER);
    close_with(in);

    in = open_with(folder);
    assert_int_equal(call(in), ANSWER);
    assert_int_equal(call(in), ANSWER);
    assert_int_equal(first.runs, 0);
    assert_non_null(strstr(logged, "\": it was refused before: it is 3 instead of 7\n"));
    assert_null(strstr(strchr(logged, '\n') + 1, "refused before")); /* once a context */
    assert_ok(test_with(in, NDR_SELFTEST_DEFAULT));
    assert_string_equal(told, "first 2?: it is 3 instead of 7, first 2 kept: it is 3 instead of 7, "
                              "second 1?, second 1 kept, ");
    assert_int_equal(first.runs, 0);
    close_with(in);
}

static void test_selftest__uses_a_variant_again_that_is_right_now(void **state)
{
    expect((behaviour){ .result = 3 }, (behaviour){ .result = ANSWER });
    ndr_context *in = open_with(folder);
    assert_ok(test_with(in, NDR_SELFTEST_RUN));
    first.result = ANSWER;
    second.result = 3;
    assert_ok(test_with(in, NDR_SELFTEST_RUN));
    assert_int_equal(call(in), ANSWER);
    close_with(in);
    in = open_with(folder);
    assert_int_equal(call(in), ANSWER);
    assert_string_equal(logged, "");
    close_with(in);
}

static void test_selftest__refuses_an_operation_without_a_right_variant(void **state)
{
    expect((behaviour){ .result = 3 }, (behaviour){ .result = 4 });
    ndr_context *in = open_with(folder);
    assert_refused(NDR_UNSUPPORTED, test_with(in, NDR_SELFTEST_RUN),
                   "ndr_planted: no implementation gives right results on device \"");
    assert_refused(NDR_UNSUPPORTED, test_with(in, NDR_SELFTEST_RUN), "set NDR_SELFTEST=off to use it nevertheless");
    assert_call_refused(in);
    close_with(in);
    in = open_with(folder);
    assert_call_refused(in);
    close_with(in);
}

static void test_selftest__tests_what_takes_the_other_requests(void **state)
{
    expect((behaviour){ .result = 3 }, (behaviour){ .result = ANSWER });
    has_large = true;
    ndr_context *in = open_with(folder);
    const ndr_status status = test_with(in, NDR_SELFTEST_RUN);
    has_large = false;
    assert_int_equal(status, NDR_UNSUPPORTED);
    assert_string_equal(told, "first 0?, first 2 kept: it is 3 instead of 7, second 0?, second 1 kept, ");
    assert_int_equal(second.runs, 1);
    assert_int_equal(call(in), ANSWER);
    close_with(in);
}

static void test_selftest__does_as_it_is_told(void **state)
{
    expect((behaviour){ .result = ANSWER }, (behaviour){ .result = ANSWER });
    ndr_context *in = open_with(folder);
    assert_ok(test_with(in, NDR_SELFTEST_SKIP));
    assert_string_equal(told, "first 0?, first 0 not kept, ");
    assert_int_equal(first.runs, 0);
    told[0] = '\0';
    assert_refused(NDR_UNSUPPORTED, test_with(in, NDR_SELFTEST_REFUSE), "ndr_planted: no implementation");
    assert_non_null(strstr(told, "first 2 kept: its self-test ended the process, or did not end, second 0?"));
    assert_int_equal(first.runs + second.runs, 0);
    close_with(in);
    in = open_with(folder);
    assert_call_refused(in);
    close_with(in);
}

/* It may not happen again; but this context does not use the variant. */
static void test_selftest__does_not_keep_a_failure_of_the_driver(void **state)
{
    expect((behaviour){ .status = NDR_DRIVER_ERROR }, (behaviour){ .result = ANSWER });
    ndr_context *in = open_with(folder);
    assert_ok(test_with(in, NDR_SELFTEST_DEFAULT));
    assert_string_equal(told, "first 0?, first 2 not kept: a reason, second 0?, second 1 kept, ");
    assert_int_equal(call(in), ANSWER);
    assert_int_equal(first.runs, 1);
    close_with(in);
    in = open_with(folder);
    assert_ok(test_with(in, NDR_SELFTEST_SKIP));
    assert_string_equal(told, "first 0?, first 0 not kept, ");
    close_with(in);
}

static void test_selftest__knows_nothing_of_a_variant_without_memory(void **state)
{
    expect((behaviour){ .status = NDR_OUT_OF_DEVICE_MEMORY }, (behaviour){ .result = ANSWER });
    ndr_context *in = open_with(folder);
    assert_ok(test_with(in, NDR_SELFTEST_DEFAULT));
    assert_string_equal(told, "first 0?, first 0 not kept: a reason, ");
    first.status = NDR_OUT_OF_HOST_MEMORY;
    assert_int_equal(test_with(in, NDR_SELFTEST_DEFAULT), NDR_OUT_OF_HOST_MEMORY);
    close_with(in);
}

static void test_selftest__keeps_nothing_without_a_store(void **state)
{
    expect((behaviour){ .result = 3 }, (behaviour){ .result = ANSWER });
    ndr_context *in = open_with("off");
    assert_ok(test_with(in, NDR_SELFTEST_DEFAULT));
    assert_string_equal(told, "first 0?, first 2 not kept: it is 3 instead of 7, second 0?, second 1 not kept, ");
    assert_int_equal(call(in), ANSWER);
    close_with(in);
    in = open_with("off");
    assert_int_equal(call(in), 3);
    close_with(in);
}

static void test_selftest__is_turned_off(void **state)
{
    ndr_context *in;
    ndr_selftest_action action = NDR_SELFTEST_RUN;
    expect((behaviour){ .result = 3 }, (behaviour){ .result = ANSWER });
    in = open_with(folder);
    assert_ok(test_with(in, NDR_SELFTEST_RUN));
    close_with(in);
    in = open_with(folder);
    in->caps.skips_selftest = true;
    assert_int_equal(call(in), 3);
    assert_ok(ndr_selftest(in, tell, &action)); /* which fails for another operation than `planted` */
    close_with(in);
    set_env("NDR_SELFTEST", "off");
    assert_ok(ndr_context_create(NULL, &in));
    assert_true(in->caps.skips_selftest);
    ndr_context_destroy(in);
    set_env("NDR_SELFTEST", "of");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_create(NULL, &in), "NDR_SELFTEST is \"of\"; use off, or unset it");
    restore_env();
}

/* ---- the requests of the library's operations ---- */

static ndr_selftest_action note_right(const ndr_selftest_row *row, void *user)
{
    if (!row->is_done) return NDR_SELFTEST_RUN;
    if (row->verdict != NDR_VERDICT_RIGHT) fail_msg("%s %s: %s", row->operation, row->implementation, row->fault);
    for (size_t i = 0; i < ndr_all_answers_count; ++i)
        if (strcmp(ndr_all_answers[i].operation->name, row->operation) == 0) ++((unsigned *)user)[i];
    return NDR_SELFTEST_DEFAULT;
}

/* Oclgrind cannot make the kernels of scan and select. */
static bool can_make(const ndr_operation *of)
{
    return !strstr(device.platform, "Oclgrind") || (strcmp(of->name, "scan") != 0 && strcmp(of->name, "select") != 0);
}

static void test_selftest__finds_each_operation_right(void **state)
{
    unsigned found[64] = { 0 };
    assert_true(ndr_all_answers_count <= NDR_COUNT_OF(found));
    for (size_t i = 0; i < ndr_all_answers_count; ++i) {
        if (!can_make(ndr_all_answers[i].operation)) continue;
        assert_ok(ndr_selftest_run(context, &ndr_all_answers[i], 1, note_right, found));
        assert_true(found[i] > 0);
    }
}

static ndr_status run_nothing(ndr_op_job *job)
{
    return NDR_OK;
}

/* Planted in the place of what the device would take. */
static ndr_op_variant idle;

static void check_idle(const ndr_answers *answers, size_t i)
{
    ndr_trial t = { .queue = queue, .explains = true };
    assert_ok(answers->ask(&t, i));
    if (!*t.taken) return;
    t.taken[strcspn(t.taken, ";")] = '\0';
    idle = *variant_of(answers->operation, t.taken);
    idle.launch = run_nothing;
    idle.prove = NULL; /* it would be tried before it is taken */
    assert_ok(ndr_op_prefer(context, answers->operation, NDR_EVERY_CLASS, &idle));
    t.explains = false;
    assert_ok(answers->ask(&t, i));
    if (!*t.fault) fail_msg("%s: request %zu is right without a launch", answers->operation->name, i);
    force(answers->operation, NULL);
    for (size_t b = 0; b < t.buffer_count; ++b) ndr_buffer_destroy(t.buffers[b]);
    for (size_t h = 0; h < t.host_count; ++h) free(t.hosts[h]);
}

static void test_selftest__notices_a_variant_that_does_nothing(void **state)
{
    for (size_t i = 0; i < ndr_all_answers_count; ++i)
        for (size_t j = 0; can_make(ndr_all_answers[i].operation) && j < ndr_all_answers[i].count; ++j)
            check_idle(&ndr_all_answers[i], j);
}

static int open_folder(void **state)
{
    char here[2048];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(folder, sizeof folder, "%s/kept", here);
    return open_device(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selftest__keeps_that_a_variant_is_right),
        cmocka_unit_test(test_selftest__replaces_a_variant_that_is_wrong_and_keeps_that),
        cmocka_unit_test(test_selftest__uses_a_variant_again_that_is_right_now),
        cmocka_unit_test(test_selftest__refuses_an_operation_without_a_right_variant),
        cmocka_unit_test(test_selftest__tests_what_takes_the_other_requests),
        cmocka_unit_test(test_selftest__does_as_it_is_told),
        cmocka_unit_test(test_selftest__does_not_keep_a_failure_of_the_driver),
        cmocka_unit_test(test_selftest__knows_nothing_of_a_variant_without_memory),
        cmocka_unit_test(test_selftest__keeps_nothing_without_a_store),
        cmocka_unit_test(test_selftest__is_turned_off),
        cmocka_unit_test(test_selftest__finds_each_operation_right),
        cmocka_unit_test(test_selftest__notices_a_variant_that_does_nothing),
    };
    return cmocka_run_group_tests_name("selftest", tests, open_folder, close_device);
}
