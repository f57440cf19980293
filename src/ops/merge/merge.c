/* merge.c - ndr_merge() and ndr_merge_sort(): merges by a comparison of the caller's. */
#include "ops/merge/merge.h"
#include "device/context.h"
#include "device/queue.h"
#include "launch/workspace.h"
#include "ops/names.h"
#include "ops/own_text.h"
#include "ops/written.h"

/* ---- the text in front of the kernels ---- */

/* The order of ndr_sort(): NaN comes last. */
static const char *less_of(const ndr_merge_order *order)
{
    const ndr_dtype_info *type = ndr_dtype_describe(order->dtype);
    if (order->less) return order->less;
    return type && type->is_float ? "(a < b) | ((b != b) & (a == a))" : "a < b";
}

static void write(const ndr_op_case *of, ndr_text *out)
{
    const ndr_merge_request *r = of->request;
    const ndr_merge_order *order = &r->order;
    if (order->declarations) ndr_names_add_own(order->declarations, "declarations", out);
    ndr_written_add_type(order->element ? order->element : ndr_dtype_describe(order->dtype)->cl_name,
                         order->element_bytes, out);
    ndr_text_add_all(out, "static inline bool ndr_is_less(const ndr_element a, const ndr_element b)\n"
                          "{ const bool ndr_result =");
    ndr_names_add_own(less_of(order), "less", out);
    ndr_text_add(out, "; return ndr_result; }\n#define T ndr_element\n#define IS_LESS(a, b) ndr_is_less(a, b)\n"
                      "#define SEGMENTS %d\n",
                 r->starts.cols ? 1 : r->length ? 2 : 0);
}

/* ---- launches ---- */

/* The elements of an item: a few on GPUs; on CPUs a few shares for each core, because some take longer. */
static size_t share_of(const ndr_op_case *of)
{
    enum { FEW = 16, PER_UNIT = 4, MIN_SHARE = 1 << 10 };
    const ndr_merge_request *r = of->request;
    const size_t shares = ndr_max_size((size_t)of->caps->info.compute_units * PER_UNIT, 1);
    return ndr_op_lacks_vectors(of) ? FEW : ndr_max_size(ndr_ceil_div(r->count, shares), MIN_SHARE);
}

/* Sorts have passes, of runs twice as long each time, until one is as long as a segment may be. */
static unsigned passes_of(const ndr_merge_request *r)
{
    const size_t longest = r->length ? ndr_min_size(r->length, r->count) : r->count;
    unsigned passes = 0;
    while (longest > (size_t)NDR_MERGE_RUN << passes && passes < 59) ++passes;
    return passes;
}

/* In the workspace, elements begin behind its head. */
static size_t temp_offset(const ndr_merge_request *r)
{
    return ndr_ceil_div(NDR_WORKSPACE_HEAD_BYTES, r->output.element_bytes);
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    enum { GROUP = 64 };
    const ndr_merge_request *r = of->request;
    const size_t items = ndr_max_size(ndr_ceil_div(r->count, share_of(of)), 1);
    const size_t limit = ndr_min_size(of->caps->info.max_group_size, of->caps->info.max_local_size[2]);
    const size_t group = ndr_op_lacks_vectors(of) ? ndr_clamp_size(limit, 1, GROUP) : 1;
    *plan = (ndr_op_plan){ .range = ndr_nd_range_1d(ndr_ceil_div(items, group) * group, group) };
    if (of->variant->form && passes_of(r) > 0)
        plan->workspace_bytes = (temp_offset(r) + r->count) * r->output.element_bytes;
}

static ndr_status launch_merge(ndr_op_job *job)
{
    const ndr_merge_request *r = job->of.request;
    return ndr_op_launch(job, job->kernel, job->plan.range, ndr_operand_arg(&r->first), r->first.offset, r->first.cols,
                         ndr_operand_arg(&r->second), r->second.offset, r->second.cols, ndr_operand_arg(&r->output),
                         r->output.offset, share_of(&job->of));
}

