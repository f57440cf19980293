/* source.c - kernel text: finding it among the embedded files and on disk, following its #includes.
 *
 * We follow includes ourselves rather than through clCompileProgram's headers: one string goes to every
 * driver, and its log says "kernels/ndr/group.clh:21" instead of naming a temporary file.
 *
 * A file is pasted at each of its #includes, for what stands inside an #if may be skipped there: include
 * guards do their work as ever. Only a file that is being pasted already is left out, and inside the vocabulary what it
 * has had before. */
#include "program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 32, LARGEST_BYTES = 16 << 20, VOCABULARY_FILES = 32 };

typedef struct expansion {
    ndr_text *out;
    const char *const *include_dirs;
    bool is_bundled;
    const char *open[DEEPEST]; /* the files being pasted, outermost first */
    size_t depth;
    size_t vocabulary_depth; /* how many of them are the vocabulary's */
    size_t pasted_count;     /* of the vocabulary, inside the outermost of those */
    const ndr_source_file *pasted[VOCABULARY_FILES];
} expansion;

const ndr_source_file *ndr_source_find(const char *name)
{
    for (const ndr_source_file *file = ndr_embedded_files; file->name; ++file)
        if (strcmp(file->name, name) == 0) return file;
    return NULL;
}

/* ---- reading ---- */

/* A file that is there and cannot be read; or the process is out of memory or descriptors, and a later try may work. */
static ndr_status fail_to_read(const char *path, int reason)
{
    const bool is_lack = reason == ENOMEM || reason == EMFILE || reason == ENFILE;
    char folder[1024];
    const bool is_relative = *path != '/' && getcwd(folder, sizeof folder);
    return ndr_fail(is_lack ? NDR_OUT_OF_HOST_MEMORY : NDR_NOT_FOUND, "kernel file \"%s\" cannot be read: %s%s%s%s",
                    path, ndr_errno_print(reason).chars,
                    is_relative ? "; its path is relative to the working directory, \"" : "", is_relative ? folder : "",
                    is_relative ? "\"" : "");
}

/* To the end, which a file like /proc/self/environ or one that still grows does not tell beforehand. */
static ndr_status read_to_end(int file, const char *path, ndr_text *out)
{
    const size_t before = out->length;
    for (;;) {
        char chunk[16384];
        const ssize_t got = read(file, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_to_read(path, errno);
        ndr_text_add_chars(out, chunk, (size_t)got);
        NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, !out->failed, "no memory for kernel file \"%s\"", path);
        if (got == 0) return NDR_OK;
        NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, out->length - before <= LARGEST_BYTES,
                       "kernel file \"%s\" has more than %d bytes, the most that libndr reads", path, LARGEST_BYTES);
    }
}

static ndr_status read_open(int file, const char *path, ndr_text *out)
{
    struct stat about;
    const size_t before = out->length;
    if (fstat(file, &about) != 0) return fail_to_read(path, errno);
    if (S_ISDIR(about.st_mode)) return fail_to_read(path, EISDIR);
    NDR_REQUIRE(S_ISREG(about.st_mode), "kernel file \"%s\" is a device or a pipe; only regular files are read", path);
    NDR_TRY(read_to_end(file, path, out));
    NDR_REQUIRE(strlen(out->chars + before) == out->length - before,
                "kernel file \"%s\" holds a 0 byte: it is no source text", path);
    return NDR_OK;
}

/* Append a whole file; where there is none, `*missing` is the errno that says so, and otherwise 0. */
static ndr_status read_if_there(const char *path, ndr_text *out, int *missing)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a pipe would wait for its writer */
    *missing = file < 0 && (errno == ENOENT || errno == ENOTDIR) ? errno : 0;
    if (*missing) return NDR_OK;
    if (file < 0) return fail_to_read(path, errno);
    const ndr_status status = read_open(file, path, out);
    close(file);
    return status;
}

ndr_status ndr_source_read(const char *path, ndr_text *out)
{
    int missing;
    NDR_TRY(read_if_there(path, out, &missing));
    return missing ? fail_to_read(path, missing) : NDR_OK;
}

/* ---- one line ---- */

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t') ++at;
    return at;
}

