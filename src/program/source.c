/* source.c - kernel text: finding it among the embedded files and on disk, following its #includes.
 *
 * We follow includes ourselves rather than through clCompileProgram's headers: one string goes to every
 * driver, and its log says "kernels/ndr/group.clh:21" instead of naming a temporary file.
 *
 * A file is pasted at each #include that may be compiled, and left out where macros.c knows that its guard or its
 * `#pragma once` leaves nothing of it. Behind what is pasted, and behind each branch that holds some, stands a #line mark:
 * the compiler may skip the branch and with it the marks inside. */
#include "program/program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 200, LARGEST_BYTES = 16 << 20, LONGEST_NAME = 512, MOST_FILES = 10000 };

/* A file on disk that may hold `#pragma once`, or that is imported. */
typedef struct once {
    struct once *next;
    dev_t device;
    ino_t node;
    char macro[32]; /* ours, which the text defines there */
} once;

struct input;
typedef struct expansion {
    const ndr_source *source;
    ndr_text *out, *flags;
    ndr_macros *macros;
    once *onces;
    ndr_line line, ahead;
    size_t depth;
    ndr_text names;
    const struct input *input; /* the one that is being pasted */
    unsigned most_same; /* how often a file may be open at a time */
    ndr_text beside; /* the folder of a file whose #include only the compiler can tell */
    bool needs_folders;
} expansion;

/* What a log calls a line. */
typedef struct place {
    size_t line;
    size_t name; /* where its file's name stands in `names`, in quotes */
} place;

/* A file that is being pasted. */
typedef struct input {
    const struct input *outer;
    const char *title, *at;
    size_t line;      /* how many were read */
    place next;       /* of the next line, by the file or by a user's #line */
    dev_t device;
    ino_t node;
    const once *once; /* NULL for none */
    size_t next_dir;  /* behind the include folder that it was found in, or 0 */
    bool is_file;     /* its own folder is looked in first */
    place unclosed; /* an #if without an #endif */
    bool counts;      /* something in it is more than a guard that leaves nothing */
} input;

/* What stands between an #if and its #endif, or a whole file. */
typedef struct group {
    ndr_branch branch;
    size_t line;      /* of the #if, by number, and the place behind it */
    place next;
    bool is_file, leads; /* nothing stands ahead of the #if in its file */
    bool is_shifted;     /* something is pasted in it */
    bool is_closed;
    unsigned unclosed;   /* #ifs that an #elif was split into */
} group;

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

static ndr_status read_open(int file, const char *path, ndr_text *out, struct stat *about, int *missing)
{
    const size_t before = out->length;
    if (fstat(file, about) != 0) return fail_to_read(path, errno);
    *missing = S_ISDIR(about->st_mode) ? EISDIR : 0;
    if (*missing) return NDR_OK;
    NDR_REQUIRE(S_ISREG(about->st_mode), "kernel file \"%s\" is a device or a pipe; only regular files are read", path);
    NDR_TRY(read_to_end(file, path, out));
    NDR_REQUIRE(strlen(out->chars + before) == out->length - before,
                "kernel file \"%s\" holds a 0 byte: it is no source text", path);
    return NDR_OK;
}

/* Append a whole file; where there is none, `*missing` is the errno that says so, and otherwise 0. */
static ndr_status read_if_there(const char *path, ndr_text *out, struct stat *about, int *missing)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a pipe would wait for its writer */
    *missing = file < 0 && (errno == ENOENT || errno == ENOTDIR) ? errno : 0;
    if (*missing) return NDR_OK;
    if (file < 0) return fail_to_read(path, errno);
    const ndr_status status = read_open(file, path, out, about, missing);
    close(file);
    return status;
}

ndr_status ndr_source_read(const char *path, ndr_text *out)
{
    int missing;
    struct stat about;
    NDR_TRY(read_if_there(path, out, &about, &missing));
    return missing ? fail_to_read(path, missing) : NDR_OK;
}

/* ---- marks ---- */

static size_t keep_name(expansion *x, const char *quoted, size_t length)
{
    const size_t at = x->names.length;
    ndr_text_add_chars(&x->names, quoted, length);
    ndr_text_add_chars(&x->names, "", 1);
    return at;
}

