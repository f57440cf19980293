/* paste.c - reads a program's text: pastes the files that it includes, and collects what is learned on the way.
 *
 * libndr pastes included files itself instead of using clCompileProgram()'s headers: every driver gets one string, and
 * logs say "kernels/ndr/group.clh:21" instead of naming a temporary file.
 *
 * A file is pasted at each #include that may be compiled. It is omitted if macros.c knows that its guard or `#pragma
 * once` makes it empty. A #line mark follows each pasted file and each branch that contains one, because the
 * compiler may skip the branch together with the marks inside. */
#include "program/folders.h"
#include "program/lines.h"
#include "program/macros.h"
#include "program/source.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MAX_SAME: how often one file may include itself if only the compiler knows when the recursion ends. MAX_PASTED: files
 * without text could be pasted 2^MAX_DEPTH times before the source is too long. */
enum { MAX_DEPTH = 200, MAX_IFS = 2000, MAX_SAME = 64, MIN_SAME = 4, MAX_PASTED = 50000, MAX_ABSENT = 4096 };
static const char too_deep[] =
    "#error this file is included too deep, or by itself too often: libndr pastes files 200 deep, "
    "and one 64 times inside itself, or fewer if that makes the source too long\n";

/* The number and file name of a line in logs. */
typedef struct place {
    size_t line;
    size_t name; /* offset of the quoted file name in `names` */
} place;

/* A file that is being pasted. */
typedef struct input {
    const struct input *outer;
    const char *title; /* its name in logs */
    const char *path;  /* NULL: it is not on disk */
    const char *at;
    size_t line;      /* lines read so far */
    place next;       /* of the next line, in the file or by a #line of the user */
    bool is_ours;     /* a file of the vocabulary, whose code is not the program's own */
    size_t number;    /* the same for each copy of a file on disk, from 1; 0: it is not on disk */
    bool has_content; /* it contains more than an empty guard */
} input;

/* A whole file, or the lines from an #if to its #endif. */
typedef struct group {
    bool is_file;
    ndr_branch branch;
    size_t line; /* of the #if; and the place after it */
    place next;
    bool is_first;   /* nothing precedes it in its file */
    bool has_pasted; /* a file is pasted in it */
    bool is_closed;
    unsigned unclosed; /* #ifs that replaced an #elif and have no #endif yet */
} group;

