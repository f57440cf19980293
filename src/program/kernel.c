/* kernel.c - gets a kernel by name and source; each one is built once. */
#include "device/context.h"
#include "program/registry.h"

#include <stdlib.h>
#include <string.h>

/* ---- the request ---- */

static bool is_compiled(const ndr_kernel_desc *desc) { return desc->spirv || desc->binary; }

/* "saxpy.cl": no text that defines a kernel is one word with a dot or a slash. */
static bool seems_a_file(const char *source)
{
    return source && source[strcspn(source, " \t\r\n(){};#")] == '\0' && strpbrk(source, "./")
           && strncmp(source, "//", 2) != 0;
}

/* Drivers name files after kernels. PoCL aborts the process from some 252 characters on. */
static ndr_status check_name(const char *name)
{
    enum { MOST = 200 };
    NDR_REQUIRE(name && *name, "ndr_kernel_get: desc->name is not set; set it to the kernel function's name");
    const size_t length = strlen(name);
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, length <= MOST,
                   "ndr_kernel_get: desc->name, \"%.40s...\", has %zu characters, and the limit is %d, because drivers "
                   "name files after kernels; give the kernel a shorter name",
                   name, length, MOST);
    return NDR_OK;
}

static ndr_status check_desc(const ndr_kernel_desc *desc)
{
    NDR_REQUIRE(desc, "ndr_kernel_get: desc is NULL; pass the address of a descriptor whose members are set");
    NDR_TRY(check_name(desc->name));
    const int given = (desc->source != NULL) + (desc->file != NULL) + (desc->bundled != NULL) + (desc->spirv != NULL)
                      + (desc->binary != NULL);
    NDR_REQUIRE(given == 1,
                "ndr_kernel_get: %s of desc->source, file, bundled, spirv and binary is set for kernel \"%s\"; set "
                "just one",
                given ? "more than one" : "none", desc->name);
    NDR_REQUIRE(!seems_a_file(desc->source),
                "ndr_kernel_get: desc->source of kernel \"%s\" is \"%s\", the name of a file and not its text; set "
                "desc->file to it",
                desc->name, desc->source);
    NDR_REQUIRE(!desc->linked || desc->source || desc->file,
                "ndr_kernel_get: desc->linked is set for kernel \"%s\", but neither source nor file; set one of them "
                "to the first text or file",
                desc->name);
    NDR_REQUIRE(!is_compiled(desc) || (!desc->include_dirs && !desc->sub_group_size),
                "ndr_kernel_get: desc->%s is set for kernel \"%s\", which is compiled already; leave it out",
                desc->include_dirs ? "include_dirs" : "sub_group_size", desc->name);
    NDR_REQUIRE(is_compiled(desc) || strcmp(desc->name, "main") != 0,
                "ndr_kernel_get: desc->name is \"main\", which the compilers of most drivers refuse as the name of a "
                "kernel; choose another name, in the text too");
    return NDR_OK;
}

/* The length comes first, so that different lists of pieces give different keys. */
static void add_piece(ndr_text *key, const void *piece, size_t length)
{
    ndr_text_add_chars(key, (const char *)&length, sizeof length);
    ndr_text_add_chars(key, piece, length);
}

static void add_string(ndr_text *key, const char *string) { add_piece(key, string, strlen(string)); }

static void add_hash(ndr_text *key, const void *bytes, size_t count)
{
    const ndr_hash hash = ndr_hash_bytes(bytes, count);
    add_piece(key, &hash, sizeof hash);
}

