/* map_reduce.c - ndr_map_reduce(): its checks, and results for the host. */
#include "device/buffer.h"
#include "device/context.h"
#include "device/queue.h"
#include "ops/map_reduce/map_reduce.h"
#include "ops/own_text.h"
#include "ops/written.h"

#include <stdio.h>

/* ---- types and operators ---- */

static bool is_number(ndr_dtype dtype) { return dtype >= NDR_DTYPE_I8 && dtype <= NDR_DTYPE_F64; }
static bool is_text(const char *text) { return text && text[strspn(text, " \t\r\n")]; }

static ndr_status check_element(const ndr_map_reduce_desc *desc, const ndr_device_info *device)
{
    NDR_TRY(ndr_written_check_type("ndr_map_reduce", desc->dtype, desc->element, desc->element_bytes, device));
    NDR_REQUIRE(desc->combine, "ndr_map_reduce: elements of type \"%s\" have no op; set combine and identity",
                desc->element);
    return NDR_OK;
}

static ndr_status check_own_operator(const ndr_map_reduce_desc *desc)
{
    NDR_REQUIRE(!desc->combine == !desc->identity, "ndr_map_reduce: %s is set without %s; set both or none",
                desc->combine ? "combine" : "identity", desc->combine ? "identity" : "combine");
    NDR_REQUIRE(!desc->combine || desc->op == NDR_OP_NONE,
                "ndr_map_reduce: op and combine are set; leave op out, or combine and identity");
    NDR_TRY(ndr_own_check("ndr_map_reduce", "combine", desc->combine, NDR_OWN_EXPRESSION));
    return ndr_own_check("ndr_map_reduce", "identity", desc->identity, NDR_OWN_EXPRESSION);
}

/* `what`: "", or "values[1].". */
static ndr_status check_texts(const ndr_map_reduce_value *v, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "%sexpression", what);
    NDR_TRY(ndr_own_check("ndr_map_reduce", name, v->expression, NDR_OWN_EXPRESSION));
    snprintf(name, sizeof name, "%sfinish", what);
    return ndr_own_check("ndr_map_reduce", name, v->finish, NDR_OWN_EXPRESSION);
}

static ndr_status check_value(const ndr_map_reduce_desc *desc, const ndr_map_reduce_value *v, const char *what,
                              const ndr_device_info *device)
{
    const ndr_dtype result = v->output.dtype;
    NDR_REQUIRE(is_text(v->expression), "ndr_map_reduce: %sexpression is not set; set it to OpenCL C such as \"x * y\"",
                what);
    NDR_TRY(check_texts(v, what));
    NDR_REQUIRE(desc->element || is_number(v->dtype),
                "ndr_map_reduce: %sdtype is %s; use i8, u8, i16, u16, i32, u32, i64, u64, f32 or f64, or set element",
                what, v->dtype == NDR_DTYPE_NONE ? "not set" : ndr_dtype_name(v->dtype));
    NDR_REQUIRE(result == NDR_DTYPE_NONE || ndr_dtype_describe(result),
                "ndr_map_reduce: %soutput.dtype is not valid; set it to the type of the results, or leave it out",
                what);
    NDR_REQUIRE(!desc->element || result == NDR_DTYPE_NONE || v->finish,
                "ndr_map_reduce: output.dtype is %s, but elements are \"%s\"; set finish to what is stored of them",
                ndr_dtype_name(result), desc->element);
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, (v->dtype != NDR_DTYPE_F64 && result != NDR_DTYPE_F64) || device->has_f64,
                   "ndr_map_reduce: device \"%s\" has no f64; use f32", device->name);
    NDR_REQUIRE(!desc->is_combined || (!v->finish && !ndr_op_is_arg(v->op)),
                "ndr_map_reduce: is_combined is set, but %s%s; what the output holds is combined only with combined "
                "values",
                what, v->finish ? "finish is, too" : "op finds an index");
    NDR_REQUIRE(!desc->is_combined || v->output.buffer || !v->host,
                "ndr_map_reduce: is_combined is set, but %soutput has no buffer; set the one that holds values", what);
    return desc->combine || ndr_op_is_arg(v->op) ? NDR_OK : ndr_operand_check_op("ndr_map_reduce", v->op, v->dtype);
}

