/* test_hierarchy.c - hierarchical kernels: group scope, item scopes, logical ranges. */
#include "support.h"

#define HIERARCHY "#include \"ndr/hierarchy.clh\"\n"

/* Groups by number, `local` items in each; 0 lets the library choose. */
static ndr_nd_range groups_1d(size_t groups, size_t local)
{
    return ndr_groups_of(ndr_range_1d(groups), ndr_range_1d(local));
}

static ndr_nd_range groups_2d(size_t rows, size_t cols, size_t local_rows, size_t local_cols)
{
    return ndr_groups_of(ndr_range_2d(rows, cols), ndr_range_2d(local_rows, local_cols));
}

/* ---- the scopes ---- */

static void test_hierarchy__runs_an_item_scope_once_for_each_physical_item(void **state)
{
    static const char source[] = HIERARCHY "kernel void count(global int *x, NDR_ND_RANGE(1))\n"
                                           "{\n"
                                           "    const ndr_group g = NDR_GROUP(1);\n"
                                           "    NDR_WORK_ITEMS(h, g) { x[ndr_global_id(h, 0)] += 1; }\n"
                                           "}\n";
    int32_t x[13] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    assert_ok(ndr_launch(queue, kernel_of(source, "count"), groups_1d(3, 4), buffer));
    take_buffer(buffer, x, sizeof x);
    for (size_t i = 0; i < 13; ++i) assert_int_equal(x[i], i < 12);
}

static void test_hierarchy__runs_once_for_each_group(void **state)
{
    static const char source[] =
        HIERARCHY "kernel void once(global int *times, global int *sums, NDR_ND_RANGE(1))\n"
                  "{\n"
                  "    const ndr_group g = NDR_GROUP(1);\n"
                  "    const size_t id = ndr_group_id(g, 0);\n"
                  "    NDR_ONCE(g) { times[id] += 1; }\n"
                  "    NDR_GROUP_LOCAL(int, ten, g, times[id] * 10);\n"
                  "    local int n;\n"
                  "    NDR_ONCE(g) n = ten + (int)id;\n"
                  "    int sum = 0;\n"
                  "    for (int turn = 0; turn < n - 8; ++turn) { /* as many iterations in every item: n "
                  "is the group's */\n"
                  "        NDR_ONCE(g) { times[id] += 1; }\n"
                  "        sum += times[id];\n"
                  "    }\n"
                  "    NDR_WORK_ITEMS(h, g) { sums[ndr_global_id(h, 0)] = sum + n; }\n"
                  "}\n";
    int32_t times[3] = { 0 }, sums[15];
    ndr_buffer *t = buffer_of(sizeof times, times), *s = buffer_of(sizeof sums, NULL);
    assert_ok(ndr_launch(queue, kernel_of(source, "once"), groups_1d(3, 5), t, s));
    read_buffer(t, times, sizeof times);
    read_buffer(s, sums, sizeof sums);
    for (int id = 0; id < 3; ++id) {
        const int turns = 2 + id;
        assert_int_equal(times[id], 1 + turns);
        int sum = 0;
        for (int turn = 0; turn < turns; ++turn) sum += turn + 2;
        for (int i = 0; i < 5; ++i) assert_int_equal(sums[id * 5 + i], sum + 10 + id);
    }
    destroy_buffers(t, s);
}

static void test_hierarchy__sees_in_one_scope_what_another_wrote(void **state)
{
    static const char source[] =
        HIERARCHY "kernel void turn(global int *x, NDR_ND_RANGE(1))\n"
                  "{\n"
                  "    const ndr_group g = NDR_GROUP(1);\n"
                  "    local int t[33];\n"
                  "    const size_t first = ndr_group_id(g, 0) * 33;\n"
                  "    for (int k = 0; k < 3; ++k) {\n"
                  "        NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(33)) {\n"
                  "            t[ndr_local_id(h, 0)] = x[first + ndr_local_id(h, 0)];\n"
                  "        }\n"
                  "        NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(33)) {\n"
                  "            x[first + ndr_local_id(h, 0)] = t[(ndr_local_id(h, 0) + 1) % 33];\n"
                  "        }\n"
                  "    }\n"
                  "}\n";
    static const size_t locals[] = { 1, 4, 7, 33, 40 };
    for (size_t k = 0; k < 5; ++k) {
        int32_t x[66];
        for (int i = 0; i < 66; ++i) x[i] = i;
        ndr_buffer *buffer = buffer_of(sizeof x, x);
        ndr_kernel *turn = kernel_of(source, "turn");
        assert_ok(ndr_launch(queue, turn, groups_1d(2, fitting_group(turn, locals[k])), buffer));
        take_buffer(buffer, x, sizeof x);
        for (int i = 0; i < 66; ++i) assert_int_equal(x[i], i / 33 * 33 + (i % 33 + 3) % 33);
    }
}

