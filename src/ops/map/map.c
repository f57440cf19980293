/* map.c - ndr_map(): its checks, and the kernel around the caller's statement. */
#include "device/context.h"
#include "device/queue.h"
#include "ops/map/map.h"
#include "ops/own_text.h"

/* ---- the kernel ---- */

enum { FLAT, STRIDED };

/* Of one dimension, the elements are numbered from 0 on by ndr_i or ndr_i0, and the statement's i and i0 from `first`. */
static ndr_names names_for(const ndr_op_case *of)
{
    ndr_names names = ((const ndr_map_request *)of->request)->names;
    names.is_flat = of->variant->form == FLAT;
    if (names.shape.dims == 1) names.index = "ndr_i";
    return names;
}

/* Flat, an item's number is that of its elements. Otherwise items have the dimensions of the arrays, so that no item
 * divides. */
static void write(const ndr_op_case *of, ndr_text *out)
{
    static const char *const strided[] = {
        "",
        "const ulong ndr_i0 = ndr_global_id(ndr_it, 0), i0 = ndr_first + ndr_i0, i = i0; ",
        "const ulong i0 = ndr_global_id(ndr_it, 0), i1 = ndr_global_id(ndr_it, 1), i = i0 * ndr_shape_1 + i1; ",
        ("const ulong i0 = ndr_global_id(ndr_it, 0), i1 = ndr_global_id(ndr_it, 1), i2 = ndr_global_id(ndr_it, 2), "
         "i = (i0 * ndr_shape_1 + i1) * ndr_shape_2 + i2; "),
    };
    const ndr_map_request *r = of->request;
    const ndr_names names = names_for(of);
    const unsigned dims = names.is_flat ? 1 : names.shape.dims;
    ndr_text_add_all(out, "#include \"ndr/item.clh\"\n");
    ndr_names_add_declarations(&names, of->caps->info.type == NDR_DEVICE_TYPE_CPU, out);
    ndr_text_add_all(out, "kernel void ndr_map(");
    ndr_names_add_parameters(&names, true, out);
    ndr_text_add(out, "%s, NDR_RANGE(%u))\n{ const ndr_item ndr_it = NDR_ITEM(%u); ",
                 names.shape.dims == 1 ? ", const ulong ndr_first" : "", dims, dims);
    if (!names.is_flat) ndr_text_add_all(out, strided[dims]);
    else {
        ndr_text_add_all(out, names.shape.dims == 1
                                  ? "const ulong ndr_i = ndr_global_id(ndr_it, 0), i = ndr_first + ndr_i; "
                                  : "const ulong i = ndr_global_id(ndr_it, 0); ");
        ndr_names_add_dimensions(&names, out);
    }
    ndr_names_add_values(&names, out);
    ndr_text_add_all(out, "{");
    ndr_names_add_own(r->statement, "expression", out);
    ndr_text_add_all(out, ";} ");
    ndr_names_add_stores(&names, out);
    ndr_text_add_all(out, "}\n");
}

static const char *cannot(const ndr_op_case *of)
{
    return ((const ndr_map_request *)of->request)->names.is_flat ? NULL
                                                                 : "the elements of an array do not follow each other";
}

static void plan(const ndr_op_case *of, ndr_op_plan *plan)
{
    const ndr_names names = names_for(of);
    *plan = (ndr_op_plan){ .range.global = names.is_flat ? ndr_range_1d(ndr_names_count(&names)) : names.shape };
}

static ndr_status launch(ndr_op_job *job)
{
    const ndr_map_request *r = job->of.request;
    const ndr_names names = names_for(&job->of);
    ndr_names_args args;
    size_t count = ndr_names_fill_args(&names, &args);
    if (names.shape.dims == 1) args.list[count++] = ndr_arg_of((uint64_t)r->first);
    return ndr_op_launch_v(job, job->kernel, &job->plan.range, args.list, count);
}

static const ndr_op_variant flat_items = {
    .name = "flat",
    .kernel = "ndr_map",
    .form = FLAT,
    .cannot = cannot,
    .write = write,
    .plan = plan,
    .launch = launch,
};
static const ndr_op_variant strided_items = {
    .name = "strided",
    .kernel = "ndr_map",
    .form = STRIDED,
    .write = write,
    .plan = plan,
    .launch = launch,
};
static const ndr_op_variant *const variants[] = { &flat_items, &strided_items };

static ndr_op_work work_of(const void *request)
{
    return (ndr_op_work){ ndr_names_bytes(&((const ndr_map_request *)request)->names), 0 };
}

const ndr_operation ndr_map_operation = { "map", variants, NDR_COUNT_OF(variants), NULL, work_of };

/* ---- the call ---- */

/* An output that is forgotten would be 0. A macro of the declarations may put its name together. */
static ndr_status check_assigned(const ndr_map_desc *desc)
{
    const char *const declared = desc->declarations ? desc->declarations : "";
    for (size_t o = 0; o < desc->output_count && !strstr(declared, "##"); ++o) {
        const char *const name = desc->outputs[o].name;
        NDR_REQUIRE(ndr_word_find(desc->statement, name) || ndr_word_find(declared, name),
                    "ndr_map: statement does not name output \"%s\", which would be 0; assign it, as in \"%s = 0\"",
                    name, name);
    }
    return NDR_OK;
}

static ndr_status make_request(const ndr_context *context, const ndr_map_desc *desc, ndr_map_request *request)
{
    NDR_REQUIRE(desc, "ndr_map: desc is NULL; pass the address of a descriptor whose members are set");
    NDR_REQUIRE(desc->statement && desc->statement[strspn(desc->statement, " \t\r\n")],
                "ndr_map: statement is not set; set it to OpenCL C such as \"y = a * x + y\"");
    NDR_TRY(ndr_own_check("ndr_map", "statement", desc->statement, NDR_OWN_STATEMENTS));
    NDR_REQUIRE(desc->output_count > 0, "ndr_map: there is no output; set outputs and output_count");
    *request = (ndr_map_request){ .statement = desc->statement,
                                  .names = { .call = "ndr_map",
                                             .declarations = desc->declarations,
                                             .scalars = desc->scalars,
                                             .inputs = desc->inputs,
                                             .outputs = desc->outputs,
                                             .scalar_count = desc->scalar_count,
                                             .input_count = desc->input_count,
                                             .output_count = desc->output_count } };
    if (desc->outputs) request->names.shape = desc->outputs[0].array.shape;
    request->first = desc->first;
    NDR_REQUIRE(desc->first == 0 || request->names.shape.dims == 1,
                "ndr_map: first is %zu, but the arrays have %u dimensions; it is for arrays of one", desc->first,
                request->names.shape.dims);
    NDR_TRY(ndr_names_check(&request->names, &context->caps.info));
    return check_assigned(desc);
}

ndr_status ndr_map(ndr_queue *queue, const ndr_map_desc *desc, ndr_event **event)
{
    const ndr_order order = ndr_order_of(queue);
    ndr_map_request request;
    NDR_TRY(ndr_order_check_queue("ndr_map", &order));
    NDR_TRY(make_request(order.queue->context, desc, &request));
    NDR_TRY(ndr_names_check_buffers(&request.names, order.queue->context));
    return ndr_op_run(&ndr_map_operation, &order, &request, event);
}

NDR_OP_EXPLAIN(ndr_map, ndr_map_request, make_request(context, desc, &r), &ndr_map_operation)
