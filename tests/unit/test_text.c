/* test_text.c - growing strings, sizes as sentences print them, sums that report overflow. */
#include "support.h"

#include <locale.h>

#include "base/base.h"

#include <limits.h>

/* ---- growing ---- */

static void test_text__starts_with_no_memory(void **state)
{
    ndr_text text = { 0 };
    assert_null(text.chars);
    ndr_text_free(&text);
}

static void test_text__keeps_all_it_is_given(void **state)
{
    ndr_text text = { 0 };
    for (int i = 0; i < 5000; ++i) ndr_text_add(&text, "%d,", i % 10);
    assert_false(text.failed);
    assert_int_equal(text.length, 10000);
    assert_int_equal(strlen(text.chars), 10000);
    for (size_t i = 0; i < 5000; ++i) {
        assert_int_equal(text.chars[2 * i], '0' + (char)(i % 10));
        assert_int_equal(text.chars[2 * i + 1], ',');
    }
    ndr_text_free(&text);
}

static void test_text__takes_one_piece_of_any_length(void **state)
{
    for (int length = 0; length < 300; ++length) { /* past the first capacities */
        ndr_text text = { 0 };
        ndr_text_add(&text, "%*s", length, "");
        assert_int_equal(strlen(text.chars), length);
        ndr_text_free(&text);
    }
}

static void test_text__formats_as_printf_does(void **state)
{
    (void)state;
    ndr_text text = { 0 };
    ndr_text_add(&text, "a%d%u%zu%s%c|", INT_MIN, UINT_MAX, SIZE_MAX, "bc", 'd');
    ndr_text_add(&text, "%d%u%d%%%5.1f%.*s|%s", -1, 0u, INT_MAX, 2.25, 1, "ef", "");
    ndr_text_add(&text, "%.*s%.*s%.*s", 1, "gh", 9, "ij", -1, "kl");
    char wanted[200];
    snprintf(wanted, sizeof wanted, "a%d%u%zu%s%c|%d%u%d%%%5.1f%.*s|gijkl", INT_MIN, UINT_MAX, SIZE_MAX, "bc", 'd', -1,
             0u, INT_MAX, 2.25, 1, "ef");
    assert_string_equal(text.chars, wanted);
    assert_int_equal(text.length, strlen(wanted));
    ndr_text_free(&text);
}

static void test_text__takes_counted_characters(void **state)
{
    ndr_text text = { 0 };
    ndr_text_add_chars(&text, "abcdef", 3);
    ndr_text_add_chars(&text, "", 0);
    ndr_text_add_chars(&text, "xyz", 1);
    assert_string_equal(text.chars, "abcx");
    ndr_text_free(&text);
}

static void test_text__is_a_string_after_nothing_was_added(void **state)
{
    ndr_text text = { 0 };
    ndr_text_add_chars(&text, "", 0);
    assert_string_equal(text.chars, "");
    ndr_text_free(&text);
}

static void test_text__starts_over_when_cleared(void **state)
{
    ndr_text text = { 0 };
    ndr_text_clear(&text); /* clears an empty text */
    ndr_text_add(&text, "first");
    ndr_text_clear(&text);
    assert_string_equal(text.chars, "");
    ndr_text_add(&text, "second");
    assert_string_equal(text.chars, "second");
    ndr_text_free(&text);
    assert_null(text.chars);
    assert_int_equal(text.length, 0);
}

static void test_text__stays_failed_once_it_could_not_grow(void **state)
{
    ndr_text text = { 0 };
    ndr_text_add(&text, "kept");
    ndr_text_add_chars(&text, "x", SIZE_MAX - 2); /* "x" is not read, because there is no memory */
    assert_true(text.failed);
    ndr_text_add(&text, "ignored");
    ndr_text_add_chars(&text, "ignored", 7);
    assert_true(text.failed);
    assert_string_equal(text.chars, "kept");
    ndr_text_free(&text);
    assert_false(text.failed);
}

/* ---- sizes in sentences ---- */

static void test_sizes__print_whole_and_in_our_order(void **state)
{
    const size_t sizes[3] = { 5, 16, 8 };
    assert_string_equal(ndr_sizes_print(1, sizes).chars, "5");
    assert_string_equal(ndr_sizes_print(2, sizes).chars, "(5, 16)");
    assert_string_equal(ndr_sizes_print(3, sizes).chars, "(5, 16, 8)");
}

static void test_sizes__have_room_for_the_largest(void **state)
{
    const size_t sizes[3] = { SIZE_MAX, SIZE_MAX, SIZE_MAX };
    char wanted[128];
    snprintf(wanted, sizeof wanted, "(%zu, %zu, %zu)", SIZE_MAX, SIZE_MAX, SIZE_MAX);
    assert_string_equal(ndr_sizes_print(3, sizes).chars, wanted);
}

