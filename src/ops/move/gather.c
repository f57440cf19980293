/* gather.c - ndr_gather() and ndr_scatter(): their checks and their implementations, which differ in the elements that
 * an item copies. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/move/move.h"

#include <stdio.h>

/* ---- implementations ---- */

/* Of a row: the elements of an item, `form` of the variant. */
enum { CHUNK = 4096, ONE = 1, PREFERRED_GROUP = 256 };

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_gather_request *r = of->request;
    const size_t chunk = of->variant->form;
    const size_t limit = ndr_min_size(of->caps->info.max_group_size, of->caps->info.max_local_size[2]);
    const size_t items = ndr_max_size(ndr_ceil_div(r->list.cols, chunk), 1);
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(items, chunk == CHUNK ? 1 : ndr_min_size(PREFERRED_GROUP, limit)) };
    plan->range.edge = NDR_EDGE_ROUND_UP;
    snprintf(plan->options, sizeof plan->options, "-DE=%s -DI=%s -DCHUNK=%zu", ndr_word_name(r->table.element_bytes),
             ndr_dtype_describe(r->index_dtype)->cl_name, chunk);
}

static ndr_status launch_gather(ndr_op_job *job)
{
    const ndr_gather_request *r = job->of.request;
    return ndr_op_launch(job, job->kernel, job->plan.range, ndr_operand_arg(&r->table), r->table.offset, r->table.cols,
                         r->indexes.buffer, r->indexes.offset, r->list.cols, r->list.buffer, r->list.offset);
}

static ndr_status launch_scatter(ndr_op_job *job)
{
    const ndr_gather_request *r = job->of.request;
    return ndr_op_launch(job, job->kernel, job->plan.range, r->list.buffer, r->list.offset, r->indexes.buffer,
                         r->indexes.offset, r->list.cols, ndr_operand_arg(&r->table), r->table.offset, r->table.cols);
}

#define ROW(operation, row, elements, ...)                                          \
    static const ndr_op_variant operation##_##row = { .name = #row,                 \
                                                      .file = "move/gather.cl",     \
                                                      .kernel = #operation,         \
                                                      .form = (elements),           \
                                                      .plan = plan,                 \
                                                      .launch = launch_##operation, \
                                                      __VA_ARGS__ }
ROW(gather, chunks, CHUNK, .unsuited = ndr_op_lacks_vectors);
ROW(gather, items, ONE, .unsuited = NULL);
ROW(scatter, chunks, CHUNK, .unsuited = ndr_op_lacks_vectors);
ROW(scatter, items, ONE, .unsuited = NULL);

static const ndr_op_variant *const gathers[] = { &gather_chunks, &gather_items };
static const ndr_op_variant *const scatters[] = { &scatter_chunks, &scatter_items };

static ndr_op_work work_of(const void *request)
{
    const ndr_gather_request *r = request;
    return (ndr_op_work){ (uint64_t)r->list.cols * (2 * r->list.element_bytes + r->indexes.element_bytes), 0 };
}

const ndr_operation ndr_gather_operation = { "gather", gathers, NDR_COUNT_OF(gathers), NULL, work_of };
const ndr_operation ndr_scatter_operation = { "scatter", scatters, NDR_COUNT_OF(scatters), NULL, work_of };

/* ---- checks ---- */

static ndr_status check_types(const char *call, ndr_dtype dtype, ndr_dtype index_dtype)
{
    NDR_REQUIRE(ndr_dtype_describe(dtype), "%s: dtype is %s; set it to the elements' type", call,
                dtype == NDR_DTYPE_NONE ? "not set" : "not valid");
    NDR_REQUIRE(index_dtype == NDR_DTYPE_I32 || index_dtype == NDR_DTYPE_U32 || index_dtype == NDR_DTYPE_I64
                    || index_dtype == NDR_DTYPE_U64,
                "%s: index_dtype is %s; use i32, u32, i64 or u64", call,
                index_dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(index_dtype));
    return NDR_OK;
}

/* Run the operation, if there is anything to do. */
static ndr_status run(const ndr_operation *operation, const ndr_order *order, const ndr_gather_request *r,
                      const ndr_operand *output, ndr_event **event)
{
    const ndr_operand *const all[] = { &r->table, &r->indexes, &r->list };
    for (size_t i = 0; i < NDR_COUNT_OF(all); ++i) NDR_TRY(ndr_operand_check(all[i], order->queue));
    for (size_t i = 0; i < NDR_COUNT_OF(all); ++i)
        if (all[i] != output) NDR_TRY(ndr_operand_check_apart(output, all[i]));
    if (r->list.cols == 0) return ndr_queue_mark_in(order, event);
    return ndr_op_run(operation, order, r, event);
}

/* ---- the calls ---- */

static ndr_status make_gather(const ndr_gather_desc *desc, ndr_gather_request *r)
{
    static const char call[] = "ndr_gather";
    NDR_REQUIRE(desc, "ndr_gather: desc is NULL; pass the address of a descriptor whose members are set");
    NDR_TRY(check_types(call, desc->dtype, desc->index_dtype));
    const size_t bytes = ndr_dtype_size(desc->dtype), index_bytes = ndr_dtype_size(desc->index_dtype);
    *r = (ndr_gather_request){ .index_dtype = desc->index_dtype,
                               .table = ndr_operand_of(call, "input", desc->input, desc->input_count, bytes),
                               .indexes = ndr_operand_of(call, "indexes", desc->indexes, desc->count, index_bytes),
                               .list = ndr_operand_of(call, "output", desc->output, desc->count, bytes) };
    return NDR_OK;
}

ndr_status ndr_gather(ndr_queue *queue, const ndr_gather_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_gather_request request;
    queue = order.queue;
    NDR_REQUIRE_SET_IN("ndr_gather", queue);
    NDR_TRY(make_gather(desc, &request));
    return run(&ndr_gather_operation, &order, &request, &request.list, event);
}

NDR_OP_EXPLAIN(ndr_gather, ndr_gather_request, make_gather(desc, &r), &ndr_gather_operation)

static ndr_status make_scatter(const ndr_scatter_desc *desc, ndr_gather_request *r)
{
    static const char call[] = "ndr_scatter";
    NDR_REQUIRE(desc, "ndr_scatter: desc is NULL; pass the address of a descriptor whose members are set");
    NDR_TRY(check_types(call, desc->dtype, desc->index_dtype));
    const size_t bytes = ndr_dtype_size(desc->dtype), index_bytes = ndr_dtype_size(desc->index_dtype);
    *r = (ndr_gather_request){ .index_dtype = desc->index_dtype,
                               .table = ndr_operand_of(call, "output", desc->output, desc->output_count, bytes),
                               .indexes = ndr_operand_of(call, "indexes", desc->indexes, desc->count, index_bytes),
                               .list = ndr_operand_of(call, "input", desc->input, desc->count, bytes) };
    return NDR_OK;
}

ndr_status ndr_scatter(ndr_queue *queue, const ndr_scatter_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_gather_request request;
    queue = order.queue;
    NDR_REQUIRE_SET_IN("ndr_scatter", queue);
    NDR_TRY(make_scatter(desc, &request));
    return run(&ndr_scatter_operation, &order, &request, &request.table, event);
}

NDR_OP_EXPLAIN(ndr_scatter, ndr_gather_request, make_scatter(desc, &r), &ndr_scatter_operation)
