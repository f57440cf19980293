/* faults.c - finds a reproducer by the fault's name and runs it; OpenCL's functions for all of them. */
#include "raw.h"

#include <dlfcn.h>

cl_device_id device;
cl_context context;

const fault *find_fault(const char *id)
{
    static const fault *const files[] = { barriers_faults, compilers_faults,  failed_events_faults, memory_faults,
                                          queues_faults,   simulators_faults, sub_groups_faults };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; ++i)
        for (const fault *f = files[i]; f->id; ++f)
            if (strcmp(f->id, id) == 0) return f;
    return NULL;
}

void *find_raw(const char *name)
{
    static void *library;
    const char *const chosen = getenv("NDR_OPENCL");
    if (!library) library = dlopen(chosen && *chosen ? chosen : "libOpenCL.so.1", RTLD_NOW);
    void *const found = library ? dlsym(library, name) : NULL;
    if (!found) fprintf(stderr, "the OpenCL library has no %s\n", name);
    if (!found) _exit(NOT_TRIED_EXIT);
    return found;
}

int run_fault(const fault *f, void *on_device)
{
    cl_platform_id platform;
    cl_int error;
    device = on_device;
    if (!device) MUST(clGetPlatformIDs(1, &platform, NULL));
    if (!device) MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    must(error, "clCreateContext");
    return f->run();
}