/* ---- words ---- */

static void test_words__are_equal_ignoring_case(void **state)
{
    assert_true(ndr_text_equal_ignoring_case("GPU", "gpu"));
    assert_true(ndr_text_equal_ignoring_case("", ""));
    assert_false(ndr_text_equal_ignoring_case("gpu", "gpus"));
    assert_false(ndr_text_equal_ignoring_case("gpus", "gpu"));
    assert_false(ndr_text_equal_ignoring_case("gpu", "cpu"));
}

static void test_words__are_found_anywhere_ignoring_case(void **state)
{
    assert_true(ndr_text_contains_ignoring_case("NVIDIA H200", "nvidia"));
    assert_true(ndr_text_contains_ignoring_case("NVIDIA H200", "h200"));
    assert_true(ndr_text_contains_ignoring_case("aab", "AB")); /* the first comparison fails halfway */
    assert_true(ndr_text_contains_ignoring_case("x", ""));
    assert_true(ndr_text_contains_ignoring_case("", ""));
    assert_false(ndr_text_contains_ignoring_case("", "x"));
    assert_false(ndr_text_contains_ignoring_case("H20", "H200"));
}

/* ---- arithmetic ---- */

/* Where the system has this locale: in it tolower('I') is no 'i'. */
static void test_words__are_equal_ignoring_case_in_every_locale(void **state)
{
    (void)state;
    if (!setlocale(LC_ALL, "tr_TR.UTF-8")) skip();
    const bool is_equal = ndr_text_equal_ignoring_case("DIRECT I", "direct i");
    const bool is_found = ndr_text_contains_ignoring_case("NVIDIA", "vidi");
    setlocale(LC_ALL, "C");
    assert_true(is_equal);
    assert_true(is_found);
}

static void test_sums__say_when_they_do_not_fit(void **state)
{
    size_t out;
    assert_true(ndr_add_fits(SIZE_MAX - 1, 1, &out));
    assert_true(out == SIZE_MAX);
    assert_false(ndr_add_fits(SIZE_MAX, 1, &out));
    assert_true(ndr_mul_fits(SIZE_MAX / 2, 2, &out));
    assert_true(out == SIZE_MAX - 1);
    assert_false(ndr_mul_fits(SIZE_MAX / 2 + 1, 2, &out));
    assert_true(ndr_mul_fits(SIZE_MAX, 0, &out));
    assert_int_equal(out, 0);
}

static void test_ceil_div__does_not_overflow(void **state)
{
    assert_int_equal(ndr_ceil_div(0, 7), 0);
    assert_int_equal(ndr_ceil_div(7, 7), 1);
    assert_int_equal(ndr_ceil_div(8, 7), 2);
    assert_true(ndr_ceil_div(SIZE_MAX, 2) == SIZE_MAX / 2 + 1);
}

static void test_distance__counts_changed_characters(void **state)
{
    char longer[300];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(ndr_text_distance("", ""), 0);
    assert_int_equal(ndr_text_distance("", "abc"), 3);
    assert_int_equal(ndr_text_distance("abc", ""), 3);
    assert_int_equal(ndr_text_distance("items.clh", "item.clh"), 1);
    assert_int_equal(ndr_text_distance("kitten", "sitting"), 3);
    assert_int_equal(ndr_text_distance("ab", "ba"), 2);
    assert_true(ndr_text_distance("a", longer) == SIZE_MAX);
    assert_int_equal(ndr_text_distance(longer, "a"), 298);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance__counts_changed_characters),
        cmocka_unit_test(test_text__starts_with_no_memory),
        cmocka_unit_test(test_text__keeps_all_it_is_given),
        cmocka_unit_test(test_text__takes_one_piece_of_any_length),
        cmocka_unit_test(test_text__formats_as_printf_does),
        cmocka_unit_test(test_text__takes_counted_characters),
        cmocka_unit_test(test_text__is_a_string_after_nothing_was_added),
        cmocka_unit_test(test_text__starts_over_when_cleared),
        cmocka_unit_test(test_text__stays_failed_once_it_could_not_grow),
        cmocka_unit_test(test_sizes__print_whole_and_in_our_order),
        cmocka_unit_test(test_sizes__have_room_for_the_largest),
        cmocka_unit_test(test_words__are_equal_ignoring_case),
        cmocka_unit_test(test_words__are_found_anywhere_ignoring_case),
        cmocka_unit_test(test_words__are_equal_ignoring_case_in_every_locale),
        cmocka_unit_test(test_sums__say_when_they_do_not_fit),
        cmocka_unit_test(test_ceil_div__does_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