/* Every operation calls this for each kernel, so it formats nothing and does not copy the source. */
static void add_program(const ndr_kernel_desc *desc, ndr_text *key)
{
    add_string(key, desc->file      ? "file"
                    : desc->bundled ? "bundled"
                    : desc->spirv   ? "spirv"
                    : desc->binary  ? "binary"
                                    : "source");
    add_string(key, ndr_program_title(desc));
    add_string(key, desc->options ? desc->options : "");
    add_piece(key, &desc->sub_group_size, sizeof desc->sub_group_size);
    size_t dirs = 0;
    while (desc->include_dirs && desc->include_dirs[dirs]) ++dirs;
    add_piece(key, &dirs, sizeof dirs);
    for (size_t i = 0; i < dirs; ++i) add_string(key, desc->include_dirs[i]);
    for (size_t i = 0; desc->linked && desc->linked[i]; ++i) add_hash(key, desc->linked[i], strlen(desc->linked[i]));
    if (desc->source && desc->source_key) add_string(key, desc->source_key);
    else if (desc->source) add_hash(key, desc->source, strlen(desc->source));
    if (desc->spirv) add_hash(key, desc->spirv, desc->spirv_bytes);
    if (desc->binary) add_hash(key, desc->binary, desc->binary_bytes);
}

/* The keys of a request: of its program, that is source, options, folders and text; and of the kernel in it. */
static ndr_status read_keys(const ndr_kernel_desc *desc, ndr_hash *of_program, ndr_hash *of_kernel)
{
    NDR_TRY(check_desc(desc));
    ndr_text key = { 0 };
    add_program(desc, &key);
    *of_program = ndr_hash_bytes(key.chars, key.length);
    add_string(&key, desc->name);
    *of_kernel = ndr_hash_bytes(key.chars, key.length);
    const bool failed = key.failed;
    ndr_text_free(&key);
    return failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to look for kernel \"%s\"", desc->name) : NDR_OK;
}

ndr_status ndr_kernel_read_key(const ndr_kernel_desc *desc, ndr_hash *program)
{
    ndr_hash kernel;
    return read_keys(desc, program, &kernel);
}

/* ---- kernels ---- */

ndr_status ndr_kernel_new(ndr_context *context, ndr_hash key, ndr_kernel **kernel)
{
    ndr_kernel *made = ndr_handle_new(NDR_HANDLE_KERNEL, sizeof *made, context->checker != NULL);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a kernel");
    ndr_mutex_init(&made->lock, NDR_LOCK_KERNEL);
    made->context = context;
    made->key = key;
    *kernel = made;
    return NDR_OK;
}

void ndr_kernel_free_params(ndr_kernel *kernel)
{
    for (unsigned i = 0; kernel->params && i < kernel->arg_count; ++i) {
        free(kernel->params[i].name);
        free(kernel->params[i].type_name);
    }
    free(kernel->params);
}

void ndr_kernel_free(ndr_kernel *kernel)
{
    if (!kernel) return;
    if (kernel->cl) ndr_cl.clReleaseKernel(kernel->cl);
    if (kernel->renewed) ndr_cl.clReleaseKernel(kernel->renewed);
    ndr_kernel_free_params(kernel);
    free(kernel->name);
    free(kernel->attached);
    ndr_mutex_destroy(&kernel->lock);
    ndr_handle_free(kernel);
}

ndr_status ndr_kernel_clone(const ndr_kernel *kernel, cl_kernel *clone)
{
    cl_program program;
    cl_int error;
    NDR_TRY_CL(clGetKernelInfo(kernel->cl, CL_KERNEL_PROGRAM, sizeof program, &program, NULL));
    cl_kernel made = ndr_cl.clCreateKernel(program, kernel->name, &error);
    NDR_TRY_CL_AS("clCreateKernel", error);
    *clone = made;
    return NDR_OK;
}

/* ---- getting ---- */

static ndr_status make_kernel(ndr_registry *registry, ndr_program *program, const char *name, ndr_hash key,
                              ndr_kernel **kernel)
{
    ndr_kernel *made = NULL;
    NDR_TRY(ndr_kernel_new(program->context, key, &made));
    ndr_status status = ndr_program_fill_kernel(program, name, made);
    if (status == NDR_OK) status = ndr_registry_keep(registry, &registry->kernels, key, made);
    if (status == NDR_OK) *kernel = made;
    else ndr_kernel_free(made);
    return status;
}

