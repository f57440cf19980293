/* signature.c - the parameters and limits of a kernel, as reported by the driver.
 *
 * clGetKernelArgInfo() names built-in types. It names a typedef or a struct but does not describe it, and some
 * drivers accept any size for it. So probe kernels are added after a program's text. They encode the size and the
 * built-in type of each such parameter, and of the target of each such local pointer, in the attribute
 * reqd_work_group_size, which the host can read without running anything. The types are found in the text before it
 * is built. If the text does not show one, for example in a macro, one more build is needed for it. */
#include "device/context.h"
#include "program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- type names ---- */

typedef struct number_name {
    const char *name;
    ndr_dtype dtype;
} number_name;

static const number_name numbers[] = {
    { "char", NDR_DTYPE_I8 },           { "uchar", NDR_DTYPE_U8 },   { "unsigned char", NDR_DTYPE_U8 },
    { "short", NDR_DTYPE_I16 },         { "ushort", NDR_DTYPE_U16 }, { "unsigned short", NDR_DTYPE_U16 },
    { "int", NDR_DTYPE_I32 },           { "uint", NDR_DTYPE_U32 },   { "unsigned int", NDR_DTYPE_U32 },
    { "unsigned", NDR_DTYPE_U32 },      { "long", NDR_DTYPE_I64 },   { "ulong", NDR_DTYPE_U64 },
    { "unsigned long", NDR_DTYPE_U64 }, { "float", NDR_DTYPE_F32 },  { "double", NDR_DTYPE_F64 },
    { "half", NDR_DTYPE_F16 },
};

/* Numbers of lanes, and the suffix of a vector's name. */
static const struct {
    unsigned lanes;
    const char *name;
} lane_counts[] = { { 1, "" }, { 2, "2" }, { 3, "3" }, { 4, "4" }, { 8, "8" }, { 16, "16" } };

ndr_builtin ndr_builtin_named(const char *type_name)
{
    for (size_t i = 0; i < NDR_COUNT_OF(numbers); ++i) {
        const size_t length = strlen(numbers[i].name);
        if (strncmp(type_name, numbers[i].name, length) != 0) continue;
        const char *lanes = type_name + length;
        if (*lanes && strcmp(numbers[i].name, "unsigned") == 0) continue; /* unsigned4 is not a type */
        if (!*lanes) return (ndr_builtin){ numbers[i].dtype, 1 };
        for (size_t n = 1; n < NDR_COUNT_OF(lane_counts); ++n)
            if (strcmp(lanes, lane_counts[n].name) == 0)
                return (ndr_builtin){ numbers[i].dtype, lane_counts[n].lanes };
    }
    return (ndr_builtin){ NDR_DTYPE_NONE, 0 };
}

size_t ndr_builtin_bytes(ndr_builtin type)
{
    const unsigned kept = type.lanes == 3 ? 4 : type.lanes; /* a vector of three takes the space of four */
    return kept * ndr_dtype_size(type.dtype);
}

/* "image2d_array_t" and other images, a sampler, an event. */
static bool is_opaque(const char *type_name)
{
    const char *space = strrchr(type_name, ' '), *name = space ? space + 1 : type_name; /* "read_only image2d_t" */
    const bool is_image = strncmp(name, "image", 5) == 0 && name[5] >= '1' && name[5] <= '3' && name[6] == 'd';
    return (is_image && strstr(name, "_t")) || strcmp(name, "sampler_t") == 0 || strcmp(name, "event_t") == 0;
}

/* The target of a pointer type if it is a number, an atomic type or a vector: "unsigned int" for "unsigned int*". */
static ndr_builtin pointee_builtin(const char *type_name)
{
    if (strncmp(type_name, "atomic_", 7) == 0) type_name += 7;
    char name[32];
    const char *star = strrchr(type_name, '*');
    size_t length = star ? (size_t)(star - type_name) : 0;
    while (length > 0 && type_name[length - 1] == ' ') --length;
    if (length >= sizeof name || (star && star[1])) length = 0;
    memcpy(name, type_name, length);
    name[length] = '\0';
    return ndr_builtin_named(name);
}

/* ---- one parameter ---- */

static ndr_status read_arg_text(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, char **text)
{
    NDR_READ_TEXT(text, clGetKernelArgInfo, kernel, index, what);
    return NDR_OK;
}