static void test_hierarchy__ends_an_item_with_continue_and_still_waits(void **state)
{
    static const char source[] = HIERARCHY "kernel void odd(global int *x, NDR_ND_RANGE(1))\n"
                                           "{\n"
                                           "    const ndr_group g = NDR_GROUP(1);\n"
                                           "    local int t[11];\n"
                                           "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(11)) {\n"
                                           "        t[ndr_local_id(h, 0)] = 1;\n"
                                           "        if (ndr_local_id(h, 0) % 2 == 0) continue;\n"
                                           "        t[ndr_local_id(h, 0)] = 2;\n"
                                           "    }\n"
                                           "    NDR_ONCE(g) {\n"
                                           "        for (int i = 0; i < 11; ++i) x[i] = t[i];\n"
                                           "        if (x[0] == 1) break;\n"
                                           "        x[0] = -1;\n"
                                           "    }\n"
                                           "}\n";
    int32_t x[11];
    ndr_buffer *buffer = buffer_of(sizeof x, NULL);
    assert_ok(ndr_launch(queue, kernel_of(source, "odd"), groups_1d(1, 4), buffer));
    take_buffer(buffer, x, sizeof x);
    for (int i = 0; i < 11; ++i) assert_int_equal(x[i], 1 + i % 2);
}

/* ---- logical ranges ---- */

static void test_hierarchy__deals_a_logical_range_out_in_turn(void **state)
{
    static const char source[] =
        HIERARCHY "kernel void deal(global int *owner, global int *turn, ulong n, NDR_ND_RANGE(1))\n"
                  "{\n"
                  "    const ndr_group g = NDR_GROUP(1);\n"
                  "    int turns = 0;\n"
                  "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(n)) {\n"
                  "        owner[ndr_logical_local_id(h, 0)] += 1 + (int)ndr_physical_local_id(h, 0);\n"
                  "        turn[ndr_logical_local_id(h, 0)] = turns++;\n"
                  "    }\n"
                  "}\n";
    static const size_t logical[] = { 11, 5, 0, 8, 16, 1, 23 };
    for (size_t k = 0; k < 7; ++k) {
        int32_t owner[24] = { 0 }, turn[24];
        ndr_buffer *o = buffer_of(sizeof owner, owner), *t = buffer_of(sizeof turn, owner);
        assert_ok(ndr_launch(queue, kernel_of(source, "deal"), groups_1d(1, 8), o, t, logical[k]));
        take_buffer(o, owner, sizeof owner);
        take_buffer(t, turn, sizeof turn);
        for (size_t i = 0; i < 24; ++i) {
            assert_int_equal(owner[i], i < logical[k] ? 1 + i % 8 : 0);
            if (i < logical[k]) assert_int_equal(turn[i], i / 8);
        }
    }
}

static const char deal_source[] = HIERARCHY
    "kernel void deal_2d(global int *owner, ulong rows, ulong cols, NDR_ND_RANGE(2))\n"
    "{\n"
    "    const ndr_group g = NDR_GROUP(2);\n"
    "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_2d(rows, cols)) {\n"
    "        const size_t i = ndr_logical_local_id(h, 0) * cols + ndr_logical_local_id(h, 1);\n"
    "        owner[i] += 1 + (int)(ndr_physical_local_id(h, 0) * ndr_physical_local_range(h, 1));\n"
    "        owner[i] += (int)ndr_physical_local_id(h, 1);\n"
    "    }\n"
    "}\n"
    "kernel void deal_3d(global int *owner, ulong planes, ulong rows, ulong cols, NDR_ND_RANGE(3))\n"
    "{\n"
    "    const ndr_group g = NDR_GROUP(3);\n"
    "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_3d(planes, rows, cols)) {\n"
    "        const size_t i = (ndr_logical_local_id(h, 0) * rows + ndr_logical_local_id(h, 1)) * cols\n"
    "                         + ndr_logical_local_id(h, 2);\n"
    "        owner[i] += 1 + (int)ndr_physical_local_id(h, 0) * 100 + (int)ndr_physical_local_id(h, 1) * "
    "10\n"
    "                    + (int)ndr_physical_local_id(h, 2);\n"
    "    }\n"
    "}\n"
    "kernel void deal_row(global int *owner, ulong n, NDR_ND_RANGE(2))\n"
    "{\n"
    "    const ndr_group g = NDR_GROUP(2);\n"
    "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(n)) { owner[ndr_local_id(h, 0)] += 1; }\n"
    "}\n"
    "kernel void deal_table(global int *owner, ulong rows, ulong cols, NDR_ND_RANGE(1))\n"
    "{\n"
    "    const ndr_group g = NDR_GROUP(1);\n"
    "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_2d(rows, cols)) {\n"
    "        owner[ndr_local_id(h, 0) * ndr_local_range(h, 1) + ndr_local_id(h, 1)] += 1;\n"
    "    }\n"
    "}\n";

