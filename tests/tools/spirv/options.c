/* options.c - print the build options of the bundled kernels: a file under kernels/, a tab, the options. With the
 * argument "warps" only those of products, on a GPU with NVIDIA's matrix units.
 *
 * The devices are made up: a CPU, a GPU, a device with little local memory and one with groups of one item. Each comes
 * also with every word of NDR_DISABLE, and with OpenCL C 1.2 and 3.0. The options come from the rows of the
 * operations. A line may appear twice. */
#include "ops/histogram/histogram.h"
#include "ops/matmul/matmul.h"
#include "ops/move/move.h"
#include "ops/random/random.h"
#include "ops/reduce/reduce.h"
#include "ops/scan/lines.h"
#include "ops/select/select.h"
#include "ops/sort/sort.h"
#include "ops/sort/top_k.h"

#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const ndr_device_info devices[] = {
    { .type = NDR_DEVICE_TYPE_CPU,
      .native_f32_width = 16,
      .compute_units = 2,
      .max_group_size = 4096,
      .max_local_size = { 4096, 4096, 4096 },
      .local_memory_bytes = 1 << 20 },
    { .type = NDR_DEVICE_TYPE_GPU,
      .compute_units = 132,
      .max_group_size = 1024,
      .max_local_size = { 64, 1024, 1024 },
      .local_memory_bytes = 48 << 10 },
    { .type = NDR_DEVICE_TYPE_GPU,
      .compute_units = 4,
      .max_group_size = 64,
      .max_local_size = { 64, 64, 64 },
      .local_memory_bytes = 32 << 10 },
    { .type = NDR_DEVICE_TYPE_ACCELERATOR,
      .compute_units = 1,
      .max_group_size = 1,
      .max_local_size = { 1, 1, 1 },
      .local_memory_bytes = 32 << 10 },
};

static void print_line(const ndr_caps *caps, const char *file, const char *options)
{
    ndr_text line = { 0 };
    ndr_build_add_options(caps, options, &line);
    printf("%s\t%s\n", file, line.chars);
    ndr_text_free(&line);
}

/* Each variant that can run the request here. */
static void print_variants(const ndr_caps *caps, const ndr_operation *operation, const void *request)
{
    for (size_t i = 0; i < operation->variant_count; ++i) {
        const ndr_op_variant *variant = operation->variants[i];
        if (ndr_op_select(operation, caps, 0, variant, request) != variant) continue;
        ndr_op_plan plan = ndr_op_make_plan(variant, caps, request);
        print_line(caps, variant->file, plan.options);
    }
}

static void print_reductions(const ndr_caps *caps)
{
    for (ndr_dtype dtype = NDR_DTYPE_I32; dtype <= NDR_DTYPE_BF16; ++dtype) {
        if (dtype == NDR_DTYPE_F64 && !caps->info.has_f64) continue; /* refused */
        for (ndr_op op = NDR_OP_SUM; op <= NDR_OP_MAX; ++op)
            for (unsigned method = NDR_REDUCE_TREE; method <= NDR_REDUCE_RECURSIVE; ++method) {
                if (method != NDR_REDUCE_TREE && ndr_dtype_is_narrow(dtype)) continue; /* refused */
                if (method == NDR_REDUCE_ATOMIC && ndr_dtype_size(dtype) == 8 && !caps->info.has_int64_atomics) continue;
                print_variants(caps, &ndr_reduce_operation,
                           &(ndr_reduce_request){ .dtype = dtype,
                                                  .op = op,
                                                  .method = (ndr_reduce_method)method,
                                                  .input = ndr_reduce_operand("input", NULL, 0, 1000000, dtype) });
            }
    }
}

