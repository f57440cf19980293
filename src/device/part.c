/* part.c - parts of a device: OpenCL's sub-devices.
 *
 * The process divides a device once in each way and keeps the parts, because contexts for two parts of one division are
 * to share no compute unit, and because PoCL 3 uses a part after the last object in it has been released. */
#include "device/part.h"

#include <stdlib.h>
#include <string.h>

ndr_status ndr_part_parent(cl_device_id device, cl_device_id *parent)
{
    cl_device_id found = NULL;
    NDR_TRY_CL(clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof found, &found, NULL));
    *parent = found;
    return NDR_OK;
}

/* ---- checks ---- */

static ndr_status check_units(const ndr_device_info *info, const ndr_context_desc *desc)
{
    size_t units = 0;
    for (size_t i = 0; desc->part_units && i < desc->part_count; ++i) {
        NDR_REQUIRE(desc->part_units[i] > 0,
                    "ndr_context_create_with: part_units[%zu] is 0; give each part at least one compute unit", i);
        units += desc->part_units[i];
    }
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, units <= info->compute_units,
                   "ndr_context_create_with: part_units are %zu compute units together, but device \"%s\" has %u",
                   units, info->name, info->compute_units);
    return NDR_OK;
}

static ndr_status check_desc(const ndr_device_info *info, const ndr_context_desc *desc)
{
    NDR_REQUIRE(desc->part < desc->part_count,
                "ndr_context_create_with: part is %zu, but part_count is %zu; parts count from 0", desc->part,
                desc->part_count);
    NDR_REQUIRE_AS(
        NDR_LIMIT_EXCEEDED, desc->part_count <= info->compute_units,
        "ndr_context_create_with: part_count is %zu, but device \"%s\" has %u compute units; a part needs one",
        desc->part_count, info->name, info->compute_units);
    return check_units(info, desc);
}

/* Most drivers refuse a division of another kind with a code that does not tell why. */
static ndr_status check_kind(const ndr_catalog_entry *whole, cl_device_partition_property kind)
{
    cl_device_partition_property known[16];
    size_t bytes = 0;
    NDR_TRY_CL(clGetDeviceInfo(whole->device, CL_DEVICE_PARTITION_PROPERTIES, sizeof known, known, &bytes));
    for (size_t i = 0; i < bytes / sizeof known[0]; ++i)
        if (known[i] == kind) return NDR_OK;
    return ndr_fail(NDR_UNSUPPORTED,
                    "ndr_context_create_with: device \"%s\" cannot be divided into %s; leave out part_count, or choose "
                    "a CPU",
                    whole->caps.info.name,
                    kind == CL_DEVICE_PARTITION_EQUALLY ? "equal parts" : "parts of given compute units");
}

/* ---- dividing ---- */

typedef struct division {
    struct division *next;
    cl_device_id whole;
    cl_device_partition_property *how;
    size_t length; /* of `how` */
    cl_device_id *parts;
    cl_uint count;
} division;

static ndr_mutex lock = NDR_MUTEX_INITIALIZER(NDR_LOCK_LIST); /* guards the next one */
static division *divisions;

static void free_division(division *d)
{
    free(d->parts);
    free(d->how);
    free(d);
}

void ndr_divisions_forget(void)
{
    for (division *next; divisions; divisions = next) {
        next = divisions->next;
        free_division(divisions);
    }
}

/* A driver gives all parts or none. Equal parts of a device that is not divided evenly may be more than were asked for. */
static ndr_status divide(const ndr_catalog_entry *whole, const division *wanted, division *d)
{
    const cl_uint capacity = whole->caps.info.compute_units;
    d->whole = wanted->whole;
    d->length = wanted->length;
    d->how = calloc(d->length, sizeof *d->how);
    d->parts = calloc(capacity, sizeof(cl_device_id));
    if (!d->how || !d->parts) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the parts of a device");
    memcpy(d->how, wanted->how, d->length * sizeof *d->how);
    NDR_TRY_CL(clCreateSubDevices(d->whole, d->how, capacity, d->parts, &d->count));
    return NDR_OK;
}

static ndr_status add_division(const ndr_catalog_entry *whole, const division *wanted, const division **got)
{
    division *const d = calloc(1, sizeof *d);
    if (!d) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the parts of a device");
    const ndr_status status = divide(whole, wanted, d);
    if (status != NDR_OK) free_division(d);
    NDR_TRY(status);
    d->next = divisions;
    *got = divisions = d;
    return NDR_OK;
}

static ndr_status get_division(const ndr_catalog_entry *whole, const division *wanted, const division **got)
{
    for (*got = divisions; *got; *got = (*got)->next)
        if ((*got)->whole == wanted->whole && (*got)->length == wanted->length
            && memcmp((*got)->how, wanted->how, wanted->length * sizeof *wanted->how) == 0)
            return NDR_OK;
    return add_division(whole, wanted, got);
}

static ndr_status take(const ndr_catalog_entry *whole, cl_device_partition_property *how, size_t length, size_t part,
                       cl_device_id *taken)
{
    const division wanted = { .whole = whole->device, .how = how, .length = length };
    const division *d;
    ndr_mutex_lock(&lock);
    const ndr_status status = get_division(whole, &wanted, &d);
    ndr_mutex_unlock(&lock);
    NDR_TRY(status);
    NDR_REQUIRE_AS(NDR_DRIVER_ERROR, part < d->count,
                   "the driver divided device \"%s\" into %u parts, so there is no part %zu", whole->caps.info.name,
                   (unsigned)d->count, part);
    *taken = d->parts[part];
    return NDR_OK;
}

static ndr_status take_equal(const ndr_catalog_entry *whole, const ndr_context_desc *desc, cl_device_id *taken)
{
    const size_t units = whole->caps.info.compute_units / desc->part_count;
    cl_device_partition_property how[] = { CL_DEVICE_PARTITION_EQUALLY, (cl_device_partition_property)units, 0 };
    NDR_TRY(check_kind(whole, CL_DEVICE_PARTITION_EQUALLY));
    return take(whole, how, NDR_COUNT_OF(how), desc->part, taken);
}

static ndr_status take_by_units(const ndr_catalog_entry *whole, const ndr_context_desc *desc, cl_device_id *taken)
{
    const size_t length = desc->part_count + 3; /* ends in 0, twice */
    NDR_TRY(check_kind(whole, CL_DEVICE_PARTITION_BY_COUNTS));
    cl_device_partition_property *const how = calloc(length, sizeof *how);
    if (!how) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the parts of a device");
    how[0] = CL_DEVICE_PARTITION_BY_COUNTS;
    for (size_t i = 0; i < desc->part_count; ++i) how[1 + i] = (cl_device_partition_property)desc->part_units[i];
    const ndr_status status = take(whole, how, length, desc->part, taken);
    free(how);
    return status;
}

ndr_status ndr_part_take(const ndr_catalog_entry *whole, const ndr_context_desc *desc, ndr_catalog_entry *part)
{
    *part = *whole;
    NDR_TRY(check_desc(&whole->caps.info, desc));
    NDR_TRY((desc->part_units ? take_by_units : take_equal)(whole, desc, &part->device));
    return ndr_caps_query(part->platform, part->device, &part->caps);
}