typedef struct expansion {
    ndr_source_desc desc; /* with all folders: of the description and of its options */
    ndr_source *source;
    ndr_text *out; /* the source's text */
    ndr_folders folders;
    ndr_macros macros;
    ndr_text files;     /* device and node of each file on disk */
    const input *input; /* the file that is pasted now */
    size_t depth, ifs;  /* nesting of files and of #ifs */
    size_t pasted;      /* files so far */
    unsigned max_same;
    bool has_circles; /* a file includes itself */
    ndr_line line;
    ndr_text names;
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

/* A file's name in marks. In an outline it has no folder: neither that of the program's own file, nor that of the
 * options in which it was found. */
static const char *shown_name(const expansion *x, const char *title)
{
    const ndr_source_desc *desc = &x->desc;
    const size_t own = desc->is_file ? ndr_folder_length(desc->title) : 0;
    if (!desc->is_outline) return title;
    if (own > 0 && strncmp(title, desc->title, own) == 0) return title + own;
    for (const char *const *dir = desc->include_dirs; dir && *dir; ++dir) {
        const size_t length = strlen(*dir);
        if (strncmp(title, *dir, length) == 0 && title[length] == '/') return title + length + 1;
    }
    return title;
}

static void add_newlines(expansion *x, size_t count)
{
    while (count-- > 0) ndr_text_add_chars(x->out, "\n", 1);
}

static void start_line(expansion *x)
{
    if (x->out->length && x->out->chars[x->out->length - 1] != '\n') add_newlines(x, 1);
}

/* Replace a directive by `text` and keep the number of lines. */
static void replace_line(expansion *x, const char *text)
{
    ndr_text_add(x->out, "%s\n", text);
    add_newlines(x, x->line.newlines > 0 ? x->line.newlines - 1 : 0);
}

static void add_mark(expansion *x, place next)
{
    start_line(x);
    if (!x->names.failed) ndr_text_add(x->out, "#line %zu %s\n", next.line, x->names.chars + next.name);
}

/* Apply `#line 5`, `#line 5 "name"` or `# 5 "name" 1` of the user. */
static void apply_line_directive(expansion *x, input *f, const char *rest)
{
    char *end;
    const size_t line = strtoul(rest, &end, 10);
    const char *open = strchr(end, '"'), *close = open ? strrchr(open, '"') : NULL;
    if (end == rest) return;
    f->next.line = line;
    if (open != close) f->next.name = keep_name(x, open, (size_t)(close - open) + 1);
}

/* ---- files ---- */

static ndr_status fail_to_expand(const ndr_source_desc *desc)
{
    return ndr_fail(NDR_OUT_OF_HOST_MEMORY, "no memory to expand \"%s\"", desc->title);
}

static ndr_status paste_line(expansion *x, input *f, group *in);

/* Paste up to the end of the file, or to the #endif of `in`. */
static ndr_status paste_lines(expansion *x, input *f, group *in)
{
    while (*f->at && !in->is_closed) NDR_TRY(paste_line(x, f, in));
    return NDR_OK;
}

static void cut(ndr_text *text, size_t length)
{
    text->length = length;
    if (text->chars) text->chars[length] = '\0';
}

/* The code goes on in this file. */
static void add_place(expansion *x, const input *f)
{
    if (!f || f->is_ours) return;
    ndr_text_add(&x->source->code.places, "%zu %s\n", x->source->code.chars.length, shown_name(x, f->title));
}

/* Nothing is left of a file without content. */
static ndr_status paste_text(expansion *x, input *f, const char *text)
{
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, x->out->length < NDR_SOURCE_BYTES,
                   "including \"%s\" makes the source longer than %d bytes", f->title, NDR_SOURCE_BYTES);
    ndr_code *code = &x->source->code;
    const size_t before = x->out->length, chars = code->chars.length, macros = code->macros.length;
    group whole = { .is_file = true };
    f->outer = x->input;
    f->at = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text; /* skip a byte-order mark */
    f->next = (place){ 1, quote_name(x, shown_name(x, f->title)) };
    add_mark(x, f->next);
    add_place(x, f);
    x->input = f;
    ++x->depth;
    NDR_TRY(paste_lines(x, f, &whole));
    --x->depth;
    x->input = f->outer;
    add_newlines(x, x->out->length && x->out->chars[x->out->length - 1] == '\\' ? 2 : 1); /* it may lack one */
    if (!f->has_content && x->depth > 0) {
        cut(x->out, before);
        cut(&code->chars, chars);
        cut(&code->macros, macros);
    }
    add_place(x, f->outer);
    return NDR_OK;
}

/* The text defines a macro in place of `#pragma once`. */
#define ONCE_MACRO "NDR_ONCE_%zu_"

static void define_once(expansion *x, const input *f)
{
    char define[64];
    snprintf(define, sizeof define, "#define " ONCE_MACRO, f->number - 1);
    replace_line(x, define);
    ndr_macros_define(&x->macros, define + strlen("#define "));
}

/* Paste the file unless its `#pragma once` makes it empty. If only the compiler knows that, put the file into an
 * #ifndef. */
