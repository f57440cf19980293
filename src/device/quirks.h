/* quirks.h - the faults of drivers that libndr knows, a row each, and which of them a context avoids. */
#ifndef NDR_DEVICE_QUIRKS_H
#define NDR_DEVICE_QUIRKS_H

#include "device/opencl.h"

/* The rows that have a switch. */
typedef enum ndr_quirk {
    NDR_QUIRK_MARK_WAITS_FOR_ALL,
    NDR_QUIRK_WAIT_RUNS_COMMANDS,
    NDR_QUIRK_ENQUEUE_RACES,
    NDR_QUIRK_FINISH_LOCKS,
    NDR_QUIRK_MARK_MISSES_WORK,
    NDR_QUIRK_FAIL_ENDS_TWICE,
    NDR_QUIRK_FAILED_EVENT_USED,
    NDR_QUIRK_FAILED_ORDER_LOST,
    NDR_QUIRK_REMAP_IS_OLD,
    NDR_QUIRK_SAME_ADDRESS_UNMAP,
    NDR_QUIRK_FILL_31_BITS,
    NDR_QUIRK_LAST_PITCH_REFUSED,
    NDR_QUIRK_SUB_BUFFER_RELEASED,
    NDR_QUIRK_SHARED_THEN_BUFFER,
    NDR_QUIRK_ONE_VALUE_FOR_ALL,
    NDR_QUIRK_LOOPS_END_EARLY,
    NDR_QUIRK_COUNT
} ndr_quirk;

/* With NDR_QUIRK_LOOPS_END_EARLY: iterations of all loops of an item together, after which the driver ends them. */
enum { NDR_LOOPS_END_AFTER = 65535 };

typedef struct ndr_caps ndr_caps;

/* How libndr tells whether a driver has a fault. `is_there` NULL: the row has no switch. */
typedef struct ndr_quirk_sign {
    const char *text;
    bool (*is_there)(const ndr_caps *caps);
} ndr_quirk_sign;

/* The texts are those of docs/appendix/drivers.md. */
typedef struct ndr_quirk_row {
    const char *id;
    const char *seen; /* drivers and versions */
    const char *fault;
    const ndr_quirk_sign *sign;
    const char *instead; /* what libndr does, or else what a program can do */
} ndr_quirk_row;

/* Those with a switch first, by ndr_quirk. */
extern const ndr_quirk_row ndr_quirk_rows[];
extern const size_t ndr_quirk_row_count;

#define NDR_QUIRK_BIT(quirk) (UINT64_C(1) << (quirk))

/* Pure: the bits of the rows that are on: by the signs, then by `words`, as of NDR_QUIRKS: "-id,+id"; NULL or "" changes
 * none. Another word is refused. */
ndr_status ndr_quirks_choose(const ndr_caps *caps, const char *words, uint64_t *quirks);

static inline bool ndr_quirk_is_on(uint64_t quirks, ndr_quirk quirk) { return quirks & NDR_QUIRK_BIT(quirk); }

/* The iterations that the long loops of an item may have; SIZE_MAX without NDR_QUIRK_LOOPS_END_EARLY. A loop that runs
 * n times counts n + 1. The rest is for short loops beside them. */
static inline size_t ndr_quirk_turns(uint64_t quirks)
{
    enum { OF_SHORT_LOOPS = 4096 };
    return ndr_quirk_is_on(quirks, NDR_QUIRK_LOOPS_END_EARLY) ? NDR_LOOPS_END_AFTER - OF_SHORT_LOOPS : SIZE_MAX;
}

#endif
