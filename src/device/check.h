/* check.h - guard zones around memory, and what was written to them. */
#ifndef NDR_DEVICE_CHECK_H
#define NDR_DEVICE_CHECK_H

#include "device/turns.h"

typedef struct ndr_zones ndr_zones;
typedef struct ndr_checker ndr_checker;

/* Pure: parse NDR_CHECK; NULL or "" is off. An unknown word is refused. */
ndr_status ndr_check_parse(const char *words, bool *is_on);

ndr_status ndr_checker_create(ndr_checker **checker);
void ndr_checker_destroy(ndr_checker *checker); /* NULL is fine */

/* The bytes of each guard zone of a buffer of that size in this context; 0: it gets none. */
size_t ndr_zones_size(const ndr_context *context, size_t size_bytes);

/* Create such a buffer, as a copy of `host` or, if that is NULL, as a new one. The second function frees all of it
 * but its `cl`. */
ndr_status ndr_zones_make_buffer(ndr_context *context, const ndr_buffer_desc *desc, ndr_buffer **buffer);

/* The same for a shared allocation, whose `base`, `start` and calls are set. */
ndr_status ndr_zones_add_shared(ndr_shared *shared);
void ndr_zones_release(ndr_context *context, ndr_zones *zones); /* NULL is fine */

/* Whether the driver may still copy zones because waiting for a copy failed. Then shared memory is not freed. */
bool ndr_zones_are_copied(const ndr_context *context);

/* Why a buffer in a checked context is not checked. */
typedef enum ndr_unchecked {
    NDR_UNCHECKED_OVER,
    NDR_UNCHECKED_FOREIGN,
    NDR_UNCHECKED_EXPOSED, /* its cl_mem was exposed: other code may change its zones */
    NDR_UNCHECKED_TOO_LARGE,
    NDR_UNCHECKED_VIEW, /* it ends inside another buffer; the zones of that one are checked */
    NDR_UNCHECKED_COUNT,
} ndr_unchecked;

/* Record that a buffer is unchecked. Does nothing in an unchecked context. */
void ndr_check_exclude(const ndr_buffer *buffer, ndr_unchecked reason);
void ndr_check_count_image(ndr_context *context);

/* What ndr_check_inspect() found for one buffer or shared allocation, with the same turn; NULL: it has no zones. Both
 * are numbered in the order of their creation in the context, from 1. */
bool ndr_zones_are_damaged(const ndr_zones *zones);
uint64_t ndr_zones_number(const ndr_zones *zones);

/* "wrote past the end of its buffer (4000 bytes, 1000 elements): the first changed byte is byte 4000 (of element 1000),
 * ...", with `whose` "its buffer"; `element_bytes` 0: elements are not known. */
typedef struct ndr_damage_text {
    char chars[384];
} ndr_damage_text;
ndr_damage_text ndr_zones_print(const ndr_zones *zones, const char *whose, size_t element_bytes);

/* The turns of a checked context. */
ndr_turns *ndr_check_turns(const ndr_context *context);

/* With a turn, after a launch has ended: inspect all zones, and restore those that were changed. `*damaged` is the
 * number of one of them, or 0, and `what` then its ndr_zones_print(), as that of no argument. */
ndr_status ndr_check_inspect(const ndr_context *context, uint64_t *damaged, ndr_damage_text *what);

/* Check the zones, which may be NULL, after the host has unmapped `what`, "buffer", by `call`. `made`, that command's
 * event or NULL, goes to `*event`, or is destroyed if the check fails. */
ndr_status ndr_check_unmapped(const char *call, const char *what, ndr_queue *queue, ndr_zones *zones, ndr_event *made,
                              ndr_event **event);

#endif
