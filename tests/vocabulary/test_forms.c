/* test_forms.c - what each form of kernel can use and what it refuses, if no other test covers it. The table
 * "Shown by" of docs/appendix/forms.md has them all. */
#include "support.h"

static ndr_nd_range groups_1d(size_t groups, size_t local)
{
    return ndr_groups_of(ndr_range_1d(groups), ndr_range_1d(local));
}

/* ---- the same in each form ---- */

static const char source[] =
    "#include <ndr/hierarchy.clh>\n"
    "#include <ndr/loops.clh>\n"
    "#include <ndr/atomic.clh>\n"
    "\n"
    "kernel void draw_range(global int *drawn, global int *ticket, NDR_RANGE(1))\n"
    "{\n"
    "    ticket[ndr_global_id(NDR_ITEM(1), 0)] = ndr_atomic_fetch_add(drawn, 1);\n"
    "}\n"
    "kernel void draw_nd_range(global int *drawn, global int *ticket, NDR_ND_RANGE(1))\n"
    "{\n"
    "    ticket[ndr_global_id(NDR_ND_ITEM(1), 0)] = ndr_atomic_fetch_add(drawn, 1);\n"
    "}\n"
    "kernel void draw_hierarchical(global int *drawn, global int *ticket, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_group g = NDR_GROUP(1);\n"
    "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(13)) {\n"
    "        ticket[ndr_group_id(g, 0) * 13 + ndr_local_id(h, 0)] = ndr_atomic_fetch_add(drawn, 1);\n"
    "    }\n"
    "}\n"
    "\n"
    "kernel void leave_range(global int *x, NDR_RANGE(1))\n"
    "{\n"
    "    const size_t i = ndr_global_id(NDR_ITEM(1), 0);\n"
    "    x[i] = 1;\n"
    "    if (i % 3 == 0) return;\n"
    "    x[i] = 2;\n"
    "}\n"
    "kernel void leave_nd_range(global int *x, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const size_t i = ndr_global_id(NDR_ND_ITEM(1), 0);\n"
    "    x[i] = 1;\n"
    "    if (i % 3 == 0) return;\n"
    "    x[i] = 2;\n"
    "}\n"
    "kernel void leave_last_barrier(global int *x, local int *t, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const int i = (int)ndr_global_id(it, 0), id = (int)ndr_local_id(it, 0);\n"
    "    x[i] = 1;\n"
    "    t[id] = i;\n"
    "    ndr_group_barrier(ndr_get_group(it));\n"
    "    if (i % 3 == 0) return;\n"
    "    x[i] = t[7 - id] - (i - id) == 7 - id ? 2 : 3; /* what the others wrote; some of them have returned */\n"
    "}\n"
    "kernel void leave_hierarchical(global int *x, ulong groups, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_group g = NDR_GROUP(1);\n"
    "    if (ndr_group_id(g, 0) >= groups) return; /* the whole group, at group scope */\n"
    "    NDR_WORK_ITEMS(h, g) { x[ndr_global_id(h, 0)] = 2; }\n"
    "    NDR_ONCE(g) { x[ndr_group_id(g, 0) * ndr_local_range(g, 0)] += 5; }\n"
    "}\n"
    "\n"
    "kernel void keep_range(global int *out, NDR_RANGE(1))\n"
    "{\n"
    "    const size_t i = ndr_global_id(NDR_ITEM(1), 0);\n"
    "    int own[8], sum = 0;\n"
    "    for (int k = 0; k < 8; ++k) own[k] = (int)i * 10 + k;\n"
    "    for (int k = 0; k < 8; ++k) own[k] -= own[(k + 1) % 8] - k;\n"
    "    for (int k = 0; k < 8; ++k) sum = 3 * sum + own[k];\n"
    "    out[i] = sum;\n"
    "}\n";

