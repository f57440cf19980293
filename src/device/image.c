/* image.c - images: their formats, transfers of their parts; and samplers. */
#include "device/device.h"

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

enum { CHANNELS = sizeof channel_rows / sizeof channel_rows[0], TYPES = sizeof type_rows / sizeof type_rows[0] };

static bool is_format(ndr_image_format f)
{
    return f.channels > NDR_CHANNELS_NONE && (unsigned)f.channels < CHANNELS && f.type > NDR_CHANNEL_NONE
           && (unsigned)f.type < TYPES;
}

size_t ndr_image_format_size(ndr_image_format f)
{
    return is_format(f) ? channel_rows[f.channels].count * type_rows[f.type].bytes : 0;
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

/* ---- types ---- */

/* A type of images, with the device's limits of its dimensions in OpenCL's order. */
typedef struct image_type {
    const char *name, *depth_name; /* of the kernel's parameter */
    cl_mem_object_type cl;
    unsigned dims;
    cl_device_info limits[3];
} image_type;

static const image_type types[] = {
    { "image1d_t", NULL, CL_MEM_OBJECT_IMAGE1D, 1, { CL_DEVICE_IMAGE2D_MAX_WIDTH } },
    { "image2d_t", "image2d_depth_t", CL_MEM_OBJECT_IMAGE2D, 2,
      { CL_DEVICE_IMAGE2D_MAX_WIDTH, CL_DEVICE_IMAGE2D_MAX_HEIGHT } },
    { "image3d_t", NULL, CL_MEM_OBJECT_IMAGE3D, 3,
      { CL_DEVICE_IMAGE3D_MAX_WIDTH, CL_DEVICE_IMAGE3D_MAX_HEIGHT, CL_DEVICE_IMAGE3D_MAX_DEPTH } },
    { "image1d_array_t", NULL, CL_MEM_OBJECT_IMAGE1D_ARRAY, 2,
      { CL_DEVICE_IMAGE2D_MAX_WIDTH, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE } },
    { "image2d_array_t", "image2d_array_depth_t", CL_MEM_OBJECT_IMAGE2D_ARRAY, 3,
      { CL_DEVICE_IMAGE2D_MAX_WIDTH, CL_DEVICE_IMAGE2D_MAX_HEIGHT, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE } },
    { "image1d_buffer_t", NULL, CL_MEM_OBJECT_IMAGE1D_BUFFER, 1, { CL_DEVICE_IMAGE_MAX_BUFFER_SIZE } },
};

static ndr_status find_type(const char *call, const ndr_image_desc *desc, const image_type **type)
{
    const unsigned dims = desc->size.dims;
    NDR_REQUIRE(dims >= 1 && dims <= 3, "%s: size.dims is %u; it is 1, 2 or 3", call, dims);
    NDR_REQUIRE(!desc->is_array || dims > 1,
                "%s: is_array is set, but size has 1 dimension; the first of 2 or 3 counts layers", call);
    NDR_REQUIRE(!desc->buffer || dims == 1, "%s: buffer is set, but size has %u dimensions; such an image has 1", call,
                dims);
    NDR_REQUIRE((unsigned)desc->kernels <= NDR_ACCESS_WRITE && (unsigned)desc->host <= NDR_ACCESS_NONE,
                "%s: kernels is %d and host is %d; use an ndr_access, and not NONE for kernels", call,
                (int)desc->kernels, (int)desc->host);
    *type = &types[desc->buffer ? 5 : desc->is_array ? dims + 1 : dims - 1];
    return NDR_OK;
}

static ndr_status require_images(const ndr_context *context)
{
    cl_bool has_images = CL_FALSE;
    NDR_TRY_CL(clGetDeviceInfo(context->device, CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, NULL));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, has_images, "device \"%s\" has no images", context->caps.info.name);
    return NDR_OK;
}

static cl_mem_flags kernel_flags(ndr_access access)
{
    static const cl_mem_flags flags[] = { CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY };
    return flags[access];
}

/* ---- listing formats ---- */

enum { MAX_FORMATS = 512 };

