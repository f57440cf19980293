/* select.h - the variant of an operation that runs a request. */
#ifndef NDR_OPS_SELECT_H
#define NDR_OPS_SELECT_H

#include "ndr/ndr_ops.h"
#include "ops/job.h"

/* Pure: the first need that the device does not meet, in words; NULL: it meets all. `lacks` are needs that the device
 * reports but does not meet. */
const char *ndr_op_find_unmet(const ndr_op_variant *variant, const ndr_caps *caps, ndr_lacks lacks);

/* Pure: the variant as something that is left out. */
ndr_lacks ndr_op_leave_out(const ndr_operation *operation, const ndr_op_variant *variant);

/* Pure: cannot() and unsuited() of a variant, and its plan. */
const char *ndr_op_cannot(const ndr_op_variant *variant, const void *request);
const char *ndr_op_unsuited(const ndr_op_variant *variant, const ndr_caps *caps, const void *request);
ndr_op_plan ndr_op_make_plan(const ndr_op_variant *variant, const ndr_caps *caps, const void *request);

/* Pure: select the variant for a request. `preferred` is taken if it can run the request; NULL: none. NULL: all that
 * can run it are left out. */
const ndr_op_variant *ndr_op_select(const ndr_operation *operation, const ndr_caps *caps, ndr_lacks lacks,
                                    const ndr_op_variant *preferred, const void *request);

/* Pure: "reduce: tree_groups; not tree_chunks: ...": the selected variant, and the reason against each other one. */
void ndr_op_explain(const ndr_operation *operation, const ndr_caps *caps, ndr_lacks lacks,
                    const ndr_op_variant *preferred, const void *request, ndr_text *out);

/* The same for ndr_reduce_explain() and the like, without the operation's name. */
ndr_status ndr_op_explain_in(const ndr_operation *operation, ndr_context *context, const void *request, size_t capacity,
                             char *text, size_t *length);

/* Define CALL_explain(). `make`, which fills the request `r`, and `operation` use `context`, `desc` and `r`. */
#define NDR_OP_EXPLAIN(call, request, make, operation)                                                    \
    ndr_status call##_explain(ndr_context *context, const call##_desc *desc, size_t capacity, char *text, \
                              size_t *length)                                                             \
    {                                                                                                     \
        request r;                                                                                        \
        NDR_REQUIRE_SET(context);                                                                         \
        NDR_TRY(make);                                                                                    \
        return ndr_op_explain_in(operation, context, &r, capacity, text, length);                         \
    }

/* Pure, unsuited() of variants whose items need vector registers, as on CPUs. */
const char *ndr_op_lacks_vectors(const ndr_op_case *of);

/* Pure: an option with a blank before it, or "". NVIDIA's compiler then lets an item of a group of any size have as many
 * registers as it may, 64. Otherwise it takes fewer for the sake of more groups, and puts off loads for that. */
const char *ndr_op_registers(const ndr_caps *caps);

/* Select a variant for the request and run it. `event` may be NULL. */
ndr_status ndr_op_run(const ndr_operation *operation, const ndr_order *order, const void *request, ndr_event **event);

/* Get a kernel of the variant that ndr_op_run() would run, with the largest groups that it takes: its main kernel if
 * `name` is NULL. */
ndr_status ndr_op_build(const ndr_operation *operation, ndr_context *context, const void *request, const char *name,
                        ndr_kernel **kernel);

/* ---- prove.c ---- */

/* Whether the variant computes what it should on the context's device: as ndr_selftest() has found, and the store on
 * disk says. A variant that uses more than OpenCL C is tried once on each driver; if it fails, its needs count as
 * lacking, unless the device had no memory for the trial: then it is tried again by the next call. Others count as right
 * until a self-test. */
ndr_status ndr_op_prove(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant,
                        bool *is_right);

/* Try a variant that has a proof, now and in this queue. */
ndr_status ndr_op_try(ndr_queue *queue, const ndr_op_variant *variant, bool *is_right);

/* What the store has, and appends to `why` the reason against the variant. */
ndr_verdict ndr_op_recall(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant,
                          ndr_text *why);

/* Use the variant in this context, or, if it is wrong, not. */
ndr_status ndr_op_note(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant,
                       bool is_wrong);

/* The same with a line in the log if there is a `fault`. `is_kept`: also on disk, and then it returns whether it is
 * there. */
bool ndr_op_judge(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant,
                  const char *fault, bool is_kept);

/* ---- trial.c ---- */

/* Whether a variant is being tried in a thread of the context, which ends before the context does, or waits for that.
 * If not, the store has the verdict, or ndr_op_prove() finds it. */
bool ndr_op_tries(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant);

/* Start the thread for those that wait. A driver may build for one thread at a time, so a call that builds comes
 * first. */
void ndr_op_start_trials(ndr_context *context);

/* Until all are tried. */
void ndr_op_wait_for_trials(ndr_context *context);

/* Of a proof, between its requests: fails if the context for which it is made is being destroyed. */
ndr_status ndr_op_goes_on(ndr_queue *queue);

#endif