/* The caller holds the build lock. */
static ndr_status find_or_make_program(ndr_context *context, ndr_registry *registry, const ndr_kernel_desc *desc,
                                       const ndr_hash *key, ndr_program **program)
{
    *program = ndr_registry_find(registry, &registry->programs, *key);
    if (!*program) return ndr_program_make(context, desc, *key, program);
    ndr_log(NDR_LOG_DEBUG, "program.found", "\"%s\" is built already", (*program)->title);
    return NDR_OK;
}

/* The caller holds the build lock. Look again, because another thread may have built it, then build. */
static ndr_status find_or_build(ndr_context *context, ndr_registry *registry, const ndr_kernel_desc *desc,
                                const ndr_hash *program_key, const ndr_hash *key, ndr_kernel **kernel)
{
    ndr_program *program;
    *kernel = ndr_registry_find(registry, &registry->kernels, *key);
    if (*kernel) return NDR_OK;
    NDR_TRY(find_or_make_program(context, registry, desc, program_key, &program));
    return make_kernel(registry, program, desc->name, *key, kernel);
}

ndr_status ndr_kernel_get(ndr_context *context, const ndr_kernel_desc *desc, ndr_kernel **kernel)
{
    NDR_REQUIRE_SET(context, kernel);
    ndr_hash program, key;
    NDR_TRY(read_keys(desc, &program, &key));
    ndr_registry *registry;
    NDR_TRY(ndr_registry_get(context, &registry));
    ndr_kernel *found = ndr_registry_find(registry, &registry->kernels, key);
    ndr_status status = NDR_OK;
    if (!found) {
        ndr_mutex_lock(&registry->build_lock);
        status = find_or_build(context, registry, desc, &program, &key, &found);
        ndr_mutex_unlock(&registry->build_lock);
    } else ndr_log(NDR_LOG_DEBUG, "kernel.found", "\"%s\" is built already", found->name);
    if (status == NDR_OK) *kernel = found;
    return status;
}

static ndr_status get_program(ndr_context *context, const ndr_kernel_desc *desc, ndr_program **program)
{
    ndr_hash key;
    ndr_registry *registry;
    NDR_TRY(ndr_kernel_read_key(desc, &key));
    NDR_TRY(ndr_registry_get(context, &registry));
    ndr_mutex_lock(&registry->build_lock);
    const ndr_status status = find_or_make_program(context, registry, desc, &key, program);
    ndr_mutex_unlock(&registry->build_lock);
    return status;
}

ndr_status ndr_kernel_get_program(ndr_context *context, const ndr_kernel_desc *desc, ndr_program **program)
{
    char *names;
    NDR_TRY(get_program(context, desc, program));
    NDR_TRY(ndr_build_read_names((*program)->cl, &names));
    const bool has_kernel = names[0];
    free(names);
    NDR_REQUIRE_AS(NDR_NOT_FOUND, has_kernel, "\"%s\" has no kernel", (*program)->title);
    return NDR_OK;
}

/* ---- getting all ---- */

ndr_status ndr_kernel_get_all(ndr_context *context, const ndr_kernel_desc *desc, size_t capacity, ndr_kernel **kernels,
                              size_t *count)
{
    NDR_REQUIRE_SET(context, desc, count);
    NDR_REQUIRE(kernels || capacity == 0,
                "ndr_kernel_get_all: kernels is NULL, but capacity is %zu; pass memory for that many, or 0", capacity);
    ndr_kernel_desc one = *desc;
    ndr_program *program;
    char *names;
    size_t found = 0;
    ndr_status status = NDR_OK;
    one.name = "*";
    NDR_TRY(get_program(context, &one, &program));
    NDR_TRY(ndr_build_read_names(program->cl, &names));
    for (char *rest = names; status == NDR_OK && (one.name = ndr_build_next_name(&rest));) {
        if (found < capacity) status = ndr_kernel_get(context, &one, &kernels[found]);
        ++found;
    }
    free(names);
    if (status == NDR_OK) *count = found;
    return status;
}

