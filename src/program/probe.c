/* probe.c - asks the compiler about types of parameters that the driver names without describing them.
 *
 * clGetKernelArgInfo() names a typedef or a struct but does not describe it, and some drivers accept any size for it.
 * So probe kernels are added after a program's text. They encode the size and the built-in type of each such parameter,
 * and of the target of each such local pointer, in the attribute reqd_work_group_size, which the host can read without
 * running anything. The types are found in the text before it is built. If the text does not show one, for example in a
 * macro, one more build is needed for it. */
#include "device/context.h"
#include "program/code.h"
#include "program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct ndr_type {
    struct ndr_type *next;
    unsigned index;  /* in the names of its probes: unique in a program */
    bool is_pointee; /* `name` is a pointer type; the entry describes its target */
    size_t number;   /* the result of its probe; 0 if unknown */
    char name[];
} ndr_type;

/* The numbers of kernels/probe/type.inc. Larger than MAX_NUMBER: unknown. */
enum { BUILTIN = 0xf000, CODES = 16, OBJECT = 0xf400, MAX_NUMBER = 0xffff };

/* ---- the text of probes ---- */

/* The number is a constant first: its expression is long, and drivers preprocess the text before they look it up in
 * their caches. It has two digits to the base 256, one in each of two kernels, because some devices have groups of at
 * most 256 items. */
static void add_probes(const ndr_context *context, const ndr_type *types, ndr_text *out)
{
    const ndr_device_info *device = &context->caps.info;
    ndr_text_add(out, "\n#line 1 \"" NDR_PROBES_TITLE "\"\n#define NDR_F64_ %d\n#define NDR_F16_ %d\n%s",
                 device->has_f64, device->has_f16, ndr_source_find("probe/type.inc")->text);
    for (const ndr_type *type = types; type; type = type->next) {
        const char *open = type->is_pointee ? "__typeof__(*((" : "", *close = type->is_pointee ? ")0))" : "";
        ndr_text_add(out, "enum { ndr_number_%u_ = NDR_NUMBER_(%s%s%s) };\n", type->index, open, type->name, close);
        ndr_text_add(out, "NDR_PROBE_(ndr_probe_%u_low_, ndr_number_%u_ %% 256)\n", type->index, type->index);
        ndr_text_add(out, "NDR_PROBE_(ndr_probe_%u_high_, ndr_number_%u_ / 256)\n", type->index, type->index);
    }
}

/* ---- the results of probes ---- */

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

static ndr_status read_probes(cl_program program, cl_device_id device, ndr_type *types)
{
    for (ndr_type *type = types; type; type = type->next) {
        size_t low = 0, high = 0;
        NDR_TRY(read_digit(program, device, type->index, "low", &low));
        NDR_TRY(read_digit(program, device, type->index, "high", &high));
        if (low > 0 && high > 0) type->number = 256 * (high - 1) + low - 1;
    }
    return NDR_OK;
}

/* ---- a program's types ---- */

static ndr_status fail_to_ask(void)
{
    return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to ask for a program's types");
}

bool ndr_probe_is_kernel(const char *name) { return strncmp(name, "ndr_probe_", strlen("ndr_probe_")) == 0; }

void ndr_probe_forget(ndr_program *program)
{
    for (ndr_type *type = program->types, *next; type; type = next) {
        next = type->next;
        free(type);
    }
    program->types = NULL;
}

static const ndr_type *find_type(const ndr_type *types, const char *name, bool is_pointee)
{
    while (types && !(types->is_pointee == is_pointee && ndr_names_equal(types->name, name, " "))) types = types->next;
    return types;
}

static ndr_status add_type(ndr_type **types, const char *name, bool is_pointee, unsigned first_index)
{
    ndr_type *type = calloc(1, sizeof *type + strlen(name) + 1);
    if (!type) return fail_to_ask();
    memcpy(type->name, name, strlen(name) + 1);
    type->is_pointee = is_pointee;
    type->index = *types ? (*types)->index + 1 : first_index;
    type->next = *types;
    *types = type;
    return NDR_OK;
}

/* Add the types that kernels take by value or by pointers to local memory. Cuts `names` into strings. */
static ndr_status add_types(char *names, unsigned first_index, ndr_type **types)
{
    for (char *name = names, *end; name && *name; name = end + 1) {
        end = strchr(name, '\n');
        *end = '\0';
        const bool is_pointee = end[-1] == '*';
        const ndr_builtin known = is_pointee ? ndr_builtin_of_pointee(name) : ndr_builtin_named(name);
        const bool is_own = known.lanes == 0 && !ndr_is_opaque(name) && !ndr_points_to_void(name);
        if (is_own && !find_type(*types, name, is_pointee)) NDR_TRY(add_type(types, name, is_pointee, first_index));
    }
    return NDR_OK;
}

