/* test_tuning.c - which variants are selected on which device, and that their launches fit it and cover all elements. */
#include "support.h"

#include "forcing.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "ops/scan/lines.h"
#include "ops/sort/sort.h"
#include "ops/sort/top_k.h"

/* ---- devices ---- */

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
/* The minimum that OpenCL 1.2 requires of a device. */
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

static ndr_caps caps_of(const ndr_device_info *info)
{
    return (ndr_caps){ .info = *info, .orders_device = true, .groups_progress = true };
}

static unsigned number_after(const char *options, const char *name)
{
    const char *found = strstr(options, name);
    assert_non_null(found);
    return (unsigned)strtoul(found + strlen(name), NULL, 10);
}

/* ---- requests ---- */

static const size_t counts[] = { 0, 1, 2, 63, 64, 16383, 16384, 16385, 1000003, (size_t)1 << 28, (size_t)((UINT64_C(1) << 34) + 1),
                                 SIZE_MAX / 16 };
static const size_t sizes[] = { 1, 7, 8, 9, 64, 1000, 4096 };
static const size_t batches[] = { 1, 2, 1000, 100000 };

static ndr_reduce_request sum_of(size_t count, ndr_reduce_method method, ndr_dtype dtype)
{
    return (ndr_reduce_request){ .dtype = dtype,
                                 .op = NDR_OP_SUM,
                                 .method = method,
                                 .input = ndr_reduce_operand("input", NULL, 0, count, dtype),
                                 .output = ndr_reduce_operand("output", NULL, 0, 1, dtype) };
}

static ndr_operand matrix_of(size_t rows, size_t cols, ndr_dtype dtype)
{
    return (ndr_operand){ .rows = rows, .cols = cols, .pitch = cols, .element_bytes = ndr_dtype_size(dtype) };
}

static ndr_matmul_request product_of(size_t m, size_t n, size_t k, ndr_dtype dtype)
{
    return (ndr_matmul_request){ .dtype = dtype,
                                 .alpha = 1,
                                 .a = matrix_of(m, k, dtype),
                                 .b = matrix_of(k, n, dtype),
                                 .c = matrix_of(m, n, dtype),
                                 .core = ndr_core_of(NDR_CORE_AVX512F),
                                 .depth = k };
}

static ndr_matmul_request batch_of(size_t count, size_t m, size_t n, size_t k, ndr_dtype dtype)
{
    ndr_matmul_request product = product_of(m, n, k, dtype);
    product.a.further = product.b.further = product.c.further = count - 1;
    product.a.stride = m * k;
    product.b.stride = k * n;
    product.c.stride = m * n;
    return product;
}

/* With values of 12 bytes, in place. */
static ndr_sort_request sort_of(size_t count, ndr_dtype dtype)
{
    return (ndr_sort_request){
        .dtype = dtype, .is_in_place = true, .bits = 8 * (unsigned)ndr_dtype_size(dtype), .count = count, .value_bytes = 12
    };
}

/* With values, of rows that are as long as short. */
static ndr_top_k_request top_of(size_t count, ndr_dtype dtype)
{
    const size_t length = count < 1000 ? count : count / 3;
    return (ndr_top_k_request){ .order = { .dtype = dtype,
                                           .is_in_place = true,
                                           .bits = 8 * (unsigned)ndr_dtype_size(dtype),
                                           .value_bytes = sizeof(uint64_t) },
                                .rows = length ? count / length : 0,
                                .length = length,
                                .k = length / 3 + 1,
                                .value_bytes = 12 };
}

/* Call `check` for each device with each variant of the operations that can run each of many requests. */
typedef void check_plan(const ndr_caps *caps, const ndr_operation *operation, const ndr_op_variant *variant,
                        const void *request, const ndr_op_plan *plan);

static void check_variants(const ndr_caps *caps, const ndr_operation *operation, const void *request, check_plan *check)
{
    for (size_t i = 0; i < operation->variant_count; ++i) {
        const ndr_op_variant *variant = operation->variants[i];
        if (ndr_op_find_unmet(variant, caps, 0) || ndr_op_cannot(variant, request)) continue;
        ndr_op_plan plan = ndr_op_make_plan(variant, caps, request);
        check(caps, operation, variant, request, &plan);
    }
}

static void check_everything(check_plan *check)
{
    for (size_t d = 0; d < COUNT_OF(devices); ++d)
        for (ndr_dtype dtype = NDR_DTYPE_F32; dtype <= NDR_DTYPE_F64; ++dtype) {
            const ndr_caps caps = caps_of(devices[d]);
            for (size_t i = 0; i < COUNT_OF(counts); ++i)
                for (unsigned method = NDR_REDUCE_TREE; method <= NDR_REDUCE_RECURSIVE; ++method) {
                    const ndr_reduce_request sum = sum_of(counts[i], (ndr_reduce_method)method, dtype);
                    check_variants(&caps, &ndr_reduce_operation, &sum, check);
                }
            for (size_t i = 0; i < COUNT_OF(counts); ++i) {
                const ndr_scan_request scan = { .dtype = dtype,
                                                .op = NDR_OP_PRODUCT,
                                                .segments = NDR_SCAN_BY_FLAGS,
                                                .input = sum_of(counts[i], NDR_REDUCE_TREE, dtype).input };
                check_variants(&caps, &ndr_scan_operation, &scan, check);
                const ndr_array array = ndr_array_of(NULL, dtype, ndr_range_2d(counts[i] / 7, 7));
                ndr_line_request lines = { .scan = { .dtype = dtype, .op = NDR_OP_PRODUCT } };
                for (unsigned axis = 0; axis < 2; ++axis) {
                    ndr_lines_lay_out(&array, &array, axis, &lines);
                    check_variants(&caps, &ndr_array_scan_operation, &lines, check);
                }
            }
            for (size_t i = 0; i < 4 * COUNT_OF(counts) && devices[d] != &tiny; ++i) { /* long numbers need more */
                ndr_reduce_request sum = sum_of(counts[i / 4], NDR_REDUCE_TREE, dtype);
                sum.numerics = i % 2 ? NDR_NUMERICS_EXACT : NDR_NUMERICS_REPRODUCIBLE;
                if (i % 4 >= 2) sum.factors = sum.input;
                check_variants(&caps, &ndr_numerics_operation, &sum, check);
            }
            for (size_t i = 0; i < COUNT_OF(counts) && devices[d] != &tiny; ++i) { /* counts of digits need more */
                const ndr_sort_request sort = sort_of(counts[i], dtype);
                check_variants(&caps, &ndr_sort_operation, &sort, check);
                ndr_sort_request segments = sort;
                for (segments.length = 0; segments.length < 5000; segments.length += 4999)
                    check_variants(&caps, &ndr_sort_segments_operation, &segments, check);
                const ndr_top_k_request top = top_of(counts[i], dtype);
                check_variants(&caps, &ndr_top_k_operation, &top, check);
                check_variants(&caps, &ndr_top_k_select_operation, &top, check);
                check_variants(&caps, &ndr_top_k_values_operation, &top, check);
            }
            for (size_t i = 0; i < COUNT_OF(sizes) * COUNT_OF(sizes) * COUNT_OF(batches); ++i) {
                const size_t m = sizes[i % COUNT_OF(sizes)], n = sizes[i / COUNT_OF(sizes) % COUNT_OF(sizes)];
                const size_t count = batches[i / COUNT_OF(sizes) / COUNT_OF(sizes)];
                if (count > SIZE_MAX / sizeof(double) / m / n) continue; /* c does not fit in memory */
                const ndr_matmul_request product = batch_of(count, m, n, 100, dtype);
                check_variants(&caps, &ndr_matmul_operation, &product, check);
            }
        }
}

/* ---- choosing ---- */

static void assert_takes_sum(const char *name, const ndr_caps *caps, size_t count, ndr_reduce_method method)
{
    const ndr_reduce_request sum = sum_of(count, method, NDR_DTYPE_F32);
    assert_string_equal(ndr_op_select(&ndr_reduce_operation, caps, 0, NULL, &sum)->name, name);
}

static void assert_takes_product(const char *name, const ndr_caps *caps, size_t m, size_t n, size_t k)
{
    const ndr_matmul_request product = product_of(m, n, k, NDR_DTYPE_F32);
    assert_string_equal(ndr_op_select(&ndr_matmul_operation, caps, 0, NULL, &product)->name, name);
}

static void test_tuning__takes_chunks_on_cpus_and_groups_elsewhere(void **state)
{
    const ndr_caps on_cpu = caps_of(&cpu), on_gpu = caps_of(&gpu);
    assert_takes_sum("tree_chunks", &on_cpu, 1000, NDR_REDUCE_TREE);
    assert_takes_sum("atomic_chunks", &on_cpu, 1000, NDR_REDUCE_ATOMIC);
    assert_takes_sum("recursive", &on_cpu, 1000, NDR_REDUCE_RECURSIVE);
    assert_takes_sum("tree_groups", &on_gpu, 4096, NDR_REDUCE_TREE); /* one group takes all elements */
    assert_takes_sum("tree_groups_one_launch", &on_gpu, 4097, NDR_REDUCE_TREE);
    assert_takes_sum("atomic_groups_one_launch", &on_gpu, 1000, NDR_REDUCE_ATOMIC);
    assert_takes_sum("recursive", &on_gpu, 1000, NDR_REDUCE_RECURSIVE);
    assert_takes_product("blocked", &on_gpu, 64, 64, 64);
    assert_takes_product("blocked", &on_gpu, 4096, 4096, 4096);
    const ndr_caps on_least = caps_of(&least);
    assert_takes_product("tiled", &on_least, 64, 64, 64);
    assert_takes_product("direct", &on_cpu, 64, 64, 64);
    assert_takes_product("packed", &on_cpu, 2048, 2048, 2048);
    assert_takes_product("direct", &on_cpu, 32, 2048, 2048);
    assert_takes_product("thin", &on_cpu, 1, 4096, 4096);
    assert_takes_product("thin", &on_cpu, 4, 4096, 4096);
    assert_takes_product("direct", &on_cpu, 5, 4096, 4096);
    assert_takes_product("direct", &on_cpu, 8, 4096, 4096);
    assert_takes_product("direct", &on_cpu, 9, 4096, 4096);
    assert_takes_product("direct", &on_cpu, 64, 64, 0);
}

