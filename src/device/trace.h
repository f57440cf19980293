/* trace.h - records commands and calls. */
#ifndef NDR_DEVICE_TRACE_H
#define NDR_DEVICE_TRACE_H

#include <stdatomic.h>

#include "device/opencl.h"

typedef struct ndr_traced_context ndr_traced_context;

extern atomic_bool ndr_trace_is_on;
static inline bool ndr_is_traced(void)
{
    return __builtin_expect(atomic_load_explicit(&ndr_trace_is_on, memory_order_relaxed), false);
}

/* How many commands of a queue are kept until they have ended. Tests lower it. */
extern size_t ndr_trace_max_pending;

/* The time if a trace runs, for ndr_trace_call() and ndr_trace_wait(), which do nothing otherwise. */
static inline int64_t ndr_trace_now(void) { return ndr_is_traced() ? ndr_clock_ns() : 0; }

/* Pure: parse NDR_TRACE; NULL or "" is no trace. `file` points into `words`. */
ndr_status ndr_trace_parse(const char *words, ndr_trace_desc *desc);

/* A new context: if no trace runs, start the one that `words` ask for. If one runs, trace the context: its queues keep
 * times, and removing it waits for its work. Removing the last one ends the trace. */
ndr_status ndr_trace_add_context(ndr_context *context, const char *words);
void ndr_trace_remove_context(ndr_context *context);

/* A queue of a context; they do nothing if that is not traced. */
ndr_status ndr_trace_add_queue(const ndr_context *context, cl_command_queue cl);
void ndr_trace_remove_queue(const ndr_context *context, cl_command_queue cl);

/* A command that was enqueued. */
typedef struct ndr_traced_command {
    const char *category, *name; /* "kernel" and its name; "transfer" or "order" and its kind */
    size_t bytes;
    unsigned dims; /* of a kernel; 0: another command */
    const size_t *global, *local; /* in OpenCL's order; `local` NULL: the driver chose */
    int64_t start_ns; /* of the call */
} ndr_traced_command;

/* Record it if the queue is traced. Takes over a reference to `event`, which may be NULL. */
void ndr_trace_command(cl_command_queue cl, const ndr_traced_command *command, cl_event event);

/* In a traced context, record a call of this thread that ends now, with `key` and `value`; `key` NULL: without. */
void ndr_trace_call(const ndr_context *context, int64_t start_ns, const char *category, const char *name,
                    const char *key, const char *value);

/* The same for a wait. `cl` NULL: not for a whole queue. */
void ndr_trace_wait(ndr_context *context, cl_command_queue cl, int64_t start_ns, const char *name);

#endif
