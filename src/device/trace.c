/* trace.c - records what traced contexts do: a table of their commands, and a timeline.
 *
 * Each command has an event. Events that have ended are read at later commands and at waits, in batches; libndr waits
 * for them only when the context ends. If the process ends first, the trace has what was read until then. A process has
 * one trace at a time, and one lock guards all of it. */
#include "base/tally.h"
#include "base/timeline.h"
#include "device/clock.h"
#include "device/context.h"
#include "device/event.h"
#include "device/trace.h"
#include "device/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, FIRST_PENDING = 256, LANES = 8, HOST_ROWS = 1 };
static const int64_t REFRESH_NS = 1000000000; /* how often the clocks are compared, and the file is flushed */

/* ---- state ---- */

/* Commands that a thread enqueued between ndr_trace_begin() and ndr_trace_end(). */
typedef struct region {
    struct region *next, **link; /* in the list of all that have not ended */
    struct region *parent;       /* NULL: the outermost */
    ndr_tally *what;
    int64_t start_ns;
    uint64_t bytes, flops, total_ns;
    size_t left; /* commands and regions in it that have not ended, and one until ndr_trace_end() */
    bool has_commands, is_untimed;
} region;

/* A command that has not ended, or has not been looked at since. */
typedef struct pending {
    cl_event event;
    ndr_tally *what;
    region *in;
    uint64_t bytes;
} pending;

struct ndr_traced_context {
    struct ndr_traced_context *next;
    unsigned number;
    ndr_clock_map clock; /* its error is the largest so far */
    int64_t mapped_ns;   /* when */
    char device[sizeof((ndr_device_info *)NULL)->name];
};
typedef struct ndr_traced_context traced_context;

typedef struct traced_queue {
    struct traced_queue *next;
    cl_command_queue cl; /* NULL: destroyed */
    traced_context *context;
    unsigned number;
    bool has_times;
    pending *ring; /* `count` from `first`; the capacity is a power of two */
    size_t capacity, first, count;
    unsigned since;          /* commands since the ring was looked at */
    int64_t lane_end[LANES]; /* commands that overlap get rows of their own */
} traced_queue;

atomic_bool ndr_trace_is_on;
size_t ndr_trace_max_pending = 1 << 18;

static ndr_mutex lock = NDR_MUTEX_INITIALIZER(NDR_LOCK_TRACE);
static uint64_t serial; /* of the trace, from 1 */
static struct {
    ndr_trace_desc desc; /* `file` tells only whether there is one */
    unsigned long process;
    int64_t start_ns, flushed_ns;
    ndr_timeline timeline;
    ndr_tally *tallies;
    traced_context *contexts;
    traced_queue *queues;
    region *regions;
    unsigned context_count, contexts_left, queue_count, threads;
    uint64_t failed, untimed;
} trace;

/* What this thread has in the trace of that serial. */
static _Thread_local struct {
    uint64_t serial;
    unsigned row;
    region *innermost;
} here;

/* ---- the timeline ---- */

static void add_field(ndr_json *json, const char *key, uint64_t value)
{
    ndr_json_add(json, key);
    ndr_json_add_number(json, value);
}

/* Name a row, or a group of rows: `what` is "thread_name" or "process_name". */
static void name_rows(const char *what, unsigned group, unsigned row, const char *name)
{
    ndr_json json = { 0 };
    if (!trace.desc.file) return;
    ndr_json_add(&json, "{\"ph\":\"M\",\"name\":\"");
    ndr_json_add(&json, what);
    add_field(&json, "\",\"pid\":", group);
    add_field(&json, ",\"tid\":", row);
    ndr_json_add(&json, ",\"args\":{\"name\":");
    ndr_json_add_text(&json, name);
    ndr_json_add(&json, "}}");
    ndr_timeline_add(&trace.timeline, &json);
}

