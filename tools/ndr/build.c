/* build.c - `ndr build`: compiles a file, and shows its kernels with what they take and need. */
#include "build_spirv.h"
#include "kernel_source.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    common common;
    kernel_source source;
    const char *output;
} options;

static const struct argp_option option_list[] = {
    { "output", 'o', "FILE", 0, "Write SPIR-V (FILE.spv; needs clang and llvm-spirv) or the driver's binary", 2 },
    { 0 },
};

static bool is_compiled(const char *file) { return is_spirv_file(file) || is_binary_file(file); }

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->common;
        state->child_inputs[1] = &o->source;
        return 0;
    case ARGP_KEY_ARG:
        if (o->source.file) argp_error(state, "too many arguments: \"%s\"; name one file", arg);
        o->source.file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!o->source.file) argp_error(state, "name a file: ndr build FILE.cl");
        else if (o->output && is_spirv_file(o->output) && is_compiled(o->source.file))
            argp_error(state, "SPIR-V is made of a text, and \"%s\" is compiled already; name the text",
                       o->source.file);
        return 0;
    case 'o': o->output = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_list,
    .parser = parse_option,
    .args_doc = "FILE",
    .doc = "Compiles a file of OpenCL C (or .spv, or a driver's .bin), and shows its kernels: parameters, memory, "
           "registers, sizes of groups, and the compiler's log.",
    .children = (const struct argp_child[]){ { .argp = &common_argp }, { .argp = &kernel_source_argp }, { 0 } },
};

/* ---- one kernel as JSON ---- */

static const char *kind_name(ndr_parameter_kind kind)
{
    static const char *const names[] = { "unknown", "global", "constant", "local",   "number", "vector",
                                         "struct",  "image",  "sampler",  "reducer", "other" };
    return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "unknown";
}

static const char *access_name(ndr_access access)
{
    return access == NDR_ACCESS_READ ? "read" : access == NDR_ACCESS_WRITE ? "write" : "read_write";
}

static json_t *describe_parameter(const ndr_parameter_info *p)
{
    const bool is_memory =
        p->kind == NDR_PARAMETER_GLOBAL || p->kind == NDR_PARAMETER_CONSTANT || p->kind == NDR_PARAMETER_IMAGE;
    json_t *const o = json_pack("{so so ss sI}", "name", text_json(p->name), "type", text_json(p->type_name), "kind",
                                kind_name(p->kind), "bytes", (json_int_t)p->size_bytes);
    char text[16];
    if (p->dtype) json_object_set_new(o, "elements", json_string(print_element(text, (element){ p->dtype, p->lanes })));
    if (is_memory) json_object_set_new(o, "access", json_string(access_name(p->access)));
    return o;
}

static const char *form_name(ndr_kernel_form form)
{
    static const char *const names[] = { "plain", "NDR_RANGE", "NDR_ND_RANGE", "NDR_REDUCTION" };
    return (size_t)form < sizeof names / sizeof names[0] ? names[form] : "plain";
}

static json_t *required_size(const ndr_kernel_info *info)
{
    json_t *const sizes = json_array();
    for (unsigned d = 0; d < 3 && info->required_local_size[0]; ++d)
        json_array_append_new(sizes, json_integer((json_int_t)info->required_local_size[d]));
    return sizes;
}

static int describe_one(const ndr_kernel *kernel, json_t *list)
{
    ndr_kernel_info info;
    ndr_status status = ndr_kernel_get_info(kernel, &info);
    if (status != NDR_OK) return fail(status);
    json_t *const parameters = json_array();
    for (size_t i = 0; i < info.arg_count && status == NDR_OK; ++i) {
        ndr_parameter_info parameter;
        status = ndr_kernel_get_parameter(kernel, i, &parameter);
        if (status == NDR_OK) json_array_append_new(parameters, describe_parameter(&parameter));
    }
    json_array_append_new(list, json_pack("{so so ss sI sI sI sI sI so}", "name", text_json(info.name), "parameters",
                                          parameters, "form", form_name(info.form), "dims", (json_int_t)info.range_dims,
                                          "local_memory_bytes", (json_int_t)info.local_memory_bytes,
                                          "private_memory_bytes", (json_int_t)info.private_memory_bytes,
                                          "max_group_size", (json_int_t)info.max_group_size, "preferred_group_multiple",
                                          (json_int_t)info.preferred_group_multiple, "required_local_size",
                                          required_size(&info)));
    return status == NDR_OK ? DONE : fail(status);
}

/* ---- one kernel as text ---- */

#define TEXT(object, key) json_string_value(json_object_get(object, key))
#define NUMBER(object, key) json_integer_value(json_object_get(object, key))

