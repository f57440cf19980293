/* test_local.c - ndr/local.clh: the index of element (i, j) or (i, j, k) of a flat array. */
#include "support.h"

static const char kernels[] =
    "#include <ndr/nd_item.clh>\n"
    "#include <ndr/local.clh>\n"
    "kernel void places(global ulong *of_2, global ulong *of_3, ulong rows, ulong cols, NDR_RANGE(3))\n"
    "{\n"
    "    const ndr_item it = NDR_ITEM(3);\n"
    "    const size_t i = ndr_global_id(it, 0), j = ndr_global_id(it, 1), k = ndr_global_id(it, 2);\n"
    "    of_3[ndr_global_linear_id(it)] = ndr_at(rows, cols, i, j, k);\n"
    "    if (i == 0) of_2[j * ndr_global_range(it, 2) + k] = ndr_at(cols, j, k);\n"
    "}\n"
    "kernel void far(global ulong *out, uint rows, uint cols, uint i, uint j, int k, NDR_RANGE(1))\n"
    "{\n"
    "    out[0] = ndr_at(cols, i, j);\n"
    "    out[1] = ndr_at(rows, cols, i, j, k);\n"
    "}\n"
    "kernel void transpose(global int *to, global const int *from, local int *t, NDR_ND_RANGE(2))\n"
    "{\n"
    "    const ndr_nd_item it = NDR_ND_ITEM(2);\n"
    "    const size_t i = ndr_local_id(it, 0), j = ndr_local_id(it, 1);\n"
    "    const size_t rows = ndr_global_range(it, 0), cols = ndr_global_range(it, 1);\n"
    "    t[ndr_at(5, i, j)] = from[ndr_at(cols, ndr_global_id(it, 0), ndr_global_id(it, 1))];\n"
    "    ndr_group_barrier(ndr_get_group(it), NDR_FENCE_LOCAL);\n"
    "    const size_t row = ndr_group_id(it, 1) * 4 + i, col = ndr_group_id(it, 0) * 4 + j;\n"
    "    to[ndr_at(rows, row, col)] = t[ndr_at(5, j, i)];\n"
    "}\n";

/* An array of 3 x 4 x 5 in rows of 7 and planes of 6 rows: gaps both ways. */
static void test_at__counts_rows_and_planes_by_the_extents_given(void **state)
{
    uint64_t of_2[4][5], of_3[3][4][5];
    ndr_buffer *two = buffer_of(sizeof of_2, NULL), *three = buffer_of(sizeof of_3, NULL);
    assert_ok(ndr_launch(queue, kernel_of(kernels, "places"), ndr_range_3d(3, 4, 5), two, three, 6, 7));
    take_buffer(two, of_2, sizeof of_2);
    take_buffer(three, of_3, sizeof of_3);
    for (size_t j = 0; j < 4; ++j)
        for (size_t k = 0; k < 5; ++k) {
            assert_int_equal(of_2[j][k], j * 7 + k);
            for (size_t i = 0; i < 3; ++i) assert_int_equal(of_3[i][j][k], i * 42 + j * 7 + k);
        }
}

/* Indices and extents of 32 bits must be multiplied in 64 bits. */
static void test_at__reaches_past_32_bits(void **state)
{
    skip_without(device.address_bits == 64, "the device counts in 32 bits");
    uint64_t got[2];
    ndr_buffer *out = buffer_of(sizeof got, NULL);
    const uint32_t rows = 70000, cols = 80000, i = 90000, j = 60000;
    assert_ok(ndr_launch(queue, kernel_of(kernels, "far"), ndr_range_1d(1), out, rows, cols, i, j, 11));
    take_buffer(out, got, sizeof got);
    assert_int_equal(got[0], UINT64_C(90000) * 80000 + 60000);
    assert_int_equal(got[1], (UINT64_C(90000) * 70000 + 60000) * 80000 + 11);
}

/* Tiles of 4 x 4 with rows of 5: the two extents and the two indices must not be mixed up. */
static void test_at__indexes_local_and_global_memory_alike(void **state)
{
    int32_t from[8][12], to[12][8];
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 12; ++j) from[i][j] = 100 * i + j;
    ndr_buffer *in = buffer_of(sizeof from, from), *out = buffer_of(sizeof to, NULL);
    assert_ok(ndr_launch(queue, kernel_of(kernels, "transpose"), ndr_nd_range_2d(8, 12, 4, 4), out, in,
                         ndr_local(int32_t, 4, 5)));
    take_buffer(out, to, sizeof to);
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 12; ++j) assert_int_equal(to[j][i], 100 * i + j);
    ndr_buffer_destroy(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at__counts_rows_and_planes_by_the_extents_given),
        cmocka_unit_test(test_at__reaches_past_32_bits),
        cmocka_unit_test(test_at__indexes_local_and_global_memory_alike),
    };
    return cmocka_run_group_tests_name("local", tests, open_device, close_device);
}
