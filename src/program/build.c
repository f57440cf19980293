/* build.c - text in, program out; the compiler's log into the error sentence. */
#include "program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

void ndr_build_add_options(const ndr_caps *caps, const char *options, ndr_text *out)
{
    if (!strstr(options, "-cl-std="))
        ndr_text_add(out, "-cl-std=CL%u.%u ", caps->c_version / 100, caps->c_version / 10 % 10);
    ndr_text_add(out, "-cl-kernel-arg-info");
    if (caps->disabled & NDR_DISABLE_FP64) ndr_text_add(out, " -DNDR_DISABLE_FP64");
    if (caps->disabled & NDR_DISABLE_INT64_ATOMICS) ndr_text_add(out, " -DNDR_DISABLE_INT64_ATOMICS");
    if (caps->disabled & NDR_DISABLE_SUB_GROUPS) ndr_text_add(out, " -DNDR_DISABLE_SUB_GROUPS");
    if (caps->disabled & NDR_DISABLE_FLOAT_ATOMICS) ndr_text_add(out, " -DNDR_DISABLE_FLOAT_ATOMICS");
    if (caps->disabled & NDR_DISABLE_MEMORY_ORDER) ndr_text_add(out, " -DNDR_DISABLE_MEMORY_ORDER");
    if (*options) ndr_text_add(out, " %s", options);
}

/* ---- failing ---- */

/* What the driver says, or NULL and why it cannot be read. */
typedef struct build_log {
    char *chars;
    char why_not[96];
} build_log;

/* The whole log: asked for its length first, since a buffer too small gets none at all. */
static build_log read_log(cl_program program, cl_device_id device)
{
    build_log log = { NULL, "(the driver gave no log)" };
    size_t bytes = 0;
    cl_int error = clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    if (error == CL_SUCCESS) log.chars = calloc(bytes + 1, 1);
    if (log.chars) error = clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.chars, NULL);
    else if (error == CL_SUCCESS) snprintf(log.why_not, sizeof log.why_not, "(no memory for the log)");
    if (error != CL_SUCCESS)
        snprintf(log.why_not, sizeof log.why_not, "(no log: clGetProgramBuildInfo gave %s (%d))",
                 ndr_cl_error_name(error), (int)error);
    if (log.chars && (error != CL_SUCCESS || !log.chars[0])) {
        free(log.chars);
        log.chars = NULL;
    }
    return log;
}

/* What functions of the vocabulary take, by the start of their names, for logs that say no more than that a call fits
 * none of them. */
#define ANY_GROUP "a group or sub-group and "
#define SCALARS                                                                                                     \
    "scalars: char to ulong, float, and double where the device has it; half and vectors are not taken: convert half " \
    "to float, and call once for each component of a vector"
#define BOOL ANY_GROUP "one bool; any() and all() make one of a vector"
static const struct {
    const char *name, *takes;
} calls[] = {
    { "ndr_atomic_", "a pointer to int, uint, long, ulong, float or double and a scalar that fits: for an integer, "
                     "cast a float; of a vector, take one component; half is not taken" },
    { "ndr_reduce_over_group", ANY_GROUP SCALARS },
    { "ndr_inclusive_scan_over_group", ANY_GROUP SCALARS },
    { "ndr_exclusive_scan_over_group", ANY_GROUP SCALARS },
    { "ndr_group_broadcast", ANY_GROUP SCALARS },
    { "ndr_select_from_group", "a sub-group and " SCALARS },
    { "ndr_shift_group_", "a sub-group and " SCALARS },
    { "ndr_permute_group_by_xor", "a sub-group and " SCALARS },
    { "ndr_combine", SCALARS },
    { "ndr_joint_", "a group and pointers to " SCALARS },
    { "ndr_any_of_group", BOOL },
    { "ndr_all_of_group", BOOL },
    { "ndr_none_of_group", BOOL },
};