static void test_hierarchy__deals_out_by_dimension(void **state)
{
    ndr_kernel *kernel = kernel_of(deal_source, "deal_2d");
    static const size_t logical[][2] = { { 5, 7 }, { 2, 3 }, { 1, 9 }, { 0, 7 }, { 5, 0 }, { 6, 6 } };
    for (size_t k = 0; k < 6; ++k) {
        const size_t rows = logical[k][0], cols = logical[k][1];
        int32_t owner[36] = { 0 };
        ndr_buffer *buffer = buffer_of(sizeof owner, owner);
        assert_ok(ndr_launch(queue, kernel, groups_2d(1, 1, 2, 3), buffer, rows, cols));
        take_buffer(buffer, owner, sizeof owner);
        for (size_t i = 0; i < 36; ++i)
            assert_int_equal(owner[i], i < rows * cols ? 1 + i / cols % 2 * 3 + i % cols % 3 : 0);
    }
    int32_t owner[60] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof owner, owner);
    const ndr_nd_range range = ndr_groups_of(ndr_range_3d(1, 1, 1), ndr_range_3d(2, 1, 3));
    assert_ok(ndr_launch(queue, kernel_of(deal_source, "deal_3d"), range, buffer, 3, 4, 5));
    take_buffer(buffer, owner, sizeof owner);
    for (int i = 0; i < 60; ++i) assert_int_equal(owner[i], 1 + i / 20 % 2 * 100 + i % 5 % 3);
}

static void test_hierarchy__takes_a_logical_range_of_other_dimensions(void **state)
{
    int32_t row[11] = { 0 }, table[15] = { 0 };
    ndr_buffer *r = buffer_of(sizeof row, row), *t = buffer_of(sizeof table, table);
    assert_ok(ndr_launch(queue, kernel_of(deal_source, "deal_row"), groups_2d(1, 1, 2, 3), r, 11));
    assert_ok(ndr_launch(queue, kernel_of(deal_source, "deal_table"), groups_1d(1, 4), t, 3, 5));
    take_buffer(r, row, sizeof row);
    take_buffer(t, table, sizeof table);
    for (size_t i = 0; i < 11; ++i) assert_int_equal(row[i], 1);
    for (size_t i = 0; i < 15; ++i) assert_int_equal(table[i], 1);
}

