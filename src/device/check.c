/* check.c - NDR_CHECK: guard zones around each buffer and shared allocation, inspected after each launch.
 *
 *     | zone | buffer | zone |     one OpenCL buffer, the parent; kernels get the sub-buffer in the middle
 *
 * The pattern of the zones differs from buffer to buffer and from byte to byte. Otherwise a kernel that both reads and
 * writes past the end could copy the pattern onto itself. As a float, half or double it is so small that a sum with any
 * usual number differs. A write that stores the byte that was there is not found. */
#include "device/buffer.h"
#include "device/caps.h"
#include "device/check.h"
#include "device/command.h"
#include "device/context.h"
#include "device/event.h"
#include "device/queue.h"
#include "device/shared.h"
#include "device/submit.h"
#include "device/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_ZONE_BYTES = 1 << 16, MAX_ZONE_BYTES = 1 << 24, CHUNK_BYTES = 1 << 16 };

/* The changed bytes of one zone. */
typedef struct changes {
    size_t bytes; /* 0: none */
    size_t first; /* counted from the parent's start */
} changes;

struct ndr_zones {
    ndr_zones *next; /* of the same checker */
    uint64_t number; /* of the context's buffers, in the order in which they were made; from 1 */
    cl_mem parent;   /* of a buffer */
    const ndr_shared *shared; /* NULL: a buffer has them */
    const atomic_uint *mapped_for_writing; /* of the owner */
    size_t start, end, total; /* of the buffer's bytes in the parent, and the parent's size */
    atomic_bool native_handle_exposed;
    changes before, behind; /* found by the last inspection */
};

struct ndr_checker {
    ndr_turns turns;
    ndr_mutex lock; /* for what follows, up to `unchecked`; the driver is not waited for with it */
    ndr_condition is_read;
    cl_command_queue queue; /* that reads and writes zones, so that nothing of the user's is before it; NULL until it is
                             * needed */
    ndr_zones *zones;
    const ndr_zones *in_use; /* in the present turn, without the lock: it stays in the list; NULL: none */
    uint64_t buffers, images; /* so far */
    struct {
        uint64_t count, first;
        size_t first_bytes;
    } unchecked[NDR_UNCHECKED_COUNT];
    atomic_bool is_copying; /* a copy may still run for which the driver could not wait */
    unsigned char there[CHUNK_BYTES], pattern[CHUNK_BYTES]; /* used with a turn */
};

/* ---- turning it on ---- */

ndr_status ndr_check_parse(const char *words, bool *is_on)
{
    const bool one = words && strcmp(words, "1") == 0;
    NDR_REQUIRE(one || !words || !*words || strcmp(words, "0") == 0, "NDR_CHECK is \"%s\"; set it to 1 or 0", words);
    *is_on = one;
    return NDR_OK;
}

ndr_status ndr_checker_create(ndr_checker **checker)
{
    ndr_checker *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for NDR_CHECK's records");
    ndr_turns_init(&made->turns);
    ndr_mutex_init(&made->lock, NDR_LOCK_CHECKER);
    ndr_condition_init(&made->is_read);
    *checker = made;
    return NDR_OK;
}

ndr_turns *ndr_check_turns(const ndr_context *context) { return &context->checker->turns; }

void ndr_checker_destroy(ndr_checker *checker)
{
    if (!checker) return;
    if (checker->queue) ndr_cl.clReleaseCommandQueue(checker->queue);
    ndr_condition_destroy(&checker->is_read);
    ndr_mutex_destroy(&checker->lock);
    ndr_turns_destroy(&checker->turns);
    if (!atomic_load(&checker->is_copying)) free(checker);
}

/* ---- patterns ---- */

/* Eight bytes of a zone: random bits (splitmix64) in each 16 of a number that is normal and small in all types. Its
 * size is 2^-9 to 2^-7 as a half, 2^-78 to 2^-63 as a float, 2^-627 to 2^-513 as a double. A smaller half would have
 * the bytes 4 to 7, which are more frequent. Words are positive and negative in turn, for kernels that take a minimum or
 * maximum. */
