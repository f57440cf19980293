/* dump.c - saves launches for NDR_DUMP: a folder for each, with launch.json, the kernel's text and buffers.
 *
 * Whether a launch fails is known after it, when its buffers have changed. So all are read before each launch. A folder
 * is written beside its place and renamed. docs/replay.md describes the files. */
#include "base/timeline.h"
#include "device/buffer.h"
#include "device/context.h"
#include "device/queue.h"
#include "device/transfer.h"
#include "launch/dump.h"
#include "launch/prepared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t ndr_max_dump_bytes = UINT64_C(1) << 30;
size_t ndr_max_dumps = 100;

/* A buffer of the launch, without views. */
typedef struct memory {
    ndr_buffer *whole;
    char *before, *after; /* its bytes before and after the launch; NULL: they are not known */
    bool is_written;      /* the kernel may write to it */
    ndr_text missing;     /* why `before` is not known */
} memory;

typedef struct dump {
    const ndr_launch_request *r;
    ndr_arg *args; /* with a reference to each object */
    size_t arg_count, reached_count;
    memory *memories;
    size_t memory_count;
    bool is_waited_for; /* the launch can be waited for: nothing of the caller's holds it back */
    bool has_ended;
    ndr_status status;
    int32_t cl_error;
    char *sentence; /* of a failure */
    int64_t time_ns;
    ndr_text path; /* its folder, once it is saved */
} dump;

static const ndr_dumps *dumps_of(const ndr_launch_request *r) { return &r->kernel->context->dumps; }

/* ---- arguments ---- */

static ndr_buffer *buffer_of(const ndr_arg *arg)
{
    return arg->kind == NDR_ARG_BUFFER ? arg->as.buffer : arg->kind == NDR_ARG_REDUCER ? arg->as.reducer.buffer : NULL;
}

static ndr_status take_all(dump *d)
{
    for (size_t i = 0; i < d->arg_count; ++i) NDR_TRY(ndr_arg_take(&d->r->args[i], &d->args[i]));
    return NDR_OK;
}

/* Those of a prepared launch have passed their checks, and another thread may set them. */
static ndr_status take_prepared(dump *d)
{
    ndr_mutex_lock(&d->r->prepared->lock);
    const ndr_status status = take_all(d);
    ndr_mutex_unlock(&d->r->prepared->lock);
    return status;
}

static ndr_status check_and_take(dump *d)
{
    ndr_args_found found;
    ndr_bound *const bound = calloc(d->arg_count + 1, sizeof *bound);
    if (!bound) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to save a launch");
    const ndr_status status = ndr_args_check(d->r->kernel, d->r->args, d->arg_count, bound, &found);
    free(bound);
    return status == NDR_OK ? take_all(d) : status;
}

static ndr_status take_args(dump *d)
{
    const ndr_launch_request *r = d->r;
    d->reached_count = ndr_args_count_reached(r->args, r->arg_count);
    const size_t count = r->arg_count - d->reached_count;
    d->args = calloc(count + 1, sizeof *d->args);
    d->memories = calloc(count + 1, sizeof *d->memories);
    if (!d->args || !d->memories) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to save a launch");
    d->arg_count = count;
    return r->prepared ? take_prepared(d) : check_and_take(d);
}

static size_t find_memory(const dump *d, const ndr_buffer *whole)
{
    size_t i = 0;
    while (i < d->memory_count && d->memories[i].whole != whole) ++i;
    return i;
}

static void list_memories(dump *d)
{
    for (size_t i = 0; i < d->arg_count; ++i) {
        const ndr_buffer *const buffer = buffer_of(&d->args[i]);
        if (!buffer) continue;
        const size_t at = find_memory(d, buffer->whole);
        d->memories[at].whole = buffer->whole;
        d->memories[at].is_written |= ndr_param_is_written(&d->r->kernel->params[i]);
        if (at == d->memory_count) ++d->memory_count;
    }
}

