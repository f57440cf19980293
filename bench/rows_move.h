/* rows_move.h - the operands of transposing and gathering, for their rivals. */
#ifndef ROWS_MOVE_H
#define ROWS_MOVE_H

#include "bench.h"

typedef struct move_shape {
    size_t rows, cols; /* of 32-bit elements; to gather: 1 row, of random elements */
} move_shape;

typedef struct move {
    move_shape of;
    shared_memory input, indexes, output; /* indexes: to gather */
} move;

extern const work transpose_work, gather_work;

#endif
