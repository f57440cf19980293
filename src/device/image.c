/* image.c - images: their formats, transfers and mappings of their parts; and samplers. */
#include "device/buffer.h"
#include "device/check.h"
#include "device/context.h"
#include "device/image.h"
#include "device/queue.h"
#include "device/transfer.h"

#include "ndr/ndr_cl.h"

#include <string.h>

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

static cl_image_format cl_format_of(ndr_image_format f)
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

static bool is_same_format(cl_image_format a, cl_image_format b)
{
    return a.image_channel_order == b.image_channel_order && a.image_channel_data_type == b.image_channel_data_type;
}

/* ---- types ---- */

/* A type of images, with the device's limits of its dimensions in OpenCL's order. */
typedef struct image_type {
    const char *name, *depth_name; /* of the kernel's parameter */
    cl_mem_object_type cl;
    unsigned dims;
    bool is_array; /* the last dimension counts layers */
    cl_device_info limits[3];
} image_type;

static const image_type types[] = {
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

static ndr_status check_access(const char *call, const char *member, ndr_access access)
{
    NDR_REQUIRE((unsigned)access <= NDR_ACCESS_NONE,
                "%s: %s is %d; use NDR_ACCESS_READ_WRITE, NDR_ACCESS_READ, NDR_ACCESS_WRITE or NDR_ACCESS_NONE", call,
                member, (int)access);
    return NDR_OK;
}

static ndr_status find_type(const char *call, const ndr_image_desc *desc, const image_type **type)
{
    const unsigned dims = desc->size.dims;
    NDR_REQUIRE(dims >= 1 && dims <= 3, "%s: size.dims is %u; make it 1, 2 or 3", call, dims);
    NDR_REQUIRE(!desc->is_array || dims > 1,
                "%s: is_array is set, but size has 1 dimension; the first of 2 or 3 counts layers", call);
    NDR_REQUIRE(!desc->buffer || dims == 1, "%s: buffer is set, but size has %u dimensions; such an image has 1", call,
                dims);
    NDR_TRY(check_access(call, "kernels", desc->kernels));
    NDR_REQUIRE(!desc->is_read_write || desc->kernels == NDR_ACCESS_READ_WRITE,
                "%s: is_read_write is set, but kernels is %d; set that to NDR_ACCESS_READ_WRITE", call,
                (int)desc->kernels);
    *type = &types[desc->buffer ? 5 : desc->is_array ? dims + 1 : dims - 1];
    return NDR_OK;
}

static ndr_status require_images(const ndr_context *context)
{
    cl_bool has_images = CL_FALSE;
    NDR_TRY_CL(clGetDeviceInfo(context->device, CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, NULL));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, has_images, "device \"%s\" has no images; use buffers", context->caps.info.name);
    return NDR_OK;
}

/* An image that no kernel uses is made as one to read, for which devices have the most formats. */
static cl_mem_flags kernel_flags(ndr_access access)
{
    static const cl_mem_flags flags[] = { CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY };
    return flags[access];
}

/* ---- listing formats ---- */

enum { MAX_FORMATS = 512 };

/* The formats that libndr has names for. Before OpenCL 2.0 no kernel both reads and writes an image, and the flag for
 * that is not valid. */
static ndr_status list_formats(const ndr_context *context, const image_type *type, cl_mem_flags use, size_t capacity,
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
    return desc->is_read_write ? CL_MEM_KERNEL_READ_AND_WRITE : kernel_flags(desc->kernels);
}

ndr_status ndr_image_list_formats(const ndr_context *context, const ndr_image_desc *use, size_t capacity,
                                  ndr_image_format *formats, size_t *count)
{
    NDR_REQUIRE_SET(context, use, count);
    NDR_REQUIRE(formats || capacity == 0,
                "%s: formats is NULL, but capacity is %zu; pass an array of that many elements, or capacity 0",
                __func__, capacity);
    const image_type *type = NULL;
    NDR_TRY(find_type("ndr_image_list_formats, use", use, &type));
    NDR_TRY(require_images(context));
    size_t found;
    NDR_TRY(list_formats(context, type, use_of(use), capacity, formats, &found));
    *count = found;
    return NDR_OK;
}