/* The name inside #include "name" or <name>, and where the line goes on; NULL for any other line. */
static const char *parse_include(const char *line, char *name, size_t capacity, bool *quoted)
{
    line = skip_blanks(line);
    if (*line != '#') return NULL;
    line = skip_blanks(line + 1);
    if (strncmp(line, "include", 7) != 0) return NULL;
    line = skip_blanks(line + 7);
    if (*line != '"' && *line != '<') return NULL;
    *quoted = *line == '"';
    const char *end = line + 1 + strcspn(line + 1, *quoted ? "\"\n" : ">\n");
    const size_t length = (size_t)(end - line - 1);
    if (*end == '\n' || *end == '\0' || length >= capacity) return NULL;
    memcpy(name, line + 1, length);
    name[length] = '\0';
    return end + 1;
}

/* Whether a block comment is open at the end of [at, end), given whether one is open at its start. */
static bool comment_stays_open(const char *at, const char *end, bool open)
{
    for (; at < end; ++at) {
        if (open) {
            if (at[0] == '*' && at[1] == '/') open = false, ++at;
        } else if (at[0] == '/' && at[1] == '*') {
            open = true, ++at;
        } else if (at[0] == '/' && at[1] == '/') {
            return false;
        } else if (*at == '"' || *at == '\'') {
            const char quote = *at++;
            while (at < end && *at != quote) at += *at == '\\' ? 2 : 1;
        }
    }
    return open;
}

static void add_line_mark(ndr_text *out, size_t line, const char *title)
{
    ndr_text_add(out, "#line %zu \"", line);
    for (const char *c = title; *c; ++c) {
        if (*c == '"' || *c == '\\') ndr_text_add_chars(out, "\\", 1);
        ndr_text_add_chars(out, *c == '\n' ? " " : c, 1);
    }
    ndr_text_add_chars(out, "\"\n", 2);
}

/* ---- following ---- */

static ndr_status paste(expansion *x, const char *title, const char *text, bool is_file);

static ndr_status paste_file(expansion *x, const char *path, const char *text)
{
    ndr_text title = { 0 };
    /* Whichever way it was found: not to be taken for a file of the vocabulary. */
    ndr_text_add(&title, "%s%s", strncmp(path, "kernels/ndr/", 12) == 0 ? "./" : "", path);
    const ndr_status status = title.failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to include \"%s\"", path)
                                           : paste(x, title.chars, text, true);
    ndr_text_free(&title);
    return status;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "a.clh" and "../here/a.clh" may be the same. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    if (strcmp(last_name(a), last_name(b)) != 0) return false;
    if (strcmp(a, b) == 0) return true;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

static bool is_open(const expansion *x, const char *title)
{
    for (size_t i = 0; i < x->depth; ++i)
        if (is_same_file(x->open[i], title)) return true;
    return false;
}

/* Where an include was found, and what it says. */
typedef struct included {
    ndr_text path, text;
    bool is_there;
} included;

/* Read the file at `file->path`. One that is there and cannot be read is refused: another of that name, in a later
 * folder, is not the one that is meant. */
static ndr_status try_path(included *file)
{
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, !file->path.failed, "no memory for an include's path");
    int missing;
    NDR_TRY(read_if_there(file->path.chars, &file->text, &missing));
    file->is_there = !missing;
    return NDR_OK;
}

static ndr_status try_beside(const char *title, const char *name, included *file)
{
    const char *slash = strrchr(title, '/');
    if (slash) ndr_text_add_chars(&file->path, title, (size_t)(slash - title) + 1);
    ndr_text_add(&file->path, "%s", name);
    return try_path(file);
}

/* What `name` means as seen from `title`: beside it if it is a file, then in the include folders. */
static ndr_status find_on_disk(const expansion *x, const char *title, bool beside, const char *name, included *file)
{
    const bool is_absolute = name[0] == '/';
    if (is_absolute || beside) NDR_TRY(try_beside(is_absolute ? "" : title, name, file));
    if (is_absolute) return NDR_OK;
    for (const char *const *dir = x->include_dirs; !file->is_there && dir && *dir; ++dir) {
        ndr_text_clear(&file->path);
        ndr_text_add(&file->path, "%s/%s", *dir, name);
        NDR_TRY(try_path(file));
    }
    return NDR_OK;
}