static ndr_status paste_once(expansion *x, input *f, const char *text)
{
    char condition[64];
    ndr_branch branch;
    snprintf(condition, sizeof condition, "ifndef " ONCE_MACRO, f->number - 1);
    const char *macro = condition + strlen("ifndef ");
    if (ndr_macros_has(&x->macros, macro)) return NDR_OK;
    if (!ndr_macros_may_have(&x->macros, macro)) return paste_text(x, f, text);
    ndr_branch_open(&x->macros, &branch, condition, false);
    ndr_text_add(x->out, "#%s\n", condition);
    NDR_TRY(paste_text(x, f, text));
    ndr_branch_close(&x->macros, &branch, false);
    ndr_text_add(x->out, "#endif\n");
    f->has_content = true;
    return NDR_OK;
}

/* 1 for the first file on disk. */
static size_t number_of(expansion *x, const ndr_file_info *info)
{
    const uint64_t id[] = { info->device, info->node };
    const size_t count = x->files.length / sizeof id;
    for (size_t i = 0; i < count; ++i)
        if (memcmp(x->files.chars + i * sizeof id, id, sizeof id) == 0) return i + 1;
    ndr_text_add_chars(&x->files, (const char *)id, sizeof id);
    return count + 1;
}

/* Like compilers, stop with an error if files include each other too deep: the pasted text contains an #error. */
static bool is_too_deep(expansion *x, const input *f)
{
    unsigned same = 0;
    for (const input *open = x->input; open; open = open->outer) same += open->number == f->number;
    x->has_circles |= same > 0;
    return x->depth == MAX_DEPTH || same >= x->max_same;
}

static ndr_status paste_file(expansion *x, input *f, const ndr_included *file)
{
    if (file->embedded) return paste_text(x, f, file->embedded->text);
    f->path = f->title;
    f->number = number_of(x, &file->info);
    ndr_text_add(&x->source->paths, "%s\n", f->path);
    return is_too_deep(x, f) ? paste_text(x, f, too_deep) : paste_once(x, f, file->text.chars);
}

/* What an #include becomes: the line stays because the file is not found, or because it is one of the vocabulary in an
 * outline; the file is in its place; or nothing is left of the file. */
typedef enum outcome { ABSENT, STAYS, PASTED, EMPTY } outcome;

static ndr_status paste_found(expansion *x, const ndr_included *file, outcome *of)
{
    const char *name = file->embedded ? file->embedded->name : file->path.chars;
    const size_t before = x->out->length;
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, ++x->pasted <= MAX_PASTED,
                   "\"%s\" includes files %d times in all, the most that libndr pastes, and then \"%s\": write #pragma "
                   "once into each file that others include",
                   x->desc.title, MAX_PASTED, name);
    /* A file of the user must not look like one of the vocabulary. */
    const bool seems_ours = !file->embedded && strncmp(name, "kernels/ndr/", 12) == 0;
    ndr_text title = { 0 };
    ndr_text_add(&title, "%s%s", file->embedded ? "kernels/" : seems_ours ? "./" : "", name);
    input f = { .title = title.chars, .is_ours = file->embedded && strncmp(name, "ndr/", 4) == 0 };
    const ndr_status status = title.failed ? fail_to_expand(&x->desc) : paste_file(x, &f, file);
    ndr_text_free(&title);
    const bool stays = x->desc.is_outline && f.is_ours;
    *of = !f.has_content ? EMPTY : stays ? STAYS : PASTED;
    if (file->embedded && f.has_content) ndr_text_add(&x->source->files, "%s\n", name);
    if (stays) cut(x->out, before);
    return status;
}

/* ---- lines ---- */

/* Add what stands for a line that was read in the program's own code; ndr_line_read() adds the code itself. `macro` is
 * NULL for a line without a directive, or with one that changes no code. */
static void add_code(expansion *x, const input *f, const char *macro)
{
    ndr_code *code = &x->source->code;
    if (f->is_ours) return;
    ndr_text_add(&code->chars, macro ? " # " : " ");
    if (macro) ndr_text_add(&code->macros, "%s\n", macro);
}

/* Copy the line that was read from `start` on. */
static ndr_status copy_line(expansion *x, const input *f, const char *start)
{
    ndr_text_add_chars(x->out, start, (size_t)(f->at - start));
    return NDR_OK;
}

