/* only_commands.c - calls that enqueue nothing and get ndr_after(): each line marked `error` draws errors, no other does. */
#include <ndr/ndr_cl.h>

void wrong(ndr_queue *queue, ndr_event *event, ndr_event *const *events, uint64_t *time_ns);

void wrong(ndr_queue *queue, ndr_event *event, ndr_event *const *events, uint64_t *time_ns)
{
    NDR_IGNORE(ndr_queue_mark(ndr_after(queue, event), &event));
    NDR_IGNORE(ndr_queue_mark(ndr_after_all(queue, events, 2), &event));
    (void)ndr_queue_cl(ndr_after(queue, event)); /* error */
    (void)ndr_queue_cl(ndr_after_all(queue, events, 2)); /* error */
    NDR_IGNORE(ndr_queue_flush(ndr_after(queue, event))); /* error */
    NDR_IGNORE(ndr_queue_finish(ndr_after(queue, event))); /* error */
    NDR_IGNORE(ndr_queue_finish(ndr_after_all(queue, events, 2))); /* error */
    NDR_IGNORE(ndr_queue_finish_within(ndr_after(queue, event), 0)); /* error */
    NDR_IGNORE(ndr_queue_finish_timed(ndr_after(queue, event), time_ns)); /* error */
    ndr_queue_destroy(ndr_after(queue, event)); /* error */
    NDR_IGNORE(ndr_queue_mark(ndr_after(ndr_after(queue, event), event), NULL)); /* error */
    NDR_IGNORE(ndr_queue_barrier(ndr_after_all(ndr_after(queue, event), events, 2), NULL)); /* error */
    queue = ndr_after(queue, event); /* error */
}
