/* test_item.c - ndr/item.clh: the functions of an item of a range, and what does not compile. */
#include "support.h"

#include "launch/launch.h"

/* ---- every getter of every item ---- */

/* The numbers that an item writes. */
enum {
    DIMS,
    ID,                    /* three of it */
    RANGE = ID + 3,        /* three */
    OFFSET = RANGE + 3,    /* three */
    LINEAR_ID = OFFSET + 3,
    LINEAR_RANGE,
    IN_RANGE,
    FIELDS
};

/* The place of an item comes from OpenCL's own ids, dimension 0 being the contiguous one, so that no code
 * of libndr decides where its results go. Items that rounding up adds have no place; they are counted. */
static const char kernels[] =
    "#include <ndr/item.clh>\n"
    "typedef struct place { ulong at; bool inside; } place;\n"
    "static place place_of(ulong ox, ulong oy, ulong oz, ulong nx, ulong ny, ulong nz)\n"
    "{\n"
    "    const ulong x = get_global_id(0) - ox, y = get_global_id(1) - oy, z = get_global_id(2) - oz;\n"
    "    const place p = { (z * ny + y) * nx + x, x < nx && y < ny && z < nz };\n"
    "    return p;\n"
    "}\n"
    "static ulong id_plus_offset(ndr_item it) { return ndr_global_id(it, 0) + ndr_offset(it, 0); }\n"
    "#define RECORD(d) \\\n"
    "    kernel void record_##d(global ulong *out, global int *times, global int *outside, ulong ox, \\\n"
    "                           ulong oy, ulong oz, ulong nx, ulong ny, ulong nz, NDR_RANGE(d)) \\\n"
    "    { \\\n"
    "        const place p = place_of(ox, oy, oz, nx, ny, nz); \\\n"
    "        if (!p.inside) atomic_inc(&outside[0]); \\\n"
    "        const ndr_item it = NDR_ITEM(d); \\\n"
    "        if (!p.inside) { \\\n"
    "            if (d > 0 || ndr_in_range(it)) atomic_inc(&outside[1]); \\\n"
    "            return; \\\n"
    "        } \\\n"
    "        atomic_inc(&times[p.at]); \\\n"
    "        global ulong *row = out + 13 * p.at; \\\n"
    "        row[0] = ndr_dims(it); \\\n"
    "        for (uint i = 0; i < 3; ++i) { \\\n"
    "            const bool is = i < ndr_dims(it); \\\n"
    "            row[1 + i] = is ? ndr_global_id(it, i) : 0; \\\n"
    "            row[4 + i] = is ? ndr_global_range(it, i) : 0; \\\n"
    "            row[7 + i] = is ? ndr_offset(it, i) : 0; \\\n"
    "        } \\\n"
    "        row[10] = ndr_global_linear_id(it); \\\n"
    "        row[11] = ndr_global_linear_range(it); \\\n"
    "        row[12] = ndr_in_range(it); \\\n"
    "    }\n"
    "RECORD(0)\n"
    "RECORD(1)\n"
    "RECORD(2)\n"
    "RECORD(3)\n"
    "kernel void helped(global ulong *out, NDR_RANGE(1))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(1);\n"
    "    out[ndr_global_linear_id(it)] = id_plus_offset(it);\n"
    "}\n"
    "kernel void branches(global int *out, NDR_RANGE(2))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(2);\n"
    "    global int *x = &out[ndr_global_linear_id(it)];\n"
    "    if (ndr_global_id(it, 1) & 1) *x = 3 * (int)ndr_global_id(it, 0);\n"
    "    else for (size_t i = 0; i <= ndr_global_id(it, 1); ++i) *x += 1;\n"
    "}\n"
    "kernel void alone(global const int *x, int count, global int *sum, NDR_RANGE(1))\n"
    "{\n"
    "    int s = 0;\n"
    "    for (int i = 0; i < count; ++i) s += x[i];\n"
    "    *sum = s;\n"
    "}\n";

/* An offset past 32 bits, for devices that count in 64. */
#define FAR ((size_t)(UINT64_C(1) << 33))