/* Each operator and type, with and without factors. */
static void print_numerics(const ndr_caps *caps)
{
    static const ndr_op ops[] = { NDR_OP_SUM, NDR_OP_SUM, NDR_OP_MIN, NDR_OP_MAX, NDR_OP_PRODUCT };
    for (ndr_dtype dtype = NDR_DTYPE_F32; dtype <= NDR_DTYPE_F64; ++dtype)
        for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i)
            for (ndr_numerics numerics = NDR_NUMERICS_REPRODUCIBLE; numerics <= NDR_NUMERICS_EXACT; ++numerics) {
                const bool is_exact = numerics == NDR_NUMERICS_EXACT, is_dot = i == 1;
                const ndr_operand input = ndr_reduce_operand("input", NULL, 0, 1000000, dtype), none = { 0 };
                if (is_exact ? ops[i] != NDR_OP_SUM : dtype == NDR_DTYPE_F64 && !caps->info.has_f64) continue;
                print_variants(caps, &ndr_numerics_operation,
                               &(ndr_reduce_request){ .dtype = dtype,
                                                      .op = ops[i],
                                                      .numerics = numerics,
                                                      .input = input,
                                                      .factors = is_dot ? input : none });
            }
}

/* Each type with a sum and with an operator of its kind, in all directions and segments. */
static void print_scans(const ndr_caps *caps)
{
    for (ndr_dtype dtype = NDR_DTYPE_I8; dtype <= NDR_DTYPE_F64; ++dtype)
        for (unsigned form = 0; form < 24; ++form) {
            if (dtype == NDR_DTYPE_F64 && !caps->info.has_f64) continue; /* refused */
            const ndr_scan_request scan = { .dtype = dtype,
                                            .op = form < 12                ? NDR_OP_SUM
                                                  : dtype >= NDR_DTYPE_F32 ? NDR_OP_MIN
                                                                           : NDR_OP_BIT_AND,
                                            .is_exclusive = form % 2,
                                            .is_backward = form / 2 % 2,
                                            .segments = (ndr_scan_segments)(form / 4 % 3),
                                            .length = 10,
                                            .input = { .cols = 1000000, .element_bytes = ndr_dtype_size(dtype) } };
            print_variants(caps, &ndr_scan_operation, &scan);
        }
}

/* Each type with a sum and with an operator of its kind, along both dimensions, with and without gaps. */
static void print_line_scans(const ndr_caps *caps)
{
    for (ndr_dtype dtype = NDR_DTYPE_I8; dtype <= NDR_DTYPE_F64; ++dtype)
        for (unsigned form = 0; form < 32; ++form) {
            if (dtype == NDR_DTYPE_F64 && !caps->info.has_f64) continue; /* refused */
            ndr_array array = ndr_array_of(NULL, dtype, ndr_range_2d(100, 200));
            ndr_line_request lines = { .scan = { .dtype = dtype,
                                                 .op = form < 16                ? NDR_OP_SUM
                                                       : dtype >= NDR_DTYPE_F32 ? NDR_OP_MIN
                                                                                : NDR_OP_BIT_AND,
                                                 .is_exclusive = form % 2,
                                                 .is_backward = form / 2 % 2 } };
            if (form / 4 % 2) array.stride[0] *= 2, array.stride[1] *= 2;
            ndr_lines_lay_out(&array, &array, form / 8 % 2, &lines);
            print_variants(caps, &ndr_array_scan_operation, &lines);
        }
}

/* Keys of each width and kind, without values, and with values of one word and of several. */
static void print_sorts(const ndr_caps *caps)
{
    static const size_t value_bytes[] = { 0, 1, 8, 16, 12 }, counts[] = { 1000, 1000000, 1 << 30 };
    for (ndr_dtype dtype = NDR_DTYPE_I8; dtype <= NDR_DTYPE_BF16; ++dtype)
        for (size_t i = 0; i < COUNT_OF(value_bytes); ++i)
            for (size_t c = 0; c < COUNT_OF(counts); ++c) {
                ndr_sort_request sort = {
                    .dtype = dtype, .bits = 8, .count = counts[c], .value_bytes = value_bytes[i]
                };
                print_variants(caps, &ndr_sort_operation, &sort);
                sort.length = i % 2 ? 10 : 0;
                print_variants(caps, &ndr_sort_segments_operation, &sort);
            }
}

/* Keys of each width and kind, short and long rows, values of one word and of several. */
static void print_searches(const ndr_caps *caps)
{
    for (ndr_dtype dtype = NDR_DTYPE_I8; dtype <= NDR_DTYPE_BF16; ++dtype)
        for (size_t length = 100; length <= 1000000; length *= 10000) {
            const ndr_top_k_request top = {
                .order = { .dtype = dtype, .bits = 8 * (unsigned)ndr_dtype_size(dtype), .value_bytes = sizeof(uint64_t) },
                .rows = 3, .length = length, .k = 10, .value_bytes = length > 100 ? 12 : 2
            };
            print_variants(caps, &ndr_top_k_operation, &top);
            print_variants(caps, &ndr_top_k_select_operation, &top);
            print_variants(caps, &ndr_top_k_values_operation, &top);
        }
}

