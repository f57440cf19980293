/* test_log.c - logging: levels, the callback, and silence by default. */
#include "support.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/base.h"

/* What the callback has received since it was last cleared. */
static struct {
    size_t count;
    ndr_log_level level;
    char id[64], text[2048];
    void *user;
} got;

static void receive(ndr_log_level level, const char *id, const char *text, void *user)
{
    ++got.count;
    got.level = level;
    snprintf(got.id, sizeof got.id, "%s", id);
    snprintf(got.text, sizeof got.text, "%s", text);
    got.user = user;
}

static int clear(void **state)
{
    memset(&got, 0, sizeof got);
    set_env("NDR_LOG", NULL);
    return ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL) != NDR_OK;
}

static int restore(void **state)
{
    restore_env();
    return ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL) != NDR_OK;
}

/* What `talk` prints to stderr. */
static const char *printed_by(void (*talk)(void))
{
    static char text[4096];
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    const int kept = dup(2);
    assert_int_equal(dup2(fileno(file), 2), 2);
    talk();
    fflush(stderr);
    assert_int_equal(dup2(kept, 2), 2);
    close(kept);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* One message of each level. */
static void talk(void)
{
    ndr_log(NDR_LOG_ERROR, "test.error", "an error, number %d", 1);
    ndr_log(NDR_LOG_WARN, "test.warn", "a warning");
    ndr_log(NDR_LOG_INFO, "test.info", "some news");
    ndr_log(NDR_LOG_DEBUG, "test.debug", "a detail");
}

/* ---- levels ---- */

static void test_log__prints_nothing_unless_asked(void **state)
{
    assert_string_equal(printed_by(talk), "");
    set_env("NDR_LOG", "");
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
    assert_string_equal(printed_by(talk), "");
    set_env("NDR_LOG", "off");
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
    assert_string_equal(printed_by(talk), "");
}

static void test_log__prints_up_to_the_level_of_the_environment(void **state)
{
    static const char all[] = "libndr error test.error: an error, number 1\n"
                              "libndr warn test.warn: a warning\n"
                              "libndr info test.info: some news\n"
                              "libndr debug test.debug: a detail\n";
    static const char *const words[] = { "error", "warn", "info", "debug" };
    const char *end = all;
    for (size_t i = 0; i < 4; ++i) {
        end = strchr(end, '\n') + 1;
        set_env("NDR_LOG", words[i]);
        assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
        const char *printed = printed_by(talk);
        assert_int_equal(strlen(printed), end - all);
        assert_memory_equal(printed, all, (size_t)(end - all));
    }
}

static void test_log__counts_the_program_s_level_before_the_environment_s(void **state)
{
    set_env("NDR_LOG", "debug");
    assert_ok(ndr_log_set(NDR_LOG_WARN, receive, NULL));
    talk();
    assert_int_equal(got.count, 2);
    assert_ok(ndr_log_set(NDR_LOG_OFF, receive, NULL));
    talk();
    assert_int_equal(got.count, 2);
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, receive, NULL));
    talk();
    assert_int_equal(got.count, 6);
}

static void test_log__refuses_a_word_that_is_no_level(void **state)
{
    set_env("NDR_LOG", "loud");
    assert_ok(ndr_log_set(NDR_LOG_DEFAULT, NULL, NULL));
    assert_refused(NDR_BAD_ARGUMENT, ndr_log_check("loud"),
                   "NDR_LOG is \"loud\"; set it to error, warn, info, debug or off");
    assert_refused(NDR_BAD_ARGUMENT, ndr_log_check("Info"), "NDR_LOG is \"Info\"");
    assert_string_equal(printed_by(talk), "");
    size_t count = 77;
    assert_refused(NDR_BAD_ARGUMENT, ndr_device_list(0, NULL, &count), "NDR_LOG is \"loud\"");
    assert_int_equal(count, 77);
}

static void test_log__refuses_a_level_that_there_is_not(void **state)
{
    assert_ok(ndr_log_set(NDR_LOG_WARN, receive, NULL));
    assert_refused(NDR_BAD_ARGUMENT, ndr_log_set((ndr_log_level)6, NULL, NULL),
                   "ndr_log_set: level is 6, which is not valid; use NDR_LOG_DEFAULT", "NDR_LOG_DEBUG");
    assert_refused(NDR_BAD_ARGUMENT, ndr_log_set((ndr_log_level)-1, NULL, NULL), "level is -1");
    got.count = 0;
    talk();
    assert_int_equal(got.count, 2); /* as before */
}

/* ---- the callback ---- */