/* The passes write to the output and the workspace in turn, the last one to the output. */
static ndr_status launch_sort(ndr_op_job *job)
{
    const ndr_merge_request *r = job->of.request;
    const unsigned passes = passes_of(r);
    ndr_operand temp = r->output, from = r->first;
    if (passes > 0) temp.buffer = ndr_workspace_buffer(job->workspace);
    temp.offset = temp_offset(r);
    for (unsigned p = 0; p <= passes; ++p) {
        const ndr_operand to = (passes - p) % 2 == 0 ? r->output : temp;
#define ARGS                                                                                                        \
    job->plan.range, ndr_operand_arg(&from), from.offset, ndr_operand_arg(&to), to.offset, r->count,                \
        share_of(&job->of), ndr_operand_arg(&r->starts), r->starts.offset, r->starts.cols, r->length
        if (p == 0) NDR_TRY(ndr_op_launch(job, job->kernel, ARGS));
        else NDR_TRY(ndr_op_launch(job, job->others[0], ARGS, (uint64_t)NDR_MERGE_RUN << (p - 1)));
#undef ARGS
        from = to;
    }
    return NDR_OK;
}

static const ndr_op_variant merging = { .name = "shares",
                                        .file = "merge/merge.cl",
                                        .kernel = "merge_arrays",
                                        .write = write,
                                        .plan = plan,
                                        .launch = launch_merge };
static const ndr_op_variant sorting = { .name = "shares",
                                        .file = "merge/merge.cl",
                                        .kernel = "sort_runs",
                                        .others = { "merge_runs" },
                                        .form = 1,
                                        .write = write,
                                        .plan = plan,
                                        .launch = launch_sort };
static const ndr_op_variant *const merges[] = { &merging }, *const sorts[] = { &sorting };

static ndr_op_work work_of(const void *request)
{
    const ndr_merge_request *r = request;
    return (ndr_op_work){ 2 * (uint64_t)r->count * r->output.element_bytes, 0 };
}

const ndr_operation ndr_merge_operation = { "merge", merges, NDR_COUNT_OF(merges), NULL, work_of };
const ndr_operation ndr_merge_sort_operation = { "merge_sort", sorts, NDR_COUNT_OF(sorts), NULL, work_of };

/* ---- checks ---- */

static ndr_status check_order(const char *call, const ndr_context *context, ndr_merge_order *order)
{
    NDR_TRY(ndr_written_check_type(call, order->dtype, order->element, order->element_bytes, &context->caps.info));
    NDR_REQUIRE(!order->element || order->less,
                "%s: elements of type \"%s\" have no order; set less to OpenCL C such as \"a.key < b.key\"", call,
                order->element);
    NDR_REQUIRE(!order->less || order->less[strspn(order->less, " \t\r\n")],
                "%s: less is empty; set it to OpenCL C such as \"a < b\", or leave it out", call);
    NDR_TRY(ndr_own_check(call, "less", order->less, NDR_OWN_EXPRESSION));
    NDR_TRY(ndr_own_check(call, "declarations", order->declarations, NDR_OWN_DECLARATIONS));
    if (!order->element) order->element_bytes = ndr_dtype_size(order->dtype);
    return NDR_OK;
}

#define ORDER_OF(desc) \
    { (desc)->dtype, (desc)->element, (desc)->less, (desc)->declarations, (desc)->element_bytes }

