/* merge.h - ndr_merge() and ndr_merge_sort(), for their tests. */
#ifndef NDR_OPS_MERGE_H
#define NDR_OPS_MERGE_H

#include "ndr/ndr_ops.h"
#include "ops/operand.h"
#include "ops/select.h"

#include "shared/merge.h"

/* What elements are and which comes first. */
typedef struct ndr_merge_order {
    ndr_dtype dtype;
    const char *element, *less, *declarations;
    size_t element_bytes;
} ndr_merge_order;

/* A checked merge or sort. Plans read no buffers. */
typedef struct ndr_merge_request {
    ndr_merge_order order;
    size_t count, length; /* of all elements; of segments */
    ndr_operand first, second, starts, output; /* a sort has one input, a merge no starts */
} ndr_merge_request;

extern const ndr_operation ndr_merge_operation, ndr_merge_sort_operation;

#endif
