/* progress.h - whether groups that have begun go on while others wait for them. */
#ifndef NDR_OPS_PROGRESS_H
#define NDR_OPS_PROGRESS_H

#include "base/base.h"

/* So often a group looks for the one before it. Tests lower it. */
extern unsigned ndr_progress_looks;

/* Let many groups wait for each other, for a limited time. A variant whose groups wait without a limit calls this first
 * in its proof. */
ndr_status ndr_progress_prove(ndr_queue *queue, bool *goes_on);

#endif
