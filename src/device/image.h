/* image.h - images and samplers. */
#ifndef NDR_DEVICE_IMAGE_H
#define NDR_DEVICE_IMAGE_H

#include <stdatomic.h>

#include "device/map.h"

struct ndr_image {
    uint64_t seal;
    atomic_uint references; /* one for the caller, and one for each prepared launch */
    ndr_context *context;
    cl_mem cl;
    cl_image_format format; /* libndr may have no name for a foreign one */
    const char *type_name;  /* of the kernel's parameter: "image2d_t" */
    unsigned dims;
    size_t size[3]; /* in OpenCL's order, padded with 1 */
    size_t element_bytes;
    bool is_row_array;  /* a 1-D array */
    bool is_read_write; /* its format is one for read_write parameters */
    ndr_access kernel_access, host_access;
    ndr_buffer *buffer;    /* whose bytes it is, with a reference; NULL: none */
    ndr_mappings mappings; /* none of an image over a buffer */
};

struct ndr_sampler {
    uint64_t seal;
    atomic_uint references; /* as of an image */
    ndr_context *context;
    cl_sampler cl;
};

/* Take or return a reference. */
void ndr_image_keep(ndr_image *image);
void ndr_image_release(ndr_image *image);
void ndr_sampler_keep(ndr_sampler *sampler);
void ndr_sampler_release(ndr_sampler *sampler);

/* As ndr_buffer_is_free(); an image over a buffer has the mappings of that. */
bool ndr_image_is_free(const ndr_image *image, bool device_writes);

#endif
