/* test_sub_group_shapes.c - sub-groups in groups of every shape: items and host report the sizes that there are.
 *
 * A case is a shape of 1 to 3 dimensions and up to 64 items, and a requested size. If the device has its own
 * sub-groups, a case runs twice, the second time without the driver's shuffles. Items then exchange values through the
 * scratch.
 *
 * A run takes 15 of 30 cases at random, on the next day the others; the seed is printed, and NDR_TEST_SEED=n chooses
 * others. NDR_TEST_LONG=1 runs all. */
#include "support.h"

#include "reference.h"

enum {
    MAX_ITEMS = 64,
    GUARD = 256, /* words before and after the scratch */
    MAX_SIZES = 1 + sizeof device.sub_group_sizes / sizeof device.sub_group_sizes[0]
};

/* ---- the kernel ---- */

/* What one item reports: its place, and the values that it gets from other items. */
typedef struct place {
    uint32_t id, count, local_id, local_range, max_local_range;
    uint32_t ones, before;   /* sums of ones: the number of items, the number of items before */
    uint32_t last, selected; /* local linear ids of the group */
    uint32_t spoiled;        /* changed words outside the scratch */
} place;

/* The kernel has its own scratch, between guards. */
static const char source[] =
    "#ifdef WITHOUT_SHUFFLES\n"
    "#undef cl_khr_subgroup_shuffle\n"
    "#endif\n"
    "#include \"ndr/sub_group.clh\"\n"
    "typedef struct place {\n"
    "    uint id, count, local_id, local_range, max_local_range, ones, before, last, selected, spoiled;\n"
    "} place;\n"
    "void fill_in(global place *out, local ulong *mine, uint guard, ndr_nd_item it)\n"
    "{\n"
    "    const uint linear = (uint)ndr_local_linear_id(it), items = (uint)ndr_local_linear_range(it);\n"
    "    if (linear == 0)\n"
    "        for (uint i = 0; i < items + 2 * guard; ++i) mine[i] = 12345;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    it.scratch = mine + guard;\n"
    "    const ndr_sub_group sg = ndr_get_sub_group(it);\n"
    "    const uint id = ndr_local_linear_id(sg), range = ndr_local_linear_range(sg);\n"
    "    place p = { ndr_group_linear_id(sg), ndr_group_linear_range(sg), id, range, ndr_max_local_range(sg) };\n"
    "    p.ones = ndr_reduce_over_group(sg, 1u, NDR_PLUS);\n"
    "    p.before = ndr_exclusive_scan_over_group(sg, 1u, NDR_PLUS);\n"
    "    p.last = ndr_group_broadcast(sg, linear, range - 1);\n"
    "    p.selected = ndr_select_from_group(sg, linear, (id * 5 + 1) % range);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (linear == 0)\n"
    "        for (uint i = 0; i < items + 2 * guard; ++i)\n"
    "            p.spoiled += (i < guard || i >= guard + items) && mine[i] != 12345;\n"
    "    out[linear] = p;\n"
    "}\n"
    "#define PLACES(dims) \\\n"
    "    NDR_SUB_GROUP_KERNEL kernel void places_##dims(global place *out, local ulong *mine, uint guard, \\\n"
    "                                                       NDR_ND_RANGE(dims)) \\\n"
    "    { \\\n"
    "        fill_in(out, mine, guard, NDR_ND_ITEM(dims)); \\\n"
    "    }\n"
    "PLACES(1) PLACES(2) PLACES(3)\n";

/* ---- cases ---- */

typedef struct sub_group_case {
    ndr_range local;
    size_t requested; /* 0: none */
    bool no_shuffles;
} sub_group_case;

static size_t items_of(const ndr_range *range)
{
    size_t items = 1;
    for (unsigned d = 0; d < range->dims; ++d) items *= range->size[d];
    return items;
}

/* All shapes, and how many there are. */
static size_t list_shapes(ndr_range *shapes)
{
    size_t n = 0;
    for (unsigned dims = 1; dims <= 3; ++dims)
        for (size_t x = 1; x <= MAX_ITEMS; ++x)
            for (size_t y = 1; y <= (dims > 1 ? MAX_ITEMS / x : 1); ++y)
                for (size_t z = 1; z <= (dims > 2 ? MAX_ITEMS / x / y : 1); ++z)
                    shapes[n++] = (ndr_range){ dims, { x, y, z } };
    return n;
}

