/* map_reduce.h - shared by the implementations of ndr_map_reduce(). */
#ifndef NDR_OPS_MAP_REDUCE_H
#define NDR_OPS_MAP_REDUCE_H

#include "ops/job.h"
#include "ops/names.h"
#include "ops/operand.h"
#include "ops/select.h"

/* One or more dimensions of the call that are indexed as one. */
typedef struct ndr_reduced_axis {
    size_t size;
    bool is_reduced;
    unsigned count, from[3]; /* the dimensions, outer first; of the segments' axis none */
} ndr_reduced_axis;

/* How a reduction goes through its shape. The kernels have two kept indexes, k0 and k1, and two reduced ones, r0 and r1;
 * the last ones are the inner ones. */
typedef struct ndr_reduced_layout {
    unsigned dims; /* 1 to 3 */
    ndr_reduced_axis axes[3];
    size_t kept, inner;    /* results; of them along k1 */
    size_t count, row;     /* elements of a result, with segments of all; of them along r1 */
    bool is_along_reduced; /* neighbouring elements of the inputs are neighbours along r1, not k1 */
} ndr_reduced_layout;

/* A value that is combined, checked. */
typedef struct ndr_reduced_value {
    ndr_map_reduce_value given; /* without a name: the only value */
    char label[48];             /* of its output, for sentences: "output", "values[1].output" */
    size_t element_bytes, result_bytes;
    bool is_stored, is_packed;
} ndr_reduced_value;

/* A checked call. It points into itself, so it must stay where it is. */
typedef struct ndr_map_reduce_request {
    const ndr_map_reduce_desc *desc;
    ndr_names names;     /* as the call has them */
    ndr_names canonical; /* with the axes of the layout as dimensions, and the outputs */
    ndr_map_array inputs[NDR_MAX_NAMES], outputs[NDR_MAX_RESULTS];
    ndr_reduced_layout layout;
    ndr_reduced_value values[NDR_MAX_RESULTS];
    size_t value_count, value_bytes; /* value_bytes: at least sizeof(ndr_r) */
    ndr_operand offsets;             /* of segments */
} ndr_map_reduce_request;

extern const ndr_operation ndr_map_reduce_operation;

/* layout.c, pure: set `layout`. Then the strides of an array along its axes. */
void ndr_reduced_lay_out(ndr_map_reduce_request *request);
void ndr_reduced_strides(const ndr_reduced_layout *layout, const ndr_array *array, bool is_output, int64_t strides[3]);

/* text.c, pure: append what kernels/map_reduce/values.clh says that the text defines. write() of all variants. */
void ndr_map_reduce_write(const ndr_op_case *of, ndr_text *out);

static inline bool ndr_op_is_arg(ndr_op op) { return op == NDR_OP_ARG_MIN || op == NDR_OP_ARG_MAX; }
static inline bool ndr_has_segments(const ndr_map_reduce_desc *desc) { return desc->offsets.buffer || desc->segments; }

#endif
