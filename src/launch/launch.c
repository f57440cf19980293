/* launch.c - enqueues kernels. */
#include "device/command.h"
#include "device/context.h"
#include "device/queue.h"
#include "device/submit.h"
#include "launch/launch.h"

#include <stdlib.h>
#include <string.h>

/* ---- planning ---- */

static bool are_same(unsigned dims, const size_t *a, const size_t *b)
{
    for (unsigned d = 0; d < dims; ++d)
        if (a[d] != b[d]) return false;
    return true;
}

static bool is_same_range(const ndr_nd_range *a, const ndr_nd_range *b)
{
    const unsigned dims = a->global.dims | a->groups.dims;
    return dims != 0 && a->global.dims == b->global.dims && a->groups.dims == b->groups.dims
           && a->local.dims == b->local.dims && a->edge == b->edge && are_same(dims, a->offset, b->offset)
           && are_same(a->global.dims, a->global.size, b->global.size)
           && are_same(a->groups.dims, a->groups.size, b->groups.size)
           && are_same(a->local.dims, a->local.size, b->local.size);
}

/* Some drivers count global ids in 32 bits and report no error. If an offset exceeds that, a kernel with a record
 * adds the offset itself, and the driver gets none. */
static bool adds_offset_itself(ndr_form form, const ndr_piece *piece, unsigned d)
{
    return form != NDR_FORM_PLAIN && piece->offset[d] > UINT32_MAX - ndr_min_size(piece->global[d], UINT32_MAX);
}

static ndr_cl_piece piece_for_cl(ndr_form form, const ndr_range_plan *plan, const ndr_piece *piece)
{
    ndr_cl_piece out = { .record.of.dims = plan->dims };
    size_t passed[3];
    for (unsigned d = 0; d < plan->dims; ++d) {
        const bool is_own = adds_offset_itself(form, piece, d);
        passed[d] = is_own ? 0 : piece->offset[d];
        out.record.of.global_range[d] = plan->global_range[d];
        out.record.of.offset[d] = plan->offset[d];
        out.record.of.group_range[d] = plan->group_range[d];
        out.record.of.first_group[d] = piece->first_group[d];
        out.record.of.local_range[d] = plan->local_range[d];
        out.record.of.base[d] = is_own ? piece->offset[d] : 0;
    }
    ndr_reverse_dims(plan->dims, passed, out.offset);
    ndr_reverse_dims(plan->dims, piece->global, out.global);
    ndr_reverse_dims(plan->dims, piece->local, out.local);
    return out;
}

static void forget_arguments(const ndr_kernel *kernel, ndr_planned *last)
{
    for (unsigned i = 0; i < kernel->info.arg_count; ++i) last->bound[i].set.kind = NDR_ARG_NONE;
    last->record = NULL;
    last->scratch_bytes = 0;
}

static ndr_status get_last_launch(ndr_kernel *kernel, ndr_planned **last)
{
    if (!kernel->attached)
        kernel->attached = calloc(1, sizeof(ndr_planned) + kernel->info.arg_count * sizeof(ndr_bound));
    *last = kernel->attached;
    if (!*last) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a launch");
    if (atomic_load(&kernel->native_handle_exposed)) forget_arguments(kernel, *last); /* other code may have set them */
    return NDR_OK;
}

/* `cl` itself stays: threads query it. */
__attribute__((cold)) static ndr_status renew_kernel(ndr_kernel *kernel, ndr_planned *last)
{
    cl_kernel made;
    NDR_TRY(ndr_kernel_clone(kernel, &made));
    if (kernel->renewed) ndr_cl.clReleaseKernel(kernel->renewed);
    kernel->renewed = made;
    forget_arguments(kernel, last);
    for (unsigned i = 0; i < kernel->info.arg_count; ++i) last->bound[i].had_shared = false;
    return NDR_OK;
}

cl_kernel ndr_launch_kernel_of(const ndr_kernel *kernel) { return kernel->renewed ? kernel->renewed : kernel->cl; }

static ndr_status plan(const ndr_kernel *kernel, const ndr_nd_range *range, ndr_planned *last)
{
    if (is_same_range(&last->range, range)) return NDR_OK;
    last->range.global.dims = last->range.groups.dims = 0;
    last->record = NULL;
    const ndr_range_rules rules = ndr_range_rules_of(kernel);
    NDR_TRY(ndr_range_make_plan(range, &rules, &last->plan));
    for (unsigned i = 0; i < last->plan.piece_count; ++i)
        last->pieces[i] = piece_for_cl(kernel->form, &last->plan, &last->plan.pieces[i]);
    if (kernel->form == NDR_FORM_REDUCTION) ndr_reduction_divide(kernel, range, last);
    last->range = *range;
    return NDR_OK;
}

/* ---- checks ---- */