static uint64_t zone_word(uint64_t number, uint64_t index)
{
    const uint64_t sign = (number + index) % 2 ? UINT64_C(0x8000800080008000) : 0;
    uint64_t x = (number << 32) + index + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return sign | UINT64_C(0x18c018c018c018c0) | (x & UINT64_C(0x071f071f071f071f));
}

/* Write the pattern of the bytes from `from` to `to` of a parent. */
static void write_pattern(uint64_t number, size_t from, size_t to, unsigned char *out)
{
    enum { WORD = sizeof(uint64_t) };
    for (size_t at = from, bytes; at < to; at += bytes, out += bytes) {
        const uint64_t word = zone_word(number, at / WORD);
        bytes = ndr_min_size(to - at, WORD - at % WORD);
        memcpy(out, (const unsigned char *)&word + at % WORD, bytes);
    }
}

/* The contents of a new buffer: NaN as float and as double, -1000751 as int. */
static void fill_as_new(unsigned char *bytes, size_t count)
{
    static const unsigned char pattern[] = { 0xd1, 0xba, 0xf0, 0xff };
    for (size_t i = 0; i < count; ++i) bytes[i] = pattern[i % sizeof pattern];
}

/* ---- making a buffer with zones ---- */

/* The size of a zone: that of the buffer within the limits above, rounded up to the alignment of sub-buffers.
 * Smaller if the device's largest buffer requires it; 0 if not even the smallest zone fits. */
static size_t choose_zone(const ndr_caps *caps, size_t size_bytes)
{
    const size_t align = caps->info.view_align_bytes, limit = caps->info.max_buffer_bytes;
    const size_t max_bytes = size_bytes < limit ? (limit - size_bytes) / 2 : 0;
    const size_t wanted = ndr_min_size(ndr_max_size(size_bytes, MIN_ZONE_BYTES), MAX_ZONE_BYTES);
    const size_t zone = ndr_min_size(ndr_ceil_div(wanted, align), max_bytes / align) * align;
    return zone < MIN_ZONE_BYTES ? 0 : zone;
}

/* With the lock held. */
static ndr_status make_queue(ndr_context *context)
{
    if (context->checker->queue) return NDR_OK;
    cl_int error;
    cl_command_queue made = ndr_cl.clCreateCommandQueue(context->cl, context->device, 0, &error);
    NDR_TRY_CL_AS("clCreateCommandQueue", error);
    context->checker->queue = made;
    return NDR_OK;
}

/* Before the first zones are filled. */
static ndr_status number_zones(ndr_context *context, ndr_zones *zones)
{
    ndr_checker *checker = context->checker;
    ndr_mutex_lock(&checker->lock);
    const ndr_status status = make_queue(context);
    if (status == NDR_OK) zones->number = ++checker->buffers;
    ndr_mutex_unlock(&checker->lock);
    return status;
}

static ndr_status create_parent(const ndr_context *context, bool has_address, ndr_zones *zones)
{
    const ndr_status status =
        ndr_buffer_allocate(context, CL_MEM_READ_WRITE, zones->total, NULL, has_address, &zones->parent);
    if (status == NDR_OK) return NDR_OK;
    (void)ndr_fail_with_code(status, ndr_last_cl_error(), "%s; a buffer of %zu bytes takes %zu with its guard zones",
                             ndr_last_error(), zones->end - zones->start, zones->total);
    return ndr_fail_memory(context, status, zones->total);
}

/* Write bytes if `from` is set, otherwise read them. */
static ndr_transfer transfer_of(const ndr_zones *zones, size_t at, size_t bytes, const void *from, void *to)
{
    const ndr_shared *shared = zones->shared;
    const ndr_cl_side parent = { .cl = zones->parent, .origin = { at } };
    ndr_transfer t = { .from = parent, .to = parent, .extent = { bytes, 1, 1 }, .source = from, .target = to };
    t.work = shared ? NDR_WORK_COPY_SHARED : from ? NDR_WORK_WRITE : NDR_WORK_READ;
    if (shared) t.copier = shared->copy;
    if (shared && from) t.target = shared->base + at;
    else if (shared) t.source = shared->base + at;
    return t;
}

/* The driver cannot wait for a copy that may still run. So the memory that it uses is never freed. */
static ndr_status fail_still_copying(const ndr_context *context, ndr_status status)
{
    atomic_store(&context->checker->is_copying, true);
    return ndr_fail_with_code(status, ndr_last_cl_error(),
                              "%s; a copy of guard zones may still be running: its memory is kept until the process ends",
                              ndr_last_error());
}