typedef struct records {
    uint64_t (*rows)[FIELDS];
    int32_t outside[2]; /* items that rounding up added; those of them that wrongly report to be in range */
} records;

static size_t total_of(const ndr_nd_range *range)
{
    size_t total = 1;
    for (unsigned d = 0; d < range->global.dims; ++d) total *= range->global.size[d];
    return total;
}

/* Launch record_`suffix` and check that each item ran once. */
static records record(const ndr_nd_range *range, unsigned suffix)
{
    char name[16];
    snprintf(name, sizeof name, "record_%u", suffix);
    ndr_kernel *kernel = kernel_of(kernels, name);
    const size_t total = total_of(range);
    size_t size[3] = { 1, 1, 1 }, offset[3] = { 0, 0, 0 }; /* in OpenCL's order */
    for (unsigned d = 0; d < range->global.dims; ++d) {
        size[range->global.dims - 1 - d] = range->global.size[d];
        /* Above 31 bits the vocabulary itself adds the offset, and OpenCL's own ids start from 0. */
        offset[range->global.dims - 1 - d] = range->offset[d] > INT32_MAX - range->global.size[d] ? 0 : range->offset[d];
    }
    records r = { malloc(total * sizeof *r.rows), { 0, 0 } };
    int32_t *times = calloc(total, sizeof *times);
    ndr_buffer *out = buffer_of(total * sizeof *r.rows, NULL), *counts = buffer_of(total * sizeof *times, times);
    ndr_buffer *outside = buffer_of(sizeof r.outside, r.outside);
    assert_ok(ndr_launch(queue, kernel, *range, out, counts, outside, offset[0], offset[1], offset[2], size[0],
                         size[1], size[2]));
    take_buffer(counts, times, total * sizeof *times);
    for (size_t i = 0; i < total; ++i) assert_int_equal(times[i], 1);
    take_buffer(out, r.rows, total * sizeof *r.rows);
    take_buffer(outside, r.outside, sizeof r.outside);
    free(times);
    return r;
}

/* What the item at `step` from the first one must report. */
static void expect(const ndr_nd_range *range, const size_t step[3], uint64_t row[FIELDS])
{
    const unsigned dims = range->global.dims;
    const size_t *n = range->global.size;
    memset(row, 0, FIELDS * sizeof *row);
    row[DIMS] = dims;
    for (unsigned d = 0; d < dims; ++d) {
        row[ID + d] = range->offset[d] + step[d];
        row[RANGE + d] = n[d];
        row[OFFSET + d] = range->offset[d];
    }
    row[LINEAR_ID] = dims == 1 ? step[0]
                     : dims == 2 ? step[0] * n[1] + step[1]
                                 : (step[0] * n[1] + step[1]) * n[2] + step[2];
    row[LINEAR_RANGE] = total_of(range);
    row[IN_RANGE] = 1;
}

static void check_rows(const ndr_nd_range *range, const records *r)
{
    const size_t total = total_of(range);
    size_t step[3] = { 0, 0, 0 };
    for (size_t i = 0; i < total; ++i) {
        uint64_t wanted[FIELDS];
        expect(range, step, wanted);
        for (unsigned f = 0; f < FIELDS; ++f) {
            if (r->rows[i][f] == wanted[f]) continue;
            print_error("item (%zu, %zu, %zu), field %u: %llu, not %llu\n", step[0], step[1], step[2], f,
                        (unsigned long long)r->rows[i][f], (unsigned long long)wanted[f]);
            fail();
        }
        for (unsigned d = range->global.dims; d-- > 0;) { /* the last dimension runs fastest */
            if (++step[d] < range->global.size[d]) break;
            step[d] = 0;
        }
    }
}

/* With constant dimensions and with those of the launch. */
static void check_range(ndr_nd_range range)
{
    const unsigned dims = range.global.dims;
    for (unsigned suffix = 0; suffix <= dims; suffix += dims) {
        records r = record(&range, suffix);
        check_rows(&range, &r);
        if (range.edge != NDR_EDGE_ROUND_UP) assert_int_equal(r.outside[0], 0);
        assert_int_equal(r.outside[1], 0);
        free(r.rows);
    }
}

