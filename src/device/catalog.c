/* catalog.c - lists the drivers and devices of this machine, and chooses a device. */
#include "device/catalog.h"
#include "device/drivers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ndr_device_type_name(ndr_device_type type)
{
    switch (type) {
    case NDR_DEVICE_TYPE_CPU: return "cpu";
    case NDR_DEVICE_TYPE_GPU: return "gpu";
    case NDR_DEVICE_TYPE_ACCELERATOR: return "accelerator";
    case NDR_DEVICE_TYPE_OTHER: break;
    }
    return "other";
}

/* ---- listing ---- */

/* Add a driver or device to the skipped ones if an OpenCL call failed for it. Other failures concern every device
 * and are returned. */
static ndr_status skip_device(ndr_status status, cl_platform_id platform, const char *which, ndr_catalog *catalog)
{
    if (status == NDR_OK || ndr_last_cl_error() == 0) return status;
    char name[1024] = ""; /* stays empty if the driver fails here, too */
    (void)ndr_cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    if (catalog->skipped.length == 0) catalog->cl_error = ndr_last_cl_error();
    ndr_text_add(&catalog->skipped, "%splatform \"%s\"%s: %s", catalog->skipped.length ? "; " : "", name, which,
                 ndr_last_error());
    if (catalog->skipped.failed) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the list of devices");
    ndr_log(NDR_LOG_WARN, "device.left_out", "platform \"%s\"%s: %s", name, which, ndr_last_error());
    return NDR_OK;
}

static ndr_status add_device(cl_platform_id platform, cl_device_id device, ndr_catalog *catalog)
{
    ndr_catalog_entry *grown = realloc(catalog->entries, (catalog->count + 1) * sizeof *grown);
    if (!grown) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the list of devices");
    catalog->entries = grown;
    grown[catalog->count].platform = platform;
    grown[catalog->count].device = device;
    NDR_TRY(ndr_caps_query(platform, device, &grown[catalog->count].caps));
    const ndr_device_info *info = &grown[catalog->count].caps.info;
    ndr_log(NDR_LOG_INFO, "device.found", "device %zu: %s \"%s\" (%s, driver %s), %s", catalog->count,
            ndr_device_type_name(info->type), info->name, info->platform, info->driver, info->opencl);
    ++catalog->count;
    return NDR_OK;
}

static ndr_status list_devices(cl_platform_id platform, cl_uint capacity, cl_device_id *devices, cl_uint *count)
{
    *count = 0;
    const cl_int error = ndr_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, capacity, devices, count);
    if (error == CL_DEVICE_NOT_FOUND) *count = 0;
    else NDR_TRY_CL_AS("clGetDeviceIDs", error);
    return NDR_OK;
}

static ndr_status add_devices(cl_platform_id platform, ndr_catalog *catalog)
{
    enum { MAX_DEVICES = 64 };
    cl_device_id devices[MAX_DEVICES];
    cl_uint found;
    const ndr_status status = list_devices(platform, MAX_DEVICES, devices, &found);
    if (status != NDR_OK) return skip_device(status, platform, "", catalog);
    for (cl_uint i = 0; i < found && i < MAX_DEVICES; ++i) {
        char which[32];
        snprintf(which, sizeof which, ", device %u", (unsigned)i);
        NDR_TRY(skip_device(add_device(platform, devices[i], catalog), platform, which, catalog));
    }
    return NDR_OK;
}

static ndr_status add_platforms(ndr_catalog *catalog)
{
    enum { MAX_PLATFORMS = 64 };
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint found = 0;
    const cl_int error = ndr_cl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &found);
    if (error == CL_PLATFORM_NOT_FOUND_KHR || (error == CL_SUCCESS && found == 0))
        return ndr_fail_without_driver(error);
    NDR_TRY_CL_AS("clGetPlatformIDs", error);
    for (cl_uint i = 0; i < found && i < MAX_PLATFORMS; ++i) NDR_TRY(add_devices(platforms[i], catalog));
    return catalog->count > 0 ? NDR_OK : ndr_fail_without_device((unsigned)found, catalog);
}

void ndr_catalog_free(ndr_catalog *catalog)
{
    free(catalog->entries);
    ndr_text_free(&catalog->skipped);
}

ndr_status ndr_catalog_read(ndr_catalog *catalog)
{
    *catalog = (ndr_catalog){ 0 };
    NDR_TRY(ndr_cl_open());
    const ndr_status status = add_platforms(catalog);
    if (status != NDR_OK) ndr_catalog_free(catalog);
    return status;
}

ndr_status ndr_device_list_sized(size_t capacity, ndr_device_info *devices, size_t device_bytes, size_t *count)
{
    NDR_REQUIRE_SET_IN("ndr_device_list", count);
    NDR_REQUIRE(
        devices || capacity == 0,
        "ndr_device_list: devices is NULL, but capacity is %zu; pass an array of that many elements, or capacity 0",
        capacity);
    ndr_catalog catalog;
    NDR_TRY(ndr_catalog_read(&catalog));
    for (size_t i = 0; i < catalog.count && i < capacity; ++i)
        ndr_info_write(&catalog.entries[i].caps.info, sizeof(ndr_device_info), (char *)devices + i * device_bytes,
                       device_bytes);
    *count = catalog.count;
    ndr_catalog_free(&catalog);
    return NDR_OK;
}