/* The code of the copy. If the driver cannot wait for its event, wait for the queue. */
static ndr_status wait_for_copy(const ndr_context *context, cl_event done)
{
    cl_command_queue const queue = context->checker->queue;
    const char *call;
    const cl_int flushed = ndr_cl.clFlush(queue), waited = ndr_wait_for_event(context, done);
    const cl_int code = waited == CL_SUCCESS ? ndr_cl_event_code(done, CL_COMPLETE) : waited;
    const bool has_ended = waited == CL_SUCCESS || ndr_wait_for_queue(context, queue, &call) == CL_SUCCESS;
    if (!has_ended) return fail_still_copying(context, ndr_fail_cl(waited, "clWaitForEvents"));
    NDR_TRY_CL_AS("clFlush", flushed);
    NDR_TRY_CL_AS("clWaitForEvents", code);
    return NDR_OK;
}

/* Write the parent's bytes if `from` is set, otherwise read them. No blocking call: threads may take turns in the
 * driver. */
static ndr_status copy_and_wait(const ndr_context *context, const ndr_zones *zones, size_t at, size_t bytes,
                                const void *from, void *to)
{
    cl_event done;
    cl_command_queue const queue = context->checker->queue;
    const ndr_transfer t = transfer_of(zones, at, bytes, from, to);
    NDR_TRY(ndr_command_run_alone(context, queue, &t, &done));
    const ndr_status status = wait_for_copy(context, done);
    ndr_cl.clReleaseEvent(done);
    return status;
}

bool ndr_zones_are_copied(const ndr_context *context)
{
    return context->checker && atomic_load(&context->checker->is_copying);
}

/* Written with a queue instead of clCreateBuffer(): NVIDIA's driver 580 keeps such data on the host until a sub-buffer
 * is used, and then copies only that part, without the zones. `host` NULL: the pattern of a new buffer. */
static ndr_status fill_parent(const ndr_context *context, const void *host, const ndr_zones *zones)
{
    const size_t size_bytes = zones->end - zones->start;
    unsigned char *image = malloc(zones->total);
    if (!image) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a buffer's guard zones");
    write_pattern(zones->number, 0, zones->start, image);
    if (!host) fill_as_new(image + zones->start, size_bytes);
    else if (size_bytes) memcpy(image + zones->start, host, size_bytes);
    write_pattern(zones->number, zones->end, zones->total, image + zones->end);
    const ndr_status status = copy_and_wait(context, zones, 0, zones->total, image, NULL);
    if (!ndr_zones_are_copied(context)) free(image);
    return status;
}

