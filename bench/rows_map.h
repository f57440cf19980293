/* rows_map.h - the operands of a map, for its rivals. */
#ifndef ROWS_MAP_H
#define ROWS_MAP_H

#include "bench.h"

/* z = 0.5 * x + y, of floats. */
typedef struct mapping {
    size_t count;
    shared_memory x, y, z;
    cl_kernel raw;
} mapping;

extern const work map_work;

#endif
