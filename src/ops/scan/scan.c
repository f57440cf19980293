/* scan.c - ndr_scan(): its checks and the list of its implementations. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/scan/scan.h"

#include <stdio.h>
#include <string.h>

/* ---- the list ---- */

/* In the order in which they are asked. */
#define VARIANTS(V) V(chunks) V(copied) V(look_back) V(tiles)
#define DECLARE(name) extern const ndr_op_variant ndr_scan_##name;
#define POINT_TO(name) &ndr_scan_##name,
VARIANTS(DECLARE)
static const ndr_op_variant *const variants[] = { VARIANTS(POINT_TO) };

static ndr_op_work work_of(const void *request)
{
    const ndr_scan_request *r = request;
    return (ndr_op_work){ 2 * r->input.cols * r->input.element_bytes,
                          ndr_dtype_describe(r->dtype)->is_float ? r->input.cols : 0 };
}

/* Never tuned: another variant would change the bits of sums. */
const ndr_operation ndr_scan_operation = { "scan", variants, NDR_COUNT_OF(variants), NULL, work_of };

/* ---- shared by the implementations ---- */

void ndr_scan_print_options(const ndr_scan_request *r, const char *more, char options[NDR_OPTIONS_SIZE])
{
    snprintf(options, NDR_OPTIONS_SIZE, "-DT=%s -DOP_NAME=%s -DIS_EXCLUSIVE=%d -DIS_BACKWARD=%d -DSEGMENTS=%d %s",
             ndr_dtype_describe(r->dtype)->cl_name, ndr_op_name(r->op), r->is_exclusive, r->is_backward, (int)r->segments,
             more);
}

size_t ndr_scan_workspace_bytes(const ndr_scan_request *r, size_t partials)
{
    return partials > 1 ? NDR_WORKSPACE_HEAD_BYTES + partials * (r->input.element_bytes + 1) : 0;
}

ndr_status ndr_scan_launch(ndr_op_job *job, ndr_kernel *kernel, size_t size)
{
    const ndr_scan_request *r = job->of.request;
    return ndr_op_launch(job, kernel, job->plan.range, NDR_SCAN_ARGS(r), size, NDR_SCAN_INITIAL(r),
                         ndr_op_workspace_arg(job));
}

/* ---- checks ---- */

static ndr_operand operand_of(const char *name, ndr_span span, size_t count, ndr_dtype dtype)
{
    return ndr_operand_of("ndr_scan", name, span, count, ndr_dtype_size(dtype));
}

static ndr_status check_types(const char *call, const ndr_device_info *device, const ndr_scan_desc *desc)
{
    const ndr_dtype_info *type = ndr_dtype_describe(desc->dtype);
    NDR_REQUIRE(type && !ndr_dtype_is_narrow(desc->dtype),
                "%s: dtype is %s; use i8, u8, i16, u16, i32, u32, i64, u64, f32 or f64", call,
                desc->dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(desc->dtype));
    NDR_TRY(ndr_operand_check_op(call, desc->op, desc->dtype));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, desc->dtype != NDR_DTYPE_F64 || device->has_f64,
                   "%s: device \"%s\" has no f64; use f32", call, device->name);
    return NDR_OK;
}

static bool is_held(const ndr_arg *arg, const ndr_dtype_info *type)
{
    const unsigned unused = 64 - 8 * (unsigned)type->size_bytes + type->is_signed;
    const uint64_t highest = UINT64_MAX >> unused;
    if (arg->kind == NDR_ARG_UNSIGNED || arg->as.i >= 0) return arg->as.u <= highest;
    return type->is_signed && arg->as.i >= -(int64_t)highest - 1;
}

/* The initial value for kernels of `wanted`, which is the dtype or the unsigned type of its width; 0 if there is none. False
 * if it is not a value of the type. */
