/* paste.c - one text of a source and the files that it includes.
 *
 * We follow includes ourselves rather than through clCompileProgram's headers: one string goes to every
 * driver, and its log says "kernels/ndr/group.clh:21" instead of naming a temporary file.
 *
 * A file is pasted at each #include that may be compiled, and left out where macros.c knows that its guard or its
 * `#pragma once` leaves nothing of it. After each pasted file, and after each branch that holds one, stands a #line
 * mark: the compiler may skip the branch and with it the marks inside. */
#include "program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MOST_SAME: how often one file may include itself, where only the compiler knows when to stop. */
enum { DEEPEST = 200, MOST_IFS = 2000, MOST_SAME = 64, LEAST_SAME = 4 };
static const char too_deep[] =
    "#error this file is included too deep, or by itself too often: libndr pastes files 200 deep, "
    "and one 64 times inside itself, or fewer where that makes the source too long\n";

/* A file on disk that may hold `#pragma once`, or that is imported. */
typedef struct once {
    struct once *next;
    uint64_t device, node;
    char macro[32]; /* ours, which the text defines there */
} once;

/* What a log calls a line. */
typedef struct place {
    size_t line;
    size_t name; /* where its file's name stands in `names`, in quotes */
} place;

/* A file that is being pasted. */
typedef struct input {
    const struct input *outer;
    ndr_includer from;
    const char *at;
    size_t line;    /* how many were read */
    place next;     /* of the next line, by the file or by a #line of the user's */
    place unclosed; /* of an #if without an #endif */
    uint64_t device, node; /* 0 for what is no file on disk */
    const once *once;
    bool counts; /* something in it is more than a guard that leaves nothing */
} input;

/* A file, or what stands between an #if and its #endif. */
typedef struct group {
    bool is_file;
    ndr_branch branch;
    size_t line; /* of the #if, and the place after it */
    place next;
    bool leads;      /* nothing stands ahead of it in its file */
    bool is_shifted; /* something is pasted in it */
    bool is_closed;
    unsigned unclosed; /* the #ifs that an #elif was split into */
} group;

typedef struct expansion {
    ndr_source source;
    ndr_text dirs, dir_names; /* its include folders, where some come from its options */
    ndr_text *out, *flags;
    ndr_macros *macros;
    once *onces;
    const input *input; /* the one that is being pasted */
    size_t depth, ifs;  /* files and #ifs inside each other */
    unsigned most_same;
    ndr_line line, ahead;
    ndr_text names;
    ndr_text askers; /* macros that hold __has_include, one name after the other, each ended by a 0 */
    ndr_text beside; /* the folder of a file whose #include only the compiler can tell */
    bool needs_folders;
} expansion;

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

static void add_newlines(expansion *x, size_t count)
{
    while (count-- > 0) ndr_text_add_chars(x->out, "\n", 1);
}

static void start_line(expansion *x)
{
    if (x->out->length && x->out->chars[x->out->length - 1] != '\n') add_newlines(x, 1);
}

/* In place of a directive that is read: as many lines. */
static void add_instead(expansion *x, const char *text)
{
    ndr_text_add(x->out, "%s\n", text);
    add_newlines(x, x->line.newlines > 0 ? x->line.newlines - 1 : 0);
}