/* ---- making ---- */

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

static ndr_status refuse_format(const ndr_context *context, const image_type *type, const ndr_image_desc *desc,
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

static ndr_status check_format(const ndr_context *context, const image_type *type, const ndr_image_desc *desc)
{
    const ndr_image_format f = desc->format;
    NDR_REQUIRE(is_format(f), "ndr_image_create: format {%d, %d} is not valid; set channels and type", (int)f.channels,
                (int)f.type);
    ndr_image_format known[MAX_FORMATS];
    size_t count = 0;
    NDR_TRY(list_formats(context, type, use_of(desc), MAX_FORMATS, known, &count));
    return is_listed(known, count, f) ? NDR_OK : refuse_format(context, type, desc, known, count);
}

/* `size` is in OpenCL's order. */
static ndr_status check_size(const ndr_context *context, const image_type *type, const size_t size[3])
{
    for (unsigned k = 0; k < type->dims; ++k) {
        size_t limit = 0;
        NDR_REQUIRE(size[k] > 0, "ndr_image_create: dimension %u has 0 elements; an image has at least one",
                    type->dims - 1 - k);
        NDR_TRY_CL(clGetDeviceInfo(context->device, type->limits[k], sizeof limit, &limit, NULL));
        NDR_REQUIRE_AS(
            NDR_LIMIT_EXCEEDED, size[k] <= limit,
            "ndr_image_create: dimension %u has %zu elements, but an %s of device \"%s\" has at most %zu there",
            type->dims - 1 - k, size[k], type->name, context->caps.info.name, limit);
    }
    return NDR_OK;
}

/* Some drivers refuse images over sub-buffers, others fail at the launch. With guard zones all buffers are such. */
static ndr_status check_source(const ndr_context *context, const ndr_image_desc *desc, size_t element_bytes)
{
    const ndr_buffer *buffer = desc->buffer;
    if (!buffer) return NDR_OK;
    NDR_REQUIRE_SET_IN("ndr_image_create", buffer);
    NDR_REQUIRE(buffer->context == context,
                "ndr_image_create: the buffer belongs to another context%s; create both in one",
                ndr_handle_or_destroyed());
    NDR_REQUIRE(!desc->contents,
                "ndr_image_create: buffer is set, but so is contents; write the contents to the buffer");
    NDR_REQUIRE_AS(NDR_OUT_OF_BOUNDS, desc->size.size[0] <= buffer->size_bytes / element_bytes,
                   "ndr_image_create: %zu elements of %zu bytes reach past the end of a buffer of %zu bytes",
                   desc->size.size[0], element_bytes, buffer->size_bytes);
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, buffer->memory_offset == 0,
                   "ndr_image_create: %s; drivers support images only at the start of a buffer",
                   buffer->whole->zones ? "NDR_CHECK has put a guard zone before the buffer" : "the buffer is a view");
    return NDR_OK;
}

static cl_mem_flags flags_of(const ndr_image_desc *desc)
{
    static const cl_mem_flags host[] = { 0, CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_NO_ACCESS };
    return kernel_flags(desc->kernels) | (desc->buffer ? 0 : host[desc->host])
           | (desc->contents ? CL_MEM_COPY_HOST_PTR : 0);
}

