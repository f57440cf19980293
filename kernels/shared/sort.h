/* sort.h - the digits of a radix sort. C and OpenCL C compile this file. */
#ifndef NDR_SHARED_SORT_H
#define NDR_SHARED_SORT_H

#define NDR_SORT_BITS 8 /* of a pass, at most */
#define NDR_SORT_DIGITS (1 << NDR_SORT_BITS)
#define NDR_SORT_STEP_BITS 4 /* of a step inside a tile */
#define NDR_SORT_STEP_DIGITS (1 << NDR_SORT_STEP_BITS)

/* The lowest bit of pass p: the bits are divided evenly. */
#define NDR_SORT_SHIFT(bits, passes, p) ((p) * (bits) / (passes))

#endif
