/* trace.c - traces: when they start and end, and what they trace.
 *
 * Each command has an event. Events that have ended are read at later commands and at waits, in batches; libndr waits
 * for them only when the context ends. If the process ends first, the trace has what was read until then. A process has
 * one trace at a time, and one lock guards it. */
#include "device/context.h"
#include "device/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t REFRESH_NS = 1000000000; /* how often the clocks are compared */
static const int64_t FLUSH_NS = 1000000;      /* how often records are written, besides at waits */

atomic_bool ndr_trace_is_on; /* `running` is set */

static ndr_mutex lock = NDR_MUTEX_INITIALIZER(NDR_LOCK_TRACE);
static ndr_trace *running; /* the process's trace; NULL: none */
static atomic_ulong owner; /* the process that started it: not one that was forked since */

static bool is_own(void) { return atomic_load(&owner) == ndr_process_id(); }

/* ---- commands and calls ---- */

static void flush(ndr_trace *trace, int64_t now_ns)
{
    trace->flushed_ns = now_ns;
    ndr_timeline_flush(&trace->timeline);
}

static void flush_if_due(ndr_trace *trace, int64_t now_ns)
{
    if (now_ns - trace->flushed_ns > FLUSH_NS) flush(trace, now_ns);
}

void ndr_trace_begin(const char *label, uint64_t bytes, uint64_t flops)
{
    if (!ndr_is_traced()) return;
    ndr_mutex_lock(&lock);
    if (running) ndr_record_begin(running, label ? label : "region", bytes, flops);
    ndr_mutex_unlock(&lock);
}

void ndr_trace_end(void)
{
    if (!ndr_is_traced()) return;
    ndr_mutex_lock(&lock);
    if (running) ndr_record_end(running);
    ndr_mutex_unlock(&lock);
}

static ndr_traced_queue *find_queue(cl_command_queue cl)
{
    for (ndr_traced_context *context = running ? running->contexts : NULL; context; context = context->next)
        for (ndr_traced_queue *queue = context->queues; queue; queue = queue->next)
            if (queue->cl == cl) return queue;
    return NULL;
}

void ndr_trace_command(cl_command_queue cl, const ndr_traced_command *command, cl_event event)
{
    ndr_mutex_lock(&lock);
    ndr_traced_queue *queue = find_queue(cl);
    const bool is_kept = queue && ndr_record_command(queue, command, event);
    if (queue) flush_if_due(running, command->start_ns);
    ndr_mutex_unlock(&lock);
    if (!is_kept && event) ndr_cl.clReleaseEvent(event);
}

void ndr_trace_call(const ndr_context *context, int64_t start_ns, const char *category, const char *name,
                    const char *key, const char *value)
{
    if (!context->traced) return;
    ndr_mutex_lock(&lock);
    ndr_record_call(context->traced->trace, start_ns, category, name, key, value);
    flush_if_due(context->traced->trace, ndr_clock_ns());
    ndr_mutex_unlock(&lock);
}

/* Compare the clocks again. Not with the lock held, because it may enqueue markers. */
static void map_clock(ndr_context *context)
{
    const ndr_clock_map now = ndr_clock_map_read(context);
    ndr_mutex_lock(&lock);
    ndr_clock_map *map = &context->traced->clock;
    const int64_t drift_ns = map->is_known ? llabs(now.offset_ns - map->offset_ns) : 0;
    const int64_t error_ns = now.error_ns + drift_ns;
    if (now.is_known)
        *map = (ndr_clock_map){ true, now.offset_ns, error_ns > map->error_ns ? error_ns : map->error_ns };
    context->traced->mapped_ns = ndr_clock_ns();
    ndr_mutex_unlock(&lock);
}

void ndr_trace_wait(ndr_context *context, cl_command_queue cl, int64_t start_ns, const char *name)
{
    if (!context->traced) return;
    ndr_trace *const trace = context->traced->trace;
    ndr_mutex_lock(&lock);
    ndr_record_call(trace, start_ns, "wait", name, NULL, NULL);
    for (ndr_traced_queue *queue = context->traced->queues; queue; queue = queue->next)
        if (!cl || queue->cl == cl) ndr_record_collect(queue);
    const bool is_due = start_ns - context->traced->mapped_ns > REFRESH_NS;
    flush(trace, ndr_clock_ns()); /* the process may be killed, or never call again */
    ndr_mutex_unlock(&lock);
    if (is_due) map_clock(context);
}

/* ---- queues ---- */

