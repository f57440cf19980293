/* pinned.h - host memory that a device transfers fast, which a context keeps for transfers in pieces. */
#ifndef NDR_DEVICE_PINNED_H
#define NDR_DEVICE_PINNED_H

#include "device/opencl.h"

typedef struct ndr_pinned ndr_pinned;

/* Borrow at least that much of it. Each borrower has its own; the context keeps what is returned. */
ndr_status ndr_pinned_borrow(ndr_context *context, size_t size_bytes, ndr_pinned **pinned);
void ndr_pinned_return(ndr_context *context, ndr_pinned *pinned);

char *ndr_pinned_host(const ndr_pinned *pinned);

#endif
