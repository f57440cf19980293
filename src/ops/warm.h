/* warm.h - what ndr_cache_warm() builds of operations. */
#ifndef NDR_OPS_WARM_H
#define NDR_OPS_WARM_H

#include "program/program.h"

/* In reduce.c and matmul.c: ndr_op_build() for a call's descriptor, whose buffers are not read. */
ndr_status ndr_reduce_build(ndr_context *context, const ndr_reduce_desc *desc, ndr_kernel **kernel);
ndr_status ndr_matmul_build(ndr_context *context, const ndr_matmul_desc *desc, ndr_kernel **kernel);

#endif
