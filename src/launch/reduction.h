/* reduction.h - what launches of kernels with reducers add. */
#ifndef NDR_LAUNCH_REDUCTION_H
#define NDR_LAUNCH_REDUCTION_H

#include "launch/launch.h"

/* Of the workspace of such a launch. */
extern const size_t ndr_reduction_work_bytes;

/* Pure: divide the planned range into chunks, for one launch or two. */
void ndr_reduction_divide(ndr_planned *planned, const ndr_nd_range *range);

/* Refuse reducers with the same destination. All arguments are checked. */
ndr_status ndr_reduction_check(const ndr_kernel *kernel, const ndr_arg *args);

/* The same for the reducer `arg` in place of args[index]. */
ndr_status ndr_reduction_check_one(const ndr_kernel *kernel, const ndr_arg *args, size_t index, const ndr_arg *arg);

/* Set the hidden arguments but the record, in each clone if there are clones. */
ndr_status ndr_reduction_bind(const ndr_planned *planned, ndr_workspace *workspace, const ndr_arg *args);

#endif
