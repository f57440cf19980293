/* test_range.c - ranges become plans: every rule, and every item once. Pure arithmetic, no device. */
#include "support.h"

#include "launch/launch.h"

/* A generous 64-bit device and a kernel that takes any dimensions. */
static ndr_range_rules rules_for(ndr_form form)
{
    return (ndr_range_rules){ .kernel = "k", .form = form, .max_group_size = 1024,
                              .max_local_size = { 1024, 1024, 1024 }, .address_bits = 64 };
}

static ndr_status plan_of(ndr_nd_range range, ndr_range_rules rules, ndr_range_plan *plan)
{
    memset(plan, 0xa5, sizeof *plan); /* a field that the plan does not set shows */
    return ndr_range_make_plan(&range, &rules, plan);
}

/* A range without groups. */
static ndr_nd_range only(ndr_range range) { return ndr_nd_range_of(range, (ndr_range){ 0, { 0, 0, 0 } }); }

static ndr_nd_range with_edge(ndr_nd_range range, ndr_edge edge)
{
    range.edge = edge;
    return range;
}

static ndr_nd_range with_offset(ndr_nd_range range, size_t o0, size_t o1, size_t o2)
{
    range.offset[0] = o0;
    range.offset[1] = o1;
    range.offset[2] = o2;
    return range;
}

#define refused(status, range, rules, ...)                                           \
    do {                                                                             \
        ndr_range_plan plan_;                                                        \
        assert_refused((status), plan_of((range), (rules), &plan_), __VA_ARGS__);    \
        for (size_t byte_ = 0; byte_ < sizeof plan_; ++byte_)                        \
            assert_int_equal(((const unsigned char *)&plan_)[byte_], 0xa5);          \
    } while (0)

/* A size whose square passes SIZE_MAX. */
static const size_t half = (size_t)1 << (4 * sizeof(size_t));

/* A sentence with one or two numbers; the next call overwrites it. */
static const char *sentence(const char *format, size_t a, size_t b)
{
    static char text[160];
    snprintf(text, sizeof text, format, a, b);
    return text;
}

static ndr_range_plan planned(ndr_nd_range range, ndr_range_rules rules)
{
    ndr_range_plan plan;
    assert_ok(plan_of(range, rules, &plan));
    return plan;
}

static void assert_sizes(const size_t sizes[3], size_t a, size_t b, size_t c)
{
    assert_int_equal(sizes[0], a);
    assert_int_equal(sizes[1], b);
    assert_int_equal(sizes[2], c);
}

/* ---- checking a plan: walk every item of every piece ---- */

enum { MAX_ITEMS = 1 << 16 };
static unsigned char seen[MAX_ITEMS];

/* What A29 and A30 of the OpenCL specification require of one item along one dimension. */
static void check_ids(const ndr_range_plan *plan, const ndr_piece *piece, unsigned d, size_t step,
                      bool groups)
{
    const size_t g = piece->offset[d] + step;
    const size_t s = step % piece->local[d];
    const size_t w = piece->first_group[d] + step / piece->local[d];
    assert_true(g >= plan->offset[d]);
    if (!groups) return; /* the edges are cut into single items, and there are no groups to check */
    assert_int_equal(g, w * plan->local_range[d] + s + plan->offset[d]);
    assert_int_equal(w, (g - s - plan->offset[d]) / plan->local_range[d]);
    assert_true(w < plan->group_range[d]);
}

static void check_piece(const ndr_range_plan *plan, const ndr_piece *piece, const size_t extent[3],
                        bool groups)
{
    size_t size[3] = { 1, 1, 1 };
    for (unsigned d = 0; d < plan->dims; ++d) {
        size[d] = piece->global[d];
        assert_true(piece->local[d] > 0 && size[d] > 0);
        assert_int_equal(size[d] % piece->local[d], 0);
        for (size_t i = 0; i < size[d]; ++i) check_ids(plan, piece, d, i, groups);
    }
    for (size_t i = 0; i < size[0]; ++i)
        for (size_t j = 0; j < size[1]; ++j)
            for (size_t k = 0; k < size[2]; ++k) {
                const size_t step[3] = { i, j, k };
                size_t at = 0;
                for (unsigned d = 0; d < plan->dims; ++d) {
                    const size_t id = piece->offset[d] - plan->offset[d] + step[d];
                    assert_true(id < extent[d]);
                    at = at * extent[d] + id;
                }
                assert_int_equal(seen[at], 0);
                seen[at] = 1;
            }
}

/* The pieces cover the range exactly once, rounded up if the range requests it. Their groups fit the limits. */
static void check_plan(const ndr_range_plan *plan, const ndr_nd_range *range, const ndr_range_rules *rules)
{
    size_t extent[3] = { 1, 1, 1 }, items = 1, largest = 0;
    assert_int_equal(plan->dims, range->global.dims);
    assert_in_range(plan->piece_count, 1, 1u << plan->dims);
    for (unsigned d = 0; d < plan->dims; ++d) {
        assert_int_equal(plan->global_range[d], range->global.size[d]);
        assert_int_equal(plan->offset[d], range->offset[d]);
        assert_int_equal(plan->group_range[d], ndr_ceil_div(range->global.size[d], plan->local_range[d]));
        if (range->local.dims && range->local.size[d])
            assert_int_equal(plan->local_range[d], range->local.size[d]);
        extent[d] = range->edge == NDR_EDGE_ROUND_UP || rules->is_guarded
                        ? plan->group_range[d] * plan->local_range[d]
                        : range->global.size[d];
        items *= extent[d];
    }
    assert_in_range(items, 1, MAX_ITEMS);
    memset(seen, 0, items);
    for (unsigned i = 0; i < plan->piece_count; ++i) {
        const ndr_piece *piece = &plan->pieces[i];
        size_t group = 1;
        for (unsigned d = 0; d < plan->dims; ++d) {
            group *= piece->local[d];
            assert_true(piece->local[d] <= rules->max_local_size[3 - plan->dims + d]);
        }
        assert_true(group <= rules->max_group_size);
        largest = ndr_max_size(largest, group);
        check_piece(plan, piece, extent, rules->form != NDR_FORM_RANGE);
    }
    assert_int_equal(plan->largest_group, largest);
    for (size_t i = 0; i < items; ++i) assert_int_equal(seen[i], 1);
}

static ndr_range_plan checked_plan(ndr_nd_range range, ndr_range_rules rules)
{
    const ndr_range_plan plan = planned(range, rules);
    check_plan(&plan, &range, &rules);
    return plan;
}

/* ---- dimensions and forms ---- */

static void test_range__has_one_to_three_dimensions(void **state)
{
    refused(NDR_BAD_RANGE, only((ndr_range){ 0, { 1, 1, 1 } }), rules_for(NDR_FORM_RANGE), "kernel \"k\"",
            "1 to 3 dimensions, not 0");
    refused(NDR_BAD_RANGE, only((ndr_range){ 4, { 1, 1, 1 } }), rules_for(NDR_FORM_RANGE),
            "1 to 3 dimensions, not 4");
}

