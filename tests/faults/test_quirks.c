/* test_quirks.c - the table of drivers' faults: its switches, its page, and what the driver does without them.
 *
 * NDR_TEST_WRITE=1 writes the tables of docs/appendix/drivers.md. */
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

#include "device/context.h"
#include "faults/faults.h"

/* ---- switches ---- */

static uint64_t chosen(const ndr_caps *caps, const char *words)
{
    uint64_t quirks = 0;
    assert_ok(ndr_quirks_choose(caps, words, &quirks));
    return quirks;
}

static void test_quirks__are_on_by_the_signs_of_a_driver(void **state)
{
    const ndr_caps plain = { .info = { .shares_host_memory = true } };
    ndr_caps other = plain;
    const uint64_t always = chosen(&plain, NULL);
    assert_true(ndr_quirk_is_on(always, NDR_QUIRK_FILL_31_BITS));
    assert_false(ndr_quirk_is_on(always, NDR_QUIRK_REMAP_IS_OLD));
    other.info.shares_host_memory = false;
    assert_true(chosen(&other, NULL) == (always | NDR_QUIRK_BIT(NDR_QUIRK_REMAP_IS_OLD)));
    other = plain, other.wait_helps = true;
    assert_true(chosen(&other, NULL)
                == (always | NDR_QUIRK_BIT(NDR_QUIRK_WAIT_RUNS_COMMANDS) | NDR_QUIRK_BIT(NDR_QUIRK_ENQUEUE_RACES)));
    other = plain;
    snprintf(other.info.platform, sizeof other.info.platform, "Portable Computing Language");
    other.info.type = NDR_DEVICE_TYPE_GPU;
    assert_true(chosen(&other, NULL)
                == (always | NDR_QUIRK_BIT(NDR_QUIRK_MARK_WAITS_FOR_ALL) | NDR_QUIRK_BIT(NDR_QUIRK_FAIL_ENDS_TWICE)
                    | NDR_QUIRK_BIT(NDR_QUIRK_FAILED_ORDER_LOST)));
    other.info.type = NDR_DEVICE_TYPE_CPU;
    assert_true(ndr_quirk_is_on(chosen(&other, NULL), NDR_QUIRK_ONE_VALUE_FOR_ALL));
    snprintf(other.info.platform, sizeof other.info.platform, "rusticl");
    assert_true(chosen(&other, NULL) == (always | NDR_QUIRK_BIT(NDR_QUIRK_LOOPS_END_EARLY)));
    other.info.type = NDR_DEVICE_TYPE_GPU;
    assert_true(chosen(&other, NULL) == always);
}

static void test_quirks__are_switched_by_their_ids(void **state)
{
    const ndr_caps plain = { .info = { .shares_host_memory = true } };
    const uint64_t always = chosen(&plain, NULL);
    assert_true(chosen(&plain, "") == always);
    assert_true(chosen(&plain, "-fill_31_bits,+remap_is_old,,")
                == ((always & ~NDR_QUIRK_BIT(NDR_QUIRK_FILL_31_BITS)) | NDR_QUIRK_BIT(NDR_QUIRK_REMAP_IS_OLD)));
    for (size_t i = 0; i < NDR_QUIRK_COUNT; ++i) {
        char words[80];
        snprintf(words, sizeof words, "+%s", ndr_quirk_rows[i].id);
        assert_true(ndr_quirk_is_on(chosen(&plain, words), (ndr_quirk)i));
        *words = '-';
        assert_false(ndr_quirk_is_on(chosen(&plain, words), (ndr_quirk)i));
    }
}

static void test_quirks__refuses_words_that_are_no_rows_with_a_switch(void **state)
{
    static const char *const wrong[] = { "-fill", "fill_31_bits", "-", "-fill_31_bits,x", "-read_again" };
    const ndr_caps plain = { .cl_version = 0 };
    uint64_t quirks = 77;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i)
        assert_refused(NDR_BAD_ARGUMENT, ndr_quirks_choose(&plain, wrong[i], &quirks), "NDR_QUIRKS names \"",
                       "mark_waits_for_all", "one_value_for_all", "loops_end_early");
    assert_int_equal(quirks, 77);
}

