/* split.h - how kernels/matmul/split.cl stores the parts of A and B. C and OpenCL C compile this file.
 *
 * Rows of A and columns of B are lines along k. A slab is SPLIT_DEPTH steps of a block of lines. The slabs of a block
 * follow each other, and each one holds
 *
 *     [part][line][64 bytes]        a bfloat16 for each step; the 16-byte quarter q is at q ^ (line / 2 % 4)
 *
 * where part 0 is the element rounded to a bfloat16, part 1 what is left of it, rounded, and part 2 the rest. */
#ifndef NDR_SHARED_SPLIT_H
#define NDR_SHARED_SPLIT_H

#define NDR_SPLIT_PARTS 3
#define NDR_SPLIT_DEPTH 32 /* steps of a slab */
#define NDR_SPLIT_ROWS 128 /* lines of a block of A, rows of a tile of C */
#define NDR_SPLIT_LINE_BYTES (NDR_SPLIT_PARTS * NDR_SPLIT_DEPTH * 2) /* of a line in a slab */
#define NDR_SPLIT_CHUNK 64 /* lines that a group of the first kernel splits */

/* Marks that the first kernel sets in the workspace. Parts lose the bits of an element below 2^-133. */
#define NDR_SPLIT_BEYOND 0  /* infinities, NaN, and what becomes infinite when it is rounded to a bfloat16 */
#define NDR_SPLIT_A_TINY 1  /* an element of A below 2^-110, but not 0 */
#define NDR_SPLIT_A_LARGE 2 /* an element of A of at least 2^8 */
#define NDR_SPLIT_B_TINY 3
#define NDR_SPLIT_B_LARGE 4
#define NDR_SPLIT_MARKS 5

#endif