static void test_tuning__takes_two_launches_where_groups_see_no_order(void **state)
{
    ndr_caps caps = caps_of(&cpu);
    caps.orders_device = false;
    assert_takes_sum("tree_chunks_two_launches", &caps, 1000, NDR_REDUCE_TREE);
    assert_takes_sum("atomic_chunks_two_launches", &caps, 1000, NDR_REDUCE_ATOMIC);
    caps.info = gpu;
    assert_takes_sum("tree_groups", &caps, 1000003, NDR_REDUCE_TREE);
    assert_takes_sum("atomic_groups", &caps, 1000003, NDR_REDUCE_ATOMIC);
}

/* ---- groups that wait for each other ---- */

static ndr_scan_request scan_of(size_t count, ndr_dtype dtype, ndr_scan_segments segments)
{
    return (ndr_scan_request){ .dtype = dtype,
                               .op = NDR_OP_SUM,
                               .segments = segments,
                               .length = 10,
                               .input = sum_of(count, NDR_REDUCE_TREE, dtype).input };
}

static void assert_takes_scan_and_sort(const ndr_caps *caps, const char *scan_name, const char *sort_name)
{
    const ndr_scan_request scan = scan_of(1000003, NDR_DTYPE_F32, NDR_SCAN_WHOLE);
    const ndr_sort_request sort = sort_of(1000003, NDR_DTYPE_F32);
    assert_string_equal(ndr_op_select(&ndr_scan_operation, caps, 0, NULL, &scan)->name, scan_name);
    assert_string_equal(ndr_op_select(&ndr_sort_operation, caps, 0, NULL, &sort)->name, sort_name);
}

static void test_tuning__lets_groups_wait_where_they_go_on(void **state)
{
    ndr_caps caps = caps_of(&gpu);
    assert_takes_scan_and_sort(&caps, "look_back", "one_sweep");
    caps.compute_capability = 890;
    assert_takes_scan_and_sort(&caps, "look_back", "one_sweep");
    caps.compute_capability = 900;
    assert_takes_scan_and_sort(&caps, "copied", "one_sweep");
    caps.info.max_group_size = 255;
    assert_takes_scan_and_sort(&caps, "copied", "tiles");
    caps.groups_progress = false;
    assert_takes_scan_and_sort(&caps, "tiles", "tiles");
    caps = caps_of(&cpu);
    assert_takes_scan_and_sort(&caps, "chunks", "chunks");
}

/* Words of 8 bytes for each tile, each block of half as many tiles as a group has items, and each row of as many
 * blocks. */
static void check_words(const ndr_caps *caps, const char *name, size_t count, ndr_dtype dtype,
                        ndr_scan_segments segments, unsigned vectors)
{
    const ndr_scan_request scan = scan_of(count, dtype, segments);
    const ndr_op_plan plan = ndr_op_make_plan(variant_of(&ndr_scan_operation, name), caps, &scan);
    const size_t group = plan.range.local.size[0], tiles = plan.range.global.size[0] / group, block = group / 2;
    const size_t tile = group * vectors * 16 / ndr_dtype_size(dtype);
    const unsigned words = 1u + (ndr_dtype_size(dtype) == 8) + (segments != NDR_SCAN_WHOLE);
    assert_int_equal(number_after(plan.options, "-DVECTORS="), vectors);
    assert_true(tiles * tile >= count && (tiles - 1) * tile < count);
    assert_int_equal(plan.numbered_bytes, tiles > 1 ? (tiles + tiles / block + tiles / block / block) * words * 8 : 0);
    assert_true(plan.local_bytes <= caps->info.local_memory_bytes);
    assert_true(!strstr(plan.options, "-DCOPIES_TILES=1") == !strstr(name, "copied"));
}

/* The most vectors whose elements leave room for the parts, and of which an item notes the cuts in 64 bits. */
static void test_tuning__of_scans_that_look_back_has_words_for_tiles_blocks_and_rows(void **state)
{
    static const size_t list[] = { 1, 7168, 7169, 1000003, (size_t)1 << 28, (size_t)((UINT64_C(1) << 33) + 1) };
    ndr_caps caps = caps_of(&gpu);
    caps.compute_capability = 900;
    for (size_t i = 0; i < COUNT_OF(list); ++i) {
        check_words(&caps, "look_back", list[i], NDR_DTYPE_U32, NDR_SCAN_WHOLE, 7);
        check_words(&caps, "look_back", list[i], NDR_DTYPE_F64, NDR_SCAN_BY_FLAGS, 7);
        check_words(&caps, "look_back", list[i], NDR_DTYPE_U8, NDR_SCAN_BY_LENGTH, 3);
        check_words(&caps, "copied", list[i], NDR_DTYPE_U8, NDR_SCAN_WHOLE, 7);
        check_words(&caps, "copied", list[i], NDR_DTYPE_I64, NDR_SCAN_WHOLE, 7);
        check_words(&caps, "copied", list[i], NDR_DTYPE_I16, NDR_SCAN_BY_FLAGS, 7);
    }
}

/* ---- matrix units ---- */

static ndr_caps caps_with_warps(void)
{
    ndr_caps caps = caps_of(&gpu);
    caps.info.warp_size = 32;
    caps.info.max_buffer_bytes = SIZE_MAX / 4;
    caps.info.global_memory_bytes = (uint64_t)80 << 30;
    return caps;
}

static void assert_takes(const char *name, const ndr_caps *caps, ndr_matmul_request product)
{
    assert_string_equal(ndr_op_select(&ndr_matmul_operation, caps, 0, NULL, &product)->name, name);
}

static ndr_matmul_request rounded_product_of(size_t m, size_t n, size_t k)
{
    ndr_matmul_request product = product_of(m, n, k, NDR_DTYPE_F32);
    product.accuracy = NDR_ACCURACY_TF32;
    return product;
}

static void test_tuning__takes_matrix_units_where_the_device_may_have_them(void **state)
{
    ndr_caps caps = caps_with_warps();
    assert_takes("residues", &caps, product_of(4096, 4096, 4096, NDR_DTYPE_F64));
    assert_takes("residues", &caps, product_of(2048, 2048, 2048, NDR_DTYPE_F64));
    assert_takes("mma", &caps, product_of(1536, 1536, 1536, NDR_DTYPE_F64));
    assert_takes("mma", &caps, product_of(4096, 4096, 512, NDR_DTYPE_F64)); /* residues of a, b and c do not pay */
    assert_takes("mma", &caps, product_of(1000, 1000, 1000, NDR_DTYPE_F64));
    assert_takes("blocked", &caps, product_of(128, 128, 8192, NDR_DTYPE_F64)); /* in parts of the depth */
    assert_takes("blocked", &caps, product_of(64, 64, 64, NDR_DTYPE_F64));
    assert_takes("halves", &caps, product_of(4096, 4096, 4096, NDR_DTYPE_F32));
    assert_takes("halves", &caps, product_of(900, 900, 900, NDR_DTYPE_F32));
    assert_takes("halves", &caps, product_of(700, 700, 700, NDR_DTYPE_F32));
    assert_takes("halves", &caps, product_of(4097, 4097, 64, NDR_DTYPE_F32));
    assert_takes("blocked", &caps, product_of(4097, 4097, 63, NDR_DTYPE_F32)); /* its bound holds from 64 on */
    assert_takes("blocked", &caps, product_of(64, 64, 64, NDR_DTYPE_F32));
    assert_takes("blocked", &caps, product_of(4096, 9, 4096, NDR_DTYPE_F32));
    assert_takes("three_parts", &caps, product_of(256, 256, 65536, NDR_DTYPE_F32)); /* too few tiles for the units */
    assert_takes("rounded", &caps, rounded_product_of(4096, 4096, 4096));
    assert_takes("rounded", &caps, rounded_product_of(1040, 1040, 1040));
    assert_takes("halves", &caps, rounded_product_of(1024, 1024, 1024));
    assert_takes("rounded", &caps, rounded_product_of(8000, 8000, 128));
    assert_takes("halves", &caps, rounded_product_of(8000, 8000, 127));
    assert_takes("blocked", &caps, rounded_product_of(64, 64, 64));
    caps.info.warp_size = 64;
    assert_takes("blocked", &caps, product_of(4096, 4096, 4096, NDR_DTYPE_F64));
    assert_takes("blocked", &caps, product_of(4096, 4096, 4096, NDR_DTYPE_F32));
    caps.info.warp_size = 32;
    caps.disabled = NDR_DISABLE_PTX;
    assert_takes("blocked", &caps, product_of(4096, 4096, 4096, NDR_DTYPE_F64));
    assert_takes("blocked", &caps, product_of(4096, 4096, 4096, NDR_DTYPE_F32));
}

/* Without memory for the parts `blocked` multiplies, whose offsets have 32 bits. */
static void test_tuning__splits_only_what_blocked_can_take(void **state)
{
    const char *const names[] = { "three_parts", "halves", "rounded" };
    ndr_matmul_request far = rounded_product_of(256, 256, 256);
    for (size_t i = 0; i < COUNT_OF(names); ++i) {
        far.b.pitch = (1 << 24) - 1;
        assert_null(ndr_op_cannot(variant_of(&ndr_matmul_operation, names[i]), &far));
        far.b.pitch = 1 << 24;
        assert_string_equal(ndr_op_cannot(variant_of(&ndr_matmul_operation, names[i]), &far),
                            ndr_op_cannot(variant_of(&ndr_matmul_operation, "blocked"), &far));
    }
}

/* Bytes of a line's stretches: 260 for 64 steps with two parts, and 196 for 96 with one. */
static void test_tuning__splits_only_in_an_eighth_of_the_memory(void **state)
{
    const char *const names[] = { "halves", "rounded" };
    const uint64_t line_bytes[] = { (uint64_t)64 * 260, (uint64_t)43 * 196 };
    for (size_t i = 0; i < COUNT_OF(names); ++i) {
        const uint64_t needed = 2 * 4096 * line_bytes[i] + NDR_WORKSPACE_HEAD_BYTES;
        ndr_matmul_request product = product_of(4096, 4096, 4096, NDR_DTYPE_F32);
        if (i == 1) product.accuracy = NDR_ACCURACY_TF32;
        const ndr_op_variant *variant = variant_of(&ndr_matmul_operation, names[i]);
        ndr_caps caps = caps_with_warps();
        ndr_op_plan plan = ndr_op_make_plan(variant, &caps, &product);
        assert_int_equal(plan.workspace_bytes, needed);
        caps.info.global_memory_bytes = 8 * needed;
        assert_takes(names[i], &caps, product);
        caps.info.global_memory_bytes = 8 * needed - 1;
        assert_takes("three_parts", &caps, product_of(4096, 4096, 4096, NDR_DTYPE_F32));
        caps.info.global_memory_bytes *= 2;
        caps.info.max_buffer_bytes = (size_t)needed - 1;
        assert_takes("three_parts", &caps, product_of(4096, 4096, 4096, NDR_DTYPE_F32));
    }
}

