/** @file ndr_image.h
 * Images and samplers: memory that kernels read by coordinates, with conversion, interpolation and limits at the edges.
 *
 * The rules of ndr.h hold. Sizes and origins count elements, in libndr's order, the last dimension contiguous: (planes,
 * rows, columns). Kernels count the other way: read_imagef(image, sampler, (float2)(column, row)). docs/memory.md
 * compares images with buffers.
 *
 * A launch checks an image's dimensions, access and depth against the kernel's parameter; each refusal names the kernel
 * and the argument. The host does not know which read_image and write_image functions the kernel calls: they must be
 * those of the channels' type, #ndr_channel_type. */
#ifndef NDR_NDR_IMAGE_H
#define NDR_NDR_IMAGE_H

#include "ndr/ndr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- formats ------------------------------------------------------------------------------------- */

/** The channels of an element, in their order in memory. 0 is none, so that a forgotten field is refused. */
typedef enum ndr_channels {
    NDR_CHANNELS_NONE = 0,      /**< Not set. */
    NDR_CHANNELS_R = 1,         /**< One channel: (r, 0, 0, 1) in kernels. */
    NDR_CHANNELS_A = 2,         /**< One channel: (0, 0, 0, a). */
    NDR_CHANNELS_RG = 3,        /**< Two: (r, g, 0, 1). */
    NDR_CHANNELS_RGBA = 4,      /**< Four. */
    NDR_CHANNELS_BGRA = 5,      /**< Four, in this order. */
    NDR_CHANNELS_INTENSITY = 6, /**< One: (i, i, i, i). */
    NDR_CHANNELS_LUMINANCE = 7, /**< One: (l, l, l, 1). */
    NDR_CHANNELS_DEPTH = 8      /**< One, for image2d_depth_t. */
} ndr_channels;

/** The type of one channel. Kernels read normalised types and floats as float, by read_imagef(). */
typedef enum ndr_channel_type {
    NDR_CHANNEL_NONE = 0,    /**< Not set. */
    NDR_CHANNEL_UNORM8 = 1,  /**< 0 to 255 is 0 to 1. */
    NDR_CHANNEL_UNORM16 = 2, /**< 0 to 65535 is 0 to 1. */
    NDR_CHANNEL_SNORM8 = 3,  /**< -127 to 127 is -1 to 1. */
    NDR_CHANNEL_SNORM16 = 4, /**< -32767 to 32767 is -1 to 1. */
    NDR_CHANNEL_I8 = 5,      /**< int8_t, by read_imagei(). */
    NDR_CHANNEL_I16 = 6,     /**< int16_t. */
    NDR_CHANNEL_I32 = 7,     /**< int32_t. */
    NDR_CHANNEL_U8 = 8,      /**< uint8_t, by read_imageui(). */
    NDR_CHANNEL_U16 = 9,     /**< uint16_t. */
    NDR_CHANNEL_U32 = 10,    /**< uint32_t. */
    NDR_CHANNEL_F16 = 11,    /**< Half. */
    NDR_CHANNEL_F32 = 12     /**< float. */
} ndr_channel_type;

/** What an element is. */
typedef struct ndr_image_format {
    ndr_channels channels; /**< Which channels. */
    ndr_channel_type type; /**< The type of each. */
} ndr_image_format;

/** Bytes of an element; 0 for a format that is not valid. */
NDR_API size_t ndr_image_format_size(ndr_image_format format);

/* ---- images -------------------------------------------------------------------------------------- */

/** An image. `size` and `is_array` give the type of the kernel's parameter: (columns) image1d_t, (rows, columns)
 * image2d_t, (planes, rows, columns) image3d_t; as an array (layers, columns) image1d_array_t, (layers, rows, columns)
 * image2d_array_t; with `buffer` (columns) image1d_buffer_t. */
typedef struct ndr_image_desc {
    ndr_image_format format; /**< One that ndr_image_list_formats() lists. */
    ndr_range size;          /**< At least one element in each dimension. */
    bool is_array;           /**< The first of 2 or 3 dimensions counts layers. */
    ndr_buffer *buffer;      /**< The image is the first bytes of this buffer, which it keeps; NULL: memory of its own.
                                  NDR_UNSUPPORTED for a view that does not start at byte 0 of its buffer, and for a
                                  buffer with guard zones (#ndr_check_mode). */
    const void *contents;    /**< The initial elements, without gaps, which are copied; NULL: undefined, or those
                                  of `buffer`. Must be NULL with `buffer`. */
    ndr_access kernels;      /**< What kernels do with it: a launch checks the access qualifier of its parameter. The
                                  formats of a device depend on it. NONE: only transfers, copies and maps use it; its
                                  formats are those to read. */
    bool is_read_write;      /**< `kernels` is READ_WRITE, and one kernel does both through a read_write parameter
                                  (OpenCL C 2.0), for which devices have fewer formats. A launch checks the format even
                                  if this is not set. */
    ndr_access host;         /**< What ndr_image_read(), ndr_image_write() and ndr_image_map() may do. Fills and copies
                                  are always allowed. */
    NDR_MAY_GROW
} ndr_image_desc;

