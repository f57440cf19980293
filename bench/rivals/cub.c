/* cub.c - CUB: reductions, scans, sorts and histograms on NVIDIA's GPUs. */
#include "cuda.h"
#include "gpu.h"
#include "rival.h"

/* ---- operands ---- */

static char *input_of(const gpu_reduction *j)
{
    return cuda_memory(CUDA_INPUT, j->of.count * ndr_dtype_size(j->of.dtype));
}

static void *output_of(const gpu_reduction *j) { return cuda_memory(CUDA_OUTPUT, sizeof j->result); }

static void upload(void *job)
{
    static size_t uploaded;
    const gpu_reduction *j = job;
    if (uploaded == j->number) return;
    const size_t bytes = j->of.count * ndr_dtype_size(j->of.dtype);
    cuda_write(input_of(j), j->pattern, j->pattern_bytes);
    for (size_t have = j->pattern_bytes; have < bytes; have *= 2) cuda_copy(input_of(j) + have, input_of(j), have);
    uploaded = j->number;
}

static void reset(void *job) { cuda_fill_ff(output_of(job), sizeof((gpu_reduction *)job)->result); }

static void download(void *job)
{
    gpu_reduction *j = job;
    cuda_read(&j->result, output_of(j), sizeof j->result);
}

/* ---- reductions ---- */

typedef int reduce_function(int op, const void *input, void *output, size_t count, void *stream); /* cub.cu */
reduce_function cub_reduce_f32, cub_reduce_f64, cub_reduce_i32, cub_reduce_i64;

static reduce_function *function_of(ndr_dtype dtype)
{
    return dtype == NDR_DTYPE_F32   ? cub_reduce_f32
           : dtype == NDR_DTYPE_F64 ? cub_reduce_f64
           : dtype == NDR_DTYPE_I32 ? cub_reduce_i32
                                    : cub_reduce_i64;
}

static void enqueue(void *job)
{
    const gpu_reduction *j = job;
    MUST_CUDA(function_of(j->of.dtype)((int)j->of.op, input_of(j), output_of(j), j->of.count, cuda_stream()));
}

static double time_one(void *job) { return cuda_time_one(enqueue, job); }

static double time_cub(void *job)
{
    static const gpu_calls calls = { upload, reset, enqueue, time_one, cuda_finish, download };
    return gpu_time(&calls, job, ((gpu_reduction *)job)->of.back_to_back);
}

/* ---- operations ---- */

int cub_scan(int is_f32, const void *input, void *output, size_t count, void *stream); /* cub_scan.cu and so on */
int cub_sort(const uint32_t *keys, uint32_t *sorted_keys, const uint32_t *values, uint32_t *sorted_values, size_t count,
             void *stream);
int cub_histogram(const unsigned char *input, uint32_t *output, size_t count, void *stream);

static void operation_upload(void *job)
{
    static size_t uploaded;
    const gpu_operation *j = job;
    if (uploaded == j->number) return;
    cuda_write(cuda_memory(CUDA_INPUT, j->input_bytes), j->input, j->input_bytes);
    if (j->values) cuda_write(cuda_memory(CUDA_VALUES, j->input_bytes), j->values, j->input_bytes);
    uploaded = j->number;
}

static void operation_reset(void *job)
{
    const gpu_operation *j = job;
    cuda_fill_ff(cuda_memory(CUDA_OUTPUT, j->output_bytes), j->output_bytes);
}

static void operation_enqueue(void *job)
{
    const gpu_operation *j = job;
    void *const in = cuda_memory(CUDA_INPUT, j->input_bytes), *const out = cuda_memory(CUDA_OUTPUT, j->output_bytes);
    void *const values = j->values ? cuda_memory(CUDA_VALUES, j->input_bytes) : NULL;
    void *const sorted = j->values ? cuda_memory(CUDA_SORTED, j->input_bytes) : NULL;
    if (j->of.kind == GPU_SCAN) MUST_CUDA(cub_scan(j->of.dtype == NDR_DTYPE_F32, in, out, j->count, cuda_stream()));
    else if (j->of.kind == GPU_HISTOGRAM) MUST_CUDA(cub_histogram(in, out, j->count, cuda_stream()));
    else MUST_CUDA(cub_sort(in, out, values, sorted, j->count, cuda_stream()));
}

static double operation_time_one(void *job) { return cuda_time_one(operation_enqueue, job); }

static void operation_download(void *job)
{
    gpu_operation *j = job;
    if (!gpu_operation_is_checked(j)) return;
    cuda_read(j->output, cuda_memory(CUDA_OUTPUT, j->output_bytes), j->output_bytes);
    if (j->values) cuda_read(j->sorted, cuda_memory(CUDA_SORTED, j->input_bytes), j->input_bytes);
}

static double time_operation(void *job)
{
    static const gpu_calls calls = { operation_upload,   operation_reset, operation_enqueue,
                                     operation_time_one, cuda_finish,     operation_download };
    return gpu_time(&calls, job, ((gpu_operation *)job)->of.back_to_back);
}

/* ---- the rival ---- */

static void describe(void)
{
    printf("of CUDA %s%s", BENCH_CUDA_VERSION, cuda_works_here() ? "" : ", left out: CUDA finds no device");
}

const rival rival_cub = {
    .name = "CUB",
    .describe = describe,
    .works_here = cuda_works_here,
    .entries = { { &gpu_reduce_work, { .name = "CUB", .time = time_cub, .leaves_result = true } },
                 { &gpu_operation_work, { .name = "CUB", .time = time_operation, .leaves_result = true } } },
};