/* ---- describing ---- */

static ndr_kernel_form form_of(const ndr_kernel *kernel)
{
    static const ndr_kernel_form forms[] = { [NDR_FORM_PLAIN] = NDR_KERNEL_PLAIN,
                                             [NDR_FORM_RANGE] = NDR_KERNEL_RANGE,
                                             [NDR_FORM_ND_RANGE] = NDR_KERNEL_ND_RANGE,
                                             [NDR_FORM_REDUCTION] = NDR_KERNEL_REDUCTION };
    return forms[kernel->form];
}

ndr_status ndr_kernel_get_info(const ndr_kernel *kernel, ndr_kernel_info *info)
{
    NDR_REQUIRE_SET(kernel, info);
    *info = kernel->info;
    info->name = kernel->name;
    info->form = form_of(kernel);
    info->range_dims = kernel->dims;
    return NDR_OK;
}

static ndr_parameter_kind kind_of_opaque(const char *type_name)
{
    return strstr(type_name, "image")     ? NDR_PARAMETER_IMAGE
           : strstr(type_name, "sampler") ? NDR_PARAMETER_SAMPLER
                                          : NDR_PARAMETER_OTHER;
}

static ndr_parameter_kind kind_of_parameter(const ndr_param *param)
{
    switch (param->kind) {
    case NDR_PARAM_GLOBAL: return NDR_PARAMETER_GLOBAL;
    case NDR_PARAM_CONSTANT: return NDR_PARAMETER_CONSTANT;
    case NDR_PARAM_LOCAL: return NDR_PARAMETER_LOCAL;
    case NDR_PARAM_NUMBER: return NDR_PARAMETER_NUMBER;
    case NDR_PARAM_BYTES: return param->type.lanes ? NDR_PARAMETER_VECTOR : NDR_PARAMETER_STRUCT;
    case NDR_PARAM_OPAQUE: return kind_of_opaque(param->type_name);
    case NDR_PARAM_REDUCER: return NDR_PARAMETER_REDUCER;
    default: return NDR_PARAMETER_ANY;
    }
}

static ndr_access access_of(const ndr_param *param)
{
    if (param->kind == NDR_PARAM_OPAQUE) return param->access;
    return param->is_const || param->kind == NDR_PARAM_CONSTANT ? NDR_ACCESS_READ : NDR_ACCESS_READ_WRITE;
}

const char *ndr_param_shown_type(const ndr_param *param)
{
    static const char hidden[] = "ndr_reducer_";
    const char *found = param->kind == NDR_PARAM_REDUCER ? strstr(param->type_name, hidden) : NULL;
    return found ? found + strlen(hidden) : param->type_name;
}

ndr_status ndr_kernel_get_parameter(const ndr_kernel *kernel, size_t index, ndr_parameter_info *parameter)
{
    NDR_REQUIRE_SET(kernel, parameter);
    NDR_REQUIRE(index < kernel->info.arg_count,
                "ndr_kernel_get_parameter: kernel \"%s\" has %u parameters, so there is none of index %zu; pass a "
                "smaller one, counted from 0",
                kernel->name, kernel->info.arg_count, index);
    const ndr_param *param = &kernel->params[index];
    *parameter = (ndr_parameter_info){ .name = param->name,
                                       .type_name = ndr_param_shown_type(param),
                                       .kind = kind_of_parameter(param),
                                       .dtype = param->type.lanes ? param->type.dtype : NDR_DTYPE_NONE,
                                       .lanes = param->type.lanes,
                                       .access = access_of(param),
                                       .size_bytes = param->size_bytes,
                                       .op = ndr_reducer_op(param) };
    return NDR_OK;
}
