/* lines.h - shared by the implementations of ndr_array_scan(). */
#ifndef NDR_OPS_SCAN_LINES_H
#define NDR_OPS_SCAN_LINES_H

#include "ops/scan/scan.h"

/* How an array lies in memory, in elements: the first element that is scanned, the step to the next one, and those to the
 * next line. */
typedef struct ndr_line_steps {
    size_t first;
    int64_t step, outer, inner;
} ndr_line_steps;

/* A checked call. Plans read no buffers. */
typedef struct ndr_line_request {
    ndr_scan_request scan; /* type, operator, options; of the kernels */
    const ndr_array *input, *output;
    size_t count, lines, inner; /* elements of a line; lines, and those along the inner dimension */
    ndr_line_steps from, to;
    bool is_along; /* the elements of a line are nearer to each other than those of neighbouring lines */
    bool is_unit;  /* neighbours are neighbours in memory, of the input and the output */
} ndr_line_request;

extern const ndr_operation ndr_array_scan_operation;

/* Pure: set where the lines are. */
void ndr_lines_lay_out(const ndr_array *input, const ndr_array *output, unsigned axis, ndr_line_request *request);

/* Pure: whether the lines follow each other in both arrays. */
bool ndr_lines_are_packed(const ndr_line_request *request);

#endif
