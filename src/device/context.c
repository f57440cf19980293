/* context.c - a context: one chosen device and its objects. */
#include "device/cache.h"
#include "device/check.h"
#include "device/context.h"
#include "device/order.h"
#include "device/part.h"
#include "device/trace.h"

#include <stdlib.h>

/* ---- references ---- */

ndr_context *ndr_context_keep(ndr_context *context)
{
    atomic_fetch_add_explicit(&context->references, 1, memory_order_relaxed);
    return context;
}

void ndr_context_release(ndr_context *context)
{
    if (atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel) > 1) return;
    ndr_trace_remove_context(context);
    ndr_attachments_free(&context->attachments);
    ndr_orphans_release(context, false);
    ndr_cache_close(context);
    ndr_dumps_free(&context->dumps);
    if (context->cl) ndr_cl.clReleaseContext(context->cl);
    ndr_handles_remove_context(context->checker != NULL);
    ndr_checker_destroy(context->checker);
    ndr_mutex_destroy(&context->order_lock);
    ndr_mutex_destroy(&context->fail_lock);
    ndr_handle_free(context);
}

void ndr_context_destroy(ndr_context *context)
{
    if (!ndr_handle_retire(NDR_HANDLE_CONTEXT, context, __func__)) return;
    ndr_context_forget_events(context);
    ndr_context_release(context);
}

/* ---- opening ---- */

static ndr_status create_cl(ndr_context *made, cl_platform_id platform)
{
    const cl_context_properties properties[] = { CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0 };
    cl_int error;
    made->cl = ndr_cl.clCreateContext(properties, 1, &made->device, NULL, NULL, &error);
    if (error == CL_SUCCESS) return NDR_OK;
    made->cl = NULL;
    return ndr_fail_cl(error, "clCreateContext");
}

/* Initialise a context whose device is known. If `cl` is NULL, create an OpenCL context. */
static ndr_status init_context(ndr_context *made, const ndr_catalog_entry *entry, cl_context cl)
{
    made->device = entry->device;
    made->caps = entry->caps;
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, made->caps.cl_version >= 120,
                   "device \"%s\" offers %s, but libndr needs OpenCL 1.2; choose another device", made->caps.info.name,
                   made->caps.info.opencl);
    if (cl) {
        NDR_TRY_CL(clRetainContext(cl));
        made->cl = cl;
    } else {
        NDR_TRY(create_cl(made, entry->platform));
    }
    NDR_TRY(ndr_dumps_open(ndr_environment("NDR_DUMP"), &made->dumps));
    ndr_cache_open(made, entry->platform);
    return ndr_trace_add_context(made, ndr_environment("NDR_TRACE"));
}

static ndr_status read_check_mode(ndr_check_mode mode, bool *is_checked)
{
    NDR_REQUIRE((unsigned)mode <= NDR_CHECK_OFF, "ndr_context_create_with: check is %d, not an ndr_check_mode; use "
                "NDR_CHECK_DEFAULT, NDR_CHECK_ON or NDR_CHECK_OFF", (int)mode);
    if (mode == NDR_CHECK_DEFAULT) return ndr_check_parse(ndr_environment("NDR_CHECK"), is_checked);
    *is_checked = mode == NDR_CHECK_ON;
    return NDR_OK;
}

/* Without a device; ndr_context_release() frees it. */
static ndr_status make_context(bool is_checked, ndr_context **context)
{
    ndr_checker *checker = NULL;
    if (is_checked) NDR_TRY(ndr_checker_create(&checker));
    ndr_handles_add_context(is_checked);
    ndr_context *made = ndr_handle_new(NDR_HANDLE_CONTEXT, sizeof *made, is_checked);
    if (!made) {
        ndr_handles_remove_context(is_checked);
        ndr_checker_destroy(checker);
        return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a context");
    }
    made->checker = checker;
    atomic_init(&made->references, 1);
    ndr_mutex_init(&made->order_lock, NDR_LOCK_ORDER);
    ndr_mutex_init(&made->fail_lock, NDR_LOCK_FAIL);
    *context = made;
    return NDR_OK;
}

