/* map_reduce.c - ndr_map_reduce(): the reduction of a caller's expression, by the rows and kernels of ndr_reduce(). */
#include "device/buffer.h"
#include "device/context.h"
#include "device/queue.h"
#include "ops/names.h"
#include "ops/reduce/reduce.h"
#include "ops/written.h"

/* A checked call. */
typedef struct mapped_reduction {
    ndr_reduce_mapped mapped; /* first: write() gets it */
    const ndr_map_reduce_desc *desc;
    ndr_names names;
    ndr_names_args args;
    size_t result_bytes;
    ndr_reduce_request request;
} mapped_reduction;

/* ---- the text in front of the kernels ---- */

static const char *element_type(const ndr_map_reduce_desc *desc)
{
    return desc->element ? desc->element : ndr_dtype_describe(desc->dtype)->cl_name;
}

/* A function with the parameters that returns an expression or initializer of the caller's. */
static void add_function(const char *type, const char *name, const char *parameters, const char *text,
                         const char *title, ndr_text *out)
{
    ndr_text_add_all(out, "static inline ", type, " ", name, "(", parameters, ")\n{ const ", type, " ndr_result =");
    ndr_names_add_own(text, title, out);
    ndr_text_add_all(out, "; return ndr_result; }\n");
}

static void add_element(const mapped_reduction *r, ndr_text *out)
{
    ndr_text_add_all(out, "static inline ndr_element ndr_element_at(");
    ndr_names_add_parameters(&r->names, true, out);
    ndr_text_add_all(out, ", const ulong i)\n{ ");
    ndr_names_add_dimensions(&r->names, out);
    ndr_names_add_values(&r->names, out);
    ndr_text_add_all(out, "const ndr_element ndr_result =");
    ndr_names_add_own(r->desc->expression, "expression", out);
    ndr_text_add_all(out, "; return ndr_result; }\n#define INPUT ");
    ndr_names_add_parameters(&r->names, true, out);
    ndr_text_add_all(out, "\n#define INPUT_VALUES ");
    ndr_names_add_parameters(&r->names, false, out);
    ndr_text_add_all(out, "\n#define ELEMENT(i) ndr_element_at(INPUT_VALUES, i)\n#define FETCH_INPUTS(i) ");
    ndr_names_add_prefetches(&r->names, out);
    ndr_text_add_all(out, "\n");
}

static void add_operator(const ndr_map_reduce_desc *desc, ndr_text *out)
{
    if (!desc->combine) {
        ndr_text_add_all(out, "#define OP_NAME ", ndr_op_name(desc->op), "\n");
        return;
    }
    add_function("ndr_element", "ndr_own_combine", "const ndr_element a, const ndr_element b", desc->combine, "combine",
                 out);
    add_function("ndr_element", "ndr_own_identity", "void", desc->identity, "identity", out);
    ndr_text_add_all(out, "#define COMBINE_ELEMENTS(a, b) ndr_own_combine(a, b)\n#define NEUTRAL "
                          "ndr_own_identity()\n#define IDENTITY ndr_own_identity()\n");
}

/* Vector instructions do not combine elements of a type of its own: a few of them at a time. */
static void add_type(const ndr_map_reduce_desc *desc, ndr_text *out)
{
    ndr_written_add_type(element_type(desc), desc->element ? desc->element_bytes : 0, out);
    if (desc->element) ndr_text_add_all(out, "#ifndef LANES\n#define LANES 8\n#endif\n");
}

static void write_text(const ndr_reduce_mapped *mapped, ndr_text *out)
{
    const mapped_reduction *r = (const mapped_reduction *)(const void *)mapped;
    const ndr_map_reduce_desc *desc = r->desc;
    const ndr_dtype_info *result = ndr_dtype_describe(desc->result_dtype);
    ndr_names_add_declarations(&r->names, out);
    add_type(desc, out);
    add_element(r, out);
    add_operator(desc, out);
    if (desc->finish) {
        const char *type = result ? result->cl_name : element_type(desc);
        add_function(type, "ndr_finish", "const ndr_element r", desc->finish, "finish", out);
        ndr_text_add_all(out, "#define RESULT ", type, "\n#define FINISH(x) ndr_finish(x)\n");
    }
    ndr_text_add_all(out, "#define T ", desc->element ? "ndr_element" : element_type(desc), "\n");
}

/* ---- checks ---- */

static bool is_number(ndr_dtype dtype) { return dtype >= NDR_DTYPE_I8 && dtype <= NDR_DTYPE_F64; }

static ndr_status check_type(const ndr_map_reduce_desc *desc, const ndr_device_info *device)
{
    NDR_TRY(ndr_written_check_type("ndr_map_reduce", desc->dtype, desc->element, desc->element_bytes, device));
    NDR_REQUIRE(desc->result_dtype == NDR_DTYPE_NONE || is_number(desc->result_dtype),
                "ndr_map_reduce: result_dtype is %s; use i8, u8, i16, u16, i32, u32, i64, u64, f32 or f64",
                ndr_dtype_name(desc->result_dtype));
    NDR_REQUIRE(desc->result_dtype == NDR_DTYPE_NONE || desc->finish,
                "ndr_map_reduce: result_dtype is %s, but finish is not set; set it to \"r\" to convert the result",
                ndr_dtype_name(desc->result_dtype));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, desc->result_dtype != NDR_DTYPE_F64 || device->has_f64,
                   "ndr_map_reduce: device \"%s\" has no f64; use f32", device->name);
    return NDR_OK;
}