static void test_hierarchy__tells_logical_from_physical(void **state)
{
    static const char source[] = HIERARCHY
        "kernel void tell(global int *x, NDR_ND_RANGE(2))\n"
        "{\n"
        "    const ndr_group g = NDR_GROUP(2);\n"
        "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_2d(4, 5)) {\n"
        "        bool ok = ndr_dims(h) == 2;\n"
        "        ok &= ndr_logical_local_range(h, 0) == 4 && ndr_logical_local_range(h, 1) == 5;\n"
        "        ok &= ndr_physical_local_range(h, 0) == 2 && ndr_physical_local_range(h, 1) == 3;\n"
        "        for (uint d = 0; d < 2; ++d) {\n"
        "            ok &= ndr_local_id(h, d) == ndr_logical_local_id(h, d);\n"
        "            ok &= ndr_local_range(h, d) == ndr_logical_local_range(h, d);\n"
        "            const size_t p = ndr_physical_local_id(h, d);\n"
        "            ok &= ndr_logical_local_id(h, d) % ndr_physical_local_range(h, d) == p;\n"
        "            ok &= ndr_global_range(h, d) == ndr_group_range(g, d) * ndr_local_range(g, d);\n"
        "            ok &= ndr_global_id(h, d) == ndr_group_id(g, d) * ndr_local_range(g, d) + p;\n"
        "        }\n"
        "        x[ndr_group_linear_id(g) * 20 + ndr_local_id(h, 0) * 5 + ndr_local_id(h, 1)] = ok;\n"
        "    }\n"
        "    NDR_WORK_ITEMS(h, g) {\n"
        "        bool ok = true;\n"
        "        for (uint d = 0; d < 2; ++d) {\n"
        "            ok &= ndr_logical_local_id(h, d) == ndr_physical_local_id(h, d);\n"
        "            ok &= ndr_logical_local_range(h, d) == ndr_physical_local_range(h, d);\n"
        "            ok &= ndr_physical_local_id(h, d) == ndr_local_id(g, d);\n"
        "        }\n"
        "        x[80 + ndr_group_linear_id(g) * 6 + ndr_local_linear_id(g)] = ok;\n"
        "    }\n"
        "}\n";
    int32_t x[104] = { 0 };
    ndr_buffer *buffer = buffer_of(sizeof x, x);
    assert_ok(ndr_launch(queue, kernel_of(source, "tell"), groups_2d(2, 2, 2, 3), buffer));
    take_buffer(buffer, x, sizeof x);
    for (size_t i = 0; i < 104; ++i) assert_int_equal(x[i], 1);
}

/* ---- private memory ---- */

static void test_hierarchy__keeps_private_memory_for_each_physical_item(void **state)
{
    static const char source[] =
        HIERARCHY "kernel void keep(global int *x, NDR_ND_RANGE(1))\n"
                  "{\n"
                  "    const ndr_group g = NDR_GROUP(1);\n"
                  "    NDR_PRIVATE(int, sum);\n"
                  "    NDR_WORK_ITEMS(h, g) { sum[ndr_mine(h)] = 100 * (int)ndr_global_id(h, 0); }\n"
                  "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_1d(11)) { sum[ndr_mine(h)] += 1 + "
                  "(int)ndr_local_id(h, 0); }\n"
                  "    NDR_WORK_ITEMS(h, g) { x[ndr_global_id(h, 0)] = sum[ndr_mine(h)]; }\n"
                  "}\n";
    int32_t x[16];
    ndr_buffer *buffer = buffer_of(sizeof x, NULL);
    assert_ok(ndr_launch(queue, kernel_of(source, "keep"), groups_1d(2, 8), buffer));
    take_buffer(buffer, x, sizeof x);
    for (int i = 0; i < 16; ++i) {
        const int p = i % 8; /* items 0 to 2 have two logical ones: p and p + 8 */
        assert_int_equal(x[i], 100 * i + (p < 3 ? 2 * p + 10 : p + 1));
    }
}

/* ---- tiles; test_seeds.c has the book's other matrix multiplications ---- */

static const char matmul_source[] =
    HIERARCHY "#define B 8\n"
              "kernel void tiled(global const float *a, global const float *b, global float *c, ulong n, "
              "NDR_ND_RANGE(2))\n"
              "{\n"
              "    const ndr_group g = NDR_GROUP(2);\n"
              "    const size_t jb = ndr_group_id(g, 0) * B, ib = ndr_group_id(g, 1) * B;\n"
              "    local float s[B][B], t[B][B], sum[B][B];\n"
              "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_2d(B, B)) { sum[ndr_local_id(h, 0)][ndr_local_id(h, "
              "1)] = 0; }\n"
              "    for (size_t kb = 0; kb < n; kb += B) {\n"
              "        NDR_WORK_ITEMS_OVER(h, g, ndr_range_2d(B, B)) {\n"
              "            const size_t j = ndr_local_id(h, 0), i = ndr_local_id(h, 1);\n"
              "            s[j][i] = a[(jb + j) * n + kb + i];\n"
              "            t[j][i] = b[(kb + j) * n + ib + i];\n"
              "        }\n"
              "        NDR_WORK_ITEMS_OVER(h, g, ndr_range_2d(B, B)) {\n"
              "            const size_t j = ndr_local_id(h, 0), i = ndr_local_id(h, 1);\n"
              "            for (uint k = 0; k < B; ++k) sum[j][i] += s[j][k] * t[k][i];\n"
              "        }\n"
              "    }\n"
              "    NDR_WORK_ITEMS_OVER(h, g, ndr_range_2d(B, B)) {\n"
              "        const size_t j = ndr_local_id(h, 0), i = ndr_local_id(h, 1);\n"
              "        c[(jb + j) * n + ib + i] = sum[j][i];\n"
              "    }\n"
              "}\n";