static ndr_status find_and_paste(expansion *x, const input *f, const ndr_include *w, outcome *of)
{
    ndr_included file;
    ndr_status status = ndr_include_find(&x->desc, f->path, w, &file);
    if (status == NDR_OK && file.is_there) status = paste_found(x, &file, of);
    ndr_include_free(&file);
    return status;
}

/* An #include whose name is written out, or is the only body of a macro. */
static ndr_status paste_include(expansion *x, input *f, group *in, const char *start, const char *rest, ndr_include *w)
{
    outcome of = ABSENT;
    const size_t newlines = x->line.newlines;
    const bool is_spelled = *rest == '"' || *rest == '<';
    const bool has_name = ndr_include_read(is_spelled ? rest : ndr_macros_get_body(&x->macros, rest), w);
    if (has_name) NDR_TRY(find_and_paste(x, f, w, &of));
    f->has_content |= of != EMPTY;
    in->has_pasted |= of == PASTED || of == STAYS;
    if (of == ABSENT) {
        if (has_name && x->source->absent.length < MAX_ABSENT)
            ndr_include_explain(&x->desc, f->path, w, &x->source->absent);
        ndr_macros_forget(&x->macros);
        add_code(x, f, "include");
        copy_line(x, f, start);
        return is_spelled ? NDR_OK : ndr_folders_need(&x->folders, f->path);
    }
    if (of == STAYS) return copy_line(x, f, start);
    if (of == PASTED) add_mark(x, f->next);
    else add_newlines(x, newlines);
    return NDR_OK;
}

static const char has_include[] = "__has_include";

/* Where the line that was read last begins. */
static place first_line(const expansion *x, const input *f)
{
    return (place){ f->next.line - x->line.newlines, f->next.name };
}

static ndr_status fail_at_line(const expansion *x, ndr_status status, place line, const char *sentence)
{
    if (x->names.failed) return fail_to_expand(&x->desc);
    return ndr_fail(status, "%s, line %zu: %s", x->names.chars + line.name, line.line, sentence);
}

/* Refuse directives that pasting would change, and those that are not supported. What a macro holds may be used in a
 * pasted file. */
static ndr_status refuse_unsupported(const expansion *x, const input *f)
{
    const char *text = ndr_line_is(&x->line, ""), *why = NULL;
    if (!text) return NDR_OK;
    const bool is_macro = ndr_word_take(text, "define") != NULL;
    if (ndr_word_take(text, "import") || ndr_word_take(text, "include_next")
        || ndr_word_find(text, "__has_include_next"))
        why = "#import, #include_next and __has_include_next are not supported: write #include or __has_include, with "
              "a path that leads to the file";
    else if (is_macro && ndr_word_find(text, has_include))
        why = "a macro contains __has_include, which is read only in conditions: write __has_include in the #if itself";
    else if ((is_macro || x->depth > 1) && ndr_word_find(text, "__INCLUDE_LEVEL__"))
        why = "__INCLUDE_LEVEL__ is 0 in pasted files: define a macro of your own, and count in it";
    return why ? fail_at_line(x, NDR_BAD_ARGUMENT, first_line(x, f), why) : NDR_OK;
}

/* `rest` is the text behind #pragma. system_header is removed, because compilers warn about it outside of an
 * included file. */
static ndr_status paste_pragma(expansion *x, const input *f, const char *start, const char *rest)
{
    const bool is_once = ndr_word_take(rest, "once");
    if (ndr_word_take(rest, "pop_macro")) ndr_macros_forget(&x->macros);
    if (is_once && f->number) define_once(x, f);
    else if (is_once || (x->depth > 1 && ndr_word_find(rest, "system_header"))) replace_line(x, "");
    else copy_line(x, f, start);
    return NDR_OK;
}

