/* test_loops.c - more units of work than workers, or fewer; and places in more than three dimensions. */
#include "support.h"

enum { MOST = 1024 };

static const char source[] =
    "#include \"ndr/loops.clh\"\n"
    "#include \"ndr/local.clh\"\n"
    /* x[i] += 1 and who[i] = worker, for each unit that is this worker's */
    "kernel void all_items(global int *x, global int *who, ulong n, NDR_RANGE(1))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(1);\n"
    "    NDR_FOR_GLOBAL(i, it, n) {\n"
    "        x[i] += 1;\n"
    "        who[i] = (int)ndr_global_linear_id(it);\n"
    "    }\n"
    "}\n"
    "kernel void all_grouped(global int *x, global int *who, ulong n, NDR_ND_RANGE(2))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(2);\n"
    "    NDR_FOR_GLOBAL(i, it, n) {\n"
    "        x[i] += 1;\n"
    "        who[i] = (int)ndr_global_linear_id(it);\n"
    "    }\n"
    "}\n"
    "kernel void by_local(global int *x, global int *who, ulong n, NDR_ND_RANGE(2))\n"
    "{\n"
    "    const ndr_group g = ndr_get_group(NDR_ND_ITEM(2));\n"
    "    NDR_FOR_LOCAL(i, g, n) {\n"
    "        const size_t at = ndr_group_linear_id(g) * n + i;\n"
    "        x[at] += 1;\n"
    "        who[at] = (int)ndr_local_linear_id(g);\n"
    "    }\n"
    "}\n"
    "kernel void by_groups(global int *x, global int *who, local int *t, ulong n, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_group g = ndr_get_group(NDR_ND_ITEM(1));\n"
    "    NDR_FOR_GROUPS(i, g, n) {\n"
    "        if (ndr_leader(g)) *t = (int)i;\n"
    "        ndr_group_barrier(g); /* allowed: all items of a group iterate together */\n"
    "        if (ndr_local_linear_id(g) == ndr_local_linear_range(g) - 1) {\n"
    "            x[*t] += 1;\n"
    "            who[*t] = (int)ndr_group_linear_id(g);\n"
    "        }\n"
    "        ndr_group_barrier(g); /* the next unit overwrites *t */\n"
    "    }\n"
    "}\n"
    "kernel void far(global ulong *turns, ulong first, ulong step, ulong n, NDR_RANGE(1))\n"
    "{\n"
    "    ulong count = 0, last = 0;\n"
    "    NDR_FOR_(i, first, step, n) {\n"
    "        ++count;\n"
    "        last = i;\n"
    "        if (count > 9) break;\n"
    "    }\n"
    "    turns[0] = count;\n"
    "    turns[1] = last;\n"
    "}\n"
    "constant size_t shape[5] = { 2, 3, 4, 5, 2 };\n"
    "kernel void places(global uint *x, uint dims, NDR_RANGE(1))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(1);\n"
    "    const size_t i = ndr_global_id(it, 0);\n"
    "    size_t id[5], mine[5];\n"
    "    for (uint d = 0; d < dims; ++d) mine[d] = shape[d];\n"
    "    ndr_delinearize(i, dims, shape, id);\n"
    "    bool ok = ndr_linearize(dims, shape, id) == i && ndr_linearize(dims, mine, id) == i;\n"
    "    uint digits = 0;\n"
    "    for (uint d = 0; d < dims; ++d) digits = digits * 10 + (uint)id[d];\n"
    "    ndr_delinearize(i, dims, mine, id);\n"
    "    ok = ok && ndr_linearize(dims, shape, id) == i;\n"
    "    x[i] = ok ? digits : 99999;\n"
    "}\n";

static int32_t x[MOST], who[MOST];

/* Each of n units once, unit i by worker i % workers, from unit `first` on. */
static void check_units(size_t first, size_t n, size_t workers)
{
    for (size_t i = 0; i < n; ++i) {
        assert_int_equal(x[first + i], 1);
        assert_int_equal(who[first + i], i % workers);
    }
}

#define RUN(name, range, ...)                                                                \
    do {                                                                                     \
        memset(x, 0, sizeof x);                                                              \
        ndr_buffer *dx = buffer_of(sizeof x, x), *dwho = buffer_of(sizeof who, who);         \
        assert_ok(ndr_launch(queue, kernel_of(source, name), range, dx, dwho, __VA_ARGS__)); \
        read_buffer(dx, x, sizeof x);                                                        \
        read_buffer(dwho, who, sizeof who);                                                  \
        ndr_buffer_destroy(dx);                                                              \
        ndr_buffer_destroy(dwho);                                                            \
    } while (0)

