/* ops.h - the highest floor: whole operations, made of launches.
 *
 * An operation is a folder: its contract and a list of implementations, the rows. The first row that can run a
 * request and suits it is used. docs/architecture.md describes how to add a row and an operation. */
#ifndef NDR_OPS_H
#define NDR_OPS_H

#include "launch/launch.h"

#include "shared/core.h"

/* ---- operand.c ---- */

/* Elements of a buffer that an operation reads or writes. A matrix is `rows` runs of `cols` elements; `pitch` is the
 * distance between the starts of two runs. Anything else is one run. A batch has `further` matrices after the first;
 * `stride` is the distance between two of them. */
typedef struct ndr_operand {
    const char *call, *name; /* for sentences: "ndr_reduce", "input" */
    ndr_buffer *buffer;
    size_t offset, rows, cols, pitch; /* elements */
    size_t further, stride;           /* matrices; elements */
    size_t element_bytes;
} ndr_operand;

/* Refuse a buffer that is NULL, of another context, or too small. Nothing is checked for 0 elements. */
ndr_status ndr_operand_check(const ndr_operand *operand, const ndr_queue *queue);

/* Refuse an output that overlaps an input. */
ndr_status ndr_operand_check_apart(const ndr_operand *output, const ndr_operand *input);

/* The kernel argument: the buffer, or ndr_null for 0 elements. */
ndr_arg ndr_operand_arg(const ndr_operand *operand);

/* ---- core.c ---- */

/* What a core of a CPU has. */
typedef struct ndr_core {
    unsigned vector_bytes, registers; /* of a vector register; how many there are */
    bool fuses;                       /* an instruction multiplies and adds: fma() calls no function */
    size_t first_cache_bytes, second_cache_bytes;
} ndr_core;

/* Pure: a core with these features, bits of kernels/shared/core.h, and caches of 32 and 512 KiB. */
ndr_core ndr_core_of(unsigned features);

/* The cores of the context's device. The first call builds a kernel, but not for a device that has no row with vector
 * registers: there it gives ndr_core_of(0). */
ndr_status ndr_core_get(ndr_context *context, ndr_core *core);

/* For tests: take the device's cores for ones with these features; 0: probe again. */
ndr_status ndr_core_force(ndr_context *context, unsigned features);

/* ---- rows ---- */

enum { NDR_OPTIONS_SIZE = 160 };

/* What a row builds its kernels with, and launches, for a request. */
typedef struct ndr_op_plan {
    char options[NDR_OPTIONS_SIZE];
    ndr_nd_range range;     /* of its launch */
    size_t local_bytes;     /* of local memory, in arguments and declared, for a group of it */
    size_t workspace_bytes; /* 0: it needs none */
} ndr_op_plan;

/* Needs of a row beyond OpenCL 1.2, bits of ndr_op_row.needs. select.c has a description of each. */
typedef enum ndr_need {
    NDR_NEEDS_DEVICE_ORDER = 1u << 0, /* acquire and release between groups */
    NDR_NEEDS_F64_MMA = 1u << 1,      /* inline PTX that multiplies matrices of f64 */
    NDR_NEEDS_BF16_MMA = 1u << 2,     /* PTX, loaded as a binary, that multiplies matrices of bfloat16 */
    NDR_NEEDS_LARGE_GROUPS = 1u << 3, /* groups of 512 items with 32 KiB of local memory */
    NDR_NEEDS_F16_MMA = 1u << 4,      /* the same for half and bfloat16 */
    NDR_NEEDS_ROUNDED_MMA = 1u << 5,  /* the same, of kernels with one half for each element */
} ndr_need;

typedef struct ndr_op_job ndr_op_job;
typedef struct ndr_op_row ndr_op_row;

/* One implementation. `request` is the operation's struct. cannot() and unsuited() return the reason, or NULL; a
 * NULL function never has a reason. All functions but run() are pure. */