static void free_dump(dump *d)
{
    for (size_t i = 0; d->args && i < d->arg_count; ++i) ndr_arg_drop(&d->args[i]);
    for (size_t i = 0; i < d->memory_count; ++i) {
        free(d->memories[i].before);
        free(d->memories[i].after);
        ndr_text_free(&d->memories[i].missing);
    }
    free(d->args);
    free(d->memories);
    free(d->sentence);
    ndr_text_free(&d->path);
}

/* ---- contents ---- */

/* Whether the launch may wait for what the calling thread does later: then this thread must not wait for the launch. */
static bool is_held_back(const ndr_order *order)
{
    ndr_event_state state = NDR_EVENT_QUEUED;
    if (!atomic_load(&order->queue->context->has_user_events)) return false;
    for (size_t i = 0; i < order->count; ++i) {
        if (!order->events[i]) continue;
        if (ndr_event_get_state(order->events[i], &state) != NDR_OK || state < NDR_EVENT_COMPLETE) return true;
    }
    ndr_event *const unfinished = ndr_queue_find_unfinished(order->queue);
    ndr_event_release(unfinished);
    return unfinished != NULL;
}

/* Drivers refuse to read memory that was made without the host's access, but copy it. */
static ndr_status copy_and_read(const ndr_order *order, ndr_buffer *whole, char *host)
{
    const size_t bytes = whole->size_bytes;
    ndr_buffer *copy;
    NDR_TRY(ndr_buffer_create(whole->context, bytes, &copy));
    const ndr_bytes from = { whole, 0, bytes }, to = { copy, 0, bytes };
    const ndr_transfer t = ndr_buffer_copying(&from, &to);
    ndr_status status = ndr_transfer_run(order, &t, false, NULL);
    if (status == NDR_OK) status = ndr_buffer_read(order->queue, copy, 0, bytes, host, NULL);
    ndr_buffer_destroy(copy);
    return status;
}

static ndr_status read_memory(const dump *d, ndr_buffer *whole, char *host)
{
    const ndr_order order = { .queue = d->r->order->queue };
    const ndr_transfer t = ndr_buffer_transferring(NDR_WORK_READ, &(ndr_bytes){ whole, 0, whole->size_bytes }, host);
    const bool is_readable = whole->host_access == NDR_ACCESS_READ_WRITE || whole->host_access == NDR_ACCESS_READ;
    NDR_TRY(ndr_buffer_check_unmapped("NDR_DUMP", whole, false));
    return is_readable ? ndr_transfer_run(&order, &t, true, NULL) : copy_and_read(&order, whole, host);
}

static void read_into(const dump *d, memory *m, char **bytes)
{
    char *const host = malloc(m->whole->size_bytes);
    const ndr_status status = host ? read_memory(d, m->whole, host)
                                   : ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for its contents on the host");
    if (status == NDR_OK) *bytes = host;
    else free(host);
    if (status != NDR_OK && !m->missing.length) ndr_text_add(&m->missing, "%s", ndr_last_error());
}

static void read_before(dump *d)
{
    size_t sum = 0;
    for (size_t i = 0; i < d->memory_count; ++i)
        if (!ndr_add_fits(sum, d->memories[i].whole->size_bytes, &sum)) sum = SIZE_MAX;
    for (size_t i = 0; i < d->memory_count; ++i) {
        memory *const m = &d->memories[i];
        if (m->whole->size_bytes == 0) continue;
        if (!d->is_waited_for)
            ndr_text_add(&m->missing, "when it was enqueued, the launch waited for an event of ndr_event_create() or a "
                                      "host task");
        else if (sum > ndr_max_dump_bytes)
            ndr_text_add(&m->missing, "the launch's buffers have %zu bytes together", sum);
        else read_into(d, m, &m->before);
    }
}

/* What the kernel may have written. */
static void read_after(dump *d)
{
    for (size_t i = 0; i < d->memory_count; ++i)
        if (d->memories[i].is_written && d->memories[i].before) read_into(d, &d->memories[i], &d->memories[i].after);
}

/* ---- launch.json ---- */

