/* kernel.c - gets a kernel by name and source; each one is built once. */
#include "device/context.h"
#include "device/trace.h"
#include "program/program.h"

#include <stdio.h>
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

static ndr_status check_desc(const ndr_kernel_desc *desc)
{
    NDR_REQUIRE(desc, "ndr_kernel_get: desc is NULL");
    NDR_REQUIRE(desc->name && *desc->name,
                "ndr_kernel_get: desc->name is not set; set it to the kernel function's name");
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
    return NDR_OK;
}

static const char *options_of(const ndr_kernel_desc *desc) { return desc->options ? desc->options : ""; }

static const char *title_of(const ndr_kernel_desc *desc)
{
    if (desc->file) return desc->file;
    if (desc->bundled) return desc->bundled;
    return desc->label ? desc->label : desc->spirv ? "SPIR-V" : desc->binary ? "binary" : "source";
}

/* The keys of a request. */
typedef struct request_keys {
    ndr_hash program; /* identifies the program: source, options, folders, text */
    ndr_hash kernel;  /* identifies the kernel in it */
} request_keys;

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
    add_string(key, title_of(desc));
    add_string(key, options_of(desc));
    add_piece(key, &desc->sub_group_size, sizeof desc->sub_group_size);
    size_t dirs = 0;
    while (desc->include_dirs && desc->include_dirs[dirs]) ++dirs;
    add_piece(key, &dirs, sizeof dirs);
    for (size_t i = 0; i < dirs; ++i) add_string(key, desc->include_dirs[i]);
    for (size_t i = 0; desc->linked && desc->linked[i]; ++i) add_hash(key, desc->linked[i], strlen(desc->linked[i]));
    if (desc->source) add_hash(key, desc->source, strlen(desc->source));
    if (desc->spirv) add_hash(key, desc->spirv, desc->spirv_bytes);
    if (desc->binary) add_hash(key, desc->binary, desc->binary_bytes);
}

static ndr_status read_request(const ndr_kernel_desc *desc, request_keys *r)
{
    ndr_text key = { 0 };
    add_program(desc, &key);
    r->program = ndr_hash_bytes(key.chars, key.length);
    add_string(&key, desc->name);
    r->kernel = ndr_hash_bytes(key.chars, key.length);
    const bool failed = key.failed;
    ndr_text_free(&key);
    return failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to look for kernel \"%s\"", desc->name) : NDR_OK;
}

ndr_status ndr_kernel_read_key(const ndr_kernel_desc *desc, ndr_hash *program)
{
    request_keys r;
    NDR_TRY(check_desc(desc));
    NDR_TRY(read_request(desc, &r));
    *program = r.program;
    return NDR_OK;
}

/* ---- building ---- */