static void test_log__gives_the_callback_id_text_and_user(void **state)
{
    int mine;
    assert_ok(ndr_log_set(NDR_LOG_INFO, receive, &mine));
    talk();
    assert_int_equal(got.count, 3);
    assert_int_equal(got.level, NDR_LOG_INFO);
    assert_string_equal(got.id, "test.info");
    assert_string_equal(got.text, "some news");
    assert_ptr_equal(got.user, &mine);
    assert_ok(ndr_log_set(NDR_LOG_INFO, receive, NULL));
    ndr_log(NDR_LOG_WARN, "test.long", "%*s", 2000, "end");
    assert_int_equal(strlen(got.text), 2000);
    assert_null(got.user);
}

static void test_log__tells_each_failure_with_its_sentence(void **state)
{
    assert_ok(ndr_log_set(NDR_LOG_ERROR, receive, NULL));
    assert_refused(NDR_BAD_ARGUMENT, ndr_device_list(0, NULL, NULL), "count is NULL");
    assert_int_equal(got.count, 1);
    assert_int_equal(got.level, NDR_LOG_ERROR);
    assert_string_equal(got.id, "failure");
    assert_string_equal(got.text, "NDR_BAD_ARGUMENT: ndr_device_list: count is NULL; "
                                  "pass the address of a variable for the result");
}

static void stop_listening(ndr_log_level level, const char *id, const char *text, void *user)
{
    receive(level, id, text, user);
    ndr_log(NDR_LOG_ERROR, "test.inner", "not told");
    if (ndr_log_set(NDR_LOG_ERROR, receive, NULL) != NDR_OK) got.count = 99;
}

static void test_log__lets_a_callback_change_what_is_logged(void **state)
{
    assert_ok(ndr_log_set(NDR_LOG_DEBUG, stop_listening, &got));
    talk();
    assert_int_equal(got.count, 1);
    talk();
    assert_int_equal(got.count, 2);
    assert_null(got.user); /* the second callback's */
}

/* ---- threads ----
 *
 * The callback yields its core halfway, so that another thread would enter it if that were possible. */

enum { THREADS = 4, ROUNDS = 200 };

typedef struct listener {
    atomic_int inside;
    atomic_bool is_gone; /* the callback has been replaced */
} listener;

static atomic_int inside_any, told, too_many, too_late;
static atomic_bool is_over;

static void listen_slowly(ndr_log_level level, const char *id, const char *text, void *user)
{
    listener *me = user;
    if (atomic_fetch_add(&inside_any, 1) > 0) atomic_fetch_add(&too_many, 1);
    atomic_fetch_add(&me->inside, 1);
    sched_yield();
    if (atomic_load(&me->is_gone)) atomic_fetch_add(&too_late, 1);
    atomic_fetch_sub(&me->inside, 1);
    atomic_fetch_sub(&inside_any, 1);
    atomic_fetch_add(&told, 1);
}

static void *talk_until_it_is_over(void *unused)
{
    while (!atomic_load(&is_over)) {
        ndr_log(NDR_LOG_INFO, "test.info", "some news");
        sched_yield();
    }
    return unused;
}

static void test_log__tells_one_message_at_a_time_and_none_too_late(void **state)
{
    static listener listeners[ROUNDS], nobody = { .is_gone = true };
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, talk_until_it_is_over, NULL), 0);
    int still_inside = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        const int before = atomic_load(&told);
        assert_ok(ndr_log_set(NDR_LOG_INFO, listen_slowly, &listeners[round]));
        while (atomic_load(&told) == before) sched_yield();
        assert_ok(ndr_log_set(NDR_LOG_OFF, listen_slowly, &nobody));
        still_inside += atomic_load(&listeners[round].inside);
        atomic_store(&listeners[round].is_gone, true);
    }
    atomic_store(&is_over, true);
    for (size_t i = 0; i < THREADS; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&too_many), 0);
    assert_int_equal(still_inside, 0);
    assert_int_equal(atomic_load(&too_late), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, clear, restore)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_log__prints_nothing_unless_asked),
        TEST(test_log__prints_up_to_the_level_of_the_environment),
        TEST(test_log__counts_the_program_s_level_before_the_environment_s),
        TEST(test_log__refuses_a_word_that_is_no_level),
        TEST(test_log__refuses_a_level_that_there_is_not),
        TEST(test_log__gives_the_callback_id_text_and_user),
        TEST(test_log__tells_each_failure_with_its_sentence),
        TEST(test_log__lets_a_callback_change_what_is_logged),
        TEST(test_log__tells_one_message_at_a_time_and_none_too_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
