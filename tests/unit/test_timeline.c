/* test_timeline.c - the file of a trace: its records, and that it is valid whenever the process dies. */
#include "support.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timeline.h"

#include "json.h"

/* ---- a disk that fills up ---- */

/* How many writes succeed; the next one writes half, and those after it fail. Negative: no limit. */
static int writes_left = -1;

ssize_t __real_write(int file, const void *bytes, size_t count);
ssize_t __wrap_write(int file, const void *bytes, size_t count);
ssize_t __wrap_write(int file, const void *bytes, size_t count)
{
    if (writes_left < 0) return __real_write(file, bytes, count);
    if (writes_left > 1) return --writes_left, __real_write(file, bytes, count);
    if (writes_left == 1) return --writes_left, __real_write(file, bytes, count / 2);
    errno = ENOSPC;
    return -1;
}

/* ---- records ---- */

static const char *text_of(const char *text)
{
    static ndr_json json;
    json = (ndr_json){ 0 };
    ndr_json_add_text(&json, text);
    json.chars[json.length] = '\0';
    return json.chars;
}

static void test_timeline__escapes_text(void **state)
{
    assert_string_equal(text_of(""), "\"\"");
    assert_string_equal(text_of("plain ~ text"), "\"plain ~ text\"");
    assert_string_equal(text_of("C:\\a \"b\".cl"), "\"C:\\\\a \\\"b\\\".cl\"");
    assert_string_equal(text_of("a\nb\tc\x01\x1f"), "\"a\\u000ab\\u0009c\\u0001\\u001f\"");
    assert_string_equal(text_of("\x7f"), "\"\x7f\"");
}

static void test_timeline__keeps_utf_8_and_replaces_the_rest(void **state)
{
    static const char *const kept[] = { "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf",
                                        "\xed\x9f\xbf" };
    static const char *const replaced[] = { "\xe9",
                                            "\x80",
                                            "\xc0\xaf",
                                            "\xc1\xbf",
                                            "\xe0\x80\x80",
                                            "\xed\xa0\x80",
                                            "\xf0\x80\x80\x80",
                                            "\xf4\x90\x80\x80",
                                            "\xf5\x80\x80\x80",
                                            "\xe2\x82",
                                            "\xc3",
                                            "\xff" };
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; ++i) {
        char wanted[16];
        snprintf(wanted, sizeof wanted, "\"%s\"", kept[i]);
        assert_string_equal(text_of(kept[i]), wanted);
    }
    for (size_t i = 0; i < sizeof replaced / sizeof replaced[0]; ++i)
        assert_memory_equal(text_of(replaced[i]), "\"\\ufffd", 7);
    assert_string_equal(text_of("a\xe9z"), "\"a\\ufffdz\"");
}

static void test_timeline__cuts_a_long_text_between_characters(void **state)
{
    for (size_t length = 200; length < 1500; length += 7) {
        char long_text[1600] = { 0 };
        for (size_t i = 0; i < length; ++i) long_text[i] = i % 2 ? '"' : 'x';
        const char *got = text_of(long_text);
        json_check(got, strlen(got));
        assert_true(strlen(got) < NDR_JSON_TEXT_BYTES + 16);
    }
    char euros[1000] = "";
    while (strlen(euros) < 900) strcat(euros, "\xe2\x82\xac");
    assert_string_equal(text_of(euros) + strlen(text_of(euros)) - 7, "\xe2\x82\xac...\"");
}

static void test_timeline__prints_times_in_microseconds(void **state)
{
    ndr_json json = { 0 };
    static const int64_t times[] = { 0, 1, 999, 1000, 1234567, INT64_MAX, -5 };
    for (size_t i = 0; i < sizeof times / sizeof times[0]; ++i) {
        ndr_json_add(&json, " ");
        ndr_json_add_us(&json, times[i]);
    }
    ndr_json_add(&json, " ");
    ndr_json_add_number(&json, UINT64_MAX);
    json.chars[json.length] = '\0';
    assert_string_equal(json.chars,
                        " 0.000 0.001 0.999 1.000 1234.567 9223372036854775.807 0.000 18446744073709551615");
}