/* Begin a slice, without its arguments. */
static void begin_slice(ndr_json *json, unsigned group, unsigned row, int64_t start_ns, int64_t end_ns,
                        const char *category, const char *name)
{
    json->length = 0;
    json->is_cut = false;
    add_field(json, "{\"ph\":\"X\",\"pid\":", group);
    add_field(json, ",\"tid\":", row);
    ndr_json_add(json, ",\"ts\":");
    ndr_json_add_us(json, start_ns - trace.start_ns);
    ndr_json_add(json, ",\"dur\":");
    ndr_json_add_us(json, end_ns - start_ns);
    ndr_json_add(json, ",\"cat\":\"");
    ndr_json_add(json, category);
    ndr_json_add(json, "\",\"name\":");
    ndr_json_add_text(json, name);
    ndr_json_add(json, ",\"args\":{");
}

static void end_slice(ndr_json *json)
{
    ndr_json_add(json, "}}");
    ndr_timeline_add(&trace.timeline, json);
}

/* The row of this thread. */
static unsigned enter_thread(void)
{
    if (here.serial == serial) return here.row;
    char name[32];
    here.serial = serial;
    here.innermost = NULL;
    here.row = ++trace.threads;
    snprintf(name, sizeof name, "thread %u", here.row);
    name_rows("thread_name", HOST_ROWS, here.row, name);
    return here.row;
}

/* A call of this thread, which ends now. */
static void begin_call(ndr_json *json, int64_t start_ns, const char *category, const char *name)
{
    begin_slice(json, HOST_ROWS, enter_thread(), start_ns, ndr_clock_ns(), category, name);
}

static unsigned rows_of(const traced_context *context) { return HOST_ROWS + context->number; }

/* The first row of the queue on which nothing else runs at that time; the last row takes the rest. */
static unsigned take_lane(traced_queue *queue, int64_t start_ns, int64_t end_ns)
{
    unsigned lane = 0;
    while (lane + 1 < LANES && queue->lane_end[lane] > start_ns) ++lane;
    const unsigned row = queue->number * LANES + lane;
    if (queue->lane_end[lane] == 0) {
        char name[32];
        snprintf(name, sizeof name, lane ? "queue %u (%u)" : "queue %u", queue->number, lane + 1);
        name_rows("thread_name", rows_of(queue->context), row, name);
    }
    queue->lane_end[lane] = end_ns;
    return row;
}

static void write_command(traced_queue *queue, const pending *p, cl_ulong started, cl_ulong ended)
{
    ndr_json json;
    if (!trace.desc.file || !queue->context->clock.is_known) return;
    const int64_t start_ns = (int64_t)started + queue->context->clock.offset_ns;
    const int64_t end_ns = start_ns + (int64_t)(ended - started);
    const unsigned row = take_lane(queue, start_ns, end_ns);
    begin_slice(&json, rows_of(queue->context), row, start_ns, end_ns, p->what->category, p->what->name);
    if (p->bytes) add_field(&json, "\"bytes\":", p->bytes);
    if (p->in) ndr_json_add(&json, p->bytes ? ",\"in\":" : "\"in\":");
    if (p->in) ndr_json_add_text(&json, p->in->what->name);
    end_slice(&json);
}

/* ---- regions ---- */

/* One command or region inside has ended, or the region itself. */
static void leave_region(region *r, uint64_t ns, bool is_timed)
{
    while (r) {
        r->total_ns += ns;
        r->is_untimed |= !is_timed;
        if (--r->left > 0) return;
        is_timed = !r->is_untimed;
        ns = r->total_ns;
        if (r->has_commands && is_timed) {
            ndr_tally_add(r->what, ns);
            r->what->bytes += r->bytes;
            r->what->flops += r->flops;
        }
        region *parent = r->parent;
        *r->link = r->next;
        if (r->next) r->next->link = r->link;
        free(r);
        r = parent;
    }
}

