/* unload_module.c - libndr inside a library that test_unload loads and unloads; it counts what libndr has allocated.
 *
 * It is linked with --wrap for malloc and free, which sends libndr's calls here. */
#include <stddef.h>

#include "device/opencl.h"

void *__real_malloc(size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void __wrap_free(void *memory);
long module_fail(long *blocks, int length);
bool module_open(void);

static long *counted; /* outlives the module */

void *__wrap_malloc(size_t bytes)
{
    void *made = __real_malloc(bytes);
    if (made && counted) ++*counted;
    return made;
}

void __wrap_free(void *memory)
{
    if (memory && counted) --*counted;
    __real_free(memory);
}

/* Fail with a sentence of `length` letters and return its length. `blocks` counts allocations from now on. */
long module_fail(long *blocks, int length)
{
    counted = blocks;
    ndr_fail(NDR_BAD_ARGUMENT, "%*s", length, "");
    long letters = 0;
    for (const char *c = ndr_last_error(); *c; ++c) ++letters;
    return letters;
}

/* Open OpenCL's loader, whichever NDR_OPENCL names. */
bool module_open(void) { return ndr_cl_open() == NDR_OK; }
