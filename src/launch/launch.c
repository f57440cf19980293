/* launch.c - the stages of a launch: check the objects, plan the range, check and bind the arguments, enqueue. */
#include "device/check.h"
#include "device/command.h"
#include "device/context.h"
#include "device/queue.h"
#include "device/submit.h"
#include "device/turns.h"
#include "launch/checked.h"
#include "launch/dump.h"
#include "launch/launch.h"
#include "launch/prepared.h"
#include "launch/reduction.h"

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

/* For the fault offset_32_bits, where the highest bit may be a sign: if ids exceed 31 bits, a kernel with a record adds
 * the offset itself, and the driver gets none. */
static bool adds_offset_itself(ndr_form form, const ndr_piece *piece, unsigned d)
{
    return form != NDR_FORM_PLAIN && piece->offset[d] > INT32_MAX - ndr_min_size(piece->global[d], INT32_MAX);
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

static ndr_status plan_range(ndr_planned *p, const ndr_nd_range *range)
{
    const ndr_kernel *kernel = p->kernel;
    if (is_same_range(&p->range, range)) return NDR_OK;
    p->range.global.dims = p->range.groups.dims = 0;
    p->record = NULL;
    const ndr_range_rules rules = ndr_range_rules_of(kernel);
    NDR_TRY(ndr_range_make_plan(range, &rules, &p->plan));
    for (unsigned i = 0; i < p->plan.piece_count; ++i)
        p->pieces[i] = piece_for_cl(kernel->form, &p->plan, &p->plan.pieces[i]);
    if (kernel->form == NDR_FORM_REDUCTION) ndr_reduction_divide(p, range);
    /* Group functions: one element of the widest type for each item of a group. */
    p->scratch_bytes = kernel->has_scratch ? sizeof(cl_ulong) * ndr_max_size(p->plan.largest_group, 1) : 0;
    p->range = *range;
    return NDR_OK;
}

/* Some drivers abort the process on too much local memory, also on what the kernel declares alone. Where local memory is
 * separate hardware, a kernel may declare more than the device reports: the products for matrix units do, and what the
 * driver itself adds counts, too. There the driver refuses what is too much. */
ndr_status ndr_planned_check_local(const ndr_planned *p, size_t arguments)
{
    const char *name = p->kernel->name;
    const size_t declared = p->kernel->info.local_memory_bytes, scratch = p->scratch_bytes;
    const ndr_device_info *device = &p->kernel->context->caps.info;
    const size_t limit = device->local_memory_bytes;
    if (device->has_dedicated_local_memory && arguments == 0 && scratch == 0) return NDR_OK;
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, declared <= limit,
                   "kernel \"%s\" declares %zu bytes of local memory inside it; the device has %zu for a group: make "
                   "its local arrays smaller, or move them to a buffer",
                   name, declared, limit);
    const bool fits = arguments <= limit && scratch <= limit - arguments && declared <= limit - arguments - scratch;
    NDR_REQUIRE_AS(
        NDR_LIMIT_EXCEEDED, fits,
        "kernel \"%s\" would need %zu bytes of local memory in arguments, %zu declared inside it and %zu for "
        "group functions; the device has %zu for a group: reduce the ndr_local() arguments or the group size",
        name, arguments, declared, scratch, limit);
    return NDR_OK;
}

ndr_status ndr_planned_fill(ndr_planned *p, const ndr_nd_range *range, const ndr_arg *args, size_t arg_count)
{
    ndr_args_found found;
    NDR_TRY(plan_range(p, range));
    NDR_TRY(ndr_args_check(p->kernel, args, arg_count, p->bound, &found));
    if (p->kernel->form == NDR_FORM_REDUCTION) NDR_TRY(ndr_reduction_check(p->kernel, args));
    p->had_shared |= found.has_shared;
    p->has_new = found.has_new;
    return ndr_planned_check_local(p, found.local_bytes);
}

