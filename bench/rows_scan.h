/* rows_scan.h - the operands of a scan, and of scans along an axis of a matrix, for their rivals. */
#ifndef ROWS_SCAN_H
#define ROWS_SCAN_H

#include "bench.h"

typedef struct scan_shape {
    ndr_dtype dtype; /* F32 or I32 */
    size_t count;
} scan_shape;

/* An inclusive sum of each element and those before it. */
typedef struct scan {
    scan_shape of;
    shared_memory input, output;
} scan;

extern const work scan_work;

typedef struct line_shape {
    size_t rows, cols;
    unsigned axis;
} line_shape;

/* Of f32. */
typedef struct line_scan {
    line_shape of;
    shared_memory input, output;
} line_scan;

extern const work line_work;

#endif
