/* core.cl - what instructions the device's compiler uses, as far as its predefined macros show. It is built and never
 * launched: the host reads the required local size, which is the bits of shared/core.h, plus 1. */
#include "shared/core.h"

#ifdef __AVX512F__
#define AVX512F NDR_CORE_AVX512F
#else
#define AVX512F 0
#endif
#ifdef __AVX2__
#define AVX2 NDR_CORE_AVX2
#else
#define AVX2 0
#endif
#ifdef __FMA__
#define FMA NDR_CORE_FMA
#else
#define FMA 0
#endif
#ifdef __AVX__
#define AVX NDR_CORE_AVX
#else
#define AVX 0
#endif
#ifdef __SSE2__
#define SSE2 NDR_CORE_SSE2
#else
#define SSE2 0
#endif
#ifdef __ARM_NEON
#define NEON NDR_CORE_NEON
#else
#define NEON 0
#endif
#ifdef __aarch64__
#define AARCH64 NDR_CORE_AARCH64
#else
#define AARCH64 0
#endif

/* The parameter is there because some compilers refuse a kernel that has this attribute and no parameter. */
kernel __attribute__((reqd_work_group_size(1 + AVX512F + AVX2 + FMA + AVX + SSE2 + NEON + AARCH64, 1, 1))) void
probe_core(global uint *unused)
{
    (void)unused;
}
