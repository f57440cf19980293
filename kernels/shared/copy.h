/* copy.h - sizes of the kernel in matmul/blocked.cl that copies a matrix, for its groups. */
#ifndef NDR_SHARED_COPY_H
#define NDR_SHARED_COPY_H

#define NDR_COPY_ITEMS 128 /* of a group, side by side along a row */
#define NDR_COPY_ROWS 8   /* of an item */

#endif
