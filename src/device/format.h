/* format.h - the types and formats of images. */
#ifndef NDR_DEVICE_FORMAT_H
#define NDR_DEVICE_FORMAT_H

#include "device/image.h"

/* A type of images, with the device's limits of its dimensions in OpenCL's order. */
typedef struct ndr_image_type {
    const char *name, *depth_name; /* of the kernel's parameter */
    cl_mem_object_type cl;
    unsigned dims;
    bool is_array; /* the last dimension counts layers */
    cl_device_info limits[3];
} ndr_image_type;

/* The type of an image that OpenCL calls `cl`; NULL: it is none. */
const ndr_image_type *ndr_image_type_of(cl_mem_object_type cl);

/* Refuse a device without images; an access that is not valid; a description whose members contradict each other. The
 * last one finds the type. */
ndr_status ndr_image_require(const ndr_context *context);
ndr_status ndr_image_check_access(const char *call, const char *member, ndr_access access);
ndr_status ndr_image_find_type(const char *call, const ndr_image_desc *desc, const ndr_image_type **type);

/* Refuse a format that the device lacks for this use. */
ndr_status ndr_image_check_format(const ndr_context *context, const ndr_image_type *type, const ndr_image_desc *desc);

/* Whether kernels may take an image of that format as read_write. */
ndr_status ndr_image_find_read_write(const ndr_context *context, const ndr_image_type *type, cl_image_format cl,
                                     bool *is_found);

/* An image that no kernel uses is made as one to read, for which devices have the most formats. */
cl_mem_flags ndr_image_kernel_flags(ndr_access access);

cl_image_format ndr_format_cl(ndr_image_format f);
bool ndr_format_is_same(cl_image_format a, cl_image_format b);

/* Refuse a copy between images of different formats. */
ndr_status ndr_image_refuse_formats(const ndr_image *from, const ndr_image *to);

#endif
