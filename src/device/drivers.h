/* drivers.h - sentences about what is wrong with the drivers of a system. */
#ifndef NDR_DEVICE_DRIVERS_H
#define NDR_DEVICE_DRIVERS_H

#include "device/catalog.h"

/* The sentence says what to install or to mend: a driver, a library that an .icd file names, a folder that drivers
 * cannot write to. `error` is the loader's. */
ndr_status ndr_fail_without_driver(cl_int error);
ndr_status ndr_fail_without_device(unsigned drivers, const ndr_catalog *catalog);

/* Drivers that compile on the host keep files in a folder. Why this process cannot make one there: 0, or an errno; then
 * the folder, and the variable that it comes from. */
int ndr_drivers_check_folder(ndr_text *folder, const char **variable);

#endif