/** The formats that the device has for images with the dimensions, `is_array`, `buffer` (set or not), `kernels` and
 * `is_read_write` of `use`; its other members are not read. `formats` (may be NULL when `capacity` is 0) gets the first
 * `capacity` of them, `count` the number of all. NDR_UNSUPPORTED if the device has no images. */
NDR_SIZED ndr_status ndr_image_list_formats(const ndr_context *context, const ndr_image_desc *use, size_t capacity,
                                            ndr_image_format *formats, size_t *count);

/** Make an image. NDR_UNSUPPORTED if the device has no images, or lacks this format for this use; NDR_LIMIT_EXCEEDED if
 * it is larger than the device's limit, which the sentence names. */
NDR_SIZED ndr_status ndr_image_create(ndr_context *context, const ndr_image_desc *desc, ndr_image **image);

/** Destroy an image. Enqueued work keeps the memory until it has ended; prepared launches keep the image. One that is
 * still mapped is first unmapped on the queue of the mapping; over a buffer, when that is destroyed, too. */
NDR_API void ndr_image_destroy(ndr_image *image);

/** The part of an image that a call transfers, and its layout in the host's memory. NULL or all zeros: the whole image,
 * dense: its rows and planes follow one another without gaps. */
typedef struct ndr_image_part {
    size_t origin[3];         /**< The first element. */
    ndr_range extent;         /**< As many dimensions as the image; `dims` 0: all of the image, and the origin must be
                                   0 then. A zero transfers nothing. */
    size_t row_pitch_bytes;   /**< From row to row in the host's memory, in 2 and 3 dimensions; 0: dense. */
    size_t plane_pitch_bytes; /**< The same for planes, in 3 dimensions: a multiple of the row pitch; 0: dense. */
} ndr_image_part;

/** Copy host memory into an image. With `event` NULL, returns when the elements have arrived; otherwise do not change
 * `host` until the event has completed. */
NDR_MUST_CHECK ndr_status ndr_image_write(ndr_queue *queue, ndr_image *image, const ndr_image_part *part,
                                          const void *host, ndr_event **event);

/** Copy an image into host memory. With `event` NULL, returns when the elements have arrived; otherwise `host` holds
 * them once the event has completed. */
NDR_MUST_CHECK ndr_status ndr_image_read(ndr_queue *queue, ndr_image *image, const ndr_image_part *part, void *host,
                                         ndr_event **event);

/** Give all elements of `part` one value: four float for normalised and float channels, four int32_t or uint32_t for
 * integers, in the order r, g, b, a. The part's pitches are not read. */
NDR_MUST_CHECK ndr_status ndr_image_fill(ndr_queue *queue, ndr_image *image, const ndr_image_part *part,
                                         const void *value, ndr_event **event);

/** Copy a part of `from` to `to_origin` of `to` (NULL: zeros). Both have the same format and number of dimensions.
 * Within one image the two must not overlap. The part's pitches are not read. */
NDR_MUST_CHECK ndr_status ndr_image_copy(ndr_queue *queue, ndr_image *from, const ndr_image_part *part, ndr_image *to,
                                         const size_t *to_origin, ndr_event **event);

/** Where a mapped part lies in the host's memory: its element (i, j, k) is at host + i * plane_pitch_bytes +
 * j * row_pitch_bytes + k * (bytes of an element), counted from the part's origin. */
typedef struct ndr_mapped_part {
    void *host;               /**< The part's first element. */
    size_t row_pitch_bytes;   /**< From row to row, in 2 and 3 dimensions; the driver's choice. 0 in 1 dimension. */
    size_t plane_pitch_bytes; /**< From plane to plane, in 3 dimensions; otherwise 0. */
} ndr_mapped_part;