static ndr_status list_formats(const ndr_context *context, const image_type *type, ndr_access access, size_t capacity,
                               ndr_image_format *formats, size_t *count)
{
    cl_image_format found[MAX_FORMATS];
    cl_uint found_count = 0;
    NDR_TRY_CL(
        clGetSupportedImageFormats(context->cl, kernel_flags(access), type->cl, MAX_FORMATS, found, &found_count));
    size_t named = 0;
    for (cl_uint i = 0; i < found_count && i < MAX_FORMATS; ++i) {
        ndr_image_format format;
        if (!name_format(found[i], &format)) continue;
        if (named < capacity) formats[named] = format;
        ++named;
    }
    *count = named;
    return NDR_OK;
}

ndr_status ndr_image_list_formats(const ndr_context *context, const ndr_image_desc *use, size_t capacity,
                                  ndr_image_format *formats, size_t *count)
{
    NDR_REQUIRE_SET(context);
    NDR_REQUIRE_SET(use);
    NDR_REQUIRE_SET(count);
    NDR_REQUIRE(formats || capacity == 0, "%s: formats is NULL, but capacity is %zu", __func__, capacity);
    const image_type *type = NULL;
    NDR_TRY(find_type(__func__, use, &type));
    NDR_TRY(require_images(context));
    return list_formats(context, type, use->kernels, capacity, formats, count);
}

/* ---- making ---- */

static ndr_status check_format(const ndr_context *context, const image_type *type, const ndr_image_desc *desc)
{
    const ndr_image_format f = desc->format;
    NDR_REQUIRE(is_format(f), "ndr_image_create: format {%d, %d} is not valid; set channels and type", (int)f.channels,
                (int)f.type);
    ndr_image_format known[MAX_FORMATS];
    size_t count = 0;
    NDR_TRY(list_formats(context, type, desc->kernels, MAX_FORMATS, known, &count));
    for (size_t i = 0; i < count; ++i)
        if (known[i].channels == f.channels && known[i].type == f.type) return NDR_OK;
    static const char *const uses[] = { "reading and writing", "reading", "writing" };
    return ndr_fail(
        NDR_UNSUPPORTED,
        "ndr_image_create: device \"%s\" has no format %s of %s for %s by %s; ndr_image_list_formats() lists "
        "its formats",
        context->caps.info.name, channel_rows[f.channels].name, type_rows[f.type].name, type->name,
        uses[desc->kernels]);
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
                "ndr_image_create: the buffer belongs to another context; make both in one");
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
    const cl_image_format format = { channel_rows[desc->format.channels].cl, type_rows[desc->format.type].cl };
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

static ndr_status wrap_image(ndr_context *context, const image_type *type, const ndr_image_desc *desc,
                             const size_t size[3], cl_mem cl, ndr_image **image)
{
    ndr_image *made = ndr_handle_new(NDR_HANDLE_IMAGE, sizeof *made, context->checker != NULL);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for an image");
    const bool is_depth = desc->format.channels == NDR_CHANNELS_DEPTH && type->depth_name;
    atomic_init(&made->references, 1);
    made->context = ndr_context_keep(context);
    made->cl = cl;
    made->format = desc->format;
    made->type_name = is_depth ? type->depth_name : type->name;
    made->dims = type->dims;
    made->element_bytes = ndr_image_format_size(desc->format);
    memcpy(made->size, size, sizeof made->size);
    made->is_row_array = type->cl == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    made->kernel_access = desc->kernels;
    made->host_access = desc->host;
    made->buffer = desc->buffer ? ndr_buffer_keep(desc->buffer) : NULL;
    *image = made;
    return NDR_OK;
}