static void test_tuning__residues_take_an_eighth_of_the_memory(void **state)
{
    const ndr_op_variant *variant = variant_of(&ndr_matmul_operation, "residues");
    const ndr_matmul_request product = product_of(4096, 4096, 4096, NDR_DTYPE_F64);
    ndr_caps caps = caps_with_warps();
    const size_t needed = ndr_op_make_plan(variant, &caps, &product).workspace_bytes;
    assert_in_range(needed, 3 * 14 * ((size_t)1 << 24), 3 * 15 * ((size_t)1 << 24)); /* planes of a, b and c */
    caps.info.global_memory_bytes = 8 * (uint64_t)needed;
    assert_null(ndr_op_unsuited(variant, &caps, &product));
    caps.info.global_memory_bytes -= 1;
    assert_string_equal(ndr_op_unsuited(variant, &caps, &product),
                        "the residues of a, b and c need more than an eighth of the device's memory");
    assert_takes("mma", &caps, product);
}

static void check_width(unsigned units, size_t m, size_t n, unsigned width)
{
    ndr_caps caps = caps_with_warps();
    ndr_op_plan plan;
    const ndr_matmul_request product = product_of(m, n, 66, NDR_DTYPE_F32);
    caps.info.compute_units = units;
    plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "halves"), &caps, &product);
    assert_int_equal(number_after(plan.options, "-DTILE_N="), width);
    plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "rounded"), &caps, &product);
    assert_int_equal(number_after(plan.options, "-DTILE_N="), width);
}

/* The sizes in src/ops/matmul/prove.c, on devices as they are: both are tried before the variant is used. */
static void test_tuning__of_proofs_takes_both_widths_of_halves(void **state)
{
    for (unsigned units = 64; units <= 144; units += 2) {
        check_width(units, 129, 65, 64);
        check_width(units, 2050, 6000, 128);
    }
}

/* ---- units ---- */

static ndr_op_plan plan_of_units(const ndr_caps *caps, const ndr_matmul_request *product)
{
    const ndr_op_variant *units = variant_of(&ndr_matmul_operation, "units");
    assert_null(ndr_op_cannot(units, product));
    return ndr_op_make_plan(units, caps, product);
}

static void check_blocks_of_units(const ndr_matmul_request *product, unsigned teams, unsigned blocks, unsigned width)
{
    const ndr_caps caps = caps_with_warps();
    const ndr_op_plan plan = plan_of_units(&caps, product);
    assert_int_equal(number_after(plan.options, "-DTEAMS="), teams);
    assert_int_equal(number_after(plan.options, "-DBLOCKS="), blocks);
    assert_int_equal(number_after(plan.options, "-DTILE_N="), width);
}

static void check_units(const ndr_matmul_request *product, unsigned teams, unsigned width)
{
    check_blocks_of_units(product, teams, 1, width);
}

static void check_tile_of_units(size_t m, size_t n, size_t k, unsigned teams, unsigned width)
{
    const ndr_matmul_request product = product_of(m, n, k, NDR_DTYPE_F16);
    check_units(&product, teams, width);
}

/* All that the kernel has are in proofs. */
static void test_tuning__units_take_the_tiles_that_fill_the_device(void **state)
{
    check_tile_of_units(4096, 4096, 4096, 2, 256);
    check_tile_of_units(2048, 2048, 2048, 2, 256);
    check_tile_of_units(3072, 3072, 3072, 3, 192);
    check_tile_of_units(1536, 1536, 1536, 2, 192);
    check_tile_of_units(1024, 1024, 1024, 1, 128);
    check_tile_of_units(512, 512, 512, 1, 64);
    check_tile_of_units(5, 40, 8, 1, 64); /* of proofs */
    ndr_matmul_request triangle = product_of(1100, 1100, 136, NDR_DTYPE_BF16);
    triangle.part = NDR_MATRIX_LOWER;
    check_units(&triangle, 1, 128);
    check_tile_of_units(259, 6536, 136, 1, 256);
    check_tile_of_units(203, 6536, 115, 2, 128);
    check_tile_of_units(331, 8128, 136, 2, 192);
    check_tile_of_units(1660, 2552, 200, 2, 256);
    check_tile_of_units(534, 5224, 72, 3, 128);
    check_tile_of_units(1660, 2568, 400, 3, 192);
    const ndr_matmul_request within_lines = product_of(1530, 4104, 136, NDR_DTYPE_F16);
    check_blocks_of_units(&within_lines, 2, 2, 192);
}

/* Groups of one round; stages within the local memory that such a device has; sums of parts in the workspace. */
static void test_tuning__plans_of_units_fit_the_device(void **state)
{
    static const ndr_dtype types[][2] = { { NDR_DTYPE_F16, NDR_DTYPE_F16 }, { NDR_DTYPE_BF16, NDR_DTYPE_F32 },
                                          { NDR_DTYPE_I8, NDR_DTYPE_I32 },  { NDR_DTYPE_U8, NDR_DTYPE_U8 } };
    const ndr_caps caps = caps_with_warps();
    for (size_t m = 0; m < COUNT_OF(sizes); ++m)
        for (size_t n = 0; n < COUNT_OF(sizes); ++n)
            for (size_t t = 0; t < 8; ++t) {
                ndr_matmul_request product = product_of(sizes[m], sizes[n], t < 4 ? 100 : 10000, types[t % 4][0]);
                product.output_dtype = types[t % 4][1];
                product.c.element_bytes = ndr_dtype_size(product.output_dtype);
                const ndr_op_plan plan = plan_of_units(&caps, &product);
                const size_t groups = plan.range.global.size[0] / plan.range.local.size[0];
                assert_true(plan.local_bytes <= 227 << 10 && plan.range.local.size[0] <= caps.info.max_group_size);
                assert_true(groups > 0 && groups <= caps.info.compute_units);
                assert_true(number_after(plan.options, "-DSTAGES=") >= 3);
                assert_true(plan.workspace_bytes >= NDR_WORKSPACE_HEAD_BYTES + groups * 3 * 128);
            }
}

/* Matrices whose rows begin at multiples of 16 bytes are read in place, and bytes along the depth. */
static void test_tuning__units_copy_what_the_copy_engine_cannot_read(void **state)
{
    enum { SIDE = 1024 };
    const ndr_caps caps = caps_with_warps();
    ndr_matmul_request product = product_of(SIDE, SIDE, SIDE, NDR_DTYPE_F16);
    const size_t in_place = plan_of_units(&caps, &product).workspace_bytes, halves = (size_t)SIDE * SIDE * 2;
    product.transposes_a = product.transposes_b = true;
    assert_int_equal(plan_of_units(&caps, &product).workspace_bytes, in_place);
    product.a.pitch = SIDE + 8;
    product.b.offset = 8;
    assert_int_equal(plan_of_units(&caps, &product).workspace_bytes, in_place);
    product.a.pitch = SIDE + 4;
    assert_int_equal(plan_of_units(&caps, &product).workspace_bytes, in_place + halves);
    product.b.offset = 1;
    assert_int_equal(plan_of_units(&caps, &product).workspace_bytes, in_place + 2 * halves);
    product = product_of(SIDE, SIDE, SIDE, NDR_DTYPE_I8);
    assert_int_equal(plan_of_units(&caps, &product).workspace_bytes, in_place + halves / 2);
    product.transposes_b = true;
    assert_int_equal(plan_of_units(&caps, &product).workspace_bytes, in_place);
    product.transposes_a = true;
    assert_int_equal(plan_of_units(&caps, &product).workspace_bytes, in_place + halves / 2);
}

/* Rows that begin within lines of the cache take two of them, so larger tiles are faster. */
static void test_tuning__units_take_larger_tiles_of_rows_within_lines(void **state)
{
    ndr_matmul_request product = product_of(4096, 4096, 4096, NDR_DTYPE_F16);
    product.a.pitch = product.b.pitch = 4104;
    check_blocks_of_units(&product, 2, 2, 192);
    product.a.pitch = 4106; /* copied, with rows at lines */
    product.b.pitch = 4096;
    check_blocks_of_units(&product, 2, 1, 256);
}

static void test_tuning__units_refuse_what_they_cannot_multiply(void **state)
{
    const ndr_op_variant *units = variant_of(&ndr_matmul_operation, "units");
    const ndr_caps caps = caps_with_warps();
    ndr_matmul_request product = product_of(64, 64, 64, NDR_DTYPE_F32);
    assert_string_equal(ndr_op_cannot(units, &product), "the elements of a and b are not f16, bf16, i8 or u8");
    product = product_of(64, 64, 64, NDR_DTYPE_F16);
    assert_null(ndr_op_cannot(units, &product));
    assert_null(ndr_op_unsuited(units, &caps, &product));
    product.depth = 0;
    assert_string_equal(ndr_op_cannot(units, &product), "there are no columns of a to multiply");
#if SIZE_MAX > UINT32_MAX
    product = product_of(64, 64, 64, NDR_DTYPE_F16);
    product.a.pitch = (size_t)1 << 32;
    assert_string_equal(ndr_op_cannot(units, &product), "the matrices are too large for the copy engine");
#endif
    product = product_of(8, 8, 8, NDR_DTYPE_F16);
    assert_string_equal(ndr_op_unsuited(units, &caps, &product), "the products are too small for matrix units");
}

/* ---- three parts ---- */

static ndr_op_plan plan_of_three_parts(size_t m, size_t n, size_t k)
{
    const ndr_caps caps = caps_with_warps();
    const ndr_matmul_request product = product_of(m, n, k, NDR_DTYPE_F32);
    const ndr_op_variant *three_parts = variant_of(&ndr_matmul_operation, "three_parts");
    assert_null(ndr_op_cannot(three_parts, &product));
    return ndr_op_make_plan(three_parts, &caps, &product);
}

static void check_three_parts(size_t m, size_t n, size_t k, unsigned rows, bool is_in_parts)
{
    const ndr_op_plan plan = plan_of_three_parts(m, n, k);
    print_message("%zu x %zu x %zu: %s\n", m, n, k, plan.options);
    assert_int_equal(number_after(plan.options, "-DTILE_N="), rows);
    assert_int_equal(plan.workspace_bytes > 0, is_in_parts);
}

