/* epilogue.c - what is stored in c instead of a result: the caller's expression, its checks, and its part of a kernel's
 * text. */
#include "device/context.h"
#include "ops/matmul/matmul.h"
#include "ops/own_text.h"

/* ---- the request ---- */

/* The dimensions of an input are those of c, or of c behind the products. */
static ndr_status check_shape(const ndr_map_array *input, const ndr_matmul_desc *d)
{
    const ndr_range *shape = &input->array.shape;
    const size_t *sizes = shape->size + (shape->dims == 3), count = ndr_max_size(d->count, 1);
    const bool is_same = (shape->dims == 2 || (shape->dims == 3 && shape->size[0] == count)) && sizes[0] == d->c.rows
                         && sizes[1] == d->c.cols;
    NDR_REQUIRE(is_same,
                "ndr_matmul: input \"%s\" has shape %s, but c is %zu x %zu in each of %zu products; use (%zu, %zu) or "
                "(%zu, %zu, %zu), with stride 0 in a dimension in which its elements repeat",
                input->name ? input->name : "", ndr_sizes_print(shape->dims, shape->size).chars, d->c.rows, d->c.cols,
                count, d->c.rows, d->c.cols, count, d->c.rows, d->c.cols);
    return NDR_OK;
}

/* With three dimensions, of which the last two are rows and columns as kernels have them. */
static ndr_map_array input_of(const ndr_map_array *given, const ndr_matmul_desc *d)
{
    ndr_map_array input = *given;
    const ndr_array *from = &given->array;
    const unsigned row = from->shape.dims - 2;
    const int64_t along_rows = from->stride[row], along_cols = from->stride[row + 1];
    const bool swaps = d->is_column_major;
    input.array.shape =
        ndr_range_3d(ndr_max_size(d->count, 1), swaps ? d->c.cols : d->c.rows, swaps ? d->c.rows : d->c.cols);
    input.array.stride[0] = row ? from->stride[0] : 0;
    input.array.stride[1] = swaps ? along_cols : along_rows;
    input.array.stride[2] = swaps ? along_rows : along_cols;
    return input;
}

/* Whether the array is c itself, element by element. */
static bool is_c(const ndr_matmul_request *r, const ndr_array *array)
{
    const int64_t strides[] = { (int64_t)r->c.stride, (int64_t)r->c.pitch, 1 };
    bool is = array->buffer == r->c.buffer && !r->offsets[2].buffer && array->dtype == ndr_matmul_output(r)
              && array->offset == r->c.offset;
    for (unsigned d = 0; d < 3; ++d) is &= array->shape.size[d] <= 1 || array->stride[d] == strides[d];
    return is;
}

static ndr_status check_set(const char *call, const ndr_matmul_desc *d)
{
    const char *const needless = d->declarations   ? "declarations is"
                                 : d->scalar_count ? "scalars are"
                                 : d->input_count  ? "inputs are"
                                                   : NULL;
    NDR_REQUIRE(d->epilogue || !needless, "%s: %s set, but epilogue is not; set it to OpenCL C such as \"r + bias\"",
                call, needless);
    NDR_REQUIRE(!d->epilogue || d->epilogue[strspn(d->epilogue, " \t\r\n")],
                "%s: epilogue is empty; set it to OpenCL C such as \"r + bias\", or to NULL", call);
    return ndr_own_check(call, "epilogue", d->epilogue, NDR_OWN_EXPRESSION);
}