ndr_status ndr_image_create(ndr_context *context, const ndr_image_desc *desc, ndr_image **image)
{
    NDR_REQUIRE_SET(context);
    NDR_REQUIRE_SET(desc);
    NDR_REQUIRE_SET(image);
    const image_type *type = NULL;
    size_t size[3] = { 1, 1, 1 };
    cl_mem cl = NULL;
    NDR_TRY(find_type(__func__, desc, &type));
    ndr_reverse_dims(type->dims, desc->size.size, size);
    NDR_TRY(require_images(context));
    NDR_TRY(check_format(context, type, desc));
    NDR_TRY(check_size(context, type, size));
    NDR_TRY(check_source(context, desc, ndr_image_format_size(desc->format)));
    NDR_TRY(create_cl(context, type, desc, size, &cl));
    const ndr_status status = wrap_image(context, type, desc, size, cl, image);
    if (status != NDR_OK) ndr_cl.clReleaseMemObject(cl);
    return status;
}

void ndr_image_keep(ndr_image *image) { atomic_fetch_add(&image->references, 1); }

void ndr_image_release(ndr_image *image)
{
    if (atomic_fetch_sub(&image->references, 1) > 1) return;
    ndr_cl.clReleaseMemObject(image->cl);
    if (image->buffer) ndr_buffer_release(image->buffer);
    ndr_context_release(image->context);
    ndr_handle_free(image);
}

void ndr_image_destroy(ndr_image *image)
{
    if (ndr_handle_retire(NDR_HANDLE_IMAGE, image, __func__)) ndr_image_release(image);
}

bool ndr_image_is_free(const ndr_image *image, bool device_writes)
{
    return !image->buffer || ndr_buffer_is_free(image->buffer, device_writes);
}

/* ---- parts ---- */

/* A part in OpenCL's order, padded. */
typedef struct part {
    size_t origin[3], extent[3];
    size_t pitch[2]; /* of the host's rows and planes; 0: dense */
} part;

static bool is_empty(const part *p) { return p->extent[0] == 0 || p->extent[1] == 0 || p->extent[2] == 0; }

