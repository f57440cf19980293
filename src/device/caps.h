/* caps.h - the properties of a device, queried once. */
#ifndef NDR_DEVICE_CAPS_H
#define NDR_DEVICE_CAPS_H

#include "device/opencl.h"
#include "device/quirks.h"

/* A device's properties, queried once. Plain data: higher floors decide from it, and tests construct their own. */
typedef struct ndr_caps {
    ndr_device_info info;
    unsigned cl_version; /* of OpenCL: 210 for 2.1 */
    unsigned c_version;  /* version of OpenCL C if the user's options name none: 120 or 300 */
    bool orders_device;  /* acquire and release between groups: OpenCL 3.0's acq_rel at device scope, or the PTX that
                         * a device with warps should accept; a kernel that needs it proves it when it builds */
    unsigned compute_capability; /* NVIDIA's: 900 for 9.0; 0 if the device does not report one */
    bool groups_progress; /* a group that has begun goes on while others wait for it, by the vendor's documents */
    bool flushes_f32;    /* takes subnormal floats for 0 */
    bool wait_sleeps;    /* a waiting thread sleeps while the driver's threads run kernels on the host's cores */
    bool wait_helps;     /* a waiting thread runs commands, also those of other threads */
    unsigned registers;  /* of 32 bits that a group can have; 0 if the device does not report it */
    bool limits_registers; /* its compiler takes -cl-nv-maxrregcount=, for the registers of an item */
    unsigned disabled;   /* bits of ndr_disable, from NDR_DISABLE; kernels get them as macros */
    uint64_t quirks;     /* faults that are avoided: bits of ndr_quirk */
    bool skips_selftest; /* NDR_SELFTEST=off: what self-tests found is ignored */
} ndr_caps;

typedef enum ndr_disable {
    NDR_DISABLE_FP64 = 1u << 0,
    NDR_DISABLE_INT64_ATOMICS = 1u << 1,
    NDR_DISABLE_SUB_GROUPS = 1u << 2,
    NDR_DISABLE_FLOAT_ATOMICS = 1u << 3, /* native float addition; compare-exchange replaces it */
    NDR_DISABLE_MEMORY_ORDER = 1u << 4,  /* memory order beyond OpenCL 1.2's fences */
    NDR_DISABLE_PTX = 1u << 5,           /* inline PTX, and with it warps as sub-groups */
    NDR_DISABLE_PROGRESS = 1u << 6,      /* kernels whose groups wait for each other */
} ndr_disable;

ndr_status ndr_caps_query(cl_platform_id platform, cl_device_id device, ndr_caps *caps);

/* Pure: the bits for "fp64,sub_groups"; NULL or "" is none. An unknown word is refused. */
ndr_status ndr_caps_parse_disable(const char *words, unsigned *disabled);

#endif
