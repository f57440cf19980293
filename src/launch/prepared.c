/* prepared.c - prepared launches: checked and bound once, run many times. */
#include "device/context.h"
#include "device/queue.h"
#include "device/shared.h"
#include "launch/prepared.h"
#include "launch/reduction.h"

#include <stdlib.h>

/* ---- preparing ---- */

static ndr_status make_clones(ndr_prepared *p, const ndr_arg *reached, size_t reached_count)
{
    for (unsigned i = 0; i < p->planned->plan.piece_count; ++i) {
        NDR_TRY(ndr_planned_make_clone(p->planned, i));
        NDR_TRY(ndr_shared_declare(p->planned->clones[i], reached, reached_count));
    }
    return NDR_OK;
}

static ndr_status fill(ndr_prepared *p, ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args,
                       size_t arg_count)
{
    const size_t reached_count = ndr_args_count_reached(args, arg_count), own_count = arg_count - reached_count;
    NDR_TRY(ndr_planned_new(kernel, &p->planned));
    NDR_TRY(ndr_planned_fill(p->planned, range, args, own_count));
    NDR_TRY(ndr_args_check_reached(kernel, args, arg_count));
    NDR_TRY(make_clones(p, args + own_count, reached_count));
    for (size_t i = 0; i < arg_count; ++i) NDR_TRY(ndr_arg_take(&args[i], &p->args[i]));
    return NDR_OK;
}

static void free_prepared(ndr_prepared *p)
{
    for (size_t i = 0; i < p->arg_count; ++i) ndr_arg_drop(&p->args[i]);
    for (unsigned i = 0; p->planned && i < NDR_MAX_PIECES && p->planned->clones[i]; ++i)
        ndr_cl.clReleaseKernel(p->planned->clones[i]);
    free(p->planned);
    ndr_mutex_destroy(&p->lock);
    ndr_context_release(p->context);
    ndr_handle_free(p);
}

ndr_status ndr_prepare_v(ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args, size_t arg_count,
                         ndr_prepared **prepared)
{
    NDR_REQUIRE_SET_IN("ndr_prepare", kernel);
    NDR_REQUIRE(range, "ndr_prepare: range is NULL (kernel \"%s\"); pass the address of a range", kernel->name);
    NDR_REQUIRE(prepared,
                "ndr_prepare: prepared is NULL (kernel \"%s\"); pass the address of a variable for the result",
                kernel->name);
    if (ndr_handles_are_checked()) NDR_TRY(ndr_args_check_handles(kernel, 0, args, arg_count));
    const size_t count = kernel->info.arg_count + ndr_args_count_reached(args, arg_count);
    const size_t bytes = sizeof(ndr_prepared) + count * sizeof(ndr_arg);
    ndr_prepared *made = ndr_handle_new(NDR_HANDLE_PREPARED, bytes, kernel->context->checker != NULL);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a prepared launch");
    made->context = ndr_context_keep(kernel->context);
    made->arg_count = count;
    ndr_mutex_init(&made->lock, NDR_LOCK_PREPARED);
    const ndr_status status = fill(made, kernel, range, args, arg_count);
    if (status == NDR_OK) *prepared = made;
    else free_prepared(made);
    return status;
}

void ndr_prepared_destroy(ndr_prepared *prepared)
{
    if (ndr_handle_retire(NDR_HANDLE_PREPARED, prepared, __func__)) free_prepared(prepared);
}

/* ---- changing an argument ---- */

/* The bytes of local memory of all arguments but one. */
static size_t local_bytes_without(const ndr_prepared *p, size_t index)
{
    size_t bytes = 0;
    for (size_t i = 0; i < p->planned->kernel->info.arg_count; ++i)
        if (i != index && p->args[i].kind == NDR_ARG_LOCAL) bytes += p->planned->bound[i].size_bytes;
    return bytes;
}

