/* clock.h - a device's clock compared with the host's. */
#ifndef NDR_DEVICE_CLOCK_H
#define NDR_DEVICE_CLOCK_H

#include "base/base.h"

/* The host's ndr_clock_ns() when a device's clock shows `t` is t + offset_ns, with an error of at most error_ns. */
typedef struct ndr_clock_map {
    bool is_known; /* false: all zeros */
    int64_t offset_ns, error_ns;
} ndr_clock_map;

/* Compare the clocks: by the device's timer, or by a few markers in a queue made for them, which it waits for. */
ndr_clock_map ndr_clock_map_read(ndr_context *context);

#endif
