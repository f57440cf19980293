/* build.c - builds programs and reports failures with the compiler's log. */
#include "device/context.h"
#include "device/drivers.h"
#include "program/explain.h"
#include "program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

#define BLANKS " \t\r\n"

/* The end of a word of options; NULL if its quote does not end. */
static const char *end_of_word(const char *c)
{
    bool is_quoted = false;
    for (; *c && (is_quoted || !strchr(BLANKS, *c)); ++c) {
        if (*c == '\\' && c[1]) ++c;
        else if (*c == '"') is_quoted = !is_quoted;
    }
    return is_quoted ? NULL : c;
}

/* A word of one character, as in "-D N", is joined with -D: the fault short_word_crashes. */
static void add_words(const char *options, ndr_text *out)
{
    bool is_open = false;
    for (const char *word = options + strspn(options, BLANKS), *end; *word; word = end + strspn(end, BLANKS)) {
        end = end_of_word(word);
        if (!end) end = word + strlen(word);
        const bool is_joined = is_open && end - word == 1;
        ndr_text_add(out, "%s%.*s", is_joined ? "" : " ", (int)(end - word), word);
        is_open = end - word == 2 && strncmp(word, "-D", 2) == 0;
    }
}

static const struct {
    unsigned bit;
    const char *name;
} disabled[] = { { NDR_DISABLE_FP64, "FP64" },
                 { NDR_DISABLE_INT64_ATOMICS, "INT64_ATOMICS" },
                 { NDR_DISABLE_SUB_GROUPS, "SUB_GROUPS" },
                 { NDR_DISABLE_FLOAT_ATOMICS, "FLOAT_ATOMICS" },
                 { NDR_DISABLE_MEMORY_ORDER, "MEMORY_ORDER" } };

void ndr_build_add_options(const ndr_caps *caps, const char *options, ndr_text *out)
{
    if (!strstr(options, "-cl-std="))
        ndr_text_add(out, "-cl-std=CL%u.%u ", caps->c_version / 100, caps->c_version / 10 % 10);
    ndr_text_add(out, "-cl-kernel-arg-info");
    for (size_t i = 0; i < NDR_COUNT_OF(disabled); ++i)
        if (caps->disabled & disabled[i].bit) ndr_text_add(out, " -DNDR_DISABLE_%s", disabled[i].name);
    if (!ndr_quirk_is_on(caps->quirks, NDR_QUIRK_ONE_VALUE_FOR_ALL))
        ndr_text_add(out, " -DNDR_QUIRK_ONE_VALUE_FOR_ALL=0");
    add_words(options, out);
}

/* ---- logs ---- */

/* The compiler's log, to be freed; "" if there is none. */
static ndr_status read_log(cl_program program, cl_device_id device, char **log)
{
    NDR_READ_TEXT(log, clGetProgramBuildInfo, program, device, CL_PROGRAM_BUILD_LOG);
    return NDR_OK;
}

/* The same with the program's own names and lines. */
static ndr_status read_placed_log(const ndr_program *program, cl_program built, char **log)
{
    ndr_text placed = { 0 };
    NDR_TRY(read_log(built, program->context->device, log));
    if (program->source.text.chars) ndr_explain_places(program->source.text.chars, *log, &placed);
    if (placed.failed || !placed.chars) {
        ndr_text_free(&placed);
        return NDR_OK;
    }
    free(*log);
    *log = placed.chars;
    return NDR_OK;
}

/* Whether an error of clBuildProgram() is about the text or its options. After other errors the same text may build
 * the next time. */
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

static void explain_folder(const char *folder, const char *variable, int error, ndr_text *out)
{
    ndr_text_add(out,
                 "the driver reports no error in the text; it may need to write to \"%s\" (from %s), where writing "
                 "fails: %s; correct that, or set %s to another folder",
                 folder, variable, ndr_errno_print(error).chars, variable);
}

/* Drivers do not tell that a folder of theirs cannot be written or is on a full disk: look. Compilers on the host write
 * to two: that for what they keep, and that for temporary files. */
static void explain_folders(ndr_text *out)
{
    ndr_text kept = { 0 };
    const char *variable, *const set = ndr_environment("TMPDIR"), *const temporary = set && *set ? set : "/tmp";
    const int error = ndr_drivers_check_folder(&kept, &variable), other = ndr_folder_check_write(temporary);
    if (error) explain_folder(kept.chars, variable, error, out);
    else if (other) explain_folder(temporary, "TMPDIR", other, out);
    ndr_text_free(&kept);
}