static void test_range__has_as_many_dimensions_as_its_groups(void **state)
{
    refused(NDR_BAD_RANGE, ndr_nd_range_of(ndr_range_2d(8, 8), ndr_range_1d(8)), rules_for(NDR_FORM_ND_RANGE),
            "the global range has 2 dimensions, but the local range has 1");
    refused(NDR_BAD_RANGE, ndr_nd_range_of(ndr_range_1d(8), (ndr_range){ 9, { 1, 1, 1 } }),
            rules_for(NDR_FORM_ND_RANGE), "the global range has 1 dimension, but the local range has 9");
}

static void test_range__has_as_many_dimensions_as_the_kernel(void **state)
{
    ndr_range_rules rules = rules_for(NDR_FORM_RANGE);
    rules.dims = 1;
    refused(NDR_BAD_RANGE, only(ndr_range_2d(3, 5)), rules,
            "is written for 1 dimension, but the range (3, 5) has 2");
    rules.dims = 2;
    refused(NDR_BAD_RANGE, only(ndr_range_1d(7)), rules,
            "is written for 2 dimensions, but the range 7 has 1");
    checked_plan(only(ndr_range_2d(3, 5)), rules);
}

static void test_range__of_a_kernel_of_any_dimensions_has_its_own(void **state)
{
    checked_plan(only(ndr_range_1d(5)), rules_for(NDR_FORM_RANGE));
    checked_plan(only(ndr_range_2d(5, 7)), rules_for(NDR_FORM_RANGE));
    checked_plan(only(ndr_range_3d(5, 7, 3)), rules_for(NDR_FORM_RANGE));
}

static void test_range__with_groups_does_not_fit_a_range_kernel(void **state)
{
    refused(NDR_BAD_RANGE, ndr_nd_range_1d(64, 16), rules_for(NDR_FORM_RANGE), "has no groups (NDR_RANGE)",
            "launch it over an ndr_range, or write NDR_ND_RANGE");
    refused(NDR_BAD_RANGE, ndr_nd_range_1d(64, 0), rules_for(NDR_FORM_RANGE), "has no groups (NDR_RANGE)");
}

static void test_range__without_groups_does_not_fit_an_nd_range_kernel(void **state)
{
    refused(NDR_BAD_RANGE, only(ndr_range_1d(64)), rules_for(NDR_FORM_ND_RANGE),
            "works in groups (NDR_ND_RANGE)", "a local size of 0 lets the library choose");
}

static void test_range__of_a_plain_kernel_may_be_of_any_form(void **state)
{
    checked_plan(only(ndr_range_1d(64)), rules_for(NDR_FORM_PLAIN));
    checked_plan(ndr_nd_range_1d(64, 0), rules_for(NDR_FORM_PLAIN));
    checked_plan(ndr_nd_range_1d(64, 16), rules_for(NDR_FORM_PLAIN));
}

static void test_range__refuses_an_edge_that_is_none(void **state)
{
    refused(NDR_BAD_RANGE, with_edge(ndr_nd_range_1d(64, 16), (ndr_edge)3), rules_for(NDR_FORM_ND_RANGE),
            "3 is not an ndr_edge");
    refused(NDR_BAD_RANGE, with_edge(ndr_nd_range_1d(64, 16), (ndr_edge)-1), rules_for(NDR_FORM_ND_RANGE),
            "-1 is not an ndr_edge");
}

/* ---- local sizes against limits ---- */

static void test_range__refuses_a_local_size_that_is_0_in_one_dimension(void **state)
{
    refused(NDR_BAD_RANGE, ndr_nd_range_2d(8, 8, 4, 0), rules_for(NDR_FORM_ND_RANGE), "local size (4, 0)",
            "is 0 in dimension 1", "set every dimension, or leave all 0");
    refused(NDR_BAD_RANGE, ndr_nd_range_3d(8, 8, 8, 0, 2, 2), rules_for(NDR_FORM_ND_RANGE),
            "is 0 in dimension 0");
}

static void test_range__refuses_a_local_size_over_the_device_s_in_a_dimension(void **state)
{
    ndr_range_rules rules = rules_for(NDR_FORM_ND_RANGE);
    rules.max_local_size[0] = 64; /* the planes of a 3-D range: the last one of OpenCL */
    refused(NDR_LIMIT_EXCEEDED, ndr_nd_range_3d(128, 1, 1, 128, 1, 1), rules, "local size (128, 1, 1)",
            "at most 64 in dimension 0", "at most 64");
    checked_plan(ndr_nd_range_3d(1, 128, 1, 1, 128, 1), rules);
    checked_plan(ndr_nd_range_1d(128, 128), rules); /* its only dimension is the contiguous one */
    rules.max_local_size[2] = 32;
    refused(NDR_LIMIT_EXCEEDED, ndr_nd_range_1d(128, 64), rules, "local size 64", "at most 32 in dimension 0");
    refused(NDR_LIMIT_EXCEEDED, ndr_nd_range_2d(128, 128, 2, 64), rules, "local size (2, 64)",
            "at most 32");
}

static void test_range__refuses_groups_over_the_kernel_s_limit(void **state)
{
    ndr_range_rules rules = rules_for(NDR_FORM_ND_RANGE);
    rules.max_group_size = 100;
    refused(NDR_LIMIT_EXCEEDED, ndr_nd_range_2d(110, 110, 11, 10), rules, "local size (11, 10)",
            "groups of 110 work-items", "at most 100");
    checked_plan(ndr_nd_range_2d(110, 110, 10, 10), rules);
}

static void test_range__counts_the_items_of_a_group_without_overflow(void **state)
{
    ndr_range_rules rules = rules_for(NDR_FORM_ND_RANGE);
    for (unsigned d = 0; d < 3; ++d) rules.max_local_size[d] = SIZE_MAX;
    refused(NDR_LIMIT_EXCEEDED, ndr_nd_range_2d(half, 1, half, half), rules, "at most 1024");
    refused(NDR_LIMIT_EXCEEDED, ndr_nd_range_3d(half, 1, 1, half, half, 4), rules, "at most 1024");
}

/* ---- reqd_work_group_size ---- */

static ndr_range_rules requiring(ndr_form form, size_t a, size_t b, size_t c)
{
    ndr_range_rules rules = rules_for(form);
    rules.required[0] = a;
    rules.required[1] = b;
    rules.required[2] = c;
    return rules;
}

static void test_range__refuses_another_local_size_than_the_required(void **state)
{
    refused(NDR_BAD_RANGE, ndr_nd_range_1d(64, 16), requiring(NDR_FORM_ND_RANGE, 1, 1, 8),
            "requires the local size 8 (reqd_work_group_size), not 16");
    refused(NDR_BAD_RANGE, ndr_nd_range_2d(8, 8, 2, 4), requiring(NDR_FORM_PLAIN, 1, 4, 2),
            "requires the local size (4, 2) (reqd_work_group_size), not (2, 4)");
}