/* Scratch memory of group functions: one element of the widest type for each item of a group. */
static size_t scratch_bytes_for(const ndr_kernel *kernel, const ndr_range_plan *plan)
{
    return kernel->has_scratch ? sizeof(cl_ulong) * ndr_max_size(plan->largest_group, 1) : 0;
}

/* Some drivers abort the process on too much local memory, also on what the kernel declares alone. */
ndr_status ndr_launch_check_local(const ndr_kernel *kernel, size_t arguments, size_t scratch)
{
    const size_t declared = kernel->info.local_memory_bytes;
    const size_t limit = kernel->context->caps.info.local_memory_bytes;
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, declared <= limit,
                   "kernel \"%s\" declares %zu bytes of local memory inside it; the device has %zu for a group: make "
                   "its local arrays smaller, or move them to a buffer",
                   kernel->name, declared, limit);
    const bool fits = arguments <= limit && scratch <= limit - arguments && declared <= limit - arguments - scratch;
    NDR_REQUIRE_AS(
        NDR_LIMIT_EXCEEDED, fits,
        "kernel \"%s\" would need %zu bytes of local memory in arguments, %zu declared inside it and %zu for "
        "group functions; the device has %zu for a group: reduce the ndr_local() arguments or the group size",
        kernel->name, arguments, declared, scratch, limit);
    return NDR_OK;
}

static ndr_status check_objects(const ndr_launch_request *r)
{
    const ndr_queue *queue = r->order->queue;
    const ndr_kernel *kernel = r->kernel;
    NDR_REQUIRE(queue, "ndr_launch: queue is NULL; make one with ndr_queue_create()");
    NDR_REQUIRE(kernel, "ndr_launch: kernel is NULL; get one with ndr_kernel_get()");
    NDR_REQUIRE(r->range, "ndr_launch: range is NULL (kernel \"%s\")", kernel->name);
    NDR_REQUIRE(kernel->context == queue->context,
                "kernel \"%s\" and the queue belong to different contexts; get the kernel from the queue's context",
                kernel->name);
    return NDR_OK;
}

ndr_status ndr_launch_plan(ndr_launch_state *l, const ndr_launch_request *r)
{
    NDR_TRY(plan(l->kernel, r->range, l->planned));
    size_t local_bytes;
    NDR_TRY(ndr_args_check(l->kernel, r->args, r->arg_count, l->planned->bound, &local_bytes));
    if (l->kernel->form == NDR_FORM_REDUCTION) NDR_TRY(ndr_reduction_check(l->kernel, r->args));
    l->arg_count = r->arg_count;
    l->scratch_bytes = scratch_bytes_for(l->kernel, &l->planned->plan);
    return ndr_launch_check_local(l->kernel, local_bytes, l->scratch_bytes);
}

/* ---- setting arguments ---- */

static ndr_status bind_scratch(const ndr_launch_state *l, cl_kernel cl)
{
    if (l->scratch_bytes == l->planned->scratch_bytes) return NDR_OK;
    l->planned->scratch_bytes = 0;
    NDR_TRY_CL(clSetKernelArg(cl, l->kernel->arg_count - 2, l->scratch_bytes, NULL));
    l->planned->scratch_bytes = l->scratch_bytes;
    return NDR_OK;
}

static ndr_status bind_record(const ndr_launch_state *l, cl_kernel cl, const ndr_reduction_record *record)
{
    if (l->kernel->form == NDR_FORM_PLAIN || record == l->planned->record) return NDR_OK;
    l->planned->record = NULL;
    const size_t bytes = l->kernel->form == NDR_FORM_REDUCTION ? sizeof *record : sizeof record->of;
    NDR_TRY_CL(clSetKernelArg(cl, l->kernel->arg_count - 1, bytes, record));
    l->planned->record = record;
    return NDR_OK;
}

static ndr_status bind(const ndr_launch_state *l, cl_kernel cl)
{
    NDR_TRY(ndr_args_bind(l->kernel, cl, l->planned->bound, l->arg_count));
    return bind_scratch(l, cl);
}

ndr_status ndr_launch_bind_clone(const ndr_launch_state *l, unsigned piece)
{
    l->planned->scratch_bytes = 0;
    l->planned->record = NULL;
    NDR_TRY(bind(l, l->clones[piece]));
    return bind_record(l, l->clones[piece], &l->planned->pieces[piece].record);
}

/* ---- enqueueing ---- */

static ndr_status enqueue_piece(ndr_submission *s, const ndr_launch_state *l, unsigned i)
{
    const ndr_cl_piece *piece = &l->planned->pieces[i];
    const cl_kernel cl = l->clones ? l->clones[i] : ndr_launch_kernel_of(l->kernel);
    if (!l->clones) NDR_TRY(bind_record(l, cl, &piece->record));
    return ndr_submit_kernel(s, cl, l->kernel->name, l->planned->plan.dims, piece->offset, piece->global, piece->local);
}

