/* random.h - shared by the implementations of ndr_random(). */
#ifndef NDR_OPS_RANDOM_H
#define NDR_OPS_RANDOM_H

#include "ndr/ndr_ops.h"
#include "ops/operand.h"
#include "ops/select.h"

/* A checked fill. Plans read no buffers. */
typedef struct ndr_random_request {
    ndr_dtype dtype;
    ndr_distribution distribution;
    uint64_t seed, stream, first;
    uint64_t below; /* 0: 2^64 */
    int64_t low;
    ndr_operand output; /* output.cols elements */
} ndr_random_request;

extern const ndr_operation ndr_random_operation;

#endif