static ndr_status find_and_paste(expansion *x, const char *title, bool beside, const char *name, included *file)
{
    NDR_TRY(find_on_disk(x, title, beside, name, file));
    return file->is_there && !is_open(x, file->path.chars) ? paste_file(x, file->path.chars, file->text.chars) : NDR_OK;
}

/* Whether this file of the vocabulary was pasted before; if not, it is noted down. The vocabulary includes itself without
 * conditions, so that once is enough. */
static bool is_repeated(expansion *x, const ndr_source_file *file)
{
    if (x->vocabulary_depth == 0) x->pasted_count = 0; /* an #if of the user's may skip what was pasted before */
    for (size_t i = 0; i < x->pasted_count; ++i)
        if (x->pasted[i] == file) return true;
    if (x->pasted_count < VOCABULARY_FILES) x->pasted[x->pasted_count++] = file;
    return false;
}

static ndr_status paste_embedded(expansion *x, const ndr_source_file *file)
{
    char title[128];
    snprintf(title, sizeof title, "kernels/%s", file->name);
    const bool is_vocabulary = strncmp(file->name, "ndr/", 4) == 0;
    if (is_open(x, title) || (is_vocabulary && is_repeated(x, file))) return NDR_OK;
    x->vocabulary_depth += is_vocabulary;
    const ndr_status status = paste(x, title, file->text, false);
    x->vocabulary_depth -= is_vocabulary;
    return status;
}

/* Paste what `name` means here; `*found` false leaves the line to the compiler. */
static ndr_status include(expansion *x, const char *title, bool beside, const char *name, bool *found)
{
    *found = true;
    const bool is_ours = strncmp(name, "ndr/", 4) == 0 || x->is_bundled;
    const ndr_source_file *embedded = is_ours ? ndr_source_find(name) : NULL;
    if (embedded) return paste_embedded(x, embedded);
    included file = { .is_there = false };
    const ndr_status status = find_and_paste(x, title, beside, name, &file);
    *found = file.is_there;
    ndr_text_free(&file.path);
    ndr_text_free(&file.text);
    return status;
}

static ndr_status paste_lines(expansion *x, const char *title, const char *text, bool is_file)
{
    bool in_comment = false, continues = false;
    add_line_mark(x->out, 1, title);
    for (size_t line = 1; *text; ++line) {
        const char *end = text + strcspn(text, "\n");
        const char *next = *end ? end + 1 : end;
        char name[512];
        bool quoted, found = false;
        const char *rest = in_comment || continues ? NULL : parse_include(text, name, sizeof name, &quoted);
        if (rest) {
            NDR_TRY(include(x, title, quoted && is_file, name, &found));
            if (found) {
                add_line_mark(x->out, line + 1, title);
                in_comment = comment_stays_open(rest, end, false);
                if (in_comment) ndr_text_add_chars(x->out, "/* ", 3);
            }
        }
        if (!found) {
            ndr_text_add_chars(x->out, text, (size_t)(next - text));
            in_comment = comment_stays_open(text, end, in_comment);
            continues = end > text && end[-1] == '\\';
        }
        text = next;
    }
    ndr_text_add_chars(x->out, "\n", 1); /* a last line need not end in one */
    return NDR_OK;
}

static ndr_status paste(expansion *x, const char *title, const char *text, bool is_file)
{
    NDR_REQUIRE(x->depth < DEEPEST, "\"%s\" is included more than %d deep", title, DEEPEST);
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, x->out->length < LARGEST_BYTES,
                   "including \"%s\" makes the source longer than %d bytes", title, LARGEST_BYTES);
    x->open[x->depth++] = title;
    const ndr_status status = paste_lines(x, title, text, is_file);
    --x->depth;
    return status;
}

ndr_status ndr_source_expand(const ndr_source *source, ndr_text *out)
{
    expansion x = { .out = out, .include_dirs = source->include_dirs, .is_bundled = source->is_bundled };
    NDR_TRY(paste(&x, source->title, source->text, source->is_file));
    return out->failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to expand \"%s\"", source->title) : NDR_OK;
}
