/* format.c - the types and formats of images, and which of them a device has. */
#include "device/context.h"
#include "device/format.h"

/* ---- formats ---- */

typedef struct channels_row {
    cl_channel_order cl;
    unsigned count;
    const char *name;
} channels_row;

static const channels_row channel_rows[] = {
    [NDR_CHANNELS_R] = { CL_R, 1, "R" },
    [NDR_CHANNELS_A] = { CL_A, 1, "A" },
    [NDR_CHANNELS_RG] = { CL_RG, 2, "RG" },
    [NDR_CHANNELS_RGBA] = { CL_RGBA, 4, "RGBA" },
    [NDR_CHANNELS_BGRA] = { CL_BGRA, 4, "BGRA" },
    [NDR_CHANNELS_INTENSITY] = { CL_INTENSITY, 1, "INTENSITY" },
    [NDR_CHANNELS_LUMINANCE] = { CL_LUMINANCE, 1, "LUMINANCE" },
    [NDR_CHANNELS_DEPTH] = { CL_DEPTH, 1, "DEPTH" },
};

typedef struct type_row {
    cl_channel_type cl;
    unsigned bytes;
    const char *name;
} type_row;

static const type_row type_rows[] = {
    [NDR_CHANNEL_UNORM8] = { CL_UNORM_INT8, 1, "UNORM8" },   [NDR_CHANNEL_UNORM16] = { CL_UNORM_INT16, 2, "UNORM16" },
    [NDR_CHANNEL_SNORM8] = { CL_SNORM_INT8, 1, "SNORM8" },   [NDR_CHANNEL_SNORM16] = { CL_SNORM_INT16, 2, "SNORM16" },
    [NDR_CHANNEL_I8] = { CL_SIGNED_INT8, 1, "I8" },          [NDR_CHANNEL_I16] = { CL_SIGNED_INT16, 2, "I16" },
    [NDR_CHANNEL_I32] = { CL_SIGNED_INT32, 4, "I32" },       [NDR_CHANNEL_U8] = { CL_UNSIGNED_INT8, 1, "U8" },
    [NDR_CHANNEL_U16] = { CL_UNSIGNED_INT16, 2, "U16" },     [NDR_CHANNEL_U32] = { CL_UNSIGNED_INT32, 4, "U32" },
    [NDR_CHANNEL_F16] = { CL_HALF_FLOAT, 2, "F16" },         [NDR_CHANNEL_F32] = { CL_FLOAT, 4, "F32" },
};

enum { CHANNELS = NDR_COUNT_OF(channel_rows), TYPES = NDR_COUNT_OF(type_rows) };

static bool is_format(ndr_image_format f)
{
    return f.channels > NDR_CHANNELS_NONE && (unsigned)f.channels < CHANNELS && f.type > NDR_CHANNEL_NONE
           && (unsigned)f.type < TYPES;
}

size_t ndr_image_format_size(ndr_image_format f)
{
    return is_format(f) ? channel_rows[f.channels].count * type_rows[f.type].bytes : 0;
}

cl_image_format ndr_format_cl(ndr_image_format f)
{
    return (cl_image_format){ channel_rows[f.channels].cl, type_rows[f.type].cl };
}

/* False for a format that libndr has no name for. */
static bool name_format(cl_image_format cl, ndr_image_format *out)
{
    unsigned channels = 1, type = 1;
    while (channels < CHANNELS && channel_rows[channels].cl != cl.image_channel_order) ++channels;
    while (type < TYPES && type_rows[type].cl != cl.image_channel_data_type) ++type;
    *out = (ndr_image_format){ (ndr_channels)channels, (ndr_channel_type)type };
    return channels < CHANNELS && type < TYPES;
}

bool ndr_format_is_same(cl_image_format a, cl_image_format b)
{
    return a.image_channel_order == b.image_channel_order && a.image_channel_data_type == b.image_channel_data_type;
}

/* ---- types ---- */