ndr_status ndr_trace_add_queue(const ndr_context *context, cl_command_queue cl)
{
    if (!context->traced) return NDR_OK;
    cl_command_queue_properties properties = 0;
    NDR_TRY_CL(clGetCommandQueueInfo(cl, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    ndr_traced_queue *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to trace a queue");
    made->cl = cl;
    made->context = context->traced;
    made->has_times = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
    ndr_mutex_lock(&lock);
    made->number = ++made->context->trace->queue_count;
    made->next = made->context->queues;
    made->context->queues = made;
    ndr_mutex_unlock(&lock);
    return NDR_OK;
}

void ndr_trace_remove_queue(const ndr_context *context, cl_command_queue cl)
{
    if (!context->traced) return;
    ndr_mutex_lock(&lock);
    ndr_traced_queue *queue = find_queue(cl);
    if (queue) {
        ndr_record_collect(queue);
        queue->cl = NULL;
    }
    ndr_mutex_unlock(&lock);
}

/* ---- exit() ---- */

/* Another thread may hold the lock for ever, in a driver that has shut down. */
static bool lock_soon(void)
{
    enum { TRIES = 100, PAUSE_NS = 1000000 };
    for (int i = 0; i < TRIES; ++i) {
        if (ndr_mutex_try_lock(&lock)) return true;
        ndr_thread_sleep_ns(PAUSE_NS);
    }
    return false;
}

/* A driver that shuts down while commands run may crash the process. exit() calls handlers before the destructors of
 * libraries, the latest first, so one that is registered when the driver is open comes before that. The trace does not
 * end here, because later handlers may destroy the contexts. */
static void flush_at_exit(void)
{
    if (!ndr_is_traced() || !is_own() || !lock_soon()) return;
    if (running) ndr_timeline_flush(&running->timeline);
    ndr_mutex_unlock(&lock);
}

/* ---- the start ---- */

/* "%p" becomes the number of the process. */
static ndr_text expand_path(const char *file)
{
    ndr_text path = { 0 };
    for (const char *at = file, *end; *at; at = *end ? end + strlen("%p") : end) {
        end = strstr(at, "%p");
        if (!end) end = at + strlen(at);
        ndr_text_add_chars(&path, at, (size_t)(end - at));
        if (*end) ndr_text_add(&path, "%lu", ndr_process_id());
    }
    return path;
}

static ndr_status open_timeline(const char *call, const char *file, ndr_timeline *timeline)
{
    ndr_text path = expand_path(file);
    const bool has_path = path.chars && !path.failed;
    const int error = has_path ? ndr_timeline_open(timeline, path.chars) : 0;
    ndr_text_free(&path);
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, has_path, "%s: no memory for the path of the file", call);
    NDR_REQUIRE(!error, "%s: the file \"%s\" cannot be created: %s; choose a folder that this user can write to", call,
                file, ndr_errno_print(error).chars);
    return NDR_OK;
}

/* Where the latest trace ended. The next one goes on from there if it continues the file. */
static struct {
    int64_t origin_ns;
    uint64_t commands;
    unsigned contexts, queues;
} latest;

static void go_on(ndr_trace *trace)
{
    trace->origin_ns = latest.origin_ns;
    trace->commands = latest.commands;
    trace->context_count = latest.contexts;
    trace->queue_count = latest.queues;
}

/* With the lock held. */
static ndr_status start(const char *call, const ndr_trace_desc *desc)
{
    static uint64_t serial;
    ndr_trace *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "%s: no memory for a trace", call);
    const ndr_status status = desc->file ? open_timeline(call, desc->file, &made->timeline) : NDR_OK;
    if (status != NDR_OK) {
        free(made);
        return status;
    }
    made->serial = ++serial;
    made->desc = *desc;
    atomic_store(&owner, ndr_process_id());
    made->start_ns = made->origin_ns = made->flushed_ns = ndr_clock_ns();
    if (made->timeline.is_continued) go_on(made);
    char name[48];
    snprintf(name, sizeof name, "host, process %lu", ndr_process_id());
    ndr_record_name(made, 0, name);
    running = made;
    atomic_store(&ndr_trace_is_on, true);
    ndr_log(NDR_LOG_INFO, "trace.started", "%s: %s%s%s", call, desc->has_table ? "a table" : "",
            desc->has_table && desc->file ? ", and " : "", desc->file ? desc->file : "");
    return NDR_OK;
}

ndr_status ndr_trace_start(const ndr_trace_desc *desc)
{
    NDR_REQUIRE(desc, "ndr_trace_start: desc is NULL; pass the address of a descriptor whose members are set");
    NDR_REQUIRE(desc->has_table || desc->file,
                "ndr_trace_start: neither desc->has_table nor desc->file is set; set one or both");
    NDR_REQUIRE(!desc->file || *desc->file, "ndr_trace_start: desc->file is \"\"; set it to a path, or to NULL");
    ndr_mutex_lock(&lock);
    const ndr_status status =
        running
            ? ndr_fail(NDR_BAD_ARGUMENT, "ndr_trace_start: a trace is already running; it ends with the last context "
                                         "that it traces")
            : start(__func__, desc);
    ndr_mutex_unlock(&lock);
    return status;
}

