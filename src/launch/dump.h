/* dump.h - launches that NDR_DUMP saves. */
#ifndef NDR_LAUNCH_DUMP_H
#define NDR_LAUNCH_DUMP_H

#include "launch/launch.h"

/* The most that the folder of NDR_DUMP holds. Tests lower both. */
extern uint64_t ndr_max_dump_bytes;
extern size_t ndr_max_dumps;

/* ndr_launch_start() in a context that saves launches: read the launch's buffers, run it, wait for it, and save it if
 * NDR_DUMP asks for it. A failure while it runs is returned. docs/replay.md is for users. */
ndr_status ndr_launch_saved(const ndr_launch_request *request, ndr_event **event) __attribute__((cold));

#endif