/* What the first call that fits nothing takes, and its name up to a quote; NULL where nothing is known of it. */
static const char *find_call(const char *log, const char **name)
{
    *name = strstr(log, "call to 'ndr_");
    if (!*name) return NULL;
    *name += strlen("call to '");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i)
        if (strncmp(*name, calls[i].name, strlen(calls[i].name)) == 0) return calls[i].takes;
    return NULL;
}

enum { HINT_CHARS = 400 };

/* What is said ahead of the log of the slips that are made most. */
static void write_hint(const char *text, const char *log, char hint[HINT_CHARS])
{
    const bool uses = strstr(text, "NDR_RANGE") || strstr(text, "NDR_ND_RANGE");
    const char *name = "", *takes = log ? find_call(log, &name) : NULL;
    hint[0] = '\0';
    if (uses && !strstr(text, "#line 1 \"kernels/ndr/"))
        snprintf(hint, HINT_CHARS,
                 " (NDR_RANGE and NDR_ND_RANGE come with #include \"ndr/ndr.clh\", which is missing)");
    else if (takes) snprintf(hint, HINT_CHARS, " (%.*s takes %s)", (int)strcspn(name, "'"), name, takes);
}

/* Whether an error of clBuildProgram is about the text or its options. After any other the same text may build the next
 * time. */
static bool is_about_the_text(cl_int error)
{
    switch (error) {
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_COMPILE_PROGRAM_FAILURE:
    case CL_LINK_PROGRAM_FAILURE:
    case CL_INVALID_BUILD_OPTIONS:
    case CL_INVALID_COMPILER_OPTIONS:
    case CL_INVALID_LINKER_OPTIONS: return true;
    default: return false;
    }
}

static ndr_status fail_by_driver(cl_int error, const char *title, const char *device, const char *log)
{
    const ndr_status status = ndr_fail_cl(error, "clBuildProgram");
    return ndr_fail_with_code(status, error, "\"%s\" was not built for \"%s\": %s%s%s", title, device,
                              ndr_last_error(), log ? "; the driver's log:\n" : "", log ? log : "");
}

static ndr_status fail_with_log(ndr_context *context, cl_program program, cl_int error, const char *title,
                                const char *text, const char *options)
{
    const build_log log = read_log(program, context->device);
    const char *device = context->caps.info.name;
    char hint[HINT_CHARS];
    write_hint(text, log.chars, hint);
    const ndr_status status =
        is_about_the_text(error)
            ? ndr_fail_with_code(NDR_BUILD_FAILED, error, "\"%s\" did not build for \"%s\" with \"%s\"%s:\n%s", title,
                                 device, options, hint, log.chars ? log.chars : log.why_not)
            : fail_by_driver(error, title, device, log.chars);
    free(log.chars);
    return status;
}

/* ---- building ---- */

/* Build without a word: `*program` is there even if its build failed, for the log; NULL if there is none. */
static cl_int build(ndr_context *context, const char *text, const char *flags, cl_program *program)
{
    cl_int error;
    *program = clCreateProgramWithSource(context->cl, 1, &text, NULL, &error);
    if (error != CL_SUCCESS) {
        *program = NULL;
        return error;
    }
    return clBuildProgram(*program, 1, &context->device, flags, NULL, NULL);
}

static ndr_status build_or_explain(ndr_context *context, const char *title, const char *text, const char *flags,
                                   cl_program *program)
{
    cl_program made;
    const cl_int error = build(context, text, flags, &made);
    if (!made) return ndr_fail_cl(error, "clCreateProgramWithSource");
    if (error == CL_SUCCESS) {
        *program = made;
        return NDR_OK;
    }
    const ndr_status status = fail_with_log(context, made, error, title, text, flags);
    clReleaseProgram(made);
    return status;
}

ndr_status ndr_build(ndr_context *context, const char *title, const char *text, const char *options,
                     cl_program *program)
{
    ndr_text flags = { 0 };
    ndr_build_add_options(&context->caps, options, &flags);
    const ndr_status status = flags.failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for build options")
                                           : build_or_explain(context, title, text, flags.chars, program);
    ndr_text_free(&flags);
    return status;
}

