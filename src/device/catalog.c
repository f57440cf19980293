/* catalog.c - the drivers and devices of this machine: listed, and one of them chosen. */
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

static const char how_to_install[] =
    "install one, such as Debian's pocl-opencl-icd for the CPU or your GPU vendor's, or point OCL_ICD_VENDORS "
    "at the folder of its .icd file";

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

/* The devices of one driver join the others. A driver that cannot list its devices offers none. */
static ndr_status add_devices(cl_platform_id platform, ndr_catalog_entry **entries, size_t *count)
{
    enum { MOST = 64 };
    cl_device_id devices[MOST];
    cl_uint found = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &found) != CL_SUCCESS) return NDR_OK;
    if (found > MOST) found = MOST;
    for (cl_uint i = 0; i < found; ++i) {
        ndr_catalog_entry *grown = realloc(*entries, (*count + 1) * sizeof *grown);
        if (!grown) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the list of devices");
        *entries = grown;
        grown[*count].platform = platform;
        grown[*count].device = devices[i];
        NDR_TRY(ndr_caps_query(platform, devices[i], &grown[*count].caps));
        ++*count;
    }
    return NDR_OK;
}

static ndr_status add_platforms(ndr_catalog_entry **entries, size_t *count)
{
    enum { MOST = 64 };
    cl_platform_id platforms[MOST];
    cl_uint found = 0;
    const cl_int error = clGetPlatformIDs(MOST, platforms, &found);
    if (error == CL_PLATFORM_NOT_FOUND_KHR || (error == CL_SUCCESS && found == 0))
        return ndr_fail_with_code(NDR_NO_DRIVER, error, "no OpenCL driver is installed: %s", how_to_install);
    NDR_TRY_CL_AS("clGetPlatformIDs", error);
    if (found > MOST) found = MOST;
    for (cl_uint i = 0; i < found; ++i) NDR_TRY(add_devices(platforms[i], entries, count));
    NDR_REQUIRE_AS(NDR_NO_DEVICE, *count > 0,
                   "%u OpenCL driver%s installed, but none offers a device: check that the device is plugged in "
                   "and that this user may open it, or %s",
                   (unsigned)found, found == 1 ? " is" : "s are", how_to_install);
    return NDR_OK;
}

ndr_status ndr_catalog_read(ndr_catalog_entry **entries, size_t *count)
{
    ndr_catalog_entry *list = NULL;
    size_t listed = 0;
    const ndr_status status = add_platforms(&list, &listed);
    if (status != NDR_OK) {
        free(list);
        return status;
    }
    *entries = list;
    *count = listed;
    return NDR_OK;
}

ndr_status ndr_device_list(size_t capacity, ndr_device_info *devices, size_t *count)
{
    NDR_REQUIRE_SET(count);
    NDR_REQUIRE(devices || capacity == 0, "ndr_device_list: devices is NULL, but capacity is %zu", capacity);
    ndr_catalog_entry *entries;
    size_t listed;
    NDR_TRY(ndr_catalog_read(&entries, &listed));
    for (size_t i = 0; i < listed && i < capacity; ++i) devices[i] = entries[i].caps.info;
    free(entries);
    *count = listed;
    return NDR_OK;
}

/* ---- choosing ---- */

static bool find_type(ndr_device_type type, const ndr_device_info *devices, size_t count, size_t *chosen)
{
    for (size_t i = 0; i < count; ++i)
        if (devices[i].type == type) {
            *chosen = i;
            return true;
        }
    return false;
}

static size_t default_device(const ndr_device_info *devices, size_t count)
{
    static const ndr_device_type order[] = { NDR_DEVICE_TYPE_GPU, NDR_DEVICE_TYPE_ACCELERATOR, NDR_DEVICE_TYPE_CPU };
    size_t chosen = 0;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; ++i)
        if (find_type(order[i], devices, count, &chosen)) break;
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
    const ndr_status status = ndr_fail(NDR_NO_MATCHING_DEVICE, "%s asks for \"%s\", but %s; there %s %s", source, words,
                                       what, count == 1 ? "is" : "are", list.chars ? list.chars : "others");
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

ndr_status ndr_catalog_choose(const char *words, const char *source, const ndr_device_info *devices, size_t count,
                              size_t *chosen)
{
    if (!words || !*words) {
        *chosen = default_device(devices, count);
        return NDR_OK;
    }
    static const ndr_device_type types[] = { NDR_DEVICE_TYPE_CPU, NDR_DEVICE_TYPE_GPU, NDR_DEVICE_TYPE_ACCELERATOR };
    for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t)
        if (ndr_text_equal_ignoring_case(words, ndr_device_type_name(types[t]))) {
            if (find_type(types[t], devices, count, chosen)) return NDR_OK;
            return fail_to_match(words, source, "there is no device of that type", devices, count);
        }
    size_t index;
    if (parse_index(words, &index)) {
        if (index >= count) return fail_to_match(words, source, "there is no device of that index", devices, count);
        *chosen = index;
        return NDR_OK;
    }
    for (size_t i = 0; i < count; ++i)
        if (ndr_text_contains_ignoring_case(devices[i].name, words)
            || ndr_text_contains_ignoring_case(devices[i].platform, words)) {
            *chosen = i;
            return NDR_OK;
        }
    return fail_to_match(words, source, "no device's or platform's name contains that", devices, count);
}