static const ndr_image_type types[] = {
    { "image1d_t", NULL, CL_MEM_OBJECT_IMAGE1D, 1, false, { CL_DEVICE_IMAGE2D_MAX_WIDTH } },
    { "image2d_t", "image2d_depth_t", CL_MEM_OBJECT_IMAGE2D, 2, false,
      { CL_DEVICE_IMAGE2D_MAX_WIDTH, CL_DEVICE_IMAGE2D_MAX_HEIGHT } },
    { "image3d_t", NULL, CL_MEM_OBJECT_IMAGE3D, 3, false,
      { CL_DEVICE_IMAGE3D_MAX_WIDTH, CL_DEVICE_IMAGE3D_MAX_HEIGHT, CL_DEVICE_IMAGE3D_MAX_DEPTH } },
    { "image1d_array_t", NULL, CL_MEM_OBJECT_IMAGE1D_ARRAY, 2, true,
      { CL_DEVICE_IMAGE2D_MAX_WIDTH, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE } },
    { "image2d_array_t", "image2d_array_depth_t", CL_MEM_OBJECT_IMAGE2D_ARRAY, 3, true,
      { CL_DEVICE_IMAGE2D_MAX_WIDTH, CL_DEVICE_IMAGE2D_MAX_HEIGHT, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE } },
    { "image1d_buffer_t", NULL, CL_MEM_OBJECT_IMAGE1D_BUFFER, 1, false, { CL_DEVICE_IMAGE_MAX_BUFFER_SIZE } },
};

ndr_status ndr_image_check_access(const char *call, const char *member, ndr_access access)
{
    NDR_REQUIRE((unsigned)access <= NDR_ACCESS_NONE,
                "%s: %s is %d; use NDR_ACCESS_READ_WRITE, NDR_ACCESS_READ, NDR_ACCESS_WRITE or NDR_ACCESS_NONE", call,
                member, (int)access);
    return NDR_OK;
}

ndr_status ndr_image_find_type(const char *call, const ndr_image_desc *desc, const ndr_image_type **type)
{
    const unsigned dims = desc->size.dims;
    NDR_REQUIRE(dims >= 1 && dims <= 3, "%s: size.dims is %u; make it 1, 2 or 3", call, dims);
    NDR_REQUIRE(!desc->is_array || dims > 1,
                "%s: is_array is set, but size has 1 dimension; the first of 2 or 3 counts layers", call);
    NDR_REQUIRE(!desc->buffer || dims == 1, "%s: buffer is set, but size has %u dimensions; such an image has 1", call,
                dims);
    NDR_TRY(ndr_image_check_access(call, "kernels", desc->kernels));
    NDR_REQUIRE(!desc->is_read_write || desc->kernels == NDR_ACCESS_READ_WRITE,
                "%s: is_read_write is set, but kernels is %d; set that to NDR_ACCESS_READ_WRITE", call,
                (int)desc->kernels);
    *type = &types[desc->buffer ? 5 : desc->is_array ? dims + 1 : dims - 1];
    return NDR_OK;
}

ndr_status ndr_image_require(const ndr_context *context)
{
    cl_bool has_images = CL_FALSE;
    NDR_TRY_CL(clGetDeviceInfo(context->device, CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, NULL));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, has_images, "device \"%s\" has no images; use buffers", context->caps.info.name);
    return NDR_OK;
}

cl_mem_flags ndr_image_kernel_flags(ndr_access access)
{
    static const cl_mem_flags flags[] = { CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY };
    return flags[access];
}

/* ---- listing formats ---- */

enum { MAX_FORMATS = 512 };

/* The formats that libndr has names for. Before OpenCL 2.0 no kernel both reads and writes an image, and the flag for
 * that is not valid. */
static ndr_status list_formats(const ndr_context *context, const ndr_image_type *type, cl_mem_flags use, size_t capacity,
                               ndr_image_format *formats, size_t *count)
{
    cl_image_format found[MAX_FORMATS];
    cl_uint found_count = 0;
    *count = 0;
    if (use == CL_MEM_KERNEL_READ_AND_WRITE && context->caps.cl_version < 200) return NDR_OK;
    NDR_TRY_CL(clGetSupportedImageFormats(context->cl, use, type->cl, MAX_FORMATS, found, &found_count));
    for (cl_uint i = 0; i < found_count && i < MAX_FORMATS; ++i) {
        ndr_image_format format;
        if (!name_format(found[i], &format)) continue;
        if (*count < capacity) formats[*count] = format;
        ++*count;
    }
    return NDR_OK;
}

static cl_mem_flags use_of(const ndr_image_desc *desc)
{
    return desc->is_read_write ? CL_MEM_KERNEL_READ_AND_WRITE : ndr_image_kernel_flags(desc->kernels);
}

