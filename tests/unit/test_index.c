/* test_index.c - ndr_index.h: ranges and ids as values, their arithmetic, and linear indices of any dimensions. */
#include "support.h"

#include "ndr/ndr_index.h"

/* Short names for the tests below. */
static ndr_range r1(size_t n) { return ndr_range_1d(n); }
static ndr_range r2(size_t rows, size_t cols) { return ndr_range_2d(rows, cols); }
static ndr_range r3(size_t planes, size_t rows, size_t cols) { return ndr_range_3d(planes, rows, cols); }

static void assert_range(ndr_range got, ndr_range wanted)
{
    assert_int_equal(got.dims, wanted.dims);
    for (unsigned d = 0; d < wanted.dims; ++d) assert_int_equal(got.size[d], wanted.size[d]);
    assert_true(ndr_range_equal(got, wanted));
}

static void assert_id(ndr_id got, ndr_id wanted)
{
    assert_int_equal(got.dims, wanted.dims);
    for (unsigned d = 0; d < wanted.dims; ++d) assert_int_equal(got.at[d], wanted.at[d]);
    assert_true(ndr_id_equal(got, wanted));
}

/* An invalid result has no dimensions. */
static void assert_no_range(ndr_range got)
{
    assert_int_equal(got.dims, 0);
}
static void assert_no_id(ndr_id got)
{
    assert_int_equal(got.dims, 0);
}

/* ---- values ---- */

static void test_index_range__has_its_sizes_in_our_order(void **state)
{
    const ndr_range range = r3(2, 3, 5);
    assert_int_equal(range.dims, 3);
    assert_int_equal(range.size[0], 2);
    assert_int_equal(range.size[1], 3);
    assert_int_equal(range.size[2], 5);
    assert_int_equal(r2(2, 3).dims, 2);
    assert_int_equal(r1(2).dims, 1);
}

static void test_index_range__is_equal_in_dimensions_and_sizes(void **state)
{
    assert_true(ndr_range_equal(r3(2, 3, 5), r3(2, 3, 5)));
    assert_false(ndr_range_equal(r3(2, 3, 5), r3(2, 3, 6)));
    assert_false(ndr_range_equal(r3(2, 3, 5), r3(2, 4, 5)));
    assert_false(ndr_range_equal(r3(2, 3, 5), r3(1, 3, 5)));
    assert_false(ndr_range_equal(r2(4, 1), r1(4)));

    ndr_range strange = r1(4); /* values after the last dimension are ignored */
    strange.size[1] = 77;
    assert_true(ndr_range_equal(strange, r1(4)));
}

static void test_index_range__of_one_number_has_it_in_every_dimension(void **state)
{
    assert_range(ndr_range_all(1, 7), r1(7));
    assert_range(ndr_range_all(2, 7), r2(7, 7));
    assert_range(ndr_range_all(3, 7), r3(7, 7, 7));
    assert_int_equal(ndr_range_all(1, 7).size[1], 0);
    assert_int_equal(ndr_range_all(2, 7).size[2], 0);
    assert_no_range(ndr_range_all(0, 7));
}

static void test_range_total__is_the_product(void **state)
{
    assert_int_equal(ndr_range_total(r1(7)), 7);
    assert_int_equal(ndr_range_total(r2(2, 8)), 16);
    assert_int_equal(ndr_range_total(r3(2, 3, 5)), 30);
}

static void test_range_total__of_nothing_is_0(void **state)
{
    assert_int_equal(ndr_range_total(r1(0)), 0);
    assert_int_equal(ndr_range_total(r3(0, 3, 5)), 0);
    assert_int_equal(ndr_range_total(r3(2, 3, 0)), 0);
    assert_int_equal(ndr_range_total(r3(SIZE_MAX, SIZE_MAX, 0)), 0);
    assert_int_equal(ndr_range_total(r3(0, SIZE_MAX, SIZE_MAX)), 0);
    assert_int_equal(ndr_range_total(ndr_range_all(0, 9)), 0);
}

static void test_range_total__stops_at_the_largest_number(void **state)
{
    const size_t half = (size_t)1 << (4 * sizeof(size_t));
    assert_true(ndr_range_total(r1(SIZE_MAX)) == SIZE_MAX);
    assert_true(ndr_range_total(r2(half, half)) == SIZE_MAX);
    assert_true(ndr_range_total(r2(half, half - 1)) == SIZE_MAX - half + 1);
    assert_true(ndr_range_total(r3(SIZE_MAX, 1, 2)) == SIZE_MAX);
    assert_true(ndr_range_total(r3(half, half, half)) == SIZE_MAX);
}