static bool read_initial(const ndr_arg *arg, ndr_dtype dtype, ndr_dtype wanted, ndr_arg *initial)
{
    const ndr_dtype_info *type = ndr_dtype_describe(dtype);
    const bool is_float = arg->kind == NDR_ARG_FLOAT, is_real = arg->kind == NDR_ARG_REAL;
    if (arg->kind == NDR_ARG_NONE) {
        *initial = type->is_float ? ndr_arg_of(0.0f) : ndr_arg_of(0u);
        if (dtype == NDR_DTYPE_F64) *initial = ndr_arg_of(0.0);
        return true;
    }
    if (dtype == NDR_DTYPE_F32) {
        *initial = ndr_arg_of(is_float ? arg->as.f : (float)arg->as.d);
        return is_float || is_real;
    }
    if (dtype == NDR_DTYPE_F64) {
        *initial = ndr_arg_of(is_float ? (double)arg->as.f : arg->as.d);
        return is_float || is_real || arg->kind == NDR_ARG_DOUBLE;
    }
    *initial = wanted == dtype ? *arg : ndr_arg_of(arg->as.u & UINT64_MAX >> (64 - 8 * type->size_bytes));
    return (arg->kind == NDR_ARG_SIGNED || arg->kind == NDR_ARG_UNSIGNED) && is_held(arg, type);
}

/* The unsigned type of the same width, if all but minima and maxima have the same bits there. Signed sums would
 * overflow. */
static ndr_dtype kernel_dtype(const ndr_scan_desc *desc)
{
    const ndr_dtype_info *type = ndr_dtype_describe(desc->dtype);
    const bool is_ordered = desc->op == NDR_OP_MIN || desc->op == NDR_OP_MAX;
    return type->is_float || is_ordered || !type->is_signed ? desc->dtype : (ndr_dtype)(desc->dtype + 1);
}

/* What does not depend on where the elements are. */
ndr_status ndr_scan_check(const char *call, const ndr_device_info *device, const ndr_scan_desc *desc,
                          ndr_scan_request *request)
{
    NDR_TRY(check_types(call, device, desc));
    *request = (ndr_scan_request){ .dtype = kernel_dtype(desc),
                                   .op = desc->op,
                                   .is_exclusive = desc->is_exclusive,
                                   .is_backward = desc->is_backward,
                                   .has_initial = desc->initial.kind != NDR_ARG_NONE };
    NDR_REQUIRE(read_initial(&desc->initial, desc->dtype, request->dtype, &request->initial),
                "%s: initial is not a value of %s; set it to ndr_arg_of() of one, or leave it out", call,
                ndr_dtype_name(desc->dtype));
    return NDR_OK;
}

ndr_status ndr_scan_make_request(const ndr_context *context, const ndr_scan_desc *desc, ndr_scan_request *request)
{
    NDR_REQUIRE(desc, "ndr_scan: desc is NULL; pass the address of a descriptor whose members are set");
    NDR_TRY(ndr_scan_check("ndr_scan", &context->caps.info, desc, request));
    NDR_REQUIRE(
        desc->length == 0 || !desc->flags.buffer,
        "ndr_scan: flags are set, and length is %zu; segments are told apart by one of them: leave out the other",
        desc->length);
    request->segments = desc->flags.buffer                               ? NDR_SCAN_BY_FLAGS
                        : desc->length > 0 && desc->length < desc->count ? NDR_SCAN_BY_LENGTH
                                                                         : NDR_SCAN_WHOLE;
    request->length = desc->length;
    request->input = operand_of("input", desc->input, desc->count, desc->dtype);
    request->flags = operand_of("flags", desc->flags, desc->flags.buffer ? desc->count : 0, NDR_DTYPE_U8);
    request->output = operand_of("output", desc->output, desc->count, desc->dtype);
    return NDR_OK;
}

static ndr_status check_scan(ndr_queue *queue, const ndr_scan_desc *desc, ndr_scan_request *request)
{
    NDR_REQUIRE_SET_IN("ndr_scan", queue);
    NDR_TRY(ndr_scan_make_request(queue->context, desc, request));
    const ndr_operand *in = &request->input, *out = &request->output;
    NDR_TRY(ndr_operand_check(in, queue));
    NDR_TRY(ndr_operand_check(&request->flags, queue));
    NDR_TRY(ndr_operand_check(out, queue));
    NDR_TRY(ndr_operand_check_apart(out, &request->flags));
    const bool is_in_place = in->buffer == out->buffer && in->offset == out->offset;
    return is_in_place ? NDR_OK : ndr_operand_check_apart(out, in);
}