static size_t quote_name(expansion *x, const char *title)
{
    const size_t at = x->names.length;
    ndr_text_add_chars(&x->names, "\"", 1);
    for (const char *c = title; *c; ++c) {
        if (*c == '"' || *c == '\\') ndr_text_add_chars(&x->names, "\\", 1);
        ndr_text_add_chars(&x->names, *c == '\n' ? " " : c, 1);
    }
    keep_name(x, "\"", 1);
    return at;
}

static void add_newlines(ndr_text *out, size_t count)
{
    while (count-- > 0) ndr_text_add_chars(out, "\n", 1);
}

static void start_line(ndr_text *out)
{
    if (out->length && out->chars[out->length - 1] != '\n') add_newlines(out, 1);
}

static void add_mark(expansion *x, place next)
{
    start_line(x->out);
    if (!x->names.failed) ndr_text_add(x->out, "#line %zu %s\n", next.line, x->names.chars + next.name);
}

/* `#line 5`, `#line 5 "name"`, `# 5 "name" 1`: what counts from here on. */
static void follow_mark(expansion *x, input *f, const char *rest)
{
    char *end;
    const size_t line = strtoul(rest, &end, 10);
    const char *open = strchr(end, '"'), *close = open ? strrchr(open, '"') : NULL;
    if (end == rest) return;
    f->next.line = line;
    if (open != close) f->next.name = keep_name(x, open, (size_t)(close - open) + 1);
}

/* ---- finding ---- */

/* What an #include or a __has_include asks for. */
typedef struct wanted {
    char name[LONGEST_NAME];
    bool is_quoted, is_next, is_import;
} wanted;

/* Where it was found, and what it says. */
typedef struct included {
    ndr_text path, text;
    struct stat about;
    size_t next_dir;
    bool is_there;
} included;

/* Behind "name" or <name>; NULL where `at` starts no name. */
static const char *read_name(const char *at, wanted *w)
{
    if (!at || (*at != '"' && *at != '<')) return NULL;
    w->is_quoted = *at == '"';
    const size_t length = strcspn(at + 1, w->is_quoted ? "\"" : ">");
    if (!at[1 + length] || length >= sizeof w->name) return NULL;
    memcpy(w->name, at + 1, length);
    w->name[length] = '\0';
    return at + length + 2;
}

/* Read the file at `found->path`. One that is there and cannot be read is refused: another of that name, in a later
 * folder, is not the one that is meant. A folder is passed over, as compilers do. */
static ndr_status try_path(included *found)
{
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, !found->path.failed, "no memory for an include's path");
    int missing;
    NDR_TRY(read_if_there(found->path.chars, &found->text, &found->about, &missing));
    found->is_there = !missing;
    return NDR_OK;
}

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Beside `f` if it is a file, then in the include folders; `#include_next` begins behind its own. */
static ndr_status find_on_disk(const expansion *x, const input *f, const wanted *w, included *found)
{
    const bool is_absolute = w->name[0] == '/';
    if (is_absolute || (w->is_quoted && f->is_file && !w->is_next)) {
        found->next_dir = f->next_dir;
        if (!is_absolute) ndr_text_add_chars(&found->path, f->title, folder_length(f->title));
        ndr_text_add(&found->path, "%s", w->name);
        NDR_TRY(try_path(found));
    }
    const char *const *dirs = x->source->include_dirs;
    for (size_t i = w->is_next ? f->next_dir : 0; !is_absolute && !found->is_there && dirs && dirs[i]; ++i) {
        ndr_text_clear(&found->path);
        ndr_text_add(&found->path, "%s/%s", dirs[i], w->name);
        found->next_dir = i + 1;
        NDR_TRY(try_path(found));
    }
    return NDR_OK;
}

static const ndr_source_file *find_embedded(const expansion *x, const char *name)
{
    return strncmp(name, "ndr/", 4) == 0 || x->source->is_bundled ? ndr_source_find(name) : NULL;
}

static void free_included(included *found)
{
    ndr_text_free(&found->path);
    ndr_text_free(&found->text);
}

