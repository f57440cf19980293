/* checked.c - launches with NDR_CHECK: handles are checked before, guard zones after the launch. */
#include "device/buffer.h"
#include "device/check.h"
#include "device/context.h"
#include "device/queue.h"
#include "device/shared.h"
#include "device/turns.h"
#include "launch/launch.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- handles ---- */

/* "kernel "scale", argument 0 "x" (float*)" */
typedef struct arg_text {
    char chars[256];
} arg_text;

static arg_text print_arg(const ndr_kernel *kernel, size_t index)
{
    arg_text out;
    const int used = snprintf(out.chars, sizeof out.chars, "kernel \"%.80s\", argument %zu", kernel->name, index);
    if (index < kernel->info.arg_count)
        snprintf(out.chars + used, sizeof out.chars - (size_t)used, " \"%.60s\" (%.60s)", kernel->params[index].name,
                 ndr_param_shown_type(&kernel->params[index]));
    return out;
}

ndr_status ndr_launch_check_handle(const ndr_kernel *kernel, size_t index, const ndr_arg *arg)
{
    const bool is_buffer = ndr_arg_has_buffer(arg) || arg->kind == NDR_ARG_REACHED_BUFFER;
    const ndr_handle_kind kind = is_buffer                      ? NDR_HANDLE_BUFFER
                                 : arg->kind == NDR_ARG_IMAGE   ? NDR_HANDLE_IMAGE
                                 : arg->kind == NDR_ARG_SAMPLER ? NDR_HANDLE_SAMPLER
                                 : ndr_arg_has_shared(arg)      ? NDR_HANDLE_SHARED
                                                                : NDR_HANDLE_NONE;
    const void *const handle = kind == NDR_HANDLE_SHARED ? (void *)arg->as.shared.allocation : (void *)arg->as.buffer;
    return ndr_handle_require(kind, handle, print_arg(kernel, index).chars, NULL);
}

ndr_status ndr_launch_check_handles(const ndr_kernel *kernel, const ndr_arg *args, size_t arg_count)
{
    for (size_t i = 0; args && i < arg_count; ++i) NDR_TRY(ndr_launch_check_handle(kernel, i, &args[i]));
    return NDR_OK;
}

static ndr_status check_handles(const ndr_launch_request *r)
{
    NDR_TRY(ndr_handle_require(NDR_HANDLE_QUEUE, r->order->queue, "ndr_launch", "queue"));
    NDR_TRY(ndr_handle_require(NDR_HANDLE_KERNEL, r->kernel, "ndr_launch", "kernel"));
    if (!r->kernel || r->prepared) return NDR_OK; /* a prepared launch has references to its buffers */
    return ndr_launch_check_handles(r->kernel, r->args, r->arg_count);
}

/* ---- damaged guard zones ---- */

/* NULL: the argument has none. */
static const ndr_zones *zones_of(const ndr_arg *arg)
{
    if (ndr_arg_has_buffer(arg) && arg->as.buffer) return arg->as.buffer->whole->zones;
    return arg->kind == NDR_ARG_SHARED ? arg->as.shared.allocation->zones : NULL;
}

/* The argument whose buffer's zones are damaged, preferably one that the kernel writes through; `arg_count` if there
 * is none. */
static size_t find_damaged_arg(const ndr_launch_request *r)
{
    size_t found = r->arg_count;
    for (size_t i = r->arg_count; i-- > 0;)
        if (ndr_zones_are_damaged(zones_of(&r->args[i]))
            && (found == r->arg_count || !r->kernel->params[i].is_const))
            found = i;
    return found;
}

/* "global 1000, local 64, rounded up" */
typedef struct range_text {
    char chars[256];
} range_text;

static range_text print_range(const ndr_nd_range *range)
{
    range_text out;
    const bool has_local = range->local.dims > 0 && range->local.size[0] > 0;
    const ndr_range *counts = range->groups.dims ? &range->groups : &range->global;
    snprintf(out.chars, sizeof out.chars, "%s %s%s%s%s", range->groups.dims ? "groups" : "global",
             ndr_sizes_print(counts->dims, counts->size).chars, has_local ? ", local " : "",
             has_local ? ndr_sizes_print(range->local.dims, range->local.size).chars : "",
             range->edge == NDR_EDGE_ROUND_UP ? ", rounded up" : "");
    return out;
}

/* What inspecting the zones after a launch has found. */
typedef struct inspection {
    uint64_t launch, damaged; /* the numbers of the launch and of a buffer; 0: none is damaged */
    ndr_damage_text damage;
    ndr_overlap_text overlap;
} inspection;

static ndr_status fail_with_damage(const ndr_launch_request *r, const inspection *found, const char *who,
                                   const char *damage)
{
    return ndr_fail(NDR_OUT_OF_BOUNDS,
                    "%s: launch %llu of this context %s; compare the kernel's indices and the range, %s, with the "
                    "buffer's size%s",
                    who, (unsigned long long)found->launch, damage, print_range(r->range).chars, found->overlap.chars);
}