static ndr_nd_range over(ndr_range global, size_t o0, size_t o1, size_t o2)
{
    return (ndr_nd_range){ .global = global, .offset = { o0, o1, o2 } };
}

static void test_item__in_1_dimension_knows_all_about_itself(void **state)
{
    const size_t sizes[] = { 1, 2, 97, 255, 256, 257, 1009, 4096 };
    for (size_t i = 0; i < (quick() ? 4 : COUNT_OF(sizes)); ++i) check_range(over(ndr_range_1d(sizes[i]), 0, 0, 0));
}

static void test_item__in_2_dimensions_knows_all_about_itself(void **state)
{
    const size_t sizes[][2] = { { 1, 1 }, { 2, 8 }, { 7, 13 }, { 1, 31 }, { 31, 1 }, { 64, 33 }, { 17, 256 } };
    for (size_t i = 0; i < (quick() ? 4 : COUNT_OF(sizes)); ++i)
        check_range(over(ndr_range_2d(sizes[i][0], sizes[i][1]), 0, 0, 0));
}

static void test_item__in_3_dimensions_knows_all_about_itself(void **state)
{
    const size_t sizes[][3] = { { 1, 1, 1 }, { 2, 3, 5 }, { 5, 3, 2 }, { 5, 7, 11 }, { 3, 16, 33 } };
    for (size_t i = 0; i < (quick() ? 3 : COUNT_OF(sizes)); ++i)
        check_range(over(ndr_range_3d(sizes[i][0], sizes[i][1], sizes[i][2]), 0, 0, 0));
}

/* Ids move with the offset; ranges and linear ids do not. */
static void test_item__counts_ids_from_the_offset(void **state)
{
    check_range(over(ndr_range_1d(quick() ? 50 : 1009), 17, 0, 0));
    check_range(over(ndr_range_2d(7, quick() ? 5 : 64), 3, 1000, 0));
    check_range(over(ndr_range_3d(2, 3, quick() ? 5 : 47), 1, 20, 300));
    check_range(over(ndr_range_2d(3, 5), INT32_MAX - 3, INT32_MAX - 4, 0));
    if (device.address_bits < 64) return; /* the largest offset there is INT32_MAX */
    check_range(over(ndr_range_1d(5), (size_t)INT32_MAX + 1, 0, 0));
    check_range(over(ndr_range_2d(3, 5), FAR, 2 * FAR, 0));
}

static void check_rounded_up(ndr_range global)
{
    ndr_nd_range range = over(global, 5, 6, 7);
    range.edge = NDR_EDGE_ROUND_UP;
    check_range(range);
}

static void test_item__tells_or_ends_those_that_rounding_up_added(void **state)
{
    check_rounded_up(ndr_range_1d(quick() ? 37 : 1009));
    check_rounded_up(ndr_range_2d(7, 13));
    check_rounded_up(ndr_range_3d(3, 5, 11));

    ndr_nd_range range = over(ndr_range_1d(37), 5, 0, 0); /* 37 is prime, so rounding up adds items */
    range.edge = NDR_EDGE_ROUND_UP;
    records r = record(&range, 1);
    assert_true(r.outside[0] > 0);
    free(r.rows);
}

/* The book's figure 4-1, written out. */
static void test_item__has_the_linear_ids_of_figure_4_1(void **state)
{
    const uint64_t table[2][8] = { { 0, 1, 2, 3, 4, 5, 6, 7 }, { 8, 9, 10, 11, 12, 13, 14, 15 } };
    const ndr_nd_range range = over(ndr_range_2d(2, 8), 0, 0, 0);
    records r = record(&range, 2);
    for (size_t i = 0; i < 16; ++i)
        assert_int_equal(r.rows[i][LINEAR_ID], table[r.rows[i][ID]][r.rows[i][ID + 1]]);
    free(r.rows);
}

static void test_item__has_linear_ids_with_the_last_dimension_contiguous(void **state)
{
    const ndr_nd_range range = over(ndr_range_3d(2, 3, 5), 0, 0, 0);
    records r = record(&range, 3);
    for (size_t i = 0; i < 30; ++i) {
        assert_int_equal(r.rows[i][LINEAR_ID], r.rows[i][ID] * 15 + r.rows[i][ID + 1] * 5 + r.rows[i][ID + 2]);
        assert_int_equal(r.rows[i][LINEAR_ID], i);
    }
    free(r.rows);
}