static void assert_untouched_from(size_t first)
{
    for (size_t i = first; i < MOST; ++i) assert_int_equal(x[i], 0);
}

/* units: fewer than workers, as many, more, a prime, none */
static const size_t units[] = { 5, 12, 100, 101, 0, 1, 13 };
enum { UNITS = sizeof units / sizeof units[0] };

static void test_loops__deal_units_to_all_items(void **state)
{
    for (size_t k = 0; k < UNITS; ++k) {
        RUN("all_items", ndr_range_1d(12), units[k]);
        check_units(0, units[k], 12);
        assert_untouched_from(units[k]);
    }
    RUN("all_items", ndr_range_1d(101), 997);
    check_units(0, 997, 101);
}

static void test_loops__deal_units_to_all_items_whatever_the_edges(void **state)
{
    for (size_t k = 0; k < UNITS; ++k)
        for (int edge = NDR_EDGE_ROUND_UP; edge <= NDR_EDGE_SPLIT; ++edge) {
            ndr_nd_range range = ndr_nd_range_2d(3, 4, 2, 3);
            range.edge = (ndr_edge)edge;
            range.offset[0] = 5;
            RUN("all_grouped", range, units[k]);
            check_units(0, units[k], 12);
            assert_untouched_from(units[k]);
        }
}

static void test_loops__deal_units_to_the_items_of_a_group(void **state)
{
    for (size_t k = 0; k < UNITS; ++k) {
        RUN("by_local", ndr_nd_range_2d(4, 6, 2, 3), units[k]);
        for (size_t group = 0; group < 4; ++group) check_units(group * units[k], units[k], 6);
        assert_untouched_from(4 * units[k]);
    }
}

static void test_loops__deal_units_to_groups_which_may_wait_inside(void **state)
{
    for (size_t k = 0; k < UNITS; ++k) {
        RUN("by_groups", ndr_nd_range_1d(12, 4), ndr_local(int32_t, 1), units[k]);
        check_units(0, units[k], 3);
        assert_untouched_from(units[k]);
    }
}

static void test_loops__end_where_an_index_would_wrap_around(void **state)
{
    const uint64_t top = device.address_bits == 64 ? UINT64_MAX : UINT32_MAX;
    const struct {
        uint64_t first, step, n, count, last;
    } cases[] = {
        { top - 3, 2, top, 2, top - 1 },
        { top - 3, 2, top - 1, 1, top - 3 },
        { 0, top, top, 1, 0 },
        { 7, top - 7, top, 1, 7 },
        { top, 1, top, 0, 0 },
        { top - 1, top, top, 1, top - 1 },
        { 0, top / 2, top, 3, top / 2 * 2 },
        { 3, 4, 3, 0, 0 },
        { 3, 4, 4, 1, 3 },
    };
    ndr_kernel *kernel = kernel_of(source, "far");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
        uint64_t turns[2] = { 77, 77 };
        ndr_buffer *buffer = buffer_of(sizeof turns, turns);
        assert_ok(
            ndr_launch(queue, kernel, ndr_range_1d(1), buffer, cases[k].first, cases[k].step, cases[k].n));
        take_buffer(buffer, turns, sizeof turns);
        assert_true(turns[0] == cases[k].count);
        assert_true(turns[1] == cases[k].last);
    }
}

static void test_loops__find_places_in_four_and_five_dimensions(void **state)
{
    static const unsigned shape[5] = { 2, 3, 4, 5, 2 };
    for (unsigned dims = 1; dims <= 5; ++dims) {
        unsigned total = 1;
        for (unsigned d = 0; d < dims; ++d) total *= shape[d];
        uint32_t got[240];
        ndr_buffer *buffer = buffer_of(sizeof got, NULL);
        assert_ok(ndr_launch(queue, kernel_of(source, "places"), ndr_range_1d(total), buffer, dims));
        read_buffer(buffer, got, total * sizeof got[0]);
        for (unsigned i = 0; i < total; ++i) {
            unsigned digits = 0, power = 1, left = i;
            for (unsigned d = dims; d-- > 0;) {
                digits += left % shape[d] * power;
                left /= shape[d];
                power *= 10;
            }
            assert_int_equal(got[i], digits);
        }
        ndr_buffer_destroy(buffer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops__deal_units_to_all_items),
        cmocka_unit_test(test_loops__deal_units_to_all_items_whatever_the_edges),
        cmocka_unit_test(test_loops__deal_units_to_the_items_of_a_group),
        cmocka_unit_test(test_loops__deal_units_to_groups_which_may_wait_inside),
        cmocka_unit_test(test_loops__end_where_an_index_would_wrap_around),
        cmocka_unit_test(test_loops__find_places_in_four_and_five_dimensions),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