/* Whether the file is there for us to paste. */
static ndr_status look_for(const expansion *x, const input *f, const wanted *w, bool *is_there)
{
    included found = { .is_there = find_embedded(x, w->name) != NULL };
    const ndr_status status = found.is_there ? NDR_OK : find_on_disk(x, f, w, &found);
    *is_there = found.is_there;
    free_included(&found);
    return status;
}

/* ---- what the compiler has to find ---- */

/* The compiler needs the folders, for a form whose file we cannot tell. */
static ndr_status leave(expansion *x, const input *f)
{
    const char *folder = f->is_file ? f->title : "";
    const size_t length = folder_length(folder);
    x->needs_folders = true;
    if (!f->is_file) return NDR_OK;
    if (!x->beside.length) ndr_text_add(&x->beside, "%.*s", (int)length, length ? folder : "./");
    NDR_REQUIRE(x->beside.failed || strncmp(x->beside.chars, length ? folder : "./", x->beside.length) == 0,
                "\"%s\" and a file in \"%s\" both spell a file's name with a macro; only the files of one folder can: "
                "write the name itself",
                f->title, x->beside.chars);
    return NDR_OK;
}

/* ---- following ---- */

static ndr_status paste_line(expansion *x, input *f, group *in);

/* To the end of the file, or to the #endif of `in`. */
static ndr_status paste_lines(expansion *x, input *f, group *in)
{
    while (*f->at && !in->is_closed) NDR_TRY(paste_line(x, f, in));
    return NDR_OK;
}

/* The line that was read, from `start` on, as it is. */
static void copy_line(expansion *x, const input *f, const char *start)
{
    ndr_text_add_chars(x->out, start, (size_t)(f->at - start));
}

static void define_once(expansion *x, const input *f)
{
    ndr_text_add(x->out, "#define %s\n", f->once->macro);
    ndr_macros_define(x->macros, f->once->macro);
}

/* Paste the text of `f`; `*pasted` false: it has come to nothing. */
static ndr_status paste(expansion *x, input *f, const char *text, bool *pasted)
{
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, x->out->length < LARGEST_BYTES,
                   "including \"%s\" makes the source longer than %d bytes", f->title, LARGEST_BYTES);
    const size_t before = x->out->length;
    group whole = { .is_file = true };
    f->at = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text; /* a byte-order mark */
    f->next = (place){ 1, quote_name(x, f->title) };
    f->outer = x->input;
    x->input = f;
    add_mark(x, f->next);
    ++x->depth;
    const ndr_status status = paste_lines(x, f, &whole);
    --x->depth;
    x->input = f->outer;
    add_newlines(x->out, x->out->length && x->out->chars[x->out->length - 1] == '\\' ? 2 : 1); /* its last may lack one */
    if (f->unclosed.line) {
        add_mark(x, f->unclosed);
        ndr_text_add(x->out, "#error unterminated conditional directive\n");
    }
    *pasted = f->counts;
    if (!f->counts && x->depth > 0) x->out->length = before;
    return status;
}

/* The same, unless its `#pragma once` leaves nothing; where only the compiler knows, it is told. */
static ndr_status paste_once(expansion *x, input *f, const char *text, bool is_import, bool *pasted)
{
    char condition[64];
    ndr_branch branch;
    const ndr_truth had = f->once ? ndr_macros_is_defined(x->macros, f->once->macro) : NDR_NO;
    *pasted = false;
    if (had == NDR_YES) return NDR_OK;
    if (had == NDR_OPEN) {
        snprintf(condition, sizeof condition, "ifndef %s", f->once->macro);
        ndr_branch_open(x->macros, &branch, condition, false);
        ndr_text_add(x->out, "#%s\n", condition);
    }
    if (is_import) define_once(x, f);
    NDR_TRY(paste(x, f, text, pasted));
    if (had == NDR_NO) return NDR_OK;
    ndr_branch_close(x->macros, &branch, false);
    ndr_text_add(x->out, "#endif\n");
    *pasted = true;
    return NDR_OK;
}

