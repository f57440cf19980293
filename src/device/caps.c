/* caps.c - a device's properties, queried once and kept as plain data. */
#include "device/caps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ndr_status ndr_caps_parse_disable(const char *words, unsigned *disabled)
{
    static const struct {
        const char *word;
        unsigned bit;
    } table[] = {
        { "fp64", NDR_DISABLE_FP64 },
        { "int64_atomics", NDR_DISABLE_INT64_ATOMICS },
        { "sub_groups", NDR_DISABLE_SUB_GROUPS },
        { "float_atomics", NDR_DISABLE_FLOAT_ATOMICS },
        { "memory_order", NDR_DISABLE_MEMORY_ORDER },
        { "ptx", NDR_DISABLE_PTX },
        { "progress", NDR_DISABLE_PROGRESS },
    };
    enum { COUNT = NDR_COUNT_OF(table) };

    unsigned bits = 0;
    for (const char *word = words ? words : ""; *word;) {
        const size_t length = strcspn(word, ",");
        size_t i = 0;
        while (i < COUNT && !(strlen(table[i].word) == length && memcmp(table[i].word, word, length) == 0)) ++i;
        NDR_REQUIRE(i < COUNT || length == 0,
                    "NDR_DISABLE names \"%.*s\"; use fp64, int64_atomics, sub_groups, float_atomics, memory_order, "
                    "ptx or progress",
                    (int)length, word);
        if (i < COUNT) bits |= table[i].bit;
        word += length;
        if (*word == ',') ++word;
    }
    *disabled = bits;
    return NDR_OK;
}

/* Query one text property; truncate it to `capacity`. */
static ndr_status read_text(cl_device_id device, cl_device_info what, char *out, size_t capacity)
{
    char *whole;
    NDR_READ_TEXT(&whole, clGetDeviceInfo, device, what);
    snprintf(out, capacity, "%s", whole);
    free(whole);
    return NDR_OK;
}

static ndr_status read_names(cl_platform_id platform, cl_device_id device, ndr_device_info *info)
{
    NDR_TRY(read_text(device, CL_DEVICE_NAME, info->name, sizeof info->name));
    NDR_TRY(read_text(device, CL_DEVICE_VENDOR, info->vendor, sizeof info->vendor));
    NDR_TRY(read_text(device, CL_DRIVER_VERSION, info->driver, sizeof info->driver));
    NDR_TRY(read_text(device, CL_DEVICE_VERSION, info->opencl, sizeof info->opencl));
    char *name;
    NDR_READ_TEXT(&name, clGetPlatformInfo, platform, CL_PLATFORM_NAME);
    snprintf(info->platform, sizeof info->platform, "%s", name);
    free(name);
    return NDR_OK;
}

static ndr_device_type type_of(cl_device_type type)
{
    if (type & CL_DEVICE_TYPE_GPU) return NDR_DEVICE_TYPE_GPU;
    if (type & CL_DEVICE_TYPE_ACCELERATOR) return NDR_DEVICE_TYPE_ACCELERATOR;
    return type & CL_DEVICE_TYPE_CPU ? NDR_DEVICE_TYPE_CPU : NDR_DEVICE_TYPE_OTHER;
}

#define READ(what, variable) NDR_TRY_CL(clGetDeviceInfo(device, what, sizeof variable, &(variable), NULL))

static ndr_status read_limits(cl_device_id device, ndr_device_info *info)
{
    cl_device_type type = 0;
    cl_device_local_mem_type local_type = 0;
    cl_ulong local = 0, largest = 0;
    cl_uint align = 0;
    cl_bool unified = CL_FALSE;
    size_t sizes[16] = { 0 }; /* devices may have more than three dimensions */
    READ(CL_DEVICE_TYPE, type);
    READ(CL_DEVICE_LOCAL_MEM_TYPE, local_type);
    READ(CL_DEVICE_LOCAL_MEM_SIZE, local);
    READ(CL_DEVICE_GLOBAL_MEM_SIZE, info->global_memory_bytes);
    READ(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, info->global_cache_bytes);
    READ(CL_DEVICE_MAX_MEM_ALLOC_SIZE, largest);
    READ(CL_DEVICE_MAX_COMPUTE_UNITS, info->compute_units);
    READ(CL_DEVICE_ADDRESS_BITS, info->address_bits);
    READ(CL_DEVICE_MEM_BASE_ADDR_ALIGN, align); /* in bits */
    READ(CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, info->preferred_f32_width);
    READ(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, info->native_f32_width);
    READ(CL_DEVICE_HOST_UNIFIED_MEMORY, unified);
    READ(CL_DEVICE_MAX_WORK_ITEM_SIZES, sizes);
    READ(CL_DEVICE_MAX_WORK_GROUP_SIZE, info->max_group_size);
    READ(CL_DEVICE_MAX_PARAMETER_SIZE, info->max_argument_bytes);

    info->type = type_of(type);
    ndr_reverse_dims(3, sizes, info->max_local_size);
    info->local_memory_bytes = (size_t)local;
    info->max_buffer_bytes = largest > SIZE_MAX ? SIZE_MAX : (size_t)largest;
    info->has_dedicated_local_memory = local_type == CL_LOCAL;
    info->shares_host_memory = unified != CL_FALSE;
    info->view_align_bytes = ndr_max_size(align / 8, 1);
    return NDR_OK;
}