/* A clone cannot be made again: the bytes of structs are the caller's. See ndr_args_need_new_kernel(). */
static ndr_status check_kind(const ndr_prepared *p, size_t index, const ndr_arg *arg)
{
    NDR_REQUIRE_AS(NDR_BAD_KERNEL_ARGUMENT, !p->planned->bound[index].shared || arg->kind == NDR_ARG_SHARED,
                   "ndr_prepared_set: %s is a shared allocation in this prepared launch, and some drivers then accept "
                   "nothing else there; prepare another launch",
                   ndr_arg_print(p->planned->kernel, index, arg).chars);
    return NDR_OK;
}

/* In every clone. If the driver fails, the argument counts as not set. */
static ndr_status bind_arg(ndr_planned *planned, size_t index)
{
    for (unsigned i = 0; i < planned->plan.piece_count; ++i)
        NDR_TRY(ndr_args_bind_one(planned->kernel, planned->clones[i], index, &planned->bound[index]));
    return NDR_OK;
}

/* `*before` gets the argument whose object the caller drops without the lock: NDR_CHECK takes its own lock for that,
 * which a checked run holds when it takes this one. */
static ndr_status set_arg(ndr_prepared *p, size_t index, const ndr_arg *arg, ndr_arg *before)
{
    ndr_planned *const planned = p->planned;
    ndr_bound next = { .is_set = false };
    ndr_args_found found = { .local_bytes = local_bytes_without(p, index) };
    NDR_TRY(check_kind(p, index, arg));
    NDR_TRY(ndr_args_check_one(planned->kernel, index, arg, &next, &found));
    if (arg->kind == NDR_ARG_REDUCER) NDR_TRY(ndr_reduction_check_one(planned->kernel, p->args, index, arg));
    NDR_TRY(ndr_planned_check_local(planned, found.local_bytes));
    if (next.value == &next.copy) next.value = &planned->bound[index].copy;
    planned->bound[index] = next;
    const ndr_status status = bind_arg(planned, index);
    *before = p->args[index];
    p->args[index] = (ndr_arg){ .kind = NDR_ARG_NONE };
    return status == NDR_OK ? ndr_arg_take(arg, &p->args[index]) : status;
}

ndr_status ndr_prepared_set(ndr_prepared *prepared, size_t index, ndr_arg arg)
{
    NDR_REQUIRE_SET(prepared);
    const ndr_kernel *kernel = prepared->planned->kernel;
    NDR_REQUIRE(index < kernel->info.arg_count,
                "ndr_prepared_set: index is %zu, but kernel \"%s\" takes %u arguments; pass a smaller one, counted "
                "from 0",
                index, kernel->name, kernel->info.arg_count);
    if (ndr_handles_are_checked()) NDR_TRY(ndr_args_check_handles(kernel, index, &arg, 1));
    ndr_arg before = { .kind = NDR_ARG_NONE };
    ndr_mutex_lock(&prepared->lock);
    const ndr_status status = set_arg(prepared, index, &arg, &before);
    ndr_mutex_unlock(&prepared->lock);
    ndr_arg_drop(&before);
    return status;
}

/* ---- running ---- */

ndr_status ndr_prepared_run(ndr_queue *queue, ndr_prepared *prepared, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    NDR_TRY(ndr_order_check_queue(__func__, &order));
    NDR_REQUIRE_SET(prepared);
    const ndr_planned *const planned = prepared->planned;
    NDR_REQUIRE(
        order.queue->context == prepared->context,
        "ndr_prepared_run: the launch of kernel \"%s\" was prepared in another context than the queue's; prepare "
        "it with a kernel of that one",
        planned->kernel->name);
    const ndr_launch_request request = { .order = &order,
                                         .kernel = planned->kernel,
                                         .range = &planned->range,
                                         .args = prepared->args,
                                         .arg_count = prepared->arg_count,
                                         .prepared = prepared };
    return ndr_launch_start(&request, event);
}
