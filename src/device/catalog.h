/* catalog.h - the devices of all drivers, and the choice of one. */
#ifndef NDR_DEVICE_CATALOG_H
#define NDR_DEVICE_CATALOG_H

#include "device/caps.h"

typedef struct ndr_catalog_entry {
    cl_platform_id platform;
    cl_device_id device;
    ndr_caps caps;
} ndr_catalog_entry;

/* The devices of all drivers. Drivers and devices that fail a query are skipped. */
typedef struct ndr_catalog {
    ndr_catalog_entry *entries;
    size_t count;
    ndr_text skipped; /* what is skipped and why, for sentences */
    int32_t cl_error; /* of the first skipped one */
} ndr_catalog;

ndr_status ndr_catalog_read(ndr_catalog *catalog);
void ndr_catalog_free(ndr_catalog *catalog);

/* Pure: choose one of `count` >= 1 devices by `words`; NULL or "" means the default. Sentences quote `source` as the
 * origin of the words. */
ndr_status ndr_catalog_choose(const char *words, const char *source, const ndr_device_info *devices, size_t count,
                              size_t *chosen);

#endif
