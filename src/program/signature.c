/* signature.c - what a kernel takes and allows, read back from the driver.
 *
 * clGetKernelArgInfo names built-in types. A typedef or a struct is named but not explained, and some drivers
 * accept any size for it; so a second program, the same text with a few probe kernels behind it, carries
 * sizeof and the plain type of each such parameter in an attribute that the host can read without running
 * anything: reqd_work_group_size. */
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
};

ndr_dtype ndr_signature_dtype_named(const char *type_name)
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
        if (strcmp(type_name, numbers[i].name) == 0) return numbers[i].dtype;
    return NDR_DTYPE_NONE;
}

size_t ndr_signature_vector_bytes(const char *type_name)
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        const size_t length = strlen(numbers[i].name);
        if (strncmp(type_name, numbers[i].name, length) != 0) continue;
        char *end;
        const unsigned long lanes = strtoul(type_name + length, &end, 10);
        if (*end || end == type_name + length) continue;
        if (lanes == 3) return 4 * ndr_dtype_size(numbers[i].dtype); /* OpenCL pads three to four */
        if (lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16) return lanes * ndr_dtype_size(numbers[i].dtype);
    }
    return 0;
}

static bool is_opaque(const char *type_name)
{
    static const char *const prefixes[] = { "image",   "sampler_t",   "pipe",        "queue_t",
                                            "event_t", "clk_event_t", "reserve_id_t" };
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; ++i)
        if (strncmp(type_name, prefixes[i], strlen(prefixes[i])) == 0) return true;
    return false;
}

/* "float" of "float*": what a pointer points to, if it is a number. */
static ndr_dtype pointee(const char *type_name)
{
    char name[32];
    const size_t length = strcspn(type_name, "* ");
    if (length >= sizeof name || strchr(type_name + length, '*') == NULL) return NDR_DTYPE_NONE;
    memcpy(name, type_name, length);
    name[length] = '\0';
    return ndr_signature_dtype_named(name);
}

/* ---- one parameter ---- */

static ndr_status read_arg_text(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, char **text)
{
    size_t bytes = 0;
    NDR_TRY_CL(clGetKernelArgInfo(kernel, index, what, 0, NULL, &bytes));
    char *made = calloc(bytes + 1, 1);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a parameter's name");
    const cl_int error = clGetKernelArgInfo(kernel, index, what, bytes, made, NULL);
    if (error != CL_SUCCESS) {
        free(made);
        return ndr_fail_cl(error, "clGetKernelArgInfo");
    }
    *text = made;
    return NDR_OK;
}

static void classify(ndr_param *param, cl_kernel_arg_address_qualifier space)
{
    if (is_opaque(param->type_name)) {
        param->kind = NDR_PARAM_OPAQUE;
    } else if (space == CL_KERNEL_ARG_ADDRESS_PRIVATE) {
        param->dtype = ndr_signature_dtype_named(param->type_name);
        param->kind = param->dtype ? NDR_PARAM_NUMBER : NDR_PARAM_BYTES;
        param->size_bytes = param->dtype ? ndr_dtype_size(param->dtype) : ndr_signature_vector_bytes(param->type_name);
    } else {
        param->kind = space == CL_KERNEL_ARG_ADDRESS_LOCAL      ? NDR_PARAM_LOCAL
                      : space == CL_KERNEL_ARG_ADDRESS_CONSTANT ? NDR_PARAM_CONSTANT
                                                                : NDR_PARAM_GLOBAL;
        param->dtype = pointee(param->type_name);
    }
}

static ndr_status read_param(cl_kernel kernel, cl_uint index, ndr_param *param)
{
    cl_kernel_arg_address_qualifier space = 0;
    cl_kernel_arg_type_qualifier qualifier = 0;
    NDR_TRY(read_arg_text(kernel, index, CL_KERNEL_ARG_NAME, &param->name));
    NDR_TRY(read_arg_text(kernel, index, CL_KERNEL_ARG_TYPE_NAME, &param->type_name));
    NDR_TRY_CL(clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL));
    NDR_TRY_CL(clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifier, &qualifier, NULL));
    param->is_const = (qualifier & CL_KERNEL_ARG_TYPE_CONST) != 0;
    classify(param, space);
    return NDR_OK;
}

/* ---- the launch record ---- */

