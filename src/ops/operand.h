/* operand.h - elements of a buffer that an operation reads or writes. */
#ifndef NDR_OPS_OPERAND_H
#define NDR_OPS_OPERAND_H

#include "base/base.h"

/* A matrix is `rows` runs of `cols` elements; `pitch` is the distance between the starts of two runs. Anything else is
 * one run. A batch has `further` matrices after the first; `stride` is the distance between two of them. */
typedef struct ndr_operand {
    const char *call, *name; /* for sentences: "ndr_reduce", "input" */
    ndr_buffer *buffer;
    size_t offset, rows, cols, pitch; /* elements */
    size_t further, stride;           /* matrices; elements */
    size_t element_bytes;
    bool is_by_columns; /* for sentences: the caller's rows are columns */
} ndr_operand;

/* Pure: `count` elements of a buffer. */
ndr_operand ndr_operand_of(const char *call, const char *name, ndr_span span, size_t count, size_t element_bytes);

/* Refuse a buffer that is NULL, of another context, or too small. Nothing is checked for 0 elements. */
ndr_status ndr_operand_check(const ndr_operand *operand, const ndr_queue *queue);

/* Refuse an output that overlaps an input. */
ndr_status ndr_operand_check_apart(const ndr_operand *output, const ndr_operand *input);

/* Refuse an operator that is none, or that the dtype does not have. */
ndr_status ndr_operand_check_op(const char *call, ndr_op op, ndr_dtype dtype);

/* The kernel argument: the buffer, or ndr_null for 0 elements. */
ndr_arg ndr_operand_arg(const ndr_operand *operand);

#endif
