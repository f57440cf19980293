/* blocks.h - how the products for CPUs divide their matrices. C and OpenCL C compile this file. */
#ifndef NDR_SHARED_BLOCKS_H
#define NDR_SHARED_BLOCKS_H

#define NDR_BLOCK_ROWS 8    /* of C that an item keeps in registers */
#define NDR_PACK_ROWS 16    /* of B that an item packs: few enough that their pages stay at hand while it goes along */
#define NDR_PACK_PANELS 16  /* them, panel by panel */
#define NDR_STRIP_VECTORS 16 /* of each row of C that an item of the thin product keeps */

#endif