/* Each of n items drew one of the numbers 0 to n - 1, all of them different. */
static void check_draw(const char *name, ndr_nd_range range, size_t n)
{
    enum { MOST = 101 };
    int32_t drawn = 0, ticket[MOST], seen[MOST] = { 0 };
    ndr_buffer *d = buffer_of(sizeof drawn, &drawn), *t = buffer_of(n * sizeof ticket[0], NULL);
    assert_ok(ndr_launch(queue, kernel_of(source, name), range, d, t));
    take_buffer(d, &drawn, sizeof drawn);
    take_buffer(t, ticket, n * sizeof ticket[0]);
    assert_int_equal(drawn, n);
    for (size_t i = 0; i < n; ++i) {
        assert_in_range(ticket[i], 0, n - 1);
        assert_int_equal(seen[ticket[i]]++, 0);
    }
}

/* Every third of 24 items left before it could write a 2. */
static void check_left(const char *name, ndr_nd_range range, const ndr_arg *local)
{
    int32_t x[24] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    const ndr_arg args[] = { ndr_arg_of(buffer), local ? *local : ndr_null };
    assert_ok(ndr_launch_v(queue, kernel_of(source, name), &range, args, local ? 2 : 1, NULL));
    take_buffer(buffer, x, sizeof x);
    for (int i = 0; i < 24; ++i) assert_int_equal(x[i], i % 3 == 0 ? 1 : 2);
}

/* ---- range ---- */

static ndr_nd_range items_of_a_range(size_t n) { return (ndr_nd_range){ .global = ndr_range_1d(n) }; }

static void test_forms__range_has_atomics(void **state)
{
    check_draw("draw_range", items_of_a_range(101), 101);
}

static void test_forms__range_lets_an_item_return_early(void **state)
{
    check_left("leave_range", items_of_a_range(24), NULL);
}

static void test_forms__range_keeps_private_variables(void **state)
{
    int32_t got[37];
    ndr_buffer *out = buffer_of(sizeof got, NULL);
    assert_ok(ndr_launch(queue, kernel_of(source, "keep_range"), ndr_range_1d(37), out));
    take_buffer(out, got, sizeof got);
    for (int i = 0; i < 37; ++i) {
        int own[8], sum = 0;
        for (int k = 0; k < 8; ++k) own[k] = i * 10 + k;
        for (int k = 0; k < 8; ++k) own[k] -= own[(k + 1) % 8] - k;
        for (int k = 0; k < 8; ++k) sum = 3 * sum + own[k];
        assert_int_equal(got[i], sum);
    }
}

/* ---- nd_range ---- */

static void test_forms__nd_range_has_atomics(void **state)
{
    ndr_nd_range range = ndr_nd_range_1d(101, 8);
    range.edge = NDR_EDGE_SPLIT;
    check_draw("draw_nd_range", range, 101);
}

/* In a kernel without barriers, and after the last barrier. */
static void test_forms__nd_range_lets_an_item_return_where_no_barrier_follows(void **state)
{
    const ndr_arg t = ndr_local(int32_t, 8);
    check_left("leave_nd_range", ndr_nd_range_1d(24, 8), NULL);
    check_left("leave_last_barrier", ndr_nd_range_1d(24, 8), &t);
}

/* ---- hierarchical ---- */

