/** @file ndr_cl.h
 * Native OpenCL handles in and out, for programs that also call OpenCL themselves.
 *
 * Include it after setting CL_TARGET_OPENCL_VERSION as you like; ndr.h alone needs no OpenCL header. Such a program
 * must link OpenCL itself (-lOpenCL, OpenCL::OpenCL). libndr opens the same library when it needs a device, unless
 * NDR_OPENCL names another. Leave NDR_OPENCL unset if handles pass between the two. */
#ifndef NDR_NDR_CL_H
#define NDR_NDR_CL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120 /**< The oldest that libndr runs on. */
#endif
#include <CL/cl.h>

#include "ndr/ndr.h"
#include "ndr/ndr_image.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- out: borrowed handles, valid while the object lives; clRetain what you keep. NULL gives NULL. ---- */

NDR_API cl_context ndr_context_cl(const ndr_context *context);       /**< The context's own. */
NDR_API cl_device_id ndr_context_cl_device(const ndr_context *context); /**< The context's one device. */
NDR_API cl_command_queue ndr_queue_cl(const ndr_queue *queue);       /**< Finish or flush it as you like. */
NDR_API cl_mem ndr_buffer_cl(const ndr_buffer *buffer);              /**< A buffer of 0 bytes has 1 here. */
NDR_API cl_mem ndr_image_cl(const ndr_image *image);                 /**< The image. */
NDR_API cl_sampler ndr_sampler_cl(const ndr_sampler *sampler);       /**< The sampler. */
/** The event of the last piece of the work. */
NDR_API cl_event ndr_event_cl(const ndr_event *event);
/** The kernel. Do not set its arguments while another thread launches it. Arguments that you set hold for your own
 * launches: after this call ndr_launch() sets all arguments each time. Otherwise it sets only changed ones. */
NDR_API cl_kernel ndr_kernel_cl(const ndr_kernel *kernel);

/* ---- in: each takes a reference of its own (clRetain); you keep yours. ---- */

/** A context over an OpenCL context, for one `device` of it. If that is a part of a device, keep a reference to it until
 * the process ends: PoCL 3 uses it after the context has gone. */
NDR_MUST_CHECK ndr_status ndr_context_from_cl(cl_context cl, cl_device_id device, ndr_context **context);

/** A queue over a command queue, in order or not, of the same OpenCL context and device. */
NDR_MUST_CHECK ndr_status ndr_queue_from_cl(ndr_context *context, cl_command_queue cl, ndr_queue **queue);

/** A buffer over a buffer object of the same OpenCL context. Its accesses (#ndr_buffer_desc) are those of the object's
 * flags. */
NDR_MUST_CHECK ndr_status ndr_buffer_from_cl(ndr_context *context, cl_mem cl, ndr_buffer **buffer);

/** An image over an image object of the same OpenCL context, of any dimensions and format, also one without a name in
 * #ndr_image_format. Its accesses (#ndr_image_desc) are those of the object's flags. If it lies over a buffer object,
 * libndr does not know of mappings of that made elsewhere. */
NDR_MUST_CHECK ndr_status ndr_image_from_cl(ndr_context *context, cl_mem cl, ndr_image **image);

/** A sampler over a sampler object of the same OpenCL context. */
NDR_MUST_CHECK ndr_status ndr_sampler_from_cl(ndr_context *context, cl_sampler cl, ndr_sampler **sampler);

/** A kernel over a kernel object of the same OpenCL context: one from a binary or from SPIR-V, or another library's.
 * As with ndr_kernel_get(), do not destroy it: the context keeps the kernel, and its reference to `cl`, until the
 * context is gone. The same `cl` gives the same kernel again. So call this function once for each kernel object, not
 * once for each launch. ndr_launch() sets all arguments each time; do not set any while another thread launches the
 * kernel.
 *
 * A launch always checks the range, the number of arguments, local memory, and that buffers belong to this context and
 * are not mapped. It checks the kinds and types of arguments only if the program was built with -cl-kernel-arg-info.
 * Even then it does not check a struct, a typedef, or a vector under a name of its own, passed by value.
 *
 * An argument whose parameter is not known goes to the driver as it is given: an int as 4 bytes, a double as 8. If the
 * driver refuses it, the launch returns NDR_BAD_KERNEL_ARGUMENT. Drivers compare at most the size, some only that of
 * pointers. So a driver may accept a double for a float parameter, and may crash on a number for a pointer that has as
 * many bytes: 8, on systems of 32 bits 4. libndr recognises NDR_RANGE and NDR_ND_RANGE by their types, so a kernel that
 * has one needs -cl-kernel-arg-info. Some drivers (Intel's) describe no kernel of a binary, whatever its options: then
 * libndr compares the binary with the programs that it has built in this context, and knows only the kernels of those. */
NDR_MUST_CHECK ndr_status ndr_kernel_from_cl(ndr_context *context, cl_kernel cl, ndr_kernel **kernel);

#ifdef __cplusplus
}
#endif

#endif