static void add_mark(expansion *x, place next)
{
    start_line(x);
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

/* ---- what only the compiler can find ---- */

/* A macro spells a name in `f`, which cannot be told: the compiler needs the folders. */
static ndr_status leave(expansion *x, const input *f)
{
    x->needs_folders = true;
    if (!f->from.is_file) return NDR_OK;
    const bool has_folder = ndr_folder_length(f->from.title) > 0;
    const char *folder = has_folder ? f->from.title : "./";
    const size_t length = ndr_folder_length(folder);
    if (!x->beside.length) ndr_text_add_chars(&x->beside, folder, length);
    NDR_REQUIRE(
        x->beside.failed || (x->beside.length == length && strncmp(x->beside.chars, folder, length) == 0),
        "\"%s\" and a file in \"%s\" both spell the name of an included file with a macro; the files of one folder "
        "can: write the name itself",
        f->from.title, x->beside.chars);
    return NDR_OK;
}

/* Some drivers keep programs by text and options alone, and would not see that an included file has changed. */
static ndr_status add_folders(expansion *x)
{
    ndr_hash sum = { { 0, 0 } };
    if (!x->flags || !x->needs_folders) return NDR_OK;
    const size_t before = x->flags->length;
    if (x->beside.length) NDR_TRY(ndr_source_add_folder(x->beside.chars, x->flags, &sum));
    for (const char *const *dir = x->source.include_dirs; dir && *dir; ++dir)
        NDR_TRY(ndr_source_add_folder(*dir, x->flags, &sum));
    if (x->flags->length > before)
        ndr_text_add(x->out, NDR_FOLDERS "%016llx%016llx\n", (unsigned long long)sum.words[0],
                     (unsigned long long)sum.words[1]);
    return NDR_OK;
}

/* ---- files ---- */

static ndr_status paste_line(expansion *x, input *f, group *in);

/* To the end of the file, or to the #endif of `in`. */
static ndr_status paste_lines(expansion *x, input *f, group *in)
{
    while (*f->at && !in->is_closed) NDR_TRY(paste_line(x, f, in));
    return NDR_OK;
}

/* `*pasted` false: the file has come to nothing. */
static ndr_status paste(expansion *x, input *f, const char *text, bool *pasted)
{
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, x->out->length < NDR_SOURCE_BYTES,
                   "including \"%s\" makes the source longer than %d bytes", f->from.title, NDR_SOURCE_BYTES);
    const size_t before = x->out->length;
    group whole = { .is_file = true };
    f->outer = x->input;
    f->at = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text; /* a byte-order mark */
    f->next = (place){ 1, quote_name(x, f->from.title) };
    add_mark(x, f->next);
    x->input = f;
    ++x->depth;
    NDR_TRY(paste_lines(x, f, &whole));
    --x->depth;
    x->input = f->outer;
    add_newlines(x,
                 x->out->length && x->out->chars[x->out->length - 1] == '\\' ? 2 : 1); /* the last line may lack one */
    if (f->unclosed.line) {
        add_mark(x, f->unclosed);
        ndr_text_add(x->out, "#error unterminated conditional directive\n");
    }
    *pasted = f->counts;
    if (!f->counts && x->depth > 0) x->out->length = before;
    return NDR_OK;
}

static void define_once(expansion *x, const input *f)
{
    char define[64];
    snprintf(define, sizeof define, "#define %s", f->once->macro);
    add_instead(x, define);
    ndr_macros_define(x->macros, f->once->macro);
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

static ndr_status find_once(expansion *x, input *f, const ndr_file_info *info, const char *text, bool is_import)
{
    once *o = x->onces;
    unsigned count = 0;
    f->device = info->device;
    f->node = info->node;
    for (; o && (o->device != f->device || o->node != f->node); o = o->next) ++count;
    f->once = o;
    if (o || !(is_import || strstr(text, "once"))) return NDR_OK;
    o = calloc(1, sizeof *o);
    if (!o) return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to include \"%s\"", f->from.title);
    *o = (once){ .next = x->onces, .device = f->device, .node = f->node };
    snprintf(o->macro, sizeof o->macro, "NDR_ONCE_%u_", count);
    ndr_macros_add_own(x->macros, o->macro);
    f->once = x->onces = o;
    return NDR_OK;
}

/* Compilers stop with an error where files include each other too deep; so does the text, should it get there. */
static bool is_too_deep(const expansion *x, const input *f)
{
    unsigned same = 0;
    for (const input *open = x->input; open; open = open->outer)
        same += open->node == f->node && open->device == f->device;
    return x->depth == DEEPEST || same >= x->most_same;
}

static ndr_status paste_on_disk(expansion *x, input *f, const ndr_included *file, bool is_import, bool *pasted)
{
    f->from.next_dir = file->next_dir;
    f->from.is_file = true;
    NDR_TRY(find_once(x, f, &file->info, file->text.chars, is_import));
    if (is_too_deep(x, f)) return paste(x, f, too_deep, pasted);
    return paste_once(x, f, file->text.chars, is_import, pasted);
}