static void begin_region(const char *label, uint64_t bytes, uint64_t flops)
{
    enter_thread();
    ndr_tally *what = ndr_tally_get(&trace.tallies, "region", label);
    region *made = what ? malloc(sizeof *made) : NULL;
    if (!made) return;
    *made = (region){ .next = trace.regions,
                      .link = &trace.regions,
                      .parent = here.innermost,
                      .what = what,
                      .start_ns = ndr_clock_ns(),
                      .bytes = bytes,
                      .flops = flops,
                      .left = 1 };
    if (made->next) made->next->link = &made->next;
    if (made->parent) ++made->parent->left;
    trace.regions = here.innermost = made;
}

static void end_region(region *r)
{
    ndr_json json;
    if (trace.desc.file) {
        begin_call(&json, r->start_ns, "region", r->what->name);
        add_field(&json, "\"bytes\":", r->bytes);
        add_field(&json, ",\"flops\":", r->flops);
        end_slice(&json);
    }
    here.innermost = r->parent;
    leave_region(r, 0, true);
}

void ndr_trace_begin(const char *label, uint64_t bytes, uint64_t flops)
{
    if (!ndr_is_traced()) return;
    ndr_mutex_lock(&lock);
    if (ndr_is_traced()) begin_region(label ? label : "region", bytes, flops);
    ndr_mutex_unlock(&lock);
}

void ndr_trace_end(void)
{
    if (!ndr_is_traced()) return;
    ndr_mutex_lock(&lock);
    if (here.serial == serial && here.innermost) end_region(here.innermost);
    ndr_mutex_unlock(&lock);
}

/* ---- commands ---- */

static void count_command(traced_queue *queue, const pending *p, cl_int state)
{
    cl_ulong started = 0, ended = 0;
    const bool is_timed = state == CL_COMPLETE && ndr_cl_event_times(p->event, &started, &ended);
    if (ended < started) ended = started;
    if (is_timed) {
        ndr_tally_add(p->what, ended - started);
        p->what->bytes += p->bytes;
        write_command(queue, p, started, ended);
    } else if (state < 0) ++trace.failed;
    else ++trace.untimed;
    leave_region(p->in, ended - started, is_timed);
    ndr_cl.clReleaseEvent(p->event);
}

/* Count the commands that have ended, up to the first that has not. If a state cannot be read, neither can times. */
static void collect(traced_queue *queue)
{
    for (queue->since = 0; queue->count > 0; --queue->count) {
        const pending *p = &queue->ring[queue->first];
        const cl_int state = ndr_cl_event_code(p->event, CL_COMPLETE);
        if (state > CL_COMPLETE) return;
        count_command(queue, p, state);
        queue->first = (queue->first + 1) & (queue->capacity - 1);
    }
}

static bool make_room(traced_queue *queue)
{
    if (queue->count < queue->capacity) return true;
    const size_t capacity = queue->capacity ? 2 * queue->capacity : FIRST_PENDING;
    pending *larger = capacity <= ndr_trace_max_pending ? malloc(capacity * sizeof *larger) : NULL;
    if (!larger) return false;
    for (size_t i = 0; i < queue->count; ++i) larger[i] = queue->ring[(queue->first + i) & (queue->capacity - 1)];
    free(queue->ring);
    queue->ring = larger;
    queue->capacity = capacity;
    queue->first = 0;
    return true;
}

/* A transfer that has ended, as a blocking one: then what the queue had before it has ended, too, unless the queue is
 * out-of-order. */
static bool has_waited(const ndr_traced_command *command, cl_event event)
{
    return command->dims == 0 && ndr_cl_event_code(event, CL_COMPLETE) <= CL_COMPLETE;
}

/* Whether the queue now has the event's reference. */
static bool keep_event(traced_queue *queue, const ndr_traced_command *command, cl_event event)
{
    ndr_tally *what = ndr_tally_get(&trace.tallies, command->category, command->name);
    enter_thread();
    if (!what || !queue->has_times || !event || !make_room(queue)) {
        ++trace.untimed;
        return false;
    }
    region *in = here.innermost;
    if (in) in->has_commands = true, ++in->left;
    queue->ring[(queue->first + queue->count++) & (queue->capacity - 1)] = (pending){ event, what, in, command->bytes };
    if (++queue->since >= BATCH || has_waited(command, event)) collect(queue);
    return true;
}

