/* lines.c - the lines of a text, without comments and continuations. */
#include "program/lines.h"

#include <string.h>

const char *ndr_line_is(const ndr_line *line, const char *word)
{
    return line->directive.length ? ndr_word_take(ndr_word_skip_blanks(line->directive.chars + 1), word) : NULL;
}

void ndr_line_clean(char *text)
{
    if (!strchr(text, '\r')) return;
    for (const char *at = text; *at; ++at) {
        if (strncmp(at, "\r\n", 2) == 0) ++at;
        *text++ = *at == '\r' ? '\n' : *at;
    }
    *text = '\0';
}

static const char *skip_splices(const char *at)
{
    while (*at == '\\') {
        const char *end = at + 1 + strspn(at + 1, " \t");
        if (*end != '\n') break;
        at = end + 1;
    }
    return at;
}

static const char *next_char(const char *at) { return skip_splices(at + 1); }

static const char *skip_to_newline(const char *at)
{
    while (*at && *at != '\n') at = next_char(at);
    return at;
}

/* The position behind the comment whose star is at `at`; NULL: it has no end. */
static const char *skip_comment(const char *at)
{
    for (const char *star = strchr(at + 1, '*'); star; star = strchr(star + 1, '*'))
        if (*next_char(star) == '/') return next_char(next_char(star));
    return NULL;
}

static void add_chars(ndr_line *line, const char *chars, size_t count)
{
    const bool is_directive = !line->is_code && (line->directive.length || *chars == '#');
    if (is_directive) ndr_text_add_chars(&line->directive, chars, count);
    else line->is_code = true;
    if (!is_directive && line->code) ndr_text_add_chars(line->code, chars, count);
}

static void add_char(ndr_line *line, char c)
{
    const bool is_blank = c == ' ' || c == '\t' || c == '\f' || c == '\v';
    if (!is_blank || line->directive.length || line->is_code) add_chars(line, is_blank ? " " : &c, 1);
}

/* Whether a file name comes next. */
static bool awaits_name(const ndr_line *line)
{
    const char *rest = ndr_line_is(line, "include");
    return rest && !*rest;
}

/* Skip a string, a character, or a file name; in a file name a backslash is an ordinary character. */
static const char *add_quoted(ndr_line *line, const char *at, bool is_name)
{
    const char close = *at == '<' ? '>' : *at;
    ndr_text *code = line->code;
    do {
        const bool escapes = *at == '\\' && !is_name;
        add_char(line, *at);
        line->code = NULL; /* its contents are not code */
        at = next_char(at);
        if (escapes && *at && *at != '\n') {
            add_char(line, *at);
            at = next_char(at);
        }
    } while (*at && *at != '\n' && *at != close);
    line->code = code;
    if (*at == close) add_char(line, close);
    return *at == close ? next_char(at) : at;
}

void ndr_line_read(const char *text, ndr_line *line)
{
    ndr_text_clear(&line->directive);
    line->is_code = line->is_open = false;
    const char *at = skip_splices(text);
    while (*at && *at != '\n') {
        const size_t plain = strcspn(at, line->is_code ? "\\/\"'\n" : "\\/\"'\n <%#\t\f\v");
        if (plain > 1) { /* several characters at a time, only for speed */
            add_chars(line, at, plain);
            at = skip_splices(at + plain);
            continue;
        }
        const char *next = next_char(at);
        const bool is_name = (*at == '<' || *at == '"') && awaits_name(line);
        if (*at == '/' && *next == '/') {
            at = skip_to_newline(next);
        } else if (*at == '/' && *next == '*') {
            add_char(line, ' ');
            at = skip_comment(next);
            line->is_open = !at;
            if (!at) at = next + strlen(next);
        } else if (is_name || *at == '"' || *at == '\'') {
            at = add_quoted(line, at, is_name);
        } else if (*at == '%' && *next == ':' && !line->is_code && !line->directive.length) {
            add_char(line, '#');
            at = next_char(next);
        } else {
            add_char(line, *at);
            at = next;
        }
    }
    line->next = *at ? at + 1 : at;
    line->newlines = 0;
    for (const char *c = text; c < line->next; ++c) line->newlines += *c == '\n';
}