/* ---- the file ---- */

static ndr_json record_of(size_t length, unsigned number)
{
    ndr_json json = { 0 };
    ndr_json_add(&json, "{\"n\":");
    ndr_json_add_number(&json, number);
    ndr_json_add(&json, ",\"pad\":\"");
    while (json.length + 2 < length) ndr_json_add(&json, "x");
    ndr_json_add(&json, "\"}");
    return json;
}

static size_t length_of(unsigned number) { return 20 + number * 7919u % 900; }

static char *read_file(const char *path, size_t *length)
{
    ndr_text text = { 0 };
    ndr_file_info info;
    assert_int_equal(ndr_file_read(path, 1 << 30, &text, &info), 0);
    *length = text.length;
    return text.chars;
}

/* The file's records are those from 0, in order, after `closing` if its bracket is missing. Returns how many. */
static unsigned check_records(const char *path, const char *closing)
{
    size_t length;
    char *file = read_file(path, &length);
    file = realloc(file, length + 8);
    strcpy(file + length, closing);
    json_check(file, strlen(file));
    unsigned count = 0;
    for (char *at = file; (at = strstr(at, "{\"n\":")); ++at, ++count)
        assert_int_equal(strtoul(at + 5, NULL, 10), count);
    free(file);
    return count;
}

static void test_timeline__writes_an_array(void **state)
{
    for (unsigned count = 0; count < 40; ++count) {
        ndr_timeline timeline;
        char path[32];
        snprintf(path, sizeof path, "array-%u.json", count);
        assert_int_equal(ndr_timeline_open(&timeline, path), 0);
        for (unsigned i = 0; i < count; ++i) ndr_timeline_add(&timeline, (ndr_json[]){ record_of(length_of(i), i) });
        ndr_timeline_close(&timeline);
        assert_int_equal(check_records(path, ""), count);
    }
}

/* Records that end exactly at the end of a page, and one byte before and after it. */
static void test_timeline__fills_pages_exactly(void **state)
{
    for (int off = -3; off <= 3; ++off) {
        ndr_timeline timeline;
        assert_int_equal(ndr_timeline_open(&timeline, "pages.json"), 0);
        ndr_timeline_close(&timeline); /* so that it is another file */
        assert_int_equal(ndr_timeline_open(&timeline, "exact.json"), 0);
        ndr_timeline_add(&timeline, (ndr_json[]){ record_of(510, 0) }); /* with the bracket before it, 512 */
        for (unsigned i = 1; i < 40; ++i)
            ndr_timeline_add(&timeline, (ndr_json[]){ record_of((size_t)(510 + (i == 7 ? off : 0)), i) });
        ndr_timeline_close(&timeline);
        assert_int_equal(check_records("exact.json", ""), 40);
    }
}

static void test_timeline__continues_the_latest_file_of_the_process(void **state)
{
    for (unsigned round = 0; round < 50; ++round) {
        ndr_timeline timeline;
        assert_int_equal(ndr_timeline_open(&timeline, "rounds.json"), 0);
        for (unsigned i = 0; i < 7; ++i)
            ndr_timeline_add(&timeline, (ndr_json[]){ record_of(length_of(7 * round + i), 7 * round + i) });
        ndr_timeline_close(&timeline);
        assert_int_equal(check_records("rounds.json", ""), 7 * (round + 1));
    }
}

static void test_timeline__starts_anew_if_its_file_was_changed(void **state)
{
    ndr_timeline timeline;
    for (unsigned round = 0; round < 2; ++round) {
        assert_int_equal(ndr_timeline_open(&timeline, "changed.json"), 0);
        ndr_timeline_add(&timeline, (ndr_json[]){ record_of(50, 0) });
        ndr_timeline_close(&timeline);
        assert_int_equal(check_records("changed.json", ""), 1);
        write_file("changed.json", "other text");
    }
}