static ndr_status create_cl(const ndr_context *context, const image_type *type, const ndr_image_desc *desc,
                            const size_t size[3], cl_mem *made)
{
    const cl_image_format format = cl_format_of(desc->format);
    const cl_image_desc cl_desc = { .image_type = type->cl,
                                    .image_width = size[0],
                                    .image_height =
                                        type->dims > 1 && !(desc->is_array && type->dims == 2) ? size[1] : 0,
                                    .image_depth = type->dims == 3 && !desc->is_array ? size[2] : 0,
                                    .image_array_size = desc->is_array ? size[type->dims - 1] : 0,
                                    .mem_object = desc->buffer ? desc->buffer->memory : NULL };
    cl_int error;
    cl_mem cl =
        ndr_cl.clCreateImage(context->cl, flags_of(desc), &format, &cl_desc, (void *)(uintptr_t)desc->contents, &error);
    if (error != CL_SUCCESS)
        return ndr_fail_memory(context, ndr_fail_cl(error, "clCreateImage"),
                               size[0] * size[1] * size[2] * ndr_image_format_size(desc->format));
    *made = cl;
    return NDR_OK;
}

/* Whether kernels may take an image of that format as read_write. */
static ndr_status find_read_write(const ndr_context *context, const image_type *type, cl_image_format cl,
                                  bool *is_found)
{
    ndr_image_format known[MAX_FORMATS], format;
    size_t count = 0;
    NDR_TRY(list_formats(context, type, CL_MEM_KERNEL_READ_AND_WRITE, MAX_FORMATS, known, &count));
    *is_found = name_format(cl, &format) && is_listed(known, count, format);
    return NDR_OK;
}

/* If it succeeds, it takes over the reference of `like.cl`. */
static ndr_status wrap_image(ndr_context *context, const image_type *type, ndr_image like, ndr_image **image)
{
    const bool is_depth = like.format.image_channel_order == CL_DEPTH && type->depth_name;
    if (like.kernel_access == NDR_ACCESS_READ_WRITE)
        NDR_TRY(find_read_write(context, type, like.format, &like.is_read_write));
    ndr_image *made = ndr_handle_new(NDR_HANDLE_IMAGE, sizeof *made, context->checker != NULL);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for an image");
    like.seal = made->seal;
    *made = like;
    atomic_init(&made->references, 1);
    ndr_mappings_init(&made->mappings);
    made->context = ndr_context_keep(context);
    made->type_name = is_depth ? type->depth_name : type->name;
    made->dims = type->dims;
    made->is_row_array = type->is_array && type->dims == 2;
    if (made->buffer) ndr_buffer_keep(made->buffer);
    ndr_check_count_image(context);
    *image = made;
    return NDR_OK;
}

ndr_status ndr_image_create(ndr_context *context, const ndr_image_desc *desc, ndr_image **image)
{
    NDR_REQUIRE_SET(context, desc, image);
    const image_type *type = NULL;
    ndr_image like = { .size = { 1, 1, 1 } };
    NDR_TRY(find_type(__func__, desc, &type));
    NDR_TRY(check_access(__func__, "host", desc->host));
    ndr_reverse_dims(type->dims, desc->size.size, like.size);
    NDR_TRY(require_images(context));
    NDR_TRY(check_format(context, type, desc));
    NDR_TRY(check_size(context, type, like.size));
    like.format = cl_format_of(desc->format);
    like.element_bytes = ndr_image_format_size(desc->format);
    like.kernel_access = desc->kernels;
    like.host_access = desc->host;
    like.buffer = desc->buffer;
    NDR_TRY(check_source(context, desc, like.element_bytes));
    NDR_TRY(create_cl(context, type, desc, like.size, &like.cl));
    const ndr_status status = wrap_image(context, type, like, image);
    if (status != NDR_OK) ndr_cl.clReleaseMemObject(like.cl);
    return status;
}

void ndr_image_keep(ndr_image *image) { atomic_fetch_add(&image->references, 1); }

void ndr_image_release(ndr_image *image)
{
    if (atomic_fetch_sub(&image->references, 1) > 1) return;
    ndr_cl.clReleaseMemObject(image->cl);
    if (image->buffer) ndr_buffer_release(image->buffer);
    ndr_mappings_destroy(&image->mappings);
    ndr_context_release(image->context);
    ndr_handle_free(image);
}

