/* prove.c - which variants give right results on a driver: what self-tests found, and the trials of variants that use
 * more than OpenCL C before their first use. The store on disk has an answer for each variant. */
#include "device/cache.h"
#include "device/context.h"
#include "ops/choices.h"
#include "ops/select.h"

#include <stdio.h>

/* ---- on disk: "yes", or "no" and the reason ---- */

typedef struct question {
    char chars[64];
} question;

static question question_of(const ndr_operation *operation, const ndr_op_variant *variant)
{
    question out;
    snprintf(out.chars, sizeof out.chars, "%s: variant %s is right", operation->name, variant->name);
    return out;
}

ndr_verdict ndr_op_recall(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant,
                          ndr_text *why)
{
    ndr_text kept = { 0 };
    ndr_verdict verdict = NDR_VERDICT_UNKNOWN;
    if (ndr_cache_get(context, question_of(operation, variant).chars, &kept) && !kept.failed) {
        verdict = strcmp(kept.chars, "yes") == 0 ? NDR_VERDICT_RIGHT : NDR_VERDICT_WRONG;
        if (verdict == NDR_VERDICT_WRONG) ndr_text_add(why, "%s", kept.chars + ndr_min_size(kept.length, strlen("no ")));
    }
    ndr_text_free(&kept);
    return verdict;
}

static bool keep(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant, const char *fault)
{
    ndr_text answer = { 0 };
    ndr_text_add(&answer, fault ? "no %s" : "yes", fault);
    const bool is_kept = !answer.failed
                         && ndr_cache_put(context, question_of(operation, variant).chars, answer.chars, answer.length);
    ndr_text_free(&answer);
    return is_kept;
}

/* ---- in a context ---- */

/* The needs of a variant that uses more than OpenCL C are known to be met or not. */
ndr_status ndr_op_note(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant,
                       bool is_wrong)
{
    const ndr_lacks bit = ndr_op_leave_out(operation, variant);
    ndr_preference *known;
    ndr_choices *choices;
    NDR_TRY(ndr_choices_get(context, &choices));
    NDR_TRY(ndr_op_get_every_class(context, operation, &known));
    if (is_wrong) atomic_fetch_or(&known->wrong, bit);
    else atomic_fetch_and(&known->wrong, ~bit);
    if (variant->prove && is_wrong) atomic_fetch_or(&choices->lacks, variant->needs);
    else if (variant->prove) atomic_fetch_and(&choices->lacks, ~variant->needs);
    atomic_fetch_or(&known->judged, bit);
    return NDR_OK;
}

static void log_refusal(const ndr_operation *operation, const ndr_context *context, const ndr_op_variant *variant,
                        const char *fault)
{
    ndr_log(NDR_LOG_WARN, "op.refused", "%s: variant %s is not used on device \"%s\": %s", operation->name,
            variant->name, context->caps.info.name, fault);
}

bool ndr_op_judge(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant,
                  const char *fault, bool is_kept)
{
    if (fault) log_refusal(operation, context, variant, fault);
    NDR_IGNORE(ndr_op_note(operation, context, variant, fault != NULL));
    return is_kept && keep(operation, context, variant, fault);
}

/* ---- before the first use ---- */

/* Without memory for its workspace it fails: the variant instead of it would be tried. */
ndr_status ndr_op_try(ndr_queue *queue, const ndr_op_variant *variant, bool *is_right)
{
    ndr_op_variant alone = *variant;
    alone.instead = NULL;
    return variant->prove(queue, &alone, is_right);
}

/* On a queue of its own: the caller's may have work that takes long. */
static ndr_status try_variant(ndr_context *context, const ndr_op_variant *variant, bool *is_right)
{
    ndr_queue *queue;
    NDR_TRY(ndr_queue_create(context, NULL, &queue));
    const ndr_status status = ndr_op_try(queue, variant, is_right);
    ndr_queue_destroy(queue);
    return status;
}

/* A failure of the driver is not kept: it may not happen again. Without memory, or time, nothing is known. */
static ndr_status try_and_judge(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant,
                                bool *is_right)
{
    const ndr_status status = try_variant(context, variant, is_right);
    const char *const fault = status != NDR_OK ? ndr_last_error() : *is_right ? NULL : "its results are wrong";
    *is_right = !fault;
    if (status == NDR_OUT_OF_HOST_MEMORY || status == NDR_TIMEOUT) return status;
    if (status == NDR_OUT_OF_DEVICE_MEMORY) log_refusal(operation, context, variant, fault);
    else (void)ndr_op_judge(operation, context, variant, fault, status == NDR_OK || status == NDR_BUILD_FAILED);
    return NDR_OK;
}

static ndr_status find_out(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant,
                           bool *is_right)
{
    ndr_text why = { 0 };
    ndr_verdict verdict = NDR_VERDICT_UNKNOWN;
    if (variant->prove || !context->caps.skips_selftest) {
        ndr_text_add_all(&why, "it was refused before: ");
        verdict = ndr_op_recall(operation, context, variant, &why);
    }
    ndr_status status = NDR_OK;
    *is_right = verdict != NDR_VERDICT_WRONG;
    if (verdict == NDR_VERDICT_UNKNOWN && variant->prove)
        status = try_and_judge(operation, context, variant, is_right);
    else
        (void)ndr_op_judge(operation, context, variant,
                           *is_right     ? NULL
                           : why.failed ? "it was refused before"
                                         : why.chars,
                           false);
    ndr_text_free(&why);
    return status;
}

/* Threads that ask at the same time get the same answer. */
ndr_status ndr_op_prove(const ndr_operation *operation, ndr_context *context, const ndr_op_variant *variant,
                        bool *is_right)
{
    const ndr_lacks bit = ndr_op_leave_out(operation, variant);
    ndr_preference *known;
    ndr_choices *choices;
    NDR_TRY(ndr_op_get_every_class(context, operation, &known));
    *is_right = !(atomic_load(&known->wrong) & bit);
    if (atomic_load(&known->judged) & bit) return NDR_OK;
    NDR_TRY(ndr_choices_get(context, &choices));
    if (atomic_load(&choices->trusts)) return NDR_OK;
    return find_out(operation, context, variant, is_right);
}
