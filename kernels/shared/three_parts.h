/* three_parts.h - sizes in kernels/matmul/three_parts.clh and three_parts.cl. C and OpenCL C compile this file. */
#ifndef NDR_SHARED_THREE_PARTS_H
#define NDR_SHARED_THREE_PARTS_H

#define NDR_THREE_PARTS_SHARES 4 /* of the parts of a tile: each share is added by other items of a group */

/* Local memory: stages of three parts of A, 64 steps of 2 bytes; stages of elements of A, 64 steps of 4 bytes. */
#define NDR_THREE_PARTS_STAGES(rows) ((rows) == 64 ? 4 : 2)
#define NDR_THREE_PARTS_FETCHED_STAGES 3
#define NDR_THREE_PARTS_ROW_BYTES(rows) (NDR_THREE_PARTS_STAGES(rows) * 3 * 128 + NDR_THREE_PARTS_FETCHED_STAGES * 256)
#define NDR_THREE_PARTS_OTHER_BYTES 136 /* barriers and marks */

#endif