static void test_quirks__are_listed_with_those_that_a_context_avoids(void **state)
{
    ndr_quirk_info rows[200];
    size_t count, all;
    assert_ok(ndr_context_get_quirks(context, 200, rows, &count));
    assert_int_equal(count, ndr_quirk_row_count);
    for (size_t i = 0; i < count; ++i) {
        assert_string_equal(rows[i].id, ndr_quirk_rows[i].id);
        assert_string_equal(rows[i].seen_on, ndr_quirk_rows[i].seen);
        assert_string_equal(rows[i].fault, ndr_quirk_rows[i].fault);
        assert_string_equal(rows[i].instead, ndr_quirk_rows[i].instead);
        assert_string_equal(rows[i].sign, ndr_quirk_rows[i].sign->text);
        assert_int_equal(rows[i].is_on, i < NDR_QUIRK_COUNT && ndr_quirk_is_on(context->caps.quirks, (ndr_quirk)i));
    }
    rows[1].id = NULL;
    assert_ok(ndr_context_get_quirks(context, 1, rows, &all));
    assert_int_equal(all, count);
    assert_null(rows[1].id);
    assert_ok(ndr_context_get_quirks(context, 0, NULL, &all));
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_get_quirks(context, 1, NULL, &all), "quirks is NULL, but capacity is");
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_get_quirks(NULL, 0, NULL, &all), "context is NULL");
}

static void test_quirks__unknown_ones_are_refused_with_the_context(void **state)
{
    ndr_context *made = NULL;
    char *before = getenv("NDR_QUIRKS") ? strdup(getenv("NDR_QUIRKS")) : NULL;
    setenv("NDR_QUIRKS", "-fill_31_bits,-no_such_row", 1);
    assert_refused(NDR_BAD_ARGUMENT, ndr_context_create(NULL, &made),
                   "NDR_QUIRKS names \"-no_such_row\"; use + or - with one of mark_waits_for_all, ");
    setenv("NDR_QUIRKS", "-fill_31_bits", 1);
    assert_ok(ndr_context_create(NULL, &made));
    assert_false(ndr_avoids(made, NDR_QUIRK_FILL_31_BITS));
    ndr_context_destroy(made);
    if (before) setenv("NDR_QUIRKS", before, 1);
    else unsetenv("NDR_QUIRKS");
    free(before);
}

/* ---- the page ---- */