static void test_tuning__few_rows_of_floats_read_b_once(void **state)
{
    const ndr_caps caps = caps_with_warps();
    assert_takes("three_parts", &caps, product_of(64, 16384, 4096, NDR_DTYPE_F32));
    assert_takes("three_parts", &caps, product_of(33, 50000, 1000, NDR_DTYPE_F32));
    assert_takes("three_parts", &caps, product_of(128, 128, 65536, NDR_DTYPE_F32));
    assert_takes("halves", &caps, product_of(129, 16384, 4096, NDR_DTYPE_F32));
    assert_takes("blocked", &caps, product_of(64, 1024, 1024, NDR_DTYPE_F32));
    assert_takes("blocked", &caps, product_of(23, 4096, 4096, NDR_DTYPE_F32));
    assert_takes("blocked", &caps, product_of(64, 50000, 63, NDR_DTYPE_F32)); /* its bound holds from 64 on */
    check_three_parts(64, 16384, 4096, 64, false);
    check_three_parts(128, 16384, 4096, 128, false);
    check_three_parts(128, 128, 65536, 128, true);
    check_three_parts(33, 1000, 4097, 64, true); /* of proofs */
    check_three_parts(128, 128, 515, 128, true);
    check_three_parts(127, 20000, 69, 128, false);
    check_three_parts(40, 19000, 131, 64, false);
}

static void test_tuning__plans_of_three_parts_fit_the_device(void **state)
{
    const ndr_caps caps = caps_with_warps();
    for (size_t m = 1; m <= 300; ++m)
        for (size_t n = 0; n < COUNT_OF(sizes); ++n)
            for (size_t k = 64; k < 70000; k = k * 3 + 1) {
                const ndr_op_plan plan = plan_of_three_parts(m, sizes[n], k);
                const size_t groups = plan.range.global.size[0] / plan.range.local.size[0];
                assert_true(plan.local_bytes <= 227 << 10 && plan.range.local.size[0] <= caps.info.max_group_size);
                assert_true(groups > 0 && groups <= caps.info.compute_units);
            }
}

static void test_tuning__three_parts_refuses_what_it_cannot_multiply(void **state)
{
    const ndr_op_variant *three_parts = variant_of(&ndr_matmul_operation, "three_parts");
    const ndr_caps caps = caps_with_warps();
    ndr_matmul_request product = product_of(128, 4096, 63, NDR_DTYPE_F32);
    assert_string_equal(ndr_op_cannot(three_parts, &product),
                        "its error is shown to be within the bound only from a depth of 64 on");
    product = product_of(128, 4096, 4096, NDR_DTYPE_F64);
    assert_string_equal(ndr_op_cannot(three_parts, &product), "the elements are not f32");
    product = product_of(23, 4096, 4096, NDR_DTYPE_F32);
    assert_string_equal(ndr_op_unsuited(three_parts, &caps, &product), "c has fewer than 24 rows");
    product = product_of(64, 64, 64, NDR_DTYPE_F32);
    assert_string_equal(ndr_op_unsuited(three_parts, &caps, &product), "the product is too small for matrix units");
    product.b.pitch = 1 << 24;
    assert_string_equal(ndr_op_cannot(three_parts, &product),
                        ndr_op_cannot(variant_of(&ndr_matmul_operation, "blocked"), &product));
}

/* ---- small ---- */

static void test_tuning__batches_of_small_products_are_read_as_they_lie(void **state)
{
    const ndr_caps caps = caps_with_warps();
    assert_takes("small", &caps, batch_of(1000, 127, 129, 131, NDR_DTYPE_F32));
    assert_takes("small", &caps, batch_of(500, 200, 200, 200, NDR_DTYPE_F32)); /* more than a tile */
    assert_takes("blocked", &caps, batch_of(1000, 128, 128, 128, NDR_DTYPE_F32));
    assert_takes("blocked", &caps, batch_of(1000, 63, 65, 67, NDR_DTYPE_F32));
    assert_takes("blocked", &caps, batch_of(1000, 32, 129, 500, NDR_DTYPE_F32));
    assert_takes("blocked", &caps, batch_of(50, 127, 129, 131, NDR_DTYPE_F32));
    assert_takes("small", &caps, batch_of(1000, 127, 129, 131, NDR_DTYPE_F16));
    assert_takes("small", &caps, batch_of(5000, 17, 19, 65, NDR_DTYPE_BF16));
    assert_takes("small", &caps, product_of(299, 299, 299, NDR_DTYPE_F16)); /* in one launch */
    assert_takes("units", &caps, product_of(299, 299, 4099, NDR_DTYPE_F16));
    assert_takes("units", &caps, product_of(301, 299, 299, NDR_DTYPE_F16));
    assert_takes("units", &caps, batch_of(1000, 128, 128, 128, NDR_DTYPE_F16));
}

static void test_tuning__plans_of_small_fit_the_device(void **state)
{
    const ndr_op_variant *small = variant_of(&ndr_matmul_operation, "small");
    const ndr_caps caps = caps_with_warps();
    const ndr_dtype dtypes[] = { NDR_DTYPE_F32, NDR_DTYPE_F16 };
    const size_t some[] = { 1, 16, 31, 63, 64, 65, 100, 127, 128, 129, 144, 145, 255, 289, 300 };
    for (size_t i = 0; i < COUNT_OF(some) * COUNT_OF(some) * COUNT_OF(some) * 8; ++i) {
        size_t rest = i;
        const size_t m = some[rest % COUNT_OF(some)], n = some[(rest /= COUNT_OF(some)) % COUNT_OF(some)];
        const size_t k = 32 + some[(rest /= COUNT_OF(some)) % COUNT_OF(some)];
        rest /= COUNT_OF(some);
        ndr_matmul_request product = batch_of(1000, m, n, k, dtypes[rest / 4]);
        product.transposes_a = rest & 1, product.transposes_b = rest & 2;
        assert_null(ndr_op_cannot(small, &product));
        const ndr_op_plan plan = ndr_op_make_plan(small, &caps, &product);
        const size_t rows = number_after(plan.options, "-DTILE_M="), cols = number_after(plan.options, "-DTILE_N=");
        const size_t groups = number_after(plan.options, "-DNDR_PTX_GROUPS=");
        assert_true(groups > 0 && groups * (plan.local_bytes + 1024) <= 227 << 10);
        assert_true(rows % 32 == 0 && cols % 16 == 0 && number_after(plan.options, "-DDEPTH=") % 16 == 0);
        assert_int_equal(plan.range.local.size[1], 2 * rows);
        assert_int_equal(plan.range.global.size[1], (m + rows - 1) / rows * ((n + cols - 1) / cols) * 2 * rows);
    }
}

static void test_tuning__small_refuses_what_it_cannot_multiply(void **state)
{
    const ndr_op_variant *small = variant_of(&ndr_matmul_operation, "small");
    ndr_matmul_request product = product_of(301, 64, 64, NDR_DTYPE_F32);
    assert_string_equal(ndr_op_cannot(small, &product), "c has more than 300 rows or columns");
    product = product_of(64, 64, 31, NDR_DTYPE_F32);
    assert_string_equal(ndr_op_cannot(small, &product),
                        "its error is shown to be within the bound only from a depth of 32 on");
    product = product_of(64, 64, 64, NDR_DTYPE_F64);
    assert_string_equal(ndr_op_cannot(small, &product), "the elements of a and b are not f32, f16 or bf16");
}

/* ---- parts ---- */

static void check_plan_of_parts(const ndr_caps *caps, const ndr_op_plan *plan)
{
    assert_true(plan->local_bytes <= 227 << 10 && plan->range.local.size[0] <= caps->info.max_group_size);
    assert_true(plan->range.global.size[0] / plan->range.local.size[0] <= caps->info.compute_units);
    assert_non_null(strstr(plan->options, "-DNDR_PTX_TARGET=sm_90a"));
}

/* Groups of one round of tiles; stages within the local memory that such a device has: 227 KiB. */
static void test_tuning__plans_of_matrix_units_fit_the_device(void **state)
{
    const ndr_caps caps = caps_with_warps();
    for (size_t m = 0; m < COUNT_OF(sizes); ++m)
        for (size_t n = 0; n < COUNT_OF(sizes); ++n) {
            const ndr_matmul_request doubles = product_of(sizes[m], sizes[n], 100, NDR_DTYPE_F64);
            const ndr_matmul_request floats = product_of(sizes[m], sizes[n], 100, NDR_DTYPE_F32);
            ndr_op_plan plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "mma"), &caps, &doubles);
            assert_true(plan.local_bytes <= 227 << 10 && plan.range.local.size[1] <= caps.info.max_group_size);
            const unsigned tile = number_after(plan.options, "-DTILE_M=") * number_after(plan.options, "-DTILE_N=");
            assert_true(plan.range.global.size[1] / plan.range.local.size[1] * tile >= sizes[m] * sizes[n]);
            plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "three_parts"), &caps, &floats);
            check_plan_of_parts(&caps, &plan);
            plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "halves"), &caps, &floats);
            check_plan_of_parts(&caps, &plan);
            assert_int_equal(number_after(plan.options, "-DPARTS="), 2);
            plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "rounded"), &caps, &floats);
            check_plan_of_parts(&caps, &plan);
            assert_int_equal(number_after(plan.options, "-DPARTS="), 1);
        }
}

typedef struct tile_case {
    size_t count, m, n, k;
    unsigned tile_m, tile_n, tile_k, stages, ahead;
} tile_case;

static void check_tile(const tile_case *t)
{
    const ndr_caps caps = caps_with_warps();
    const ndr_matmul_request products = batch_of(t->count, t->m, t->n, t->k, NDR_DTYPE_F64);
    ndr_op_plan plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "mma"), &caps, &products);
    print_message("%zu x %zu x %zu: %s\n", t->m, t->n, t->k, plan.options);
    assert_int_equal(number_after(plan.options, "-DTILE_M="), t->tile_m);
    assert_int_equal(number_after(plan.options, "-DTILE_N="), t->tile_n);
    assert_int_equal(number_after(plan.options, "-DTILE_K="), t->tile_k);
    assert_int_equal(number_after(plan.options, "-DSTAGES="), t->stages);
    assert_int_equal(number_after(plan.options, "-DAHEAD="), t->ahead);
    assert_true(plan.local_bytes <= 227 << 10);
}

