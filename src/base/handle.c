/* handle.c - the list of live handles of checked contexts.
 *
 * Each handle is listed by its address, so a pointer can be looked up without reading the memory it points to. The
 * memory of a destroyed handle stays allocated for a while (the quarantine). While its address is not reused, use of
 * a destroyed handle can be distinguished from use of a new one. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    struct entry *next; /* of the same bucket */
    void *handle;
    ndr_handle_kind kind;
    bool is_retired; /* destroyed by its owner */
    bool is_freed;   /* its memory is in the quarantine */
} entry;

enum { BUCKETS = 4096, QUARANTINED = 1024 };

atomic_bool ndr_handles_checked;
static atomic_uint unchecked_contexts;

static ndr_mutex lock = NDR_MUTEX_INITIALIZER(NDR_LOCK_HANDLE); /* guards the rest */
static entry *buckets[BUCKETS];
static entry *quarantine[QUARANTINED]; /* a ring */
static size_t freed_so_far;
static unsigned mistakes;
static char first_mistake[256];

/* ---- the list, with the lock held ---- */

static entry **bucket_of(const void *handle) { return &buckets[((uintptr_t)handle >> 4) % BUCKETS]; }

static entry *find_entry(const void *handle)
{
    entry *found = *bucket_of(handle);
    while (found && found->handle != handle) found = found->next;
    return found;
}

static void list_entry(entry *made)
{
    entry **bucket = bucket_of(made->handle);
    made->next = *bucket;
    *bucket = made;
}

static void unlist(entry *old)
{
    entry **link = bucket_of(old->handle);
    while (*link != old) link = &(*link)->next;
    *link = old->next;
}

/* Put an entry into the quarantine. Returns the entry that had to leave it, or NULL. */
static entry *quarantine_entry(entry *freed)
{
    entry **place = &quarantine[freed_so_far++ % QUARANTINED];
    entry *oldest = *place;
    *place = freed;
    if (oldest) unlist(oldest);
    return oldest;
}

static void free_entry(entry *old)
{
    if (!old) return;
    free(old->handle);
    free(old);
}

/* Free the list when the library is unloaded. Handles that are still live belong to their owners. */
__attribute__((destructor)) static void forget_all(void)
{
    ndr_mutex_lock(&lock);
    atomic_store(&ndr_handles_checked, false);
    for (size_t i = 0; i < BUCKETS; ++i)
        for (entry *old = buckets[i], *next; old; old = next) {
            next = old->next;
            if (!old->is_freed) old->handle = NULL;
            free_entry(old);
        }
    memset(buckets, 0, sizeof buckets);
    memset(quarantine, 0, sizeof quarantine);
    ndr_mutex_unlock(&lock);
}

/* ---- making and freeing ---- */

void ndr_handles_add_context(bool is_checked)
{
    if (is_checked) atomic_store(&ndr_handles_checked, true);
    else atomic_fetch_add(&unchecked_contexts, 1);
}

void ndr_handles_remove_context(bool is_checked)
{
    if (!is_checked) atomic_fetch_sub(&unchecked_contexts, 1);
}

/* The first eight bytes of a listed handle. */
static uint64_t seal_of(const void *handle) { return UINT64_C(0x5ea1ed0f6e647221) ^ (uintptr_t)handle; }

static bool is_sealed(const void *handle)
{
    const uint64_t seal = seal_of(handle);
    return memcmp(handle, &seal, sizeof seal) == 0;
}

void *ndr_handle_new(ndr_handle_kind kind, size_t size_bytes, bool is_checked)
{
    void *handle = calloc(1, size_bytes);
    if (!handle || !is_checked) return handle;
    entry *made = calloc(1, sizeof *made);
    if (!made) {
        free(handle);
        return NULL;
    }
    const uint64_t seal = seal_of(handle);
    memcpy(handle, &seal, sizeof seal);
    made->handle = handle;
    made->kind = kind;
    ndr_mutex_lock(&lock);
    list_entry(made);
    ndr_mutex_unlock(&lock);
    return handle;
}

void ndr_handle_free(void *handle)
{
    if (!ndr_handles_are_checked()) {
        free(handle);
        return;
    }
    ndr_mutex_lock(&lock);
    entry *freed = find_entry(handle);
    if (freed) freed->is_retired = freed->is_freed = true;
    entry *oldest = freed ? quarantine_entry(freed) : NULL;
    ndr_mutex_unlock(&lock);
    if (!freed) free(handle);
    free_entry(oldest);
}

/* ---- checking ---- */

static const char *kind_name(ndr_handle_kind kind)
{
#define NAME(kind, type, name) [kind] = name,
    static const char *const names[] = { [NDR_HANDLE_NONE] = "another pointer", NDR_HANDLES(NAME) };
    return names[kind];
}

/* The fault of a handle, as the end of a sentence; empty if there is none. */
typedef struct fault {
    char chars[192];
} fault;

/* The library itself calls public functions with contexts and events that their owner has destroyed, but it kept. */
static bool is_destroyed(const entry *e, bool is_to_be_destroyed)
{
    const bool may_live_on = e->kind == NDR_HANDLE_CONTEXT || e->kind == NDR_HANDLE_EVENT;
    return e->is_freed || (e->is_retired && (is_to_be_destroyed || !may_live_on));
}