static void test_quirks__rows_are_complete(void **state)
{
    for (size_t i = 0; i < ndr_quirk_row_count; ++i) {
        const ndr_quirk_row *r = &ndr_quirk_rows[i];
        assert_true(r->id && r->seen && r->fault && r->instead && r->sign && r->sign->text);
        assert_int_equal(strspn(r->id, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(r->id));
        assert_int_equal(r->sign->is_there != NULL, i < NDR_QUIRK_COUNT);
        for (size_t k = 0; k < i; ++k) assert_string_not_equal(r->id, ndr_quirk_rows[k].id);
    }
}

static void print_row(const ndr_quirk_row *r, ndr_text *out)
{
    ndr_text_add(out, "| `%s` | %s | %s | %s | %s |\n", r->id, r->seen, r->fault, r->instead, r->sign->text);
}

static void print_tables(ndr_text *out)
{
    static const char *const heads[] = { "libndr does instead | switched on by", "libndr does instead, or you can | " };
    for (size_t t = 0; t < 2; ++t) {
        ndr_text_add(out, "\n| id | seen on | fault | %s |\n|---|---|---|---|---|\n", heads[t]);
        for (size_t i = 0; i < ndr_quirk_row_count; ++i)
            if ((i >= NDR_QUIRK_COUNT) == t) print_row(&ndr_quirk_rows[i], out);
    }
    ndr_text_add(out, "\n");
}

static void page_path(char path[1024])
{
    snprintf(path, 1024, "%s/../docs/appendix/drivers.md", getenv("NDR_TEST_DIR"));
}

static void write_page(const char *page, const char *begin, const char *tables, const char *end)
{
    char path[1024];
    ndr_text out = { 0 };
    ndr_text_add(&out, "%.*s%s%s", (int)(begin - page), page, tables, end);
    page_path(path);
    write_file(path, out.chars);
    ndr_text_free(&out);
}

static void test_quirks__are_those_of_the_page(void **state)
{
    static const char begins[] = "<!-- test_quirks begins -->\n", ends[] = "<!-- test_quirks ends -->";
    char path[1024];
    ndr_text page = { 0 }, tables = { 0 };
    ndr_file_info info;
    page_path(path);
    assert_int_equal(ndr_file_read(path, 1 << 20, &page, &info), 0);
    print_tables(&tables);
    const char *begin = strstr(page.chars, begins), *end = strstr(page.chars, ends);
    assert_true(begin && end);
    begin += strlen(begins);
    const bool is_same =
        (size_t)(end - begin) == tables.length && memcmp(begin, tables.chars, tables.length) == 0;
    if (getenv("NDR_TEST_WRITE")) write_page(page.chars, begin, tables.chars, end);
    else if (!is_same) print_error("write the tables of docs/appendix/drivers.md with NDR_TEST_WRITE=1\n");
    ndr_text_free(&page);
    ndr_text_free(&tables);
    assert_true(is_same || getenv("NDR_TEST_WRITE"));
}

/* ---- on this driver ---- */

/* A child's exit status; -1: it crashed or did not end in time. */
static int run_reproducer(const char *id)
{
    char command[1200];
    /* Its objects are left to the end of the process. */
    snprintf(command, sizeof command,
             "ulimit -c 0; export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0; "
             "exec timeout -k 1 60 " DRIVER_FAULT " %s >/dev/null 2>&1",
             id);
    const int status = system(command);
    if (!WIFEXITED(status)) return -1;
    const int code = WEXITSTATUS(status);
    return code == NOT_TRIED_EXIT ? NOT_TRIED : code <= NOT_TRIED ? code : -1;
}

static bool is_shown_by_the_first_device(void)
{
    size_t count = 0;
    assert_ok(ndr_device_list(0, NULL, &count));
    return count == 1;
}

/* Rows that a driver's name switches on. Their reproducers end by themselves. Another version of the driver may be
 * without the fault; the row is on there, too. */
static void test_quirks__that_a_name_switches_on_are_shown_by_their_reproducers(void **state)
{
    static const ndr_quirk named[] = { NDR_QUIRK_MARK_WAITS_FOR_ALL, NDR_QUIRK_ONE_VALUE_FOR_ALL,
                                       NDR_QUIRK_LOOPS_END_EARLY };
    const char *mended = NULL;
    skip_without(is_shown_by_the_first_device(), "there are other devices, and the reproducers take the first one");
    for (size_t i = 0; i < sizeof named / sizeof named[0]; ++i) {
        const ndr_quirk_row *r = &ndr_quirk_rows[named[i]];
        const bool is_on = r->sign->is_there(&context->caps);
        const int result = run_reproducer(r->id);
        print_message("%s: %d\n", r->id, result);
        assert_true(result == RIGHT || result == NOT_TRIED || (result == WRONG && is_on));
        if (result == RIGHT && is_on) mended = r->id;
    }
    if (mended) print_message("this version of the driver does not show %s\n", mended);
    skip_without(!mended, "a reproducer does not show its fault");
}

enum { MOMENT_NS = 200000000 };

static bool ends_soon(ndr_event *event) { return ndr_event_wait_within(event, MOMENT_NS) == NDR_OK; }

static ndr_event *fill_behind(ndr_queue *line, ndr_buffer *x, ndr_event *before)
{
    ndr_event *done;
    assert_ok(ndr_buffer_fill(ndr_after(line, before), x, 0, sizeof(int), &(const int){ 7 }, sizeof(int), &done));
    return done;
}

/* Whether the driver runs the commands of an out-of-order queue in order: even work that waits for nothing waits for
 * the work before it. */
static bool runs_in_order(ndr_queue *unordered, ndr_buffer *x, ndr_buffer *y)
{
    ndr_event *gate;
    assert_ok(ndr_event_create(context, &gate));
    ndr_event *const held = fill_behind(unordered, x, gate), *const other = fill_behind(unordered, y, NULL);
    assert_ok(ndr_queue_flush(unordered));
    const bool is_over = ends_soon(other);
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_queue_finish(unordered));
    ndr_event *const events[] = { gate, held, other };
    for (size_t i = 0; i < 3; ++i) ndr_event_destroy(events[i]);
    return !is_over;
}