struct ndr_op_row {
    const char *name;   /* of its files, too, if it has its own: src/ops/OPERATION/NAME.c, kernels/OPERATION/NAME.cl */
    const char *file;   /* under kernels/ */
    const char *kernel; /* the main one */
    unsigned needs;
    const char *(*cannot)(const void *request);                         /* why it cannot run the request */
    const char *(*unsuited)(const ndr_caps *caps, const void *request); /* why a later row is better */
    void (*plan)(const ndr_caps *caps, const void *request, ndr_op_plan *plan);
    ndr_status (*run)(ndr_op_job *job);
    /* Of a row that uses more than OpenCL C: whether its results on this device are right. NULL: it uses no more. */
    ndr_status (*prove)(ndr_queue *queue, const ndr_op_row *row, bool *is_right);
};

/* What a request declares for traces: bytes read and written, each once, and floating-point operations. */
typedef struct ndr_op_work {
    uint64_t bytes, flops;
} ndr_op_work;

/* The rows in their order of selection. For each request there is a row without needs that can run it and suits it. */
typedef struct ndr_operation {
    const char *name; /* "reduce" */
    const ndr_op_row *const *rows;
    size_t row_count;
    uint32_t (*class_of)(const void *request); /* requests of one class are tuned together; NULL: never tuned */
    ndr_op_work (*work_of)(const void *request);
} ndr_operation;

/* ---- select.c ---- */

/* Pure: select the row for a request. `preferred` is taken if it can run the request; NULL: none. `lacks` are needs
 * that the device reports but does not meet. */
const ndr_op_row *ndr_op_select(const ndr_operation *operation, const ndr_caps *caps, unsigned lacks,
                                const ndr_op_row *preferred, const void *request);

/* Pure: "reduce: tree_groups; not tree_chunks: ...": the selected row, and the reason against each other row. */
void ndr_op_explain(const ndr_operation *operation, const ndr_caps *caps, unsigned lacks, const ndr_op_row *preferred,
                    const void *request, ndr_text *out);

/* Pure: the first need that the device does not meet, in words; NULL: it meets all. */
const char *ndr_op_find_unmet(const ndr_op_row *row, const ndr_caps *caps, unsigned lacks);

/* Pure, for unsuited(): NULL if each item has vector registers, as on CPUs. */
const char *ndr_op_lacks_vectors(const ndr_caps *caps, const void *request);

/* Run the request with that row, whatever others there are. */
ndr_status ndr_op_run_row(const ndr_op_row *row, const ndr_order *order, const void *request, ndr_event **event);

/* Select a row for the request and run it. `event` may be NULL. */
ndr_status ndr_op_run(const ndr_operation *operation, const ndr_order *order, const void *request, ndr_event **event);

/* Get the kernel of the row that ndr_op_run() would run, with the largest groups that it takes. */
ndr_status ndr_op_build(const ndr_operation *operation, ndr_context *context, const void *request, ndr_kernel **kernel);

/* ---- in reduce.c and matmul.c, for warm.c ---- */

/* ndr_op_build() for a call's descriptor, whose buffers are not read. */
ndr_status ndr_reduce_build(ndr_context *context, const ndr_reduce_desc *desc, ndr_kernel **kernel);
ndr_status ndr_matmul_build(ndr_context *context, const ndr_matmul_desc *desc, ndr_kernel **kernel);

/* ---- prefer.c ---- */

enum { NDR_EVERY_CLASS = UINT32_MAX >> 1 };

/* In this context, prefer the row for all requests of that class that it can run; NULL: select from the list. */
ndr_status ndr_op_prefer(ndr_context *context, const ndr_operation *operation, uint32_t request_class,
                         const ndr_op_row *row);

/* Write the tuned rows of the context to disk, for later contexts on this device. */
ndr_status ndr_op_keep_tuned(ndr_context *context, const ndr_operation *operation);

/* The row to prefer for the request: the forced one, else the tuned one, else NULL; and the needs that the
 * device reports but does not meet, as far as is known. */
ndr_status ndr_op_get_preferred(ndr_context *context, const ndr_operation *operation, const void *request,
                                const ndr_op_row **row, unsigned *lacks);

/* What is known about needs that the context's device reports. */
typedef enum ndr_needs_kind {
    NDR_NEEDS_LACKING, /* a kernel of theirs did not build or gave wrong results */
    NDR_NEEDS_PROVED,  /* a row of theirs gave right results */
    NDR_NEEDS_KINDS
} ndr_needs_kind;

