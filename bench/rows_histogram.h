/* rows_histogram.h - the operands of a histogram, for its rivals. */
#ifndef ROWS_HISTOGRAM_H
#define ROWS_HISTOGRAM_H

#include "bench.h"

typedef struct histogram_shape {
    ndr_dtype dtype; /* U8, of which each value is a bin; or F32 in [0, 1) */
    size_t bins, count;
} histogram_shape;

typedef struct histogram {
    histogram_shape of;
    shared_memory input, counts;
    uint32_t *wanted;
} histogram;

extern const work histogram_work;

#endif