static void recognise_record(ndr_kernel *kernel)
{
    if (kernel->arg_count == 0) return;
    const ndr_param *last = &kernel->params[kernel->arg_count - 1];
    const char *type = last->type_name;
    if (strncmp(type, "struct ", 7) == 0) type += 7;
    unsigned dims;
    char rest;
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

/* ---- types that the driver names but does not explain ---- */

static bool needs_probe(const ndr_param *param) { return param->kind == NDR_PARAM_BYTES && param->size_bytes == 0; }

/* Each probe has a parameter: one vendor's assembler stumbles over kernels without. */
static void add_probes(const ndr_kernel *kernel, ndr_text *out)
{
    const bool f64 = kernel->context->caps.info.has_f64;
    ndr_text_add(out, "\n#define NDR_PROBE_(what, size) kernel __attribute__((reqd_work_group_size((size) + 1, 1, 1)))"
                      " void ndr_probe_##what(global uint *x) { x[0] = 0; }\n");
    for (unsigned i = 0; i < kernel->info.arg_count; ++i) {
        if (!needs_probe(&kernel->params[i])) continue;
        const char *type = kernel->params[i].type_name;
        ndr_text_add(out, "NDR_PROBE_(%u_low_, sizeof(%s) %% 256)\nNDR_PROBE_(%u_high_, sizeof(%s) / 256)\n", i, type,
                     i, type);
        ndr_text_add(out, "NDR_PROBE_(%u_dtype_, 0", i);
        for (int d = NDR_DTYPE_I8; d <= (f64 ? NDR_DTYPE_F64 : NDR_DTYPE_F32); ++d)
            ndr_text_add(out, " + %d * __builtin_types_compatible_p(%s, %s)", d, type,
                         ndr_dtype_describe((ndr_dtype)d)->cl_name);
        ndr_text_add(out, ")\n");
    }
}

/* The number that a probe kernel carries; false if the driver will not tell. */
static bool read_probe(cl_program program, cl_device_id device, unsigned index, const char *what, size_t *number)
{
    char name[64];
    size_t sizes[3] = { 0, 0, 0 };
    snprintf(name, sizeof name, "ndr_probe_%u_%s_", index, what);
    cl_int error;
    cl_kernel probe = clCreateKernel(program, name, &error);
    if (error != CL_SUCCESS) return false;
    error = clGetKernelWorkGroupInfo(probe, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof sizes, sizes, NULL);
    clReleaseKernel(probe);
    if (error != CL_SUCCESS || sizes[0] == 0) return false;
    *number = sizes[0] - 1;
    return true;
}

static void learn(ndr_kernel *kernel, cl_program program)
{
    const cl_device_id device = kernel->context->device;
    for (unsigned i = 0; i < kernel->info.arg_count; ++i) {
        ndr_param *param = &kernel->params[i];
        size_t low, high, dtype;
        if (!needs_probe(param) || !read_probe(program, device, i, "low", &low)
            || !read_probe(program, device, i, "high", &high) || !read_probe(program, device, i, "dtype", &dtype))
            continue;
        param->size_bytes = high * 256 + low;
        param->dtype = (ndr_dtype)dtype;
        if (param->dtype) param->kind = NDR_PARAM_NUMBER;
    }
}

/* A probe that does not build leaves sizes unknown; the kernel itself is none the worse. */
static void probe_types(ndr_kernel *kernel, const ndr_program *program, const char *source)
{
    bool any = false;
    for (unsigned i = 0; i < kernel->info.arg_count; ++i) any |= needs_probe(&kernel->params[i]);
    if (!any) return;
    ndr_text text = { 0 };
    ndr_text_add(&text, "%s", source);
    add_probes(kernel, &text);
    cl_program probes;
    if (!text.failed && ndr_build_quietly(kernel->context, text.chars, program->options, &probes)) {
        learn(kernel, probes);
        clReleaseProgram(probes);
    }
    ndr_text_free(&text);
}

/* ---- limits ---- */

#define READ(what, variable) \
    NDR_TRY_CL(clGetKernelWorkGroupInfo(kernel->cl, kernel->context->device, what, sizeof variable, &(variable), NULL))

static ndr_status read_limits(ndr_kernel *kernel)
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
    ndr_turn_dims(3, required, kernel->info.required_local_size);
    return NDR_OK;
}

ndr_status ndr_signature_read(ndr_kernel *kernel, const ndr_program *program, const char *text)
{
    cl_uint count = 0;
    NDR_TRY_CL(clGetKernelInfo(kernel->cl, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL));
    kernel->params = calloc(count ? count : 1, sizeof *kernel->params);
    if (!kernel->params)
        return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the parameters of \"%s\"", kernel->name);
    kernel->arg_count = count;
    kernel->info.arg_count = count;
    for (cl_uint i = 0; i < count; ++i) NDR_TRY(read_param(kernel->cl, i, &kernel->params[i]));
    recognise_record(kernel);
    probe_types(kernel, program, text);
    return read_limits(kernel);
}
