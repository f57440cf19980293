/* core.cl - what instructions the device's compiler uses, as far as its predefined macros show. It is built, alone or
 * in the program of a product, and never launched: the host reads the required local size, which is the bits of
 * shared/core.h, plus 1. */
#ifndef PROBE_CORE_CL
#define PROBE_CORE_CL

#include "shared/core.h"

#ifdef __AVX512F__
#define HAS_AVX512F NDR_CORE_AVX512F
#else
#define HAS_AVX512F 0
#endif
#ifdef __AVX2__
#define HAS_AVX2 NDR_CORE_AVX2
#else
#define HAS_AVX2 0
#endif
#ifdef __FMA__
#define HAS_FMA NDR_CORE_FMA
#else
#define HAS_FMA 0
#endif
#ifdef __AVX__
#define HAS_AVX NDR_CORE_AVX
#else
#define HAS_AVX 0
#endif
#ifdef __SSE2__
#define HAS_SSE2 NDR_CORE_SSE2
#else
#define HAS_SSE2 0
#endif
#ifdef __ARM_NEON
#define HAS_NEON NDR_CORE_NEON
#else
#define HAS_NEON 0
#endif
#ifdef __aarch64__
#define HAS_AARCH64 NDR_CORE_AARCH64
#else
#define HAS_AARCH64 0
#endif

/* The parameter is there because some compilers refuse a kernel that has this attribute and no parameter. */
#define FEATURES (HAS_AVX512F + HAS_AVX2 + HAS_FMA + HAS_AVX + HAS_SSE2 + HAS_NEON + HAS_AARCH64)
kernel __attribute__((reqd_work_group_size(1 + FEATURES, 1, 1))) void probe_core(global uint *unused)
{
    (void)unused;
}

#endif
