/* test_status.c - status codes and error sentences: one of each for every thread. */
#include "support.h"

#include <pthread.h>

#include "device/caps.h"

static const ndr_status all[] = {
    NDR_OK,
    NDR_BAD_ARGUMENT,
    NDR_BAD_RANGE,
    NDR_BAD_KERNEL_ARGUMENT,
    NDR_OUT_OF_BOUNDS,
    NDR_NOT_FOUND,
    NDR_LIMIT_EXCEEDED,
    NDR_NO_DRIVER,
    NDR_NO_DEVICE,
    NDR_NO_MATCHING_DEVICE,
    NDR_UNSUPPORTED,
    NDR_NOT_KEPT,
    NDR_BUILD_FAILED,
    NDR_OUT_OF_HOST_MEMORY,
    NDR_OUT_OF_DEVICE_MEMORY,
    NDR_TIMEOUT,
    NDR_DRIVER_ERROR,
};
enum { COUNT = sizeof all / sizeof all[0] };

/* ---- names and numbers ---- */

static void test_status__has_the_name_of_its_enumerator(void **state)
{
    static const char *const names[] = {
        "NDR_OK", "NDR_BAD_ARGUMENT", "NDR_BAD_RANGE", "NDR_BAD_KERNEL_ARGUMENT", "NDR_OUT_OF_BOUNDS",
        "NDR_NOT_FOUND", "NDR_LIMIT_EXCEEDED", "NDR_NO_DRIVER", "NDR_NO_DEVICE", "NDR_NO_MATCHING_DEVICE",
        "NDR_UNSUPPORTED", "NDR_NOT_KEPT", "NDR_BUILD_FAILED", "NDR_OUT_OF_HOST_MEMORY", "NDR_OUT_OF_DEVICE_MEMORY",
        "NDR_TIMEOUT", "NDR_DRIVER_ERROR",
    };
    for (size_t i = 0; i < COUNT; ++i) assert_string_equal(ndr_status_name(all[i]), names[i]);
}

static void test_status__keeps_its_numbers(void **state)
{
    static const int numbers[COUNT] = { 0,   100, 101, 102, 103, 104, 105, 200,
                                        201, 202, 203, 204, 300, 400, 401, 500, 900 };
    for (size_t i = 0; i < COUNT; ++i) assert_int_equal(all[i], numbers[i]);
}

static void test_status__of_no_known_number_has_a_name_too(void **state)
{
    assert_string_equal(ndr_status_name((ndr_status)999), "unknown ndr_status");
}

static void test_version__is_that_of_the_header(void **state)
{
    char numbers[32];
    snprintf(numbers, sizeof numbers, "%d.%d.%d", NDR_VERSION_MAJOR, NDR_VERSION_MINOR, NDR_VERSION_PATCH);
    assert_string_equal(ndr_version(), NDR_VERSION_STRING);
    assert_string_equal(ndr_version(), numbers);
}

/* ---- the sentence ---- */

static void test_last_error__is_what_the_failed_call_said(void **state)
{
    assert_int_equal(ndr_fail(NDR_BAD_RANGE, "%d is not %s", 5, "even"), NDR_BAD_RANGE);
    assert_string_equal(ndr_last_error(), "5 is not even");
}

static void test_last_error__may_be_the_callers_own(void **state)
{
    assert_int_equal(ndr_error_set(NDR_TIMEOUT, "100 % of %s is late"), NDR_TIMEOUT);
    assert_string_equal(ndr_last_error(), "100 % of %s is late");
    assert_int_equal(ndr_last_cl_error(), 0);
    assert_int_equal(ndr_error_set(NDR_NOT_FOUND, NULL), NDR_NOT_FOUND);
    assert_string_equal(ndr_last_error(), "");
}

static void test_last_error__outlives_calls_that_succeed(void **state)
{
    unsigned disabled;
    ndr_fail_with_code(NDR_DRIVER_ERROR, -54, "the first");
    assert_ok(ndr_caps_parse_disable("fp64", &disabled));
    assert_string_equal(ndr_last_error(), "the first");
    assert_int_equal(ndr_last_cl_error(), -54);
}

