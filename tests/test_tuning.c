/* test_tuning.c - the sizes that the bundled kernels run with: they fit any device and deal everything out. */
#include "support.h"

#include "ops/ops.h"

static const ndr_device_info cpu = { .type = NDR_DEVICE_TYPE_CPU,
                                     .native_f32_width = 8,
                                     .compute_units = 2,
                                     .max_group_size = 4096,
                                     .max_local_size = { 4096, 4096, 4096 },
                                     .local_memory_bytes = 1 << 20 };
static const ndr_device_info gpu = { .type = NDR_DEVICE_TYPE_GPU,
                                     .compute_units = 132,
                                     .max_group_size = 1024,
                                     .max_local_size = { 64, 1024, 1024 },
                                     .local_memory_bytes = 48 << 10 };
/* The least that OpenCL 1.2 lets a device have. */
static const ndr_device_info least = { .type = NDR_DEVICE_TYPE_ACCELERATOR,
                                       .compute_units = 1,
                                       .max_group_size = 1,
                                       .max_local_size = { 1, 1, 1 },
                                       .local_memory_bytes = 32 << 10 };
/* An embedded one may have less. */
static const ndr_device_info tiny = { .type = NDR_DEVICE_TYPE_CPU,
                                      .native_f32_width = 4,
                                      .compute_units = 1,
                                      .max_group_size = 1,
                                      .max_local_size = { 1, 1, 1 },
                                      .local_memory_bytes = 1 << 10 };
static const ndr_device_info *const devices[] = { &cpu, &gpu, &least, &tiny };

static const size_t counts[] = { 0, 1, 2, 63, 64, 16383, 16384, 16385, 1000003, (size_t)1 << 28, ((size_t)1 << 34) + 1,
                                 SIZE_MAX / 16 };

static void test_tuning__takes_chunks_on_cpus_and_groups_elsewhere(void **state)
{
    (void)state;
    assert_int_equal(ndr_tune_reduce(&cpu, NDR_REDUCE_CHOOSE, NDR_REDUCE_TREE, 1000).variant, NDR_REDUCE_CHUNKS);
    assert_int_equal(ndr_tune_reduce(&gpu, NDR_REDUCE_CHOOSE, NDR_REDUCE_TREE, 1000).variant, NDR_REDUCE_GROUPS);
    assert_true(ndr_tune_reduce(&cpu, NDR_REDUCE_CHOOSE, NDR_REDUCE_TREE, 1000).fetches_ahead);
    assert_false(ndr_tune_reduce(&gpu, NDR_REDUCE_CHUNKS, NDR_REDUCE_TREE, 1000).fetches_ahead);
    assert_int_equal(ndr_tune_gemm(&gpu, NDR_GEMM_CHOOSE, 4, 64, 64, 64).variant, NDR_GEMM_TILED);
    assert_int_equal(ndr_tune_gemm(&cpu, NDR_GEMM_CHOOSE, 4, 64, 64, 64).variant, NDR_GEMM_DIRECT);
    assert_int_equal(ndr_tune_gemm(&cpu, NDR_GEMM_CHOOSE, 4, 2048, 2048, 2048).variant, NDR_GEMM_PACKED);
    assert_int_equal(ndr_tune_gemm(&cpu, NDR_GEMM_CHOOSE, 4, 1, 4096, 4096).variant, NDR_GEMM_THIN);
}

/* Its registers hold items side by side, as a GPU's do. */
static void test_tuning__takes_groups_on_cpus_without_vectors_of_their_own(void **state)
{
    (void)state;
    ndr_device_info some = cpu;
    for (some.native_f32_width = 0; some.native_f32_width < 3; ++some.native_f32_width) {
        const bool has_vectors = some.native_f32_width == 2;
        assert_int_equal(ndr_tune_reduce(&some, NDR_REDUCE_CHOOSE, NDR_REDUCE_TREE, 1000).variant,
                         has_vectors ? NDR_REDUCE_CHUNKS : NDR_REDUCE_GROUPS);
        assert_int_equal(ndr_tune_gemm(&some, NDR_GEMM_CHOOSE, 4, 64, 64, 64).variant,
                         has_vectors ? NDR_GEMM_DIRECT : NDR_GEMM_TILED);
    }
}

