/* split.h - how kernels/matmul/halves.cl stores the parts of A and B. C and OpenCL C compile this file.
 *
 * Rows of A and columns of B are lines along k. A slab is NDR_SPLIT_DEPTH steps of a block of lines, a stretch 2 or 3
 * slabs; along a depth below NDR_SPLIT_SHORT only the first one has elements. The stretches of a block follow each
 * other, and each one holds
 *
 *     [slab][part][line][64 bytes]  16 bits for each step; the 16-byte quarter q is at q ^ (line / 2 % 4)
 *     [line]                        a float, the power of two by which to multiply them
 *
 * where part 0 is the element rounded to a half, and part 1, of two, what is left of it times 2^11, rounded. */
#ifndef NDR_SHARED_SPLIT_H
#define NDR_SHARED_SPLIT_H

#define NDR_SPLIT_DEPTH 32 /* steps of a slab */
#define NDR_SPLIT_ROWS 128 /* lines of a block of A, rows of a tile of C */
#define NDR_SPLIT_CHUNK 64 /* lines that a group of the first kernel splits */
#define NDR_SPLIT_SLABS(parts) (4 - (parts)) /* of a stretch */
#define NDR_SPLIT_SHORT 96 /* below it the proof needs stretches of 32 steps */
#define NDR_SPLIT_STEPS(parts, k) (((k) < NDR_SPLIT_SHORT ? 1 : NDR_SPLIT_SLABS(parts)) * NDR_SPLIT_DEPTH)
#define NDR_SPLIT_LINE_BYTES(parts) (NDR_SPLIT_SLABS(parts) * (parts) * NDR_SPLIT_DEPTH * 2 + 4)

/* Marks that the first kernel sets in the workspace. Elements are multiplied by a power of two, so that the largest one
 * of a line's stretch is in [2^14, 2^15). */
#define NDR_HALVES_BEYOND 0 /* a largest one below 2^-49, but not 0, or of at least 2^60; infinities and NaN */
#define NDR_HALVES_COARSE 1 /* an element below HALVES_FINE, but not 0 */
#define NDR_HALVES_SPARSE 2 /* a line's stretch of which less than 3/4 is at least HALVES_LARGE, but not all zeros */
#define NDR_HALVES_MARKS 3

#define NDR_HALVES_FINE(parts) ((parts) == 2 ? 0x1p-15f : 0x1p-14f) /* a normal half from 2^-14 on */
#define NDR_HALVES_LARGE 0x1p6f

#endif
