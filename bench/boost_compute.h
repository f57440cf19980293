/* boost_compute.h - what boost_compute.cpp offers to C. */
#ifndef BENCH_BOOST_COMPUTE_H
#define BENCH_BOOST_COMPUTE_H

#include <CL/cl.h>
#include <stddef.h>

#include "ndr/ndr.h"

#ifdef __cplusplus
extern "C"
#endif
/* boost::compute::reduce() of input[offset..] of I32, F32 or F64 into output[0], finished. Always of one and the same context. */
void boost_reduce(cl_command_queue queue, cl_mem input, size_t offset, size_t count, ndr_dtype dtype, ndr_op op,
                  cl_mem output);

#endif