static void print_parameter(const json_t *p)
{
    const char *kind = TEXT(p, "kind"), *access = TEXT(p, "access");
    const bool is_pointer = strcmp(kind, "global") == 0 || strcmp(kind, "constant") == 0 || strcmp(kind, "local") == 0;
    const bool is_const = strcmp(kind, "global") == 0 && access && strcmp(access, "read") == 0;
    const bool is_image = strcmp(kind, "image") == 0;
    printf("%s%s%s%s%s%s %s", is_pointer ? kind : "", is_pointer ? " " : "", is_const ? "const " : "",
           is_image ? access : "", is_image ? strcmp(access, "read_write") == 0 ? " " : "_only " : "", TEXT(p, "type"),
           TEXT(p, "name"));
}

static void print_kernel(const json_t *k)
{
    char local[32], private_memory[32];
    const json_t *const parameters = json_object_get(k, "parameters");
    const json_t *const required = json_object_get(k, "required_local_size"), *const registers =
                                                                                  json_object_get(k, "registers");
    const char *const form = TEXT(k, "form");
    const bool is_plain = strcmp(form, "plain") == 0;
    printf("%s%s%s(", style_begin(BOLD), TEXT(k, "name"), style_end());
    for (size_t i = 0; i < json_array_size(parameters); ++i) {
        if (i) printf(", ");
        print_parameter(json_array_get(parameters, i));
    }
    if (!is_plain) printf("%s%s(%lld)", json_array_size(parameters) ? ", " : "", form, (long long)NUMBER(k, "dims"));
    printf(")\n  local memory %s, private memory %s",
           with_binary_prefix(local, (uint64_t)NUMBER(k, "local_memory_bytes")),
           with_binary_prefix(private_memory, (uint64_t)NUMBER(k, "private_memory_bytes")));
    if (json_is_integer(registers)) printf(", %lld registers", (long long)json_integer_value(registers));
    else printf(", registers not reported");
    printf(", groups of at most %lld items, best multiples of %lld\n", (long long)NUMBER(k, "max_group_size"),
           (long long)NUMBER(k, "preferred_group_multiple"));
    if (json_array_size(required) == 3)
        printf("  required group size %lldx%lldx%lld\n", (long long)json_integer_value(json_array_get(required, 0)),
               (long long)json_integer_value(json_array_get(required, 1)),
               (long long)json_integer_value(json_array_get(required, 2)));
}

/* ---- the log ---- */

/* What ptxas says of a kernel in the log: "Compiling entry function 'scale' for 'sm_90'", and before the next one "Used
 * 10 registers". NULL: nothing. */
static json_t *registers_of(const char *log, const char *kernel)
{
    static const char entry[] = "Compiling entry function '", used[] = "Used ";
    const size_t length = strlen(kernel);
    for (const char *at = log; (at = strstr(at, entry));) {
        at += strlen(entry);
        const char *const next = strstr(at, entry), *const count = strstr(at, used);
        unsigned registers;
        if (strncmp(at, kernel, length) != 0 || at[length] != '\'' || !count || (next && next < count)) continue;
        if (sscanf(count + strlen(used), "%u registers", &registers) == 1) return json_integer(registers);
    }
    return json_null();
}

static void add_registers(const char *log, const json_t *kernels)
{
    for (size_t i = 0; i < json_array_size(kernels); ++i) {
        json_t *const k = json_array_get(kernels, i);
        json_object_set_new(k, "registers", registers_of(log, TEXT(k, "name")));
    }
}

static int add_log(const ndr_kernel *kernel, json_t *data)
{
    size_t length;
    ndr_status status = ndr_kernel_get_log(kernel, 0, NULL, &length);
    if (status != NDR_OK) return fail(status);
    char *const log = malloc(length + 1);
    if (!log) return fail_with("there is no memory for a log of %zu bytes", length);
    status = ndr_kernel_get_log(kernel, length + 1, log, NULL);
    if (status == NDR_OK) {
        json_object_set_new(data, "log", text_json(log));
        add_registers(log, json_object_get(data, "kernels"));
    }
    free(log);
    return status == NDR_OK ? DONE : fail(status);
}

/* ---- the output ---- */

static int save_binary(const ndr_kernel *kernel, const char *path)
{
    size_t length;
    ndr_status status = ndr_kernel_get_binary(kernel, 0, NULL, &length);
    if (status != NDR_OK) return fail(status);
    unsigned char *const bytes = malloc(length);
    if (!bytes) return fail_with("there is no memory for a binary of %zu bytes", length);
    status = ndr_kernel_get_binary(kernel, length, bytes, &length);
    const int code = status == NDR_OK ? save_bytes(path, bytes, length) : fail(status);
    free(bytes);
    return code;
}