void ndr_image_destroy(ndr_image *image)
{
    if (!ndr_handle_retire(NDR_HANDLE_IMAGE, image, __func__)) return;
    ndr_unmap_all(image->context, &image->mappings, image->cl);
    ndr_image_release(image);
}

bool ndr_image_is_free(const ndr_image *image, bool device_writes)
{
    return image->buffer ? ndr_buffer_is_free(image->buffer, device_writes)
                         : ndr_mappings_allow(&image->mappings, device_writes);
}

/* ---- parts ---- */

/* A part in OpenCL's order, padded with 1. */
typedef struct part {
    size_t origin[3], extent[3];
    size_t pitch[2]; /* of the host's rows and planes; 0: dense */
} part;

static bool is_empty(const part *p) { return p->extent[0] == 0 || p->extent[1] == 0 || p->extent[2] == 0; }

static ndr_status check_queue(const char *call, const ndr_queue *queue, const ndr_image *image)
{
    NDR_REQUIRE_SET_IN(call, queue, image);
    return ndr_check_home(call, "image", queue, image->context);
}

static ndr_status check_use(const char *call, const ndr_queue *queue, const ndr_image *image, bool device_writes)
{
    NDR_TRY(check_queue(call, queue, image));
    NDR_REQUIRE(ndr_image_is_free(image, device_writes), "%s: the host has the image%s mapped; unmap it first", call,
                image->buffer ? "'s buffer" : "");
    return NDR_OK;
}

static ndr_status check_host_access(const char *call, const ndr_image *image, bool reads, bool writes)
{
    if (image->buffer) NDR_TRY(ndr_check_host_access(call, "buffer", image->buffer->host_access, reads, writes));
    return ndr_check_host_access(call, "image", image->host_access, reads, writes);
}

static ndr_status check_inside(const char *call, const ndr_image *image, const size_t origin[3], const size_t extent[3])
{
    for (unsigned k = 0; k < image->dims; ++k)
        NDR_REQUIRE_AS(
            NDR_OUT_OF_BOUNDS, origin[k] <= image->size[k] && extent[k] <= image->size[k] - origin[k],
            "%s, dimension %u: origin %zu and extent %zu reach past the end of an image of %zu elements there", call,
            image->dims - 1 - k, origin[k], extent[k], image->size[k]);
    return NDR_OK;
}

static ndr_status read_part(const char *call, const ndr_image *image, const ndr_image_part *given, part *out)
{
    *out = (part){ 0 };
    memcpy(out->extent, image->size, sizeof image->size);
    if (!given) return NDR_OK;
    ndr_reverse_dims(image->dims, given->origin, out->origin);
    out->pitch[0] = given->row_pitch_bytes;
    out->pitch[1] = given->plane_pitch_bytes;
    if (given->extent.dims > 0) {
        NDR_REQUIRE(given->extent.dims == image->dims, "%s: extent.dims is %u, but the image has %u", call,
                    given->extent.dims, image->dims);
        ndr_reverse_dims(image->dims, given->extent.size, out->extent);
    }
    return check_inside(call, image, out->origin, out->extent);
}

/* Pitches that libndr's dimensions have: of rows in 2 and 3, of planes in 3. */
static ndr_status check_pitches(const char *call, const ndr_image *image, const part *p)
{
    static const char *const names[] = { "row_pitch_bytes", "plane_pitch_bytes" };
    size_t bytes = p->extent[0] * image->element_bytes;
    for (unsigned k = 0; k + 1 < image->dims; ++k) {
        const size_t pitch = p->pitch[k] ? p->pitch[k] : bytes;
        NDR_REQUIRE(pitch >= bytes, "%s, dimension %u: %zu elements take %zu bytes, but %s is %zu; increase it", call,
                    image->dims - 1 - k, p->extent[k], bytes, names[k], pitch);
        NDR_REQUIRE(k == 0 || !p->pitch[0] || pitch % p->pitch[0] == 0,
                    "%s: %s is %zu; it must be a multiple of %s, %zu", call, names[k], pitch, names[0], p->pitch[0]);
        NDR_REQUIRE_AS(NDR_OUT_OF_BOUNDS, ndr_mul_fits(pitch, p->extent[k + 1], &bytes) && bytes <= PTRDIFF_MAX,
                       "%s: with %s %zu the part exceeds the host's address space; reduce it", call, names[k], pitch);
    }
    return NDR_OK;
}