static ndr_status find_once(expansion *x, const struct stat *about, const char *text, bool is_import, const once **found)
{
    once *o = x->onces;
    unsigned count = 0;
    for (; o && (o->device != about->st_dev || o->node != about->st_ino); o = o->next) ++count;
    *found = o;
    if (o || !(is_import || strstr(text, "once"))) return NDR_OK;
    o = calloc(1, sizeof *o);
    if (!o) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to note an included file");
    *o = (once){ .next = x->onces, .device = about->st_dev, .node = about->st_ino };
    snprintf(o->macro, sizeof o->macro, "NDR_ONCE_%u_", count);
    ndr_macros_add_own(x->macros, o->macro);
    *found = x->onces = o;
    return NDR_OK;
}

static ndr_status paste_embedded(expansion *x, const ndr_source_file *embedded, bool *pasted)
{
    char title[128];
    snprintf(title, sizeof title, "kernels/%s", embedded->name);
    input f = { .title = title };
    return paste(x, &f, embedded->text, pasted);
}

/* Compilers end with an error where files include each other too deep; so does the text, should it get there. */
static bool is_too_deep(const expansion *x, const input *f)
{
    unsigned same = 0;
    for (const input *open = x->input; open; open = open->outer)
        same += open->node == f->node && open->device == f->device;
    return x->depth == DEEPEST || same >= x->most_same;
}

static ndr_status paste_found(expansion *x, const included *found, bool is_import, bool *pasted)
{
    ndr_text title = { 0 };
    /* Whichever way it was found: not to be taken for a file of the vocabulary. */
    const bool seems_ours = strncmp(found->path.chars, "kernels/ndr/", 12) == 0;
    ndr_text_add(&title, "%s%s", seems_ours ? "./" : "", found->path.chars);
    input f = { .title = title.chars, .next_dir = found->next_dir, .is_file = true,
                .device = found->about.st_dev, .node = found->about.st_ino };
    ndr_status status = title.failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to include \"%s\"", found->path.chars)
                                     : find_once(x, &found->about, found->text.chars, is_import, &f.once);
    const bool is_deep = status == NDR_OK && is_too_deep(x, &f);
    if (is_deep) status = paste(x, &f, "#error this file is included too deep, or by itself too often\n", pasted);
    else if (status == NDR_OK) status = paste_once(x, &f, found->text.chars, is_import, pasted);
    ndr_text_free(&title);
    return status;
}

/* Paste what `w` means here; `*is_there` false leaves the line to the compiler. */
static ndr_status include(expansion *x, const input *f, const wanted *w, bool *is_there, bool *pasted)
{
    const ndr_source_file *embedded = find_embedded(x, w->name);
    *is_there = embedded != NULL;
    if (embedded) return paste_embedded(x, embedded, pasted);
    included found = { .is_there = false };
    ndr_status status = find_on_disk(x, f, w, &found);
    *is_there = found.is_there;
    if (status == NDR_OK && found.is_there) status = paste_found(x, &found, w->is_import, pasted);
    free_included(&found);
    return status;
}

/* ---- lines ---- */

/* An #include, whose name is spelled out or a macro's only body. */
static ndr_status paste_include(expansion *x, input *f, group *in, const char *start, const char *rest, wanted *w)
{
    bool is_there = false, pasted = false;
    const size_t newlines = x->line.newlines;
    const bool is_spelled = *rest == '"' || *rest == '<';
    const bool is_named = read_name(is_spelled ? rest : ndr_macros_get_body(x->macros, rest), w);
    if (is_named) NDR_TRY(include(x, f, w, &is_there, &pasted));
    if (!is_there) {
        ndr_macros_forget(x->macros);
        copy_line(x, f, start);
        f->counts = true;
        return is_spelled ? NDR_OK : leave(x, f);
    }
    if (pasted) add_mark(x, f->next);
    else add_newlines(x->out, newlines);
    f->counts |= pasted;
    in->is_shifted |= pasted;
    return NDR_OK;
}

