/* sequence.c - runs operations one after the other, in order also on out-of-order queues. */
#include "device/event.h"
#include "device/queue.h"
#include "ops/sequence.h"

ndr_sequence ndr_sequence_begin(const ndr_order *order, bool has_event)
{
    return (ndr_sequence){ .order = order, .keeps_events = has_event || order->queue->is_out_of_order };
}

ndr_order ndr_sequence_next(const ndr_sequence *s)
{
    return s->event ? (ndr_order){ .queue = s->order->queue, .events = &s->event, .count = 1 } : *s->order;
}

void ndr_sequence_add(ndr_sequence *s, ndr_event *done) { s->event = ndr_event_join(s->event, done); }

ndr_status ndr_sequence_run(ndr_sequence *s, const ndr_operation *operation, const void *request)
{
    const ndr_order order = ndr_sequence_next(s);
    ndr_event *done = NULL;
    NDR_TRY(ndr_op_run(operation, &order, request, s->keeps_events ? &done : NULL));
    ndr_sequence_add(s, done);
    return NDR_OK;
}

ndr_status ndr_sequence_end(ndr_sequence *s, ndr_status status, ndr_event **event)
{
    if (status == NDR_OK && event) *event = s->event;
    else ndr_event_destroy(s->event);
    return status;
}
