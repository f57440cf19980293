/* ops.h - top floor: whole operations, made of launches.
 *
 * An operation is a folder: its contract and a list of implementations, the rows. Of those the first that can run a
 * request and suits it is taken. docs/architecture.md says how to add a row, and how to add an operation. */
#ifndef NDR_OPS_H
#define NDR_OPS_H

#include "launch/launch.h"

#include "shared/workspace.h"

/* ---- operand.c ---- */

/* Elements of a buffer that an operation reads or writes. A matrix is `rows` runs of `cols` elements, the starts
 * of two neighbours `pitch` apart; anything else is one run. */
typedef struct ndr_operand {
    const char *call, *name; /* for sentences: "ndr_reduce", "input" */
    ndr_buffer *buffer;
    size_t offset, rows, cols, pitch; /* elements */
    size_t element_bytes;
} ndr_operand;

/* Refuse what is NULL, of another context, or past the end of its buffer. No elements: anything goes. */
ndr_status ndr_operand_check(const ndr_operand *operand, const ndr_queue *queue);

/* Refuse an output whose bytes meet those of an input. */
ndr_status ndr_operand_check_apart(const ndr_operand *output, const ndr_operand *input);

/* The argument for a kernel: the buffer, or a deliberate NULL where there are no elements. */
ndr_arg ndr_operand_arg(const ndr_operand *operand);

/* ---- workspace.c ---- */

/* Memory of a queue that operations use one after the other; how it begins: kernels/shared/workspace.h. Lent to one
 * thread at a time, from before its launches are enqueued until they are. */
typedef struct ndr_workspace ndr_workspace;

/* At least `size_bytes`, the head's included, whose slots are zeros when it is new. Nothing is borrowed where it
 * fails. */
ndr_status ndr_workspace_borrow(ndr_queue *queue, size_t size_bytes, ndr_workspace **workspace);

/* `last` is what the work ends with, NULL where nothing is known of it: the next borrower's launches come after it. */
void ndr_workspace_return(ndr_workspace *workspace, cl_event last);

ndr_buffer *ndr_workspace_buffer(const ndr_workspace *workspace);

/* What the borrower's first launch has to wait for; NULL: nothing. */
const cl_event *ndr_workspace_busy_until(const ndr_workspace *workspace);

/* The slot whose turn it is, for one launch, which zeroes the slot after it. */
unsigned ndr_workspace_take_slot(ndr_workspace *workspace);

/* ---- rows ---- */

enum { NDR_OPTIONS_SIZE = 160 };

/* What a row builds and launches for a request. */
typedef struct ndr_op_plan {
    const char *file;   /* under kernels/ */
    const char *kernel; /* that does most of the work */
    char options[NDR_OPTIONS_SIZE];
    ndr_nd_range range;     /* of its launch */
    size_t local_bytes;     /* of local memory, in arguments and declared, for a group of it */
    size_t workspace_bytes; /* 0: it needs none */
} ndr_op_plan;

/* What a row may need of a device beyond OpenCL 1.2, bits of ndr_op_row.needs. select.c has the words for each. */
typedef enum ndr_need {
    NDR_NEEDS_DEVICE_ORDER = 1u << 0, /* acquire and release between groups */
} ndr_need;

typedef struct ndr_op_job ndr_op_job;

/* One implementation. `request` is the operation's struct; a sentence is NULL where there is nothing to say, and so
 * is a function that never has anything to say. All but run() are pure. */
typedef struct ndr_op_row {
    const char *name; /* of its files, too: src/ops/OPERATION/NAME.c and kernels/OPERATION/NAME.cl */
    unsigned needs;
    const char *(*cannot)(const void *request);                         /* why it cannot run this */
    const char *(*unsuited)(const ndr_caps *caps, const void *request); /* why it should not: a later row is better */
    void (*plan)(const ndr_caps *caps, const void *request, ndr_op_plan *plan);
    ndr_status (*run)(ndr_op_job *job);
} ndr_op_row;

/* The rows in the order in which they are asked. For each request there is one without needs that can and suits. */
typedef struct ndr_operation {
    const char *name; /* "reduce" */
    const ndr_op_row *const *rows;
    size_t row_count;
} ndr_operation;

/* ---- select.c ---- */

/* Pure: the row for a request. `forced` comes first where it can; NULL: none is. `lacks` are needs that the device does
 * not meet although it says so. */
const ndr_op_row *ndr_op_select(const ndr_operation *operation, const ndr_caps *caps, unsigned lacks,
                                const ndr_op_row *forced, const void *request);

/* Pure: "reduce: tree_groups; not tree_chunks: ...": the row that is taken, and for each other why not. */
void ndr_op_explain(const ndr_operation *operation, const ndr_caps *caps, unsigned lacks, const ndr_op_row *forced,
                    const void *request, ndr_text *out);

/* For tests: from now on the operation takes that row in this context wherever it can; NULL: it chooses again.
 * Refuses a name that no row has, and one whose needs the device does not meet. */
ndr_status ndr_op_force(ndr_context *context, const ndr_operation *operation, const char *name);

/* The name of the row that is forced, or NULL. */
const char *ndr_op_forced(ndr_context *context, const ndr_operation *operation);

/* Pure, and a row's unsuited(): NULL where an item has vector registers by itself, as on CPUs. */
const char *ndr_op_lacks_vectors(const ndr_caps *caps, const void *request);

/* Choose a row for the request, and run it. `event` may be NULL. */
ndr_status ndr_op_run(const ndr_operation *operation, ndr_queue *queue, const void *request, ndr_event **event);

/* ---- job.c ---- */

/* A request on its way through a row. */
struct ndr_op_job {
    ndr_queue *queue;
    const ndr_op_row *row;
    const void *request;
    const ndr_caps *caps; /* the context's, or `smaller` */
    ndr_op_plan plan;
    ndr_workspace *workspace; /* NULL until it is borrowed; given back by ndr_op_run() */
    bool keeps_events;
    ndr_event *event; /* spans the launches so far; NULL unless events are kept */
    ndr_caps smaller; /* of a device with the groups that a kernel takes */
};

/* A kernel of the plan's file. */
ndr_status ndr_op_get_kernel(const ndr_op_job *job, const char *name, ndr_kernel **kernel);

/* The plan's kernel. A kernel may take smaller groups than its device, which is known once it is built: then
 * the plan is made again for such a device. */
ndr_status ndr_op_get_main_kernel(ndr_op_job *job, ndr_kernel **kernel);

/* Borrow the plan's workspace, after the kernels have been gotten: nobody else enqueues with it until the job is
 * done. */
ndr_status ndr_op_borrow(ndr_op_job *job);

/* Launch after all launches of the job so far: ndr_op_launch(job, kernel, range, args...). */
#define ndr_op_launch(job, kernel, ...)                                                                      \
    ndr_op_launch_v((job), (kernel), (const ndr_nd_range[]){ NDR_RANGE_OF_(NDR_FIRST_(__VA_ARGS__, 0)) },    \
                    (const ndr_arg[]){ ndr_null NDR_REST_(__VA_ARGS__) } + 1, NDR_COUNT_(__VA_ARGS__) - 1)
ndr_status ndr_op_launch_v(ndr_op_job *job, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                           size_t arg_count);

#endif