static void test_id__has_its_indices_in_our_order(void **state)
{
    const ndr_id id = ndr_id_3d(2, 3, 5);
    assert_int_equal(id.dims, 3);
    assert_int_equal(id.at[0], 2);
    assert_int_equal(id.at[1], 3);
    assert_int_equal(id.at[2], 5);
    assert_id(ndr_id_2d(4, 6), ndr_id_2d(4, 6));
    assert_id(ndr_id_1d(4), ndr_id_1d(4));
    assert_false(ndr_id_equal(ndr_id_2d(4, 6), ndr_id_2d(6, 4)));
    assert_false(ndr_id_equal(ndr_id_2d(4, 0), ndr_id_1d(4)));
}

static void test_id__and_range_become_each_other(void **state)
{
    assert_id(ndr_id_of_range(r3(2, 3, 5)), ndr_id_3d(2, 3, 5));
    assert_range(ndr_range_of_id(ndr_id_2d(2, 3)), r2(2, 3));
    assert_id(ndr_id_of_range(ndr_range_of_id(ndr_id_1d(9))), ndr_id_1d(9));
}

static void test_id__indexes_arrays(void **state)
{
    int array[2][3][5] = { { { 0 } } };
    const ndr_id id = ndr_id_3d(1, 2, 4);
    array[id.at[0]][id.at[1]][id.at[2]] = 7;
    assert_int_equal((&array[0][0][0])[ndr_linear_id(r3(2, 3, 5), id)], 7);
}

/* ---- arithmetic ---- */

static void test_arithmetic__goes_dimension_by_dimension(void **state)
{
    const ndr_range a = r3(12, 20, 7), b = r3(4, 3, 7);
    assert_range(ndr_range_add(a, b), r3(16, 23, 14));
    assert_range(ndr_range_sub(a, b), r3(8, 17, 0));
    assert_range(ndr_range_mul(a, b), r3(48, 60, 49));
    assert_range(ndr_range_div(a, b), r3(3, 6, 1));
    assert_range(ndr_range_mod(a, b), r3(0, 2, 0));

    const ndr_id i = ndr_id_3d(12, 20, 7), j = ndr_id_3d(4, 3, 7);
    assert_id(ndr_id_add(i, j), ndr_id_3d(16, 23, 14));
    assert_id(ndr_id_sub(i, j), ndr_id_3d(8, 17, 0));
    assert_id(ndr_id_mul(i, j), ndr_id_3d(48, 60, 49));
    assert_id(ndr_id_div(i, j), ndr_id_3d(3, 6, 1));
    assert_id(ndr_id_mod(i, j), ndr_id_3d(0, 2, 0));
}

static void test_arithmetic__takes_1_and_2_dimensions(void **state)
{
    assert_range(ndr_range_add(r1(3), r1(4)), r1(7));
    assert_range(ndr_range_sub(r1(4), r1(3)), r1(1));
    assert_range(ndr_range_mul(r2(3, 4), r2(5, 6)), r2(15, 24));
    assert_range(ndr_range_div(r2(15, 25), r2(5, 6)), r2(3, 4));
    assert_range(ndr_range_mod(r2(15, 25), r2(5, 6)), r2(0, 1));
    assert_id(ndr_id_add(ndr_id_1d(3), ndr_id_1d(4)), ndr_id_1d(7));
    assert_id(ndr_id_mul(ndr_id_2d(3, 4), ndr_id_2d(5, 6)), ndr_id_2d(15, 24));
}

static void test_arithmetic__takes_one_number_for_all_dimensions(void **state)
{
    assert_range(ndr_range_add(r3(1, 2, 3), ndr_range_all(3, 10)), r3(11, 12, 13));
    assert_range(ndr_range_mul(r2(3, 4), ndr_range_all(2, 2)), r2(6, 8));
    assert_range(ndr_range_div(r2(640, 480), ndr_range_all(2, 16)), r2(40, 30));
}

static void test_arithmetic__mixes_ids_and_ranges(void **state)
{
    /* group id * group size + local id: an item's global id */
    const ndr_id group = ndr_id_2d(3, 1), place = ndr_id_2d(2, 5), size = ndr_id_of_range(r2(4, 8));
    assert_id(ndr_id_add(ndr_id_mul(group, size), place), ndr_id_2d(14, 13));
    assert_id(ndr_id_div(ndr_id_2d(14, 13), size), group);
    assert_id(ndr_id_mod(ndr_id_2d(14, 13), size), place);
}

