/* written.h - kernels whose text an operation writes around a text of the caller. */
#ifndef NDR_OPS_WRITTEN_H
#define NDR_OPS_WRITTEN_H

#include "base/base.h"

/* Get a kernel of `text`, behind which the file desc->bundled is included if it is set. If it does not build because of
 * the caller's lines, which follow a mark `#line 1 "TITLE"`, the sentence shows the first line with an error. */
ndr_status ndr_written_get(ndr_context *context, const ndr_kernel_desc *desc, ndr_text *text, ndr_kernel **kernel);

#endif