static ndr_status make_merge(const ndr_context *context, const ndr_merge_desc *desc, ndr_merge_request *r)
{
    const char *const call = "ndr_merge";
    NDR_REQUIRE(desc, "ndr_merge: desc is NULL; pass the address of a descriptor whose members are set");
    *r = (ndr_merge_request){ .order = ORDER_OF(desc) };
    NDR_TRY(check_order(call, context, &r->order));
    NDR_REQUIRE_AS(NDR_OUT_OF_BOUNDS, ndr_add_fits(desc->first_count, desc->second_count, &r->count),
                   "ndr_merge: first_count is %zu and second_count %zu, together more than a size_t counts; use smaller "
                   "counts",
                   desc->first_count, desc->second_count);
    const size_t bytes = r->order.element_bytes;
    r->first = ndr_operand_of(call, "first", desc->first, desc->first_count, bytes);
    r->second = ndr_operand_of(call, "second", desc->second, desc->second_count, bytes);
    r->output = ndr_operand_of(call, "output", desc->output, r->count, bytes);
    return NDR_OK;
}

static ndr_status make_sort(const ndr_context *context, const ndr_merge_sort_desc *desc, ndr_merge_request *r)
{
    const char *const call = "ndr_merge_sort";
    NDR_REQUIRE(desc, "ndr_merge_sort: desc is NULL; pass the address of a descriptor whose members are set");
    *r = (ndr_merge_request){ .order = ORDER_OF(desc), .count = desc->count, .length = desc->length };
    NDR_TRY(check_order(call, context, &r->order));
    NDR_REQUIRE(desc->length == 0 || desc->segments == 0,
                "ndr_merge_sort: length is %zu, and there are %zu segments; segments are told apart by one of them: leave "
                "out the other",
                desc->length, desc->segments);
    const size_t bytes = r->order.element_bytes;
    r->first = ndr_operand_of(call, "input", desc->input, desc->count, bytes);
    r->starts = ndr_operand_of(call, "starts", desc->starts, desc->segments, sizeof(uint64_t));
    r->output = ndr_operand_of(call, "output", desc->output, desc->count, bytes);
    return NDR_OK;
}

/* `in_place`: the output may be the first input. */
static ndr_status check_operands(const ndr_merge_request *r, const ndr_queue *queue, bool in_place)
{
    const ndr_operand *const inputs[] = { &r->first, &r->second, &r->starts };
    const bool is_same = r->first.buffer == r->output.buffer && r->first.offset == r->output.offset;
    for (size_t i = 0; i < NDR_COUNT_OF(inputs); ++i) NDR_TRY(ndr_operand_check(inputs[i], queue));
    NDR_TRY(ndr_operand_check(&r->output, queue));
    for (size_t i = in_place && is_same; i < NDR_COUNT_OF(inputs); ++i)
        NDR_TRY(ndr_operand_check_apart(&r->output, inputs[i]));
    return NDR_OK;
}

static ndr_status run(const ndr_operation *operation, const ndr_order *order, const ndr_merge_request *r,
                      ndr_event **event)
{
    NDR_TRY(check_operands(r, order->queue, operation == &ndr_merge_sort_operation));
    if (r->count == 0) return ndr_queue_mark_in(order, event);
    return ndr_written_explain_size(ndr_op_run(operation, order, r, event), r->output.call, r->order.element,
                                    r->order.element_bytes);
}

/* ---- the calls ---- */

ndr_status ndr_merge(ndr_queue *queue, const ndr_merge_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_merge_request request;
    NDR_TRY(ndr_order_check_queue("ndr_merge", &order));
    NDR_TRY(make_merge(order.queue->context, desc, &request));
    return run(&ndr_merge_operation, &order, &request, event);
}

NDR_OP_EXPLAIN(ndr_merge, ndr_merge_request, make_merge(context, desc, &r), &ndr_merge_operation)

ndr_status ndr_merge_sort(ndr_queue *queue, const ndr_merge_sort_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_merge_request request;
    NDR_TRY(ndr_order_check_queue("ndr_merge_sort", &order));
    NDR_TRY(make_sort(order.queue->context, desc, &request));
    return run(&ndr_merge_sort_operation, &order, &request, event);
}

NDR_OP_EXPLAIN(ndr_merge_sort, ndr_merge_request, make_sort(context, desc, &r), &ndr_merge_sort_operation)
