/* reduce.c - ndr_reduce(): its checks and the list of its implementations. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/reduce/reduce.h"
#include "ops/warm.h"

#include <stdio.h>

/* ---- the list ---- */

/* In the order in which they are asked. */
#define VARIANTS(V)                                                                       \
    V(tree_chunks)                                                                        \
    V(tree_chunks_two_launches) V(tree_groups_one_launch) V(tree_groups) V(atomic_chunks) \
        V(atomic_chunks_two_launches) V(atomic_groups_one_launch) V(atomic_groups) V(recursive)
#define DECLARE(name) extern const ndr_op_variant ndr_reduce_##name;
#define POINT_TO(name) &ndr_reduce_##name,
VARIANTS(DECLARE)
static const ndr_op_variant *const variants[] = { VARIANTS(POINT_TO) };

/* One operation for each element after the first. */
static ndr_op_work work_of(const void *request)
{
    const ndr_reduce_request *r = request;
    const bool counts = ndr_dtype_describe(r->dtype)->is_float && r->input.cols > 0;
    return (ndr_op_work){ (r->input.cols + 1) * r->input.element_bytes, counts ? r->input.cols - 1 : 0 };
}

/* Never tuned: another variant would change the bits of a sum. */
const ndr_operation ndr_reduce_operation = { "reduce", variants, NDR_COUNT_OF(variants), NULL, work_of };

/* ---- shared by the implementations ---- */

ndr_operand ndr_reduce_operand(const char *name, ndr_buffer *buffer, size_t offset, size_t count, ndr_dtype dtype)
{
    return ndr_operand_of("ndr_reduce", name, (ndr_span){ buffer, offset }, count, ndr_dtype_size(dtype));
}

const char *ndr_reduce_cannot(const ndr_op_case *of)
{
    const ndr_reduce_request *r = of->request;
    return of->variant->form == (unsigned)r->method ? NULL : "the call asks for another method";
}

size_t ndr_reduce_most(const ndr_reduce_request *request, size_t otherwise)
{
    return request->method == NDR_REDUCE_ATOMIC ? NDR_MAX_ATOMICS : otherwise;
}

size_t ndr_reduce_element_bytes(const ndr_reduce_request *request)
{
    return ndr_dtype_size(ndr_dtype_is_narrow(request->dtype) ? NDR_DTYPE_F32 : request->dtype);
}

ndr_status ndr_reduce_launch_v(ndr_op_job *job, const ndr_arg *args, size_t arg_count)
{
    enum { MAX_ARGS = 16 };
    const ndr_reduce_request *r = job->of.request;
    const ndr_arg loaded[] = { ndr_operand_arg(&r->input), ndr_arg_of(r->input.offset) };
    ndr_arg all[MAX_ARGS];
    memcpy(all, loaded, sizeof loaded);
    memcpy(all + NDR_COUNT_OF(loaded), args, arg_count * sizeof *all);
    return ndr_op_launch_v(job, job->kernel, &job->plan.range, all, NDR_COUNT_OF(loaded) + arg_count);
}

size_t ndr_reduce_workspace_bytes(const ndr_reduce_request *request, size_t elements)
{
    return NDR_WORKSPACE_HEAD_BYTES + elements * ndr_reduce_element_bytes(request);
}

size_t ndr_reduce_partials_bytes(const ndr_reduce_request *request, size_t count)
{
    return ndr_reduce_workspace_bytes(request, request->method == NDR_REDUCE_ATOMIC ? 0 : count);
}

static bool is_logical(ndr_op op) { return op == NDR_OP_LOGICAL_AND || op == NDR_OP_LOGICAL_OR; }

void ndr_reduce_print_options(const ndr_reduce_request *request, const char *more, char options[NDR_OPTIONS_SIZE])
{
    snprintf(options, NDR_OPTIONS_SIZE, "%s -DOP_NAME=%s %s%s", ndr_dtype_options(request->dtype),
             ndr_op_name(request->op), is_logical(request->op) ? "-DIS_LOGICAL " : "", more);
}

ndr_status ndr_reduce_take_cell(ndr_op_job *job, unsigned slot)
{
    const ndr_reduce_request *r = job->of.request;
    if (!job->others[0]) return NDR_OK;
    return ndr_op_launch(job, job->others[0], ndr_range_1d(1), ndr_op_workspace_arg(job), slot, r->output.buffer,
                         r->output.offset);
}

/* ---- checks ---- */

/* The cell of the atomic method is an integer of 32 or 64 bits with atomic functions. */
static bool has_cell(const ndr_reduce_desc *desc)
{
    return desc->op <= NDR_OP_MAX && desc->dtype >= NDR_DTYPE_I32 && desc->dtype <= NDR_DTYPE_F64;
}