static ndr_status paste_found(expansion *x, const ndr_included *file, bool is_import, bool *pasted)
{
    const char *name = file->embedded ? file->embedded->name : file->path.chars;
    /* Whichever way it was found: not to be taken for a file of the vocabulary. */
    const bool seems_ours = !file->embedded && strncmp(name, "kernels/ndr/", 12) == 0;
    ndr_text title = { 0 };
    ndr_text_add(&title, "%s%s", file->embedded ? "kernels/" : seems_ours ? "./" : "", name);
    input f = { .from.title = title.chars };
    ndr_status status = title.failed     ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to include \"%s\"", name)
                        : file->embedded ? paste(x, &f, file->embedded->text, pasted)
                                         : paste_on_disk(x, &f, file, is_import, pasted);
    ndr_text_free(&title);
    return status;
}

/* ---- macros that ask for files ---- */

static const char has_include[] = "__has_include"; /* __has_include_next begins with it as well */

/* Whether a text asks for a file by a macro, whose answer depends on the file that the text stands in. */
static bool asks_by_macro(const expansion *x, const char *text)
{
    const char *name = x->askers.chars, *end = name + x->askers.length;
    for (; name < end; name += strlen(name) + 1)
        if (ndr_word_find(text, name)) return true;
    return false;
}

/* `rest` follows #define. */
static void note_asker(expansion *x, const char *rest)
{
    const size_t length = ndr_word_length(rest);
    if (!ndr_word_find_start(rest + length, has_include) && !asks_by_macro(x, rest + length)) return;
    ndr_text_add_chars(&x->askers, rest, length);
    ndr_text_add_chars(&x->askers, "", 1);
}

/* ---- lines ---- */

/* The line that was read, from `start` on, as it is. */
static ndr_status copy_line(expansion *x, const input *f, const char *start)
{
    ndr_text_add_chars(x->out, start, (size_t)(f->at - start));
    return NDR_OK;
}

static ndr_status find_and_paste(expansion *x, const input *f, const ndr_include *w, bool *is_there, bool *pasted)
{
    ndr_included file;
    ndr_status status = ndr_include_find(&x->source, &f->from, w, &file);
    *is_there = file.is_there;
    if (status == NDR_OK && file.is_there) status = paste_found(x, &file, w->is_import, pasted);
    ndr_include_free(&file);
    return status;
}

/* An #include, whose name is spelled out or a macro's only body. */
static ndr_status paste_include(expansion *x, input *f, group *in, const char *start, const char *rest, ndr_include *w)
{
    bool is_there = false, pasted = false;
    const size_t newlines = x->line.newlines;
    const bool is_spelled = *rest == '"' || *rest == '<';
    if (ndr_include_read(is_spelled ? rest : ndr_macros_get_body(x->macros, rest), w))
        NDR_TRY(find_and_paste(x, f, w, &is_there, &pasted));
    f->counts |= pasted || !is_there;
    in->is_shifted |= pasted;
    if (!is_there) {
        ndr_macros_forget(x->macros);
        copy_line(x, f, start);
        return is_spelled ? NDR_OK : leave(x, f);
    }
    if (pasted) add_mark(x, f->next);
    else add_newlines(x, newlines);
    return NDR_OK;
}

static bool holds(const char *at, const char *end, const char *word)
{
    const size_t length = strlen(word);
    while (at + length <= end && memcmp(at, word, length) != 0) ++at;
    return at + length <= end;
}

/* What does not work in a pasted file, nor in a macro, which may be used in one. */
static ndr_status refuse_lost(const expansion *x, const input *f, const char *start)
{
    static const struct {
        const char *word, *other, *sentence;
    } lost[] = {
        { "__INCLUDE_LEVEL__", "",
          "__INCLUDE_LEVEL__ is 0 in pasted files: define a macro of your own, and count in it" },
        { "_Pragma", "\"once\"", "_Pragma(\"once\") does nothing in pasted files: write #pragma once" },
    };
    const bool is_blank = !x->line.is_code && !x->line.directive.length;
    if (is_blank || (x->depth == 1 && !ndr_line_is(&x->line, "define"))) return NDR_OK;
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; ++i)
        NDR_REQUIRE(!holds(start, f->at, lost[i].word) || !holds(start, f->at, lost[i].other), "\"%s\", line %zu: %s",
                    f->from.title, f->line + 1 - x->line.newlines, lost[i].sentence);
    return NDR_OK;
}

