/* workspace.h - temporary memory of a queue. */
#ifndef NDR_LAUNCH_WORKSPACE_H
#define NDR_LAUNCH_WORKSPACE_H

#include "base/base.h"

#include "ndr/detail/workspace.h"

/* Temporary memory of a queue, used by one operation or launch with reducers after the other. Its head is described in
 * kernels/ndr/detail/workspace.h. One thread borrows it at a time, until its launches are enqueued. A host task of a
 * checked context gets one of its own if the queue's is lent. */
typedef struct ndr_workspace ndr_workspace;

/* Borrow at least `size_bytes`, including the head, whose slots are zeros in a new workspace. If it fails, nothing
 * is borrowed. */
ndr_status ndr_workspace_borrow(ndr_queue *queue, size_t size_bytes, ndr_workspace **workspace);

/* `last` is the event of the borrower's last command, or NULL if there is none: the next borrower's launches wait
 * for it. */
void ndr_workspace_return(ndr_workspace *workspace, ndr_event *last);

ndr_buffer *ndr_workspace_buffer(const ndr_workspace *workspace);

/* Memory of at least `size_bytes` for words that hold the number of the launch which writes them, and nothing else: a
 * new one holds 0. So words of earlier launches are known, and nothing has to clear them. */
ndr_status ndr_workspace_get_numbered(ndr_workspace *workspace, ndr_context *context, size_t size_bytes,
                                      ndr_buffer **buffer);

/* After so many numbers it is new, because numbers repeat. Tests lower it. */
extern unsigned ndr_max_numbers;

/* The event that the borrower's first launch must wait for; NULL: none. */
ndr_event *ndr_workspace_busy_until(const ndr_workspace *workspace);

/* The next slot, for one launch. That launch zeroes the slot after it. */
unsigned ndr_workspace_take_slot(ndr_workspace *workspace);

/* A number for marks: not 0, and not among the last 2^32 - 2 ones. */
unsigned ndr_workspace_take_number(ndr_workspace *workspace);

#endif
