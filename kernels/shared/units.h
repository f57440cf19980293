/* units.h - what kernels/matmul/units.cl has in the workspace. C and OpenCL C compile this file.
 *
 *     | maps of each group | copies of A and B | sums of tiles in parts | */
#ifndef NDR_SHARED_UNITS_H
#define NDR_SHARED_UNITS_H

#define NDR_UNITS_MAPS 3 /* maps of a group: of A, B and C */
#define NDR_UNITS_MAP_BYTES 128
#define NDR_UNITS_BAND 12 /* rows of tiles computed together: the cache keeps what they share */
#define NDR_UNITS_FAN 8 /* parts of a tile that a team adds */
#define NDR_UNITS_CHUNK 64 /* rows and columns that a group of gemm_units_bring() copies */

/* Counters of a block of a tile with so many parts, at most 512: one for FAN parts, one for FAN of their sums, ... */
#define NDR_UNITS_LEVEL(parts) (((parts) + NDR_UNITS_FAN - 1) / NDR_UNITS_FAN)
#define NDR_UNITS_COUNTERS(parts) (NDR_UNITS_LEVEL(parts) + NDR_UNITS_LEVEL(NDR_UNITS_LEVEL(parts)) + 1)

/* The numbers of a launch, as one argument: drivers take longer for each argument. alpha and beta as bits. */
#ifdef __OPENCL_C_VERSION__
#define NDR_UNITS_LONG ulong
#define NDR_UNITS_WORD uint
#else
#include <stdint.h>
#define NDR_UNITS_LONG uint64_t
#define NDR_UNITS_WORD uint32_t
#endif
typedef struct ndr_units_numbers {
    NDR_UNITS_LONG a_offset, a_pitch, a_stride; /* in elements */
    NDR_UNITS_LONG b_offset, b_pitch, b_stride;
    NDR_UNITS_LONG c_offset, c_pitch, c_stride;
    NDR_UNITS_LONG sums; /* bytes behind the workspace's head */
    NDR_UNITS_WORD m, n, k, alpha, beta;
    NDR_UNITS_WORD a_count, b_count, c_count; /* matrices */
    NDR_UNITS_WORD tiles, units, whole, parts, part_stages, unused; /* as in units.cl */
} ndr_units_numbers;

#endif
