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

/* Pure, cannot() of the rows for a method: NULL if the request has that method, otherwise the reason. */
const char *ndr_reduce_is_no_tree(const void *request);
const char *ndr_reduce_is_no_atomic(const void *request);
const char *ndr_reduce_is_no_recursion(const void *request);

/* Pure: the bytes of the head and of so many elements; of the head and of what the method stores for each of `count`
 * chunks or groups, a partial or nothing. */
size_t ndr_reduce_workspace_bytes(const ndr_reduce_request *request, size_t elements);
size_t ndr_reduce_partials_bytes(const ndr_reduce_request *request, size_t count);

/* Pure: the build options of all kernels of kernels/reduce/, and those of a row. */
void ndr_reduce_print_options(const ndr_reduce_request *request, const char *more, char options[NDR_OPTIONS_SIZE]);

/* If the plan needs a workspace, borrow it and take a slot of it. */
ndr_status ndr_reduce_take_slot(ndr_op_job *job, unsigned *slot);

/* Launch the plan's kernel. `*slot` receives the slot that it was given, for a second launch. The job then has the
 * workspace, if there is more than one chunk or group. */
typedef ndr_status ndr_reduce_launch(ndr_op_job *job, ndr_kernel *kernel, unsigned *slot);

/* run() of the rows in which a second launch takes the combined value out of its cell. */
ndr_status ndr_reduce_run_and_take(ndr_op_job *job, ndr_reduce_launch *launch);

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
ndr_reduce_chunks ndr_reduce_chunks_for(const ndr_reduce_request *request);
ndr_reduce_groups ndr_reduce_groups_for(const ndr_caps *caps, const ndr_reduce_request *request);

/* ---- chunks.c ---- */

/* plan() of the rows in chunks: groups of one item, one for each compute unit. They take one chunk after the other, so
 * a group on a slow core takes fewer. If there are several chunks, there are several groups, and a workspace. */
void ndr_reduce_plan_chunks(const ndr_caps *caps, const void *request, ndr_op_plan *plan);

ndr_reduce_launch ndr_reduce_launch_chunks;
ndr_status ndr_reduce_run_chunks(ndr_op_job *job); /* run() of the rows with one launch */

/* ---- groups.c ---- */

/* plan() of the rows with groups of many items. If there are several groups, there is a workspace. */
void ndr_reduce_plan_groups(const ndr_caps *caps, const void *request, ndr_op_plan *plan);

/* As for chunks. */
ndr_reduce_launch ndr_reduce_launch_groups;
ndr_status ndr_reduce_run_groups(ndr_op_job *job);

#endif
