/* choices.h - what a context knows about the variants of operations on its device. */
#ifndef NDR_OPS_CHOICES_H
#define NDR_OPS_CHOICES_H

#include "device/attachment.h"
#include "ops/core.h"
#include "ops/variant.h"

/* The most preferences of a context, not counting those for every class, of which each operation has one. */
enum { NDR_EVERY_CLASS = UINT32_MAX >> 1, NDR_MAX_PREFERENCES = 64, NDR_MAX_OPERATIONS = 16 };

typedef struct ndr_preference {
    const ndr_operation *operation;
    uint32_t request_class;                /* NDR_EVERY_CLASS, or one that was tuned */
    const ndr_op_variant *_Atomic variant; /* NULL: no preference now */
    _Atomic(ndr_lacks) wrong, judged; /* of every class: the variants that are, and that are known to be or not to be */
} ndr_preference;

typedef struct ndr_choices {
    ndr_attachment base; /* of the context; its lock is held to add preferences and to set the core, not to read them */
    atomic_uint lacks;   /* needs that the device reports, but of which a kernel did not build or gave wrong results */
    atomic_bool trusts;  /* no variant is tried before it is used, nor left out for what is on disk: in a self-test */
    const struct ndr_trials *tried_for; /* of a context of trial.c, which tries variants for another; otherwise NULL */
    atomic_bool has_core;
    ndr_core core;
    ndr_preference preferences[NDR_MAX_PREFERENCES + NDR_MAX_OPERATIONS];
    size_t used;         /* guarded by the lock */
    atomic_size_t count; /* of preferences, to be read without it */
} ndr_choices;

ndr_status ndr_choices_get(ndr_context *context, ndr_choices **choices);

/* In this context, prefer the variant for all requests of that class that it can run; NULL: select from the list. */
ndr_status ndr_op_prefer(ndr_context *context, const ndr_operation *operation, uint32_t request_class,
                         const ndr_op_variant *variant);

/* Write the tuned variants of the context to disk, for later contexts on this device. */
ndr_status ndr_op_keep_tuned(ndr_context *context, const ndr_operation *operation);

/* The variant to prefer for requests of that class: the one preferred for every class, which tests set, else the tuned
 * one, else NULL; and what is to be left out, as far as is known. */
ndr_status ndr_op_get_preferred(ndr_context *context, const ndr_operation *operation, uint32_t request_class,
                                const ndr_op_variant **variant, ndr_lacks *lacks);

/* The preference for every class, which has what is known about the variants. */
ndr_status ndr_op_get_every_class(ndr_context *context, const ndr_operation *operation, ndr_preference **out);

#endif
