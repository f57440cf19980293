/* user.c - queues on which memory was used that OpenCL frees at once: its end waits for them. */
#include "device/queue.h"
#include "device/user.h"
#include "device/wait.h"

#include <stdlib.h>

/* Retained. */
typedef struct ndr_user {
    struct ndr_user *next;
    cl_command_queue queue;
} ndr_user;

void ndr_users_init(ndr_users *users) { ndr_mutex_init(&users->lock, NDR_LOCK_LIST); }

/* With the lock held. */
static ndr_status add_user(ndr_users *users, cl_command_queue queue)
{
    for (const ndr_user *user = users->first; user; user = user->next)
        if (user->queue == queue) return NDR_OK;
    ndr_user *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a queue of an allocation");
    const cl_int error = ndr_cl.clRetainCommandQueue(queue);
    if (error != CL_SUCCESS) {
        free(made);
        return ndr_fail_cl(error, "clRetainCommandQueue");
    }
    made->queue = queue;
    made->next = users->first;
    users->first = made;
    return NDR_OK;
}

ndr_status ndr_users_add(ndr_users *users, const ndr_queue *queue)
{
    ndr_mutex_lock(&users->lock);
    const ndr_status status = add_user(users, queue->cl);
    ndr_mutex_unlock(&users->lock);
    return status;
}

void ndr_users_end(ndr_context *context, ndr_users *users)
{
    for (ndr_user *user = users->first, *next; user; user = next) {
        next = user->next;
        const char *call;
        (void)ndr_wait_for_shared_queue(context, user->queue, &call);
        ndr_cl.clReleaseCommandQueue(user->queue);
        free(user);
    }
    ndr_mutex_destroy(&users->lock);
}
