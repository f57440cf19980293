/* record.c - what a trace records of commands, calls and regions: a table, and slices in a file. */
#include "device/event.h"
#include "device/record.h"
#include "device/wait.h"

#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 64, FIRST_PENDING = 256, HOST_ROWS = 1 };

size_t ndr_trace_max_pending = 1 << 18;

/* Commands that a thread enqueued between ndr_trace_begin() and ndr_trace_end(). */
struct ndr_traced_region {
    ndr_traced_region *next, **link; /* in the list of all that have not ended */
    ndr_traced_region *parent;       /* NULL: the outermost */
    ndr_tally *what;
    int64_t start_ns;
    uint64_t bytes, flops, total_ns;
    size_t left; /* commands and regions in it that have not ended, and one until ndr_trace_end() */
    bool has_commands, is_untimed;
};
typedef ndr_traced_region region;

/* A command that has not ended, or has not been looked at since. */
struct ndr_traced_pending {
    cl_event event;
    ndr_tally *what;
    region *in;
    uint64_t bytes, number; /* from 1 */
};
typedef ndr_traced_pending pending;

/* This thread: its row in the files of the process, and what it has in the trace of that serial. */
static _Thread_local struct {
    unsigned row; /* from 1; 0: none yet */
    uint64_t serial;
    region *innermost;
} here;

/* ---- the file ---- */

static void add_field(ndr_json *json, const char *key, uint64_t value)
{
    ndr_json_add(json, key);
    ndr_json_add_number(json, value);
}

/* Of a row, or a group of rows: `what` is "thread_name", "process_name" or "process_labels". */
static void write_name(ndr_trace *trace, const char *what, unsigned group, unsigned row, const char *name)
{
    ndr_json json = { 0 };
    if (!trace->desc.file) return;
    ndr_json_add(&json, "{\"ph\":\"M\",\"name\":\"");
    ndr_json_add(&json, what);
    add_field(&json, "\",\"pid\":", group);
    add_field(&json, ",\"tid\":", row);
    ndr_json_add(&json, strcmp(what, "process_labels") == 0 ? ",\"args\":{\"labels\":" : ",\"args\":{\"name\":");
    ndr_json_add_text(&json, name);
    ndr_json_add(&json, "}}");
    ndr_timeline_add(&trace->timeline, &json);
}

/* Begin a slice, without its arguments. */
static void begin_slice(const ndr_trace *trace, ndr_json *json, unsigned group, unsigned row, int64_t start_ns,
                        int64_t end_ns, const char *category, const char *name)
{
    json->length = 0;
    json->is_cut = false;
    add_field(json, "{\"ph\":\"X\",\"pid\":", group);
    add_field(json, ",\"tid\":", row);
    ndr_json_add(json, ",\"ts\":");
    ndr_json_add_us(json, start_ns - trace->origin_ns);
    ndr_json_add(json, ",\"dur\":");
    ndr_json_add_us(json, end_ns - start_ns);
    ndr_json_add(json, ",\"cat\":\"");
    ndr_json_add(json, category);
    ndr_json_add(json, "\",\"name\":");
    ndr_json_add_text(json, name);
    ndr_json_add(json, ",\"args\":{");
}

static void end_slice(ndr_trace *trace, ndr_json *json)
{
    ndr_json_add(json, "}}");
    ndr_timeline_add(&trace->timeline, json);
}

/* The row of this thread. */
static unsigned enter_thread(ndr_trace *trace)
{
    if (here.serial == trace->serial) return here.row;
    static unsigned threads;
    char name[32];
    here.serial = trace->serial;
    here.innermost = NULL;
    if (here.row == 0) here.row = ++threads;
    snprintf(name, sizeof name, "thread %u", here.row);
    write_name(trace, "thread_name", HOST_ROWS, here.row, name);
    return here.row;
}

/* A call of this thread, which ends now. */
static void begin_call(ndr_trace *trace, ndr_json *json, int64_t start_ns, const char *category, const char *name)
{
    begin_slice(trace, json, HOST_ROWS, enter_thread(trace), start_ns, ndr_clock_ns(), category, name);
}

static unsigned rows_of(const ndr_traced_context *context) { return HOST_ROWS + context->number; }

/* The first row of the queue on which nothing else runs at that time; the last row takes the rest. */
static unsigned take_lane(ndr_traced_queue *queue, int64_t start_ns, int64_t end_ns)
{
    unsigned lane = 0;
    while (lane + 1 < NDR_TRACE_LANES && queue->lane_end[lane] > start_ns) ++lane;
    const unsigned row = queue->number * NDR_TRACE_LANES + lane;
    if (queue->lane_end[lane] == 0) {
        char name[32];
        snprintf(name, sizeof name, lane ? "queue %u (%u)" : "queue %u", queue->number, lane + 1);
        write_name(queue->context->trace, "thread_name", rows_of(queue->context), row, name);
    }
    queue->lane_end[lane] = end_ns;
    return row;
}