/* A mark that waits for nothing unfinished, beside work that is held back. */
static bool mark_ends_alone(ndr_queue *unordered, ndr_buffer *x)
{
    ndr_event *gate, *open, *mark;
    assert_ok(ndr_event_create(context, &gate));
    assert_ok(ndr_event_create(context, &open));
    assert_ok(ndr_event_complete(open));
    ndr_event *const held = fill_behind(unordered, x, gate);
    assert_ok(ndr_queue_mark(ndr_after(unordered, open), &mark));
    assert_ok(ndr_queue_flush(unordered));
    const bool is_over = ends_soon(mark);
    assert_ok(ndr_event_complete(gate));
    assert_ok(ndr_queue_finish(unordered));
    ndr_event *const events[] = { gate, open, mark, held };
    for (size_t i = 0; i < 4; ++i) ndr_event_destroy(events[i]);
    return is_over;
}

/* Whether work overtakes the one before it, if one between them has failed. */
static bool overtakes(ndr_queue *line, ndr_buffer *x)
{
    ndr_event *gates[2];
    for (int i = 0; i < 2; ++i) assert_ok(ndr_event_create(context, &gates[i]));
    ndr_event *const first = fill_behind(line, x, gates[0]), *const second = fill_behind(line, x, gates[1]);
    assert_ok(ndr_event_fail(gates[1], NDR_DRIVER_ERROR, "on purpose"));
    ndr_event *const third = fill_behind(line, x, NULL);
    assert_ok(ndr_queue_flush(line));
    const bool is_over = ends_soon(third);
    assert_ok(ndr_event_complete(gates[0]));
    NDR_IGNORE(ndr_queue_finish(line));
    ndr_event *const events[] = { gates[0], gates[1], first, second, third };
    for (size_t i = 0; i < 5; ++i) ndr_event_destroy(events[i]);
    return is_over;
}

static void test_quirks__a_driver_shows_its_fault_only_if_the_row_is_off(void **state)
{
    const uint64_t quirks = context->caps.quirks;
    const bool is_pocl = ndr_quirk_rows[NDR_QUIRK_MARK_WAITS_FOR_ALL].sign->is_there(&context->caps);
    ndr_queue *line, *unordered;
    ndr_buffer *x = buffer_of(sizeof(int), NULL), *y = buffer_of(sizeof(int), NULL);
    assert_ok(ndr_queue_create(context, NULL, &line));
    context->caps.quirks |= NDR_QUIRK_BIT(NDR_QUIRK_MARK_WAITS_FOR_ALL) | NDR_QUIRK_BIT(NDR_QUIRK_FAILED_ORDER_LOST);
    const ndr_status made = ndr_queue_create(context, &(ndr_queue_desc){ .is_out_of_order = true }, &unordered);
    const bool has_marks = made == NDR_OK && !runs_in_order(unordered, x, y);
    const bool is_alone = !has_marks || mark_ends_alone(unordered, x), keeps_order = !overtakes(line, x);
    context->caps.quirks &= ~(NDR_QUIRK_BIT(NDR_QUIRK_MARK_WAITS_FOR_ALL) | NDR_QUIRK_BIT(NDR_QUIRK_FAILED_ORDER_LOST));
    const bool was_alone = !has_marks || mark_ends_alone(unordered, x), kept_order = !overtakes(line, x);
    context->caps.quirks = quirks;
    if (made == NDR_OK) ndr_queue_destroy(unordered);
    ndr_queue_destroy(line);
    destroy_buffers(x, y);
    print_message("without the rows: a mark waits for its list alone: %d, order is kept: %d\n", was_alone, kept_order);
    assert_true(is_alone && keeps_order);
    if (has_marks) assert_int_equal(was_alone, !is_pocl);
    if (is_pocl) assert_false(kept_order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quirks__are_on_by_the_signs_of_a_driver),
        cmocka_unit_test(test_quirks__are_switched_by_their_ids),
        cmocka_unit_test(test_quirks__refuses_words_that_are_no_rows_with_a_switch),
        cmocka_unit_test(test_quirks__are_listed_with_those_that_a_context_avoids),
        cmocka_unit_test(test_quirks__unknown_ones_are_refused_with_the_context),
        cmocka_unit_test(test_quirks__rows_are_complete),
        cmocka_unit_test(test_quirks__are_those_of_the_page),
        cmocka_unit_test(test_quirks__that_a_name_switches_on_are_shown_by_their_reproducers),
        cmocka_unit_test(test_quirks__a_driver_shows_its_fault_only_if_the_row_is_off),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
