/* job.h - a request that a variant runs: its kernels, its workspace and its launches in order. */
#ifndef NDR_OPS_JOB_H
#define NDR_OPS_JOB_H

#include "launch/launch.h"
#include "ops/variant.h"

struct ndr_op_job {
    ndr_op_case of; /* `caps` are the context's, or `smaller` */
    ndr_context *context;
    const ndr_order *order; /* of the queue; what the first launch waits for */
    ndr_op_plan plan;
    ndr_kernel *kernel, *others[NDR_OTHER_KERNELS]; /* `others` are NULL without a workspace */
    ndr_workspace *workspace;                       /* NULL if the plan needs none */
    ndr_buffer *numbered;                           /* the same */
    bool keeps_events;
    unsigned launches; /* so far */
    ndr_event *event;  /* spans the launches so far; NULL unless events are kept */
    ndr_caps smaller;  /* the context's, with the group size of a kernel */
};

/* Run the request with that variant, or with the one instead of it if there is no memory for its workspace. */
ndr_status ndr_op_run_variant(const ndr_op_variant *variant, const ndr_order *order, const void *request,
                              ndr_event **event);

/* As a part of a job: its launches come after those of the job so far. They use the same workspace, of which the job's
 * plan has the bytes for both. */
ndr_status ndr_op_run_within(ndr_op_job *job, const ndr_op_variant *variant, const void *request);

/* Get a kernel of the variant's program, with the largest groups that it takes: its main kernel if `name` is NULL. */
ndr_status ndr_op_build_variant(const ndr_op_variant *variant, ndr_context *context, const void *request,
                                const char *name, ndr_kernel **kernel);

/* The workspace as an argument, or ndr_null; its numbered words; a slot and a number of it, or 0. */
ndr_arg ndr_op_workspace_arg(const ndr_op_job *job);
ndr_arg ndr_op_numbered_arg(const ndr_op_job *job);
unsigned ndr_op_take_slot(ndr_op_job *job);
unsigned ndr_op_take_number(ndr_op_job *job);

/* Launch after all previous launches of the job: ndr_op_launch(job, kernel, range, args...). */
#define ndr_op_launch(job, kernel, ...)                                                                   \
    ndr_op_launch_v((job), (kernel), (const ndr_nd_range[]){ NDR_RANGE_OF_(NDR_FIRST_(__VA_ARGS__, 0)) }, \
                    (const ndr_arg[]){ ndr_null NDR_REST_(__VA_ARGS__) } + 1, NDR_COUNT_(__VA_ARGS__) - 1)
ndr_status ndr_op_launch_v(ndr_op_job *job, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                           size_t arg_count);

#endif
