/* units.h - what kernels/matmul/units.cl has in the workspace. C and OpenCL C compile this file.
 *
 *     | maps of each group | copies of A and B | sums of tiles in parts | */
#ifndef NDR_SHARED_UNITS_H
#define NDR_SHARED_UNITS_H

#define NDR_UNITS_MAPS 3 /* maps of a group: of A, B and C */
#define NDR_UNITS_MAP_BYTES 128
#define NDR_UNITS_BAND 12 /* rows of tiles computed together: the cache keeps what they share */
#define NDR_UNITS_SHARES 4 /* of the parts of a tile: each share is added by other items of a group */
#define NDR_UNITS_CHUNK 64 /* rows and columns that a group of gemm_units_bring() copies */

#endif