/* 0 and the sizes that the device offers. For virtual sub-groups, which take any size, 0 and two sizes. */
static size_t list_sizes(size_t *sizes)
{
    static const size_t virtual_sizes[] = { 3, 8 };
    const bool has_sizes = device.has_sub_groups && device.sub_group_size_count > 0;
    const size_t *from = has_sizes ? device.sub_group_sizes : virtual_sizes;
    const size_t n = has_sizes ? device.sub_group_size_count : sizeof virtual_sizes / sizeof virtual_sizes[0];
    sizes[0] = 0;
    for (size_t i = 0; i < n; ++i) sizes[i + 1] = from[i];
    return n + 1;
}

static ndr_kernel *kernel_for(const sub_group_case *c)
{
    char name[16];
    snprintf(name, sizeof name, "places_%u", c->local.dims);
    const ndr_kernel_desc desc = {
        .name = name,
        .source = source,
        .sub_group_size = c->requested,
        .options = c->no_shuffles ? "-DWITHOUT_SHUFFLES" : NULL,
    };
    ndr_kernel *kernel = NULL;
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    return kernel;
}

/* ---- one case ---- */

static place places[MAX_ITEMS];
static size_t whose[MAX_ITEMS][MAX_ITEMS]; /* by sub-group and local id: the item, counted from 1 */
static const sub_group_case *current;

/* Fail with a sentence about the current case if the values differ. */
static void expect(size_t item, const char *what, size_t got, size_t wanted)
{
    const size_t *size = current->local.size;
    if (got != wanted)
        fail_msg("%u dimensions, group of (%zu, %zu, %zu), size %zu asked for%s, item %zu: %s is %zu, not %zu",
                 current->local.dims, size[0], size[1], size[2], current->requested,
                 current->no_shuffles ? ", without shuffles" : "", item, what, got, wanted);
}

static void expect_that(size_t item, const char *what, bool holds) { expect(item, what, holds, true); }

/* Each item has its own place, each sub-group has as many items as its items report, the largest as all report. */
static void check_partition(size_t items)
{
    size_t members[MAX_ITEMS] = { 0 };
    memset(whose, 0, sizeof whose);
    for (size_t i = 0; i < items; ++i) {
        const place *p = &places[i];
        expect_that(i, "id < count <= items", p->id < p->count && p->count <= items);
        expect_that(i, "local id < range <= largest <= items",
                    p->local_id < p->local_range && p->local_range <= p->max_local_range
                        && p->max_local_range <= items);
        expect(i, "another item in the same place", whose[p->id][p->local_id], 0);
        whose[p->id][p->local_id] = i + 1;
        ++members[p->id];
    }
    size_t largest = 0;
    for (size_t i = 0; i < items; ++i) expect(i, "range", places[i].local_range, members[places[i].id]);
    for (size_t id = 0; id < places[0].count; ++id) {
        expect_that(0, "a sub-group has items", members[id] > 0);
        if (members[id] > largest) largest = members[id];
    }
    for (size_t i = 0; i < items; ++i) expect(i, "largest", places[i].max_local_range, largest);
}

static void check_host(ndr_kernel *kernel, size_t items)
{
    ndr_sub_group_info info;
    assert_ok(ndr_kernel_get_sub_groups(kernel, &current->local, &info));
    for (size_t i = 0; i < items; ++i) {
        expect(i, "number of sub-groups", places[i].count, info.count);
        expect(i, "largest", places[i].max_local_range, info.max_size);
    }
    if (info.kind == NDR_SUB_GROUP_NATIVE) return;
    for (size_t i = 0; i < items; ++i) expect(i, "id", places[i].id, i / info.max_size);
}

static void check_functions(size_t items)
{
    for (size_t i = 0; i < items; ++i) {
        const place *p = &places[i];
        expect(i, "sum of ones", p->ones, p->local_range);
        expect(i, "scan of ones", p->before, p->local_id);
        expect(i, "the last one's linear id", p->last, whose[p->id][p->local_range - 1] - 1);
        expect(i, "the selected one's linear id", p->selected,
               whose[p->id][(p->local_id * 5 + 1) % p->local_range] - 1);
        expect(i, "words written beside the scratch", p->spoiled, 0);
    }
}

static bool fits(const ndr_kernel *kernel, const ndr_range *local)
{
    ndr_kernel_info info;
    assert_ok(ndr_kernel_get_info(kernel, &info));
    for (unsigned d = 0; d < local->dims; ++d)
        if (local->size[d] > device.max_local_size[3 - local->dims + d]) return false;
    return items_of(local) <= info.max_group_size;
}

