/* signature.c - the parameters and limits of a kernel, as reported by the driver. */
#include "device/context.h"
#include "program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    return ndr_is_opaque(param->type_name) || (q->type & CL_KERNEL_ARG_TYPE_PIPE)
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
    param->type = is_value ? ndr_builtin_named(param->type_name) : ndr_builtin_of_pointee(param->type_name);
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
    param->kind = NDR_PARAM_ANY;
    param->name = ndr_text_copy("?", 1);
    param->type_name = ndr_text_copy("type unknown", strlen("type unknown"));
    return param->name && param->type_name ? NDR_OK
                                           : ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a parameter's name");
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

/* ---- reducers ---- */

#define REDUCER "ndr_reducer_"

static const struct {
    const char *name;
    ndr_op op;
} reducer_ops[] = { { "SUM_", NDR_OP_SUM },        { "PRODUCT_", NDR_OP_PRODUCT }, { "MIN_", NDR_OP_MIN },
                    { "MAX_", NDR_OP_MAX },        { "BIT_AND_", NDR_OP_BIT_AND }, { "BIT_OR_", NDR_OP_BIT_OR },
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
    const char *type = strrchr(param->type_name, '_');
    param->kind = NDR_PARAM_REDUCER;
    param->type = ndr_builtin_of_pointee(type ? type + 1 : "");
    param->size_bytes = ndr_builtin_bytes(param->type);
}

/* ---- the launch record ---- */

/* Without parentheses a macro is a parameter's name, and its type is an int. */
static ndr_status check_record_is_macro(const ndr_kernel *kernel)
{
    static const char *const macros[] = { "NDR_RANGE", "NDR_ND_RANGE", "NDR_REDUCTION" };
    for (unsigned i = 0; i < kernel->arg_count; ++i)
        for (size_t m = 0; m < NDR_COUNT_OF(macros); ++m)
            NDR_REQUIRE_AS(NDR_BUILD_FAILED, strcmp(kernel->params[i].name, macros[m]) != 0,
                           "kernel \"%s\" has %s without its dimensions in parentheses: write, for example, %s(1%s)",
                           kernel->name, macros[m], macros[m], m == 2 ? ", (SUM, float, sum)" : "");
    return NDR_OK;
}

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

/* The hidden parameters of NDR_REDUCTION(): where each reducer goes, memory, the record. */
static void detect_reducers(ndr_kernel *kernel, unsigned count)
{
    kernel->form = NDR_FORM_REDUCTION;
    kernel->reducer_count = count;
    kernel->info.arg_count -= count + 2;
    for (unsigned i = 0; i < count; ++i) classify_reducer(&kernel->params[kernel->info.arg_count - count + i]);
}

/* The name of the last parameter's type tells the form; before it, a parameter may be for scratch memory. */
static void detect_record(ndr_kernel *kernel)
{
    const ndr_param *last = kernel->arg_count > 0 ? &kernel->params[kernel->arg_count - 1] : NULL;
    const char *type = last ? last->type_name : "";
    if (strncmp(type, "struct ", 7) == 0) type += 7;
    unsigned dims, reducers;
    char rest;
    if (sscanf(type, "ndr_reduction_record_%1u_%1u%c", &dims, &reducers, &rest) == 2) {
        if (dims > 3 || kernel->arg_count < 2 * reducers + 2) return; /* what is kept of it is damaged */
        kernel->dims = dims;
        detect_reducers(kernel, reducers);
        return;
    }
    if (sscanf(type, "ndr_range_record_%1u%c", &dims, &rest) == 1) kernel->form = NDR_FORM_RANGE;
    else if (sscanf(type, "ndr_nd_range_record_%1u%c", &dims, &rest) == 1) kernel->form = NDR_FORM_ND_RANGE;
    else return;
    kernel->dims = (unsigned)ndr_min_size(dims, 3);
    kernel->has_scratch =
        kernel->arg_count > 1 && last[-1].kind == NDR_PARAM_LOCAL && strcmp(last[-1].name, "ndr_scratch_") == 0;
    kernel->info.arg_count -= 1 + kernel->has_scratch;
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

/* `required_local_size` is known already of a kernel from disk: some drivers do not tell it there. */
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

void ndr_signature_complete(ndr_kernel *kernel)
{
    kernel->info.arg_count = kernel->arg_count;
    detect_record(kernel);
    kernel->argument_bytes = count_argument_bytes(kernel);
}

ndr_status ndr_signature_read(ndr_kernel *kernel)
{
    ndr_program *program = kernel->program && !kernel->program->is_compiled ? kernel->program : NULL;
    cl_uint count = 0;
    NDR_TRY_CL(clGetKernelInfo(kernel->cl, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL));
    kernel->params = calloc(count ? count : 1, sizeof *kernel->params);
    if (!kernel->params)
        return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the parameters of \"%s\"", kernel->name);
    kernel->arg_count = count;
    for (cl_uint i = 0; i < count; ++i)
        NDR_TRY((program ? read_param : read_foreign_param)(kernel->cl, i, &kernel->params[i]));
    NDR_TRY(check_record_is_macro(kernel));
    NDR_TRY(check_record_is_last(kernel));
    ndr_signature_complete(kernel);
    for (unsigned i = 0; program && i < kernel->info.arg_count; ++i)
        NDR_TRY(ndr_probe_param(program, &kernel->params[i]));
    kernel->argument_bytes = count_argument_bytes(kernel);
    return ndr_signature_read_limits(kernel);
}