/* A buffer of 0 bytes gets one byte of the zone behind it, because drivers refuse an empty sub-buffer. */
static ndr_status make_inner_buffer(ndr_context *context, ndr_zones *zones, ndr_buffer **buffer)
{
    const size_t size_bytes = zones->end - zones->start;
    const cl_buffer_region region = { zones->start, ndr_max_size(size_bytes, 1) };
    cl_int error;
    cl_mem inner = ndr_cl.clCreateSubBuffer(zones->parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    NDR_TRY_CL_AS("clCreateSubBuffer", error);
    const ndr_status status =
        ndr_buffer_wrap(context, inner, zones->parent, zones->start, size_bytes, buffer);
    if (status != NDR_OK) ndr_cl.clReleaseMemObject(inner);
    return status;
}

static void list_zones(ndr_checker *checker, ndr_zones *zones)
{
    ndr_mutex_lock(&checker->lock);
    zones->next = checker->zones;
    checker->zones = zones;
    ndr_mutex_unlock(&checker->lock);
}

static ndr_status make_parent_and_buffer(ndr_context *context, const ndr_buffer_desc *desc, ndr_zones *zones,
                                         ndr_buffer **buffer)
{
    NDR_TRY(number_zones(context, zones));
    NDR_TRY(create_parent(context, desc->has_address, zones));
    NDR_TRY(fill_parent(context, desc->contents, zones));
    NDR_TRY(make_inner_buffer(context, zones, buffer));
    (*buffer)->zones = zones;
    zones->mapped_for_writing = &(*buffer)->mappings.count_for_writing;
    list_zones(context->checker, zones);
    return NDR_OK;
}

size_t ndr_zones_size(const ndr_context *context, size_t size_bytes)
{
    return context->checker ? choose_zone(&context->caps, size_bytes) : 0;
}

static void free_zones(ndr_zones *zones)
{
    if (zones->parent) ndr_cl.clReleaseMemObject(zones->parent);
    free(zones);
}

static ndr_zones *new_zones(size_t zone, size_t size_bytes)
{
    ndr_zones *zones = calloc(1, sizeof *zones);
    if (!zones) return NULL;
    zones->start = zone;
    zones->end = zone + size_bytes;
    zones->total = zones->end + zone;
    return zones;
}

ndr_status ndr_zones_make_buffer(ndr_context *context, const ndr_buffer_desc *desc, ndr_buffer **buffer)
{
    ndr_zones *zones = new_zones(choose_zone(&context->caps, desc->size_bytes), desc->size_bytes);
    if (!zones) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a buffer's guard zones");
    const ndr_status status = make_parent_and_buffer(context, desc, zones, buffer);
    if (status != NDR_OK) free_zones(zones);
    return status;
}

ndr_status ndr_zones_add_shared(ndr_shared *shared)
{
    ndr_context *context = shared->context;
    ndr_zones *zones = new_zones((size_t)(shared->start - shared->base), shared->size_bytes);
    if (!zones) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for an allocation's guard zones");
    zones->shared = shared;
    zones->mapped_for_writing = &shared->mappings.count_for_writing;
    ndr_status status = number_zones(context, zones);
    if (status == NDR_OK) status = fill_parent(context, NULL, zones);
    if (status != NDR_OK) {
        free_zones(zones);
        return status;
    }
    list_zones(context->checker, zones);
    shared->zones = zones;
    return NDR_OK;
}

void ndr_zones_release(ndr_context *context, ndr_zones *zones)
{
    if (!zones) return;
    ndr_checker *checker = context->checker;
    ndr_mutex_lock(&checker->lock);
    while (checker->in_use == zones) ndr_condition_wait(&checker->is_read, &checker->lock);
    ndr_zones **link = &checker->zones;
    while (*link != zones) link = &(*link)->next;
    *link = zones->next;
    ndr_mutex_unlock(&checker->lock);
    free_zones(zones);
}

/* With the lock held. A buffer stays unchecked once its cl_mem was exposed. */
static void exclude(ndr_checker *checker, const ndr_buffer *buffer, ndr_unchecked reason)
{
    ndr_zones *zones = buffer->zones;
    if (reason == NDR_UNCHECKED_EXPOSED && (!zones || zones->native_handle_exposed)) return;
    if (zones) zones->native_handle_exposed = true;
    const uint64_t number = zones ? zones->number : ++checker->buffers;
    if (checker->unchecked[reason].count++ > 0) return;
    checker->unchecked[reason].first = number;
    checker->unchecked[reason].first_bytes = buffer->size_bytes;
}

void ndr_check_exclude(const ndr_buffer *buffer, ndr_unchecked reason)
{
    ndr_checker *checker = buffer->context->checker;
    if (!checker) return;
    ndr_mutex_lock(&checker->lock);
    exclude(checker, buffer, reason);
    ndr_mutex_unlock(&checker->lock);
}

void ndr_check_count_image(ndr_context *context)
{
    if (!context->checker) return;
    ndr_mutex_lock(&context->checker->lock);
    ++context->checker->images;
    ndr_mutex_unlock(&context->checker->lock);
}

/* ---- inspecting the zones, with a turn ---- */

static void count_changes(changes *found, size_t at, const unsigned char *there, const unsigned char *pattern,
                          size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i)
        if (there[i] != pattern[i] && found->bytes++ == 0) found->first = at + i;
}

/* Find the changed bytes from byte `from` to byte `to` of the parent, and restore the pattern, so that the next
 * launch is not reported for them. */