ndr_status ndr_trace_parse(const char *words, ndr_trace_desc *desc)
{
    *desc = (ndr_trace_desc){ 0 };
    if (!words || !*words) return NDR_OK;
    const size_t table = strlen("table"), length = strlen(words);
    desc->has_table = strncmp(words, "table", table) == 0 && (!words[table] || words[table] == ',');
    const char *file = words + (desc->has_table ? table + (words[table] == ',') : 0);
    if (*file) desc->file = file;
    const bool is_path = length > strlen(".json") && strcmp(words + length - strlen(".json"), ".json") == 0;
    NDR_REQUIRE(desc->file ? is_path : length == table,
                "NDR_TRACE is \"%s\"; set it to table, a path that ends in .json, or both: table,PATH.json", words);
    return NDR_OK;
}

static ndr_status start_as(const char *words)
{
    ndr_trace_desc desc;
    NDR_TRY(ndr_trace_parse(words, &desc));
    return desc.has_table || desc.file ? start("NDR_TRACE", &desc) : NDR_OK;
}

/* With the lock held. `context->traced` stays NULL if there is no trace. */
static ndr_status add_context(ndr_context *context, const char *words)
{
    static bool is_registered;
    if (!running) NDR_TRY(start_as(words));
    if (!running || !is_own()) return NDR_OK;
    if (!is_registered) is_registered = atexit(flush_at_exit) == 0;
    ndr_traced_context *made = calloc(1, sizeof *made);
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, made, "no memory to trace a context");
    made->trace = running;
    made->number = ++running->context_count;
    memcpy(made->device, context->caps.info.name, sizeof made->device);
    made->next = running->contexts;
    running->contexts = made;
    ++running->contexts_left;
    context->traced = made;
    ndr_record_name(running, made->number, made->device);
    return NDR_OK;
}

ndr_status ndr_trace_add_context(ndr_context *context, const char *words)
{
    ndr_mutex_lock(&lock);
    const ndr_status status = add_context(context, words);
    ndr_mutex_unlock(&lock);
    if (context->traced) map_clock(context);
    return status;
}

/* ---- the end ---- */

/* With the lock held. */
static void end(ndr_text *table)
{
    ndr_trace *const gone = running;
    ndr_record_finish(gone, table);
    latest.origin_ns = gone->origin_ns;
    latest.commands = gone->commands;
    latest.contexts = gone->context_count;
    latest.queues = gone->queue_count;
    ndr_record_free(gone);
    for (ndr_traced_context *c = gone->contexts, *next; c; c = next) next = c->next, free(c);
    free(gone);
    running = NULL;
    atomic_store(&ndr_trace_is_on, false);
}

static void deliver(const ndr_trace_desc *desc, const ndr_text *table)
{
    const char *text = table->failed ? "libndr trace: no memory for the table\n" : table->chars;
    if (desc->callback) desc->callback(text, desc->user);
    else fputs(text, stderr);
}

static void free_queues(ndr_traced_queue *queue)
{
    for (ndr_traced_queue *next; queue; queue = next) {
        next = queue->next;
        ndr_record_collect(queue);
        free(queue->pending);
        free(queue);
    }
}

void ndr_trace_remove_context(ndr_context *context)
{
    if (!context->traced || !is_own()) return;
    ndr_mutex_lock(&lock);
    ndr_traced_queue *const queues = context->traced->queues; /* no longer used */
    context->traced->queues = NULL;
    ndr_mutex_unlock(&lock);
    for (const ndr_traced_queue *queue = queues; queue; queue = queue->next) ndr_record_wait(context, queue);
    map_clock(context);
    ndr_text table = { 0 };
    ndr_mutex_lock(&lock);
    free_queues(queues);
    const ndr_trace_desc desc = running->desc;
    const bool is_last = --running->contexts_left == 0;
    if (is_last) end(&table);
    ndr_mutex_unlock(&lock);
    if (is_last && desc.has_table) deliver(&desc, &table);
    ndr_text_free(&table);
}

/* ---- a process that ends first ---- */

/* With the lock held. */
static void write_unfinished(ndr_text *text)
{
    uint64_t missing = 0;
    for (const ndr_traced_context *context = running->contexts; context; context = context->next)
        for (const ndr_traced_queue *queue = context->queues; queue; queue = queue->next) missing += queue->count;
    ndr_record_label_early_end(running, missing);
    ndr_record_finish(running, text);
    if (running->contexts_left == 0) return;
    ndr_text_add(text,
                 "libndr trace: the process ended before the traced contexts were destroyed; "
                 "%llu commands are missing; destroy the contexts and all their objects\n",
                 (unsigned long long)missing);
}

/* Write what the trace has when the process ends, or the library is unloaded, before the traced contexts are destroyed.
 * Nothing here calls OpenCL, so commands that were not read are missing. Nothing is freed, because other threads and
 * later destructors may still use the contexts. The callback is not called: what its `user` points to may be gone. */
__attribute__((destructor)) static void end_with_the_process(void)
{
    if (!ndr_is_traced() || !is_own() || !lock_soon()) return;
    ndr_trace_desc desc = { 0 };
    ndr_text text = { 0 };
    if (running) {
        desc = running->desc;
        write_unfinished(&text);
    }
    ndr_mutex_unlock(&lock);
    if (!desc.callback && text.length) deliver(&desc, &text);
    ndr_text_free(&text);
}