/* A line that may be compiled and is not an #include. */
static ndr_status paste_plain(expansion *x, input *f, const char *start)
{
    const ndr_line *line = &x->line;
    f->has_content |= line->is_code || line->directive.length;
    if (!line->directive.length) return copy_line(x, f, start);
    const char *rest;
    if ((rest = ndr_line_is(line, "define"))) {
        ndr_macros_define(&x->macros, rest);
    } else if ((rest = ndr_line_is(line, "undef"))) {
        ndr_macros_undefine(&x->macros, rest);
    } else if ((rest = ndr_line_is(line, "pragma"))) {
        return paste_pragma(x, f, start, rest);
    } else {
        rest = ndr_line_is(line, "line");
        apply_line_directive(x, f, rest ? rest : ndr_line_is(line, ""));
    }
    return copy_line(x, f, start);
}

/* ---- conditions ---- */

/* The end of `__has_include(...)` at `at` if that file is found, otherwise NULL. */
static ndr_status resolve_has_include(expansion *x, const input *f, const char *at, const char **end)
{
    ndr_include w;
    const char *open = ndr_word_skip_blanks(at + ndr_word_length(at));
    const char *close = *open == '(' ? ndr_include_read(ndr_word_skip_blanks(open + 1), &w) : NULL;
    if (close) close = ndr_word_take(ndr_word_skip_blanks(close), ")");
    *end = NULL;
    if (!close) return *open == '(' ? ndr_folders_need(&x->folders, f->path) : NDR_OK;
    ndr_included file;
    const ndr_status status = ndr_include_find(&x->desc, f->path, &w, &file);
    if (file.is_there) *end = close;
    ndr_include_free(&file);
    return status;
}

/* Add a condition with each __has_include of a found file replaced by 1. */
static ndr_status add_condition(expansion *x, const input *f, const char *at)
{
    ndr_text condition = { 0 };
    ndr_status status = NDR_OK;
    ndr_text_add_chars(&condition, "#", 1);
    for (const char *word, *end; status == NDR_OK && (word = ndr_word_find(at, has_include)); at = end) {
        ndr_text_add_chars(&condition, at, (size_t)(word - at));
        status = resolve_has_include(x, f, word, &end);
        ndr_text_add(&condition, "%.*s", end ? 2 : (int)ndr_word_length(word), end ? "1 " : word);
        if (!end) end = word + ndr_word_length(word);
    }
    ndr_text_add(&condition, "%s", at);
    if (condition.failed) status = fail_to_expand(&x->desc);
    else replace_line(x, condition.chars);
    ndr_text_free(&condition);
    return status;
}

static ndr_status copy_condition(expansion *x, const input *f, const char *start, bool is_skipped)
{
    const char *text = ndr_line_is(&x->line, "");
    return !is_skipped && ndr_word_find(text, has_include) ? add_condition(x, f, text) : copy_line(x, f, start);
}

/* Paste the lines from an #if to its #endif. */
static ndr_status paste_group(expansion *x, input *f, group *outer, const char *start)
{
    const bool is_skipped = outer->branch.is_skipped;
    const place line = first_line(x, f);
    group in = { .line = f->line, .next = f->next, .is_first = outer->is_file && !f->has_content && x->depth > 1 };
    ndr_branch_open(&x->macros, &in.branch, ndr_line_is(&x->line, ""), is_skipped);
    f->has_content |= !in.branch.is_skipped;
    NDR_TRY(copy_condition(x, f, start, is_skipped));
    ++x->ifs;
    NDR_REQUIRE_AS(NDR_LIMIT_EXCEEDED, x->ifs <= MAX_IFS, "\"%s\" has more than %d #ifs inside each other", f->title,
                   MAX_IFS);
    NDR_TRY(paste_lines(x, f, &in));
    --x->ifs;
    outer->has_pasted |= in.has_pasted;
    return in.is_closed ? NDR_OK : fail_at_line(x, NDR_BUILD_FAILED, line, "this #if has no #endif in its file");
}

