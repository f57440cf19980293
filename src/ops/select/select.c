/* select.c - ndr_select(): its checks and its two implementations, for CPUs and for groups of many items. */
#include "ops/select/select.h"
#include "device/context.h"
#include "device/queue.h"

#include <stdio.h>

/* ---- implementations ---- */

/* Shares of the input: the elements or tiles of one, how many there are, and groups of how many items. */
typedef struct shares {
    size_t size, count, groups, items;
} shares;

static ndr_status launch_pass(ndr_op_job *job, ndr_kernel *kernel, size_t size)
{
    const ndr_select_request *r = job->of.request;
    return ndr_op_launch(job, kernel, job->plan.range, ndr_operand_arg(&r->input), r->input.offset,
                         ndr_operand_arg(&r->flags), r->flags.offset, r->count, size, ndr_operand_arg(&r->output),
                         r->output.offset, ndr_operand_arg(&r->starts), r->starts.offset, r->selected.buffer,
                         r->selected.offset, ndr_op_workspace_arg(job));
}

static ndr_status launch(ndr_op_job *job, shares s)
{
    if (job->others[0]) NDR_TRY(launch_pass(job, job->others[0], s.size));
    return launch_pass(job, job->kernel, s.size);
}

static void plan(const ndr_select_request *r, shares s, ndr_op_plan *plan)
{
    static const ndr_dtype words[] = {
        [1] = NDR_DTYPE_U8, [2] = NDR_DTYPE_U16, [4] = NDR_DTYPE_U32, [8] = NDR_DTYPE_U64
    };
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(s.groups * s.items, s.items),
                           .local_bytes = s.items > 1 ? s.items * sizeof(uint64_t) : 0,
                           .workspace_bytes = s.count > 1 ? NDR_WORKSPACE_HEAD_BYTES + s.count * sizeof(uint64_t) : 0 };
    snprintf(plan->options, NDR_OPTIONS_SIZE, "-DE=%s -DGROUP=%zu -DBY_RUNS=%d -DKEEPS_OTHERS=%d",
             ndr_dtype_describe(words[r->element_bytes])->cl_name, s.items, r->by_runs, r->keeps_others);
}

/* As the chunks of scans. */
static shares chunks_for(const ndr_op_case *of)
{
    enum { MIN_CHUNK = 1 << 14, MAX_CHUNK = 1 << 17, PREFERRED_COUNT = 128, MAX_COUNT = 1 << 17, GROUPS_PER_UNIT = 8 };
    const ndr_select_request *r = of->request;
    const size_t share = ndr_clamp_size(ndr_ceil_div(r->count, PREFERRED_COUNT), MIN_CHUNK, MAX_CHUNK);
    shares s = { .size = ndr_max_size(share, ndr_ceil_div(r->count, MAX_COUNT)), .items = 1 };
    s.count = ndr_max_size(ndr_ceil_div(r->count, s.size), 1);
    s.groups = ndr_clamp_size((size_t)of->caps->info.compute_units * GROUPS_PER_UNIT, 1, s.count);
    return s;
}

static void plan_chunks(const ndr_op_case *of, ndr_op_plan *out) { plan(of->request, chunks_for(of), out); }
static ndr_status launch_chunks(ndr_op_job *job) { return launch(job, chunks_for(&job->of)); }

/* As the tiles of scans. Groups have few enough tiles for the fault loops_end_early. */
static shares tiles_for(const ndr_op_case *of)
{
    enum { PREFERRED_GROUP = 256, PREFERRED_GROUPS = 1024, OWN = 16, TURNS_OF_TILE = 48 };
    const ndr_select_request *r = of->request;
    const ndr_device_info *device = &of->caps->info;
    shares s = { .items = PREFERRED_GROUP };
    while (s.items > ndr_max_size(1, ndr_min_size(device->max_group_size, device->max_local_size[2]))) s.items /= 2;
    const size_t all = ndr_max_size(ndr_ceil_div(r->count, s.items * OWN), 1);
    s.size = ndr_min_size(ndr_ceil_div(all, PREFERRED_GROUPS), ndr_quirk_turns(of->caps->quirks) / TURNS_OF_TILE);
    s.count = s.groups = ndr_ceil_div(all, s.size);
    return s;
}

