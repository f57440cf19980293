/* map.h - a request of ndr_map(). */
#ifndef NDR_OPS_MAP_H
#define NDR_OPS_MAP_H

#include "ops/names.h"
#include "ops/select.h"

typedef struct ndr_map_request {
    const char *statement;
    ndr_names names;
    size_t first; /* of one dimension: the index of the first element */
} ndr_map_request;

extern const ndr_operation ndr_map_operation;

#endif