/* A #line in a branch has no effect after it: the branch may be skipped. */
static void restore_line(input *f, const group *in)
{
    f->next = (place){ in->next.line + f->line - in->line, in->next.name };
}

/* Skipped lines count, too: pasted files shift the lines after them, including the condition of an #elif. */
static ndr_status paste_else(expansion *x, input *f, group *in, const char *start)
{
    const char *word = ndr_line_is(&x->line, ""), *condition = strncmp(word, "elif", 4) == 0 ? word + 2 : NULL;
    if (in->is_file) return fail_at_line(x, NDR_BUILD_FAILED, first_line(x, f), "this branch has no #if in its file");
    restore_line(f, in);
    if (condition && in->has_pasted) {
        ndr_text_add(x->out, "#else\n");
        add_mark(x, first_line(x, f));
        NDR_TRY(add_condition(x, f, condition));
        ++in->unclosed;
    } else {
        NDR_TRY(copy_condition(x, f, start, in->branch.outer_is_skipped));
        if (in->has_pasted) add_mark(x, f->next);
    }
    ndr_branch_next(&x->macros, &in->branch, condition);
    return NDR_OK;
}

static ndr_status is_blank_ahead(const expansion *x, const input *f, bool *is_blank)
{
    ndr_line ahead = { .next = f->at };
    bool failed = false;
    *is_blank = true;
    while (*ahead.next && *is_blank && !failed) {
        ndr_line_read(ahead.next, &ahead);
        failed = ahead.directive.failed;
        *is_blank = !ahead.is_code && !ahead.directive.length;
    }
    ndr_text_free(&ahead.directive);
    return failed ? fail_to_expand(&x->desc) : NDR_OK;
}

static ndr_status paste_endif(expansion *x, input *f, group *in, const char *start)
{
    bool is_last = false;
    if (in->is_file) return fail_at_line(x, NDR_BUILD_FAILED, first_line(x, f), "this branch has no #if in its file");
    restore_line(f, in);
    if (in->is_first || in->has_pasted) NDR_TRY(is_blank_ahead(x, f, &is_last));
    if (ndr_branch_close(&x->macros, &in->branch, in->is_first && is_last)) {
        ndr_text_add(x->out, "#else\n");
        add_mark(x, first_line(x, f));
        ndr_text_add(x->out, "#error the macro that guards this file is defined elsewhere, too: rename it\n");
    }
    copy_line(x, f, start);
    for (; in->unclosed > 0; --in->unclosed) {
        start_line(x);
        ndr_text_add(x->out, "#endif\n");
    }
    if (in->has_pasted && !is_last) add_mark(x, f->next);
    in->is_closed = true;
    return NDR_OK;
}

/* Whether a directive changes neither macros nor which lines are compiled. */
static bool changes_no_code(const ndr_line *line)
{
    const char *const pragma = ndr_line_is(line, "pragma");
    if (!pragma) return ndr_line_is(line, "line");
    return !ndr_word_take(pragma, "push_macro") && !ndr_word_take(pragma, "pop_macro");
}

/* What the line has to say in the code about macros; NULL: it has no directive. */
static const char *macro_of(const ndr_line *line)
{
    const char *defined = ndr_line_is(line, "define"), *undefined = ndr_line_is(line, "undef");
    if (!line->directive.length || changes_no_code(line)) return NULL;
    return defined ? defined : undefined && *undefined ? undefined - 1 : "";
}

