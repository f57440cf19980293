/* binary.c - keeps built programs on disk with what is known of their kernels: the next process compiles nothing.
 *
 * A program is written when its context ends. Some drivers add code to a binary at the first launches, and complete it
 * when it is first requested, which takes time. */
#include "device/cache.h"
#include "device/context.h"
#include "device/trace.h"
#include "program/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is known of kernels ---- */

enum { FORMAT = 2 }; /* another number for each other way to write these lines: entries of older ones are not read */

/* A line for the kernel, and one for each parameter. */
static void print_kernel(const ndr_kernel *k, ndr_text *out)
{
    const size_t *size = k->info.required_local_size;
    ndr_text_add(out, "kernel %s %u %d %zu %zu %zu\n", k->name, k->arg_count, k->is_guarded, size[0], size[1], size[2]);
    for (const ndr_param *p = k->params; p < k->params + k->arg_count; ++p)
        ndr_text_add(out, "%d %d %u %zu %d %d .%s .%s\n", (int)p->kind, (int)p->type.dtype, p->type.lanes,
                     p->size_bytes, p->is_const, (int)p->access, p->name, p->type_name);
}

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');
    return end ? end + 1 : at + strlen(at);
}

static ndr_status fail_as_damaged(const ndr_kernel *k)
{
    return ndr_fail(NDR_NOT_FOUND, "what is kept of kernel \"%s\" is damaged", k->name);
}

/* A name has no blank, and may be empty. */
static ndr_status parse_param(const ndr_kernel *k, const char *line, ndr_param *p)
{
    unsigned kind, dtype, is_const, access;
    int at = 0;
    sscanf(line, "%u %u %u %zu %u %u .%n", &kind, &dtype, &p->type.lanes, &p->size_bytes, &is_const, &access, &at);
    const char *name = line + at, *end = name + strcspn(name, " \n");
    if (at == 0 || strncmp(end, " .", 2) != 0 || kind > NDR_PARAM_ANY || dtype > NDR_DTYPE_F16 || p->type.lanes > 16
        || access > NDR_ACCESS_NONE)
        return fail_as_damaged(k);
    p->kind = (ndr_param_kind)kind;
    p->type.dtype = (ndr_dtype)dtype;
    p->is_const = is_const;
    p->access = (ndr_access)access;
    p->name = ndr_text_copy(name, (size_t)(end - name));
    p->type_name = ndr_text_copy(end + strlen(" ."), strcspn(end + strlen(" ."), "\n"));
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, p->name && p->type_name, "no memory for the parameters of \"%s\"", k->name);
    return NDR_OK;
}

static const char *find_kernel(const ndr_program *program, const char *name)
{
    const size_t length = strlen(name);
    const char *line = program->kernels.chars;
    while (*line
           && !(strncmp(line, "kernel ", 7) == 0 && strncmp(line + 7, name, length) == 0 && line[7 + length] == ' '))
        line = next_line(line);
    return *line ? line : NULL;
}

/* Fill in what is known of a kernel whose name is set. The text may be damaged. */
static ndr_status parse_kernel(const ndr_program *program, ndr_kernel *k)
{
    const char *line = find_kernel(program, k->name);
    NDR_REQUIRE_AS(NDR_NOT_FOUND, line, "\"%s\" has no kernel called \"%s\"", program->title, k->name);
    unsigned count, is_guarded;
    size_t *size = k->info.required_local_size; /* some drivers do not know it of a program from a binary */
    const int read =
        sscanf(line + 7 + strlen(k->name), "%u %u %zu %zu %zu", &count, &is_guarded, &size[0], &size[1], &size[2]);
    if (read != 5 || count > strlen(line)) return fail_as_damaged(k);
    k->is_guarded = is_guarded;
    k->params = calloc(count ? count : 1, sizeof *k->params);
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, k->params, "no memory for the parameters of \"%s\"", k->name);
    while (k->arg_count < count) {
        ndr_param *param = &k->params[k->arg_count++];
        NDR_TRY(parse_param(k, line = next_line(line), param));
    }
    return NDR_OK;
}

