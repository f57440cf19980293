/* blocks.h - block sizes of the products for CPUs. C and OpenCL C compile this file. */
#ifndef NDR_SHARED_BLOCKS_H
#define NDR_SHARED_BLOCKS_H

#define NDR_PACK_ROWS 16     /* rows of B that an item packs: few, so that their pages stay in the TLB */
#define NDR_PACK_PANELS 16   /* panels that an item packs */
#define NDR_PACK_LENGTH 256  /* rows of B that an item packs of one panel, if B is stored by columns */
#define NDR_STRIP_ROWS 8     /* rows of C in an item of the thin product, at most */
#define NDR_STRIP_BYTES 1024 /* of each of them: a run of B that is worth a page of the TLB */

#endif