static void add_string(ndr_text *json, const char *text)
{
    char escaped[8];
    ndr_text_add(json, "\"");
    for (const char *at = text ? text : ""; *at;) {
        at += ndr_json_escape(at, escaped);
        ndr_text_add(json, "%s", escaped);
    }
    ndr_text_add(json, "\"");
}

/* `, "key": "text"` */
static void add_text(ndr_text *json, const char *key, const char *text)
{
    ndr_text_add(json, ", \"%s\": ", key);
    add_string(json, text);
}

static void add_sizes(ndr_text *json, const char *key, size_t count, const size_t *sizes)
{
    ndr_text_add(json, ", \"%s\": [", key);
    for (size_t i = 0; i < count; ++i) ndr_text_add(json, "%s%zu", i ? ", " : "", sizes[i]);
    ndr_text_add(json, "]");
}

static void add_hex(ndr_text *json, const char *key, const void *bytes, size_t count)
{
    const unsigned char *const at = bytes;
    ndr_text_add(json, ", \"%s\": \"", key);
    for (size_t i = 0; i < count; ++i) ndr_text_add(json, "%02x", at[i]);
    ndr_text_add(json, "\"");
}

static void add_device(ndr_text *json, const dump *d)
{
    const ndr_context *context = d->r->kernel->context;
    const ndr_device_info *info = &context->caps.info;
    ndr_text_add(json, " \"libndr\": \"%s\"", ndr_version());
    add_text(json, "device", info->name);
    add_text(json, "platform", info->platform);
    add_text(json, "driver", info->driver);
    ndr_text_add(json, ", \"check\": %s,\n", context->checker ? "true" : "false");
}

static void add_result(ndr_text *json, const dump *d)
{
    const bool is_known = d->has_ended && (d->status != NDR_OK || d->is_waited_for);
    ndr_text_add(json, " \"status\": \"%s\"", is_known ? ndr_status_name(d->status) : "not ended");
    if (is_known && d->status != NDR_OK) {
        ndr_text_add(json, ", \"cl_error\": %d", (int)d->cl_error);
        add_text(json, "sentence", d->sentence);
    }
    if (is_known && d->is_waited_for) ndr_text_add(json, ", \"time_ns\": %lld", (long long)d->time_ns);
    ndr_text_add(json, ",\n");
}

/* NULL: the program is saved. */
static const char *why_no_program(const dump *d)
{
    const ndr_program *program = d->r->kernel->program;
    if (!program) return "the kernel came from OpenCL (ndr_kernel_from_cl)";
    if (strcmp(program->form, "binary") == 0) return "the kernel came from a binary, which belongs to one driver";
    return NULL;
}

/* The texts of a program of several follow one another, each with a 0 behind it. */
static const char *next_text(const ndr_text *saved, const char *at)
{
    const char *const next = at + strlen(at) + 1;
    return next < saved->chars + saved->length ? next : NULL;
}

typedef struct file_name {
    char chars[48];
} file_name;

static file_name name_of_text(size_t i)
{
    file_name out;
    if (i == 0) snprintf(out.chars, sizeof out.chars, "kernel.cl");
    else snprintf(out.chars, sizeof out.chars, "kernel%zu.cl", i);
    return out;
}

static file_name name_of_bytes(size_t i, const char *when)
{
    file_name out;
    snprintf(out.chars, sizeof out.chars, "buffer%zu%s.bin", i, when);
    return out;
}

static void add_texts(ndr_text *json, const ndr_text *saved)
{
    size_t count = 0;
    ndr_text_add(json, ", \"files\": [");
    for (const char *at = saved->chars; at; at = next_text(saved, at), ++count)
        ndr_text_add(json, "%s\"%s\"", count ? ", " : "", name_of_text(count).chars);
    ndr_text_add(json, "]");
}

