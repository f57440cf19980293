/* signature.c - what a kernel takes and allows, read back from the driver.
 *
 * clGetKernelArgInfo names built-in types. A typedef or a struct is named but not explained, and some drivers
 * accept any size for it; so a second program, the same text with a few probe kernels behind it, carries
 * sizeof and the plain type of each such parameter, and of what each such local pointer points to, in an attribute that
 * the host can read without running anything: reqd_work_group_size. */
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

/* How many lanes there are, and what a vector's name says of them. */
static const struct {
    unsigned lanes;
    const char *name;
} lane_counts[] = { { 1, "" }, { 2, "2" }, { 3, "3" }, { 4, "4" }, { 8, "8" }, { 16, "16" } };

ndr_builtin ndr_builtin_named(const char *type_name)
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        const size_t length = strlen(numbers[i].name);
        if (strncmp(type_name, numbers[i].name, length) != 0) continue;
        const char *lanes = type_name + length;
        if (!*lanes) return (ndr_builtin){ numbers[i].dtype, 1 };
        for (size_t n = 1; n < sizeof lane_counts / sizeof lane_counts[0]; ++n)
            if (strcmp(lanes, lane_counts[n].name) == 0)
                return (ndr_builtin){ numbers[i].dtype, lane_counts[n].lanes };
    }
    return (ndr_builtin){ NDR_DTYPE_NONE, 0 };
}

size_t ndr_builtin_bytes(ndr_builtin type)
{
    const unsigned kept = type.lanes == 3 ? 4 : type.lanes; /* OpenCL pads three to four */
    return kept * ndr_dtype_size(type.dtype);
}

static bool is_opaque(const char *type_name)
{
    static const char *const names[] = {
        "image1d_t",          "image1d_array_t",   "image1d_buffer_t",        "image2d_t",
        "image2d_array_t",    "image2d_depth_t",   "image2d_array_depth_t",   "image2d_msaa_t",
        "image2d_array_msaa_t", "image2d_msaa_depth_t", "image2d_array_msaa_depth_t", "image3d_t",
        "sampler_t",          "queue_t",           "event_t",                 "clk_event_t",
        "reserve_id_t",
    };
    const char *last_word = strrchr(type_name, ' '); /* some drivers say "read_only image2d_t" */
    if (last_word) type_name = last_word + 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(type_name, names[i]) == 0) return true;
    return false;
}

/* "unsigned int" of "unsigned int*": what a pointer points to, if it is a number, an atomic one or a vector. */
static ndr_builtin pointee(const char *type_name)
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

/* A pipe is named by what goes through it, and some drivers forget to say that it is one. */
static bool is_pipe(const ndr_param *param, cl_kernel_arg_address_qualifier space,
                    cl_kernel_arg_type_qualifier qualifier)
{
    return (qualifier & CL_KERNEL_ARG_TYPE_PIPE)
           || (space == CL_KERNEL_ARG_ADDRESS_GLOBAL && ndr_builtin_named(param->type_name).lanes > 0);
}

static ndr_param_kind kind_of_pointer(cl_kernel_arg_address_qualifier space)
{
    return space == CL_KERNEL_ARG_ADDRESS_LOCAL      ? NDR_PARAM_LOCAL
           : space == CL_KERNEL_ARG_ADDRESS_CONSTANT ? NDR_PARAM_CONSTANT
                                                     : NDR_PARAM_GLOBAL;
}

static void classify(ndr_param *param, cl_kernel_arg_address_qualifier space, cl_kernel_arg_type_qualifier qualifier)
{
    if (is_opaque(param->type_name) || is_pipe(param, space, qualifier)) {
        param->kind = NDR_PARAM_OPAQUE;
        return;
    }
    const bool is_value = space == CL_KERNEL_ARG_ADDRESS_PRIVATE;
    param->type = is_value ? ndr_builtin_named(param->type_name) : pointee(param->type_name);
    param->kind = !is_value ? kind_of_pointer(space) : param->type.lanes == 1 ? NDR_PARAM_NUMBER : NDR_PARAM_BYTES;
    param->size_bytes = ndr_builtin_bytes(param->type);
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
    classify(param, space, qualifier);
    return NDR_OK;
}

/* ---- one parameter of a kernel made elsewhere ---- */

static ndr_status leave_open(ndr_param *param)
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

