/* prove.c - checks once on each driver that a row that uses more than OpenCL C computes right results. */
#include "device/cache.h"
#include "device/context.h"
#include "ops/ops.h"

#include <stdio.h>
#include <string.h>

/* On a queue of its own: the caller's may have work that takes long. */
static ndr_status try_row(ndr_context *context, const ndr_op_row *row, bool *is_right)
{
    ndr_queue *queue;
    NDR_TRY(ndr_queue_create(context, NULL, &queue));
    const ndr_status status = row->prove(queue, row, is_right);
    ndr_queue_destroy(queue);
    return status;
}

static void log_refusal(const ndr_operation *operation, const ndr_op_row *row, const ndr_context *context,
                        const char *why)
{
    ndr_log(NDR_LOG_WARN, "op.refused", "%s: row %s is not used on device \"%s\": %s", operation->name, row->name,
            context->caps.info.name, why);
}

/* `*is_final` false: there was no memory on the device, so the row may be tried again. Another failure of the driver is
 * not kept on disk: it may not happen again. */
static ndr_status find_out(const ndr_operation *operation, ndr_context *context, const ndr_op_row *row, bool *is_right,
                           bool *is_final)
{
    *is_final = true;
    char question[64];
    ndr_text kept = { 0 };
    snprintf(question, sizeof question, "%s: row %s is right", operation->name, row->name);
    const bool is_kept = ndr_cache_get(context, question, &kept);
    *is_right = is_kept && strcmp(kept.chars, "yes") == 0;
    ndr_text_free(&kept);
    if (is_kept && !*is_right) log_refusal(operation, row, context, "it was refused before");
    if (is_kept) return NDR_OK;
    const ndr_status status = try_row(context, row, is_right);
    if (status == NDR_OUT_OF_HOST_MEMORY) return status;
    *is_final = status != NDR_OUT_OF_DEVICE_MEMORY;
    if (status != NDR_OK) *is_right = false;
    if (!*is_right) log_refusal(operation, row, context, status == NDR_OK ? "its results are wrong" : ndr_last_error());
    if (status == NDR_OK || status == NDR_BUILD_FAILED)
        (void)ndr_cache_put(context, question, *is_right ? "yes" : "no", *is_right ? 3 : 2);
    return NDR_OK;
}

/* Threads that ask at the same time get the same answer. */
ndr_status ndr_op_prove(const ndr_operation *operation, ndr_context *context, const ndr_op_row *row, bool *is_right)
{
    unsigned proved;
    bool is_final;
    *is_right = true;
    if (!row->prove) return NDR_OK;
    NDR_TRY(ndr_op_get_needs(context, NDR_NEEDS_PROVED, &proved));
    if ((proved & row->needs) == row->needs) return NDR_OK;
    NDR_TRY(find_out(operation, context, row, is_right, &is_final));
    if (!is_final) return NDR_OK;
    return ndr_op_add_needs(context, *is_right ? NDR_NEEDS_PROVED : NDR_NEEDS_LACKING, row->needs);
}