static void add_kernel(ndr_text *json, const dump *d)
{
    const ndr_program *program = d->r->kernel->program;
    const char *const why = why_no_program(d);
    ndr_text_add(json, " \"kernel\": {\"name\": ");
    add_string(json, d->r->kernel->name);
    if (why) add_text(json, "not_saved", why);
    else {
        add_text(json, "title", program->title);
        ndr_text options = { 0 };
        ndr_text_add(&options, "%.*s", (int)program->asked_options, program->options ? program->options : "");
        add_text(json, "options", options.chars);
        ndr_text_free(&options);
        ndr_text_add(json, ", \"sub_group_size\": %zu, \"form\": \"%s\"", program->asked_sub_group, program->form);
        if (strcmp(program->form, "source") == 0) add_texts(json, &program->source.saved);
        else if (strcmp(program->form, "spirv") == 0) ndr_text_add(json, ", \"files\": [\"kernel.spv\"]");
    }
    ndr_text_add(json, "},\n");
}

static void add_range(ndr_text *json, const ndr_nd_range *range)
{
    static const char *const edges[] = { "reject", "round_up", "split" };
    const unsigned dims = range->global.dims | range->groups.dims;
    ndr_text_add(json, " \"range\": {\"edge\": \"%s\"",
                 edges[(unsigned)range->edge <= NDR_EDGE_SPLIT ? range->edge : 0]);
    add_sizes(json, "global", ndr_min_size(range->global.dims, 3), range->global.size);
    add_sizes(json, "groups", ndr_min_size(range->groups.dims, 3), range->groups.size);
    add_sizes(json, "local", ndr_min_size(range->local.dims, 3), range->local.size);
    add_sizes(json, "offset", ndr_min_size(dims, 3), range->offset);
    ndr_text_add(json, "},\n");
}

static void add_memories(ndr_text *json, const dump *d)
{
    ndr_text_add(json, " \"buffers\": [");
    for (size_t i = 0; i < d->memory_count; ++i) {
        const memory *const m = &d->memories[i];
        ndr_text_add(json, "%s\n  {\"size_bytes\": %zu, \"is_written\": %s", i ? "," : "", m->whole->size_bytes,
                     m->is_written ? "true" : "false");
        if (m->before) add_text(json, "before", name_of_bytes(i, "").chars);
        else if (m->missing.chars) add_text(json, "not_saved", m->missing.chars);
        if (m->after) add_text(json, "after", name_of_bytes(i, ".after").chars);
        ndr_text_add(json, "}");
    }
    ndr_text_add(json, "],\n");
}

static void add_number(ndr_text *json, const ndr_arg *arg)
{
    add_text(json, "dtype", ndr_dtype_name(arg->dtype));
    if (arg->kind == NDR_ARG_SIGNED) ndr_text_add(json, ", \"value\": \"%lld\"", (long long)arg->as.i);
    else if (arg->kind == NDR_ARG_UNSIGNED) ndr_text_add(json, ", \"value\": \"%llu\"", (unsigned long long)arg->as.u);
    else add_hex(json, "bytes", &arg->as, arg->kind == NDR_ARG_FLOAT ? sizeof arg->as.f : sizeof arg->as.d);
}

static void add_bytes(ndr_text *json, const ndr_arg *arg)
{
    if (arg->kind == NDR_ARG_VECTOR) add_text(json, "dtype", ndr_dtype_name(arg->dtype));
    else if (arg->as.value.type_name) add_text(json, "type_name", arg->as.value.type_name);
    add_hex(json, "bytes", arg->as.value.bytes, arg->size_bytes);
}

static void add_local(ndr_text *json, const ndr_arg *arg)
{
    if (arg->dtype) add_text(json, "dtype", ndr_dtype_name(arg->dtype));
    if (arg->element_name) add_text(json, "element_name", arg->element_name);
    ndr_text_add(json, ", \"element_bytes\": %zu", arg->size_bytes);
    add_sizes(json, "extents", 3, arg->as.extent);
}

static void add_buffer(ndr_text *json, const dump *d, const ndr_buffer *buffer)
{
    ndr_text_add(json, ", \"buffer\": %zu, \"offset_bytes\": %zu, \"size_bytes\": %zu", find_memory(d, buffer->whole),
                 buffer->memory_offset - buffer->whole->memory_offset, buffer->size_bytes);
}