ndr_status ndr_binary_read_kernel(const ndr_program *program, ndr_kernel *k)
{
    NDR_TRY(parse_kernel(program, k));
    ndr_signature_complete(k);
    return ndr_signature_read_limits(k);
}

/* ---- what is written ---- */

enum { KERNELS, LOG, BINARY, PARTS };

typedef struct part {
    const char *bytes;
    size_t count;
} part;

static void add_part(ndr_text *out, const void *bytes, size_t count)
{
    const uint64_t length = count;
    ndr_text_add_chars(out, (const char *)&length, sizeof length);
    ndr_text_add_chars(out, bytes, count);
}

/* False: the lengths do not add up. The value's checksum was right, but anyone can compute one. */
static bool read_parts(const ndr_text *value, part parts[PARTS])
{
    const char *at = value->chars, *end = at + value->length;
    for (unsigned i = 0; i < PARTS; at = parts[i].bytes + parts[i].count, ++i) {
        uint64_t length = 0;
        if ((size_t)(end - at) < sizeof length) return false;
        memcpy(&length, at, sizeof length);
        at += sizeof length;
        if (length > (size_t)(end - at)) return false;
        parts[i] = (part){ at, (size_t)length };
    }
    return at == end;
}

/* Only entries of this format have the lines of kernels. */
void ndr_binary_list_kernels(const char *value, size_t value_bytes, ndr_text *names)
{
    part parts[PARTS];
    ndr_text whole = { 0 };
    ndr_text_add_chars(&whole, value, value_bytes);
    const bool is_whole = !whole.failed && whole.length > 0 && read_parts(&whole, parts) && parts[KERNELS].count > 0
                          && parts[KERNELS].bytes[parts[KERNELS].count - 1] == '\0';
    const char *line = is_whole ? parts[KERNELS].bytes : "";
    for (const char *before = "kernels "; *line; line = next_line(line)) {
        if (strncmp(line, "kernel ", 7) != 0) continue;
        ndr_text_add(names, "%s%.*s", before, (int)strcspn(line + 7, " \n"), line + 7);
        before = ", ";
    }
    ndr_text_free(&whole);
}

/* ---- finding ---- */

/* Whether the compiler reads nothing but the text: a change in another file would not be noticed. */
static bool is_whole(const ndr_source *source, const char *options)
{
    return !ndr_word_find(source->code.macros.chars, "include") && !strstr(source->text.chars, "__has_include")
           && !strstr(options, "-include") && !strstr(options, "-imacros");
}

/* Call `each` for the program's kernels, without those of libndr. */
static ndr_status visit_kernels(ndr_program *program, ndr_status (*each)(ndr_program *, const char *, ndr_text *),
                                ndr_text *out)
{
    char *names;
    ndr_status status = NDR_OK;
    NDR_TRY(ndr_build_read_names(program->cl, &names));
    for (char *rest = names, *name; status == NDR_OK && (name = ndr_build_next_name(&rest));)
        status = each(program, name, out);
    free(names);
    return status;
}

static ndr_status check_description(const ndr_program *program, const char *name)
{
    ndr_kernel known = { .name = (char *)(uintptr_t)name };
    const ndr_status status = parse_kernel(program, &known);
    ndr_kernel_free_params(&known);
    return status;
}

/* A driver may take a binary and then refuse its kernels. */
static ndr_status check_kernel(ndr_program *program, const char *name, ndr_text *unused)
{
    (void)unused;
    cl_kernel made;
    NDR_TRY(check_description(program, name));
    NDR_TRY(ndr_build_take_kernel(program, name, &made));
    ndr_cl.clReleaseKernel(made);
    return NDR_OK;
}

