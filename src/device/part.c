/* part.c - parts of a device: OpenCL's sub-devices. */
#include "device/part.h"

#include <stdlib.h>

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

/* A driver gives all parts or none. Equal parts of a device that is not divided evenly may be more than were asked for. */
static ndr_status divide(const ndr_catalog_entry *whole, const cl_device_partition_property *how, size_t part,
                         cl_device_id *taken)
{
    const cl_uint capacity = whole->caps.info.compute_units;
    cl_uint count = 0;
    cl_device_id *const parts = calloc(capacity, sizeof *parts);
    if (!parts) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the parts of a device");
    const cl_int error = ndr_cl.clCreateSubDevices(whole->device, how, capacity, parts, &count);
    for (cl_uint i = 0; error == CL_SUCCESS && i < count; ++i)
        if (i != part) ndr_cl.clReleaseDevice(parts[i]);
    *taken = error == CL_SUCCESS && part < count ? parts[part] : NULL;
    free(parts);
    NDR_TRY_CL_AS("clCreateSubDevices", error);
    NDR_REQUIRE_AS(NDR_DRIVER_ERROR, *taken, "the driver divided device \"%s\" into %u parts, so there is no part %zu",
                   whole->caps.info.name, (unsigned)count, part);
    return NDR_OK;
}

static ndr_status divide_equally(const ndr_catalog_entry *whole, const ndr_context_desc *desc, cl_device_id *taken)
{
    const size_t units = whole->caps.info.compute_units / desc->part_count;
    NDR_TRY(check_kind(whole, CL_DEVICE_PARTITION_EQUALLY));
    return divide(
        whole, (cl_device_partition_property[]){ CL_DEVICE_PARTITION_EQUALLY, (cl_device_partition_property)units, 0 },
        desc->part, taken);
}

static ndr_status divide_by_units(const ndr_catalog_entry *whole, const ndr_context_desc *desc, cl_device_id *taken)
{
    NDR_TRY(check_kind(whole, CL_DEVICE_PARTITION_BY_COUNTS));
    cl_device_partition_property *const how = calloc(desc->part_count + 3, sizeof *how); /* ends in 0, twice */
    if (!how) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the parts of a device");
    how[0] = CL_DEVICE_PARTITION_BY_COUNTS;
    for (size_t i = 0; i < desc->part_count; ++i) how[1 + i] = (cl_device_partition_property)desc->part_units[i];
    const ndr_status status = divide(whole, how, desc->part, taken);
    free(how);
    return status;
}

ndr_status ndr_part_take(const ndr_catalog_entry *whole, const ndr_context_desc *desc, ndr_catalog_entry *part)
{
    *part = *whole;
    NDR_TRY(check_desc(&whole->caps.info, desc));
    NDR_TRY((desc->part_units ? divide_by_units : divide_equally)(whole, desc, &part->device));
    const ndr_status status = ndr_caps_query(part->platform, part->device, &part->caps);
    if (status != NDR_OK) ndr_cl.clReleaseDevice(part->device);
    return status;
}