ndr_status ndr_matmul_make_epilogue(const char *call, const ndr_context *context, const ndr_matmul_desc *d,
                                    ndr_matmul_request *request, ndr_matmul_epilogue *epilogue)
{
    static const char *const taken[] = { "r", "row", "col", "product", NULL };
    NDR_TRY(check_set(call, d));
    if (!d->epilogue) return NDR_OK;
    *epilogue = (ndr_matmul_epilogue){ .expression = d->epilogue,
                                       .names = { .call = call,
                                                  .declarations = d->declarations,
                                                  .scalars = d->scalars,
                                                  .inputs = d->inputs,
                                                  .scalar_count = d->scalar_count,
                                                  .input_count = d->input_count,
                                                  .index = "ndr_i",
                                                  .along = 3,
                                                  .taken = taken },
                                       .swaps = d->is_column_major };
    NDR_TRY(ndr_names_check_list(&epilogue->names));
    for (size_t i = 0; i < d->input_count; ++i) NDR_TRY(check_shape(&d->inputs[i], d));
    for (size_t i = 0; i < d->input_count; ++i) epilogue->inputs[i] = input_of(&d->inputs[i], d);
    epilogue->names.inputs = epilogue->inputs;
    epilogue->names.shape = ndr_range_3d(ndr_matmul_count(request), request->c.rows, request->c.cols);
    request->epilogue = epilogue;
    NDR_TRY(ndr_names_check(&epilogue->names, &context->caps.info));
    epilogue->names.is_flat = false;
    for (size_t i = 0; i < d->input_count; ++i) epilogue->reads_c |= is_c(request, &epilogue->inputs[i].array);
    return NDR_OK;
}

/* ---- buffers ---- */

static ndr_bytes bytes_of_c(const ndr_matmul_request *r)
{
    const ndr_operand *c = &r->c;
    const size_t elements = c->further * c->stride + (c->rows - 1) * c->pitch + c->cols;
    return (ndr_bytes){ c->buffer, c->offset * c->element_bytes, elements * c->element_bytes };
}

ndr_status ndr_matmul_check_epilogue(const ndr_matmul_request *r, const ndr_context *context)
{
    if (!r->epilogue) return NDR_OK;
    const ndr_names *names = &r->epilogue->names;
    const bool is_known = r->c.rows && r->c.cols && !r->offsets[2].buffer;
    NDR_TRY(ndr_names_check_buffers(names, context));
    for (size_t i = 0; i < names->input_count && is_known; ++i) {
        const ndr_map_array *input = &names->inputs[i];
        if (!is_c(r, &input->array))
            NDR_TRY(ndr_array_check_outside(names->call, "c", bytes_of_c(r), input->name, &input->array));
    }
    return NDR_OK;
}

/* ---- text ---- */

/* What is converted to the dtype of c as it is stored. */
static const char *value_type(ndr_dtype output)
{
    return ndr_dtype_is_narrow(output) ? "float" : ndr_dtype_describe(output)->cl_name;
}

static void add_parameters(const ndr_names *names, bool with_types, ndr_text *out)
{
    ndr_text_add_all(out, with_types ? ", const ulong ndr_first, " : ", ndr_first, ");
    ndr_names_add_parameters(names, with_types, out);
}

static void write_condition(const ndr_matmul_condition *condition, ndr_text *out)
{
    if (!condition) return;
    ndr_text_add(out,
                 "#define CONDITION_PARAMETERS , global const uint *ndr_words, const uint ndr_number\n"
                 "#define IS_NEEDED (ndr_words[%zu] %s ndr_number)\n",
                 condition->at, condition->is_equal ? "==" : "!=");
}

/* Inputs that are neither the same in all rows nor in all columns. */
static size_t count_matrices(const ndr_names *names)
{
    size_t count = 0;
    for (size_t i = 0; i < names->input_count; ++i) {
        const int64_t *stride = names->inputs[i].array.stride;
        count += stride[1] != 0 && stride[2] != 0;
    }
    return count;
}

/* What is read at an element of c, in a struct, and the function that loads it. */
static void write_inputs(const ndr_names *names, ndr_text *out)
{
    ndr_text_add(out, "#define INPUT_MATRICES %zu\n", count_matrices(names));
    ndr_text_add_all(out, "typedef struct ndr_inputs { ");
    for (size_t i = 0; i < names->input_count; ++i)
        ndr_text_add_all(out, ndr_names_value_type(names->inputs[i].array.dtype), " ", names->inputs[i].name, "; ");
    ndr_text_add_all(out, "uchar ndr_none; } ndr_inputs;\n"
                          "NDR_INLINE_ ndr_inputs ndr_load_inputs(ulong ndr_i0, const ulong ndr_i1, const ulong ndr_i2 "
                          "EPILOGUE_PARAMETERS)\n{ ndr_i0 += ndr_first; const ndr_inputs ndr_of = { ");
    for (size_t i = 0; i < names->input_count; ++i) {
        ndr_names_add_load(names, i, out);
        ndr_text_add_all(out, ", ");
    }
    ndr_text_add_all(out, "0 }; return ndr_of; }\n");
}

