/* user.h - queues on which memory was used that OpenCL frees at once. */
#ifndef NDR_DEVICE_USER_H
#define NDR_DEVICE_USER_H

#include "device/opencl.h"

/* The queues on which one allocation was used. Launches take the lock, so no wait holds it. */
typedef struct ndr_users {
    ndr_mutex lock;
    struct ndr_user *first;
} ndr_users;

/* Initialise zeroed memory. */
void ndr_users_init(ndr_users *users);

/* Add the queue, unless it is there. */
ndr_status ndr_users_add(ndr_users *users, const ndr_queue *queue);

/* When nobody adds one any more: wait for all of them, and destroy the rest. */
void ndr_users_end(ndr_context *context, ndr_users *users);

#endif