/* ---- sizes that do not divide ---- */

/* A count for each item, by linear id. An item past the range would show in another item's count, or after the last. */
static const char guarded[] =
    "#include <ndr/item.clh>\n"
    "kernel void count_0(global int *times, NDR_RANGE(0))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(0);\n"
    "    atomic_inc(&times[ndr_global_linear_id(it)]);\n"
    "}\n"
    "kernel void count_1(global int *times, NDR_RANGE(1))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(1);\n"
    "    atomic_inc(&times[ndr_global_linear_id(it)]);\n"
    "}\n"
    "kernel void count_2(global int *times, NDR_RANGE(2))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(2);\n"
    "    atomic_inc(&times[ndr_global_linear_id(it)]);\n"
    "}\n"
    "kernel void count_3(global int *times, NDR_RANGE(3))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(3);\n"
    "    atomic_inc(&times[ndr_global_linear_id(it)]);\n"
    "}\n"
    "kernel void count_ids(global int *times, NDR_RANGE(1))\n"
    "{\n"
    "    const size_t i = ndr_global_id(NDR_ITEM(1), 0);\n"
    "    atomic_inc(&times[i]);\n"
    "}\n";

/* How many OpenCL launches a range becomes. */
static unsigned launches_of(const ndr_kernel *kernel, const ndr_nd_range *range)
{
    const ndr_range_rules rules = ndr_range_rules_of(kernel);
    ndr_range_plan plan;
    assert_ok(ndr_range_make_plan(range, &rules, &plan));
    return plan.piece_count;
}

/* Each item of the range must count itself once, and no other item may count. */
static void check_counts(ndr_kernel *kernel, ndr_nd_range range)
{
    enum { BEHIND = 1024 }; /* more than rounding up adds */
    const size_t total = total_of(&range);
    int32_t *times = calloc(total + BEHIND, sizeof *times);
    ndr_buffer *counts = buffer_of((total + BEHIND) * sizeof *times, times);
    assert_ok(ndr_launch(queue, kernel, range, counts));
    take_buffer(counts, times, (total + BEHIND) * sizeof *times);
    for (size_t i = 0; i < total + BEHIND; ++i) assert_int_equal(times[i], i < total);
    free(times);
}

static void check_one_launch(const char *name, ndr_nd_range range)
{
    ndr_kernel *kernel = kernel_of(guarded, name);
    assert_int_equal(launches_of(kernel, &range), 1);
    check_counts(kernel, range);
}

static void test_item__in_1_dimension_is_launched_once_for_any_size(void **state)
{
    const size_t sizes[] = { 1, 2, 3, 255, 256, 257, 1009, 4097, 1048583 };
    for (size_t i = 0; i < (quick() ? 6 : COUNT_OF(sizes)); ++i) {
        check_one_launch("count_1", over(ndr_range_1d(sizes[i]), 0, 0, 0));
        check_counts(kernel_of(guarded, "count_0"), over(ndr_range_1d(sizes[i]), 77, 0, 0));
    }
    check_one_launch("count_ids", over(ndr_range_1d(257), 0, 0, 0));
}

static void test_item__in_2_dimensions_is_launched_once_for_any_size(void **state)
{
    const size_t sizes[][2] = { { 17, 19 }, { 3, 257 }, { 257, 3 }, { 101, 103 }, { 31, 1009 }, { 1009, 31 } };
    for (size_t i = 0; i < (quick() ? 2 : COUNT_OF(sizes)); ++i) {
        check_one_launch("count_2", over(ndr_range_2d(sizes[i][0], sizes[i][1]), 0, 0, 0));
        check_counts(kernel_of(guarded, "count_0"), over(ndr_range_2d(sizes[i][0], sizes[i][1]), 3, 1000, 0));
    }
}