static ndr_status load(const ndr_context *context, const part parts[PARTS], const char *flags, ndr_program *program)
{
    const unsigned char *binary = (const unsigned char *)parts[BINARY].bytes;
    cl_int error, status = CL_SUCCESS;
    cl_program made = ndr_cl.clCreateProgramWithBinary(context->cl, 1, &context->device, &parts[BINARY].count, &binary,
                                                       &status, &error);
    NDR_TRY_CL_AS("clCreateProgramWithBinary", error);
    program->cl = made;
    NDR_TRY_CL_AS("clCreateProgramWithBinary", status);
    NDR_TRY_CL(clBuildProgram(made, 1, &context->device, flags, NULL, NULL));
    ndr_text_add_chars(&program->log, parts[LOG].bytes, parts[LOG].count);
    ndr_text_add_chars(&program->kernels, parts[KERNELS].bytes, parts[KERNELS].count);
    const bool failed = program->log.failed || program->kernels.failed;
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, !failed, "no memory for a program from disk");
    return visit_kernels(program, check_kernel, NULL);
}

/* NULL: the program is set up. Otherwise why it is not. */
static const char *find(ndr_context *context, const char *options, ndr_program *program)
{
    const ndr_text *text = &program->source.text;
    ndr_text flags = { 0 }, value = { 0 };
    if (!is_whole(&program->source, options)) return "it includes a file that only the compiler finds";
    const ndr_hash hash = ndr_hash_bytes(text->chars, text->length);
    ndr_build_add_options(&context->caps, options, &flags);
    ndr_text_add(&program->question, "program %d %016llx%016llx, %s", FORMAT, (unsigned long long)hash.words[0],
                 (unsigned long long)hash.words[1], flags.failed ? "" : flags.chars);
    const bool is_there = !flags.failed && ndr_cache_get(context, program->question.chars, &value);
    part parts[PARTS];
    const bool is_whole_entry = is_there && read_parts(&value, parts);
    const ndr_status status = is_whole_entry ? load(context, parts, flags.chars, program) : NDR_NOT_FOUND;
    ndr_text_free(&value);
    ndr_text_free(&flags);
    if (status == NDR_OK) return NULL;
    if (program->cl) ndr_cl.clReleaseProgram(program->cl);
    program->cl = NULL;
    ndr_text_free(&program->kernels);
    ndr_text_free(&program->log);
    return is_whole_entry ? ndr_last_error() : is_there ? "its entry is damaged" : "it is not there";
}

bool ndr_binary_find(const char *options, ndr_program *program)
{
    ndr_context *context = program->context;
    if (!context->disk.folder.chars) return false;
    const int64_t start_ns = ndr_clock_ns();
    const char *why = find(context, options, program);
    ndr_trace_call(context, start_ns, "build", why ? "miss" : "hit", "why", why ? why : "it is on disk");
    atomic_fetch_add(why ? &context->cache_misses : &context->cache_hits, 1);
    if (why) {
        if (!program->question.length) ndr_text_add(&program->refusal, "%s", why);
        ndr_log(NDR_LOG_INFO, "cache.miss", "\"%s\" with \"%s\": %s", program->title, options, why);
        return false;
    }
    ndr_text_free(&program->question);
    program->is_kept = true;
    ndr_log(NDR_LOG_INFO, "cache.hit", "\"%s\" in %.1f ms, for \"%s\" with \"%s\"", program->title,
            (double)(ndr_clock_ns() - start_ns) * 1e-6, context->caps.info.name, options);
    return true;
}

/* ---- keeping ---- */

static ndr_status add_kernel(ndr_program *program, const char *name, ndr_text *out)
{
    ndr_kernel *kernel;
    NDR_TRY(ndr_kernel_new(program->context, program->key, &kernel));
    const ndr_status status = ndr_program_fill_kernel(program, name, kernel);
    if (status == NDR_OK) print_kernel(kernel, out);
    ndr_kernel_free(kernel);
    return status;
}

/* The binary of a program for one device; free() it. */
static ndr_status read_binary(cl_program program, unsigned char **binary, size_t *bytes)
{
    size_t size_bytes = 0;
    NDR_TRY_CL(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, 0, NULL, &size_bytes));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, size_bytes == sizeof *bytes, "it is built for several devices");
    NDR_TRY_CL(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof *bytes, bytes, NULL));
    NDR_REQUIRE_AS(NDR_UNSUPPORTED, *bytes > 0, "the driver has no binary of it");
    unsigned char *read = malloc(*bytes);
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, read, "no memory for its binary");
    const cl_int error = ndr_cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof read, &read, NULL);
    if (error == CL_SUCCESS) *binary = read;
    else free(read);
    NDR_TRY_CL_AS("clGetProgramInfo", error);
    return NDR_OK;
}

