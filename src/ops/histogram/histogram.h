/* histogram.h - shared by the implementations of ndr_histogram(). */
#ifndef NDR_OPS_HISTOGRAM_H
#define NDR_OPS_HISTOGRAM_H

#include "ops/operand.h"
#include "ops/select.h"

/* As kernels/histogram/bins.clh names them. */
typedef enum ndr_bins {
    NDR_BINS_OF_ALL,
    NDR_BINS_OF_SHIFT,
    NDR_BINS_OF_RATIO,
    NDR_BINS_OF_REALS,
    NDR_BINS_OF_EDGES
} ndr_bins;

/* A checked histogram. Plans read no buffers. */
typedef struct ndr_histogram_request {
    ndr_dtype dtype, output_dtype;
    ndr_bins bins;
    bool has_weights, adds;
    unsigned channels;
    uint32_t bin_count;    /* of a channel */
    uint32_t first, limit; /* of integers: lower modulo 2^32, and upper - lower - 1 */
    uint64_t step;         /* the shift or the ratio */
    double lower, upper;   /* of floats */
    ndr_operand input, weights, edges, output;
} ndr_histogram_request;

extern const ndr_operation ndr_histogram_operation;

/* Pure: the entries of a table, with one place in each channel for elements in no bin. */
size_t ndr_histogram_table(const ndr_histogram_request *request);

#endif