ndr_status ndr_planned_new(ndr_kernel *kernel, ndr_planned **planned)
{
    *planned = calloc(1, sizeof **planned + kernel->info.arg_count * sizeof(ndr_bound));
    if (!*planned) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a launch");
    (*planned)->kernel = kernel;
    return NDR_OK;
}

/* ---- binding ---- */

static ndr_status bind_record(ndr_planned *p, cl_kernel cl, const ndr_reduction_record *record)
{
    if (p->kernel->form == NDR_FORM_PLAIN || record == p->record) return NDR_OK;
    p->record = NULL;
    const size_t bytes = p->kernel->form == NDR_FORM_REDUCTION ? sizeof *record : sizeof record->of;
    NDR_TRY_CL(clSetKernelArg(cl, p->kernel->arg_count - 1, bytes, record));
    p->record = record;
    return NDR_OK;
}

static ndr_status bind(ndr_planned *p, cl_kernel cl)
{
    if (p->has_new) NDR_TRY(ndr_args_bind(p->kernel, cl, p->bound, p->kernel->info.arg_count));
    if (p->scratch_bytes == p->scratch_set) return NDR_OK;
    p->scratch_set = 0;
    NDR_TRY_CL(clSetKernelArg(cl, p->kernel->arg_count - 2, p->scratch_bytes, NULL));
    p->scratch_set = p->scratch_bytes;
    return NDR_OK;
}

ndr_status ndr_planned_make_clone(ndr_planned *p, unsigned piece)
{
    p->scratch_set = 0;
    p->record = NULL;
    NDR_TRY(ndr_kernel_clone(p->kernel, &p->clones[piece]));
    NDR_TRY(bind(p, p->clones[piece]));
    return bind_record(p, p->clones[piece], &p->pieces[piece].record);
}

static void forget_arguments(ndr_planned *last)
{
    for (unsigned i = 0; i < last->kernel->info.arg_count; ++i) last->bound[i].set.kind = NDR_ARG_NONE;
    last->record = NULL;
    last->scratch_set = 0;
}

/* `cl` itself stays: threads query it. */
__attribute__((cold)) static ndr_status renew_kernel(ndr_kernel *kernel, ndr_planned *last)
{
    cl_kernel made;
    NDR_TRY(ndr_kernel_clone(kernel, &made));
    if (kernel->renewed) ndr_cl.clReleaseKernel(kernel->renewed);
    kernel->renewed = made;
    forget_arguments(last);
    last->had_shared = false;
    for (unsigned i = 0; i < kernel->info.arg_count; ++i) last->bound[i].had_shared = false;
    return NDR_OK;
}

/* The launch that the kernel keeps, filled and bound. */
static ndr_status bind_kernel(const ndr_launch_request *r, ndr_planned **planned)
{
    ndr_kernel *const kernel = r->kernel;
    ndr_planned *last = kernel->attached;
    if (!last) {
        NDR_TRY(ndr_planned_new(kernel, &last));
        kernel->attached = last;
    }
    *planned = last;
    if (atomic_load(&kernel->native_handle_exposed)) forget_arguments(last); /* other code may have set them */
    if (last->had_shared && ndr_args_need_new_kernel(kernel, last->bound, r->args, r->arg_count))
        NDR_TRY(renew_kernel(kernel, last));
    NDR_TRY(ndr_planned_fill(last, r->range, r->args, r->arg_count));
    return last->plan.piece_count > 0 ? bind(last, ndr_launch_kernel_of(kernel)) : NDR_OK;
}

/* ---- enqueueing ---- */

/* The driver rejected a piece; report how many were enqueued. */
static ndr_status fail_at_piece(const ndr_planned *p, unsigned piece, ndr_status status)
{
    const ndr_range_plan *plan = &p->plan;
    const ndr_status said = ndr_fail_with_code(
        status, ndr_last_cl_error(), "kernel \"%s\", global %s, local %s: %s; %u of its %u pieces are enqueued",
        p->kernel->name, ndr_sizes_print(plan->dims, plan->global_range).chars,
        ndr_sizes_print(plan->dims, plan->pieces[piece].local).chars, ndr_last_error(), piece, plan->piece_count);
    return ndr_args_fail_for_bytes(p->kernel, said);
}

