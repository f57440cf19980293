/* reduce.h - shared by the implementations of ndr_reduce(). */
#ifndef NDR_OPS_REDUCE_H
#define NDR_OPS_REDUCE_H

#include "ops/job.h"
#include "ops/operand.h"
#include "ops/select.h"

#include "shared/tiles.h"

/* A checked reduction. Plans read no buffers. */
typedef struct ndr_reduce_request {
    ndr_dtype dtype;
    ndr_op op;
    ndr_reduce_method method;
    ndr_numerics numerics;     /* of the rows of numerics.c; FAST: of those of reduce.c */
    ndr_operand input, output; /* input.cols elements, and one */
    ndr_operand factors;       /* of a dot product; no elements: it is none */
} ndr_reduce_request;

extern const ndr_operation ndr_reduce_operation, ndr_numerics_operation;

/* ---- reduce.c ---- */

/* Pure: `count` elements of a buffer. */
ndr_operand ndr_reduce_operand(const char *name, ndr_buffer *buffer, size_t offset, size_t count, ndr_dtype dtype);

/* Pure, cannot() of all variants: whether the request has another method than the variant, its `form`. */
const char *ndr_reduce_cannot(const ndr_op_case *of);

/* Pure: of an element that is combined. */
size_t ndr_reduce_element_bytes(const ndr_reduce_request *request);

/* Launch the main kernel over the plan's range: ndr_reduce_launch(job, args...), behind those of the input. */
#define ndr_reduce_launch(job, ...) \
    ndr_reduce_launch_v((job), (const ndr_arg[]){ ndr_null NDR_REST_(job, __VA_ARGS__) } + 1, NDR_COUNT_(__VA_ARGS__))
ndr_status ndr_reduce_launch_v(ndr_op_job *job, const ndr_arg *args, size_t arg_count);

/* Pure: the bytes of a workspace with so many elements; with what the method stores for each of `count` chunks or
 * groups, a partial or nothing. */
size_t ndr_reduce_workspace_bytes(const ndr_reduce_request *request, size_t elements);
size_t ndr_reduce_partials_bytes(const ndr_reduce_request *request, size_t count);

/* Pure: of the atomic method at most NDR_MAX_ATOMICS values are combined into its cell, one after the other; of the tree
 * `otherwise`. */
enum { NDR_MAX_ATOMICS = 1 << 11 };
size_t ndr_reduce_most(const ndr_reduce_request *request, size_t otherwise);

/* Pure: the build options of all kernels of kernels/reduce/, and `more`. */
void ndr_reduce_print_options(const ndr_reduce_request *request, const char *more, char options[NDR_OPTIONS_SIZE]);

/* If there is a second kernel, launch it: it takes the combined value out of the slot's cell. */
ndr_status ndr_reduce_take_cell(ndr_op_job *job, unsigned slot);

/* Define a variant. `other` is the kernel of a second launch; NULL: there is none. */
#define NDR_REDUCE_VARIANT(variant, method, main, other, need, ...)                              \
    NDR_OP_VARIANT(reduce, variant, main, need, .others = { other }, .form = (unsigned)(method), \
                   .cannot = ndr_reduce_cannot, __VA_ARGS__)

/* ---- numerics.c ---- */

/* Check numerics and factors, and set them, for ndr_reduce(). */
ndr_status ndr_numerics_set(const ndr_caps *caps, const ndr_reduce_desc *desc, ndr_reduce_request *request);

/* Pure, cannot() of its variants: whether the request has other numerics than the variant, its `form`. */
const char *ndr_numerics_cannot(const ndr_op_case *of);

/* Pure: whether the request is a dot product. */
static inline bool ndr_reduce_is_dot(const ndr_reduce_request *request) { return request->factors.element_bytes > 0; }

/* The first arguments of the main kernels. */
#define NDR_NUMERICS_INPUT(r, blocks)                                                                           \
    ndr_operand_arg(&(r)->input), (r)->input.offset, ndr_operand_arg(&(r)->factors), (r)->factors.offset, \
        (r)->input.cols, (blocks)

/* ---- chunks.c, groups.c ---- */

/* How many elements a chunk has, and how many chunks there are. */
typedef struct ndr_reduce_chunks {
    size_t elements, count;
} ndr_reduce_chunks;

/* How many items a group has, and how many groups there are. */
typedef struct ndr_reduce_groups {
    size_t size, count;
} ndr_reduce_groups;

/* Pure. They depend on the number of elements and on limits of the device alone, never on the number of compute units:
 * the tree's bits must be the same on every device of a kind. */
ndr_reduce_chunks ndr_reduce_chunks_for(const ndr_reduce_request *request);
ndr_reduce_groups ndr_reduce_groups_for(const ndr_caps *caps, const ndr_reduce_request *request);

#endif