static char *copy_text(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

static ndr_status expand_source(const ndr_kernel_desc *desc, ndr_text *out, ndr_text *flags)
{
    ndr_source source = { .title = title_of(desc), .options = desc->options, .include_dirs = desc->include_dirs };
    if (desc->source) {
        source.text = desc->source;
        return ndr_source_expand(&source, out, flags);
    }
    if (desc->bundled) {
        const ndr_source_file *file = ndr_source_find(desc->bundled);
        NDR_REQUIRE_AS(NDR_NOT_FOUND, file,
                       "there is no bundled kernel file \"%s\"; for a file of your own set desc->file", desc->bundled);
        ndr_text title = { 0 };
        ndr_text_add(&title, "kernels/%s", desc->bundled);
        source.title = title.chars ? title.chars : desc->bundled;
        source.text = file->text;
        source.is_bundled = true;
        const ndr_status status = ndr_source_expand(&source, out, flags);
        ndr_text_free(&title);
        return status;
    }
    ndr_text text = { 0 };
    ndr_status status = ndr_source_read(desc->file, &text);
    source.is_file = true;
    source.text = text.chars;
    if (status == NDR_OK) status = ndr_source_expand(&source, out, flags);
    ndr_text_free(&text);
    return status;
}

bool ndr_has_vectors(const ndr_caps *caps)
{
    /* If a register holds several items, a kernel written for one takes compilers minutes (llvmpipe). */
    return caps->info.type == NDR_DEVICE_TYPE_CPU && caps->info.native_f32_width > 1;
}

/* `parts` NULL: the program has one text. Otherwise `text` is all of them. */
static ndr_status build_program(ndr_context *context, const ndr_kernel_desc *desc, const char *text,
                                const ndr_part *parts, size_t count, ndr_text *options, ndr_program *made)
{
    if (parts) return ndr_signature_link(context, parts, count, options, made);
    const ndr_ptx_target target = ndr_ptx_target_of(desc->bundled ? options_of(desc) : "");
    NDR_TRY(ndr_signature_build(context, text, options, made));
    return *target.name ? ndr_binary_patch(context, target.name, options->chars, made) : NDR_OK;
}

static ndr_status build_from(ndr_context *context, const ndr_kernel_desc *desc, const char *text, const char *flags,
                             const ndr_part *parts, size_t count, ndr_program *made)
{
    ndr_text options = { 0 };
    ndr_text_add(&options, "%s%s%s", flags ? flags : "", flags && *flags ? " " : "", options_of(desc));
    if (ndr_source_includes(text, "ndr/reduction.clh") && ndr_has_vectors(&context->caps))
        ndr_text_add(&options, " -DNDR_REDUCTION_VECTORS=1");
    ndr_status status = ndr_sub_groups_choose(context, desc->sub_group_size, text, made, &options);
    if (status == NDR_OK && options.failed) status = ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a program");
    if (status == NDR_OK && !ndr_binary_find(context, text, options.chars, made))
        status = build_program(context, desc, text, parts, count, &options, made);
    made->options = options.chars; /* freed with the program in every case */
    return status;
}

/* ---- programs of several texts ---- */

/* The text or file that is linked as number `i`; 0 is the descriptor's own. */
static ndr_status expand_part(const ndr_kernel_desc *desc, size_t i, ndr_part *part, ndr_text *flags)
{
    ndr_kernel_desc one = *desc;
    if (i > 0) *(desc->file ? &one.file : &one.source) = desc->linked[i - 1];
    snprintf(part->title, sizeof part->title, i > 0 && desc->source ? "%s, linked[%zu]" : "%s", title_of(&one), i - 1);
    one.label = part->title;
    return expand_source(&one, &part->text, flags);
}

/* The linked program has all texts, for what is found in them and as its key on disk. */
static ndr_status fill_linked(ndr_context *context, const ndr_kernel_desc *desc, ndr_part *parts, size_t count,
                              ndr_program *made)
{
    ndr_text flags = { 0 };
    ndr_status status = NDR_OK;
    for (size_t i = 0; i < count && status == NDR_OK; ++i) {
        status = expand_part(desc, i, &parts[i], &flags);
        ndr_text_add(&made->linked, "%s\n// the next text\n", status == NDR_OK ? parts[i].text.chars : "");
    }
    if (status == NDR_OK && made->linked.failed) status = ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a program");
    if (status == NDR_OK) status = build_from(context, desc, made->linked.chars, flags.chars, parts, count, made);
    for (size_t i = 0; i < count; ++i) ndr_text_free(&parts[i].text);
    ndr_text_free(&flags);
    return status;
}

static ndr_status fill_program_of_several(ndr_context *context, const ndr_kernel_desc *desc, ndr_program *made)
{
    size_t count = 1;
    while (desc->linked[count - 1]) ++count;
    ndr_part *parts = calloc(count, sizeof *parts);
    if (!parts) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a program");
    const ndr_status status = fill_linked(context, desc, parts, count, made);
    free(parts);
    return status;
}

static ndr_status fill_program_of_one(ndr_context *context, const ndr_kernel_desc *desc, ndr_program *made)
{
    ndr_text text = { 0 }, flags = { 0 };
    ndr_status status = expand_source(desc, &text, &flags);
    if (status == NDR_OK) status = build_from(context, desc, text.chars, flags.chars, NULL, 1, made);
    ndr_text_free(&text);
    ndr_text_free(&flags);
    return status;
}

static ndr_status fill_program(ndr_context *context, const ndr_kernel_desc *desc, ndr_program *made)
{
    NDR_TRY(ndr_build_check_options(title_of(desc), options_of(desc)));
    made->title = copy_text(title_of(desc));
    if (!made->title) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a program");
    if (is_compiled(desc)) return ndr_compiled_build(context, desc, made);
    return desc->linked && desc->linked[0] ? fill_program_of_several(context, desc, made)
                                           : fill_program_of_one(context, desc, made);
}

static ndr_status make_program(ndr_context *context, ndr_store *store, const ndr_kernel_desc *desc, ndr_hash key,
                               ndr_program **program)
{
    ndr_program *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a program");
    made->key = key;
    made->context = context;
    const int64_t start_ns = ndr_clock_ns();
    ndr_status status = fill_program(context, desc, made);
    ndr_trace_call(context, start_ns, "build", title_of(desc), "result",
                   status != NDR_OK ? ndr_last_error() : made->kernels.chars ? "from disk" : "compiled");
    if (status == NDR_OK && !made->kernels.chars)
        ndr_log(NDR_LOG_INFO, "program.built", "\"%s\" in %.1f ms, for \"%s\" with \"%s\"", made->title,
                (double)(ndr_clock_ns() - start_ns) * 1e-6, context->caps.info.name, made->options);
    if (status == NDR_OK) status = ndr_store_keep(store, made);
    if (status == NDR_OK) *program = made;
    else ndr_program_free(made);
    return status;
}

static ndr_status read_compiled(ndr_program *program, ndr_kernel *made)
{
    ndr_store *store;
    NDR_TRY(ndr_store_get(program->context, &store));
    return ndr_binary_read_foreign(store, program->cl, made);
}

static ndr_status read_from_text(ndr_program *program, const char *text, ndr_kernel *made)
{
    NDR_TRY(ndr_signature_read(made, text, program));
    if (made->form == NDR_FORM_REDUCTION) return ndr_guard_check_reduction(text, made->name);
    if (made->form != NDR_FORM_RANGE) return NDR_OK;
    return ndr_guard_read(text, program->options, made->name, &made->is_guarded);
}

ndr_status ndr_kernel_fill(ndr_program *program, const char *name, ndr_kernel *made)
{
    made->program = program;
    made->name = copy_text(name);
    if (!made->name) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a kernel");
    NDR_TRY(ndr_build_take_kernel(program->cl, program->title, name, &made->cl));
    made->sub_groups = program->sub_groups;
    made->sub_group_size = program->sub_group_size;
    NDR_TRY(ndr_sub_groups_check(made, program));
    if (program->kernels.chars) return ndr_binary_read_kernel(program, made);
    if (program->is_compiled) return read_compiled(program, made);
    if (program->linked.length) return read_from_text(program, program->linked.chars, made);
    char *text;
    NDR_TRY(ndr_build_get_text(program->cl, &text));
    if (strlen(text) > program->text_length) text[program->text_length] = '\0'; /* remove the probes */
    const ndr_status status = read_from_text(program, text, made);
    free(text);
    return status;
}

static ndr_status make_kernel(ndr_context *context, ndr_store *store, ndr_program *program, const char *name,
                              ndr_hash key, ndr_kernel **kernel)
{
    ndr_kernel *made;
    NDR_TRY(ndr_kernel_new(context, key, &made));
    ndr_status status = ndr_kernel_fill(program, name, made);
    if (status == NDR_OK) status = ndr_store_keep_kernel(store, made);
    if (status == NDR_OK) *kernel = made;
    else ndr_kernel_free(made);
    return status;
}

/* ---- getting ---- */

/* The caller holds the build lock. Look again, because another thread may have built it, then build. */
static ndr_status find_or_build(ndr_context *context, ndr_store *store, const ndr_kernel_desc *desc,
                                const request_keys *r, ndr_kernel **kernel)
{
    *kernel = ndr_store_find_kernel(store, r->kernel);
    if (*kernel) return NDR_OK;
    ndr_program *program = ndr_store_find(store, r->program);
    if (program) ndr_log(NDR_LOG_DEBUG, "program.found", "\"%s\" is built already", program->title);
    else NDR_TRY(make_program(context, store, desc, r->program, &program));
    return make_kernel(context, store, program, desc->name, r->kernel, kernel);
}

ndr_status ndr_kernel_get(ndr_context *context, const ndr_kernel_desc *desc, ndr_kernel **kernel)
{
    NDR_REQUIRE_SET(context, kernel);
    NDR_TRY(check_desc(desc));
    request_keys r;
    NDR_TRY(read_request(desc, &r));
    ndr_store *store;
    NDR_TRY(ndr_store_get(context, &store));
    ndr_kernel *found = ndr_store_find_kernel(store, r.kernel);
    ndr_status status = NDR_OK;
    if (!found) {
        ndr_mutex_lock(&store->build_lock);
        status = find_or_build(context, store, desc, &r, &found);
        ndr_mutex_unlock(&store->build_lock);
    }
    else ndr_log(NDR_LOG_DEBUG, "kernel.found", "\"%s\" is built already", found->name);
    if (status == NDR_OK) *kernel = found;
    return status;
}

ndr_status ndr_kernel_get_info(const ndr_kernel *kernel, ndr_kernel_info *info)
{
    NDR_REQUIRE_SET(kernel, info);
    *info = kernel->info;
    return NDR_OK;
}