static const char hierarchical_source[] =
    "#include <ndr/hierarchy.clh>\n"
    "#include <ndr/loops.clh>\n"
    "\n"
    "kernel void know(global ulong *rows, NDR_ND_RANGE(2))\n"
    "{\n"
    "    const ndr_group g = NDR_GROUP(2);\n"
    "    NDR_WORK_ITEMS(h, g) {\n"
    "        global ulong *row = rows + 14 * ndr_global_linear_id(h);\n"
    "        row[0] = ndr_dims(h);\n"
    "        row[1] = ndr_global_linear_range(h);\n"
    "        for (uint d = 0; d < 2; ++d) {\n"
    "            row[2 + d] = ndr_global_id(h, d);\n"
    "            row[4 + d] = ndr_global_range(h, d);\n"
    "            row[6 + d] = ndr_offset(h, d);\n"
    "            row[8 + d] = ndr_group_id(g, d);\n"
    "            row[10 + d] = ndr_logical_local_id(h, d);\n"
    "            row[12 + d] = ndr_physical_local_id(h, d);\n"
    "        }\n"
    "    }\n"
    "}\n"
    "\n"
    "kernel void blocks(global int *x, global ulong *sizes, ulong n, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_group g = NDR_GROUP(1);\n"
    "    const size_t first = ndr_group_id(g, 0) * 10, left = n - first;\n"
    "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(left < 10 ? left : 10)) { x[first + ndr_local_id(h, 0)] += 1; }\n"
    "    NDR_ONCE(g) { sizes[ndr_group_id(g, 0)] = ndr_local_range(g, 0); }\n"
    "}\n"
    "\n"
    "kernel void deal(global int *x, global int *who, ulong n, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_group g = NDR_GROUP(1);\n"
    "    local int t[5];\n"
    "    NDR_FOR_GROUPS(unit, g, n) {\n"
    "        NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(5)) {\n"
    "            t[ndr_local_id(h, 0)] = (int)(unit * 10 + ndr_local_id(h, 0));\n"
    "        }\n"
    "        NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(5)) {\n"
    "            x[unit * 5 + ndr_local_id(h, 0)] += 1 + t[4 - ndr_local_id(h, 0)];\n"
    "        }\n"
    "        NDR_ONCE(g) { who[unit] = (int)ndr_group_id(g, 0); }\n"
    "    }\n"
    "}\n"
    "\n"
    "kernel void share(global int *x, local int *t, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_group g = NDR_GROUP(1);\n"
    "    local int u[11];\n"
    "    NDR_GROUP_LOCAL(int, own, g, 1000 * (int)ndr_group_id(g, 0));\n"
    "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(11)) {\n"
    "        t[ndr_local_id(h, 0)] = (int)ndr_local_id(h, 0);\n"
    "        u[10 - ndr_local_id(h, 0)] = 20 * (int)ndr_local_id(h, 0);\n"
    "    }\n"
    "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(11)) {\n"
    "        const size_t i = ndr_local_id(h, 0);\n"
    "        x[ndr_group_id(g, 0) * 11 + i] = own + u[i] + t[(i + 1) % 11];\n"
    "    }\n"
    "}\n";

static void test_forms__hierarchical_item_knows_where_it_is(void **state)
{
    enum { ROWS = 6, COLS = 6 }; /* of items: (3, 2) groups of (2, 3) */
    uint64_t got[ROWS * COLS][14];
    ndr_buffer *out = buffer_of(sizeof got, memset(got, 0xff, sizeof got));
    ndr_nd_range range = ndr_groups_of(ndr_range_2d(3, 2), ndr_range_2d(2, 3));
    range.offset[0] = 100;
    range.offset[1] = 7;
    assert_ok(ndr_launch(queue, kernel_of(hierarchical_source, "know"), range, out));
    take_buffer(out, got, sizeof got);
    for (uint64_t i = 0; i < ROWS * COLS; ++i) {
        const uint64_t row = i / COLS, col = i % COLS;
        const uint64_t wanted[14] = { 2, ROWS * COLS, 100 + row, 7 + col, ROWS,    COLS,    100,
                                      7, row / 2,     col / 3,   row % 2, col % 3, row % 2, col % 3 };
        assert_memory_equal(got[i], wanted, sizeof wanted);
    }
}

/* n elements, ten for each group but the last, in groups of `local` items: each element comes once. Returns the size
 * of the groups. */
static size_t check_blocks(size_t n, size_t local)
{
    enum { MOST = 101 };
    const size_t groups = (n + 9) / 10;
    int32_t x[MOST] = { 0 };
    uint64_t sizes[MOST];
    ndr_buffer *dx = buffer_of(sizeof x, x), *ds = buffer_of(groups * sizeof sizes[0], NULL);
    assert_ok(ndr_launch(queue, kernel_of(hierarchical_source, "blocks"), groups_1d(groups, local), dx, ds, n));
    take_buffer(dx, x, sizeof x);
    take_buffer(ds, sizes, groups * sizeof sizes[0]);
    for (size_t i = 0; i < MOST; ++i) assert_int_equal(x[i], i < n);
    for (size_t i = 1; i < groups; ++i) assert_int_equal(sizes[i], sizes[0]);
    return (size_t)sizes[0];
}