/* `rest` follows #pragma. Compilers warn of a system_header outside of an included file. */
static ndr_status paste_pragma(expansion *x, const input *f, const char *start, const char *rest)
{
    const bool is_once = ndr_word_take(rest, "once");
    if (ndr_word_take(rest, "pop_macro")) ndr_macros_forget(x->macros);
    if (is_once && f->once) define_once(x, f);
    else if (is_once || (x->depth > 1 && ndr_word_find(rest, "system_header"))) add_instead(x, "");
    else copy_line(x, f, start);
    return NDR_OK;
}

/* A line that may be compiled and is no #include. */
static ndr_status paste_plain(expansion *x, input *f, const char *start)
{
    const ndr_line *line = &x->line;
    f->counts |= line->is_code || line->directive.length;
    if (!line->directive.length) return copy_line(x, f, start);
    const char *rest;
    if ((rest = ndr_line_is(line, "define"))) {
        ndr_macros_define(x->macros, rest);
        note_asker(x, rest);
    } else if ((rest = ndr_line_is(line, "undef"))) {
        ndr_macros_undefine(x->macros, rest);
    } else if ((rest = ndr_line_is(line, "pragma"))) {
        return paste_pragma(x, f, start, rest);
    } else {
        rest = ndr_line_is(line, "line");
        follow_mark(x, f, rest ? rest : ndr_line_is(line, ""));
    }
    return copy_line(x, f, start);
}

/* ---- conditions ---- */

/* The end of `__has_include(...)` at `at` if its answer is yes, and otherwise NULL. */
static ndr_status answer(expansion *x, const input *f, const char *at, const char **end)
{
    ndr_include w = { .is_next = strncmp(at, "__has_include_next", 18) == 0 };
    const char *open = ndr_word_skip_blanks(at + ndr_word_length(at));
    const char *close = *open == '(' ? ndr_include_read(ndr_word_skip_blanks(open + 1), &w) : NULL;
    if (close) close = ndr_word_take(ndr_word_skip_blanks(close), ")");
    *end = NULL;
    if (!close) return *open == '(' ? leave(x, f) : NDR_OK;
    ndr_included file;
    const ndr_status status = ndr_include_find(&x->source, &f->from, &w, &file);
    if (file.is_there) *end = close;
    ndr_include_free(&file);
    return status;
}

/* A condition, with 1 for each __has_include of a file that we find. */
static ndr_status add_condition(expansion *x, const input *f, const char *at)
{
    ndr_text condition = { 0 };
    ndr_status status = NDR_OK;
    ndr_text_add_chars(&condition, "#", 1);
    for (const char *word, *end; status == NDR_OK && (word = ndr_word_find_start(at, has_include)); at = end) {
        ndr_text_add_chars(&condition, at, (size_t)(word - at));
        status = answer(x, f, word, &end);
        ndr_text_add(&condition, "%.*s", end ? 2 : (int)ndr_word_length(word), end ? "1 " : word);
        if (!end) end = word + ndr_word_length(word);
    }
    ndr_text_add(&condition, "%s", at);
    if (condition.failed) status = ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to read \"%s\"", f->from.title);
    else add_instead(x, condition.chars);
    ndr_text_free(&condition);
    return status;
}

static ndr_status copy_condition(expansion *x, const input *f, const char *start, bool is_skipped)
{
    const char *text = ndr_line_is(&x->line, "");
    if (!is_skipped && asks_by_macro(x, text)) NDR_TRY(leave(x, f));
    return !is_skipped && ndr_word_find_start(text, has_include) ? add_condition(x, f, text) : copy_line(x, f, start);
}

static ndr_status add_stray(expansion *x, input *f)
{
    f->counts = true;
    add_instead(x, "#error a branch without #if");
    return NDR_OK;
}

