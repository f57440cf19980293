/* names.c - the names in a caller's expression: checks, arguments, and the text of a kernel that defines them. */
#include "ops/names.h"
#include "ops/own_text.h"

#include <ctype.h>

/* ---- what the arrays have in common ---- */

static size_t count_arrays(const ndr_names *n) { return n->input_count + n->output_count; }

/* Inputs first. */
static const ndr_map_array *array_at(const ndr_names *n, size_t index)
{
    return index < n->input_count ? &n->inputs[index] : &n->outputs[index - n->input_count];
}

static const ndr_map_array *find_input(const ndr_names *n, const char *name)
{
    for (size_t i = 0; i < n->input_count; ++i)
        if (strcmp(n->inputs[i].name, name) == 0) return &n->inputs[i];
    return NULL;
}

static bool is_output(const ndr_names *n, const char *name)
{
    bool is = false;
    for (size_t i = 0; i < n->output_count; ++i) is |= strcmp(n->outputs[i].name, name) == 0;
    return is;
}

size_t ndr_names_count(const ndr_names *n) { return ndr_sizes_product(n->shape.dims, n->shape.size); }

uint64_t ndr_names_bytes(const ndr_names *n)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count_arrays(n); ++i)
        bytes += (uint64_t)ndr_names_count(n) * ndr_dtype_size(array_at(n, i)->array.dtype);
    return bytes;
}

/* ---- checks ---- */

static ndr_status check_name(const ndr_names *n, const char *name, const char *what, size_t index)
{
    static const char *const indexes[] = { "i", "i0", "i1", "i2", NULL };
    const char *const *taken = n->taken ? n->taken : indexes;
    NDR_REQUIRE(name && *name, "%s: %s[%zu] has no name; set the name that the expression uses", n->call, what, index);
    bool is_name = !isdigit((unsigned char)*name);
    for (const char *c = name; *c; ++c) is_name &= ndr_word_has(*c);
    NDR_REQUIRE(is_name && strncmp(name, "ndr_", 4) != 0,
                "%s: %s[%zu] is called \"%s\"; use letters, digits and _, not with a digit or ndr_ first", n->call,
                what, index, name);
    for (; *taken; ++taken)
        NDR_REQUIRE(strcmp(name, *taken) != 0,
                    "%s: %s[%zu] is called \"%s\", which is %s in expressions; choose another name", n->call, what,
                    index, name, n->taken ? "a result or its place" : "the index");
    return NDR_OK;
}

/* An output may have the name of an input. */
static ndr_status check_unique(const ndr_names *n, const char *name)
{
    size_t values = 0, outputs = 0;
    for (size_t i = 0; i < n->scalar_count; ++i) values += strcmp(n->scalars[i].name, name) == 0;
    const size_t scalars = values;
    for (size_t i = 0; i < n->input_count; ++i) values += strcmp(n->inputs[i].name, name) == 0;
    for (size_t i = 0; i < n->output_count; ++i) outputs += strcmp(n->outputs[i].name, name) == 0;
    NDR_REQUIRE(values <= 1 && outputs <= 1 && scalars + outputs <= 1,
                "%s: two arguments are called \"%s\"; only an input and an output may have the same name", n->call,
                name);
    return NDR_OK;
}

static ndr_status check_names(const ndr_names *n)
{
    for (size_t i = 0; i < n->scalar_count; ++i) NDR_TRY(check_name(n, n->scalars[i].name, "scalars", i));
    for (size_t i = 0; i < n->input_count; ++i) NDR_TRY(check_name(n, n->inputs[i].name, "inputs", i));
    for (size_t i = 0; i < n->output_count; ++i) NDR_TRY(check_name(n, n->outputs[i].name, "outputs", i));
    for (size_t i = 0; i < n->scalar_count; ++i) NDR_TRY(check_unique(n, n->scalars[i].name));
    for (size_t i = 0; i < count_arrays(n); ++i) NDR_TRY(check_unique(n, array_at(n, i)->name));
    return NDR_OK;
}