/* A condition, with what we can answer of each __has_include. */
static ndr_status add_condition(expansion *x, const input *f, const char *at)
{
    ndr_text_add_chars(x->out, "#", 1);
    for (const char *word = strstr(at, "__has_include"); word; word = strstr(at, "__has_include")) {
        const char *behind = word + strlen("__has_include");
        wanted w = { .is_next = strncmp(behind, "_next", 5) == 0 };
        const char *open = behind + (w.is_next ? 5 : 0);
        open += strspn(open, " ");
        const char *close = *open == '(' ? read_name(open + 1 + strspn(open + 1, " "), &w) : NULL;
        if (close) close += strspn(close, " ");
        bool is_there = false;
        if (close && *close == ')') NDR_TRY(look_for(x, f, &w, &is_there));
        else if (*open == '(') NDR_TRY(leave(x, f));
        ndr_text_add_chars(x->out, at, (size_t)((is_there ? word : behind) - at));
        if (is_there) ndr_text_add_chars(x->out, "1", 1);
        at = is_there ? close + 1 : behind;
    }
    ndr_text_add(x->out, "%s", at);
    add_newlines(x->out, x->line.newlines > 1 ? x->line.newlines : 1);
    return NDR_OK;
}

static ndr_status copy_condition(expansion *x, const input *f, const char *start, bool is_skipped)
{
    const char *text = ndr_line_is(&x->line, "");
    if (!is_skipped && strstr(text, "__has_include")) return add_condition(x, f, text);
    copy_line(x, f, start);
    return NDR_OK;
}

static ndr_status add_stray(expansion *x, input *f, const char *what)
{
    ndr_text_add(x->out, "#error %s without #if\n", what);
    add_newlines(x->out, x->line.newlines > 0 ? x->line.newlines - 1 : 0);
    f->counts = true;
    return NDR_OK;
}

/* From an #if to its #endif. */
static ndr_status paste_group(expansion *x, input *f, group *outer, const char *start)
{
    const size_t newlines = x->line.newlines;
    const bool is_skipped = outer->branch.is_skipped;
    group in = { .line = f->line, .next = f->next, .leads = outer->is_file && !f->counts && x->depth > 1 };
    ndr_branch_open(x->macros, &in.branch, ndr_line_is(&x->line, ""), is_skipped);
    f->counts |= !in.branch.is_skipped;
    NDR_TRY(copy_condition(x, f, start, is_skipped));
    NDR_TRY(paste_lines(x, f, &in));
    outer->is_shifted |= in.is_shifted;
    if (in.is_closed) return NDR_OK;
    ndr_branch_close(x->macros, &in.branch, false);
    f->counts = true;
    f->unclosed = (place){ in.next.line - newlines, in.next.name };
    for (unsigned i = 0; i <= in.unclosed; ++i) ndr_text_add(x->out, "\n#endif\n");
    return NDR_OK;
}

/* At the end of a branch: what a #line in it said holds no longer, unless the branch is sure to be compiled. */
static void leave_branch(input *f, const group *in)
{
    if (!in->branch.is_sure) f->next = (place){ in->next.line + f->line - in->line, in->next.name };
}

/* Lines in a branch that is skipped count too: what is pasted there would shift those behind it. */
static ndr_status paste_else(expansion *x, input *f, group *in, const char *start)
{
    const char *word = ndr_line_is(&x->line, ""), *condition = strncmp(word, "elif", 4) == 0 ? word + 2 : NULL;
    if (in->is_file) return add_stray(x, f, condition ? "#elif" : "#else");
    leave_branch(f, in);
    if (condition && in->is_shifted) {
        ndr_text_add(x->out, "#else\n");
        add_mark(x, (place){ f->next.line - x->line.newlines, f->next.name });
        NDR_TRY(add_condition(x, f, condition));
        ++in->unclosed;
    } else {
        NDR_TRY(copy_condition(x, f, start, in->branch.outer_is_skipped || in->branch.is_decided));
        if (in->is_shifted) add_mark(x, f->next);
    }
    ndr_branch_next(x->macros, &in->branch, condition);
    return NDR_OK;
}

static ndr_status is_blank_ahead(expansion *x, const input *f, bool *is_blank)
{
    *is_blank = true;
    for (const char *at = f->at; *at && *is_blank; at = x->ahead.next) {
        ndr_line_read(at, &x->ahead);
        NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, !x->ahead.directive.failed, "no memory to read \"%s\"", f->title);
        *is_blank = !x->ahead.is_code && !x->ahead.directive.length;
    }
    return NDR_OK;
}