/* ---- transfers ---- */

/* The bytes of a part of an image over a buffer. Transfers and mappings of such parts are those of the buffer, because
 * Mesa 22.3's rusticl takes their origin for a number of bytes. */
static ndr_bytes bytes_of(const ndr_image *image, const part *p)
{
    return (ndr_bytes){ image->buffer, p->origin[0] * image->element_bytes, p->extent[0] * image->element_bytes };
}

static ndr_cl_side side_of(const ndr_image *image, const size_t origin[3])
{
    return (ndr_cl_side){ .cl = image->cl, .origin = { origin[0], origin[1], origin[2] } };
}

static ndr_transfer transfer_of(ndr_work work, const ndr_image *image, const part *p)
{
    return (ndr_transfer){ .work = work,
                           .from = side_of(image, p->origin),
                           .to = side_of(image, p->origin),
                           .extent = { p->extent[0], p->extent[1], p->extent[2] },
                           .element_bytes = image->element_bytes };
}

/* A write leaves the host's memory unchanged. Some drivers take a row's pitch for the distance of the layers of a 1-D
 * array, others a slice's. */
static ndr_transfer with_host(bool writes, const ndr_image *image, const part *p, void *host)
{
    const ndr_bytes bytes = bytes_of(image, p);
    if (image->buffer) return ndr_buffer_transfer(writes ? NDR_WORK_WRITE : NDR_WORK_READ, &bytes, host);
    ndr_transfer t = transfer_of(writes ? NDR_WORK_WRITE_IMAGE : NDR_WORK_READ_IMAGE, image, p);
    size_t *const pitch = writes ? t.from.pitch : t.to.pitch;
    if (image->dims > 1) pitch[0] = p->pitch[0];
    pitch[1] = image->is_row_array ? pitch[0] : image->dims > 2 ? p->pitch[1] : 0;
    t.source = t.target = host;
    return t;
}

static ndr_status transfer(const char *call, bool writes, ndr_queue *queue, ndr_image *image,
                           const ndr_image_part *given, const void *host, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    part p;
    NDR_TRY(check_use(call, order.queue, image, writes));
    NDR_TRY(check_host_access(call, image, !writes, writes));
    NDR_TRY(read_part(call, image, given, &p));
    if (!is_empty(&p)) NDR_TRY(check_pitches(call, image, &p));
    NDR_REQUIRE(host || is_empty(&p), "%s: host is NULL, but the part is not empty; pass memory of that size", call);
    const ndr_transfer t = with_host(writes, image, &p, (void *)(uintptr_t)host);
    return ndr_transfer_run(&order, &t, true, event);
}

ndr_status ndr_image_write(ndr_queue *queue, ndr_image *image, const ndr_image_part *given, const void *host,
                           ndr_event **event)
{
    return transfer(__func__, true, queue, image, given, host, event);
}

ndr_status ndr_image_read(ndr_queue *queue, ndr_image *image, const ndr_image_part *given, void *host,
                          ndr_event **event)
{
    return transfer(__func__, false, queue, image, given, host, event);
}

ndr_status ndr_image_fill(ndr_queue *queue, ndr_image *image, const ndr_image_part *given, const void *value,
                          ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    part p;
    NDR_TRY(check_use(__func__, order.queue, image, true));
    NDR_REQUIRE_SET(value);
    NDR_TRY(read_part(__func__, image, given, &p));
    ndr_transfer t = transfer_of(NDR_WORK_FILL_IMAGE, image, &p);
    t.source = value;
    return ndr_transfer_run(&order, &t, false, event);
}