/* The exact operators need no fp64. */
static ndr_status check_f64(const ndr_reduce_desc *desc, const ndr_device_info *device)
{
    const bool is_exact = desc->op <= NDR_OP_MAX;
    if (desc->dtype != NDR_DTYPE_F64 || device->has_f64 || (is_exact && desc->numerics == NDR_NUMERICS_EXACT)) return NDR_OK;
    return ndr_fail(NDR_UNSUPPORTED, "ndr_reduce: device \"%s\" has no f64; use f32%s", device->name,
                    is_exact ? ", or NDR_NUMERICS_EXACT" : "");
}

static ndr_status make_request(const ndr_context *context, const ndr_reduce_desc *desc, ndr_reduce_request *request)
{
    const ndr_device_info *device = &context->caps.info;
    NDR_REQUIRE(desc, "ndr_reduce: desc is NULL; pass the address of a descriptor whose members are set");
    NDR_REQUIRE(ndr_dtype_describe(desc->dtype),
                "ndr_reduce: dtype is %s; use i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, f16 or bf16",
                desc->dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(desc->dtype));
    NDR_TRY(ndr_operand_check_op("ndr_reduce", desc->op, desc->dtype));
    NDR_REQUIRE(
        (unsigned)desc->method <= NDR_REDUCE_RECURSIVE,
        "ndr_reduce: %d is not an ndr_reduce_method; use NDR_REDUCE_TREE, NDR_REDUCE_ATOMIC or NDR_REDUCE_RECURSIVE",
        (int)desc->method);
    NDR_REQUIRE(
        desc->method != NDR_REDUCE_ATOMIC || has_cell(desc),
        "ndr_reduce: the atomic method has sums, minima and maxima of 32 and 64 bits, and not NDR_OP_%s of %s; use "
        "NDR_REDUCE_TREE",
        ndr_op_name(desc->op), ndr_dtype_name(desc->dtype));
    NDR_REQUIRE(desc->method != NDR_REDUCE_RECURSIVE || !ndr_dtype_is_narrow(desc->dtype),
                "ndr_reduce: the recursive method does not take %s; use NDR_REDUCE_TREE", ndr_dtype_name(desc->dtype));
    NDR_TRY(check_f64(desc, device));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED,
                   desc->method != NDR_REDUCE_ATOMIC || ndr_dtype_size(desc->dtype) < 8 || device->has_int64_atomics,
                   "ndr_reduce: device \"%s\" has no 64-bit atomics, which the atomic method needs for %s; use "
                   "NDR_REDUCE_TREE",
                   device->name, ndr_dtype_name(desc->dtype));
    *request = (ndr_reduce_request){
        .dtype = desc->dtype,
        .op = desc->op,
        .method = desc->method,
        .input = ndr_reduce_operand("input", desc->input.buffer, desc->input.offset, desc->count, desc->dtype),
        .output = ndr_reduce_operand("output", desc->output.buffer, desc->output.offset, 1, desc->dtype),
    };
    return ndr_numerics_set(&context->caps, desc, request);
}

static ndr_status check_reduction(ndr_queue *queue, const ndr_reduce_desc *desc, ndr_reduce_request *request)
{
    NDR_REQUIRE_SET_IN("ndr_reduce", queue);
    NDR_TRY(make_request(queue->context, desc, request));
    NDR_TRY(ndr_operand_check(&request->input, queue));
    NDR_TRY(ndr_operand_check(&request->output, queue));
    NDR_TRY(ndr_operand_check_apart(&request->output, &request->input));
    if (!ndr_reduce_is_dot(request)) return NDR_OK;
    NDR_TRY(ndr_operand_check(&request->factors, queue));
    return ndr_operand_check_apart(&request->output, &request->factors);
}

static const ndr_operation *operation_of(const ndr_reduce_request *request)
{
    return request->numerics == NDR_NUMERICS_FAST ? &ndr_reduce_operation : &ndr_numerics_operation;
}

ndr_status ndr_reduce(ndr_queue *queue, const ndr_reduce_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_reduce_request request;
    NDR_TRY(check_reduction(order.queue, desc, &request));
    return ndr_op_run(operation_of(&request), &order, &request, event);
}

NDR_OP_EXPLAIN(ndr_reduce, ndr_reduce_request, make_request(context, desc, &r), operation_of(&r))

ndr_status ndr_reduce_build(ndr_context *context, const ndr_reduce_desc *desc, ndr_kernel **kernel)
{
    ndr_reduce_request request;
    NDR_TRY(make_request(context, desc, &request));
    return ndr_op_build(operation_of(&request), context, &request, NULL, kernel);
}
