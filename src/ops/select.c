/* select.c - selects the row of an operation that runs a request, and explains the choice. */
#include "device/context.h"
#include "device/queue.h"
#include "device/trace.h"
#include "ops/ops.h"

#include <stdio.h>

/* ---- needs ---- */

static bool has_device_order(const ndr_caps *caps) { return caps->orders_device; }

/* As far as a device reports it. The rows' prove() shows the rest. */
static bool may_take_mma(const ndr_caps *caps)
{
    return caps->info.warp_size == 32 && !(caps->disabled & NDR_DISABLE_PTX);
}

static bool has_large_groups(const ndr_caps *caps)
{
    const ndr_device_info *device = &caps->info;
    return device->max_group_size >= 512 && device->max_local_size[2] >= 512
           && device->local_memory_bytes >= (size_t)32 << 10;
}

static const struct {
    unsigned bit;
    const char *what; /* "it needs ..." */
    bool (*is_met)(const ndr_caps *caps);
} needs[] = {
    { NDR_NEEDS_DEVICE_ORDER, "memory order between groups (OpenCL 3.0's acq_rel at device scope, or PTX)",
      has_device_order },
    { NDR_NEEDS_F64_MMA, "inline PTX that multiplies matrices of f64", may_take_mma },
    { NDR_NEEDS_BF16_MMA, "PTX that multiplies matrices of bfloat16", may_take_mma },
    { NDR_NEEDS_LARGE_GROUPS, "groups of 512 items with 32 KiB of local memory", has_large_groups },
    { NDR_NEEDS_F16_MMA, "PTX that multiplies matrices of half", may_take_mma },
    { NDR_NEEDS_ROUNDED_MMA, "PTX that multiplies matrices of rounded elements", may_take_mma },
};
enum { NEEDS = NDR_COUNT_OF(needs) };

const char *ndr_op_find_unmet(const ndr_op_row *row, const ndr_caps *caps, unsigned lacks)
{
    for (size_t i = 0; i < NEEDS; ++i)
        if ((row->needs & needs[i].bit) && ((lacks & needs[i].bit) || !needs[i].is_met(caps))) return needs[i].what;
    return NULL;
}

const char *ndr_op_lacks_vectors(const ndr_caps *caps, const void *request)
{
    (void)request;
    return ndr_has_vectors(caps) ? NULL : "the device is not a CPU whose items have vector registers";
}

/* ---- choosing ---- */

static const char *find_obstacle(const ndr_op_row *row, const void *request)
{
    return row->cannot ? row->cannot(request) : NULL;
}

static const char *find_objection(const ndr_op_row *row, const ndr_caps *caps, const void *request)
{
    return row->unsuited ? row->unsuited(caps, request) : NULL;
}

static bool can_run(const ndr_op_row *row, const ndr_caps *caps, unsigned lacks, const void *request)
{
    return !ndr_op_find_unmet(row, caps, lacks) && !find_obstacle(row, request);
}

const ndr_op_row *ndr_op_select(const ndr_operation *operation, const ndr_caps *caps, unsigned lacks,
                                const ndr_op_row *preferred, const void *request)
{
    if (preferred && can_run(preferred, caps, lacks, request)) return preferred;
    size_t i = 0;
    while (i + 1 < operation->row_count
           && (!can_run(operation->rows[i], caps, lacks, request) || find_objection(operation->rows[i], caps, request)))
        ++i;
    return operation->rows[i];
}

/* ---- explaining ---- */

static void explain_row(const ndr_op_row *row, const ndr_caps *caps, unsigned lacks, const char *otherwise,
                        const void *request, ndr_text *out)
{
    const char *unmet = ndr_op_find_unmet(row, caps, lacks), *obstacle = find_obstacle(row, request);
    const char *objection = find_objection(row, caps, request);
    const char *why = unmet ? unmet : obstacle ? obstacle : objection ? objection : otherwise;
    ndr_text_add(out, "; not %s: %s%s", row->name, unmet ? "the device lacks " : "", why);
}

void ndr_op_explain(const ndr_operation *operation, const ndr_caps *caps, unsigned lacks, const ndr_op_row *preferred,
                    const void *request, ndr_text *out)
{
    const ndr_op_row *taken = ndr_op_select(operation, caps, lacks, preferred, request);
    const char *otherwise = taken == preferred ? "another is preferred" : "it comes later in the list";
    ndr_text_add(out, "%s: %s", operation->name, taken->name);
    for (size_t i = 0; i < operation->row_count; ++i)
        if (operation->rows[i] != taken) explain_row(operation->rows[i], caps, lacks, otherwise, request, out);
}

