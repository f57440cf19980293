/* reduce.h - shared by the implementations of ndr_reduce(). */
#ifndef NDR_OPS_REDUCE_H
#define NDR_OPS_REDUCE_H

#include "ops/ops.h"

#include "shared/tiles.h"

/* A checked reduction. Plans read no buffers. */
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

/* Pure, for cannot() of a row for `method`: NULL if the request has that method, otherwise the reason. */
const char *ndr_reduce_method_mismatch(const ndr_reduce_request *request, ndr_reduce_method method);

/* Pure: the bytes of the head and of so many elements. */
size_t ndr_reduce_workspace_bytes(const ndr_reduce_request *request, size_t elements);

/* Pure: the build options of all kernels of kernels/reduce/, and those of a row. */
void ndr_reduce_print_options(const ndr_reduce_request *request, const char *more, char options[NDR_OPTIONS_SIZE]);

/* Borrow the plan's workspace, and take a slot of it. `*workspace` receives ndr_null if the plan needs none. */
ndr_status ndr_reduce_take_slot(ndr_op_job *job, ndr_arg *workspace, unsigned *slot);

/* ---- chunk_sizes.c ---- */

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
ndr_reduce_chunks ndr_reduce_chunks_for(size_t elements, size_t max_chunks);
ndr_reduce_groups ndr_reduce_groups_for(const ndr_caps *caps, const ndr_reduce_request *request);

/* ---- chunks.c ---- */

/* Pure: complete a plan, whose file and kernel are set, with groups of one item, one for each compute unit. They take
 * one chunk after the other, so a group on a slow core takes fewer. If there are several chunks, there are several
 * groups, and the workspace holds its head and `partials_each` elements for each chunk. */
void ndr_reduce_plan_chunks(const ndr_caps *caps, const ndr_reduce_request *request, size_t max_chunks,
                            size_t partials_each, ndr_op_plan *plan);

/* Launch the plan's kernel. `*workspace` and `*slot` receive what it was given, for a second launch: the workspace, or
 * ndr_null if there is one chunk, which needs none; and the slot of this launch. */
ndr_status ndr_reduce_launch_chunks(ndr_op_job *job, ndr_kernel *kernel, size_t max_chunks, ndr_arg *workspace,
                                    unsigned *slot);

/* run() of the rows with one launch. */
ndr_status ndr_reduce_run_chunks(ndr_op_job *job, size_t max_chunks);

/* ---- groups.c ---- */

/* Pure: complete a plan, whose file and kernel are set, with groups of many items. If there are several groups, the
 * workspace holds its head and, for the tree, a partial of each group. */
void ndr_reduce_plan_groups(const ndr_caps *caps, const ndr_reduce_request *request, ndr_op_plan *plan);

/* As for chunks. */
ndr_status ndr_reduce_launch_groups(ndr_op_job *job, ndr_kernel *kernel, ndr_arg *workspace, unsigned *slot);
ndr_status ndr_reduce_run_groups(ndr_op_job *job);

#endif