static ndr_status fail_by_driver(cl_int error, const char *call, const char *title, const char *device, const char *log,
                                 const char *shown, const char *hint)
{
    const ndr_status status = ndr_fail_cl(error, call);
    return ndr_fail_with_log(status, error, log, "\"%s\" was not built for \"%s\": %s%s%s%s%s", title, device,
                             ndr_last_error(), *hint ? "; " : "", hint, log ? "; the driver's log:\n" : "",
                             log ? shown : "");
}

ndr_status ndr_build_fail(const ndr_program *program, cl_program built, cl_int error, const char *call,
                          const char *options)
{
    const ndr_context *context = program->context;
    const char *title = program->title;
    char *log = NULL;
    ndr_text hint = { 0 }, shown = { 0 };
    if (read_placed_log(program, built, &log) != NDR_OK) ndr_text_add(&shown, "(no log: %s)", ndr_last_error());
    else if (!*log) ndr_text_add(&shown, "(the driver gave no log)");
    else {
        ndr_explain_log(&program->source, options, log, &hint);
        ndr_explain_shorten(log, &shown);
    }
    if (!hint.length && error == CL_INVALID_BUILD_OPTIONS)
        ndr_text_add(&hint,
                     "the driver does not know one of these options: leave it out; all drivers have -D, -I, -w and "
                     "-cl-std=CL1.2");
    else if (!hint.length && !(log && ndr_explain_has_errors(log))) explain_folders(&hint);
    const char *device = context->caps.info.name, *lines = shown.failed ? "(no memory for the log)" : shown.chars;
    const ndr_status status =
        is_about_the_text(error)
            ? ndr_fail_with_log(NDR_BUILD_FAILED, error, log, "\"%s\" did not build for \"%s\" with \"%s\":%s%s\n%s",
                                title, device, options, hint.chars ? " " : "", hint.chars ? hint.chars : "", lines)
            : fail_by_driver(error, call, title, device, log && *log ? log : NULL, lines, hint.chars ? hint.chars : "");
    ndr_text_free(&hint);
    ndr_text_free(&shown);
    free(log);
    return status;
}

/* ---- building ---- */

/* Build without an error sentence, or only compile. `*program` is set even if that failed, for its log; NULL if it
 * could not be created. */
static cl_int build(const ndr_context *context, const char *text, const char *probes, const char *flags, bool is_part,
                    cl_program *program)
{
    const char *parts[] = { text, probes };
    const cl_device_id *device = &context->device;
    cl_int error;
    *program = ndr_cl.clCreateProgramWithSource(context->cl, probes ? 2 : 1, parts, NULL, &error);
    if (error == CL_SUCCESS)
        return is_part ? ndr_cl.clCompileProgram(*program, 1, device, flags, 0, NULL, NULL, NULL, NULL)
                       : ndr_cl.clBuildProgram(*program, 1, device, flags, NULL, NULL);
    *program = NULL;
    return error;
}

/* All options for the compiler, with the user's. */
static ndr_status make_flags(const ndr_context *context, const char *options, ndr_text *flags)
{
    ndr_build_add_options(&context->caps, options, flags);
    return flags->failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for build options") : NDR_OK;
}

ndr_status ndr_build_try(ndr_context *context, const char *text, const char *options, cl_program *program)
{
    ndr_text flags = { 0 };
    cl_program made = NULL;
    cl_int error = CL_SUCCESS;
    ndr_status status = make_flags(context, options, &flags);
    if (status == NDR_OK) error = build(context, text, NULL, flags.chars, false, &made);
    ndr_text_free(&flags);
    NDR_TRY(status);
    if (!made) return ndr_fail_cl(error, "clCreateProgramWithSource");
    if (error != CL_SUCCESS) ndr_cl.clReleaseProgram(made);
    if (error != CL_SUCCESS && !is_about_the_text(error)) return ndr_fail_cl(error, "clBuildProgram");
    *program = error == CL_SUCCESS ? made : NULL;
    return NDR_OK;
}

/* Whether a text may build without its probes: not if the log has an error in the text and none in the probes. Some
 * compilers use one name for all files, but show the line. */
static bool may_build_alone(const ndr_program *program, cl_program built)
{
    char *log;
    if (read_log(built, program->context->device, &log) != NDR_OK) return true;
    const bool may =
        !ndr_explain_has_error(log, program->title) || strstr(log, NDR_PROBES_TITLE) || strstr(log, "ndr_number_");
    free(log);
    return may;
}

/* Build a text as OpenCL C 1.2 if it failed in the newest language and uses names that are reserved there. Sets
 * program->cl only if that succeeds. */