/* ---- logical operators ---- */

bool ndr_scan_is_logical(ndr_op op) { return op == NDR_OP_LOGICAL_AND || op == NDR_OP_LOGICAL_OR; }

static bool is_true(const ndr_arg *arg)
{
    if (arg->kind == NDR_ARG_FLOAT) return arg->as.f != 0;
    return arg->kind == NDR_ARG_DOUBLE ? arg->as.d != 0 : arg->as.u != 0;
}

/* Of elements that are 0 or 1 they are the minimum and the maximum. */
void ndr_scan_set_truth(const ndr_scan_request *request, ndr_scan_desc *desc)
{
    const bool is_and = desc->op == NDR_OP_LOGICAL_AND, start = request->has_initial ? is_true(&request->initial) : is_and;
    desc->op = is_and ? NDR_OP_MIN : NDR_OP_MAX;
    desc->initial = ndr_dtype_describe(desc->dtype)->is_float ? ndr_arg_of((float)start) : ndr_arg_of((unsigned)start);
    if (desc->dtype == NDR_DTYPE_F64) desc->initial = ndr_arg_of((double)start);
}

ndr_status ndr_scan_make_truth(ndr_queue *queue, const ndr_array *input, const ndr_array *output, ndr_sequence *s)
{
    const ndr_map_array x = { "x", *input }, y = { "y", *output };
    const ndr_map_desc desc = {
        .statement = "y = x != 0", .inputs = &x, .input_count = 1, .outputs = &y, .output_count = 1
    };
    ndr_event *made = NULL;
    NDR_TRY(ndr_map(queue, &desc, s->keeps_events ? &made : NULL));
    ndr_sequence_add(s, made);
    return NDR_OK;
}

/* The elements become 0 or 1 in the output, which is scanned in place. `queue` as the caller passed it. */
static ndr_status scan_truth(ndr_queue *queue, const ndr_scan_desc *desc, const ndr_scan_request *r, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_sequence s = ndr_sequence_begin(&order, event != NULL);
    ndr_array input = ndr_array_of(desc->input.buffer, desc->dtype, ndr_range_1d(desc->count)), output = input;
    ndr_scan_desc truth = *desc;
    ndr_scan_request request;
    input.offset = desc->input.offset;
    output.buffer = desc->output.buffer;
    output.offset = desc->output.offset;
    truth.input = desc->output;
    ndr_scan_set_truth(r, &truth);
    ndr_status status = ndr_scan_make_request(order.queue->context, &truth, &request);
    if (status == NDR_OK) status = ndr_scan_make_truth(queue, &input, &output, &s);
    if (status == NDR_OK) status = ndr_sequence_run(&s, &ndr_scan_operation, &request);
    return ndr_sequence_end(&s, status, event);
}

/* ---- the calls ---- */

ndr_status ndr_scan(ndr_queue *queue, const ndr_scan_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_scan_request request;
    NDR_TRY(check_scan(order.queue, desc, &request));
    if (ndr_scan_is_logical(request.op)) return scan_truth(queue, desc, &request, event);
    return ndr_op_run(&ndr_scan_operation, &order, &request, event);
}

ndr_status ndr_scan_explain(ndr_context *context, const ndr_scan_desc *desc, size_t capacity, char *text,
                            size_t *length)
{
    ndr_scan_request request;
    NDR_REQUIRE_SET(context);
    NDR_TRY(ndr_scan_make_request(context, desc, &request));
    if (ndr_scan_is_logical(request.op)) request.op = NDR_OP_MIN;
    return ndr_op_explain_in(&ndr_scan_operation, context, &request, capacity, text, length);
}