static void test_item__in_3_dimensions_is_launched_once_for_any_size(void **state)
{
    const size_t sizes[][3] = { { 5, 7, 11 }, { 1, 1, 257 }, { 257, 1, 3 }, { 23, 29, 31 } };
    for (size_t i = 0; i < (quick() ? 2 : COUNT_OF(sizes)); ++i) {
        check_one_launch("count_3", over(ndr_range_3d(sizes[i][0], sizes[i][1], sizes[i][2]), 0, 0, 0));
        check_counts(kernel_of(guarded, "count_0"),
                     over(ndr_range_3d(sizes[i][0], sizes[i][1], sizes[i][2]), 1, 20, 300));
    }
}

static void test_item__far_away_is_launched_once_for_any_size(void **state)
{
    skip_without(device.address_bits == 64, "ids of 64 bits");
    check_one_launch("count_1", over(ndr_range_1d(257), FAR, 0, 0));
    check_one_launch("count_2", over(ndr_range_2d(17, 19), FAR, 2 * FAR, 0));
}

/* The body of a kernel that counts like those above, but in a form in which libndr does not recognise the guard. */
static void check_several_launches(const char *source)
{
    char text[1024];
    snprintf(text, sizeof text, "#include <ndr/item.clh>\n%s\n", source);
    ndr_kernel *kernel = kernel_of(text, "k");
    const ndr_nd_range range = over(ndr_range_1d(257), 0, 0, 0);
    assert_int_equal(launches_of(kernel, &range), 2);
    check_counts(kernel, range);
}

static void test_item__runs_in_pieces_where_more_items_would_show(void **state)
{
    check_several_launches("kernel void k(global int *times, NDR_RANGE(1))\n"
                           "{\n"
                           "    atomic_inc(&times[get_global_id(0)]);\n"
                           "    const ndr_item it = NDR_ITEM(1);\n"
                           "    (void)ndr_global_id(it, 0);\n"
                           "}");
    check_several_launches("kernel void k(global int *times, NDR_RANGE(1)) { atomic_inc(&times[get_global_id(0)]); }");
    check_several_launches("void count(global int *times, ndr_item it) { atomic_inc(&times[ndr_global_id(it, 0)]); }\n"
                           "kernel void k(global int *times, NDR_RANGE(1)) { count(times, NDR_ITEM(1)); }");
    check_several_launches("#define COUNT(name) kernel void name(global int *times, NDR_RANGE(1)) \\\n"
                           "    { const ndr_item it = NDR_ITEM(1); atomic_inc(&times[ndr_global_id(it, 0)]); }\n"
                           "COUNT(k)");
    check_several_launches("kernel void k(global int *times, NDR_RANGE(1))\n"
                           "{\n"
                           "    const ndr_item it = NDR_ITEM(1);\n"
                           "    if (get_global_size(0) <= 257) atomic_inc(&times[ndr_global_id(it, 0)]);\n"
                           "}");
    check_several_launches("#if 1\n"
                           "kernel void k(global int *times, NDR_RANGE(1))\n"
                           "{\n"
                           "    atomic_inc(&times[get_global_id(0)]);\n"
                           "}\n"
                           "#else\n"
                           "kernel void k(global int *times, NDR_RANGE(1)) { const ndr_item it = NDR_ITEM(1); }\n"
                           "#endif");
}

/* ---- in kernels ---- */

static void test_item__goes_into_functions(void **state)
{
    uint64_t got[5];
    ndr_buffer *out = buffer_of(sizeof got, NULL);
    assert_ok(ndr_launch(queue, kernel_of(kernels, "helped"), over(ndr_range_1d(5), 100, 0, 0), out));
    take_buffer(out, got, sizeof got);
    assert_memory_equal(got, ((const uint64_t[]){ 200, 201, 202, 203, 204 }), sizeof got);
}

static void test_item__may_take_its_own_branch(void **state)
{
    int32_t got[4][5] = { { 0 } };
    ndr_buffer *out = buffer_of(sizeof got, got);
    assert_ok(ndr_launch(queue, kernel_of(kernels, "branches"), ndr_range_2d(4, 5), out));
    take_buffer(out, got, sizeof got);
    for (int row = 0; row < 4; ++row)
        for (int col = 0; col < 5; ++col) assert_int_equal(got[row][col], col % 2 ? 3 * row : col + 1);
}