/* `desc` has the options of the command line alone. */
static int save_output(const ndr_kernel_desc *desc, ndr_kernel *const *kernels, size_t count, const options *o,
                       json_t *data)
{
    if (count == 0)
        return fail_with("the file \"%s\" has no kernel, so there is nothing to write; add one", o->source.file);
    const int code = is_spirv_file(o->output) ? save_spirv(desc, o->output) : save_binary(kernels[0], o->output);
    if (code == DONE) json_object_set_new(data, "output", text_json(o->output));
    return code;
}

/* ---- building ---- */

/* All kernels; free() the list. */
static ndr_status get_kernels(ndr_context *context, const ndr_kernel_desc *desc, ndr_kernel ***kernels, size_t *count)
{
    begin_waiting("of compiling", 0);
    ndr_status status = ndr_kernel_get_all(context, desc, 0, NULL, count);
    end_waiting();
    if (status != NDR_OK) return status;
    *kernels = calloc(*count ? *count : 1, sizeof **kernels);
    return *kernels ? ndr_kernel_get_all(context, desc, *count, *kernels, count) : NDR_OUT_OF_HOST_MEMORY;
}

static int describe_all(ndr_kernel *const *kernels, size_t count, json_t *data)
{
    json_t *const list = json_array();
    int code = DONE;
    json_object_set_new(data, "kernels", list);
    for (size_t i = 0; i < count && code == DONE; ++i) code = describe_one(kernels[i], list);
    return count > 0 && code == DONE ? add_log(kernels[0], data) : code;
}

/* A build that fails is a result, too. */
static int describe_failure(ndr_status status, const options *o, json_t *data)
{
    json_object_set_new(data, "error", text_json(ndr_last_error()));
    json_object_set_new(data, "log", text_json(ndr_last_build_log()));
    if (o->common.is_json) print_json(json_incref(data));
    const int code = fail(status);
    const bool is_cut = strstr(ndr_last_error(), "ndr_last_build_log()") != NULL;
    if (is_cut) fprintf(stderr, "The whole log:\n%s\n", ndr_last_build_log());
    return code;
}

static void print_all(const options *o, const json_t *data)
{
    const json_t *const list = json_object_get(data, "kernels");
    const char *const log = TEXT(data, "log");
    for (size_t i = 0; i < json_array_size(list); ++i) print_kernel(json_array_get(list, i));
    if (json_array_size(list) == 0) printf("%s has no kernels\n", o->source.file);
    if (log && *log)
        printf("%slog:%s\n%s%s", style_begin(BOLD), style_end(), log, log[strlen(log) - 1] == '\n' ? "" : "\n");
    if (o->output) printf("the %s is in %s\n", is_spirv_file(o->output) ? "SPIR-V" : "binary", o->output);
}

/* NVIDIA's driver writes the registers of kernels to the log if it is asked. NULL: there is no memory. */
static char *options_with_registers(const char *given, const ndr_device_info *device)
{
    char *all = NULL;
    const bool is_nvidia = strstr(device->platform, "NVIDIA") != NULL;
    const int length = asprintf(&all, "%s%s", given ? given : "", is_nvidia ? " -cl-nv-verbose" : "");
    return length < 0 ? NULL : all;
}

static int build(ndr_context *context, const ndr_device_info *device, options *o, json_t *data)
{
    ndr_kernel_desc desc;
    ndr_kernel **kernels = NULL;
    size_t count = 0;
    int code = describe_kernel(&o->source, NULL, &desc);
    if (code != DONE) return code;
    char *const all_options = options_with_registers(desc.options, device);
    if (!all_options) return fail_with("there is no memory for build options");
    ndr_kernel_desc reported = desc;
    reported.options = all_options;
    const ndr_status status = get_kernels(context, &reported, &kernels, &count);
    code = status == NDR_OK ? describe_all(kernels, count, data) : describe_failure(status, o, data);
    if (code == DONE && o->output) code = save_output(&desc, kernels, count, o, data);
    free(kernels);
    free(all_options);
    if (code != DONE) return code;
    if (o->common.is_json) return print_json(json_incref(data));
    print_all(o, data);
    return DONE;
}

static int run(int argc, char **argv)
{
    options o = { 0 };
    ndr_context *context;
    ndr_device_info device = { 0 };
    parse(&argp, argc, argv, &o);
    ndr_status status = ndr_context_create(o.common.device, &context);
    if (status != NDR_OK) return free_kernel_source(&o.source), fail(status);
    status = ndr_context_get_device(context, &device);
    json_t *const data = json_pack("{so so}", "file", text_json(o.source.file), "device", text_json(device.name));
    const int code = status == NDR_OK ? build(context, &device, &o, data) : fail(status);
    json_decref(data);
    ndr_context_destroy(context);
    free_kernel_source(&o.source);
    return code;
}

const command build_command = { "build", "compiles a file, and shows its kernels", run };