static void test_range__takes_the_required_local_size(void **state)
{
    checked_plan(ndr_nd_range_2d(8, 8, 4, 2), requiring(NDR_FORM_ND_RANGE, 1, 4, 2));
    checked_plan(ndr_nd_range_3d(8, 8, 8, 2, 4, 2), requiring(NDR_FORM_PLAIN, 2, 4, 2));
}

static void test_range__adopts_the_required_local_size_where_none_is_given(void **state)
{
    assert_sizes(checked_plan(ndr_nd_range_2d(8, 8, 0, 0), requiring(NDR_FORM_ND_RANGE, 1, 4, 2)).local_range, 4,
                 2, 0);
    assert_sizes(checked_plan(only(ndr_range_1d(64)), requiring(NDR_FORM_PLAIN, 1, 1, 8)).local_range, 8, 0, 0);
    assert_sizes(checked_plan(only(ndr_range_1d(64)), requiring(NDR_FORM_RANGE, 1, 1, 8)).local_range, 8, 0, 0);
}

static void test_range__cannot_adopt_a_required_size_of_more_dimensions(void **state)
{
    refused(NDR_BAD_RANGE, only(ndr_range_1d(64)), requiring(NDR_FORM_PLAIN, 1, 4, 2),
            "requires the local size (4, 2)");
}

static void test_range__of_a_required_size_is_never_split(void **state)
{
    const ndr_range_rules rules = requiring(NDR_FORM_ND_RANGE, 1, 1, 8);
    const char *const why = "global size 60 is not a multiple of the required local size 8 in dimension 0";
    refused(NDR_BAD_RANGE, with_edge(ndr_nd_range_1d(60, 8), NDR_EDGE_SPLIT), rules, why,
            "NDR_EDGE_ROUND_UP");
    refused(NDR_BAD_RANGE, ndr_nd_range_1d(60, 8), rules, why);
    refused(NDR_BAD_RANGE, ndr_nd_range_1d(60, 0), rules, why);
    refused(NDR_BAD_RANGE, only(ndr_range_1d(60)), requiring(NDR_FORM_RANGE, 1, 1, 8), why);
    refused(NDR_BAD_RANGE, only(ndr_range_1d(60)), requiring(NDR_FORM_PLAIN, 1, 1, 8), why);
}

static void test_range__of_a_required_size_may_be_rounded_up(void **state)
{
    const ndr_range_plan plan = checked_plan(with_edge(ndr_nd_range_1d(60, 0), NDR_EDGE_ROUND_UP),
                                             requiring(NDR_FORM_ND_RANGE, 1, 1, 8));
    assert_int_equal(plan.piece_count, 1);
    assert_int_equal(plan.pieces[0].global[0], 64);
    ndr_range_rules rules = requiring(NDR_FORM_RANGE, 1, 1, 8);
    rules.is_guarded = true;
    const ndr_range_plan guarded = checked_plan(only(ndr_range_1d(60)), rules);
    assert_int_equal(guarded.piece_count, 1);
    assert_int_equal(guarded.pieces[0].global[0], 64);
    assert_int_equal(guarded.pieces[0].local[0], 8);
}

/* ---- sizes that cannot be counted ---- */

static void test_range__refuses_an_offset_that_passes_the_largest_id(void **state)
{
    const size_t largest = SIZE_MAX / 2;
    refused(NDR_BAD_RANGE, with_offset(only(ndr_range_1d(2)), largest - 1, 0, 0), rules_for(NDR_FORM_RANGE),
            sentence("global size 2 from offset %zu in dimension 0 exceeds the device's largest id, %zu", largest - 1,
                     largest));
    refused(NDR_BAD_RANGE, with_offset(ndr_nd_range_2d(2, 2, 1, 1), 0, largest, 0),
            rules_for(NDR_FORM_ND_RANGE), "in dimension 1");
    const ndr_range_plan plan =
        planned(with_offset(only(ndr_range_1d(2)), largest - 2, 0, 0), rules_for(NDR_FORM_RANGE));
    assert_true(plan.offset[0] == largest - 2);
}

static void test_range__refuses_more_items_than_can_be_counted(void **state)
{
    refused(NDR_BAD_RANGE, only(ndr_range_2d(half, half)), rules_for(NDR_FORM_RANGE),
            sentence("global size (%zu, %zu) has more work-items than the device can count", half, half));
    refused(NDR_BAD_RANGE, only(ndr_range_3d(half, half / 4, 2)), rules_for(NDR_FORM_PLAIN),
            "more work-items");
}

/* A count that a program computed and that is below 0. */
static void test_range__refuses_negative_numbers_in_every_place(void **state)
{
    const size_t minus_1 = (size_t)-1, lowest = SIZE_MAX / 2 + 1;
    const ndr_range_rules rules = rules_for(NDR_FORM_ND_RANGE);
    refused(NDR_BAD_RANGE, only(ndr_range_1d(minus_1)), rules_for(NDR_FORM_RANGE),
            sentence("kernel \"k\": global size %zu in dimension 0 is the negative number %td as a size_t", minus_1, minus_1));
    refused(NDR_BAD_RANGE, only(ndr_range_3d(1, 1, lowest)), rules_for(NDR_FORM_RANGE),
            sentence("global size %zu in dimension 2 is the negative number -%zu", lowest, lowest));
    refused(NDR_BAD_RANGE, ndr_nd_range_2d(8, 8, 8, minus_1), rules, "local size", "in dimension 1", "-1");
    refused(NDR_BAD_RANGE, with_offset(ndr_nd_range_1d(8, 8), (size_t)-7, 0, 0), rules, "offset", "-7");
    refused(NDR_BAD_RANGE, ndr_groups_of(ndr_range_1d(minus_1), ndr_range_1d(8)), rules, "global size", "-1");
    refused(NDR_BAD_RANGE, only(ndr_range_2d(0, minus_1)), rules_for(NDR_FORM_RANGE), "in dimension 1", "-1");
}

/* Drivers count groups in 32 bits, and crash above that. */
static void test_range__refuses_more_groups_than_a_launch_can_count(void **state)
{
    const size_t most = INT32_MAX;
    ndr_range_rules rules = rules_for(NDR_FORM_ND_RANGE);
    rules.address_bits = 32;
    refused(NDR_LIMIT_EXCEEDED, ndr_nd_range_2d(65535, 65535, 1, 1), rules, "(65535, 65535) in groups of (1, 1)",
            "4294836225 groups");
    if (sizeof(size_t) < 8) return; /* the sizes below are not in it */
    rules.address_bits = 64;
    (void)planned(ndr_nd_range_1d(most * 64, 64), rules);
    refused(NDR_LIMIT_EXCEEDED, ndr_nd_range_1d((most + 1) * 64, 64), rules,
            "kernel \"k\": global size 137438953472 in groups of 64 makes 2147483648 groups of one launch; it takes at "
            "most 2147483647: make groups larger, or launch parts of the range with an offset");
    refused(NDR_LIMIT_EXCEEDED, ndr_nd_range_2d(65536, 65536, 1, 1), rules, "(65536, 65536) in groups of (1, 1)",
            "4294967296 groups");
    refused(NDR_LIMIT_EXCEEDED, with_edge(ndr_nd_range_2d(most + 1, 3, 1, 2), NDR_EDGE_SPLIT), rules,
            "2147483648 groups");
    refused(NDR_LIMIT_EXCEEDED, ndr_groups_of(ndr_range_1d(most + 1), ndr_range_1d(1)), rules, "2147483648 groups");
    refused(NDR_LIMIT_EXCEEDED, ndr_nd_range_1d((most + 1) * 4, 4), rules_for(NDR_FORM_PLAIN), "2147483648 groups");
}