static ndr_status inspect_zone(const ndr_context *context, const ndr_zones *zones, size_t from, size_t to,
                               changes *found)
{
    unsigned char *const there = context->checker->there, *const pattern = context->checker->pattern;
    for (size_t at = from, bytes; at < to; at += bytes) {
        bytes = ndr_min_size(to - at, CHUNK_BYTES);
        NDR_TRY(copy_and_wait(context, zones, at, bytes, NULL, there));
        write_pattern(zones->number, at, at + bytes, pattern);
        if (memcmp(there, pattern, bytes) == 0) continue;
        count_changes(found, at, there, pattern, bytes);
        NDR_TRY(copy_and_wait(context, zones, at, bytes, pattern, NULL));
    }
    return NDR_OK;
}

/* A buffer mapped for writing is inspected when it is unmapped: until then the host may have changed it. */
static ndr_status inspect_zones(const ndr_context *context, ndr_zones *zones)
{
    zones->before = zones->behind = (changes){ 0, 0 };
    if (atomic_load(&zones->native_handle_exposed) || atomic_load(zones->mapped_for_writing) > 0) return NDR_OK;
    NDR_TRY(inspect_zone(context, zones, 0, zones->start, &zones->before));
    return inspect_zone(context, zones, zones->end, zones->total, &zones->behind);
}

bool ndr_zones_are_damaged(const ndr_zones *zones)
{
    return zones && (zones->before.bytes || zones->behind.bytes);
}

/* Relative to the buffer: negative before its start. */
static int64_t first_changed(const ndr_zones *zones)
{
    return (int64_t)(zones->behind.bytes ? zones->behind.first : zones->before.first) - (int64_t)zones->start;
}

/* Rounds towards negative infinity. */
static int64_t element_of(int64_t byte, int64_t element_bytes)
{
    return byte >= 0 ? byte / element_bytes : -((-byte + element_bytes - 1) / element_bytes);
}

ndr_damage_text ndr_zones_print(const ndr_zones *zones, const char *whose, size_t element_bytes)
{
    const size_t size_bytes = zones->end - zones->start;
    const bool is_behind = zones->behind.bytes > 0;
    const size_t bytes = is_behind ? zones->behind.bytes : zones->before.bytes;
    const int64_t first = first_changed(zones);
    char elements[40] = "", element[40] = "";
    if (element_bytes) {
        snprintf(elements, sizeof elements, ", %zu elements", size_bytes / element_bytes);
        snprintf(element, sizeof element, " (of element %lld)", (long long)element_of(first, (int64_t)element_bytes));
    }
    ndr_damage_text out;
    snprintf(out.chars, sizeof out.chars,
             "wrote %s %s (%zu bytes%s): the first changed byte is byte %lld%s, %zu byte%s changed%s",
             is_behind ? "past the end of" : "before the start of", whose, size_bytes, elements,
             (long long)first, element, bytes, bytes == 1 ? " is" : "s are",
             is_behind && zones->before.bytes ? ", and others before its start" : "");
    return out;
}

uint64_t ndr_zones_number(const ndr_zones *zones) { return zones->number; }

/* ---- a launch ---- */

/* Let other threads destroy `before`, and use what is behind it in the list; NULL: the first. NULL: the end. */
static ndr_zones *next_zones(ndr_checker *checker, const ndr_zones *before, bool stops)
{
    ndr_mutex_lock(&checker->lock);
    ndr_zones *const next = stops ? NULL : before ? before->next : checker->zones;
    checker->in_use = next;
    ndr_condition_wake_all(&checker->is_read);
    ndr_mutex_unlock(&checker->lock);
    return next;
}

static ndr_damage_text print_no_argument(const ndr_zones *zones)
{
    char whose[96];
    snprintf(whose, sizeof whose, "a buffer that is not among its arguments, number %llu of this context",
             (unsigned long long)zones->number);
    return ndr_zones_print(zones, whose, 0);
}

ndr_status ndr_check_inspect(const ndr_context *context, uint64_t *damaged, ndr_damage_text *what)
{
    ndr_checker *checker = context->checker;
    ndr_status status = NDR_OK;
    *damaged = 0;
    for (ndr_zones *zones = next_zones(checker, NULL, false); zones;
         zones = next_zones(checker, zones, status != NDR_OK)) {
        status = inspect_zones(context, zones);
        if (status != NDR_OK || !ndr_zones_are_damaged(zones)) continue;
        *damaged = zones->number;
        *what = print_no_argument(zones);
    }
    return status;
}

