/* array.h - strided arrays that an operation reads or writes: checks, and what they have in memory. */
#ifndef NDR_OPS_ARRAY_H
#define NDR_OPS_ARRAY_H

#include "device/buffer.h"
#include "ndr/ndr_ops.h"

/* Refuse dimensions, a dtype or a stride that is not valid, and f64 on a device without it; NULL: elements are
 * only copied, and no device matters. Buffers are not read. */
ndr_status ndr_array_check(const char *call, const char *name, const ndr_array *array, const ndr_device_info *device);

/* Refuse a buffer that is NULL, of another context or too small. For arrays that passed ndr_array_check(). */
ndr_status ndr_array_check_buffer(const char *call, const char *name, const ndr_array *array,
                                  const ndr_context *context);

/* Refuse an output of which two indexes may have one element. */
ndr_status ndr_array_check_output(const char *call, const char *name, const ndr_array *array);

/* Refuse two arrays that overlap. Both passed ndr_array_check_buffer(). */
ndr_status ndr_array_check_apart(const char *call, const char *name, const ndr_array *array, const char *other_name,
                                 const ndr_array *other);

/* The same for an output of these bytes. */
ndr_status ndr_array_check_outside(const char *call, const char *name, ndr_bytes output, const char *other_name,
                                   const ndr_array *other);

/* Pure: from its first to its last element, of one that passed ndr_array_check_buffer(). */
ndr_bytes ndr_array_bytes(const ndr_array *array);

/* Pure. */
size_t ndr_array_count(const ndr_array *array);
bool ndr_array_is_packed(const ndr_array *array); /* its elements follow each other in the order of their indexes */
bool ndr_array_is_same(const ndr_array *a, const ndr_array *b); /* each index has the same element */

/* The kernel argument: the buffer, or ndr_null if there are no elements. */
ndr_arg ndr_array_arg(const ndr_array *array);

#endif