static void test_arithmetic__of_different_dimensions_makes_no_sense(void **state)
{
    const ndr_range a = r2(8, 8), b = r1(2);
    assert_no_range(ndr_range_add(a, b));
    assert_no_range(ndr_range_sub(a, b));
    assert_no_range(ndr_range_mul(a, b));
    assert_no_range(ndr_range_div(a, b));
    assert_no_range(ndr_range_mod(a, b));
    assert_no_range(ndr_range_round_up(a, b));
    const ndr_id i = ndr_id_2d(8, 8), j = ndr_id_1d(2);
    assert_no_id(ndr_id_add(i, j));
    assert_no_id(ndr_id_sub(i, j));
    assert_no_id(ndr_id_mul(i, j));
    assert_no_id(ndr_id_div(i, j));
    assert_no_id(ndr_id_mod(i, j));
}

static void test_arithmetic__below_0_makes_no_sense(void **state)
{
    assert_no_range(ndr_range_sub(r2(8, 1), r2(7, 2)));
    assert_no_range(ndr_range_sub(r1(0), r1(1)));
    assert_range(ndr_range_sub(r1(1), r1(1)), r1(0));
    assert_no_id(ndr_id_sub(ndr_id_3d(1, 1, 0), ndr_id_3d(0, 0, 1)));
}

static void test_arithmetic__past_the_largest_number_makes_no_sense(void **state)
{
    const size_t half = (size_t)1 << (4 * sizeof(size_t));
    assert_no_range(ndr_range_add(r2(1, SIZE_MAX), r2(1, 1)));
    assert_range(ndr_range_add(r1(SIZE_MAX - 1), r1(1)), r1(SIZE_MAX));
    assert_no_range(ndr_range_mul(r1(half), r1(half)));
    assert_no_range(ndr_range_mul(r2(2, SIZE_MAX), r2(2, 2)));
    assert_range(ndr_range_mul(r1(half), r1(half - 1)), r1(SIZE_MAX - half + 1));
    assert_range(ndr_range_mul(r2(SIZE_MAX, 0), r2(0, SIZE_MAX)), r2(0, 0));
    assert_no_id(ndr_id_add(ndr_id_1d(SIZE_MAX), ndr_id_1d(1)));
    assert_no_id(ndr_id_mul(ndr_id_1d(SIZE_MAX), ndr_id_1d(2)));
}

static void test_arithmetic__divided_by_0_makes_no_sense(void **state)
{
    assert_no_range(ndr_range_div(r2(8, 8), r2(2, 0)));
    assert_no_range(ndr_range_mod(r2(8, 8), r2(0, 2)));
    assert_range(ndr_range_div(r2(0, 8), r2(2, 2)), r2(0, 4));
    assert_no_id(ndr_id_div(ndr_id_1d(8), ndr_id_1d(0)));
    assert_no_id(ndr_id_mod(ndr_id_1d(8), ndr_id_1d(0)));
}

/* An invalid operand gives an invalid result, so a sum of differences needs only one check at its end. */
static void test_arithmetic__with_no_sense_makes_no_sense(void **state)
{
    const ndr_range none = ndr_range_sub(r1(1), r1(2));
    assert_no_range(ndr_range_add(none, none));
    assert_no_range(ndr_range_mul(none, r1(2)));
    assert_no_range(ndr_range_round_up(none, none));
    assert_no_id(ndr_id_of_range(none));
    assert_int_equal(ndr_range_total(none), 0);

    ndr_range four = r3(1, 1, 1);
    four.dims = 4;
    assert_no_range(ndr_range_add(four, four));
    assert_no_range(ndr_range_sub(four, four));
    assert_no_range(ndr_range_mul(four, four));
    assert_no_range(ndr_range_div(four, four));
    assert_no_range(ndr_range_mod(four, four));
}

/* ---- multiples ---- */

static void test_round_up__gives_the_next_multiple(void **state)
{
    assert_range(ndr_range_round_up(r2(5, 5), r2(2, 2)), r2(6, 6));
    assert_range(ndr_range_round_up(r3(1, 64, 65), r3(64, 64, 64)), r3(64, 64, 128));
    assert_range(ndr_range_round_up(r1(20000), r1(64)), r1(20032));
    assert_range(ndr_range_round_up(r1(0), r1(64)), r1(0));
    assert_range(ndr_range_round_up(r1(7), r1(1)), r1(7));
}

static void test_round_up__to_multiples_of_0_makes_no_sense(void **state)
{
    assert_no_range(ndr_range_round_up(r1(5), r1(0)));
    assert_no_range(ndr_range_round_up(r2(5, 5), r2(5, 0)));
}