static ndr_param_kind kind_of_pointer(cl_kernel_arg_address_qualifier space)
{
    return space == CL_KERNEL_ARG_ADDRESS_LOCAL      ? NDR_PARAM_LOCAL
           : space == CL_KERNEL_ARG_ADDRESS_CONSTANT ? NDR_PARAM_CONSTANT
                                                     : NDR_PARAM_GLOBAL;
}

/* The driver's information about a parameter, without names. */
typedef struct qualifiers {
    cl_kernel_arg_address_qualifier space;
    cl_kernel_arg_access_qualifier access;
    cl_kernel_arg_type_qualifier type;
} qualifiers;

/* Whether a parameter is an image or a pipe: it is in global memory but not a pointer, also if a typedef names it.
 * Some drivers do not report pipes. */
static bool is_object(const ndr_param *param, const qualifiers *q)
{
    const bool is_in_buffer = q->space == CL_KERNEL_ARG_ADDRESS_GLOBAL || q->space == CL_KERNEL_ARG_ADDRESS_CONSTANT;
    return is_opaque(param->type_name) || (q->type & CL_KERNEL_ARG_TYPE_PIPE)
           || (q->access != 0 && q->access != CL_KERNEL_ARG_ACCESS_NONE)
           || (is_in_buffer && !strchr(param->type_name, '*'));
}

static void classify(ndr_param *param, const qualifiers *q)
{
    if (is_object(param, q)) {
        param->kind = NDR_PARAM_OPAQUE;
        param->access = q->access == CL_KERNEL_ARG_ACCESS_READ_ONLY    ? NDR_ACCESS_READ
                        : q->access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY ? NDR_ACCESS_WRITE
                                                                       : NDR_ACCESS_READ_WRITE;
        return;
    }
    const bool is_value = q->space == CL_KERNEL_ARG_ADDRESS_PRIVATE;
    param->type = is_value ? ndr_builtin_named(param->type_name) : pointee_builtin(param->type_name);
    param->kind = !is_value ? kind_of_pointer(q->space) : param->type.lanes == 1 ? NDR_PARAM_NUMBER : NDR_PARAM_BYTES;
    param->size_bytes = ndr_builtin_bytes(param->type);
}

static ndr_status read_param(cl_kernel kernel, cl_uint index, ndr_param *param)
{
    qualifiers q = { 0, 0, 0 };
    NDR_TRY(read_arg_text(kernel, index, CL_KERNEL_ARG_NAME, &param->name));
    NDR_TRY(read_arg_text(kernel, index, CL_KERNEL_ARG_TYPE_NAME, &param->type_name));
    NDR_TRY_CL(clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof q.space, &q.space, NULL));
    NDR_TRY_CL(clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof q.access, &q.access, NULL));
    NDR_TRY_CL(clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof q.type, &q.type, NULL));
    param->is_const = (q.type & CL_KERNEL_ARG_TYPE_CONST) != 0;
    classify(param, &q);
    return NDR_OK;
}

/* ---- one parameter of a foreign kernel ---- */

static ndr_status set_unknown(ndr_param *param)
{
    static const char unknown[] = "type unknown";
    param->kind = NDR_PARAM_ANY;
    param->name = calloc(2, 1);
    param->type_name = malloc(sizeof unknown);
    if (!param->name || !param->type_name) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a parameter's name");
    param->name[0] = '?';
    memcpy(param->type_name, unknown, sizeof unknown);
    return NDR_OK;
}

/* The driver may not know names and types of a kernel built without -cl-kernel-arg-info, from a binary or from
 * SPIR-V. */
ndr_status ndr_signature_is_told(cl_kernel kernel, cl_uint index, bool *is_told)
{
    size_t bytes = 0;
    const cl_int error = ndr_cl.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, 0, NULL, &bytes);
    *is_told = error == CL_SUCCESS && bytes > 1;
    if (error != CL_KERNEL_ARG_INFO_NOT_AVAILABLE) NDR_TRY_CL_AS("clGetKernelArgInfo", error);
    return NDR_OK;
}

/* Without a text there is no probe, so the size of a typedef is unknown. */
static ndr_status read_foreign_param(cl_kernel kernel, cl_uint index, ndr_param *param)
{
    bool is_told;
    NDR_TRY(ndr_signature_is_told(kernel, index, &is_told));
    if (!is_told) return set_unknown(param);
    NDR_TRY(read_param(kernel, index, param));
    if (param->kind == NDR_PARAM_BYTES && param->size_bytes == 0) param->kind = NDR_PARAM_ANY;
    return NDR_OK;
}

