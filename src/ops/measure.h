/* measure.h - measures the variants of an operation. */
#ifndef NDR_OPS_MEASURE_H
#define NDR_OPS_MEASURE_H

#include "ops/variant.h"

/* Requests of one class on which variants are measured. */
typedef struct ndr_op_sample {
    const void *part, *whole; /* a small part, to discard slow variants early, and all of it */
    size_t part_count;        /* how many parts make the whole */
    /* Whether the whole result is right; called after each variant's first run. */
    ndr_status (*check)(ndr_queue *queue, const void *whole, bool *is_right);
    int64_t (*clock_ns)(void); /* ndr_clock_ns(); a test has its own */
} ndr_op_sample;

typedef struct ndr_op_winner {
    const ndr_op_variant *variant, *listed; /* the fastest; that which the list selects */
    double seconds, listed_seconds;         /* medians of one run */
} ndr_op_winner;

/* Measure each variant that can run the sample, in turn, and find the fastest. It must be faster than the list's by
 * more than the noise. A variant with a wrong result, or that fails, is left out; no new run starts after
 * `max_seconds`. */
ndr_status ndr_op_measure(const ndr_operation *operation, ndr_queue *queue, const ndr_op_sample *sample,
                          double max_seconds, ndr_op_winner *winner);

#endif