static void add_reducer(ndr_text *json, const dump *d, const ndr_arg *arg)
{
    add_buffer(json, d, arg->as.reducer.buffer);
    add_text(json, "dtype", ndr_dtype_name(arg->dtype));
    add_hex(json, "bytes", &arg->as.reducer.initial, sizeof arg->as.reducer.initial);
    ndr_text_add(json, ", \"op\": %d, \"element\": %zu", (int)arg->as.reducer.op, arg->as.reducer.element);
}

static void add_value(ndr_text *json, const dump *d, const ndr_arg *arg)
{
    switch (arg->kind) {
    case NDR_ARG_BUFFER: add_buffer(json, d, arg->as.buffer); break;
    case NDR_ARG_REDUCER: add_reducer(json, d, arg); break;
    case NDR_ARG_SIGNED:
    case NDR_ARG_UNSIGNED:
    case NDR_ARG_FLOAT:
    case NDR_ARG_DOUBLE:
    case NDR_ARG_REAL: add_number(json, arg); break;
    case NDR_ARG_STRUCT:
    case NDR_ARG_VECTOR: add_bytes(json, arg); break;
    case NDR_ARG_LOCAL: add_local(json, arg); break;
    case NDR_ARG_NULL: break;
    case NDR_ARG_IMAGE:
    case NDR_ARG_SAMPLER:
    case NDR_ARG_SHARED: add_text(json, "not_saved", "NDR_DUMP saves no images, samplers or shared memory"); break;
    default: add_text(json, "not_saved", "NDR_DUMP does not know its kind"); break;
    }
}

static const char *kind_name(ndr_arg_kind kind)
{
    static const char *const names[] = { "none",    "buffer", "null",    "signed",         "unsigned", "float",
                                         "double",  "struct", "local",   "vector",         "image",    "sampler",
                                         "reducer", "shared", "reached", "reached_buffer", "real" };
    return (unsigned)kind < NDR_COUNT_OF(names) ? names[kind] : "none";
}

static void add_args(ndr_text *json, const dump *d)
{
    ndr_text_add(json, " \"args\": [");
    for (size_t i = 0; i < d->arg_count; ++i) {
        const ndr_param *const param = &d->r->kernel->params[i];
        ndr_text_add(json, "%s\n  {\"kind\": \"%s\"", i ? "," : "", kind_name(d->args[i].kind));
        add_text(json, "name", param->name);
        add_text(json, "type", ndr_param_shown_type(param));
        add_value(json, d, &d->args[i]);
        ndr_text_add(json, "}");
    }
    ndr_text_add(json, "],\n \"reached\": %zu\n}\n", d->reached_count);
}

static ndr_text make_json(const dump *d)
{
    ndr_text json = { 0 };
    ndr_text_add(&json, "{\n \"ndr_dump\": 1,\n");
    add_device(&json, d);
    add_result(&json, d);
    add_kernel(&json, d);
    add_range(&json, d->r->range);
    add_memories(&json, d);
    add_args(&json, d);
    return json;
}

/* ---- files: 0, or an errno ---- */

static int write_file(const char *folder, const char *name, const void *bytes, size_t count)
{
    ndr_text path = { 0 };
    ndr_text_add(&path, "%s/%s", folder, name);
    const int error = path.failed ? ENOMEM : ndr_file_write(path.chars, bytes, count);
    ndr_text_free(&path);
    return error;
}

static int write_program(const dump *d, const char *folder)
{
    const ndr_program *program = d->r->kernel->program;
    if (why_no_program(d) || strcmp(program->form, "bundled") == 0) return 0;
    const ndr_text *saved = &program->source.saved;
    if (strcmp(program->form, "spirv") == 0) return write_file(folder, "kernel.spv", saved->chars, saved->length);
    size_t count = 0;
    for (const char *at = saved->chars; at; at = next_text(saved, at)) {
        const int error = write_file(folder, name_of_text(count++).chars, at, strlen(at));
        if (error) return error;
    }
    return 0;
}