static ndr_status refuse_formats(const ndr_image *from, const ndr_image *to)
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

static ndr_status check_copy(const ndr_image *from, const part *p, const ndr_image *to, const size_t to_origin[3])
{
    const size_t *origin = p->origin, *extent = p->extent;
    NDR_REQUIRE(from->dims == to->dims,
                "ndr_image_copy: from has %u dimensions, but to has %u; use images of the same dimensions", from->dims,
                to->dims);
    if (!is_same_format(from->format, to->format)) return refuse_formats(from, to);
    NDR_TRY(check_inside("ndr_image_copy, to", to, to_origin, extent));
    bool overlap = from->cl == to->cl && !is_empty(p);
    for (unsigned k = 0; k < from->dims; ++k)
        overlap = overlap && origin[k] < to_origin[k] + extent[k] && to_origin[k] < origin[k] + extent[k];
    if (from->buffer && to->buffer)
        overlap = ndr_bytes_overlap(bytes_of(from, p), (ndr_bytes){ to->buffer, to_origin[0] * to->element_bytes,
                                                                    extent[0] * to->element_bytes });
    NDR_REQUIRE(!overlap, "ndr_image_copy: the two parts of the same image%s overlap; copy via another image",
                from->buffer && to->buffer ? "'s buffer" : "");
    return NDR_OK;
}

ndr_status ndr_image_copy(ndr_queue *queue, ndr_image *from, const ndr_image_part *given, ndr_image *to,
                          const size_t *to_origin, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    part p;
    size_t target[3] = { 0, 0, 0 };
    NDR_TRY(check_use("ndr_image_copy, from", order.queue, from, false));
    NDR_TRY(check_use("ndr_image_copy, to", order.queue, to, true));
    NDR_TRY(read_part("ndr_image_copy, from", from, given, &p));
    if (to_origin) ndr_reverse_dims(to->dims, to_origin, target);
    NDR_TRY(check_copy(from, &p, to, target));
    ndr_transfer t = transfer_of(NDR_WORK_COPY_IMAGE, from, &p);
    t.to = side_of(to, target);
    return ndr_transfer_run(&order, &t, false, event);
}

/* ---- mapping ---- */

ndr_status ndr_image_map(ndr_queue *queue, ndr_image *image, ndr_map_access access, const ndr_image_part *given,
                         ndr_mapped_part *mapped)
{
    const ndr_order order = ndr_order_of(queue);
    part p;
    NDR_TRY(check_queue(__func__, order.queue, image));
    NDR_REQUIRE_SET(mapped);
    NDR_TRY(ndr_map_check(__func__, access));
    NDR_TRY(check_host_access(__func__, image, access != NDR_MAP_WRITE, access != NDR_MAP_READ));
    NDR_TRY(read_part(__func__, image, given, &p));
    NDR_REQUIRE(!is_empty(&p), "ndr_image_map: a part of 0 elements has no address; map at least one element");
    size_t pitch[2] = { 0, 0 }; /* of rows and slices, as the driver reports them */
    void *host;
    ndr_transfer map = transfer_of(NDR_WORK_MAP_IMAGE, image, &p);
    map.mapped_pitch = pitch;
    const ndr_map_request request = { __func__, &image->mappings, &map, { 0 }, access, NULL };
    NDR_TRY(image->buffer ? ndr_buffer_map_bytes(__func__, &order, bytes_of(image, &p), access, &host)
                          : ndr_map(&order, &request, &host));
    *mapped = (ndr_mapped_part){ .host = host };
    if (image->dims > 1) mapped->row_pitch_bytes = pitch[image->is_row_array ? 1 : 0];
    if (image->dims > 2) mapped->plane_pitch_bytes = pitch[1];
    return NDR_OK;
}