static void test_range__of_a_32_bit_device_ends_at_32_bits(void **state)
{
    ndr_range_rules rules = rules_for(NDR_FORM_RANGE);
    rules.address_bits = 32;
    refused(NDR_BAD_RANGE, only(ndr_range_2d(65536, 65536)), rules, "more work-items", "429496729");
    (void)planned(only(ndr_range_2d(65535, 65536)), rules);
    if (sizeof(size_t) < 8) return; /* half of the range is for negative numbers */
    (void)planned(only(ndr_range_1d(UINT32_MAX)), rules);
    refused(NDR_BAD_RANGE, only(ndr_range_1d((size_t)UINT32_MAX + 1)), rules, "global size 4294967296",
            "largest id, 4294967295");
    refused(NDR_BAD_RANGE, with_offset(only(ndr_range_1d(16)), UINT32_MAX - 15, 0, 0), rules,
            "offset 4294967280", "largest id, 4294967295");
}

static void test_range__refuses_rounding_up_past_the_largest_id(void **state)
{
    ndr_range_rules rules = rules_for(NDR_FORM_ND_RANGE);
    refused(NDR_BAD_RANGE, with_edge(ndr_nd_range_1d(SIZE_MAX / 2, 256), NDR_EDGE_ROUND_UP), rules,
            sentence("global size %zu rounded up to a multiple of %zu in dimension 0 exceeds", SIZE_MAX / 2, 256));
    refused(NDR_BAD_RANGE,
            with_offset(with_edge(ndr_nd_range_1d(100, 64), NDR_EDGE_ROUND_UP), SIZE_MAX / 2 - 110, 0, 0),
            rules, "global size 100 rounded up to a multiple of 64");
    if (sizeof(size_t) < 8) return;
    rules.address_bits = 32;
    refused(NDR_BAD_RANGE, with_edge(ndr_nd_range_1d(UINT32_MAX, 256), NDR_EDGE_ROUND_UP), rules,
            "global size 4294967295 rounded up", "largest id, 4294967295");
    refused(NDR_BAD_RANGE, with_edge(ndr_nd_range_1d(UINT32_MAX, 0), NDR_EDGE_ROUND_UP), rules,
            "rounded up");
}

/* ---- empty ranges ---- */

static void test_range__of_nothing_has_no_pieces(void **state)
{
    static const ndr_form forms[] = { NDR_FORM_PLAIN, NDR_FORM_RANGE, NDR_FORM_ND_RANGE };
    for (size_t f = 0; f < 3; ++f)
        for (unsigned dims = 1; dims <= 3; ++dims)
            for (unsigned zero = 0; zero < dims; ++zero) {
                ndr_nd_range range = { .global = { dims, { 5, 5, 5 } } };
                range.global.size[zero] = 0;
                if (forms[f] == NDR_FORM_ND_RANGE) range.local.dims = dims;
                const ndr_range_plan plan = planned(range, rules_for(forms[f]));
                assert_int_equal(plan.piece_count, 0);
                assert_int_equal(plan.largest_group, 0);
            }
}

static void test_range__of_nothing_needs_no_count_of_items(void **state)
{
    assert_int_equal(planned(only(ndr_range_3d(half, half, 0)), rules_for(NDR_FORM_RANGE)).piece_count, 0);
    assert_int_equal(planned(only(ndr_range_3d(0, half, half)), rules_for(NDR_FORM_RANGE)).piece_count, 0);
}

/* Programs compute local = min(global, k). For a global size of 0 nothing runs and no local size is checked. */
static void test_range__of_nothing_takes_any_local_size(void **state)
{
    static const ndr_form forms[] = { NDR_FORM_PLAIN, NDR_FORM_ND_RANGE };
    for (size_t f = 0; f < 2; ++f)
        for (int edge = NDR_EDGE_REJECT; edge <= NDR_EDGE_SPLIT; ++edge) {
            const ndr_nd_range ranges[] = { ndr_nd_range_1d(0, 0),       ndr_nd_range_1d(0, 4096),
                                            ndr_nd_range_2d(0, 8, 0, 8), ndr_nd_range_2d(8, 0, 8, 0),
                                            ndr_nd_range_2d(0, 7, 5, 3), ndr_nd_range_3d(0, 0, 0, 0, 4, 0),
                                            ndr_groups_of(ndr_range_2d(0, 3), ndr_range_2d(0, 5)),
                                            ndr_groups_of(ndr_range_1d(0), ndr_range_1d(4096)) };
            for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; ++i)
                assert_int_equal(planned(with_edge(ranges[i], (ndr_edge)edge), rules_for(forms[f])).piece_count, 0);
        }
    ndr_range_rules rules = rules_for(NDR_FORM_ND_RANGE);
    rules.required[0] = rules.required[1] = 1;
    rules.required[2] = 64;
    assert_int_equal(planned(ndr_nd_range_1d(0, 3), rules).piece_count, 0);
    refused(NDR_BAD_RANGE, only(ndr_range_1d(0)), rules_for(NDR_FORM_ND_RANGE), "works in groups");
}

/* ---- edges ---- */

static void test_range__refuses_a_ragged_global_unless_told_otherwise(void **state)
{
    refused(
        NDR_BAD_RANGE, ndr_nd_range_1d(1000, 256), rules_for(NDR_FORM_ND_RANGE),
        "global size 1000 is not a multiple of local size 256 in dimension 0",
        "make it a multiple, or set edge to NDR_EDGE_ROUND_UP and guard with ndr_in_range(it), or to NDR_EDGE_SPLIT");
    refused(NDR_BAD_RANGE, ndr_nd_range_3d(4, 6, 7, 2, 3, 2), rules_for(NDR_FORM_PLAIN),
            "global size (4, 6, 7) is not a multiple of local size (2, 3, 2) in dimension 2");
}

static void test_range__that_divides_is_one_piece_whatever_its_edge(void **state)
{
    for (int edge = NDR_EDGE_REJECT; edge <= NDR_EDGE_SPLIT; ++edge) {
        const ndr_range_plan plan =
            checked_plan(with_edge(ndr_nd_range_2d(6, 8, 2, 4), (ndr_edge)edge), rules_for(NDR_FORM_ND_RANGE));
        assert_int_equal(plan.piece_count, 1);
        assert_sizes(plan.pieces[0].global, 6, 8, 0);
        assert_sizes(plan.pieces[0].local, 2, 4, 0);
        assert_sizes(plan.group_range, 3, 2, 0);
    }
}

