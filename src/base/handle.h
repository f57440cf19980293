/* handle.h - the live handles of checked contexts. */
#ifndef NDR_HANDLE_H
#define NDR_HANDLE_H

#include <stdatomic.h>

#include "base/text.h"
#include "ndr/ndr.h"
#include "ndr/ndr_image.h"

/* The kinds of handles: ROW(kind, type, name in sentences). */
#define NDR_HANDLES(ROW)                                        \
    ROW(NDR_HANDLE_CONTEXT, ndr_context, "a context")           \
    ROW(NDR_HANDLE_QUEUE, ndr_queue, "a queue")                 \
    ROW(NDR_HANDLE_EVENT, ndr_event, "an event")                \
    ROW(NDR_HANDLE_BUFFER, ndr_buffer, "a buffer")              \
    ROW(NDR_HANDLE_KERNEL, ndr_kernel, "a kernel")              \
    ROW(NDR_HANDLE_PREPARED, ndr_prepared, "a prepared launch") \
    ROW(NDR_HANDLE_IMAGE, ndr_image, "an image")                \
    ROW(NDR_HANDLE_SAMPLER, ndr_sampler, "a sampler")           \
    ROW(NDR_HANDLE_SHARED, ndr_shared, "a shared allocation")

#define NDR_HANDLE_ENUMERATOR_(kind, type, name) kind,
typedef enum ndr_handle_kind {
    NDR_HANDLE_NONE, /* not a handle */
    NDR_HANDLES(NDR_HANDLE_ENUMERATOR_)
} ndr_handle_kind;

#define NDR_HANDLE_CASE_(kind, type, name) type * : kind, const type * : kind,
#define NDR_HANDLE_KIND(pointer) _Generic((pointer), NDR_HANDLES(NDR_HANDLE_CASE_) default : NDR_HANDLE_NONE)

extern atomic_bool ndr_handles_checked; /* set when the first checked context is opened */
static inline bool ndr_handles_are_checked(void)
{
    return atomic_load_explicit(&ndr_handles_checked, memory_order_relaxed);
}

/* Count contexts. Handles of unchecked contexts are not listed, so while there is one, a pointer that is not listed
 * may still be a valid handle. */
void ndr_handles_add_context(bool is_checked);
void ndr_handles_remove_context(bool is_checked);

/* Return zeroed memory for a handle, or NULL without memory. The struct begins with a uint64_t for the seal. The
 * handle is listed if it is checked. */
void *ndr_handle_new(ndr_handle_kind kind, size_t size_bytes, bool is_checked);

/* The owner destroys a handle: return whether there is one to destroy. Where handles are checked, a handle that is
 * not live records a sentence, is counted as a mistake, and must not be touched. */
bool ndr_handle_retire(ndr_handle_kind kind, const void *handle, const char *call);

/* Free a handle's memory. The memory of a listed handle goes through the quarantine first. */
void ndr_handle_free(void *handle);

/* Refuse a handle that is not a live one of its kind: "CALL: NAME is a buffer that has been destroyed", or without NAME
 * if `name` is NULL. A destroyed context stays live as long as one of its objects is, and a destroyed event as long as
 * something waits for it. */
ndr_status ndr_handle_require(ndr_handle_kind kind, const void *handle, const char *call, const char *name)
    __attribute__((cold));

/* Refuse NULL: "CALL: NAME is NULL; " and what to pass. */
ndr_status ndr_refuse_null(ndr_handle_kind kind, const char *call, const char *name) __attribute__((cold));

/* For refusals of a buffer of another context: the other cause that such a difference has where a handle is not listed,
 * because the memory of a destroyed one may contain anything. "" if all handles are listed. */
const char *ndr_handle_or_destroyed(void);

/* For functions that return no status. False for NULL, too. */
#define NDR_IS_LIVE(pointer)        \
    ((pointer)                      \
     && (!ndr_handles_are_checked() \
         || ndr_handle_require(NDR_HANDLE_KIND(pointer), (pointer), __func__, #pointer) == NDR_OK))

#define NDR_REQUIRE_LIVE(kind, handle, call, name)                                                    \
    do {                                                                                              \
        if (ndr_handles_are_checked()) NDR_TRY(ndr_handle_require((kind), (handle), (call), (name))); \
    } while (0)

/* Append the mistakes that ndr_handle_retire() counted, in one line; append nothing if there were none. */
void ndr_handle_print_mistakes(ndr_text *out);

#endif