/* From an #if to its #endif. */
static ndr_status paste_group(expansion *x, input *f, group *outer, const char *start)
{
    const bool is_skipped = outer->branch.is_skipped;
    const place here = { f->next.line - x->line.newlines, f->next.name };
    group in = { .line = f->line, .next = f->next, .leads = outer->is_file && !f->counts && x->depth > 1 };
    ndr_branch_open(x->macros, &in.branch, ndr_line_is(&x->line, ""), is_skipped);
    f->counts |= !in.branch.is_skipped;
    NDR_TRY(copy_condition(x, f, start, is_skipped));
    ++x->ifs;
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, x->ifs <= MOST_IFS, "\"%s\" has more than %d #ifs inside each other",
                   f->from.title, MOST_IFS);
    NDR_TRY(paste_lines(x, f, &in));
    --x->ifs;
    outer->is_shifted |= in.is_shifted;
    if (in.is_closed) return NDR_OK;
    ndr_branch_close(x->macros, &in.branch, false);
    f->counts = true;
    f->unclosed = here;
    for (unsigned i = 0; i <= in.unclosed; ++i) ndr_text_add(x->out, "\n#endif\n");
    return NDR_OK;
}

/* What a #line in a branch said holds no longer, unless the branch is sure to be compiled. */
static void leave_branch(input *f, const group *in)
{
    if (!in->branch.is_sure) f->next = (place){ in->next.line + f->line - in->line, in->next.name };
}

/* Lines in a branch that is skipped count too: what is pasted there shifts those after it, and the condition of an
 * #elif is one of them. */
static ndr_status paste_else(expansion *x, input *f, group *in, const char *start)
{
    const char *word = ndr_line_is(&x->line, ""), *condition = strncmp(word, "elif", 4) == 0 ? word + 2 : NULL;
    if (in->is_file) return add_stray(x, f);
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
        NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, !x->ahead.directive.failed, "no memory to read \"%s\"", f->from.title);
        *is_blank = !x->ahead.is_code && !x->ahead.directive.length;
    }
    return NDR_OK;
}

static ndr_status paste_endif(expansion *x, input *f, group *in, const char *start)
{
    bool is_last = false;
    if (in->is_file) return add_stray(x, f);
    leave_branch(f, in);
    if (in->leads || in->is_shifted) NDR_TRY(is_blank_ahead(x, f, &is_last));
    if (ndr_branch_close(x->macros, &in->branch, in->leads && is_last)) {
        ndr_text_add(x->out, "#else\n");
        add_mark(x, (place){ f->next.line - x->line.newlines, f->next.name });
        ndr_text_add(x->out, "#error the macro that guards this file is defined elsewhere, too: rename it\n");
    }
    copy_line(x, f, start);
    for (; in->unclosed > 0; --in->unclosed) {
        start_line(x);
        ndr_text_add(x->out, "#endif\n");
    }
    if (in->is_shifted && !is_last) add_mark(x, f->next);
    in->is_closed = true;
    return NDR_OK;
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (word && *words && !ndr_word_take(word, *words)) ++words;
    return word && *words;
}

static ndr_status paste_line(expansion *x, input *f, group *in)
{
    static const char *const ifs[] = { "if", "ifdef", "ifndef", NULL };
    static const char *const elses[] = { "else", "elif", "elifdef", "elifndef", NULL };
    const char *start = f->at;
    ndr_line_read(start, &x->line);
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, !x->line.directive.failed, "no memory to read \"%s\"", f->from.title);
    f->at = x->line.next;
    f->line += x->line.newlines;
    f->next.line += x->line.newlines;
    ndr_include w;
    const char *word = ndr_line_is(&x->line, ""), *name = ndr_line_includes(&x->line, &w.is_next, &w.is_import);
    if (!in->branch.is_skipped || is_one_of(word, elses)) NDR_TRY(refuse_lost(x, f, start));
    if (is_one_of(word, ifs)) return paste_group(x, f, in, start);
    if (is_one_of(word, elses)) return paste_else(x, f, in, start);
    if (word && ndr_word_take(word, "endif")) return paste_endif(x, f, in, start);
    if (!in->branch.is_skipped) return name ? paste_include(x, f, in, start, name, &w) : paste_plain(x, f, start);
    if (!name) return copy_line(x, f, start);
    add_newlines(x, x->line.newlines); /* nothing that only the compiler could find */
    return NDR_OK;
}

/* ---- the whole ---- */