static void test_forms__hierarchical_takes_any_number_of_groups_and_elements(void **state)
{
    const size_t sizes[] = { 1, 10, 61, 97, 101 }; /* in 1, 1, 7, 10 and 11 groups */
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
        assert_int_equal(check_blocks(sizes[k], 1), 1);
        assert_int_equal(check_blocks(sizes[k], 7), 7);
    }
}

static void test_forms__hierarchical_leaves_the_group_size_to_the_library(void **state)
{
    assert_in_range(check_blocks(61, 0), 2, 64);
    assert_int_equal(check_blocks(101, 0), check_blocks(61, 0));
}

static void test_forms__hierarchical_deals_units_to_groups(void **state)
{
    enum { GROUPS = 3, MOST = 11 };
    const size_t units[] = { 2, 3, 7, 11, 0 };
    for (size_t k = 0; k < sizeof units / sizeof units[0]; ++k) {
        int32_t x[5 * MOST] = { 0 }, who[MOST] = { 0 };
        ndr_buffer *dx = buffer_of(sizeof x, x), *dwho = buffer_of(sizeof who, who);
        assert_ok(ndr_launch(queue, kernel_of(hierarchical_source, "deal"), groups_1d(GROUPS, 4), dx, dwho, units[k]));
        take_buffer(dx, x, sizeof x);
        take_buffer(dwho, who, sizeof who);
        for (size_t i = 0; i < 5 * MOST; ++i) assert_int_equal(x[i], i < 5 * units[k] ? 1 + i / 5 * 10 + 4 - i % 5 : 0);
        for (size_t i = 0; i < MOST; ++i) assert_int_equal(who[i], i < units[k] ? i % GROUPS : 0);
    }
}

static void test_forms__hierarchical_has_atomics(void **state)
{
    check_draw("draw_hierarchical", groups_1d(7, 4), 7 * 13);
}

/* Local memory passed by the host, declared in the kernel, and one variable for the group. */
static void test_forms__hierarchical_has_local_memory(void **state)
{
    const size_t locals[] = { 1, 4, 0 };
    for (size_t k = 0; k < sizeof locals / sizeof locals[0]; ++k) {
        int32_t x[33];
        ndr_buffer *buffer = buffer_of(sizeof x, NULL);
        assert_ok(ndr_launch(queue, kernel_of(hierarchical_source, "share"), groups_1d(3, locals[k]), buffer,
                             ndr_local(int32_t, 11)));
        take_buffer(buffer, x, sizeof x);
        for (int i = 0; i < 33; ++i) assert_int_equal(x[i], 1000 * (i / 11) + 20 * (10 - i % 11) + (i % 11 + 1) % 11);
    }
}

static void test_forms__hierarchical_lets_a_whole_group_return_at_group_scope(void **state)
{
    int32_t x[20] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    assert_ok(ndr_launch(queue, kernel_of(source, "leave_hierarchical"), groups_1d(5, 4), buffer, 3));
    take_buffer(buffer, x, sizeof x);
    for (int i = 0; i < 20; ++i) assert_int_equal(x[i], i >= 12 ? 0 : i % 4 == 0 ? 7 : 2);
}

static void test_forms__hierarchical_is_not_launched_over_a_range(void **state)
{
    ndr_buffer *x = buffer_of(4, NULL);
    assert_refused(
        NDR_BAD_RANGE,
        ndr_launch(queue, kernel_of(hierarchical_source, "share"), ndr_range_1d(11), x, ndr_local(int32_t, 11)),
        "\"share\"", "works in groups (NDR_ND_RANGE)");
    ndr_buffer_destroy(x);
}

/* ---- group functions ---- */