/** Map a part of an image for the host, after all work before it. Copies nothing if the device shares the host's memory
 * and has the image in rows. Until ndr_image_unmap() a command that would use the image, or the buffer under it, is
 * refused, unless both only read. Over a buffer, so is a mapping of some of the same bytes. The bytes between the rows
 * are not the image's. The part's pitches are not read; a part of 0 elements is refused, because it has no address. */
NDR_MUST_CHECK ndr_status ndr_image_map(ndr_queue *queue, ndr_image *image, ndr_map_access access,
                                        const ndr_image_part *part, ndr_mapped_part *mapped);

/** Unmap the part at `host`. Does not wait; later work in the queue sees what the host wrote. */
NDR_MUST_CHECK ndr_status ndr_image_unmap(ndr_queue *queue, ndr_image *image, void *host, ndr_event **event);

/* ---- samplers ------------------------------------------------------------------------------------ */

/** What a sampler reads outside an image. */
typedef enum ndr_addressing {
    NDR_ADDRESSING_CLAMP_TO_EDGE = 0,  /**< The nearest element of the image. */
    NDR_ADDRESSING_CLAMP = 1,          /**< The border colour: zeros, with alpha 1 where the format has no alpha. */
    NDR_ADDRESSING_REPEAT = 2,         /**< The image again; needs normalised coordinates. */
    NDR_ADDRESSING_MIRRORED_REPEAT = 3, /**< The same, mirrored each time; needs normalised coordinates. */
    NDR_ADDRESSING_NONE = 4            /**< Coordinates must be inside. */
} ndr_addressing;

/** How a kernel reads an image. All zeros: element coordinates, the nearest element, clamped to the edge. */
typedef struct ndr_sampler_desc {
    bool is_normalized;        /**< Coordinates are 0 to 1 instead of elements. */
    bool is_linear;            /**< Interpolate between elements; only for types that are read as float. */
    ndr_addressing addressing; /**< Outside the image. */
    NDR_MAY_GROW
} ndr_sampler_desc;

/** Make a sampler, an argument for `sampler_t`; `desc` NULL means all defaults. NDR_UNSUPPORTED if the device has no
 * images. */
NDR_SIZED ndr_status ndr_sampler_create(ndr_context *context, const ndr_sampler_desc *desc, ndr_sampler **sampler);

/** Destroy a sampler; enqueued work keeps it. */
NDR_API void ndr_sampler_destroy(ndr_sampler *sampler);

/* As in ndr_sized.h. */
NDR_MUST_CHECK ndr_status ndr_image_list_formats_sized(const ndr_context *context, const ndr_image_desc *use,
                                                       size_t use_bytes, size_t capacity, ndr_image_format *formats,
                                                       size_t *count);
NDR_MUST_CHECK ndr_status ndr_image_create_sized(ndr_context *context, const ndr_image_desc *desc, size_t desc_bytes,
                                                 ndr_image **image);
NDR_MUST_CHECK ndr_status ndr_sampler_create_sized(ndr_context *context, const ndr_sampler_desc *desc,
                                                   size_t desc_bytes, ndr_sampler **sampler);

#ifndef NDR_BUILDING

static inline ndr_status ndr_image_list_formats(const ndr_context *context_, const ndr_image_desc *use_,
                                                size_t capacity_, ndr_image_format *formats_, size_t *count_)
{
    return ndr_image_list_formats_sized(context_, use_, sizeof *use_, capacity_, formats_, count_);
}

static inline ndr_status ndr_image_create(ndr_context *context_, const ndr_image_desc *desc_, ndr_image **image_)
{
    return ndr_image_create_sized(context_, desc_, sizeof *desc_, image_);
}

static inline ndr_status ndr_sampler_create(ndr_context *context_, const ndr_sampler_desc *desc_,
                                            ndr_sampler **sampler_)
{
    return ndr_sampler_create_sized(context_, desc_, sizeof *desc_, sampler_);
}

#endif

#ifdef __cplusplus
}
#endif

/* The commands, which take a queue or ndr_after(). */
#ifndef NDR_BUILDING
#define ndr_image_write(queue, ...) ndr_image_write(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_image_read(queue, ...) ndr_image_read(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_image_fill(queue, ...) ndr_image_fill(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_image_copy(queue, ...) ndr_image_copy(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_image_map(queue, ...) ndr_image_map(NDR_QUEUE_(queue), __VA_ARGS__)
#define ndr_image_unmap(queue, ...) ndr_image_unmap(NDR_QUEUE_(queue), __VA_ARGS__)
#endif

#endif