static ndr_status check_operator(const ndr_map_reduce_desc *desc)
{
    NDR_REQUIRE(!desc->combine == !desc->identity, "ndr_map_reduce: %s is set without %s; set both or none",
                desc->combine ? "combine" : "identity", desc->combine ? "identity" : "combine");
    NDR_REQUIRE(!desc->combine || desc->op == NDR_OP_NONE,
                "ndr_map_reduce: op and combine are set; leave op out, or combine and identity");
    NDR_REQUIRE(!desc->element || desc->combine,
                "ndr_map_reduce: elements of type \"%s\" have no op; set combine and identity", desc->element);
    return desc->combine ? NDR_OK : ndr_reduce_check_op("ndr_map_reduce", desc->op, desc->dtype);
}

static ndr_status check_call(const ndr_context *context, const ndr_map_reduce_desc *desc, mapped_reduction *r)
{
    const ndr_device_info *device = &context->caps.info;
    NDR_REQUIRE(desc, "ndr_map_reduce: desc is NULL; pass the address of a descriptor whose members are set");
    NDR_REQUIRE(desc->expression && desc->expression[strspn(desc->expression, " \t\r\n")],
                "ndr_map_reduce: expression is not set; set it to OpenCL C such as \"x * y\"");
    NDR_TRY(check_type(desc, device));
    NDR_TRY(check_operator(desc));
    r->desc = desc;
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
    return ndr_names_check(&r->names, device);
}

/* `r` must stay where it is: its request points into it. */
static ndr_status make_call(const ndr_context *context, const ndr_map_reduce_desc *desc, mapped_reduction *r)
{
    NDR_TRY(check_call(context, desc, r));
    const size_t own_bytes = desc->element ? desc->element_bytes : ndr_dtype_size(desc->dtype);
    const size_t count = ndr_names_count(&r->names);
    NDR_REQUIRE(count < SIZE_MAX, "ndr_map_reduce: shape %s has more elements than a size_t counts",
                ndr_sizes_print(r->names.shape.dims, r->names.shape.size).chars);
    r->result_bytes = desc->result_dtype != NDR_DTYPE_NONE ? ndr_dtype_size(desc->result_dtype) : own_bytes;
    r->mapped = (ndr_reduce_mapped){ .write = write_text,
                                     .args = r->args.list,
                                     .arg_count = ndr_names_fill_args(&r->names, &r->args),
                                     .element_bytes = own_bytes,
                                     .read_bytes = count > 0 ? ndr_names_bytes(&r->names) / count : 0 };
    r->request = (ndr_reduce_request){
        .dtype = desc->dtype,
        .op = desc->op,
        .input = { .rows = 1, .cols = count },
        .output = ndr_operand_of("ndr_map_reduce", "output", desc->output, 1, r->result_bytes),
        .mapped = &r->mapped,
    };
    return NDR_OK;
}

/* ---- the call ---- */

static ndr_status check_output(const mapped_reduction *r, const ndr_queue *queue)
{
    const ndr_operand *output = &r->request.output;
    NDR_TRY(ndr_operand_check(output, queue));
    for (size_t i = 0; i < r->names.input_count; ++i) {
        const ndr_map_array *input = &r->names.inputs[i];
        const ndr_bytes mine = { output->buffer, output->offset * r->result_bytes, r->result_bytes };
        NDR_TRY(ndr_array_check_outside("ndr_map_reduce", "output", mine, input->name, &input->array));
    }
    return NDR_OK;
}

static ndr_status run(const ndr_order *order, mapped_reduction *r, ndr_event **event)
{
    NDR_TRY(check_output(r, order->queue));
    return ndr_written_explain_size(ndr_op_run(&ndr_reduce_operation, order, &r->request, event), "ndr_map_reduce",
                                    r->desc->element, r->desc->element_bytes);
}

/* Run, wait, and read the result. */
static ndr_status run_and_read(const ndr_order *order, mapped_reduction *r, ndr_event **event)
{
    ndr_event *done = NULL;
    NDR_TRY(run(order, r, &done));
    ndr_status status = ndr_event_wait(done);
    if (status == NDR_OK)
        status = ndr_buffer_read(order->queue, r->request.output.buffer, r->request.output.offset * r->result_bytes,
                                 r->result_bytes, r->desc->host, NULL);
    if (status == NDR_OK && event) *event = done;
    else ndr_event_destroy(done);
    return status;
}

static ndr_status run_for_host(const ndr_order *order, mapped_reduction *r, ndr_event **event)
{
    ndr_buffer *result = NULL;
    if (r->request.output.buffer) return run_and_read(order, r, event);
    NDR_TRY(ndr_buffer_create(order->queue->context, (r->request.output.offset + 1) * r->result_bytes, &result));
    r->request.output.buffer = result;
    const ndr_status status = run_and_read(order, r, event);
    ndr_buffer_destroy(result);
    return status;
}

ndr_status ndr_map_reduce(ndr_queue *queue, const ndr_map_reduce_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    mapped_reduction r;
    NDR_REQUIRE_SET_IN("ndr_map_reduce", order.queue);
    NDR_TRY(make_call(order.queue->context, desc, &r));
    NDR_TRY(ndr_names_check_buffers(&r.names, order.queue->context));
    return desc->host ? run_for_host(&order, &r, event) : run(&order, &r, event);
}

ndr_status ndr_map_reduce_explain(ndr_context *context, const ndr_map_reduce_desc *desc, size_t capacity, char *text,
                                  size_t *length)
{
    mapped_reduction r;
    NDR_REQUIRE_SET(context);
    NDR_TRY(make_call(context, desc, &r));
    return ndr_op_explain_in(&ndr_reduce_operation, context, &r.request, capacity, text, length);
}
