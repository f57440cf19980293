/* cublas.c - cuBLAS: products on NVIDIA's GPUs, in the precision of their type, or in TF32 if the row is at TF32. */
#include "cuda.h"
#include "gpu.h"
#include "rival.h"

#include <cublas_v2.h>

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
static char *matrix(const gpu_matmul *j, size_t slot, size_t bytes)
{
    const size_t before = j->offset * j->on_host.element_bytes;
    return (char *)cuda_memory(slot, before + bytes) + before;
}

static char *a_of(const gpu_matmul *j) { return matrix(j, CUDA_A, matmul_a_bytes(&j->on_host)); }
static char *b_of(const gpu_matmul *j) { return matrix(j, CUDA_B, matmul_b_bytes(&j->on_host)); }
static char *c_of(const gpu_matmul *j) { return matrix(j, CUDA_C, matmul_c_bytes(&j->on_host)); }

static void upload(void *job)
{
    static size_t uploaded;
    const gpu_matmul *j = job;
    if (uploaded == j->number) return;
    cuda_write(a_of(j), j->on_host.a.host, matmul_a_bytes(&j->on_host));
    cuda_write(b_of(j), j->on_host.b.host, matmul_b_bytes(&j->on_host));
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
    } else {
        GEMM(double, D, x->of.alpha, x->of.beta)
    }
}

static double time_one(void *job) { return cuda_time_one(enqueue, job); }

static double time_cublas(void *job)
{
    static const gpu_calls calls = { upload, reset, enqueue, time_one, cuda_finish, download };
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
    .entries = { { &gpu_matmul_work, { .name = "cuBLAS", .time = time_cublas, .leaves_result = true } } },
};