/* ---- the values ---- */

/* The members for one value. */
static ndr_map_reduce_value only_value(const ndr_map_reduce_desc *desc)
{
    return (ndr_map_reduce_value){ .dtype = desc->dtype,
                                   .op = desc->op,
                                   .expression = desc->expression,
                                   .finish = desc->finish,
                                   .output = desc->output,
                                   .host = desc->host };
}

static bool is_name(const char *name)
{
    bool is = name && *name && !(*name >= '0' && *name <= '9');
    for (const char *c = name; is && *c; ++c) is = ndr_word_has(*c);
    return is && strncmp(name, "ndr_", 4) != 0;
}

static ndr_status check_names(const ndr_map_reduce_desc *desc)
{
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, desc->value_count > 0 && desc->value_count <= NDR_MAX_RESULTS,
                   "ndr_map_reduce: value_count is %zu; use 1 to %d values", desc->value_count, NDR_MAX_RESULTS);
    NDR_REQUIRE(!desc->dtype && !desc->element && !desc->op && !desc->combine && !desc->expression && !desc->finish
                    && !desc->output.buffer && !desc->host,
                "ndr_map_reduce: values are set, and so is a member for one value, such as dtype, op or output; leave "
                "these out");
    for (size_t i = 0; i < desc->value_count; ++i) {
        const char *name = desc->values[i].name;
        NDR_REQUIRE(is_name(name),
                    "ndr_map_reduce: values[%zu] is called \"%s\"; use letters, digits and _, not with a digit or ndr_ "
                    "first",
                    i, name ? name : "");
        for (size_t j = 0; j < i; ++j)
            NDR_REQUIRE(strcmp(name, desc->values[j].name) != 0,
                        "ndr_map_reduce: values[%zu] and values[%zu] are called \"%s\"; choose another name", j, i,
                        name);
    }
    return NDR_OK;
}

static ndr_status fill_values(const ndr_map_reduce_desc *desc, const ndr_device_info *device, ndr_map_reduce_request *r)
{
    char what[40] = "";
    r->value_bytes = 0;
    r->value_count = desc->values ? desc->value_count : 1;
    for (size_t i = 0; i < r->value_count; ++i) {
        ndr_reduced_value *v = &r->values[i];
        v->given = desc->values ? desc->values[i] : only_value(desc);
        if (desc->values) snprintf(what, sizeof what, "values[%zu].", i);
        snprintf(v->label, sizeof v->label, "%soutput", what);
        NDR_TRY(check_value(desc, &v->given, what, device));
        const bool is_arg = ndr_op_is_arg(v->given.op);
        ndr_dtype *dtype = &v->given.output.dtype;
        if (*dtype == NDR_DTYPE_NONE) *dtype = is_arg && !v->given.finish ? NDR_DTYPE_U64 : v->given.dtype;
        v->element_bytes = desc->element ? desc->element_bytes : ndr_dtype_size(v->given.dtype);
        v->result_bytes = *dtype ? ndr_dtype_size(*dtype) : v->element_bytes;
        v->is_stored = v->given.output.buffer || v->given.host || !desc->values;
        v->is_packed = v->given.output.shape.dims == 0;
        const bool is_member = is_arg || r->value_count > 1; /* is aligned */
        r->value_bytes += (is_member ? (v->element_bytes + 7) / 8 * 8 : v->element_bytes) + (is_arg ? 8 : 0);
    }
    return NDR_OK;
}

/* ---- shapes ---- */