static void test_range__is_split_along_the_far_edge(void **state)
{
    const ndr_range_plan plan =
        checked_plan(with_offset(with_edge(ndr_nd_range_1d(1000, 256), NDR_EDGE_SPLIT), 7, 0, 0),
                     rules_for(NDR_FORM_ND_RANGE));
    assert_int_equal(plan.piece_count, 2);
    assert_int_equal(plan.pieces[0].global[0], 768);
    assert_int_equal(plan.pieces[0].offset[0], 7);
    assert_int_equal(plan.pieces[0].first_group[0], 0);
    assert_int_equal(plan.pieces[1].global[0], 232);
    assert_int_equal(plan.pieces[1].local[0], 232);
    assert_int_equal(plan.pieces[1].offset[0], 775);
    assert_int_equal(plan.pieces[1].first_group[0], 3);
    assert_int_equal(plan.group_range[0], 4);
}

static void test_range__is_split_into_four_and_eight(void **state)
{
    const ndr_range_rules rules = rules_for(NDR_FORM_ND_RANGE);
    assert_int_equal(checked_plan(with_edge(ndr_nd_range_2d(5, 7, 2, 3), NDR_EDGE_SPLIT), rules).piece_count, 4);
    assert_int_equal(checked_plan(with_edge(ndr_nd_range_2d(4, 7, 2, 3), NDR_EDGE_SPLIT), rules).piece_count, 2);
    assert_int_equal(
        checked_plan(with_edge(ndr_nd_range_3d(3, 5, 7, 2, 2, 3), NDR_EDGE_SPLIT), rules).piece_count, 8);
    assert_int_equal(
        checked_plan(with_edge(ndr_nd_range_3d(4, 5, 7, 2, 2, 3), NDR_EDGE_SPLIT), rules).piece_count, 4);
}

static void test_range__smaller_than_a_group_is_one_smaller_group(void **state)
{
    const ndr_range_plan plan =
        checked_plan(with_edge(ndr_nd_range_1d(5, 64), NDR_EDGE_SPLIT), rules_for(NDR_FORM_ND_RANGE));
    assert_int_equal(plan.piece_count, 1);
    assert_int_equal(plan.pieces[0].local[0], 5);
    assert_int_equal(plan.local_range[0], 64);
    assert_int_equal(plan.largest_group, 5);
}

static void test_range__of_a_plain_kernel_is_never_split(void **state)
{
    refused(NDR_BAD_RANGE, with_edge(ndr_nd_range_1d(1000, 256), NDR_EDGE_SPLIT), rules_for(NDR_FORM_PLAIN),
            "cannot be split", "local size 256", "NDR_EDGE_ROUND_UP");
}

static void test_range__is_rounded_up_in_one_piece(void **state)
{
    static const ndr_form forms[] = { NDR_FORM_PLAIN, NDR_FORM_ND_RANGE };
    for (size_t f = 0; f < 2; ++f) {
        const ndr_range_plan plan =
            checked_plan(with_edge(ndr_nd_range_3d(3, 5, 7, 2, 2, 3), NDR_EDGE_ROUND_UP), rules_for(forms[f]));
        assert_int_equal(plan.piece_count, 1);
        assert_sizes(plan.pieces[0].global, 4, 6, 9);
        assert_sizes(plan.global_range, 3, 5, 7);
        assert_sizes(plan.group_range, 2, 3, 3);
    }
}

/* ---- ranges given as a number of groups ---- */

static void test_groups__are_counted_instead_of_items(void **state)
{
    const ndr_range_plan plan =
        planned(ndr_groups_of(ndr_range_2d(3, 5), ndr_range_2d(2, 4)), rules_for(NDR_FORM_ND_RANGE));
    assert_int_equal(plan.piece_count, 1);
    assert_sizes(plan.global_range, 6, 20, 0);
    assert_sizes(plan.group_range, 3, 5, 0);
    assert_sizes(plan.local_range, 2, 4, 0);
}

static void test_groups__of_no_given_size_are_as_many(void **state)
{
    for (unsigned dims = 1; dims <= 3; ++dims) {
        const ndr_range_plan plan =
            planned(ndr_groups_of((ndr_range){ dims, { 3, 5, 7 } }, (ndr_range){ dims, { 0, 0, 0 } }),
                    rules_for(NDR_FORM_ND_RANGE));
        assert_int_equal(plan.piece_count, 1);
        assert_sizes(plan.group_range, 3, dims > 1 ? 5 : 0, dims > 2 ? 7 : 0);
        assert_in_range(plan.largest_group, 2, 256);
    }
}

static void test_groups__of_no_given_size_get_the_required_one(void **state)
{
    const ndr_range_plan plan = planned(ndr_groups_of(ndr_range_2d(3, 5), ndr_range_2d(0, 0)),
                                        requiring(NDR_FORM_ND_RANGE, 1, 4, 2));
    assert_sizes(plan.local_range, 4, 2, 0);
    assert_sizes(plan.group_range, 3, 5, 0);
}

static void test_groups__need_a_local_size_with_dimensions(void **state)
{
    refused(NDR_BAD_RANGE, ndr_groups_of(ndr_range_1d(3), (ndr_range){ 0, { 0, 0, 0 } }),
            rules_for(NDR_FORM_PLAIN), "groups is set, but local has no dimensions");
}

static void test_groups__and_a_global_size_exclude_each_other(void **state)
{
    ndr_nd_range both = ndr_groups_of(ndr_range_1d(3), ndr_range_1d(8));
    both.global = ndr_range_2d(24, 5);
    refused(NDR_BAD_RANGE, both, rules_for(NDR_FORM_PLAIN), "both global, (24, 5), and groups, 3; set only one");
}

static void test_groups__may_not_be_more_than_can_be_counted(void **state)
{
    refused(NDR_BAD_RANGE, ndr_groups_of(ndr_range_1d(SIZE_MAX / 2), ndr_range_1d(4)), rules_for(NDR_FORM_ND_RANGE),
            "groups of 4 work-items in dimension 0 exceed size_t");
}

static void test_groups__of_no_items_are_refused(void **state)
{
    refused(NDR_BAD_RANGE, ndr_groups_of(ndr_range_2d(2, 3), ndr_range_2d(4, 0)), rules_for(NDR_FORM_ND_RANGE),
            "local size (4, 0) is 0 in dimension 1; set every dimension, or leave all 0");
    refused(NDR_BAD_RANGE, ndr_groups_of(ndr_range_3d(2, 3, 1), ndr_range_3d(0, 4, 4)), rules_for(NDR_FORM_PLAIN),
            "local size (0, 4, 4) is 0 in dimension 0");
}