static void test_round_up__past_the_largest_number_makes_no_sense(void **state)
{
    assert_no_range(ndr_range_round_up(r1(SIZE_MAX), r1(2)));
    assert_range(ndr_range_round_up(r1(SIZE_MAX), r1(1)), r1(SIZE_MAX));
    assert_range(ndr_range_round_up(r1(SIZE_MAX), r1(SIZE_MAX)), r1(SIZE_MAX));
    assert_range(ndr_range_round_up(r1(1), r1(SIZE_MAX)), r1(SIZE_MAX));
}

/* ---- nd_ranges ---- */

static void test_nd_range__has_the_ranges_it_was_made_of(void **state)
{
    const ndr_nd_range range = ndr_nd_range_3d(8, 16, 24, 2, 4, 8);
    assert_range(range.global, r3(8, 16, 24));
    assert_range(range.local, r3(2, 4, 8));
    assert_range(ndr_nd_range_groups(range), r3(4, 4, 3));
    for (unsigned d = 0; d < 3; ++d) assert_int_equal(range.offset[d], 0);
    assert_int_equal(range.edge, NDR_EDGE_REJECT);
    assert_int_equal(range.groups.dims, 0);
}

static void test_nd_range__counts_edge_groups(void **state)
{
    assert_range(ndr_nd_range_groups(ndr_nd_range_1d(100, 64)), r1(2));
    assert_range(ndr_nd_range_groups(ndr_nd_range_2d(5, 7, 2, 3)), r2(3, 3));
    assert_range(ndr_nd_range_groups(ndr_nd_range_1d(0, 64)), r1(0));
    assert_range(ndr_nd_range_groups(ndr_nd_range_1d(1, 64)), r1(1));
}

static void test_nd_range__whose_groups_are_not_known_has_none(void **state)
{
    assert_no_range(ndr_nd_range_groups(ndr_nd_range_1d(100, 0)));
    assert_no_range(ndr_nd_range_groups(ndr_nd_range_2d(100, 100, 8, 0)));
    assert_no_range(ndr_nd_range_groups(ndr_nd_range_of(r2(8, 8), r1(8))));
    assert_no_range(ndr_nd_range_groups(ndr_nd_range_of(r2(8, 8), ndr_range_all(0, 0))));
}

/* ---- linear indices ---- */

/* Figure 4-1. */
static void test_linear_id__of_2_by_8_counts_row_by_row(void **state)
{
    size_t expected = 0;
    for (size_t row = 0; row < 2; ++row)
        for (size_t col = 0; col < 8; ++col)
            assert_int_equal(ndr_linear_id(r2(2, 8), ndr_id_2d(row, col)), expected++);
    assert_int_equal(expected, 16);
}

static void test_linear_id__of_2_by_3_by_5_follows_the_formula(void **state)
{
    size_t expected = 0;
    for (size_t i = 0; i < 2; ++i)
        for (size_t j = 0; j < 3; ++j)
            for (size_t k = 0; k < 5; ++k) {
                assert_int_equal(ndr_linear_id(r3(2, 3, 5), ndr_id_3d(i, j, k)), (i * 3 + j) * 5 + k);
                assert_int_equal(ndr_linear_id(r3(2, 3, 5), ndr_id_3d(i, j, k)), expected++);
            }
    assert_int_equal(ndr_linear_id(r1(9), ndr_id_1d(6)), 6);
}

static void test_id_at__is_the_way_back(void **state)
{
    static const ndr_range ranges[] = { { 1, { 7, 0, 0 } }, { 2, { 2, 8, 0 } }, { 2, { 13, 1, 0 } }, { 3, { 2, 3, 5 } } };
    for (size_t r = 0; r < COUNT_OF(ranges); ++r)
        for (size_t i = 0; i < ndr_range_total(ranges[r]); ++i) {
            const ndr_id id = ndr_id_at(ranges[r], i);
            assert_int_equal(id.dims, ranges[r].dims);
            for (unsigned d = 0; d < id.dims; ++d) assert_true(id.at[d] < ranges[r].size[d]);
            assert_int_equal(ndr_linear_id(ranges[r], id), i);
        }
    assert_id(ndr_id_at(r2(2, 8), 13), ndr_id_2d(1, 5));
}

