/* source.c - finds and reads kernel sources, embedded ones and files on disk; and what is known of a source. */
#include "program/source.h"

#include "program/folders.h"
#include "program/lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FILES = 10000 };

const ndr_source_file *ndr_source_find(const char *name)
{
    for (const ndr_source_file *file = ndr_embedded_files; file->name; ++file)
        if (strcmp(file->name, name) == 0) return file;
    return NULL;
}

/* ---- reading ---- */

static const char *fix_of_path(const char *path, int reason)
{
    switch (reason) {
    case EISDIR: return "; name a file in it";
    case EACCES: return "; give this user the permission to read it, and to enter its folders";
    case EMFILE:
    case ENFILE: return "; close files, or raise the limit (ulimit -n)";
    }
    return strncmp(path, "~/", 2) == 0 ? "; only shells replace ~: write the path of the home folder" : "";
}

/* A file that exists but cannot be read; or the process lacks memory or descriptors, and a later attempt may
 * succeed. */
static ndr_status fail_to_read(const char *path, int reason)
{
    const bool is_lack = reason == ENOMEM || reason == EMFILE || reason == ENFILE;
    char folder[1024];
    const bool is_relative = *path != '/' && ndr_working_directory(folder, sizeof folder);
    return ndr_fail(is_lack ? NDR_OUT_OF_HOST_MEMORY : NDR_NOT_FOUND, "kernel file \"%s\" cannot be read: %s%s%s%s%s",
                    path, ndr_errno_print(reason).chars, fix_of_path(path, reason),
                    is_relative ? "; its path is relative to the working directory, \"" : "", is_relative ? folder : "",
                    is_relative ? "\"" : "");
}

/* Append a regular file to `out` if it exists; a folder does not count. `*missing` is 0, or the errno that says what is
 * missing. */
static ndr_status read_if_there(const char *path, ndr_text *out, ndr_file_info *info, int *missing)
{
    const size_t before = out->length;
    const int error = ndr_file_read(path, NDR_SOURCE_BYTES, out, info);
    *missing = error == ENOENT || error == ENOTDIR ? error : !error && info->is_folder ? EISDIR : 0;
    if (*missing) return NDR_OK;
    if (error) return fail_to_read(path, error);
    NDR_REQUIRE(info->is_regular, "kernel file \"%s\" is a device or a pipe; only regular files are read", path);
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, !out->failed, "no memory for kernel file \"%s\"", path);
    NDR_REQUIRE_AS(
        NDR_LIMIT_EXCEEDED, out->length - before <= NDR_SOURCE_BYTES,
        "kernel file \"%s\" has more than %d bytes, the most that libndr reads; put tables of data in buffers", path,
        NDR_SOURCE_BYTES);
    NDR_REQUIRE(
        out->length == before || strlen(out->chars + before) == out->length - before,
        "kernel file \"%s\" contains a 0 byte, so it is not source text; save it as UTF-8, and set desc->binary or "
        "spirv for a compiled program",
        path);
    return NDR_OK;
}

ndr_status ndr_source_read(const char *path, ndr_text *out)
{
    int missing;
    ndr_file_info info;
    NDR_TRY(read_if_there(path, out, &info, &missing));
    return missing ? fail_to_read(path, missing) : NDR_OK;
}

/* ---- finding ---- */

void ndr_include_free(ndr_included *file)
{
    ndr_text_free(&file->path);
    ndr_text_free(&file->text);
}

const char *ndr_include_read(const char *at, ndr_include *w)
{
    if (!at || (*at != '"' && *at != '<')) return NULL;
    w->is_quoted = *at == '"';
    const size_t length = strcspn(at + 1, w->is_quoted ? "\"" : ">");
    if (!at[1 + length] || length >= sizeof w->name) return NULL;
    memcpy(w->name, at + 1, length);
    w->name[length] = '\0';
    return at + length + 2;
}

/* Read the file at `file->path`. An existing file that cannot be read is refused: a file of that name in a later
 * folder is not the intended one. */
static ndr_status try_path(ndr_included *file)
{
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, !file->path.failed, "no memory for an include's path");
    int missing;
    NDR_TRY(read_if_there(file->path.chars, &file->text, &file->info, &missing));
    file->is_there = !missing;
    if (file->is_there) ndr_line_clean(file->text.chars);
    return NDR_OK;
}

ndr_status ndr_include_find(const ndr_source_desc *desc, const char *beside, const ndr_include *w, ndr_included *file)
{
    const bool is_ours = strncmp(w->name, "ndr/", 4) == 0 || desc->is_bundled, is_absolute = w->name[0] == '/';
    const char *const *dirs = desc->include_dirs;
    *file = (ndr_included){ .embedded = is_ours ? ndr_source_find(w->name) : NULL };
    file->is_there = file->embedded != NULL;
    if (file->is_there) return NDR_OK;
    if (is_absolute || (w->is_quoted && beside)) {
        if (!is_absolute) ndr_text_add_chars(&file->path, beside, ndr_folder_length(beside));
        ndr_text_add(&file->path, "%s", w->name);
        NDR_TRY(try_path(file));
    }
    for (size_t i = 0; !is_absolute && !file->is_there && dirs && dirs[i]; ++i) {
        ndr_text_clear(&file->path);
        ndr_text_add(&file->path, "%s/%s", dirs[i], w->name);
        NDR_TRY(try_path(file));
    }
    return NDR_OK;
}