/* A short depth takes small tiles, and no more stages than it has steps. */
static void test_tuning__of_doubles_fills_the_last_round_of_tiles(void **state)
{
    static const tile_case expected[] = {
        { 1, 4096, 4096, 4096, 128, 128, 16, 4, 2 }, { 1, 1536, 1536, 1536, 96, 96, 16, 4, 2 },
        { 1, 1000, 1000, 97, 128, 64, 32, 4, 4 },    { 1, 4096, 4096, 96, 64, 64, 16, 4, 2 },
        { 1, 4096, 4096, 8, 64, 64, 16, 1, 1 },      { 1000, 64, 64, 64, 64, 64, 16, 4, 4 },
        { 1000, 63, 65, 67, 64, 64, 16, 4, 2 },      { 1000, 32, 32, 32, 32, 32, 32, 1, 1 },
        { 1000, 32, 32, 96, 32, 32, 32, 3, 3 },      { 1000, 16, 16, 16, 32, 16, 16, 1, 1 },
        { 1, 128, 128, 64, 32, 16, 16, 4, 4 },       { 1, 512, 512, 0, 32, 32, 32, 1, 1 },
    };
    for (size_t i = 0; i < COUNT_OF(expected); ++i) check_tile(&expected[i]);
}

/* ---- few rows or columns on GPUs ---- */

static void assert_takes_for_both(const char *name, const ndr_caps *caps, size_t m, size_t n, size_t k)
{
    assert_takes(name, caps, product_of(m, n, k, NDR_DTYPE_F32));
    assert_takes(name, caps, product_of(m, n, k, NDR_DTYPE_F64));
}

static void assert_few(ndr_matmul_request product, const char *options)
{
    ndr_caps caps = caps_of(&gpu);
    caps.info.compute_units = 132;
    ndr_op_plan plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "few"), &caps, &product);
    assert_takes("few", &caps, product);
    assert_non_null(strstr(plan.options, options));
}

static void test_tuning__reads_the_large_factor_once_for_few_rows_or_columns(void **state)
{
    ndr_caps caps = caps_of(&gpu);
    assert_takes_for_both("few", &caps, 1, 4096, 4096);
    assert_takes_for_both("few", &caps, 8, 4096, 4096);
    assert_takes_for_both("few", &caps, 4096, 1, 4096);
    assert_takes_for_both("few", &caps, 4096, 8, 4096);
    assert_takes_for_both("few", &caps, 1, 1000, 1000);
    assert_takes_for_both("few", &caps, 1000, 1, 1000);
    assert_takes_for_both("blocked", &caps, 9, 4096, 4096);
    assert_takes_for_both("blocked", &caps, 4096, 9, 4096);
    assert_takes_for_both("blocked", &caps, 8, 64, 1 << 20); /* in parts of the depth */
    assert_takes_for_both("blocked", &caps, 64, 8, 1 << 20);
    assert_takes("few", &caps, batch_of(1000, 1, 64, 64, NDR_DTYPE_F32));
    assert_takes("few", &caps, batch_of(1000, 64, 1, 64, NDR_DTYPE_F32));
    caps.info.compute_units = 132;
    assert_takes("few", &caps, product_of(1, 4096, 4096, NDR_DTYPE_F16));
    assert_takes("few", &caps, product_of(1, 4096, 4096, NDR_DTYPE_I8));
    assert_few(product_of(4096, 8, 4096, NDR_DTYPE_F32), " -DTURNS_C=1 -DTRANSPOSES_A=1 -DTRANSPOSES_B=1");
    assert_few(product_of(100000, 4, 64, NDR_DTYPE_F32), " -DTEAMS=16 -DCOLS=4 ");
    assert_few(product_of(7, 4095, 4095, NDR_DTYPE_F64), " -DLOCAL_A=1 ");
    assert_few(product_of(5, 4095, 4095, NDR_DTYPE_F64), " -DLOCAL_A=1 ");
    assert_few(product_of(8, 16384, 1024, NDR_DTYPE_F64), " -DLOCAL_A=1 ");
    assert_few(product_of(4, 4095, 4095, NDR_DTYPE_F64), " -DLOCAL_A=0 ");
    assert_few(product_of(8, 4096, 4096, NDR_DTYPE_F64), " -DLOCAL_A=0 "); /* 64 strips */
    assert_few(product_of(7, 4095, 4095, NDR_DTYPE_F32), " -DLOCAL_A=0 ");
    assert_few(batch_of(1000, 8, 4095, 64, NDR_DTYPE_F64), " -DLOCAL_A=0 ");
    caps.info.max_group_size = 511;
    assert_takes_for_both("blocked", &caps, 1, 4096, 4096);
    assert_takes_for_both("blocked", &caps, 4096, 1, 4096);
}

/* A strip is 16 vectors wide if such strips occupy the units: for few rows more than once, for more rows once. */
static void test_tuning__of_few_rows_takes_wider_strips_for_more_rows(void **state)
{
    static const struct {
        size_t m, n;
        const char *width;
    } expected[] = { { 4, 4096, "-DWIDTH=8 " }, { 5, 4096, "-DWIDTH=16 " }, { 4, 198 * 32, "-DWIDTH=16 " },
                     { 8, 124 * 32, "-DWIDTH=16 " }, { 8, 123 * 32, "-DWIDTH=8 " } };
    ndr_caps caps = caps_of(&gpu);
    caps.info.compute_units = 132;
    for (size_t i = 0; i < COUNT_OF(expected); ++i) {
        const ndr_matmul_request product = product_of(expected[i].m, expected[i].n, 4096, NDR_DTYPE_F64);
        ndr_op_plan plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "few"), &caps, &product);
        assert_non_null(strstr(plan.options, expected[i].width));
    }
}

/* Such groups cover c, and a vector is not wider than what divides all rows. */
static void test_tuning__of_few_rows_or_columns_covers_c(void **state)
{
    const ndr_caps caps = caps_of(&gpu);
    for (size_t i = 0; i < COUNT_OF(sizes) * COUNT_OF(batches); ++i)
        for (ndr_dtype dtype = NDR_DTYPE_F32; dtype <= NDR_DTYPE_F64; ++dtype) {
            const size_t size = sizes[i % COUNT_OF(sizes)], count = batches[i / COUNT_OF(sizes)], few = 1 + i % 8;
            const ndr_matmul_request wide = batch_of(count, few, size, 100, dtype);
            const ndr_matmul_request high = batch_of(count, size, few, 100, dtype);
            ndr_op_plan plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "few"), &caps, &wide);
            const unsigned run = number_after(plan.options, "-DB_RUN="), width = number_after(plan.options, "-DWIDTH=");
            const size_t strips = (size + run * width - 1) / (run * width);
            assert_int_equal(plan.range.global.size[1], strips * plan.range.local.size[1]);
            assert_int_equal(plan.range.local.size[1], width * number_after(plan.options, "-DSLICES="));
            assert_int_equal(run, size % (16 / ndr_dtype_size(dtype)) == 0 ? 16 / ndr_dtype_size(dtype) : 1);
            assert_in_range(number_after(plan.options, "-DROWS="), few, 8);
            if (size <= 8) continue; /* that has few rows, too */
            plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "few"), &caps, &high);
            const unsigned lines = number_after(plan.options, "-DCOLS=") * number_after(plan.options, "-DTEAMS=");
            assert_int_equal(plan.range.global.size[1] / plan.range.local.size[1], (size + lines - 1) / lines);
            assert_int_equal(plan.range.local.size[1],
                             8 * number_after(plan.options, "-DTEAMS=") * number_after(plan.options, "-DSLICES="));
            assert_int_equal(number_after(plan.options, "-DB_RUN="), 16 / ndr_dtype_size(dtype)); /* the depth is 100 */
            assert_in_range(number_after(plan.options, "-DROWS="), few, 8);
        }
}

/* ---- choosing, continued ---- */

/* Such a CPU's registers hold several items, like a GPU's. */
static void test_tuning__takes_groups_on_cpus_without_vectors_of_their_own(void **state)
{
    ndr_caps some = caps_of(&cpu);
    for (some.info.native_f32_width = 0; some.info.native_f32_width < 3; ++some.info.native_f32_width) {
        const bool has_vectors = some.info.native_f32_width == 2;
        assert_takes_sum(has_vectors ? "tree_chunks" : "tree_groups_one_launch", &some, 1000003, NDR_REDUCE_TREE);
        assert_takes_product(has_vectors ? "direct" : "tiled", &some, 64, 64, 64);
    }
}

/* The choice must be valid whatever a device lacks and whatever is forced. */
static void check_choice(const ndr_caps *caps, const ndr_operation *operation, const ndr_op_variant *variant,
                         const void *request, const ndr_op_plan *plan)
{
    const ndr_op_variant *plainest = ndr_op_select(operation, caps, ~0u, NULL, request);
    assert_int_equal(plainest->needs, 0);
    assert_null(ndr_op_cannot(plainest, request));
    assert_ptr_equal(ndr_op_select(operation, caps, 0, variant, request), variant);
    for (size_t i = 0; i < operation->variant_count; ++i) {
        const ndr_op_variant *forced = operation->variants[i], *taken = ndr_op_select(operation, caps, 0, forced, request);
        assert_null(ndr_op_cannot(taken, request));
    }
}

static void test_tuning__always_finds_a_variant_that_can(void **state)
{
    check_everything(check_choice);
}

/* ---- reasons for a refusal ---- */

static void assert_explains(const ndr_operation *operation, const ndr_caps *caps, const ndr_op_variant *forced,
                            const void *request, const char *sentence)
{
    ndr_text text = { 0 };
    ndr_op_explain(operation, caps, 0, forced, request, &text);
    assert_string_equal(text.chars, sentence);
    ndr_text_free(&text);
}

#define NOT_FEW "not few: c has more than 8 rows and columns; "
#define NO_MMA                                                                                             \
    "not residues: the device lacks PTX that copies and multiplies matrices of bytes for f64; "            \
    "not mma: the device lacks inline PTX that multiplies matrices of f64; not small: the device lacks "   \
    "inline PTX that multiplies matrices of half and bfloat16; not units: the device lacks "               \
    "PTX that copies and multiplies matrices of half, bfloat16 and bytes; not rounded: the device lacks "  \
    "PTX that multiplies matrices of rounded elements; not halves: the device lacks PTX that multiplies "  \
    "matrices of half; not three_parts: the device lacks PTX that multiplies matrices of bfloat16; "
#define ORDER "memory order between groups (OpenCL 3.0's acq_rel at device scope, or PTX)"

