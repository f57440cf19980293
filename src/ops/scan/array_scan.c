/* array_scan.c - ndr_array_scan(): its checks. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/scan/lines.h"

static const char call[] = "ndr_array_scan";

/* ---- checks ---- */

static bool has_shape(const ndr_array *a, const ndr_array *b)
{
    bool has = a->shape.dims == b->shape.dims;
    for (unsigned d = 0; d < a->shape.dims && has; ++d) has = a->shape.size[d] == b->shape.size[d];
    return has;
}

static ndr_status check_arrays(const ndr_array_scan_desc *desc, const ndr_device_info *device)
{
    const ndr_array *in = &desc->input, *out = &desc->output;
    NDR_TRY(ndr_array_check(call, "input", in, device));
    NDR_TRY(ndr_array_check(call, "output", out, device));
    NDR_REQUIRE(in->dtype == out->dtype,
                "ndr_array_scan: input is %s and output is %s; make them the same, or convert with ndr_map()",
                ndr_dtype_name(in->dtype), ndr_dtype_name(out->dtype));
    NDR_REQUIRE(has_shape(in, out), "ndr_array_scan: input has shape %s and output has shape %s; make them the same",
                ndr_sizes_print(in->shape.dims, in->shape.size).chars,
                ndr_sizes_print(out->shape.dims, out->shape.size).chars);
    NDR_REQUIRE(desc->axis < in->shape.dims, "ndr_array_scan: axis is %u, but the arrays have %u dimensions; use 0 to %u",
                desc->axis, in->shape.dims, in->shape.dims - 1);
    return ndr_array_check_output(call, "output", out);
}

/* As ndr_scan() has it, without elements. */
static ndr_scan_desc plain_of(const ndr_array_scan_desc *desc)
{
    return (ndr_scan_desc){ .dtype = desc->input.dtype,
                            .op = desc->op,
                            .is_exclusive = desc->is_exclusive,
                            .is_backward = desc->is_backward,
                            .initial = desc->initial };
}

static ndr_status make_request(const ndr_context *context, const ndr_array_scan_desc *desc, ndr_line_request *r)
{
    NDR_REQUIRE(desc, "ndr_array_scan: desc is NULL; pass the address of a descriptor whose members are set");
    NDR_TRY(check_arrays(desc, &context->caps.info));
    const ndr_scan_desc plain = plain_of(desc);
    NDR_TRY(ndr_scan_check(call, &context->caps.info, &plain, &r->scan));
    ndr_lines_lay_out(&desc->input, &desc->output, desc->axis, r);
    return NDR_OK;
}

static ndr_status check_scan(ndr_queue *queue, const ndr_array_scan_desc *desc, ndr_line_request *request)
{
    NDR_REQUIRE_SET_IN(call, queue);
    NDR_TRY(make_request(queue->context, desc, request));
    NDR_TRY(ndr_array_check_buffer(call, "input", &desc->input, queue->context));
    NDR_TRY(ndr_array_check_buffer(call, "output", &desc->output, queue->context));
    return ndr_array_is_same(&desc->input, &desc->output)
               ? NDR_OK
               : ndr_array_check_apart(call, "output", &desc->output, "input", &desc->input);
}

/* ---- running ---- */

/* Lines that follow each other are segments of equal length: on CPUs of only one, because others are short. */
static bool is_plain(const ndr_context *context, const ndr_line_request *r)
{
    return ndr_lines_are_packed(r) && (r->lines == 1 || !ndr_has_vectors(&context->caps));
}

static ndr_scan_desc segments_of(const ndr_array_scan_desc *desc, const ndr_line_request *r)
{
    ndr_scan_desc plain = plain_of(desc);
    plain.input = (ndr_span){ desc->input.buffer, desc->input.offset };
    plain.output = (ndr_span){ desc->output.buffer, desc->output.offset };
    plain.count = r->count * r->lines;
    plain.length = r->count;
    return plain;
}

static ndr_status scan(const ndr_order *order, const ndr_array_scan_desc *desc, const ndr_line_request *r,
                       ndr_event **event)
{
    const ndr_scan_desc plain = segments_of(desc, r);
    ndr_scan_request request;
    if (!is_plain(order->queue->context, r)) return ndr_op_run(&ndr_array_scan_operation, order, r, event);
    NDR_TRY(ndr_scan_make_request(order->queue->context, &plain, &request));
    return ndr_op_run(&ndr_scan_operation, order, &request, event);
}

/* The elements become 0 or 1 in the output, which is scanned in place. `queue` as the caller passed it. */
static ndr_status scan_truth(ndr_queue *queue, const ndr_array_scan_desc *desc, const ndr_line_request *r,
                             ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_sequence s = ndr_sequence_begin(&order, event != NULL);
    ndr_array_scan_desc truth = *desc;
    ndr_scan_desc plain = plain_of(desc);
    ndr_line_request request;
    ndr_event *done = NULL;
    ndr_scan_set_truth(&r->scan, &plain);
    truth.op = plain.op;
    truth.initial = plain.initial;
    truth.input = desc->output;
    ndr_status status = make_request(order.queue->context, &truth, &request);
    if (status == NDR_OK) status = ndr_scan_make_truth(queue, &desc->input, &desc->output, &s);
    const ndr_order next = ndr_sequence_next(&s);
    if (status == NDR_OK) status = scan(&next, &truth, &request, s.keeps_events ? &done : NULL);
    ndr_sequence_add(&s, done);
    return ndr_sequence_end(&s, status, event);
}

/* ---- the calls ---- */

ndr_status ndr_array_scan(ndr_queue *queue, const ndr_array_scan_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_line_request request;
    NDR_TRY(check_scan(order.queue, desc, &request));
    if (request.count == 0 || request.lines == 0) return ndr_queue_mark_in(&order, event);
    return ndr_scan_is_logical(desc->op) ? scan_truth(queue, desc, &request, event)
                                         : scan(&order, desc, &request, event);
}

ndr_status ndr_array_scan_explain(ndr_context *context, const ndr_array_scan_desc *desc, size_t capacity, char *text,
                                  size_t *length)
{
    ndr_line_request r;
    NDR_REQUIRE_SET(context);
    NDR_TRY(make_request(context, desc, &r));
    if (ndr_scan_is_logical(desc->op)) r.scan.op = NDR_OP_MIN;
    const ndr_scan_desc plain = segments_of(desc, &r);
    return is_plain(context, &r) ? ndr_scan_explain(context, &plain, capacity, text, length)
                                 : ndr_op_explain_in(&ndr_array_scan_operation, context, &r, capacity, text, length);
}