/* Query a property that not every device has (CL_INVALID_VALUE): then `*bytes` is 0 and `out` is unchanged. */
static ndr_status read_if_known(cl_device_id device, cl_device_info what, size_t capacity, void *out, size_t *bytes)
{
    *bytes = 0;
    size_t written = 0;
    const cl_int error = ndr_cl.clGetDeviceInfo(device, what, capacity, out, &written);
    if (error == CL_INVALID_VALUE) return NDR_OK;
    NDR_TRY_CL_AS("clGetDeviceInfo", error);
    *bytes = written;
    return NDR_OK;
}

/* CUDA's documents promise from 7.0 on that each thread which has begun goes on, whatever others do ("independent
 * thread scheduling"). */
static ndr_status read_compute_capability(cl_device_id device, ndr_caps *caps)
{
    enum { GROUPS_PROGRESS = 700 };
    cl_uint major = 0, minor = 0;
    size_t bytes;
    NDR_TRY(read_if_known(device, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, sizeof major, &major, &bytes));
    NDR_TRY(read_if_known(device, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, sizeof minor, &minor, &bytes));
    caps->compute_capability = 100 * major + 10 * minor;
    caps->groups_progress = caps->compute_capability >= GROUPS_PROGRESS;
    return NDR_OK;
}

static ndr_status read_vendor_limits(cl_device_id device, ndr_caps *caps)
{
    ndr_device_info *info = &caps->info;
    size_t bytes;
    NDR_TRY(read_if_known(device, CL_DEVICE_REGISTERS_PER_BLOCK_NV, sizeof caps->registers, &caps->registers, &bytes));
    NDR_TRY(read_if_known(device, CL_DEVICE_WARP_SIZE_NV, sizeof info->warp_size, &info->warp_size, &bytes));
    NDR_TRY(read_compute_capability(device, caps));
    NDR_TRY(read_if_known(device, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof info->sub_group_sizes, info->sub_group_sizes,
                          &bytes));
    info->sub_group_size_count = (unsigned)(bytes / sizeof info->sub_group_sizes[0]);
    return NDR_OK;
}

/* 210 for "OpenCL 2.1 ..."; 120 for a text in another form. */
static unsigned parse_cl_version(const char *opencl)
{
    unsigned major, minor;
    return sscanf(opencl, "OpenCL %u.%u", &major, &minor) == 2 ? 100 * major + 10 * minor : 120;
}

/* The newest of OpenCL C 1.2 and 3.0. OpenCL C 2.0 is not used: the fault cl20_without_support. */
static ndr_status read_c_version(cl_device_id device, unsigned cl_version, unsigned *version)
{
    cl_name_version versions[32];
    size_t bytes;
    if (cl_version < 300) return NDR_OK;
    NDR_TRY(read_if_known(device, CL_DEVICE_OPENCL_C_ALL_VERSIONS, sizeof versions, versions, &bytes));
    for (size_t i = 0; i < bytes / sizeof versions[0]; ++i)
        if (CL_VERSION_MAJOR(versions[i].version) >= 3) *version = 300;
    return NDR_OK;
}

static ndr_status read_pci_address(cl_device_id device, ndr_device_info *info)
{
    cl_device_pci_bus_info_khr pci;
    size_t bytes;
    NDR_TRY(read_if_known(device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof pci, &pci, &bytes));
    if (bytes == sizeof pci)
        snprintf(info->pci_address, sizeof info->pci_address, "%04x:%02x:%02x.%x", (unsigned)pci.pci_domain,
                 (unsigned)pci.pci_bus, (unsigned)pci.pci_device, (unsigned)pci.pci_function);
    return NDR_OK;
}

/* Which one it is, and where. Of all drivers only PoCL's for remote devices counts traffic. */
static ndr_status read_place(cl_device_id device, const char *extensions, ndr_device_info *info)
{
    enum { REMOTE_TRAFFIC_STATS_POCL = 0x4501 };
    uint64_t traffic[6];
    size_t bytes;
    NDR_TRY(read_if_known(device, REMOTE_TRAFFIC_STATS_POCL, sizeof traffic, traffic, &bytes));
    info->is_remote = bytes == sizeof traffic;
    if (ndr_word_find(extensions, "cl_khr_device_uuid"))
        NDR_TRY(read_if_known(device, CL_DEVICE_UUID_KHR, sizeof info->uuid, info->uuid, &bytes));
    return ndr_word_find(extensions, "cl_khr_pci_bus_info") ? read_pci_address(device, info) : NDR_OK;
}