ndr_status ndr_image_unmap(ndr_queue *queue, ndr_image *image, void *host, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    NDR_TRY(check_queue(__func__, order.queue, image));
    const ndr_buffer *buffer = image->buffer;
    ndr_mappings *const mappings = buffer ? &buffer->whole->mappings : &image->mappings;
    return ndr_unmap(&order,
                     &(ndr_unmap_request){ __func__, "image", mappings, buffer ? buffer->cl : image->cl, host, NULL },
                     event);
}

/* ---- images made elsewhere ---- */

cl_mem ndr_image_cl(const ndr_image *image) { return NDR_IS_LIVE(image) ? image->cl : NULL; }

static const image_type *type_of(cl_mem_object_type cl)
{
    for (size_t i = 0; i < NDR_COUNT_OF(types); ++i)
        if (types[i].cl == cl) return &types[i];
    return NULL;
}

static ndr_status read_foreign(const image_type *type, ndr_image *like)
{
    static const cl_image_info infos[] = { CL_IMAGE_WIDTH, CL_IMAGE_HEIGHT, CL_IMAGE_DEPTH };
    cl_mem_flags flags = 0;
    NDR_TRY_CL(clGetMemObjectInfo(like->cl, CL_MEM_FLAGS, sizeof flags, &flags, NULL));
    like->kernel_access = ndr_kernel_access_of(flags);
    like->host_access = ndr_host_access_of(flags);
    NDR_TRY_CL(clGetImageInfo(like->cl, CL_IMAGE_FORMAT, sizeof like->format, &like->format, NULL));
    NDR_TRY_CL(clGetImageInfo(like->cl, CL_IMAGE_ELEMENT_SIZE, sizeof like->element_bytes, &like->element_bytes, NULL));
    for (unsigned k = 0; k < type->dims; ++k) {
        const bool counts_layers = type->is_array && k + 1 == type->dims;
        NDR_TRY_CL(clGetImageInfo(like->cl, counts_layers ? CL_IMAGE_ARRAY_SIZE : infos[k], sizeof like->size[k],
                                  &like->size[k], NULL));
    }
    return NDR_OK;
}

/* The buffer of an image over one. */
static ndr_status wrap_source(ndr_context *context, cl_mem cl, ndr_buffer **buffer)
{
    cl_mem source = NULL;
    NDR_TRY_CL(clGetMemObjectInfo(cl, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof source, &source, NULL));
    return source ? ndr_buffer_from_cl(context, source, buffer) : NDR_OK;
}

static ndr_status retain_and_wrap(ndr_context *context, const image_type *type, ndr_image like, ndr_image **image)
{
    NDR_TRY_CL(clRetainMemObject(like.cl));
    const ndr_status status = wrap_image(context, type, like, image);
    if (status != NDR_OK) ndr_cl.clReleaseMemObject(like.cl);
    return status;
}

ndr_status ndr_image_from_cl(ndr_context *context, cl_mem cl, ndr_image **image)
{
    NDR_REQUIRE_SET(context, cl, image);
    cl_context owner = NULL;
    cl_mem_object_type cl_type = 0;
    ndr_image like = { .cl = cl, .size = { 1, 1, 1 } };
    NDR_TRY_CL(clGetMemObjectInfo(cl, CL_MEM_CONTEXT, sizeof owner, &owner, NULL));
    NDR_TRY_CL(clGetMemObjectInfo(cl, CL_MEM_TYPE, sizeof cl_type, &cl_type, NULL));
    NDR_REQUIRE(owner == context->cl, "ndr_image_from_cl: the memory object belongs to another OpenCL context; create "
                                      "it in that of ndr_context_cl()");
    const image_type *type = type_of(cl_type);
    NDR_REQUIRE(type, "ndr_image_from_cl: the memory object is a %s, not an image",
                cl_type == CL_MEM_OBJECT_BUFFER ? "buffer" : "pipe");
    NDR_TRY(read_foreign(type, &like));
    if (cl_type == CL_MEM_OBJECT_IMAGE1D_BUFFER) NDR_TRY(wrap_source(context, cl, &like.buffer));
    const ndr_status status = retain_and_wrap(context, type, like, image);
    if (like.buffer) ndr_buffer_release(like.buffer);
    return status;
}