/* ---- the launch record ---- */

/* If the record is not the last parameter, it would count as a parameter of the caller. */
static ndr_status check_record_is_last(const ndr_kernel *kernel)
{
    for (unsigned i = 0; i + 1 < kernel->arg_count; ++i)
        NDR_REQUIRE_AS(
            NDR_BUILD_FAILED, strcmp(kernel->params[i].name, "ndr_record_") != 0,
            "kernel \"%s\" has \"%s\" behind NDR_RANGE, NDR_ND_RANGE or NDR_REDUCTION, which must be the last "
            "parameter: move it to the end",
            kernel->name, kernel->params[i + 1].name);
    return NDR_OK;
}

/* ---- reducers ---- */

#define REDUCER "ndr_reducer_"

static const struct {
    const char *name;
    ndr_op op;
} reducer_ops[] = { { "SUM_", NDR_OP_SUM },         { "PRODUCT_", NDR_OP_PRODUCT }, { "MIN_", NDR_OP_MIN },
                    { "MAX_", NDR_OP_MAX },         { "BIT_AND_", NDR_OP_BIT_AND }, { "BIT_OR_", NDR_OP_BIT_OR },
                    { "BIT_XOR_", NDR_OP_BIT_XOR } };

/* The type's name from the operator on, as "SUM_float*". */
static const char *skip_to_reducer_op(const ndr_param *param)
{
    const char *name = param->type_name;
    if (strncmp(name, "struct ", 7) == 0) name += 7;
    return strncmp(name, REDUCER, strlen(REDUCER)) == 0 ? name + strlen(REDUCER) : NULL;
}

ndr_op ndr_reducer_op(const ndr_param *param)
{
    const char *name = skip_to_reducer_op(param);
    for (size_t i = 0; name && i < NDR_COUNT_OF(reducer_ops); ++i)
        if (strncmp(name, reducer_ops[i].name, strlen(reducer_ops[i].name)) == 0) return reducer_ops[i].op;
    return NDR_OP_NONE;
}

/* Of "SUM_float*" and "BIT_AND_uint*" the type is behind the last underscore. */
static void classify_reducer(ndr_param *param)
{
    param->kind = NDR_PARAM_REDUCER;
    param->type = pointee_builtin(strrchr(param->type_name, '_') + 1);
    param->size_bytes = ndr_builtin_bytes(param->type);
}

/* The hidden parameters of NDR_REDUCTION(): where each reducer goes, memory, the record. */
static void detect_reducers(ndr_kernel *kernel, unsigned count)
{
    kernel->form = NDR_FORM_REDUCTION;
    kernel->reducer_count = count;
    kernel->info.arg_count -= count + 2;
    for (unsigned i = 0; i < count; ++i) classify_reducer(&kernel->params[kernel->info.arg_count - count + i]);
}

static void detect_record(ndr_kernel *kernel)
{
    if (kernel->arg_count == 0) return;
    const ndr_param *last = &kernel->params[kernel->arg_count - 1];
    const char *type = last->type_name;
    if (strncmp(type, "struct ", 7) == 0) type += 7;
    unsigned dims, reducers;
    char rest;
    if (sscanf(type, "ndr_reduction_record_%1u_%1u%c", &dims, &reducers, &rest) == 2) {
        kernel->dims = dims;
        detect_reducers(kernel, reducers);
        return;
    }
    if (sscanf(type, "ndr_range_record_%1u%c", &dims, &rest) == 1) kernel->form = NDR_FORM_RANGE;
    else if (sscanf(type, "ndr_nd_range_record_%1u%c", &dims, &rest) == 1) kernel->form = NDR_FORM_ND_RANGE;
    else return;
    kernel->dims = dims;
    --kernel->info.arg_count;
    if (kernel->info.arg_count > 0) {
        const ndr_param *before = last - 1;
        kernel->has_scratch = before->kind == NDR_PARAM_LOCAL && strcmp(before->name, "ndr_scratch_") == 0;
        if (kernel->has_scratch) --kernel->info.arg_count;
    }
}

/* ---- types that the driver names but does not describe ---- */