/* Sub-groups are queried only if kernels are built as OpenCL C 3.0. */
static ndr_status read_abilities(cl_device_id device, const char *extensions, ndr_caps *caps)
{
    ndr_device_info *info = &caps->info;
    cl_device_fp_config f32 = 0, f64 = 0;
    cl_device_atomic_capabilities atomics = 0;
    cl_uint sub_groups = 0;
    char languages[1024] = "";
    size_t bytes;
    READ(CL_DEVICE_SINGLE_FP_CONFIG, f32);
    NDR_TRY(read_if_known(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof f64, &f64, &bytes));
    if (caps->c_version >= 300) {
        NDR_TRY(read_if_known(device, CL_DEVICE_MAX_NUM_SUB_GROUPS, sizeof sub_groups, &sub_groups, &bytes));
        NDR_TRY(read_if_known(device, CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, sizeof atomics, &atomics, &bytes));
    }
    NDR_TRY(read_if_known(device, CL_DEVICE_IL_VERSION, sizeof languages - 1, languages, &bytes));
    info->has_spirv = strstr(languages, "SPIR-V") && ndr_cl.clCreateProgramWithIL;
    info->has_buffer_addresses = caps->c_version >= 300 && ndr_word_find(extensions, "cl_ext_buffer_device_address")
                                 && ndr_cl.clCreateBufferWithProperties && ndr_cl.clSetKernelExecInfo;
    caps->flushes_f32 = !(f32 & CL_FP_DENORM);
    info->has_f64 = f64 != 0;
    info->has_f16 = ndr_word_find(extensions, "cl_khr_fp16") != NULL;
    info->has_int64_atomics = ndr_word_find(extensions, "cl_khr_int64_base_atomics")
                              && ndr_word_find(extensions, "cl_khr_int64_extended_atomics");
    info->has_sub_groups = sub_groups > 0 && ndr_cl.clGetKernelSubGroupInfo;
    caps->orders_device = (atomics & CL_DEVICE_ATOMIC_ORDER_ACQ_REL) && (atomics & CL_DEVICE_ATOMIC_SCOPE_DEVICE);
    caps->limits_registers = ndr_word_find(extensions, "cl_nv_compiler_options") != NULL;
    caps->wait_helps = ndr_word_find(extensions, "cl_intel_exec_by_local_thread") != NULL;
    caps->wait_sleeps = info->type == NDR_DEVICE_TYPE_CPU && !caps->wait_helps;
    return NDR_OK;
}

static ndr_status read_extensions(cl_device_id device, ndr_caps *caps)
{
    char *extensions;
    NDR_READ_TEXT(&extensions, clGetDeviceInfo, device, CL_DEVICE_EXTENSIONS);
    ndr_status status = read_abilities(device, extensions, caps);
    if (status == NDR_OK) status = read_place(device, extensions, &caps->info);
    free(extensions);
    return status;
}

static ndr_status parse_selftest(const char *word, bool *skips)
{
    *skips = word && strcmp(word, "off") == 0;
    NDR_REQUIRE(!word || !*word || *skips, "NDR_SELFTEST is \"%s\"; use off, or unset it", word);
    return NDR_OK;
}

ndr_status ndr_caps_query(cl_platform_id platform, cl_device_id device, ndr_caps *caps)
{
    ndr_caps read = { .c_version = 120 };
    NDR_TRY(ndr_caps_parse_disable(ndr_environment("NDR_DISABLE"), &read.disabled));
    NDR_TRY(read_names(platform, device, &read.info));
    NDR_TRY(read_limits(device, &read.info));
    read.cl_version = parse_cl_version(read.info.opencl);
    NDR_TRY(read_c_version(device, read.cl_version, &read.c_version));
    NDR_TRY(read_extensions(device, &read));
    NDR_TRY(read_vendor_limits(device, &read));
    if (read.disabled & NDR_DISABLE_FP64) read.info.has_f64 = false;
    if (read.disabled & NDR_DISABLE_INT64_ATOMICS) read.info.has_int64_atomics = false;
    if (read.disabled & NDR_DISABLE_SUB_GROUPS) {
        read.info.has_sub_groups = false;
        read.info.warp_size = 0;
    }
    if (read.info.warp_size > 0 && !(read.disabled & NDR_DISABLE_PTX)) read.orders_device = true;
    if (read.disabled & NDR_DISABLE_MEMORY_ORDER) read.orders_device = false;
    if (read.disabled & (NDR_DISABLE_PROGRESS | NDR_DISABLE_PTX)) read.groups_progress = false;
    if (!read.info.has_sub_groups) read.info.sub_group_size_count = 0;
    NDR_TRY(ndr_quirks_choose(&read, ndr_environment("NDR_QUIRKS"), &read.quirks));
    NDR_TRY(parse_selftest(ndr_environment("NDR_SELFTEST"), &read.skips_selftest));
    *caps = read;
    return NDR_OK;
}