/* ---- running ---- */

ndr_status ndr_op_run_row(const ndr_op_row *row, const ndr_order *order, const void *request, ndr_event **event)
{
    ndr_queue *const queue = order->queue;
    ndr_op_job job; /* members that are not set here are set before use */
    job.context = queue->context;
    job.queue = queue;
    job.order = order;
    job.launches = 0;
    job.row = row;
    job.request = request;
    job.caps = &queue->context->caps;
    job.workspace = NULL;
    job.keeps_events = event || queue->is_out_of_order;
    job.event = NULL;
    row->plan(job.caps, request, &job.plan);
    const ndr_status status = row->run(&job);
    if (job.workspace)
        ndr_workspace_return(job.workspace, queue->is_out_of_order ? job.event : NULL);
    if (status == NDR_OK && event) *event = job.event;
    else ndr_event_destroy(job.event);
    return status;
}

static void log_choice(const ndr_operation *operation, const ndr_caps *caps, unsigned lacks,
                       const ndr_op_row *preferred, const void *request)
{
    ndr_text text = { 0 };
    ndr_op_explain(operation, caps, lacks, preferred, request, &text);
    ndr_log(NDR_LOG_DEBUG, "op.row", "%s", text.chars ? text.chars : operation->name);
    ndr_text_free(&text);
}

/* In a trace, the launches of a row are a region. */
static ndr_status run_traced(const ndr_operation *operation, const ndr_op_row *row, const ndr_order *order,
                             const void *request, ndr_event **event)
{
    char label[96];
    const ndr_op_work work = operation->work_of(request);
    snprintf(label, sizeof label, "%s %s", operation->name, row->name);
    ndr_trace_begin(label, work.bytes, work.flops);
    const ndr_status status = ndr_op_run_row(row, order, request, event);
    ndr_trace_end();
    return status;
}

/* A row whose results are wrong is recorded, and another is selected, as instead of one that cannot be tried now. */
static ndr_status select_row(const ndr_operation *operation, ndr_context *context, const void *request,
                             const ndr_op_row **row)
{
    unsigned lacks, left_out = 0;
    const ndr_op_row *preferred;
    bool is_right;
    do {
        NDR_TRY(ndr_op_get_preferred(context, operation, request, &preferred, &lacks));
        lacks |= left_out;
        *row = ndr_op_select(operation, &context->caps, lacks, preferred, request);
        NDR_TRY(ndr_op_prove(operation, context, *row, &is_right));
        if (!is_right) left_out |= (*row)->needs;
    } while (!is_right);
    if (ndr_logs(NDR_LOG_DEBUG)) log_choice(operation, &context->caps, lacks, preferred, request);
    return NDR_OK;
}

/* If a row's kernel does not build although the device reports its needs, record that; the next row is tried. */
static bool is_to_try_again(const ndr_operation *operation, ndr_context *context, const ndr_op_row *row,
                            ndr_status *status)
{
    if (*status != NDR_BUILD_FAILED || !row->needs) return false;
    ndr_log(NDR_LOG_WARN, "op.lacks", "%s: %s did not build, although device \"%s\" reports what it needs: %s",
            operation->name, row->name, context->caps.info.name, ndr_last_error());
    *status = ndr_op_add_needs(context, NDR_NEEDS_LACKING, row->needs);
    return *status == NDR_OK;
}

ndr_status ndr_op_run(const ndr_operation *operation, const ndr_order *order, const void *request, ndr_event **event)
{
    ndr_context *const context = order->queue->context;
    const ndr_op_row *row;
    ndr_status status;
    do {
        NDR_TRY(select_row(operation, context, request, &row));
        status = ndr_is_traced() ? run_traced(operation, row, order, request, event)
                                 : ndr_op_run_row(row, order, request, event);
    } while (is_to_try_again(operation, context, row, &status));
    return status;
}

static ndr_status build_row(const ndr_op_row *row, ndr_context *context, const void *request, ndr_kernel **kernel)
{
    ndr_op_job job = { .context = context, .row = row, .request = request, .caps = &context->caps };
    row->plan(job.caps, request, &job.plan);
    return ndr_op_get_main_kernel(&job, kernel);
}

ndr_status ndr_op_build(const ndr_operation *operation, ndr_context *context, const void *request, ndr_kernel **kernel)
{
    const ndr_op_row *row;
    ndr_status status;
    do {
        NDR_TRY(select_row(operation, context, request, &row));
        status = build_row(row, context, request, kernel);
    } while (is_to_try_again(operation, context, row, &status));
    return status;
}
