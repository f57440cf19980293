/* cublas.c - cuBLAS: products on NVIDIA's GPUs, in the precision of their type, or in TF32 if the row is at TF32. */
#include "cuda.h"
#include "gpu.h"
#include "rival.h"

#include <cublas_v2.h>
#include <stdlib.h>

static cublasHandle_t handle(void)
{
    static cublasHandle_t made;
    if (made) return made;
    MUST_CUDA(cublasCreate(&made));
    MUST_CUDA(cublasSetStream(made, cuda_stream()));
    return made;
}

/* ---- operands ---- */

/* The first element of a matrix that takes so many bytes; `offset` elements lie before it. */
static char *matrix(const gpu_matmul *j, size_t slot, size_t bytes, size_t element_bytes)
{
    const size_t before = j->offset * element_bytes;
    return (char *)cuda_memory(slot, before + bytes) + before;
}

static char *a_of(const gpu_matmul *j)
{
    return matrix(j, CUDA_A, matmul_a_bytes(&j->on_host), j->on_host.element_bytes);
}

static char *b_of(const gpu_matmul *j)
{
    return matrix(j, CUDA_B, matmul_b_bytes(&j->on_host), j->on_host.element_bytes);
}

static char *c_of(const gpu_matmul *j)
{
    return matrix(j, CUDA_C, matmul_c_bytes(&j->on_host), j->on_host.c_element_bytes);
}

static void upload(void *job)
{
    static size_t uploaded;
    const gpu_matmul *j = job;
    if (uploaded == j->number) return;
    cuda_write(a_of(j), j->on_host.a.host, matmul_a_bytes(&j->on_host));
    cuda_write(b_of(j), j->on_host.b.host, matmul_b_bytes(&j->on_host));
    uploaded = j->number;
}

/* b by columns: k elements of each lie side by side. */
static char *turned_b_of(const gpu_matmul *j)
{
    return (char *)cuda_memory(CUDA_TURNED, j->on_host.of.n * j->on_host.of.k * j->on_host.element_bytes);
}

/* Of bytes. */
static void upload_turned(void *job)
{
    static size_t uploaded;
    const gpu_matmul *j = job;
    const matmul *x = &j->on_host;
    const size_t n = x->of.n, k = x->of.k;
    upload(job);
    if (uploaded == j->number) return;
    char *const turned = allocate(n * k);
    for (size_t i = 0; i < n; ++i)
        for (size_t p = 0; p < k; ++p) turned[i * k + p] = ((const char *)x->b.host)[p * x->b_pitch + i];
    cuda_write(turned_b_of(j), turned, n * k);
    free(turned);
    uploaded = j->number;
}

static void reset(void *job)
{
    const gpu_matmul *j = job;
    const size_t bytes = matmul_c_bytes(&j->on_host);
    if (j->on_host.of.beta != 0) cuda_write(c_of(j), j->on_host.c_before, bytes);
    else cuda_fill_ff(c_of(j), bytes);
}

static void download(void *job)
{
    const gpu_matmul *j = job;
    cuda_read(j->on_host.c.host, c_of(j), matmul_c_bytes(&j->on_host));
}

/* ---- products ---- */

/* cuBLAS's matrices are column-major: it computes the transpose of c from those of b and a. */
#define GEMM(T, prefix, alpha_, beta_)                                                                                 \
    const T *a = (const T *)(const void *)a_of(j), *b = (const T *)(const void *)b_of(j);                              \
    T *c = (T *)(void *)c_of(j);                                                                                       \
    const T alpha = alpha_, beta = beta_;                                                                              \
    if (x->count == 1)                                                                                                 \
        MUST_CUDA(                                                                                                     \
            cublas##prefix##gemm(handle(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &alpha, b, ldb, a, lda, &beta, c, ldc)); \
    else                                                                                                               \
        MUST_CUDA(cublas##prefix##gemmStridedBatched(handle(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &alpha, b, ldb,      \
                                                     (long long)x->b_stride, a, lda, (long long)x->a_stride, &beta, c, \
                                                     ldc, (long long)x->c_stride, (int)x->count));

static cudaDataType_t type_of(ndr_dtype dtype)
{
    switch (dtype) {
    case NDR_DTYPE_F16: return CUDA_R_16F;
    case NDR_DTYPE_BF16: return CUDA_R_16BF;
    case NDR_DTYPE_I8: return CUDA_R_8I;
    case NDR_DTYPE_I32: return CUDA_R_32I;
    default: return CUDA_R_32F;
    }
}