bool ndr_points_to_void(const char *type_name)
{
    return strcmp(type_name, "void*") == 0 || strcmp(type_name, "void *") == 0;
}

/* Only for values and for elements of local memory: a launch compares their sizes. */
static bool needs_probe(const ndr_param *param)
{
    if (param->size_bytes > 0 || strchr(param->type_name, '[')) return false;
    return param->kind == NDR_PARAM_BYTES || (param->kind == NDR_PARAM_LOCAL && !ndr_points_to_void(param->type_name));
}

/* The number that a probe returns: the size of a type; from BUILTIN on its built-in type (16 for each dtype plus the
 * index of its lanes); from OBJECT on a sampler or a similar object. Larger: unknown. */
enum { BUILTIN = 0xf000, CODES = 16, OBJECT = 0xf400, MAX_NUMBER = 0xffff };

static bool has_dtype(const ndr_context *context, int dtype)
{
    const ndr_device_info *device = &context->caps.info;
    return dtype == NDR_DTYPE_F64 ? device->has_f64 : dtype == NDR_DTYPE_F16 ? device->has_f16 : true;
}

/* The number has two digits to the base 256, one in each of two kernels, because some devices have groups of at most
 * 256 items. No name here may be a macro of the user: all are reserved, undefined, or keywords with underscores.
 * Each probe has a parameter: the fault no_parameters_refused. The prototype prevents a warning of
 * -Wmissing-prototypes. */
static void add_probe_macros(const ndr_context *context, ndr_text *out)
{
    ndr_text_add(out, "\n#line 1 \"" NDR_PROBES_TITLE "\"\n#undef sampler_t\n#undef queue_t\n#undef clk_event_t\n");
    for (int d = NDR_DTYPE_I8; d <= NDR_DTYPE_F16; ++d)
        for (unsigned n = 0; has_dtype(context, d) && n < NDR_COUNT_OF(lane_counts); ++n)
            ndr_text_add(out, "#undef %s%s\n", ndr_dtype_describe((ndr_dtype)d)->cl_name, lane_counts[n].name);
    ndr_text_add(out, "#define NDR_PROBE_(name, digit) __kernel void name(__global int *ndr_x_); \\\n"
                      "    __kernel __attribute__((reqd_work_group_size((digit) + 1, 1, 1))) \\\n"
                      "    void name(__global int *ndr_x_) { ndr_x_[0] = 0; }\n"
                      "#if defined(__opencl_c_device_enqueue) || __OPENCL_C_VERSION__ == 200\n"
                      "#define NDR_IS_QUEUE_(type) (__builtin_types_compatible_p(type, queue_t) \\\n"
                      "    + __builtin_types_compatible_p(type, clk_event_t))\n"
                      "#else\n"
                      "#define NDR_IS_QUEUE_(type) 0\n"
                      "#endif\n"
                      "#define NDR_IS_(type, known, code) + __builtin_types_compatible_p(type, known) \\\n"
                      "    * ((code) - sizeof(type))\n"
                      "#define NDR_NUMBER_(type) ((sizeof(type) < %d ? sizeof(type) : 0) \\\n"
                      "    + %d * (__builtin_types_compatible_p(type, sampler_t) + NDR_IS_QUEUE_(type))",
                 BUILTIN, OBJECT);
    for (int d = NDR_DTYPE_I8; d <= NDR_DTYPE_F16; ++d)
        for (unsigned n = 0; has_dtype(context, d) && n < NDR_COUNT_OF(lane_counts); ++n)
            ndr_text_add(out, " \\\n    NDR_IS_(type, %s%s, %u)", ndr_dtype_describe((ndr_dtype)d)->cl_name,
                         lane_counts[n].name, (unsigned)(BUILTIN + CODES * d) + n);
    ndr_text_add(out, ")\n");
}

/* The number is a constant first: its expression is long, and drivers preprocess the text before they look it up in
 * their caches. */
static void add_probe(const ndr_type *type, ndr_text *out)
{
    const unsigned index = type->index;
    const char *open = type->is_pointee ? "__typeof__(*((" : "", *close = *open ? ")0))" : "";
    ndr_text_add(out, "enum { ndr_number_%u_ = NDR_NUMBER_(%s%s%s) };\n", index, open, type->name, close);
    ndr_text_add(out, "NDR_PROBE_(ndr_probe_%u_low_, ndr_number_%u_ %% 256)\n", index, index);
    ndr_text_add(out, "NDR_PROBE_(ndr_probe_%u_high_, ndr_number_%u_ / 256)\n", index, index);
}

