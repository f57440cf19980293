/* options.c - print what the bundled kernels are built with: a file under kernels/, a tab, the build options.
 *
 * For a CPU, a GPU, one with little local memory and one with groups of one item, and each of them under NDR_DISABLE
 * with every word; as OpenCL C 1.2 and 3.0. They are made up; sizes and options come from the functions that the
 * operations use. A line may come twice. */
#include "ops/ops.h"

#include <stdio.h>

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

static void print_reduction(const ndr_caps *caps, ndr_reduce_variant variant, ndr_dtype dtype, ndr_op op)
{
    const ndr_reduce_tuning tuning = ndr_tune_reduce(&caps->info, variant, NDR_REDUCE_TREE, 1000000);
    const bool chunks = tuning.variant == NDR_REDUCE_CHUNKS;
    char options[NDR_OPTIONS_SIZE];
    ndr_reduce_options(&tuning, dtype, op, options);
    print_line(caps, chunks ? "reduce_chunks.cl" : "reduce_tree.cl", options);
    print_line(caps, "reduce_recursive.cl", options);
    if (ndr_dtype_size(dtype) == 8 && !caps->info.has_int64_atomics) return; /* refused */
    print_line(caps, chunks ? "reduce_chunks_atomic.cl" : "reduce_atomic.cl", options);
}

static void print_reductions(const ndr_caps *caps)
{
    for (ndr_dtype dtype = NDR_DTYPE_I32; dtype <= NDR_DTYPE_F64; ++dtype) {
        if (dtype == NDR_DTYPE_F64 && !caps->info.has_f64) continue; /* refused */
        for (ndr_op op = NDR_OP_SUM; op <= NDR_OP_MAX; ++op)
            for (unsigned variant = NDR_REDUCE_GROUPS; variant <= NDR_REDUCE_CHUNKS; ++variant)
                print_reduction(caps, (ndr_reduce_variant)variant, dtype, op);
    }
}

static void print_products(const ndr_caps *caps, ndr_dtype dtype)
{
    for (unsigned variant = NDR_GEMM_TILED; variant <= NDR_GEMM_THIN; ++variant)
        for (size_t m = 1; m <= 8; m *= 2) {
            const ndr_gemm_tuning tuning =
                ndr_tune_gemm(&caps->info, (ndr_gemm_variant)variant, ndr_dtype_size(dtype), m, 2048, 2048);
            char options[NDR_OPTIONS_SIZE];
            ndr_gemm_options(&tuning, dtype, options);
            print_line(caps, tuning.variant == NDR_GEMM_TILED ? "gemm_tiled.cl" : "gemm_cpu.cl", options);
        }
}

static void print_device(ndr_device_info info, unsigned c_version, unsigned disabled)
{
    info.has_f64 = !(disabled & NDR_DISABLE_FP64);
    info.has_int64_atomics = !(disabled & NDR_DISABLE_INT64_ATOMICS);
    const ndr_caps caps = { .info = info, .c_version = c_version, .disabled = disabled };
    print_reductions(&caps);
    print_products(&caps, NDR_DTYPE_F32);
    if (info.has_f64) print_products(&caps, NDR_DTYPE_F64);
}

int main(void)
{
    unsigned everything;
    const ndr_status status = ndr_caps_parse_disable(
        "fp64,int64_atomics,sub_groups,float_atomics,memory_order,ptx", &everything);
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
