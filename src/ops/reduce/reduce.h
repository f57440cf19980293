/* reduce.h - what the implementations of ndr_reduce() share. */
#ifndef NDR_OPS_REDUCE_H
#define NDR_OPS_REDUCE_H

#include "ops/ops.h"

/* A reduction that has passed its checks. Plans read no buffers. */
typedef struct ndr_reduce_request {
    ndr_dtype dtype;
    ndr_op op;
    ndr_reduce_method method;
    ndr_operand input, output; /* input.cols elements, and one */
} ndr_reduce_request;

extern const ndr_operation ndr_reduce_operation;

/* ---- reduce.c ---- */

/* Pure: `count` elements of a buffer. */
ndr_operand ndr_reduce_operand(const char *name, ndr_buffer *buffer, size_t offset, size_t count, ndr_dtype dtype);

/* Pure: what a row for `method` says to a request; NULL: it is for that method. */
const char *ndr_reduce_asks_for_another(const ndr_reduce_request *request, ndr_reduce_method method);

/* Pure: the head and so many elements. */
size_t ndr_reduce_workspace_bytes(const ndr_reduce_request *request, size_t elements);

/* Pure: what all of kernels/reduce/ are built with. */
void ndr_reduce_print_options(const ndr_reduce_request *request, bool fetches_ahead, char options[NDR_OPTIONS_SIZE]);

/* ---- dealing.c ---- */

/* Pure. How many elements a chunk has where at most `most_chunks` may be made, and how many chunks of that there
 * are; how many groups of `group_size` items there are. They depend on `count` and on limits of the device alone,
 * never on the number of compute units: the tree's bits must be the same on every device of a kind. */
size_t ndr_reduce_chunk_elements(size_t count, size_t most_chunks);
size_t ndr_reduce_chunks(size_t count, size_t chunk);
size_t ndr_reduce_group_size(const ndr_caps *caps);
size_t ndr_reduce_groups(size_t count, size_t group_size);

#endif
