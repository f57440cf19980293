/* job.c - runs one request by one variant: plan, kernels, workspace, launches. */
#include "device/context.h"
#include "device/queue.h"
#include "device/turns.h"
#include "ops/job.h"
#include "ops/written.h"

/* ---- kernels ---- */

/* A text of the caller may use the names of the options' macros. So these are lines behind the text, "#define ROWS 4"
 * for -DROWS=4. In `rest` remain the other options, and names that no caller uses. */
static void define(const char *options, ndr_text *text, ndr_text *rest)
{
    ndr_text_add_all(text, "\n");
    for (const char *at = options + strspn(options, " "); *at; at += strspn(at, " ")) {
        const int length = (int)strcspn(at, " "), name = (int)strcspn(at, "= ") - 2;
        const bool is_macro = strncmp(at, "-D", 2) == 0 && strncmp(at, "-DNDR_", 6) != 0;
        if (!is_macro) ndr_text_add(rest, "%.*s ", length, at);
        else if (length == name + 2) ndr_text_add(text, "#undef %.*s\n#define %.*s 1\n", name, at + 2, name, at + 2);
        else
            ndr_text_add(text, "#undef %.*s\n#define %.*s %.*s\n", name, at + 2, name, at + 2, length - name - 3,
                         at + name + 3);
        at += length;
    }
}

static ndr_status get_written(const ndr_op_job *job, const char *name, ndr_text *text, ndr_kernel **kernel)
{
    ndr_text rest = { 0 };
    define(job->plan.options, text, &rest);
    const ndr_kernel_desc desc = { .name = name, .bundled = job->of.variant->file, .options = rest.chars };
    text->failed |= rest.failed;
    const ndr_status status = ndr_written_get(job->context, &desc, text, kernel);
    ndr_text_free(&rest);
    return status;
}

static ndr_status get_kernel(const ndr_op_job *job, const char *name, ndr_kernel **kernel)
{
    const ndr_op_variant *variant = job->of.variant;
    const ndr_kernel_desc desc = { .name = name, .bundled = variant->file, .options = job->plan.options };
    ndr_text text = { 0 };
    if (variant->write) variant->write(&job->of, &text);
    const ndr_status status = text.length || text.failed ? get_written(job, name, &text, kernel)
                                                         : ndr_kernel_get(job->context, &desc, kernel);
    ndr_text_free(&text);
    return status;
}

static void plan_for_groups_of(ndr_op_job *job, size_t items)
{
    if (job->of.caps != &job->smaller) job->smaller = *job->of.caps;
    job->smaller.info.max_group_size = items;
    job->of.caps = &job->smaller;
    job->of.variant->plan(&job->of, &job->plan);
}

/* The largest group of a kernel is known only after it is built. If that is smaller than the plan's, plan again with
 * it. */
static ndr_status plan_and_get_kernel(ndr_op_job *job)
{
    job->of.variant->plan(&job->of, &job->plan);
    if (!job->of.variant->kernel) return NDR_OK;
    for (size_t before = SIZE_MAX;;) {
        NDR_TRY(get_kernel(job, job->of.variant->kernel, &job->kernel));
        const size_t most = ndr_max_size(1, job->kernel->info.max_group_size);
        const size_t items = ndr_sizes_product(job->plan.range.local.dims, job->plan.range.local.size);
        if (items <= most || items >= before) return NDR_OK;
        before = items;
        plan_for_groups_of(job, most);
    }
}

static ndr_status get_others(ndr_op_job *job)
{
    for (unsigned i = 0; i < NDR_OTHER_KERNELS && job->of.variant->others[i] && !job->plan.leaves_others; ++i)
        NDR_TRY(get_kernel(job, job->of.variant->others[i], &job->others[i]));
    return NDR_OK;
}

ndr_status ndr_op_build_variant(const ndr_op_variant *variant, ndr_context *context, const void *request,
                                const char *name, ndr_kernel **kernel)
{
    ndr_op_job job = { .of = { variant, &context->caps, request }, .context = context };
    NDR_TRY(plan_and_get_kernel(&job));
    if (name) return get_kernel(&job, name, kernel);
    *kernel = job.kernel;
    return NDR_OK;
}

/* ---- the workspace ---- */