static void test_tuning__of_a_reduction_fits_every_device_and_count(void **state)
{
    (void)state;
    for (size_t d = 0; d < sizeof devices / sizeof devices[0]; ++d)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i)
            for (unsigned variant = NDR_REDUCE_GROUPS; variant <= NDR_REDUCE_CHUNKS; ++variant) {
                const ndr_reduce_tuning t =
                    ndr_tune_reduce(devices[d], (ndr_reduce_variant)variant, NDR_REDUCE_TREE, counts[i]);
                assert_int_equal(t.variant, variant);
                assert_in_range(t.group_size, 1, devices[d]->max_group_size);
                assert_true(t.group_count >= 1);
                if (variant == NDR_REDUCE_CHUNKS) {
                    assert_true(t.group_count * t.chunk >= counts[i]);
                    assert_true(t.group_count == 1 || (t.group_count - 1) * t.chunk < counts[i]);
                    assert_true(t.group_count * sizeof(cl_ulong) <= NDR_SCRATCH_BYTES);
                }
            }
}

static void test_tuning__of_a_reduction_does_not_look_at_compute_units(void **state)
{
    (void)state;
    ndr_device_info many = cpu;
    many.compute_units = 96;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
        const ndr_reduce_tuning a = ndr_tune_reduce(&cpu, NDR_REDUCE_CHOOSE, NDR_REDUCE_TREE, counts[i]);
        const ndr_reduce_tuning b = ndr_tune_reduce(&many, NDR_REDUCE_CHOOSE, NDR_REDUCE_TREE, counts[i]);
        assert_int_equal(a.variant, b.variant);
        assert_int_equal(a.group_size, b.group_size);
        assert_int_equal(a.group_count, b.group_count);
        assert_int_equal(a.chunk, b.chunk);
    }
}

static void test_tuning__lets_few_chunks_meet_in_one_atomic(void **state)
{
    (void)state;
    const size_t count = (size_t)1 << 34;
    assert_true(ndr_tune_reduce(&cpu, NDR_REDUCE_CHUNKS, NDR_REDUCE_ATOMIC, count).group_count <= 2048);
}

static void test_tuning__of_a_product_fits_local_memory_and_groups(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 7, 8, 9, 64, 1000, 4096 };
    for (size_t d = 0; d < sizeof devices / sizeof devices[0]; ++d)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
            for (size_t bytes = 4; bytes <= 8; bytes += 4)
                for (unsigned forced = NDR_GEMM_CHOOSE; forced <= NDR_GEMM_THIN; ++forced) {
                    const ndr_gemm_tuning t =
                        ndr_tune_gemm(devices[d], (ndr_gemm_variant)forced, bytes, sizes[i], 100, 100);
                    if (t.variant == NDR_GEMM_TILED) {
                        assert_true((size_t)t.tile_k * (t.tile_m + t.tile_n) * bytes <= devices[d]->local_memory_bytes);
                        assert_true((size_t)(t.tile_m / t.item_m) * (t.tile_n / t.item_n) <= devices[d]->max_group_size);
                        assert_int_equal(t.tile_m % t.item_m + t.tile_n % t.item_n, 0);
                        continue;
                    }
                    assert_int_equal(t.lanes * bytes, 64);
                    assert_true(t.block_rows * t.depth * bytes <= devices[d]->local_memory_bytes);
                    assert_int_equal(t.block_rows % NDR_GEMM_MR, 0);
                    assert_int_equal(t.depth % 8, 0);
                    if (t.variant == NDR_GEMM_THIN) assert_true(sizes[i] <= t.thin_rows && t.thin_rows <= NDR_GEMM_MR);
                }
}

static void test_tuning__never_forces_what_cannot_be(void **state)
{
    (void)state;
    assert_int_equal(ndr_tune_gemm(&cpu, NDR_GEMM_THIN, 4, 9, 64, 64).variant, NDR_GEMM_DIRECT);
    assert_int_equal(ndr_tune_gemm(&cpu, NDR_GEMM_PACKED, 4, 64, 64, 0).variant, NDR_GEMM_DIRECT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tuning__takes_chunks_on_cpus_and_groups_elsewhere),
        cmocka_unit_test(test_tuning__takes_groups_on_cpus_without_vectors_of_their_own),
        cmocka_unit_test(test_tuning__of_a_reduction_fits_every_device_and_count),
        cmocka_unit_test(test_tuning__of_a_reduction_does_not_look_at_compute_units),
        cmocka_unit_test(test_tuning__lets_few_chunks_meet_in_one_atomic),
        cmocka_unit_test(test_tuning__of_a_product_fits_local_memory_and_groups),
        cmocka_unit_test(test_tuning__never_forces_what_cannot_be),
    };
    return cmocka_run_group_tests_name("tuning", tests, NULL, NULL);
}
