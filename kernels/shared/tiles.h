/* tiles.h - the tiles of reductions by groups of many items. C and OpenCL C compile this file. */
#ifndef NDR_SHARED_TILES_H
#define NDR_SHARED_TILES_H

#define NDR_TILE_VECTOR_BYTES 16
#define NDR_TILE_VECTORS 4 /* of each item; a power of two */
#define NDR_TILE_ROW 64    /* tiles that an item sums before it adds them to its total */

#endif
