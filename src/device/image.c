/* image.c - images: made by libndr or elsewhere. */
#include "device/buffer.h"
#include "device/check.h"
#include "device/context.h"
#include "device/format.h"
#include "device/image.h"
#include "device/transfer.h"

#include "ndr/ndr_cl.h"

/* ---- making ---- */

/* `size` is in OpenCL's order. */
static ndr_status check_size(const ndr_context *context, const ndr_image_type *type, const size_t size[3])
{
    for (unsigned k = 0; k < type->dims; ++k) {
        size_t limit = 0;
        NDR_REQUIRE(size[k] > 0, "ndr_image_create: dimension %u has 0 elements; give it at least one",
                    type->dims - 1 - k);
        NDR_TRY_CL(clGetDeviceInfo(context->device, type->limits[k], sizeof limit, &limit, NULL));
        NDR_REQUIRE_AS(
            NDR_LIMIT_EXCEEDED, size[k] <= limit,
            "ndr_image_create: dimension %u has %zu elements, but an %s of device \"%s\" has at most %zu there: use "
            "several images, or a buffer",
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
    return ndr_image_kernel_flags(desc->kernels) | (desc->buffer ? 0 : host[desc->host])
           | (desc->contents ? CL_MEM_COPY_HOST_PTR : 0);
}

static ndr_status create_cl(const ndr_context *context, const ndr_image_type *type, const ndr_image_desc *desc,
                            const size_t size[3], cl_mem *made)
{
    const cl_image_format format = ndr_format_cl(desc->format);
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

/* If it succeeds, it takes over the reference of `like.cl`. */
static ndr_status wrap_image(ndr_context *context, const ndr_image_type *type, ndr_image like, ndr_image **image)
{
    const bool is_depth = like.format.image_channel_order == CL_DEPTH && type->depth_name;
    if (like.kernel_access == NDR_ACCESS_READ_WRITE)
        NDR_TRY(ndr_image_find_read_write(context, type, like.format, &like.is_read_write));
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
    const ndr_image_type *type = NULL;
    ndr_image like = { .size = { 1, 1, 1 } };
    NDR_TRY(ndr_image_find_type(__func__, desc, &type));
    NDR_TRY(ndr_image_check_access(__func__, "host", desc->host));
    ndr_reverse_dims(type->dims, desc->size.size, like.size);
    NDR_TRY(ndr_image_require(context));
    NDR_TRY(ndr_image_check_format(context, type, desc));
    NDR_TRY(check_size(context, type, like.size));
    like.format = ndr_format_cl(desc->format);
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

/* ---- images made elsewhere ---- */

cl_mem ndr_image_cl(const ndr_image *image) { return NDR_IS_LIVE(image) ? image->cl : NULL; }

static ndr_status read_foreign(const ndr_image_type *type, ndr_image *like)
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

static ndr_status retain_and_wrap(ndr_context *context, const ndr_image_type *type, ndr_image like, ndr_image **image)
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
    const ndr_image_type *type = ndr_image_type_of(cl_type);
    NDR_REQUIRE(type, "ndr_image_from_cl: the memory object is a %s, not an image",
                cl_type == CL_MEM_OBJECT_BUFFER ? "buffer" : "pipe");
    NDR_TRY(read_foreign(type, &like));
    if (cl_type == CL_MEM_OBJECT_IMAGE1D_BUFFER) NDR_TRY(wrap_source(context, cl, &like.buffer));
    const ndr_status status = retain_and_wrap(context, type, like, image);
    if (like.buffer) ndr_buffer_release(like.buffer);
    return status;
}