/* ---- after an unmap ---- */

/* With a turn. */
static ndr_status check_after_unmap(const char *call, const char *what, const ndr_context *context, ndr_zones *zones)
{
    char whose[32];
    snprintf(whose, sizeof whose, "the %s", what);
    NDR_TRY(inspect_zones(context, zones));
    if (!ndr_zones_are_damaged(zones)) return NDR_OK;
    return ndr_fail(NDR_OUT_OF_BOUNDS, "%s: while %s was mapped, the host or a launch %s", call, whose,
                    ndr_zones_print(zones, whose, 0).chars);
}

ndr_status ndr_check_unmapped(const char *call, const char *what, ndr_queue *queue, ndr_zones *zones, ndr_event *made,
                              ndr_event **event)
{
    ndr_status status = NDR_OK;
    const bool is_checked = zones && !ndr_waits_for_own_task(&(ndr_order){ .queue = queue });
    if (is_checked) status = made ? ndr_event_wait(made) : ndr_queue_finish(queue);
    if (is_checked && status == NDR_OK) {
        ndr_turn_take(&queue->context->checker->turns);
        status = check_after_unmap(call, what, queue->context, zones);
        ndr_turn_pass(&queue->context->checker->turns);
    }
    if (status != NDR_OK) ndr_event_destroy(made);
    else if (event) *event = made;
    return status;
}

/* ---- the report ---- */

static const char *const unchecked_names[NDR_UNCHECKED_COUNT] = {
    [NDR_UNCHECKED_OVER] = "made by ndr_buffer_create_over()",
    [NDR_UNCHECKED_FOREIGN] = "made by ndr_buffer_from_cl()",
    [NDR_UNCHECKED_EXPOSED] = "whose cl_mem ndr_buffer_cl() handed out",
    [NDR_UNCHECKED_TOO_LARGE] = "too large for guard zones on this device",
    [NDR_UNCHECKED_VIEW] = "made by ndr_buffer_create_view(), which end inside other buffers",
};

/* With the lock held. */
static void print_checker(const ndr_checker *checker, ndr_text *out)
{
    unsigned long long guarded = 0;
    for (const ndr_zones *zones = checker->zones; zones; zones = zones->next) guarded += !zones->native_handle_exposed;
    ndr_text_add(out, "checking is on: %llu launches were checked, %llu buffers have guard zones now\n",
                 (unsigned long long)atomic_load(&checker->turns.launches), guarded);
    for (int i = 0; i < NDR_UNCHECKED_COUNT; ++i)
        if (checker->unchecked[i].count > 0)
            ndr_text_add(out, "unchecked: %llu of the buffers %s; the first is number %llu, of %zu bytes\n",
                         (unsigned long long)checker->unchecked[i].count, unchecked_names[i],
                         (unsigned long long)checker->unchecked[i].first, checker->unchecked[i].first_bytes);
    if (checker->images > 0)
        ndr_text_add(out, "unchecked: %llu images, which have no guard zones\n", (unsigned long long)checker->images);
}

static void print_report(ndr_context *context, ndr_text *out)
{
    if (!context->checker) {
        ndr_text_add(out, "checking is off: set NDR_CHECK=1, or ndr_context_desc.check\n");
        return;
    }
    ndr_mutex_lock(&context->checker->lock);
    print_checker(context->checker, out);
    ndr_mutex_unlock(&context->checker->lock);
    ndr_handle_print_mistakes(out);
}

ndr_status ndr_context_get_check_report(ndr_context *context, size_t capacity, char *text, size_t *length)
{
    NDR_REQUIRE_SET(context);
    NDR_REQUIRE(text || capacity == 0,
                "ndr_context_get_check_report: text is NULL, but capacity is %zu; pass memory of that size, or 0",
                capacity);
    ndr_text report = { 0 };
    print_report(context, &report);
    const bool is_whole = !report.failed;
    if (is_whole && capacity) snprintf(text, capacity, "%s", report.chars);
    if (is_whole && length) *length = report.length;
    ndr_text_free(&report);
    if (!is_whole) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a report");
    return NDR_OK;
}