/* The driver rejected a piece; report how many were enqueued. */
static ndr_status fail_at_piece(const ndr_launch_state *l, unsigned piece, ndr_status status)
{
    const ndr_range_plan *plan = &l->planned->plan;
    const ndr_status said = ndr_fail_with_code(
        status, ndr_last_cl_error(), "kernel \"%s\", global %s, local %s: %s; %u of its %u pieces are enqueued",
        l->kernel->name, ndr_sizes_print(plan->dims, plan->global_range).chars,
        ndr_sizes_print(plan->dims, plan->pieces[piece].local).chars, ndr_last_error(), piece, plan->piece_count);
    return ndr_args_fail_for_bytes(l->kernel, said);
}

__attribute__((cold)) static void log_launch(const ndr_launch_state *l)
{
    const ndr_range_plan *plan = &l->planned->plan;
    ndr_log(NDR_LOG_DEBUG, "launch", "kernel \"%s\", global %s, local %s, pieces %u", l->kernel->name,
            ndr_sizes_print(plan->dims, plan->global_range).chars,
            ndr_sizes_print(plan->dims, plan->local_range).chars, plan->piece_count);
}

static ndr_status enqueue_pieces(ndr_submission *s, const void *launch)
{
    const ndr_launch_state *l = launch;
    for (unsigned i = 0; i < l->planned->plan.piece_count; ++i) {
        const ndr_status status = enqueue_piece(s, l, i);
        if (status != NDR_OK) return fail_at_piece(l, i, status);
    }
    if (ndr_logs(NDR_LOG_DEBUG)) log_launch(l);
    return NDR_OK;
}

ndr_status ndr_launch_enqueue(const ndr_launch_state *l, ndr_event **event)
{
    if (l->planned->plan.piece_count == 0) return ndr_queue_mark_in(l->order, event);
    return ndr_command_run_checked(&(ndr_command){ l->order, enqueue_pieces, l, l->kernel->name }, event);
}

/* ---- launching ---- */

ndr_launch_state ndr_launch_state_of(const ndr_launch_request *r)
{
    return (ndr_launch_state){
        .queue = r->order->queue, .order = r->order, .kernel = r->kernel, .workspace = r->workspace
    };
}

/* The caller holds the kernel's lock. */
static ndr_status launch_locked(const ndr_launch_request *r, ndr_event **event)
{
    ndr_launch_state l = ndr_launch_state_of(r);
    NDR_TRY(get_last_launch(l.kernel, &l.planned));
    if (r->arg_count == l.kernel->info.arg_count && ndr_args_need_new_kernel(l.planned->bound, r->args, r->arg_count))
        NDR_TRY(renew_kernel(l.kernel, l.planned));
    NDR_TRY(ndr_launch_plan(&l, r));
    NDR_TRY(ndr_args_check_use(l.kernel, l.queue, r->args, r->arg_count));
    if (l.planned->plan.piece_count > 0) NDR_TRY(bind(&l, ndr_launch_kernel_of(l.kernel)));
    if (l.workspace) NDR_TRY(ndr_reduction_bind(&l, r->args));
    return ndr_launch_enqueue(&l, event);
}

static ndr_status launch(const ndr_launch_request *r, ndr_event **event)
{
    NDR_TRY(ndr_order_check(r->order));
    ndr_mutex_lock(&r->kernel->lock);
    const ndr_status status = launch_locked(r, event);
    ndr_mutex_unlock(&r->kernel->lock);
    return status;
}

/* OpenCL keeps what a kernel reaches in the kernel and cannot clear it, so the launch has a kernel of its own. */
__attribute__((cold)) static ndr_status launch_reaching(const ndr_launch_request *r, ndr_event **event)
{
    ndr_launch_request mine = *r;
    NDR_TRY(ndr_prepare_v(r->kernel, r->range, r->args, r->arg_count, &mine.prepared));
    const ndr_status status = ndr_prepared_run_plain(&mine, NULL, event);
    ndr_prepared_destroy(mine.prepared);
    return status;
}

ndr_status ndr_launch_plain(const ndr_launch_request *r, ndr_event **event)
{
    NDR_TRY(check_objects(r));
    if (r->kernel->form == NDR_FORM_REDUCTION && !r->workspace) return ndr_reduction_launch(r, event);
    if (r->prepared) return ndr_prepared_run_plain(r, NULL, event);
    const bool reaches = r->arg_count > r->kernel->info.arg_count && ndr_args_count_reached(r->args, r->arg_count) > 0;
    return reaches ? launch_reaching(r, event) : launch(r, event);
}

ndr_status ndr_launch_in(const ndr_launch_request *request, ndr_event **event)
{
    return ndr_handles_are_checked() ? ndr_launch_checked(request, event) : ndr_launch_plain(request, event);
}

ndr_status ndr_launch_v(ndr_queue *queue, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                        size_t arg_count, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    return ndr_launch_in(&(ndr_launch_request){ &order, kernel, range, args, arg_count, NULL, NULL }, event);
}