/* Of the second writing of a launch only what is new. */
static int write_memories(const dump *d, const char *folder)
{
    for (size_t i = 0; i < d->memory_count; ++i) {
        const memory *m = &d->memories[i];
        const size_t bytes = m->whole->size_bytes;
        int error = 0;
        if (m->before && !d->path.length) error = write_file(folder, name_of_bytes(i, "").chars, m->before, bytes);
        if (m->after && !error) error = write_file(folder, name_of_bytes(i, ".after").chars, m->after, bytes);
        if (error) return error;
    }
    return 0;
}

/* launch.json is the last file, and replaces an earlier one at once. */
static int write_files(const dump *d, const char *folder)
{
    ndr_text json = make_json(d);
    int error = json.failed ? ENOMEM : 0;
    if (!error && !d->path.length) error = write_program(d, folder);
    if (!error) error = write_memories(d, folder);
    if (!error) error = write_file(folder, "launch.json", json.chars, json.length);
    ndr_text_free(&json);
    return error;
}

/* "FOLDER/KERNEL-PROCESS-NUMBER", which does not exist yet; and beside it the folder that gets the files. */
static void choose_path(const dump *d, ndr_text *path, ndr_text *beside)
{
    static atomic_uint serial;
    ndr_file_info info;
    const char *const folder = dumps_of(d->r)->folder;
    do {
        char name[160];
        snprintf(name, sizeof name, "%.100s-%lu-%u", d->r->kernel->name, ndr_process_id(),
                 atomic_fetch_add(&serial, 1) + 1);
        ndr_text_clear(path);
        ndr_text_clear(beside);
        ndr_text_add(path, "%s/%s", folder, name);
        ndr_text_add(beside, "%s/.%s", folder, name);
    } while (!path->failed && !beside->failed && ndr_file_get_info(path->chars, &info) == 0);
}

static int write_folder(const dump *d, const char *beside, const char *path)
{
    ndr_folder_create(beside);
    int error = write_files(d, beside);
    if (!error) error = ndr_file_rename(beside, path);
    if (error) ndr_folder_remove(beside);
    return error;
}

/* ---- the folder's limit ---- */

typedef struct usage {
    const char *folder;
    size_t launches;
    uint64_t bytes;
} usage;

static bool add_file(void *visitor, const char *name)
{
    usage *u = visitor;
    ndr_file_info info;
    ndr_text path = { 0 };
    ndr_text_add(&path, "%s/%s", u->folder, name);
    if (!path.failed && ndr_file_get_info(path.chars, &info) == 0 && info.is_regular)
        u->bytes += (uint64_t)info.size_bytes;
    ndr_text_free(&path);
    return true;
}

static bool add_folder(void *visitor, const char *name)
{
    usage *u = visitor;
    ndr_text path = { 0 };
    ndr_text_add(&path, "%s/%s", u->folder, name);
    usage inner = { .folder = path.failed ? "" : path.chars };
    ndr_folder_visit(inner.folder, add_file, &inner);
    u->launches += 1;
    u->bytes += inner.bytes;
    ndr_text_free(&path);
    return true;
}

static uint64_t bytes_of(const dump *d)
{
    const ndr_program *program = d->r->kernel->program;
    uint64_t sum = program ? program->source.saved.length : 0;
    for (size_t i = 0; i < d->memory_count; ++i) {
        const memory *const m = &d->memories[i];
        const bool may_have_after = m->is_written && (!d->has_ended || m->after);
        sum += (m->before ? m->whole->size_bytes : 0) + (may_have_after ? m->whole->size_bytes : 0);
    }
    return sum;
}

/* Whether there is room for the launch. A folder with the most launches has none for others, either. */
static bool has_room(const dump *d)
{
    ndr_dumps *const dumps = &d->r->kernel->context->dumps;
    usage u = { .folder = dumps->folder };
    if (d->path.length) return true; /* its room was counted */
    ndr_folder_visit(u.folder, add_folder, &u);
    if (u.launches >= ndr_max_dumps) atomic_store(&dumps->is_full, true);
    else if (u.bytes + bytes_of(d) <= ndr_max_dump_bytes) return true;
    ndr_log(NDR_LOG_WARN, "dump.full",
            "a launch of kernel \"%s\" is not saved: \"%s\" has %zu launches with %llu "
            "bytes, and may have %zu with %llu; move some away",
            d->r->kernel->name, dumps->folder, u.launches, (unsigned long long)u.bytes, ndr_max_dumps,
            (unsigned long long)ndr_max_dump_bytes);
    return false;
}

