/* checked.h - launches with NDR_CHECK. */
#ifndef NDR_LAUNCH_CHECKED_H
#define NDR_LAUNCH_CHECKED_H

#include "launch/launch.h"

/* ndr_launch_run() in a checked context: wait for a turn and for the launch. NDR_OUT_OF_BOUNDS if the launch wrote
 * outside a buffer. */
ndr_status ndr_launch_checked(const ndr_launch_request *request, ndr_event **event) __attribute__((cold));

#endif
