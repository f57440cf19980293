/* record.h - what a trace has recorded; for trace.c, with its lock held. */
#ifndef NDR_DEVICE_RECORD_H
#define NDR_DEVICE_RECORD_H

#include "base/tally.h"
#include "base/timeline.h"
#include "device/clock.h"
#include "device/trace.h"

typedef struct ndr_trace ndr_trace;
typedef struct ndr_traced_region ndr_traced_region;
typedef struct ndr_traced_pending ndr_traced_pending;

/* Commands that overlap get rows of their own in the file, at most so many. */
enum { NDR_TRACE_LANES = 8 };


typedef struct ndr_traced_queue {
    struct ndr_traced_queue *next;
    cl_command_queue cl; /* NULL: destroyed */
    ndr_traced_context *context;
    unsigned number;
    bool has_times;
    ndr_traced_pending *pending; /* commands that have not ended, or were not looked at since */
    size_t capacity, count;
    unsigned since; /* commands since they were looked at */
    int64_t lane_end[NDR_TRACE_LANES];
} ndr_traced_queue;

struct ndr_traced_context {
    struct ndr_traced_context *next;
    ndr_trace *trace;
    ndr_traced_queue *queues;
    unsigned number;     /* from 1 */
    ndr_clock_map clock; /* its error is the largest so far */
    int64_t mapped_ns;   /* when */
    char device[sizeof((ndr_device_info *)NULL)->name];
};

struct ndr_trace {
    uint64_t serial;     /* from 1 */
    ndr_trace_desc desc; /* `file` tells only whether there is one */
    int64_t start_ns, flushed_ns;
    int64_t origin_ns; /* time 0 of the file: the start of the first trace in it */
    ndr_timeline timeline;
    ndr_tally *tallies;
    ndr_traced_context *contexts;
    ndr_traced_region *regions;
    unsigned context_count, contexts_left, queue_count;
    uint64_t commands, failed, untimed; /* commands: all, so that the slices of one have its number */
};

/* The name of a context in the file, by its number; 0: of the host. */
void ndr_record_name(ndr_trace *trace, unsigned context, const char *name);

/* A call of this thread that ends now, with `key` and `value`; `key` NULL: without. */
void ndr_record_call(ndr_trace *trace, int64_t start_ns, const char *category, const char *name, const char *key,
                     const char *value);

/* A command that was enqueued. Returns whether the queue has taken over the event's reference. */
bool ndr_record_command(ndr_traced_queue *queue, const ndr_traced_command *command, cl_event event);

/* Count the commands that have ended, up to the first that has not. */
void ndr_record_collect(ndr_traced_queue *queue);

/* Wait until all commands have ended; without the lock, when nobody uses the queue any more. */
void ndr_record_wait(const ndr_context *context, const ndr_traced_queue *queue);

/* ndr_trace_begin() and ndr_trace_end(). */
void ndr_record_begin(ndr_trace *trace, const char *label, uint64_t bytes, uint64_t flops);
void ndr_record_end(ndr_trace *trace);

/* Complete the file and append the table to `table`, as far as the trace has them; then it has neither. */
void ndr_record_finish(ndr_trace *trace, ndr_text *table);

/* Before that, if the process ends first. */
void ndr_record_label_early_end(ndr_trace *trace, uint64_t missing);

/* Free what was recorded, but no contexts and queues. */
void ndr_record_free(ndr_trace *trace);

#endif
