/* rows_launch.h - one short call, as work for rivals. */
#ifndef ROWS_LAUNCH_H
#define ROWS_LAUNCH_H

#include "bench.h"

typedef struct small_call {
    size_t groups, count; /* of marks */
    shared_memory marks;
    ndr_kernel *kernel;
    cl_kernel raw;
} small_call;

extern const work small_call_work;

#endif