/* With the lock held. */
static fault find_fault(ndr_handle_kind kind, const void *handle, bool is_to_be_destroyed)
{
    fault out = { "" };
    const entry *found = find_entry(handle);
    if (!ndr_handles_are_checked() || (!found && atomic_load(&unchecked_contexts) > 0)) return out;
    if (!found)
        snprintf(out.chars, sizeof out.chars,
                 "is not %s: there is no handle at %p, and none of the last %d destroyed handles was there",
                 kind_name(kind), handle, QUARANTINED);
    else if (is_destroyed(found, is_to_be_destroyed))
        snprintf(out.chars, sizeof out.chars, "is %s that has been destroyed; destroy it %s", kind_name(found->kind),
                 is_to_be_destroyed ? "only once" : "after its last use");
    else if (found->kind != kind)
        snprintf(out.chars, sizeof out.chars, "is %s, not %s; pass %s", kind_name(found->kind), kind_name(kind),
                 kind_name(kind));
    else if (!is_sealed(handle))
        snprintf(out.chars, sizeof out.chars, "is %s whose handle was overwritten: something wrote to %p",
                 kind_name(kind), handle);
    return out;
}

ndr_status ndr_handle_require(ndr_handle_kind kind, const void *handle, const char *call, const char *name)
{
    if (kind == NDR_HANDLE_NONE || !handle) return NDR_OK;
    ndr_mutex_lock(&lock);
    const fault found_fault = find_fault(kind, handle, false);
    ndr_mutex_unlock(&lock);
    NDR_REQUIRE(!found_fault.chars[0], "%s%s%s %s", call, name ? ": " : "", name ? name : "", found_fault.chars);
    return NDR_OK;
}

const char *ndr_handle_or_destroyed(void)
{
    return atomic_load(&unchecked_contexts) > 0 ? ", or the buffer has been destroyed (NDR_CHECK=1 tells which)" : "";
}

/* With the lock held. */
static void count_mistake(const char *sentence)
{
    if (mistakes++ == 0) snprintf(first_mistake, sizeof first_mistake, "%s", sentence);
}

bool ndr_handle_retire(ndr_handle_kind kind, const void *handle, const char *call)
{
    if (!handle) return false;
    if (!ndr_handles_are_checked()) return true;
    ndr_mutex_lock(&lock);
    const fault found_fault = find_fault(kind, handle, true);
    const bool is_live = !found_fault.chars[0];
    entry *found = find_entry(handle);
    if (is_live && found) found->is_retired = true;
    if (!is_live) {
        (void)ndr_fail(NDR_BAD_ARGUMENT, "%s: the handle to destroy %s", call, found_fault.chars);
        count_mistake(ndr_last_error());
    }
    ndr_mutex_unlock(&lock);
    return is_live;
}

void ndr_handle_print_mistakes(ndr_text *out)
{
    ndr_mutex_lock(&lock);
    if (mistakes > 0)
        ndr_text_add(out, "%u handle%s could not be destroyed; the first: %s\n", mistakes, mistakes == 1 ? "" : "s",
                     first_mistake);
    ndr_mutex_unlock(&lock);
}

/* ---- NULL ---- */

ndr_status ndr_refuse_null(ndr_handle_kind kind, const char *call, const char *name)
{
    static const char *const makers[] = {
        [NDR_HANDLE_CONTEXT] = "make one with ndr_context_create()",
        [NDR_HANDLE_QUEUE] = "make one with ndr_queue_create()",
        [NDR_HANDLE_EVENT] = "pass the event of a call that enqueued work, or one of ndr_event_create()",
        [NDR_HANDLE_BUFFER] = "make one with ndr_buffer_create()",
        [NDR_HANDLE_KERNEL] = "get one with ndr_kernel_get()",
        [NDR_HANDLE_PREPARED] = "make one with ndr_prepare()",
        [NDR_HANDLE_IMAGE] = "make one with ndr_image_create()",
        [NDR_HANDLE_SAMPLER] = "make one with ndr_sampler_create()",
        [NDR_HANDLE_SHARED] = "make one with ndr_shared_create()",
    };
    static const struct {
        const char *name, *advice;
    } inputs[] = {
        { "desc", "pass the address of a descriptor whose members are set" },
        { "why", "pass a text that says what failed" },
        { "pattern", "pass the address of the value" },
        { "value", "pass the address of the value" },
        { "cl", "pass an object of OpenCL" },
        { "global", "pass the address of a range" },
        { "use", "pass the address of a descriptor whose members are set" },
        { "outline", "pass one of ndr_outline_create(), or there the address of a variable for it" },
    };
    const char *advice = kind != NDR_HANDLE_NONE ? makers[kind] : "pass the address of a variable for the result";
    for (size_t i = 0; kind == NDR_HANDLE_NONE && i < NDR_COUNT_OF(inputs); ++i)
        if (strcmp(inputs[i].name, name) == 0) advice = inputs[i].advice;
    return ndr_fail(NDR_BAD_ARGUMENT, "%s: %s is NULL; %s", call, name, advice);
}
