/* core.h - what instructions a CPU's core has, as bits. C and OpenCL C compile this file. */
#ifndef NDR_SHARED_CORE_H
#define NDR_SHARED_CORE_H

#define NDR_CORE_AVX512F 1u
#define NDR_CORE_AVX2 2u
#define NDR_CORE_FMA 4u
#define NDR_CORE_AVX 8u
#define NDR_CORE_SSE2 16u
#define NDR_CORE_NEON 32u
#define NDR_CORE_AARCH64 64u

#endif