/* Kernels count rows and columns of c as it is stored, and products from the first one of their launch on. */
void ndr_matmul_write(const ndr_op_case *of, ndr_text *out)
{
    const ndr_matmul_request *r = of->request;
    const ndr_matmul_epilogue *e = r->epilogue;
    write_condition(r->condition, out);
    if (!e) return;
    const char *const type = ndr_matmul_result_type(r);
    ndr_text_add_all(out, "#include \"ndr/item.clh\"\n");
    ndr_names_add_declarations(&e->names, of->caps->info.type == NDR_DEVICE_TYPE_CPU, out);
    ndr_text_add_all(out, "#define EPILOGUE_PARAMETERS ");
    add_parameters(&e->names, true, out);
    ndr_text_add_all(out, "\n#define EPILOGUE_ARGUMENTS ");
    add_parameters(&e->names, false, out);
    ndr_text_add_all(out, "\n");
    write_inputs(&e->names, out);
    ndr_text_add_all(out, "NDR_INLINE_ ", value_type(ndr_matmul_output(r)), " ndr_epilogue(const ", type,
                     " ndr_r, const ndr_inputs ndr_of, ulong ndr_i0, const ulong ndr_i1, const ulong ndr_i2 "
                     "EPILOGUE_PARAMETERS)\n{ ");
    ndr_text_add_all(out, ndr_matmul_is_integer(r) ? "const int r = as_int(ndr_r); " : "const ");
    if (!ndr_matmul_is_integer(r)) ndr_text_add_all(out, type, " r = ndr_r; ");
    ndr_text_add_all(out, "ndr_i0 += ndr_first; const ulong product = ndr_i0, row = ", e->swaps ? "ndr_i2" : "ndr_i1",
                     ", col = ", e->swaps ? "ndr_i1" : "ndr_i2", "; ");
    for (size_t i = 0; i < e->names.input_count; ++i) {
        const ndr_map_array *input = &e->names.inputs[i];
        ndr_text_add_all(out, "const ", ndr_names_value_type(input->array.dtype), " ", input->name, " = ndr_of.",
                         input->name, "; ");
    }
    ndr_names_add_scalars(&e->names, out);
    ndr_text_add_all(out, "return ");
    ndr_names_add_own(e->expression, "epilogue", out);
    ndr_text_add_all(out, "; }\n");
}

/* ---- arguments ---- */

static size_t add_condition(const ndr_matmul_condition *condition, size_t used, ndr_matmul_args *args)
{
    if (!condition) return used;
    args->list[used++] = ndr_arg_of(condition->words);
    args->list[used++] = ndr_arg_of(condition->number);
    return used;
}

size_t ndr_matmul_add_args(const ndr_matmul_request *r, size_t used, ndr_matmul_args *args)
{
    const bool has_offsets = r->offsets[0].buffer || r->offsets[1].buffer || r->offsets[2].buffer;
    for (size_t i = 0; i < NDR_MATMUL_SIDES && has_offsets; ++i) {
        const ndr_operand *at = &r->offsets[i];
        args->list[used++] = at->buffer ? ndr_arg_of(at->buffer) : ndr_null;
        args->list[used++] = ndr_arg_of((uint64_t)at->offset);
    }
    if (!r->epilogue) return add_condition(r->condition, used, args);
    args->list[used++] = ndr_arg_of((uint64_t)r->first_product);
    const size_t named = ndr_names_fill_args(&r->epilogue->names, &args->names);
    memcpy(args->list + used, args->names.list, named * sizeof *args->list);
    return add_condition(r->condition, used + named, args);
}