static void test_tuning__says_which_variant_is_taken_and_why_not_the_others(void **state)
{
    const ndr_caps on_cpu = caps_of(&cpu), on_gpu = caps_of(&gpu);
    const ndr_matmul_request product = product_of(64, 64, 64, NDR_DTYPE_F32);
    assert_explains(&ndr_matmul_operation, &on_cpu, NULL, &product,
                    "matmul: direct; not thin: c has more rows than a strip; not packed: b stays in the caches without a "
                    "copy; " NOT_FEW NO_MMA
                    "not blocked: the device is no GPU with groups of 64 items and 32 KiB of local memory; not tiled: "
                    "it comes later in the list");
    assert_explains(&ndr_matmul_operation, &on_gpu, variant_of(&ndr_matmul_operation, "direct"), &product,
                    "matmul: direct; not thin: c has more rows than a strip; not packed: the device is not a CPU "
                    "whose items have vector registers; " NOT_FEW NO_MMA
                    "not blocked: another is preferred; not tiled: another is preferred");
    ndr_caps unordered = on_cpu;
    unordered.orders_device = false;
    const ndr_reduce_request sum = sum_of(1000, NDR_REDUCE_TREE, NDR_DTYPE_F32);
    assert_explains(&ndr_reduce_operation, &unordered, NULL, &sum,
                    "reduce: tree_chunks_two_launches; not tree_chunks: the device lacks " ORDER
                    "; not tree_groups_one_launch: the device lacks " ORDER
                    "; not tree_groups: it comes later in the list; not atomic_chunks: the device lacks " ORDER
                    "; not atomic_chunks_two_launches: the call asks for another method; not atomic_groups_one_launch: the "
                    "device lacks " ORDER "; not atomic_groups: the call asks for another method; not recursive: the call "
                    "asks for another method");
}

/* ---- sizes ---- */

/* Nothing is built here: test_errors builds each file. */
static void check_fit(const ndr_caps *caps, const ndr_operation *operation, const ndr_op_variant *variant, const void *request,
                      const ndr_op_plan *plan)
{
    char file[128];
    const char *const name = is_variant(variant, "copied") ? "look_back" : variant->name;
    snprintf(file, sizeof file, "%s/%s.cl", operation->name, name);
    assert_string_equal(variant->file, file);
    const ndr_source_file *source = ndr_source_find(file);
    assert_non_null(source);
    assert_non_null(strstr(source->text, variant->kernel));
    assert_true(strlen(plan->options) < NDR_OPTIONS_SIZE - 1);
    size_t items = 1;
    for (unsigned d = 0; d < plan->range.local.dims; ++d) {
        const size_t local = plan->range.local.size[d];
        assert_in_range(local, 1, caps->info.max_local_size[3 - plan->range.local.dims + d]);
        assert_true(plan->range.global.size[d] >= 1);
        assert_true(plan->range.edge == NDR_EDGE_ROUND_UP || plan->range.global.size[d] % local == 0);
        items *= local;
    }
    assert_in_range(items, 1, caps->info.max_group_size);
    /* The smallest tiles and trees are for devices with 32 KiB, the minimum of OpenCL 1.2. */
    if (caps->info.local_memory_bytes >= 32 << 10 || is_variant(variant, "packed"))
        assert_true(plan->local_bytes <= caps->info.local_memory_bytes);
    assert_true(plan->workspace_bytes == 0 || plan->workspace_bytes >= NDR_WORKSPACE_HEAD_BYTES);
}

static void test_tuning__fits_every_device(void **state)
{
    check_everything(check_fit);
}

/* ---- blocks of products ---- */

static ndr_matmul_block block_for(unsigned features, ndr_dtype dtype)
{
    ndr_matmul_request product = product_of(64, 64, 64, dtype);
    product.core = ndr_core_of(features);
    return ndr_matmul_choose_block(&product);
}

static void assert_takes_block(unsigned features, unsigned rows, unsigned vectors, unsigned f32_lanes)
{
    for (ndr_dtype dtype = NDR_DTYPE_F32; dtype <= NDR_DTYPE_F64; ++dtype) {
        const ndr_matmul_block block = block_for(features, dtype);
        assert_int_equal(block.rows, rows);
        assert_int_equal(block.vectors, vectors);
        assert_int_equal(block.lanes, f32_lanes * 4 / ndr_dtype_size(dtype));
    }
}

static void test_tuning__of_products_takes_the_block_that_the_registers_hold(void **state)
{
    assert_takes_block(NDR_CORE_AVX512F, 8, 3, 16);
    assert_takes_block(NDR_CORE_AVX | NDR_CORE_FMA, 4, 3, 8);
    assert_takes_block(NDR_CORE_AVX, 4, 2, 8);
    assert_takes_block(NDR_CORE_SSE2, 4, 2, 4);
    assert_takes_block(NDR_CORE_NEON | NDR_CORE_AARCH64, 8, 3, 4);
    assert_takes_block(0, 4, 2, 4);
}

/* Two compute units, so a sixteenth of the product for an item, but at most 2^18 multiplications; a quarter if that is
 * below 2^17. */
static void test_tuning__of_products_gives_items_rows_or_parts_of_rows(void **state)
{
    static const struct {
        unsigned features;
        size_t size, rows, cols;
    } items[] = { { NDR_CORE_AVX512F, 1, 1, 1 },
                  { NDR_CORE_AVX512F, 64, 4, 1 },
                  { NDR_CORE_AVX512F, 128, 16, 1 },
                  { NDR_CORE_AVX512F, 512, 64, 11 },
                  { NDR_CORE_AVX | NDR_CORE_FMA, 64, 4, 1 },
                  { NDR_CORE_AVX | NDR_CORE_FMA, 128, 16, 1 },
                  { NDR_CORE_AVX | NDR_CORE_FMA, 512, 128, 5 },
                  { NDR_CORE_SSE2, 64, 4, 1 },
                  { NDR_CORE_SSE2, 512, 128, 4 } };
    const ndr_caps caps = caps_of(&cpu);
    for (size_t i = 0; i < COUNT_OF(items); ++i) {
        ndr_matmul_request product = product_of(items[i].size, items[i].size, items[i].size, NDR_DTYPE_F32);
        product.core = ndr_core_of(items[i].features);
        ndr_op_plan plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "direct"), &caps, &product);
        assert_int_equal(plan.range.global.size[0], 1);
        assert_int_equal(plan.range.global.size[1], items[i].rows);
        assert_int_equal(plan.range.global.size[2], items[i].cols);
    }
}

static void assert_takes_items(size_t count, size_t size, size_t products, size_t rows)
{
    const ndr_caps caps = caps_of(&cpu);
    const ndr_matmul_request batch = batch_of(count, size, size, size, NDR_DTYPE_F32);
    ndr_op_plan plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "direct"), &caps, &batch);
    assert_int_equal(plan.range.global.size[0], products);
    assert_int_equal(plan.range.global.size[1], rows);
    const bool takes_whole = count > 1 && rows == 1;
    assert_non_null(strstr(plan.options, takes_whole ? " -DBATCH=1" : " -DBATCH=0"));
    const bool fetches_c = takes_whole && size * size * sizeof(float) >= 8192;
    assert_non_null(strstr(plan.options, fetches_c ? " -DFETCH_C=1" : " -DFETCH_C=0"));
    assert_non_null(strstr(plan.options, " -DCLAMP_M=0"));
}

static void assert_takes_even(unsigned features, size_t m, size_t n, const char *block, bool is_even)
{
    const ndr_caps caps = caps_of(&cpu);
    ndr_matmul_request batch = batch_of(1000, m, n, 5, NDR_DTYPE_F32);
    batch.core = ndr_core_of(features);
    ndr_op_plan plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "direct"), &caps, &batch);
    assert_non_null(strstr(plan.options, block));
    assert_non_null(strstr(plan.options, is_even ? " -DEVEN=1" : " -DEVEN=0"));
}

static void test_tuning__of_batches_takes_a_block_that_divides_the_products(void **state)
{
    enum { AVX2 = NDR_CORE_AVX | NDR_CORE_FMA };
    assert_takes_even(NDR_CORE_AVX512F, 16, 16, " -DMR=16 -DVECTORS=1 ", true);
    assert_takes_even(NDR_CORE_AVX512F, 32, 32, " -DMR=8 -DVECTORS=2 ", true);
    assert_takes_even(NDR_CORE_AVX512F, 24, 48, " -DMR=8 -DVECTORS=3 ", true);
    assert_takes_even(NDR_CORE_AVX512F, 64, 64, " -DMR=8 -DVECTORS=2 ", true); /* two of them side by side */
    assert_takes_even(NDR_CORE_AVX512F, 16, 112, " -DMR=16 -DVECTORS=1 ", true);
    assert_takes_even(NDR_CORE_AVX512F, 24, 112, " -DMR=8 -DVECTORS=3 ", false); /* 8 x 1 would be too small */
    assert_takes_even(NDR_CORE_AVX512F, 17, 16, " -DMR=17 -DVECTORS=1 ", true);
    assert_takes_even(NDR_CORE_AVX512F, 16, 17, " -DMR=8 -DVECTORS=2 ", false);
    assert_takes_even(NDR_CORE_AVX512F, 16, 12, " -DMR=8 -DVECTORS=2 -DLANES=8 ", false);
    assert_takes_even(NDR_CORE_AVX512F, 16, 8, " -DMR=16 -DVECTORS=1 -DLANES=8 ", true);
    assert_takes_even(AVX2, 16, 16, " -DMR=4 -DVECTORS=2 ", true);
    assert_takes_even(AVX2, 16, 8, " -DMR=8 -DVECTORS=1 ", true);
    assert_takes_even(AVX2, 12, 8, " -DMR=12 -DVECTORS=1 ", true);
    assert_takes_even(NDR_CORE_SSE2, 16, 16, " -DMR=4 -DVECTORS=2 ", true);
    assert_takes_even(NDR_CORE_SSE2, 16, 4, " -DMR=8 -DVECTORS=1 ", true);
}

static void assert_takes_options(unsigned features, ndr_dtype dtype, size_t m, size_t n, const char *block)
{
    const ndr_caps caps = caps_of(&cpu);
    ndr_matmul_request product = product_of(m, n, 64, dtype);
    product.core = ndr_core_of(features);
    ndr_op_plan plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "direct"), &caps, &product);
    assert_non_null(strstr(plan.options, block));
}

static void test_tuning__of_products_takes_vectors_that_are_not_wider_than_c(void **state)
{
    assert_takes_options(NDR_CORE_AVX512F, NDR_DTYPE_F32, 64, 16, " -DLANES=16 ");
    assert_takes_options(NDR_CORE_AVX512F, NDR_DTYPE_F32, 64, 15, " -DLANES=8 ");
    assert_takes_options(NDR_CORE_AVX512F, NDR_DTYPE_F32, 64, 7, " -DLANES=4 ");
    assert_takes_options(NDR_CORE_AVX512F, NDR_DTYPE_F32, 64, 1, " -DLANES=4 "); /* vectors of 16 bytes at least */
    assert_takes_options(NDR_CORE_AVX512F, NDR_DTYPE_F64, 64, 7, " -DLANES=4 ");
    assert_takes_options(NDR_CORE_AVX512F, NDR_DTYPE_F64, 64, 1, " -DLANES=2 ");
    assert_takes_options(NDR_CORE_SSE2, NDR_DTYPE_F32, 64, 3, " -DLANES=4 ");
}