static ndr_status add_binary(cl_program program, ndr_text *out)
{
    unsigned char *binary;
    size_t bytes;
    NDR_TRY(read_binary(program, &binary, &bytes));
    add_part(out, binary, bytes);
    free(binary);
    return NDR_OK;
}

static ndr_status add_parts(ndr_program *program, ndr_text *kernels, ndr_text *out)
{
    char *log;
    NDR_TRY(visit_kernels(program, add_kernel, kernels));
    NDR_TRY(ndr_build_get_log(program->cl, program->context->device, &log));
    add_part(out, kernels->chars, kernels->length + 1);
    add_part(out, log, strlen(log) + 1);
    free(log);
    NDR_TRY(add_binary(program->cl, out));
    return out->failed || kernels->failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to write it") : NDR_OK;
}

static bool keep(ndr_program *program)
{
    const int64_t start_ns = ndr_clock_ns();
    ndr_text kernels = { 0 }, value = { 0 };
    bool is_kept = false;
    ndr_text_add(&kernels, "%s", "");
    if (kernels.failed || add_parts(program, &kernels, &value) != NDR_OK) {
        ndr_text_add(&program->refusal, "%s", ndr_last_error());
        program->refusal_code = ndr_last_cl_error();
        ndr_log(NDR_LOG_INFO, "cache.left_out", "\"%s\": %s", program->title, ndr_last_error());
    } else if ((is_kept = ndr_cache_put(program->context, program->question.chars, value.chars, value.length)))
        ndr_log(NDR_LOG_INFO, "cache.kept", "\"%s\" with \"%s\": %zu bytes in %.1f ms", program->title,
                program->options, value.length, (double)(ndr_clock_ns() - start_ns) * 1e-6);
    ndr_text_free(&kernels);
    ndr_text_free(&value);
    return is_kept;
}

/* To make a binary takes some drivers a second, and their compilers' files: first look whether it can be written. */
bool ndr_binary_keep(ndr_program *program)
{
    if (!program->question.length || program->question.failed) return program->is_kept;
    program->is_kept = ndr_disk_can_put(&program->context->disk) && keep(program);
    ndr_text_free(&program->question);
    return program->is_kept;
}

/* ---- binaries that come back ---- */

static ndr_status compare_binaries(cl_program a, cl_program b, bool *are_same)
{
    ndr_text of_a = { 0 }, of_b = { 0 };
    ndr_status status = add_binary(a, &of_a);
    if (status == NDR_OK) status = add_binary(b, &of_b);
    if (status == NDR_UNSUPPORTED && ndr_last_cl_error() == 0) status = NDR_OK; /* the driver has none */
    *are_same = of_b.length > 0 && of_a.length == of_b.length && memcmp(of_a.chars, of_b.chars, of_a.length) == 0;
    if (of_a.failed || of_b.failed) status = ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a binary");
    ndr_text_free(&of_a);
    ndr_text_free(&of_b);
    return status;
}

static ndr_status has_kernel(const ndr_program *program, const char *name, bool *has)
{
    char *names;
    NDR_TRY(ndr_build_read_names(program->cl, &names));
    *has = ndr_word_find(names, name) != NULL;
    free(names);
    return NDR_OK;
}

/* What is known of the kernel from a program of libndr's, or NULL: the program itself, if it came from disk; if the
 * driver tells nothing, one with the same binary. */
static ndr_status find_source(const ndr_table *programs, cl_program binary, const char *name, bool is_told,
                              ndr_program **source)
{
    *source = NULL;
    for (size_t i = 0; i < programs->capacity && !*source; ++i) {
        ndr_program *program = programs->slots[i].value;
        if (!program || program->is_compiled) continue;
        bool is_it = program->cl == binary && program->kernels.chars;
        if (program->cl != binary && !is_told) NDR_TRY(has_kernel(program, name, &is_it));
        if (program->cl != binary && is_it) NDR_TRY(compare_binaries(program->cl, binary, &is_it));
        if (is_it) *source = program;
    }
    return NDR_OK;
}