static void write_call(const ndr_traced_command *command)
{
    ndr_json json;
    if (!trace.desc.file) return;
    begin_call(&json, command->start_ns, "enqueue", command->name);
    if (command->bytes) add_field(&json, "\"bytes\":", command->bytes);
    for (unsigned d = command->dims; d-- > 0;)
        add_field(&json, d + 1 == command->dims ? "\"global\":[" : ",", command->global[d]);
    if (command->dims) ndr_json_add(&json, "]");
    end_slice(&json);
}

static traced_queue *find_queue(cl_command_queue cl)
{
    traced_queue *queue = trace.queues;
    while (queue && queue->cl != cl) queue = queue->next;
    return queue;
}

void ndr_trace_command(cl_command_queue cl, const ndr_traced_command *command, cl_event event)
{
    ndr_mutex_lock(&lock);
    traced_queue *queue = find_queue(cl);
    if (queue) write_call(command);
    const bool is_kept = queue && keep_event(queue, command, event);
    ndr_mutex_unlock(&lock);
    if (!is_kept && event) ndr_cl.clReleaseEvent(event);
}

/* ---- calls ---- */

void ndr_trace_call(const ndr_context *context, int64_t start_ns, const char *category, const char *name,
                    const char *key, const char *value)
{
    ndr_json json;
    if (!context->traced) return;
    ndr_mutex_lock(&lock);
    if (trace.desc.file) {
        begin_call(&json, start_ns, category, name);
        if (key) ndr_json_add_text(&json, key);
        if (key) ndr_json_add(&json, ":");
        if (key) ndr_json_add_text(&json, value);
        end_slice(&json);
    }
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
    ndr_trace_call(context, start_ns, "wait", name, NULL, NULL);
    ndr_mutex_lock(&lock);
    for (traced_queue *queue = trace.queues; queue; queue = queue->next)
        if (cl ? queue->cl == cl : queue->context == context->traced) collect(queue);
    const bool is_due = start_ns - context->traced->mapped_ns > REFRESH_NS;
    if (start_ns - trace.flushed_ns > REFRESH_NS) {
        trace.flushed_ns = start_ns;
        ndr_timeline_flush(&trace.timeline);
    }
    ndr_mutex_unlock(&lock);
    if (is_due) map_clock(context);
}

/* ---- queues ---- */