static ndr_status enqueue_piece(ndr_submission *s, ndr_planned *p, unsigned i)
{
    const ndr_cl_piece *piece = &p->pieces[i];
    cl_kernel cl = p->clones[i];
    if (!cl) {
        cl = ndr_launch_kernel_of(p->kernel);
        NDR_TRY(bind_record(p, cl, &piece->record));
    }
    return ndr_submit_kernel(s, cl, p->kernel->name, p->plan.dims, piece->offset, piece->global, piece->local);
}

static ndr_status enqueue_pieces(ndr_submission *s, const void *planned)
{
    ndr_planned *const p = *(ndr_planned *const *)planned;
    const ndr_range_plan *plan = &p->plan;
    for (unsigned i = 0; i < plan->piece_count; ++i) {
        const ndr_status status = enqueue_piece(s, p, i);
        if (status != NDR_OK) return fail_at_piece(p, i, status);
    }
    ndr_log(NDR_LOG_DEBUG, "launch", "kernel \"%s\", global %s, local %s, pieces %u", p->kernel->name,
            ndr_sizes_print(plan->dims, plan->global_range).chars, ndr_sizes_print(plan->dims, plan->local_range).chars,
            plan->piece_count);
    return NDR_OK;
}

/* With the lock of the kernel, or of the prepared launch. */
static ndr_status run_locked(const ndr_launch_request *r, ndr_event **event)
{
    ndr_planned *p;
    if (r->prepared) p = r->prepared->planned;
    else NDR_TRY(bind_kernel(r, &p));
    NDR_TRY(ndr_args_use(r->kernel, r->order->queue, r->args, r->arg_count));
    for (size_t i = 0; r->kept && i < r->arg_count; ++i) ndr_arg_keep(&r->args[i]), r->kept[i] = r->args[i];
    if (r->workspace) NDR_TRY(ndr_reduction_bind(p, r->workspace, r->args));
    if (p->plan.piece_count == 0) return ndr_queue_mark_in(r->order, event);
    return ndr_command_run_checked(&(ndr_command){ r->order, enqueue_pieces, &p, r->kernel->name }, event);
}

static ndr_status run(const ndr_launch_request *r, ndr_event **event)
{
    ndr_mutex *const lock = r->prepared ? &r->prepared->lock : &r->kernel->lock;
    NDR_TRY(ndr_order_check(r->order));
    ndr_mutex_lock(lock);
    const ndr_status status = run_locked(r, event);
    ndr_mutex_unlock(lock);
    return status;
}

/* OpenCL keeps what a kernel reaches in the kernel and cannot clear it, so the launch has a kernel of its own. */
__attribute__((cold)) static ndr_status run_reaching(const ndr_launch_request *r, ndr_event **event)
{
    ndr_launch_request mine = *r;
    NDR_TRY(ndr_prepare_v(r->kernel, r->range, r->args, r->arg_count, &mine.prepared));
    mine.args = mine.prepared->args;
    const ndr_status status = run(&mine, event);
    ndr_prepared_destroy(mine.prepared);
    return status;
}

ndr_status ndr_launch_run(const ndr_launch_request *r, ndr_event **event)
{
    const bool has_more = !r->prepared && r->arg_count > r->kernel->info.arg_count;
    if (has_more && ndr_args_count_reached(r->args, r->arg_count) > 0) return run_reaching(r, event);
    return run(r, event);
}

/* ---- launching ---- */

static ndr_status run_in_turn(const ndr_launch_request *r, ndr_event **event)
{
    return r->order->queue->context->checker ? ndr_launch_checked(r, event) : ndr_launch_run(r, event);
}

/* Out of order, the launch waits for the workspace's last user, and the next user for the launch. Where launches are
 * checked, it waits for the work before it without the workspace: that may be a host task that needs it. */