static void test_tuning__of_products_of_one_vector_of_columns_takes_more_rows(void **state)
{
    enum { AVX2 = NDR_CORE_AVX | NDR_CORE_FMA };
    assert_takes_options(AVX2, NDR_DTYPE_F32, 64, 8, " -DMR=8 -DVECTORS=1 ");
    assert_takes_options(AVX2, NDR_DTYPE_F32, 8, 8, " -DMR=8 -DVECTORS=1 ");
    assert_takes_options(AVX2, NDR_DTYPE_F32, 7, 8, " -DMR=4 -DVECTORS=1 ");
    assert_takes_options(AVX2, NDR_DTYPE_F32, 64, 9, " -DMR=4 -DVECTORS=3 ");
    assert_takes_options(AVX2, NDR_DTYPE_F64, 64, 4, " -DMR=8 -DVECTORS=1 ");
    assert_takes_options(NDR_CORE_SSE2, NDR_DTYPE_F32, 64, 4, " -DMR=8 -DVECTORS=1 ");
    assert_takes_options(NDR_CORE_AVX512F, NDR_DTYPE_F32, 64, 16, " -DMR=8 -DVECTORS=1 ");
}

/* Blocks have about 8 rows here, unless they divide the product, and never more than it. The device has 2 compute units,
 * which get 8 groups each, or 2 if those are small. */
static void test_tuning__of_batches_gives_items_whole_products_if_they_are_small(void **state)
{
    assert_takes_items(1, 16, 1, 2);
    assert_takes_items(3, 16, 3, 1); /* one block of 16 rows each */
    assert_takes_items(3, 17, 3, 2);
    assert_takes_items(16, 16, 4, 1);
    assert_takes_items(100, 16, 4, 1);
    assert_takes_items(1000, 16, 17, 1);
    assert_takes_items(1000, 32, 125, 1); /* 2^18 multiplications an item */
    assert_takes_items(1000, 64, 1000, 1);
    assert_takes_items(1000, 65, 1000, 1);
    assert_takes_items(16, 300, 16, 1);
    assert_takes_items(15, 300, 15, 2); /* too few for 16 groups */
    assert_takes_items(100000, 1, 4, 1);
}

static void test_tuning__of_batches_gives_many_units_fewer_groups(void **state)
{
    ndr_caps caps = caps_of(&cpu);
    caps.info.compute_units = 16;
    const ndr_matmul_request small = batch_of(1000, 16, 16, 16, NDR_DTYPE_F32);
    const ndr_matmul_request large = batch_of(1000, 32, 32, 32, NDR_DTYPE_F32);
    ndr_op_plan plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "direct"), &caps, &small);
    assert_int_equal(plan.range.global.size[0], 33); /* 31 products each: 2 groups for each unit */
    plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "direct"), &caps, &large);
    assert_int_equal(plan.range.global.size[0], 143); /* 7 each: 8 groups */
}

/* What ndr_tune() found for one product says nothing of a batch. */
static void test_tuning__of_batches_is_apart_from_that_of_single_products(void **state)
{
    const ndr_matmul_request one = product_of(64, 64, 64, NDR_DTYPE_F32), two = batch_of(2, 64, 64, 64, NDR_DTYPE_F32);
    assert_int_not_equal(ndr_matmul_class_of(&one), ndr_matmul_class_of(&two));
}

/* A unit of this GPU holds two groups of a tile without slices: 198 tiles are enough. */
static void test_tuning__of_batches_takes_tiles_that_one_product_fills(void **state)
{
    static const struct {
        size_t count, size;
        const char *tile;
    } expected[] = { { 1000, 128, "-DTILE_M=128 -DTILE_N=128 " },
                     { 1000, 64, "-DTILE_M=32 -DTILE_N=64 -DTILE_K=16 -DITEM_M=4 -DITEM_N=8 -DSLICES=1 " },
                     { 1000, 63, "-DTILE_M=64 -DTILE_N=64 -DTILE_K=8 -DITEM_M=4 -DITEM_N=8 -DSLICES=1 " },
                     { 1000, 65, "-DTILE_M=32 -DTILE_N=32 -DTILE_K=8 -DITEM_M=4 -DITEM_N=4 -DSLICES=1 " },
                     { 1000, 90, "-DTILE_M=64 -DTILE_N=96 -DTILE_K=8 -DITEM_M=4 -DITEM_N=12 -DSLICES=1 " },
                     { 528, 16, "-DTILE_M=32 -DTILE_N=32 -DTILE_K=16 -DITEM_M=4 -DITEM_N=4 -DSLICES=1 " },
                     { 527, 16, "-DTILE_M=16 -DTILE_N=32 -DTILE_K=64 " }, /* less than 4 for each of 132 units */
                     { 100, 64, "-DTILE_M=32 -DTILE_N=64 -DTILE_K=32 " } };
    const ndr_caps caps = caps_of(&gpu);
    for (size_t i = 0; i < COUNT_OF(expected); ++i) {
        const size_t size = expected[i].size;
        const ndr_matmul_request batch = batch_of(expected[i].count, size, size, size, NDR_DTYPE_F32);
        ndr_op_plan plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "blocked"), &caps, &batch);
        assert_non_null(strstr(plan.options, expected[i].tile));
        assert_int_equal(plan.workspace_bytes, 0);
        assert_int_equal(plan.range.global.size[0] / plan.range.local.size[0] % expected[i].count, 0);
    }
}

/* Products of f32 on 132 units. The largest tile needs a device that reports its registers, and enough of them; tiles
 * that do not fill the last round of units are computed in parts of the depth. */
static void test_tuning__of_products_takes_tiles_that_fit_the_registers(void **state)
{
    static const struct {
        unsigned registers;
        size_t size;
        const char *tile;
        size_t groups, sums; /* elements in the workspace */
    } expected[] = {
        { 1 << 16, 4096, "-DTILE_M=128 -DTILE_N=256 ", 32 * 16, 0 },
        { 1 << 16, 2048, "-DTILE_M=128 -DTILE_N=256 ", 16 * 8, 0 },
        { 1 << 16, 4100, "-DTILE_M=128 -DTILE_N=256 ", 4 * 132 + 33 * 4, 33 * 4 * 128 * 256 },
        { 1 << 16, 1920, "-DTILE_M=128 -DTILE_N=256 ", 15 * 8, 0 },
        { 1 << 16, 1536, "-DTILE_M=128 -DTILE_N=256 ", 3 * 12 * 6, 3 * 12 * 6 * 128 * 256 },
        { 1 << 16, 1024, "-DTILE_M=64 -DTILE_N=64 ", 16 * 16, 0 }, /* parts of 32 tiles keep too few units busy */
        { 1 << 16, 2047, "-DTILE_M=128 -DTILE_N=128 -DTILE_K=8 -DITEM_M=8 -DITEM_N=16 ", 16 * 16, 0 },
        { 1 << 16, 4095, "-DTILE_M=128 -DTILE_N=256 ", 32 * 16, (4095 + 4096) * 4096 }, /* copies of a and b */
        { 1 << 16, 4097, "-DTILE_M=128 -DTILE_N=256 ", 4 * 132 + 33 * 4,
          33 * 4 * 128 * 256 + (4097 + 4100) * 4100 }, /* and sums */
        { (1 << 16) - 1, 4096, "-DTILE_M=128 -DTILE_N=128 -DTILE_K=8 -DITEM_M=8 -DITEM_N=8 ", 32 * 32, 0 },
        { 0, 4097, "-DTILE_M=64 -DTILE_N=128 ", 65 * 33, 0 },
    };
    ndr_caps caps = caps_of(&gpu);
    caps.info.compute_units = 132;
    caps.info.max_buffer_bytes = (size_t)1 << 30;
    caps.info.global_memory_bytes = (uint64_t)4 << 30;
    for (size_t i = 0; i < COUNT_OF(expected); ++i) {
        const size_t size = expected[i].size, sums = expected[i].sums;
        const ndr_matmul_request product = product_of(size, size, size, NDR_DTYPE_F32);
        ndr_op_plan plan;
        caps.registers = expected[i].registers;
        plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "blocked"), &caps, &product);
        assert_non_null(strstr(plan.options, expected[i].tile));
        assert_int_equal(plan.range.global.size[0] / plan.range.local.size[0], expected[i].groups);
        assert_int_equal(plan.workspace_bytes, sums ? NDR_WORKSPACE_HEAD_BYTES + 4 * sums : 0);
    }
}

/* Rows of a in a block, as packed launches it: local memory, over the depth, over the elements. */
static size_t block_rows_of(const ndr_op_plan *plan, size_t *depth)
{
    const char *option = strstr(plan->options, "-DDEPTH=");
    assert_non_null(option);
    *depth = strtoul(option + strlen("-DDEPTH="), NULL, 10);
    return plan->local_bytes / *depth / sizeof(float);
}

static void test_tuning__of_products_fits_the_caches(void **state)
{
    static const size_t first[] = { 8 << 10, 32 << 10, 48 << 10, 1 << 20 };
    static const size_t second[] = { 64 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20 };
    static const unsigned features[] = { 0, NDR_CORE_AVX | NDR_CORE_FMA, NDR_CORE_AVX512F };
    const ndr_caps caps = caps_of(&cpu);
    ndr_matmul_request product = product_of(4096, 4096, 4096, NDR_DTYPE_F32);
    for (size_t i = 0; i < COUNT_OF(first) * COUNT_OF(second) * COUNT_OF(features); ++i) {
        product.core = ndr_core_of(features[i % 3]);
        product.core.first_cache_bytes = first[i / 3 % COUNT_OF(first)];
        product.core.second_cache_bytes = second[i / 3 / COUNT_OF(first)];
        ndr_op_plan plan;
        size_t depth;
        plan = ndr_op_make_plan(variant_of(&ndr_matmul_operation, "packed"), &caps, &product);
        const size_t block_rows = block_rows_of(&plan, &depth), rows = ndr_matmul_choose_block(&product).rows;
        assert_in_range(depth, 8, 640);
        assert_int_equal(depth % 8, 0);
        assert_in_range(block_rows, rows, 128);
        assert_int_equal(block_rows % rows, 0);
        assert_true(rows * depth * sizeof(float) <= product.core.first_cache_bytes);
        assert_true(plan.local_bytes <= product.core.second_cache_bytes);
    }
}