/* The digit of a probe kernel plus one; 0 if the driver does not report it. */
static ndr_status read_digit(cl_program program, cl_device_id device, unsigned index, const char *which, size_t *digit)
{
    char name[64];
    size_t sizes[3] = { 0, 0, 0 };
    snprintf(name, sizeof name, "ndr_probe_%u_%s_", index, which);
    cl_int error;
    cl_kernel made = ndr_cl.clCreateKernel(program, name, &error);
    NDR_TRY_CL_AS("clCreateKernel", error);
    error = ndr_cl.clGetKernelWorkGroupInfo(made, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof sizes, sizes, NULL);
    ndr_cl.clReleaseKernel(made);
    NDR_TRY_CL_AS("clGetKernelWorkGroupInfo", error);
    *digit = sizes[0];
    return NDR_OK;
}

static ndr_status read_probe(cl_program program, cl_device_id device, ndr_type *type)
{
    size_t low = 0, high = 0;
    NDR_TRY(read_digit(program, device, type->index, "low", &low));
    NDR_TRY(read_digit(program, device, type->index, "high", &high));
    if (low > 0 && high > 0) type->number = 256 * (high - 1) + low - 1;
    return NDR_OK;
}

static ndr_status read_probes(cl_program program, cl_device_id device, ndr_type *types)
{
    for (ndr_type *type = types; type; type = type->next) NDR_TRY(read_probe(program, device, type));
    return NDR_OK;
}

static void add_probes(const ndr_context *context, const ndr_type *types, ndr_text *out)
{
    add_probe_macros(context, out);
    for (const ndr_type *type = types; type; type = type->next) add_probe(type, out);
}

/* Undefine the name of a type, "pair" in "struct pair*": a macro of that name after the kernels is not their type. */
static void add_undef(const char *type_name, ndr_text *out)
{
    const char *space = strrchr(type_name, ' '), *name = space ? space + 1 : type_name;
    const size_t length = ndr_word_length(name);
    if (length > 0) ndr_text_add(out, "\n#undef %.*s", (int)length, name);
}

/* Probe one type, with the driver's name, in a separate build. Its number stays 0 if it is not a type at the end of
 * the text. */
static ndr_status probe_type(ndr_context *context, const char *text, const char *options, ndr_type *type)
{
    ndr_text whole = { 0 };
    cl_program built = NULL;
    ndr_text_add_chars(&whole, text, strlen(text));
    add_undef(type->name, &whole);
    add_probes(context, type, &whole);
    ndr_status status = whole.failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to ask for a program's types")
                                     : ndr_build_try(context, whole.chars, options, &built);
    if (built) status = read_probe(built, context->device, type);
    if (built) ndr_cl.clReleaseProgram(built);
    ndr_text_free(&whole);
    return status;
}

/* ---- a program's types ---- */

bool ndr_names_equal(const char *a, const char *b, const char *ignored)
{
    for (;; ++a, ++b) {
        a += strspn(a, ignored);
        b += strspn(b, ignored);
        if (*a != *b) return false;
        if (!*a) return true;
    }
}

static const ndr_type *find_type(const ndr_type *types, const char *name, bool is_pointee)
{
    while (types && !(types->is_pointee == is_pointee && ndr_names_equal(types->name, name, " "))) types = types->next;
    return types;
}

static ndr_status add_type(ndr_type **types, const char *name, bool is_pointee, unsigned first_index)
{
    ndr_type *type = calloc(1, sizeof *type + strlen(name) + 1);
    if (!type) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a program's types");
    memcpy(type->name, name, strlen(name) + 1);
    type->is_pointee = is_pointee;
    type->index = *types ? (*types)->index + 1 : first_index;
    type->next = *types;
    *types = type;
    return NDR_OK;
}

/* List the types that kernels take by value or by pointers to local memory, as far as the text shows them. */
static ndr_status list_types(const char *text, const char *options, unsigned first_index, ndr_type **types)
{
    ndr_text names = { 0 };
    ndr_status status = ndr_code_list_types(text, options, &names);
    for (char *name = names.chars, *end; status == NDR_OK && name && *name; name = end + 1) {
        end = strchr(name, '\n');
        *end = '\0';
        const bool is_pointee = end[-1] == '*';
        const ndr_builtin known = is_pointee ? pointee_builtin(name) : ndr_builtin_named(name);
        const bool is_own = known.lanes == 0 && !is_opaque(name) && !ndr_points_to_void(name);
        if (is_own && !find_type(*types, name, is_pointee)) status = add_type(types, name, is_pointee, first_index);
    }
    ndr_text_free(&names);
    return status;
}

