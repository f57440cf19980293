/* dumps.h - which launches of a context NDR_DUMP saves, and where. launch/dump.c saves them. */
#ifndef NDR_DEVICE_DUMPS_H
#define NDR_DEVICE_DUMPS_H

#include <stdatomic.h>

#include "base/base.h"

typedef struct ndr_dumps {
    char *folder;        /* an absolute path; NULL: no launch is saved */
    char *kernel;        /* only launches of kernels of this name; NULL: of all */
    bool saves_all;      /* also launches that succeed */
    int64_t slow_ns;     /* also those that take longer; 0: not */
    atomic_bool is_full; /* the folder has no room: nothing more is saved */
} ndr_dumps;

/* Parse NDR_DUMP into zeroed memory; NULL or "": nothing is saved.
 * A relative folder begins at the working directory. */
ndr_status ndr_dumps_parse(const char *words, ndr_dumps *dumps);

/* The same, and refuse a folder that cannot be written. */
ndr_status ndr_dumps_open(const char *words, ndr_dumps *dumps);
void ndr_dumps_free(ndr_dumps *dumps);

#endif