/* ---- choosing ---- */

static bool find_type(ndr_device_type type, size_t nth, const ndr_device_info *devices, size_t count, size_t *chosen)
{
    for (size_t i = 0; i < count; ++i)
        if (devices[i].type == type && nth-- == 0) {
            *chosen = i;
            return true;
        }
    return false;
}

static size_t default_device(const ndr_device_info *devices, size_t count)
{
    static const ndr_device_type order[] = { NDR_DEVICE_TYPE_GPU, NDR_DEVICE_TYPE_ACCELERATOR, NDR_DEVICE_TYPE_CPU };
    size_t chosen = 0;
    for (size_t i = 0; i < NDR_COUNT_OF(order); ++i)
        if (find_type(order[i], 0, devices, count, &chosen)) break;
    return chosen;
}

/* "0: cpu pthread-... (Portable Computing Language); 1: ..." */
static void print_devices(const ndr_device_info *devices, size_t count, ndr_text *out)
{
    for (size_t i = 0; i < count; ++i)
        ndr_text_add(out, "%s%zu: %s \"%s\" (%s)", i ? "; " : "", i, ndr_device_type_name(devices[i].type),
                     devices[i].name, devices[i].platform);
}

static ndr_status fail_to_match(const char *words, const char *source, const char *what, const ndr_device_info *devices,
                                size_t count)
{
    ndr_text list = { 0 };
    print_devices(devices, count, &list);
    const ndr_status status = ndr_fail(NDR_NO_MATCHING_DEVICE, "%s asks for \"%s\", but %s; choose from %s", source,
                                       words, what, list.chars ? list.chars : "ndr_device_list()");
    ndr_text_free(&list);
    return status;
}

static bool parse_index(const char *words, size_t *index)
{
    size_t value = 0;
    for (const char *c = words; *c; ++c) {
        if (*c < '0' || *c > '9') return false;
        if (!ndr_mul_fits(value, 10, &value) || !ndr_add_fits(value, (size_t)(*c - '0'), &value)) return false;
    }
    *index = value;
    return *words != '\0';
}

/* "gpu:1" is "gpu" and 1: the second match. Without a number it is the first. */
static ndr_status split_number(const char *words, char **base, size_t *nth)
{
    const char *const colon = strrchr(words, ':');
    const bool has_number = colon && colon > words && parse_index(colon + 1, nth);
    if (!has_number) *nth = 0;
    *base = ndr_text_copy(words, has_number ? (size_t)(colon - words) : strlen(words));
    return *base ? NDR_OK : ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the name of a device");
}

static bool is_type(const char *words, ndr_device_type *type)
{
    static const ndr_device_type types[] = { NDR_DEVICE_TYPE_CPU, NDR_DEVICE_TYPE_GPU, NDR_DEVICE_TYPE_ACCELERATOR };
    for (size_t t = 0; t < NDR_COUNT_OF(types); ++t)
        if (ndr_text_equal_ignoring_case(words, ndr_device_type_name(types[t]))) return *type = types[t], true;
    return false;
}

static bool find_name(const char *words, size_t nth, const ndr_device_info *devices, size_t count, size_t *chosen)
{
    for (size_t i = 0; i < count; ++i)
        if ((ndr_text_contains_ignoring_case(devices[i].name, words)
             || ndr_text_contains_ignoring_case(devices[i].platform, words))
            && nth-- == 0) {
            *chosen = i;
            return true;
        }
    return false;
}

/* NULL, or why none is chosen. */
static const char *choose(const char *base, size_t nth, const ndr_device_info *devices, size_t count, size_t *chosen)
{
    ndr_device_type type;
    size_t index, first;
    if (is_type(base, &type)) {
        if (find_type(type, nth, devices, count, chosen)) return NULL;
        return find_type(type, 0, devices, count, &first) ? "there are fewer devices of that type; the first is :0"
                                                          : "there is no device of that type";
    }
    if (parse_index(base, &index)) {
        if (index >= count) return "there is no device with that index";
        if (nth > 0) return "an index names one device";
        *chosen = index;
        return NULL;
    }
    if (find_name(base, nth, devices, count, chosen)) return NULL;
    return find_name(base, 0, devices, count, &first)
               ? "fewer devices have that in their name or their platform's; the first is :0"
               : "no device's or platform's name contains that";
}

ndr_status ndr_catalog_choose(const char *words, const char *source, const ndr_device_info *devices, size_t count,
                              size_t *chosen)
{
    char *base;
    size_t nth;
    if (!words || !*words) {
        *chosen = default_device(devices, count);
        return NDR_OK;
    }
    NDR_TRY(split_number(words, &base, &nth));
    const char *const fault = choose(base, nth, devices, count, chosen);
    free(base);
    return fault ? fail_to_match(words, source, fault, devices, count) : NDR_OK;
}