/* Without -cl-kernel-arg-info, from a binary or from SPIR-V, the driver need not know names and types. Of a typedef it does
 * not know the size, and there is no text for a probe. */
static ndr_status read_foreign_param(cl_kernel kernel, cl_uint index, ndr_param *param)
{
    size_t bytes = 0;
    const cl_int error = clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, 0, NULL, &bytes);
    if (error == CL_KERNEL_ARG_INFO_NOT_AVAILABLE || (error == CL_SUCCESS && bytes <= 1)) return leave_open(param);
    NDR_TRY_CL_AS("clGetKernelArgInfo", error);
    NDR_TRY(read_param(kernel, index, param));
    if (param->kind == NDR_PARAM_BYTES && param->size_bytes == 0) param->kind = NDR_PARAM_ANY;
    return NDR_OK;
}

/* ---- the launch record ---- */

/* A record in front of other parameters would be one of the caller's. */
static ndr_status check_record_is_last(const ndr_kernel *kernel)
{
    for (unsigned i = 0; i + 1 < kernel->arg_count; ++i)
        NDR_REQUIRE_AS(
            NDR_BUILD_FAILED, strcmp(kernel->params[i].name, "ndr_record_") != 0,
            "kernel \"%s\" has \"%s\" behind NDR_RANGE or NDR_ND_RANGE, which must be the last parameter: move "
            "it to the end",
            kernel->name, kernel->params[i + 1].name);
    return NDR_OK;
}

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

bool ndr_points_to_void(const char *type_name)
{
    return strcmp(type_name, "void*") == 0 || strcmp(type_name, "void *") == 0;
}

/* Only what a launch compares with: values, and elements of local memory, whose number the host chooses. */
static bool needs_probe(const ndr_param *param)
{
    if (param->size_bytes > 0) return false;
    return param->kind == NDR_PARAM_BYTES || (param->kind == NDR_PARAM_LOCAL && !ndr_points_to_void(param->type_name));
}

/* A built-in type as the number that its probe carries: 16 for each dtype, and what is added for its lanes. */
enum { CODES = 16 };

static ndr_builtin builtin_of(size_t code)
{
    const size_t n = code % CODES;
    if (code < CODES || n >= sizeof lane_counts / sizeof lane_counts[0]) return (ndr_builtin){ NDR_DTYPE_NONE, 0 };
    return (ndr_builtin){ (ndr_dtype)(code / CODES), lane_counts[n].lanes };
}

/* Each probe has a parameter: one vendor's assembler stumbles over kernels without. */
static void add_probe_macros(ndr_text *out)
{
    ndr_text_add(out, "\n#define NDR_PROBE_(what, size) kernel __attribute__((reqd_work_group_size((size) + 1, 1, 1)))"
                      " void ndr_probe_##what(global uint *x) { x[0] = 0; }\n#define NDR_CODE_(type, name, code)");
    for (unsigned n = 0; n < sizeof lane_counts / sizeof lane_counts[0]; ++n)
        ndr_text_add(out, " + ((code) + %u) * __builtin_types_compatible_p(type, name%s%s)", n, n ? "##" : "",
                     lane_counts[n].name);
    ndr_text_add(out, "\n");
}

static void add_probe(const ndr_kernel *kernel, unsigned index, ndr_text *out)
{
    const ndr_param *param = &kernel->params[index];
    const char *open = param->kind == NDR_PARAM_LOCAL ? "__typeof__(*(" : "", *close = *open ? ")0)" : "";
    const int last = kernel->context->caps.info.has_f64 ? NDR_DTYPE_F64 : NDR_DTYPE_F32;
    ndr_text_add(out, "#define NDR_TYPE_%u_ %s%s%s\n", index, open, param->type_name, close);
    ndr_text_add(out, "NDR_PROBE_(%u_low_, sizeof(NDR_TYPE_%u_) %% 256)\n", index, index);
    ndr_text_add(out, "NDR_PROBE_(%u_high_, sizeof(NDR_TYPE_%u_) / 256)\n", index, index);
    ndr_text_add(out, "NDR_PROBE_(%u_code_, 0", index);
    for (int d = NDR_DTYPE_I8; d <= last; ++d)
        ndr_text_add(out, " NDR_CODE_(NDR_TYPE_%u_, %s, %d)", index, ndr_dtype_describe((ndr_dtype)d)->cl_name,
                     CODES * d);
    ndr_text_add(out, ")\n");
}