static void plan_tiles(const ndr_op_case *of, ndr_op_plan *out) { plan(of->request, tiles_for(of), out); }
static ndr_status launch_tiles(ndr_op_job *job) { return launch(job, tiles_for(&job->of)); }

static NDR_OP_VARIANT(select, chunks, "select_chunks", 0, .others = { "select_count_chunks" },
                      .unsuited = ndr_op_lacks_vectors, .plan = plan_chunks, .launch = launch_chunks);
static NDR_OP_VARIANT(select, tiles, "select_tiles", 0, .others = { "select_count_tiles" }, .plan = plan_tiles,
                      .launch = launch_tiles);

/* ---- the list ---- */

static const ndr_op_variant *const variants[] = { &ndr_select_chunks, &ndr_select_tiles };

/* As if all were selected. */
static ndr_op_work work_of(const void *request)
{
    const ndr_select_request *r = request;
    return (ndr_op_work){ r->count * (2 * r->element_bytes + 1) + sizeof(uint64_t), 0 };
}

const ndr_operation ndr_select_operation = { "select", variants, NDR_COUNT_OF(variants), NULL, work_of };

/* ---- checks ---- */

static ndr_operand operand_of(const char *name, ndr_span span, size_t count, size_t element_bytes)
{
    return ndr_operand_of("ndr_select", name, span, count, element_bytes);
}

static ndr_status make_request(const ndr_select_desc *desc, ndr_select_request *request)
{
    NDR_REQUIRE(desc, "ndr_select: desc is NULL; pass the address of a descriptor whose members are set");
    NDR_REQUIRE(ndr_dtype_describe(desc->dtype), "ndr_select: dtype is %s; use the type of the elements, any ndr_dtype",
                desc->dtype == NDR_DTYPE_NONE ? "not set" : "not valid");
    NDR_REQUIRE(!desc->by_runs || !desc->flags.buffer,
                "ndr_select: by_runs and flags are set; elements are selected by one of them: leave out the other");
    NDR_REQUIRE(!desc->starts.buffer || desc->by_runs, "ndr_select: starts are set, but by_runs is not; set it, too");
    NDR_REQUIRE(!desc->starts.buffer || desc->count < SIZE_MAX,
                "ndr_select: count is %zu, and starts would have one more; use a smaller count", desc->count);
    const size_t count = desc->count, bytes = ndr_dtype_size(desc->dtype);
    *request = (ndr_select_request){
        .by_runs = desc->by_runs,
        .keeps_others = desc->keeps_others,
        .count = count,
        .element_bytes = bytes,
        .input = operand_of("input", desc->input, count, bytes),
        .flags = operand_of("flags", desc->flags, desc->by_runs ? 0 : count, 1),
        .output = operand_of("output", desc->output, count, bytes),
        .starts = operand_of("starts", desc->starts, desc->starts.buffer ? count + 1 : 0, sizeof(uint64_t)),
        .selected = operand_of("selected", desc->selected, 1, sizeof(uint64_t)),
    };
    return NDR_OK;
}

/* No output overlaps an input, nor an output before it. */
static ndr_status check_selection(ndr_queue *queue, const ndr_select_desc *desc, ndr_select_request *r)
{
    enum { INPUTS = 2 };
    NDR_REQUIRE_SET_IN("ndr_select", queue);
    NDR_TRY(make_request(desc, r));
    const ndr_operand *const all[] = { &r->input, &r->flags, &r->output, &r->starts, &r->selected };
    for (size_t i = 0; i < NDR_COUNT_OF(all); ++i) NDR_TRY(ndr_operand_check(all[i], queue));
    for (size_t i = INPUTS; i < NDR_COUNT_OF(all); ++i)
        for (size_t k = 0; k < i; ++k) NDR_TRY(ndr_operand_check_apart(all[i], all[k]));
    return NDR_OK;
}

ndr_status ndr_select(ndr_queue *queue, const ndr_select_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_select_request request;
    NDR_TRY(check_selection(order.queue, desc, &request));
    return ndr_op_run(&ndr_select_operation, &order, &request, event);
}

NDR_OP_EXPLAIN(ndr_select, ndr_select_request, make_request(desc, &r), &ndr_select_operation)