static ndr_status build_as_older(ndr_program *program, ndr_text *options)
{
    const bool is_chosen = strstr(options->chars, "-cl-std=") != NULL;
    if (program->is_part || is_chosen || program->context->caps.c_version <= 120
        || !ndr_explain_uses_later_words(&program->source.code))
        return NDR_OK;
    ndr_text_add(options, " -cl-std=CL1.2");
    ndr_probe_forget(program);
    return ndr_build_try(program->context, program->source.text.chars, options->chars, &program->cl);
}

static ndr_status build_or_explain(ndr_program *program, const char *probes, const char *flags, ndr_text *options)
{
    const char *text = program->source.text.chars, *call = program->is_part ? "clCompileProgram" : "clBuildProgram";
    cl_program made;
    cl_int error = build(program->context, text, probes, flags, program->is_part, &made);
    if (probes && made && is_about_the_text(error) && may_build_alone(program, made)) {
        ndr_cl.clReleaseProgram(made);
        ndr_probe_forget(program); /* one of them is not a type at the end of the text */
        error = build(program->context, text, NULL, flags, program->is_part, &made);
    }
    if (!made) return ndr_fail_cl(error, "clCreateProgramWithSource");
    if (error == CL_SUCCESS) {
        program->cl = made;
        return NDR_OK;
    }
    ndr_status status = is_about_the_text(error) ? build_as_older(program, options) : NDR_OK;
    if (status == NDR_OK && !program->cl) status = ndr_build_fail(program, made, error, call, flags);
    ndr_cl.clReleaseProgram(made);
    return status;
}

ndr_status ndr_build(ndr_program *program, const char *probes, ndr_text *options)
{
    ndr_text flags = { 0 };
    ndr_status status = make_flags(program->context, options->chars, &flags);
    if (status == NDR_OK) status = build_or_explain(program, probes, flags.chars, options);
    ndr_text_free(&flags);
    return status;
}

ndr_status ndr_build_link(const ndr_program *parts, size_t count, const char *options, ndr_program *program)
{
    const ndr_context *context = program->context;
    cl_int error;
    cl_program *compiled = calloc(count, sizeof(cl_program));
    if (!compiled) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to link a program");
    for (size_t i = 0; i < count; ++i) compiled[i] = parts[i].cl;
    program->cl =
        ndr_cl.clLinkProgram(context->cl, 1, &context->device, NULL, (cl_uint)count, compiled, NULL, NULL, &error);
    free(compiled);
    if (!program->cl && is_about_the_text(error))
        return ndr_fail_with_code(NDR_BUILD_FAILED, error,
                                  "\"%s\" did not link for \"%s\", and the driver gave no log; each function and "
                                  "constant that one text declares must be defined once in all of them",
                                  program->title, context->caps.info.name);
    if (!program->cl) return ndr_fail_cl(error, "clLinkProgram");
    return error == CL_SUCCESS ? NDR_OK : ndr_build_fail(program, program->cl, error, "clLinkProgram", options);
}

ndr_status ndr_build_check_options(const char *title, const char *options)
{
    bool may_be_value = false, is_open = false;
    for (const char *word = options + strspn(options, BLANKS), *end; *word; word = end + strspn(end, BLANKS)) {
        end = end_of_word(word);
        NDR_REQUIRE(end, "\"%s\": options \"%s\" have an unterminated quote: close it, or write \\\" for the character",
                    title, options);
        const char *first = word + (*word == '"');
        const bool is_option = *first == '-' && end > first + 1;
        const bool is_pair = is_option && (first[1] == 'D' || first[1] == 'I');
        const int length = (int)(end - word);
        NDR_REQUIRE(is_option || may_be_value,
                    "\"%s\": options \"%s\" have \"%.*s\" where an option begins, with -, as in -DTILE=16", title,
                    options, length, word);
        is_open = is_pair && length == 2;
        may_be_value = is_option && (!is_pair || is_open);
    }
    NDR_REQUIRE(!is_open, "\"%s\": options \"%s\" end with the start of an option: add a macro to -D, a folder to -I",
                title, options);
    return NDR_OK;
}

static ndr_status read_info(cl_program program, cl_program_info what, char **chars)
{
    NDR_READ_TEXT(chars, clGetProgramInfo, program, what);
    return NDR_OK;
}

ndr_status ndr_build_get_text(const ndr_program *program, char **text)
{
    NDR_TRY(read_info(program->cl, CL_PROGRAM_SOURCE, text));
    if (strlen(*text) > program->text_length) (*text)[program->text_length] = '\0';
    return NDR_OK;
}

/* ---- creating kernels ---- */

