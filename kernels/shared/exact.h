/* exact.h - the long numbers of exact sums. C and OpenCL C compile this file.
 *
 * `is_64`: of f64, or of f32; `is_dot`: of products, or of elements. */
#ifndef NDR_SHARED_EXACT_H
#define NDR_SHARED_EXACT_H

#define NDR_EXACT_DIGIT 54 /* bits of a part of a window */
#define NDR_EXACT_PARTS(is_64, is_dot) (1 + ((is_64) != 0) + ((is_dot) != 0))

/* The greatest position of the last bit of an element or product, counted from that of the smallest one. */
#define NDR_EXACT_LAST_POSITION(is_64, is_dot) (((is_dot) ? 2 : 1) * ((is_64) ? 2045 : 253))

/* Of 32 bits: those of a window that begins there, and 64 more for the number of elements. */
#define NDR_EXACT_LIMBS(is_64, is_dot) \
    ((NDR_EXACT_LAST_POSITION(is_64, is_dot) + NDR_EXACT_DIGIT * NDR_EXACT_PARTS(is_64, is_dot)) / 32 + 4)

/* In local memory: one more, which is 0. */
#define NDR_EXACT_CELLS(is_64, is_dot) (NDR_EXACT_LIMBS(is_64, is_dot) + 1)

/* Of 32 bits: two for each limb, and what has been seen of infinities and NaN. */
#define NDR_EXACT_WORDS(is_64, is_dot) (2 * NDR_EXACT_LIMBS(is_64, is_dot) + 1)

#define NDR_EXACT_ELEMENTS 128        /* that an item reads between two looks at exponents: of groups of many items */
#define NDR_EXACT_ELEMENTS_ON_CPUS 1024 /* and of one */

#endif
