/* names_loader.c - an OpenCL library, for NDR_OPENCL, that takes the drivers in OCL_ICD_FILENAMES in place of .icd files.
 * Its functions are those of the machine's loader, which it is linked with. */
#include <stdlib.h>

__attribute__((constructor)) static void take_names(void)
{
    const char *const names = getenv("OCL_ICD_FILENAMES");
    if (names && *names) setenv("OCL_ICD_VENDORS", names, 1); /* ocl-icd takes a library there, too */
}
