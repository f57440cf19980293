/* openblas.c - OpenBLAS: products, and sums of absolute values. */
#define _POSIX_C_SOURCE 200809L
#include "rival.h"
#include "rows_matmul.h"
#include "rows_reduce.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* OpenBLAS 0.3.21 uses the kernels of a Prescott (2004) on a CPU that it does not recognise. This is the best of its
 * cores for such a CPU; NULL if OpenBLAS recognises the CPU. */
static const char *replacement_core(void)
{
#ifdef __x86_64__
    const char *core = openblas_get_corename();
    if (strcmp(core, "Prescott") != 0 && strcmp(core, "Generic") != 0) return NULL;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
    return NULL;
}

static void prepare(void)
{
    const char *core = replacement_core();
    if (core) setenv("OPENBLAS_CORETYPE", core, 0);
    setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0); /* idle threads spin for 2^20 ticks instead of 2^26 */
}

static void describe(void)
{
    printf("%s, core %s, %d threads", openblas_get_config(), openblas_get_corename(), openblas_get_num_threads());
}

static void multiply(const matmul *j, size_t i)
{
    const matmul_shape *s = &j->of;
    const void *a = (const char *)j->a.host + i * j->a_stride * j->element_bytes;
    const void *b = (const char *)j->b.host + i * j->b_stride * j->element_bytes;
    void *c = (char *)j->c.host + i * j->c_stride * j->element_bytes;
    const int m = (int)s->m, n = (int)s->n, k = (int)s->k;
    const int lda = (int)j->a_pitch, ldb = (int)j->b_pitch, ldc = (int)j->c_pitch;
    if (s->dtype == NDR_DTYPE_F32)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, (float)s->alpha, a, lda, b, ldb,
                    (float)s->beta, c, ldc);
    else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, s->alpha, a, lda, b, ldb, s->beta, c, ldc);
}

/* Uses only shape, pitches, strides and host memory of the job: rows_matmul.c checks all results with it. */
static void run_gemm(void *job)
{
    const matmul *j = job;
    for (size_t i = 0; i < j->count; ++i) multiply(j, i);
}

#ifdef _OPENMP
static void run_gemm_openmp(void *job)
{
    const matmul *j = job;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < j->count; ++i) multiply(j, i);
}
#endif

static void run_sasum(void *job)
{
    reduction *j = job;
    *(float *)j->output.host = cblas_sasum((int)j->of.count, take_host(j), 1);
}

const rival rival_openblas = {
    .name = "OpenBLAS",
    .describe = describe,
    .prepare = prepare,
    .entries = { { &matmul_work, { .name = "OpenBLAS", .run = run_gemm } },
#ifdef _OPENMP
                 { &matmul_work, { .name = "OpenBLAS by OpenMP", .run = run_gemm_openmp } },
#endif
                 { &reduce_work, { .name = "OpenBLAS sasum", .run = run_sasum } } },
};