/* Of half, bfloat16 and bytes: sums in float, or in int. With b as it is, or as a transposed copy. */
static void enqueue_narrow(const gpu_matmul *j, const char *b, size_t b_pitch, bool b_is_turned)
{
    const matmul *x = &j->on_host;
    const bool is_integer = x->of.dtype == NDR_DTYPE_I8;
    const float alpha = (float)x->of.alpha, beta = (float)x->of.beta;
    const int whole_alpha = (int)alpha, whole_beta = (int)beta;
    const void *const factors[] = { is_integer ? (const void *)&whole_alpha : &alpha,
                                    is_integer ? (const void *)&whole_beta : &beta };
    const cublasOperation_t a_form = x->of.transposes_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t b_form = b_is_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cudaDataType_t in = type_of(x->of.dtype), out = type_of(x->output);
    const cublasComputeType_t sums = is_integer ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F;
    const int m = (int)x->of.m, n = (int)x->of.n, k = (int)x->of.k;
    const int lda = (int)x->a_pitch, ldb = (int)b_pitch, ldc = (int)x->c_pitch;
    if (x->count == 1)
        MUST_CUDA(cublasGemmEx(handle(), b_form, a_form, n, m, k, factors[0], b, in, ldb, a_of(j), in, lda, factors[1],
                               c_of(j), out, ldc, sums, CUBLAS_GEMM_DEFAULT));
    else
        MUST_CUDA(cublasGemmStridedBatchedEx(handle(), b_form, a_form, n, m, k, factors[0], b, in, ldb,
                                             (long long)x->b_stride, a_of(j), in, lda, (long long)x->a_stride,
                                             factors[1], c_of(j), out, ldc, (long long)x->c_stride, (int)x->count, sums,
                                             CUBLAS_GEMM_DEFAULT));
}

static void enqueue(void *job)
{
    const gpu_matmul *j = job;
    const matmul *x = &j->on_host;
    const int m = (int)x->of.m, n = (int)x->of.n, k = (int)x->of.k;
    const int lda = (int)x->a_pitch, ldb = (int)x->b_pitch, ldc = (int)x->c_pitch;
    const bool is_tf32 = x->accuracy == NDR_ACCURACY_TF32;
    MUST_CUDA(cublasSetMathMode(handle(), is_tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));
    if (x->of.dtype == NDR_DTYPE_F32) {
        GEMM(float, S, (float)x->of.alpha, (float)x->of.beta)
    } else if (x->of.dtype == NDR_DTYPE_F64) {
        GEMM(double, D, x->of.alpha, x->of.beta)
    } else {
        enqueue_narrow(j, b_of(j), x->b_pitch, x->of.transposes_b);
    }
}

static void enqueue_turned(void *job)
{
    const gpu_matmul *j = job;
    enqueue_narrow(j, turned_b_of(j), j->on_host.of.k, true);
}

static double time_one(void *job) { return cuda_time_one(enqueue, job); }

static double time_cublas(void *job)
{
    static const gpu_calls calls = { upload, reset, enqueue, time_one, cuda_finish, download };
    return gpu_time(&calls, job, ((gpu_matmul *)job)->back_to_back);
}

static double time_one_turned(void *job) { return cuda_time_one(enqueue_turned, job); }

static double time_turned(void *job)
{
    static const gpu_calls calls = { upload_turned, reset, enqueue_turned, time_one_turned, cuda_finish, download };
    return gpu_time(&calls, job, ((gpu_matmul *)job)->back_to_back);
}

/* ---- the rival ---- */

static void describe(void)
{
    int major = 0, minor = 0, patch = 0;
    cublasGetProperty(MAJOR_VERSION, &major);
    cublasGetProperty(MINOR_VERSION, &minor);
    cublasGetProperty(PATCH_LEVEL, &patch);
    printf("%d.%d.%d%s", major, minor, patch, cuda_works_here() ? "" : ", left out: CUDA finds no device");
}

const rival rival_cublas = {
    .name = "cuBLAS",
    .describe = describe,
    .works_here = cuda_works_here,
    .entries = { { &gpu_matmul_work, { .name = "cuBLAS", .time = time_cublas, .leaves_result = true } },
                 { &gpu_matmul_work, { .name = "cuBLAS b k-major", .time = time_turned, .leaves_result = true } } },
};
