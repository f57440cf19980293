/* attachment.c - data that higher floors keep with a context or a queue. The owner frees it without knowing its
 * type. */
#include "device/attachment.h"

#include <stdlib.h>

static ndr_attachment *find_attachment(ndr_attachment *from, const ndr_attachment_kind *kind)
{
    while (from && from->kind != kind) from = from->next;
    return from;
}

static void destroy_attachment(ndr_attachment *attachment)
{
    if (attachment->kind->close) attachment->kind->close(attachment);
    ndr_mutex_destroy(&attachment->lock);
    free(attachment);
}

/* Insert `made` at the head. If another thread inserted one of that kind first, destroy `made` and return the other. */
static ndr_attachment *insert_or_discard(ndr_attachments *list, ndr_attachment *made)
{
    ndr_attachment *first = atomic_load(list), *other;
    do {
        other = find_attachment(first, made->kind);
        made->next = first;
    } while (!other && !atomic_compare_exchange_weak(list, &first, made));
    if (!other) return made;
    destroy_attachment(made);
    return other;
}

ndr_status ndr_attachment_get(ndr_attachments *list, const ndr_attachment_kind *kind, ndr_attachment **attachment)
{
    ndr_attachment *found = find_attachment(atomic_load_explicit(list, memory_order_acquire), kind);
    if (!found) {
        ndr_attachment *made = calloc(1, kind->size_bytes);
        if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for %s", kind->name);
        made->kind = kind;
        ndr_mutex_init(&made->lock, kind->lock);
        if (kind->open) kind->open(made);
        found = insert_or_discard(list, made);
    }
    *attachment = found;
    return NDR_OK;
}

void ndr_attachments_free(ndr_attachments *list)
{
    ndr_attachment *next = atomic_exchange(list, NULL);
    while (next) {
        ndr_attachment *gone = next;
        next = gone->next;
        destroy_attachment(gone);
    }
}