static ndr_status fail_for_arg(const ndr_launch_request *r, const inspection *found, size_t index)
{
    const size_t element_bytes = ndr_builtin_bytes(r->kernel->params[index].type);
    const ndr_arg *arg = &r->args[index];
    const bool is_view = arg->kind != NDR_ARG_SHARED && arg->as.buffer != arg->as.buffer->whole;
    const char *whose = arg->kind == NDR_ARG_SHARED ? "its shared allocation"
                        : is_view                   ? "the whole buffer of its view"
                                                    : "its buffer";
    return fail_with_damage(r, found, print_arg(r->kernel, index).chars,
                            ndr_zones_print(zones_of(arg), whose, element_bytes).chars);
}

static ndr_status fail_for_other_buffer(const ndr_launch_request *r, const inspection *found)
{
    char who[128];
    snprintf(who, sizeof who, "kernel \"%.80s\"", r->kernel->name);
    return fail_with_damage(r, found, who, found->damage.chars);
}

/* ---- launching ---- */

/* With a turn. */
static ndr_status inspect(const ndr_launch_request *r, uint64_t launch)
{
    inspection found = { .launch = launch };
    ndr_context *context = r->kernel->context;
    NDR_TRY(ndr_check_inspect(context, &found.damaged, &found.damage));
    found.overlap = ndr_turns_take_overlap(ndr_check_turns(context), launch);
    if (!found.damaged) return NDR_OK;
    const size_t arg = find_damaged_arg(r);
    return arg < r->arg_count ? fail_for_arg(r, &found, arg) : fail_for_other_buffer(r, &found);
}

/* `kept` is what a prepared launch ran with; NULL: another launch. */
static ndr_status enqueue(const ndr_launch_request *r, ndr_arg *kept, ndr_event **done)
{
    return kept ? ndr_prepared_run_plain(r, kept, done) : ndr_launch_plain(r, done);
}

/* With a turn. A launch that failed is inspected, too. */
static ndr_status launch_and_inspect(const ndr_launch_request *r, ndr_arg *kept, ndr_event **done)
{
    ndr_turns *turns = ndr_check_turns(r->order->queue->context);
    ndr_launch_request ran = *r;
    if (kept) ran.args = kept;
    NDR_TRY(enqueue(r, kept, done));
    const uint64_t launch = ndr_turns_count(turns);
    NDR_TRY(ndr_turn_wait(turns, *done, launch, r->kernel->name));
    const ndr_status inspected = inspect(&ran, launch);
    NDR_TRY(ndr_event_wait(*done));
    return inspected;
}

static ndr_status launch_in_turn(const ndr_launch_request *r, ndr_arg *kept, ndr_event **done)
{
    ndr_turns *turns = ndr_check_turns(r->order->queue->context);
    NDR_TRY(ndr_turns_wait_before(r->order, r->kernel->name));
    ndr_turn_take(turns);
    const ndr_status status = launch_and_inspect(r, kept, done);
    ndr_turn_pass(turns);
    return status;
}

/* By a host task, behind its own end. */
static ndr_status launch_unwaited(const ndr_launch_request *r, ndr_arg *kept, ndr_event **done)
{
    ndr_turns *turns = ndr_check_turns(r->order->queue->context);
    NDR_TRY(enqueue(r, kept, done));
    ndr_turns_add_overlap(turns, *done, ndr_turns_count(turns), r->kernel->name);
    return NDR_OK;
}

static ndr_status launch_with_event(const ndr_launch_request *r, ndr_arg *kept, ndr_event **event)
{
    ndr_event *done = NULL;
    const ndr_status status = (ndr_waits_for_own_task(r->order) ? launch_unwaited : launch_in_turn)(r, kept, &done);
    if (status == NDR_OK && event) *event = done;
    else ndr_event_destroy(done);
    return status;
}

/* It borrows a workspace first, as operations do, and comes back with it. */
static bool will_come_back(const ndr_launch_request *r)
{
    return r->kernel && r->kernel->form == NDR_FORM_REDUCTION && !r->workspace;
}

static void release_kept(ndr_arg *kept, size_t count)
{
    for (size_t i = 0; kept && i < count; ++i) ndr_prepared_release_object(&kept[i]);
    free(kept);
}

/* Another thread may set arguments of a prepared launch before the zones are inspected. */
ndr_status ndr_launch_checked(const ndr_launch_request *r, ndr_event **event)
{
    NDR_TRY(check_handles(r));
    const ndr_queue *queue = r->order->queue;
    if (!queue || !queue->context->checker || !r->kernel) return ndr_launch_plain(r, event);
    if (will_come_back(r)) {
        NDR_TRY(ndr_turns_wait_before(r->order, r->kernel->name)); /* without the workspace */
        return ndr_launch_plain(r, event);
    }
    ndr_arg *kept = r->prepared ? calloc(r->arg_count + 1, sizeof *kept) : NULL;
    if (r->prepared && !kept) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a checked launch");
    const ndr_status status = launch_with_event(r, kept, event);
    release_kept(kept, r->arg_count);
    return status;
}
