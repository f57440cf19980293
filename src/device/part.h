/* part.h - parts of a device. */
#ifndef NDR_DEVICE_PART_H
#define NDR_DEVICE_PART_H

#include "device/catalog.h"

/* Divide a listed device as the descriptor says, and take the part that it names. */
ndr_status ndr_part_take(const ndr_catalog_entry *whole, const ndr_context_desc *desc, ndr_catalog_entry *part);

/* For tests: the next part divides its device again. */
void ndr_divisions_forget(void);

/* The device that it is a part of; NULL: it is a whole one. */
ndr_status ndr_part_parent(cl_device_id device, cl_device_id *parent);

#endif
