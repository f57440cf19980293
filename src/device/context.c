/* context.c - one chosen device and what belongs to it. */
#include "device/device.h"

#include <stdlib.h>

/* ---- references ---- */

ndr_context *ndr_context_keep(ndr_context *context)
{
    atomic_fetch_add_explicit(&context->references, 1, memory_order_relaxed);
    return context;
}

void ndr_context_destroy(ndr_context *context)
{
    if (!context) return;
    if (atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel) > 1) return;
    ndr_store_destroy(context->store);
    if (context->cl) clReleaseContext(context->cl);
    free(context);
}

/* ---- opening ---- */

/* Complete a context whose device is known. `cl` NULL means that an OpenCL context is made. */
static ndr_status complete(ndr_context *made, const ndr_catalog_entry *entry, cl_context cl)
{
    made->device = entry->device;
    made->caps = entry->caps;
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, made->caps.c_version >= 120, "device \"%s\" offers %s; libndr needs OpenCL 1.2",
                   made->caps.info.name, made->caps.info.opencl);
    if (cl) {
        NDR_TRY_CL(clRetainContext(cl));
        made->cl = cl;
    } else {
        const cl_context_properties properties[] = { CL_CONTEXT_PLATFORM, (cl_context_properties)entry->platform, 0 };
        cl_int error;
        made->cl = clCreateContext(properties, 1, &made->device, NULL, NULL, &error);
        if (error != CL_SUCCESS) {
            made->cl = NULL;
            return ndr_fail_cl(error, "clCreateContext");
        }
    }
    return ndr_store_create(&made->store);
}

ndr_status ndr_context_open(const ndr_catalog_entry *entry, cl_context cl, ndr_context **context)
{
    ndr_context *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a context");
    atomic_init(&made->references, 1);
    const ndr_status status = complete(made, entry, cl);
    if (status == NDR_OK) *context = made;
    else ndr_context_destroy(made);
    return status;
}

static ndr_status choose_and_open(const char *words, const char *source, const ndr_catalog_entry *entries, size_t count,
                                  ndr_context **context)
{
    ndr_device_info *infos = malloc(count * sizeof *infos);
    if (!infos) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the list of devices");
    for (size_t i = 0; i < count; ++i) infos[i] = entries[i].caps.info;
    size_t chosen = 0;
    const ndr_status status = ndr_catalog_choose(words, source, infos, count, &chosen);
    free(infos);
    NDR_TRY(status);
    return ndr_context_open(&entries[chosen], NULL, context);
}

ndr_status ndr_context_create(const char *device, ndr_context **context)
{
    NDR_REQUIRE_SET(context);
    const char *words = device ? device : ndr_environment("NDR_DEVICE");
    ndr_catalog_entry *entries;
    size_t count;
    NDR_TRY(ndr_catalog_read(&entries, &count));
    const ndr_status status =
        choose_and_open(words, device ? "ndr_context_create" : "NDR_DEVICE", entries, count, context);
    free(entries);
    return status;
}

ndr_status ndr_context_get_device(const ndr_context *context, ndr_device_info *device)
{
    NDR_REQUIRE_SET(context);
    NDR_REQUIRE_SET(device);
    *device = context->caps.info;
    return NDR_OK;
}
