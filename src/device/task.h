/* task.h - functions of the host between commands. */
#ifndef NDR_DEVICE_TASK_H
#define NDR_DEVICE_TASK_H

#include "base/base.h"

/* The queue of the host task that this thread runs, to compare with; NULL: it runs none. */
extern _Thread_local const ndr_queue *ndr_task_queue;

#endif
