/* core.h - what a core of a CPU has. */
#ifndef NDR_OPS_CORE_H
#define NDR_OPS_CORE_H

#include "base/base.h"
#include "shared/core.h"

typedef struct ndr_core {
    unsigned vector_bytes, registers; /* of a vector register; how many there are */
    bool fuses;                       /* an instruction multiplies and adds: fma() calls no function */
    size_t first_cache_bytes, second_cache_bytes;
} ndr_core;

/* Pure: a core with these features, bits of kernels/shared/core.h, and caches of 32 and 512 KiB. */
ndr_core ndr_core_of(unsigned features);

/* The cores of the context's device. The first call builds a kernel, but not for a device that has no variant with
 * vector registers: there it gives ndr_core_of(0). */
ndr_status ndr_core_get(ndr_context *context, ndr_core *core);

/* The same, but if they are not known and the device is the host, assume those of its CPU and build nothing. The compiler
 * may use less. A program with kernels/probe/core.cl in it tells: ndr_core_learn() takes its kernel NDR_CORE_PROBE. */
#define NDR_CORE_PROBE "probe_core"
ndr_status ndr_core_assume(ndr_context *context, ndr_core *core, bool *is_assumed);
ndr_status ndr_core_learn(ndr_context *context, const struct ndr_kernel *probe, ndr_core *core);

/* For tests: take the device's cores for ones with these features; 0: probe again. */
ndr_status ndr_core_force(ndr_context *context, unsigned features);

#endif
