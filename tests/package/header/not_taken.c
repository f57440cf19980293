/* not_taken.c - arguments that ndr_launch() refuses: each marked line draws one error, which contains the name. */
#include <ndr/ndr.h>

struct pair {
    int first;
    float second;
};
#define ONES 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1

void launch(ndr_queue *queue, ndr_kernel *kernel, float *host, struct pair pair, struct _cl_mem *mem, void *any);

void launch(ndr_queue *queue, ndr_kernel *kernel, float *host, struct pair pair, struct _cl_mem *mem, void *any)
{
    const ndr_range range = ndr_range_1d(8);
    short table[4] = { 0, 0, 0, 0 };
    NDR_IGNORE(ndr_launch(queue, kernel, range, 1, host)); /* error: ndr_use_ndr_buffer_or_ndr_struct */
    NDR_IGNORE(ndr_launch(queue, kernel, range, table));   /* error: ndr_use_ndr_buffer_or_ndr_struct */
    NDR_IGNORE(ndr_launch(queue, kernel, range, "text"));  /* error: ndr_use_ndr_buffer_or_ndr_struct */
    NDR_IGNORE(ndr_launch(queue, kernel, range, 2, pair)); /* error: ndr_use_ndr_buffer_or_ndr_struct */
    NDR_IGNORE(ndr_launch(queue, kernel, range, mem));     /* error: ndr_use_ndr_buffer_from_cl */
    NDR_IGNORE(ndr_launch(queue, kernel, range, any));     /* error: ndr_use_ndr_null_or_ndr_buffer */
    NDR_IGNORE(ndr_launch(queue, kernel, 8, 1));           /* error: ndr_use_ndr_range_1d_or_ndr_nd_range_1d */
#ifdef __cplusplus
    NDR_IGNORE(ndr_launch(queue, kernel, range, nullptr)); /* error in c++: ndr_use_ndr_null_or_ndr_buffer */
#else
    NDR_IGNORE(ndr_launch(queue, kernel, range, (void *)0)); /* error in c: ndr_use_ndr_null_or_ndr_buffer */
    /* 65 of them; then as many as a generated kernel may have */
    NDR_IGNORE(ndr_launch(queue, kernel, range, ONES, ONES, ONES, ONES, 1)); /* error in c: use_ndr_launch_v */
#endif
}

#ifndef __cplusplus
void launch_more(ndr_queue *queue, ndr_kernel *kernel, ndr_range range);

void launch_more(ndr_queue *queue, ndr_kernel *kernel, ndr_range range)
{
    NDR_IGNORE(ndr_launch(queue, kernel, range, ONES, ONES, ONES, ONES, ONES, ONES, ONES, ONES, ONES, ONES, ONES, ONES)); /* error in c: use_ndr_launch_v */
}
#endif