static ndr_status check_scalar(const ndr_names *n, const ndr_map_scalar *s, const ndr_device_info *device)
{
    const ndr_arg *value = &s->value;
    const bool is_number = value->kind >= NDR_ARG_SIGNED && value->kind <= NDR_ARG_DOUBLE,
               is_struct = value->kind == NDR_ARG_STRUCT, is_vector = value->kind == NDR_ARG_VECTOR;
    NDR_REQUIRE(is_number || is_vector || is_struct,
                "%s: scalar \"%s\" is not a number, a vector or a struct; make its value with ndr_arg_of(), "
                "ndr_vector() or ndr_struct()",
                n->call, s->name);
    NDR_REQUIRE(is_struct ? value->as.value.type_name != NULL : ndr_dtype_describe(value->dtype) != NULL,
                "%s: scalar \"%s\" does not have a type; set value.%s", n->call, s->name,
                is_struct ? "as.value.type_name" : "dtype");
    NDR_REQUIRE(is_struct || !ndr_dtype_is_narrow(value->dtype) || (value->dtype == NDR_DTYPE_F16 && device->has_f16),
                "%s: scalar \"%s\" is of %s, which is for elements of arrays; pass a float, as 2.0f", n->call, s->name,
                ndr_dtype_name(value->dtype));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, is_struct || value->dtype != NDR_DTYPE_F64 || device->has_f64,
                   "%s: scalar \"%s\" is a double, which device \"%s\" does not have; pass a float, as 2.0f", n->call,
                   s->name, device->name);
    return NDR_OK;
}

static ndr_status check_shape(const ndr_names *n, const ndr_map_array *a)
{
    const ndr_range *shape = &a->array.shape;
    bool is_same = shape->dims == n->shape.dims;
    for (unsigned d = 0; d < shape->dims && is_same; ++d) is_same = shape->size[d] == n->shape.size[d];
    NDR_REQUIRE(is_same,
                "%s: array \"%s\" has shape %s, but the call works on %s; use that shape, with stride 0 in a dimension "
                "in which its elements repeat",
                n->call, a->name, ndr_sizes_print(shape->dims, shape->size).chars,
                ndr_sizes_print(n->shape.dims, n->shape.size).chars);
    return NDR_OK;
}

/* An output that has the name of an input is one variable. */
static ndr_status check_pair(const ndr_names *n, const ndr_map_array *output)
{
    const ndr_map_array *input = find_input(n, output->name);
    NDR_REQUIRE(!input || input->array.dtype == output->array.dtype,
                "%s: \"%s\" is an input of %s and an output of %s; give both the same dtype, or different names",
                n->call, output->name, ndr_dtype_name(input->array.dtype), ndr_dtype_name(output->array.dtype));
    return NDR_OK;
}

ndr_status ndr_names_check_list(const ndr_names *n)
{
    const size_t all = n->scalar_count + count_arrays(n);
    NDR_REQUIRE((n->scalars || !n->scalar_count) && (n->inputs || !n->input_count) && (n->outputs || !n->output_count),
                "%s: %s is NULL, but its count is not 0; pass that many, or 0", n->call,
                !n->scalars && n->scalar_count ? "scalars"
                : !n->inputs && n->input_count ? "inputs"
                                               : "outputs");
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, all <= NDR_MAX_NAMES,
                   "%s: %zu scalars, inputs and outputs are given; use at most %d", n->call, all, NDR_MAX_NAMES);
    return NDR_OK;
}

ndr_status ndr_names_check(ndr_names *n, const ndr_device_info *device)
{
    NDR_TRY(ndr_names_check_list(n));
    NDR_TRY(check_names(n));
    NDR_TRY(ndr_own_check(n->call, "declarations", n->declarations, NDR_OWN_DECLARATIONS));
    for (size_t i = 0; i < n->scalar_count; ++i) NDR_TRY(check_scalar(n, &n->scalars[i], device));
    n->is_flat = true;
    for (size_t i = 0; i < count_arrays(n); ++i) {
        const ndr_map_array *a = array_at(n, i);
        NDR_TRY(ndr_array_check(n->call, a->name, &a->array, device));
        NDR_TRY(check_shape(n, a));
        n->is_flat &= ndr_array_is_packed(&a->array);
    }
    for (size_t i = 0; i < n->output_count; ++i) {
        NDR_TRY(check_pair(n, &n->outputs[i]));
        NDR_TRY(ndr_array_check_output(n->call, n->outputs[i].name, &n->outputs[i].array));
    }
    return NDR_OK;
}

static ndr_status check_overlap(const ndr_names *n, const ndr_map_array *output, size_t index)
{
    const ndr_map_array *other = array_at(n, index);
    const bool is_in_place = index < n->input_count && ndr_array_is_same(&output->array, &other->array);
    if (other == output || is_in_place) return NDR_OK;
    return ndr_array_check_apart(n->call, output->name, &output->array, other->name, &other->array);
}

ndr_status ndr_names_check_buffers(const ndr_names *n, const ndr_context *context)
{
    for (size_t i = 0; i < count_arrays(n); ++i)
        NDR_TRY(ndr_array_check_buffer(n->call, array_at(n, i)->name, &array_at(n, i)->array, context));
    for (size_t o = 0; o < n->output_count; ++o)
        for (size_t i = 0; i < count_arrays(n); ++i) NDR_TRY(check_overlap(n, &n->outputs[o], i));
    return NDR_OK;
}

/* ---- arguments ---- */