/* See the fault kernel_renamed. */
static const char *find_hint(const ndr_program *program, const char *names, const char *name)
{
    char renamed[80];
    const int length = snprintf(renamed, sizeof renamed, "_cl_%s", name);
    if (length < (int)sizeof renamed && strstr(names, renamed))
        return "; the driver has renamed it, because it clashes with a built-in function: choose another name";
    if (ndr_word_find(names, name))
        return "; the driver cannot make it: define each function that it calls, or add the text that does to "
               "desc->linked";
    if (ndr_code_has_function(&program->source.code, name))
        return "; its text has a function of that name: write `kernel` in front of it";
    return "";
}

/* Of a program without kernels they are not asked for: the fault no_kernel_names. */
ndr_status ndr_build_read_names(cl_program program, char **names)
{
    size_t count = 0;
    const cl_int error = ndr_cl.clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof count, &count, NULL);
    if (error != CL_SUCCESS && error != CL_INVALID_PROGRAM_EXECUTABLE) return ndr_fail_cl(error, "clGetProgramInfo");
    if (count > 0) return read_info(program, CL_PROGRAM_KERNEL_NAMES, names);
    *names = ndr_text_copy("", 0);
    return *names ? NDR_OK : ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the names of kernels");
}

char *ndr_build_next_name(char **names)
{
    while (**names) {
        char *name = *names, *end = name + strcspn(name, ";");
        *names = *end ? end + 1 : end;
        *end = 0;
        if (*name && !ndr_probe_is_kernel(name)) return name;
    }
    return NULL;
}

static ndr_status fail_with_names(const ndr_program *program, const char *names, const char *name)
{
    ndr_text list = { 0 };
    for (const char *c = names, *end; *c; c = *end ? end + 1 : end) { /* separated by semicolons */
        end = c + strcspn(c, ";");
        if (!ndr_probe_is_kernel(c)) ndr_text_add(&list, "%s%.*s", list.length ? ", " : "", (int)(end - c), c);
    }
    const char *shown = list.failed ? "others" : list.length ? list.chars : "none";
    const ndr_status status =
        ndr_fail_with_code(NDR_NOT_FOUND, CL_INVALID_KERNEL_NAME, "\"%s\" has no kernel called \"%s\"; it has %s%s",
                           program->title, name, shown, find_hint(program, names, name));
    ndr_text_free(&list);
    return status;
}

static ndr_status fail_to_find(const ndr_program *program, const char *name)
{
    char *names = NULL;
    if (ndr_build_read_names(program->cl, &names) != NDR_OK)
        return ndr_fail_with_code(NDR_NOT_FOUND, CL_INVALID_KERNEL_NAME,
                                  "\"%s\" has no kernel called \"%s\"; its kernels cannot be listed: %s",
                                  program->title, name, ndr_last_error());
    const ndr_status status = fail_with_names(program, names, name);
    free(names);
    return status;
}

ndr_status ndr_build_take_kernel(const ndr_program *program, const char *name, cl_kernel *kernel)
{
    cl_int error;
    cl_kernel made = ndr_cl.clCreateKernel(program->cl, name, &error);
    /* Some drivers give the second for a program without kernels. */
    if (error == CL_INVALID_KERNEL_NAME || error == CL_INVALID_PROGRAM_EXECUTABLE) return fail_to_find(program, name);
    NDR_TRY_CL_AS("clCreateKernel", error);
    *kernel = made;
    return NDR_OK;
}

/* ---- the log of a build that succeeded ---- */

/* Some drivers log a line for each kernel: remove those of the probes. */
static void drop_probes(char *log)
{
    for (char *line = log; *line;) {
        const size_t length = strcspn(line, "\n");
        char *next = line + length + (line[length] == '\n');
        const char *found = strstr(line, "ndr_probe_");
        if (found && found < next) memmove(line, next, strlen(next) + 1);
        else line = next;
    }
}

ndr_status ndr_build_get_log(cl_program program, cl_device_id device, char **log)
{
    NDR_TRY(read_log(program, device, log));
    drop_probes(*log);
    return NDR_OK;
}

ndr_status ndr_kernel_get_log(const ndr_kernel *kernel, size_t capacity, char *text, size_t *length)
{
    NDR_REQUIRE_SET(kernel);
    NDR_REQUIRE(text || capacity == 0,
                "ndr_kernel_get_log: text is NULL, but capacity is %zu; pass memory of that size, or 0", capacity);
    cl_program program;
    NDR_TRY_CL(clGetKernelInfo(kernel->cl, CL_KERNEL_PROGRAM, sizeof program, &program, NULL));
    char *asked = NULL;
    const char *log = kernel->program ? kernel->program->log.chars : NULL;
    if (!log) NDR_TRY(ndr_build_get_log(program, kernel->context->device, &asked));
    if (!log) log = asked;
    if (capacity) snprintf(text, capacity, "%s", log);
    if (length) *length = strlen(log);
    free(asked);
    return NDR_OK;
}