/* One function for both forms: it takes the group. A sum, a scan, a vote, a broadcast, and a sum over elements. */
static const char together_source[] =
    "#include <ndr/hierarchy.clh>\n"
    "#include <ndr/joint.clh>\n"
    "typedef struct answers { int sum, before, any, all, third, joint; } answers;\n"
    "static answers together(ndr_group g, int x, const local int *t, size_t n)\n"
    "{\n"
    "    answers a;\n"
    "    a.sum = ndr_reduce_over_group(g, x, NDR_PLUS);\n"
    "    a.before = ndr_exclusive_scan_over_group(g, x, NDR_PLUS);\n"
    "    a.any = ndr_any_of_group(g, x == 21);\n"
    "    a.all = ndr_all_of_group(g, x > 0);\n"
    "    a.third = ndr_group_broadcast(g, x, 2);\n"
    "    a.joint = ndr_joint_reduce(g, t, n, NDR_MAXIMUM);\n"
    "    return a;\n"
    "}\n"
    "static void write(global int *out, answers a)\n"
    "{\n"
    "    out[0] = a.sum, out[1] = a.before, out[2] = a.any, out[3] = a.all, out[4] = a.third, out[5] = a.joint;\n"
    "}\n"
    "kernel void in_nd_range(global int *out, local int *t, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(1);\n"
    "    const ndr_group g = ndr_get_group(it);\n"
    "    for (size_t i = ndr_local_id(it, 0); i < 33; i += ndr_local_range(it, 0)) t[i] = (int)(i * 7 % 33);\n"
    "    ndr_group_barrier(g);\n"
    "    write(out + 6 * ndr_global_id(it, 0), together(g, 1 + (int)ndr_global_id(it, 0), t, 33));\n"
    "}\n"
    "kernel void in_hierarchical(global int *out, local int *t, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_group g = NDR_GROUP(1);\n"
    "    NDR_PRIVATE(int, x);\n"
    "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(33)) { t[ndr_local_id(h, 0)] = (int)(ndr_local_id(h, 0) * 7 % 33); }\n"
    "    NDR_WORK_ITEMS(h, g) { x[ndr_mine(h)] = 1 + (int)ndr_global_id(h, 0); }\n"
    "    const answers a = together(g, *x, t, 33);\n"
    "    NDR_WORK_ITEMS(h, g) { write(out + 6 * ndr_global_id(h, 0), a); }\n"
    "}\n";

static void check_together(const char *name, ndr_nd_range range)
{
    enum { GROUPS = 3, GROUP = 11 };
    int32_t got[GROUPS * GROUP][6];
    ndr_buffer *out = buffer_of(sizeof got, NULL);
    assert_ok(ndr_launch(queue, kernel_of(together_source, name), range, out, ndr_local(int32_t, 33)));
    read_buffer(out, got, sizeof got);
    for (int i = 0; i < GROUPS * GROUP; ++i) {
        const int id = i % GROUP, first = i - id + 1; /* item k of the group has x of first + k */
        const int32_t wanted[6] = { GROUP * first + GROUP * (GROUP - 1) / 2,
                                    id * first + id * (id - 1) / 2,
                                    first <= 21 && 21 < first + GROUP,
                                    1,
                                    first + 2,
                                    32 };
        assert_memory_equal(got[i], wanted, sizeof wanted);
    }
    ndr_buffer_destroy(out);
}

static void test_forms__nd_range_has_group_functions(void **state)
{
    check_together("in_nd_range", ndr_nd_range_1d(33, 11));
}

static void test_forms__hierarchical_has_group_functions_at_group_scope(void **state)
{
    check_together("in_hierarchical", groups_1d(3, 11));
}

/* ---- what a form lacks ---- */

/* The compiler must reject `statement` and name `named`. */
static void check_does_not_build(const char *range, const char *before, const char *statement, const char *named)
{
    char text[512];
    snprintf(text, sizeof text,
             "#include <ndr/ndr.clh>\n"
             "kernel void wrong(global int *x, %s)\n"
             "{\n"
             "    %s\n"
             "    %s\n"
             "}\n",
             range, before, statement);
    ndr_kernel *kernel = NULL;
    assert_refused(NDR_BUILD_FAILED,
                   ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "wrong", .source = text }, &kernel), named);
}

static void no_range_builds(const char *statement, const char *named)
{
    check_does_not_build("NDR_RANGE(1)", "const ndr_item it = NDR_ITEM(1);", statement, named);
}

static void no_scope_builds(const char *statement, const char *named)
{
    check_does_not_build("NDR_ND_RANGE(1)", "const ndr_group g = NDR_GROUP(1); NDR_WORK_ITEMS(h, g)", statement, named);
}

#define NO_GROUP "items of a range have no group; make it an nd_range"