static ndr_status check_axes(const ndr_map_reduce_desc *desc, const ndr_range *shape)
{
    NDR_REQUIRE(desc->axes >> shape->dims == 0,
                shape->dims == 1 ? "ndr_map_reduce: axes is 0x%x, but the shape has %u dimension; use bit %u, or 0"
                                 : "ndr_map_reduce: axes is 0x%x, but the shape has %u dimensions; use the bits 0 to %u",
                desc->axes, shape->dims, shape->dims - 1);
    if (!ndr_has_segments(desc)) return NDR_OK;
    NDR_REQUIRE(shape->dims == 1 && desc->axes == 0,
                "ndr_map_reduce: offsets are set for a shape of %u dimensions%s; segments are of a shape of one "
                "dimension, without axes",
                shape->dims, desc->axes ? " with axes" : "");
    return NDR_OK;
}

/* The shape of the results. */
static ndr_range kept_shape(const ndr_map_reduce_request *r)
{
    ndr_range shape = r->names.shape;
    if (ndr_has_segments(r->desc)) return ndr_range_1d(r->desc->segments);
    for (unsigned d = 0; d < shape.dims; ++d)
        if (r->desc->axes == 0 || (r->desc->axes >> d & 1)) shape.size[d] = 1;
    return shape;
}

static ndr_status fill_outputs(ndr_map_reduce_request *r, const ndr_device_info *device)
{
    const ndr_range shape = kept_shape(r);
    for (size_t i = 0; i < r->value_count; ++i) {
        ndr_reduced_value *v = &r->values[i];
        ndr_array *output = &v->given.output;
        if (v->is_packed) {
            const size_t offset = output->offset;
            *output = ndr_array_of(output->buffer, output->dtype, shape);
            output->offset = offset;
            continue;
        }
        NDR_REQUIRE(output->dtype != NDR_DTYPE_NONE,
                    "ndr_map_reduce: %s has a shape, but elements of type \"%s\" are stored one after the other; leave "
                    "the shape out, or set finish",
                    v->label, r->desc->element);
        NDR_TRY(ndr_array_check("ndr_map_reduce", v->label, output, device));
        bool is_same = output->shape.dims == shape.dims;
        for (unsigned d = 0; d < shape.dims && is_same; ++d) is_same = output->shape.size[d] == shape.size[d];
        NDR_REQUIRE(is_same, "ndr_map_reduce: %s has shape %s, but the results have %s; use that shape", v->label,
                    ndr_sizes_print(output->shape.dims, output->shape.size).chars,
                    ndr_sizes_print(shape.dims, shape.size).chars);
        NDR_TRY(ndr_array_check_output("ndr_map_reduce", v->label, output));
        NDR_REQUIRE(!v->given.host || ndr_array_is_packed(output),
                    "ndr_map_reduce: %s has strides, but host is set, too; leave out the host, or the output's shape",
                    v->label);
    }
    return NDR_OK;
}

/* The arrays with the axes of the layout as their dimensions. */
static void make_canonical(ndr_map_reduce_request *r)
{
    static const char *const numbers[NDR_MAX_RESULTS] = { "0", "1", "2", "3", "4", "5", "6", "7" };
    const ndr_reduced_layout *l = &r->layout;
    ndr_names *c = &r->canonical;
    *c = r->names;
    c->is_flat = false;
    c->index = "ndr_j";
    c->element = r->desc->element;
    c->inputs = r->inputs;
    c->outputs = r->outputs;
    c->shape.dims = l->dims;
    for (unsigned d = 0; d < l->dims; ++d) {
        c->shape.size[d] = l->axes[d].size;
        if (l->axes[d].is_reduced == l->is_along_reduced) c->along = d + 1;
    }
    for (size_t i = 0; i < c->input_count; ++i) {
        r->inputs[i] = r->names.inputs[i];
        ndr_reduced_strides(l, &r->names.inputs[i].array, false, r->inputs[i].array.stride);
        if (!ndr_has_segments(r->desc)) r->inputs[i].array.shape = c->shape;
        else r->inputs[i].array.shape = ndr_range_2d(1, c->shape.size[1]);
    }
    for (size_t i = 0; i < r->value_count; ++i) {
        if (!r->values[i].is_stored) continue;
        ndr_map_array *output = &r->outputs[c->output_count];
        *output = (ndr_map_array){ numbers[c->output_count], r->values[i].given.output };
        ndr_reduced_strides(l, &r->values[i].given.output, true, output->array.stride);
        output->array.shape.dims = l->dims;
        for (unsigned d = 0; d < l->dims; ++d)
            output->array.shape.size[d] = l->axes[d].is_reduced ? 1 : c->shape.size[d];
        ++c->output_count;
    }
}

