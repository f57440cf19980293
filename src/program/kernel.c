/* kernel.c - from a name and a source to a kernel, built at most once. */
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is asked for ---- */

static ndr_status check(const ndr_context *context, const ndr_kernel_desc *desc, ndr_kernel *const *kernel)
{
    NDR_REQUIRE(context, "ndr_kernel_get: context is NULL");
    NDR_REQUIRE(desc, "ndr_kernel_get: desc is NULL");
    NDR_REQUIRE(kernel, "ndr_kernel_get: kernel is NULL");
    NDR_REQUIRE(desc->name && *desc->name, "ndr_kernel_get: desc->name is not set");
    const int given = (desc->source != NULL) + (desc->file != NULL) + (desc->bundled != NULL);
    NDR_REQUIRE(given == 1,
                "ndr_kernel_get: %s of desc->source, file and bundled is set for kernel \"%s\"; set just one",
                given ? "more than one" : "none", desc->name);
    return NDR_OK;
}

static const char *options_of(const ndr_kernel_desc *desc) { return desc->options ? desc->options : ""; }

static const char *title_of(const ndr_kernel_desc *desc)
{
    if (desc->file) return desc->file;
    if (desc->bundled) return desc->bundled;
    return desc->label ? desc->label : "source";
}

static void add_line(ndr_text *key, const char *line)
{
    ndr_text_add_chars(key, line, strlen(line));
    ndr_text_add_chars(key, "\n", 1);
}

/* What makes two requests the same program: all of the above, and the text where it is given. Every operation asks for
 * its kernels at every call, so nothing is printed that need not be. */
static void add_key(const ndr_kernel_desc *desc, ndr_text *key)
{
    add_line(key, desc->file ? "file" : desc->bundled ? "bundled" : "source");
    add_line(key, title_of(desc));
    add_line(key, options_of(desc));
    if (desc->sub_group_size) ndr_text_add(key, "%zu", desc->sub_group_size);
    add_line(key, "");
    for (const char *const *dir = desc->include_dirs; dir && *dir; ++dir) add_line(key, *dir);
    add_line(key, "");
    if (desc->source) add_line(key, desc->source);
}

/* ---- building ---- */

static char *copy_text(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

static ndr_status expand(const ndr_kernel_desc *desc, ndr_text *out)
{
    ndr_source source = { .title = title_of(desc), .include_dirs = desc->include_dirs };
    if (desc->source) {
        source.text = desc->source;
        return ndr_source_expand(&source, out);
    }
    if (desc->bundled) {
        const ndr_source_file *file = ndr_source_find(desc->bundled);
        NDR_REQUIRE_AS(NDR_NOT_FOUND, file, "there is no bundled kernel file \"%s\"", desc->bundled);
        ndr_text title = { 0 };
        ndr_text_add(&title, "kernels/%s", desc->bundled);
        source.title = title.chars ? title.chars : desc->bundled;
        source.text = file->text;
        source.is_bundled = true;
        const ndr_status status = ndr_source_expand(&source, out);
        ndr_text_free(&title);
        return status;
    }
    ndr_text text = { 0 };
    ndr_status status = ndr_source_read(desc->file, &text);
    source.is_file = true;
    source.text = text.chars;
    if (status == NDR_OK) status = ndr_source_expand(&source, out);
    ndr_text_free(&text);
    return status;
}

static ndr_status fill_program(ndr_context *context, const ndr_kernel_desc *desc, const char *key, ndr_program *made)
{
    ndr_text text = { 0 };
    const ndr_status status = expand(desc, &text);
    made->text = text.chars; /* freed with the program, whatever happens */
    NDR_TRY(status);
    made->key = copy_text(key);
    made->title = copy_text(title_of(desc));
    ndr_text options = { 0 };
    ndr_text_add(&options, "%s", options_of(desc));
    const ndr_status chosen = ndr_sub_groups_choose(context, desc->sub_group_size, made, &options);
    made->options = options.chars;
    NDR_TRY(chosen);
    if (options.failed || !made->key || !made->title || !made->options)
        return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a program");
    return ndr_build(context, made->title, made->text, made->options, &made->cl);
}

static ndr_status make_program(ndr_context *context, const ndr_kernel_desc *desc, const char *key,
                               ndr_program **program)
{
    ndr_program *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a program");
    const ndr_status status = fill_program(context, desc, key, made);
    if (status == NDR_OK) *program = made;
    else ndr_program_free(made);
    return status;
}

static ndr_status fill_kernel(ndr_context *context, const ndr_program *program, const char *name, ndr_kernel *made)
{
    made->context = context;
    made->name = copy_text(name);
    if (!made->name) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a kernel");
    NDR_TRY(ndr_build_take_kernel(program->cl, program->title, name, &made->cl));
    made->sub_groups = program->sub_groups;
    made->sub_group_size = program->sub_group_size;
    NDR_TRY(ndr_sub_groups_check(made, program));
    NDR_TRY(ndr_signature_read(made, program));
    made->is_guarded = made->form == NDR_FORM_RANGE && ndr_guard_is_first(program->text, program->options, name);
    return NDR_OK;
}

static ndr_status make_kernel(ndr_context *context, const ndr_program *program, const char *name, ndr_kernel **kernel)
{
    ndr_kernel *made = calloc(1, sizeof *made);
    if (!made) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a kernel");
    pthread_mutex_init(&made->lock, NULL);
    const ndr_status status = fill_kernel(context, program, name, made);
    if (status == NDR_OK) *kernel = made;
    else ndr_kernel_free(made);
    return status;
}

/* ---- getting ---- */

static ndr_kernel *find(ndr_store *store, const char *key, const char *name, ndr_program **program)
{
    *program = ndr_store_find(store, key);
    return *program ? ndr_store_find_kernel(store, *program, name) : NULL;
}

/* With the build lock held: look again, for another thread may just have built it, then build. */
static ndr_status find_or_build(ndr_context *context, const ndr_kernel_desc *desc, const char *key, ndr_kernel **kernel)
{
    ndr_program *program;
    *kernel = find(context->store, key, desc->name, &program);
    if (*kernel) return NDR_OK;
    if (!program) {
        NDR_TRY(make_program(context, desc, key, &program));
        ndr_store_keep(context->store, program);
    }
    NDR_TRY(make_kernel(context, program, desc->name, kernel));
    ndr_store_keep_kernel(context->store, program, *kernel);
    return NDR_OK;
}

static ndr_status get(ndr_context *context, const ndr_kernel_desc *desc, const char *key, ndr_kernel **kernel)
{
    ndr_program *program;
    ndr_kernel *found = find(context->store, key, desc->name, &program);
    ndr_status status = NDR_OK;
    if (!found) {
        pthread_mutex_lock(&context->store->build_lock);
        status = find_or_build(context, desc, key, &found);
        pthread_mutex_unlock(&context->store->build_lock);
    }
    if (status == NDR_OK) *kernel = found;
    return status;
}

ndr_status ndr_kernel_get(ndr_context *context, const ndr_kernel_desc *desc, ndr_kernel **kernel)
{
    NDR_TRY(check(context, desc, kernel));
    ndr_text key = { 0 };
    add_key(desc, &key);
    const ndr_status status =
        key.failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory for a key") : get(context, desc, key.chars, kernel);
    ndr_text_free(&key);
    return status;
}

ndr_status ndr_kernel_get_info(const ndr_kernel *kernel, ndr_kernel_info *info)
{
    NDR_REQUIRE_SET(kernel);
    NDR_REQUIRE_SET(info);
    *info = kernel->info;
    return NDR_OK;
}