static void test_item__may_be_the_only_one(void **state)
{
    int32_t numbers[100], total = 0;
    for (int i = 0; i < 100; ++i) numbers[i] = i;
    ndr_buffer *x = buffer_of(sizeof numbers, numbers), *sum = buffer_of(sizeof total, NULL);
    assert_ok(ndr_launch(queue, kernel_of(kernels, "alone"), ndr_range_1d(1), x, 100, sum));
    take_buffer(sum, &total, sizeof total);
    assert_int_equal(total, 4950);
    ndr_buffer_destroy(x);
}

/* ---- refusals ---- */

static void test_item__over_a_range_is_not_launched_in_groups(void **state)
{
    ndr_buffer *x = buffer_of(4, (const int32_t[]){ 7 });
    ndr_kernel *kernel = kernel_of(kernels, "alone");
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, kernel, ndr_nd_range_1d(8, 4), x, 1, x), "\"alone\"",
                   "has no groups (NDR_RANGE)", "NDR_ND_RANGE");
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, kernel, ndr_nd_range_1d(8, 0), x, 1, x), "has no groups");
    assert_refused(NDR_BAD_RANGE, ndr_launch(queue, kernel, ndr_range_2d(8, 4), x, 1, x), "\"alone\"",
                   "written for 1 dimension", "has 2");
    ndr_buffer_destroy(x);
}

static void check_does_not_build(const char *body, const char *sentence)
{
    char source[512];
    snprintf(source, sizeof source,
             "#include <ndr/nd_item.clh>\n"
             "kernel void wrong(global int *x, NDR_RANGE(1))\n"
             "{\n"
             "    const ndr_item it = NDR_ITEM(1);\n"
             "    %s\n"
             "}\n",
             body);
    ndr_kernel *const before = (ndr_kernel *)&source;
    ndr_kernel *kernel = before;
    assert_refused(NDR_BUILD_FAILED,
                   ndr_kernel_get(context, &(ndr_kernel_desc){ .name = "wrong", .source = source }, &kernel),
                   sentence, "source");
    assert_ptr_equal(kernel, before);
}

static void test_item__of_a_range_has_no_barrier(void **state)
{
    check_does_not_build("ndr_group_barrier(it);",
                         "a range has no groups and so no barrier; make it an nd_range: NDR_ND_RANGE and NDR_ND_ITEM");
}

static void test_item__of_a_range_has_no_group(void **state)
{
    check_does_not_build("x[0] = (int)ndr_group_id(ndr_get_group(it), 0);", "items of a range have no group");
    check_does_not_build("x[0] = (int)ndr_local_id(it, 0);", "ndr_local_id");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_item__in_1_dimension_knows_all_about_itself),
        cmocka_unit_test(test_item__in_2_dimensions_knows_all_about_itself),
        cmocka_unit_test(test_item__in_3_dimensions_knows_all_about_itself),
        cmocka_unit_test(test_item__counts_ids_from_the_offset),
        cmocka_unit_test(test_item__tells_or_ends_those_that_rounding_up_added),
        cmocka_unit_test(test_item__has_the_linear_ids_of_figure_4_1),
        cmocka_unit_test(test_item__has_linear_ids_with_the_last_dimension_contiguous),
        cmocka_unit_test(test_item__in_1_dimension_is_launched_once_for_any_size),
        cmocka_unit_test(test_item__in_2_dimensions_is_launched_once_for_any_size),
        cmocka_unit_test(test_item__in_3_dimensions_is_launched_once_for_any_size),
        cmocka_unit_test(test_item__far_away_is_launched_once_for_any_size),
        cmocka_unit_test(test_item__runs_in_pieces_where_more_items_would_show),
        cmocka_unit_test(test_item__goes_into_functions),
        cmocka_unit_test(test_item__may_take_its_own_branch),
        cmocka_unit_test(test_item__may_be_the_only_one),
        cmocka_unit_test(test_item__over_a_range_is_not_launched_in_groups),
        cmocka_unit_test(test_item__of_a_range_has_no_barrier),
        cmocka_unit_test(test_item__of_a_range_has_no_group),
    };
    return cmocka_run_group_tests_name("item", tests, open_device, close_device);
}
