/* store.c - keeps built programs and their kernels, so that no source is compiled twice.
 *
 * Hash tables, because a program that tunes itself builds thousands of option sets, and every operation looks up its
 * kernels at every call. */
#include "device/context.h"
#include "program/program.h"

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

static ndr_status insert(ndr_table *table, ndr_hash key, void *value)
{
    NDR_TRY(make_room(table));
    *slot_of(table, key) = (struct ndr_table_slot){ key, value };
    ++table->count;
    return NDR_OK;
}

/* ---- what is kept ---- */

ndr_status ndr_kernel_new(ndr_context *context, ndr_hash key, ndr_kernel **kernel)
{
    ndr_kernel *made = ndr_handle_new(NDR_HANDLE_KERNEL, sizeof *made, context->checker != NULL);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a kernel");
    ndr_mutex_init(&made->lock, NDR_LOCK_KERNEL);
    made->context = context;
    made->key = key;
    *kernel = made;
    return NDR_OK;
}

void ndr_kernel_free_params(ndr_kernel *kernel)
{
    for (unsigned i = 0; kernel->params && i < kernel->arg_count; ++i) {
        free(kernel->params[i].name);
        free(kernel->params[i].type_name);
    }
    free(kernel->params);
}

void ndr_kernel_free(ndr_kernel *kernel)
{
    if (!kernel) return;
    if (kernel->cl) ndr_cl.clReleaseKernel(kernel->cl);
    if (kernel->renewed) ndr_cl.clReleaseKernel(kernel->renewed);
    ndr_kernel_free_params(kernel);
    free(kernel->name);
    free(kernel->attached);
    ndr_mutex_destroy(&kernel->lock);
    ndr_handle_free(kernel);
}

void ndr_types_free(ndr_type *types)
{
    while (types) {
        ndr_type *next = types->next;
        free(types);
        types = next;
    }
}

void ndr_program_free(ndr_program *program)
{
    if (!program) return;
    if (program->cl) ndr_cl.clReleaseProgram(program->cl);
    free(program->title);
    free(program->options);
    ndr_types_free(program->types);
    ndr_text_free(&program->linked);
    ndr_text_free(&program->kernels);
    ndr_text_free(&program->log);
    ndr_text_free(&program->question);
    ndr_text_free(&program->refusal);
    free(program);
}

static void open_store(ndr_attachment *made) { ndr_mutex_init(&((ndr_store *)made)->build_lock, NDR_LOCK_BUILD); }

static void close_store(ndr_attachment *gone)
{
    ndr_store *store = (ndr_store *)gone;
    for (size_t i = 0; i < store->programs.capacity; ++i)
        if (store->programs.slots[i].value) (void)ndr_binary_keep(store->programs.slots[i].value);
    for (size_t i = 0; i < store->kernels.capacity; ++i) ndr_kernel_free(store->kernels.slots[i].value);
    for (size_t i = 0; i < store->programs.capacity; ++i) ndr_program_free(store->programs.slots[i].value);
    free(store->kernels.slots);
    free(store->programs.slots);
    ndr_mutex_destroy(&store->build_lock);
}

ndr_status ndr_store_get(ndr_context *context, ndr_store **store)
{
    static const ndr_attachment_kind kind = { "a kernel store", sizeof(ndr_store), NDR_LOCK_STORE, open_store, close_store };
    ndr_attachment *found;
    NDR_TRY(ndr_attachment_get(&context->attachments, &kind, &found));
    *store = (ndr_store *)found;
    return NDR_OK;
}

/* ---- finding and keeping ---- */

static void *find_in(ndr_store *store, const ndr_table *table, ndr_hash key)
{
    ndr_mutex_lock(&store->base.lock);
    void *found = table->capacity ? slot_of(table, key)->value : NULL;
    ndr_mutex_unlock(&store->base.lock);
    return found;
}

ndr_program *ndr_store_find(ndr_store *store, ndr_hash key) { return find_in(store, &store->programs, key); }

ndr_kernel *ndr_store_find_kernel(ndr_store *store, ndr_hash key) { return find_in(store, &store->kernels, key); }

const ndr_program *ndr_store_find_cl(ndr_store *store, cl_program cl)
{
    const ndr_program *found = NULL;
    ndr_mutex_lock(&store->base.lock);
    for (size_t i = 0; i < store->programs.capacity && !found; ++i) {
        found = store->programs.slots[i].value;
        if (found && found->cl != cl) found = NULL;
    }
    ndr_mutex_unlock(&store->base.lock);
    return found;
}

static ndr_status keep_in(ndr_store *store, ndr_table *table, ndr_hash key, void *value)
{
    ndr_mutex_lock(&store->base.lock);
    const ndr_status status = insert(table, key, value);
    ndr_mutex_unlock(&store->base.lock);
    return status;
}

ndr_status ndr_store_keep(ndr_store *store, ndr_program *program)
{
    return keep_in(store, &store->programs, program->key, program);
}

ndr_status ndr_store_keep_kernel(ndr_store *store, ndr_kernel *kernel)
{
    return keep_in(store, &store->kernels, kernel->key, kernel);
}