/* Build the text with probes for the types that it shows. */
static ndr_status compile(ndr_program *program, ndr_text *options, unsigned first_index)
{
    ndr_text names = { 0 }, probes = { 0 };
    program->text_length = program->source.text.length;
    ndr_code_list_types(&program->source.code, options->chars, &names);
    ndr_status status = names.failed ? fail_to_ask() : add_types(names.chars, first_index, &program->types);
    if (program->types) add_probes(program->context, program->types, &probes);
    if (probes.failed) status = fail_to_ask();
    if (status == NDR_OK) status = ndr_build(program, probes.chars, options);
    ndr_text_free(&names);
    ndr_text_free(&probes);
    return status;
}

static ndr_status finish(ndr_program *program)
{
    const ndr_status status = read_probes(program->cl, program->context->device, program->types);
    if (status == NDR_OK) return NDR_OK;
    return ndr_fail_with_code(status, ndr_last_cl_error(), "\"%s\" was not built: %s", program->title,
                              ndr_last_error());
}

ndr_status ndr_probe_build(ndr_program *program, ndr_text *options)
{
    NDR_TRY(compile(program, options, 0));
    return finish(program);
}

/* ---- programs of several texts ---- */

/* The types of a part go to those of the whole program. */
static ndr_status compile_part(ndr_program *part, ndr_text *options, ndr_program *program)
{
    const ndr_status status = compile(part, options, program->types ? program->types->index + 1 : 0);
    ndr_type **last = &part->types;
    while (*last) last = &(*last)->next;
    *last = program->types;
    program->types = part->types;
    part->types = NULL;
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

ndr_status ndr_probe_link(ndr_program *parts, size_t count, ndr_text *options, ndr_program *program)
{
    for (size_t i = 0; i < count; ++i) NDR_TRY(compile_part(&parts[i], options, program));
    NDR_TRY(ndr_build_link(parts, count, options->chars, program));
    NDR_TRY(finish(program));
    forget_ambiguous(program->types);
    return NDR_OK;
}

/* ---- types that the text does not show ---- */

/* The name of a type without `struct` and stars is undefined first: a macro of that name after the kernels is not their
 * type. */
static void add_whole(const ndr_context *context, const char *text, const ndr_type *type, ndr_text *out)
{
    const char *space = strrchr(type->name, ' '), *name = space ? space + 1 : type->name;
    const size_t length = ndr_word_length(name);
    ndr_text_add_chars(out, text, strlen(text));
    if (length > 0) ndr_text_add(out, "\n#undef %.*s", (int)length, name);
    add_probes(context, type, out);
}

/* Probe one type, with the driver's name, in a separate build. Its number stays 0 if it is not a type at the end of
 * the text. */
static ndr_status probe_alone(const ndr_program *program, ndr_type *type)
{
    char *text;
    ndr_text whole = { 0 };
    cl_program built = NULL;
    NDR_TRY(ndr_build_get_text(program, &text));
    add_whole(program->context, text, type, &whole);
    ndr_status status =
        whole.failed ? fail_to_ask() : ndr_build_try(program->context, whole.chars, program->options, &built);
    if (built) status = read_probes(built, program->context->device, type);
    if (built) ndr_cl.clReleaseProgram(built);
    ndr_text_free(&whole);
    free(text);
    return status;
}

/* Each such type is one more build. In a linked program it stays unknown: no text of it builds alone. */
static ndr_status add_missing(ndr_program *program, const char *name, bool is_pointee)
{
    ndr_type *made = NULL;
    NDR_TRY(add_type(&made, name, is_pointee, 0));
    const ndr_status status = program->is_linked ? NDR_OK : probe_alone(program, made);
    if (status != NDR_OK) {
        free(made);
        return status;
    }
    made->next = program->types;
    program->types = made;
    return NDR_OK;
}

static void apply(ndr_param *param, size_t number)
{
    if (number > MAX_NUMBER) return;
    if (number >= OBJECT) {
        param->kind = NDR_PARAM_OPAQUE;
    } else if (number >= BUILTIN) {
        const size_t code = number - BUILTIN;
        param->type = (ndr_builtin){ (ndr_dtype)(code / CODES), ndr_lane_counts[code % CODES].count };
        param->size_bytes = ndr_builtin_bytes(param->type);
    } else {
        param->size_bytes = number;
    }
    if (param->kind == NDR_PARAM_BYTES && param->type.lanes == 1) param->kind = NDR_PARAM_NUMBER;
}

/* Only for values and for elements of local memory: a launch compares their sizes. */
static bool needs_probe(const ndr_param *param)
{
    if (param->size_bytes > 0 || strchr(param->type_name, '[')) return false;
    return param->kind == NDR_PARAM_BYTES || (param->kind == NDR_PARAM_LOCAL && !ndr_points_to_void(param->type_name));
}

ndr_status ndr_probe_param(ndr_program *program, ndr_param *param)
{
    const bool is_pointee = param->kind == NDR_PARAM_LOCAL;
    if (!needs_probe(param)) return NDR_OK;
    if (!find_type(program->types, param->type_name, is_pointee))
        NDR_TRY(add_missing(program, param->type_name, is_pointee));
    apply(param, find_type(program->types, param->type_name, is_pointee)->number);
    return NDR_OK;
}