/* The folders of -I among the options, after those of the description. */
static void add_option_dirs(expansion *x)
{
    for (const char *at = strstr(x->source.options, "-I"); at; at = strstr(at + 1, "-I")) {
        const char *name = at + 2 + strspn(at + 2, " \t");
        const size_t length = strcspn(name, " \t\"'");
        const bool is_quoted = name[length] == '"' || name[length] == '\'';
        if ((at > x->source.options && !strchr(" \t", at[-1])) || !length || is_quoted) continue;
        ndr_text_add_chars(&x->dir_names, name, length);
        ndr_text_add_chars(&x->dir_names, "", 1);
    }
    const char *none = NULL, *end = x->dir_names.chars + x->dir_names.length;
    if (!x->dir_names.length) return;
    for (const char *const *dir = x->source.include_dirs; dir && *dir; ++dir)
        ndr_text_add_chars(&x->dirs, (const char *)dir, sizeof *dir);
    for (const char *name = x->dir_names.chars; name < end; name += strlen(name) + 1)
        ndr_text_add_chars(&x->dirs, (const char *)&name, sizeof name);
    ndr_text_add_chars(&x->dirs, (const char *)&none, sizeof none);
    if (!x->dirs.failed) x->source.include_dirs = (const char *const *)(void *)x->dirs.chars;
}

static ndr_status expand(expansion *x)
{
    const ndr_source *source = &x->source;
    ndr_file_info info;
    bool pasted;
    input f = { .from = { .title = source->title, .is_file = source->is_file } };
    if (source->options) {
        ndr_macros_read_options(x->macros, source->options);
        add_option_dirs(x);
    }
    if (source->is_file && ndr_file_get_info(source->title, &info) == 0) NDR_TRY(find_once(x, &f, &info, source->text, false));
    NDR_TRY(paste(x, &f, source->text, &pasted));
    NDR_TRY(add_folders(x));
    const bool failed = x->out->failed || (x->flags && x->flags->failed) || x->names.failed || x->dirs.failed
                        || x->dir_names.failed || x->askers.failed || x->beside.failed || ndr_macros_failed(x->macros);
    return failed ? ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to expand \"%s\"", source->title) : NDR_OK;
}

static void free_expansion(expansion *x)
{
    ndr_macros_free(x->macros);
    ndr_text_free(&x->line.directive);
    ndr_text_free(&x->ahead.directive);
    ndr_text_free(&x->names);
    ndr_text_free(&x->dirs);
    ndr_text_free(&x->dir_names);
    ndr_text_free(&x->askers);
    ndr_text_free(&x->beside);
    for (once *o = x->onces, *next; o; o = next) {
        next = o->next;
        free(o);
    }
}

static ndr_status try_to_expand(const ndr_source *source, unsigned most_same, ndr_text *out, ndr_text *flags)
{
    expansion x = { .source = *source, .out = out, .flags = flags, .most_same = most_same, .macros = ndr_macros_new() };
    const ndr_status status =
        x.macros ? expand(&x) : ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to expand \"%s\"", source->title);
    free_expansion(&x);
    return status;
}

/* A text that gets too long is tried again with files that include themselves less often. */
ndr_status ndr_source_expand(const ndr_source *source, ndr_text *out, ndr_text *flags)
{
    const size_t before = out->length;
    ndr_text text = { 0 };
    ndr_text_add_chars(&text, source->text, strlen(source->text));
    NDR_REQUIRE_AS(NDR_OUT_OF_HOST_MEMORY, !text.failed, "no memory to expand \"%s\"", source->title);
    ndr_line_clean(text.chars);
    ndr_source clean = *source;
    clean.text = text.chars;
    ndr_status status = NDR_LIMIT_EXCEEDED;
    for (unsigned most_same = MOST_SAME; status == NDR_LIMIT_EXCEEDED && most_same >= LEAST_SAME; most_same /= 2) {
        out->length = before;
        status = try_to_expand(&clean, most_same, out, flags);
    }
    ndr_text_free(&text);
    return status;
}

bool ndr_source_includes(const char *text, const char *name)
{
    char mark[96];
    snprintf(mark, sizeof mark, "#line 1 \"kernels/%s", name);
    return strstr(text, mark) != NULL;
}