static void test_last_error__keeps_a_long_sentence_whole(void **state)
{
    static const size_t lengths[] = { 1022, 1023, 1024, 1025,
                                      100000 }; /* round the fixed array, and a build log */
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        char *sentence = malloc(lengths[i] + 1);
        assert_non_null(sentence);
        for (size_t c = 0; c < lengths[i]; ++c) sentence[c] = (char)('a' + c % 26);
        sentence[lengths[i]] = '\0';
        ndr_fail(NDR_BUILD_FAILED, "%s", sentence);
        assert_string_equal(ndr_last_error(), sentence);
        free(sentence);
    }
}

static void test_last_error__is_short_again_after_a_long_one(void **state)
{
    ndr_fail(NDR_BUILD_FAILED, "%5000s", "log");
    assert_int_equal(strlen(ndr_last_error()), 5000);
    ndr_fail(NDR_BAD_ARGUMENT, "short");
    assert_string_equal(ndr_last_error(), "short");
}

static void test_last_error__may_be_quoted_by_the_next(void **state)
{
    ndr_fail(NDR_BAD_ARGUMENT, "inner");
    ndr_fail(NDR_BAD_ARGUMENT, "outer: %s", ndr_last_error());
    assert_string_equal(ndr_last_error(), "outer: inner");

    ndr_fail(NDR_BAD_ARGUMENT, "%2000s", "inner");
    ndr_fail(NDR_BAD_ARGUMENT, "outer: %s", ndr_last_error());
    assert_int_equal(strlen(ndr_last_error()), 2007);
    assert_string_equal(ndr_last_error() + 2002, "inner");
}

static void test_last_error__names_call_and_argument_of_a_null(void **state)
{
    assert_refused(NDR_BAD_ARGUMENT, ndr_device_list(0, NULL, NULL), "ndr_device_list", "count is NULL");
}

/* ---- OpenCL's code of the failure ---- */

static void test_last_cl_error__is_0_where_libndr_refused(void **state)
{
    ndr_fail_with_code(NDR_DRIVER_ERROR, -54, "the driver's");
    assert_int_equal(ndr_last_cl_error(), -54);
    ndr_fail(NDR_BAD_ARGUMENT, "ours");
    assert_int_equal(ndr_last_cl_error(), 0);
}

