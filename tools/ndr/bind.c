/* bind.c - `ndr bind`: makes a C header of a kernel file: its text, and one function for each kernel.
 *
 * The header is made from the text alone, so it is the same on each machine. If there is a device, the kernels are
 * compiled for it, to find errors. */
#include "kernel_source.h"

#include <ndr/ndr_outline.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the command line says, and what was read. */
typedef struct binding {
    common common;
    kernel_source source;
    const char *output, *depfile, *prefix;
    bool is_unchecked;
    const char *base; /* the file's name without its folder */
    char *text_name;  /* of the array: "vector_add_cl" */
    char *stem;       /* of the constants: "vector_add" */
    ndr_outline *outline;
    ndr_outline_info info;
    FILE *out;
} binding;

static int fail_without_memory(void) { return fail_with("there is no memory"); }

/* ---- names ---- */

/* "vector_add_cl" of "vector_add.cl": with "_" for each character that C does not allow. */
static char *identifier_of(const char *prefix, const char *text, size_t length)
{
    const size_t before = strlen(prefix);
    char *name = calloc(before + length + 2, 1);
    if (!name) return NULL;
    memcpy(name, prefix, before);
    size_t at = before;
    if (before == 0 && isdigit((unsigned char)*text)) name[at++] = '_';
    for (size_t i = 0; i < length; ++i) name[at++] = (char)(isalnum((unsigned char)text[i]) ? text[i] : '_');
    return name;
}

/* ---- the text ---- */

/* Bytes instead of string literals: ISO C guarantees only 4095 characters for a literal. */
static void write_text(const binding *b)
{
    fprintf(b->out, "static const char %s[] = {", b->text_name);
    for (size_t i = 0; b->info.text[i]; ++i) {
        const unsigned char byte = (unsigned char)b->info.text[i];
        fprintf(b->out, "%s", i % 20 ? "" : "\n    ");
        fprintf(b->out, byte < 128 ? "0x%02x," : "'\\x%02x',", byte);
    }
    fputs("\n    0\n};\n", b->out);
}