/* As from disk. */
static ndr_status read_as_in(ndr_program *source, ndr_kernel *k)
{
    ndr_program described = { .title = source->title };
    k->sub_groups = source->sub_groups;
    k->sub_group_size = source->sub_group_size;
    if (source->kernels.chars) return ndr_binary_read_kernel(source, k);
    ndr_status status = add_kernel(source, k->name, &described.kernels);
    if (status == NDR_OK && described.kernels.failed)
        status = ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for the parameters of \"%s\"", k->name);
    if (status == NDR_OK) status = ndr_binary_read_kernel(&described, k);
    ndr_text_free(&described.kernels);
    return status;
}

ndr_status ndr_binary_read_foreign(cl_program binary, ndr_kernel *k)
{
    ndr_registry *registry;
    cl_uint count = 0;
    bool is_told = true;
    ndr_program *source;
    NDR_TRY(ndr_registry_get(k->context, &registry));
    NDR_TRY_CL(clGetKernelInfo(k->cl, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL));
    if (count > 0) NDR_TRY(ndr_signature_is_told(k->cl, 0, &is_told));
    NDR_TRY(find_source(&registry->programs, binary, k->name, is_told, &source));
    return source ? read_as_in(source, k) : ndr_signature_read(k);
}

/* ---- PTX ---- */

static ndr_status load_patched(const ndr_context *context, const ndr_text *value, const ndr_ptx_changes *changes,
                               const char *flags, ndr_program *program)
{
    part parts[PARTS];
    ndr_text ptx = { 0 };
    (void)read_parts(value, parts); /* it was put together just now */
    ndr_status status = ndr_ptx_patch(parts[BINARY].bytes, changes, &ptx);
    parts[BINARY] = (part){ ptx.chars, ptx.length + 1 };
    if (status == NDR_OK) status = load(context, parts, flags, program);
    ndr_text_free(&ptx);
    return status;
}

ndr_status ndr_binary_patch(const ndr_ptx_changes *changes, const char *options, ndr_program *program)
{
    ndr_context *context = program->context;
    ndr_text kernels = { 0 }, value = { 0 }, flags = { 0 };
    cl_program built = program->cl;
    ndr_build_add_options(&context->caps, options, &flags);
    ndr_text_add(&kernels, "%s", "");
    ndr_status status = flags.failed || kernels.failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for its binary")
                                                       : add_parts(program, &kernels, &value);
    if (status == NDR_OK) status = load_patched(context, &value, changes, flags.chars, program);
    if (program->cl != built) ndr_cl.clReleaseProgram(built);
    ndr_text_free(&kernels);
    ndr_text_free(&value);
    ndr_text_free(&flags);
    if (status == NDR_OK || status == NDR_OUT_OF_HOST_MEMORY) return status;
    return ndr_fail(NDR_BUILD_FAILED, "\"%s\" did not build for \"%s\" as PTX%s%s: %s", program->title,
                    context->caps.info.name, *changes->target ? " for " : " that was changed", changes->target,
                    ndr_last_error());
}

/* ---- binaries for the caller ---- */

ndr_status ndr_kernel_get_binary(const ndr_kernel *kernel, size_t capacity, void *bytes, size_t *length)
{
    NDR_REQUIRE_SET(kernel, length);
    NDR_REQUIRE(bytes || capacity == 0,
                "ndr_kernel_get_binary: bytes is NULL, but capacity is %zu; pass memory of that size, or 0", capacity);
    cl_program program;
    unsigned char *binary;
    size_t found;
    NDR_TRY_CL(clGetKernelInfo(kernel->cl, CL_KERNEL_PROGRAM, sizeof program, &program, NULL));
    const ndr_status status = read_binary(program, &binary, &found);
    if (status == NDR_UNSUPPORTED && ndr_last_cl_error() == 0)
        return ndr_fail(NDR_UNSUPPORTED, "the driver has no binary of the program of kernel \"%s\"", kernel->name);
    NDR_TRY(status);
    if (found <= capacity) memcpy(bytes, binary, found);
    *length = found;
    free(binary);
    return NDR_OK;
}
