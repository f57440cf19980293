/* cache.h - the store on disk of a context. */
#ifndef NDR_DEVICE_CACHE_H
#define NDR_DEVICE_CACHE_H

#include "device/opencl.h"

/* For a context whose device is known: open and close the store on disk. */
void ndr_cache_open(ndr_context *context, cl_platform_id platform);
void ndr_cache_close(ndr_context *context);

/* Instead of ndr_cache_open(): the store of another context of that device. */
ndr_status ndr_cache_share(ndr_context *context, const ndr_context *other);

/* ndr_disk_get() and ndr_disk_put() for an answer that depends on the device, its driver and the machine. */
bool ndr_cache_get(ndr_context *context, const char *question, ndr_text *value);
bool ndr_cache_put(ndr_context *context, const char *question, const void *value, size_t value_bytes);

#endif
