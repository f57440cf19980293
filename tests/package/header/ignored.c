/* ignored.c - each line marked `warns` ignores a status and must draw a warning. No other line may. */
#include <ndr/ndr.h>

void ignore(ndr_queue *queue, ndr_kernel *kernel, ndr_event *event, ndr_prepared *prepared);

void ignore(ndr_queue *queue, ndr_kernel *kernel, ndr_event *event, ndr_prepared *prepared)
{
    ndr_launch(queue, kernel, ndr_range_1d(8), 1, 2.0f); /* warns */
    ndr_launch_event(queue, kernel, &event, ndr_range_1d(8), 1); /* warns */
    ndr_prepare(kernel, &prepared, ndr_range_1d(8), 1); /* warns */
    ndr_queue_finish(queue); /* warns */
    ndr_queue_mark(queue, &event); /* warns */
    ndr_reduce(queue, NULL, NULL); /* warns */
    ndr_event_get_times(event, NULL); /* warns */
    (void)ndr_event_wait(event); /* warns */
    NDR_IGNORE(ndr_queue_finish(queue));
    NDR_IGNORE(ndr_launch(queue, kernel, ndr_range_1d(8), 1, 2.0f));
}