static ndr_status check_use(const char *call, const ndr_queue *queue, const ndr_image *image, bool device_writes)
{
    NDR_REQUIRE_SET_IN(call, queue);
    NDR_REQUIRE_SET_IN(call, image);
    NDR_REQUIRE(queue->context == image->context, "%s: queue and image belong to different contexts; make both in one",
                call);
    NDR_REQUIRE(ndr_image_is_free(image, device_writes), "%s: the host has the image's buffer mapped; unmap it first",
                call);
    return NDR_OK;
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
    *out = (part){ { 0, 0, 0 }, { image->size[0], image->size[1], image->size[2] }, { 0, 0 } };
    if (!given) return NDR_OK;
    ndr_reverse_dims(image->dims, given->origin, out->origin);
    out->pitch[0] = given->row_pitch_bytes;
    out->pitch[1] = given->plane_pitch_bytes;
    if (given->extent.dims > 0) {
        NDR_REQUIRE(given->extent.dims == image->dims, "%s: extent has %u dimensions, but the image %u", call,
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
        NDR_REQUIRE(pitch >= bytes, "%s, dimension %u: %zu elements take %zu bytes, but %s is %zu", call,
                    image->dims - 1 - k, p->extent[k], bytes, names[k], pitch);
        NDR_REQUIRE(k == 0 || !p->pitch[0] || pitch % p->pitch[0] == 0,
                    "%s: %s is %zu; it must be a multiple of %s, %zu", call, names[k], pitch, names[0], p->pitch[0]);
        NDR_REQUIRE_AS(NDR_OUT_OF_BOUNDS, ndr_mul_fits(pitch, p->extent[k + 1], &bytes) && bytes <= PTRDIFF_MAX,
                       "%s: %s %zu takes more bytes of the host's memory than there can be", call, names[k], pitch);
    }
    return NDR_OK;
}

/* ---- host to device and back ---- */

typedef struct transfer {
    const char *call;
    bool writes;
    ndr_order order;
    ndr_image *image;
    const ndr_image_part *given;
    void *host; /* a write leaves its memory unchanged */
    part part;
} transfer;

static ndr_status check_transfer(transfer *t)
{
    NDR_TRY(check_use(t->call, t->order.queue, t->image, t->writes));
    NDR_TRY(ndr_check_host_access(t->call, "image", t->image->host_access, !t->writes, t->writes));
    NDR_TRY(read_part(t->call, t->image, t->given, &t->part));
    if (is_empty(&t->part)) return NDR_OK;
    NDR_TRY(check_pitches(t->call, t->image, &t->part));
    NDR_REQUIRE(t->host, "%s: host is NULL, but the part is not empty; pass memory of that size", t->call);
    return NDR_OK;
}

/* Some drivers take a row's pitch for the distance of the layers of a 1-D array, others a slice's. */
static ndr_status submit(const transfer *t, bool blocks, const ndr_wait_list *waits, cl_event *done)
{
    const part *p = &t->part;
    const ndr_image *image = t->image;
    const size_t row = image->dims > 1 ? p->pitch[0] : 0;
    const size_t slice = image->is_row_array ? row : image->dims > 2 ? p->pitch[1] : 0;
    return (t->writes ? ndr_submit_write_image : ndr_submit_read_image)(
        t->order.queue->cl, image->cl, blocks, p->origin, p->extent, row, slice, t->host, waits, done);
}

static ndr_status submit_transfer(const void *checked, bool blocks, ndr_event **event)
{
    const transfer *t = checked;
    if (is_empty(&t->part)) return ndr_queue_mark_in(&t->order, event);
    ndr_event *made;
    NDR_TRY(ndr_event_prepare(&t->order, event, &made));
    const ndr_wait_list waits = ndr_event_list(made);
    cl_event done = NULL;
    const ndr_status status = submit(t, blocks, &waits, made ? &done : NULL);
    return ndr_event_return_or_destroy(status, t->order.queue, made, done, event);
}

static ndr_status transfer_and_wait(transfer t)
{
    NDR_TRY(check_transfer(&t));
    return is_empty(&t.part) ? NDR_OK : ndr_transfer_and_wait(&t.order, t.writes, submit_transfer, &t);
}

static ndr_status transfer_async(transfer t, ndr_event **event)
{
    NDR_TRY(check_transfer(&t));
    return submit_transfer(&t, false, event);
}

ndr_status ndr_image_write(ndr_queue *queue, ndr_image *image, const ndr_image_part *given, const void *host)
{
    return transfer_and_wait((transfer){
        __func__, true, ndr_order_of(queue), image, given, (void *)(uintptr_t)host, { { 0 }, { 0 }, { 0 } } });
}

ndr_status ndr_image_read(ndr_queue *queue, ndr_image *image, const ndr_image_part *given, void *host)
{
    return transfer_and_wait(
        (transfer){ __func__, false, ndr_order_of(queue), image, given, host, { { 0 }, { 0 }, { 0 } } });
}

ndr_status ndr_image_write_async(ndr_queue *queue, ndr_image *image, const ndr_image_part *given, const void *host,
                                 ndr_event **event)
{
    return transfer_async(
        (transfer){
            __func__, true, ndr_order_of(queue), image, given, (void *)(uintptr_t)host, { { 0 }, { 0 }, { 0 } } },
        event);
}

ndr_status ndr_image_read_async(ndr_queue *queue, ndr_image *image, const ndr_image_part *given, void *host,
                                ndr_event **event)
{
    return transfer_async(
        (transfer){ __func__, false, ndr_order_of(queue), image, given, host, { { 0 }, { 0 }, { 0 } } }, event);
}

/* ---- on the device ---- */

ndr_status ndr_image_fill(ndr_queue *queue, ndr_image *image, const ndr_image_part *given, const void *value,
                          ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    part p;
    ndr_event *made;
    NDR_TRY(check_use(__func__, order.queue, image, true));
    NDR_REQUIRE_SET(value);
    NDR_TRY(read_part(__func__, image, given, &p));
    if (is_empty(&p)) return ndr_queue_mark_in(&order, event);
    NDR_TRY(ndr_event_prepare(&order, event, &made));
    const ndr_wait_list waits = ndr_event_list(made);
    cl_event done = NULL;
    const ndr_status status =
        ndr_submit_fill_image(order.queue->cl, image->cl, value, p.origin, p.extent, &waits, made ? &done : NULL);
    return ndr_event_return_or_destroy(status, order.queue, made, done, event);
}

static ndr_status check_copy(const ndr_image *from, const part *p, const ndr_image *to, const size_t to_origin[3])
{
    NDR_REQUIRE(from->dims == to->dims, "ndr_image_copy: from has %u dimensions, but to has %u", from->dims, to->dims);
    NDR_REQUIRE(from->format.channels == to->format.channels && from->format.type == to->format.type,
                "ndr_image_copy: from has elements %s of %s, to %s of %s; both need one format",
                channel_rows[from->format.channels].name, type_rows[from->format.type].name,
                channel_rows[to->format.channels].name, type_rows[to->format.type].name);
    NDR_TRY(check_inside("ndr_image_copy, to", to, to_origin, p->extent));
    bool overlap = from == to && !is_empty(p);
    for (unsigned k = 0; k < from->dims; ++k)
        overlap = overlap && p->origin[k] < to_origin[k] + p->extent[k] && to_origin[k] < p->origin[k] + p->extent[k];
    NDR_REQUIRE(!overlap, "ndr_image_copy: the two parts of the same image overlap; copy by way of another image");
    return NDR_OK;
}

ndr_status ndr_image_copy(ndr_queue *queue, ndr_image *from, const ndr_image_part *given, ndr_image *to,
                          const size_t *to_origin, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    part p;
    size_t target[3] = { 0, 0, 0 };
    ndr_event *made;
    NDR_TRY(check_use("ndr_image_copy, from", order.queue, from, false));
    NDR_TRY(check_use("ndr_image_copy, to", order.queue, to, true));
    NDR_TRY(read_part("ndr_image_copy, from", from, given, &p));
    if (to_origin) ndr_reverse_dims(to->dims, to_origin, target);
    NDR_TRY(check_copy(from, &p, to, target));
    if (is_empty(&p)) return ndr_queue_mark_in(&order, event);
    NDR_TRY(ndr_event_prepare(&order, event, &made));
    const ndr_wait_list waits = ndr_event_list(made);
    cl_event done = NULL;
    const ndr_status status = ndr_submit_copy_image(order.queue->cl, from->cl, to->cl, p.origin, target, p.extent,
                                                    &waits, made ? &done : NULL);
    return ndr_event_return_or_destroy(status, order.queue, made, done, event);
}

/* ---- samplers ---- */

ndr_status ndr_sampler_create(ndr_context *context, const ndr_sampler_desc *desc, ndr_sampler **sampler)
{
    static const cl_addressing_mode modes[] = { CL_ADDRESS_CLAMP_TO_EDGE, CL_ADDRESS_CLAMP, CL_ADDRESS_REPEAT,
                                                CL_ADDRESS_MIRRORED_REPEAT, CL_ADDRESS_NONE };
    NDR_REQUIRE_SET(context);
    NDR_REQUIRE_SET(sampler);
    const ndr_sampler_desc d = desc ? *desc : (ndr_sampler_desc){ 0 };
    const bool repeats = d.addressing == NDR_ADDRESSING_REPEAT || d.addressing == NDR_ADDRESSING_MIRRORED_REPEAT;
    NDR_REQUIRE((unsigned)d.addressing <= NDR_ADDRESSING_NONE,
                "ndr_sampler_create: addressing is %d, not an ndr_addressing", (int)d.addressing);
    NDR_REQUIRE(
        !repeats || d.is_normalized,
        "ndr_sampler_create: addressing repeats the image, which needs normalised coordinates; set is_normalized");
    NDR_TRY(require_images(context));
    ndr_sampler *made = ndr_handle_new(NDR_HANDLE_SAMPLER, sizeof *made, context->checker != NULL);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a sampler");
    cl_int error;
    made->cl = ndr_cl.clCreateSampler(context->cl, d.is_normalized, modes[d.addressing],
                                      d.is_linear ? CL_FILTER_LINEAR : CL_FILTER_NEAREST, &error);
    if (error != CL_SUCCESS) {
        ndr_handle_free(made);
        return ndr_fail_cl(error, "clCreateSampler");
    }
    atomic_init(&made->references, 1);
    made->context = ndr_context_keep(context);
    *sampler = made;
    return NDR_OK;
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