ndr_status ndr_op_get_needs(ndr_context *context, ndr_needs_kind which, unsigned *needs);
ndr_status ndr_op_add_needs(ndr_context *context, ndr_needs_kind which, unsigned needs);

/* For tests: use that row for the operation in this context wherever it can run; NULL: select again. Refuses an
 * unknown name, and a row whose needs the device does not meet. */
ndr_status ndr_op_force(ndr_context *context, const ndr_operation *operation, const char *name);

/* The name of the forced row, or NULL. */
const char *ndr_op_forced(ndr_context *context, const ndr_operation *operation);

/* ---- prove.c ---- */

/* Whether the row computes what it should on the context's device. A row that uses more than OpenCL C is tried once on
 * each driver, and the answer is kept on disk; if it fails, its needs count as lacking, unless the device had no memory
 * for the trial: then it is tried again by the next call. */
ndr_status ndr_op_prove(const ndr_operation *operation, ndr_context *context, const ndr_op_row *row, bool *is_right);

/* ---- measure.c ---- */

/* Requests of one class on which rows are measured. */
typedef struct ndr_op_sample {
    const void *part, *whole; /* a small part, to discard slow rows early, and all of it */
    size_t part_count;        /* how many parts make the whole */
    /* Whether the whole result is right; called after each row's first run. */
    ndr_status (*check)(ndr_queue *queue, const void *whole, bool *is_right);
    int64_t (*clock_ns)(void); /* ndr_clock_ns(); a test has its own */
} ndr_op_sample;

typedef struct ndr_op_winner {
    const ndr_op_row *row, *listed; /* the fastest; that which the list selects */
    double seconds, listed_seconds; /* medians of one run */
} ndr_op_winner;

/* Measure each row that can run the sample, in turn, and find the fastest. It must be faster than the list's row by
 * more than the noise. A row with a wrong result, or that fails, is left out; no new run starts after `max_seconds`. */
ndr_status ndr_op_measure(const ndr_operation *operation, ndr_queue *queue, const ndr_op_sample *sample,
                          double max_seconds, ndr_op_winner *winner);

/* ---- job.c ---- */

/* A request that a row runs. */
struct ndr_op_job {
    ndr_context *context;
    ndr_queue *queue;       /* NULL: the kernels are only built */
    const ndr_order *order; /* what the first launch waits for */
    const ndr_op_row *row;
    const void *request;
    const ndr_caps *caps; /* the context's, or `smaller` */
    ndr_op_plan plan;
    ndr_workspace *workspace; /* NULL until it is borrowed; ndr_op_run() returns it */
    bool keeps_events;
    unsigned launches; /* so far */
    ndr_event *event;  /* spans the launches so far; NULL unless events are kept */
    ndr_caps smaller;  /* the context's, with the group size of a kernel */
};

/* Get a kernel of the row's file. */
ndr_status ndr_op_get_kernel(const ndr_op_job *job, const char *name, ndr_kernel **kernel);

/* Get the row's main kernel. Its largest group is known only after it is built. If that is smaller than the plan's
 * group, plan again with it. */
ndr_status ndr_op_get_main_kernel(ndr_op_job *job, ndr_kernel **kernel);

/* Borrow the plan's workspace; call it after getting the kernels. Other threads wait for it until the job is done. */
ndr_status ndr_op_borrow(ndr_op_job *job);

/* The borrowed workspace as an argument, or ndr_null. */
ndr_arg ndr_op_workspace_arg(const ndr_op_job *job);

/* Launch after all previous launches of the job: ndr_op_launch(job, kernel, range, args...). */
#define ndr_op_launch(job, kernel, ...)                                                                   \
    ndr_op_launch_v((job), (kernel), (const ndr_nd_range[]){ NDR_RANGE_OF_(NDR_FIRST_(__VA_ARGS__, 0)) }, \
                    (const ndr_arg[]){ ndr_null NDR_REST_(__VA_ARGS__) } + 1, NDR_COUNT_(__VA_ARGS__) - 1)
ndr_status ndr_op_launch_v(ndr_op_job *job, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                           size_t arg_count);

#endif
