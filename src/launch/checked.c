/* checked.c - launches with NDR_CHECK: one at a time, after which the guard zones are inspected. */
#include "device/buffer.h"
#include "device/check.h"
#include "device/context.h"
#include "device/queue.h"
#include "device/shared.h"
#include "device/turns.h"
#include "launch/checked.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- damaged guard zones ---- */

/* NULL: the argument has none. */
static const ndr_zones *zones_of(const ndr_arg *arg)
{
    const ndr_handle_kind kind = ndr_arg_handle(arg);
    return kind == NDR_HANDLE_BUFFER   ? arg->as.buffer->whole->zones
           : kind == NDR_HANDLE_SHARED ? arg->as.shared.allocation->zones
                                       : NULL;
}

/* The argument whose buffer's zones are damaged, preferably one that the kernel writes through; their number if there
 * is none. */
static size_t find_damaged_arg(const ndr_launch_request *r)
{
    const size_t count = r->kernel->info.arg_count;
    size_t found = count;
    for (size_t i = count; i-- > 0;)
        if (ndr_zones_are_damaged(zones_of(&r->kept[i])) && (found == count || !r->kernel->params[i].is_const))
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
    const ndr_arg *arg = &r->kept[index];
    const bool is_view = arg->kind != NDR_ARG_SHARED && arg->as.buffer != arg->as.buffer->whole;
    const char *whose = arg->kind == NDR_ARG_SHARED ? "its shared allocation"
                        : is_view                   ? "the whole buffer of its view"
                                                    : "its buffer";
    return fail_with_damage(r, found, ndr_arg_print(r->kernel, index, arg).chars,
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
    return arg < r->kernel->info.arg_count ? fail_for_arg(r, &found, arg) : fail_for_other_buffer(r, &found);
}

/* With a turn. A launch that failed is inspected, too. */
static ndr_status run_and_inspect(const ndr_launch_request *r, ndr_event **done)
{
    ndr_turns *turns = ndr_check_turns(r->kernel->context);
    NDR_TRY(ndr_launch_run(r, done));
    const uint64_t launch = ndr_turns_count(turns);
    NDR_TRY(ndr_turn_wait(turns, *done, launch, r->kernel->name));
    const ndr_status inspected = inspect(r, launch);
    NDR_TRY(ndr_event_wait(*done));
    return inspected;
}

static ndr_status run_in_turn(const ndr_launch_request *r, ndr_event **done)
{
    ndr_turns *turns = ndr_check_turns(r->kernel->context);
    NDR_TRY(ndr_turns_wait_before(r->order, r->kernel->name));
    ndr_turn_take(turns);
    const ndr_status status = run_and_inspect(r, done);
    ndr_turn_pass(turns);
    return status;
}

/* By a host task, behind its own end. */
static ndr_status run_unwaited(const ndr_launch_request *r, ndr_event **done)
{
    ndr_turns *turns = ndr_check_turns(r->kernel->context);
    NDR_TRY(ndr_launch_run(r, done));
    ndr_turns_add_overlap(turns, *done, ndr_turns_count(turns), r->kernel->name);
    return NDR_OK;
}

/* How many arguments a launch may keep. Another count is refused before any is kept. */
static size_t count_to_keep(const ndr_launch_request *r)
{
    if (r->prepared) return r->arg_count;
    return r->kernel->info.arg_count + ndr_args_count_reached(r->args, r->arg_count);
}

/* The arguments are kept: another thread may set those of a prepared launch before the zones are inspected. */
ndr_status ndr_launch_checked(const ndr_launch_request *r, ndr_event **event)
{
    ndr_launch_request mine = *r;
    ndr_event *done = NULL;
    const size_t count = count_to_keep(r);
    mine.kept = calloc(count + 1, sizeof *mine.kept);
    if (!mine.kept) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a checked launch");
    const ndr_status status = (ndr_waits_for_own_task(r->order) ? run_unwaited : run_in_turn)(&mine, &done);
    for (size_t i = 0; i < count; ++i) ndr_arg_release(&mine.kept[i]);
    free(mine.kept);
    if (status == NDR_OK && event) *event = done;
    else ndr_event_destroy(done);
    return status;
}