static void run_form(const sub_group_case *c, ndr_kernel *kernel)
{
    const size_t items = items_of(&c->local);
    ndr_buffer *out = buffer_of(items * sizeof places[0], NULL);
    const ndr_nd_range range = { .global = c->local, .local = c->local };
    assert_ok(ndr_launch(queue, kernel, range, out, ndr_local(uint64_t, items + 2 * GUARD), (uint32_t)GUARD));
    take_buffer(out, places, items * sizeof places[0]);
    current = c;
    check_partition(items);
    check_host(kernel, items);
    check_functions(items);
}

/* Returns how many forms ran: none if such a group does not fit. */
static size_t run_case(ndr_range local, size_t requested)
{
    sub_group_case c = { local, requested, false };
    ndr_kernel *kernel = kernel_for(&c);
    if (!fits(kernel, &local)) return 0;
    run_form(&c, kernel);
    ndr_sub_group_info info;
    assert_ok(ndr_kernel_get_sub_groups(kernel, &local, &info));
    if (info.kind != NDR_SUB_GROUP_NATIVE) return 1;
    c.no_shuffles = true;
    run_form(&c, kernel_for(&c));
    return 2;
}

/* ---- some difficult cases ---- */

static void test_sub_group_shapes__may_be_cut_row_by_row(void **state)
{
    static const ndr_range rows[] = { { 3, { 2, 2, 2 } }, { 3, { 5, 3, 1 } }, { 2, { 3, 10, 0 } }, { 2, { 2, 3, 0 } } };
    size_t sizes[MAX_SIZES];
    const size_t size_count = list_sizes(sizes);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
        for (size_t k = 0; k < size_count; ++k) assert_true(run_case(rows[i], sizes[k]) > 0);
}

/* The last row of (3, 3) in groups of (2, 3) is a group of its own. What is the largest must not depend on the group. */
static void test_sub_group_shapes__have_one_largest_size_at_split_edges(void **state)
{
    const ndr_nd_range range = { .global = ndr_range_2d(3, 3), .local = ndr_range_2d(2, 3), .edge = NDR_EDGE_SPLIT };
    const ndr_kernel_desc desc = {
        .name = "largest",
        .source = "#include \"ndr/sub_group.clh\"\n"
                  "kernel void largest(global uint *out, NDR_ND_RANGE(2))\n"
                  "{\n"
                  "    const ndr_nd_item it = NDR_ND_ITEM(2);\n"
                  "    out[ndr_global_linear_id(it)] = ndr_max_local_range(ndr_get_sub_group(it));\n"
                  "}\n",
    };
    ndr_kernel *kernel = NULL;
    assert_ok(ndr_kernel_get(context, &desc, &kernel));
    ndr_sub_group_info info;
    assert_ok(ndr_kernel_get_sub_groups(kernel, &range.local, &info));
    uint32_t largest[9];
    ndr_buffer *out = buffer_of(sizeof largest, NULL);
    assert_ok(ndr_launch(queue, kernel, range, out));
    take_buffer(out, largest, sizeof largest);
    for (size_t i = 0; i < sizeof largest / sizeof largest[0]; ++i) assert_int_equal(largest[i], info.max_size);
}

/* ---- all of them, or some ---- */

static void test_sub_group_shapes__tell_items_and_host_what_there_is(void **state)
{
    static ndr_range shapes[2048];
    size_t sizes[MAX_SIZES];
    const size_t shape_count = list_shapes(shapes), size_count = list_sizes(sizes), all = shape_count * size_count;
    const uint64_t first_seed = number_from_env("NDR_TEST_SEED", 1);
    const bool is_long = number_from_env("NDR_TEST_LONG", 0) != 0;
    const size_t count = is_long ? all : 30;
    print_message("%zu cases of %zu shapes and %zu sizes, NDR_TEST_SEED=%llu\n", count, shape_count, size_count,
                  (unsigned long long)first_seed);
    uint64_t seed = first_seed;
    size_t launches = 0;
    for (size_t i = 0; i < count; ++i) {
        const size_t chosen = is_long ? i : (size_t)(random_bits(&seed) % all);
        if (!takes_case(i, 2)) continue;
        launches += run_case(shapes[chosen % shape_count], sizes[chosen / shape_count]);
    }
    print_message("%zu launches\n", launches);
    assert_true(launches > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sub_group_shapes__may_be_cut_row_by_row),
        cmocka_unit_test(test_sub_group_shapes__have_one_largest_size_at_split_edges),
        cmocka_unit_test(test_sub_group_shapes__tell_items_and_host_what_there_is),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
