/* prepared.c - prepared launches: checked and bound once, run many times. */
#include "device/buffer.h"
#include "device/context.h"
#include "device/image.h"
#include "device/queue.h"
#include "device/shared.h"
#include "launch/launch.h"

#include <stdlib.h>

/* Each piece has an OpenCL kernel of its own, in which all arguments are set. */
struct ndr_prepared {
    uint64_t seal;
    ndr_context *context; /* a reference: the context owns the kernel */
    ndr_kernel *kernel;
    ndr_mutex lock; /* held while an argument is set and while pieces are enqueued */
    cl_kernel clones[NDR_MAX_PIECES];
    ndr_planned *planned;
    size_t scratch_bytes;
    size_t arg_count; /* with those that fill no parameter */
    ndr_arg args[]; /* with a reference to each object; NDR_ARG_NONE: OpenCL failed to set it */
};

/* ---- preparing ---- */

static bool has_buffer(const ndr_arg *arg) { return ndr_arg_has_buffer(arg) || arg->kind == NDR_ARG_REACHED_BUFFER; }

static void keep_object(const ndr_arg *arg)
{
    if (has_buffer(arg)) (void)ndr_buffer_keep(arg->as.buffer);
    if (arg->kind == NDR_ARG_IMAGE) ndr_image_keep(arg->as.image);
    if (arg->kind == NDR_ARG_SAMPLER) ndr_sampler_keep(arg->as.sampler);
    if (ndr_arg_has_shared(arg)) ndr_shared_keep(arg->as.shared.allocation);
}

void ndr_prepared_release_object(const ndr_arg *arg)
{
    if (has_buffer(arg)) ndr_buffer_release(arg->as.buffer);
    if (arg->kind == NDR_ARG_IMAGE) ndr_image_release(arg->as.image);
    if (arg->kind == NDR_ARG_SAMPLER) ndr_sampler_release(arg->as.sampler);
    if (ndr_arg_has_shared(arg)) ndr_shared_release(arg->as.shared.allocation);
}

/* Returns the one before, whose object the caller releases without the lock: NDR_CHECK takes its own lock for that,
 * which a checked run holds when it takes this one. */
static ndr_arg keep_arg(ndr_prepared *p, size_t index, const ndr_arg *arg)
{
    const ndr_arg before = p->args[index];
    keep_object(arg);
    p->args[index] = *arg;
    return before;
}

static ndr_status make_clones(ndr_prepared *p, const ndr_launch_state *l, const ndr_arg *reached, size_t reached_count)
{
    const ndr_kernel *kernel = p->kernel;
    for (unsigned i = 0; i < p->planned->plan.piece_count; ++i) {
        NDR_TRY(ndr_kernel_clone(kernel, &p->clones[i]));
        NDR_TRY(ndr_launch_bind_clone(l, i));
        NDR_TRY(ndr_shared_declare(p->clones[i], reached, reached_count));
    }
    return NDR_OK;
}

static ndr_status fill(ndr_prepared *p, const ndr_nd_range *range, const ndr_arg *args, size_t arg_count)
{
    p->planned = calloc(1, sizeof *p->planned + p->kernel->info.arg_count * sizeof p->planned->bound[0]);
    if (!p->planned) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a prepared launch");
    ndr_launch_state l = { .kernel = p->kernel, .clones = p->clones, .planned = p->planned };
    const size_t reached_count = ndr_args_count_reached(args, arg_count), own_count = arg_count - reached_count;
    NDR_TRY(ndr_launch_plan(&l, &(ndr_launch_request){ NULL, p->kernel, range, args, own_count, NULL, NULL }));
    NDR_TRY(ndr_args_check_reached(p->kernel, args + own_count, reached_count));
    p->scratch_bytes = l.scratch_bytes;
    NDR_TRY(make_clones(p, &l, args + own_count, reached_count));
    for (size_t i = 0; i < arg_count; ++i) (void)keep_arg(p, i, &args[i]);
    return NDR_OK;
}

static void free_prepared(ndr_prepared *p)
{
    for (size_t i = 0; i < p->arg_count; ++i) ndr_prepared_release_object(&p->args[i]);
    for (unsigned i = 0; i < NDR_MAX_PIECES && p->clones[i]; ++i) ndr_cl.clReleaseKernel(p->clones[i]);
    free(p->planned);
    ndr_mutex_destroy(&p->lock);
    ndr_context_release(p->context);
    ndr_handle_free(p);
}

ndr_status ndr_prepare_v(ndr_kernel *kernel, const ndr_nd_range *range, const ndr_arg *args, size_t arg_count,
                         ndr_prepared **prepared)
{
    NDR_REQUIRE_SET_IN("ndr_prepare", kernel);
    NDR_REQUIRE(range, "ndr_prepare: range is NULL (kernel \"%s\")", kernel->name);
    NDR_REQUIRE(prepared, "ndr_prepare: prepared is NULL (kernel \"%s\")", kernel->name);
    if (ndr_handles_are_checked()) NDR_TRY(ndr_launch_check_handles(kernel, args, arg_count));
    const size_t count = kernel->info.arg_count + ndr_args_count_reached(args, arg_count);
    const size_t bytes = sizeof(ndr_prepared) + count * sizeof(ndr_arg);
    ndr_prepared *made = ndr_handle_new(NDR_HANDLE_PREPARED, bytes, kernel->context->checker != NULL);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a prepared launch");
    made->context = ndr_context_keep(kernel->context);
    made->kernel = kernel;
    made->arg_count = count;
    ndr_mutex_init(&made->lock, NDR_LOCK_PREPARED);
    const ndr_status status = fill(made, range, args, arg_count);
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
    for (size_t i = 0; i < p->kernel->info.arg_count; ++i)
        if (i != index && p->args[i].kind == NDR_ARG_LOCAL) bytes += p->planned->bound[i].size_bytes;
    return bytes;
}

