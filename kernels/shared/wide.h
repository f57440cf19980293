/* wide.h - sizes in kernels/matmul/wide.cl. C and OpenCL C compile this file. */
#ifndef NDR_SHARED_WIDE_H
#define NDR_SHARED_WIDE_H

#define NDR_WIDE_SHARES 4 /* of the parts of a tile: each share is added by other items of a group */

/* Local memory: stages of three parts of A, 64 steps of 2 bytes; stages of elements of A, 64 steps of 4 bytes. */
#define NDR_WIDE_STAGES(rows) ((rows) == 64 ? 4 : 2)
#define NDR_WIDE_FETCHED_STAGES 3
#define NDR_WIDE_ROW_BYTES(rows) (NDR_WIDE_STAGES(rows) * 3 * 128 + NDR_WIDE_FETCHED_STAGES * 256)
#define NDR_WIDE_OTHER_BYTES 128 /* barriers and marks */

#endif