static ndr_status try_to_build(ndr_context *context, const char *text, const char *flags, cl_program *program)
{
    cl_program made;
    const cl_int error = build(context, text, flags, &made);
    if (!made) return ndr_fail_cl(error, "clCreateProgramWithSource");
    if (error != CL_SUCCESS) clReleaseProgram(made);
    if (error != CL_SUCCESS && !is_about_the_text(error)) return ndr_fail_cl(error, "clBuildProgram");
    *program = error == CL_SUCCESS ? made : NULL;
    return NDR_OK;
}

ndr_status ndr_build_try(ndr_context *context, const char *text, const char *options, cl_program *program)
{
    ndr_text flags = { 0 };
    ndr_build_add_options(&context->caps, options, &flags);
    const ndr_status status = flags.failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for build options")
                                           : try_to_build(context, text, flags.chars, program);
    ndr_text_free(&flags);
    return status;
}

ndr_status ndr_build_get_text(cl_program program, char **text)
{
    size_t bytes = 0;
    NDR_TRY_CL(clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &bytes));
    char *made = calloc(bytes + 1, 1);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a program's text");
    const cl_int error = clGetProgramInfo(program, CL_PROGRAM_SOURCE, bytes, made, NULL);
    if (error == CL_SUCCESS) *text = made;
    else free(made);
    NDR_TRY_CL_AS("clGetProgramInfo", error);
    return NDR_OK;
}

/* ---- taking kernels ---- */

/* PoCL puts _cl_ in front of a kernel that is called like a built-in function. */
static const char *hint_for_name(const char *names, const char *name)
{
    char renamed[80];
    const int length = snprintf(renamed, sizeof renamed, "_cl_%s", name);
    return length < (int)sizeof renamed && strstr(names, renamed)
               ? "; the driver has renamed it, as a built-in function is called so: call it otherwise"
               : "";
}

static ndr_status read_names(cl_program program, char **names)
{
    size_t bytes = 0;
    NDR_TRY_CL(clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &bytes));
    char *made = calloc(bytes + 1, 1);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for their names");
    const cl_int error = clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, bytes, made, NULL);
    if (error == CL_SUCCESS) *names = made;
    else free(made);
    NDR_TRY_CL_AS("clGetProgramInfo", error);
    return NDR_OK;
}

static ndr_status fail_to_find(cl_program program, const char *title, const char *name)
{
    char *names;
    if (read_names(program, &names) != NDR_OK)
        return ndr_fail_with_code(NDR_NOT_FOUND, CL_INVALID_KERNEL_NAME,
                                  "\"%s\" has no kernel called \"%s\"; those it has cannot be told: %s", title, name,
                                  ndr_last_error());
    ndr_text list = { 0 };
    for (const char *c = names; *c; ++c) { /* parted by semicolons */
        if (*c == ';') ndr_text_add_chars(&list, ", ", 2);
        else ndr_text_add_chars(&list, c, 1);
    }
    const ndr_status status =
        ndr_fail_with_code(NDR_NOT_FOUND, CL_INVALID_KERNEL_NAME, "\"%s\" has no kernel called \"%s\"; it has %s%s",
                           title, name, list.failed ? "others" : list.length ? list.chars : "none",
                           hint_for_name(names, name));
    ndr_text_free(&list);
    free(names);
    return status;
}

ndr_status ndr_build_take_kernel(cl_program program, const char *title, const char *name, cl_kernel *kernel)
{
    cl_int error;
    cl_kernel made = clCreateKernel(program, name, &error);
    if (error == CL_INVALID_KERNEL_NAME) return fail_to_find(program, title, name);
    NDR_TRY_CL_AS("clCreateKernel", error);
    *kernel = made;
    return NDR_OK;
}
