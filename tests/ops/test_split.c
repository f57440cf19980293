/* test_split.c - the first kernel of the row `split`: three parts of elements, their places, and the marks of elements to
 * which parts do not do justice. */
#include "ops/parts.h"

/* All 24 bits of an element are in its parts, each of which is at most 2^-8 of the one before; padding is 0. */
static void check_line(const bench *s, bool is_b, size_t line)
{
    for (size_t step = 0; step < s->stretches * NDR_SPLIT_DEPTH; ++step) {
        const size_t stretch = step / NDR_SPLIT_DEPTH, within = step % NDR_SPLIT_DEPTH;
        const float h = part_at(s, is_b, line, stretch, within, 0), i = part_at(s, is_b, line, stretch, within, 1);
        const float l = part_at(s, is_b, line, stretch, within, 2);
        assert_true((double)h + i + l == (double)element_at(s, is_b, line, step));
        assert_true(fabsf(i) <= fabsf(h) * 0x1p-8f && fabsf(l) <= fabsf(h) * 0x1p-16f);
    }
}

static void check_parts(size_t m, size_t n, size_t k, size_t gap, size_t offset, unsigned tile_n)
{
    bench s = open_bench(m, n, k, gap, offset, 3, tile_n);
    split(&s);
    for (size_t line = 0; line < s.blocks_m * NDR_SPLIT_ROWS; ++line) check_line(&s, false, line);
    for (size_t line = 0; line < s.blocks_n * tile_n; ++line) check_line(&s, true, line);
    assert_int_equal(marks_of(&s, NDR_SPLIT_MARKS), 0);
    close_bench(&s);
}

static void test_split__stores_all_bits_in_three_parts(void **state)
{
    check_parts(129, 65, 33, 1, 3, 64);
    if (quick()) return;
    check_parts(3, 5, 64, 0, 0, 64);
    check_parts(128, 130, 72, 4, 4, 128);
    check_parts(1, 127, 97, 0, 1, 128);
}

/* ---- marks ---- */

/* One element of one matrix is changed to `value`: the marks, as bits. */
static unsigned marks_after(bool in_b, float value)
{
    bench s = open_bench(quick() ? 2 : 130, quick() ? 2 : 70, 40, 0, 0, 3, 64);
    if (in_b) s.b[s.k * s.n - 1] = value;
    else s.a[s.m * s.k - 1] = value;
    split(&s);
    const unsigned marks = marks_of(&s, NDR_SPLIT_MARKS);
    close_bench(&s);
    return marks;
}

static void test_split__marks_elements_beyond_its_parts(void **state)
{
    const struct {
        float value;
        unsigned in_a, in_b;
    } cases[] = {
        { 0, 0, 0 },
        { -0.0f, 0, 0 },
        { 0x1p-110f, 0, 0 },
        { 0x1.fffffep-111f, 1u << NDR_SPLIT_A_TINY, 1u << NDR_SPLIT_B_TINY },
        { -0x1p-149f, 1u << NDR_SPLIT_A_TINY, 1u << NDR_SPLIT_B_TINY },
        { 0x1.fffffep7f, 0, 0 },
        { -0x1p8f, 1u << NDR_SPLIT_A_LARGE, 1u << NDR_SPLIT_B_LARGE },
        { 0x1.fefffep127f, 1u << NDR_SPLIT_A_LARGE, 1u << NDR_SPLIT_B_LARGE },
        { 0x1.ffp127f, 1u << NDR_SPLIT_A_LARGE | 1u << NDR_SPLIT_BEYOND,
          1u << NDR_SPLIT_B_LARGE | 1u << NDR_SPLIT_BEYOND },
        { -INFINITY, 1u << NDR_SPLIT_A_LARGE | 1u << NDR_SPLIT_BEYOND,
          1u << NDR_SPLIT_B_LARGE | 1u << NDR_SPLIT_BEYOND },
        { NAN, 1u << NDR_SPLIT_A_LARGE | 1u << NDR_SPLIT_BEYOND, 1u << NDR_SPLIT_B_LARGE | 1u << NDR_SPLIT_BEYOND },
    };
    if (quick()) { /* a mark of each matrix */
        assert_int_equal(marks_after(false, cases[4].value), cases[4].in_a);
        assert_int_equal(marks_after(true, cases[8].value), cases[8].in_b);
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        assert_int_equal(marks_after(false, cases[i].value), cases[i].in_a);
        assert_int_equal(marks_after(true, cases[i].value), cases[i].in_b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split__stores_all_bits_in_three_parts),
        cmocka_unit_test(test_split__marks_elements_beyond_its_parts),
    };
    return cmocka_run_group_tests_name("split", tests, open_device, close_device);
}
