/* registry.h - the programs and kernels of a context, by their keys. */
#ifndef NDR_REGISTRY_H
#define NDR_REGISTRY_H

#include "device/attachment.h"
#include "program/kernel.h"
#include "program/program.h"

/* A hash table with open addressing. */
typedef struct ndr_table {
    size_t count, capacity; /* a power of two, at least twice `count`; or 0 */
    struct ndr_table_slot {
        ndr_hash key;
        void *value; /* NULL: the slot is free */
    } * slots;
} ndr_table;

typedef struct ndr_registry {
    ndr_attachment base;  /* of the context; its lock is held for look-ups and changes of the tables */
    ndr_mutex build_lock; /* held while a thread builds, so that nothing is built twice */
    ndr_table programs, kernels;
    int supports_ptx, divides_rows; /* set by sub_group.c: 0 unknown, 1 no, 2 yes. Guarded by the build lock */
} ndr_registry;

/* Get the registry of a context; the first call creates it. */
ndr_status ndr_registry_get(ndr_context *context, ndr_registry **registry);

/* What is kept in one of its tables under a key, or NULL. */
void *ndr_registry_find(ndr_registry *registry, const ndr_table *table, ndr_hash key);

/* Pass ownership of a program or kernel to its table. If that fails for lack of memory, the caller keeps it. */
ndr_status ndr_registry_keep(ndr_registry *registry, ndr_table *table, ndr_hash key, void *value);

#endif
