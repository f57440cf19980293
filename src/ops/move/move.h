/* move.h - shared by ndr_array_copy(), ndr_gather() and ndr_scatter(), and by their tests. */
#ifndef NDR_OPS_MOVE_H
#define NDR_OPS_MOVE_H

#include "ops/array.h"
#include "ops/operand.h"
#include "ops/select.h"

/* A checked copy. The dimensions are in the order that kernels/move/copy.cl describes; the first ones may have size 1.
 * `input` and `output` are the caller's, for their buffers and offsets. */
typedef struct ndr_copy_request {
    const ndr_array *input, *output;
    size_t size[3];
    int64_t from[3], to[3];
    bool transposes; /* the nearest elements of the input are along dimension 1 */
} ndr_copy_request;

/* A checked gathering or scattering. Its indexes point into `table`, which is the input or the output; `list` is the
 * other one. */
typedef struct ndr_gather_request {
    ndr_dtype index_dtype;
    ndr_operand table, indexes, list;
} ndr_gather_request;

extern const ndr_operation ndr_array_copy_operation, ndr_gather_operation, ndr_scatter_operation;

/* Pure: the dimensions of two arrays that passed ndr_array_check(). */
ndr_copy_request ndr_copy_request_of(const ndr_array *input, const ndr_array *output);

/* Pure: the unsigned type of OpenCL C with elements of that size. */
const char *ndr_word_name(size_t element_bytes);

#endif