static void test_forms__range_has_no_local_or_group_ids(void **state)
{
    no_range_builds("x[0] = (int)ndr_local_id(it, 0);", NO_GROUP);
    no_range_builds("x[0] = (int)ndr_group_id(it, 0);", NO_GROUP);
}

static void test_forms__range_deals_no_units_to_groups(void **state)
{
    no_range_builds("NDR_FOR_GROUPS(i, it, 4) x[i] = 1;", NO_GROUP);
    no_range_builds("NDR_FOR_LOCAL(i, it, 4) x[i] = 1;", NO_GROUP);
}

static void test_forms__range_has_no_group_functions(void **state)
{
    no_range_builds("x[0] = ndr_reduce_over_group(it, x[0], NDR_PLUS);", "'ndr_reduce_over_group'");
    no_range_builds("x[0] = ndr_inclusive_scan_over_group(it, x[0], NDR_PLUS);", "'ndr_inclusive_scan_over_group'");
    no_range_builds("x[0] = ndr_any_of_group(it, x[0] > 0);", "'ndr_any_of_group'");
    no_range_builds("x[0] = ndr_group_broadcast(it, x[0]);", "'ndr_group_broadcast'");
}

static void test_forms__range_has_no_code_that_runs_once_for_a_group(void **state)
{
    no_range_builds("if (ndr_leader(it)) x[0] = 1;", NO_GROUP);
    no_range_builds("NDR_ONCE(it) { x[0] = 1; }", "ndr_item");
}

static void test_forms__hierarchical_has_no_group_functions_of_an_item(void **state)
{
    no_scope_builds("{ x[0] = ndr_reduce_over_group(h, x[0], NDR_PLUS); }", "'ndr_reduce_over_group'");
    no_scope_builds("{ x[0] = ndr_exclusive_scan_over_group(h, x[0], NDR_PLUS); }", "'ndr_exclusive_scan_over_group'");
    no_scope_builds("{ x[0] = ndr_all_of_group(h, x[0] > 0); }", "'ndr_all_of_group'");
    no_scope_builds("{ x[0] = ndr_group_broadcast(h, x[0]); }", "'ndr_group_broadcast'");
}

static void test_forms__hierarchical_has_no_sub_groups(void **state)
{
    no_scope_builds("{ (void)ndr_get_sub_group(h); }", "hierarchical kernels have no sub-groups");
    no_scope_builds("{ (void)ndr_get_sub_group(g); }", "a group has several sub-groups");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms__range_has_atomics),
        cmocka_unit_test(test_forms__range_lets_an_item_return_early),
        cmocka_unit_test(test_forms__range_keeps_private_variables),
        cmocka_unit_test(test_forms__nd_range_has_atomics),
        cmocka_unit_test(test_forms__nd_range_lets_an_item_return_where_no_barrier_follows),
        cmocka_unit_test(test_forms__hierarchical_item_knows_where_it_is),
        cmocka_unit_test(test_forms__hierarchical_takes_any_number_of_groups_and_elements),
        cmocka_unit_test(test_forms__hierarchical_leaves_the_group_size_to_the_library),
        cmocka_unit_test(test_forms__hierarchical_deals_units_to_groups),
        cmocka_unit_test(test_forms__hierarchical_has_atomics),
        cmocka_unit_test(test_forms__hierarchical_has_local_memory),
        cmocka_unit_test(test_forms__hierarchical_lets_a_whole_group_return_at_group_scope),
        cmocka_unit_test(test_forms__hierarchical_is_not_launched_over_a_range),
        cmocka_unit_test(test_forms__nd_range_has_group_functions),
        cmocka_unit_test(test_forms__hierarchical_has_group_functions_at_group_scope),
        cmocka_unit_test(test_forms__range_has_no_local_or_group_ids),
        cmocka_unit_test(test_forms__range_deals_no_units_to_groups),
        cmocka_unit_test(test_forms__range_has_no_group_functions),
        cmocka_unit_test(test_forms__range_has_no_code_that_runs_once_for_a_group),
        cmocka_unit_test(test_forms__hierarchical_has_no_group_functions_of_an_item),
        cmocka_unit_test(test_forms__hierarchical_has_no_sub_groups),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