ndr_status ndr_image_list_formats(const ndr_context *context, const ndr_image_desc *use, size_t capacity,
                                  ndr_image_format *formats, size_t *count)
{
    NDR_REQUIRE_SET(context, use, count);
    NDR_REQUIRE(formats || capacity == 0,
                "%s: formats is NULL, but capacity is %zu; pass an array of that many elements, or capacity 0",
                __func__, capacity);
    const ndr_image_type *type = NULL;
    NDR_TRY(ndr_image_find_type("ndr_image_list_formats, use", use, &type));
    NDR_TRY(ndr_image_require(context));
    size_t found;
    NDR_TRY(list_formats(context, type, use_of(use), capacity, formats, &found));
    *count = found;
    return NDR_OK;
}

/* "R, RG", the channels of the formats of that type, or "F16, F32", the types of those with these channels. */
static void add_names(const ndr_image_format *known, size_t count, ndr_image_format like, bool by_type, ndr_text *out)
{
    const size_t before = out->length;
    for (size_t i = 0; i < count; ++i)
        if (by_type ? known[i].type == like.type : known[i].channels == like.channels)
            ndr_text_add(out, "%s%s", out->length > before ? ", " : "",
                         by_type ? channel_rows[known[i].channels].name : type_rows[known[i].type].name);
    if (out->length == before) ndr_text_add(out, "none");
}

static ndr_status refuse_format(const ndr_context *context, const ndr_image_type *type, const ndr_image_desc *desc,
                                const ndr_image_format *known, size_t count)
{
    static const char *const uses[] = { "that kernels read and write", "that kernels read", "that kernels write",
                                        "that no kernel uses" };
    const char *channels = channel_rows[desc->format.channels].name, *of_type = type_rows[desc->format.type].name;
    ndr_text types_of = { 0 }, channels_of = { 0 };
    add_names(known, count, desc->format, false, &types_of);
    add_names(known, count, desc->format, true, &channels_of);
    const ndr_status status = ndr_fail(
        NDR_UNSUPPORTED,
        "ndr_image_create: device \"%s\" has no format %s of %s for an %s %s; of %s it has %s; of type %s it has "
        "%s; ndr_image_list_formats() lists all",
        context->caps.info.name, channels, of_type, type->name,
        desc->is_read_write ? "as a read_write parameter" : uses[desc->kernels], channels,
        types_of.chars ? types_of.chars : "", of_type, channels_of.chars ? channels_of.chars : "");
    ndr_text_free(&types_of);
    ndr_text_free(&channels_of);
    return status;
}

static bool is_listed(const ndr_image_format *known, size_t count, ndr_image_format f)
{
    while (count > 0 && !(known[count - 1].channels == f.channels && known[count - 1].type == f.type)) --count;
    return count > 0;
}

ndr_status ndr_image_check_format(const ndr_context *context, const ndr_image_type *type, const ndr_image_desc *desc)
{
    const ndr_image_format f = desc->format;
    NDR_REQUIRE(is_format(f), "ndr_image_create: format {%d, %d} is not valid; set channels and type", (int)f.channels,
                (int)f.type);
    ndr_image_format known[MAX_FORMATS];
    size_t count = 0;
    NDR_TRY(list_formats(context, type, use_of(desc), MAX_FORMATS, known, &count));
    return is_listed(known, count, f) ? NDR_OK : refuse_format(context, type, desc, known, count);
}

ndr_status ndr_image_find_read_write(const ndr_context *context, const ndr_image_type *type, cl_image_format cl,
                                  bool *is_found)
{
    ndr_image_format known[MAX_FORMATS], format;
    size_t count = 0;
    NDR_TRY(list_formats(context, type, CL_MEM_KERNEL_READ_AND_WRITE, MAX_FORMATS, known, &count));
    *is_found = name_format(cl, &format) && is_listed(known, count, format);
    return NDR_OK;
}

const ndr_image_type *ndr_image_type_of(cl_mem_object_type cl)
{
    for (size_t i = 0; i < NDR_COUNT_OF(types); ++i)
        if (types[i].cl == cl) return &types[i];
    return NULL;
}

ndr_status ndr_image_refuse_formats(const ndr_image *from, const ndr_image *to)
{
    ndr_image_format a, b;
    if (!name_format(from->format, &a) || !name_format(to->format, &b))
        return ndr_fail(
            NDR_BAD_ARGUMENT,
            "ndr_image_copy: from and to have elements of different formats; use images of the same format");
    return ndr_fail(NDR_BAD_ARGUMENT,
                    "ndr_image_copy: from has elements %s of %s, but to has %s of %s; use images of the same format",
                    channel_rows[a.channels].name, type_rows[a.type].name, channel_rows[b.channels].name,
                    type_rows[b.type].name);
}