/* In every clone. If the driver fails, the argument counts as not set. */
static ndr_status bind_arg(ndr_prepared *p, size_t index)
{
    for (unsigned i = 0; i < p->planned->plan.piece_count; ++i)
        NDR_TRY(ndr_args_bind_one(p->kernel, p->clones[i], index, &p->planned->bound[index]));
    return NDR_OK;
}

/* A clone cannot be made again: the bytes of structs are the caller's. See ndr_args_need_new_kernel(). */
static ndr_status check_kind(const ndr_prepared *p, size_t index, const ndr_arg *arg)
{
    const ndr_kernel *kernel = p->kernel;
    NDR_REQUIRE_AS(NDR_BAD_KERNEL_ARGUMENT, !p->planned->bound[index].shared || arg->kind == NDR_ARG_SHARED,
                   "ndr_prepared_set: kernel \"%s\", argument %zu \"%s\" (%s) is a shared allocation in this "
                   "prepared launch, and some drivers then accept nothing else there; prepare another launch",
                   kernel->name, index, kernel->params[index].name, ndr_param_shown_type(&kernel->params[index]));
    return NDR_OK;
}

static ndr_status set_arg(ndr_prepared *p, size_t index, const ndr_arg *arg, ndr_arg *before)
{
    NDR_TRY(check_kind(p, index, arg));
    ndr_bound next = { .is_set = false };
    size_t local_bytes = local_bytes_without(p, index);
    NDR_TRY(ndr_args_check_one(p->kernel, index, arg, &next, &local_bytes));
    if (arg->kind == NDR_ARG_REDUCER) NDR_TRY(ndr_reduction_check_one(p->kernel, p->args, index, arg));
    NDR_TRY(ndr_launch_check_local(p->kernel, local_bytes, p->scratch_bytes));
    const ndr_arg none = { .kind = NDR_ARG_NONE };
    if (next.value == &next.copy) next.value = &p->planned->bound[index].copy;
    p->planned->bound[index] = next;
    const ndr_status status = bind_arg(p, index);
    *before = keep_arg(p, index, status == NDR_OK ? arg : &none);
    return status;
}

ndr_status ndr_prepared_set(ndr_prepared *prepared, size_t index, ndr_arg arg)
{
    NDR_REQUIRE_SET(prepared);
    const ndr_kernel *kernel = prepared->kernel;
    NDR_REQUIRE(index < kernel->info.arg_count,
                "ndr_prepared_set: index is %zu, but kernel \"%s\" takes %u arguments, counted from 0", index,
                kernel->name, kernel->info.arg_count);
    if (ndr_handles_are_checked()) NDR_TRY(ndr_launch_check_handle(kernel, index, &arg));
    ndr_arg before = { .kind = NDR_ARG_NONE };
    ndr_mutex_lock(&prepared->lock);
    const ndr_status status = set_arg(prepared, index, &arg, &before);
    ndr_mutex_unlock(&prepared->lock);
    ndr_prepared_release_object(&before);
    return status;
}

/* ---- running ---- */

/* With the lock held. */
static ndr_status run(const ndr_launch_request *r, ndr_event **event)
{
    ndr_prepared *const p = r->prepared;
    ndr_launch_state l = ndr_launch_state_of(r);
    l.clones = p->clones;
    l.planned = p->planned;
    NDR_TRY(ndr_args_check_use(p->kernel, l.queue, p->args, p->arg_count));
    if (l.workspace) NDR_TRY(ndr_reduction_bind(&l, p->args));
    return ndr_launch_enqueue(&l, event);
}

static void keep_args(const ndr_prepared *p, ndr_arg *kept)
{
    for (size_t i = 0; i < p->arg_count; ++i) keep_object(&p->args[i]), kept[i] = p->args[i];
}

ndr_status ndr_prepared_run_plain(const ndr_launch_request *r, ndr_arg *kept, ndr_event **event)
{
    NDR_TRY(ndr_order_check(r->order));
    ndr_mutex_lock(&r->prepared->lock);
    if (kept) keep_args(r->prepared, kept);
    const ndr_status status = run(r, event);
    ndr_mutex_unlock(&r->prepared->lock);
    return status;
}

ndr_status ndr_prepared_run(ndr_queue *queue, ndr_prepared *prepared, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    NDR_TRY(ndr_order_check_queue(__func__, &order));
    NDR_REQUIRE_SET(prepared);
    NDR_REQUIRE(
        order.queue->context == prepared->context,
        "ndr_prepared_run: the launch of kernel \"%s\" was prepared in another context than the queue's; prepare "
        "it with a kernel of that one",
        prepared->kernel->name);
    const ndr_launch_request request = { &order,         prepared->kernel,    &prepared->planned->range,
                                         prepared->args, prepared->arg_count, prepared,
                                         NULL };
    const bool is_plain = prepared->kernel->form != NDR_FORM_REDUCTION && !ndr_handles_are_checked();
    return is_plain ? ndr_prepared_run_plain(&request, NULL, event) : ndr_launch_in(&request, event);
}