/* Each element's id becomes a linear index and back. Neighbours along the last dimension are neighbours in memory. */
static void check_round_trip(size_t dims, const size_t *extents)
{
    size_t total = 1, before[5] = { 0 };
    for (size_t d = 0; d < dims; ++d) total *= extents[d];
    for (size_t i = 0; i < total; ++i) {
        size_t index[5] = { 0 }, step = 0;
        ndr_delinearize(dims, extents, i, index);
        for (size_t d = 0; d < dims; ++d) {
            assert_true(index[d] < extents[d]);
            step += index[d] != before[d];
        }
        assert_int_equal(ndr_linearize(dims, extents, index), i);
        if (i > 0 && index[dims - 1] > 0) assert_int_equal(step, 1);
        memcpy(before, index, sizeof before);
    }
}

static void test_linearize__makes_the_round_trip_in_4_and_5_dimensions(void **state)
{
    check_round_trip(4, (size_t[]){ 2, 3, 5, 7 });
    check_round_trip(4, (size_t[]){ 7, 1, 2, 3 });
    check_round_trip(5, (size_t[]){ 3, 2, 4, 1, 5 });
    check_round_trip(5, (size_t[]){ 1, 1, 1, 1, 9 });
    assert_int_equal(ndr_linearize(4, (size_t[]){ 2, 3, 5, 7 }, (size_t[]){ 1, 2, 3, 4 }),
                     ((1 * 3 + 2) * 5 + 3) * 7 + 4);
}

static void test_linearize__of_no_dimensions_is_0(void **state)
{
    size_t none[1] = { 77 };
    assert_int_equal(ndr_linearize(0, none, none), 0);
    ndr_delinearize(0, none, 5, none);
    assert_int_equal(none[0], 77);
}

static void test_linearize__reaches_past_32_bits(void **state)
{
    if (sizeof(size_t) < 8) skip();
    const size_t big = (size_t)1 << 20, extents[3] = { big, big, big }, index[3] = { big - 1, 3, 7 };
    size_t back[3];
    const size_t linear = ndr_linearize(3, extents, index);
    assert_true(linear == ((big - 1) * big + 3) * big + 7);
    ndr_delinearize(3, extents, linear, back);
    assert_memory_equal(back, index, sizeof back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index_range__has_its_sizes_in_our_order),
        cmocka_unit_test(test_index_range__is_equal_in_dimensions_and_sizes),
        cmocka_unit_test(test_index_range__of_one_number_has_it_in_every_dimension),
        cmocka_unit_test(test_range_total__is_the_product),
        cmocka_unit_test(test_range_total__of_nothing_is_0),
        cmocka_unit_test(test_range_total__stops_at_the_largest_number),
        cmocka_unit_test(test_id__has_its_indices_in_our_order),
        cmocka_unit_test(test_id__and_range_become_each_other),
        cmocka_unit_test(test_id__indexes_arrays),
        cmocka_unit_test(test_arithmetic__goes_dimension_by_dimension),
        cmocka_unit_test(test_arithmetic__takes_1_and_2_dimensions),
        cmocka_unit_test(test_arithmetic__takes_one_number_for_all_dimensions),
        cmocka_unit_test(test_arithmetic__mixes_ids_and_ranges),
        cmocka_unit_test(test_arithmetic__of_different_dimensions_makes_no_sense),
        cmocka_unit_test(test_arithmetic__below_0_makes_no_sense),
        cmocka_unit_test(test_arithmetic__past_the_largest_number_makes_no_sense),
        cmocka_unit_test(test_arithmetic__divided_by_0_makes_no_sense),
        cmocka_unit_test(test_arithmetic__with_no_sense_makes_no_sense),
        cmocka_unit_test(test_round_up__gives_the_next_multiple),
        cmocka_unit_test(test_round_up__to_multiples_of_0_makes_no_sense),
        cmocka_unit_test(test_round_up__past_the_largest_number_makes_no_sense),
        cmocka_unit_test(test_nd_range__has_the_ranges_it_was_made_of),
        cmocka_unit_test(test_nd_range__counts_edge_groups),
        cmocka_unit_test(test_nd_range__whose_groups_are_not_known_has_none),
        cmocka_unit_test(test_linear_id__of_2_by_8_counts_row_by_row),
        cmocka_unit_test(test_linear_id__of_2_by_3_by_5_follows_the_formula),
        cmocka_unit_test(test_id_at__is_the_way_back),
        cmocka_unit_test(test_linearize__makes_the_round_trip_in_4_and_5_dimensions),
        cmocka_unit_test(test_linearize__of_no_dimensions_is_0),
        cmocka_unit_test(test_linearize__reaches_past_32_bits),
    };
    return cmocka_run_group_tests_name("index", tests, NULL, NULL);
}
