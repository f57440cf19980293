/* user.h - queues on which memory was used that OpenCL frees at once. */
#ifndef NDR_DEVICE_USER_H
#define NDR_DEVICE_USER_H

#include "device/opencl.h"

/* A queue on which memory was used that OpenCL frees at once; retained. */
typedef struct ndr_user {
    struct ndr_user *next;
    cl_command_queue queue;
} ndr_user;

/* Add the queue to the list that `lock` guards, unless it is there. */
ndr_status ndr_user_add(ndr_user **users, ndr_mutex *lock, const ndr_queue *queue);

/* Wait for all queues of a list, and free it. */
void ndr_users_finish(ndr_context *context, ndr_user *users);

#endif
