/* os.c - the operating system's dynamic libraries. */
#include "base/base.h"

#include <dlfcn.h>
#include <string.h>

void *ndr_library_open(const char *path, ndr_text *why)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
    const char *reason = dlerror();
    ndr_text_add(why, "%s%s", why->length ? "; " : "", reason ? reason : path);
    return NULL;
}

/* ISO C has no cast from an object's address to a function's. */
bool ndr_library_find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}
