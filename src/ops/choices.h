/* choices.h - what a context knows about the variants of operations on its device. */
#ifndef NDR_OPS_CHOICES_H
#define NDR_OPS_CHOICES_H

#include "ops/variant.h"

enum { NDR_EVERY_CLASS = UINT32_MAX >> 1 };

/* In this context, prefer the variant for all requests of that class that it can run; NULL: select from the list. */
ndr_status ndr_op_prefer(ndr_context *context, const ndr_operation *operation, uint32_t request_class,
                         const ndr_op_variant *variant);

/* Write the tuned variants of the context to disk, for later contexts on this device. */
ndr_status ndr_op_keep_tuned(ndr_context *context, const ndr_operation *operation);

/* The variant to prefer for requests of that class: the one preferred for every class, which tests set, else the tuned
 * one, else NULL; and the needs that the device reports but does not meet, as far as is known. */
ndr_status ndr_op_get_preferred(ndr_context *context, const ndr_operation *operation, uint32_t request_class,
                                const ndr_op_variant **variant, unsigned *lacks);

/* What is known about needs that the context's device reports. */
typedef enum ndr_needs_kind {
    NDR_NEEDS_LACKING, /* a kernel of theirs did not build or gave wrong results */
    NDR_NEEDS_PROVED,  /* a variant of theirs gave right results */
    NDR_NEEDS_KINDS
} ndr_needs_kind;

ndr_status ndr_op_get_needs(ndr_context *context, ndr_needs_kind which, unsigned *needs);
ndr_status ndr_op_add_needs(ndr_context *context, ndr_needs_kind which, unsigned needs);

#endif