static void test_tuning__of_products_copies_what_exceeds_half_of_the_second_cache(void **state)
{
    const ndr_caps on_cpu = caps_of(&cpu);
    ndr_matmul_request product = product_of(512, 512, 512, NDR_DTYPE_F32); /* b has 1 MiB */
    product.core.second_cache_bytes = 2 << 20;
    assert_string_equal(ndr_op_select(&ndr_matmul_operation, &on_cpu, 0, NULL, &product)->name, "direct");
    product.core.second_cache_bytes = (2 << 20) - 2;
    assert_string_equal(ndr_op_select(&ndr_matmul_operation, &on_cpu, 0, NULL, &product)->name, "packed");
}

static void test_tuning__of_chunks_covers_each_element_once(void **state)
{
    for (size_t i = 0; i < COUNT_OF(counts); ++i)
        for (ndr_reduce_method method = NDR_REDUCE_TREE; method <= NDR_REDUCE_ATOMIC; ++method) {
            const ndr_reduce_request sum = sum_of(counts[i], method, NDR_DTYPE_F32);
            const ndr_reduce_chunks dealt = ndr_reduce_chunks_for(&sum);
            const size_t chunk = dealt.elements, chunks = dealt.count;
            assert_in_range(chunks, 1, method == NDR_REDUCE_TREE ? 1 << 16 : 1 << 11);
            assert_true(chunks * chunk >= counts[i]);
            assert_true(chunks == 1 || (chunks - 1) * chunk < counts[i]);
        }
}

/* A tile is 16 KiB for groups of 256. docs/appendix/proofs.md needs the limits up to 2^34 elements. */
static void check_shares(const ndr_caps *caps, uint64_t count, ndr_reduce_method method, ndr_dtype dtype)
{
    const ndr_reduce_request sum = sum_of((size_t)count, method, dtype);
    const ndr_reduce_groups groups = ndr_reduce_groups_for(caps, &sum);
    const size_t tile = (16 << 10) / ndr_dtype_size(dtype), tiles = (size_t)(count / tile) + (count % tile > 0);
    const size_t each = tiles / groups.count + (tiles % groups.count > 0);
    assert_int_equal(groups.size, 256);
    assert_in_range(groups.count, 1, method == NDR_REDUCE_TREE ? 4096 : 2048);
    assert_true(tiles < 2 || (groups.count - 1) * each < tiles);
    if (count <= (UINT64_C(1) << 34) + 1) assert_true(each <= 8192);
    if (count == 1000003) assert_int_equal(groups.count, tiles);
    if (count == (size_t)1 << 28) assert_true(groups.count > 792);
}

static void test_tuning__of_groups_shares_the_tiles_out_evenly(void **state)
{
    const ndr_caps caps = caps_of(&gpu);
    for (size_t i = 0; i < COUNT_OF(counts); ++i)
        for (ndr_dtype dtype = NDR_DTYPE_F32; dtype <= NDR_DTYPE_F64; ++dtype) {
            check_shares(&caps, counts[i], NDR_REDUCE_TREE, dtype);
            check_shares(&caps, counts[i], NDR_REDUCE_ATOMIC, dtype);
        }
}

/* How many groups share the chunks, or the tiles, does not change what a chunk or tile is, nor where its partial is. */
static void assert_same_bits(const ndr_op_plan *a, const ndr_op_plan *b)
{
    assert_string_equal(a->options, b->options);
    assert_int_equal(a->workspace_bytes, b->workspace_bytes);
    assert_int_equal(a->range.local.size[0], b->range.local.size[0]);
}

/* Groups of chunks are as many as the compute units, but at least two; those of tiles depend on the count alone. */
static void check_groups(const ndr_op_variant *variant, const ndr_reduce_request *sum, size_t units, const ndr_op_plan *few,
                         const ndr_op_plan *plan)
{
    const size_t chunks = ndr_reduce_chunks_for(sum).count;
    const size_t groups = strstr(variant->name, "chunks") ? ndr_min_size(chunks, ndr_max_size(units, 2))
                                                      : few->range.global.size[0];
    assert_int_equal(plan->range.global.size[0], groups);
}

static void check_compute_units(const ndr_device_info *info, const ndr_reduce_request *sum)
{
    static const unsigned units[] = { 1, 2, 16, 96 };
    const ndr_caps few = caps_of(info);
    const ndr_op_variant *variant = ndr_op_select(&ndr_reduce_operation, &few, 0, NULL, sum);
    ndr_op_plan plan, of_few;
    of_few = ndr_op_make_plan(variant, &few, sum);
    for (size_t i = 0; i < COUNT_OF(units); ++i) {
        ndr_caps caps = few;
        caps.info.compute_units = units[i];
        assert_ptr_equal(ndr_op_select(&ndr_reduce_operation, &caps, 0, NULL, sum), variant);
        plan = ndr_op_make_plan(variant, &caps, sum);
        assert_same_bits(&plan, &of_few);
        check_groups(variant, sum, units[i], &of_few, &plan);
    }
}

static void test_tuning__of_a_reduction_keeps_its_bits_on_any_number_of_compute_units(void **state)
{
    for (size_t i = 0; i < COUNT_OF(counts); ++i)
        for (unsigned method = NDR_REDUCE_TREE; method <= NDR_REDUCE_RECURSIVE; ++method) {
            const ndr_reduce_request sum = sum_of(counts[i], (ndr_reduce_method)method, NDR_DTYPE_F32);
            check_compute_units(&cpu, &sum);
            check_compute_units(&gpu, &sum);
        }
}

static void test_tuning__lets_few_chunks_meet_in_one_atomic(void **state)
{
    static const char *const names[] = { "atomic_chunks", "atomic_chunks_two_launches" };
    const ndr_caps caps = caps_of(&cpu);
    const ndr_reduce_request sum = sum_of(SIZE_MAX / 16, NDR_REDUCE_ATOMIC, NDR_DTYPE_F32);
    for (size_t i = 0; i < COUNT_OF(names); ++i) {
        ndr_op_plan plan = ndr_op_make_plan(variant_of(&ndr_reduce_operation, names[i]), &caps, &sum);
        assert_true(plan.range.global.size[0] <= 2048);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tuning__takes_chunks_on_cpus_and_groups_elsewhere),
        cmocka_unit_test(test_tuning__takes_two_launches_where_groups_see_no_order),
        cmocka_unit_test(test_tuning__lets_groups_wait_where_they_go_on),
        cmocka_unit_test(test_tuning__of_scans_that_look_back_has_words_for_tiles_blocks_and_rows),
        cmocka_unit_test(test_tuning__takes_matrix_units_where_the_device_may_have_them),
        cmocka_unit_test(test_tuning__splits_only_what_blocked_can_take),
        cmocka_unit_test(test_tuning__splits_only_in_an_eighth_of_the_memory),
        cmocka_unit_test(test_tuning__residues_take_an_eighth_of_the_memory),
        cmocka_unit_test(test_tuning__plans_of_matrix_units_fit_the_device),
        cmocka_unit_test(test_tuning__units_take_the_tiles_that_fill_the_device),
        cmocka_unit_test(test_tuning__plans_of_units_fit_the_device),
        cmocka_unit_test(test_tuning__units_copy_what_the_copy_engine_cannot_read),
        cmocka_unit_test(test_tuning__units_take_larger_tiles_of_rows_within_lines),
        cmocka_unit_test(test_tuning__units_refuse_what_they_cannot_multiply),
        cmocka_unit_test(test_tuning__few_rows_of_floats_read_b_once),
        cmocka_unit_test(test_tuning__plans_of_three_parts_fit_the_device),
        cmocka_unit_test(test_tuning__three_parts_refuses_what_it_cannot_multiply),
        cmocka_unit_test(test_tuning__batches_of_small_products_are_read_as_they_lie),
        cmocka_unit_test(test_tuning__plans_of_small_fit_the_device),
        cmocka_unit_test(test_tuning__small_refuses_what_it_cannot_multiply),
        cmocka_unit_test(test_tuning__of_doubles_fills_the_last_round_of_tiles),
        cmocka_unit_test(test_tuning__reads_the_large_factor_once_for_few_rows_or_columns),
        cmocka_unit_test(test_tuning__of_few_rows_takes_wider_strips_for_more_rows),
        cmocka_unit_test(test_tuning__of_few_rows_or_columns_covers_c),
        cmocka_unit_test(test_tuning__of_proofs_takes_both_widths_of_halves),
        cmocka_unit_test(test_tuning__takes_groups_on_cpus_without_vectors_of_their_own),
        cmocka_unit_test(test_tuning__always_finds_a_variant_that_can),
        cmocka_unit_test(test_tuning__says_which_variant_is_taken_and_why_not_the_others),
        cmocka_unit_test(test_tuning__fits_every_device),
        cmocka_unit_test(test_tuning__of_products_takes_the_block_that_the_registers_hold),
        cmocka_unit_test(test_tuning__of_products_gives_items_rows_or_parts_of_rows),
        cmocka_unit_test(test_tuning__of_batches_takes_a_block_that_divides_the_products),
        cmocka_unit_test(test_tuning__of_products_takes_vectors_that_are_not_wider_than_c),
        cmocka_unit_test(test_tuning__of_products_of_one_vector_of_columns_takes_more_rows),
        cmocka_unit_test(test_tuning__of_batches_gives_items_whole_products_if_they_are_small),
        cmocka_unit_test(test_tuning__of_batches_gives_many_units_fewer_groups),
        cmocka_unit_test(test_tuning__of_batches_is_apart_from_that_of_single_products),
        cmocka_unit_test(test_tuning__of_batches_takes_tiles_that_one_product_fills),
        cmocka_unit_test(test_tuning__of_products_takes_tiles_that_fit_the_registers),
        cmocka_unit_test(test_tuning__of_products_fits_the_caches),
        cmocka_unit_test(test_tuning__of_products_copies_what_exceeds_half_of_the_second_cache),
        cmocka_unit_test(test_tuning__of_chunks_covers_each_element_once),
        cmocka_unit_test(test_tuning__of_groups_shares_the_tiles_out_evenly),
        cmocka_unit_test(test_tuning__of_a_reduction_keeps_its_bits_on_any_number_of_compute_units),
        cmocka_unit_test(test_tuning__lets_few_chunks_meet_in_one_atomic),
    };
    return cmocka_run_group_tests_name("tuning", tests, NULL, NULL);
}
