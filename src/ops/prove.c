/* prove.c - checks once on each driver that a variant that uses more than OpenCL C computes right results. */
#include "device/cache.h"
#include "device/context.h"
#include "ops/choices.h"
#include "ops/select.h"

#include <stdio.h>

/* On a queue of its own: the caller's may have work that takes long. */
static ndr_status try_variant(ndr_context *context, const ndr_op_variant *variant, bool *is_right)
{
    ndr_queue *queue;
    NDR_TRY(ndr_queue_create(context, NULL, &queue));
    const ndr_status status = variant->prove(queue, variant, is_right);
    ndr_queue_destroy(queue);
    return status;
}

/* The answer on disk; without one, try the variant. A failure of the driver is not kept: it may not happen again.
 * Without memory on the device the status says so, and nothing is known. */
static ndr_status find_out(ndr_context *context, const ndr_op_variant *variant, const char *question,
                           const char **fault)
{
    bool is_right = false;
    ndr_text kept = { 0 };
    const bool is_kept = ndr_cache_get(context, question, &kept);
    *fault = is_kept && strcmp(kept.chars, "yes") != 0 ? "it was refused before" : NULL;
    ndr_text_free(&kept);
    if (is_kept) return NDR_OK;
    const ndr_status status = try_variant(context, variant, &is_right);
    if (status != NDR_OK) *fault = ndr_last_error();
    else if (!is_right) *fault = "its results are wrong";
    if (status == NDR_OK || status == NDR_BUILD_FAILED)
        (void)ndr_cache_put(context, question, *fault ? "no" : "yes", *fault ? 2 : 3);
    return status == NDR_OUT_OF_HOST_MEMORY || status == NDR_OUT_OF_DEVICE_MEMORY ? status : NDR_OK;
}

/* Threads that ask at the same time get the same answer. */
ndr_status ndr_op_prove(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant,
                        bool *is_right)
{
    ndr_choices *choices;
    char question[64];
    const char *fault;
    *is_right = true;
    if (!variant->prove) return NDR_OK;
    NDR_TRY(ndr_choices_get(context, &choices));
    if ((atomic_load(&choices->proved) & variant->needs) == variant->needs) return NDR_OK;
    snprintf(question, sizeof question, "%s: variant %s is right", operation->name, variant->name);
    const ndr_status status = find_out(context, variant, question, &fault);
    if (status == NDR_OUT_OF_HOST_MEMORY) return status;
    *is_right = !fault;
    if (fault)
        ndr_log(NDR_LOG_WARN, "op.refused", "%s: variant %s is not used on device \"%s\": %s", operation->name,
                variant->name, context->caps.info.name, fault);
    if (status == NDR_OK) atomic_fetch_or(fault ? &choices->lacks : &choices->proved, variant->needs);
    return NDR_OK;
}