static void test_timeline__refuses_a_path_that_it_cannot_write(void **state)
{
    ndr_timeline timeline;
    assert_int_not_equal(ndr_timeline_open(&timeline, "nowhere/a.json"), 0);
    assert_int_not_equal(ndr_timeline_open(&timeline, "."), 0);
    assert_int_not_equal(ndr_timeline_open(&timeline, ""), 0);
    assert_int_not_equal(ndr_timeline_open(&timeline, "/dev/null"), 0);
}

/* A file may not grow past the limit of the process; a write there would end it with a signal. */
static void test_timeline__stops_at_the_limit_for_files(void **state)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const pid_t child = fork();
    if (child == 0) {
        ndr_timeline timeline;
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 10000, before.rlim_max });
        bool is_right = ndr_timeline_open(&timeline, "limit.json") == 0;
        for (unsigned i = 0; i < 100; ++i) ndr_timeline_add(&timeline, (ndr_json[]){ record_of(500, i) });
        is_right = is_right && timeline.is_full && timeline.lost > 0;
        ndr_timeline_close(&timeline);
        _exit(is_right ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    const unsigned count = check_records("limit.json", "");
    assert_in_range(count, 10, 20);
}

static void test_timeline__is_valid_on_a_full_disk(void **state)
{
    for (int passing = 1; passing < 6; ++passing) {
        ndr_timeline timeline;
        assert_int_equal(ndr_timeline_open(&timeline, "full.json"), 0);
        writes_left = passing;
        for (unsigned i = 0; i < 200; ++i) ndr_timeline_add(&timeline, (ndr_json[]){ record_of(length_of(i), i) });
        writes_left = -1; /* there is room again, for the bracket */
        assert_true(timeline.is_full && timeline.lost > 0);
        ndr_timeline_close(&timeline);
        const unsigned count = check_records("full.json", "");
        assert_int_equal(count > 0, passing > 1);
    }
}

/* Killed at many moments while it writes, whatever else the machine does: the file is an array without its bracket. */
static void test_timeline__is_valid_after_a_kill(void **state)
{
    unsigned long written = 0;
    for (unsigned round = 0; round < 20; ++round) {
        int ready[2];
        assert_int_equal(pipe(ready), 0);
        const pid_t child = fork();
        if (child == 0) {
            ndr_timeline timeline;
            if (ndr_timeline_open(&timeline, "killed.json") != 0) _exit(1);
            for (unsigned i = 0;; ++i) {
                ndr_timeline_add(&timeline, (ndr_json[]){ record_of(length_of(i), i) });
                if (i == 20 * (round + 1) && write(ready[1], "x", 1) != 1) _exit(1);
            }
        }
        char byte;
        assert_int_equal(read(ready[0], &byte, 1), 1);
        assert_int_equal(kill(child, SIGKILL), 0);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        close(ready[0]), close(ready[1]);
        written += check_records("killed.json", "]");
    }
    assert_true(written > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeline__escapes_text),
        cmocka_unit_test(test_timeline__keeps_utf_8_and_replaces_the_rest),
        cmocka_unit_test(test_timeline__cuts_a_long_text_between_characters),
        cmocka_unit_test(test_timeline__prints_times_in_microseconds),
        cmocka_unit_test(test_timeline__writes_an_array),
        cmocka_unit_test(test_timeline__fills_pages_exactly),
        cmocka_unit_test(test_timeline__continues_the_latest_file_of_the_process),
        cmocka_unit_test(test_timeline__starts_anew_if_its_file_was_changed),
        cmocka_unit_test(test_timeline__refuses_a_path_that_it_cannot_write),
        cmocka_unit_test(test_timeline__stops_at_the_limit_for_files),
        cmocka_unit_test(test_timeline__is_valid_on_a_full_disk),
        cmocka_unit_test(test_timeline__is_valid_after_a_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