static ndr_status make_request(const ndr_context *context, const ndr_map_reduce_desc *desc, ndr_map_reduce_request *r)
{
    const ndr_device_info *device = &context->caps.info;
    NDR_REQUIRE(desc, "ndr_map_reduce: desc is NULL; pass the address of a descriptor whose members are set");
    r->desc = desc;
    if (desc->values) NDR_TRY(check_names(desc));
    else NDR_TRY(check_own_operator(desc));
    if (desc->element) NDR_TRY(check_element(desc, device));
    NDR_TRY(fill_values(desc, device, r));
    r->names = (ndr_names){ .call = "ndr_map_reduce",
                            .declarations = desc->declarations,
                            .scalars = desc->scalars,
                            .inputs = desc->inputs,
                            .scalar_count = desc->scalar_count,
                            .input_count = desc->input_count,
                            .shape = desc->shape };
    if (desc->shape.dims == 0 && desc->inputs && desc->input_count > 0) r->names.shape = desc->inputs[0].array.shape;
    NDR_REQUIRE(r->names.shape.dims >= 1 && r->names.shape.dims <= 3,
                "ndr_map_reduce: the shape has %u dimensions; set shape, or an input, to 1 to 3", r->names.shape.dims);
    NDR_TRY(ndr_names_check(&r->names, device));
    NDR_REQUIRE(ndr_names_count(&r->names) < SIZE_MAX,
                "ndr_map_reduce: shape %s has more elements than a size_t counts",
                ndr_sizes_print(r->names.shape.dims, r->names.shape.size).chars);
    NDR_TRY(check_axes(desc, &r->names.shape));
    r->offsets = ndr_operand_of("ndr_map_reduce", "offsets", desc->offsets,
                                ndr_has_segments(desc) ? desc->segments + 1 : 0, sizeof(uint64_t));
    NDR_TRY(fill_outputs(r, device));
    ndr_reduced_lay_out(r);
    make_canonical(r);
    return NDR_OK;
}

/* ---- the call ---- */

/* The bytes of a value's output. */
static ndr_bytes bytes_of(const ndr_map_reduce_request *r, const ndr_reduced_value *v)
{
    const ndr_array *output = &v->given.output;
    return v->is_packed
               ? (ndr_bytes){ output->buffer, output->offset * v->result_bytes, r->layout.kept * v->result_bytes }
               : ndr_array_bytes(output);
}

static ndr_status check_output(const ndr_map_reduce_request *r, size_t index, const ndr_queue *queue)
{
    const ndr_reduced_value *v = &r->values[index];
    const ndr_array *output = &v->given.output;
    const ndr_operand packed = ndr_operand_of("ndr_map_reduce", v->label, (ndr_span){ output->buffer, output->offset },
                                              r->layout.kept, v->result_bytes);
    NDR_TRY(v->is_packed ? ndr_operand_check(&packed, queue)
                         : ndr_array_check_buffer("ndr_map_reduce", v->label, output, queue->context));
    if (r->layout.kept == 0) return NDR_OK;
    const ndr_bytes mine = bytes_of(r, v);
    for (size_t i = 0; i < r->names.input_count; ++i)
        NDR_TRY(ndr_array_check_outside("ndr_map_reduce", v->label, mine, r->names.inputs[i].name,
                                        &r->names.inputs[i].array));
    const ndr_bytes offsets = { r->offsets.buffer, r->offsets.offset * sizeof(uint64_t),
                                r->offsets.cols * sizeof(uint64_t) };
    NDR_REQUIRE(r->offsets.cols == 0 || !ndr_bytes_overlap(mine, offsets),
                "ndr_map_reduce: %s overlaps the offsets: move one of them", v->label);
    for (size_t i = 0; i < index; ++i)
        NDR_REQUIRE(!r->values[i].is_stored || !ndr_bytes_overlap(mine, bytes_of(r, &r->values[i])),
                    "ndr_map_reduce: %s and %s overlap: move one of them", r->values[i].label, v->label);
    return NDR_OK;
}