static void test_groups__of_no_number_have_no_pieces(void **state)
{
    assert_int_equal(
        planned(ndr_groups_of(ndr_range_1d(0), ndr_range_1d(4)), rules_for(NDR_FORM_ND_RANGE)).piece_count,
        0);
    assert_int_equal(
        planned(ndr_groups_of(ndr_range_1d(0), ndr_range_1d(0)), rules_for(NDR_FORM_ND_RANGE)).piece_count,
        0);
}

/* ---- automatic sizes ---- */

/* Difficult sizes: small ones, primes, one below and above a group. */
static const size_t sizes[] = { 1,   2,   3,   7,   31,  63,   64,   65,   127,  251,   255,   256,  257,
                                509, 511, 512, 513, 997, 1000, 1021, 4093, 8191, 10007, 65521, 65536 };
enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };

static void test_automatic__sizes_cover_every_length_once(void **state)
{
    for (size_t i = 0; i < SIZE_COUNT; ++i) {
        checked_plan(only(ndr_range_1d(sizes[i])), rules_for(NDR_FORM_RANGE));
        checked_plan(only(ndr_range_1d(sizes[i])), rules_for(NDR_FORM_PLAIN));
        checked_plan(ndr_nd_range_1d(sizes[i], 0), rules_for(NDR_FORM_ND_RANGE));
        if (sizes[i] > 60000) continue;
        checked_plan(with_edge(only(ndr_range_1d(sizes[i])), NDR_EDGE_ROUND_UP), rules_for(NDR_FORM_RANGE));
        checked_plan(with_edge(ndr_nd_range_1d(sizes[i], 0), NDR_EDGE_ROUND_UP), rules_for(NDR_FORM_ND_RANGE));
    }
}

static void test_automatic__groups_have_at_most_256_items(void **state)
{
    for (size_t i = 0; i < SIZE_COUNT; ++i) {
        assert_in_range(planned(ndr_nd_range_1d(sizes[i], 0), rules_for(NDR_FORM_ND_RANGE)).largest_group,
                        1, 256);
        assert_in_range(planned(only(ndr_range_2d(sizes[i], 3)), rules_for(NDR_FORM_PLAIN)).largest_group,
                        1, 256);
        assert_in_range(
            planned(ndr_nd_range_3d(9, sizes[i], 5, 0, 0, 0), rules_for(NDR_FORM_ND_RANGE)).largest_group,
            1, 256);
    }
}

static void test_automatic__prime_lengths_are_not_left_to_groups_of_one(void **state)
{
    for (size_t i = 0; i < SIZE_COUNT; ++i) {
        const size_t n = sizes[i];
        assert_int_equal(planned(ndr_nd_range_1d(n, 0), rules_for(NDR_FORM_ND_RANGE)).local_range[0],
                         n < 256 ? n : 256);
        if (n < 256) continue;
        const ndr_range_plan plan = planned(only(ndr_range_1d(n)), rules_for(NDR_FORM_RANGE));
        const size_t body = plan.pieces[0].global[0];
        assert_true(plan.pieces[0].local[0] >= 32);
        assert_true(n - body <= n / 8);
    }
}

static void test_automatic__range_tail_runs_as_single_items(void **state)
{
    const ndr_range_plan plan = checked_plan(only(ndr_range_1d(1000)), rules_for(NDR_FORM_RANGE));
    assert_int_equal(plan.piece_count, 2);
    assert_int_equal(plan.pieces[0].local[0], 128); /* 256 would leave 232, more than an eighth */
    assert_int_equal(plan.pieces[0].global[0], 896);
    assert_int_equal(plan.pieces[1].local[0], 1);
    assert_int_equal(plan.pieces[1].global[0], 104);
}

static void test_automatic__range_of_less_than_a_group_is_one_launch(void **state)
{
    for (size_t n = 1; n < 256; ++n) {
        const ndr_range_plan plan = checked_plan(only(ndr_range_1d(n)), rules_for(NDR_FORM_RANGE));
        assert_int_equal(plan.piece_count, 1);
        assert_int_equal(plan.pieces[0].local[0], 1);
    }
}

static void test_automatic__plain_kernel_gets_the_best_divisor(void **state)
{
    assert_int_equal(checked_plan(only(ndr_range_1d(1000)), rules_for(NDR_FORM_PLAIN)).local_range[0], 250);
    assert_int_equal(checked_plan(only(ndr_range_1d(509)), rules_for(NDR_FORM_PLAIN)).local_range[0], 1);
    assert_sizes(checked_plan(only(ndr_range_2d(12, 100)), rules_for(NDR_FORM_PLAIN)).local_range, 2, 100, 0);
}

static void test_automatic__groups_fill_the_contiguous_dimension_first(void **state)
{
    const ndr_range_rules rules = rules_for(NDR_FORM_ND_RANGE);
    assert_sizes(planned(ndr_nd_range_2d(1000, 1000, 0, 0), rules).local_range, 1, 256, 0);
    assert_sizes(planned(ndr_nd_range_2d(1000, 100, 0, 0), rules).local_range, 2, 100, 0);
    assert_sizes(planned(ndr_nd_range_3d(64, 64, 8, 0, 0, 0), rules).local_range, 1, 32, 8);
}

static void test_automatic__sizes_keep_to_small_limits(void **state)
{
    static const ndr_form forms[] = { NDR_FORM_PLAIN, NDR_FORM_RANGE, NDR_FORM_ND_RANGE };
    for (size_t f = 0; f < 3; ++f)
        for (size_t limit = 1; limit < 20; ++limit)
            for (unsigned d = 0; d < 4; ++d) {
                ndr_range_rules rules = rules_for(forms[f]);
                if (d < 3) rules.max_local_size[d] = limit;
                else rules.max_group_size = limit;
                ndr_nd_range range = only(ndr_range_3d(13, 17, 31));
                if (forms[f] == NDR_FORM_ND_RANGE) range.local.dims = 3;
                checked_plan(range, rules);
                range.edge = NDR_EDGE_ROUND_UP;
                checked_plan(range, rules);
            }
}

static void test_automatic__rounding_up_keeps_groups_near_the_size(void **state)
{
    const ndr_range_plan plan =
        checked_plan(with_edge(ndr_nd_range_2d(3, 5, 0, 0), NDR_EDGE_ROUND_UP), rules_for(NDR_FORM_ND_RANGE));
    assert_sizes(plan.local_range, 4, 8, 0);
    assert_int_equal(plan.piece_count, 1);
}

