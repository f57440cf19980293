/* places.c - names and lines in the log of a compiler that ignores #line.
 *
 * The fault line_ignored: such a compiler counts the lines of the whole text, and gives it a name of its own, as in
 * "<kernel>:231:9: error: ...". It shows the line below the message. So the place is known for sure if that line of the
 * text is the one shown. */
#include "program/explain.h"

#include <stdio.h>
#include <string.h>

/* A line's file and number by the last #line before it. `name` keeps its quotes; "": there is no mark. */
typedef struct place {
    const char *name;
    size_t name_length, line;
} place;

/* Apply `#line 5` or `#line 5 "name"`. */
static bool read_mark(const char *at, place *p)
{
    int length = 0;
    size_t line;
    if (sscanf(at, "#line %zu%n", &line, &length) != 1 || length == 0) return false;
    const char *name = at + length + strspn(at + length, " ");
    p->line = line;
    if (*name == '"') p->name = name, p->name_length = strcspn(name, "\n");
    return true;
}

/* Line `number` of a text, and its place; NULL: the text is shorter. */
static const char *find_line(const char *text, size_t number, place *p)
{
    *p = (place){ "", 0, 1 };
    for (; number > 1; --number) {
        if (!read_mark(text, p)) ++p->line;
        text = strchr(text, '\n');
        if (!text) return NULL;
        ++text;
    }
    return text;
}

static bool is_same_line(const char *a, const char *b)
{
    const size_t length = strcspn(a, "\n");
    return length > 0 && length == strcspn(b, "\n") && memcmp(a, b, length) == 0;
}

/* A message at `log`: its file and what follows the line's number are replaced in `out`. Returns the rest of the log. */
static const char *add_message(const char *text, const char *log, ndr_text *out)
{
    const size_t name_length = strcspn(log, ":\n");
    const char *const rest = log + strcspn(log, "\n");
    size_t number, column;
    int taken = 0;
    place p;
    if (!*rest || sscanf(log + name_length, ":%zu:%n%zu:", &number, &taken, &column) != 2) return log;
    const char *const own = find_line(text, number, &p);
    const bool is_named = p.name_length == name_length + 2 && memcmp(p.name + 1, log, name_length) == 0;
    if (!own || !p.name_length || is_named || !is_same_line(own, rest + 1)) return log;
    ndr_text_add_chars(out, p.name + 1, p.name_length - 2);
    ndr_text_add(out, ":%zu:", p.line);
    return log + name_length + taken;
}

void ndr_explain_places(const char *text, const char *log, ndr_text *out)
{
    while (*log) {
        log = add_message(text, log, out);
        const size_t length = strcspn(log, "\n");
        ndr_text_add_chars(out, log, length + (log[length] == '\n'));
        log += length + (log[length] == '\n');
    }
}