/* ---- what is not found ---- */

/* The file of a folder whose name is nearest to the wanted one. */
typedef struct near_file {
    const char *wanted; /* without its folder */
    size_t distance, files;
    char name[256];
} near_file;

static bool note_near(void *visitor, const char *name)
{
    near_file *near = visitor;
    const size_t distance = ndr_text_distance(name, near->wanted);
    if (distance < near->distance && strlen(name) < sizeof near->name) {
        near->distance = distance;
        snprintf(near->name, sizeof near->name, "%s", name);
    }
    return ++near->files < MAX_FILES;
}

/* Add a folder that was searched to `out`, and the first near file to `near`. */
static void add_searched(const char *folder, const ndr_include *w, ndr_text *near, ndr_text *out)
{
    const size_t inner = ndr_folder_length(w->name);
    near_file found = { .wanted = w->name + inner, .distance = strlen(w->name + inner) / 3 + 1 };
    ndr_text path = { 0 };
    ndr_text_add(&path, "%s/%.*s", folder, (int)inner, w->name);
    ndr_text_add(out, "%s\"%s\"", out->length ? ", " : "", folder);
    if (!path.failed) ndr_folder_visit(path.chars, note_near, &found);
    if (*found.name && !near->length) ndr_text_add(near, "%s%s", path.failed ? "" : path.chars, found.name);
    out->failed |= path.failed;
    ndr_text_free(&path);
}

static void search_again(const ndr_source_desc *desc, const char *beside, const ndr_include *w, ndr_text *near,
                         ndr_text *folders)
{
    char own[512] = ".";
    const size_t length = beside ? ndr_folder_length(beside) : 0;
    if (length > 0) snprintf(own, sizeof own, "%.*s", (int)(length > 1 ? length - 1 : 1), beside);
    if (w->is_quoted && beside) add_searched(own, w, near, folders);
    for (const char *const *dir = desc->include_dirs; dir && *dir; ++dir) add_searched(*dir, w, near, folders);
}

void ndr_include_explain(const ndr_source_desc *desc, const char *beside, const ndr_include *w, ndr_text *out)
{
    ndr_text near = { 0 }, folders = { 0 }, line = { 0 };
    if (w->name[0] != '/') search_again(desc, beside, w, &near, &folders);
    ndr_text_add(&line, "'%s' is not ", w->name);
    if (w->name[0] == '/') ndr_text_add(&line, "there: correct the path");
    else if (near.length) ndr_text_add(&line, "in %s; there is \"%s\": correct the name", folders.chars, near.chars);
    else if (folders.length)
        ndr_text_add(&line, "in %s: correct the name, or add its folder to include_dirs", folders.chars);
    else
        ndr_text_add(&line, "searched for in any folder, because %s: set include_dirs, or -I in the options",
                     beside ? "<> leaves out the file's own" : "a text has none of its own");
    for (char *c = line.chars; c && *c; ++c)
        if (*c == '\n' || *c == '\r') *c = ' '; /* of a folder's name */
    ndr_text_add(out, "%s\n", line.chars ? line.chars : "");
    out->failed |= line.failed || near.failed || folders.failed;
    ndr_text_free(&near);
    ndr_text_free(&folders);
    ndr_text_free(&line);
}

/* ---- what is known of a source ---- */

static void add(ndr_text *text, const ndr_text *other)
{
    ndr_text_add_chars(text, other->chars ? other->chars : "", other->length);
    text->failed |= other->failed;
}

void ndr_source_add(ndr_source *source, const ndr_source *other)
{
    add(&source->text, &other->text);
    add(&source->flags, &other->flags);
    add(&source->files, &other->files);
    add(&source->absent, &other->absent);
    add(&source->paths, &other->paths);
    add(&source->saved, &other->saved);
    add(&source->code.chars, &other->code.chars);
    add(&source->code.macros, &other->code.macros);
}

void ndr_source_free(ndr_source *source)
{
    ndr_text_free(&source->text);
    ndr_text_free(&source->flags);
    ndr_text_free(&source->files);
    ndr_text_free(&source->absent);
    ndr_text_free(&source->paths);
    ndr_text_free(&source->saved);
    ndr_text_free(&source->code.chars);
    ndr_text_free(&source->code.macros);
    ndr_text_free(&source->code.places);
}

bool ndr_source_failed(const ndr_source *source)
{
    return source->text.failed || source->flags.failed || source->files.failed || source->absent.failed
           || source->paths.failed || source->saved.failed || source->code.chars.failed || source->code.macros.failed
           || source->code.places.failed;
}

bool ndr_source_includes(const ndr_source *source, const char *name)
{
    const char *files = source->files.chars;
    for (const char *at = files ? strstr(files, name) : NULL; at; at = strstr(at + 1, name))
        if (at[-1] == '\n') return true;
    return false;
}