/* Elements of an array are numbered from its offset on; or by a vector with its offset and its strides. */
static ndr_arg place_of(const ndr_names *n, const ndr_array *array, int64_t place[4])
{
    if (n->is_flat) return ndr_arg_of((uint64_t)array->offset);
    place[0] = (int64_t)array->offset;
    for (unsigned d = 0; d < 3; ++d) place[1 + d] = d < array->shape.dims ? array->stride[d] : 0;
    return (ndr_arg){
        .kind = NDR_ARG_VECTOR, .dtype = NDR_DTYPE_I64, .size_bytes = 4 * sizeof *place, .as.value.bytes = place
    };
}

size_t ndr_names_fill_args(const ndr_names *n, ndr_names_args *args)
{
    size_t used = 0;
    for (size_t i = 0; i < count_arrays(n); ++i) {
        const ndr_array *array = &array_at(n, i)->array;
        args->list[used++] = ndr_array_arg(array);
        args->list[used++] = place_of(n, array, args->places[i]);
    }
    for (size_t i = 0; i < n->scalar_count; ++i) args->list[used++] = n->scalars[i].value;
    for (unsigned d = 0; d < n->shape.dims; ++d) args->list[used++] = ndr_arg_of((uint64_t)n->shape.size[d]);
    return used;
}

/* ---- text ---- */

const char *ndr_names_value_type(ndr_dtype dtype)
{
    return ndr_dtype_is_narrow(dtype) ? "float" : ndr_dtype_describe(dtype)->cl_name;
}

static void add_scalar_type(const ndr_arg *value, ndr_text *out)
{
    if (value->kind == NDR_ARG_STRUCT) {
        ndr_text_add_all(out, value->as.value.type_name);
        return;
    }
    const ndr_dtype_info *type = ndr_dtype_describe(value->dtype);
    ndr_text_add_all(out, type->cl_name);
    if (value->kind == NDR_ARG_VECTOR) ndr_text_add(out, "%zu", value->size_bytes / type->size_bytes);
}

/* The parameter of an array. */
static void add_pointer(const ndr_names *n, size_t index, ndr_text *out)
{
    ndr_text_add_all(out, "ndr_", index < n->input_count ? "in" : "out", "_", array_at(n, index)->name);
}

/* ndr_in_x_at + i, or with strides: ndr_in_x_at.s0 + (long)i0 * ndr_in_x_at.s1 + ... */
static void add_place(const ndr_names *n, size_t index, ndr_text *out)
{
    static const char axes[] = "123";
    const char *const i = n->index ? n->index : "i";
    const int64_t *stride = array_at(n, index)->array.stride;
    add_pointer(n, index, out);
    if (n->is_flat) {
        ndr_text_add_all(out, "_at + ", i);
        return;
    }
    ndr_text_add_all(out, "_at.s0");
    for (unsigned d = 0; d < n->shape.dims; ++d) {
        if (n->along && stride[d] == 0) continue;
        ndr_text_add(out, " + (long)%s%u", i, d);
        if (n->along == d + 1 && stride[d] == 1) continue;
        ndr_text_add_all(out, " * ");
        add_pointer(n, index, out);
        ndr_text_add(out, "_at.s%c", axes[d]);
    }
}

/* ndr_load_f16(PLACE, ndr_in_x), ndr_load_bf16(PLACE, ndr_in_x) or ndr_in_x[PLACE] */
void ndr_names_add_load(const ndr_names *n, size_t index, ndr_text *out)
{
    const ndr_dtype dtype = array_at(n, index)->array.dtype;
    if (ndr_dtype_is_narrow(dtype)) {
        ndr_text_add_all(out, dtype == NDR_DTYPE_F16 ? "ndr_load_f16(" : "ndr_load_bf16(");
        add_place(n, index, out);
        ndr_text_add_all(out, ", ");
        add_pointer(n, index, out);
        ndr_text_add_all(out, ")");
        return;
    }
    add_pointer(n, index, out);
    ndr_text_add_all(out, "[");
    add_place(n, index, out);
    ndr_text_add_all(out, "]");
}

void ndr_names_add_store(const ndr_names *n, size_t index, const char *value, ndr_text *out)
{
    const ndr_dtype dtype = array_at(n, index)->array.dtype;
    if (ndr_dtype_is_narrow(dtype)) {
        ndr_text_add_all(out, dtype == NDR_DTYPE_F16 ? "ndr_store_f16(" : "ndr_store_bf16(", value, ", ");
        add_place(n, index, out);
        ndr_text_add_all(out, ", ");
        add_pointer(n, index, out);
        ndr_text_add_all(out, "); ");
        return;
    }
    add_pointer(n, index, out);
    ndr_text_add_all(out, "[");
    add_place(n, index, out);
    ndr_text_add_all(out, "] = ", value, "; ");
}