/* ---- samplers ---- */

/* Takes over the reference of `cl` in every case. */
static ndr_status wrap_sampler(ndr_context *context, cl_sampler cl, ndr_sampler **sampler)
{
    ndr_sampler *made = ndr_handle_new(NDR_HANDLE_SAMPLER, sizeof *made, context->checker != NULL);
    if (!made) {
        ndr_cl.clReleaseSampler(cl);
        return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a sampler");
    }
    atomic_init(&made->references, 1);
    made->context = ndr_context_keep(context);
    made->cl = cl;
    *sampler = made;
    return NDR_OK;
}

ndr_status ndr_sampler_create(ndr_context *context, const ndr_sampler_desc *desc, ndr_sampler **sampler)
{
    static const cl_addressing_mode modes[] = { CL_ADDRESS_CLAMP_TO_EDGE, CL_ADDRESS_CLAMP, CL_ADDRESS_REPEAT,
                                                CL_ADDRESS_MIRRORED_REPEAT, CL_ADDRESS_NONE };
    NDR_REQUIRE_SET(context, sampler);
    const ndr_sampler_desc d = desc ? *desc : (ndr_sampler_desc){ 0 };
    const bool repeats = d.addressing == NDR_ADDRESSING_REPEAT || d.addressing == NDR_ADDRESSING_MIRRORED_REPEAT;
    NDR_REQUIRE((unsigned)d.addressing <= NDR_ADDRESSING_NONE,
                "ndr_sampler_create: addressing is %d, not an ndr_addressing; use one of ndr_image.h",
                (int)d.addressing);
    NDR_REQUIRE(
        !repeats || d.is_normalized,
        "ndr_sampler_create: addressing repeats the image, which needs normalised coordinates; set is_normalized");
    NDR_TRY(require_images(context));
    cl_int error;
    cl_sampler cl = ndr_cl.clCreateSampler(context->cl, d.is_normalized, modes[d.addressing],
                                           d.is_linear ? CL_FILTER_LINEAR : CL_FILTER_NEAREST, &error);
    if (error != CL_SUCCESS) return ndr_fail_cl(error, "clCreateSampler");
    return wrap_sampler(context, cl, sampler);
}

cl_sampler ndr_sampler_cl(const ndr_sampler *sampler) { return NDR_IS_LIVE(sampler) ? sampler->cl : NULL; }

ndr_status ndr_sampler_from_cl(ndr_context *context, cl_sampler cl, ndr_sampler **sampler)
{
    NDR_REQUIRE_SET(context, cl, sampler);
    cl_context owner = NULL;
    NDR_TRY_CL(clGetSamplerInfo(cl, CL_SAMPLER_CONTEXT, sizeof owner, &owner, NULL));
    NDR_REQUIRE(
        owner == context->cl,
        "ndr_sampler_from_cl: the sampler belongs to another OpenCL context; create it in that of ndr_context_cl()");
    NDR_TRY_CL(clRetainSampler(cl));
    return wrap_sampler(context, cl, sampler);
}

void ndr_sampler_keep(ndr_sampler *sampler) { atomic_fetch_add(&sampler->references, 1); }

void ndr_sampler_release(ndr_sampler *sampler)
{
    if (atomic_fetch_sub(&sampler->references, 1) > 1) return;
    ndr_cl.clReleaseSampler(sampler->cl);
    ndr_context_release(sampler->context);
    ndr_handle_free(sampler);
}

void ndr_sampler_destroy(ndr_sampler *sampler)
{
    if (ndr_handle_retire(NDR_HANDLE_SAMPLER, sampler, __func__)) ndr_sampler_release(sampler);
}