/* Sizes with and without whole vectors, for the largest tiles. */
static void print_squares(const ndr_caps *caps, ndr_dtype dtype, ndr_core core)
{
    for (size_t n = 2047; n <= 2048; ++n) {
        const ndr_operand square = { .rows = n, .cols = n, .pitch = n };
        ndr_matmul_request product = {
            .dtype = dtype, .a = square, .b = square, .c = square, .core = core, .depth = n
        };
        print_variants(caps, &ndr_matmul_operation, &product);
        product.accuracy = NDR_ACCURACY_TF32;
        if (dtype == NDR_DTYPE_F32) print_variants(caps, &ndr_matmul_operation, &product);
    }
}

/* Of f32, with rows that are whole vectors and with others. */
static void print_batches(const ndr_caps *caps)
{
    static const size_t sizes[] = { 32, 63, 64, 90 };
    for (size_t i = 0; i < COUNT_OF(sizes); ++i) {
        const size_t n = sizes[i];
        const ndr_operand squares = { .rows = n, .cols = n, .pitch = n, .further = 999, .stride = n * n };
        print_variants(caps, &ndr_matmul_operation,
                   &(ndr_matmul_request){ .dtype = NDR_DTYPE_F32,
                                          .a = squares,
                                          .b = squares,
                                          .c = squares,
                                          .core = ndr_core_of(0),
                                          .depth = n });
    }
}

/* Each type of elements with each of c that it gives, transposes, and triangles. */
static void print_forms(const ndr_caps *caps)
{
    static const struct {
        ndr_dtype dtype, output;
    } types[] = { { NDR_DTYPE_F16, NDR_DTYPE_F16 }, { NDR_DTYPE_BF16, NDR_DTYPE_BF16 },
                  { NDR_DTYPE_F16, NDR_DTYPE_F32 }, { NDR_DTYPE_F32, NDR_DTYPE_BF16 },
                  { NDR_DTYPE_F32, NDR_DTYPE_F32 }, { NDR_DTYPE_I8, NDR_DTYPE_I32 },
                  { NDR_DTYPE_U8, NDR_DTYPE_I32 } };
    for (size_t i = 0; i < COUNT_OF(types); ++i)
        for (unsigned form = 0; form < 4; ++form) {
            const ndr_operand square = { .rows = 100, .cols = 100, .pitch = 100 };
            const ndr_operand few_rows = { .rows = 8, .cols = 100, .pitch = 100 };
            print_variants(caps, &ndr_matmul_operation,
                           &(ndr_matmul_request){ .dtype = types[i].dtype,
                                                  .output_dtype = types[i].output,
                                                  .a = form < 2 ? few_rows : square,
                                                  .b = square,
                                                  .c = form < 2 ? few_rows : square,
                                                  .core = ndr_core_of(0),
                                                  .depth = 100,
                                                  .transposes_a = form & 1,
                                                  .transposes_b = form >> 1,
                                                  .part = (ndr_matrix_part)(form % 3) });
        }
}

static void print_products(const ndr_caps *caps, ndr_dtype dtype, ndr_core core)
{
    print_squares(caps, dtype, core);
    for (size_t m = 1; m <= 8; m *= 2) {
        const ndr_operand few_rows = { .rows = m, .cols = 2048 }, few_cols = { .rows = 2048, .cols = m };
        print_variants(caps, &ndr_matmul_operation,
                   &(ndr_matmul_request){ .dtype = dtype, .c = few_rows, .core = core, .depth = 2048 });
        print_variants(caps, &ndr_matmul_operation,
                   &(ndr_matmul_request){ .dtype = dtype, .c = few_cols, .core = core, .depth = 2048 });
    }
}