ndr_status ndr_trace_add_queue(const ndr_context *context, cl_command_queue cl)
{
    if (!context->traced) return NDR_OK;
    cl_command_queue_properties properties = 0;
    NDR_TRY_CL(clGetCommandQueueInfo(cl, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    traced_queue *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to trace a queue");
    made->cl = cl;
    made->context = context->traced;
    made->has_times = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
    ndr_mutex_lock(&lock);
    made->number = ++trace.queue_count;
    made->next = trace.queues;
    trace.queues = made;
    ndr_mutex_unlock(&lock);
    return NDR_OK;
}

void ndr_trace_remove_queue(const ndr_context *context, cl_command_queue cl)
{
    if (!context->traced) return;
    ndr_mutex_lock(&lock);
    traced_queue *queue = find_queue(cl);
    if (queue) {
        collect(queue);
        queue->cl = NULL;
    }
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

static ndr_status open_timeline(const char *call, const char *file)
{
    ndr_text path = expand_path(file);
    const bool has_path = path.chars && !path.failed;
    const int error = has_path ? ndr_timeline_open(&trace.timeline, path.chars) : 0;
    ndr_text_free(&path);
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, has_path, "%s: no memory for the path of the file", call);
    NDR_REQUIRE(!error, "%s: the file \"%s\" cannot be created: %s; choose a folder that this user can write to", call,
                file, ndr_errno_print(error).chars);
    return NDR_OK;
}

/* With the lock held. */
static ndr_status start(const char *call, const ndr_trace_desc *desc)
{
    memset(&trace, 0, sizeof trace);
    if (desc->file) NDR_TRY(open_timeline(call, desc->file));
    trace.desc = *desc;
    trace.process = ndr_process_id();
    trace.start_ns = trace.flushed_ns = ndr_clock_ns();
    ++serial;
    char name[48];
    snprintf(name, sizeof name, "host, process %lu", trace.process);
    name_rows("process_name", HOST_ROWS, 0, name);
    atomic_store(&ndr_trace_is_on, true);
    ndr_log(NDR_LOG_INFO, "trace.started", "%s: %s%s%s", call, desc->has_table ? "a table" : "",
            desc->has_table && desc->file ? ", and " : "", desc->file ? desc->file : "");
    return NDR_OK;
}

ndr_status ndr_trace_start(const ndr_trace_desc *desc)
{
    NDR_REQUIRE(desc, "ndr_trace_start: desc is NULL");
    NDR_REQUIRE(desc->has_table || desc->file,
                "ndr_trace_start: neither desc->has_table nor desc->file is set; set one or both");
    NDR_REQUIRE(!desc->file || *desc->file, "ndr_trace_start: desc->file is \"\"; set it to a path, or to NULL");
    ndr_mutex_lock(&lock);
    const ndr_status status =
        ndr_is_traced()
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
    if (!ndr_is_traced()) NDR_TRY(start_as(words));
    if (!ndr_is_traced() || trace.process != ndr_process_id()) return NDR_OK;
    traced_context *made = calloc(1, sizeof *made);
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, made, "no memory to trace a context");
    made->number = ++trace.context_count;
    memcpy(made->device, context->caps.info.name, sizeof made->device);
    made->next = trace.contexts;
    trace.contexts = made;
    ++trace.contexts_left;
    context->traced = made;
    name_rows("process_name", rows_of(made), 0, made->device);
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

static void print_notes(ndr_text *out)
{
    ndr_text_add(out, "Medians are within 3.2 %%. GB/s and GFLOP/s are of what calls declare; \"-\": nothing.\n");
    for (const traced_context *c = trace.contexts; c; c = c->next)
        if (c->clock.is_known)
            ndr_text_add(out, "Context %u, %s: the device's times are within %.1f us of the host's.\n", c->number,
                         c->device, (double)c->clock.error_ns * 1e-3);
        else
            ndr_text_add(out, "Context %u, %s: the device's clock could not be compared with the host's.\n", c->number,
                         c->device);
    if (trace.failed)
        ndr_text_add(out, "%llu commands failed and are not counted.\n", (unsigned long long)trace.failed);
    if (trace.untimed)
        ndr_text_add(out, "%llu commands have no times and are not counted.\n", (unsigned long long)trace.untimed);
    if (trace.timeline.lost)
        ndr_text_add(out, "%llu records are not in the file.\n", (unsigned long long)trace.timeline.lost);
}

/* Begin a label of a group of rows, with the quote of its text. */
static void begin_label(ndr_json *json, unsigned group)
{
    add_field(json, "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":", group);
    ndr_json_add(json, ",\"args\":{\"labels\":\"");
}

static void end_label(ndr_json *json)
{
    ndr_json_add(json, "\"}}");
    ndr_timeline_add(&trace.timeline, json);
}

/* The errors of the clocks are known at the end. */
static void write_clocks(void)
{
    for (const traced_context *c = trace.contexts; c; c = c->next) {
        ndr_json json = { 0 };
        begin_label(&json, rows_of(c));
        ndr_json_add(&json, c->clock.is_known ? "times within " : "no times: the clocks could not be compared");
        if (c->clock.is_known) ndr_json_add_us(&json, c->clock.error_ns);
        if (c->clock.is_known) ndr_json_add(&json, " us of the host's");
        end_label(&json);
    }
}

static void free_all(void)
{
    ndr_tallies_free(&trace.tallies);
    for (region *r = trace.regions, *next; r; r = next) next = r->next, free(r);
    for (traced_context *c = trace.contexts, *next; c; c = next) next = c->next, free(c);
}

/* Complete the file and write the table to `table`, as far as the trace has them; then it has neither. */
static void write_results(ndr_text *table)
{
    if (trace.desc.file) {
        write_clocks();
        ndr_timeline_close(&trace.timeline);
    }
    if (trace.desc.has_table) {
        ndr_text_add(table, "libndr trace of %.3f s\n", (double)(ndr_clock_ns() - trace.start_ns) * 1e-9);
        ndr_tallies_print(trace.tallies, table);
        print_notes(table);
    }
    trace.desc.file = NULL;
    trace.desc.has_table = false;
}

/* With the lock held. */
static void end(ndr_text *table)
{
    write_results(table);
    free_all();
    atomic_store(&ndr_trace_is_on, false);
}

static void deliver(const ndr_trace_desc *desc, const ndr_text *table)
{
    const char *text = table->failed ? "libndr trace: no memory for the table\n" : table->chars;
    if (desc->callback) desc->callback(text, desc->user);
    else fputs(text, stderr);
}

/* The queues of a context that ends are no longer used. */
static traced_queue *take_queues(const traced_context *context)
{
    traced_queue *taken = NULL;
    for (traced_queue **link = &trace.queues, *queue; (queue = *link);) {
        if (queue->context != context) {
            link = &queue->next;
            continue;
        }
        *link = queue->next;
        queue->next = taken;
        taken = queue;
    }
    return taken;
}

static void wait_for_all(const ndr_context *context, const traced_queue *queue)
{
    for (size_t i = 0; i < queue->count; ++i)
        (void)ndr_wait_for_event(context, queue->ring[(queue->first + i) & (queue->capacity - 1)].event);
}

static void free_queues(traced_queue *queue)
{
    for (traced_queue *next; queue; queue = next) {
        next = queue->next;
        collect(queue);
        free(queue->ring);
        free(queue);
    }
}

void ndr_trace_remove_context(ndr_context *context)
{
    if (!context->traced || trace.process != ndr_process_id()) return;
    ndr_mutex_lock(&lock);
    traced_queue *queues = take_queues(context->traced);
    ndr_mutex_unlock(&lock);
    for (const traced_queue *queue = queues; queue; queue = queue->next) wait_for_all(context, queue);
    map_clock(context);
    ndr_text table = { 0 };
    ndr_mutex_lock(&lock);
    free_queues(queues);
    const ndr_trace_desc desc = trace.desc;
    const bool is_last = --trace.contexts_left == 0;
    if (is_last) end(&table);
    ndr_mutex_unlock(&lock);
    if (is_last && desc.has_table) deliver(&desc, &table);
    ndr_text_free(&table);
}

/* ---- a process that ends first ---- */

static uint64_t count_pending(void)
{
    uint64_t count = 0;
    for (const traced_queue *queue = trace.queues; queue; queue = queue->next) count += queue->count;
    return count;
}

static void label_unfinished(uint64_t missing)
{
    ndr_json json = { 0 };
    begin_label(&json, HOST_ROWS);
    add_field(&json, "the process ended first; commands that are missing: ", missing);
    end_label(&json);
}

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

/* With the lock held. */
static void write_unfinished(ndr_text *text)
{
    const uint64_t missing = count_pending();
    if (trace.desc.file) label_unfinished(missing);
    write_results(text);
    if (trace.contexts_left == 0) return;
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
    if (!ndr_is_traced() || trace.process != ndr_process_id() || !lock_soon()) return;
    const ndr_trace_desc desc = trace.desc;
    ndr_text text = { 0 };
    write_unfinished(&text);
    ndr_mutex_unlock(&lock);
    if (!desc.callback && text.length) deliver(&desc, &text);
    ndr_text_free(&text);
}
