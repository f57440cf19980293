/* folders.c - the folders in which included files are searched, by libndr or by the compiler. */
#include "program/folders.h"

#include <string.h>

enum { MAX_FILES = 10000, MAX_DEPTH = 8 };

size_t ndr_folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* ---- all folders ---- */

static void read_options(ndr_text *names, const char *options)
{
    for (const char *at = strstr(options, "-I"); at; at = strstr(at + 1, "-I")) {
        const char *name = at + 2 + strspn(at + 2, " \t");
        const size_t length = strcspn(name, " \t\"'");
        const bool is_quoted = name[length] == '"' || name[length] == '\'';
        if ((at > options && !strchr(" \t", at[-1])) || !length || is_quoted) continue;
        ndr_text_add_chars(names, name, length);
        ndr_text_add_chars(names, "", 1);
    }
}

void ndr_folders_read(ndr_folders *f, const char *const *include_dirs, const char *options)
{
    const char *none = NULL;
    read_options(&f->names, options ? options : "");
    for (const char *const *dir = include_dirs; dir && *dir; ++dir)
        ndr_text_add_chars(&f->list, (const char *)dir, sizeof *dir);
    for (size_t at = 0; !f->names.failed && at < f->names.length; at += strlen(f->names.chars + at) + 1) {
        const char *name = f->names.chars + at;
        ndr_text_add_chars(&f->list, (const char *)&name, sizeof name);
    }
    ndr_text_add_chars(&f->list, (const char *)&none, sizeof none);
    f->dirs = f->list.failed ? include_dirs : (const char *const *)(void *)f->list.chars;
}

void ndr_folders_free(ndr_folders *f)
{
    ndr_text_free(&f->names);
    ndr_text_free(&f->list);
    ndr_text_free(&f->own);
}

bool ndr_folders_failed(const ndr_folders *f) { return f->names.failed || f->list.failed || f->own.failed; }

/* ---- those for the compiler ---- */

ndr_status ndr_folders_need(ndr_folders *f, const char *path)
{
    f->are_needed = true;
    if (!path) return NDR_OK;
    const char *folder = ndr_folder_length(path) > 0 ? path : "./";
    const size_t length = ndr_folder_length(folder);
    if (!f->own.length) ndr_text_add_chars(&f->own, folder, length);
    NDR_REQUIRE(
        f->own.failed || (f->own.length == length && strncmp(f->own.chars, folder, length) == 0),
        "\"%s\" and a file in \"%s\" both spell the name of an included file with a macro; the files of one folder "
        "can: write the name itself",
        path, f->own.chars);
    return NDR_OK;
}

/* A recursive walk through a folder. */
typedef struct walk {
    const char *path;
    unsigned depth, *files;
    bool *failed;
    ndr_hash *sum;
} walk;

/* Hash the name, size and time of a file, or of the files in a folder. */
static bool add_entry(void *visitor, const char *name)
{
    const walk *w = visitor;
    ndr_file_info info;
    ndr_text file = { 0 };
    ndr_text_add(&file, "%s/%s", w->path, name);
    if (file.chars && ndr_file_get_info(file.chars, &info) == 0) {
        ++*w->files;
        walk inner = { file.chars, w->depth - 1, w->files, w->failed, w->sum };
        if (info.is_folder && w->depth > 0) ndr_folder_visit(file.chars, add_entry, &inner);
        ndr_text_add(&file, " %lld %lld %lld", (long long)info.size_bytes, (long long)info.changed_s,
                     (long long)info.changed_ns);
        const ndr_hash hash = ndr_hash_bytes(file.chars, file.length);
        w->sum->words[0] += hash.words[0];
        w->sum->words[1] += hash.words[1];
    }
    *w->failed |= file.failed;
    ndr_text_free(&file);
    return *w->files < MAX_FILES;
}

static ndr_status add_folder(const char *path, ndr_text *flags, ndr_hash *sum)
{
    unsigned files = 0;
    /* Drivers split options at blanks, and no quoting works on all of them. */
    NDR_REQUIRE(
        !strpbrk(path, " \t\n\"'\\"),
        "the compiler has to search folder \"%s\", because a macro gives the name in an #include or __has_include, but "
        "accepts no blank, quote or backslash in a folder's name: rename it, or write the file's name out",
        path);
    ndr_text_add(flags, " -I %s", path);
    ndr_folder_visit(path, add_entry, &(walk){ path, MAX_DEPTH, &files, &flags->failed, sum });
    return NDR_OK;
}

/* The hash is in the text because some drivers cache programs by text and options alone, and would miss a change of an
 * included file. */
ndr_status ndr_folders_add(const ndr_folders *f, ndr_text *flags, ndr_text *text)
{
    ndr_hash sum = { { 0, 0 } };
    if (!f->are_needed) return NDR_OK;
    if (f->own.length) NDR_TRY(add_folder(f->own.chars, flags, &sum));
    for (const char *const *dir = f->dirs; dir && *dir; ++dir) NDR_TRY(add_folder(*dir, flags, &sum));
    if (flags->length > 0)
        ndr_text_add(text, "// folders as of %016llx%016llx\n", (unsigned long long)sum.words[0],
                     (unsigned long long)sum.words[1]);
    return NDR_OK;
}
