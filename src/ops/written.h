/* written.h - kernels whose text an operation writes around a text of the caller. */
#ifndef NDR_OPS_WRITTEN_H
#define NDR_OPS_WRITTEN_H

#include "base/base.h"

/* Get a kernel of `text`, behind which the file desc->bundled is included if it is set. If it does not build because of
 * the caller's lines, which follow a mark `#line 1 "TITLE"`, the sentence shows the first line with an error. */
ndr_status ndr_written_get(ndr_context *context, const ndr_kernel_desc *desc, ndr_text *text, ndr_kernel **kernel);

/* Refuse a dtype that is no number, a type of the caller's beside one, or its size. */
ndr_status ndr_written_check_type(const char *call, ndr_dtype dtype, const char *element, size_t element_bytes,
                                  const ndr_device_info *device);

/* Append the type ndr_element, and a check of its size if that is not 0. */
void ndr_written_add_type(const char *type, size_t bytes, ndr_text *out);

/* The sentence of a build that failed because of this check. */
ndr_status ndr_written_explain_size(ndr_status status, const char *call, const char *element, size_t element_bytes);

#endif