/* ---- saving ---- */

static void save(dump *d)
{
    ndr_text path = { 0 }, beside = { 0 };
    if (!has_room(d)) return;
    const bool is_second = d->path.length > 0;
    if (!is_second) choose_path(d, &path, &beside);
    const int error = path.failed || beside.failed ? ENOMEM
                      : is_second                  ? write_files(d, d->path.chars)
                                                   : write_folder(d, beside.chars, path.chars);
    if (error)
        ndr_log(NDR_LOG_WARN, "dump.failed", "a launch of kernel \"%s\" is not saved in \"%s\": %s", d->r->kernel->name,
                dumps_of(d->r)->folder, ndr_errno_print(error).chars);
    else if (!is_second) {
        d->path = path;
        path = (ndr_text){ 0 };
        ndr_log(NDR_LOG_INFO, "dump.saved", "a launch of kernel \"%s\" is saved in \"%s\"", d->r->kernel->name,
                d->path.chars);
    }
    ndr_text_free(&path);
    ndr_text_free(&beside);
}

/* A refusal without a code is libndr's own, and its sentence says all. */
static bool is_wanted(const dump *d)
{
    const ndr_context *context = d->r->kernel->context;
    const int64_t slow_ns = context->dumps.slow_ns;
    if (context->dumps.saves_all) return true;
    if (d->status == NDR_OK) return slow_ns > 0 && d->is_waited_for && d->time_ns > slow_ns;
    return d->cl_error != 0 || (d->status == NDR_OUT_OF_BOUNDS && context->checker);
}

static void note_end(dump *d, ndr_status status)
{
    d->status = status;
    d->has_ended = true;
    if (status == NDR_OK) return;
    d->cl_error = ndr_last_cl_error();
    d->sentence = ndr_text_copy(ndr_last_error(), strlen(ndr_last_error()));
}

static ndr_status run(dump *d, ndr_event **event)
{
    ndr_event *made = NULL;
    const int64_t start_ns = ndr_clock_ns();
    ndr_status status = ndr_launch_start_unsaved(d->r, &made);
    if (status == NDR_OK && d->is_waited_for) status = ndr_event_wait(made);
    d->time_ns = ndr_clock_ns() - start_ns;
    note_end(d, status);
    if (status == NDR_OK && event) *event = made;
    else ndr_event_destroy(made);
    return status;
}

static ndr_status run_and_save(dump *d, ndr_event **event)
{
    list_memories(d);
    read_before(d);
    if (dumps_of(d->r)->saves_all) save(d);
    const ndr_status status = run(d, event);
    if (is_wanted(d) && (d->path.length || !atomic_load(&dumps_of(d->r)->is_full))) {
        if (status == NDR_OK && d->is_waited_for) read_after(d);
        save(d);
    }
    return status;
}

static bool is_skipped(const ndr_launch_request *r)
{
    const ndr_dumps *const dumps = dumps_of(r);
    return atomic_load(&dumps->is_full) || (dumps->kernel && strcmp(dumps->kernel, r->kernel->name) != 0);
}

/* A launch that libndr refuses, or behind work that has failed, runs as if it were not saved. */
ndr_status ndr_launch_saved(const ndr_launch_request *r, ndr_event **event)
{
    dump d = { .r = r };
    if (is_skipped(r)) return ndr_launch_start_unsaved(r, event);
    NDR_TRY(ndr_order_check(r->order));
    d.is_waited_for = !is_held_back(r->order);
    ndr_status status = take_args(&d);
    if (status == NDR_OK && d.is_waited_for)
        status = ndr_event_wait_all(r->order->events, r->order->count, NDR_FOREVER);
    status = status == NDR_OK ? run_and_save(&d, event) : ndr_launch_start_unsaved(r, event);
    free_dump(&d);
    return status;
}
