/* attachment.h - data that a higher floor keeps with a context or a queue. */
#ifndef NDR_DEVICE_ATTACHMENT_H
#define NDR_DEVICE_ATTACHMENT_H

#include <stdatomic.h>

#include "base/base.h"

typedef struct ndr_attachment ndr_attachment;

/* A kind of attachment; a constant, identified by its address. */
typedef struct ndr_attachment_kind {
    const char *name;                    /* for out-of-memory sentences: "a registry of kernels" */
    size_t size_bytes;                   /* of the struct, whose first member is an ndr_attachment */
    ndr_lock_kind lock;                  /* of its lock */
    void (*open)(ndr_attachment *made);  /* initialises the other members; NULL: zeros are enough */
    void (*close)(ndr_attachment *gone); /* releases its resources; NULL: it has none */
} ndr_attachment_kind;

/* Data that a higher floor keeps with a context or a queue: the first member of its struct. */
struct ndr_attachment {
    ndr_attachment *next;
    const ndr_attachment_kind *kind;
    ndr_mutex lock; /* for the higher floor */
};

/* The attachments of one object, at most one of each kind. Zero: none. */
typedef _Atomic(ndr_attachment *) ndr_attachments;

/* Get the attachment of that kind; create it if there is none. Thread-safe: all threads get the same one. An
 * attachment that lost the race is closed at once, so open() must have no visible side effects. */
ndr_status ndr_attachment_get(ndr_attachments *list, const ndr_attachment_kind *kind, ndr_attachment **attachment);

/* Close and free all, the newest first. They must not be in use. */
void ndr_attachments_free(ndr_attachments *list);

#endif
