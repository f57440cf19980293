/* cub.c - CUB: reductions on NVIDIA's GPUs. */
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

/* ---- the rival ---- */

static void describe(void)
{
    printf("of CUDA %s%s", BENCH_CUDA_VERSION, cuda_works_here() ? "" : ", left out: CUDA finds no device");
}

const rival rival_cub = {
    .name = "CUB",
    .describe = describe,
    .works_here = cuda_works_here,
    .entries = { { &gpu_reduce_work, { .name = "CUB", .time = time_cub, .leaves_result = true } } },
};