ndr_status ndr_context_open(const ndr_catalog_entry *entry, cl_context cl, ndr_check_mode check, ndr_context **context)
{
    bool is_checked;
    ndr_context *made = NULL;
    NDR_TRY(read_check_mode(check, &is_checked));
    NDR_TRY(ndr_disk_check(ndr_environment("NDR_CACHE"), ndr_environment("NDR_CACHE_MIB")));
    NDR_TRY(make_context(is_checked, &made));
    const ndr_status status = init_context(made, entry, cl);
    if (status == NDR_OK) *context = made;
    else ndr_context_release(made);
    return status;
}

static ndr_status init_beside(ndr_context *made, const ndr_context *given)
{
    cl_platform_id platform;
    made->device = given->device;
    made->caps = given->caps;
    NDR_TRY_CL(clGetDeviceInfo(made->device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    NDR_TRY(create_cl(made, platform));
    NDR_TRY(ndr_cache_share(made, given));
    return ndr_trace_add_context(made, NULL);
}

ndr_status ndr_context_open_beside(const ndr_context *given, ndr_context **context)
{
    ndr_context *made = NULL;
    NDR_TRY(make_context(false, &made));
    const ndr_status status = init_beside(made, given);
    if (status == NDR_OK) *context = made;
    else ndr_context_release(made);
    return status;
}

static ndr_status choose_device(const char *words, const char *source, const ndr_catalog *catalog, size_t *chosen)
{
    ndr_device_info *infos = malloc(catalog->count * sizeof *infos);
    if (!infos) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the list of devices");
    for (size_t i = 0; i < catalog->count; ++i) infos[i] = catalog->entries[i].caps.info;
    const ndr_status status = ndr_catalog_choose(words, source, infos, catalog->count, chosen);
    free(infos);
    if (status == NDR_OK || catalog->skipped.length == 0) return status;
    return ndr_fail_with_code(status, catalog->cl_error, "%s; skipped: %s", ndr_last_error(), catalog->skipped.chars);
}

/* One equal part is the whole device, which some drivers refuse to divide so. */
static ndr_status open_part(const ndr_catalog_entry *whole, const ndr_context_desc *desc, ndr_context **context)
{
    ndr_catalog_entry part;
    if (desc->part_count == 0 || (desc->part_count == 1 && desc->part == 0 && !desc->part_units))
        return ndr_context_open(whole, NULL, desc->check, context);
    NDR_TRY(ndr_part_take(whole, desc, &part));
    return ndr_context_open(&part, NULL, desc->check, context);
}

static ndr_status choose_and_open(const char *words, const char *source, const ndr_context_desc *desc,
                                  const ndr_catalog *catalog, ndr_context **context)
{
    size_t chosen = 0;
    NDR_TRY(choose_device(words, source, catalog, &chosen));
    const bool is_asked = words && *words;
    ndr_log(NDR_LOG_INFO, "device.chosen", "device %zu, \"%s\": %s%s%s%s", chosen,
            catalog->entries[chosen].caps.info.name, is_asked ? source : "the first gpu, else accelerator, else cpu",
            is_asked ? " asks for \"" : "", is_asked ? words : "", is_asked ? "\"" : "");
    return open_part(&catalog->entries[chosen], desc, context);
}

static ndr_status create_context(const char *call, const ndr_context_desc *desc, ndr_context **context)
{
    const char *words = desc->device ? desc->device : ndr_environment("NDR_DEVICE");
    ndr_catalog catalog;
    NDR_REQUIRE(desc->part_count > 0 || (desc->part == 0 && !desc->part_units),
                "%s: %s is set, but part_count is 0; set it to the number of parts", call,
                desc->part_units ? "part_units" : "part");
    NDR_TRY(ndr_catalog_read(&catalog));
    const ndr_status status = choose_and_open(words, desc->device ? call : "NDR_DEVICE", desc, &catalog, context);
    ndr_catalog_free(&catalog);
    return status;
}

ndr_status ndr_context_create(const char *device, ndr_context **context)
{
    NDR_REQUIRE_SET(context);
    return create_context(__func__, &(ndr_context_desc){ .device = device }, context);
}

ndr_status ndr_context_create_with(const ndr_context_desc *desc, ndr_context **context)
{
    NDR_REQUIRE_SET(context);
    return create_context(__func__, desc ? desc : &(ndr_context_desc){ 0 }, context);
}

ndr_status ndr_context_get_device(const ndr_context *context, ndr_device_info *device)
{
    NDR_REQUIRE_SET(context, device);
    *device = context->caps.info;
    return NDR_OK;
}
