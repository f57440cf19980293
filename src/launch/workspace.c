/* workspace.c - temporary memory that the operations of a queue share. */
#include "device/buffer.h"
#include "device/context.h"
#include "device/event.h"
#include "device/queue.h"
#include "device/task.h"
#include "launch/workspace.h"

#include <limits.h>
#include <stdlib.h>

struct ndr_workspace {
    ndr_attachment base; /* of the queue; its lock guards `is_lent` */
    ndr_condition is_back;
    bool is_lent;    /* to one thread, which alone uses the rest */
    bool is_private; /* of one host task, without an attachment */
    ndr_buffer *buffer;   /* NULL until the first use */
    ndr_buffer *numbered; /* the same; of words that hold numbers of launches */
    unsigned since;       /* numbers up to this one are not in it */
    unsigned slot;        /* the next slot; wraps around */
    unsigned number;      /* the last one that was taken */
    ndr_event *last;      /* of the last work that uses the buffer, on out-of-order queues; NULL: none */
};

static void release_last(ndr_workspace *workspace)
{
    ndr_event_release(workspace->last);
    workspace->last = NULL;
}

static void open_workspace(ndr_attachment *made) { ndr_condition_init(&((ndr_workspace *)made)->is_back); }

static void close_workspace(ndr_attachment *gone)
{
    ndr_workspace *workspace = (ndr_workspace *)gone;
    release_last(workspace);
    ndr_buffer_destroy(workspace->buffer);
    ndr_buffer_destroy(workspace->numbered);
    ndr_condition_destroy(&workspace->is_back);
}

static const ndr_attachment_kind kind = { "a workspace", sizeof(ndr_workspace), NDR_LOCK_WORKSPACE, open_workspace,
                                         close_workspace };

/* What waits for failed work is refused: release its event. */
static void release_ended(ndr_workspace *workspace)
{
    if (workspace->last && ndr_event_code(workspace->last) <= CL_COMPLETE) release_last(workspace);
}

/* A buffer whose first bytes are zeros, instead of another one, which OpenCL keeps until its work is done. In the
 * borrower's queue the zeros would fail with work before them, and then all later work would be wrong. */
static ndr_status renew(ndr_context *context, size_t size_bytes, size_t zero_bytes, ndr_buffer **buffer)
{
    static const cl_uint zero = 0;
    ndr_queue *own;
    ndr_buffer *made = NULL;
    NDR_TRY(ndr_queue_create(context, NULL, &own));
    ndr_status status = ndr_buffer_create(context, size_bytes, &made);
    if (status == NDR_OK) status = ndr_buffer_fill(own, made, 0, zero_bytes, &zero, sizeof zero, NULL);
    if (status == NDR_OK) status = ndr_queue_finish(own);
    ndr_queue_destroy(own);
    ndr_buffer_destroy(status == NDR_OK ? *buffer : made);
    if (status == NDR_OK) *buffer = made;
    return status;
}

static size_t held_bytes(const ndr_buffer *buffer) { return buffer ? buffer->size_bytes : 0; }

static ndr_status grow(ndr_workspace *workspace, ndr_context *context, size_t size_bytes)
{
    enum { MIN_BYTES = 1 << 19 };
    if (held_bytes(workspace->buffer) >= ndr_max_size(size_bytes, 1)) return NDR_OK;
    return renew(context, ndr_max_size(size_bytes, MIN_BYTES), NDR_WORKSPACE_HEAD_BYTES, &workspace->buffer);
}

/* Under NDR_CHECK the borrower waits for its launches, and these wait for a host task that another thread has enqueued
 * just before them. So such a task does not wait for the borrower. Returns whether it got the queue's workspace. */
static bool take(ndr_workspace *workspace, const ndr_queue *queue)
{
    const bool waits = !queue->context->checker || ndr_task_queue != queue;
    ndr_mutex_lock(&workspace->base.lock);
    while (workspace->is_lent && waits) ndr_condition_wait(&workspace->is_back, &workspace->base.lock);
    const bool is_taken = !workspace->is_lent;
    workspace->is_lent = true;
    ndr_mutex_unlock(&workspace->base.lock);
    return is_taken;
}

static void give_back(ndr_workspace *workspace)
{
    ndr_mutex_lock(&workspace->base.lock);
    workspace->is_lent = false;
    ndr_condition_wake_all(&workspace->is_back);
    ndr_mutex_unlock(&workspace->base.lock);
}

static ndr_status new_private(ndr_workspace **workspace)
{
    ndr_workspace *const made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a workspace");
    open_workspace(&made->base);
    made->is_private = true;
    *workspace = made;
    return NDR_OK;
}

/* OpenCL keeps the buffer of a private one until its work is done. */
static void end_loan(ndr_workspace *workspace)
{
    if (!workspace->is_private) {
        give_back(workspace);
        return;
    }
    close_workspace(&workspace->base);
    free(workspace);
}

ndr_status ndr_workspace_borrow(ndr_queue *queue, size_t size_bytes, ndr_workspace **workspace)
{
    ndr_attachment *found;
    NDR_TRY(ndr_attachment_get(&queue->attachments, &kind, &found));
    ndr_workspace *borrowed = (ndr_workspace *)found;
    if (!take(borrowed, queue)) NDR_TRY(new_private(&borrowed));
    release_ended(borrowed);
    const ndr_status status = grow(borrowed, queue->context, size_bytes);
    if (status == NDR_OK) *workspace = borrowed;
    else end_loan(borrowed);
    return status;
}

void ndr_workspace_return(ndr_workspace *workspace, ndr_event *last)
{
    if (last) {
        release_last(workspace);
        workspace->last = ndr_event_keep(last);
    }
    end_loan(workspace);
}

ndr_buffer *ndr_workspace_buffer(const ndr_workspace *workspace) { return workspace->buffer; }

ndr_event *ndr_workspace_busy_until(const ndr_workspace *workspace) { return workspace->last; }

unsigned ndr_max_numbers = UINT_MAX / 2;

ndr_status ndr_workspace_get_numbered(ndr_workspace *workspace, ndr_context *context, size_t size_bytes,
                                      ndr_buffer **buffer)
{
    enum { MIN_BYTES = 1 << 16 };
    const size_t held = held_bytes(workspace->numbered);
    const size_t wanted = ndr_max_size(size_bytes, ndr_max_size(held, MIN_BYTES));
    if (wanted > held || workspace->number - workspace->since > ndr_max_numbers) {
        NDR_TRY(renew(context, wanted, wanted, &workspace->numbered));
        workspace->since = workspace->number;
    }
    *buffer = workspace->numbered;
    return NDR_OK;
}

unsigned ndr_workspace_take_slot(ndr_workspace *workspace) { return workspace->slot++ % NDR_SLOTS; }

/* 0 is that of new marks. */
unsigned ndr_workspace_take_number(ndr_workspace *workspace)
{
    if (++workspace->number == 0) workspace->number = 1;
    return workspace->number;
}
