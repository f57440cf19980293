/* select.h - ndr_select(), for its tests. */
#ifndef NDR_OPS_SELECT_ELEMENTS_H
#define NDR_OPS_SELECT_ELEMENTS_H

#include "ndr/ndr_ops.h"
#include "ops/operand.h"
#include "ops/select.h"

/* A checked selection. Plans read no buffers. */
typedef struct ndr_select_request {
    bool by_runs, keeps_others;
    size_t count, element_bytes;
    ndr_operand input, flags, output, starts, selected; /* flags of runs, and starts of others, have no elements */
} ndr_select_request;

extern const ndr_operation ndr_select_operation;

#endif
