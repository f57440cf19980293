/* context.h - a device that is open, and what its objects share. */
#ifndef NDR_DEVICE_CONTEXT_H
#define NDR_DEVICE_CONTEXT_H

#include <stdatomic.h>

#include "base/disk.h"
#include "device/attachment.h"
#include "device/caps.h"
#include "device/catalog.h"
#include "device/dumps.h"
#include "device/wait.h"

struct ndr_context {
    uint64_t seal;          /* first member of every handle; used by handle.c */
    atomic_uint references; /* one for the caller, and one for each queue, buffer and event */
    cl_device_id device;
    cl_context cl;
    ndr_caps caps;
    ndr_spin_backoff spin_backoff;
    struct ndr_checker *checker;             /* NULL: unchecked */
    struct ndr_traced_context *traced;       /* NULL: not traced */
    ndr_mutex order_lock;                    /* guards what order.c keeps of events and queues */
    ndr_queue *queues;                       /* with order_lock */
    bool is_destroyed;                       /* by the caller, with order_lock */
    struct ndr_orphan *orphans;              /* events of destroyed queues, with order_lock */
    struct ndr_orphan *failed, *last_failed; /* events of failed commands, oldest first, with order_lock */
    unsigned failed_count;                   /* of these */
    ndr_mutex fail_lock; /* of command.c: while a command with a wait list is enqueued, or a user's event fails */
    ndr_dumps dumps; /* launches to save */
    ndr_disk disk;
    ndr_text cache_key;
    atomic_size_t cache_hits, cache_misses; /* of programs */
    atomic_bool has_user_events;            /* some were made: a command may wait for what another thread does */
    ndr_attachments attachments;            /* freed before `cl` */
};

/* Take or return one reference; ndr_context_destroy() returns the caller's. */
ndr_context *ndr_context_keep(ndr_context *context);
void ndr_context_release(ndr_context *context);

/* Open a listed device. `cl` is an OpenCL context to share, or NULL to create one. */
ndr_status ndr_context_open(const ndr_catalog_entry *entry, cl_context cl, ndr_check_mode check, ndr_context **context);

/* Another context of the same device, with the same store and an OpenCL context of its own. It is not checked, and
 * saves no launches. */
ndr_status ndr_context_open_beside(const ndr_context *given, ndr_context **context);

/* Whether libndr avoids that fault of the context's driver. */
static inline bool ndr_avoids(const ndr_context *opened, ndr_quirk quirk)
{
    return ndr_quirk_is_on(opened->caps.quirks, quirk);
}

#endif