/* The number that a probe kernel carries, and one more; 0 where the driver does not tell. */
static ndr_status read_probe(cl_program program, cl_device_id device, unsigned index, const char *what, size_t *number)
{
    char name[64];
    size_t sizes[3] = { 0, 0, 0 };
    snprintf(name, sizeof name, "ndr_probe_%u_%s_", index, what);
    cl_int error;
    cl_kernel made = clCreateKernel(program, name, &error);
    NDR_TRY_CL_AS("clCreateKernel", error);
    error = clGetKernelWorkGroupInfo(made, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof sizes, sizes, NULL);
    clReleaseKernel(made);
    NDR_TRY_CL_AS("clGetKernelWorkGroupInfo", error);
    *number = sizes[0];
    return NDR_OK;
}

static ndr_status learn(ndr_param *param, cl_program program, cl_device_id device, unsigned index)
{
    size_t low, high, code;
    NDR_TRY(read_probe(program, device, index, "low", &low));
    NDR_TRY(read_probe(program, device, index, "high", &high));
    NDR_TRY(read_probe(program, device, index, "code", &code));
    if (low == 0 || high == 0 || code == 0) return NDR_OK;
    param->size_bytes = 256 * (high - 1) + low - 1;
    param->type = builtin_of(code - 1);
    if (param->kind == NDR_PARAM_BYTES && param->type.lanes == 1) param->kind = NDR_PARAM_NUMBER;
    return NDR_OK;
}

/* Probe the parameters from `first` to before `end`. `*built` false: one of their types does not stand at the end of the
 * text as it does in the kernel. Anything else that goes wrong is not to be taken for that. */
static ndr_status probe(ndr_kernel *kernel, const ndr_program *program, const char *source, unsigned first,
                        unsigned end, bool *built)
{
    ndr_text text = { 0 };
    ndr_text_add(&text, "%s", source);
    add_probe_macros(&text);
    for (unsigned i = first; i < end; ++i)
        if (needs_probe(&kernel->params[i])) add_probe(kernel, i, &text);
    cl_program probes = NULL;
    ndr_status status = text.failed
                            ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to ask for the types of \"%s\"", kernel->name)
                            : ndr_build_try(kernel->context, text.chars, program->options, &probes);
    ndr_text_free(&text);
    *built = probes != NULL;
    for (unsigned i = first; probes && status == NDR_OK && i < end; ++i)
        if (needs_probe(&kernel->params[i])) status = learn(&kernel->params[i], probes, kernel->context->device, i);
    if (probes) clReleaseProgram(probes);
    return status;
}

/* All at once; one by one if that does not build, so that one unknown type leaves the others known. */
static ndr_status probe_types(ndr_kernel *kernel, const ndr_program *program, const char *source)
{
    const unsigned count = kernel->info.arg_count;
    unsigned wanted = 0;
    for (unsigned i = 0; i < count; ++i) wanted += needs_probe(&kernel->params[i]);
    if (wanted == 0) return NDR_OK;
    bool built;
    NDR_TRY(probe(kernel, program, source, 0, count, &built));
    for (unsigned i = 0; !built && wanted > 1 && i < count; ++i) {
        bool is_known;
        if (needs_probe(&kernel->params[i])) NDR_TRY(probe(kernel, program, source, i, i + 1, &is_known));
    }
    return NDR_OK;
}

/* ---- limits ---- */

/* As CL_DEVICE_MAX_PARAMETER_SIZE counts: all arguments, a pointer as one of the device, the hidden ones as well. */
static size_t count_argument_bytes(const ndr_kernel *kernel)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < kernel->arg_count; ++i) {
        const ndr_param *param = &kernel->params[i];
        const bool is_value = param->kind == NDR_PARAM_NUMBER || param->kind == NDR_PARAM_BYTES;
        bytes += is_value ? param->size_bytes : kernel->context->caps.info.address_bits / 8;
    }
    return bytes + (kernel->form == NDR_FORM_PLAIN ? 0 : sizeof kernel->record);
}

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
    for (cl_uint i = 0; i < count; ++i)
        NDR_TRY((program ? read_param : read_foreign_param)(kernel->cl, i, &kernel->params[i]));
    NDR_TRY(check_record_is_last(kernel));
    recognise_record(kernel);
    if (program) NDR_TRY(probe_types(kernel, program, text));
    kernel->argument_bytes = count_argument_bytes(kernel);
    return read_limits(kernel);
}