static ndr_status paste_line(expansion *x, input *f, group *in)
{
    static const char *const ifs[] = { "if", "ifdef", "ifndef", NULL };
    static const char *const elses[] = { "else", "elif", "elifdef", "elifndef", NULL };
    const char *start = f->at;
    x->line.code = f->is_ours ? NULL : &x->source->code.chars;
    ndr_line_read(start, &x->line);
    if (x->line.directive.failed) return fail_to_expand(&x->desc);
    f->at = x->line.next;
    f->line += x->line.newlines;
    f->next.line += x->line.newlines;
    ndr_include w;
    const char *directive = ndr_line_is(&x->line, ""), *word = directive ? directive : "";
    const char *name = ndr_line_is(&x->line, "include");
    if (!name) add_code(x, f, macro_of(&x->line));
    if (!in->branch.is_skipped || ndr_word_is_one_of(word, elses)) NDR_TRY(refuse_unsupported(x, f));
    if (ndr_word_is_one_of(word, ifs)) return paste_group(x, f, in, start);
    if (ndr_word_is_one_of(word, elses)) return paste_else(x, f, in, start);
    if (ndr_word_take(word, "endif")) return paste_endif(x, f, in, start);
    if (!in->branch.is_skipped) return name ? paste_include(x, f, in, start, name, &w) : paste_plain(x, f, start);
    if (!name) return copy_line(x, f, start);
    add_newlines(x, x->line.newlines); /* no compiler could need it */
    return NDR_OK;
}

/* ---- the whole source ---- */

static ndr_status expand_text(expansion *x)
{
    const ndr_source_desc *desc = &x->desc;
    ndr_code *code = &x->source->code;
    ndr_file_info info;
    input f = { .title = desc->title, .path = desc->is_file ? desc->title : NULL };
    ndr_folders_read(&x->folders, desc->include_dirs, desc->options);
    x->desc.include_dirs = x->folders.dirs;
    if (desc->is_file && ndr_file_get_info(desc->title, &info) == 0) f.number = number_of(x, &info);
    if (desc->is_file) ndr_text_add(&x->source->paths, "%s\n", desc->title);
    ndr_text_add(&code->chars, " ");
    ndr_text_add(&code->macros, "\n");
    ndr_text_add(&x->source->files, "\n");
    NDR_TRY(paste_text(x, &f, desc->text));
    for (char *c = code->chars.chars; c && *c; ++c)
        if (isspace((unsigned char)*c)) *c = ' ';
    return ndr_folders_add(&x->folders, &x->source->flags, x->out);
}

static bool failed(const expansion *x)
{
    return ndr_source_failed(x->source) || ndr_folders_failed(&x->folders) || x->names.failed || x->files.failed
           || x->macros.list.failed || x->macros.bodies.failed;
}

static void free_expansion(expansion *x)
{
    ndr_macros_free(&x->macros);
    ndr_text_free(&x->line.directive);
    ndr_text_free(&x->names);
    ndr_folders_free(&x->folders);
    ndr_text_free(&x->files);
}

static ndr_status try_to_expand(const ndr_source_desc *desc, unsigned max_same, ndr_source *source, bool *has_circles)
{
    expansion x = { .desc = *desc, .source = source, .out = &source->text, .max_same = max_same };
    x.macros.code = &source->code;
    x.macros.options = desc->options ? desc->options : "";
    ndr_status status = expand_text(&x);
    if (status == NDR_OK && failed(&x)) status = fail_to_expand(desc);
    *has_circles = x.has_circles;
    free_expansion(&x);
    return status;
}

/* If the text becomes too long, expand it again with fewer repetitions of files that include themselves. */
ndr_status ndr_source_expand(const ndr_source_desc *desc, ndr_source *source)
{
    bool has_circles = true;
    ndr_text text = { 0 };
    ndr_text_add_chars(&text, desc->text, strlen(desc->text));
    if (text.failed) return fail_to_expand(desc);
    ndr_line_clean(text.chars);
    ndr_source_desc clean = *desc;
    clean.text = text.chars;
    ndr_status status = NDR_LIMIT_EXCEEDED;
    for (unsigned max_same = MAX_SAME; status == NDR_LIMIT_EXCEEDED && has_circles && max_same >= MIN_SAME;
         max_same /= 2) {
        ndr_source_free(source);
        status = try_to_expand(&clean, max_same, source, &has_circles);
    }
    ndr_text_free(&text);
    return status;
}