static ndr_status run(const ndr_order *order, ndr_map_reduce_request *r, ndr_event **event)
{
    for (size_t i = 0; i < r->value_count; ++i)
        if (r->values[i].is_stored) NDR_TRY(check_output(r, i, order->queue));
    return ndr_written_explain_size(ndr_op_run(&ndr_map_reduce_operation, order, r, event), "ndr_map_reduce",
                                    r->desc->element, r->desc->element_bytes);
}

static ndr_status read_results(const ndr_order *order, const ndr_map_reduce_request *r)
{
    ndr_status status = NDR_OK;
    for (size_t i = 0; i < r->value_count && status == NDR_OK; ++i) {
        const ndr_reduced_value *v = &r->values[i];
        if (v->given.host && r->layout.kept > 0)
            status = ndr_buffer_read(order->queue, v->given.output.buffer, v->given.output.offset * v->result_bytes,
                                     r->layout.kept * v->result_bytes, v->given.host, NULL);
    }
    return status;
}

/* Run, wait, and read the results. */
static ndr_status run_and_read(const ndr_order *order, ndr_map_reduce_request *r, ndr_event **event)
{
    ndr_event *done = NULL;
    NDR_TRY(run(order, r, &done));
    ndr_status status = ndr_event_wait(done);
    if (status == NDR_OK) status = read_results(order, r);
    if (status == NDR_OK && event) *event = done;
    else ndr_event_destroy(done);
    return status;
}

/* Results that only the host gets are stored in buffers of the call. */
static ndr_status run_for_host(const ndr_order *order, ndr_map_reduce_request *r, ndr_event **event)
{
    ndr_buffer *made[NDR_MAX_RESULTS] = { NULL };
    ndr_status status = NDR_OK;
    size_t o = 0;
    for (size_t i = 0; i < r->value_count && status == NDR_OK; ++i) {
        ndr_reduced_value *v = &r->values[i];
        if (!v->is_stored) continue;
        if (!v->given.output.buffer && v->given.host) {
            v->given.output.offset = 0;
            status =
                ndr_buffer_create(order->queue->context, ndr_max_size(r->layout.kept, 1) * v->result_bytes, &made[i]);
            v->given.output.buffer = made[i];
        }
        r->outputs[o].array.buffer = v->given.output.buffer;
        r->outputs[o++].array.offset = v->given.output.offset;
    }
    if (status == NDR_OK) status = run_and_read(order, r, event);
    for (size_t i = 0; i < r->value_count; ++i) ndr_buffer_destroy(made[i]);
    return status;
}

static bool has_host(const ndr_map_reduce_request *r)
{
    bool has = false;
    for (size_t i = 0; i < r->value_count; ++i) has |= r->values[i].given.host != NULL;
    return has;
}

ndr_status ndr_map_reduce(ndr_queue *queue, const ndr_map_reduce_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_map_reduce_request r;
    NDR_TRY(ndr_order_check_queue("ndr_map_reduce", &order));
    NDR_TRY(make_request(order.queue->context, desc, &r));
    NDR_TRY(ndr_names_check_buffers(&r.names, order.queue->context));
    NDR_TRY(ndr_operand_check(&r.offsets, order.queue));
    return has_host(&r) ? run_for_host(&order, &r, event) : run(&order, &r, event);
}

NDR_OP_EXPLAIN(ndr_map_reduce, ndr_map_reduce_request, make_request(context, desc, &r), &ndr_map_reduce_operation)
