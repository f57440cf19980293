/* build.c - `ndr build`: compiles a file, and shows its kernels with what they take and need. */
#include "kernel_source.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    common common;
    kernel_source source;
    const char *save;
} options;

enum { OPTION_SAVE = 0x200 };

static const struct argp_option option_list[] = {
    { "save", OPTION_SAVE, "FILE", 0,
      "Write the driver's binary, which `ndr run FILE.bin` and ndr_kernel_desc.binary take on the same device with the "
      "same driver",
      2 },
    { 0 },
};

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
        return 0;
    case OPTION_SAVE: o->save = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_list,
    .parser = parse_option,
    .args_doc = "FILE",
    .doc = "Compiles a file of OpenCL C (or .spv, or a driver's .bin), and shows its kernels: parameters, memory, "
           "sizes of "
           "groups, and the compiler's log.",
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
    const json_t *const parameters = json_object_get(k, "parameters"), *const required =
                                                                           json_object_get(k, "required_local_size");
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
    printf(", groups of at most %lld items, best multiples of %lld\n", (long long)NUMBER(k, "max_group_size"),
           (long long)NUMBER(k, "preferred_group_multiple"));
    if (json_array_size(required) == 3)
        printf("  required group size %lldx%lldx%lld\n", (long long)json_integer_value(json_array_get(required, 0)),
               (long long)json_integer_value(json_array_get(required, 1)),
               (long long)json_integer_value(json_array_get(required, 2)));
}

/* ---- the log and the binary ---- */

static int add_log(const ndr_kernel *kernel, json_t *data)
{
    size_t length;
    ndr_status status = ndr_kernel_get_log(kernel, 0, NULL, &length);
    if (status != NDR_OK) return fail(status);
    char *const log = malloc(length + 1);
    if (!log) return fail_with("there is no memory for a log of %zu bytes", length);
    status = ndr_kernel_get_log(kernel, length + 1, log, NULL);
    if (status == NDR_OK) json_object_set_new(data, "log", text_json(log));
    free(log);
    return status == NDR_OK ? DONE : fail(status);
}

static int save_binary(const ndr_kernel *kernel, const char *path, json_t *data)
{
    size_t length;
    ndr_status status = ndr_kernel_get_binary(kernel, 0, NULL, &length);
    if (status != NDR_OK) return fail(status);
    unsigned char *const bytes = malloc(length);
    if (!bytes) return fail_with("there is no memory for a binary of %zu bytes", length);
    status = ndr_kernel_get_binary(kernel, length, bytes, &length);
    const int code = status == NDR_OK ? save_bytes(path, bytes, length) : fail(status);
    free(bytes);
    if (code == DONE) json_object_set_new(data, "saved", text_json(path));
    return code;
}

/* ---- building ---- */

/* All kernels; free() the list. */
static ndr_status get_kernels(ndr_context *context, const ndr_kernel_desc *desc, ndr_kernel ***kernels, size_t *count)
{
    ndr_status status = ndr_kernel_get_all(context, desc, 0, NULL, count);
    if (status != NDR_OK) return status;
    *kernels = calloc(*count ? *count : 1, sizeof **kernels);
    return *kernels ? ndr_kernel_get_all(context, desc, *count, *kernels, count) : NDR_OUT_OF_HOST_MEMORY;
}

static int describe_all(ndr_kernel *const *kernels, size_t count, const options *o, json_t *data)
{
    json_t *const list = json_array();
    int code = DONE;
    json_object_set_new(data, "kernels", list);
    for (size_t i = 0; i < count && code == DONE; ++i) code = describe_one(kernels[i], list);
    if (count > 0 && code == DONE) code = add_log(kernels[0], data);
    if (o->save && count == 0)
        return fail_with("the file \"%s\" has no kernel, so there is no binary to save; add one", o->source.file);
    return o->save && code == DONE ? save_binary(kernels[0], o->save, data) : code;
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
    if (o->save) printf("the binary is in %s\n", o->save);
}

static int build(ndr_context *context, options *o, json_t *data)
{
    ndr_kernel_desc desc;
    ndr_kernel **kernels = NULL;
    size_t count = 0;
    int code = describe_kernel(&o->source, NULL, &desc);
    if (code != DONE) return code;
    const ndr_status status = get_kernels(context, &desc, &kernels, &count);
    code = status == NDR_OK ? describe_all(kernels, count, o, data) : describe_failure(status, o, data);
    free(kernels);
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
    const int code = status == NDR_OK ? build(context, &o, data) : fail(status);
    json_decref(data);
    ndr_context_destroy(context);
    free_kernel_source(&o.source);
    return code;
}

const command build_command = { "build", "compiles a file, and shows its kernels", run };