static void write_command(ndr_traced_queue *queue, const pending *p, cl_ulong started, cl_ulong ended)
{
    ndr_json json;
    const ndr_traced_context *const context = queue->context;
    if (!context->trace->desc.file || !context->clock.is_known) return;
    const int64_t start_ns = (int64_t)started + context->clock.offset_ns;
    const int64_t end_ns = start_ns + (int64_t)(ended - started);
    const unsigned row = take_lane(queue, start_ns, end_ns);
    begin_slice(context->trace, &json, rows_of(context), row, start_ns, end_ns, p->what->category, p->what->name);
    add_field(&json, "\"command\":", p->number);
    if (p->bytes) add_field(&json, ",\"bytes\":", p->bytes);
    if (p->in) ndr_json_add(&json, ",\"in\":");
    if (p->in) ndr_json_add_text(&json, p->in->what->name);
    end_slice(context->trace, &json);
}

void ndr_record_name(ndr_trace *trace, unsigned context, const char *name)
{
    write_name(trace, "process_name", HOST_ROWS + context, 0, name);
}

void ndr_record_call(ndr_trace *trace, int64_t start_ns, const char *category, const char *name, const char *key,
                     const char *value)
{
    ndr_json json;
    if (!trace->desc.file) return;
    begin_call(trace, &json, start_ns, category, name);
    if (key) ndr_json_add_text(&json, key);
    if (key) ndr_json_add(&json, ":");
    if (key) ndr_json_add_text(&json, value);
    end_slice(trace, &json);
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

void ndr_record_begin(ndr_trace *trace, const char *label, uint64_t bytes, uint64_t flops)
{
    enter_thread(trace);
    ndr_tally *what = ndr_tally_get(&trace->tallies, "region", label);
    region *made = what ? malloc(sizeof *made) : NULL;
    if (!made) return;
    *made = (region){ .next = trace->regions,
                      .link = &trace->regions,
                      .parent = here.innermost,
                      .what = what,
                      .start_ns = ndr_clock_ns(),
                      .bytes = bytes,
                      .flops = flops,
                      .left = 1 };
    if (made->next) made->next->link = &made->next;
    if (made->parent) ++made->parent->left;
    trace->regions = here.innermost = made;
}

void ndr_record_end(ndr_trace *trace)
{
    ndr_json json;
    region *const r = here.serial == trace->serial ? here.innermost : NULL;
    if (!r) return;
    if (trace->desc.file) {
        begin_call(trace, &json, r->start_ns, "region", r->what->name);
        add_field(&json, "\"bytes\":", r->bytes);
        add_field(&json, ",\"flops\":", r->flops);
        end_slice(trace, &json);
    }
    here.innermost = r->parent;
    leave_region(r, 0, true);
}

/* ---- commands ---- */

static void count_command(ndr_traced_queue *queue, const pending *p, cl_int state)
{
    ndr_trace *const trace = queue->context->trace;
    cl_ulong started = 0, ended = 0;
    const bool is_timed = state == CL_COMPLETE && ndr_cl_event_times(p->event, &started, &ended);
    if (ended < started) ended = started;
    if (is_timed) {
        ndr_tally_add(p->what, ended - started);
        p->what->bytes += p->bytes;
        write_command(queue, p, started, ended);
    } else if (state < 0) ++trace->failed;
    else ++trace->untimed;
    leave_region(p->in, ended - started, is_timed);
    ndr_cl.clReleaseEvent(p->event);
}

/* If a state cannot be read, neither can times. */
void ndr_record_collect(ndr_traced_queue *queue)
{
    size_t ended = 0;
    for (cl_int state; ended < queue->count; ++ended) {
        const pending *p = &queue->pending[ended];
        if ((state = ndr_cl_event_code(p->event, CL_COMPLETE)) > CL_COMPLETE) break;
        count_command(queue, p, state);
    }
    queue->since = 0;
    queue->count -= ended;
    if (ended > 0) memmove(queue->pending, queue->pending + ended, queue->count * sizeof *queue->pending);
}

static bool make_room(ndr_traced_queue *queue)
{
    if (queue->count < queue->capacity) return true;
    const size_t capacity = queue->capacity ? 2 * queue->capacity : FIRST_PENDING;
    pending *larger = capacity <= ndr_trace_max_pending ? realloc(queue->pending, capacity * sizeof *larger) : NULL;
    if (!larger) return false;
    queue->pending = larger;
    queue->capacity = capacity;
    return true;
}

/* A transfer that has ended, as a blocking one: then what the queue had before it has ended, too, unless the queue is
 * out-of-order. */
static bool has_waited(const ndr_traced_command *command, cl_event event)
{
    return command->dims == 0 && ndr_cl_event_code(event, CL_COMPLETE) <= CL_COMPLETE;
}

/* In libndr's order. */
static void add_sizes(ndr_json *json, const char *key, unsigned dims, const size_t *sizes)
{
    for (unsigned d = dims; d-- > 0; key = ",") add_field(json, key, sizes[d]);
    ndr_json_add(json, "]");
}

static void write_call(ndr_trace *trace, const ndr_traced_command *command)
{
    ndr_json json;
    if (!trace->desc.file) return;
    begin_call(trace, &json, command->start_ns, "enqueue", command->name);
    add_field(&json, "\"command\":", trace->commands);
    if (command->bytes) add_field(&json, ",\"bytes\":", command->bytes);
    if (command->dims) add_sizes(&json, ",\"global\":[", command->dims, command->global);
    if (command->dims && command->local) add_sizes(&json, ",\"local\":[", command->dims, command->local);
    end_slice(trace, &json);
}

bool ndr_record_command(ndr_traced_queue *queue, const ndr_traced_command *command, cl_event event)
{
    ndr_trace *const trace = queue->context->trace;
    ++trace->commands;
    write_call(trace, command);
    ndr_tally *what = ndr_tally_get(&trace->tallies, command->category, command->name);
    enter_thread(trace);
    if (!what || !queue->has_times || !event || !make_room(queue)) {
        ++trace->untimed;
        return false;
    }
    region *in = here.innermost;
    if (in) in->has_commands = true, ++in->left;
    queue->pending[queue->count++] = (pending){ event, what, in, command->bytes, trace->commands };
    if (++queue->since >= BATCH || has_waited(command, event)) ndr_record_collect(queue);
    return true;
}

void ndr_record_wait(const ndr_context *context, const ndr_traced_queue *queue)
{
    for (size_t i = 0; i < queue->count; ++i)
        (void)ndr_wait_for_event(context, queue->pending[i].event);
}

/* ---- results ---- */

static void print_notes(const ndr_trace *trace, ndr_text *out)
{
    ndr_text_add(out, "Medians are within 3.2 %%. GB/s and GFLOP/s are of what calls declare; \"-\": nothing.\n");
    for (const ndr_traced_context *c = trace->contexts; c; c = c->next)
        if (c->clock.is_known)
            ndr_text_add(out, "Context %u, %s: the device's times are within %.1f us of the host's.\n", c->number,
                         c->device, (double)c->clock.error_ns * 1e-3);
        else
            ndr_text_add(out, "Context %u, %s: the device's clock could not be compared with the host's.\n", c->number,
                         c->device);
    if (trace->failed)
        ndr_text_add(out, "%llu commands failed and are not counted.\n", (unsigned long long)trace->failed);
    if (trace->untimed)
        ndr_text_add(out, "%llu commands have no times and are not counted.\n", (unsigned long long)trace->untimed);
    if (trace->timeline.lost)
        ndr_text_add(out, "%llu records are not in the file.\n", (unsigned long long)trace->timeline.lost);
}

/* The errors of the clocks are known at the end. */
static void write_clocks(ndr_trace *trace)
{
    char label[96];
    for (const ndr_traced_context *c = trace->contexts; c; c = c->next) {
        snprintf(label, sizeof label, "times within %.3f us of the host's", (double)c->clock.error_ns * 1e-3);
        write_name(trace, "process_labels", rows_of(c), 0,
                   c->clock.is_known ? label : "no times: the clocks could not be compared");
    }
}

void ndr_record_label_early_end(ndr_trace *trace, uint64_t missing)
{
    char label[96];
    snprintf(label, sizeof label, "the process ended first; commands that are missing: %llu",
             (unsigned long long)missing);
    write_name(trace, "process_labels", HOST_ROWS, 0, label);
}

void ndr_record_finish(ndr_trace *trace, ndr_text *table)
{
    if (trace->desc.file) {
        write_clocks(trace);
        ndr_timeline_close(&trace->timeline);
    }
    if (trace->desc.has_table) {
        ndr_text_add(table, "libndr trace of %.3f s\n", (double)(ndr_clock_ns() - trace->start_ns) * 1e-9);
        ndr_tallies_print(trace->tallies, table);
        print_notes(trace, table);
    }
    trace->desc.file = NULL;
    trace->desc.has_table = false;
}

void ndr_record_free(ndr_trace *trace)
{
    ndr_tallies_free(&trace->tallies);
    for (region *r = trace->regions, *next; r; r = next) next = r->next, free(r);
}
