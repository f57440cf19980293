/* program.c - makes a program of a text, of several, or of what is compiled already; and fills in its kernels. */
#include "device/context.h"
#include "device/trace.h"
#include "program/code.h"
#include "program/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char ndr_written_label[] = "expression";

static ndr_status fail_without_memory(void) { return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a program"); }

const char *ndr_program_title(const ndr_kernel_desc *desc)
{
    if (desc->file) return desc->file;
    if (desc->bundled) return desc->bundled;
    return desc->label ? desc->label : desc->spirv ? "SPIR-V" : desc->binary ? "binary" : "source";
}

static const char *options_of(const ndr_kernel_desc *desc) { return desc->options ? desc->options : ""; }

bool ndr_has_vectors(const ndr_caps *caps)
{
    /* If a register holds several items, a kernel written for one takes compilers minutes (llvmpipe). */
    return caps->info.type == NDR_DEVICE_TYPE_CPU && caps->info.native_f32_width > 1;
}

/* Free what a program has. */
static void clear(ndr_program *program)
{
    if (program->cl) ndr_cl.clReleaseProgram(program->cl);
    free(program->title);
    free(program->options);
    ndr_source_free(&program->source);
    ndr_probe_forget(program);
    ndr_text_free(&program->kernels);
    ndr_text_free(&program->log);
    ndr_text_free(&program->question);
    ndr_text_free(&program->refusal);
}

void ndr_program_free(ndr_program *program)
{
    if (!program) return;
    clear(program);
    free(program);
}

/* ---- the text ---- */

/* `own` is the text if it is that of a file. */
static ndr_status find_text(const ndr_kernel_desc *desc, ndr_source_desc *found, ndr_text *title, ndr_text *own)
{
    const ndr_source_file *file = desc->bundled ? ndr_source_find(desc->bundled) : NULL;
    *found = (ndr_source_desc){ .title = ndr_program_title(desc),
                                .text = desc->source,
                                .options = desc->options,
                                .is_file = desc->file != NULL,
                                .is_bundled = file != NULL || desc->label == ndr_written_label,
                                .include_dirs = desc->include_dirs };
    NDR_REQUIRE_AS(NDR_NOT_FOUND, file || !desc->bundled,
                   "there is no bundled kernel file \"%s\"; for a file of your own set desc->file", desc->bundled);
    if (desc->file) {
        NDR_TRY(ndr_source_read(desc->file, own));
        found->text = own->chars ? own->chars : "";
    } else if (file) {
        ndr_text_add(title, "kernels/%s", desc->bundled);
        if (title->failed) return fail_without_memory();
        found->title = title->chars;
        found->text = file->text;
    }
    return NDR_OK;
}

ndr_status ndr_program_read(const ndr_kernel_desc *desc, bool is_outline, ndr_source *source)
{
    ndr_source_desc found;
    ndr_text title = { 0 }, own = { 0 };
    ndr_status status = find_text(desc, &found, &title, &own);
    found.is_outline = is_outline;
    if (status == NDR_OK) status = ndr_source_expand(&found, source);
    ndr_text_free(&title);
    ndr_text_free(&own);
    return status;
}

/* For NDR_DUMP: what another device needs to build the same program. */
static ndr_status save(const ndr_kernel_desc *desc, ndr_source *source)
{
    ndr_source outline = { 0 };
    const ndr_status status = ndr_program_read(desc, true, &outline);
    source->saved = outline.text;
    ndr_text_add_chars(&source->saved, "", 1);
    outline.text = (ndr_text){ 0 };
    ndr_source_free(&outline);
    return status;
}

static ndr_status read_source(const ndr_context *context, const ndr_kernel_desc *desc, ndr_source *source)
{
    NDR_TRY(ndr_program_read(desc, false, source));
    return context->dumps.folder ? save(desc, source) : NDR_OK;
}

/* ---- building ---- */

/* The vocabulary needs OpenCL C 1.2. */
static ndr_status check_language(const ndr_program *program)
{
    const char *named = strstr(program->options, "-cl-std=CL1.");
    const bool is_older = named && (named[12] == '0' || named[12] == '1');
    NDR_REQUIRE(
        !is_older || !ndr_source_includes(&program->source, "ndr/"),
        "\"%s\": options have %.13s, but libndr's vocabulary (ndr/...) needs OpenCL C 1.2: write -cl-std=CL1.2, "
        "or leave it out for the newest language that the device has",
        program->title, named);
    return NDR_OK;
}

/* PTX in comments is for files of kernels/, for texts of operations around one, and for tiles of matrices. */
static ndr_ptx_changes changes_of(const ndr_kernel_desc *desc, const ndr_program *program, const ndr_text *options)
{
    const bool may_change = desc->bundled || desc->label == ndr_written_label || ndr_units_are_used(program);
    return ndr_ptx_changes_of(may_change ? options->chars : "");
}

/* `parts` NULL: the program has one text. */
static ndr_status build(const ndr_kernel_desc *desc, ndr_program *parts, size_t count, ndr_text *options,
                        ndr_program *program)
{
    if (parts) return ndr_probe_link(parts, count, options, program);
    const ndr_ptx_changes changes = changes_of(desc, program, options);
    NDR_TRY(ndr_probe_build(program, options));
    return *changes.target || changes.groups ? ndr_binary_patch(&changes, options->chars, program) : NDR_OK;
}

/* The source is complete: choose the options, and find the program on disk or build it. */
static ndr_status build_or_find(const ndr_kernel_desc *desc, ndr_program *parts, size_t count, ndr_program *program)
{
    const ndr_caps *caps = &program->context->caps;
    ndr_source *source = &program->source;
    const char *flags = source->flags.chars ? source->flags.chars : "";
    ndr_text options = { 0 };
    ndr_text_add(&options, "%s%s%s", flags, *flags ? " " : "", options_of(desc));
    program->asked_options = options.length;
    program->asked_sub_group = desc->sub_group_size;
    if (ndr_source_includes(source, "ndr/reduction.clh") && ndr_has_vectors(caps))
        ndr_text_add(&options, " -DNDR_REDUCTION_VECTORS=1");
    ndr_status status = ndr_sub_groups_choose(desc->sub_group_size, program, &options);
    if (status == NDR_OK) ndr_units_choose(program, &options);
    if (options.failed || ndr_source_failed(source)) status = fail_without_memory();
    program->options = options.chars; /* freed with the program in every case */
    if (status == NDR_OK) status = check_language(program);
    if (status == NDR_OK && !ndr_binary_find(options.chars, program))
        status = build(desc, parts, count, &options, program);
    program->options = options.chars;
    ndr_text_free(&source->text); /* the driver keeps it */
    return status;
}

static ndr_status fill_with_text(const ndr_kernel_desc *desc, ndr_program *program)
{
    NDR_TRY(read_source(program->context, desc, &program->source));
    return build_or_find(desc, NULL, 1, program);
}

/* ---- programs of several texts ---- */

/* The text or file that is linked as number `i`; 0 is the descriptor's own. */
static ndr_status fill_part(const ndr_kernel_desc *desc, size_t i, ndr_program *program, ndr_program *part)
{
    ndr_kernel_desc one = *desc;
    ndr_text title = { 0 };
    if (i > 0) *(desc->file ? &one.file : &one.source) = desc->linked[i - 1];
    ndr_text_add(&title, i > 0 && desc->source ? "%s, linked[%zu]" : "%s", ndr_program_title(&one), i - 1);
    one.label = part->title = title.chars;
    part->is_part = true;
    part->context = program->context;
    if (title.failed) return fail_without_memory();
    NDR_TRY(read_source(program->context, &one, &part->source));
    ndr_source_add(&program->source, &part->source);
    return NDR_OK;
}

/* The linked program has what is known of all texts, and their text for its key on disk. */
static ndr_status fill_with_parts(const ndr_kernel_desc *desc, ndr_program *program)
{
    size_t count = 1;
    while (desc->linked[count - 1]) ++count;
    ndr_program *parts = calloc(count, sizeof *parts);
    ndr_status status = parts ? NDR_OK : fail_without_memory();
    program->is_linked = true;
    for (size_t i = 0; i < count && status == NDR_OK; ++i) status = fill_part(desc, i, program, &parts[i]);
    if (status == NDR_OK) status = build_or_find(desc, parts, count, program);
    for (size_t i = 0; parts && i < count; ++i) clear(&parts[i]);
    free(parts);
    return status;
}

/* ---- making ---- */

static ndr_status fill(const ndr_kernel_desc *desc, ndr_program *program)
{
    NDR_TRY(ndr_build_check_options(ndr_program_title(desc), options_of(desc)));
    program->title = ndr_text_copy(ndr_program_title(desc), strlen(ndr_program_title(desc)));
    if (!program->title) return fail_without_memory();
    program->form = desc->bundled ? "bundled" : desc->spirv ? "spirv" : desc->binary ? "binary" : "source";
    if (desc->spirv && program->context->dumps.folder)
        ndr_text_add_chars(&program->source.saved, desc->spirv, desc->spirv_bytes);
    if (desc->spirv || desc->binary) return ndr_compiled_build(desc, program);
    return desc->linked && desc->linked[0] ? fill_with_parts(desc, program) : fill_with_text(desc, program);
}

ndr_status ndr_program_make(ndr_context *context, const ndr_kernel_desc *desc, ndr_hash key, ndr_program **program)
{
    ndr_registry *registry;
    NDR_TRY(ndr_registry_get(context, &registry));
    ndr_program *made = calloc(1, sizeof *made);
    if (!made) return fail_without_memory();
    made->key = key;
    made->context = context;
    const int64_t start_ns = ndr_clock_ns();
    ndr_status status = fill(desc, made);
    ndr_trace_call(context, start_ns, "build", ndr_program_title(desc), "result",
                   status != NDR_OK      ? ndr_last_error()
                   : made->kernels.chars ? "from disk"
                                         : "compiled");
    if (status == NDR_OK && !made->kernels.chars)
        ndr_log(NDR_LOG_INFO, "program.built", "\"%s\" in %.1f ms, for \"%s\" with \"%s\"", made->title,
                (double)(ndr_clock_ns() - start_ns) * 1e-6, context->caps.info.name, made->options);
    if (status == NDR_OK) status = ndr_registry_keep(registry, &registry->programs, key, made);
    if (status == NDR_OK) *program = made;
    else ndr_program_free(made);
    return status;
}

/* ---- kernels ---- */

static ndr_status read_from_text(const ndr_program *program, ndr_kernel *kernel)
{
    const ndr_code *code = &program->source.code;
    NDR_TRY(ndr_signature_read(kernel));
    if (kernel->form == NDR_FORM_REDUCTION) return ndr_guard_check_reduction(code, kernel->name);
    if (kernel->form != NDR_FORM_RANGE) return NDR_OK;
    return ndr_guard_read(code, program->options, kernel->name, &kernel->is_guarded);
}

ndr_status ndr_program_fill_kernel(ndr_program *program, const char *name, ndr_kernel *kernel)
{
    kernel->program = program;
    kernel->name = ndr_text_copy(name, strlen(name));
    if (!kernel->name) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a kernel");
    NDR_TRY(ndr_build_take_kernel(program, name, &kernel->cl));
    kernel->sub_groups = program->sub_groups;
    kernel->sub_group_size = program->sub_group_size;
    NDR_TRY(ndr_sub_groups_check(kernel));
    if (program->kernels.chars) return ndr_binary_read_kernel(program, kernel);
    if (program->is_compiled) return ndr_binary_read_foreign(program->cl, kernel);
    return read_from_text(program, kernel);
}
