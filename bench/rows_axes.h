/* rows_axes.h - the operands of a sum along an axis of a matrix, for its rivals. */
#ifndef ROWS_AXES_H
#define ROWS_AXES_H

#include "bench.h"

/* Of floats. Axis 1 gives the sums of the rows, axis 0 those of the columns. */
typedef struct axes_shape {
    size_t rows, cols;
    unsigned axis;
} axes_shape;

typedef struct axes {
    axes_shape of;
    shared_memory input, output;
} axes;

extern const work axes_work;

#endif
