/* squares.h - squares of 8 lines of 16 bytes, from local memory to the items of a warp, as the mma instructions of
 * NVIDIA take them: inline PTX, from compute capability 7.5 on. */
#ifndef NDR_DETAIL_SQUARES_H
#define NDR_DETAIL_SQUARES_H

#ifdef NDR_PTX
#include "ndr/item.clh"

/* Four squares; items 8 i to 8 i + 7 name the lines of square i. */
NDR_INLINE_ void ndr_matrix_squares_(uint *x, const uint line)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(line)
                 : "memory");
}

/* The same, each turned: elements have two bytes. */
NDR_INLINE_ void ndr_matrix_turned_squares_(uint *x, const uint line)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(line)
                 : "memory");
}

#endif
#endif