static ndr_status paste_endif(expansion *x, input *f, group *in, const char *start)
{
    bool is_last = false;
    if (in->is_file) return add_stray(x, f, "#endif");
    leave_branch(f, in);
    if (in->leads || in->is_shifted) NDR_TRY(is_blank_ahead(x, f, &is_last));
    start_line(x->out);
    if (ndr_branch_close(x->macros, &in->branch, in->leads && is_last))
        ndr_text_add(x->out, "#else\n#error the macro that guards this file is defined elsewhere, too: rename it\n");
    copy_line(x, f, start);
    for (unsigned i = 0; i < in->unclosed; ++i) {
        start_line(x->out);
        ndr_text_add(x->out, "#endif\n");
    }
    if (in->is_shifted && !is_last) add_mark(x, f->next);
    in->is_closed = true;
    return NDR_OK;
}

static const struct {
    const char *word;
    bool is_next, is_import;
} includes[] = { { .word = "include" }, { .word = "include_next", .is_next = true }, { .word = "import", .is_import = true } };

/* What stands behind the word of an #include of any kind, or NULL. */
static const char *read_include(const ndr_line *line, wanted *w)
{
    for (size_t i = 0; i < sizeof includes / sizeof includes[0]; ++i) {
        const char *rest = ndr_line_is(line, includes[i].word);
        w->is_next = includes[i].is_next;
        w->is_import = includes[i].is_import;
        if (rest) return rest;
    }
    return NULL;
}

/* What a line that may be compiled tells of those behind it; true where the text needs it no more. */
static bool learn_from(expansion *x, input *f)
{
    const ndr_line *line = &x->line;
    const char *rest = ndr_line_is(line, "pragma");
    if (rest && strncmp(rest, "once", 4) == 0) {
        if (f->once) define_once(x, f);
        else ndr_text_add_chars(x->out, "\n", 1);
        add_newlines(x->out, line->newlines > 0 ? line->newlines - 1 : 0);
        return true;
    }
    if (rest && strncmp(rest, "pop_macro", 9) == 0) ndr_macros_forget(x->macros);
    if ((rest = ndr_line_is(line, "define"))) ndr_macros_define(x->macros, rest);
    else if ((rest = ndr_line_is(line, "undef"))) ndr_macros_undefine(x->macros, rest);
    else if ((rest = ndr_line_is(line, "line")) || (rest = ndr_line_is(line, ""))) follow_mark(x, f, rest);
    return false;
}

static ndr_status paste_plain(expansion *x, input *f, group *in, const char *start)
{
    const ndr_line *line = &x->line;
    wanted w;
    const char *rest = read_include(line, &w);
    if (rest && !in->branch.is_skipped) return paste_include(x, f, in, start, rest, &w);
    if (rest) add_newlines(x->out, line->newlines);
    if (rest) return NDR_OK;
    if (in->branch.is_skipped) {
        copy_line(x, f, start);
        return NDR_OK;
    }
    f->counts |= line->is_code || line->directive.length;
    const char *asks = line->directive.length ? strstr(line->directive.chars, "__has_include") : NULL;
    if (asks && strchr(asks, '(')) NDR_TRY(leave(x, f));
    if (!learn_from(x, f)) copy_line(x, f, start);
    return NDR_OK;
}

static ndr_status paste_line(expansion *x, input *f, group *in)
{
    const char *start = f->at;
    ndr_line_read(start, &x->line);
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, !x->line.directive.failed, "no memory to read \"%s\"", f->title);
    f->at = x->line.next;
    f->line += x->line.newlines;
    f->next.line += x->line.newlines;
    const char *word = ndr_line_is(&x->line, "");
    if (!word) return paste_plain(x, f, in, start);
    if (strncmp(word, "if", 2) == 0) return paste_group(x, f, in, start);
    if (strncmp(word, "el", 2) == 0) return paste_else(x, f, in, start);
    if (strncmp(word, "endif", 5) == 0) return paste_endif(x, f, in, start);
    return paste_plain(x, f, in, start);
}

/* ---- folders ---- */