enum { LARGEST = 256, BLOCK = 8 };
static float a[LARGEST * LARGEST], b[LARGEST * LARGEST], c[LARGEST * LARGEST], product[LARGEST * LARGEST];

static size_t matrix_size(void) { return quick() ? 16 : LARGEST; }

/* Small whole numbers: every product is exact in any order. */
static int fill_matrices(void **state)
{
    const size_t n = matrix_size();
    for (size_t i = 0; i < n * n; ++i) {
        a[i] = (float)(i * 7 % 11) - 5;
        b[i] = (float)(i * 5 % 13) - 6;
    }
    for (size_t j = 0; j < n; ++j)
        for (size_t k = 0; k < n; ++k)
            for (size_t i = 0; i < n; ++i) product[j * n + i] += a[j * n + k] * b[k * n + i];
    return open_device(state);
}

/* Groups of the library's choice, and of a size that does not divide the tile's. */
static void test_hierarchy__multiplies_by_tiles_in_local_memory(void **state)
{
    static const size_t sizes[][2] = { { 0, 0 }, { 3, 5 } };
    const size_t n = matrix_size(), bytes = n * n * sizeof(float);
    ndr_kernel *const tiled = kernel_of(matmul_source, "tiled");
    ndr_buffer *da = buffer_of(bytes, a), *db = buffer_of(bytes, b), *dc = buffer_of(bytes, NULL);
    for (size_t i = 0; i < COUNT_OF(sizes); ++i) {
        const float wrong = -1e9f;
        assert_ok(ndr_buffer_fill(queue, dc, 0, bytes, &wrong, sizeof wrong, NULL));
        assert_ok(ndr_launch(queue, tiled, groups_2d(n / BLOCK, n / BLOCK, sizes[i][0], sizes[i][1]), da, db, dc, n));
        read_buffer(dc, c, bytes);
        assert_memory_equal(c, product, bytes);
    }
    destroy_buffers(da, db, dc);
}

/* ---- refusals ---- */

static void assert_build_fails(const char *body, const char *range, const char *sentence)
{
    char source[1024];
    snprintf(source, sizeof source,
             "#include \"ndr/hierarchy.clh\"\n#include \"ndr/sub_group.clh\"\n"
             "kernel void k(global int *x, %s)\n{\n%s\n}\n",
             range, body);
    ndr_kernel *kernel = NULL;
    assert_refused(NDR_BUILD_FAILED,
                   ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "k", .source = source }, &kernel),
                   sentence);
}

static void test_hierarchy__call_without_meaning_does_not_compile(void **state)
{
    assert_build_fails("const ndr_group g = NDR_GROUP(1);\n"
                       "NDR_WORK_ITEMS(h, g) { (void)ndr_get_sub_group(h); }",
                       "NDR_ND_RANGE(1)", "hierarchical kernels have no sub-groups");
    assert_build_fails("const ndr_group g = NDR_GROUP(1);\nNDR_WORK_ITEMS(h, g) { ndr_group_barrier(h); }",
                       "NDR_ND_RANGE(1)", "no barrier stands within a scope");
    assert_build_fails("const ndr_item it = NDR_ITEM(1);\nNDR_WORK_ITEMS(h, it) { x[0] = 1; }",
                       "NDR_RANGE(1)", "ndr_item");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hierarchy__runs_an_item_scope_once_for_each_physical_item),
        cmocka_unit_test(test_hierarchy__runs_once_for_each_group),
        cmocka_unit_test(test_hierarchy__sees_in_one_scope_what_another_wrote),
        cmocka_unit_test(test_hierarchy__ends_an_item_with_continue_and_still_waits),
        cmocka_unit_test(test_hierarchy__deals_a_logical_range_out_in_turn),
        cmocka_unit_test(test_hierarchy__deals_out_by_dimension),
        cmocka_unit_test(test_hierarchy__takes_a_logical_range_of_other_dimensions),
        cmocka_unit_test(test_hierarchy__tells_logical_from_physical),
        cmocka_unit_test(test_hierarchy__keeps_private_memory_for_each_physical_item),
        cmocka_unit_test(test_hierarchy__multiplies_by_tiles_in_local_memory),
        cmocka_unit_test(test_hierarchy__call_without_meaning_does_not_compile),
    };
    return cmocka_run_group_tests(tests, fill_matrices, close_device);
}