__attribute__((noinline)) static ndr_status run_with_workspace(const ndr_launch_request *r, ndr_event **event)
{
    ndr_launch_request mine = *r;
    ndr_order order = *r->order;
    ndr_event *made = NULL;
    const bool is_out_of_order = order.queue->is_out_of_order;
    if (order.queue->context->checker) NDR_TRY(ndr_turns_wait_before(&order, r->kernel->name));
    NDR_TRY(ndr_workspace_borrow(order.queue, ndr_reduction_work_bytes, &mine.workspace));
    if (is_out_of_order) order.also = ndr_workspace_busy_until(mine.workspace);
    mine.order = &order;
    const ndr_status status = run_in_turn(&mine, event || is_out_of_order ? &made : NULL);
    ndr_workspace_return(mine.workspace, is_out_of_order ? made : NULL);
    if (status == NDR_OK && event) *event = made;
    else ndr_event_destroy(made);
    return status;
}

ndr_status ndr_launch_start(const ndr_launch_request *r, ndr_event **event)
{
    if (r->kernel->context->dumps.folder) return ndr_launch_saved(r, event);
    return ndr_launch_start_unsaved(r, event);
}

ndr_status ndr_launch_start_unsaved(const ndr_launch_request *r, ndr_event **event)
{
    return r->kernel->form == NDR_FORM_REDUCTION ? run_with_workspace(r, event) : run_in_turn(r, event);
}

static ndr_status check_objects(const ndr_launch_request *r)
{
    const ndr_queue *queue = r->order->queue;
    const ndr_kernel *kernel = r->kernel;
    NDR_REQUIRE(queue, "ndr_launch: queue is NULL; make one with ndr_queue_create()");
    NDR_REQUIRE(kernel, "ndr_launch: kernel is NULL; get one with ndr_kernel_get()");
    NDR_REQUIRE(r->range, "ndr_launch: range is NULL (kernel \"%s\"); pass the address of a range", kernel->name);
    NDR_REQUIRE(kernel->context == queue->context,
                "kernel \"%s\" and the queue belong to different contexts; get the kernel from the queue's context",
                kernel->name);
    return NDR_OK;
}

__attribute__((cold)) static ndr_status check_handles(const ndr_launch_request *r)
{
    NDR_TRY(ndr_handle_require(NDR_HANDLE_QUEUE, r->order->queue, "ndr_launch", "queue"));
    NDR_TRY(ndr_handle_require(NDR_HANDLE_KERNEL, r->kernel, "ndr_launch", "kernel"));
    return r->kernel ? ndr_args_check_handles(r->kernel, 0, r->args, r->arg_count) : NDR_OK;
}

ndr_status ndr_launch_in(const ndr_launch_request *r, ndr_event **event)
{
    if (ndr_handles_are_checked()) NDR_TRY(check_handles(r));
    NDR_TRY(check_objects(r));
    return ndr_launch_start(r, event);
}

ndr_status ndr_launch_v(ndr_queue *queue, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                        size_t arg_count, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    const ndr_launch_request request = {
        .order = &order, .kernel = kernel, .range = range, .args = args, .arg_count = arg_count
    };
    return ndr_launch_in(&request, event);
}

ndr_status ndr_launch_desc_v(ndr_queue *queue, const ndr_kernel_desc *desc, const ndr_nd_range *range,
                             const ndr_arg *args, size_t arg_count, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    const ndr_queue *const plain = order.queue;
    NDR_REQUIRE(plain, "ndr_launch_desc_v: queue is NULL; make one with ndr_queue_create()");
    NDR_REQUIRE_LIVE(NDR_HANDLE_QUEUE, plain, "ndr_launch_desc_v", "queue");
    ndr_launch_request request = { .order = &order, .range = range, .args = args, .arg_count = arg_count };
    NDR_TRY(ndr_kernel_get(plain->context, desc, &request.kernel));
    return ndr_launch_in(&request, event);
}
