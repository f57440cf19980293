/* select.h - the variant of an operation that runs a request. */
#ifndef NDR_OPS_SELECT_H
#define NDR_OPS_SELECT_H

#include "ops/job.h"

/* Pure: the first need that the device does not meet, in words; NULL: it meets all. `lacks` are needs that the device
 * reports but does not meet. */
const char *ndr_op_find_unmet(const ndr_op_variant *variant, const ndr_caps *caps, unsigned lacks);

/* Pure: cannot() and unsuited() of a variant, and its plan. */
const char *ndr_op_cannot(const ndr_op_variant *variant, const void *request);
const char *ndr_op_unsuited(const ndr_op_variant *variant, const ndr_caps *caps, const void *request);
ndr_op_plan ndr_op_make_plan(const ndr_op_variant *variant, const ndr_caps *caps, const void *request);

/* Pure: select the variant for a request. `preferred` is taken if it can run the request; NULL: none. */
const ndr_op_variant *ndr_op_select(const ndr_operation *operation, const ndr_caps *caps, unsigned lacks,
                                    const ndr_op_variant *preferred, const void *request);

/* Pure: "reduce: tree_groups; not tree_chunks: ...": the selected variant, and the reason against each other one. */
void ndr_op_explain(const ndr_operation *operation, const ndr_caps *caps, unsigned lacks,
                    const ndr_op_variant *preferred, const void *request, ndr_text *out);

/* The same for ndr_reduce_explain() and ndr_matmul_explain(), without the operation's name. */
ndr_status ndr_op_explain_in(const ndr_operation *operation, ndr_context *context, const void *request, size_t capacity,
                             char *text, size_t *length);

/* Pure, unsuited() of variants whose items need vector registers, as on CPUs. */
const char *ndr_op_lacks_vectors(const ndr_op_case *of);

/* Select a variant for the request and run it. `event` may be NULL. */
ndr_status ndr_op_run(const ndr_operation *operation, const ndr_order *order, const void *request, ndr_event **event);

/* Get the kernel of the variant that ndr_op_run() would run, with the largest groups that it takes. */
ndr_status ndr_op_build(const ndr_operation *operation, ndr_context *context, const void *request, ndr_kernel **kernel);

/* prove.c: whether the variant computes what it should on the context's device. A variant that uses more than OpenCL C
 * is tried once on each driver, and the answer is kept on disk; if it fails, its needs count as lacking, unless the
 * device had no memory for the trial: then it is tried again by the next call. */
ndr_status ndr_op_prove(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant,
                        bool *is_right);

#endif
