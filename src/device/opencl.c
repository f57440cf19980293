/* opencl.c - the ICD loader, opened at the first call that needs it, and the table of its functions.
 *
 * libndr is not linked with OpenCL, so that a program starts on a machine without it and can report what is missing.
 * If the program is linked with an OpenCL library, or one is preloaded, libndr uses the same one.
 * The loader stays open until the process ends, because drivers have their own threads. */
#include "device/opencl.h"

#include <stddef.h>

ndr_cl_functions ndr_cl;

/* The loader's names, tried in this order. */
static const char *const library_names[] = {
#if defined(_WIN32)
    "OpenCL.dll",
#elif defined(__APPLE__)
    "/System/Library/Frameworks/OpenCL.framework/OpenCL",
#else
    "libOpenCL.so.1",
    "libOpenCL.so",
#endif
};

static const struct {
    const char *name;
    size_t offset;
    bool is_required;
} functions[] = {
#define REQUIRED_ROW(function) { #function, offsetof(ndr_cl_functions, function), true },
#define OPTIONAL_ROW(function) { #function, offsetof(ndr_cl_functions, function), false },
    NDR_CL_FUNCTIONS(REQUIRED_ROW, OPTIONAL_ROW)
};

static ndr_status find_functions(void *library, const char *path)
{
    ndr_cl_functions found;
    for (size_t i = 0; i < NDR_COUNT_OF(functions); ++i) {
        const bool is_there = ndr_library_find(library, functions[i].name, (char *)&found + functions[i].offset);
        NDR_REQUIRE_AS(NDR_NO_DRIVER, is_there || !functions[i].is_required,
                       "the OpenCL library %s is too old: it has no %s, which OpenCL 1.2 has; install a newer ICD "
                       "loader, such as Debian's ocl-icd-libopencl1, or set NDR_OPENCL to the path of one",
                       path, functions[i].name);
    }
    ndr_cl = found;
    ndr_log(NDR_LOG_INFO, "opencl.opened", "%s, which is %s", path, ndr_library_path(library, functions[0].name));
    return NDR_OK;
}

static ndr_status fail_to_open(const char *chosen, const ndr_text *why)
{
    const char *reason = why->chars ? why->chars : "no memory for the reason";
    if (chosen)
        return ndr_fail(NDR_NO_DRIVER,
                        "the OpenCL library that NDR_OPENCL names cannot be opened: %s; unset NDR_OPENCL to use the "
                        "installed one, or set it to the path of an ICD loader",
                        reason);
    return ndr_fail(NDR_NO_DRIVER,
                    "no OpenCL library is found: %s; install an ICD loader, such as Debian's ocl-icd-libopencl1, or "
                    "set NDR_OPENCL to the path of one",
                    reason);
}

/* The first of `names` that opens; `*path` is its name. */
static void *open_first(const char *const *names, size_t count, const char **path, ndr_text *why)
{
    void *library = NULL;
    for (size_t i = 0; i < count && !library; ++i) library = ndr_library_open(*path = names[i], why);
    return library;
}

static ndr_status open_and_find(void)
{
    const char *chosen = ndr_environment("NDR_OPENCL"), *path = NULL;
    if (chosen && !*chosen) chosen = NULL;
    const char *first = chosen ? chosen : ndr_process_library_path("clGetPlatformIDs");
    ndr_text why = { 0 };
    void *library = first ? open_first(&first, 1, &path, &why) : NULL;
    if (!library && !chosen) library = open_first(library_names, NDR_COUNT_OF(library_names), &path, &why);
    const ndr_status status = library ? find_functions(library, path) : fail_to_open(chosen, &why);
    ndr_text_free(&why);
    return status;
}

ndr_status ndr_cl_open(void)
{
    NDR_TRY(ndr_log_check(ndr_environment("NDR_LOG")));
    static ndr_mutex lock = NDR_MUTEX_INITIALIZER(NDR_LOCK_OPENCL);
    static bool is_open;
    ndr_mutex_lock(&lock);
    const ndr_status status = is_open ? NDR_OK : open_and_find();
    is_open = status == NDR_OK;
    ndr_mutex_unlock(&lock);
    return status;
}