static void print_fills(const ndr_caps *caps)
{
    for (ndr_dtype dtype = NDR_DTYPE_U32; dtype <= NDR_DTYPE_F64; ++dtype)
        for (int d = NDR_RANDOM_UNIFORM; d <= NDR_RANDOM_PERMUTATION; ++d) {
            if (dtype == NDR_DTYPE_F64 && !caps->info.has_f64) continue; /* refused, as the next are */
            if (dtype < NDR_DTYPE_F32 ? d == NDR_RANDOM_NORMAL : d >= NDR_RANDOM_BELOW) continue;
            print_variants(caps, &ndr_random_operation,
                           &(ndr_random_request){ .dtype = dtype,
                                                  .distribution = (ndr_distribution)d,
                                                  .below = 1000,
                                                  .output = { .cols = 1000 } });
        }
}

static void print_moves(const ndr_caps *caps)
{
    for (ndr_dtype dtype = NDR_DTYPE_U8; dtype <= NDR_DTYPE_U64; dtype += 2) {
        const size_t bytes = ndr_dtype_size(dtype);
        const ndr_array rows = ndr_array_of(NULL, dtype, ndr_range_2d(100, 200));
        ndr_array cols = rows;
        cols.stride[0] = 1, cols.stride[1] = 100;
        const ndr_copy_request transposing = ndr_copy_request_of(&rows, &cols);
        const ndr_gather_request gathering = { .index_dtype = NDR_DTYPE_I32,
                                               .table = { .element_bytes = bytes },
                                               .list = { .cols = 1000 } };
        print_variants(caps, &ndr_array_copy_operation, &transposing);
        print_variants(caps, &ndr_gather_operation, &gathering);
        print_variants(caps, &ndr_scatter_operation, &gathering);
    }
}

static void print_histograms(const ndr_caps *caps)
{
    for (int form = 0; form < 2 * (NDR_BINS_OF_EDGES + 1); ++form) {
        const int bins = form / 2, is_small = form % 2; /* of 8 bits, which have a variant of their own */
        const ndr_dtype dtype = bins == NDR_BINS_OF_REALS ? NDR_DTYPE_F32 : is_small ? NDR_DTYPE_I8 : NDR_DTYPE_I16;
        print_variants(caps, &ndr_histogram_operation,
                       &(ndr_histogram_request){ .dtype = dtype,
                                                 .output_dtype = NDR_DTYPE_U64,
                                                 .bins = (ndr_bins)bins,
                                                 .channels = is_small ? 1 : 3,
                                                 .bin_count = 100,
                                                 .input = { .cols = 1000, .element_bytes = ndr_dtype_size(dtype) } });
    }
}

static void print_device(ndr_device_info info, unsigned c_version, unsigned disabled)
{
    info.has_f64 = !(disabled & NDR_DISABLE_FP64);
    info.has_int64_atomics = !(disabled & NDR_DISABLE_INT64_ATOMICS);
    const bool is_new = c_version >= 300 && !disabled;
    const ndr_caps caps = { .info = info, .c_version = c_version, .orders_device = is_new,
                            .groups_progress = !disabled, .compute_capability = is_new ? 900 : 0,
                            .disabled = disabled, .registers = info.type == NDR_DEVICE_TYPE_GPU ? 1 << 16 : 0 };
    print_reductions(&caps);
    print_numerics(&caps);
    print_fills(&caps);
    print_moves(&caps);
    print_histograms(&caps);
    print_scans(&caps);
    print_line_scans(&caps);
    for (size_t bytes = 1; bytes <= 8; bytes *= 2)
        for (int form = 0; form < 3; ++form)
            print_variants(&caps, &ndr_select_operation,
                           &(ndr_select_request){ .by_runs = form == 1,
                                                  .keeps_others = form == 2,
                                                  .count = 1000000,
                                                  .element_bytes = bytes });
    print_sorts(&caps);
    print_searches(&caps);
    print_products(&caps, NDR_DTYPE_F32, ndr_core_of(0));
    print_batches(&caps);
    print_forms(&caps);
    print_products(&caps, NDR_DTYPE_F32, ndr_core_of(NDR_CORE_AVX512F));
    if (info.has_f64) print_products(&caps, NDR_DTYPE_F64, ndr_core_of(NDR_CORE_AVX512F));
    print_line(&caps, "probe/core.cl", "");
    print_line(&caps, "probe/progress.cl", "");
}