static void test_automatic__sizes_of_the_largest_ranges_are_no_groups_of_one(void **state)
{
    if (sizeof(size_t) < 8) return; /* it has no more items than a launch can have groups */
    /* 1024 if 256 would make more groups than a launch can count. */
    const size_t groups = INT32_MAX, of_256 = groups * 256;
    const struct {
        size_t size, local;
    } huge[] = { { of_256, 256 }, { of_256 - 4095, 256 }, { of_256 + 1, 1024 }, { groups * 1024, 1024 } };
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; ++i) {
        assert_int_equal(planned(only(ndr_range_1d(huge[i].size)), rules_for(NDR_FORM_RANGE)).local_range[0],
                         huge[i].local);
        assert_int_equal(planned(ndr_nd_range_1d(huge[i].size, 0), rules_for(NDR_FORM_ND_RANGE)).local_range[0],
                         huge[i].local);
    }
    const ndr_nd_range rounded = with_edge(ndr_nd_range_1d(of_256 - 5, 0), NDR_EDGE_ROUND_UP);
    assert_int_equal(planned(rounded, rules_for(NDR_FORM_ND_RANGE)).local_range[0], 256);
    refused(NDR_LIMIT_EXCEEDED, only(ndr_range_1d(groups * 1024 + 1024)), rules_for(NDR_FORM_RANGE), "2147483648 groups");
}

/* ---- kernels that skip the items past the range ---- */

static ndr_range_rules guarded(void)
{
    ndr_range_rules rules = rules_for(NDR_FORM_RANGE);
    rules.is_guarded = true;
    return rules;
}

/* The range is one piece, with at most an eighth more items. */
static ndr_range_plan checked_one_piece(ndr_nd_range range)
{
    const ndr_range_plan plan = checked_plan(range, guarded());
    assert_int_equal(plan.piece_count, 1);
    size_t asked = 1, run = 1;
    for (unsigned d = 0; d < plan.dims; ++d) {
        asked *= range.global.size[d];
        run *= plan.pieces[0].global[d];
        assert_int_equal(plan.global_range[d], range.global.size[d]);
    }
    assert_true(run - asked <= asked / 8);
    return plan;
}

static void test_guarded__range_is_one_piece_of_at_most_an_eighth_more(void **state)
{
    for (size_t n = 1; n < 5000; ++n) checked_one_piece(only(ndr_range_1d(n)));
    for (size_t a = 1; a < 40; ++a)
        for (size_t b = 1; b < 40; ++b) {
            checked_one_piece(with_offset(only(ndr_range_2d(a, 3 * b)), 7, a, 0));
            checked_one_piece(with_offset(only(ndr_range_3d(a, 3, b)), 0, 1, b));
        }
}

static void test_guarded__range_has_large_groups_where_that_wastes_little(void **state)
{
    assert_sizes(checked_one_piece(only(ndr_range_1d(65521))).local_range, 256, 0, 0);
    assert_sizes(checked_one_piece(only(ndr_range_1d(1000))).local_range, 256, 0, 0);
    assert_sizes(checked_one_piece(only(ndr_range_1d(257))).local_range, 32, 0, 0);
    assert_sizes(checked_one_piece(only(ndr_range_2d(61, 1009))).local_range, 1, 256, 0);
    assert_sizes(checked_one_piece(only(ndr_range_2d(100, 100))).local_range, 4, 16, 0);
    assert_sizes(checked_one_piece(only(ndr_range_2d(101, 103))).local_range, 8, 16, 0);
    assert_sizes(checked_one_piece(only(ndr_range_2d(10007, 3))).local_range, 256, 1, 0);
}

static void test_guarded__range_that_divides_stays_as_it_is(void **state)
{
    static const size_t even[] = { 1, 7, 255, 256, 512, 768, 4096 };
    for (size_t i = 0; i < sizeof even / sizeof even[0]; ++i) {
        const ndr_range_plan plain = planned(only(ndr_range_1d(even[i])), rules_for(NDR_FORM_RANGE));
        assert_int_equal(plain.piece_count, 1);
        const ndr_range_plan plan = planned(only(ndr_range_1d(even[i])), guarded());
        assert_memory_equal(&plan, &plain, sizeof plan);
    }
}

static void test_guarded__range_keeps_to_small_limits(void **state)
{
    for (size_t limit = 1; limit < 20; ++limit)
        for (unsigned d = 0; d < 4; ++d) {
            ndr_range_rules rules = guarded();
            if (d < 3) rules.max_local_size[d] = limit;
            else rules.max_group_size = limit;
            assert_int_equal(checked_plan(only(ndr_range_3d(13, 17, 31)), rules).piece_count, 1);
        }
}

static void assert_in_pieces(ndr_nd_range range, ndr_range_rules rules)
{
    const ndr_range_plan plan = planned(range, rules);
    rules.is_guarded = false;
    const ndr_range_plan plain = planned(range, rules);
    assert_true(plan.piece_count > 1);
    assert_memory_equal(&plan, &plain, sizeof plan);
}

/* Neither ids nor items may overflow. The limit is also 32 bits, because some drivers count in 32 bits. */
static void test_guarded__range_is_not_rounded_up_past_what_can_be_counted(void **state)
{
    ndr_range_rules rules = guarded();
    rules.address_bits = 32;
    assert_in_pieces(with_offset(only(ndr_range_1d(1000)), SIZE_MAX / 2 - 1010, 0, 0), guarded());
    assert_in_pieces(only(ndr_range_2d(65534, 65537)), rules);
    if (sizeof(size_t) < 8) return; /* the numbers below are negative there */
    assert_in_pieces(only(ndr_range_1d(UINT32_MAX)), rules);
    assert_in_pieces(only(ndr_range_1d(UINT32_MAX)), guarded());
    assert_in_pieces(only(ndr_range_2d(65535, 65537)), guarded());
    assert_in_pieces(with_offset(only(ndr_range_1d(1000)), UINT32_MAX - 1010, 0, 0), guarded());
    assert_int_equal(planned(with_offset(only(ndr_range_1d(1000)), UINT32_MAX - 500, 0, 0), guarded()).piece_count, 1);
    assert_int_equal(planned(only(ndr_range_1d((size_t)UINT32_MAX + 2)), guarded()).piece_count, 1);
}

/* ---- everything at once ---- */

static void test_split__covers_each_item_once_for_all_small_sizes(void **state)
{
    const ndr_range_rules rules = rules_for(NDR_FORM_ND_RANGE);
    for (size_t n = 1; n <= 40; ++n)
        for (size_t local = 1; local <= 40; ++local)
            checked_plan(with_edge(ndr_nd_range_1d(n, local), NDR_EDGE_SPLIT), rules);
    for (size_t a = 1; a <= 7; ++a)
        for (size_t b = 1; b <= 7; ++b)
            for (size_t la = 1; la <= 5; ++la)
                for (size_t lb = 1; lb <= 5; ++lb) {
                    checked_plan(with_edge(ndr_nd_range_2d(a, b, la, lb), NDR_EDGE_SPLIT), rules);
                    checked_plan(with_edge(ndr_nd_range_3d(a, 5, b, la, 2, lb), NDR_EDGE_SPLIT), rules);
                }
}

/* The same numbers on every machine and run. */
static uint64_t dice = 20240229;
static size_t roll(size_t below)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(dice >> 33) % below;
}

