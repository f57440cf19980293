/* registry.c - keeps built programs and their kernels, so that no source is compiled twice.
 *
 * Hash tables, because a program that tunes itself builds thousands of option sets, and every operation looks up its
 * kernels at every call. */
#include "device/context.h"
#include "program/registry.h"

#include <stdlib.h>
#include <string.h>

/* ---- a table ---- */

enum { FIRST_CAPACITY = 16 };

/* The slot of `key`, or a free one for it. At least half of the slots are free. */
static struct ndr_table_slot *slot_of(const ndr_table *table, ndr_hash key)
{
    size_t at = (size_t)key.words[0] & (table->capacity - 1);
    while (table->slots[at].value && !ndr_hash_equal(table->slots[at].key, key)) at = (at + 1) & (table->capacity - 1);
    return &table->slots[at];
}

static ndr_status make_room(ndr_table *table)
{
    if (2 * (table->count + 1) <= table->capacity) return NDR_OK;
    ndr_table larger = { table->count, table->capacity ? 2 * table->capacity : FIRST_CAPACITY, NULL };
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to keep one more kernel");
    for (size_t i = 0; i < table->capacity; ++i)
        if (table->slots[i].value) *slot_of(&larger, table->slots[i].key) = table->slots[i];
    free(table->slots);
    *table = larger;
    return NDR_OK;
}

/* ---- the registry of a context ---- */

static void open_registry(ndr_attachment *made) { ndr_mutex_init(&((ndr_registry *)made)->build_lock, NDR_LOCK_BUILD); }

static void close_registry(ndr_attachment *gone)
{
    ndr_registry *registry = (ndr_registry *)gone;
    for (size_t i = 0; i < registry->programs.capacity; ++i)
        if (registry->programs.slots[i].value) (void)ndr_binary_keep(registry->programs.slots[i].value);
    for (size_t i = 0; i < registry->kernels.capacity; ++i) ndr_kernel_free(registry->kernels.slots[i].value);
    for (size_t i = 0; i < registry->programs.capacity; ++i) ndr_program_free(registry->programs.slots[i].value);
    free(registry->kernels.slots);
    free(registry->programs.slots);
    ndr_mutex_destroy(&registry->build_lock);
}

ndr_status ndr_registry_get(ndr_context *context, ndr_registry **registry)
{
    static const ndr_attachment_kind kind = { "a registry of kernels", sizeof(ndr_registry), NDR_LOCK_REGISTRY,
                                              open_registry, close_registry };
    ndr_attachment *found;
    NDR_TRY(ndr_attachment_get(&context->attachments, &kind, &found));
    *registry = (ndr_registry *)found;
    return NDR_OK;
}

/* ---- finding and keeping ---- */

void *ndr_registry_find(ndr_registry *registry, const ndr_table *table, ndr_hash key)
{
    ndr_mutex_lock(&registry->base.lock);
    void *found = table->capacity ? slot_of(table, key)->value : NULL;
    ndr_mutex_unlock(&registry->base.lock);
    return found;
}

ndr_status ndr_registry_keep(ndr_registry *registry, ndr_table *table, ndr_hash key, void *value)
{
    ndr_mutex_lock(&registry->base.lock);
    const ndr_status status = make_room(table);
    if (status == NDR_OK) *slot_of(table, key) = (struct ndr_table_slot){ key, value }, ++table->count;
    ndr_mutex_unlock(&registry->base.lock);
    return status;
}