/* Each narrow type with an output, in all forms. */
static void print_narrow(const ndr_caps *caps)
{
    static const ndr_dtype types[][2] = { { NDR_DTYPE_F16, NDR_DTYPE_F16 }, { NDR_DTYPE_BF16, NDR_DTYPE_BF16 },
                                          { NDR_DTYPE_F16, NDR_DTYPE_F32 }, { NDR_DTYPE_I8, NDR_DTYPE_I32 },
                                          { NDR_DTYPE_U8, NDR_DTYPE_I32 } };
    static const size_t sides[] = { 500, 1000, 3000, 4096 };
    for (size_t t = 0; t < COUNT_OF(types); ++t)
        for (size_t i = 0; i < COUNT_OF(sides); ++i) {
            const size_t side = sides[i], bytes = ndr_dtype_size(types[t][0]);
            const ndr_operand in = { .rows = side, .cols = side, .pitch = side, .element_bytes = bytes };
            const ndr_operand out = {
                .rows = side, .cols = side, .pitch = side, .element_bytes = ndr_dtype_size(types[t][1])
            };
            print_variants(caps, &ndr_matmul_operation,
                           &(ndr_matmul_request){ .dtype = types[t][0],
                                                  .output_dtype = types[t][1],
                                                  .a = in,
                                                  .b = in,
                                                  .c = out,
                                                  .transposes_a = i & 1,
                                                  .transposes_b = i & 2,
                                                  .part = (ndr_matrix_part)(i % 3),
                                                  .core = ndr_core_of(0),
                                                  .depth = side });
        }
}

static void print_product(const ndr_caps *caps, ndr_dtype dtype, size_t m, size_t n, size_t k, double alpha)
{
    const size_t bytes = ndr_dtype_size(dtype);
    print_variants(caps, &ndr_matmul_operation,
                   &(ndr_matmul_request){ .dtype = dtype,
                                          .a = { .rows = m, .cols = k, .pitch = k, .element_bytes = bytes },
                                          .b = { .rows = k, .cols = n, .pitch = n, .element_bytes = bytes },
                                          .c = { .rows = m, .cols = n, .pitch = n, .element_bytes = bytes },
                                          .alpha = alpha,
                                          .core = ndr_core_of(0),
                                          .depth = k });
}

static void print_units(void)
{
    /* each tile of `units`, with and without factors */
    static const size_t shapes[][3] = { { 259, 6536, 136 }, { 203, 6536, 115 }, { 331, 8128, 136 },
                                        { 534, 5224, 72 },  { 1660, 2568, 400 }, { 1530, 4104, 136 } };
    ndr_device_info info = devices[1];
    info.warp_size = 32;
    info.has_f64 = true;
    info.global_memory_bytes = info.max_buffer_bytes = (size_t)1 << 30;
    const ndr_caps caps = { .info = info, .c_version = 120, .registers = 1 << 16 };
    print_products(&caps, NDR_DTYPE_F32, ndr_core_of(0));
    print_products(&caps, NDR_DTYPE_F64, ndr_core_of(0));
    print_narrow(&caps);
    for (size_t i = 0; i < 2 * COUNT_OF(shapes); ++i)
        print_product(&caps, NDR_DTYPE_F16, shapes[i / 2][0], shapes[i / 2][1], shapes[i / 2][2], (double)(1 + i % 2));
    print_product(&caps, NDR_DTYPE_F32, 128, 128, 515, 1); /* the other one of `three_parts` */
}

int main(int argc, char **argv)
{
    unsigned everything;
    if (argc == 2 && strcmp(argv[1], "warps") == 0) return print_units(), 0;
    const ndr_status status = ndr_caps_parse_disable(
        "fp64,int64_atomics,sub_groups,float_atomics,memory_order,ptx,progress", &everything);
    if (status != NDR_OK) {
        fprintf(stderr, "options: %s\n", ndr_last_error());
        return 1;
    }
    for (size_t i = 0; i < COUNT_OF(devices); ++i)
        for (unsigned c_version = 120; c_version <= 300; c_version += 180) {
            print_device(devices[i], c_version, 0);
            print_device(devices[i], c_version, everything);
        }
    return 0;
}