/* After the kernels are got: other threads wait for it until the job is done. */
static ndr_status borrow(ndr_op_job *job)
{
    if (job->context->checker) NDR_TRY(ndr_turns_wait_before(job->order, job->of.variant->kernel)); /* without it */
    NDR_TRY(ndr_workspace_borrow(job->order->queue, job->plan.workspace_bytes, &job->workspace));
    if (!job->plan.numbered_bytes) return NDR_OK;
    const ndr_status status =
        ndr_workspace_get_numbered(job->workspace, job->context, job->plan.numbered_bytes, &job->numbered);
    if (status != NDR_OK) ndr_workspace_return(job->workspace, NULL);
    return status;
}

ndr_arg ndr_op_workspace_arg(const ndr_op_job *job)
{
    return job->workspace ? ndr_arg_of(ndr_workspace_buffer(job->workspace)) : ndr_null;
}

ndr_arg ndr_op_numbered_arg(const ndr_op_job *job) { return job->numbered ? ndr_arg_of(job->numbered) : ndr_null; }

unsigned ndr_op_take_number(ndr_op_job *job) { return job->workspace ? ndr_workspace_take_number(job->workspace) : 0; }

unsigned ndr_op_take_slot(ndr_op_job *job) { return job->workspace ? ndr_workspace_take_slot(job->workspace) : 0; }

/* ---- launches ---- */

/* The first launch waits for what the caller named. Out of order it also waits for the previous user of the workspace,
 * and each other launch for the one before. */
static ndr_order next_order(const ndr_op_job *job)
{
    ndr_order order = job->launches == 0 ? *job->order : (ndr_order){ .queue = job->order->queue };
    if (!order.queue->is_out_of_order) return order;
    order.also = job->event ? job->event : job->workspace ? ndr_workspace_busy_until(job->workspace) : NULL;
    return order;
}

ndr_status ndr_op_launch_v(ndr_op_job *job, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                           size_t arg_count)
{
    const ndr_order order = next_order(job);
    ndr_event *done = NULL;
    const ndr_launch_request request = {
        .order = &order, .kernel = kernel, .range = range, .args = args, .arg_count = arg_count
    };
    NDR_TRY(ndr_launch_in(&request, job->keeps_events ? &done : NULL));
    ++job->launches;
    job->event = ndr_event_join(job->event, done);
    return NDR_OK;
}

/* Members that are not set here are set before use. */
static void open_job(ndr_op_job *job, const ndr_op_variant *variant, const ndr_order *order, const void *request,
                     bool has_event)
{
    job->context = order->queue->context;
    job->of = (ndr_op_case){ variant, &job->context->caps, request };
    job->order = order;
    for (unsigned i = 0; i < NDR_OTHER_KERNELS; ++i) job->others[i] = NULL;
    job->workspace = NULL;
    job->numbered = NULL;
    job->keeps_events = has_event || order->queue->is_out_of_order;
    job->launches = 0;
    job->event = NULL;
}

static ndr_status run_instead(const ndr_op_variant *variant, const ndr_order *order, const void *request,
                              ndr_event **event)
{
    ndr_log(NDR_LOG_INFO, "op.row", "%.*s: %s instead of %s: %s", (int)strcspn(variant->file, "/"), variant->file,
            variant->instead->name, variant->name, ndr_last_error());
    return ndr_op_run_variant(variant->instead, order, request, event);
}

ndr_status ndr_op_run_variant(const ndr_op_variant *variant, const ndr_order *order, const void *request,
                              ndr_event **event)
{
    ndr_op_job job;
    open_job(&job, variant, order, request, event != NULL);
    NDR_TRY(plan_and_get_kernel(&job));
    if (job.plan.workspace_bytes) {
        NDR_TRY(get_others(&job));
        const ndr_status status = borrow(&job);
        if (status != NDR_OK && !variant->instead) return status;
        if (status != NDR_OK) return run_instead(variant, order, request, event);
    }
    const ndr_status status = variant->launch(&job);
    if (job.workspace) ndr_workspace_return(job.workspace, order->queue->is_out_of_order ? job.event : NULL);
    if (status == NDR_OK && event) *event = job.event;
    else ndr_event_destroy(job.event);
    return status;
}

ndr_status ndr_op_run_within(ndr_op_job *job, const ndr_op_variant *variant, const void *request)
{
    ndr_op_job part;
    open_job(&part, variant, job->order, request, job->keeps_events);
    NDR_TRY(plan_and_get_kernel(&part));
    NDR_TRY(get_others(&part));
    part.workspace = job->workspace;
    part.launches = job->launches;
    part.event = job->event;
    const ndr_status status = variant->launch(&part);
    job->launches = part.launches;
    job->event = part.event;
    return status;
}
