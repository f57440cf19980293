/* prepared.h - a launch that is planned, checked and bound once, and run many times. */
#ifndef NDR_LAUNCH_PREPARED_H
#define NDR_LAUNCH_PREPARED_H

#include "launch/launch.h"

struct ndr_prepared {
    uint64_t seal;
    ndr_context *context; /* a reference: the context owns the kernel */
    ndr_mutex lock;       /* held while an argument is set and while pieces are enqueued */
    ndr_planned *planned;
    size_t arg_count; /* with those that fill no parameter */
    ndr_arg args[];   /* with a reference to each object; NDR_ARG_NONE: OpenCL failed to set it */
};

#endif