/* Build the text with probes for program->types. */
static ndr_status build_with_probes(ndr_context *context, const char *text, ndr_text *options, ndr_program *program)
{
    ndr_text probes = { 0 };
    if (program->types) add_probes(context, program->types, &probes);
    const ndr_status status = probes.failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to ask for a program's types")
                                            : ndr_build(context, text, probes.chars, options, program);
    ndr_text_free(&probes);
    return status;
}

static ndr_status compile(ndr_context *context, const char *text, ndr_text *options, unsigned first_index,
                          ndr_program *program)
{
    NDR_TRY(ndr_build_check_language(program->title, text, options->chars));
    program->text_length = strlen(text);
    NDR_TRY(list_types(text, options->chars, first_index, &program->types));
    return build_with_probes(context, text, options, program);
}

static ndr_status finish(ndr_context *context, ndr_program *program)
{
    const ndr_status status = read_probes(program->cl, context->device, program->types);
    if (status == NDR_OK) return NDR_OK;
    return ndr_fail_with_code(status, ndr_last_cl_error(), "\"%s\" was not built: %s", program->title,
                              ndr_last_error());
}

ndr_status ndr_signature_build(ndr_context *context, const char *text, ndr_text *options, ndr_program *program)
{
    NDR_TRY(compile(context, text, options, 0, program));
    return finish(context, program);
}

/* ---- programs of several texts ---- */

/* Compile one of them. Its types go to those of the whole program. */
static ndr_status compile_part(ndr_context *context, const ndr_part *part, ndr_text *options, ndr_program *program,
                               cl_program *compiled)
{
    ndr_program made = { .title = (char *)(uintptr_t)part->title, .is_part = true };
    const unsigned first_index = program->types ? program->types->index + 1 : 0;
    const ndr_status status = compile(context, part->text.chars, options, first_index, &made);
    ndr_type **last = &made.types;
    while (*last) last = &(*last)->next;
    *last = program->types;
    program->types = made.types;
    *compiled = made.cl;
    return status;
}

/* Two texts may have different types of one name: then its size is unknown. */
static void forget_ambiguous(ndr_type *types)
{
    for (ndr_type *a = types; a; a = a->next)
        for (ndr_type *b = a->next; b; b = b->next)
            if (a->is_pointee == b->is_pointee && a->number != b->number && ndr_names_equal(a->name, b->name, " "))
                a->number = b->number = 0;
}

ndr_status ndr_signature_link(ndr_context *context, const ndr_part *parts, size_t count, ndr_text *options,
                              ndr_program *program)
{
    cl_program *compiled = calloc(count, sizeof(cl_program));
    if (!compiled) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to link a program");
    ndr_status status = NDR_OK;
    for (size_t i = 0; i < count && status == NDR_OK; ++i)
        status = compile_part(context, &parts[i], options, program, &compiled[i]);
    if (status == NDR_OK) status = ndr_build_link(context, compiled, (cl_uint)count, options->chars, program);
    if (status == NDR_OK) status = finish(context, program);
    forget_ambiguous(program->types);
    for (size_t i = 0; i < count && compiled[i]; ++i) ndr_cl.clReleaseProgram(compiled[i]);
    free(compiled);
    return status;
}

/* ---- types that the text does not show ---- */

/* Probe the type of a parameter that `program` does not have yet. Each such type is one more build. In a linked
 * program it stays unknown: no text of it builds alone. */
static ndr_status probe_missing(const ndr_kernel *kernel, const ndr_param *param, const char *text,
                                ndr_program *program)
{
    ndr_type *made = NULL;
    NDR_TRY(add_type(&made, param->type_name, param->kind == NDR_PARAM_LOCAL, 0));
    const bool is_alone = !program->linked.length;
    const ndr_status status = is_alone ? probe_type(kernel->context, text, program->options, made) : NDR_OK;
    if (status != NDR_OK) {
        ndr_types_free(made);
        return status;
    }
    made->next = program->types;
    program->types = made;
    return NDR_OK;
}