static ndr_nd_range random_range(ndr_form form)
{
    static const size_t most[] = { 3000, 60, 16 };
    ndr_nd_range range = { .global = { 1 + (unsigned)roll(3), { 0, 0, 0 } } };
    const bool automatic = form == NDR_FORM_RANGE || roll(3) == 0;
    const unsigned dims = range.global.dims;
    range.local.dims = form == NDR_FORM_ND_RANGE || !automatic ? dims : 0;
    for (unsigned d = 0; d < dims; ++d) {
        range.global.size[d] = 1 + roll(most[dims - 1]);
        range.offset[d] = roll(2) ? roll(1000) : 0;
        if (!automatic) range.local.size[d] = 1 + roll(dims == 1 ? 300 : 9);
    }
    range.edge = (ndr_edge)roll(3);
    return range;
}

static bool is_ragged(const ndr_nd_range *range)
{
    for (unsigned d = 0; d < range->local.dims; ++d)
        if (range->local.size[d] && range->global.size[d] % range->local.size[d]) return true;
    return false;
}

/* Whether the header promises that a range within all limits is taken. */
static bool should_be_taken(const ndr_nd_range *range, ndr_form form)
{
    if (!is_ragged(range) || range->edge == NDR_EDGE_ROUND_UP) return true;
    return range->edge == NDR_EDGE_SPLIT && form == NDR_FORM_ND_RANGE;
}

static void test_range__property_every_plan_covers_its_range_once(void **state)
{
    unsigned taken = 0;
    for (int round = 0; round < 3000; ++round) {
        ndr_range_rules rules = rules_for((ndr_form)roll(3));
        rules.is_guarded = rules.form == NDR_FORM_RANGE && roll(2);
        const ndr_nd_range range = random_range(rules.form);
        ndr_range_plan plan;
        const ndr_status status = plan_of(range, rules, &plan);
        assert_int_equal(status, should_be_taken(&range, rules.form) ? NDR_OK : NDR_BAD_RANGE);
        if (status != NDR_OK) continue;
        check_plan(&plan, &range, &rules);
        ++taken;
    }
    assert_in_range(taken, 1500, 2999); /* both results occur */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_range__has_one_to_three_dimensions),
        cmocka_unit_test(test_range__has_as_many_dimensions_as_its_groups),
        cmocka_unit_test(test_range__has_as_many_dimensions_as_the_kernel),
        cmocka_unit_test(test_range__of_a_kernel_of_any_dimensions_has_its_own),
        cmocka_unit_test(test_range__with_groups_does_not_fit_a_range_kernel),
        cmocka_unit_test(test_range__without_groups_does_not_fit_an_nd_range_kernel),
        cmocka_unit_test(test_range__of_a_plain_kernel_may_be_of_any_form),
        cmocka_unit_test(test_range__refuses_an_edge_that_is_none),
        cmocka_unit_test(test_range__refuses_a_local_size_that_is_0_in_one_dimension),
        cmocka_unit_test(test_range__refuses_a_local_size_over_the_device_s_in_a_dimension),
        cmocka_unit_test(test_range__refuses_groups_over_the_kernel_s_limit),
        cmocka_unit_test(test_range__counts_the_items_of_a_group_without_overflow),
        cmocka_unit_test(test_range__refuses_another_local_size_than_the_required),
        cmocka_unit_test(test_range__takes_the_required_local_size),
        cmocka_unit_test(test_range__adopts_the_required_local_size_where_none_is_given),
        cmocka_unit_test(test_range__cannot_adopt_a_required_size_of_more_dimensions),
        cmocka_unit_test(test_range__of_a_required_size_is_never_split),
        cmocka_unit_test(test_range__of_a_required_size_may_be_rounded_up),
        cmocka_unit_test(test_range__refuses_an_offset_that_passes_the_largest_id),
        cmocka_unit_test(test_range__refuses_more_items_than_can_be_counted),
        cmocka_unit_test(test_range__of_a_32_bit_device_ends_at_32_bits),
        cmocka_unit_test(test_range__refuses_negative_numbers_in_every_place),
        cmocka_unit_test(test_range__refuses_more_groups_than_a_launch_can_count),
        cmocka_unit_test(test_range__refuses_rounding_up_past_the_largest_id),
        cmocka_unit_test(test_range__of_nothing_has_no_pieces),
        cmocka_unit_test(test_range__of_nothing_needs_no_count_of_items),
        cmocka_unit_test(test_range__of_nothing_takes_any_local_size),
        cmocka_unit_test(test_range__refuses_a_ragged_global_unless_told_otherwise),
        cmocka_unit_test(test_range__that_divides_is_one_piece_whatever_its_edge),
        cmocka_unit_test(test_range__is_split_along_the_far_edge),
        cmocka_unit_test(test_range__is_split_into_four_and_eight),
        cmocka_unit_test(test_range__smaller_than_a_group_is_one_smaller_group),
        cmocka_unit_test(test_range__of_a_plain_kernel_is_never_split),
        cmocka_unit_test(test_range__is_rounded_up_in_one_piece),
        cmocka_unit_test(test_groups__are_counted_instead_of_items),
        cmocka_unit_test(test_groups__of_no_given_size_are_as_many),
        cmocka_unit_test(test_groups__of_no_given_size_get_the_required_one),
        cmocka_unit_test(test_groups__need_a_local_size_with_dimensions),
        cmocka_unit_test(test_groups__and_a_global_size_exclude_each_other),
        cmocka_unit_test(test_groups__may_not_be_more_than_can_be_counted),
        cmocka_unit_test(test_groups__of_no_items_are_refused),
        cmocka_unit_test(test_groups__of_no_number_have_no_pieces),
        cmocka_unit_test(test_automatic__sizes_cover_every_length_once),
        cmocka_unit_test(test_automatic__groups_have_at_most_256_items),
        cmocka_unit_test(test_automatic__prime_lengths_are_not_left_to_groups_of_one),
        cmocka_unit_test(test_automatic__range_tail_runs_as_single_items),
        cmocka_unit_test(test_automatic__range_of_less_than_a_group_is_one_launch),
        cmocka_unit_test(test_automatic__plain_kernel_gets_the_best_divisor),
        cmocka_unit_test(test_automatic__groups_fill_the_contiguous_dimension_first),
        cmocka_unit_test(test_automatic__sizes_keep_to_small_limits),
        cmocka_unit_test(test_automatic__rounding_up_keeps_groups_near_the_size),
        cmocka_unit_test(test_automatic__sizes_of_the_largest_ranges_are_no_groups_of_one),
        cmocka_unit_test(test_guarded__range_is_one_piece_of_at_most_an_eighth_more),
        cmocka_unit_test(test_guarded__range_has_large_groups_where_that_wastes_little),
        cmocka_unit_test(test_guarded__range_that_divides_stays_as_it_is),
        cmocka_unit_test(test_guarded__range_keeps_to_small_limits),
        cmocka_unit_test(test_guarded__range_is_not_rounded_up_past_what_can_be_counted),
        cmocka_unit_test(test_split__covers_each_item_once_for_all_small_sizes),
        cmocka_unit_test(test_range__property_every_plan_covers_its_range_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
