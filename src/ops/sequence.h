/* sequence.h - operations that run one after the other as one: they have one event, and each waits for the one before. */
#ifndef NDR_OPS_SEQUENCE_H
#define NDR_OPS_SEQUENCE_H

#include "ops/select.h"

typedef struct ndr_sequence {
    const ndr_order *order; /* of the whole */
    bool keeps_events;
    ndr_event *event; /* of those so far; NULL unless events are kept */
} ndr_sequence;

/* `has_event`: the caller wants one. */
ndr_sequence ndr_sequence_begin(const ndr_order *order, bool has_event);

/* The order of the next one. It points into the sequence. */
ndr_order ndr_sequence_next(const ndr_sequence *sequence);

/* Add one that was enqueued; `done` may be NULL. */
void ndr_sequence_add(ndr_sequence *sequence, ndr_event *done);

/* The same for an operation that is run. */
ndr_status ndr_sequence_run(ndr_sequence *sequence, const ndr_operation *operation, const void *request);

/* Give the event, or destroy it if one of them failed with `status`. Returns `status`. */
ndr_status ndr_sequence_end(ndr_sequence *sequence, ndr_status status, ndr_event **event);

#endif