/* The build options as a literal. */
static void write_options(const binding *b)
{
    if (!b->source.options) {
        fputs("NULL", b->out);
        return;
    }
    fputc('"', b->out);
    for (const char *c = b->source.options; *c; ++c) fprintf(b->out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
    fputc('"', b->out);
}

/* ---- parameters ---- */

/* How parameters are passed. In the texts, after "$": n is the parameter's name, t its type, e the host's type of an
 * element, d its ndr_dtype, l the lanes of a vector, s the bytes of an element, a the name of an error. */
typedef enum form { ANY, MEMORY, LOCAL, INTEGER, F32, F64, VECTOR, STRUCT, GIVEN_STRUCT, IMAGE, SAMPLER, REDUCER } form;
/* Those of the function, of the launch, of the macro; and names alone. */
typedef enum text_of { PARAMETER, ARGUMENT, TAKEN, NAME, MACRO_NAME } text_of;
static const struct {
    const char *text[3];
    const char *advice, *result; /* the end of the error's name, and the type of TAKEN; NULL: there is no such error */
} forms[] = {
    [ANY] = { { "ndr_any_arg $n", "NDR_AS_($n)", "ndr_arg_of($n)" }, NULL, NULL },
    [MEMORY] = { { "ndr_memory $n", "NDR_AS_($n)", "NDR_TAKE_MEMORY_($n, $a)" }, "a_buffer", "ndr_arg" },
    [LOCAL] = { { "ndr_integer $n", "ndr_typed_local_(\"$t\", $s, NDR_AS_($n))", "NDR_TAKE_INTEGER_($n, $a)" },
                "a_number_of_elements",
                "ndr_arg" },
    [INTEGER] = { { "ndr_integer $n", "NDR_AS_($n)", "NDR_TAKE_INTEGER_($n, $a)" }, "an_integer", "ndr_arg" },
    [F32] = { { "ndr_f32 $n", "ndr_arg_f32_(NDR_AS_($n))", "NDR_TAKE_F32_($n, $a)" }, "a_float", "float" },
    [F64] = { { "ndr_f64 $n", "ndr_arg_f64_(NDR_AS_($n))", "NDR_TAKE_F64_($n, $a)" }, "a_double", "double" },
    [VECTOR] = { { "const $e $n[$l]", "ndr_arg_vector_($d, $n, $l * sizeof *$n)", "NDR_TAKE_ELEMENTS_($n, $e, $a)" },
                 "an_array_of_$l_$e",
                 "const void *" },
    [STRUCT] = { { "$t $n", "ndr_arg_struct_(&$n, sizeof $n, \"$t\")", "($n)" }, NULL, NULL },
    [GIVEN_STRUCT] = { { "ndr_arg $n", "$n", "NDR_TAKE_ARG_($n, $a)" }, "an_ndr_struct", "ndr_arg" },
    [IMAGE] = { { "ndr_image *$n", "ndr_arg_image_($n)", "NDR_TAKE_IMAGE_($n, $a)" }, "an_ndr_image", "ndr_image *" },
    [SAMPLER] = { { "ndr_sampler *$n", "ndr_arg_sampler_($n)", "NDR_TAKE_SAMPLER_($n, $a)" },
                  "an_ndr_sampler",
                  "ndr_sampler *" },
    [REDUCER] = { { "ndr_arg $n", "$n", "NDR_TAKE_ARG_($n, $a)" }, "an_ndr_reducer", "ndr_arg" },
};

/* Types whose host form is another than the kernel's name. A half is passed as a float, which the launch rounds. */
static const struct {
    ndr_dtype dtype;
    const char *element, *name;
    form form;
} numbers[] = {
    { NDR_DTYPE_I8, "int8_t", "NDR_DTYPE_I8", INTEGER },    { NDR_DTYPE_U8, "uint8_t", "NDR_DTYPE_U8", INTEGER },
    { NDR_DTYPE_I16, "int16_t", "NDR_DTYPE_I16", INTEGER }, { NDR_DTYPE_U16, "uint16_t", "NDR_DTYPE_U16", INTEGER },
    { NDR_DTYPE_I32, "int32_t", "NDR_DTYPE_I32", INTEGER }, { NDR_DTYPE_U32, "uint32_t", "NDR_DTYPE_U32", INTEGER },
    { NDR_DTYPE_I64, "int64_t", "NDR_DTYPE_I64", INTEGER }, { NDR_DTYPE_U64, "uint64_t", "NDR_DTYPE_U64", INTEGER },
    { NDR_DTYPE_F32, "float", "NDR_DTYPE_F32", F32 },       { NDR_DTYPE_F64, "double", "NDR_DTYPE_F64", F64 },
    { NDR_DTYPE_F16, "float", "NDR_DTYPE_F32", F32 },
};

static size_t number_of(const ndr_outline_param *param)
{
    size_t i = sizeof numbers / sizeof numbers[0] - 1;
    while (i > 0 && numbers[i].dtype != param->dtype) --i;
    return i;
}

/* A struct is passed by value if the host can include the header that declares it. */
static form form_of(const ndr_outline_param *param)
{
    switch (param->kind) {
    case NDR_OUTLINE_BUFFER: return MEMORY;
    case NDR_OUTLINE_LOCAL: return param->lanes > 0 || param->header ? LOCAL : ANY;
    case NDR_OUTLINE_NUMBER: return numbers[number_of(param)].form;
    case NDR_OUTLINE_VECTOR: return VECTOR;
    case NDR_OUTLINE_STRUCT: return param->header ? STRUCT : GIVEN_STRUCT;
    case NDR_OUTLINE_IMAGE: return IMAGE;
    case NDR_OUTLINE_SAMPLER: return SAMPLER;
    case NDR_OUTLINE_REDUCER: return REDUCER;
    default: return ANY;
    }
}

/* A kernel as it is written. */
typedef struct binding_kernel {
    const binding *b;
    size_t index;
    ndr_outline_kernel info;
    char *name; /* with the prefix */
} binding_kernel;

static ndr_outline_param param_at(const binding_kernel *k, size_t index)
{
    ndr_outline_param param;
    NDR_IGNORE(ndr_outline_get_param(k->b->outline, k->index, index, &param)); /* the index is valid */
    return param;
}

/* The name that a parameter has in the function, or in the macro. With "_" it is no word of C++ and shadows nothing. */
static void write_name(const binding_kernel *k, const char *name, bool is_in_macro)
{
    fprintf(k->b->out, "%s%s", name, is_in_macro ? "" : "_");
}

static void write_form(const binding_kernel *k, const ndr_outline_param *param, const char *text, bool is_in_macro)
{
    FILE *out = k->b->out;
    const size_t number = number_of(param);
    for (; *text; ++text) {
        if (*text != '$') {
            fputc(*text, out);
            continue;
        }
        switch (*++text) {
        case 'n': write_name(k, param->name, is_in_macro); break;
        case 't': fputs(param->type_name, out); break;
        case 'e': fputs(numbers[number].element, out); break;
        case 'd': fputs(numbers[number].name, out); break;
        case 'l': fprintf(out, "%u", param->lanes); break;
        case 's':
            if (param->lanes == 0) fprintf(out, "sizeof(%s)", param->type_name);
            else fprintf(out, "%zu", (param->lanes == 3 ? 4 : param->lanes) * ndr_dtype_size(param->dtype));
            break;
        default:
            fprintf(out, "%s_parameter_%s_takes_", k->name, param->name);
            write_form(k, param, forms[form_of(param)].advice, is_in_macro);
        }
    }
}

/* Write one text of each parameter's form, each behind a comma. Those that are shown in errors have lines of their
 * own. */
static void write_each(const binding_kernel *k, text_of which)
{
    static const char *const between[] = { ",\n    ", ",\n        ", ", \\\n        ", ", ", ", " };
    for (size_t i = 0; i < k->info.param_count; ++i) {
        const ndr_outline_param param = param_at(k, i);
        if (which != ARGUMENT || i > 0) fputs(between[which], k->b->out);
        if (which == NAME || which == MACRO_NAME) write_name(k, param.name, which == MACRO_NAME);
        else write_form(k, &param, forms[form_of(&param)].text[which], which == TAKEN);
    }
}

/* The name of one of our own parameters: "queue", or "ndr_queue" if the kernel has a parameter of that name. */
static const char *own_name(const binding_kernel *k, const char *full_name)
{
    const char *name = full_name + strlen("ndr_");
    for (size_t i = 0; i < k->info.param_count; ++i)
        if (strcmp(param_at(k, i).name, name) == 0) return full_name;
    return name;
}

/* ---- kernels ---- */

/* "kernel void add(global const float *a, ...), over a range of 1 dimension" */
static void write_comment(const binding_kernel *k)
{
    static const char *const dims[] = { "of any dimensions", "of 1 dimension", "of 2 dimensions", "of 3 dimensions" };
    FILE *out = k->b->out;
    fprintf(out, "\n/* kernel void %s(", k->info.name);
    for (size_t i = 0; i < k->info.param_count; ++i)
        fprintf(out, "%s%s", i > 0 ? ", " : "", param_at(k, i).declaration);
    fprintf(out, "), over %s %s */\n", k->info.takes_groups ? "an nd_range" : "a range", dims[k->info.dims]);
}

/* The functions that pass the arguments on: NAME_event() and NAME_prepare(). In front of the range they take an object
 * and the address of a result. `passed` is how the function passes the object on, `passed_by_macro` how the macro. */
static const struct entry {
    const char *suffix, *calls, *object, *object_type, *passed, *passed_by_macro, *result, *result_type;
} entries[] = {
    { "event", "launch", "ndr_queue", "ndr_any_queue ", "NDR_AS_(%s_)", "NDR_QUEUE_(%s)", "ndr_event", "ndr_event **" },
    { "prepare", "prepare", "ndr_context", "ndr_context *", "%s_", "%s", "ndr_prepared", "ndr_prepared **" },
};
enum { ENTRY_COUNT = sizeof entries / sizeof entries[0] };

static const char *range_type(const binding_kernel *k)
{
    return k->info.takes_groups ? "ndr_nd_range " : "ndr_any_range ";
}

static void write_function(const binding_kernel *k, const struct entry *entry)
{
    FILE *out = k->b->out;
    const char *name = k->name, *object = own_name(k, entry->object), *result = own_name(k, entry->result);
    const char *range = own_name(k, "ndr_range");
    const bool has_params = k->info.param_count > 0;
    fprintf(out, "NDR_TYPED_ ndr_status %s_%s(%s%s_, %s%s_, %s%s_", name, entry->suffix, entry->object_type, object,
            entry->result_type, result, range_type(k), range);
    write_each(k, PARAMETER);
    fprintf(out, ")\n{\n%s", has_params ? "    const ndr_arg arguments_[] = {\n        " : "");
    write_each(k, ARGUMENT);
    fprintf(out, "%s    return ndr_typed_%s_(", has_params ? "\n    };\n" : "", entry->calls);
    fprintf(out, entry->passed, object);
    fprintf(out, ", %s_desc(), ", name);
    fprintf(out, k->info.takes_groups ? "%s_" : "NDR_AS_(%s_)", range);
    fprintf(out, ", %s, %zu, %s_);\n}\n\n", has_params ? "arguments_" : "NULL", k->info.param_count, result);
}

/* Headers of two files may have a kernel of one name. */
static void write_guard(const binding_kernel *k)
{
    fprintf(k->b->out,
            "#ifdef NDR_BOUND_%s\n#error \"the header of another file has a kernel %s, too: make one of them with a "
            "prefix, by ndr bind --prefix=, or PREFIX of ndr_add_kernels()\"\n#endif\n#define NDR_BOUND_%s\n\n",
            k->name, k->name, k->name);
}

static void write_functions(const binding_kernel *k)
{
    FILE *out = k->b->out;
    const char *name = k->name, *queue = own_name(k, "ndr_queue"), *range = own_name(k, "ndr_range");
    write_guard(k);
    write_comment(k);
    fprintf(out,
            "static inline ndr_kernel_desc %s_desc(void)\n{\n    return ndr_typed_desc_(\"%s\", %s, \"%s\", \"%s\", ",
            name, k->info.name, k->b->text_name, k->b->info.key, k->b->base);
    write_options(k->b);
    fprintf(out, ");\n}\n\n");
    for (size_t i = 0; i < ENTRY_COUNT; ++i) write_function(k, &entries[i]);
    fprintf(out, "NDR_TYPED_ ndr_status %s(ndr_any_queue %s_, %s%s_", name, queue, range_type(k), range);
    write_each(k, PARAMETER);
    fprintf(out, ")\n{\n    return %s_event(%s_, NULL, %s_", name, queue, range);
    write_each(k, NAME);
    fputs(");\n}\n", out);
}

static void write_macro(const binding_kernel *k, const struct entry *entry, const char *advice)
{
    FILE *out = k->b->out;
    const char *name = k->name, *object = own_name(k, entry->object), *result = own_name(k, entry->result);
    const char *range = own_name(k, "ndr_range"), *take = k->info.takes_groups ? "GROUPS" : "RANGE";
    fprintf(out, "#define %s_%s(%s, %s, %s", name, entry->suffix, object, result, range);
    write_each(k, MACRO_NAME);
    fprintf(out, ") \\\n    %s_%s(", name, entry->suffix);
    fprintf(out, entry->passed_by_macro, object);
    fprintf(out, ", %s, \\\n        NDR_TAKE_%s_(%s, %s_parameter_range_takes_an_%s)", result, take, range, name,
            advice);
    write_each(k, TAKEN);
    fputs(")\n", out);
}

/* The errors of wrong arguments, and the macros that give them. */
static void write_macros(const binding_kernel *k)
{
    FILE *out = k->b->out;
    const char *name = k->name, *queue = own_name(k, "ndr_queue"), *range = own_name(k, "ndr_range");
    const char *advice = k->info.takes_groups ? "ndr_nd_range" : "ndr_range_or_ndr_nd_range";
    fprintf(out, "\nNDR_NOT_TAKEN_(%s_parameter_range_takes_an_%s, ndr_nd_range);\n", name, advice);
    for (size_t i = 0; i < k->info.param_count; ++i) {
        const ndr_outline_param param = param_at(k, i);
        const form of = form_of(&param);
        if (!forms[of].advice) continue;
        fputs("NDR_NOT_TAKEN_(", out);
        write_form(k, &param, "$a", true);
        fprintf(out, ", %s);\n", forms[of].result);
    }
    for (size_t i = 0; i < ENTRY_COUNT; ++i) write_macro(k, &entries[i], advice);
    fprintf(out, "#define %s(%s, %s", name, queue, range);
    write_each(k, MACRO_NAME);
    fprintf(out, ") %s_event(%s, NULL, %s", name, queue, range);
    write_each(k, MACRO_NAME);
    fputs(")\n", out);
}

/* Its dimensions, or those that its size uses. */
static void write_required_size(const binding_kernel *k)
{
    const size_t *size = k->info.required_local_size;
    unsigned dims = k->info.dims;
    if (size[0] == 0) return;
    if (dims == 0) dims = size[0] > 1 ? 3 : size[1] > 1 ? 2 : 1;
    fprintf(k->b->out, "\n/* The groups that kernel %s requires. */\nenum { ", k->info.name);
    for (unsigned d = 0; d < dims; ++d)
        fprintf(k->b->out, "%s%s_local_size_%u = %zu", d > 0 ? ", " : "", k->name, d, size[3 - dims + d]);
    fputs(" };\n", k->b->out);
}

static int for_each_kernel(const binding *b, void (*write)(const binding_kernel *k))
{
    for (size_t i = 0; i < b->info.kernel_count; ++i) {
        binding_kernel k = { .b = b, .index = i };
        NDR_IGNORE(ndr_outline_get_kernel(b->outline, i, &k.info)); /* the index is valid */
        k.name = identifier_of(b->prefix, k.info.name, strlen(k.info.name));
        if (!k.name) return fail_without_memory();
        write(&k);
        free(k.name);
    }
    return DONE;
}

/* ---- the header ---- */

/* Whether a parameter before this one needs the same header. */
static bool is_included(const binding_kernel *k, size_t index, const char *header)
{
    for (size_t kernel = 0; kernel <= k->index; ++kernel) {
        ndr_outline_param param;
        for (size_t i = 0; kernel < k->index || i < index; ++i) {
            if (ndr_outline_get_param(k->b->outline, kernel, i, &param) != NDR_OK) break; /* the last one was before */
            if (param.header && strcmp(param.header, header) == 0) return true;
        }
    }
    return false;
}

/* Include each header that declares a parameter's type. */
static void write_includes(const binding_kernel *k)
{
    for (size_t i = 0; i < k->info.param_count; ++i) {
        const char *header = param_at(k, i).header;
        if (header && !is_included(k, i, header)) fprintf(k->b->out, "#include \"%s\"\n", header);
    }
}

static void write_constants(const binding *b)
{
    if (b->info.constant_count > 0) fprintf(b->out, "\n/* Constants of %s. */\nenum {\n", b->base);
    for (size_t i = 0; i < b->info.constant_count; ++i) {
        ndr_outline_constant constant;
        NDR_IGNORE(ndr_outline_get_constant(b->outline, i, &constant)); /* the index is valid */
        fprintf(b->out, "    %s_%s = %lld%s\n", b->stem, constant.name, (long long)constant.value,
                i + 1 < b->info.constant_count ? "," : "");
    }
    if (b->info.constant_count > 0) fputs("};\n", b->out);
}

static int write_header(const binding *b)
{
    fprintf(b->out, "/* Made by `ndr bind` of %s. Do not edit. */\n#ifndef NDR_BIND_%s\n#define NDR_BIND_%s\n\n",
            b->base, b->text_name, b->text_name);
    fputs("#include <ndr/ndr_bind.h>\n", b->out);
    if (for_each_kernel(b, write_includes) != DONE) return FAILED;
    fputc('\n', b->out);
    write_text(b);
    write_constants(b);
    if (for_each_kernel(b, write_required_size) != DONE || for_each_kernel(b, write_functions) != DONE) return FAILED;
    fputs("\n#ifndef __cplusplus\n", b->out);
    if (for_each_kernel(b, write_macros) != DONE) return FAILED;
    fputs("\n#endif\n\n#endif\n", b->out);
    return DONE;
}

/* ---- files ---- */

/* A rule of make: the header depends on the files that were read. */
static int write_rule(const binding *b)
{
    fprintf(b->out, "%s:", b->output);
    for (const char *const *file = b->info.files; *file; ++file) {
        fputs(" \\\n  ", b->out);
        for (const char *c = *file; *c; ++c)
            fprintf(b->out, "%s%c", *c == ' ' || *c == '#' ? "\\" : *c == '$' ? "$" : "", *c);
    }
    fputc('\n', b->out);
    return DONE;
}

static int fail_to_write(const char *path)
{
    return fail_with("\"%s\" cannot be written: %s; check its folder, the permissions and the free space", path,
                     strerror(errno));
}

static int close_and_rename(FILE *file, const char *part, const char *path)
{
    const bool failed = ferror(file) != 0;
    if (fclose(file) == 0 && !failed && rename(part, path) == 0) return DONE;
    return fail_to_write(path);
}

/* Write a file under another name first, so that a failure leaves no part of it. */
static int write_file(const char *path, int (*write)(const binding *b), binding *b)
{
    const size_t length = strlen(path) + 32;
    char *part = malloc(length);
    if (!part) return fail_without_memory();
    snprintf(part, length, "%s.%ld.part", path, (long)getpid());
    b->out = fopen(part, "w");
    int code = b->out ? write(b) : fail_to_write(path);
    if (b->out && code != DONE) fclose(b->out);
    else if (b->out) code = close_and_rename(b->out, part, path);
    if (code != DONE) remove(part);
    free(part);
    return code;
}

/* ---- compiling ---- */

static int check_kernel(const binding *b, ndr_context *context, size_t index)
{
    ndr_outline_kernel outline;
    ndr_kernel_info info;
    ndr_kernel *kernel;
    NDR_IGNORE(ndr_outline_get_kernel(b->outline, index, &outline)); /* the index is valid */
    const ndr_kernel_desc desc = { .name = outline.name,
                                   .file = b->source.file,
                                   .options = b->source.options,
                                   .include_dirs = b->source.include_dirs };
    begin_waiting("of compiling", 0);
    const ndr_status status = ndr_kernel_get(context, &desc, &kernel);
    end_waiting();
    if (status == NDR_BUILD_FAILED || status == NDR_BAD_ARGUMENT)
        return fail_with("%s: %s", b->source.file, ndr_last_error());
    if (status != NDR_OK || ndr_kernel_get_info(kernel, &info) != NDR_OK) {
        fail_with("%s: kernel \"%s\" is not checked: %s", b->source.file, outline.name, ndr_last_error());
        return DONE;
    }
    if (info.arg_count == outline.param_count) return DONE;
    return fail_with(
        "%s: kernel \"%s\" takes %u arguments, but its text shows %zu: write its parameters without macros",
        b->source.file, outline.name, info.arg_count, outline.param_count);
}

/* A text without a kernel is compiled as a whole; it may be no kernel file. */
static int check_text(const binding *b, ndr_context *context)
{
    const ndr_kernel_desc desc = { .file = b->source.file,
                                   .options = b->source.options,
                                   .include_dirs = b->source.include_dirs };
    size_t count = 0;
    if (ndr_kernel_get_all(context, &desc, 0, NULL, &count) != NDR_OK)
        return fail_with("%s: %s", b->source.file, ndr_last_error());
    fail_with("%s has no kernel whose parameters are written out, so the header has no function", b->source.file);
    return DONE;
}

/* The header does not depend on the device. */
static int check_kernels(const binding *b)
{
    ndr_context *context;
    int code = DONE;
    if (b->is_unchecked) return DONE;
    const ndr_status status = ndr_context_create(b->common.device, &context);
    if (status != NDR_OK && b->common.device) return fail(status);
    if (status != NDR_OK) {
        fail_with("%s is not compiled here, only read: %s", b->source.file, ndr_last_error());
        return DONE;
    }
    if (b->info.kernel_count == 0) code = check_text(b, context);
    for (size_t i = 0; i < b->info.kernel_count && code == DONE; ++i) code = check_kernel(b, context, i);
    ndr_context_destroy(context);
    return code;
}

/* ---- JSON ---- */

static json_t *describe_outline_kernel(const binding *b, size_t index)
{
    ndr_outline_kernel kernel;
    ndr_outline_param param;
    NDR_IGNORE(ndr_outline_get_kernel(b->outline, index, &kernel)); /* the index is valid */
    json_t *const list = json_array(), *const sizes = json_array();
    for (size_t i = 0; i < kernel.param_count && ndr_outline_get_param(b->outline, index, i, &param) == NDR_OK; ++i)
        json_array_append_new(list, json_pack("{ss ss}", "name", param.name, "declaration", param.declaration));
    for (size_t d = 0; d < 3 && kernel.required_local_size[0] > 0; ++d)
        json_array_append_new(sizes, json_integer((json_int_t)kernel.required_local_size[d]));
    return json_pack("{ss si sb so so}", "name", kernel.name, "dims", (int)kernel.dims, "takes_groups",
                     (int)kernel.takes_groups, "required_local_size", sizes, "parameters", list);
}

static int print_outline(const binding *b)
{
    json_t *const files = json_array(), *const kernels = json_array(), *const constants = json_object();
    for (const char *const *file = b->info.files; *file; ++file) json_array_append_new(files, json_string(*file));
    for (size_t i = 0; i < b->info.kernel_count; ++i) json_array_append_new(kernels, describe_outline_kernel(b, i));
    for (size_t i = 0; i < b->info.constant_count; ++i) {
        ndr_outline_constant constant;
        NDR_IGNORE(ndr_outline_get_constant(b->outline, i, &constant)); /* the index is valid */
        json_object_set_new(constants, constant.name, json_integer(constant.value));
    }
    return print_json(
        json_pack("{ss so so so}", "header", b->output, "files", files, "kernels", kernels, "constants", constants));
}

/* ---- the command ---- */

/* Reads the file, and fills in the names. */
static int read_file(binding *b)
{
    const char *slash = strrchr(b->source.file, '/');
    b->base = slash ? slash + 1 : b->source.file;
    b->text_name = identifier_of(b->prefix, b->base, strlen(b->base));
    b->stem = identifier_of(b->prefix, b->base, strcspn(b->base, "."));
    if (!b->text_name || !b->stem) return fail_without_memory();
    const ndr_kernel_desc desc = { .file = b->source.file,
                                   .options = b->source.options,
                                   .include_dirs = b->source.include_dirs };
    ndr_status status = ndr_outline_create(&desc, &b->outline);
    if (status == NDR_OK) status = ndr_outline_get_info(b->outline, &b->info);
    return status == NDR_OK ? DONE : fail(status);
}

static int bind_file(binding *b)
{
    int code = read_file(b);
    if (code == DONE) code = check_kernels(b);
    if (code == DONE) code = write_file(b->output, write_header, b);
    if (code == DONE && b->depfile) code = write_file(b->depfile, write_rule, b);
    return code == DONE && b->common.is_json ? print_outline(b) : code;
}

enum { OPTION_DEPFILE = 0x200, OPTION_NO_CHECK };

static const struct argp_option options[] = {
    { "output", 'o', "HEADER", 0, "The header; without it FILE.h in the working directory", 0 },
    { "prefix", 'p', "TEXT", 0, "Begin the names of functions and constants with this", 0 },
    { "depfile", OPTION_DEPFILE, "FILE", 0, "Write a rule for make or Ninja, with the files that were read", 0 },
    { "no-check", OPTION_NO_CHECK, NULL, 0, "Do not compile the kernels", 0 },
    { 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    binding *b = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &b->common;
        state->child_inputs[1] = &b->source;
        return 0;
    case 'o': b->output = arg; return 0;
    case 'p': b->prefix = arg; return 0;
    case OPTION_DEPFILE: b->depfile = arg; return 0;
    case OPTION_NO_CHECK: b->is_unchecked = true; return 0;
    case ARGP_KEY_ARG:
        if (b->source.file) argp_error(state, "too many arguments: \"%s\"; one FILE at a time", arg);
        b->source.file = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "FILE is missing"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "FILE",
    .doc = "Makes a C header of a kernel file: its text, with the files that it includes, and one function for each "
           "kernel. "
           "Compiles the kernels if there is a device, to find errors; the header is the same without one.",
    .children = (const struct argp_child[]){ { .argp = &common_argp }, { .argp = &kernel_source_argp }, { 0 } },
};

static int run(int argc, char **argv)
{
    binding b = { .prefix = "" };
    parse(&argp, argc, argv, &b);
    char *named = NULL;
    if (!b.output) {
        const char *slash = strrchr(b.source.file, '/');
        if (asprintf(&named, "%s.h", slash ? slash + 1 : b.source.file) < 0) return fail_without_memory();
        b.output = named;
    }
    const int code = bind_file(&b);
    ndr_outline_destroy(b.outline);
    free(b.text_name);
    free(b.stem);
    free_kernel_source(&b.source);
    free(named);
    return code;
}

const command bind_command = { "bind", "makes a C header of a kernel file, with a function for each kernel", run };