void ndr_names_add_own(const char *text, const char *title, ndr_text *out)
{
    ndr_text_add_all(out, "\n#line 1 \"", title, "\"\n");
    ndr_text_add_chars(out, text, strlen(text));
    ndr_text_add_all(out, "\n#line 1 \"ndr_map\"\n");
}

void ndr_names_add_declarations(const ndr_names *n, bool on_cpu, ndr_text *out)
{
    bool has_narrow = false;
    for (size_t i = 0; i < count_arrays(n); ++i) has_narrow |= ndr_dtype_is_narrow(array_at(n, i)->array.dtype);
    if (has_narrow) ndr_text_add_all(out, on_cpu ? "#define BITWISE 1\n" : "", "#include \"narrow.clh\"\n");
    if (n->declarations) ndr_names_add_own(n->declarations, "declarations", out);
}

static const char *element_type(const ndr_names *n, const ndr_map_array *a)
{
    const ndr_dtype_info *type = ndr_dtype_describe(a->array.dtype);
    return type ? type->cl_name : n->element;
}

void ndr_names_add_parameters(const ndr_names *n, bool with_types, ndr_text *out)
{
    static const char *const shapes[] = { "ndr_shape_0", "ndr_shape_1", "ndr_shape_2" };
    const char *comma = "";
    for (size_t i = 0; i < count_arrays(n); ++i, comma = ", ") {
        ndr_text_add_all(out, comma);
        if (with_types)
            ndr_text_add_all(out, "global ", i < n->input_count ? "const " : "", element_type(n, array_at(n, i)), " *");
        add_pointer(n, i, out);
        ndr_text_add_all(out, ", ", !with_types ? "" : n->is_flat ? "const ulong " : "const long4 ");
        add_pointer(n, i, out);
        ndr_text_add_all(out, "_at");
    }
    for (size_t i = 0; i < n->scalar_count; ++i, comma = ", ") {
        ndr_text_add_all(out, comma, with_types ? "const " : "");
        if (with_types) add_scalar_type(&n->scalars[i].value, out);
        ndr_text_add_all(out, " ndr_is_", n->scalars[i].name);
    }
    for (unsigned d = 0; d < n->shape.dims; ++d, comma = ", ")
        ndr_text_add_all(out, comma, with_types ? "const ulong " : "", shapes[d]);
}

void ndr_names_add_prefetches(const ndr_names *n, ndr_text *out)
{
    for (size_t i = 0; i < n->input_count; ++i) {
        const ndr_array *array = &n->inputs[i].array;
        if (n->along == 0 || array->stride[n->along - 1] != 1) continue;
        ndr_text_add_all(out, "ndr_fetch((global const char *)(");
        add_pointer(n, i, out);
        ndr_text_add_all(out, " + ");
        add_place(n, i, out);
        ndr_text_add(out, "), LANES * %zu); ", ndr_dtype_size(array->dtype));
    }
}

void ndr_names_add_dimensions(const ndr_names *n, ndr_text *out)
{
    static const char *const from_i[] = {
        "const ulong i0 = i; ",
        "const ulong i0 = i / ndr_shape_1, i1 = i - i0 * ndr_shape_1; ",
        ("const ulong ndr_row = i / ndr_shape_2, i0 = ndr_row / ndr_shape_1, i1 = ndr_row - i0 * ndr_shape_1, "
         "i2 = i - ndr_row * ndr_shape_2; "),
    };
    ndr_text_add_all(out, from_i[n->shape.dims - 1]);
}

void ndr_names_add_values(const ndr_names *n, ndr_text *out)
{
    for (size_t i = 0; i < count_arrays(n); ++i) {
        const ndr_map_array *a = array_at(n, i);
        const bool is_input = i < n->input_count;
        if (!is_input && find_input(n, a->name)) continue;
        ndr_text_add_all(out, is_output(n, a->name) ? "" : "const ", ndr_names_value_type(a->array.dtype), " ", a->name,
                         " = ");
        if (is_input) ndr_names_add_load(n, i, out);
        else ndr_text_add_all(out, "0");
        ndr_text_add_all(out, "; ");
    }
    ndr_names_add_scalars(n, out);
}

void ndr_names_add_scalars(const ndr_names *n, ndr_text *out)
{
    for (size_t i = 0; i < n->scalar_count; ++i) {
        ndr_text_add_all(out, "const ");
        add_scalar_type(&n->scalars[i].value, out);
        ndr_text_add_all(out, " ", n->scalars[i].name, " = ndr_is_", n->scalars[i].name, "; ");
    }
}

void ndr_names_add_stores(const ndr_names *n, ndr_text *out)
{
    for (size_t i = n->input_count; i < count_arrays(n); ++i) ndr_names_add_store(n, i, array_at(n, i)->name, out);
}