static void test_cl_error__becomes_a_status_and_a_sentence(void **state)
{
    static const struct {
        cl_int code;
        ndr_status status;
        const char *name;
    } table[] = {
        { CL_MEM_OBJECT_ALLOCATION_FAILURE, NDR_OUT_OF_DEVICE_MEMORY,
          "CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)" },
        { CL_OUT_OF_HOST_MEMORY, NDR_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY (-6)" },
        { CL_INVALID_WORK_GROUP_SIZE, NDR_DRIVER_ERROR, "CL_INVALID_WORK_GROUP_SIZE (-54)" },
        { CL_OUT_OF_RESOURCES, NDR_DRIVER_ERROR, "CL_OUT_OF_RESOURCES (-5); drivers also report this when" },
        { -12345, NDR_DRIVER_ERROR, "an unknown code (-12345)" },
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
        assert_refused(table[i].status, ndr_fail_cl(table[i].code, "clDoIt(queue, 0)"), "clDoIt gave ",
                       table[i].name);
        assert_int_equal(ndr_last_cl_error(), table[i].code);
    }
}

/* ---- logs ---- */

static void test_last_build_log__lies_beside_its_sentence(void **state)
{
    ndr_text log = { 0 };
    for (int i = 0; i < 1537; ++i) ndr_text_add(&log, "line %d\n", i);
    assert_int_equal(ndr_fail_with_log(NDR_BUILD_FAILED, -11, log.chars, "\"%s\" did not build", "k"),
                     NDR_BUILD_FAILED);
    assert_string_equal(ndr_last_error(), "\"k\" did not build");
    assert_string_equal(ndr_last_build_log(), log.chars);
    assert_int_equal(ndr_last_cl_error(), -11);
    ndr_fail_with_log(NDR_BUILD_FAILED, -11, log.chars, "%s", log.chars); /* a long sentence, too */
    assert_string_equal(ndr_last_error(), log.chars);
    assert_string_equal(ndr_last_build_log(), log.chars);
    ndr_fail_with_log(NDR_BUILD_FAILED, -11, ndr_last_build_log(), "%s", "again"); /* its own */
    assert_string_equal(ndr_last_build_log(), log.chars);
    ndr_fail_with_log(NDR_BUILD_FAILED, -11, NULL, "no log");
    assert_string_equal(ndr_last_build_log(), "");
    ndr_fail_with_log(NDR_BUILD_FAILED, -11, log.chars, "k");
    ndr_fail(NDR_BAD_ARGUMENT, "built nothing");
    assert_string_equal(ndr_last_build_log(), "");
    ndr_text_free(&log);
}

/* ---- threads ---- */

/* What a thread finds and leaves. The strings belong to the thread, so the thread checks them. */
typedef struct witness {
    bool began_clean, kept_its_own;
} witness;

static void *fail_elsewhere(void *argument)
{
    witness *seen = argument;
    seen->began_clean = strcmp(ndr_last_error(), "no error") == 0 && ndr_last_cl_error() == 0 && !*ndr_last_build_log();
    ndr_fail_with_code(NDR_DRIVER_ERROR, -5, "%3000s", "elsewhere");
    seen->kept_its_own = strlen(ndr_last_error()) == 3000 && ndr_last_cl_error() == -5;
    return NULL;
}

static witness fail_in_a_thread(void)
{
    witness seen = { false, false };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return seen;
}

static void test_last_error__begins_as_no_error_in_every_thread(void **state)
{
    ndr_fail_with_log(NDR_BUILD_FAILED, 0, "a log", "here");
    assert_true(fail_in_a_thread().began_clean);
    assert_string_equal(ndr_last_build_log(), "a log");
}

static void test_last_error__is_each_thread_s_own(void **state)
{
    ndr_fail(NDR_BAD_ARGUMENT, "here");
    assert_true(fail_in_a_thread().kept_its_own);
    assert_string_equal(ndr_last_error(), "here");
    assert_int_equal(ndr_last_cl_error(), 0);
}

static pthread_key_t ends_later;
static bool was_kept_to_the_end;

static void fail_at_the_end(void *unused)
{
    ndr_fail(NDR_BAD_ARGUMENT, "%4000s", "at the end");
    was_kept_to_the_end = strlen(ndr_last_error()) == 4000;
}

static void *fail_and_end(void *unused)
{
    ndr_fail(NDR_BAD_ARGUMENT, "%3000s", "before");
    assert_int_equal(pthread_setspecific(ends_later, &ends_later), 0);
    return NULL;
}

/* A destructor that runs after libndr's own has freed the thread's sentence. */
static void test_last_error__may_be_made_while_its_thread_ends(void **state)
{
    ndr_fail(NDR_BAD_ARGUMENT, "%3000s", "libndr has its key");
    assert_int_equal(pthread_key_create(&ends_later, fail_at_the_end), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fail_and_end, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(was_kept_to_the_end);
    assert_int_equal(pthread_key_delete(ends_later), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status__has_the_name_of_its_enumerator),
        cmocka_unit_test(test_status__keeps_its_numbers),
        cmocka_unit_test(test_status__of_no_known_number_has_a_name_too),
        cmocka_unit_test(test_version__is_that_of_the_header),
        cmocka_unit_test(test_last_error__is_what_the_failed_call_said),
        cmocka_unit_test(test_last_error__may_be_the_callers_own),
        cmocka_unit_test(test_last_error__outlives_calls_that_succeed),
        cmocka_unit_test(test_last_error__keeps_a_long_sentence_whole),
        cmocka_unit_test(test_last_error__is_short_again_after_a_long_one),
        cmocka_unit_test(test_last_error__may_be_quoted_by_the_next),
        cmocka_unit_test(test_last_error__names_call_and_argument_of_a_null),
        cmocka_unit_test(test_last_cl_error__is_0_where_libndr_refused),
        cmocka_unit_test(test_cl_error__becomes_a_status_and_a_sentence),
        cmocka_unit_test(test_last_build_log__lies_beside_its_sentence),
        cmocka_unit_test(test_last_error__begins_as_no_error_in_every_thread),
        cmocka_unit_test(test_last_error__is_each_thread_s_own),
        cmocka_unit_test(test_last_error__may_be_made_while_its_thread_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