static void apply_probe(ndr_param *param, size_t number)
{
    if (number > MAX_NUMBER) return;
    if (number >= OBJECT) {
        param->kind = NDR_PARAM_OPAQUE;
    } else if (number >= BUILTIN) {
        const size_t code = number - BUILTIN;
        param->type = (ndr_builtin){ (ndr_dtype)(code / CODES), lane_counts[code % CODES].lanes };
        param->size_bytes = ndr_builtin_bytes(param->type);
    } else {
        param->size_bytes = number;
    }
    if (param->kind == NDR_PARAM_BYTES && param->type.lanes == 1) param->kind = NDR_PARAM_NUMBER;
}

static ndr_status apply_probes(ndr_kernel *kernel, const char *text, ndr_program *program)
{
    for (unsigned i = 0; i < kernel->info.arg_count; ++i) {
        ndr_param *param = &kernel->params[i];
        const bool is_pointee = param->kind == NDR_PARAM_LOCAL;
        if (!needs_probe(param)) continue;
        if (!find_type(program->types, param->type_name, is_pointee))
            NDR_TRY(probe_missing(kernel, param, text, program));
        apply_probe(param, find_type(program->types, param->type_name, is_pointee)->number);
    }
    return NDR_OK;
}

/* ---- limits ---- */

/* Counts as CL_DEVICE_MAX_PARAMETER_SIZE does: all arguments with hidden ones, and pointers with their size on the
 * device. */
static size_t count_argument_bytes(const ndr_kernel *kernel)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < kernel->arg_count; ++i) {
        const ndr_param *param = &kernel->params[i];
        const bool is_value = param->kind == NDR_PARAM_NUMBER || param->kind == NDR_PARAM_BYTES;
        bytes += is_value ? param->size_bytes : kernel->context->caps.info.address_bits / 8;
    }
    if (kernel->form == NDR_FORM_REDUCTION)
        return bytes + kernel->reducer_count * sizeof(ndr_reducer_record) + sizeof(ndr_reduction_record);
    return bytes + (kernel->form == NDR_FORM_PLAIN ? 0 : sizeof(ndr_record));
}

#define READ(what, variable) \
    NDR_TRY_CL(clGetKernelWorkGroupInfo(kernel->cl, kernel->context->device, what, sizeof variable, &(variable), NULL))

ndr_status ndr_signature_read_limits(ndr_kernel *kernel)
{
    cl_ulong local = 0, private_memory = 0;
    size_t required[3] = { 0, 0, 0 };
    READ(CL_KERNEL_WORK_GROUP_SIZE, kernel->info.max_group_size);
    READ(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, kernel->info.preferred_group_multiple);
    READ(CL_KERNEL_LOCAL_MEM_SIZE, local);
    READ(CL_KERNEL_PRIVATE_MEM_SIZE, private_memory);
    READ(CL_KERNEL_COMPILE_WORK_GROUP_SIZE, required);
    kernel->info.local_memory_bytes = (size_t)local;
    kernel->info.private_memory_bytes = (size_t)private_memory;
    if (required[0]) ndr_reverse_dims(3, required, kernel->info.required_local_size);
    /* The fault required_size_256. */
    const size_t *size = kernel->info.required_local_size;
    kernel->info.max_group_size = ndr_max_size(kernel->info.max_group_size, size[0] * size[1] * size[2]);
    return NDR_OK;
}

ndr_status ndr_signature_read(ndr_kernel *kernel, const char *text, ndr_program *program)
{
    cl_uint count = 0;
    NDR_TRY_CL(clGetKernelInfo(kernel->cl, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL));
    kernel->params = calloc(count ? count : 1, sizeof *kernel->params);
    if (!kernel->params)
        return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the parameters of \"%s\"", kernel->name);
    kernel->arg_count = count;
    kernel->info.arg_count = count;
    for (cl_uint i = 0; i < count; ++i)
        NDR_TRY((program ? read_param : read_foreign_param)(kernel->cl, i, &kernel->params[i]));
    NDR_TRY(check_record_is_last(kernel));
    detect_record(kernel);
    if (program) NDR_TRY(apply_probes(kernel, text, program));
    kernel->argument_bytes = count_argument_bytes(kernel);
    return ndr_signature_read_limits(kernel);
}