/* What a change of any file under the folder changes: the sum of all names, sizes and times. */
static void add_tree(const char *path, unsigned depth, unsigned *files, ndr_hash *sum)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && *files < MOST_FILES && (entry = readdir(folder));) {
        struct stat about;
        ndr_text file = { 0 };
        if (entry->d_name[0] != '.') ndr_text_add(&file, "%s/%s", path, entry->d_name);
        if (file.chars && stat(file.chars, &about) == 0) {
            ++*files;
            if (S_ISDIR(about.st_mode) && depth > 0) add_tree(file.chars, depth - 1, files, sum);
            ndr_text_add(&file, " %lld %lld %ld", (long long)about.st_size, (long long)about.st_mtim.tv_sec,
                         about.st_mtim.tv_nsec);
            const ndr_hash hash = ndr_hash_bytes(file.chars, file.length, 0);
            sum->words[0] += hash.words[0];
            sum->words[1] += hash.words[1];
        }
        ndr_text_free(&file);
    }
    if (folder) closedir(folder);
}

/* Drivers part their options at blanks, and no spelling of a folder with one is taken by all. */
static ndr_status add_folder(const char *path, ndr_text *flags, ndr_hash *sum)
{
    unsigned files = 0;
    NDR_REQUIRE(!strpbrk(path, " \t\n\"'\\"),
                "the compiler has to look into folder \"%s\", for an #include or __has_include that a macro spells, and "
                "takes none with a blank, quote or backslash in its name: rename it, or write the file's name out",
                path);
    ndr_text_add(flags, " -I %s", path);
    add_tree(path, 8, &files, sum);
    return NDR_OK;
}

/* Some drivers keep programs by text and options alone, and would not see that an included file has changed. */
static ndr_status add_folders(expansion *x)
{
    ndr_hash sum = { { 0, 0 } };
    if (!x->flags || !x->needs_folders) return NDR_OK;
    if (x->beside.length) NDR_TRY(add_folder(x->beside.chars, x->flags, &sum));
    for (const char *const *dir = x->source->include_dirs; dir && *dir; ++dir)
        NDR_TRY(add_folder(*dir, x->flags, &sum));
    ndr_text_add(x->out, "// folders as of %016llx%016llx\n", (unsigned long long)sum.words[0],
                 (unsigned long long)sum.words[1]);
    return NDR_OK;
}

/* ---- the whole ---- */

static ndr_status expand(expansion *x)
{
    const ndr_source *source = x->source;
    struct stat about;
    bool pasted;
    input f = { .title = source->title, .is_file = source->is_file };
    if (source->options) ndr_macros_read_options(x->macros, source->options);
    if (source->is_file && stat(source->title, &about) == 0) {
        f.device = about.st_dev;
        f.node = about.st_ino;
        NDR_TRY(find_once(x, &about, source->text, false, &f.once));
    }
    NDR_TRY(paste(x, &f, source->text, &pasted));
    NDR_TRY(add_folders(x));
    const bool failed = x->out->failed || x->beside.failed || x->names.failed || ndr_macros_failed(x->macros)
                        || (x->flags && x->flags->failed);
    return failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to expand \"%s\"", source->title) : NDR_OK;
}

static void free_expansion(expansion *x)
{
    ndr_macros_free(x->macros);
    ndr_text_free(&x->line.directive);
    ndr_text_free(&x->ahead.directive);
    ndr_text_free(&x->names);
    ndr_text_free(&x->beside);
    for (once *o = x->onces, *next; o; o = next) {
        next = o->next;
        free(o);
    }
}

static ndr_status try_to_expand(const ndr_source *source, unsigned most_same, ndr_text *out, ndr_text *flags)
{
    expansion x = { .source = source, .out = out, .flags = flags, .most_same = most_same, .macros = ndr_macros_new() };
    const ndr_status status =
        x.macros ? expand(&x) : ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to expand \"%s\"", source->title);
    free_expansion(&x);
    return status;
}

/* How often a file includes itself, only the compiler may know. A text that gets too long is tried with less. */
ndr_status ndr_source_expand(const ndr_source *source, ndr_text *out, ndr_text *flags)
{
    const size_t before = out->length;
    ndr_status status = NDR_LIMIT_EXCEEDED;
    for (unsigned most_same = 64; status == NDR_LIMIT_EXCEEDED && most_same >= 4; most_same /= 2) {
        out->length = before;
        status = try_to_expand(source, most_same, out, flags);
    }
    return status;
}
